"""Cases of the random test ``dispatched-calls``: NumPy, SciPy and scikit-learn calls on drawn data."""

from __future__ import annotations

import functools

import numpy as np

from helpers import numpy_calls, numpy_walk

from . import dispatched_functions
from .dispatched_points import drawn, point


class Case:
    """A function to test, with arguments for one call.

    on : the function; its argument is a list of arrays.  operands : these arrays.
    differentiable : the positions of the operands with respect to which the function is
        differentiated.
    ulps : by how many units in the last place values may differ from NumPy's.
    loud : text that says why a derivative may be NaN where differences show a number, or None.
    """

    def __init__(self, name, on, operands, differentiable, shown="", ulps=4.0):
        self.name, self.on, self.operands = name, on, operands
        self.differentiable, self.shown, self.ulps = differentiable, shown, ulps
        self.loud = LOUD.get(name)
        self.least = 1.0 if name in ULPS else 0.0  # the least magnitude to which ``ulps`` refers
        self.dtypes = ("int64",) if name in IN_DOUBLE else ("float32", "int64")

    def __repr__(self):
        return f"{self.name}: {[v.tolist() for v in self.operands]} {self.shown}"


# Functions whose derivative may be NaN where differences show a number, with the reason.
LOUD = dict.fromkeys(("stats.tsem", "stats.tstd"), "a root of 0, of one element within limits") | {
    "np.nanstd": "a root of 0, of one number in a line",
    "special.binom": "0 times a pole",
    "special.poch": "0 times a pole",
    "stats.alexandergovern": "a root of squares of 0, squared",
}
# For NumPy's float32, scikit-learn runs compiled code in float64 here, which Arrays do not use.
IN_DOUBLE = {
    "sklearn.metrics.pairwise.laplacian_kernel", "sklearn.metrics.pairwise.manhattan_distances",
}  # fmt: skip
# Allowed differences in units in the last place, where another algorithm or order of summation runs.
ULPS = {
    "stats.circstd": 1e9,  # a square root of a rounding error
    "stats.circvar": 8.0,  # 1 minus a number near 1
    "stats.epps_singleton_2samp": 1e5,
    "stats.kurtosistest": 64.0,
}


# --- SciPy's ------------------------------------------------------------------------------------------
def of_scipy(call, rng, how):
    given = drawn(rng, call, how)
    options = {x: values[rng.integers(len(values))] for x, values in call.options.items()}
    if options.get("axis") == 1 and any(v.ndim < 2 for v in given.values()):
        options["axis"] = 0
    names = list(given)

    def on(arrays):
        if call.by_position:
            return call.function(*arrays, **options)
        return call.function(**dict(zip(names, arrays, strict=True)), **options)

    kinds = [call.operands[x if x in call.operands else "*"] for x in names]
    differentiable = [i for i, kind in enumerate(kinds) if not (kind.constant or kind.whole)]
    return Case(
        call.name, on, list(given.values()), differentiable, f"{how} {options}",
        ULPS.get(call.name, 8.0),
    )  # fmt: skip


# --- NumPy's ------------------------------------------------------------------------------------------
# Functions that are not drawn: they write to arguments, have undefined values, results whose number
# depends on the values, an arbitrary phase (eigenvectors), or a division by the polynomial 0.
NOT_OF_NUMPY = {
    *numpy_calls.WRITERS, "np.empty_like", "np.intersect1d", "np.trim_zeros", "np.linalg.eig",
    "np.linalg.eigh", "np.linalg.svd", "np.polydiv",
}  # fmt: skip


def of_numpy(name, rng, how):
    calls = [c for c in numpy_calls.CALLS[name] if not c.symmetric]
    real = [c for c in calls if any(v.dtype == np.float64 for v in numpy_walk.arrays_of(c))]
    call = (real or calls)[rng.integers(len(real or calls))]
    operands = [moved(rng, v, how) for v in numpy_walk.arrays_of(call)]
    if how == "same operands":
        for i, v in enumerate(operands[1:]):
            if v.shape == operands[i].shape and v.dtype == operands[i].dtype:
                operands[i + 1] = operands[i].copy(order="K")
    differentiable = [i for i, v in enumerate(operands) if v.dtype == np.float64]
    if any(str(x) in ("float32", "int64") for x in call.keywords.values()):
        differentiable = []
    return Case(
        name, functools.partial(numpy_walk.run, name, call), operands, differentiable,
        f"{how} {call}", max(call.close, numpy_calls.CLOSE.get(name, 4.0)),
    )  # fmt: skip


