"""Functions of scipy.optimize, differentiable with respect to ``args``: ``xp.implicit.scipy``.

They have SciPy's signatures and results.  The user's function computes on Arrays, and the Jacobians and
Hessians for SciPy are computed by tape.  SciPy's solution is checked like that of any solver: see
``implicit.root``.

>>> import arraytape as xp
>>> def root(a):
...     return xp.implicit.scipy.brentq(lambda x, a: x**3 + x - a, 0.0, 2.0, args=(a,))
>>> print(xp.grad(root)(xp.asarray(2.0)))  # 1 / (3 * x**2 + 1)
0.25
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import arraytape as xp

from .._array.array import Array
from .._custom.gradient import call_with_rule
from .._custom.private_handles import display_name
from .._util import nest
from .._util.errors import describe, describe_result, entrance, user_line
from . import _functions as functions
from . import _solvers as solvers
from ._checks import NotASolution, check_minimum
from ._iterative import import_scipy
from ._layouts import NestingLayout, Vector, as_numpy, own_handles

if TYPE_CHECKING:
    import numpy.typing as npt
    from scipy.optimize import Bounds

    from .._util.array_types import RawArray

# Methods of minimize that use no gradient, and those that use a Hessian.  SciPy warns if a derivative is
# not used.
WITHOUT_GRADIENT = ("nelder-mead", "powell", "cobyla", "cobyqa")
WITH_HESSIAN = ("newton-cg", "dogleg", "trust-ncg", "trust-krylov", "trust-exact", "trust-constr")
NEAR = 1e-6  # an element counts as lying on a bound if its relative distance from it is less


@entrance
def root(
    fun: Callable[..., Any], x0: Array | npt.ArrayLike, args: Any = (), method: str = "hybr",
    jac: Callable[..., Any] | str | bool | None = None, tol: float | None = None,
    callback: Callable[..., Any] | None = None, options: Mapping[str, Any] | None = None, *,
    polish: bool = False,
) -> Any:  # fmt: skip
    """Call ``scipy.optimize.root``, with ``x`` differentiable with respect to ``args``.

    Parameters
    ----------
    fun : Callable
        ``fun(x, *args)`` gets Arrays, x of one axis, and returns an Array with as many elements; if
        ``jac`` is True, a pair of this Array and the Jacobian.
    x0 : array
        The start, whose gradient is None.
    args : tuple
        Arrays, nestings of Arrays and constants.
    method, tol, callback, options
        As in SciPy.
    jac : Callable | bool, optional
        The Jacobian for SciPy; by default computed by tape, as it always is for the derivative.
    polish : bool, default: False
        If True, Newton steps down to rounding improve SciPy's solution.

    Returns
    -------
    scipy.optimize.OptimizeResult
        SciPy's result, with an Array as ``x``.  A gradient that needs another number of the result
        raises LookupError.

    Raises
    ------
    NotASolution, TypeError, ValueError, LostGradientError, ImportError
        As ``implicit.root``.

    Examples
    --------
    >>> import arraytape as xp
    >>> def equations(x, a):
    ...     return xp.stack([x[0] + x[1] - a, x[0] * x[1] - 2.0])
    >>> def solution(a):
    ...     return xp.implicit.scipy.root(equations, xp.asarray([1.0, 3.0]), args=(a,)).x
    >>> a = xp.asarray(4.0)
    >>> print(xp.round(solution(a) * 1e6) / 1e6)
    [0.585786 3.414214]
    >>> print(xp.round(xp.jacobian(solution)(a) * 1e6) / 1e6)
    [-0.207107  1.207107]
    """
    name = f"implicit.scipy.root({display_name(fun)})"
    call = ScipyCall(name, fun, x0, args, first=jac is True, callback=callback)
    with_jacobian = method in ("hybr", "lm")

    def solve_root(x0: Vector, *args: Any) -> Any:
        given: Any = None
        if with_jacobian:
            given = call.user_derivative(jac, args) or call.on_numpy(
                xp.jacobian(call.checked_value), args
            )
        return import_scipy(name, "scipy.optimize").root(
            call.on_numpy(call.checked_value, args), x0, method=method, jac=given, tol=tol,
            callback=callback, options=options,
        )  # fmt: skip

    return call.scipy_result(solve_root, polish, F=call.checked_value)


@entrance
def minimize(
    fun: Callable[..., Any], x0: Array | npt.ArrayLike, args: Any = (), method: str | None = None,
    jac: Callable[..., Any] | str | bool | None = None,
    hess: Callable[..., Any] | str | bool | None = None, hessp: Callable[..., Any] | None = None,
    bounds: Bounds | Sequence[Any] | None = None,
    constraints: Sequence[Any] | Mapping[str, Any] | None = (), tol: float | None = None,
    callback: Callable[..., Any] | None = None, options: Mapping[str, Any] | None = None, *,
    polish: bool = False,
) -> Any:  # fmt: skip
    """Call ``scipy.optimize.minimize``, with ``x`` and ``fun`` differentiable with respect to ``args``.

    Parameters
    ----------
    fun : Callable
        ``fun(x, *args)`` gets Arrays, x of one axis, and returns one real Array of shape (); if
        ``jac`` is True, a pair of this Array and the gradient.
    x0 : array
        The start, whose gradient is None.
    args : tuple
        Arrays, nestings of Arrays and constants.
    method, tol, callback, options
        As in SciPy.
    jac, hess, hessp : Callable, optional
        Derivatives for SciPy; by default computed by tape, as those for the solution's derivative.
    bounds : Bounds or sequence, optional
        As in SciPy; constants.  An element on its bound has the derivative 0 if ``fun`` would
        decrease beyond the bound.
    constraints
        Not supported.
    polish : bool, default: False
        If True, Newton steps down to rounding improve SciPy's solution.

    Returns
    -------
    scipy.optimize.OptimizeResult
        SciPy's result, with Arrays as ``x`` and ``fun``.  A gradient that needs another number of the
        result, such as ``hess_inv``, raises LookupError.

    Raises
    ------
    NotImplementedError
        When there are constraints.
    NotASolution
        As ``implicit.minimum``, and when an element lies on its bound although the slope of ``fun``
        is 0 there, because the derivative jumps at such a point.
    TypeError, ValueError, LostGradientError, ImportError
        As ``implicit.minimum``.

    Examples
    --------
    >>> import arraytape as xp
    >>> def energy(x, a):
    ...     return (x[0] - a) ** 2 + (x[1] - 2.0 * x[0]) ** 2
    >>> def solution(a):
    ...     return xp.implicit.scipy.minimize(energy, xp.zeros(2), args=(a,)).x
    >>> a = xp.asarray(1.0)
    >>> print(xp.round(solution(a) * 1e4) / 1e4)
    [1. 2.]
    >>> print(xp.round(xp.jacobian(solution)(a) * 1e4) / 1e4)
    [1. 2.]
    """
    name = f"implicit.scipy.minimize({display_name(fun)})"
    if constraints is not None and not (isinstance(constraints, list | tuple) and not constraints):
        raise NotImplementedError(
            f"{name}: constraints are not differentiated [at {user_line()}]; use bounds, or variables "
            "for which they always hold, or write the conditions of the solution as implicit.root"
        )
    call = ScipyCall(name, fun, x0, args, first=jac is True, callback=callback)
    optimize = import_scipy(name, "scipy.optimize")
    limits = BoundLimits(name, bounds, call.size, pairs=True)
    chosen = method.lower() if isinstance(method, str) else method
    value_of = one_number(name, call.checked_value)

    def solve_minimum(x0: Vector, *args: Any) -> Any:
        given: dict[str, Any] = {}
        if chosen not in WITHOUT_GRADIENT:
            given["jac"] = call.user_derivative(jac, args) or call.on_numpy(xp.grad(value_of), args)
        if chosen in WITH_HESSIAN:
            by_user = {
                "hess": call.user_derivative(hess, args),
                "hessp": call.user_derivative(hessp, args),
            }
            known = {key: value for key, value in by_user.items() if value is not None}
            given |= known or {"hess": call.on_numpy(xp.hessian(value_of), args)}
        value = call.on_numpy(value_of, args)
        found = optimize.minimize(
            lambda x: float(value(x)), x0, method=method, bounds=bounds, tol=tol,
            callback=callback, options=options, **given,
        )  # fmt: skip
        limits.check_bounds(found.x, call.as_array_arguments(args), value_of)
        return found

    found = call.scipy_result(solve_minimum, polish, **limits.condition(value_of))
    found.fun = value_of(found.x, *call.args)
    return found


@entrance
def least_squares(
    fun: Callable[..., Any], x0: Array | npt.ArrayLike,
    jac: Callable[..., Any] | str | bool | None = "2-point",
    bounds: Bounds | Sequence[Any] | None = (-np.inf, np.inf), method: str = "trf",
    ftol: float | None = 1e-8, xtol: float | None = 1e-8, gtol: float | None = 1e-8,
    x_scale: npt.ArrayLike | None = None, loss: str = "linear", f_scale: float = 1.0,
    diff_step: npt.ArrayLike | None = None, tr_solver: str | None = None,
    tr_options: Mapping[str, Any] | None = None, jac_sparsity: Any = None,
    max_nfev: int | None = None, verbose: int = 0, args: Any = (),
    kwargs: Mapping[str, Any] | None = None, callback: Callable[..., Any] | None = None, *,
    polish: bool = False,
) -> Any:  # fmt: skip
    """Call ``scipy.optimize.least_squares``, differentiably with respect to ``args``.

    The differentiable results are ``x``, ``fun`` and ``cost``.

    Parameters
    ----------
    fun : Callable
        ``fun(x, *args, **kwargs)`` gets Arrays, x of one axis, and returns the residuals as an Array
        of one axis.
    x0 : array
        The start, whose gradient is None.
    jac : Callable, optional
        The Jacobian for SciPy; if it is no function, the Jacobian is computed by tape, as it always
        is for the derivative.
    bounds : tuple or Bounds
        As in SciPy; constants.  An element on its bound has the derivative 0 if the cost would
        decrease beyond the bound.
    method, ftol, xtol, gtol, x_scale, tr_solver, tr_options, max_nfev, verbose
        As in SciPy.
    loss : str
        One of SciPy's names.
    f_scale : float
        As in SciPy; a constant.
    diff_step, jac_sparsity
        Ignored, because derivatives are computed by tape.
    args : tuple
        Arrays, nestings of Arrays and constants.
    kwargs : dict, optional
        Further arguments of ``fun`` by name, constants.
    callback : Callable, optional
        Called after each iteration, as in SciPy.
    polish : bool, default: False
        If True, Newton steps down to rounding improve SciPy's solution.

    Returns
    -------
    scipy.optimize.OptimizeResult
        SciPy's result, with Arrays as ``x``, ``fun`` and ``cost``.  A gradient that needs another
        number of the result, such as ``jac``, raises LookupError.

    Raises
    ------
    NotASolution, TypeError, ValueError, LostGradientError, ImportError
        As ``minimize``.  The derivative uses the full Hessian of the cost.

    Examples
    --------
    >>> import arraytape as xp
    >>> def residuals(x, a):
    ...     return xp.stack([x[0] - a, x[1] - x[0] ** 2, 0.5 * x[1]])
    >>> def solution(a):
    ...     return xp.implicit.scipy.least_squares(residuals, xp.ones(2), args=(a,)).x
    >>> a = xp.asarray(1.0)
    >>> print(xp.round(solution(a) * 1e6) / 1e6)
    [0.797284 0.508529]
    >>> print(xp.round(xp.jacobian(solution)(a) * 1e6) / 1e6)
    [0.567281 0.723655]
    """
    name = f"implicit.scipy.least_squares({display_name(fun)})"
    if loss not in LOSSES:
        raise ValueError(
            f"{name}: loss must be one of {[*LOSSES]}, got {describe(loss)} [at {user_line()}]"
        )
    call = ScipyCall(name, functools.partial(fun, **(kwargs or {})), x0, args, callback=callback)
    limits = BoundLimits(name, bounds, call.size)
    optimize = import_scipy(name, "scipy.optimize")

    def cost(x: Array, *args: Any) -> Any:
        squares = (call.checked_value(x, *args) / f_scale) ** 2
        return 0.5 * f_scale**2 * xp.sum(LOSSES[loss](squares))

    def solve_residuals(x0: Vector, *args: Any) -> Any:
        by_tape = call.on_numpy(xp.jacobian(call.checked_value), args)
        found = optimize.least_squares(
            call.on_numpy(call.checked_value, args), x0, jac=call.user_derivative(jac, args) or by_tape,
            bounds=bounds, method=method, ftol=ftol, xtol=xtol, gtol=gtol, loss=loss, f_scale=f_scale,
            x_scale=x_scale, tr_solver=tr_solver, tr_options=tr_options or {}, max_nfev=max_nfev,
            verbose=verbose, callback=callback,
        )  # fmt: skip
        limits.check_bounds(found.x, call.as_array_arguments(args), cost)
        return found

    found = call.scipy_result(solve_residuals, polish, **limits.condition(cost))
    found.fun, found.cost = call.checked_value(found.x, *call.args), cost(found.x, *call.args)
    return found


# Source: SciPy's documentation of least_squares.
LOSSES: dict[str, Callable[[Any], Any]] = {
    "linear": lambda z: z,
    "soft_l1": lambda z: 2.0 * (xp.sqrt(1.0 + z) - 1.0),
    "huber": lambda z: xp.where(z <= 1.0, z, 2.0 * xp.sqrt(xp.where(z <= 1.0, 1.0, z)) - 1.0),
    "cauchy": lambda z: xp.log1p(z),
    "arctan": lambda z: xp.atan(z),
}


@entrance
def brentq(
    f: Callable[..., Any], a: float, b: float, args: Any = (), xtol: float = 2e-12,
    rtol: float = 8.881784197001252e-16, maxiter: int = 100, full_output: bool = False,
    disp: bool = True, *, polish: bool = False,
) -> Any:  # fmt: skip
    """Call ``scipy.optimize.brentq``, with the root differentiable with respect to ``args``.

    Parameters
    ----------
    f : Callable
        ``f(x, *args)`` gets Arrays, x of shape (), and returns an Array of shape ().
    a, b : float
        The ends of the bracket; their gradient is None.
    args : tuple
        Arrays, nestings of Arrays and constants; an object that is no tuple is the only argument.
    xtol, rtol, maxiter, full_output, disp
        As in SciPy.
    polish : bool, default: False
        If True, Newton steps down to rounding improve SciPy's solution.

    Returns
    -------
    Array or tuple
        The root, of shape (); if ``full_output`` is True, a pair of it and SciPy's ``RootResults``.

    Raises
    ------
    NotASolution, TypeError, ValueError, LostGradientError, ImportError
        As ``implicit.root``; ValueError and RuntimeError as SciPy's.

    Examples
    --------
    >>> import arraytape as xp
    >>> a = xp.asarray(2.0)
    >>> def root(a):
    ...     return xp.implicit.scipy.brentq(lambda x, a: x**3 + x - a, 0.0, 2.0, args=(a,))
    >>> print(root(a))
    1.0
    >>> print(xp.grad(root)(a))  # 1 / (3 * x**2 + 1)
    0.25
    """
    name = f"implicit.scipy.brentq({display_name(f)})"
    call = ScipyCall(name, f, a, args, scalar=True)
    end = xp.asarray(b, dtype=xp.float64)
    seen = []

    def solve_bracket(x0: Vector, *args: Any) -> Any:
        *rest, end = args
        value = call.on_numpy(call.checked_value, rest)
        x, result = import_scipy(name, "scipy.optimize").brentq(
            lambda x: float(value(x)), float(x0), float(end), xtol=xtol, rtol=rtol,
            maxiter=maxiter, full_output=True, disp=disp,
        )  # fmt: skip
        seen.append(result)
        return x

    def F(x: Array, *args: Any) -> Any:
        return call.checked_value(x, *args[:-1])

    x = call.find_solution_of(solve_bracket, polish, xp.stop_gradient(end), F=F)
    return (x, seen[-1]) if full_output else x


@entrance
def curve_fit(
    f: Callable[..., Any], xdata: Array | npt.ArrayLike, ydata: Array | npt.ArrayLike,
    p0: Array | npt.ArrayLike | None = None, sigma: Array | npt.ArrayLike | None = None,
    absolute_sigma: bool = False, check_finite: bool | None = None,
    bounds: Bounds | Sequence[Any] | None = (-np.inf, np.inf), method: str | None = None,
    jac: Callable[..., Any] | str | bool | None = None, *, full_output: bool = False,
    nan_policy: str | None = None, polish: bool = False, **kwargs: Any,
) -> Any:  # fmt: skip
    """Call ``scipy.optimize.curve_fit``, differentiable with respect to the data and ``sigma``.

    Parameters
    ----------
    f : Callable
        The model: ``f(xdata, *parameters)`` gets Arrays, the parameters of shape (), and returns an
        Array like ydata.
    xdata, ydata : array
        The data, Arrays or constants.
    p0 : array, optional
        The start, whose gradient is None; by default SciPy's, ones unless there are bounds.
    sigma : array, optional
        Standard deviations, or their covariance matrix: an Array or a constant.
    absolute_sigma, check_finite, method, full_output, **kwargs
        As in SciPy.
    bounds : tuple or Bounds
        As in ``least_squares``.
    jac : Callable, optional
        Ignored, because the Jacobian is computed by tape.
    nan_policy : str, optional
        As in SciPy, but not "omit".
    polish : bool, default: False
        If True, Newton steps down to rounding improve SciPy's solution.

    Returns
    -------
    tuple
        ``popt`` and ``pcov`` as Arrays, and with ``full_output`` SciPy's further results.

    Raises
    ------
    NotASolution, TypeError, ValueError, LostGradientError, ImportError
        As ``minimize``.

    Examples
    --------
    >>> import arraytape as xp
    >>> t = xp.asarray([0.0, 1.0, 2.0, 3.0])
    >>> y = xp.asarray([2.0, 1.3, 0.7, 0.5])
    >>> def decay(t, a, k):
    ...     return a * xp.exp(-k * t)
    >>> parameters, covariance = xp.implicit.scipy.curve_fit(decay, t, y, p0=[1.0, 1.0])
    >>> print(xp.round(parameters * 1e4) / 1e4)
    [2.0143 0.4817]

    The derivative of the fitted rate with respect to each measurement:

    >>> def rate(y):
    ...     return xp.implicit.scipy.curve_fit(decay, t, y, p0=[1.0, 1.0])[0][1]
    >>> print(xp.round(xp.grad(rate)(y) * 1e4) / 1e4)
    [ 0.2564 -0.1402 -0.2711 -0.2814]
    """
    name = f"implicit.scipy.curve_fit({display_name(f)})"
    if nan_policy == "omit":
        raise ValueError(f"{name}: drop the NaN: nan_policy='omit' is refused [at {user_line()}]")
    if p0 is None:
        p0 = start_within(*bounds_of(name, bounds, False), parameter_count(name, f))
    given = (xdata, ydata) if sigma is None else (xdata, ydata, sigma)
    data = [stacked_array(x) for x in given]
    call = ScipyCall(name, lambda p, *args: weighted_residuals(f, p, *args), p0, tuple(data))
    limits = BoundLimits(name, bounds, call.size)
    optimize = import_scipy(name, "scipy.optimize")
    seen: list[Any] = []

    def cost(p: Array, *args: Any) -> Any:
        return 0.5 * xp.sum(call.checked_value(p, *args) ** 2)

    def solve_fit(p0: Vector, *args: Any) -> Any:
        x, y, *deviations = args
        at = call.as_array_arguments(args)
        model = call.on_numpy(lambda p, x, *_: model_values(f, p, x), args)
        slopes = call.on_numpy(xp.jacobian(lambda p, x, *_: model_values(f, p, x)), args)
        options = {} if full_output is False else {"full_output": True}
        seen[:] = optimize.curve_fit(
            lambda _, *p: model(np.asarray(p)), x, y, p0, sigma=next(iter(deviations), None),
            absolute_sigma=absolute_sigma, check_finite=check_finite, bounds=bounds, method=method,
            jac=lambda _, *p: slopes(np.asarray(p)), nan_policy=nan_policy, **options, **kwargs,
        )  # fmt: skip
        limits.check_bounds(seen[0], at, cost)
        return seen[0]

    popt = call.find_solution_of(solve_fit, polish, **limits.condition(cost))
    pcov = covariance(call, popt, cost, absolute_sigma, seen)
    return (popt, pcov, *seen[2:])


def model_values(f: Callable[..., Any], p: Array, x: Array) -> Any:
    """Return the values of the model f at x, for parameters in one Array p."""
    own: Array
    own, x = own_handles([p, x])
    return f(x, *[own[i] for i in range(own.shape[0])])


def weighted_residuals(
    f: Callable[..., Any], p: Array, x: Array, y: Array, sigma: Array | None = None
) -> Any:
    """Return ``f(x, *p) - y``, divided by ``sigma``.

    A sigma with two dimensions is a covariance matrix, whose Cholesky factor divides the residuals.
    """
    r = model_values(f, p, x) - y
    if sigma is None:
        return r
    if sigma.ndim < 2:
        return r / sigma
    return xp.linalg.solve(xp.linalg.cholesky(sigma), r)


def parameter_count(name: str, f: Callable[..., Any]) -> int:
    """Return the number of f's parameters after xdata; raise ValueError for ``*args``.

    name : the public function, for the message.
    """
    import inspect

    kinds = inspect.signature(f).parameters.values()
    if any(p.kind is p.VAR_POSITIONAL for p in kinds) or len(kinds) < 2:
        raise ValueError(
            f"{name}: give p0: the function's signature does not tell the number of parameters "
            f"[at {user_line()}]"
        )
    return len(kinds) - 1


def start_within(low: Any, high: Any, size: int) -> Vector:
    """Return SciPy's start of a fit without ``p0``: ones, or between or next to the finite bounds."""
    low, high = (np.broadcast_to(b, (size,)) for b in (low, high))
    one_sided = np.where(np.isfinite(low), low + 1.0, np.where(np.isfinite(high), high - 1.0, 1.0))
    both = np.isfinite(low) & np.isfinite(high)
    found: Vector = np.where(
        both, np.where(both, 0.5 * low, 0.0) + np.where(both, 0.5 * high, 0.0), one_sided
    )
    return found


