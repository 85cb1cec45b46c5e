"""Every special function: values are SciPy's, derivatives those of mpmath, in all modes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import arraytape as xp
from arraytape import special
from arraytape._record.plan import Unknown
from arraytape._storage.special import of_scipy
from arraytape.special._statement import STATEMENTS, Statement
from special.points import (
    POINTS,
    arguments,
    derivative,
    derivatives,
    differentiable,
    points,
    seen,
)
from special.references import BY_DIFFERENCES, LOOSE

pytestmark = pytest.mark.timeout(120)
NAMES = sorted(STATEMENTS)
FIRST, SECOND = 1e-10, 1e-8  # relative to the size of what the derivative is computed from


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


UFUNCS = {
    ufunc.__name__: (ufunc, ours)
    for ufunc, ours in special.ufuncs().items()
    if ufunc.__name__ not in special.OTHER_NAMES
}


@pytest.mark.parametrize("name", sorted(UFUNCS))
def test_out_is_written_and_returned_and_followed(name):
    """As SciPy's ufunc, and as what SciPy calls when it dispatches by namespace."""
    ufunc, ours = UFUNCS[name]
    parts = (s for part, s in STATEMENTS.items() if part.startswith(f"{name}_"))
    statement = STATEMENTS.get(name) or next(parts, None)
    values = arguments(statement, 6) if statement else [np.linspace(0.2, 0.7, 6)]
    mask = np.arange(6) % 3 > 0
    plain = ufunc(*values)
    results = plain if ufunc.nout > 1 else (plain,)
    expected = [np.where(mask, y, 2.5) for y in results]  # some of SciPy's loops err by where=
    for call in (ufunc, ours) if statement and ours is statement.function else (ufunc,):
        factor, operands = xp.asarray(2.5), [xp.asarray(v) for v in values]
        with xp.GradientTape(persistent=True) as tape:
            tape.watch(factor)
            outs = tuple([factor * xp.ones(y.shape, dtype=y.dtype) for y in results])
            found = call(*operands, out=outs, where=mask)
        found = found if ufunc.nout > 1 else (found,)
        for y, out, other in zip(found, outs, expected, strict=True):
            assert y is out
            np.testing.assert_array_equal(np.asarray(y), other)
            # What was not written is what it was.
            assert tape.gradient(y, factor) == np.sum(~mask)


@pytest.mark.parametrize("name", NAMES)
def test_a_gradient_flows_through_out(name):
    statement = STATEMENTS[name]
    floats = [
        i
        for i, (x, rule) in enumerate(zip(statement.op.inputs, statement.op.rules, strict=True))
        if callable(rule) and not isinstance(rule, Unknown) and x not in statement.integers
    ]
    if name not in UFUNCS or not floats:
        return
    i, values = floats[-1], arguments(statement, 6)

    def gradient(call):
        operands = [xp.asarray(v) for v in values]
        with xp.GradientTape() as tape:
            tape.watch(operands[i])
            y = call(operands)
        return np.asarray(tape.gradient(y, operands[i]))

    def in_place(operands):
        moved = [*operands[:i], operands[i] * 1.0, *operands[i + 1 :]]
        y = statement.function(*operands)
        out = moved[i] if moved[i].dtype == y.dtype else xp.zeros_like(y)
        return statement.function(*moved, out=out)

    np.testing.assert_array_equal(gradient(in_place), gradient(lambda x: statement.function(*x)))


@pytest.mark.every(3)
@pytest.mark.parametrize("part", range(3))
@pytest.mark.parametrize("name", NAMES)
def test_derivatives_are_those_of_mpmath(name, part):
    """At every third point, in each part of the points at others."""
    statement = STATEMENTS[name]
    wanted = differentiable(statement)
    if name in BY_DIFFERENCES or not wanted:
        return
    for point, places in itertools.islice(points(statement), part, None, 3):
        check_point(statement, places, point)


def check_point(statement: Statement, wanted: list[int], point: tuple[float, ...]) -> None:
    """First and second derivatives at one point."""
    _, first, second = derivatives(statement, wanted, point)
    rtol1, rtol2, _ = LOOSE.get(statement.name, (FIRST, SECOND, ""))
    for i in wanted:
        what = (statement.name, point, statement.op.inputs[i])
        compare(first[i], derivative(statement, point, [i]), rtol1, what)
        for j in wanted:
            expected = derivative(statement, point, [i, j])
            compare(second[i, j], expected, rtol2, (*what, statement.op.inputs[j]))


def compare(found: float, expected, rtol: float, what: object) -> None:
    expected = float(expected)
    if found == expected:  # infinite, perhaps
        return
    assert np.isfinite(found) or not np.isfinite(expected), (what, found, expected)
    assert abs(found - expected) <= rtol * max(abs(expected), 1e-290), (what, found, expected)


@pytest.mark.parametrize("name", NAMES)
def test_float32_gives_float32_gradients(name):
    """Also where the derivative is a kernel of ours, or comes beside integers, as NumPy's arrays do."""
    statement = STATEMENTS[name]
    values = [v.astype(np.float32) if v.dtype == np.float64 else v for v in arguments(statement, 6)]
    operands = [xp.asarray(v) for v in values]
    floats = [x for x in operands if x.dtype == xp.float32]
    with xp.GradientTape() as tape:
        tape.watch(floats)
        y = statement.function(*operands)
    if y.dtype == xp.float32 and statement.op.rules:
        try:
            found = tape.gradient(y, floats)
        except LookupError:  # by one of them no derivative is known
            return
        assert all(g is None or g.dtype == xp.float32 for g in found)


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
        with pytest.raises(
            LookupError, match=f"no derivative with respect to {statement.op.inputs[i]}"
        ):
            tape.gradient(y, values[i])
