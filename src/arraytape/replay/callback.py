"""Callbacks: users' functions that an ``xp.function`` calls with values, and whose result is ignored.

In a traced call, the values become outputs of the program, and the callback is called at the end of the
call.  In a replay, the callback is called after the last guard and after the writes to Arrays.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from weakref import WeakMethod

from .._array.array import KEPT, SCALAR, Array, wrap
from .._array.views import current, keep_data
from .._record.stack import only_recorders
from .._storage.batched.batched_data import Batched
from .._util import nest
from .._util.array_types import RawArray
from .._util.errors import describe, user_line
from .program import Node
from .reach.sameness import same_value
from .reach.state import CALLBACKS
from .tracing.traced import ACTIVE, traced_value


class Value(NamedTuple):
    """An Array argument of a callback: its node (the recorded call that computes it) and its data.

    The data is that of the traced call, in which NumPy calls were recorded.
    state : SCALAR or 0, to be set in the ``_state`` of the Array that the callback gets.
    """

    node: Node
    data: Any
    state: int

    def array(self, data: RawArray) -> Array:
        return wrap(data, 0, KEPT | self.state)


class Effect:
    """One call of a callback in a recorded function, which each replay repeats with its own values.

    of : returns the user's function; None for a method of an object that is freed (a weak reference).
    leaves : the Arrays and other values in args and keywords; a ``Value`` stands for an Array.
    arguments : the nesting (args, keywords), from which the leaves were taken.
    """

    def __init__(
        self, function: Callable[..., Any], arguments: tuple[tuple[Any, ...], dict[str, Any]]
    ) -> None:
        method = getattr(function, "__func__", None) is not None
        self.of: Callable[[], Any] = WeakMethod(function) if method else lambda: function
        self.leaves = [value_of_leaf(leaf) for leaf in nest.leaves(arguments)]
        self.arguments = nest.pack_nesting(arguments, [None] * len(self.leaves))

    @property
    def noted_values(self) -> list[Value]:
        return [leaf for leaf in self.leaves if type(leaf) is Value]

    def run_effect(self, data: Sequence[Any]) -> None:
        """Call the user's function; its Array arguments get the values ``data``, in their order."""
        function, known = self.of(), iter(data)
        leaves = [x.array(next(known)) if type(x) is Value else x for x in self.leaves]
        args, keywords = nest.pack_nesting(self.arguments, leaves)
        if function is not None:
            with only_recorders():
                function(*args, **keywords)

    def run_after_trace(self) -> None:
        """Call the user's function at the end of the traced call, on copies of the traced values."""
        self.run_effect([value.data.copy(order="K") for value in self.noted_values])

    def differs(self, other: Effect) -> bool:
        """Return True if two calls of callbacks have different functions or Python arguments.

        If two recorded calls of a function differ so, the function cannot be replayed.
        """
        if self.of() != other.of() or len(self.leaves) != len(other.leaves):
            return True
        pairs = zip(self.leaves, other.leaves, strict=True)
        return not all(type(b) is Value if type(a) is Value else same_value(a, b) for a, b in pairs)


def value_of_leaf(leaf: Any) -> Any:
    """Return a ``Value`` (recorded node and data) for a callback's argument that is an Array.

    Return other arguments unchanged.
    """
    if not isinstance(leaf, Array):
        return leaf
    trace, data = ACTIVE.get(), current(leaf)[1]
    assert trace is not None
    return Value(trace.node_of(data), traced_value(data), leaf._state & SCALAR)


def callback(f: Callable[..., Any]) -> Callable[..., None]:
    """Wrap a function so that an ``xp.function`` calls it in replays, too, for example to log a loss.

    Parameters
    ----------
    f : Callable
        A function of Arrays, nestings of these and Python values, for a progress bar, a log or a file.
        Its result is ignored.

    Returns
    -------
    Callable
        A function with the parameters of f.  Within an ``xp.function``, f is called at the end of
        each call, traced or replayed, after writes to Arrays.  Elsewhere f is called at once.

    Raises
    ------
    TypeError
        When f cannot be called.
    ValueError
        At the call, for values within a ``vmap``.

    Notes
    -----
    Replays do not compare the state that f reads and changes, so the ``xp.function`` must not depend on
    that state.  Make the callback outside of the ``xp.function``.  f is called with new Arrays, which no
    tape follows; writes to them change no other Array.  An exception from f is raised by the call of the
    ``xp.function``, after all other work is done.  Python values among the arguments are those of the
    traced call: pass a value that changes as an Array.

    Examples
    --------
    >>> import arraytape as xp
    >>> seen = []
    >>> tell = xp.replay.callback(lambda loss: seen.append(float(loss)))
    >>> @xp.function
    ... def step(w):
    ...     loss = xp.sum(w**2)
    ...     tell(loss)
    ...     return w * 0.5
    >>> w = xp.asarray([4.0])
    >>> for _ in range(4):
    ...     w = step(w)
    >>> seen
    [16.0, 4.0, 1.0, 0.25]
    """
    if not callable(f):
        raise TypeError(f"callback: needs a function, got {describe(f)} [at {user_line()}]")

    @functools.wraps(f, updated=())
    def call_or_note(*args: Any, **keywords: Any) -> None:
        arguments = (args, keywords)
        arrays = [leaf for leaf in nest.leaves(arguments) if isinstance(leaf, Array)]
        if any(type(x._data) is Batched for x in arrays):
            raise ValueError(
                "callback: return the value, and call the function with the result of vmap. Within "
                f"vmap, one value represents many [at {user_line()}]"
            )
        trace = ACTIVE.get()
        if trace is not None:
            trace.effects.append(Effect(f, arguments))
            return
        with only_recorders():
            leaves = [unfollowed_copy(leaf) for leaf in nest.leaves(arguments)]
            args, keywords = nest.pack_nesting(arguments, leaves)
            f(*args, **keywords)

    del call_or_note.__wrapped__
    CALLBACKS.add(call_or_note)
    return call_or_note


def unfollowed_copy(leaf: Any) -> Any:
    """Return a new Array of the leaf's value, which no tape follows; return other leaves unchanged.

    Callbacks get the result as their argument.
    """
    if not isinstance(leaf, Array):
        return leaf
    current(leaf)
    return wrap(keep_data(leaf), 0, KEPT | leaf._state & SCALAR)
