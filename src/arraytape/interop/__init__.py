"""Interop: recorded rules for compiled functions of SciPy and scikit-learn.

    from arraytape import interop

It is imported on demand, and nothing in the core knows it.
"""

from typing import TYPE_CHECKING

from .._util.errors import missing_from
from ._libraries import install, scipy, sklearn

__all__ = ["install", "scipy", "sklearn"]


def __dir__() -> list[str]:
    """What is public."""
    return sorted(__all__)


if not TYPE_CHECKING:  # a type checker would take any name for one that is there
    __getattr__ = missing_from(__name__, "interop")
