"""Programs that look at their values and differentiate in full."""

from __future__ import annotations

import array
import asyncio
import bisect
import collections
import concurrent.futures
import contextlib
import dataclasses
import decimal
import enum
import fractions
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
import struct
import sys
import threading
import time
import warnings
import weakref

import a_helpers as helpers
import numpy as np
import scipy.cluster.hierarchy
import scipy.fft
import scipy.integrate
import scipy.linalg
import scipy.optimize
import scipy.signal
import scipy.spatial
import scipy.stats
import sklearn.cluster
import sklearn.linear_model
import sklearn.metrics
import sklearn.model_selection
import sklearn.neighbors
import sklearn.tree

import arraytape as xp


# --- printing -----------------------------------------------------------------------------------


def print_and_weight(x):
    print("x is", x, "with mean", float(xp.mean(x)))
    weights = np.array([0.1, 0.2, 0.3, 0.4])
    return xp.sum(weights * x**2)


def percent_table(x):
    share = x / xp.sum(x)
    print("\n".join(f"{name:>8}: {s:6.1%}" for name, s in zip(("a", "b", "c", "d"), share.tolist())))
    target = xp.asarray([0.25] * 4)
    return xp.sum((share - target) ** 2) * 1.5


def pretty_matrix(x):
    G = xp.linalg.outer(x, x) + np.eye(4)
    with np.printoptions(precision=2, suppress=True):
        sys.stdout.write(np.array2string(np.asarray(G)) + "\n")
    sign, logdet = xp.linalg.slogdet(G)
    return logdet * 0.5


# --- training loops -----------------------------------------------------------------------------


def descend_and_report(x):
    X, y = helpers.toy_data(20, seed=1)
    w = x * 1.0
    for epoch in range(6):
        residual = X @ w - y
        loss = xp.mean(residual**2)
        if epoch % 2 == 0:
            print(f"epoch {epoch:3d} loss {float(loss):.4f}")
        lr = 0.1 * 0.9**epoch
        w = w - lr * (2 / 20) * (X.T @ residual)
    return xp.mean((X @ w - y) ** 2)


def early_stopping_with_patience(x):
    rng = np.random.default_rng(4)
    A = rng.normal(size=(10, 4))
    target = A @ np.ones(4)
    w, best, patience = x, math.inf, 0
    for _ in range(40):
        r = A @ w - target
        value = float(xp.vecdot(r, r))
        if value < best * 0.7:
            best, patience = value, 0
        else:
            patience += 1
            if patience == 2:
                break
        w = w - 0.02 * (A.T @ r)
    return xp.sum(w * np.array([1.0, -1.0, 1.0, -1.0]))


def reduce_on_plateau(x):
    scheduler = helpers.PlateauScheduler(rate=0.2, patience=1, threshold=0.05)
    target = np.array([1.0, 1.5, 0.5, 1.0])
    history = helpers.History()
    w = x
    for epoch in range(12):
        loss = 0.5 * xp.sum((w - target) ** 2)
        rate = scheduler.step(loss)
        history.log(epoch=epoch, loss=loss)
        w = w - rate * (w - target)
    print(history.table())
    return xp.sum(xp.abs(w) ** 1.5)


def momentum_with_callbacks(x):
    class Callback:
        def on_step(self, step, w, loss): ...

    class Printer(Callback):
        def on_step(self, step, w, loss):
            print(step, w.tolist(), loss.item())

    class NanGuard(Callback):
        def on_step(self, step, w, loss):
            if not math.isfinite(loss):
                raise FloatingPointError(step)

    class Recorder(Callback):
        def __init__(self):
            self.path = []

        def on_step(self, step, w, loss):
            self.path.append(np.array(w))

    callbacks = [Printer(), NanGuard(), Recorder()]
    w, velocity = x, xp.zeros(4)
    curvature = np.array([3.0, 1.0, 0.5, 2.0])
    for step in range(5):
        loss = 0.5 * xp.sum(curvature * w**2)
        velocity = 0.8 * velocity - 0.05 * curvature * w
        w = w + velocity
        for cb in callbacks:
            cb.on_step(step, w, loss)
    path = np.stack(callbacks[-1].path)
    assert path.shape == (5, 4)
    return 0.5 * xp.sum(curvature * w**2)


