"""The arguments and results of function transformations: recorded copies, and NumPy data in and out.

A leaf of a differentiated argument that is a NumPy array or a number has a gradient of the same kind.
Inside the function it is an Array, as every other.  What a recorder around the call follows stays an
Array on its way out, since as NumPy's data it would be a constant to that recorder.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._array.array import Array
from .._array.views import current
from .._record.plan import Record
from .._record.stack import recorders
from .._storage.storage import storage_of
from .._tape.arguments import differentiable, left_in
from .._tape.tape import GradientTape
from .._util import nest
from .._util.array_types import RawArray
from .._util.errors import describe, see, short_repr, user_line
from .._util.options import unwrap_option
from ..ops.creation_functions import asarray, copied

Function = Callable[..., Any]
ArgNums = int | Sequence[int]
IS_ARRAY, IS_NDARRAY, IS_NUMBER = 0, 1, 2  # what a leaf was given as


class Inputs:
    """The arguments of one call of a function that is to be differentiated.

    args : what to call it with: recorded copies at the positions to differentiate.  Copies, because one
    value must not mean two variables where derivatives nest:
    grad(lambda x: x * grad(lambda y: x + y)(x))(x) has x twice and y once.
    chosen : these copies, in a tuple where several positions were asked for.
    kinds : what each leaf of ``chosen`` was given as; None where all are Arrays.
    holes : whether a nesting may have None beside arrays, for a part that a model does without.
    """

    __slots__ = ("args", "chosen", "kinds")

    def __init__(
        self, caller: str, args: tuple[Any, ...], argnums: ArgNums, holes: bool = False
    ) -> None:
        if type(argnums) is not int and type(argnums) is not range:
            argnums = unwrap_option(argnums)
        taken = positions(caller, argnums, len(args))
        several, kinds = list(args), []
        for n in taken:
            parts, found = taken_in(caller, n, args[n], holes)
            kinds += found
            several[n] = nest.pack_nesting(args[n], parts)
        self.args = tuple(several)
        chosen = tuple([several[n] for n in taken])
        self.chosen = chosen[0] if isinstance(argnums, int) else chosen
        self.kinds = kinds if any(kinds) else None

    def gradient(self, found: Any) -> Any:
        """Return a nesting like ``chosen``, each leaf in the kind of its argument."""
        if self.kinds is None:
            return found
        pairs = zip(nest.leaves(found), self.kinds, strict=True)
        return nest.pack_nesting(found, [given_out(x, kind) for x, kind in pairs])

    def value(self, y: Any) -> Any:
        """Return a result of the function: NumPy's where every leaf of ``chosen`` was."""
        if self.kinds is None:
            return y
        pairs = zip(nest.leaves(self.chosen), self.kinds, strict=True)
        return y if any(k == IS_ARRAY for x, k in pairs if x is not None) else in_numpy(y)


def positions(caller: str, argnums: ArgNums, count: int) -> list[int]:
    """Return the positions to differentiate, counted from 0; TypeError or ValueError for others."""
    if not isinstance(argnums, int | Sequence):
        raise TypeError(
            f"{caller}: argnums must be an int or a sequence of ints, got {describe(argnums)} "
            f"[at {user_line()}]"
        )
    taken = []
    for n in [argnums] if isinstance(argnums, int) else argnums:
        if not isinstance(n, int) or isinstance(n, bool):
            raise TypeError(
                f"{caller}: argnums must be an int or a sequence of ints, got {short_repr(n)} "
                f"[at {user_line()}]"
            )
        if not -count <= n < count:
            raise ValueError(
                f"{caller}: there is no argument at position {n}: the function was given {count} "
                f"[at {user_line()}]"
            )
        taken.append(n % count)
    if len(set(taken)) < len(taken):
        raise ValueError(
            f"{caller}: argnums {short_repr(argnums)} name an argument twice [at {user_line()}]"
        )
    return taken


