"""Let the functions of scipy.integrate work on Arrays: integrals of samples, and of functions.

SciPy's ``quad`` computes the integral in compiled code, and returns the subintervals that it used.  If a
derivative may be wanted, the same quadrature rule is applied to these subintervals on Arrays, and the
derivative is taken of that sum.  ``solve_ivp`` is in ``optimize.py``.
"""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import arraytape as xp

from .._array.array import Array
from .._util.errors import stacklevel
from ._facades import Facade, SoftFloat, SoftFloatType, asarray, no_rule
from ._plain import ArrayInput, plain_data
from ._slopes import with_slope
from ._statements import hooks, keeps_arrays, original, prepares, replaces
from ._wanted import is_library_function, is_wanted, used_by, uses_arrays

Integrand = Callable[[Any], Any]
# Largest relative difference between SciPy's integral and the sum that is differentiated in its place.
NEAR = 1e-7
ROUNDINGS = 64.0  # the same difference in roundings, for integrals of float32
MODULE = "scipy.integrate._quadrature"
QUADPACK, ODEPACK = "scipy.integrate._quadpack_py", "scipy.integrate._odepack_py"


class Float64Type(SoftFloatType):
    """The metaclass of Float64: ``Float64(x)`` is a float64 Array for an Array x, else a number."""

    def __call__(cls, x: Any = 0.0, /) -> Any:
        return asarray(x, np.float64) if isinstance(x, Array) else np.float64(x)


class Float64(SoftFloat, metaclass=Float64Type):
    """A replacement for ``np.float64`` in scipy.integrate: ``float64(x)`` is an Array for an Array x.

    SciPy's ``simpson`` passes arrays to it.
    """


keeps_arrays(MODULE)
quadrature = Facade("scipy")
vars(quadrature)["float64"] = Float64
replaces(MODULE, "np", quadrature)


@prepares(MODULE, "trapezoid", "cumulative_trapezoid", "cumulative_simpson", "romb")
def samples_as_array(given: dict[str, Any]) -> None:
    """Convert the samples ``y`` to an Array: SciPy computes in their namespace, whatever ``x`` is."""
    given["y"] = asarray(given["y"])


# --- functions --------------------------------------------------------------------------------------
@hooks(QUADPACK, "quad", always=True)
def quad(*args: Any, **keywords: Any) -> Any:
    from scipy.integrate import IntegrationWarning

    theirs = original(QUADPACK, "quad")
    call = inspect.signature(theirs).bind(*args, **keywords)
    call.apply_defaults()
    given = call.arguments
    func, a, b = (given.pop(name) for name in ("func", "a", "b"))
    more = given.pop("args")
    more = more if isinstance(more, tuple) else (more,)
    if is_library_function(func) or not is_wanted([a, b, more, *used_by(func)]):
        return theirs(*args, **keywords)
    for option in ("weight", "complex_func"):
        if given[option]:
            raise no_rule("scipy.integrate.quad", f"{option}=")
    full = given.pop("full_output")
    low, high = float_value(a), float_value(b)
    value, error, info, *message = theirs(
        lambda x: float_value(func(x, *more)), low, high, full_output=1, **given
    )
    if message and not full:
        warnings.warn(message[0], IntegrationWarning, stacklevel=stacklevel())
    formula = sum_of_quadrature(lambda x: func(x, *more), a, b, info)
    rounding = max(NEAR, ROUNDINGS * float(xp.finfo(formula.dtype).eps))
    if not abs(float_value(formula) - value) <= max(error, rounding * abs(value)):
        raise no_rule("scipy.integrate.quad", "a singular integrand (SciPy extrapolates)")
    found = (with_slope(xp.asarray(value), formula), error)
    return (*found, info, *message) if full else found


@hooks(QUADPACK, "nquad", refuses=True, always=True)
def nquad(
    func: Callable[..., Any], ranges: Sequence[Any], args: Any = None, *options: Any, **keywords: Any,
) -> Any:  # fmt: skip
    if is_wanted([args, ranges, *used_by(func)]):
        raise no_rule("scipy.integrate.nquad (dblquad, tplquad)")
    return original(QUADPACK, "nquad")(func, ranges, args, *options, **keywords)


