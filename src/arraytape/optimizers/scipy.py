"""``minimize_scipy`` and ``LBFGS``: SciPy's optimizers on nestings of Arrays, with gradients by tape."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial, wraps
from inspect import signature
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

import arraytape as xp

from .._array.array import Array
from .._array.views import peek
from .._util import nest
from .._util.errors import describe, describe_result, entrance, user_line
from .._util.imports import import_or_advise
from ..functional.doubts import settle_doubts
from ..functional.inputs import collect_doubts
from ..functional.verify import Rerun, inner_product
from ..nn.initializers import real_number
from ..nn.layers import integer_option
from ..variable import AllOrNone, Variable, detached, restore_values
from .bounds import bounds_of

if TYPE_CHECKING:
    from .._array.array import Operand

Vector = np.ndarray[Any, np.dtype[np.float64]]

# Names of SciPy's methods in lower case, by the derivatives that they use.  All other methods use the
# gradient alone.  SciPy warns if it gets a derivative that the method does not use.
WITHOUT_GRADIENT = ("nelder-mead", "powell", "cobyla", "cobyqa")
WITH_PRODUCTS = ("newton-cg", "trust-ncg", "trust-krylov", "trust-constr")
WITH_HESSIAN = ("dogleg", "trust-exact")


def minimize_scipy(
    f: Callable[[Any], Array], x0: Any, *, method: str | None = None,
    callback: Callable[[Any], Any] | None = None, bounds: Any = None, **options: Any,
) -> Any:  # fmt: skip
    """Run ``scipy.optimize.minimize`` with derivatives by tape, on any nesting of Arrays.

    Gradients come from reverse mode, together with the value.  Methods that use products with the
    Hessian get these from forward over reverse mode; methods that use the Hessian get it column by
    column from such products.

    Parameters
    ----------
    f : callable
        The function to minimize: it gets one argument in the nesting of ``x0``, and returns one real
        number as an Array.  If ``xp.function`` made it, its value and derivatives are replayed.
    x0 : Array or nesting of Arrays
        The starting point: real or complex floating-point Arrays, Variables, NumPy arrays or floats.
        ``f`` may also read Variables of ``x0`` directly: they hold the current point during each call,
        and their first values at the end.  SciPy works in double precision; each part keeps its dtype
        and device.
    method : str, optional
        The name of a method of SciPy; by default SciPy chooses BFGS, L-BFGS-B or SLSQP.
    callback : callable, optional
        Called after each step with the current point in the nesting of ``x0``; as in SciPy, with an
        OptimizeResult (``x``, ``fun``) if its only parameter is named ``intermediate_result``.  If it
        raises StopIteration, the minimization ends.
    bounds : nesting, sequence or scipy.optimize.Bounds, optional
        In the nesting of ``x0``: for each part None, a ``Bounds``, or a pair of a lower and an upper
        bound, each None, a number or an array of the part's shape.  None in place of a nesting means
        that all its parts are unbounded.  SciPy's bounds of the vector of all parts, joined in order,
        are accepted, too.
    **options
        Further parameters of ``scipy.optimize.minimize``: ``tol``, ``options``, ``constraints``...
        Constraints are functions of the vector.

    Returns
    -------
    scipy.optimize.OptimizeResult
        SciPy's result, with ``x`` and, if present, ``jac`` in the nesting of ``x0``.

    Raises
    ------
    ImportError
        When SciPy is not installed.
    TypeError, ValueError
        When ``f`` does not return one real number, or does not depend on ``x0``.  Also when bounds do
        not fit ``x0``; the message names the part.

    Examples
    --------
    >>> import arraytape as xp
    >>> start = {"a": xp.asarray([0.0, 0.0]), "b": xp.asarray(3.0)}
    >>> def f(p):
    ...     return xp.sum((p["a"] - 1.0) ** 2) + (p["b"] + 2.0) ** 2
    >>> result = xp.optimizers.minimize_scipy(f, start, method="Newton-CG")
    >>> print(xp.round(result.x["b"] * 1e4) / 1e4, result.success)
    -2.0 True
    """
    optimize = import_or_advise(
        "scipy.optimize", "minimize_scipy and LBFGS need SciPy: pip install scipy"
    )
    for name in ("jac", "hess", "hessp", "fun", "args"):
        if name in options:
            raise TypeError(
                f"minimize_scipy: {name} is computed by tape, and cannot be given [at {user_line()}]"
            )
    if not (method is None or isinstance(method, str) or callable(method)):
        raise TypeError(
            f"minimize_scipy: method must be a name or None, got {describe(method)} "
            f"[at {user_line()}]"
        )
    problem = Problem(f, x0)
    if bounds is not None:
        options["bounds"] = bounds_of(bounds, x0, problem.leaves)
    chosen = "" if method is None else str(method).lower()
    if chosen in WITH_PRODUCTS:
        options["hessp"] = problem.hessian_product
    if chosen in WITH_HESSIAN:
        options["hess"] = problem.hessian
    if callback is not None:
        options["callback"] = problem.callback_of_vector(callback)
    slope = chosen not in WITHOUT_GRADIENT
    function = problem.value_and_gradient if slope else problem.function_value
    kept = [(x, peek(x)) for x in problem.leaves if isinstance(x, Variable)]
    try:
        start = join_as_doubles(problem.leaves)
        result = optimize.minimize(function, start, jac=slope or None, method=method, **options)
    finally:
        restore_values(kept)
    result.x = problem.nested(result.x)
    if isinstance(getattr(result, "jac", None), np.ndarray):
        result.jac = problem.nested(result.jac)
    return result


class LBFGS:
    """Minimization of a deterministic loss over Variables, by SciPy's L-BFGS-B.

    Parameters
    ----------
    max_iterations : int, default 100
        The greatest number of steps in one call of ``minimize``.
    tolerance : float, optional
        Stop when no component of the gradient is larger than this; SciPy's 1e-5 by default.
    memory : int, default 10
        The number of last steps from which the curvature is approximated.

    Examples
    --------
    >>> import arraytape as xp
    >>> v = xp.Variable([-1.0, 2.0])
    >>> def rosenbrock():
    ...     return 100.0 * (v[1] - v[0] ** 2) ** 2 + (1.0 - v[0]) ** 2
    >>> result = xp.optimizers.LBFGS().minimize(rosenbrock, [v])
    >>> print(xp.round(v * 1e4) / 1e4)
    [1. 1.]
    """

    def __init__(
        self, max_iterations: int = 100, tolerance: float | None = None, memory: int = 10
    ) -> None:
        self.options: dict[str, Any] = {
            "maxiter": integer_option("LBFGS", "max_iterations", max_iterations),
            "maxcor": integer_option("LBFGS", "memory", memory),
        }
        if tolerance is not None:
            most = number_in_range("LBFGS", "tolerance", tolerance, 0.0, math.inf)
            self.options |= {"gtol": most, "ftol": 0.0}

    @entrance
    def minimize(
        self, loss: Callable[[], Array], variables: Any, bounds: Any = None,
        callback: Callable[[Any], Any] | None = None,
    ) -> Any:  # fmt: skip
        """Change the Variables so that ``loss()``, which reads them, is minimal.

        Parameters
        ----------
        loss : callable
            A function without parameters that returns one real number as an Array.  If
            ``xp.function`` made it, its value and derivatives are replayed.
        variables : iterable or nesting of Variables
            The Variables to change.  If ``loss`` raises an error, they get back their first values.
        bounds : nesting, sequence or scipy.optimize.Bounds, optional
            Bounds in the nesting of the Variables, as in ``minimize_scipy``.
        callback : callable, optional
            Called after each step, as in ``minimize_scipy``: for a progress bar, or to stop early.

        Returns
        -------
        scipy.optimize.OptimizeResult
            SciPy's result, with ``x`` and ``jac`` in the nesting of the Variables, or as a list for an
            iterable.
        """
        if not callable(loss):
            raise TypeError(
                f"LBFGS: the loss must be a function, got {describe(loss)} [at {user_line()}]"
            )
        nested = nest.parts_of_nesting(variables) is not None
        if not nested and not isinstance(variables, Iterable):
            raise TypeError(
                f"LBFGS: takes several Variables, got {describe(variables)} [at {user_line()}]"
            )
        listed = not nested or isinstance(variables, list | tuple)
        nesting = list(variables) if listed else variables
        changed = variables_of("LBFGS", "minimize()", nesting)
        value = replayed_as(loss, "value", lambda plain: lambda _: plain())
        result = minimize_scipy(
            value,
            nesting,
            method="L-BFGS-B",
            options=self.options,
            bounds=bounds,
            callback=callback,
        )
        with AllOrNone(changed):
            for variable, found in zip(changed, nest.leaves(result.x), strict=True):
                variable.assign(found)
        return result


class Problem:
    """The user's function f of a nesting of Arrays as a function of a vector, with derivatives.

    The vector has the elements of all leaves of x0 in double precision, as pairs for complex elements.
    """

    def __init__(self, f: Callable[[Any], Array], x0: Any) -> None:
        if not callable(f):
            raise TypeError(
                f"minimize_scipy: f must be a function, got {describe(f)} [at {user_line()}]"
            )
        self.f, self.nest = f, x0
        self._gradient = replayed_as(f, "gradient", lambda plain: partial(gradient_of, plain))
        self._product = replayed_as(f, "product", lambda plain: partial(product_of, plain))
        self.leaves = [leaf_of(x, x0) for x in nest.leaves(x0)]
        if not sum(x.size for x in self.leaves):
            raise ValueError(f"minimize_scipy: x0 has no elements [at {user_line()}]")
        variables = [id(x) for x in self.leaves if isinstance(x, Variable)]
        if len({*variables}) < len(variables):
            raise ValueError(f"minimize_scipy: a Variable is in x0 twice [at {user_line()}]")

    def function_value(self, v: Vector) -> float:
        return float(scalar_value_of(self.f, self._at(v)))

    def value_and_gradient(self, v: Vector) -> tuple[float, Vector]:
        y, gradient = self._gradient(self._at(v))
        return float(y), join_as_doubles(gradient)

    def hessian_product(self, v: Vector, direction: Vector, *_: Any) -> Vector:
        return join_as_doubles(self._product(self._at(v), self._parts(direction)))

    def hessian(self, v: Vector, *_: Any) -> Vector:
        columns = [self.hessian_product(v, direction) for direction in np.eye(v.size)]
        return np.asarray(columns).T

    def callback_of_vector(self, callback: Callable[..., Any]) -> Callable[..., Any]:
        """Return a callback for SciPy's vectors that calls the user's with points nested like x0."""
        if not callable(callback):
            raise TypeError(
                f"minimize_scipy: callback must be a function, got {describe(callback)} "
                f"[at {user_line()}]"
            )
        with suppress(TypeError, ValueError):  # a function written in C may have no signature
            if [*signature(callback).parameters] == ["intermediate_result"]:

                def with_result(intermediate_result: Any) -> Any:
                    point = {"x": self.nested(intermediate_result.x)}
                    return callback(type(intermediate_result)(intermediate_result | point))

                return with_result
        return lambda v, *_: callback(self.nested(v))

    def nested(self, v: Vector) -> Any:
        return nest.pack_nesting(self.nest, self._parts(v))

    def _at(self, v: Vector) -> Any:
        """Return the argument of ``f`` for the vector v; first assign v to the Variables of x0."""
        return nest.pack_nesting(self.nest, moved_to(self.leaves, self._parts(v)))

    def _parts(self, v: Vector) -> list[Array]:
        parts, start = [], 0
        for x in self.leaves:
            end = start + x.size * (2 if x.dtype.kind == "c" else 1)
            data = np.array(v[start:end], dtype=np.float64)
            if x.dtype.kind == "c":
                data = data.view(np.complex128)
            part = np.reshape(data, x.shape).astype(x.dtype)
            parts.append(xp.asarray(part, device=x.device))
            start = end
        return parts


def moved_to(leaves: Sequence[Array], values: Sequence[Array]) -> list[Array]:
    """Assign ``values`` to the Variables among ``leaves``; return the leaves of f's argument.

    leaves : the leaves of x0: Arrays, and Variables, which f may read directly.  values : their values
    at a point.  In the result they replace the Arrays.
    """
    for x, value in zip(leaves, values, strict=True):
        if isinstance(x, Variable):
            x.assign(value)
    pairs = zip(leaves, values, strict=True)
    return [x if isinstance(x, Variable) else value for x, value in pairs]


# --- derivatives at a point, in the nesting of x0 -----------------------------------------------------
def scalar_value_of(f: Callable[[Any], Any], point: Any) -> Array:
    y = f(point)
    if not isinstance(y, Array):
        if y is None or isinstance(y, tuple):
            raise TypeError(
                "minimize_scipy: return the loss alone from f, an Array of one number; f returned "
                f"{describe_result(y)} [at {user_line()}]"
            )
        raise TypeError(
            f"minimize_scipy: f must return an Array, got {describe(y)} [at {user_line()}]; a value "
            "that was converted to a NumPy or Python number has no derivative"
        )
    if y.size != 1 or y.dtype.kind != "f":
        raise ValueError(
            f"minimize_scipy: f must return one real number, got {describe(y)} [at {user_line()}]"
        )
    return xp.reshape(y, ())


def gradient_of(f: Callable[[Any], Any], point: Any) -> tuple[Array, list[Array]]:
    """Return the value of f at ``point``, and a list of the gradients with respect to its leaves."""
    leaves = nest.leaves(point)
    with collect_doubts(xp.GradientTape(watch_accessed_variables=False)) as tape:
        tape.watch(leaves)
        y = scalar_value_of(f, point)
    found = tape.gradient(y, leaves)

    def slope_along(v: Sequence[Array]) -> Any:
        pairs = [(g, t) for g, t in zip(found, v, strict=True) if g is not None]
        return inner_product([g for g, _ in pairs], [t for _, t in pairs])

    if doubts := tape._recording.doubts:
        settle_doubts(
            doubts,
            "minimize_scipy",
            lambda: RerunInPlace(
                wraps(f)(lambda point: scalar_value_of(f, point)), (point,), 0, {}
            ),
            lambda: y,
            slope_along,
        )
    if all(g is None for g in found):
        raise ValueError(
            f"minimize_scipy: f does not depend on x0: its result {describe(y)} has no gradient "
            f"[at {user_line()}]"
        )
    return y, [
        xp.zeros_like(detached(x)) if g is None else g for x, g in zip(leaves, found, strict=True)
    ]


def product_of(f: Callable[[Any], Any], point: Any, direction: list[Array]) -> Any:
    """Return the Hessian of f at ``point`` times ``direction``, a list of Arrays for the leaves."""
    accumulator = xp.ForwardAccumulator(nest.leaves(point), direction)
    doubts = accumulator._doubts = []
    with accumulator:
        gradient = gradient_of(f, point)[1]
    found = accumulator.jvp(gradient, unconnected_gradients="zero")
    if doubts:
        settle_doubts(
            doubts,
            "minimize_scipy",
            lambda: RerunInPlace(wraps(f)(lambda point: gradient_of(f, point)[1]), (point,), 0, {}),
            lambda: gradient,
            lambda v: found,
            direction,
        )
    return found


class RerunInPlace(Rerun):
    """A ``Rerun``, which evaluates a function at other values, for a start x0 with Variables.

    It assigns the values to these Variables, because the function may read them directly.
    """

    def evaluate_at(self, arrays: Sequence[Array]) -> Any:
        """Assign ``arrays`` to the Variables of x0, and return the function's result for them."""
        return super().evaluate_at(moved_to(self.arrays, arrays))


