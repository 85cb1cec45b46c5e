"""Differentiate QR, RQ, SVD and polar factorisations, null spaces and ranges of scipy.linalg.

unread : a rule's masks of the elements of its results that the target does not read, or None.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

import arraytape

from ..._util.array_types import Namespace, RawArray
from ..._util.errors import short_repr, user_line
from ...ops import _factorisations as rules
from ...ops import _spectral as spectral
from ...ops._factorisations import NAN, NONE_UNREAD, adjoint, largest_abs
from .._facades import no_rule
from .._ops import library_op
from .._plain import ArrayInput, Cotangents, NumpyData
from .._recorded import function_op, operand_of, recorded_function
from .._statements import hooks


def nan_where_used(found: RawArray, extra: RawArray | None, xp: Namespace) -> Any:
    """Return ``found``, the cotangent of a matrix, or NaN if the target depends on an arbitrary choice.

    extra : the cotangent of columns that only complete a basis, so that SciPy may choose them; None or
    0 if the target does not depend on them.
    """
    if extra is None or 0 in extra.shape[-2:]:
        return found
    return xp.where(largest_abs(extra, (-2, -1), xp) > 0, NAN, found)


# --- QR -------------------------------------------------------------------------------------------
def qr_joint(
    g: Cotangents, Q: RawArray, R: RawArray, order: RawArray, unread: tuple[Any, ...] | None,
    xp: Namespace,
) -> Any:  # fmt: skip
    """Return the cotangent of the matrix a for its QR factorisation: Q R is a[:, order].

    g : the cotangents of Q, R and ``order``.

    The rule of ``xp.linalg.qr`` gives the cotangent of a[:, order].  If the target depends on columns
    of Q that only complete a basis, the cotangent is NaN.
    """
    gQ, gR, *_ = g
    k = min(Q.shape[-2], R.shape[-1])
    extra = None if gQ is None else gQ[..., :, k:]
    gQ = None if gQ is None else gQ[..., :, :k]
    gR = None if gR is None else xp.triu(gR)[..., :k, :]
    if gQ is None and gR is None:
        return (Q @ (0.0 * R),)
    if unread:
        unread = tuple(
            part if part is None else part[..., :k] if i == 0 else part[..., :k, :]
            for i, part in enumerate(unread[:2])
        )
    (found,) = rules.qr_vjp((gQ, gR), Q[..., :, :k], R[..., :k, :], "reduced", unread, xp)
    found = nan_where_used(found, extra, xp)
    back = xp.broadcast_to(xp.argsort(order, axis=-1)[..., None, :], found.shape)
    return (xp.take_along_axis(found, back, axis=-1),)


def qr_with_order(a: NumpyData, mode: str, pivoting: bool, check_finite: bool) -> Any:
    """Return the QR factorisation of a: Q, R and the indices ``order``, where Q R is a[:, order].

    Without pivoting the order is 0, 1, ...
    """
    found = scipy.linalg.qr(a, mode=mode, pivoting=pivoting, check_finite=check_finite)
    if pivoting:
        return found
    order = np.broadcast_to(np.arange(a.shape[-1]), (*a.shape[:-2], a.shape[-1]))
    return *found, order


qr_op = library_op(
    "scipy.linalg.qr",
    lambda a, mode="full", pivoting=False, check_finite=True: qr_with_order(
        a, mode, pivoting, check_finite
    ),
    joint=qr_joint,
    outputs=("Q", "R", "order"),
    cores=[2],
    saves=NONE_UNREAD,
)


@hooks("scipy.linalg", "qr")
def qr(
    a: ArrayInput, overwrite_a: bool = False, lwork: int | None = None, mode: str = "full",
    pivoting: bool = False, check_finite: bool = True,
) -> Any:  # fmt: skip
    if mode not in ("full", "r", "economic"):
        raise no_rule("scipy.linalg.qr", f"mode={short_repr(mode)}")
    Q, R, order = qr_op(
        operand_of(a), mode="full" if mode == "r" else mode, pivoting=pivoting,
        check_finite=check_finite,
    )  # fmt: skip
    if mode == "r" and not pivoting and R.ndim > 2:
        return R  # SciPy returns R for stacks, and the tuple (R,) for one matrix
    found = (R,) if mode == "r" else (Q, R)
    return (*found, order) if pivoting else found


def rq_joint(g: Cotangents, Q: RawArray, R: RawArray, xp: Namespace) -> Any:
    """Return the cotangent of a = R Q, given g, those of R and Q.

    It is computed by the rule of ``qr``, for a^H with reversed columns.
    """
    gR, gQ = g
    k = min(Q.shape[-1], R.shape[-2])
    extra = None if gQ is None else gQ[..., : Q.shape[-2] - k, :]

    def orthogonal(x: RawArray) -> Any:
        return xp.flip(adjoint(x, xp)[..., :, Q.shape[-2] - k :], axis=-1)

    def triangular(x: RawArray) -> Any:
        return adjoint(xp.flip(x[..., :, R.shape[-1] - k :], axis=(-2, -1)), xp)

    pull = None if gQ is None else orthogonal(gQ), None if gR is None else xp.triu(triangular(gR))
    (found,) = rules.qr_vjp(pull, orthogonal(Q), triangular(R), "reduced", None, xp)
    found = xp.flip(adjoint(found, xp), axis=-2)
    return (nan_where_used(found, extra, xp),)


rq_op = function_op(
    "scipy.linalg.rq", arrays=["a"], options=["mode"], joint=rq_joint, outputs=("R", "Q"), cores=[2]
)


@hooks("scipy.linalg", "rq")
def rq(
    a: ArrayInput, overwrite_a: bool = False, lwork: int | None = None, mode: str = "full",
    check_finite: bool = True,
) -> Any:  # fmt: skip
    if mode not in ("full", "r", "economic"):
        raise no_rule("scipy.linalg.rq", f"mode={short_repr(mode)}")
    R, Q = rq_op(operand_of(a), mode="full" if mode == "r" else mode, check_finite=check_finite)
    return R if mode == "r" else (R, Q)


# --- singular values ------------------------------------------------------------------------------
def svd_joint(
    g: Cotangents, U: RawArray, S: RawArray, Vh: RawArray, unread: tuple[Any, ...] | None,
    xp: Namespace,
) -> Any:  # fmt: skip
    """Return the cotangent of the matrix a, given the cotangents g of U, S and Vh.

    The rule of ``xp.linalg.svd`` without full matrices gives the cotangent.  A gradient that depends on
    the vectors that complete U or Vh to square matrices is NaN.
    """
    gU, gS, gVh = g
    k = S.shape[-1]
    extras = [None if gU is None else gU[..., :, k:], None if gVh is None else gVh[..., k:, :]]
    g = (
        None if gU is None else gU[..., :, :k], gS, None if gVh is None else gVh[..., :k, :]
    )  # fmt: skip
    if unread:
        dU, dS, dVh = unread
        unread = (
            None if dU is None else dU[..., :, :k], dS, None if dVh is None else dVh[..., :k, :]
        )  # fmt: skip
    (found,) = spectral.svd_vjp(g, U[..., :, :k], S, Vh[..., :k, :], False, unread, xp)
    for extra in extras:
        found = nan_where_used(found, extra, xp)
    return (found,)


svd_op = function_op(
    "scipy.linalg.svd", arrays=["a"], options=["full_matrices"], joint=svd_joint,
    outputs=("U", "S", "Vh"), cores=[2], saves=NONE_UNREAD,
)  # fmt: skip
svdvals_op = library_op(
    "scipy.linalg.svdvals",
    lambda a, check_finite=True, lapack_driver="gesdd": scipy.linalg.svd(
        a, compute_uv=False, check_finite=check_finite, lapack_driver=lapack_driver
    ),
    lambda g, a, xp: spectral.svdvals_vjp(g, a, xp),
    cores=[2],
)


@hooks("scipy.linalg", "svd")
def svd(
    a: ArrayInput, full_matrices: bool = True, compute_uv: bool = True, overwrite_a: bool = False,
    check_finite: bool = True, lapack_driver: str = "gesdd",
) -> Any:  # fmt: skip
    how = {"check_finite": check_finite, "lapack_driver": lapack_driver}
    if not compute_uv:
        return svdvals_op(operand_of(a), **how)
    return tuple(svd_op(operand_of(a), full_matrices=bool(full_matrices), **how))


@hooks("scipy.linalg", "svdvals")
def svdvals(a: ArrayInput, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    return svdvals_op(operand_of(a), check_finite=check_finite)


# --- bases of null spaces and ranges --------------------------------------------------------------
def nan_unless_rotatable(g: RawArray, Q: RawArray, xp: Namespace) -> Any:
    """Return g, the cotangent of an orthonormal basis Q; NaN if a rotation of Q changes the target.

    A rotation of Q is a basis of the same space, and SciPy may return any of these bases.
    """
    turn = adjoint(Q, xp) @ g
    turn = largest_abs(turn - adjoint(turn, xp), (-2, -1), xp)
    return xp.where(turn > largest_abs(g, (-2, -1), xp) * rules.half_the_digits(Q), NAN, g)


def null_space_rule(
    g: RawArray, A: RawArray, y: RawArray, rcond: float | None, xp: Namespace
) -> Any:
    """Return the cotangent -pinv(A)^H g y^H of A, where y is a basis of the null space of A.

    g : the cotangent of y.  rcond : SciPy's relative bound below which singular values count as 0.
    Return NaN if the target depends on the choice of the basis.
    """
    rtol = rcond if rcond is not None else float(np.finfo(A.dtype).eps) * max(A.shape[-2:])
    pseudo = xp.linalg.pinv(A, rtol=rtol)
    return -(adjoint(pseudo, xp) @ nan_unless_rotatable(g, y, xp) @ adjoint(y, xp))


recorded_function("scipy.linalg.null_space", null_space_rule, arrays=["A"], options=["rcond"])


def orth_rule(g: RawArray, A: RawArray, y: RawArray, rcond: float | None, xp: Namespace) -> Any:
    """Return the cotangent (1 - y y^H) g (pinv(A) y)^H of A, where y is a basis of the range of A.

    g : the cotangent of y.  rcond : SciPy's relative bound below which singular values count as 0.
    Return NaN if the target depends on the choice of the basis.
    """
    rtol = rcond if rcond is not None else float(np.finfo(A.dtype).eps) * max(A.shape[-2:])
    pseudo = xp.linalg.pinv(A, rtol=rtol)
    g = nan_unless_rotatable(g, y, xp)
    outside = g - y @ (adjoint(y, xp) @ g)
    return outside @ adjoint(pseudo @ y, xp)


recorded_function("scipy.linalg.orth", orth_rule, arrays=["A"], options=["rcond"])


# --- polar decompositions -------------------------------------------------------------------------
def polar_joint(
    g: Cotangents, a: RawArray, u: RawArray, p: RawArray, side: str, xp: Namespace
) -> Any:
    """Return the cotangent of a, given those of its polar factors u and p, the pair (gu, gp).

    side : "right" for a = u p, "left" for a = p u.  For a = u p it is 2 a z + gu p^-1, where z solves
    the Sylvester equation p z + z p = Hermitian part of (gp - u^H gu p^-1).
    """
    gu, gp = g
    gu = xp.zeros_like(u) if gu is None else gu
    gp = xp.zeros_like(p) if gp is None else gp
    tall = a.shape[-2] >= a.shape[-1]
    more: Any = 0.0
    if tall != (side == "right") and a.shape[-2] != a.shape[-1]:
        # p is singular.  It is u^H a (or a u^H), so its cotangent is passed on to a and u.
        right = side == "right"
        more = u @ gp if right else gp @ u
        gu = gu + (a @ adjoint(gp, xp) if right else adjoint(gp, xp) @ a)
        p = a @ adjoint(u, xp) if right else adjoint(u, xp) @ a
        gp, side = xp.zeros_like(p), "left" if right else "right"
    if side == "right":
        return (polar_right(gu, gp, a, u, p, xp) + more,)
    gu, gp, a, u, p = (adjoint(x, xp) for x in (gu, gp, a, u, p))
    return (adjoint(polar_right(gu, gp, a, u, p, xp), xp) + more,)


def polar_right(
    gu: RawArray, gp: RawArray, a: RawArray, u: RawArray, p: RawArray, xp: Namespace
) -> Any:
    from ._equations import sylvester_op

    try:
        over = adjoint(xp.linalg.solve(p, adjoint(gu, xp)), xp)  # gu p^-1
    except np.linalg.LinAlgError as error:
        raise np.linalg.LinAlgError(
            "use svd, or a matrix of full rank: the factors of scipy.linalg.polar have no derivative at "
            f"a singular matrix [at {user_line()}]"
        ) from error
    inner = rules.symmetric(gp - adjoint(u, xp) @ over, xp)
    return over + 2.0 * (a @ rules.symmetric(sylvester_op(p, p, inner), xp))


recorded_function(
    "scipy.linalg.polar", arrays=["a"], options=["side"], joint=polar_joint, outputs=("u", "p"),
    cores=[2],
)  # fmt: skip


@hooks("scipy.linalg", "orthogonal_procrustes")
def orthogonal_procrustes(A: ArrayInput, B: ArrayInput, check_finite: bool = True) -> Any:
    """Compute SciPy's ``orthogonal_procrustes`` by the recorded SVD of (B^T conj(A))^T."""
    A, B = arraytape.asarray(operand_of(A)), arraytape.asarray(operand_of(B))
    if A.shape != B.shape:
        raise ValueError(f"the shapes of A and B differ ({A.shape} vs {B.shape})")
    product = arraytape.matrix_transpose(arraytape.matrix_transpose(B) @ arraytape.conj(A))
    U, S, Vh = svd(product, check_finite=check_finite)
    return U @ Vh, arraytape.sum(S, axis=-1)
