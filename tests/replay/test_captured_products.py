"""Matrix products in CUDA graphs: those of xp.function, and those of a capture by the user."""

import gc
import random
import threading
import warnings

import numpy as np
import pytest

import arraytape as xp
from arraytape import optimizers
from arraytape._storage.cupy import storage
from arraytape._util.errors import TapeWarning

DEVICE = "cuda:0"
pytestmark = pytest.mark.usefixtures("cupy")
PER_DTYPE = {"float16": 2e-3, "float32": 1e-5, "complex64": 1e-5}  # tolerance


def on_device(values, dtype=np.float64):
    return xp.asarray(np.asarray(values, dtype), device=DEVICE)


def drawn(rng, shape, dtype):
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def check_step(f, shapes, dtype="float64", calls=5):
    """Assert that f runs as a CUDA graph, and gives the bits of eager calls and the CPU's values."""
    rng, step = np.random.default_rng(0), xp.function(f)
    for _ in range(calls):
        values = [drawn(rng, shape, dtype) for shape in shapes]
        given = [on_device(x, dtype) for x in values]
        with np.errstate(all="ignore"):
            on_host = f(*map(xp.asarray, values))
        for x, y, z in zip(step(*given), f(*given), on_host, strict=True):
            assert (x.shape, x.dtype) == (z.shape, z.dtype)
            np.testing.assert_array_equal(np.asarray(x), np.asarray(y))
            near = PER_DTYPE.get(dtype, 1e-12)
            np.testing.assert_allclose(np.asarray(x), np.asarray(z), near, near)
    assert step.counts["replayed"] >= calls - 3  # the first calls are traced
    assert all(plan.run.graph is not None for plan in step.plans()), step.explain()


