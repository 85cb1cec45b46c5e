"""Programs whose recorded gradient lacks a part: something left arraytape and came back as plain data."""

import array
import collections
import dataclasses
import decimal
import functools
import io
import json
import math
import queue
import statistics
import struct

import numpy as np
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.optimize
import scipy.signal
import scipy.spatial
import scipy.stats
import sklearn.linear_model
import sklearn.preprocessing

import arraytape as xp
import b_helpers as _h


# ================================================================ the actuary
@dataclasses.dataclass
class _Basis:
    interest: float = 0.02
    expenses: float = 0.03
    table: np.ndarray = dataclasses.field(default_factory=lambda: _h.LIFE_TABLE)

    def discount(self, t):
        return math.exp(-self.interest * t)


def net_premium_reserve(x):
    basis = _Basis(interest=0.05 * float(x[0]))
    benefit = 10.0 * x[1] + x[2]
    alive, reserve = 1.0, xp.asarray(0.0)
    for t, q in enumerate(basis.table):
        reserve = reserve + benefit * (alive * q * basis.discount(t + 1)) * 100
        alive *= 1 - q
    return reserve * (1 + basis.expenses) + x[3] ** 2


class _Triangle:
    def __init__(self, latest):
        base = np.array([[1.0, 1.6, 1.9], [1.1, 1.8, np.nan], [0.9, np.nan, np.nan]])
        self.cells = base
        self.cells[2, 0] = latest[0]
        self.cells[1, 1] = latest[1]
        self.latest = latest

    def factors(self):
        f1 = np.nansum(self.cells[:2, 1]) / np.nansum(self.cells[:2, 0])
        f2 = self.cells[0, 2] / self.cells[0, 1]
        return f1, f2


def chain_ladder_ultimate(x):
    tri = _Triangle(x)
    f1, f2 = tri.factors()
    ultimate = xp.stack([x[0] * f1 * f2, x[1] * f2, x[2]])
    return xp.sum(ultimate) - 0.1 * x[3]


def premium_loading_from_report(x):
    claims = x * np.array([1.0, 2.0, 0.5, 1.5])
    report = {
        "mean": f"{float(xp.mean(claims)):.12f}",
        "sd": f"{float(xp.std(claims)):.12f}",
        "n": str(claims.shape[0]),
    }
    lines = [f"{k}={v}" for k, v in report.items()]
    # ... months later, another department reads the report
    parsed = dict(line.split("=") for line in lines)
    loading = 0.25 * float(parsed["sd"])
    return xp.mean(claims) + loading


class _Buehlmann:
    """Credibility: variance of hypothetical means over process variance."""

    def __init__(self, groups):
        rows = [statistics.fmean(_h.to_floats(g)) for g in groups]
        self.vhm = statistics.variance(rows)
        self.epv = statistics.fmean(statistics.variance(_h.to_floats(g)) for g in groups)

    def z(self, n):
        return n / (n + self.epv / self.vhm)


def credibility_estimate(x):
    groups = [x[:2], x[2:]]
    model = _Buehlmann(groups)
    z = model.z(2)
    overall = xp.mean(x)
    estimates = [z * xp.mean(g) + (1 - z) * overall for g in groups]
    return 5 * estimates[0] ** 2 - 2 * estimates[1]


# ================================================================ the robotics engineer
class _Arm:
    links = (0.8, 0.6, 0.3)

    def tip(self, q):
        a, px, py = 0.0, 0.0, 0.0
        for length, qi in zip(self.links, q):
            a += qi
            px += length * math.cos(a)
            py += length * math.sin(a)
        return px, py


def arm_reach_cost(x):
    px, py = _Arm().tip([x[0], x[1], x[2]])
    goal = xp.asarray([0.4, 0.9])
    err = xp.asarray([px, py]) - goal
    effort = 0.05 * xp.sum(x * x)
    return xp.sum(err**2) + effort