@hooks(ODEPACK, "odeint", refuses=True, always=True)
def odeint(
    func: Callable[..., Any], y0: ArrayInput, t: ArrayInput, args: Any = (), *options: Any,
    **keywords: Any,
) -> Any:  # fmt: skip
    if not is_library_function(func) and is_wanted([y0, t, args, *used_by(func)]):
        raise no_rule("scipy.integrate.odeint, other than solve_ivp,")
    return original(ODEPACK, "odeint")(func, y0, t, args, *options, **keywords)


def use_our_namespace(name: str) -> None:
    """Make a function of scipy.integrate, "nsum" or "tanhsinh", compute with Arrays.

    The limits are converted to Arrays if the user's function uses Arrays, because SciPy computes in the
    namespace of the limits.
    """
    module = "scipy.integrate._tanhsinh"

    @hooks(module, name, always=True)
    def call_in_namespace(*args: Any, **keywords: Any) -> Any:
        compiled = original(module, name)
        given = inspect.signature(compiled).bind(*args, **keywords).arguments
        more, named = given.get("args", ()), given.get("kwargs") or {}
        if not uses_arrays(given["f"], [given["a"], given["b"], more, named]):
            return compiled(*args, **keywords)
        more = more if isinstance(more, tuple) else (more,)
        given |= {"a": asarray(given["a"]), "b": asarray(given["b"])}
        given["args"] = tuple([asarray(x) for x in more])
        if named:
            given["kwargs"] = {key: asarray(x) for key, x in named.items()}
        return compiled(given.pop("f"), given.pop("a"), given.pop("b"), **given)


for _name in ("nsum", "tanhsinh"):
    use_our_namespace(_name)


def float_value(x: ArrayInput) -> float:
    return float(plain_data(x))


def sum_of_quadrature(
    f: Integrand, a: Array | float, b: Array | float, info: dict[str, Any]
) -> Array:
    """Compute the integral of f from a to b once more by recorded ops, after SciPy's ``quad``.

    So the integral has derivatives with respect to a, b and the Arrays that f uses.

    info : the dict that ``quad`` returned; it has the subintervals.  On each of them, QUADPACK's
    formula with 21 points is used, as in ``quad``; if a or b is infinite, ``substitute_infinite`` and
    15 points.  Source: Piessens et al. 1983, "QUADPACK", sections 3.1 and 3.4.1.
    """
    from scipy.integrate import _quad_vec

    low, high = float_value(a), float_value(b)
    sign = 1.0
    if high < low:
        a, b, low, high, sign = b, a, high, low, -1.0
    count = info["last"]
    pieces = [*zip(info["alist"][:count], info["blist"][:count], strict=True)]
    if low == high:
        # SciPy returns no subinterval, but the integral depends on the limits.
        pieces = [(low, high)]
    if math.isfinite(low) and math.isfinite(high):
        rule, rest = _quad_vec._quadrature_gk21, f
        pieces = [(a if x == low else x, b if y == high else y) for x, y in pieces]
    else:
        rule, rest = _quad_vec._quadrature_gk15, substitute_infinite(f, a, b, low, high)
    total: Any = 0.0
    for x, y in pieces:
        total = total + rule(x, y, rest, lambda _: 0.0)[0]
    return asarray(sign * total)


def substitute_infinite(
    f: Integrand, a: Array | float, b: Array | float, low: float, high: float
) -> Integrand:
    """Return the integrand of an infinite interval as a function of t from 0 to 1.

    QUADPACK substitutes x = c +- (1 - t) / t, where c is the finite limit, or 0 if both are infinite.
    f : the integrand as a function of x.  low, high : the limits a and b as floats.
    """
    start, signs = (a, [1.0]) if high == math.inf else (b, [-1.0])
    if low == -math.inf and high == math.inf:
        start, signs = 0.0, [1.0, -1.0]

    def g(t: float) -> Any:
        return sum([f(start + sign * (1.0 - t) / t) for sign in signs]) / t**2

    return g
