"""Differentiate eigenvalues and eigenvectors of scipy.linalg.

SciPy computes them by LAPACK, on NumPy data.  The rules call those of the array API's functions
(``ops/_spectral.py``), on the whole matrix that SciPy reads from its argument.  Parameters of rules:

first : the index of the first returned eigenvalue among all.
unread : masks of the result's elements that the target does not read, or None.
limits : the object that computes limits of quotients in a rerun after a NaN; else False.
lower : True if SciPy reads the lower triangles.  Elements that it does not read get the cotangent 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

from ..._record.plan import Lazy
from ..._util.array_types import Namespace, RawArray
from ..._util.errors import short_repr
from ...ops import _factorisations as rules
from ...ops import _spectral as spectral
from ...ops._factorisations import NO_LIMITS, NONE_UNREAD, adjoint
from .._facades import no_rule
from .._ops import LibraryOp, library_op
from .._plain import ArrayInput, Cotangents, NumpyData
from .._recorded import function_op, operand_of
from .._statements import hooks
from ._banded import band_to_matrix, matrix_to_band
from ._structures import pull_structure, read_structure


# --- Hermitian matrices, and generalized problems a v = w b v ---------------------------------------
def reduce_generalised(a: RawArray, b: RawArray, lower: bool, xp: Namespace) -> tuple[Any, Any]:
    """Reduce the eigenproblem a v = w b v to an ordinary one: return L with b = L L^H, and L^-1 a L^-H.

    The second matrix has the eigenvalues w.
    """
    factor = xp.linalg.cholesky(read_structure(b, "hermitian", lower, xp))
    half = xp.linalg.solve(factor, read_structure(a, "hermitian", lower, xp))
    return factor, rules.symmetric(adjoint(xp.linalg.solve(factor, adjoint(half, xp)), xp), xp)


def eigh_back(
    g: Cotangents, values: RawArray, vectors: RawArray, matrix: RawArray, first: RawArray,
    unread: tuple[Any, ...] | None, xp: Namespace, limits: Any = False,
) -> Any:  # fmt: skip
    """Return the cotangent of a Hermitian matrix, given the cotangents of some eigenpairs.

    g : the cotangents of ``values`` and ``vectors``, the eigenpairs that a call of ``eigh`` returned.

    The rule of ``xp.linalg.eigh`` needs all eigenpairs, so the other ones are computed here.
    """
    n, k = matrix.shape[-1], values.shape[-1]
    if k == n:
        return spectral.eigh_vjp(g, values, vectors, unread, xp, limits)[0]
    everything, all_vectors = xp.linalg.eigh(matrix)
    places = xp.arange(n, device=values.device)
    at = places - first[..., None]
    inside = (at >= 0) & (at < k)
    at = xp.where(inside, at, 0)

    def place_selected(x: RawArray, other: RawArray, vector: bool) -> Any:
        shape = (*other.shape[:-1], n)
        index = xp.broadcast_to(at[..., None, :] if vector else at, shape)
        chosen = xp.take_along_axis(x, index, axis=-1)
        return xp.where(inside[..., None, :] if vector else inside, chosen, other)

    gw, gV = g
    gw = None if gw is None else place_selected(gw, xp.zeros_like(everything), False)
    gV = None if gV is None else place_selected(gV, xp.zeros_like(all_vectors), True)
    values = place_selected(values, everything, False)
    vectors = place_selected(vectors, all_vectors, True)
    return spectral.eigh_vjp((gw, gV), values, vectors, None if unread != () else (), xp)[0]


def eigh_joint(
    g: Cotangents, a: RawArray, values: RawArray, vectors: RawArray, first: RawArray, lower: bool,
    unread: tuple[Any, ...] | None, limits: Any, xp: Namespace,
) -> Any:  # fmt: skip
    """Return the cotangent of the Hermitian matrix a, given those of eigenvalues and eigenvectors."""
    g = g[:2]
    matrix = read_structure(a, "hermitian", lower, xp)
    unread = tuple(unread[:2]) if unread else unread
    found = eigh_back(g, values, vectors, matrix, first, unread, xp, limits)
    return (pull_structure(found, "hermitian", lower, xp),)


def generalised_joint(
    g: Cotangents, a: RawArray, b: RawArray, values: RawArray, vectors: RawArray, first: RawArray,
    lower: bool, unread: tuple[Any, ...] | None, xp: Namespace,
) -> Any:  # fmt: skip
    """Return the cotangents of a and b for the generalized problem a v = w b v, given those of w and v.

    With b = L L^H, w and L^H v are the eigenvalues and eigenvectors of L^-1 a L^-H.
    """
    gw, gV, _ = g
    factor, matrix = reduce_generalised(a, b, lower, xp)
    turned = adjoint(factor, xp) @ vectors
    to_turned = None if gV is None else xp.linalg.solve(factor, gV)
    unread = None if unread != () else ()
    inner = eigh_back((gw, to_turned), values, turned, matrix, first, unread, xp)
    back = adjoint(factor, xp)
    half = xp.linalg.solve(back, inner)

    def to_hermitian() -> Any:
        return adjoint(xp.linalg.solve(back, adjoint(half, xp)), xp)

    def to_b() -> Any:
        to_factor = -2.0 * (half @ matrix)
        if to_turned is not None:
            to_factor = to_factor - vectors @ adjoint(to_turned, xp)
        return rules.cholesky_vjp(xp.tril(to_factor), factor, False, xp)

    return (
        Lazy(lambda: pull_structure(to_hermitian(), "hermitian", lower, xp)),
        Lazy(lambda: pull_structure(to_b(), "hermitian", lower, xp)),
    )


def eigh_of(name: str, generalised: bool, joint: Callable[..., Any]) -> LibraryOp:
    """Return an op that runs SciPy's ``eigh`` for a v = w v or, if ``generalised``, a v = w b v.

    name : the op's name.  joint : the rule that returns the cotangents of the op's inputs.  The op has
    a third result, the index ``first``, which the rule needs.
    """

    def compute_eigh(
        arrays: tuple[NumpyData, ...], lower: bool, selection: tuple[Any, Any], check_finite: bool,
        driver: str | None,
    ) -> Any:  # fmt: skip
        index, value = selection
        options = {"lower": lower, "check_finite": check_finite}
        values, vectors = scipy.linalg.eigh(
            *arrays, subset_by_index=index, subset_by_value=value, driver=driver, **options
        )
        first = 0 if index is None else index[0]
        if value is not None:
            every = scipy.linalg.eigh(*arrays, eigvals_only=True, **options)
            first = int(np.sum(every <= value[0]))
        return values, vectors, np.full(values.shape[:-1], first)

    return library_op(
        name,
        (lambda a, b, lower=True, selection=(None, None), check_finite=True, driver=None:
            compute_eigh((a, b), lower, selection, check_finite, driver)) if generalised else
        (lambda a, lower=True, selection=(None, None), check_finite=True, driver=None:
            compute_eigh((a,), lower, selection, check_finite, driver)),
        joint=joint, outputs=("values", "vectors", "first"), cores=[2, 2] if generalised else [2],
        saves=NONE_UNREAD if generalised else NO_LIMITS,
        cusped=False if generalised else lambda kept: spectral.nearly_coincide(kept("values")),
    )  # fmt: skip


EIGH = eigh_of("scipy.linalg.eigh", False, eigh_joint)
EIGH_B = eigh_of("scipy.linalg.eigh with b", True, generalised_joint)


def values_rule(g: RawArray, a: RawArray, lower: bool, xp: Namespace) -> Any:
    """Return the cotangent of the Hermitian matrix a, given that of its eigenvalues, g."""
    matrix = read_structure(a, "hermitian", lower, xp)
    return pull_structure(spectral.eigvalsh_vjp(g, matrix, xp), "hermitian", lower, xp)


eigvalsh_op = library_op(
    "scipy.linalg.eigvalsh",
    lambda a, lower=True, check_finite=True, driver=None: scipy.linalg.eigh(
        a, lower=lower, eigvals_only=True, check_finite=check_finite, driver=driver
    ),
    values_rule,
    cores=[2],
)
eigvalsh_b_op = library_op(
    "scipy.linalg.eigvalsh with b",
    lambda a, b, lower=True, check_finite=True, driver=None: scipy.linalg.eigh(
        a, b, lower=lower, eigvals_only=True, check_finite=check_finite, driver=driver
    ),
    joint=lambda g, a, b, lower, xp: generalised_values(g, a, b, lower, xp),
    cores=[2, 2],
)


def generalised_values(g: RawArray, a: RawArray, b: RawArray, lower: bool, xp: Namespace) -> Any:
    """Return the cotangents of a and b, given that of the eigenvalues w of a v = w b v, g.

    With v^H b v = 1, they are v diag(g) v^H and -v diag(g w) v^H.
    """
    factor, matrix = reduce_generalised(a, b, lower, xp)
    values, turned = xp.linalg.eigh(matrix)
    vectors = xp.linalg.solve(adjoint(factor, xp), turned)
    g = spectral.beside_values(g, values)

    def between_vectors(weights: RawArray) -> Any:
        whole = rules.symmetric((vectors * weights[..., None, :]) @ adjoint(vectors, xp), xp)
        return pull_structure(whole, "hermitian", lower, xp)

    return Lazy(lambda: between_vectors(g)), Lazy(lambda: -between_vectors(g * values))


@hooks("scipy.linalg", "eigh")
def eigh(
    a: ArrayInput, b: ArrayInput | None = None, *, lower: bool = True, eigvals_only: bool = False,
    overwrite_a: bool = False, overwrite_b: bool = False, type: int = 1, check_finite: bool = True,
    subset_by_index: tuple[int, int] | None = None, subset_by_value: tuple[float, float] | None = None,
    driver: str | None = None,
) -> Any:  # fmt: skip
    if type != 1 and b is not None:
        raise no_rule("scipy.linalg.eigh", f"type={type}")
    arrays = [operand_of(a)] if b is None else [operand_of(a), operand_of(b)]
    how = {"lower": bool(lower), "check_finite": check_finite, "driver": driver}
    if subset_by_index is None and subset_by_value is None:
        if eigvals_only:
            return (eigvalsh_op if b is None else eigvalsh_b_op)(*arrays, **how)
        selection: Any = (None, None)
    elif eigvals_only:
        raise no_rule("scipy.linalg.eigh", "a subset of the eigenvalues alone")
    else:
        selection = tuple(
            None if s is None else tuple(s) for s in (subset_by_index, subset_by_value)
        )
    return tuple((EIGH if b is None else EIGH_B)(*arrays, selection=selection, **how))[:2]


@hooks("scipy.linalg", "eigvalsh")
def eigvalsh(a: ArrayInput, b: ArrayInput | None = None, **options: Any) -> Any:
    return eigh(a, b, eigvals_only=True, **options)


# --- general matrices -----------------------------------------------------------------------------
eig_op = function_op(
    "scipy.linalg.eig", arrays=["a"], outputs=("values", "vectors"), cores=[2], saves=NONE_UNREAD,
    joint=lambda g, values, vectors, unread, xp: spectral.eig_vjp(
        g, values, complex_vectors(vectors, xp), unread, xp
    ),
)  # fmt: skip
eigvals_op = function_op(
    "scipy.linalg.eigvals", lambda g, a, xp: spectral.eigvals_vjp(g, a, xp), arrays=["a"], cores=[2]
)


def complex_vectors(vectors: RawArray, xp: Namespace) -> Any:
    """Return eigenvectors as complex numbers; SciPy's are real if all eigenvalues are real."""
    return vectors if xp.isdtype(vectors.dtype, "complex floating") else vectors + 0j


