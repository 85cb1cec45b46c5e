"""Replace ``np`` and extension modules in a library's modules, so that their code keeps Arrays.

A Facade has all of NumPy's names.  Most of its functions are NumPy's own, which pass Arrays to our ops.
Two kinds of functions are replaced by ones that return Arrays: those that would convert an Array to
NumPy data, such as ``asarray``, and those that make NumPy data into which the library later writes
Arrays, such as ``zeros``.  Outside a context the replaced functions call NumPy's own, too.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from types import FrameType, ModuleType
from typing import Any

import numpy as np

import arraytape

from .._array.array import Array
from .._util.errors import describe, user_line
from ._context import has_array, held_by, is_active, rule_applies
from ._plain import ArrayInput, DTypeInput, NumpyData, plain_data

Function = Callable[..., Any]


class Facade(ModuleType):
    """A module with NumPy's names, which replaces ``np`` in the modules of SciPy or scikit-learn.

    NumPy's own ``asarray`` would convert Arrays to data that no tape follows.  The facade's functions
    return Arrays if they are called with Arrays while interop is active.
    library : "scipy" or "sklearn".
    """

    def __init__(self, library: str) -> None:
        super().__init__("numpy", np.__doc__)
        self._library, self.__wrapped__ = library, np
        self._kept = {x: function_keeping_arrays(library, x, rule) for x, rule in KEEPING.items()}
        self._kept |= {name: function_making_arrays(library, name) for name in MAKING}
        self._kept |= {name: object_joining_arrays(library, name) for name in JOINING}
        self._kept["vectorize"] = type("vectorize", (RefusingVectorize,), {"library": library})
        vars(self).update(self._kept)
        self._by_original = {id(getattr(np, name)): kept for name, kept in self._kept.items()}

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def __dir__(self) -> list[str]:
        return dir(np)

    def put_into(self, module: ModuleType) -> None:
        """Replace NumPy by this facade in a module's globals.

        Functions that the module imported from NumPy are replaced, too.
        """
        for name, value in [*vars(module).items()]:
            if value is np:
                setattr(module, name, self)
            elif id(value) in self._by_original:
                setattr(module, name, self._by_original[id(value)])


def function_keeping_arrays(library: str, name: str, rule: Function) -> Function:
    """Return a version of NumPy's function ``name`` that keeps Arrays, for a library's modules.

    It calls ``rule`` if it gets Arrays while interop with the library is active, else NumPy's function.
    """
    original: Function = getattr(np, name)

    @functools.wraps(original)
    def call_keeping(*args: Any, **keywords: Any) -> Any:
        if rule_applies(library, args, keywords):
            return rule(*args, **keywords)
        return original(*args, **keywords)

    return call_keeping


def function_making_arrays(library: str, name: str) -> Function:
    """Return a version of ``np.zeros`` or a similar function that can return an Array.

    It replaces NumPy's function in a library's modules.  ``name`` is "zeros", for example.

    It returns an Array if an argument is one, or if the calling function of the library has Arrays among
    its variables.  That function may write Arrays into the result, and a write into NumPy data would not
    be recorded.
    """
    original: Function = getattr(np, name)

    @functools.wraps(original)
    def call_making(*args: Any, **keywords: Any) -> Any:
        if is_active(library) and (
            has_array((*args, *keywords.values()))
            or computes_with_arrays(library, sys._getframe(1))
        ):
            return made_as_array(original, *args, **keywords)
        return original(*args, **keywords)

    return call_making


class RefusingVectorize(np.vectorize):
    """The ``np.vectorize`` that a library's modules use: it raises TypeError for Arrays.

    NumPy's class would convert their elements to numbers, which no tape follows.
    """

    library: str

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        if rule_applies(self.library, args, keywords):
            raise no_rule(f"np.vectorize({getattr(self.pyfunc, '__qualname__', self.pyfunc)})")
        return super().__call__(*args, **keywords)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the object as an ``np.vectorize``, because no module holds this class by name."""
        return np.vectorize, (), vars(self)


def object_joining_arrays(library: str, name: str) -> Any:
    """Return a version of ``np.r_`` or ``np.c_`` for a library's modules, which joins Arrays."""
    original = getattr(np, name)
    rule = JOINING[name]

    class Joining:
        def __getitem__(self, key: Any) -> Any:
            parts = key if isinstance(key, tuple) else (key,)
            if not rule_applies(library, parts, {}):
                return original[key]
            if any(isinstance(part, str | slice) for part in parts):
                raise no_rule(f"np.{name}", "ranges or text beside an Array")
            return rule([asarray(part) for part in parts])

        def __getattr__(self, attribute: str) -> Any:
            return getattr(original, attribute)

    return Joining()


def computes_with_arrays(library: str, frame: FrameType) -> bool:
    """Return True if a running function of a library works on Arrays.

    This is so if one of its local variables, or an attribute of its ``self``, is or holds an Array.
    frame : the frame of the function.
    """
    local = frame.f_locals
    return has_array(local.values()) or has_array(held_by(library, local.get("self")))


