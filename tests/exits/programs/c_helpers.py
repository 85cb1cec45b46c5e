"""General-purpose helpers: logging, tables, proxies, units, plumbing."""

import collections
import contextlib
import csv
import dataclasses
import functools
import heapq
import io
import json
import math
import operator
import time
import typing

import numpy as np

import arraytape as xp


# ---------------------------------------------------------------- metrics
class Metrics:
    def __init__(self):
        self.rows = collections.defaultdict(list)

    def log(self, **values):
        for name, value in values.items():
            self.rows[name].append(float(value))
        return self

    def last(self, name):
        return self.rows[name][-1]

    def mean(self, name):
        column = self.rows[name]
        return math.fsum(column) / len(column)

    def ema(self, name, decay=0.6):
        return functools.reduce(lambda a, b: decay * a + (1 - decay) * b, self.rows[name])

    def summary(self):
        return "; ".join(f"{k}={v[-1]:.4g} (n={len(v)})" for k, v in self.rows.items())


class Section(contextlib.AbstractContextManager):
    """Times a block and keeps a digest of what was reported in it."""

    history: typing.ClassVar[list] = []

    def __init__(self, name, metrics=None):
        self.name = name
        self.metrics = metrics if metrics is not None else Metrics()
        self.result = None

    def __enter__(self):
        self._start = time.perf_counter()
        return self

    def report(self, value):
        self.result = float(xp.sum(value)) if hasattr(value, "shape") else float(value)
        self.metrics.log(**{self.name: self.result})
        return value

    def __exit__(self, kind, error, trace):
        self.elapsed = time.perf_counter() - self._start
        return False


# ---------------------------------------------------------------- descriptors
class Positive:
    """A checked attribute: looks at the value, stores it as it is."""

    def __set_name__(self, owner, name):
        self.slot = "_" + name

    def __get__(self, obj, owner=None):
        return self if obj is None else getattr(obj, self.slot)

    def __set__(self, obj, value):
        if float(value) <= 0:
            raise ValueError(f"{self.slot[1:]} must be positive, got {float(value):.3f}")
        setattr(obj, self.slot, value)


class Real(Positive):
    """A typed attribute: coerces."""

    def __set__(self, obj, value):
        super().__set__(obj, value)
        setattr(obj, self.slot, float(value))


# ---------------------------------------------------------------- proxies
class Tracer:
    """Forwards attributes; remembers what methods returned."""

    def __init__(self, target, digest=float):
        self.__dict__.update(_target=target, _digest=digest, calls=[])

    def __getattr__(self, name):
        found = getattr(self._target, name)
        if not callable(found):
            return found

        @functools.wraps(found)
        def wrapper(*args, **kwargs):
            out = found(*args, **kwargs)
            self.calls.append((name, self._digest(out)))
            return out

        return wrapper


class Rpc:
    """Forwards calls through a wire format, as a remote service would."""

    def __init__(self, target):
        self._target = target

    def __getattr__(self, name):
        def call(*args):
            wire = json.dumps([_jsonable(a) for a in args])
            decoded = [np.asarray(a) if isinstance(a, list) else a for a in json.loads(wire)]
            return getattr(self._target, name)(*decoded)

        return call


def _jsonable(value):
    match value:
        case dict():
            return {k: _jsonable(v) for k, v in value.items()}
        case list() | tuple():
            return [_jsonable(v) for v in value]
        case _ if hasattr(value, "tolist"):
            return value.tolist()
        case _:
            return value


# ---------------------------------------------------------------- units
_FACTORS = {"m": 1.0, "km": 1000.0, "cm": 0.01, "s": 1.0, "min": 60.0}


@functools.total_ordering
class Quantity:
    def __init__(self, value, unit):
        self.value, self.unit = value, unit

    def to(self, unit):
        return Quantity(self.value * (_FACTORS[self.unit] / _FACTORS[unit]), unit)

    def __add__(self, other):
        return Quantity(self.value + other.to(self.unit).value, self.unit)

    def __mul__(self, k):
        return Quantity(self.value * k, self.unit)

    __rmul__ = __mul__

    def __eq__(self, other):
        return float(self.value) == float(other.to(self.unit).value)

    def __lt__(self, other):
        return float(self.value) < float(other.to(self.unit).value)

    def __hash__(self):
        return hash((round(float(self.value), 6), self.unit))

    def __float__(self):
        return float(self.value)

    def __repr__(self):
        return f"{float(self.value):.17g} {self.unit}"

    @classmethod
    def parse(cls, text):
        number, unit = text.split()
        return cls(float(number), unit)


