"""Sources that a tape does not follow: why their gradient is None, in one line.

A source that was watched, or computed of what was, and on which the target does not depend is no
mistake: several sources are asked for, and one of them is not used.  Sources that the tape never
followed, and a target that the source was computed of, are.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from .._array.array import IS_VIEW, Array
from .._record.plan import made_of
from .._util.errors import TapeWarning, layout, see, stacklevel
from .arguments import differentiable
from .recording import Recording

ON_THE_TAPE = see("source-that-the-tape-does-not-follow")


def named(x: Array) -> str:
    """An Array as messages call it: ``Array float64(3,)``, ``Variable 'w' float64(2,)``."""
    name = f" {x.name!r}" if x._has_state else ""  # type: ignore[attr-defined]
    return f"{type(x).__name__}{name} {layout(x)}"


def follows(recording: Recording, x: Array) -> bool:
    """Whether a tape follows an Array, as what it watches or as what was computed of that.

    To ask changes nothing.
    """
    if id(x) in recording.watched:
        return True
    tids = [x._current_id(), x._view.root._tid if x._state & IS_VIEW else 0]
    return any(tid in recording.known and tid not in recording.implied for tid in tids)


def why_not_followed(recording: Recording, x: Array) -> str:
    """Why a tape does not follow a source, and what to do; "" if it does, or a Variable is not to be."""
    if follows(recording, x):
        return ""
    if x._has_state:
        if recording.watches_variables:
            return ""
        return (
            f"{named(x)} was not watched, and the tape has watch_accessed_variables=False: call "
            "tape.watch(v)"
        )
    if x._current_id() in recording.implied:
        return (
            f"of {named(x)} only a view is watched: call tape.watch(x) on the whole, before its use"
        )
    handles = [entry.handle for entry in recording.watched.values()]
    alike = [one for one in handles if one.shape == x.shape and one.dtype == x.dtype]
    if alike:
        return (
            f"the tape watches {named(alike[0])}, and not this {named(x)}: an op, such as x = x + 1, "
            "and asarray make new Arrays. Give what is watched as source, or watch the new one before "
            "it is used"
        )
    return (
        f"{named(x)} is not on the tape: it was not watched, nor computed inside the block of what is "
        "watched. Call tape.watch(x) inside the block, before x is used"
    )


def why_swapped(
    recording: Recording, x: Array, tid: int, targets: Sequence[Array], starts: Sequence[int]
) -> str:
    """That a source was computed of a target which is watched; "" if it was not."""
    for target, start in zip(targets, starts, strict=True):
        leaf = id(target) in recording.watched and start in recording.leaves
        if leaf and tid != start and tid in made_of(recording.records, [start]):
            return swapped_words(x, target)
    return ""


def swapped_words(x: Array, target: Array) -> str:
    """That a source was computed of the target."""
    return (
        f"the source {named(x)} was computed of the target {named(target)}, and not the target of the "
        "source: they are swapped. Call tape.gradient(target, sources)"
    )


def warn_of_strays(
    recording: Recording, asked: Sequence[tuple[Array, int]], targets: Sequence[Array],
    starts: Sequence[int],
) -> None:  # fmt: skip
    """A TapeWarning for each source, with its tid, that has no gradient by mistake."""
    for x, tid in asked:
        if not differentiable(x):
            continue  # said before
        why = why_not_followed(recording, x) or why_swapped(recording, x, tid, targets, starts)
        if why:
            warnings.warn(
                f"gradient is None: {why} {ON_THE_TAPE}", TapeWarning, stacklevel=stacklevel()
            )
