"""``xp.function``, which replaces calls of a function by a program: a fixed sequence of NumPy calls.

The first calls of the function are traced: all computations with Arrays, backward passes of tapes
included, are recorded as calls of NumPy's functions on raw data.  Later calls replay only the program.

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
