"""Python state that a function reads: what changes between calls, and what the function changes."""

import codecs
import dataclasses
import functools
import gc
import random
import re
import threading
import types
import warnings
import weakref
from typing import ClassVar

import numpy as np
import pytest

import arraytape as xp
from arraytape import TapeWarning, interop
from arraytape._util import nest

SCALE = 2.0
WEIGHT = xp.asarray([1.0, 2.0])
TABLE = {"a": [1.0, 2.0], "b": (3.0, {"c": 4.0})}
BUFFER = np.ones(2)
NOTES = []
COUNT = 0


@pytest.fixture(autouse=True)
def globals_as_they_were():
    before = dict(globals())
    table, buffer = {"a": [1.0, 2.0], "b": (3.0, {"c": 4.0})}, np.ones(2)
    yield
    globals().update(before)
    TABLE.clear()
    TABLE.update(table)
    BUFFER[...] = buffer
    NOTES.clear()
    WEIGHT[...] = xp.asarray([1.0, 2.0])


def bits(value):
    return [np.asarray(x).tobytes() if isinstance(x, xp.Array) else x for x in nest.leaves(value)]


X = [3.0, 5.0]


def changes(f, change, *, replayed=None):
    """Replay f, change something, and go on: always what f itself computes."""
    g = xp.function(f)
    for _ in range(4):
        assert bits(g(xp.asarray(X))) == bits(f(xp.asarray(X)))
    assert g.counts["replayed"] == 2, (g.counts, g.reasons)
    before = bits(f(xp.asarray(X)))
    change()
    assert bits(f(xp.asarray(X))) != before
    for _ in range(4):
        assert bits(g(xp.asarray(X))) == bits(f(xp.asarray(X)))
    if replayed is not None:
        assert g.counts["replayed"] == replayed, (g.counts, g.reasons)
    return g


class Config:
    rate = 2.0
    table: ClassVar = {"k": 1.0}

    def __init__(self):
        self.scale, self.parts, self.weight = 2.0, [1.0, 2.0], xp.asarray([1.0, 2.0])
        self.inner = types.SimpleNamespace(value=3.0)

    def factor(self):
        return self.scale * self.rate

    @property
    def twice(self):
        return 2 * self.scale

    @staticmethod
    def fixed(value=2.0):
        return value

    @classmethod
    def of_class(cls):
        return cls.rate


class Faster(Config):
    rate = 8.0


class Slotted:
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


@dataclasses.dataclass
class Settings:
    rate: float
    name: str = "a"


def helper(x):
    return x * SCALE


def with_default(x, by=2.0, *, also=1.0):
    return x * by * also


def other_helper(x):
    return x * 7.0


def set_global(name, value):
    return lambda: globals().__setitem__(name, value)


GLOBALS = {
    "number": (lambda x: x * SCALE, set_global("SCALE", 3.0)),
    "type of a number": (lambda x: x * (1 if type(SCALE) is float else 5), set_global("SCALE", 2)),
    "in a called function": (lambda x: helper(x), set_global("SCALE", 3.0)),
    "a called function": (lambda x: helper(x), set_global("helper", other_helper)),
    "code of a called function": (
        lambda x: with_default(x),
        lambda: setattr(with_default, "__code__", (lambda x, by=2.0, *, also=1.0: x * 9).__code__),
    ),
    "an Array bound anew": (lambda x: x * WEIGHT, set_global("WEIGHT", xp.asarray([7.0, 8.0]))),
    "an Array written to": (lambda x: x * WEIGHT, lambda: WEIGHT.__setitem__(0, 9.0)),
    "an Array of another shape": (lambda x: x * WEIGHT, set_global("WEIGHT", xp.asarray([7.0]))),
    "an Array becomes None": (
        lambda x: x if WEIGHT is None else x * WEIGHT, set_global("WEIGHT", None),
    ),
    "a list": (lambda x: x * TABLE["a"][0], lambda: TABLE["a"].__setitem__(0, 5.0)),
    "a longer list": (lambda x: x * len(TABLE["a"]), lambda: TABLE["a"].append(5.0)),
    "deep in a dict": (lambda x: x * TABLE["b"][1]["c"], lambda: TABLE["b"][1].update(c=5.0)),
    "a buffer of NumPy's": (lambda x: x * BUFFER, lambda: BUFFER.__setitem__(0, 9.0)),
    "a buffer that NumPy sums": (lambda x: x * BUFFER.sum(), lambda: BUFFER.__setitem__(0, 9.0)),
    "another buffer": (lambda x: x * BUFFER, set_global("BUFFER", np.full(2, 3.0))),
    "a name that was a builtin": (lambda x: x * len([1, 2]), None),
}  # fmt: skip


