"""Programs whose gradient is whole: values leave to be looked at, stored or to decide, and no number comes back."""

import array
import bisect
import collections
import concurrent.futures
import contextlib
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
import operator
import pathlib
import pickle
import pprint
import queue
import random
import re
import sqlite3
import statistics
import string
import struct
import tempfile
import textwrap
import threading
import time
import unittest
import warnings

import matplotlib

matplotlib.use("Agg")
import matplotlib.figure
import numpy as np
import scipy.interpolate
import scipy.optimize
import scipy.spatial
import scipy.stats
import sklearn.cluster
import sklearn.linear_model
import sklearn.metrics

import arraytape as xp


# ---------------------------------------------------------------- machine learning
class _EarlyStopping:
    def __init__(self, patience=2):
        self.patience, self.best, self.bad, self.history = patience, math.inf, 0, []

    def should_stop(self, loss):
        value = float(loss)
        self.history.append(value)
        if value < self.best - 1e-2:
            self.best, self.bad = value, 0
        else:
            self.bad += 1
        return self.bad >= self.patience


def descent_with_early_stopping(x):
    stopper, w = _EarlyStopping(), x
    for _ in range(12):
        loss = xp.sum((w - 0.3) ** 2)
        if stopper.should_stop(loss):
            break
        w = w - 0.3 * (w - 0.3)
    return xp.sum(w * x) + loss


@dataclasses.dataclass
class _Metrics:
    rows: list = dataclasses.field(default_factory=list)

    def log(self, **kw):
        self.rows.append({k: float(v) for k, v in kw.items()})

    @property
    def last(self):
        return self.rows[-1]


def epochs_with_metric_table(x):
    metrics, w = _Metrics(), xp.asarray([0.1, 0.2, 0.3, 0.4])
    for epoch in range(4):
        err = w * x - 1.0
        w = w - 0.1 * err * x
        metrics.log(epoch=epoch, mse=xp.mean(err**2), w0=w[0])
    print(f"epoch {metrics.last['epoch']:.0f}: mse={metrics.last['mse']:.4f}")
    return xp.mean((w * x - 1.0) ** 2)


def best_of_several_heads(x):
    heads = {"linear": xp.sum(x), "square": xp.mean(x**2), "log": xp.sum(xp.log(1 + x))}
    scores = {k: v.item() for k, v in heads.items()}
    best = min(scores, key=scores.get)
    print("best head:", best, pprint.pformat(scores))
    return heads[best] ** 2 + 0.1 * heads["linear"]


def cluster_labels_choose_centres(x):
    km = sklearn.cluster.KMeans(n_clusters=2, n_init=1, random_state=0, init=np.array([[0.9], [1.9]]))
    labels = km.fit_predict(np.asarray(x).reshape(-1, 1))
    loss = 0.0
    for k in range(2):
        members = x[np.flatnonzero(labels == k)]
        loss = loss + xp.sum((members - xp.mean(members)) ** 2)
    return loss + 0.2 * xp.sum(x)


def accuracy_beside_logistic_loss(x):
    X = np.array([[1.0, 0.2, -1.0, 0.4], [-0.3, 1.1, 0.5, -2.0], [0.3, -0.8, 0.1, 0.9]])
    y = np.array([1.0, 0.0, 1.0])
    p = 1 / (1 + xp.exp(-(xp.asarray(X) @ x)))
    acc = sklearn.metrics.accuracy_score(y, np.asarray(p) > 0.5)
    logging.getLogger("harmless_i").debug("accuracy %.2f", acc)
    return -xp.mean(y * xp.log(p) + (1 - y) * xp.log(1 - p))


class _Callback:
    def on_batch_end(self, logs):
        raise NotImplementedError


class _CsvLogger(_Callback):
    def __init__(self, stream):
        self.writer = csv.DictWriter(stream, ["batch", "loss"])
        self.writer.writeheader()

    def on_batch_end(self, logs):
        self.writer.writerow({"batch": logs["batch"], "loss": f"{float(logs['loss']):.6g}"})


