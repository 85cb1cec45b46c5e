"""CuPy itself, where there is a GPU."""

import operator

import numpy as np
import pytest

import arraytape as xp
from arraytape import GradientTape
from arraytape._numpy_api.cupy_ufuncs import op_of_kernel
from arraytape._numpy_api.protocols import UFUNCS
from arraytape._storage.cupy_kernels import MOST_COUNTED, MOST_TIES, Fused
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


@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "complex64", "complex128", "int32", "int64", "bool"]
)
@pytest.mark.parametrize("number", [100, 0.999, 2.5 + 0.3j])
def test_numbers_in_a_fused_kernel_are_computed_in_double_precision(real, dtype, number):
    def products(x, a):
        return x * (1 - a), x * (a * a), x == 0

    x = real.asarray([1, 2], dtype)
    found, expected = Fused(real, products)(x, number), products(x, number)
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a.get(), b.get(), rtol=1e-6 if a.dtype.char in "fF" else 1e-14)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["boxcox", "boxcox1p", "xlogy", "huber"])
def test_a_number_beside_a_gpus_array_is_exact_in_the_gradient(real, name, dtype):
    def slope(device):
        x = xp.asarray([0.377, 0.9], dtype=getattr(xp, dtype), device=device)
        return np.asarray(xp.grad(lambda x: xp.sum(getattr(xp.special, name)(x, 0.623)))(x))

    found, expected = slope("cuda:0"), slope("cpu")
    assert found.dtype == dtype
    np.testing.assert_allclose(found, expected, rtol=1e-5 if dtype == "float32" else 1e-12)


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


def test_ufuncs_of_cupy_are_recorded(real):
    import cupyx.scipy.special

    special = cupyx.scipy.special
    x, data = xp.asarray([0.5, 1.5], device="cuda:0"), real.asarray([3.0, 4.0])
    with GradientTape() as tape:
        tape.watch(x)
        y = real.exp(x) * special.gammaln(x) + real.hypot(data, x) - special.xlogy(data, x)
    host = xp.asarray([0.5, 1.5])
    with GradientTape() as on_host:
        on_host.watch(host)
        z = xp.exp(host) * xp.special.gammaln(host) + xp.hypot(xp.asarray([3.0, 4.0]), host)
        z = z - xp.special.xlogy(xp.asarray([3.0, 4.0]), host)
    near(y, np.asarray(z))
    near(tape.gradient(y, x), np.asarray(on_host.gradient(z, host)))


def test_each_ufunc_of_cupy_with_a_name_of_ours_has_an_op(real):
    import cupyx.scipy.special

    numpys = {ufunc.__name__ for ufunc in UFUNCS}
    for home, ours in ((real, numpys), (cupyx.scipy.special, {*xp.special.__all__})):
        found = {name: f for name, f in vars(home).items() if type(f) is real.ufunc}
        assert len(found) > 80
        assert [name for name in ours & {*found} if op_of_kernel(found[name]) is None] == []
        assert len(ours & {*found}) > 80


def test_kernels_of_cupy_without_an_op_are_refused(real):
    x, data = xp.asarray([1.0, 2.0], device="cuda:0"), real.asarray([3.0, 4.0])
    square = real.ElementwiseKernel("T x", "T y", "y = x * x", "square_of_mine")
    with pytest.raises(TypeError, match="kernel square_of_mine, or make an op"):
        square(x)
    op = xp.define_op("square_of_mine", lambda x: square(x))
    near(op(x), [1.0, 4.0])
    with pytest.raises(TypeError, match="cannot be written into an array of CuPy"):
        data += x
    with pytest.raises(TypeError, match="cannot be written into an array of CuPy"):
        real.multiply(data, x, out=data)
    near(xp.asarray(data), [3.0, 4.0])


@pytest.mark.parametrize("other", [np.asarray([1.0, 2.0]), xp.asarray([1.0, 2.0])])
def test_data_of_the_host_next_to_a_gpus_is_refused_with_the_way_out(real, other):
    x = xp.asarray([3.0, 4.0], device="cuda:0")
    for call in (lambda: x * other, lambda: other * x, lambda: xp.concat([x, other])):
        with pytest.raises(
            TypeError, match=r"asarray\(.*, device='cuda:0'\).* on cuda:0"
        ) as caught:
            call()
        assert "<CUDA" not in str(caught.value)
    near(x * xp.asarray(other, device="cuda:0"), [3.0, 8.0])
    near(x * 2 + np.float64(1.0), [7.0, 9.0])
    with pytest.raises(
        ValueError, match=r"float64\(2,\) on cuda:0, x2: Array float64\(3,\) on cuda:0"
    ):
        x + xp.zeros(3, device="cuda:0")


