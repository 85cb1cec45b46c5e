"""``xp.function`` as a function: arguments, methods, recorders around it, threads, interrupts."""

import asyncio
import copy
import cProfile
import functools
import gc
import inspect
import os
import pickle
import re
import sys
import threading
import warnings
import weakref

import numpy as np
import pytest

import arraytape as xp
from arraytape import TapeWarning, diagnose
from arraytape._record import mode_stack
from arraytape._record.mode_stack import MODES
from arraytape._storage.storage import MAKING
from arraytape.replay import call
from arraytape.replay.function import OTHER_KEYWORDS
from arraytape.replay.tracing import exported_buffers, frames, lift
from arraytape.replay.tracing.trace import exit_line
from arraytape.replay.tracing.traced import ACTIVE
from attack import forks

X = [3.0, 5.0]


def x_of(*values):
    return xp.asarray(np.array(values or X))


@xp.function
def module_level(x, by=2.0):
    """What it does."""
    return x * by


class Scaled:
    def __init__(self, by):
        self.by = by

    @xp.function
    def step(self, x):
        """A step."""
        return x * self.by

    @xp.function(limit=4)
    def limited(self, x, *more, key=1.0):
        return x * self.by * key * len(more)


# --- arguments ----------------------------------------------------------------------------------------
def test_forms_of_a_call_share_a_signature():
    g = xp.function(lambda x, y=1.0, *, z=2.0: x * y * z)
    for _ in range(2):
        g(x_of(), 1.0)
    for same in (
        lambda: g(x_of(), y=1.0), lambda: g(x=x_of()), lambda: g(y=1.0, x=x_of()),
        lambda: g(x_of(), z=2.0), lambda: g(z=2.0, y=1.0, x=x_of()),
    ):  # fmt: skip
        assert same().tolist() == [6.0, 10.0]
    assert g.counts == {"traced": 2, "replayed": 5, "eager": 0}
    assert g(x_of(), 3.0).tolist() == [18.0, 30.0]
    assert g(x_of(), z=1.0).tolist() == [3.0, 5.0]


def test_variable_arguments_and_keywords():
    def f(x, *more, **options):
        for part in more:
            x = x * part
        for name in options:
            x = x - options[name]
        return x

    g = xp.function(f)
    for _ in range(4):
        for args, options in (
            ((), {}), ((x_of(),), {}), ((x_of(), x_of()), {}), ((), {"a": x_of()}),
            ((x_of(),), {"a": x_of(), "b": 1.0}), ((), {"b": 1.0, "a": x_of()}),
        ):  # fmt: skip
            assert g(x_of(), *args, **options).tolist() == f(x_of(), *args, **options).tolist()
    assert g.counts["replayed"] == 12


def test_names_that_collide_with_parameters():
    g = xp.function(lambda x, /, **options: x * options["x"] + options["self"])
    for i in range(4):
        assert g(x_of(), x=2.0, self=float(i)).tolist() == [6.0 + i, 10.0 + i]


def test_wrong_arguments_are_what_python_says():
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        module_level()
    with pytest.raises(TypeError, match="unexpected keyword argument 'other'"):
        module_level(x_of(), other=1)


@pytest.mark.parametrize(
    ("name", "advice"),
    [*OTHER_KEYWORDS.items(), ("other", "its keywords are limit, strict and compile")],
)
def test_keywords_of_other_libraries_lead_to_arraytapes(name, advice):
    for args in ((), (lambda x: x,)):
        with pytest.raises(
            TypeError, match=f"unexpected keyword argument '{name}' .*; {re.escape(advice)}"
        ):
            xp.function(*args, **{name: True})


def test_a_default_that_is_an_array():
    w = x_of(1.0, 2.0)

    def f(x, w=w):
        w[0] += 1.0
        return x * w

    g = xp.function(f)
    for i in range(5):
        assert g(x_of()).tolist() == [3.0 * (2.0 + i), 10.0]
    other = x_of(1.0, 1.0)
    f.__defaults__ = (other,)
    for i in range(4):
        assert g(x_of()).tolist() == [3.0 * (2.0 + i), 5.0]
    assert w.tolist() == [6.0, 2.0]


