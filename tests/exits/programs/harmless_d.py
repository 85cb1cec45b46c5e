"""Programs whose gradient is whole, although values leave: to be printed, compared, stored, counted."""

import bisect
import collections
import csv
import dataclasses
import enum
import functools
import hashlib
import heapq
import io
import itertools
import json
import logging
import math
import pickle
import queue
import random
import sqlite3
import statistics
import tempfile
import threading
import time
import types
import typing
import warnings

import numpy as np
import scipy.stats

import arraytape as xp

LOG = logging.getLogger("quiet.d")
RATES = {"slow": 0.1, "fast": 0.7}


class Model:
    def __init__(self, size=3, scale=1.5):
        self.size, self.scale = size, scale
        self.history = []
        self.calls = 0

    def __call__(self, x):
        self.calls += 1
        y = xp.sum(xp.tanh(x * self.scale))
        self.history.append(float(y))
        return y


def model_with_a_history(x):
    m = Model()
    total = m(x) + m(2.0 * x)
    assert len(m.history) == m.calls == 2
    return total * m.scale


def gradient_descent_with_printing(x):
    w, lr = x, 0.1
    for step in range(4):
        loss = xp.sum((w - 1.0) ** 2)
        print(f"step {step}: {float(loss):.4f}")
        w = w - lr * 2.0 * (w - 1.0)
    return xp.sum(w**2)


def early_stopping(x):
    best, patience, w = math.inf, 2, x
    for _ in range(10):
        w = 0.5 * (w + 2.0 / w)
        loss = float(xp.sum((w * w - 2.0) ** 2))
        if loss < best - 1e-6:
            best, patience = loss, 2
        else:
            patience -= 1
        if patience == 0:
            break
    return xp.sum(w)


def newton_until_converged(x):
    y = x
    while float(xp.max(xp.abs(y * y - x))) > 1e-12:
        y = 0.5 * (y + x / y)
    return xp.sum(y)


def branch_on_the_norm(x):
    norm = float(xp.sqrt(xp.sum(x * x)))
    return xp.sum(x) if norm < 1.0 else xp.sum(xp.log(x)) * 3.0


def largest_by_index(x):
    k = int(np.argmax(np.asarray(x)))
    return x[k] ** 2 * 0.7


def order_of_values(x):
    order = np.argsort(np.asarray(x))
    weights = np.array([0.1, 0.2, 0.3, 0.4])
    return xp.sum(x[order] * weights)


def sorted_indices_in_python(x):
    order = sorted(range(4), key=lambda i: float(x[i]))
    return sum(x[i] * (k + 1.0) for k, i in enumerate(order))


@dataclasses.dataclass
class Report:
    title: str
    scale: float = 2.5
    losses: list = dataclasses.field(default_factory=list)
    best: float = math.inf

    def add(self, loss):
        self.losses.append(loss)
        self.best = min(self.best, loss)

    def text(self):
        return f"{self.title}: best {self.best:.3f} of {len(self.losses)}"


def report_with_a_scale(x):
    r = Report("fit")
    y = xp.sum(x * r.scale)
    r.add(float(y))
    print(r.text())
    return y * r.scale


def checkpoint_in_json(x):
    config = {"rate": 0.3, "name": "a"}
    y = xp.sum(xp.exp(x) * config["rate"])
    text = json.dumps({**config, "loss": float(y)})
    assert "loss" in text
    return y * config["rate"]


def checkpoint_in_a_file(x):
    y = xp.sum(x**3)
    with tempfile.TemporaryFile("w") as f:
        json.dump({"loss": float(y), "x": x.tolist()}, f)
    return y * 0.5


def logged(x):
    for i in range(3):
        LOG.debug("value %d: %s", i, float(x[i]))
    return xp.sum(x * np.linspace(0.0, 1.0, 4))


def assertions(x):
    assert float(xp.min(x)) > 0.0, "must be positive"
    if not np.all(np.isfinite(np.asarray(x))):
        raise ValueError("not finite")
    return xp.sum(xp.log(x))


def moving_statistics(x):
    window = collections.deque(maxlen=3)
    total = 0.0 * x[0]
    for i in range(4):
        window.append(x[i].item())
        total = total + x[i] * RATES["slow"]
    print(statistics.fmean(window))
    return total


def histogram_printed(x):
    counts, edges = np.histogram(np.asarray(x), bins=3)
    for c, e in zip(counts, edges):
        print(f"{e:.2f} {'#' * int(c)}")
    return xp.sum(x) * 2.0