@pytest.mark.parametrize("name", [name for name in GLOBALS if GLOBALS[name][1]])
def test_globals(name):
    code = with_default.__code__
    changes(*GLOBALS[name])
    with_default.__code__ = code


def test_defaults():
    before = with_default.__defaults__, with_default.__kwdefaults__
    changes(lambda x: with_default(x), lambda: setattr(with_default, "__defaults__", (3.0,)))
    changes(
        lambda x: with_default(x), lambda: setattr(with_default, "__kwdefaults__", {"also": 4.0})
    )
    with_default.__defaults__, with_default.__kwdefaults__ = before

    def f(x, by=2.0):
        return x * by

    changes(f, lambda: setattr(f, "__defaults__", (5.0,)))


def test_closure_cells():
    scale, weight, parts = 2.0, xp.asarray([1.0, 2.0]), {"w": xp.asarray([2.0, 3.0])}

    def rebind():
        nonlocal scale
        scale = 3.0

    def rebind_array():
        nonlocal weight
        weight = xp.asarray([5.0, 6.0])

    def called(x):
        return x * scale

    changes(lambda x: x * scale, rebind)
    scale = 2.0
    changes(lambda x: called(x), rebind)
    changes(lambda x: x * weight, rebind_array, replayed=6)  # read anew, by its path
    changes(lambda x: x * weight, lambda: weight.__setitem__(0, 9.0), replayed=6)
    changes(lambda x: x * parts["w"], lambda: parts.update(w=xp.asarray([8.0, 9.0])), replayed=6)


@pytest.mark.parametrize("part", range(7))
def test_each_of_several_parts(part):
    """They are read from one table: of a closure, of an object, of keys that look like such a table."""
    a, b = 2.0, 3.0
    box = types.SimpleNamespace(c=4.0, d=5.0, e=6.0)
    keys = {"v1.__closure__": 7.0, "v2.__dict__[' or ']": 8.0}

    def rebind():
        nonlocal a, b
        if part < 2:
            a, b = (a + 1.0, b) if part == 0 else (a, b + 1.0)
        elif part < 5:
            setattr(box, "cde"[part - 2], 9.0)
        else:
            keys[[*keys][part - 5]] = 9.0

    def used(x):
        parts = x * a + b, box.c * x + box.d * x**2 + box.e
        return sum(parts) * keys["v1.__closure__"] + keys["v2.__dict__[' or ']"]

    changes(used, rebind)


ATTRIBUTES = {
    "a number": (lambda c, x: x * c.scale, lambda c: setattr(c, "scale", 5.0)),
    "a list": (lambda c, x: x * c.parts[1], lambda c: c.parts.__setitem__(1, 5.0)),
    "an Array": (lambda c, x: x * c.weight, lambda c: setattr(c, "weight", xp.asarray([5.0, 6.0]))),
    "of an attribute": (lambda c, x: x * c.inner.value, lambda c: setattr(c.inner, "value", 5.0)),
    "another object": (
        lambda c, x: x * c.inner.value,
        lambda c: setattr(c, "inner", types.SimpleNamespace(value=5.0)),
    ),
    "in a method": (lambda c, x: x * c.factor(), lambda c: setattr(c, "scale", 5.0)),
    "in a property": (lambda c, x: x * c.twice, lambda c: setattr(c, "scale", 5.0)),
    "of the class": (lambda c, x: x * c.rate, lambda c: setattr(Config, "rate", 5.0)),
    "of the class in a method": (lambda c, x: x * c.of_class(), lambda c: setattr(Config, "rate", 5.0)),
    "over that of the class": (lambda c, x: x * c.rate, lambda c: setattr(c, "rate", 5.0)),
    "a container of the class": (
        lambda c, x: x * c.table["k"], lambda c: Config.table.update(k=5.0),
    ),
    "a method": (lambda c, x: x * c.factor(), lambda c: setattr(Config, "factor", lambda self: 9.0)),
    "a static method's default": (
        lambda c, x: x * c.fixed(), lambda c: setattr(Config.fixed, "__defaults__", (9.0,)),
    ),
    "the class": (lambda c, x: x * c.rate, lambda c: setattr(c, "__class__", Faster)),
}  # fmt: skip


