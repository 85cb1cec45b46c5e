"""Conversion between a nesting of arrays and one vector, for solvers that accept only vectors."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from .._array.array import Array, namespace
from .._util import nest
from .._util.errors import describe, user_line


def ravel(tree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Return the leaves of a nesting in one vector, and the function that restores the nesting.

    Both conversions are differentiable.  In JAX this function is ``jax.flatten_util.ravel_pytree``.

    Parameters
    ----------
    tree : Array or nesting
        A nesting of Arrays, NumPy arrays and floats, all real or all complex.

    Returns
    -------
    flat : Array or numpy.ndarray
        The elements of all leaves, one leaf after another, each in C order.  The dtype is the one to
        which the dtypes of the leaves promote.  ``flat`` is a NumPy array if no leaf is an Array.
    unravel : Callable
        A function of a vector with the shape of ``flat``.  It returns the nesting, with each leaf in its
        original shape and dtype.  Leaves that were Python floats get the vector's dtype.  If the vector
        is an Array, all leaves are Arrays.  If it is a NumPy array, the leaves are copies as NumPy data.

    Raises
    ------
    TypeError
        When a leaf has no floating-point dtype, or some leaves are real and some complex.  ``unravel``
        raises it when its argument is no numeric array, or is complex where ``flat`` is real.
    ValueError
        ``unravel`` raises it when the vector has another shape than ``flat``.

    Examples
    --------
    >>> import numpy as np
    >>> from arraytape import functional
    >>> flat, unravel = functional.ravel({"w": np.array([[1.0, 2.0]]), "b": 3.0})
    >>> flat
    array([1., 2., 3.])
    >>> unravel(flat * 2)
    {'w': array([[2., 4.]]), 'b': np.float64(6.0)}
    """
    xp: Any = namespace()
    leaves = nest.leaves(tree)
    kinds = {check_leaf(leaf, tree) for leaf in leaves}
    if len(kinds) > 1:
        raise TypeError(
            f"ravel: some leaves are real and some complex; give the complex ones as real and "
            f"imaginary parts [at {user_line()}]"
        )
    shapes = [
        np.shape(leaf) if not isinstance(leaf, Array) else tuple(leaf.shape) for leaf in leaves
    ]
    dtypes = [leaf.dtype if hasattr(leaf, "dtype") else None for leaf in leaves]
    sizes = [int(np.prod(shape, dtype=np.int64)) for shape in shapes]
    ends = list(itertools.accumulate(sizes, initial=0))
    on_numpy = not any(isinstance(leaf, Array) for leaf in leaves)
    known = [dtype for dtype in dtypes if dtype is not None]
    dtype = np.result_type(*known) if known else np.dtype(complex if kinds == {"c"} else float)
    lib: Any = np if on_numpy else xp
    device = {} if on_numpy else {"device": next(x for x in leaves if isinstance(x, Array)).device}
    vectors = [
        lib.reshape(lib.astype(lib.asarray(leaf, **device), dtype), (-1,)) for leaf in leaves
    ]
    flat = lib.concat(vectors) if vectors else np.zeros(0, dtype)

    def unravel(vector: Any) -> Any:
        check_vector(vector, ends[-1], "".join(kinds))
        parts = [vector[start:end] for start, end in itertools.pairwise(ends)]
        rows = zip(parts, shapes, dtypes, strict=True)
        if isinstance(vector, Array):
            found = [xp.astype(xp.reshape(x, shape), d or x.dtype) for x, shape, d in rows]
        else:
            found = [np.array(x, dtype=d).reshape(shape) for x, shape, d in rows]
            found = [
                x if isinstance(leaf, np.ndarray | Array) else x[()]
                for x, leaf in zip(found, leaves, strict=True)
            ]
        return nest.pack_nesting(tree, found)

    return flat, unravel


def check_leaf(leaf: Any, tree: Any) -> str:
    """Return the kind of a leaf's dtype, "f" or "c" (complex); raise TypeError for any other leaf.

    ``ravel`` puts all leaves into one vector, which is either real or complex.

    tree : the nesting with the leaf, for the message.
    """
    if isinstance(leaf, Array | np.ndarray | np.generic):
        kind = leaf.dtype.kind
    else:
        kind = {float: "f", complex: "c"}.get(type(leaf), "")
    if kind not in ("f", "c"):
        raise TypeError(
            f"ravel: takes floating-point Arrays, NumPy arrays and floats, got {describe(leaf)}"
            f"{nest.place_in_nesting(leaf, tree)}; leave it out of the nesting [at {user_line()}]"
        )
    return str(kind)


def check_vector(vector: Any, size: int, kind: str) -> None:
    """Raise TypeError or ValueError unless ``vector`` is one-dimensional with ``size`` elements.

    ``unravel`` calls it before it restores a nesting from the vector.

    kind : the kind of the dtype of the flat vector.  Complex data is refused if ``kind`` is "f".
    """
    kinds = "biufc" if kind == "c" else "biuf"
    if not isinstance(vector, Array | np.ndarray) or vector.dtype.kind not in kinds:
        raise TypeError(
            f"unravel: takes an Array or a NumPy array, {'complex' if kind == 'c' else 'real'}, got "
            f"{describe(vector)} [at {user_line()}]"
        )
    if tuple(vector.shape) != (size,):
        raise ValueError(
            f"unravel: takes a vector of {size} elements, got {describe(vector)} [at {user_line()}]"
        )


__all__ = ["ravel"]
