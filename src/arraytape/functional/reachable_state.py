"""The mutable state that a function can reach: saved before the function runs, restored afterwards.

``ReachableState`` searches the objects that the function and its arguments refer to, directly or through
others.  For each mutable object, it saves the contents and creates a restorer: a function without
parameters that restores the contents if they have changed.  The functions ``put_back_...`` and
``kept_lock`` return a restorer.  The other functions ``kept_...`` return a pair of a restorer and the
object's contents, in which the search continues.
"""

from __future__ import annotations

import _thread
import array
import collections
import contextvars
import datetime
import functools
import gc
import io
import operator
import random
import re
import sys
import types
import warnings
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .._array.array import Array
from .._storage.storage import storage_of
from .._util.source_locations import is_installed

# Limits of one search.  Beyond a limit, except BYTES, the function is not run again (Unrepeatable).
OBJECTS = 5_000  # number of objects
ITEMS = 500_000  # number of items of all containers together
BYTES = 2**22  # bytes of one array: a larger NumPy array is not copied, but read-only in the run
COPIED = 2**27  # bytes of all copied arrays together
# Types of objects that cannot change and refer to no other objects: the search skips them.
ATOMS = {
    type(None),
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    type(Ellipsis),
    types.CodeType,
    np.ufunc,
}
# Types implemented in C whose instances have no state but references to other objects, in which the
# search continues.
REFERRING = (
    types.BuiltinFunctionType, types.MethodWrapperType, types.MappingProxyType, types.GenericAlias,
    types.GetSetDescriptorType, types.MemberDescriptorType, types.MethodDescriptorType,
    types.WrapperDescriptorType, types.ClassMethodDescriptorType, types.MethodType, types.UnionType,
    functools.partial, operator.itemgetter, operator.attrgetter, operator.methodcaller,
    property, classmethod, staticmethod, slice,
)  # fmt: skip
# Types implemented in C whose own memory does not change, or whose changes have no effect on results.
FIXED = (
    int, float, complex, str, bytes, tuple, frozenset, range, BaseException, type, _thread._local,
    datetime.datetime, datetime.date, datetime.time,
    datetime.timezone, datetime.timedelta, datetime.tzinfo, re.Pattern,
    re.Match, types.ModuleType, contextvars.Token, np.generic, np.dtype, weakref.ref,
)  # fmt: skip
LOCKS = (_thread.LockType, _thread.RLock)
UNKNOWN = object()  # marks a name, slot or closure cell that has no value


class Unrepeatable(Exception):
    """The error for a function that must not run again, because its side effects cannot be undone.

    The message is a clause about the function ("it has an array in a file").
    """


Restorer = Callable[[], None]


