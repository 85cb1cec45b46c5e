"""Replays on a GPU: programs of CuPy's calls, fused, in a CUDA graph, equal to eager calls."""

import gc
import threading
import warnings
import weakref

import numpy as np
import pytest

import arraytape as xp
from arraytape import optimizers
from arraytape._util.errors import TapeWarning
from arraytape.replay.device.device_program import DeviceProgram

DEVICE = "cuda:0"
pytestmark = pytest.mark.usefixtures("cupy")


@pytest.fixture
def warned():
    """The texts of warnings that calls of functions give, which are errors elsewhere."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", TapeWarning)
        yield found


def on_device(values):
    return xp.asarray(np.asarray(values, dtype=np.float64), device=DEVICE)


def in_graph(step):
    """Assert that all programs of a function are graphs, and return the function's counts."""
    assert step.traces
    assert all(plan.run.graph is not None for plan in step.plans()), step.explain()
    return step.counts


class Network:
    """A network with two layers and Adam, whose step is a function."""

    def __init__(self, device, nan="guard"):
        rng = np.random.default_rng(0)
        shapes = (4, 8), (8,), (8, 2), (2,)
        values = [rng.normal(size=shape) / 2 for shape in shapes]
        self.variables = [xp.Variable(xp.asarray(x, device=device)) for x in values]
        self.optimizer, self.nan, self.device = optimizers.Adam(0.01), nan, device

    def step(self, x, y):
        w, b, v, c = self.variables
        with xp.GradientTape() as tape:
            loss = xp.mean((xp.tanh(x @ w + b) @ v + c - y) ** 2)
        gradients = tape.gradient(loss, self.variables, nan=self.nan)
        self.optimizer.apply_gradients(zip(gradients, self.variables, strict=True))
        return loss

    def values(self):
        return [np.asarray(x) for x in self.variables]


def batches(count):
    rng = np.random.default_rng(1)
    return [(rng.normal(size=(16, 4)), rng.normal(size=(16, 2))) for _ in range(count)]


