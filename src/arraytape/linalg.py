"""``import arraytape.linalg``: the linalg extension under its public name, which pickles use."""

import sys

from .ops import linalg

sys.modules[__name__] = linalg