def fit_with_csv_logger(x):
    stream = io.StringIO()
    callbacks = [_CsvLogger(stream)]
    total = xp.asarray(0.0)
    for i in range(3):
        loss = xp.mean(xp.cos(x * (i + 1)) ** 2)
        total = total + loss
        for cb in callbacks:
            cb.on_batch_end({"batch": i, "loss": loss})
    assert stream.getvalue().startswith("batch,loss")
    return total


# ---------------------------------------------------------------- databases and files
class _RunStore:
    def __init__(self):
        self.con = sqlite3.connect(":memory:")
        self.con.execute("create table run (name text, value real)")

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.con.close()

    def record(self, name, value):
        self.con.execute("insert into run values (?, ?)", (name, float(value)))


def portfolio_with_audit_table(x):
    weights = x / xp.sum(x)
    returns = xp.asarray([0.02, 0.05, -0.01, 0.07])
    with _RunStore() as store:
        for name, w in zip(("gilt", "corp", "cash", "equity"), weights):
            store.record(name, w)
        n = store.con.execute("select count(*) from run").fetchone()[0]
    assert n == 4
    return 10 * xp.sum(weights * returns) + xp.sum(weights**2)


def snapshots_to_temp_folder(x):
    with tempfile.TemporaryDirectory() as folder:
        y = x
        for k in range(3):
            y = xp.tanh(y) + 0.2 * x
            np.save(pathlib.Path(folder) / f"step{k}.npy", np.asarray(y))
        names = sorted(p.name for p in pathlib.Path(folder).glob("*.npy"))
    assert names[-1] == "step2.npy"
    return xp.sum(y**2)


def json_report_written_once(x):
    temp, pressure = xp.mean(x[:2]), xp.mean(x[2:])
    density = pressure / temp
    with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
        json.dump({"T": float(temp), "p": float(pressure), "rho": density.item()}, f, indent=1)
        f.flush()
    return density**2 + 0.1 * temp * pressure


def calibration_constants_from_disk(x):
    with tempfile.TemporaryDirectory() as d:
        consts = pathlib.Path(d, "consts.json")
        consts.write_text(json.dumps({"gain": 1.25, "offset": 0.1}))
        pathlib.Path(d, "readings.txt").write_text("\n".join(str(float(v)) for v in x))
        c = json.loads(consts.read_text())
    corrected = c["gain"] * x - c["offset"]
    return xp.sum(corrected**2)


def pickled_state_digest(x):
    state = {"w": x.tolist(), "step": 3}
    digest = hashlib.sha256(pickle.dumps(state)).hexdigest()
    run_name = f"run-{digest[:8]}"
    print("saving", run_name)
    return xp.sum(xp.sin(x) * x) if len(run_name) == 12 else xp.sum(x)


# ---------------------------------------------------------------- numerics with step counts
def newton_sqrt_until_converged(x):
    root, steps = 0.5 * (1 + x), 0
    while float(xp.max(xp.abs(root * root - x))) > 1e-12 and steps < 50:
        root = 0.5 * (root + x / root)
        steps += 1
    print("converged after", steps, "steps")
    return xp.sum(root * xp.asarray([1.0, 2.0, 3.0, 4.0]))


def _bisect_log(target, lo, hi, trace):
    for _ in range(10):
        mid = 0.5 * (lo + hi)
        trace.append((float(lo), float(hi)))
        if bool(mid**2 < target):
            lo = mid
        else:
            hi = mid
    return 0.5 * (lo + hi)


def bisection_trace_of_bounds(x):
    trace = []
    mid = _bisect_log(x[0], x[1] * 0.5, x[2], trace)
    widths = [b - a for a, b in trace]
    assert all(w2 < w1 for w1, w2 in itertools.pairwise(widths))
    return mid**2 + x[3] * mid


def adaptive_trapezoid_panels(x):
    curvature = float(xp.max(x))
    panels = 4 if curvature < 1 else 8
    t = np.linspace(0, 1, panels + 1)
    f = xp.stack([xp.exp(-x[0] * s) * xp.cos(x[1] * s) + x[2] * s**2 for s in t])
    area = xp.sum((f[1:] + f[:-1]) * 0.5) / panels
    return area * x[3]


