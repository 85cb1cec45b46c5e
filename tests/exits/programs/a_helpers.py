"""Odds and ends shared by the analysis scripts."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import io
import math
import time

import numpy as np

import arraytape as xp

GRAVITY = 9.80665
BOLTZMANN = 8.617333262e-5


def to_float(value):
    """Whatever it is, make it a float."""
    return float(value)


def as_numpy(value):
    return np.array(value, dtype=float)


def celsius(kelvin):
    return kelvin - 273.15


class RunningStats:
    """Welford's method, plain Python."""

    def __init__(self):
        self.n = 0
        self.mean = 0.0
        self._m2 = 0.0

    def push(self, value):
        value = float(value)
        self.n += 1
        delta = value - self.mean
        self.mean += delta / self.n
        self._m2 += delta * (value - self.mean)

    @property
    def variance(self):
        return self._m2 / (self.n - 1) if self.n > 1 else 0.0

    def __str__(self):
        return f"{self.mean:.4f} +- {math.sqrt(self.variance):.4f} (n={self.n})"


@dataclasses.dataclass
class History:
    records: list = dataclasses.field(default_factory=list)

    def log(self, **kw):
        self.records.append({k: (v if isinstance(v, (int, str)) else float(v)) for k, v in kw.items()})

    def column(self, name):
        return [r[name] for r in self.records if name in r]

    def last(self, name):
        return self.column(name)[-1]

    def table(self):
        if not self.records:
            return ""
        keys = list(self.records[0])
        lines = ["\t".join(keys)]
        for r in self.records:
            lines.append("\t".join(f"{r[k]:.5g}" if isinstance(r[k], float) else str(r[k]) for k in keys))
        return "\n".join(lines)


class EventBus:
    def __init__(self):
        self._subscribers = collections.defaultdict(list)

    def on(self, topic):
        def register(fn):
            self._subscribers[topic].append(fn)
            return fn

        return register

    def emit(self, topic, *args, **kw):
        return [fn(*args, **kw) for fn in self._subscribers[topic]]


class Sink(io.StringIO):
    """A terminal that nobody sees."""

    def isatty(self):
        return False


@contextlib.contextmanager
def stopwatch(label, sink=None):
    start = time.perf_counter()
    yield
    print(f"{label}: {time.perf_counter() - start:.3f}s", file=sink or io.StringIO())


class PlateauScheduler:
    """Cuts the rate when the monitored number stops getting better."""

    def __init__(self, rate, factor=0.5, patience=2, threshold=1e-3):
        self.rate, self.factor, self.patience, self.threshold = rate, factor, patience, threshold
        self.best = math.inf
        self.bad = 0

    def step(self, metric):
        metric = float(metric)
        if metric < self.best - self.threshold:
            self.best, self.bad = metric, 0
        else:
            self.bad += 1
        if self.bad > self.patience:
            self.rate *= self.factor
            self.bad = 0
        return self.rate


def design(n, degree):
    t = np.linspace(-1.0, 1.0, n)
    return np.vander(t, degree + 1, increasing=True)


def toy_data(n=20, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    y = X @ np.array([0.5, -1.0, 2.0, 0.25]) + 0.1 * rng.normal(size=n)
    return X, y


def softplus(v):
    return xp.log1p(xp.exp(v))


class BatchNormStats:
    """Running moments, as frameworks keep them: buffers, no parameters."""

    def __init__(self, width, momentum=0.3):
        self.momentum = momentum
        self.mean = np.zeros(width)
        self.var = np.ones(width)

    def update(self, batch):
        batch = np.asarray(batch)
        self.mean += self.momentum * (batch.mean(axis=0) - self.mean)
        self.var += self.momentum * (batch.var(axis=0) - self.var)
