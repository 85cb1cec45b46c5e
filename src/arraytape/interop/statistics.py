"""Let the tests, correlations and regressions of scipy.stats work on Arrays.

Most are SciPy's own NumPy code, run on Arrays.  Compiled functions of ranks are called with NumPy data,
because ranks are piecewise constant, so that the derivative is 0.  Other compiled functions have
formulas here, or refuse Arrays.  The lambda of a power transformation maximises a likelihood; its
derivative is that of the maximum (``implicit.minimum``).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import arraytape as xp

from .. import implicit
from .._array.array import Array
from ._context import has_array
from ._densities import HALF_LOG_OF_TWO_PI
from ._facades import asarray, float_asarray, no_rule
from ._ops import library_op
from ._plain import ArrayInput, DTypeInput, plain_data
from ._power import box_cox, yeo_johnson, yeo_johnson_transform
from ._recorded import refused_functions
from ._slopes import with_slope
from ._statements import hooks, keeps_arrays, original, replaces

COMMON, MORE = "scipy.stats._stats_py", "scipy.stats._morestats"

for _module in (COMMON, MORE, *[f"scipy.stats.{name}" for name in (
    "_axis_nan_policy", "_correlation", "_entropy", "_resampling", "_stats_mstats_common", "_variation",
)]):  # fmt: skip
    keeps_arrays(_module)


# --- compiled functions ---------------------------------------------------------------------------
def accept_arrays_for_ranks(name: str) -> None:
    """Make a compiled function of scipy.stats accept Arrays, by passing their values as NumPy data.

    Its result depends on ranks, so it has the derivative 0.
    """

    def call_on_values(*args: Any) -> Any:
        from scipy.stats import _stats

        return getattr(_stats, name)(*[plain_data(x) for x in args])

    replaces(COMMON, name, call_on_values)


for _name in ("_kendall_dis", "_toint64", "_weightedrankedtau"):
    accept_arrays_for_ranks(_name)
# From SciPy 1.18 on, shapiro and siegelslopes are array-API code, which runs on Arrays unchanged.
if not hasattr(sys.modules[MORE], "_swilk"):
    refused_functions("scipy.stats.shapiro", "scipy.stats.siegelslopes")


@hooks(COMMON, "kendalltau")
def kendalltau(x: ArrayInput, y: ArrayInput, **options: Any) -> Any:
    """Run SciPy's ``kendalltau`` on data that no tape follows, since its derivative is 0.

    It is a function of ranks.

    SciPy 1.18 converts Arrays to NumPy data, and a tape would report that as an untracked conversion.
    """
    values = [xp.stop_gradient(a) if isinstance(a, Array) else a for a in (x, y)]
    return original(COMMON, "kendalltau")(*values, **options)


@hooks(COMMON, "_cdf_distance")
def cdf_distance(p: float, *samples: Any) -> Any:
    """Return SciPy's distance of two samples, such as ``wasserstein_distance``, with derivatives.

    p : the exponent of the distance.  samples : two samples and, perhaps, their weights.

    Equal elements share the derivative evenly; by SciPy's own code one of them would get all of it.
    """
    given: list[Any] = [
        x if x is None else asarray(x, np.float64) for x in (*samples, None, None)[:4]
    ]
    value = original(COMMON, "_cdf_distance")(p, *given)
    return with_slope(value, distance_of_steps(p, *given))


def distance_of_steps(
    p: float, u: Array, v: Array, u_weights: Array | None, v_weights: Array | None
) -> Array:
    """Compute the distance of two samples: the integral of abs(U - V) ** p, to the power of 1 / p.

    u_weights, v_weights : the weights of their elements, or None.  U and V are the empirical
    distribution functions of the samples u and v.  Equal elements get equal shares of the derivative, as
    in a maximum.
    """
    values = xp.concat([share_among_ties(u, u_weights), share_among_ties(v, v_weights)])
    order = np.argsort(plain_data(values), kind="stable")
    widths = xp.diff(values[order])
    from_u = np.arange(len(order)) < u.shape[0]
    cdfs = []
    for weights, own in ((u_weights, from_u), (v_weights, ~from_u)):
        shares = xp.ones(int(np.sum(own))) if weights is None else weights
        steps = xp.zeros(len(order))
        steps[np.flatnonzero(own)] = shares / xp.sum(shares)
        cdfs.append(xp.cumulative_sum(steps[order])[:-1])
    gaps = xp.abs(cdfs[0] - cdfs[1])
    whole = xp.sum((gaps if p == 1 else gaps**p) * widths)
    some = whole > 0
    return xp.where(some, xp.where(some, whole, 1.0) ** (1.0 / p), 0.0)


def share_among_ties(x: Array, weights: Array | None) -> Any:
    """Return the sample x with each element replaced by the weighted mean of all elements equal to it.

    weights : those of the elements, or None.  The values stay the same, but equal elements share the
    derivative.
    """
    _, group = np.unique(plain_data(x), return_inverse=True)
    share = np.ones(len(group)) if weights is None else plain_data(weights)
    total = np.bincount(group, share)[group]
    share = np.where(
        total > 0, share / np.where(total > 0, total, 1.0), 1.0 / np.bincount(group)[group]
    )
    return xp.scatter_add(x * share, (int(group.max()) + 1,), (group,))[group]


class Estimate:
    """A replacement for a compiled function of ``gaussian_kde``, such as "gaussian_kernel_estimate".

    name : the function, which sums kernels at given points; "..._log" returns the logarithm of the sum.
    As SciPy's, it is indexed by a C type first: ``Estimate(name)["double"](points, ...)``.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __getitem__(self, spec: str) -> Callable[..., Any]:
        from scipy.stats import _stats

        compiled = getattr(_stats, self.name)[spec]

        def estimate(
            points: ArrayInput, values: ArrayInput, xi: ArrayInput, factor: ArrayInput,
            dtype: DTypeInput,
        ) -> Any:  # fmt: skip
            given = points, values, xi, factor
            if not has_array(given):
                return compiled(*given, dtype)
            data = [np.ascontiguousarray(plain_data(x)) for x in given]
            logs = log_of_estimate(*[asarray(x, dtype) for x in given])
            formula = logs if self.name.endswith("_log") else xp.exp(logs)
            return with_slope(xp.asarray(compiled(*data, dtype)), formula)

        return estimate


