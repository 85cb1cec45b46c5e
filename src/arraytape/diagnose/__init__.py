"""Diagnostics: what a tape recorded and keeps, why a gradient is None, zero or NaN, what flows back.

    from arraytape import diagnose

``explain`` says in one paragraph why a gradient is what it is; ``lines`` notes all ops of a program with
their lines for it; ``nans`` finds the op that made a NaN or an infinity; ``graph`` draws what a tape
recorded; ``on_gradient``, ``saved_data`` and ``save_on_disk`` are hooks into the backward pass.

>>> import arraytape as xp
>>> x = xp.asarray([1.5, 2.5])
>>> with xp.GradientTape() as tape:
...     tape.watch(x)
...     y = xp.where(x > 9.0, xp.exp(x), 0.0)
>>> said = xp.diagnose.explain(tape, y, x)
>>> print(said.partition(":")[0])
The gradient is zero
"""

import sys
from typing import TYPE_CHECKING

from .._tape.numerics import NonFiniteError
from .._util.errors import missing_from
from .drawing import graph
from .explanation import explain
from .first_nan import nans
from .hooks import on_gradient, save_on_disk, saved_data
from .line_recorder import lines

__all__ = [
    "NonFiniteError",
    "explain",
    "graph",
    "lines",
    "nans",
    "on_gradient",
    "save_on_disk",
    "saved_data",
]

sys.modules[f"{__name__}.numerics"] = sys.modules[
    nans.__module__
]  # where older pickles look for it


def __dir__() -> list[str]:
    """List what is public."""
    return sorted(__all__)


if not TYPE_CHECKING:  # a type checker would take any name for one that is there
    __getattr__ = missing_from(__name__, "diagnose")
