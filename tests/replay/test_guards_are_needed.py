"""Each guard is taken out by itself: then a function of its kind is replayed wrongly, else not."""

import contextvars
import itertools
import sys
import threading
import types
import warnings

import numpy as np
import pytest

import arraytape as xp
from arraytape import TapeWarning, diagnose, interop
from arraytape.replay import bound_arguments, call, plan_text
from arraytape.replay.reach import mutable_sources
from arraytape.replay.reach import state as state_module
from arraytape.replay.text import program_source
from arraytape.replay.tracing import exported_buffers, lift, trace
from helpers.replaying import bits


def x_of(*values):
    return xp.asarray(np.array(values or (3.0, 5.0)))


def same(f, *calls):
    """Whether calls under ``xp.function`` give what f gives, in the results and in the arguments."""
    g = xp.function(f)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", TapeWarning)
        for make in calls:
            ours, theirs = make(), make()
            if flat(g(*ours)) != flat(f(*theirs)) or flat(ours) != flat(theirs):
                return False
    return True


def flat(value):
    if isinstance(value, dict):
        return [(name, flat(part)) for name, part in value.items()]
    if isinstance(value, list | tuple):
        return [flat(part) for part in value]
    return bits(value) if isinstance(value, xp.Array) else value


def both(make):
    """Whether a function that makes its state anew gives the same under ``xp.function``."""
    found = []
    for wrap in (lambda f: f, xp.function):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TapeWarning)
            found.append(flat(make(wrap)))
    return found[0] == found[1]


def of(*values):
    """Calls of one argument each."""
    return [lambda value=value: [xp.asarray(np.array(value))] for value in values]


ONE, TWO = [1.0, 2.0], [-3.0, 4.0]


# --- a function of each kind ------------------------------------------------------------------------
def layouts():
    def f(x):
        y = xp.reshape(x, (-1,))
        y[0] = 9.0
        return x * 1.0

    def made(axes):
        return lambda: [xp.permute_dims(xp.asarray(np.ones((2, 2))), axes)]

    return same(f, *[made((0, 1))] * 3, *[made((1, 0))] * 2)


def dtypes():
    return same(lambda x: x + 0.1 * xp.ones_like(x), *of(ONE, ONE, ONE), *of(np.float32(ONE)))


def python_arguments():
    return same(lambda x, n: x * n, *[lambda n=n: [x_of(), n] for n in (2.0, 2.0, 2.0, 3.0)])


def one_array_twice():
    def f(x, y):
        x[0] = 9.0
        return y * 1.0

    def apart():
        return [x_of(), x_of()]

    def once():
        return [x_of()] * 2

    return same(f, apart, apart, apart, once)


def arguments_that_overlap():
    def f(x, y):
        x[0] = 9.0
        return y * 1.0

    def apart():
        return [x_of(), x_of()]

    def overlapping():
        root = x_of(1.0, 2.0, 3.0)
        return [root[1:], root[:2]]

    return same(f, apart, apart, apart, overlapping)


def looks():
    return same(lambda x: x * float(x[0]), *of(ONE, ONE, ONE, TWO))


def shapes():
    return same(lambda x: xp.max(x[x > 0]) / x[x > 0].shape[0], *of(ONE, ONE, ONE, TWO))


def nans():
    def f(x):
        with xp.GradientTape() as tape:
            tape.watch(x)
            y = xp.where(x > 0, xp.sqrt(x), 0.0)
        return tape.gradient(y, x)

    return same(f, *of(ONE, ONE, ONE, [0.0, 1.0]))


def writes():
    def f(x):
        x += 1.0
        return x * 2

    return same(f, *of(ONE, ONE, ONE, TWO))


def writes_in_turn():
    def f(x, y):
        before = +x
        x[...], y[...] = y, before

    return same(f, *[lambda: [x_of(), x_of(1.0, 2.0)]] * 3)