@pytest.mark.parametrize("nan", ["keep", "guard"])
def test_steps_of_a_network_with_adam_are_equal_to_eager_steps(nan):
    eager, replayed, host = Network(DEVICE, nan), Network(DEVICE, nan), Network("cpu", nan)
    step = xp.function(replayed.step)
    for x, y in batches(100):
        expected = eager.step(on_device(x), on_device(y))
        found = step(on_device(x), on_device(y))
        on_host = host.step(xp.asarray(x), xp.asarray(y))
        assert found.device == DEVICE
        assert float(found) == float(expected)
        np.testing.assert_allclose(float(found), float(on_host), rtol=1e-9)
    for a, b, c in zip(replayed.values(), eager.values(), host.values(), strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_allclose(a, c, rtol=1e-7)
    assert in_graph(step)["replayed"] == 97
    assert "CUDA graph" in step.explain()


class WrongGraph:
    """A graph whose launch does nothing, or adds to the results of the calls."""

    def __init__(self, program, change):
        self.program, self.change = program, change

    def launch(self, stream=None):
        for x, y in zip(self.program.results, self.program.compute(), strict=True):
            x[...] = y if self.change else x
            x += self.change


@pytest.mark.parametrize("change", [0.0, 1.0])
def test_a_graph_that_gives_other_values_is_not_used(monkeypatch, change):
    captured = DeviceProgram.captured_graph

    def wrong_graph(self, stream):
        return captured(self, stream) and WrongGraph(self, change)

    monkeypatch.setattr(DeviceProgram, "captured_graph", wrong_graph)
    step = xp.function(lambda x: xp.sum(xp.exp(x) * x))
    for i in range(4):
        x = on_device([0.5, 1.0 + i])
        assert float(step(x)) == float(step.eager(x))
    assert step.counts["replayed"] == 2
    assert "gave other values" in step.explain()


def test_other_shapes_and_dtypes_have_their_own_graphs():
    step = xp.function(lambda x: xp.sum(x * x + xp.sin(x)))
    for _ in range(4):
        for x in (
            on_device([1.0, 2.0]),
            on_device([[3.0]]),
            xp.astype(on_device([4.0]), xp.float32),
        ):
            found = step(x)
            assert (float(found), found.dtype) == (float(step.eager(x)), x.dtype)
    assert in_graph(step) == {"traced": 6, "replayed": 6, "eager": 0}


def test_other_python_arguments_and_state_have_their_own_graphs():
    state = {"shift": 1.0}

    def f(x, power, name="a"):
        return (x**power + state["shift"]) * (1.0 if name == "a" else -1.0)

    step = xp.function(f)
    for shift in (1.0, 5.0, 1.0):
        state["shift"] = shift
        for power in (2, 3):
            for name in "ab":
                for _ in range(3):
                    x = on_device([1.5, -2.0])
                    found = step(x, power, name=name)
                    np.testing.assert_array_equal(np.asarray(found), np.asarray(f(x, power, name)))
    assert in_graph(step)["replayed"] > 12


def test_variables_assigned_between_calls_are_read():
    v, w = xp.Variable(on_device([1.0, 2.0])), xp.Variable(3.0)  # w is on the host

    @xp.function
    def step(x):
        v.assign_add(x * xp.astype(w, xp.float64, device=DEVICE))
        return xp.sum(v)

    expected = np.asarray([1.0, 2.0])
    for i in range(6):
        if i % 2:
            v.assign(on_device([float(i), 0.0]))
            w.assign(float(i))
            expected = np.asarray([float(i), 0.0])
        found = step(on_device([1.0, 10.0]))
        expected = expected + np.asarray([1.0, 10.0]) * float(w)
        assert float(found) == expected.sum()
        np.testing.assert_array_equal(np.asarray(v), expected)
    assert in_graph(step)["replayed"] == 4


def test_values_of_variables_taken_earlier_do_not_change():
    v = xp.Variable(on_device([1.0]))
    step = xp.function(lambda x: v.assign(v * x))
    taken, raw = [], []
    for _ in range(6):
        step(on_device([2.0]))
        taken.append(v.value())
        raw.append(v._data)
    assert [float(x[0]) for x in taken] == [2.0, 4.0, 8.0, 16.0, 32.0, 64.0]
    assert [float(x[0]) for x in raw] == [2.0, 4.0, 8.0, 16.0, 32.0, 64.0]


def test_results_are_not_overwritten_by_later_calls():
    @xp.function
    def step(x):
        y = x * 2.0
        return y, y[1:], xp.permute_dims(y, (0,)), x, xp.reshape(y, (1, -1))

    held = [step(on_device([i, i + 1.0, i + 2.0])) for i in range(6)]
    in_graph(step)
    for i, found in enumerate(held):
        base = np.asarray([i, i + 1.0, i + 2.0])
        for x, expected in zip(
            found, (base * 2, base[1:] * 2, base * 2, base, base[None] * 2), strict=True
        ):
            np.testing.assert_array_equal(np.asarray(x), expected)


def test_views_in_results_share_memory_as_in_eager_calls():
    def f(x):
        y = x * 2.0
        return y, y[1:], x[:2]

    step = xp.function(f)
    for function in (f, step, step, step, step):
        x = on_device([1.0, 2.0, 3.0])
        y, part, first = function(x)
        y[...] = 0.0
        x[...] = 7.0
        np.testing.assert_array_equal(np.asarray(part), [0.0, 0.0])
        np.testing.assert_array_equal(np.asarray(first), [7.0, 7.0])
    assert in_graph(step)["replayed"] == 2


def test_writes_to_arguments_and_other_arrays_are_made():
    counts = on_device([0.0, 0.0])

    @xp.function
    def step(x):
        counts[0] += 1.0
        x[1:] = x[:-1] * 2.0
        x += 1.0
        return x + counts[0]

    x, expected = on_device([1.0, 2.0, 3.0]), np.asarray([1.0, 2.0, 3.0])
    view = x[1:]
    for i in range(5):
        found = step(x)
        expected[1:] = expected[:-1] * 2.0
        expected += 1.0
        np.testing.assert_array_equal(np.asarray(x), expected)
        np.testing.assert_array_equal(np.asarray(view), expected[1:])
        np.testing.assert_array_equal(np.asarray(found), expected + i + 1.0)
    assert float(counts[0]) == 5.0
    assert in_graph(step)["replayed"] == 3


def test_nan_in_a_gradient_is_found_and_handled_as_eagerly():
    def f(x):
        with xp.GradientTape() as tape:
            tape.watch(x)
            y = xp.sum(xp.where(x > 0.0, xp.sqrt(x), 0.0))
        return tape.gradient(y, x)

    step = xp.function(f)
    for values in (
        [1.0, 4.0],
        [1.0, 4.0],
        [1.0, 4.0],
        [0.0, 4.0],
        [1.0, 4.0],
        [0.0, 4.0],
        [np.nan, 1.0],
    ):
        found, expected = step(on_device(values)), f(on_device(values))
        np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))
    assert step.counts["replayed"] >= 2


