"""The function odeint: initial value problems, solved and differentiated."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

import arraytape as xp

from .._array.array import Array
from .._record.stack import recorders
from .._util.errors import TapeWarning, describe, entrance, short_repr, stacklevel, user_line
from .._util.imports import import_or_advise
from ._field import Field, refuse_batched, values_on_host

if TYPE_CHECKING:
    import numpy.typing as npt
    from scipy.integrate import OdeSolver
    from scipy.optimize import OptimizeResult

    from ._methods import SteplessMethod
    from ._runge_kutta import ExplicitMethod
    from ._steps import Mesh, OdeProblem, RetakenSteps

FINISHED = "The solver successfully reached the end of the integration interval."


@entrance
def odeint(
    f: Callable[..., Any], t_span: Sequence[Array | float], y0: Array | npt.ArrayLike,
    method: str | type[OdeSolver] = "RK45", t_eval: Array | npt.ArrayLike | None = None,
    dense_output: bool = False, *, args: tuple[Any, ...] = (), rtol: npt.ArrayLike | None = None,
    atol: npt.ArrayLike | None = None, first_step: float | None = None, max_step: float = math.inf,
    jac: Callable[..., Any] | npt.ArrayLike | None = None, events: None = None,
    vectorized: bool = False, adjoint: str = "discrete",
    callback: Callable[[float, Array], Any] | None = None,
) -> Any:  # fmt: skip
    """Solve ``dy/dt = f(t, y, *args)``, y(t0) = y0, as ``scipy.integrate.solve_ivp``, with derivatives.

    Values, steps, messages and counts are those of ``solve_ivp``, which is called first.  Under a
    tape the steps that it accepted are then repeated on Arrays.

    Parameters
    ----------
    f : Callable
        ``f(t, y, *args)`` returns dy/dt as an Array in the shape of y, or a list of Arrays and numbers;
        t is an Array of shape ().  f may also use watched Arrays and Variables from outside, but with
        "Radau" they must be in ``args``, and with the continuous adjoint watched Arrays must.
    t_span : sequence of two
        Start and end: numbers or Arrays of shape ().
    y0 : Array
        The initial state, real or complex, of any shape.
    method : str, default: "RK45"
        SciPy's "RK45", "RK23", "DOP853" (explicit, adaptive), "Radau" (implicit, for stiff systems),
        or SciPy's classes of these names; "RK4" or "Euler" (fixed steps).  With the continuous adjoint
        also "BDF" and "LSODA".
    t_eval : array, optional
        The times at which to return the state, interpolated by the method's own polynomial.  By
        default the ends of all steps.
    dense_output : bool, default: False
        If True, the result has ``sol``, a function of time that returns the state.
    args : tuple, default: ()
        Further arguments of f: Arrays, nestings of Arrays, and any other objects.
    rtol, atol : float, optional
        Relative and absolute tolerance of a step's error; by default SciPy's 1e-3 and 1e-6.
    first_step : float, optional
        The length of the first step; by default the solver chooses it.
    max_step : float, default: inf
        The longest step allowed.  Methods of fixed steps take the smallest number of equal steps that
        are not longer.
    jac : optional
        df/dy for an implicit method: ``jac(t, y, *args)`` or a matrix, as in SciPy.  By default
        SciPy estimates it by finite differences.
    events : None
        Not supported: see Notes for what to do instead.
    vectorized : bool, default: False
        Not supported: f is called with one y.
    adjoint : {"discrete", "continuous"}, default: "discrete"
        The method of differentiation: see Notes.
    callback : Callable, optional
        ``callback(t, y)`` is called after each accepted step with the time, a float, and a copy of the
        state, for example to show progress.  Backward passes do not call it.

    Returns
    -------
    OptimizeResult
        ``t`` of shape (T,), ``y`` of shape ``(*y0.shape, T)``, ``sol`` (None without ``dense_output``),
        ``nfev``, ``njev``, ``nlu``, ``status`` (-1: a step failed; 0: t_span's end was reached),
        ``message``, ``success``, and ``t_events``, ``y_events``, which are None.

    Raises
    ------
    ImportError
        When SciPy is not installed.
    NotImplementedError
        For events, ``vectorized``, and a method that has no derivative.
    TypeError
        When f returns anything but arrays; for adaptive steps under ``vmap``.
    ValueError
        When f returns another shape than y's, and for arguments that ``solve_ivp`` refuses.
    RuntimeError
        In the backward pass of the continuous adjoint: when the solver fails there.

    Notes
    -----
    "discrete" differentiates the steps as they were taken, so that the gradient is exact for the
    computed numbers.  Sources are y0, args, t_span, t_eval, and watched Arrays that f uses, to any order
    and in both modes.  The lengths of adaptive steps are constants: the ends of all steps move with t0,
    but the last end is t1.  Fixed steps are equal parts of the span.  A tape keeps about sqrt(steps)
    states, and the backward pass runs the steps between two of these states again.

    "continuous" solves the adjoint equation backward in time, from each output to the one before, with
    the same method and tolerances.  A tape keeps only y at the outputs.  The gradient is that of the
    exact solution, up to errors of the size of the tolerances.

    In place of ``events``, solve for the root of a function of ``sol``: see docs/howto/odes.md.

    If the solver fails, the result has ``status`` -1 and the states computed before, as in SciPy; under
    a tape there is a TapeWarning, too.

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
            raise NotImplementedError(refusal_message(name))
    if callback is not None and not callable(callback):
        raise TypeError(
            f"odeint: callback must be a function, got {describe(callback)} [at {user_line()}]"
        )
    options = {
        "rtol": rtol, "atol": atol, "first_step": first_step, "max_step": max_step, "jac": jac,
    }  # fmt: skip
    problem = make_problem(f, t_span, y0, method, t_eval, dense_output, args, options, adjoint)
    problem.callback = callback
    if problem.span[0] == problem.span[1]:
        return solve_standing(problem)
    # Radau's steps call f inside implicit.root, which hides the calls from recorders.  Call f once here,
    # so that recorders can check f.
    if problem.method.name == "Radau" and recorders():
        problem.field(problem.span[0], problem.y0, problem.args)
        problem.field.calls = 0
    if adjoint == "continuous":
        from ._adjoint import isolate_problem

        isolate_problem(problem)
    solve = solve_adaptive if problem.method.adaptive else solve_fixed
    return solve(problem, adjoint == "continuous")


def refusal_message(name: str) -> str:
    """Return the error message for an option of ``solve_ivp`` that odeint does not support."""
    if name == "events":
        return (
            f"odeint: events are not supported [at {user_line()}]. Ask for dense_output=True and find "
            "the time with arraytape.implicit.root, as a root of a function of sol(t): "
            "docs/howto/odes.md shows how"
        )
    return (
        f"odeint: leave out vectorized: it is not supported [at {user_line()}], because f is called "
        "with one y at a time"
    )


# --- checks of the arguments --------------------------------------------------------------------------
def make_problem(
    f: Callable[..., Any], t_span: Sequence[Array | float], y0: Array | npt.ArrayLike,
    method: str | type[OdeSolver], t_eval: Array | npt.ArrayLike | None, dense: bool,
    args: tuple[Any, ...], options: dict[str, Any], adjoint: str,
) -> Any:  # fmt: skip
    """Check odeint's arguments, and return them as an ``OdeProblem``.

    options : the other options of ``solve_ivp``.
    """
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
    chosen = find_method(method, adjoint)
    start = initial_state(y0, chosen.adaptive)
    field = Field(f, start)
    ends, span = span_ends(t_span)
    points, at = evaluation_times(field, t_eval, span)
    from ._steps import OdeProblem

    return OdeProblem(
        field=field, y0=xp.reshape(start, (-1,)), ends=ends, span=span, points=points, at=at,
        args=argument_tuple(args), method=chosen, options=options_given(chosen, options),
        dense=bool(dense),
    )  # fmt: skip


def find_method(method: str | type[OdeSolver], adjoint: str) -> Any:
    """Return the method object for a name or a class of SciPy's; raise an error for other methods.

    adjoint : "discrete" or "continuous"; the latter allows more methods.
    """
    import_or_advise("scipy.integrate", "odeint needs SciPy: pip install scipy")
    from ._methods import METHODS, WITHOUT_STEPS

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


def initial_state(y0: Array | npt.ArrayLike, double: bool) -> Array:
    """Return y0 as a floating-point Array, cast to double precision if ``double`` is True."""
    start = y0 if isinstance(y0, Array) else xp.asarray(y0)
    if start.dtype.kind not in "biufc":
        raise TypeError(
            f"odeint: y0 must be an array of numbers, got {describe(y0)} [at {user_line()}]"
        )
    if start.dtype.kind in "fc" and not double:
        return start
    wanted = xp.complex128 if start.dtype.kind == "c" else xp.float64
    return start if start.dtype == wanted else xp.astype(start, wanted)


def span_ends(t_span: Sequence[Array | float]) -> tuple[tuple[Any, Any], tuple[float, float]]:
    """Return the two ends of t_span as given, and as floats; raise ValueError for other ends."""
    try:
        first, last = t_span
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"odeint: t_span must be a pair (start, end), got {short_repr(t_span)} [at {user_line()}]"
        ) from error
    span = []
    for end in (first, last):
        value = (
            values_on_host(end, "an end of t_span") if isinstance(end, Array) else np.asarray(end)
        )
        if value.shape != () or value.dtype.kind not in "biuf" or not np.isfinite(value):
            raise ValueError(
                f"odeint: the ends of t_span must be finite real numbers, got {short_repr(end)} "
                f"[at {user_line()}]"
            )
        span.append(float(value))
    return (first, last), (span[0], span[1])


