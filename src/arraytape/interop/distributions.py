"""Let the distributions of scipy.stats work on Arrays, by SciPy's own code and rules for some methods.

Most methods consist of NumPy code and special functions.  They run unchanged, because the ``np`` of
their modules is replaced by a facade that keeps Arrays.  A method that SciPy computes by a quadrature or
a root finder has a rule here.  The rule calls the distribution's own density f and distribution
function F, with the parameters p:

    y = F(x; p), the integral of f(t; p)    dy/dx = f(x),      dy/dp = the integral of df/dp
    F(y; p) = q                             dy/dq = 1 / f(y),  dy/dp = -(dF/dp) / f(y)

The values are those of SciPy's method.
"""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Iterable, Sequence
from types import ModuleType
from typing import Any

import numpy as np
from scipy import stats
from scipy.stats import _continuous_distns
from scipy.stats._distn_infrastructure import rv_generic

import arraytape

from .._array.array import Array
from .._record.plan import Unknown
from .._tape.tape import GradientTape
from .._util.array_types import Namespace, RawArray
from .._util.blocks import Quiet
from ._context import entered, has_array
from ._densities import FORMULAS, HALF_LOG_OF_TWO_PI
from ._facades import no_rule
from ._hooks import original_of
from ._ops import LibraryOp, library_op
from ._plain import ArrayInput, NumpyData, plain_data
from ._statements import hooks, keeps_arrays, replaces, stands_in

Function = Callable[..., Any]
INFRASTRUCTURE = "scipy.stats._distn_infrastructure"
CONTINUOUS = "scipy.stats._continuous_distns"
DISCRETE = "scipy.stats._discrete_distns"
LEVY = "scipy.stats._levy_stable"
NEW, NEWER = "scipy.stats._distribution_infrastructure", "scipy.stats._new_distributions"

for _module in (INFRASTRUCTURE, CONTINUOUS, DISCRETE, LEVY, NEW, NEWER, "scipy._lib._util"):
    keeps_arrays(_module)


# --- SciPy's helpers, called with Arrays and NumPy data together ----------------------------------
def all_arrays(values: Iterable[Any]) -> tuple[Any, ...]:
    return tuple([x if isinstance(x, Array) else arraytape.asarray(x) for x in values])


def apply_where(
    cond: ArrayInput, args: ArrayInput, f1: Function, f2: Function | None = None, **options: Any
) -> Any:
    """Run ``array_api_extra.apply_where`` for SciPy's code, with NumPy data converted to Arrays.

    It returns f1(*args) where ``cond`` is True, and else f2(*args) or a fill value in ``options``.
    """
    # This module of SciPy refers to SciPy's copy of array_api_extra in each version.
    extra = _continuous_distns.xpx.__wrapped__
    args = all_arrays(args if isinstance(args, tuple | list) else (args,))
    cond = arraytape.astype(arraytape.asarray(cond), arraytape.bool, copy=False)
    return extra.apply_where(cond, args, array_result(f1), array_result(f2), **options)


def array_result(function: Callable[..., Any] | None) -> Any:
    if function is None:
        return None
    return lambda *args: arraytape.asarray(function(*args))


def xp_promote(*args: Any, xp: ModuleType, **options: Any) -> Any:
    """Replace SciPy's ``xp_promote``, which converts arguments to one floating-point dtype.

    If an argument is an Array, the namespace is arraytape, so that all results are Arrays.
    """
    from scipy._lib._array_api import xp_promote as original

    if has_array(args):
        args, xp = tuple([x if x is None else arraytape.asarray(x) for x in args]), arraytape
    return original(*args, xp=xp, **options)


for _module in (INFRASTRUCTURE, CONTINUOUS, DISCRETE):
    stands_in(_module, "xpx", apply_where=apply_where)
replaces(CONTINUOUS, "xp_promote", xp_promote)


@hooks(NEW, "UnivariateDistribution._moment_transform_center")
def moment_about_another_center(
    self: Any, order: int, moment_as: Sequence[ArrayInput], a: ArrayInput, b: ArrayInput
) -> Any:
    """Return the moment of an order about b, given ``moment_as``, the moments about a.

    The formula is SciPy's.  The moments are stacked first, because NumPy would convert a list of Arrays
    to numbers.
    """
    a, b, *moments = arraytape.broadcast_arrays(*all_arrays((a, b, *moment_as)))
    i = np.reshape(np.arange(order + 1.0), (-1,) + (1,) * a.ndim)
    terms = arraytape.special.binom(order, i) * arraytape.stack(moments) * (a - b) ** (order - i)
    return arraytape.sum(terms, axis=0)


