"""odeint: initial value problems, solved and differentiated."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np

import arraytape as xp

from .._array.array import Array
from .._record.stack import recorders
from .._util.errors import TapeWarning, describe, entrance, short_repr, stacklevel, user_line
from ._field import Field, on_host, refuse_batched

FINISHED = "The solver successfully reached the end of the integration interval."


@entrance
def odeint(
    f: Callable[..., Any],
    t_span: Any,
    y0: Any,
    method: Any = "RK45",
    t_eval: Any = None,
    dense_output: bool = False,
    *,
    args: Any = (),
    rtol: Any = None,
    atol: Any = None,
    first_step: float | None = None,
    max_step: float = math.inf,
    jac: Any = None,
    events: Any = None,
    vectorized: bool = False,
    adjoint: str = "discrete",
) -> Any:
    """Solve ``dy/dt = f(t, y, *args)``, y(t0) = y0, as ``scipy.integrate.solve_ivp``, with derivatives.

    Values, steps, messages and counts are those of ``solve_ivp``, which takes the steps.  Under a
    tape the accepted steps are taken once more on Arrays.

    Parameters
    ----------
    f : Callable
        ``f(t, y, *args)`` gives dy/dt as an Array in the shape of y, or a list of Arrays and numbers;
        t is an Array of shape ().  It may use watched Arrays and Variables from outside.
    t_span : sequence of two
        Where to start and to end: numbers or Arrays of shape ().
    y0 : Array
        The initial state, real or complex, of any shape.
    method : str, default: "RK45"
        SciPy's "RK45", "RK23", "DOP853" (explicit, adaptive), "Radau" (implicit, for stiff systems),
        or its classes; "RK4", "Euler" (fixed steps).  "BDF" and "LSODA" with the continuous adjoint.
    t_eval : array, optional
        The times at which to give the state, by the method's own interpolant.  By default the ends of
        all steps.
    dense_output : bool, default: False
        Whether to give ``sol``, too.
    args : tuple, default: ()
        More arguments of f: Arrays, nestings of them, anything else.
    rtol, atol : float, optional
        Relative and absolute tolerance of a step's error: 1e-3 and 1e-6, as SciPy's.
    first_step : float, optional
        The length of the first step; by default the solver chooses it.
    max_step : float, default: inf
        The longest step allowed.  Methods of fixed steps take the smallest number of equal steps that
        are not longer.
    jac : optional
        df/dy for an implicit method: ``jac(t, y, *args)`` or a matrix, as SciPy takes it.  By default
        SciPy finds it by differences.
    events : None
        Not there: see Notes.
    vectorized : bool, default: False
        Not there: f is given one y.
    adjoint : {"discrete", "continuous"}, default: "discrete"
        How to differentiate: see Notes.

    Returns
    -------
    OptimizeResult
        ``t`` of shape (T,), ``y`` of shape ``(*y0.shape, T)``, ``sol`` (None without ``dense_output``),
        ``nfev``, ``njev``, ``nlu``, ``status`` (-1: a step failed; 0: the end was reached),
        ``message``, ``success``, and ``t_events``, ``y_events``, which are None.

    Raises
    ------
    ImportError
        When SciPy is not installed.
    NotImplementedError
        For events, ``vectorized``, and a method that has no derivative.
    TypeError
        When f gives anything but arrays; for adaptive steps under ``vmap``.
    ValueError
        When f gives another shape, and for what ``solve_ivp`` refuses.
    RuntimeError
        In the backward pass of the continuous adjoint: when the solver fails there.

    Notes
    -----
    "discrete" differentiates the steps as they were taken: the gradient is that of the numbers which
    were computed, with respect to y0, args, what f uses from outside, t_span and t_eval, to any order
    and in both modes.  The lengths of adaptive steps are constants: all nodes move with t0, and the
    last one with t1.  Fixed steps are equal parts of the span.  A tape keeps about sqrt(steps) states,
    and in the backward pass each piece of as many steps runs again.

    "continuous" solves the adjoint equation backward in time, from one output to the one before, with
    the same method and tolerances.  A tape keeps y at the outputs alone.  The gradient is that of the
    exact solution, up to errors of the size of the tolerances.

    The time of an event is the root of a function of ``sol``: see docs/odes.md.

    A solver that fails gives ``status`` -1 and what it has computed so far, as SciPy's; under a tape a
    TapeWarning says so, too.

    Sources: Hairer, Norsett, Wanner, "Solving Ordinary Differential Equations I", sections II.4, II.6;
    Hairer, Wanner, "... II", section IV.8; Chen et al. 2018, "Neural Ordinary Differential Equations".

    Examples
    --------
    >>> import arraytape as xp
    >>> def end(rate):
    ...     found = xp.implicit.odeint(
    ...         lambda t, y, r: -r * y, (0, 2), [1.0], args=(rate,), rtol=1e-9, atol=1e-9
    ...     )
    ...     return found.y[0, -1]
    >>> round(float(xp.grad(end)(xp.asarray(0.5))), 6)  # -2 exp(-1)
    -0.735759
    """
    for name, given in (("events", events is not None), ("vectorized", vectorized)):
        if given:
            raise NotImplementedError(refusal(name))
    options = {
        "rtol": rtol,
        "atol": atol,
        "first_step": first_step,
        "max_step": max_step,
        "jac": jac,
    }
    problem = problem_of(f, t_span, y0, method, t_eval, dense_output, args, options, adjoint)
    if problem.span[0] == problem.span[1]:
        return standing(problem)
    if problem.method.name == "Radau" and recorders():  # whose steps call f in a solver, unseen
        problem.field(problem.span[0], problem.y0, problem.args)
        problem.field.calls = 0
    if adjoint == "continuous":
        from ._adjoint import prepare

        prepare(problem)
    solve = adaptive if problem.method.adaptive else fixed
    return solve(problem, adjoint == "continuous")


def refusal(name: str) -> str:
    """Why there are no events and no vectorized f, and what to do."""
    if name == "events":
        return (
            f"odeint: events are not there [at {user_line()}]. Ask for dense_output=True and find "
            "the time with arraytape.implicit.root, as a root of a function of sol(t): docs/odes.md "
            "shows how"
        )
    return (
        f"odeint: vectorized is not there [at {user_line()}]: f is called with one y at a time. Leave "
        "it out"
    )


# --- what is asked for --------------------------------------------------------------------------------
def problem_of(
    f: Callable[..., Any],
    t_span: Any,
    y0: Any,
    method: Any,
    t_eval: Any,
    dense: bool,
    args: Any,
    options: dict[str, Any],
    adjoint: str,
) -> Any:
    """The arguments as a Problem; errors for what cannot be solved."""
    if not callable(f):
        raise TypeError(f"odeint: f must be a function, got {describe(f)} [at {user_line()}]")
    if adjoint not in ("discrete", "continuous"):
        raise ValueError(
            f"odeint: adjoint must be 'discrete' or 'continuous', got {short_repr(adjoint)} "
            f"[at {user_line()}]"
        )
    if dense and adjoint == "continuous":
        raise NotImplementedError(
            "odeint: dense_output has no derivative by the continuous adjoint "
            f"[at {user_line()}]: name the times in t_eval, or use adjoint='discrete'"
        )
    chosen = method_of(method, adjoint)
    start = state_of(y0, chosen.adaptive)
    field = Field(f, start)
    ends, span = ends_of(t_span)
    points, at = points_of(field, t_eval, span)
    from ._steps import Problem

    return Problem(
        field=field, y0=xp.reshape(start, (-1,)), ends=ends, span=span, points=points, at=at,
        args=args_of(args), method=chosen, options=options_of(chosen, options), dense=bool(dense),
    )  # fmt: skip


def method_of(method: Any, adjoint: str) -> Any:
    """The method of this name, or of this class of SciPy's; an error lists those that there are."""
    try:
        from ._methods import METHODS, WITHOUT_STEPS
    except ImportError as error:
        raise ImportError("odeint needs SciPy: pip install scipy") from error
    known = [*METHODS, *(WITHOUT_STEPS if adjoint == "continuous" else ())]
    for one in known:
        if (isinstance(method, str) and one.name == method) or one.solver is method:
            return one
    names = ", ".join(repr(one.name) for one in known)
    name = getattr(method, "__name__", method)
    if any(one.name == name for one in WITHOUT_STEPS):
        raise NotImplementedError(
            f"odeint: the steps of {name} cannot be differentiated [at {user_line()}]: use "
            "method='Radau', which is for stiff systems, too, or adjoint='continuous'"
        )
    raise ValueError(
        f"odeint: method must be one of {names}, or SciPy's class of one of these, got "
        f"{short_repr(method)} "
        f"[at {user_line()}]"
    )


