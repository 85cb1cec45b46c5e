"""Diagnose: what a tape recorded and keeps, where values went, and what flows back.

    from arraytape import diagnose

It is imported on demand, and nothing in the core knows it.
"""

from ._graph import graph
from ._hooks import on_gradient, save_on_disk, saved_data

__all__ = [
    "graph",
    "on_gradient",
    "save_on_disk",
    "saved_data",
]


def __dir__() -> list[str]:
    """What is public."""
    return sorted(__all__)
