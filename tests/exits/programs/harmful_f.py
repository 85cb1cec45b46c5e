"""Fifty programs in which a value that left the tape comes back into the loss as a constant."""

import abc
import argparse
import array
import ast
import bisect
import cmath
import colorsys
import contextlib
import contextvars
import dataclasses
import datetime
import enum
import fractions
import functools
import gzip
import heapq
import io
import itertools
import logging
import math
import mmap
import operator
import os
import queue
import random
import re
import string
import struct
import tempfile
import threading
import unittest.mock
import urllib.parse
import weakref
import zipfile
from multiprocessing.pool import ThreadPool

import matplotlib

matplotlib.use("Agg")
import arraytape as xp
import matplotlib.colors
import matplotlib.figure
import numpy as np
import scipy.fft
import scipy.integrate
import scipy.ndimage
import scipy.optimize
import scipy.signal
import scipy.sparse
import scipy.sparse.linalg
import scipy.spatial
import scipy.special
import scipy.stats
import sklearn.gaussian_process
import sklearn.isotonic
import sklearn.linear_model
import sklearn.mixture
import sklearn.neighbors


class _Portfolio:
    """Positions with their total, which is asked for often."""

    def __init__(self, positions):
        self.positions = positions

    @functools.cached_property
    def gross(self):
        return float(xp.sum(xp.abs(self.positions)))

    @property
    def weights(self):
        return self.positions / self.gross


def cached_gross_exposure(x):
    covariance = 0.04 * np.eye(4) + 0.01 * np.ones((4, 4))
    book = _Portfolio(x * np.array([1.0, -0.5, 2.0, 0.7]))
    w = book.weights
    risk = xp.sqrt(w @ (covariance @ w))
    return risk - 0.1 * xp.sum(w * np.array([0.05, 0.02, 0.07, 0.03])) + 0.01 * book.gross


@dataclasses.dataclass(frozen=True)
class _Gaussian:
    mu: float
    sigma: float

    def __post_init__(self):
        object.__setattr__(self, "mu", float(self.mu))
        object.__setattr__(self, "sigma", max(float(self.sigma), 1e-6))

    def log_density(self, value):
        return -0.5 * ((value - self.mu) / self.sigma) ** 2 - math.log(self.sigma)


def frozen_gaussian_fields(x):
    posterior = _Gaussian(mu=x[0], sigma=x[1])
    observed = xp.stack([x[2], x[3], x[2] * x[3]])
    return -xp.sum(posterior.log_density(observed)) + xp.sum(x**2)


class _PositiveNumber:
    """A descriptor that checks what is assigned."""

    def __set_name__(self, owner, name):
        self.slot = "_" + name

    def __get__(self, instance, owner=None):
        return self if instance is None else getattr(instance, self.slot)

    def __set__(self, instance, value):
        number = float(value)
        if number <= 0.0:
            raise ValueError(f"{self.slot[1:]} must be positive, got {number}")
        setattr(instance, self.slot, number)


class _Oscillator:
    mass = _PositiveNumber()
    stiffness = _PositiveNumber()

    def __init__(self, mass, stiffness):
        self.mass, self.stiffness = mass, stiffness

    def energy(self, position, speed):
        return 0.5 * self.mass * speed**2 + 0.5 * self.stiffness * position**2


def validated_by_descriptor(x):
    oscillator = _Oscillator(mass=x[0], stiffness=x[1])
    position, speed = x[2], x[3]
    for _ in range(10):
        speed = speed - 0.05 * oscillator.stiffness / oscillator.mass * position
        position = position + 0.05 * speed
    return oscillator.energy(position, speed)


def _running_average():
    total, count, average = 0.0, 0, None
    while True:
        value = yield average
        total += value
        count += 1
        average = total / count


def averager_coroutine(x):
    averager = _running_average()
    next(averager)
    baseline = [averager.send(r.item()) for r in x]
    rewards = xp.log1p(x) * np.array([1.0, 0.9, 0.81, 0.729])
    advantages = [rewards[i] - b for i, b in enumerate(baseline)]
    return sum(a * a for a in advantages)


@functools.lru_cache(maxsize=8)
def _rbf_gram(points, gamma):
    p = np.array(points)
    return np.exp(-gamma * (p[:, None] - p[None, :]) ** 2)