# ---------------------------------------------------------------- plumbing
class Registry(dict):
    def register(self, name=None, **tags):
        def decorate(obj):
            obj.tags = tags
            self[name or obj.__name__] = obj
            return obj

        return decorate

    def build(self, name, /, *args, **kwargs):
        return self[name](*args, **kwargs)


class Memo:
    """Caches by value; `fn` gets what the caller gave, or the key."""

    def __init__(self, fn, by_key=False):
        self.fn, self.by_key, self.store, self.hits = fn, by_key, {}, 0

    def __call__(self, x):
        key = tuple(np.ravel(np.asarray(x)).tolist())
        if key in self.store:
            self.hits += 1
        else:
            self.store[key] = self.fn(np.array(key) if self.by_key else x)
        return self.store[key]


def _compose(*fns):
    return functools.reduce(lambda f, g: lambda v: g(f(v)), fns)


def _tap(look):
    def step(value):
        look(value)
        return value

    return step


def _batches(x, size, rng=None):
    order = np.arange(x.shape[0]) if rng is None else rng.permutation(x.shape[0])
    for start in range(0, len(order), size):
        yield start // size, [x[int(i)] for i in order[start : start + size]]


def _running_mean():
    total, n = 0.0, 0

    def push(v):
        nonlocal total, n
        total, n = total + v, n + 1
        return total / n

    return push


def _clip_norm(g, limit, exact=True):
    norm = xp.sqrt(xp.sum(g * g))
    if norm > limit:
        return g * (limit / (norm if exact else norm.item()))
    return g


class Peak(typing.NamedTuple):
    index: int
    height: typing.Any
    label: str


def _find_peak(x):
    i = int(np.argmax(np.asarray(x)))
    return Peak(i, x[i], f"#{i} at {float(x[i]):.3f}")


# ---------------------------------------------------------------- tables
class Table:
    """Columns of numbers with a CSV round trip."""

    def __init__(self, **columns):
        self.columns = columns

    def __getitem__(self, name):
        return self.columns[name]

    def to_csv(self):
        sink = io.StringIO()
        writer = csv.writer(sink)
        writer.writerow(self.columns)
        writer.writerows(zip(*(np.asarray(c).tolist() for c in self.columns.values()), strict=True))
        return sink.getvalue()

    @classmethod
    def from_csv(cls, text):
        rows = list(csv.DictReader(io.StringIO(text)))
        return cls(**{k: np.asarray([float(r[k]) for r in rows]) for k in rows[0]})

    def describe(self):
        return {
            k: {"min": float(xp.min(c)), "max": float(xp.max(c)), "mean": float(xp.mean(c))}
            for k, c in self.columns.items()
        }


# ---------------------------------------------------------------- events
@dataclasses.dataclass(order=True)
class Event:
    time: float
    seq: int
    payload: typing.Any = dataclasses.field(compare=False)


class EventLoop:
    def __init__(self):
        self.queue, self.seq, self.now, self.trace = [], 0, 0.0, []

    def at(self, when, payload):
        heapq.heappush(self.queue, Event(float(when), self.seq, payload))
        self.seq += 1

    def run(self, handler, horizon=math.inf):
        while self.queue:
            if (event := heapq.heappop(self.queue)).time > horizon:
                break
            self.now = event.time
            self.trace.append((event.time, event.seq))
            handler(self, event)
        else:
            self.trace.append(("drained", self.seq))
        return self


_EXTRACTORS = {
    "float": float,
    "item": operator.methodcaller("item"),
    "listed": lambda v: v.tolist(),
    "viewed": np.asarray,
    "text": lambda v: float(f"{float(v):.17g}"),
}
