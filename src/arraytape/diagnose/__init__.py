"""Diagnose: what a tape recorded and keeps, where values went, and what flows back.

    from arraytape import diagnose

It is imported on demand, and nothing in the core knows it.
"""

from ._graph import graph

__all__ = [
    "graph",
]


def __dir__() -> list[str]:
    """What is public."""
    return sorted(__all__)
