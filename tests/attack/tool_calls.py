# ruff: noqa: E501 -- a table
"""Good calls of what stands around the namespace: tapes' other methods, tools, optimizers, interop."""

from __future__ import annotations

import functools
import os
import tempfile
from types import SimpleNamespace

import numpy as np

import arraytape as xp
from arraytape import checkpoint, diagnose, distributed, interop, nn, optimizers, testing
from arraytape._record.op import REGISTRY
from arraytape.module import Module


class Line(Module):
    """A straight line."""

    def __init__(self):
        super().__init__("line")
        self.slope, self.offset = xp.Variable(2.0, name="slope"), xp.Variable(0.5, name="offset")

    def __call__(self, x):
        return self.slope * x + self.offset


def square(x):
    return xp.sum(x * x)


def square_of_parts(p):
    return xp.sum(p["a"] * p["a"]) + p["b"] * p["b"]


def taped(f):
    """``f`` of a tape, its target and its source."""

    @functools.wraps(f)
    def run(*args, **options):
        with xp.GradientTape(persistent=True) as tape:
            x = xp.asarray([[1.0, 2.0], [3.0, 4.0]])
            tape.watch(x)
            y = x * x
        return f(SimpleNamespace(tape=tape, x=x, y=y), *args, **options)

    return run


def enter_arrays(call):
    """Methods and attributes of Arrays, Variables and Modules beyond those of good_calls.METHODS."""
    call("v.value", lambda e: (lambda x, f: f(xp.Variable(x).value()), [[1.0, 2.0], xp.sum], {}))
    call(
        "v.assign of a part",
        lambda e: (
            lambda k, x: xp.Variable([1.0, 2.0])[k].__setitem__(0, x),
            [slice(None), 1.0],
            {},
        ),
    )
    call("module.named_variables", lambda e: (
        lambda part: [*with_part(part).named_variables()], [[xp.Variable(1.0)]], {}))  # fmt: skip
    call("xp.register_nesting", lambda e: (registered, [
        lambda x: ([x.inside], type(x)), put_in], {}))  # fmt: skip
    call("xp.UnconnectedGradients", lambda e: (xp.UnconnectedGradients, ["none"], {}))


def with_part(part):
    """A Module with something as its attribute, also shown."""
    module = Line()
    module.part = part
    repr(module)
    return module


def put_in(cls, parts):
    """An instance of a class around its one part."""
    box = cls()
    (box.inside,) = parts
    return box


def registered(take_apart, put_together):
    """What becomes of an object of a class that is registered so."""
    from arraytape._util import container_kinds

    cls = type("Box", (), {"inside": 1.0})
    before = {
        name: dict(value) for name, value in vars(container_kinds).items() if type(value) is dict
    }
    try:
        xp.register_nesting(cls, take_apart, put_together)
        box = cls()
        box.inside = xp.asarray(1.0)
        with xp.GradientTape() as tape:
            tape.watch(box)
            y = box.inside * 2.0
        return tape.gradient(y, box)
    finally:
        for name, value in before.items():
            table = getattr(container_kinds, name)
            table.clear()
            table.update(value)


def enter_tapes(call):
    """The other methods of tapes and accumulators, and ``xp.function``."""
    call("tape.batch_jacobian", lambda e: (
        taped(lambda t, y, x, **options: t.tape.batch_jacobian(t.y if y is None else y, t.x if x is None else x, **options)),
        [None, None], {"unconnected_gradients": "none"}))  # fmt: skip
    call("tape.memory", lambda e: (taped(lambda t: str(t.tape.memory())), [], {}))
    call("tape.summary", lambda e: (taped(lambda t, by: str(t.tape.summary(by))), ["op"], {}))
    call("tape.gradient, nan", lambda e: (
        taped(lambda t, **options: t.tape.gradient(t.y, t.x, **options)), [], {"nan": "guard"}))  # fmt: skip
    call("accumulator.jvp", lambda e: (pushed, [None], {"unconnected_gradients": "none"}))
    call(
        "xp.replay.function",
        lambda e: (xp.replay.function, [square], {"limit": 3, "strict": False}),
    )
    call("xp.replay.callback", lambda e: (xp.replay.callback, [square], {}))
    call("xp.replay.callback called", lambda e: (told, [e.v, 2.0], {}))
    call("xp.function called", lambda e: (replayed, [square, e.v], {}))
    call("xp.function called with", lambda e: (
        lambda *args, **keywords: replayed(lambda *a, **k: xp.sum(a[0]) + k["w"][0], *args, **keywords),
        [e.v, 2, "text"], {"w": [e.v, 1.0]}))  # fmt: skip