@hooks(NEW, "Mixture._invert")
def quantile_of_mixture(self: Any, fun: str, p: ArrayInput) -> Any:
    """Compute the quantile of a mixture by SciPy's root finder, with p as an Array.

    SciPy computes in the namespace of p.
    """
    return original_of(type(self)._invert)(self, fun, arraytape.asarray(p))


def pull_upper_bound(g: RawArray, b: RawArray, y: RawArray, xp: Namespace) -> Any:
    """Return the cotangent of b, ``g * phi(b) / exp(y)``, where y is log(Phi(b) - Phi(a)).

    g : the cotangent of y.  phi, Phi : the density and the distribution function of the normal
    distribution.
    """
    return g * xp.exp(-0.5 * b * b - HALF_LOG_OF_TWO_PI - y)


def pull_lower_bound(g: RawArray, a: RawArray, y: RawArray, xp: Namespace) -> Any:
    """Return the cotangent of a, ``-g * phi(a) / exp(y)``, for the result y = log(Phi(b) - Phi(a)).

    g : the cotangent of y.  phi, Phi : the density and the distribution function of the normal
    distribution.
    """
    return -g * xp.exp(-0.5 * a * a - HALF_LOG_OF_TWO_PI - y)


log_of_normal_mass = library_op(
    "scipy.stats.log_gauss_mass",
    lambda a, b: np.reshape(
        _continuous_distns._log_gauss_mass(np.atleast_1d(a), np.atleast_1d(b)),
        np.broadcast_shapes(a.shape, b.shape),
    ),
    pull_lower_bound, pull_upper_bound, cores=(0, 0),
)  # fmt: skip


@hooks(CONTINUOUS, "_log_gauss_mass")
def log_gauss_mass(a: ArrayInput, b: ArrayInput) -> Any:
    return log_of_normal_mass(*operands_of((a, b)))


# --- ops of methods that SciPy computes by a quadrature, by a root finder or in C -----------------
Arrays = list[Array]
Derive = Callable[[Array, Arrays, Array, Any, str], Any]


class Rule:
    """The rule of an op for a distribution's method, such as "_cdf", made from a ``derive_`` function.

    The op passes separate arguments.  ``derive`` gets the operands, x and the parameters, in a list.
    derive : function that computes the cotangents, such as ``derive_cdf``.
    names : the names of the operands.
    """

    def __init__(self, derive: Derive, names: Sequence[str]) -> None:
        self.derive, self.count = derive, len(names)
        self.__signature__ = signature_of(["g", *names, *OTHERS])
        self.__name__, self.__doc__ = derive.__name__, derive.__doc__

    def __call__(self, g: RawArray, *values: Any) -> Any:
        *operands, y, g = [arraytape.asarray(x) for x in (*values[: self.count + 1], g)]
        with entered(["scipy"]):
            return self.derive(g, operands, y, *values[self.count + 1 :])


OTHERS = ("y", "distribution", "method")
TOGETHER = "by a joint rule"


def signature_of(names: Sequence[str], arrays: Sequence[str] = ()) -> inspect.Signature:
    kind, empty = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.empty
    notes = [(x, "Array" if x in arrays else empty) for x in names]
    return inspect.Signature([inspect.Parameter(x, kind, annotation=note) for x, note in notes])


@functools.cache
def op_of_method(
    method: str, names: tuple[str, ...], derive: Derive | Unknown, rest: Unknown | str | None
) -> LibraryOp:
    """Return an op that runs a method of SciPy's distributions, such as "_cdf", on NumPy data.

    names : the names of the operands, which are x and the parameters of the distribution.
    derive : rule that returns the cotangents of all operands if ``rest`` is TOGETHER, else that of x.
    rest : else the rule of each parameter.  An operand whose rule is Unknown has no derivative.
    """

    def compute_method(*operands: Any, distribution: rv_generic, method: str) -> Any:
        shape = operands[0].shape
        if 0 in shape:
            return np.empty(shape)
        found = getattr(distribution, method)(*[np.atleast_1d(x) for x in operands])
        return np.reshape(found, shape)

    def call_by_position(*values: Any, **keywords: Any) -> Any:
        given = dict(zip([*names, *OTHERS[1:]], values, strict=False)) | keywords
        return compute_method(*[given.pop(x) for x in names], **given)

    call_by_position.__signature__ = signature_of([*names, *OTHERS[1:]], names)  # type: ignore[attr-defined]
    call_by_position.__annotations__ = dict.fromkeys(names, "Array")
    rule: Any = derive if isinstance(derive, Unknown) else Rule(derive, names)
    name, cores = f"scipy.stats distribution's {method}", (0,) * len(names)
    if rest is TOGETHER:
        return library_op(name, call_by_position, joint=rule, cores=cores)
    others: list[Any] = [rest] * (len(names) - 1)
    return library_op(name, call_by_position, rule, *others, cores=cores)


