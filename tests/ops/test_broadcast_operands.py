"""Operands that broadcast up: every input of an op against shapes that make the result larger than it.

The shapes are generated for every op whose inputs broadcast against each other; derivatives of both
modes and both orders are held against differences, and gradients against the shapes of their inputs.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

import arraytape as xp
from arraytape import testing
from arraytape._numpy_api.protocols import UFUNCS
from arraytape.testing.derivatives import input_cotangents, slopes
from helpers.namespace_ops import namespace_ops

# Shapes of two operands that broadcast: an axis of length 1 grows, leading axes are missing, ().
PAIRS = [
    ((3,), (2, 3)), ((2, 1), (2, 3)), ((1, 3), (2, 1)), ((), (2, 3)), ((1, 1), (3,)),
    ((3,), (4, 1, 1)), ((1,), (3,)), ((), (1, 1)), ((1, 3), (3,)),
]  # fmt: skip
EMPTY = [((), (0,)), ((3,), (0, 3)), ((2, 1), (2, 0)), ((1,), (0,)), ((1, 3), (0, 1))]


def both_ways(pairs: Sequence[Any]) -> list[Any]:
    return [*pairs, *((b, a) for a, b in pairs)]


def triples(pairs: Sequence[Any]) -> list[Any]:
    """Three operands: each place has the smaller shape, the larger one, and lies between."""
    small_and_large = [(a, b, b) for a, b in pairs] + [(a, a, b) for a, b in pairs]
    found = {order for triple in small_and_large for order in itertools.permutations(triple)}
    return [*sorted(found), ((3,), (2, 1), (4, 1, 1)), ((1, 1), (1, 3), (2, 1))]


def with_core(pairs: Sequence[Any], *cores: tuple[int, ...]) -> list[Any]:
    """Stacks of matrices or vectors: these shapes behind those that broadcast."""
    return [
        tuple([(*batch, *core) for batch, core in zip(pair, cores, strict=True)]) for pair in pairs
    ]


class Case(NamedTuple):
    """A function of arrays, the shapes to draw, and what makes its inputs of random ones."""

    function: Callable[..., Any]
    shapes: list[Any]
    prepare: Callable[..., Any] = lambda *inputs: inputs


def regular(x1: Any, *others: Any) -> Any:
    return (x1 + 4.0 * np.eye(x1.shape[-1]), *others)


def positive(*inputs: Any) -> Any:
    return tuple([np.abs(x) + 0.5 for x in inputs])


def spread(x: Any, low: Any, high: Any) -> Any:
    """Values below, between and above bounds, none of them near one."""
    return np.round(2.0 * x) + 0.2, np.round(low) - 0.9, np.round(high) + 0.7


def apart(x1: Any, x2: Any) -> Any:
    """Values that do not tie, and whose quotients are not near integers."""
    return x1, np.where(np.abs(x2) < 0.3, 0.3, x2) * 1.37


def selected(a: Any, b: Any, c: Any) -> Any:
    return xp.where(a > 0.0, b, c)


def picked(x: Any, like: Any) -> Any:
    """``take_along_axis`` along the first axis of x, with indices in the shape of the other input."""
    indices = np.arange(like.size).reshape(like.shape) % x.shape[0]
    return xp.take_along_axis(x, xp.asarray(indices), axis=0) * like


ALL = both_ways(PAIRS) + both_ways(EMPTY)
SAME_RANK = [
    ((2, 1), (3, 4)), ((2, 3), (2, 1)), ((2, 1), (4, 1)), ((2, 1, 4), (1, 3, 1)), ((1, 1), (2, 3)),
    ((2, 1), (3, 0)), ((2, 1), (0, 3)),
]  # fmt: skip
BATCHES = [((), (2,)), ((1,), (3,)), ((2, 1), (3,)), ((), ()), ((), (2, 1)), ((), (0,))]
STACKS = both_ways(BATCHES)
VECTORS = [((3,), (3,)), ((3,), (2, 3, 2)), ((2, 4, 3), (3,)), ((3,), (0, 3, 2)), ((0, 4, 3), (3,))]
# The ops of the registry with several inputs that are no elementwise ones.
PRIMITIVES = {
    "clip": [Case(xp.clip, triples(PAIRS) + triples(EMPTY), spread)],
    "where": [Case(selected, triples(PAIRS) + triples(EMPTY))],
    "matmul": [
        Case(xp.matmul, with_core(STACKS, (2, 3), (3, 2)) + VECTORS),
        Case(xp.matmul, with_core(STACKS, (1, 1), (1, 1))),
    ],
    "vecdot": [
        Case(xp.vecdot, with_core(STACKS, (3,), (3,))),
        Case(lambda a, b: xp.vecdot(a, b, axis=-2), with_core(STACKS, (3, 1), (3, 4))),
        Case(lambda a, b: xp.vecdot(a, b, axis=-2), with_core(STACKS, (3, 2), (3, 1))),
    ],
    "linalg.solve": [
        Case(xp.linalg.solve, with_core(STACKS, (2, 2), (2, 3)), regular),
        Case(xp.linalg.solve, [((3, 2, 2), (2,)), ((2, 1, 2, 2), (2,)), ((1, 1), (1,))], regular),
    ],
    "matmul_adjoint": [
        Case(
            lambda a, b, first=first, second=second: xp.matmul_adjoint(a, b, first, second),
            with_core(STACKS, (3, 2) if first else (2, 3), (4, 3) if second else (3, 4)),
        )
        for first in (False, True)
        for second in (False, True)
    ],
    "solve_again": [
        Case(xp.solve_again, with_core(STACKS, (2, 2), (2, 3)), regular),
        Case(
            lambda a, b: xp.solve_again(a, b, adjoint=True),
            [((3, 2, 2), (2,)), ((2, 1, 2, 2), (2,)), ((2, 2), (3, 2, 1))],
            regular,
        ),
    ],
    "take_along_axis": [Case(picked, SAME_RANK)],
}
NOT_BROADCAST = {
    "take": "its indices have one dimension", "linalg.pinv": "rtol has no derivative",
    "power_derivative": "the rule of pow alone calls it, with operands that have broadcast",
    "window_correlation": "the layers of nn alone call it, with operands whose axes belong together",
    "inverse_again": "the rule of slogdet alone calls it, with one shape of stacks",
}  # fmt: skip
# Functions that are made of others.
COMPOSITES = {
    "linalg.cross": [Case(xp.linalg.cross, with_core(STACKS, (3,), (3,)))],
    "linalg.outer": [Case(xp.linalg.outer, [((1,), (3,)), ((3,), (1,)), ((0,), (2,))])],
    "tensordot": [Case(lambda a, b: xp.tensordot(a, b, axes=1), [((1,), (1, 3)), ((2, 1), (1,))])],
    "einsum": [
        Case(lambda a, b: xp.einsum("...i,...i->...", a, b), with_core(STACKS, (3,), (3,))),
        Case(lambda a, b: xp.einsum("...ij,...jk", a, b), with_core(STACKS, (2, 3), (3, 2))),
    ],
    "broadcast_arrays": [Case(lambda a, b: tuple(xp.broadcast_arrays(a, b)), ALL)],
    "broadcast_to": [
        Case(lambda a, b: xp.broadcast_to(a, np.broadcast_shapes(a.shape, b.shape)) * b, ALL)
    ],
    "full": [
        Case(lambda v, b: xp.full((2, 3), v) * b, [(s, (3,)) for s in ((), (3,), (2, 1), (1,))])
    ],
    "full_like": [
        Case(lambda x, v: xp.full_like(x, v) * x, [((2, 3), s) for s in ((), (3,), (2, 1), (1,))])
    ],
    "linspace": [
        Case(lambda a, b: xp.linspace(a, b, 4), [((), ()), *ALL]),
        Case(lambda a, b: xp.linspace(a, b, 3, endpoint=False), ALL),
    ],
    "logspace": [
        Case(lambda a, b, base: xp.logspace(a, b, 3, base=base), triples(PAIRS), positive)
    ],
    "meshgrid": [Case(lambda a, b: tuple(xp.meshgrid(a, b)), [((1,), (3,)), ((3,), (1,))])],
}
# NumPy's functions with several array arguments, on Arrays.
NUMPY = {
    "np.clip": [
        Case(np.clip, triples(PAIRS) + triples(EMPTY), spread),
        Case(lambda x, low, high: x.clip(low, high), triples(PAIRS), spread),
        Case(lambda x, low: np.clip(x, low, None), ALL),
        Case(lambda x, high: np.clip(x, None, high), ALL),
    ],
    "np.where": [Case(lambda a, b, c: np.where(a > 0.0, b, c), triples(PAIRS))],
    "np.select": [Case(lambda a, b, c: np.select([a > 0.5, b > 0.0], [b, c], a), triples(PAIRS))],
    "np.choose": [Case(lambda a, b, c: np.choose(xp.astype(a > 0.0, xp.int64), [b, c]), triples(PAIRS))],
    "np.cross": [Case(np.cross, with_core(STACKS, (3,), (3,)))],
    "np.dot": [Case(np.dot, [((), (2, 3)), ((2, 3), ()), ((3,), (2, 3, 2)), ((2, 3), (3,))])],
    "np.inner": [Case(np.inner, [((), (2, 3)), ((2, 3), ()), ((3,), (2, 3)), ((2, 3), (1, 3))])],
    "np.outer": [Case(np.outer, both_ways(PAIRS))],
    "np.kron": [Case(np.kron, both_ways(PAIRS))],
    "np.einsum": [Case(lambda a, b: np.einsum("...,...", a, b), both_ways(PAIRS))],
    "np.average": [
        Case(lambda a, w: np.average(a, axis=0, weights=w), [((2, 3), (2,)), ((2, 3), (2, 3))],
             positive),
    ],
    "np.trapezoid": [
        Case(lambda y, x: np.trapezoid(y, x), [((2, 3), (3,)), ((2, 3), (1, 3)), ((3,), (2, 3))]),
        Case(lambda y, dx: np.trapezoid(y, dx=dx), [((3,), (4, 1)), ((3,), ()), ((2, 3), (1, 1))]),
    ],
    "np.insert": [
        Case(lambda a, v: np.insert(a, 1, v, axis=0), [((2, 3), ()), ((2, 3), (1,)), ((2, 3), (3,))]),
    ],
    "np.broadcast_arrays": [Case(lambda a, b: tuple(np.broadcast_arrays(a, b)), ALL)],
    "np.add.outer": [Case(np.add.outer, both_ways(PAIRS))],
    "np.linalg.solve": [Case(np.linalg.solve, with_core(STACKS, (2, 2), (2, 3)), regular)],
    "np.linspace": [Case(lambda a, b: np.linspace(a, b, 3), ALL)],
    "np.logspace": [Case(lambda a, b: np.logspace(a, b, 3, base=2.0), both_ways(PAIRS))],
    "np.polyval": [Case(np.polyval, [((3,), ()), ((3,), (2, 3)), ((1,), (2, 3))])],
    "np.interp": [
        Case(lambda x, y: np.interp(x, np.arange(3.0), y), [((2, 3), (3,)), ((), (3,))], positive),
    ],
}  # fmt: skip
ELEMENTWISE = [op for op in namespace_ops() if op.kind == "elementwise" and len(op.inputs) == 2]
DOMAINS = {"pow": positive, "logaddexp": apart}
STEPS = {"floor_divide", "nextafter"}  # whose value differs from what its slope adds up to
BINARY = {op.name: [Case(op.public, ALL, DOMAINS.get(op.name, apart))] for op in ELEMENTWISE
          if op.name not in STEPS}  # fmt: skip
# Those of NumPy's ufuncs with two inputs that are no ops of the registry.
OPS = {op.public for op in namespace_ops()}
BINARY_UFUNCS = {
    f"np.{ufunc.__name__}": [
        Case(ufunc, ALL, positive if ufunc in (np.float_power, np.fmod) else apart)
    ]
    for ufunc, ours in UFUNCS.items()
    if ufunc.nin == 2 and ufunc.signature is None and ours not in OPS
}
CORE_UFUNCS = {
    "np.matvec": [Case(np.matvec, with_core(STACKS, (2, 3), (3,)))],
    "np.vecmat": [Case(np.vecmat, with_core(STACKS, (3,), (3, 2)))],
}
EVERY = BINARY | PRIMITIVES | COMPOSITES | BINARY_UFUNCS | CORE_UFUNCS | NUMPY
CASES = [
    pytest.param(case, id=f"{name}-{i}")
    for name, cases in EVERY.items()
    for i, case in enumerate(cases)
]


def drawn(case: Case, shapes: Any, seed: int = 0) -> list[Any]:
    rng = np.random.default_rng(seed)
    made = case.prepare(*[rng.uniform(-2.0, 2.0, shape) for shape in shapes])
    return [np.asarray(x) for x in made]


def scalar(case: Case) -> Callable[..., Any]:
    """The weighted total of the results, with some curvature of its own."""

    def call(*arrays: Any) -> Any:
        y = case.function(*arrays)
        parts = y if isinstance(y, tuple | list) else (y,)
        return testing.total(tuple([part + 0.1 * part * part for part in parts]))

    return call


@pytest.mark.parametrize("case", CASES)
@pytest.mark.every(3)
def test_derivatives_of_operands_that_broadcast(case):
    function = scalar(case)
    for shapes in case.shapes:
        inputs = drawn(case, shapes)
        for g, x in zip(testing.gradients(function, inputs), inputs, strict=True):
            assert (g.shape, g.dtype) == (x.shape, x.dtype), shapes
        testing.check_gradients(function, inputs, seeds=1)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.every(3)
def test_both_modes_are_transposes_of_each_other(case):
    """<w, J v> = <J^T w, v>, with cotangents in the results' own shapes."""
    for shapes in case.shapes:
        inputs = drawn(case, shapes, seed=1)
        along = testing.directions(inputs, 2)
        tangents = slopes(case.function, inputs, along)
        cotangents = testing.directions(tangents, 3)
        back = input_cotangents(case.function, inputs, cotangents)
        np.testing.assert_allclose(
            testing.inner(back, along), testing.inner(cotangents, tangents),
            rtol=1e-10, atol=1e-10, err_msg=str(shapes),
        )  # fmt: skip


