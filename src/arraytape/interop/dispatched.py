"""Rules for functions of SciPy and scikit-learn that accept Arrays, but compute wrong derivatives.

The library's code computes a part of the result from a mask, a clipped value or a branch for one number.
The values are right, but the recorded derivative of that part is wrong.  The rules act without a
context.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

import arraytape as xp

from .._array.array import Array
from ..ops.elementwise_functions import root_of_variance
from ._context import is_active
from ._hooks import twin_function
from ._plain import ArrayInput, Shape
from ._power import box_cox, yeo_johnson
from ._slopes import with_slope
from ._statements import hooks, original

RADIAL_FUNCTIONS = "scipy.interpolate._rbfinterp_xp"
PAIRWISE, MORE = "sklearn.metrics.pairwise", "scipy.stats._morestats"


# --- the namespace ------------------------------------------------------------------------------------
@hooks("scipy._lib._array_api", "array_namespace", dispatched=True)
def array_namespace(*arrays: Any, **options: Any) -> Any:
    """Return arraytape as the namespace in which SciPy computes, also if some arrays are NumPy's.

    SciPy itself refuses such mixed arguments.  If interop is not active and SCIPY_ARRAY_API=1 is not
    set, SciPy's own function runs.
    """
    from scipy._lib import _array_api

    if is_active("scipy") or _array_api.SCIPY_ARRAY_API:
        return xp
    return original("scipy._lib._array_api", "array_namespace")(*arrays, **options)


# --- sums of exponentials -----------------------------------------------------------------------------
@hooks("scipy.special._logsumexp", "logsumexp", dispatched=True)
def logsumexp(a: Array, *args: Any, **keywords: Any) -> Any:
    """Call arraytape's logsumexp: SciPy masks the largest terms, which makes their derivative wrong."""
    return xp.special.logsumexp(a, *args, **keywords)


@hooks("sklearn.utils._array_api", "_logsumexp", dispatched=True)
def logsumexp_of_sklearn(array: Array, axis: int | Shape | None = None, **namespace: Any) -> Any:
    """Call arraytape's logsumexp: scikit-learn's code masks the largest terms, as SciPy's does."""
    return xp.special.logsumexp(array, axis=axis)


@hooks("sklearn.utils._array_api", "_xlogy", dispatched=True)
def xlogy(x: ArrayInput, y: ArrayInput, **namespace: Any) -> Any:
    """Return scikit-learn's value with the derivatives of x * log(y).

    scikit-learn's code overwrites elements where x is 0, so its own derivatives would be wrong.
    """
    x, y = (a if isinstance(a, Array) else xp.asarray(a) for a in (x, y))
    value = original("sklearn.utils._array_api", "_xlogy")
    return with_slope(value(xp.stop_gradient(x), xp.stop_gradient(y)), xp.special.xlogy(x, y))


# --- values that rounding would make too large or too small ----------------------------------------
class PatchedNamespace(ModuleType):
    """The namespace of arraytape with a few replaced functions, for one function of a library.

    own : dict from their names to the functions.
    """

    def __init__(self, **own: Any) -> None:
        super().__init__(xp.__name__)
        self.__dict__.update(own)

    def __getattr__(self, name: str) -> Any:
        return getattr(xp, name)


def clip(x: Array, /, min: Array | float | None = None, max: Array | float | None = None) -> Any:
    """Return x clipped to [min, max], with the derivative 1 everywhere.

    Callers use it where x exceeds the bounds by rounding errors alone.
    """
    return with_slope(xp.stop_gradient(xp.clip(x, min, max)), x)


def maximum(x: Array, bound: Array | float | None, /) -> Any:
    """Return max(x, bound) with the derivative 1 everywhere: only rounding takes x below ``bound``."""
    return with_slope(xp.stop_gradient(xp.maximum(x, bound)), x)


ROUNDED = PatchedNamespace(clip=clip, maximum=maximum, sqrt=root_of_variance)


def clips_rounding(module: str, name: str, **asks: Callable[..., Any]) -> None:
    """Make a library's function compute with a ``clip`` whose derivative is 1 everywhere.

    The function clips only rounding errors, for example a correlation to [-1, 1].

    module, name : the function.  asks : maps global names, such as "array_namespace", by which the
    function gets its namespace, to functions that return arraytape with that ``clip``.
    """

    @hooks(module, name, dispatched=True)
    def run_in_namespace(*args: Any, **keywords: Any) -> Any:
        program: Any = original(module, name)
        return twin_function(program, **asks)(*args, **keywords)


clips_rounding("scipy.stats._stats_py", "pearsonr", array_namespace=lambda *_, **__: ROUNDED)
clips_rounding(MORE, "circvar.__wrapped__", array_namespace=lambda *_, **__: ROUNDED)
clips_rounding(
    PAIRWISE, "cosine_distances.__wrapped__", get_namespace=lambda *_, **__: (ROUNDED, True)
)
clips_rounding(
    PAIRWISE, "_euclidean_distances",
    get_namespace_and_device=lambda *arrays, **_: (
        ROUNDED, True, next(x.device for x in arrays if isinstance(x, Array)),
    ),
)  # fmt: skip