class ReachableState:
    """The saved contents of all mutable objects that can be reached from ``roots``.

    A user's function runs again for finite differences.  Afterwards the state that it changed is
    restored.

    kept : the restorers: functions, each of which restores the contents of one object.
    seen : the ids of the visited objects.
    large : arrays that are too large to be copied; they are read-only while the function runs.
    names : the global names that the functions use.
    """

    def __init__(self, *roots: Any) -> None:
        self.kept: list[Restorer] = []
        self.seen: set[int] = set()
        self.large: list[Any] = []
        self.names: set[str] = set()
        self.items = self.copied = 0
        waiting = collections.deque(roots)
        self.keep_random_state()
        while waiting:
            thing = waiting.popleft()
            if type(thing) in ATOMS or id(thing) in self.seen:
                continue
            self.seen.add(id(thing))
            if len(self.seen) > OBJECTS:
                raise Unrepeatable("it reaches too many objects")
            waiting.extend(self.keep_contents(thing))
        if "spawn" in self.names:
            raise Unrepeatable("it may spawn generators of random numbers")
        self.roots = roots  # keeps the objects alive whose ids are in ``seen``

    def restore(self) -> None:
        """Restore the saved contents of all objects."""
        failure: Exception | None = None
        for put_back in (*self.unlocking(), *reversed(self.kept)):
            try:
                put_back()
            except Exception as error:  # raise it only after all other objects are restored
                failure = error
        if failure is not None:
            raise Unrepeatable("a part of its state cannot be put back") from failure

    def lock_large(self) -> None:
        """Make the large arrays read-only, so that a write to one raises an error.

        Large arrays are not copied, so a change could not be undone after the run.
        """
        for data in self.large:
            data.flags.writeable = False

    def unlocking(self) -> list[Callable[[], None]]:
        """Return a function for each large array that makes the array writeable again.

        Owners of memory come before their views, because NumPy makes a view writeable only if the
        owner of its memory is writeable at that time.
        """
        ordered = sorted(self.large, key=count_bases)
        return [functools.partial(data.setflags, write=True) for data in ordered]

    def keep_random_state(self) -> None:
        """Save the state of the global random generators of ``random`` and ``numpy.random``.

        The run for finite differences then does not change the numbers that the program draws later.
        """
        self.kept.append(put_back_random(random.getstate, random.setstate))
        self.kept.append(put_back_random(np.random.get_state, np.random.set_state))

    def keep_contents(self, thing: Any) -> Iterable[Any]:
        """Save the contents of one object, of any type, and return the objects that it refers to.

        No call here may run a method of a user's class, which could have side effects.  So types are
        tested by ``issubclass(type(thing), ...)``, as ``isinstance`` reads ``__class__``.  ``getattr``,
        ``len``, ``iter`` and ``==`` are avoided for the same reason.
        """
        kind = type(thing)
        if issubclass(kind, types.FunctionType):
            return self.keep_function(thing)
        if issubclass(kind, Array):
            return self.keep_array(thing, storage_of(thing._data).host(thing._data))
        if issubclass(kind, np.ndarray):
            return self.keep_array(thing, thing)
        for of, keep in KEEPERS:
            if issubclass(kind, of):
                put_back, parts = keep(thing)
                self.kept.append(put_back)
                return [*self.counted_parts(parts), *self.keep_attributes(thing)]
        if issubclass(kind, tuple | frozenset):
            items = tuple.__iter__(thing) if issubclass(kind, tuple) else frozenset.__iter__(thing)
            return [*self.counted_parts([*items]), *self.keep_attributes(thing)]
        if issubclass(kind, types.ModuleType):
            return self.keep_module(thing)
        if issubclass(kind, type):
            return self.keep_class(thing)
        return [*self.keep_c_instance(thing, kind), *self.keep_attributes(thing)]

    def keep_c_instance(self, thing: Any, kind: type) -> Iterable[Any]:
        """Save an instance of a C type if that is possible, and return the objects to which it refers.

        Objects in attributes are left out.  Raise Unrepeatable if Python code cannot save the state.
        """
        if issubclass(kind, REFERRING):
            return gc.get_referents(thing)
        if issubclass(kind, weakref.ref):
            return [weakref.ref.__call__(thing)]
        if kind is contextvars.ContextVar:
            return [thing.get(None)]
        if kind is memoryview:
            return [thing.obj]
        if kind is types.CellType:
            put_back, value = kept_cell(thing)
            self.kept.append(put_back)
            return [value]
        if kind in LOCKS:
            self.kept.append(kept_lock(thing))
        elif kind is functools._lru_cache_wrapper and is_installed(
            getattr(getattr(thing.__wrapped__, "__code__", None), "co_filename", "")
        ):
            pass  # more entries in the cache of a library's function change no results
        elif not is_standard(thing) and hides_state(kind):
            raise Unrepeatable(f"it has a {kind.__name__}")
        return ()

    def counted_parts(self, parts: Iterable[Any]) -> Iterable[Any]:
        """Return the items of a container as a list; raise Unrepeatable beyond the limit ITEMS.

        The limit bounds the time of the search for state that a function can change.
        """
        parts = [*parts]
        self.items += len(parts)
        if self.items > ITEMS:
            raise Unrepeatable("it reaches too many objects")
        return parts

    def keep_function(self, function: types.FunctionType) -> Iterable[Any]:
        """Save a function's closure cells and, if a user wrote it, the globals that it uses.

        Return the values of these cells and globals, and the default arguments: the objects that the
        search visits next.
        """
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
        names, used = function.__globals__, global_names(function.__code__)
        self.names |= used
        for name in used:
            value = names.get(name, UNKNOWN)
            self.kept.append(put_back_item(names, name, value))
            found.append(value)
        return found

    def keep_array(self, thing: Any, data: Any) -> Iterable[Any]:
        """Save the elements of an array by a copy, or add a large NumPy array to ``large``.

        Return the objects that the array refers to.

        thing : an Array or a NumPy array.
        data : its elements as a NumPy array, or ``thing`` itself if it is a NumPy array.
        """
        found: list[Any] = []
        if issubclass(type(thing), np.memmap) and thing.flags.writeable:
            raise Unrepeatable("it has an array in a file")
        if issubclass(type(data), np.ndarray):
            plain = np.ndarray.view(data, np.ndarray)
            if plain.dtype.hasobject:
                found += self.counted_parts([x for part in objects_of(plain) for x in part])
        if data is thing and data.nbytes > BYTES and may_be_locked(data):
            if data.flags.writeable:
                self.large.append(data)
        else:
            self.copied += data.nbytes
            if self.copied > COPIED:
                raise Unrepeatable("it reaches too much memory")
            self.kept.append(put_back_array(thing, np.array(data, copy=True, subok=False)))
        if (
            type(thing) is not np.ndarray
            and type(thing).__module__.partition(".")[0] != "arraytape"
        ):
            found += self.keep_attributes(thing)
        return found

    def keep_module(self, module: types.ModuleType) -> Iterable[Any]:
        """Save the global variables of a user's module, and return their values.

        The values are the objects that the search visits next.  Return () for an installed module, and
        for a module without a file.
        """
        file = getattr(module, "__file__", None)
        if file is None or is_installed(file):
            return ()
        self.kept.append(put_back_dict(vars(module)))
        return [*vars(module).values()]

    def keep_class(self, of: type) -> Iterable[Any]:
        """Save the attributes of a user's class, and return the objects that the class refers to.

        Return () for a class of Python or of an installed package.
        """
        module = sys.modules.get(of.__module__)
        file = getattr(module, "__file__", None)
        if of.__module__ == "builtins" or (file is not None and is_installed(file)):
            return ()
        self.kept.append(put_back_class(of))
        return [*type.__dict__["__dict__"].__get__(of).values(), *of.__bases__, type(of)]

    def keep_attributes(self, thing: Any) -> Iterable[Any]:
        """Save the attributes of an object in its ``__dict__`` and its slots; return their values.

        The values are the objects that the search visits next.

        Of arraytape's own objects only Modules have state, such as layers, metrics and optimizers.
        """
        found: list[Any] = []
        package = str(type(thing).__module__).partition(".")[0]
        if package == "arraytape" and not hasattr(type(thing), "trainable_variables"):
            return [getattr(thing, "__wrapped__", None)]
        names = attributes_of(thing)
        if isinstance(names, dict):
            self.kept.append(put_back_dict(names))
            found += names.values()
        for of in type(thing).__mro__:
            for member in [*vars(of).values()]:
                if isinstance(member, types.MemberDescriptorType) and "__slots__" in vars(of):
                    put_back, value = kept_slot(thing, member)
                    self.kept.append(put_back)
                    found.append(value)
        return [*found, type(thing)]


