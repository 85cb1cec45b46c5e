"""Choose the *form* of a raw function: the way in which ``BatchedNamespace`` applies it to batched data.

The form follows from the op's ``Facts``, unless ``BatchedNamespace`` has a method of the op's name.  A
test lists the form of each op, so that no op becomes a loop over examples by accident.
"""

from __future__ import annotations

from ..._record.op_facts import Facts

OWN = "own"  # BatchedNamespace has a method for the function
ELEMENTS = "elements"  # elementwise functions: called once on aligned raw data, which broadcasts
AXES = "axes"  # functions along axes: called once, with axis numbers shifted by the hidden axes
ONE_AXIS = "one axis"  # the same, but axis=None means that the visible axes are flattened
STACKS = "stacks"  # functions of matrices in the last axes, for which hidden axes are stack axes
NEW = "new"  # functions that create data: the result is batched if the shape has hidden axes
REFUSED = "refused"  # functions whose result's shape depends on values: NoBatchedForm is raised
ONE_BY_ONE = "one by one"  # all other functions: called in a loop, for one example after the other


def form_by_facts(facts: Facts) -> str:
    """Return the form of an op, such as ELEMENTS (one call on aligned data) or ONE_BY_ONE (a loop).

    The form is the way in which the op's raw function is applied to batched data.

    facts : the op's statements about itself, such as "elementwise" or its signature.
    """
    if facts.moves or facts.data_dependent_shape == "x":
        return REFUSED
    if facts.per_element:
        return ELEMENTS
    if facts.creates:
        return NEW
    first = facts.cores[0][0] if facts.signature else ()
    return FORMS.get(first, STACKS) if first and first != ("...",) else ONE_BY_ONE


# The first operand in an op's signature, such as ``(AXES)->()``, -> form.
FORMS: dict[tuple[str, ...], str] = {("AXES",): AXES, ("AXIS",): ONE_AXIS}
