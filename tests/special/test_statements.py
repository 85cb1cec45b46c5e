"""Every special function: values are SciPy's, derivatives those of mpmath, in all modes."""

from __future__ import annotations

import zlib

import mpmath as mp
import numpy as np
import pytest

import arraytape as xp
from arraytape._record.plan import Unknown
from arraytape._storage.special import of_scipy
from arraytape.special._statement import STATEMENTS, Statement
from special.references import BY_DIFFERENCES, EDGES, LOOSE, REFERENCES

pytestmark = pytest.mark.timeout(120)
NAMES = sorted(STATEMENTS)
FIRST, SECOND = 1e-10, 1e-8  # relative to the size of what the derivative is computed from
POINTS = 4
ASIDE = 0.6 - 0.8j  # the direction in which complex results are looked at


def arguments(statement: Statement, count: int = POINTS) -> list[np.ndarray]:
    """Random arguments in the statement's domains, one array for each operand."""
    rng = np.random.default_rng(zlib.crc32(statement.name.encode()))
    found = []
    for name, (low, high) in zip(statement.op.inputs, statement.domains, strict=True):
        values = rng.uniform(low, high, count)
        whole = name in statement.integers | statement.counts
        found.append(np.floor(values).astype(int) if whole else values)
    return found


def differentiable(statement: Statement) -> list[int]:
    """The operands by which there is a derivative."""
    rules = statement.op.rules
    return [i for i, rule in enumerate(rules) if rule is not None and not isinstance(rule, Unknown)]


@pytest.mark.parametrize("name", NAMES)
def test_values_are_scipys(name):
    statement = STATEMENTS[name]
    values = arguments(statement, 6)
    try:
        function = of_scipy(name)
    except AttributeError:
        return  # a part of a function, or a derivative of one: no function of SciPy's
    expected = function(*values)
    found = statement.function(*[xp.asarray(v) for v in values])
    np.testing.assert_array_equal(np.asarray(found), expected)
    assert found.dtype == expected.dtype
    if isinstance(function, np.ufunc):
        np.testing.assert_array_equal(
            np.asarray(function(*[xp.asarray(v) for v in values])), expected
        )


@pytest.mark.parametrize("name", NAMES)
def test_derivatives_are_those_of_mpmath(name):
    statement = STATEMENTS[name]
    wanted = differentiable(statement)
    if name in BY_DIFFERENCES or not wanted:
        return
    random = list(zip(*arguments(statement), strict=True))
    for point in [*random, *EDGES.get(name, [])]:
        check_point(statement, wanted, tuple(np.asarray(v).item() for v in point))


def check_point(statement: Statement, wanted: list[int], point: tuple[float, ...]) -> None:
    """First and second derivatives at one point."""
    first, second = derivatives(statement, wanted, point)
    rtol1, rtol2, _ = LOOSE.get(statement.name, (FIRST, SECOND, ""))
    for i in wanted:
        what = (statement.name, point, statement.op.inputs[i])
        compare(first[i], derivative(statement.name, point, [i]), rtol1, what)
        for j in wanted:
            expected = derivative(statement.name, point, [i, j])
            compare(second[i, j], expected, rtol2, (*what, statement.op.inputs[j]))


def derivative(name: str, point: tuple[float, ...], by: list[int]):
    """A derivative of the reference by these operands."""
    orders = tuple(by.count(i) for i in range(len(point)))
    reference = REFERENCES[name]
    aside = ASIDE if result_is_complex(STATEMENTS[name]) else 1.0
    scales = [abs(v) or 1.0 for v in point]  # steps are as large as the arguments

    def of_steps(*steps):
        moved = [mp.mpf(v) + s * h for v, s, h in zip(point, scales, steps, strict=True)]
        return mp.re(aside * reference(*moved))

    with mp.workdps(60):
        start = tuple(mp.mpf(0) for _ in point)
        found = (
            mp.diff(of_steps, *start, *orders)
            if len(point) == 1
            else mp.diff(of_steps, start, orders)
        )
        scale = mp.fprod(mp.mpf(s) ** k for s, k in zip(scales, orders, strict=True))
        noise = (abs(of_steps(*start)) or 1) * mp.mpf(10) ** -45
        return (0 if abs(found) < noise else found) / scale


def result_is_complex(statement: Statement) -> bool:
    """Whether a function of real data has complex values."""
    return statement.function(*[xp.asarray(v) for v in arguments(statement, 1)]).dtype.kind == "c"


def seen(y):
    """A result, complex ones as their part in one direction."""
    return xp.real(ASIDE * y) if y.dtype.kind == "c" else y


def derivatives(statement: Statement, wanted: list[int], point: tuple[float, ...]):
    """First and second derivatives in reverse mode, by operand; ``second`` only where known."""
    whole = [x in statement.integers | statement.counts for x in statement.op.inputs]
    arrays = [xp.asarray(int(v) if w else v) for v, w in zip(point, whole, strict=True)]
    first, second = {}, {}
    with xp.GradientTape(persistent=True) as outer:
        outer.watch([arrays[i] for i in wanted])
        with xp.GradientTape() as tape:
            tape.watch([arrays[i] for i in wanted])
            y = seen(statement.function(*arrays))
        grads = tape.gradient(y, [arrays[i] for i in wanted])
    for i, g in zip(wanted, grads, strict=True):
        first[i] = float(g)
        for j in wanted:
            h = outer.gradient(g, arrays[j])
            second[i, j] = 0.0 if h is None else float(h)
    return first, second


def compare(found: float, expected, rtol: float, what: object) -> None:
    expected = float(expected)
    if found == expected:  # infinite, perhaps
        return
    assert np.isfinite(found) or not np.isfinite(expected), (what, found, expected)
    assert abs(found - expected) <= rtol * max(abs(expected), 1e-290), (what, found, expected)


@pytest.mark.parametrize("name", NAMES)
def test_modes_agree(name):
    """Forward mode is the transpose of reverse mode; vmap is a loop."""
    statement = STATEMENTS[name]
    wanted = differentiable(statement)
    if not wanted:
        return
    arrays = [xp.asarray(v) for v in arguments(statement)]
    tangents = [xp.asarray(np.linspace(0.5, 1.5, POINTS)) for _ in wanted]

    def f(*free):
        given = list(arrays)
        for i, x in zip(wanted, free, strict=True):
            given[i] = x
        return seen(statement.function(*given))

    free = tuple(arrays[i] for i in wanted)
    y, tangent = xp.jvp(f, free, tuple(tangents))
    back = xp.vjp(f, *free)[1](xp.ones_like(y))
    back = back if isinstance(back, tuple | list) else (back,)
    total = sum(float(xp.sum(g * t)) for g, t in zip(back, tangents, strict=True))
    np.testing.assert_allclose(float(xp.sum(tangent)), total, rtol=1e-12)
    mapped = xp.vmap(xp.grad(lambda *given: seen(statement.function(*given)), wanted))(*arrays)
    for one, g in zip(mapped, back, strict=True):
        np.testing.assert_allclose(np.asarray(one), np.asarray(g), rtol=1e-13)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_unknown_is_an_error(name):
    statement = STATEMENTS[name]
    values = [xp.asarray(v, dtype=float) for v in arguments(statement)]
    for i, rule in enumerate(statement.op.rules):
        if not isinstance(rule, Unknown):
            continue
        with xp.GradientTape() as tape:
            tape.watch(values[i])
            y = statement.function(*values)
        with pytest.raises(LookupError, match=f"no derivative by {statement.op.inputs[i]}"):
            tape.gradient(y, values[i])
