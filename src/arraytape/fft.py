"""``import arraytape.fft``: the fft extension under its public name, which pickles use."""

import sys

from .ops import fft

sys.modules[__name__] = fft
