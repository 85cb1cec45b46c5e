"""How far the state that a function can reach goes: each kind of it changes once, and is noticed."""

# ruff: noqa: NPY002  (the state that is all programs')

import array
import builtins
import collections
import contextlib
import contextvars
import copy
import functools
import gc
import itertools
import operator
import pickle
import random
import sys
import threading
import types
import warnings
import weakref

import numpy as np
import pytest

import arraytape as xp
from arraytape import TapeWarning
from helpers.replaying import bits


def x_of(*values):
    return xp.asarray(np.array(values or (3.0, 5.0)))


def changes(f, change):
    """Replay f, change something, and go on: always what f itself computes."""
    g, results = xp.function(f), []
    for i in range(8):
        if i == 4:
            assert g.counts["replayed"] == 2, (g.counts, g.reasons)
            change()
        found = bits(g(x_of()))
        assert found == bits(f(x_of()))
        results.append(found)
    assert results[3] != results[4]
    assert g.counts["replayed"] == 4, (g.counts, g.reasons)


class Holder:
    def __init__(self, value=2.0):
        self.value = value


class Parts(np.ndarray):
    pass


def deep(depth):
    holder = Holder()
    for _ in range(depth):
        holder = Holder(holder)
    return holder


def innermost(holder):
    while isinstance(holder.value, Holder):
        holder = holder.value
    return holder


def deep_function(depth):
    kept = [2.0]

    def f(x):
        return x * kept[0]

    def around(f):
        return lambda x: f(x)

    for _ in range(depth):
        f = around(f)
    f.kept = kept
    return f


def with_context():
    variable = contextvars.ContextVar("scale")
    variable.set(2.0)
    return variable


def in_order(parts, x):
    for name, value in parts.items():
        x = x * value if name == "times" else x + value
    return x


def last_first(parts):
    parts["times"] = parts.pop("times")


def other_key(parts):
    parts.clear()
    parts[True] = 2.0


def set_item(key, value=7.0):
    return lambda held: held.__setitem__(key, value)


def many(make):
    return lambda: [make() for _ in range(100)]