def rules_of_methods(
    derive: Derive | Unknown, rest: Unknown | str | None = TOGETHER
) -> Callable[..., None]:
    """Return a function that makes methods of SciPy's distributions run on Arrays.

    Its arguments are names of methods, such as "norm_gen._cdf".

    derive : rule that returns the cotangents of x and the parameters if ``rest`` is TOGETHER, else that
    of x.  rest : else the rule of each parameter.
    """

    def state_rules(*names: str, module: str = CONTINUOUS) -> None:
        for name in names:
            method = name.partition(".")[2]

            def run_method(self: Any, *args: Any, method: str = method) -> Any:
                shapes = [f"shape_{x.strip()}" for x in (self.shapes or "").split(",") if x.strip()]
                names = ("x", *shapes[: len(args) - 1])
                return op_of_method(method, names, derive, rest)(
                    *operands_of(args), distribution=self, method=method
                )

            hooks(module, name)(run_method)

    return state_rules


def operands_of(values: Sequence[Any]) -> list[Array]:
    """Return the operands of a distribution's method as floating-point Arrays of one shape."""
    arrays = [arraytape.asarray(x) for x in values]
    arrays = [x if x.dtype.kind == "f" else arraytape.astype(x, arraytape.float64) for x in arrays]
    return list(arraytape.broadcast_arrays(*arrays))


def pull_back(function: Function, operands: Sequence[Array], g: Array) -> list[Any]:
    """Return the cotangents of a function's operands, given the cotangent g of its result.

    A tape records ``function(*operands)`` and computes them.
    """
    operands = [x * 1.0 for x in operands]
    with GradientTape() as tape:
        tape.watch(operands)
        y = function(*operands)
    return list(tape.gradient(y, operands, g))


# --- rules ----------------------------------------------------------------------------------------
def derive_cdf(g: Array, operands: Arrays, y: Array, distribution: rv_generic, method: str) -> Any:
    """Compute the cotangents of x and the parameters for the methods ``_cdf`` and ``_sf``.

    The result y is F(x), or 1 - F(x) for ``_sf``, an integral of the density f.  The cotangent of x is
    g f(x), or -g f(x) for ``_sf``.  That of a parameter p is g times the integral of df/dp.

    g : the cotangent of y.  operands : x and the parameters.
    """
    x, *parameters = operands
    upper = method == "_sf"
    by_x = g * distribution._pdf(x, *parameters)
    pulled = pull_back(lambda *p: integrate_density(distribution, x, p, upper), parameters, g)
    return [-by_x if upper else by_x, *pulled]


def derive_solved(
    g: Array, operands: Arrays, y: Array, distribution: rv_generic, method: str
) -> Any:
    """Compute the cotangents of q and the parameters for the methods ``_ppf`` and ``_isf``.

    The result y solves F(y) = q, or 1 - F(y) = q for ``_isf``.  The cotangent of q is g / f(y).  That of
    a parameter is -g / f(y) times the derivative of F with respect to the parameter.

    g : the cotangent of y.  operands : q and the parameters.
    """
    q, *parameters = operands
    upper = method == "_isf"
    weight = g / distribution._pdf(y, *parameters)
    found: list[Any] = [None for _ in parameters]
    # Differentiate the smaller of F and 1 - F, whose relative error is small.
    below = (plain_data(q) <= 0.5) ^ upper
    for name, here, sign in (("_cdf", below, -1.0), ("_sf", ~below, 1.0)):
        if parameters and here.any():
            at_y = functools.partial(getattr(distribution, name), y)
            masked = arraytape.where(arraytape.asarray(here), sign * weight, 0.0)
            parts = pull_back(at_y, parameters, masked)
            found = [b if a is None else a + b for a, b in zip(found, parts, strict=True)]
    return [-weight if upper else weight, *found]


