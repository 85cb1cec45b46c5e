"""Tensors of PyTorch: data for ``asarray`` through DLPack, and no operands."""

import operator

import numpy as np
import pytest

import arraytape as xp


class Tensor:
    """A tensor as arraytape sees it: its module, its priority, DLPack, and an old ``__array__``."""

    __module__ = "torch"
    __array_priority__ = 1000

    def __init__(self, values, refuses=None):
        self.values, self.refuses = np.asarray(values), refuses

    def __array__(self, dtype=None):
        raise AssertionError("the tensor is read by DLPack")

    def __dlpack__(self, **options):
        if self.refuses is not None:
            raise self.refuses
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


class Other(Tensor):
    """An array of another library that DLPack cannot describe."""

    __module__ = "other"

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype=dtype, copy=copy)


def tensors():
    """The stand-in, and PyTorch's own where it is installed: it is too large for the extra dev."""
    yield Tensor([1.0, 2.0])
    try:
        import torch
    except ImportError:
        return
    yield torch.asarray([1.0, 2.0], dtype=torch.float64)


@pytest.mark.filterwarnings("error")
def test_asarray_copies_a_tensor():
    for tensor in tensors():
        x = xp.asarray(tensor)
        assert x.dtype == np.float64
        x[0] = 5.0
        assert xp.asarray(tensor).tolist() == [1.0, 2.0]
        assert xp.asarray(tensor, dtype=xp.float32).dtype == np.float32
        shared = xp.asarray(tensor, copy=False)
        shared[0] = 7.0
        assert xp.asarray(tensor).tolist() == [7.0, 2.0]
        with pytest.raises(ValueError, match="needs a copy to be cast"):
            xp.asarray(tensor, dtype=xp.float32, copy=False)


@pytest.mark.parametrize("kind", [BufferError, RuntimeError])
def test_a_tensor_that_cannot_be_shared_says_why(kind):
    with pytest.raises(
        (BufferError, TypeError), match=r"asarray\(Tensor .* failed: use tensor.detach\(\)"
    ):
        xp.asarray(Tensor([1.0], kind("use tensor.detach()")))


def test_data_without_a_form_in_dlpack_is_read_by_numpy():
    assert xp.asarray(Other([1.0, 2.0], TypeError("nulls"))).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("f", [
    operator.add, operator.mul, operator.matmul, operator.pow, operator.eq, operator.lt, operator.imul,
    np.multiply, xp.multiply,
])  # fmt: skip
@pytest.mark.parametrize("swapped", [False, True])
def test_an_operand_that_is_a_tensor_is_an_error_with_both_ways_out(f, swapped):
    for tensor in tensors():
        pair = [xp.asarray([1.0, 2.0]), tensor]
        if swapped and f is operator.imul:
            continue
        with pytest.raises(TypeError, match=r"asarray\(tensor\).* torch\.from_dlpack\(x\)"):
            f(*(pair[::-1] if swapped else pair))
