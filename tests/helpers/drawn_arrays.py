"""Hypothesis strategies for dtypes, elements, shapes and arrays."""

import math

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

FEW = settings(
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=16,
    suppress_health_check=list(HealthCheck),
)
FEWER = settings(FEW, max_examples=10)
FEWEST = settings(FEW, max_examples=5)


# --- dtypes and elements --------------------------------------------------------------------------
BOOL = ("bool",)
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGER = SIGNED + UNSIGNED
REAL_FLOAT = ("float32", "float64")
COMPLEX = ("complex64", "complex128")
FLOAT = REAL_FLOAT + COMPLEX
REAL = INTEGER + REAL_FLOAT
NUMERIC = INTEGER + FLOAT
ALL = BOOL + NUMERIC


def specials(dtype):
    """Return the special values of a dtype: zeros, ones, extremes, infinities and NaN."""
    dtype = np.dtype(dtype)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return [0, 1, 2, 3, 5, info.max, info.min, info.max - 1]
    if dtype.kind == "b":
        return [False, True]
    info = np.finfo(dtype)
    parts = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, math.inf, -math.inf, math.nan]
    parts += [float(info.max), float(info.tiny), float(info.smallest_subnormal)]
    if dtype.kind == "f":
        return parts
    return [complex(a, b) for a in parts[:9] for b in parts[:9]]


def anything(dtype):
    """Draw values of a dtype; half of them are special values."""
    return st.sampled_from(specials(dtype)) | npst.from_dtype(np.dtype(dtype))


def bounded(low, high):
    """Return a strategy maker for values from ``low`` to ``high``, without -0.0.

    Unsigned dtypes begin at 0.
    """

    def elements(dtype):
        dtype = np.dtype(dtype)
        if dtype.kind == "b":
            return st.booleans()
        least = 0 if dtype.kind == "u" else low
        if dtype.kind in "iu":
            return st.integers(math.ceil(max(least, low)), math.floor(high))
        part = st.integers(math.ceil(low * 16), math.floor(high * 16)).map(lambda n: n / 16)
        return part if dtype.kind == "f" else st.builds(complex, part, part)

    return elements


MODERATE = bounded(-4, 4)
NATURAL = bounded(0, 5)


def finite(dtype):
    """Draw finite values of all magnitudes whose squares do not overflow."""
    root = math.sqrt(float(np.finfo(dtype).max)) if np.dtype(dtype).kind in "fc" else 0.0
    return anything(dtype).filter(
        lambda v: np.dtype(dtype).kind not in "fc" or (np.isfinite(v) and abs(v) < root)
    )


def shapes(min_dims=0, max_dims=3, min_side=0, max_side=3):
    return npst.array_shapes(
        min_dims=min_dims, max_dims=max_dims, min_side=min_side, max_side=max_side
    )


def arrays(dtype, shape, elements=anything):
    return npst.arrays(np.dtype(dtype), shape, elements=elements(dtype))


def array(dtypes=ALL, shape=None, elements=anything):
    shape = shapes() if shape is None else shape
    return st.sampled_from(dtypes).flatmap(lambda dtype: arrays(dtype, shape, elements))


def promotable(dtypes, count):
    """Draw ``count`` dtypes that the standard promotes together: of one kind, or real and complex."""
    pairs = st.tuples(*[st.sampled_from(dtypes)] * count)

    def fit(names):
        kinds = {"i" if np.dtype(n).kind == "u" else np.dtype(n).kind for n in names}
        mixed = "uint64" in names and not set(names).isdisjoint(SIGNED)
        return not mixed and (len(kinds) == 1 or kinds == {"f", "c"})

    return st.sampled_from(dtypes).map(lambda name: (name,) * count) | pairs.filter(fit)


def scalar_for(dtype, elements=anything):
    """Draw a Python scalar that is a valid operand next to an array of this dtype."""
    return elements(dtype).map(lambda v: np.dtype(dtype).type(v).item())