def pushed(y, **options):
    """A tangent, of a target or of what a good call has."""
    x = xp.asarray([1.0, 2.0])
    with xp.ForwardAccumulator(x, xp.ones(2)) as accumulator:
        good = x * 2.0
    return accumulator.jvp(good if y is None else y, **options)


def replayed(f, *args, limit=3, strict=False, **keywords):
    """The last of four results: the last two come from a program, if there is one."""
    function = xp.function(f, limit=limit, strict=strict)
    return [function(*args, **keywords) for _ in range(4)][-1]


def told(*given):
    """A callback that is given values by replays, too."""
    tell = xp.replay.callback(lambda *values: None)
    return replayed(lambda x: tell(x, *given), xp.asarray([1.0, 2.0]))


def enter_learning(call):
    """Layers, optimizers and the bridges to SciPy."""
    call("nn.Module", lambda e: (nn.Module, ["name"], {}))
    call("nn.Dense.build", lambda e: (lambda x: nn.Dense(2, seed=0).build(x), [e.x], {}))
    call("optimizers.Optimizer", lambda e: (optimizers.Optimizer, [0.1, "name"], {}))
    call("optimizers.Optimizer.learning_rate =", lambda e: (
        lambda rate: setattr(optimizers.SGD(0.1), "learning_rate", rate), [0.2], {}))  # fmt: skip
    call("optimizers.Optimizer.build", lambda e: (
        optimizers.Adam(0.1).build, [{"a": xp.Variable([1.0, 2.0])}], {}))  # fmt: skip
    call("optimizers.Optimizer.apply_gradients", lambda e: (
        lambda pair, v: optimizers.Adam(0.1).apply_gradients([pair, (xp.ones(2), v)]),
        [(xp.asarray(1.0), xp.Variable(1.0)), xp.Variable([1.0, 2.0])], {}))  # fmt: skip
    call(
        "optimizers.Optimizer.update",
        lambda e: (stepped, [lambda self, g, v, slots, rate, step: v.assign_sub(g * rate)], {}),
    )
    call("optimizers.Optimizer.slot", lambda e: (
        lambda name, like: optimizers.Adam(0.1).slot(name, like), ["m", e.x], {}))  # fmt: skip
    for method in (None, "Newton-CG", "Nelder-Mead", "trust-exact"):
        call(f"optimizers.minimize_scipy {method}", lambda e, method=method: (
            optimizers.minimize_scipy, [square_of_parts, {"a": e.v, "b": 0.5}], {
                "method": method, "callback": lambda x: None, "tol": 1e-3, "options": {"maxiter": 3}}))  # fmt: skip
    call("optimizers.minimize_scipy of", lambda e: (
        lambda value: optimizers.minimize_scipy(lambda x: xp.sum(x * value), e.v, options={"maxiter": 2}), [1.0], {}))  # fmt: skip
    call("optimizers.minimize_scipy within", lambda e: (
        optimizers.minimize_scipy, [square_of_parts, {"a": e.v, "b": 0.5}], {
            "bounds": {"a": (0.0, 1.0), "b": (None, 2.0)}, "options": {"maxiter": 2}}))  # fmt: skip
    call("optimizers.LBFGS", lambda e: (optimizers.LBFGS, [3, 1e-3, 5], {}))
    call("optimizers.LBFGS.minimize", lambda e: (minimized, [None, None], {}))
    call("optimizers.minimize_scipy giving", lambda e: (
        lambda value: optimizers.minimize_scipy(lambda x: xp.sum(x * x) if value is None else value, e.v), [None], {}))  # fmt: skip
    call("optimizers.LBFGS.minimize of", lambda e: (
        lambda value: minimized(None if value is None else lambda: value, None), [None], {}))  # fmt: skip


