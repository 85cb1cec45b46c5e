"""Fifty programs in which values leave the tape and no part of the gradient is lost."""

import array
import asyncio
import bisect
import collections
import contextlib
import contextvars
import dataclasses
import datetime
import enum
import fractions
import functools
import graphlib
import gzip
import hashlib
import heapq
import io
import itertools
import math
import operator
import os
import pickle
import pprint
import queue
import random
import sqlite3
import statistics
import string
import struct
import tempfile
import textwrap
import threading
import time
import typing
import unittest
import unittest.mock
import warnings
import weakref
import xml.etree.ElementTree as ET
from multiprocessing.pool import ThreadPool

import matplotlib

matplotlib.use("Agg")
import arraytape as xp
import matplotlib.figure
import numpy as np
import scipy.optimize
import scipy.signal
import scipy.sparse
import scipy.sparse.csgraph
import scipy.spatial
import scipy.stats
import sklearn.cluster
import sklearn.metrics
import sklearn.tree


def dijkstra_then_sum(x):
    roads = {("a", "b"): x[0], ("a", "c"): x[1], ("b", "d"): x[2], ("c", "b"): 0.2 * x[3], ("c", "d"): 2.0 * x[2]}
    distance, parent = {"a": 0.0}, {}
    heap = [(0.0, "a")]
    while heap:
        d, town = heapq.heappop(heap)
        for (start, end), length in roads.items():
            if start == town and d + float(length) < distance.get(end, math.inf):
                distance[end] = d + float(length)
                parent[end] = start
                heapq.heappush(heap, (distance[end], end))
    route, town = 0.0, "d"
    while town in parent:
        route = route + roads[parent[town], town]
        town = parent[town]
    return route**2


class _Regime(enum.Enum):
    CALM = "calm"
    STRESS = "stress"

    @classmethod
    def of(cls, volatility):
        return cls.STRESS if volatility > 0.4 else cls.CALM


def regime_by_enum(x):
    returns = xp.log(x[1:] / x[:-1])
    regime = _Regime.of(xp.std(returns).item())
    exposure = {_Regime.CALM: 1.0, _Regime.STRESS: 0.3}[regime]
    pnl = exposure * xp.sum(returns * np.array([1.0, -0.5, 0.25]))
    return xp.exp(-pnl) + 0.01 * xp.sum(returns**2)


def tariff_by_match(x):
    bill = 0.0
    for consumption in x:
        match float(consumption):
            case kwh if kwh < 1.0:
                bill = bill + 0.3 * consumption
            case kwh if kwh < 1.5:
                bill = bill + 0.3 + 0.4 * (consumption - 1.0) ** 2
            case kwh if math.isfinite(kwh):
                bill = bill + 0.5 * consumption**1.5
            case other:
                raise ValueError(f"meter broken: {other}")
    return bill


@functools.lru_cache(maxsize=None)
def _quadrature(order):
    return np.polynomial.legendre.leggauss(order)


def order_of_quadrature_cached(x):
    stiffness = float(xp.max(xp.abs(x)))
    nodes, weights = _quadrature(4 + 2 * round(stiffness))
    t = 0.5 * (nodes + 1.0)
    integrand = xp.exp(-x[0] * t) * xp.cos(x[1] * t) + x[2] * t**x[3]
    return 0.5 * xp.sum(weights * integrand)


class _Welford:
    """Running mean and variance of what passes, for the report."""

    __slots__ = ("n", "mean", "m2")

    def __init__(self):
        self.n, self.mean, self.m2 = 0, 0.0, 0.0

    def __lshift__(self, value):
        self.n += 1
        delta = float(value) - self.mean
        self.mean += delta / self.n
        self.m2 += delta * (float(value) - self.mean)
        return value


def activations_monitored(x):
    monitor = _Welford()
    h = x
    for k in range(1, 5):
        h = xp.tanh(h * (0.5 + 0.1 * k)) + 0.1 * x
        monitor << xp.mean(h)
    assert monitor.n == 4 and monitor.m2 >= 0.0
    return xp.sum(h**2)