def taken_in(caller: str, n: int, arg: Any, holes: bool) -> tuple[list[Any], list[int]]:
    """Return the leaves of an argument as Arrays of their own, and what each was given as.

    holes : whether None may stand beside Arrays, which then stays.
    """
    parts: list[Any] = []
    kinds = []
    leaves = nest.leaves(arg)
    holes = holes and any(leaf is not None for leaf in leaves)
    for leaf in leaves:
        if leaf is None and holes:
            parts.append(None)
            kinds.append(IS_ARRAY)
            continue
        kind = IS_ARRAY if isinstance(leaf, Array) else leaf_kind(caller, n, leaf, arg)
        part = leaf if kind == IS_ARRAY else asarray(leaf, copy=True)
        if not differentiable(part):
            raise TypeError(
                f"{caller}: argument {n} is {describe(leaf)}: only real and complex floating-point "
                f"arrays have derivatives [at {user_line()}]"
            )
        parts.append(copied(part))
        kinds.append(kind)
    return parts, kinds


def leaf_kind(caller: str, n: int, leaf: Any, arg: Any) -> int:
    """Return the kind of a leaf that is no Array; raise TypeError where it has no derivative."""
    if isinstance(leaf, np.ndarray):
        if type(leaf) not in (np.ndarray, np.memmap):
            raise TypeError(
                f"{caller}: argument {n} is {describe(leaf)}{nest.place_in_nesting(leaf, arg)}, "
                "of a class "
                "whose meaning beside its numbers would be lost: give np.asarray of it "
                f"[at {user_line()}]"
            )
        return IS_NDARRAY
    if isinstance(leaf, float | complex | np.inexact):
        return IS_NUMBER
    if isinstance(leaf, int | np.integer | np.bool):
        is_bool = isinstance(leaf, bool | np.bool)
        way_out = "give it as another argument" if is_bool else f"write {leaf}.0, or float() of it"
        raise TypeError(
            f"{caller}: argument {n} is {describe(leaf)}{nest.place_in_nesting(leaf, arg)}: only "
            "real and "
            f"complex floating-point numbers have derivatives; {way_out} [at {user_line()}]"
        )
    raise TypeError(
        f"{caller}: the argument {n} must be an Array, a NumPy array or a float, or a nesting of these, "
        f"got {describe(leaf)}{nest.place_in_nesting(leaf, arg)} [at {user_line()}]"
    )