class _Ekf:
    def __init__(self, p0):
        self.H = np.array([[1.0, 0.0], [0.5, 1.0]])
        self.R = 0.3 * np.eye(2)
        self.P = p0

    def gain(self):
        P = np.asarray(self.P)
        S = self.H @ P @ self.H.T + self.R
        return np.linalg.solve(S, self.H @ P).T

    def update(self, m, z):
        K = self.gain()
        innovation = xp.asarray(z) - self.H @ m
        self.P = (xp.eye(2) - K @ self.H) @ self.P
        return m + K @ innovation


def ekf_posterior_mean(x):
    P = xp.eye(2) * x[0] + x[1] * xp.ones((2, 2))
    kf = _Ekf(P)
    m = xp.stack([x[2], x[3]])
    for z in ([1.0, 0.2], [0.7, 0.4]):
        m = kf.update(m, np.array(z))
    return xp.sum(m * m)


def waypoint_buffer_smoothness(x):
    path = np.zeros((6,))
    path[0], path[-1] = 0.0, 1.0
    for i in range(4):
        path[i + 1] = x[i]  # a NumPy buffer takes the number only
    accel = path[2:] - 2 * path[1:-1] + path[:-2]
    return xp.sum(xp.asarray(accel) ** 2) + xp.sum(x) * 0.5


# ================================================================ the econometrician
class _Hac:
    def __init__(self, kernel="exponential"):
        self.kernel = kernel

    def bandwidth(self, u):
        u = _h.to_host(u)
        rho = float(u[1:] @ u[:-1] / (u @ u))
        return 1.1447 * (4 * rho**2 / (1 - rho**2) ** 2 * len(u)) ** (1 / 3)

    def weights(self, n, bw):
        return [math.exp(-k / bw) for k in range(1, n)]


def long_run_variance(x):
    u = x - 0.3
    hac = _Hac()
    bw = hac.bandwidth(u)
    total = xp.mean(u * u)
    for k, w in enumerate(hac.weights(4, bw), start=1):
        total = total + 2 * w * xp.sum(u[k:] * u[:-k]) / 4
    return total


def arma_css_objective(x):
    data = np.cumsum(_h.normals(30, 3)) * 0.1
    theta = np.array([1.0, 0.2 * x[0].item()])
    resid = scipy.signal.lfilter([1.0, -0.4], theta, data)
    css = xp.sum(xp.asarray(resid) ** 2)
    return css * x[1] + xp.log(x[2]) + x[3]


# ================================================================ the computational chemist
def lennard_jones_pdist(x):
    base = np.array([[0.0, 0.0], [1.3, 0.1], [0.4, 1.2], [1.5, 1.6]])
    coords = base * np.asarray(x)[:, None] ** 0.25
    r = scipy.spatial.distance.pdist(coords)
    sr6 = (1.0 / r) ** 6
    eps = xp.mean(x) * 0.3
    return 4 * eps * xp.sum(xp.asarray(sr6**2 - sr6)) + x[0]


class _Scf:
    def __init__(self, h, u=0.6, tol=1e-9, max_iter=50):
        self.h, self.u, self.tol, self.max_iter = h, u, tol, max_iter
        self.density = np.full(h.shape[0], 0.5)
        self.trace = _h.History()

    def fock(self):
        return self.h + xp.asarray(np.diag(self.u * self.density))

    def run(self):
        old = math.inf
        for it in range(self.max_iter):
            e, c = xp.linalg.eigh(self.fock())
            energy = e[0]
            self.density = np.asarray(c)[:, 0] ** 2  # mixing happens on the host
            self.trace.record(energy=float(energy), it=it)
            if abs(float(energy) - old) < self.tol:
                break
            old = float(energy)
        return energy


def hartree_energy(x):
    h = xp.asarray([[0.0, -0.3, 0.0, 0.0], [-0.3, 0.0, -0.3, 0.0], [0.0, -0.3, 0.0, -0.3], [0.0, 0.0, -0.3, 0.0]])
    h = h - xp.eye(4) * x
    solver = _Scf(h)
    return 2 * solver.run()


