"""Programs whose recorded gradient is whole: values leave only to be looked at, and what enters is unrelated to them."""

import abc
import collections
import copy
import dataclasses
import decimal
import io
import itertools
import json
import math
import pickle
import queue
import struct
import threading

import numpy as np
import scipy.integrate
import scipy.linalg
import scipy.optimize
import scipy.signal
import scipy.spatial
import scipy.stats
import sklearn.cluster
import sklearn.decomposition
import sklearn.metrics
import sklearn.utils

import arraytape as xp
import b_helpers as _h


# ================================================================ the actuary
@dataclasses.dataclass
class _Policy:
    term: int = 5
    expenses: float = 0.03
    table: np.ndarray = dataclasses.field(default_factory=lambda: _h.LIFE_TABLE * 20)
    audit: list = dataclasses.field(default_factory=list)

    def reserve(self, benefit, force):
        v, alive = xp.asarray(0.0), 1.0
        for t in range(self.term):
            v = v + benefit * xp.exp(-force * (t + 1)) * (alive * self.table[t])
            alive *= 1.0 - self.table[t]
            self.audit.append({"t": t, "reserve": round(float(v), 4), "alive": alive})
        return v * (1 + self.expenses)


def term_assurance_with_audit(x):
    policy = _Policy()
    v = policy.reserve(10 * x[0], 0.05 * x[1])
    text = _h.format_table(["t", "reserve", "alive"], [[a["t"], a["reserve"], a["alive"]] for a in policy.audit])
    assert text.count("\n") == policy.term + 1
    return v + x[2] * x[3]


def solvency_loading_by_band(x):
    loadings = {"green": 0.02, "amber": 0.05, "red": 0.11}
    assets, liabilities = xp.sum(x[:2]) * 1.5, xp.sum(x[2:])
    ratio = assets / liabilities
    colour = _h.band(ratio, (0.5, 1.2, math.inf), ("red", "amber", "green"))
    return liabilities * (1 + loadings[colour]) + 0.1 * ratio**2


def graduation_with_chi_square_report(x):
    exposure = np.array([100.0, 120.0, 90.0, 60.0])
    observed = np.array([110.0, 95.0, 170.0, 85.0])
    expected = x * exposure
    e = _h.to_host(expected)
    stat, p = scipy.stats.chisquare(observed, e * observed.sum() / e.sum())
    report = f"chi2 {stat:.2f} p {p:.3g}"
    assert report
    return xp.sum((expected - observed) ** 2 / 1e3)


# ================================================================ the robotics engineer
class _Ik:
    def __init__(self, links, tol=1e-3, max_iter=3):
        self.links, self.tol, self.max_iter = np.asarray(links), tol, max_iter
        self.log = _h.get_logger("ik")

    def tip(self, q):
        a = xp.cumulative_sum(q)
        return xp.stack([xp.sum(self.links * xp.cos(a)), xp.sum(self.links * xp.sin(a))])

    def solve(self, q, goal):
        for it in range(self.max_iter):
            e = goal - self.tip(q)
            if float(xp.linalg.vector_norm(e)) < self.tol:
                break
            self.log.debug("it %d err %s", it, np.asarray(e))
            a = xp.cumulative_sum(q)
            s, c = self.links * xp.sin(a), self.links * xp.cos(a)
            J = xp.stack([xp.stack([-xp.sum(s[k:]), xp.sum(c[k:])]) for k in range(3)], axis=1)
            q = q + 0.3 * (J.T @ e)
        return q


def ik_with_stopping_test(x):
    ik = _Ik([0.8, 0.6, 0.3])
    q = ik.solve(x[:3], xp.asarray([0.4, 0.9]) * x[3])
    return xp.sum(q * q)


def joint_limits_and_trace(x):
    limits = np.array([[-2.0, 2.5]] * 4)
    trace = collections.deque(maxlen=100)
    T = xp.eye(2)
    offsets = [np.array([0.5, 0.1]), np.array([0.4, 0.0]), np.array([0.3, -0.1]), np.array([0.1, 0.0])]
    p = xp.zeros(2)
    for i in range(4):
        lo, hi = limits[i]
        if not lo <= float(x[i]) <= hi:
            raise ValueError("joint limit")
        T = T @ _h.rotation(0.3 * x[i])
        p = p + T @ offsets[i]
        trace.append((i, p.tolist(), math.degrees(x[i])))
    return xp.sum((p - np.array([0.2, 1.0])) ** 2)


