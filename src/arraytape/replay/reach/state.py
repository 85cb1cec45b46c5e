"""The Python state that a call can read, apart from the data of its Arrays, and its comparison.

A traced program is only right while this state is unchanged.  The state is everything that can be
reached from the function and its arguments: closure cells, defaults, globals that the code names,
attributes and elements of containers.  For functions among these values, it includes their state, too.

``State`` walks over these values before a traced call.  For each value it writes a line of code that
reads the value again by its path, and a condition that compares the value with the first one.  All lines
are compiled into one function ``read(values)``, which each replay calls first.  ``read`` refers weakly
to most objects of users, so that a program does not keep them alive.
"""

from __future__ import annotations

import abc
import builtins
import functools
import inspect
import io
import logging
import re
import sys
import types
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from operator import attrgetter, methodcaller
from typing import Any

import numpy as np

from ..._array.array import Array
from ..._define.define_op import Forward
from ..._record.stack import BaseRecorder
from ..._util.array_types import Index
from ..._util.container_kinds import KINDS
from ..._util.errors import PACKAGE
from ..._util.locks import HAVE_LOCKS, LOCK_TYPES
from ..._util.source_locations import is_installed
from ..program import defined_function, scope_name
from .held_in_c import AMBIENT_STATE, MISSING, is_in_c, referents, value_of
from .mutable_sources import MutableSources, source_state, state_reader
from .names import MODULES, absolute_module, code_names, words_in
from .ran import UnnamedState, functions_in, is_user_class
from .reasons import NUMPY, Apart, changed
from .sameness import BUFFERS, PLAIN, buffer_of, same_data, same_items, same_plain

