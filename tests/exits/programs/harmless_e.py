"""Fifty programs in which values leave the tape and no part of the gradient is lost."""

import asyncio
import bisect
import collections
import contextlib
import csv
import dataclasses
import decimal
import functools
import heapq
import io
import itertools
import json
import logging
import math
import os
import pickle
import queue
import sqlite3
import statistics
import string
import struct
import tempfile
import threading
import time
import unittest
import warnings

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import scipy.linalg
import scipy.optimize
import scipy.spatial
import scipy.stats
import sklearn.cluster
import sklearn.metrics
import tabulate
import tqdm

import arraytape as xp


def logged_regression(x):
    log = logging.getLogger("blind.regression")
    log.propagate = False
    log.setLevel(logging.DEBUG)
    handler = logging.StreamHandler(io.StringIO())
    log.addHandler(handler)
    try:
        t = np.linspace(0.0, 1.0, 9)
        observed = np.sin(3.0 * t)
        predicted = x[0] * t + x[1] * t**2 - x[2] * t**3 + x[3]
        residual = predicted - observed
        loss = xp.mean(residual**2)
        log.info("loss %.6f, worst residual %.4f", loss.item(), float(xp.max(xp.abs(residual))))
        log.debug("residuals: %s", np.asarray(residual))
        return loss
    finally:
        log.removeHandler(handler)


def early_stopping(x):
    A = np.array([[2.0, 0.3, 0.0, 0.1], [0.3, 1.5, 0.2, 0.0], [0.0, 0.2, 1.2, 0.4], [0.1, 0.0, 0.4, 1.8]])
    w = xp.zeros(4)
    best, patience = math.inf, 3
    for step in range(60):
        residual = A @ w - x
        w = w - 0.2 * residual
        current = float(xp.sum(residual**2))
        if current < best - 1e-3:
            best, patience = current, 3
        else:
            patience -= 1
        if patience == 0:
            break
    return xp.sum(w**2) + 0.1 * xp.sum(xp.abs(w - 0.5))


def backtracking_line_search(x):
    def objective(w):
        return xp.sum((w - x) ** 4) + 0.5 * xp.sum(w**2)

    def slope(w):
        return 4.0 * (w - x) ** 3 + w

    w = xp.zeros(4)
    for _ in range(6):
        g = slope(w)
        f0, decrease = float(objective(w)), float(xp.sum(g * g))
        alpha = 1.0
        while float(objective(w - alpha * g)) > f0 - 1e-4 * alpha * decrease:
            alpha *= 0.5
        w = w - alpha * g
    return objective(w)


def plot_of_history(x):
    history = []
    state = x * 0.5
    for _ in range(8):
        state = xp.tanh(state) + 0.1 * x
        history.append(float(xp.mean(state)))
    figure, axis = plt.subplots()
    axis.plot(range(len(history)), history, "o-")
    axis.axhline(np.mean(history), ls="--")
    axis.set_title(f"last {history[-1]:.3f}")
    figure.savefig(io.BytesIO(), format="png")
    plt.close(figure)
    return xp.sum(state**2)


def csv_report(x):
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["layer", "mean", "std", "max"])
    h = x
    for layer in range(4):
        weight = np.random.default_rng(layer).normal(size=(4, 4)) / 2.0
        h = xp.tanh(weight @ h)
        values = np.asarray(h)
        writer.writerow([layer, values.mean(), values.std(), values.max()])
    rows = out.getvalue().splitlines()
    if len(rows) != 5:
        raise RuntimeError("incomplete report")
    return xp.sum(h * np.array([1.0, -1.0, 2.0, 0.5]))