# Name -> a function of two arrays, and their shapes.
PRODUCTS = {
    "matrices": (lambda x, y: x @ y, [(3, 4), (4, 2)]),
    "transposed": (lambda x, y: xp.matrix_transpose(x) @ xp.matrix_transpose(y), [(4, 3), (2, 4)]),
    "strided": (lambda x, y: x[::2, 1::2] @ y[:, ::-1], [(6, 8), (4, 3)]),
    "rows of a matrix": (lambda x, y: x[1:3] @ y[:, 1:], [(4, 4), (4, 3)]),
    "conjugated": (lambda x, y: xp.conj(xp.matrix_transpose(x)) @ y, [(4, 3), (4, 2)]),
    "one row": (lambda x, y: x @ y, [(1, 4), (4, 1)]),
    "vectors": (lambda x, y: x @ y, [(4,), (4,)]),
    "matrix and vector": (lambda x, y: x @ y, [(3, 4), (4,)]),
    "vector and matrix": (lambda x, y: x @ y, [(4,), (4, 3)]),
    "stacks": (lambda x, y: x @ y, [(5, 3, 4), (5, 4, 2)]),
    "stack and matrix": (lambda x, y: x @ y, [(5, 3, 4), (4, 2)]),
    "matrix and stack": (lambda x, y: x @ y, [(3, 4), (5, 4, 2)]),
    "stacks that broadcast": (lambda x, y: x @ y, [(2, 1, 3, 4), (5, 4, 2)]),
    "stack and vector": (lambda x, y: x @ y, [(5, 3, 4), (4,)]),
    "vector and stack": (lambda x, y: x @ y, [(4,), (5, 4, 3)]),
    "no columns": (lambda x, y: x @ y + 1.0, [(3, 0), (0, 2)]),
    "no matrices": (lambda x, y: x @ y + 1.0, [(0, 3, 4), (0, 4, 2)]),
    "tensordot": (lambda x, y: xp.tensordot(x, y, axes=([0, 1], [1, 0])), [(3, 4, 2), (4, 3)]),
    "vecdot": (lambda x, y: xp.vecdot(x, y), [(5, 4), (4,)]),
    "einsum": (lambda x, y: xp.einsum("bij,bjk->ki", x, y), [(5, 3, 4), (5, 4, 2)]),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("name", PRODUCTS)
def test_a_product_and_its_gradients_in_a_graph_have_the_bits_of_calls(name, dtype):
    product, shapes = PRODUCTS[name]

    def f(x, y):
        with xp.GradientTape() as tape:
            tape.watch([x, y])
            z = product(x, y)
            target = xp.sum(xp.abs(z) ** 2)
        return [z, *tape.gradient(target, [x, y], unconnected_gradients="zero")]

    check_step(f, shapes, dtype)


def test_a_product_in_half_precision_is_captured():
    check_step(lambda x, y: [x @ y], [(3, 4), (4, 2)], "float16")


def test_vmapped_products_are_captured():
    check_step(
        lambda x, y: [xp.vmap(lambda row: xp.tanh(row @ y) @ xp.matrix_transpose(y))(x)],
        [(5, 4), (4, 3)],
    )


def test_a_convolution_is_captured():
    layers = {name: xp.nn.Conv2D(4, 3, padding="same", seed=0) for name in ("cpu", DEVICE)}
    for name, layer in layers.items():
        layer(xp.zeros((1, 5, 5, 2), dtype=xp.float32, device=name))

    def f(x):
        layer = layers[x.device]
        with xp.GradientTape() as tape:
            tape.watch(x)
            y = xp.sum(layer(x) ** 2)
        return [y, *tape.gradient(y, [x, layer.kernel])]

    check_step(f, [(2, 5, 5, 2)], "float32")


# --- random steps -----------------------------------------------------------------------------------
SQUARE = (3, 3)
STATEMENTS = (
    "{} @ {}", "xp.matrix_transpose({}) @ {}", "{} + {}", "{} * {}", "xp.tanh({}) - {}",
    "xp.tensordot({}, {}, axes=1)", "xp.matmul({}, {}[:, :1]) * 0.5", "{}[::-1] @ {}[:, ::-1]",
    "xp.where({} > 0.0, {}, 0.5)", "xp.sum({}, axis=0) @ {} + {}", "{}[0] @ {} + {}",
    "xp.vecdot({}, {}) * {}", "xp.stack([{}, {}]) @ {}", "xp.max({}, axis=0) * {}",
)  # fmt: skip
WRITES = "{}[0] = {}[1]", "{}[:2] += {}[1:]", "{} *= {}"


def random_step(seed):
    """Return a function of three matrices with random products, writes and two gradients, as text."""
    choices = random.Random(seed)
    names, lines = ["x", "y", "v"], []
    for i in range(choices.randint(4, 9)):
        if choices.random() < 0.25 and i:
            target = choices.choice(names[3:] or ["v"])
            line = choices.choice(WRITES)
            lines.append(line.format(f"{target}", choices.choice(names)))
            continue
        text = choices.choice(STATEMENTS)
        text = text.format(*choices.choices(names, k=text.count("{}")))
        lines.append(f"a{i} = xp.tanh(xp.sum(xp.reshape({text}, (-1, 3)), axis=0)) + 0.1 * y")
        names.append(f"a{i}")
    total = " + ".join(f"xp.sum({name} * {i + 1}.0)" for i, name in enumerate(names[3:] or ["v"]))
    body = "\n        ".join([*lines, f"total = {total}"])
    kept = choices.choice(["keep", "guard"])
    return (
        "def step(x, y):\n    v = variable * 1.0\n    with xp.GradientTape() as tape:\n"
        f"        tape.watch([x, y])\n        {body}\n"
        f"    g, h = tape.gradient(total, [x, y], nan={kept!r}, unconnected_gradients='zero')\n"
        f"    variable.assign(0.5 * variable + 0.01 * xp.tanh(g @ h))\n"
        f"    return [total, g, h, {', '.join(names[3:])}]\n"
    )


@pytest.mark.parametrize("seed", range(20))
def test_random_steps_in_graphs_give_the_bits_of_eager_steps_on_new_data(seed):
    text, rng = random_step(seed), np.random.default_rng(seed)
    start, functions = rng.normal(size=SQUARE), []
    for device in (DEVICE, DEVICE, "cpu"):
        scope = {"xp": xp, "variable": xp.Variable(xp.asarray(start, device=device))}
        exec(text, scope)
        functions.append((scope["step"], scope["variable"], device))
    step = xp.function(functions[0][0])
    for _ in range(5):
        values = [rng.normal(size=SQUARE) for _ in range(2)]
        found, eager, host = (
            f(*[xp.asarray(x, device=device) for x in values])
            for f, (_, _, device) in zip(
                [step, *[f for f, *_ in functions[1:]]], functions, strict=True
            )
        )
        for x, y, z in zip(found, eager, host, strict=True):
            np.testing.assert_array_equal(np.asarray(x), np.asarray(y), err_msg=text)
            np.testing.assert_allclose(np.asarray(x), np.asarray(z), 1e-9, 1e-9, err_msg=text)
        variables = [np.asarray(variable) for _, variable, _ in functions]
        np.testing.assert_array_equal(variables[0], variables[1], err_msg=text)
        np.testing.assert_allclose(variables[0], variables[2], 1e-9, 1e-9, err_msg=text)
    assert step.counts["replayed"] >= 2, step.explain()
    assert all(plan.run.graph is not None for plan in step.plans()), step.explain()


# --- graphs side by side ------------------------------------------------------------------------------
def gradient_step(x, w):
    with xp.GradientTape() as tape:
        tape.watch(w)
        y = xp.sum(xp.sqrt(x @ w))
    return y, tape.gradient(y, w)


def assert_as_eagerly(step, *values):
    given = [on_device(x) for x in values]
    for x, y in zip(step(*given), gradient_step(*given), strict=True):
        np.testing.assert_array_equal(np.asarray(x), np.asarray(y))


def test_two_graphs_that_take_turns_keep_their_memory_apart():
    rng = np.random.default_rng(2)
    steps = [xp.function(gradient_step) for _ in range(2)]
    for i in range(12):
        size = 3 + i % 3
        for step in steps:
            x, w = rng.uniform(0.5, 1.0, (2, size)), rng.uniform(0.5, 1.0, (size, 4))
            assert_as_eagerly(step, x, w)
    assert all(step.counts["replayed"] == 6 for step in steps)


def test_a_nan_in_a_gradient_of_a_product_is_handled_as_eagerly():
    step = xp.function(gradient_step)
    positive, zero = np.ones((2, 3)), np.asarray([[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]])
    for x in (positive, positive * 2.0, positive * 3.0, zero, positive * 4.0, zero * np.nan):
        assert_as_eagerly(step, x, np.ones((3, 2)))
    assert step.counts["replayed"] >= 2


def test_threads_with_streams_share_graphs_and_capture_their_own(cupy):
    shared, wrong = xp.function(gradient_step), []
    for _ in range(3):
        assert_as_eagerly(shared, np.ones((2, 3)), np.ones((3, 2)))

    def work(seed):
        try:
            rng, own = np.random.default_rng(seed), xp.function(gradient_step)
            with cupy.cuda.Stream(non_blocking=True) as stream:
                for _ in range(8):
                    for step in (shared, own):
                        assert_as_eagerly(
                            step, rng.uniform(1, 2, (2, 3)), rng.uniform(1, 2, (3, 2))
                        )
                stream.synchronize()
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert not storage().captured_products.depth


def test_the_memory_of_a_graph_is_freed_with_the_function():
    step = xp.function(gradient_step)
    for _ in range(4):
        assert_as_eagerly(step, np.ones((2, 3)), np.ones((3, 2)))
    pool = step.plans()[0].run.pool
    assert pool.used_bytes() > 0
    assert pool.total_bytes() >= 4 << 20  # with the workspace of cuBLAS
    del step
    gc.collect()
    assert pool.used_bytes() == 0


# --- what cannot be captured -------------------------------------------------------------------------
def check_not_captured(why):
    """Assert that products are calls, and no graph for the reason ``why``, and have eager values."""
    step = xp.function(gradient_step)
    for i in range(4):
        assert_as_eagerly(step, np.ones((2, 3)) + i, np.ones((3, 2)))
    assert step.counts["replayed"] == 2
    assert "not a CUDA graph: CuPy cannot capture it" in step.explain()
    assert why in step.explain()


class Failing:
    """cuBLAS, of which one function returns an error status."""

    def __init__(self, library, name):
        self.library, self.name = library, name

    def __getattr__(self, name):
        return (lambda *_: 13) if name == self.name else getattr(self.library, name)


@pytest.mark.parametrize("name", ["cublasSetStream_v2", "cublasSetWorkspace_v2", "cublasGemmEx"])
def test_an_error_of_cublas_is_the_reason_for_which_a_program_is_no_graph(monkeypatch, name):
    products = storage().captured_products
    failing = Failing(products.library, name)
    monkeypatch.setitem(vars(products), "library", failing)
    check_not_captured("CUBLAS_STATUS_EXECUTION_FAILED")
    assert products.module.gemmEx is products.originals["gemmEx"]


def test_without_a_library_of_cublas_a_program_is_no_graph(monkeypatch, cupy):
    monkeypatch.delitem(vars(storage().captured_products), "library", raising=False)
    monkeypatch.setattr(cupy.cuda.runtime, "runtimeGetVersion", lambda: 99000)
    check_not_captured("cuBLAS was not found")


def test_calls_of_cusolver_are_made_one_by_one():
    step = xp.function(lambda x: xp.linalg.cholesky(x @ x + xp.ones_like(x)))
    for i in range(4):
        x = on_device(np.eye(3) * (i + 1.0))
        np.testing.assert_array_equal(np.asarray(step(x)), np.asarray(step.eager(x)))
    assert "not a CUDA graph: CuPy cannot capture it (calling cuSOLVER API" in step.explain()


# --- captures by the user ----------------------------------------------------------------------------
RNG = np.random.default_rng(3)
SHAPES = (3, 4), (4, 5), (5, 2)


def loss(x, w, v):
    """Return the mean log-sum-exp of a network's results."""
    z = xp.tanh(x @ w) @ v
    return xp.mean(xp.log(xp.sum(xp.exp(z - xp.max(z, axis=1, keepdims=True)), axis=1)))


def descend(x, w, v, nan):
    """Return the loss, and w and v after a step of gradient descent."""
    with xp.GradientTape() as tape:
        tape.watch([w, v])
        value = loss(x, w, v)
    for_w, for_v = tape.gradient(value, [w, v], nan=nan)
    return [value, w - 0.1 * for_w, v - 0.1 * for_v]


def of_variables(x, w, v):
    """Return a function without arguments that takes a step with Adam, and returns the variables."""
    variables = [xp.Variable(w), xp.Variable(v)]
    optimizer = optimizers.Adam(0.01)

    def run():
        with xp.GradientTape() as tape:
            value = loss(x, *variables)
        gradients = tape.gradient(value, variables, nan="keep")
        optimizer.apply_gradients(zip(gradients, variables, strict=True))
        return [value, *[variable.value() for variable in variables]]

    return run


def of_function(x, w, v):
    traced = xp.function(lambda x, w, v: descend(x, w, v, "keep"))
    return lambda: traced(x, w, v)


def of_program(x, w, v):
    """Return a function that runs a traced step's program over the namespace of CuPy's own arrays."""
    namespace = pytest.importorskip("array_api_compat.cupy")
    traced = xp.function(lambda x, w, v: descend(x, w, v, "keep"))
    for _ in range(2):
        traced(*[xp.asarray(np.asarray(a)) for a in (x, w, v)])
    run = traced.program.run(namespace, check=False)
    return lambda: run(x._data, w._data, v._data)[0]


STEPS = {
    "forward": lambda *given: lambda: [loss(*given)],
    'eager step, nan="keep"': lambda *given: lambda: descend(*given, "keep"),
    'eager step with Adam, nan="keep"': of_variables,
    "xp.function": of_function,
    "exported program": of_program,
}


def numbers(results):
    return [np.asarray(getattr(x, "_data", x).get()) for x in results]


@pytest.mark.parametrize("name", STEPS)
def test_steps_captured_by_the_user_compute_new_results_from_new_data(cupy, name):
    values = [RNG.uniform(-1.0, 1.0, shape) for shape in SHAPES]
    given = [on_device(x) for x in values]
    pool, stream = cupy.cuda.MemoryPool(), cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TapeWarning)  # xp.function runs eagerly in a capture
        with cupy.cuda.using_allocator(pool.malloc), stream:
            run = STEPS[name](*given)
            for _ in range(3):
                run()
            stream.begin_capture()
            try:
                results = run()
            finally:
                graph = stream.end_capture()
            stream.synchronize()
        for number in range(3):
            beside = [on_device(x) for x in values]
            eager = STEPS[name](*beside)
            for _ in range(3):
                eager()
            for x, value in zip([*given, *beside], [*values, *values], strict=True):
                x._data[...] = cupy.asarray(value * (1.0 + number))
            graph.launch()
            for x, y in zip(numbers(results), numbers(eager()), strict=True):
                np.testing.assert_array_equal(x, y)


def test_a_captured_step_with_a_guard_raises_and_says_what_to_do(cupy):
    given = [on_device(RNG.uniform(-1.0, 1.0, shape)) for shape in SHAPES]
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        descend(*given, "guard")
        stream.begin_capture()
        try:
            with pytest.raises(RuntimeError, match="pass nan='keep' to gradient"):
                descend(*given, "guard")
        finally:
            stream.end_capture()


def test_products_of_cupys_own_arrays_stay_refused_in_a_capture(cupy):
    x, stream = cupy.ones((3, 3)), cupy.cuda.Stream(non_blocking=True)
    with stream:
        x @ x
        stream.begin_capture()
        try:
            xp.matmul(xp.asarray(x, copy=False), xp.asarray(x, copy=False))
            with pytest.raises(NotImplementedError, match="calling cuBLAS API"):
                x @ x
        finally:
            stream.end_capture()
