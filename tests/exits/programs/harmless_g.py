"""Programs whose gradient is whole although values leave the tape, as five users of different trades would write them."""

import bisect
import collections
import contextlib
import csv
import enum
import hashlib
import heapq
import io
import itertools
import json
import logging
import math
import pickle
import queue
import sqlite3
import statistics
import struct
import tempfile
import threading
import time
import warnings
import zlib

import matplotlib

matplotlib.use("Agg")
import matplotlib.figure
import numpy as np
import scipy.optimize
import scipy.spatial

import arraytape as xp
from arraytape import special

LOG = logging.getLogger("quiet.g")
LOG.addHandler(logging.NullHandler())
LOG.propagate = False
LOG.setLevel(logging.INFO)

# ---------------------------------------------------------------- a Bayesian statistician

_Y = np.array([0.4, 1.3, 0.9, 2.1, 1.7])


def _log_posterior(theta):
    return -0.5 * xp.sum((theta - 1.0) ** 2) - 0.1 * xp.sum(theta**4)


def metropolis_chain(x):
    rng = np.random.default_rng(3)
    theta, accepted, trace = x, 0, []
    for _ in range(12):
        proposal = theta + 0.3 * rng.normal(size=4)
        if math.log(rng.uniform()) < float(_log_posterior(proposal) - _log_posterior(theta)):
            theta, accepted = proposal, accepted + 1
        trace.append(theta.tolist())
    LOG.info("acceptance %.2f, mean %s", accepted / 12, np.mean(trace, axis=0))
    return -_log_posterior(theta)


def table_of_rhat(x):
    chains = xp.stack([x, xp.flip(x) + 0.1, x**2])
    within = xp.mean(xp.var(chains, axis=1))
    between = 4.0 * xp.var(xp.mean(chains, axis=1))
    rhat = math.sqrt((0.75 * float(within) + float(between) / 4.0) / float(within))
    print(f"{'param':<8}{'mean':>10}{'sd':>10}{'Rhat':>8}")
    for i in range(4):
        col = np.asarray(chains[:, i])
        print(f"theta[{i}]{col.mean():>10.3f}{col.std(ddof=1):>10.3f}{rhat:>8.3f}")
    return within + 0.1 * xp.sum(chains[2, :])


def pointwise_predictive_density(x):
    total = 0.0
    for y in _Y:
        log_lik = -0.5 * (y - x) ** 2 / 0.3
        peak = float(xp.max(log_lik))  # only for stability: cancels
        total = total + peak + xp.log(xp.mean(xp.exp(log_lik - peak)))
    return -total


def highest_density_interval(x):
    draws = xp.concat([x, 0.5 * x, 1.7 * x + 0.2])
    order = sorted(range(12), key=lambda i: draws[i].item())
    values = [float(draws[i]) for i in order]
    n = int(0.8 * len(values))
    start = min(range(len(values) - n), key=lambda i: values[i + n] - values[i])
    return draws[order[start + n]] - draws[order[start]] + 0.1 * draws[order[6]]


def divergences_counted(x):
    q, p, divergent = x[:2], x[2:], 0
    h0 = float(0.5 * xp.sum(p * p) + 0.5 * xp.sum(q * q))
    for _ in range(10):
        p = p - 0.1 * q
        q = q + 0.1 * p
        h = 0.5 * xp.sum(p * p) + 0.5 * xp.sum(q * q)
        if abs(h.item() - h0) > 1000.0 or not math.isfinite(h):
            divergent += 1
            LOG.warning("divergent transition, energy error %g", float(h) - h0)
    return xp.sum(q * q) + divergent


def profile_likelihood_at_the_optimum(x):
    def nll(mu):
        return 0.5 * xp.sum((_Y - mu) ** 2) / x[0] + 0.5 * x[1] * (mu - x[2]) ** 2 + 2.5 * xp.log(x[0])

    a, b, m = float(x[0]), float(x[1]), float(x[2])
    mu_hat = (_Y.sum() / a + b * m) / (len(_Y) / a + b)  # d nll / d mu is 0 here
    return nll(mu_hat) + 0.1 * x[3]