def json_tracker(x):
    class Tracker:
        def __init__(self, folder):
            self.path = os.path.join(folder, "run.jsonl")

        def log(self, **metrics):
            with open(self.path, "a") as f:
                f.write(json.dumps(metrics) + "\n")

    with tempfile.TemporaryDirectory() as folder:
        tracker = Tracker(folder)
        momentum, position = xp.zeros(4), x
        for step in range(5):
            momentum = 0.9 * momentum - 0.05 * xp.sin(position)
            position = position + momentum
            tracker.log(step=step, energy=float(xp.sum(1.0 - xp.cos(position))), where=position.tolist())
        with open(tracker.path) as f:
            steps = [json.loads(line)["step"] for line in f]
        assert steps == [0, 1, 2, 3, 4]
    return xp.sum(1.0 - xp.cos(position))


def metrics_database(x):
    with contextlib.closing(sqlite3.connect(":memory:")) as db:
        db.execute("CREATE TABLE metrics (epoch INTEGER, name TEXT, value REAL)")
        total = 0.0
        for epoch, decay in enumerate([1.0, 0.8, 0.64, 0.512]):
            term = xp.mean(xp.exp(-decay * x)) * (1 + epoch)
            db.execute("INSERT INTO metrics VALUES (?, ?, ?)", (epoch, "loss", term.item()))
            total = total + term
        best, worst = db.execute("SELECT MIN(value), MAX(value) FROM metrics WHERE name = 'loss'").fetchone()
        print(f"epoch losses between {best:.3f} and {worst:.3f}")
    return total


def tested_softmax(x):
    def softmax(z):
        e = xp.exp(z - xp.max(z))
        return e / xp.sum(e)

    p = softmax(2.0 * x)
    np.testing.assert_allclose(np.asarray(p).sum(), 1.0, rtol=1e-12)
    np.testing.assert_array_less(0.0, np.asarray(p))
    np.testing.assert_allclose(softmax(2.0 * x + 7.0).tolist(), p.tolist(), rtol=1e-10)
    target = np.array([0.1, 0.2, 0.6, 0.1])
    return -xp.sum(target * xp.log(p))


def progress_bar(x):
    loss = 0.0
    bar = tqdm.tqdm(range(10), file=io.StringIO(), desc="epochs")
    for epoch in bar:
        phase = 0.3 * epoch
        loss = loss + xp.sum(xp.sin(x + phase) ** 2) / (1.0 + epoch)
        bar.set_postfix(loss=float(loss), lead=f"{x[0].item():.2f}")
        if not math.isfinite(float(loss)):
            bar.close()
            raise FloatingPointError("diverged")
    return loss


def pickled_checkpoint(x):
    weights = [np.eye(4) * 0.9, np.ones((4, 4)) * 0.2]
    h = x
    with tempfile.TemporaryDirectory() as folder:
        for i, w in enumerate(weights):
            h = xp.tanh(w @ h) + 0.1 * h
            with open(os.path.join(folder, f"ckpt_{i}.pkl"), "wb") as f:
                pickle.dump({"layer": i, "hidden": np.array(h), "weights": w}, f)
        size = sum(os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder))
    print(f"{size // 1024} KiB of checkpoints")
    return xp.sum(h**3)


def best_epoch_record(x):
    @dataclasses.dataclass
    class Epoch:
        number: int
        train: float
        valid: float

    epochs = []
    w = x * 0.1
    for number in range(7):
        w = w + 0.3 * (x - w)
        train = xp.mean((w - x) ** 2)
        valid = xp.mean((w - 1.0) ** 2)
        epochs.append(Epoch(number, float(train), float(valid)))
    best = min(epochs, key=lambda e: e.valid)
    print("best epoch", best.number, round(best.valid, 4))
    return valid + 0.5 * train


def plateau_detection(x):
    window = collections.deque(maxlen=3)
    z = xp.ones(4)
    for iteration in range(100):
        z = 0.5 * (z + x / z)  # Heron's square roots
        window.append(float(xp.sum(z)))
        if len(window) == 3 and max(window) - min(window) < 1e-9 * abs(statistics.fmean(window)):
            break
    return xp.sum(z * np.array([1.0, 2.0, 3.0, 4.0])) + 0.01 * xp.sum(x**2)


