"""Programs in which a number that left the tape comes back into the loss as plain data."""

import argparse
import cmath
import collections
import concurrent.futures
import configparser
import contextlib
import contextvars
import csv
import dataclasses
import decimal
import enum
import fractions
import functools
import heapq
import io
import itertools
import json
import logging
import math
import operator
import os
import pathlib
import pickle
import queue
import random
import re
import sqlite3
import statistics
import string
import struct
import tempfile
import threading
import types
import typing
import warnings
import xml.etree.ElementTree as ET

import matplotlib

matplotlib.use("Agg")
import matplotlib.figure
import numpy as np
import scipy.integrate
import scipy.interpolate
import scipy.optimize
import scipy.signal
import scipy.spatial
import scipy.special
import scipy.stats
import sklearn.linear_model
import sklearn.neighbors
import sklearn.preprocessing

import arraytape as xp


# ---------------------------------------------------------------- credit scoring
class _ScoreCard:
    def __init__(self, points):
        self.points = points
        self._offset = None

    @property
    def offset(self):
        if self._offset is None:
            self._offset = float(xp.mean(self.points))
        return self._offset

    def centred(self):
        return self.points - self.offset


def scorecard_lazy_offset(x):
    card = _ScoreCard(x * xp.asarray([1.0, 2.0, 0.5, 1.5]))
    c = card.centred()
    return xp.sum(c**3) + 0.2 * xp.sum(c)


# ---------------------------------------------------------------- config file round trip
def wing_drag_from_ini(x):
    cfg = configparser.ConfigParser()
    cfg["wing"] = {"span": repr(float(x[0] * 10)), "chord": repr(float(x[1]))}
    text = io.StringIO()
    cfg.write(text)
    back = configparser.ConfigParser()
    back.read_string(text.getvalue())
    aspect = back.getfloat("wing", "span") / back.getfloat("wing", "chord")
    cl = 0.3 * x[2]
    return 0.02 * x[3] + cl**2 / (math.pi * 0.8 * aspect) * 10 + 0.1 * x[0]


# ---------------------------------------------------------------- inventory
class _Warehouse:
    def __init__(self):
        self.db = sqlite3.connect(":memory:")
        self.db.execute("create table stock (sku text primary key, qty real, cost real)")

    def put(self, sku, qty, cost):
        self.db.execute("insert or replace into stock values (?, ?, ?)", (sku, float(qty), float(cost)))

    def value(self):
        return self.db.execute("select sum(qty * cost) from stock").fetchone()[0]

    def close(self):
        self.db.close()


def stock_value_by_sql(x):
    w = _Warehouse()
    for sku, qty, cost in zip("ab", x[:2], x[2:]):
        w.put(sku, qty, cost)
    total = w.value()
    w.close()
    holding = 0.25 * xp.sum(x[:2])
    return holding * total + xp.sum(x**2)


# ---------------------------------------------------------------- ecology
def lotka_volterra_final_state(x):
    a, b, c, d = x.tolist()

    def rhs(t, s):
        return [a * s[0] - b * s[0] * s[1], -c * s[1] + d * s[0] * s[1]]

    sol = scipy.integrate.solve_ivp(rhs, (0, 1), [1.0, 0.7], rtol=1e-9, atol=1e-10)
    prey, predator = sol.y[:, -1]
    return (x[0] / x[1] - predator) ** 2 + (x[2] / x[3] - prey) ** 2


def shannon_weighted_cover(x):
    total = x.sum().item()
    h = 0.0
    for cover in x:
        p = cover / total
        h = h - p * xp.log(p)
    return xp.exp(h)


# ---------------------------------------------------------------- astronomy
def _kepler(M, e):
    return scipy.optimize.brentq(lambda E: E - e * math.sin(E) - M, 0, 2 * math.pi, xtol=1e-13)


def transit_position(x):
    e = 0.2 * x[1]
    E = _kepler(float(x[0]), float(e))
    r = x[2] * (1 - e * math.cos(E))
    return r + 0.1 * x[3]


def magnitude_colour_catalog(x):
    Star = collections.namedtuple("Star", "name b v")
    catalog = [Star(f"HD{i}", float(b), float(v)) for i, (b, v) in enumerate(zip(x[:2], x[2:]))]
    ci = [s.b - s.v for s in catalog]
    temps = [4600 * (1 / (0.92 * c + 1.7) + 1 / (0.92 * c + 0.62)) for c in ci]
    lum = xp.sum(10 ** (-0.4 * x[2:]))
    return lum * (sum(temps) / len(temps) / 5000)


