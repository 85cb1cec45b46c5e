"""Conversion of bounds that are nested like the parameters to SciPy's bounds of one vector."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._array.array import Array
from .._util import nest
from .._util.errors import describe, user_line

if TYPE_CHECKING:
    import numpy.typing as npt


def bounds_of(bounds: Any, x0: Any, leaves: Sequence[Array]) -> Any:
    """Return ``scipy.optimize.Bounds`` for the vector that joins all Arrays of ``x0``.

    leaves : the Arrays of ``x0`` in order.
    bounds : a nesting like ``x0``.  In place of each Array it holds None, a pair of a lower and an upper
    bound, or a ``Bounds``.  None in place of a nesting means that all its Arrays are unbounded.  Bounds
    in one of SciPy's own forms are returned unchanged.
    """
    from scipy.optimize import Bounds

    if bounds is None or isinstance(bounds, Bounds) or is_of_vector(bounds, x0, leaves):
        return bounds
    paths = [path for path, _, _ in nest.located(x0)]
    lows, highs, feasible = [], [], []
    given = bounds_of_parts(x0, bounds, "")
    for path, x, bound in zip(paths, leaves, given, strict=True):
        low, high, keep = pair_of(bound, x, path)
        lows.append(low)
        highs.append(high)
        feasible.append(np.full(low.shape, keep))
    return Bounds(*[np.concatenate(part) for part in (lows, highs, feasible)])


def is_of_vector(bounds: Any, x0: Any, leaves: Sequence[Array]) -> bool:
    """Return True if ``bounds`` has SciPy's form: a pair for each element of all ``leaves``."""
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
    """Return True if a value is a lower and an upper bound, each None or one number."""
    return is_pair(value) and all(part is None or np.ndim(part) == 0 for part in value)


def is_pair_of_arrays(bounds: Any, shape: tuple[int, ...]) -> bool:
    """Return True if ``bounds`` is a pair (lower, upper) with at least one array of ``shape``.

    Raise ValueError if ``bounds`` could also be SciPy's two pairs for two elements.
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


def bounds_of_parts(x0: Any, bounds: Any, path: str) -> list[Any]:
    """Return a flat list of the bounds of each Array of x0, from ``bounds``, nested like x0.

    Raise ValueError if the nestings differ.  path : the path of x0 in the user's nesting, for messages.
    """
    parts = nest.parts_of_nesting(x0)
    if parts is None:
        return [bounds]
    if bounds is None:
        return [None] * len(nest.leaves(x0))
    ours, given = dict(nest.items_of(parts)), nest.parts_of_nesting(bounds)
    alike = given is not None and isinstance(given, dict) == isinstance(parts, dict)
    theirs = dict(nest.items_of(given)) if alike else None
    if theirs is None or theirs.keys() != ours.keys():
        got = describe(bounds) if theirs is None else list(theirs)
        raise ValueError(
            f"bounds{path_suffix(path)}: {list(ours)} are needed, as in x0, got {got}; None stands for "
            f"no bounds [at {user_line()}]"
        )
    found = []
    for name, part in ours.items():
        found += bounds_of_parts(part, theirs[name], f"{path}.{name}" if path else str(name))
    return found


def pair_of(bound: Any, x: Array, path: str) -> tuple[Any, Any, Any]:
    """Return the lower and upper bounds of x as vectors, and True if each step must keep within them."""
    from scipy.optimize import Bounds

    size = x.size * (2 if x.dtype.kind == "c" else 1)
    if bound is None:
        return np.full(size, -np.inf), np.full(size, np.inf), False
    if x.dtype.kind == "c":
        raise TypeError(
            f"bounds{path_suffix(path)}: give None for {describe(x)}, because complex numbers have no "
            f"order [at {user_line()}]"
        )
    keep = False
    if isinstance(bound, Bounds):
        keep = bool(np.all(bound.keep_feasible))
        # Bounds converts a number to an array of one element; make it a bound of all elements again.
        bound = [b.reshape(()) if np.size(b) == 1 else b for b in (bound.lb, bound.ub)]
    if not is_pair(bound):
        raise TypeError(
            f"bounds{path_suffix(path)}: a pair (lower, upper) is needed for {describe(x)}, or None, "
            f"got {describe(bound)} [at {user_line()}]"
        )
    low, high = (
        side(part, x, path, which, free)
        for part, which, free in zip(bound, ("lower", "upper"), (-np.inf, np.inf), strict=True)
    )
    if not (low <= high).all():
        raise ValueError(
            f"bounds{path_suffix(path)}: a lower bound is above the upper one, or NaN: "
            f"{describe(bound)} [at {user_line()}]"
        )
    return low, high, keep


def side(bound: npt.ArrayLike | None, x: Array, path: str, which: str, free: float) -> Any:
    """Return the lower or the upper bounds of the elements of x as a vector.

    which : "lower" or "upper", for the message.  free : the value that stands for no bound.
    """
    try:
        found = np.asarray(free if bound is None else bound, np.float64)
        return np.broadcast_to(found, x.shape).reshape(-1)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"bounds{path_suffix(path)}: the {which} bound {describe(bound)} does not fit {describe(x)} "
            f"[at {user_line()}]"
        ) from error


def path_suffix(path: str) -> str:
    return f" at {path!r}" if path else ""