def timing(x):
    start = time.perf_counter()
    y = xp.sum(x * x)
    print(f"{float(y):.2f} after {time.perf_counter() - start:.1f}s")
    return y


class Meter:
    def __init__(self):
        self.total = self.count = 0

    def update(self, value, n=1):
        self.total += value * n
        self.count += n

    @property
    def mean(self):
        return self.total / max(self.count, 1)


def metered(x):
    meter, y = Meter(), 0.0 * x[0]
    for v in x:
        y = y + xp.sin(v) * 0.3
        meter.update(float(v))
    assert meter.mean > 0
    return y


def callbacks(x):
    seen = []

    def on_step(k, value):
        seen.append((k, value))

    def fit(w, callback, rate=0.05):
        for k in range(3):
            w = w - rate * xp.cos(w)
            callback(k, float(xp.sum(w)))
        return w

    return xp.sum(fit(x, on_step))


def sign_of_a_value(x):
    s = 1.0 if float(x[0] - x[1]) > 0 else -1.0
    return s * xp.sum(x)


def which_phase(x):
    class Phase(enum.Enum):
        COLD = 0.5
        HOT = 2.0

    phase = Phase.HOT if float(x[0]) > 1.0 else Phase.COLD
    return phase.value * xp.sum(x**2)


def table_of_coefficients(x):
    table = [(0.0, 1.0), (1.0, 3.0), (2.0, 5.0)]
    k = bisect.bisect([a for a, _ in table], float(x[2])) - 1
    return table[k][1] * xp.sum(x)


def bucketed(x):
    edges, gains = np.array([0.5, 1.0, 1.5]), np.array([1.0, 2.0, 3.0, 4.0])
    return xp.sum(x * gains[np.digitize(np.asarray(x), edges)])


def masks_from_numpy(x):
    mask = np.asarray(x) > 1.0
    return xp.sum(xp.where(xp.asarray(mask), x * 2.0, x))


def counted(x):
    n = sum(1 for v in x if float(v) > 1.0)
    return xp.sum(x) * n


def formatted_table(x):
    rows = [("i", "x")] + [(str(i), f"{float(v):.3f}") for i, v in enumerate(x)]
    width = max(len(cell) for row in rows for cell in row)
    text = "\n".join("  ".join(cell.rjust(width) for cell in row) for row in rows)
    print(text)
    return xp.sum(x * 1.25)


def csv_log(x):
    out = io.StringIO()
    writer = csv.writer(out)
    y = xp.sum(x)
    writer.writerow(["loss", float(y)])
    return y * 4.0


def random_numbers_of_a_fixed_seed(x):
    rng = np.random.default_rng(7)
    print(float(x[0]))
    return xp.sum(x * rng.normal(size=4))


def random_search_accepts(x):
    rng = random.Random(1)
    y = x
    for _ in range(5):
        z = y * (1.0 + 0.1 * rng.random())
        if float(xp.sum(xp.cos(z))) < float(xp.sum(xp.cos(y))):
            y = z
    return xp.sum(y)


