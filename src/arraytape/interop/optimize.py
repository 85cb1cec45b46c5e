"""scipy.optimize's solvers, and ``solve_ivp``: where a derivative is wanted, those of ``implicit``.

They have SciPy's signatures and values.  A solver is theirs where its ``args`` (the data of
``curve_fit``) hold Arrays that a tape follows or ``vmap`` maps; ``solve_ivp`` also where its function
uses such Arrays from outside.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from operator import attrgetter
from typing import Any

from .. import implicit
from ._statements import hooks, original
from ._wanted import is_librarys, is_wanted, used

Function = Callable[..., Any]

# By function, its module, its argument that is a function, and those by which its answer is
# differentiated.
SOLVERS = {
    "root": ("scipy.optimize._root", "fun", ("args",)),
    "minimize": ("scipy.optimize._minimize", "fun", ("args",)),
    "least_squares": ("scipy.optimize._lsq.least_squares", "fun", ("args", "kwargs")),
    "brentq": ("scipy.optimize._zeros_py", "f", ("args",)),
    "curve_fit": ("scipy.optimize._minpack_py", "f", ("xdata", "ydata", "sigma")),
}


def solver(module: str, name: str, f: str, by: tuple[str, ...], ours: str) -> None:
    """A function of SciPy's is that of ``implicit`` where a derivative may be wanted.

    f : its argument that is a function.  by : those by which it is differentiated.
    """

    @hooks(module, name, always=True)
    def solve(*args: Any, **keywords: Any) -> Any:
        theirs = original(module, name)
        given = inspect.signature(theirs).bind(*args, **keywords).arguments
        values = [given.get(key) for key in by] + used(given[f])
        if is_librarys(given[f]) or not is_wanted(values):
            return theirs(*args, **keywords)
        others = {key: x for name in by_keywords(theirs) for key, x in given.pop(name, {}).items()}
        if given.get("args", ()) is None:
            given["args"] = ()
        return attrgetter(ours)(implicit)(given.pop(f), **given, **others)


def by_keywords(function: Function) -> list[str]:
    """The names of the parameters that take all other keywords."""
    parameters = inspect.signature(function).parameters.values()
    return [p.name for p in parameters if p.kind is inspect.Parameter.VAR_KEYWORD]


for _name, (_module, _f, _by) in SOLVERS.items():
    solver(_module, _name, _f, _by, f"scipy.{_name}")
solver("scipy.integrate._ivp.ivp", "solve_ivp", "fun", ("args", "y0", "t_span", "t_eval"), "odeint")