def armijo_line_search(x):
    def f(w):
        return xp.sum(w**4) / 4 + xp.sum(w)

    w = x
    for _ in range(3):
        g = w**3 + 1.0
        step = 1.0
        fw, gg = float(f(w)), float(g @ g)
        while float(f(w - step * g)) > fw - 1e-2 * step * gg:
            step *= 0.5
        w = w - step * g
    return f(w)


@dataclasses.dataclass
class _Config:
    rate: float = 0.05
    steps: int = 4
    seed: int = 11
    l2: float = 1e-2
    noise: tuple = (0.0, 0.1)


class _Trainer:
    def __init__(self, config):
        self.config = config
        self.rng = np.random.default_rng(config.seed)
        self.losses = collections.deque(maxlen=3)
        self._best = (math.inf, -1)

    def batches(self):
        for _ in range(self.config.steps):
            yield self.rng.normal(*self.config.noise, size=(5, 4)) + 0.2

    def objective(self, w, batch):
        return xp.mean(xp.tanh(batch @ w) ** 2) + self.config.l2 * xp.sum(w * w)

    def fit(self, w):
        for step, batch in enumerate(self.batches()):
            h = batch @ w
            t = xp.tanh(h)
            grad = batch.T @ (2 * t * (1 - t**2)) / 5 + 2 * self.config.l2 * w
            w = w - self.config.rate * grad
            loss = self.objective(w, batch)
            self.losses.append(loss.item())
            self._best = min(self._best, (float(loss), step))
        return w

    @property
    def summary(self):
        return f"best {self._best[0]:.3f} at {self._best[1]}, last three {statistics.mean(self.losses):.3f}"


def trainer_class(x):
    trainer = _Trainer(_Config(steps=5))
    w = trainer.fit(x)
    print(trainer.summary)
    return trainer.objective(w, np.full((3, 4), 0.25))


def best_of_restarts(x):
    """Keeps the Array, ranks by the number."""
    starts = np.random.default_rng(8).uniform(0.5, 1.5, size=(5, 4))
    best_value, best = math.inf, None
    for start in starts:
        w = x * start
        for _ in range(3):
            w = w - 0.1 * xp.cos(2 * w)
        energy = xp.sum(xp.sin(2 * w))
        if (value := float(energy)) < best_value:
            best_value, best = value, energy
    assert best is not None
    return best


def clipped_by_norm(x):
    w = x
    for scale in (2.0, 1.0, 0.25):
        g = w * np.array([1.0, 2.0, 3.0, 4.0]) * scale
        if float(xp.linalg.vector_norm(g)) > 3.0:
            g = g * 3.0 / xp.linalg.vector_norm(g)
        w = w - 0.1 * g
    return xp.sum(w**2)


# --- logging, saving ----------------------------------------------------------------------------


def logging_framework(x):
    stream = io.StringIO()
    logger = logging.Logger("fit", logging.DEBUG)
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
    logger.addHandler(handler)
    energy = xp.asarray(0.0)
    for k, coefficient in enumerate((1.0, -0.5, 0.25)):
        energy = energy + coefficient * xp.sum(x ** (k + 1))
        logger.info("term %d: %.3f", k, energy)
        logger.debug("%s", x)
    lines = stream.getvalue().count("\n")
    return energy / lines


def savetxt_checkpoint(x):
    u = xp.exp(-x) * x
    buffer = io.BytesIO()
    np.savetxt(buffer, np.asarray(u), header="u")
    size = buffer.tell()
    assert size > 0
    coefficients = np.loadtxt(io.StringIO("1 2\n3 4"))
    return xp.sum(coefficients * xp.reshape(u, (2, 2)))


