"""NumPy's functions and methods on Arrays, loaded when one of them is first asked for.

``np.sum(x)``, ``np.sin(x)``, ``x.sum()`` and ``x.real = y`` need the room ``_numpy_api``: 2,000 lines
that code in the standard's own names never runs.  Until then ``Array`` has stand-ins: two functions
for NumPy's protocols, and a descriptor for each method and property.  The first use of any of them
imports the room and puts the real functions in place of all stand-ins, so later uses cost nothing
more.

Descriptors, not ``Array.__getattr__``: so an unknown name fails as fast as on any class, what NumPy
looks for (``__array_interface__``, ``__array_struct__``) imports nothing, and ``xp.Array.sum``,
``dir``, ``help``, ``super().sum()``, ``x.real = y`` and Python's look-up of ``__divmod__`` on the type
all work before the first use.
"""

from __future__ import annotations

from typing import Any

from ._array.array import Array
from ._util.attach import attach
from ._util.locks import LOADING

# The names of ``_numpy_api.methods.METHODS``, known without importing it; a test holds them equal.
PROPERTIES = ("flat", "imag", "itemsize", "nbytes", "real")
METHODS = (
    "__divmod__", "__rdivmod__", "all", "any", "argmax", "argmin", "argpartition", "argsort",
    "astype", "choose", "clip", "compress", "conj", "conjugate", "copy", "cumprod", "cumsum",
    "diagonal", "dot", "fill", "flatten", "max", "mean", "min", "nonzero", "partition", "prod",
    "put", "ravel", "repeat", "reshape", "round", "searchsorted", "sort", "squeeze", "std", "sum",
    "swapaxes", "take", "trace", "transpose", "var", "view",
)  # fmt: skip


def load() -> None:
    """Import the room and attach its functions to ``Array``.

    Threads that get here at the same time wait for one import, and attach the same functions.
    """
    with LOADING:
        from ._numpy_api import methods, protocols

    attach(Array, methods.METHODS | protocols.PROTOCOLS)


class LazyMethod:
    """Stands in for one method of ``Array`` until it is asked for."""

    def __init__(self, name: str) -> None:
        self.name = name

    def loaded(self) -> Any:
        """The real method or property."""
        load()
        return vars(Array)[self.name]

    def __get__(self, x: Array | None, cls: type[Array]) -> Any:
        return self.loaded().__get__(x, cls)


class LazyProperty(LazyMethod):
    """Stands in for one property of ``Array`` until it is read or set."""

    def __set__(self, x: Array, value: Any) -> None:
        self.loaded().__set__(x, value)


def array_ufunc(x: Array, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
    """NumPy's protocol for ufuncs: see ``_numpy_api.protocols``."""
    load()
    return vars(Array)["__array_ufunc__"](x, ufunc, method, *inputs, **options)


def array_function(x: Array, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """NumPy's protocol for its other functions: see ``_numpy_api.protocols``."""
    load()
    return vars(Array)["__array_function__"](x, function, types, args, kwargs)


STAND_INS: dict[str, Any] = {
    **{name: LazyMethod(name) for name in METHODS},
    **{name: LazyProperty(name) for name in PROPERTIES},
    # Functions: NumPy reads these two on the type to learn that there is a protocol, too.
    "__array_function__": array_function,
    "__array_ufunc__": array_ufunc,
}
attach(Array, STAND_INS)
