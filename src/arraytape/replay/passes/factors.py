"""A pass over programs with large matrices: what is solved with a matrix again factors it once.

The factors are LAPACK's, by SciPy; without it the program stays as it is.  The last bits may differ from
those of NumPy, which factors in each call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._storage.factors import LEAST, LOWER, Elimination, libraries, over_triangle
from ..program import Node, Program
from .simplify import like, mapped, without_dead_code

SOLVE = "linalg.solve"


def factored(program: Program) -> Program:
    """The program with each matrix factored once."""
    solves = [node for node in program.nodes if node.op == SOLVE and is_large(node)]
    if not solves or libraries() is None:
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


def factors_of(a: Any) -> Elimination:
    """The factors of a matrix by Gaussian elimination."""
    return Elimination(a)


def solve_factored(known: Elimination, b: Any, turned: bool) -> Any:
    """What ``solve`` gives for the matrix of these factors, or its transpose."""
    return in_columns(lambda columns: known.solve(columns, turned), b)


def solve_triangular(a: Any, b: Any, turned: bool) -> Any:
    """What ``solve`` gives for a lower triangular matrix, or its transpose."""
    return in_columns(lambda columns: over_triangle(a, LOWER, columns, turned), b)


def in_columns(solve: Callable[[Any], Any], b: Any) -> Any:
    """A solution for columns or for a vector, in new data of C's order."""
    found = solve(b[:, None] if b.ndim == 1 else b)
    return np.ascontiguousarray(found[:, 0] if b.ndim == 1 else found)


__all__ = ["factored"]