def state_of(y0: Any, double: bool) -> Array:
    """y0 as an Array of floating-point numbers, in double precision where SciPy takes the steps."""
    start = y0 if isinstance(y0, Array) else xp.asarray(y0)
    if start.dtype.kind not in "biufc":
        raise TypeError(
            f"odeint: y0 must be an array of numbers, got {describe(y0)} [at {user_line()}]"
        )
    if start.dtype.kind in "fc" and not double:
        return start
    wanted = xp.complex128 if start.dtype.kind == "c" else xp.float64
    return start if start.dtype == wanted else xp.astype(start, wanted)


def ends_of(t_span: Any) -> tuple[tuple[Any, Any], tuple[float, float]]:
    """The two ends as they were given, and as floats."""
    try:
        first, last = t_span
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"odeint: t_span must be a pair (start, end), got {short_repr(t_span)} [at {user_line()}]"
        ) from error
    span = []
    for end in (first, last):
        value = on_host(end, "an end of t_span") if isinstance(end, Array) else np.asarray(end)
        if value.shape != () or value.dtype.kind not in "biuf" or not np.isfinite(value):
            raise ValueError(
                f"odeint: the ends of t_span must be finite real numbers, got {short_repr(end)} "
                f"[at {user_line()}]"
            )
        span.append(float(value))
    return (first, last), (span[0], span[1])