def names_bound_anew():
    def make(wrap):
        held = types.SimpleNamespace(w=x_of())
        f = wrap(lambda x: x * held.w)
        found = [f(x_of()) for _ in range(3)]
        held.w = x_of(7.0, 8.0)
        return [*found, f(x_of())]

    return both(make)


def python_state():
    def make(wrap):
        held = types.SimpleNamespace(by=2.0)
        f = wrap(lambda x: x * held.by)
        found = [f(x_of()) for _ in range(3)]
        held.by = 3.0
        return [*found, f(x_of())]

    return both(make)


def state_that_is_changed():
    def make(wrap):
        held = types.SimpleNamespace(calls=0)

        def f(x):
            held.calls += 1
            return x * 2

        f = wrap(f)
        found = [f(x_of()) for _ in range(4)]
        return [*found, held.calls]

    return both(make)


def state_that_is_bound_inside():
    def make(wrap):
        held = types.SimpleNamespace(w=x_of())

        def f(x):
            held.w = held.w + x

        f = wrap(f)
        for _ in range(4):
            f(x_of())
        return held.w

    return both(make)


def memory_of_numpys():
    def make(wrap):
        memory = np.ones(2)
        held = itertools.repeat(memory)
        f = wrap(lambda x: x * next(held))
        found = [f(x_of()) for _ in range(3)]
        memory[0] = 7.0
        return [*found, f(x_of())]

    return both(make)


def memory_that_is_lent():
    def f(x):
        shared = np.asarray(x)
        shared[0] = 7.0
        return x * 2

    return same(f, *of(ONE, ONE, ONE))


def numbers_that_differ():
    def make(wrap):
        rng = np.random.default_rng(0)
        f = wrap(lambda x: x * rng.random())
        return [f(x_of()) for _ in range(4)]

    return both(make)


def numbers_equal_by_chance():
    def make(wrap):
        draws = itertools.cycle((1.0, 1.0, 2.0))
        f = wrap(lambda x: x * next(draws))
        return [f(x_of()) for _ in range(4)]

    return both(make)


def arrays_that_are_kept():
    kept = []

    def f(x):
        thread = threading.current_thread()
        thread.kept = [*getattr(thread, "kept", []), x * 2]
        return x + 1

    def make(wrap):
        threading.current_thread().kept = []
        step = wrap(f)
        for _ in range(4):
            step(x_of())
        kept.append(len(threading.current_thread().kept))
        return kept[-1]

    try:
        return both(make)
    finally:
        del threading.current_thread().kept


def views_as_results():
    def make(wrap):
        f, found = wrap(lambda x: x[1:]), []
        for _ in range(4):
            x = x_of()
            f(x)[0] = 7.0
            found.append(x)
        return found

    return both(make)


def containers():
    def make(wrap):
        step, found = wrap(lambda parts: parts), []
        for _ in range(4):
            parts = {"w": x_of()}
            found.append(step(parts) is parts)
        return found

    return both(make)


def errors_inside():
    def f(a):
        try:
            return xp.linalg.inv(a)
        except np.linalg.LinAlgError:
            return a - 1

    return same(f, *of(np.zeros((2, 2)), np.zeros((2, 2)), np.eye(2)))


def error_states_inside():
    def f(x):
        try:
            with np.errstate(all="raise"):
                return 1 / x
        except FloatingPointError:
            return x - 1

    return same(f, *of(ONE, ONE, ONE, [0.0, 1.0]))


def recorders_around():
    def make(wrap):
        f = wrap(lambda x: xp.sum(x * x))
        for _ in range(3):
            f(x_of())
        return xp.grad(f)(x_of())

    return both(make)


def packing_around():
    def make(wrap):
        f = wrap(xp.grad(lambda x: xp.sum(xp.exp(x))))
        for _ in range(3):
            f(x_of())
        with diagnose.saved_data(xp.round, lambda data: data):
            return f(x_of())

    return both(make)