def summary_dumped_as_json(x):
    lam = xp.exp(0.3 * x)
    nll = xp.sum(lam) - xp.sum(np.array([1.0, 0.0, 3.0, 2.0]) * xp.log(lam))
    report = {"rate": lam.tolist(), "deviance": 2.0 * nll.item(), "seed": 7}
    with tempfile.TemporaryFile("w+") as f:
        json.dump(report, f, indent=1)
        assert f.tell() > 20
    return nll


def no_u_turn_doubling(x):
    left = right = (x[:2], x[2:])
    depth = 0
    while depth < 5:
        q, p = right
        for _ in range(2**depth):
            p = p - 0.2 * q
            q = q + 0.2 * p
        right = (q, p)
        span = right[0] - left[0]
        depth += 1
        if xp.sum(span * right[1]) < 0 or xp.sum(span * left[1]) < 0:
            break
    LOG.info("depth %d, span %s", depth, span)
    return xp.sum(right[0] ** 2)


def chain_until_enough_effective_samples(x):
    state, samples, ess = x, [], 0.0
    noise = np.random.default_rng(8).normal(size=(40, 4))
    while ess < 6.0 and len(samples) < 40:
        state = 0.6 * state + 0.4 + 0.3 * noise[len(samples)]
        samples.append(state)
        s = np.array([float(v[0]) for v in samples])
        if len(s) > 4:
            d = s - s.mean()
            rho = (d[1:] @ d[:-1]) / (d @ d)
            ess = len(s) * (1.0 - rho) / (1.0 + rho)
    return xp.mean(xp.stack(samples) ** 2)


def prior_by_support(x):
    log_prior = 0.0
    for name, v in zip(("sigma", "nu", "alpha", "beta"), x):
        if not 0.0 < float(v) < 10.0:
            raise ValueError(f"{name}={float(v):.3g} is outside of its support")
        log_prior = log_prior + (-v if v.item() > 1.0 else xp.log(v) - 0.5 * v * v)
    return -log_prior


# ---------------------------------------------------------------- a computer-vision engineer


def flip_when_the_left_is_brighter(x):
    img = xp.reshape(xp.concat([x, 0.3 * x]), (2, 4))
    left, right = img[:, :2].mean().item(), img[:, 2:].mean().item()
    if left < right:
        img = xp.flip(img, axis=1)
    if max(left, right) > 1.0:
        img = xp.clip(img, 0.1, 1.9)
    return xp.sum(img * np.arange(8.0).reshape(2, 4))


def _iou(a, b):
    w = xp.minimum(a[1], b[1]) - xp.maximum(a[0], b[0])
    return w / (a[1] - a[0] + b[1] - b[0] - w)


def iou_loss_with_a_metric(x):
    meter = collections.Counter()
    loss = 0.0
    for k, c in enumerate(x):
        pred = (c - 0.6, c + 0.7 + 0.1 * x[0])
        gt = (xp.asarray(0.5 + 0.4 * k), xp.asarray(1.7 + 0.4 * k))
        overlap = _iou(pred, gt)
        meter["tp" if float(overlap) >= 0.5 else "fp"] += 1
        loss = loss + 1.0 - overlap
    precision = meter["tp"] / max(1, sum(meter.values()))
    print(f"AP50 {precision:.2%}")
    return loss


def non_maximum_suppression(x):
    boxes = xp.stack([x, x + 1.0 + 0.1 * x**2], axis=1)
    scores = 1.0 / (1.0 + xp.exp(-3.0 * (x - 1.0)))
    b, s = np.asarray(boxes), np.asarray(scores)
    order, keep = list(np.argsort(-s)), []
    while order:
        i = order.pop(0)
        keep.append(int(i))
        order = [j for j in order if min(b[i, 1], b[j, 1]) - max(b[i, 0], b[j, 0]) < 0.6]
    return sum(scores[i] * (boxes[i, 1] - boxes[i, 0]) for i in keep)


class _Checkpointer:
    def __init__(self):
        self.best, self.blobs = math.inf, []

    def __call__(self, step, loss, params):
        if float(loss) < self.best:
            self.best = float(loss)
            self.blobs.append(pickle.dumps({"step": step, "w": params.to_numpy()}))


