"""The public functions of interop, which activate the rules for SciPy and scikit-learn."""

from __future__ import annotations

from contextlib import AbstractContextManager

from . import _statements
from ._context import EVERYWHERE, entered


def scipy() -> AbstractContextManager[None]:
    """Return a context in which SciPy's compiled functions are recorded when they get Arrays.

        with interop.scipy():
            x = scipy.linalg.solve(a, b, assume_a="pos")

    Returns
    -------
    AbstractContextManager
        The rules act in this thread or asyncio task until the context ends; contexts nest.  A thread
        that is started in the context is not in it: enter another context in that thread, or use
        ``install``.

    Notes
    -----
    With NumPy data alone SciPy's functions do what they do without a context, on the same objects.
    The replacements stay in SciPy when the context ends, and then run SciPy's own code.

    docs/howto/interop.md lists the functions.

    Examples
    --------
    >>> import arraytape as xp
    >>> from scipy import ndimage
    >>> x = xp.asarray([0.0, 0.0, 1.0, 0.0])
    >>> with xp.interop.scipy():
    ...     y = ndimage.gaussian_filter1d(x, 1.0)
    ...     gradient = xp.grad(lambda x: xp.sum(ndimage.gaussian_filter1d(x, 1.0) ** 2))(x)
    >>> print(y)
    [0.05842299 0.24223911 0.40337533 0.29596257]
    >>> print(gradient)
    [0.2681903  0.46001719 0.62479707 0.64699544]
    """
    _statements.install("dispatched")
    _statements.install("scipy")
    return entered(["scipy"])


def sklearn() -> AbstractContextManager[None]:
    """Return a context that records scikit-learn's and SciPy's compiled functions on Arrays.

    Returns
    -------
    AbstractContextManager
        The rules for scikit-learn and SciPy act in this thread or asyncio task until the context ends.

    Examples
    --------
    >>> import arraytape as xp
    >>> from sklearn.linear_model import Ridge
    >>> X, y = xp.asarray([[0.0], [1.0], [2.0]]), xp.asarray([0.0, 1.0, 3.0])
    >>> def prediction(y):
    ...     return Ridge(alpha=1.0).fit(X, y).predict(xp.asarray([[3.0]]))[0]
    >>> with xp.interop.sklearn():
    ...     print(prediction(y))
    ...     print(xp.grad(prediction)(y))  # what each label does to the prediction
    3.333333333333333
    [-0.33333333  0.33333333  1.        ]
    """
    for library in ("dispatched", "scipy", "sklearn"):
        _statements.install(library)
    return entered(["scipy", "sklearn"])


def install() -> None:
    """Activate the rules for SciPy and scikit-learn in all threads, to the end of the process.

    Notes
    -----
    The rules act at once, in threads that run already and in open contexts, too.  A second call changes
    nothing, and no call undoes the first.

    Examples
    --------
    >>> import numpy as np
    >>> import arraytape as xp
    >>> from sklearn.linear_model import Ridge
    >>> xp.interop.install()
    >>> X, y = xp.asarray([[0.0], [1.0], [2.0]]), xp.asarray([0.0, 1.0, 3.0])
    >>> def slope(y):
    ...     return xp.asarray(Ridge(alpha=1.0).fit(X, y).coef_[0])
    >>> print(xp.grad(slope)(y))
    [-0.33333333 -0.          0.33333333]
    """
    for library in ("dispatched", "scipy", "sklearn"):
        _statements.install(library)
        EVERYWHERE.add(library)
