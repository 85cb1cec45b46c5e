"""Trace a function once, replay it as a straight program of NumPy calls: ``xp.function``.

    @xp.function
    def step(x, y):
        with xp.GradientTape() as tape: ...
        return loss, tape.gradient(loss, x)

Everything that the function does with Arrays, tapes and their backward passes included, is noted as
calls of NumPy's functions on raw data.  Later calls run these alone.
"""

from .callback import callback
from .function import function

__all__ = ["callback", "function"]


def __dir__() -> list[str]:
    """What is public."""
    return __all__
