"""Derivatives at numbers from 1e-300 to 1e300, and of nearly equal operands, beside 2200 digits.

A rule may round, overflow, underflow or cancel where the true derivative is an ordinary number.  Values
draw their magnitude from all that the dtype holds, second operands from what lies beside the first one,
first and second derivatives are compared, in float64 and float32.
"""

import functools
import math
import random
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import mpmath
import numpy as np
from mpmath import mp

import arraytape as xp
from arraytape import special

from .attack import Attack

DIGITS = 2200  # of mpmath: enough for second differences of 1e-300
STEP = 330  # digits of the relative step: 1e300 times this is small, too
COUNTS: Counter[str] = Counter()
SCRIPT = """import sys; sys.path.insert(0, "tests")
from attack import extreme_magnitudes
extreme_magnitudes.run({})"""


class Case(NamedTuple):
    """A function by the namespace and by mpmath.

    operands : how each is drawn: "real", "positive", "unit" (between -1 and 1), "share" (between 0 and
    1), "above" (over 1), "small" (whose exponential is finite), or a list of constants.
    rtol : in rounding errors, where SciPy's own value is less exact.  second : whether second
    derivatives are compared.  cancels : whether they are differences, which have the digits of their
    terms alone.
    """

    ours: Callable[..., Any]
    exact: Callable[..., Any]
    operands: tuple[Any, ...]
    rtol: float = 1e4
    second: bool = True
    cancels: bool = False


def of_sign(x):
    return mp.mpf(-1) if x < 0 else mp.mpf(1)


def softplus(x):
    return mp.log1p(mp.exp(x)) if x < 0 else x + mp.log1p(mp.exp(-x))


def log_of_sum(*xs, b=(1, 1, 1)):
    top = max(xs, key=lambda x: mp.re(x))
    return top + mp.log(mp.fsum([k * mp.exp(x - top) for k, x in zip(b, xs, strict=False)]))


def log2_of_sum(a, b):
    return log_of_sum(a * mp.log(2), b * mp.log(2)) / mp.log(2)


def expit(x):
    return 1 / (1 + mp.exp(-x)) if x > 0 else mp.exp(x) / (1 + mp.exp(x))


def norm(*xs):
    return mp.sqrt(mp.fsum([x * x for x in xs]))


def norm_of(order):
    return lambda *xs: mp.fsum([abs(x) ** order for x in xs]) ** (mp.mpf(1) / order)


def deviation(*xs):
    mean = mp.fsum(xs) / len(xs)
    return mp.sqrt(mp.fsum([(x - mean) ** 2 for x in xs]) / len(xs))


def variance(*xs):
    return deviation(*xs) ** 2


def of_list(function):
    """A function of an array, by its elements."""
    return lambda *xs: function(xp.stack(xs))


def softmax_first(*xs):
    return mp.exp(xs[0] - log_of_sum(*xs))


