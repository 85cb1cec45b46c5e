"""Functions that clip gradients to a range, or scale them down to a greatest norm.

The norm is that of each array, or that of all arrays together.

The functions accept one Array, or a nesting of Arrays and None, such as a result of
``tape.gradient``.  Their names and parameters are TensorFlow's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from .._util import nest
from .._util.errors import describe, entrance, user_line
from ..nn.libraries import as_library_floats, dtype_kind, library_of
from .scipy import number_in_range

if TYPE_CHECKING:
    from .._util.array_types import RawArray


@entrance
def clip_by_value(gradients: Any, clip_value_min: float, clip_value_max: float) -> Any:
    """Clip each element to a range.

    Parameters
    ----------
    gradients : Array, or nesting of Arrays and None
        Arrays of real numbers, because complex numbers have no order.
    clip_value_min, clip_value_max : float
        The ends of the range.

    Returns
    -------
    Array or nesting
        The clipped Arrays in the same nesting; NaN stays NaN.

    Raises
    ------
    TypeError
        When a leaf is no Array of real numbers.
    ValueError
        When the range is empty.

    Examples
    --------
    >>> import arraytape as xp
    >>> print(xp.optimizers.clip_by_value(xp.asarray([-3.0, 0.5]), -1.0, 1.0))
    [-1.   0.5]
    """
    least = number_in_range("clip_by_value", "clip_value_min", clip_value_min, -math.inf, math.inf)
    most = number_in_range("clip_by_value", "clip_value_max", clip_value_max, -math.inf, math.inf)
    if least > most:
        raise ValueError(
            f"clip_by_value: the range from {least} to {most} is empty [at {user_line()}]"
        )

    def clip_elements(g: RawArray) -> Any:
        library = library_of("clip_by_value", g)
        if dtype_kind(library, g) == "c":
            raise TypeError(
                f"clip_by_value: complex numbers have no order; clip them by norm [at {user_line()}]"
            )
        return library.clip(as_library_floats(library, g), least, most)

    return map_gradients(clip_elements, gradients)


@entrance
def clip_by_norm(gradients: Any, clip_norm: float) -> Any:
    """Scale each Array whose norm is greater than ``clip_norm`` to that norm.

    Parameters
    ----------
    gradients : Array, or nesting of Arrays and None
        The Arrays to scale, each by itself.
    clip_norm : float
        The greatest norm.

    Returns
    -------
    Array or nesting
        The scaled Arrays in the same nesting; an Array whose norm is infinite or NaN becomes NaN.

    Raises
    ------
    TypeError
        When a leaf is no Array.
    ValueError
        When ``clip_norm`` is negative.

    Examples
    --------
    >>> import arraytape as xp
    >>> print(xp.optimizers.clip_by_norm(xp.asarray([3.0, 4.0]), 1.0))
    [0.6 0.8]
    """
    most = number_in_range("clip_by_norm", "clip_norm", clip_norm, 0.0, math.inf)

    def clip_own_norm(g: RawArray) -> Any:
        library = library_of("clip_by_norm", g)
        return scale_to_norm(library, g, norm_of(library, g), most)

    return map_gradients(clip_own_norm, gradients)


@entrance
def clip_by_global_norm(
    t_list: Any, clip_norm: float, use_norm: RawArray | None = None
) -> tuple[Any, Any]:
    """Scale all Arrays by one factor, so that their common norm is at most ``clip_norm``.

    Parameters
    ----------
    t_list : Array, or nesting of Arrays and None
        The Arrays to scale.
    clip_norm : float
        The greatest norm.
    use_norm : Array, optional
        The norm, if it is known; by default ``global_norm(t_list)``.

    Returns
    -------
    tuple
        The scaled Arrays in the same nesting, and the norm before scaling.  If the norm is infinite or
        NaN, all Arrays become NaN.

    Raises
    ------
    TypeError
        When a leaf is no Array.
    ValueError
        When ``clip_norm`` is negative, or there is no Array.

    References
    ----------
    Pascanu, Mikolov and Bengio 2013, "On the difficulty of training recurrent neural networks",
    algorithm 1.

    Examples
    --------
    >>> import arraytape as xp
    >>> gradients = {"w": xp.asarray([3.0]), "b": xp.asarray(4.0)}
    >>> clipped, norm = xp.optimizers.clip_by_global_norm(gradients, 1.0)
    >>> print(clipped["w"], clipped["b"], norm)
    [0.6] 0.8 5.0
    """
    most = number_in_range("clip_by_global_norm", "clip_norm", clip_norm, 0.0, math.inf)
    norm = global_norm(t_list) if use_norm is None else use_norm
    if (
        dtype_kind(library_of("clip_by_global_norm: use_norm", norm, "must be an Array"), norm)
        != "f"
    ):
        raise TypeError(
            f"clip_by_global_norm: use_norm must be a floating-point Array, got {describe(norm)} "
            f"[at {user_line()}]"
        )

    def clip_shared_norm(g: RawArray) -> Any:
        return scale_to_norm(library_of("clip_by_global_norm", g), g, norm, most)

    return map_gradients(clip_shared_norm, t_list), norm


@entrance
def global_norm(t_list: Any) -> Any:
    """Compute the norm of all Arrays together: the root of the sum of all squares.

    Parameters
    ----------
    t_list : Array, or nesting of Arrays and None
        The Arrays.

    Returns
    -------
    Array
        The norm, of shape (), in the greatest precision of the Arrays, on the first Array's device.

    Raises
    ------
    TypeError
        When a leaf is no Array.
    ValueError
        When there is no Array.

    Examples
    --------
    >>> import arraytape as xp
    >>> print(xp.optimizers.global_norm({"w": xp.asarray([3.0]), "b": xp.asarray(4.0)}))
    5.0
    """
    found = [g for g in nest.leaves(t_list) if g is not None]
    if not found:
        raise ValueError(f"global_norm: there is no Array [at {user_line()}]")
    library = library_of("global_norm", found[0])
    norms = [norm_of(library_of("global_norm", g), g) for g in found]
    if len(norms) == 1:
        return norms[0]
    exact = next((x.dtype for x in norms if library.finfo(x.dtype).bits == 64), norms[0].dtype)
    alike = [library.astype(move_to_device_of(norms[0], x), exact) for x in norms]
    return norm_of(library, library.stack(alike))


def norm_of(library: ModuleType, g: RawArray) -> Any:
    """Return the root of the sum of squares of g, computed so that no square overflows."""
    sizes = library.abs(as_library_floats(library, g))
    if not math.prod(sizes.shape):
        return library.sum(sizes)
    greatest = library.max(sizes)
    fits = (greatest > 0) & library.isfinite(greatest)
    unit = library.where(fits, greatest, 1.0)
    return unit * library.sqrt(library.sum((sizes / unit) ** 2))


def scale_to_norm(library: ModuleType, g: RawArray, norm: RawArray, most: float) -> Any:
    """Return g times min(1, most / norm), or NaN if ``norm`` is infinite or NaN."""
    above = norm > most
    factor = library.where(above, most / library.where(above, norm, 1.0), 1.0)
    factor = library.where(library.isfinite(norm), factor, math.nan)
    g = as_library_floats(library, g)
    return g * library.astype(move_to_device_of(g, factor), library.abs(g).dtype)


def move_to_device_of(goal: RawArray, x: RawArray) -> Any:
    if x.device == goal.device:
        return x
    return x.to_device(goal.device) if hasattr(x, "to_device") else x


def map_gradients(function: Callable[[Any], Any], gradients: Any) -> Any:
    leaves = nest.leaves(gradients)
    return nest.pack_nesting(gradients, [None if g is None else function(g) for g in leaves])
