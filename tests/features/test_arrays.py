"""Rows 63-92 of generated/features.md: mutation, the standard, storages, numerics, threads, tooling."""

import asyncio
import inspect
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import arraytape as xp
from arraytape._record.op import REGISTRY
from arraytape.optimizers import minimize_scipy
from helpers.features import feature
from helpers.repository import ROOT


@pytest.fixture
def x():
    return xp.asarray([1.0, 2.0, 3.0])


def slope(f, x):
    return xp.grad(lambda x: xp.sum(f(x)))(x)


# --- mutation --------------------------------------------------------------------------------------
@feature(63, "writes are recorded", "`x[k] = v`")
def test_a_write_is_recorded(x, near):
    def f(x):
        y = xp.zeros(3)
        y[1:] = x[:2] ** 2
        return y

    near(slope(f, x), [2.0, 4.0, 0.0])


@feature(64, "`x += y` works in place and is recorded", "`x += y`")
def test_an_update_in_place(x, near):
    def f(x):
        y = x * 1.0
        same = y
        y += x
        assert same is y
        return y * y

    near(slope(f, x), [8.0, 16.0, 24.0])


@feature(65, "a write through a view reaches the gradient of its base", "`x[1:][0] = v`")
def test_a_write_through_a_view(x, near):
    def f(x):
        y = x * 1.0
        y[1:][0] = 5.0 * x[0]
        return y

    near(slope(f, x), [6.0, 0.0, 1.0])


@feature(66, "a write after a value was kept leaves its gradient right", "copy on write")
def test_a_kept_value_survives_a_write(x, near):
    def f(x):
        y = x * 1.0
        z = y * y
        y[...] = 0.0
        return z

    near(slope(f, x), [2.0, 4.0, 6.0])


@feature(67, "no write makes a gradient wrong, so no error is needed", "`z = y * y; y += 1`")
def test_a_write_after_use_is_no_error(x, near):
    def f(x):
        y = x * 1.0
        rows = y[:2]
        z = xp.sum(y * y) + xp.sum(rows)
        rows *= 5.0
        y += 1.0
        return z + xp.sum(y)

    near(slope(f, x), [2.0 + 1.0 + 5.0, 4.0 + 1.0 + 5.0, 6.0 + 1.0])


@feature(68, "assignment by a mask", "`x[mask] = v`")
def test_a_mask_is_written(x, near):
    def f(x):
        y = x * x
        y[x > 1.5] = 0.0
        return y

    near(slope(f, x), [2.0, 0.0, 0.0])


@feature(69, "`out=` is recorded", "`np.multiply(x, y, out=z)`")
def test_out_is_recorded(x, near):
    def f(x):
        z = xp.zeros(3)
        np.multiply(x, x, out=z)
        return z

    near(slope(f, x), [2.0, 4.0, 6.0])


# --- array API, storages ---------------------------------------------------------------------------
@feature(70, "the whole standard 2025.12", "`x.__array_namespace__()`")
def test_the_standard(x):
    space = x.__array_namespace__()
    assert space.__array_api_version__ == "2025.12"
    assert space.__array_namespace_info__().capabilities()["boolean indexing"]


@feature(71, "linear algebra and Fourier transforms differentiate", "`xp.linalg`, `xp.fft`")
def test_extensions_differentiate(near):
    a = xp.asarray([[2.0, 0.5], [0.5, 1.0]])
    near(xp.grad(lambda a: xp.linalg.slogdet(a)[1])(a), np.linalg.inv(np.asarray(a)).T)
    near(slope(lambda x: xp.abs(xp.fft.fft(x)) ** 2, xp.asarray([1.0, 2.0])), [4.0, 8.0])


@feature(72, "asarray, astype and to_device keep the connection", "`xp.asarray(x)`")
def test_conversions_keep_the_connection(x, near):
    def f(x):
        return xp.astype(xp.asarray(x).to_device("cpu"), xp.float32) * 2.0

    near(slope(f, x), [2.0, 2.0, 2.0])


@feature(73, "NumPy's functions on arrays are recorded", "`np.sin(x)`")
def test_numpy_functions_are_recorded(x, near):
    near(slope(lambda x: np.sin(x) + np.mean(x), x), np.cos([1.0, 2.0, 3.0]) + 1.0)