def made_as_array(original: Function, *args: Any, **keywords: Any) -> Any:
    """Call NumPy's function ``original``, such as ``np.zeros``, and return its result as an Array.

    Return NumPy data if no Array can have its dtype.
    """
    if original is np.full:
        return full(*args, **keywords)
    data = original(*args, **keywords)
    return arraytape.asarray(data) if data.dtype.kind in "biufc" else data


# --- the functions that keep Arrays ----------------------------------------------------------------
# array_api_compat passes values of NumPy's private enumeration as ``copy=``.  Dict from these to values
# of the standard.
COPIES: dict[Any, bool | None] = {
    np._CopyMode.ALWAYS: True, np._CopyMode.IF_NEEDED: None, np._CopyMode.NEVER: False
}  # fmt: skip


def asarray(
    a: ArrayInput, dtype: DTypeInput = None, order: str | None = None, *, copy: Any = None,
    **options: Any,
) -> Array:  # fmt: skip
    if options.get("like") is not None:
        raise TypeError(
            f"np.asarray: like= is not possible for an Array, {describe(a)} [at {user_line()}]"
        )
    copy = COPIES.get(copy, copy)
    dtype = None if dtype is None else np.dtype(dtype)
    if isinstance(a, Array) and (dtype is None or dtype == a.dtype):  # NumPy takes None for float64
        return arraytape.asarray(a, copy=True) if copy else a
    return arraytape.asarray(a, dtype=dtype, copy=copy)


def float_asarray(a: ArrayInput) -> Array:
    """Return ``a`` as a real or complex floating-point Array; integers and bools become float64."""
    x = asarray(a)
    return x if x.dtype.kind in "fc" else arraytape.astype(x, arraytape.float64)


def array(
    object: ArrayInput, dtype: DTypeInput = None, *, copy: Any = True, order: str | None = "K",
    subok: bool = False, ndmin: int = 0, **options: Any,
) -> Array:  # fmt: skip
    copied = COPIES.get(copy, copy) and isinstance(object, Array)
    made = asarray(object, dtype, copy=True if copied else None, **options)
    return arraytape.reshape(made, (1,) * max(ndmin - made.ndim, 0) + made.shape) if ndmin else made


def asarray_chkfinite(a: ArrayInput, dtype: DTypeInput = None, order: str | None = None) -> Array:
    kept = asarray(a, dtype)
    if kept.dtype.kind in "fc" and not bool(arraytape.all(arraytape.isfinite(kept))):
        raise ValueError("array must not contain infs or NaNs")
    return kept


def full(
    shape: int | Sequence[int], fill_value: ArrayInput, dtype: DTypeInput = None,
    order: str | None = "C", **options: Any,
) -> Array:  # fmt: skip
    lengths: Any = (shape,) if np.ndim(shape) == 0 else shape
    value = asarray(fill_value, dtype)
    return arraytape.asarray(arraytape.broadcast_to(value, tuple(lengths)), copy=True)


def mask_values(mask: ArrayInput) -> NumpyData:
    """Return a mask as NumPy data of dtype bool; a mask has no derivative, so no tape need follow it."""
    return np.asarray(plain_data(mask)).astype(bool)


def place(arr: Array | NumpyData, mask: ArrayInput, vals: ArrayInput) -> None:
    """Run ``np.place`` on Arrays: write ``vals``, repeated if too short, where the mask is True."""
    mask = mask_values(mask)
    count = int(np.count_nonzero(mask))
    if not count:
        return
    refuse_numpy_target("place", arr, vals)
    vals = arraytape.reshape(asarray(vals), (-1,))
    arr[mask] = arraytape.astype(vals[np.arange(count) % vals.shape[0]], arr.dtype, copy=False)


def putmask(a: Array | NumpyData, mask: ArrayInput, values: ArrayInput) -> None:
    """Run ``np.putmask`` on Arrays: element i of ``a`` becomes element i % size of ``values``.

    Only elements at which the mask is True change.
    """
    mask = mask_values(mask)
    if not mask.any():
        return
    refuse_numpy_target("putmask", a, values)
    values = arraytape.reshape(asarray(values), (-1,))
    a[mask] = arraytape.astype(values[np.flatnonzero(mask) % values.shape[0]], a.dtype, copy=False)


def refuse_numpy_target(name: str, target: Array | NumpyData, values: ArrayInput) -> None:
    if not isinstance(target, Array):
        raise TypeError(
            f"np.{name}: cannot write {describe(values)} into {describe(target)}, which would not "
            f"remember the gradient: make the target an Array [at {user_line()}]"
        )


def broadcast_arrays(*args: Any, subok: bool = False) -> Any:
    return tuple(arraytape.broadcast_arrays(*[asarray(x) for x in args]))


def transpose(a: ArrayInput, axes: Sequence[int] | None = None) -> Any:
    array: Any = asarray(a)
    return np.transpose(array, axes)


def isscalar(element: object) -> bool:
    """Replace ``np.isscalar`` for calls with Arrays: return True for an Array of shape ().

    Arraytape's ops return such an Array where NumPy returns a scalar.
    """
    return isinstance(element, Array) and element.ndim == 0


