"""The tape: recording, the backward pass, its NaN rerun, Jacobians, forward mode."""

from .._util.attach import RULES_FOR
from .._util.imports import when_imported

for _library in RULES_FOR:
    when_imported(_library, lambda module: RULES_FOR[module.__name__]())
