"""Second derivatives at the special points of the first, nested in all four ways.

Where differences in extended precision find a second derivative, all nestings have it.  Where there
is none, ``NAMED`` says what they have in its place.
"""

import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import arraytape as xp
from arraytape.testing import weights
from helpers.namespace_ops import namespace_ops
from helpers.second_order import NESTINGS, differences, hessian

pytestmark = pytest.mark.filterwarnings("ignore:use the values alone, projectors")

INF = math.inf
RTOL = 1e-5  # of the differences


class Case(NamedTuple):
    """A function of Arrays at a point, and the same function of NumPy's arrays."""

    name: str
    function: Callable[..., Any]
    reference: Callable[..., Any]
    values: tuple[Any, ...]


# What stands where there is no second derivative.  "side": that of one of the sides of the point.
class Named(NamedTuple):
    """kinds : what may stand there.  nan_at : where all elements may be NaN, by the values."""

    kinds: str
    why: str
    nan_at: Callable[..., bool] = lambda *values: False


def has_zero(*values):
    return any(not np.all(v) for v in values)


def all_equal(x):
    return bool(np.ptp(x) == 0)


def coincide(x):
    """Whether singular values or eigenvalues coincide, or one is 0."""
    return any(
        abs(a - b) < 1e-9 or abs(a) < 1e-9
        for a, b in (np.linalg.svd(x)[1], np.linalg.eigvalsh((x + x.T) / 2))
    )


JUMP = Named("side", "the value or the slope jumps")
POLE = Named("inf", "the slope is infinite")
BRANCH = Named("nan inf side", "a branch point, or a cut")
TIP = Named("nan", "the tip of a cone: the curvature is unbounded near it", has_zero)
FLAT = Named("nan", "all elements are equal: the tip of a cone", all_equal)
CUSP = Named("nan 0", "an element that is 0: the slope may be a cusp", has_zero)
CHOICE = Named("nan side", "the vectors are a free choice of basis", coincide)
POWER = Named("nan inf 0 side", "see test_powers_of_zero_and_of_negative_numbers")
NAMED = {
    **dict.fromkeys(
        (
            "abs", "clip", "copysign", "np.fmod", "max", "maximum", "median", "min", "minimum",
            "nanmedian", "nn.relu", "norm, -inf", "norm, 1", "norm, inf", "np.fabs", "np.fmax",
            "np.fmin", "np.heaviside", "np.interp", "np.maximum.accumulate", "np.modf", "ptp",
            "quantile", "remainder", "sign", "sort", "matrix_norm, 1",
        ),
        JUMP,
    ),
    **dict.fromkeys(
        ("acos", "asin", "atanh", "log", "log10", "log1p", "log2", "reciprocal", "sqrt"), POLE
    ),
    "floor_divide": Named("side 0", "the value jumps, between infinities at 0"),
    "divide": Named("inf 0", "the slope is infinite, to x1 constant"),
    "acosh": Named("nan inf", "the slope is infinite"),
    "np.cbrt": Named("nan inf", "the slope is infinite"),
    "atan2": Named("nan side", "the origin, and the cut", has_zero),
    "complex abs": TIP,
    "complex sign": Named("0", "the slope at 0 is 0 by convention"),
    "hypot": TIP,
    "matrix_norm": TIP,
    **dict.fromkeys(
        ("norm, None", "norm, 2", "norm, 3", "norm, 4"), TIP._replace(kinds="nan side")
    ),  # of one element, the absolute value
    **dict.fromkeys(("norm, 2.5", "norm, 1.5", "norm, 0.5", "norm, -1"), CUSP),
    **dict.fromkeys(("nanstd", "std", "std, ddof"), FLAT),
    **dict.fromkeys(
        (
            "complex acos", "complex acosh", "complex asin", "complex asinh", "complex atan",
            "complex atanh", "complex log", "complex log1p", "complex sqrt",
        ),
        BRANCH,
    ),
    "complex pow": POWER,
    "np.float_power": POWER,
    "pow": POWER,
    **dict.fromkeys(("svdvals", "svdvals, squares", "eigvalsh", "eigvalsh, squares"), CHOICE),
    "matrix_norm, nuc": CHOICE,
    "logabsdet": Named("nan inf", "the slope is infinite"),
}  # fmt: skip