def warned_of_large_values(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if float(xp.max(x)) > 1.0:
            warnings.warn(f"large: {float(xp.max(x)):.1f}")
    return xp.sum(x * x)


def digest(x):
    key = hashlib.sha256(np.asarray(x).tobytes()).hexdigest()[:8]
    print("cached as", key)
    return xp.prod(x)


def shapes_only(x):
    (n,) = np.asarray(x).shape
    return xp.sum(x) / n


def memo_of_expensive_constants(x):
    cache = {}

    def constant(k):
        if k not in cache:
            cache[k] = math.factorial(k) * 1.0
        return cache[k]

    trace = [float(v) for v in x]
    y = sum(x[k] / constant(k) for k in range(4))
    assert len(trace) == len(cache)
    return y


def observer(x):
    class Subject:
        def __init__(self):
            self.observers, self.gain = [], 0.4

        def notify(self, value):
            for o in self.observers:
                o(value)

    s, log = Subject(), []
    s.observers.append(log.append)
    y = xp.sum(x) * s.gain
    s.notify(float(y))
    return y * s.gain


def solver_with_a_trace(x):
    trace = types.SimpleNamespace(residuals=[], steps=0)
    a = np.array([[4.0, 1.0], [1.0, 3.0]])
    u = x[:2] * 0.0
    for _ in range(30):
        r = x[:2] - xp.asarray(a) @ u
        trace.residuals.append(float(xp.max(xp.abs(r))))
        trace.steps += 1
        u = u + r / np.diag(a)
    return xp.sum(u * u)


def line_search_by_comparing(x):
    t = 1.0
    f = lambda w: xp.sum((w - 0.5) ** 4)
    g = 4.0 * (x - 0.5) ** 3
    while float(f(x - t * g)) > float(f(x)):
        t *= 0.5
    return f(x - t * g)


def simulation_events(x):
    h, v, events = x[0], x[1], []
    for k in range(10):
        v = v - 0.1
        h = h + 0.1 * v
        if float(h) < 0.0:
            events.append((k, float(v)))
            h, v = -h, -0.8 * v
    return h * h + v * v


def top_two(x):
    best = heapq.nlargest(2, range(4), key=lambda i: x[i].item())
    return sum(x[i] ** 2 for i in best)


def unit_conversion_with_repr(x):
    class Length:
        factor = 2.54

        def __init__(self, value):
            self.value = value

        def __repr__(self):
            return f"{float(self.value):.2f} in"

        def cm(self):
            return self.value * self.factor

    lengths = [Length(v) for v in x]
    print(lengths)
    return sum(l.cm() for l in lengths)


def thread_that_logs(x):
    lines = queue.Queue()
    t = threading.Thread(target=lambda v: lines.put(f"{v:.2f}"), args=(float(x[0]),))
    t.start()
    t.join()
    print(lines.get())
    return xp.sum(x * 3.0)


def sqlite_log(x):
    db = sqlite3.connect(":memory:")
    db.execute("create table t (v real)")
    db.executemany("insert into t values (?)", [(float(v),) for v in x])
    print(db.execute("select count(*) from t").fetchone())
    return xp.sum(xp.sqrt(x))


def compared_with_scipy(x):
    y = xp.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)
    expected = scipy.stats.norm.pdf(np.asarray(x))
    assert np.allclose(np.asarray(y), expected)
    return xp.sum(y)


def piecewise_by_python(x):
    def one(v):
        if float(v) < 1.0:
            return v * v
        return 2.0 * v - 1.0

    return sum(one(v) for v in x)


def plan_of_blocks(x):
    sizes = [1, 3] if float(x[0]) > 0.5 else [2, 2]
    ends = list(itertools.accumulate(sizes))
    parts = [x[a:b] for a, b in zip([0, *ends], ends)]
    return sum(xp.sum(p) ** 2 for p in parts)


def settings_from_text(x):
    text = "scale = 0.75\nshift = 2"
    settings = {k.strip(): float(v) for k, v in (line.split("=") for line in text.splitlines())}
    print(", ".join(f"{float(v):.1f}" for v in x))
    return xp.sum(x * settings["scale"] + settings["shift"])


def pickled_for_later(x):
    blob = pickle.dumps({"x": np.asarray(x), "when": 3})
    assert len(blob) > 10
    return xp.sum(x) * 0.2


def decayed_rate(x):
    rate, w = 0.2, x
    for k in range(3):
        if float(xp.sum(w)) > 0:
            rate *= 0.5
        w = w - rate * w**2
    return xp.sum(w)


def trust_region(x):
    radius, w = 1.0, x
    for _ in range(3):
        trial = w - radius * 0.1 * w
        ratio = (float(xp.sum(w**2)) - float(xp.sum(trial**2))) / 0.1
        radius = radius * 2.0 if ratio > 0.75 else radius * 0.5
        w = trial
    return xp.sum(w)


def named_tuple_of_result(x):
    class Result(typing.NamedTuple):
        value: object
        message: str
        weight: float = 0.6

    y = xp.sum(x)
    r = Result(y, f"value {float(y):.1f}")
    return r.value * r.weight


def generator_with_a_log(x):
    log = []

    def steps():
        for k in range(4):
            log.append(x[k].item())
            yield k, x[k]

    return sum(v * (0.5 + k) for k, v in steps())


def decorated_with_a_trace(x):
    def traced(f):
        calls = []

        @functools.wraps(f)
        def wrapper(v):
            result = f(v)
            calls.append(float(result))
            return result

        wrapper.calls = calls
        return wrapper

    @traced
    def square(v):
        return v * v * 0.5

    y = square(x[0]) + square(x[1])
    assert len(square.calls) == 2
    return y


def validated_input(x):
    class Positive:
        def __set_name__(self, owner, name):
            self.name = "_" + name

        def __get__(self, obj, of=None):
            return getattr(obj, self.name)

        def __set__(self, obj, value):
            if float(value) <= 0:
                raise ValueError
            setattr(obj, self.name, value)

    class Rod:
        length, width = Positive(), Positive()

    rod = Rod()
    rod.length, rod.width = x[0], x[1]
    return rod.length * rod.width * 2.0
