"""The forms in which a function is applied to batched data; each follows from the op's facts.

A method of ``BatchedNamespace`` replaces the form.  A test checks the form of each registered op, so
that no op falls back to a loop unnoticed.
"""

from __future__ import annotations

from ..._record.op_facts import Facts

OWN = "own"  # a method of BatchedNamespace
ELEMENTS = "elements"  # elementwise: hidden axes are lined up, then broadcast
AXES = "axes"  # along axes counted from the first visible axis; axis=None: all visible axes
ONE_AXIS = "one axis"  # along one axis; axis=None: over the flattened visible axes
STACKS = "stacks"  # on the last axes: hidden axes are further stack axes
NEW = "new"  # creates data: batched data for a batched shape
REFUSED = "refused"  # raises: the result's shape depends on values
ONE_BY_ONE = "one by one"  # called for one array after the other


def form_by_facts(facts: Facts) -> str:
    """Return the form that follows from the facts of a function."""
    if facts.moves or facts.data_dependent_shape == "x":
        return REFUSED
    if facts.per_element:
        return ELEMENTS
    if facts.creates:
        return NEW
    first = facts.cores[0][0] if facts.signature else ()
    return FORMS.get(first, STACKS) if first and first != ("...",) else ONE_BY_ONE


FORMS: dict[tuple[str, ...], str] = {("AXES",): AXES, ("AXIS",): ONE_AXIS}
