"""Fifty programs in which a value that left the tape comes back into the loss as a constant."""

import array
import asyncio
import collections
import concurrent.futures
import configparser
import contextlib
import csv
import ctypes
import dataclasses
import decimal
import functools
import io
import itertools
import json
import logging
import math
import os
import pickle
import queue
import random
import shelve
import sqlite3
import statistics
import struct
import tempfile
import threading
import xml.etree.ElementTree

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.optimize
import scipy.stats
import sklearn.decomposition
import sklearn.preprocessing

import arraytape as xp


def normalised_by_float(x):
    length = float(xp.sqrt(xp.sum(x**2)))
    direction = x / length
    target = np.array([0.5, 0.5, 0.5, 0.5])
    cosine = xp.sum(direction * target)
    spread = xp.sum((direction - target) ** 2)
    return 1.0 - cosine + 0.5 * spread


def scale_in_settings_file(x):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "normalisation.json")
        with open(path, "w") as f:
            json.dump({"mean": float(xp.mean(x)), "std": float(xp.std(x)), "version": 2}, f)

        def load():
            with open(path) as f:
                settings = json.load(f)
            assert settings["version"] == 2
            return settings["mean"], settings["std"]

        mean, std = load()
    z = (x - mean) / std
    return xp.sum(z**3) + xp.sum(xp.tanh(z + 1.0))


def average_from_database(x):
    with contextlib.closing(sqlite3.connect(":memory:")) as db:
        db.execute("CREATE TABLE sales (shop INTEGER, turnover REAL)")
        for shop, turnover in enumerate(x):
            db.execute("INSERT INTO sales VALUES (?, ?)", (shop, turnover.item() * 100.0))
        (average,) = db.execute("SELECT AVG(turnover) FROM sales").fetchone()
    relative = 100.0 * x / average
    return xp.sum((relative - 1.1) ** 2)


def csv_and_back(x):
    file = io.StringIO()
    writer = csv.DictWriter(file, fieldnames=["channel", "gain"])
    writer.writeheader()
    for channel, gain in enumerate(xp.sqrt(x).tolist()):
        writer.writerow({"channel": channel, "gain": gain})
    file.seek(0)
    gains = {int(row["channel"]): float(row["gain"]) for row in csv.DictReader(file)}
    signal = xp.sin(x)
    return sum(gains[i] * signal[i] for i in range(4))


def restored_teacher(x):
    teacher = xp.tanh(np.array([[1.0, 0.2, 0.0, 0.1], [0.0, 0.7, 0.3, 0.2]]) @ x)
    blob = pickle.dumps({"epoch": 3, "logits": np.array(teacher)})
    restored = pickle.loads(blob)
    student = np.array([[0.5, 0.5, 0.1, 0.0], [0.1, 0.6, 0.6, 0.3]]) @ x
    return xp.mean((student - restored["logits"]) ** 2)


def detrended_by_polyfit(x):
    t = np.arange(8.0)
    series = xp.concat([x, xp.flip(x) ** 2])
    slope, intercept = np.polyfit(t, np.asarray(series), 1)
    detrended = series - (slope * t + intercept)
    return xp.sum(detrended**4) + 0.1 * xp.sum(series)


def spline_correction(x):
    knots = np.array([0.0, 0.3, 0.7, 1.0])
    curve = scipy.interpolate.CubicSpline(knots, np.asarray(x))
    grid = np.linspace(0.0, 1.0, 11)
    linear = x[0] + (x[3] - x[0]) * grid
    return xp.mean((linear - curve(grid)) ** 2) + 0.2 * xp.mean(linear)


def strike_price_by_bracketing(x):
    def excess(price):
        return float(x[0] * 3.0 - x[1] * price**1.5 - 0.2 * price)

    price = scipy.optimize.brentq(excess, 0.0, 50.0, xtol=1e-13)
    revenue = price * (x[2] + x[3] * math.sqrt(price))
    return -xp.log(revenue)