def deprecation_style_warning(x):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        ratio = x[2] / x[1]
        if ratio > 2.0:
            warnings.warn(f"badly conditioned: ratio {ratio.item():.2f}", RuntimeWarning, stacklevel=2)
        loss = xp.log(ratio) ** 2 + x[0] * x[3]
    assert all(isinstance(w.message, Warning) for w in seen)
    return loss


def audit_table(x):
    db = sqlite3.connect(":memory:")
    db.execute("CREATE TABLE trades (id INTEGER PRIMARY KEY, notional REAL, at TEXT)")
    fees = 0.0
    for notional in x * 1e3:
        fees = fees + 1e-3 * xp.sqrt(notional)
        db.execute("INSERT INTO trades (notional, at) VALUES (?, 'today')", (float(notional),))
    db.commit()
    (count,) = db.execute("SELECT COUNT(*) FROM trades").fetchone()
    db.close()
    return fees / count


def checkpoint_never_loaded(x):
    w = x
    with tempfile.TemporaryDirectory() as folder:
        for epoch in range(3):
            w = w - 0.1 * (w**3 - x)
            with open(os.path.join(folder, f"epoch{epoch}.pkl"), "wb") as f:
                pickle.dump({"epoch": epoch, "w": np.asarray(w)}, f)
        files = sorted(os.listdir(folder))
    assert files == ["epoch0.pkl", "epoch1.pkl", "epoch2.pkl"]
    return xp.sum(w**2)


def heartbeat_thread(x):
    beats, stop, latest = [], threading.Event(), {}

    def heartbeat():
        while not stop.wait(0.001):
            beats.append(dict(latest))

    thread = threading.Thread(target=heartbeat, daemon=True)
    thread.start()
    state = x
    for step in range(5):
        state = state + 0.05 * xp.cos(state)
        latest[step] = float(xp.sum(state))
    stop.set()
    thread.join()
    return xp.sum(state * np.array([1.0, 2.0, 3.0, 4.0]))


def async_progress(x):
    lines = []

    async def reporter(inbox):
        while (item := await inbox.get()) is not None:
            lines.append("{:>3d} {:.4e}".format(*item))

    async def compute():
        inbox = asyncio.Queue()
        task = asyncio.ensure_future(reporter(inbox))
        total = x[0] * 0.0
        for k in range(6):
            total = total + xp.sum(xp.sin(k * x)) / (k + 1.0)
            await inbox.put((k, total.item()))
        await inbox.put(None)
        await task
        return total

    result = asyncio.run(compute())
    assert len(lines) == 6
    return result**2


def telemetry_through_queue(x):
    telemetry = queue.Queue(maxsize=3)
    dropped = 0
    temperature = xp.asarray(0.0)
    for load in itertools.chain(x, x[::-1]):
        temperature = 0.8 * temperature + 0.2 * load**2
        try:
            telemetry.put_nowait(("temperature", temperature.item()))
        except queue.Full:
            dropped += 1
    assert dropped == 5
    return temperature + 0.1 * xp.sum(x)


@contextlib.contextmanager
def _stage(name, report):
    began = time.perf_counter()
    outputs = []
    try:
        yield outputs.append
    finally:
        spent = time.perf_counter() - began
        report[name] = (spent, [f"{float(xp.max(o)):.3g}" for o in outputs])


def stages_timed(x):
    report = {}
    with _stage("features", report) as note:
        features = xp.concat([x, x**2, xp.sqrt(x)])
        note(features)
    with _stage("head", report) as note:
        score = xp.sum(features * np.linspace(-1.0, 1.0, 12))
        note(score)
    print(report, file=io.StringIO())
    return xp.log1p(xp.exp(score))


def _traced(function):
    calls = []

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        result = function(*args, **kwargs)
        shown = ", ".join(map(repr, args))
        calls.append(f"{function.__name__}({shown}) -> {result!r}")
        del calls[:-5]
        return result

    wrapper.calls = calls
    return wrapper