def stepped(update):
    """What one step of an optimizer with this update gives."""
    optimizer = type("Own", (optimizers.Optimizer,), {"update": update})(0.1)
    optimizer.apply_gradients([(xp.ones(2), xp.Variable([1.0, 2.0]))])


def minimized(loss, variables):
    """A few steps."""
    v = xp.Variable([1.0, 2.0])
    return optimizers.LBFGS(3).minimize(
        (lambda: xp.sum(v * v)) if loss is None else loss, [v] if variables is None else variables
    )


def enter_diagnose(call):
    """The tools that look at tapes."""
    call("diagnose.lines", lambda e: (noted, [square, e.v], {}))
    for name in ("explain", "nans"):
        call(f"diagnose.{name} with lines", lambda e, name=name: (
            taped(lambda t, seen, name=name: getattr(diagnose, name)(t.tape, t.y, t.x, seen)), [None], {}))  # fmt: skip
    call("diagnose.on_gradient", lambda e: (hooked, [None, lambda g: g * 2.0], {}))
    call("diagnose.saved_data", lambda e: (packed, [lambda x: x, lambda x: x], {}))
    call(
        "diagnose.saved_data of",
        lambda e: (
            lambda held, given: packed(lambda x: held, lambda x: given),
            [1.0, xp.ones(3)],
            {},
        ),
    )
    call("diagnose.save_on_disk", lambda e: (
        lambda *args: packed(*diagnose.save_on_disk(*args)), [tempfile.gettempdir(), 0], {}))  # fmt: skip


def noted(f, x):
    """What the lines say of a gradient."""
    with diagnose.lines() as seen, xp.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return diagnose.explain(tape, y, x, seen)


def hooked(y, hook):
    """A gradient that a hook sees, and one of the same tape without it."""
    x = xp.asarray([1.0, 2.0, 3.0])
    with xp.GradientTape(persistent=True) as tape:
        tape.watch(x)
        good = x * x
        remove = diagnose.on_gradient(good if y is None else y, hook)
        z = good * good
    try:
        tape.gradient(z, x)
    finally:
        remove()
        assert np.array_equal(np.asarray(tape.gradient(z, x)), [4.0, 32.0, 108.0])


def packed(pack, unpack):
    """A gradient of a tape whose data is in the hands of these functions."""
    x = xp.asarray([1.0, 2.0, 3.0])
    with diagnose.saved_data(pack, unpack), xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.sum(xp.exp(x) * x)
    return tape.gradient(y, x)


def enter_testing(call):
    """``arraytape.testing``: what it checks is a scalar function of two arrays."""
    a, b = np.asarray([0.5, 1.5]), np.asarray([0.7, 0.2])

    def product(x, y):
        return xp.sum(xp.exp(x) * y)

    def both(x, y):
        return xp.exp(x), x * y

    # Not their ``seeds``: 2**63 of them take as long as one asks for.
    for name, options in {
        "check_gradients": {"order": 1, "modes": ("rev",), "rtol": 1e-5, "h": 1e-3},
        "check_jvp": {"rtol": 1e-5, "h": 1e-3},
        "check_vjp": {"rtol": 1e-5, "h": 1e-3},
    }.items():
        f = product if name == "check_gradients" else both
        call(f"testing.{name}", lambda e, name=name, f=f, options=options: (
            getattr(testing, name), [f, [a, b]], dict(options)))  # fmt: skip
    call("testing.gradients", lambda e: (testing.gradients, [product, [a, b]], {}))
    for name in ("curvature", "forward_curvature"):
        call(
            f"testing.{name}",
            lambda e, name=name: (getattr(testing, name), [product, [a, b], [b, a]], {}),
        )
    call("testing.slopes", lambda e: (testing.slopes, [both, [a, b], [b, a]], {}))
    call("testing.differences", lambda e: (
        testing.differences, [lambda x, y: np.sum(x * y), [a, b], [b, a], 1e-3], {}))  # fmt: skip
    call("testing.directions", lambda e: (testing.directions, [[a, b], 0], {}))
    call("testing.inner", lambda e: (testing.inner, [[a, b], [b, a]], {}))
    call("testing.total", lambda e: (testing.total, [[e.x, e.z]], {}))
    call("testing.weights", lambda e: (testing.weights, [(2, 3)], {}))
    call("testing.materialise", lambda e: (
        testing.materialise, [REGISTRY["exp"], REGISTRY["exp"].samples[0], np.float64, 0], {}))  # fmt: skip
    call("testing.as_function", lambda e: (
        testing.as_function, [REGISTRY["exp"], REGISTRY["exp"].samples[0], [a]], {}))  # fmt: skip
    call("testing.benchmarks.TapeBenchmarks", lambda e: (measured, [[a, b], product, None], {}))
    call("testing.storages.on", lambda e: (on, [testing.storages.hostile(), None], {}))
    call("testing.xp_backends.on", lambda e: (on_backend, ["frozen"], {}))