UNARY = {
    "acos": (xp.acos, mp.acos, "unit"),
    "acosh": (xp.acosh, mp.acosh, "above"),
    "asin": (xp.asin, mp.asin, "unit"),
    "asinh": (xp.asinh, mp.asinh, "real"),
    "atan": (xp.atan, mp.atan, "real"),
    "atanh": (xp.atanh, mp.atanh, "unit"),
    "cos": (xp.cos, mp.cos, "real"),
    "cosh": (xp.cosh, mp.cosh, "small"),
    "exp": (xp.exp, mp.exp, "small"),
    "expm1": (xp.expm1, mp.expm1, "small"),
    "log": (xp.log, mp.log, "positive"),
    "log1p": (xp.log1p, mp.log1p, "positive"),
    "log2": (xp.log2, lambda x: mp.log(x) / mp.log(2), "positive"),
    "log10": (xp.log10, mp.log10, "positive"),
    "reciprocal": (xp.reciprocal, lambda x: 1 / x, "real"),
    "sin": (xp.sin, mp.sin, "real"),
    "sinh": (xp.sinh, mp.sinh, "small"),
    "sqrt": (xp.sqrt, mp.sqrt, "positive"),
    "square": (xp.square, lambda x: x * x, "real"),
    "tan": (xp.tan, mp.tan, "real"),
    "tanh": (xp.tanh, mp.tanh, "tame"),
    "abs": (xp.abs, abs, "real"),
    "cbrt": (np.cbrt, lambda x: of_sign(x) * mp.cbrt(abs(x)), "real"),
    "exp2": (np.exp2, lambda x: mp.power(2, x), "small"),
    "sinc": (np.sinc, mp.sincpi, "moderate"),
    "x ** 2.5": (lambda x: x**2.5, lambda x: x ** mp.mpf(2.5), "positive"),
    "x ** -3": (lambda x: x**-3, lambda x: x**-3, "real"),
    "x ** 0.5": (lambda x: x**0.5, mp.sqrt, "positive"),
    "2.5 ** x": (lambda x: 2.5**x, lambda x: mp.power(mp.mpf(2.5), x), "small"),
    "1 / x": (lambda x: 1.0 / x, lambda x: 1 / x, "real"),
    "expit": (special.expit, expit, "real"),
    "log_expit": (special.log_expit, lambda x: -softplus(-x), "real"),
    "logit": (special.logit, lambda x: mp.log(x) - mp.log1p(-x), "share"),
    "softplus": (xp.nn.softplus if hasattr(xp.nn, "softplus") else None, softplus, "real"),
    "silu": (xp.nn.silu if hasattr(xp.nn, "silu") else None, lambda x: x * expit(x), "real"),
    "special.expm1": (special.expm1, mp.expm1, "small"),
    "special.log1p": (special.log1p, mp.log1p, "positive"),
    "exp10": (special.exp10, lambda x: mp.power(10, x), "small"),
    "exprel": (special.exprel, lambda x: mp.expm1(x) / x, "small"),
    "cosm1": (special.cosm1, lambda x: mp.cos(x) - 1, "real"),
    "entr": (special.entr, lambda x: -x * mp.log(x), "positive"),
    "log_ndtr": (special.log_ndtr, lambda x: mp.log(mp.erfc(-x / mp.sqrt(2)) / 2), "moderate"),
    "ndtr": (special.ndtr, lambda x: mp.erfc(-x / mp.sqrt(2)) / 2, "moderate"),
    "erf": (special.erf, mp.erf, "moderate"),
    "erfc": (special.erfc, mp.erfc, "moderate"),
    "gammaln": (special.gammaln, mp.loggamma, "tame"),
    "pseudo_huber(1, x)": (
        lambda x: special.pseudo_huber(1.0, x), lambda x: mp.sqrt(1 + x * x) - 1, "real",
    ),
    "huber(1, x)": (
        lambda x: special.huber(1.0, x),
        lambda x: x * x / 2 if abs(x) <= 1 else abs(x) - mp.mpf(1) / 2, "real",
    ),
}  # fmt: skip
BINARY = {
    "add": (xp.add, lambda a, b: a + b, ("real", "real")),
    "multiply": (xp.multiply, lambda a, b: a * b, ("real", "real")),
    "divide": (xp.divide, lambda a, b: a / b, ("real", "real")),
    "pow": (xp.pow, lambda a, b: mp.power(a, b), ("positive", "moderate")),
    "hypot": (xp.hypot, norm, ("real", "real")),
    "atan2": (xp.atan2, mp.atan2, ("real", "real")),
    "logaddexp": (xp.logaddexp, log_of_sum, ("real", "real")),
    "np.logaddexp2": (np.logaddexp2, log2_of_sum, ("real", "real")),
    "remainder": (
        xp.remainder, lambda a, b: a - b * mp.floor(a / b), ("tame", "moderate"),
    ),
    "maximum": (xp.maximum, lambda a, b: max(a, b, key=lambda x: mp.re(x)), ("real", "real")),
    "xlogy": (special.xlogy, lambda a, b: a * mp.log(b), ("real", "positive")),
    "xlog1py": (special.xlog1py, lambda a, b: a * mp.log1p(b), ("real", "positive")),
    "rel_entr": (special.rel_entr, lambda a, b: a * mp.log(a / b), ("positive", "positive")),
    "kl_div": (
        special.kl_div, lambda a, b: a * mp.log(a / b) - a + b, ("positive", "positive"),
    ),
    "pseudo_huber": (
        special.pseudo_huber, lambda d, r: d * d * (mp.sqrt(1 + (r / d) ** 2) - 1),
        ("positive", "real"),
    ),
    "boxcox": (
        special.boxcox, lambda x, k: (mp.power(x, k) - 1) / k, ("positive", "moderate"),
    ),
}  # fmt: skip
LISTS = {
    "vector_norm": (xp.linalg.vector_norm, norm),
    "vector_norm, ord=3": (functools.partial(xp.linalg.vector_norm, ord=3), norm_of(3)),
    "vector_norm, ord=1.5": (
        functools.partial(xp.linalg.vector_norm, ord=1.5), norm_of(mp.mpf(1.5)),
    ),
    "np.linalg.norm": (np.linalg.norm, norm),
    "logsumexp": (special.logsumexp, log_of_sum),
    "logsumexp, b": (
        lambda x: special.logsumexp(x, b=xp.asarray([1.0, -0.5, 2.0], dtype=x.dtype)),
        lambda *xs: log_of_sum(*xs, b=(1.0, -0.5, 2.0)),
    ),
    "log_softmax": (lambda x: special.log_softmax(x)[0], lambda *xs: xs[0] - log_of_sum(*xs)),
    "softmax": (lambda x: special.softmax(x)[0], softmax_first),
    "std": (xp.std, deviation),
    "var": (xp.var, variance),
    "mean": (xp.mean, lambda *xs: mp.fsum(xs) / len(xs)),
    "prod": (xp.prod, lambda *xs: mp.fprod(xs)),
    "cumulative_prod": (lambda x: xp.cumulative_prod(x)[-1], lambda *xs: mp.fprod(xs)),
    "vecdot": (lambda x: xp.vecdot(x, x), lambda *xs: mp.fsum([x * x for x in xs])),
}  # fmt: skip
CANCEL = {
    "tanh", "expit", "silu", "softplus", "log_expit", "hypot", "atan2", "pow", "logaddexp",
    "np.logaddexp2", "logsumexp", "logsumexp, b", "log_softmax", "softmax", "std", "np.linalg.norm",
    *[name for name in LISTS if name.startswith("vector_norm")],
}  # fmt: skip
CASES = {
    name: case._replace(cancels=name in CANCEL)
    for name, case in {
        **{name: Case(f, g, (how,)) for name, (f, g, how) in UNARY.items() if f is not None},
        **{name: Case(f, g, hows) for name, (f, g, hows) in BINARY.items()},
        **{
            name: Case(
                of_list(f), g, ("real",) * 3, 1e8 if name == "std" else 1e4
            )  # as its deviations
            for name, (f, g) in LISTS.items()
        },
    }.items()
}


