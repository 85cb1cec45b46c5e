"""odeint's continuous adjoint: an initial value problem for the gradient, solved backward in time.

``leaves`` are the floating-point Arrays among the arguments of f.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import arraytape as xp

from .._array.array import Array
from .._array.views import current, private_handle
from .._custom.recorder import FunctionRecorder
from .._record.stack import only_recorders, recorders
from .._storage.storage import is_complex
from .._tape.arguments import UnconnectedGradients, differentiable
from .._util import nest
from .._util.errors import user_line
from ._layouts import VmapExamples
from ._steps import OdeProblem, refuse_change

if TYPE_CHECKING:
    import numpy.typing as npt

NAME = "odeint(adjoint='continuous')"
TOLERANCES = {"rtol": 1e-3, "atol": 1e-6}  # SciPy's defaults
ZERO = UnconnectedGradients.ZERO


class HiddenCalls:
    """A factory of contexts in which tapes outside of odeint do not record the ops of odeint's f.

    The gradient comes from the adjoint equation instead.  In such a context f raises an error if it uses
    a watched Array that is not among ``leaves``, the arguments of odeint.

    Attributes
    ----------
    variables
        A list of the trainable Variables that f has read.
    """

    def __init__(self, leaves: Sequence[Any]) -> None:
        arrays = [leaf for leaf in leaves if isinstance(leaf, Array)]
        self.value_ids, self.hidden = [current(x)[0] for x in arrays], recorders()
        self.seen: list[FunctionRecorder] = []
        self.variables: list[Any] = []

    def __call__(self) -> Any:
        self.collect()
        if not self.hidden:
            return only_recorders()
        self.seen = [FunctionRecorder(NAME, self.value_ids, self.hidden, keeps_records=False)]
        return only_recorders(*self.seen)

    def collect(self) -> list[Any]:
        """Return the Variables that f has read so far, which get gradients, too."""
        for recorder in self.seen:
            known = {id(v) for v in self.variables}
            self.variables += [v for v in recorder.variables if id(v) not in known]
        return self.variables


def isolate_problem(problem: OdeProblem) -> None:
    """Replace the problem's arrays by private copies, and hide the calls of f from outer tapes.

    Views are copied, too: a read of a view would count as a use of the Array that it shows.
    problem : the checked arguments of odeint.
    """
    inputs = (problem.y0, problem.ends, problem.points, problem.args)
    leaves = [own_value(x) for x in nest.leaves(inputs)]
    problem.y0, problem.ends, problem.points, problem.args = nest.pack_nesting(inputs, leaves)
    problem.field.hide_calls = HiddenCalls(leaves)


def own_value(x: Any) -> Any:
    """Return a private copy of an array; other objects as they are."""
    if isinstance(x, Array):
        return private_handle(x)
    return x.copy() if isinstance(x, np.ndarray) else x


class AdjointEquation:
    """The adjoint equation, solved from the time of each output back to that of the output before.

    The state z is one vector of y, a = dL/dy, and the gradients of L with respect to ``leaves`` and
    ``variables``.
    Source: Pontryagin et al. 1962; Chen et al. 2018, "Neural Ordinary Differential Equations", sec. 2.

    Parameters
    ----------
    odeint
        The function that solves the equation; its own derivatives give higher orders.
    leaves
        The floating-point Arrays among the arguments of f.
    """

    def __init__(
        self,
        odeint: Callable[..., Any],
        problem: OdeProblem,
        leaves: Sequence[Array],
        variables: Sequence[Any],
    ) -> None:
        self.odeint, self.problem, self.variables = odeint, problem, variables
        self.layouts = [(x.shape, x.dtype) for x in (problem.y0, problem.y0, *leaves, *variables)]
        kinds = [dtype for _, dtype in self.layouts]
        self.dtype = xp.result_type(*kinds)

    def pack_state(self, parts: Sequence[Array]) -> Array:
        """Return the state z of the adjoint equation: these Arrays as one vector, in z's dtype."""
        return xp.concat([xp.reshape(xp.astype(x, self.dtype), (-1,)) for x in parts])

    def unpack_state(self, z: Array) -> list[Array]:
        """Return y, its cotangent and the gradients of which z consists, each in its shape."""
        found, start = [], 0
        for shape, dtype in self.layouts:
            stop = start + int(np.prod(shape))
            part = xp.reshape(z[start:stop], shape)
            if is_complex(part) and dtype.kind != "c":
                part = xp.real(part)
            found.append(part if part.dtype == dtype else xp.astype(part, dtype))
            start = stop
        return found

    def adjoint_slope(self, t: Array, z: Array, leaves: list[Array]) -> Array:
        """Return dz/dt, where z packs the state y, its cotangent a, and a gradient for each leaf p.

        dy/dt is f, da/dt is -a df/dy, and the gradients have the slopes -a df/dp.
        """
        y, a = self.unpack_state(z)[:2]
        targets = [y, *leaves, *self.variables]
        with xp.GradientTape() as tape:
            tape.watch([y, *leaves])
            f = self.problem.field(t, y, field_arguments(self.problem, leaves))
        found = tape.gradient(f, targets, output_gradients=a, unconnected_gradients=ZERO)
        return self.pack_state([f, *(-g for g in found)])

    def solve_span(self, z: Array, span: tuple[Array, Array], leaves: list[Array]) -> Array:
        """Integrate ``adjoint_slope`` from z at the start of ``span``, and return z at its end.

        Raises RuntimeError if the solver fails.
        """
        problem = self.problem
        options = {
            name: self.spread_tolerance(value) if name in ("rtol", "atol") else value
            for name, value in problem.options.items()
            if name not in ("jac", "first_step")
        }
        method = problem.method.solver if problem.method.adaptive else problem.method.name
        try:
            found = self.odeint(
                self.adjoint_slope, span, z, method, span[1:], args=(leaves,), adjoint="continuous",
                **options,
            )  # fmt: skip
        except (
            ValueError,
            np.linalg.LinAlgError,
        ) as error:  # Radau and BDF raise them for overflows
            raise self.unsolved(span, str(error)) from error
        if found.status < 0:
            raise self.unsolved(span, found.message)
        end: Array = found.y[:, -1]
        return end

    def check_return(
        self, back: Array, state: Array, known: Array, span: tuple[Array, Array]
    ) -> None:
        """Raise RuntimeError if ``back``, y as solved backward, differs from the output ``known``.

        An error of y is an error of the gradient, too.  If solutions of a system approach each other,
        errors grow exponentially backward in time.
        state : y at the start of the backward solution.
        span : the times at which the backward solution begins and ends.
        back : y at the end of the backward solution.
        """
        rtol, atol = (float(np.max(self.problem.options.get(n, d))) for n, d in TOLERANCES.items())
        with only_recorders():
            size = xp.maximum(xp.max(xp.abs(known)), xp.max(xp.abs(state))) + atol / rtol
            errors = xp.max(xp.abs(back - known)) / size
        allowed = max(0.01, 10 * rtol)
        worst = max((float(error) for (error,) in VmapExamples(NAME, [errors])), default=0.0)
        if not worst <= allowed:
            raise self.unsolved(
                span,
                f"y, solved backward, differs from y before by a relative error of {worst:.1e}, and "
                f"{allowed:.1e} is allowed.",
            )

    def unsolved(self, span: tuple[Array, Array], why: str) -> RuntimeError:
        """Return the error for a backward solution that failed in ``span``, for the reason ``why``."""
        first, last = (next(iter(VmapExamples(NAME, [end])))[0] for end in span)
        return RuntimeError(
            f"{NAME}: the backward problem could not be solved from t = {float(first)} to "
            f"{float(last)}: {why} [at {user_line()}] A stiff system is unstable backward in time: use "
            "adjoint='discrete', or more times in t_eval, where y starts anew, or smaller tolerances"
        )

    def spread_tolerance(self, tolerance: npt.ArrayLike) -> Any:
        """Return the tolerance for the state z, which begins with y, given the tolerance for y.

        A number stays as it is.  A vector, with one element for each element of y, is extended to the
        length of z by its smallest element.
        """
        given = np.asarray(tolerance)
        if given.ndim == 0:
            return tolerance
        rest = sum(int(np.prod(shape)) for shape, _ in self.layouts[1:])
        return np.concat([given, np.full(rest, given.min(initial=np.inf))])