def measured(arrays, loss, watched):
    """The records of a function's benchmark."""

    class Measured(testing.benchmarks.TapeBenchmarks):
        def arrays(self):
            return arrays

        def loss(self, xp, *given):
            return loss(*given)

    Measured.watched = watched
    made = Measured()
    made.setup()
    return made.track_records()


def on(storage, device):
    """The dtype of what is made where a storage is the default."""
    with testing.storages.on(storage, device):
        return str(xp.ones(3).dtype)


def on_backend(name):
    """The dtype of what is made on a backend."""
    with testing.xp_backends.on(name) as here:
        return str(here.ones(3).dtype)


def enter_implicit(call):
    """Solvers, with what users give them."""
    I = xp.implicit  # noqa: E741
    keywords = {
        "matrix_free": False,
        "tol": 0.1,
        "rcond": 1e-9,
        "rtol": 1e-12,
        "maxiter": 100,
        "polish": True,
    }
    call(
        "implicit.root",
        lambda e: (I.root, [lambda x, a: x**3 - a, 1.0, 8.0], {"symmetric": True, **keywords}),
    )
    call(
        "implicit.minimum",
        lambda e: (I.minimum, [lambda x, a: xp.exp(x) - a * x, 0.0, 4.0], keywords),
    )
    call(
        "implicit.fixed_point",
        lambda e: (I.fixed_point, [lambda x, a: (x + a / x) / 2.0, 1.0, 4.0], keywords),
    )
    call("implicit.linear_solve", lambda e: (
        I.linear_solve, [lambda x, a: a * x, np.asarray([1.0, 2.0]), 4.0], {"rtol": 1e-12, "maxiter": 10}))  # fmt: skip
    call("implicit.odeint", lambda e: (
        I.odeint, [lambda t, y, rate: -xp.tanh(rate) * y, (0.0, 1.0), [1.0, 2.0], "RK45", [0.5, 1.0], False],
        {"args": (2.0,), "rtol": 1e-3, "atol": 1e-6, "first_step": 0.1, "max_step": 0.5, "adjoint": "discrete"}))  # fmt: skip
    call("implicit.NotASolution", lambda e: (I.NotASolution, ["why"], {}))
    call(
        "implicit.as_given",
        lambda e: (lambda x0: I.root(lambda x: x**2 - 1.0, x0, solver=I.as_given), [1.0], {}),
    )
    of = {
        "custom_root": lambda x: 2.0 * x,
        "custom_minimum": lambda x: x**2,
        "custom_fixed_point": lambda x: x / 2.0,
    }
    for name, given in of.items():
        function = getattr(I, name)
        call(f"implicit.{name}", lambda e, function=function, given=given: (
            lambda f, solver, x0: function(f)(solver)(x0), [given, I.as_given, 0.0], {}))  # fmt: skip


