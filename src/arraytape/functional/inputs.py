"""The arguments and results of function transformations such as ``grad``, and checks of both.

``Inputs`` copies the arguments with respect to which a function is differentiated, and makes Arrays of
their NumPy arrays and numbers.  The gradient with respect to a NumPy array or number is converted back
to a NumPy array or scalar.  A result stays an Array if a recorder outside of the call follows it,
because NumPy data would be a constant to that recorder.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._array.array import Array
from .._array.views import current
from .._record.plan import Record
from .._record.stack import recorders
from .._storage.storage import storage_of
from .._tape.arguments import advice_on_last_exit, differentiable
from .._tape.tape import GradientTape
from .._util import nest
from .._util.array_types import RawArray
from .._util.errors import describe, see, short_repr, user_line
from .._util.options import unwrap_option
from ..ops.creation_functions import asarray, copied

Function = Callable[..., Any]
ArgNums = int | Sequence[int]
# The kinds of leaves in the arguments that the user passed.
IS_ARRAY, IS_NDARRAY, IS_NUMBER = 0, 1, 2


class Inputs:
    """The arguments of one call of a function that is to be differentiated.

    args : the arguments for the call of the function, with copies at the positions ``argnums``.
    chosen : these copies: one argument if ``argnums`` is an int, else a tuple of arguments.
    given : the user's arguments from which these copies were made, in the same nesting.
    kinds : the kind of each leaf of ``given`` (IS_ARRAY, ...); None if all leaves are Arrays.

    caller : the name of the public function, for error messages.
    holes : True if None is allowed as a leaf next to Arrays, as for an absent bias of a model.

    Each call needs its own copies, because in nested derivatives one Array can be two variables.  In
    grad(lambda x: x * grad(lambda y: x + y)(x))(x), the inner gradient is 1.  Without a copy, y would be
    the same value as x, and the inner gradient would be 2.
    """

    __slots__ = ("args", "chosen", "given", "kinds")

    def __init__(
        self, caller: str, args: tuple[Any, ...], argnums: ArgNums, holes: bool = False
    ) -> None:
        if type(argnums) is not int and type(argnums) is not range:
            argnums = unwrap_option(argnums)
        taken = positions(caller, argnums, len(args))
        several, chosen, kinds = list(args), [], []
        for n in taken:
            parts, found = copy_argument(caller, n, args[n], holes)
            kinds += found
            several[n] = nest.pack_nesting(args[n], parts)
            chosen.append(separate_container(args[n], several[n]))
        self.args = tuple(several)
        self.chosen: Any = tuple(chosen)
        self.given: Any = tuple([args[n] for n in taken])
        if isinstance(argnums, int):
            self.chosen, self.given = self.chosen[0], self.given[0]
        self.kinds = kinds if any(kinds) else None

    def gradient(self, found: Any) -> Any:
        """Return gradients as the user gets them: NumPy data for arguments that were NumPy data.

        found : the gradients as Arrays, in the nesting of ``chosen``.
        """
        if self.kinds is None:
            return found
        pairs = zip(nest.leaves(found), self.kinds, strict=True)
        return nest.pack_nesting(self.given, [convert_to_kind(x, kind) for x, kind in pairs])

    def value(self, y: Any) -> Any:
        """Return the function's result y for the user: as NumPy data if no argument holds an Array."""
        if self.kinds is None:
            return y
        pairs = zip(nest.leaves(self.chosen), self.kinds, strict=True)
        return y if any(k == IS_ARRAY for x, k in pairs if x is not None) else to_numpy_data(y)


def separate_container(structure: Any, packed: Any) -> Any:
    """Return the user's argument ``packed`` in a second container: f may change one of the two.

    The other keeps the Arrays with respect to which f is differentiated.  Return ``packed`` itself if it
    is an Array, or if a container of its class copies its Arrays.

    structure : a nesting like ``packed``.  packed : a copy of the user's nesting, with new Arrays.
    """
    if isinstance(packed, Array):
        return packed
    leaves = nest.leaves(packed)
    found = nest.pack_nesting(structure, [*leaves])
    return found if all(map(operator.is_, nest.leaves(found), leaves)) else packed


def positions(caller: str, argnums: ArgNums, count: int) -> list[int]:
    """Return the positions in ``argnums``, with negative positions counted from the end.

    Raise TypeError for other types, and ValueError for positions out of range or named twice.

    caller : the name of the public function, for messages.  argnums : an int or a sequence of ints.
    count : the number of arguments of the call.
    """
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
                f"{caller}: there is no argument at position {n}: the function got {count} arguments "
                f"[at {user_line()}]"
            )
        taken.append(n % count)
    if len(set(taken)) < len(taken):
        raise ValueError(
            f"{caller}: argnums {short_repr(argnums)} name an argument twice [at {user_line()}]"
        )
    return taken


