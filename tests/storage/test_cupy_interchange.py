"""What leaves a stand-in for CuPy, and CuPy's own arrays in ops with ours."""

import operator

import numpy as np
import pytest

import arraytape as xp
from arraytape import GradientTape
from helpers.fake_cupy import COMPARISONS
from helpers.gpu_programs import near, on_gpu


def test_np_asarray_is_an_exit(fake_cupy):
    fake_cupy()
    x = on_gpu([1.0, 2.0])
    with GradientTape() as tape:
        tape.watch(x)
        y = xp.asarray(np.asarray(x) ** 2)
    near(y, [1.0, 4.0])
    with pytest.warns(xp.TapeWarning, match=r"left the tape at .*np\.asarray"):
        assert tape.gradient(y, x) is None


def test_dlpack_shares_or_copies_cupys_data(fake_cupy):
    cupy = fake_cupy()
    x = on_gpu([1.0, 2.0])
    assert x.__dlpack_device__() == (2, 1)
    capsule = x.__dlpack__(stream=1, max_version=(1, 0))
    assert capsule.data is x._data
    assert (capsule.stream, capsule.max_version) == (1, (1, 0))
    assert x.__dlpack__(copy=True).data is not x._data  # CuPy itself cannot
    with pytest.raises(BufferError):
        x.__dlpack__(dl_device=(7, 0))
    shared = xp.from_dlpack(x._data)
    assert shared.device == "cuda:1"
    assert xp.from_dlpack(x._data, copy=True)._data is not x._data
    assert type(shared._data) is cupy.ndarray
    assert xp.from_dlpack(np.ones(2), device="cuda:1").device == "cuda:1"


OPERATORS = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", *COMPARISONS]


@pytest.mark.parametrize("name", OPERATORS)
def test_cupy_on_the_left_is_recorded(fake_cupy, name):
    cupy = fake_cupy()
    function = getattr(operator, name)
    left, right = np.asarray([[1.5, 2.0], [0.5, 3.0]]), np.asarray([[1.0, 2.0], [3.0, 0.5]])
    with cupy.cuda.Device(1):
        data = cupy.array(left)
    x = on_gpu(right)
    with GradientTape() as tape:
        tape.watch(x)
        y = function(data, x)
        loss = xp.sum(y) if y.dtype.kind == "f" else None
    assert isinstance(y, xp.Array)
    assert y.device == "cuda:1"
    near(y, function(left, right))
    if loss is not None:
        assert tape.gradient(loss, x).device == "cuda:1"


def test_cupy_data_does_not_swallow_a_recorded_array(fake_cupy):
    cupy = fake_cupy()
    data, x = cupy.array([1.0, 2.0]), on_gpu([1.0, 2.0], "cuda:0")
    with pytest.raises(TypeError):
        data += x