def best_checkpoint_kept(x):
    save, w = _Checkpointer(), x
    for step in range(5):
        loss = xp.mean((xp.tanh(w) - 0.5) ** 2)
        save(step, loss, w)
        w = w - 0.5 * (xp.tanh(w) - 0.5) * (1.0 - xp.tanh(w) ** 2)
    LOG.info("%d checkpoints, %d bytes", len(save.blobs), sum(map(len, save.blobs)))
    return loss


def augmented_image_plotted(x):
    img = xp.reshape(xp.sin(2.0 * x), (2, 2))
    up = xp.repeat(xp.repeat(img, 2, axis=0), 2, axis=1)
    fig = matplotlib.figure.Figure(figsize=(1, 1), dpi=20)
    ax = fig.add_subplot()
    ax.imshow(np.asarray(up), vmin=float(xp.min(up)), vmax=float(xp.max(up)))
    ax.axis("off")
    fig.savefig(io.BytesIO(), format="png")
    return xp.sum((up - up.T) ** 2) + xp.sum(img)


def bilinear_sampling(x):
    texture = np.sin(np.arange(25.0)).reshape(5, 5)
    total = 0.0
    for u, v in ((x[0], x[1]), (x[2], x[3]), (x[0] + x[3], x[2])):
        i, j = int(u), int(v)
        a, b = u - i, v - j
        top = (1 - b) * texture[i, j] + b * texture[i, j + 1]
        bottom = (1 - b) * texture[i + 1, j] + b * texture[i + 1, j + 1]
        total = total + ((1 - a) * top + a * bottom) ** 2
    return total


def hard_negatives_only(x):
    margins = xp.concat([1.5 - x, 0.2 + 0.3 * x])
    losses = xp.log1p(xp.exp(2.0 * margins))
    hardest = heapq.nlargest(3, enumerate(losses.tolist()), key=lambda pair: pair[1])
    return sum(losses[i] for i, _ in hardest) / len(hardest)


class _SummaryWriter:
    def __init__(self):
        self.events = collections.defaultdict(list)

    def add_scalar(self, tag, value, step):
        self.events[tag].append((step, float(value)))

    def add_histogram(self, tag, values, step):
        self.events[tag].append((step, np.histogram(np.asarray(values), bins=4)))


def scalars_for_the_dashboard(x):
    writer = _SummaryWriter()
    for step in range(3):
        act = xp.maximum(x - 0.4 * step, xp.asarray(0.0))
        loss = xp.sum(act**2) + 0.1 * xp.sum(x)
        writer.add_scalar("train/loss", loss, step)
        writer.add_scalar("train/psnr", -10.0 * xp.log10(xp.mean(act**2)), step)
        writer.add_histogram("act", act, step)
    return loss


def matching_of_detections(x):
    targets = np.array([0.7, 1.2, 1.4, 2.2])
    cost = xp.abs(x[:, None] - targets[None, :]) ** 1.5
    rows, cols = scipy.optimize.linear_sum_assignment(np.asarray(cost))
    unmatched = set(range(4)) - {int(c) for c in cols}
    assert not unmatched
    return xp.sum(cost[xp.asarray(rows), xp.asarray(cols)]) + 0.2 * xp.sum(x**2)


def pyramid_with_as_many_levels_as_needed(x):
    level = xp.concat([x, x * 0.5, x**2, 1.0 / x])
    levels = 1 + int(math.ceil(math.log2(float(xp.max(xp.abs(level))) + 1.0)))
    loss = 0.0
    for k in range(levels):
        loss = loss + xp.mean(level**2) / (k + 1)
        if level.shape[0] > 1:
            level = 0.5 * (level[0::2] + level[1::2])
    return loss


# ---------------------------------------------------------------- a quantitative analyst


def american_put_on_a_tree(x):
    steps, strike = 5, 1.4
    up = xp.exp(0.1 * x[1])
    q = (1.005 - 1.0 / up) / (up - 1.0 / up)
    spot = lambda n: xp.stack([x[0] * up ** (2 * k - n) for k in range(n + 1)])
    value, early = xp.maximum(strike - spot(steps), xp.asarray(0.0)), 0
    for n in range(steps - 1, -1, -1):
        hold = (q * value[1:] + (1.0 - q) * value[:-1]) / 1.005
        exercise = strike - spot(n)
        early += int(np.count_nonzero(np.asarray(exercise) > np.asarray(hold)))
        value = xp.maximum(hold, exercise)
    print("early exercise at", early, "nodes")
    return value[0] + 0.01 * x[2]


