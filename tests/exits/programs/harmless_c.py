"""Programs in which values leave to be looked at, and unrelated constants enter afterwards."""

import bisect
import collections
import contextlib
import copy
import csv
import dataclasses
import decimal
import functools
import hashlib
import heapq
import io
import itertools
import json
import logging
import math
import operator
import pickle
import pprint
import sqlite3
import statistics
import string
import struct
import textwrap
import types
import typing
import warnings

import matplotlib

matplotlib.use("Agg")

import numpy as np
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.optimize
import scipy.signal
import scipy.sparse
import scipy.spatial
import scipy.special
import scipy.stats
import sklearn.metrics
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression
from sklearn.preprocessing import StandardScaler

import arraytape as xp
import c_helpers as _h
import c_models as _m


def body_with_a_journal(x):
    body = _m.Body(mass=x[0], position=x[1], velocity=x[2], stiffness=1.5, drag=0.3)
    for dt in np.full(6, 0.1):
        body.step(dt)
    assert len(body.journal) == 6 and all(math.isfinite(r["pos"]) for r in body.journal)
    return body.energy + x[3] * body.position * np.float64(0.7)


def checked_descriptor(x):
    class Disc(_m.Wheel):
        radius = _h.Positive()

    disc = Disc(x[0], x[1])
    try:
        disc.width = -disc.width
    except ValueError as error:
        message = str(error)
    else:
        raise AssertionError
    return disc.volume * 8.0 + np.asarray([0.5, 2.0]) @ x[2:] + (0.5 if "positive" in message else 0.0)


def kalman_with_innovation_log(x):
    f = _m.Kalman()
    final = f.run(_m.FilterState(x[0], x[1]), [x[2], x[3], 0.5, *np.linspace(0.1, 0.4, 3).tolist()])
    rms = math.sqrt(statistics.fmean(v * v for v in f.innovations))
    logging.getLogger("c.kalman").debug("rms %.3f", rms)
    return final.mean + 3.0 * final.var


def kalman_gated_outlier(x):
    f = _m.GatedKalman(q=0.05)
    state = _m.FilterState(x[0], x[1])
    for z in (x[2], 40.0, x[3], -30.0, 1.25):
        state = f.update(f.predict(state), z)
    mean, var, _ = state
    return mean * var if sum(map(math.isnan, f.innovations)) == 2 else mean


def rk4_with_norm_log(x):
    field = np.asarray([[0.0, 1.0, 0.0, 0.0], [-1.0, 0.0, 0.2, 0.0], [0.0, 0.0, -0.3, 0.1], [0.1, 0.0, 0.0, -0.2]])
    stepper = _m.RK4(lambda t, y: field @ y + math.sin(t))
    end = stepper.integrate(x, n=5)
    assert stepper.log.summary().startswith("norm=")
    return xp.sum(end**2)


def halving_step_controller(x):
    solver = _m.Halving(lambda t, y: -y * y + 0.3 * t, tol=4e-3)
    end = solver.integrate(x)
    worst = max(err for *_, err in solver.accepted)
    table = [f"{t:.3f} {h:.4f} {e:.2e}" for t, h, e in solver.accepted]
    return xp.sum(end * np.arange(1.0, 5.0)) if worst < 1 and table else xp.sum(end)


def optimizer_checkpoint_written_only(x):
    opt, p, saved = _m.Momentum(lr=0.05), 0.5 * x**2, io.BytesIO()
    targets = np.asarray([1.0, -1.0, 0.5, 0.25])
    for _ in range(4):
        p = opt.step(p, 2.0 * (p - targets * x))
        pickle.dump(opt.state_dict(), saved)
    assert saved.tell() > 100
    return xp.sum(p**2)


def optimizer_restored_hyperparameters(x):
    first = _m.Momentum(lr=0.07, beta=0.5)
    p = first.step(x, x**3)
    state = {k: v for k, v in first.state_dict().items() if k != "velocity"}
    second = _m.Momentum().load_state_dict(json.loads(json.dumps(state)))
    for _ in range(second.steps + 2):
        p = second.step(p, p**3)
    return xp.sum(p * xp.asarray(np.geomspace(1.0, 8.0, 4)))


