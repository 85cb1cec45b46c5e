"""Values that leave; what comes back are constants, by functions that ``known_names`` names.

Written with the list at hand: most entries of it have a program here that would get an alarm without it.
"""

import datetime
import functools
import heapq
import itertools
import math
import operator
import re
import statistics
import struct
import textwrap
from decimal import Decimal
from fractions import Fraction

import numpy as np
from scipy import optimize, stats

import arraytape as xp


def share_of_finite_values(x):
    y = xp.exp(x)
    share = np.mean(np.isfinite(np.asarray(y)) * 1.0)
    return xp.sum(y * share)


def share_below_one(x):
    y = xp.exp(x)
    return xp.sum(y * np.mean(np.less(np.asarray(y), 9.0)))


def ranks_as_weights(x):
    y = xp.exp(x)
    ranks = np.argsort(np.asarray(y)) / 4.0
    return xp.sum(y * ranks)


def weight_of_the_largest(x):
    y = xp.exp(x)
    return xp.sum(y * (0.5 + np.argmax(np.asarray(y)) / 10.0))


def binned_weights(x):
    y = xp.exp(x)
    return xp.sum(y * (0.1 * np.digitize(np.asarray(y), [2.5, 4.5])))


def place_among_edges(x):
    y = xp.exp(x)
    return xp.sum(y * (0.1 * np.searchsorted([2.5, 4.5], np.asarray(y))))


def share_of_nonzeros(x):
    y = xp.exp(x)
    return xp.sum(y * (np.count_nonzero(np.asarray(y)) / 8))


def quality_flag(x):
    y = xp.exp(x)
    good = float(np.allclose(np.asarray(y), 3.0, atol=10.0))
    return xp.sum(y * good)


def flag_of_all(x):
    y = xp.exp(x)
    return xp.sum(y * float(np.all(np.asarray(y) > 0.0)))


def flag_of_any_method(x):
    y = np.asarray(xp.exp(x))
    return xp.sum(xp.exp(x) * float(y.any()))


def window_of_ones(x):
    y = np.asarray(xp.exp(x))
    return xp.sum(x * np.ones(y.shape) * np.zeros(len(y)))


def window_of_size(x):
    y = np.asarray(xp.exp(x))
    return xp.sum(x * (np.ones(y.size) / y.size))


def buffer_of_same_dtype(x):
    y = np.asarray(xp.exp(x))
    return xp.sum(x * np.full(4, 0.5, dtype=y.dtype))


def divided_by_dimensions(x):
    y = np.asarray(xp.exp(x))
    return xp.sum(x * (0.5 * y.ndim) / (1.0 * y.nbytes))


def identity_of_length(x):
    y = np.asarray(xp.exp(x))
    return xp.sum(np.eye(len(y)) * 0.5 @ x)


def rounded_up_scale(x):
    y = float(xp.sum(x))
    return xp.sum(x * np.ceil(y) * np.trunc(y) * np.rint(y))


def sign_bits(x):
    y = float(xp.sum(x))
    return xp.sum(x * (1.0 + np.signbit(y)))


def checked_type(x):
    y = float(xp.sum(x))
    return xp.sum(x * (2.0 if isinstance(y, float) else 1.0) * float(isinstance(y, float)))


def equal_arrays(x):
    y = np.asarray(xp.exp(x))
    return xp.sum(x * float(np.array_equal(y, y)))


def same_ufuncs(x):
    y = np.asarray(xp.exp(x))
    inside = np.logical_and(np.greater(y, 0.0), np.logical_not(np.isnan(y)))
    return xp.sum(x * (0.5 * inside))


def nonzero_places(x):
    y = np.asarray(xp.exp(x))
    return xp.sum(x * (np.flatnonzero(y) / 4.0))


def range_of_rounds(x):
    y = x
    for i in range(int(float(xp.sum(x)))):
        y = y * (1.0 + 0.1 * i)
    return xp.sum(y)


def starts_with_digits(x):
    text = str(float(xp.sum(x)))
    return xp.sum(x * (1.0 + text.startswith("5")))


def hash_of_a_label(x):
    text = f"{float(xp.sum(x)):.3f}"
    return xp.sum(x * (1.0 + hash(text) % 2 * 0.0))


def bytes_of_two_numbers(x):
    packed = struct.pack("d", float(xp.sum(x)))
    (half,) = struct.unpack("d", b"\x00" * 6 + b"\xe0\x3f")
    return xp.sum(x * half) if packed else None


def text_without_commas(x):
    shown = re.sub(",", "", f"{float(xp.sum(x)):,}")
    return xp.sum(x * float(re.sub(",", "", "1,000"))) if shown else None


def two_minimizations(x):
    level = float(xp.sum(x))
    found = optimize.minimize_scalar(lambda t: (t - level) ** 2, method="brent")
    scale = optimize.minimize_scalar(lambda t: (t - 1.5) ** 2, method="brent")
    print(found.x)
    return xp.sum(x * scale.x)


