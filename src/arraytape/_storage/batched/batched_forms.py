"""The forms of functions computed for many arrays at once: each follows from a function's facts.

Functions with a method of their own in ``BatchedNamespace`` need none.  A test goes through the
registry: an op without a form fails it, so none falls back to a loop unseen.
"""

from __future__ import annotations

from ..._record.op_facts import Facts

OWN = "own"  # a method of BatchedNamespace
ELEMENTS = "elements"  # each element by itself: hidden axes line up
AXES = "axes"  # along axes, counted from the first visible one; axis=None: all visible axes
ONE_AXIS = "one axis"  # along one axis; axis=None: of all elements in one dimension
STACKS = "stacks"  # of matrices (or of the last axes): stacks are taken as they are
NEW = "new"  # makes data: of a batched shape, batched data
REFUSED = "refused"  # the shape of the result depends on values
ONE_BY_ONE = "one by one"  # no batched form: called for one array after the other


def form_by_facts(facts: Facts) -> str:
    """Return the form that follows from the facts about a function."""
    if facts.moves or facts.data_dependent_shape == "x":
        return REFUSED
    if facts.per_element:
        return ELEMENTS
    if facts.creates:
        return NEW
    first = facts.cores[0][0] if facts.signature else ()
    return FORMS.get(first, STACKS) if first and first != ("...",) else ONE_BY_ONE


FORMS: dict[tuple[str, ...], str] = {("AXES",): AXES, ("AXIS",): ONE_AXIS}
