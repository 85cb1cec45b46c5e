"""Optimizers, which compute new values of Variables from gradients.

    from arraytape import optimizers

``SGD``, ``Adam`` and others take one step for each set of gradients.  The functions in ``schedules``
compute the size of a step (the learning rate).  ``LBFGS`` and ``minimize_scipy`` solve a whole
minimization problem by SciPy, which is imported at the call.  No tape records updates of Variables.

>>> import arraytape as xp
>>> v, optimizer = xp.Variable([1.0, -2.0]), xp.optimizers.SGD(0.25)
>>> with xp.GradientTape() as tape:
...     loss = xp.sum(v**2)
>>> optimizer.apply_gradients([(tape.gradient(loss, v), v)])
>>> print(v)
[ 0.5 -1. ]
"""

from typing import TYPE_CHECKING

from .._util.errors import missing_from
from . import schedules
from .clipping import clip_by_global_norm, clip_by_norm, clip_by_value, global_norm
from .scipy import LBFGS, minimize_scipy
from .steps import SGD, Adagrad, Adam, AdamW, Lion, Optimizer, RMSprop

__all__ = [
    "LBFGS", "SGD", "Adagrad", "Adam", "AdamW", "Lion", "Optimizer", "RMSprop", "clip_by_global_norm",
    "clip_by_norm", "clip_by_value", "global_norm", "minimize_scipy", "schedules",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)


if not TYPE_CHECKING:  # type checkers would accept every name that __getattr__ could serve
    __getattr__ = missing_from(__name__, "optimizers")
