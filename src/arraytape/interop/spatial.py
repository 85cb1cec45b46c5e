"""The functions of scipy.spatial: distances, SciPy's values with the derivatives of their formulas."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.spatial.distance
import scipy.special
from scipy.spatial.distance import _METRIC_ALIAS

import arraytape

from .._array.array import Array
from .._util.errors import shown
from ._borders import into
from ._facades import asarray, no_rule
from ._ops import library_op
from ._plain import plain
from ._slopes import with_slope
from ._statements import hooks, keeps_arrays

Function = Callable[..., Any]

keeps_arrays("scipy.spatial.distance")
keeps_arrays("scipy.spatial._procrustes")


# --- formulas ----------------------------------------------------------------------------------------
# Each takes u and v, whose last axis is that of the coordinates, and weights or None.  Where a distance
# is 0 and has a cusp there, its slope is 0: that of vector_norm.
def weighted(values: Any, w: Any) -> Any:
    return values if w is None else values * w


def total(values: Any, w: Any) -> Any:
    return arraytape.sum(weighted(values, w), axis=-1)


def euclidean(u: Any, v: Any, w: Any) -> Any:
    return arraytape.linalg.vector_norm(weighted(u - v, None if w is None else w**0.5), axis=-1)


def minkowski(u: Any, v: Any, w: Any, p: float = 2.0) -> Any:
    if math.isinf(p):
        return chebyshev(u, v, w)
    scaled = weighted(u - v, None if w is None else w ** (1.0 / p))
    return arraytape.linalg.vector_norm(scaled, axis=-1, ord=p)


def chebyshev(u: Any, v: Any, w: Any) -> Any:
    sizes = arraytape.abs(u - v)
    return arraytape.max(sizes if w is None else arraytape.where(w > 0, sizes, 0.0), axis=-1)


def canberra(u: Any, v: Any, w: Any) -> Any:
    whole = arraytape.abs(u) + arraytape.abs(v)
    some = whole > 0
    part = arraytape.abs(u - v) / arraytape.where(some, whole, 1.0)
    return total(arraytape.where(some, part, 0.0), w)


def braycurtis(u: Any, v: Any, w: Any) -> Any:
    return total(arraytape.abs(u - v), w) / total(arraytape.abs(u + v), w)


def cosine(u: Any, v: Any, w: Any) -> Any:
    return 1.0 - total(u * v, w) / (total(u * u, w) * total(v * v, w)) ** 0.5


def correlation(u: Any, v: Any, w: Any) -> Any:
    def centred(x: Any) -> Any:
        whole = x.shape[-1] if w is None else arraytape.sum(w)
        return x - total(x, w)[..., None] / whole

    return cosine(centred(u), centred(v), w)


def jensenshannon(u: Any, v: Any, w: Any) -> Any:
    u, v = (x / arraytape.sum(x, axis=-1, keepdims=True) for x in (u, v))
    m = (u + v) / 2.0
    found = total(scipy.special.rel_entr(u, m) + scipy.special.rel_entr(v, m), w)
    return (found / 2.0) ** 0.5


def mahalanobis(u: Any, v: Any, w: Any, VI: Any = None) -> Any:
    steps = u - v
    square = arraytape.sum((steps @ VI) * steps, axis=-1)
    apart = square > 0
    return arraytape.where(apart, arraytape.where(apart, square, 1.0) ** 0.5, 0.0)


FORMULAS: dict[str, Function] = {
    "braycurtis": braycurtis, "canberra": canberra, "chebyshev": chebyshev,
    "cityblock": lambda u, v, w: total(arraytape.abs(u - v), w),
    "correlation": correlation, "cosine": cosine, "euclidean": euclidean,
    "jensenshannon": jensenshannon, "mahalanobis": mahalanobis, "minkowski": minkowski,
    "seuclidean": lambda u, v, w, V=None: euclidean(u, v, 1.0 / V),
    "sqeuclidean": lambda u, v, w: total((u - v) ** 2, w),
}  # fmt: skip


# --- between collections -----------------------------------------------------------------------------
def cdist_forward(a: Array, b: Array, metric: Any = "", options: Any = ()) -> Any:
    return scipy.spatial.distance.cdist(a, b, metric, **dict(options))


def pdist_forward(a: Array, metric: Any = "", options: Any = ()) -> Any:
    return scipy.spatial.distance.pdist(a, metric, **dict(options))


cdist_value = library_op("scipy.spatial.cdist", cdist_forward, word="nondifferentiable")
pdist_value = library_op("scipy.spatial.pdist", pdist_forward, word="nondifferentiable")


def named(metric: Any) -> str | None:
    """The name of a metric for which SciPy has compiled code; None for other functions."""
    name = metric.lower() if isinstance(metric, str) else getattr(metric, "__name__", "")
    info = _METRIC_ALIAS.get(name.removeprefix("test_"))
    if isinstance(metric, str) and info is None:
        raise ValueError(f"Unknown Distance Metric: {metric}")
    return None if info is None else str(info.canonical_name)


def slope_of(name: str, u: Any, v: Any, samples: Any, options: dict[str, Any]) -> Any:
    """The formula of a metric; what was not given of it is computed from the samples."""
    if name not in FORMULAS:
        raise no_rule(
            "scipy.spatial.distance", f"metric={shown(name)}, which is constant in steps,"
        )
    given = dict(options)
    if name == "seuclidean" and given.get("V") is None:
        given["V"] = np.var(samples, axis=0, ddof=1)
    if name == "mahalanobis" and given.get("VI") is None:
        given["VI"] = np.linalg.inv(np.cov(samples.T)).T
    given = {key: x if key == "p" else asarray(x) for key, x in given.items() if x is not None}
    return FORMULAS[name](u, v, given.pop("w", None), **given)


def raw_options(options: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Options as SciPy takes them beside NumPy data."""
    return tuple((key, plain(x)) for key, x in options.items())


