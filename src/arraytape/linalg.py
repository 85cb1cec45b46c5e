"""The module ``ops.linalg`` under its public name, for ``import arraytape.linalg`` and for pickles."""

import sys

from .ops import linalg

sys.modules[__name__] = linalg
