"""The rule for a search of scipy.optimize that takes Arrays, but only compares them; see dispatched."""

from typing import Any

from ._statements import hooks

MODULE = "scipy.optimize._optimize"


@hooks(MODULE, "golden", always=True, dispatched=True)
def golden(*args: Any, **keywords: Any) -> Any:
    """Give the minimum that SciPy's ``golden`` finds the derivatives of a minimum.

    SciPy only compares the function's values.  So the recorded minimum would depend on the bracket, and
    not on the Arrays that the function uses.
    """
    from .optimize import solve_scalar  # not at the top: it imports SciPy's solvers

    return solve_scalar(MODULE, "golden", "func", args, keywords)
