"""A pass that factors a large matrix only once if several calls (solve, inv, slogdet) use the matrix.

The factors are those of LAPACK, called through SciPy.  Without SciPy, the program stays as it is.  The
last bits may differ from NumPy's, which factors the matrix in each call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._storage import numpy_namespace, standard
from ..._storage.decompositions import LOWER, Definite, Elimination, Triangle, decomposed, libraries
from ..._storage.factors import LEAST
from ..._util.array_types import RawArray
from ..program import Node, Program
from .nodes import like
from .simplify import mapped

SOLVE, SLOGDET, INVERSE, AGAIN = "linalg.solve", "linalg.slogdet", "linalg.inv", "inverse_again"
FACTORING = (SOLVE, SLOGDET, INVERSE, AGAIN)


def factored(program: Program) -> Program:
    """Return the program with one factorization for each large matrix that several calls use.

    A ``solve`` with a Cholesky factor becomes a triangular solve, also if it is the only call.
    """
    asked = [node for node in program.nodes if node.op in FACTORING and is_large(node)]
    if not asked or libraries() is None:
        return program
    count = Counter(matrix_of(node)[0] for node in asked)
    again = {node for node in asked if count[matrix_of(node)[0]] > 1}
    factors: dict[Node, Node] = {}

    def new_of(node: Node, old: Node) -> Node:
        if node.op not in FACTORING or not is_large(node):
            return node
        x, turned = matrix_of(node)
        if node.op == SOLVE and x.op == "linalg.cholesky" and not x.keywords.get("upper"):
            return like(node, "solve_triangular", solve_triangular, x, node.args[1], turned)
        if old not in again:
            return node
        known = factors.setdefault(x, Node("factors_of", factors_of, (x,)))
        return by_factors(node, known, turned)

    return mapped(program, new_of)


def by_factors(node: Node, known: Node, turned: bool) -> Node:
    """Return a node that computes a solve, slogdet or inv from the matrix's factors ``known``.

    turned : whether the call uses the transpose of the factored matrix.
    """
    if node.op == SOLVE:
        return like(node, "solve_factored", solve_factored, known, node.args[1], turned)
    if node.op == SLOGDET:
        return like(node, "slogdet_factored", slogdet_factored, known)
    return like(node, "inverse_factored", inverse_factored, known, *node.args, turned)


def is_large(node: Node) -> bool:
    """Return True for a call on a large square float64 matrix; in a solve, b must be float64, too.

    For such a matrix a second factorization costs more than it costs to keep the factors.
    """
    a, *more = node.args
    if any(type(x) is not Node for x in node.args) or node.keywords:
        return False
    plain = len(a.shape) == 2 and a.dtype == np.float64 and a.shape[0] == a.shape[1] >= LEAST
    if node.op != SOLVE:
        return plain
    (b,) = more
    return plain and len(b.shape) <= 2 and b.dtype == np.float64 and b.size > 0


def matrix_of(node: Node) -> tuple[Node, bool]:
    """Return the matrix of a solve, inv or slogdet, so that calls with x and x.T share its factors.

    The result is (x, turned): the operand is x or, if ``turned``, the transpose of x.
    """
    a, turned = node.args[0], False
    while a.op == "matrix_transpose" or (a.op == "permute_dims" and a.args[1:] == ((1, 0),)):
        a, turned = a.args[0], not turned
    return a, turned


def factors_of(a: np.ndarray[Any, Any]) -> Definite | Elimination:
    """Return Cholesky factors of a symmetric positive definite matrix, else LU factors."""
    return decomposed(a, bool((a == a.T).all()))


def solve_factored(known: Definite | Elimination, b: RawArray, turned: bool) -> Any:
    return in_columns(lambda columns: known.solve_system(columns, turned), b)


def slogdet_factored(known: Definite | Elimination) -> Any:
    return known.slogdet()


def inverse_factored(known: Definite | Elimination, a: RawArray, *given: Any) -> Any:
    """Return the inverse of a matrix, computed from its Cholesky or LU factors ``known``.

    a : the matrix in the original call, of ``inv`` or ``inverse_again``.
    given : for ``inverse_again``, a mask that is True for a singular matrix, whose result is a unit
        matrix; last, ``turned``: True to invert the transpose of the factored matrix.
    """
    *singular, turned = given
    if singular and singular[0].any():
        return standard.inverse_again(a, singular[0], numpy_namespace)
    found = known.check_singular().invert_matrix()
    return np.ascontiguousarray(found.T if turned else found)


def solve_triangular(a: np.ndarray[Any, Any], b: RawArray, turned: bool) -> Any:
    """Return x for ``a @ x = b``, or ``a.T @ x = b`` if ``turned``, where a is lower triangular."""
    return in_columns(lambda columns: Triangle(a, LOWER).solve_system(columns, turned), b)


def in_columns(solve: Callable[[Any], Any], b: RawArray) -> Any:
    """Return ``solve(b)``, C-contiguous; a vector b is passed to ``solve`` as one column."""
    found = solve(b[:, None] if b.ndim == 1 else b)
    return np.ascontiguousarray(found[:, 0] if b.ndim == 1 else found)
