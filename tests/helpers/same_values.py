"""Comparison of Arrays with NumPy's, in every bit."""

import contextlib
import warnings

import numpy as np

import arraytape as xp


@contextlib.contextmanager
def quiet():
    """Without NumPy's warnings, which are not compared: 0 / 0, the mean of nothing, the end of fix..."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        warnings.filterwarnings("ignore", "numpy.fix is deprecated", DeprecationWarning)
        yield


def function_of(namespace, name):
    for part in name.split("."):
        namespace = getattr(namespace, part)
    return namespace


def ours(value):
    """Return a row's argument for arraytape: every NumPy array becomes an Array of its own."""
    if isinstance(value, np.ndarray):
        return xp.asarray(value, copy=True)
    if isinstance(value, list | tuple):
        return type(value)(ours(part) for part in value)
    return value


def bits(x):
    """Return the real parts as unsigned integers, every NaN the same."""
    parts = x if x.dtype.kind != "c" else np.stack([x.real, x.imag])
    if parts.dtype.kind != "f":
        return parts
    one_nan = np.where(np.isnan(parts), np.asarray(np.nan, parts.dtype), parts)
    return np.ascontiguousarray(one_nan).view(f"u{parts.dtype.itemsize}")


def near(x, y, close):
    """Return True if x and y agree to ``close`` rounding errors of the largest value."""
    if x.dtype.kind not in "fc":
        return np.array_equal(x, y)
    scale = np.max(np.abs(y), initial=1.0)
    return np.allclose(x, y, rtol=0.0, atol=close * np.finfo(y.dtype).eps * scale, equal_nan=True)


def assert_same(mine, reference, close=0.0):
    """Equal structure, dtype, shape and values."""
    if isinstance(mine, list | tuple):
        assert len(mine) == len(reference)
        for one, other in zip(mine, reference, strict=True):
            assert_same(one, other, close)
    elif isinstance(mine, xp.Array):
        x, y = np.asarray(mine), np.asarray(reference)
        assert mine.dtype == y.dtype
        assert mine.shape == y.shape
        assert x.shape == mine.shape
        if close:
            assert near(x, y, close), f"{x!r} is not {y!r}"
        else:
            assert np.array_equal(bits(x), bits(y)), f"{x!r} is not {y!r}"
    else:
        assert type(mine) is not np.ndarray
        assert mine == reference or (mine != mine and reference != reference)


def arrays_in(value):
    """Return the Arrays in a nesting of lists, tuples and dicts."""
    if isinstance(value, xp.Array):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [x for v in value for x in arrays_in(v)] if isinstance(value, list | tuple) else []


def as_numpy(value):
    """Arrays as NumPy arrays, in a nesting of tuples."""
    if isinstance(value, xp.Array):
        return np.asarray(value)
    return tuple(as_numpy(v) for v in value) if isinstance(value, list | tuple) else value