def field_arguments(problem: OdeProblem, leaves: Sequence[Array]) -> Any:
    """Return the arguments of f with ``leaves`` in place of the Arrays that have a derivative.

    problem : the checked arguments of odeint.
    leaves : floating-point Arrays, such as those of a repeated call.
    """
    others = iter(leaves)
    given = nest.leaves(problem.args)
    return nest.pack_nesting(
        problem.args, [next(others) if has_derivative(x) else x for x in given]
    )


def has_derivative(x: Any) -> bool:
    return isinstance(x, Array) and differentiable(x)


def outputs_with_adjoint(
    odeint: Callable[..., Any],
    problem: OdeProblem,
    rows: Array,
    times: Array,
    variables: Sequence[Any],
) -> Array:
    """Return ``rows``, the outputs of odeint, as one recorded op, whose VJP solves the adjoint equation.

    rows : y at ``times``, of shape (T, n).
    variables : the Variables that f has read, which get gradients, too.
    odeint : the function, which also solves the adjoint equation.
    """
    chosen = [x for x in nest.leaves(problem.args) if has_derivative(x)]
    start = problem.field.as_state_array(problem.ends[0], times.dtype)

    def odeint_outputs(y0: Array, t0: Array, times: Array, *leaves: Array) -> tuple[Array, Any]:
        for variable in variables:
            xp.positive(variable)  # a read, by which custom_gradient learns of the Variable
        y = xp.positive(rows)
        slopes = end_slopes(problem, (y0, y), (t0, times), leaves) if recorders() else []

        def pull_outputs(dy: Array, variables: Sequence[Any] = ()) -> tuple[list[Any], list[Any]]:
            if slopes:
                again = end_slopes(problem, (y0, y), (t0, times), leaves)
                for now, before in zip(again, slopes, strict=True):
                    refuse_change(now, before, "it ran again for the gradient: the slope")
            adjoint = AdjointEquation(odeint, problem, leaves, variables)
            return adjoint_gradients(adjoint, (y0, y), (t0, times), dy, list(leaves))

        def pull_without_variables(dy: Array) -> list[Any]:
            return pull_outputs(dy)[0]

        return y, pull_outputs if variables else pull_without_variables

    odeint_outputs.__name__ = odeint_outputs.__qualname__ = "odeint"  # the name in error messages
    return xp.custom_gradient(odeint_outputs)(
        problem.y0, xp.astype(start, times.dtype), times, *chosen
    )


