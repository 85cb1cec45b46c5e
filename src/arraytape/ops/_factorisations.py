"""The rules of the matrix factorisations, with their sources; ``linalg`` states the ops.

Where eigenvalues or singular values coincide, the vectors are not a function of the matrix: what
asks for their derivative gets NaN, loudly.  Values alone (eigvalsh, svdvals) are exact there.
"""

from __future__ import annotations

import math
from typing import Any

from .._engine import conjugate
from .._storage import is_complex


def adjoint(x: Any, xp: Any) -> Any:
    """Conjugate transpose."""
    return xp.matrix_transpose(conjugate(x, xp))


def symmetric(x: Any, xp: Any) -> Any:
    """The Hermitian part: the gradient with respect to a matrix of which one triangle is read."""
    return (x + adjoint(x, xp)) / 2.0


def on_diagonal(x: Any, xp: Any) -> Any:
    """True on the diagonal of square matrices as wide as x, on its device."""
    return xp.eye(x.shape[-1], dtype=xp.bool, device=x.device)


def diagonal_matrix(values: Any, xp: Any) -> Any:
    """Matrices with the given diagonals."""
    return xp.where(on_diagonal(values, xp), values[..., None, :], 0.0)


def off_diagonal(x: Any, xp: Any) -> Any:
    return xp.where(on_diagonal(x, xp), 0.0, x)


def svd(g: Any, U: Any, S: Any, Vh: Any, full_matrices: bool, xp: Any) -> Any:
    # Source: Townsend 2016, "Differentiating the singular value decomposition", with the two
    # quotients split as (P + Q) / (s_j - s_i) and (P - Q) / (s_j + s_i), so that only what truly
    # depends on the choice of vectors meets the gap; the complex gauge term: Wan & Zhang 2019,
    # "Automatic differentiation for complex valued SVD", eq. (2).
    gU, gS, gVh = g
    m, k, n = U.shape[-2], S.shape[-1], Vh.shape[-1]
    if full_matrices and m != n and (gU is not None or gVh is not None):
        raise ValueError(
            f"linalg.svd: the gradient through the full U or Vh of a matrix of shape {(m, n)} is "
            "not defined: their extra columns are no function of it. Use full_matrices=False"
        )
    U, Vh = U[..., :, :k], Vh[..., :k, :]
    inner = None if gS is None else diagonal_matrix(gS, xp)
    column, row = S[..., :, None], S[..., None, :]
    outside = None
    P = None if gU is None else adjoint(U, xp) @ gU
    Q = None if gVh is None else Vh @ adjoint(gVh, xp)
    if P is not None or Q is not None:
        zero = xp.zeros_like(P if P is not None else Q)
        left = zero if P is None else P - adjoint(P, xp)
        right = zero if Q is None else Q - adjoint(Q, xp)
        eye = on_diagonal(S, xp)
        gap = xp.where(eye, 1.0, row - column)
        turn = off_diagonal(left + right, xp) / gap
        turn = (turn + off_diagonal(left - right, xp) / xp.where(eye, 1.0, row + column)) / 2.0
        inner = turn if inner is None else inner + turn
        if is_complex(U) and P is not None:
            inner = inner + xp.where(eye, left / (2.0 * row), 0.0)
    if P is not None and m > k:
        outside = ((gU - U @ P) / row) @ Vh
    if Q is not None and n > k:
        right = U @ (adjoint(adjoint(gVh, xp) - adjoint(Vh, xp) @ Q, xp) / column)
        outside = right if outside is None else outside + right
    whole = U @ inner @ Vh
    return (whole if outside is None else whole + outside,)


def svdvals(g: Any, x: Any, xp: Any) -> Any:
    U, _, Vh = xp.linalg.svd(x, full_matrices=False)
    return (U * g[..., None, :]) @ Vh


def eigh(g: Any, eigenvalues: Any, eigenvectors: Any, xp: Any) -> Any:
    # Source: Giles 2008, "Collected matrix derivative results", sec. 3.1.
    values, vectors = g
    inner = 0.0 if values is None else diagonal_matrix(values, xp)
    if vectors is not None:
        gap = eigenvalues[..., None, :] - eigenvalues[..., :, None]
        gap = xp.where(on_diagonal(gap, xp), 1.0, gap)
        inner = inner + off_diagonal(adjoint(eigenvectors, xp) @ vectors, xp) / gap
    return (symmetric(eigenvectors @ inner @ adjoint(eigenvectors, xp), xp),)


def eigvalsh(g: Any, x: Any, xp: Any) -> Any:
    vectors = xp.linalg.eigh(x)[1]
    return symmetric((vectors * g[..., None, :]) @ adjoint(vectors, xp), xp)


def eig(g: Any, eigenvalues: Any, eigenvectors: Any, xp: Any) -> Any:
    # Source: Boeddeker et al. 2017, "On the computation of complex-valued gradients with
    # application to statistically optimum beamforming", eqs. (4.60), (4.77); unit-length vectors.
    values, vectors = g
    back = adjoint(eigenvectors, xp)
    inner = 0.0 if values is None else diagonal_matrix(values, xp)
    if vectors is not None:
        turn = back @ vectors
        lengths = xp.sum(diagonal_matrix_of(turn, xp), axis=-2)
        turn = turn - (back @ eigenvectors) * xp.real(lengths)[..., None, :]
        gap = conjugate(eigenvalues[..., None, :] - eigenvalues[..., :, None], xp)
        gap = xp.where(on_diagonal(gap, xp), 1.0, gap)
        inner = inner + off_diagonal(turn, xp) / gap
    return (xp.linalg.solve(back, inner @ back),)