# --- functions that save one object and return its restorer ---------------------------------------
def put_back_random(get: Callable[[], Any], set_: Callable[[Any], Any]) -> Restorer:
    before = get()

    def restore_random() -> None:
        if repr(get()) != repr(before):
            set_(before)

    return restore_random


def count_bases(data: np.ndarray[Any, Any]) -> int:
    """Return the number of arrays between an array and the owner of its memory, the owner included.

    Owners of memory are made writeable before their views.
    """
    count = 0
    while isinstance(data.base, np.ndarray):
        data, count = data.base, count + 1
    return count


def put_back_item(names: dict[str, Any], name: str, value: Any) -> Restorer:
    def restore_item() -> None:
        if value is UNKNOWN:
            names.pop(name, None)
        elif names.get(name, UNKNOWN) is not value:
            names[name] = value

    return restore_item


def put_back_dict(names: dict[Any, Any]) -> Restorer:
    # A plain dict, even if ``names`` is of a subclass.  The copy reuses the hashes of the keys, so that
    # no ``__hash__`` of a user's class runs.
    before = dict.copy(names)
    ordered = isinstance(names, collections.OrderedDict)
    base: Any = collections.OrderedDict if ordered else dict

    def restore_dict() -> None:
        if dict.__len__(names) != len(before) or any(
            a is not c or b is not d
            for (a, b), (c, d) in zip(before.items(), dict.items(names), strict=True)
        ):
            base.clear(names)
            base.update(names, before)

    return restore_dict