def pickled_snapshots(x):
    snapshots = []
    w = x
    for i in range(3):
        snapshots.append(pickle.dumps({"i": i, "w": np.asarray(w)}))
        w = w * (1.0 - 0.1 * i) + 0.05
    print("bytes:", [len(s) > 0 for s in snapshots])
    unrelated = pickle.loads(pickle.dumps(np.arange(4.0)))
    return w @ unrelated


def json_run_record(x):
    loss = xp.sum((x - 1.0) ** 2)
    record = {"loss": float(loss), "x": x.tolist(), "options": {"alpha": 0.3, "beta": [1, 2, 3, 4]}}
    line = json.dumps(record, sort_keys=True)
    print(line)
    options = json.loads('{"alpha": 0.3, "beta": [1, 2, 3, 4]}')
    return loss * options["alpha"] + xp.sum(x * np.array(options["beta"], dtype=float))


def sqlite_experiment_log(x):
    db = sqlite3.connect(":memory:")
    with contextlib.closing(db):
        db.execute("create table run (step integer, loss real)")
        db.execute("create table prior (i integer, mean real, sd real)")
        db.executemany("insert into prior values (?, ?, ?)", [(0, 1.0, 0.5), (1, 1.0, 0.4), (2, 2.0, 1.0), (3, 1.5, 0.3)])
        nll = xp.asarray(0.0)
        for i, mean, sd in db.execute("select * from prior order by i").fetchall():
            nll = nll + ((x[i] - mean) / sd) ** 2
            db.execute("insert into run values (?, ?)", (i, float(nll)))
        print(db.execute("select avg(loss), max(loss) from run").fetchone())
    return nll


def telemetry_is_sent_only(x):
    socket = bytearray()
    altitude, speed = x[0] * 100, x[1] * 10
    for tick in range(5):
        socket += struct.pack("!Hdd", tick, altitude, speed)
        speed = speed - 0.1 * helpers.GRAVITY * x[2]
        altitude = altitude + 0.1 * speed
    assert len(socket) == 5 * struct.calcsize("!Hdd")
    return altitude / x[3]


def content_addressed_cache(x):
    cache = {}
    hits = 0

    def transform(v):
        nonlocal hits
        key = hashlib.sha256(np.asarray(v).tobytes()).hexdigest()
        if key in cache:
            hits += 1
        else:
            cache[key] = xp.sqrt(v) * np.array([4.0, 3.0, 2.0, 1.0])
        return cache[key]

    total = xp.sum(transform(x)) + xp.sum(transform(x) ** 2) + xp.sum(transform(x + 1.0))
    print(f"{hits} hit of {hits + len(cache)}")
    return total


# --- assertions, comparisons, control flow ------------------------------------------------------


def checks_everywhere(x):
    np.testing.assert_array_less(0.0, np.asarray(x))
    assert np.isfinite(np.asarray(x)).all() and len(set(x.tolist())) == 4
    p = x / xp.sum(x)
    assert math.isclose(sum(p.tolist()), 1.0, rel_tol=1e-12)
    q = np.array([0.1, 0.4, 0.2, 0.3])
    return xp.sum(q * xp.log(q / p))


def newton_until_small(x):
    """Roots of z**3 + a z = b, all four at once."""
    z, b = xp.ones(4), np.array([2.0, 1.0, 3.0, 0.5])
    for iteration in itertools.count(1):
        f = z**3 + x * z - b
        if np.abs(np.asarray(f)).max() < 1e-13 or iteration > 50:
            break
        z = z - f / (3 * z**2 + x)
    print("converged in", iteration)
    return xp.sum(z)


def fixed_point_compared_with_snapshot(x):
    M = np.array([[0.1, 0.2, 0.0, 0.1], [0.0, 0.3, 0.1, 0.0], [0.2, 0.0, 0.1, 0.1], [0.1, 0.1, 0.1, 0.2]])
    w = xp.zeros(4)
    while True:
        before = np.array(w)
        w = M @ xp.tanh(w) + 0.5 * x
        if np.allclose(before, np.asarray(w), atol=1e-13, rtol=0):
            return xp.sum(w**2)


