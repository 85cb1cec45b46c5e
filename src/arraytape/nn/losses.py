"""Losses.  Labels come first, as in TensorFlow."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from array_api_compat import is_array_api_obj

from .._array.array import Array
from .._util.errors import describe, user_line
from .activations import floating_input, log_softmax
from .libraries import as_library_floats, dtype_kind, is_free_to_read, library_constant, library_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from .._util.array_types import RawArray


def softmax_cross_entropy(labels: Array | npt.ArrayLike, logits: Array, axis: int = -1) -> Array:
    """Return the cross-entropy between labels and ``softmax(logits)``, computed from the logits.

    Parameters
    ----------
    labels : Array or array_like
        Either integers, the class of each example, in the shape of ``logits`` without ``axis``; or
        floats, a probability for each class, in the shape of ``logits``.  Gradients flow to floats.
    logits : Array
        Unnormalised logarithms of probabilities: not the results of ``softmax``.
    axis : int, default -1
        The axis of the classes.

    Returns
    -------
    Array
        The loss of each example, in the shape of ``logits`` without ``axis``.

    Raises
    ------
    TypeError
        When ``logits`` is no Array of real numbers.
    ValueError
        When the shapes do not fit, or a class does not exist.  On a GPU, where a check of the labels
        would wait for its queue, and under ``vmap`` the loss of such an example is NaN instead.

    Examples
    --------
    >>> import arraytape as xp
    >>> logits = xp.asarray([[2.0, 0.0], [1.0, 3.0]])
    >>> labels = xp.asarray([0, 0])
    >>> losses = xp.nn.softmax_cross_entropy(labels, logits)
    >>> print(losses)
    [0.12692801 2.12692801]

    The gradient is the probability of each class, less 1 at the right one:

    >>> print(xp.grad(lambda logits: xp.sum(xp.nn.softmax_cross_entropy(labels, logits)))(logits))
    [[-0.11920292  0.11920292]
     [-0.88079708  0.88079708]]
    """
    xp, logits = floating_input("softmax_cross_entropy", logits)
    given = asarray_like(xp, labels, logits)
    logarithms = log_softmax(logits, axis=axis)
    kind = dtype_kind(xp, given)
    if kind == "i":
        loss: Array = -pick_classes(xp, logarithms, given, axis)
        return loss
    if kind != "f" or given.shape != logits.shape:
        raise ValueError(
            f"softmax_cross_entropy: labels {describe(given)} are neither integers nor a "
            f"probability for each of the logits {describe(logits)} [at {user_line()}]"
        )
    # A class of probability 0 adds no loss, even where its logit is -inf.
    nothing = (given == 0) & (logarithms == -xp.inf)
    total: Array = xp.sum(given * xp.where(nothing, 0, logarithms), axis=axis)
    return -total


def pick_classes(xp: ModuleType, logarithms: RawArray, labels: RawArray, axis: int) -> Any:
    """Return the logarithm of the probability of each example's class."""
    axis %= logarithms.ndim
    classes = logarithms.shape[axis]
    shape = logarithms.shape[:axis] + logarithms.shape[axis + 1 :]
    if labels.shape != shape:
        raise ValueError(
            f"softmax_cross_entropy: integer labels {describe(labels)} do not fit: for logits of "
            f"shape {logarithms.shape} they need the shape {shape} [at {user_line()}]"
        )
    labels = xp.astype(labels, xp.int64, copy=False)
    known = (labels >= 0) & (labels < classes)
    visible = is_free_to_read(labels)
    if visible and not bool(xp.all(known)):
        raise ValueError(
            f"softmax_cross_entropy: labels from {int(xp.min(labels))} to {int(xp.max(labels))} "
            f"are not all among the classes 0 to {classes - 1} [at {user_line()}]"
        )
    places = xp.expand_dims(xp.where(known, labels, 0), axis=axis)
    values = xp.squeeze(xp.take_along_axis(logarithms, places, axis=axis), axis)
    return values if visible else xp.where(known, values, xp.nan)


def mean_squared_error(
    labels: Array | npt.ArrayLike, predictions: Array, axis: int | None = None
) -> Array:
    """Return the mean of the squared distance between labels and predictions.

    Parameters
    ----------
    labels : Array or array_like
        In the shape of ``predictions``.  Nothing is broadcast: for shapes (n,) and (n, 1) the mean over
        all n * n differences would be a wrong loss without any error.
    predictions : Array
        Of any dtype; for complex numbers the distance is the absolute value of the difference.
    axis : int, optional
        The axis over which the mean is taken; by default all axes.

    Returns
    -------
    Array
        The mean, without the axis, or of shape () by default.

    Raises
    ------
    TypeError
        When ``predictions`` is no Array.
    ValueError
        When the shapes differ.

    Examples
    --------
    >>> import arraytape as xp
    >>> labels, predictions = xp.asarray([1.0, 2.0]), xp.asarray([1.5, 1.0])
    >>> print(xp.nn.mean_squared_error(labels, predictions))
    0.625
    >>> print(xp.grad(lambda p: xp.nn.mean_squared_error(labels, p))(predictions))
    [ 0.5 -1. ]
    """
    xp = library_of("mean_squared_error: predictions", predictions, "must be an Array")
    given = asarray_like(xp, labels, predictions)
    if given.shape != predictions.shape:
        raise ValueError(
            f"mean_squared_error: labels {describe(given)} and predictions "
            f"{describe(predictions)} differ in shape [at {user_line()}]"
        )
    distance = predictions - given
    if dtype_kind(xp, distance) == "c":
        squares = xp.real(distance) ** 2 + xp.imag(distance) ** 2
    else:
        squares = as_library_floats(xp, distance) ** 2
    found: Array = xp.mean(squares, axis=axis)
    return found


def asarray_like(xp: ModuleType, labels: Array | npt.ArrayLike, predictions: RawArray) -> Any:
    """Return labels as an array; a list of floats gets the dtype of the predictions."""
    if isinstance(labels, Array):
        return labels
    if not isinstance(labels, np.ndarray | np.generic) and is_array_api_obj(labels):
        return labels
    if isinstance(predictions, Array):
        given = xp.asarray(labels, device=predictions.device)
    else:
        given = library_constant(xp, np.asarray(labels), predictions)
    if not hasattr(labels, "dtype") and dtype_kind(xp, given) == dtype_kind(xp, predictions):
        return xp.astype(given, predictions.dtype, copy=False)
    return given