@_traced
def _softplus(z, sharpness=1.0):
    return xp.log1p(xp.exp(sharpness * z)) / sharpness


def calls_traced_by_decorator(x):
    y = _softplus(x)
    y = _softplus(y - 1.0, sharpness=2.0)
    assert _softplus.calls[-1].startswith("_softplus(")
    return xp.sum(y**2)


class _Observed:
    """A descriptor that notes each value it was given; reading gives what was written."""

    def __set_name__(self, owner, name):
        self.name, self.history = name, collections.deque(maxlen=20)

    def __get__(self, instance, owner):
        return instance.__dict__[self.name]

    def __set__(self, instance, value):
        self.history.append((self.name, float(value)))
        instance.__dict__[self.name] = value


class _Tank:
    level = _Observed()
    inflow = _Observed()


def observed_attributes(x):
    tank = _Tank()
    tank.level, tank.inflow = x[0], x[1]
    for _ in range(8):
        tank.level = tank.level + 0.1 * (tank.inflow - x[2] * xp.sqrt(tank.level))
        tank.inflow = 0.9 * tank.inflow + 0.01 * x[3]
    return (tank.level - 0.5) ** 2


def halved_steps_of_integrator(x):
    def heun(y, h):
        k1 = x[1] * xp.sin(y) - x[2] * y
        predicted = y + h * k1
        k2 = x[1] * xp.sin(predicted) - x[2] * predicted
        return y + 0.5 * h * (k1 + k2), float(xp.abs(0.5 * h * (k2 - k1)))

    y, t, level = x[0], 0.0, 0
    while t < 1.0 - 1e-12:
        new, error = heun(y, 0.5**level)
        if error > 2e-2 and level < 6:
            level += 1
            continue
        y, t = new, t + 0.5**level
    return (y - x[3]) ** 2


def checked_by_numpy_testing(x):
    A = xp.stack([xp.stack([x[0] + 2.0, x[1]]), xp.stack([x[1], x[2] + 1.0])])
    inverse = xp.linalg.inv(A)
    np.testing.assert_allclose(np.asarray(A @ inverse), np.eye(2), atol=1e-10)
    np.testing.assert_array_less(0.0, np.linalg.eigvalsh(np.asarray(A)))
    v = xp.stack([x[3], 1.0 - x[3]])
    return v @ (inverse @ v) + xp.log(xp.linalg.det(A))


def recorded_by_mock(x):
    on_step = unittest.mock.Mock(return_value=False)
    w = x / 2.0
    for k in range(12):
        w = w - 0.1 * (w - x**2)
        if on_step(k, loss=float(xp.sum((w - x**2) ** 2))):
            break
    assert on_step.call_count == 12
    on_step.assert_called_with(11, loss=unittest.mock.ANY)
    return xp.sum(xp.abs(w) ** 1.5)


_PLANS = {}


def _plan_for(values):
    digest = hashlib.sha256(np.ascontiguousarray(np.asarray(values) > 1.2)).hexdigest()
    if digest not in _PLANS:
        _PLANS[digest] = np.hanning(7)[1:-1] / np.hanning(7).sum()
    return _PLANS[digest]


def plan_by_digest(x):
    window = _plan_for(x)
    padded = xp.concat([x[:2][::-1], x, x[2:][::-1]])
    smooth = xp.stack([xp.sum(window * padded[i : i + 5]) for i in range(4)])
    return xp.sum((x - smooth) ** 2) + xp.mean(smooth)


def memo_by_rounded_key(x):
    memo = {}

    def expensive(v):
        key = round(v.item(), 9)
        if key not in memo:
            memo[key] = xp.exp(-v) * xp.sin(3.0 * v)
        return memo[key]

    total = 0.0
    for i, j in itertools.combinations_with_replacement(range(4), 2):
        total = total + expensive(x[i]) * expensive(x[j])
    assert len(memo) == 4
    return total