def test_what_is_told_about_a_function():
    assert module_level.__name__ == "module_level"
    assert module_level.__doc__ == "What it does."
    assert module_level.__module__ == __name__
    assert Scaled.step.__doc__ == "A step."
    assert "traced" in repr(module_level)
    assert "step" in repr(Scaled(1.0).step)
    g = xp.function(lambda x, n: xp.sum(x * n))
    for _ in range(3):
        g(x_of(), 2)
    (trace,) = g.traces
    assert trace.signature == "(x: Array float64(2,), n: 2)"
    assert trace.replayed == 1
    assert trace.ops[0] >= trace.ops[1]
    assert "def " in g.source
    assert "multiply" in g.source
    assert g.eager(x_of(), 2).tolist() == 16.0


@pytest.mark.parametrize("f", ["no function", 3, None.__class__])
def test_what_is_no_function_is_refused(f):
    if callable(f):
        assert xp.function(f)
    else:
        with pytest.raises(TypeError, match="needs a function"):
            xp.function(f)


def test_what_cannot_be_replayed_is_refused():
    async def coroutine(x):
        return x

    def generator(x):
        yield x

    async def both(x):
        yield x

    for f, said in ((coroutine, "a coroutine"), (generator, "a generator"), (both, "asynchronous")):
        with pytest.raises(TypeError, match=said):
            xp.function(f)
        with pytest.raises(TypeError, match=said):
            xp.function(functools.partial(f, 1))
    with pytest.raises(ValueError, match="limit must be 2 or more"):
        xp.function(limit=1)


def test_callables_of_all_kinds():
    class Model:
        by = 2.0

        def __call__(self, x):
            return x * self.by

    for f in (
        functools.partial(lambda y, x: x * y, 2.0),
        Model(),
        Model().__call__,
        xp.sin,
        np.sin,
    ):
        f(x_of())  # ops are compiled at their first call
        g = xp.function(f)
        for _ in range(4):
            assert g(x_of()).tolist() == f(x_of()).tolist()
        assert g.counts["replayed"] == 2, g.reasons


def test_pickles_and_copies():
    assert pickle.loads(pickle.dumps(module_level)) is module_level
    assert copy.copy(module_level) is module_level
    assert copy.deepcopy(module_level) is module_level
    scaled = Scaled(3.0)
    again = pickle.loads(pickle.dumps(scaled.step))
    assert again(x_of()).tolist() == [9.0, 15.0]
    assert pickle.loads(pickle.dumps(Scaled.step)) is Scaled.step
    g = pickle.loads(pickle.dumps(xp.function(functools.partial(np.multiply, 2.0), limit=3)))
    assert g(x_of()).tolist() == [6.0, 10.0]
    assert g.limit == 3
    assert copy.deepcopy(scaled).step(x_of()).tolist() == [9.0, 15.0]


# --- methods ------------------------------------------------------------------------------------------
def test_each_instance_has_its_programs():
    one, two = Scaled(2.0), Scaled(3.0)
    before = Scaled.step.counts["replayed"]
    for _ in range(4):
        assert one.step(x_of()).tolist() == [6.0, 10.0]
        assert two.step(x_of()).tolist() == [9.0, 15.0]
    assert Scaled.step.counts["replayed"] == before + 4
    one.by = 5.0
    assert one.step(x_of()).tolist() == [15.0, 25.0]
    assert one.step == one.step != two.step
    assert one.step.eager(x_of()).tolist() == [15.0, 25.0]
    for _ in range(4):
        assert one.limited(x_of(), 1, 2, key=3.0).tolist() == [90.0, 150.0]
    assert Scaled.limited.limit == 4
    with pytest.raises(AttributeError):
        getattr(one.step, "nothing")  # noqa: B009


def test_instances_are_let_go_of():
    class Scaled:
        def __init__(self, by):
            self.by = by

        @xp.function
        def step(self, x):
            return x * self.by

    dead = []
    for i in range(100):
        scaled = Scaled(float(i))
        for _ in range(3):
            scaled.step(x_of())
        dead.append(weakref.ref(scaled))
    del scaled
    gc.collect()
    assert not any(one() for one in dead)
    assert not Scaled.step.entries


def test_instances_that_come_and_go_do_not_use_up_the_signatures():
    g = Scaled.step
    before = g.counts["eager"]
    for i in range(100):
        assert Scaled(float(i)).step(x_of()).tolist() == [3.0 * i, 5.0 * i]
    assert g.counts["eager"] == before