def arrhenius_decimal(x):
    ctx = decimal.Context(prec=28)
    ea = ctx.create_decimal(repr(float(x[0])))
    rt = ctx.create_decimal("0.0083145") * decimal.Decimal(300)
    k = ctx.exp(-ea / rt)
    rate = float(k) * x[1] * x[2]
    return rate + 0.01 * x[3]


@functools.lru_cache(maxsize=64)
def _partition(beta, levels):
    return sum((2 * j + 1) * math.exp(-beta * j * (j + 1)) for j in range(levels))


def rotational_free_energy(x):
    beta = xp.mean(x) * 0.5
    q = _partition(float(beta), 12)
    populations = xp.stack([(2 * j + 1) * xp.exp(-beta * j * (j + 1)) / q for j in range(4)])
    return xp.sum(populations * xp.asarray([0.0, 2.0, 6.0, 12.0])) + x[1]


# ================================================================ the signal-processing engineer
class _Agc:
    def __init__(self, target=1.0, attack=0.5):
        self.target, self.attack, self.level = target, attack, 1.0

    def process(self, sample):
        self.level += self.attack * (abs(float(sample)) - self.level)
        return sample * (self.target / self.level)


def automatic_gain_energy(x):
    agc = _Agc()
    out = [agc.process(x[i]) for i in range(x.shape[0])]
    y = xp.stack(out)
    return xp.sum(y * y)


def tunable_lowpass_output(x):
    cfg = {"order": 2, "cutoff": 0.2 * x[0].item(), "btype": "low"}
    b, a = scipy.signal.butter(cfg["order"], cfg["cutoff"], btype=cfg["btype"])
    y, state = [], [xp.asarray(0.0), xp.asarray(0.0)]
    for n in range(4):
        v = b[0] * x[n] + state[0]
        state[0] = b[1] * x[n] - a[1] * v + state[1]
        state[1] = b[2] * x[n] - a[2] * v
        y.append(v)
    return xp.sum(xp.stack(y) ** 2)


def nlms_final_weight(x):
    ref = [0.9, -0.4, 1.3, 0.7]
    w, mu = xp.asarray(0.1), 0.5
    power = collections.deque([1.0], maxlen=3)
    for n, d in enumerate(ref):
        power.append(x[n].item() ** 2)
        err = d - w * x[n]
        w = w + mu / (0.1 + sum(power)) * err * x[n]
    return w * w


# ================================================================ the Bayesian statistician
def laplace_log_evidence(x):
    data = np.array([3.0, 1.0, 4.0, 2.0])

    def neg_log_post(theta):
        rate = xp.exp(xp.asarray(float(theta[0])))
        return float(xp.sum(rate * x) - xp.sum(xp.asarray(data)) * float(theta[0]) + 0.5 * float(theta[0]) ** 2)

    mode = scipy.optimize.minimize(neg_log_post, np.zeros(1), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12}).x[0]
    curvature = math.exp(mode) * xp.sum(x) + 1.0
    return -0.5 * xp.log(curvature) + xp.asarray(mode) * 2.0


class _GibbsSampler:
    def __init__(self, data, seed=1):
        self.data, self.u = data, np.random.default_rng(seed).uniform(0.2, 0.8, size=3)
        self.chain = []

    def sweep(self, mu, u):
        rate = 0.5 + 0.5 * ((np.asarray(self.data) - float(mu)) ** 2).sum()
        tau = scipy.stats.gamma.ppf(u, 1.0 + len(self.data) / 2, scale=1 / rate)
        self.chain.append(tau)
        return (tau * xp.sum(self.data)) / (tau * len(self.data) + 0.5)


def gibbs_posterior_mean(x):
    sampler = _GibbsSampler(x)
    mu = xp.asarray(0.0)
    for u in sampler.u:
        mu = sampler.sweep(mu, u)
    return mu + 0.1 * x[0] * x[3]


def marginal_by_quadrature(x):
    a, b = x[0], x[1]

    def integrand(t):
        return math.exp(-float(a) * t * t) / (1.0 + float(b) * t)

    z, err = scipy.integrate.quad(integrand, 0.0, 3.0)
    assert err < 1e-6
    return xp.log(xp.asarray(z)) + x[2] * x[3]


