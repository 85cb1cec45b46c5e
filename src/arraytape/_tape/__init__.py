"""The tape: recording, the backward pass and its guard, Jacobians, forward mode."""

from types import ModuleType

from .._util.attach import RULES_FOR
from .._util.imports import when_imported


def _take_rules(module: ModuleType) -> None:
    """Register the rules that a room above gives for a library's functions."""
    RULES_FOR[module.__name__]()


for _library in RULES_FOR:
    when_imported(_library, _take_rules)