def test_nothing_is_written_if_a_nan_was_found():
    v = xp.Variable(on_device([1.0, 4.0]))

    def f(x):
        with xp.GradientTape() as tape:
            y = xp.sum(xp.sqrt(v * x))
        v.assign_sub(tape.gradient(y, v))
        return y

    step, eager = xp.function(f), []
    w = v
    for values in ([1.0, 4.0], [2.0, 1.0], [3.0, 1.0], [4.0, 0.5], [np.inf, 1.0], [1.0, 1.0]):
        before = np.asarray(w)
        step(on_device(values))
        found = np.asarray(w)
        w.assign(on_device(before))
        f(on_device(values))
        eager.append(np.asarray(w))
        np.testing.assert_array_equal(found, eager[-1])


def test_an_exception_in_the_function_is_raised_and_leaves_no_state(cupy):
    fails = {"now": False}

    @xp.function
    def step(x):
        y = x * 2.0
        if fails["now"]:
            raise KeyError("now")
        return y

    for i in range(8):
        fails["now"] = i in (1, 5)
        if fails["now"]:
            with pytest.raises(KeyError, match="now"):
                step(on_device([1.0]))
        else:
            assert float(step(on_device([float(i)]))[0]) == 2.0 * i
    assert not cupy.cuda.get_current_stream().is_capturing()


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_an_exception_while_a_graph_is_captured_ends_the_capture(cupy, monkeypatch, error, warned):
    streams, compute = [], DeviceProgram.compute

    def failing(self):
        stream = cupy.cuda.get_current_stream()
        if stream.is_capturing():
            streams.append(stream)
            raise error("while it captures")
        return compute(self)

    monkeypatch.setattr(DeviceProgram, "compute", failing)
    step = xp.function(lambda x: x * 2.0 + 1.0)
    step(on_device([1.0]))
    if error is KeyboardInterrupt:
        with pytest.raises(KeyboardInterrupt):
            step(on_device([1.0]))
    else:
        assert float(step(on_device([1.0]))[0]) == 3.0
        assert "CuPy cannot capture it (while it captures)" in step.explain()
    assert len(streams) == 1
    assert not streams[0].is_capturing()
    assert warned == []
    monkeypatch.undo()
    assert [float(step(on_device([float(i)]))[0]) for i in range(3)] == [1.0, 3.0, 5.0]


READING = {
    "float": lambda x: x * float(xp.sum(x)),
    "if": lambda x: x if xp.sum(x) > 0.0 else -x,
    "mask": lambda x: x[x > 1.0],
    "nonzero": lambda x: xp.nonzero(x)[0],
    "unique": lambda x: xp.unique_values(x),
    "to the host": lambda x: xp.sum(x).to_device("cpu"),
    "asarray": lambda x: x * on_device(np.asarray(x)),
}


