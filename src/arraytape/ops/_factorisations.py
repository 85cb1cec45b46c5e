"""The derivative rules of the ops in ``linalg``, such as solve, cholesky, qr and det, with references.

The rules of singular values, eigenvalues and their vectors are in ``_spectral``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._array.array import Array
from .._array.paths import sum_to
from .._array.views import current, keep_data
from .._record.plan import Lazy
from .._storage import factors
from .._storage.factors import is_large_matrix, may_be_known, through_cholesky
from .._storage.standard import Axis
from .._storage.storage import conjugate, is_complex
from .._util.array_types import Namespace, RawArray
from .._util.errors import see, user_line
from .elementwise_functions import flat_at_tip

NAN = float("nan")
Cotangents = tuple[Any, ...]  # one for each result, None for a result without a cotangent
Unread = tuple[Any, ...] | None  # the type of the parameter ``unread`` of rules, which follows
# The argument ``saves`` of ops whose rules need to know which elements of the results the target never
# reads.  Rules receive this information as ``unread``.  In an ordinary pass it is None.  In the guarded
# pass (a backward pass that runs after a NaN) it is a tuple with a mask for each result, None for a
# result without a cotangent.  In forward mode, where later reads are unknown, it is the empty tuple.
NONE_UNREAD: dict[str, Any] = {"unread": lambda: None}
# The argument ``saves`` of ops whose rules divide by gaps.  In the guarded pass (the rerun after a NaN),
# rules receive an object as ``limits``, which computes the limits of quotients where values coincide;
# otherwise None.
NO_LIMITS: dict[str, Any] = NONE_UNREAD | {"limits": lambda: None}


def adjoint(x: RawArray, xp: Namespace) -> Any:
    """Return the conjugate transpose."""
    return xp.matrix_transpose(conjugate(x, xp))


def symmetric(x: RawArray, xp: Namespace) -> Any:
    """Return the Hermitian part of x, ``(x + x^H) / 2``."""
    return (x + adjoint(x, xp)) / 2.0


def to_triangle(g: RawArray, across: RawArray, lower: bool, xp: Namespace) -> Any:
    """Return the cotangent of a matrix of which an op such as cholesky reads one triangle.

    The op computes with the Hermitian (or symmetric) matrix of this triangle, in which an element off
    the diagonal stands twice.  So the element gets the sum of both cotangents, and the other triangle 0.

    g : the cotangent of the Hermitian or symmetric matrix.
    across : the adjoint of g if the matrix is Hermitian, or the transpose of g if it is symmetric.
    lower : True if the op reads the lower triangle, False if it reads the upper one.
    """
    both = g + across
    both = xp.where(on_diagonal(g, xp), both / 2.0, both)
    return xp.tril(both) if lower else xp.triu(both)


def to_lower(g: RawArray, xp: Namespace) -> Any:
    """Return the cotangent of a matrix of which an op such as eigh reads only the lower triangle.

    g : the cotangent of the Hermitian matrix that has this lower triangle.
    """
    return to_triangle(g, adjoint(g, xp), True, xp)


def on_diagonal(x: RawArray, xp: Namespace) -> Any:
    """Return a boolean identity matrix with as many columns as x, on the device of x."""
    return xp.eye(x.shape[-1], dtype=xp.bool, device=x.device)


def diagonal_matrix(values: RawArray, xp: Namespace) -> Any:
    return xp.where(on_diagonal(values, xp), values[..., None, :], 0.0)


def diagonal_part(x: RawArray, xp: Namespace) -> Any:
    return xp.where(on_diagonal(x, xp), x, 0.0)


def epsilon(x: RawArray) -> float:
    """Return the machine epsilon of the dtype of x."""
    return float(np.finfo(x.dtype).eps)


def half_the_digits(x: RawArray) -> float:
    """Return sqrt(epsilon), the relative bound below which a number counts as a rounding error."""
    return epsilon(x) ** 0.5


def largest_abs(x: RawArray, axis: int | tuple[int, ...] | None, xp: Namespace) -> Any:
    """Return the largest absolute value along axes, or 0 for no elements.

    The axes keep length 1.  Only with axis=None does the result have no axes.
    """
    if axis is None:
        return xp.max(xp.abs(x)) if math.prod(x.shape) else xp.sum(xp.abs(x))
    axes = (axis,) if isinstance(axis, int) else axis
    reduce = xp.max if all(x.shape[a] for a in axes) else xp.sum
    return reduce(xp.abs(x), axis=axes, keepdims=True)


def first_order(x: RawArray, zero: RawArray, values: RawArray, xp: Namespace) -> Any:
    """Return x, but with a derivative of NaN where ``zero`` is True, for a derivative rule.

    x : quotients that the rule computes.  zero : a mask of those whose divisor, computed from
    ``values``, is a rounding error.  There the rule itself is exact, but its own derivative would be
    wrong.

    A factor 1 + sqrt(0 * values) makes the derivative with respect to ``values`` NaN: infinity times 0.
    It is a factor, not a term, because forward mode differentiates rules with respect to their
    cotangents, and drops terms that do not depend on these.
    """
    return xp.where(zero, x * (1.0 + xp.sqrt(xp.where(zero, 0.0 * values, 1.0))), x)


# --- factors that rules use again ----------------------------------------------------------------
# Ops list these functions in their argument ``saves``, so that they run when the op is recorded.  They
# return None, so that the record saves nothing.
def remember_cholesky(x: RawArray, y: RawArray, upper: bool, handles: Sequence[Array]) -> None:
    if not upper and may_be_known(x):
        remember_factors("cholesky", (x, y), handles)


def remember_eigh(
    x: RawArray, eigenvalues: RawArray, eigenvectors: RawArray, handles: Sequence[Array]
) -> None:
    if is_large_matrix(x):
        remember_factors("eigh", (x, eigenvalues, eigenvectors), handles)


def remember_svd(
    x: RawArray, U: RawArray, S: RawArray, Vh: RawArray, handles: Sequence[Array]
) -> None:
    if is_large_matrix(x):
        remember_factors("svd", (x, U, S, Vh), handles)


def remember_factors(op: str, data: tuple[Any, ...], handles: Sequence[Array]) -> None:
    """Cache the results of an op on a matrix, for rules that would factorize the matrix again.

    op : the name of the op, such as "cholesky".
    data : the matrix and its factors, as raw data.  handles : these as Arrays.

    ``keep_data`` makes a later write to an Array copy its data first, so that the factors still fit the
    matrix.  If ``keep_data`` has to copy the data at once, cache nothing.
    """
    if all(keep_data(x) is d for x, d in zip(handles, data, strict=True)):
        factors.remember(op, *data)


# --- the rules ----------------------------------------------------------------------------------
def solve_vjp(g: RawArray, x1: RawArray, y: RawArray, x2: RawArray, xp: Namespace) -> Any:
    """Return the cotangents of x1 and x2, -u @ y^H and u, with u = solve(x1^H, g) for a gradient g
    of the result y.
    Source: Giles 2008, "An extended collection of matrix derivative results for forward and
    reverse mode automatic differentiation", sec. 2.3.1.

    These are the cotangents for y = solve(x1, x2).
    """
    return solve_again_vjp(g, x1, y, x2, False, xp)


def solve_again_vjp(
    g: RawArray, x1: RawArray, y: RawArray, x2: RawArray, adjoint: bool, xp: Namespace
) -> Any:
    """Return the cotangents of x1 and x2 for the solution y of x1 @ y = x2, as ``solve_vjp`` does.
    If ``adjoint``, y solves x1^H @ y = x2, and the cotangents are -y @ u^H and u with u = solve(x1, g).

    Like the op ``solve_again``, the rule reuses cached factors of x1.
    """
    vector = len(x2.shape) == 1
    columns = xp.solve_again(x1, g[..., None] if vector else g, adjoint=not adjoint)
    y = y[..., None] if vector else y
    second = columns[..., 0] if vector else columns
    left, right = (y, columns) if adjoint else (columns, y)

    def first() -> Any:
        across = conjugate(xp.matrix_transpose(right), xp)
        # For one column, broadcasting the product takes a fifth of the time of matmul.
        product = -left * across if left.shape[-1] == 1 else -left @ across
        return sum_to(product, x1.shape, xp)

    return Lazy(first), sum_to(second, x2.shape, xp)


def cholesky_vjp_lower(g: RawArray, y: RawArray, upper: bool, xp: Namespace) -> Any:
    """Return the lower triangle of H + H^H with half its diagonal, and 0 in the upper triangle, where H
    = L^-H @ P @ L^-1 and P is the lower triangle of L^H @ g with half its diagonal.
    Source: Murray 2016, "Differentiation of the Cholesky decomposition", sec. 3.

    It is the cotangent of x for the cotangent g of y = cholesky(x), which reads the lower triangle of x.
    """
    return to_lower(cholesky_vjp(g, y, upper, xp), xp)


def cholesky_vjp(g: RawArray, y: RawArray, upper: bool, xp: Namespace) -> Any:
    """Return the cotangent of a Hermitian matrix with the Cholesky factor y, whose cotangent is g.

    That is the Hermitian part of L^-H @ P @ L^-1 for the lower factor L.  P is the lower triangle of
    L^H @ g with half its diagonal.
    """
    L, g = (adjoint(y, xp), adjoint(g, xp)) if upper else (y, g)
    found = through_cholesky(g, L)
    return cholesky_by_systems(g, L, y, upper, xp) if found is None else found


def cholesky_by_systems(g: RawArray, L: RawArray, y: RawArray, upper: bool, xp: Namespace) -> Any:
    """Return the cotangent of a Hermitian matrix by matrix products and triangular systems.

    L, g : the matrix's lower Cholesky factor and the cotangent of L.  y : L, or its adjoint if
    ``upper``.
    """
    P = xp.tril(adjoint(L, xp) @ g)
    P = P - diagonal_part(P, xp) / 2.0
    half = adjoint(xp.solve_again(y, adjoint(P, xp), adjoint=not upper), xp)
    return symmetric(xp.solve_again(y, half, adjoint=not upper), xp)


def qr_vjp(g: Cotangents, Q: RawArray, R: Any, mode: str, unread: Unread, xp: Namespace) -> Any:
    """Return the cotangent of x, (gQ + Q @ copyltu(M)) @ R^-H, with M = R @ gR^H - gQ^H @ Q for
    gradients gQ and gR.  copyltu(M) is the Hermitian matrix with the lower triangle of M.
    For wide matrices the formula is that of the square part; the other columns depend on it.
    Source: Walter & Lehmann 2010, "Algorithmic differentiation of linear algebra functions with
    application in optimum experimental design", in the form of Seeger et al. 2017,
    "Auto-differentiating linear algebra".

    g : the pair (gQ, gR).  mode : the argument of qr.
    unread : True for elements of the results that the target never reads; () in forward mode.
    """
    gQ, gR = g
    m, n = Q.shape[-2], R.shape[-1]
    if mode == "complete" and m > n:
        if gQ is not None:
            gQ = fold_complement(
                gQ, Q, n, unread == (), f"linalg.qr of a matrix of shape {(m, n)}", xp
            )
        Q, R = Q[..., :n], R[..., :n, :]
        gR = None if gR is None else gR[..., :n, :]  # the other rows of R are always 0
        if unread and unread[1] is not None:
            unread = (unread[0], unread[1][..., :n, :])
    rest = None
    alone = gR is None
    gQ = xp.zeros_like(Q) if gQ is None else gQ
    gR = xp.zeros_like(R) if gR is None else gR
    # A wide x is [x1, x2] = Q @ [R1, R2] with a square x1.  R2 is Q^H @ x2, a function of Q and x2.
    if n > m:
        rest = Q @ gR[..., m:]
        gQ = gQ + (Q @ R[..., m:]) @ adjoint(gR[..., m:], xp)
        R, gR = R[..., :m], gR[..., :m]
    M = R @ adjoint(gR, xp) - adjoint(gQ, xp) @ Q
    lower = xp.tril(M)
    diagonal = diagonal_part(M, xp)
    if is_complex(M):
        diagonal = xp.real(diagonal) + 0j
    both = lower - diagonal_part(lower, xp)
    both = both + adjoint(both, xp) + diagonal
    left = gQ + Q @ both
    # In forward mode later ops may use all of Q, also a column where R's diagonal is 0, which is not
    # determined: the solve makes its tangent NaN.
    if unread == ():
        free = on_diagonal(R, xp) & (R == 0)
        found = adjoint(xp.solve_again(xp.where(free, NAN, R), adjoint(left, xp)), xp)
    else:
        read = on_diagonal(R, xp)
        if alone:
            read = read & False
        elif unread and unread[1] is not None:
            read = read & ~unread[1][..., : R.shape[-1]]
        scale = largest_abs(gQ, (-2, -1), xp) + largest_abs(left, (-2, -1), xp)
        found = solve_deficient_triangle(left, R, xp.any(read, axis=-2, keepdims=True), scale, xp)
    return (found if rest is None else xp.concat([found, rest], axis=-1),)


def solve_deficient_triangle(
    left: RawArray, R: RawArray, read: RawArray, scale: RawArray, xp: Namespace
) -> Any:
    """Return left @ R^-H for the rule of x = Q @ R, where the diagonal of R may have zeros.

    A zero belongs to a column of x that depends linearly on earlier ones.  The same column of Q is then
    arbitrary.  Its cotangent consists of rounding errors, and is left out, if the target does not depend
    on it.  Otherwise the result is NaN.  The result is also NaN if the target reads the zero, as Q @ R
    does, because it may scale the column of Q by the zero.

    left : the cotangent before the division by R.  R : the upper triangular factor.
    read : True for columns whose diagonal element of R the target may read.
    scale : the size of the cotangents, to which rounding errors are compared.
    """
    size = xp.sqrt(xp.sum(xp.abs(R) ** 2, axis=-2, keepdims=True)) * (R.shape[-1] * epsilon(R))
    short = xp.sum(xp.abs(diagonal_part(R, xp)), axis=-2, keepdims=True) <= size
    eye = xp.astype(on_diagonal(R, xp), R.dtype)
    regular = xp.where(xp.matrix_transpose(short), eye, R)
    kept = xp.where(short, 0.0, left)
    found = adjoint(xp.solve_again(regular, adjoint(kept, xp)), xp)
    over = largest_abs(left - found @ adjoint(R, xp), -2, xp) > scale * half_the_digits(R)
    doubt = xp.any(short & (read | over), axis=-1, keepdims=True)
    return first_order(xp.where(doubt, NAN, found), short & ~doubt, size, xp)


def fold_complement(g: RawArray, Q: RawArray, k: int, blind: bool, what: str, xp: Namespace) -> Any:
    """Return the cotangent of the first k columns of a unitary Q, given the cotangent g of all columns.

    The rules of the complete modes of qr and svd need it: they know the derivative of these columns Q1
    only.  The other columns Q2 are an arbitrary basis of the rest of the space, and change with Q1: dQ2
    = -Q1 @ dQ1^H @ Q2.  This is exact if the target depends only on the space that Q2 spans, so that its
    derivative for a rotation of the basis is 0.  Any other target has no defined derivative: raise
    ValueError for NumPy data, and return NaN for other data.

    blind : True in forward mode, where it is unknown how Q2 is used; the result is then NaN, unless Q2
    is one real column.  what : the op and shape, for the message.
    """
    Q1, Q2, g1, g2 = Q[..., :k], Q[..., k:], g[..., :k], g[..., k:]
    if Q2.shape[-1] > 1 or is_complex(Q):
        if blind:
            g2 = g2 * NAN
        else:
            turn = adjoint(Q2, xp) @ g2
            turn = largest_abs(turn - adjoint(turn, xp), (-2, -1), xp)
            free = turn > largest_abs(g, (-2, -1), xp) * half_the_digits(Q)
            refuse_free_columns(free, Q.shape[-2], k, what)
            g2 = xp.where(free, NAN, g2)
    # Q2 is a constant where it is not used, so that derivatives of this rule do not involve tangents of
    # Q2, which are NaN in forward mode.
    used = largest_abs(g2, (-2, -1), xp) != 0
    return g1 - xp.where(used, Q2, xp.stop_gradient(Q2)) @ (adjoint(g2, xp) @ Q1)


def refuse_free_columns(free: RawArray | Array, m: int, k: int, what: str) -> None:
    """Raise ValueError if the target depends on the columns after the first k, which are arbitrary.

    Only NumPy data is checked, because a check of other data would wait for the device.

    free : a mask of the elements through which the target depends on these columns.
    m : the number of all columns.  what : the op and the matrix's shape, for the message.
    """
    data = current(free)[1] if isinstance(free, Array) else free
    if isinstance(data, np.ndarray | np.generic) and data.any():
        raise ValueError(
            f"{what}: read the first {k} of {m} columns alone, or a function of the space of the others "
            f"such as its projector: a gradient goes through the choice of these columns "
            f"[at {user_line()}] {see('extra-columns')}"
        )


def inv_vjp(g: RawArray, y: RawArray, xp: Namespace) -> Any:
    """Return ``-y^H @ g @ y^H``, with y the result.

    It is the cotangent of x for the cotangent g of y = inv(x).
    """
    back = adjoint(y, xp)
    return -(back @ g @ back)


def pinv_vjp(g: RawArray, x: RawArray, y: RawArray, xp: Namespace) -> Any:
    """Return the adjoint of the differential of pinv, applied to g.  Source: Golub & Pereyra 1973, "The
    differentiation of pseudo-inverses and nonlinear least squares problems whose variables
    separate", eq. (4.12).

    It is the cotangent of x for the cotangent g of y = pinv(x).
    """
    back = adjoint(y, xp)
    turned = adjoint(g, xp)
    first = back @ g @ back
    second = turned @ y @ back
    third = back @ y @ turned
    rows, columns = x.shape[-2:]
    # The trace of y @ x is the rank.  If the rank is full, one of the projectors 1 - x @ y and 1 - y @ x
    # is 0 for all matrices near x.  Its term is set to 0, since otherwise each further derivative would
    # multiply the rounding errors of the projector by the condition number.
    full = xp.sum(y * xp.matrix_transpose(x), axis=(-2, -1), keepdims=True)
    full = xp.real(full) > min(rows, columns) - 0.5
    second = second - x @ (y @ second)
    third = third - (third @ y) @ x
    if rows <= columns:
        second = xp.where(full, 0.0, second)
    if columns <= rows:
        third = xp.where(full, 0.0, third)
    return second + third - first


def det_vjp(g: RawArray, x: RawArray, xp: Namespace) -> Any:
    """Return g times the conjugated cofactors of x.

    It is the cotangent of x for the cotangent g of det(x).
    """
    return g[..., None, None] * conjugate(xp.cofactors(x), xp)


def cofactors_vjp(g: RawArray, x: RawArray, xp: Namespace) -> Any:
    """Return the second derivative of the determinant in the direction g.

    It is the cotangent of x for the cotangent g of its cofactors.  The cofactors are the derivative of
    det(x), so that second derivatives of det need this rule.
    """
    # The determinant is linear in each row and each column.  For a diagonal matrix, the second
    # derivative along A and B is a sum over i != j.  Its terms are A_ii B_jj - A_ij B_ji times the
    # product of all diagonal elements but i and j.  Other matrices become diagonal by x = U S Vh.
    U, S, Vh = xp.linalg.svd(x)
    eye = on_diagonal(S, xp)
    columns = xp.arange(S.shape[-1], device=x.device)
    skipped = xp.where(eye, 1.0, S[..., None, :])
    before = xp.cumulative_prod(skipped, axis=-1, include_initial=True)[..., :-1]
    after = xp.prod(xp.where(columns[:, None] < columns, S[..., None, :], 1.0), axis=-1)
    pairs = xp.triu(before * after[..., None, :], k=1)
    pairs = pairs + xp.matrix_transpose(pairs)
    turned = xp.matrix_transpose(U) @ g @ xp.matrix_transpose(Vh)
    others = xp.sum(pairs * xp.sum(diagonal_part(turned, xp), axis=-1)[..., None, :], axis=-1)
    inner = diagonal_matrix(others, xp) - pairs * xp.matrix_transpose(turned)
    phase = conjugate(xp.linalg.det(U) * xp.linalg.det(Vh), xp)
    return phase[..., None, None] * (U @ inner @ Vh)


def slogdet_vjp(
    g: Cotangents, x: RawArray, sign: RawArray, logabsdet: RawArray, xp: Namespace
) -> Any:
    """Return the cotangent of x, which is g * x^-H for a gradient g of logabsdet.  For complex x the
    gradient of the sign, which is then not constant, contributes, too.

    g : the pair of the cotangents of sign and logabsdet.
    """
    gs, gl = g  # of sign and of logabsdet
    scale: Any = 0.0 if gl is None else gl
    if gs is not None and is_complex(x):
        # The phase of the sign changes by the imaginary part of the trace of x^-1 dx.
        scale = scale - xp.imag(conjugate(gs, xp) * sign) * 1j
    elif gl is None:
        return (xp.zeros_like(x),)
    # For a singular x the derivative of log |0| is infinite.  A division by 0 makes the second
    # derivative infinite, too.  The gradient of the sign is 0 there.
    singular = logabsdet == -math.inf
    steep: Any = 0.0
    if gl is not None:
        steep = (gl / xp.exp(xp.where(singular, logabsdet, 0.0)))[..., None, None]
    singular = singular[..., None, None]
    found = scale[..., None, None] * adjoint(xp.inverse_again(x, singular), xp)
    return (xp.where(singular, steep, found),)


def inverse_again_vjp(g: RawArray, y: RawArray, singular: RawArray, xp: Namespace) -> Any:
    """Return the gradient of x for inv, and 0 where x is singular.

    It is the cotangent of a stack x of matrices for the cotangent g of y = inv(x).

    singular : booleans of shape (..., 1, 1), True for each singular matrix.
    """
    return xp.where(singular, 0.0, inv_vjp(g, y, xp))


def vector_norm_vjp(
    g: RawArray, x: RawArray, y: RawArray, axis: Axis, keepdims: bool, ord: float, xp: Namespace
) -> Any:
    """Return ``g * xp.sign(x) * (xp.abs(x) / y) ** (ord - 1)``, with y the result;
    for an infinite ord, g is divided evenly among the elements with absolute value y.

    It is the cotangent of x for the cotangent g of y = vector_norm(x).
    """
    axes = tuple(range(len(x.shape))) if axis is None else axis
    axes = tuple(a % len(x.shape) for a in ((axes,) if isinstance(axes, int) else axes))
    if not keepdims:
        shape = tuple(1 if i in axes else n for i, n in enumerate(x.shape))
        g, y = xp.reshape(g, shape), xp.reshape(y, shape)
    if ord == 0:
        return xp.zeros_like(x)
    size, count = xp.abs(x), math.prod(x.shape[a] for a in axes)
    if abs(ord) == float("inf"):
        taken = xp.astype(size == y, y.dtype)
        return (g * taken / xp.sum(taken, axis=axes, keepdims=True)) * xp.sign(x)
    if ord == 1 or (count == 1 and not is_complex(x)):  # the norm of one real element is its abs
        return g * xp.sign(x)
    zero = y == 0
    safe = xp.where(zero, 1.0, y)
    if ord == 2:
        return g * flat_at_tip(zero, x / safe, y, xp)
    parts, power = xp.where(size == 0, 1.0, size), ord - 1.0
    # For a power below 1, parts / safe may underflow although its power does not.
    share = parts**power / safe**power if abs(power) < 1 else (parts / safe) ** power
    found = xp.sign(x) * share
    # At an element that is 0 the second derivative is 0 for ord > 2, else unbounded.
    still, tip = (size, y) if ord > 2 else (y, size)
    return g * flat_at_tip(tip == 0, xp.where(still == 0, 0.0, found), tip, xp)