OUT_OF_RANGE = {  # program of an array of shape (3, 2) and an index; the axis of the index
    "x[i]": (lambda x, i: x[i], 0),
    "x[..., i]": (lambda x, i: x[..., i], 1),
    "x[None, :, i]": (lambda x, i: x[None, :, i], 1),
    "x[mask, i]": (lambda x, i: x[xp.asarray([True, False, True], device="cuda:0"), i], 1),
    "x[i] = 1": (lambda x, i: x.__setitem__(i, 1.0), 0),
    "x[i] += 1": (lambda x, i: x.__setitem__(i, x[i] + 1.0), 0),
    "take": (lambda x, i: xp.take(x, i, axis=1), 1),
    "take from the end": (lambda x, i: xp.take(x, i, axis=-2), 0),
    "take_along_axis": (lambda x, i: xp.take_along_axis(x, xp.stack([i, i, i]), axis=1), 1),
    "scatter_add": (lambda x, i: xp.scatter_add(x[:2], (3, 2), i), 0),
}


@pytest.mark.parametrize("name", OUT_OF_RANGE)
def test_indices_out_of_range_are_found_in_a_block_of_check_indices(real, name):
    f, axis = OUT_OF_RANGE[name]
    x = xp.asarray(np.arange(6.0).reshape(3, 2), device="cuda:0")
    size = x.shape[axis]
    with xp.diagnose.check_indices():
        for good in ([0, size - 1], [-size, 1]):
            f(x * 1.0, xp.asarray(good, device="cuda:0"))
        for wrong, index in (([0, size], size), ([-size - 1, 0], -size - 1)):
            text = f"index {index} is out of bounds for axis {axis} with size {size}"
            with pytest.raises(IndexError, match=text):
                f(x * 1.0, xp.asarray(wrong, device="cuda:0"))
    f(x * 1.0, xp.asarray([0, size], device="cuda:0"))  # outside the block CuPy wraps it around


def as_function(f):
    return lambda x, index: xp.function(f)(x, index)


AROUND = {  # transformations of f(x, index)
    "function": as_function,
    "grad": lambda f: lambda x, i: xp.grad(lambda x: xp.sum(f(x, i)))(x),
    "jacobian": lambda f: lambda x, i: xp.jacobian(lambda x: f(x, i))(x),
    "vmap over x": lambda f: lambda x, i: xp.vmap(lambda x: f(x, i))(xp.stack([x, x])),
    "vmap over indices": lambda f: lambda x, i: xp.vmap(lambda i: f(x, i))(xp.stack([i * 0, i])),
    "vmap over both": lambda f: lambda x, i: xp.vmap(f)(xp.stack([x, x]), xp.stack([i * 0, i])),
    "function of a gradient": lambda f: as_function(xp.grad(lambda x, i: xp.sum(f(x, i)))),
}


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("name", OUT_OF_RANGE)
def test_indices_are_checked_within_transformations(real, name, around):
    f, axis = OUT_OF_RANGE[name]
    x = xp.asarray(np.arange(6.0).reshape(3, 2), device="cuda:0")
    size = x.shape[axis]

    def result(x, index):
        y = x * 1.0
        found = f(y, index)
        return y if found is None else found  # of a write

    call = AROUND[around](result)
    with xp.diagnose.check_indices():
        call(x * 1.0, xp.asarray([0, size - 1], device="cuda:0"))
        with pytest.raises(IndexError, match=f"index {size} is out of bounds"):
            call(x * 1.0, xp.asarray([0, size], device="cuda:0"))


def test_a_replayed_function_checks_indices_in_a_block(real):
    step = xp.function(lambda x, index: x[index])
    x, wrong = (xp.asarray(values, device="cuda:0") for values in ([1.0, 2.0], [0, 2]))
    for _ in range(4):
        step(x, xp.asarray([0, 1], device="cuda:0"))
    with xp.diagnose.check_indices(), pytest.raises(IndexError, match="index 2 is out of bounds"):
        step(x, wrong)
    assert step.counts["replayed"]
    assert step.counts["eager"] == 1
    step(x, wrong)  # replayed, and wrapped around