# --- operands -----------------------------------------------------------------------------------------
def drawn(rng, how, dtype):
    """A number of a kind: its logarithm is drawn evenly, with simple ones among them."""
    top = 300 if dtype == np.float64 else 37
    sign = rng.choice([-1.0, 1.0])
    if how == "share":
        x = rng.choice([0.5, 10.0 ** rng.uniform(-top, 0.0), 1.0 - 10.0 ** rng.uniform(-15, -1)])
    elif how == "unit":
        x = sign * drawn(rng, "share", dtype)
    elif how == "above":
        x = 1.0 + 10.0 ** rng.uniform(-15 if dtype == np.float64 else -6, top)
    elif how in ("small", "moderate", "tame"):
        most = {"small": 2.7 if dtype == np.float64 else 1.9, "moderate": 1.3, "tame": 6.0}[how]
        least = -2.0 if how == "tame" else -top
        x = (1.0 if how == "tame" else sign) * 10.0 ** rng.uniform(least, most)
        x = x if rng.random() < 0.5 else sign * rng.uniform(0.1, 10.0**most)
        x = abs(x) if how == "tame" else x
    else:
        x = 10.0 ** rng.uniform(-top, top)
        x = rng.choice([x, 10.0 ** rng.uniform(-3, 3), float(rng.choice([1, 2, 3, 1e8, 1e16]))])
        x = x if how == "positive" else sign * x
    return dtype(x)