@pytest.mark.parametrize("case", CASES)
@pytest.mark.every(3)
def test_one_followed_operand_gets_what_it_gets_among_all(case):
    function = scalar(case)
    for shapes in case.shapes:
        inputs = drawn(case, shapes)
        among_all = testing.gradients(function, inputs)
        for i, x in enumerate(inputs):

            def of_one(x, inputs=inputs, i=i):
                return function(*map(xp.asarray, inputs[:i]), x, *map(xp.asarray, inputs[i + 1 :]))

            (alone,) = testing.gradients(of_one, [x])
            assert alone.shape == x.shape
            np.testing.assert_allclose(alone, among_all[i], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.every(3)
def test_single_precision_beside_double_precision(case):
    """Each operand alone in float32: gradients keep shape and dtype and stay near."""
    function = scalar(case)
    for shapes in case.shapes:
        inputs = drawn(case, shapes)
        expected = testing.gradients(function, inputs)
        for i, x in enumerate(inputs):
            mixed = [*inputs[:i], x.astype(np.float32), *inputs[i + 1 :]]
            for g, y, e in zip(testing.gradients(function, mixed), mixed, expected, strict=True):
                assert (g.shape, g.dtype) == (y.shape, y.dtype), shapes
                np.testing.assert_allclose(g, e, rtol=2e-3, atol=2e-3)


def test_every_op_with_several_inputs_is_here():
    ops = [op for op in namespace_ops() if op.recorded and len(op.inputs) > 1]
    missing = {op.name for op in ops if op.kind != "composite"} - {*EVERY, *NOT_BROADCAST} - STEPS
    assert missing == set()
    ufuncs = {f"np.{ufunc.__name__}" for ufunc, ours in UFUNCS.items() if ours not in OPS
              and ufunc.nin == 2}  # fmt: skip
    assert ufuncs <= {*EVERY}


# --- values: linspace and logspace of ends with axes ------------------------------------------------
@pytest.mark.parametrize("endpoint", [True, False])
@pytest.mark.parametrize("num", [0, 1, 2, 4])
@pytest.mark.parametrize(("a", "b"), ALL)
def test_linspace_between_arrays_is_numpys(a, b, num, endpoint):
    rng = np.random.default_rng(0)
    start, stop = rng.uniform(-2.0, 2.0, a), rng.uniform(-2.0, 2.0, b)
    expected = np.linspace(start, stop, num, endpoint=endpoint)
    for function in (xp.linspace, np.linspace):
        found = function(xp.asarray(start), xp.asarray(stop), num, endpoint=endpoint)
        np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-14, strict=True)