@pytest.mark.parametrize("name", READING)
def test_functions_that_read_values_run_eagerly(warned, name):
    step = xp.function(READING[name])
    for values in ([1.0, 2.0, 2.0], [3.0, 0.5, 4.0], [-9.0, 2.0, 1.0], [1.0, 1.0, 1.0]):
        found, expected = step(on_device(values)), READING[name](on_device(values))
        assert found.device == expected.device
        np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))
    assert step.counts["replayed"] == 0
    assert "depends on values on cuda:0" in step.explain()
    assert len(warned) == 1


def test_random_numbers_of_the_host_and_of_cupy_are_drawn_in_each_call(cupy, warned):
    rng = np.random.default_rng(0)
    step = xp.function(lambda x: x + xp.asarray(rng.normal(size=2), device=DEVICE))
    found = {float(step(on_device([1.0, 2.0]))[0]) for _ in range(6)}
    assert len(found) == 6
    assert step.counts["replayed"] == 0
    drawn = iter(range(10))

    def made_by_cupy(x):
        return x + xp.asarray(cupy.full(2, float(next(drawn))))

    step = xp.function(made_by_cupy)
    assert [float(step(on_device([1.0, 2.0]))[0]) for _ in range(5)] == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert step.counts["replayed"] == 0


def test_ndarrays_of_numpy_that_change_are_noticed():
    table = np.asarray([1.0, 2.0])
    step = xp.function(lambda x: x * xp.asarray(table, device=DEVICE))
    for i in range(8):
        if i == 4:
            table[0] = 5.0
        found = np.asarray(step(on_device([1.0, 1.0])))
        np.testing.assert_array_equal(found, table)
    assert in_graph(step)["replayed"] == 4


def test_a_cupy_array_from_outside_is_read_in_each_call(cupy, warned):
    table = cupy.asarray([1.0, 2.0])
    step = xp.function(lambda x: x * table)
    for i in range(5):
        table[0] = float(i)
        assert float(step(on_device([1.0, 1.0]))[0]) == float(i)
    assert step.counts["replayed"] == 0
    assert "made outside arraytape" in step.explain()


def test_an_array_that_shares_memory_with_cupy_is_read_in_each_call(cupy):
    raw = cupy.asarray([1.0, 2.0])
    shared = xp.asarray(raw, copy=False)
    step = xp.function(lambda x: x * shared)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TapeWarning)
        for i in range(5):
            raw[0] = float(i)
            assert float(step(on_device([1.0, 1.0]))[0]) == float(i)
            assert float(step(shared)[0]) == float(i) ** 2