# --- points and cases ---
POINTS = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 1e-9, -1e-9, 1e-5, 30.0, 1e3, 1e100, -1e100)
FEW = (0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, 3.0)
VECTORS = (
    [1.0, 2.0, 3.0], [0.0, 2.0, 3.0],
    [0.0, 0.0, 3.0], [0.0, -0.0, 0.0], [2.0, 2.0, 2.0], [2.0, 2.0, 1.0],
    [-1.0, 0.0, 1.0], [1e-9, 2e-9, -1e-9], [3.0], [0.0],
)  # fmt: skip
MATRICES = (
    np.eye(2), np.asarray([[1.0, 2.0], [2.0, 4.0]]), np.zeros((2, 2)),
    np.asarray([[0.0, 1.0], [1.0, 0.0]]), np.asarray([[2.0, 1.0], [1.0, 3.0]]), np.diag([1.0, 2.0]),
    np.asarray([[1.0, 1.0], [0.0, 1.0]]),
)  # fmt: skip
COMPLEX = (0.0, 1.0, -1.0, 1.0j, -1.0j, 0.1 + 0.2j, 0.02, 2.0 + 1.0j, -2.0 + 0.5j, 0.5 - 0.5j)


def elementwise_cases():
    """Every elementwise op of the registry that NumPy has, too."""
    for op in namespace_ops():
        reference = getattr(np, op.name, None)
        if op.kind != "elementwise" or reference is None:
            continue
        points = itertools.product(*[POINTS if len(op.inputs) == 1 else FEW] * len(op.inputs))
        for values in points:
            yield Case(op.name, op.public, reference, values)
    for x in POINTS:
        yield Case("abs", xp.abs, np.abs, (x,))
        yield Case("sign", xp.sign, np.sign, (x,))
        for low, high in ((0.0, 2.0), (2.0, 1.0), (None, 1.0)):
            clip = lambda x, low=low, high=high: np.clip(x, low, high)  # noqa: E731
            yield Case("clip", clip, clip, (x,))
    for values in itertools.product((0.0, 1.0, 2.0), repeat=3):
        yield Case("clip", xp.clip, np.clip, values)


def power_cases():
    """Powers with a number as exponent or as base, whose rules are other ones."""
    for x in POINTS:
        for number in (0, 0.0, 1, 2, 2.0, 3, -1, 0.5, 1.5, 2.5):
            power = lambda x, n=number: x**n  # noqa: E731
            yield Case("pow", power, power, (x,))
        for number in (0, 1, 2.0, 0.5):
            power = lambda x, n=number: n**x  # noqa: E731
            yield Case("pow", power, power, (x,))


def numpy_cases():
    """NumPy's functions of each element, and activations."""
    for name in ("cbrt", "exp2", "sinc", "fabs", "deg2rad", "nan_to_num"):
        for x in POINTS:
            yield Case(f"np.{name}", getattr(np, name), getattr(np, name), (x,))
    for name in ("logaddexp2", "float_power", "fmax", "fmin", "fmod", "heaviside"):
        for values in itertools.product(FEW, repeat=2):
            yield Case(f"np.{name}", getattr(np, name), getattr(np, name), values)
    for x in POINTS:
        part = lambda x: np.modf(x)[0]  # noqa: E731
        yield Case("np.modf", part, part, (x,))
        yield Case("np.interp", interpolated, linear, (x,))
        for name, reference in ACTIVATIONS.items():
            yield Case(f"nn.{name}", getattr(xp.nn, name), reference, (x,))


def interpolated(x):
    return np.interp(x, xp.asarray([0.0, 1.0, 2.0]), xp.asarray([1.0, 3.0, 2.0]))


def linear(x):
    """The same in extended precision, which ``numpy.interp`` does not have."""
    rising, falling = 1 + 2 * x, 4 - x
    return np.where(x < 0, 1.0, np.where(x < 1, rising, np.where(x <= 2, falling, 2.0)))


def logsumexp(x):
    largest = np.max(x)
    return np.log(np.sum(np.exp(x - largest))) + largest