def memoised_gram_matrix(x):
    gram = _rbf_gram(tuple(x.tolist()), 0.7)
    alpha = xp.tanh(x - 1.0)
    return 0.5 * alpha @ (gram @ alpha) - xp.sum(alpha)


@contextlib.contextmanager
def _annealed(logits):
    temperature = 0.5 + float(xp.std(logits))
    try:
        yield temperature
    finally:
        del temperature


def temperature_from_context_manager(x):
    with _annealed(x) as temperature:
        scaled = xp.exp(x / temperature)
        p = scaled / xp.sum(scaled)
    return -xp.sum(p * xp.log(p)) + p[2] ** 2


def _make_tracker(decay):
    level = 0.0

    def update(value):
        nonlocal level
        level = decay * level + (1.0 - decay) * float(value)
        return level

    return update


def exponential_average_closure(x):
    smooth = _make_tracker(decay=0.6)
    loss = 0.0
    for price in x:
        loss = loss + (price - smooth(price)) ** 2
    return xp.sqrt(loss)


def _apply(step, signal):
    match step:
        case {"op": "gain", "by": float(gain)}:
            return signal * gain
        case {"op": "offset", "by": float(offset), **rest} if not rest:
            return signal + offset
        case {"op": "soft"}:
            return xp.tanh(signal)
        case _:
            raise ValueError(step)


def pipeline_by_match(x):
    peak = xp.max(x).item()
    steps = [{"op": "offset", "by": -x[1].item()}, {"op": "gain", "by": 1.0 / peak}, {"op": "soft"}]
    signal = xp.concat([x, x[::-1] * 0.5])
    for step in steps:
        signal = _apply(step, signal)
    return xp.mean(signal**2)


def heron_with_walrus(x):
    s = float(x @ x)
    root = 1.0
    while abs(error := root * root - s) > 1e-12:
        root -= error / (2.0 * root)
    unit = x / root
    return xp.sum(unit**3) + xp.sum(unit * np.array([0.1, -0.2, 0.3, -0.4]))


def metrics_parsed_from_log(x):
    stream = io.StringIO()
    log = logging.Logger("epochs")
    log.addHandler(logging.StreamHandler(stream))
    for epoch in range(3):
        log.warning("epoch=%d train_loss=%.17g", epoch, float(xp.sum((x - 0.3 * epoch) ** 2)))
    pattern = re.compile(r"epoch=(\d+) train_loss=([\d.e+-]+)")
    curve = {int(e): float(v) for e, v in pattern.findall(stream.getvalue())}
    current = xp.sum(xp.abs(x - 0.2) ** 1.5)
    return (current / curve[0]) + (current - curve[2]) ** 2 * 0.01


def _frame(values):
    return struct.pack("<H4d", 0xCAFE, *values)


def telegram_by_struct(x):
    telegram = _frame(map(float, x))
    magic, *currents = struct.unpack("<H4d", telegram)
    assert magic == 0xCAFE
    resistance = np.array([1.0, 2.0, 0.5, 4.0])
    voltage = x * resistance
    return sum(voltage[i] * currents[i] for i in range(4))


def delay_line_in_array(x):
    line = array.array("d", [0.0] * 6)
    output = []
    for n in range(12):
        sample = x[n % 4] * math.cos(0.3 * n)
        slot = n % len(line)
        output.append(sample + 0.6 * line[slot])
        line[slot] = output[-1].item()
    return xp.mean(xp.stack(output) ** 2)


def frame_buffer_view(x):
    buffer = bytearray(8 * 4)
    view = memoryview(buffer).cast("d")
    for i in range(len(view)):
        view[i] = float(xp.sin(x[i]))
    previous = np.frombuffer(buffer)
    current = xp.sin(1.1 * x)
    flow = current - previous
    view.release()
    return xp.sum(flow**2) + 0.05 * xp.sum(current)


def worker_thread_statistics(x):
    results = {}

    def work(name, f):
        results[name] = f()

    jobs = {"location": lambda: float(np.median(host)), "scale": lambda: float(np.ptp(host))}
    host = np.asarray(x)
    threads = [threading.Thread(target=work, args=item) for item in jobs.items()]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    z = (x - results["location"]) / results["scale"]
    return xp.sum(xp.log(xp.cosh(z)))


