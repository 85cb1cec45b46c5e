"""Interop: recorded rules for compiled functions of SciPy and scikit-learn.

    from arraytape import interop

``import arraytape`` does not import this package; the first use of ``xp.interop`` does.

>>> import arraytape as xp
>>> from sklearn.linear_model import Ridge
>>> X, y = xp.asarray([[0.0], [1.0], [2.0]]), xp.asarray([0.0, 1.0, 3.0])
>>> with xp.interop.sklearn():
...     print(xp.grad(lambda y: Ridge().fit(X, y).predict(X)[0])(y))
[ 0.66666667  0.33333333 -0.        ]
"""

from typing import TYPE_CHECKING

from .._util.errors import missing_from
from ._libraries import install, scipy, sklearn

__all__ = ["install", "scipy", "sklearn"]


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)


if not TYPE_CHECKING:  # else a type checker would accept any name
    __getattr__ = missing_from(__name__, "interop")
