"""Metrics: numbers such as the accuracy over all batches of an epoch, from sums in Variables.

Labels come first, as in Keras.  Assignments to Variables are never recorded, so no gradient flows
through a result.  Sums are in double precision.

>>> import arraytape as xp
>>> accuracy = xp.nn.metrics.SparseCategoricalAccuracy()
>>> for labels, predictions in [([1], [[0.1, 0.9]]), ([0], [[0.2, 0.8]])]:  # batches
...     accuracy.update_state(labels, predictions)
>>> print(accuracy.result())
0.5
>>> accuracy.reset_state()
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

import arraytape as xp

from .._array.array import Array
from .._util.errors import describe, entrance, missing_from, raise_documented, user_line
from ..module import Module
from ..variable import AllOrNone, Variable, detached
from .initializers import finite_number, named_option
from .layers import boolean_option, check_name, integer_option
from .libraries import as_state

if TYPE_CHECKING:
    import numpy.typing as npt

    ArrayLike: TypeAlias = Array | npt.ArrayLike

__all__ = [
    "AUC", "Accuracy", "BinaryAccuracy", "CategoricalAccuracy", "Mean", "MeanAbsoluteError",
    "MeanSquaredError", "Metric", "Precision", "Recall", "RootMeanSquaredError",
    "SparseCategoricalAccuracy", "Sum",
]  # fmt: skip


class Metric(Module):
    """Base class of metrics: sums that ``update_state`` adds to and ``reset_state`` sets to zero.

    A metric of your own makes Variables by ``add_variable`` and overrides ``update_state`` and
    ``result``.

    Parameters
    ----------
    name : str, optional
        The metric's name in messages, and the first part of its Variables' names.

    Examples
    --------
    >>> import arraytape as xp
    >>> class Largest(xp.nn.metrics.Metric):
    ...     def __init__(self):
    ...         super().__init__(name="largest")
    ...         self.value = self.add_variable((), "value")
    ...     def update_state(self, values):
    ...         self.value.assign(xp.maximum(self.value.value(), xp.max(xp.asarray(values))))
    ...     def result(self):
    ...         return self.value.value()
    >>> largest = Largest()
    >>> print(largest([1.0, 5.0]), largest([2.0]))
    5.0 5.0
    >>> largest.reset_state()
    >>> print(largest([2.0]))
    2.0
    """

    @entrance
    def add_variable(self, shape: Sequence[int], name: str) -> Variable:
        """Make a Variable of zeros in double precision.

        Parameters
        ----------
        shape : sequence of int
            The shape of the Variable.
        name : str
            The last part of the Variable's name.

        Returns
        -------
        Variable
            The Variable, which is not trainable.
        """
        check_name(f"{self.name}.add_variable", name)
        return Variable(xp.zeros(tuple(shape), device="cpu"), False, f"{self.name}/{name}")

    def update_state(self, *args: Any, **keywords: Any) -> None:
        """Add a batch; a subclass defines this.

        Parameters
        ----------
        *args : object
            Labels and predictions, or values.
        **keywords : object
            Keyword arguments, such as weights.
        """
        raise NotImplementedError(f"{type(self).__name__} has no update_state()")

    def result(self) -> Array:
        """Compute the metric over all batches since the last reset; a subclass defines this.

        Returns
        -------
        Array
            The value; a mean is NaN before the first batch.
        """
        raise NotImplementedError(f"{type(self).__name__} has no result()")

    def reset_state(self) -> None:
        """Set all sums to zero."""
        with AllOrNone(self.variables):
            for variable in self.variables:
                variable.assign(xp.zeros_like(detached(variable)))

    def __call__(self, *args: Any, **keywords: Any) -> Array:
        """Add a batch, and return the result over all batches."""
        self.update_state(*args, **keywords)
        return self.result()

    def _add(self, *pairs: tuple[Variable, Array]) -> None:
        """Add to each Variable its value; if an addition fails, change no Variable."""
        # The batch may lie on another device than the Variables.
        values = [
            (variable, as_state(self.name, detached(value).to_device("cpu"), variable))
            for variable, value in pairs
        ]
        with AllOrNone(variable for variable, _ in pairs):
            for variable, value in values:
                variable.assign_add(value)


class Sum(Metric):
    """The sum of all values.

    Parameters
    ----------
    name : str, optional
        The name in messages.

    Examples
    --------
    >>> import arraytape as xp
    >>> total = xp.nn.metrics.Sum()
    >>> total.update_state([1.0, 2.0])
    >>> total.update_state(3.0, sample_weight=2.0)
    >>> print(total.result())
    9.0
    """

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
        self.total = self.add_variable((), "total")

    def update_state(self, values: ArrayLike, sample_weight: ArrayLike | None = None) -> None:
        """Add a batch of values to the sums.

        Parameters
        ----------
        values : Array or array_like
            Real numbers.
        sample_weight : Array or array_like, optional
            A factor for each value, or for each row of values.
        """
        given, weights = with_weights(self.name, real_numbers(self.name, values), sample_weight)
        self._add((self.total, xp.sum(given * weights)))

    def result(self) -> Array:
        return self.total.value()


class Averaged(Metric):
    """Base class of metrics that are a weighted mean."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
        self.total = self.add_variable((), "total")
        self.count = self.add_variable((), "count")

    def _average(self, values: Array, sample_weight: ArrayLike | None) -> None:
        given, weights = with_weights(self.name, values, sample_weight)
        self._add((self.total, xp.sum(given * weights)), (self.count, xp.sum(weights)))

    def result(self) -> Array:
        return ratio_or(self.total, self.count, math.nan)