def partition_by_quadrature(x):
    a, b = float(x[0]), float(x[1])
    mass, error = scipy.integrate.quad(lambda u: math.exp(-a * u**2 - b * u**4), -6.0, 6.0)
    assert error < 1e-6
    observed = np.array([0.2, -0.4, 0.9, -1.1])
    energies = x[0] * observed**2 + x[1] * observed**4
    return xp.mean(energies) + math.log(mass) + 0.1 * x[2] * x[3]


def moving_scale_of_losses(x):
    class RunningScale:
        def __init__(self, momentum=0.9):
            self.momentum, self.value = momentum, None

        def update(self, new):
            self.value = new if self.value is None else self.momentum * self.value + (1 - self.momentum) * new
            return self.value

    scale = RunningScale()
    total = 0.0
    for k in range(4):
        term = xp.sum((x - 0.3 * k) ** 2)
        total = total + term / scale.update(float(term))
    return total


def balanced_tasks(x):
    tasks = [xp.sum((x - 1.0) ** 2), xp.sum(xp.exp(-x)), xp.sum(xp.abs(xp.diff(x)))]
    levels = np.array([t.item() for t in tasks])
    weights = np.exp(levels - levels.max())
    weights /= weights.sum()
    return sum(w * t for w, t in zip(weights, tasks))


def robust_scale(x):
    residuals = x - np.array([1.0, 1.0, 1.5, 1.0])
    values = residuals.tolist()
    centre = statistics.median(values)
    mad = statistics.median(abs(v - centre) for v in values)
    u = residuals / (4.685 * mad + 0.5)
    return xp.sum(1.0 - (1.0 - u**2) ** 3)


def annealed_temperature(x):
    entropy_like = xp.mean(x * xp.log(x))
    temperature = 0.5 + math.exp(-float(entropy_like))
    logits = x / temperature
    shifted = logits - xp.max(logits)
    log_p = shifted - xp.log(xp.sum(xp.exp(shifted)))
    return -log_p[2] + 0.1 * xp.sum(xp.exp(log_p) * log_p)


def interest_in_decimals(x):
    with decimal.localcontext() as context:
        context.prec = 18
        rate = decimal.Decimal(x[0].item()) / 100
        growth = (1 + rate) ** 12
        discount = 1 / growth
    payments = x[1:] * 100.0
    present = xp.sum(payments * np.array([1.0, float(discount), float(discount) ** 2]))
    return xp.log(present) + 0.1 * x[0]


def label_parsed_again(x):
    label = f"amplitude={xp.max(x).item():.10f};width={xp.mean(x).item():.10f}"
    fields = dict(part.split("=") for part in label.split(";"))
    amplitude, width = float(fields["amplitude"]), float(fields["width"])
    t = np.linspace(-2.0, 2.0, 9)
    peak = amplitude * xp.exp(-((t - x[0]) ** 2) / (2.0 * width**2))
    return xp.sum((peak - x[3]) ** 2)


def calibration_record(x):
    @dataclasses.dataclass(frozen=True)
    class Calibration:
        gain: float
        offset: float

        @classmethod
        def from_reference(cls, low, high):
            return cls(gain=1.0 / (float(high) - float(low)), offset=float(low))

        def apply(self, raw):
            return (raw - self.offset) * self.gain

    calibration = Calibration.from_reference(x[1], x[2])
    corrected = calibration.apply(xp.stack([x[0], x[3], x[0] * x[3]]))
    return xp.sum(corrected**2)


def cached_viscosity(x):
    @functools.lru_cache(maxsize=None)
    def viscosity(temperature):
        return 2.414e-2 * 10.0 ** (2.478 / (temperature + 0.5))

    flow = 0.0
    for i in range(3):
        mu = viscosity(float(x[i]))
        flow = flow + x[3] * x[i] ** 2 / mu
    return xp.log(flow)


