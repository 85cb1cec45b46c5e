"""Give the solvers of scipy.optimize, and ``scipy.integrate.solve_ivp``, derivatives of the solution.

SciPy's solvers convert values to numbers, so that the tape cannot follow them.  If a derivative may be
wanted, the function of the same name in ``arraytape.implicit`` runs in their place: it has SciPy's
signature and values, and derivatives of the solution.  A derivative may be wanted if a tape follows, or
``vmap`` maps, the ``args`` (for ``curve_fit`` the data), or Arrays that the user's function reads from
outside.  The roots and minima of ``scipy.optimize.elementwise`` are SciPy's values, with the derivatives
of Newton steps from the solution.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import numpy as np

import arraytape as xp

from .. import implicit
from .._array.array import Array
from .._array.views import current
from .._custom.private_handles import display_name
from .._record.stack import only_recorders
from .._storage.batched.batched_data import lengths_of
from .._tape.tape import GradientTape
from .._util import nest
from .._util.blocks import Quiet
from .._util.errors import user_line
from ._context import has_array
from ._facades import asarray, no_rule
from ._plain import ArrayInput, plain_data
from ._slopes import with_slope
from ._statements import hooks, original
from ._wanted import is_library_function, is_wanted, used_by, uses_arrays

Function = Callable[..., Any]

# For each solver: its module, the parameter that is a function, and the parameters with respect to which
# the result is differentiated.
SOLVERS = {
    "root": ("scipy.optimize._root", "fun", ("args",)),
    "minimize": ("scipy.optimize._minimize", "fun", ("args",)),
    "least_squares": ("scipy.optimize._lsq.least_squares", "fun", ("args", "kwargs")),
    "curve_fit": ("scipy.optimize._minpack_py", "f", ("xdata", "ydata", "sigma")),
}

# The parameters on which a solution does not depend.
STARTS = ("x0", "p0", "rtol", "atol", "first_step", "max_step")


def state_solver(module: str, name: str, f: str, by: tuple[str, ...], ours: str) -> None:
    """Make SciPy's solver run a function of ``arraytape.implicit`` if a derivative may be wanted.

    That function has the same results, and derivatives of the solution.

    module, name : SciPy's solver.
    f : name of SciPy's parameter that is a function.
    by : names of the parameters with respect to which the result is differentiated.
    ours : name of the function in ``implicit``.
    """

    @hooks(module, name, always=True)
    def solve_by_implicit(*args: Any, **keywords: Any) -> Any:
        theirs = original(module, name)
        call = inspect.signature(theirs).bind(*args, **keywords)
        given = call.arguments
        values = [given.get(key) for key in by] + used_by(given[f])
        if is_library_function(given[f]):
            return theirs(*args, **keywords)
        refuse_followed_options(f"scipy.optimize.{name}", given, {f, *by})
        if not is_wanted(values):
            given.update({key: plain_data(given[key]) for key in STARTS if key in given})
            return theirs(*call.args, **call.kwargs)
        others = {key: x for name in kwargs_name(theirs) for key, x in given.pop(name, {}).items()}
        if given.get("args", ()) is None:
            given["args"] = ()
        return attrgetter(ours)(implicit)(given.pop(f), **given, **others)


def refuse_followed_options(name: str, given: dict[str, Any], known: set[str]) -> None:
    """Raise TypeError if a tape follows an option of a solver that has no derivative, such as bounds.

    given : the arguments.  known : names of those that have a derivative, or are functions.
    """
    for key in given.keys() - {*known, *STARTS}:
        value = given[key]
        if not callable(value) and is_wanted([value, getattr(value, "__dict__", None)]):
            raise no_rule(name, f"an Array as {key}")


def kwargs_name(function: Function) -> list[str]:
    """Return ["options"] for a function with the parameter ``**options``, [] for one without it."""
    parameters = inspect.signature(function).parameters.values()
    return [p.name for p in parameters if p.kind is inspect.Parameter.VAR_KEYWORD]


# --- elementwise roots and minima -------------------------------------------------------------------
ELEMENTWISE = "scipy.optimize._chandrupatla"
BRACKETS = "scipy.optimize._bracket"
ZEROS = "scipy.optimize._zeros_py"


class Call:
    """A call of a function of ``scipy.optimize.elementwise``, with its arguments sorted into attributes.

    ``function`` is the user's, ``starts`` has the starting points, ``more`` and ``named`` are further
    arguments of ``function``, and ``given`` has the options.  places : names of the starting points.
    """

    def __init__(
        self, module: str, name: str, places: tuple[str, ...], args: tuple[Any, ...],
        keywords: dict[str, Any],
    ):  # fmt: skip
        self.original = original(module, name)
        self.given = inspect.signature(self.original).bind(*args, **keywords).arguments
        more = self.given.get("args", ())
        self.more = more if isinstance(more, tuple) else (more,)
        self.named = self.given.get("kwargs") or {}
        self.function = self.given.pop("func")
        self.starts = {place: self.given.pop(place) for place in places if place in self.given}

    def has_arrays(self) -> bool:
        """Return True if an argument is an Array, or the user's function reads one."""
        return uses_arrays(self.function, [self.starts, self.more, self.named])

    def call_on_values(self) -> Any:
        """Call SciPy's function with the values of Arrays as NumPy data, and return its result."""
        given = self.given | {"args": tuple([plain_data(x) for x in self.more])}
        if self.named:
            given["kwargs"] = {key: plain_data(x) for key, x in self.named.items()}
        starts = {place: plain_data(x) for place, x in self.starts.items()}
        return self.original(
            lambda *args, **keywords: plain_data(self.function(*args, **keywords)), **starts, **given,
        )  # fmt: skip

    def evaluate_at(self, x: Array) -> Array:
        """Return the user's function at x, with the other arguments broadcast to the shape of x."""
        more = [xp.broadcast_to(asarray(value), x.shape) for value in self.more]
        named = {k: xp.broadcast_to(asarray(value), x.shape) for k, value in self.named.items()}
        return asarray(self.function(x, *more, **named))