def zero_rate_between_two_pillars(x):
    pillars = [0.25, 1.0, 2.0, 5.0]
    maturity = 0.5 + x[0]
    k = bisect.bisect_right(pillars, float(maturity)) - 1
    w = (maturity - pillars[k]) / (pillars[k + 1] - pillars[k])
    rate = (1.0 - w) * x[k] + w * x[k + 1]
    return xp.exp(-0.02 * rate * maturity)


def pnl_explain_to_csv(x):
    buf = io.StringIO()
    out = csv.DictWriter(buf, ["book", "carry", "delta", "total"])
    out.writeheader()
    total = 0.0
    for book, v in zip(("EUR", "USD", "JPY", "GBP"), x):
        carry, delta = 0.02 * v, 0.5 * v * v - 0.1 * x[0]
        out.writerow({"book": book, "carry": f"{carry:.2f}", "delta": f"{delta:.2f}", "total": f"{carry + delta:,.3f}"})
        total = total + carry + delta
    LOG.info("%s", buf.getvalue())
    return total


def curve_checked_for_arbitrage(x):
    t = np.array([1.0, 2.0, 3.0, 4.0])
    df = xp.exp(-0.02 * xp.cumulative_sum(x))
    assert bool(xp.all(df[1:] < df[:-1])), "negative forward rate"
    assert 0.0 < df[-1].item() < 1.0
    annuity = xp.sum(df)
    if not np.all(np.isfinite(np.asarray(df))):
        raise FloatingPointError(str(df))
    return (1.0 - df[-1]) / annuity * 100.0 + xp.sum(df * t) * 0.1


def audit_trail_of_a_pricing(x):
    db = sqlite3.connect(":memory:")
    db.execute("create table audit (id integer primary key, input text, leg text, pv real)")
    pv = 0.0
    for k, (leg, flow) in enumerate(zip("ABCD", x)):
        leg_pv = flow * xp.exp(-0.01 * x[0] * (k + 1)) * (1 if k % 2 else -1)
        db.execute("insert into audit (input, leg, pv) values (?, ?, ?)", (repr(flow), leg, float(leg_pv)))
        pv = pv + leg_pv
    (rows,) = db.execute("select count(*) from audit").fetchone()
    db.close()
    assert rows == 4
    return pv


def _norm_cdf(z):
    return 0.5 * (1.0 + special.erf(z / math.sqrt(2.0)))


def _call(spot, strike, sigma, t):
    d1 = (xp.log(spot / strike) + 0.5 * sigma * sigma * t) / (sigma * math.sqrt(t))
    return spot * _norm_cdf(d1) - strike * _norm_cdf(d1 - sigma * math.sqrt(t)), d1


def risk_report_beside_the_price(x):
    lines = ["strike    price    delta    gamma"]
    total = 0.0
    for strike in (0.9, 1.1, 1.3):
        price, d1 = _call(x[0], strike, 0.3 * x[1], 1.5)
        n = statistics.NormalDist()
        gamma = n.pdf(float(d1)) / (float(x[0]) * 0.3 * float(x[1]))
        lines.append("{:6.2f} {:8.4f} {:8.4f} {:8.4f}".format(strike, float(price), n.cdf(float(d1)), gamma))
        total = total + price
    print("\n".join(lines))
    return total * x[2]


def down_and_out_call(x):
    noise = np.random.default_rng(21).normal(size=(6, 8))
    payoff, knocked = 0.0, []
    for k, path in enumerate(noise):
        s = x[0] * xp.exp(xp.cumulative_sum(0.1 * x[1] * xp.asarray(path)))
        if float(xp.min(s)) < 0.85:
            knocked.append(k)
            continue
        payoff = payoff + xp.maximum(s[-1] - 1.0, xp.asarray(0.0))
    LOG.info("knocked out: %s", knocked)
    return payoff / 6.0 + 0.1 * x[2]


