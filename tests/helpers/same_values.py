"""Comparisons of Arrays with NumPy arrays bit for bit."""

import contextlib
import warnings

import numpy as np

import arraytape as xp


@contextlib.contextmanager
def quiet():
    """Ignore NumPy's warnings about floating-point errors and about the deprecated np.fix."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        warnings.filterwarnings("ignore", "numpy.fix is deprecated", DeprecationWarning)
        yield


def function_of(namespace, name):
    for part in name.split("."):
        namespace = getattr(namespace, part)
    return namespace


def ours(value):
    """Replace every NumPy array in an argument by a new Array."""
    if isinstance(value, np.ndarray):
        return xp.asarray(value, copy=True)
    if isinstance(value, list | tuple):
        return type(value)(ours(part) for part in value)
    return value


def bits(x):
    """Return the bits of floats as unsigned integers; all NaN become the same NaN."""
    parts = x if x.dtype.kind != "c" else np.stack([x.real, x.imag])
    if parts.dtype.kind != "f":
        return parts
    one_nan = np.where(np.isnan(parts), np.asarray(np.nan, parts.dtype), parts)
    return np.ascontiguousarray(one_nan).view(f"u{parts.dtype.itemsize}")


def near(x, y, close):
    """Return True if x and y differ by at most ``close`` rounding errors of the largest value."""
    if x.dtype.kind not in "fc":
        return np.array_equal(x, y)
    scale = np.max(np.abs(y), initial=1.0)
    return np.allclose(x, y, rtol=0.0, atol=close * np.finfo(y.dtype).eps * scale, equal_nan=True)


def assert_same(mine, reference, close=0.0):
    """Assert that results have the same structure, dtypes, shapes and values."""
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
    """Convert the Arrays in nested lists and tuples to NumPy arrays in tuples."""
    if isinstance(value, xp.Array):
        return np.asarray(value)
    return tuple(as_numpy(v) for v in value) if isinstance(value, list | tuple) else value