def element_slope(function: Function, x: Array) -> Array:
    """Return the derivative of an elementwise function at x; outer tapes can differentiate it again."""
    with GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    found: Array = tape.gradient(y, x, unconnected_gradients="zero")
    return found


def newton_steps(function: Function, x: Array) -> Array:
    """Return x, a root of ``function``, after two recorded Newton steps: derivatives up to order 3.

    The first step's slope is a constant, so that the first derivative is that of the implicit function
    theorem at x.  Where roots nearly coincide, the derivative of a Newton step differs from it.
    """
    with Quiet():
        found = x * 1.0
        found = found - function(found) / xp.stop_gradient(element_slope(function, x))
        end: Array = found - function(found) / element_slope(function, found)
        return end


def newton(function: Function, x: Array, anchor: Function) -> Array:
    """Return x, roots of ``function`` that SciPy found, after recorded Newton steps.

    Where the derivative of ``function`` is 0, the root has none, so the result is NaN.  The NaN is
    multiplied by ``anchor(x)``, a function of the same Arrays, so that their gradients are NaN, too.
    """
    found = newton_steps(function, x)
    with Quiet():
        flat = element_slope(function, x) == 0.0
        return xp.where(flat, np.nan * anchor(x), found) if bool(xp.any(flat)) else found


def arrays_in_result(found: dict[str, Any]) -> Any:
    kinds = np.ndarray | np.generic
    return type(found)({k: asarray(x) if isinstance(x, kinds) else x for k, x in found.items()})


@hooks(ELEMENTWISE, "_chandrupatla", always=True)
def root_of_elements(*args: Any, **keywords: Any) -> Any:
    """Return SciPy's result of ``find_root``, with derivatives of the roots ``x``.

    Newton steps from the roots give the derivatives.  The function values at the roots get none.
    """
    call = Call(ELEMENTWISE, "_chandrupatla", ("a", "b"), args, keywords)
    if not call.has_arrays():
        return call.original(*args, **keywords)
    found = arrays_in_result(call.call_on_values())
    found.x = with_slope(found.x, newton(call.evaluate_at, found.x, call.evaluate_at))
    return found