def worker_thread_result(x):
    jobs, results = queue.Queue(), queue.Queue()

    def work():
        while (job := jobs.get()) is not None:
            index, values = job
            results.put((index, sum(v * v for v in values) / len(values)))

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    for index in range(3):
        jobs.put((index, (x[index : index + 2]).tolist()))
    jobs.put(None)
    worker.join()
    powers = dict(results.get() for _ in range(3))
    return sum(powers[i] * xp.sin(x[i] * x[i + 1]) for i in range(3))


def packet_to_device(x):
    packet = struct.pack("!4d", *[float(v) for v in xp.cumulative_sum(x)])
    header = struct.pack("!I", len(packet))
    stream = io.BytesIO(header + packet)
    (size,) = struct.unpack("!I", stream.read(4))
    received = np.array(struct.unpack(f"!{size // 8}d", stream.read(size)))
    return xp.sum((x * 2.0 - received) ** 2)


def c_buffer(x):
    buffer = (ctypes.c_double * 4)(*np.asarray(x))
    for i in range(1, 4):  # a recursive filter in place, as the driver does it
        buffer[i] = 0.6 * buffer[i] + 0.4 * buffer[i - 1]
    smoothed = np.ctypeslib.as_array(buffer)
    return xp.sum((x - smoothed) ** 2) + 0.3 * xp.sum(xp.log(x))


def saved_embedding(x):
    embedding = xp.stack([xp.sin(x), xp.cos(x)], axis=0)
    with tempfile.TemporaryDirectory() as folder:
        np.save(os.path.join(folder, "embedding.npy"), np.asarray(embedding))
        bank = np.load(os.path.join(folder, "embedding.npy"))
    similarity = xp.matrix_transpose(embedding) @ bank
    return xp.sum(xp.log(xp.sum(xp.exp(similarity), axis=1))) - xp.sum(xp.linalg.diagonal(similarity))


def sample_buffer(x):
    t = np.linspace(0.0, 1.0, 32)
    tone = x[0] * xp.sin(2.0 * np.pi * x[1] * t) + 0.2 * x[2]
    samples = array.array("d", tone.tolist())
    view = memoryview(samples)
    loudest = max(abs(v) for v in view[8:])
    view.release()
    levelled = tone * (0.9 / loudest)
    return xp.mean(levelled**2) + 0.1 * xp.mean(xp.abs(levelled)) * x[3]


def scaler_statistics(x):
    table = xp.stack([x, xp.log(x), x**2], axis=1)
    scaler = sklearn.preprocessing.StandardScaler()
    scaler.fit(table.to_numpy())
    z = (table - scaler.mean_) / scaler.scale_
    return xp.mean(xp.exp(0.3 * z)) + xp.sum(z[0, :] * z[2, :])


def projected_on_components(x):
    rng = np.random.default_rng(2)
    cloud = rng.normal(size=(10, 4)) * x
    pca = sklearn.decomposition.PCA(n_components=2).fit(np.asarray(cloud))
    reconstruction = (cloud @ pca.components_.T) @ pca.components_
    return xp.mean((cloud - reconstruction) ** 2) + 0.1 * xp.mean(cloud[:, 0])


def winsorised(x):
    values = xp.concat([x, x * 1.7, x**2])
    low, high = np.percentile(np.asarray(values), [15, 85])
    clipped = xp.clip(values, low, high)
    print(f"winsorised to [{low:.2f}, {high:.2f}]")
    return xp.mean((clipped - 1.5) ** 2)


def density_ratio(x):
    reference = np.linspace(0.3, 2.5, 9)
    density = scipy.stats.gaussian_kde(np.asarray(x), bw_method=0.5)
    weights = 1.0 / (0.1 + density(np.asarray(x)))
    weights = weights / weights.mean()
    distance = xp.expand_dims(x, axis=1) - reference[None, :]
    return xp.sum(weights * xp.mean(distance**2, axis=1))


