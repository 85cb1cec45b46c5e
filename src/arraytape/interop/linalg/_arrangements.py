"""Record functions of scipy.linalg that arrange elements of their arguments, as in Toeplitz matrices.

SciPy's functions convert Arrays to NumPy.  Here the functions run on element numbers 1, 2, ... instead.
The result says which element goes where, and a recorded ``take`` arranges the elements.
"""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any

import numpy as np

import arraytape as xp

from .._ops import at_users_line
from .._recorded import argument_binder, import_function, operand_of, refuse_options
from .._statements import hooks, keeps_arrays


def state_arrangement(name: str, *arrays: str, conjugated: bool = False) -> None:
    """Let a function of scipy.linalg that only arranges elements of its arguments work on Arrays.

    Each element of its result is 0 or an element of an argument, at a position that depends on shapes
    alone.

    name : the function.  arrays : the names of its array parameters.
    conjugated : True if the second array is by default the conjugate of the first.
    """
    path = f"scipy.linalg.{name}"
    function = import_function(path)
    bind, defaults = argument_binder(function)
    options = [p for p in defaults if p not in arrays]

    @functools.wraps(function)
    def arrange_arguments(*args: Any, **keywords: Any) -> Any:
        given = bind(*args, **keywords)
        if conjugated and given[arrays[1]] is None:
            given[arrays[1]] = xp.conj(xp.asarray(operand_of(given[arrays[0]])))
        present = [x for x in arrays if given[x] is not defaults[x]]
        refuse_options(path, {x: given[x] for x in options}, defaults, (), options)
        parts = [operand_of(given[x]) for x in present]
        numbers = dict(zip(present, element_numbers(parts), strict=True))
        found = at_users_line(function)(**numbers, **{x: given[x] for x in options})
        return gather_elements(parts, found)

    hooks("scipy.linalg", name)(arrange_arguments)


def element_numbers(parts: list[Any]) -> list[Any]:
    """Return for each of several arrays the numbers of its elements: 1, 2, ... through all arrays.

    SciPy arranges these numbers in place of the elements.
    """
    ends = [*itertools.accumulate(math.prod(part.shape) for part in parts)]
    return [
        np.arange(end - math.prod(part.shape), end).reshape(part.shape) + 1
        for part, end in zip(parts, ends, strict=True)
    ]


def gather_elements(parts: list[Any], places: Any) -> Any:
    """Return the elements of several arrays in the arrangement that SciPy gave to their numbers.

    parts : the arrays.  places : the arranged numbers from ``element_numbers``; 0 stands for a zero.
    """
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
    return gather_elements(
        parts, import_function("scipy.linalg.block_diag")(*element_numbers(parts))
    )


# The NumPy code of these functions runs on Arrays, once ``np`` in its module is a facade.
keeps_arrays("scipy.linalg._special_matrices")  # for companion, fiedler, fiedler_companion
keeps_arrays("scipy.linalg._matfuncs")  # for khatri_rao
