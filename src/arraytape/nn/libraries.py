"""The library that a layer computes with: arraytape, or another library of the array API standard.

Layers, activations and losses are array-API code.  On Arrays they compute with arraytape.  On arrays of
PyTorch, JAX or array_api_strict they call that library, by array-api-compat, so that the library's own
differentiation works.  There, Variables are copied to constants; values to be differentiated are passed
in by ``functional_call``.
"""

from __future__ import annotations

import math
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from array_api_compat import array_namespace, is_jax_array

import arraytape as xp

from .._array.array import Array
from .._array.views import peek
from .._storage.storage import CHECKED_INDICES, storage_of
from .._util.errors import describe, user_line
from ..variable import Variable, detached

if TYPE_CHECKING:
    from .._util.array_types import RawArray


def library_of(name: str, x: Any, wanted: str = "takes an Array") -> Any:
    """Return the namespace of the array x; raise TypeError for NumPy data, which no tape follows."""
    if isinstance(x, Array):
        return xp
    found: ModuleType | None = None
    if not isinstance(x, np.ndarray | np.generic | int | float | complex):
        try:
            found = array_namespace(x)
        except Exception:  # no array of the standard
            found = None
    if found is None:
        raise TypeError(
            f"{name} {wanted}, got {describe(x)}; convert it with asarray [at {user_line()}]"
        )
    return found


def dtype_kind(library: ModuleType, x: RawArray) -> str:
    """Return NumPy's letter for the kind of an array's dtype: b, i, f or c."""
    if isinstance(x, Array):
        return "i" if x.dtype.kind == "u" else str(x.dtype.kind)
    kinds = {"b": "bool", "i": "integral", "f": "real floating", "c": "complex floating"}
    return next(letter for letter, kind in kinds.items() if library.isdtype(x.dtype, kind))


def as_library_floats(library: ModuleType, x: RawArray) -> Any:
    """Cast bools and integers to float64; return floats and complex numbers unchanged."""
    return x if dtype_kind(library, x) in "fc" else library.astype(x, library.float64)


def host_dtype(library: ModuleType, x: RawArray) -> np.dtype[Any]:
    """Return the dtype of Variables for data x: real, of the same precision; for integers float64."""
    if isinstance(x, Array):
        inexact_data = x.dtype.kind in "fc"
        return np.empty(0, x.dtype).real.dtype if inexact_data else np.dtype(np.float64)
    if dtype_kind(library, x) not in "fc":
        return np.dtype(np.float64)
    single = x.dtype in (library.float32, library.complex64)
    return np.dtype(np.float32 if single or library.finfo(x.dtype).bits <= 32 else np.float64)


def as_layer_operand(value: Variable | RawArray | None, x: RawArray) -> Any:
    """Return a layer's Variable unchanged if x is an Array, else as a constant of the library of x."""
    if not isinstance(value, Variable) or isinstance(x, Array):
        return value
    library = library_of("a layer", x)
    value._sync()  # notifies recorders of the read, which the copy below would hide
    host = np.array(np.asarray(detached(value).to_device("cpu")))
    found = library_constant(library, host, x)
    return library.astype(found, x.dtype) if dtype_kind(library, x) in "fc" else found


def library_constant(library: ModuleType, host: np.ndarray[Any, Any], x: Any) -> Any:
    """Return NumPy's data as an array of x's library, on x's device."""
    if isinstance(x, Array) or not is_jax_array(x):
        return library.asarray(host, device=x.device)
    return library.asarray(host)  # JAX moves constants itself, and its traced arrays have no device


def constant_like(library: ModuleType, shape: tuple[int, ...], value: float, x: RawArray) -> Any:
    """Return an array of one value, in the library and dtype and on the device of x."""
    return library.astype(library_constant(library, np.full(shape, value), x), x.dtype)


def as_state(owner: str, value: RawArray, variable: Variable) -> Array:
    """Return ``value`` detached, in the dtype and on the device of the Variable that will get it.

    Raise TypeError under vmap, where there is a value for each example, and for an array that another
    library traces, which has no value yet.
    """
    if isinstance(value, Array):
        if getattr(value._data, "axis_ids", ()) and not isinstance(
            variable._data, type(value._data)
        ):
            raise TypeError(
                f"{owner}: the Variable {variable.name!r} is to hold one value, and under vmap there is "
                f"one for each example: call it outside of vmap [at {user_line()}]"
            )
        return xp.astype(detached(value), variable.dtype, copy=False)
    given = value.detach().cpu() if hasattr(value, "detach") else value
    return xp.asarray(np.asarray(given), dtype=variable.dtype, device=variable.device)


def constant_maximum(library: ModuleType, x: Any, axis: int) -> Any:
    """Return the maximum of x along an axis, which keeps length 1, as a constant for derivatives.

    JAX's arrays have no method ``detach``: their derivatives cancel.
    """
    if library is not xp:
        found = library.max(x, axis=axis, keepdims=True)
        return found.detach() if hasattr(found, "detach") else found
    return library.max(detached(x), axis=axis, keepdims=True)  # which computes no mask for the rule


def flatten_axes(library: ModuleType, x: RawArray, kept: int) -> Any:
    """Return x with its first ``kept`` axes unchanged and all others joined to one."""
    shape = tuple(x.shape)
    return library.reshape(x, (*shape[:kept], math.prod(shape[kept:])))


def is_free_to_read(x: Any) -> bool:
    """Return True for an Array whose values can be read at no cost: NumPy's data without vmap axes.

    In a block of ``diagnose.check_indices`` data on a device is read, too.  While ``xp.function``
    traces, a condition on these values becomes a guard of its program.
    """
    if not isinstance(x, Array):
        return False
    storage = storage_of(peek(x))
    free = storage.beneath(peek(x)).kind is np.ndarray or CHECKED_INDICES.get()
    return free and not storage.many