def adaptive_step_ode(x):
    """Heun against Euler; the step is halved or doubled, never scaled."""
    t, h, y = 0.0, 0.25, x[0]
    rejected = 0
    while t < 1.0 - 1e-12:
        h = min(h, 1.0 - t)
        k1 = -x[1] * y + x[2] * math.cos(t)
        k2 = -x[1] * (y + h * k1) + x[2] * math.cos(t + h)
        error = abs(float(h / 2 * (k2 - k1)))
        if error > 0.02:
            h, rejected = h / 2, rejected + 1
            continue
        y = y + h / 2 * (k1 + k2)
        t += h
        if error < 0.002:
            h *= 2
    print(f"{rejected} rejected")
    return y * x[3]


def metropolis_walk(x):
    rng = random.Random(3)
    state, accepted = x * 0.5, 0

    def log_density(s):
        return -0.5 * xp.sum((s - x) ** 2)

    for _ in range(12):
        proposal = state + xp.asarray([rng.gauss(0, 0.4) for _ in range(4)])
        if math.log(rng.random()) < float(log_density(proposal) - log_density(state)):
            state, accepted = proposal, accepted + 1
    print(accepted / 12)
    return log_density(state) + xp.sum(state) * 0.1


class _Phase(enum.Enum):
    SOLID = "ice"
    LIQUID = "water"
    GAS = "steam"


def phase_diagram(x):
    def classify(t):
        match float(t):
            case v if v < 1.0:
                return _Phase.SOLID
            case v if v < 1.6:
                return _Phase.LIQUID
            case _:
                return _Phase.GAS

    heat = {_Phase.SOLID: 2.1, _Phase.LIQUID: 4.2, _Phase.GAS: 2.0}
    phases = [classify(t) for t in x]
    print(collections.Counter(p.value for p in phases).most_common())
    return sum(heat[p] * t**2 for p, t in zip(phases, x)) / 4


def tax_brackets(x):
    thresholds, rates = [0.8, 1.2, 1.7], [0.1, 0.2, 0.3, 0.45]
    due = xp.asarray(0.0)
    for income in x:
        bracket = bisect.bisect(thresholds, income.item())
        due = due + rates[bracket] * income**1.1
    return due


def exception_as_signal(x):
    def strict_log(v, floor=0.9):
        if v < floor:
            raise ValueError(f"{float(v)} lies below {floor}")
        return xp.log(v)

    total = xp.asarray(0.0)
    for v in x:
        try:
            total = total + strict_log(v)
        except ValueError as e:
            print("caught", e.args[0])
            total = total + (v - 1.0) * 1.1
    return total


def warned_user(x):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if (condition := float(xp.max(x) / xp.min(x))) > 2:
            warnings.warn(f"badly conditioned: {condition:.2f}", RuntimeWarning, stacklevel=1)
    regularizer = 1e-1 if caught else 0.0
    D = xp.eye(4) * x + regularizer * np.ones((4, 4))
    return xp.sum(xp.linalg.solve(D, np.arange(1.0, 5.0)))


# --- indices, masks -----------------------------------------------------------------------------


def ordered_by_numpy(x):
    order = np.argsort(np.asarray(x))[::-1]
    discount = 1.0 / np.log2(np.arange(2, 6))
    return xp.sum(x[order] * discount)


def masked_by_numpy(x):
    big = np.asarray(x) > 1.2
    y = xp.zeros(4)
    y[big] = x[big] ** 2
    y[~big] = 2.0 * x[~big]
    return xp.sum(y * np.array([1.0, 10.0, 100.0, 1000.0])) / 100


def top_two_by_heap(x):
    keyed = [(-float(v), i) for i, v in enumerate(x)]
    heapq.heapify(keyed)
    (_, first), (_, second) = heapq.heappop(keyed), heapq.heappop(keyed)
    bonus = (3.0, 1.5)
    return bonus[0] * xp.sin(x[first]) + bonus[1] * xp.cos(x[second])


def histogram_bin_lookup(x):
    edges = np.linspace(0.5, 2.5, 6)
    counts, _ = np.histogram(np.asarray(x), bins=edges)
    print(counts)
    bins = np.digitize(np.asarray(x), edges)
    gain = np.array([0.0, 1.0, 1.5, 1.25, 0.5, 0.75, 0.0])
    return xp.sum(gain[bins] * xp.exp(x / 2))


