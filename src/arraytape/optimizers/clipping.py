"""Gradients cut to a range, or scaled to a norm: each alone, or all together.

The functions take one Array, or a nesting of Arrays and None, such as ``tape.gradient`` gives; their
names and parameters are TensorFlow's.
"""

from __future__ import annotations

import math
from typing import Any

from .._util import nest
from .._util.errors import describe, entrance, user_line
from ..nn.libraries import inexact, kind_of, library_of
from .scipy import number


@entrance
def clip_by_value(gradients: Any, clip_value_min: float, clip_value_max: float) -> Any:
    """Cut each element to a range.

    Parameters
    ----------
    gradients : Array, or nesting of Arrays and None
        Real ones: complex numbers have no order.
    clip_value_min, clip_value_max : float
        The range.

    Returns
    -------
    Array or nesting
        The same nesting; NaN stays NaN.

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
    least = number("clip_by_value", "clip_value_min", clip_value_min, -math.inf, math.inf)
    most = number("clip_by_value", "clip_value_max", clip_value_max, -math.inf, math.inf)
    if least > most:
        raise ValueError(
            f"clip_by_value: the range from {least} to {most} is empty [at {user_line()}]"
        )

    def clip(g: Any) -> Any:
        library = library_of("clip_by_value", g)
        if kind_of(library, g) == "c":
            raise TypeError(
                f"clip_by_value: complex numbers have no order; clip them by norm [at {user_line()}]"
            )
        return library.clip(inexact(library, g), least, most)

    return each(clip, gradients)


@entrance
def clip_by_norm(gradients: Any, clip_norm: float) -> Any:
    """Scale each Array whose norm is greater than ``clip_norm`` to that norm.

    Parameters
    ----------
    gradients : Array, or nesting of Arrays and None
        What to scale, each by itself.
    clip_norm : float
        The greatest norm.

    Returns
    -------
    Array or nesting
        The same nesting; where a norm is infinite or NaN, NaN.

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
    most = number("clip_by_norm", "clip_norm", clip_norm, 0.0, math.inf)

    def clip(g: Any) -> Any:
        library = library_of("clip_by_norm", g)
        return scaled(library, g, norm_of(library, g), most)

    return each(clip, gradients)


@entrance
def clip_by_global_norm(t_list: Any, clip_norm: float, use_norm: Any = None) -> tuple[Any, Any]:
    """Scale Arrays all by one factor, so that their norm together is at most ``clip_norm``.

    Parameters
    ----------
    t_list : Array, or nesting of Arrays and None
        What to scale.
    clip_norm : float
        The greatest norm.
    use_norm : Array, optional
        The norm, where it is known; by default ``global_norm(t_list)``.

    Returns
    -------
    tuple
        The same nesting, and the norm before.  Where the norm is infinite or NaN, all become NaN.

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
    most = number("clip_by_global_norm", "clip_norm", clip_norm, 0.0, math.inf)
    norm = global_norm(t_list) if use_norm is None else use_norm
    if kind_of(library_of("clip_by_global_norm: use_norm", norm, "must be an Array"), norm) != "f":
        raise TypeError(
            f"clip_by_global_norm: use_norm must be a floating-point Array, got {describe(norm)} "
            f"[at {user_line()}]"
        )

    def clip(g: Any) -> Any:
        return scaled(library_of("clip_by_global_norm", g), g, norm, most)

    return each(clip, t_list), norm


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
        Of shape () and the greatest precision among them, on the first one's device.

    Raises
    ------
    TypeError
        When a leaf is no Array.
    ValueError
        When there is none.

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
    alike = [library.astype(moved(x, norms[0]), exact) for x in norms]
    return norm_of(library, library.stack(alike))


def norm_of(library: Any, g: Any) -> Any:
    """The root of the sum of squares, also where a square is too great or too small for a float."""
    sizes = library.abs(inexact(library, g))
    if not math.prod(sizes.shape):
        return library.sum(sizes)
    greatest = library.max(sizes)
    fits = (greatest > 0) & library.isfinite(greatest)
    unit = library.where(fits, greatest, 1.0)
    return unit * library.sqrt(library.sum((sizes / unit) ** 2))


def scaled(library: Any, g: Any, norm: Any, most: float) -> Any:
    """``g`` by the factor that takes ``norm`` to ``most``, where it is greater; NaN where it is NaN."""
    above = norm > most
    factor = library.where(above, most / library.where(above, norm, 1.0), 1.0)
    factor = library.where(library.isfinite(norm), factor, math.nan)
    g = inexact(library, g)
    return g * library.astype(moved(factor, g), library.abs(g).dtype)


def moved(x: Any, beside: Any) -> Any:
    """``x`` on the device of another array."""
    if x.device == beside.device:
        return x
    return x.to_device(beside.device) if hasattr(x, "to_device") else x


def each(function: Any, gradients: Any) -> Any:
    """A nesting with a function's results in the place of its Arrays; None stays None."""
    leaves = nest.leaves(gradients)
    return nest.pack_nesting(gradients, [None if g is None else function(g) for g in leaves])
