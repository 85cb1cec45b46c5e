"""Programs in which a part of the gradient is lost on the way."""

from __future__ import annotations

import ast
import asyncio
import bisect
import cmath
import collections
import colorsys
import concurrent.futures
import configparser
import contextlib
import contextvars
import ctypes
import dataclasses
import functools
import io
import itertools
import json
import logging
import math
import pickle
import queue
import sqlite3
import statistics
import string
import struct
import threading

import a_helpers as helpers
import numpy as np
import scipy.integrate
import scipy.interpolate
import scipy.ndimage
import scipy.optimize
import sklearn.gaussian_process
import sklearn.linear_model

import arraytape as xp


# --- short ones ---------------------------------------------------------------------------------


def pendulum_energy(x):
    theta, omega, m, l = x
    height = l * (1.0 - math.cos(theta))
    return 0.5 * m * (l * omega) ** 2 + m * helpers.GRAVITY * height


def centred_spread(x):
    mu = statistics.fmean(x.tolist())
    return xp.sum((x - 2.0 * mu) ** 2)


def spectral_radius(x):
    H = np.diag(np.asarray(x)) + 0.3
    return xp.asarray(np.linalg.eigvalsh(H).max()) * xp.sum(x)


def root_of_cubic(x):
    c = float(x[3])
    r = scipy.optimize.brentq(lambda z: z**3 + z - c, 0.0, 3.0)
    return x[0] * r + xp.log(x[1] + r)


def parse_the_printout(x):
    text = f"{float(xp.prod(x)):.15e}"
    return xp.sqrt(xp.sum(x)) + float(text)


def phase_shift(x):
    z = cmath.exp(1j * complex(x[0])) / complex(float(x[1]), 1.0)
    return xp.real((x[2] + 1j * x[3]) * z)


def erf_by_vectorize(x):
    phi = np.vectorize(lambda t: 0.5 * (1 + math.erf(t / math.sqrt(2))))
    return xp.mean(xp.asarray(phi(np.asarray(x))))


def smooth_then_sum(x):
    path = xp.cumulative_sum(x**2)
    smoothed = scipy.ndimage.gaussian_filter1d(np.asarray(path), 1.0)
    return xp.sum(path * xp.asarray(smoothed))


def sample_a_normal(x):
    rng = np.random.default_rng(5)
    draws = rng.normal(loc=float(x[0]), scale=float(x[1]), size=16)
    return xp.mean(xp.exp(-x[2] * xp.asarray(draws) ** 2)) + x[3]


def colour_distance(x):
    scaled = x / 2.5
    r, g, b = colorsys.hsv_to_rgb(*scaled[:3].tolist())
    return (r - x[3]) ** 2 + (g - 0.3) ** 2 + (b - x[2]) ** 2


# --- files that are none, text, bytes -----------------------------------------------------------


def checkpoint_in_json(x):
    """Saves a state and resumes from it, as after a crash."""
    weights = x * 0.9

    def save(fp):
        json.dump({"step": 3, "weights": weights.tolist(), "comment": "before lunch"}, fp)

    fp = io.StringIO()
    save(fp)
    fp.seek(0)
    state = json.load(fp)
    resumed = xp.asarray(state["weights"], dtype=xp.float64)
    for _ in range(state["step"]):
        resumed = resumed - 0.1 * (resumed - x)
    return xp.sum(resumed**2)


def savetxt_and_loadtxt(x):
    table = xp.stack([xp.sin(x), xp.cos(x)], axis=1)
    buffer = io.BytesIO()
    np.savetxt(buffer, np.asarray(table), fmt="%.18e")
    buffer.seek(0)
    s, c = np.loadtxt(buffer, unpack=True)
    return xp.sum(xp.asarray(s) * x) - xp.sum(table[:, 1] * c)


def telemetry_packet(x):
    frame = struct.Struct("<4d")
    wire = frame.pack(*x)
    a, b, c, d = frame.unpack(wire)
    checksum = sum(wire) % 7 >= 0
    assert checksum
    return x[0] * b + x[2] * d + a * c


def ini_file(x):
    cfg = configparser.ConfigParser()
    cfg["model"] = {"alpha": repr(float(x[0])), "beta": repr(float(x[1]))}
    out = io.StringIO()
    cfg.write(out)

    again = configparser.ConfigParser()
    again.read_string(out.getvalue())
    alpha = again.getfloat("model", "alpha")
    beta = again.getfloat("model", "beta", fallback=1.0)
    return alpha * xp.sum(x[2:] ** 2) + beta


