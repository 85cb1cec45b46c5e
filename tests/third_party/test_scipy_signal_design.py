"""Filter design of scipy.signal, as installed: representations, responses and designs."""

import numpy as np
import pytest
from array_api_compat import array_namespace
from scipy import signal

RNG = np.random.default_rng(0)
B, A = np.asarray([1.0, 0.5, 0.2]), np.asarray([2.0, 0.4, 0.3])
ZEROS, POLES = np.asarray([-1.1, -0.5]), np.asarray([-0.2, -0.4, -0.3])
COMPLEX = np.asarray([-0.5 + 0.3j, -0.5 - 0.3j])
FREE = np.asarray([[1.0, 0.5, 0.2, 0.4, 0.3], [1.0, -0.3, 0.6, -0.2, 0.1]])
TAPS = np.asarray([0.1, 0.2, 0.3, 2.0, 0.3, 0.2, 0.1])
STATE = np.eye(2) * 0.5, np.ones((2, 1)), np.asarray([[1.0, 2.0]]), np.asarray([[0.3]])
AT = np.linspace(0.1, 2.9, 5)
DESIGN = "signal/_filter_design.py"


def sections(free):
    """Second-order sections whose fourth coefficients are 1."""
    xp = array_namespace(free)
    return xp.concat([free[:, :3], xp.ones((free.shape[0], 1)), free[:, 3:]], axis=1)


def at(x):
    """Frequencies beside x."""
    return array_namespace(x).asarray(AT)


CASES = {
    "abcd_normalize": (lambda *system: list(signal.abcd_normalize(*system)), *STATE),
    "bilinear_zpk": (lambda z, p: signal.bilinear_zpk(z, p, 1.5, fs=2.0), ZEROS, POLES),
    "bode": (lambda b, a: signal.bode((b, a), w=at(b))[1:], B, A),
    "cheb1ord": (lambda wp: signal.cheb1ord(wp, 0.5, 1.0, 20.0)[1], np.asarray(0.3)),
    "cheb2ord": (lambda wp: signal.cheb2ord(wp, 0.5, 1.0, 20.0)[1], np.asarray(0.3)),
    "firwin": (lambda cutoff: signal.firwin(9, cutoff), np.asarray(0.3)),
    "firwin of two cutoffs": (
        lambda cutoff: signal.firwin(9, cutoff, pass_zero=False, window="blackman"),
        np.asarray([0.2, 0.5]),
    ),
    "freqs": (lambda b, a: signal.freqs(b, a, worN=at(b))[1], B, A),
    "freqs_zpk": (lambda z, p: signal.freqs_zpk(z, p, 2.0, worN=at(z))[1], ZEROS, POLES),
    "freqz": (lambda b, a: signal.freqz(b, a, worN=at(b))[1], B, A),
    "freqz at even frequencies": (lambda b, a: signal.freqz(b, a, worN=8)[1], B, A),
    "freqz up to Nyquist": (lambda b, a: signal.freqz(b, a, 7, include_nyquist=True)[1], B, A),
    "freqz around the circle": (lambda b: signal.freqz(b, worN=8, whole=True)[1], B),
    "freqz by the frequency": (
        lambda w, b, a: signal.freqz(b, a, worN=w)[1],
        AT,
        B,
        A,
    ),
    "freqz_sos": (lambda s: signal.freqz_sos(sections(s), worN=at(s))[1], FREE),
    "freqz_zpk": (lambda z, p: signal.freqz_zpk(z, p, 2.0, worN=at(z))[1], COMPLEX, POLES + 0j),
    "gauss_spline": (lambda x: signal.gauss_spline(x, 3), AT),
    "group_delay": (lambda b, a: signal.group_delay((b, a), w=at(b))[1], B, A),
    "group_delay at even frequencies": (lambda b, a: signal.group_delay((b, a), w=6)[1], B, A),
    "lp2bp": (lambda b, a: signal.lp2bp(b, a, 1.3, 0.7), B, A),
    "lp2bp_zpk": (lambda z, p: signal.lp2bp_zpk(z, p, 2.0, 1.3, 0.7)[:2], ZEROS, POLES),
    "lp2bs": (lambda b, a: signal.lp2bs(b, a, 1.3, 0.7), B, A),
    "lp2bs_zpk": (lambda z, p: signal.lp2bs_zpk(z, p, 2.0, 1.3, 0.7), ZEROS, POLES),
    "lp2hp": (lambda b, a: signal.lp2hp(b, a, 1.3), B, A),
    "lp2hp_zpk": (lambda z, p: signal.lp2hp_zpk(z, p, 2.0, 1.3), ZEROS, POLES),
    "lp2lp": (lambda b, a: signal.lp2lp(b, a, 1.3), B, A),
    "lp2lp_zpk": (lambda z, p: signal.lp2lp_zpk(z, p, 2.0, 1.3)[:2], ZEROS, POLES),
    "minimum_phase": (signal.minimum_phase, TAPS),
    "minimum_phase of the same length": (
        lambda h: signal.minimum_phase(h, half=False, n_fft=64),
        TAPS,
    ),
    "normalize": (signal.normalize, B, A),
    "sos2tf": (lambda s: signal.sos2tf(sections(s)), FREE),
    "sos2zpk": (lambda s: signal.sos2zpk(sections(s))[:2], FREE),
    "sosfreqz": (lambda s: signal.sosfreqz(sections(s), worN=at(s))[1], FREE),
    "tf2zpk": (lambda b, a: signal.tf2zpk(b, a)[:2], B, A),
    "zpk2tf": (lambda z, p: signal.zpk2tf(z, p, 2.0), ZEROS, POLES),
}