@hooks(ELEMENTWISE, "_chandrupatla_minimize", always=True)
def minimum_of_elements(*args: Any, **keywords: Any) -> Any:
    """Return SciPy's result of ``find_minimum``; its derivatives are those of a root of the slope."""
    call = Call(ELEMENTWISE, "_chandrupatla_minimize", ("x1", "x2", "x3"), args, keywords)
    if not call.has_arrays():
        return call.original(*args, **keywords)
    found = arrays_in_result(call.call_on_values())
    found.x = with_slope(
        found.x, newton(lambda x: element_slope(call.evaluate_at, x), found.x, call.evaluate_at)
    )
    found.fun = with_slope(found.fun, call.evaluate_at(found.x))
    return found


def state_bracket(name: str, *places: str) -> None:
    """Give SciPy's function ``name``, which searches a bracket of a root or minimum, a rule for Arrays.

    The bracket is differentiated only with respect to the starting points.  places : the names of the
    parameters that are starting points.
    """

    @hooks(BRACKETS, name, always=True)
    def find_bracket(*args: Any, **keywords: Any) -> Any:
        call = Call(BRACKETS, name, places, args, keywords)
        if not call.has_arrays():
            return call.original(*args, **keywords)
        if not has_array(call.starts.values()):
            return call.call_on_values()
        starts = {key: x if x is None else asarray(x) for key, x in call.starts.items()}
        return call.original(call.function, **starts, **call.given)


state_bracket("_bracket_root", "xl0", "xr0", "xmin", "xmax")
state_bracket("_bracket_minimum", "xm0", "xl0", "xr0", "xmin", "xmax")


# --- roots and minima of one variable, and fixed points -----------------------------------------------
# For each solver of one variable: its module, and the parameter that is a function.
SCALAR_SOLVERS = {
    **dict.fromkeys(("bisect", "brenth", "brentq", "ridder", "toms748"), (ZEROS, "f")),
    "newton": (ZEROS, "func"),
    "root_scalar": ("scipy.optimize._root_scalar", "f"),
    "minimize_scalar": ("scipy.optimize._minimize", "fun"),
    **dict.fromkeys(("brent", "fminbound"), ("scipy.optimize._optimize", "func")),
}
MINIMIZERS = ("minimize_scalar", "brent", "fminbound", "golden")


def function_on_values(function: Function) -> Function:
    """Return a user's function of Arrays as a function of numbers and NumPy data for SciPy's solvers."""

    def to_numbers(y: Any) -> Any:
        if isinstance(y, tuple):  # the value, and derivatives for Newton's method
            return tuple(map(to_numbers, y))
        if isinstance(y, Array) and lengths_of((current(y)[1],)):
            raise ValueError(
                "pass Arrays over which vmap maps in args: the function of a solver uses one from "
                f"outside [at {user_line()}]"
            )
        data = plain_data(y)
        return data.item() if isinstance(data, np.ndarray) and data.size == 1 else data

    def evaluate(x: Any, *theta: Any) -> Any:
        leaves = [asarray(v) if isinstance(v, np.ndarray) else v for v in nest.leaves(theta)]
        return to_numbers(function(asarray(x), *nest.pack_nesting(theta, leaves)))

    return evaluate


def plain_options(given: dict[str, Any]) -> dict[str, Any]:
    """Return options of a solver, with NumPy data in place of Arrays in its starts, and in functions."""
    options = {}
    for key, value in given.items():
        if callable(value):
            options[key] = function_on_values(value)
        else:
            leaves = [plain_data(x) for x in nest.leaves(value)]
            options[key] = nest.pack_nesting(value, leaves)
    return options