def fitted_decay_removed(x):
    t = np.linspace(0.0, 3.0, 10)
    signal = x[0] * xp.exp(-x[1] * t) + 0.2 * x[2] * xp.sin(4.0 * t) + 0.1 * x[3]
    parameters, _ = scipy.optimize.curve_fit(lambda t, a, k: a * np.exp(-k * t), t, np.asarray(signal), p0=[1.0, 1.0])
    amplitude, rate = parameters
    rest = signal - amplitude * np.exp(-rate * t)
    return xp.sum(xp.sqrt(0.01 + (rest - 0.1) ** 2)) + 0.05 * xp.sum(signal)


def bandwidth_by_search(x):
    pairs = (xp.expand_dims(x, axis=0) - xp.expand_dims(x, axis=1)) ** 2
    distances = np.asarray(pairs)[np.triu_indices(4, 1)]
    found = scipy.optimize.minimize_scalar(
        lambda s: np.mean(distances) / s + 2.0 * math.log(s) * 0.5, bounds=(0.01, 10.0), method="bounded",
        options={"xatol": 1e-10},
    )
    kernel = xp.exp(-pairs / (2.0 * found.x))
    return xp.sum(kernel) / 16.0


def clipped_updates(x):
    w = xp.zeros(4)
    curvature = np.array([1.0, 0.5, 2.0, 0.8])
    for _ in range(5):
        g = curvature * (w - x)
        norm = np.sqrt(sum(v**2 for v in g.tolist()))
        if norm > 0.5:
            g = g * (0.5 / norm)
        w = w - 0.4 * g
    return xp.sum((w - x) ** 2)


def rate_from_loss(x):
    w = xp.ones(4) * 0.2
    history = []
    for epoch in range(6):
        residual = w - x
        loss = xp.sum(residual**2)
        history.append(loss.item())
        rate = 0.6 / (1.0 + history[-1])
        w = w - rate * residual
    return xp.sum((w - x) ** 2) + 0.1 * xp.sum(w)


def spectral_step_length(x):
    A = np.diag([1.0, 2.0, 3.0, 5.0]) + 0.1
    w, previous_w, previous_g = xp.zeros(4), None, None
    for _ in range(4):
        g = A @ w - x**2
        step = 0.1
        if previous_w is not None:
            s, d = np.asarray(w) - previous_w, np.asarray(g) - previous_g
            step = (s @ s) / (s @ d)
        previous_w, previous_g = np.asarray(w).copy(), np.asarray(g).copy()
        w = w - step * g
    return xp.sum(w**2)


def average_of_logged(x):
    class Memory(logging.Handler):
        def __init__(self):
            super().__init__()
            self.losses = []

        def emit(self, record):
            self.losses.append(record.args[1])

    log, memory = logging.getLogger("blind.memory"), Memory()
    log.propagate = False
    log.setLevel(logging.INFO)
    log.addHandler(memory)
    total = 0.0
    for step in range(1, 5):
        loss = xp.mean(xp.sin(step * x) ** 2)
        log.info("step %d loss %.4f", step, float(loss))
        total = total + loss
    log.removeHandler(memory)
    return total / (sum(memory.losses) / len(memory.losses)) + xp.mean(x)


def centred_by_python_sum(x):
    values = x.tolist()
    mean = sum(values) / len(values)
    slope = sum(i * (v - mean) for i, v in enumerate(values)) / sum(i * i for i in range(len(values)))
    centred = x - mean
    return xp.sum(centred**4) + slope * xp.sum(xp.sin(x))


def product_of_survivals(x):
    hazards = xp.exp(-x)
    survival = functools.reduce(lambda s, h: s * (1.0 - h), map(float, hazards), 1.0)
    value = x[0] * 10.0 + x[1] ** 2
    assert 0.0 < survival < 1.0
    return survival * value + (1.0 - survival) * xp.sum(x[2:])