@hooks("scipy.linalg", "eig")
def eig(
    a: ArrayInput, b: ArrayInput | None = None, left: bool = False, right: bool = True,
    overwrite_a: bool = False, overwrite_b: bool = False, check_finite: bool = True,
    homogeneous_eigvals: bool = False,
) -> Any:  # fmt: skip
    for option, given in (("b=", b is not None), ("left=True", left),
                          ("homogeneous_eigvals=True", homogeneous_eigvals)):  # fmt: skip
        if given:
            raise no_rule("scipy.linalg.eig", option)
    if not right:
        return eigvals_op(operand_of(a), check_finite=check_finite)
    return tuple(eig_op(operand_of(a), check_finite=check_finite))


@hooks("scipy.linalg", "eigvals")
def eigvals(
    a: ArrayInput, b: ArrayInput | None = None, overwrite_a: bool = False, check_finite: bool = True,
    homogeneous_eigvals: bool = False,
) -> Any:  # fmt: skip
    return eig(
        a, b, right=False, check_finite=check_finite, homogeneous_eigvals=homogeneous_eigvals
    )


# --- banded and tridiagonal matrices ----------------------------------------------------------------
def banded_joint(
    g: Cotangents, a_band: RawArray, values: RawArray, vectors: RawArray, lower: bool,
    unread: tuple[Any, ...] | None, xp: Namespace,
) -> Any:  # fmt: skip
    """Return the cotangent of ``a_band``, the diagonals of a Hermitian matrix as rows.

    g : the cotangents of the eigenvalues and eigenvectors of the matrix.

    The result has the diagonals of the cotangent of the whole matrix, by the rule of ``eigh``.
    """
    found = spectral.eigh_vjp(g, values, vectors, unread, xp)[0]
    return (matrix_to_band(pull_structure(found, "hermitian", lower, xp), a_band, lower, xp),)


