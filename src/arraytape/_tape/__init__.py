"""The tape: recording, the backward pass and its guard, Jacobians, forward mode."""

from importlib import import_module
from types import ModuleType

from .._util.imports import when_imported


def _take_dispatched(_: ModuleType) -> None:
    """Give functions of SciPy that run on Arrays, but hide a part from tapes, their rules of interop."""
    import_module("arraytape.interop._statements").install("dispatched")


when_imported("scipy._lib._array_api", _take_dispatched)