def test_many_signatures_end_the_tracing():
    g = xp.function(lambda x: x * 2.0)

    def call_all():
        for n in range(100):
            assert g(xp.ones(n)).tolist() == [2.0] * n

    with pytest.warns(TapeWarning, match="more than 64 signatures") as said:
        call_all()
    assert len(said) == 1
    assert g.counts == {"traced": 64, "replayed": 0, "eager": 36}
    assert "more than 64 signatures" in next(iter(g.reasons))


CHANGING = {
    "n": lambda g, x, n: g(x, n),
    "keyword": lambda g, x, n: g(x, n=n),
    "float": lambda g, x, n: g(x, float(n)),
    "NumPy": lambda g, x, n: g(x, np.int64(n)),
    "slice": lambda g, x, n: g(x, slice(n)),
    "n['rate'][1]": lambda g, x, n: g(x, {"mode": "a", "rate": [2.0, n]}),
}


def times(x, n):
    n = n["rate"][1] if isinstance(n, dict) else n
    return x * (n.stop if isinstance(n, slice) else n)


def multiply_all(multiply, numbers):
    for n in numbers:
        assert multiply(n).tolist() == [3.0 * n, 5.0 * n]


@pytest.mark.parametrize("kind", CHANGING)
def test_an_argument_with_another_value_in_each_call_is_named_and_not_traced(kind):
    g, x = xp.function(times), x_of()
    path = kind if kind.startswith("n[") else "n"
    with pytest.warns(TapeWarning, match=re.escape(f"xp.asarray({path})")) as said:
        multiply_all(lambda n: CHANGING[kind](g, x, n), range(100))
    assert len(said) == 1
    assert said[0].filename == __file__
    assert f"{path} had another value in each of 8 calls" in str(said[0].message)
    assert g.counts == {"traced": 7, "replayed": 0, "eager": 93}
    assert sum(g.reasons.values()) == 93
    g(xp.ones(3), 1)  # other signatures are still traced, although 64 values are known
    g(xp.ones(3), 1)
    assert g(xp.ones(3), 1).tolist() == [1.0] * 3
    assert g.counts == {"traced": 9, "replayed": 1, "eager": 93}


def test_two_arguments_with_other_values_in_each_call_are_named():
    g = xp.function(lambda x, i, rate: x * round(i * rate))
    with pytest.warns(TapeWarning, match="i and rate had another value in each of 8 calls"):
        multiply_all(lambda n: g(x_of(), n * n, rate=1 / n), range(1, 100))
    assert g.counts == {"traced": 7, "replayed": 0, "eager": 92}


@pytest.mark.parametrize("count", [8, 10, 20, 64])
@pytest.mark.filterwarnings("error")
def test_values_of_an_argument_that_come_back_are_replayed_without_a_warning(count):
    g = xp.function(times)
    multiply_all(lambda n: g(x_of(), n), [*range(count)] * 4)
    assert g.counts == {"traced": 2 * count, "replayed": count + 7, "eager": count - 7}


@pytest.mark.filterwarnings("error")
def test_a_strict_function_traces_each_value_of_an_argument():
    g = xp.function(times, strict=True)
    multiply_all(lambda n: g(x_of(), n), [*range(20)] * 3)
    assert g.counts == {"traced": 40, "replayed": 20, "eager": 0}


def test_many_branches_end_the_tracing():
    def f(x):
        return x * int(x[0])

    g = xp.function(f, limit=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TapeWarning)
        for i in (1, 1, 2, 2, 3, 3, 4, 4, 4):
            assert g(x_of(float(i))).tolist() == [i * float(i)]
        assert len(g.traces) == 3
        for i in (1, 2, 3):
            g(x_of(float(i)))
    assert g.counts == {"traced": 6, "replayed": 3, "eager": 3}


def test_a_replay_runs_few_frames():
    g = xp.function(lambda x, w: xp.sum(x * w) + 1.0)
    x, w = x_of(), x_of()
    for _ in range(3):
        g(x, w)
    names = []
    before = sys.getprofile()
    try:
        sys.setprofile(
            lambda frame, event, _: event == "call" and names.append(frame.f_code.co_name)
        )
        g(x, w)
    finally:
        sys.setprofile(before)
    assert g.counts["replayed"] == 2
    assert len(names) <= 11, names  # three of them where interop is imported


