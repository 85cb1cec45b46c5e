"""Python numbers where the standard has arrays: ``xp.sqrt(2.0)``, as code for NumPy and CuPy has it."""

import numpy as np
import pytest

import arraytape as xp
from arraytape.testing import storages

CALLS = {
    "abs": lambda xp: xp.abs(-2),
    "atan2": lambda xp: xp.atan2(1.0, -2.0),
    "clip": lambda xp: xp.clip(3.5, 0.0, 1.0),
    "exp of a complex number": lambda xp: xp.exp(1j),
    "floor": lambda xp: xp.floor(2.5),
    "isnan": lambda xp: xp.isnan(3.0),
    "log": lambda xp: xp.log(10.0),
    "maximum": lambda xp: xp.maximum(1.0, 2.0),
    "pow": lambda xp: xp.pow(2.0, 0.5),
    "sqrt of an integer": lambda xp: xp.sqrt(2),
    "stack": lambda xp: xp.stack([1.0, 2.0]),
    "sum": lambda xp: xp.sum(3.0),
    "where": lambda xp: xp.where(True, 1.0, 2.0),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_function_of_python_numbers_gives_a_constant_array(name):
    found, expected = CALLS[name](xp), CALLS[name](np)
    assert type(found) is xp.Array
    assert "followed" not in repr(found)
    assert (found.shape, found.dtype) == (np.shape(expected), np.asarray(expected).dtype)
    np.testing.assert_array_equal(np.asarray(found), expected)


def test_it_lies_where_new_arrays_lie():
    before, device = xp.__array_namespace_info__().default_device(), storages.strict().devices()[1]
    xp.set_default_device(device)
    try:
        for y in (xp.sqrt(2.0), xp.maximum(1.0, 2.0), xp.sum(3.0)):
            assert y.device == xp.zeros(()).device == device
    finally:
        xp.set_default_device(before)


def test_it_is_a_constant_in_a_gradient(gradient, near):
    near(gradient(lambda x: x * x / xp.sqrt(4.0) + xp.log(10.0), 3.0), 3.0)


@pytest.mark.parametrize("call", [lambda: xp.sqrt(None), lambda: xp.maximum(None, 1.0)])
def test_none_is_no_number(call):
    with pytest.raises(TypeError):
        call()


@pytest.mark.parametrize("join", [xp.stack, lambda parts: xp.concat(parts, axis=None)])
def test_a_number_among_arrays_that_are_joined_is_a_constant(join, gradient, near):
    near(gradient(lambda x: xp.sum(join([2.0, x, 3]) ** 2), 5.0), 10.0)


def test_take_of_a_number_says_what_to_do():
    with pytest.raises(TypeError, match=r"take: x must be an Array, got int .* convert it with"):
        xp.take(3, xp.asarray([0]), axis=0)
    with pytest.raises(ValueError, match="x has no axis"):
        xp.take(xp.asarray(3.0), xp.asarray([0]), axis=0)