def power_iteration_with_print(x):
    A = xp.stack([xp.stack([x[0], x[1]]), xp.stack([x[1], x[2]])])
    v = xp.asarray([1.0, 0.4])
    for k in range(30):
        w = A @ v
        v = w / xp.sqrt(xp.sum(w * w))
        if k % 10 == 0:
            print(f"{k:3d} {float(v @ (A @ v)):.8f}")
    return v @ (A @ v) + 0.1 * x[3]


def rk4_with_event_flag(x):
    y, t, crossed = x[0], 0.0, []
    f = lambda y: -x[1] * y + 0.3 * x[2]
    for _ in range(8):
        k1 = f(y)
        k2 = f(y + 0.05 * k1)
        k3 = f(y + 0.05 * k2)
        k4 = f(y + 0.1 * k3)
        y = y + 0.1 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        t += 0.1
        if y < 1.0:
            crossed.append((round(t, 1), y.item()))
    print(*crossed[:1], sep="\n")
    return y**2 + x[3]


def continued_fraction_terms(x):
    numerators = [9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0]
    terms = max(3, min(9, int(3 * x[2])))
    value = x[0]
    for k in numerators[-terms:]:
        value = x[1] + k / (value + x[3])
    return value


# ---------------------------------------------------------------- orders, keys, indices
def sorted_by_priority_key(x):
    jobs = [{"id": i, "len": v, "due": 2.0 + i} for i, v in enumerate(x)]
    jobs.sort(key=lambda j: float(j["len"]) / j["due"])
    t, late = xp.asarray(0.0), xp.asarray(0.0)
    for j in jobs:
        t = t + j["len"]
        late = late + xp.maximum(t - j["due"], xp.asarray(0.0))
    print("order:", [j["id"] for j in jobs])
    return late + 0.1 * t


def dijkstra_by_heap(x):
    edges = {"s": [("a", x[0]), ("b", x[1])], "a": [("t", x[2])], "b": [("a", 0.1 * x[3]), ("t", x[3] * 2)], "t": []}
    heap, best, tie = [(0.0, 0, "s", xp.asarray(0.0))], {}, itertools.count(1)
    while heap:
        _, _, node, dist = heapq.heappop(heap)
        if node in best:
            continue
        best[node] = dist
        for nxt, w in edges[node]:
            d = dist + w
            heapq.heappush(heap, (d.item(), next(tie), nxt, d))
    return best["t"] ** 2 + best["a"] * 0.3


def nearest_neighbour_tour(x):
    xy = [(x[i], 0.7 * i) for i in range(4)]
    plain = [(float(a), b) for a, b in xy]
    todo, tour = set(range(1, 4)), [0]
    while todo:
        here = plain[tour[-1]]
        nxt = min(sorted(todo), key=lambda j: math.dist(here, plain[j]))
        todo.remove(nxt)
        tour.append(nxt)
    legs = [xp.sqrt((xy[a][0] - xy[b][0]) ** 2 + (xy[a][1] - xy[b][1]) ** 2) for a, b in itertools.pairwise(tour)]
    return sum(legs)


def spatial_tree_pairs(x):
    points = np.column_stack([np.asarray(x), np.zeros(4)])
    tree = scipy.spatial.cKDTree(points)
    pairs = sorted(tree.query_pairs(0.5))
    energy = xp.sum(0.1 * x)
    for i, j in pairs:
        energy = energy + (x[i] - x[j]) ** 2
    return energy


def assignment_of_workers(x):
    base = np.array([[1.0, 2.0, 3.0, 1.5], [2.0, 1.0, 1.2, 3.0], [0.5, 2.2, 1.1, 2.0], [1.0, 3.0, 2.0, 0.2]])
    cost = xp.asarray(base) * x
    rows, cols = scipy.optimize.linear_sum_assignment(np.asarray(cost))
    return sum(cost[int(r), int(c)] for r, c in zip(rows, cols)) ** 2


def tax_bracket_by_bisect(x):
    limits = [1.0, 2.0, 4.0]
    rates = [0.1, 0.2, 0.35, 0.5]
    tax = xp.asarray(0.0)
    for income in 2 * x:
        k = bisect.bisect_right(limits, income.item())
        lower = limits[k - 1] if k else 0.0
        tax = tax + rates[k] * (income - lower)
    return tax


