"""What the programs of b_harmful and b_harmless share: logs, registries, tables, small numerics."""

import abc
import dataclasses
import io
import json
import logging
import math
import time

import numpy as np

import arraytape as xp

GAS_CONSTANT = 8.31446
BOLTZMANN = 0.0861733
GRAVITY = np.array([0.0, -9.81])
STEFAN = 5.67e-2


# ---------------------------------------------------------------- logs and histories
class ListHandler(logging.Handler):
    def __init__(self):
        super().__init__()
        self.lines = []

    def emit(self, record):
        self.lines.append(self.format(record))


def get_logger(name, level=logging.DEBUG):
    logger = logging.Logger("stranger." + name, level)
    logger.addHandler(ListHandler())
    return logger


class History:
    def __init__(self):
        self.data = {}

    def record(self, **values):
        for k, v in values.items():
            self.data.setdefault(k, []).append(v)

    def last(self, key, default=None):
        return self.data.get(key, [default])[-1]

    def mean(self, key):
        v = self.data[key]
        return sum(v) / len(v)


class EarlyStopping:
    def __init__(self, patience=2, min_delta=1e-4):
        self.patience, self.min_delta = patience, min_delta
        self.best, self.bad = math.inf, 0

    def should_stop(self, value):
        value = float(value)
        if value < self.best - self.min_delta:
            self.best, self.bad = value, 0
        else:
            self.bad += 1
        return self.bad >= self.patience


class RunningMoments:
    """Welford, in Python floats."""

    def __init__(self):
        self.n, self.mean, self.m2 = 0, 0.0, 0.0

    def push(self, v):
        v = float(v)
        self.n += 1
        d = v - self.mean
        self.mean += d / self.n
        self.m2 += d * (v - self.mean)
        return self

    @property
    def std(self):
        return math.sqrt(self.m2 / max(self.n - 1, 1))


class Ema:
    def __init__(self, decay=0.9, value=None):
        self.decay, self.value = decay, value

    def update(self, v):
        v = v.item() if hasattr(v, "item") else v
        self.value = v if self.value is None else self.decay * self.value + (1 - self.decay) * v
        return self.value


class Timer:
    def __init__(self):
        self.laps = {}

    def __call__(self, name):
        self.name = name
        return self

    def __enter__(self):
        self.t0 = time.perf_counter()
        return self

    def __exit__(self, *exc):
        self.laps[self.name] = time.perf_counter() - self.t0


class EventBus:
    def __init__(self):
        self.handlers = {}

    def on(self, name):
        def add(f):
            self.handlers.setdefault(name, []).append(f)
            return f

        return add

    def emit(self, name, *args, **kw):
        return [f(*args, **kw) for f in self.handlers.get(name, [])]


class Registry(dict):
    def register(self, name):
        def add(f):
            self[name] = f
            return f

        return add


# ---------------------------------------------------------------- host side
def to_host(x):
    return np.asarray(x, dtype=np.float64)


def to_floats(seq):
    return [float(v) for v in seq]


def json_roundtrip(obj):
    def default(o):
        return o.tolist() if hasattr(o, "tolist") else str(o)

    return json.loads(json.dumps(obj, default=default))


def npy_roundtrip(a):
    f = io.BytesIO()
    np.save(f, np.asarray(a))
    f.seek(0)
    return np.load(f)


def fingerprint(x):
    return hash(np.asarray(x).tobytes()) & 0xFFFF


def format_table(header, rows):
    out = io.StringIO()
    print(" | ".join(header), file=out)
    for r in rows:
        print(" | ".join(f"{v:10.4f}" if isinstance(v, float) else str(v) for v in r), file=out)
    return out.getvalue()


def assert_finite(name, x):
    a = np.asarray(x)
    if not np.isfinite(a).all():
        raise FloatingPointError(f"{name} is not finite: {a!r}")
    return x


def assert_range(x, lo, hi):
    for i, v in enumerate(np.asarray(x).ravel().tolist()):
        if not lo <= v <= hi:
            raise ValueError(f"entry {i} = {v} outside [{lo}, {hi}]")
    return x


# ---------------------------------------------------------------- numerics
def rk4(f, y, t, dt):
    k1 = f(t, y)
    k2 = f(t + dt / 2, y + dt / 2 * k1)
    k3 = f(t + dt / 2, y + dt / 2 * k2)
    k4 = f(t + dt, y + dt * k3)
    return y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def bisect_plain(f, a, b, tol=1e-12):
    fa = f(a)
    while b - a > tol:
        m = 0.5 * (a + b)
        fm = f(m)
        if (fm > 0) == (fa > 0):
            a, fa = m, fm
        else:
            b = m
    return 0.5 * (a + b)


