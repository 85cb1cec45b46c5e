"""Let a library's Python functions run our rules on Arrays, while each function stays the same object.

A hook replaces the function's code by a trampoline's, so that names that were imported earlier lead to
the rule, too.  The original lives on as another function, with the former code, globals, defaults and
closure.  The trampoline runs the rule or the original:

    trampoline(*args, **keywords)      the function that callers hold
        Hook.choose_callee             is interop active, and an Array among the arguments?
        rule(...)  or  original(...)

``inspect.signature`` and ``inspect.getsource`` find the original by ``__wrapped__``; pickle still stores
the function's name.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

from .._util.errors import TRAMPOLINE, entrance
from ._context import is_active, rule_applies

Function = Callable[..., Any]


class Hook:
    """The replacement of a library's function, which runs a rule when it is called with Arrays.

    function : the function object that callers hold, whose code was replaced.
    original : another function with the library's code.
    rule : the function that runs in place of the original on Arrays.
    library : the library whose interop has to be active.
    always : True if the rule also runs on calls without Arrays, and checks the arguments itself.
    """

    __slots__ = ("always", "function", "library", "original", "rule")

    def __init__(
        self, library: str, function: FunctionType, rule: Function, always: bool = False
    ) -> None:
        self.library, self.function, self.always = library, function, always
        self.rule = entrance(rule, f"{function.__module__}.{function.__qualname__}")
        self.original = twin_function(function)

    def choose_callee(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Function:
        """Return the function that a call with these arguments runs: the rule or the original."""
        ours = (
            is_active(self.library) if self.always else rule_applies(self.library, args, keywords)
        )
        return self.rule if ours else self.original


# Hooks by the full name of their function.  If the name is taken, the key also has a number.
HOOKS: dict[str, Hook] = {}
GLOBAL = "__arraytape_hooks__"  # the name of HOOKS in the globals of a hooked function


def hook(function: FunctionType, rule: Function, library: str, always: bool = False) -> None:
    """Make a library's function run ``rule`` on Arrays, unless it has a rule already.

    The caller has to hold LOCK, because another thread may do the same.

    library : "scipy", "sklearn" or "dispatched".  always : True if the rule runs also without Arrays.
    """
    name = hook_name(function)
    if name in HOOKS:
        return
    HOOKS[name] = Hook(library, function, rule, always)
    function.__globals__[GLOBAL] = HOOKS
    if not hasattr(function, "__wrapped__"):
        function.__wrapped__ = HOOKS[name].original  # type: ignore[attr-defined]
    function.__code__ = trampoline(name, function.__code__)


def original_of(function: Function) -> Function:
    """Return the library's own function for a hooked function; return any other function unchanged."""
    name = hook_name(function)
    return HOOKS[name].original if name in HOOKS else function


def hook_name(function: Function) -> str:
    """Return the key of a library's function in HOOKS, also if the function is not hooked yet.

    Functions of the same full name get different keys: "m.f", "m.f 2", ...
    """
    name = full = f"{function.__module__}.{function.__qualname__}"
    number = 1
    while name in HOOKS and HOOKS[name].function is not function:
        number += 1
        name = f"{full} {number}"
    return name


def twin_function(function: FunctionType, **names: Any) -> FunctionType:
    """Return a copy of a function; ``names`` replaces some of the globals that it reads."""
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
    """Return new code for a library's function: the code runs a rule on Arrays, else the original.

    name : the key in HOOKS; ``HOOKS[name].choose_callee`` decides between rule and original.

    code : the function's own code.  CPython accepts new code only with as many free variables.  So the
    trampoline mentions the closure's variables without using them.  ``warnings.warn`` skips frames
    whose file name is TRAMPOLINE, so that the original's warnings still point at the caller's line.
    """
    free = code.co_freevars
    source = "\n".join(
        [
            "def make():",
            *(f"    {variable} = None" for variable in free),
            "    def trampoline(*args, **keywords):",
            *([f"        if 0: {', '.join(free)}"] if free else []),
            f"        return {GLOBAL}[{name!r}].choose_callee(args, keywords)(*args, **keywords)",
            "    return trampoline.__code__",
        ]
    )
    made = compile_trampoline(source)
    return made.replace(co_name=code.co_name, co_qualname=code.co_qualname)


@functools.cache
def compile_trampoline(source: str) -> CodeType:
    scope: dict[str, Any] = {}
    exec(compile(source, TRAMPOLINE, "exec"), scope)
    code: CodeType = scope["make"]()
    return code
