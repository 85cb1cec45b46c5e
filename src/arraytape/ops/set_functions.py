"""Sets: unique values (gathered, so they keep their gradient) and membership."""

from __future__ import annotations

from typing import Any, NamedTuple

from .._array.array import Array, wrap
from .._array.views import current
from .._define.words import composite, without_derivative
from .._storage.storage import storage_of
from .indexing_functions import take
from .manipulation_functions import reshape


class UniqueAllResult(NamedTuple):
    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCountsResult(NamedTuple):
    values: Array
    counts: Array


class UniqueInverseResult(NamedTuple):
    values: Array
    inverse_indices: Array


def unique(x: Array) -> tuple[Array, Any, Any, Any]:
    """Return the values, from the first occurrence of each, and raw indices, inverse and counts."""
    value_id, data = current(x)
    found = storage_of(data).xp.unique_all(data)
    values = take(reshape(x, (-1,)), wrap(found.indices)) if value_id else wrap(found.values)
    return values, found.indices, found.inverse_indices, found.counts


@composite(data_dependent_shape="x")
def unique_all(x: Array, /) -> UniqueAllResult:
    """Find the sorted unique values, where each first occurs, how to rebuild x, and the counts.

    Parameters
    ----------
    x
        Array of any dtype, flattened first.

    Returns
    -------
    UniqueAllResult
        A named tuple of ``values``, of the dtype of x; ``indices`` of their first occurrences;
        ``inverse_indices`` into them, in the shape of x; and ``counts``.

    Notes
    -----
    The gradient of a repeated value goes to its first occurrence.
    """
    values, indices, inverse, counts = unique(x)
    return UniqueAllResult(values, wrap(indices), wrap(inverse), wrap(counts))


@composite(data_dependent_shape="x")
def unique_counts(x: Array, /) -> UniqueCountsResult:
    """Find the sorted unique values and how often each occurs.

    Parameters
    ----------
    x
        Array of any dtype, flattened first.

    Returns
    -------
    UniqueCountsResult
        A named tuple of ``values``, of the dtype of x, and ``counts``.

    Notes
    -----
    The gradient of a repeated value goes to its first occurrence.
    """
    values, _, _, counts = unique(x)
    return UniqueCountsResult(values, wrap(counts))


@composite(data_dependent_shape="x")
def unique_inverse(x: Array, /) -> UniqueInverseResult:
    """Find the sorted unique values and the indices that rebuild x from them.

    Parameters
    ----------
    x
        Array of any dtype, flattened first.

    Returns
    -------
    UniqueInverseResult
        A named tuple of ``values``, of the dtype of x, and ``inverse_indices`` into them, in
        the shape of x.

    Notes
    -----
    The gradient of a repeated value goes to its first occurrence.
    """
    values, _, inverse, _ = unique(x)
    return UniqueInverseResult(values, wrap(inverse))


@composite(data_dependent_shape="x")
def unique_values(x: Array, /) -> Array:
    """Find the sorted unique values.

    Parameters
    ----------
    x
        Array of any dtype, flattened first.

    Returns
    -------
    Array
        The values, in one dimension and of the dtype of x.

    Notes
    -----
    The gradient of a repeated value goes to its first occurrence.
    """
    return unique(x)[0]


@without_derivative(signature="(),(N)->()", scalars=False)
def isin(x1: Array | int, x2: Array | int, /, *, invert: bool = False) -> Array:
    """Test for each element of x1 whether it occurs in x2.

    Parameters
    ----------
    x1
        The elements to look for.
    x2
        Where to look for them.
    invert
        Whether to test for the opposite.

    Returns
    -------
    Array
        Of the shape of x1; its dtype is bool.
    """
