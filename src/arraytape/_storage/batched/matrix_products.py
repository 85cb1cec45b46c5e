"""Matrix products and linear systems of batched data, in one call of the library for all examples."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._util.array_types import RawArray
from ..._util.attach import attach_method
from .batched_data import Batched, aligned, axis_ids_of, namespace_of

# If each array of a batched b has fewer columns, one large product is faster than one for each array.
FEW = 32


@attach_method(Batched, "__matmul__")
def matmul(a: Any, b: Any) -> Any:
    """Return ``a @ b`` for operands that may be batched, by as few products as possible."""
    if type(a) is Batched and type(b) is not Batched:
        found = batched_times_plain(a, b)
    elif type(b) is Batched and type(a) is not Batched:
        found = plain_times_batched(a, b)
    elif axis_ids_of((a, b)):
        found = None
    else:
        return a @ b
    return product_of_stacks(a, b) if found is None else found


@attach_method(Batched, "__rmatmul__")
def matmul_reflected(b: RawArray, a: RawArray) -> Any:
    """Return ``a @ b``; Python calls ``b.__rmatmul__(a)`` for a plain ``a``."""
    return matmul(a, b)


def batched_times_plain(a: Batched, b: RawArray) -> Any:
    """Return ``a @ b`` of a batched a and an unbatched b, by one product with the rows of all examples.

    Return None if the shapes of the operands need ``product_of_stacks``.
    """
    if len(b.shape) != 2 or not a.ndim or a.shape[-1] != b.shape[0]:
        return Batched(a.data @ b, a.axis_ids) if len(b.shape) == 1 and a.ndim else None
    xp = namespace_of(b)
    if a._data is None and math.prod(a.shape) == a.shape[-1]:  # diag(v) @ b scales the rows of b
        vector, start, stop = a.diagonal
        flat = xp.reshape(vector, (-1, 1))
        whole = start == 0 and stop == b.shape[0]
        rows = flat * b if whole else flat[start:stop, :] * b[start:stop, :]
        return Batched(xp.reshape(rows, (stop - start, *a.shape[:-1], b.shape[1])), a.axis_ids)
    data = a.data
    if len(data.shape) == 2:
        return Batched(data @ b, a.axis_ids)
    product = xp.reshape(data, (math.prod(data.shape[:-1]), data.shape[-1])) @ b
    return Batched(xp.reshape(product, (*data.shape[:-1], b.shape[1])), a.axis_ids)


def plain_times_batched(a: RawArray, b: Batched) -> Any:
    """Return ``a @ b`` of an unbatched a and a batched b.

    If the matrices of b have few columns, use one product with the columns of all examples.  Return None
    if the shapes of the operands need ``product_of_stacks``.
    """
    if not b.ndim or a.shape[-1:] != (b.shape[-2:-1] or b.shape):
        return None
    if b.ndim == 1:  # a @ v is v @ a^T
        turned = a if len(a.shape) == 1 else namespace_of(a).matrix_transpose(a)
        return Batched(b.data @ turned, b.axis_ids) if len(a.shape) <= 2 else None
    if len(a.shape) > 2 or b.ndim > 2:
        return None
    if len(a.shape) == 1 or b.shape[-1] >= FEW:
        return Batched(a @ b.data, b.axis_ids)
    xp, data = namespace_of(a), b.data
    back = xp.matrix_transpose(data)  # (hidden, columns, n)
    flat = xp.reshape(back, (math.prod(back.shape[:-1]), data.shape[-2]))
    product = xp.reshape(flat @ xp.matrix_transpose(a), (*back.shape[:-1], a.shape[0]))
    return Batched(xp.matrix_transpose(product), b.axis_ids)


def product_of_stacks(a: RawArray, b: RawArray) -> Any:
    """Return ``a @ b`` as a product of stacks of matrices; hidden axes become axes of the stacks."""
    if not (len(a.shape) and len(b.shape)):
        raise ValueError(f"matmul needs at least one dimension, got {a.shape} and {b.shape}")
    row, column = len(a.shape) == 1, len(b.shape) == 1
    a = a[None, :] if row else a
    b = b[:, None] if column else b
    (left, right), axis_ids = aligned((a, b))
    product = Batched(left @ right, axis_ids)
    if row:
        product = product[..., 0, :]
    return product[..., 0] if column else product


def batched_solve(a: RawArray, b: RawArray) -> Any:
    """Return ``a^-1 b``, where a or b has a matrix for each example of a vmap.

    As in the standard, b is one vector if each of its examples has one axis.
    """
    return solved_by(lambda xp: xp.linalg.solve, a, b)


def batched_solve_again(a: RawArray, b: RawArray, /, *, adjoint: bool = False) -> Any:
    """Return ``a^-1 b``, or ``a^-H b`` if ``adjoint``, for each example of a vmap.

    "Again" means that cached factors of a, from an earlier solution, are used if there are any.
    """
    return solved_by(lambda xp: functools.partial(xp.solve_again, adjoint=adjoint), a, b)


def solved_by(
    solve_of: Callable[[Any], Callable[[Any, Any], Any]],
    a: Any,
    b: Any,
) -> Any:
    """Return ``a^-1 b`` for all examples of vmap, by one call of a library's solver.

    solve_of : a function of a raw namespace that returns its solver: ``lambda xp: xp.linalg.solve``.
    """
    if not axis_ids_of((a, b)):
        return solve_of(namespace_of(a))(a, b)
    if len(a.shape) < 2:  # axes of vmap do not count as axes of matrices
        raise np.linalg.LinAlgError(f"matrices are needed, got an array of shape {a.shape}")
    vector = len(b.shape) == 1
    columns = b[:, None] if vector else b
    if type(a) is not Batched and len(a.shape) == 2 and len(columns.shape) == 2:
        xp, data = namespace_of(a), columns.data
        n, back = data.shape[-2], xp.matrix_transpose(data)  # (hidden, columns, n)
        flat = xp.reshape(back, (math.prod(back.shape[:-1]), n))
        found = xp.matrix_transpose(solve_of(xp)(a, xp.matrix_transpose(flat)))
        found = xp.matrix_transpose(xp.reshape(found, back.shape))
        solved = Batched(found, columns.axis_ids)
    else:
        (left, right), axis_ids = aligned((a, columns))
        solved = Batched(solve_of(namespace_of(left))(left, right), axis_ids)
    return solved[..., 0] if vector else solved