def points_of(field: Field, t_eval: Any, span: tuple[float, float]) -> tuple[Any, Any]:
    """t_eval as an Array and its values; ValueError for what ``solve_ivp`` refuses."""
    if t_eval is None:
        return None, None
    points = xp.astype(field.asarray(t_eval, None), field.real)
    at = on_host(points, "t_eval").astype(np.float64)
    steps = np.diff(at) if at.ndim == 1 else at
    if at.ndim != 1:
        wrong = f"must be 1-dimensional, got shape {at.shape}"
    elif not np.all((at >= min(span)) & (at <= max(span))):
        wrong = "has values that are not within t_span"
    elif np.any(steps <= 0 if span[1] > span[0] else steps >= 0):
        wrong = "must be sorted from t_span's first end to the other, without repetitions"
    else:
        return points, at
    raise ValueError(f"odeint: t_eval {wrong} [at {user_line()}]")


def args_of(args: Any) -> tuple[Any, ...]:
    """The further arguments of f; a TypeError, as SciPy's, for what is no tuple."""
    if args is None:
        return ()
    try:
        return (*args,)
    except TypeError as error:
        raise TypeError(
            f"odeint: args must be a tuple, got {describe(args)} [at {user_line()}]; write args=(x,)"
        ) from error


def options_of(method: Any, options: dict[str, Any]) -> dict[str, Any]:
    """The options that were given; ValueError for those that a method has not."""
    given = {
        name: value
        for name, value in options.items()
        if value is not None and not (name == "max_step" and value == math.inf)
    }
    if method.adaptive:
        return given
    wrong = [name for name in given if name != "max_step"]
    if wrong:
        raise ValueError(
            f"odeint: {method.name} takes fixed steps and has no {wrong[0]} [at {user_line()}]; their "
            "length is max_step"
        )
    step = given.get("max_step")
    if not isinstance(step, int | float | np.number) or not step > 0:
        raise ValueError(
            f"odeint: {method.name} takes fixed steps: pass max_step, a positive number, got "
            f"{short_repr(step)} [at {user_line()}]"
        )
    return given


