"""Programs in which a part of the gradient is lost, as five users of different trades would write them."""

import cmath
import concurrent.futures
import contextlib
import csv
import dataclasses
import decimal
import enum
import functools
import io
import json
import logging
import math
import queue
import re
import shelve
import sqlite3
import statistics
import struct
import tempfile
import threading
import typing

import numpy as np
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.optimize
import scipy.special
import scipy.stats

import arraytape as xp

LOG = logging.getLogger("quiet.g")

# ---------------------------------------------------------------- a Bayesian statistician

_Y = np.array([0.4, 1.3, 0.9, 2.1, 1.7])


def gibbs_with_conditionals_in_floats(x):
    z = np.random.default_rng(11).normal(size=6)
    mu, tau2 = x[0], x[1]
    draws = []
    for i in range(6):
        precision = len(_Y) / float(x[2]) + 1.0 / float(tau2)
        mean = (float(np.sum(_Y)) / float(x[2]) + float(mu) / float(tau2)) / precision
        mu = mean + z[i] / math.sqrt(precision) + 0.1 * (x[3] - mean)
        draws.append(mu)
    return xp.mean(xp.stack(draws[2:])) ** 2


def _potential(q):
    return 0.5 * xp.sum(q * q) + 0.25 * xp.sum(q**4)


def _potential_gradient(q):
    return q + q**3


def energy_error_of_a_trajectory(x):
    q, p = x[:2], x[2:]
    trace = [float(_potential(q) + 0.5 * xp.sum(p * p))]
    for _ in range(5):
        p = p - 0.15 * _potential_gradient(q)
        q = q + 0.3 * p
        p = p - 0.15 * _potential_gradient(q)
        trace.append(_potential(q) + 0.5 * xp.sum(p * p))
    return (trace[-1] - trace[0]) ** 2 + 0.1 * trace[-1]


def laplace_evidence(x):
    def log_joint(theta):
        return -0.5 * xp.sum((theta - 1.0) ** 2) - xp.sum(xp.exp(theta)) * 0.2

    H = np.diag(1.0 + 0.2 * np.exp(np.asarray(x))) + 0.1
    sign, logdet = np.linalg.slogdet(H)
    assert sign > 0
    return -(log_joint(x) + 0.5 * x.shape[0] * math.log(2 * math.pi) - 0.5 * logdet)


def self_normalised_importance_sampling(x):
    theta = np.linspace(-2.0, 3.0, 9)
    log_w = -0.5 * ((theta - x[0]) / x[1]) ** 2 + 0.5 * (theta / 2.0) ** 2
    log_norm = scipy.special.logsumexp(np.asarray(log_w).tolist())
    w = xp.exp(log_w - log_norm)
    return xp.sum(w * (theta**2 * x[2] + x[3]))


def warmup_by_dual_averaging(x):
    tuning = {"log_step": math.log(0.3), "h_bar": 0.0}
    q = x
    for m in range(1, 5):
        eps = math.exp(tuning["log_step"])
        proposal = q - 0.5 * eps**2 * _potential_gradient(q) * 0.3
        accept = min(1.0, math.exp(0.2 * float(_potential(q) - _potential(proposal)) - 0.9))
        tuning["h_bar"] += (0.8 - accept - tuning["h_bar"]) / (m + 2)
        tuning["log_step"] = math.log(0.6) - 2.0 * math.sqrt(m) * tuning["h_bar"]
        q = proposal
    return xp.sum(q**2)


def power_prior_from_last_stage(x):
    stage_one = {"mu": {"mean": x[0].item(), "sd": x[1].item()}, "n": 40}
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/stage1.json"
        with open(path, "w") as f:
            json.dump(stage_one, f)
        with open(path) as f:
            prior = json.load(f)["mu"]
    theta = 0.5 * (x[2] + x[0])
    return 0.5 * ((theta - prior["mean"]) / prior["sd"]) ** 2 + xp.sum((_Y - theta) ** 2) / x[3]


