"""Activations without overflow, whose derivatives of any order are accurate for any input.

``where`` selects a branch for each element.  A branch that was not selected contributes exactly 0 to the
derivative; the selected branch has an exact derivative, also at 0 and at infinity.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeVar

import numpy as np

import arraytape as xp

from .._util.errors import describe, short_repr, user_line
from .libraries import as_library_floats, constant_maximum, dtype_kind, library_of

A = TypeVar("A")
# Klambauer et al. 2017, equation 14: the fixed point of mean 0 and variance 1.
SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805


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


def elu(x: A, /, alpha: float = 1.0) -> A:
    """Return each positive element, and ``alpha * (exp(x) - 1)`` of each other one.

    Parameters
    ----------
    x : Array
        Of any real dtype; integers become floats.
    alpha : float, default 1.0
        The negative of the limit at minus infinity.

    Returns
    -------
    Array
        Of the shape of ``x``.  The derivative at 0 is ``alpha``, as in Keras.

    References
    ----------
    Clevert, Unterthiner and Hochreiter 2016, "Fast and accurate deep network learning by exponential
    linear units (ELUs)", section 3.

    Examples
    --------
    >>> import arraytape as xp
    >>> x = xp.asarray([-1.0, 0.0, 2.0])
    >>> print(xp.nn.elu(x))
    [-0.63212056  0.          2.        ]
    >>> print(xp.grad(lambda x: xp.sum(xp.nn.elu(x)))(x))
    [0.36787944 1.         1.        ]
    """
    xp, given = floating_input("elu", x)
    y = exponential_below(xp, given)
    return y if alpha == 1 else xp.where(given > 0, y, alpha * y)  # type: ignore[no-any-return]


def selu(x: A, /) -> A:
    """Return the scaled ``elu`` whose results keep mean 0 and variance 1 from layer to layer.

    Parameters
    ----------
    x : Array
        Of any real dtype; integers become floats.

    Returns
    -------
    Array
        ``1.0507 * elu(x, 1.6733)``, of the shape of ``x``.  The derivative at 0 is 1.0507, as in
        TensorFlow.

    References
    ----------
    Klambauer, Unterthiner, Mayr and Hochreiter 2017, "Self-normalizing neural networks", equation 2.

    Examples
    --------
    >>> import arraytape as xp
    >>> x = xp.asarray([-1.0, 0.0, 2.0])
    >>> print(xp.nn.selu(x))
    [-1.11133074  0.          2.10140197]
    """
    xp, given = floating_input("selu", x)
    y = exponential_below(xp, given)
    return SELU_SCALE * xp.where(given < 0, SELU_ALPHA * y, y)  # type: ignore[no-any-return]


def leaky_relu(x: A, /, negative_slope: float = 0.2) -> A:
    """Return each positive element, and ``negative_slope`` times each other one.

    Parameters
    ----------
    x : Array
        Of any real dtype; integers become floats.
    negative_slope : float, default 0.2
        The slope below 0, and the derivative at 0, as in TensorFlow.

    Returns
    -------
    Array
        Of the shape of ``x``.

    Examples
    --------
    >>> import arraytape as xp
    >>> x = xp.asarray([-1.0, 0.0, 2.0])
    >>> print(xp.nn.leaky_relu(x))
    [-0.2  0.   2. ]
    >>> print(xp.grad(lambda x: xp.sum(xp.nn.leaky_relu(x)))(x))
    [0.2 0.2 1. ]
    """
    xp, given = floating_input("leaky_relu", x)
    return xp.where(given > 0, given, negative_slope * given)  # type: ignore[no-any-return]


def silu(x: A, /) -> A:
    """Return ``x * sigmoid(x)`` of each element, which is also called swish.

    Parameters
    ----------
    x : Array
        Of any real dtype; integers become floats.

    Returns
    -------
    Array
        Of the shape of ``x``; 0 at minus infinity.

    References
    ----------
    Elfwing, Uchibe and Doya 2018, "Sigmoid-weighted linear units for neural network function
    approximation in reinforcement learning", equation 8.

    Examples
    --------
    >>> import arraytape as xp
    >>> x = xp.asarray([-1000.0, 0.0, 2.0])
    >>> print(xp.nn.silu(x))
    [-0.          0.          1.76159416]
    >>> print(xp.grad(lambda x: xp.sum(xp.nn.silu(x)))(x))
    [0.         0.5        1.09078425]
    """
    xp, given = floating_input("silu", x)
    return times_weight(xp, given, 1000.0, sigmoid)  # type: ignore[no-any-return]


def gelu(x: A, /, approximate: bool = False) -> A:
    """Return each element times the probability that a standard normal variable is less.

    Parameters
    ----------
    x : Array
        Of any real dtype; integers become floats.
    approximate : bool, default False
        If True, the probability is approximated by a tanh, with an error below 5e-4.

    Returns
    -------
    Array
        Of the shape of ``x``; 0 at minus infinity.

    Raises
    ------
    TypeError
        When ``x`` belongs to a library without ``erfc``, and ``approximate`` is False.

    References
    ----------
    Hendrycks and Gimpel 2016, "Gaussian error linear units (GELUs)", section 2.

    Examples
    --------
    >>> import arraytape as xp
    >>> x = xp.asarray([-1.0, 0.0, 2.0])
    >>> print(xp.nn.gelu(x))
    [-0.15865525  0.          1.95449974]
    >>> print(xp.nn.gelu(x, approximate=True))
    [-0.15880801  0.          1.95459769]
    """
    xp, given = floating_input("gelu", x)
    if approximate:
        scale = math.sqrt(2.0 / math.pi)

        def weight(x: Any) -> Any:
            return 0.5 * (1.0 + xp.tanh(scale * (x + 0.044715 * x**3)))

    else:
        erfc = erfc_of(xp)

        def weight(x: Any) -> Any:
            return 0.5 * erfc(-math.sqrt(0.5) * x)

    return times_weight(xp, given, 40.0, weight)  # type: ignore[no-any-return]


def hard_sigmoid(x: A, /) -> A:
    """Return ``x / 6 + 1 / 2`` of each element, limited to [0, 1].

    Parameters
    ----------
    x : Array
        Of any real dtype; integers become floats.

    Returns
    -------
    Array
        Of the shape of ``x``.  The derivative at -3 and 3 is 0, as in TensorFlow.

    Examples
    --------
    >>> import arraytape as xp
    >>> x = xp.asarray([-4.0, 0.0, 1.5])
    >>> print(xp.nn.hard_sigmoid(x))
    [0.   0.5  0.75]
    """
    xp, given = floating_input("hard_sigmoid", x)
    return xp.where(given >= 3, 1, relu(given + 3) / 6)  # type: ignore[no-any-return]


def linear(x: A, /) -> A:
    """Return ``x`` unchanged: the activation of a layer that has none.

    Parameters
    ----------
    x : Array
        Of any dtype.

    Returns
    -------
    Array
        ``x`` itself.

    Examples
    --------
    >>> import arraytape as xp
    >>> layer = xp.nn.Dense(2, activation="linear")
    >>> layer.activation is xp.nn.linear
    True
    """
    library_of("linear", x)
    return x


swish = silu


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
    return xp, x - constant_maximum(xp, x, axis)


def real_input(name: str, x: Any) -> tuple[Any, Any]:
    """Return the namespace of x, and x; raise TypeError if x is no array of real numbers."""
    xp = library_of(name, x)
    if dtype_kind(xp, x) in "cb":
        raise TypeError(f"{name} takes real numbers, got {describe(x)} [at {user_line()}]")
    return xp, x


def floating_input(name: str, x: Any) -> tuple[Any, Any]:
    """Return the namespace of x, and x with bools and integers cast to floats; see ``real_input``."""
    xp, x = real_input(name, x)
    return xp, as_library_floats(xp, x)


def exponential_below(xp: ModuleType, x: Any) -> Any:
    """Return ``exp(x) - 1`` where x is less than 0, and x elsewhere: for elu and selu."""
    below = x < 0
    return xp.where(below, xp.expm1(xp.where(below, x, 0)), x)


def times_weight(xp: ModuleType, x: Any, limit: float, weight: Callable[[Any], Any]) -> Any:
    """Return ``x * weight(x)``, for a weight that rounds to 0 below ``-limit`` and to 1 above ``limit``.

    Beyond the limits the result is 0 or x, because an infinite element times 0 would be NaN.
    """
    beyond = xp.abs(x) > limit
    within = xp.where(beyond, 0, x)
    return xp.where(beyond, relu(x), within * weight(within))


def erfc_of(library: ModuleType) -> Any:
    """Return the function erfc for arrays of a library; the standard has none."""
    found = getattr(xp.special if library is xp else library, "erfc", None)
    if found is None:
        raise TypeError(
            f"gelu: {library.__name__} has no erfc; call gelu(x, approximate=True), or give Arrays "
            f"[at {user_line()}]"
        )
    return found