REPLAYED: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()


def replayed_as(f: Callable[..., Any], what: str, make: Callable[[Any], Any]) -> Any:
    """Return the function ``make(f)``, compiled by ``xp.function`` if f itself is.

    what : "value", "gradient" or "product".  The compiled function is cached under f and this name.
    """
    if not hasattr(f, "eager"):
        return make(f)
    from ..replay.function import Function

    if not isinstance(f, Function):
        return make(f)
    known = REPLAYED.setdefault(f, {})
    if what not in known:
        made = make(f.eager)
        made.__qualname__ = f"{f.name}, {what}"
        known[what] = xp.function(made, limit=f.limit, strict=f.strict)
    return known[what]


def leaf_of(x: Operand | None, x0: Any) -> Array:
    """Convert a leaf of x0, an Array, NumPy array or number, to a floating-point Array."""
    if x is None or isinstance(x, str):
        raise TypeError(
            f"minimize_scipy: x0 takes Arrays, got {describe(x)}{nest.place_in_nesting(x, x0)} "
            f"[at {user_line()}]"
        )
    given = x if isinstance(x, Array) else xp.asarray(x)
    if isinstance(x, int | float) and not isinstance(x, bool):
        given = xp.asarray(float(x))
    if given.dtype.kind not in "fc":
        raise TypeError(
            f"minimize_scipy: {describe(x)} in x0{nest.place_in_nesting(x, x0)} has no gradient; give "
            f"it a floating-point dtype [at {user_line()}]"
        )
    return given