def test_class_numbers_are_checked_in_a_block_of_check_indices(real):
    x, labels = (xp.asarray(values, device="cuda:0") for values in ([[1.0, 2.0]], [2]))
    table = xp.nn.Embedding(2, 3)
    assert np.isnan(np.asarray(xp.nn.softmax_cross_entropy(labels, x))).all()
    with xp.diagnose.check_indices():
        with pytest.raises(ValueError, match="not all among the classes 0 to 1"):
            xp.nn.softmax_cross_entropy(labels, x)
        with pytest.raises(ValueError, match="not all in the table's rows 0 to 1"):
            table(labels)


@pytest.mark.parametrize("name", ["inv", "cholesky", "solve"])
def test_a_singular_matrix_raises_where_cupy_is_asked_to(real, name):
    import cupyx

    x = xp.zeros((2, 2), device="cuda:0")
    arguments = (x, x) if name == "solve" else (x,)
    with cupyx.errstate(linalg="raise"), pytest.raises(np.linalg.LinAlgError):
        getattr(xp.linalg, name)(*arguments)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_gpus_floor_division_and_remainder_fit_together(real, dtype):
    numerators = [1.0, -1.0, 3.0, 0.7, -0.9, 5.5, -6.0, 2.1, 0.0, -0.0, 1e16, np.inf, np.nan]
    x, y = np.meshgrid(numerators, [0.1, 0.3, -0.1, 0.001, 3.0, -np.inf, 0.0])
    x, y = x.astype(dtype), y.astype(dtype)
    found = []
    for device in ("cpu", "cuda:0"):
        a, b = (xp.asarray(data, device=device) for data in (x, y))
        with np.errstate(all="ignore"):
            with GradientTape() as tape:
                tape.watch(b)
                rest = a % b
            slope = tape.gradient(rest, b, nan="keep")
            wide = xp.astype(b, xp.float64)
            found.append(
                [a // b, a // 0.1, 1.0 // b, a // wide, xp.floor_divide(a, 2), rest, slope]
            )
    for expected, result in zip(*found, strict=True):
        assert result.dtype == expected.dtype
        np.testing.assert_array_equal(np.asarray(result), np.asarray(expected))
        signs = [np.signbit(np.asarray(part)) for part in (result, expected)]
        np.testing.assert_array_equal(*[part[np.asarray(expected) == 0] for part in signs])


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_a_gpus_expm1_of_small_complex_numbers_keeps_their_digits(real, dtype):
    parts = np.asarray([1e-10, -1e-5, 0.0, -0.0, 1e-3, 0.9, -2.0, 3.0, np.inf, -np.inf, np.nan])
    x = np.empty((len(parts), len(parts)), dtype)
    x.real, x.imag = parts[:, None], parts
    with np.errstate(all="ignore"):
        expected = np.asarray(xp.expm1(xp.asarray(x)))
    found = np.asarray(xp.expm1(xp.asarray(x, device="cuda:0")))
    assert found.dtype == dtype
    for part in ("real", "imag"):
        one, other = getattr(found, part), getattr(expected, part)
        np.testing.assert_allclose(one, other, rtol=16 * np.finfo(dtype).eps)


@pytest.mark.parametrize("name", ["rfft", "ihfft", "rfftn"])
def test_a_gpus_transforms_of_real_data_refuse_complex_data(real, name):
    x = xp.asarray([1.0 + 2.0j, 3.0, 0.5j], device="cuda:0")
    with pytest.raises(TypeError, match=r"use fft for complex data: .* \[at .*on_a_gpu"):
        getattr(xp.fft, name)(x)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64])
@pytest.mark.parametrize("shape", [(0, 0), (0, 3, 3), (2, 0, 0)])
def test_a_gpus_eigenvalues_of_no_matrices_are_complex(real, shape, dtype):
    if not hasattr(real.linalg, "eigvals"):
        pytest.skip(f"CuPy {real.__version__} has no linalg.eigvals")
    x = np.zeros(shape, dtype)
    for f in (
        xp.linalg.eigvals,
        lambda x: next(iter(xp.linalg.eig(x))),
        lambda x: [*xp.linalg.eig(x)][1],
    ):
        found, expected = f(xp.asarray(x, device="cuda:0")), f(xp.asarray(x))
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)


