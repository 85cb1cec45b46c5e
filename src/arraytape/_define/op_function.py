"""The public function of an op, which is compiled at its first call.

Until then the function runs the code of ``uncompiled``.  Compilation replaces the code object of the
same function object, so that references to the function stay valid.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable, Sequence
from types import CodeType, FunctionType
from typing import Any

from .._record.op import Op
from .._util.locks import reentrant_lock

BUILDING = reentrant_lock()  # held while the function of an op is compiled, at its first call


def uncompiled(*args: Any, **kwargs: Any) -> Any:
    """Compile the public function in whose place this code runs, and call the function again.

    Each public function of an op has this code until its first call.  Its global variable ``first_call``
    generates the source, and replaces the code.
    """
    return first_call(args, kwargs)  # type: ignore[name-defined]  # noqa: F821


UNCOMPILED = uncompiled.__code__


@functools.cache
def compile_source(source: str) -> CodeType:
    """Return the code object of a source text; it is cached, since many ops share a text."""
    return compile(source, "<arraytape>", "exec")


def give_code(public: FunctionType, source: str, file: str, name: str) -> None:
    """Compile a ``source`` that defines ``function``, and give its code and defaults to ``public``.

    The source runs in the globals of ``public``.  file, name : the file and function name that
    tracebacks show.
    """
    scope = public.__globals__
    exec(compile_source(source), scope)
    made = scope["function"]
    public.__defaults__, public.__kwdefaults__ = made.__defaults__, made.__kwdefaults__
    public.__code__ = made.__code__.replace(  # last, since calls run the new code from here on
        co_filename=file, co_name=name, co_qualname=name
    )


class OpFunction:
    """The description of an op's function, or operator method, for modes, which intercept its calls.

    names : the names of the parameters.
    build : a function that generates and compiles the code of ``function``, at the first call of the op.
    """

    __slots__ = ("build", "function", "names", "op")

    def __init__(
        self, op: Op, function: FunctionType, names: Sequence[str], build: Callable[[], None]
    ) -> None:
        self.op, self.function, self.names, self.build = op, function, tuple(names), build

    def build_once(self) -> None:
        """Generate and compile the code of the function, unless another thread has already done so."""
        with BUILDING:
            if self.function.__code__ is UNCOMPILED:
                self.build()

    def with_raw(self, raw: Callable[..., Any]) -> FunctionType:
        """Return a copy of the function that calls ``raw`` in place of the op's raw function.

        A mode, which intercepts calls of ops, uses it to record an op whose result it computes itself.
        Calls of the copy do not reach modes.
        """
        self.build_once()
        function = self.function
        scope = function.__globals__ | {
            "UFUNC": raw,
            "RAW": defaultdict(lambda: raw),
            "MODES": None,
        }
        twin = FunctionType(function.__code__, scope, function.__name__, function.__defaults__)
        twin.__kwdefaults__ = function.__kwdefaults__
        return twin
