"""``ImplicitProblem``, an equation on Arrays, and ``NumpyProblem``, which evaluates it on vectors."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import arraytape as xp

from .._array.array import Array
from .._record.stack import only_recorders
from .._storage.batched.batched_data import Batched
from .._util.errors import user_line
from . import _checks as checks
from ._checks import FactoredSystem, NotASolution, relative_size
from ._iterative import solve_iteratively
from ._layouts import (
    ArrayHome,
    NestingLayout,
    Vector,
    as_numpy,
    doubles_on_host,
    home_of,
    own_handles,
)

Residual = Callable[[Array, Sequence[Any]], Array]


@dataclasses.dataclass
class ImplicitProblem:
    """An equation ``residual(v, leaves) == 0``; the real vector v has the elements of x.

    The fields that are not listed are parameters of ``root``.

    Attributes
    ----------
    name, layout
        The name of the function in messages, and the nesting of x.
    residual
        A function of v and of the parameters' leaves, which computes on Arrays.
    value
        For a minimum, the function to be minimized; otherwise None.
    linear
        True if the residual is affine in v.
    base
        For an adjoint problem, the problem whose adjoint it is; the adjoint's leaves are a cotangent,
        a solution and the leaves of ``base``.
    """

    name: str
    layout: NestingLayout
    residual: Residual
    value: Residual | None = None
    symmetric: bool = False
    matrix_free: bool = False
    linear: bool = False
    tol: float = 0.1
    rcond: float | None = None
    rtol: float = 1e-12
    maxiter: int | None = None
    preconditioner: Callable[[Any, Any, Sequence[Any]], Any] | None = None
    polish: bool = False
    base: ImplicitProblem | None = None


class NumpyProblem:
    """A problem with fixed parameters, whose methods take and return NumPy vectors in double precision.

    home : the storage and device on which users' functions get x.
    leaves : the parameters theta, each a NumPy array or a constant.
    places : for each of ``leaves`` the storage and device to which it is moved, or None for a constant.
    """

    def __init__(
        self,
        problem: ImplicitProblem,
        home: ArrayHome,
        leaves: Sequence[Any],
        places: Sequence[ArrayHome | None],
    ) -> None:
        self.problem, self.home = problem, home
        self.leaves = [
            x if place is None else place.place_array(x)
            for x, place in zip(leaves, places, strict=True)
        ]
        self.eps = float(np.finfo(problem.layout.dtype).eps)

    def point(self, v: Vector) -> Array:
        """Return the vector v as an Array, for the user's function."""
        return self.home.place_array(np.asarray(v, dtype=np.float64))

    def residual_at(self, v: Vector) -> Vector:
        """Return the residual at v, which is 0 at the solution."""
        with only_recorders():
            return self._plain(self.problem.residual(self.point(v), own_handles(self.leaves)))

    def value_at(self, v: Vector) -> float:
        """Return the value at v of the function to be minimized."""
        assert self.problem.value is not None
        with only_recorders():
            return float(self._plain(self.problem.value(self.point(v), own_handles(self.leaves))))

    def _plain(self, r: Array) -> Vector:
        """Return r as NumPy data; raise ValueError if r differs between the examples of a vmap."""
        if type(r._data) is Batched:
            raise ValueError(
                f"{self.problem.name}: the function uses a value of one example of a vmap that is not "
                f"among its arguments [at {user_line()}]; pass it in theta"
            )
        return doubles_on_host(r)

    def jacobian_at(self, v: Vector) -> Vector:
        """Return the Jacobian of the residual at v, an n x n matrix."""
        n = self.problem.layout.size
        if not n:
            return np.zeros((0, 0))
        with only_recorders():
            slopes = xp.jacobian(lambda v: self.problem.residual(v, own_handles(self.leaves)))
            J = slopes(self.point(v))
        return self._plain(J).reshape(n, n)

    def products(self, v: Vector) -> tuple[Callable[[Vector], Vector], Callable[[Vector], Vector]]:
        """Return two functions, which multiply a vector by the Jacobian at v and by its transpose."""
        if self.problem.base is not None:
            _, at, *leaves = self.leaves
            nowhere = [None] * len(leaves)  # Arrays need not be moved to a device
            base = NumpyProblem(self.problem.base, self.home, leaves, nowhere)
            return base.products(doubles_on_host(at))[::-1]
        with only_recorders():
            r, back = xp.vjp(
                lambda v: self.problem.residual(v, own_handles(self.leaves)), self.point(v)
            )
            _, forth = xp.vjp(lambda w: back(w)[0], xp.zeros_like(r))

        def host_product(pull: Callable[..., Any]) -> Callable[[Vector], Vector]:
            def multiply_vector(w: Vector) -> Vector:
                with only_recorders():
                    return self._plain(pull(self.point(np.reshape(w, -1)))[0])

            return multiply_vector

        return host_product(forth), host_product(back)

    def solve_linearized(self, v: Vector, b: Vector) -> Vector:
        """Return J^-1 b, where J is the Jacobian at v, by ``solve_iteratively``."""
        return solve_iteratively(self.problem, self.products(v)[0], b, self.preconditioner(v))

    def preconditioner(self, v: Vector) -> Callable[[Vector], Vector] | None:
        """Return the user's preconditioner at v as a function of a NumPy vector, or None."""
        known, layout = self.problem.preconditioner, self.problem.layout
        if known is None:
            return None

        def precondition(r: Vector) -> Vector:
            with only_recorders():
                at = layout.nested(self.point(v))
                found = known(layout.nested(self.point(r)), at, own_handles(self.leaves))
                return doubles_on_host(layout.vector(found, "the preconditioner's result"))

        return precondition

    def newton_steps(self, v: Vector, most: int = 30) -> Vector:
        """Improve v by up to ``most`` Newton steps, and return the best point.

        The iteration ends when a step is as small as rounding errors, or no longer becomes smaller.
        """
        best, before, last = v, np.inf, np.inf
        for _ in range(most):
            r = self.residual_at(v)
            if not np.isfinite(r).all():
                return best
            if not r.any():
                return v
            step = self.newton_step(v, r)
            size = relative_size(step, v)
            length = float(np.max(np.abs(step), initial=0.0))
            # If the solution is 0, ``size`` stays near 1, but ``length`` shrinks.
            smaller = size < before / 2.0 or length < last / 2.0
            if size != size or (np.isfinite(before) and not smaller):
                return v if size < before or length < last else best
            best, before, last = v, size, length
            if size <= 4.0 * self.eps:
                return v
            v = v - step
        return best

    def newton_step(self, v: Vector, r: Vector) -> Vector:
        """Return J^-1 r for the Jacobian J and the residual r at v; NaN if J is singular.

        Solvers and error estimates use it.
        """
        if self.problem.matrix_free:
            return self.solve_linearized(v, r)
        return checks.factor_system(r, self.jacobian_at(v)).newton_correction

    def is_solution(self, v: Vector) -> bool:
        """Return True if v solves the problem up to rounding errors."""
        r = self.residual_at(v)
        if not np.isfinite(r).all():
            return False
        if not r.any():
            return True
        return relative_size(self.newton_step(v, r), v) <= max(1e-12, 10.0 * self.eps)

    def probe(self, v: Vector) -> tuple[Vector, Vector]:
        """Return a point near the solution v, and the residual there, to notice later if f has changed.

        At v itself the residual is near 0, so that a change of the function would hardly show.
        """
        size = np.where(v == 0, np.max(np.abs(v), initial=0.0) or 1.0, np.abs(v))
        at = v + 1e-2 * size * np.random.default_rng(0).choice([-1.0, 1.0], v.shape)
        there = self.residual_at(at)
        return (at, there) if np.isfinite(there).all() else (v, self.residual_at(v))

    # --- checks ---------------------------------------------------------------------------------
    def check_solution(self, v: Vector) -> Vector | None:
        """Check the solution v and return the Jacobian there; None if the problem is matrix-free.

        Raises NotASolution, or ValueError if a problem that was declared linear is not linear.
        """
        name, tol = self.problem.name, self.problem.tol
        r = self.residual_at(v)
        checks.check_finite(name, r)
        if self.problem.linear and self.problem.base is None:
            self._check_linear(v)
        if self.problem.matrix_free and self.problem.value is not None:
            self._check_curvature(v)
        if self.problem.matrix_free:
            size = self._linear_error(r) if self.problem.linear else self._newton_distance(v, r)
            self._check_error(size, size)
            return None
        found = checks.factor_system(r, self.jacobian_at(v))
        checks.check_condition(name, found, self.problem.rcond, self.eps, tol)
        if self.problem.value is not None:
            checks.check_minimum(name, found.jacobian, self.eps)
        size, error = self._derivative_error(v, found)
        if size <= 100.0 * self.eps:
            what = "the Jacobian changes within the rounding of the solution, nearly a double one"
            checks.check_error(
                name, error, tol, what, "add a penalty or an equation that keeps it apart"
            )
        else:
            self._check_error(size, error)
        return found.jacobian

    def _check_curvature(self, v: Vector) -> None:
        """Raise NotASolution if the curvature is negative along one random direction."""
        rng = np.random.default_rng(0)
        w = rng.uniform(0.5, 1.0, v.shape) * rng.choice([-1.0, 1.0], v.shape)
        bent = self.products(v)[0](w)
        if float(w @ bent) < -(self.eps**0.5) * float(np.linalg.norm(w) * np.linalg.norm(bent)):
            raise NotASolution(
                f"{self.problem.name}: what the solver found is no minimum: along a random direction "
                f"the curvature is {float(w @ bent / (w @ w)):.1e} [at {user_line()}]; start elsewhere"
            )

    def _check_linear(self, v: Vector) -> None:
        """Raise ValueError if the residual is not affine, by a test with a random vector."""
        size = float(np.max(np.abs(v), initial=0.0)) or 1.0
        w = np.random.default_rng(0).uniform(0.5 * size, size, v.shape)
        points: list[Any] = [np.zeros_like(v), v, w, v + w]
        at = [self.residual_at(u) for u in points]
        scale = max(float(np.max(np.abs(r), initial=0.0)) for r in at)
        off = float(np.max(np.abs(at[0] - at[1] - at[2] + at[3]), initial=0.0))
        if off > self.eps**0.5 * scale:
            raise ValueError(
                f"{self.problem.name}: the operator is not linear in x: A(x + w) is not A(x) + A(w) for "
                f"a random w, but differs by {off / scale:.1e} of its size [at {user_line()}]; use "
                "implicit.root for what is not linear"
            )

    def _newton_distance(self, v: Vector, r: Vector) -> float:
        """Return the size of the Newton step at v relative to v, for a matrix-free problem.

        Return 0 if the step is only a rounding error, which can be large relative to a v near 0.
        r : the residual at v.
        """
        step = self.newton_step(v, r)
        size = relative_size(step, v)
        if size != size or size <= self.problem.tol / 100.0:
            return size
        slope = self._solution_slope(v, lambda b: self.solve_linearized(v, b))
        scale = float(np.max(np.abs(slope), initial=0.0)) or 1.0
        rounding = self.is_rounding(step, max(scale, float(np.max(np.abs(v), initial=0.0))))
        return 0.0 if rounding else size

    def _linear_error(self, r: Vector) -> float:
        """Return the residual of a linear system relative to its right-hand side.

        r : the residual.
        """
        return relative_size(r, self.residual_at(np.zeros_like(r))) if r.any() else 0.0

    def _check_error(self, size: float, error: float) -> None:
        """Raise NotASolution or warn if the derivative's relative error is too large.

        size : the relative size of the Newton step at the solution, for the message.
        error : the estimated relative error of the derivative.
        """
        what = f"the solver stopped a Newton step of {size:.1e} of its size from the solution"
        checks.check_error(self.problem.name, error, self.problem.tol, what, checks.ADVICE)

    def _derivative_error(self, v: Vector, found: FactoredSystem) -> tuple[float, float]:
        """Return the relative size of the Newton step at v, and the relative error of the derivative.

        The error is estimated from the sizes of this step and of the next one.  If this estimate exceeds
        tol / 100, the solution's derivatives at both ends of the step are compared instead.  The step
        may then be only a rounding error, for example if x is 0.
        found : the residual and the factored Jacobian at v.
        """
        step = found.newton_correction
        size, limit = relative_size(step, v), self.problem.tol / 100.0
        rounding = self._curvature(v, found) * self.eps * float(np.max(np.abs(v), initial=0.0))
        error = max(size, rounding)
        if size > 1e4 * self.eps:
            after = found.apply_inverse(self.residual_at(v - step))
            error = max(error, 2.0 * relative_size(after, step))
        if error <= limit:
            return size, error
        end = v - step
        other = checks.factor_system(self.residual_at(end), self.jacobian_at(end))
        here = self._solution_slope(v, found.apply_inverse)
        there = self._solution_slope(end, other.apply_inverse)
        scale = float(np.max(np.abs(there), initial=0.0))
        error = rounding
        if scale:
            error = max(error, float(np.max(np.abs(here - there))) / scale)
        if not self.is_rounding(step, max(scale or 1.0, float(np.max(np.abs(v))))):
            error = max(error, size)
        return size, error if np.isfinite(scale) else np.inf

    def _curvature(self, v: Vector, found: FactoredSystem) -> float:
        """Return an estimate of the norm of J^-1 dJ/dv, from the residual at a point near v.

        found : the residual and the factored Jacobian at v.
        """
        signs = np.random.default_rng(0).choice([-1.0, 1.0], v.shape)
        way = 1e-2 * signs * np.abs(v)
        if not np.max(np.abs(way), initial=0.0) > np.finfo(float).tiny ** 0.5:
            return 0.0  # because the squares of smaller numbers underflow to 0
        rest = self.residual_at(v + way) - found.residual - found.jacobian @ way
        if not np.isfinite(rest).all():
            return 0.0
        return (
            2.0 * float(np.max(np.abs(found.apply_inverse(rest)))) / float(np.max(np.abs(way))) ** 2
        )

    def is_rounding(self, step: Vector, scale: float) -> bool:
        """Return True if a Newton step is as small as rounding errors of numbers of size ``scale``.

        A smaller step would not improve the solution.
        """
        return bool(np.max(np.abs(step)) <= 100.0 * self.eps * scale)

    def _solution_slope(self, v: Vector, solve: Callable[[Vector], Vector]) -> Vector:
        """Return the solution's derivative, up to its sign, along one direction of all parameters.

        In this direction each parameter changes by its own size, up or down at random.
        solve : a function that multiplies a vector by the inverse of the Jacobian at v.
        """
        some = [
            i for i, x in enumerate(self.leaves) if isinstance(x, Array) and x.dtype.kind in "fc"
        ]
        if not some:
            return np.zeros_like(v)
        rng = np.random.default_rng(0)

        def residual_of_leaves(*chosen: Array) -> Array:
            leaves = own_handles(self.leaves)
            for i, x in zip(some, chosen, strict=True):
                leaves[i] = x
            return self.problem.residual(self.point(v), leaves)

        chosen = [self.leaves[i] for i in some]
        along = []
        for x in chosen:
            data = np.asarray(as_numpy(x))
            signs = rng.choice([-1.0, 1.0], x.shape)
            along.append(home_of(x).place_array(np.where(data == 0, 1, data) * signs))
        with only_recorders():
            _, change = xp.jvp(residual_of_leaves, tuple(chosen), tuple(along))
            return solve(self._plain(change))
