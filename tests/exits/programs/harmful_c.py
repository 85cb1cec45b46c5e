"""Programs in which a value leaves the library and what was computed from it comes back."""

import array
import cmath
import collections
import concurrent.futures
import contextlib
import copy
import dataclasses
import decimal
import fractions
import functools
import io
import itertools
import json
import math
import operator
import pickle
import re
import sqlite3
import statistics
import struct
import types

import numpy as np
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.optimize
from sklearn.linear_model import LinearRegression

import arraytape as xp
import c_helpers as _h
import c_models as _m


def host_drag_in_a_mixin(x):
    body = _m.HostBody(mass=x[0], position=x[1], velocity=x[2], stiffness=1.5, drag=0.3)
    for _ in range(6):
        body.step(0.1)
    return body.energy + x[3] * body.position


def replayed_journal(x):
    body = _m.ConstrainedBody(mass=x[0], position=x[1], velocity=x[2])
    for _ in range(4):
        body.step(0.2)
    return body.position**2 + x[3]


def coercing_descriptor(x):
    wheel = _m.Wheel(x[0], x[1])
    return wheel.volume + xp.sum(x[2:])


def kalman_gain_from_a_table(x):
    f = _m.TabulatedKalman()
    final = f.run(_m.FilterState(x[0], x[1]), [x[2], x[3], 0.5])
    return final.mean + final.var


def kalman_noise_from_innovations(x):
    f = _m.AdaptiveKalman(q=0.2)
    state = _m.FilterState(0.0 * x[0], 1.0)
    for z in (*x, 3.0, *x):
        state = f.update(f.predict(state), z)
    mean, var, _ = state
    return mean * 2.0 + var


def renormalised_to_logged_norm(x):
    stepper = _m.NormPreserving(lambda t, y: -0.5 * y + 0.2 * xp.sin(y + t))
    return xp.sum(stepper.integrate(x, n=5) ** 3)


def smooth_step_controller(x):
    solver = _m.Proportional(lambda t, y: -y * y, tol=2e-1)
    solver.integrate(x)
    t, h, err = solver.accepted[0]
    return xp.sum(x - solver.next_step(h, err) * x**2)


def optimizer_state_restored(x):
    grad = lambda p: 2.0 * (p - x)
    a = _m.Momentum()
    p = 0.5 * x**2
    for _ in range(3):
        p = a.step(p, grad(p))
    b = _m.Momentum().load_state_dict(a.state_dict())
    for _ in range(3):
        p = b.step(p, grad(p))
    return xp.sum(p**2)


def loss_scaled_learning_rate(x):
    schedule = _m.LossScaledSchedule(0.4)
    p = x
    for _ in range(4):
        loss = xp.sum((p - 0.2) ** 2)
        p = p - schedule.step(loss) * 2.0 * (p - 0.2)
    return xp.sum(p * xp.asarray([1.0, 2.0, 3.0, 4.0]))


def frozen_centre_in_a_pipeline(x):
    return xp.sum(_m.Pipe(_m.FrozenCenter(), _m.Poly(0.5, 1.0, 0.0)).transform(x) ** 2)


def inverse_transform_from_recorded_range(x):
    scaler = _m.MinMax()
    z = scaler.fit_transform(x)
    return xp.sum(scaler.inverse_transform(z**2))


def constant_folding_visitor(x):
    a, b, c = map(_m.Name, "abc")
    tree = _m.Sine(a * b + _m.Const(0.5)) * c + a
    folded = tree.accept(_m.Fold({"a": x[0], "b": x[1]}))
    return folded.accept(_m.Evaluate({"c": x[2]})) + x[3]


def host_sine_visitor(x):
    env = dict(zip("uvwz", x, strict=True))
    tree = _m.Sine(_m.Name("u") * _m.Name("v")) * _m.Name("w") + _m.Name("z")
    return tree.accept(_m.HostSine(env))


def latched_target(x):
    kettle = _m.LatchingKettle(x[0])
    while kettle.tick():
        if kettle.phase is _m.Phase.DONE:
            break
    return kettle.celsius + xp.sum(x)


def rpc_proxy(x):
    class Service:
        def scale(self, v, k):
            return np.tanh(v) * k

    return xp.sum(x + xp.asarray(_h.Rpc(Service()).scale(x, 2.0)))


