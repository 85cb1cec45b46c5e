"""Programs in which a part of the gradient is lost, in everyday ways to hold a number."""

import abc
import argparse
import asyncio
import base64
import bisect
import cmath
import collections
import collections.abc
import concurrent.futures
import copy
import dataclasses
import datetime
import enum
import fractions
import functools
import inspect
import io
import itertools
import json
import math
import operator
import pickle
import queue
import re
import shelve
import statistics
import struct
import tempfile
import threading
import types
import urllib.parse
import weakref
import xml.etree.ElementTree
import zlib

import numpy as np
import scipy.interpolate
import scipy.linalg
import scipy.optimize
import scipy.special
import scipy.stats

import arraytape as xp


class Welford:
    def __init__(self):
        self.count, self.mean, self.spread = 0, 0.0, 0.0

    def push(self, v):
        self.count += 1
        delta = v - self.mean
        self.mean += delta / self.count
        self.spread += delta * (v - self.mean)


def normalised_by_a_running_mean(x):
    stats = Welford()
    for i in range(4):
        stats.push(float(x[i]))
    return xp.sum((x - stats.mean) ** 2) / (stats.spread + 1.0)


def rate_with_a_fixed_factor(x):
    def rate(factor, energy, temperature):
        return factor * xp.exp(-energy / temperature)

    at = functools.partial(rate, float(x[0]))
    return at(x[1], x[2])


def memoised(f):
    store = {}

    @functools.wraps(f)
    def call(*args):
        key = tuple(round(a, 9) for a in args)
        if key not in store:
            store[key] = f(*args)
        return store[key]

    return call


@memoised
def drag(v):
    return 0.5 * v * v


def drag_from_a_memo(x):
    return xp.sum(x) * drag(float(x[1]))


class Bus:
    def __init__(self):
        self.handlers = collections.defaultdict(list)

    def on(self, topic):
        def register(handler):
            self.handlers[topic].append(handler)
            return handler

        return register

    def publish(self, topic, **payload):
        for handler in self.handlers[topic]:
            handler(**payload)


def event_bus(x):
    bus, state = Bus(), types.SimpleNamespace(size=1.0)

    @bus.on("tick")
    def resize(amount):
        state.size = state.size + amount

    bus.publish("tick", amount=x[0].item())
    return xp.sum(x**2) * state.size


class Thermostat:
    def __init__(self):
        self._target = 20.0

    @property
    def target(self):
        return self._target

    @target.setter
    def target(self, value):
        if value < -273:
            raise ValueError(value)
        self._target = value


def property_with_a_setter(x):
    t = Thermostat()
    t.target = float(xp.max(x))
    return xp.sum((x - t.target) ** 2)


@dataclasses.dataclass
class Box:
    width: float
    height: float
    size: float = dataclasses.field(init=False)

    def __post_init__(self):
        self.size = self.width * self.height


def derived_field(x):
    return xp.sum(x) * Box(float(x[0]), float(x[1])).size


def noise_around_a_value(x):
    rng = np.random.default_rng(3)
    return xp.sum(x * rng.normal(loc=float(x[2]), scale=0.1, size=4))


def root_of_an_equation(x):
    root = scipy.optimize.brentq(lambda t: t**3 - float(x[0]), 0.0, 10.0)
    return root * xp.sum(x)


def line_fitted_by_numpy(x):
    slope, offset = np.polyfit(np.arange(4.0), np.asarray(x), 1)
    return xp.sum(slope * x**2 + offset)


def solved_by_numpy(x):
    a = np.diag(np.asarray(x)) + 0.1
    return xp.sum(x * np.linalg.solve(a, np.ones(4)))


def spline_through_values(x):
    spline = scipy.interpolate.CubicSpline(np.arange(4), np.asarray(x))
    return xp.sum(x * spline([0.5, 1.5, 2.5, 2.8]))


def mapped_by_a_pool(x):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        squares = list(pool.map(lambda v: v * v, x.tolist()))
    return xp.sum(x * np.array(squares))


def gathered_coroutines(x):
    async def fetch(v):
        await asyncio.sleep(0)
        return 2.0 * v

    async def main():
        return await asyncio.gather(*[fetch(v) for v in x.tolist()])

    return xp.sum(x * np.asarray(asyncio.run(main())))


