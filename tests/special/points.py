"""Special functions at points: values and derivatives, arraytape's and mpmath's."""

from __future__ import annotations

import functools
import zlib
from collections.abc import Iterator

import mpmath as mp
import numpy as np

import arraytape as xp
from arraytape._record.plan import Unknown
from arraytape.special._statement import STATEMENTS, Statement
from special.references import EDGES, REFERENCES

POINTS = 4
ASIDE = 0.6 - 0.8j  # the direction in which complex results are looked at
SHORT, LONG = 40, 60  # digits
# Whose references take long: one random point.
SLOW = frozenset(
    ["_beta_ppf", "bdtrik", "bdtrin", "betainccinv", "betaincinv", "btdtria", "btdtrib", "chdtri",
     "elliprd", "elliprg", "elliprj", "fdtri", "fdtridfd", "gammainccinv", "it2i0k0_k", "iti0k0_k",
     "keip", "kelvin_kep", "kerp", "log_wright_bessel", "nbdtrik", "nbdtrin", "owens_t", "pbwa_wp",
     "pdtrik"]
)  # fmt: skip


def arguments(statement: Statement, count: int = POINTS) -> list[np.ndarray]:
    """Random arguments in the statement's domains, one array for each operand."""
    rng = np.random.default_rng(zlib.crc32(statement.name.encode()))
    found = []
    for name, (low, high) in zip(statement.op.inputs, statement.domains, strict=True):
        values = rng.uniform(low, high, count)
        whole = name in statement.integers | statement.counts
        found.append(np.floor(values).astype(int) if whole else values)
    return found


def differentiable(statement: Statement) -> list[int]:
    """The operands by which there is a derivative."""
    rules = statement.op.rules
    return [i for i, rule in enumerate(rules) if rule is not None and not isinstance(rule, Unknown)]


def points(statement: Statement, count: int = POINTS) -> Iterator[tuple[tuple, list[int]]]:
    """Random points and edges; and the operands by which there is a derivative."""
    wanted = differentiable(statement)
    if statement.name in SLOW:
        count = min(count, 1)
    random = zip(*arguments(statement, count), strict=True)
    for point in [*random, *EDGES.get(statement.name, [])]:
        *numbers, by = point if isinstance(point[-1], str) else (*point, None)
        places = [statement.op.inputs.index(by)] if by else wanted
        yield tuple(np.asarray(v).item() for v in numbers), places


def derivative(statement: Statement, point: tuple[float, ...], by: list[int]) -> mp.mpf:
    """A derivative of the reference by these operands; its value by none."""
    orders = tuple(by.count(i) for i in range(len(point)))
    return of_reference(statement.name, point, orders)


@functools.cache
def of_reference(name: str, point: tuple, orders: tuple[int, ...]) -> mp.mpf:
    """To more digits where it is small beside the function: mp.diff takes differences."""
    for digits in (SHORT, LONG):
        with mp.workdps(digits):
            found, size, scale = by_differences(name, point, orders)
        if abs(found) > size * mp.mpf(10) ** (-0.3 * digits):
            return found / scale
    return found / scale if abs(found) > size * mp.mpf(10) ** -45 else mp.mpf(0)


def by_differences(name: str, point: tuple, orders: tuple[int, ...]) -> tuple:
    """The derivative by relative steps, the function's size, and what divides the derivative."""
    reference = REFERENCES[name]
    aside = ASIDE if result_is_complex(name) else 1.0
    scales = [abs(v) or 1.0 for v in point]  # steps are as large as the arguments

    def of_steps(*steps):
        moved = [mp.mpf(v) + s * h for v, s, h in zip(point, scales, steps, strict=True)]
        return mp.re(aside * reference(*moved))

    start = tuple(mp.mpf(0) for _ in point)
    value = of_steps(*start)
    if not any(orders):
        return value, mp.mpf(0), mp.mpf(1)
    one = len(point) == 1
    found = mp.diff(of_steps, *start, *orders) if one else mp.diff(of_steps, start, orders)
    scale = mp.fprod(mp.mpf(s) ** k for s, k in zip(scales, orders, strict=True))
    return found, abs(value) or mp.mpf(1), scale


@functools.cache
def result_is_complex(name: str) -> bool:
    """Whether a function of real data has complex values."""
    statement = STATEMENTS[name]
    return statement.function(*[xp.asarray(v) for v in arguments(statement, 1)]).dtype.kind == "c"


def seen(y):
    """A result, complex ones as their part in one direction."""
    return xp.real(ASIDE * y) if y.dtype.kind == "c" else y


def derivatives(statement: Statement, wanted: list[int], point: tuple[float, ...]):
    """The value, first and second derivatives in reverse mode, by operand."""
    whole = [x in statement.integers | statement.counts for x in statement.op.inputs]
    arrays = [xp.asarray(int(v) if w else float(v)) for v, w in zip(point, whole, strict=True)]
    first, second = {}, {}
    with xp.GradientTape(persistent=True) as outer:
        outer.watch([arrays[i] for i in wanted])
        with xp.GradientTape() as tape:
            tape.watch([arrays[i] for i in wanted])
            y = seen(statement.function(*arrays))
        grads = tape.gradient(y, [arrays[i] for i in wanted])
    for i, g in zip(wanted, grads, strict=True):
        first[i] = float(g)
        for j in wanted:
            h = outer.gradient(g, arrays[j])
            second[i, j] = 0.0 if h is None else float(h)
    return float(y), first, second