def plateau_schedule(x):
    schedule, p, rates = _m.PlateauSchedule(0.6, patience=0), x, []
    for _ in range(6):
        rates.append(lr := schedule.step(loss := xp.sum((p - 0.2) ** 2)))
        p = p - lr * 2.0 * (p - 0.2) * np.asarray([1.0, 1.9, 0.5, 0.3])
    return loss + xp.sum(p * min(rates))


def pipeline_with_audit(x):
    audit = []
    pipe = _m.Pipe(_m.Center(), _m.Poly(0.5, 1.0, 0.2), _m.MinMax(), audit=audit)
    z = pipe.transform(x)
    names, means, dumps = zip(*audit, strict=True)
    assert names[-1] == "MinMax" and all(map(math.isfinite, means)) and len(dumps[0]) == 4
    return xp.sum(z**3 * np.asarray([1.0, 2.0, 3.0, 4.0]))


def inverse_transform_as_an_assertion(x):
    scaler = _m.MinMax()
    z = scaler.fit_transform(x)
    back = scaler.inverse_transform(z)
    assert np.allclose(np.asarray(back), np.asarray(x))
    scaler.feature_range_ = (-1.0, 1.0)
    return xp.sum(scaler.inverse_transform(z) ** 2)


def rendered_expression(x):
    env = dict(zip("abcd", x, strict=True))
    a, b, c, d = map(_m.Name, env)
    tree = _m.Sine(a * b + _m.Const(0.5)) * c + d * _m.Const(2.5)
    text = tree.accept(_m.Render(env))
    assert text.count("=") == 4
    return tree.accept(_m.Evaluate(env))


def folding_unrelated_names(x):
    gravity, table = 9.81, {"g": 9.81, "k": np.float64(0.3)}
    a, g, k = _m.Name("a"), _m.Name("g"), _m.Name("k")
    tree = (g * k + _m.Const(1.0)) * _m.Sine(a * k)
    report = tree.accept(_m.Render({"a": x[0], "g": gravity, "k": 0.3}))
    folded = tree.accept(_m.Fold(table))
    return sum(folded.accept(_m.Evaluate({"a": v})) for v in x) * (1 if "a=1.12" in report else 2)


def kettle_state_machine(x):
    kettle, log = _m.Kettle(x[0], target=3.2), []
    while kettle.tick():
        log.append((kettle.phase.value, kettle.history[-1]))
    else:
        log.append(("end", kettle.set_point))
    plan = dict.fromkeys((name for name, _ in log), 0.25)
    return kettle.celsius * plan["hold"] + xp.sum(x**2)


def tracer_used_for_counting(x):
    class Sensor:
        gain = np.asarray([0.5, 1.0, 1.5, 2.0])

        def read(self, v):
            return xp.sum(xp.sqrt(v) * self.gain)

    sensor = _h.Tracer(Sensor())
    readings = [sensor.read(x * k) for k in (0.5, 1.0, 2.0)]
    ordered = sorted(sensor.calls, key=operator.itemgetter(1))
    assert len(ordered) == len(readings)
    return functools.reduce(operator.mul, readings) * 0.01


def rpc_for_a_lookup_of_constants(x):
    class Service:
        _table = types.MappingProxyType({"steel": 7.85, "brass": 8.5})

        def audit(self, v):
            return len(v)

        def density(self, name):
            return self._table[name]

    remote = _h.Rpc(Service())
    assert remote.audit(x * 2.0) == 4
    return xp.sum(x**3) * remote.density("steel") + remote.density("brass") * x[0]


def memo_keeps_recorded_values(x):
    wave = _h.Memo(lambda v: xp.sin(v) * np.asarray([1.0, -1.0, 2.0, 0.5]))
    total = xp.sum(wave(x)) + xp.sum(wave(x) * x)
    assert wave.hits == 1 and len(next(iter(wave.store))) == 4
    return total


def quantity_comparison_and_repr(x):
    legs = [_h.Quantity(v, unit) for v, unit in zip(x, ("m", "cm", "km", "m"), strict=True)]
    longest = max(legs)
    labels = [repr(q) for q in legs if q.unit == "m"]
    total = functools.reduce(operator.add, legs, _h.Quantity.parse("2.5 km"))
    return total.to("km").value + longest.to("km").value * len(labels)


