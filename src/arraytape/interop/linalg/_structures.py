"""Structured matrices: SciPy reads a part of an argument, such as one triangle, as the whole matrix.

``read_structure`` returns the whole matrix.  ``given_back``, its transpose, gives elements that are not
read the cotangent 0, and elements that are read twice the sum of both cotangents.
"""

from __future__ import annotations

from typing import Any

from ..._array.paths import sum_to
from ..._storage.storage import is_complex
from ..._util.array_types import Namespace, RawArray
from ...ops._factorisations import adjoint, diagonal_part, on_diagonal

# The structure for each value of ``assume_a``.
ASSUMED = {
    None: "general", "gen": "general", "general": "general", "banded": "general",
    "diagonal": "diagonal", "tridiagonal": "tridiagonal",
    "lower triangular": "lower", "upper triangular": "upper",
    "pos": "hermitian", "positive definite": "hermitian", "her": "hermitian",
    "hermitian": "hermitian", "sym": "symmetric", "symmetric": "symmetric",
}  # fmt: skip


def read_structure(a: RawArray, structure: str, lower: bool, xp: Namespace) -> Any:
    """Return the matrix that is read from ``a``; ``lower`` says which triangle a symmetric one is in."""
    if structure in ("hermitian", "symmetric"):
        across = adjoint(a, xp) if structure == "hermitian" else xp.matrix_transpose(a)
        half = xp.tril(a, k=-1) if lower else xp.triu(a, k=1)
        other = xp.triu(across, k=1) if lower else xp.tril(across, k=-1)
        return half + other + own_diagonal(a, structure, xp)
    return structured_elements(a, structure, xp)


def given_back(g: RawArray, structure: str, lower: bool, xp: Namespace) -> Any:
    """Return the argument's cotangent for the cotangent of the matrix that was read from it."""
    if structure in ("hermitian", "symmetric"):
        across = adjoint(g, xp) if structure == "hermitian" else xp.matrix_transpose(g)
        both = xp.tril(g + across, k=-1) if lower else xp.triu(g + across, k=1)
        return both + own_diagonal(g, structure, xp)
    return structured_elements(g, structure, xp)


def own_diagonal(x: RawArray, structure: str, xp: Namespace) -> Any:
    """Return the diagonal that is read; SciPy reads the real part if the matrix is Hermitian."""
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


# --- right-hand sides: the rules take a vector as a matrix of one column ---------------------------
def as_columns(b: RawArray, *values: Any) -> list[Any]:
    """Return values with vectors as columns if the right-hand side b is a vector."""
    return [x[..., None] if len(b.shape) == 1 else x for x in values]


def as_given(u: RawArray, b: RawArray, xp: Namespace) -> Any:
    """Return the cotangent of b from its columns' cotangent, summed over broadcast axes."""
    return sum_to(u[..., 0] if len(b.shape) == 1 else u, b.shape, xp)
