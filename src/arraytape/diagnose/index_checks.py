"""Checks of indices on devices that raise no error for an index out of range."""

from __future__ import annotations

from contextlib import AbstractContextManager

from .._storage.storage import CHECKED_INDICES
from .._util.blocks import Setting


def check_indices() -> AbstractContextManager[None]:
    """Return a block in which an index out of range raises IndexError on a GPU, too.

        with check_indices():
            loss(x)

    CuPy wraps such an index around, without an error.  In the block, each index array is compared with
    the shape, for which the host waits for the device.  It is meant for debugging.  NumPy always raises
    the error.

    Returns
    -------
    context manager
        For a ``with`` statement, or as a decorator.

    Notes
    -----
    In the block, functions under ``xp.function`` run without a replay.  Labels of losses, and numbers
    of an ``Embedding``, raise ValueError, as on the CPU.  Under ``vmap`` over labels, the losses of
    wrong labels are NaN.  For singular matrices, CuPy's ``cupyx.errstate(linalg="raise")`` raises
    LinAlgError.

    Examples
    --------
    >>> import arraytape as xp
    >>> x = xp.asarray([1.0, 2.0])
    >>> with xp.diagnose.check_indices():
    ...     print(x[xp.asarray([1, 0])])
    [2. 1.]
    """
    return Setting(CHECKED_INDICES, True)
