"""Differentiate linear systems, inverses, factors and least squares of scipy.linalg.

SciPy computes the values by LAPACK, on NumPy data.  Most rules call those of the array API's functions
(``ops/_factorisations.py``), with the whole matrix that SciPy reads from its argument.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from ..._array.paths import sum_to
from ..._define.define_op import stop_gradient
from ..._record.plan import Lazy
from ..._storage.storage import conjugate
from ..._util.array_types import Namespace, RawArray
from ...ops import _factorisations as rules
from ...ops._factorisations import NAN, adjoint, largest_abs
from ...ops.indexing_functions import is_at_hand
from .._ops import LibraryOp, hide_from_warnings, library_op
from .._plain import ArrayInput, Cotangents, NumpyData
from .._recorded import operand_of, recorded_function
from .._statements import hooks
from ._structures import (
    ASSUMED,
    as_columns,
    in_shape_of_b,
    pull_structure,
    read_structure,
    with_unit_diagonal,
    without_diagonal,
)  # fmt: skip


# --- dense systems --------------------------------------------------------------------------------
def solve_rule(
    g: RawArray, a: RawArray, b: RawArray, y: RawArray, lower: bool, assume_a: str | None,
    transposed: bool, xp: Namespace,
) -> Any:  # fmt: skip
    """Return the cotangents of a and b for ``scipy.linalg.solve``: a y = b.

    g : the cotangent of the solution y.

    lower, assume_a, transposed : SciPy's options.

    Elements of a that SciPy does not read get 0.
    """
    structure = ASSUMED[assume_a]
    matrix = read_structure(a, structure, lower, xp)
    if transposed:
        matrix = xp.matrix_transpose(matrix)
    if matrix.shape[-1] == 1 and b.shape[-2 if len(b.shape) > 1 else -1] != 1:
        # SciPy divides b by the element of a 1 x 1 matrix, even if b has several rows.
        ones = (1, 1) if len(b.shape) > 1 else (1,)
        second = g / conjugate(xp.reshape(matrix, matrix.shape[:-2] + ones), xp)
        axes = tuple(range(-len(ones), 0))

        def to_number() -> Any:
            first = -xp.sum(second * conjugate(y, xp), axis=axes)[..., None, None]
            return sum_to(first, a.shape, xp)

        return Lazy(to_number), sum_to(second, b.shape, xp)
    to_matrix, second = rules.solve_vjp(g, matrix, y, b, xp)

    def to_a() -> Any:
        first = to_matrix.form()
        if transposed:
            first = xp.matrix_transpose(first)
        return pull_structure(first, structure, lower, xp)

    return Lazy(to_a), second


recorded_function(
    "scipy.linalg.solve", arrays=["a", "b"], options=["lower", "assume_a", "transposed"],
    joint=solve_rule,
)  # fmt: skip


def inv_rule(g: RawArray, y: RawArray, assume_a: str | None, lower: bool, xp: Namespace) -> Any:
    """Return the cotangent of a, given that of its inverse y, g.

    lower, assume_a : SciPy's options.  Elements of a that SciPy does not read get 0.
    """
    return pull_structure(rules.inv_vjp(g, y, xp), ASSUMED[assume_a], lower, xp)


recorded_function(
    "scipy.linalg.inv", inv_rule, arrays=["a"], options=["assume_a", "lower"], cores=[2],
    # SciPy 1.17's inverse of a "diagonal" matrix has a's own elements off the diagonal.
    refuses={"assume_a": ["diagonal"]},
)  # fmt: skip
recorded_function(
    "scipy.linalg.det", lambda g, a, xp: rules.det_vjp(g, a, xp), arrays=["a"], cores=[2]
)


# --- triangular systems, factors ------------------------------------------------------------------
def apply_trans(x: RawArray, trans: int | str, xp: Namespace) -> Any:
    """Return x, its transpose or its conjugate transpose, for SciPy's option ``trans``."""
    if trans in (0, "N"):
        return x
    return xp.matrix_transpose(x) if trans in (1, "T") else adjoint(x, xp)