@pytest.mark.parametrize("how", ["closure", "argument", "method", "partial"])
@pytest.mark.parametrize("name", ATTRIBUTES)
def test_attributes(name, how, monkeypatch):
    for attribute in ("rate", "factor", "fixed"):
        monkeypatch.setattr(Config, attribute, Config.__dict__[attribute])
    monkeypatch.setattr(Config, "table", {"k": 1.0})
    monkeypatch.setattr(Config.fixed, "__defaults__", (2.0,))
    f, change = ATTRIBUTES[name]
    config = Config()
    if how == "closure":
        changes(lambda x: f(config, x), lambda: change(config))
    elif how == "method":
        Config.method = f
        changes(config.method, lambda: change(config))
        del Config.method
    elif how == "partial":
        changes(functools.partial(f, config), lambda: change(config))
    else:
        g = xp.function(f)
        for i in range(8):
            if i == 4:
                change(config)
            assert bits(g(config, xp.asarray(X))) == bits(f(config, xp.asarray(X)))
        assert g.counts["replayed"] >= 2


def test_slots():
    slotted = Slotted(2.0)
    changes(lambda x: x * slotted.value, lambda: setattr(slotted, "value", 5.0))


def test_dataclasses_and_named_tuples_are_equal_by_their_parts():
    g = xp.function(lambda x, settings: x * settings.rate)
    for _ in range(4):
        assert g(xp.asarray(X), Settings(2.0)).tolist() == [6.0, 10.0]
    assert g.counts["replayed"] == 2
    assert g(xp.asarray(X), Settings(3.0)).tolist() == [9.0, 15.0]


def test_functions_as_arguments_are_equal_by_code_and_closure():
    def made(by):
        return lambda x: x * by

    g = xp.function(lambda x, f: f(x))
    for by in (2.0,) * 4 + (3.0,) * 4:
        assert g(xp.asarray(X), made(by)).tolist() == [3 * by, 5 * by]
    assert g.counts["replayed"] == 4


def test_calls_under_other_state_are_no_measure():
    config = types.SimpleNamespace(training=False, rate=0.5)

    @xp.function
    def step(x):
        return x * config.rate if config.training else x + 1.0

    for number in range(8):
        config.training = number % 2 == 0
        assert np.array_equal(step(xp.ones(2) * number), step.eager(xp.ones(2) * number))
    assert step.counts == {"traced": 4, "replayed": 4, "eager": 0}


def test_state_that_is_another_in_each_call_is_named():
    config = types.SimpleNamespace(epoch=0)
    step = xp.function(lambda x: x * config.epoch)

    def train():
        for config.epoch in range(10):
            step(xp.ones(2))

    with pytest.warns(TapeWarning, match="config.epoch had another value in each of 8 calls"):
        train()
    assert step.counts == {"traced": 8, "replayed": 0, "eager": 2}


DATA = {"x": np.zeros(2)}


@pytest.mark.parametrize(
    ("path", "f", "given"),
    [
        ("x", lambda x, w: w * x, lambda data: data),
        ("x['a'][0]", lambda x, w: w * x["a"][0], lambda data: {"a": [data]}),
        ("DATA['x']", lambda x, w: w * DATA["x"], lambda data: np.copyto(DATA["x"], data)),
    ],
)
def test_numpy_data_that_is_another_in_each_call_is_named(path, f, given):
    step = xp.function(f)
    w = xp.ones(2)

    def train():
        for epoch in range(10):
            x = given(np.full(2, float(epoch)))
            assert step(x, w).tolist() == f(x, w).tolist()

    said = re.escape(
        f"{path}, a NumPy array, had another value in each of 8 calls. Make it an Array, xp.asa"
    )
    with pytest.warns(TapeWarning, match=said):
        train()
    assert step.counts["eager"] == 2


def test_a_0d_index_that_is_another_in_each_call_leads_to_one_with_an_axis():
    def select(x, i):
        return x[0, i]

    def write(x, i):
        x[0, i] = 7.0

    def call_all(step):
        for i in range(12):
            step(xp.ones((2, 12)), xp.asarray(i))

    for f in select, write:
        with pytest.warns(
            TapeWarning, match=re.escape("use an index with an axis, as in x[0, i[None]]")
        ):
            call_all(xp.function(f))
    for f in (
        lambda x, i: select(x, i[None]),
        lambda x, i: write(x, i[None]),
        lambda x, i: xp.take(x, i, axis=1),
    ):
        step = xp.function(f)
        call_all(step)
        assert step.counts == {"traced": 2, "replayed": 10, "eager": 0}