def enter_solvers(call):
    """SciPy's solvers with their own signatures."""
    S = xp.implicit.scipy
    slope = lambda x, a: a * xp.eye(2)  # noqa: E731
    options = {"tol": 1e-9, "callback": None, "options": {}, "polish": True}
    call("implicit.scipy.root", lambda e: (
        S.root, [lambda x, a: a * x - 1.0, [1.0, 2.0], (3.0,)], {"method": "lm", "jac": slope, **options}))  # fmt: skip
    square = lambda x, a: xp.sum((x - a) ** 2)  # noqa: E731
    call("implicit.scipy.minimize", lambda e: (
        S.minimize, [square, [1.0, 2.0], (3.0,)],
        {"method": "L-BFGS-B", "jac": None, "bounds": [(0.0, 9.0), (None, 2.0)], "constraints": (), **options}))  # fmt: skip
    call("implicit.scipy.minimize with derivatives", lambda e: (
        S.minimize, [square, [1.0, 2.0], (3.0,)],
        {"method": "trust-exact", "jac": xp.grad(square), "hess": xp.hessian(square), "hessp": None}))  # fmt: skip
    tolerances = {
        "ftol": 1e-8,
        "xtol": 1e-8,
        "gtol": 1e-8,
        "x_scale": 1.0,
        "loss": "cauchy",
        "f_scale": 2.0,
    }
    call("implicit.scipy.least_squares", lambda e: (
        S.least_squares, [lambda x, a: a * x - 1.0, [1.0, 2.0]],
        {"args": (3.0,), "jac": slope, "bounds": (0.0, [5.0, 5.0]), "method": "trf", "max_nfev": 99, "verbose": 0, **tolerances}))  # fmt: skip
    call("implicit.scipy.brentq", lambda e: (
        S.brentq, [lambda x, a: x**2 - a, 0.0, 3.0, (2.0,)],
        {"xtol": 1e-12, "rtol": 1e-12, "maxiter": 99, "full_output": True, "disp": True, "polish": False}))  # fmt: skip
    t = np.linspace(0.0, 1.0, 6)
    fit = {
        "sigma": 1.0 + t,
        "absolute_sigma": True,
        "check_finite": True,
        "bounds": (0.0, 9.0),
        "method": "trf",
        "full_output": True,
        "polish": True,
    }
    call("implicit.scipy.curve_fit", lambda e: (
        S.curve_fit, [lambda t, a, b: a * xp.exp(b * t), t, 2.0 + t, [1.0, 0.5]], fit))  # fmt: skip


def enter_checkpoint(call):
    call("checkpoint.save", lambda e: (in_folder(checkpoint.save), ["here", {"line": Line()}], {}))
    call("checkpoint.load", lambda e: (in_folder(loaded), ["here", {"line": Line()}], {}))


def in_folder(f):
    """A function whose first argument is a file, in a folder of its own if it is the good call's."""

    @functools.wraps(f)
    def run(path, *args):
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)  # a bad path may be a good name
            try:
                return f(path, *args)
            finally:
                os.chdir(before)

    return run


def loaded(path, state):
    """A good file, read."""
    checkpoint.save("here", {"line": Line()})
    return checkpoint.load(path, state)


def enter_distributed(call):
    """Sums over two partitions in this thread."""
    blocks = [np.ones((2, 3)), np.zeros((1, 3))]
    call(
        "distributed.partitions",
        lambda e: (distributed.partitions, [[*blocks], [1.0, 2.0]], {"fan_in": 2, "retries": 1}),
    )
    call(
        "distributed.Partitions.seeded",
        lambda e: (lambda seed: summed("map_sum", seeded_loss, xp.ones(3), seed=seed), [3], {}),
    )
    for name in ("map_sum", "value_and_grad"):
        call(
            f"distributed.{name}", lambda e, name=name: (summed, [name, block_loss, xp.ones(3)], {})
        )
    call("distributed.value_and_grad argnums", lambda e: (
        lambda n: summed("value_and_grad", block_loss, xp.ones(3), argnums=n), [0], {}))  # fmt: skip


def block_loss(w, X):
    return xp.sum((X @ w) ** 2)


def seeded_loss(w, X, seed):
    return xp.sum(X @ w) * float(np.random.default_rng(seed).normal())