def game_of_collisions(x):
    positions = xp.concat([x, -x]).reshape((4, 2))
    velocities = np.array([[0.1, 0.0], [0.0, -0.2], [-0.3, 0.1], [0.2, 0.2]])
    hits = []
    for frame in range(6):
        positions = positions + 0.1 * velocities
        for i, j in itertools.combinations(range(4), 2):
            gap = math.dist(positions[i].tolist(), positions[j].tolist())
            if gap < 1.2:
                hits.append((frame, i, j))
                velocities[[i, j]] *= -1.0
    print(hits[:3])
    return xp.sum(positions**2) + 0.1 * len(hits)


def vectorized_labels(x):
    label = np.vectorize(lambda v: 0 if v < 1 else 1 if v < 1.5 else 2, otypes=[int])
    kinds = label(np.asarray(x))
    table = np.array([[1.0, 0.5], [0.5, 2.0], [3.0, 1.0]])
    slope, power = table[kinds].T
    return xp.sum(slope * x**power)


# --- SciPy and scikit-learn, for the report -----------------------------------------------------


def describe_first(x):
    print(scipy.stats.describe(x))
    loc, scale = 1.2, 0.4
    z = (x - loc) / scale
    return 0.5 * xp.sum(z**2) + 4 * math.log(scale)


def normality_of_residuals(x):
    X, y = helpers.toy_data(16, seed=2)
    residuals = y - X @ x
    statistic, p = scipy.stats.shapiro(np.asarray(residuals))
    print(f"W={statistic:.3f} p={p:.3f}", "suspicious" if p < 0.05 else "fine")
    huber = np.array(1.345)
    a = xp.abs(residuals)
    return xp.sum(xp.where(a < huber, 0.5 * residuals**2, huber * (a - 0.5 * huber)))


def r2_for_the_log(x):
    A, history = helpers.design(12, 3), helpers.History()
    truth = A @ np.array([1.0, 0.5, 1.0, 2.0])
    prediction = A @ x
    history.log(
        r2=sklearn.metrics.r2_score(truth, np.asarray(prediction)),
        mae=sklearn.metrics.mean_absolute_error(truth, prediction),
    )
    print(history.last("r2"))
    return xp.mean((prediction - truth) ** 2)


def confusion_of_classifier(x):
    X, y = helpers.toy_data(24, seed=6)
    labels = (y > 0).astype(int)
    p = 1 / (1 + xp.exp(-(X @ x)))
    hard = (np.asarray(p) > 0.5).astype(int)
    print(sklearn.metrics.confusion_matrix(labels, hard))
    print("auc", sklearn.metrics.roc_auc_score(labels, np.asarray(p)))
    return -xp.mean(labels * xp.log(p) + (1 - labels) * xp.log(1 - p))


def nearest_neighbour_graph(x):
    rng = np.random.default_rng(12)
    cloud = rng.normal(size=(15, 2))
    points = xp.stack([x[:2], x[2:]]) * 0.8
    tree = scipy.spatial.cKDTree(cloud)
    distance, index = tree.query(np.asarray(points), k=3)
    print("mean distance", distance.mean())
    return xp.sum((points[:, None, :] - cloud[index]) ** 2)


def assignment_problem(x):
    goals = np.array([2.0, 1.0, 1.4, 0.6])
    cost = (x[:, None] - goals[None, :]) ** 2
    rows, columns = scipy.optimize.linear_sum_assignment(np.asarray(cost))
    return xp.sum(cost[rows, columns]) + 0.1 * xp.sum(x * goals[columns])


def peaks_of_signal(x):
    t = np.linspace(0.0, 4.0, 80)
    signal = x[0] * xp.sin(x[2] * t * 3) + x[1] * xp.cos(5 * t) + 0.1 * x[3] * t
    peaks, _properties = scipy.signal.find_peaks(signal)
    window = scipy.signal.get_window("hann", 80)
    print("peaks at", t[peaks])
    return xp.sum(signal[peaks]) + xp.mean(window * signal)