def derive_density(
    g: Array, operands: Arrays, y: Array, distribution: rv_generic, method: str
) -> Any:
    f = distribution._pdf(*operands)
    return g * (-f if method == "_sf" else f)


def derive_inverse(
    g: Array, operands: Arrays, y: Array, distribution: rv_generic, method: str
) -> Any:
    f = distribution._pdf(y, *operands[1:])
    return g / (-f if method == "_isf" else f)


def derive_formula(function: Function) -> Derive:
    """Return a rule for a distribution's method: SciPy computes the value, ``function`` the derivatives.

    function : formula of x and the parameters for the value or, for ``_pdf``, for its logarithm.
    """

    def written_out(
        g: Array, operands: Arrays, y: Array, distribution: rv_generic, method: str
    ) -> Any:
        if method != "_pdf":
            return pull_back(function, operands, g)
        # The formula is the logarithm of the density y, so dy = y * d(formula).  Where y is 0, the
        # formula's derivative may be infinite.
        parts = pull_back(function, operands, g * y)
        return [x if x is None else arraytape.where(y == 0.0, 0.0, x) for x in parts]

    written_out.__name__, written_out.__doc__ = function.__name__, function.__doc__
    return written_out


def derive_summed(
    g: Array, operands: Arrays, y: Array, distribution: rv_generic, method: str
) -> Any:
    """Compute the cotangents of a discrete distribution's parameters for the method ``_cdf``.

    The result y is the sum of the probabilities up to k, and k itself gets no cotangent (None).

    g : the cotangent of y.  operands : k and the parameters.
    """
    k, *parameters = operands
    first = distribution._get_support(*[plain_data(p) for p in parameters])[0]
    last = np.floor(plain_data(k))
    low, high = int(np.min(first)), int(np.max(last, initial=np.min(first)))

    def sum_probabilities(*parameters: Array) -> Array:
        places = np.arange(low, high + 1.0)
        given = [arraytape.expand_dims(p, axis=-1) for p in parameters]
        spread = arraytape.asarray(np.broadcast_to(places, (*k.shape, len(places))))
        each = distribution._pmf(spread, *given)
        taken = (places <= last[..., None]) & (places >= np.asarray(first)[..., None])
        return arraytape.sum(arraytape.where(arraytape.asarray(taken), each, 0.0), axis=-1)

    return [None, *pull_back(sum_probabilities, parameters, g)]


def derive_fisher(
    g: Array, operands: Arrays, y: Array, distribution: rv_generic, method: str
) -> Any:
    """Compute the cotangent of the odds for ``_pmf`` of Fisher's noncentral hypergeometric distribution.

    g : the cotangent of the probability y.  The probability is proportional to odds ** x, so the
    cotangent is ``g * y * (x - mean) / odds``.  Other operands are integers, and get None.  Raise
    TypeError for other distributions.
    """
    if type(distribution).__name__ != "nchypergeom_fisher_gen":
        raise no_rule(f"scipy.stats.{distribution.name}.pmf")
    x, *counts, odds = operands
    low, high = distribution._get_support(*[plain_data(n) for n in counts], plain_data(odds))
    places = np.arange(np.min(low), np.max(high) + 1.0)
    given = [arraytape.expand_dims(p, axis=-1) for p in (*counts, odds)]
    spread = arraytape.asarray(np.broadcast_to(places, (*x.shape, len(places))))
    mean = arraytape.sum(spread * distribution._pmf(spread, *given), axis=-1)
    return [None, *[None] * len(counts), g * y * (x - mean) / odds]


# --- quadrature -----------------------------------------------------------------------------------
NODES, WEIGHTS = np.polynomial.legendre.leggauss(24)
FEW_NODES, FEW_WEIGHTS = np.polynomial.legendre.leggauss(3)
LEVELS = np.array(
    [1e-300, 1e-100, 1e-30, 1e-16, 1e-12, 1e-8, 1e-5, 1e-3, 0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98]
)


