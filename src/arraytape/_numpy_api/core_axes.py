"""Serve the options ``axis=``, ``axes=`` and ``keepdims=`` of generalized ufuncs like ``np.vecdot``.

The core axes of a generalized ufunc are those over which one elementary operation runs: one axis of each
input for ``vecdot``.  Arraytape's ops expect the core axes last.  So the core axes of each input are
moved to the end, the op runs, and the core axes of the result are moved to the requested positions.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..ops.manipulation_functions import expand_dims, moveaxis
from .numpy_arguments import arrays_like_first

OPTIONS = frozenset(("axes", "axis", "keepdims"))


def with_core_axes(
    ufunc: np.ufunc, function: Callable[..., Any], options: dict[str, Any], *inputs: Any
) -> Any:
    """Call an op in place of a generalized ufunc, with options that select its core axes.

    Core axes are those over which one elementary operation runs, such as the last ones for ``vecdot``.

    function : the op for ``ufunc``, which expects core axes last.  options : ``axis``, ``axes`` and
    ``keepdims``, if given.  Raise TypeError or ValueError in the cases in which NumPy does: ``axis`` for
    several core axes, ``axes`` of the wrong length, ``keepdims`` for a result with core axes.
    """
    # The number of core axes of each input and result: "(m,n),(n)->(m)" gives 2, 1, 1.
    cores = [
        len(part.split(",")) if part else 0
        for part in re.findall(r"\(([^)]*)\)", str(ufunc.signature))
    ]
    ins, outs = cores[: ufunc.nin], cores[ufunc.nin :]
    keepdims = bool(options.get("keepdims", False))
    if keepdims and (any(outs) or len({*ins}) > 1):
        raise TypeError(
            f"{ufunc.__name__} does not support keepdims: its signature {ufunc.signature} requires "
            "several inputs with the same number of core dimensions, and no core dimension of a result"
        )
    axes = options.get("axes")
    if "axis" in options:
        if axes is not None:
            raise TypeError(f"{ufunc.__name__}: cannot specify both 'axis' and 'axes'")
        if {*ins} != {1} or {*outs} - {0, 1}:
            raise TypeError(
                f"{ufunc.__name__}: axis can only be used with a single shared core dimension"
            )
        axes = [options["axis"]] * (ufunc.nin + (ufunc.nout if keepdims or any(outs) else 0))
    elif axes is None:
        axes = [tuple(range(-n, 0)) for n in (*ins, *[ins[0] if keepdims else n for n in outs])]
    if not isinstance(axes, list):
        raise TypeError(f"{ufunc.__name__}: axes should be a list")
    if len(axes) not in ({len(cores)} if keepdims or any(outs) else {len(cores), ufunc.nin}):
        raise ValueError(
            f"{ufunc.__name__}: axes should be a list with an entry for all {len(cores)} inputs and "
            "outputs; entries for outputs can be omitted if none of them has core axes"
        )
    places = [
        tuple(map(operator.index, at)) if isinstance(at, tuple) else (operator.index(at),)
        for at in axes
    ]
    moved = [
        moveaxis(x, at, last_axes(at))
        for x, at in zip(arrays_like_first(*inputs), places, strict=False)
    ]
    y = function(*moved)
    after = places[ufunc.nin] if len(places) > ufunc.nin else ()
    return expand_dims(y, axis=after) if keepdims else moveaxis(y, last_axes(after), after)


def last_axes(axes: Sequence[int]) -> tuple[int, ...]:
    return tuple(range(-len(axes), 0))