def kmeans_labels(x):
    points = xp.concat([x, x * 3.0, x + 5.0])[:, None]
    seeds = np.array([[1.0], [4.0], [7.0]])
    fit = sklearn.cluster.KMeans(3, init=seeds, n_init=1, max_iter=10).fit(np.asarray(points))
    print("inertia", fit.inertia_)
    within = xp.asarray(0.0)
    for k in range(3):
        members = points[np.flatnonzero(fit.labels_ == k)]
        within = within + xp.sum((members - xp.mean(members, axis=0)) ** 2)
    return within


def dendrogram_groups(x):
    coordinates = xp.stack([x, xp.log(x)], axis=1)
    linkage = scipy.cluster.hierarchy.linkage(np.asarray(coordinates), "average")
    groups = scipy.cluster.hierarchy.fcluster(linkage, 2, "maxclust")
    onehot = (groups[:, None] == np.array([1, 2])).astype(float)
    totals = xp.matrix_transpose(xp.asarray(onehot)) @ coordinates
    return xp.sum(totals**2)


def quadrature_cross_check(x):
    a, b = float(x[0]), float(x[1])
    reference, _ = scipy.integrate.quad(lambda t: math.exp(-a * t) * math.cos(b * t), 0, 1)
    nodes, weights = np.polynomial.legendre.leggauss(12)
    t, w = 0.5 * (nodes + 1), 0.5 * weights
    value = xp.sum(w * xp.exp(-x[0] * t) * xp.cos(x[1] * t))
    assert abs(float(value) - reference) < 1e-10
    return value * x[2] / x[3]


def gradient_check_inside(x):
    H = np.diag([1.0, 2.0, 3.0, 4.0]) + 0.1

    def f(v):
        return 0.5 * v @ H @ v

    error = scipy.optimize.check_grad(f, lambda v: H @ v, np.asarray(x))
    assert error < 1e-4, error
    return f(x) + xp.sum(xp.sin(x))


def tree_explains_me(x):
    rng = np.random.default_rng(7)
    X = rng.uniform(0.5, 2.0, size=(30, 4))
    scores = xp.sum(xp.asarray(X) ** 2 * x, axis=1)
    tree = sklearn.tree.DecisionTreeRegressor(max_depth=2, random_state=0).fit(X, np.asarray(scores))
    print("importances", tree.feature_importances_.round(2), "leaves", tree.get_n_leaves())
    cv = sklearn.model_selection.cross_val_score(
        sklearn.linear_model.LinearRegression(), X, np.asarray(scores), cv=3
    )
    print("linear", cv.mean())
    pivot = X[:3].mean(axis=0)
    return xp.logaddexp(xp.mean(scores), xp.sum(x * pivot))


def optimum_of_something_else(x):
    print("before", np.asarray(x).round(3))
    rosen = scipy.optimize.minimize(scipy.optimize.rosen, np.zeros(2), method="BFGS", options={"maxiter": 8})
    a, b = rosen.x
    return a * xp.sum(x[:2] ** 2) + b * xp.prod(x[2:])


def spectrum_to_look_at(x):
    n = np.arange(32)
    series = x[0] * xp.sin(0.4 * n) + x[1] * xp.sin(1.2 * n) + x[2]
    amplitudes = np.abs(scipy.fft.rfft(np.asarray(series - xp.mean(series))))
    dominant = int(np.argmax(amplitudes))
    basis = np.cos(2 * np.pi * dominant * n / 32)
    print("dominant bin", dominant)
    return (basis @ series) ** 2 / 100 + x[3] * xp.std(series)


def neighbours_vote(x):
    train = np.random.default_rng(9).uniform(0.5, 2.0, size=(20, 4))
    labels = (train.sum(axis=1) > 5).astype(int)
    knn = sklearn.neighbors.KNeighborsClassifier(3).fit(train, labels)
    (verdict,) = knn.predict(np.asarray(x)[None, :])
    _, ((nearest, *_),) = knn.kneighbors(np.asarray(x)[None, :])
    prototype = (np.array([1.0, 1.0, 1.0, 1.0]), np.array([1.5, 1.4, 1.3, 1.2]))[verdict]
    return xp.sum((x - prototype) ** 2) + 0.2 * xp.linalg.vector_norm(x - train[nearest])


