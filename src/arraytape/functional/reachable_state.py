"""State that a function can reach: kept before it is evaluated again, and put back afterwards."""

from __future__ import annotations

import array
import collections
import contextlib
import functools
import io
import random
import sys
import types
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from .._array.array import Array
from .._storage.storage import storage_of
from .._util.places import is_installed

OBJECTS = 5_000  # that are visited at most
BYTES = 2**22  # of one array that are copied; of a larger one a checksum is kept
ATOMS = (
    type(None), bool, int, float, complex, str, bytes, type(Ellipsis), np.generic, np.dtype,
    types.BuiltinFunctionType, types.CodeType, np.ufunc,
)  # fmt: skip
UNKNOWN = object()


class Unrepeatable(Exception):
    """State cannot be kept, or was changed and cannot be put back: the function must not run again."""


class ReachableState:
    """The mutable objects that functions and their arguments lead to, with what they hold now.

    ``restore`` puts it back, and gives whether anything had changed.
    """

    def __init__(self, *roots: Any) -> None:
        self.kept: list[Callable[[], bool]] = []
        self.seen: set[int] = set()
        waiting = collections.deque(roots)
        self.keep_random_state()
        while waiting:
            thing = waiting.popleft()
            if isinstance(thing, ATOMS) or id(thing) in self.seen:
                continue
            self.seen.add(id(thing))
            if len(self.seen) > OBJECTS:
                raise Unrepeatable("it reaches too many objects")
            waiting.extend(self.keep(thing))
        self.roots = roots  # alive, as are all that ``seen`` has the ids of

    def restore(self) -> bool:
        """Put everything back; True if anything had changed."""
        changed = [put_back() for put_back in reversed(self.kept)]
        return any(changed)

    def keep_random_state(self) -> None:
        """Keep the state of the generators of the process."""
        self.kept.append(put_back_random(random.getstate, random.setstate))
        self.kept.append(put_back_random(np.random.get_state, np.random.set_state))

    def keep(self, thing: Any) -> Iterable[Any]:
        """Keep what one object holds; return what it leads to."""
        if isinstance(thing, types.FunctionType):
            return self.keep_function(thing)
        if isinstance(thing, types.MethodType):
            return thing.__func__, thing.__self__
        if isinstance(thing, functools.partial):
            return thing.func, *thing.args, *thing.keywords.values()
        if isinstance(thing, Array):
            return self.keep_array(thing, storage_of(thing._data).host(thing._data))
        if isinstance(thing, np.ndarray):
            held = [*thing.flat[:OBJECTS]] if thing.dtype.kind == "O" else []
            return [*self.keep_array(thing, thing), *held]
        for kind, keep in KEEPERS:
            if isinstance(thing, kind):
                put_back, parts = keep(thing)
                self.kept.append(put_back)
                return [*parts, *self.keep_attributes(thing)]
        if isinstance(thing, tuple | frozenset):
            return [*thing, *self.keep_attributes(thing)]
        if isinstance(thing, types.ModuleType):
            return self.keep_module(thing)
        if isinstance(thing, type):
            return self.keep_class(thing)
        refuse_streams(thing)
        return self.keep_attributes(thing)

    def keep_function(self, function: types.FunctionType) -> Iterable[Any]:
        """Keep the variables that a function of the user's reads and binds."""
        found: list[Any] = [getattr(function, "__wrapped__", None)]
        for cell in function.__closure__ or ():
            put_back, value = kept_cell(cell)
            self.kept.append(put_back)
            found.append(value)
        if is_installed(function.__code__.co_filename):
            return found
        found += [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
        if function.__dict__:
            found.append(function.__dict__)
        names = function.__globals__
        for name in global_names(function.__code__):
            value = names.get(name, UNKNOWN)
            self.kept.append(put_back_item(names, name, value))
            found.append(value)
        return found

    def keep_array(self, thing: Any, data: Any) -> Iterable[Any]:
        """Keep the values of an array: a copy, of a large one a checksum."""
        if data.nbytes <= BYTES:
            self.kept.append(put_back_array(thing, np.array(data, copy=True)))
        elif data.flags.forc:
            self.kept.append(compare_checksum(thing))
        if type(thing).__module__.partition(".")[0] not in ("arraytape", "numpy"):
            return self.keep_attributes(thing)
        return ()

    def keep_module(self, module: types.ModuleType) -> Iterable[Any]:
        """Keep the names of a module of the user's."""
        file = getattr(module, "__file__", None)
        if file is None or is_installed(file):
            return ()
        self.kept.append(put_back_dict(vars(module)))
        return [*vars(module).values()]

    def keep_class(self, of: type) -> Iterable[Any]:
        """Keep the attributes of a class of the user's."""
        module = sys.modules.get(of.__module__)
        file = getattr(module, "__file__", None)
        if of.__module__ == "builtins" or (file is not None and is_installed(file)):
            return ()
        self.kept.append(put_back_class(of))
        return [*vars(of).values(), *of.__bases__]

    def keep_attributes(self, thing: Any) -> Iterable[Any]:
        """Keep the attributes of an object, in its dict and its slots."""
        found: list[Any] = []
        package = type(thing).__module__.partition(".")[0]
        if package in ("arraytape", "numpy") and not hasattr(thing, "parameters"):
            return [getattr(thing, "__wrapped__", None)]
        names = getattr(thing, "__dict__", None)
        if isinstance(names, dict):
            self.kept.append(put_back_dict(names))
            found += names.values()
        for of in type(thing).__mro__:
            for member in vars(of).values():
                if isinstance(member, types.MemberDescriptorType) and of.__module__ != "builtins":
                    put_back, value = kept_slot(thing, member)
                    self.kept.append(put_back)
                    found.append(value)
        return [*found, type(thing)]


# --- how one object is put back -----------------------------------------------------------------------
def put_back_random(get: Callable[[], Any], set_: Callable[[Any], Any]) -> Callable[[], bool]:
    before = get()

    def put_back() -> bool:
        changed = repr(get()) != repr(before)
        if changed:
            set_(before)
        return changed

    return put_back


def put_back_item(names: dict[str, Any], name: str, value: Any) -> Callable[[], bool]:
    def put_back() -> bool:
        changed = names.get(name, UNKNOWN) is not value
        if changed and value is UNKNOWN:
            names.pop(name, None)
        elif changed:
            names[name] = value
        return changed

    return put_back


def put_back_dict(names: dict[Any, Any]) -> Callable[[], bool]:
    before = list(names.items())

    def put_back() -> bool:
        now = list(names.items())
        if len(now) == len(before) and all(
            a is c and b is d for (a, b), (c, d) in zip(before, now, strict=True)
        ):
            return False
        names.clear()
        names.update(before)
        return True

    return put_back


def put_back_class(of: type) -> Callable[[], bool]:
    before = dict(vars(of))

    def put_back() -> bool:
        now = dict(vars(of))
        changed = [name for name in {*now, *before} if now.get(name) is not before.get(name)]
        for name in changed:
            if name in before:
                setattr(of, name, before[name])
            else:
                delattr(of, name)
        return bool(changed)

    return put_back


def put_back_array(thing: Any, before: Any) -> Callable[[], bool]:
    def put_back() -> bool:
        data = thing
        if isinstance(thing, Array):
            data = storage_of(thing._data).host(thing._data)
        if data.shape == before.shape and (
            data.tobytes() == before.tobytes()
            if data.dtype.kind != "O"
            else all(a is b for a, b in zip(data.flat, before.flat, strict=True))
        ):
            return False
        if data.shape != before.shape or data.dtype != before.dtype:
            raise Unrepeatable("an array was given another shape")
        if isinstance(thing, Array) and hasattr(thing, "assign"):
            thing.assign(before)
        else:
            thing[...] = before
        return True

    return put_back


def compare_checksum(thing: Any) -> Callable[[], bool]:
    def checksum() -> int:
        data = storage_of(thing._data).host(thing._data) if isinstance(thing, Array) else thing
        return zlib.crc32(np.ravel(data, order="K").view(np.uint8).data)

    before = checksum()

    def put_back() -> bool:
        if checksum() != before:
            raise Unrepeatable("a large array is written")
        return False

    return put_back


def kept_cell(cell: types.CellType) -> tuple[Callable[[], bool], Any]:
    def contents() -> Any:
        try:
            return cell.cell_contents
        except ValueError:
            return UNKNOWN

    before = contents()

    def put_back() -> bool:
        changed = contents() is not before
        if changed and before is not UNKNOWN:
            cell.cell_contents = before
        return changed

    return put_back, before


def kept_slot(thing: Any, member: types.MemberDescriptorType) -> tuple[Callable[[], bool], Any]:
    def value() -> Any:
        try:
            return member.__get__(thing)
        except AttributeError:
            return UNKNOWN

    before = value()

    def put_back() -> bool:
        changed = value() is not before
        if changed and before is UNKNOWN:
            member.__delete__(thing)
        elif changed:
            member.__set__(thing, before)
        return changed

    return put_back, before


Kept = tuple[Callable[[], bool], Iterable[Any]]


def kept_list(thing: Any) -> Kept:
    before = list(thing)

    def put_back() -> bool:
        if len(thing) == len(before) and all(a is b for a, b in zip(thing, before, strict=True)):
            return False
        thing.clear()
        thing.extend(before)
        return True

    return put_back, before


def kept_dict(thing: Any) -> Kept:
    return put_back_dict(thing), [*thing.keys(), *thing.values()]


def kept_set(thing: Any) -> Kept:
    before = set(thing)

    def put_back() -> bool:
        if set(thing) == before:
            return False
        thing.clear()
        thing.update(before)
        return True

    return put_back, before


def kept_bytes(thing: Any) -> Kept:
    before = thing[:]

    def put_back() -> bool:
        if thing == before:
            return False
        thing[:] = before
        return True

    return put_back, ()


def kept_text(thing: io.StringIO | io.BytesIO) -> Kept:
    before: Any = thing.getvalue()
    at = thing.tell()

    def put_back() -> bool:
        if thing.getvalue() == before and thing.tell() == at:
            return False
        thing.seek(0)
        thing.truncate()
        thing.write(before)
        thing.seek(at)
        return True

    return put_back, ()


def kept_generator(thing: np.random.Generator) -> Kept:
    bits: Any = thing.bit_generator

    def put(state: Any) -> None:
        bits.state = state

    return put_back_random(lambda: bits.state, put), ()


def kept_state(thing: Any) -> Kept:
    if isinstance(thing, random.Random):
        return put_back_random(thing.getstate, thing.setstate), ()
    return put_back_random(thing.get_state, thing.set_state), ()


KEEPERS: tuple[tuple[Any, Callable[[Any], Kept]], ...] = (
    (list, kept_list),
    (collections.deque, kept_list),
    (dict, kept_dict),
    (set, kept_set),
    (bytearray | array.array, kept_bytes),
    (io.StringIO | io.BytesIO, kept_text),
    (np.random.Generator, kept_generator),
    (random.Random | np.random.RandomState, kept_state),
)


def refuse_streams(thing: Any) -> None:
    """Raise Unrepeatable for open files, iterators, connections: what they do cannot be put back."""
    if isinstance(thing, io.IOBase):
        with contextlib.suppress(ValueError):
            if thing.writable() and thing not in (sys.stdout, sys.stderr, sys.stdin):
                raise Unrepeatable("it has an open file")
        return
    kind = type(thing)
    advances = isinstance(thing, Iterator) and not hasattr(thing, "__dict__")
    if advances or kind.__module__ in ("_csv", "sqlite3", "_socket", "socket", "mmap"):
        raise Unrepeatable(f"it has a {kind.__name__}")


def global_names(code: types.CodeType) -> set[str]:
    """Return the names that a function, with those within it, may look up in its globals."""
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= global_names(constant)
    return found


__all__ = ["ReachableState", "Unrepeatable"]