def gated_kalman_update(x):
    H, R = np.array([[1.0, 0.0], [0.5, 1.0]]), 0.3 * np.eye(2)
    gate = scipy.stats.chi2.ppf(0.99, df=2)
    m, P = xp.stack([x[2], x[3]]), xp.eye(2) * x[0] + 0.2 * x[1]
    rejected = 0
    for z in ([1.0, 0.2], [9.0, -30.0], [0.7, 0.4]):
        nu = np.array(z) - H @ m
        S = H @ P @ H.T + R
        d2 = xp.sum(nu * xp.linalg.solve(S, nu))
        if d2.item() > gate:
            rejected += 1
            continue
        K = xp.linalg.solve(S, H @ P).T
        m, P = m + K @ nu, P - K @ H @ P
    assert rejected == 1
    return xp.sum(m * m) + xp.linalg.trace(P)


# ================================================================ the econometrician
def ols_with_diagnostics(x):
    X = xp.asarray(_h.DESIGN[:, :2])
    y = _h.RESPONSE * x[0] + x[1]
    A = X.T @ X + 0.1 * x[2] * xp.eye(2)
    beta = xp.linalg.solve(A, X.T @ y)
    resid = y - X @ beta
    out = io.StringIO()
    print("cond", np.linalg.cond(np.asarray(A)), file=out)
    print("durbin-watson", float(xp.sum((resid[1:] - resid[:-1]) ** 2) / xp.sum(resid**2)), file=out)
    print("jarque-bera", scipy.stats.jarque_bera(np.asarray(resid)).pvalue, file=out)
    return beta[1] + 0.5 * beta[0] * x[3]


def lag_selected_by_aic(x):
    series = np.cumsum(_h.normals(12, 4)) * 0.3
    candidates = {}
    for lag in (1, 2, 3):
        pred = xp.asarray(series[:-lag]) * x[lag - 1]
        rss = xp.sum((series[lag:] - pred) ** 2)
        candidates[lag] = 2 * lag + 12 * math.log(float(rss) / 12)
    best = min(candidates, key=candidates.get)
    kernel = {1: 1.0, 2: 0.8, 3: 0.6}[best]
    pred = xp.asarray(series[:-best]) * x[best - 1]
    return kernel * xp.sum((series[best:] - pred) ** 2) + xp.sum(x**2)


def iterated_fixed_point_gmm(x):
    Z = _h.DESIGN[:, 1:]
    hist, theta = _h.History(), xp.asarray(0.5)
    stop = _h.EarlyStopping(patience=1, min_delta=1e-6)
    for k in range(40):
        moments = Z.T @ (_h.RESPONSE - theta * x[0])
        new = theta + 0.05 * x[1] * xp.sum(moments * np.array([1.0, 0.5, -0.5])) - 0.1 * x[2] * theta
        hist.record(k=k, theta=new.item())
        change, theta = abs(float(new - theta)), new
        if stop.should_stop(change) or k == 8:
            break
    return theta * theta + x[3] + theta


# ================================================================ the computational chemist
class _NeighbourList:
    """Pairs within a cutoff, by indices; rebuilt when something moved too far."""

    def __init__(self, cutoff=2.0, skin=0.3):
        self.cutoff, self.skin, self.ref, self.builds = cutoff, skin, None, 0

    def pairs(self, coords):
        c = np.array(coords)
        if self.ref is None or np.abs(c - self.ref).max() > self.skin:
            tree = scipy.spatial.cKDTree(c)
            self._pairs = np.array(sorted(tree.query_pairs(self.cutoff + self.skin)))
            self.ref, self.builds = c, self.builds + 1
        return self._pairs[:, 0], self._pairs[:, 1]


def lennard_jones_neighbour_list(x):
    base = np.array([[0.0, 0.0], [1.3, 0.1], [0.4, 1.2], [1.5, 1.6]])
    charges = np.array([0.2, -0.1, 0.3, -0.4])
    nl, energy = _NeighbourList(), xp.asarray(0.0)
    for scale in (1.0, 1.01):
        r = base * xp.sqrt(x)[:, None] * scale
        i, j = nl.pairs(r)
        d2 = xp.sum((r[i, :] - r[j, :]) ** 2, axis=1)
        sr6 = 1.0 / d2**3
        energy = energy + xp.sum(sr6**2 - sr6) + xp.sum(charges[i] * charges[j] / xp.sqrt(d2))
    return energy