# ================================================================ the ML engineer
class _LossBalancer:
    """Divides every task's loss by its moving average."""

    def __init__(self, names):
        self.ema = {n: _h.Ema(0.5) for n in names}

    def __call__(self, losses):
        total = 0.0
        for name, value in losses.items():
            total = total + value / self.ema[name].update(value)
        return total


def multitask_balanced_loss(x):
    balancer = _LossBalancer(["seg", "depth"])
    total = xp.asarray(0.0)
    for scale in (1.0, 0.7, 0.4):
        pred = x * scale
        losses = {"seg": xp.mean((pred - 1.0) ** 2), "depth": xp.mean(xp.abs(pred - 0.3))}
        total = total + balancer(losses)
    return total


class _BatchNorm:
    def __init__(self, momentum=0.5):
        self.momentum = momentum
        self.running = {"mean": np.zeros(()), "var": np.ones(())}
        self.training = True

    def __call__(self, h):
        if self.training:
            m, v = xp.mean(h), xp.var(h)
            for key, new in (("mean", m), ("var", v)):
                self.running[key] = (1 - self.momentum) * self.running[key] + self.momentum * np.asarray(new)
        else:
            m, v = self.running["mean"], self.running["var"]
        return (h - m) / (v + 1e-3) ** 0.5


def batchnorm_eval_mode(x):
    bn = _BatchNorm()
    bn(x * 2.0)
    bn(x**2)
    bn.training = False
    out = bn(x)
    return xp.sum(out * xp.asarray([1.0, -0.5, 2.0, 0.3]))


class _TemperatureCallback(_h.Callback):
    def __init__(self, gain=0.3):
        self.gain = gain
        self.logs = []

    def on_step(self, trainer, step, loss):
        self.logs.append(loss.item())
        if step == 0:
            trainer.temperature = 1.0 + self.gain * self.logs[-1]


def trainer_with_temperature(x):
    cb = _TemperatureCallback()
    trainer = _h.Trainer(xp.asarray(_h.DESIGN), xp.asarray(_h.RESPONSE), callbacks=[cb])
    w = trainer.fit(x)
    return trainer.loss(w)


def scaled_features_regression(x):
    feats = xp.stack([x, x**2, xp.sin(x)], axis=1)
    scaler = sklearn.preprocessing.StandardScaler().fit(np.asarray(feats))
    z = (feats - scaler.mean_) / scaler.scale_
    w = np.array([0.5, -1.0, 0.25])
    return xp.sum(xp.tanh(z @ w) * xp.asarray([1.0, 2.0, 3.0, 4.0]))


# ================================================================ the game-physics programmer
class _Packet:
    fmt = "<4d"

    @classmethod
    def encode(cls, state):
        return struct.pack(cls.fmt, *state)

    @classmethod
    def decode(cls, raw):
        return xp.asarray(list(struct.unpack(cls.fmt, raw)))


def networked_collision(x):
    wire = queue.Queue()
    pos, vel = x[:2], x[2:]
    wire.put(_Packet.encode([pos[0], pos[1], vel[0], vel[1]]))
    remote = _Packet.decode(wire.get())
    normal = xp.asarray([0.6, 0.8])
    rel = vel - 0.5 * remote[2:]
    impulse = -1.5 * xp.sum(rel * normal)
    out = vel + impulse * normal
    return xp.sum(out * out) + pos[0] * remote[1]


class _Body:
    __slots__ = ("p", "v", "inv_mass")

    def __init__(self, p, v=0.0, mass=1.0):
        self.p, self.v, self.inv_mass = float(p), float(v), 1.0 / mass

    def step(self, force, dt):
        self.v += force * self.inv_mass * dt
        self.p += self.v * dt


def spring_chain_energy(x):
    bodies = [_Body(i + 0.2 * x[i]) for i in range(4)]
    dt, k = 0.05, 4.0
    for _ in range(10):
        forces = [0.0] * 4
        for i in range(3):
            f = k * (bodies[i + 1].p - bodies[i].p - 1.0)
            forces[i] += f
            forces[i + 1] -= f
        for b, f in zip(bodies, forces):
            b.step(f, dt)
    speed = xp.asarray([b.v for b in bodies])
    return xp.sum(speed**2 * x)