def runs_by_groupby(x):
    signal = xp.concat([xp.sin(2.0 * x), xp.cos(2.0 * x) - 0.2])
    energy = 0.0
    for positive, run in itertools.groupby(range(8), key=lambda i: float(signal[i]) > 0.0):
        area = sum(signal[i] for i in run)
        energy = energy + (area**2 if positive else 0.5 * area**2)
    return energy


def interpolation_cell_by_bisect(x):
    grid = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5]
    table = [0.1, 0.9, 0.4, 1.3, 0.2, 0.8]
    total = 0.0
    for point in x:
        k = bisect.bisect_right(grid, float(point)) - 1
        share = (point - grid[k]) / (grid[k + 1] - grid[k])
        total = total + (table[k] + share * (table[k + 1] - table[k])) ** 2
    return total


class _Fit(typing.NamedTuple):
    name: str
    loss: float
    accepted: bool


def named_tuple_records(x):
    candidates = {"linear": x[0] + x[1], "product": x[2] * x[3], "root": xp.sqrt(x[0] * x[2])}
    records = [_Fit(n, (v - 2.0).item() ** 2, bool(v > 1.5)) for n, v in candidates.items()]
    records.sort(key=operator.attrgetter("loss"))
    text = "\n".join(f"{r.name:<10}{r.loss:>12.5g}{'*' if r.accepted else ''}" for r in records)
    pprint.pprint(textwrap.wrap(text, 20), stream=io.StringIO())
    best = candidates[records[0].name]
    return (best - 2.0) ** 2 + 0.1 * sum(candidates[r.name] for r in records if r.accepted)


def report_from_template(x):
    report = string.Template("mean $mean\nmost $most\nquartiles $quartiles\n")
    quartiles = statistics.quantiles(x.tolist(), n=4)
    text = report.substitute(mean=xp.mean(x), most=f"{float(xp.max(x)):+.3f}", quartiles=quartiles)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        print(text)
    assert out.getvalue().count("\n") == 4
    z = (x - xp.mean(x)) / xp.std(x)
    return xp.mean(z**3) + xp.mean(x)


def histogram_figure(x):
    weights = xp.concat([xp.tanh(x * k) for k in (0.2, 0.5, 1.0)])
    figure = matplotlib.figure.Figure(figsize=(3, 2))
    left, right = figure.subplots(1, 2)
    left.hist(np.asarray(weights), bins=5)
    right.matshow(np.asarray(xp.reshape(weights, (3, 4))))
    right.text(0, 0, f"{weights[0]:.2f}")
    figure.savefig(io.BytesIO(), format="svg")
    return xp.sum(weights**2) + 0.01 * xp.sum(xp.abs(weights))


def peaks_by_position(x):
    t = np.linspace(0.0, 10.0, 101)
    wave = x[0] * np.sin(2.0 * t) + x[1] * np.cos(5.0 * t) + 0.1 * x[2] * t
    peaks, _ = scipy.signal.find_peaks(np.asarray(wave), prominence=0.2)
    heights = wave[peaks]
    return xp.mean(heights**2) - x[3] * xp.min(heights)


def expert_by_decision_tree(x):
    rng = np.random.default_rng(5)
    features = rng.uniform(0.0, 2.5, size=(60, 4))
    router = sklearn.tree.DecisionTreeClassifier(max_depth=2, random_state=0)
    router.fit(features, (features[:, 0] + features[:, 2] > 2.5).astype(int))
    expert = int(router.predict(np.asarray(x)[None, :])[0])
    weights = np.array([[0.1, 0.4, -0.2, 0.3], [0.5, -0.3, 0.2, 0.6]])[expert]
    return (xp.sum(weights * x) - 1.0) ** 2 + 0.05 * xp.sum(x**2)


def metropolis_walk(x):
    rng = random.Random(3)

    def energy(q):
        return 0.5 * xp.sum((q - x) ** 2) + 0.1 * xp.sum(q**4)

    q = 0.8 * x
    accepted = 0
    for _ in range(15):
        proposal = q + np.array([rng.gauss(0.0, 0.3) for _ in range(4)])
        if math.log(rng.random()) < float(energy(q) - energy(proposal)):
            q = proposal
            accepted += 1
    assert 0 < accepted <= 15
    return energy(q)


