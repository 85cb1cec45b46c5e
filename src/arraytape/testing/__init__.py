"""Tools for testing derivatives: those of arraytape, and those of your own ops.

``check_gradients`` compares both modes with central differences in double precision, and raises an
AssertionError that names the elements which differ.  ``check_jvp`` and ``check_vjp`` compare functions
of several outputs.  ``storages`` has data that raises TypeError when Python reads a value, for tests of
your code.  ``xp_backends`` runs tests of array API code on several libraries and on this data.
``benchmarks`` measures, with asv, the cost of tapes for your functions.

>>> import arraytape as xp
>>> a, b = xp.asarray([1.0, 2.0]), xp.asarray([3.0, 4.0])
>>> xp.testing.check_gradients(lambda x, y: xp.sum(xp.exp(x) * y), [a, b], order=2)
"""

from __future__ import annotations

from . import benchmarks, storages, xp_backends
from .checking import check_gradients
from .derivatives import (
    check_jvp,
    check_vjp,
    curvature,
    differences,
    directions,
    forward_curvature,
    gradients,
    inner,
    slopes,
    total,
    weights,
)
from .samples import as_function, materialise, recorded_ops

__all__ = [
    "as_function", "benchmarks", "check_gradients", "check_jvp", "check_vjp", "curvature", "differences",
    "directions", "forward_curvature", "gradients", "inner", "materialise", "recorded_ops", "slopes",
    "storages", "total", "weights", "xp_backends",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)
