"""The steps of SciPy's solver, repeated on Arrays so that a tape can record them.

The nodes are the times at which steps begin and end.  The curve of a step is the polynomial that
interpolates the state within the step.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import arraytape as xp

from .._array.array import Array
from .._array.views import keep_data
from .._record.stack import only_recorders
from .._util.blocks import Quiet
from .._util.errors import user_line
from ._field import Arguments, Data, Field, Time, values_on_host

if TYPE_CHECKING:
    import numpy.typing as npt

# The relative change that is allowed when steps run again: rounding errors grow from step to step.
REPRODUCED = 1e-6


def refuse_change(now: Data, before: Data, when: str) -> None:
    """Raise RuntimeError if f, called again in the backward pass, has given another result.

    now, before : the two results; rounding errors are allowed.
    when : the part of the message that says what was computed again.
    """
    with Quiet():
        whole = np.abs(before)
        rounding = min(1e4 * np.finfo(before.dtype).eps / REPRODUCED, 1.0)
        change = np.abs(now - before) / (whole + rounding * whole.max(initial=0.0))
        worst = change.max(initial=0.0)
    if worst > REPRODUCED:
        raise RuntimeError(
            f"odeint: f gave something else when {when} differs by {worst:.1e} of its size "
            f"[at {user_line()}]. An array or Variable that f uses was written to since, or it draws "
            "random numbers: pass these in args"
        )


@dataclass
class OdeProblem:
    """The checked arguments of odeint.

    Attributes
    ----------
    y0
        The initial state as an Array of shape (n,).
    ends, span
        The ends of t_span as given, and as floats.
    points, at
        t_eval as an Array, and its values; None without t_eval.
    callback
        The user's function that is called after each step with the time and the state.
    """

    field: Field
    y0: Array
    ends: tuple[Any, Any]
    span: tuple[float, float]
    points: Array | None
    at: Data | None
    args: Any
    method: Any
    options: dict[str, Any]
    dense: bool
    callback: Callable[[float, Array], Any] | None = None

    def notify(self, t: float, y: Array | Data) -> None:
        """Call the user's callback with a copy of the state, which no recorder sees."""
        if self.callback is not None:
            with only_recorders():
                state = xp.asarray(y, dtype=self.field.dtype, device=self.field.device, copy=True)
                self.callback(t, xp.reshape(xp.stop_gradient(state), self.field.shape))

    @property
    def has_array_end(self) -> bool:
        """Return True if an end of t_span is an Array, which may have a derivative."""
        return any(isinstance(end, Array) for end in self.ends)


@dataclass
class Mesh:
    """The nodes, with their derivatives ``first`` and ``last`` with respect to the two ends of t_span.

    The lengths of adaptive steps are constants, so that all nodes move with the first end, except the
    last node, which is the other end.  Fixed steps are equal parts of the span: nodes move with both
    ends.
    """

    nodes: Data
    first: Data
    last: Data

    @classmethod
    def of_steps(cls, nodes: list[float], finished: bool) -> Mesh:
        """Return the mesh of adaptive steps.

        finished : True if the last node is t_span's end, False if the solver stopped before.
        """
        at = np.asarray(nodes)
        last = np.zeros_like(at)
        last[-1] = finished and len(nodes) > 1
        return cls(at, 1.0 - last, last)

    @classmethod
    def equal(cls, span: tuple[float, float], max_step: float) -> Mesh:
        """Return the mesh of equal steps, up to ``max_step`` long."""
        length = abs(span[1] - span[0])
        # The factor is for quotients such as 2.1 / 0.7, which rounding makes a little more than 3.
        count = max(math.ceil(length / max_step * (1 - 1e-12)), 1)
        last = np.arange(count + 1) / count
        nodes = span[0] + (span[1] - span[0]) * last
        nodes[-1] = span[1]
        return cls(nodes, 1.0 - last, last)

    def node_array(self, problem: OdeProblem) -> Array:
        """Return the nodes as an Array that depends on Arrays in t_span."""
        field = problem.field
        nodes = field.as_state_array(self.nodes, field.real)
        for end, weights in zip(problem.ends, (self.first, self.last), strict=True):
            if isinstance(end, Array):
                moved = xp.astype(end, field.real) - xp.stop_gradient(xp.astype(end, field.real))
                nodes = nodes + field.as_state_array(weights, field.real) * moved
        return nodes

    def steps_of(self, at: Data) -> Data:
        """Return for each time the index of its step; a node belongs to the step that ends there."""
        forward = self.nodes[-1] >= self.nodes[0]
        ends = self.nodes[1:] if forward else -self.nodes[1:]
        return np.minimum(np.searchsorted(ends, at if forward else -at), max(len(ends) - 1, 0))