def concentration_of_the_top_names(x):
    names = {"AAA": x[0], "BBB": x[1] * 1.5, "CCC": x[2] * 0.4, "DDD": x[3]}
    ranking = sorted(names, key=lambda n: -float(names[n]))
    top = ranking[:2]
    gross = sum(names.values())
    print(", ".join(f"{n} {names[n].item() / gross.item():.1%}" for n in top))
    return sum((names[n] / gross) ** 2 for n in top)


def haircut_by_rating_bucket(x):
    haircuts = {0: 0.02, 1: 0.05, 2: 0.12, 3: 0.25}
    collateral = 0.0
    for value in x:
        bucket = min(3, int(1.6 * value))
        collateral = collateral + (1.0 - haircuts[bucket]) * value * value
    return xp.log(collateral)


def implied_vol_polished_on_the_tape(x):
    spot, strike, quote = x[0], 1.1, 0.1 + 0.1 * x[1]
    s = 0.5
    for _ in range(60):
        price, d1 = _call(spot, strike, s, 1.0)
        vega = float(spot) * math.exp(-0.5 * float(d1) ** 2) / math.sqrt(2.0 * math.pi)
        s -= (float(price) - float(quote)) / vega
    price, _ = _call(spot, strike, s, 1.0)
    sigma = s - (price - quote) / vega  # one step on the tape: the implicit derivative
    return sigma**2 * x[2]


# ---------------------------------------------------------------- a physicist


def leapfrog_with_an_energy_log(x):
    q, v, log = x[:2], x[2:], []
    for n in range(20):
        v = v - 0.01 * xp.sin(q)
        q = q + 0.02 * v
        v = v - 0.01 * xp.sin(q)
        log.append((0.02 * n, float(0.5 * xp.sum(v * v) - xp.sum(xp.cos(q)))))
    drift = max(e for _, e in log) - min(e for _, e in log)
    assert drift < 1e-3, f"energy drifts by {drift:.2e}"
    return xp.sum(q * v)


def _rk4(y, h, n):
    f = lambda y: -y * y + 0.5
    for _ in range(n):
        k1 = f(y)
        k2 = f(y + 0.5 * h * k1)
        k3 = f(y + 0.5 * h * k2)
        y = y + h * (k1 + 2.0 * k2 + 2.0 * k3 + f(y + h * k3)) / 6.0
    return y


def steps_halved_until_converged(x):
    n = 2
    coarse, fine = _rk4(x, 1.0 / n, n), _rk4(x, 0.5 / n, 2 * n)
    while np.max(np.abs(np.asarray(fine - coarse))) > 1e-5:
        n *= 2
        coarse, fine = fine, _rk4(x, 0.5 / n, 2 * n)
    LOG.info("converged with %d steps", 2 * n)
    return xp.sum(fine**2)


def si_prefix_of_a_reading(x):
    current = 1e-5 * xp.sum(x) * x[0]
    power = math.floor(math.log10(float(current)) / 3)
    prefix = {-3: "n", -2: "u", -1: "m", 0: ""}[power]
    mantissa = current / 10.0 ** (3 * power)
    print(f"I = {mantissa:.3f} {prefix}A")
    return (mantissa / 100.0) ** 2


def lennard_jones_with_a_neighbour_list(x):
    pos = xp.stack([x, xp.flip(x) * 0.8 + np.array([0.0, 1.0, 2.0, 3.0])], axis=1)
    tree = scipy.spatial.cKDTree(np.asarray(pos))
    energy = 0.0
    for i, j in sorted(tree.query_pairs(2.3)):
        d = pos[i, :] - pos[j, :]
        r6 = (xp.sum(d * d) / 0.8) ** 3
        energy = energy + 4.0 * (1.0 / r6**2 - 1.0 / r6)
    return energy


class _Notebook:
    def __init__(self):
        self.pages = {}

    def enter(self, title, **readings):
        body = "\n".join(f"| {k} | {v} |" for k, v in readings.items())
        key = hashlib.sha256(body.encode()).hexdigest()[:12]
        self.pages[key] = f"## {title}\n{body}"
        return key


def notebook_page_for_each_run(x):
    book = _Notebook()
    for run, field in enumerate(x):
        hall = 0.3 * field + 0.02 * field**3
        book.enter(f"run {run}", B=field, U=hall, ratio=f"{float(hall / field):.4f}")
    assert len(book.pages) == 4
    return xp.sum((0.3 * x + 0.02 * x**3) ** 2)


