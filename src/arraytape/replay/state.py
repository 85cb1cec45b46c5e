"""The Python state that a function reads, as far as it can be reached: a traced program freezes it.

From the function's closure, defaults, the globals that its code names, the functions among these and the
attributes of the objects that it is given or closes over.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from .._array.array import Array
from .._util.places import is_installed

DEPTH = 4  # functions and objects within each other
MANY = 64  # members of a container, attributes of an object
PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic, np.dtype)
OPAQUE = (types.ModuleType, type, types.BuiltinFunctionType, np.ufunc)


def snapshot(roots: Any) -> dict[str, Any]:
    """What can be reached from some objects, by the path to it: values of what is plain, else ids."""
    found: dict[str, Any] = {}
    seen: dict[int, Any] = {}
    for name, root in roots.items():
        visit(name, root, found, seen, DEPTH)
    return found


class Same:
    """An object that is equal to itself alone."""

    __slots__ = ("what",)

    def __init__(self, what: Any) -> None:
        self.what = what

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.what is other.what

    def __hash__(self) -> int:
        return id(self.what)

    def __repr__(self) -> str:
        return f"another {type(self.what).__name__}"


def visit(path: str, value: Any, found: dict[str, Any], seen: dict[int, Any], depth: int) -> None:
    """Enter a value, and what can be reached from it, under a path."""
    if isinstance(value, PLAIN):
        found[path] = type(value), repr(value)
        return
    found[path] = Same(value)
    if id(value) in seen or isinstance(value, (Array, np.ndarray, *OPAQUE)) or not depth:
        return
    seen[id(value)] = value
    for name, part in parts_of(value):
        visit(f"{path}{name}", part, found, seen, depth - 1)


def parts_of(value: Any) -> Iterator[tuple[str, Any]]:
    """The parts of an object, each with the end of its path."""
    if isinstance(value, types.FunctionType):
        yield from parts_of_function(value)
    elif isinstance(value, types.MethodType):
        yield ".__self__", value.__self__
        yield ".__func__", value.__func__
    elif isinstance(value, functools.partial):
        yield ".func", value.func
        yield ".args", value.args
        yield ".keywords", value.keywords
    elif isinstance(value, tuple | list | set | frozenset):
        yield ".len", len(value)
        for i, part in enumerate([*value][:MANY]):
            yield f"[{i}]", part
    elif isinstance(value, dict):
        yield ".len", len(value)
        for key, part in [*value.items()][:MANY]:
            yield f"[{key!r}]", part
    else:
        yield from parts_of_object(value)


def parts_of_function(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """Code, closure, defaults and the globals that the code names."""
    yield ".__code__", function.__code__
    if is_installed(function.__code__.co_filename):
        return  # libraries have their own state, which is theirs to keep
    yield ".__defaults__", function.__defaults__
    yield ".__kwdefaults__", function.__kwdefaults__
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield f".{name}", cell.cell_contents
        except ValueError:  # not bound yet
            yield f".{name}", None
    names = function.__globals__
    for name in names_of(function.__code__):
        if name in names:
            yield f".{name}", names[name]


def names_of(code: types.CodeType) -> Iterator[str]:
    """The names that code, and the code within it, looks up."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from names_of(constant)


def parts_of_object(value: Any) -> Iterator[tuple[str, Any]]:
    """The attributes of an object of a class written in Python."""
    yield ".__class__", type(value)
    attributes = getattr(value, "__dict__", None)
    if isinstance(attributes, dict):
        for name, part in [*attributes.items()][:MANY]:
            yield f".{name}", part


def difference(before: dict[str, Any], after: dict[str, Any]) -> str:
    """The path of the first thing that differs between two snapshots; "" for none."""
    for path, value in after.items():
        if path not in before or before[path] != value:
            return path
    return next((path for path in before if path not in after), "")