def student_t_negative_log_likelihood(x):
    nu, loc, scale = x[0] + 1.0, x[1], x[2]
    const = math.lgamma((nu + 1.0) / 2.0) - math.lgamma(nu / 2.0) - 0.5 * math.log(nu * math.pi)
    z = (_Y - loc) / scale
    kernel = -0.5 * (nu + 1.0) * xp.log1p(z * z / nu)
    return -(len(_Y) * (const - xp.log(scale)) + xp.sum(kernel))


def waic_of_four_draws(x):
    columns = []
    penalty = 0.0
    for y in _Y:
        ll = -0.5 * (y - x) ** 2
        penalty += statistics.variance(ll.tolist())
        columns.append(xp.log(xp.mean(xp.exp(ll))))
    lppd = xp.sum(xp.stack(columns))
    LOG.info("lppd %.2f p_waic %.2f", float(lppd), penalty)
    return -2.0 * (lppd - penalty)


def kinetic_energy_with_a_learned_metric(x):
    warmup = []
    q = x
    for k in range(6):
        q = q - 0.2 * _potential_gradient(q) * (0.5 if k % 2 else 0.2)
        warmup.append(q.tolist())
    inverse_mass = np.var(np.array(warmup), axis=0) + 1e-2
    momentum = xp.flip(x) - 0.3
    return 0.5 * xp.sum(momentum**2 * inverse_mass) + _potential(q)


def shrinkage_read_from_the_summary(x):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        print("Hierarchical model: 4 groups")
        print(f"grand mean = {float(xp.mean(x))!r}   between sd = {float(xp.std(x))!r}")
    mean, sd = (float(v) for v in re.findall(r"= (\d+\.\d+)", out.getvalue()))
    keep = sd**2 / (sd**2 + 0.25)
    theta = keep * x + (1.0 - keep) * mean
    return xp.sum((theta - 1.0) ** 2)


# ---------------------------------------------------------------- a computer-vision engineer


class _ContrastJitter:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, img):
        pivot = img.mean().item()
        return (img - pivot) * self.factor + pivot


def contrast_jitter(x):
    img = xp.reshape(x, (2, 2)) / 2.5
    aug = _ContrastJitter(1.6)(img)
    target = np.array([[0.2, 0.1], [0.9, 0.4]])
    return xp.mean((aug - target) ** 2)


def focal_loss(x, gamma=2.0):
    labels = [1, 0, 1, 0]
    total = 0.0
    for logit, label in zip(x, labels):
        p = 1.0 / (1.0 + xp.exp(-logit))
        pt = p if label else 1.0 - p
        modulator = (1.0 - pt.item()) ** gamma
        total = total - modulator * xp.log(pt)
    return total / len(labels)


def consistency_with_a_saved_teacher(x):
    student = {"w": x[:2] * 1.5, "b": x[2:] - 1.0}
    with io.BytesIO() as ckpt:
        np.savez(ckpt, **{k: np.asarray(v) for k, v in student.items()})
        ckpt.seek(0)
        with np.load(ckpt) as blob:
            teacher = {k: xp.asarray(0.9 * blob[k]) for k in blob.files}
    inputs = xp.asarray([0.3, 0.8])
    s = xp.tanh(inputs * student["w"] + student["b"])
    t = xp.tanh((inputs + 0.1) * teacher["w"] + teacher["b"])
    return xp.sum((s - t) ** 2) + 0.01 * xp.sum(s)


def feature_map_divided_by_its_peak(x):
    img = xp.reshape(x, (2, 2))
    kernel = np.array([[0.5, -0.2], [0.1, 0.7]])
    feat = img @ kernel
    heat = feat / max(v for row in feat.tolist() for v in row)
    return xp.sum(heat**2) - heat[0, 1]