@hooks("scipy.spatial.distance", "cdist")
def cdist(XA: Any, XB: Any, metric: Any = "euclidean", *, out: Any = None, **options: Any) -> Any:
    a, b, name = asarray(XA), asarray(XB), named(metric)
    if name is None:
        rows = [arraytape.stack([asarray(metric(u, v, **options)) for v in b]) for u in a]
        return into(out, lambda dtype: arraytape.stack(rows))
    value = cdist_value(a, b, name, raw_options(options))
    if a.dtype.kind == "f" or b.dtype.kind == "f":
        samples = arraytape.concat([a, b])
        formula = slope_of(name, a[:, None, :], b[None, :, :], samples, options)
        value = with_slope(value, formula)
    return into(out, lambda dtype: value)


@hooks("scipy.spatial.distance", "pdist")
def pdist(X: Any, metric: Any = "euclidean", *, out: Any = None, **options: Any) -> Any:
    x, name = asarray(X), named(metric)
    first, second = np.triu_indices(x.shape[0], 1)
    if name is None:
        pairs = [asarray(metric(x[i], x[j], **options)) for i, j in zip(first, second, strict=True)]
        return into(out, lambda dtype: arraytape.stack(pairs))
    value = pdist_value(x, name, raw_options(options))
    if x.dtype.kind == "f":
        value = with_slope(value, slope_of(name, x[first], x[second], x, options))
    return into(out, lambda dtype: value)


# --- of two vectors, and in another shape ------------------------------------------------------------
def correlation_forward(u: Array, v: Array, w: Any = None, centered: Any = True) -> Any:
    return scipy.spatial.distance.correlation(u, v, w, centered)


correlation_value = library_op(
    "scipy.spatial.correlation", correlation_forward, word="nondifferentiable"
)


@hooks("scipy.spatial.distance", "correlation")  # cosine calls it
def correlation_of_vectors(u: Any, v: Any, w: Any = None, centered: bool = True) -> Any:
    u, v = asarray(u), asarray(v)
    weights = None if w is None else asarray(w)
    formula = (correlation if centered else cosine)(u, v, weights)
    return with_slope(correlation_value(u, v, dict(raw_options({"w": w}))["w"], centered), formula)


@hooks("scipy.spatial.distance", "squareform")
def squareform(X: Any, force: str = "no", checks: bool = True) -> Any:
    x = asarray(X)
    if x.ndim not in (1, 2) or force.lower() not in ("no", "tomatrix", "tovector"):
        raise ValueError(
            f"squareform takes 1 or 2 dimensions, got {x.ndim}, and force={shown(force)}"
        )
    if x.ndim != {"tomatrix": 1, "tovector": 2}.get(force.lower(), x.ndim):
        raise ValueError(f"squareform: force={shown(force)} with an array of {x.ndim} dimensions")
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