# --- answers ------------------------------------------------------------------------------------------
def adaptive(problem: Any, continuous: bool) -> Any:
    """SciPy's steps, once more on Arrays where a recorder may follow them."""
    from ._scipy import run
    from ._steps import Mesh, replay

    refuse_batched(problem.y0, "y0")
    refuse_batched(problem.args, "one of args")
    result, nodes, hints = run(problem)
    if result.status < 0 and recorders():
        warnings.warn(
            f"odeint stopped at t = {nodes[-1]} of {problem.span}: {result.message} The result, and its "
            "gradient, are those of the part before",
            TapeWarning,
            stacklevel=stacklevel(),
        )
    field, count = problem.field, len(result.t)
    y = field.asarray(np.reshape(result.y, (problem.y0.shape[0], count)), problem.y0.dtype)
    if problem.at is not None:
        problem.points, problem.at = problem.points[:count], problem.at[:count]
    mesh = Mesh.of_steps(nodes, result.status == 0)
    found = None
    if continuous:
        y = by_adjoint_of(problem, y, mesh)
    elif recorders() or problem.dense:
        found = replay(problem, mesh, hints)
        y = by_value(y, found.states if problem.at is None else found.values)
    return answer(problem, y, mesh, found, result)


def by_value(values: Array, rows: Array | None) -> Array:
    """SciPy's values, bit for bit, with the derivatives of the steps on Arrays."""
    if rows is None:
        return values
    y: Array = xp.grad_pass_through(lambda y: values)(xp.matrix_transpose(rows))
    return y


def by_adjoint_of(problem: Any, values: Array, mesh: Any) -> Array:
    """Values with the derivatives of the adjoint problem."""
    from ._adjoint import by_adjoint

    times = mesh.as_array(problem) if problem.points is None else problem.points
    variables = problem.field.alone.collect()
    rows = by_adjoint(odeint, problem, xp.matrix_transpose(values), times, variables)
    return xp.matrix_transpose(rows)


def fixed(problem: Any, continuous: bool) -> Any:
    """Equal steps, on Arrays alone: also under ``vmap`` and in an ``xp.function``."""
    from ._steps import Mesh, replay

    mesh = Mesh.equal(problem.span, float(problem.options["max_step"]))
    with problem.field.alone() if continuous else nullcontext():
        found = replay(problem, mesh)
    rows = found.states if problem.at is None else found.values
    if rows is None:
        rows = xp.zeros((0, problem.y0.shape[0]), dtype=problem.y0.dtype)
    y = xp.matrix_transpose(rows)
    y = by_adjoint_of(problem, y, mesh) if continuous else y
    return answer(problem, y, mesh, found, None)


def standing(problem: Any) -> Any:
    """A span of length 0, in which y0 moves with the ends and t_eval alone."""
    from ._steps import Mesh

    field, y0 = problem.field, problem.y0
    mesh = Mesh.of_steps([*problem.span], finished=True)
    first, last = (field.asarray(end, field.real) for end in problem.ends)
    slope = field(first, y0, problem.args)

    def at(t: Any) -> Array:
        y: Array = xp.expand_dims(y0, axis=-1) + (t - first) * xp.expand_dims(slope, axis=-1)
        return y

    def sol(t: Any) -> Array:
        times = field.asarray(t, field.real)
        return xp.reshape(at(xp.reshape(times, (-1,))), (*field.shape, *times.shape))

    y = at(xp.stack([first, last]) if problem.points is None else problem.points)
    found = answer(problem, y, mesh, None, None)
    found.sol = sol if problem.dense else None
    return found


def answer(problem: Any, y: Array, mesh: Any, found: Any, result: Any) -> Any:
    """What ``solve_ivp`` gives, with Arrays.

    found : the steps on Arrays, if they were taken.  result : SciPy's answer, if it took them.
    """
    from scipy.optimize import OptimizeResult

    from ._steps import OdeSolution

    shape = (*problem.field.shape, y.shape[-1])
    of_scipy = {} if result is None else result
    return OptimizeResult(
        t=mesh.as_array(problem) if problem.points is None else problem.points,
        y=y if y.shape == shape else xp.reshape(y, shape),
        sol=OdeSolution(problem, mesh, found) if problem.dense and found is not None else None,
        t_events=None, y_events=None,
        nfev=of_scipy.get("nfev", problem.field.calls),
        njev=of_scipy.get("njev", 0), nlu=of_scipy.get("nlu", 0),
        status=of_scipy.get("status", 0), message=of_scipy.get("message", FINISHED),
        success=of_scipy.get("success", True),
    )  # fmt: skip