def beside(rng, x, dtype):
    """A number that is equal to x, or differs from it by some last bits, or by what exp feels."""
    kind = rng.randrange(4)
    if kind == 0:
        return x
    if kind == 1:
        for _ in range(rng.choice([1, 1, 2, 5])):
            x = np.nextafter(x, dtype(rng.choice([-math.inf, math.inf])))
        return x
    with np.errstate(over="ignore"):
        return dtype(x * (1.0 + rng.choice([-1, 1]) * 10.0 ** rng.uniform(-16, -1)))


def operands_of(rng, case, dtype):
    xs = [drawn(rng, how, dtype) for how in case.operands]
    for i in range(1, len(xs)):
        if case.operands[i] == case.operands[0] and rng.random() < 0.5:
            xs[i] = beside(rng, xs[0], dtype)
    return xs


# --- derivatives --------------------------------------------------------------------------------------
def exact_derivative(f, xs, orders):
    """A mixed derivative by 2200 digits, with steps relative to each operand."""
    with mp.workdps(DIGITS):
        at = [mp.mpf(float(x)) for x in xs]
        step = mp.mpf(10) ** -STEP

        def along(g, i):
            def slope(*ys):
                h = abs(ys[i]) * step
                up, down = ([*ys[:i], ys[i] + s * h, *ys[i + 1 :]] for s in (1, -1))
                return (g(*up) - g(*down)) / (2 * h)

            return slope

        for i, order in enumerate(orders):
            for _ in range(order):
                f = along(f, i)
        return mp.mpf(mp.re(f(*at)))


def derivative(f, xs, orders):
    """The same by arraytape."""
    arrays = [xp.asarray(x) for x in xs]
    for i, order in enumerate(orders):
        for _ in range(order):
            f = xp.grad(f, argnums=i)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return np.asarray(f(*arrays))


def orders_of(rng, case):
    """First derivatives by each operand, or second ones."""
    n = len(case.operands)
    orders = [0] * n
    for _ in range(rng.choice([1, 1, 2]) if case.second else 1):
        orders[rng.randrange(n)] += 1
    return orders


def is_right(found, want, dtype, rtol, floor):
    """Whether a number is the derivative: but for rounding, overflow, and numbers below the normal ones.

    floor : an error that cannot be seen: of the first derivative, rounded, over an operand.
    """
    info = np.finfo(dtype)
    with mp.workdps(60):
        if floor > mp.mpf(float(info.max)):  # other second derivatives overflow there
            return True
        if abs(want) > mp.mpf(float(info.max)) / 16:
            return bool(np.abs(found) > float(info.max) / 64) or bool(np.isnan(found))
        if not np.isfinite(found):
            return False
        off = abs(mp.mpf(float(found)) - want)
        return bool(
            off <= abs(want) * rtol * float(info.eps) + floor + 64 * mp.mpf(float(info.tiny))
        )