def printed_table(x):
    doses = [0.5, 1.0, 2.0, 4.0]
    responses = [x[0] + x[1] * d ** 1.5 / (x[2] + d ** 1.5) for d in doses]
    measured = [1.2, 1.5, 1.6, 1.9]
    rows = [(d, m, float(r), float(r) - m) for d, r, m in zip(doses, responses, measured)]
    print(tabulate.tabulate(rows, headers=["dose", "measured", "model", "difference"], floatfmt=".3f"))
    return sum((r - m) ** 2 for r, m in zip(responses, measured)) + 1e-2 * x[3] ** 2


def trimmed_loss(x):
    targets = np.array([1.0, 1.0, 0.5, 1.4])
    losses = [(x[i] - targets[i]) ** 2 for i in range(4)]
    ordered = sorted(losses, key=float)
    dropped = ordered.pop()
    print("dropped the example with loss", round(dropped.item(), 3))
    return sum(ordered) / len(ordered)


def rank_weighted(x):
    order = np.argsort(np.asarray(x))[::-1]
    weights = 1.0 / np.log2(np.arange(2, 6))
    gains = xp.take(x, xp.asarray(order.copy()))
    ideal = np.sum(weights * 3.0)
    return xp.sum(weights * (2.0**gains - 1.0)) / ideal


def outlier_filter(x):
    prediction = xp.stack([x[0] * np.exp(-0.5 * k) + x[1] for k in range(6)]) * x[2]
    observed = np.array([4.0, 2.9, 2.4, 9.0, 1.7, 1.6])
    residual = prediction - observed
    r = np.asarray(residual)
    mad = np.median(np.abs(r - np.median(r)))
    keep = np.flatnonzero(np.abs(r - np.median(r)) < 5.0 * mad)
    print(f"{len(keep)} of {len(r)} points kept")
    return sum(residual[int(i)] ** 2 for i in keep) / len(keep) + 0.1 * x[3] ** 2


def beam_of_candidates(x):
    start = xp.sum(x) * 0.0
    beam = [(0.0, 0, start)]
    counter = itertools.count(1)
    costs = [[0.3, 1.1, 0.7, 0.2], [0.9, 0.1, 0.4, 0.8], [0.6, 0.5, 1.3, 0.3]]
    for row in costs:
        grown = []
        for _, _, score in beam:
            for j, cost in enumerate(row):
                new = score + cost * x[j] ** 2
                heapq.heappush(grown, (float(new), next(counter), new))
        beam = [heapq.heappop(grown) for _ in range(3)]
    return sum(score for _, _, score in beam) / 3.0


def memoised_kernel(x):
    cache, hits = {}, 0

    def kernel(a, b):
        nonlocal hits
        key = (round(float(a), 9), round(float(b), 9))
        if key in cache:
            hits += 1
            return cache[key]
        value = xp.exp(-0.5 * (a - b) ** 2)
        cache[key] = value
        return value

    total = 0.0
    for _ in range(2):
        for i in range(4):
            for j in range(i + 1, 4):
                total = total + kernel(x[i], x[j])
    print("cache hits:", hits)
    return total


def threaded_logger(x):
    inbox, lines = queue.Queue(), []

    def write():
        while (item := inbox.get()) is not None:
            lines.append("step {:02d} loss {:.5f}".format(*item))

    writer = threading.Thread(target=write)
    writer.start()
    u = x
    for step in range(6):
        u = u - 0.1 * (u**3 - u)
        inbox.put((step, float(xp.mean(u**2))))
    inbox.put(None)
    writer.join()
    assert len(lines) == 6
    return xp.mean((u - 1.0) ** 2) + xp.mean(u)