def summed(name, f, *params, seed=None, **options):
    """A sum over partitions, or its value and gradient."""
    import dask

    data = distributed.partitions([np.ones((2, 3)), np.zeros((1, 3))])
    if seed is not None:
        data = data.seeded(seed)
    with dask.config.set(scheduler="synchronous"):
        return getattr(distributed, name)(f, data, **options)(*params)


def within(library, path):
    """A function of a library, called in a context of interop."""

    def run(*args, **options):
        import importlib

        home, _, name = path.rpartition(".")
        with getattr(interop, library)():
            return getattr(importlib.import_module(home), name)(*args, **options)

    return run


Y = np.asarray([1.0, 0.4, -0.3, 0.8, 1.7, 0.2, 0.6, -1.1])
PLACES = np.asarray([0.0, 0.4, 1.1, 1.5, 2.2, 2.9, 3.3, 4.0])
OF_SCIPY = {  # path -> arguments, of which arrays become Arrays, and keywords
    "fft.fft": ([Y, 8, 0, "ortho"], {}), "fft.irfftn": ([np.ones((2, 3)), (2, 4), (0, 1), None], {}),
    "fft.dct": ([Y, 2, 8, 0, "ortho"], {}), "fft.fht": ([Y, 0.1, 0.5], {"offset": 0.0, "bias": 0.0}),
    "fft.fft2": ([np.ones((2, 3))], {"s": (2, 4), "axes": (0, 1), "norm": "forward"}),
    "linalg.inv": ([np.eye(3) * 2.0], {"check_finite": True}),
    "linalg.solve": ([np.eye(3) * 2.0, np.ones(3)], {"lower": False, "assume_a": "gen"}),
    "linalg.eigh": ([np.diag([1.0, 2.0, 3.0])], {"lower": True, "eigvals_only": False, "subset_by_index": None}),
    "linalg.qr": ([np.eye(3) + 0.1], {"mode": "full", "pivoting": False}),
    "linalg.svd": ([np.diag([1.0, 2.0, 3.0])], {"full_matrices": False, "compute_uv": True}),
    "linalg.cholesky": ([np.eye(3)], {"lower": True}), "linalg.expm": ([np.eye(2)], {}),
    "linalg.norm": ([np.eye(2)], {"ord": "fro", "axis": None, "keepdims": False}),
    "linalg.toeplitz": ([np.ones(3), np.ones(3)], {}), "linalg.block_diag": ([np.eye(2), np.ones((1, 2))], {}),
    "linalg.eig_banded": ([np.asarray([[0.0, 0.1, 0.2], [1.0, 2.0, 3.0]])], {"lower": False, "select": "a"}),
    "linalg.eigh_tridiagonal": ([np.asarray([1.0, 2.0, 3.0]), np.asarray([0.1, 0.2])], {"select": "a"}),
    "linalg.solve_triangular": ([np.eye(3), np.ones(3)], {"trans": 0, "lower": True, "unit_diagonal": False}),
    "linalg.lstsq": ([np.ones((3, 1)), np.ones(3)], {"cond": None, "lapack_driver": None}),
    "interpolate.CubicSpline": ([PLACES, Y, 0, "not-a-knot"], {}),
    "interpolate.make_interp_spline": ([[*PLACES], Y, 3], {"bc_type": None, "axis": 0}),
    "interpolate.interp1d": ([PLACES, Y, "linear", -1], {}),
    "interpolate.interpn": ([(np.arange(2.0), np.arange(3.0)), np.ones((2, 3)), np.asarray([[0.5, 1.0]])], {"method": "linear"}),
    "interpolate.RegularGridInterpolator": ([(np.arange(2.0), np.arange(3.0)), np.ones((2, 3)), "linear"], {}),
    "ndimage.correlate1d": ([np.ones((3, 4)), np.ones(3), 0], {"mode": "reflect", "cval": 0.0, "origin": 0}),
    "ndimage.gaussian_filter": ([np.ones((3, 4)), 1.0, 0], {"mode": "wrap", "truncate": 2.0}),
    "ndimage.median_filter": ([np.ones((3, 4)), 3], {"mode": "nearest", "origin": 0}),
    "ndimage.shift": ([np.ones((3, 4)), 0.5], {"order": 1, "mode": "constant", "cval": 0.0, "prefilter": True}),
    "ndimage.zoom": ([np.ones((3, 4)), 2.0], {"order": 1}),
    "ndimage.map_coordinates": ([np.ones((3, 4)), np.ones((2, 5))], {"order": 1, "mode": "nearest"}),
    "ndimage.sum_labels": ([np.ones(4), np.asarray([0, 1, 1, 2])], {"index": [1, 2]}),
    "signal.lfilter": ([np.asarray([1.0, 0.3]), np.asarray([1.0, -0.2]), Y], {"axis": -1, "zi": None}),
    "signal.sosfilt": ([np.asarray([[1.0, 0.2, 0.1, 1.0, -0.1, 0.2]]), Y], {"axis": -1, "zi": None}),
    "signal.convolve": ([Y, np.ones(3)], {"mode": "same", "method": "direct"}),
    "signal.correlate2d": ([np.ones((3, 4)), np.ones((2, 2))], {"mode": "full", "boundary": "wrap", "fillvalue": 0.0}),
    "signal.upfirdn": ([np.ones(3), Y, 2, 1], {"axis": -1, "mode": "constant", "cval": 0}),
    "signal.savgol_filter": ([Y, 5, 2], {"deriv": 0, "axis": -1, "mode": "interp"}),
    "signal.detrend": ([Y], {"axis": -1, "type": "linear"}), "signal.resample": ([Y, 5], {"axis": 0, "window": None}),
    "spatial.distance.cdist": ([np.ones((2, 3)), np.eye(3), "euclidean"], {}),
    "spatial.distance.pdist": ([np.eye(3), "minkowski"], {"p": 3.0}),
    "spatial.distance.cosine": ([np.ones(3), np.asarray([1.0, 2.0, 3.0]), np.ones(3)], {}),
    "spatial.distance.squareform": ([np.ones(3)], {"force": "no", "checks": True}),
    "special.logsumexp": ([Y], {"axis": 0, "b": 1.0, "keepdims": False}),
    "special.xlogy": ([Y, np.abs(Y)], {}),
}  # fmt: skip
OF_SKLEARN = {
    "metrics.mean_squared_error": ([Y, Y[::-1].copy()], {"sample_weight": None, "multioutput": "uniform_average"}),
    "metrics.log_loss": ([np.asarray([0, 1, 1]), np.asarray([0.2, 0.6, 0.9])], {"normalize": True, "sample_weight": None, "labels": None}),
}  # fmt: skip


