"""Replace functions of scipy.special that would convert Arrays to NumPy data, without a derivative."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import arraytape

from .._array.array import Array
from ._hooks import original_of
from ._ops import library_op
from ._slopes import with_slope
from ._statements import hooks

COUNTERPARTS = {
    "scipy.special._basic": ("comb", "diric", "factorial", "factorial2", "factorialk", "perm"),
    "scipy.special._spherical_bessel": (
        "spherical_jn", "spherical_yn", "spherical_in", "spherical_kn",
    ),
}  # fmt: skip


def special_forward(
    x: Array, function: str = "", before: tuple[Any, ...] = (), after: tuple[Any, ...] = (),
    options: tuple[tuple[str, Any], ...] = (),
) -> Any:  # fmt: skip
    import scipy.special

    return getattr(scipy.special, function)(*before, x, *after, **dict(options))


special_value = library_op("scipy.special", special_forward, word="nondifferentiable")


def counterpart(name: str) -> Callable[..., Any]:
    """Return a replacement for SciPy's function ``name`` that calls the function of ``xp.special``.

    SciPy's function would convert Arrays to NumPy data.  With ``exact=True`` it is called nevertheless.
    """

    def call_counterpart(*args: Any, **keywords: Any) -> Any:
        import scipy.special

        if keywords.get("exact"):
            return original_of(getattr(scipy.special, name))(*args, **keywords)
        found = getattr(arraytape.special, name)(*args, **keywords)
        arrays = [i for i, x in enumerate(args) if isinstance(x, arraytape.Array)]
        if len(arrays) != 1 or args[arrays[0]].dtype == np.float64:
            return found
        # For other dtypes SciPy's result has other bits and another dtype, so return SciPy's value.
        around = args[: arrays[0]], args[arrays[0] + 1 :]
        value = special_value(args[arrays[0]], name, *around, tuple(keywords.items()))
        return with_slope(value, found) if value.dtype.kind in "fc" else value

    return call_counterpart


for _module, _names in COUNTERPARTS.items():
    for _name in _names:
        hooks(_module, _name)(counterpart(_name))


# Most multi-ufuncs have no rule.  With ``refuses=True``, warnings about conversions in them do not
# advise the use of interop.
@hooks("scipy.special._multiufuncs", "MultiUFunc.__call__", refuses=True)
def multi_ufunc(function: Any, *args: Any, **keywords: Any) -> Any:
    """Replace the call of a multi-ufunc such as ``sph_harm_y``, which converts Arrays to NumPy data.

    ``sph_harm_y`` is computed by the op of ``xp.special``, others by SciPy.
    """
    if function.__name__ == "sph_harm_y" and not keywords.get("diff_n"):
        return arraytape.special.sph_harm_y(*args)
    return original_of(type(function).__call__)(function, *args, **keywords)