def histogram_groups_by_key(x):
    groups = collections.defaultdict(list)
    for v in x:
        groups[f"{float(v):.0f}"].append(v)
    spread = xp.asarray(0.0)
    for key in sorted(groups):
        members = xp.stack(groups[key])
        spread = spread + xp.sum((members - xp.mean(members)) ** 2) + xp.prod(members)
    return spread


def median_filter_by_index(x):
    idx = [sorted(range(4), key=lambda i: float(x[i]))[k] for k in (1, 2)]
    middle = 0.5 * (x[idx[0]] + x[idx[1]])
    return xp.sum(xp.sqrt(1 + (x - middle) ** 2))


# ---------------------------------------------------------------- enums, regexes, names
class _Phase(enum.Enum):
    SOLID = "solid"
    LIQUID = "liquid"
    GAS = "gas"

    @classmethod
    def at(cls, t):
        return cls.SOLID if t < 1 else cls.LIQUID if t < 1.6 else cls.GAS


_CP = {_Phase.SOLID: 2.1, _Phase.LIQUID: 4.2, _Phase.GAS: 1.9}


def heat_by_phase(x):
    phases = [_Phase.at(float(t)) for t in x]
    print(", ".join(p.value for p in phases))
    return sum(_CP[p] * t**2 for p, t in zip(phases, x)) / 4


def regex_dispatch_on_label(x):
    label = f"sensor[{x[2].item():.1f}]"
    m = re.fullmatch(r"(\w+)\[(\d)\.\d\]", label)
    kind = {"sensor": xp.log, "motor": xp.exp}[m.group(1)]
    return xp.sum(kind(x) * x)


def template_letter_to_customer(x):
    letter = string.Template("Dear $who,\nyour balance is $balance EUR.\n")
    balance = xp.sum(x * xp.asarray([100.0, -50.0, 20.0, 10.0]))
    text = letter.substitute(who="client", balance=format(float(balance), ",.2f"))
    print(textwrap.shorten(text, 60))
    penalty = 5.0 if balance < 0 else 0.0
    return balance * 0.01 + penalty + xp.sum(x**2)


class _Matrix2:
    def __init__(self, rows):
        self.rows = rows

    def __repr__(self):
        return "\n".join(" ".join(f"{float(v):8.3f}" for v in r) for r in self.rows)

    def det(self):
        (a, b), (c, d) = self.rows
        return a * d - b * c


def matrix_repr_and_determinant(x):
    m = _Matrix2([[x[0], x[1]], [x[2], x[3]]])
    shown = repr(m)
    assert len(shown.splitlines()) == 2
    return m.det() ** 2 + x[0]


# ---------------------------------------------------------------- concurrency
def monitored_by_thread(x):
    inbox, seen = queue.Queue(), []

    def drain():
        while (item := inbox.get()) is not None:
            seen.append(item)

    t = threading.Thread(target=drain)
    t.start()
    y = x
    for _ in range(3):
        y = 0.5 * (y + 1 / (y + x))
        inbox.put(float(xp.sum(y)))
    inbox.put(None)
    t.join()
    assert len(seen) == 3
    return xp.sum(y**3)


def uploads_in_background(x):
    def upload(name, payload):
        return name, len(payload)

    parts = {"low": x[:2], "high": x[2:]}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(upload, k, struct.pack("<2d", *v.tolist())) for k, v in parts.items()]
        sizes = dict(j.result() for j in jobs)
    assert sizes == {"low": 16, "high": 16}
    return xp.prod(parts["low"]) * xp.sum(parts["high"] ** 2)


_lock = threading.Lock()
_gauges: dict = {}


def _gauge(name):
    def deco(f):
        @functools.wraps(f)
        def inner(*args):
            out = f(*args)
            with _lock:
                _gauges[name] = out.item()
            return out

        return inner

    return deco


@_gauge("flow")
def _flow(dp, k):
    return k * xp.sqrt(dp)


