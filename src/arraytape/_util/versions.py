"""The version of the running NumPy, as (major, minor)."""

from __future__ import annotations

import numpy as np

NUMPY = tuple([int(part) for part in np.__version__.split(".")[:2]])
