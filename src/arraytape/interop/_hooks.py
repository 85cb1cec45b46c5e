"""Hooks: a Python function of a library gets a rule for Arrays, and stays the same object.

The function's code is replaced by a trampoline, so that names which were imported earlier lead to the
rule, too.  The original lives on as a function of its own with the same code, globals, defaults and
closure.  A trampoline runs one of the two:

    trampoline(*args, **keywords)      the function that callers hold
        Hook.choose                    is the context active, and an Array among the arguments?
        rule(...)  or  original(...)

``inspect.signature`` and ``inspect.getsource`` find the original by ``__wrapped__``; pickling goes by
name and knows no difference.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

from .._util.errors import TRAMPOLINE, raise_documented
from ._context import concerned, is_active

Function = Callable[..., Any]


class Hook:
    """A function that was given a rule.

    function : the one that callers hold.  original : what it was.  rule : what runs in its place
    on Arrays; with ``always`` on anything, where the context is active: it looks for itself.
    """

    __slots__ = ("always", "function", "library", "original", "rule")

    def __init__(
        self, library: str, function: FunctionType, rule: Function, always: bool = False
    ) -> None:
        self.library, self.function, self.always = library, function, always
        self.rule = checked(f"{function.__module__}.{function.__qualname__}", rule)
        self.original = twin(function)

    def choose(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Function:
        """What to run for these arguments."""
        ours = is_active(self.library) if self.always else concerned(self.library, args, keywords)
        return self.rule if ours else self.original


def checked(name: str, rule: Function) -> Function:
    """A rule, of whose own errors each says on what and where."""

    @functools.wraps(rule)
    def call(*args: Any, **keywords: Any) -> Any:
        try:
            return rule(*args, **keywords)
        except Exception as error:
            raise_documented(error, name, *args, **keywords)

    return call


# By the function's full name, with a number if it is not the first of that name.
HOOKS: dict[str, Hook] = {}
GLOBAL = "__arraytape_hooks__"  # under which the globals of a hooked function hold HOOKS


def hook(function: FunctionType, rule: Function, library: str, always: bool = False) -> None:
    """Give a function a rule for calls with Arrays; one that has a hook keeps it.

    The caller holds the lock of installing.
    """
    name = name_of(function)
    if name in HOOKS:
        return
    HOOKS[name] = Hook(library, function, rule, always)
    function.__globals__[GLOBAL] = HOOKS
    if not hasattr(function, "__wrapped__"):
        function.__wrapped__ = HOOKS[name].original  # type: ignore[attr-defined]
    function.__code__ = trampoline(name, function.__code__)


def original_of(function: Function) -> Function:
    """A function as it was before it got a hook; any other function itself."""
    name = name_of(function)
    return HOOKS[name].original if name in HOOKS else function


def name_of(function: Function) -> str:
    """The name of a function's hook, or the one that it would get."""
    name = full = f"{function.__module__}.{function.__qualname__}"
    number = 1
    while name in HOOKS and HOOKS[name].function is not function:
        number += 1
        name = f"{full} {number}"
    return name


def twin(function: FunctionType, **names: Any) -> FunctionType:
    """A function with the same code, globals, defaults, closure and attributes.

    names : globals that it has in place of its own; its globals are then a copy.
    """
    scope = {**function.__globals__, **names} if names else function.__globals__
    made = FunctionType(
        function.__code__, scope, function.__name__, function.__defaults__, function.__closure__
    )
    made.__kwdefaults__ = function.__kwdefaults__
    made.__qualname__, made.__module__ = function.__qualname__, function.__module__
    made.__doc__, made.__annotations__ = function.__doc__, function.__annotations__
    made.__dict__.update(function.__dict__)
    return made


def trampoline(name: str, code: CodeType) -> CodeType:
    """The code of a trampoline in place of ``code``, with the same free variables.

    A function's code can only be replaced by one with as many free variables, so those of the closure
    are mentioned, though nothing uses them.  The file name is one that ``warnings.warn`` does not
    count: the original's warnings point at the line that they pointed at before.
    """
    free = code.co_freevars
    source = "\n".join(
        [
            "def make():",
            *(f"    {variable} = None" for variable in free),
            "    def trampoline(*args, **keywords):",
            *([f"        if 0: {', '.join(free)}"] if free else []),
            f"        return {GLOBAL}[{name!r}].choose(args, keywords)(*args, **keywords)",
            "    return trampoline.__code__",
        ]
    )
    made = compiled(source)
    return made.replace(co_name=code.co_name, co_qualname=code.co_qualname)


@functools.cache
def compiled(source: str) -> CodeType:
    """The code that a source's ``make`` gives."""
    scope: dict[str, Any] = {}
    exec(compile(source, TRAMPOLINE, "exec"), scope)
    code: CodeType = scope["make"]()
    return code