class _Event:
    def __init__(self, message):
        self.message = message


def finalizer_notes_value(x):
    log = []
    loss = xp.sum(xp.exp(-x) * x)
    for k in range(3):
        event = _Event(f"{k}")
        weakref.finalize(event, log.append, ("gone", k, loss.item()))
        loss = loss + 0.1 * xp.sum(x ** (k + 1))
        del event
    assert [entry[1] for entry in log] == [0, 1, 2]
    return loss


class _NotPositiveDefinite(ValueError):
    pass


def _cholesky2(a, b, c):
    if a <= 0.0 or (pivot := a * c - b * b) <= 0.0:
        raise _NotPositiveDefinite(f"leading minors {float(a):.3g}, {float(a * c - b * b):.3g}")
    return xp.sqrt(a), b / xp.sqrt(a), xp.sqrt(pivot / a)


def jitter_after_exception(x):
    jitter = 0.0
    while True:
        try:
            l11, l21, l22 = _cholesky2(x[1] + jitter, x[0], x[3] + jitter)
            break
        except _NotPositiveDefinite as error:
            assert "minors" in str(error)
            jitter = max(2.0 * jitter, 0.1)
    return xp.log(l11) + xp.log(l22) + (x[2] / l11) ** 2 + l21


def series_by_takewhile(x):
    def terms():
        term = xp.asarray(1.0)
        for n in itertools.count(1):
            yield term
            term = term * x[0] * x[2] / (n * (n + 0.5))

    kept = list(itertools.takewhile(lambda t: abs(float(t)) > 1e-14, terms()))
    total = sum(kept)
    return xp.log(total) + x[1] * x[3] / total


def black_box_recorder(x):
    recorder = bytearray(struct.calcsize("<If") * 4)
    altitude = x[0]
    for tick in range(10):
        altitude = altitude + 0.1 * (x[1] - 0.2 * x[2] * altitude)
        struct.pack_into("<If", recorder, (tick % 4) * 8, tick, altitude)
    assert len(recorder) == 32
    return (altitude - x[3]) ** 2


def ring_buffer_for_display(x):
    recent = array.array("f")
    level = x[3]
    for k in range(9):
        level = level + 0.2 * xp.sin(x[k % 3] - level)
        recent.append(level.item())
        if len(recent) > 5:
            recent.pop(0)
    bars = "".join("▁▂▃▄▅▆▇█"[min(int(3.0 * v), 7)] for v in recent)
    assert len(bars) == 5
    return level**2 + 0.1 * xp.sum(x)


def xml_report(x):
    root = ET.Element("study", date=datetime.date(2024, 5, 6).isoformat())
    effect = xp.log(x[:2] / x[2:])
    variance = 1.0 / x[:2] + 1.0 / x[2:]
    for e, v in zip(effect, variance):
        ET.SubElement(root, "trial", effect=str(e), variance=f"{v.item():.4f}")
    pooled = xp.sum(effect / variance) / xp.sum(1.0 / variance)
    ET.SubElement(root, "pooled").text = "%.4f" % pooled
    ET.ElementTree(root).write(io.BytesIO())
    return pooled + xp.sum((effect - pooled) ** 2 / variance)


_RUN = contextvars.ContextVar("run")


def _remark(message):
    _RUN.get().append(message)


def remarks_in_context(x):
    def worker():
        _RUN.set([])
        y = x
        for k in range(4):
            y = y * (1.0 - 0.1 * y) + 0.05 * k
            _remark((k, round(float(xp.min(y)), 3), round(float(xp.max(y)), 3)))
        return xp.sum(y), len(_RUN.get())

    total, count = contextvars.copy_context().run(worker)
    assert count == 4
    return total**2