def pipe_network_with_gauges(x):
    q1, q2 = _flow(x[0], x[1]), _flow(x[2], x[3])
    assert set(_gauges) == {"flow"}
    return (q1 - q2) ** 2 + q1 * q2


# ---------------------------------------------------------------- plots
def residual_plot_in_memory(x):
    t = np.arange(4.0)
    model = 0.8 + 0.3 * t
    res = x - model
    fig = matplotlib.figure.Figure(figsize=(2, 2), dpi=40)
    ax = fig.subplots()
    ax.plot(t, np.asarray(res), "o-")
    ax.set_title(f"rss = {float(xp.sum(res**2)):.3g}")
    fig.savefig(io.BytesIO(), format="png")
    return xp.sum(res**2)


def bar_labels_of_shares(x):
    shares = x / xp.sum(x)
    fig = matplotlib.figure.Figure()
    ax = fig.subplots()
    bars = ax.bar(list("abcd"), shares.tolist())
    ax.bar_label(bars, labels=[f"{100 * float(s):.0f}%" for s in shares])
    assert len(ax.texts) == 4
    return -xp.sum(shares * xp.log(shares)) + 0.2 * x[1]


def spline_drawn_but_not_used(x):
    curve = scipy.interpolate.PchipInterpolator([0, 1, 2, 3], np.array([float(v) for v in x]))
    fine = curve(np.linspace(0, 3, 31))
    art = "".join("#" if v > 1.3 else "." for v in fine)
    print(art)
    return xp.sum((x[1:] - x[:-1]) ** 2) + xp.mean(x)


# ---------------------------------------------------------------- checks
class _Case(unittest.TestCase):
    def runTest(self):
        pass


def unittest_style_invariants(x):
    case = _Case()
    q, r = xp.sqrt(x), x**1.5
    case.assertGreater(float(xp.min(q)), 0)
    case.assertAlmostEqual((q[0] ** 2).item(), x[0].item(), places=9)
    case.assertLess(q.tolist()[1], r.tolist()[2])
    return xp.sum(q * r)


def allclose_check_of_identity(x):
    s, c = xp.sin(x), xp.cos(x)
    np.testing.assert_allclose(np.asarray(s) ** 2 + np.asarray(c) ** 2, 1.0, rtol=1e-12)
    if not np.isfinite(np.asarray(s / c)).all():
        raise FloatingPointError("pole")
    return xp.sum(s**2 - 0.5 * c)


def normality_test_before_mean(x):
    data = np.asarray(x).copy()
    stat, p = scipy.stats.shapiro(data)
    centre = xp.mean(x) if p > 0.01 else x[0]
    print(f"W={stat:.3f} p={p:.3f}")
    return xp.sum((x - centre) ** 2) + centre


def linear_fit_only_for_report(x):
    A = np.arange(4.0).reshape(-1, 1)
    fit = sklearn.linear_model.LinearRegression().fit(A, np.asarray(x))
    print("trend %+.3f per day, r2 %.2f" % (fit.coef_[0], fit.score(A, np.asarray(x))))
    level = x[0]
    for v in x[1:]:
        level = 0.6 * level + 0.4 * v
    return level**2