# ================================================================ the climate modeller
class _Planet:
    def __init__(self, insolation):
        self.insolation = insolation
        self.state = {"T": xp.asarray(2.85), "albedo": 0.3}

    def feedback(self):
        self.state["albedo"] = 0.45 - 0.2 * math.tanh(2.0 * (self.state["T"] - 2.8))

    def step(self, emissivity, dt=0.2):
        s = self.state
        absorbed = self.insolation * (1 - s["albedo"])
        emitted = 0.0162 * emissivity * s["T"] ** 4
        s["T"] = s["T"] + dt * (absorbed - emitted)
        self.feedback()


def ice_albedo_temperature(x):
    planet = _Planet(insolation=x[0] * 1.2)
    for _ in range(6):
        planet.step(emissivity=0.8 + 0.1 * x[1])
    return planet.state["T"] + 0.01 * (x[2] - x[3])


def ocean_column_heat(x):
    n, dz = 5, 0.5
    kappa = np.asarray(x).mean() * np.linspace(1.0, 0.2, n)
    ab = np.zeros((3, n))
    ab[0, 1:] = -kappa[1:] / dz**2
    ab[1] = 1 + 2 * kappa / dz**2
    ab[2, :-1] = -kappa[:-1] / dz**2
    flux = xp.zeros(n)
    flux[0] = x[0] * x[1]
    inverse = scipy.linalg.solve_banded((1, 1), ab, np.eye(n))
    T = inverse @ flux
    return xp.sum(T * np.arange(1.0, n + 1)) + x[3]


def forcing_scenario_spline(x):
    years = np.array([0.0, 30.0, 60.0, 100.0])
    curve = scipy.interpolate.CubicSpline(years, np.array([float(v) for v in x]))
    t = np.linspace(0, 100, 11)
    forcing = curve(t)
    warming, sens = xp.asarray(0.0), 0.3 * x[3]
    for f in forcing:
        warming = warming + 0.1 * (f - warming / sens)
    return warming


# ================================================================ the quant
class _ModelBase:
    def d1(self, s, k, vol, t):
        raise NotImplementedError

    def price(self, s, k, vol, t):
        d1 = self.d1(s, k, vol, t)
        d2 = d1 - float(vol) * math.sqrt(t)
        return s * self.cdf(d1) - k * self.cdf(d2)

    @staticmethod
    def cdf(d):
        return 0.5 * (1 + math.erf(d / math.sqrt(2)))


class _Black76(_ModelBase):
    def d1(self, s, k, vol, t):
        sv = float(vol) * math.sqrt(t)
        return math.log(s / k) / sv + 0.5 * sv


def black76_book(x):
    model, book = _Black76(), xp.asarray(0.0)
    for i, (k, t) in enumerate([(0.9, 0.5), (1.1, 1.0)]):
        book = book + model.price(x[i], k, 0.3 * x[2], t)
    return book * x[3]


def implied_vol_hedge(x):
    def price(vol, s=1.1, k=1.0):
        return _Black76().price(s, k, vol, 1.0)

    market = price(0.2 * float(x[0]))
    vol = scipy.optimize.brentq(lambda v: price(v) - market, 1e-3, 3.0)
    hedge = x[1] * xp.exp(-0.5 * xp.asarray(vol) ** 2 * 10)
    return hedge + xp.sum(x[2:])


def correlated_monte_carlo(x):
    rho = 0.4 * x[0] / x[2]
    corr = np.array([[1.0, float(rho)], [float(rho), 1.0]])
    L = np.linalg.cholesky(corr)
    z = np.random.default_rng(5).normal(size=(2, 64))
    w = xp.asarray(L @ z)
    vols = xp.stack([0.3 * x[1], 0.2 * x[3]])
    s = xp.exp(vols[:, None] * w - 0.5 * vols[:, None] ** 2)
    return xp.mean(_h.Call(strike=1.0).payoff(s[0, :] * s[1, :])) * 10