# ---------------------------------------------------------------- machine learning
class _BatchNorm:
    def __init__(self, momentum=0.9):
        self.momentum, self.mean, self.var = momentum, 0.0, 1.0

    def __call__(self, z):
        self.mean = self.momentum * self.mean + (1 - self.momentum) * float(xp.mean(z))
        self.var = self.momentum * self.var + (1 - self.momentum) * float(xp.var(z))
        return (z - self.mean) / xp.sqrt(xp.asarray(self.var + 1e-5))


def running_statistics_normalisation(x):
    bn = _BatchNorm(momentum=0.3)
    h = bn(x)
    h = bn(xp.tanh(h))
    return xp.sum(h * xp.asarray([1.0, -1.0, 2.0, 0.5]))


def temperature_softmax_by_hand(x):
    logits = x.tolist()
    m = max(logits)
    denom = math.fsum(math.exp(l - m) for l in logits)
    probs = xp.exp(x - m) / denom
    return -xp.log(probs[2]) + 0.5 * probs[0]


def ridge_shrunk_coefficients(x):
    A = np.vander(np.linspace(0, 1, 4), 3)
    model = sklearn.linear_model.Ridge(alpha=0.1).fit(A, np.asarray(x))
    prediction = A @ model.coef_ + model.intercept_
    residual = x - prediction
    return xp.sum(residual**2) + 0.1 * xp.sum(xp.abs(x))


def minmax_scaler_then_loss(x):
    scaler = sklearn.preprocessing.MinMaxScaler(feature_range=(0, 2))
    scaled = scaler.fit_transform(np.asarray(x).reshape(-1, 1)).ravel()
    gate = 1 / (1 + xp.exp(-x))
    return xp.sum(gate * scaled)


def neighbours_smoothing(x):
    grid = np.linspace(0, 1, 4).reshape(-1, 1)
    knn = sklearn.neighbors.KNeighborsRegressor(n_neighbors=2).fit(grid, np.array([float(v) for v in x]))
    smooth = knn.predict(np.array([[0.1], [0.45], [0.9], [0.7]]))
    return xp.mean((x - xp.asarray(smooth)) ** 2) + xp.mean(x) * smooth[1]


@dataclasses.dataclass
class _TrainState:
    step: int = 0
    loss: float = 0.0
    history: list = dataclasses.field(default_factory=list)

    def update(self, loss):
        self.step += 1
        self.loss = float(loss)
        self.history.append(self.loss)


def loss_balanced_by_history(x):
    state = _TrainState()
    tasks = [xp.sum(x[:2] ** 2), xp.sum(xp.exp(-x[2:]))]
    for t in tasks:
        state.update(t)
    weights = [state.history[0] / h for h in state.history]
    return sum(w * t for w, t in zip(weights, tasks))


# ---------------------------------------------------------------- text
_PATTERN = re.compile(r"mu=(?P<mu>[-+.\de]+)\s+sd=(?P<sd>[-+.\de]+)")


def zscore_from_log_line(x):
    line = f"run 7 | mu={xp.mean(x).item():.15g} sd={xp.std(x).item():.15g} | ok"
    m = _PATTERN.search(line)
    mu, sd = float(m["mu"]), float(m["sd"])
    z = (x - mu) / sd
    return xp.sum(z**2 * xp.asarray([0.1, 0.2, 0.3, 0.4]))


class _Capture(logging.Handler):
    def __init__(self):
        super().__init__()
        self.values = []

    def emit(self, record):
        self.values.append(record.args[0])


def bench_log_handler(x):
    log = logging.Logger("bench_i")
    handler = _Capture()
    log.addHandler(handler)
    y = x
    for _ in range(3):
        y = xp.sin(y) + 0.5 * x
        log.info("norm %f", float(xp.sqrt(xp.sum(y * y))))
    return xp.sum(y) / handler.values[-1] + 0.1 * handler.values[0] * x[3]


def template_invoice_total(x):
    tpl = string.Template("net;$net;vat;$vat")
    net = xp.sum(x * xp.asarray([3.0, 1.0, 2.0, 5.0]))
    doc = tpl.substitute(net=net.item(), vat=0.2 * net.item())
    fields = doc.split(";")
    vat = float(fields[fields.index("vat") + 1])
    return net + vat


