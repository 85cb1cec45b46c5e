"""Sorting functions: argsort and sort.

The order of equal elements is always stable, so that gradients of sorted elements are well-defined.
"""

from __future__ import annotations

from .._array.array import Array
from .._array.views import lay_out_like
from .._define.words import composite, without_derivative
from .indexing_functions import take_along_axis


@without_derivative(takes="ordered", gives=("x", "index"), signature="(AXIS)->(AXIS)")
def argsort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """Find the indices that sort along an axis."""


@composite(takes="ordered", gives=("x", "x"), signature="(AXIS)->(AXIS)")
def sort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """Sort along an axis.

    Notes
    -----
    The gradient of each sorted element is that of the element of x from which it comes.  Equal elements
    keep their order.
    """
    order = argsort(x, axis=axis, descending=descending, stable=True)
    return lay_out_like(take_along_axis(x, order, axis=axis), x)
