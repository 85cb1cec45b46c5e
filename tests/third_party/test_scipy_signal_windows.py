"""Windows of scipy.signal, as installed: NumPy's values, and gradients by their parameters."""

import numpy as np
import pytest
from array_api_compat import array_namespace
from scipy import signal
from scipy.signal import windows

import arraytape as xp

FIXED = (
    "barthann", "bartlett", "blackman", "blackmanharris", "bohman", "boxcar", "cosine", "flattop",
    "hamming", "hann", "lanczos", "nuttall", "parzen", "triang",
)  # fmt: skip


@pytest.mark.parametrize("name", FIXED)
@pytest.mark.parametrize("count", [1, 8, 9])
def test_a_window_without_parameters_is_numpys(name, count):
    for sym in (True, False):
        found = getattr(windows, name)(count, sym=sym, xp=xp)
        np.testing.assert_array_equal(np.asarray(found), getattr(windows, name)(count, sym=sym))
        by_name = signal.get_window(name, count, fftbins=not sym, xp=xp)
        np.testing.assert_array_equal(np.asarray(by_name), np.asarray(found))


WEIGHTS = np.asarray([0.5, 0.3, 0.2])
WITH_PARAMETERS = {
    "chebwin": (lambda at, **o: windows.chebwin(9, at, **o), 60.0),
    "exponential": (lambda tau, **o: windows.exponential(9, None, tau, **o), 2.0),
    "exponential, off the center": (
        lambda center, tau, **o: windows.exponential(9, center, tau, sym=False, **o),
        3.2,
        2.0,
    ),
    "gaussian": (lambda std, **o: windows.gaussian(9, std, **o), 1.7),
    "gaussian by name": (lambda std, **o: signal.get_window(("gaussian", std), 9, **o), 1.7),
    "general_cosine": (lambda a, **o: windows.general_cosine(9, a), WEIGHTS),
    "general_gaussian": (lambda p, sig, **o: windows.general_gaussian(9, p, sig, **o), 1.2, 1.7),
    "general_hamming": (lambda alpha, **o: windows.general_hamming(9, alpha, **o), 0.6),
    "taylor": (lambda sll, **o: windows.taylor(9, 4, sll, **o), 30.0),
}


def with_namespace(function):
    return lambda *xs: function(*xs, xp=array_namespace(*xs))


@pytest.mark.parametrize("name", WITH_PARAMETERS)
def test_a_windows_parameters_differentiate(differentiates, name):
    function, *parameters = WITH_PARAMETERS[name]
    differentiates(with_namespace(function), *map(np.asarray, parameters), order=2)


def test_the_parameter_of_tukeys_window_is_also_floored_as_a_number(differentiates):
    def f(alpha, **options):
        return windows.tukey(9, alpha, **options)

    differentiates(with_namespace(f), np.asarray(0.6))


@pytest.mark.parametrize("name", ["kaiser", "kaiser_bessel_derived"])
def test_the_parameter_of_kaisers_window_differentiates(differentiates, name):
    def f(beta, **options):
        return getattr(windows, name)(10, beta, **options)

    differentiates(with_namespace(f), np.asarray(6.0))