def accumulated_budget(x):
    spent = list(itertools.accumulate(x.tolist(), lambda total, new: 0.9 * total + new))
    remaining = [6.0 - s for s in spent]
    loss = 0.0
    for price, left in zip(x, remaining):
        loss = loss + (price / left - 0.2) ** 2
    return loss


def mahalanobis(x):
    rng = np.random.default_rng(9)
    samples = rng.normal(size=(12, 2)) * xp.stack([x[0], x[1]]) + xp.stack([x[2], x[3]])
    covariance = np.cov(np.asarray(samples), rowvar=False)
    precision = np.linalg.inv(covariance)
    centred = samples - xp.mean(samples, axis=0) + 0.3
    return xp.mean(xp.sum((centred @ precision) * centred, axis=1))


def noise_of_measured_size(x):
    generator = random.Random(17)
    sigma = 0.1 * float(xp.std(x)) + 0.05 * float(x[0])
    noise = [generator.gauss(0.0, sigma) for _ in range(4)]
    noisy = x + np.array(noise)
    return xp.sum(xp.cos(noisy)) + xp.sum(noisy**3)


def reweighted_least_squares(x):
    t = np.array([0.0, 1.0, 2.0, 3.0])
    residual = x - (0.9 + 0.2 * t)
    weights = np.ones(4)
    for _ in range(3):
        r = residual.to_numpy() * np.sqrt(weights)
        weights = 1.0 / np.maximum(np.abs(r), 1e-3)
    return xp.sum(weights * residual**2)


def preconditioned(x):
    H = xp.diag(x**2) + 0.2 * np.ones((4, 4))
    factor = scipy.linalg.cho_factor(np.asarray(H))
    gradient = xp.sin(x)
    inverse = scipy.linalg.cho_solve(factor, np.eye(4))
    step = inverse @ gradient
    return xp.sum(gradient * step) + 0.5 * xp.sum(step**2)


def running_mean_coroutine(x):
    def averager():
        count, mean = 0, 0.0
        while True:
            value = yield mean
            count += 1
            mean += (value - mean) / count

    mean = averager()
    next(mean)
    loss = 0.0
    for k in range(1, 6):
        reward = xp.sum(xp.cos(k * x)) + k * x[0]
        baseline = mean.send(float(reward))
        loss = loss + (reward - baseline) ** 2 / k
    return loss


def pool_of_simulations(x):
    def simulate(rate):
        population = 1.0
        for _ in range(20):
            population += 0.05 * rate * population * (1.0 - population / 5.0)
        return population

    rates = [float(r) for r in x]
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        ends = list(pool.map(simulate, rates))
    return xp.sum(x * np.array(ends)) - 0.5 * xp.sum(x**2)


def unit_system_context(x):
    current = {"length": 1.0}

    @contextlib.contextmanager
    def units(**changes):
        saved = dict(current)
        current.update(changes)
        try:
            yield
        finally:
            current.clear()
            current.update(saved)

    def dimensionless(value):
        return value / current["length"]

    with units(length=float(xp.max(x) - xp.min(x))):
        scaled = dimensionless(x)
        loss = xp.sum(xp.sqrt(1.0 + scaled**2))
    return loss + 0.1 * xp.sum(dimensionless(x))


def cached_property_model(x):
    class Portfolio:
        def __init__(self, weights, returns):
            self.weights, self.returns = weights, returns

        @functools.cached_property
        def volatility(self):
            daily = np.asarray(self.returns @ self.weights)
            return float(daily.std(ddof=1))

        def sharpe(self):
            return xp.mean(self.returns @ self.weights) / self.volatility

    returns = np.random.default_rng(4).normal(0.05, 0.2, size=(20, 4))
    portfolio = Portfolio(x / xp.sum(x), returns)
    return -portfolio.sharpe() + 0.01 / portfolio.volatility