def floor_of(case, xs, orders, dtype):
    """An error that cannot be seen: see ``is_right``."""
    eps = mp.mpf(float(np.finfo(dtype).eps))
    floor = 16 * eps if case.ours is xp.tanh else mp.mpf(0)  # its rule is 1 - y * y
    if sum(orders) < 2 or not case.cancels:
        return floor
    for i in range(len(xs)):
        if orders[i]:
            one = [int(i == j) for j in range(len(xs))]
            rest = [order - other for order, other in zip(orders, one, strict=True)]
            slope = abs(exact_derivative(case.exact, xs, one))
            over = [mp.mpf(float(abs(x))) for x, n in zip(xs, rest, strict=True) if n]
            over = [mp.mpf(float(np.std(xs)))] if case.exact is deviation else over
            over = [norm(*xs)] if case.exact is mp.atan2 else over
            terms = [slope / size for size in over]
            if any(term > float(np.finfo(dtype).max) / 4 for term in terms):
                return mp.inf  # it is the difference of terms that overflow
            floor = max([floor, *[1024 * eps * term for term in terms]])
    return floor


def change_by_last_bits(case, xs, orders, want):
    """Return how far the true derivative moves with the operands' last bits, if it moves evenly.

    Near a zero of a derivative, or where operands nearly cancel, no formula of rounded numbers tells
    more.  Of the two neighbours of an operand the one that changes less counts: one side of a jump
    says nothing about a rule.
    """
    change = mp.mpf(0)
    for i, x in enumerate(xs):
        moved = [
            exact_derivative(
                case.exact, [*xs[:i], np.nextafter(x, x.dtype.type(end)), *xs[i + 1 :]], orders
            )
            for end in (-math.inf, math.inf)
        ]
        change += min(abs(other - want) for other in moved)
    return change


def error_of_value(case, xs, value):
    """The relative error of the function's own value, which is NumPy's or SciPy's."""
    with mp.workdps(DIGITS):
        want = case.exact(*[mp.mpf(float(x)) for x in xs])
        return float(abs(mp.mpf(float(value)) - want) / abs(want)) if want else float(value != 0)


def run(seed):
    """One derivative of one function."""
    rng = random.Random(seed)
    name = rng.choice(sorted(CASES))
    case, dtype = CASES[name], rng.choice([np.float64, np.float64, np.float32])
    xs, orders = operands_of(rng, case, dtype), orders_of(rng, case)
    with np.errstate(all="ignore"):
        value = np.asarray(case.ours(*[xp.asarray(x) for x in xs]))
    if not np.isfinite(value) or any(x == 0 for x in xs) or at_a_kink(name, xs):
        COUNTS["no finite value, or a kink"] += 1
        return 1
    if error_of_value(case, xs, value) > 1e4 * np.finfo(dtype).eps:
        COUNTS["the value itself is inexact"] += 1
        return 1
    want = exact_derivative(case.exact, xs, orders)
    found = derivative(case.ours, xs, orders)
    floor = floor_of(case, xs, orders, dtype)
    if not is_right(found, want, dtype, case.rtol, floor):
        floor += 4 * change_by_last_bits(case, xs, orders, want)
        if is_right(found, want, dtype, case.rtol, floor):
            COUNTS["within what the operands' last bits change"] += 1
            return 1
        with mp.workdps(20):
            raise AssertionError(
                f"{name} at {[float(x) for x in xs]!r} of {np.dtype(dtype).name}, derivative {orders}: "
                f"{float(found)!r} in place of {mpmath.nstr(want, 10)}\n{SCRIPT.format(seed)}"
            )
    COUNTS["right"] += 1
    return 1


def at_a_kink(name, xs):
    """Whether operands lie where a function has no derivative but a convention."""
    if name == "huber(1, x)":
        return abs(xs[0]) == 1
    if name == "std":
        return xs[0] == xs[1] == xs[2]
    if name == "remainder":
        return float(xs[0]) % float(xs[1]) == 0
    return name == "maximum" and xs[0] == xs[1]


ATTACK = Attack(run, "derivatives", COUNTS)