def csv_export_then_import_of_another(x):
    exported = _h.Table(t=np.arange(4.0), v=x * x).to_csv()
    lines = exported.splitlines()
    calibration = _h.Table.from_csv("k,b\n1.5,0.1\n0.5,0.2\n2.5,0.3\n1.0,0.4\n")
    assert len(lines) == 5
    return xp.sum(x * calibration["k"] + calibration["b"] * x**2)


def describe_then_weight(x):
    table = _h.Table(raw=x, logs=xp.log(x))
    digest = json.dumps(table.describe(), sort_keys=True)
    weights = np.array([float(w) for w in "1.0 0.5 0.25 0.125".split()])
    return xp.vecdot(table["logs"], xp.asarray(weights)) + (0.0 if "mean" in digest else 1.0)


def event_loop_orders_payloads(x):
    loop, done, period = _h.EventLoop(), [], 0.5

    def handle(loop, event):
        done.append(event.payload)
        if loop.now < 1.0:
            loop.at(loop.now + period, event.payload * 0.5)

    for v in x:
        loop.at(v, xp.exp(-v))
    loop.run(handle)
    return functools.reduce(lambda acc, v: 0.8 * acc + v, done)


def section_times_and_reports(x):
    metrics = _h.Metrics()
    with _h.Section("fit", metrics) as s:
        y = s.report(xp.cos(x) * 2.0)
    with _h.Section("score", metrics):
        z = y * np.asarray([0.1, 0.2, 0.3, 0.4])
    assert s.elapsed >= 0 and metrics.last("fit") == s.result
    return xp.sum(z * x)


def clip_by_exact_norm(x):
    target = np.asarray([1.0, 0.5, -1.0, 2.0])
    g, trail = x * x, []
    for limit in (3.0, 100.0, 2.0):
        trail.append(float(xp.linalg.vector_norm(g)))
        g = _h._clip_norm(g, limit)
    assert trail[0] > trail[-1]
    return xp.sum(g * target)


def peak_index_through_tuples(x):
    def locate(v):
        return _h._find_peak(v), v.shape[0]

    (index, height, label), n = locate(x * xp.asarray([1.0, 2.0, 1.0, 1.0]))
    window = np.hanning(n + 2)[1:-1]
    assert label.startswith(f"#{index}")
    return height * x[(index + 1) % n] + xp.sum(x * window)


def composed_taps(x):
    seen = []
    chain = _h._compose(
        lambda v: v * 2.0,
        _h._tap(lambda v: seen.extend(v.tolist())),
        xp.log1p,
        _h._tap(lambda v: seen.append(v[0].item())),
        functools.partial(operator.mul, np.asarray([1.0, 0.0, 2.0, 3.0])),
    )
    return xp.sum(chain(x)) * (1.0 if len(seen) == 5 else math.nan)


def batches_with_a_progress_bar(x):
    push, bar = _h._running_mean(), io.StringIO()
    for step, batch in _h._batches(x, 3, np.random.default_rng(5)):
        mean = None
        for v in batch:
            mean = push(v**2)
        print(f"\r{step}: {float(mean):8.4f}", end="", file=bar)
    bias = np.random.default_rng(6).normal(size=4)
    return mean + xp.sum(x * bias)


def figure_of_the_values(x):
    y = xp.tanh(x)
    figure = Figure(figsize=(1, 1), dpi=30)
    axes = figure.add_axes((0.1, 0.1, 0.8, 0.8))
    (line,) = axes.plot(np.arange(4), y)
    axes.set_axis_off()
    FigureCanvasAgg(figure).draw()
    assert max(np.asarray(line.get_ydata()).tolist()) < 1.0
    return xp.sum(y * np.asarray(line.get_xdata(), dtype=float))


def rendered_figure_with_a_label(x):
    figure = Figure(figsize=(0.8, 0.8), dpi=20)
    canvas = FigureCanvasAgg(figure)
    figure.text(0.1, 0.5, f"{x[0]:.2f}")
    canvas.draw()
    width, height = canvas.get_width_height()
    return xp.sum(x**2) / width + x[1] * height


def scatter_of_arrays_straight(x):
    figure = Figure(figsize=(1, 1), dpi=20)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    points = axes.scatter(x, x**2, s=[4.0, 9.0, 16.0, 25.0])
    sizes = points.get_sizes()
    return xp.sum(xp.sqrt(x) * sizes)


