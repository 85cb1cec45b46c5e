"""The Python state that a call can read, beside the data of its Arrays: a traced program freezes it.

That is what can be reached from the function and from its arguments: closure cells, defaults, the
globals that code names, the functions among these, attributes, parts of containers.  What was found is
compiled into one flat function that reads it all again.  It holds nothing of the user's but Arrays,
plain values and code, so that a program keeps no object alive.
"""

from __future__ import annotations

import functools
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
from ..._util.containers import KINDS
from ..._util.errors import PACKAGE
from ..._util.locks import HAVE_LOCKS, LOCK_TYPES
from ..._util.places import is_installed
from .moving import Moving
from .names import names_of, resolved
from .reasons import Apart, changed
from .sameness import BUFFERS, PLAIN, buffer_of, same, same_data, same_items

OPS = ("<arraytape", f"{PACKAGE}_define")  # how the names of files of ops begin, compiled or not
DEPTH = 8  # objects within each other, of libraries
MANY = 64  # plain values in a container that are looked at one by one
MOST = 2000  # values
CALLBACKS: weakref.WeakSet[Any] = weakref.WeakSet()  # what they read and change is their own affair
MISSING = object()
TABLES = re.compile(  # or a string, in which none is read
    r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\b(?P<name>v\d+)\.__(?:closure|dict|globals)__\b"""
)
ERRORS = "(LookupError, ValueError, AttributeError, TypeError)"


class State:
    """What a call can read, as it was when this was made.

    read : takes the arguments and gives the Arrays that were reached, in an order that is always the
    same; raises Changed where anything else is not what it was.  paths : of these Arrays.  known : the
    ids of the objects.  full : "" or why that cannot be done.
    """

    def __init__(self, function: Any, values: dict[str, Any]) -> None:
        self.lines: list[Any] = []  # "name = expression", or a condition and its path
        self.scope: dict[str, Any] = {
            "MISSING": MISSING, "same": same, "changed": changed, "same_data": same_data, "f": function,
            "same_items": same_items, "ndarray": np.ndarray, "buffer_of": buffer_of,
            "modules": sys.modules, "content_of": content_of,
        }  # fmt: skip
        self.paths: list[str] = []
        self.arrays: list[str] = []  # names of locals
        self.seen: dict[Any, tuple[str, Any]] = {}
        self.attributes: set[str] = set()  # names that code asks objects for
        self.classes: dict[str, type] = {}
        self.moving = Moving()
        self.ops: list[tuple[str, str, Any, int]] = []  # to enter when all else was
        self.libraries: set[str] = set()  # names of objects of theirs, and of what these have
        self.absent: dict[str, set[str]] = {}  # by globals, the names that are not in them
        self.queue: deque[tuple[str, str, Any, int]] = deque()
        self.full = ""
        self.count = 0
        self.add("f", getattr(function, "__name__", "f"), function, 0)
        for i, (name, value) in enumerate(values.items()):
            if not isinstance(value, Array) and type(value) not in PLAIN:
                self.add(f"values[{i}]", name, value, 0)
        self.walk()
        self.read: Callable[[Any], tuple[Array, ...]] = self.compiled()
        self.known = frozenset([key for key in self.seen if type(key) is int])
        self.seen.clear()

    def walk(self) -> None:
        """Enter what is reached, nearest first; then what code finds in classes."""
        known = -1
        while not self.full and known != self.count:
            known = self.count
            while self.queue and not self.full:
                self.enter(*self.queue.popleft())
            for name, cls in [*self.classes.items()]:
                self.parts_of_class(name, cls)
            if known == self.count and self.ops:
                self.moving.closed = True
                self.queue.append(self.ops.pop())
                known = -1

    def compiled(self) -> Callable[[Any], Any]:
        for known, names in self.absent.items():
            self.demand(
                f"{known}.keys().isdisjoint({self.named(names)})", "what a global name means"
            )
        self.scope["slowly"] = functools.partial(read_slowly, self.lines, self.arrays)
        return function_of(quick_text(self.lines, self.arrays), self.scope)

    # --- writing ----------------------------------------------------------------------------------
    def add(self, expression: str, path: str, value: Any, depth: int) -> None:
        self.queue.append((expression, path, value, depth))

    def named(self, value: Any) -> str:
        """A name for a value that is kept."""
        name = f"k{len(self.scope)}"
        self.scope[name] = value
        return name

    def demand(self, condition: str, path: str) -> None:
        self.lines.append((condition, path))

    def held(self, name: str, value: Any, path: str) -> None:
        """Demand that a value is this very object, which is held weakly where it can be."""
        try:
            self.demand(f"{name} is {self.named(weakref.ref(value))}()", path)
        except TypeError:
            self.demand(f"{name} is {self.named(value)}", path)

    # --- kinds of values --------------------------------------------------------------------------
    def enter(self, expression: str, path: str, value: Any, depth: int) -> None:
        """Enter one value, and put what is in it at the end of the queue."""
        self.count += 1
        if self.count > MOST:
            self.full = f"it can reach too much Python state ({path})"
            return
        kind = type(value)
        name = f"v{self.count}"
        self.lines.append(f"{name} = {expression}")
        if kind in PLAIN or isinstance(value, np.generic | np.dtype):
            self.demand(f"{name} is (k := {self.named(value)}) or same({name}, k)", path)
            return
        if id(value) in self.seen:
            self.demand(f"{name} is {self.seen[id(value)][0]}", path)
            return
        if isinstance(value, BaseRecorder):
            raise Apart(f"it can use {path}, a {kind.__name__} that was made outside of it")
        if expression.partition(".")[0].partition("[")[0] in self.libraries:
            self.libraries.add(name)
        elif isinstance(value, LOCK_TYPES):
            self.full = f"it can take the lock {path}, which a replay would not"
        self.moving.add(path, value)
        self.seen[id(value)] = name, value  # kept meanwhile, so that no other has its id
        if isinstance(value, Array):
            self.demand(f"type({name}) is {self.named(kind)}", path)
            self.arrays.append(name)
            self.paths.append(path)
        elif kind is np.ndarray:
            mutable = value.flags.writeable or value.base is not None
            known = self.named(value.copy(order="K") if mutable else value)
            self.demand(f"{name} is {known} or same_data({name}, {known})", path)
            if value.dtype.hasobject:
                objects = f"{name}.ravel().tolist()"
                self.parts_in_order(objects, path, value.ravel().tolist(), depth + 1)
        elif isinstance(value, np.ndarray):
            self.demand(f"type({name}) is {self.named(kind)}", path)
            self.add(f"{name}.view(ndarray)", path, value.view(np.ndarray), depth)
            self.parts_of_object(name, path, value, depth + 1)
        elif isinstance(value, BUFFERS):
            self.demand(f"buffer_of({name}) == {self.named(buffer_of(value))}", path)
        elif kind in ENTRIES:
            self.demand(f"type({name}) is {self.named(kind)}", path)
            ENTRIES[kind](self, name, path, value, depth + 1)
        elif KINDS[kind] is not None:  # dataclasses and named tuples are equal by their parts
            self.demand(f"type({name}) is {self.named(kind)}", path)
            for base in (list, tuple, dict):
                if issubclass(kind, base):
                    ENTRIES[base](self, name, path, value, depth + 1)
            self.parts_of_object(name, path, value, depth + 1)
        else:
            self.held(name, value, path)
            self.enter_object(name, path, value, depth + 1)

    def enter_object(self, name: str, path: str, value: Any, depth: int) -> None:
        if isinstance(value, type):
            for cls in {value, type(value)}:
                if not installed(cls):
                    self.classes[name if cls is value else f"type({name})"] = cls
            return
        if isinstance(value, types.ModuleType):
            if not is_installed(getattr(value, "__file__", None) or "<frozen"):
                self.classes[name] = value  # type: ignore[assignment]
            return
        if depth > DEPTH and installed(type(value)):
            return
        if type(value).__name__ == "Function":  # one of ours
            self.add(f"{name}.eager", path, value.eager, depth)
            return
        if isinstance(value, attrgetter | methodcaller):
            words = [word for word in value.__reduce__()[1] if type(word) is str]
            self.attributes |= {part for word in words for part in word.split(".")}
        self.parts_of_object(name, path, value, depth)

    def parts_of_object(self, name: str, path: str, value: Any, depth: int) -> None:
        """Attributes, and what code finds in the class."""
        if installed(type(value)) and not isinstance(value, HAVE_LOCKS):
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
        if not installed(type(value)):
            self.classes[f"type({name})"] = type(value)

    def parts_of_dict(self, name: str, path: str, value: Any, depth: int, form: str) -> None:
        """Keys in their order, and what they name."""
        if len(value) <= MANY and all(type(key) is str for key in value):
            if form == ".{}" and len(value) < 2:  # a key that is missing is noticed when it is read
                self.demand(f"len({name}) == 1" if value else f"not {name}", path)
            else:
                self.demand(f"[*{name}] == {self.named([*value])}", path)
            for key, part in value.items():
                place = key if form == ".{}" else repr(key)[:40]
                self.add(f"{name}[{key!r}]", path + form.format(place), part, depth)
            return
        self.parts_in_order(name, path, value, depth)
        self.parts_in_order(f"{name}.values()", path, value.values(), depth, [*map(told, value)])

    def parts_in_order(
        self, name: str, path: str, value: Any, depth: int, keys: Sequence[Any] = ()
    ) -> None:
        """The parts of what can only be gone through, as of a list."""
        parts = f"p{len(self.lines)}"
        self.lines.append(f"{parts} = [*{name}]")
        self.parts_of_list(parts, path, [*value], depth, keys)

    def parts_of_list(
        self, name: str, path: str, value: Any, depth: int, keys: Sequence[Any] = ()
    ) -> None:
        self.demand(f"len({name}) == {len(value)}", path)
        if len(value) > MANY and all(type(part) in PLAIN for part in value):
            self.demand(f"same_items({name}, {self.named([*value])})", path)
            return
        for i, part in enumerate(value):
            place = keys[i][:40] if keys else i
            self.add(f"{name}[{i}]", f"{path}[{place}]", part, depth)

    def parts_of_mapping(self, name: str, path: str, value: Any, depth: int) -> None:
        self.parts_of_dict(name, path, value, depth, "[{}]")

    def parts_of_builtin(self, name: str, path: str, value: Any, depth: int) -> None:
        """A function written in C: itself, or a method's name and object."""
        owner = value.__self__
        if owner is None or isinstance(owner, types.ModuleType):
            self.held(name, value, path)
            return
        self.demand(f"{name}.__name__ == {value.__name__!r}", path)
        self.add(f"{name}.__self__", path, owner, depth)

    def parts_of_reference(self, name: str, path: str, value: Any, depth: int) -> None:
        self.add(f"{name}()", path, value(), depth)

    def parts_of_context_variable(self, name: str, path: str, value: Any, depth: int) -> None:
        self.add(f"{name}.get(MISSING)", path, value.get(MISSING), depth)

    def parts_of_loggers(self, name: str, path: str, value: Any, depth: int) -> None:
        """What holds for all loggers; of the others none asks, but for its parents."""
        self.add(f"{name}.disable", f"{path}.disable", value.disable, depth)

    def parts_of_method(self, name: str, path: str, value: Any, depth: int) -> None:
        self.add(f"{name}.__self__", path.rpartition(".")[0] or path, value.__self__, depth)
        self.add(f"{name}.__func__", path, value.__func__, depth)

    def parts_of_partial(self, name: str, path: str, value: Any, depth: int) -> None:
        for part in ("func", "args", "keywords"):
            self.add(f"{name}.{part}", f"{path}.{part}", getattr(value, part), depth)

    def parts_of_wrapper(self, name: str, path: str, value: Any, depth: int) -> None:
        self.add(f"{name}.__func__", path, value.__func__, depth)

    def parts_of_property(self, name: str, path: str, value: Any, depth: int) -> None:
        for part in ("fget", "fset"):
            self.add(f"{name}.{part}", path, getattr(value, part), depth)

    def parts_of_function(self, name: str, path: str, value: Any, depth: int) -> None:
        """Code, closure, defaults and the globals that the code names; libraries' globals are theirs."""
        if value in CALLBACKS:
            self.held(name, value, path)
            return
        code = value.__code__
        self.demand(f"{name}.__code__ is {self.named(code)}", path)
        if code.co_filename.startswith(OPS):
            self.parts_of_op(
                f"{name}.__globals__['RAW']", path, value.__globals__.get("RAW"), depth
            )
            return
        library = is_installed(code.co_filename)
        if library and depth > DEPTH:
            return
        if value.__dict__ or not library:
            self.parts_of_dict(f"{name}.__dict__", path, value.__dict__, depth, ".{}")
        for part in ("__defaults__", "__kwdefaults__"):
            if getattr(value, part):
                self.add(f"{name}.{part}", f"{path}.{part}", getattr(value, part), depth)
        cells = value.__closure__ or ()
        for i, (label, cell) in enumerate(zip(code.co_freevars, cells, strict=True)):
            place = f"{name}.__closure__[{i}]"
            if code.co_filename.startswith(PACKAGE) and type(content_of(cell)) is dict:
                continue  # what a compiled function computes with
            if content_of(cell) is not MISSING:
                self.add(f"{place}.cell_contents", label, cell.cell_contents, depth)
            else:
                self.demand(f"content_of({place}) is MISSING", label)
        if not library:
            self.names_in(name, value, depth)

    def parts_of_op(self, name: str, path: str, raw: Any, depth: int) -> None:
        """What an op of the user's computes, and its rules: it may draw numbers anew in each replay."""
        if isinstance(raw, Forward):
            for part in ("forward", "op.rules", "op.joint"):
                self.ops.append((f"{name}.{part}", path, attrgetter(part)(raw), depth))

    def names_in(self, name: str, value: Any, depth: int) -> None:
        """What the code of a function names: globals, modules that it imports, attributes."""
        names, known = names_of(value.__code__), value.__globals__
        self.attributes |= names.attributes
        for label in sorted(names.globals):
            if label in known:
                self.add(f"{name}.__globals__[{label!r}]", label, known[label], depth)
        others = {label for label in names.globals if label not in known}
        if others:
            self.absent.setdefault(
                self.name_of_globals(f"{name}.__globals__", known), set()
            ).update(others)
        for label in sorted(names.imports):
            module = resolved(label, known)
            if module in sys.modules:
                self.add(f"modules[{module!r}]", module, sys.modules[module], depth)

    def name_of_globals(self, name: str, known: Any) -> str:
        """The expression by which the globals of functions were reached first."""
        return self.seen.setdefault(("globals", id(known)), (name, known))[0]

    def parts_of_class(self, name: str, cls: Any) -> None:
        """What code may find in a class, or a module, by the names that it asks objects for."""
        bases = cls.__mro__ if isinstance(cls, type) else (cls,)
        for i, base in enumerate(bases):
            if isinstance(base, type) and installed(base):
                continue
            if (id(base), "") not in self.seen:
                self.seen[id(base), ""] = owner, base = f"b{len(self.lines)}", base
                within = name if base is cls else f"{name}.__mro__[{i}]"
                self.lines.append(f"{owner} = {within}.__dict__")
                self.demand(f"len({owner}) == {len(base.__dict__)}", base.__name__)
            owner = self.seen[id(base), ""][0]
            for label, value in [*base.__dict__.items()]:
                implicit = label.startswith("__") and type(value) is types.FunctionType
                if label not in self.attributes and not implicit:
                    continue
                key = id(base), label
                if key in self.seen or type(value) in (types.MemberDescriptorType,):
                    continue
                self.seen[key] = "", base
                path = f"{base.__name__}.{label}"
                self.add(f"{owner}[{label!r}]", path, value, DEPTH // 2)


ENTRIES: dict[type, Callable[..., None]] = {
    list: State.parts_of_list, tuple: State.parts_of_list, deque: State.parts_of_list,
    dict: State.parts_of_mapping, types.MappingProxyType: State.parts_of_mapping,
    set: State.parts_in_order, frozenset: State.parts_in_order,
    type({}.keys()): State.parts_in_order, type({}.values()): State.parts_in_order,
    type({}.items()): State.parts_in_order,
    weakref.ref: State.parts_of_reference, ContextVar: State.parts_of_context_variable,
    types.BuiltinFunctionType: State.parts_of_builtin, types.MethodWrapperType: State.parts_of_builtin,
    types.FunctionType: State.parts_of_function, types.MethodType: State.parts_of_method,
    functools.partial: State.parts_of_partial, staticmethod: State.parts_of_wrapper,
    classmethod: State.parts_of_wrapper, property: State.parts_of_property,
    logging.Manager: State.parts_of_loggers,
}  # fmt: skip


# --- the text ---------------------------------------------------------------------------------------
@functools.lru_cache(maxsize=64)
def code_of(text: str) -> types.CodeType:
    """Compiled text, of some 20 kB: that of two calls that follow each other is mostly the same."""
    return compile(text, "<arraytape replay state>", "exec")


def function_of(text: str, scope: dict[str, Any]) -> Callable[..., Any]:
    exec(code_of(text), scope)
    return scope.pop("read")  # type: ignore[no-any-return]


def quick_text(lines: list[Any], arrays: list[str]) -> str:
    """All conditions in one: half as long to compile as one after the other."""
    parts: list[str] = []
    name = assignment = ""  # of what the next condition may compute where it reads it first
    for line in [*lines, ""]:
        condition = line if type(line) is str else line[0]
        if assignment:
            within = "" if type(line) is str else assigned(name, assignment, condition)
            condition = within or condition
            if not within:
                parts.append(f"[{assignment}]")
            assignment = ""
        if type(line) is not str:
            parts.append(f"({condition})" if " or " in condition else condition)
        elif line:
            name, assignment = line.partition(" ")[0], line.replace(" = ", " := ", 1)
    found = "".join(f"{name}, " for name in arrays)
    condition = " and ".join(read_once(parts)) or "True"
    return (
        f"def read(values):\n    try:\n        if {condition}:\n            return ({found})\n"
        f"    except {ERRORS}:\n        pass\n    return slowly(values, globals())\n"
    )


def read_once(parts: list[str]) -> list[str]:
    """Conditions that read an object's table of parts once, where several of them are in it."""
    tables = [found[0] for part in parts for found in TABLES.finditer(part) if found["name"]]
    names = {table: f"t{i}" for i, table in enumerate(tables) if tables.count(table) > 1}
    known: set[str] = set()
    found = []
    for part in parts:
        certain = part.find(" or ") % (len(part) + 1)  # what is behind it may not be reached

        def named(match: re.Match[str], certain: int = certain) -> str:
            table = match[0]
            name = names.get(table, "")
            if name and table not in known and match.start() < certain:
                known.add(table)
                return f"({name} := {table})"
            return name if table in known else table

        found.append(TABLES.sub(named, part))
    return found


def assigned(name: str, assignment: str, condition: str) -> str:
    """A condition that computes a name where it reads it first; "" where it does not read it."""
    text, count = re.subn(rf"\b{name}\b", lambda _: f"({assignment})", condition, count=1)
    return text if count else ""


def read_slowly(lines: list[Any], arrays: list[str], values: Any, scope: dict[str, Any]) -> Any:
    """Read line by line, to say what has changed."""
    texts = [
        line if type(line) is str else f"if not ({line[0]}): changed({line[1]!r})"
        for line in lines or ["pass"]
    ]
    body = "\n        ".join(texts)
    found = "".join(f"{name}, " for name in arrays)
    text = (
        f"def read(values):\n    try:\n        {body}\n        return ({found})\n"
        f"    except {ERRORS}:\n        changed('what it reads')\n"
    )
    return function_of(text, scope)(values)


def told(key: Any) -> str:
    """A key in a path."""
    return repr(key) if type(key) in PLAIN else type(key).__name__


def content_of(cell: types.CellType) -> Any:
    """The value of a variable of a closure; MISSING where it has none."""
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING


def installed(cls: type) -> bool:
    """Whether a class is Python's or a library's."""
    if cls.__module__ == "builtins":
        return True
    functions = [x for x in vars(cls).values() if isinstance(x, types.FunctionType)]
    files = [x.__code__.co_filename for x in functions if x.__module__ == cls.__module__]
    return bool(files) and all(map(is_installed, files))


def slots_of(cls: type) -> Iterator[str]:
    """The names of a class's slots, without those that Python uses itself."""
    for base in cls.__mro__:
        for name, member in base.__dict__.items():
            slot = type(member) is types.MemberDescriptorType and base.__module__ != "builtins"
            if slot and not name.startswith("__"):
                yield name