@dataclass
class RetakenSteps:
    """The results of the solver's steps, repeated on Arrays; a field is None if it is not needed.

    states : y at the nodes.  values : y at t_eval.  curves : the coefficients of each step's polynomial.
    """

    states: Array | None
    values: Array | None
    curves: Array | None


def retake_steps(problem: OdeProblem, mesh: Mesh, hints: list[Any] | None = None) -> RetakenSteps:
    """Repeat the steps of a mesh on Arrays, so that a tape records them.

    The steps are divided into pieces of about sqrt(steps) steps.  A tape keeps the state at the first
    node of each piece, and the backward pass runs the piece again.  Source: Griewank 1992, "Achieving
    logarithmic growth...", the case of one level.
    hints : for each step, a result of SciPy's step from which the repeated step starts, or None.
    """
    count = len(mesh.nodes) - 1
    nodes = mesh.node_array(problem)
    where = None if problem.at is None else mesh.steps_of(problem.at)
    length = max(math.isqrt(count), 1)
    y, parts = problem.y0, []
    for start in range(0, count, length):
        stop = min(start + length, count)
        piece = StepPiece(problem, start, stop, where, mesh, hints)
        inside = piece.points()
        part = xp.recompute_grad(piece.run_steps)(
            y, nodes[start : stop + 1] if problem.has_array_end else None, inside, problem.args
        )
        y = part["end"]
        parts.append(part)
    joined = {
        name: xp.concat([part[name] for part in parts if name in part])
        for name in ("states", "values", "curves")
        if any(name in part for part in parts)
    }
    first = xp.expand_dims(problem.y0, axis=0)
    if "states" in joined:
        joined["states"] = xp.concat([first, joined["states"]])
    elif not parts and problem.at is None:
        joined["states"] = first
    return RetakenSteps(*(joined.get(name) for name in ("states", "values", "curves")))


class StepPiece:
    """The steps ``start`` to ``stop`` (exclusive), whose inner values no tape keeps.

    The backward pass runs these steps again.
    where : the number of the step in which each time of t_eval lies, ascending; None without t_eval.
    """

    def __init__(
        self, problem: OdeProblem, start: int, stop: int, where: Data | None, mesh: Mesh,
        hints: list[Any] | None,
    ) -> None:  # fmt: skip
        self.problem, self.start, self.stop, self.mesh = problem, start, stop, mesh
        self.hints = hints
        self.first: Data | None = None
        self.where = where if where is None else where[(where >= start) & (where < stop)]
        self.offset = 0 if where is None else int(np.searchsorted(where, start))

    def points(self) -> Array | None:
        """Return the times of t_eval that lie in these steps, as an Array; None if there are none."""
        if self.where is None or self.where.size == 0 or self.problem.points is None:
            return None
        return self.problem.points[self.offset : self.offset + self.where.size]

    def run_steps(
        self, y: Array, nodes: Array | None, points: Array | None, args: Arguments
    ) -> dict[str, Any]:
        """Take the steps on Arrays, from the state y; return a dict of their results.

        The key "end" has the last state.  Other keys are the fields of ``RetakenSteps`` that odeint
        needs.
        nodes : the times of these steps' ends; None if they are constants.
        points : the times of t_eval that lie in these steps; None if there are none.
        args : the arguments of f after y.
        """
        problem, method = self.problem, self.problem.method
        states, values, curves, slope = [], [], [], None
        for i in range(self.start, self.stop):
            t, h = self.time_and_step(nodes, i)
            hint = () if self.hints is None else (self.hints[i],)
            new, stages, computed = method.take_step(problem.field, t, y, h, slope, args, *hint)
            chosen = slice(0, 0) if points is None else self.points_in_step(i)
            slope = None
            if problem.dense or chosen.stop > chosen.start:
                slope, stages = method.end_stages(problem.field, t, y, h, new, stages, args)
                curve = method.curve(y, new, h, stages)
                if problem.dense:
                    curves.append(curve)
                if chosen.stop > chosen.start and points is not None:
                    x = xp.expand_dims((points[chosen] - t) / h, axis=-1)
                    values.append(method.curve_value(y, xp.expand_dims(curve, axis=1), x))
            states.append(new)
            y = new
            if (
                self.first is None and not method.adaptive
            ):  # SciPy's solver notifies of its own steps
                problem.notify(float(self.mesh.nodes[i + 1]), y)
        self.check_repeated(computed)
        found: dict[str, Any] = {"end": y}
        if problem.at is None or problem.dense:
            found["states"] = xp.stack(states)
        if values:
            found["values"] = xp.concat(values)
        if curves:
            found["curves"] = xp.stack(curves)
        return found

    def check_repeated(self, end: Array) -> None:
        """Store the last state ``end`` of the first run, and compare later runs, for gradients, with it.

        Raise RuntimeError if they differ by more than rounding errors, which depend on memory alignment.
        Only NumPy data is compared.
        """
        data = keep_data(end)
        first, self.first = self.first, data if self.first is None else self.first
        if first is None or not type(first) is type(data) is np.ndarray:
            return
        refuse_change(data, first, "its steps were taken again for the gradient: the state")

    def time_and_step(self, nodes: Array | None, i: int) -> tuple[Time, Time]:
        """Return the time at which step i begins, and its length.

        nodes : the times of the steps' ends as an Array; None if they are constants.
        """
        if nodes is None:
            start, end = float(self.mesh.nodes[i]), float(self.mesh.nodes[i + 1])
            return start, end - start
        t = nodes[i - self.start]
        return t, nodes[i - self.start + 1] - t

    def points_in_step(self, i: int) -> slice:
        """Return the slice of ``points()``, this piece's times of t_eval, that lies in step i."""
        ends = np.searchsorted(self.where, [i, i + 1]) if self.where is not None else (0, 0)
        return slice(int(ends[0]), int(ends[1]))


