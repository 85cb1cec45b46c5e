"""The user's own rules, and switches on the way of a gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import _nest
from ._array import Array
from ._errors import describe, user_line
from ._op import REGISTRY, Op, Rule
from ._words import nondifferentiable

_stopped = nondifferentiable("stop_gradient")
REGISTERED: dict[str, str] = {}  # op -> where its user-given rule was declared


def stop_gradient(x: Any) -> Any:
    """The value of ``x`` (an Array or a nesting of Arrays) as a constant: no gradient flows back."""
    found = _nest.leaves(x)
    for leaf in found:
        if not isinstance(leaf, Array):
            raise TypeError(f"stop_gradient takes Arrays, got {describe(leaf)}")
    return _nest.pack(x, [_stopped(leaf) for leaf in found])


def register_gradient(name: str) -> Callable[[Rule], Rule]:
    """Decorator: give the op ``name`` a VJP.

    The rule takes the cotangent ``g`` first and asks by name for what else it needs (inputs, the
    result ``y``, parameters, ``shape``, ``dtype``, ``xp``); it returns the contribution to the
    op's input, or a tuple with one for each input.  LookupError for an unknown op; KeyError, with
    the place of the first rule, when the op has one.
    """

    def declare(rule: Rule) -> Rule:
        op = _free(name)
        op.checked = True
        if len(op.inputs) == 1 and not op.variadic:
            op.give_rules([rule], None)
        else:
            op.give_rules(None, rule)
        REGISTERED[name] = user_line()
        return rule

    return declare


def no_gradient(name: str) -> None:
    """Declare that the op ``name`` has no derivative: gradients through it are None."""
    op = _free(name)
    op.give_rules([lambda g: None] * len(op.inputs), None)
    REGISTERED[name] = user_line()


def _free(name: str) -> Op:
    op = REGISTRY.get(name)
    if op is None:
        raise LookupError(
            f"there is no op named {name!r}; known ops: {', '.join(sorted(REGISTRY))}"
        )
    if name in REGISTERED or op.rules or op.joint or not op.recorded:
        raise KeyError(
            f"op {name!r} already has a rule, declared at {REGISTERED.get(name, op.declared)}"
        )
    return op