ACTIVATIONS = {
    "relu": lambda x: np.maximum(x, 0),
    "sigmoid": lambda x: np.exp(-np.logaddexp(0, -x)),
    "softplus": lambda x: np.logaddexp(x, 0),
    "tanh": np.tanh,
}
OF_VECTORS = {
    "average": lambda x: np.average(x, weights=x * x + 1.0),
    "clip": lambda x: np.clip(x, 0.0, 2.0),
    "convolve": lambda x: np.convolve(x, x),
    "cov": lambda x: np.cov(x, x**2) if x.size > 1 else x * 0.0,
    "cumprod": np.cumprod,
    "max": np.max,
    "median": np.median,
    "min": np.min,
    "nancumprod": np.nancumprod,
    "nanmedian": np.nanmedian,
    "nanprod": np.nanprod,
    "nanstd": np.nanstd,
    "nanvar": np.nanvar,
    "np.maximum.accumulate": np.maximum.accumulate,
    "np.unwrap": np.unwrap,
    "polyval": lambda x: np.polyval(x, x),
    "prod": np.prod,
    "ptp": np.ptp,
    "quantile": lambda x: np.quantile(x, 0.3),
    "sort": np.sort,
    "std": np.std,
    "std, ddof": lambda x: np.std(x, ddof=0.5),
    "trapezoid": lambda x: np.trapezoid(x, x**2),
    "vander": np.vander,
    "var": np.var,
    **{
        f"norm, {ord}": lambda x, ord=ord: np.linalg.norm(x, ord)
        for ord in (None, 2, 3, 4, 2.5, 1.5, 0.5, 1, 0, -1, INF, -INF)
    },
}


def reduction_cases():
    for values in VECTORS:
        x = np.asarray(values)
        for name, function in OF_VECTORS.items():
            yield Case(name, function, function, (x,))
        yield Case("nn.log_softmax", xp.nn.log_softmax, lambda x: x - logsumexp(x), (x,))
        yield Case("nn.softmax", xp.nn.softmax, lambda x: np.exp(x - logsumexp(x)), (x,))


def complex_cases():
    """Functions of complex numbers, of their real and imaginary parts."""
    names = (
        "sqrt", "log", "exp", "sin", "cos", "tan", "tanh", "sinh", "cosh", "atan", "asinh", "acosh",
        "acos", "asin", "atanh", "expm1", "log1p", "abs", "sign", "square", "reciprocal", "sinc",
    )  # fmt: skip
    for name, z in itertools.product(names, COMPLEX):
        of_parts = lambda a, b, name=name: getattr(np, name)(a + 1j * b)  # noqa: E731
        yield Case(f"complex {name}", of_parts, of_parts, (complex(z).real, complex(z).imag))
    for z, exponent in itertools.product(COMPLEX, (0.0, 1.0, 2.0, 3.0, -1.0, 0.5)):
        power = lambda a, b, y: (a + 1j * b) ** y  # noqa: E731
        yield Case("complex pow", power, power, (complex(z).real, complex(z).imag, exponent))


# --- matrices, in closed form for those of two rows, since LAPACK has no extended precision ---
def det(m):
    return m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0]


def inv(m):
    adjugate = np.asarray([[m[1, 1], -m[0, 1]], [-m[1, 0], m[0, 0]]], m.dtype)
    return adjugate / det(m)


def svdvals(m):
    squares, area = np.sum(m * m), abs(det(m))
    root = np.sqrt(np.maximum(squares * squares - 4 * area * area, 0))
    largest = np.sqrt((squares + root) / 2)
    return np.stack([largest, area / np.where(largest == 0, 1, largest)])


def eigvalsh(m):
    half, middle = (m[0, 0] - m[1, 1]) / 2, (m[0, 0] + m[1, 1]) / 2
    root = np.hypot(half, (m[1, 0] + m[0, 1]) / 2)
    return np.stack([middle - root, middle + root])


def symmetric(x):
    return (x + x.mT) / 2


