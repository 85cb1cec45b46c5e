"""Linear algebra of the main namespace."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .._array.array import Array
from .._array.paths import PERMUTE, sum_to
from .._array.views import alias
from .._define.words import composite, primitive, sample
from .._storage.storage import conjugate
from .._util.errors import describe, explain, user_line
from . import _factorisations as rules
from .manipulation_functions import normalize_axis_index, permute_dims, reshape


def _matmul_first(g: Any, x2: Any, shape: Any, xp: Any) -> Any:
    x2 = conjugate(x2, xp)
    if len(x2.shape) == 1:
        return g[..., None] * x2
    if len(shape) == 1:
        if len(x2.shape) == 2:
            return g @ xp.matrix_transpose(x2)
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
    linear_in=("x1", "x2"),
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


@primitive(
    rules.cofactors,
    samples=(sample((3, 3)), sample((2, 2, 2)), sample((1, 1)), sample((0, 0))),
)
def cofactors(x: Array, /) -> Array:
    """The derivative of linalg.det, for its rule: exact also where x is singular."""


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


def _vecdot_first(g: Any, x2: Any, axis: int, shape: Any, xp: Any) -> Any:
    return sum_to(conjugate(xp.expand_dims(g, axis=axis), xp) * x2, shape, xp)


def _vecdot_second(g: Any, x1: Any, axis: int, shape: Any, xp: Any) -> Any:
    return sum_to(xp.expand_dims(g, axis=axis) * x1, shape, xp)


@primitive(
    _vecdot_first,
    _vecdot_second,
    linear_in=("x1", "x2"),
    samples=(sample((3,), (3,)), sample((2, 3), (3,)), sample((3, 2), (3, 1), axis=-2)),
)
def vecdot(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """Dot product of vectors along an axis; x1 is conjugated."""


@composite
def tensordot(
    x1: Array, x2: Array, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2
) -> Array:
    """Sum of products over the last axes of x1 and the first of x2, or over given pairs of axes."""
    if isinstance(axes, int):
        if not 0 <= axes <= min(x1.ndim, x2.ndim):
            raise ValueError(
                f"tensordot: {describe(x1)} and {describe(x2)} do not both have {axes} axes "
                f"[at {user_line()}]"
            )
        first, second = list(range(x1.ndim - axes, x1.ndim)), list(range(axes))
    else:
        if not isinstance(axes, list | tuple) or len(axes) != 2:
            raise TypeError(
                f"tensordot: axes must be an integer or a pair of sequences of axes, got "
                f"{describe(axes)} [at {user_line()}]"
            )
        pair = [(part,) if isinstance(part, int) else part for part in axes]  # as NumPy has it
        first, second = (
            [normalize_axis_index("tensordot", x, a) for a in part]
            for x, part in zip((x1, x2), pair, strict=True)
        )
    if [x1.shape[a] for a in first] != [x2.shape[a] for a in second]:
        raise ValueError(
            f"tensordot: axes {first} of shape {x1.shape} and {second} of {x2.shape} differ "
            f"[at {user_line()}]"
        )
    rows = [a for a in range(x1.ndim) if a not in first]
    columns = [a for a in range(x2.ndim) if a not in second]
    summed = math.prod(x1.shape[a] for a in first)
    height, width = (math.prod(x.shape[a] for a in kept) for x, kept in ((x1, rows), (x2, columns)))
    left = reshape(permute_dims(x1, (*rows, *first)), (height, summed))
    right = reshape(permute_dims(x2, (*second, *columns)), (summed, width))
    shape = (*(x1.shape[a] for a in rows), *(x2.shape[a] for a in columns))
    return reshape(matmul(left, right), shape)
