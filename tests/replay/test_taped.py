"""Functions under a tape: a replayed call is one record, whose gradients are those of eager code."""

import gc
import warnings

import numpy as np
import pytest

import arraytape as xp
from arraytape import testing
from arraytape.replay.taped import FUNCTION
from helpers.replaying import USES, recorded
from helpers.samples import CASES

CALLS = 5  # two are traced, one goes back through records, two by the program


def arguments(op, sample, seed):
    function, floats = testing.as_function(
        op, sample, testing.materialise(op, sample, np.float64, seed=seed)
    )
    return function, lambda: [xp.asarray(x) for x in floats]


@pytest.mark.parametrize(
    ("op", "sample", "use"),
    [
        pytest.param(*case.values, USES[i % len(USES)], id=f"{case.id}-{USES[i % 4].__name__}")
        for i, case in enumerate(CASES)
    ],
)
def test_samples_of_ops(op, sample, use):
    f, _ = arguments(op, sample, 0)
    calls = [arguments(op, sample, seed)[1] for seed in range(CALLS)]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", xp.TapeWarning)
        outcome = recorded(f, calls, use)
    assert outcome.replayed >= 1, outcome


# --- programs -----------------------------------------------------------------------------------------
def rng(seed):
    return np.random.default_rng(seed)


def arrays(*shapes):
    """Functions that make the arguments of a call, each with other values."""

    def maker(seed):
        return lambda: [
            xp.asarray(rng(seed).normal(size=shape) + 2.0) if isinstance(shape, tuple) else shape
            for shape in shapes
        ]

    return [maker(seed) for seed in range(CALLS)]


def several_results(x, y):
    h = xp.tanh(x) * y
    return {"h": h, "sum": xp.sum(h), "list": [x * 2.0, 1.0]}


def writes_to_arguments(x, y):
    x *= y
    x[0] = xp.sum(y) * x[1]
    y[1:] = x[1:] * x[0]
    return xp.sum(x)


def writes_through_views(x, y):
    part = x[1:]
    z = xp.zeros(4)
    z[::2] = part[:2] * y[0]
    part += y[1:]
    z[1:3] -= y[:2]
    return z, part * 2.0


def a_tape_inside(x, y):
    with xp.GradientTape() as tape:
        tape.watch(x)
        inner = xp.sum(xp.exp(x * 0.1) * y)
    return tape.gradient(inner, x) * y


def hessian_inside(x, y):
    return xp.hvp(lambda z: xp.sum(z**3 * y), (x,), (y,))[0]


def selects(x, y):
    return xp.where(x > 100.0, xp.sqrt(x - 100.0), y) + xp.maximum(x, y)


def has_nan(x, y):
    zero = x - x
    return xp.where(zero > 0.0, xp.sqrt(zero), y * x)


def gives_its_argument(x, y):
    return x, x * y


def unconnected(x, y):
    return xp.floor(x), y * 2.0


def decides(x, y):
    return x * y if xp.sum(x) > 0.0 else x + y


def complex_inside(x, y):
    z = x + 1j * y
    return xp.real(z * xp.conj(z)), xp.imag(xp.exp(z))


def of_integers(x, y):
    i = xp.argsort(x)
    return xp.take(y, i) * x, xp.sum(i)


def loops(x, y):
    state = xp.zeros(3)
    for i in range(3):
        state[i] = x[i] * xp.sum(state) + y[i]
    return state


PROGRAMS = [
    several_results, writes_to_arguments, writes_through_views, a_tape_inside, hessian_inside, selects,
    has_nan, gives_its_argument, unconnected, decides, complex_inside, of_integers, loops,
]  # fmt: skip


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("followed", [(True,), (True, False), (False, True)])
@pytest.mark.parametrize("f", PROGRAMS)
def test_programs(f, followed, use):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", xp.TapeWarning)
        outcome = recorded(f, arrays((3,), (3,)), use, followed)
    assert outcome.replayed == CALLS - 2, outcome
