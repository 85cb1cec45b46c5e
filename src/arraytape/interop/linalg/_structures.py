"""Serve matrix arguments of which SciPy reads only a part, such as one triangle of a symmetric matrix.

``read_structure`` returns the whole matrix that SciPy computes with.  Its transpose, ``pull_structure``,
maps a cotangent of that matrix to a cotangent of the argument.  Elements that are not read get 0.
Elements that stand at two positions of the matrix get the sum of two cotangents.
"""

from __future__ import annotations

from typing import Any

from ..._array.paths import sum_to
from ..._storage.storage import is_complex
from ..._util.array_types import Namespace, RawArray
from ...ops._factorisations import adjoint, diagonal_part, on_diagonal, to_triangle

# For each value of ``assume_a`` of scipy.linalg.solve and inv, the structure of the matrix.
ASSUMED = {
    None: "general", "gen": "general", "general": "general", "banded": "general",
    "diagonal": "diagonal", "tridiagonal": "tridiagonal",
    "lower triangular": "lower", "upper triangular": "upper",
    "pos": "hermitian", "positive definite": "hermitian", "her": "hermitian",
    "hermitian": "hermitian", "sym": "symmetric", "symmetric": "symmetric",
}  # fmt: skip


def read_structure(a: RawArray, structure: str, lower: bool, xp: Namespace) -> Any:
    """Return the whole matrix with which SciPy computes, although it reads only a part of ``a``.

    structure : what SciPy assumes of the matrix, such as "symmetric".  lower : True if SciPy reads the
    lower triangle of a symmetric or Hermitian matrix.
    """
    if structure in ("hermitian", "symmetric"):
        across = adjoint(a, xp) if structure == "hermitian" else xp.matrix_transpose(a)
        half = xp.tril(a, k=-1) if lower else xp.triu(a, k=1)
        other = xp.triu(across, k=1) if lower else xp.tril(across, k=-1)
        return half + other + own_diagonal(a, structure, xp)
    return structured_elements(a, structure, xp)


def pull_structure(g: RawArray, structure: str, lower: bool, xp: Namespace) -> Any:
    """Return the cotangent of a matrix argument, given the cotangent g of ``read_structure(argument)``.

    structure, lower : as in ``read_structure``.  Elements that SciPy does not read get 0.
    """
    if structure in ("hermitian", "symmetric"):
        across = adjoint(g, xp) if structure == "hermitian" else xp.matrix_transpose(g)
        return to_triangle(g, across, lower, xp)
    return structured_elements(g, structure, xp)


def own_diagonal(x: RawArray, structure: str, xp: Namespace) -> Any:
    """Return x without its other elements than the diagonal, as SciPy reads it: real if "hermitian"."""
    diagonal = diagonal_part(x, xp)
    if structure == "hermitian" and is_complex(x):
        return xp.real(diagonal) + 0j
    return diagonal


def structured_elements(x: RawArray, structure: str, xp: Namespace) -> Any:
    if structure == "general":
        return x
    if structure == "diagonal":
        return diagonal_part(x, xp)
    if structure == "tridiagonal":
        return xp.tril(xp.triu(x, k=-1), k=1)
    return xp.tril(x) if structure == "lower" else xp.triu(x)


def with_unit_diagonal(x: RawArray, xp: Namespace) -> Any:
    return xp.where(on_diagonal(x, xp), 1.0, x)


def without_diagonal(x: RawArray, xp: Namespace) -> Any:
    return xp.where(on_diagonal(x, xp), 0.0, x)


# --- right-hand sides: rules compute with a vector as a matrix of one column ---------------------------
def as_columns(b: RawArray, *values: Any) -> list[Any]:
    """Return ``values`` as matrices; if the right-hand side b is a vector, vectors become columns."""
    return [x[..., None] if len(b.shape) == 1 else x for x in values]


def in_shape_of_b(u: RawArray, b: RawArray, xp: Namespace) -> Any:
    """Return u, the cotangent of the right-hand side b as a matrix, in the shape of b.

    The result becomes a vector if b is one, and is summed over axes along which b was broadcast.
    """
    return sum_to(u[..., 0] if len(b.shape) == 1 else u, b.shape, xp)
