"""Gradient checks of the functions that a test calls, for tests with the mark ``check_gradients``."""

from __future__ import annotations

import functools
import inspect
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from .._array.array import Array, wrap
from .._array.views import current
from .._storage.storage import storage_of
from .._util import nest
from .._util.errors import describe, short_repr, user_line
from .checking import check_gradients

PAIR = "check_gradients: a test returns (f, inputs), or a list of such pairs, got {}"
FLOATING = "fc"


class KeptCall(NamedTuple):
    """One call of a function: the function, copies of the arguments, and the line of the call."""

    function: Callable[..., Any]
    arguments: inspect.BoundArguments
    line: str


class CallKeeper:
    """A context manager that keeps calls of some functions, with copies of their arguments.

    A wrapper replaces each function under all its names, in the test's module and in all modules of the
    function's own package.  A call is kept if an argument and a result hold a floating-point Array.
    Calls inside a call of a wrapper are neither kept nor counted.  The gradients of these calls are
    checked after the test.
    limit : how many of the first calls of each function may be kept.
    counts : the number of calls of each function.
    seen : for each function, the arguments and result of the last call that was not kept, as text.
    in_call : True while a wrapper runs.
    """

    def __init__(
        self, functions: Sequence[Any], module: ModuleType | None, limit: int = 10
    ) -> None:
        self.functions = [function_named(f) for f in functions]
        self.module, self.limit = module, limit
        self.counts: dict[Callable[..., Any], int] = dict.fromkeys(self.functions, 0)
        self.kept: list[KeptCall] = []
        self.seen: dict[Callable[..., Any], str] = {}
        self.replaced: list[tuple[dict[str, Any], str, Any]] = []
        self.in_call = False

    def __enter__(self) -> CallKeeper:
        found = [(f, names, name) for f in self.functions for names, name in self.names_bound_to(f)]
        for f, names, name in found:
            self.replaced.append((names, name, f))
            names[name] = self.wrap_function(f)
        return self

    def __exit__(self, *error: object) -> None:
        for names, name, f in reversed(self.replaced):
            names[name] = f
        self.replaced.clear()

    def names_bound_to(self, f: Callable[..., Any]) -> list[tuple[dict[str, Any], str]]:
        """Return pairs (``vars(module)``, name) for all names that modules give to the function ``f``.

        Raise LookupError if there is no such name.
        """
        package = f.__module__.partition(".")[0]
        loaded = [m for name, m in [*sys.modules.items()] if name.partition(".")[0] == package]
        modules = [vars(m) for m in (self.module, *loaded) if isinstance(m, ModuleType)]
        found = [(names, name) for names in modules for name in [*names] if names[name] is f]
        if not found:
            raise LookupError(
                f"check_gradients: {f.__qualname__} is no function of a module that a test could call. "
                "For a method, let the test end by `return f, inputs` with an f that calls it"
            )
        return found

    def wrap_function(self, f: Callable[..., Any]) -> Callable[..., Any]:
        """Return a wrapper of ``f`` that counts its calls, and adds copies of calls to ``kept``."""

        @functools.wraps(f)
        def keep_call(*args: Any, **keywords: Any) -> Any:
            if self.in_call:
                return f(*args, **keywords)
            self.counts[f] += 1
            kept = self.copy_call(f, args, keywords) if self.counts[f] <= self.limit else None
            self.in_call = True
            try:
                result = f(*args, **keywords)
            finally:
                self.in_call = False
            if kept and any(is_floating_leaf(y) for y in nest.leaves(result)):
                self.kept.append(kept)
            elif self.counts[f] <= self.limit:
                given = kinds_of_leaves([*args, *keywords.values()])
                self.seen[f] = f"a call had {given}, and returned {kinds_of_leaves(result)}"
            return result

        return keep_call

    def copy_call(
        self, f: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]
    ) -> KeptCall | None:
        """Return a call with copied arguments; None unless an argument holds a floating-point Array.

        Copies are needed, because the test may change its arguments.
        """
        try:
            bound = inspect.signature(f).bind(*args, **keywords)
        except (TypeError, ValueError):
            return None  # wrong arguments: the call itself will raise the error
        if not any(is_floating_leaf(x) for x in nest.leaves(list(bound.arguments.values()))):
            return None
        for name, value in bound.arguments.items():
            bound.arguments[name] = nest.pack_nesting(
                value, [copy_argument(x) for x in nest.leaves(value)]
            )
        return KeptCall(f, bound, user_line())

    def check_kept_calls(self, options: dict[str, Any]) -> None:
        """Raise AssertionError if a kept call has wrong gradients, or a function has no kept call.

        options : keyword arguments of ``testing.check_gradients``.
        """
        for call in self.kept:
            check_call(call, options)
        for f in self.functions:
            if not any(call.function is f for call in self.kept):
                raise AssertionError(self.no_kept_call(f))

    def no_kept_call(self, f: Callable[..., Any]) -> str:
        """Return the message for a function ``f`` of which no call can be checked."""
        if not self.counts[f]:
            return (
                f"check_gradients: call {f.__qualname__} in the test, which called it 0 times, by its "
                "name in the test's module or in a module of its package"
            )
        seen = self.seen.get(f, "each of them raised an exception")
        return (
            f"check_gradients: pass a floating-point array of xp to {f.__qualname__}, which must return "
            f"one, too. The test called {f.__qualname__} {self.counts[f]} times; {seen}"
        )