@pytest.mark.parametrize("name", CASES)
def test_a_design_in_array_api_terms_differentiates(differentiates, name):
    function, *inputs = CASES[name]
    differentiates(function, *inputs, rtol=1e-6)


WITH_AN_ORDER = {
    "buttord": lambda wp: signal.buttord(wp, 0.5, 1.0, 20.0)[1],
    "ellipord": lambda wp: signal.ellipord(wp, 0.5, 1.0, 20.0)[1],
}


@pytest.mark.parametrize("name", WITH_AN_ORDER)
def test_the_natural_frequency_differentiates_where_the_order_is_a_number(differentiates, name):
    differentiates(WITH_AN_ORDER[name], np.asarray(0.3))


# --- what leaves --------------------------------------------------------------------------------
WN = np.asarray(0.3)
LEAVE = {
    "bessel": (lambda w: signal.bessel(3, w)[1], DESIGN, "float", WN),
    "butter": (lambda w: signal.butter(3, w)[0], DESIGN, "float", WN),
    "butter, sections": (lambda w: signal.butter(3, w, output="sos"), DESIGN, "float", WN),
    "butter of a band": (
        lambda w: signal.butter(2, w, btype="band")[1],
        DESIGN,
        "float",
        np.asarray([0.2, 0.5]),
    ),
    "cheby1": (lambda w: signal.cheby1(3, 1.0, w)[0], DESIGN, "float", WN),
    "cheby2": (lambda w: signal.cheby2(3, 20.0, w)[0], DESIGN, "float", WN),
    "ellip": (lambda w: signal.ellip(3, 1.0, 20.0, w)[0], DESIGN, "float", WN),
    "iirfilter": (lambda w: signal.iirfilter(3, w, btype="high")[0], DESIGN, "float", WN),
    "iircomb": (lambda w: signal.iircomb(w, 20.0)[0], DESIGN, "float", np.asarray(0.25)),
    "iirdesign": (lambda w: signal.iirdesign(w, 0.6, 1.0, 20.0)[0], DESIGN, "float", WN),
    "iirnotch": (lambda w: signal.iirnotch(w, 20.0)[0], DESIGN, "float", WN),
    "iirpeak": (lambda w: signal.iirpeak(w, 20.0)[0], DESIGN, "float", WN),
    "bilinear": (lambda b, a: signal.bilinear(b, a, fs=2.0)[0], DESIGN, "np.asarray", B, A),
    "firls": (
        lambda d: signal.firls(9, array_namespace(d).asarray([0.0, 0.3, 0.4, 1.0]), d),
        "signal/_fir_filter_design.py",
        "np.asarray",
        np.asarray([1.0, 0.9, 0.1, 0.05]),
    ),
    "firwin2": (
        lambda gain: signal.firwin2(15, array_namespace(gain).asarray([0.0, 0.5, 1.0]), gain),
        "signal/_fir_filter_design.py",
        "np.asarray",
        np.asarray([0.9, 0.7, 0.1]),
    ),
    "remez": (
        lambda d: signal.remez(9, array_namespace(d).asarray([0.0, 0.1, 0.2, 0.5]), d),
        "signal/_fir_filter_design.py",
        "np.asarray",
        np.asarray([1.0, 0.3]),
    ),
    "tf2sos": (signal.tf2sos, DESIGN, "np.asarray", B, A),
    "zpk2sos": (
        lambda z, p: signal.zpk2sos(z, p, 2.0),
        DESIGN,
        "np.asarray",
        ZEROS,
        POLES[:2],
    ),
}


@pytest.mark.parametrize("name", LEAVE)
def test_a_design_that_leaves_says_where(leaves, name):
    """SciPy makes numbers of frequencies, and NumPy arrays of coefficients."""
    function, line, how, *inputs = LEAVE[name]
    found = leaves(function, *inputs, at=line, how=how)
    assert found is None or all(g is None for g in found)


OF_NUMBERS = {
    "besselap": lambda **o: signal.besselap(3, **o)[:2],
    "buttap": lambda **o: signal.buttap(3, **o)[:2],
    "cheb1ap": lambda **o: signal.cheb1ap(3, 1.0, **o)[:2],
    "cheb2ap": lambda **o: signal.cheb2ap(3, 20.0, **o)[:2],
    "ellipap": lambda **o: signal.ellipap(3, 1.0, 20.0, **o)[:2],
    "gammatone": lambda **o: signal.gammatone(440.0, "iir", fs=16000.0, **o),
    "gammatone without feedback": lambda **o: signal.gammatone(440.0, "fir", fs=16000.0, **o)[0],
    "savgol_coeffs": lambda **o: signal.savgol_coeffs(5, 2, **o),
}


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_coefficients_of_numbers_are_numpys(has_values, name):
    has_values(lambda x: OF_NUMBERS[name](xp=array_namespace(x)), B)


def test_the_method_of_a_convolution_is_chosen_as_for_numpy(has_values):
    # Of long arrays it is not: SciPy takes the fft there for NumPy's arrays only.
    def f(x):
        return array_namespace(x).asarray(signal.choose_conv_method(x, x) == "direct")

    has_values(f, B)
