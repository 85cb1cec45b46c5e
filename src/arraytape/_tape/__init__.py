"""The tape: recording, the backward pass and its guard, Jacobians, forward mode."""

from types import ModuleType

from .._util.attach import RULES_FOR
from .._util.imports import when_imported


def _take_rules(module: ModuleType) -> None:
    """Give functions of a library that run on Arrays, but hide a part from tapes, rules of their own."""
    RULES_FOR[module.__name__]()


for _library in RULES_FOR:
    when_imported(_library, _take_rules)