# --- concurrency --------------------------------------------------------------------------------


def logged_by_a_thread(x):
    inbox, written = queue.SimpleQueue(), []

    def writer():
        for message in iter(inbox.get, None):
            written.append(f"{message:.3f}")

    thread = threading.Thread(target=writer, daemon=True)
    thread.start()
    y = x
    for damping in (0.9, 0.8, 0.7):
        y = y * damping + xp.sin(y) * (1 - damping)
        inbox.put(float(xp.sum(y)))
    inbox.put(None)
    thread.join()
    print(written)
    return xp.sum(y * np.array([2.0, -1.0, 0.5, 3.0]))


def monitored_by_a_coroutine(x):
    status = {}

    async def monitor(channel):
        async for step, value in channel:
            status[step] = round(value, 3)

    async def solve():
        nonlocal result
        for step in range(4):
            result = 0.5 * (result + x / result)
            await asyncio.sleep(0)
            yield step, result[0].item()

    result = xp.ones(4)
    asyncio.run(monitor(solve()))
    print(status)
    return xp.sum(result) * 1.25


def pool_for_the_plots(x):
    curve = xp.asarray(np.linspace(0, 1, 20)) * x[0] + x[1]

    def render(data, width):
        lo, hi = data.min(), data.max()
        return ["#" * int((v - lo) / (hi - lo) * width) for v in data]

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pictures = [pool.submit(render, np.array(curve), w) for w in (5, 10)]
        simpson = np.array([1.0] + [4.0, 2.0] * 9 + [1.0]) / 60
        area = xp.sum(simpson * curve**2)
        print(sum(len(p.result()) for p in pictures))
    return area + x[2] * x[3]


# --- language features --------------------------------------------------------------------------


def _traced(fn):
    depth = itertools.count()

    @functools.wraps(fn)
    def wrapper(*args):
        shown = ", ".join(f"{float(xp.mean(a)):.3g}" if isinstance(a, xp.Array) else repr(a) for a in args)
        print(f"[{next(depth)}] {fn.__name__}({shown})")
        result = fn(*args)
        print(f" -> {result!s:.40}")
        return result

    return wrapper


def decorated_with_a_tracer(x):
    @_traced
    def layer(v, scale):
        return xp.tanh(v * scale) + 0.1 * v

    out = x
    for scale in np.geomspace(0.5, 2.0, 3):
        out = layer(out, float(scale))
    return xp.sum(out)


class _Spring:
    """Shows itself with numbers; computes with Arrays."""

    live = weakref.WeakSet()

    def __init__(self, k, rest):
        self.k, self.rest = k, rest
        _Spring.live.add(self)

    def __repr__(self):
        return f"<Spring k={float(self.k):.3f} rest={self.rest}>"

    def __format__(self, spec):
        return format(float(self.k), spec or ".2f")

    def __lt__(self, other):
        return float(self.k) < float(other.k)

    def __add__(self, other):
        return _Spring(self.k + other.k, 0.5 * (self.rest + other.rest))

    def __or__(self, other):
        return _Spring(self.k * other.k / (self.k + other.k), self.rest + other.rest)

    def energy(self, length):
        return 0.5 * self.k * (length - self.rest) ** 2


def network_of_springs(x):
    springs = [_Spring(k, rest) for k, rest in zip(x, (0.1, 0.2, 0.3, 0.4))]
    springs.sort()
    print(springs, f"{springs[0]:.1e}", len(_Spring.live) > 0)
    a, b, c, d = springs
    return ((a + b) | (c + d)).energy(length=1.7)


class _Meter:
    """A context manager for book-keeping."""

    def __init__(self):
        self.rows = []

    @contextlib.contextmanager
    def section(self, name, *watched):
        start = time.perf_counter()
        before = [float(xp.sum(w)) for w in watched]
        yield
        self.rows.append((name, before, time.perf_counter() - start))