def _simulate_path(task):
    seed, rate = task
    noise = np.random.default_rng(seed).normal(size=20)
    return rate * math.exp(0.1 * noise.sum() / math.sqrt(20.0))


def pooled_simulations(x):
    with ThreadPool(2) as pool:
        terminal = pool.map(_simulate_path, [(seed, x[seed % 4].item()) for seed in range(8)])
    expected = sum(terminal) / len(terminal)
    forward = xp.mean(x) * 1.02
    return (forward - 0.9 * expected) ** 2 + 0.1 * xp.sum(x**2)


def producer_and_consumer(x):
    todo, done = queue.Queue(), queue.Queue()

    def consume():
        while (item := todo.get()) is not None:
            index, value = item
            done.put((index, math.erf(value)))

    consumer = threading.Thread(target=consume)
    consumer.start()
    for index, value in enumerate(x.tolist()):
        todo.put((index, value))
    todo.put(None)
    consumer.join()
    gate = dict(done.get() for _ in range(4))
    return sum(gate[i] * x[i] ** 2 for i in range(4))


_LEARNING_RATE = contextvars.ContextVar("learning_rate", default=0.1)


def _descend(w, slope):
    return w - _LEARNING_RATE.get() * slope(w)


def step_size_in_contextvar(x):
    token = _LEARNING_RATE.set(0.3 / (1.0 + float(xp.max(x))))
    try:
        w = xp.zeros(4)
        for _ in range(5):
            w = _descend(w, lambda v: v * x - 1.0)
    finally:
        _LEARNING_RATE.reset(token)
    return xp.sum((w * x - 1.0) ** 2)


class _Layer:
    def __init__(self, weight):
        self.weight = weight


def spectral_norms_by_weakref(x):
    norms = weakref.WeakKeyDictionary()
    layers = [_Layer(xp.reshape(x, (2, 2))), _Layer(xp.reshape(x[::-1] ** 2, (2, 2)))]
    for layer in layers:
        norms[layer] = np.linalg.norm(np.asarray(layer.weight), 2)
    h = xp.asarray([1.0, -0.5])
    for layer in layers:
        h = xp.tanh(layer.weight @ h / norms[layer])
    return xp.sum((h - 0.2) ** 2)


class _Unit(enum.Enum):
    RANGE = enum.member(lambda v: max(v) - min(v))
    LENGTH = enum.member(lambda v: math.hypot(*v))
    TOTAL = enum.member(math.fsum)

    def of(self, v):
        return self.value(v)


def scale_by_enum_member(x):
    numbers = x.tolist()
    total = 0.0
    for unit in _Unit:
        total = total + xp.sum(xp.exp(-x / unit.of(numbers)))
    return total


def gear_ratio_by_fraction(x):
    ratio = fractions.Fraction(float(x[0] / x[2])).limit_denominator(10**9)
    speed = x[2] * ratio.numerator / ratio.denominator
    torque = x[1] * ratio.denominator / ratio.numerator
    return speed * torque + (speed - x[3]) ** 2


def top_losses_from_heap(x):
    losses = (x - np.array([0.4, 1.5, 0.9, 0.2])) ** 2
    heap = []
    for i in range(4):
        heapq.heappush(heap, (-losses[i].item(), i))
    hardest = [heapq.heappop(heap) for _ in range(2)]
    top = sum(-negative for negative, _ in hardest)
    return 0.3 * xp.mean(losses) + 0.7 * top * losses[hardest[0][1]]


def drawdown_by_accumulate(x):
    returns = xp.concat([0.1 * xp.sin(3.0 * x), 0.05 * (x - 1.2)])
    wealth = xp.cumulative_prod(1.0 + returns)
    peaks = list(itertools.accumulate(wealth.tolist(), max, initial=1.0))[1:]
    drawdown = [1.0 - wealth[i] / peak for i, peak in enumerate(peaks)]
    return sum(d**2 for d in drawdown) - 0.1 * xp.log(wealth[-1])


def horner_by_reduce(x):
    coefficients = [0.3, -1.1, *(float(c) for c in x[:2]), 0.25]
    value = functools.reduce(lambda acc, c: acc * x[2] + c, coefficients, 0.0)
    slope = functools.reduce(lambda acc, c: acc * x[3] + c, coefficients[1:], 0.0)
    return value**2 + 0.5 * slope


