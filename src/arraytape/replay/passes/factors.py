"""A pass over programs with large matrices: what is solved with a matrix again factors it once.

The factors are LAPACK's, by SciPy; without it the program stays as it is.  The last bits may differ from
those of NumPy, which factors in each call.
"""

from __future__ import annotations

import functools
from collections import Counter
from typing import Any

import numpy as np

from ..program import Node, Program
from .simplify import like, mapped, without_dead_code

LEAST = 64  # rows of a matrix
SOLVE = "linalg.solve"


def factored(program: Program) -> Program:
    """The program with each matrix factored once."""
    solves = [node for node in program.nodes if node.op == SOLVE and is_large(node)]
    if not solves or lapack() is None:
        return program
    count = Counter(matrix_of(node)[0] for node in solves)
    again = {node for node in solves if count[matrix_of(node)[0]] > 1}
    factors: dict[Node, Node] = {}
    before = iter(program.nodes)

    def new_of(node: Node) -> Node:
        old = next(before)
        if node.op != SOLVE or not is_large(node):
            return node
        (x, turned), b = matrix_of(node), node.args[1]
        if x.op == "linalg.cholesky" and not x.keywords.get("upper"):
            return like(node, "solve_triangular", solve_triangular, x, b, turned)
        if old not in again:
            return node
        known = factors.setdefault(x, Node("factors_of", factors_of, (x,)))
        return like(node, "solve_factored", solve_factored, known, b, turned)

    return without_dead_code(mapped(program, new_of))


def is_large(node: Node) -> bool:
    """Whether both sides of a system are large matrices, or a matrix and a vector."""
    a, b = node.args
    if type(a) is not Node or type(b) is not Node or node.keywords:
        return False
    plain = len(a.shape) == 2 and len(b.shape) <= 2 and a.dtype == b.dtype == np.float64
    return plain and a.shape[0] >= LEAST and b.size > 0


def matrix_of(node: Node) -> tuple[Node, bool]:
    """The matrix of a system, and whether it is transposed there."""
    a, turned = node.args[0], False
    while a.op == "matrix_transpose" or (a.op == "permute_dims" and a.args[1:] == ((1, 0),)):
        a, turned = a.args[0], not turned
    return a, turned


@functools.cache
def lapack() -> Any:
    """SciPy's LAPACK, or None."""
    try:
        from scipy.linalg import lapack as found
    except ImportError:
        return None
    return found


def factors_of(a: Any) -> Any:
    """The factors of a matrix by Gaussian elimination, the order of its rows, and where one is 0."""
    return lapack().dgetrf(a)


def solve_factored(factors: Any, b: Any, turned: bool) -> Any:
    """What ``solve`` gives for the matrix of these factors, or its transpose."""
    lu, order, zero = factors
    if zero:
        raise np.linalg.LinAlgError("Singular matrix")
    return np.ascontiguousarray(lapack().dgetrs(lu, order, b, trans=int(turned))[0])


def solve_triangular(a: Any, b: Any, turned: bool) -> Any:
    """What ``solve`` gives for a lower triangular matrix, or its transpose."""
    x, zero = lapack().dtrtrs(a, b, lower=1, trans=int(turned))
    if zero:
        raise np.linalg.LinAlgError("Singular matrix")
    return np.ascontiguousarray(x)


__all__ = ["factored"]
