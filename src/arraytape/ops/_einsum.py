"""Compute einsum by recorded ops, such as matmul, whose derivatives are known.

A term is an operand with a letter for each axis.  Each step replaces two terms by their product, summed
over the letters that neither the result nor another term has.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._array.array import IS_VIEW, Array
from .._array.paths import DIAGONAL
from .._array.views import current, in_order, location, refresh, with_axes_in_memory
from .._util.errors import describe, short_repr, user_line
from .data_type_functions import astype
from .linear_algebra_functions import matmul
from .manipulation_functions import moveaxis, permute_dims, reshape, view_or_frozen_copy
from .statistical_functions import sum

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
Term = tuple[Array, str]  # an operand, and a letter for each of its axes
Path = bool | str | Sequence[Any]  # numpy.einsum's ``optimize``


def in_one_dtype(arrays: Sequence[Array]) -> Sequence[Array]:
    """Return einsum's operands, cast to the dtype of the result if that is floating-point.

    Without the cast, a product of float32 operands would be rounded before a float64 operand enters.
    """
    common = np.result_type(*[x.dtype for x in arrays])
    if common.kind not in "fc":
        return arrays
    return [x if x.dtype == common else astype(x, common) for x in arrays]


def contract_terms(subscripts: str, arrays: Sequence[Array], optimize: Path) -> Array:
    """Return ``einsum(subscripts, *arrays)``; ``optimize`` sets the order of products as in NumPy."""
    inputs, output = split_subscripts(subscripts, arrays)
    same = in_one_dtype(arrays)
    terms = [merge_equal_letters(x, letters) for x, letters in zip(same, inputs, strict=True)]
    lengths = {
        c: n for x, letters in terms for c, n in zip(letters, x.shape, strict=True) if n != 1
    }
    for x, letters in terms:
        if any(n not in (1, lengths.get(c, 1)) for c, n in zip(letters, x.shape, strict=True)):
            raise ValueError(
                f"einsum: the lengths in {short_repr(subscripts)} do not agree: {describe([*arrays])} "
                f"[at {user_line()}]"
            )
    if not {*output} <= {*"".join(inputs)} or len({*output}) < len(output):
        raise ValueError(
            f"einsum: {short_repr(output)} is no output of {short_repr(subscripts)} [at {user_line()}]"
        )

    # Axes of length 1 are removed, so that the others broadcast.  The last reshape restores such axes.
    terms = [without_ones(term) for term in terms]
    path = product_order(subscripts, arrays, optimize)
    for places in path:
        factors = [terms[i] for i in places]
        terms = [term for i, term in enumerate(terms) if i not in places]
        while len(factors) > 1:
            others = {*output}.union(*(letters for _, letters in (*terms, *factors[2:])))
            factors = [term_product(factors[0], factors[1], others), *factors[2:]]
        terms.append(factors[0])
    if len(terms) > 1:
        raise RuntimeError(
            f"einsum: the path {optimize} leaves {len(terms)} factors of {short_repr(subscripts)} "
            f"[at {user_line()}]; each step must list the positions of all factors that it multiplies"
        )
    x, letters = sum_lone_axes(terms[0], {*output})
    left = [c for c in output if c in letters]
    x = permute_dims(x, tuple([letters.index(c) for c in left])) if left else x
    if len(left) < len(output):
        x = reshape(x, tuple([lengths[c] if c in left else 1 for c in output]))
    if len(arrays) == 1 and {*inputs[0]} == {*output}:  # nothing is summed: a view, as in NumPy
        return x
    return einsum_layout(x, subscripts, arrays, path if optimize else None)


def einsum_layout(
    x: Array, subscripts: str, arrays: Sequence[Array], path: list[tuple[int, ...]] | None
) -> Array:
    """Return x, einsum's result, in the memory layout that numpy.einsum's result would have.

    path : the order of the products, as numpy.einsum gets it, or None.

    The layout depends only on the order of the operands' strides.  So the function finds the layout by
    calling numpy.einsum on small corners of the operands, of length 2 along each axis.
    """
    roots = [location(operand)[0] for operand in arrays]
    shared = x._state & IS_VIEW and any(location(x)[0] is root for root in roots)
    data = [current(operand)[1] for operand in arrays]
    if x.ndim < 2 or not x.size or any(type(part) is not np.ndarray for part in data):
        return in_order(x, "C") if shared else x
    corners = [part[(slice(2),) * part.ndim] for part in data]  # views keep the operands' strides
    like: Any = np.einsum(subscripts, *corners, optimize=["einsum_path", *path] if path else False)
    steps = [stride if n > 1 else 0 for stride, n in zip(like.strides, like.shape, strict=True)]
    given = refresh(x) if x._state & IS_VIEW else x._data
    if not shared and strides_follow(given.strides, steps):
        return x
    return with_axes_in_memory(x, tuple(sorted(range(x.ndim), key=lambda i: -steps[i])))


def strides_follow(strides: Sequence[int], steps: Sequence[int]) -> bool:
    """Return True if the order of the axes in memory is the same by ``strides`` as by ``steps``.

    Each has a number for each axis.  Axes whose step is 0 are ignored.
    """
    ordered = sorted((step, stride) for step, stride in zip(steps, strides, strict=True) if step)
    return all(a[1] <= b[1] for a, b in itertools.pairwise(ordered))


def split_subscripts(subscripts: str, arrays: Sequence[Array]) -> tuple[list[str], str]:
    """Return the letters of each operand, and those of the result: "ij,jk->ik" is ["ij", "jk"], "ik".

    Unused letters replace an ellipsis.  Without "->", the result has the letters that occur once.
    """
    if not isinstance(subscripts, str) or not arrays:
        raise TypeError(
            f"einsum: needs subscripts such as 'ij,jk->ik' and operands, got {describe(subscripts)} "
            f"and {len(arrays)} operands [at {user_line()}]"
        )
    left, arrow, right = subscripts.replace(" ", "").partition("->")
    inputs = left.split(",")
    if len(inputs) != len(arrays):
        raise ValueError(
            f"einsum: {short_repr(subscripts)} has {len(inputs)} operands, but {len(arrays)} were given "
            f"[at {user_line()}]"
        )
    free = [c for c in LETTERS if c not in subscripts]
    extra = [
        x.ndim - len(letters.replace("...", "")) if "..." in letters else 0
        for x, letters in zip(arrays, inputs, strict=True)
    ]
    most = "".join(free[: max(extra)])
    inputs = [
        letters.replace("...", most[len(most) - n :])
        for letters, n in zip(inputs, extra, strict=True)
    ]
    for x, letters in zip(arrays, inputs, strict=True):
        if len(letters) != x.ndim or not {*letters} <= {*LETTERS}:
            raise ValueError(
                f"einsum: {short_repr(letters)} of {short_repr(subscripts)} does not fit {describe(x)} "
                f"[at {user_line()}]"
            )
    if arrow:
        return inputs, right.replace("...", most)
    once = [c for c in sorted({*left} & {*LETTERS}) if left.count(c) == 1]
    return inputs, most + "".join(once)


def merge_equal_letters(x: Array, letters: str) -> Term:
    """Return x as a term (array, letters) without repeated letters: of "ii", the diagonal is taken.

    letters : the letters of x's axes in einsum's subscripts.
    """
    for c in dict.fromkeys(letters):
        while letters.count(c) > 1:
            i = letters.index(c)
            j = letters.index(c, i + 1)
            if x.shape[i] != x.shape[j]:
                raise ValueError(
                    f"einsum: the axes {short_repr(c)} of {describe(x)} differ [at {user_line()}]"
                )
            rest = [k for k in range(x.ndim) if k not in (i, j)]
            x = view_or_frozen_copy(permute_dims(x, (*rest, i, j)), DIAGONAL, 0)
            x = moveaxis(x, -1, i)
            letters = letters[:j] + letters[j + 1 :]
    return x, letters


def without_ones(term: Term) -> Term:
    """Return a term (an array, and a letter for each axis) without its axes of length 1."""
    x, letters = term
    if 1 not in x.shape:
        return term
    kept = "".join([c for c, n in zip(letters, x.shape, strict=True) if n != 1])
    return reshape(x, tuple([n for n in x.shape if n != 1])), kept


def product_order(
    subscripts: str, arrays: Sequence[Array], optimize: Path
) -> list[tuple[int, ...]]:
    """Return the order of einsum's products: for each step, the positions of the terms to multiply.

    As in NumPy's ``einsum_path``, a step removes these terms from the list and appends their product.
    """
    if not optimize or len(arrays) < 3:
        return [tuple(range(len(arrays)))]
    shapes = [np.broadcast_to(0.0, x.shape) for x in arrays]
    path = optimize if isinstance(optimize, list) else None
    found = path or np.einsum_path(subscripts, *shapes, optimize=optimize)[0]
    return [tuple(step) for step in found if not isinstance(step, str)]


def sum_lone_axes(term: Term, kept: set[str]) -> Term:
    """Return a term (an array, and a letter for each axis), summed over axes not in ``kept``.

    kept : the letters of the axes that remain.
    """
    x, letters = term
    alone = tuple([i for i, c in enumerate(letters) if c not in kept])
    if not alone:
        return term
    return sum(x, axis=alone), "".join(c for c in letters if c in kept)


def term_product(first: Term, second: Term, others: set[str]) -> Term:
    """Return the product of two terms, arrays with letters, summed over letters not in ``others``.

    It is computed by ``matmul``: letters in both terms and in ``others`` become axes of stacks, and
    letters that are summed become the inner axis.

    others : the letters of all other terms and of the result.
    """
    a, in_a = sum_lone_axes(first, others | {*second[1]})
    b, in_b = sum_lone_axes(second, others | {*in_a})
    both = [c for c in in_a if c in in_b and c in others]
    over = [c for c in in_a if c in in_b and c not in others]
    rows = [c for c in in_a if c not in in_b]
    columns = [c for c in in_b if c not in in_a]
    length = dict(zip(in_a + in_b, a.shape + b.shape, strict=True))

    def matrix_operand(x: Array, letters: str, *groups: list[str]) -> Array:
        x = permute_dims(x, tuple([letters.index(c) for group in groups for c in group]))
        counts = [int(np.prod([length[c] for c in group], dtype=np.int64)) for group in groups[1:]]
        return reshape(x, (*[length[c] for c in groups[0]], *counts))

    found = matrix_operand(a, in_a, both, rows, over), matrix_operand(b, in_b, both, over, columns)
    z = matmul(*found) if over else found[0] * found[1]
    letters = [*both, *rows, *columns]
    return reshape(z, tuple([length[c] for c in letters])), "".join(letters)