def number_of_steps_from_length(x):
    length = float(xp.sum(xp.abs(x)))
    steps = math.ceil(length / 0.5)
    y = xp.stack([x[0], x[1]])
    for _ in range(steps):
        y = y + 0.05 * xp.stack([y[1], -x[2] * y[0] - 0.3 * x[3] * y[1]])
    return 0.5 * y[1] ** 2 + 0.5 * x[2] * y[0] ** 2


def log_sum_exp_shifted(x):
    scores = np.array([[3.0, -1.0, 2.0, 0.5], [1.0, 4.0, -2.0, 0.0], [0.0, 1.0, 1.0, 1.0]]) @ x * 40.0
    shift = float(xp.max(scores))
    log_normaliser = shift + xp.log(xp.sum(xp.exp(scores - shift)))
    return (log_normaliser - scores[0]) / 40.0 + 0.02 * log_normaliser


def shifted_variance(x):
    samples = xp.concat([1e3 + x, 1e3 - 0.5 * x])
    pivot = samples[0].item()
    n, first, second = 8, 0.0, 0.0
    for s in samples:
        first = first + (s - pivot)
        second = second + (s - pivot) ** 2
    return (second - first * first / n) / (n - 1)


def scaled_to_power_of_two(x):
    residual = 1e-3 * (x - np.array([1.0, 0.5, 2.5, 1.0]))
    _, exponent = math.frexp(xp.max(xp.abs(residual)).item())
    scale = math.ldexp(1.0, -exponent)
    norm = xp.sqrt(xp.sum((residual * scale) ** 2)) / scale
    return 1e3 * norm + xp.log(xp.sum(x))


def signs_from_numpy(x):
    spread = x - np.array([1.0, 1.0, 1.5, 1.5])
    signs = np.sign(np.asarray(spread))
    asymmetric = np.where(signs > 0, 0.9, 0.1)
    return xp.sum(asymmetric * signs * spread) + 0.5 * xp.sum(x**2)


def hull_of_points(x):
    points = xp.stack(
        [x[0], 0.0 * x[0], -x[1], 0.1 * x[1], 0.2 * x[2], x[2], 0.1 * x[3], -x[3], 0.1 * x[0], 0.1 * x[2]]
    )
    points = xp.reshape(points, (5, 2))
    hull = scipy.spatial.ConvexHull(np.asarray(points))
    corners = [points[int(i), :] for i in hull.vertices]
    area = 0.0
    for p, q in zip(corners, corners[1:] + corners[:1]):
        area = area + 0.5 * (p[0] * q[1] - p[1] * q[0])
    return area


def spanning_tree_edges(x):
    gaps = xp.abs(x[:, None] ** 2 - x[None, :] ** 2) + 0.1 * (x[:, None] + x[None, :])
    tree = scipy.sparse.csgraph.minimum_spanning_tree(np.triu(np.asarray(gaps), 1))
    rows, columns = tree.nonzero()
    return sum(gaps[int(i), int(j)] for i, j in zip(rows, columns, strict=True)) ** 1.5


def production_plan_vertex(x):
    capacity = np.array([[1.0, 2.0, 1.0, 0.5], [2.0, 1.0, 0.5, 1.0]])
    plan = scipy.optimize.linprog(-np.asarray(x), A_ub=capacity, b_ub=[4.0, 5.0], method="highs")
    assert plan.status == 0
    vertex = np.round(plan.x, 12)
    profit = vertex @ x
    return profit - 0.05 * profit**2 + 0.3 * xp.sum(xp.sqrt(x))


def viterbi_path(x):
    emission = xp.stack([-((o - xp.stack([0.8 * x[0], x[3], x[2]])) ** 2) for o in (0.7, 1.9, 1.2, 0.9, 2.1)])
    transition = np.log(np.array([[0.7, 0.2, 0.1], [0.1, 0.7, 0.2], [0.2, 0.1, 0.7]]))
    host = np.asarray(emission)
    score, back = host[0], []
    for e in host[1:]:
        candidates = score[:, None] + transition
        back.append(candidates.argmax(axis=0))
        score = candidates.max(axis=0) + e
    path = [int(score.argmax())]
    for pointers in reversed(back):
        path.append(int(pointers[path[-1]]))
    path.reverse()
    likelihood = sum(emission[t, s] for t, s in enumerate(path))
    return -likelihood - sum(transition[a, b] for a, b in itertools.pairwise(path)) + x[1] ** 2