def covariance(
    call: ScipyCall, popt: Array, cost: Callable[..., Any], absolute: bool, seen: Sequence[Any]
) -> Array:
    """Return the covariance matrix of ``popt``, estimated from the Jacobian as SciPy does.

    If SciPy's covariance, ``seen[1]``, is not finite, it is returned, without derivatives.
    cost : the function of popt that was minimized.
    absolute : the argument ``absolute_sigma`` of ``curve_fit``.
    """
    if seen and not np.isfinite(seen[1]).all():  # SciPy has already warned
        return xp.asarray(seen[1])
    J = xp.jacobian(lambda p: call.checked_value(p, *call.args))(popt)
    found: Array = xp.linalg.inv(xp.matrix_transpose(J) @ J)
    if not absolute:
        found = found * (2.0 * cost(popt, *call.args) / (J.shape[0] - J.shape[1]))
    return found


def call_on_handles(f: Callable[..., Any], *args: Any) -> Any:
    """Call a user's function with new Array objects of the same values in place of Arrays.

    The function may write to these without a change of the caller's Arrays.
    """
    return f(*nest.pack_nesting(args, own_handles(nest.leaves(args))))


# --- what the functions share -------------------------------------------------------------------------
class ScipyCall:
    """One call of a function of this module: the user's function ``fun``, its start and ``args``.

    first : True if ``fun`` returns a pair of its value and its derivative.
    scalar : True if x has shape ().
    """

    def __init__(
        self, name: str, fun: Callable[..., Any], x0: Array | npt.ArrayLike, args: Any,
        first: bool = False, scalar: bool = False, callback: Callable[..., Any] | None = None,
    ) -> None:  # fmt: skip
        functions.check_callable(name, "the function", fun)
        if callback is not None:
            functions.check_callable(name, "callback", callback)
        self.name, self.fun, self.first = name, fun, first
        self.args = args if isinstance(args, tuple) else (args,)
        start = xp.astype(stacked_array(x0), xp.float64)
        if not scalar:
            start = xp.reshape(start, (-1,))
        self.x0, self.size = xp.stop_gradient(start), int(start.size)
        self.results: list[Any] = []

    def checked_value(self, x: Array, *args: Any) -> Any:
        """Return the value of ``fun``; raise TypeError if it is no real floating-point Array.

        A list of Arrays and numbers, as SciPy accepts, is joined to one Array.
        """
        found = call_on_handles(self.fun, x, *args)
        found = found[0] if self.first else found
        if isinstance(found, list | tuple):
            found = xp.asarray(found)
        if not isinstance(found, Array) or found.dtype.kind != "f":
            raise TypeError(
                f"{self.name}: return a real floating-point Array from the function, such as "
                f"xp.asarray([...]): got {describe_result(found)} [at {user_line()}]"
            )
        return found

    def as_array_arguments(self, args: Sequence[Any]) -> tuple[Any, ...]:
        """Return ``args`` for the user's function, with Arrays in place of NumPy arrays."""
        leaves = [
            xp.asarray(x) if isinstance(x, np.ndarray) else x for x in nest.leaves(tuple(args))
        ]
        packed: tuple[Any, ...] = nest.pack_nesting(tuple(args), leaves)
        return packed

    def on_numpy(self, f: Callable[..., Any], args: Sequence[Any]) -> Callable[[Any], Any]:
        """Return ``f(x, *args)``, which computes on Arrays, as a function of NumPy data x for SciPy."""
        arrays = self.as_array_arguments(args)
        return lambda x, *more: as_numpy(
            f(xp.asarray(np.asarray(x, dtype=np.float64)), *map(xp.asarray, more), *arrays)
        )

    def user_derivative(
        self, derivative: Callable[..., Any] | str | bool | None, args: Sequence[Any]
    ) -> Any:
        """Return the user's derivative as a function of a NumPy array for SciPy, or None.

        derivative : the user's function, or True if ``fun`` returns the derivative, too.  Any other
            value means that the user gives no derivative.
        """
        if self.first and derivative is True:
            return self.on_numpy(lambda x, *args: call_on_handles(self.fun, x, *args)[1], args)
        if not callable(derivative):
            return None
        return self.on_numpy(functools.partial(call_on_handles, derivative), args)

    def find_solution_of(
        self, solver: Callable[..., Any], polish: bool, *more: Any,
        F: Callable[..., Any] | None = None, f: Callable[..., Any] | None = None,
    ) -> Any:  # fmt: skip
        """Return the root of F, or the minimum of f if F is None, as ``solver`` computes it.

        A NotASolution error also has SciPy's message.
        more : parameters of F after ``args``.
        solver : calls SciPy with a NumPy start.
        polish : True for Newton steps from SciPy's solution.
        """

        def root_equations(layout: NestingLayout, x: Any, args: Sequence[Any]) -> Array:
            assert F is not None
            return layout.vector(F(x, *args), "the function's results")

        theta, settings = (*self.args, *more), {"polish": polish, "symmetric": f is not None}
        find = solvers.find_root  # unused, because ``solver`` is given
        try:
            return functions.solve_problem(
                self.name, root_equations, self.x0, theta, solver, find, settings, minimized=f
            )
        except NotASolution as error:
            said = next((r.message for r in self.results if not r.success), None)
            if said is None:
                raise
            raise NotASolution(f"{error}.  SciPy says: {said}") from error

    def scipy_result(self, solver: Callable[..., Any], polish: bool, **of: Any) -> Any:
        """Return SciPy's result, with the solution as an Array.

        solver : calls SciPy with a NumPy start.
        polish : True for Newton steps from SciPy's solution.
        of : the equation to solve, F=..., or the function to minimize, f=....
        """

        def solve_and_keep(x0: Vector, *args: Any) -> Any:
            self.results.append(solver(x0, *args))
            return self.results[-1].x

        x = self.find_solution_of(solve_and_keep, polish, **of)
        if len(self.results) == 1:  # under vmap, SciPy has run once for each example
            (found,) = self.results
            for key, value in found.items():
                if isinstance(value, np.ndarray | np.floating) and value.dtype.kind == "f":
                    found[key] = self.without_rule(f"{self.name}.{key}", value)
            found.x = x
            return found
        optimize = import_scipy(self.name, "scipy.optimize")
        success = all(result.success for result in self.results)
        return optimize.OptimizeResult(x=x, success=success, results=self.results)

    def without_rule(self, name: str, value: Any) -> Any:
        """Return a number or array of SciPy's result, such as ``hess_inv``, as an Array.

        A gradient that needs it raises an error, because it depends on ``args`` in an unknown way.
        """
        arrays = tuple(x for x in nest.leaves(self.args) if isinstance(x, Array))

        def give_value(*_: Array) -> tuple[Array, None]:
            return xp.asarray(np.asarray(value)), None

        return call_with_rule(name, give_value, arrays, {}, signature_of=self.fun, missing=name)