def test_linspace_of_integers_between_arrays_rounds_down_as_numpys_does():
    found = xp.linspace(xp.asarray([-1.5, 0.0]), xp.asarray([0.0, 2.5]), 4, dtype=xp.int64)
    expected = np.linspace([-1.5, 0.0], [0.0, 2.5], 4, dtype=np.int64)
    np.testing.assert_array_equal(found, expected, strict=True)


@pytest.mark.parametrize(
    ("num", "error", "said"),
    [(-1, ValueError, "must not be negative, got -1"), (3.5, TypeError, "must be an integer, got")],
)
def test_linspace_between_arrays_refuses_what_is_no_number_of_values(num, error, said):
    with pytest.raises(error, match=said):
        xp.linspace(xp.asarray(0.0), 1.0, num)


@pytest.mark.parametrize(("a", "b", "c"), triples(PAIRS))
def test_logspace_between_arrays_is_numpys(a, b, c):
    rng = np.random.default_rng(0)
    given = [rng.uniform(0.5, 2.0, shape) for shape in (a, b, c)]
    expected = np.logspace(*given[:2], 3, base=given[2])
    start, stop, base = map(xp.asarray, given)
    for function in (xp.logspace, np.logspace):
        found = function(start, stop, 3, base=base)
        np.testing.assert_allclose(found, expected, rtol=1e-14, strict=True)