# --- recorders around it ------------------------------------------------------------------------------
def test_under_a_tape_it_is_recorded():
    g = xp.function(lambda x: xp.sum(x**3))
    for _ in range(3):
        g(x_of())
    x = x_of()
    with xp.GradientTape() as outer:
        outer.watch(x)
        with xp.GradientTape() as tape:
            tape.watch(x)
            y = g(x)
        dx = tape.gradient(y, x)
    assert dx.tolist() == [27.0, 75.0]
    assert outer.gradient(dx, x).tolist() == [18.0, 30.0]
    assert xp.grad(g)(x).tolist() == [27.0, 75.0]
    assert xp.jvp(g, (x,), (xp.ones(2),))[1].tolist() == 102.0
    assert xp.hessian(g)(x).tolist() == [[18.0, 0.0], [0.0, 30.0]]
    assert g.counts["replayed"] == 1
    assert g(x).tolist() == 152.0


def test_under_vmap_it_runs_as_it_is():
    w = x_of(2.0, 3.0)
    g = xp.function(lambda x: xp.sum(x * w))
    h = xp.function(lambda: w * 2.0)
    rows = xp.asarray([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    for _ in range(4):
        assert xp.vmap(g)(rows).tolist() == [8.0, 18.0, 28.0]
        expected = [[5.0, 8.0], [7.0, 10.0], [9.0, 12.0]]
        assert xp.vmap(lambda row: row + h())(rows).tolist() == expected
    assert g.counts["replayed"] == 0
    assert "vmap around it" in next(iter(g.reasons))


def test_under_vmap_with_what_it_closes_over():
    def f(row):
        return xp.function(lambda x: x * row)(xp.ones(2))

    rows = xp.asarray([[1.0, 2.0], [3.0, 4.0]])
    assert xp.vmap(f)(rows).tolist() == rows.tolist()
    kept = {}
    g = xp.function(lambda x: x * kept["row"])

    def body(row):
        kept["row"] = row
        return g(xp.ones(2))

    for _ in range(5):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TapeWarning)
            assert xp.vmap(body)(rows).tolist() == rows.tolist()


def test_inside_another_trace_it_is_a_part_of_it():
    inner = xp.function(lambda x: x * 2)
    outer = xp.function(lambda x: inner(x) + inner(x + 1))
    for _ in range(4):
        assert outer(x_of()).tolist() == [14.0, 22.0]
    assert outer.counts == {"traced": 2, "replayed": 2, "eager": 0}
    assert inner.counts == {"traced": 0, "replayed": 0, "eager": 0}
    twice = xp.function(inner)
    for _ in range(4):
        assert twice(x_of()).tolist() == [6.0, 10.0]


def test_what_an_inner_function_reads_is_state_of_the_outer_one():
    parts = {"by": 2.0}
    inner = xp.function(lambda x: x * parts["by"])
    outer = xp.function(lambda x: inner(x) + 1)
    for _ in range(4):
        outer(x_of())
    parts["by"] = 3.0
    assert outer(x_of()).tolist() == [10.0, 16.0]


@xp.function
def factorial(n, x):
    return x if n < 2 else x * n * factorial(n - 1, x)


def test_recursion():
    for _ in range(4):
        assert factorial(4, x_of()).tolist() == [3.0**4 * 24, 5.0**4 * 24]
    assert factorial.counts["replayed"] == 2


@pytest.mark.usefixtures("with_all_bits")
def test_a_module_that_is_trained():
    class Net(xp.Module):
        def __init__(self):
            self.dense = [xp.nn.Dense(4), xp.nn.Dense(1)]

        def __call__(self, x):
            return self.dense[1](xp.tanh(self.dense[0](x)))

    def trained(wrap):
        rng = np.random.default_rng(0)
        net = Net()
        net(xp.zeros((1, 3)))
        for v in net.trainable_variables:
            v.assign(xp.asarray(rng.normal(size=v.shape).astype(v.dtype)))

        def step(x, y):
            with xp.GradientTape() as tape:
                loss = xp.mean((net(x) - y) ** 2)
            weights = net.trainable_variables
            for v, g in zip(weights, tape.gradient(loss, weights), strict=True):
                v.assign_sub(0.1 * g)
            return loss

        call = wrap(step)
        dtype = net.trainable_variables[0].dtype
        losses = []
        for _ in range(12):
            x, y = rng.normal(size=(5, 3)).astype(dtype), rng.normal(size=(5, 1)).astype(dtype)
            losses.append(float(call(xp.asarray(x), xp.asarray(y))))
        return losses, [v.value().tolist() for v in net.trainable_variables], call

    ours, theirs = trained(xp.function), trained(lambda f: f)
    assert ours[0] == theirs[0]
    assert ours[1] == theirs[1]
    assert ours[2].counts["replayed"] >= 8, (ours[2].counts, ours[2].reasons)


# --- threads ------------------------------------------------------------------------------------------
@pytest.mark.usefixtures("with_all_bits")
def test_threads_that_replay_at_once():
    g = xp.function(lambda x: xp.sum(xp.sin(x) * xp.cos(x) + xp.exp(-x)))
    inputs = [xp.asarray(np.random.default_rng(i).normal(size=500)) for i in range(8)]
    expected = [float(g.eager(x)) for x in inputs]
    found = [[] for _ in inputs]
    start = threading.Barrier(8)

    def work(i):
        start.wait()
        for _ in range(100):
            found[i].append(float(g(inputs[i])))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert found == [[value] * 100 for value in expected]
    assert g.counts["replayed"] > 0
    assert not g.tracer


def test_other_threads_run_as_they_are_while_one_traces():
    entered, go_on = threading.Event(), threading.Event()

    def f(x):
        if threading.current_thread().name == "tracer":
            entered.set()
            go_on.wait(10)
        return x * 2

    g = xp.function(f)
    found = []
    thread = threading.Thread(target=lambda: found.append(g(x_of())), name="tracer")
    thread.start()
    entered.wait(10)
    assert g(x_of()).tolist() == [6.0, 10.0]
    assert g.reasons["another thread was tracing it"] == 1
    go_on.set()
    thread.join()
    assert found[0].tolist() == [6.0, 10.0]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_forked_child_traces_though_a_thread_of_its_parent_did(tmp_path):
    entered, go_on = threading.Event(), threading.Event()

    def f(x):
        if threading.current_thread().name == "tracer":
            entered.set()
            go_on.wait(10)
        return x * 2

    def child():
        for _ in range(4):
            g(x_of())
        assert g.counts["replayed"] == 2

    g = xp.function(f)
    thread = threading.Thread(target=lambda: g(x_of()), name="tracer")
    thread.start()
    entered.wait(10)
    with open(tmp_path / "said", "w+") as said:
        status = forks.ended(forks.fork(child, said))
    go_on.set()
    thread.join()
    assert status == 0, (tmp_path / "said").read_text()


def test_tasks_that_trace_do_not_meet():
    g = xp.function(lambda x: x * 2)

    async def task(i):
        for _ in range(5):
            assert g(x_of(float(i))).tolist() == [2.0 * i]
            await asyncio.sleep(0)

    async def main():
        await asyncio.gather(*(task(i) for i in range(4)))

    asyncio.run(main())
    assert g.counts["replayed"] > 10


# --- debuggers, profilers, interrupts -----------------------------------------------------------------
def test_profile_and_trace_functions_go_on():
    seen, lines = [], []

    def profile(frame, event, argument):
        seen.append(frame.f_code.co_name)

    def trace(frame, event, argument):
        lines.append(frame.f_code.co_name)
        return trace

    def inner(x):
        return x * 2

    def f(x):
        return inner(x) + 1

    g = xp.function(f)
    before = sys.gettrace(), sys.getprofile()
    try:
        sys.settrace(trace)
        sys.setprofile(profile)
        g(x_of())
        assert sys.getprofile() is profile
        assert sys.gettrace() is trace
    finally:
        sys.settrace(before[0])
        sys.setprofile(before[1])
    assert "inner" in seen
    assert "inner" in lines
    for _ in range(3):
        g(x_of())
    assert g.counts["replayed"] == 2


def test_a_profiler_written_in_c():
    g = xp.function(lambda x: x * 2)
    with cProfile.Profile() as profiler:
        for _ in range(3):
            assert g(x_of()).tolist() == [6.0, 10.0]
    assert profiler.getstats()
    assert g.counts == {"traced": 2, "replayed": 1, "eager": 0}


def interrupted(make, files, at):
    """Run a call, with a KeyboardInterrupt at one bytecode: whether it came, and how many ran."""
    run = make()
    count = 0

    def trace(frame, event, argument):
        nonlocal count
        if frame.f_code.co_filename not in files:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            count += 1
            if count == at:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    came = False
    sys._getframe().f_trace_opcodes = True  # Python 3.12 asks for it when a function is set
    try:
        sys.settrace(trace)
        run()
    except KeyboardInterrupt:
        came = True
    finally:
        sys.settrace(before)
    return came, count


FILES = {module.__file__ for module in (call, frames, exported_buffers, lift, mode_stack)}
FILES.add(xp.function.__code__.co_filename)


STEP = int(os.environ.get("ARRAYTAPE_INTERRUPTS", "53"))  # 1: at each bytecode


def check_interrupts(calls_before, step):
    """At each bytecode: all handles hold NumPy's data, nothing traces, and the function goes on."""
    w = xp.Variable(np.ones(2))
    state, parts = xp.asarray([1.0, 2.0]), {}

    def f(x):
        state[0] += 1.0
        w.assign_add(x)
        return x * state

    def make():
        w.assign(xp.ones(2))
        state[...] = xp.asarray([1.0, 2.0])
        g = parts["g"] = xp.function(f)
        for _ in range(calls_before):
            g(x_of())
        x = parts["x"] = x_of()
        return lambda: g(x)

    came, count = interrupted(make, FILES, 0)
    assert not came
    assert count > 30
    for at in range(1 + calls_before, count + 1, step):
        interrupted(make, FILES, at)
        g, x = parts["g"], parts["x"]
        for handle in (x, w, state):
            assert type(handle._data) is np.ndarray, at
        assert x.tolist() == X
        assert x._value_id == 0
        assert (ACTIVE.get(), MAKING.get()) == (None, None), at
        assert not MODES, at
        assert not mode_stack.modes_here(), at
        assert not g.tracer, at
        assert w.value().tolist()[0] in (4.0 + 3.0 * calls_before, 1.0 + 3.0 * calls_before)
        before = state.tolist()[0]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TapeWarning)
            for i in range(3):
                assert g(x_of()).tolist() == [3.0 * (before + i + 1), 10.0], at