def dates_of_one_format(x):
    now = datetime.datetime.fromtimestamp(float(xp.sum(x))).strftime("%Y")
    days = datetime.datetime.strptime("1971", "%Y").timestamp() / 86400.0
    print(now)
    return xp.sum(x * days)


def decimals(x):
    unit = Decimal("0.01")
    print(Decimal(str(float(xp.sum(x)))).quantize(unit))
    return xp.sum(x * float(Decimal("3.14159").quantize(unit)))


def powers_of_one_number(x):
    n = len(x.shape) + 1
    print(math.pow(float(xp.sum(x)), n))
    return xp.sum(x * math.pow(1.5, n))


def means_of_lists(x):
    other = [1.5, 2.5]
    print(statistics.correlation([float(v) for v in x], [1.0, 2.0, 3.0, 5.0]))
    return xp.sum(x * statistics.mean(other))


def fraction_of_text(x):
    print(Fraction(float(xp.sum(x))).limit_denominator(10))
    return xp.sum(x * float(Fraction("3/7")))


def reduced_twice(x):
    print(functools.reduce(operator.add, [float(v) for v in x]))
    return xp.sum(x * functools.reduce(operator.add, [0.25, 0.5]))


def chains_of_two(x):
    more = [0.5, 0.25]
    print(list(itertools.chain([float(v) for v in x], more)))
    return xp.sum(x * sum(itertools.chain(more)))


def wrapped_text(x):
    print(textwrap.indent(str(float(xp.sum(x))), "  "))
    return xp.sum(x * float(textwrap.indent("0.75", "  ")))


def tests_of_one_name(x):
    print(stats.kstest(np.asarray(x), "norm").pvalue)
    return xp.sum(x * stats.kstest([0.1, 0.3], "norm").statistic)


def larger_of_a_key(x):
    pairs = [("a", 0.5), ("b", 0.25)]
    level = float(xp.sum(x))
    best = min(pairs, key=lambda pair: abs(pair[1] - level))
    return xp.sum(x * best[1])


def sorted_in_place(x):
    pairs = [0.5, 0.25]
    level = float(xp.sum(x))
    pairs.sort(key=lambda v: abs(v - level))
    return xp.sum(x * pairs[0])


def array_that_was_read(x):
    y = xp.exp(x)
    print(y.__array__())
    return xp.sum(y)


def best_by_key(x):
    best = max([x[0], x[1]], key=float)
    return xp.sum(x * x) + best * 0.0 + xp.sum(x) * 1.0


def constant_by_key_of_values(x):
    weights = [0.5, 0.25]
    best = min(weights, key=lambda w: float(xp.sum(x * w)))
    return xp.sum(x * best)


def constants_sorted_by_values(x):
    weights = [0.5, 0.25]
    weights.sort(key=lambda w: float(xp.sum(x * w)))
    return xp.sum(x * weights[0])


def constants_of_the_heap(x):
    weights = heapq.nsmallest(1, [0.5, 0.25], key=lambda w: float(xp.sum(x * w)))
    return xp.sum(x * weights[0])


def parts_sorted_by_value(x):
    parts = [x[0], x[1], x[2], x[3]]
    parts.sort(key=float)
    return parts[0] * 2.0 + parts[1] + parts[2] + parts[3]


def parts_by_nlargest(x):
    parts = heapq.nlargest(4, [x[0], x[1], x[2], x[3]], key=float)
    return parts[0] * 2.0 + parts[1] + parts[2] + parts[3]


def groups_of_parts(x):
    total = 0.0 * x[0]
    for _, group in itertools.groupby([x[0], x[1], x[2], x[3]], key=lambda v: float(v) > 1.0):
        for part in group:
            total = total + part * part
    return total


def attributes_of_arrays(x):
    y = np.asarray(xp.exp(x))
    return xp.sum(x * np.asarray([0.5] * 4, dtype=y.dtype, device=y.device)) * (y.strides[0] / y.itemsize)


def step_of_a_name(x):
    y = float(xp.sum(x))
    return xp.sum(x * len(type(y).__name__) * 0.5) + (0.5 if hasattr(y, "real") and callable(abs) else 1.0) * x[0]


def constructors_of_type(x):
    y = [float(v) for v in x]
    more = type(y)()
    more.append(0.5)
    return xp.sum(x * more[0])


def dimensions_by_functions(x):
    y = np.asarray(xp.exp(x))
    return xp.sum(x * np.ndim(y) * 0.5) + np.size(y) * 0.5 * x[0] + np.shape(y)[0] * 0.5 * x[1]


def ones_like_a_value(x):
    y = np.asarray(xp.exp(x))
    return xp.sum(x * np.ones_like(y) * 0.5) + xp.sum(x * np.zeros(y.shape[0])) + xp.sum(np.eye(y.shape[0]) @ x)
