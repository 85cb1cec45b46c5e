"""Context managers whose blocks end whenever an interruption comes.

A KeyboardInterrupt may come on entry to ``__exit__``, or at the end of ``__enter__``: then the block has
ended and nothing has left it.  A ``Block`` does not count on the call alone.  What a ``with`` statement
holds while its block is open, and nothing else does, is the bound ``__exit__``.  Here that is an object
of its own, a ``partial``; when it is freed, the block is left, if it was not before.  No frame refers to
it, so a traceback that someone keeps does not keep the block open.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ContextDecorator, suppress
from contextvars import ContextVar, Token, copy_context
from functools import partial
from typing import Any, Generic, Self, TypeVar
from weakref import ref

import numpy as np

T = TypeVar("T")


class Exit:
    """The ``__exit__`` of a Block: it leaves the block when it is called, or else when it is freed.

    Read from the class, as ``contextlib.ExitStack`` does, it is a function that leaves when called.
    """

    def __get__(self, block: Block | None, owner: type | None = None) -> Callable[..., None]:
        if block is None:
            return end_block
        held = partial(end_block, block)
        if block._held is None:
            block._held = ref(held, block._dropped)
        return held


def end_block(block: Block, *error: object) -> None:
    block._end()
    block._opened = block._held = None


class Block:
    """A context whose setting, made by ``_begin``, lasts until ``_end`` and no longer than the block.

    ``_end`` may be called twice, and before ``_begin`` has done its work: it undoes what is there.
    _held : a reference to the ``__exit__`` that the ``with`` statement holds.  _opened : the same, from
    ``_begin`` on.
    """

    _held: ref[Any] | None = None
    _opened: ref[Any] | None = None

    def __enter__(self) -> Any:
        self._opened = self._held
        return self._begin()

    __exit__: Any = Exit()

    def _begin(self) -> Any:
        """Set what holds in the block; return the value for ``as``."""
        raise NotImplementedError

    def _end(self) -> None:
        """Undo what ``_begin`` set."""
        raise NotImplementedError

    def _dropped(self, held: ref[Any]) -> None:
        """End a block that is over and was not left."""
        if self._held is held:
            if self._opened is held:
                self._end()
            self._opened = self._held = None


class Context(Block, ContextDecorator):
    """A Block that serves for one ``with`` statement, or as a decorator."""

    def _recreate_cm(self) -> Self:
        """Return a block of its own for each call of a decorated function."""
        from copy import copy

        return copy(self)


class Setting(Context, Generic[T]):
    """A block in which a context variable has another value."""

    def __init__(self, variable: ContextVar[T], value: T) -> None:
        self.variable, self.value = variable, value
        self.token: Token[T] | None = None

    def _begin(self) -> None:
        self.before = (self.variable.get(),)
        self.token = self.variable.set(self.value)

    def _end(self) -> None:
        if self.token is not None:
            with suppress(RuntimeError):  # it was reset already
                self.variable.reset(self.token)
        elif hasattr(self, "before") and self.variable.get() is self.value:
            self.variable.set(*self.before)


class Profiled(Block):
    """A block in which Python calls a function for each call in this thread: see ``sys.setprofile``."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def _begin(self) -> None:
        self.before = sys.getprofile()
        sys.setprofile(self.function)

    def _end(self) -> None:
        if sys.getprofile() is self.function:
            sys.setprofile(self.before)


class Quiet(Block):
    """A block in which NumPy ignores infinities and NaN: ``np.errstate``, which ends as blocks do.

    settings : those of ``np.errstate``; ``all="ignore"`` if none are given.
    A block that ends late, after one around it, changes nothing any more.
    """

    def __init__(self, **settings: Any) -> None:
        self.settings = settings or {"all": "ignore"}

    def _begin(self) -> None:
        self.before, self.around = error_state(), QUIET.get()
        QUIET.set((*self.around, self))
        set_error_state(state_of(**self.settings))

    def _end(self) -> None:
        for other in QUIET.get():
            if other is self:
                set_error_state(self.before)
                QUIET.set(self.around)
                return


def quietly(function: Callable[..., T], *arguments: Any) -> T:
    """Return the function's result; NumPy ignores infinities and NaN meanwhile.

    The function runs in a context of its own, which is over when it returns or raises: no interruption
    leaves anything of it to others, and no block has to be left.  Context variables that the function
    sets are set in that context.
    """
    return copy_context().run(in_silence, function, *arguments)


def in_silence(function: Callable[..., T], *arguments: Any) -> T:
    """Set NumPy's errors to "ignore", without resetting them, and call a function: see ``quietly``."""
    set_error_state(state_of(all="ignore"))
    return function(*arguments)


# The blocks in which NumPy is quiet here, from the outermost one on.
QUIET: ContextVar[tuple[Quiet, ...]] = ContextVar("arraytape quiet", default=())

# NumPy's settings for errors: what ``np.geterr`` and ``np.seterr`` read and set, without the dicts that
# these make, which take ten times as long.
UMATH = sys.modules["numpy._core.umath"]
VARIABLE = getattr(UMATH, "_extobj_contextvar", None)
MADE_OF = getattr(UMATH, "_make_extobj", None)
error_state: Callable[[], Any]
set_error_state: Callable[[Any], Any]
state_of: Callable[..., Any]


def by_names(settings: dict[str, Any]) -> None:
    """Set the error state from (a part of) what ``np.geterr`` returned."""
    np.seterr(**settings)


if VARIABLE is None or MADE_OF is None:
    error_state, set_error_state, state_of = np.geterr, by_names, dict
else:
    error_state, set_error_state, state_of = VARIABLE.get, VARIABLE.set, MADE_OF