def summary_statistics(x):
    samples = [xp.sum(x * math.cos(k)) + xp.prod(x) * math.sin(k) for k in range(12)]
    values = [s.item() for s in samples]
    mean, spread = statistics.mean(values), statistics.stdev(values)
    quartiles = statistics.quantiles(values, n=4)
    print(f"{mean:.3f} +- {spread:.3f}, quartiles {', '.join(f'{q:.2f}' for q in quartiles)}")
    return sum(xp.log1p(s**2) for s in samples)


def condition_warning(x):
    A = xp.diag(x) + 0.3 * np.ones((4, 4))
    condition = np.linalg.cond(np.asarray(A))
    if condition > 1e8:
        warnings.warn(f"ill-conditioned system ({condition:.1e})", RuntimeWarning)
        A = A + 1e-6 * np.eye(4)
    solution = xp.linalg.solve(A, xp.asarray([1.0, 2.0, 0.5, 1.0]))
    return xp.sum(solution**2)


def tax_brackets(x):
    limits = [0.8, 1.2, 1.8]
    rates = [0.1, 0.2, 0.35, 0.5]
    paid = [0.0, 0.08, 0.16, 0.37]
    tax = 0.0
    for i in range(4):
        bracket = bisect.bisect_right(limits, float(x[i]))
        floor = limits[bracket - 1] if bracket else 0.0
        tax = tax + paid[bracket] + rates[bracket] * (x[i] - floor) ** 2
    return tax


def invoice_lines(x):
    cent = decimal.Decimal("0.01")
    quantities = [3, 1, 4, 2]
    total, text = 0.0, []
    for quantity, price in zip(quantities, x):
        line = quantity * price * (0.95 if quantity > 2 else 1.0)
        shown = decimal.Decimal(repr(float(line))).quantize(cent, rounding=decimal.ROUND_HALF_UP)
        text.append(f"{quantity:>3} x {float(price):6.2f} = {shown:>8}")
        total = total + line
    text.append("total".ljust(15) + str(decimal.Decimal(repr(total.item())).quantize(cent)))
    print("\n".join(text))
    return total**2 * 0.01


def timed_sections(x):
    records = []

    @contextlib.contextmanager
    def section(name):
        result = {}
        began = time.perf_counter()
        yield result
        took = time.perf_counter() - began
        records.append((name, took, float(result["value"])))

    with section("forward") as s:
        h = xp.sum(xp.exp(0.3 * x) * np.arange(1.0, 5.0))
        s["value"] = h
    with section("loss") as s:
        loss = xp.log(h) + 0.1 * xp.sum(x**2)
        s["value"] = loss
    assert all(took >= 0.0 and math.isfinite(value) for _, took, value in records)
    return loss


def logging_decorator(x):
    calls = []

    def traced(function):
        @functools.wraps(function)
        def inner(*args):
            result = function(*args)
            calls.append(f"{function.__name__}({', '.join(f'{float(a):.3g}' for a in args)}) = {float(result):.5g}")
            return result

        return inner

    @traced
    def arrhenius(prefactor, energy):
        return prefactor * xp.exp(-energy / 0.8)

    @traced
    def yield_of(rate, seconds):
        return 1.0 - xp.exp(-rate * seconds)

    return -xp.log(yield_of(arrhenius(x[0], x[1]), x[2])) + arrhenius(x[3], x[1])


def model_with_properties(x):
    class Spring:
        def __init__(self, stiffness, damping):
            self.stiffness, self.damping = stiffness, damping

        @property
        def ratio(self):
            return self.damping / (2.0 * xp.sqrt(self.stiffness))

        @property
        def regime(self):
            r = float(self.ratio)
            return "overdamped" if r > 1.0 else "underdamped" if r < 1.0 else "critical"

        def __repr__(self):
            return f"Spring(k={float(self.stiffness):.2f}, c={float(self.damping):.2f}, {self.regime})"

    springs = [Spring(x[0], x[1]), Spring(x[3], x[2])]
    print(springs)
    return sum(s.stiffness * (1.0 - s.ratio**2) for s in springs)


