"""Set functions: the unique values of an array, and tests of membership.

If a tape follows x, its unique values are read from x by ``take``, at the indices of their first
occurrences.  So gradients flow back to x.
"""

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


def unique_raw(x: Array) -> tuple[Array, Any, Any, Any]:
    """Return the four results of ``unique_all``: the values as an Array, the others as raw data.

    The others are the indices, the inverse indices and the counts.
    """
    value_id, data = current(x)
    found = storage_of(data).xp.unique_all(data)
    values = take(reshape(x, (-1,)), wrap(found.indices)) if value_id else wrap(found.values)
    return values, found.indices, found.inverse_indices, found.counts


@composite(data_dependent_shape="x")
def unique_all(x: Array, /) -> UniqueAllResult:
    """Find the sorted unique values with their indices, inverse indices and counts.

    Parameters
    ----------
    x
        Array of any dtype, flattened first.

    Returns
    -------
    UniqueAllResult
        A named tuple of ``values``, of the dtype of x; ``indices``, of the first occurrence of each
        value in x, flattened; ``inverse_indices``, of the shape of x, with
        ``values[inverse_indices] == x``; and ``counts``, the number of occurrences of each value.

    Notes
    -----
    The gradient of a repeated value goes to its first occurrence.
    """
    values, indices, inverse, counts = unique_raw(x)
    return UniqueAllResult(values, wrap(indices), wrap(inverse), wrap(counts))


@composite(data_dependent_shape="x")
def unique_counts(x: Array, /) -> UniqueCountsResult:
    """Find the sorted unique values and the number of occurrences of each.

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
    values, _, _, counts = unique_raw(x)
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
        A named tuple of ``values``, of the dtype of x, and ``inverse_indices``, of the shape of x,
        with ``values[inverse_indices] == x``.

    Notes
    -----
    The gradient of a repeated value goes to its first occurrence.
    """
    values, _, inverse, _ = unique_raw(x)
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
        The values, with one dimension and of the dtype of x.

    Notes
    -----
    The gradient of a repeated value goes to its first occurrence.
    """
    return unique_raw(x)[0]


@without_derivative(signature="(),(N)->()", scalars=False)
def isin(x1: Array | int, x2: Array | int, /, *, invert: bool = False) -> Array:
    """Test for each element of x1 whether it occurs in x2.

    Parameters
    ----------
    x1
        The elements to look for.
    x2
        The array in which to look for the elements.
    invert
        True to test whether an element does not occur in x2.

    Returns
    -------
    Array
        Of the shape of x1; its dtype is bool.
    """
