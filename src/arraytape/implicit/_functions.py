"""The functions root, minimum, fixed_point and linear_solve, and decorators for users' solvers."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import arraytape as xp

from .._array.array import Array
from .._custom.private_handles import display_name
from .._record.stack import only_recorders
from .._util import nest
from .._util.errors import describe, entrance, user_line
from .._util.options import unwrap_option
from . import _solvers as solvers
from ._layouts import NestingLayout, Vector, as_numpy, own_handles
from ._op import solve_recorded, x0_arrays
from ._problem import ImplicitProblem, NumpyProblem

Solver = Callable[..., Any]
Default = Callable[[NumpyProblem, Vector], Vector]


def as_given(x0: Any, *theta: Any) -> Any:
    """Return ``x0``: pass this function as solver if x0 is the solution already.

    Parameters
    ----------
    x0 : Array or nesting
        The solution.
    *theta : Array or nesting
        The parameters, which are not used.

    Returns
    -------
    Array or nesting
        ``x0`` itself.

    Examples
    --------
    >>> import scipy.optimize
    >>> import arraytape as xp
    >>> a = xp.asarray(4.0)
    >>> found = scipy.optimize.brentq(lambda x: x**2 - 4.0, 0.0, 10.0)  # a solution from elsewhere
    >>> def root(a):
    ...     given = xp.asarray(found)
    ...     return xp.implicit.root(lambda x, a: x**2 - a, given, a, solver=xp.implicit.as_given)
    >>> print(xp.grad(root)(a))  # 1 / (2 * sqrt(a))
    0.25
    """
    return x0


@entrance
def root(
    F: Callable[..., Any], x0: Any, *theta: Any, solver: Solver | None = None,
    matrix_free: bool = False, symmetric: bool = False, tol: float = 0.1,
    rcond: float | None = None, rtol: float = 1e-12, maxiter: int | None = None,
    preconditioner: Callable[..., Any] | None = None, polish: bool = False,
) -> Any:  # fmt: skip
    """Solve ``F(x, *theta) = 0`` for x, differentiably with respect to theta.

    Parameters
    ----------
    F : Callable
        ``F(x, *theta)`` gets Arrays and nestings of Arrays, and returns Arrays in the nesting and
        shapes of x.  Every watched Array that it uses must be in x or theta.
    x0 : Array or nesting
        The start: floating-point Arrays, NumPy arrays or numbers, real or complex, in any
        nesting.  Its gradient is None.
    *theta : Array or nesting
        The parameters: Arrays, Variables, and constants, in any nestings.
    solver : Callable, optional
        ``solver(x0, *theta)`` returns the solution in the nesting of x0.  It gets NumPy arrays in the
        place of Arrays, and is not recorded; ``as_given`` returns x0 as the solution.  By default
        SciPy's hybrid method of Powell with the exact Jacobian, then Newton steps down to rounding.
        An x0 that solves the equation to rounding is returned as it is.
    matrix_free : bool, default: False
        If True, no Jacobian is computed.  Its linear systems are solved by products with vectors: by
        GMRES, or by conjugate gradients if ``symmetric``.  Its condition is then not checked.
    symmetric : bool, default: False
        True if the Jacobian is symmetric and positive definite.
    tol : float, default: 0.1
        The largest relative error of the derivative that is accepted, estimated by a Newton step
        from the solution.  An error above a hundredth of ``tol`` causes a TapeWarning.
    rcond : float, optional
        The least reciprocal condition number of the Jacobian (rows and columns scaled, in the 1-norm)
        that is accepted; by default the machine epsilon of x0's dtype divided by ``tol``.
    rtol, maxiter : float and int, optional
        With ``matrix_free``, iterations end at this residual relative to the right-hand side.  If
        ``maxiter`` iterations do not reach it, NotASolution is raised.
    preconditioner : Callable, optional
        ``preconditioner(r, x, *theta)`` returns about the inverse of the Jacobian at x times r, where
        r has x's nesting.  It is linear in r, and computed on Arrays, so that it can be transposed.
    polish : bool, default: False
        If True, Newton steps down to rounding improve the solver's result.

    Returns
    -------
    Array or nesting
        The solution in the nesting, shapes and dtypes of x0.

    Raises
    ------
    NotASolution
        When the relative error of the derivative is above ``tol``.  Also when the Jacobian is singular
        or worse conditioned than ``rcond``, the residual is not finite, or an iteration fails.
    TypeError
        When x0 is no floating-point data, or F returns no Arrays.
    ValueError
        When F's result or the solver's result has other shapes than x0, or F uses an Array or
        Variable that a tape follows, and that is not among the parameters.
    LostGradientError
        When F converts a value that a tape follows to other data, so that its derivative is unknown.
    RuntimeError
        In the backward pass, when F returns another result than before for the same arguments.
    ImportError
        When SciPy is needed and not installed.

    Notes
    -----
    With J = dF/dx at the solution, dx = -J^-1 (dF/dtheta) dtheta.  Derivatives of all orders are
    available, in forward and reverse mode.
    Source: Griewank and Walther 2008, "Evaluating Derivatives", sec. 15.1.

    Examples
    --------
    >>> import arraytape as xp
    >>> cube_root = lambda a: xp.implicit.root(lambda x, a: x**3 - a, 1.0, a)
    >>> round(float(xp.grad(cube_root)(xp.asarray(8.0))), 12)
    0.083333333333
    """
    name = f"implicit.root({display_name(F)})"
    settings = {
        "matrix_free": matrix_free, "symmetric": symmetric, "tol": tol, "rcond": rcond, "rtol": rtol,
        "maxiter": maxiter, "polish": polish, "preconditioner": preconditioner,
    }  # fmt: skip

    def root_residual(layout: NestingLayout, x: Any, args: Sequence[Any]) -> Array:
        return layout.vector(F(x, *args), "the function's results")

    return solve_problem(name, root_residual, x0, theta, solver, solvers.find_root, settings)


@entrance
def minimum(
    f: Callable[..., Any], x0: Any, *theta: Any, solver: Solver | None = None,
    matrix_free: bool = False, tol: float = 0.1, rcond: float | None = None, rtol: float = 1e-12,
    maxiter: int | None = None, preconditioner: Callable[..., Any] | None = None,
    polish: bool = False,
) -> Any:  # fmt: skip
    """Minimize ``f(x, *theta)`` over x, differentiably with respect to theta.

    The minimum is the root of the gradient of f with respect to x.

    Parameters
    ----------
    f : Callable
        ``f(x, *theta)`` gets Arrays and nestings of Arrays, and returns one real Array of shape ().
        Its Hessian must be continuous at the minimum.
    x0, *theta : Array or nesting
        The start and the parameters, with types as for ``root``.
    solver : Callable, optional
        ``solver(x0, *theta)`` gets NumPy arrays and returns the minimum; by default SciPy's
        trust-region Newton method, then Newton steps down to rounding.
    matrix_free : bool, default: False
        If True, no Hessian is computed: linear systems are solved by conjugate gradients.
    tol, rcond, rtol, maxiter, preconditioner, polish
        Limits of errors and iterations: see ``root``, and read Hessian for Jacobian.

    Returns
    -------
    Array or nesting
        The x at which f is least, in the nesting, shapes and dtypes of x0.

    Raises
    ------
    NotASolution
        For the reasons of ``root``, and when the Hessian has a negative eigenvalue.  ``matrix_free``
        checks the curvature along one random direction only.
    TypeError, ValueError, LostGradientError, ImportError
        For the reasons of ``root``; and when f returns anything but one real Array of shape ().

    Examples
    --------
    >>> import arraytape as xp
    >>> place = lambda a: xp.implicit.minimum(lambda x, a: xp.exp(x) - a * x, 0.0, a)
    >>> round(float(xp.grad(place)(xp.asarray(4.0))), 12)
    0.25
    """
    name = f"implicit.minimum({display_name(f)})"
    settings = {
        "matrix_free": matrix_free, "symmetric": True, "tol": tol, "rcond": rcond, "rtol": rtol,
        "maxiter": maxiter, "polish": polish, "preconditioner": preconditioner,
    }  # fmt: skip
    return solve_problem(name, None, x0, theta, solver, solvers.find_minimum, settings, minimized=f)


@entrance
def fixed_point(
    g: Callable[..., Any], x0: Any, *theta: Any, solver: Solver | None = None,
    matrix_free: bool = False, tol: float = 0.1, rcond: float | None = None, rtol: float = 1e-12,
    maxiter: int | None = None, preconditioner: Callable[..., Any] | None = None,
    polish: bool = False,
) -> Any:  # fmt: skip
    """Solve ``x = g(x, *theta)`` for x, differentiably with respect to theta.

    Parameters
    ----------
    g : Callable
        ``g(x, *theta)`` gets Arrays and nestings of Arrays, and returns Arrays in the nesting and
        shapes of x.
    x0, *theta : Array or nesting
        The start and the parameters, with types as for ``root``.
    solver : Callable, optional
        ``solver(x0, *theta)`` gets NumPy arrays and returns the fixed point; by default g is iterated,
        until Newton steps take over: near the fixed point, or after 100 iterations.
    matrix_free, tol, rcond, rtol, maxiter, preconditioner, polish
        Settings of ``root``, for the function F that is ``x - g(x, *theta)``.

    Returns
    -------
    Array or nesting
        The fixed point in the nesting, shapes and dtypes of x0.

    Raises
    ------
    NotASolution
        For the reasons of ``root``, and when the iteration reaches values that are not finite.
    TypeError, ValueError, LostGradientError, ImportError
        For the reasons of ``root``.

    Examples
    --------
    >>> import arraytape as xp
    >>> root = lambda a: xp.implicit.fixed_point(lambda x, a: (x + a / x) / 2.0, 1.0, a)
    >>> round(float(xp.grad(root)(xp.asarray(4.0))), 12)
    0.25
    """
    name = f"implicit.fixed_point({display_name(g)})"
    settings = {
        "matrix_free": matrix_free, "tol": tol, "rcond": rcond, "rtol": rtol, "maxiter": maxiter,
        "polish": polish, "preconditioner": preconditioner,
    }  # fmt: skip

    def fixed_point_residual(layout: NestingLayout, x: Any, args: Sequence[Any]) -> Array:
        before = layout.vector(nest.pack_nesting(layout.nesting, own_handles(nest.leaves(x))), "x")
        return before - layout.vector(g(x, *args), "the function's results")

    return solve_problem(
        name, fixed_point_residual, x0, theta, solver, solvers.find_fixed_point, settings
    )


@entrance
def linear_solve(
    matvec: Callable[..., Any], b: Any, *theta: Any, x0: Any = None, solver: Solver | None = None,
    matrix_free: bool = True, symmetric: bool = False, rcond: float | None = None,
    rtol: float = 1e-12, maxiter: int | None = None,
    preconditioner: Callable[..., Any] | None = None,
) -> Any:  # fmt: skip
    """Solve ``matvec(x, *theta) = b`` for x, differentiably with respect to b and theta.

    By default the operator's matrix is not computed.

    Parameters
    ----------
    matvec : Callable
        ``matvec(x, *theta)`` gets Arrays and nestings of Arrays, and returns Arrays in the nesting and
        shapes of x.  It must be linear in x.
    b : Array or nesting
        The right-hand side, in x's nesting.
    *theta : Array or nesting
        The parameters of the operator.
    x0 : Array or nesting, optional
        The start; zeros by default.
    solver : Callable, optional
        ``solver(x0, b, *theta)`` gets NumPy arrays and returns x; by default GMRES, or conjugate
        gradients if ``symmetric``.
    matrix_free : bool, default: True
        If True, solve by products of the operator and vectors, else by the operator's matrix.
    symmetric : bool, default: False
        True if the operator is symmetric and positive definite.
    rcond, rtol, maxiter : optional
        As in ``root``.
    preconditioner : Callable, optional
        ``preconditioner(r, *theta)``, linear in r, returns about the operator's inverse times r.

    Returns
    -------
    Array or nesting
        The solution in the nesting, shapes and dtypes of b.

    Raises
    ------
    NotASolution
        When the iteration does not reach ``rtol``, or the operator's matrix is singular.
    TypeError, ValueError, LostGradientError, ImportError
        As in ``root``; and when the operator is not linear in x.

    Examples
    --------
    >>> import arraytape as xp
    >>> A, b = xp.asarray([[2.0, 1.0], [0.0, 4.0]]), xp.asarray([4.0, 8.0])
    >>> x = xp.implicit.linear_solve(lambda x, A: A @ x, b, A)
    >>> [round(float(one), 9) for one in x]
    [1.0, 2.0]
    """
    name = f"implicit.linear_solve({display_name(matvec)})"
    layout = NestingLayout(name, b, "b")
    precondition = None
    if preconditioner is not None:
        check_callable(name, "preconditioner", preconditioner)

        def precondition(r: Any, x: Any, b: Any, *args: Any) -> Any:
            return preconditioner(r, *args)

    settings = {
        "matrix_free": matrix_free, "symmetric": symmetric, "rcond": rcond, "rtol": rtol,
        "maxiter": maxiter, "preconditioner": precondition, "linear": True,
    }  # fmt: skip
    if x0 is None:
        x0 = layout.host_nested(np.zeros(layout.size))

    def linear_residual(layout: NestingLayout, x: Any, args: Sequence[Any]) -> Array:
        b, *rest = args
        product = layout.vector(matvec(x, *rest), "the operator's results")
        return product - layout.vector(b, "b")

    return solve_problem(
        name, linear_residual, x0, (b, *theta), solver, solvers.find_linear, settings
    )


# --- decorators for users' solvers --------------------------------------------------------------------
@entrance
def custom_root(F: Callable[..., Any], **settings: Any) -> Callable[[Solver], Solver]:
    """Return a decorator that makes a solver of ``F(x, *theta) = 0`` differentiable.

    Parameters
    ----------
    F : Callable
        ``F(x, *theta)`` gets Arrays and nestings of Arrays, and returns Arrays in the nesting and
        shapes of x.
    **settings
        Keywords of ``root``.

    Returns
    -------
    Callable
        A decorator of functions ``solver(x0, *theta)``, which get NumPy arrays and return the
        solution.  The decorated function is called with Arrays and returns Arrays.

    Raises
    ------
    TypeError
        When a keyword is not one of ``root``'s.  The decorated solver raises the errors of ``root``.

    Examples
    --------
    >>> import numpy as np
    >>> import arraytape as xp
    >>> @xp.implicit.custom_root(lambda x, a: x**3 - a)
    ... def cube_root(x0, a):
    ...     return np.cbrt(a)
    >>> a = xp.asarray(8.0)
    >>> print(cube_root(xp.asarray(1.0), a))
    2.0
    >>> print(xp.grad(lambda a: cube_root(xp.asarray(1.0), a))(a))
    0.08333333333333333
    """
    return solver_decorator("custom_root", root, F, settings)


@entrance
def custom_minimum(f: Callable[..., Any], **settings: Any) -> Callable[[Solver], Solver]:
    """Return a decorator that makes a solver differentiable which minimizes ``f(x, *theta)``.

    Parameters
    ----------
    f : Callable
        ``f(x, *theta)`` gets Arrays and nestings of Arrays, and returns one real Array of shape ().
    **settings
        Keywords of ``minimum``.

    Returns
    -------
    Callable
        A decorator of functions ``solver(x0, *theta)``, which get NumPy arrays and return the
        solution.  The decorated function is called with Arrays and returns Arrays.

    Raises
    ------
    TypeError
        When a keyword is not one of ``minimum``'s.  The decorated solver raises the errors of
        ``minimum``.

    Examples
    --------
    >>> import arraytape as xp
    >>> @xp.implicit.custom_minimum(lambda x, a: xp.sum((x - a) ** 2) + xp.sum(x**2))
    ... def middle(x0, a):
    ...     return a / 2  # the known solution; any solver can be used
    >>> a = xp.asarray([2.0, 4.0])
    >>> print(middle(xp.zeros(2), a))
    [1. 2.]
    >>> print(xp.jacobian(lambda a: middle(xp.zeros(2), a))(a))
    [[0.5 0. ]
     [0.  0.5]]
    """
    return solver_decorator("custom_minimum", minimum, f, settings)


@entrance
def custom_fixed_point(g: Callable[..., Any], **settings: Any) -> Callable[[Solver], Solver]:
    """Return a decorator that makes a solver of ``x = g(x, *theta)`` differentiable.

    Parameters
    ----------
    g : Callable
        ``g(x, *theta)`` gets Arrays and nestings of Arrays, and returns Arrays in the nesting and
        shapes of x.
    **settings
        Keywords of ``fixed_point``.

    Returns
    -------
    Callable
        A decorator of functions ``solver(x0, *theta)``, which get NumPy arrays and return the
        solution.  The decorated function is called with Arrays and returns Arrays.

    Raises
    ------
    TypeError
        When a keyword is not one of ``fixed_point``'s.  The decorated solver raises the errors of
        ``fixed_point``.

    Examples
    --------
    >>> import numpy as np
    >>> import arraytape as xp
    >>> @xp.implicit.custom_fixed_point(lambda x, a: xp.cos(a * x))
    ... def fixed(x0, a):
    ...     x = x0
    ...     for _ in range(200):
    ...         x = np.cos(a * x)
    ...     return x
    >>> a = xp.asarray(1.0)
    >>> print(fixed(xp.asarray(0.5), a))
    0.7390851332151607
    >>> print(xp.grad(lambda a: fixed(xp.asarray(0.5), a))(a))
    -0.29747434150983226
    """
    return solver_decorator("custom_fixed_point", fixed_point, g, settings)


def solver_decorator(
    name: str, function: Callable[..., Any], f: Callable[..., Any], settings: dict[str, Any]
) -> Callable[[Solver], Solver]:
    """Return a decorator that passes a solver to ``function``, such as ``root``, with ``settings``.

    Raises TypeError for a setting that is no keyword of ``function``.
    name : the name of the public decorator, for messages.
    f : the user's function that defines the solution.
    settings : keywords of ``function``.
    """
    check_callable(f"implicit.{name}", "the function", f)
    known = set(inspect.signature(function).parameters) - {"F", "f", "g", "x0", "theta", "solver"}
    if unknown := [key for key in settings if key not in known]:
        raise TypeError(
            f"implicit.{name}: got {unknown[0]!r} where the settings are {sorted(known)} "
            f"[at {user_line()}]"
        )

    def decorate(solver: Solver) -> Solver:
        check_callable(f"implicit.{name}", "the solver", solver)

        @functools.wraps(solver)
        def differentiable(x0: Any, *theta: Any) -> Any:
            return function(f, x0, *theta, solver=solver, **settings)

        return differentiable

    return decorate


# --- from arguments to an ImplicitProblem, and its solution -------------------------------------------
def solve_problem(
    name: str, residual: Callable[[NestingLayout, Any, Any], Array] | None, x0: Any,
    theta: tuple[Any, ...], solver: Solver | None, default: Default, settings: dict[str, Any],
    minimized: Callable[..., Any] | None = None,
) -> Any:  # fmt: skip
    """Solve a problem and return the solution in the nesting of x0.

    residual : a function (layout, x, args) that is 0 at the solution; None if the function ``minimized``
        is given.
    theta : the parameters.
    solver : the user's solver, or None.
    default : the solver in place of None; it gets a NumpyProblem and the start.
    settings : fields of ``ImplicitProblem``.
    name : the public function, for messages.
    minimized : the function to be minimized, for a minimum.
    """
    check_settings(name, solver, settings)
    layout = NestingLayout(name, x0)
    leaves = nest.leaves(theta)

    def args_of(leaves: Sequence[Any]) -> Any:
        return nest.pack_nesting(theta, list(leaves))

    def of_root(v: Array, leaves: Sequence[Any]) -> Array:
        assert residual is not None
        return cast_residual(v, residual(layout, layout.nested(v), args_of(leaves)))

    def minimized_value(v: Array, leaves: Sequence[Any]) -> Array:
        assert minimized is not None
        found: Array = minimized(layout.nested(v), *args_of(leaves))
        return found

    def of_minimum(v: Array, leaves: Sequence[Any]) -> Array:
        return cast_residual(v, xp.grad(lambda v: minimized_value(v, own_handles(leaves)))(v))

    given = settings.pop("preconditioner", None)
    problem = ImplicitProblem(
        name=name, layout=layout, residual=of_root if minimized is None else of_minimum,
        value=None if minimized is None else minimized_value, **settings,
    )  # fmt: skip
    if given is not None:
        problem.preconditioner = lambda r, x, leaves: given(r, x, *args_of(leaves))
    start = x0_arrays(x0)

    def find_solution(numbers: NumpyProblem, starts: Sequence[Any], host: Sequence[Any]) -> Vector:
        known = iter(starts)
        from_x0 = [next(known) if isinstance(x, Array) else x for x in nest.leaves(x0)]
        begin = nest.pack_nesting(x0, from_x0)
        if solver is None:
            return default(numbers, layout.host_vector(begin))
        with only_recorders():
            found = solver(begin, *args_of(host))
            return layout.host_vector(
                nest.pack_nesting(found, list(map(as_numpy, nest.leaves(found))))
            )

    return layout.nested(solve_recorded(problem, start, leaves, find_solution), cast=True)


def cast_residual(v: Array, r: Array) -> Array:
    """Return the residual r in the dtype of the vector v, in which the solution is computed."""
    return r if r.dtype == v.dtype else xp.astype(r, v.dtype)


def check_settings(name: str, solver: Solver | None, settings: dict[str, Any]) -> None:
    """Check the user's keywords of a solver; replace ``tol``, ``rcond`` and ``rtol`` by floats.

    Raises TypeError or ValueError if a keyword has a wrong type or value.
    name : the public function, for messages.
    solver : the user's solver, or None.
    """
    for what, f in (("solver", solver), ("preconditioner", settings.get("preconditioner"))):
        if f is not None:
            check_callable(name, what, f)
    for what in ("matrix_free", "symmetric", "polish"):
        if not isinstance(settings.get(what, False), bool | np.bool):
            raise TypeError(
                f"{name}: {what} must be True or False, got {describe(settings[what])} "
                f"[at {user_line()}]"
            )
    for what in ("tol", "rcond", "rtol"):
        value = settings.get(what, 1.0)
        if value is None and what == "rcond":
            continue
        if isinstance(value, bool) or not isinstance(value, int | float | np.number):
            raise TypeError(
                f"{name}: {what} must be a number, got {describe(value)} [at {user_line()}]"
            )
        if not 0.0 < value < np.inf and not (what == "rcond" and value == 0.0):
            raise ValueError(
                f"{name}: {what} must be positive, got {describe(value)} [at {user_line()}]"
            )
        if what in settings:
            settings[what] = float(value)
    most = unwrap_option(settings.get("maxiter"))
    if most is not None and (isinstance(most, bool) or not isinstance(most, int) or most < 1):
        raise ValueError(
            f"{name}: maxiter must be a positive integer, got {describe(most)} [at {user_line()}]"
        )


def check_callable(name: str, what: str, f: Callable[..., Any]) -> None:
    """Raise TypeError if f, given as the argument ``what`` of ``name``, is not callable."""
    if not callable(f):
        raise TypeError(f"{name}: {what} must be a function, got {describe(f)} [at {user_line()}]")
