"""``solve_recorded``: a solution as a differentiable function of its parameters.

Let F(x(theta), theta) = 0, with a regular Jacobian J = dF/dx.  By the implicit function theorem, the
VJP of a cotangent g of x is -(dF/dtheta)^T lambda, where J^T lambda = g.  The rule computes this VJP by
recorded ops on the followed solution, which gives higher orders and forward mode.
Source: Griewank and Walther 2008, "Evaluating Derivatives", sec. 15.1.

``start`` has the Arrays in x0, and ``given`` the Arrays and constants in theta.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import arraytape as xp

from .._array.array import Array
from .._custom.gradient import call_with_rule
from .._custom.recorder import FunctionRecorder
from .._record.stack import Recorder, only_recorders, recorders
from .._tape.arguments import differentiable
from .._util import nest
from .._util.errors import user_line
from ._layouts import NestingLayout, Vector, VmapExamples, own_handles
from ._problem import ImplicitProblem, NumpyProblem

# The relative change that is allowed when a function runs again: rounding depends on memory alignment.
REPEATED = 1e-6
Find = Callable[[NumpyProblem, Any, Sequence[Any]], Vector]


def solve_recorded(
    problem: ImplicitProblem, start: Sequence[Array], leaves: Sequence[Any], find: Find
) -> Array:
    """Return the solution of a problem as a vector, which is differentiable with respect to ``leaves``.

    leaves : the Arrays and constants in theta; the Arrays in x0, ``start``, get no gradient.
    find : solves the problem of one vmap example, given a NumpyProblem, and the values of ``start`` and
        ``leaves``.
    """
    outside = recorders()

    def solve_with_rule(*given: Any) -> tuple[Array, Callable[..., Any]]:
        examples = examples_of(problem, start, given)
        vectors: list[Vector] = []
        matrices: list[Vector] = []
        probes: list[tuple[Vector, Vector]] = []
        for values in examples:
            numbers, host = problem_of_example(problem, examples, values[len(start) :], given)
            found = find(numbers, values[: len(start)], host)
            if problem.polish:
                found = numbers.newton_steps(found)
            found = found.astype(problem.layout.dtype).astype(np.float64)
            with only_recorders():
                J = numbers.check_solution(found)
            matrices += [] if J is None else [J]
            vectors.append(found)
            probes += [numbers.probe(found)] if outside else []
        if vectors and outside:
            check_captures(numbers, found, outside)
        n, dtype = problem.layout.size, problem.layout.dtype
        v = examples.stack_examples(vectors, (n,), dtype)
        made = examples.stack_examples(matrices, (n, n), dtype) if matrices else None

        def cotangent_rule(g: Array) -> list[Array | None]:
            check_repeats(problem, v, given, probes)
            return pull_cotangents(problem, v, given, g, made)

        return v, cotangent_rule

    found: Array = call_with_rule(
        problem.name, solve_with_rule, tuple(leaves), {}, signature_of=solve_recorded
    )
    return found


def examples_of(
    problem: ImplicitProblem, start: Sequence[Array], given: Sequence[Any]
) -> VmapExamples:
    """Return the values of the Arrays of a problem, for each example of a vmap."""
    return VmapExamples(problem.name, [*start, *(x for x in given if isinstance(x, Array))])


def problem_of_example(
    problem: ImplicitProblem, examples: VmapExamples, values: Sequence[Vector], given: Sequence[Any]
) -> tuple[NumpyProblem, list[Any]]:
    """Return the problem of one vmap example on NumPy data, and ``given`` with that example's values.

    values : the NumPy arrays of this example, one of ``examples``.
    """
    own, lying = iter(values), iter(examples.places[len(examples.places) - len(values) :])
    host = [next(own) if isinstance(x, Array) else x for x in given]
    places = [next(lying) if isinstance(x, Array) else None for x in given]
    return NumpyProblem(problem, examples.home, host, places), host


def check_repeats(
    problem: ImplicitProblem,
    v: Array,
    given: Sequence[Any],
    probes: Sequence[tuple[Vector, Vector]],
) -> None:
    """Raise RuntimeError if the user's function now returns another residual than during the solve.

    v : the solution, with the axes that vmap hides, one for each vmap.
    probes : for each example a point near the solution, and the residual there during the solve; empty
        if no tape or accumulator was active.
    """
    if not probes:
        return
    examples = examples_of(problem, [v], given)
    for values, (at, before) in zip(examples, probes, strict=True):
        numbers, _ = problem_of_example(problem, examples, values[1:], given)
        change = relative_change(before, numbers.residual_at(at))
        if change > REPEATED:
            raise RuntimeError(
                f"{problem.name}: the function gave something else when it ran again for the gradient: "
                f"its residual near the solution differs by {change:.1e} of its size "
                f"[at {user_line()}]. An array that it uses was written to since, or it draws random "
                "numbers: pass these in theta"
            )


def relative_change(before: Vector, now: Vector) -> float:
    """Return the largest difference of two residuals relative to the first; NaN equals NaN."""
    if np.array_equal(before, now, equal_nan=True):
        return 0.0
    both = np.isfinite(before) & np.isfinite(now)
    if (np.isfinite(before) != np.isfinite(now)).any() or not both.any():
        return np.inf
    size = float(np.max(np.abs(before[both])))
    return float(np.max(np.abs(now - before)[both])) / size if size else np.inf


def check_captures(numbers: NumpyProblem, v: Vector, outside: Sequence[Recorder]) -> None:
    """Raise ValueError if the function uses a followed Array or a Variable other than as its argument.

    Such a gradient would be lost, also if the Array is in theta as well.  The function runs once, at v
    and with constant arguments, to find out.

    outside : the recorders that are active outside of the solve.
    """
    problem = numbers.problem
    recorder = FunctionRecorder(problem.name, (), outside, keeps_records=False)
    with only_recorders(recorder):
        problem.residual(numbers.point(v), own_handles(numbers.leaves))
    if recorder.variables:
        names = ", ".join(repr(variable.name) for variable in recorder.variables)
        raise ValueError(
            f"{problem.name}: the function reads the Variables {names} [at {user_line()}], whose "
            "gradient would be lost; pass them in theta"
        )


def pull_cotangents(
    problem: ImplicitProblem, v: Array, given: Sequence[Any], g: Array, J: Array | None
) -> list[Array | None]:
    """Return the cotangents of the Arrays in ``given``, given the cotangent g of the solution v.

    J : the Jacobian at v, or None; it is used only if no tape is active.
    """
    arrays = [i for i, x in enumerate(given) if isinstance(x, Array)]
    chosen = [i for i in arrays if differentiable(given[i])]
    if not chosen:
        return [None] * len(arrays)
    weights = solve_adjoint(problem, v, given, g, None if recorders() else J)

    def residual_of_chosen(*some: Array) -> Array:
        leaves = own_handles(given)
        for i, x in zip(chosen, some, strict=True):
            leaves[i] = x
        return problem.residual(own_handles([v])[0], leaves)

    _, back = xp.vjp(residual_of_chosen, *[given[i] for i in chosen])
    found = dict(zip(chosen, back(-weights), strict=True))
    return [found.get(i) for i in arrays]


def solve_adjoint(
    problem: ImplicitProblem, v: Array, given: Sequence[Any], g: Array, J: Array | None
) -> Array:
    """Return ``J^-T g``, where J is the Jacobian at the solution v, and g the cotangent of v.

    J : the known Jacobian; None to compute it by recorded ops.
    """
    if not problem.layout.size:
        return g
    if problem.matrix_free:
        return solve_recorded(adjoint_problem(problem), [], (g, v, *given), solve_from_zeros)
    if J is None:
        J = xp.jacobian(lambda v: problem.residual(v, own_handles(given)))(v)
    found: Array = xp.linalg.solve(xp.matrix_transpose(J), g)
    return found


def adjoint_problem(problem: ImplicitProblem) -> ImplicitProblem:
    """Return the adjoint equation J^T w = g as a problem for w.

    J is the Jacobian of ``problem`` at its solution v.  The backward pass solves it, so that it has
    derivatives, too.  Its parameters are (g, v, *parameters of problem).
    """
    name = problem.name

    def adjoint_residual(w: Array, leaves: Sequence[Any]) -> Array:
        g, v, *rest = leaves
        _, back = xp.vjp(lambda v: problem.residual(v, own_handles(rest)), v)
        product: Array = back(w)[0] - g
        return product

    def preconditioner(r: Array, w: Array, leaves: Sequence[Any]) -> Any:
        _, v, *rest = leaves
        at, known, layout = problem.layout.nested(v), problem.preconditioner, problem.layout
        assert known is not None
        _, back = xp.vjp(lambda r: layout.vector(known(layout.nested(r), at, rest), "M"), r)
        return back(r)[0]

    return ImplicitProblem(
        name=name if problem.base else f"the adjoint of {name}", base=problem,
        layout=NestingLayout(name, np.zeros(problem.layout.size, problem.layout.dtype)),
        residual=adjoint_residual, symmetric=problem.symmetric, matrix_free=True, linear=True,
        tol=problem.tol, rtol=problem.rtol, maxiter=problem.maxiter,
        preconditioner=preconditioner if problem.preconditioner is not None else None,
    )  # fmt: skip


def solve_from_zeros(numbers: NumpyProblem, start: Sequence[Any], host: Sequence[Any]) -> Vector:
    """Return the solution of a linear problem by one Newton step from zero, without use of ``start``."""
    v = np.zeros(numbers.problem.layout.size)
    return -numbers.newton_step(v, numbers.residual_at(v))


def x0_arrays(x0: Any) -> list[Array]:
    """Return the Arrays in the nesting x0, the start of a solver."""
    return [x for x in nest.leaves(x0) if isinstance(x, Array)]
