"""The arguments of a call in the order of the parameters, and the signature of the call.

A signature (``signature_of``) has the layouts of Arrays, the values of Python arguments and the
identities of other objects.  Only calls with equal signatures can share a program.
"""

from __future__ import annotations

import inspect
import types
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._array.array import FOREIGN, IS_VIEW, SCALAR, Array
from .._array.exports import is_shared
from .._array.paths import UNWRITABLE
from .._array.views import root_of
from .._storage.storage import AMBIENT
from .._util import nest
from .._util.container_kinds import KINDS
from ..variable import Variable
from .reach.reasons import Apart
from .reach.sameness import PLAIN
from .tracing.traced import TRACED_TYPES, Traced

EMPTY = inspect.Parameter.empty


class ArgumentBinding:
    """The binding of arguments to parameters, for calls with the same keywords and argument count.

    ``xp.function`` uses it to find the values of a call fast, before it looks for a program to replay.
    signature : the signature of the user's function, or None if it has none.
    count, keywords : the number of positional arguments, and the names of the keyword arguments.
    names : the names of the bound values, such as "x", "args[0]", "options['rate']".
    take : a function that maps args and keywords to a tuple of the bound values, defaults included; None
        if args itself is this tuple.
    values : name of a bound value -> its source: an index of args, a name in keywords, or a list with
        the parameter's default.
    """

    def __init__(
        self, signature: inspect.Signature | None, count: int, keywords: Iterable[str]
    ) -> None:
        # Bind placeholders instead of values: an index for a positional argument, a name for a keyword.
        marks = [*range(count)], {name: name for name in keywords}
        found: dict[str, Any] = {}
        if signature is None:
            found = {f"argument {i}": i for i in marks[0]}
            found |= marks[1]
            self.values = found
        else:
            self.values = self.bound(signature, signature.bind(*marks[0], **marks[1]))
        self.names = (*self.values,)
        given = [*self.values.values()] == marks[0] and not marks[1]
        self.take = None if given else self.compile_take()

    def bound(self, signature: inspect.Signature, bound: inspect.BoundArguments) -> dict[str, Any]:
        """Return a dict that says where later calls find each value: name, such as "args[0]" -> source.

        A source is an index of args, a name in keywords, or a list with the parameter's default.
        bound : the arguments of one call, bound by ``inspect``.
        """
        found: dict[str, Any] = {}
        for name, parameter in signature.parameters.items():
            if name not in bound.arguments:
                if parameter.default is not EMPTY:
                    found[name] = [parameter.default]
                continue
            value = bound.arguments[name]
            if parameter.kind is parameter.VAR_POSITIONAL:
                found |= {f"{name}[{i}]": mark for i, mark in enumerate(value)}
            elif parameter.kind is parameter.VAR_KEYWORD:
                found |= {f"{name}[{key!r}]": value[key] for key in value}
            else:
                found[name] = value
        return found

    def compile_take(self) -> Callable[[Any, Any], Any]:
        """Return a generated function that picks the bound values from args and keywords.

        It runs in each replay.  A generated function is several times faster than ``Signature.bind``.
        """
        scope: dict[str, Any] = {}
        parts = []
        for i, mark in enumerate(self.values.values()):
            if type(mark) is list:
                scope[f"k{i}"] = mark[0]
                parts.append(f"k{i}")
            else:
                parts.append(f"args[{mark}]" if type(mark) is int else f"keywords[{mark!r}]")
        text = "".join(f"{part}, " for part in parts)
        return eval(f"lambda args, keywords: ({text})", scope)  # type: ignore[no-any-return]


class CallArguments(NamedTuple):
    """The arguments of one call.

    values : the arguments in the order of the parameters, defaults included.
    args, keywords : the arguments as the caller passed them.
    """

    binding: ArgumentBinding
    values: Sequence[Any]
    args: tuple[Any, ...]
    keywords: dict[str, Any]


class Identity:
    """A stand-in for an object in a call's signature, which compares equal only for this very object.

    It equals nothing once the object is freed, although another object may then have the same id.
    of : a function that returns the object, or None once it is freed.  It is a weak reference, if the
        object supports one.
    gone : called when the object is freed.
    """

    __slots__ = ("hash", "of")

    def __init__(self, value: Any, gone: Callable[[], None]) -> None:
        self.hash = id(value)
        try:
            self.of: Callable[[], Any] = weakref.ref(value, lambda _: gone())
        except TypeError:
            self.of = lambda: value

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        found = self.of()
        return self is other or (
            type(other) is Identity and found is not None and found is other.of()
        )


def signature_of(binding: ArgumentBinding, values: Sequence[Any], gone: Callable[[], None]) -> Any:
    """Return a hashable key of a call's arguments: calls with equal keys may share a program.

    The key has the layouts of Arrays, the values of numbers and strings, and the identities of other
    objects.  Raise Apart if the call cannot be replayed, for example because of a read-only view.
    binding : the names and sources of the arguments.
    values : the arguments.
    gone : called when an object in the key is freed, so that the key can be removed.
    """
    places: dict[int, int] = {}
    parts = tuple([signature_part(value, places, gone) for value in values])
    return binding.names, parts, ambient_settings()