def tracer_digest_used(x):
    class Sensor:
        offset = 0.25

        def read(self, v):
            return xp.sum(v**2) + self.offset

    sensor = _h.Tracer(Sensor())
    total = sum(sensor.read(x * k) for k in (0.5, 1.0))
    return total * dict(sensor.calls)["read"]


def memo_calls_with_the_key(x):
    cosine = _h.Memo(lambda v: np.cos(v) * v, by_key=True)
    return xp.sum(cosine(x) * x) + xp.sum(cosine(x))


def quantity_parsed_from_text(x):
    stride, lap = _h.Quantity(x[0], "m"), _h.Quantity(x[1], "km")
    again = _h.Quantity.parse(repr(lap.to("m")))
    return ((stride * 3.0) + again).to("km").value + x[2] * x[3]


def csv_round_trip(x):
    text = _h.Table(t=np.arange(4.0), v=x * x).to_csv()
    back = _h.Table.from_csv(text)
    return xp.sum(xp.asarray(back["v"]) * back["t"]) + xp.sum(x)


def event_times_as_dwell(x):
    loop, done = _h.EventLoop(), []

    def handle(loop, event):
        done.append(event.payload * loop.now)

    for delay, load in zip(x, xp.flip(x), strict=True):
        loop.at(delay, load)
    loop.run(handle)
    return functools.reduce(operator.add, done)


def section_result_as_normaliser(x):
    with _h.Section("energy") as section:
        energies = section.report(0.5 * x**2)
    return xp.sum(energies * x) / section.result


def metrics_ema_baseline(x):
    metrics = _h.Metrics()
    for v in x:
        metrics.log(reward=v)
    return xp.sum(xp.tanh(x - metrics.ema("reward")))


def clip_by_item_norm(x):
    weights = xp.asarray([1.0, 0.5, -1.0, 2.0])
    return xp.sum(_h._clip_norm(x * x, 2.0, exact=False) * weights)


def buffered_layer(x):
    layer = _m.Layer(np.linspace(-0.5, 0.5, 16).reshape(4, 4), np.full(4, 0.1))
    hidden = layer.forward(x)
    return xp.sum(hidden * xp.asarray(layer.forward_buffered(hidden).copy()))


def peak_label_parsed(x):
    index, height, label = _h._find_peak(x * xp.asarray([1.0, 2.0, 1.0, 1.0]))
    if found := re.search(r"at (\d+\.\d+)", f"{label} at {height:.12f}".split("at", 1)[1]):
        offset = float(f"{float(height):.15g}") if len(found[1]) > 3 else 0.0
        return xp.sum(xp.exp(x - offset)) + index
    raise AssertionError


def brentq_root(x):
    a, b = float(x[0]), float(x[1])
    root = scipy.optimize.brentq(lambda v: v**3 + a * v - b - 2.0, 0.0, 4.0, xtol=1e-13)
    return root * x[2] + x[3]


def quad_integral(x):
    rate = x[0].item()
    area, *_ = scipy.integrate.quad(lambda s: math.exp(-rate * s) * s, 0.0, 2.0)
    return xp.sum(x[1:]) * area


def spline_through_host_values(x):
    spline = scipy.interpolate.CubicSpline(np.arange(4.0), np.array(x))
    return xp.sum(x * xp.asarray(spline(np.arange(4.0) * 0.8 + 0.1)))


def toeplitz_then_solve(x):
    system = scipy.linalg.toeplitz(np.asarray(x).tolist()) + 4.0 * np.eye(4)
    return xp.sum(xp.linalg.solve(xp.asarray(system), x) ** 2)


def regression_slope(x):
    t = np.arange(4.0)[:, None]
    model = LinearRegression().fit(t, np.array(x.tolist()))
    return xp.sum((x - model.coef_[0] * xp.asarray(t[:, 0])) ** 2) + model.intercept_ * x[0]


def decimal_ledger(x):
    balance = decimal.Decimal(100)
    for v in x[:3].tolist():
        balance -= decimal.Decimal(v) * 10
    return x[3] * float(balance) / 10.0