def copy_argument(caller: str, n: int, arg: Any, holes: bool) -> tuple[list[Any], list[int]]:
    """Return copies of an argument's leaves as Arrays, and the kind of each leaf.

    A kind is IS_ARRAY, IS_NDARRAY or IS_NUMBER: the gradient is returned in the same kind.

    caller : the name of the public function, for messages.  n : the position of the argument.
    holes : True if leaves of None are allowed next to other leaves; they are returned unchanged.
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
            path = [path for path, *_ in nest.located(arg)][len(parts)]
            place = f" at {path!r}" if path else ""
            raise TypeError(
                f"{caller}: argument {n} is {describe(leaf)}{place}: only real and complex "
                "floating-point arrays have derivatives; cast it by astype(float), or give it as "
                f"another argument [at {user_line()}]"
            )
        parts.append(copied(part))
        kinds.append(kind)
    return parts, kinds


def leaf_kind(caller: str, n: int, leaf: Any, arg: Any) -> int:
    """Return the kind of a leaf that is no Array: IS_NDARRAY or IS_NUMBER.

    Raise TypeError for any other leaf, such as an int or a subclass of ndarray.

    caller : the name of the public function, for messages.
    n, arg : the position of the argument, and the argument with this leaf.
    """
    if isinstance(leaf, np.ndarray):
        if type(leaf) not in (np.ndarray, np.memmap):
            raise TypeError(
                f"{caller}: argument {n} is {describe(leaf)}{nest.place_in_nesting(leaf, arg)}, "
                "a subclass "
                "of ndarray whose further attributes would be lost: pass np.asarray of it "
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


def arguments_for_rerun(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the user's arguments with Arrays in place of floats and floating-point NumPy arrays.

    f is called with them once more, to check its derivative by finite differences.
    """

    def as_array(leaf: Any) -> Any:
        number = isinstance(leaf, float | complex | np.inexact)
        inexact = isinstance(leaf, np.ndarray) and leaf.dtype.kind in "fc"
        return asarray(leaf, copy=True) if number or inexact else leaf

    return tuple([nest.pack_nesting(x, [as_array(leaf) for leaf in nest.leaves(x)]) for x in args])


# --- conversion of results to NumPy data --------------------------------------------------------------
def convert_to_kind(x: Any, kind: int) -> Any:
    """Return the Array x, a gradient, in the kind of the user's argument.

    That is a NumPy array if ``kind`` is IS_NDARRAY, and a NumPy scalar if it is IS_NUMBER.  Return x
    itself if ``kind`` is IS_ARRAY, or if a tape follows x, so that NumPy data would be a constant to it.
    """
    data = None if kind == IS_ARRAY else numpy_data(x)
    if data is None:
        return x
    return data[()] if kind == IS_NUMBER else data


def to_numpy_data(value: Any) -> Any:
    """Return a result with NumPy arrays in place of Arrays, and NumPy scalars for 0-d Arrays.

    Arrays that a tape follows stay Arrays, because NumPy data would be constants to the tape.  So do
    Arrays inside vmap.
    """
    found = []
    for leaf in nest.leaves(value):
        data = numpy_data(leaf) if type(leaf) is Array else None
        found.append(leaf if data is None else data[()])
    return nest.pack_nesting(value, found)


