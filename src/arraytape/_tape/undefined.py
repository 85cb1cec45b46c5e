"""The warning that a derivative is NaN because a factorisation does not determine it.

The vectors of a factorisation are a free choice at some matrices.  There its rule gives NaN, unless the
function does not depend on the choice.  Such rules ask which results are never read (``unread``).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from .._record.plan import Plan
from .._storage.storage import storage_of
from .._util.errors import PAGE, TapeWarning, layout_text, stacklevel, user_line
from .activity import raw_of

if TYPE_CHECKING:
    from .._util.array_types import RawArray

DECISION = PAGE.replace("errors.md", "decisions/0005-nan-at-coinciding-singular-values.md")


def is_nan(data: RawArray | None) -> bool:
    if data is None:
        return False
    raw = raw_of(data)
    return storage_of(raw).has_nan(raw)


def note_undefined(
    notes: list[str], plan: Plan, given: Iterable[Any], found: RawArray | None
) -> None:
    """Add the op to the notes, in words for the warning, if its rule made the first NaN.

    given : the rule's cotangents or tangents, None for absent ones.  found : its result.
    """
    if found is not None and is_nan(found) and not any(map(is_nan, given)):
        notes.append(f"{plan.op.name} is NaN at a matrix {layout_text(found)}")


def warn_of_undefined(notes: Sequence[str], found: Iterable[Any]) -> None:
    """Warn if a derivative holds a NaN, and the rule of a factorisation gave one on the way."""
    if not any(map(is_nan, found)):
        return
    warnings.warn(
        "use the values alone, projectors alone, or a function of the matrix itself (inv, expm): the "
        f"derivative through {notes[0]} whose values coincide, or whose columns depend on others, "
        f"up to rounding [at {user_line()}] (see {DECISION})",
        TapeWarning,
        stacklevel=stacklevel(),
    )