def diagonal_matrix_of(x: Any, xp: Any) -> Any:
    return xp.where(on_diagonal(x, xp), x, 0.0)


def eigvals(g: Any, x: Any, xp: Any) -> Any:
    back = adjoint(xp.linalg.eig(x)[1], xp)
    return xp.linalg.solve(back, g[..., :, None] * back)


def cholesky(g: Any, y: Any, upper: bool, xp: Any) -> Any:
    # Source: Murray 2016, "Differentiation of the Cholesky decomposition", eq. (9).
    L, g = (adjoint(y, xp), adjoint(g, xp)) if upper else (y, g)
    P = xp.tril(adjoint(L, xp) @ g)
    P = P - diagonal_matrix_of(P, xp) / 2.0
    back = adjoint(L, xp)
    return symmetric(xp.linalg.solve(back, adjoint(xp.linalg.solve(back, adjoint(P, xp)), xp)), xp)


def qr(g: Any, Q: Any, R: Any, mode: str, xp: Any) -> Any:
    # Source: Walter & Lehmann 2018, "Algorithmic differentiation of linear algebra functions with
    # application in optimum experimental design", sec. 4; wide matrices by splitting off the
    # columns that follow from the square part.
    gQ, gR = g
    m, n = Q.shape[-2], R.shape[-1]
    if mode == "complete" and m > n:
        raise ValueError(
            f"linalg.qr: the gradient through mode='complete' of a matrix of shape {(m, n)} is not "
            "defined: the extra columns of Q are no function of it. Use mode='reduced'"
        )
    rest = None
    gQ = xp.zeros_like(Q) if gQ is None else gQ
    gR = xp.zeros_like(R) if gR is None else gR
    if n > m:  # x = Q [R1, R2]: R2 = Q^H x2 with x2 = Q R2
        rest = Q @ gR[..., m:]
        gQ = gQ + (Q @ R[..., m:]) @ adjoint(gR[..., m:], xp)
        R, gR = R[..., :m], gR[..., :m]
    M = R @ adjoint(gR, xp) - adjoint(gQ, xp) @ Q
    lower = xp.tril(M)
    diagonal = diagonal_matrix_of(M, xp)
    if is_complex(M):
        diagonal = xp.real(diagonal) + 0j
    both = lower - diagonal_matrix_of(lower, xp)
    both = both + adjoint(both, xp) + diagonal
    left = gQ + Q @ both
    found = adjoint(xp.linalg.solve(R, adjoint(left, xp)), xp)
    return (found if rest is None else xp.concat([found, rest], axis=-1),)


def pinv(g: Any, x: Any, y: Any, xp: Any) -> Any:
    # Source: Golub & Pereyra 1973, "The differentiation of pseudo-inverses...", eq. (4.12).
    back = adjoint(y, xp)
    turned = adjoint(g, xp)
    first = back @ g @ back
    second = turned @ y @ back
    third = back @ y @ turned
    return second - x @ (y @ second) + third - (third @ y) @ x - first


def det(g: Any, x: Any, xp: Any) -> Any:
    return g[..., None, None] * conjugate(xp.cofactors(x), xp)


def cofactors(g: Any, x: Any, xp: Any) -> Any:
    # The second derivative of the determinant, which is linear in each row and each column: of a
    # diagonal matrix along A and B, the sum over i != j of the product of the others than i and j
    # times (A_ii B_jj - A_ij B_ji); of any other by x = U S Vh.
    U, S, Vh = xp.linalg.svd(x)
    eye = on_diagonal(S, xp)
    columns = xp.arange(S.shape[-1], device=x.device)
    skipped = xp.where(eye, 1.0, S[..., None, :])
    before = xp.cumulative_prod(skipped, axis=-1, include_initial=True)[..., :-1]
    after = xp.prod(xp.where(columns[:, None] < columns, S[..., None, :], 1.0), axis=-1)
    pairs = xp.triu(before * after[..., None, :], k=1)
    pairs = pairs + xp.matrix_transpose(pairs)
    turned = xp.matrix_transpose(U) @ g @ xp.matrix_transpose(Vh)
    others = xp.sum(pairs * xp.sum(diagonal_matrix_of(turned, xp), axis=-1)[..., None, :], axis=-1)
    inner = diagonal_matrix(others, xp) - pairs * xp.matrix_transpose(turned)
    phase = conjugate(xp.linalg.det(U) * xp.linalg.det(Vh), xp)
    return phase[..., None, None] * (U @ inner @ Vh)


def slogdet(g: Any, x: Any, sign: Any, logabsdet: Any, xp: Any) -> Any:
    gs, gl = g
    scale: Any = 0.0 if gl is None else gl
    if gs is not None and is_complex(x):
        # sign turns by the imaginary part of the trace of x^-1 dx.
        scale = scale - xp.imag(conjugate(gs, xp) * sign) * 1j
    elif gl is None:
        return (xp.zeros_like(x),)
    # The slope of log |0| is infinite, which a quotient says to second order, too; the sign of 0
    # does not turn.
    singular = logabsdet == -math.inf
    steep: Any = 0.0
    if gl is not None:
        steep = (gl / xp.exp(xp.where(singular, logabsdet, 0.0)))[..., None, None]
    singular = singular[..., None, None]
    regular = xp.where(singular, xp.eye(x.shape[-1], dtype=x.dtype, device=x.device), x)
    found = scale[..., None, None] * adjoint(xp.linalg.inv(regular), xp)
    return (xp.where(singular, steep, found),)
