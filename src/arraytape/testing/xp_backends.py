"""Backends for tests of array API code: other libraries, and arraytape with strict kinds of data.

>>> import numpy as np
>>> from arraytape.testing import xp_backends
>>> for name in ("numpy", "hostile"):
...     with xp_backends.on(name) as xp:
...         print(name, np.asarray(xp.cumulative_sum(xp.asarray([1.0, 2.0]))))
numpy [1. 3.]
hostile [1. 3.]

With ``xp_backends = "all"`` among pytest's settings, every test with the fixture ``xp`` runs on all
backends: docs/howto/testing_your_library.md.

numpy : NumPy, wrapped by array-api-compat.
array_api_strict : the package array-api-strict, which has the standard's functions and nothing else.
arraytape : arraytape, with no tape open.
standard : arraytape's functions under the names of the standard alone: ``arraytape.standard``.
taped : arraytape on an open tape that watches every floating-point array which ``xp`` makes.
hostile : arraytape on data that no other library can read, as if it were on another device.
frozen : like hostile, on data that cannot be written to, as JAX's arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from .. import standard
from .._array.array import PUBLIC, namespace
from .._util.errors import entrance, short_repr, user_line
from . import storages
from ._watching import watching

__all__ = ["available", "on"]

NAMES = ("numpy", "array_api_strict", "arraytape", "standard", "taped", "hostile", "frozen")
STRICT = "array_api_strict"


def __dir__() -> list[str]:
    return sorted(__all__)


@entrance
def available() -> list[str]:
    """List the backends that can run here.

    Returns
    -------
    list of str
        The names of all backends, without array_api_strict if that package is not installed.

    Examples
    --------
    >>> from arraytape.testing import xp_backends
    >>> "taped" in xp_backends.available()
    True
    """
    return [name for name in NAMES if name != STRICT or find_spec(STRICT)]


@entrance
def on(name: str) -> AbstractContextManager[Any]:
    """Open a block with the namespace of a backend.

    Parameters
    ----------
    name : str
        "numpy", "array_api_strict", "arraytape", "standard", "taped", "hostile" or "frozen".

    Returns
    -------
    context manager
        Its value is the namespace: arraytape itself, except for the first two names and "standard".

    Raises
    ------
    ValueError
        When there is no such backend.
    ImportError
        When array_api_strict is not installed.

    Notes
    -----
    In a block of "taped", wrappers replace the functions of arraytape that create arrays.  The tape
    watches only arrays that the thread or asyncio task of its block creates.

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
            f"xp_backends.on: choose one of {known}: there is no backend {short_repr(name)} "
            f"[at {user_line()}]"
        )
    if name == STRICT and not find_spec(STRICT):
        raise ImportError(
            "xp_backends.on: pip install array-api-strict, which is not installed "
            f"[at {user_line()}]"
        )
    return backend_block(name)


@contextmanager
def backend_block(name: str) -> Iterator[Any]:
    """Yield the namespace of the backend ``name``, with the tape or default device that it needs."""
    if name == "numpy":
        from array_api_compat import array_namespace  # the wrapper of NumPy that SciPy's tests use

        yield array_namespace(np.empty(0))
    elif name == STRICT:
        yield import_module(STRICT)
    elif name == "standard":
        with standard_names():
            yield standard
    elif name == "taped":
        with taped() as xp:
            yield xp
    elif name in ("hostile", "frozen"):
        with storages.on(getattr(storages, name)()):
            yield namespace()
    else:
        yield namespace()


@contextmanager
def standard_names() -> Iterator[None]:
    """Open a block in which ``x.__array_namespace__()`` is ``arraytape.standard``, in all threads.

    Code under test then finds only the functions of the array API standard.
    """
    PUBLIC.append(standard)
    try:
        yield
    finally:
        PUBLIC.remove(standard)


@contextmanager
def taped() -> Iterator[Any]:
    """Yield arraytape while a tape watches each new array; at the end check a gradient.

    The check fails if code in the block disturbed the tape.
    """
    xp: Any = namespace()
    with watching() as tape:
        x = xp.asarray(3.0)
        yield xp
        y = x * x
    slope = tape.gradient(y, x)
    if slope is None or float(slope) != 6.0:
        raise AssertionError(f"the open tape has a wrong gradient of x * x at 3: {slope}")
