"""Optimizers: from gradients to new values of Variables.

    from arraytape import optimizers

``SGD`` and ``Adam`` take a step for each set of gradients; ``LBFGS`` and ``minimize_scipy`` hand a whole
problem to SciPy, which is imported when they are called.  Updates are state and never recorded.
"""

from typing import TYPE_CHECKING

from .._util.errors import missing_from
from .scipy import LBFGS, minimize_scipy
from .steps import SGD, Adam, Optimizer

__all__ = ["LBFGS", "SGD", "Adam", "Optimizer", "minimize_scipy"]


def __dir__() -> list[str]:
    """What is public."""
    return sorted(__all__)


if not TYPE_CHECKING:  # a type checker would take any name for one that is there
    __getattr__ = missing_from(__name__, "optimizers")