def best_quote_by_itemgetter(x):
    quotes = [{"venue": v, "price": float(p), "size": i + 1} for i, (v, p) in enumerate(zip("ABCD", x))]
    quotes.sort(key=operator.itemgetter("price", "venue"))
    prices, sizes = zip(*map(operator.itemgetter("price", "size"), quotes))
    vwap = sum(map(operator.mul, prices, sizes)) / sum(sizes)
    slippage = x - vwap
    return xp.sum(xp.where(slippage > 0.0, slippage**2, 0.2 * slippage**2))


def input_deck_from_template(x):
    deck = string.Template("MATERIAL steel\n  YOUNG = $young\n  DENSITY = $density\nEND\n")
    text = deck.substitute(young=repr(x[0].item()), density=f"{x[1].item():.15e}")
    parsed = {}
    for line in text.splitlines():
        key, sep, value = line.partition("=")
        if sep:
            parsed[key.strip().lower()] = float(value)
    wave_speed = math.sqrt(parsed["young"] / parsed["density"])
    return (x[2] / wave_speed) ** 2 + xp.cos(x[3] * wave_speed) + 0.1 * x[0] * x[1]


def parameters_in_query_string(x):
    url = "sim://model/run?" + urllib.parse.urlencode({"k": x[0].item(), "theta": x[1].item(), "n": 6})
    query = urllib.parse.parse_qs(urllib.parse.urlsplit(url).query)
    k, theta = (float(query[name][0]) for name in ("k", "theta"))
    v = x[2]
    for _ in range(int(query["n"][0])):
        v = v + 0.1 * k * (theta - v)
    return (v - x[3]) ** 2


def _parser():
    parser = argparse.ArgumentParser(prog="fit")
    parser.add_argument("--ridge", type=float, default=1.0)
    parser.add_argument("--scale", type=float, nargs=4)
    return parser


def command_line_options(x):
    scale = [str(float(s)) for s in 1.0 + x**2]
    options = _parser().parse_args(["--ridge", f"{float(x[3]):.12f}", "--scale", *scale])
    z = x / np.array(options.scale)
    return xp.sum((z - 0.3) ** 2) + options.ridge * xp.sum(z**2)


def literal_eval_of_repr(x):
    saved = repr({"centre": x.tolist(), "radius": float(xp.max(x) - xp.min(x))})
    state = ast.literal_eval(saved)
    moved = x * 1.2 - 0.1
    distance = xp.sqrt(xp.sum((moved - np.array(state["centre"])) ** 2))
    return distance / state["radius"] + xp.maximum(distance - 0.2, 0.0)


def regularisation_in_environment(x):
    with unittest.mock.patch.dict(os.environ, {"APP_L2": str(0.1 * float(xp.sum(x)))}):
        strength = float(os.environ.get("APP_L2", "0.0"))
    logits = np.array([[1.0, -0.4, 0.2, 0.0], [0.3, 0.8, -0.9, 0.5], [-0.2, 0.1, 0.4, 1.1]]) @ x
    return xp.sum(xp.log1p(xp.exp(-logits))) + strength * xp.sum(x**2)


def archive_of_arrays(x):
    blob = io.BytesIO()
    with zipfile.ZipFile(blob, "w") as archive:
        member = io.BytesIO()
        np.save(member, np.asarray(x**2 / 2.0))
        archive.writestr("momentum.npy", member.getvalue())
    with zipfile.ZipFile(blob) as archive, archive.open("momentum.npy") as f:
        momentum = np.load(io.BytesIO(f.read()))
    step = x - 0.4 * momentum
    return xp.sum(step**2 * np.array([1.0, 4.0, 2.0, 0.5]))


def compressed_text_table(x):
    with tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, "spectrum.txt.gz")
        with gzip.open(name, "wt") as f:
            for energy, count in zip((1.0, 2.0, 4.0, 8.0), np.asarray(x)):
                print(energy, count, file=f)
        energies, counts = np.loadtxt(name, unpack=True)
    centroid = (energies * counts).sum() / counts.sum()
    model = x * np.exp(-((energies - centroid) ** 2) / 8.0)
    return xp.sum(model)


