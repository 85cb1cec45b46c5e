"""Activations that neither overflow nor lose their slope, at any value and to any order.

Branches are taken by ``where`` on each element: the derivative of the branch that was not taken is
exactly 0, and that of the one taken is exact, also at 0 and at infinity.
"""

from __future__ import annotations

import numpy as np

import arraytape as xp

from .._array.array import Array
from .._util.errors import describe, shown, user_line


def relu(x: Array, /) -> Array:
    """The positive part of each element; NaN stays NaN.

    Parameters
    ----------
    x : Array
        Of any real dtype.

    Returns
    -------
    Array
        Of the shape and dtype of ``x``.  The derivative at 0 is 0, as TensorFlow's and PyTorch's.
    """
    x = real("relu", x)
    return xp.where(x <= 0, 0, x)


def sigmoid(x: Array, /) -> Array:
    """``1 / (1 + exp(-x))`` of each element, accurate also where it is nearly 0.

    Parameters
    ----------
    x : Array
        Of any real dtype; integers become floats.

    Returns
    -------
    Array
        Of the shape of ``x``.
    """
    x = inexact("sigmoid", x)
    positive = x > 0
    e = xp.exp(xp.where(positive, -x, x))
    return xp.where(positive, 1, e) / (1 + e)


def softplus(x: Array, /) -> Array:
    """``log(1 + exp(x))`` of each element, a smooth ``relu``.

    Parameters
    ----------
    x : Array
        Of any real dtype; integers become floats.

    Returns
    -------
    Array
        Of the shape of ``x``.  The derivative is the sigmoid: 1 at infinity, 0.5 at 0.
    """
    x = inexact("softplus", x)
    positive = x > 0
    # abs(x) in place of the first where would have no curvature at 0.
    return xp.where(positive, x, 0) + xp.log1p(xp.exp(xp.where(positive, -x, x)))


def tanh(x: Array, /) -> Array:
    """The hyperbolic tangent of each element: ``arraytape.tanh``, which also takes complex data.

    Parameters
    ----------
    x : Array
        Of real or complex floating-point dtype.

    Returns
    -------
    Array
        Of the shape of ``x``.
    """
    return xp.tanh(array("tanh", x))


def softmax(x: Array, /, axis: int = -1) -> Array:
    """``exp(x) / sum(exp(x))`` along an axis: positive weights whose sum is 1.

    Parameters
    ----------
    x : Array
        Of any real dtype; integers become floats.  An element of -inf has weight 0.
    axis : int, default -1
        The axis along which the weights sum to 1.

    Returns
    -------
    Array
        Of the shape of ``x``.
    """
    e = xp.exp(below_zero("softmax", x, axis))
    return e / xp.sum(e, axis=axis, keepdims=True)


def log_softmax(x: Array, /, axis: int = -1) -> Array:
    """The logarithm of ``softmax``, exact also where a weight is too small for a float.

    Parameters
    ----------
    x : Array
        Of any real dtype; integers become floats.
    axis : int, default -1
        The axis along which the weights sum to 1.

    Returns
    -------
    Array
        Of the shape of ``x``.
    """
    below = below_zero("log_softmax", x, axis)
    return below - xp.log(xp.sum(xp.exp(below), axis=axis, keepdims=True))


def below_zero(name: str, x: Array, axis: int) -> Array:
    """``x`` less its maximum along the axis, of which the caller's result does not depend."""
    x = inexact(name, x)
    if not isinstance(axis, int | np.integer) or not -x.ndim <= axis < x.ndim:
        raise ValueError(f"{name}: {describe(x)} has no axis {shown(axis)} [at {user_line()}]")
    if not x.shape[axis]:
        raise ValueError(f"{name}: axis {axis} of {describe(x)} is empty [at {user_line()}]")
    most: Array = xp.stop_gradient(xp.max(x, axis=axis, keepdims=True))
    return x - most


def array(name: str, x: Array) -> Array:
    """``x``, or a TypeError for what is no Array."""
    if not isinstance(x, Array):
        raise TypeError(
            f"{name} takes an Array, got {describe(x)}; convert it with asarray [at {user_line()}]"
        )
    return x


def real(name: str, x: Array) -> Array:
    """``x``, or a TypeError for what is no Array of real numbers."""
    if array(name, x).dtype.kind in "cb":
        raise TypeError(f"{name} takes real numbers, got {describe(x)} [at {user_line()}]")
    return x


def inexact(name: str, x: Array) -> Array:
    """``x`` as floats."""
    return x if real(name, x).dtype.kind == "f" else xp.astype(x, xp.float64)