def self_consistent_field(x):
    rho, iterations = xp.ones(4) * 0.5, 0
    while True:
        new = 0.5 * (1.0 + xp.tanh(x - 0.4 * xp.sum(rho)))
        residual = float(xp.linalg.vector_norm(new - rho))
        rho, iterations = 0.5 * (rho + new), iterations + 1
        if residual < 1e-13 or iterations > 200:
            break
    return xp.sum(rho * x)


def minimum_image_distances(x):
    box = 1.5
    energy = 0.0
    for i, j in itertools.combinations(range(4), 2):
        d = 1.9 * (x[i] - x[j])
        d = d - box * round(float(d) / box)
        energy = energy + xp.exp(-d * d)
    return energy


def billiard_between_walls(x):
    pos, vel, bounces = [x[0], x[1]], [x[2], -x[3]], []
    for _ in range(4):
        events = []
        for axis in (0, 1):
            wall = 2.5 if float(vel[axis]) > 0 else 0.0
            events.append(((wall - pos[axis]) / vel[axis], axis))
        t, axis = min(events, key=lambda e: float(e[0]))
        pos = [p + t * v for p, v in zip(pos, vel)]
        vel[axis] = -vel[axis]
        bounces.append("xy"[axis])
    LOG.info("bounces: %s", "".join(bounces))
    rest = [p + 0.05 * v for p, v in zip(pos, vel)]
    return rest[0] ** 2 + rest[1] * 1.3


def phase_portrait(x):
    fig = matplotlib.figure.Figure(figsize=(1, 1), dpi=20)
    ax = fig.add_subplot()
    q, p, path = x[0], x[1], []
    for _ in range(15):
        p = p + 0.1 * (x[2] * (1.0 - q * q) * p - q)
        q = q + 0.1 * p
        path.append((float(q), float(p)))
    ax.plot(*np.array(path).T)
    ax.set_title(f"mu = {x[2].item():.2f}")
    fig.savefig(io.BytesIO(), format="svg")
    return q * q + p * p


def unitarity_checked(x):
    angle = x[0] * 0.5 + x[3]
    U = xp.stack([xp.stack([xp.cos(angle), -xp.sin(angle)]), xp.stack([xp.sin(angle), xp.cos(angle)])])
    np.testing.assert_allclose(np.asarray(U @ U.T), np.eye(2), atol=1e-12)
    psi = U @ x[1:3]
    if not math.isclose(float(xp.sum(psi * psi)), float(xp.sum(x[1:3] ** 2)), rel_tol=1e-10):
        warnings.warn("norm is not conserved")
    return psi[0] ** 2 - 0.5 * psi[1]


# ---------------------------------------------------------------- a control and robotics engineer


class _State(enum.Enum):
    SEARCH = enum.auto()
    APPROACH = enum.auto()
    DOCKED = enum.auto()


def docking_state_machine(x):
    state, dist, speed, dwell = _State.SEARCH, xp.sum(x), x[1] * 0.5, collections.Counter()
    for _ in range(20):
        d = float(dist)
        if state is _State.SEARCH and d < 4.0:
            state = _State.APPROACH
        elif state is _State.APPROACH and d < 0.6:
            state = _State.DOCKED
        dwell[state.name] += 1
        gain = {_State.SEARCH: 0.3, _State.APPROACH: 0.15, _State.DOCKED: 0.0}[state]
        dist = dist - gain * dist * speed
    LOG.info("dwell times %s", dict(dwell))
    return dist**2 + speed


class _FlightRecorder:
    def __init__(self, size):
        self.ring, self.crc = collections.deque(maxlen=size), 0

    def record(self, seq, *channels):
        frame = struct.pack(f"<H{len(channels)}f", seq, *channels)
        self.crc = zlib.crc32(frame, self.crc)
        self.ring.append(frame)


def flight_recorder(x):
    recorder, y, v = _FlightRecorder(8), x[0], x[1]
    for seq in range(12):
        u = -1.5 * y - x[2] * v
        recorder.record(seq, y, v, u)
        v = v + 0.1 * u
        y = y + 0.1 * v
    print(f"{len(recorder.ring)} frames, crc {recorder.crc:08x}")
    return y * y + v * v


