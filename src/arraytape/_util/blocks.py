"""Context managers that also clean up if a KeyboardInterrupt keeps Python from calling ``__exit__``.

An interrupt at the end of ``__enter__`` or at the start of ``__exit__`` does so.  A ``with`` statement
reads ``block.__exit__`` before it calls ``__enter__``, and holds what it read until the block ends.  So
a ``Block`` returns a new ``partial`` for this read, with a weak reference whose callback ends the block
if the ``partial`` is freed without a call.  No frame refers to the ``partial``, so a kept traceback does
not keep the block open.
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
    """The descriptor ``Block.__exit__``, whose reads each return a new ``partial`` that ends the block.

    The block also ends when the ``partial`` is freed without a call.  ``contextlib.ExitStack`` reads
    ``__exit__`` from the class and gets the plain function ``end_block``.
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
    """The base class of context managers that also end if an interrupt prevents ``__exit__``.

    In a subclass, ``_begin`` changes a setting, and ``_end`` restores it.

    ``_end`` may be called twice, or before ``_begin`` is complete, so it must restore only those changes
    that ``_begin`` has made.

    _held : a weak reference to the function that the ``with`` statement got as ``__exit__``.
    _opened : the same weak reference, but None until ``__enter__`` is called.
    """

    _held: ref[Any] | None = None
    _opened: ref[Any] | None = None

    def __enter__(self) -> Any:
        self._opened = self._held
        return self._begin()

    __exit__: Any = Exit()

    def _begin(self) -> Any:
        """Change the setting; return the value that ``with ... as`` binds."""
        raise NotImplementedError

    def _end(self) -> None:
        """Restore what ``_begin`` changed."""
        raise NotImplementedError

    def _dropped(self, held: ref[Any]) -> None:
        """End the block if the ``partial`` read as ``__exit__`` is freed while the block is open.

        held : the weak reference to the ``partial``, of which this method is the callback.
        """
        if self._held is held:
            if self._opened is held:
                self._end()
            self._opened = self._held = None


class Context(Block, ContextDecorator):
    """A context manager for one ``with`` statement, or for use as a decorator.

    As a ``Block``, it ends even if an interrupt prevents the call of ``__exit__``.
    """

    def _recreate_cm(self) -> Self:
        """Return a new block; ``ContextDecorator`` calls this method at each call of the function."""
        from copy import copy

        return copy(self)


class Setting(Context, Generic[T]):
    """A ``with`` block in which the context variable ``variable`` has the value ``value``."""

    def __init__(self, variable: ContextVar[T], value: T) -> None:
        self.variable, self.value = variable, value
        self.token: Token[T] | None = None

    def _begin(self) -> None:
        self.before = (self.variable.get(),)
        self.token = self.variable.set(self.value)

    def _end(self) -> None:
        if self.token is not None:
            with suppress(RuntimeError):  # ``_end`` runs a second time: the token was used already
                self.variable.reset(self.token)
        # An interrupt came after ``set`` and before the assignment to ``token``.
        elif hasattr(self, "before") and self.variable.get() is self.value:
            self.variable.set(*self.before)


class Profiled(Block):
    """A ``with`` block in which Python calls ``function`` at each call in this thread.

    ``sys.setprofile`` describes the arguments of ``function``.
    """

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
    """A block with the floating-point error state of ``np.errstate(**settings)``, safe from interrupts.

    Without settings all floating-point errors are ignored.  If blocks in generators end in the wrong
    order, the outer block restores the state for both, and the end of the inner one changes nothing.
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
    """Call a function while NumPy ignores floating-point errors, and return the function's result.

    The call runs in a copy of the context (``contextvars``), so that an interrupt cannot leave the error
    state changed.  Context variables that the function sets keep their old values outside the call.
    """
    return copy_context().run(in_silence, function, *arguments)


def in_silence(function: Callable[..., T], *arguments: Any) -> T:
    """Set NumPy's error state to "ignore", and call ``function``; the state stays changed.

    ``quietly`` runs this in a copy of the context, so that the change has no effect outside.
    """
    set_error_state(state_of(all="ignore"))
    return function(*arguments)


# The open Quiet blocks of this context, outermost first.
QUIET: ContextVar[tuple[Quiet, ...]] = ContextVar("arraytape quiet", default=())

# NumPy's private context variable of the error state, and the function that makes its values.  They are
# ten times as fast as ``np.geterr`` and ``np.seterr``, which convert the state from and to dicts.
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