HELD = {  # what is closed over; what the function does with it; what changes
    "an OrderedDict": (lambda: collections.OrderedDict(a=2.0), lambda h, x: x * h["a"], set_item("a")),
    "a defaultdict": (
        lambda: collections.defaultdict(float, a=2.0), lambda h, x: x * h["a"], set_item("a"),
    ),
    "a ChainMap": (
        lambda: collections.ChainMap({}, {"a": 2.0}), lambda h, x: x * h["a"], set_item("a"),
    ),
    "a bytearray": (lambda: bytearray([2]), lambda h, x: x * h[0], set_item(0, 7)),
    "a memoryview": (lambda: memoryview(bytearray([2])), lambda h, x: x * h[0], set_item(0, 7)),
    "an array of Python's": (lambda: array.array("d", [2.0]), lambda h, x: x * h[0], set_item(0)),
    "a buffer that becomes an Array": (
        lambda: array.array("d", [2.0, 1.0]), lambda h, x: x * xp.asarray(h), set_item(0),
    ),
    "a subclass of ndarray": (
        lambda: np.ones(2).view(Parts), lambda h, x: x * xp.asarray(h), set_item(0),
    ),
    "a masked array": (
        lambda: np.ma.array([1.0, 2.0]), lambda h, x: x * float(h.sum()), set_item(0),
    ),
    "a mask": (
        lambda: np.ma.array([1.0, 2.0], mask=[True, False]), lambda h, x: x * float(h.sum()),
        lambda h: h.mask.__setitem__(0, False),
    ),
    "a context variable": (with_context, lambda h, x: x * h.get(), lambda h: h.set(7.0)),
    "a list in a long list": (
        many(lambda: [2.0]), lambda h, x: x * h[70][0], lambda h: set_item(0)(h[70]),
    ),
    "an object in a long list": (
        many(Holder), lambda h, x: x * h[70].value, lambda h: setattr(h[70], "value", 7.0),
    ),
    "a number in a long list": (lambda: [2.0] * 100, lambda h, x: x * h[70], set_item(70)),
    "a list in a large dict": (
        lambda: {i: [2.0] for i in range(100)}, lambda h, x: x * h[70][0],
        lambda h: set_item(0)(h[70]),
    ),
    "an object deep in others": (
        lambda: deep(12), lambda h, x: x * innermost(h).value,
        lambda h: setattr(innermost(h), "value", 7.0),
    ),
    "a closure deep in others": (
        lambda: deep_function(12), lambda h, x: h(x), lambda h: set_item(0)(h.kept),
    ),
    "an object in a set": (
        lambda: {Holder()}, lambda h, x: x * next(iter(h)).value,
        lambda h: setattr(next(iter(h)), "value", 7.0),
    ),
    "an object that is a key": (
        lambda: {Holder(): 1}, lambda h, x: x * next(iter(h)).value,
        lambda h: setattr(next(iter(h)), "value", 7.0),
    ),
    "an array of objects": (
        lambda: np.array([Holder(), None]), lambda h, x: x * h[0].value,
        lambda h: setattr(h[0], "value", 7.0),
    ),
    "an exception": (
        lambda: ValueError(2.0), lambda h, x: x * h.args[0], lambda h: setattr(h, "args", (7.0,)),
    ),
    "the order of a dict": (lambda: {"times": 2.0, "plus": 2.0}, in_order, last_first),
    "the type of a key": (lambda: {1: 2.0}, lambda h, x: x * len(repr([*h])), other_key),
    "a bound method of C's": (
        lambda: [2.0].__getitem__, lambda h, x: x * h(0), lambda h: set_item(0)(h.__self__),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HELD)
def test_what_a_function_closes_over(name):
    make, use, change = HELD[name]
    held = make()
    changes(lambda x: use(held, x), lambda: change(held))


def test_what_is_behind_a_proxy():
    parts = {"a": 2.0}
    proxy = types.MappingProxyType(parts)
    changes(lambda x: x * proxy["a"], lambda: parts.update(a=7.0))


@pytest.mark.parametrize("view", ["keys", "values", "items"])
def test_what_is_behind_a_view_of_a_dict(view):
    parts = {"a": 2.0}
    seen = getattr(parts, view)()
    changes(lambda x: x * len(repr([*seen])), lambda: parts.update(more=7.0))


def test_what_is_behind_a_weak_reference():
    holder = Holder()
    reference = weakref.ref(holder)
    changes(lambda x: x * reference().value, lambda: setattr(holder, "value", 7.0))


def test_attributes_of_functions():
    def helper(x):
        return x * helper.scale

    def f(x):
        return x * (7.0 if hasattr(f, "more") else f.scale)

    helper.scale = f.scale = 2.0
    changes(lambda x: helper(x), lambda: setattr(helper, "scale", 7.0))
    changes(f, lambda: setattr(f, "more", True))


# --- classes ------------------------------------------------------------------------------------------
class Base:
    rate = 2.0

    def factor(self):
        return self.rate


@pytest.mark.parametrize(
    ("use", "name", "value"),
    [
        (lambda one, x: x * one.rate, "rate", 7.0),
        (lambda one, x: x * one.factor(), "factor", lambda self: 7.0),
        (lambda one, x: x * (7.0 if hasattr(one, "more") else 2.0), "more", True),
        (lambda one, x: x * getattr(one, "more", 2.0), "more", 7.0),
    ],
    ids=["over a base's", "over a base's method", "hasattr", "getattr"],
)
def test_attributes_that_a_class_is_given(use, name, value):
    one = type("Derived", (Base,), {"__slots__": ()})()
    changes(lambda x: use(one, x), lambda: setattr(type(one), name, value))


def test_getattr_of_a_classs_attribute_by_its_name():
    one = type("Derived", (Base,), {"more": 2.0})()
    changes(lambda x: x * getattr(one, "more", 1.0), lambda: setattr(type(one), "more", 7.0))


def test_a_slot_that_is_filled():
    class Slotted:
        __slots__ = ("first", "second")

    slotted = Slotted()
    slotted.first = 2.0
    changes(
        lambda x: x * (slotted.second if hasattr(slotted, "second") else slotted.first),
        lambda: setattr(slotted, "second", 7.0),
    )


# --- names --------------------------------------------------------------------------------------------
def test_a_global_that_hides_a_builtin(monkeypatch):
    changes(
        lambda x: x * abs(-2.0),
        lambda: monkeypatch.setitem(globals(), "abs", lambda value: 7.0),
    )


def test_a_variable_of_a_closure_that_is_bound_later():
    def f(x):
        try:
            return x * later
        except NameError:
            return x

    def change():
        nonlocal later
        later = 7.0

    if not change:
        later = 1.0
    changes(f, change)


@pytest.fixture
def settings(monkeypatch, tmp_path):
    module = types.ModuleType("replay_settings")
    module.__file__ = str(tmp_path / "replay_settings.py")
    module.SCALE = 2.0
    monkeypatch.setitem(sys.modules, "replay_settings", module)
    return module


def test_modules_that_are_imported_inside(settings):
    def whole(x):
        import replay_settings

        return x * replay_settings.SCALE

    def one_name(x):
        from replay_settings import SCALE

        return x * SCALE

    for f in (whole, one_name):
        settings.SCALE = 2.0
        changes(f, lambda: setattr(settings, "SCALE", 7.0))


# --- the order of arguments ---------------------------------------------------------------------------
def test_the_order_of_keywords_and_of_parts_is_the_functions_to_see():
    def stacked(**parts):
        return xp.stack([*parts.values()])

    def one_by_one(x, parts):
        return in_order(parts, x)

    f, g = xp.function(stacked), xp.function(one_by_one)
    for _ in range(4):
        for names in ("ab", "ba"):
            given = {name: x_of(i, 1.0) for i, name in enumerate(names)}
            assert bits(f(**given)) == bits(stacked(**given))
        for names in (("times", "plus"), ("plus", "times")):
            parts = dict.fromkeys(names, 2.0)
            assert bits(g(x_of(), parts)) == bits(one_by_one(x_of(), parts))
    assert f.counts["replayed"] == g.counts["replayed"] == 4


# --- what gives something else in each call -----------------------------------------------------------
def generated():
    while True:
        yield from (1.0, 1.0, 1.0, 2.0)


def seeded(make):
    """Give what draws a coin that is twice on one side."""
    for seed in itertools.count():
        draws = make(seed)
        if draws() == draws() != draws():
            return make(seed)
    return None


def global_coin(seed):
    random.seed(seed)
    return lambda: random.randint(0, 1)


def numpys_global_coin(seed):
    np.random.seed(seed)
    return lambda: int(np.random.randint(0, 2))


SOURCES = {
    "random.Random": lambda: seeded(
        lambda seed: functools.partial(random.Random(seed).randint, 0, 1)
    ),
    "random": lambda: seeded(global_coin),
    "np.random": lambda: seeded(numpys_global_coin),
    "a Generator": lambda: seeded(
        lambda seed: functools.partial(np.random.default_rng(seed).choice, [1.0, 2.0])
    ),
    "a generator": lambda: generated().__next__,
    "an iterator": lambda: itertools.cycle((1.0, 1.0, 1.0, 2.0)).__next__,
}


@pytest.mark.parametrize("name", SOURCES)
def test_what_is_equal_twice_by_chance_is_not_replayed(name):
    ours, theirs = SOURCES[name](), SOURCES[name]()
    if "random" in name and name != "random.Random":  # one state for both
        theirs = None
    g = xp.function(lambda x: x * float(ours()))
    with pytest.warns(TapeWarning, match=r"it may draw from|random numbers|a number that changes"):
        found = [g(x_of()).tolist()[0] for _ in range(8)]
    if theirs is not None:
        assert found == [3.0 * float(theirs()) for _ in range(8)]
    assert g.counts["replayed"] == 0


def test_the_state_of_a_generator_goes_on():
    def f(x):
        np.random.seed(0)
        return x * np.random.rand()

    after = []
    for call in (f, xp.function(f)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TapeWarning)
            for i in range(4):
                np.random.seed(i)
                call(x_of())
                after.append(np.random.rand())
    assert len({*after}) == 1


def test_what_a_thread_writes():
    def trained(call):
        state = x_of(0.0, 0.0)

        def f(x):
            thread = threading.Thread(target=lambda: state.__iadd__(1.0))
            thread.start()
            thread.join()
            return x * 2

        step = call(f)
        for _ in range(5):
            step(x_of())
        return state.tolist()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TapeWarning)
        assert trained(xp.function) == trained(lambda f: f) == [5.0, 5.0]


