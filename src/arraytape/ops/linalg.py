"""The linalg extension."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from .._array import Array
from .._words import primitive, sample
from .linear_algebra_functions import matmul, matrix_transpose

SVDResult = namedtuple("SVDResult", ["U", "S", "Vh"])


def _adjoint(x: Any, xp: Any) -> Any:
    return xp.matrix_transpose(xp.conj(x))


def _svd(g: Any, U: Any, S: Any, Vh: Any, full_matrices: bool, xp: Any) -> Any:
    # Source: Townsend 2016, "Differentiating the singular value decomposition", eqs. (19)-(23);
    # the complex gauge term: Wan & Zhang 2019, arXiv:1909.02659, eq. (2).
    gU, gS, gVh = g
    m, k, n = U.shape[-2], S.shape[-1], Vh.shape[-1]
    if full_matrices and m != n:
        raise ValueError(
            "svd: the gradient through the full U or Vh of a non-square matrix is not defined "
            "(their extra columns are not a function of x); use full_matrices=False"
        )
    inner = xp.zeros_like(U[..., :k, :] if m >= k else U)
    inner = inner if gS is None else _diagonal(gS, inner, xp)
    s, st = S[..., None, :], S[..., :, None]
    gap = (s - st) * (s + st)
    same = gap == 0
    # Equal singular values: vectors may turn freely among themselves, so an invariant function
    # has no component along the turn; the numerator is 0 there and so is the quotient.
    F = xp.where(same, 0.0, 1 / xp.where(same, 1.0, gap))
    out = None
    if gU is not None:
        turn = _adjoint(U, xp) @ gU
        inner = inner + (F * (turn - _adjoint(turn, xp))) * s
        if m > k:
            out = ((gU - U @ turn) / xp.where(s == 0, 1.0, s)) @ Vh
    if gVh is not None:
        gV = _adjoint(gVh, xp)
        turn = Vh @ gV
        inner = inner + st * (F * (turn - _adjoint(turn, xp)))
        if n > k:
            rest = _adjoint(gV - _adjoint(Vh, xp) @ turn, xp)
            part = U @ (rest / xp.where(st == 0, 1.0, st))
            out = part if out is None else out + part
    if gU is not None and xp.isdtype(U.dtype, "complex floating"):
        turn = _adjoint(U, xp) @ gU
        phase = xp.where(xp.eye(k, dtype=xp.bool), (turn - _adjoint(turn, xp)) / (2 * s), 0.0)
        inner = inner + phase
    whole = U @ inner @ Vh
    return (whole if out is None else whole + out,)


def _diagonal(values: Any, like: Any, xp: Any) -> Any:
    eye = xp.eye(values.shape[-1], dtype=xp.bool)
    return xp.where(eye, values[..., None, :], xp.zeros_like(like))


@primitive(
    joint=_svd,
    outputs=("U", "S", "Vh"),
    samples=(
        sample((3, 3), full_matrices=False),
        sample((5, 3), full_matrices=False),
        sample((2, 4), full_matrices=False),
        sample((2, 4, 3), full_matrices=False),
    ),
)
def svd(x: Array, /, *, full_matrices: bool = True) -> SVDResult:
    """Singular value decomposition x = U @ diag(S) @ Vh of (stacks of) matrices.

    S descends.  Functions that do not depend on the choice of singular vectors have exact and
    finite gradients also where singular values coincide.
    """


__all__ = ["matmul", "matrix_transpose", "svd"]