def histogram_of_activations(x):
    rng = np.random.default_rng(5)
    h = x
    for _ in range(3):
        h = xp.tanh(rng.normal(size=(16, h.shape[0])) @ h / 3.0)
        counts, edges = np.histogram(np.asarray(h), bins=8, range=(-1.0, 1.0))
        saturated = (counts[0] + counts[-1]) / counts.sum()
        print("".join(" .:-=+*#%@"[min(c, 9)] for c in counts), f"{saturated:.0%} saturated")
    return xp.mean(h**2)


def monitored_scores(x):
    grid = np.linspace(-1.0, 1.0, 15)
    truth = 0.8 * grid**3 - grid + 0.2
    predicted = x[0] * grid**3 - x[1] * grid + x[2] * grid**2 + x[3]
    shown = predicted.to_numpy()
    print(
        "r2 %.3f, mae %.3f"
        % (sklearn.metrics.r2_score(truth, shown), sklearn.metrics.mean_absolute_error(truth, shown))
    )
    return xp.sqrt(xp.mean((predicted - truth) ** 2))


def normality_check(x):
    noise = np.random.default_rng(11).normal(size=30)
    t = np.linspace(0.0, 2.0, 30)
    residual = x[0] * xp.sin(x[1] * t + x[2]) + x[3] - (1.0 + 0.2 * noise)
    statistic, p_value = scipy.stats.shapiro(np.asarray(residual))
    if p_value < 1e-12:
        loss = xp.mean(xp.sqrt(1.0 + residual**2) - 1.0)
    else:
        loss = 0.5 * xp.mean(residual**2)
    logging.getLogger("blind.normality").debug("W %.3f p %.3g", statistic, p_value)
    return loss


def settings_beside_metrics(x):
    with contextlib.closing(sqlite3.connect(":memory:")) as db:
        db.execute("CREATE TABLE settings (name TEXT PRIMARY KEY, value REAL)")
        db.execute("CREATE TABLE runs (id INTEGER PRIMARY KEY, loss REAL)")
        db.executemany("INSERT INTO settings VALUES (?, ?)", [("penalty", 0.25), ("offset", 1.5)])
        settings = dict(db.execute("SELECT name, value FROM settings"))
        data_term = xp.sum((x - settings["offset"]) ** 2)
        db.execute("INSERT INTO runs (loss) VALUES (?)", (float(data_term),))
        penalty = db.execute("SELECT value FROM settings WHERE name = 'penalty'").fetchone()[0]
        loss = data_term + penalty * xp.sum(xp.abs(x))
        db.execute("INSERT INTO runs (loss) VALUES (?)", (float(loss),))
        assert db.execute("SELECT COUNT(*) FROM runs").fetchone() == (2,)
    return loss


def reduce_on_plateau(x):
    class Scheduler:
        def __init__(self, rate, factor=0.5, patience=2):
            self.rate, self.factor, self.patience = rate, factor, patience
            self.best, self.bad = float("inf"), 0

        def step(self, metric):
            if metric < self.best:
                self.best, self.bad = metric, 0
            else:
                self.bad += 1
            if self.bad >= self.patience:
                self.rate, self.bad = self.rate * self.factor, 0

    scheduler = Scheduler(1.9)
    w = xp.zeros(4)
    for _ in range(15):
        w = w - scheduler.rate * (w - x + 0.1 * xp.sin(3.0 * w))
        scheduler.step(float(xp.sum((w - x) ** 2)))
    return xp.sum(w * x)


def generator_of_iterates(x):
    def power_iteration(A, tolerance):
        v = xp.ones(4) / 2.0
        old = math.inf
        while True:
            w = A @ v
            v = w / xp.sqrt(xp.sum(w**2))
            eigenvalue = xp.sum(v * (A @ v))
            yield eigenvalue
            if abs(eigenvalue.item() - old) < tolerance:
                return
            old = eigenvalue.item()

    A = xp.diag(x) + 0.5 * xp.expand_dims(x, axis=0) * xp.expand_dims(x, axis=1)
    *_, last = itertools.islice(power_iteration(A, 1e-10), 200)
    return last


