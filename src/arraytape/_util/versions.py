"""Which NumPy runs, for what differs from one of its versions to the next."""

from __future__ import annotations

import numpy as np

NUMPY = tuple([int(part) for part in np.__version__.split(".")[:2]])
