"""Modes: what stands on their stack sees, or answers, what its own thread and context compute."""

import asyncio
import contextvars
import copy
import os
import pickle
import sys
import threading

import numpy as np
import pytest

import arraytape as xp
from arraytape import GradientTape, Variable
from arraytape._record.mode_stack import MODES, OP_BUILTINS, Mode, modes_here, pushed
from attack.injection import Injection


@pytest.fixture(autouse=True)
def no_mode_stays():
    yield
    assert not MODES
    assert not modes_here()
    assert OP_BUILTINS["MODES"] is None


@pytest.fixture
def x():
    return xp.asarray([1.0, 4.0])


class Seen(Mode):
    """An observer that lists the names of ops, and the handles that it meets."""

    def __init__(self):
        self.ops, self.met, self.missed = [], [], 0

    def before(self, own, args, kwargs):
        self.ops.append(own.op.name)
        self.met += [*args, *kwargs.values()]

    def meets(self, x):
        self.met.append(x)

    def misses(self):
        self.missed += 1


class Doubling(Mode):
    """Answers calls of some ops with twice what the modes beneath, or the op, give."""

    answers = True

    def __init__(self, *names):
        self.names, self.calls = names, []

    def takes(self, op):
        return op.name in self.names

    def answer(self, call):
        self.calls.append(call)
        return call.run() * 2.0


# --- observers ----------------------------------------------------------------------------------------
def test_an_observer_sees_calls_operators_and_what_rules_compute(x):
    seen = Seen()
    with pushed(seen) as given, GradientTape() as outer:
        outer.watch(x)
        with GradientTape() as tape:
            tape.watch(x)
            y = xp.sum(xp.tanh(x) * 2.0)
        tape.gradient(y, x)
    assert given is seen
    assert seen.ops[:3] == ["tanh", "multiply", "sum"]
    assert len(seen.ops) > 5  # a gradient that an outer tape records is made of ops
    before = len(seen.ops)
    xp.tanh(x)
    assert len(seen.ops) == before


def test_the_first_call_of_an_op_is_seen(x):
    op = xp.define_op("seen_first", lambda x: x * 3.0, "linear", lambda g: g * 3.0)
    seen = Seen()
    with pushed(seen):
        assert op(x).tolist() == [3.0, 12.0]
    assert seen.ops == ["seen_first"]


def test_arguments_are_seen_as_the_caller_gave_them(x):
    calls = []

    class Arguments(Mode):
        def before(self, own, args, kwargs):
            calls.append((own.names, args, kwargs))

    with pushed(Arguments()):
        xp.sum(x, axis=0)
        2.0 * x
        xp.concat([x, x])
    names, args, kwargs = calls[0]
    assert args[0] is x
    assert (dict(zip(names, args, strict=False)) | kwargs)["axis"] == 0
    assert [type(one) for one in calls[1][1]] == [float, xp.Array] or calls[1][1][0] is x
    assert calls[2][1][0][1] is x


ENTRIES = {
    "index": lambda x: x[0],
    "slice": lambda x: x[1:],
    "view": lambda x: x.T,
    "reshape": lambda x: xp.reshape(x, (2, 1)),
    "iteration": lambda x: [*x],
    "write": lambda x: x.__setitem__(0, 2.0),
    "written value": lambda x: xp.zeros(2).__setitem__(slice(None), x),
    "in place": lambda x: x.__iadd__(1.0),
    "in place by another op": lambda x: x.__imul__(2.0),
    "in place operand": lambda x: xp.zeros(2).__iadd__(x),
    "float": lambda x: float(xp.reshape(x, (2,))[0]),
    "asarray": np.asarray,
    "bool": lambda x: bool(x[:1]),
    "list": lambda x: x.tolist(),
    "text": str,
    "repr": repr,
    "format": lambda x: f"{x}",
    "pickle": pickle.dumps,
    "copy": copy.copy,
    "deep copy": copy.deepcopy,
    "dlpack": np.from_dlpack,
    "zeros_like": xp.zeros_like,
    "astype": lambda x: xp.astype(x, xp.float32),
    "cast by asarray": lambda x: xp.asarray(x, dtype=xp.float32),
    "list of Arrays": lambda x: xp.asarray([x, x]),
    "concat": lambda x: xp.concat([x, x]),
    "composite": lambda x: xp.einsum("i,i->", x, x),
    "NumPy's ufunc": lambda x: np.add(x, 1.0),
    "NumPy's function": lambda x: np.mean(x),
    "watch": lambda x: watched(x),
    "target": lambda x: asked(x, xp.ones(2)),
    "source": lambda x: asked(xp.ones(2), x),
    "vmap": lambda x: xp.vmap(lambda row: row)(x),
    "assign": lambda x: Variable([0.0, 0.0]).assign(x),
    "stop_gradient": xp.stop_gradient,
    "recompute_grad": lambda x: xp.recompute_grad(lambda y: y)(x),
    "tangent": lambda x: xp.jvp(lambda y: y, (xp.ones(2),), (x,)),
    "output gradient": lambda x: xp.vjp(lambda y: y, xp.ones(2))[1](x),
}


def asked(target, source):
    with GradientTape() as tape:
        tape.watch(xp.ones(2))
    tape.gradient(target, source)


def watched(x):
    with GradientTape() as tape:
        tape.watch(x)


def holds(value, x):
    if isinstance(value, list | tuple):
        return any(holds(part, x) for part in value)
    return value is x


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.filterwarnings("ignore")
def test_whatever_reads_or_writes_a_handle_meets_it(x, entry):
    seen = Seen()
    with pushed(seen):
        ENTRIES[entry](x)
    assert holds(seen.met, x)


