"""Backends to run tests of array API code on: other libraries, and arraytape at its strictest.

>>> import numpy as np
>>> from arraytape.testing import xp_backends
>>> for name in ("numpy", "hostile"):
...     with xp_backends.on(name) as xp:
...         print(name, np.asarray(xp.cumulative_sum(xp.asarray([1.0, 2.0]))))
numpy [1. 3.]
hostile [1. 3.]

With ``xp_backends = "all"`` among pytest's settings, every test that takes ``xp`` runs on all of them:
docs/howto/testing_your_library.md.

numpy : NumPy, as array-api-compat shows it.
array_api_strict : the standard and nothing else.  It is another package.
arraytape : arraytape, with no tape open.
taped : arraytape on an open tape that watches every floating-point array which ``xp`` makes.
hostile : arraytape on data that no other library can read, as on another device.
frozen : like hostile, on data that cannot be written to, as JAX's.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from .._array.array import namespace
from .._util.errors import entrance, short_repr, user_line
from . import storages
from ._watching import watching

__all__ = ["available", "on"]

NAMES = ("numpy", "array_api_strict", "arraytape", "taped", "hostile", "frozen")
STRICT = "array_api_strict"


def __dir__() -> list[str]:
    return sorted(__all__)


@entrance
def available() -> list[str]:
    """List the backends that can run here.

    Returns
    -------
    list of str
        All of them, without array_api_strict where that is not installed.

    Examples
    --------
    >>> from arraytape.testing import xp_backends
    >>> "taped" in xp_backends.available()
    True
    """
    return [name for name in NAMES if name != STRICT or find_spec(STRICT)]


@entrance
def on(name: str) -> AbstractContextManager[Any]:
    """Open a block with a namespace that makes arrays of a backend.

    Parameters
    ----------
    name : str
        "numpy", "array_api_strict", "arraytape", "taped", "hostile" or "frozen".

    Returns
    -------
    context manager
        Gives the namespace: arraytape itself for all but the first two.

    Raises
    ------
    ValueError
        When there is no such backend.
    ImportError
        When array_api_strict is not installed.

    Notes
    -----
    On "taped", the functions of arraytape that make arrays are replaced until the last block ends: the
    tape watches their results in the thread or asyncio task of the block alone.

    Examples
    --------
    >>> from arraytape.testing import xp_backends
    >>> with xp_backends.on("frozen") as xp:
    ...     x = xp.ones(2)
    >>> x.device
    'frozen:0'
    """
    if name not in NAMES:
        known = ", ".join(map(repr, NAMES))
        raise ValueError(
            f"xp_backends.on: there is no backend {short_repr(name)}, but {known} [at {user_line()}]"
        )
    if name == STRICT and not find_spec(STRICT):
        raise ImportError(
            "xp_backends.on: array-api-strict is not installed: pip install array-api-strict "
            f"[at {user_line()}]"
        )
    return BLOCKS[name]()


@contextmanager
def numpy() -> Iterator[Any]:
    """Give NumPy as array-api-compat wraps it, which SciPy's tests use."""
    from array_api_compat import array_namespace

    yield array_namespace(np.empty(0))


@contextmanager
def array_api_strict() -> Iterator[Any]:
    yield import_module(STRICT)


@contextmanager
def arraytape() -> Iterator[Any]:
    yield namespace()


@contextmanager
def taped() -> Iterator[Any]:
    """Give arraytape on an open tape; check a gradient of the tape when the block ends."""
    xp: Any = namespace()
    with watching() as tape:
        x = xp.asarray(3.0)
        yield xp
        y = x * x
    slope = tape.gradient(y, x)
    if slope is None or float(slope) != 6.0:
        raise AssertionError(f"the open tape has a wrong gradient of x * x at 3: {slope}")


@contextmanager
def hostile() -> Iterator[Any]:
    with storages.on(storages.hostile()):
        yield namespace()


@contextmanager
def frozen() -> Iterator[Any]:
    with storages.on(storages.frozen()):
        yield namespace()


BLOCKS = dict(zip(NAMES, (numpy, array_api_strict, arraytape, taped, hostile, frozen), strict=True))
