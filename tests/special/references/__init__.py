"""What each special function is, by mpmath: the references of values and derivatives.

    REFERENCES["gammaln"] = lambda x: mp.re(mp.loggamma(x))

A module for each chapter.  A reference takes mpmath numbers and is smooth where the statement's
domains lie, so that ``mp.diff`` gives its derivatives.  EDGES has further arguments: tails, corners,
places next to special points; a name at the end of one is the operand by which alone there is a
derivative.  LOOSE has the tolerances of first and second derivatives where SciPy's own values, or the
sum of many terms, do not allow more, and the reason.  BY_DIFFERENCES names what mpmath has not, with
the reason: it is compared with differences.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable

REFERENCES: dict[str, Callable] = {}
EDGES: dict[str, list[tuple[float | str, ...]]] = {}
BY_DIFFERENCES: dict[str, str] = {}
LOOSE: dict[str, tuple[float, float, str]] = {}

for _module in pkgutil.iter_modules(__path__):
    _found = vars(importlib.import_module(f"{__name__}.{_module.name}"))
    REFERENCES |= _found["REFERENCES"]
    EDGES |= _found.get("EDGES", {})
    BY_DIFFERENCES |= _found.get("BY_DIFFERENCES", {})
    LOOSE |= _found.get("LOOSE", {})