class Machine:
    OPS = {"+": operator.add, "*": operator.mul, "dup": None}

    def __init__(self):
        self.stack = []

    def run(self, program, **memory):
        for word in program.split():
            if word in memory:
                self.stack.append(memory[word])
            elif word == "dup":
                self.stack.append(self.stack[-1])
            elif word in self.OPS:
                b, a = self.stack.pop(), self.stack.pop()
                self.stack.append(self.OPS[word](a, b))
            else:
                self.stack.append(float(word))
        return self.stack.pop()


def stack_machine(x):
    w = Machine().run("a dup * 3 +", a=float(x[0]))
    return w * xp.sum(x)


def compiled_expression(x):
    code = compile("a * 2 + 1", "<formula>", "eval")
    return xp.sum(x) * eval(code, {"a": float(x[3])})


def rows_transposed_by_zip(x):
    rows = [[1.0, v] for v in x.tolist()]
    ones, values = zip(*rows)
    return xp.sum(x * np.array(values)) + sum(ones)


def fixed_point_in_floats(x):
    v = target = float(x[0])
    for _ in range(20):
        v = 0.5 * (v + target / v)
    return v * xp.sum(x**2)


def enum_made_of_values(x):
    Level = enum.Enum("Level", {"low": float(x[0]), "high": float(x[1])})
    return xp.sum(x) * Level.high.value


class Base(abc.ABC):
    def __init__(self, size):
        self.size = size

    @abc.abstractmethod
    def area(self): ...


class Square(Base):
    def __init__(self, side):
        super().__init__(size=side)

    def area(self):
        return self.size**2


def inherited_field(x):
    return xp.sum(x) * Square(float(x[0])).area()


def teed_iterators(x):
    a, b = itertools.tee(iter(x.tolist()))
    next(b)
    steps = [q - p for p, q in zip(a, b)]
    return xp.sum(x[1:] * np.array(steps))


def grouped_values(x):
    groups = {k: sum(v) for k, v in itertools.groupby(x.tolist(), key=lambda v: v > 1.0)}
    return xp.sum(x) * groups[True]


def most_common(x):
    votes = collections.Counter({"a": float(x[0]), "b": float(x[1])})
    return xp.sum(x) * votes.most_common(1)[0][1]


def normal_distribution(x):
    return xp.sum(x) * statistics.NormalDist(float(x[0]), 1.0).cdf(1.5)


class Recorder:
    def __enter__(self):
        self.values = []
        return self

    def __exit__(self, *error):
        self.total = math.fsum(self.values)


def total_at_exit(x):
    with Recorder() as r:
        for v in x:
            r.values.append(float(v))
    return xp.sum(x) * r.total


class Node:
    def __init__(self, value):
        self.value = value


def weak_reference(x):
    node = Node(float(x[0]))
    ref = weakref.ref(node)
    return xp.sum(x) * ref().value


def file_and_back(x):
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + "/a.json", "w") as f:
            json.dump({"scale": float(x[0])}, f)
        with open(folder + "/a.json") as f:
            scale = json.load(f)["scale"]
    return xp.sum(x) * scale


def saved_by_numpy(x):
    f = io.BytesIO()
    np.save(f, np.asarray(x))
    f.seek(0)
    return xp.sum(x * np.load(f))


def from_an_iterator(x):
    return xp.sum(x * np.fromiter((float(v) ** 2 for v in x), float))


def along_an_axis(x):
    m = np.asarray(x).reshape(2, 2)
    return xp.sum(x[:2] * np.apply_along_axis(np.sum, 0, m))


def universal_function(x):
    f = np.frompyfunc(lambda v: v + 1.0, 1, 1)
    return xp.sum(x * f(np.asarray(x)).astype(float))


def masked(x):
    m = np.ma.array(np.asarray(x), mask=[0, 1, 0, 0])
    return xp.sum(x) * float(m.mean())


def bound_later(x):
    node = Node(1.0)
    v = float(x[0])
    node.scale = types.MethodType(lambda self: self.value * v, node)
    return xp.sum(x) * node.scale()


def mutable_default(x, cache={}):
    cache["last"] = float(x[0])
    return xp.sum(x) * cache["last"]


def subclass_hook(x):
    class Plugin:
        def __init_subclass__(cls, rate):
            cls.rate = rate

    class Mine(Plugin, rate=float(x[0])):
        pass

    return xp.sum(x) * Mine.rate


