"""ravel: a nesting as one vector, and back."""

from dataclasses import dataclass

import numpy as np
import pytest

import arraytape as xp
from arraytape.functional import ravel


@dataclass
class Params:
    w: object
    b: object


def test_numpys_data_goes_there_and_back():
    tree = Params(
        w=np.asfortranarray(np.arange(6.0).reshape(2, 3)), b=[1.0, np.float32(2.0), np.array(3.0)]
    )
    flat, unravel = ravel(tree)
    assert type(flat) is np.ndarray
    assert flat.tolist() == [0, 1, 2, 3, 4, 5, 1, 2, 3]
    back = unravel(flat)
    assert isinstance(back, Params)
    np.testing.assert_array_equal(back.w, tree.w)
    assert [type(x) for x in back.b] == [np.float64, np.float32, np.ndarray]
    flat[:] = 0.0
    assert back.w[1, 2] == 5.0


def test_dtypes_promote_and_come_back():
    flat, unravel = ravel([np.ones(2, np.float32), 0.5])
    assert flat.dtype == np.float32
    flat, unravel = ravel([np.ones(2, np.float32), np.ones(1)])
    assert flat.dtype == np.float64
    assert [x.dtype for x in unravel(flat)] == [np.float32, np.float64]
    assert ravel([1.0, 2.0])[0].dtype == np.float64
    assert ravel([1j, np.ones(1, np.complex64)])[0].dtype == np.complex64
    assert ravel({})[0].shape == (0,)


def test_arrays_are_differentiable_both_ways():
    tree = {
        "a": xp.asarray([[1.0, 2.0]]),
        "b": np.array([3.0]),
        "c": xp.asarray(4.0, dtype=xp.float32),
    }
    flat, unravel = ravel(tree)
    assert isinstance(flat, xp.Array)
    back = unravel(flat * 2.0)
    assert [back[k].tolist() for k in "abc"] == [[[2.0, 4.0]], [6.0], 8.0]
    assert back["c"].dtype == xp.float32
    g = xp.grad(lambda v: xp.sum(unravel(v)["a"] ** 2) + xp.astype(unravel(v)["c"], xp.float64))(
        flat
    )
    assert g.tolist() == [2.0, 4.0, 0.0, 1.0]
    g = xp.grad(lambda p: xp.sum(ravel(p)[0] ** 2))({"a": np.ones((1, 2)), "b": 2.0})
    assert (g["a"].tolist(), g["b"]) == ([[2.0, 2.0]], 4.0)
    assert all(isinstance(x, np.ndarray) for x in unravel(np.ones(4)).values() if np.ndim(x))


def test_the_order_is_that_of_the_nesting():
    flat, unravel = ravel({"z": 1.0, "a": 2.0})
    assert flat.tolist() == [1.0, 2.0]
    assert list(unravel(flat)) == ["z", "a"]


BAD = {
    "integers": (lambda: ravel([np.arange(3)]), TypeError, "at '0'; leave it out"),
    "a string": (lambda: ravel({"a": "b"}), TypeError, "at 'a'"),
    "real and complex": (lambda: ravel([1.0, 1j]), TypeError, "real and imaginary parts"),
    "another length": (lambda: ravel(np.ones(3))[1](np.ones(2)), ValueError, "3 elements"),
    "no vector": (lambda: ravel(np.ones(3))[1]([1.0, 2.0, 3.0]), TypeError, "takes an Array"),
    "complex": (lambda: ravel(np.ones(3))[1](np.ones(3) * 1j), TypeError, "real"),
    "a record": (lambda: ravel(np.ones(3))[1](np.zeros(3, "f8,i4")), TypeError, "real"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_does_not_fit_is_said(name):
    call, error, message = BAD[name]
    with pytest.raises(error, match=message):
        call()