@feature(74, "NumPy data; pure Python to install", "`pip install arraytape`")
def test_nothing_is_compiled():
    assert not list((ROOT / "src").rglob("*.so"))
    assert not list((ROOT / "src").rglob("*.pyx"))


@feature(
    75,
    "CuPy data",
    '`xp.asarray(x, device="cuda:0")`',
    partly="tested in CI on a stand-in; run on one GPU, an NVIDIA H200",
)
def test_cupy_data_on_a_stand_in(fake_cupy):
    cupy = fake_cupy()
    x = xp.asarray([1.0, 2.0, 3.0], device="cuda:0")
    found = slope(lambda x: x * x, x)
    assert found.device == "cuda:0"
    assert type(found._data) is cupy.ndarray
    assert found.to_device("cpu").tolist() == [2.0, 4.0, 6.0]


# --- interoperation --------------------------------------------------------------------------------
@feature(76, "scikit-learn's own code differentiates", "`array_api_dispatch=True`")
def test_scikit_learn_differentiates(near):
    sklearn = pytest.importorskip("sklearn", reason="the interoperation is with scikit-learn")
    from sklearn.preprocessing import StandardScaler

    X = xp.asarray([[1.0, 2.0], [3.0, 5.0], [4.0, 9.0]])
    with sklearn.config_context(array_api_dispatch=True), np.errstate(invalid="ignore"):
        found = xp.grad(lambda X: xp.sum(StandardScaler().fit_transform(X)[0] ** 2))(X)
    assert np.all(np.asarray(found)[0] != 0)
    near(xp.sum(found), 0.0)


@feature(77, "SciPy's own code differentiates", "`SCIPY_ARRAY_API=1`")
def test_scipy_differentiates(x, near):
    stats = pytest.importorskip("scipy.stats", reason="the interoperation is with SciPy")
    near(xp.grad(lambda x: stats.gmean(x))(x), 6 ** (1 / 3) / 3 / np.asarray([1.0, 2.0, 3.0]))


@feature(78, "SciPy's special functions, with rules", "`xp.special`, `scipy.special.betainc(x)`")
def test_special_functions_have_rules(near):
    special = pytest.importorskip("scipy.special", reason="special functions are SciPy's")
    x = xp.asarray([0.2, 0.7])
    density = np.asarray(x) * (1 - np.asarray(x)) ** 2 / special.beta(2.0, 3.0)
    near(slope(lambda x: special.betainc(2.0, 3.0, x), x), density)
    near(slope(lambda x: xp.special.jv(1.0, x), x), special.jvp(1.0, np.asarray(x)))


@feature(
    79, "SciPy's optimizers with gradients", "`minimize(f, x0, jac=xp.grad(f))`, `minimize_scipy`"
)
def test_optimizers_of_scipy(near):
    optimize = pytest.importorskip("scipy.optimize", reason="the optimizers are SciPy's")

    def f(x):
        return xp.sum((xp.asarray(x) - 1.0) ** 4 + (xp.asarray(x) - 1.0) ** 2)

    x0 = np.asarray([3.0, -2.0])
    found = optimize.minimize(f, x0, jac=xp.grad(f), hess=xp.hessian(f), method="trust-ncg")
    near(found.x, [1.0, 1.0], rtol=1e-6)
    bounded = minimize_scipy(
        lambda p: f(p["x"]), {"x": xp.asarray(x0)}, bounds={"x": (2.0, None)}, method="L-BFGS-B"
    )
    near(bounded.x["x"], [2.0, 2.0])


@feature(80, "other libraries' arrays around Arrays", "`xarray.DataArray(x)`, lists, dicts, joblib")
def test_arrays_inside_arrays_of_objects(x, near):
    def f(x):
        boxes = np.empty(2, dtype=object)
        boxes[0], boxes[1] = x * 2.0, x * x
        return boxes[0] + boxes[1]

    near(slope(f, x), [4.0, 6.0, 8.0])


# --- numerics --------------------------------------------------------------------------------------
@feature(81, "a table of the conventions at kinks", "docs: `numerics`; maximum, abs, sort, ...")
def test_ties_share_the_gradient(near):
    near(xp.grad(lambda x: xp.maximum(x, x))(xp.asarray(1.0)), 1.0)
    near(xp.grad(xp.abs)(xp.asarray(0.0)), 0.0)