def adjoint_gradients(
    adjoint: AdjointEquation,
    states: tuple[Array, Array],
    at: tuple[Array, Array],
    dy: Array,
    leaves: list[Array],
) -> tuple[list[Any], list[Any]]:
    """Return gradients of a loss L with respect to (y0, t0, times, *leaves), and to the Variables.

    states : y0 and the outputs.
    at : t0 and the times of the outputs.
    dy : dL/d(outputs).
    adjoint : the adjoint equation of the problem.
    """
    (y0, y), (t0, times) = states, at
    problem = adjoint.problem
    a = xp.zeros_like(y0)
    rest = [xp.zeros_like(x) for x in (*leaves, *adjoint.variables)]
    of_times = []
    args = field_arguments(problem, leaves)
    for i in range(y.shape[0] - 1, -1, -1):
        t, state = times[i], y[i, :]
        of_times.append(time_derivative(dy[i, :], problem.field(t, state, args), t))
        a = a + dy[i, :]
        z = adjoint.pack_state([state, a, *rest])
        span = t, times[i - 1] if i else t0
        back, a, *rest = adjoint.unpack_state(adjoint.solve_span(z, span, leaves))
        if y0.shape[0]:
            adjoint.check_return(back, state, y[i - 1, :] if i else y0, span)
    of_start = -time_derivative(a, problem.field(t0, y0, args), t0)
    by_time = xp.stack(of_times[::-1]) if of_times else xp.zeros_like(times)
    parts = rest[: len(leaves)]
    return [a, of_start, by_time, *parts], rest[len(leaves) :]


def end_slopes(
    problem: OdeProblem,
    states: tuple[Array, Array],
    at: tuple[Array, Array],
    leaves: Sequence[Array],
) -> list[Any]:
    """Return the values of f at y0 and at the last output, to check later that f has not changed.

    states : y0 and the outputs.
    at : t0 and the times of the outputs.
    """
    (y0, y), (t0, times) = states, at
    args, calls = field_arguments(problem, leaves), problem.field.calls
    ends = [(t0, y0)] + ([(times[-1], y[-1, :])] if y.shape[0] else [])
    with only_recorders():
        slopes = [problem.field(t, state, args) for t, state in ends]
    problem.field.calls = calls
    return [np.stack([value for (value,) in VmapExamples(NAME, [slope])]) for slope in slopes]


def time_derivative(g: Array, slope: Array, t: Array) -> Array:
    """Return dL/dt for a loss L and a time t, given g = dL/dy and slope = dy/dt.

    It is the sum of g * slope.
    """
    _, pull = xp.vjp(lambda s: s * slope, xp.zeros_like(t))
    found: Array = pull(g)[0]
    return found
