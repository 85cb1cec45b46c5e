"""The namespaces in which a program runs."""

import contextlib

import array_api_compat.numpy as numpy
import numpy as np

import arraytape as xp
from arraytape.testing import storages


class Space:
    """A namespace, with ``above``: a comparison that a complex step passes unharmed."""

    def __init__(self, base):
        self.base = base

    def __getattr__(self, name):
        found = getattr(self.base, name)
        setattr(self, name, found)
        return found

    def above(self, x, limit):
        return x > limit

    def start(self, x):
        """A program's data as an array in memory of its own; the layout stays."""
        return x.copy(order="K")

    def memory(self, x):
        """Foreign memory with a program's data."""
        return self.start(x)

    def shared(self, x):
        """Foreign memory as an array of this namespace."""
        return x

    def beside(self, x):
        """Weights as an operand."""
        return x


class ArrayTapeSpace(Space):
    """arraytape on some storage: NumPy's when there is none."""

    def __init__(self, storage=None):
        super().__init__(xp)
        self.storage = storage

    def on(self):
        return storages.on(self.storage) if self.storage else contextlib.nullcontext()

    def start(self, x):
        return xp.asarray(x)

    def memory(self, x):
        return x.copy(order="K")

    def shared(self, x):
        return xp.asarray(x, copy=False)

    def beside(self, x):
        return xp.asarray(x) if self.storage else x


def like(real, x):
    """Complex values in the memory layout and precision of the real ones: views depend on it."""
    found = np.empty_like(real, np.result_type(real.dtype, np.complex64))
    found[...] = x
    return found


class ComplexSpace(Space):
    """NumPy on complex numbers, whose real parts take the decisions; ties share evenly.

    A float32 array is one of complex64, so that its real part is rounded as the program's is.
    """

    float64, float32 = np.dtype(complex), np.dtype("complex64")
    wide = {np.dtype("f4"): float32, np.dtype("f8"): float64}  # noqa: RUF012

    def start(self, x):
        return x.astype(self.wide[x.dtype], order="K")

    def asarray(self, x, **options):
        x = numpy.asarray(x, **options)
        return x.astype(self.wide.get(x.dtype, x.dtype), copy=False)

    def zeros(self, shape, dtype=complex):
        return np.zeros(shape, dtype)

    def above(self, x, limit):
        return np.real(x) > limit

    def maximum(self, x1, x2):
        a, b = np.real(x1), np.real(x2)
        even = (np.asarray(x1) + x2) * np.float32(0.5)
        return like(np.maximum(a, b), np.where(a > b, x1, np.where(a < b, x2, even)))

    def minimum(self, x1, x2):
        return -self.maximum(-x1, -x2)

    def clip(self, x, low, high):
        re = np.real(x)
        clipped = np.where(re < low, low, np.where(re > high, high, x))
        return like(np.clip(re, low, high), clipped)

    def hypot(self, x1, x2):
        return np.sqrt(x1 * x1 + x2 * x2)

    def vecdot(self, x1, x2):
        return np.sum(x1 * x2, axis=-1)

    def abs(self, x):
        return x * np.sign(np.real(x))

    def max(self, x, axis=None, keepdims=False):
        top = np.max(np.real(x), axis=axis, keepdims=True)
        taken = np.real(x) == top
        ties = np.sum(taken, axis=axis, keepdims=keepdims)
        total = np.sum(np.where(taken, x, np.zeros((), x.dtype)), axis=axis, keepdims=keepdims)
        return (total / ties).astype(x.dtype)

    def min(self, x, axis=None, keepdims=False):
        return -self.max(-x, axis=axis, keepdims=keepdims)

    def sort(self, x, axis=-1):
        order = np.argsort(np.real(x), axis=axis, kind="stable")
        return like(np.sort(np.real(x), axis=axis), np.take_along_axis(x, order, axis))

    def var(self, x, axis=None, keepdims=False):
        centred = x - np.mean(x, axis=axis, keepdims=True)
        return np.mean(centred * centred, axis=axis, keepdims=keepdims)


class NumPySpace(Space):
    """NumPy itself where array-api-compat lays out results in another way."""

    def clip(self, x, low, high):
        return np.clip(x, low, high)

    def real(self, x):
        return np.real(x)

    def imag(self, x):
        return np.imag(x)


NUMPY, COMPLEX = NumPySpace(numpy), ComplexSpace(numpy)
