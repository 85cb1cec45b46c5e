"""Context managers that also clean up if a KeyboardInterrupt prevents the call of ``__exit__``.

The interrupt may come at the end of ``__enter__`` or on entry to ``__exit__``; then Python does not run
``__exit__``.  While a block is open, only the ``with`` statement holds the bound ``__exit__``.  A
``Block`` makes that an object of its own, a ``partial`` with a weak reference to it.  When the
``partial`` is freed before it was called, the reference's callback ends the block.  No frame refers to
the ``partial``, so a traceback that someone keeps does not keep the block open.
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
    """The ``__exit__`` of a Block: ends the block when it is called, or else when it is freed.

    ``contextlib.ExitStack`` reads ``__exit__`` from the class and gets a plain function.
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
    """A context manager: ``_begin`` changes a setting, ``_end`` restores it.

    ``_end`` may be called twice, or before ``_begin`` is complete, and restores what was changed.
    _held : a reference to the ``__exit__`` that the ``with`` statement holds.  _opened : the same
    reference, from ``_begin`` on.
    """

    _held: ref[Any] | None = None
    _opened: ref[Any] | None = None

    def __enter__(self) -> Any:
        self._opened = self._held
        return self._begin()

    __exit__: Any = Exit()

    def _begin(self) -> Any:
        """Set the value of the block; return the value for ``as``."""
        raise NotImplementedError

    def _end(self) -> None:
        """Restore what ``_begin`` changed."""
        raise NotImplementedError

    def _dropped(self, held: ref[Any]) -> None:
        """End the block if its ``__exit__`` was freed without a call."""
        if self._held is held:
            if self._opened is held:
                self._end()
            self._opened = self._held = None


class Context(Block, ContextDecorator):
    """A Block for one ``with`` statement, or for use as a decorator."""

    def _recreate_cm(self) -> Self:
        """Return a new block for each call of a decorated function, as ``ContextDecorator`` asks."""
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
            with suppress(RuntimeError):  # the token was used already
                self.variable.reset(self.token)
        # An interrupt came between ``set`` and the assignment to ``token``.
        elif hasattr(self, "before") and self.variable.get() is self.value:
            self.variable.set(*self.before)


class Profiled(Block):
    """A block in which Python calls a function for each call in this thread: see ``sys.setprofile``."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def _begin(self) -> None:
        self.before = sys.getprofile()
        self._install(self.function)

    def _end(self) -> None:
        if sys.getprofile() is self.function:
            self._install(self.before)

    def _install(self, function: Any) -> None:
        sys.setprofile(function)


class Quiet(Block):
    """A Block with NumPy's error state of ``np.errstate``.

    settings : those of ``np.errstate``; ``all="ignore"`` by default.  A block that ends after the one
    around it restores nothing.
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
    """Call a function while NumPy ignores infinities and NaN, and return its result.

    The call runs in a copy of the context, so an interrupt cannot leave the error state changed.
    Context variables that the function sets are set in that copy alone.
    """
    return copy_context().run(in_silence, function, *arguments)


def in_silence(function: Callable[..., T], *arguments: Any) -> T:
    """Set NumPy's errors to "ignore" in this context for good, and call a function: see ``quietly``."""
    set_error_state(state_of(all="ignore"))
    return function(*arguments)


# The open Quiet blocks of this context, outermost first.
QUIET: ContextVar[tuple[Quiet, ...]] = ContextVar("arraytape quiet", default=())

# NumPy's error state without the dicts of ``np.geterr`` and ``np.seterr``, which take ten times as long.
UMATH = sys.modules["numpy._core.umath"]
VARIABLE = getattr(UMATH, "_extobj_contextvar", None)
MADE_OF = getattr(UMATH, "_make_extobj", None)
error_state: Callable[[], Any]
set_error_state: Callable[[Any], Any]
state_of: Callable[..., Any]


def set_by_names(settings: dict[str, Any]) -> None:
    np.seterr(**settings)


if VARIABLE is None or MADE_OF is None:
    error_state, set_error_state, state_of = np.geterr, set_by_names, dict
else:
    error_state, set_error_state, state_of = VARIABLE.get, VARIABLE.set, MADE_OF
