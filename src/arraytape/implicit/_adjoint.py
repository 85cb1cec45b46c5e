"""The continuous adjoint: the gradient as another initial value problem, solved backward in time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

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
from ._layouts import Examples
from ._steps import Problem, refuse_change

NAME = "odeint(adjoint='continuous')"
TOLERANCES = {"rtol": 1e-3, "atol": 1e-6}  # SciPy's
ZERO = UnconnectedGradients.ZERO


class Alone:
    """What f does is hidden from outer recorders; a watched Array from outside is refused.

    Attributes
    ----------
    variables
        The trainable Variables that f has read.
    """

    def __init__(self, inputs: Any) -> None:
        arrays = [leaf for leaf in nest.leaves(inputs) if isinstance(leaf, Array)]
        self.tids, self.hidden = [current(x)[0] for x in arrays], recorders()
        self.seen: list[FunctionRecorder] = []
        self.variables: list[Any] = []

    def __call__(self) -> Any:
        """A context for one call of f."""
        self.collect()
        if not self.hidden:
            return only_recorders()
        self.seen = [FunctionRecorder(NAME, self.tids, self.hidden, keeps_records=False)]
        return only_recorders(*self.seen)

    def collect(self) -> list[Any]:
        """The Variables that were read so far."""
        for recorder in self.seen:
            known = {id(v) for v in self.variables}
            self.variables += [v for v in recorder.variables if id(v) not in known]
        return self.variables


def prepare(problem: Problem) -> None:
    """Put values of their own in the place of a problem's arrays, and hide from recorders what f does.

    A view is one of a value from outside, which f may not use; a handle of its own has no base.
    """
    inputs = (problem.y0, problem.ends, problem.points, problem.args)
    leaves = [own_value(x) for x in nest.leaves(inputs)]
    problem.y0, problem.ends, problem.points, problem.args = nest.pack_nesting(inputs, leaves)
    problem.field.alone = Alone(leaves)


def own_value(x: Any) -> Any:
    """An array that later writes to this one do not change; anything else as it is."""
    if isinstance(x, Array):
        return private_handle(x)
    return x.copy() if isinstance(x, np.ndarray) else x


class Adjoint:
    """The backward problem: the state [y, a, dL/dparameters] from one output to the one before.

    Source: Pontryagin et al. 1962; Chen et al. 2018, "Neural Ordinary Differential Equations", sec. 2.

    Parameters
    ----------
    odeint
        The function that solves it, and is differentiated in its turn.
    leaves
        The Arrays among the arguments that have a derivative.
    """

    def __init__(
        self,
        odeint: Callable[..., Any],
        problem: Problem,
        leaves: Sequence[Array],
        variables: Sequence[Any],
    ) -> None:
        self.odeint, self.problem, self.variables = odeint, problem, variables
        self.layouts = [(x.shape, x.dtype) for x in (problem.y0, problem.y0, *leaves, *variables)]
        kinds = [dtype for _, dtype in self.layouts]
        self.dtype = xp.result_type(*kinds)

    def packed(self, parts: Sequence[Array]) -> Array:
        """Arrays as one vector."""
        return xp.concat([xp.reshape(xp.astype(x, self.dtype), (-1,)) for x in parts])

    def unpacked(self, z: Array) -> list[Array]:
        """The Arrays of a vector."""
        found, start = [], 0
        for shape, dtype in self.layouts:
            stop = start + int(np.prod(shape))
            part = xp.reshape(z[start:stop], shape)
            if is_complex(part) and dtype.kind != "c":
                part = xp.real(part)
            found.append(part if part.dtype == dtype else xp.astype(part, dtype))
            start = stop
        return found

    def slope(self, t: Array, z: Array, leaves: list[Array]) -> Array:
        """Its right-hand side: dy/dt = f, da/dt = -a df/dy, dg/dt = -a df/dparameters."""
        y, a = self.unpacked(z)[:2]
        targets = [y, *leaves, *self.variables]
        with xp.GradientTape() as tape:
            tape.watch([y, *leaves])
            f = self.problem.field(t, y, arguments(self.problem, leaves))
        found = tape.gradient(f, targets, output_gradients=a, unconnected_gradients=ZERO)
        return self.packed([f, *(-g for g in found)])

    def solve(self, z: Array, span: tuple[Array, Array], leaves: list[Array]) -> Array:
        """The state at the end of a span; RuntimeError when the solver does not get there."""
        problem = self.problem
        options = {
            name: self.spread(value) if name in ("rtol", "atol") else value
            for name, value in problem.options.items()
            if name not in ("jac", "first_step")
        }
        method = problem.method.solver if problem.method.adaptive else problem.method.name
        try:
            found = self.odeint(
                self.slope,
                span,
                z,
                method,
                span[1:],
                args=(leaves,),
                adjoint="continuous",
                **options,
            )
        except (
            ValueError,
            np.linalg.LinAlgError,
        ) as error:  # Radau and BDF, where numbers overflow
            raise self.unsolved(span, str(error)) from error
        if found.status < 0:
            raise self.unsolved(span, found.message)
        end: Array = found.y[:, -1]
        return end

    def check(self, back: Array, state: Array, known: Array, span: tuple[Array, Array]) -> None:
        """RuntimeError where the state, solved backward, is not where it came from.

        It is solved along with the adjoint, which is only as good as it.  Where a system forgets its
        past, errors grow exponentially on the way back.
        """
        rtol, atol = (float(np.max(self.problem.options.get(n, d))) for n, d in TOLERANCES.items())
        with only_recorders():
            size = xp.maximum(xp.max(xp.abs(known)), xp.max(xp.abs(state))) + atol / rtol
            errors = xp.max(xp.abs(back - known)) / size
        allowed = max(0.01, 10 * rtol)
        worst = max((float(error) for (error,) in Examples(NAME, [errors])), default=0.0)
        if not worst <= allowed:
            raise self.unsolved(
                span,
                f"y comes back to where it was with a relative error of {worst:.1e}, and "
                f"{allowed:.1e} is allowed.",
            )

    def unsolved(self, span: tuple[Array, Array], why: str) -> RuntimeError:
        """The error for a backward problem without a solution."""
        first, last = (next(iter(Examples(NAME, [end])))[0] for end in span)
        return RuntimeError(
            f"{NAME}: the backward problem could not be solved from t = {float(first)} to "
            f"{float(last)}: {why} [at {user_line()}] A stiff system does not find its way back: use "
            "adjoint='discrete', or more times in t_eval, from which y starts anew, or smaller "
            "tolerances"
        )

    def spread(self, tolerance: Any) -> Any:
        """A tolerance for all parts of the state: the smallest, where each of y has its own."""
        given = np.asarray(tolerance)
        if given.ndim == 0:
            return tolerance
        rest = sum(int(np.prod(shape)) for shape, _ in self.layouts[1:])
        return np.concat([given, np.full(rest, given.min(initial=np.inf))])


def arguments(problem: Problem, leaves: Sequence[Array]) -> Any:
    """The arguments of f with others in the place of those that have a derivative."""
    others = iter(leaves)
    given = nest.leaves(problem.args)
    return nest.pack_nesting(
        problem.args, [next(others) if has_derivative(x) else x for x in given]
    )


def has_derivative(x: Any) -> bool:
    """Whether an argument of f is an Array of floating-point numbers."""
    return isinstance(x, Array) and differentiable(x)


def by_adjoint(
    odeint: Callable[..., Any],
    problem: Problem,
    rows: Array,
    times: Array,
    variables: Sequence[Any],
) -> Array:
    """The outputs, rows of shape (T, n) at ``times``, with the derivative by the adjoint problem."""
    chosen = [x for x in nest.leaves(problem.args) if has_derivative(x)]
    start = problem.field.asarray(problem.ends[0], times.dtype)

    def solved(y0: Array, t0: Array, times: Array, *leaves: Array) -> tuple[Array, Any]:
        for variable in variables:
            xp.positive(variable)  # so that it is known to be read
        y = xp.positive(rows)
        slopes = end_slopes(problem, (y0, y), (t0, times), leaves) if recorders() else []

        def pull(dy: Array, variables: Sequence[Any] = ()) -> tuple[list[Any], list[Any]]:
            if slopes:
                again = end_slopes(problem, (y0, y), (t0, times), leaves)
                for now, before in zip(again, slopes, strict=True):
                    refuse_change(now, before, "it ran again for the gradient: the slope")
            adjoint = Adjoint(odeint, problem, leaves, variables)
            return gradients(adjoint, (y0, y), (t0, times), dy, list(leaves))

        def alone(dy: Array) -> list[Any]:
            return pull(dy)[0]

        return y, pull if variables else alone

    solved.__name__ = solved.__qualname__ = "odeint"  # as messages call it
    return xp.custom_gradient(solved)(problem.y0, xp.astype(start, times.dtype), times, *chosen)


def gradients(
    adjoint: Adjoint,
    states: tuple[Array, Array],
    at: tuple[Array, Array],
    dy: Array,
    leaves: list[Array],
) -> tuple[list[Any], list[Any]]:
    """The gradients of y0, t0, the outputs' times and the leaves, and those of Variables.

    states : y0, and the outputs.  at : t0, and their times.
    """
    (y0, y), (t0, times) = states, at
    problem = adjoint.problem
    a = xp.zeros_like(y0)
    rest = [xp.zeros_like(x) for x in (*leaves, *adjoint.variables)]
    of_times = []
    args = arguments(problem, leaves)
    for i in range(y.shape[0] - 1, -1, -1):
        t, state = times[i], y[i, :]
        of_times.append(along(dy[i, :], problem.field(t, state, args), t))
        a = a + dy[i, :]
        z = adjoint.packed([state, a, *rest])
        span = t, times[i - 1] if i else t0
        back, a, *rest = adjoint.unpacked(adjoint.solve(z, span, leaves))
        if y0.shape[0]:
            adjoint.check(back, state, y[i - 1, :] if i else y0, span)
    of_start = -along(a, problem.field(t0, y0, args), t0)
    by_time = xp.stack(of_times[::-1]) if of_times else xp.zeros_like(times)
    parts = rest[: len(leaves)]
    return [a, of_start, by_time, *parts], rest[len(leaves) :]


def end_slopes(
    problem: Problem, states: tuple[Array, Array], at: tuple[Array, Array], leaves: Sequence[Array]
) -> list[Any]:
    """What f gives at the start and at the last output, to see whether it gives the same later."""
    (y0, y), (t0, times) = states, at
    args, calls = arguments(problem, leaves), problem.field.calls
    ends = [(t0, y0)] + ([(times[-1], y[-1, :])] if y.shape[0] else [])
    with only_recorders():
        slopes = [problem.field(t, state, args) for t, state in ends]
    problem.field.calls = calls
    return [np.stack([value for (value,) in Examples(NAME, [slope])]) for slope in slopes]


def along(g: Array, slope: Array, t: Array) -> Array:
    """The derivative by time of what has the gradient g and moves with ``slope``."""
    _, pull = xp.vjp(lambda s: s * slope, xp.zeros_like(t))
    found: Array = pull(g)[0]
    return found