def put_back_class(of: type) -> Restorer:
    before = dict(vars(of))

    def restore_class() -> None:
        now = dict(vars(of))
        changed = [name for name in {*now, *before} if now.get(name) is not before.get(name)]
        for name in changed:
            if name in before:
                type.__setattr__(of, name, before[name])
            else:
                type.__delattr__(of, name)

    return restore_class


def put_back_array(thing: Any, before: np.ndarray[Any, Any]) -> Restorer:
    is_array = isinstance(thing, Array)
    was_writeable = not is_array and thing.flags.writeable

    def restore_array() -> None:
        if is_array:
            data = storage_of(thing._data).host(thing._data)
        else:
            data = np.ndarray.view(thing, np.ndarray)
        if data.shape == before.shape and same_bytes(data, before):
            if not is_array and thing.flags.writeable != was_writeable:
                thing.flags.writeable = was_writeable
        elif is_array and hasattr(thing, "assign"):
            thing.assign(before)
        elif is_array:
            thing[...] = before
        else:
            thing.flags.writeable = True
            if data.size != before.size:
                del data
                np.ndarray.resize(thing, before.shape, refcheck=False)
            elif data.shape != before.shape:
                with warnings.catch_warnings():  # NumPy 2.5 deprecates the assignment to ``shape``
                    warnings.simplefilter("ignore", DeprecationWarning)
                    thing.shape = before.shape
            np.ndarray.view(thing, np.ndarray)[...] = before
            thing.flags.writeable = was_writeable

    return restore_array


def same_bytes(data: np.ndarray[Any, Any], before: np.ndarray[Any, Any]) -> bool:
    """Return True if two arrays of equal shape hold the same bytes and the same objects.

    Bytes are compared, because NaN is not equal to itself.
    """
    if data.dtype != before.dtype:
        return False
    if data.dtype.hasobject:
        parts = zip(objects_of(data), objects_of(before), strict=True)
        same = all(a is b for one, other in parts for a, b in zip(one, other, strict=True))
        if data.dtype == object or not same:
            return same
    return bool(data.tobytes() == before.tobytes())


def objects_of(data: np.ndarray[Any, Any]) -> list[Any]:
    """Return the Python objects in an array as iterators, one for each field of dtype object."""
    if data.dtype.names is None:
        return [data.flat] if data.dtype.hasobject else []
    return [part for name in data.dtype.names for part in objects_of(data[name])]


def may_be_locked(data: np.ndarray[Any, Any]) -> bool:
    """Return True if an array can be made read-only for a run, and writeable again afterwards.

    NumPy allows the latter only if it owns the memory of the array.
    """
    while isinstance(data.base, np.ndarray):
        data = data.base
    return data.base is None and bool(data.flags.owndata)


def kept_cell(cell: types.CellType) -> tuple[Restorer, Any]:
    def contents() -> Any:
        try:
            return cell.cell_contents
        except ValueError:
            return UNKNOWN

    before = contents()

    def restore_cell() -> None:
        if before is not UNKNOWN and contents() is not before:
            cell.cell_contents = before

    return restore_cell, before


def kept_slot(thing: Any, member: types.MemberDescriptorType) -> tuple[Restorer, Any]:
    def slot_value() -> Any:
        try:
            return member.__get__(thing)
        except AttributeError:
            return UNKNOWN

    before = slot_value()

    def restore_slot() -> None:
        if slot_value() is before:
            return
        if before is UNKNOWN:
            member.__delete__(thing)
        else:
            member.__set__(thing, before)

    return restore_slot, before


# A function that restores an object, and the objects in it, which the search visits next.
Kept = tuple[Restorer, Iterable[Any]]


def kept_list(thing: list[Any] | collections.deque[Any]) -> Kept:
    base: Any = list if issubclass(type(thing), list) else collections.deque
    before = [*base.__iter__(thing)]

    def restore_list() -> None:
        now = base.__iter__(thing)
        if base.__len__(thing) != len(before) or any(
            a is not b for a, b in zip(now, before, strict=True)
        ):
            base.clear(thing)
            base.extend(thing, before)

    return restore_list, before


def kept_dict(thing: dict[Any, Any]) -> Kept:
    return put_back_dict(thing), [*dict.keys(thing), *dict.values(thing)]


