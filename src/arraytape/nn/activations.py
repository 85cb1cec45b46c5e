"""Activations without overflow, whose derivatives of any order are accurate for any input.

``where`` selects a branch for each element.  A branch that was not selected contributes exactly 0 to the
derivative; the selected branch has an exact derivative, also at 0 and at infinity.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from .._util.errors import describe, short_repr, user_line
from .libraries import as_library_floats, dtype_kind, gradient_stopped, library_of

A = TypeVar("A")


def relu(x: A, /) -> A:
    """Return the positive part of each element; NaN stays NaN.

    Parameters
    ----------
    x : Array
        Of any real dtype.

    Returns
    -------
    Array
        Of the shape and dtype of ``x``.  The derivative at 0 is 0, as in TensorFlow and PyTorch.

    Examples
    --------
    >>> import arraytape as xp
    >>> x = xp.asarray([-1.0, 0.0, 2.0])
    >>> print(xp.nn.relu(x))
    [0. 0. 2.]
    >>> print(xp.grad(lambda x: xp.sum(xp.nn.relu(x)))(x))
    [0. 0. 1.]
    """
    xp, given = real_input("relu", x)
    return xp.where(given <= 0, 0, given)  # type: ignore[no-any-return]


def sigmoid(x: A, /) -> A:
    """Return ``1 / (1 + exp(-x))`` of each element, accurate also where it is nearly 0.

    Parameters
    ----------
    x : Array
        Of any real dtype; integers become floats.

    Returns
    -------
    Array
        Of the shape of ``x``.

    Examples
    --------
    >>> import arraytape as xp
    >>> x = xp.asarray([-1000.0, 0.0, 2.0])
    >>> print(xp.nn.sigmoid(x))
    [0.         0.5        0.88079708]
    >>> print(xp.grad(lambda x: xp.sum(xp.nn.sigmoid(x)))(x))
    [0.         0.25       0.10499359]
    """
    xp, given = floating_input("sigmoid", x)
    positive = given > 0
    e = xp.exp(xp.where(positive, -given, given))
    return xp.where(positive, 1, e) / (1 + e)  # type: ignore[no-any-return]


def softplus(x: A, /) -> A:
    """Return ``log(1 + exp(x))`` of each element, a smooth ``relu``.

    Parameters
    ----------
    x : Array
        Of any real dtype; integers become floats.

    Returns
    -------
    Array
        Of the shape of ``x``.  The derivative is the sigmoid: 1 at infinity, 0.5 at 0.

    Examples
    --------
    >>> import arraytape as xp
    >>> x = xp.asarray([-2.0, 0.0, 2.0])
    >>> print(xp.nn.softplus(x))
    [0.12692801 0.69314718 2.12692801]
    >>> print(xp.grad(lambda x: xp.sum(xp.nn.softplus(x)))(x))
    [0.11920292 0.5        0.88079708]
    """
    xp, given = floating_input("softplus", x)
    positive = given > 0
    # -abs(x) in place of this where would give a wrong second derivative at 0.
    below = xp.where(positive, -given, given)
    return xp.where(positive, given, 0) + xp.log1p(xp.exp(below))  # type: ignore[no-any-return]


def tanh(x: A, /) -> A:
    """Return the hyperbolic tangent of each element, as ``arraytape.tanh``.

    Parameters
    ----------
    x : Array
        Of real or complex floating-point dtype.

    Returns
    -------
    Array
        Of the shape of ``x``.

    Examples
    --------
    >>> import arraytape as xp
    >>> x = xp.asarray([-1.0, 0.0, 1.0])
    >>> print(xp.nn.tanh(x))
    [-0.76159416  0.          0.76159416]
    """
    return library_of("tanh", x).tanh(x)  # type: ignore[no-any-return]


def softmax(x: A, /, axis: int = -1) -> A:
    """Return ``exp(x) / sum(exp(x))`` along an axis: positive weights whose sum is 1.

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

    Examples
    --------
    >>> import arraytape as xp
    >>> x = xp.asarray([1.0, 2.0, 3.0])
    >>> print(xp.nn.softmax(x))
    [0.09003057 0.24472847 0.66524096]
    >>> print(xp.grad(lambda x: xp.nn.softmax(x)[2])(x))
    [-0.05989202 -0.1628034   0.22269543]
    """
    xp, below = less_maximum("softmax", x, axis)
    e = xp.exp(below)
    return e / xp.sum(e, axis=axis, keepdims=True)  # type: ignore[no-any-return]


def log_softmax(x: A, /, axis: int = -1) -> A:
    """Return the logarithm of ``softmax``, exact also where a weight is too small for a float.

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

    Examples
    --------
    >>> import arraytape as xp
    >>> x = xp.asarray([1.0, 2.0, 3.0])
    >>> print(xp.nn.log_softmax(x))
    [-2.40760596 -1.40760596 -0.40760596]
    >>> print(xp.grad(lambda x: -xp.nn.log_softmax(x)[2])(x))
    [ 0.09003057  0.24472847 -0.33475904]
    """
    xp, below = less_maximum("log_softmax", x, axis)
    total = xp.sum(xp.exp(below), axis=axis, keepdims=True)
    return below - xp.log(total)  # type: ignore[no-any-return]


def less_maximum(name: str, x: Any, axis: int) -> tuple[Any, Any]:
    """Return the namespace of x, and x less its maximum along the axis, so that exp cannot overflow.

    The difference does not change softmax, so the maximum is a constant for derivatives.
    """
    xp, x = floating_input(name, x)
    if not isinstance(axis, int | np.integer) or not -x.ndim <= axis < x.ndim:
        raise ValueError(f"{name}: {describe(x)} has no axis {short_repr(axis)} [at {user_line()}]")
    if not x.shape[axis]:
        raise ValueError(f"{name}: axis {axis} of {describe(x)} is empty [at {user_line()}]")
    return xp, x - gradient_stopped(xp, xp.max(x, axis=axis, keepdims=True))


def real_input(name: str, x: Any) -> tuple[Any, Any]:
    """Return the namespace of x, and x; raise TypeError if x is no array of real numbers."""
    xp = library_of(name, x)
    if dtype_kind(xp, x) in "cb":
        raise TypeError(f"{name} takes real numbers, got {describe(x)} [at {user_line()}]")
    return xp, x


def floating_input(name: str, x: Any) -> tuple[Any, Any]:
    """Return the namespace of x, and x as floats."""
    xp, x = real_input(name, x)
    return xp, as_library_floats(xp, x)
