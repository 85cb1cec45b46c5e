"""Differentiate scipy.spatial's distances: SciPy computes the values, formulas give the derivatives."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.spatial.distance
from scipy.spatial.distance import _METRIC_ALIAS

import arraytape

from .._array.array import Array
from .._util.errors import short_repr
from ._borders import compute_into
from ._facades import asarray, float_asarray, no_rule
from ._ops import library_op
from ._plain import ArrayInput, NumpyData, plain_data
from ._slopes import with_slope
from ._statements import hooks, keeps_arrays

Function = Callable[..., Any]

keeps_arrays("scipy.spatial.distance")
keeps_arrays("scipy.spatial._procrustes")


# --- formulas ----------------------------------------------------------------------------------------
# Each formula takes u and v, with coordinates on their last axis, and weights or None.  At a distance of
# 0 the derivative is 0, as for vector_norm, even if the distance has no derivative there.
def weighted_sum(values: Array, w: Array | None) -> Any:
    return arraytape.sum(values if w is None else values * w, axis=-1)


def power(x: Array, p: float) -> Any:
    """Return x ** p for x >= 0, with the derivative 0 at x = 0.

    For p < 1 it would be infinite: two equal points have the distance 0.
    """
    some = x > 0
    return arraytape.where(some, arraytape.where(some, x, 1.0) ** p, 0.0)


def euclidean(u: Array, v: Array, w: Array | None) -> Any:
    if w is None:
        return arraytape.linalg.vector_norm(u - v, axis=-1)
    way = u - v
    # The squares are not written as abs(way) ** 2, because the second derivative would be 0 at 0.
    return power(weighted_sum(way * way, w), 0.5)


def minkowski(u: Array, v: Array, w: Array | None, p: float = 2.0) -> Any:
    if math.isinf(p):
        return chebyshev(u, v, w)
    if p == 2:
        return euclidean(u, v, w)
    return power(weighted_sum(power(arraytape.abs(u - v), p), w), 1.0 / p)


def chebyshev(u: Array, v: Array, w: Array | None) -> Any:
    sizes = arraytape.abs(u - v)
    return arraytape.max(sizes if w is None else arraytape.where(w > 0, sizes, 0.0), axis=-1)


def canberra(u: Array, v: Array, w: Array | None) -> Any:
    whole = arraytape.abs(u) + arraytape.abs(v)
    some = whole > 0
    part = arraytape.abs(u - v) / arraytape.where(some, whole, 1.0)
    return weighted_sum(arraytape.where(some, part, 0.0), w)


def braycurtis(u: Array, v: Array, w: Array | None) -> Any:
    return weighted_sum(arraytape.abs(u - v), w) / weighted_sum(arraytape.abs(u + v), w)


def cosine(u: Array, v: Array, w: Array | None) -> Any:
    return 1.0 - weighted_sum(u * v, w) / (weighted_sum(u * u, w) * weighted_sum(v * v, w)) ** 0.5


def correlation(u: Array, v: Array, w: Array | None) -> Any:
    def centred(x: Array) -> Any:
        whole = x.shape[-1] if w is None else arraytape.sum(w)
        return x - weighted_sum(x, w)[..., None] / whole

    return cosine(centred(u), centred(v), w)


def jensenshannon(u: Array, v: Array, w: Array | None, base: float | None = None) -> Any:
    u, v = normalised(u), normalised(v)
    m = (u + v) / 2.0
    some = m > 0  # where u and v are both 0, their derivatives are 0
    m, *pair = [arraytape.where(some, x, 1.0) for x in (m, u, v)]
    parts = [arraytape.where(some, arraytape.special.rel_entr(x, m), 0.0) for x in pair]
    found = weighted_sum(parts[0] + parts[1], w)
    return power((found if base is None else found / np.log(base)) / 2.0, 0.5)


def normalised(x: Array) -> Any:
    """Return x / sum(x).

    An element that is 0 is divided by a constant sum, because 0 * inf in the derivative would be NaN.
    """
    whole = arraytape.sum(x, axis=-1, keepdims=True)
    return arraytape.where(x == 0, x / arraytape.stop_gradient(whole), x / whole)


def mahalanobis(u: Array, v: Array, w: Array | None, VI: Array) -> Any:
    steps = u - v
    return power(arraytape.sum((steps @ VI) * steps, axis=-1), 0.5)


FORMULAS: dict[str, Function] = {
    "braycurtis": braycurtis, "canberra": canberra, "chebyshev": chebyshev,
    "cityblock": lambda u, v, w: weighted_sum(arraytape.abs(u - v), w),
    "correlation": correlation, "cosine": cosine, "euclidean": euclidean,
    "jensenshannon": jensenshannon, "mahalanobis": mahalanobis, "minkowski": minkowski,
    "seuclidean": lambda u, v, w, V=None: euclidean(u, v, 1.0 / V),
    "sqeuclidean": lambda u, v, w: weighted_sum((u - v) ** 2, w),
}  # fmt: skip


# --- distances between collections -------------------------------------------------------------------
cdist_value = library_op(
    "scipy.spatial.cdist",
    lambda a, b, metric="", options=(): scipy.spatial.distance.cdist(a, b, metric, **dict(options)),
    word="nondifferentiable",
)
pdist_value = library_op(
    "scipy.spatial.pdist",
    lambda a, metric="", options=(): scipy.spatial.distance.pdist(a, metric, **dict(options)),
    word="nondifferentiable",
)


def metric_name(metric: str | Callable[..., Any]) -> str | None:
    """Return the name of a metric for which SciPy has compiled code, or None for other functions."""
    name = metric.lower() if isinstance(metric, str) else getattr(metric, "__name__", "")
    info = _METRIC_ALIAS.get(name.removeprefix("test_"))
    if isinstance(metric, str) and info is None:
        raise ValueError(f"Unknown Distance Metric: {metric}")
    return None if info is None else str(info.canonical_name)


def distance_by_formula(
    name: str, u: ArrayInput, v: ArrayInput, samples: Any, options: dict[str, Any],
    formulas: dict[str, Function] = FORMULAS,
) -> Any:  # fmt: skip
    """Compute the distances of u and v by recorded ops, for their derivatives.

    name : the metric.  u, v : points, with coordinates on the last axis.  samples : the data from which
    the defaults of V and VI are computed.  options : options of the metric.  formulas : dict from names
    of metrics to functions of u and v.
    """
    if name not in FORMULAS:
        raise no_rule(
            "scipy.spatial.distance", f"metric={short_repr(name)}, which is piecewise constant,"
        )
    given = dict(options)
    if name == "seuclidean" and given.get("V") is None:
        given["V"] = np.var(samples, axis=0, ddof=1)
    if name == "mahalanobis" and given.get("VI") is None:
        given["VI"] = np.linalg.inv(np.cov(samples.T)).T
    numbers = ("p", "base")
    given = {
        key: x if key in numbers else float_asarray(x) for key, x in given.items() if x is not None
    }
    # Differences of unsigned integers would wrap around.
    return formulas[name](float_asarray(u), float_asarray(v), given.pop("w", None), **given)


def has_floats(*values: Any) -> bool:
    """Return True if an array among ``values`` has a floating or complex dtype."""
    return any(asarray(x).dtype.kind in "fc" for x in values if isinstance(x, Array | np.ndarray))


def raw_options(options: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple((key, plain_data(x)) for key, x in options.items())


@hooks("scipy.spatial.distance", "cdist")
def cdist(
    XA: ArrayInput, XB: ArrayInput, metric: Any = "euclidean", *, out: Array | NumpyData | None = None,
    **options: Any,
) -> Any:  # fmt: skip
    a, b, name = asarray(XA), asarray(XB), metric_name(metric)
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[1]:
        raise ValueError(
            f"cdist takes two matrices with the same number of columns, got the shapes {a.shape} and "
            f"{b.shape}"
        )
    if name is None:
        rows = [
            arraytape.stack([asarray(metric(u, v, **options), np.float64) for v in b]) for u in a
        ]
        return compute_into(out, lambda dtype: arraytape.stack(rows))
    value = cdist_value(a, b, name, raw_options(options))
    if has_floats(a, b, *options.values()):
        samples = arraytape.concat([a, b])
        formula = distance_by_formula(name, a[:, None, :], b[None, :, :], samples, options)
        value = with_slope(value, formula)
    return compute_into(out, lambda dtype: value)


@hooks("scipy.spatial.distance", "pdist")
def pdist(
    X: ArrayInput, metric: Any = "euclidean", *, out: Array | NumpyData | None = None, **options: Any,
) -> Any:  # fmt: skip
    x, name = asarray(X), metric_name(metric)
    if x.ndim != 2:
        raise ValueError(f"pdist takes a matrix, got the shape {x.shape}")
    first, second = np.triu_indices(x.shape[0], 1)
    if name is None:
        pairs = [
            asarray(metric(x[i], x[j], **options), np.float64)
            for i, j in zip(first.tolist(), second.tolist(), strict=True)
        ]
        return compute_into(out, lambda dtype: arraytape.stack(pairs))
    value = pdist_value(x, name, raw_options(options))
    if has_floats(x, *options.values()):
        value = with_slope(value, distance_by_formula(name, x[first], x[second], x, options))
    return compute_into(out, lambda dtype: value)


# --- distances of two vectors, and squareform --------------------------------------------------------
vector_value = library_op(
    "scipy.spatial.distance",
    lambda u, v, metric="", options=(): getattr(scipy.spatial.distance, metric)(
        u, v, **dict(options)
    ),
    word="nondifferentiable",
)


def state_vector_metric(name: str) -> None:
    signature = inspect.signature(getattr(scipy.spatial.distance, name))
    others = [*signature.parameters][2:]

    @hooks("scipy.spatial.distance", name)
    def metric(u: ArrayInput, v: ArrayInput, *args: Any, **keywords: Any) -> Any:
        given = dict(zip(others, args, strict=False)) | keywords
        u, v = asarray(u), asarray(v)
        value = vector_value(u, v, name, raw_options(given))
        if not has_floats(u, v, *given.values()):
            return value
        axis = given.pop("axis", 0) if u.ndim > 1 or v.ndim > 1 else -1
        given.pop("keepdims", None)
        formula = FORMULAS if given.pop("centered", True) else {name: cosine}
        u, v = (arraytape.moveaxis(x, axis, -1) for x in (u, v))
        found = distance_by_formula(name, u, v, None, given, formula)
        return with_slope(value, arraytape.reshape(found, value.shape))


for _name in FORMULAS:
    state_vector_metric(_name)


@hooks("scipy.spatial.distance", "squareform")
def squareform(X: ArrayInput, force: str = "no", checks: bool = True) -> Any:
    x = asarray(X)
    if x.ndim not in (1, 2) or force.lower() not in ("no", "tomatrix", "tovector"):
        raise ValueError(
            f"squareform takes 1 or 2 dimensions, got {x.ndim}, and force='no', 'tomatrix' or "
            f"'tovector', got {short_repr(force)}"
        )
    if x.ndim != {"tomatrix": 1, "tovector": 2}.get(force.lower(), x.ndim):
        raise ValueError(
            f"squareform: force={short_repr(force)} does not fit an array of {x.ndim} dimensions"
        )
    if x.ndim == 2:
        if checks:
            scipy.spatial.distance.is_valid_dm(x, throw=True, name="X")
        return x[np.triu_indices(x.shape[0], 1)]
    size = math.ceil(math.sqrt(2 * x.shape[0])) or 1
    if size * (size - 1) != 2 * x.shape[0]:
        raise ValueError("Incompatible vector size. It must be a binomial coefficient n choose 2")
    above = arraytape.zeros((size, size), dtype=x.dtype, device=x.device)
    above[np.triu_indices(size, 1)] = x
    return above + above.T