def heater_with_hysteresis(x):
    temp, heating, cost = x[0] * 15.0, False, 0.0
    for _ in range(15):
        if temp < 18.0:
            heating = True
        elif temp > 21.0:
            heating = False
        temp = temp + 0.1 * x[1] * (10.0 - temp) + (x[2] * 1.2 if heating else 0.0)
        cost = cost + 0.01 * (temp - 20.0) ** 2
    return cost


def kalman_with_an_innovation_gate(x):
    state, P, rejected = x[0], x[1], 0
    for z in (1.3, 1.2, 9.0, 1.5, 1.1):
        P = P + 0.1 * x[2]
        innovation, S = z - state, P + 0.3 * x[3]
        if float(innovation**2 / S) > 9.21:
            rejected += 1
            continue
        K = P / S
        state = state + K * innovation
        P = (1.0 - K) * P
    LOG.info("%d measurements rejected, sigma %.3f", rejected, math.sqrt(P))
    return state**2 + P


def watchdog_in_a_thread(x):
    inbox, alarms = queue.Queue(), []

    def watch():
        while (value := inbox.get()) is not None:
            if abs(value) > 1.5:
                alarms.append(f"{value:+.2f} out of range")

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    y = x[2]
    for _ in range(6):
        y = y + 0.2 * (x[0] - x[1] * y)
        inbox.put(float(y))
    inbox.put(None)
    thread.join()
    LOG.info("alarms: %s", alarms)
    return (y - 1.0) ** 2


def gains_by_flight_region(x):
    edges, gains = np.array([0.5, 1.0, 1.5, 2.0]), [3.0, 2.2, 1.4, 1.0, 0.8]
    v, cost = x[0], 0.0
    for ref in x[1:]:
        region = int(np.searchsorted(edges, v.item()))
        u = gains[region] * (ref - v)
        v = v + 0.15 * u
        cost = cost + u * u
    return cost


def heading_error_wrapped(x):
    heading, cost = 0.0, 0.0
    for k in range(5):
        heading = heading + 1.1 * x[0] + 0.2 * x[1]
        error = 2.0 * x[2] - heading
        turns = round(float(error) / (2.0 * math.pi))
        error = error - 2.0 * math.pi * turns
        cost = cost + error**2 * (k + 1)
        heading = heading + 0.1 * x[3] * error
    return cost


def thruster_limits(x):
    limit, y, v, saturated = 0.8, x[0], x[1], 0
    for _ in range(10):
        u = -2.0 * x[2] * y - x[3] * v
        if abs(float(u)) > limit:
            u, saturated = math.copysign(limit, u), saturated + 1
        v = v + 0.1 * u
        y = y + 0.1 * v
    print(f"saturated {saturated} of 10 ticks")
    return y * y + 0.5 * v * v


def cross_track_error_to_the_path(x):
    way = np.array([[0.0, 0.0], [1.0, 0.8], [2.0, 1.1], [3.0, 2.4]])
    pos, cost = x[:2], 0.0
    for _ in range(4):
        here = np.asarray(pos)
        k = min(range(3), key=lambda i: float(np.hypot(*(way[i : i + 2].mean(axis=0) - here))))
        along = (way[k + 1] - way[k]) / np.linalg.norm(way[k + 1] - way[k])
        d = pos - way[k]
        off = along[0] * d[1] - along[1] * d[0]
        cost = cost + off * off
        pos = pos + 0.2 * x[2] * along - 0.1 * x[3] * off * xp.asarray([-along[1], along[0]])
    return cost


def pid_tuning_with_json_lines(x):
    y, integral, itae = 0.0, 0.0, 0.0
    with tempfile.TemporaryFile("w+") as log, contextlib.suppress(KeyboardInterrupt):
        for n in range(10):
            e = 1.0 - y
            integral = integral + 0.1 * e
            u = x[0] * e + x[1] * integral
            y = y + 0.1 * (u * x[2] - y * x[3])
            itae = itae + 0.1 * n * xp.sqrt((1.0 - y) ** 2 + 1e-4)
            log.write(json.dumps({"t": 0.1 * n, "y": float(y), "u": float(u), "wall": time.time()}) + "\n")
        log.seek(0)
        assert len(log.readlines()) == 10
    return itae
