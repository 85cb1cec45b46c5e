"""The contexts in which the rules for a library act."""

from __future__ import annotations

from contextlib import AbstractContextManager

from . import _statements
from ._context import EVERYWHERE, entered


def scipy() -> AbstractContextManager[None]:
    """A context in which SciPy's compiled functions are recorded when they get Arrays.

        with interop.scipy():
            x = scipy.linalg.solve(a, b, assume_a="pos")

    Returns
    -------
    AbstractContextManager
        Active in this thread or asyncio task between enter and exit, also when it ends by an
        exception; contexts nest.  A thread that is started inside is outside: enter in it, or use
        ``install``.

    Notes
    -----
    With NumPy data alone SciPy's functions do what they do without, on the same objects.  What was
    put in place stays in place when the context ends, and does nothing there.

    docs/interop.md lists the functions.
    """
    _statements.install("scipy")
    return entered(["scipy"])


def sklearn() -> AbstractContextManager[None]:
    """A context in which scikit-learn's compiled functions, and SciPy's, are recorded on Arrays.

    Returns
    -------
    AbstractContextManager
        As that of ``scipy``, which it includes.
    """
    _statements.install("scipy")
    _statements.install("sklearn")
    return entered(["scipy", "sklearn"])


def install() -> None:
    """Have what ``sklearn`` does hold in all threads, to the end of the process.

    Notes
    -----
    It acts at once, in threads that run already and in contexts that are open, too; calling it again
    changes nothing.  It cannot be taken back.
    """
    for library in ("scipy", "sklearn"):
        _statements.install(library)
        EVERYWHERE.add(library)