@pytest.mark.parametrize(
    "op",
    [lambda x: x * np.eye(3), lambda x: np.eye(3) @ x, lambda x: np.where(x > 0, x, np.eye(3))],
)
def test_numpy_arrays_beside_arrays_under_two_tapes(op):
    """What the outer tape records of the inner one's pass reads what that one has kept of them."""

    @xp.function
    def slopes(x):
        with xp.GradientTape() as outer:
            outer.watch(x)
            with xp.GradientTape() as inner:
                inner.watch(x)
                y = xp.sum(op(x) ** 3)
            slope = xp.sum(inner.gradient(y, x) ** 2)
        return outer.gradient(slope, x)

    for number in range(4):
        x = xp.asarray(np.arange(9.0).reshape(3, 3) - number)
        assert np.array_equal(slopes(x), slopes.eager(x))
    assert slopes.counts == {"traced": 2, "replayed": 2, "eager": 0}


def test_numpy_arrays_as_arguments_are_compared():
    g = xp.function(lambda x, a: x * a + xp.asarray(a).sum())
    for a in ([1.0, 2.0],) * 4 + ([3.0, 4.0],) * 4:
        a = np.array(a)
        assert g(xp.asarray(X), a).tolist() == (np.array(X) * a + a.sum()).tolist()
    assert g.counts["replayed"] == 4


def test_variables_are_read_anew():
    v = xp.Variable(np.ones(2))
    changes(lambda x: x * v, lambda: v.assign(xp.asarray([5.0, 6.0])), replayed=6)


def test_two_paths_to_one_array_become_two():
    parts = {}
    parts["a"] = parts["b"] = xp.asarray([1.0, 2.0])

    def f(x):
        parts["a"][0] = 5.0
        return x * parts["b"]

    def change():
        parts["a"] = xp.asarray([1.0, 1.0])
        parts["b"] = xp.asarray([1.0, 1.0])

    changes(f, change)
    parts["a"], parts["b"] = xp.asarray([2.0, 2.0]), xp.asarray([1.0, 1.0])
    changes(f, lambda: parts.update(a=parts["b"]))


def test_an_argument_that_is_closed_over_too():
    w = xp.asarray([1.0, 1.0])

    def f(x):
        x[0] += 1.0
        return x * w

    results = []
    for call in (f, xp.function(f)):
        w[...] = xp.asarray([1.0, 1.0])
        found = [call(xp.asarray(X)).tolist() for _ in range(3)]
        found += [call(w).tolist() for _ in range(4)]
        results.append([*found, w.tolist()])
    assert results[0] == results[1]


# --- state that the function changes ------------------------------------------------------------------
def effects(f, said, state=lambda: None):
    """What f changes in Python's state goes on; the reason names it."""
    g = xp.function(f)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        results = [bits(g(xp.asarray([float(i), 1.0]))) for i in range(6)]
    assert g.counts["replayed"] == 0, g.counts
    assert len([w for w in seen if w.category is TapeWarning]) == 1
    message = str(next(w for w in seen if w.category is TapeWarning).message)
    assert said in message
    assert __file__ in message
    return results


def test_a_counter():
    def f(x):
        global COUNT
        COUNT += 1
        return x * COUNT

    effects(f, "COUNT")
    assert COUNT == 6


def test_a_counter_that_decides_nothing():
    config = Config()

    def f(x):
        config.scale += 1
        return x * 2

    effects(f, "config.scale")
    assert config.scale == 8.0


def test_a_growing_list():
    def f(x):
        NOTES.append(1)
        return x * 2

    effects(f, "NOTES")
    assert len(NOTES) == 6


def test_an_array_that_is_kept_in_a_list():
    def f(x):
        y = x * 2
        NOTES.append(y)
        return y + 1

    effects(f, "NOTES")
    assert [y.tolist() for y in NOTES] == [[2.0 * i, 2.0] for i in range(6)]
    assert all(type(y._data) is np.ndarray for y in NOTES)


def test_an_array_that_is_kept_out_of_reach():
    def f(x):
        y = x * 2
        codecs.register_error("kept", lambda error, y=y: y)
        return y + 1

    effects(f, "kept beside its result")
    (y,) = codecs.lookup_error("kept").__defaults__
    assert y.tolist() == [10.0, 2.0]
    assert type(y._data) is np.ndarray


