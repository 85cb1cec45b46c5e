"""The derivative of one element does not depend on the other elements of its array, however extreme."""

from __future__ import annotations

import numpy as np
import pytest

import arraytape as xp
from arraytape.special._statement import STATEMENTS
from special.points import arguments, differentiable

pytestmark = [pytest.mark.timeout(120), pytest.mark.filterwarnings("ignore::RuntimeWarning")]
EXTREMES = (0.0, 1e-300, 1e-8, -1.0, 1e8, 1e300, np.inf, np.nan)
MODERATE = (0.0, 1e-300, 1e-8, -1.0, 100.0)
# SciPy's function aborts, does not return or runs out of memory at one of the extremes.
NOT_SCIPYS = (
    "_binom_", "_ncf_", "_nct_", "hyp1f1", "mathieu_", "ncfdtr", "pbdv_", "pbvv_",
)  # fmt: skip
ABORTING = (
    "_nct_pdf",
    "obl_",
    "pro_",
)  # SciPy's function ends the process at one of the moderate, too
SLOW = ("noncentral_beta",)  # seconds at 1e8, for which it sums 240,000 terms
SCIPYS_ERROR = "Error in function"  # Boost's: SciPy refuses all elements for one


def gradients(statement, values, at):
    """Return the gradients of the elementwise function's sum with respect to one operand."""
    x = xp.asarray(values[at])
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = statement.function(*[x if i == at else xp.asarray(v) for i, v in enumerate(values)])
    return np.asarray(tape.gradient(y, x))


@pytest.mark.every(4)
@pytest.mark.parametrize("name", sorted(n for n in STATEMENTS if not n.startswith(ABORTING)))
def test_a_derivative_is_that_of_the_element_alone(name):
    statement = STATEMENTS[name]
    ordinary = arguments(statement, 2)
    extremes = MODERATE if name.startswith(NOT_SCIPYS) else EXTREMES
    extremes = [v for v in extremes if v != 1e8 or not name.startswith(SLOW)]
    with np.errstate(all="ignore"):
        for at in differentiable(statement):
            alone = gradients(statement, ordinary, at)
            for other in range(len(ordinary)):
                if ordinary[other].dtype.kind not in "fc":
                    continue
                values = [np.append(v, np.repeat(v[-1:], len(extremes))) for v in ordinary]
                values[other][2:] = extremes
                try:
                    found = gradients(statement, values, at)[:2]
                except OverflowError as error:
                    assert SCIPYS_ERROR in str(error)  # noqa: PT017
                    continue
                np.testing.assert_allclose(found, alone, rtol=1e-12, err_msg=f"operand {other}")