def solve_triangular_rule(
    g: RawArray, a: RawArray, b: RawArray, y: RawArray, trans: int | str, lower: bool,
    unit_diagonal: bool, xp: Namespace,
) -> Any:  # fmt: skip
    """Return the cotangents of a and b for a triangular system a y = b, given that of y, g.

    trans, lower, unit_diagonal : SciPy's options.  Elements of a that SciPy does not read get 0.
    """
    structure = "lower" if lower else "upper"
    matrix = read_structure(a, structure, lower, xp)
    if unit_diagonal:
        matrix = with_unit_diagonal(matrix, xp)
    to_matrix, second = rules.solve_vjp(g, apply_trans(matrix, trans, xp), y, b, xp)

    def to_a() -> Any:
        first = pull_structure(apply_trans(to_matrix.form(), trans, xp), structure, lower, xp)
        return without_diagonal(first, xp) if unit_diagonal else first

    return Lazy(to_a), second


recorded_function(
    "scipy.linalg.solve_triangular", arrays=["a", "b"],
    options=["trans", "lower", "unit_diagonal"], joint=solve_triangular_rule,
)  # fmt: skip


def cholesky_rule(g: RawArray, y: RawArray, lower: bool, xp: Namespace) -> Any:
    """Return the cotangent of a, given that of its Cholesky factor y, g.

    lower : True if SciPy reads the lower triangle of a.  Elements of a that SciPy does not read get 0.
    """
    half = rules.cholesky_vjp(g, y, not lower, xp)
    return pull_structure(half, "hermitian", lower, xp)


recorded_function(
    "scipy.linalg.cholesky", cholesky_rule, arrays=["a"], options=["lower"], cores=[2]
)


# True if the triangle of cho_factor's result that is not the factor has elements of a.  It has zeros
# from SciPy 1.18 on.
OTHER_TRIANGLE_STAYS = bool(scipy.linalg.cho_factor(np.asarray([[4.0, 1.0], [2.0, 5.0]]))[0][1, 0])


def cho_factor_rule(g: RawArray, y: RawArray, lower: bool, xp: Namespace) -> Any:
    """Return the cotangent of a, given g, that of the result y of ``cho_factor``.

    One triangle of y is the Cholesky factor: see ``cholesky_rule``.  Some versions of SciPy copy the
    other triangle from a, where the cotangent is g.  lower : True if SciPy reads the lower triangle of
    a.
    """
    kept, other = (xp.tril, xp.triu) if lower else (xp.triu, xp.tril)
    factor = cholesky_rule(kept(g), kept(y), lower, xp)
    return factor + other(g, k=1 if lower else -1) if OTHER_TRIANGLE_STAYS else factor


cho_factor_op = library_op(
    "scipy.linalg.cho_factor",
    lambda a, lower=False, check_finite=True: scipy.linalg.cho_factor(
        a, lower, check_finite=check_finite
    )[0],
    cho_factor_rule,
    cores=[2],
)