def archived_snapshots(x):
    t = np.arange(20) * 0.1
    field = xp.exp(-x[0] * t) * xp.cos(x[1] * t)
    arrays = {}
    for i in range(4):
        field = field + 0.05 * x[2] * (xp.roll(field, 1) - 2.0 * field + xp.roll(field, -1))
        arrays[f"step{i}"] = np.asarray(field, dtype=np.float32)
    with tempfile.TemporaryDirectory() as folder:
        np.savez_compressed(os.path.join(folder, "fields.npz"), **arrays)
        with np.load(os.path.join(folder, "fields.npz")) as stored:
            assert sorted(stored.files) == [f"step{i}" for i in range(4)]
            assert not np.isnan(stored["step3"]).any()
    return xp.sum(field**2) * x[3]


def callbacks_after_each_step(x):
    class Callback:
        def on_step(self, step, loss):
            return False

    class Print(Callback):
        def on_step(self, step, loss):
            if step % 5 == 0:
                print(f"[{step}] {float(loss):.4f}")

    class StopBelow(Callback):
        def __init__(self, threshold):
            self.threshold = threshold

        def on_step(self, step, loss):
            return float(loss) < self.threshold

    callbacks = [Print(), StopBelow(0.02)]
    w = xp.zeros(4)
    for step in range(40):
        w = w + 0.25 * (x - w)
        loss = xp.mean((w - x) ** 2)
        if any([c.on_step(step, loss) for c in callbacks]):
            break
    return loss + xp.mean(w)


def unit_test_inside(x):
    class LayerNormTest(unittest.TestCase):
        def runTest(self):
            values = np.asarray(normed)
            self.assertAlmostEqual(float(values.mean()), 0.0, places=9)
            self.assertAlmostEqual(float(xp.var(normed)), 1.0, places=3)
            self.assertEqual(values.shape, (4,))

    normed = (x - xp.mean(x)) / xp.sqrt(xp.var(x) + 1e-6)
    result = unittest.TestResult()
    LayerNormTest().run(result)
    if not result.wasSuccessful():
        raise AssertionError(result.failures)
    return xp.sum(normed**3) + xp.sum(normed * np.array([0.5, 1.0, -0.5, 0.2]))


def finite_guard(x):
    def guarded(name, value):
        if not np.all(np.isfinite(np.asarray(value))):
            raise FloatingPointError(f"{name} is not finite: {value}")
        return value

    z = guarded("z", xp.log(x) * 2.0 + 1.0)
    p = guarded("p", 1.0 / (1.0 + xp.exp(-z)))
    labels = np.array([1.0, 0.0, 1.0, 1.0])
    return guarded("loss", -xp.mean(labels * xp.log(p) + (1.0 - labels) * xp.log(1.0 - p)))


def huber_by_branch(x):
    delta = 0.5
    observed = [1.0, 1.5, 1.8, 0.2]
    counts = collections.Counter()
    loss = 0.0
    for value, target in zip(x, observed):
        r = value - target
        if abs(float(r)) <= delta:
            loss = loss + 0.5 * r**2
            counts["quadratic"] += 1
        else:
            loss = loss + delta * (xp.abs(r) - 0.5 * delta)
            counts["linear"] += 1
    print(dict(counts))
    return loss / sum(counts.values())


def kepler_equation(x):
    eccentricity = 0.3 * xp.tanh(x[1])
    mean_anomaly = x[0] + 0.1 * x[3]
    E = mean_anomaly
    for iteration in range(50):
        step = (E - eccentricity * xp.sin(E) - mean_anomaly) / (1.0 - eccentricity * xp.cos(E))
        E = E - step
        if np.abs(np.asarray(step)) < 1e-12:
            break
    else:
        raise RuntimeError(f"no convergence: {float(step)}")
    return x[2] * (1.0 - eccentricity * xp.cos(E))