def metered_sections(x):
    meter = _Meter()
    with meter.section("features", x):
        features = xp.stack([x**k for k in range(3)])
    with meter.section("projection", features, x):
        P = np.random.default_rng(10).normal(size=(5, 3))
        projected = P @ features
    print([(name, before) for name, before, _ in meter.rows])
    return xp.sum(xp.log1p(projected**2))


def running_statistics_on_the_side(x):
    stats = helpers.RunningStats()
    bus = helpers.EventBus()

    @bus.on("step")
    def remember(value):
        stats.push(value)

    y = xp.ones(4)
    for dt in [0.1] * 5:
        y = y + dt * (x * y - 0.3 * y**2)
        for component in y:
            bus.emit("step", component)
    print(stats)
    return y @ np.array([0.25, 0.5, 0.75, 1.0])


def exact_arithmetic_elsewhere(x):
    print(decimal.Decimal(float(x[0])).quantize(decimal.Decimal("0.001")), fractions.Fraction(float(x[1])))
    bernoulli = [fractions.Fraction(1, 6), fractions.Fraction(-1, 30), fractions.Fraction(1, 42)]
    series = sum(float(b) / (2 * k * (2 * k - 1)) / x ** (2 * k - 1) for k, b in enumerate(bernoulli, 1))
    return xp.sum((x - 0.5) * xp.log(x) - x + series)


def generator_pipeline(x):
    """source | tap | window | sink"""
    noise = iter(np.random.default_rng(13).normal(scale=0.1, size=40))

    def source():
        for k in range(12):
            yield x[k % 4] * math.cos(k) + next(noise)

    def tap(stream, into):
        for v in stream:
            into.append(v.item())
            yield v

    def window(stream, n):
        held = collections.deque(maxlen=n)
        for v in stream:
            held.append(v)
            if len(held) == n:
                yield sum(held) / n

    seen = array.array("d")
    total = xp.asarray(0.0)
    for w in window(tap(source(), seen), 3):
        total = total + w**2
    print(len(seen), min(seen), max(seen))
    return total


def structured_inventory(x):
    dtype = [("name", "U8"), ("mass", "f8"), ("measured", "f8")]
    inventory = np.zeros(4, dtype=dtype)
    inventory["name"] = ["bolt", "nut", "gear", "axle"]
    inventory["mass"] = [0.2, 0.1, 1.5, 3.0]
    inventory["measured"] = np.asarray(x)
    for row in np.sort(inventory, order="measured"):
        print(f"{row['name']:<6}{row['measured']:.2f}")
    return xp.sum(xp.asarray(inventory["mass"].copy()) * x**2) * 0.5


def assembled_stiffness(x):
    """Bars in a row, one fixed end; the report is of the condition number."""
    K = xp.zeros((4, 4))
    local = np.array([[1.0, -1.0], [-1.0, 1.0]])
    for e in range(3):
        K[e : e + 2, e : e + 2] += x[e] * local
    K[0, 0] += x[3]
    condition = np.linalg.cond(np.asarray(K))
    lu_rank = scipy.linalg.svdvals(K)
    print(f"cond {condition:.1f}, smallest singular value {lu_rank[-1]:.3f}")
    load = np.zeros(4)
    load[-1] = 1.0
    return load @ xp.linalg.solve(K, xp.asarray(load))


def power_iteration_with_rayleigh(x):
    A = xp.asarray(np.eye(4)) * x + 0.2
    v = xp.ones(4) / 2.0
    quotient, log = None, []
    for _ in range(200):
        v = A @ v
        v = v / xp.linalg.vector_norm(v)
        new = float(v @ A @ v)
        log.append(new)
        if quotient is not None and abs(new - quotient) < 1e-14:
            break
        quotient = new
    exact = scipy.linalg.eigvalsh(np.asarray(A), subset_by_index=[3, 3])
    print(len(log) > 1, abs(log[-1] - exact[0]) < 1e-8)
    return v @ A @ v