OF_MATRICES = {
    "det": (xp.linalg.det, det),
    "inv": (xp.linalg.inv, inv),
    "logabsdet": (lambda x: xp.linalg.slogdet(x).logabsdet, lambda m: np.log(abs(det(m)))),
    "matrix_norm": (xp.linalg.matrix_norm, lambda m: np.sqrt(np.sum(m * m))),
    "matrix_norm, 1": (
        lambda x: xp.linalg.matrix_norm(x, ord=1), lambda m: np.max(np.sum(abs(m), axis=0)),
    ),
    "matrix_norm, nuc": (
        lambda x: xp.linalg.matrix_norm(x, ord="nuc"), lambda m: np.sum(svdvals(m)),
    ),
    "matrix_power, 0": (lambda x: xp.linalg.matrix_power(x, 0), lambda m: np.eye(2) + 0 * m),
    "matrix_power, 3": (lambda x: xp.linalg.matrix_power(x, 3), lambda m: m @ m @ m),
    "matrix_power, -2": (lambda x: xp.linalg.matrix_power(x, -2), lambda m: inv(m) @ inv(m)),
    "solve": (lambda x: xp.linalg.solve(x, x @ x), lambda m: inv(m) @ (m @ m)),
    "svdvals": (xp.linalg.svdvals, svdvals),
    "svdvals, squares": (lambda x: xp.sum(xp.linalg.svdvals(x) ** 2), lambda m: np.sum(m * m)),
    "eigvalsh": (lambda x: xp.linalg.eigvalsh(symmetric(x)), eigvalsh),
    "eigvalsh, squares": (
        lambda x: xp.sum(xp.linalg.eigvalsh(symmetric(x)) ** 2),
        lambda m: np.sum(symmetric(m) ** 2),
    ),
}  # fmt: skip
OF_REGULAR = ("inv", "matrix_power, -2", "solve")


def matrix_cases():
    for name, (function, reference) in OF_MATRICES.items():
        for x in MATRICES:
            if name not in OF_REGULAR or det(x):
                yield Case(name, function, reference, (x,))


KINDS = {
    "elementwise": elementwise_cases,
    "power": power_cases,
    "numpy": numpy_cases,
    "reduction": reduction_cases,
    "complex": complex_cases,
    "matrix": matrix_cases,
}


# --- the sweep ---
# Whose values at 1e100 are too large, or turn too fast, for any precision.
WILD = ("cos", "cosh", "exp", "expm1", "np.exp2", "np.sinc", "sin", "sinh", "tan")
POWERS = ("pow", "np.float_power")  # of negative numbers only integers, which differences leave


def in_domain(case):
    if case.name in WILD and abs(case.values[0]) > 1e9:
        return False
    if case.name in POWERS and len(case.values) == 2 and case.values[0] < 0 and not case.values[1]:
        return False
    with np.errstate(all="ignore"):
        found = case.reference(*[np.asarray(v, np.longdouble) for v in case.values])
    return not np.isnan(np.asarray(found)).all()


def cases_by_name():
    found: dict[str, list[Case]] = {}
    for make in KINDS.values():
        for case in make():
            found.setdefault(case.name, []).append(case)
    return {name: cases for name, cases in found.items() if any(map(in_domain, cases))}


CASES = cases_by_name()


def near(a, b, rtol=RTOL):
    b = float(b)  # of a number that only extended precision holds, an infinity
    return a == b if math.isinf(b) else bool(abs(a - b) <= rtol * max(1.0, abs(b)))


def faults_of(case):
    """What is wrong with the Hessians at one point, and whether a name was needed."""
    values = [np.asarray(v, np.float64) for v in case.values]
    exact, sided = differences(case.reference, values)
    found = {nesting: hessian(case.function, values, nesting) for nesting in NESTINGS}
    named, faults, used = NAMED.get(case.name, NOTHING), [], False
    may_be_nan = named.nan_at(*values)
    for i, j in np.ndindex(exact.shape):
        for nesting, h in found.items():
            value, expected = h[i, j], exact[i, j]
            if may_be_nan and np.isnan(value):
                used = True
                continue
            if expected is None:
                used = True
                right = is_named(value, named.kinds.split(), sided[i, j])
            else:
                right = near(value, expected)
            if not right:
                where = f"{case.name}{case.values} {nesting}[{i}, {j}]"
                said = named.kinds if expected is None else float(expected)
                faults.append(f"{where}: {value}, not {said}")
    return faults, used


