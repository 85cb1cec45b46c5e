"""Searching functions: where, nonzero, count_nonzero, argmax, argmin and searchsorted."""

from __future__ import annotations

from typing import Any, Literal

from .._array.array import Array, wrap
from .._array.paths import sum_to
from .._array.views import current
from .._define.words import composite, primitive, sample, without_derivative
from .._record.op_facts import hull
from .._storage.standard import Axis
from .._storage.storage import storage_of
from .._util.array_types import Namespace, RawArray
from .._util.errors import explain, user_line


def _where_vjp_x1(g: RawArray, condition: RawArray, shape: tuple[int, ...], xp: Namespace) -> Any:
    """Return g where the condition holds, else 0, summed over broadcast axes.

    It is the cotangent of x1 for the cotangent g of where(condition, x1, x2).  shape : the shape of x1.
    """
    return sum_to(xp.where(condition, g, 0.0), shape, xp)


def _where_vjp_x2(g: RawArray, condition: RawArray, shape: tuple[int, ...], xp: Namespace) -> Any:
    """Return g where the condition does not hold, else 0, summed over broadcast axes.

    It is the cotangent of x2 for the cotangent g of where(condition, x1, x2).  shape : the shape of x2.
    """
    return sum_to(xp.where(condition, 0.0, g), shape, xp)


@primitive(
    None,
    _where_vjp_x1,
    _where_vjp_x2,
    selects=True,
    alone=lambda *given: where_it_holds(*given),
    samples=(
        sample("bool(3, 4)", (3, 4), (3, 4)),
        sample("bool(3, 1)", (4,), ()),
        sample("bool(3)", (3,), 0.5),
        sample("bool(3)", 0.5, (2, 3)),
    ),
    signature="(),(),()->()",
    continuous=True,
    linear_places=((1, 2),),
    scalars=False,
    range=hull,
)
def where(
    condition: Array, x1: Array | float | None = None, x2: Array | float | None = None, /
) -> Array:
    """Select x1 where a condition holds, else x2.

    Parameters
    ----------
    condition
        Of boolean dtype; a number counts as True unless it is 0.
    x1
        The values where the condition holds.
    x2
        The values where the condition does not hold.

    Returns
    -------
    Array
        Of the shape to which all three broadcast.
        Its dtype is the dtype to which those of x1 and x2 promote.

    Raises
    ------
    TypeError
        When only one of x1 and x2 is given.
    ValueError
        When the shapes do not broadcast.

    Notes
    -----
    Elements that are not selected get a gradient of exactly 0, even where the derivative of the
    function that computed them is infinite.

    Beyond the standard, ``where(condition)`` is ``nonzero(condition)``.
    """


def where_it_holds(condition: Array, x1: RawArray, x2: RawArray) -> Any:
    """Return ``where(condition)``: the indices of true elements; raise TypeError for x1 or x2."""
    if x1 is not None or x2 is not None:
        raise TypeError(f"where: needs both x1 and x2, or neither [at {user_line()}]")
    return nonzero(condition)


@without_derivative(takes="ordered", gives=("reduced", "index"), signature="(AXIS)->()")
def argmax(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """Find the index of the first maximum along an axis."""


@without_derivative(takes="ordered", gives=("reduced", "index"), signature="(AXIS)->()")
def argmin(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """Find the index of the first minimum along an axis."""


@without_derivative(takes="any", gives=("reduced", "index"), signature="(AXES)->()", scalars=False)
def count_nonzero(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Count the elements over axes (all by default) that are not 0."""


@composite(data_dependent_shape="x")
def nonzero(x: Array, /) -> tuple[Array, ...]:
    """Find the indices of the elements that are not 0.

    Returns
    -------
    tuple of Array
        For each axis of x, a one-dimensional int64 array of the indices along that axis.

    Raises
    ------
    ValueError
        When x has no axis.

    Notes
    -----
    Derivative: none; the gradient is None.
    """
    _, data = current(x)
    try:
        found = storage_of(data).xp.nonzero(data)
    except Exception as error:
        raise explain("nonzero", error, x=x) from error
    return tuple(wrap(indices) for indices in found)


@without_derivative(signature="(N),(),(N)->()")
def searchsorted(
    x1: Array,
    x2: Array | float,
    /,
    *,
    side: Literal["left", "right"] = "left",
    sorter: Array | None = None,
) -> Array:
    """Find the indices at which elements could be inserted into a sorted array so that it stays sorted.

    Parameters
    ----------
    x1
        The sorted array, with one dimension and of real dtype.
    x2
        The elements to insert, of real dtype.
    side
        Where to insert before ('left') or after ('right') equal elements.
    sorter
        The indices that sort x1; None: x1 is sorted.

    Returns
    -------
    Array
        Indices into x1, int64 and of the shape of x2.

    Raises
    ------
    ValueError
        When x1 does not have one dimension, sorter does not have the shape of x1, or side is another
        word.
    """
