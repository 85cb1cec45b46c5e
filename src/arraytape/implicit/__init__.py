"""Derivatives of solutions of roots, minima, fixed points and linear systems: ``xp.implicit``.

Derivatives come from the equation that the result solves, by the implicit function theorem, and not
from the solver's steps.  So any solver can be used, also a compiled one, and no step is recorded.
``odeint`` differentiates the steps that SciPy's solvers of differential equations take.

>>> import numpy as np
>>> import arraytape as xp
>>> def solve(x0, a):
...     return np.cbrt(a)
>>> def cube_root(a):
...     return xp.implicit.root(lambda x, a: x**3 - a, xp.asarray(1.0), a, solver=solve)
>>> print(xp.grad(cube_root)(xp.asarray(8.0)))  # 1 / (3 * x**2)
0.08333333333333333
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from .._util.errors import missing_from
from ._checks import NotASolution
from ._functions import (
    as_given,
    custom_fixed_point,
    custom_minimum,
    custom_root,
    fixed_point,
    linear_solve,
    minimum,
    root,
)
from .ode import odeint

if TYPE_CHECKING:
    from . import scipy

__all__ = [
    "NotASolution", "as_given", "custom_fixed_point", "custom_minimum", "custom_root", "fixed_point",
    "linear_solve", "minimum", "odeint", "root", "scipy",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)


if not TYPE_CHECKING:  # type checkers would accept every name that __getattr__ could serve
    _missing = missing_from(__name__, "implicit")

    def __getattr__(name):
        return import_module(".scipy", __name__) if name == "scipy" else _missing(name)