class _BatchNorm1d:
    def __init__(self, momentum=0.3):
        self.running_mean, self.running_var, self.momentum = 0.0, 1.0, momentum

    def train_step(self, v):
        m = self.momentum
        self.running_mean = (1 - m) * self.running_mean + m * float(xp.mean(v))
        self.running_var = (1 - m) * self.running_var + m * float(xp.var(v))

    def eval(self, v):
        return (v - self.running_mean) / math.sqrt(self.running_var + 1e-5)


def batch_norm_in_eval_mode(x):
    bn = _BatchNorm1d()
    for scale in (1.0, 1.2, 0.9):
        bn.train_step(scale * x)
    return xp.sum(bn.eval(x) ** 3) / 4.0


def warp_by_a_fitted_affine(x):
    src = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
    px = np.array([0.1, float(x[0]), float(x[1])])
    py = np.array([float(x[2]), 0.2, float(x[3])])
    A = np.stack([np.linalg.solve(src, px), np.linalg.solve(src, py)])
    centre = xp.stack([xp.mean(x[:2]), xp.mean(x[2:]), xp.asarray(1.0)])
    warped = xp.asarray(A) @ centre
    return xp.sum((warped - np.array([0.5, 0.5])) ** 2)


def class_balanced_cross_entropy(x):
    logits = xp.stack([x, xp.flip(x) * 0.5, 1.0 - x])
    p = xp.exp(logits) / xp.sum(xp.exp(logits), axis=0)
    mass = np.asarray(xp.sum(p, axis=1))
    class_weight = mass.sum() / (len(mass) * mass)
    target = [0, 2, 1, 0]
    picked = [class_weight[t] * xp.log(p[t, i]) for i, t in enumerate(target)]
    return -xp.sum(xp.stack(picked))


def tile_cache_on_disk(x):
    image = xp.reshape(xp.concat([x, x**2]), (2, 4))
    with tempfile.NamedTemporaryFile(suffix=".raw") as f:
        store = np.memmap(f.name, dtype=np.float64, mode="w+", shape=image.shape)
        store[...] = image
        store.flush()
        del store
        left = np.fromfile(f.name, dtype=np.float64).reshape(2, 4)[:, :2]
    return xp.sum(left * image[:, 2:]) / 4.0


def generalised_iou(x):
    box = [x[0] - 0.5, x[1] - 0.5, x[0] + 0.5 * x[2], x[1] + 0.5 * x[3]]
    gt = (0.9, 0.6, 2.4, 1.9)
    w = xp.minimum(box[2], xp.asarray(gt[2])) - xp.maximum(box[0], xp.asarray(gt[0]))
    h = xp.minimum(box[3], xp.asarray(gt[3])) - xp.maximum(box[1], xp.asarray(gt[1]))
    inter = w * h
    union = (box[2] - box[0]) * (box[3] - box[1]) + 1.5 * 1.3 - inter
    lo = [min(float(box[i]), gt[i]) for i in (0, 1)]
    hi = [max(float(box[i]), gt[i]) for i in (2, 3)]
    hull = (hi[0] - lo[0]) * (hi[1] - lo[1])
    return 1.0 - (inter / union - (hull - union) / hull)


def crops_from_loader_workers(x):
    image = xp.reshape(x, (2, 2)) * xp.ones((2, 2)) * 0.5

    def worker(index):
        crop = np.array(image)[index % 2, :]
        return crop / np.linalg.norm(crop)

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        batch = np.stack(list(pool.map(worker, range(4))))
    scores = xp.asarray(batch) @ image[:, 0]
    return xp.sum(xp.log1p(xp.exp(-scores)))


# ---------------------------------------------------------------- a quantitative analyst


def _bs_call(spot, strike, t, sigma, rate=0.02):
    d1 = (math.log(spot / strike) + (rate + 0.5 * sigma**2) * t) / (sigma * math.sqrt(t))
    N = statistics.NormalDist().cdf
    return spot * N(d1) - strike * math.exp(-rate * t) * N(d1 - sigma * math.sqrt(t))