def from_keys(x):
    weights = dict.fromkeys(["a", "b"], float(x[0]))
    return weights["a"] * x[0] + weights["b"] * x[1]


def smallest_by_key(x):
    boxes = [Box(float(v), 2.0) for v in x]
    return xp.sum(x) * min(boxes, key=lambda box: box.size).size


def nested_targets(x):
    (a, (b, *c)) = (1.0, tuple(x.tolist()))
    return xp.sum(x) * (a + c[1])


def polar_form(x):
    r, phi = cmath.polar(complex(float(x[0]), float(x[1])))
    return r * xp.sum(x) + phi


def ring_buffer(x):
    ring = [0.0] * 3
    for i, v in enumerate(x.tolist()):
        ring[i % 3] = v
    return xp.sum(x) * sum(ring)


def vectorised_method(x):
    class Gain:
        def __init__(self, g):
            self.g = g

        def apply(self, v):
            return self.g * v

    gain = Gain(float(x[0]))
    return xp.sum(x * np.vectorize(gain.apply)(np.arange(1.0, 5.0)))


def read_from_markup(x):
    svg = f'<circle r="{float(x[0])!r}" cx="0"/>'
    r = float(re.search(r'r="([^"]+)"', svg)[1])
    return r * xp.sum(x)


def element_tree(x):
    node = xml.etree.ElementTree.Element("a", size=repr(float(x[0])))
    return float(node.get("size")) * xp.sum(x)


def timedelta(x):
    step = datetime.timedelta(seconds=float(x[0]))
    return step.total_seconds() * xp.sum(x)


def limited_fraction(x):
    q = fractions.Fraction(float(x[0])).limit_denominator(10**9)
    return xp.sum(x) * (q.numerator / q.denominator)


def command_line(x):
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=float)
    options = parser.parse_args(["--rate", str(float(x[0]))])
    return options.rate * xp.sum(x)


def query_string(x):
    text = urllib.parse.urlencode({"a": float(x[0])})
    return float(urllib.parse.parse_qs(text)["a"][0]) * xp.sum(x)


def compressed(x):
    packed = zlib.compress(struct.pack("4d", *x.tolist()))
    return xp.sum(x * np.array(struct.unpack("4d", zlib.decompress(packed))))


def base_64(x):
    text = base64.b64encode(np.asarray(x).tobytes())
    return xp.sum(x * np.frombuffer(base64.b64decode(text)))


def worker_with_queues(x):
    todo, done = queue.Queue(), queue.Queue()

    def work():
        while (v := todo.get()) is not None:
            done.put(v * 3.0)

    thread = threading.Thread(target=work)
    thread.start()
    for v in x.tolist():
        todo.put(v)
    todo.put(None)
    thread.join()
    return xp.sum(x * np.array([done.get() for _ in range(4)]))


class Vec:
    def __init__(self, *parts):
        self.parts = parts

    def __iter__(self):
        return iter(self.parts)

    def __array__(self, dtype=None, copy=None):
        return np.array(self.parts, dtype)


def unpacked_object(x):
    a, b = Vec(float(x[0]), float(x[1]))
    return a * x[2] + b * x[3]


def object_as_an_array(x):
    return xp.sum(x * np.asarray(Vec(*x.tolist())))


class Settings(collections.abc.Mapping):
    def __init__(self, **given):
        self._given = given

    def __getitem__(self, key):
        return self._given[key]

    def __iter__(self):
        return iter(self._given)

    def __len__(self):
        return len(self._given)


def abstract_mapping(x):
    s = Settings(shape=float(x[0]))
    return s.get("shape", 1.0) * xp.sum(x)


def mapping_as_keywords(x):
    def scaled(shape):
        return shape * xp.sum(x)

    return scaled(**Settings(shape=float(x[0])))


class Money(float):
    def __new__(cls, amount, currency="EUR"):
        self = super().__new__(cls, amount)
        self.currency = currency
        return self


def subclass_of_float(x):
    return xp.sum(x) * Money(float(x[0]))


def pickled_object(x):
    node = pickle.loads(pickle.dumps(Node(float(x[0]))))
    return node.value * xp.sum(x)