def warn_when_out_of_range(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if float(xp.max(x)) > 1.5:
            warnings.warn(f"clipping {x.max().item():.2f} to 1.5", UserWarning, stacklevel=2)
            x = xp.minimum(x, xp.asarray(1.5))
    return xp.sum(x**2) + xp.prod(x)


def exceptions_choose_fallback(x):
    def strict_log(v):
        if v > 1.5:
            raise ValueError(f"too large: {float(v)}")
        return xp.log(v)

    total, errors = xp.asarray(0.0), []
    for v in x:
        try:
            total = total + strict_log(v)
        except ValueError as e:
            errors.append(str(e))
            total = total + xp.sqrt(v)
    assert len(errors) == 1
    return total**2


# ---------------------------------------------------------------- timing, randomness, counting
@contextlib.contextmanager
def _timed(label, sink):
    start = time.perf_counter()
    try:
        yield
    finally:
        sink.append(f"{label}: {time.perf_counter() - start:.6f}s")


def timed_sections(x):
    sink = []
    with _timed("square", sink):
        a = xp.sum(x**2)
    with _timed(f"exp of {float(x[0]):.2f}", sink):
        b = xp.sum(xp.exp(-x))
    assert len(sink) == 2
    return a * b


def metropolis_acceptance_count(x):
    rng, accepted = random.Random(3), 0
    state = x
    for _ in range(6):
        proposal = state + 0.1 * rng.gauss(0, 1)
        ratio = xp.exp(-xp.sum(proposal**2) + xp.sum(state**2))
        if rng.random() < float(ratio):
            state, accepted = proposal, accepted + 1
    print(f"accepted {accepted}/6")
    return xp.sum(state**2)


def seeded_dropout_with_stats(x):
    rng = np.random.default_rng(5)
    mask = rng.random(4) > 0.3
    h = xp.tanh(x) * xp.asarray(mask.astype(float)) / 0.7
    stats = {"mean": statistics.fmean(h.tolist()), "zeros": h.tolist().count(0.0)}
    print(stats)
    return xp.sum(h * x)


class _Player:
    scores = array.array("d")

    def __init__(self, name, skill):
        self.name, self.skill = name, skill

    def __lt__(self, other):
        return float(self.skill) < float(other.skill)


def leaderboard_of_players(x):
    players = sorted((_Player(n, s) for n, s in zip(("ann", "bob", "cy", "di"), x)), reverse=True)
    for rank, p in enumerate(players, 1):
        _Player.scores.append(p.skill.item())
        print(f"{rank}. {p.name:<4}{_Player.scores[-1]:6.2f}")
    del _Player.scores[:]
    prizes = [5.0, 2.0, 1.0, 0.0]
    return sum(prize * xp.log(p.skill) for prize, p in zip(prizes, players)) + xp.sum(x)


def inventory_reorder_policy(x):
    stock, orders, cost = 3.0 * x[0], collections.Counter(), xp.asarray(0.0)
    for week, demand in enumerate((1.0, 2.0, 1.5, 0.7)):
        stock = stock - demand * x[1]
        if stock < x[3]:
            orders[week] += 1
            stock = stock + 2 * x[2]
            cost = cost + 0.5
        cost = cost + 0.1 * stock**2
    print("orders in weeks", list(orders.elements()), "left", round(float(stock), 2))
    return cost


def running_maximum_records(x):
    series = xp.concat([x, x**2, xp.sin(3 * x)])
    records, peak = [], -math.inf
    for i, v in enumerate(series.tolist()):
        if v > peak:
            peak = v
            records.append(i)
    return operator.mul(series[records[-1]], xp.mean(series[np.array(records)]))


def cached_by_rounded_key(x):
    cache = {}

    def kernel(i, j):
        key = (min(i, j), max(i, j), round(float(x[i] * x[j]), 9))
        if key not in cache:
            cache[key] = xp.exp(-((x[i] - x[j]) ** 2))
        return cache[key]

    total = sum(kernel(i, j) for i, j in itertools.product(range(4), repeat=2) if i != j)
    assert len(cache) == 6
    return total


# ---------------------------------------------------------------- astronomy and biology
_HABITABLE = {True: ("inside", 1.0), False: ("outside", 0.4)}


def habitable_zone_catalog(x):
    catalog = []
    score = xp.asarray(0.0)
    for name, au in zip("bcde", x):
        flux = 1.1 / au**2
        where, weight = _HABITABLE[bool(0.3 < flux < 1.2)]
        catalog.append("{:<3}{:>8.3f} AU  {:s}".format(name, float(au), where))
        score = score + weight * xp.exp(-((flux - 1.0) ** 2))
    print("\n".join(catalog))
    return score


def dosing_until_threshold(x):
    level, chart, doses = 0.2 * x[0], [], iter((1.0, 0.8, 0.6, 0.4))
    for hour in range(8):
        level = level * xp.exp(-0.4 * x[1])
        chart.append("*" * int(10 * level))
        if level < 0.5 * x[2]:
            level = level + next(doses, 0.2) * x[3]
    assert max(map(len, chart)) > 2, chart
    return level**2 + 0.1 * x[0]
