"""Numbers, lists of numbers and NumPy data as tangents and output gradients: converted where safe."""

import numpy as np
import pytest

import arraytape as xp
from arraytape import ForwardAccumulator, GradientTape

pytestmark = pytest.mark.any_storage

DTYPES = ["float32", "float64", "complex64", "complex128"]
KINDS = "buifc"
NUMBERS = [True, 2, 2.5, 2.5 + 1j, np.bool_(True), np.int8(2), np.float32(2.5), np.float64(2.5)]
NUMBERS += [np.complex64(2.5 + 1j), np.longdouble(2.5)]


def kind_of(value):
    return np.asarray(value).dtype.kind


def by_tape(x, given):
    """The gradient of 3 x, with these weights."""
    with GradientTape() as tape:
        tape.watch(x)
        y = 3.0 * x
    return tape.gradient(y, x, given)


def by_accumulator(x, given):
    with ForwardAccumulator(x, given) as accumulator:
        y = 3.0 * x
    return accumulator.jvp(y)


MODES = pytest.mark.parametrize("derivative", [by_tape, by_accumulator])


@MODES
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("number", NUMBERS, ids=lambda n: f"{type(n).__name__} {n}")
@pytest.mark.parametrize("form", ["number", "list", "tuple of lists"])
def test_numbers_take_the_dtype_of_what_they_belong_to(derivative, dtype, number, form):
    given, shape = {
        "number": (number, ()),
        "list": ([number, 1], (2,)),
        "tuple of lists": (([number, 0, 1], [1, 2, number]), (2, 3)),
    }[form]
    x = xp.ones(shape, dtype=getattr(xp, dtype))
    if KINDS.find(kind_of(given)) > KINDS.find(x.dtype.kind):
        with pytest.raises(ValueError, match=r"complex128|complex64"):
            derivative(x, given)
        return
    found = derivative(x, given)
    assert found.shape == shape
    assert found.dtype == x.dtype
    np.testing.assert_allclose(np.asarray(found), 3.0 * np.asarray(given, dtype), rtol=1e-6)


@MODES
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("other", [*DTYPES, "int64", "bool"])
def test_numpys_arrays_have_to_be_of_the_kind(derivative, dtype, other):
    x, given = xp.ones((2,), dtype=getattr(xp, dtype)), np.ones(2, dtype=other)
    if given.dtype.kind != x.dtype.kind:
        with pytest.raises(ValueError, match=other):
            derivative(x, given)
        return
    found = derivative(x, given)
    assert found.dtype == x.dtype
    assert found.tolist() == [3.0, 3.0]


WRONG = {
    "shape": ((2,), [1.0, 2.0, 3.0], ValueError),
    "shape of nested lists": ((2,), [[1.0, 2.0]], ValueError),
    "shape of data": ((2,), np.ones(3), ValueError),
    "unequal lists": ((2,), [[1.0], [2.0, 3.0]], ValueError),
    "too large": ((), 10**400, (OverflowError, ValueError)),
    "string": ((), "1.0", TypeError),
    "strings": ((2,), np.asarray(["a", "b"]), (TypeError, ValueError)),
    "function": ((), abs, TypeError),
    "list of strings": ((2,), ["a", "b"], ValueError),
    "empty list": ((0,), [], ValueError),
    "list of Arrays": ((2,), [xp.asarray(1.0), xp.asarray(2.0)], ValueError),
    "list of None": ((2,), [None, 1.0], ValueError),
}


@MODES
@pytest.mark.parametrize(("shape", "given", "error"), WRONG.values(), ids=WRONG)
def test_what_does_not_fit_raises(derivative, shape, given, error):
    with pytest.raises(error, match=r"tangent|output_gradients"):
        derivative(xp.ones(shape), given)


def test_lists_of_numbers_in_nestings():
    a, b = xp.asarray([1.0, 2.0]), xp.asarray(3.0)
    with ForwardAccumulator({"a": a, "b": [b]}, {"a": [1, 0], "b": [2]}) as accumulator:
        y = a * b
    assert accumulator.jvp(y).tolist() == [5.0, 4.0]
    with GradientTape() as tape:
        tape.watch([a, b])
        targets = [a * b, {"c": b * b}]
    found = tape.gradient(targets, [a, b], [(1, 0), {"c": 0.5}])
    assert [g.tolist() for g in found] == [[3.0, 0.0], 4.0]


def test_functions_of_functions_take_numbers():
    x, b = xp.asarray(2.0), xp.asarray([1.0, 3.0])
    assert float(xp.jvp(lambda x: x**3, (x,), (1,))[1]) == 12.0
    assert xp.vjp(lambda b: b**2, b)[1]([1, 2])[0].tolist() == [2.0, 12.0]
    assert float(xp.hvp(lambda x: x**3, (x,), (1.0,))[0]) == 12.0
    each = xp.vmap(lambda x: xp.jvp(lambda x: x**3, (x,), (1.0,))[1])(b)
    assert each.tolist() == [3.0, 27.0]
    each = xp.vmap(lambda x: xp.vjp(lambda x: x**3, x)[1](2.0)[0])(b)
    assert each.tolist() == [6.0, 54.0]