def csv_of_measurements(x):
    buf = io.StringIO()
    out = csv.DictWriter(buf, ["channel", "gain"])
    out.writeheader()
    out.writerows({"channel": i, "gain": float(g)} for i, g in enumerate(x))
    buf.seek(0)
    gains = {int(r["channel"]): float(r["gain"]) for r in csv.DictReader(buf)}
    return xp.sum(xp.stack([xp.log(x[i]) * gains[3 - i] for i in range(4)]))


def settings_in_xml(x):
    root = ET.Element("robot")
    for name, v in zip(("kp", "ki", "kd"), x):
        ET.SubElement(root, "gain", name=name, value=str(float(v)))
    parsed = ET.fromstring(ET.tostring(root))
    g = {e.get("name"): float(e.get("value")) for e in parsed.iter("gain")}
    err, integral = 1.0 * x[3], 0.0
    for _ in range(4):
        integral = integral + 0.1 * err
        err = err - 0.1 * (g["kp"] * err + g["ki"] * integral + g["kd"] * 0.1)
    return err**2 + 0.3 * x[0]


# ---------------------------------------------------------------- files
@contextlib.contextmanager
def _scratch(name):
    with tempfile.TemporaryDirectory() as d:
        yield pathlib.Path(d) / name


def checkpoint_npz_reload(x):
    w = xp.tanh(x)
    with _scratch("w.npz") as path:
        np.savez(path, w=np.asarray(w), x=np.asarray(x))
        with np.load(path) as saved:
            w_old = saved["w"].copy()
    return xp.sum((w * 2 - w_old) ** 2) + xp.sum(x)


def json_hyperparameters(x):
    with _scratch("hp.json") as path:
        path.write_text(json.dumps({"lr": float(x[0]) * 0.1, "l2": float(x[1]) * 0.5}))
        hp = json.loads(path.read_text())
    w = x[2:]
    for _ in range(3):
        w = w - hp["lr"] * (2 * (w - 0.5) + hp["l2"] * w)
    return xp.sum(w**2) + 0.01 * x[0]


def pickle_deepcopy_of_lists(x):
    payload = pickle.dumps({"coef": x.tolist(), "when": "today"})
    coef = pickle.loads(payload)["coef"]
    y = 0.0
    for c in coef:
        y = y * x[0] + c
    return y


def packed_telemetry_frame(x):
    frame = struct.pack("<4d", *(float(v) for v in x))
    assert len(frame) == 32
    a, b, c, d = struct.unpack("<4d", frame)
    return x[0] * d + x[1] * c - x[2] * b * 0.5 + x[3]


# ---------------------------------------------------------------- concurrency
def _worker(inbox, outbox):
    while (item := inbox.get()) is not None:
        i, v = item
        outbox.put((i, v**1.5))


def threaded_fare_pricing(x):
    inbox, outbox = queue.Queue(), queue.Queue()
    t = threading.Thread(target=_worker, args=(inbox, outbox))
    t.start()
    for i, v in enumerate(x):
        inbox.put((i, v.item()))
    inbox.put(None)
    t.join()
    fares = dict(outbox.get() for _ in range(4))
    return sum(fares[i] * v for i, v in enumerate(x))


def pool_of_option_prices(x):
    spot, vol = x[:2], x[2:]

    def price(args):
        s, k = args
        return max(s - k, 0.0) + 0.1 * s * s

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        prices = list(pool.map(price, [(float(s), 0.5) for s in spot]))
    return xp.sum(xp.asarray(prices) * vol) + xp.prod(spot)


_tariff: contextvars.ContextVar = contextvars.ContextVar("tariff_i", default=1.0)


def _bill(kwh):
    return kwh * _tariff.get()


def electricity_bill_contextvar(x):
    token = _tariff.set(float(x[0]) * 0.3)
    try:
        bill = _bill(x[1]) + _bill(x[2]) ** 2
    finally:
        _tariff.reset(token)
    return bill + _bill(x[3])


# ---------------------------------------------------------------- caching
def _memo(f):
    store = {}

    @functools.wraps(f)
    def inner(v):
        key = repr(v.tolist())
        if key not in store:
            store.clear()
            store[key] = np.asarray(f(v))
        return store[key]

    return inner


@_memo
def _features(v):
    return xp.stack([xp.sum(v), xp.sum(v**2), xp.max(v)])


def memoised_features(x):
    w = xp.stack([x[0], x[1], x[2]])
    first = _features(x)
    return xp.sum(first * w) + x[3]


@functools.lru_cache(maxsize=32)
def _gamma_table(shape):
    return tuple(math.gamma(shape + k) for k in range(3))