def table_lookup(grid, values, at):
    """Linear interpolation, plain floats."""
    at = float(at)
    j = min(max(int(np.searchsorted(grid, at)) - 1, 0), len(grid) - 2)
    w = (at - grid[j]) / (grid[j + 1] - grid[j])
    return (1 - w) * values[j] + w * values[j + 1]


def band(value, edges, names):
    """Which band a value falls into: a name, nothing of the value itself."""
    v = float(value)
    for e, n in zip(edges, names):
        if v < e:
            return n
    return names[-1]


def rodrigues(angle):
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s], [s, c]])


def rotation(angle):
    c, s = xp.cos(angle), xp.sin(angle)
    return xp.stack([xp.stack([c, -s]), xp.stack([s, c])])


# ---------------------------------------------------------------- frameworks
@dataclasses.dataclass
class TrainConfig:
    lr: float = 0.05
    epochs: int = 4
    weight_decay: float = 0.01
    log_every: int = 1
    betas: tuple = (0.9, 0.99)
    clip: float = 10.0


class Callback:
    def on_begin(self, trainer):
        pass

    def on_step(self, trainer, step, loss):
        pass

    def on_end(self, trainer):
        pass


class Trainer:
    """Full-batch descent on a linear model with a hand-written gradient; the weights are part of the recorded path."""

    def __init__(self, X, y, config=None, callbacks=()):
        self.X, self.y = X, y
        self.cfg = config or TrainConfig()
        self.callbacks = list(callbacks)
        self.temperature = 1.0
        self.stop = False

    def loss(self, w):
        r = self.X @ w - self.y
        return xp.mean(r * r) * self.temperature + self.cfg.weight_decay * xp.sum(w * w)

    def fit(self, w):
        n = self.y.shape[0]
        for c in self.callbacks:
            c.on_begin(self)
        for step in range(self.cfg.epochs):
            r = self.X @ w - self.y
            g = 2.0 * self.temperature / n * (self.X.T @ r) + 2 * self.cfg.weight_decay * w
            w = w - self.cfg.lr * g
            self.w = w
            loss = self.loss(w)
            for c in self.callbacks:
                c.on_step(self, step, loss)
            if self.stop:
                break
        for c in self.callbacks:
            c.on_end(self)
        return w


class Transformer(abc.ABC):
    def fit_transform(self, x):
        return self.fit(x).transform(x)

    @abc.abstractmethod
    def fit(self, x): ...

    @abc.abstractmethod
    def transform(self, x): ...


class Pipeline:
    def __init__(self, *steps, hooks=()):
        self.steps, self.hooks = steps, list(hooks)

    def __call__(self, x):
        for s in self.steps:
            x = s.fit_transform(x) if isinstance(s, Transformer) else s(x)
            for h in self.hooks:
                h(type(s).__name__, x)
        return x


class Instrument(abc.ABC):
    def __init__(self, strike=1.0, maturity=1.0):
        self.strike, self.maturity = strike, maturity

    @abc.abstractmethod
    def payoff(self, s): ...

    def describe(self):
        return f"{type(self).__name__}(K={self.strike}, T={self.maturity})"


class Call(Instrument):
    def payoff(self, s):
        return xp.maximum(s - self.strike, xp.asarray(0.0))


class Put(Instrument):
    def payoff(self, s):
        return xp.maximum(self.strike - s, xp.asarray(0.0))


class Straddle(Instrument):
    def payoff(self, s):
        return xp.abs(s - self.strike)


LIFE_TABLE = np.array([0.0012, 0.0015, 0.0021, 0.0034, 0.0056, 0.0093])
DESIGN = np.array([[1.0, 0.2, -0.4, 0.3], [1.0, 1.1, 0.5, -0.2], [1.0, -0.7, 0.9, 0.8], [1.0, 0.4, -1.2, 0.1],
                   [1.0, 1.9, 0.3, -0.6], [1.0, -1.3, -0.5, 1.4]])
RESPONSE = np.array([0.3, 1.4, 0.2, -0.5, 1.7, 0.6])


def normals(n, seed=0):
    return np.random.default_rng(seed).normal(size=n)