def given_again(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments with Arrays for floating-point NumPy data, to evaluate f again."""

    def as_array(leaf: Any) -> Any:
        number = isinstance(leaf, float | complex | np.inexact)
        inexact = isinstance(leaf, np.ndarray) and leaf.dtype.kind in "fc"
        return asarray(leaf, copy=True) if number or inexact else leaf

    return tuple([nest.pack_nesting(x, [as_array(leaf) for leaf in nest.leaves(x)]) for x in args])


# --- on the way out -----------------------------------------------------------------------------------
def given_out(x: Any, kind: int) -> Any:
    """Return a derivative in the kind of its argument: of a number without axes a NumPy scalar."""
    data = None if kind == IS_ARRAY else numpy_data(x)
    if data is None:
        return x
    return data[()] if kind == IS_NUMBER else data


def in_numpy(value: Any) -> Any:
    """Return a result with NumPy arrays in place of Arrays, and NumPy scalars for 0-d Arrays."""
    found = []
    for leaf in nest.leaves(value):
        data = numpy_data(leaf) if type(leaf) is Array else None
        found.append(leaf if data is None else data[()])
    return nest.pack_nesting(value, found)


def numpy_data(x: Array, ends_trace: str = "") -> np.ndarray[Any, Any] | None:
    """Return a copy of an Array's data; None if a recorder follows the Array, and in vmap and traces.

    There NumPy data would be a constant to the recorder, the batch or the trace.

    ends_trace : the reason why a trace cannot be replayed; if given, traced data is returned.
    """
    value_id, data = current(x)
    storage = storage_of(data)
    if value_id and any(value_id in recorder.followed for recorder in recorders()):
        return None
    if storage.mixed:
        if storage.many or not ends_trace:
            return None
        storage.refuse_replay(data, ends_trace)
    return np.array(storage.host(data), copy=True, subok=False)


# --- checks -------------------------------------------------------------------------------------------
def with_doubts(tape: GradientTape) -> GradientTape:
    """Return the tape, set to keep warnings of untracked conversions for ``settle_doubts``."""
    tape._recording.doubts = []
    return tape


def check_function(caller: str, f: Any, **flags: Any) -> None:
    """Raise TypeError for what cannot be called, and for flags that are no truth values."""
    for name, flag in flags.items():
        if not isinstance(flag, bool | np.bool):
            raise TypeError(
                f"{caller}: {name} must be True or False, got {describe(flag)} [at {user_line()}]"
            )
    if not callable(f):
        raise TypeError(f"{caller}: takes a function, got {describe(f)} [at {user_line()}]")


def check_chunk_size(caller: str, chunk_size: int | None) -> None:
    """Raise TypeError or ValueError for what is no positive integer or None."""
    if chunk_size is None:
        return
    if not isinstance(chunk_size, int | np.integer) or isinstance(chunk_size, bool):
        raise TypeError(
            f"{caller}: chunk_size must be a positive integer or None, got {describe(chunk_size)} "
            f"[at {user_line()}]"
        )
    if chunk_size < 1:
        raise ValueError(
            f"{caller}: chunk_size must be positive, got {chunk_size} [at {user_line()}]"
        )


def check_sequences(caller: str, **given: Any) -> None:
    """Raise TypeError unless each is a tuple or a list."""
    for name, value in given.items():
        if not isinstance(value, list | tuple):
            raise TypeError(
                f"{caller}: {name} must be a tuple with one entry for each argument of the function, "
                f"got {describe(value)} [at {user_line()}]"
            )


def with_aux(caller: str, y: RawArray) -> tuple[Any, Any]:
    """Return a function's value as (result, aux); raise TypeError for anything else."""
    if not isinstance(y, tuple) or len(y) != 2:
        raise TypeError(
            f"{caller}: with has_aux=True the function must give a tuple (result, aux), got "
            f"{describe(y)} [at {user_line()}]"
        )
    return y


def without_aux(f: Function, has_aux: bool) -> Function:
    """Return the function that gives the result alone."""
    if not has_aux:
        return f
    return functools.wraps(f)(lambda *args, **keywords: f(*args, **keywords)[0])


def checked_arrays(
    caller: str, what: str, value: Any, records: Sequence[Record] = ()
) -> list[Array]:
    """Return the leaves; raise a TypeError, which names a conversion to blame, for other than Arrays."""
    found = nest.leaves(value)
    for leaf in found:
        if not isinstance(leaf, Array):
            raise TypeError(
                f"{caller}: the {what} must be an Array or a nesting of Arrays, got {describe(leaf)}"
                f"{nest.place_in_nesting(leaf, value)} [at {user_line()}]{exit_in(records)}"
            )
    return found


def exit_in(records: Sequence[Record]) -> str:
    """Return the end of a message on a result that is no Array: the untracked conversion, if any."""
    left = left_in(records)
    return "" if left is None else f". {left} {see('value-left-the-tape')}"


def check_scalar(y: RawArray, records: Sequence[Record]) -> None:
    """Raise TypeError or ValueError unless ``y`` is a real floating-point Array of shape ()."""
    if not isinstance(y, Array) or y.dtype.kind != "f":
        raise TypeError(
            f"grad: the function must give one real floating-point Array, got {describe(y)} "
            f"[at {user_line()}]{exit_in(records)}"
        )
    if y.shape != ():
        raise ValueError(
            f"grad: the function must give an Array of shape (), got {describe(y)} "
            f"[at {user_line()}]; use jacobian, or sum the result; for second derivatives "
            "jacobian(jacobian(f))"
        )