def contexts_around():
    def make(wrap):
        linalg = pytest.importorskip("scipy.linalg")

        def f(x):
            with xp.GradientTape() as tape:
                tape.watch(x)
                y = xp.sum(xp.asarray(linalg.inv(x)))
            return tape.gradient(y, x)

        f = wrap(f)
        for _ in range(3):
            f(xp.asarray(np.eye(2)))
        with interop.scipy():
            return f(xp.asarray(np.eye(2)))

    return both(make)


TRAINABLE = (True, True, True, False)


def variables():
    def f(v, x):
        with xp.GradientTape() as tape:
            y = xp.sum(v * x)
        return tape.gradient(y, v)

    return same(
        f,
        *[
            lambda t=t: [xp.Variable(np.ones(2), trainable=t), x_of()]
            for t in (1 > 0, 1 > 0, 1 > 0, 1 < 0)
        ],
    )


def threads_inside():
    def make(wrap):
        w = x_of(0.0, 0.0)

        def f(x):
            thread = threading.Thread(target=lambda: w.__iadd__(1.0))
            thread.start()
            thread.join()
            return x * 2

        f = wrap(f)
        for _ in range(4):
            f(x_of())
        return w

    return both(make)


def arrays_of_its_own():
    return both(lambda wrap: with_memory_that_moves(wrap, lambda x, w: x * w))


def contexts_inside():
    def f(x, w):
        return x * contextvars.Context().run(lambda: float(w[0]))

    return both(lambda wrap: with_memory_that_moves(wrap, f))


def with_memory_that_moves(wrap, f):
    """Read an Array that the function finds, which has other memory from the third call on."""
    w, found, tapes = x_of(1.0, 2.0), [], []
    g = wrap(lambda x: f(x, w))
    for _ in range(5):
        found.append(g(x_of()))
        with xp.GradientTape() as tape:
            tape.watch(w)
            tapes.append((tape, xp.exp(w) * w))  # the record keeps the memory
        w += 1.0 if len(found) > 2 else 0.0
    return found


def locks():
    def make(wrap):
        lock, taken = threading.Lock(), []

        def f(x):
            with lock:
                return x * 2

        f = wrap(f)
        for _ in range(3):
            f(x_of())
        lock.acquire()
        thread = threading.Thread(target=lambda: taken.append(f(x_of())))
        thread.start()
        thread.join(0.2)
        before = len(taken)
        lock.release()
        thread.join()
        return before

    return both(make)


def without(of_kind):
    before = trace.Trace.guard

    def guard(self, kind, node, expected):
        if kind != of_kind:
            before(self, kind, node, expected)

    return guard


def only_data(self, name, x, otherwise):
    number = len(self.handles)
    self.lines.append(f"d{number} = {name}._data")
    self.handles.append(name)


def nothing(*args, **keywords):
    return None


VIEW_OF = plan_text.view_of


def copy_of_part(x, path):
    return xp.asarray(VIEW_OF(x, path), copy=True)


def known_without_a_look(self, call):
    count = len(self.handles)
    self.scope["known"] = [(nothing,) * count]
    self.lines[:0] = [f"{''.join(f'r{i}, ' for i in range(count))}= known[0]"] if count else []


def arguments_unseen(self, call):
    leaves = [*bound_arguments.argument_leaves(call.values)]
    names = "".join(f"x{i}, " for i in range(len(leaves)))
    self.lines.append(f"{names}= leaves(values)" if leaves else "pass")
    for i, leaf in enumerate(leaves):
        if isinstance(leaf, xp.Array):
            self.write_layout(f"x{i}", leaf, "return MISFIT")


def by_type(value, places, gone):
    return type(value)


def found_by_themselves(self, call):
    self.lines.append("state = read(values)")
    for x in call.lifter.handles[len(call.arrays) :]:
        self.lines.append(f"f{len(self.handles)} = {self.add_global(x)}")
        self.write_layout(f"f{len(self.handles)}", x, "changed('it')")


class Nobody:
    pass


SPOILED = call.Call.spoil_call