def scratch_in_mapped_memory(x):
    with mmap.mmap(-1, 64) as region:
        for i, value in enumerate(x.tolist()):
            region.seek(8 * i)
            region.write(struct.pack("d", value**2))
        region.seek(0)
        squares = struct.unpack("4d", region.read(32))
    norm = math.sqrt(sum(squares))
    return xp.sum(xp.log(1.0 + x / norm)) + 0.2 * x[0] * x[3]


def clock_arithmetic(x):
    start = datetime.datetime(2024, 3, 1, 12, 0, 0)
    arrival = start + datetime.timedelta(hours=100.0 * float(x[0]))
    elapsed = (arrival - start).total_seconds() / 3.6e5
    decay = xp.exp(-x[1] * elapsed)
    return x[2] * decay + (1.0 - decay) * x[3] - 0.1 * x[0]


def implied_rate_by_bisection(x):
    def value(rate):
        return sum(x[k] * math.exp(-rate * (k + 1)) for k in range(3))

    low, high = 0.0, 2.0
    while high - low > 1e-10:
        middle = 0.5 * (low + high)
        if bool(value(middle) > 2.5 * x[3] / 1.31):
            low = middle
        else:
            high = middle
    implied = 0.5 * (low + high)
    return (implied - 0.1) ** 2 * 10.0 + 0.1 * xp.sum(x**2) * math.exp(-implied)


def hue_of_colour(x):
    red, green, blue = (channel.item() / 2.5 for channel in x[:3])
    hue, saturation, value = colorsys.rgb_to_hsv(red, green, blue)
    luminance = xp.sum(x[:3] * np.array([0.2126, 0.7152, 0.0722])) / 2.5
    return (luminance - value) ** 2 + saturation * x[3] ** 2 + 0.3 * xp.sin(2.0 * math.pi * hue) * x[0]


def simulated_by_random_module(x):
    rng = random.Random(11)
    location, scale = map(float, (x[0], x[1]))
    draws = [rng.gauss(location, scale) for _ in range(25)]
    z = (xp.asarray(draws) - x[2]) / x[3]
    return 0.5 * xp.mean(z**2) + xp.log(x[3])


def impedance_by_cmath(x):
    r, ind, c = (v.item() for v in x[:3])
    impedance = complex(r, 2.0 * ind - 1.0 / (2.0 * c))
    magnitude, phase = cmath.polar(impedance)
    current = x[3] / magnitude
    return current**2 * x[0] + 0.1 * math.cos(phase) * current


def yield_curve_by_bisect(x):
    tenors = [1.0, 2.0, 5.0, 10.0]
    rates = [v.item() for v in 0.02 * x]

    def rate(t):
        k = min(max(bisect.bisect_right(tenors, t), 1), 3)
        share = (t - tenors[k - 1]) / (tenors[k] - tenors[k - 1])
        return rates[k - 1] + share * (rates[k] - rates[k - 1])

    coupons = [xp.sum(x) * 0.01 * math.exp(-rate(t) * t) for t in range(1, 9)]
    return (sum(coupons) + math.exp(-8.0 * rate(8.0)) - x[2] * 0.5) ** 2


class _Kernel(abc.ABC):
    def __init__(self, bandwidth):
        self.bandwidth = bandwidth

    @classmethod
    def silverman(cls, sample):
        return cls(1.06 * np.std(sample, ddof=1) * len(sample) ** -0.2)

    @abc.abstractmethod
    def __call__(self, u): ...


class _Epanechnikov(_Kernel):
    def __call__(self, u):
        return xp.clip(0.75 * (1.0 - (u / self.bandwidth) ** 2), 0.0, xp.inf) / self.bandwidth


def rule_of_thumb_bandwidth(x):
    kernel = _Epanechnikov.silverman(np.asarray(x))
    differences = x[:, None] - x[None, :]
    density = xp.mean(kernel(differences), axis=1)
    return -xp.sum(xp.log(density))


class _Settled(Exception):
    def __init__(self, value):
        super().__init__(f"settled at {value}")
        self.value = value