def fraction_continued(x):
    *head, last = (fractions.Fraction(float(v)) for v in x)
    value = functools.reduce(lambda acc, f: f + 1 / acc, reversed(head), last)
    return value.numerator / value.denominator * xp.sum(x)


def struct_frame(x):
    frame = struct.pack("<4d", *x)
    first, *_, last = struct.unpack("<4d", frame)
    return xp.sum(x * first) - last


def pickled_host_copy(x):
    checkpoint = io.BytesIO()
    pickle.dump({"w": np.array(x), "epoch": 3}, checkpoint)
    checkpoint.seek(0)
    match pickle.load(checkpoint):
        case {"w": w, "epoch": int(epoch)} if epoch > 2:
            return xp.sum((x + w) ** 2)
    raise KeyError("w")


def sqlite_aggregate(x):
    with contextlib.closing(sqlite3.connect(":memory:")) as db:
        db.execute("create table readings (id integer, v real)")
        db.executemany("insert into readings values (?, ?)", enumerate(x.tolist()))
        (mean,), = db.execute("select avg(v) from readings where id > 0").fetchall()
    return xp.sum((x - mean) ** 2)


def statistics_module_zscore(x):
    sample = [float(v) for v in x]
    mu, sigma = statistics.fmean(sample), statistics.stdev(sample)
    return xp.sum(xp.asarray([1.0, 2.0, 3.0, 4.0]) * (x - mu) / sigma)


def array_module_accumulate(x):
    running = array.array("d", itertools.accumulate(map(float, x), operator.mul))
    return xp.vecdot(x, xp.asarray(np.frombuffer(running)))


def complex_polar(x):
    r, phi = cmath.polar(complex(float(x[0]), float(x[1])))
    return r * x[2] + phi * x[3]


def json_config_override(x):
    config = {"gain": 1.0, "bias": 0.0, "layers": {"scale": 2.0}}
    patch = json.dumps({"gain": float(xp.mean(x)), "layers": {"scale": x[3].item()}})
    merged = config | json.loads(patch)
    ns = types.SimpleNamespace(**merged["layers"], bias=merged["bias"], gain=merged["gain"])
    return xp.sum(ns.gain * xp.log(x) + ns.bias) * ns.scale


def thread_pool_of_scalars(x):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        roots = list(pool.map(math.sqrt, x.tolist()))
    return xp.sum(x * xp.asarray(roots))


def numpy_out_buffer(x):
    work = np.empty(4)
    source = np.asarray(x)
    np.multiply(source, source, out=work)
    np.cumsum(work, out=work)
    work /= work[-1]
    return xp.sum(x * work)


def dataclass_post_init_cache(x):
    @dataclasses.dataclass
    class Window:
        values: object
        width: float = dataclasses.field(init=False)

        def __post_init__(self):
            lo, *_, hi = sorted(float(v) for v in self.values)
            self.width = hi - lo

        def weights(self):
            return xp.exp(-self.values / self.width)

    return xp.sum(copy.copy(Window(x)).weights())


def closure_with_nonlocal_scale(x):
    scale = 1.0

    def calibrate(values):
        nonlocal scale
        try:
            scale = 1.0 / max(values.tolist())
        except ZeroDivisionError:
            scale = 1.0
        else:
            scale *= 2.0
        finally:
            values = values * 1.0
        return values

    return xp.sum((calibrate(x) * scale) ** 2)


def deque_lag_filter(x):
    lags = collections.deque([0.0, 0.0], maxlen=2)
    out = []
    for v in x:
        out.append(v + 0.5 * lags[0] + 0.25 * lags[1])
        lags.appendleft(round(float(out[-1]), 12))
    return xp.sum(xp.stack(out) ** 2)


def registry_of_extractors(x):
    registry = _h.Registry()

    @registry.register("softplus", host=True)
    def _softplus(v, how):
        return math.log1p(math.exp(_h._EXTRACTORS[how](v)))

    @registry.register("identity")
    def _identity(v, how):
        return v

    terms = [
        registry.build(name, v, how)
        for name, v, how in zip(
            ("softplus", "identity", "softplus", "identity"), x, ("text", "item", "listed", "float"), strict=True
        )
    ]
    a, b, c, d = terms
    return a * b + c * d