def ambient_settings() -> Any:
    """Return the settings around a call that change its result, for example whether interop is active.

    The signature of a call (the key under which its program is found) contains them.  The settings are
    read by the functions in AMBIENT.
    """
    return tuple([ask() for ask in AMBIENT])


def signature_part(value: Any, places: dict[int, int], gone: Callable[[], None]) -> Any:
    """Return one argument's entry in a call's signature, the key under which the program is found.

    value : the argument.
    places : id(Array) -> number of the Array, so that an Array that is passed twice has one number.
    gone : called when an object is freed that the signature compares by identity.
    """
    kind = type(value)
    if isinstance(value, Array):
        place = places.setdefault(id(value), len(places))
        return place, *array_signature(value)
    if kind in PLAIN or isinstance(value, np.generic | np.dtype):
        return kind, repr(value)
    if kind is np.ndarray:
        return kind, value.shape, value.dtype.str, value.strides
    if kind is types.FunctionType:
        return kind, value.__code__
    parts = nest.parts_of_nesting(value)
    if parts is None:
        return Identity(value, gone)
    items = nest.items_of(parts)
    return kind, tuple([(name, signature_part(part, places, gone)) for name, part in items])


def unequal_values(one: Any, other: Any, path: str) -> list[str]:
    """Return where two arguments have different plain values, as paths such as "options['rate']".

    If they also differ in something else, such as the shape of an Array, the list has a path "", too.
    one, other : the entries of the arguments in two signatures, from ``signature_part``.
    path : the path of the argument.
    """
    if one == other:
        return []
    if is_value(one) and is_value(other):
        return [path]
    if not (is_nesting(one) and is_nesting(other)) or len(one[1]) != len(other[1]):
        return [""]
    found = [] if one[0] is other[0] else [""]
    for (name, part), (other_name, other_part) in zip(one[1], other[1], strict=True):
        found += (
            unequal_values(part, other_part, f"{path}[{name!r}]") if name == other_name else [""]
        )
    return found


def is_value(part: Any) -> bool:
    """Return True if an entry of a signature, from ``signature_part``, is that of a number or string."""
    return type(part) is tuple and len(part) == 2 and type(part[1]) is str


def is_nesting(part: Any) -> bool:
    """Return True if an entry of a signature, from ``signature_part``, is that of a container."""
    return type(part) is tuple and len(part) == 2 and type(part[1]) is tuple


def array_signature(x: Array) -> Any:
    """Return the properties of x on which a program (recorded NumPy calls) depends, as a tuple.

    Raise Apart, so that the caller runs the user's function, if calls with x cannot be recorded.
    """
    if x._value_id == -1:  # x is a view, whose data may have to be updated
        x._sync()
    data = x._data
    if is_read_only(x):
        raise Apart("an argument is a read-only view. Pass a copy of it, +x")
    if type(data) is not np.ndarray and type(data) not in TRACED_TYPES:
        name = type(data).__name__
        if isinstance(data, Traced):
            raise Apart("another thread traces with one of its arguments")
        raise Apart(f"data of {type(data).__module__}.{name} is not traced")
    layout = data.shape, data.dtype.str, data.strides, x._state & SCALAR, *marks_of(x)
    return (type(x), *layout) if type(data) is np.ndarray else (type(x), x.device, *layout)


def marks_of(x: Array) -> tuple[Any, ...]:
    """Return (trainable, name) of a Variable, and () for another Array.

    The signature of a call (the key of its program) has them, because a program may depend on both.
    """
    return (x.trainable, x.name) if isinstance(x, Variable) else ()


def is_read_only(x: Array) -> bool:
    """Return True if x is a view that cannot be written to, such as a broadcast.

    Calls with such an argument are not replayed: while a call is recorded, the data that stands in for
    x is writable, so that a write to x would not raise the error of eager code.
    """
    return bool(x._state & IS_VIEW) and not UNWRITABLE.isdisjoint(
        [kind for kind, _ in x._view.path]
    )


def argument_arrays(values: Sequence[Any]) -> list[Array]:
    """Return the Arrays in these arguments, each once."""
    found = {id(x): x for x in argument_leaves(values) if isinstance(x, Array)}
    return [*found.values()]


def argument_leaves(values: Sequence[Any]) -> Iterator[Any]:
    """Yield the leaves of the arguments: Arrays and other objects that are no containers."""
    for value in values:
        yield from nest.leaves(value)


def is_flat(values: Sequence[Any]) -> bool:
    """Return True if no argument is a container.

    A flat call needs no search for Arrays within lists and dicts.
    """
    return all(KINDS[type(value)] is None for value in values)


def check_apart(handles: Iterable[Array]) -> None:
    """Raise Apart if one of these Arrays shares memory with another one or code outside arraytape.

    Apart makes the caller run the user's function. A replayed program would not see that a write to one
    of the Arrays changes the other.
    """
    roots = set()
    for x in handles:
        root = root_of(x)
        if id(root) in roots:
            raise Apart("two Arrays that it uses share memory")
        roots.add(id(root))
        if root._state & FOREIGN and is_shared(root):
            raise Apart("an Array that it uses shares memory with code outside arraytape")
