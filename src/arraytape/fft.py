"""The module ``ops.fft`` under its public name, for ``import arraytape.fft`` and for pickles."""

import sys

from .ops import fft

sys.modules[__name__] = fft