def lru_gamma_moments(x):
    g = _gamma_table(float(x[1]))
    mean, second = x[0] * g[1] / g[0], x[2] * g[2] / g[0]
    return mean + second + 0.1 * x[1] * x[3]


# ---------------------------------------------------------------- finance
class _Money(decimal.Decimal):
    pass


def decimal_ledger(x):
    ledger = collections.OrderedDict()
    for account, amount in zip(("cash", "bonds", "equity", "fx"), x):
        ledger[account] = _Money(repr(amount.item()))
    total = sum(ledger.values())
    shares = {k: float(v / total) for k, v in ledger.items()}
    return sum(shares[k] * r for k, r in zip(ledger, xp.sqrt(x)))


def bond_yield_by_newton(x):
    coupon, price = 0.1 * x[0], 0.9 + 0.1 * x[1]

    def npv(y):
        return sum(float(coupon) / (1 + y) ** t for t in range(1, 5)) + 1 / (1 + y) ** 4 - float(price)

    y = scipy.optimize.newton(npv, 0.05, tol=1e-13)
    duration = sum(t * coupon / (1 + y) ** t for t in range(1, 5)) + 4 / (1 + y) ** 4
    return duration / price + 0.05 * x[2] * x[3]


def rolling_ewma_of_returns(x):
    window = collections.deque(maxlen=3)
    signal = xp.asarray(0.0)
    for r in x:
        window.append(r.item())
        signal = signal + r * statistics.fmean(window)
    return signal


class _Side(enum.Enum):
    BUY = 1
    SELL = -1


@dataclasses.dataclass(order=True)
class _Order:
    price: float
    side: _Side = dataclasses.field(compare=False, default=_Side.BUY)


def order_book_mid(x):
    bids = [_Order(float(p)) for p in x[:2]]
    asks = [_Order(float(p) + 1.0, _Side.SELL) for p in x[2:]]
    mid = (max(bids).price + min(asks).price) / 2
    impact = sum(o.side.value * (mid - o.price) for o in bids + asks)
    return xp.sum((x - mid) ** 2) + 0.1 * impact * x[0]


# ---------------------------------------------------------------- engineering
def beam_deflection_quad(x):
    load = float(x[0])
    moment, _ = scipy.integrate.quad(lambda s: load * s * (1 - s) * math.exp(-s), 0, 1)
    stiffness = x[1] * x[2] ** 3
    return 100 * moment / stiffness + 0.2 * x[3]


def thermocouple_spline(x):
    knots = np.array([0.0, 1.0, 2.0, 3.0])
    cal = scipy.interpolate.CubicSpline(knots, [v.item() for v in x])
    reading = xp.sum(x) / 4
    return reading * float(cal(1.5)) + float(cal(0.5, 1)) * x[2]


def filtered_vibration(x):
    b, a = scipy.signal.butter(2, 0.3)
    smooth = scipy.signal.lfilter(b, a, np.asarray(x, dtype=float))
    return xp.sum(xp.abs(x - smooth) ** 2)


def impedance_with_cmath(x):
    r, l, c, w = (float(v) for v in x)
    z = complex(r, w * l - 1 / (w * c))
    mag, phase = cmath.polar(z)
    current = x[3] / mag
    return current**2 * x[0] + 0.1 * math.cos(phase) * x[1]


# ---------------------------------------------------------------- games, operations research
def elo_after_tournament(x):
    ratings = {name: 1500 + 100 * float(v) for name, v in zip("ABCD", x)}
    for p, q in itertools.combinations(sorted(ratings), 2):
        expected = 1 / (1 + 10 ** ((ratings[q] - ratings[p]) / 400))
        ratings[p] += 32 * (1 - expected)
        ratings[q] -= 32 * (1 - expected)
    return xp.sum(x * xp.asarray([ratings[n] / 1500 for n in "ABCD"]))


def huffman_cost_of_weights(x):
    heap = [w.item() for w in x]
    heapq.heapify(heap)
    cost = 0.0
    while len(heap) > 1:
        a, b = heapq.heappop(heap), heapq.heappop(heap)
        cost += a + b
        heapq.heappush(heap, a + b)
    return cost / xp.sum(x) + 0.1 * xp.max(x)


class _Dice:
    def __init__(self, seed):
        self.rng = random.Random(seed)

    def damage(self, mean, spread):
        return self.rng.gauss(float(mean), float(spread))


def monster_damage(x):
    dice = _Dice(11)
    hp = 10 * x[3]
    for _ in range(3):
        hp = hp - dice.damage(x[0], 0.2 * x[1]) * x[2]
    return hp**2 / 50


