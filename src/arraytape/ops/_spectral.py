"""The derivative rules of svd, svdvals, eigh, eigvalsh, eig and eigvals, with references.

In this module, *values* are singular values or eigenvalues, and *vectors* their vectors.  The rules
divide by the gap, the difference of two values.  Where values coincide (to within rounding errors), the
quotient is meaningless, and the vectors are an arbitrary basis.  The cotangents still show whether the
derivative of the target, a function of values and vectors, is known (see ``depends_on_basis``):

- A target that reads only the vectors, and that no rotation of the basis changes, does not need the
  quotient.
- A target that reads both may be V f(D) V^H, whose gradient needs the derivative f' at the value.  It
  may also be the sum of a function of the values and a function of the vectors, whose gradient does not
  need the quotient.  The cotangents do not tell these two apart.  So the plain (first) pass returns NaN,
  and the guarded pass, a rerun after a NaN, computes the limits of the quotients (``limits_of_turn``).

Values may also coincide because a matrix of low rank has several values of 0.  A function may scale the
vectors of these values by the values, or not use the vectors.  The cotangents of the vectors are then as
small as the values, and the quotients are exact to first order.  If such values are exactly 0, so are
the cotangents, and the quotients are 0 / 0.  The guarded pass knows which values the target never reads
(``unread``).  If their vectors are not used either, the quotients count as 0.

``P`` is the cotangent of the vectors, as coefficients in the basis of the vectors: V^H @ gV.  Names of
arrays over pairs of values: ``gap`` is w_j - w_i, and ``turn`` is the derivative of the target for a
rotation of the two vectors, P - P^H.  ``same`` is True where the values coincide, ``doubt`` where the
quotient turn / gap is unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._storage.factors import remembered
from .._storage.storage import conjugate, is_complex, storage_of
from .._tape.limits import TurnOf, Turns, has_true
from .._util.array_types import Namespace, RawArray, RawOperand
from ._factorisations import (
    NAN,
    Cotangents,
    Unread,
    adjoint,
    diagonal_matrix,
    diagonal_part,
    epsilon,
    first_order,
    fold_complement,
    half_the_digits,
    largest_abs,
    on_diagonal,
    symmetric,
    to_lower,
)

# The greatest relative difference of two numbers that count as the same although they were computed in
# different ways.  It is this large because rounding errors may leave a quotient only three right digits.
THREE_DIGITS = 1e-3


# --- coinciding values -----------------------------------------------------------------------------
def relative_faintness(S: RawArray) -> float:
    """Return the bound below which a vector's cotangent, relative to the largest one, is "faint".

    A target such as U S Vh scales each singular vector, and so its cotangent, by a singular value.  The
    rules treat a faint cotangent as scaled by a value of 0, with which the derivative is finite.

    S : the singular values, whose number and dtype set the bound.
    """
    return 100.0 * S.shape[-1] * epsilon(S)


def is_negligible(size: RawArray, bound: RawOperand) -> Any:
    """Return a mask that is True where ``size`` is less than ``bound``, or 0.

    Where the bound itself is 0, a size of 0 counts as negligible, too.
    """
    return (size < bound) | (size == 0)


def rounding_bound(values: RawArray, xp: Namespace) -> Any:
    """Return a bound of the rounding errors of eigenvalues or singular values, of shape (..., 1, 1).

    The rules of eigh and svd treat values as equal if their difference is within the bound.
    """
    return largest_abs(values, -1, xp)[..., None] * (values.shape[-1] * epsilon(values))


def depends_on_basis(
    within: RawArray,
    turn: RawArray,
    same: RawArray,
    scale: RawArray,
    asked: RawArray | bool,
    xp: Namespace,
) -> Any:
    """Return a mask of the pairs of vectors on whose arbitrary choice the target may depend.

    The vectors of two equal eigenvalues (or singular values) are an arbitrary basis of their space.  If
    the target depends only on the space, a rotation of the two changes nothing, and the target reads
    both or neither.  Then the mask is False.  Where it is True, the gradient becomes NaN.

    within : absolute values of V^H @ gV, for vectors V with the cotangent gV.
    turn : for each pair of vectors, the derivative of the target for their rotation.
    same : True for pairs with equal values.
    scale : the size of the cotangents, to which rounding errors are compared.
    asked : True for pairs that need a limit of turn / gap, where gap is the difference of the values.
    For these the mask is True if the target reads the vectors at all.
    """
    small = scale * half_the_digits(turn)
    touched = ~is_negligible(largest_abs(xp.where(same, within, 0.0), -2, xp), small)
    uneven = touched != xp.matrix_transpose(touched)
    matters = ~is_negligible(xp.abs(turn), small) | uneven | (touched & asked)
    return same & ~on_diagonal(turn, xp) & matters


def quotient(x: RawArray, gap: RawArray, same: RawArray, doubt: RawArray, xp: Namespace) -> Any:
    """Return x / gap, but 0 where ``same`` is True, and NaN where ``doubt`` is True.

    The rules divide by the gap, the difference of two eigenvalues or singular values.  The NaN is a
    divisor, so that the derivative with respect to x is NaN, too.  Forward mode needs this, because it
    differentiates the rule with respect to the cotangent.

    same : a mask of the pairs whose values are equal.  doubt : a mask of unknown quotients.
    """
    same = same & ~doubt
    return xp.where(same, 0.0, x / xp.where(doubt, NAN, xp.where(same, 1.0, gap)))


def turn_noise(columns: RawArray, xp: Namespace) -> Any:
    """Return a bound of the rounding errors of ``turn`` = P - P^H, of shape (..., k, k).

    P is V^H @ gV, for k eigenvectors or singular vectors V with the cotangent gV.

    columns : the largest absolute value in each column of gV, of shape (..., 1, k).
    """
    return (columns + xp.matrix_transpose(columns)) * (columns.shape[-1] * epsilon(columns))


def smooth_turn(
    turn: RawArray,
    gap: RawArray,
    same: RawArray,
    P: RawArray,
    values: RawArray,
    columns: RawArray,
    xp: Namespace,
) -> Any:
    """Return ``turn`` = P - P^H with fewer rounding errors, and a mask of pairs with known turn / gap.

    The rules of eigh and svd divide turn by ``gap``, the difference of two values.  So the errors matter
    where values are close.  Both results serve targets that are computed from a matrix function V f(D)
    V^H, such as the matrix exponential.  For other targets turn is unchanged, and the mask is False.

    A function of V f(D) V^H has P_ij = M_ij f_j for a matrix M, and the cotangent M_ii f'_i / 2 of each
    value.  So turn / gap is M_ij times a divided difference of f.  Up to the square of the gap, that is
    ``smooth``, the mean of P_ij f'_j / f_j and its adjoint.  If turn / gap and ``smooth`` agree within
    the rounding errors of turn, smooth * gap replaces turn, because smooth has no such errors.  Where
    the gap itself is a rounding error (``same``), turn / gap is known if turn agrees with smooth * gap
    to three digits, and its rounding errors are as small.

    P : V^H @ gV, for vectors V with the cotangent gV.  values : the cotangent of the values.
    same : True for pairs of equal values.
    columns : the largest absolute value in each column of gV, of shape (..., 1, k).
    """
    along = xp.real(xp.sum(diagonal_part(P, xp), axis=-2))
    slope = along != 0
    steep = P * xp.where(slope, 2.0 * values / xp.where(slope, along, 1.0), 0.0)[..., None, :]
    known = xp.astype(slope, along.dtype)
    ways = known[..., None, :] + known[..., :, None]
    smooth = (steep + adjoint(steep, xp)) / xp.where(ways == 0, 1.0, ways)
    size = xp.abs(gap)
    apart = (size > 0) & (ways > 0)
    off = xp.abs(smooth * gap - turn)
    noise = turn_noise(columns, xp)
    digits = largest_abs(values, -1, xp)[..., None] * size * THREE_DIGITS
    known = same & apart & (noise <= digits) & (off <= digits)
    # The noise counts twice, since both the cotangents and their products with the vectors are rounded.
    return xp.where(known | (apart & (off <= 2.0 * noise)), smooth * gap, turn), known


def near_gap(values: RawArray, xp: Namespace) -> Any:
    """Return the difference of two eigenvalues or singular values that counts as small.

    The rules of eigh and svd divide by this difference, the gap.  Below the returned size the quotient
    is less exact than its limit for gap -> 0.  For a relative gap d, the quotient has the relative error
    epsilon / d, and the limit the error d ** 2.  Both errors are equal at the third root of epsilon.
    The result has the shape (..., 1, 1).
    """
    return largest_abs(values, -1, xp)[..., None] * epsilon(values) ** (1.0 / 3.0)


def nearly_coincide(values: RawArray) -> bool:
    """Return True if two neighbours among sorted eigenvalues or singular values are very close.

    That is closer than ``near_gap``: then the rules of eigh and svd lose digits in a quotient.
    """
    xp = storage_of(values).xp
    gaps = xp.abs(values[..., 1:] - values[..., :-1])
    return has_true(gaps <= near_gap(values, xp)[..., 0], xp)


def loses_digits(
    columns: RawArray,
    turn: RawArray,
    gap: RawArray,
    values: RawArray | None,
    eigenvalues: RawArray,
    xp: Namespace,
) -> Any:
    """Return a mask of the pairs of vectors for which turn / gap is too inexact, for eigh and svd.

    There rounding errors of ``turn`` take half of its digits, and the rules need its limit for gap -> 0.

    turn : for each pair of vectors, the derivative of the target for their rotation.
    gap : the difference of their values.
    columns : the largest absolute value in each column of the vectors' cotangents, (..., 1, k).
    eigenvalues : the eigenvalues or singular values.  values : their cotangent, or None.
    """
    noise, size = turn_noise(columns, xp), xp.abs(gap)
    clear = xp.abs(turn) > noise
    usual = xp.where(clear, xp.abs(turn), 0.0) / xp.where(clear & (size > 0), size, 1.0)
    usual = largest_abs(usual, (-2, -1), xp)
    if values is None:
        whole = largest_abs(eigenvalues, -1, xp)[..., None]
        whole = largest_abs(columns, -1, xp) / xp.where(whole == 0, 1.0, whole)
        usual = xp.maximum(usual, whole * THREE_DIGITS)
    else:
        slope = largest_abs(values, -1, xp)[..., None]
        usual = xp.maximum(usual, slope)
        # The function that the program computes of rounded values is rounded, too, even if it is 0.
        noise = noise + slope * rounding_bound(eigenvalues, xp)
    # Where values coincide, the cotangents of the vectors of V f(D) V^H may be 0, while turn / gap has a
    # limit that is not 0.  So cotangents of 0 (noise 0) are no reason against a limit.
    same = (size <= rounding_bound(eigenvalues, xp)) & ((noise > 0) | (values is not None))
    return (same | (noise > size * usual * half_the_digits(gap))) & ~on_diagonal(gap, xp)


def limits_of_turn(
    limits: Any,
    turn_of: TurnOf,
    pairs: RawArray,
    turn: RawArray,
    gap: RawArray,
    scale: RawArray,
    values: RawArray,
    xp: Namespace,
) -> tuple[Any, Any, Any]:
    """Return the limits of turn / gap for gap -> 0, a mask of the known ones, and one of all requested.

    The rules of eigh and svd use a limit where two values are so close that the quotient itself consists
    of rounding errors.  Unknown limits are 0.  The mask of all requested limits equals ``pairs``, but is
    False everywhere if no limit can be computed.

    A limit is known if the target does not depend on the choice of vectors where the values coincide.
    Then ``turn`` is the gap times the limit.  So turn is 0 where the gap is 0, also after a change of
    other values, vectors, or data.

    limits : the ``QuotientLimits`` of a guarded pass (a rerun after a NaN); False in other passes.
    turn_of : the function that computes ``turn`` from cotangents, such as ``eigh_turn``.
    pairs : True for pairs of values whose limit is requested.
    turn : for each pair of vectors, the derivative of the target for their rotation.
    gap : the difference of their values.
    scale : the size of the cotangents of the vectors, to which rounding errors are compared.
    values : the eigenvalues or singular values.
    """
    if not limits or not has_true(pairs, xp):
        return 0.0, pairs & False, pairs & False
    small, size = half_the_digits(turn), largest_abs(values, -1, xp)
    size = xp.where(size == 0, 1.0, size)[..., None]
    known, upper, covered = pairs, xp.zeros_like(turn), pairs & False
    straight = (small + xp.abs(gap) / size * 16.0) / size
    for mask, factors, turns, others, further, _ in limits.slopes_of(turn_of, pairs, gap, straight):
        slope, _, moved, moved_scale = turns
        # The mean of the derivatives for both values is exact to first order around the limit.
        part = xp.where(mask, (slope[..., None, :] - slope[..., :, None]) / 2.0, 0.0)
        upper = upper + (part + further) * factors
        rest = xp.abs(slope - xp.sum(part, axis=-2) + xp.sum(part, axis=-1))[..., None, :]
        steepest, steep = largest_abs(slope, -1, xp)[..., None], xp.abs(slope)[..., None, :]
        # The cotangents of the vectors are 0 if the function is 0 at the values, but its slope is not.
        whole = scale + steepest * size
        # The derivative of a quotient has the error epsilon / gap ** 2.  At the gap of ``near_gap``, the
        # third root of epsilon, this is an error of epsilon ** (1 / 3).
        thirds = whole / size * epsilon(turn) ** (1.0 / 3.0)
        fixed = rest <= steep * THREE_DIGITS + thirds
        # ``turn`` is gap * M_ij * f'(w).  So a change of vectors or other data may change it by up to
        # k * gap / size * scale, where k = |w f'(w) / f(w)| is the condition number.  The bound allows
        # for any k up to a thousand.  If the gap is no rounding error, ``off`` tests the limit, too.
        digits = small + largest_abs(xp.where(mask, gap, 0.0), (-2, -1), xp) / size / THREE_DIGITS
        fixed = xp.all(fixed, axis=-1, keepdims=True) & (moved <= (moved_scale + whole) * digits)
        for other in others:
            bound = largest_abs(digits * xp.minimum(whole, whole / size), None, xp)
            fixed = fixed & (largest_abs(other, None, xp) <= bound)
        both = mask | xp.matrix_transpose(mask)
        known, covered = known & (fixed | ~both), covered | both
    known = known & covered
    found = upper + adjoint(upper, xp)
    # ``noise`` bounds the rounding errors of turn.  Turn is the difference of two products of n terms.
    # Each product, and each error of a factor, adds n * epsilon.
    noise = xp.full_like(gap, gap.shape[-1] * epsilon(gap) * 4.0)
    noise = xp.where(xp.abs(gap) <= rounding_bound(values, xp), small, noise)
    off = xp.abs(turn - gap * found) - xp.abs(gap * found) * small
    known = known & (off <= (scale + largest_abs(found, (-2, -1), xp) * size) * noise)
    return xp.where(known, found, 0.0), known, pairs


def idle_values(values: RawArray, xp: Namespace) -> Any:
    """Return a mask of the pairs of eigenvalues or singular values whose cotangents are both 0.

    values : these cotangents, of shape (..., k).  The mask has the shape (..., k, k).
    """
    idle = values == 0
    return idle[..., None, :] & idle[..., :, None]


def unused_values(
    unread: RawArray,
    unread_vectors: Sequence[RawArray | None],
    cotangents: Sequence[RawArray],
    xp: Namespace,
) -> Any:
    """Return a mask of the eigenvalues or singular values whose quotients the rules may set to 0.

    The mask, of shape (..., 1, k), is True for a value if the cotangents of its vectors are 0, and the
    target does not read both the value and its vectors.  A target that reads both may scale the vectors
    by the value, so that a value of 0 hides a derivative.

    unread : True for values that the target never reads.  unread_vectors : arrays that are True for
    elements of vectors (columns) that the target never reads; None for vectors without a cotangent.
    cotangents : the cotangents of the arrays of vectors.
    """
    vectors_unread = xp.ones(unread.shape, dtype=xp.bool, device=unread.device)[..., None, :]
    for mask in unread_vectors:
        vectors_unread = (
            vectors_unread
            if mask is None
            else vectors_unread & xp.all(mask, axis=-2, keepdims=True)
        )
    found = vectors_unread | unread[..., None, :]
    for g in cotangents:
        found = found & (largest_abs(g, -2, xp) == 0)
    return found


def no_value_unused(values: RawArray, xp: Namespace) -> Any:
    """Return the result of ``unused_values`` if it is unknown which of k values the target reads.

    It is False everywhere, and has the shape (..., 1, k).
    """
    return xp.zeros(values.shape, dtype=xp.bool, device=values.device)[..., None, :]


# --- singular values ----------------------------------------------------------------------------
def svd_vjp(
    g: Cotangents,
    U: RawArray,
    S: RawArray,
    Vh: RawArray,
    full_matrices: bool,
    unread: Unread,
    xp: Namespace,
    limits: Any = False,
) -> Any:
    """Return the cotangent of x, U @ (diag(gS) + H) @ Vh for cotangents gU, gS and gVh.  H is made
    of the skew parts of P = U^H @ gU and Q = Vh @ gVh^H, divided by S_j - S_i and S_j + S_i.
    If x is not square, another term describes changes of the space that the vectors span.
    Source: Townsend 2016, "Differentiating the singular value decomposition"; the phases: Wan &
    Zhang 2019, "Automatic differentiation for complex valued SVD".

    g : the tuple (gU, gS, gVh).
    unread : True for elements of the results that the target never reads; () in forward mode.
    limits : the object that computes limits where a divisor is near 0; False or None without limits.
    """
    gU, gS, gVh = g
    m, k, n = U.shape[-2], S.shape[-1], Vh.shape[-1]
    if gU is None and gVh is None:
        return (U[..., :, :k] @ diagonal_matrix(gS, xp) @ Vh[..., :k, :],)
    known, blind, V = gS is not None, unread == (), adjoint(Vh, xp)
    gV = None if gVh is None else adjoint(gVh, xp)
    if full_matrices and m != n:
        what = f"linalg.svd of a matrix of shape {(m, n)}"
        gU = gU if gU is None or m == k else fold_complement(gU, U, k, blind, what, xp)
        gV = gV if gV is None or n == k else fold_complement(gV, V, k, blind, what, xp)
        U, V, Vh = U[..., :k], V[..., :k], Vh[..., :k, :]
    both_sides = gU is not None and gV is not None
    gU = xp.zeros_like(U) if gU is None else gU
    gV = xp.zeros_like(V) if gV is None else gV
    P, Q = adjoint(U, xp) @ gU, Vh @ gV
    idle = no_value_unused(S, xp) if known else None
    if known and unread:
        dU, dS, dV = unread
        dU = None if dU is None else dU[..., :k]
        dV = None if dV is None else xp.matrix_transpose(dV)[..., :k]
        idle = unused_values(dS, (dU, dV), (gU, gV), xp)
    inner = within_spaces((gU, gS, gV), P, Q, S, idle, blind, limits, xp)
    if m != n and both_sides:
        # H has terms S_i * Q_ij of a value S_i = 0, whose vector is in U.  Their derivative is finite,
        # since that of the vector is unbounded, but a product of 0 and infinity here.
        zero = rounding_bound(S, xp)[..., 0, :] >= S
        pairs = zero[..., :, None] | zero[..., None, :]
        inner = first_order(inner, pairs, S[..., None, :], xp)
    whole = U @ (inner + diagonal_matrix(gS, xp) if known else inner) @ Vh
    if m > k:
        whole = whole + out_of_space(gU, gU - U @ P, S, idle, xp) @ Vh
    if n > k:
        whole = whole + U @ adjoint(out_of_space(gV, gV - V @ Q, S, idle, xp), xp)
    return (whole,)


def within_spaces(
    g: Cotangents,
    P: RawArray,
    Q: RawArray,
    S: RawArray,
    idle: RawArray | None,
    blind: bool,
    limits: Any,
    xp: Namespace,
) -> Any:
    """Return H of svd's rule, in which U @ (diag(gS) + H) @ Vh is the cotangent of the matrix.

    H comes from rotations of the singular vectors within the space that they span.

    g : the cotangents gU, gS and gV, where V is the adjoint of Vh.
    P, Q : U^H @ gU and V^H @ gV.
    idle : True for vectors (columns) that the target does not use; None if S has no cotangent.
    blind : True in forward mode, where the cotangents do not show which vectors are used.
    limits : an object that computes limits where singular values coincide; False or None without it.
    """
    # Source: Townsend 2016, "Differentiating the singular value decomposition".  The quotients are (P +
    # Q) / (s_j - s_i) and (P - Q) / (s_j + s_i), so that only the part that depends on the choice of
    # vectors is divided by the gap.  On the diagonal, the second quotient is the term for the phases of
    # Wan & Zhang 2019, "Automatic differentiation for complex valued SVD".  If a function does not
    # depend on the phases, the imaginary parts of P and -Q are equal there.
    gU, gS, gV = g
    left, right = P - adjoint(P, xp), Q - adjoint(Q, xp)
    turn, lean = left + right, left - right
    column, row, noise = S[..., :, None], S[..., None, :], rounding_bound(S, xp)
    gap, total = row - column, row + column
    same, zero, eye = xp.abs(gap) <= noise, total <= noise, on_diagonal(S, xp)
    scale = largest_abs(gU, (-2, -1), xp) + largest_abs(gV, (-2, -1), xp)
    columns = largest_abs(gU, -2, xp) + largest_abs(gV, -2, xp)
    lost = loses_digits(columns, turn, gap, gS, S, xp) & ~zero
    both = idle & xp.matrix_transpose(idle) if idle is not None else zero & False
    near = (xp.abs(gap) <= near_gap(S, xp)) & ~zero & ~eye
    pairs = (lost | near) & ~both
    limit, known, asked = limits_of_turn(limits, svd_turn, pairs, turn, gap, scale, S, xp)
    # NaN in the result of a plain pass makes a guarded pass compute limits; for forward mode, see
    # ``_tape/reverse_tangents.py``.
    lost = (near if blind else lost & ~both) & (limits is None)
    if idle is not None:
        faint = is_negligible(columns, scale * relative_faintness(S))
        faint = faint & (not blind)
        faint = faint & xp.matrix_transpose(faint)
        exact = zero & False
        if not limits:
            turn, exact = smooth_turn(turn, gap, same, P + Q, gS, columns, xp)
        steep = zero & ~(faint & (exact | idle_values(gS, xp)))
        alike = (same & ~zero & ~exact & ~known) | lost
        doubt = (steep | alike) & ~eye & ~both
        turned = quotient(turn, gap, eye | alike | both | known, doubt, xp)
        # A complex vector may be multiplied by a phase, a real one not: its diagonal of ``lean`` is 0.
        still = (eye & (not is_complex(P))) | both
        leant = quotient(lean, total, still, steep & ~still, xp)
        return first_order((turned + limit + leant) / 2.0, zero & ~still, row, xp)
    doubt = depends_on_basis(xp.abs(P) + xp.abs(Q), turn, same, scale, asked, xp)
    turned = quotient(turn, gap, same | known, (doubt & ~known) | lost, xp) + limit
    steep = zero & ~is_negligible(xp.abs(lean), scale * half_the_digits(S))
    return (turned + quotient(lean, total, zero, steep, xp)) / 2.0


def svd_turn(
    g: Cotangents, gx: RawArray | None, results: Sequence[RawArray], xp: Namespace
) -> Turns:
    """Return, as ``Turns``, the derivatives of the target for singular values and rotations of vectors.

    The rule of svd compares them at several matrices, to find the limit of a quotient 0 / 0.

    g : the cotangents of U, S and Vh.  results : U, S and Vh.
    gx : None, or a further cotangent of the matrix, which is added to that of the values.
    """
    gU, gS, gVh = g
    U, S, Vh = results
    k = S.shape[-1]
    U, V, gU, gV = U[..., :k], adjoint(Vh, xp)[..., :k], gU[..., :k], adjoint(gVh, xp)[..., :k]
    if gx is not None:
        gS = gS + xp.real(xp.sum(conjugate(U, xp) * (gx @ V), axis=-2))
    turn: Any = 0.0
    moved = scale = xp.zeros_like(S)[..., None, :1]
    for vectors, part in ((U, gU), (V, gV)):
        P = adjoint(vectors, xp) @ part
        skew = P - adjoint(P, xp)
        turn, scale = turn + skew, scale + largest_abs(part, (-2, -1), xp)
        moved = moved + largest_abs(skew, (-2, -1), xp)
        moved = moved + largest_abs(part - vectors @ P, (-2, -1), xp)
    return Turns(gS, turn, moved, scale)


def out_of_space(
    g: RawArray, part: RawArray, S: RawArray, idle: RawArray | None, xp: Namespace
) -> Any:
    """Return ``part / S``, the term that svd's rule needs for a matrix that is not square.

    A change of such a matrix also moves the space that the singular vectors span.  For a singular value
    of 0 (up to rounding errors) the derivative of its vector is unbounded.  Then the result is NaN,
    unless the target does not use the vector, or scales it by the value.

    g : the cotangent of the vectors.  part : the component of g orthogonal to the space.
    S : the singular values.
    idle : True for vectors that the target does not use; None if S has no cotangent.
    """
    row, used = S[..., None, :], largest_abs(g, -2, xp)
    zero = row <= rounding_bound(S, xp)
    if idle is None:
        return quotient(part, row, zero, zero & (used != 0), xp)
    faint = is_negligible(used, largest_abs(g, (-2, -1), xp) * relative_faintness(S))
    return first_order(quotient(part, row, idle, zero & ~faint, xp), zero, row, xp)


def svdvals_vjp(g: RawArray, x: RawArray, xp: Namespace) -> Any:
    """Return ``U @ diag(g) @ Vh``.

    It is the cotangent of x = U @ diag(S) @ Vh for the cotangent g of its singular values S.
    """
    U, S, Vh = remembered("svd", x) or xp.linalg.svd(x, full_matrices=False)
    return (U * beside_values(g, S)[..., None, :]) @ Vh


# --- eigenvalues of Hermitian matrices ----------------------------------------------------------
def eigh_vjp(
    g: Cotangents,
    eigenvalues: RawArray,
    eigenvectors: RawArray,
    unread: Unread,
    xp: Namespace,
    limits: Any = False,
) -> Any:
    """Return the cotangent of the Hermitian matrix with the values w and vectors V, for gradients gw
    and gV: V @ (diag(gw) + H) @ V^H.  H is the skew part of V^H @ gV divided by w_j - w_i.
    Source: Giles 2008, "An extended collection of matrix derivative results for forward and
    reverse mode automatic differentiation", sec. 3.1.

    g : the pair (gw, gV).
    unread : True for elements of the results that the target never reads; () in forward mode.
    limits : the object that computes limits where a divisor is near 0; False or None without limits.
    """
    values, vectors = g
    inner = 0.0 if values is None else diagonal_matrix(values, xp)
    if vectors is not None:
        P = adjoint(eigenvectors, xp) @ vectors
        inner = inner + eigh_quotients(g, P, eigenvalues, unread, limits, xp) / 2.0
    return (symmetric(eigenvectors @ inner @ adjoint(eigenvectors, xp), xp),)


def eigh_vjp_lower(
    g: Cotangents,
    eigenvalues: RawArray,
    eigenvectors: RawArray,
    unread: Unread,
    limits: Any,
    xp: Namespace,
) -> Any:
    """Return the cotangent of x: with G = V @ (diag(gw) + H) @ V^H, for gradients gw and gV of values w
    and vectors V, the lower triangle of G + G^H with half its diagonal, and 0 in the upper triangle.  H
    is the skew part of V^H @ gV divided by w_j - w_i.
    Source: Giles 2008, "An extended collection of matrix derivative results for forward and
    reverse mode automatic differentiation", sec. 3.1.

    It is the cotangent of x if eigh reads only the lower triangle of x.

    g : the pair (gw, gV).
    unread : True for elements of the results that the target never reads; () in forward mode.
    limits : the object that computes limits where a divisor is near 0; False or None without limits.
    """
    (found,) = eigh_vjp(g, eigenvalues, eigenvectors, unread, xp, limits)
    return (to_lower(found, xp),)


def eigh_quotients(
    g: Cotangents, P: RawArray, eigenvalues: RawArray, unread: Unread, limits: Any, xp: Namespace
) -> Any:
    """Return turn / gap for each pair of eigenvalues, or its limit where the eigenvalues coincide.

    ``turn`` is P minus its adjoint, and ``gap`` the difference of the eigenvalues.  The rule of eigh
    multiplies the result by V, the eigenvectors, from both sides.  The result is NaN where the target
    needs an unknown limit.

    g : the cotangents of the eigenvalues and of V.  P : ``V^H @ gV``, where gV is the cotangent of V.
    unread : masks of what the target never reads of eigenvalues and V; () in forward mode.
    limits : the object that computes limits; False in a pass without limits; None where NaN is enough.
    """
    values, vectors = g
    turn, eye = P - adjoint(P, xp), on_diagonal(P, xp)
    gap = eigenvalues[..., None, :] - eigenvalues[..., :, None]
    same = xp.abs(gap) <= rounding_bound(eigenvalues, xp)
    scale, columns = largest_abs(vectors, (-2, -1), xp), largest_abs(vectors, -2, xp)
    near = (xp.abs(gap) <= near_gap(eigenvalues, xp)) & ~eye
    if unread == () and limits is None:  # forward mode: see ``_tape/reverse_tangents.py``
        return quotient(turn, gap, eye, near, xp)
    lost = loses_digits(columns, turn, gap, values, eigenvalues, xp)
    if limits is None:  # NaN in the result of a plain pass makes a guarded pass compute limits
        return quotient(turn, gap, same, lost, xp)
    idle = no_value_unused(eigenvalues, xp)
    if values is not None and unread:
        idle = unused_values(unread[0], unread[1:], (vectors,), xp)
    both = idle & xp.matrix_transpose(idle)
    pairs = (lost | near) & ~both
    limit, known, asked = limits_of_turn(
        limits, eigh_turn, pairs, turn, gap, scale, eigenvalues, xp
    )
    if values is None:
        doubt = depends_on_basis(xp.abs(P), turn, same, scale, asked, xp) & ~known
        return quotient(turn, gap, same | known, doubt, xp) + limit
    size = xp.abs(eigenvalues)
    zero = size[..., None, :] + size[..., :, None] <= rounding_bound(eigenvalues, xp)
    zero = zero & ~eye & ~known
    faint = is_negligible(columns, scale * relative_faintness(eigenvalues)) & (unread != ())
    faint = zero & faint & xp.matrix_transpose(faint) & idle_values(values, xp)
    exact = faint
    if not limits:
        turn, smooth = smooth_turn(turn, gap, same, P, values, columns, xp)
        exact = exact | smooth
    doubt = same & ~eye & ~both & ~exact & ~known
    still = (same & ~zero & ~exact) | both | known
    turned = quotient(turn, gap, still, doubt, xp)
    return first_order(turned, zero, eigenvalues[..., None, :], xp) + limit


def eigh_turn(
    g: Cotangents, gx: RawArray | None, results: Sequence[RawArray], xp: Namespace
) -> Turns:
    """Return, as ``Turns``, the derivatives of the target for eigenvalues and rotations of vectors.

    The rule of eigh compares them at several matrices, to find the limit of a quotient 0 / 0.

    g : the cotangents of eigenvalues and eigenvectors.  results : the eigenvalues and eigenvectors.
    gx : None, or a further cotangent of the matrix, which is added to that of the values.
    """
    (gw, gV, *_), (_, vectors, *_) = g, results
    back = adjoint(vectors, xp)
    if gx is not None:
        gw = gw + xp.real(xp.sum(conjugate(vectors, xp) * (gx @ vectors), axis=-2))
    P = back @ gV
    turn = P - adjoint(P, xp)
    return Turns(gw, turn, largest_abs(turn, (-2, -1), xp), largest_abs(gV, (-2, -1), xp))


def eigvalsh_vjp_lower(g: RawArray, x: RawArray, xp: Namespace) -> Any:
    """Return the lower triangle of G + G^H with half its diagonal, and 0 in the upper triangle, with
    G = ``V @ diag(g) @ V^H`` and V the eigenvectors.

    It is the cotangent of x, of which eigvalsh reads the lower triangle, for the cotangent g of its
    eigenvalues.
    """
    return to_lower(eigvalsh_vjp(g, x, xp), xp)


def eigvalsh_vjp(g: RawArray, x: RawArray, xp: Namespace) -> Any:
    """Return ``V @ diag(g) @ V^H``, the cotangent of a Hermitian matrix x with the eigenvectors V, for
    the cotangent g of its eigenvalues.
    """
    values, vectors = remembered("eigh", x) or xp.linalg.eigh(x)
    return symmetric((vectors * beside_values(g, values)[..., None, :]) @ adjoint(vectors, xp), xp)


# --- eigenvalues of any square matrices ---------------------------------------------------------
def eig_vjp(
    g: Cotangents, eigenvalues: RawArray, eigenvectors: RawArray, unread: Unread, xp: Namespace
) -> Any:
    """Return the cotangent of x, V^-H @ (diag(gw) + H) @ V^H, for gradients gw and gV of values w
    and vectors V.  H is V^H @ gV, less its part along the vectors, divided by conj(w_j - w_i).
    Source: Boeddeker et al. 2017, "On the computation of complex-valued gradients with application
    to statistically optimum beamforming", eq. (4.77), for vectors of unit length.

    g : the pair (gw, gV).
    unread : True for elements of the results that the target never reads; () in forward mode.
    """
    values, vectors = g
    back = adjoint(eigenvectors, xp)
    inner = 0.0 if values is None else diagonal_matrix(values, xp)
    if vectors is not None:
        P = back @ vectors
        lengths = xp.real(xp.sum(diagonal_part(P, xp), axis=-2))
        turn = P - (back @ eigenvectors) * lengths[..., None, :]
        gap = conjugate(eigenvalues[..., None, :] - eigenvalues[..., :, None], xp)
        same = xp.abs(gap) <= rounding_bound(eigenvalues, xp)
        doubt = same & ~on_diagonal(gap, xp)
        if values is not None:
            every, sizes = (-2, -1), largest_abs(values, -1, xp)[..., None]
            noise = (
                largest_abs(vectors, every, xp)
                + sizes * largest_abs(eigenvalues, -1, xp)[..., None]
            )
            noise = noise * largest_abs(back, every, xp) * (gap.shape[-1] * epsilon(gap))
            # For a function of a matrix, turn is proportional to the gap.  So near a gap of 0, turn may
            # consist of rounding errors.
            digits = xp.abs(turn) + sizes * xp.abs(gap)
            size = largest_abs(eigenvalues, -1, xp)[..., None]
            near = (xp.abs(gap) <= size * half_the_digits(P)) & ~on_diagonal(gap, xp)
            doubt = doubt | ((noise > digits * THREE_DIGITS) & near)
            if unread:
                idle = unused_values(unread[0], unread[1:], (vectors,), xp)
                doubt = doubt & ~(idle & xp.matrix_transpose(idle))
        if values is None:
            # Vectors of coinciding values need not be orthonormal, so any use of them is in doubt.
            small = largest_abs(vectors, (-2, -1), xp) * half_the_digits(P)
            used = ~is_negligible(largest_abs(xp.where(same, P, 0.0), -2, xp), small)
            doubt = doubt & (used | xp.matrix_transpose(used))
        inner = inner + quotient(turn, gap, same, doubt, xp)
    return (xp.solve_again(eigenvectors, inner @ back, adjoint=True),)


def eigvals_vjp(g: RawArray, x: RawArray, xp: Namespace) -> Any:
    """Return ``V^-H @ diag(g) @ V^H``, with V the eigenvectors.

    It is the cotangent of x for the cotangent g of its eigenvalues.
    """
    values, vectors = xp.linalg.eig(x)
    inner = beside_values(g, values)[..., :, None] * adjoint(vectors, xp)
    return xp.solve_again(vectors, inner, adjoint=True)


def beside_values(g: RawArray, values: RawArray) -> Any:
    """Return g, but make it depend on the eigenvalues (or singular values) ``values``.

    For second derivatives, a tape records the rule of eigvalsh or svdvals.  eigh's rule treats vectors
    without values differently.  So the tape has to see that the result also depends on the values.
    """
    return g * (1.0 + 0.0 * values)