def solve_scalar(
    module: str, name: str, f: str, args: tuple[Any, ...], keywords: dict[str, Any]
) -> Any:
    """Call SciPy's solver ``name`` of one variable; its solution, a root or minimum, has derivatives.

    SciPy's own code computes the solution from values.  ``implicit`` checks the solution, and recorded
    Newton steps give the derivatives with respect to all Arrays that the user's function uses.  Those
    with respect to brackets, starts and tolerances are 0.
    f : name of SciPy's parameter that is a function.
    """
    theirs, minimizes = original(module, name), name in MINIMIZERS
    given = inspect.signature(theirs).bind(*args, **keywords).arguments
    function, more = given.pop(f), given.pop("args", ())
    more = more if isinstance(more, tuple) else (more,)
    # A minimum may lie at a bound.  If a bound is the only Array, SciPy's recorded search has its slope.
    limits = ("x1", "x2", "bounds") if minimizes else ()
    options = [value for key, value in given.items() if key not in limits]
    if is_library_function(function) or not is_wanted([more, *used_by(function), *options]):
        return theirs(*args, **keywords)
    plain, found = plain_options(given), []
    pairs = given.get("fprime") is True or given.get("fprime2") is True

    def solve(_: Any, *theta: Any) -> Any:
        found.append(theirs(function_on_values(function), args=theta, **plain))
        return solution_in(found[-1])

    def value(x: Array, *theta: Any) -> Any:
        y = function(x, *theta)
        return y[0] if pairs else y

    value.__name__ = display_name(function)

    def value_here(x: Array) -> Any:
        return value(x, *more)

    start = asarray(0.0 if given.get("x0") is None else plain["x0"])
    with only_recorders():
        problem = implicit.minimum if minimizes else implicit.root
        x = problem(value, start.astype(np.result_type(start.dtype, 0.0)), *more, solver=solve)
    equation = (lambda x: element_slope(value_here, x)) if minimizes else value_here
    x = with_slope(x, newton_steps(equation, x))
    return with_solution(found[-1], x, value_here, minimizes)


def state_scalar_solver(module: str, name: str, f: str) -> None:
    """Make SciPy's solver of one variable run ``solve_scalar``, whose parameters these are."""

    @hooks(module, name, always=True)
    def call_solver(*args: Any, **keywords: Any) -> Any:
        return solve_scalar(module, name, f, args, keywords)


def solution_in(found: Any) -> Any:
    """Return the root or minimum in a result of SciPy, a number or an array."""
    found = found[0] if isinstance(found, tuple) else found
    return found if isinstance(found, float | np.generic | np.ndarray) else found.get(
        "root", found.get("x")
    )  # fmt: skip


def with_solution(found: Any, x: Array, value: Function, minimizes: bool) -> Any:
    """Return SciPy's result ``found`` with the Array x as its root or minimum.

    value : the user's function, which gives the value ``fun`` at a minimum.
    minimizes : True if the second item of a tuple is this value.
    """
    if isinstance(found, tuple):
        rest = [
            with_solution(r, x, value, minimizes) if hasattr(r, "root") else r for r in found[1:]
        ]
        if minimizes:
            rest[0] = with_slope(asarray(rest[0]), value(x))
        return type(found)(x, *rest) if hasattr(found, "_fields") else (x, *rest)
    if isinstance(found, float | np.generic | np.ndarray):
        return x
    found["root" if "root" in found else "x"] = x
    if "fun" in found:
        found["fun"] = with_slope(asarray(found["fun"]), value(x))
    return found


@hooks("scipy.optimize._minpack_py", "fixed_point", always=True)
def fixed_point(
    func: Function, x0: ArrayInput, args: Any = (), *options: Any, **keywords: Any
) -> Any:
    theirs = original("scipy.optimize._minpack_py", "fixed_point")
    more = args if isinstance(args, tuple) else (args,)
    if is_library_function(func) or not is_wanted([more, *used_by(func)]):
        return theirs(func, plain_data(x0), args, *options, **keywords)

    def solve(x0: Any, *theta: Any) -> Any:
        return theirs(function_on_values(func), x0, theta, *options, **keywords)

    return implicit.fixed_point(func, asarray(x0), *more, solver=solve)


# --- the table ----------------------------------------------------------------------------------------
for _name, (_module, _f) in SCALAR_SOLVERS.items():
    state_scalar_solver(_module, _name, _f)
for _name, (_module, _f, _by) in SOLVERS.items():
    state_solver(_module, _name, _f, _by, f"scipy.{_name}")
state_solver(
    "scipy.integrate._ivp.ivp", "solve_ivp", "fun", ("args", "y0", "t_span", "t_eval"), "odeint"
)