def test_an_array_that_is_bound_anew_inside():
    config = Config()

    def f(x):
        config.weight = config.weight + x
        return config.weight * 1.0

    effects(f, "config.weight")
    assert config.weight.tolist() == [16.0, 8.0]
    assert type(config.weight._data) is np.ndarray


def test_a_buffer_that_is_written():
    def f(x):
        BUFFER[0] += 1
        return x * 2

    effects(f, "BUFFER")
    assert BUFFER[0] == 7.0


def test_a_first_call_may_fill_what_later_ones_use():
    layers = {}

    def f(x):
        if "w" not in layers:
            layers["w"] = xp.Variable(np.full(2, 2.0))
            layers["table"] = xp.asarray([1.0, 2.0]) * 3
        return x * layers["w"] + layers["table"]

    g = xp.function(f)
    for i in range(6):
        assert g(xp.asarray([float(i), 1.0])).tolist() == [2.0 * i + 3.0, 8.0]
    assert g.counts == {"traced": 3, "replayed": 3, "eager": 0}
    layers["w"].assign(xp.asarray([5.0, 5.0]))
    assert g(xp.asarray([1.0, 1.0])).tolist() == [8.0, 11.0]


def test_caches_of_functions():
    @functools.lru_cache
    def table(n):
        return xp.arange(n, dtype=xp.float64) * 2

    g = xp.function(lambda x: x * table(2))
    for i in range(6):
        assert g(xp.asarray([float(i), 1.0])).tolist() == [0.0, 2.0]


# --- what is another in each call ---------------------------------------------------------------------
def differs(f, said):
    g = xp.function(f)
    with pytest.warns(TapeWarning, match=said):
        results = [bits(g(xp.asarray(X))) for _ in range(6)]
    assert len({str(x) for x in results}) == 6
    assert g.counts["replayed"] == 0


def test_random_numbers():
    rng = np.random.default_rng(0)
    differs(
        lambda x: x * rng.random(2), r"made outside arraytape at .*test_state.py:\d+ \(random num"
    )
    differs(lambda x: x * xp.asarray(rng.random(2)), "random numbers")
    differs(lambda x: x * rng.random(), "call 2 computed something else")
    differs(lambda x: x * random.random(), "call 2 computed something else")


def test_clocks_and_counters():
    import itertools
    import time

    counter = itertools.count(1)
    differs(lambda x: x * next(counter), "computed something else")
    differs(lambda x: x * time.perf_counter_ns(), "computed something else")
    differs(lambda x: xp.repeat(x, next(counter)), "computed something else")


def test_strict_raises_where_calls_are_not_replayed():
    rng = np.random.default_rng(0)
    g = xp.function(lambda x: x * rng.random(2), strict=True)
    g(xp.asarray(X))
    with pytest.raises(RuntimeError, match="not replayed, call 2 computed something else"):
        g(xp.asarray(X))
    with pytest.raises(RuntimeError, match="not replayed"):
        g(xp.asarray(X))


# --- surroundings, storages, threads ------------------------------------------------------------------
class Contrary:
    """Raises when it is looked at."""

    @property
    def __dict__(self):
        raise ReferenceError("no")


def test_what_cannot_be_looked_at_runs_as_it_is():
    contrary, nested = Contrary(), []
    nested.append(nested)
    for f, args in (
        (lambda x: (contrary, x * 2)[1], ()),
        (lambda x, y: x * 2, (contrary,)),
        (lambda x, y: x * 2, (nested,)),
    ):
        g = xp.function(f)
        for _ in range(4):
            assert g(xp.asarray(X), *args).tolist() == [6.0, 10.0]
        assert g.counts == {"traced": 0, "replayed": 0, "eager": 4}
        assert "raise when they are compared" in next(iter(g.reasons))


def test_a_result_that_holds_itself():
    def f(x):
        found = [x * 2]
        found.append(found)
        return found

    g = xp.function(f)
    with pytest.warns(TapeWarning, match="cannot be taken apart"):
        found = [g(xp.asarray(X)) for _ in range(4)]
    for one in found:
        assert one[0].tolist() == [6.0, 10.0]
        assert type(one[0]._data) is np.ndarray


