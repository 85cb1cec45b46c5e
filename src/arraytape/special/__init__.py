"""Differentiable special functions under the names of scipy.special, as ``xp.special``.

Libraries for the array API, such as SciPy and scikit-learn, look for special functions in
``xp.special``.  A call of SciPy's own ufunc on Arrays runs the function of the same name in this
package.  The values are SciPy's bit for bit (on CUDA devices CuPy's).  Derivatives consist of recorded
ops, so nearly all have derivatives of all orders.

>>> import arraytape as xp
>>> print(xp.special.erf(xp.asarray([0.0, 1.0])))
[0.         0.84270079]
>>> print(xp.grad(xp.special.gammaln)(xp.asarray(3.0)))  # digamma(3)
0.9227843350984671
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from .._define.docstrings import append_example
from .._define.examples import examples_of
from .._storage.special import of_scipy
from .._util.errors import entrance, unknown_name
from ._statement import STATEMENTS, helper_texts

# Modules that define the special functions.  The last four define no function: they have kernels for
# functions of SciPy that CuPy lacks.
CHAPTERS = (
    "_gamma", "_elementary", "_error", "_exponential", "_lambert", "_logsumexp", "_bessel",
    "_bessel_scaled", "_bessel_integrals", "_airy", "_elliptic", "_hypergeometric", "_polynomials",
    "_parabolic", "_mathieu", "_incomplete", "_student", "_cdfs", "_noncentral", "_noncentral_f",
    "_noncentral_t", "_stats", "_counting", "_harmonics", "_substitutes", "_substitute_polynomials",
    "_substitute_cdfs", "_cuda_kernels",
)  # fmt: skip
_chapters = [importlib.import_module(f".{chapter}", __name__) for chapter in CHAPTERS]

OTHER_NAMES = {"psi": "digamma", "jn": "jv"}  # aliases in scipy.special
FUNCTIONS: dict[str, Callable[..., Any]] = {name: s.function for name, s in STATEMENTS.items()}
for _chapter in _chapters:  # functions that consist of stated ops, such as those of several results
    for _name, _function in getattr(_chapter, "FUNCTIONS", {}).items():
        # A function that its module decorated with ``entrance`` is wrapped already.
        _public = _function if hasattr(_function, "__wrapped__") else entrance(_function)
        _public.__module__, FUNCTIONS[_name] = __name__, _public
for _name, _example in examples_of("special").items():
    _function, _statement = FUNCTIONS[_name], STATEMENTS.get(_name)
    _helpers = helper_texts(_statement.op, _function.__doc__) if _statement else ""
    append_example(_function, _example, _helpers)
FUNCTIONS |= {other: FUNCTIONS[name] for other, name in OTHER_NAMES.items()}

# SciPy's private ufuncs can be called, but are not listed.
__all__ = sorted(
    name
    for name in FUNCTIONS
    if name[0] != "_" and (name not in STATEMENTS or STATEMENTS[name].public)
)


def ufuncs() -> dict[np.ufunc, Callable[..., Any]]:
    """Return a dict from SciPy's ufuncs, such as scipy.special.erf, to their functions for Arrays."""
    found = {
        of_scipy(name): function
        for name, function in FUNCTIONS.items()
        if not missing_in_scipy(name)
    }
    return {ufunc: ours for ufunc, ours in found.items() if isinstance(ufunc, np.ufunc)}


def missing_in_scipy(name: str) -> bool:
    """Return True if scipy.special has no function of this name."""
    try:
        of_scipy(name)
    except AttributeError:
        return True
    return False


def __getattr__(name: str) -> Any:
    if name in FUNCTIONS:
        return FUNCTIONS[name]
    message = f"module {__name__!r} has no attribute {name!r}"
    raise unknown_name(message, name, sys.modules[__name__], "special")


def __dir__() -> list[str]:
    return __all__