def test_a_tape_that_was_made_outside():
    def run(call):
        x, tape, held = x_of(), xp.GradientTape(persistent=True), Holder()
        f = call(lambda z: tape.gradient(held.value, x) * z)
        found = []
        for i in range(6):
            with tape:
                tape.watch(x)
                held.value = x * x * (1.0 + i // 3)
            found.append(bits(f(x_of())))
        return found

    assert run(xp.function) == run(lambda f: f)


def lock_of_a_closure():
    lock = threading.Lock()

    def f(x):
        with lock:
            return x * 2

    return f


def lock_of_an_object():
    class Guarded:
        def __init__(self):
            self.changing = threading.Condition()

        def step(self, x):
            with self.changing:
                return x * 2

    return Guarded().step


@pytest.mark.parametrize("make", [lock_of_a_closure, lock_of_an_object])
def test_a_lock_is_taken_in_each_call(make):
    g = xp.function(make())
    g(x_of())
    with pytest.warns(TapeWarning, match="it can take the lock"):
        g(x_of())
    assert g(x_of()).tolist() == [6.0, 10.0]
    assert g.counts["replayed"] == 0


def test_a_logger_may_be_in_reach():
    import logging

    logger = logging.getLogger(__name__)
    handler = logging.NullHandler()
    logger.addHandler(handler)

    def f(x):
        logger.debug("a step")
        return x * 2

    g = xp.function(f)
    for _ in range(4):
        g(x_of())
    logger.removeHandler(handler)
    assert g.counts["replayed"] == 1, g.reasons  # the first call fills its cache


def test_what_other_loggers_hold_is_not_looked_at():
    import logging
    from collections import deque

    class Remembering(logging.NullHandler):
        def __init__(self):
            super().__init__()
            self.kept = deque(object() for _ in range(5000))

    logger, other = logging.getLogger(__name__ + ".one"), logging.getLogger("arraytape_tests_other")
    handler = Remembering()
    other.addHandler(handler)

    def f(x):
        logger.debug("a step")
        return x * 2

    g = xp.function(f)
    for _ in range(4):
        g(x_of())
    assert g.counts["replayed"] >= 1, g.reasons
    logging.disable(logging.CRITICAL)
    try:
        before = g.counts["replayed"]
        g(x_of())
        assert g.counts["replayed"] == before  # it is asked for by each logger
    finally:
        logging.disable(logging.NOTSET)
        other.removeHandler(handler)


# --- functions that libraries wrap --------------------------------------------------------------------
FACTOR = [2.0]


@xp.custom_gradient
def with_a_rule(x):
    return x * FACTOR[0], lambda g: g * FACTOR[0]


@contextlib.contextmanager
def factor():
    yield FACTOR[0]


def in_a_block(x):
    with factor() as by:
        return x * by


class Descriptor:
    def __get__(self, instance, owner):
        return FACTOR[0]


class Described:
    by = Descriptor()


class Sized:
    def __len__(self):
        return int(FACTOR[0])


def cube(x):
    return xp.sum(x**3 * FACTOR[0])


VECTORIZED = np.vectorize(lambda y: y * FACTOR[0])
DESCRIBED, SIZED = Described(), Sized()
WRAPPED = {
    "grad": xp.grad(cube),
    "jacobian": xp.jacobian(lambda x: x * x * FACTOR[0]),
    "vmap": xp.vmap(lambda x: x * FACTOR[0]),
    "recompute_grad": xp.recompute_grad(lambda x: x * FACTOR[0]),
    "custom_gradient": with_a_rule,
    "a context manager": in_a_block,
    "np.vectorize": lambda x: x * VECTORIZED(2.0),
    "a partial method's": functools.partial(lambda by, x: x * by() * FACTOR[0], lambda: 1.0),
    "a descriptor": lambda x: x * DESCRIBED.by,
    "a special method": lambda x: x * len(SIZED),
    "another function": xp.function(lambda x: x * FACTOR[0]),
    "another function of an object": xp.function(functools.partial(lambda by, x: x * FACTOR[0], 1)),
}


@pytest.mark.parametrize("name", WRAPPED)
def test_functions_within_others(name):
    f = WRAPPED[name]
    try:
        changes(lambda x: f(x) * 1.0, lambda: set_item(0, 3.0)(FACTOR))
    finally:
        FACTOR[0] = 2.0


@pytest.fixture
def op():
    """An op of a user's, under a name that is free again afterwards."""
    from arraytape._record.op import REGISTRY

    def forward(x):
        return np.multiply(x, FACTOR[0])

    made = xp.define_op("op_in_reach", forward, "elementwise", lambda t: t * FACTOR[0])
    made(x_of())  # compiles it
    yield made
    FACTOR[0] = 2.0
    del REGISTRY["op_in_reach"]


def test_an_op_and_its_rule(op):
    changes(xp.grad(lambda x: xp.sum(op(x))), lambda: set_item(0, 3.0)(FACTOR))


def test_attributes_by_getters():
    def one():
        return type("Class", (), {"by": 2.0, "call": lambda self: self.by})()

    for ask in (operator.attrgetter("by"), operator.methodcaller("call")):
        held = one()
        changes(
            lambda x, ask=ask, held=held: x * ask(held), lambda h=held: setattr(type(h), "by", 7.0)
        )


def test_an_attribute_of_a_metaclass():
    meta = type("Meta", (type,), {"by": 2.0})
    cls = meta("Class", (), {})
    changes(lambda x: x * cls.by, lambda: setattr(meta, "by", 7.0))


def test_copies_that_a_function_makes():
    def f(x):
        return copy.deepcopy(x) * 2 + copy.copy(x), copy.deepcopy({"a": [x * 3]})["a"][0]

    g = xp.function(f)
    for _ in range(4):
        assert [*map(bits, g(x_of()))] == [*map(bits, f(x_of()))]
    assert g.counts["replayed"] == 2, g.reasons


@pytest.mark.filterwarnings("ignore:function .*not replayed:arraytape.TapeWarning")
def test_pickles_that_a_function_makes():
    def f(x):
        return pickle.loads(pickle.dumps(x * 2)) + x

    g = xp.function(f)
    for i in range(6):
        x = x_of(1.0 + i // 3)
        assert bits(g(x)) == bits(f(x))


COUNTER = """
started = 0
def count():
    global started
    started += 1
def on_collection(phase, info):
    count()
"""


def test_a_librarys_callback_of_the_garbage_collector_is_no_part_of_a_call():
    """As that of hypothesis, or of Dask's scheduler: it runs at any instruction and counts."""
    library = types.ModuleType("drawn_library")
    library.__file__ = "/lib/site-packages/drawn_library.py"
    exec(compile(COUNTER, library.__file__, "exec"), vars(library))

    def f(x):
        gc.collect(0)
        return x * 2.0

    g = xp.function(f)
    gc.callbacks.append(library.on_collection)
    try:
        for i in range(6):
            assert g(x_of(1.0 + i)).tolist() == [2.0 + 2.0 * i]
    finally:
        gc.callbacks.remove(library.on_collection)
    assert library.started > 0
    assert g.counts["replayed"] == 4, g.reasons


def test_a_callback_of_the_garbage_collector_of_the_users_own_may_steer():
    """What it counts is state like any other."""
    seen = [0.0]

    def on_collection(phase, info):
        seen[0] += 1.0

    def f(x):
        gc.collect(0)
        return x * seen[0]

    g = xp.function(f)
    gc.disable()  # no collection beside those of f
    gc.callbacks.append(on_collection)
    try:
        with pytest.warns(TapeWarning, match="it changes seen"):
            found = [g(x_of(1.0)).tolist() for _ in range(6)]
    finally:
        gc.callbacks.remove(on_collection)
        gc.enable()
    assert found == [[2.0 * k] for k in range(1, 7)]  # it is called before and after


# --- functions and classes as data --------------------------------------------------------------------
def with_text(value):
    def held():
        """Replaced below."""

    held.__doc__ = str(value)
    return held


@pytest.mark.parametrize("change", ["another function", "another text"])
def test_a_function_that_is_read_by_a_computed_name_is_compared(change):
    class Held:
        part = with_text(2.0)

    def number(part):
        return float(part.__doc__)

    @xp.function
    def f(x):
        return x * number(getattr(Held, "pa" + chr(114) + "t"))

    for _ in range(4):
        assert float(f(xp.asarray(1.0))) == 2.0
    assert f.counts["replayed"]
    if change == "another function":
        Held.part = with_text(5.0)
    else:
        Held.part.__doc__ = "5.0"
    assert float(f(xp.asarray(1.0))) == 5.0


def test_a_class_among_the_builtins_is_compared(monkeypatch):
    monkeypatch.setattr(builtins, "HeldOfTests", type("v2", (), {}), raising=False)

    @xp.function
    def f(x):
        return x * float(HeldOfTests.__name__[1:])  # noqa: F821 -- a builtin

    for _ in range(4):
        assert float(f(xp.asarray(1.0))) == 2.0
    assert f.counts["replayed"]
    monkeypatch.setattr(builtins, "HeldOfTests", type("v5", (), {}))
    assert float(f(xp.asarray(1.0))) == 5.0