def scf_loop_recorded_density(x):
    h = np.array([[0.0, -0.3, 0.0, 0.0], [-0.3, 0.0, -0.3, 0.0], [0.0, -0.3, 0.0, -0.3], [0.0, 0.0, -0.3, 0.0]])
    density, old, trace = xp.full(4, 0.25), math.inf, []
    for _ in range(6):
        e, c = xp.linalg.eigh(h - xp.eye(4) * x + xp.eye(4) * (0.3 * density))
        energy = e[0]
        trace.append(energy.item())
        if abs(trace[-1] - old) < 1e-14:
            break
        old = trace[-1]
        density = 0.5 * density + 0.5 * c[:, 0] ** 2
    return 2 * energy + float(len("HF")) * np.float64(0.7)


def rate_constant_lab_sheet(x):
    temperature = np.array([280.0, 300.0, 320.0, 340.0])
    k = xp.exp(-x / (1e-3 * _h.GAS_CONSTANT * temperature))
    with decimal.localcontext() as ctx:
        ctx.prec = 6
        sheet = [str(decimal.Decimal(v) * 1000) for v in np.asarray(k).tolist()]
    header = ";".join(sheet)
    concentration = np.array([0.1, 0.2, 0.4, 0.8])
    assert header.count(";") == 3
    return 10 * xp.sum(k * concentration)


def xyz_trajectory_writer(x):
    f = io.StringIO()
    masses, force_constants = np.array([1.0, 12.0, 16.0, 1.0]), np.array([3.0, 5.0, 3.0])
    q, v = x * 1.0, xp.zeros(4)
    for frame in range(3):
        stretch = q[1:] - q[:-1] - 0.9
        pull = force_constants * stretch
        force = xp.concat([pull, xp.zeros(1)]) - xp.concat([xp.zeros(1), pull])
        v = v + 0.1 * force / masses
        q = q + 0.1 * v
        np.savetxt(f, np.asarray(q)[None, :], header=f"frame {frame}", fmt="%.6f")
    assert f.getvalue().count("frame") == 3
    return 0.5 * xp.sum(force_constants * (q[1:] - q[:-1] - 0.9) ** 2) + 0.5 * xp.sum(masses * v * v)


# ================================================================ the signal-processing engineer
class _Meter:
    def __init__(self):
        self.peak, self.blocks = 0.0, []

    def __call__(self, block):
        a = np.abs(np.asarray(block))
        self.peak = max(self.peak, a.max())
        self.blocks.append(20 * math.log10(math.sqrt((a**2).mean()) + 1e-12))
        return block


def metered_biquad(x):
    b, a = scipy.signal.butter(2, 0.3)
    meter, y, z1, z2 = _Meter(), [], xp.asarray(0.0), xp.asarray(0.0)
    meter(x)
    for n in range(4):
        v = b[0] * x[n] + z1
        z1, z2 = b[1] * x[n] - a[1] * v + z2, b[2] * x[n] - a[2] * v
        y.append(v)
    out = meter(xp.stack(y))
    if meter.peak > 100:
        raise OverflowError("clipping")
    return xp.sum(out * out)


def strongest_bin_power(x):
    window = scipy.signal.get_window("hann", 6)[1:5]
    spectrum = xp.fft.rfft(x * window - 0.1)
    power = xp.real(spectrum) ** 2 + xp.imag(spectrum) ** 2
    k = int(np.argmax(np.asarray(power)))
    carrier = np.cos(2 * np.pi * k * np.arange(4) / 4)
    return power[k] + xp.sum(x * carrier)


def peaks_marked_by_scipy(x):
    t = np.linspace(0, 6, 40)
    wave = x[0] * xp.sin(x[1] * 2 * t) + 0.2 * x[2] * xp.cos(5 * t)
    idx, _ = scipy.signal.find_peaks(np.asarray(wave))
    return xp.sum(wave[xp.asarray(idx)]) + x[3] ** 2


# ================================================================ the Bayesian statistician
class _Posterior:
    data = np.array([3.0, 1.0, 4.0, 2.0])

    def __init__(self):
        self.evaluations, self.best = 0, (-math.inf, None)

    def __call__(self, theta):
        self.evaluations += 1
        lp = xp.sum(self.data * xp.log(theta) - theta) - 0.5 * xp.sum((xp.log(theta) / 2.0) ** 2)
        if float(lp) > self.best[0]:
            self.best = (float(lp), np.array(theta))
        return lp


