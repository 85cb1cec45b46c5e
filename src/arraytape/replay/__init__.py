"""Trace a function once, replay it as a straight program of NumPy calls: ``xp.function``.

Everything that the function does with Arrays, tapes and their backward passes included, is recorded as
calls of NumPy's functions on raw data.  Lazy calls run only these calls.

>>> import arraytape as xp
>>> @xp.replay.function
... def step(w, x):
...     with xp.GradientTape() as tape:
...         tape.watch(w)
...         loss = xp.sum((w * x) ** 2)
...     return loss, tape.gradient(loss, w)
>>> w, x = xp.asarray(3.0), xp.asarray([1.0, 2.0])
>>> for _ in range(4):
...     loss, gradient = step(w, x)
>>> print(loss, gradient)
45.0 30.0
"""

from .callback import callback
from .function import function

__all__ = ["callback", "function"]


def __dir__() -> list[str]:
    """Return the public names."""
    return __all__
