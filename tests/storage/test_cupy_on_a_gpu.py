"""CuPy itself, where there is a GPU."""

import operator

import numpy as np
import pytest

import arraytape as xp
from arraytape import GradientTape
from helpers.gpu_programs import PROGRAMS, added_twice, both, near


@pytest.fixture(scope="module")
def real():
    """CuPy with a GPU."""
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    try:
        cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        pytest.skip(f"CuPy is installed, but there is no GPU: {error}")
    return cupy


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_on_a_gpu_give_what_they_give_on_the_cpu(real, program):
    if program == "eig" and not hasattr(real.linalg, "eigvals"):
        pytest.skip(f"CuPy {real.__version__} has no linalg.eigvals")
    f, x = PROGRAMS[program], np.random.default_rng(1).uniform(0.3, 2.0, (3, 3))
    for a, b in zip(both(f, x, "cpu"), both(f, x, "cuda:0"), strict=True):
        near(b, np.asarray(a), 1e-8)


@pytest.mark.parametrize("dtype", "iqIQfdFD")
def test_what_is_added_to_a_gpus_elements_named_twice_adds_up(real, dtype):
    near(added_twice("cuda:0", dtype), [1, 2, 15])


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("name", ["sign", "reciprocal", "log2"])
def test_a_gpus_complex_numbers_at_infinities_are_numpys(real, name, dtype):
    edges = np.asarray([-np.inf, -2.0, -0.0, 0.0, 1.0, np.inf])
    x = np.zeros((6, 6), dtype)
    x.real, x.imag = edges[:, None], edges
    x = x[x != 0]
    with np.errstate(all="ignore"):
        expected = np.asarray(getattr(xp, name)(xp.asarray(x)))
    found = getattr(xp, name)(xp.asarray(x, device="cuda:0"))
    assert found.dtype == expected.dtype
    for part in ("real", "imag"):
        one, other = getattr(np.asarray(found), part), getattr(expected, part)
        np.testing.assert_allclose(one, other, rtol=4 * np.finfo(dtype).eps)


def test_a_gpus_data_goes_both_ways(real):
    x = xp.asarray([0.5, 1.0, 2.0])
    with GradientTape() as tape:
        tape.watch(x)
        y = xp.sum((x.to_device("cuda:0") ** 3).to_device("cpu"))
    gradient = tape.gradient(y, x)
    assert gradient.device == "cpu"
    near(gradient, 3.0 * np.asarray([0.5, 1.0, 2.0]) ** 2)


def test_of_repeated_writes_on_a_gpu_the_one_that_lasted_gets_the_gradient(real):
    count = 10_000
    x, v = xp.zeros(2, device="cuda:0"), xp.arange(count, dtype=xp.float64, device="cuda:0")
    with GradientTape() as tape:
        tape.watch(v)
        y = x * 1.0
        y[xp.arange(count, device="cuda:0") % 2] = v
        loss = xp.sum(y)
    lasting = np.flatnonzero(np.asarray(tape.gradient(loss, v)))
    near(lasting, np.sort(np.asarray(y)))


def test_a_gpus_arrays_work_on_the_left_and_by_dlpack(real):
    data = real.asarray([1.0, 2.0])
    x = xp.asarray([3.0, 4.0], device="cuda:0")
    assert isinstance(data * x, xp.Array)
    assert isinstance(data == x, xp.Array)
    near(data @ x, 11.0)
    near(xp.from_dlpack(data), [1.0, 2.0])
    near(real.from_dlpack(x).get(), [3.0, 4.0])
    assert operator.index(xp.asarray(3, device="cuda:0")) == 3