def metropolis_accept_reject(x):
    rng, target = np.random.default_rng(11), _Posterior()
    state, accepted = x, 0
    for _ in range(5):
        proposal = state * np.exp(0.3 * rng.normal(size=4))
        if math.log(rng.uniform()) < float(target(proposal) - target(state)):
            state, accepted = proposal, accepted + 1
    assert target.evaluations == 10
    return target(state)


def posterior_predictive_ks(x):
    z = _h.normals(20, 8)
    draws = x[0] + 0.3 * x[1] * z
    res = scipy.stats.kstest(np.asarray(draws), "norm", args=(1.0, 0.3))
    flag = "ok" if res.pvalue > 0.01 else "misfit"
    assert flag in ("ok", "misfit")
    obs = np.linspace(0.5, 1.5, 20)
    return xp.mean((draws - obs) ** 2) + x[2] * x[3]


def kde_of_chain_report(x):
    chain = xp.concat([x * s for s in np.linspace(0.8, 1.2, 5)])
    density = scipy.stats.gaussian_kde(np.asarray(chain))
    summary = {"hpd": density(np.linspace(0, 3, 7)).round(3).tolist(), "skew": float(scipy.stats.skew(np.asarray(chain)))}
    json.dumps(summary)
    prior = scipy.stats.norm.logpdf(np.linspace(-1, 1, 20))
    return xp.sum(prior * chain**2) / 20


def leapfrog_with_divergence_check(x):
    q, p = xp.log(x), xp.asarray(_h.normals(4, 2))
    energies = []

    def energy(q, p):
        return 0.5 * xp.sum(p * p) + xp.sum(q**4) / 4

    energies.append(float(energy(q, p)))
    for _ in range(6):
        p = p - 0.05 * q**3
        q = q + 0.1 * p
        p = p - 0.05 * q**3
        energies.append(float(energy(q, p)))
        if abs(energies[-1] - energies[0]) > 1000:
            raise RuntimeError("divergent transition")
    drift = max(energies) - min(energies)
    return energy(q, p) + xp.sum(q) * (0.0 if drift > 1e6 else 1.0)


# ================================================================ the ML engineer
class _Logger(_h.Callback):
    def __init__(self, every=1):
        self.every, self.rows = every, []

    def on_step(self, trainer, step, loss):
        if step % self.every == 0:
            w = np.asarray(trainer.w)
            self.rows.append({"step": step, "loss": loss.item(), "wnorm": float(np.linalg.norm(w)), "lr": trainer.cfg.lr})

    def on_end(self, trainer):
        self.json = json.dumps(self.rows)


class _Stopper(_h.Callback):
    def __init__(self, **kw):
        self.rule = _h.EarlyStopping(**kw)

    def on_step(self, trainer, step, loss):
        trainer.stop = self.rule.should_stop(loss)


class _Best(_h.Callback):
    def on_begin(self, trainer):
        self.best, self.snapshot = math.inf, None

    def on_step(self, trainer, step, loss):
        if loss < self.best:
            self.best, self.snapshot = float(loss), np.array(trainer.w)


def trainer_with_callbacks(x):
    callbacks = [_Logger(), _Stopper(patience=3), _Best()]
    trainer = _h.Trainer(xp.asarray(_h.DESIGN), xp.asarray(_h.RESPONSE), callbacks=callbacks)
    w = trainer.fit(x)
    return trainer.loss(w)


def plateau_scheduler(x):
    X, lr, best, w = _h.DESIGN, 0.2, math.inf, x
    for epoch in range(5):
        r = X @ w - _h.RESPONSE
        loss = xp.mean(r * r)
        if loss.item() > 0.9 * best:
            lr *= 0.5
        best = min(best, loss.item())
        w = w - lr * (X.T @ r) / 6
    return xp.mean((X @ w - _h.RESPONSE) ** 2)


def validation_scores_by_sklearn(x):
    target = np.array([1, 0, 1, 0, 1, 0])
    logits = _h.DESIGN @ (x - 1.0)
    prob = 1 / (1 + xp.exp(-logits))
    host = np.asarray(prob)
    metrics = {
        "auc": sklearn.metrics.roc_auc_score(target, host),
        "acc": sklearn.metrics.accuracy_score(target, (host > 0.5).astype(int)),
        "cm": sklearn.metrics.confusion_matrix(target, host > 0.5).tolist(),
    }
    _h.get_logger("eval").info("%s", json.dumps(metrics))
    return -xp.mean(target * xp.log(prob) + (1 - target) * xp.log(1 - prob))


