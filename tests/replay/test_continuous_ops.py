"""Ops that are stated as continuous: last bits of an operand change last bits of the result.

A replay may round otherwise than eager calls what only such ops are made of.
"""

import warnings

import numpy as np
import pytest

import arraytape as xp
from arraytape._record.op import REGISTRY
from arraytape._record.op_facts import facts_of
from helpers.namespace_ops import recorded_ops

JUMPS = {
    "copysign", "floor_divide", "nextafter", "remainder", "sign", "truncated_remainder",
    # Of matrices: signs of vectors, ranks, and the order of values.
    "inverse_again", "linalg.eig", "linalg.eigh", "linalg.eigvals", "linalg.pinv", "linalg.qr",
    "linalg.slogdet", "linalg.svd",
    "linalg.vector_norm",  # of ord=0 it counts
}  # fmt: skip
OPS = [op.name for op in recorded_ops()]
STEP, JUMP = 1e-13, 1e-4  # roots and inverses are steep: 1e-13 ** (1 / 3) is below this


def test_ops_that_do_not_jump_are_stated_so():
    assert {name for name in OPS if not facts_of(name).continuous} == JUMPS


def places(op, rng):
    """Operands from the op's domain, among them zeros, whole numbers and halves."""
    low, high = op.domain or (-2.0, 2.0)
    drawn = rng.uniform(low, high, 100)
    whole = np.round(rng.uniform(low, high, 100) * 2.0) / 2.0
    return np.concatenate([drawn, whole, [0.0, 1.0, -1.0]])


ELEMENTWISE = [
    n for n in OPS if REGISTRY[n].per_element and not REGISTRY[n].parameters and n != "where"
]


@pytest.mark.parametrize("name", [n for n in ELEMENTWISE if n not in JUMPS])
def test_a_continuous_op_does_not_jump(name):
    op, rng = REGISTRY[name], np.random.default_rng(0)
    operands = [rng.permutation(places(op, rng)) for _ in op.inputs]

    def at(step, i):
        moved = [x + step if j == i else x for j, x in enumerate(operands)]
        return np.asarray(op.public(*map(xp.asarray, moved)))

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for i in range(len(operands)):
            low, middle, high = (at(step, i) for step in (-STEP, 0.0, STEP))
            for one, other in ((low, middle), (middle, high), (low, high)):
                size = np.abs(one) + np.abs(other)
                known = np.isfinite(size) & (size < 1e6)
                if name == "pow":
                    known &= (operands[0] != 0.0) | (np.abs(operands[1]) > 0.1)
                assert not (known & (np.abs(one - other) > JUMP * (1.0 + size))).any()


@pytest.mark.parametrize("name", ["log2", "log10", "asinh", "atan", "cube_root", "erf"])
def test_what_a_continuous_op_is_made_of_may_be_summed_by_blas(name):
    function = {"cube_root": np.cbrt, "erf": xp.special.erf}.get(name) or getattr(xp, name)
    assert facts_of({"erf": "special.erf"}.get(name, name)).continuous
    f = xp.function(lambda x: function(xp.sum(x * x)))
    x = xp.asarray(np.linspace(0.1, 0.2, 50))
    results = [float(f(x)) for _ in range(4)]
    np.testing.assert_allclose(results, float(function(xp.sum(x * x))), rtol=1e-14)
