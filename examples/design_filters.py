"""Design filters by gradient.

scipy.signal has no function for them, but the derivatives of its freqz suffice.

    python examples/design_filters.py --out design_filters.png

scipy.signal.remez finds the filter of 41 taps with the smallest maximal error over all frequencies, but
only for linear phase, which delays each tone by 20 samples. Here a smooth approximation of the maximal
error is computed with `scipy.signal.freqz`, which has derivatives inside `arraytape.interop.scipy()`.
SciPy's `trust-exact` minimises it by Newton steps with the exact Hessian. With linear phase the result
is remez's optimum, which is known to be the best. Then the delay is changed to 14 samples with the same
number of taps, which remez cannot do. The error grows by a seventh.

The second problem is to approximate a curve of a standard, the A-weighting of sound level meters, by
three second-order sections. scipy.signal.bilinear_zpk converts the analogue filter to such sections, and
is 15.8 dB too low at 20 kHz, because it warps frequencies. scipy.optimize.least_squares changes the 15
coefficients with the Jacobian through `freqz_sos`, and the same three sections follow the curve to
0.06 dB.

Source of the curve: IEC 61672-1, annex E.
"""

import os
import sys

os.environ["SCIPY_ARRAY_API"] = "1"  # SciPy must find it set when imported

import matplotlib

matplotlib.use("Agg")  # draws into files, and needs no screen

import matplotlib.pyplot as plt
import numpy as np
from command_line import integer, parser_with_out, verdict
from scipy import signal
from scipy.optimize import least_squares, minimize
from scipy.special import logsumexp

import arraytape as xp
from arraytape import interop

TAPS, LATE, LESS_LATE = 41, 20, 14  # the number of taps, and two delays in samples
EDGES = 0.2, 0.275  # of the pass band and of the stop band, in units of the Nyquist frequency
GRID = np.pi * np.concatenate([np.linspace(0, EDGES[0], 80), np.linspace(EDGES[1], 1, 290)])
PASSED = (np.pi * EDGES[0] + 1e-9 > GRID).astype(float)
# The sharpness of the smooth approximation of the maximum, in ascending steps.
SHARPNESS = 10.0 ** np.arange(3.0, 6.6, 0.6)
RATE = 48_000.0  # the sampling rate in Hz
HEARD = np.geomspace(10.0, 20_000.0, 200)  # audible frequencies in Hz
POLES = 20.598997, 107.65265, 737.86223, 12194.217  # poles of the A-weighting in Hz
TOLERANCE = 1e-5  # for the largest relative difference between tape and finite differences


# --- Taps ----------------------------------------------------------------------------------------
def squared_errors(taps, late):
    """Return the squared errors of the response at each frequency.

    late: the wanted delay of the pass band in samples; the wanted response of the stop band is 0.
    """
    with interop.scipy():
        response = signal.freqz(taps, 1.0, worN=GRID)[1]
    away = response - PASSED * np.exp(-1j * GRID * late)
    return xp.real(away) ** 2 + xp.imag(away) ** 2


def symmetric(half):
    """Return the symmetric taps of a filter of linear phase from their first half."""
    return xp.concat([half, xp.flip(half)[1:]])


def smooth_maximum(make, late, sharpness):
    def loss(numbers):
        with interop.scipy():
            return logsumexp(sharpness * squared_errors(make(numbers), late))

    return loss


def least_worst(make, start, late, steps):
    """Return the taps with the smallest maximal error.

    make: the function that makes the taps from free numbers. start: the numbers to begin with.
    """
    for sharpness in SHARPNESS:
        loss = smooth_maximum(make, late, sharpness)
        how = {"method": "trust-exact", "options": {"maxiter": steps, "gtol": 1e-4}}
        start = minimize(loss, start, jac=xp.grad(loss), hess=xp.hessian(loss), **how).x
    return np.asarray(make(xp.asarray(start)))


def worst(taps, late):
    return float(xp.sqrt(xp.max(squared_errors(xp.asarray(taps), late))))


# --- Sections ------------------------------------------------------------------------------------
def a_weighting(f):
    """Return the A-weighting of IEC 61672-1 at frequencies f in Hz: in dB, 0 at 1 kHz."""

    def gain(f):
        low, second, third, high = (f**2 + pole**2 for pole in POLES)
        return f**4 / (low * high * np.sqrt(second * third))

    return 20.0 * np.log10(gain(f) / gain(1000.0))


def by_bilinear():
    """Return SciPy's digital filter with the A-weighting's zeros and poles, with 0 dB at 1 kHz."""
    first, second, third, fourth = -2.0 * np.pi * np.array(POLES)
    poles = [first, first, second, third, fourth, fourth]
    sections = signal.zpk2sos(*signal.bilinear_zpk([0.0] * 4, poles, 1.0, RATE))
    sections[0, :3] /= np.abs(signal.freqz_sos(sections, worN=[1000.0], fs=RATE)[1][0])
    return sections


def sections_of(numbers):
    """Return 15 free numbers as three sections in scipy.signal's form, whose fourth column is 1."""
    table = xp.reshape(numbers, (3, 5))
    return xp.concat([table[:, :3], xp.ones((3, 1)), table[:, 3:]], axis=1)


def decibels(numbers):
    with interop.scipy():
        response = signal.freqz_sos(sections_of(numbers), worN=HEARD, fs=RATE)[1]
    return 10.0 * xp.log10(xp.real(response) ** 2 + xp.imag(response) ** 2)


