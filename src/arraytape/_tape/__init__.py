"""Gradient tapes: recording, the backward pass, its rerun after a NaN, Jacobians, and forward mode."""

from .._util.attach import RULES_FOR
from .._util.imports import when_imported

# Rules that other libraries need (``_util.attach``) are attached when the library is imported.
for _library in RULES_FOR:
    when_imported(_library, lambda module: RULES_FOR[module.__name__]())
