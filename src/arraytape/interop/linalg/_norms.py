"""Differentiate scipy.linalg.norm: SciPy computes the value, rules of ``xp.linalg`` the derivative."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._util.array_types import Namespace, RawArray
from ...ops import _factorisations as rules
from ...ops import _spectral as spectral
from .._plain import ArrayInput, Shape
from .._recorded import function_op, operand_of
from .._statements import hooks


def norm_rule(
    g: RawArray, a: RawArray, y: RawArray, ord: float | str | None, axis: int | Shape | None,
    keepdims: bool, xp: Namespace,
) -> Any:  # fmt: skip
    """Return the cotangent of the array ``a``, given the cotangent g of its norm y."""
    given = range(a.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    axes = [i % a.ndim for i in given]
    if len(axes) != 2 or ord in (None, "fro", "f"):
        order: Any = 2 if ord in (None, "fro", "f") else ord
        return rules.vector_norm_vjp(g, a, y, tuple(axes), keepdims, order, xp)
    if not keepdims:
        for i in sorted(axes):
            g, y = xp.expand_dims(g, axis=i), xp.expand_dims(y, axis=i)
    last = (-2, -1)
    matrix, g, y = (xp.moveaxis(x, axes, last) for x in (a, g, y))
    return xp.moveaxis(matrix_norm_rule(g, matrix, y, ord, xp), last, axes)


def matrix_norm_rule(g: RawArray, a: RawArray, y: RawArray, ord: Any, xp: Namespace) -> Any:
    """Return the cotangent of matrices ``a``, given the cotangent g of their norms y.

    g and y are shaped (..., 1, 1).  ord : SciPy's option, for any norm but Frobenius's.
    """
    if ord in ("nuc", 2, -2):
        U, S, Vh = xp.linalg.svd(a, full_matrices=False)
        if ord == "nuc":
            return g * (U @ Vh)
        pick = xp.max if ord == 2 else xp.min
        chosen = pick(S, axis=-1, keepdims=True) == S
        share = xp.astype(chosen, S.dtype) / xp.sum(
            xp.astype(chosen, S.dtype), axis=-1, keepdims=True
        )
        return spectral.svdvals_vjp((g[..., 0] * share), a, xp)
    along, size = (-2 if abs(ord) == 1 else -1), xp.abs(a)
    sums = xp.sum(size, axis=along, keepdims=True)
    other = -3 - along
    pick = xp.max if ord > 0 else xp.min
    chosen = xp.astype(sums == pick(sums, axis=other, keepdims=True), sums.dtype)
    return g * chosen / xp.sum(chosen, axis=other, keepdims=True) * xp.sign(a)


norm_op = function_op(
    "scipy.linalg.norm", norm_rule, arrays=["a"], options=["ord", "axis", "keepdims"], cusped=True
)


@hooks("scipy.linalg", "norm")
def norm(
    a: ArrayInput, ord: float | str | None = None, axis: int | Sequence[int] | None = None,
    keepdims: bool = False, check_finite: bool = True,
) -> Any:  # fmt: skip
    axis = tuple(axis) if isinstance(axis, list) else axis
    return norm_op(
        operand_of(a), ord=ord, axis=axis, keepdims=bool(keepdims), check_finite=check_finite
    )
