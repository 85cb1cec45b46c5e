"""Linear algebra of the main namespace."""

from __future__ import annotations

from typing import Any

from .._array import Array
from .._engine import conjugate, sum_to
from .._errors import explain
from .._paths import PERMUTE
from .._view import alias
from .._words import composite, primitive, sample


def _matmul_first(g: Any, x2: Any, shape: Any, xp: Any) -> Any:
    x2 = conjugate(x2, xp)
    if len(x2.shape) == 1:
        return g[..., None] * x2
    if len(shape) == 1:
        g = g[..., None, :]
        return sum_to((g @ xp.matrix_transpose(x2))[..., 0, :], shape, xp)
    return sum_to(g @ xp.matrix_transpose(x2), shape, xp)


def _matmul_second(g: Any, x1: Any, shape: Any, xp: Any) -> Any:
    x1 = conjugate(x1, xp)
    if len(x1.shape) == 1:
        if len(shape) == 1:
            return g[..., None] * x1
        return sum_to(x1[:, None] * g[..., None, :], shape, xp)
    if len(shape) == 1:
        axes = tuple(range(len(g.shape)))
        if len(axes) == 1:
            return g @ x1
        return xp.sum(g[..., None] * x1, axis=axes)
    return sum_to(xp.matrix_transpose(x1) @ g, shape, xp)


@primitive(
    _matmul_first,
    _matmul_second,
    samples=(
        sample((2, 3), (3, 4)),
        sample((3,), (3,)),
        sample((2, 3), (3,)),
        sample((3,), (3, 2)),
        sample((2, 1, 2, 3), (4, 3, 2)),
        sample((3,), (2, 3, 2)),
        sample((2, 2, 3), (3,)),
        sample((0, 3), (3, 2)),
    ),
)
def matmul(x1: Array, x2: Array, /) -> Array:
    """Matrix product of (stacks of) matrices; a 1-d operand is a vector."""


@composite
def matrix_transpose(x: Array, /) -> Array:
    """Transpose of a matrix, or of each matrix of a stack: a view.

    Raises ValueError for fewer than two dimensions.
    """
    n = x.ndim
    if n < 2:
        error = ValueError("needs at least 2 dimensions")
        raise explain("matrix_transpose", error, x=x) from None
    seen = alias(x, PERMUTE, (*range(n - 2), n - 1, n - 2))
    assert seen is not None
    return seen
