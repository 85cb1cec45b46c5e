"""Derivatives beside and on the branch cuts of complex functions: those of the side that x is on."""

import numpy as np
import pytest

import arraytape as xp

NAMES = "acos", "acosh", "asin", "asinh", "atan", "atanh", "log", "log10", "log1p", "log2", "sqrt"
PARTS = [2.5, 0.0, -0.0, -2.5, 0.7, -1.3]
POINTS = [complex(a, b) for a in PARTS for b in PARTS if a or b]
STEP = 1e-6


def slope(f, z):
    """The derivative by a central difference along an axis, on the side of the cut that z is on."""
    step = STEP if not z.imag else STEP * 1j
    ahead = complex(z.real + STEP, z.imag) if not z.imag else complex(z.real, z.imag + STEP)
    behind = complex(z.real - STEP, z.imag) if not z.imag else complex(z.real, z.imag - STEP)
    return (f(np.asarray(ahead)) - f(np.asarray(behind))) / (2 * step)


@pytest.mark.parametrize("name", NAMES)
def test_the_derivative_is_that_of_the_side_of_the_cut(name):
    x = xp.asarray(np.asarray(POINTS))
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = getattr(xp, name)(x)
    found = np.conj(np.asarray(tape.gradient(y, x)))
    expected = [slope(getattr(np, name), z) for z in POINTS]
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", NAMES)
def test_forward_mode_is_the_transpose_there(name):
    x, rng, n = xp.asarray(np.asarray(POINTS)), np.random.default_rng(0), len(POINTS)
    g, t = (xp.asarray(rng.normal(size=n) + 1j * rng.normal(size=n)) for _ in range(2))
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = getattr(xp, name)(x)
    pulled = np.asarray(tape.gradient(y, x, output_gradients=g))
    with xp.ForwardAccumulator(x, t) as accumulator:
        y = getattr(xp, name)(x)
    pushed = np.asarray(accumulator.jvp(y))
    np.testing.assert_allclose(
        np.vdot(np.asarray(g), pushed).real, np.vdot(pulled, np.asarray(t)).real, rtol=1e-11
    )