# --- deviations of equal elements ----------------------------------------------------------------------
class Variance:
    """A variance v whose root ``v ** 0.5``, a standard deviation, has the derivative 0 where v is 0.

    The derivative of the root would be infinite there, as for equal samples.
    value : v.  samples : the samples.  If there is one, v is 0 everywhere, and so is the derivative.
    """

    def __init__(self, value: Any, samples: Any) -> None:
        self.value, self.samples = value, samples

    def __rmul__(self, factor: float) -> Any:
        return Variance(factor * self.value, self.samples)

    def __pow__(self, power: float) -> Any:
        constant = np.size(self.samples) == np.size(self.value)
        root = xp.stop_gradient(self.value) ** power
        return with_slope(root, self.value if constant else root_of_variance(self.value))


def takes_root(name: str, variance: str) -> None:
    """Make a function of scipy.stats use ``Variance``, so that it has a derivative for equal samples.

    name : the function, which takes the root of a variance.  variance : the global name of the function
    that computes the variance for it.
    """

    @hooks("scipy.stats._stats_py", name, dispatched=True)
    def deviation(*args: Any, **keywords: Any) -> Any:
        program: Any = original("scipy.stats._stats_py", name)
        function = program.__globals__[variance]

        def variance_of_samples(samples: ArrayInput, *args: Any, **options: Any) -> Any:
            return Variance(function(samples, *args, **options), samples)

        rooted: Any = twin_function(program, **{variance: variance_of_samples})
        return rooted(*args, **keywords)


takes_root("tstd.__wrapped__", "tvar")
takes_root("tsem.__wrapped__", "_xp_var")
takes_root("gstd", "_xp_var")


# circstd takes the root of -2 log(length), the variance of angles.  ``log`` makes it a Variance.
clips_rounding(
    MORE, "circstd.__wrapped__",
    array_namespace=lambda samples, **_: PatchedNamespace(
        clip=clip, log=lambda length: Variance(xp.log(length), samples)
    ),
)  # fmt: skip


# --- scores of a perfect fit -----------------------------------------------------------------------
@hooks("sklearn.metrics._regression", "_assemble_fraction_of_explained_deviance", dispatched=True)
def explained_fraction(**given: Any) -> Any:
    """Return scikit-learn's scores, such as R^2, with the derivatives of 1 - numerator / denominator.

    given : the replaced function's arguments by name.  scikit-learn overwrites the imperfect scores in
    ``xp.ones(...)``, so perfect ones would lack a derivative.  Here the Array of ``ones`` has it.
    """
    numerator, denominator = given["numerator"], given["denominator"]
    varies = denominator != 0

    def ones_or_formula(shape: int | Shape, **options: Any) -> Any:
        fraction = numerator / xp.where(varies, denominator, 1.0)
        formula = xp.where(varies, 1.0 - fraction, 1.0)
        return with_slope(xp.ones(shape, **options), formula)

    program = original("sklearn.metrics._regression", "_assemble_fraction_of_explained_deviance")
    return program(**given | {"xp": PatchedNamespace(ones=ones_or_formula)})


# --- distances of points that coincide ----------------------------------------------------------------
class Distance:
    """Distances r, of which the functions of r ** 2 have all derivatives where r is 0.

    SciPy's radial basis functions are called with it in place of r.  squares : r ** 2.
    """

    def __init__(self, differences: Array, axis: int) -> None:
        self.squares = xp.sum(differences**2, axis=axis)
        self.zero = self.squares == 0.0
        self.positive = xp.sqrt(xp.where(self.zero, 1.0, self.squares))

    def __pow__(self, power: int) -> Array:
        if power == 2:
            return self.squares
        found: Array = xp.where(self.zero, 0.0, self.positive**power)
        return found

    def __neg__(self) -> Array:
        return -(self**1)

    def __eq__(self, other: object) -> Any:
        return self.squares == other

    __hash__ = None  # type: ignore[assignment]  # == compares the elements


RADIAL = PatchedNamespace(
    linalg=SimpleNamespace(vector_norm=Distance),
    log=lambda r: xp.log(r.positive if isinstance(r, Distance) else r),
)


@hooks(RADIAL_FUNCTIONS, "kernel_matrix", dispatched=True)
def kernel_matrix(x: Array, kernel_func: Callable[..., Any], namespace: Any) -> Any:
    """Compute SciPy's matrix of radial basis functions from ``Distance``: its diagonal has r = 0."""
    return original(RADIAL_FUNCTIONS, "kernel_matrix")(x, kernel_func, RADIAL)


@hooks(RADIAL_FUNCTIONS, "_build_evaluation_coefficients", dispatched=True)
def radial_coefficients(*args: Any) -> Any:
    return original(RADIAL_FUNCTIONS, "_build_evaluation_coefficients")(*args[:-1], RADIAL)


# --- likelihoods with respect to the exponent --------------------------------------------------------
def differentiate_likelihood(name: str, formula: Callable[..., Array]) -> None:
    """Give SciPy's log-likelihood of a power transformation the derivatives of ``formula``.

    name : the likelihood's function.

    SciPy's code has a branch for one value of the exponent ``lmb``, where the derivative would be lost.
    """

    @hooks(MORE, f"{name}.__wrapped__", dispatched=True)
    def likelihood(data: ArrayInput, axis: int = 0, *, lmb: Array | float) -> Any:
        program: Any = original(MORE, f"{name}.__wrapped__")
        if not isinstance(lmb, Array):
            return program(data, axis=axis, lmb=lmb)
        data = data if isinstance(data, Array) else xp.asarray(data)
        value = program(xp.stop_gradient(data), axis=axis, lmb=xp.stop_gradient(lmb))
        return with_slope(value, formula(lmb, data, axis))


differentiate_likelihood("_boxcox_llf", box_cox)
differentiate_likelihood("_yeojohnson_llf", yeo_johnson)