@hooks("scipy.linalg", "cho_factor")
def cho_factor(
    a: ArrayInput, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    return cho_factor_op(operand_of(a), lower=bool(lower), check_finite=check_finite), lower


def cho_solve_rule(
    g: RawArray, c: RawArray, b: RawArray, y: RawArray, lower: bool, xp: Namespace
) -> Any:
    """Return the cotangents of c and b for L L^H y = b, where c is the Cholesky factor L.

    With the solution u of L L^H u = g, they are -(u y^H + y u^H) L and u.  g : the cotangent of y.
    lower : True if c holds L in its lower triangle.
    """
    g, y = as_columns(b, g, y)
    u = cho_solve_op(c, g, lower=lower)

    def to_c() -> Any:
        first = -(u @ adjoint(y, xp) + y @ adjoint(u, xp))
        first = xp.tril(first @ xp.tril(c)) if lower else xp.triu(xp.triu(c) @ first)
        return sum_to(first, c.shape, xp)

    return Lazy(to_c), in_shape_of_b(u, b, xp)


cho_solve_op = recorded_function(
    "scipy.linalg.cho_solve", arrays=["c", "b"], options=["lower"],
    packed={"c_and_lower": ["c", "lower"]}, joint=cho_solve_rule,
)  # fmt: skip


# --- LU -------------------------------------------------------------------------------------------
def permutations(pivots: NumpyData) -> Any:
    """Convert LAPACK's pivots of an LU factorisation to a permutation p.

    The pivots are row exchanges, one after the other.  Row i of L U is row p[i] of the matrix.
    """
    found = np.broadcast_to(np.arange(pivots.shape[-1]), pivots.shape).copy()
    for one, swaps in zip(
        found.reshape(-1, found.shape[-1]), pivots.reshape(-1, pivots.shape[-1]), strict=True
    ):
        for i, j in enumerate(swaps):
            one[[i, j]] = one[[j, i]]
    return found


def to_matrix_order(x: RawArray, rows: RawArray, xp: Namespace) -> Any:
    """Move row i of x to row ``rows[i]``: from the order of the factors L U to that of the matrix."""
    order = xp.argsort(rows, axis=-1)
    return xp.take_along_axis(x, xp.broadcast_to(order[..., None], x.shape), axis=-2)


def to_factor_order(x: RawArray, rows: RawArray, xp: Namespace) -> Any:
    """Move row ``rows[i]`` of x to row i: from the order of the matrix to that of the factors L U."""
    return xp.take_along_axis(x, xp.broadcast_to(rows[..., None], x.shape), axis=-2)


def lu_rule(g: Cotangents, lower: RawArray, upper: RawArray, rows: RawArray, xp: Namespace) -> Any:
    """Return the cotangent of a, given the cotangents gL and gU of its factors: L U = a[rows].

    For a square matrix the cotangent is L^-H (tril(L^H gL, -1) + triu(gU U^H)) U^-H, with its rows in
    the order of a.
    """
    gL, gU = g
    k = lower.shape[-1]
    gL, gU = xp.tril(gL, k=-1), xp.triu(gU)
    L, U = lower[..., :k, :], upper[..., :, :k]
    below, beside = lower.shape[-2] > k, upper.shape[-1] > k
    solve = xp.linalg.solve
    head, right = gL[..., :k, :], gU[..., :, :k]
    if below:  # the rows of L below its square part are L2 = A2 U^-1
        foot = adjoint(solve(U, adjoint(gL[..., k:, :], xp)), xp)
        right = right - xp.triu(adjoint(lower[..., k:, :], xp) @ foot)
    if beside:  # the columns of U beyond its square part are U2 = L^-1 A2
        side = solve(adjoint(L, xp), gU[..., :, k:])
        head = head - xp.tril(side @ adjoint(upper[..., :, k:], xp), k=-1)
    middle = xp.tril(adjoint(L, xp) @ head, k=-1) + xp.triu(right @ adjoint(U, xp))
    found = solve(adjoint(L, xp), adjoint(solve(U, adjoint(middle, xp)), xp))
    if beside:
        found = xp.concat([found, side], axis=-1)
    if below:
        found = xp.concat([found, foot], axis=-2)
    return (to_matrix_order(found, rows, xp),)


def lu_joint(g: Cotangents, lower: RawArray, upper: RawArray, rows: RawArray, xp: Namespace) -> Any:
    gL, gU, _ = g
    gL = xp.zeros_like(lower) if gL is None else gL
    gU = xp.zeros_like(upper) if gU is None else gU
    return lu_rule((gL, gU), lower, upper, rows, xp)


lu_op = library_op(
    "scipy.linalg.lu", lambda a, check_finite=True: lu_with_rows(a, check_finite), joint=lu_joint,
    outputs=("lower", "upper", "rows"), cores=[2],
)  # fmt: skip


@hide_from_warnings
def lu_with_rows(a: NumpyData, check_finite: bool) -> Any:
    """Return the LU factorisation of a: L, U and the indices ``rows``, where L U is a[rows].

    SciPy's own indices are the inverse permutation.
    """
    indices, lower, upper = scipy.linalg.lu(a, p_indices=True, check_finite=check_finite)
    return lower, upper, np.argsort(indices, axis=-1)


@hooks("scipy.linalg", "lu")
def lu(
    a: ArrayInput, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True,
    p_indices: bool = False,
) -> Any:  # fmt: skip
    import arraytape as xp

    lower, upper, rows = lu_op(operand_of(a), check_finite=check_finite)
    if permute_l:
        return to_matrix_order(lower, rows, xp), upper
    indices = xp.argsort(rows, axis=-1)
    if p_indices:
        return indices, lower, upper
    one = xp.eye(rows.shape[-1], dtype=np.zeros(0, lower.dtype).real.dtype)
    ones = xp.broadcast_to(one, rows.shape + rows.shape[-1:])
    return to_matrix_order(ones, rows, xp), lower, upper


def lu_factor_joint(g: Cotangents, lu: RawArray, rows: RawArray, xp: Namespace) -> Any:
    gLU, *_ = g
    if gLU is None:
        return (xp.zeros_like(lu),)
    k = min(lu.shape[-2:])
    lower = xp.tril(lu, k=-1)[..., :, :k]
    lower = lower + xp.eye(*lower.shape[-2:], dtype=lower.dtype, device=lower.device)
    upper = xp.triu(lu)[..., :k, :]
    return lu_rule((gLU[..., :, :k], gLU[..., :k, :]), lower, upper, rows, xp)


@hide_from_warnings
def lu_factor_with_rows(a: NumpyData, check_finite: bool) -> Any:
    lu, pivots = scipy.linalg.lu_factor(a, check_finite=check_finite)
    n = a.shape[-2]
    swaps = np.broadcast_to(np.arange(n), (*pivots.shape[:-1], n)).copy()
    swaps[..., : pivots.shape[-1]] = pivots
    return lu, pivots, permutations(swaps)


lu_factor_op = library_op(
    "scipy.linalg.lu_factor", lambda a, check_finite=True: lu_factor_with_rows(a, check_finite),
    joint=lu_factor_joint, outputs=("lu", "pivots", "rows"), cores=[2],
)  # fmt: skip


@hooks("scipy.linalg", "lu_factor")
def lu_factor(a: ArrayInput, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    lu, pivots, _ = lu_factor_op(operand_of(a), check_finite=check_finite)
    return lu, pivots


def lu_solve_joint(
    g: Cotangents, lu: RawArray, pivots: RawArray, b: RawArray, y: RawArray, rows: RawArray, trans: int,
    xp: Namespace,
) -> Any:  # fmt: skip
    """Return the cotangents of lu and b for ``lu_solve``, which solves a system by its LU factors.

    The cotangent of b is u, the solution of the adjoint system for the cotangent of y.  For trans=0,
    the product L U has the cotangent -u y^H, from which the product rule yields those of L and U.
    g : the cotangents of the results.  lu : the factors L and U in one matrix.  y : the solution.
    rows : row i of L U is row ``rows[i]`` of the system's matrix.
    """
    g, y = as_columns(b, g[0], y)
    if trans == 1:
        u = conjugate(lu_solve_op(lu, pivots, conjugate(g, xp), trans=0)[0], xp)
    else:
        u = lu_solve_op(lu, pivots, g, trans=2 - trans)[0]

    def to_lu() -> Any:
        to_matrix = -(y @ adjoint(u, xp) if trans == 2 else u @ adjoint(y, xp))
        if trans == 1:
            to_matrix = xp.matrix_transpose(to_matrix)
        moved = to_factor_order(to_matrix, xp.broadcast_to(rows, to_matrix.shape[:-1]), xp)
        lower = with_unit_diagonal(xp.tril(lu), xp)
        first = xp.tril(moved @ adjoint(xp.triu(lu), xp), k=-1)
        first = first + xp.triu(adjoint(lower, xp) @ moved)
        return sum_to(first, lu.shape, xp)

    return Lazy(to_lu), None, in_shape_of_b(u, b, xp)


lu_solve_op = library_op(
    "scipy.linalg.lu_solve",
    lambda lu, pivots, b, trans=0, check_finite=True: (
        scipy.linalg.lu_solve((lu, pivots), b, trans, check_finite=check_finite),
        permutations(pivots),
    ),
    joint=lu_solve_joint,
    outputs=("y", "rows"),
)


@hooks("scipy.linalg", "lu_solve")
def lu_solve(
    lu_and_piv: tuple[ArrayInput, ArrayInput], b: ArrayInput, trans: int = 0, overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    lu, pivots = lu_and_piv
    return lu_solve_op(
        operand_of(lu), operand_of(pivots), operand_of(b), trans=trans, check_finite=check_finite
    )[0]


# --- least squares, pseudo-inverses ---------------------------------------------------------------
def nan_if_cut(found: RawArray, a: RawArray, pseudo: RawArray, xp: Namespace) -> Any:
    """Return ``found``, the cotangent of a matrix a by a rule, or NaN if the rule does not hold for a.

    The rule does not hold if ``pseudo``, the pseudo-inverse of a, ignores nonzero singular values.
    """
    rest = largest_abs(a @ (pseudo @ a) - a, (-2, -1), xp)
    cut = rest > largest_abs(a, (-2, -1), xp) * rules.half_the_digits(a)
    return xp.where(cut, NAN, found)


def pseudo_inverse_op(name: str, structure: str) -> LibraryOp:
    """Return the op of ``pinv`` or ``pinvh``, whose results are the pseudo-inverse and the rank.

    name : SciPy's function.  structure : "general", or "hermitian" if the function reads one triangle.
    """

    def pinv_joint(g: Cotangents, a: RawArray, y: RawArray, lower: bool, xp: Namespace) -> Any:
        """Return the cotangent of a, given those of the pseudo-inverse y and the rank, g.

        lower : True if SciPy reads the lower triangle.  Elements of a that SciPy does not read get 0.
        """
        pull, _ = g
        if pull is None:
            return (xp.zeros_like(a),)
        matrix = read_structure(a, structure, lower, xp)
        found = nan_if_cut(rules.pinv_vjp(pull, matrix, y, xp), matrix, y, xp)
        return (pull_structure(found, structure, lower, xp),)

    def pinv_forward(
        a: NumpyData, lower: bool = True, atol: float | None = None, rtol: float | None = None,
        check_finite: bool = True,
    ) -> Any:  # fmt: skip
        triangle = {"lower": lower} if structure == "hermitian" else {}
        return getattr(scipy.linalg, name)(
            a, atol=atol, rtol=rtol, return_rank=True, check_finite=check_finite, **triangle
        )

    return library_op(
        f"scipy.linalg.{name}", pinv_forward, joint=pinv_joint, outputs=("y", "rank"), cores=[2]
    )


pinv_op, pinvh_op = pseudo_inverse_op("pinv", "general"), pseudo_inverse_op("pinvh", "hermitian")


@hooks("scipy.linalg", "pinv")
def pinv(a: ArrayInput, *, return_rank: bool = False, **options: Any) -> Any:
    y, rank = pinv_op(operand_of(a), **options)
    return (y, rank) if return_rank else y


@hooks("scipy.linalg", "pinvh")
def pinvh(
    a: ArrayInput, atol: float | None = None, rtol: float | None = None, lower: bool = True,
    return_rank: bool = False, check_finite: bool = True,
) -> Any:  # fmt: skip
    y, rank = pinvh_op(operand_of(a), atol=atol, rtol=rtol, lower=lower, check_finite=check_finite)
    return (y, rank) if return_rank else y


def lstsq_joint(
    g: Cotangents, a: RawArray, b: RawArray, x: RawArray, residues: RawArray, cond: float | None,
    xp: Namespace,
) -> Any:  # fmt: skip
    """Return the cotangents of a and b for ``lstsq``, given those of its results, g.

    cond : SciPy's option, the ratio below which singular values count as 0.

    The solution x is pinv(a) b, whose derivative is in Golub and Pereyra 1973, eq. (4.12).  x minimises
    the residues |b - a x|^2, so their derivative with respect to x is 0.
    """
    gx, to_residues, _, *to_values = g
    right, x = as_columns(b, b, x)
    rtol = cond if cond is not None else float(np.finfo(x.dtype).eps)
    pseudo = xp.linalg.pinv(a, rtol=rtol)
    left = right - a @ x
    to_b: Any = xp.zeros_like(left)
    u = pull = None
    if gx is not None:
        (gx,) = as_columns(b, gx)
        u = adjoint(pseudo, xp) @ gx
        to_b = to_b + u
    if to_residues is not None and residues.shape[-1:] != (0,):
        # The residues are real numbers, but in some versions of SciPy their dtype is complex.
        if xp.isdtype(to_residues.dtype, "complex floating"):
            to_residues = xp.real(to_residues)
        (to_residues,) = as_columns(b, to_residues)
        pull = 2.0 * left * to_residues[..., None, :]
        to_b = to_b + pull

    def to_a() -> Any:
        found: Any = 0.0
        if u is not None:
            found = found - u @ adjoint(x, xp) + left @ adjoint(pseudo @ u, xp)
            outside = gx - pseudo @ (a @ gx)
            found = found + (adjoint(pseudo, xp) @ x) @ adjoint(outside, xp)
        if pull is not None:
            found = found - pull @ adjoint(x, xp)
        if to_values and to_values[0] is not None:
            U, _, Vh = xp.linalg.svd(a, full_matrices=False)
            found = found + (U * to_values[0][..., None, :]) @ Vh
        return sum_to(nan_if_cut(found, a, pseudo, xp), a.shape, xp)

    return Lazy(to_a), in_shape_of_b(to_b, b, xp)


def lstsq_of(*outputs: str) -> LibraryOp:
    """Return an op that runs SciPy's ``lstsq``.

    outputs : the names of its results, which depend on the option ``lapack_driver``.

    The driver gelsy returns no singular values.
    """
    return library_op(
        "scipy.linalg.lstsq",
        lambda a, b, cond=None, check_finite=True, lapack_driver=None: scipy.linalg.lstsq(
            a, b, cond, check_finite=check_finite, lapack_driver=lapack_driver
        )[: len(outputs)],
        joint=lstsq_joint,
        outputs=outputs,
    )


LSTSQ = {
    "gelsy": lstsq_of("x", "residues", "rank"),
    "others": lstsq_of("x", "residues", "rank", "values"),
}


@hooks("scipy.linalg", "lstsq")
def lstsq(
    a: ArrayInput, b: ArrayInput, cond: float | None = None, overwrite_a: bool = False,
    overwrite_b: bool = False, check_finite: bool = True, lapack_driver: str | None = None,
) -> Any:  # fmt: skip
    driver = lapack_driver or scipy.linalg.lstsq.default_lapack_driver
    op = LSTSQ["gelsy" if driver == "gelsy" else "others"]
    found = op(
        operand_of(a), operand_of(b), cond=cond, check_finite=check_finite, lapack_driver=lapack_driver,
    )  # fmt: skip
    x, residues, rank = found[:3]
    rank = stop_gradient(rank)
    if rank.ndim == 0 and is_at_hand(rank._data):
        rank = int(rank)
    return x, residues, rank, found[3] if len(found) > 3 else None