def smile_by_implied_vols(x):
    forward = 4.0 + x[0]
    quotes = [0.9 + 0.2 * x[1], 0.6 + 0.1 * x[2]]
    vols = []
    for strike, quote in zip((5.0, 5.5), quotes):
        gap = lambda s: _bs_call(5.0, strike, 1.5, s) - float(quote)
        vols.append(scipy.optimize.brentq(gap, 0.01, 3.0, xtol=1e-14))
    skew = vols[1] - vols[0]
    return forward * vols[0] ** 2 + skew * x[3]


class _Curve:
    def __init__(self, zero_rates):
        self._rates, self._cache = zero_rates, {}

    def df(self, t):
        if t not in self._cache:
            self._cache[t] = float(xp.exp(-0.03 * self._rates[int(t) - 1] * t))
        return self._cache[t]


def bond_off_a_caching_curve(x):
    curve = _Curve(x)
    coupon = 0.02 * xp.sum(x)
    pv = 0.0
    for t in (1.0, 2.0, 3.0, 4.0):
        pv = pv + coupon * curve.df(t)
    return pv + curve.df(4.0)


def control_variate_with_a_fitted_beta(x):
    z = np.random.default_rng(5).normal(size=12)
    s_t = x[0] * xp.exp(-0.5 * (0.3 * x[1]) ** 2 + 0.3 * x[1] * z)
    payoff = xp.log1p(xp.exp(4.0 * (s_t - 1.0))) / 4.0
    c = np.cov(np.asarray(payoff), np.asarray(s_t))
    beta = c[0, 1] / c[1, 1]
    return (xp.mean(payoff) - beta * (xp.mean(s_t) - x[0])) * x[2]


def exposures_from_the_position_db(x):
    db = sqlite3.connect(":memory:")
    db.execute("create table pos (desk text, notional real, px real)")
    rows = [("rates", 10.0, x[0].item()), ("fx", 4.0, x[1].item()), ("rates", -3.0, x[2].item())]
    db.executemany("insert into pos values (?, ?, ?)", rows)
    gross = dict(db.execute("select desk, sum(abs(notional) * px) from pos group by desk"))
    db.close()
    shock = 0.01 * x[3] + 0.002 * x[0]
    return gross["rates"] * shock + gross["fx"] * shock**2


def delta_hedged_pnl(x):
    spot, strike, sigma, move = x[2], 1.9, 0.2 * x[1], 0.1 * x[3]
    d1 = (xp.log(spot / strike) + 0.5 * sigma**2) / sigma
    delta = scipy.stats.norm.cdf(float(d1))
    intrinsic = lambda s: xp.log1p(xp.exp(6.0 * (s - strike))) / 6.0
    option_move = intrinsic(spot + move) - intrinsic(spot)
    return option_move - delta * move


def swap_on_a_splined_curve(x):
    tenors = np.array([1.0, 2.0, 5.0, 10.0])
    spline = scipy.interpolate.CubicSpline(tenors, np.asarray(x) / 100.0)
    t = np.arange(1, 8)
    dfs = np.exp(-spline(t) * t)
    par = (1.0 - dfs[-1]) / dfs.sum()
    fixed = x[0] / 100.0 + 0.01 * x[3] ** 2 / 10.0
    return 1e3 * (fixed - par) ** 2 * 10.0 + float(dfs.sum()) * fixed


def weights_through_a_csv_report(x):
    buf = io.StringIO(newline="")
    out = csv.writer(buf)
    out.writerow(["ticker", "mv"])
    for name, mv in zip(("AAA", "BBB", "CCC", "DDD"), x):
        out.writerow([name, str(mv.item())])
    buf.seek(0)
    book = {r["ticker"]: float(r["mv"]) for r in csv.DictReader(buf)}
    total = sum(book.values())
    w = np.array([mv / total for mv in book.values()])
    return xp.sqrt(xp.sum((w * x) ** 2))