def kmeans_labels_choose_prototypes(x):
    init = np.array([[0.8], [1.8]])
    labels = sklearn.cluster.KMeans(2, init=init, n_init=1, max_iter=20).fit_predict(np.asarray(x)[:, None])
    prototypes = np.array([0.9, 1.7])
    return xp.sum((x - prototypes[labels]) ** 2) + xp.sum(xp.log(x))


class _LossScaler:
    def __init__(self, scale=8.0):
        self.scale, self.good = scale, 0

    def check(self, values):
        finite = all(math.isfinite(v) for v in np.asarray(values).ravel())
        self.good = self.good + 1 if finite else 0
        if not finite:
            self.scale /= 2
        elif self.good % 2 == 0:
            self.scale *= 2
        return finite


def dynamic_loss_scaling(x):
    scaler, total = _LossScaler(), xp.asarray(0.0)
    for batch in np.random.default_rng(0).normal(size=(3, 4)):
        loss = xp.sum((x - batch) ** 2) * scaler.scale
        if scaler.check(loss):
            total = total + loss / 16.0
    return total


# ================================================================ the game-physics programmer
class _World:
    materials = {"ice": 0.95, "wood": 0.5, "mud": 0.1}

    def __init__(self, floor=("wood", "ice", "mud")):
        self.floor, self.events = floor, []

    def step(self, p, v, dt=0.1):
        v = v + _h.GRAVITY * dt
        p = p + v * dt
        if float(p[1]) < 0.0:
            tile = self.floor[int(float(p[0]) // 1.0) % 3]
            e = self.materials[tile]
            v = xp.stack([v[0], -e * v[1]])
            p = xp.stack([p[0], -p[1]])
            self.events.append((tile, p.tolist()))
        return p, v


def bouncing_ball(x):
    world = _World()
    p, v = xp.stack([x[0], 0.3 * x[1]]), xp.stack([x[2], 0.2 * x[3]])
    for _ in range(8):
        p, v = world.step(p, v)
    assert world.events
    return xp.sum(p * p) + 0.5 * xp.sum(v * v)


class _Replay:
    def __init__(self):
        self.raw = bytearray()

    def frame(self, *values):
        self.raw += struct.pack(f"<{len(values)}f", *values)

    def crc(self):
        import zlib

        return zlib.crc32(bytes(self.raw))


def replay_recorder(x):
    replay, wind = _Replay(), np.array([0.1, -0.1, 0.05, 0.0])
    p = x * 1.0
    for k in range(4):
        p = p + 0.1 * (wind * p - 0.2 * p**2)
        replay.frame(*p, float(k))
    assert len(replay.raw) == 4 * 5 * 4 and replay.crc() >= 0
    return xp.sum(p)


def broadphase_grid(x):
    size, cells = 0.8, collections.defaultdict(list)
    anchor = np.array([0.0, 0.3, 0.6, 0.9])
    pos = x + anchor
    for i in range(4):
        cells[int(math.floor(pos[i] / size))].append(i)
    near = [(i, j) for c in sorted(cells) for i, j in itertools.combinations(cells[c] + cells.get(c + 1, []), 2)]
    energy = xp.sum(pos**2)
    for i, j in sorted(set(near)):
        energy = energy + 0.1 / (0.05 + (pos[i] - pos[j]) ** 2)
    return energy


def hud_and_event_bus(x):
    bus, hud = _h.EventBus(), []
    bus.on("damage")(lambda who, v: hud.append(f"{who}: {float(v):5.1f} hp"))
    bus.on("damage")(lambda who, v: "dead" if v < 0 else "alive")
    hp = xp.full(4, 3.0)
    armour = np.array([0.5, 0.25, 0.1, 0.0])
    for who in range(4):
        hp[who] -= x[who] * (1 - armour[who])
        replies = bus.emit("damage", f"p{who}", hp[who])
        if "dead" in replies:
            break
    assert len(hud) == 4
    return xp.sum(hp**2)


# ================================================================ the climate modeller
class _Column:
    def __init__(self, n=4):
        self.n, self.dz = n, 0.5
        self.insolation = np.array([1.0, 0.6, 0.3, 0.1])
        self.output = {"time": [], "T": np.zeros((20, n))}
        self.steps = 0

    def step(self, T, kappa, dt):
        cfl = float(xp.max(kappa)) * dt / self.dz**2
        substeps = 1 if cfl < 0.5 else 2 if cfl < 1.0 else 4
        for _ in range(substeps):
            flux = kappa * (T[1:] - T[:-1]) / self.dz
            div = xp.concat([flux, xp.zeros(1)]) - xp.concat([xp.zeros(1), flux])
            T = T + dt / substeps * (div / self.dz + self.insolation - 0.1 * T)
        self.output["time"].append(self.steps * dt)
        self.output["T"][self.steps] = T
        self.steps += 1
        return T


def column_with_cfl_substeps(x):
    model, T = _Column(), xp.zeros(4) + x[3]
    for _ in range(5):
        T = model.step(T, x[:3], dt=0.2)
    assert model.output["T"][:5].max() > 0
    return xp.sum(T * T)


def ice_mask_albedo(x):
    latitude = np.linspace(0.1, 1.4, 4)
    T = x * np.cos(latitude) * 2
    frozen = np.asarray(T) < 0.8
    albedo = np.where(frozen, 0.6, 0.25)
    absorbed = (1 - albedo) * np.cos(latitude) - 0.1 * T
    return xp.sum((T + 0.3 * absorbed) ** 2)


def ensemble_spread_archive(x):
    archive = {}
    members = np.random.default_rng(9).normal(scale=0.1, size=(5, 4))
    means = []
    for k, pert in enumerate(members):
        T = _h.rk4(lambda t, y: -0.5 * y + np.sin(t), x + pert, 0.0, 0.3)
        archive[f"member{k}"] = np.array(T, dtype=np.float32)
        means.append(xp.mean(T))
    stacked = np.stack(list(archive.values()))
    q = np.quantile(stacked, [0.1, 0.5, 0.9], axis=0)
    assert (q[0] <= q[2]).all()
    return xp.sum(xp.stack(means) ** 2)


def calibration_by_optimizer_only_reported(x):
    obs = np.array([1.0, 0.9, 2.1, 1.2])

    def misfit(p):
        return float(xp.sum((p * x - obs) ** 2))

    best = scipy.optimize.minimize_scalar(misfit, bounds=(0.1, 3.0), method="bounded")
    text = f"best scale {best.x:.4f} misfit {best.fun:.4f}"
    assert "scale" in text
    fixed_scale = 0.95
    return xp.sum((fixed_scale * x - obs) ** 2)


def pattern_analysis_pca(x):
    modes = np.array([[1.0, 0.5, 0.2, 0.1], [0.3, -0.4, 0.8, 0.2], [0.1, 0.9, -0.3, 0.5]])
    field = modes * x
    pca = sklearn.decomposition.PCA(2).fit(np.asarray(field))
    assert 0 < pca.explained_variance_ratio_.sum() <= 1 + 1e-12
    reference = np.full((3, 4), 0.4)
    return xp.sum((field - reference) ** 2)


# ================================================================ the quant
class _Desk(abc.ABC):
    def __init__(self, quotes):
        self.quotes, self.blotter = np.asarray(quotes), []

    @abc.abstractmethod
    def value(self, i, s): ...

    def mark(self, s):
        total = xp.asarray(0.0)
        for i, q in enumerate(self.quotes):
            v = self.value(i, s)
            self.blotter.append((i, float(v), float(v) - q, math.copysign(1.0, v - q)))
            total = total + (v - q) ** 2
        return total

    @property
    def pnl(self):
        return sum(row[2] for row in self.blotter)


class _Exponential(_Desk):
    def value(self, i, s):
        return s[i] * xp.exp(-0.1 * (i + 1) * s[3 - i])


def desk_marked_to_market(x):
    desk = _Exponential([1.0, 0.6, 1.7, 1.1])
    error = desk.mark(x)
    assert abs(desk.pnl) < 100 and len(desk.blotter) == 4
    return error


def monte_carlo_with_confidence(x):
    z, batches, means = np.random.default_rng(5).normal(size=(8, 32)), [], []
    for batch in z:
        s = x[0] * xp.exp(0.2 * x[1] * batch - 0.02 * x[1] ** 2)
        payoff = xp.maximum(s - 0.9 * x[2] / x[3], xp.asarray(0.0))
        batches.append(xp.mean(payoff))
        means.append(batches[-1].item())
        if len(means) > 3:
            half = scipy.stats.t.ppf(0.975, len(means) - 1) * np.std(means, ddof=1) / math.sqrt(len(means))
            if half < 0.05 * abs(np.mean(means)):
                break
    return sum(batches) / len(batches)


def bermudan_exercise_policy(x):
    z = np.random.default_rng(2).normal(size=(2, 24))
    s1 = 1.0 + 0.2 * x[0] * z[0]
    s2 = s1 + 0.2 * x[1] * z[1]
    put = _h.Put(strike=1.05)
    later, now = put.payoff(s2), put.payoff(s1)
    coef = np.polyfit(np.asarray(s1), np.asarray(later), 2)
    exercise = np.asarray(now) > np.polyval(coef, np.asarray(s1))
    value = xp.where(xp.asarray(exercise), now, later * 0.98)
    return xp.mean(value) * 10 * x[2] + x[3]


def value_at_risk_report(x):
    scenarios = np.random.default_rng(4).normal(scale=0.1, size=(50, 4))
    pnl = scenarios @ x
    host = np.asarray(pnl)
    report = {
        "VaR": -float(np.quantile(host, 0.05)),
        "normal VaR": float(scipy.stats.norm.ppf(0.95, scale=host.std())),
        "shapiro": float(scipy.stats.shapiro(host).pvalue),
    }
    assert all(isinstance(v, float) for v in report.values())
    tail = np.argsort(host)[:5]
    return -xp.mean(pnl[xp.asarray(tail)]) * 10


def instruments_from_config(x):
    config = [{"kind": "Call", "strike": 1.0}, {"kind": "Put", "strike": 1.4}, {"kind": "Straddle", "maturity": 2.0, "strike": 1.2}]
    rates, ledger = np.array([0.01, 0.02, 0.03]), {}
    total = xp.asarray(0.0)
    for r, entry in zip(rates, config):
        kind = getattr(_h, entry["kind"])
        inst = kind(**{k: v for k, v in entry.items() if k != "kind"})
        pv = xp.sum(inst.payoff(x)) * math.exp(-r * inst.maturity)
        ledger[inst.describe()] = f"{float(pv):.4f}"
        total = total + pv * xp.mean(x)
    assert len(ledger) == 3
    return total


# ================================================================ the student
def notebook_final_v3_REAL(x):
    results = []
    a = x * 3
    results.append(a.tolist())
    b = xp.exp(-a)
    results.append([float(q) for q in b])
    # quick look
    print(results, file=io.StringIO())
    print(np.array(results).shape, np.array(results).max(), file=io.StringIO())
    stuff = np.array([4, 3, 2, 1]) / 10
    c = b * stuff + a
    if max(results[0]) > 100:
        c = c / 0
    results.append(float(xp.sum(c)))
    return xp.sum(c) + 0.1


def homework_newton_sqrt(x):
    r = xp.ones(4)
    errs = []
    for i in range(50):
        r_new = 0.5 * (r + x / r)
        err = max(abs(float(u) - float(v)) for u, v in zip(r_new, r))
        errs.append(err)
        r = r_new
        if err < 1e-13:
            break
    plot_x = list(range(len(errs)))
    plot_y = [math.log10(e + 1e-17) for e in errs]
    assert len(plot_x) == len(plot_y)
    return xp.sum(r * np.array([1.0, -2.0, 3.0, 0.5]))


def one_list_for_everything(x):
    everything = {"const": [0.5, 1.5, 2.5, 3.5], "log": []}
    for i in range(4):
        everything["log"].append(x[i].item() * everything["const"][i])
    table = np.zeros((4, 2))
    table[:, 0] = everything["const"]
    table[:, 1] = everything["log"]
    print(table, file=io.StringIO())
    return xp.sum(x**2 * table[:, 0])


# ================================================================ the library author
class _Validator:
    def __init__(self, **bounds):
        self.bounds = bounds

    def __call__(self, name, x):
        lo, hi = self.bounds.get(name, (-math.inf, math.inf))
        _h.assert_range(_h.assert_finite(name, x), lo, hi)
        return x


_STAGES = _h.Registry()


@_STAGES.register("shift")
def _shift(x, by=0.25):
    return x - by


@_STAGES.register("mix")
def _mix(x, seed=0):
    return np.random.default_rng(seed).normal(size=(4, 4)) @ x


@_STAGES.register("squash")
def _squash(x, gain=0.7):
    return xp.tanh(gain * x)


def registry_with_validators(x):
    check = _Validator(shift=(0, 5), squash=(-1, 1))
    y = x
    for stage in ("shift", "mix", "squash"):
        y = check(stage, _STAGES[stage](y))
    sklearn.utils.check_array(np.asarray(y)[None, :])
    return xp.sum(y * y)


class _Affine(_h.Transformer):
    def __init__(self, a=1.5, b=np.array([0.1, 0.2, 0.3, 0.4])):
        self.a, self.b, self.seen_ = a, b, None

    def fit(self, x):
        self.seen_ = {"min": float(xp.min(x)), "max": float(xp.max(x)), "fingerprint": _h.fingerprint(x)}
        if self.seen_["min"] <= 0:
            raise ValueError("positive data only")
        return self

    def transform(self, x):
        return self.a * xp.log(x) + self.b


def abstract_transformer_with_hooks(x):
    snapshots = []
    pipe = _h.Pipeline(_Affine(), xp.exp, _Affine(a=0.5), hooks=[lambda n, v: snapshots.append((n, np.array(v)))])
    out = pipe(x)
    copies = copy.deepcopy(snapshots)
    assert len(pickle.dumps(copies)) > 0
    return xp.sum(out**2)


class _Cache:
    """Keyed by the bytes of the argument; keeps recorded Arrays, so that a hit is as good as a call."""

    def __init__(self, f):
        self.f, self.store, self.hits = f, {}, 0

    def __call__(self, x, **kw):
        key = (np.asarray(x).tobytes(), tuple(sorted(kw.items())))
        if key in self.store:
            self.hits += 1
        else:
            self.store[key] = self.f(x, **kw)
        return self.store[key]


def cache_keyed_by_bytes(x):
    kernel = np.exp(-np.abs(np.subtract.outer(np.arange(4), np.arange(4))))
    smooth = _Cache(lambda v, power=1: kernel @ v**power)
    total = smooth(x) + smooth(x, power=2) + smooth(x)
    assert smooth.hits == 1
    return xp.sum(total * total) / 10


def coincident_constants(x):
    ratio = x / x
    ones = ratio.tolist()
    size = float(xp.sum(ratio))
    assert ones == [1.0, 1.0, 1.0, 1.0] and size == 4.0
    weights = np.array([1.0, 1.0, 1.0, 1.0]) / 4.0
    return xp.sum(weights * x**3) + 4.0 * x[0]


def background_telemetry_thread(x):
    inbox, seen = queue.Queue(), []

    def worker():
        while (item := inbox.get()) is not None:
            seen.append(sum(item) / len(item))

    thread = threading.Thread(target=worker)
    thread.start()
    y = x
    for gain in np.array([0.9, 1.1, 0.7]):
        y = xp.sin(gain * y)
        inbox.put(y.tolist())
    inbox.put(None)
    thread.join()
    assert len(seen) == 3
    return xp.sum(y)


def gradient_check_against_scipy(x):
    A = _h.DESIGN.T @ _h.DESIGN / 6

    def f(v):
        v = xp.asarray(v)
        return float(xp.sum((A @ v) * v) + xp.sum(xp.log(v)))

    numeric = scipy.optimize.approx_fprime(np.asarray(x), f, 1e-7)
    analytic = 2 * (A @ np.asarray(x)) + 1 / np.asarray(x)
    assert np.abs(numeric - analytic).max() < 1e-3
    return xp.sum((A @ x) * x) + xp.sum(xp.log(x))


def cross_check_with_scipy_linalg(x):
    B = np.array([[2.0, 0.3, 0.1, 0.0], [0.3, 1.5, 0.2, 0.1], [0.1, 0.2, 1.8, 0.3], [0.0, 0.1, 0.3, 1.2]])
    M = xp.asarray(B) + xp.eye(4) * x
    L = xp.linalg.cholesky(M)
    reference = scipy.linalg.cholesky(np.asarray(M), lower=True)
    np.testing.assert_allclose(np.asarray(L), reference, rtol=1e-10)
    rhs = np.array([1.0, -1.0, 0.5, 2.0])
    return xp.sum(rhs * xp.linalg.solve(M, rhs)) + 2 * xp.sum(xp.log(xp.linalg.diagonal(L)))


def skewness_of_arrays_by_scipy(x):
    y = xp.log(x) * np.array([1.0, 2.0, 0.5, 1.5])
    about = scipy.stats.skew(y), scipy.stats.kurtosis(y)
    print("shape of the sample:", *(f"{float(a):.3f}" for a in about), file=io.StringIO())
    quad, _ = scipy.integrate.quad(lambda t: math.exp(-t * t), 0, 1)
    return quad * xp.sum(y * y) + xp.sum(x)