NOTHING = Named("", "has a second derivative everywhere")


def is_named(value, kinds, on_sides):
    if np.isnan(value):
        return "nan" in kinds
    if np.isinf(value):
        return "inf" in kinds
    if value == 0 and "0" in kinds:
        return True
    return "side" in kinds and any(near(value, s) for s in on_sides)


@pytest.mark.parametrize("name", CASES)
def test_some_points_have_the_second_derivative_or_what_is_named(name):
    """At every seventh point; the next test has all of them."""
    checked = [faults_of(case) for case in CASES[name][::7] if in_domain(case)]
    assert not [fault for faults, _ in checked for fault in faults]


@pytest.mark.nightly
@pytest.mark.parametrize("name", CASES)
def test_all_nestings_have_the_second_derivative_or_what_is_named(name):
    checked = [faults_of(case) for case in CASES[name] if in_domain(case)]
    assert not [fault for faults, _ in checked for fault in faults]
    assert any(used for _, used in checked) == (name in NAMED), "a row of NAMED is stale or missing"


# --- powers ---
AT_ZERO = {  # by the exponent: by the base twice, mixed, by the exponent twice
    0.0: (0.0, INF, 0.0),
    0.5: (-INF, -INF, 0.0),
    1.0: (0.0, -INF, 0.0),
    1.5: (INF, 0.0, 0.0),
    2.0: (2.0, 0.0, 0.0),
    3.0: (0.0, 0.0, 0.0),
    -1.0: (INF, INF, INF),
}


def power_hessian(nesting, x, y):
    h = hessian(lambda x, y: xp.pow(x, y) / WEIGHT, [np.asarray(x), np.asarray(y)], nesting)
    np.testing.assert_array_equal(h, h.T)
    return h[0, 0], h[0, 1], h[1, 1]


WEIGHT = float(weights(())[()])  # by which a result of shape () counts in a total


@pytest.mark.parametrize("nesting", NESTINGS)
@pytest.mark.parametrize("y", AT_ZERO)
def test_powers_of_zero_have_the_limits_of_their_second_derivatives(nesting, y):
    np.testing.assert_allclose(power_hessian(nesting, 0.0, y), AT_ZERO[y], rtol=1e-14)