def evaluation_times(
    field: Field, t_eval: Array | npt.ArrayLike | None, span: tuple[float, float]
) -> tuple[Any, Any]:
    """Return t_eval as an Array and as NumPy data, or (None, None) if t_eval is None.

    Raises ValueError where ``solve_ivp`` does: times must be sorted, and lie in t_span.
    field : the user's f, which has the dtype and device.
    span : the ends of t_span.
    """
    if t_eval is None:
        return None, None
    points = xp.astype(field.as_state_array(t_eval, None), field.real)
    at = values_on_host(points, "t_eval").astype(np.float64)
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


def argument_tuple(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return ``args`` as a tuple, () for None; raise TypeError, as SciPy does, if not iterable."""
    if args is None:
        return ()
    try:
        return (*args,)
    except TypeError as error:
        raise TypeError(
            f"odeint: args must be a tuple, got {describe(args)} [at {user_line()}]; write args=(x,)"
        ) from error


def options_given(
    method: ExplicitMethod | SteplessMethod, options: dict[str, Any]
) -> dict[str, Any]:
    """Return the options of ``solve_ivp`` that are not at their defaults, as a dict.

    Raises ValueError if a method of fixed steps gets other options than max_step, or no max_step.
    """
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


# --- solutions ----------------------------------------------------------------------------------------
def solve_adaptive(problem: OdeProblem, continuous: bool) -> Any:
    """Solve by ``solve_ivp``, and repeat its steps on Arrays for a tape or dense output.

    continuous : True for the continuous adjoint, for which no steps are repeated.
    """
    from ._scipy import run_scipy
    from ._steps import Mesh, retake_steps

    refuse_batched(problem.y0, "y0")
    refuse_batched(problem.args, "one of args")
    result, nodes, hints = run_scipy(problem)
    if result.status < 0 and recorders():
        warnings.warn(
            f"odeint stopped at t = {nodes[-1]} of {problem.span}: {result.message} The result, and its "
            "gradient, are those of the part before",
            TapeWarning,
            stacklevel=stacklevel(),
        )
    field, count = problem.field, len(result.t)
    y = field.as_state_array(np.reshape(result.y, (problem.y0.shape[0], count)), problem.y0.dtype)
    if problem.points is not None and problem.at is not None:
        problem.points, problem.at = problem.points[:count], problem.at[:count]
    mesh = Mesh.of_steps(nodes, result.status == 0)
    found = None
    if continuous:
        y = with_continuous_adjoint(problem, y, mesh)
    elif recorders() or problem.dense:
        found = retake_steps(problem, mesh, hints)
        y = with_scipy_values(y, found.states if problem.at is None else found.values)
    return make_answer(problem, y, mesh, found, result)


def with_scipy_values(values: Array, rows: Array | None) -> Array:
    """Return SciPy's states with the derivatives of ``rows``, the same states computed on Arrays.

    The values then agree with SciPy to the last bit.
    """
    if rows is None:
        return values
    y: Array = xp.grad_pass_through(lambda y: values)(xp.matrix_transpose(rows))
    return y


def with_continuous_adjoint(problem: OdeProblem, values: Array, mesh: Mesh) -> Array:
    """Return ``values``, the states at the output times, with the continuous adjoint as derivative."""
    from ._adjoint import outputs_with_adjoint

    times = mesh.node_array(problem) if problem.points is None else problem.points
    variables = problem.field.hide_calls.collect()
    rows = outputs_with_adjoint(odeint, problem, xp.matrix_transpose(values), times, variables)
    return xp.matrix_transpose(rows)


def solve_fixed(problem: OdeProblem, continuous: bool) -> Any:
    """Solve by equal steps on Arrays.  SciPy's solver is not used, so vmap and ``xp.function`` work.

    continuous : True for the continuous adjoint.
    """
    from ._steps import Mesh, retake_steps

    mesh = Mesh.equal(problem.span, float(problem.options["max_step"]))
    with problem.field.hide_calls() if continuous else nullcontext():
        found = retake_steps(problem, mesh)
    rows = found.states if problem.at is None else found.values
    if rows is None:
        rows = xp.zeros((0, problem.y0.shape[0]), dtype=problem.y0.dtype)
    y = xp.matrix_transpose(rows)
    y = with_continuous_adjoint(problem, y, mesh) if continuous else y
    return make_answer(problem, y, mesh, found, None)


def solve_standing(problem: OdeProblem) -> Any:
    """Return y0 as the result for a t_span of length 0.

    The result has derivatives with respect to the ends of t_span, and to t_eval.
    """
    from ._steps import Mesh

    field, y0 = problem.field, problem.y0
    mesh = Mesh.of_steps([*problem.span], finished=True)
    first, last = (field.as_state_array(end, field.real) for end in problem.ends)
    slope = field(first, y0, problem.args)

    def standing_state(t: Array) -> Array:
        y: Array = xp.expand_dims(y0, axis=-1) + (t - first) * xp.expand_dims(slope, axis=-1)
        return y

    def sol(t: Array | npt.ArrayLike) -> Array:
        times = field.as_state_array(t, field.real)
        return xp.reshape(standing_state(xp.reshape(times, (-1,))), (*field.shape, *times.shape))

    y = standing_state(xp.stack([first, last]) if problem.points is None else problem.points)
    found = make_answer(problem, y, mesh, None, None)
    found.sol = sol if problem.dense else None
    return found


def make_answer(
    problem: OdeProblem,
    y: Array,
    mesh: Mesh,
    found: RetakenSteps | None,
    result: OptimizeResult | None,
) -> Any:
    """Return an OptimizeResult like that of ``solve_ivp``, with Arrays.

    y : the states, of shape (n, T).
    found : the steps that were repeated on Arrays, for dense output, or None.
    result : the result of ``solve_ivp``, or None if SciPy's solver did not run.
    """
    from scipy.optimize import OptimizeResult

    from ._steps import OdeSolution

    shape = (*problem.field.shape, y.shape[-1])
    of_scipy = {} if result is None else result
    return OptimizeResult(
        t=mesh.node_array(problem) if problem.points is None else problem.points,
        y=y if y.shape == shape else xp.reshape(y, shape),
        sol=OdeSolution(problem, mesh, found) if problem.dense and found is not None else None,
        t_events=None, y_events=None,
        nfev=of_scipy.get("nfev", problem.field.calls),
        njev=of_scipy.get("njev", 0), nlu=of_scipy.get("nlu", 0),
        status=of_scipy.get("status", 0), message=of_scipy.get("message", FINISHED),
        success=of_scipy.get("success", True),
    )  # fmt: skip
