"""Bounds in the nesting of the parameters, as SciPy's for the vector of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._array.array import Array
from .._util import nest
from .._util.errors import describe, user_line


def bounds_of(bounds: Any, x0: Any, leaves: Sequence[Array]) -> Any:
    """``bounds`` as ``scipy.optimize.Bounds`` for the vector of all parts; SciPy's own as they are.

    leaves : the parts of x0 in order.  In the nesting of x0 there stands in place of each part None, a
    pair of a lower and an upper bound, or a ``Bounds``; None in place of a nesting stands for all of it.
    """
    from scipy.optimize import Bounds

    if bounds is None or isinstance(bounds, Bounds) or is_of_vector(bounds, x0, leaves):
        return bounds
    paths = [path for path, _, _ in nest.located(x0)]
    lows, highs, feasible = [], [], []
    given = beside(x0, bounds, "")
    for path, x, bound in zip(paths, leaves, given, strict=True):
        low, high, keep = pair_of(bound, x, path)
        lows.append(low)
        highs.append(high)
        feasible.append(np.full(low.shape, keep))
    return Bounds(*[np.concatenate(part) for part in (lows, highs, feasible)])


def is_of_vector(bounds: Any, x0: Any, leaves: Sequence[Array]) -> bool:
    """Whether bounds are SciPy's for the vector: a sequence with a pair for each element."""
    if nest.parts_of_nesting(x0) is not None:
        elements = sum(x.size for x in leaves)
        parts = nest.parts_of_nesting(bounds)
        return (
            len(leaves) < elements
            and isinstance(parts, list | tuple)
            and len(parts) == elements
            and all(is_pair(part) for part in parts)
        )
    if not isinstance(bounds, list | tuple | np.ndarray | zip) or is_pair_of_numbers(bounds):
        return False
    return not is_pair_of_arrays(bounds, tuple(leaves[0].shape))


def is_pair(value: Any) -> bool:
    return isinstance(value, list | tuple | np.ndarray) and len(value) == 2


def is_pair_of_numbers(value: Any) -> bool:
    """Whether a value is one lower and one upper bound, each for all elements, or None."""
    return is_pair(value) and all(part is None or np.ndim(part) == 0 for part in value)


def is_pair_of_arrays(bounds: Any, shape: tuple[int, ...]) -> bool:
    """Whether a value is a lower and an upper bound, of which one is an array of a shape at least.

    ValueError where it may as well be SciPy's two pairs for two elements.
    """
    if isinstance(bounds, np.ndarray) or not is_pair(bounds):
        return False
    shapes = [() if part is None else np.shape(part) for part in bounds]
    if shape not in shapes or any(one not in ((), shape) for one in shapes):
        return False
    if shape != (2,) or () in shapes:
        return True
    if any(isinstance(part, np.ndarray | Array) for part in bounds):
        raise ValueError(
            f"bounds: two arrays of 2 elements for an x0 of 2 elements are a pair (lower, upper), or "
            f"SciPy's pairs for each element: say Bounds(lower, upper), or [(lower, upper), (lower, "
            f"upper)] with numbers [at {user_line()}]"
        )
    return False


def beside(x0: Any, bounds: Any, path: str) -> list[Any]:
    """What stands in bounds for each part of x0; ValueError with the place where they differ."""
    parts = nest.parts_of_nesting(x0)
    if parts is None:
        return [bounds]
    if bounds is None:
        return [None] * len(nest.leaves(x0))
    given = nest.parts_of_nesting(bounds)
    by_name = isinstance(parts, dict)
    names = list(parts) if by_name else list(range(len(parts)))
    known = isinstance(given, dict) == by_name and given is not None
    got = list(given) if known and by_name else list(range(len(given))) if known else None
    if got is None or set(got) != set(names):
        raise ValueError(
            f"bounds{at(path)}: {names} are needed, as in x0, got "
            f"{describe(bounds) if got is None else got}; None stands for no bounds [at {user_line()}]"
        )
    assert given is not None
    found = []
    for name in names:
        found += beside(parts[name], given[name], f"{path}.{name}" if path else str(name))
    return found


def pair_of(bound: Any, x: Array, path: str) -> tuple[Any, Any, Any]:
    """The bounds of one part as vectors, and whether they hold on the way."""
    from scipy.optimize import Bounds

    size = x.size * (2 if x.dtype.kind == "c" else 1)
    if bound is None:
        return np.full(size, -np.inf), np.full(size, np.inf), False
    if x.dtype.kind == "c":
        raise TypeError(
            f"bounds{at(path)}: a complex part, {describe(x)}, has none [at {user_line()}]"
        )
    keep = False
    if isinstance(bound, Bounds):
        keep = bool(np.all(bound.keep_feasible))
        # SciPy makes arrays of one element of numbers.
        bound = [b.reshape(()) if np.size(b) == 1 else b for b in (bound.lb, bound.ub)]
    if not is_pair(bound):
        raise TypeError(
            f"bounds{at(path)}: a pair (lower, upper) is needed for {describe(x)}, or None, got "
            f"{describe(bound)} [at {user_line()}]"
        )
    low, high = (
        side(part, x, path, which, free)
        for part, which, free in zip(bound, ("lower", "upper"), (-np.inf, np.inf), strict=True)
    )
    if not (low <= high).all():
        raise ValueError(
            f"bounds{at(path)}: a lower bound is above the upper one, or NaN: {describe(bound)} "
            f"[at {user_line()}]"
        )
    return low, high, keep


def side(bound: Any, x: Array, path: str, which: str, free: float) -> Any:
    """The lower or the upper bounds of one part, as a vector."""
    try:
        found = np.asarray(free if bound is None else bound, np.float64)
        return np.broadcast_to(found, x.shape).reshape(-1)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"bounds{at(path)}: the {which} bound {describe(bound)} does not fit {describe(x)} "
            f"[at {user_line()}]"
        ) from error


def at(path: str) -> str:
    return f" at {path!r}" if path else ""