def ks_test_as_a_guard(x):
    residual = x - xp.mean(x)
    outcome = scipy.stats.kstest(np.asarray(residual), "norm")
    prior = scipy.stats.norm(0.5, 2.0).pdf(np.linspace(-1.0, 1.0, 4))
    return xp.sum(residual**2 * prior) if outcome.pvalue > 1e-6 else xp.sum(x)


def describe_statistics_of_an_array(x):
    summary = scipy.stats.describe(np.array(x))
    assert summary.nobs == 4 and summary.minmax[0] > 0
    grid = scipy.stats.norm.ppf([0.2, 0.4, 0.6, 0.8])
    return xp.sum(xp.exp(x * grid))


def assignment_problem_picks_pairs(x):
    cost = abs(x[:, None] - np.asarray([2.0, 1.2, 1.0, 0.5])[None, :])
    rows, columns = scipy.optimize.linear_sum_assignment(cost)
    w = np.asarray([1.0, 0.5, 2.0, 1.5])
    return functools.reduce(operator.add, (w[int(i)] * cost[int(i), int(j)] ** 2 for i, j in zip(rows, columns, strict=True)))


def find_peaks_indices(x):
    signal = xp.concat([xp.zeros(1), x * np.asarray([1.0, 3.0, 1.0, 2.0]), xp.zeros(1)])
    peaks, _ = scipy.signal.find_peaks(np.asarray(signal))
    kernel = scipy.signal.windows.gaussian(6, 1.5)
    return sum(signal[int(p)] for p in peaks) ** 2 + xp.sum(signal * kernel)


def nearest_neighbour_tree(x):
    anchors = np.asarray([[0.5], [1.0], [1.5], [2.0]])
    tree = scipy.spatial.cKDTree(anchors)
    _, nearest = tree.query(x[:, None])
    return xp.sum((x - anchors[nearest, 0]) ** 2 * np.arange(1.0, 5.0))


def quadrature_rule_after_logging(x):
    log = [x.tolist()]
    nodes, weights = scipy.special.roots_legendre(5)
    values = [xp.sum(xp.exp(-x * (t + 1.0))) * w for t, w in zip(nodes.tolist(), weights.tolist(), strict=True)]
    log.append(float(values[-1]))
    return sum(values[1:], values[0])


def root_found_of_a_constant_equation(x):
    trace = []
    root = scipy.optimize.brentq(lambda v: (trace.append(x[0].item()), v * v - 2.0)[1], 0.0, 2.0)
    assert len(set(trace)) == 1
    return xp.sum(x**2) * root


def condition_number_report(x):
    a = xp.eye(4) * 5.0 + x[:, None] * x[None, :]
    singular = scipy.linalg.svdvals(np.asarray(a))
    if (cond := singular[0] / singular[-1]) > 1e8:
        warnings.warn(f"ill-conditioned: {cond:.1e}", stacklevel=2)
    rhs = scipy.linalg.hilbert(4)[0]
    return xp.sum(xp.linalg.solve(a, xp.asarray(rhs)) * x)


def sparse_laplacian_applied(x):
    snapshot = scipy.sparse.csr_array(np.asarray(x)[None, :])
    assert snapshot.nnz == 4
    laplacian = scipy.sparse.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(4, 4)).toarray()
    return x @ (laplacian @ x)


def reference_solution_compared(x):
    solver = _m.RK4(lambda t, y: -y + 0.1)
    end = solver.integrate(x, n=8)
    reference = scipy.integrate.solve_ivp(lambda t, y: -y + 0.1, (0.0, 1.0), np.asarray(x), rtol=1e-8)
    assert np.max(np.abs(reference.y[:, -1] - np.asarray(end))) < 1e-3
    end_time = reference.t[-1] * 2.0
    return xp.sum(end**2) * 0.5 + end_time * x[0]


def spline_of_constants_with_a_bounds_check(x):
    knots = np.linspace(0.0, 3.0, 6)
    spline = scipy.interpolate.CubicSpline(knots, np.sin(knots))
    if not (knots[0] <= min(x.tolist()) and max(x.tolist()) <= knots[-1]):
        raise ValueError("outside")
    cells = np.clip(np.searchsorted(knots, np.asarray(x)) - 1, 0, 4)
    c3, c2, c1, c0 = spline.c[:, cells]
    s = x - knots[cells]
    return xp.sum(((c3 * s + c2) * s + c1) * s + c0)


