"""Matrices of scipy.linalg that consist of elements of their arguments, such as Toeplitz matrices.

SciPy's function runs on the numbers 1, 2, ... of the elements; its result says which element goes where.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np

import arraytape as xp

from .._ops import at_users_line
from .._recorded import bind_arguments, of_path, operand_of
from .._statements import hooks, keeps_arrays


def state_arrangement(name: str, *arrays: str, conjugated: bool = False) -> None:
    """Hook a function whose result consists of elements of its arrays, and 0, as their shapes decide.

    conjugated : True if the second array is by default the conjugate of the first.
    """
    path = f"scipy.linalg.{name}"
    function = of_path(path)
    signature = inspect.signature(function)
    options = [p for p in signature.parameters if p not in arrays]

    @functools.wraps(function)
    def arrange_arguments(*args: Any, **keywords: Any) -> Any:
        bound = signature.bind(*args, **keywords)
        given = dict(bound.arguments)
        if conjugated and given.get(arrays[1]) is None:
            given[arrays[1]] = xp.conj(xp.asarray(operand_of(given[arrays[0]])))
        given = bind_arguments(
            path, signature, (), given, [x for x in arrays if x in given], options
        )
        parts = {x: operand_of(given[x]) for x in arrays if given.get(x) is not None}
        return arrange(function, parts, {x: given[x] for x in options if x in given})

    hooks("scipy.linalg", name)(arrange_arguments)


def arrange(function: Callable[..., Any], parts: dict[str, Any], options: dict[str, Any]) -> Any:
    """Return the arrays' elements, and 0, in the order in which the function puts their numbers."""
    numbers, start = {}, 1
    for name, part in parts.items():
        count = math.prod(part.shape)
        numbers[name] = np.arange(start, start + count).reshape(part.shape)
        start += count
    return gather_elements([*parts.values()], at_users_line(function)(**numbers, **options))


def gather_elements(parts: list[Any], places: Any) -> Any:
    """Return for each place p > 0 the p-th element of all parts together, and 0 for the place 0."""
    flat = xp.concat([xp.asarray(part) for part in parts], axis=None)
    if 0 in flat.shape:
        return xp.zeros(places.shape, dtype=flat.dtype)
    found = xp.take(flat, np.maximum(places - 1, 0).reshape(-1), axis=0)
    found = xp.reshape(found, places.shape)
    return found if (places > 0).all() else xp.where(places > 0, found, xp.zeros_like(found))


state_arrangement("circulant", "c")
state_arrangement("convolution_matrix", "a")
state_arrangement("diagsvd", "s")
state_arrangement("hankel", "c", "r")
state_arrangement("leslie", "f", "s")
state_arrangement("toeplitz", "c", "r", conjugated=True)


@hooks("scipy.linalg", "block_diag")
def block_diag(*arrs: Any) -> Any:
    parts = [operand_of(part) for part in arrs]
    numbers, start = [], 1
    for part in parts:
        count = math.prod(part.shape)
        numbers.append(np.arange(start, start + count).reshape(part.shape))
        start += count
    return gather_elements(parts, of_path("scipy.linalg.block_diag")(*numbers))


# The NumPy code of these modules runs on Arrays as it stands.
keeps_arrays("scipy.linalg._special_matrices")  # companion, fiedler, fiedler_companion
keeps_arrays("scipy.linalg._matfuncs")  # khatri_rao