# --- clip ----------------------------------------------------------------------------------------
BOUNDS = [
    lambda a: xp.asarray(a), lambda a: a, lambda a: xp.asarray(a, dtype=xp.float32),
    lambda a: a.astype(np.float32),
]  # fmt: skip


@pytest.mark.parametrize("clip", [xp.clip, np.clip, xp.Array.clip])
@pytest.mark.parametrize("bound", BOUNDS)
def test_clip_sums_over_the_axes_that_its_bounds_add(clip, bound):
    x = xp.asarray([0.2, 0.5, 0.7])
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = clip(x, bound(np.zeros((2, 3))), 1.0)
    np.testing.assert_array_equal(tape.gradient(y, x), [2.0, 2.0, 2.0])


@pytest.mark.parametrize("clip", [xp.clip, np.clip, xp.Array.clip])
def test_clip_gives_its_bounds_what_they_took(clip):
    x, low, high = (xp.asarray(v) for v in ([-1.0, 0.5, 3.0], np.zeros((2, 1)), 2.0))
    with xp.GradientTape() as tape:
        tape.watch([x, low, high])
        y = clip(x, low, high)
    gx, glow, ghigh = tape.gradient(y, [x, low, high])
    np.testing.assert_array_equal(gx, [0.0, 2.0, 0.0])
    np.testing.assert_array_equal(glow, [[1.0], [1.0]])
    np.testing.assert_array_equal(ghigh, 2.0)


def test_vmap_of_clip_whose_bounds_broadcast_up():
    rng = np.random.default_rng(0)
    xs, lows = rng.uniform(-2.0, 2.0, (5, 3)), rng.uniform(-1.0, 0.0, (5, 2, 1))

    def pulled_back(x, low):
        return xp.grad(lambda x, low: xp.sum(xp.clip(x, low, 1.0) ** 2), argnums=(0, 1))(x, low)

    found = xp.vmap(pulled_back)(xp.asarray(xs), xp.asarray(lows))
    for i, (x, low) in enumerate(zip(xs, lows, strict=True)):
        for all_of, one in zip(found, pulled_back(xp.asarray(x), xp.asarray(low)), strict=True):
            np.testing.assert_allclose(all_of[i], one, rtol=1e-12)