def test_under_a_tape_and_vmap_calls_run_eagerly():
    step = xp.function(lambda x: xp.sum(xp.sin(x) * x))
    x = on_device([1.0, 2.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TapeWarning)
        for _ in range(4):
            with xp.GradientTape() as tape:
                tape.watch(x)
                y = step(x)
            found = tape.gradient(y, x)
            np.testing.assert_allclose(np.asarray(found), np.cos([1, 2]) * [1, 2] + np.sin([1, 2]))
            assert float(step(x)) == float(step.eager(x))
            assert xp.vmap(step)(xp.reshape(x, (2, 1))).shape == (2,)
    assert step.plans()[0].replayed == 2


def test_host_and_device_share_one_program():
    rate = xp.Variable(0.5)

    @xp.function
    def step(x, n):
        n += 1
        rate.assign(rate * 0.5)
        scale = xp.astype(rate * n, xp.float64, device=DEVICE)
        return x * scale, n * 2, rate + 0.0

    n, expected = xp.asarray(0), 0.5
    for i in range(1, 7):
        expected *= 0.5
        scaled, doubled, now = step(on_device([1.0, 2.0]), n)
        assert [float(x) for x in scaled] == [expected * i, 2 * expected * i]
        assert (int(doubled), int(n), float(now), float(rate)) == (2 * i, i, expected, expected)
        assert (scaled.device, doubled.device) == (DEVICE, "cpu")
    assert in_graph(step)["replayed"] == 4


def test_threads_and_streams_take_turns(cupy):
    step = xp.function(lambda x: xp.sum(xp.exp(x) * x))
    for _ in range(3):
        step(on_device([1.0, 2.0]))
    wrong = []

    def work(seed):
        with cupy.cuda.Stream(non_blocking=True) as stream:
            for i in range(20):
                x = on_device([float(seed), i / 10.0])
                if float(step(x)) != float(step.eager(x)):
                    wrong.append((seed, i))
            stream.synchronize()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_memory_is_freed_with_the_function(cupy):
    step = xp.function(lambda x: xp.sum(xp.exp(x) * x))
    for _ in range(4):
        step(on_device(np.ones(1000)))
    assert step.traces[0].memory >= 8000
    program = weakref.ref(step.plans()[0].run)
    del step
    gc.collect()
    assert program() is None


def test_while_a_user_captures_calls_run_eagerly(cupy):
    step = xp.function(lambda x: xp.exp(x) * 2.0)
    x = on_device([1.0, 2.0])
    for _ in range(3):
        step(x)
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        step(x)
        stream.begin_capture()
        try:
            found = step(x)
        finally:
            graph = stream.end_capture()
        graph.launch()
        np.testing.assert_array_equal(np.asarray(found), np.asarray(step.eager(x)))
    assert step.reasons == {"CuPy captures the current stream": 1}


def test_cupys_error_state_is_compared(cupy):
    import cupyx

    step = xp.function(lambda x: xp.linalg.inv(x) @ x)
    x = on_device([[2.0, 1.0], [1.0, 3.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TapeWarning)
        for _ in range(3):
            step(x)
        with cupyx.errstate(linalg="raise"), pytest.raises(np.linalg.LinAlgError):
            step(x * 0.0)


REFUSED = {
    "a wait for the device": lambda cupy, x: x.get(),
    "a call of cuSOLVER": lambda cupy, x: refuse("calling cuSOLVER API during stream capture"),
}


def refuse(why):
    """Raise the error with which CuPy 13 and 14 refuse calls of cuSOLVER while a stream captures."""
    raise NotImplementedError(why)


@pytest.mark.parametrize("name", REFUSED)
def test_calls_that_cupy_cannot_capture_are_made_one_by_one(cupy, monkeypatch, warned, name):
    def failing(self):
        if cupy.cuda.get_current_stream().is_capturing():
            REFUSED[name](cupy, self.inputs.arrays[0])
        return compute(self)

    compute = DeviceProgram.compute
    monkeypatch.setattr(DeviceProgram, "compute", failing)
    eager, replayed = Network(DEVICE), Network(DEVICE)
    step = xp.function(replayed.step)
    for x, y in batches(6):
        assert float(step(on_device(x), on_device(y))) == float(
            eager.step(on_device(x), on_device(y))
        )
    for a, b in zip(replayed.values(), eager.values(), strict=True):
        np.testing.assert_array_equal(a, b)
    assert step.counts == {"traced": 3, "replayed": 3, "eager": 0}
    assert "not a CUDA graph: CuPy cannot capture it" in step.explain()
    assert warned == []


def test_callbacks_get_new_values():
    seen = []
    tell = xp.replay.callback(seen.append)

    @xp.function
    def step(x):
        tell(xp.sum(x))
        return x * 2.0

    for i in range(5):
        step(on_device([float(i), 1.0]))
    assert [float(x) for x in seen] == [1.0, 2.0, 3.0, 4.0, 5.0]
    in_graph(step)


def test_a_step_takes_few_launches():
    rigcount = pytest.importorskip(
        "rigcount", reason="launches are counted by a stand-in for a GPU"
    )
    eager, replayed = Network(DEVICE), Network(DEVICE)
    step = xp.function(replayed.step)
    for x, y in batches(6):
        x, y = on_device(x), on_device(y)
        with rigcount.counted() as alone:
            eager.step(x, y)
        with rigcount.counted() as together:
            step(x, y)
    in_graph(step)
    program = step.plans()[0].run
    with rigcount.counted() as calls:
        program.compute()
    assert calls.launches <= 14 < alone.launches
    # The copies of inputs and results; the flag; the step size of Adam.
    assert (together.launches, together.graph_launches) == (2, 1)
    assert (together.d2h, together.h2d, together.syncs) == (1, 1, 1)