def function_named(f: Callable[..., Any] | str) -> Callable[..., Any]:
    """Return the function ``f``; if ``f`` is a text "module.name", import that function."""
    if isinstance(f, str):
        module, _, name = f.rpartition(".")
        try:
            f = getattr(import_module(module), name)
        except (AttributeError, ImportError, ValueError) as error:
            raise LookupError(f"check_gradients: there is no function {f!r}: {error}") from error
    if not callable(f) or not hasattr(f, "__module__") or not hasattr(f, "__qualname__"):
        raise TypeError(f"check_gradients: takes functions, or their names, got {describe(f)}")
    found: Callable[..., Any] = f
    return found


def is_floating_leaf(x: Any) -> bool:
    return isinstance(x, Array) and x.dtype.kind in FLOATING


def kinds_of_leaves(value: Any) -> str:
    """Return the types of the leaves of ``value``, and the dtypes of arrays, as text for a message."""
    kinds = [
        f"{type(x).__name__} of {x.dtype}" if hasattr(x, "dtype") else type(x).__name__
        for x in nest.leaves(value)
    ]
    return ", ".join(dict.fromkeys(kinds)) or "no values"


def copy_argument(x: Any) -> Any:
    """Copy an Array or a NumPy array; return other objects unchanged.  No tape follows the copy."""
    if isinstance(x, Array):
        _, data = current(x)
        return wrap(storage_of(data).copy(data))
    return x.copy() if isinstance(x, np.ndarray) else x


def check_call(call: KeptCall, options: dict[str, Any]) -> None:
    """Check a call's gradients with respect to all arguments that hold a floating-point Array.

    options : keyword arguments of ``testing.check_gradients``.
    """
    arguments = call.arguments.arguments
    varied = {
        name: value
        for name, value in arguments.items()
        if any(is_floating_leaf(x) for x in nest.leaves(value))
    }

    def call_with_varied(*values: Any) -> Any:
        fresh = {
            name: nest.pack_nesting(value, [copy_argument(x) for x in nest.leaves(value)])
            for name, value in arguments.items()
            if name not in varied
        }
        given = {**fresh, **dict(zip(varied, values, strict=True))}
        bound = inspect.BoundArguments(
            call.arguments.signature, {name: given[name] for name in arguments}
        )
        result = call.function(*bound.args, **bound.kwargs)
        leaves = nest.leaves(result)
        arrays = all(isinstance(y, Array) for y in leaves)
        return result if arrays else [y for y in leaves if is_floating_leaf(y)]

    kind = inspect.Parameter.POSITIONAL_ONLY
    call_with_varied.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(name, kind) for name in varied]
    )
    try:
        check_quietly(call_with_varied, list(varied.values()), options)
    except AssertionError as error:
        name = call.function.__qualname__
        raise AssertionError(f"{name}, as called at {call.line}: {error}") from None


def check_quietly(f: Callable[..., Any], inputs: Any, options: dict[str, Any]) -> None:
    """Call ``check_gradients`` and show its warnings only if it raises no error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_gradients(f, inputs, **options)
    for said in caught:
        warnings.warn_explicit(said.message, said.category, said.filename, said.lineno)


def check_returned(result: Any, options: dict[str, Any], *, differentiates: bool) -> None:
    """Check the gradients of the pairs (f, inputs) that a test returned.

    differentiates : False if ``xp`` is another library than arraytape; then the functions are only
        called.
    result : the result of the test: a pair (f, inputs), or a list of such pairs.
    options : keyword arguments of ``testing.check_gradients``.
    """
    pairs = result if isinstance(result, list) else [result]
    for pair in pairs:
        if not (isinstance(pair, tuple) and len(pair) == 2 and callable(pair[0])):
            raise TypeError(PAIR.format(short_repr(pair)))
        f, inputs = pair
        if differentiates:
            check_quietly(f, inputs, options)
        else:
            f(*inputs) if type(inputs) in (list, tuple) else f(inputs)
