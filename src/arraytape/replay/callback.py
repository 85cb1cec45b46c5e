"""Callbacks: functions that are given values during a replay, and return nothing to it.

In a traced call the values become outputs of the program, and the callback is called when the call
has done its work.  In a replay it is called after the last guard and the writes.
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
    """A value for a callback: its node in the program, and its data in the traced call."""

    node: Node
    data: Any
    state: int

    def array(self, data: RawArray) -> Array:
        return wrap(data, 0, KEPT | self.state)


class Effect:
    """One call of a callback in a traced function.

    of : returns the function, or None if it was a method of an object that no longer exists;
    methods are referenced weakly.  leaves : of its arguments and keywords, with a ``Value`` in the
    place of each Array.
    """

    def __init__(
        self, function: Callable[..., Any], arguments: tuple[tuple[Any, ...], dict[str, Any]]
    ) -> None:
        method = getattr(function, "__func__", None) is not None
        self.of: Callable[[], Any] = WeakMethod(function) if method else lambda: function
        self.leaves = [noted(leaf) for leaf in nest.leaves(arguments)]
        self.arguments = nest.pack_nesting(arguments, [None] * len(self.leaves))

    @property
    def noted_values(self) -> list[Value]:
        return [leaf for leaf in self.leaves if type(leaf) is Value]

    def run_effect(self, data: Sequence[Any]) -> None:
        """Call the function with this data in the place of its values."""
        function, known = self.of(), iter(data)
        leaves = [x.array(next(known)) if type(x) is Value else x for x in self.leaves]
        args, keywords = nest.pack_nesting(self.arguments, leaves)
        if function is not None:
            with only_recorders():
                function(*args, **keywords)

    def as_traced(self) -> None:
        self.run_effect([value.data.copy(order="K") for value in self.noted_values])

    def differs(self, other: Effect) -> bool:
        """Return True if another effect has another function or other arguments, Arrays aside."""
        if self.of() != other.of() or len(self.leaves) != len(other.leaves):
            return True
        pairs = zip(self.leaves, other.leaves, strict=True)
        return not all(type(b) is Value if type(a) is Value else same_value(a, b) for a, b in pairs)


def noted(leaf: Any) -> Any:
    """Return a leaf of the arguments, with a ``Value`` in the place of an Array."""
    if not isinstance(leaf, Array):
        return leaf
    trace, data = ACTIVE.get(), current(leaf)[1]
    assert trace is not None
    return Value(trace.node_of(data), traced_value(data), leaf._state & SCALAR)


def callback(f: Callable[..., Any]) -> Callable[..., None]:
    """Show a function the values of an ``xp.function`` whose calls are replayed.

    Parameters
    ----------
    f : Callable
        Takes Arrays, nestings of these and Python values, for a progress bar, a log or a file.  Its
        result is ignored.

    Returns
    -------
    Callable
        Takes the arguments of f.  In an ``xp.function`` f is called after the call's work, writes
        included, both in replays and in traced calls.  Elsewhere f is called at once.

    Raises
    ------
    TypeError
        When f cannot be called.
    ValueError
        At the call, for values within a ``vmap``.

    Notes
    -----
    The state that f reads and changes is not compared, so a replayed function must not depend on it.
    Make the callback outside of the function, whose own code is searched for the state that it reads.
    f is called with Arrays that no tape follows, and writes to them are seen by nothing else.  The call
    raises what f raises, after all other work is done.  Python values among the arguments are those of
    the traced call: pass a value that changes as an Array.

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
                "callback: a value within a vmap stands for many. Return it, and call the function "
                f"on what vmap gives [at {user_line()}]"
            )
        trace = ACTIVE.get()
        if trace is not None:
            trace.effects.append(Effect(f, arguments))
            return
        with only_recorders():
            leaves = [own(leaf) for leaf in nest.leaves(arguments)]
            args, keywords = nest.pack_nesting(arguments, leaves)
            f(*args, **keywords)

    del call_or_note.__wrapped__
    CALLBACKS.add(call_or_note)
    return call_or_note


def own(leaf: Any) -> Any:
    """Return a leaf, or for an Array a new handle on its value, which no tape follows."""
    if not isinstance(leaf, Array):
        return leaf
    current(leaf)
    return wrap(keep_data(leaf), 0, KEPT | leaf._state & SCALAR)