class Mean(Averaged):
    """The mean of all values.

    Parameters
    ----------
    name : str, optional
        The name in messages.

    Examples
    --------
    >>> import arraytape as xp
    >>> loss = xp.nn.metrics.Mean()
    >>> loss.update_state([1.0, 2.0])
    >>> loss.update_state(6.0)
    >>> print(loss.result())
    3.0
    """

    def update_state(self, values: ArrayLike, sample_weight: ArrayLike | None = None) -> None:
        """Add a batch of values to the sums.

        Parameters
        ----------
        values : Array or array_like
            Real numbers.
        sample_weight : Array or array_like, optional
            A weight for each value, or for each row of values.
        """
        self._average(real_numbers(self.name, values), sample_weight)


class Compared(Averaged):
    """Base class of metrics that average a number computed from each label and its prediction."""

    def update_state(
        self, y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> None:
        """Add a batch of labels and predictions to the sums.

        Parameters
        ----------
        y_true : Array or array_like
            The labels.
        y_pred : Array or array_like
            The predictions.
        sample_weight : Array or array_like, optional
            A weight for each example.
        """
        self._average(self._compare(y_true, y_pred), sample_weight)

    def _compare(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        """Compute the number to average, for each example; a subclass defines this method."""
        raise NotImplementedError(f"{type(self).__name__} has no _compare()")


COMPARED = """{title}

    Parameters
    ----------
    name : str, optional
        The name in messages.

    Examples
    --------
    >>> import arraytape as xp
    >>> metric = xp.nn.metrics.{name}()
    >>> metric.update_state({batch})
    >>> print(metric.result())
    {result}
    """


class Accuracy(Compared):
    __doc__ = COMPARED.format(
        title="The share of predictions that equal their labels.",
        name="Accuracy", batch="[1, 2, 3], [1, 2, 4]", result="0.6666666666666666",
    )  # fmt: skip

    def _compare(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        return as_doubles(xp.equal(*same_shape_arrays(self.name, y_true, y_pred)))


class BinaryAccuracy(Compared):
    """The share of predictions that lie on their label's side of a threshold.

    Parameters
    ----------
    name : str, optional
        The name in messages.
    threshold : float, default 0.5
        Predictions above this number count as 1.

    Examples
    --------
    >>> import arraytape as xp
    >>> accuracy = xp.nn.metrics.BinaryAccuracy()
    >>> accuracy.update_state([1, 0, 1], [0.9, 0.2, 0.4])
    >>> print(accuracy.result())
    0.6666666666666666
    """

    def __init__(self, name: str | None = None, threshold: float = 0.5) -> None:
        super().__init__(name)
        self.threshold = finite_number("BinaryAccuracy", "threshold", threshold)

    def _compare(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        labels, predictions = same_shape_arrays(self.name, y_true, y_pred)
        return as_doubles(as_doubles(predictions > self.threshold) == as_doubles(labels))


class CategoricalAccuracy(Compared):
    __doc__ = COMPARED.format(
        title="The share of examples whose greatest prediction has the index of the greatest label.",
        name="CategoricalAccuracy", batch="[[0, 1], [1, 0]], [[0.1, 0.9], [0.4, 0.6]]", result="0.5",
    )  # fmt: skip

    def _compare(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        labels, predictions = same_shape_arrays(self.name, y_true, y_pred, 1)
        return as_doubles(xp.argmax(labels, axis=-1) == xp.argmax(predictions, axis=-1))


class SparseCategoricalAccuracy(Compared):
    __doc__ = COMPARED.format(
        title="The share of examples whose greatest prediction has the label, an integer, as its index.",
        name="SparseCategoricalAccuracy", batch="[1, 0], [[0.1, 0.9], [0.4, 0.6]]", result="0.5",
    )  # fmt: skip

    def _compare(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        labels, predictions = real_numbers(self.name, y_true), real_numbers(self.name, y_pred)
        if not predictions.ndim or labels.shape != predictions.shape[:-1]:
            raise ValueError(
                f"{self.name}: give one label for each row of the predictions {describe(predictions)}, "
                f"got {describe(labels)} [at {user_line()}]"
            )
        return as_doubles(xp.argmax(predictions, axis=-1) == labels)


class MeanSquaredError(Compared):
    __doc__ = COMPARED.format(
        title="The mean of the squared difference.",
        name="MeanSquaredError", batch="[1.0, 2.0], [1.5, 1.0]", result="0.625",
    )  # fmt: skip

    def _compare(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        labels, predictions = same_shape_arrays(self.name, y_true, y_pred)
        return (as_doubles(predictions) - as_doubles(labels)) ** 2


class RootMeanSquaredError(MeanSquaredError):
    __doc__ = COMPARED.format(
        title="The root of the mean squared difference.",
        name="RootMeanSquaredError", batch="[1.0, 2.0], [4.0, 6.0]", result="3.5355339059327378",
    )  # fmt: skip

    def result(self) -> Array:
        return xp.sqrt(super().result())


class MeanAbsoluteError(Compared):
    __doc__ = COMPARED.format(
        title="The mean of the absolute difference.",
        name="MeanAbsoluteError", batch="[1.0, 2.0], [1.5, 1.0]", result="0.75",
    )  # fmt: skip

    def _compare(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        labels, predictions = same_shape_arrays(self.name, y_true, y_pred)
        return xp.abs(as_doubles(predictions) - as_doubles(labels))


class Confusion(Metric):
    """Base class of metrics that sum true and false positives and negatives at thresholds."""

    def _make_counts(self, thresholds: np.ndarray[Any, Any], *names: str) -> None:
        self.thresholds = thresholds
        for name in names:
            setattr(self, name, self.add_variable(thresholds.shape, name))

    def update_state(
        self, y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> None:
        """Add a batch of labels and predictions to the sums.

        Parameters
        ----------
        y_true : Array or array_like
            Labels: 0 or 1.
        y_pred : Array or array_like
            Predictions from 0 to 1, or logits for an ``AUC`` with ``from_logits=True``.
        sample_weight : Array or array_like, optional
            A weight for each example.
        """
        if getattr(self, "from_logits", False):  # an AUC may have logits
            y_pred = xp.nn.sigmoid(as_doubles(real_numbers(self.name, y_pred)))
        labels, predictions = same_shape_arrays(self.name, y_true, y_pred)
        labels, weights = with_weights(self.name, as_doubles(labels), sample_weight)
        columns = xp.asarray(self.thresholds, device=predictions.device)[:, None]
        above = as_doubles(as_doubles(xp.reshape(predictions, (1, -1))) > columns)
        positive = xp.reshape(labels * weights, (-1, 1))
        negative = xp.reshape((1.0 - labels) * weights, (-1, 1))
        sums = {
            "true_positives": above @ positive,
            "false_positives": above @ negative,
            "false_negatives": (1.0 - above) @ positive,
            "true_negatives": (1.0 - above) @ negative,
        }
        kept = [name for name in sums if hasattr(self, name)]
        self._add(*[(getattr(self, name), sums[name][:, 0]) for name in kept])


class HitRate(Confusion):
    """Base class of Precision and Recall: true positives, divided by these plus the misses."""

    true_positives: Variable
    _misses: ClassVar[str]  # the count of misses: "false_positives" or "false_negatives"

    def __init__(self, thresholds: float = 0.5, name: str | None = None) -> None:
        super().__init__(name)
        value = finite_number(type(self).__name__, "thresholds", thresholds)
        self._make_counts(np.array([value]), "true_positives", self._misses)

    def result(self) -> Array:
        """Return the precision or the recall, over all batches since the last reset.

        Returns
        -------
        Array
            From 0 to 1; 0 where there was no example to count.
        """
        hits = detached(self.true_positives)
        return ratio_or(hits, hits + detached(getattr(self, self._misses)), 0.0)[0]


class Precision(HitRate):
    """The share of the examples predicted to be positive that are positive.

    If nothing was predicted to be positive, the precision is 0.

    Parameters
    ----------
    thresholds : float, default 0.5
        Predictions above this number count as positive.
    name : str, optional
        The name in messages.

    Examples
    --------
    >>> import arraytape as xp
    >>> precision = xp.nn.metrics.Precision()
    >>> precision.update_state([1, 0, 1, 0], [0.9, 0.8, 0.2, 0.1])
    >>> print(precision.result())
    0.5
    """

    false_positives: Variable
    _misses = "false_positives"


class Recall(HitRate):
    """The share of the positive examples that were predicted to be positive.

    If no example is positive, the recall is 0.

    Parameters
    ----------
    thresholds : float, default 0.5
        Predictions above this number count as positive.
    name : str, optional
        The name in messages.

    Examples
    --------
    >>> import arraytape as xp
    >>> recall = xp.nn.metrics.Recall()
    >>> recall.update_state([1, 0, 1, 0], [0.9, 0.8, 0.2, 0.1])
    >>> print(recall.result())
    0.5
    """

    false_negatives: Variable
    _misses = "false_negatives"


class AUC(Confusion):
    """The area under the ROC curve, or under the curve of precision over recall.

    The area under the ROC curve is a sum of trapezoids between thresholds.  So it is exact if a
    threshold lies between any two different predictions; else more thresholds make it more accurate.

    Parameters
    ----------
    num_thresholds : int, default 200
        The number of thresholds: evenly spaced, one below 0 and one above 1.
    curve : {"ROC", "PR"}
        The rate of true positives over that of false positives, or precision over recall.
    name : str, optional
        The name in messages.
    from_logits : bool, default False
        If True, predictions are logits, to which the sigmoid is applied.

    References
    ----------
    Davis and Goadrich 2006, "The relationship between precision-recall and ROC curves", section 4: for
    precision over recall, the counts of positives are interpolated, so the area is no trapezoid.

    Examples
    --------
    >>> import arraytape as xp
    >>> auc = xp.nn.metrics.AUC()
    >>> auc.update_state([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9])
    >>> print(auc.result())
    0.75
    """

    true_positives: Variable
    false_positives: Variable
    false_negatives: Variable
    true_negatives: Variable

    def __init__(
        self, num_thresholds: int = 200, curve: str = "ROC", name: str | None = None,
        from_logits: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(name)
        count = integer_option("AUC", "num_thresholds", num_thresholds, 2)
        self.curve = named_option("AUC", "curve", curve, ("ROC", "PR"))
        self.from_logits = boolean_option("AUC", "from_logits", from_logits)
        try:
            inner = np.arange(1, count - 1) / (count - 1)
        except Exception as error:
            raise_documented(error, "AUC", num_thresholds)
        names = ("true_positives", "false_positives", "false_negatives", "true_negatives")
        self._make_counts(np.array([-1e-7, *inner, 1.0 + 1e-7]), *names)

    def result(self) -> Array:
        """Return the area.

        Returns
        -------
        Array
            From 0 to 1.
        """
        hits, wrong = detached(self.true_positives), detached(self.false_positives)
        missed, right = detached(self.false_negatives), detached(self.true_negatives)
        if self.curve == "PR":
            return precision_by_recall(hits, wrong, missed)
        x, y = ratio_or(wrong, wrong + right, 0.0), ratio_or(hits, hits + missed, 0.0)
        return xp.sum((x[:-1] - x[1:]) * (y[:-1] + y[1:]) / 2.0)


def precision_by_recall(hits: Array, wrong: Array, missed: Array) -> Array:
    """Return the area under the precision-recall curve, with counts interpolated between thresholds.

    hits, wrong, missed : true positives, false positives and false negatives at each threshold.
    """
    positives = hits + wrong
    steps, more = hits[:-1] - hits[1:], positives[:-1] - positives[1:]
    slope = ratio_or(steps, more, 0.0)
    offset = hits[1:] - slope * positives[1:]
    both = (positives[:-1] > 0) & (positives[1:] > 0)
    quotient = xp.where(both, ratio_or(positives[:-1], positives[1:], 1.0), 1.0)
    parts = slope * (steps + offset * xp.log(quotient))
    return xp.sum(ratio_or(parts, hits[1:] + missed[1:], 0.0))


def ratio_or(a: Array, b: Array, otherwise: float) -> Array:
    """Return ``a / b``, and ``otherwise`` where b is 0."""
    a, b = detached(a), detached(b)
    nothing = b == 0
    return xp.where(nothing, otherwise, a / xp.where(nothing, 1.0, b))


def real_numbers(owner: str, given: ArrayLike) -> Array:
    """Return a batch of real numbers or bools, of any library, as an Array that no tape follows."""
    if isinstance(given, Array):
        found = detached(given)
    else:  # a tensor of PyTorch may be on a GPU, and may require a gradient
        plain = given.detach().cpu() if hasattr(given, "detach") else given
        found = xp.asarray(plain if isinstance(plain, list | tuple) else np.asarray(plain))
    if found.dtype.kind == "c":
        raise TypeError(f"{owner}: takes real numbers, got {describe(given)} [at {user_line()}]")
    return found


def same_shape_arrays(
    owner: str, y_true: ArrayLike, y_pred: ArrayLike, least: int = 0
) -> tuple[Array, Array]:
    """Return labels and predictions of one shape; raise ValueError if their shapes differ."""
    labels, predictions = real_numbers(owner, y_true), real_numbers(owner, y_pred)
    if labels.shape != predictions.shape or labels.ndim < least:
        raise ValueError(
            f"{owner}: labels {describe(labels)} and predictions {describe(predictions)} differ in "
            f"shape, or have too few axes [at {user_line()}]"
        )
    return labels.to_device(predictions.device), predictions


def with_weights(owner: str, given: Array, sample_weight: ArrayLike | None) -> tuple[Array, Array]:
    """Return ``given`` in double precision, and weights of its shape.

    ``sample_weight`` may have fewer axes than ``given``: a weight then applies to a whole row.
    """
    values = as_doubles(given)
    if sample_weight is None:
        return values, xp.ones_like(values)
    weights = as_doubles(real_numbers(owner, sample_weight))
    if weights.shape != values.shape[: weights.ndim]:
        raise ValueError(
            f"{owner}: sample_weight must have one weight for each of {describe(values)}, got "
            f"{describe(weights)} [at {user_line()}]"
        )
    rows = xp.reshape(weights, (*weights.shape, *(1,) * (values.ndim - weights.ndim)))
    return values, xp.ones_like(values) * rows.to_device(values.device)


def as_doubles(x: Array) -> Array:
    return xp.astype(x, xp.float64, copy=False)


def __dir__() -> list[str]:
    return sorted(__all__)


__getattr__ = missing_from(__name__, "nn")