def kept_set(thing: set[Any]) -> Kept:
    before = set.copy(thing)
    items = [*set.__iter__(thing)]

    def restore_set() -> None:
        if set.__len__(thing) != len(items) or {*map(id, items)} != {*map(id, set.__iter__(thing))}:
            set.clear(thing)
            set.update(thing, before)

    return restore_set, items


def kept_bytes(thing: Any) -> Kept:
    before = thing[:]

    def restore_bytes() -> None:
        if thing != before:
            thing[:] = before

    return restore_bytes, ()


def kept_text(thing: io.StringIO | io.BytesIO) -> Kept:
    before: Any = thing.getvalue()
    at = thing.tell()

    def restore_text() -> None:
        if thing.getvalue() != before or thing.tell() != at:
            thing.seek(0)
            thing.truncate()
            thing.write(before)
            thing.seek(at)

    return restore_text, ()


def kept_generator(thing: np.random.Generator) -> Kept:
    bits: Any = thing.bit_generator

    def put_generator_state(state: dict[str, Any]) -> None:
        bits.state = state

    return put_back_random(lambda: bits.state, put_generator_state), ()


def kept_bits(thing: np.random.BitGenerator) -> Kept:
    def put_bits_state(state: dict[str, Any]) -> None:
        thing.state = state

    return put_back_random(lambda: thing.state, put_bits_state), ()


def kept_state(thing: random.Random | np.random.RandomState) -> Kept:
    if isinstance(thing, random.Random):
        return put_back_random(thing.getstate, thing.setstate), ()
    return put_back_random(thing.get_state, thing.set_state), ()


# Mutable types, each with the function that saves an instance.
KEEPERS: tuple[tuple[Any, Callable[[Any], Kept]], ...] = (
    (list, kept_list),
    (collections.deque, kept_list),
    (dict, kept_dict),
    (set, kept_set),
    (bytearray | array.array, kept_bytes),
    (io.StringIO | io.BytesIO, kept_text),
    (np.random.Generator, kept_generator),
    (np.random.BitGenerator, kept_bits),
    (random.Random | np.random.RandomState, kept_state),
)


def kept_lock(lock: _thread.LockType | _thread.RLock) -> Restorer:
    """Return a function that releases a lock if a run for finite differences left it held.

    Raise Unrepeatable if the lock is held now, because the run might wait for it for ever.
    """

    def is_closed() -> bool:
        if hasattr(lock, "_is_owned") and lock._is_owned():
            return True
        return not lock.acquire(blocking=False) or lock.release() is not None

    if is_closed():
        raise Unrepeatable("a lock is held")

    def restore_lock() -> None:
        while is_closed():
            lock.release()

    return restore_lock


def is_standard(thing: Any) -> bool:
    """Return True if an object is stdout or stderr.

    A run for finite differences replaces these streams, so that their state need not be saved.
    """
    return any(thing is one for one in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__))


def attributes_of(thing: Any) -> dict[str, Any] | None:
    """Return the ``__dict__`` of an object, or None, without a call of its class's ``__getattribute__``.

    Such a method is the user's, and could have side effects.
    """
    base: Any = _thread._local if issubclass(type(thing), _thread._local) else object
    try:
        names = base.__getattribute__(thing, "__dict__")
    except AttributeError:
        return None
    return names if isinstance(names, dict) else None


def hides_state(kind: type) -> bool:
    """Return True if instances have state in C that no attribute shows, so that it cannot be saved.

    Examples are files, iterators, connections, caches, and arrays of other libraries.  A class adds 8
    bytes to an instance for each slot, and for ``__dict__`` and ``__weakref__``.  If a class adds more
    to the ``__basicsize__`` of its base, the rest is hidden state.

    kind : the type of the instances.
    """
    of: Any = kind
    while of is not object:
        if of in FIXED or of.__module__ in ("_abc", "_contextvars", "decimal"):
            return False
        names = vars(of)
        shown: list[Any] = [
            one for one in names.values() if isinstance(one, types.MemberDescriptorType)
        ]
        shown += [one for one in ("__dict__", "__weakref__") if one in names]
        if of.__basicsize__ - of.__base__.__basicsize__ > 8 * len(shown):
            return True
        of = of.__base__
    return False


def global_names(code: types.CodeType) -> set[str]:
    """Return the names that a function, or a function defined inside it, may look up in its globals.

    Attribute names are included, because ``co_names`` does not separate them from global names.
    """
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= global_names(constant)
    return found


__all__ = ["ReachableState", "Unrepeatable"]