@pytest.mark.slow
@pytest.mark.parametrize("calls_before", [0, 1])
def test_an_interrupt_at_any_moment_puts_all_handles_back(calls_before):
    check_interrupts(calls_before, STEP)


@pytest.mark.slow
def test_an_interrupt_in_a_replay():
    check_interrupts(2, 1)


def test_under_saved_data_it_runs_as_it_is():
    def f(x):
        with xp.GradientTape() as tape:
            tape.watch(x)
            y = xp.sum(xp.exp(x) * x)
        return tape.gradient(y, x)

    g = xp.function(f)
    for _ in range(4):
        g(x_of())
    found = []
    for one in (f, g):
        with diagnose.saved_data(xp.round, lambda data: data):
            found.append(one(xp.asarray([0.6, 1.2])).tolist())
    assert found[0] == found[1] != f(xp.asarray([0.6, 1.2])).tolist()
    assert g.counts == {"traced": 2, "replayed": 2, "eager": 1}


# --- tab completion -----------------------------------------------------------------------------------
def test_tab_completion_offers_what_users_call():
    """All public attributes of a Function, and no attribute that its own code alone uses."""
    offered = [name for name in dir(module_level) if not name.startswith("_")]
    assert offered == [name for name in dir(Scaled(2.0).step) if not name.startswith("_")]
    documented = re.findall(r"^(\w+) : ", inspect.getdoc(type(module_level)), re.MULTILINE)
    parameters = ["compile", "limit", "strict"]
    assert offered == sorted([*documented, *parameters, "explain"])


def test_a_read_that_has_no_name_is_named_as_a_read():
    assert re.fullmatch(rf"the read of a value at {re.escape(__file__)}:\d+", exit_line())
