"""Reductions on NumPy's arrays and on Arrays: of each dtype, in each layout, over each axis.

Compared are values, dtypes and strides: on these it depends which later reshapes are views.
"""

import itertools
import warnings

import numpy as np
import pytest

import arraytape as xp
from arraytape._array.views import current

SHAPE = (2, 3, 4)
DTYPES = ("bool", "int64", "float32", "float64", "complex128")
AXES = (None, 0, 1, 2, (2, 0))
WEIGHTS = np.cos(np.arange(24.0)).reshape(SHAPE) ** 2
MASK = WEIGHTS > 0.1
NAMES = """
all amax amin any argmax argmin average count_nonzero cumprod cumsum cumulative_prod cumulative_sum diff
flip gradient linalg.norm linalg.vector_norm max mean median min nanargmax nanargmin nancumprod nancumsum
nanmax nanmean nanmedian nanmin nanprod nanstd nansum nanvar prod ptp sort std sum trapezoid var
add.reduce maximum.reduce multiply.reduce logical_and.reduce add.accumulate maximum.accumulate
"""
ROUNDED = ("std in", "var in")  # NumPy's program on Arrays multiplies complex numbers otherwise
METHODS = "all any argmax argmin max mean min prod std sum var"


def function_of(name):
    found = np
    for part in name.split("."):
        found = getattr(found, part)
    return found


def method_of(name):
    return lambda x, **options: getattr(x, name)(**options)


def with_options(name, **more):
    return lambda x, **options: function_of(name)(x, **more, **options)


CALLS = {
    **{name: function_of(name) for name in NAMES.split()},
    **{f"x.{name}": method_of(name) for name in METHODS.split()},
    **{
        f"{name} in {dtype}": with_options(name, dtype=dtype)
        for name in ("mean", "prod", "std", "sum", "var", "nanmean")
        for dtype in ("float32", "float64", "complex128")
    },
    **{
        f"{name} of a selection": with_options(name, where=MASK, initial=1)
        for name in ("max", "min", "prod", "sum")
    },
    **{
        f"{name} of a selection": with_options(name, where=MASK)
        for name in ("all", "any", "mean", "std", "var")
    },
    **{
        name: with_options(name, q=q)
        for q in (0.3, [0.3, 0.6])
        for name in ("nanpercentile", "nanquantile", "percentile", "quantile")
    },
    "average by weights": with_options("average", weights=WEIGHTS),
    "std of a sample": with_options("std", ddof=1),
    "norm of order 3": with_options("linalg.norm", ord=3),
}


def layouts(dtype):
    """Data in each order of axes, each one or two of them repeated, and with gaps or turned round."""
    data = np.random.default_rng(0).uniform(0.2, 3.9, (8, 8, 8)) * (1 + 0.3j)
    data = (data if dtype == "complex128" else data.real).astype(dtype)
    data = data > 1.5 if dtype == "bool" else data
    for order in itertools.permutations(range(3)):
        for repeated in itertools.chain(*(itertools.combinations(range(3), n) for n in range(3))):
            lengths = [1 if axis in repeated else n for axis, n in enumerate(SHAPE)]
            part = data[tuple(slice(lengths[axis]) for axis in order)]
            yield np.broadcast_to(part.copy().transpose(np.argsort(order)), SHAPE)
        part = data[tuple(slice(2 * SHAPE[axis]) for axis in order)].transpose(np.argsort(order))
        yield part[::2, ::2, ::2]
        yield part[::-2, ::2, -2::-2]


def as_array(x):
    """The same layout in an Array: a view of memory in which nothing is repeated."""
    if 0 not in x.strides:
        return xp.asarray(x, copy=False)
    once = tuple([slice(None if step else 1) for step in x.strides])
    return np.broadcast_to(xp.asarray(x[once].copy(order="K")), x.shape)


def steps(data):
    """The strides of the axes along which there is a step to take."""
    return [stride for stride, n in zip(data.strides, data.shape, strict=True) if n > 1]


def result(call, x, options):
    """What a call gives and which warnings it says; None when it raises."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            y = call(x, **options)
        except (TypeError, ValueError):
            return None, set()
    data = current(y)[1] if isinstance(y, xp.Array) else np.asarray(y)
    return data, {str(warning.message) for warning in said}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.every(4)
def test_a_reduction_has_numpys_values_in_numpys_layout(name, dtype):
    """Each layout along each axis with every other dtype."""
    for turn, (x, axis) in enumerate(itertools.product(layouts(dtype), AXES)):
        if (turn // 2 + DTYPES.index(dtype)) % 2:
            continue
        options = {"axis": axis} | ({"keepdims": True} if turn % 2 else {})
        expected, warned = result(CALLS[name], x, options)
        array = as_array(x)
        assert steps(current(array)[1]) == steps(x)
        found, said = result(CALLS[name], array, options)
        where = f"strides {x.strides}, {options}"
        assert (found is None) == (expected is None), where
        assert said == warned, where
        if expected is None:
            continue
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype), where
        rounded = 1e-6 if name.startswith(ROUNDED) else 0
        if rounded or not np.array_equal(found, expected):  # a tenth of what the report takes
            np.testing.assert_allclose(found, expected, rounded, err_msg=where)
        assert steps(found) == steps(expected), where