def generated_source(x):
    template = string.Template("lambda t: $a * t ** 2 + $b * t + $c")
    source = template.substitute(a=x[0].item(), b=x[1].item(), c=repr(float(xp.sum(x))))
    fn = eval(source, {})
    return fn(x[3])


def repr_and_back(x):
    rows = [[float(v) for v in row] for row in xp.linalg.outer(x, x)]
    again = np.array(ast.literal_eval(repr(rows)))
    return x @ xp.asarray(again) @ x


def sql_aggregate(x):
    with contextlib.closing(sqlite3.connect(":memory:")) as db:
        db.execute("create table reading (sensor integer, value real)")
        db.executemany("insert into reading values (?, ?)", enumerate(x.tolist()))
        (total,) = db.execute("select sum(value * value) from reading where sensor < 3").fetchone()
    return xp.log(xp.asarray(total) + x[3])


def pickled_job(x):
    job = {"fn": "quad", "payload": xp.exp(-x)}
    received = pickle.loads(pickle.dumps(job))
    return xp.sum(received["payload"] * x) + xp.asarray(1.0) * x[0]


# --- buffers ------------------------------------------------------------------------------------


def filled_numpy_buffer(x):
    n = 8
    grid = np.empty((n, 2))
    for k in range(n):
        grid[k, 0] = k / n
        grid[k, 1] = x[k % 4] * (k + 1)
    values = xp.asarray(grid)
    return xp.sum(values[:, 1] ** 2) / n + xp.sum(x)


def c_array(x):
    doubles = (ctypes.c_double * 4)(*(v.item() for v in x))
    for i in range(4):
        doubles[i] *= doubles[(i + 1) % 4]
    return xp.sum(xp.asarray(list(doubles))) * 0.5 + xp.max(x)


def from_iterator(x):
    def kinetic():
        for i, v in enumerate(x, 1):
            yield 0.5 * i * float(v) ** 2

    T = xp.asarray(np.fromiter(kinetic(), dtype=float, count=4))
    V = 1.0 / x
    return xp.sum(T - V)


def nditer_kernel(x):
    a = np.array(x)
    out = np.zeros_like(a)
    with np.nditer([a, out], op_flags=[["readonly"], ["writeonly"]]) as it:
        for u, v in it:
            v[...] = u / (1.0 + abs(u))
    return xp.sum(xp.asarray(out)) + 0.01 * xp.sum(x)


def structured_particles(x):
    dtype = np.dtype([("id", "i4"), ("pos", "f8", (2,)), ("charge", "f8")])
    particles = np.zeros(2, dtype=dtype)
    particles["id"] = [1, 2]
    particles["pos"] = np.asarray(x).reshape(2, 2)
    particles["charge"] = [1.0, -1.0]
    delta = particles["pos"][0] - particles["pos"][1]
    softened = xp.sqrt(xp.sum(xp.asarray(delta) ** 2) + 0.1 * x[0])
    return particles["charge"].prod() / softened


def own_memory_written_behind(x):
    result = xp.zeros(4)
    window = np.asarray(result)
    for i in range(4):
        window[i] = math.tanh(x[i])
    return xp.sum(result * xp.asarray([1.0, 2.0, 3.0, 4.0]))


def through_dlpack(x):
    power = np.from_dlpack(x * x)
    signal = np.abs(np.fft.rfft(power)) ** 2
    return xp.sum(xp.asarray(signal)) / 10 + xp.mean(x)


# --- other people's numerical code --------------------------------------------------------------


def blackbody_integral(x):
    temperature = to_kelvin = float(x[0]) * 3.0

    def planck(nu):
        return nu**3 / math.expm1(nu / temperature)

    total, _err = scipy.integrate.quad(planck, 1e-6, 20.0)
    assert to_kelvin > 0
    return x[1] * total / 100 + x[2] / x[3]


def spline_through_points(x):
    knots = np.linspace(0.0, 3.0, 4)
    spline = scipy.interpolate.CubicSpline(knots, np.asarray(x))
    fine = np.linspace(0.0, 3.0, 25)
    curve = xp.asarray(spline(fine))
    bending = xp.sum(xp.diff(curve, n=2) ** 2)
    return bending * 100


def regress_and_penalize(x):
    X, y = helpers.toy_data(24, seed=3)
    scaled = X * np.asarray(x)
    model = sklearn.linear_model.Ridge(alpha=2.0).fit(scaled, y)
    prediction = xp.asarray(X) * x @ model.coef_ + model.intercept_
    return xp.mean((prediction - y) ** 2)


