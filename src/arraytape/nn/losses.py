"""Losses: classes with Keras's names and numbers.  Labels come first, as in TensorFlow.

>>> import arraytape as xp
>>> loss = xp.nn.losses.SparseCategoricalCrossentropy(from_logits=True)
>>> print(loss([0, 0], xp.asarray([[2.0, 0.0], [1.0, 3.0]])))
1.1269280110429727
"""

from __future__ import annotations

import math
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from array_api_compat import is_array_api_obj

import arraytape as xp

from .._array.array import Array
from .._util.errors import describe, missing_from, raise_documented, short_repr, user_line
from ..module import snake_case
from .activations import floating_input, log_softmax, softplus
from .initializers import finite_number, named_option
from .layers import boolean_option, check_name, integer_option
from .libraries import (
    as_library_floats,
    dtype_kind,
    is_free_to_read,
    library_constant,
    library_of,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from .._util.array_types import RawArray

    ArrayLike: TypeAlias = Array | npt.ArrayLike

__all__ = [
    "BinaryCrossentropy", "CategoricalCrossentropy", "CosineSimilarity", "Huber", "KLDivergence", "Loss",
    "MeanAbsoluteError", "MeanSquaredError", "SparseCategoricalCrossentropy",
]  # fmt: skip
REDUCTIONS = ("sum_over_batch_size", "sum", "mean", "mean_with_sample_weight", "none")
LEAST = 1e-7  # Keras's epsilon: probabilities are limited to [LEAST, 1 - LEAST]


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


def one_hot(
    x: Any, num_classes: int, axis: int = -1, dtype: npt.DTypeLike | None = np.float64
) -> Any:
    """Return for each class number a vector of zeros with a one at its place.

    Parameters
    ----------
    x : Array or array_like
        Integers; others than 0 to ``num_classes - 1`` give vectors of zeros, as in TensorFlow.
    num_classes : int
        The length of the new axis.
    axis : int, default -1
        The position of the new axis in the result.
    dtype : dtype, default float64
        The dtype of the result.

    Returns
    -------
    Array
        Of the shape of ``x`` with one more axis.

    Raises
    ------
    TypeError
        When ``x`` does not hold integers.
    ValueError
        When the result has no such axis.

    Examples
    --------
    >>> import arraytape as xp
    >>> print(xp.nn.one_hot([0, 2], 3))
    [[1. 0. 0.]
     [0. 0. 1.]]
    """
    if isinstance(x, np.ndarray | np.generic) or not is_array_api_obj(x):
        x = xp.asarray(x)
    library = library_of("one_hot", x)
    if dtype_kind(library, x) != "i":
        raise TypeError(f"one_hot: takes integers, got {describe(x)} [at {user_line()}]")
    length, place = (
        integer_option("one_hot", "num_classes", num_classes),
        axis_option("one_hot", axis),
    )
    if not -x.ndim - 1 <= place <= x.ndim:
        raise ValueError(
            f"one_hot: {describe(x)} has no place {axis} for an axis [at {user_line()}]"
        )
    place %= x.ndim + 1
    shape = [length if i == place else 1 for i in range(x.ndim + 1)]
    classes = library.reshape(library_constant(library, np.arange(length), x), tuple(shape))
    wanted = np.dtype(dtype).name
    return library.astype(library.expand_dims(x, axis=place) == classes, getattr(library, wanted))


class Loss:
    """Base class of losses, which compare labels with predictions and reduce the result to one number.

    A loss of your own overrides ``call``, which returns a value for each example.

    Parameters
    ----------
    reduction : str or None, default "sum_over_batch_size"
        "sum_over_batch_size" and "mean": the sum of all values, divided by their number.
        "mean_with_sample_weight": divided by the sum of the weights.  "sum": the sum.  "none" or None:
        the values themselves.
    name : str, optional
        The name in messages.

    Examples
    --------
    >>> import arraytape as xp
    >>> class Cubic(xp.nn.losses.Loss):
    ...     def call(self, y_true, y_pred):
    ...         return xp.mean(xp.abs(y_pred - y_true) ** 3, axis=-1)
    >>> loss = Cubic()
    >>> print(loss([[0.0], [1.0]], xp.asarray([[2.0], [1.0]])))
    4.0
    >>> print(loss([[0.0], [1.0]], xp.asarray([[2.0], [1.0]]), sample_weight=[0.5, 2.0]))
    2.0
    """

    def __init__(
        self, reduction: str | None = "sum_over_batch_size", name: str | None = None
    ) -> None:
        owner = type(self).__name__
        given = "none" if reduction is None else reduction
        self.reduction = named_option(owner, "reduction", given, REDUCTIONS)
        self.name = snake_case(owner) if name is None else name
        check_name(owner, self.name)

    def call(self, y_true: Any, y_pred: Any) -> Any:
        """Compute the value of each example; a subclass defines this.

        Parameters
        ----------
        y_true : Array
            The labels.
        y_pred : Array
            The predictions.

        Returns
        -------
        Array
            The values.
        """
        raise NotImplementedError(f"{type(self).__name__} has no call()")

    def __call__(
        self, y_true: ArrayLike, y_pred: Any, sample_weight: ArrayLike | None = None
    ) -> xp.Array:
        """Return the loss of a batch as one number, or as ``reduction`` says.

        ``sample_weight`` multiplies the values of the examples.  The mean of an empty batch is NaN, with
        NumPy's warning; Keras returns an empty array.

        Raises
        ------
        TypeError
            When labels, predictions or weights are no arrays of numbers.
        ValueError
            When their shapes do not fit.
        """
        try:
            if isinstance(y_pred, np.ndarray | np.generic) or not is_array_api_obj(y_pred):
                y_pred = xp.asarray(y_pred)
            library = library_of(self.name, y_pred)
            values = self.call(asarray_like(library, y_true, y_pred), y_pred)
            reduced: xp.Array = self._reduced(library, values, sample_weight)
            return reduced
        except Exception as error:
            raise_documented(error, self.name, y_true, y_pred, sample_weight)

    def _reduced(self, library: ModuleType, values: RawArray, sample_weight: Any) -> Any:
        """Return the examples' values times their weights, reduced as ``reduction`` says."""
        number: Any = None
        if sample_weight is not None:
            weights = library.astype(
                asarray_like(library, sample_weight, values), values.dtype, copy=False
            )
            values, weights = same_rank(library, values, weights)
            lengths = zip(weights.shape, values.shape, strict=False)
            fits = weights.ndim == values.ndim and all(n in (1, m) for n, m in lengths)
            if weights.ndim and not fits:
                raise ValueError(
                    f"{self.name}: sample_weight {describe(weights)} does not fit the losses "
                    f"{describe(values)}: it needs their shape [at {user_line()}]"
                )
            values = values * weights
            if self.reduction == "mean_with_sample_weight":
                number = library.sum(weights)
                # As Keras: weights whose sum is 0 give the loss 0.
                values = library.where(number == 0, 0, values)
                number = library.where(number == 0, 1, number)
        if self.reduction == "none":
            return values
        total = library.sum(values)
        if self.reduction == "sum":
            return total
        return total / (math.prod(values.shape) if number is None else number)


class Elementwise(Loss):
    """Base class of losses whose labels have the shape of the predictions."""

    def call(self, y_true: Any, y_pred: Any) -> Any:
        library, y_pred = floating_input(self.name, y_pred)
        y_true, y_pred = same_rank(library, asarray_like(library, y_true, y_pred), y_pred)
        if tuple(y_true.shape) != tuple(y_pred.shape) or not y_pred.ndim:
            raise ValueError(
                f"{self.name}: labels {describe(y_true)} and predictions {describe(y_pred)} need one "
                f"shape, with at least one axis [at {user_line()}]"
            )
        if dtype_kind(library, y_true) == "c":
            raise TypeError(
                f"{self.name}: labels must be real numbers, got {describe(y_true)} [at {user_line()}]"
            )
        return self._values(library, library.astype(y_true, y_pred.dtype, copy=False), y_pred)

    def _values(self, library: ModuleType, y_true: Any, y_pred: Any) -> Any:
        raise NotImplementedError


LOSS = """{title}

    Parameters
    ----------{options}
    reduction : str or None, default "sum_over_batch_size"
        How the values of the examples become one number: see ``Loss``.
    name : str, optional
        The name in messages.

    Examples
    --------
    >>> import arraytape as xp
    >>> loss = xp.nn.losses.{example}
    """
FROM_LOGITS = """
    from_logits : bool, default False
        If True, predictions are logits: not the results of {function}.  This is more accurate than
        probabilities, which are limited to [1e-7, 1 - 1e-7]."""
SMOOTHING = """
    label_smoothing : float, default 0
        The share of each label, in [0, 1], that is distributed evenly over all classes."""
AXIS = """
    axis : int, default -1
        The axis of {what}."""


class MeanSquaredError(Elementwise):
    __doc__ = LOSS.format(
        title="The mean of ``(y_pred - y_true)**2`` over the last axis.", options="",
        example="""MeanSquaredError()
    >>> print(loss([[1.0, 2.0]], xp.asarray([[1.5, 1.0]])))
    0.625""",
    )  # fmt: skip

    def _values(self, library: ModuleType, y_true: Any, y_pred: Any) -> Any:
        return library.mean((y_pred - y_true) ** 2, axis=-1)


class MeanAbsoluteError(Elementwise):
    __doc__ = LOSS.format(
        title="The mean of ``abs(y_pred - y_true)`` over the last axis.", options="",
        example="""MeanAbsoluteError()
    >>> print(loss([[1.0, 2.0]], xp.asarray([[1.5, 1.0]])))
    0.75""",
    )  # fmt: skip

    def _values(self, library: ModuleType, y_true: Any, y_pred: Any) -> Any:
        return library.mean(library.abs(y_pred - y_true), axis=-1)


class Huber(Elementwise):
    __doc__ = LOSS.format(
        title="Half the mean squared error over the last axis, linear for errors above ``delta``.",
        options="""
    delta : float, default 1
        The error above which the loss is linear: ``delta * error - delta**2 / 2``.""",
        example="""Huber(0.5)
    >>> print(loss([[0.0, 0.0]], xp.asarray([[0.2, 2.0]])))
    0.4475""",
    )  # fmt: skip

    def __init__(
        self, delta: float = 1.0, reduction: str | None = "sum_over_batch_size",
        name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(reduction, name)
        self.delta = finite_number("Huber", "delta", delta, 0.0)

    def _values(self, library: ModuleType, y_true: Any, y_pred: Any) -> Any:
        error = y_pred - y_true
        size = library.abs(error)
        beyond = self.delta * size - 0.5 * self.delta**2
        return library.mean(library.where(size <= self.delta, 0.5 * error**2, beyond), axis=-1)


class KLDivergence(Elementwise):
    __doc__ = LOSS.format(
        title="""The sum of ``y_true * log(y_true / y_pred)`` over the last axis.

    Labels and predictions are limited to [1e-7, 1].""", options="",
        example="""KLDivergence()
    >>> print(loss([[0.5, 0.5]], xp.asarray([[0.25, 0.75]])))
    0.143841036...""",
    )  # fmt: skip

    def _values(self, library: ModuleType, y_true: Any, y_pred: Any) -> Any:
        labels, predictions = library.clip(y_true, LEAST, 1), library.clip(y_pred, LEAST, 1)
        return library.sum(labels * library.log(labels / predictions), axis=-1)


class CosineSimilarity(Elementwise):
    __doc__ = LOSS.format(
        title="""The negative cosine of the angle between labels and predictions.

    It is -1 for equal directions, and 0 where a vector is zero.""",
        options=AXIS.format(what="a vector"),
        example="""CosineSimilarity()
    >>> print(loss([[3.0, 4.0]], xp.asarray([[3.0, 0.0]])))
    -0.6""",
    )  # fmt: skip

    def __init__(
        self, axis: int = -1, reduction: str | None = "sum_over_batch_size", name: str | None = None
    ) -> None:
        super().__init__(reduction, name)
        self.axis = axis_option("CosineSimilarity", axis)

    def _values(self, library: ModuleType, y_true: Any, y_pred: Any) -> Any:
        labels, predictions = (unit_vectors(library, x, self.axis) for x in (y_true, y_pred))
        return -library.sum(labels * predictions, axis=self.axis)


class BinaryCrossentropy(Elementwise):
    __doc__ = LOSS.format(
        title="The mean cross-entropy of labels in [0, 1] and predicted probabilities, over an axis.",
        options=FROM_LOGITS.format(function="``sigmoid``") + SMOOTHING + AXIS.format(what="the mean"),
        example="""BinaryCrossentropy(from_logits=True)
    >>> print(loss([[1.0], [0.0]], xp.asarray([[2.0], [-1.0]])))
    0.22009484...""",
    )  # fmt: skip

    def __init__(
        self, from_logits: bool = False, label_smoothing: float = 0.0, axis: int = -1,
        reduction: str | None = "sum_over_batch_size", name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(reduction, name)
        owner = type(self).__name__
        self.from_logits = boolean_option(owner, "from_logits", from_logits)
        self.label_smoothing = finite_number(owner, "label_smoothing", label_smoothing, 0.0)
        if self.label_smoothing > 1.0:
            raise ValueError(
                f"{owner}: label_smoothing must lie in [0, 1], got {short_repr(label_smoothing)} "
                f"[at {user_line()}]"
            )
        self.axis = axis_option(owner, axis)

    def _smoothed(self, y_true: Any, classes: int) -> Any:
        if not self.label_smoothing:
            return y_true
        return y_true * (1.0 - self.label_smoothing) + self.label_smoothing / classes

    def _values(self, library: ModuleType, y_true: Any, y_pred: Any) -> Any:
        y_true = self._smoothed(y_true, 2)
        if self.from_logits:
            values = softplus(y_pred) - y_true * y_pred
        else:
            p = library.clip(y_pred, LEAST, 1.0 - LEAST)
            values = -(y_true * library.log(p) + (1.0 - y_true) * library.log(1.0 - p))
        return library.mean(values, axis=self.axis)


class CategoricalCrossentropy(BinaryCrossentropy):
    __doc__ = LOSS.format(
        title="The cross-entropy of labels that hold a probability for each class.",
        options=FROM_LOGITS.format(function="``softmax``")
        + SMOOTHING + AXIS.format(what="the classes"),
        example="""CategoricalCrossentropy()
    >>> print(loss([[0.0, 1.0]], xp.asarray([[0.25, 0.75]])))
    0.28768207...""",
    )  # fmt: skip

    def _values(self, library: ModuleType, y_true: Any, y_pred: Any) -> Any:
        y_true = self._smoothed(y_true, y_true.shape[self.axis])
        if self.from_logits:
            return softmax_cross_entropy(y_true, y_pred, axis=self.axis)
        shares = y_pred / library.sum(y_pred, axis=self.axis, keepdims=True)
        logarithms = library.log(library.clip(shares, LEAST, 1.0 - LEAST))
        return -library.sum(y_true * logarithms, axis=self.axis)


class SparseCategoricalCrossentropy(Loss):
    __doc__ = LOSS.format(
        title="The cross-entropy of labels that are the numbers of the classes.",
        options=FROM_LOGITS.format(function="``softmax``") + AXIS.format(what="the classes"),
        example="""SparseCategoricalCrossentropy(reduction="none")
    >>> print(loss([1, 0], xp.asarray([[0.25, 0.75], [0.5, 0.5]])))
    [0.28768207 0.69314718]""",
    )  # fmt: skip

    def __init__(
        self, from_logits: bool = False, reduction: str | None = "sum_over_batch_size",
        axis: int = -1, name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(reduction, name)
        self.from_logits = boolean_option(type(self).__name__, "from_logits", from_logits)
        self.axis = axis_option(type(self).__name__, axis)

    def call(self, y_true: Any, y_pred: Any) -> Any:
        library, y_pred = floating_input(self.name, y_pred)
        if dtype_kind(library, y_true) != "i":
            raise TypeError(
                f"{self.name}: labels must be integers, the class of each example, got "
                f"{describe(y_true)} [at {user_line()}]"
            )
        if y_true.ndim == y_pred.ndim and y_true.shape[self.axis] == 1:
            y_true = library.squeeze(y_true, self.axis)
        if not self.from_logits:  # as TensorFlow, which makes the sum of the probabilities 1
            y_pred = library.log(library.clip(y_pred, LEAST, 1.0 - LEAST))
        return softmax_cross_entropy(y_true, y_pred, axis=self.axis)


def same_rank(library: ModuleType, a: RawArray, b: RawArray) -> tuple[Any, Any]:
    """Return labels and predictions with equally many axes, if one has an additional axis of length 1.

    As in Keras, shapes (n,) and (n, 1) fit, and (n, m) and (n, m, 1).  A shape (n,) becomes (n, 1); from
    longer shapes the last axis is removed.
    """
    if a.ndim == b.ndim + 1 and a.shape[-1] == 1:
        if b.ndim == 1:
            return a, library.expand_dims(b, axis=-1)
        return library.squeeze(a, -1), b
    if b.ndim == a.ndim + 1 and b.shape[-1] == 1:
        return same_rank(library, b, a)[::-1]
    return a, b


def unit_vectors(library: ModuleType, x: RawArray, axis: int) -> Any:
    """Return vectors divided by their length; zero vectors stay zero."""
    squares = library.sum(x * x, axis=axis, keepdims=True)
    return x / library.sqrt(library.where(squares == 0, 1, squares))


def axis_option(owner: str, axis: int) -> int:
    """Check that the option ``axis`` is an integer; whether data have this axis is checked later."""
    return integer_option(owner, "axis", axis, -64)


def __dir__() -> list[str]:
    return sorted(__all__)


if not TYPE_CHECKING:  # a type checker would take any name for one that is there
    __getattr__ = missing_from(__name__, "nn")