def enter_interop(call):
    """Functions of each table; what a context itself takes is nothing."""
    for library, table in (("scipy", OF_SCIPY), ("sklearn", OF_SKLEARN)):
        for path, (args, options) in table.items():
            call(f"interop.{library} {path}", lambda e, library=library, path=path, args=args, options=options: (
                within(library, f"{library}.{path}"),
                [xp.asarray(x) if type(x) is np.ndarray else x for x in args], dict(options)))  # fmt: skip
    for name in ("pdf", "logpdf", "cdf", "ppf", "sf"):
        call(f"interop.scipy stats.norm.{name}", lambda e, name=name: (
            of_normal, [name, xp.asarray([0.2, 0.6]), 0.0, 1.0], {}))  # fmt: skip
    call("interop.scipy stats.multivariate_normal", lambda e: (
        of_several, [xp.asarray([0.2, 0.6]), [0.0, 0.0], xp.asarray([[1.0, 0.2], [0.2, 2.0]])], {}))  # fmt: skip


def of_normal(name, *args):
    """A method of a distribution."""
    from scipy import stats

    with interop.scipy():
        return getattr(stats.norm, name)(*args)


def of_several(*args):
    """The density of several variables."""
    from scipy import stats

    with interop.scipy():
        return stats.multivariate_normal.logpdf(*args)


ENTER = (enter_arrays, enter_tapes, enter_learning, enter_diagnose, enter_testing, enter_implicit, enter_solvers, enter_checkpoint, enter_distributed, enter_interop)  # fmt: skip