def adaptive_integration(x):
    def rhs(y):
        return xp.stack([y[1], -x[0] * xp.sin(y[0]) - 0.2 * x[1] * y[1]])

    y, t, h, rejected = xp.stack([x[2], 0.0 * x[3]]), 0.0, 0.4, 0
    while t < 1.0 - 1e-12:
        h = min(h, 1.0 - t)
        k1 = rhs(y)
        k2 = rhs(y + h * k1)
        error = float(xp.max(xp.abs(k2 - k1))) * h / 2.0
        if error > 2e-2:
            h, rejected = h / 2.0, rejected + 1
            continue
        y, t = y + h / 2.0 * (k1 + k2), t + h
    print(rejected, "steps rejected")
    return xp.sum(y**2) * x[3]


def relative_metric_for_show(x):
    baseline = float(xp.mean((x - 1.0) ** 2))
    prediction = xp.sqrt(x) * 1.1
    loss = xp.mean((prediction - 1.0) ** 2)
    skill = 1.0 - loss / baseline
    per_item = (prediction - 1.0) ** 2 / baseline
    print(f"skill {float(skill):+.2%} (worst item {float(xp.max(per_item)):.2f})")
    return loss


def scaled_by_data(x):
    data = xp.asarray(np.random.default_rng(3).gamma(2.0, 1.5, size=(25, 4)))
    centre = np.asarray(xp.mean(data, axis=0))
    scale = float(xp.std(data))
    z = (data - centre) / scale
    scores = z @ x
    shown = np.asarray(scores)
    print(f"scores from {shown.min():.2f} to {shown.max():.2f}, data scale {scale:.2f}")
    return xp.mean(xp.log1p(xp.exp(-scores)))


def telemetry_frames(x):
    frames = bytearray()
    height, speed = 10.0 * x[0], x[1]
    for tick in range(10):
        speed = speed - 0.1 * 9.81 / 10.0 + 0.01 * x[2] * xp.abs(speed)
        height = height + 0.1 * speed
        frames += struct.pack("<Hdd", tick, float(height), float(speed))
    ticks = [fields[0] for fields in struct.iter_unpack("<Hdd", bytes(frames))]
    assert ticks == list(range(10))
    return height**2 + x[3] * speed


def asynchronous_monitor(x):
    async def monitor(reports, alarms):
        while (value := await reports.get()) is not None:
            if value > 1e6:
                alarms.append(value)

    async def train():
        reports, alarms = asyncio.Queue(), []
        watcher = asyncio.create_task(monitor(reports, alarms))
        z = x
        for _ in range(5):
            z = z + 0.1 * xp.cos(z)
            await reports.put(float(xp.sum(z)))
        await reports.put(None)
        await watcher
        if alarms:
            raise OverflowError(alarms)
        return xp.sum(z**2)

    return asyncio.run(train())


def clipping_statistics(x):
    limit, clipped, norms = 100.0, 0, []
    w = xp.zeros(4)
    for _ in range(8):
        update = x - w + 0.1 * w**2
        norm = float(xp.linalg.vector_norm(update))
        norms.append(norm)
        if norm > limit:
            clipped += 1
            update = update * (limit / xp.linalg.vector_norm(update))
        w = w + 0.2 * update
    print(f"clipped {clipped}/{len(norms)}, 90% of norms below {np.percentile(norms, 90):.3f}")
    return xp.sum(w**2)