OP_FILES = ("<arraytape", f"{PACKAGE}_define")  # prefixes of the file names of ops, compiled or not
DEPTH = 16  # the maximum depth of nested objects of libraries
LONG_CONTAINER = 64  # the maximum size of a container whose plain values are compared one by one
MOST = 2000  # the maximum number of compared values
# The functions that ``callback`` made: the state that they read is not compared.
CALLBACKS: weakref.WeakSet[Any] = weakref.WeakSet()
# A read of ``__closure__``, ``__dict__`` or ``__globals__`` of a value.  The first alternatives match
# string literals, so that the name is not found within a string.
TABLES = re.compile(
    r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\b(?P<name>v\d+)\.__(?:closure|dict|globals)__\b"""
)
# Errors of a read by a path that no longer exists.
ERRORS = "(LookupError, ValueError, AttributeError, TypeError, ReferenceError)"
# Attributes that Python itself adds to classes.  They are compared only if users' code names them.
IMPLICIT_ATTRIBUTES = re.compile(
    r"__(dict|weakref|doc|module|annotat\w+|slots|qualname|dataclass_\w+|abstractmethods|"
    r"static_attributes|firstlineno)__"
)
# Attributes of functions that are compared only if users' code names them.
FUNCTION_LABELS = ("__name__", "__qualname__", "__doc__", "__module__", "__annotations__")
# Types of the descriptors of slots, ``__dict__`` and ``__weakref__``, which are not compared.
SLOT_TYPES = (types.MemberDescriptorType, types.GetSetDescriptorType)
WRITTEN_IN_C = (  # types of objects that are code in C, without state
    types.WrapperDescriptorType, types.MethodDescriptorType, types.ClassMethodDescriptorType,
    *SLOT_TYPES, np.ufunc, type(np.sum),
)  # fmt: skip
IDENTITY_TYPES = (
    types.FunctionType, types.BuiltinFunctionType, staticmethod, classmethod, property, type,
    types.ModuleType, functools.cached_property, functools.partialmethod, *LOCK_TYPES,
)  # fmt: skip
IMMUTABLE = 1 << 8  # CPython's Py_TPFLAGS_IMMUTABLETYPE: no attributes of such a type can be set
# Attributes by which code may read the state of a random generator without drawing a number.
STATES = {"getstate", "get_state", "state", "bit_generator", "__getstate__"}


class State:
    """The Python values that a call can read, as they are when this object is made.

    Replays are right only while these values are unchanged.
    function : the user's function.
    values : name -> argument.
    unnamed : the state that earlier calls used, and to which no name in the code leads.
    read : a function that maps the arguments to a tuple of all reached Arrays, in a fixed order.  It
        raises Changed if any other value has changed.
    paths : the paths of these Arrays, such as "model.weight".
    known : the ids of the objects that are compared.
    why_uncomparable : the reason why the state cannot be compared, or "".

    Parameters of methods:
    name, expression, place : generated code that reads a value.
    path : the value's name in messages.
    depth : the number of objects that lead to the value.
    """

    def __init__(
        self, function: Any, values: dict[str, Any], found: UnnamedState | None = None
    ) -> None:
        # The code of ``read``: strings "name = expression", and pairs (condition, path).
        self.lines: list[Any] = []
        self.scope: dict[str, Any] = {
            "MISSING": MISSING, "same": same_plain, "changed": changed, "same_data": same_data,
            "f": function, "same_items": same_items, "ndarray": np.ndarray, "buffer_of": buffer_of,
            "modules": sys.modules, "content_of": content_of, "referents": referents,
            "abc_token": abc.get_cache_token, "value_of": value_of, "source_state": source_state,
        }  # fmt: skip
        self.paths: list[str] = []
        self.arrays: list[str] = []  # the variables of ``read`` that hold Arrays
        self.seen: dict[Any, tuple[str, Any]] = {}  # id -> (name in the generated code, object)
        self.attributes: set[str] = set()  # names of attributes that code reads
        self.globals: set[str] = set()  # names of attributes and globals that code reads
        self.abstract = False  # whether a class is an ABC: classes may be registered with it
        self.any_attribute = False  # whether code may read attributes by names that it computes
        self.user_codes: set[types.CodeType] = set()  # code of users' functions
        self.unnamed = UnnamedState() if found is None else found
        self.user_classes: dict[int, tuple[str, Any]] = {}  # id -> (name, user's class or module)
        # id -> (name, library's class or module)
        self.library_classes: dict[int, tuple[str, Any]] = {}
        self.functions: list[tuple[str, str, Any]] = []  # (name, path, user's function)
        self.mutable_sources = MutableSources()
        self.sources: list[tuple[str, str, Any]] = []  # (name, path, random generator)
        self.ops: list[tuple[str, str, Any, int]] = []  # rules of users' ops, to be compared last
        self.libraries: set[str] = set()  # names in ``read`` of libraries' objects and their parts
        # Expression for globals -> names that code reads and that these globals lack.
        self.absent: dict[str, set[str]] = {}
        # Values for which code is to be generated: (expression, path, value, depth).
        self.queue: deque[tuple[str, str, Any, int]] = deque()
        self.why_uncomparable = ""
        self.count = 0
        self.add("f", getattr(function, "__name__", "f"), function, 0)
        for i, (name, value) in enumerate(values.items()):
            if type(value) is str:
                self.add_words(value)
            elif not isinstance(value, Array) and type(value) not in PLAIN:
                self.add(f"values[{i}]", name, value, 0)
        self.walk()
        self.mutable_sources.is_closed = False
        self.add_unnamed_state()
        self.walk()
        self.read: Callable[[Any], tuple[Array, ...]] = self.compile_read()
        keys = [key[0] if type(key) is tuple else key for key in self.seen]
        self.known = frozenset([key for key in keys if type(key) is int])
        self.seen.clear()
        self.library_classes.clear()
        self.functions.clear()
        self.user_classes.clear()

    def add_unnamed_state(self) -> None:
        """Make replays compare the state in ``unnamed``, to which no name in the code leads."""
        for one in [*self.unnamed.roots.values()]:
            value = one()
            if value is not None:
                path = getattr(value, "__qualname__", type(value).__name__)
                self.add(f"{self.add_global(one)}()", path, value, 0)
        for code, known in [*self.unnamed.nameless.items()]:
            self.compare_named_globals(self.globals_of(known), code, known, 0)
        for known, name in [*self.unnamed.settings.values()]:
            if name in known:
                self.add_setting(f"{self.globals_of(known)}[{name!r}]", name, known[name], 2)
        for text in [*self.unnamed.strings]:
            self.add_words(text)

    def add_words(self, text: str) -> None:
        """Register the words of a string as names of attributes and modules that code may read.

        An example is the second argument of ``getattr``.
        """
        self.attributes.update(words_in(text))
        for name in MODULES.findall(text) if len(text) < LONG_CONTAINER else ():
            module = sys.modules.get(name)
            if module is not None and not installed_module(module):
                self.add(f"modules[{name!r}]", name, module, 0)

    def globals_of(self, known: Any) -> str:
        """Return an expression that reads ``known``, the globals of code whose function was not found.

        Generated code uses it to compare these globals before each replay.
        """
        module = known.get("__name__")
        if getattr(sys.modules.get(module), "__dict__", None) is known:
            return self.name_of_globals(f"modules[{module!r}].__dict__", known)
        return self.name_of_globals(self.add_global(known), known)

    def add_setting(self, expression: str, path: str, value: Any, depth: int) -> None:
        """Make replays compare a global of a library that may hold a setting, or the value's attributes.

        Only plain values, and containers of plain values, are compared.
        depth : the number of levels of objects whose attributes are compared.
        """
        if type(value) in PLAIN:
            self.add(expression, path, value, DEPTH)
        elif isinstance(value, ContextVar):
            self.add_setting(f"value_of({expression})", path, value_of(value), depth)
        elif isinstance(value, dict | list | tuple):
            parts = value.values() if isinstance(value, dict) else value
            if all(type(part) in PLAIN for part in parts):
                self.add(expression, path, value, DEPTH)
        elif depth:
            attributes = getattr(value, "__dict__", None)
            for name, part in attributes.items() if type(attributes) is dict else ():
                if type(part) is not type(value):
                    self.add_setting(f"{expression}.{name}", f"{path}.{name}", part, depth - 1)

    def walk(self) -> None:
        """Make replays compare all state that the function can reach, until nothing new is found.

        The search is breadth first.  Of a class, those attributes are compared whose names occur in code
        found so far.  A new function may name more attributes, so all classes are processed again.  The
        rules of users' ops are compared last, one by one.
        """
        known = -1
        while not self.why_uncomparable and known != self.count:
            known = self.count
            while self.queue and not self.why_uncomparable:
                self.compare_value(*self.queue.popleft())
            for name, cls in [*self.user_classes.values()]:
                self.parts_of_class(name, cls)
            for name, path, function in self.functions:
                self.compare_attributes(name, path, function, FUNCTION_LABELS)
            for name, cls in [*self.library_classes.values()]:
                self.parts_of_library_class(name, cls)
            if known == self.count and self.ops:
                self.mutable_sources.is_closed = True
                self.queue.append(self.ops.pop())
                known = -1

    def compile_read(self) -> Callable[[Any], Any]:
        """Add conditions on the interpreter's state, and return the compiled function ``read``.

        Each replay calls ``read``, to compare all state.
        """
        if self.abstract or not self.globals.isdisjoint(("isinstance", "issubclass")):
            token = self.add_global(abc.get_cache_token())
            self.demand(f"abc_token() == {token}", "the registration of classes with an ABC")
        for name in sorted(self.globals & AMBIENT_STATE.keys()):
            ask = AMBIENT_STATE[name]
            self.demand(
                f"{self.add_global(ask)}() == {self.add_global(ask())}",
                f"the state read by {name}",
            )
        for name, path, value in self.sources if self.attributes & STATES else ():
            self.demand(f"source_state({name}) == {self.add_global(source_state(value))}", path)
        self.sources.clear()
        for known, names in self.absent.items():
            self.demand(
                f"{known}.keys().isdisjoint({self.add_global(names)})",
                "the meaning of a global name",
            )
        self.scope["slowly"] = functools.partial(read_slowly, self.lines, self.arrays)
        return function_of(quick_text(self.lines, self.arrays), self.scope)

    # --- lines of the generated code --------------------------------------------------------------
    def add(self, expression: str, path: str, value: Any, depth: int) -> None:
        """Append a value to the queue of values to compare.

        expression : generated code that reads the value.
        path : the value's name in messages.
        depth : the number of objects that lead to the value.
        """
        self.queue.append((expression, path, value, depth))

    def add_global(self, value: Any) -> str:
        """Add a value to the globals of the generated code, and return its new name there."""
        return scope_name(self.scope, value)

    def demand(self, condition: str, path: str) -> None:
        """Add a condition to the generated function ``read``, which replays call first.

        condition : an expression; if it is false in a replay, the value at ``path`` has changed.
        """
        self.lines.append((condition, path))

    def demand_identity(self, name: str, value: Any, path: str) -> None:
        """Add the condition that the value read by ``name`` is this very object.

        The generated code refers to the object weakly, if the object supports weak references.
        name : the name of the value in generated code.
        """
        try:
            self.demand(f"{name} is {self.add_global(weakref.ref(value))}()", path)
        except TypeError:
            self.demand(f"{name} is {self.add_global(value)}", path)

    def demand_type(self, name: str, value: Any, path: str) -> None:
        """Add the condition, checked in each replay, that a value still has the type of ``value``.

        name : the name of the value in generated code.
        """
        self.demand(f"type({name}) is {self.add_global(type(value))}", path)

    # --- comparison of values by their types ------------------------------------------------------
    def compare_value(self, expression: str, path: str, value: Any, depth: int) -> None:
        """Make replays compare one value, and add the objects that it contains to ``queue``.

        expression : generated code that reads the value.
        path : the value's name in messages.
        depth : the number of objects that lead to the value.
        """
        self.count += 1
        if self.count > MOST:
            self.why_uncomparable = f"it can reach too much Python state ({path})"
            return
        name = f"v{self.count}"
        self.lines.append(f"{name} = {expression}")
        if type(value) in PLAIN or isinstance(value, np.generic | np.dtype):
            self.demand(f"{name} is (k := {self.add_global(value)}) or same({name}, k)", path)
            # The value of a dunder name such as __module__ is not searched for names.
            if type(value) is str and not expression.endswith("__']"):
                self.add_words(value)
        elif id(value) in self.seen:
            self.demand(f"{name} is {self.seen[id(value)][0]}", path)
        else:
            owner = expression.partition(".")[0].partition("[")[0]
            self.register_object(name, path, value, owner in self.libraries)
            self.compare_object(name, path, value, depth)

    def register_object(self, name: str, path: str, value: Any, in_library: bool) -> None:
        """Store an object in ``seen``; raise Apart for a recorder (a tape or accumulator).

        If the object is a lock, set ``why_uncomparable``, unless it belongs to a library's object
        (``in_library``).  Also add a random generator or iterator to ``mutable_sources``, which checks
        it after the call.
        """
        if isinstance(value, BaseRecorder):
            raise Apart(f"it can use {path}, a {type(value).__name__} that was made outside of it")
        if in_library:
            self.libraries.add(name)
        elif isinstance(value, LOCK_TYPES):
            self.why_uncomparable = f"it can take the lock {path}, which a replay would not"
        if self.mutable_sources.watch_mutable(path, value):
            self.sources.append((name, path, value))
        # The reference to the value keeps its id from being used for another object.
        self.seen[id(value)] = name, value

    def compare_object(self, name: str, path: str, value: Any, depth: int) -> None:
        """Make replays compare an object by its type and contents, its data or its identity.

        name : the variable of generated code that holds the object.
        """
        kind = type(value)
        if isinstance(value, Array):
            self.demand_type(name, value, path)
            self.arrays.append(name)
            self.paths.append(path)
        elif kind is np.ndarray:
            self.compare_data(name, path, value, depth)
        elif isinstance(value, np.ndarray):
            self.demand_type(name, value, path)
            self.add(f"{name}.view(ndarray)", path, value.view(np.ndarray), depth)
            self.parts_of_object(name, path, value, depth + 1)
        elif isinstance(value, BUFFERS):
            self.demand(f"buffer_of({name}) == {self.add_global(buffer_of(value))}", path)
        elif kind in COMPARERS:
            self.demand_type(name, value, path)
            COMPARERS[kind](self, name, path, value, depth + 1)
        elif KINDS[kind] is not None:  # dataclasses and named tuples are compared by their parts
            self.demand_type(name, value, path)
            for base in (list, tuple, dict):
                if issubclass(kind, base):
                    COMPARERS[base](self, name, path, value, depth + 1)
            self.parts_of_object(name, path, value, depth + 1)
        else:
            self.demand_identity(name, value, path)
            if not isinstance(value, WRITTEN_IN_C):
                self.compare_by_parts(name, path, value, depth + 1)

    def compare_data(self, name: str, path: str, value: np.ndarray[Any, Any], depth: int) -> None:
        """Make replays compare an ndarray with a copy; a read-only array needs no copy."""
        mutable = value.flags.writeable or value.base is not None
        known = self.add_global(value.copy(order="K") if mutable else value)
        self.demand(f"{name} is {known} or same_data({name}, {known})", path + NUMPY)
        if value.dtype.hasobject:
            objects = value.ravel().tolist()
            self.parts_in_order(f"{name}.ravel().tolist()", path, objects, depth + 1)

    def compare_by_parts(self, name: str, path: str, value: Any, depth: int) -> None:
        """Make replays compare an object by its attributes and contents.

        A class or module is only registered.  Replays compare the attributes whose names occur in code,
        and these names are known when all code has been found.
        """
        if isinstance(value, type):
            self.add_class(name, value)
            if not is_installed_class(type(value)):
                self.demand_identity(f"type({name})", type(value), path)
                self.add_class(f"type({name})", type(value))
            return
        if isinstance(value, types.ModuleType):
            if not installed_module(value):
                self.user_classes.setdefault(id(value), (name, value))
            elif not is_ours(value.__name__):
                self.library_classes.setdefault(id(value), (name, value))
            return
        if depth > DEPTH and is_installed_class(type(value)):
            if getattr(value, "__dict__", None) and not self.why_uncomparable:
                self.why_uncomparable = (
                    f"it can reach Python state through too many objects ({path})"
                )
            return
        if type(value).__name__ == "Function":  # by name: importing the class would be circular
            self.add(f"{name}.eager", path, value.eager, depth)
            return
        if isinstance(value, attrgetter | methodcaller):
            self.any_attribute = True
            for word in value.__reduce__()[1]:
                self.attributes.update(words_in(word) if type(word) is str else ())
        self.parts_of_object(name, path, value, depth)

    def add_class(self, name: str, cls: type) -> None:
        """Register a class in ``user_classes`` or, if it is a library's, in ``library_classes``.

        Replays then compare those of its attributes whose names occur in code: in any code for a user's
        class, in users' code for a library's class.
        """
        if not is_installed_class(cls):
            self.user_classes.setdefault(id(cls), (name, cls))
        elif not cls.__flags__ & IMMUTABLE and not is_ours(cls.__module__):
            self.library_classes.setdefault(id(cls), (name, cls))

    def parts_of_object(self, name: str, path: str, value: Any, depth: int) -> None:
        """Make replays compare an object's attributes and contents; register its class for later."""
        if is_installed_class(type(value)) and not isinstance(value, HAVE_LOCKS):
            self.libraries.add(name)
        if isinstance(value, BaseException):
            self.add(f"{name}.args", f"{path}.args", value.args, depth)
        attributes = getattr(value, "__dict__", None)
        if type(attributes) is dict:
            self.parts_of_dict(f"{name}.__dict__", path, attributes, depth, ".{}")
        for slot in slots_of(type(value)):
            found = getattr(value, slot, MISSING)
            if found is not MISSING:
                self.add(f"{name}.{slot}", f"{path}.{slot}", found, depth)
            else:
                self.demand(f"not hasattr({name}, {slot!r})", f"{path}.{slot}")
        # Lists, tuples and dicts are not among these: ``compare_object`` has compared their contents.
        for base in (set, frozenset, deque):
            if isinstance(value, base):
                iterate: Any = base.__iter__  # a user's class may override it
                place = f"{self.add_global(iterate)}({name})"
                self.parts_in_order(place, path, iterate(value), depth)
        if isinstance(value, weakref.ref):
            self.parts_of_reference(name, path, value, depth)
        elif is_in_c(type(value)) and state_reader(value) is not object:
            self.parts_in_c(name, path, value, depth)
        self.compare_buffer(name, path, value)
        if not is_installed_class(type(value)):
            # Users may assign to __class__.
            self.demand_identity(f"type({name})", type(value), path)
        self.add_class(f"type({name})", type(value))

    def parts_in_c(self, name: str, path: str, value: Any, depth: int) -> None:
        """Make replays compare the objects to which an object written in C refers.

        For example, a list iterator refers to its list.
        """
        held = referents(value)
        if held:
            parts = f"p{len(self.lines)}"
            self.lines.append(f"{parts} = referents({name})")
            self.parts_of_list(parts, path, held, depth)

    def compare_buffer(self, name: str, path: str, value: Any) -> None:
        """Make replays compare the bytes of an object with a buffer, such as a ctypes number."""
        try:
            self.demand(f"buffer_of({name}) == {self.add_global(buffer_of(value))}", path)
        except (TypeError, BufferError, ValueError):
            return

    def parts_of_dict(self, name: str, path: str, value: Any, depth: int, form: str) -> None:
        """Make replays compare a dict's keys in their order, and the dict's values.

        form : the format of a value's path, ".{}" for an attribute, "[{}]" for a key.
        """
        if len(value) <= LONG_CONTAINER and all(type(key) is str for key in value):
            # Keys of a single attribute are not compared: if it is renamed, the read of its value fails.
            if form == ".{}" and len(value) < 2:
                self.demand(f"len({name}) == 1" if value else f"not {name}", path)
            else:
                self.demand(f"[*{name}] == {self.add_global([*value])}", path)
            for key, part in value.items():
                place = key if form == ".{}" else repr(key)[:40]
                self.add(f"{name}[{key!r}]", path + form.format(place), part, depth)
            return
        self.parts_in_order(name, path, value, depth)
        self.parts_in_order(
            f"{name}.values()", path, value.values(), depth, [*map(path_key, value)]
        )

    def parts_in_order(
        self, name: str, path: str, value: Any, depth: int, keys: Sequence[Any] = ()
    ) -> None:
        """Make replays compare the elements of an iterable, in the order of iteration.

        keys : the keys for the elements' paths; default: their indices.
        """
        parts = f"p{len(self.lines)}"
        self.lines.append(f"{parts} = [*{name}]")
        self.parts_of_list(parts, path, [*value], depth, keys)

    def parts_of_list(
        self, name: str, path: str, value: Any, depth: int, keys: Sequence[Any] = ()
    ) -> None:
        """Make replays compare the length and the elements of a list or tuple.

        keys : the keys for the elements' paths, if the list has the values of a dict; default: their
            indices.
        """
        self.demand(f"len({name}) == {len(value)}", path)
        if len(value) > LONG_CONTAINER and all(type(part) in PLAIN for part in value):
            self.demand(f"same_items({name}, {self.add_global([*value])})", path)
            return
        for i, part in enumerate(value):
            place = keys[i][:40] if keys else i
            self.add(f"{name}[{i}]", f"{path}[{place}]", part, depth)

    def parts_of_mapping(self, name: str, path: str, value: Any, depth: int) -> None:
        """Note the keys of a mapping, in their order, and its values: a replay needs the same ones."""
        self.parts_of_dict(name, path, value, depth, "[{}]")

    def parts_of_builtin(self, name: str, path: str, value: Any, depth: int) -> None:
        """Make replays compare a C function by identity, or a C method by its name and object."""
        owner = value.__self__
        if owner is None or isinstance(owner, types.ModuleType):
            self.demand_identity(name, value, path)
            return
        self.demand(f"{name}.__name__ == {value.__name__!r}", path)
        self.add(f"{name}.__self__", path, owner, depth)

    def parts_of_file(self, name: str, path: str, value: Any, depth: int) -> None:
        """Make replays compare the contents and position of a StringIO or BytesIO."""
        self.demand(f"{name}.getvalue() == {self.add_global(value.getvalue())}", path)
        self.demand(f"{name}.tell() == {value.tell()}", path)

    def parts_of_reference(self, name: str, path: str, value: Any, depth: int) -> None:
        """Make replays compare the object to which a weak reference refers."""
        self.add(f"{name}()", path, value(), depth)

    def parts_of_context_variable(self, name: str, path: str, value: Any, depth: int) -> None:
        """Make replays compare the value of a ContextVar in the current context."""
        self.add(f"value_of({name})", path, value_of(value), depth)

    def parts_of_method(self, name: str, path: str, value: Any, depth: int) -> None:
        """Make replays compare the object and the function of a bound method."""
        self.add(f"{name}.__self__", path.rpartition(".")[0] or path, value.__self__, depth)
        self.add(f"{name}.__func__", path, value.__func__, depth)

    def parts_by_name(self, name: str, path: str, value: Any, depth: int) -> None:
        """Make replays compare an object by the attributes that COMPARED_ATTRIBUTES names."""
        for part in COMPARED_ATTRIBUTES[type(value)]:
            place = path if part in HIDDEN_IN_PATHS else f"{path}.{part}"
            self.add(f"{name}.{part}", place, attrgetter(part)(value), depth)

    def parts_of_function(self, name: str, path: str, value: Any, depth: int) -> None:
        """Make replays compare a function's code, closure, defaults and the globals it names."""
        if value in CALLBACKS:
            self.demand_identity(name, value, path)
            return
        code = value.__code__
        self.demand(f"{name}.__code__ is {self.add_global(code)}", path)
        if code.co_filename.startswith(OP_FILES):
            raw = value.__globals__.get("RAW")
            # The function and rules of a user's op are compared.  They run in each replay, so that
            # they may draw random numbers: ``walk`` ignores the generators that only ops reach.
            for part in ("forward", "op.rules", "op.joint") if isinstance(raw, Forward) else ():
                place = f"{name}.__globals__['RAW'].{part}"
                self.ops.append((place, path, attrgetter(part)(raw), depth))
            return
        library = is_installed(code.co_filename)
        if library and depth > DEPTH:
            return
        if value.__dict__ or not library:
            self.parts_of_dict(f"{name}.__dict__", path, value.__dict__, depth, ".{}")
        self.parts_of_closure(name, path, value, depth)
        if not library:
            self.compare_named_globals(f"{name}.__globals__", code, value.__globals__, depth)
            self.functions.append((name, path, value))

    def parts_of_closure(self, name: str, path: str, value: Any, depth: int) -> None:
        """Make replays compare the defaults of a function and the values in its closure."""
        for part in ("__defaults__", "__kwdefaults__"):
            if getattr(value, part):
                self.add(f"{name}.{part}", f"{path}.{part}", getattr(value, part), depth)
        code, cells = value.__code__, value.__closure__ or ()
        for i, (label, cell) in enumerate(zip(code.co_freevars, cells, strict=True)):
            place = f"{name}.__closure__[{i}]"
            if code.co_filename.startswith(PACKAGE) and type(content_of(cell)) is dict:
                continue  # the globals of a compiled op, which never change
            if content_of(cell) is not MISSING:
                self.add(f"{place}.cell_contents", label, cell.cell_contents, depth)
            else:
                self.demand(f"content_of({place}) is MISSING", label)

    def compare_named_globals(
        self, place: str, code: types.CodeType, known: Any, depth: int
    ) -> None:
        """Make replays compare the globals and modules that a user's code names.

        The names of attributes in the code are collected in ``attributes``.
        known : the globals of the code.
        place : generated code that reads ``known``.
        """
        names = code_names(code)
        self.user_codes |= {code, *names.inner}
        if names.unseen and not self.why_uncomparable:
            self.why_uncomparable = f"it may read {names.unseen}, which cannot be compared"
        self.attributes |= names.attributes
        self.globals |= names.globals | names.attributes
        self.any_attribute = self.any_attribute or names.any_attribute
        for text in names.strings:
            self.add_words(text)
        for label in sorted(names.globals):
            if label in known:
                self.add(f"{place}[{label!r}]", label, known[label], depth)
        others = {label for label in names.globals if label not in known}
        if others:
            self.absent.setdefault(self.name_of_globals(place, known), set()).update(others)
            self.compare_builtins(others)
        if names.all_globals and ("all", id(known)) not in self.seen:
            self.seen["all", id(known)] = "", known
            self.compare_all_globals(self.name_of_globals(place, known), known)
        for label in sorted(names.imports):
            module = absolute_module(label, known)
            if module in sys.modules:
                self.add(f"modules[{module!r}]", module, sys.modules[module], depth)

    def compare_builtins(self, names: Any) -> None:
        """Make replays compare the builtins in ``names`` that users have replaced or added."""
        for label in sorted(names & builtins.__dict__.keys()):
            value = builtins.__dict__[label]
            own = isinstance(value, type) and is_installed_class(value)
            if not own and type(value) is not types.BuiltinFunctionType:
                self.add(f"modules['builtins'].{label}", label, value, 0)

    def compare_all_globals(self, place: str, known: Any) -> None:
        """Make replays compare all globals in ``known``, because code may read any of them.

        place : the expression that reads ``known``.
        """
        self.demand(f"len({place}) == {len(known)}", "a global, ")
        for label, value in [*known.items()]:
            if not label.startswith("__"):
                self.add_unnamed(f"{place}[{label!r}]", f"a global, {label}", value)

    def add_unnamed(self, expression: str, path: str, value: Any) -> bool:
        """Make replays compare a value that code may read by a name that it computes.

        Functions, classes of libraries, modules and iterators are compared by identity.  For users'
        functions, this includes attributes, defaults and closure, but not the globals that they name,
        because they did not run.  Return True for other values, which are compared with all contents.
        """
        own = isinstance(value, type) and not is_installed_class(value)
        reader = None if own or type(value) in PLAIN else state_reader(value)
        if not own and (isinstance(value, IDENTITY_TYPES) or reader is object):
            self.demand_identity(expression, value, path)
            if type(value) is types.FunctionType and not is_installed(value.__code__.co_filename):
                depth = DEPTH // 2
                self.parts_of_dict(f"{expression}.__dict__", path, value.__dict__, depth, ".{}")
                self.parts_of_closure(expression, path, value, depth)
                self.functions.append((expression, path, value))
            return False
        self.add(expression, path, value, DEPTH // 2)
        return True

    def name_of_globals(self, name: str, known: Any) -> str:
        """Return an expression that reads the globals ``known``; equal globals get the same expression.

        name : an expression that reads them, which is returned in the first such call.
        """
        return self.seen.setdefault(("globals", id(known)), (name, known))[0]

    def parts_of_class(self, name: str, cls: Any) -> None:
        """Make replays compare a user's module, or a user's class with its bases.

        Only attributes that code may read are compared.
        """
        if not isinstance(cls, type):
            self.parts_of_base(name, cls)
            return
        for i, base in enumerate(cls.__mro__):
            if not is_installed_class(base):
                within = f"{name}.__mro__[{i}]" if i else name
                if (id(cls), i) not in self.seen:
                    self.seen[id(cls), i] = "", base
                    # The class of an object is not checked again: ``parts_of_object`` did so.
                    if i or not name.startswith("type("):
                        self.demand_identity(within, base, base.__name__)
                self.parts_of_base(within, base)
                self.compare_class_facts(within, base)

    def parts_of_base(self, name: str, base: Any) -> None:
        """Make replays compare a module, or one class without its bases.

        The attributes that code names are compared.  If code may compute names, as by ``getattr(x,
        name)``, all attributes are compared.
        """
        is_class = isinstance(base, type)
        any_name = self.any_attribute or (is_class and self.unnamed.libraries)
        if (id(base), "") not in self.seen:
            self.seen[id(base), ""] = owner, base = f"b{len(self.lines)}", base
            self.lines.append(f"{owner} = {name}.__dict__")
            self.demand(f"len({owner}) == {len(base.__dict__)}", base.__name__)
        owner = self.seen[id(base), ""][0]
        for label, value in [*base.__dict__.items()]:
            key = id(base), label
            own = IMPLICIT_ATTRIBUTES.fullmatch(label) and label not in self.attributes
            if key in self.seen or type(value) in SLOT_TYPES or own:
                continue
            place, path = f"{owner}[{label!r}]", f"{base.__name__}.{label}"
            if self.is_named(label, value, is_class):
                self.seen[key] = "", base
                self.add(place, path, value, DEPTH // 2)
            elif any_name and label[:2] != "__":
                unnamed = *key, "unnamed"
                if unnamed not in self.seen:
                    self.seen[unnamed] = "", base
                    if self.add_unnamed(place, path, value):
                        self.seen[key] = "", base

    def is_named(self, label: str, value: Any, implicit: bool) -> bool:
        """Return True if an attribute must be compared with all its contents.

        That is so if code names it, if it is a function that ran, or if ``implicit`` and it has a name
        such as __len__: Python reads such attributes of classes although no code names them.
        label, value : the name and the value of the attribute.
        """
        if label in self.attributes or (implicit and label.startswith("__")):
            return True
        codes = self.unnamed.codes
        return bool(codes) and any(one.__code__ in codes for one in functions_in(value))

    def compare_class_facts(self, name: str, cls: type) -> None:
        """Make replays compare a class's name, subclasses and dataclass fields.

        Set ``abstract`` if the class has the metaclass ABCMeta, whose registrations are then compared,
        too.
        """
        if "__subclasses__" in self.attributes and (id(cls), "__subclasses__") not in self.seen:
            self.seen[id(cls), "__subclasses__"] = "", cls
            self.add(f"{name}.__subclasses__()", cls.__name__, cls.__subclasses__(), DEPTH // 2)
        self.compare_attributes(name, cls.__name__, cls, ("__name__", "__qualname__"))
        fields = cls.__dict__.get("__dataclass_fields__")
        if type(fields) is dict and (id(cls), "fields") not in self.seen:
            self.seen[id(cls), "fields"] = "", cls
            found = f"[*{name}.__dict__['__dataclass_fields__']]"
            self.demand(f"{found} == {self.add_global([*fields])}", cls.__name__)
        self.abstract = self.abstract or isinstance(cls, abc.ABCMeta)

    def compare_attributes(self, name: str, path: str, value: Any, labels: Sequence[str]) -> None:
        """Make replays compare those attributes in ``labels`` that users' code names."""
        for label in labels:
            if label in self.attributes and (id(value), label) not in self.seen:
                self.seen[id(value), label] = "", value
                self.add(f"{name}.{label}", f"{path}.{label}", getattr(value, label), DEPTH // 2)

    def parts_of_library_class(self, name: str, cls: Any) -> None:
        """Make replays compare a class or module of a library: users may replace attributes.

        Only attributes whose names occur in the code of users' functions are compared.
        """
        bases = cls.__mro__ if isinstance(cls, type) else (cls,)
        for i, base in enumerate(bases):
            if isinstance(base, type) and base.__flags__ & IMMUTABLE:
                continue
            within = name if base is cls else f"{name}.__mro__[{i}]"
            for label in sorted(self.globals & base.__dict__.keys()):
                value, key = base.__dict__[label], (id(base), label)
                if key in self.seen or type(value) in SLOT_TYPES or label.startswith("__"):
                    continue
                self.seen[key] = "", base
                place, path = f"{within}.__dict__[{label!r}]", f"{base.__name__}.{label}"
                users = any(not is_installed(f.__code__.co_filename) for f in functions_in(value))
                if isinstance(value, types.ModuleType | type) or users:
                    self.add(place, path, value, DEPTH // 2)
                elif (
                    isinstance(value, IDENTITY_TYPES)
                    or is_routine(value)
                    or state_reader(value) is object
                ):
                    self.demand_identity(place, value, path)
                else:
                    self.add(place, path, value, DEPTH // 2)


# Type -> the attributes by which its objects are compared.  A logging.Manager refers to all loggers, so
# that only ``disable`` is compared.
COMPARED_ATTRIBUTES: dict[type, tuple[str, ...]] = {
    functools.partial: ("func", "args", "keywords"), logging.Manager: ("disable",),
    property: ("fget", "fset"), staticmethod: ("__func__",), classmethod: ("__func__",),
    **dict.fromkeys(weakref.ProxyTypes, ("__init__.__self__",)),  # the object behind the proxy
}  # fmt: skip
# Attributes that paths in messages leave out, because users do not write them in code.
HIDDEN_IN_PATHS = ("fget", "fset", "__func__", "__init__.__self__")

# Type -> the method of State that makes ``read`` compare objects of this type.
COMPARERS: dict[type, Callable[..., None]] = {
    list: State.parts_of_list, tuple: State.parts_of_list, deque: State.parts_of_list,
    dict: State.parts_of_mapping, types.MappingProxyType: State.parts_of_mapping,
    set: State.parts_in_order, frozenset: State.parts_in_order,
    type({}.keys()): State.parts_in_order, type({}.values()): State.parts_in_order,
    type({}.items()): State.parts_in_order,
    io.StringIO: State.parts_of_file, io.BytesIO: State.parts_of_file,
    **dict.fromkeys(COMPARED_ATTRIBUTES, State.parts_by_name),
    weakref.ref: State.parts_of_reference, ContextVar: State.parts_of_context_variable,
    types.BuiltinFunctionType: State.parts_of_builtin, types.MethodWrapperType: State.parts_of_builtin,
    types.FunctionType: State.parts_of_function, types.MethodType: State.parts_of_method,
}  # fmt: skip


STATE_TEXT = "<arraytape replay state>"  # the file name of ``read`` in tracebacks


# --- the generated code -----------------------------------------------------------------------------
@functools.lru_cache(maxsize=64)
def code_of(text: str) -> types.CodeType:
    """Compile the text of ``read``, the function by which replays compare state; cache the result.

    Consecutive traced calls mostly have equal texts.
    """
    return compile(text, STATE_TEXT, "exec")


def function_of(text: str, scope: dict[str, Any]) -> Callable[..., Any]:
    """Return the function ``read`` that the source ``text`` defines, with ``scope`` as its globals."""
    read: Callable[..., Any] = defined_function(code_of(text), STATE_TEXT, "read", scope)
    del scope["read"]
    return read


def quick_text(lines: list[Any], arrays: list[str]) -> str:
    """Return the source of ``read``, which compares state, with all conditions joined by ``and``.

    One condition compiles twice as fast as many statements, so that an assignment is written as ``:=``
    in the next condition.  If the condition is false, ``slowly`` is called to find out which part is.
    lines : strings "name = expression", and pairs (condition, path).
    arrays : the names of the variables that hold Arrays, which ``read`` returns.
    """
    parts: list[str] = []
    name = assignment = ""  # the last assignment, which the next condition may contain
    for line in [*lines, ""]:
        condition = line if type(line) is str else line[0]
        if assignment:
            within = "" if type(line) is str else inline_assignment(name, assignment, condition)
            condition = within or condition
            if not within:
                parts.append(f"[{assignment}]")
            assignment = ""
        if type(line) is not str:
            parts.append(f"({condition})" if " or " in condition else condition)
        elif line:
            name, assignment = line.partition(" ")[0], line.replace(" = ", " := ", 1)
    found = "".join(f"{name}, " for name in arrays)
    condition = " and ".join(read_tables_once(parts)) or "True"
    return (
        f"def read(values):\n    try:\n        if {condition}:\n            return ({found})\n"
        f"    except {ERRORS}:\n        pass\n    return slowly(values, globals())\n"
    )


def read_tables_once(parts: list[str]) -> list[str]:
    """Return the conditions, changed to read each object's ``__dict__`` or ``__closure__`` only once.

    A replay evaluates all conditions, so that repeated reads of such a table (TABLES has their names)
    would cost time.
    """
    tables = [found[0] for part in parts for found in TABLES.finditer(part) if found["name"]]
    names = {table: f"t{i}" for i, table in enumerate(tables) if tables.count(table) > 1}
    known: set[str] = set()
    found = []
    for part in parts:
        # A name is assigned only before " or ", because Python may not evaluate the text behind it.
        certain = part.find(" or ") % (len(part) + 1)

        def first_read(match: re.Match[str], certain: int = certain) -> str:
            """Return the text for a read of a table: ``(t0 := table)`` the first time, then ``t0``."""
            table = match[0]
            name = names.get(table, "")
            if name and table not in known and match.start() < certain:
                known.add(table)
                return f"({name} := {table})"
            return name if table in known else table

        found.append(TABLES.sub(first_read, part))
    return found


def inline_assignment(name: str, assignment: str, condition: str) -> str:
    """Return ``condition`` with ``(assignment)``, such as ``(a := b.c)``, for the first use of ``name``.

    Return "" if the condition does not use the name.
    """
    text, count = re.subn(rf"\b{name}\b", lambda _: f"({assignment})", condition, count=1)
    return text if count else ""


def read_slowly(lines: list[Any], arrays: list[str], values: Any, scope: dict[str, Any]) -> Any:
    """Compare state line by line; raise Changed with the path of the first value that differs.

    ``read``, which joins all comparisons by ``and``, calls this function if one of them fails.
    lines : strings "name = expression", and pairs (condition, path).
    arrays : the names of the variables that hold Arrays, which are returned.
    values : the arguments of the call.
    scope : the globals of the conditions.
    """
    texts = [
        line if type(line) is str else f"if not ({line[0]}): changed({line[1]!r})"
        for line in lines or ["pass"]
    ]
    body = "\n        ".join(texts)
    found = "".join(f"{name}, " for name in arrays)
    text = (
        f"def read(values):\n    try:\n        {body}\n        return ({found})\n"
        f"    except {ERRORS}:\n        changed('a value that it reads')\n"
    )
    return function_of(text, scope)(values)


def path_key(key: Index) -> str:
    """Return a dict's key as text for a path: the repr of a plain key, else the name of its type.

    A path, such as "config['rate']", names a value in messages.
    """
    return repr(key) if type(key) in PLAIN else type(key).__name__


def content_of(cell: types.CellType) -> Any:
    """Return the value of a closure cell; MISSING if it is empty."""
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING


def is_ours(module: str) -> bool:
    """Return True if a module with this name is part of arraytape."""
    return module.partition(".")[0] == "arraytape"


def installed_module(module: types.ModuleType) -> bool:
    """Return True if a module belongs to Python or to a library.

    Replays compare only a few attributes of such a module.
    """
    return is_installed(getattr(module, "__file__", None) or "<frozen")


def is_installed_class(cls: type) -> bool:
    """Return True if a class belongs to Python or to a library, judged by the files of its methods.

    Replays compare only a few attributes of such a class.
    """
    if cls.__module__ == "builtins":
        return True
    functions = [x for x in vars(cls).values() if isinstance(x, types.FunctionType)]
    files = [x.__code__.co_filename for x in functions if x.__module__ == cls.__module__]
    return all(map(is_installed, files)) if files else not is_user_class(cls)


def is_routine(value: Any) -> bool:
    """Return True for functions and methods, also those of C and Cython, but not for partial objects.

    A ``functools.partial`` holds arguments, which must be compared.
    """
    return inspect.isroutine(value) and not isinstance(value, functools.partial)


def slots_of(cls: type) -> Iterator[str]:
    """Yield the names of a class's slots, without dunder names such as __weakref__.

    Replays compare the values in the slots.
    """
    for base in cls.__mro__:
        for name, member in base.__dict__.items():
            slot = type(member) is types.MemberDescriptorType and base.__module__ != "builtins"
            if slot and not name.startswith("__"):
                yield name
