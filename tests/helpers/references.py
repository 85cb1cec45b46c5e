"""Reference implementations where arraytape differs from array-api-compat's NumPy namespace."""

import array_api_compat.numpy as compat
import numpy as np


def floor_divide(x1, x2):
    """Return the standard's quotient; NumPy returns NaN or -1 where exactly one operand is infinite."""
    y = np.floor_divide(x1, x2)
    if y.dtype.kind != "f":
        return y
    quotient = np.divide(x1, x2, dtype=y.dtype)
    to_infinity = np.isinf(x1) & np.isfinite(x2) & np.not_equal(x2, 0)
    to_zero = np.isfinite(x1) & np.isinf(x2)
    return np.where(to_infinity | to_zero, quotient, y)


def sort(x, /, *, axis=-1, descending=False, stable=True):
    """Sort stably; array-api-compat reverses equal elements (0.0 and -0.0) if ``descending`` is set."""
    order = compat.argsort(x, axis=axis, descending=descending, stable=True)
    return np.take_along_axis(x, order, axis=axis)


def argsort(x, /, *, axis=-1, descending=False, stable=True):
    """Sort stably whatever ``stable`` is, as arraytape does."""
    return compat.argsort(x, axis=axis, descending=descending, stable=True)


def complex_sign(x):
    """Return x / abs(x), divided part by part; np.sign rounds in another order."""
    size, y = np.abs(x), np.zeros_like(x)
    y.real = np.where(size == 0, 0.0, x.real / size)
    y.imag = np.where(size == 0, 0.0, x.imag / size)
    return y


def scatter_add(x, /, shape, key):
    full = np.zeros(shape, dtype=x.dtype)
    np.add.at(full, key, x)
    return full


def meshgrid(*x, indexing="xy"):
    return tuple(np.meshgrid(*x, indexing=indexing))


def linspace(start, stop, /, num, **keywords):
    return compat.linspace(start.item(), stop.item(), num, **keywords)


def layout(x):
    """Return shape and dtype, which are all that is defined for an uninitialised array."""
    return x.shape, x.dtype


def limits(info):
    fields = ("bits", "eps", "max", "min", "smallest_normal", "dtype")
    return [getattr(info, field) for field in fields if hasattr(info, field)]