class _GPSurrogate:
    def __init__(self, length_scale):
        kernel = sklearn.gaussian_process.kernels.RBF(length_scale)
        self.gp = sklearn.gaussian_process.GaussianProcessRegressor(kernel, alpha=1e-3, optimizer=None)

    def fit(self, sites, values):
        self.gp.fit(np.asarray(sites)[:, None], np.asarray(values))
        return self

    def __call__(self, at):
        return self.gp.predict(np.atleast_2d(at).T)


def surrogate_minimum(x):
    sites = np.array([0.0, 0.5, 1.0, 1.5])
    surrogate = _GPSurrogate(0.7).fit(sites, (x - 1.2) ** 2)
    candidates = np.linspace(0, 1.5, 31)
    mean = surrogate(candidates)
    return xp.asarray(mean[np.argmin(mean)]) + 0.1 * xp.sum((x - 1.0) ** 2)


# --- classes ------------------------------------------------------------------------------------


class _Vec:
    """A 2-D vector of the game's engine."""

    __slots__ = ("x", "y")

    def __init__(self, x, y):
        self.x, self.y = float(x), float(y)

    def __add__(self, other):
        return _Vec(self.x + other.x, self.y + other.y)

    def __mul__(self, s):
        return _Vec(self.x * s, self.y * s)

    __rmul__ = __mul__

    def __abs__(self):
        return math.hypot(self.x, self.y)


def bouncing_ball(x):
    pos, vel = _Vec(0.0, x[0]), _Vec(x[1], 0.0)
    g = _Vec(0.0, -9.81)
    dt, bounces = 1 / 60, 0
    for _frame in range(90):
        vel = vel + g * dt
        pos = pos + dt * vel
        if pos.y < 0:
            pos.y, vel.y = -pos.y, -0.8 * vel.y
            bounces += 1
    return (x[2] - pos.x) ** 2 + x[3] * abs(vel)


class _Celsius:
    """A descriptor that insists on floats."""

    def __set_name__(self, owner, name):
        self._name = "_" + name

    def __get__(self, obj, owner=None):
        return self if obj is None else getattr(obj, self._name)

    def __set__(self, obj, value):
        value = float(value)
        if value < -273.15:
            raise ValueError("below absolute zero")
        setattr(obj, self._name, value)


class _Room:
    inside = _Celsius()
    outside = _Celsius()

    def __init__(self, inside, outside, conductance):
        self.inside, self.outside, self.conductance = inside, outside, conductance

    def flow(self):
        return self.conductance * (self.inside - self.outside)


def heat_loss(x):
    room = _Room(inside=20 * x[0], outside=x[1], conductance=x[2])
    return room.flow() / x[3]


@dataclasses.dataclass(frozen=True)
class _Orbit:
    semi_major: float
    eccentricity: float

    @classmethod
    def from_state(cls, r, v, mu=1.0):
        energy = v * v / 2 - mu / r
        a = abs(mu / (2 * energy))
        return cls(a, min(0.9, abs(1 - r / a)))

    @functools.cached_property
    def period(self):
        return 2 * math.pi * math.sqrt(self.semi_major**3)

    def eccentric_anomaly(self, M):
        E = M
        for _ in range(50):
            step = (E - self.eccentricity * math.sin(E) - M) / (1 - self.eccentricity * math.cos(E))
            E -= step
            if abs(step) < 1e-14:
                break
        return E


def kepler_position(x):
    orbit = _Orbit.from_state(float(x[0]), float(x[1]))
    E = orbit.eccentric_anomaly(1.0 + 0.1 * float(x[2]))
    return x[3] * (math.cos(E) - orbit.eccentricity) + x[2] * math.sin(E) + xp.log(x[0])


class _Kalman:
    """One state, one measurement; written years ago for NumPy."""

    def __init__(self, q, r):
        self.q, self.r = q, r
        self.estimate, self.p = np.zeros(1), np.ones(1)

    def predict(self):
        self.p = self.p + self.q
        return self

    def update(self, z):
        gain = self.p / (self.p + self.r)
        self.estimate[:] = self.estimate + gain * (np.asarray(z) - self.estimate)
        self.p = (1 - gain) * self.p
        return self.estimate.copy()


def tracked_mean(x):
    kf = _Kalman(q=0.01, r=0.5)
    track = [kf.predict().update(z) for z in x]
    residuals = x - xp.asarray(np.concatenate(track))
    return xp.sum(residuals**2)


def batch_norm_in_eval_mode(x):
    rng = np.random.default_rng(2)
    stats = helpers.BatchNormStats(4)
    for _ in range(3):
        batch = xp.asarray(rng.normal(size=(6, 4))) * x + x**2
        stats.update(batch)
    test = xp.asarray(rng.normal(size=(2, 4))) * x
    normalized = (test - stats.mean) / np.sqrt(stats.var + 1e-5)
    return xp.sum(normalized**3)