class BoundLimits:
    """The lower and upper bounds of the elements of x in a minimization.

    pairs : True if ``bounds`` has a pair for each element, False if it is a pair of arrays.
    """

    def __init__(
        self, name: str, bounds: Bounds | Sequence[Any] | None, size: int, pairs: bool = False
    ) -> None:
        self.name = name
        low, high = bounds_of(name, bounds, pairs)
        self.low, self.high = (np.broadcast_to(b, (size,)).astype(float) for b in (low, high))
        self.any = bool(np.isfinite(self.low).any() or np.isfinite(self.high).any())
        self.from_low = self.low + bound_margin(self.low)
        self.to_high = self.high - bound_margin(self.high)
        self.same = np.asarray(self.from_low >= self.to_high)

    def condition(self, f: Callable[..., Any]) -> dict[str, Any]:
        """Return {"F": equation} or, without bounds, {"f": f}: the keyword that defines the solution.

        F is 0 where f has its minimum within the bounds.
        """
        return {"F": self.stationary(f)} if self.any else {"f": f}

    def stationary(self, f: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function F(x, *args) that is 0 where f has its minimum within the bounds.

        F is f's gradient.  In the elements that a bound holds, because f would decrease beyond it, F is
        x minus the bound instead.
        """
        slope = xp.grad(f)
        low, high = (xp.asarray(np.where(np.isinf(b), 0.0, b)) for b in (self.low, self.high))

        def F(x: Array, *args: Any) -> Array:
            g = slope(x, *args)
            at_low, at_high = self.held(x, g)
            found: Array = xp.where(at_low, x - low, xp.where(at_high, x - high, g))
            return found

        return F

    def held(self, x: RawArray, g: RawArray) -> tuple[Any, Any]:
        """Return two masks of x: the elements that lie fixed on their lower, and on their upper bound.

        An element is fixed on a bound if f, whose gradient at x is g, decreases beyond the bound.  The
        first mask also has all elements whose two bounds are equal.
        """
        return (x <= self.from_low) & (g > 0.0) | self.same, (x >= self.to_high) & (g < 0.0)

    def check_bounds(self, x: Vector, args: tuple[Any, ...], f: Callable[..., Any]) -> None:
        """Raise NotASolution if an element lies on its bound where f's slope is 0: it has no derivative.

        Also raise if f's Hessian has a negative eigenvalue in the elements that no bound holds.
        args : further arguments of f.
        """
        if not self.any:
            return
        at = xp.asarray(np.asarray(x, dtype=float))
        g, H = as_numpy(xp.grad(f)(at, *args)), as_numpy(xp.hessian(f)(at, *args))
        near = (x <= self.from_low) | (x >= self.to_high)
        size = max(float(np.max(np.abs(x), initial=0.0)), NEAR)
        slack = np.abs(g) <= NEAR * np.abs(np.diagonal(H)) * size
        if (doubtful := near & slack & ~self.same).any():
            i = int(np.argmax(doubtful))
            raise NotASolution(
                f"{self.name}: element {i} of the solution lies on its bound, {x[i]:.6g}, and the slope "
                f"of the minimized function along it is about 0, {g[i]:.1e}: the solution has no "
                f"derivative there [at {user_line()}]; move the bound away from {x[i]:.6g}"
            )
        free = ~np.logical_or(*self.held(x, g))
        if np.isfinite(H).all():
            check_minimum(self.name, H[np.ix_(free, free)], float(np.finfo(float).eps))


def bound_margin(bound: Vector) -> Vector:
    """Return the distance from a bound within which an element counts as lying on the bound."""
    return np.where(np.isinf(bound), 0.0, NEAR * np.maximum(1.0, np.abs(bound)))


def bounds_of(name: str, bounds: Any, pairs: bool) -> tuple[Any, Any]:
    """Return the lower and upper bounds as NumPy data, from SciPy's Bounds, pairs or two arrays.

    pairs : True if ``bounds`` has a pair for each element, False if it is a pair of arrays.
    """
    if bounds is None:
        return -np.inf, np.inf
    two = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else None
    if any(isinstance(x, Array) for x in nest.leaves(two or bounds)):
        raise TypeError(
            f"{name}: bounds are constants, got Arrays [at {user_line()}]; convert them by np.asarray"
        )
    if two is None and pairs:
        low = [-np.inf if a is None else float(a) for a, _ in bounds]
        two = low, [np.inf if b is None else float(b) for _, b in bounds]
    low, high = bounds if two is None else two
    return np.asarray(low, dtype=float), np.asarray(high, dtype=float)


def one_number(name: str, f: Callable[..., Any]) -> Callable[..., Any]:
    """Return f with its result reshaped to (); raise ValueError if a result has several elements.

    name : the public function, for the message.
    """

    def single_value(*args: Any) -> Any:
        y = f(*args)
        if y.size != 1:
            raise ValueError(
                f"{name}: the function must give one number, got {describe(y)} [at {user_line()}]"
            )
        return xp.reshape(y, ()) if y.shape else y

    return single_value


def stacked_array(x: Array | npt.ArrayLike) -> Array:
    """Return x as an Array; a list with Arrays in it is stacked, so that they keep their gradients."""
    if isinstance(x, list | tuple) and any(isinstance(part, Array) for part in x):
        return xp.stack([stacked_array(part) for part in x])
    return x if isinstance(x, Array) else xp.asarray(x)


__all__ = ["brentq", "curve_fit", "least_squares", "minimize", "root"]


def __dir__() -> list[str]:
    return __all__