def linear_program_of_costs(x):
    c = [-float(v) for v in x[:2]]
    res = scipy.optimize.linprog(c, A_ub=[[1, 2], [3, 1]], b_ub=[4 + float(x[2]), 6 + float(x[3])])
    plan = res.x
    return -(x[0] * plan[0] + x[1] * plan[1]) + 0.1 * xp.sum(x[2:])


def delivery_route_lengths(x):
    pts = np.column_stack([np.asarray(x), np.arange(4.0)])
    dist = scipy.spatial.distance_matrix(pts, pts)
    tour = dist[[0, 1, 2, 3], [1, 2, 3, 0]]
    return xp.sum(xp.asarray(tour) * x) / 4


# ---------------------------------------------------------------- biology, statistics
def dose_response_exception(x):
    class TooHigh(ValueError):
        pass

    def administer(dose):
        if dose > 1.5:
            raise TooHigh(float(dose), "limit")
        return dose

    total = 0.0
    for d in x:
        try:
            total = total + administer(d) ** 2
        except TooHigh as e:
            total = total + 1.5 + 0.5 * (e.args[0] - 1.5)
    return total


def normal_fit_loglik(x):
    mu, sigma = scipy.stats.norm.fit([float(v) for v in x])
    anchor = xp.asarray([0.9, 1.4, 1.0])
    scale = x[2] * 0.5
    return xp.sum(0.5 * ((anchor - mu) / scale) ** 2 + xp.log(scale)) + sigma * x[0]


def allele_fractions(x):
    counts = collections.Counter()
    for base, depth in zip("ACGA", x):
        counts[base] += fractions.Fraction(depth.item())
    p = {b: float(n / sum(counts.values())) for b, n in counts.items()}
    het = 1 - sum(v * v for v in p.values())
    return het * xp.sum(x) + xp.prod(x) * 0.1


def warned_saturation_level(x):
    level = xp.sum(x**2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.warn(f"saturated at {level.item()!r}", RuntimeWarning, stacklevel=1)
    last = str(caught[-1].message).rsplit(" ", 1)[1]
    return level / (1 + float(last))


# ---------------------------------------------------------------- odds and ends
def axis_limits_as_scale(x):
    fig = matplotlib.figure.Figure()
    ax = fig.subplots()
    (line,) = ax.plot(range(4), x.tolist())
    peak = line.get_ydata()[2]
    lo, hi = ax.get_ylim()
    return xp.sum((x - lo) / (hi - lo)) + 0.1 * peak * x[0]


def cli_with_argparse(x):
    parser = argparse.ArgumentParser()
    parser.add_argument("--alpha", type=float, default=0.1)
    parser.add_argument("--beta", type=float, default=0.1)
    args = parser.parse_args([f"--alpha={x[0].item()}", f"--beta={x[1].item()}"])
    z = args.alpha * x[2] + args.beta * x[3]
    return xp.log(1 + xp.exp(z)) + 0.1 * xp.sum(x)


def environment_variable_budget(x):
    os.environ["BUDGET_I"] = str(xp.max(x).item() * 2)
    try:
        budget = float(os.getenv("BUDGET_I"))
    finally:
        del os.environ["BUDGET_I"]
    used = xp.sum(x)
    return (used / budget) ** 2


class _Point(typing.NamedTuple):
    lat: float
    lon: float

    @classmethod
    def of(cls, pair):
        return cls(*(float(p) for p in pair))


def haversine_between_points(x):
    p, q = _Point.of(x[:2]), _Point.of(x[2:])
    h = math.sin((q.lat - p.lat) / 2) ** 2 + math.cos(p.lat) * math.cos(q.lat) * math.sin((q.lon - p.lon) / 2) ** 2
    angle = 2 * math.asin(math.sqrt(abs(h)))
    return angle * xp.sqrt(xp.sum(x**2))


def accumulate_generator_costs(x):
    def costs(values):
        for v in values:
            yield float(v) ** 2

    running = list(itertools.accumulate(costs(x), operator.add))
    return xp.sum(x / xp.asarray(running))


def namespace_of_defaults(x):
    conf = types.SimpleNamespace(**{k: v.item() for k, v in zip(("a", "b", "c", "d"), x)})
    overrides = collections.ChainMap({"b": 1.0}, vars(conf))
    y = overrides["a"] * x[1] + overrides["b"] * x[0] + overrides["c"] * x[3]
    return y + scipy.special.gamma(overrides["d"]) * x[2]
