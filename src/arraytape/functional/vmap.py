"""``vmap``: maps a function over an axis of its arguments, by one run on batched data.

``enter_mapped`` hides the mapped axis of each argument: inside the function, the Arrays have the shape
of one example.  ``leave_mapped`` makes the hidden axis of each result visible again.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numpy as np

from .._array.array import KEPT, SCALAR, Array, wrap
from .._array.views import current, keep_data
from .._storage.batched.batched_data import (
    axis_ids_of,
    new_axis_id,
    open_hidden_axis,
    recorders_around,
    without_gaps,
)
from .._tape.hidden_axes import batched, unbatched
from .._util import nest
from .._util.array_types import RawArray
from .._util.errors import describe, describe_result, short_repr, user_line
from .._util.options import unwrap_option
from ..ops.creation_functions import asarray
from ..ops.manipulation_functions import concat, moveaxis
from .inputs import check_chunk_size, to_numpy_data

P = ParamSpec("P")
R = TypeVar("R")
Axes = Any  # int, None, or a nesting of int and None


def vmap(
    f: Callable[P, R], in_axes: Axes = 0, out_axes: Axes = 0, *, chunk_size: int | None = None
) -> Callable[P, R]:
    """Return a function that applies ``f`` to each example along an axis of its arguments, at once.

    Inside ``f`` each mapped Array has the shape of one example.  Gradients that ``f`` computes are
    gradients per example:

        vmap(lambda x, y: grad(loss)(w, x, y))(X, Y)

    Inside ``f``, an argument has the memory layout of a copy of the example, as in the loop
    ``f(np.array(x[..., i]))``.  So an argument is copied if its examples have gaps in memory, which is
    mostly the case with ``in_axes`` other than 0.

    Parameters
    ----------
    f : Callable
        A function of Arrays or nestings of Arrays that returns an Array or a nesting of Arrays.  Mapped
        NumPy arrays are passed to it as Arrays.
    in_axes : int | None | Sequence, default: 0
        The axis along which all positional arguments are mapped, or a sequence with one entry for each
        argument.  An entry is an axis, None for an argument that is passed unchanged, or a nesting of
        axes and None like the argument.  Keyword arguments are passed unchanged.
    out_axes : int | None or nesting, default: 0
        The position of the mapped axis in the results: an integer, or a nesting of integers like the
        result.  None means that a result is the same for all examples, and is returned without the
        mapped axis.
    chunk_size : int, optional
        The largest number of examples that are computed at once, which bounds the memory.  ``f`` runs
        once for each chunk.  By default ``f`` runs once, for all examples.

    Returns
    -------
    Callable
        A function of the arguments of ``f``, with the mapped axis added.  It returns the results of
        ``f``, with the mapped axis added.  They are NumPy arrays if no positional argument has an Array.

    Raises
    ------
    ValueError
        When no argument is mapped, the mapped axes differ in length, or ``in_axes`` or ``out_axes`` do
        not fit the arguments or results.  Also when an Array that ``f`` stored is used after the call.
    TypeError
        When mapped arguments or results are no Arrays.  Inside ``f``, functions that need the values of
        one example raise it: nonzero, the unique functions, boolean keys of mapped data, bool(),
        int(), float(), np.asarray().

    Examples
    --------
    >>> import arraytape as xp
    >>> rows = xp.asarray([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> print(xp.vmap(lambda row: xp.sum(row * row))(rows))
    [ 5. 25. 61.]

    A gradient for each example:

    >>> def loss(w, x):
    ...     return xp.sum((w * x) ** 2)
    >>> w = xp.asarray([1.0, 0.5])
    >>> print(xp.vmap(xp.grad(loss), in_axes=(None, 0))(w, rows))
    [[ 2.  4.]
     [18. 16.]
     [50. 36.]]
    """
    if not callable(f):
        raise TypeError(f"vmap: takes a function, got {describe(f)} [at {user_line()}]")
    check_chunk_size("vmap", chunk_size)

    def places_of(results: Any, found: list[Any]) -> list[Any]:
        if out_axes is None or isinstance(out_axes, int | np.integer | np.ndarray):
            return [unwrap_option(out_axes)] * len(found)
        places = nest.leaves_like(results, out_axes, "out_axes")
        return [unwrap_option(at) for at in places]

    @functools.wraps(f)
    def mapped_call(*args: Any, **keywords: Any) -> Any:
        axes = argument_axes(args, in_axes)
        leaves = [leaf for arg in args for leaf in nest.leaves(arg)]
        given = [array_if_mapped(x, axis) for x, axis in zip(leaves, axes, strict=True)]
        size = count_examples(given, axes)

        def at_once(part: list[Any], size: int) -> tuple[Any, list[Array], list[Any]]:
            axis_id = new_axis_id()
            with open_hidden_axis(axis_id), recorders_around(axis_id):
                entered = [
                    enter_mapped(x, axis, axis_id) for x, axis in zip(part, axes, strict=True)
                ]
                results = f(*nest.pack_nesting(list(args), entered), **keywords)
                found = nest.leaves(results)
                places = places_of(results, found)
                left = [
                    leave_mapped(y, at, axis_id, size) for y, at in zip(found, places, strict=True)
                ]
            return results, left, places

        if chunk_size is None or size <= chunk_size:
            results, left, _ = at_once(given, size)
        else:
            starts = range(0, size, chunk_size)
            ends = [min(start + chunk_size, size) for start in starts]
            chunks = [
                at_once(slice_examples(given, axes, start, end), end - start)
                for start, end in zip(starts, ends, strict=True)
            ]
            results, _, places = chunks[0]
            left = [
                parts[0] if at is None else concat(parts, axis=at)
                for at, *parts in zip(places, *[left for _, left, _ in chunks], strict=True)
            ]
        found = nest.pack_nesting(results, left)
        return found if any(isinstance(x, Array) for x in leaves) else to_numpy_data(found)

    return mapped_call


def array_if_mapped(x: RawArray, axis: int | None) -> Any:
    """Return a leaf of an argument of vmap; make an Array of a NumPy array that is mapped.

    axis : the axis of examples, or None for a leaf that is passed unchanged.
    """
    return asarray(x) if axis is not None and isinstance(x, np.ndarray) else x


def slice_examples(given: list[Any], axes: list[Any], start: int, end: int) -> list[Any]:
    """Return a chunk of examples: each leaf of the arguments, sliced on its mapped axis.

    given, axes : the leaves, and the mapped axis of each, or None.
    start, end : the numbers of the first example and of the one after the last.
    """
    return [
        x if axis is None else x[(slice(None),) * (axis % x.ndim) + (slice(start, end),)]
        for x, axis in zip(given, axes, strict=True)
    ]


def argument_axes(args: tuple[Any, ...], in_axes: Axes) -> list[Any]:
    """Return the mapped axis (or None) of each leaf of the arguments.

    Raise ValueError if ``in_axes`` does not fit the arguments.

    args : the positional arguments of the call.
    in_axes : the user's argument: an axis, None, or a nesting of these.
    """
    in_axes = unwrap_option(in_axes) if isinstance(in_axes, np.generic | np.ndarray) else in_axes
    if in_axes is None or isinstance(in_axes, int):
        entries: list[Any] = [in_axes] * len(args)
    elif isinstance(in_axes, list | tuple) and len(in_axes) == len(args):
        entries = list(in_axes)
    else:
        raise ValueError(
            f"vmap: in_axes {short_repr(in_axes)} is neither an integer nor one entry for each of "
            f"{len(args)} arguments [at {user_line()}]"
        )
    axes = []
    for arg, entry in zip(args, entries, strict=True):
        entry = unwrap_option(entry) if isinstance(entry, np.generic) else entry
        if entry is None or isinstance(entry, int):
            axes += [entry] * len(nest.leaves(arg))
        else:
            axes += nest.leaves_like(arg, entry, "in_axes")
    axes = [unwrap_option(axis) for axis in axes]
    for axis in axes:
        if axis is not None and (not isinstance(axis, int) or isinstance(axis, bool)):
            raise ValueError(
                f"vmap: an axis is an integer or None, got {short_repr(axis)} in in_axes [at "
                f"{user_line()}]"
            )
    return axes


def count_examples(given: list[Any], axes: list[Any]) -> int:
    """Return the number of examples: the common length of the mapped axes.

    Raise TypeError or ValueError, with the number of the leaf, for a leaf that cannot be mapped.

    given, axes : the leaves of the arguments, and the mapped axis of each, or None.
    """
    lengths = {}
    for i, (x, axis) in enumerate(zip(given, axes, strict=True)):
        if axis is None:
            continue
        if not isinstance(x, Array):
            raise TypeError(
                f"vmap: argument {i} is mapped and must be an Array or a NumPy array, got "
                f"{describe(x)} [at {user_line()}]; convert it with asarray, or set its in_axes to None"
            )
        if not -x.ndim <= axis < x.ndim:
            raise ValueError(
                f"vmap: argument {i}, {describe(x)}, has no axis {axis} [at {user_line()}]"
            )
        lengths[i] = x.shape[axis]
    if not lengths:
        raise ValueError(
            f"vmap: no argument is mapped [at {user_line()}]; call the function itself"
        )
    if len(set(lengths.values())) > 1:
        which = ", ".join(f"argument {i}: {n}" for i, n in lengths.items())
        raise ValueError(f"vmap: the mapped axes differ in length ({which}) [at {user_line()}]")
    return int(next(iter(lengths.values())))


def enter_mapped(x: Any, axis: int | None, axis_id: int) -> Any:
    """Return a leaf of an argument as ``f`` receives it: a new Array with the shape of one example.

    The new Array shares the memory of x until a write, if each example lies in memory without gaps.
    Else the data is copied without gaps, because the layout decides whether a reshape returns a view.  A
    leaf with ``axis`` None keeps its axes.
    """
    if axis is None:
        if not isinstance(x, Array):
            return x
        value_id, _ = current(x)
        return wrap(without_gaps(keep_data(x), 0), value_id, KEPT | x._state & SCALAR)
    first = moveaxis(x, axis, 0) if axis % x.ndim else x
    value_id, data = current(first)
    apart = without_gaps(data, 1)
    return batched(first if apart is data else wrap(apart, value_id), axis_id)


def leave_mapped(y: RawArray, axis: int | None, axis_id: int, size: int) -> Array:
    """Return a result of ``f`` with the mapped axis, hidden so far, at position ``axis``.

    If ``axis`` is None, return the result unchanged; raise ValueError if it differs between examples.

    axis_id, size : the number that identifies the hidden axis, and its length.
    """
    if not isinstance(y, Array):
        raise TypeError(
            f"vmap: the function must give Arrays, got {describe_result(y)} [at {user_line()}]"
        )
    if axis is None:
        if axis_id in axis_ids_of((current(y)[1],)):
            raise ValueError(
                f"vmap: out_axes=None is for a result that is the same for all examples, but this "
                f"result of shape {tuple(y.shape)} differs: give it an axis, or reduce it after vmap "
                f"[at {user_line()}]"
            )
        return y
    if not isinstance(axis, int) or not -y.ndim - 1 <= axis <= y.ndim:
        raise ValueError(
            f"vmap: no axis {short_repr(axis)} in a result of {y.ndim + 1} dimensions [at {user_line()}]"
        )
    left: Array = unbatched(y, axis_id, size)
    return moveaxis(left, 0, axis) if axis % left.ndim else left


__all__ = ["vmap"]