class _Curve:
    def __init__(self, knots, rates):
        self.knots, self.rates = knots, [r.item() for r in rates]

    def df(self, t):
        return math.exp(-t * _h.table_lookup(self.knots, self.rates, t))


def swap_on_bootstrapped_curve(x):
    curve = _Curve([0.5, 1.0, 2.0, 4.0], [0.05 * x[i] for i in range(4)])
    annuity = sum(curve.df(t) for t in (1.0, 1.5, 2.0, 2.5, 3.0))
    fixed = 0.1 * x[0]
    return fixed * annuity - (1 - curve.df(3.0)) * x[1]


# ================================================================ the student
def notebook_cell_42(x):
    stuff = []
    for i in range(4):
        tmp = x[i] * 2
        stuff.append(tmp)
    # arr = xp.asarray(stuff)   # did not work yesterday??
    arr = np.array(stuff)
    arr2 = arr / arr.sum()
    thing = xp.sum(xp.asarray(arr2) * x)
    final = thing + x[0]
    return final


def homework_gradient_descent(x):
    th = 0.0
    losses = []
    for i in range(20):
        g = 0
        for j in range(4):
            g += 2 * (th - float(x[j]))
        th = th - 0.1 * g
        losses.append(sum((th - float(v)) ** 2 for v in x))
    print("final loss", losses[-1], file=io.StringIO())
    theta = xp.asarray(th)
    return xp.sum((x - theta) ** 3)


def copied_from_stackoverflow(x):
    f = np.vectorize(lambda v: v**2 if v > 1 else math.sqrt(v))
    vals = f(x.tolist())
    normed = vals / np.linalg.norm(vals)
    result = xp.asarray(normed) @ x
    return result


# ================================================================ the library author
_PLUGINS = _h.Registry()


@_PLUGINS.register("whiten")
class _Whiten:
    def __init__(self, eps=1e-2):
        self.eps = eps

    def __call__(self, x):
        a = _h.to_host(x)
        return (a - a.mean()) / (a.std() + self.eps)


@_PLUGINS.register("square")
class _Square:
    def __call__(self, x):
        return x**2


def plugin_pipeline(x):
    spec = json.loads('[{"name": "square"}, {"name": "whiten", "eps": 0.1}]')
    y = x
    for entry in spec:
        kw = {k: v for k, v in entry.items() if k != "name"}
        y = _PLUGINS[entry["name"]](**kw)(y)
    return xp.sum(xp.asarray(y) * xp.sqrt(x))


class _Centre(_h.Transformer):
    mean_: float

    def fit(self, x):
        self.mean_ = float(xp.mean(x))
        return self

    def transform(self, x):
        return x - self.mean_


class _Cube(_h.Transformer):
    def fit(self, x):
        return self

    def transform(self, x):
        return x**3


def abstract_transformers(x):
    seen = []
    pipe = _h.Pipeline(_Centre(), _Cube(), hooks=[lambda n, v: seen.append((n, v.shape))])
    return xp.sum(pipe(x) * xp.asarray([1.0, 2.0, 3.0, 4.0]))


def checkpoint_restore_midway(x):
    state = {"step": 3, "weights": x * 1.5, "meta": {"lr": 0.1}}
    blob = _h.json_roundtrip(state)
    w = xp.asarray(blob["weights"])
    w = w - blob["meta"]["lr"] * (w - x)
    return xp.sum(w * w)


def hidden_in_default_argument(x):
    scale = array.array("d", x.tolist())

    def weigh(v, s=scale, power=1.5):
        return v * xp.asarray(np.frombuffer(s, dtype=np.float64)) ** power

    return xp.sum(weigh(x))


def ridge_prediction(x):
    X = _h.DESIGN[:, 1:]
    y = _h.RESPONSE + np.asarray(xp.tanh(xp.asarray(_h.DESIGN) @ x))
    model = sklearn.linear_model.Ridge(alpha=0.5).fit(X, y)
    features = xp.stack([x[0], x[1] * x[2], x[3]])
    return xp.sum(features * model.coef_) + float(model.intercept_)