def integrate_density(
    distribution: rv_generic, x: Array, parameters: Sequence[Any], upper: bool
) -> Any:
    """Integrate a density by Gauss-Legendre quadrature, over the part of its support below or above x.

    The sum is recorded, so that a tape can differentiate it with respect to x and the parameters.

    upper : True for the part above x.  If the support's end on this side is finite, the nodes move with
    it, because it may depend on parameters that are differentiated.
    """
    here = plain_data(x)
    far = distribution._get_support(*parameters)[upper]
    far = arraytape.broadcast_to(arraytape.asarray(far) * 1.0, here.shape)
    there = plain_data(far)
    finite = np.isfinite(there)
    edges = subinterval_limits(
        distribution, [plain_data(p) for p in parameters], here, there, upper
    )
    base, reach = np.where(finite, there, 0.0), np.where(finite, here - there, 1.0)
    reach = np.where(reach == 0.0, 1.0, reach)
    moved = arraytape.where(arraytape.asarray(finite), far, 0.0)
    stretch = arraytape.where(arraytape.asarray(finite), (here - moved) / reach, 1.0)
    given = [arraytape.expand_dims(p, axis=-1) for p in parameters]
    total = arraytape.zeros_like(x)
    for a, b in itertools.pairwise(edges):
        wide = b - a > 1e-14 * np.maximum(np.abs(a), np.abs(b))
        if wide.any():
            a, b = np.where(wide, a, here), np.where(wide, b, here)
            nodes = ((a + b) / 2 - base)[..., None] + ((b - a) / 2)[..., None] * NODES
            moves, grows = (arraytape.expand_dims(x, axis=-1) for x in (moved, stretch))
            places = moves + nodes * grows
            part = arraytape.sum(distribution._pdf(places, *given) * WEIGHTS, axis=-1)
            part = stretch * part * ((b - a) / 2)
            total = total + arraytape.where(arraytape.asarray(wide), part, 0.0)
    step = zero_with_slope(distribution, x, given)
    return total - step if upper else total + step


def zero_with_slope(distribution: rv_generic, x: Array, parameters: Sequence[Any]) -> Array:
    """Return an Array of value 0 whose derivative with respect to x is the density at x.

    ``integrate_density`` takes x as a constant, and adds this Array, so that the sum has a derivative
    with respect to x.  The Array is the integral of the density from the value of x to x.

    parameters : those of the distribution, with one more axis.
    """
    here = plain_data(x)
    with Quiet():
        density = distribution._pdf(here[..., None], *[plain_data(p) for p in parameters])[..., 0]
    some = arraytape.asarray(np.isfinite(here) & np.isfinite(density) & (density > 0.0))
    start = np.where(plain_data(some), here, 0.0)
    step = arraytape.where(some, x, 0.0) - start
    places = start[..., None] + arraytape.expand_dims(step, axis=-1) * ((FEW_NODES + 1.0) / 2.0)
    each = distribution._pdf(places, *parameters) * FEW_WEIGHTS
    return arraytape.where(some, 0.5 * step * arraytape.sum(each, axis=-1), 0.0)


def subinterval_limits(
    distribution: rv_generic, parameters: list[Any], here: NumpyData, there: NumpyData, upper: bool
) -> Any:
    """Return the limits of the subintervals of ``integrate_density`` in rising order.

    They are x, some quantiles between x and the end of the support, and that end, or the outermost
    quantile if the end is infinite.
    here : the values of x.  there : the end of the support, the upper one if ``upper``.
    """
    levels = np.broadcast_to(LEVELS.reshape((-1,) + (1,) * here.ndim), (len(LEVELS), *here.shape))
    with Quiet():
        given = [np.broadcast_to(p, levels.shape).ravel() for p in parameters]
        cuts = (distribution._isf if upper else distribution._ppf)(levels.ravel(), *given)
        cuts = np.reshape(cuts, levels.shape)
    known = np.isfinite(cuts)
    outermost = np.where(known, cuts, here)
    outermost = outermost.max(axis=0) if upper else outermost.min(axis=0)
    end = np.where(np.isfinite(there), there, outermost)
    low, high = np.minimum(here, end), np.maximum(here, end)
    cuts = np.clip(np.where(known, cuts, here), low, high)
    return np.concatenate([low[None], np.sort(cuts, axis=0), high[None]])