def diag_indices_from(arr: Array | NumpyData) -> Any:
    if arr.ndim < 2 or len({*arr.shape}) != 1:
        raise ValueError("All dimensions of input must be of equal length")
    return np.diag_indices(arr.shape[0], arr.ndim)


def function_of_lists(name: str) -> Function:
    """Return a version of a NumPy function that converts a list of Arrays to one Array first.

    Modules of a library use it, because NumPy's dispatch does not look into lists.
    """
    original: Function = getattr(np, name)

    def call_on_array(a: ArrayInput, *args: Any, **keywords: Any) -> Any:
        return original(asarray(a) if isinstance(a, list | tuple) else a, *args, **keywords)

    return call_on_array


LISTED = (
    "all", "any", "argmax", "argmin", "argsort", "average", "cumsum", "max", "mean", "median", "min",
    "nanmax", "nanmean", "nanmin", "nansum", "percentile", "prod", "quantile", "ravel", "sort", "std",
    "sum", "var",
)  # fmt: skip
KEEPING: dict[str, Function] = {
    "array": array, "asanyarray": asarray, "asarray": asarray, "asarray_chkfinite": asarray_chkfinite,
    "ascontiguousarray": lambda a, dtype=None, **_: at_least_1d(asarray(a, dtype)),
    "asfortranarray": lambda a, dtype=None, **_: at_least_1d(asarray(a, dtype)),
    "broadcast_arrays": broadcast_arrays, "diag_indices_from": diag_indices_from, "isscalar": isscalar,
    "place": place, "putmask": putmask, "transpose": transpose,
    **{name: function_of_lists(name) for name in LISTED},
}  # fmt: skip
JOINING: dict[str, Function] = {
    "r_": lambda parts: arraytape.concat([at_least_1d(part) for part in parts], axis=0),
    "c_": lambda parts: arraytape.concat([column(part) for part in parts], axis=-1),
}
MAKING = ("empty", "full", "ones", "zeros")


def column(x: Array) -> Array:
    return x if x.ndim > 1 else arraytape.reshape(x, (-1, 1))


def at_least_1d(x: Array) -> Array:
    return arraytape.reshape(x, (1,)) if x.ndim == 0 else x


# --- stand-ins for extension modules ------------------------------------------------------------------
class StandIn:
    """A replacement for a library's extension module or other object, some of whose functions get rules.

    library : "scipy" or "sklearn".  real : the replaced object.  rules : maps names of functions of
    ``real`` to our functions, which run in their place on Arrays.

    The other functions raise TypeError for Arrays, because compiled code would compute on raw data, and
    the gradient would be lost.
    """

    def __init__(self, library: str, real: Any, rules: dict[str, Function]) -> None:
        self._library, self._rules, self.__wrapped__ = library, rules, real

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.__wrapped__, name)
        if not callable(found) or isinstance(found, type):
            return found
        library, rule = self._library, self._rules.get(name)

        def call_stand_in(*args: Any, **keywords: Any) -> Any:
            if not rule_applies(library, args, keywords):
                return found(*args, **keywords)
            if rule is None:
                raise no_rule(f"{getattr(self.__wrapped__, '__name__', self.__wrapped__)}.{name}")
            return rule(*args, **keywords)

        call_stand_in.__name__ = call_stand_in.__qualname__ = name
        call_stand_in.__doc__ = getattr(found, "__doc__", None)
        vars(self)[name] = call_stand_in  # the next access does not call __getattr__
        return call_stand_in

    def __dir__(self) -> list[str]:
        return dir(self.__wrapped__)


def no_rule(name: str, option: str = "") -> TypeError:
    """Return a TypeError that says: the function ``name`` of a library has no derivative rule.

    option : the option or argument because of which there is no rule, as text such as "mode='wrap'".
    """
    which = f" with {option}" if option else ""
    return TypeError(
        f"{name}{which} has no derivative here, and would leave the tape: give it "
        f"stop_gradient of the Array as NumPy data, or another function [at {user_line()}]"
    )


# --- a float that keeps Arrays -----------------------------------------------------------------------
class SoftFloatType(type):
    """The metaclass of SoftFloat: ``SoftFloat(x)`` is an Array of shape () for an Array x, else a float.

    The result is an Array only while interop with ``library`` is active.
    """

    library = "sklearn"

    def __call__(cls, x: Any = 0.0, /) -> Any:
        if isinstance(x, Array) and is_active(cls.library):
            number = arraytape.reshape(x, ())
            return number if number.dtype.kind in "fc" else arraytape.astype(number, float)
        return float(x)

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, float)

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, float)


class SoftFloat(float, metaclass=SoftFloatType):
    """A replacement for ``float`` in a library's module, because ``float(x)`` would lose the gradient.

    ``SoftFloat(x)`` returns an Array of shape () for an Array x while interop is active.  As a dtype,
    the class means float64.
    """

    dtype = np.dtype(float)


class ScipyFloatType(SoftFloatType):
    library = "scipy"


class ScipyFloat(SoftFloat, metaclass=ScipyFloatType):
    """A replacement for ``float`` in modules of SciPy."""