def join_as_doubles(parts: Sequence[Array]) -> Vector:
    """Return all elements of ``parts`` in one vector of float64, as pairs for complex numbers."""
    vectors = []
    for part in parts:
        host = np.asarray(detached(part).to_device("cpu"))
        double = np.complex128 if host.dtype.kind == "c" else np.float64
        vectors.append(np.array(host, dtype=double, order="C").reshape(-1).view(np.float64))
    return np.concatenate(vectors)


def variables_of(owner: str, function: str, given: Any) -> list[Variable]:
    """Return the Variables of an iterable or a nesting; raise TypeError for anything else in it."""
    nested = nest.parts_of_nesting(given) is not None
    found = nest.leaves(given if nested else list(given))
    for variable in found:
        if not isinstance(variable, Variable):
            raise TypeError(
                f"{owner}: {function} takes Variables, got {describe(variable)} [at {user_line()}]"
            )
    return found


def number_in_range(owner: str, name: str, value: float, least: float, below: float) -> float:
    """Check that the option ``name`` of ``owner`` lies in [least, below), and return it as a float."""
    given = real_number(owner, name, value)
    if not least <= given < below:
        raise ValueError(
            f"{owner}: {name} must lie in [{least}, {below}), got {value} [at {user_line()}]"
        )
    return given