@feature(82, "a zero cotangent times an infinite slope is zero", "`where(x > 0, sqrt(x), 0)`")
def test_what_was_not_selected_counts_as_zero(near):
    near(slope(lambda x: xp.where(x > 0, xp.sqrt(x), 0.0), xp.asarray([0.0, 4.0])), [0.0, 0.25])


@feature(
    83,
    "numerically stable functions",
    "`logaddexp`, `log1p`, `nn.softplus`, `special.xlogy`, `sinc`",
)
def test_stable_functions(near):
    near(xp.grad(xp.nn.softplus)(xp.asarray(-800.0)), 0.0)
    near(slope(lambda x: xp.logaddexp(x, -x), xp.asarray([900.0])), [1.0])
    near(slope(lambda x: xp.special.xlogy(x, 2.0), xp.asarray([0.0])), [np.log(2.0)])


@feature(84, "products with zeros", "`xp.prod`, `xp.cumulative_prod`")
def test_products_with_zeros(near):
    x = xp.asarray([2.0, 0.0, 3.0])
    near(xp.grad(xp.prod)(x), [0.0, 6.0, 0.0])
    near(slope(xp.cumulative_prod, x), [1.0, 2.0 + 6.0, 0.0])


@feature(
    85,
    "complex numbers, by a convention that is stated",
    "the gradient is conj(dL/dz), as TensorFlow's",
)
def test_complex_numbers(near):
    near(xp.grad(lambda z: xp.real(z * xp.conj(z)))(xp.asarray(1.0 + 2.0j)), 2.0 + 4.0j)


@feature(86, "coinciding eigenvalues: exact for invariant functions", "`xp.linalg.eigh`, `svd`")
def test_coinciding_eigenvalues(near):
    a = xp.eye(3) * 2.0
    near(xp.grad(lambda a: xp.sum(xp.linalg.eigh(a).eigenvalues ** 2))(a), 4.0 * np.eye(3))


# --- threads ---------------------------------------------------------------------------------------
@feature(87, "a tape records one thread; any thread may request its gradients", "`GradientTape`")
def test_tapes_belong_to_a_thread(x, near):
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.sum(x * x)
        thread = threading.Thread(target=lambda: xp.sum(xp.exp(xp.ones(2))))
        thread.start()
        thread.join()
    with ThreadPoolExecutor(1) as pool:
        near(pool.submit(tape.gradient, y, x).result(), [2.0, 4.0, 6.0])


@feature(88, "a tape records other threads on request", "`with tape.in_this_thread()`")
def test_a_tape_in_worker_threads(x, near):
    def work(k):
        with tape.in_this_thread():
            return xp.sum(x * k)

    with xp.GradientTape() as tape, ThreadPoolExecutor(2) as pool:
        tape.watch(x)
        total = sum(pool.map(work, [1.0, 2.0, 3.0]))
    near(tape.gradient(total, x), [6.0, 6.0, 6.0])


@feature(89, "tasks of asyncio do not see each other's tapes", "context variables")
def test_tasks_are_apart(near):
    async def task(k):
        x = xp.asarray(float(k))
        with xp.GradientTape() as tape:
            tape.watch(x)
            await asyncio.sleep(0)
            y = x * x
            await asyncio.sleep(0)
        return tape.gradient(y, x)

    async def both():
        return await asyncio.gather(task(1), task(2), task(3))

    for found, right in zip(asyncio.run(both()), (2.0, 4.0, 6.0), strict=True):
        near(found, right)


@feature(90, "CPython without a global lock", "tested on 3.13t: docs/explanation/reliability.md")
def test_it_is_declared():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert "Free Threading :: 2 - Beta" in text


# --- tooling ---------------------------------------------------------------------------------------
@feature(91, "types", "`py.typed`")
def test_types_are_shipped():
    assert (ROOT / "src" / "arraytape" / "py.typed").exists()
    assert inspect.signature(xp.exp).parameters["x"].annotation


@feature(
    92,
    "each rule is checked numerically by tests that anyone can run",
    "`tests/ops`, `testing.samples`",
)
def test_each_op_has_samples():
    assert len(REGISTRY) > 200
    assert (ROOT / "tests" / "ops" / "test_rules.py").exists()
