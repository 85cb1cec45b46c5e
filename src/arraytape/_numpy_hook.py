"""Stand-ins for NumPy's methods and protocols on Array, which import ``_numpy_api`` at the first use.

``np.sum(x)``, ``np.sin(x)``, ``x.sum()`` and ``x.real = y`` need ``_numpy_api``, a large package that
code in the standard's own names never uses.  Before its import ``Array`` has two functions for NumPy's
protocols, and a descriptor for each method and property.  The first use of any of them imports
``_numpy_api`` and replaces all stand-ins by the real functions, so later uses cost nothing more.

The stand-ins are descriptors because ``Array.__getattr__`` has three drawbacks.  It slows down the
error for unknown names.  It would import ``_numpy_api`` when NumPy looks for ``__array_interface__``.
And it does not serve ``xp.Array.sum``, ``dir``, ``help``, ``super().sum()``, ``x.real = y`` and Python's
look-up of ``__divmod__`` on the type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ._array.array import Array
from ._util.attach import attach
from ._util.locks import LOADING

# The names in ``_numpy_api.methods.METHODS``, repeated so that they need no import.  A test compares
# them.
PROPERTIES = ("flat", "imag", "itemsize", "nbytes", "real")
METHODS = (
    "__divmod__", "__rdivmod__", "all", "any", "argmax", "argmin", "argpartition", "argsort",
    "astype", "choose", "clip", "compress", "conj", "conjugate", "copy", "cumprod", "cumsum",
    "diagonal", "dot", "fill", "flatten", "max", "mean", "min", "nonzero", "partition", "prod",
    "put", "ravel", "repeat", "reshape", "round", "searchsorted", "sort", "squeeze", "std", "sum",
    "swapaxes", "take", "trace", "transpose", "var", "view",
)  # fmt: skip


def load() -> None:
    """Import ``_numpy_api`` and attach its functions to ``Array``.

    Threads that call this function at the same time wait for one import, and attach the same functions.
    """
    with LOADING:
        from ._numpy_api import cupy_ufuncs, methods, protocols

    attach(Array, methods.METHODS | protocols.PROTOCOLS | cupy_ufuncs.PROTOCOLS)


class LazyMethod:
    """A stand-in for one method of ``Array`` until its first use."""

    def __init__(self, name: str) -> None:
        self.name = name

    def loaded(self) -> Any:
        load()
        return vars(Array)[self.name]

    def __get__(self, x: Array | None, cls: type[Array]) -> Any:
        return self.loaded().__get__(x, cls)


class LazyProperty(LazyMethod):
    """A stand-in for one property of ``Array`` until its first read or assignment."""

    def __set__(self, x: Array, value: Any) -> None:
        self.loaded().__set__(x, value)


def array_ufunc(x: Array, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
    load()
    return vars(Array)["__array_ufunc__"](x, ufunc, method, *inputs, **options)


def array_function(
    x: Array, function: Callable[..., Any], types: Iterable[type], args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:  # fmt: skip
    load()
    return vars(Array)["__array_function__"](x, function, types, args, kwargs)


def cupy_kernel(x: Array, kernel: Any, *inputs: Any, **options: Any) -> Any:
    load()
    return vars(Array)["__cupy_override_elementwise_kernel__"](x, kernel, *inputs, **options)


STAND_INS: dict[str, Any] = {
    **{name: LazyMethod(name) for name in METHODS},
    **{name: LazyProperty(name) for name in PROPERTIES},
    # These are functions and no LazyMethods: NumPy and CuPy also read them on the type, without a call,
    # to test for the protocol, and such a read must not import ``_numpy_api``.
    "__array_function__": array_function,
    "__array_ufunc__": array_ufunc,
    "__cupy_override_elementwise_kernel__": cupy_kernel,
}
attach(Array, STAND_INS)