def test_contexts_of_interop():
    linalg = pytest.importorskip("scipy.linalg")

    def f(a, b):
        with xp.GradientTape() as tape:
            tape.watch(a)
            y = xp.sum(xp.asarray(linalg.solve(a, b)) + xp.asarray(linalg.solve(a, b + 1)))
        return y, tape.gradient(y, a)

    def rows(a, b):
        return xp.vmap(lambda row: xp.asarray(linalg.solve(a, row)))(xp.stack([b, b + 1]))

    g, h = xp.function(f), xp.function(rows)
    for i in range(5):
        a, b = xp.asarray(np.eye(2) * (i + 2.0)), x_of(i, 1.0)
        with interop.scipy():
            assert bits(g(a, b)) == bits(f(a, b))
            assert bits(h(a, b)) == bits(rows(a, b))
    assert g.counts["replayed"] == h.counts["replayed"] == 3
    with pytest.warns(TapeWarning):
        assert g(a, b)[1] is None
    with interop.scipy():
        assert g(a, b)[1] is not None
    assert g.counts["replayed"] == 4


def x_of(*values):
    return xp.asarray(np.array(values, dtype=float))


def test_other_storages_run_as_they_are():
    from arraytape.testing import storages

    device = storages.hostile().devices()[0]
    g = xp.function(lambda x: x * 2)
    for _ in range(3):
        x = xp.asarray(X, device=device)
        y = g(x)
        assert y.device == x.device
        assert y.to_device("cpu").tolist() == [6.0, 10.0]
    assert g.counts["eager"] == 3
    assert "storage" in next(iter(g.reasons))


def test_values_that_another_thread_computes_with():
    def f(x):
        found = []
        thread = threading.Thread(target=lambda: found.append(x * 3))
        thread.start()
        thread.join()
        return found[0] + 1

    g = xp.function(f, limit=3)
    with pytest.warns(TapeWarning, match="by a thread"):
        results = [g(xp.asarray([float(i)])).tolist() for i in range(4)]
    assert results == [[3.0 * i + 1] for i in range(4)]
    assert g.counts["replayed"] == 0


@pytest.mark.parametrize("dtype", [">f8", object])
def test_ndarrays_of_dtypes_that_no_array_can_have(dtype):
    data = np.array([1.0, 2.0]).astype(dtype)
    g = xp.function(lambda x: x * xp.asarray(data, dtype=xp.float64))
    assert g(xp.asarray(X)).tolist() == [X[0], X[1] * 2.0]
    with pytest.warns(TapeWarning, match="it reads an ndarray of dtype"):
        g(xp.asarray(X))
    data[0] = 7.0
    assert g(xp.asarray(X)).tolist() == [X[0] * 7.0, X[1] * 2.0]
    assert g.counts["replayed"] == 0


def written_or_not(x):
    try:
        x[0] = 5.0
    except ValueError:
        return x * 0.0 - 1.0
    return x * 2.0


def test_arguments_that_are_read_only_views():
    g = xp.function(written_or_not)
    for _ in range(4):
        assert g(xp.broadcast_to(xp.asarray([1.0]), (2,))).tolist() == [-1.0, -1.0]
    for _ in range(4):
        assert g(xp.asarray(X)).tolist() == [10.0, 10.0]
    assert g.counts == {"traced": 2, "replayed": 2, "eager": 4}
    whole = xp.asarray(X)
    assert g(xp.broadcast_to(whole, (2,))).tolist() == [-1.0, -1.0]  # in the layout of the program
    assert whole.tolist() == X
    assert g.counts["eager"] == 5


def test_programs_keep_no_object_alive():
    class Model:
        def __init__(self):
            self.w, self.me, self.parts = xp.asarray([1.0, 2.0]), self, [self]

        @xp.function
        def step(self, x):
            return x * self.w

    model = Model()
    for _ in range(4):
        model.step(xp.asarray(X))
    assert Model.step.counts["replayed"] == 2
    dead = weakref.ref(model)
    del model
    gc.collect()
    assert dead() is None
    assert not Model.step.entries
    assert Model.step.counts["replayed"] == 2


def test_an_object_that_holds_its_own_replayed_method():
    class Trainer:
        def __init__(self):
            self.rate = 2.0
            self.step = xp.function(self._step)

        def _step(self, x):
            return x * self.rate

    trainer = Trainer()
    for _ in range(4):
        assert trainer.step(xp.asarray([3.0])).tolist() == [6.0]
    assert trainer.step.counts["replayed"] == 2
    trainer.rate = 3.0
    assert trainer.step(xp.asarray([3.0])).tolist() == [9.0]