def jitter_until_definite(x):
    points = xp.expand_dims(x, axis=1)
    K = xp.exp(-0.5 * ((points - xp.matrix_transpose(points)) / 0.7) ** 2)
    jitter = 1e-3
    while True:
        try:
            scipy.linalg.cholesky(np.asarray(K) + jitter * np.eye(4), lower=True)
            break
        except scipy.linalg.LinAlgError:
            jitter *= 10.0
    smallest = np.linalg.eigvalsh(np.asarray(K))[0]
    print(f"jitter {jitter:g}, smallest eigenvalue {smallest:.2e}")
    K = K + jitter * np.eye(4)
    y = xp.asarray([0.3, -0.2, 1.0, 0.4])
    return 0.5 * xp.sum(y * xp.linalg.solve(K, y)) + 0.5 * xp.log(xp.linalg.det(K))


def assigned_tracks(x):
    detections = np.array([[0.9, 0.1], [1.8, 0.0], [0.7, 0.2], [1.5, -0.1]])
    tracks = xp.stack([x, 0.1 * x**2], axis=1)
    difference = xp.expand_dims(tracks, axis=1) - detections[None, :, :]
    cost = xp.sum(difference**2, axis=-1)
    rows, columns = scipy.optimize.linear_sum_assignment(np.asarray(cost))
    print("assignment", columns.tolist())
    return sum(cost[int(i), int(j)] for i, j in zip(rows, columns))


def cluster_compactness(x):
    points = xp.concat([x, x * 0.5 + 3.0])
    labels = sklearn.cluster.KMeans(n_clusters=2, n_init=3, random_state=0).fit_predict(
        np.asarray(points).reshape(-1, 1)
    )
    loss = 0.0
    for label in np.unique(labels):
        members = xp.take(points, xp.asarray(np.flatnonzero(labels == label)))
        centre = xp.mean(members)
        loss = loss + xp.sum((members - centre) ** 2)
    return loss


def nearest_neighbours(x):
    positions = xp.stack([xp.cos(x), xp.sin(x) * x], axis=1)
    tree = scipy.spatial.cKDTree(np.asarray(positions))
    distances, indices = tree.query(np.asarray(positions), k=2)
    print("mean spacing", distances[:, 1].mean().round(3))
    neighbours = xp.take(positions, xp.asarray(indices[:, 1]), axis=0)
    gaps = xp.sum((positions - neighbours) ** 2, axis=1)
    return xp.mean(xp.exp(-gaps)) + 0.1 * xp.mean(positions**2)


def html_report(x):
    page = string.Template("<h1>$title</h1><p>loss: $loss</p><ul>$items</ul>")
    parts = {"data": xp.mean((x - 1.2) ** 2), "smooth": xp.sum(xp.diff(x) ** 2), "size": xp.sum(xp.abs(x))}
    weights = {"data": 1.0, "smooth": 0.1, "size": 0.01}
    loss = sum(weights[name] * part for name, part in parts.items())
    items = "".join(f"<li>{name}: {float(part):.4e} x {weights[name]}</li>" for name, part in parts.items())
    html = page.substitute(title="Run 7", loss=format(float(loss), ".5f"), items=items)
    assert html.count("<li>") == 3
    return loss


def viterbi_path(x):
    emissions = np.array([[0.2, 1.0, 0.4], [0.9, 0.3, 0.5], [0.1, 0.8, 0.7], [0.6, 0.2, 1.1]])
    scores = [[x[t] * e for e in row] for t, row in enumerate(emissions)]
    switch = 0.15
    best = [float(s) for s in scores[0]]
    pointers = []
    for t in range(1, 4):
        options = [[best[i] - (switch if i != j else 0.0) for i in range(3)] for j in range(3)]
        pointers.append([max(range(3), key=o.__getitem__) for o in options])
        best = [max(o) + float(scores[t][j]) for j, o in enumerate(options)]
    path = [max(range(3), key=best.__getitem__)]
    for back in reversed(pointers):
        path.append(back[path[-1]])
    path.reverse()
    return sum(scores[t][state] ** 2 for t, state in enumerate(path))