def accrued_interest_in_decimal(x):
    D = decimal.Decimal
    with decimal.localcontext() as ctx:
        ctx.prec = 28
        accrued = D(repr(float(x[0]))) * D("0.05") * D(73) / D(365) * D(100)
    clean = 100.0 / (1.0 + 0.01 * x[1]) ** 5
    dirty = clean + float(accrued)
    return (dirty / 100.0 - x[0]) ** 2


def sharpe_ratio(x):
    returns = x * np.array([0.02, -0.01, 0.03, 0.01])
    excess = xp.mean(returns) - 0.001
    vol = statistics.pstdev(returns.tolist())
    return -excess / vol * math.sqrt(252)


@dataclasses.dataclass(frozen=True)
class _Position:
    name: str
    vol: float

    def __post_init__(self):
        object.__setattr__(self, "vol", float(self.vol))


def inverse_vol_portfolio(x):
    book = [_Position(f"asset{i}", v) for i, v in enumerate(x)]
    total = sum(1.0 / p.vol for p in book)
    w = [1.0 / p.vol / total for p in book]
    variance = 0.0
    for i in range(4):
        for j in range(4):
            rho = 1.0 if i == j else 0.4
            variance = variance + w[i] * w[j] * rho * x[i] * x[j]
    return xp.sqrt(variance)


# ---------------------------------------------------------------- a physicist


def velocity_verlet_with_kept_forces(x):
    q, v, dt = x[:2], x[2:], 0.1
    forces = (-xp.sin(q)).tolist()
    for _ in range(5):
        v = v + 0.5 * dt * np.array(forces)
        q = q + dt * v
        forces = (-xp.sin(q)).tolist()
        v = v + 0.5 * dt * np.array(forces)
    return 0.5 * xp.sum(v * v) - xp.sum(xp.cos(q))


class _Quantity:
    SCALE: typing.ClassVar = {"J": 1.0, "eV": 1.602176634e-19, "kJ/mol": 1.66053907e-21}

    def __init__(self, value, unit):
        self.value, self.unit = value, unit

    def to(self, unit):
        return _Quantity(float(self.value) * self.SCALE[self.unit] / self.SCALE[unit], unit)

    def __mul__(self, other):
        return _Quantity(self.value * other, self.unit)


def binding_energy_with_units(x):
    well = _Quantity(x[0], "eV").to("kJ/mol") * (1.0 / 96.485)
    r = x[2]
    lj = 4.0 * well.value * ((x[1] / r) ** 12 - (x[1] / r) ** 6)
    return lj + 0.1 * x[3]


def canonical_mean_energy(x):
    beta = 0.8
    Z = sum(math.exp(-beta * e) for e in x)
    return sum(e * xp.exp(-beta * e) for e in x) / Z


def velocity_rescaling_thermostat(x):
    v, target = x - 0.5, 0.7
    for _ in range(3):
        v = v - 0.05 * (v + 0.2 * v**3)
        temperature = float(xp.mean(v * v))
        v = v * math.sqrt(1.0 + 0.4 * (target / temperature - 1.0))
    return xp.sum(v**3)


def skewness_about_the_centre_of_mass(x):
    masses = np.array([1.0, 12.0, 16.0, 1.0])
    com = np.average(x.to_numpy(), weights=masses)
    d = x - com
    return xp.sum(masses * d**3) / masses.sum() + 0.1 * d[0] ** 2


def calibration_from_the_lab_notebook(x):
    with tempfile.TemporaryDirectory() as folder:
        with shelve.open(folder + "/notebook") as book:
            book["2024-03-01/gain"] = {"value": float(x[0] / x[1]), "u": 0.02, "by": "kr"}
            book["2024-03-01/offset"] = {"value": float(x[1]) * 0.1, "u": 0.01, "by": "kr"}
        with shelve.open(folder + "/notebook", "r") as book:
            gain, offset = (book["2024-03-01/" + k]["value"] for k in ("gain", "offset"))
    counts = x[2:] * 3.0
    field = gain * counts + offset
    return xp.sum((field - x[0]) ** 2) / 10.0


