"""Differentiate minima and roots that scikit-learn's solvers find, with respect to data and parameters.

The unknowns of a fit are called parts: a dict of named arrays.  scikit-learn's solver stops before the
exact solution; with LogisticRegression's default tolerance, the relative distance is 1e-2.  The value
stays scikit-learn's.  The derivative is taken at the exact solution, which Newton's method finds from
there.  A result that is farther than ``FAR`` from the exact solution is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import arraytape

from ... import implicit
from ..._array.array import Array
from ..._util.errors import user_line
from .._plain import plain_data

Parts = dict[str, Array]
Masks = Mapping[str, Any]
Function = Callable[..., Any]

FAR = 0.1  # a fit that is farther from the exact solution, relative to its size, is refused
OF_A_FIT = (
    "lower the fit's tol, raise its max_iter, or change what leaves its solution open, such as a "
    "penalty of 0, features that depend on each other, or a parameter too many"
)


class Packing:
    """The unknowns of a fit: named arrays, whose free elements stand in one vector.

    Solvers need one vector.  The elements that are not free are constants.

    start : the arrays, as NumPy data.
    free : masks of the free elements by name; an array without a mask is free.
    """

    def __init__(self, start: Mapping[str, Any], free: Masks) -> None:
        self.start = {name: np.asarray(value, dtype=np.float64) for name, value in start.items()}
        masks = [np.broadcast_to(free.get(name, True), x.shape) for name, x in self.start.items()]
        self.all = np.concatenate([np.zeros(0), *[x.reshape(-1) for x in self.start.values()]])
        self.free = np.concatenate([np.zeros(0, dtype=bool), *[mask.reshape(-1) for mask in masks]])

    def unpack_vector(self, vector: Array) -> Parts:
        """Return the named arrays: free elements from ``vector``, all others from ``start``."""
        place = np.where(
            self.free, np.cumsum(self.free) - 1, np.cumsum(~self.free) - 1 + vector.shape[0]
        )
        held = arraytape.asarray(self.all[~self.free])
        whole = arraytape.take(arraytape.concat([vector, held]), arraytape.asarray(place))
        parts, at = {}, 0
        for name, x in self.start.items():
            parts[name] = arraytape.reshape(whole[at : at + x.size], x.shape)
            at += x.size
        return parts


def minimum_of_parts(
    objective: Function, start: Mapping[str, Any], *theta: Array, free: Masks | None = None,
    least: float = 0.0,
) -> Parts:  # fmt: skip
    """Return the named arrays ``parts`` that minimise ``objective(parts, *theta)``.

    start : scikit-learn's solution, a dict of arrays.
    theta : Arrays with respect to which the solution gets derivatives.
    free : masks of the elements that vary; the others keep their values in ``start``.
    least : a solution smaller than this counts as this large in its relative distance from ``start``.
    """
    packing = Packing(start, free or {})

    def objective_of_vector(vector: Array, *theta: Array) -> Any:
        return objective(packing.unpack_vector(vector), *theta)

    return solve_packed(implicit.minimum, objective_of_vector, packing, theta, least)


def root_of_parts(
    residual: Function, start: Mapping[str, Any], *theta: Array, free: Masks | None = None,
    least: float = 0.0,
) -> Parts:  # fmt: skip
    """Return the named arrays ``parts`` for which all Arrays in ``residual(parts, *theta)`` are 0.

    start, theta, free, least : as in ``minimum_of_parts``.
    """
    packing = Packing(start, free or {})

    def residual_of_vector(vector: Array, *theta: Array) -> Array:
        parts = residual(packing.unpack_vector(vector), *theta)
        return arraytape.concat([arraytape.reshape(part, (-1,)) for part in parts])

    return solve_packed(implicit.root, residual_of_vector, packing, theta, least)


def solve_packed(
    solve: Function, function: Function, packing: Packing, theta: Sequence[Array], least: float = 0.0,
) -> Parts:  # fmt: skip
    near = packing.all[packing.free]
    if not near.size:
        return packing.unpack_vector(arraytape.zeros(0, dtype=arraytape.float64))
    try:
        found = solve(function, near, *theta, solver=lambda x0, *_: x0, polish=True)
    except implicit.NotASolution as error:
        # The advice and the name in the error are about a solver that the user calls.
        fact = str(error).partition(" [at ")[0].partition(": ")[2]
        raise implicit.NotASolution(f"{OF_A_FIT}: {fact} [at {user_line()}]") from error
    data = plain_data(found)
    distance = np.max(np.abs(data - near)) / np.max(np.abs(data), initial=max(least, 1e-300))
    if not distance <= FAR:
        raise implicit.NotASolution(
            f"the fit stopped {distance:.0%} away from the solution that is differentiated: "
            f"lower tol, or raise max_iter; above {FAR:.0%} it is refused [at {user_line()}]"
        )
    return packing.unpack_vector(found)