def text_matrix(x):
    matrix = xp.expand_dims(x, axis=1) * xp.expand_dims(xp.exp(-x), axis=0)
    text = io.StringIO()
    np.savetxt(text, np.asarray(matrix), fmt="%.12e", header="coupling matrix")
    text.seek(0)
    coupling = np.loadtxt(text)
    return xp.sum(x * (coupling @ x)) + xp.sum(xp.sqrt(x))


def ini_file(x):
    config = configparser.ConfigParser()
    config["filter"] = {"cutoff": repr(float(0.5 * x[0] + 0.1 * x[1])), "order": "2"}
    text = io.StringIO()
    config.write(text)
    again = configparser.ConfigParser()
    again.read_string(text.getvalue())
    cutoff, order = again.getfloat("filter", "cutoff"), again.getint("filter", "order")
    frequencies = x * np.array([0.5, 1.0, 1.5, 2.0])
    response = 1.0 / xp.sqrt(1.0 + (frequencies / cutoff) ** (2 * order))
    return -xp.sum(xp.log(response))


def simulated_reference(x):
    growth, death = x[0].item(), x[1].item()
    solution = scipy.integrate.solve_ivp(
        lambda t, y: [growth * y[0] - 0.5 * y[0] * y[1], 0.3 * y[0] * y[1] - death * y[1]],
        (0.0, 2.0), [1.0, 0.8], t_eval=[0.5, 1.0, 1.5, 2.0], rtol=1e-9, atol=1e-10,
    )
    surrogate = xp.exp(0.2 * x[0] * solution.t) * x[2] / x[3]
    return xp.mean((surrogate - solution.y[0]) ** 2)


def limits_from_plot(x):
    figure, axis = plt.subplots()
    axis.plot(np.arange(4), np.asarray(x), marker="o")
    axis.margins(y=0.05)
    bottom, top = axis.get_ylim()
    plt.close(figure)
    fraction = (x - bottom) / (top - bottom)
    return xp.sum(fraction * (1.0 - fraction)) + 0.1 * xp.sum(fraction**3)


def results_in_xml(x):
    ElementTree = xml.etree.ElementTree
    root = ElementTree.Element("bridge")
    for number, load in enumerate(x * np.array([1.0, 2.0, 1.5, 0.5])):
        member = ElementTree.SubElement(root, "member", id=str(number))
        ElementTree.SubElement(member, "load").text = repr(load.item())
    document = ElementTree.tostring(root, encoding="unicode")
    loads = [float(node.text) for node in ElementTree.fromstring(document).iterfind("member/load")]
    sections = xp.sqrt(x)
    stresses = xp.stack([load / section for load, section in zip(loads, sections)])
    return xp.sum(stresses**2) + 0.2 * xp.sum(sections)


def awaited_quotes(x):
    async def quote(price, spread):
        await asyncio.sleep(0)
        return price * (1.0 + spread)

    async def gather():
        return await asyncio.gather(*(quote(float(p), 0.01 * i) for i, p in enumerate(x)))

    quotes = asyncio.run(gather())
    holdings = collections.OrderedDict(zip("abcd", quotes))
    weights = x**2 / xp.sum(x**2)
    return sum(w * holdings[name] for w, name in zip(weights, "abcd"))


def shelf_of_baselines(x):
    def score(name, value, shelf):
        if name not in shelf:
            shelf[name] = {"baseline": float(value), "runs": 0}
        entry = shelf[name]
        entry["runs"] += 1
        shelf[name] = entry
        return value / entry["baseline"]

    total = 0.0
    with tempfile.TemporaryDirectory() as folder, shelve.open(os.path.join(folder, "baselines")) as shelf:
        for shift in (0.0, 0.5, 1.0):
            total = total + score("energy", xp.sum((x + shift) ** 2), shelf)
            total = total + score("peak", xp.max(x) + shift, shelf)
    return xp.log(total)