@pytest.mark.parametrize(
    "entry",
    [
        lambda v: v + 1.0,
        lambda v: v.value(),
        lambda v: v.assign([2.0, 3.0]),
        lambda v: v.assign_add([2.0, 3.0]),
        lambda v: v.__setitem__(0, 5.0),
        lambda v: v[0],
        copy.copy,
        repr,
        pickle.dumps,
        np.asarray,
    ],
)
def test_variables_are_met_too(entry):
    v, seen = Variable([1.0, 4.0]), Seen()
    with pushed(seen):
        entry(v)
    assert holds(seen.met, v)


def test_writes_and_exports_are_told(x):
    events = []

    class Events(Mode):
        def wrote(self, x):
            events.append(("wrote", x))

        def watched(self, x):
            events.append(("watched", x))

    with pushed(Events()), GradientTape() as tape:
        x[0] = 2.0
        x += 1.0
        x *= 2.0
        tape.watch(x)
        x *= 3.0
    assert [event for event, _ in events] == ["wrote", "wrote", "wrote", "watched", "wrote"]
    assert all(one is x for _, one in events)


# --- modes that answer --------------------------------------------------------------------------------
def test_the_innermost_mode_answers_first_and_sees_nothing_of_its_own(x):
    outer, inner = Doubling("tanh", "multiply"), Doubling("tanh")
    with pushed(outer), pushed(inner):
        y = xp.tanh(x)
    # The product by 2 in inner's answer is made while outer is on the stack, in outer's own it is not.
    assert y.tolist() == (xp.tanh(x) * 8.0).tolist()
    assert [call.op.name for call in outer.calls] == ["tanh", "multiply"]
    assert [call.op.name for call in inner.calls] == ["tanh"]


def test_results_that_are_handed_in_pass_the_modes_beneath_and_are_recorded(x):
    class Handing(Mode):
        answers = True

        def takes(self, op):
            return op.name == "exp"

        def answer(self, call):
            return call.run(lambda data: np.full(data.shape, 7.0))

    beneath, seen = Doubling("exp"), Seen()
    with pushed(beneath), pushed(Handing()), pushed(seen), GradientTape() as tape:
        tape.watch(x)
        y = xp.exp(x)
    assert y.tolist() == [14.0, 14.0]
    assert tape.gradient(y, x).tolist() == [14.0, 14.0]  # exp's rule takes the result that was kept
    assert seen.ops == ["exp", "multiply"]


def test_errors_have_the_users_line(x):
    with pushed(Doubling("add")), pushed(Seen()), pytest.raises(ValueError, match=__file__):
        x + xp.ones(3)


def test_an_operator_may_decline(x):
    class Other:
        def __radd__(self, other):
            return "theirs"

    with pushed(Seen()):
        assert x + Other() == "theirs"


# --- threads, contexts, tasks -------------------------------------------------------------------------
def test_other_threads_are_not_seen_also_with_a_copied_context(x):
    seen = Seen()
    with pushed(seen):
        context = contextvars.copy_context()
        for run in (xp.exp, lambda x: context.run(xp.exp, x)):
            thread = threading.Thread(target=run, args=(x,))
            thread.start()
            thread.join()
    assert seen.ops == []
    assert seen.missed == 0


def test_a_context_of_its_own_in_the_same_thread_is_noticed(x):
    seen = Seen()
    with pushed(seen):
        contextvars.Context().run(xp.exp, x)
        assert (seen.ops, seen.missed) == ([], 1)
        contextvars.copy_context().run(xp.exp, x)
    assert (seen.ops, seen.missed) == (["exp"], 1)


def test_a_task_that_copied_the_context_sees_a_block_end(x):
    seen, go_on = Seen(), []

    async def later():
        await go_on[0].wait()
        xp.exp(x)
        with pushed(Seen()) as other:
            xp.exp(x)
        return other.ops

    async def main():
        go_on.append(asyncio.Event())
        with pushed(seen):
            xp.sin(x)
            task = asyncio.create_task(later())
            await asyncio.sleep(0)
        go_on[0].set()
        return await task

    assert asyncio.run(main()) == ["exp"]
    assert seen.ops == ["sin"]


def test_a_task_carries_the_modes_on(x):
    seen = Seen()

    async def work():
        await asyncio.sleep(0)
        xp.exp(x)

    with pushed(seen):
        asyncio.run(work())
    assert seen.ops == ["exp"]


def test_a_generator_that_is_dropped_ends_its_block(x):
    seen = Seen()

    def steps():
        with pushed(seen):
            yield xp.exp(x)
            yield xp.sin(x)

    running = steps()
    next(running)
    xp.cos(x)  # as recorders, modes are seen by what runs between the steps
    running.close()
    xp.tan(x)
    assert seen.ops == ["exp", "cos"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore")
def test_a_forked_child_has_no_modes(x):
    read, write = os.pipe()
    with pushed(Seen()):
        child = os.fork()
        if not child:
            os.write(write, f"{len(MODES)} {len(modes_here())}".encode())
            os._exit(0)
        os.waitpid(child, 0)
    assert os.read(read, 100) == b"0 0"


# --- interruptions ------------------------------------------------------------------------------------
@pytest.mark.parametrize("answers", [False, True])
def test_an_interruption_anywhere_leaves_no_mode(x, answers):
    def work():
        mode = Doubling("exp") if answers else Seen()
        with pushed(mode):
            xp.exp(x)

    sys._getframe().f_trace_opcodes = True  # Python 3.12 asks for it when a function is set
    with Injection() as counting:
        work()
    assert counting.count > 50
    for at in range(counting.count):
        try:
            with Injection(at):
                work()
        except KeyboardInterrupt:
            pass
        assert not MODES, at
        assert not modes_here(), at
        assert OP_BUILTINS["MODES"] is None, at
