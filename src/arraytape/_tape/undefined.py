"""The warning that a derivative is NaN because a matrix factorisation does not determine it.

At some matrices the vectors of a factorisation are not unique: singular vectors, say, where singular
values coincide.  The derivative exists only if the target does not depend on the choice of vectors.  So
a rule gets the parameter ``unread``, the elements of the results that the target never reads, and
returns NaN if the target reads vectors that are not unique.
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

DECISION = PAGE.replace("howto/errors.md", "decisions/0005-nan-at-coinciding-singular-values.md")


def is_nan(data: RawArray | None) -> bool:
    if data is None:
        return False
    raw = raw_of(data)
    return storage_of(raw).has_nan(raw)


def note_undefined(
    notes: list[str], plan: Plan, given: Iterable[Any], found: RawArray | None
) -> None:
    """Append the phrase "OP is NaN at a matrix SHAPE" to ``notes`` if the op's rule made a NaN.

    Do nothing if the rule got a NaN itself.

    plan : the description of the op's records.
    given : the cotangents or tangents that the rule got; each may be None.  found : the rule's result.
    """
    if found is not None and is_nan(found) and not any(map(is_nan, given)):
        notes.append(f"{plan.op.name} is NaN at a matrix {layout_text(found)}")


def warn_of_undefined(notes: Sequence[str], found: Iterable[Any]) -> None:
    """Warn if a derivative is NaN because the rule of a factorisation made a NaN.

    notes : phrases such as "svd is NaN at a matrix (3, 3)", at least one.  found : the derivatives.
    """
    if not any(map(is_nan, found)):
        return
    warnings.warn(
        "use the values alone, projectors alone, or a function of the matrix itself (inv, expm): the "
        f"derivative through {notes[0]} whose eigenvalues or singular values coincide, or whose "
        f"columns are linearly dependent, "
        f"up to rounding [at {user_line()}] (see {DECISION})",
        TapeWarning,
        stacklevel=stacklevel(),
    )
