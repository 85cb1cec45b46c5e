"""The functions of scipy.linalg: SciPy computes the values, the rules are ours."""

from __future__ import annotations

from typing import Any

import scipy.linalg

from ..ops import _factorisations as rules
from ._ops import library_op
from ._statements import hooks

inv_op = library_op(
    "scipy.linalg.inv",
    lambda a, check_finite=True: scipy.linalg.inv(a, check_finite=check_finite),
    lambda g, y, xp: rules.inv(g, y, xp),
    cores=(2,),
)


@hooks("scipy.linalg", "inv")
def inv(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    return inv_op(a, check_finite=check_finite)