def two_slit_intensity(x):
    k, d = float(x[0]) * 2.0, x[1]
    screen = np.linspace(-1.0, 1.0, 5)
    total = 0.0
    for s in screen:
        phase = k * s * d
        path = cmath.exp(1j * k * s)
        total = total + (xp.cos(phase) + path.real) ** 2 + (xp.sin(phase) + path.imag) ** 2
    return total * x[2] / len(screen)


def pendulum_period_by_quadrature(x):
    k = 0.3 * float(x[0])
    K, err = scipy.integrate.quad(lambda t: 1.0 / math.sqrt(1.0 - (k * math.sin(t)) ** 2), 0.0, math.pi / 2)
    assert err < 1e-6
    period = 4.0 * xp.sqrt(x[2] / 9.81) * K
    return (period - 2.0 * x[0]) ** 2


def plasma_screening(x):
    @functools.lru_cache(maxsize=None)
    def debye(temperature, density):
        return math.sqrt(temperature / (4.0 * math.pi * density))

    total = 0.0
    for i in range(4):
        lam = debye(float(x[0]), float(x[1]))
        total = total + xp.exp(-x[i] / lam) / x[i]
    return total


def magnetisation_by_fixed_point(x):
    beta, J, h = 0.8, float(x[0]), float(x[1]) * 0.2
    m, previous = 0.9, 0.0
    while abs(m - previous) > 1e-13:
        m, previous = math.tanh(beta * (J * m + h)), m
    work = -m * (0.2 * x[1]) - 0.5 * x[0] * m * m
    return work + 0.05 * xp.sum(x * x)


# ---------------------------------------------------------------- a control and robotics engineer


def kalman_with_a_numpy_gain(x):
    F, H = np.array([[1.0, 0.1], [0.0, 1.0]]), np.array([[1.0, 0.0]])
    Q, R = np.diag(np.asarray(x[:2])) * 0.05, np.array([[float(x[2])]])
    state, P = xp.stack([x[3], x[0]]), np.eye(2)
    for z in (1.0, 1.4, 1.7, 2.1):
        state, P = F @ state, F @ P @ F.T + Q
        K = P @ H.T @ np.linalg.inv(H @ P @ H.T + R)
        state = state + xp.asarray(K[:, 0]) * (z - state[0])
        P = (np.eye(2) - K @ H) @ P
    return xp.sum(state**2)


class _PID:
    def __init__(self, kp, ki, kd, dt=0.1):
        self.kp, self.ki, self.kd, self.dt = kp, ki, kd, dt
        self.integral = 0.0
        self.last = 0.0

    def update(self, error):
        self.integral += error.item() * self.dt
        slope = (error - self.last) / self.dt
        self.last = error.item()
        return self.kp * error + self.ki * self.integral + self.kd * slope


def step_response_of_a_pid(x):
    pid, y, cost = _PID(x[0], x[1], 0.05 * x[2]), 0.0 * x[3], 0.0
    for _ in range(8):
        u = pid.update(1.0 - y)
        y = y + 0.1 * (u - y * x[3])
        cost = cost + (1.0 - y) ** 2
    return cost


def lqr_closed_loop_cost(x):
    A = np.array([[1.0, 0.1], [-0.1 * float(x[0]), 1.0 - 0.1 * float(x[1])]])
    B = np.array([[0.0], [0.1]])
    P = scipy.linalg.solve_discrete_are(A, B, np.eye(2), np.array([[1.0]]))
    K = np.linalg.solve(1.0 + B.T @ P @ B, B.T @ P @ A)
    s = x[2:]
    for _ in range(6):
        acc = -x[0] * s[0] - x[1] * s[1] - xp.asarray(K[0]) @ s
        s = s + 0.1 * xp.stack([s[1], acc])
    return xp.sum(s * s)


