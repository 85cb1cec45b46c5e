"""Special functions of complex data: the derivatives of analytic functions, in the whole plane."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

import arraytape as xp
from arraytape.special._statement import STATEMENTS
from special.references import elementary, error, exponential, gamma, lambert

pytestmark = pytest.mark.timeout(120)
REFERENCES = {}
for chapter in (elementary, error, exponential, gamma, lambert):
    REFERENCES |= chapter.REFERENCES
NAMES = sorted(name for name in REFERENCES if STATEMENTS[name].complex)
# In each quadrant, beside the axes, and where series take the place of recurrences.
POINTS = [0.7 + 0.4j, -1.3 + 0.8j, -0.6 - 1.7j, 1.9 - 0.3j, 0.2 + 3.1j, 4.0 + 6.5j, -5.0 + 5.5j]
FIRST, SECOND = 1e-9, 1e-7


def reference(name, first):
    """The function of its last operand."""
    return lambda z: REFERENCES[name](*first, z)


@pytest.mark.parametrize("name", NAMES)
def test_derivatives_of_complex_data(name):
    statement = STATEMENTS[name]
    first = [1.0 if x in statement.integers else 0.7 for x in statement.op.inputs[:-1]]
    for z in POINTS:
        x = xp.asarray(z)
        with xp.GradientTape() as outer:
            outer.watch(x)
            with xp.GradientTape() as tape:
                tape.watch(x)
                y = statement.function(*first, x)
            slope = tape.gradient(y, x)
        curvature = outer.gradient(slope, x)
        with mp.workdps(50):
            expected = [complex(mp.diff(reference(name, first), mp.mpc(z), k)) for k in (1, 2)]
        size = abs(complex(y)) * 1e-6
        # Gradients descend: they are conjugates of derivatives.
        found = np.conj([complex(slope), complex(curvature)])
        assert found[0] == pytest.approx(expected[0], rel=FIRST, abs=FIRST * size), z
        assert found[1] == pytest.approx(expected[1], rel=SECOND, abs=SECOND * size), z