def test_a_deviation_whose_square_underflows_has_second_derivatives():
    x = np.asarray([3.0, 11.0, 3.5], dtype=np.float32)
    second = np.asarray(xp.hessian(xp.std)(xp.asarray(x * np.float32(9e-21))))
    expected = np.asarray(xp.hessian(xp.std)(xp.asarray(x, dtype=xp.float64)))
    np.testing.assert_allclose(second * 9e-21, expected, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("y", [1e-8, -1e-8])
@pytest.mark.parametrize("x", [1e-20, -1e-20])
def test_a_power_that_overflows_counts_with_its_small_factor(x, y):
    """x ** (y - 2) is beyond float32, y * x ** (y - 2) is not."""
    if x < 0:
        y = 0.0  # of a negative base a whole exponent alone has a power
    x, y = xp.asarray(np.float32(x)), xp.asarray(np.float32(y))
    second = xp.grad(xp.grad(xp.pow))(x, y)
    expected = float(y) * (float(y) - 1.0) * abs(float(x)) ** (float(y) - 2.0)
    np.testing.assert_allclose(np.asarray(second), expected, rtol=1e-5)
    mixed = xp.grad(xp.grad(xp.grad(xp.pow), argnums=1))(x, y)
    assert not np.isnan(np.asarray(mixed))


@pytest.mark.parametrize("nesting", NESTINGS)
@pytest.mark.parametrize("x", [-2.0, -0.5, 0.5, 2.0, 1e-200])
def test_the_mixed_second_derivative_of_a_power_of_zero_is_the_reciprocal(nesting, x):
    np.testing.assert_allclose(power_hessian(nesting, x, 0.0)[1], 1 / x, rtol=1e-14)


@pytest.mark.parametrize("nesting", NESTINGS)
def test_a_negative_number_has_no_derivative_towards_its_exponent(nesting):
    twice_by_base, mixed, twice_by_exponent = power_hessian(nesting, -2.0, 3.0)
    np.testing.assert_allclose(twice_by_base, -12.0, rtol=1e-14)
    assert np.isnan([mixed, twice_by_exponent]).all()


@pytest.mark.parametrize(
    ("orders", "expected"),
    [
        pytest.param("xxy", lambda x: -1 / x**2, id="twice by the base"),
        pytest.param("xyy", lambda x: 2 * np.log(x) / x, id="twice by the exponent"),
        pytest.param("yyy", lambda x: np.log(x) ** 3, id="by the exponent"),
    ],
)
@pytest.mark.parametrize("x", [0.5, 2.0])
def test_third_derivatives_of_a_power_of_zero_are_exact_in_any_order(x, orders, expected):
    for order in set(itertools.permutations(orders)):
        f = lambda x, y: xp.pow(x, y)  # noqa: E731
        for name in order:
            f = xp.grad(f, argnums="xy".index(name))
        found = f(xp.asarray(x), xp.asarray(0.0))
        np.testing.assert_allclose(float(found), expected(x), rtol=1e-13)


# --- what a selection hides, infinities, and precision ---
@pytest.mark.parametrize("nesting", ["rr", "fr", "rf"])
@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: xp.where(x > 0, xp.hypot(x, y), y * y),
        lambda x, y: xp.where(x > 0, xp.atan2(x, y), y * y),
        lambda x, y: xp.where(x > 0, abs(x + 1j * y), y * y),
        lambda x, y: xp.where(x > 0, xp.std(xp.stack([x, y])), y * y),
        lambda x, y: xp.where(x > 0, xp.linalg.vector_norm(xp.stack([x, y])), y * y),
    ],
    ids=["hypot", "atan2", "abs", "std", "vector_norm"],
)
def test_a_selection_hides_the_tip_of_a_cone_to_second_order(nesting, function):
    if nesting == "rf":  # forward mode does not know what will be selected
        return
    found = hessian(function, [np.asarray(0.0), np.asarray(0.0)], nesting)
    np.testing.assert_allclose(found, np.diag([0.0, 2.0]) * WEIGHT, rtol=1e-14)


UNARY = [op for op in namespace_ops() if op.kind == "elementwise" and len(op.inputs) == 1]


@pytest.mark.parametrize("x", [INF, -INF])
@pytest.mark.parametrize("op", [op for op in UNARY if hasattr(np, op.name)], ids=lambda op: op.name)
def test_at_infinity_stands_the_limit_or_nan(op, x):
    found = {float(hessian(op.public, [np.asarray(x)], nesting)[0, 0]) for nesting in NESTINGS}
    numbers = {value for value in found if not math.isnan(value)}
    if numbers:
        far, farther = (
            float(
                differences(getattr(np, op.name), [np.asarray(math.copysign(v, x))])[0][0, 0] or 0
            )
            for v in (1e2, 1e3)
        )
        limit = math.copysign(INF, far) if abs(farther) > 10 * abs(far) > 1 else farther
        assert all(near(value, limit) for value in numbers), (found, limit)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_sinc_is_exact_near_zero_to_third_order(dtype):
    for x in (0.0, 1e-30, 1e-12, 1e-6, 1e-3, 0.1, 0.5, 0.7, 1.0, 2.5):
        x = xp.asarray(x, dtype=getattr(xp, dtype))
        f = np.sinc if x.dtype.kind == "f" else (lambda z: xp.real(np.sinc(z)))
        angle = np.pi * np.asarray(x).real.astype(np.longdouble)
        for order in (1, 2, 3):
            f = xp.grad(f if order == 1 or x.dtype.kind == "f" else (lambda z, f=f: xp.real(f(z))))
            found = complex(f(x))
            expected = float(sinc_by_series(angle, order)) * np.pi**order
            np.testing.assert_allclose(found, expected, rtol=0, atol=60 * xp.finfo(x.dtype).eps)


def sinc_by_series(a, order):
    terms = range((order + 1) // 2, 30)
    return sum(
        (-1) ** k * math.perm(2 * k, order) / np.longdouble(math.factorial(2 * k + 1))
        * a ** (2 * k - order)
        for k in terms
    )  # fmt: skip