def scores_printed_by_sklearn(x):
    truth = np.asarray([1.0, 0.8, 2.0, 1.3])
    prediction = 0.9 * x + 0.1
    seen = {"mse": sklearn.metrics.mean_squared_error(truth, np.asarray(prediction)), "r2": sklearn.metrics.r2_score(truth, prediction.tolist())}
    assert seen["mse"] >= 0 and seen["r2"] <= 1
    return xp.mean((prediction - truth) ** 2)


def clusters_as_labels(x):
    found = KMeans(2, n_init=1, init=np.asarray([[0.9], [2.0]]), max_iter=5).fit(np.asarray(x)[:, None])
    groups = collections.defaultdict(list)
    for label, v in zip(found.labels_.tolist(), x, strict=True):
        groups[label].append(v)
    return sum(sum(g) ** 2 * 0.5 / len(g) for g in groups.values()) + x[0] * np.float64(0.25)


def scaler_fitted_on_training_data(x):
    train = np.random.default_rng(11).normal(1.0, 0.5, size=(20, 1))
    scaler = StandardScaler().fit(train)
    drift = abs(float(xp.mean(x)) - scaler.mean_[0]) / scaler.scale_[0]
    z = (x - scaler.mean_[0]) / scaler.scale_[0]
    return xp.sum(z**3) if drift < 50 else xp.sum(z)


def regression_fitted_for_a_report(x):
    t = np.arange(4.0)
    model = LinearRegression().fit(t[:, None], x)
    caption = f"slope {model.coef_[0]:+.3f}, intercept {model.intercept_:+.3f}"
    model.fit(t[:, None], t**2)
    return xp.sum(x * model.predict(t[:, None])) + (1.5 if caption.startswith("slope") else 0.5) * x[0]


def principal_axis_of_constants(x):
    explained = PCA(1).fit(np.outer(np.arange(4.0), np.asarray(x))).explained_variance_ratio_
    axes = PCA(2).fit(np.random.default_rng(2).normal(size=(12, 4))).components_
    scores = xp.asarray(np.abs(axes)) @ x
    return xp.sum(scores**2) if explained[0] > 0.5 else xp.sum(scores)


def buffer_reused_for_constants(x):
    work = np.empty(4)
    np.multiply(np.asarray(x), 2.0, out=work)
    peak = work.max()
    np.copyto(work, [0.5, 1.5, 2.5, 3.5])
    np.negative(work, out=work)
    return xp.sum(xp.exp(x * work / 4.0)) if peak < 100 else xp.sum(x)


def buffered_layer_compared(x):
    layer = _m.Layer(np.linspace(-0.5, 0.5, 16).reshape(4, 4), np.full(4, 0.1))
    fast, slow = layer.forward_buffered(x), layer.forward(x)
    np.testing.assert_allclose(fast, np.asarray(slow), rtol=1e-12)
    layer.b = layer.buffer = np.full(4, -0.2)
    return xp.sum(layer.forward(slow) ** 2)


def bisection_of_a_breakpoint_table(x):
    edges, rates = (0.0, 0.9, 1.2, 1.6), (0.10, 0.15, 0.22, 0.31)

    def tax(v):
        i = bisect.bisect_right(edges, float(v)) - 1
        owed = sum(r * (hi - lo) for r, lo, hi in zip(rates[:i], edges, edges[1:]))
        return owed + rates[i] * (v - edges[i])

    return functools.reduce(operator.add, map(tax, x)) ** 2


def line_search_with_backtracking(x):
    f = lambda p: xp.sum(p**4 - p**2)
    p = x
    for _ in range(3):
        g, t, now = 4.0 * p**3 - 2.0 * p, 1.0, float(f(p))
        while (trial := f(p - t * g).item()) > now - 1e-4 * t * float(xp.sum(g * g)):
            t *= 0.5
        else:
            p = p - t * g
        assert trial < now
    return xp.sum(p * np.asarray([1.0, 2.0, 3.0, 4.0]))


def newton_with_a_stopping_test(x):
    y = xp.ones(4)
    for iteration in itertools.count():
        residual = y**3 + x * y - 2.0
        if np.max(np.abs(np.asarray(residual))) < 1e-12 or iteration > 30:
            break
        y = y - residual / (3.0 * y**2 + x)
    return xp.sum(y * np.linspace(1.0, 2.0, 4))