def banded_values(g: RawArray, a_band: RawArray, lower: bool, xp: Namespace) -> Any:
    """Return the cotangent of ``a_band``, the diagonals of a Hermitian matrix as rows.

    g : the cotangent of the eigenvalues of the matrix.

    The result has the diagonals of the cotangent of the whole matrix, by the rule of ``eigvalsh``.
    """
    matrix = read_structure(band_to_matrix(a_band, lower, xp), "hermitian", lower, xp)
    found = pull_structure(spectral.eigvalsh_vjp(g, matrix, xp), "hermitian", lower, xp)
    return matrix_to_band(found, a_band, lower, xp)


eig_banded_op = function_op(
    "scipy.linalg.eig_banded", arrays=["a_band"], options=["lower"], joint=banded_joint,
    outputs=("values", "vectors"), cores=[2], saves=NONE_UNREAD,
)  # fmt: skip
eigvals_banded_op = function_op(
    "scipy.linalg.eigvals_banded", banded_values, arrays=["a_band"], options=["lower"], cores=[2]
)


@hooks("scipy.linalg", "eig_banded")
def eig_banded(
    a_band: ArrayInput, lower: bool = False, eigvals_only: bool = False, overwrite_a_band: bool = False,
    select: str | int = "a", select_range: tuple[float, float] | None = None, max_ev: int = 0,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    if select not in ("a", "all", 0):
        raise no_rule("scipy.linalg.eig_banded", f"select={short_repr(select)}")
    how = {"lower": bool(lower), "check_finite": check_finite}
    if eigvals_only:
        return eigvals_banded_op(operand_of(a_band), **how)
    return tuple(eig_banded_op(operand_of(a_band), **how))


@hooks("scipy.linalg", "eigvals_banded")
def eigvals_banded(a_band: ArrayInput, *args: Any, **options: Any) -> Any:
    names = ("lower", "overwrite_a_band", "select", "select_range", "check_finite")
    given = dict(zip(names, args, strict=False)) | options
    return eig_banded(a_band, eigvals_only=True, **given)


def tridiagonal(d: RawArray, e: RawArray, xp: Namespace) -> Any:
    return xp.stack([d, xp.concat([e, xp.zeros_like(d[..., :1])], axis=-1)], axis=-2)


def tridiagonal_joint(
    g: Cotangents, d: RawArray, e: RawArray, values: RawArray, vectors: RawArray,
    unread: tuple[Any, ...] | None, xp: Namespace,
) -> Any:  # fmt: skip
    (band,) = banded_joint(g, tridiagonal(d, e, xp), values, vectors, True, unread, xp)
    return band[..., 0, :], band[..., 1, :-1]


def tridiagonal_values(g: RawArray, d: RawArray, e: RawArray, xp: Namespace) -> Any:
    band = banded_values(g, tridiagonal(d, e, xp), True, xp)
    return band[..., 0, :], band[..., 1, :-1]


tridiagonal_op = function_op(
    "scipy.linalg.eigh_tridiagonal", arrays=["d", "e"], options=["tol"], joint=tridiagonal_joint,
    outputs=("values", "vectors"), cores=[1, 1], saves=NONE_UNREAD,
)  # fmt: skip
tridiagonal_values_op = function_op(
    "scipy.linalg.eigvalsh_tridiagonal", arrays=["d", "e"], options=["tol"],
    joint=tridiagonal_values, cores=[1, 1],
)  # fmt: skip


@hooks("scipy.linalg", "eigh_tridiagonal")
def eigh_tridiagonal(
    d: ArrayInput, e: ArrayInput, eigvals_only: bool = False, select: str | int = "a",
    select_range: tuple[float, float] | None = None, check_finite: bool = True, tol: float = 0.0,
    lapack_driver: str = "auto",
) -> Any:  # fmt: skip
    if select not in ("a", "all", 0):
        raise no_rule("scipy.linalg.eigh_tridiagonal", f"select={short_repr(select)}")
    how = {"check_finite": check_finite, "tol": tol, "lapack_driver": lapack_driver}
    if eigvals_only:
        return tridiagonal_values_op(operand_of(d), operand_of(e), **how)
    return tuple(tridiagonal_op(operand_of(d), operand_of(e), **how))


@hooks("scipy.linalg", "eigvalsh_tridiagonal")
def eigvalsh_tridiagonal(d: ArrayInput, e: ArrayInput, *args: Any, **options: Any) -> Any:
    names = ("select", "select_range", "check_finite", "tol", "lapack_driver")
    given = dict(zip(names, args, strict=False)) | options
    return eigh_tridiagonal(d, e, eigvals_only=True, **given)
