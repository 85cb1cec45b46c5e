"""The page of distributions: the derivatives of the methods of scipy.stats' distributions.

Each method is compared with central differences of SciPy's own values, for three choices of the shape
parameters, at quantiles in the middle and in both tails.  logpdf is also compared to second order.
"""

from __future__ import annotations

import warnings
from collections import Counter

import numpy
import scipy

import pages
from helpers import distributions as table

MARKS = {table.RIGHT: "yes", table.LOUD: "refused"}
HEAD = f"""# scipy.stats' distributions

{pages.mark("distributions")}

Inside `with arraytape.interop.scipy():` the methods of SciPy's distributions accept Arrays. The values
are SciPy's. The derivatives are with respect to the point, every shape parameter, `loc` and `scale`.

```python
import arraytape as xp
from arraytape import interop
from scipy import stats

data = xp.asarray([0.6, 1.9, 1.1, 2.4])
with interop.scipy():
    slopes = xp.grad(lambda a, s: xp.sum(stats.gamma.logpdf(data, a, scale=s)), (0, 1))(
        xp.asarray(2.0), xp.asarray(0.8)
    )
```

In the table, "yes" means that each derivative agrees with central differences of SciPy's values, at
three choices of the shape parameters, in the middle and in both tails. Points at which such
differences are not exact enough are left out. "refused" means that a gradient with respect to some
argument raises an error, which names the argument. Parameters that are whole numbers have no
derivative, and discrete distributions have none with respect to k. SciPy integrates gausshyper,
genhyperbolic, geninvgauss, levy_stable, norminvgauss and studentized_range, which takes seconds for
a value. They were compared at one point, in the middle.
"""


# Distributions that SciPy computes by integration or root finding.  A value takes seconds, so that
# they are checked at one point only.
SLOW = {
    "gausshyper", "genhyperbolic", "geninvgauss", "levy_stable", "norminvgauss", "studentized_range",
}  # fmt: skip


def status(name: str, method: str) -> tuple[str, list[str]]:
    """Return the cell of the table for a method, and descriptions of wrong derivatives."""
    if name in SLOW:
        found = [table.check(name, method, table.distributions()[name], 0.3)]
    else:
        found = [
            point
            for shapes in table.parameter_points(name)
            for point in table.points(name, method, shapes, tails=True)
        ]
    by = [(f"{p.shapes} {p.place:.6g} by {x}", what) for p in found for x, what in p.by.items()]
    wrong = [f"{where}: {what}" for where, what in by if what.startswith(table.WRONG)]
    refused = any(what.startswith(table.LOUD) for _, what in by)
    return "WRONG" if wrong else MARKS[table.LOUD if refused else table.RIGHT], wrong


def second_order(name: str) -> tuple[str, list[str]]:
    """Return the cell of the table for logpdf's second derivatives, and descriptions of wrong ones."""
    found = [table.curvature(name, shapes, 0.3) for shapes in table.parameter_points(name)]
    wrong = [what for what in found if what.startswith(table.WRONG)]
    refused = any(what.startswith(table.LOUD) for what in found)
    return "WRONG" if wrong else MARKS[table.LOUD if refused else table.RIGHT], wrong


def page(_: str) -> str:
    warnings.simplefilter("ignore")
    rows, totals, faults = [], {method: Counter() for method in (*table.METHODS, "2nd")}, []
    for name in sorted(table.distributions()):
        entries = [status(name, method) for method in table.METHODS] + [second_order(name)]
        for method, (mark, wrong) in zip(totals, entries, strict=True):
            totals[method][mark] += 1
            faults += [f"{name}.{method} {what}" for what in wrong]
        rows.append(pages.row([name, *(mark for mark, _ in entries)]))
        print(rows[-1], flush=True)
    names = [*table.METHODS, "logpdf, 2nd order"]
    count = len(table.distributions())
    lines = [HEAD, f"Made with SciPy {scipy.__version__}, NumPy {numpy.__version__}.", ""]
    sums = [
        [f"**{what}**", *(str(c[mark]) for c in totals.values())]
        for what, mark in (("right", "yes"), ("refused", "refused"))
    ]
    lines.append(pages.table([f"{count} distributions", *names], sums))
    print(*faults, sep="\n")
    return "\n".join([*lines, *rows, ""])