def log_of_estimate(points: Array, values: Array, xi: Array, factor: Array) -> Any:
    """Compute the logarithm of a kernel density estimate on Arrays: Silverman 1986, eq. 4.7.

    points : the centers of the kernels.  values : their weights.  xi : the points of evaluation.
    factor : the Cholesky factor of the kernels' covariance, whose inverse whitens the points.
    """
    white = xp.linalg.inv(factor)
    squares = ((xi @ white.T)[:, None, :] - (points @ white.T)[None, :, :]) ** 2
    log_norm = xp.sum(xp.log(xp.linalg.diagonal(factor))) + points.shape[1] * HALF_LOG_OF_TWO_PI
    terms = xp.log(values[:, 0]) - 0.5 * xp.sum(squares, axis=-1) - log_norm
    return xp.special.logsumexp(terms, axis=1)[:, None]


for _name in ("gaussian_kernel_estimate", "gaussian_kernel_estimate_log"):
    replaces("scipy.stats._kde", _name, Estimate(_name))


# --- power transformations ----------------------------------------------------------------------------
transform_value = library_op(
    "scipy.stats.yeojohnson",
    lambda x, lam, number=None: original(MORE, "_yeojohnson_transform")(
        x, lam if number is None else number
    ),
    word="nondifferentiable",
)
likelihood_value = library_op(
    "scipy.stats.boxcox_llf",
    lambda lam, x, name="", axis=0, keepdims=False: original(MORE, name)(
        lam, x, axis=axis, keepdims=keepdims
    ),
    word="nondifferentiable",
)


@hooks(MORE, "_yeojohnson_transform")
def yeojohnson_transform(x: ArrayInput, lmbda: ArrayInput, **namespace: Any) -> Any:
    x = float_asarray(x)
    if isinstance(lmbda, int | float) and not isinstance(lmbda, np.generic):
        lam = asarray(lmbda, x.dtype)  # the result has the dtype of x
        return with_slope(transform_value(x, lam, lmbda), yeo_johnson_transform(x, lam))
    value = transform_value(x, asarray(lmbda))
    return with_slope(value, yeo_johnson_transform(x, float_asarray(lmbda)))


def replace_likelihood_slope(name: str, formula: Callable[..., Array]) -> None:
    """Replace the derivatives of SciPy's log-likelihood ``name`` by those of ``formula``.

    SciPy's code has a branch for special values of lambda, whose derivative is wrong.
    """

    @hooks(MORE, name)
    def log_likelihood(
        lmb: ArrayInput, data: ArrayInput, *, axis: int | None = 0, nan_policy: str = "propagate",
        keepdims: bool = False,
    ) -> Any:  # fmt: skip
        how = {"axis": axis, "keepdims": keepdims}
        if not has_array((lmb,)):
            return original(MORE, name)(lmb, data, nan_policy=nan_policy, **how)
        if nan_policy != "propagate":
            raise no_rule(f"scipy.stats.{name}", f"nan_policy={nan_policy!r}")
        value = likelihood_value(asarray(lmb), asarray(data), name, **how)
        return with_slope(value, formula(float_asarray(lmb), float_asarray(data), **how))


replace_likelihood_slope("boxcox_llf", box_cox)
replace_likelihood_slope("yeojohnson_llf", yeo_johnson)


def most_likely(
    name: str, x: ArrayInput, likelihood: Callable[[Array, Array], Array], options: dict[str, Any]
) -> Any:
    """Return the exponent lambda of a power transformation that fits x best, with derivatives.

    SciPy's function ``name`` finds lambda.

    The derivatives are those of the lambda at which ``likelihood(lambda, x)`` is greatest.
    """
    x = asarray(x, np.float64)
    if options.get("nan_policy") == "omit":
        x = x[~np.isnan(plain_data(x))]
    function = original(MORE, name)

    def solve_with_scipy(start: Array, x: Array) -> Any:
        return function(np.asarray(x), **options)

    return implicit.minimum(lambda lam, x: -likelihood(lam, x), 1.0, x, solver=solve_with_scipy)


@hooks(MORE, "boxcox_normmax")
def boxcox_normmax(
    x: ArrayInput, brack: tuple[float, ...] | None = None, method: str = "pearsonr", **options: Any
) -> Any:
    if method != "mle":
        raise no_rule("scipy.stats.boxcox_normmax", f"method={method!r}")
    return most_likely("boxcox_normmax", x, box_cox, {"brack": brack, "method": method, **options})


@hooks(MORE, "yeojohnson_normmax")
def yeojohnson_normmax(
    x: ArrayInput, brack: tuple[float, ...] | None = None, **options: Any
) -> Any:
    return most_likely("yeojohnson_normmax", x, yeo_johnson, {"brack": brack, **options})
