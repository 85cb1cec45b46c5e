"""References for functions that differ from array-api-compat's, and what of a result is compared."""

import array_api_compat.numpy as compat
import numpy as np


def floor_divide(x1, x2):
    """With exactly one infinity NumPy has NaN or -1; the standard has the plain quotient."""
    y = np.floor_divide(x1, x2)
    if y.dtype.kind != "f":
        return y
    quotient = np.divide(x1, x2, dtype=y.dtype)
    to_infinity = np.isinf(x1) & np.isfinite(x2) & np.not_equal(x2, 0)
    to_zero = np.isfinite(x1) & np.isinf(x2)
    return np.where(to_infinity | to_zero, quotient, y)


def sort(x, /, *, axis=-1, descending=False, stable=True):
    """compat flips the ascending order, which reverses equal elements (0.0 and -0.0)."""
    order = compat.argsort(x, axis=axis, descending=descending, stable=True)
    return np.take_along_axis(x, order, axis=axis)


def argsort(x, /, *, axis=-1, descending=False, stable=True):
    """Ours is stable always; NumPy's other order of equal elements is its own affair."""
    return compat.argsort(x, axis=axis, descending=descending, stable=True)


def complex_sign(x):
    """x / abs(x), part by part; NumPy's own rounds in another order."""
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
    """Return the layout facts that are defined for an array that nobody has written to."""
    return x.shape, x.dtype


def limits(info):
    fields = ("bits", "eps", "max", "min", "smallest_normal", "dtype")
    return [getattr(info, field) for field in fields if hasattr(info, field)]