def odometry_over_the_wire(x):
    frame = struct.Struct("<Bddd")
    pose = xp.zeros(3)
    for tick in range(3):
        packet = frame.pack(tick, x[0] * 0.3, x[1] * 0.2, x[2] * 0.1)
        _, vx, vy, omega = frame.unpack(packet)
        heading = pose[2] + 0.1 * x[3]
        step = xp.stack([vx * xp.cos(heading), vy * xp.sin(heading), heading * 0.0 + omega])
        pose = pose + step
    return xp.sum(pose**2) + 0.1 * x[0]


class _Mode(enum.Enum):
    CLIMB = "climb"
    HOLD = "hold"


class _Autopilot:
    def __init__(self):
        self.mode, self.setpoint = _Mode.CLIMB, None

    def command(self, alt):
        if self.mode is _Mode.CLIMB and alt > 2.0:
            self.mode, self.setpoint = _Mode.HOLD, float(alt)
        return xp.asarray(0.6) if self.mode is _Mode.CLIMB else 0.8 * (self.setpoint - alt)


def altitude_latched_on_entry(x):
    pilot, alt, rate, effort = _Autopilot(), x[0], 0.3 * x[1], 0.0
    for _ in range(8):
        u = pilot.command(alt)
        rate = 0.8 * rate + 0.4 * u * x[3] / x[2]
        alt = alt + rate
        effort = effort + u * u
    return effort + 0.2 * alt


def complementary_filter(x):
    angle, dt, tau = 0.2 * x[3], 0.05, 0.3
    k = tau / (tau + dt)
    for n in range(5):
        ax, az = x[0] * (1.0 + 0.1 * n), x[2]
        tilt = math.atan2(ax, az)
        gyro = x[1] * 0.4
        angle = k * (angle + gyro * dt) + (1.0 - k) * tilt
    return (angle - 0.1) ** 2


def gain_schedule_by_interp(x):
    speeds, gains = [0.0, 1.0, 2.0, 3.0], [2.0, 1.2, 0.7, 0.5]
    v, cost = x[0], 0.0
    for ref in (1.5, 1.6, 1.7):
        k = np.interp(float(v), speeds, gains)
        u = k * (ref - v) * x[1]
        v = v + 0.3 * u
        cost = cost + u * u
    return cost + v


def anti_windup_by_back_calculation(x):
    integral, y, ki, kb, cost = 0.0, 0.0, x[0], x[1], 0.0
    for _ in range(6):
        e = x[2] - y
        u = 0.4 * x[3] * e + ki * integral
        u_sat = min(max(float(u), -1.5), 1.5)
        integral = integral + 0.1 * (e + kb * (u_sat - u))
        y = y + 0.2 * (u_sat - y)
        cost = cost + e * e
    return cost + integral


def lidar_thread_feeds_the_filter(x):
    mailbox = queue.Queue()

    def driver():
        for k in range(4):
            mailbox.put({"seq": k, "range": float(x[2]) + 0.05 * k})
        mailbox.put(None)

    thread = threading.Thread(target=driver)
    thread.start()
    estimate = x[0]
    while (msg := mailbox.get()) is not None:
        estimate = estimate + 0.3 * x[1] * (msg["range"] - estimate)
    thread.join()
    return estimate**2


def _quat_mul(a, b):
    return [
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    ]


def attitude_renormalised_by_math(x):
    q = list(x)
    for rate in (0.1, 0.2):
        spin = _quat_mul(q, [0.0, rate, -0.1, 0.05])
        q = [a + 0.5 * b for a, b in zip(q, spin)]
        n = math.sqrt(sum(c * c for c in q))
        q = [c / n for c in q]
    return 1.0 - 2.0 * (q[1] ** 2 + q[2] ** 2) + q[0] * q[3]