def custom_copy(x):
    class Cell:
        def __init__(self, count):
            self.count = count

        def __copy__(self):
            return Cell(self.count * 2.0)

    return copy.copy(Cell(float(x[0]))).count * xp.sum(x)


def signature_default(x):
    def f(a=float(x[0])):
        return a

    return inspect.signature(f).parameters["a"].default * xp.sum(x)


def polynomial_object(x):
    p = np.polynomial.Polynomial(x.tolist())
    return xp.sum(x) * p(0.5)


def sorted_by_attribute(x):
    nodes = sorted((Node(float(v)) for v in x), key=operator.attrgetter("value"), reverse=True)
    return nodes[0].value * xp.sum(x)


def partial_method(x):
    class Tool:
        def scale(self, by, v):
            return by * v

        triple = functools.partialmethod(scale, 3.0)

    return Tool().triple(float(x[0])) * xp.sum(x)


def inserted_in_order(x):
    found = []
    for v in x.tolist():
        bisect.insort(found, v)
    return xp.sum(x * np.array(found))


def fresh_class(x):
    Config = dataclasses.make_dataclass("Config", [("ndim", float)])
    return Config(float(x[0])).ndim * xp.sum(x)


def stacked_constants(x):
    m = np.vstack([np.r_[np.asarray(x)[:2], 1.0, 2.0], np.ones(4)])
    return xp.sum(xp.asarray(m) @ x)


def written_rows(x):
    m = np.zeros((2, 4))
    for row in m:
        row[:] = np.asarray(x)
    return xp.sum(xp.asarray(m) @ x)


def einsum_of_values(x):
    v = np.asarray(x)
    return xp.sum(np.einsum("i,j->ij", v, v) @ x)


def norm_of_values(x):
    return x / np.linalg.norm(np.asarray(x)) @ np.arange(4.0)


def clipped_by_a_value(x):
    limit = 0.8 * float(xp.max(x))
    return xp.sum(xp.clip(x, -limit, limit) ** 2)


def power_of_a_value(x):
    p = float(x[0])
    return xp.sum(x**p)


def threshold_from_percentile(x):
    q = np.percentile(np.asarray(x), 40)
    return xp.sum(xp.maximum(x - q, 0.0))


def softmax_with_numpy_max(x):
    w = np.exp(np.asarray(x) - np.max(np.asarray(x)))
    return xp.sum(x * (w / w.sum()))


def state_in_a_tuple(x):
    state = (0.0, 1.0)
    for v in x:
        state = (state[0] + float(v), state[1] * 0.9)
    return state[0] * xp.sum(x)


def written_into_an_array(x):
    y = x * 1.0
    y[1] = float(x[0]) ** 2
    return xp.sum(y)


def full_of_a_value(x):
    return xp.sum(x * xp.full(4, float(x[0])))


def lin_space(x):
    return xp.sum(x * xp.linspace(0.0, float(x[0]), 4))


def quantile_object(x):
    return scipy.stats.norm(loc=float(x[0])).ppf(0.7) * xp.sum(x)


def decay_schedule(x):
    class Schedule:
        def __init__(self, start):
            self.start, self.step = start, 0

        def __call__(self):
            self.step += 1
            return self.start * 0.9**self.step

    rate = Schedule(float(x[0]))
    return xp.sum(x * rate()) + rate() * xp.sum(x**2)


def best_so_far(x):
    best = -math.inf
    for v in x:
        if float(v) > best:
            best = float(v)
    return xp.sum(x) / best


def chained_calls(x):
    class Query:
        def __init__(self, values):
            self._values = values

        def map(self, f):
            return Query([f(v) for v in self._values])

        def sum(self):
            return sum(self._values)

    return Query(x.tolist()).map(lambda v: v * v).sum() * xp.sum(x)


def type_of_self(x):
    class Counter:
        total = 0.0

        def add(self, v):
            type(self).total += v
            return self

    return Counter().add(float(x[0])).total * xp.sum(x)


def attribute_by_loop(x):
    class P:
        pass

    p = P()
    for name, v in zip(["real", "imag"], x.tolist()):
        setattr(p, name, v)
    return (p.real + p.imag) * xp.sum(x)


def shelf(x):
    with tempfile.TemporaryDirectory() as folder, shelve.open(folder + "/s") as s:
        s["v"] = float(x[0])
        v = s["v"]
    return v * xp.sum(x)
