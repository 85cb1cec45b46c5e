"""Warnings about sources whose gradient is None by mistake.

There is a warning if the tape never followed the source, or if ``none_causes`` finds a mistake.  There
is no warning just because the target does not use a source that the tape follows, since a program may
well leave one of several sources unused.
"""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cache

from .._array.array import IS_VIEW, Array
from .._record.plan import inputs_of, results_of
from .._util.errors import TapeWarning, layout_text, see, stacklevel, user_frame
from .arguments import differentiable
from .none_causes import Request, name_with_layout, swapped_words, why_unconnected
from .recording import Recording

ON_THE_TAPE = see("source-that-the-tape-does-not-follow")


def is_followed_by(recording: Recording, x: Array) -> bool:
    """Return True if an Array is watched, or was computed from watched Arrays."""
    if id(x) in recording.watched:
        return True
    value_ids = [x._current_id(), x._view.root._value_id if x._state & IS_VIEW else 0]
    return any(
        value_id in recording.known and value_id not in recording.implied for value_id in value_ids
    )


def watched_by_layout(recording: Recording) -> dict[str, Array]:
    """Return a dict from texts of shape and dtype, "float64(3,)", to the first such watched Array.

    A warning names this Array, as the user may have meant it.
    """
    handles = [entry.handle for entry in recording.watched.values()]
    return {layout_text(x): x for x in reversed(handles)}


def why_not_followed(
    recording: Recording, x: Array, alikes: Callable[[], Mapping[str, Array]] | None = None
) -> str:
    """Return a sentence on why a tape does not follow the source x, and advice.

    Return "" if the tape follows x, or if x is a Variable and the tape watches Variables at their reads.
    alikes : a function, cached if there are several sources, that returns {layout: watched Array}.  The
    advice names the watched Array of the shape and dtype of x.
    """
    if is_followed_by(recording, x):
        return ""
    if x._has_state:
        if recording.watches_variables:
            return ""
        return (
            f"{name_with_layout(x)} was not watched, and the tape has "
            "watch_accessed_variables=False: call "
            "tape.watch(v)"
        )
    if x._current_id() in recording.implied:
        return (
            f"of {name_with_layout(x)} only a view is watched: call tape.watch(x) on the whole Array, "
            "before it is used"
        )
    if name := name_of_former_variable(x):
        return (
            f"write {name}.assign_sub(...) or {name}.assign(...): {name} was a Variable, and `{name} = "
            f"{name} ...` made it {name_with_layout(x)}, which the tape does not watch"
        )
    alike = (alikes() if alikes else watched_by_layout(recording)).get(layout_text(x))
    if alike is not None:
        return (
            f"the tape watches {name_with_layout(alike)}, and not this {name_with_layout(x)}: asarray, "
            "and ops such as x = x + 1, make new Arrays. Give the watched Array as source, or watch the "
            "new Array before it is used"
        )
    return (
        f"{name_with_layout(x)} is not on the tape: it was neither watched nor computed from watched "
        "Arrays inside the block. Call tape.watch(x) inside the block, before x is used"
    )


def name_of_former_variable(x: Array) -> str:
    """Return the name of x in the user's function if this was a Variable's name before, else "".

    ``w = Variable(...)`` and later ``w = w - rate * g`` make w an Array, which the tape does not watch.
    """
    frame = user_frame()
    names = [name for name, value in dict(frame.f_locals).items() if value is x] if frame else []
    try:
        source = inspect.getsource(frame) if frame and names else ""
    except (OSError, TypeError):  # typed into an interpreter
        return ""
    for name in names:
        made = rf"^\s*{name}\s*=[^=\n]*\bVariable\("
        stepped = rf"^\s*(.*;\s*)?{name}\s*=\s*{name}\s*[-+*/]"
        if re.search(made, source, re.MULTILINE) and re.search(stepped, source, re.MULTILINE):
            return name
    return ""


def first_targets(
    recording: Recording, targets: Sequence[Array], starts: Sequence[int]
) -> dict[int, Array]:
    """Return a dict from the ids of values that were computed from a watched target to this target.

    A source in the dict has probably been swapped with its target.  If a value was computed from several
    targets, the dict has the one that comes first in ``targets``.

    starts : the value ids of the targets.
    """
    leaves = [
        (target, start)
        for target, start in zip(targets, starts, strict=True)
        if id(target) in recording.watched and start in recording.leaves
    ]
    first = {start: i for i, (_, start) in reversed([*enumerate(leaves)])}
    for record in recording.records if first else ():
        made_of = [first[value_id] for value_id in inputs_of(record) if value_id in first]
        for out in results_of(record) if made_of else ():
            first[out] = min(made_of + ([first[out]] if out in first else []))
    return {value_id: leaves[i][0] for value_id, i in first.items() if value_id != leaves[i][1]}


def warn_of_unfollowed(
    recording: Recording, asked: Sequence[tuple[Array, int]], targets: Sequence[Array],
    starts: Sequence[int], alone: bool,
) -> None:  # fmt: skip
    """Warn of each source that has no gradient by mistake.

    asked : the sources without a gradient, as pairs (Array, value id).  starts : ids of the targets.
    alone : True if no source of the request has a gradient.
    """
    alikes = cache(lambda: watched_by_layout(recording))
    swapped = first_targets(recording, targets, starts) if asked else {}
    for x, value_id in asked:
        if not differentiable(x):
            continue  # ``arrays_of`` has warned
        why = why_not_followed(recording, x, alikes)
        if not why and value_id in swapped:
            why = swapped_words(x, swapped[value_id])
        if not why:
            why = why_unconnected(Request(recording, x, value_id, targets, starts, alone))
        if why:
            warnings.warn(
                f"gradient is None: {why} {ON_THE_TAPE}", TapeWarning, stacklevel=stacklevel()
            )