# --- the table ------------------------------------------------------------------------------------
def derive_irwin(
    g: Array, operands: Arrays, y: Array, distribution: rv_generic, method: str
) -> Any:
    """Compute the cotangent of x for the density f(x; n) of the Irwin-Hall distribution.

    The derivative is f(x; n - 1) - f(x - 1; n - 1), and 0 for n = 1.

    y is the density, and g its cotangent.  operands : x and n.
    """
    x, n = operands
    one = plain_data(n) <= 1.0
    fewer = arraytape.where(arraytape.asarray(one), 1.0, n - 1.0)
    # Outside of its support the density is 0, but SciPy's spline for it is not.
    left = arraytape.asarray(plain_data(x) <= plain_data(fewer))
    right = arraytape.asarray(plain_data(x) >= 1.0)
    slope = arraytape.where(left, distribution._pdf(x, fewer), 0.0)
    slope = slope - arraytape.where(right, distribution._pdf(x - 1.0, fewer), 0.0)
    return g * arraytape.where(arraytape.asarray(one), 0.0, slope)


NUMERICAL = Unknown("SciPy computes it numerically, and no derivative for it is known here")
COUNT = None  # the rule for a parameter that is a whole number: no derivative

rules_of_methods(derive_cdf)("rv_continuous._cdf", module=INFRASTRUCTURE)
rules_of_methods(derive_solved)("rv_generic._ppf", module=INFRASTRUCTURE)
rules_of_methods(derive_cdf)(
    "genhyperbolic_gen._cdf", "genhyperbolic_gen._sf", "geninvgauss_gen._cdf", "norminvgauss_gen._sf",
    "vonmises_gen._cdf",
)  # fmt: skip
rules_of_methods(derive_solved)("norminvgauss_gen._isf")
for _name, _formula in FORMULAS.items():
    rules_of_methods(derive_formula(_formula))(_name)
rules_of_methods(derive_cdf)("pearson3_gen._cdf", "pearson3_gen._sf")
rules_of_methods(derive_solved)("pearson3_gen._ppf", "pearson3_gen._isf")
rules_of_methods(derive_irwin, COUNT)("irwinhall_gen._pdf")
rules_of_methods(derive_density, COUNT)(
    "irwinhall_gen._cdf", "irwinhall_gen._sf", module=CONTINUOUS
)
rules_of_methods(derive_density, COUNT)("kstwo_gen._cdf", "kstwo_gen._sf")
rules_of_methods(derive_inverse, COUNT)("kstwo_gen._ppf", "kstwo_gen._isf")
rules_of_methods(NUMERICAL, COUNT)("kstwo_gen._pdf")
rules_of_methods(derive_density, NUMERICAL)("studentized_range_gen._cdf")
rules_of_methods(derive_density, NUMERICAL)("levy_stable_gen._cdf", module=LEVY)
rules_of_methods(NUMERICAL, NUMERICAL)("studentized_range_gen._pdf")
rules_of_methods(NUMERICAL, NUMERICAL)("levy_stable_gen._pdf", module=LEVY)
rules_of_methods(derive_fisher)("_nchypergeom_gen._pmf", module=DISCRETE)
rules_of_methods(derive_summed)("rv_discrete._cdf", module=INFRASTRUCTURE)


# --- entropy -----------------------------------------------------------------------------------------
@hooks(INFRASTRUCTURE, "rv_generic.entropy")
def entropy(self: Any, *args: Any, **keywords: Any) -> Any:
    """Return a distribution's entropy; raise TypeError if SciPy computes it by a quadrature."""
    shapes, loc, scale = self._parse_args(*args, **keywords)
    if type(self)._entropy in (stats.rv_continuous._entropy, stats.rv_discrete._entropy):
        raise no_rule(f"scipy.stats.{self.name}.entropy")
    operands = [*shapes, loc] if isinstance(self, stats.rv_discrete) else [*shapes, loc, scale]
    names = (*[f"shape_{i}" for i in range(len(shapes))], "loc", "scale")[: len(operands)]
    op = op_of_method("entropy", names, derive_entropy, TOGETHER)
    return op(*operands_of(operands), distribution=self, method="entropy")


def derive_entropy(
    g: Array, operands: Arrays, y: Array, distribution: rv_generic, method: str
) -> Any:
    """Compute the cotangents of the shape parameters and the scale for a distribution's entropy.

    g : the cotangent of the entropy.  The differentiated formula is SciPy's entropy for loc 0 and scale
    1, plus log(scale).  The entropy does not depend on loc, so loc gets None.
    """
    count = distribution.numargs

    def formula(*operands: Array) -> Any:
        found = distribution._entropy(*operands[:count])
        return found + arraytape.log(operands[count]) if operands[count:] else found

    free = [*operands[:count], *operands[count + 1 :]]
    pulled = pull_back(formula, free, g)
    return [*pulled[:count], None, *pulled[count:]]