def too_much(numbers):
    """Return the filter's gain minus the A-weighting, in dB, at the frequencies HEARD."""
    return decibels(numbers) - a_weighting(HEARD)


# --- Checks and pictures -------------------------------------------------------------------------
def worst_difference(function, place, step):
    """Return the relative difference of the Jacobian from central differences."""
    jacobian = np.asarray(xp.jacfwd(function)(xp.asarray(place)))
    moves = step * np.eye(place.size)
    ends = [[np.asarray(function(xp.asarray(place + s * e))) for s in (1, -1)] for e in moves]
    central = [
        (above - below) / (2.0 * np.sum(e)) for (above, below), e in zip(ends, moves, strict=True)
    ]
    central = np.stack(central, axis=-1)
    return np.max(np.abs(jacobian - central)) / np.max(np.abs(central))


def draw(filters, bilinear, fitted, out) -> None:
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(15, 4.6), layout="constrained")
    w = np.pi * np.linspace(0.0005, 1.0, 1000)
    colors = "black", "tab:orange"
    for (name, (taps, _)), color in zip(filters.items(), colors, strict=True):
        response = signal.freqz(taps, worN=w)[1]
        left.plot(w / np.pi, 20.0 * np.log10(np.abs(response)), color=color, label=name, lw=1.0)
        heard = w[w <= EDGES[0] * np.pi]
        late = signal.group_delay((taps, 1.0), w=heard)[1]
        middle.plot(heard / np.pi, late, color=color, label=name)
    left.set(title="Two filters of 41 taps", ylim=(-70, 5), ylabel="gain (dB)")
    left.set(xlabel="frequency (of the Nyquist frequency)")
    left.legend()
    middle.set(title="How late what passes is", ylim=(0, 24), ylabel="group delay (samples)")
    middle.set(xlabel="frequency (of the Nyquist frequency)")
    middle.legend(loc="lower left")

    right.axhline(0.0, color="black", linewidth=0.8)
    right.semilogx(HEARD, too_much(xp.asarray(bilinear)), "--", label="scipy.signal.bilinear_zpk")
    right.semilogx(HEARD, too_much(xp.asarray(fitted)), label="by gradient through freqz_sos")
    right.set(title="A-weighting by three sections", xlabel="frequency (Hz)", ylim=(-4, 1))
    right.set(ylabel="difference from the standard's curve (dB)")
    right.legend(loc="lower left")
    figure.savefig(out, dpi=110)
    plt.close(figure)


def main(arguments: list[str] | None = None) -> int:
    parser = parser_with_out(__doc__.split("\n", 1)[0], "design_filters.png")
    text = "most Newton steps at a sharpness (%(default)s)"
    parser.add_argument("--steps", type=integer(1), default=30, help=text)
    options = parser.parse_args(arguments)

    remez = signal.remez(TAPS, [0.0, *EDGES, 1.0], [1.0, 0.0], fs=2.0)
    # The searches start from windowed filters, which are shifted to the wanted delay.
    half = signal.firwin(TAPS, np.mean(EDGES))[: LATE + 1]
    early = np.pad(signal.firwin(2 * LESS_LATE + 1, np.mean(EDGES)), (0, TAPS - 2 * LESS_LATE - 1))
    linear = least_worst(symmetric, half, LATE, options.steps)
    less_late = least_worst(lambda taps: taps, early, LESS_LATE, options.steps)
    filters = {
        "remez": (remez, LATE),
        "linear phase, by gradient": (linear, LATE),
        "less late, by gradient": (less_late, LESS_LATE),
    }
    print(f"{'41 taps':<30}{'late by':>10}{'worst error':>14}")
    for name, (taps, late) in filters.items():
        print(f"{name:<30}{late:>10}{worst(taps, late):>14.5f}")
    print(f"largest tap's difference from remez: {np.max(np.abs(linear - remez)):.1e}")

    start = by_bilinear()[:, [0, 1, 2, 4, 5]].ravel()
    fit = least_squares(too_much, start, jac=xp.jacfwd(too_much), x_scale="jac", max_nfev=100)
    found = np.asarray(sections_of(xp.asarray(fit.x)))
    poles = [np.abs(np.roots(section[3:])).max() for section in found]
    print(f"\n{'A-weighting, 10 Hz to 20 kHz':<30}{'worst (dB)':>14}")
    for name, numbers in {"bilinear_zpk": start, "by gradient": fit.x}.items():
        print(f"{name:<30}{np.max(np.abs(np.asarray(too_much(xp.asarray(numbers))))):>14.3f}")
    print(f"{'largest pole':<30}{max(poles):>14.5f}   ({'' if max(poles) < 1 else 'NOT '}stable)")

    filters = {"remez": (remez, LATE), "less late, by gradient": (less_late, LESS_LATE)}
    draw(filters, start, fit.x, options.out)
    loss = smooth_maximum(lambda taps: taps, LESS_LATE, 1e3)
    away = [worst_difference(f, less_late, 1e-4) for f in (loss, xp.grad(loss))]
    # A small step, because the gain at 10 Hz is very sensitive.
    away.append(worst_difference(too_much, start, 1e-9))
    return verdict(max(away), TOLERANCE, options.out)


if __name__ == "__main__":
    sys.exit(main())