def tasks_in_topological_order(x):
    names = ["mix", "heat", "cool", "pack"]
    durations = dict(zip(names, x))
    order = graphlib.TopologicalSorter({"pack": {"heat", "cool"}, "heat": {"mix"}, "cool": {"mix"}})
    order.prepare()
    end, finished = {}, 0.0
    while order.is_active():
        for name in sorted(order.get_ready(), key=lambda n: (-float(durations[n]), n)):
            start = finished
            end[name] = start + durations[name]
            finished = end[name] if float(end[name]) > float(finished) else finished
            order.done(name)
    return 0.1 * sum(e**2 for e in end.values()) + finished


def compressed_audit_trail(x):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "audit.gz")
        with gzip.open(path, "wt") as trail:
            balance = xp.asarray(1.0)
            for quarter, rate in enumerate(x):
                balance = balance * (1.0 + 0.05 * rate)
                interest = fractions.Fraction(float(balance)).limit_denominator(1000)
                trail.write(f"Q{quarter + 1}: {interest}\n")
        assert os.path.getsize(path) > 20
    return balance**2 - 0.1 * x[0] * x[2]


def labels_of_clusters(x):
    points = xp.concat([x, 1.1 * x + 3.0])
    labels = sklearn.cluster.AgglomerativeClustering(n_clusters=2).fit_predict(np.asarray(points)[:, None])
    score = sklearn.metrics.silhouette_score(np.asarray(points)[:, None], labels)
    assert score > 0.5
    inertia = 0.0
    for label in set(labels.tolist()):
        members = points[labels == label]
        inertia = inertia + xp.sum((members - xp.mean(members)) ** 2)
    return inertia


def summaries_in_pool(x):
    trajectory = [x]
    for _ in range(6):
        trajectory.append(xp.tanh(trajectory[-1] * 0.9) + 0.1 * x)
    with ThreadPool(2) as pool:
        summaries = pool.map(scipy.stats.describe, [np.asarray(s) for s in trajectory])
    assert all(s.nobs == 4 for s in summaries)
    return sum(xp.sum((a - b) ** 2) for a, b in itertools.pairwise(trajectory))


@dataclasses.dataclass(order=True)
class _Order:
    sort_key: float = dataclasses.field(init=False, repr=False)
    price: object = dataclasses.field(compare=False)
    quantity: int = dataclasses.field(compare=False)

    def __post_init__(self):
        self.sort_key = float(self.price)


def cheapest_orders_filled(x):
    book = sorted(_Order(price, quantity) for price, quantity in zip(x, (3, 2, 4, 1)))
    wanted, cost = 6, 0.0
    for order in book:
        filled = min(order.quantity, wanted)
        cost = cost + filled * order.price
        wanted -= filled
        if not wanted:
            break
    return cost / 6.0 + 0.01 * cost**2


def dose_by_category_count(x):
    grade = collections.Counter("high" if v > 1.2 else "low" for v in np.asarray(x))
    total = collections.defaultdict(lambda: 0.0)
    for v in x:
        total["high" if bool(v > 1.2) else "low"] += v**2
    means = {name: total[name] / count for name, count in grade.items()}
    return means["high"] - 2.0 * xp.sqrt(means["low"])


def variance_profiled_out(x):
    t = np.arange(6.0)
    observed = np.array([1.0, 1.4, 2.1, 2.9, 3.1, 4.2])
    residual = observed - (x[0] + 0.4 * x[1] * t + 0.1 * x[2] * xp.sin(x[3] * t))
    at = np.asarray(residual)
    sigma2 = at @ at / at.size
    return 0.5 * xp.sum(residual**2) / sigma2 + 0.5 * at.size * math.log(sigma2)
