"""Diagnostics of tapes and gradients: explanations, pictures, and hooks into the backward pass.

    from arraytape import diagnose

``explain`` returns one paragraph on why a gradient is None, zero or NaN.  ``lines`` notes the source
line of each op, so that ``explain`` can name the line.  ``nans`` finds the op that made the first NaN
or infinity.  ``check_indices`` finds indices out of range on a GPU.  ``graph`` draws what a tape
recorded.  ``on_gradient``, ``saved_data`` and ``save_on_disk`` are hooks into the backward pass.

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
from .index_checks import check_indices
from .line_recorder import lines

__all__ = [
    "NonFiniteError",
    "check_indices",
    "explain",
    "graph",
    "lines",
    "nans",
    "on_gradient",
    "save_on_disk",
    "saved_data",
]

# Pickles of older versions refer to ``NonFiniteError`` in ``arraytape.diagnose.numerics``.
sys.modules[f"{__name__}.numerics"] = sys.modules[nans.__module__]


def __dir__() -> list[str]:
    return sorted(__all__)


if not TYPE_CHECKING:  # for a type checker, a ``__getattr__`` would define any name
    __getattr__ = missing_from(__name__, "diagnose")