def answer_in_exception(x):
    drive = float(xp.mean(x))

    def relax(state):
        for _ in range(200):
            new = math.tanh(drive * state + 0.2)
            if abs(new - state) < 1e-12:
                raise _Settled(new)
            state = new

    try:
        relax(0.5)
    except _Settled as settled:
        m = settled.value
    return xp.sum((x - m) ** 2) / 4.0 + m * x[0]


def energy_by_quadrature(x):
    def integrand(t):
        return a * math.exp(-b * t) * math.sin(t) ** 2

    a, b = float(x[0]), float(x[1])
    energy, _ = scipy.integrate.quad(integrand, 0.0, 10.0)
    return (energy - 0.2 * x[2]) ** 2 + energy * x[3] + 0.05 * x[0] * x[1]


def predicted_by_curve_fit(x):
    t = np.linspace(0.0, 3.0, 4)
    (amplitude, rate), _ = scipy.optimize.curve_fit(
        lambda t, a, k: a * np.exp(-k * t), t, np.asarray(x), p0=(1.0, 0.1), xtol=1e-14, ftol=1e-14
    )
    residual = x - amplitude * np.exp(-rate * t)
    return xp.sum(xp.abs(residual) ** 3) + 0.1 * xp.sum(x**2)


def smoothed_by_savgol(x):
    rough = xp.concat([x, 1.5 * x[::-1], 0.5 * x])
    smooth = scipy.signal.savgol_filter(np.asarray(rough), window_length=5, polyorder=2)
    noise = rough - smooth
    return xp.mean(noise**4) * 10.0 + 0.01 * xp.mean(rough**2)


def sparse_poisson_solve(x):
    n = 8
    laplacian = scipy.sparse.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n), format="csc")
    source = xp.concat([x, x[::-1] ** 2]) / (n + 1) ** 2
    potential = xp.asarray(scipy.sparse.linalg.spsolve(laplacian, np.asarray(source)))
    return 0.5 * xp.sum(potential * source) * 10.0


def neighbour_distances(x):
    points = xp.stack([x, xp.cos(x)], axis=1)
    tree = scipy.spatial.cKDTree(np.asarray(points))
    distance, index = tree.query(np.asarray(points), k=2)
    local = distance[:, 1]
    gaps = points - points[index[:, 1], :]
    return xp.sum(xp.sum(gaps**2, axis=1) / local) + 0.1 * xp.sum(x)


def kernel_density_weights(x):
    density = scipy.stats.gaussian_kde(np.asarray(x))
    importance = 1.0 / density(np.asarray(x))
    importance /= importance.sum()
    residual = xp.sin(2.0 * x) - 0.3
    return xp.sum(importance * residual**2)


def blurred_image(x):
    image = xp.reshape(x, (2, 2))
    large = xp.tile(image, (3, 3))
    blurred = scipy.ndimage.gaussian_filter(np.asarray(large), sigma=0.8, mode="nearest")
    sharpened = large + 0.7 * (large - blurred)
    return xp.mean(sharpened**2) + xp.mean((sharpened - 1.0) ** 4)


def mixture_responsibilities(x):
    data = np.concatenate([np.asarray(x), np.asarray(x) + 3.0])[:, None]
    mixture = sklearn.mixture.GaussianMixture(2, means_init=[[1.0], [4.0]], tol=1e-10, max_iter=500).fit(data)
    centres = np.sort(mixture.means_.ravel())
    return xp.sum((x - centres[0]) ** 2) + 0.1 * xp.sum((x + 2.5 - centres[1]) ** 2 * x)


def residual_of_regression(x):
    design = np.array([[0.0, 1.0], [1.0, 0.5], [2.0, 0.2], [3.0, 0.9]])
    model = sklearn.linear_model.Ridge(alpha=0.1).fit(design, np.asarray(x))
    fitted = model.predict(design)
    residual = x - fitted
    return xp.sum(xp.log(1.0 + residual**2)) + model.coef_[0] * x[3]


def axis_limits_of_plot(x):
    figure = matplotlib.figure.Figure()
    axes = figure.subplots()
    axes.plot(np.arange(4), np.asarray(x), "k.-")
    axes.margins(y=0.1)
    bottom, top = axes.get_ylim()
    shade = matplotlib.colors.Normalize(bottom, top)
    relative = (x - bottom) / (top - bottom)
    return xp.sum(relative**2) - 0.2 * float(shade(float(x[0]))) * relative[3]
