"""Functions of SciPy and scikit-learn that run on Arrays, but whose programs hide a part from tapes.

Such a program takes a part from a mask, a clipped value or a branch for a single number: its value is
right, and a derivative of it is not.  These rules act without a context.
"""

from __future__ import annotations

from typing import Any

import arraytape as xp

from ._statements import hooks


@hooks("scipy.special._logsumexp", "logsumexp", dispatched=True)
def logsumexp(a: Any, *args: Any, **keywords: Any) -> Any:
    """SciPy takes the largest terms out of the sum by a mask."""
    return xp.special.logsumexp(a, *args, **keywords)