def checksum_in_a_manifest(x):
    y = xp.cumulative_sum(x)
    digest = hashlib.sha256(struct.pack("<4d", *y.tolist())).hexdigest()
    manifest = {"sha256": digest, "scale": "0.125"}
    assert all(c in string.hexdigits for c in manifest["sha256"])
    return xp.sum(y**2) * float(manifest["scale"])


def decimal_receipt_with_constant_fees(x):
    lines = [f"{decimal.Decimal(repr(v)).quantize(decimal.Decimal('0.01'))}" for v in x.tolist()]
    fee = float(decimal.Decimal("1.10") * decimal.Decimal("0.3"))
    receipt = textwrap.indent("\n".join(lines), "  ")
    return xp.prod(x + fee) if receipt else xp.sum(x)


def sqlite_with_two_tables(x):
    with contextlib.closing(sqlite3.connect(":memory:")) as db:
        db.execute("create table seen (v real)")
        db.execute("create table price (k text, v real)")
        db.executemany("insert into seen values (?)", ((v,) for v in x.tolist()))
        db.executemany("insert into price values (?, ?)", [("a", 1.5), ("b", 0.25)])
        (n,) = db.execute("select count(*) from seen where v > 0.5").fetchone()
        prices = dict(db.execute("select k, v from price"))
    return xp.sum(x) * prices["a"] + x[n - 1] ** 2 * prices["b"]


def numpy_sort_order_then_weights(x):
    order = np.argsort(-np.asarray(x), kind="stable")
    picked = xp.stack([x[int(i)] for i in order])
    discount = 1.0 / np.log2(np.arange(2.0, 6.0))
    return xp.sum(picked**2 * discount)


def mask_computed_by_numpy(x):
    host = np.array(x)
    mask = (host > 1.0) & (host < 1.9)
    fallback = np.where(np.arange(4) % 2 == 0, 0.5, -0.5)
    return xp.sum(xp.where(xp.asarray(mask), x**3, x * fallback))


def discarded_diagnostics_come_back(x):
    @dataclasses.dataclass
    class Report:
        loss: typing.Any
        smoothed: typing.Any = None

        def __post_init__(self):
            self.smoothed = xp.asarray(np.convolve(np.ones(2) / 2, self.loss.tolist(), "valid"))

    report = Report(xp.log(x) ** 2)
    report.smoothed *= 2.0
    assert float(xp.sum(report.smoothed)) > 0
    return xp.sum(report.loss * np.asarray([2.0, 1.0, 1.0, 2.0]))


def overwritten_after_host_values_were_stored(x):
    out = xp.zeros(4)
    for i, v in enumerate(x):
        out[i] = float(v)
    assert xp.all(out > 0)
    for i, (v, w) in enumerate(zip(x, (0.1, 0.2, 0.3, 0.4), strict=True)):
        out[i] = xp.sin(v) * w
    return xp.sum(out * out)


def history_slot_replaced_by_a_constant(x):
    class History(collections.UserDict):
        def __missing__(self, key):
            self.data[key] = -1.0
            return self.data[key]

    history = History(best=x[2].item(), mean=float(xp.mean(x)))
    shown = pprint.pformat({k: round(v, 3) for k, v in history.items()})
    history |= {"best": 0.75}
    del history["mean"]
    return xp.sum(x ** history["best"]) + history["mean"] * x[0] if "best" in shown else x[0]


def top_k_heap_of_items(x):
    heap = [(-v.item(), i) for i, v in enumerate(x)]
    heapq.heapify(heap)
    (_, first), (_, second) = heapq.heappop(heap), heapq.heappop(heap)
    bonus = dict(enumerate(np.asarray([0.1, 0.2, 0.3, 0.4]).tolist()))
    return x[first] * (1.0 + bonus[first]) * x[second] ** (1.0 + bonus[second])


def validated_copy_with_csv_sniffing(x):
    sink = io.StringIO()
    with contextlib.redirect_stdout(sink):
        print(*x.tolist(), sep=",")
        print("0.5,0.25,2.0,4.0")
    _, constants = csv.reader(sink.getvalue().splitlines())
    *gains, last = map(float, constants)
    state = copy.copy({"gains": gains, "x": x})
    return sum(g * v**2 for g, v in zip(state["gains"], state["x"])) + last * x[3]