def moved(rng, v, how):
    """Return drawn values of the kind ``how`` (in POINTS) in the layout of v; v if it is not float64."""
    if v.dtype != np.float64 or how in ("one element", "numbers") or not np.isfinite(v).all():
        return v
    low, high = (float(v.min()), float(v.max())) if v.size else (0.0, 1.0)
    new = np.empty_like(v)  # with the layout of the operand
    new[...] = point(rng, v.shape, min(low, 0.2), high, how)
    in_order = v.ndim == 1 and v.size > 1 and (np.diff(v) > 0).all()
    return np.sort(new) if in_order else new


# --- scikit-learn's -----------------------------------------------------------------------------------
def of_sklearn(name, rng, how):
    """Return the Case of a function of ``sklearn.metrics`` or a transformer, on one or two matrices."""
    import sklearn

    function, low, two = SKLEARN[name]
    n, m = (2, 1) if how == "one element" else (int(rng.integers(3, 6)), int(rng.integers(1, 4)))
    operands = [point(rng, (n, m), low, 2.0, how)]
    if name in ALWAYS_TWO or (two and rng.integers(2)):
        operands.append(point(rng, (n, m), low, 2.0, how))
        if how == "same operands":
            operands[1] = operands[0].copy()

    def on(arrays):
        with sklearn.config_context(array_api_dispatch=True):
            return function(*arrays)

    return Case(name, on, operands, [*range(len(operands))], how, 256.0)


def scaled(name, **options):
    def function(x):
        from sklearn import preprocessing

        return getattr(preprocessing, name)(**options).fit_transform(x)

    return function


def of_pairs(name, **options):
    def function(x, y=None):
        from sklearn.metrics import pairwise

        return getattr(pairwise, name)(x, y, **options)

    return function


def measured(name, **options):
    def function(x, y):
        from sklearn import metrics

        return getattr(metrics, name)(x, y, multioutput="raw_values", **options)

    return function


SKLEARN = {  # function, least value of the data, and True if it accepts a second matrix
    **{
        f"sklearn.metrics.pairwise.{name}": (of_pairs(name, **options), low, True)
        for name, options, low in (
            ("additive_chi2_kernel", {}, 0.2), ("chi2_kernel", {"gamma": 0.4}, 0.2),
            ("cosine_distances", {}, -2.0), ("cosine_similarity", {}, -2.0),
            ("euclidean_distances", {}, -2.0), ("laplacian_kernel", {"gamma": 0.4}, -2.0),
            ("linear_kernel", {}, -2.0), ("manhattan_distances", {}, -2.0),
            ("polynomial_kernel", {"degree": 2, "gamma": 0.4}, -2.0),
            ("rbf_kernel", {"gamma": 0.4}, -2.0), ("sigmoid_kernel", {"gamma": 0.4}, -2.0),
        )
    },
    "sklearn.metrics.pairwise.euclidean_distances squared": (
        of_pairs("euclidean_distances", squared=True), -2.0, True,
    ),
    **{
        f"sklearn.preprocessing.{name}": (scaled(name, **options), -2.0, False)
        for name, options in (
            ("StandardScaler", {}), ("MinMaxScaler", {}), ("MaxAbsScaler", {}),
            ("Normalizer", {"norm": "l2"}), ("PolynomialFeatures", {}),
        )
    },
}  # fmt: skip
SKLEARN |= {
    f"sklearn.metrics.{name}": (measured(name), low, True)
    for name, low in (
        ("mean_squared_error", -2.0), ("root_mean_squared_error", -2.0), ("r2_score", -2.0),
        ("mean_absolute_percentage_error", 0.2), ("explained_variance_score", -2.0),
        ("mean_squared_log_error", 0.2),
    )
}  # fmt: skip
ALWAYS_TWO = {
    name for name in SKLEARN if name.startswith("sklearn.metrics.") and "pair" not in name
}


def cases():
    """Return a dict from a name to a function ``(rng, how)`` that draws a Case; how : in POINTS."""
    found = {
        name: functools.partial(of_scipy, call)
        for name, call in dispatched_functions.calls().items()
    }
    for name, calls in numpy_calls.CALLS.items():
        usual = name not in NOT_OF_NUMPY and not numpy_walk.on_files(name)
        if usual and not all(c.symmetric for c in calls):
            found[name] = functools.partial(of_numpy, name)
    return found | {name: functools.partial(of_sklearn, name) for name in SKLEARN}


CASES = cases()
NAMES = sorted(CASES)