def not_for(*words):
    def spoil(self, why):
        if not any(word in why for word in words):
            SPOILED(self, why)

    return spoil


function = sys.modules["arraytape.replay.function"]  # not the decorator of this name
PlanText = plan_text.PlanText
SIGNATURE = (
    (bound_arguments, "signature_part", by_type),
    (PlanText, "write_arguments", arguments_unseen),
)
STATE = (state_module.State, "demand", nothing)
UNSHARED = [(module, "check_apart", nothing) for module in (bound_arguments, call, plan_text)]
GUARDS = {  # a function that needs it; what takes it out
    "layouts": (layouts, *SIGNATURE, (PlanText, "write_layout", only_data)),
    "dtypes": (dtypes, *SIGNATURE, (PlanText, "write_layout", only_data)),
    "Python arguments": (python_arguments, *SIGNATURE),
    "one Array twice": (one_array_twice, *SIGNATURE, (PlanText, "write_apart", known_without_a_look)),
    "overlap": (arguments_that_overlap, *UNSHARED),
    "values": (looks, (trace.Trace, "guard", without("value"))),
    "shapes": (shapes, (trace.Trace, "guard", without("shape"))),
    "NaN": (nans, (trace.Trace, "guard", without("no NaN"))),
    "writes": (writes, (plan_text, "write_value", nothing)),
    "copies of writes": (
        writes_in_turn, (program_source.Source, "to_write", lambda self, node: self.text_of(node, True)),
    ),
    "paths of Arrays": (names_bound_anew, (PlanText, "write_state", found_by_themselves)),
    "state": (python_state, STATE),
    "state that is changed": (state_that_is_changed, STATE),
    "state that is bound": (
        state_that_is_bound_inside, (call.Call, "spoil_call", not_for("")),
    ),
    "memory of NumPy's": (
        memory_of_numpys, (PlanText, "write_foreign", nothing),
        (mutable_sources.MutableSources, "changed_path", lambda self: ""),
        (state_module.State, "parts_in_c", nothing),
    ),
    "lent memory": (memory_that_is_lent, (exported_buffers.ExportedCopies, "add_copy", nothing)),
    "two traces": (
        numbers_that_differ, (function, "describe_difference", lambda first, second: ""),
    ),
    "sources of numbers": (
        numbers_equal_by_chance, (mutable_sources.MutableSources, "changed_path", lambda self: ""),
    ),
    "kept Arrays": (
        arrays_that_are_kept, (call.Call, "spoil_call", not_for("kept beside")), STATE,
    ),
    "views in results": (
        views_as_results, (plan_text, "view_of", copy_of_part),
    ),
    "containers": (containers, (call.Call, "note_containers", nothing)),
    "errors": (errors_inside, (trace.Trace, "add_raising_call", nothing)),
    "error states": (error_states_inside, (trace.Trace, "check_settings", nothing)),
    "recorders": (recorders_around, (function, "ops_may_be_recorded", nothing)),
    "packing": (packing_around, (function, "packing", nothing)),
    "contexts": (contexts_around, *[(module, "AMBIENT", []) for module in (bound_arguments, plan_text)]),
    "Variables": (
        variables, (bound_arguments, "marks_of", lambda x: ()), (plan_text, "Variable", Nobody),
    ),
    "threads": (threads_inside, (lift, "STARTERS", ())),
    "modes": (arrays_of_its_own, (lift.LiftingMode, "before", nothing)),
    "other contexts": (contexts_inside, (lift.LiftingMode, "misses", nothing)),
    "locks": (locks, (state_module, "LOCK_TYPES", ())),
}  # fmt: skip


@pytest.mark.parametrize("name", GUARDS)
def test_a_function_of_each_kind_is_right_for_its_guard(name, monkeypatch):
    check, *patches = GUARDS[name]
    assert check()
    for owner, attribute, instead in patches:
        assert hasattr(owner, attribute)
        monkeypatch.setattr(owner, attribute, instead)
    try:
        right = check()
    except Exception:
        right = False
    assert not right