def numpy_data(x: Array, ends_trace: str = "") -> np.ndarray[Any, Any] | None:
    """Return a copy of an Array's data as NumPy array, or None if the Array must not be converted.

    An Array that a recorder (a tape, say) follows must not be converted, since NumPy data would be a
    constant to the recorder.  The same holds inside vmap and inside a trace for replay.

    ends_trace : "", or a clause with the reason why the caller needs NumPy data even in a trace.  Then
    traced data is converted, and the trace cannot be replayed for this reason.
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
def collect_doubts(tape: GradientTape) -> GradientTape:
    """Make a tape collect possibly lost parts of a derivative (Doubts), and return the tape.

    A conversion such as ``float(x)`` may lose a part.  Finite differences then check each Doubt; without
    this setting the tape warns at once.
    """
    tape._recording.doubts = []
    return tape


def check_function(caller: str, f: Any, **flags: Any) -> None:
    """Raise TypeError if f is not callable, or a keyword argument (a flag of the user) is no bool.

    caller : the name of the public function, for the message.
    """
    for name, flag in flags.items():
        if not isinstance(flag, bool | np.bool):
            raise TypeError(
                f"{caller}: {name} must be True or False, got {describe(flag)} [at {user_line()}]"
            )
    if not callable(f):
        raise TypeError(f"{caller}: takes a function, got {describe(f)} [at {user_line()}]")


def check_chunk_size(caller: str, chunk_size: int | None) -> None:
    """Raise TypeError or ValueError unless ``chunk_size`` is a positive integer or None.

    caller : the name of the public function, for messages.
    """
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
    """Raise TypeError unless each keyword argument (primals, tangents, ...) is a tuple or a list.

    caller : the name of the public function, for messages.
    """
    for name, value in given.items():
        if not isinstance(value, list | tuple):
            raise TypeError(
                f"{caller}: {name} must be a tuple with one entry for each argument of the function, "
                f"got {describe(value)} [at {user_line()}]"
            )


def checked_aux_pair(caller: str, y: RawArray) -> tuple[Any, Any]:
    """Return ``y``, a user's function's result; raise TypeError unless it is a tuple (result, aux).

    A function with ``has_aux=True`` must return such a pair; only ``result`` is differentiated.
    """
    if not isinstance(y, tuple) or len(y) != 2:
        raise TypeError(
            f"{caller}: with has_aux=True the function must give a tuple (result, aux), got "
            f"{describe(y)} [at {user_line()}]"
        )
    return y


def without_aux(f: Function, has_aux: bool) -> Function:
    """Return a function that returns f's result without aux; f itself if ``has_aux`` is False.

    has_aux : True if f returns a tuple (result, aux).
    """
    if not has_aux:
        return f
    return functools.wraps(f)(lambda *args, **keywords: f(*args, **keywords)[0])


# The functions with a parameter ``has_aux``.
WITH_AUX = ("jacobian", "jacrev", "jacfwd", "jvp", "linearize", "vjp")


def checked_arrays(
    caller: str, what: str, value: Any, records: Sequence[Record] = ()
) -> list[Array]:
    """Return the leaves of ``value``; raise TypeError if a leaf is no Array.

    caller, what : the names of the public function and of the value, for the message.
    records : the records of the function's run; if an untracked conversion is among them, the message
    names its line.
    """
    found = nest.leaves(value)
    for leaf in found:
        if not isinstance(leaf, Array):
            advice = f"the {what} must be an Array or a nesting of Arrays"
            if value is None:
                advice = "return the result from the function: is its `return` missing?"
            elif isinstance(value, tuple) and caller in WITH_AUX:
                advice += ", or pass has_aux=True for a function of (result, aux)"
            place = nest.place_in_nesting(leaf, value)
            raise wrong_result(caller, advice, f"got {describe(leaf)}{place}", records)
    return found


def wrong_result(caller: str, advice: str, fact: str, records: Sequence[Record]) -> TypeError:
    """Return the error for a function whose result is no Array, or an Array without a derivative.

    caller : the name of the public function.
    advice, fact : clauses that say what to do and what the result is.  If ``records`` have an untracked
    conversion, the message has other advice: how to avoid it.
    records : the records of the function's run.
    """
    left = advice_on_last_exit(records)
    if left is None:
        return TypeError(f"{caller}: {advice}; {fact} [at {user_line()}]")
    return TypeError(
        f"{caller}: {left.advice}; {fact} [at {user_line()}], since {left.fact} "
        f"{see('value-left-the-tape')}"
    )


def check_scalar(y: RawArray, records: Sequence[Record]) -> None:
    """Raise TypeError or ValueError unless ``y`` is a real floating-point Array of shape ().

    records : the records of the function's run, in which the message finds conversions such as
    ``float(x)``.
    """
    if not isinstance(y, Array) or y.dtype.kind != "f":
        if y is None:
            advice = "return the loss from the function: is its `return` missing?"
        elif isinstance(y, tuple):
            advice = "return the loss alone, or pass has_aux=True for a function of (loss, aux)"
        else:
            advice = "return one real floating-point Array of shape () from the function"
        raise wrong_result("grad", advice, f"the function returned {describe(y)}", records)
    if y.shape != ():
        raise ValueError(
            f"grad: the function must give an Array of shape (), got {describe(y)} "
            f"[at {user_line()}]; use jacobian, or sum the result; for second derivatives "
            "jacobian(jacobian(f))"
        )