class OdeSolution:
    """The solution as a function of time, like ``scipy.integrate.OdeSolution``.

    Attributes
    ----------
    ts
        The times at the ends of the steps, an Array of shape (steps + 1,).
    t_min, t_max
        The least and the greatest of these times, as floats.
    """

    def __init__(self, problem: OdeProblem, mesh: Mesh, found: RetakenSteps) -> None:
        self._problem, self._nodes, self._found = problem, mesh.nodes, found
        self.ts = mesh.node_array(problem)
        self.t_min, self.t_max = float(mesh.nodes.min()), float(mesh.nodes.max())

    def __call__(self, t: Array | npt.ArrayLike) -> Array:
        """Return the state at t, in the shape of y0; several times add an axis at the end.

        Parameters
        ----------
        t : float | array
            A time, or times in an array of one dimension.  Outside of t_span the curve of the nearest
            step is extrapolated.

        Returns
        -------
        Array
            The state, of shape ``y0.shape`` or ``(*y0.shape, len(t))``.

        Raises
        ------
        ValueError
            When t has more than one dimension.
        """
        problem, found = self._problem, self._found
        field = problem.field
        times = field.as_state_array(t, field.real)
        if times.ndim > 1:
            raise ValueError(
                f"sol: t must have no or one dimension, got shape {times.shape} [at {user_line()}]"
            )
        flat = xp.reshape(times, (-1,))
        i = field.as_state_array(self._steps(values_on_host(flat, "the time of sol(t)")), None)
        assert found.states is not None
        assert found.curves is not None
        start = xp.take(self.ts, i)
        x = xp.expand_dims((flat - start) / (xp.take(self.ts, i + 1) - start), axis=-1)
        curves = xp.moveaxis(xp.take(found.curves, i, axis=0), 1, 0)
        y = problem.method.curve_value(xp.take(found.states, i, axis=0), curves, x)
        y = xp.reshape(xp.moveaxis(y, 0, -1), (*field.shape, flat.shape[0]))
        return y if times.ndim else y[..., 0]

    def _steps(self, at: Data) -> Data:
        """Return for each time the index of the step that contains it.

        A node belongs to the step that ends there, as in SciPy.
        """
        ascending = self._nodes[-1] >= self._nodes[0]
        nodes = self._nodes if ascending else self._nodes[::-1]
        last = len(nodes) - 2
        i = np.searchsorted(nodes, at, side="left" if ascending else "right") - 1
        i = np.clip(i, 0, last)
        return i if ascending else last - i