@pytest.mark.parametrize("count", [65, 1000])
def test_masks_and_cumulative_sums_longer_than_a_gpus_block(real, count):
    data = np.arange(count) % 3.0
    x, host = xp.asarray(data, device="cuda:0"), xp.asarray(data)
    near(xp.cumulative_sum(x), np.cumsum(data))
    near(xp.nonzero(x)[0], np.flatnonzero(data))
    near(
        xp.grad(lambda x: xp.sum(x[x > 1.5] ** 2))(x),
        xp.grad(lambda x: xp.sum(x[x > 1.5] ** 2))(host),
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
def test_a_gpus_determinant_of_a_matrix_with_nan_is_nan(real, dtype):
    data = np.stack(
        [[[1.0, 2.0], [2.0, np.nan]], [[1.0, 2.0], [2.0, 4.0]], [[1.0, 2.0], [2.0, 3.0]]]
    )
    x = xp.asarray(data.astype(dtype), device="cuda:0")
    for matrices in (x, x[:1], x[0, ...]):
        expected = (
            np.asarray([np.nan, 0.0, -1.0])[: len(matrices)] if matrices.ndim == 3 else np.nan
        )
        near(xp.linalg.det(matrices), expected, 1e-6)
        near(xp.isnan(xp.linalg.slogdet(matrices).logabsdet), np.isnan(expected))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128", "int64"])
@pytest.mark.parametrize("rates", [(1, 1), (2, 1), (1, 3)])
@pytest.mark.parametrize("strides", [(1, 1), (2, 1), (3, 2)])
@pytest.mark.parametrize("margins", [(0, 0), (2, 1)])
def test_each_part_of_a_correlation_is_that_of_the_cpu(real, margins, strides, rates, dtype):
    rng, lengths, sizes = np.random.default_rng(2), (6, 8), (3, 2)
    counts = [
        max((n + 2 * m - (k - 1) * r - 1) // s + 1, 0)
        for n, m, k, r, s in zip(lengths, margins, sizes, rates, strides, strict=True)
    ]
    shapes = {
        "data": (2, *lengths, 3), "kernel": (*sizes, 3, 2), "result": (2, *counts, 2),
    }  # fmt: skip
    arrays = {name: (rng.normal(size=shape) * 9).astype(dtype) for name, shape in shapes.items()}
    for part, shape in shapes.items():
        lengths_of_part = shape[:2] if part == "kernel" else shape[1:3]
        found, expected = (
            xp.window_correlation(
                *[xp.asarray(x, device=device) for name, x in arrays.items() if name != part],
                part=part, lengths=lengths_of_part, geometry=(strides, rates, margins),
            )
            for device in ("cuda:0", "cpu")
        )  # fmt: skip
        assert found.dtype == expected.dtype
        near(found, np.asarray(expected), 1e-4 if dtype == "float32" else 1e-11)


@pytest.mark.parametrize("shape", [(3, 4), (2, MOST_TIES), (2, MOST_TIES + 1), (MOST_COUNTED + 1,)])
@pytest.mark.parametrize("axis", [0, -1, None])
@pytest.mark.parametrize("kind", ["ties", "NaN", "all equal"])
def test_ties_of_extremes_share_the_gradient_as_on_the_cpu(real, shape, axis, kind):
    values = np.random.default_rng(3).integers(0, 3, shape).astype(float)
    if kind == "NaN":
        values[..., :2] = np.nan
    elif kind == "all equal":
        values[...] = 1.0
    for function in (xp.max, xp.min):
        gradients = []
        for device in ("cpu", "cuda:0"):
            x = xp.asarray(values, device=device)
            with GradientTape() as tape:
                tape.watch(x)
                y = xp.sum(3.0 * function(x, axis=axis))
            gradients.append(np.asarray(tape.gradient(y, x, nan="keep")))
        np.testing.assert_array_equal(gradients[1], gradients[0])


@pytest.mark.parametrize("n", [3, 5000])
def test_output_gradients_and_cotangents_of_sources_are_not_added_to_in_place(real, n):
    x = xp.asarray(np.arange(1.0, n + 1), device="cuda:0")
    given = [xp.ones(n, device="cuda:0"), xp.ones(n, device="cuda:0")]
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        early = xp.cumulative_sum(x)  # its contribution to x comes after those of y and z
        y = x + 1.0
        z = y + 1.0
    for _ in range(2):
        found = tape.gradient([early, z], [x, y, z], output_gradients=given)
        expected = np.arange(n, 0.0, -1.0) + 1.0, np.ones(n), np.ones(n)
        for a, b in zip((*found, *given), (*expected, np.ones(n), np.ones(n)), strict=True):
            np.testing.assert_array_equal(np.asarray(a), b)