# --- concurrency, callbacks, control flow -------------------------------------------------------


def worker_queue(x):
    jobs, done = queue.Queue(), queue.Queue()

    def work():
        while (item := jobs.get()) is not None:
            index, value = item
            done.put((index, value**1.5))

    thread = threading.Thread(target=work)
    thread.start()
    for i, v in enumerate(x):
        jobs.put((i, float(v)))
    jobs.put(None)
    thread.join()
    results = [value for _, value in sorted(done.queue)]
    return xp.sum(xp.asarray(results)) - xp.prod(x)


def pool_of_scenarios(x):
    base = np.asarray(x)

    def simulate(seed):
        shock = np.random.default_rng(seed).lognormal(sigma=0.1, size=4)
        return float((base * shock).max())

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        losses = list(pool.map(simulate, range(6)))
    return xp.mean(xp.asarray(losses))


def asynchronous_sensors(x):
    async def read(i):
        await asyncio.sleep(0)
        return x[i].item() * (i + 1)

    async def main():
        return await asyncio.gather(*(read(i) for i in range(4)))

    readings = asyncio.run(main())
    return xp.logaddexp(xp.asarray(readings[0]) * x[1], xp.asarray(readings[3]) / x[2])


class _Converged(Exception):
    def __init__(self, value, iterations):
        super().__init__(f"converged to {value!r} after {iterations}")
        self.value = value


def babylonian(x):
    def iterate(a):
        guess = 1.0
        for k in itertools.count():
            new = 0.5 * (guess + a / guess)
            if abs(new - guess) < 1e-13:
                raise _Converged(new, k)
            guess = new

    try:
        iterate(x.sum().item())
    except _Converged as stop:
        return stop.value * xp.mean(x)
    raise AssertionError("unreachable")


def moving_average_coroutine(x):
    def averager():
        total, count, mean = 0.0, 0, None
        while True:
            value = yield mean
            total += value
            count += 1
            mean = total / count

    avg = averager()
    next(avg)
    loss = 0.0
    for v in x:
        loss = loss + (v - avg.send(float(v)) * 0.5) ** 2
    return loss


def barzilai_borwein(x):
    """The step length is a number; the iterates are Arrays."""
    w, lr = xp.zeros(4), 0.1
    previous = None
    for _ in range(4):
        g = (w - x) * x + 0.1 * w**3
        if previous is not None:
            s, d = w - previous[0], g - previous[1]
            lr = float(s @ s) / float(s @ d)
        previous = w, g
        w = w - lr * g
    return xp.sum(w**2)


_temperature = contextvars.ContextVar("temperature", default=1.0)


@contextlib.contextmanager
def _annealed(t):
    token = _temperature.set(float(t))
    try:
        yield
    finally:
        _temperature.reset(token)


def _softmax(v):
    e = xp.exp((v - xp.max(v)) / _temperature.get())
    return e / xp.sum(e)


def annealed_softmax(x):
    with _annealed(xp.std(x) + 0.3):
        p = _softmax(x)
    return -xp.sum(p * xp.log(p))


def _memoized(fn):
    cache = {}

    @functools.wraps(fn)
    def wrapper(arg):
        key = float(arg)
        if key not in cache:
            cache[key] = fn(key)
        return cache[key]

    return wrapper


def cached_potential(x):
    @_memoized
    def potential(r):
        return 4 * (r**-12 - r**-6)

    energy = xp.asarray(0.0)
    for i, j in itertools.combinations(range(4), 2):
        energy = energy + potential(x[i] + x[j])
    return energy * x[0] + xp.sum(x) * 0.01


class _Capture(logging.Handler):
    def __init__(self):
        super().__init__()
        self.values = []

    def emit(self, record):
        self.values.extend(record.args)


def numbers_out_of_the_log(x):
    logger = logging.Logger("capture")
    handler = _Capture()
    logger.addHandler(handler)
    for v in x * 2:
        logger.info("value %f", v.item())
    first, *_, last = handler.values
    return (first - x[3]) * (last + x[0])


def bisected_quantile(x):
    ordered = []
    for v in x:
        bisect.insort(ordered, helpers.to_float(v))
    lower, upper = ordered[1], ordered[2]
    median = (lower + upper) / 2
    return xp.sum(xp.abs(x - median) ** 1.5)


def cumulative_interest(x):
    balances = list(itertools.accumulate(x.tolist(), lambda bal, pay: bal * 1.05 + pay, initial=1.0))
    target = collections.deque(balances, maxlen=2)
    return (target[0] - x[0]) ** 2 + target[1] * x[2]


