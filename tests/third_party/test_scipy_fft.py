"""scipy.fft, as installed: transforms of every kind, length, axis and norm."""

import numpy as np
import pytest
from array_api_compat import array_namespace
from scipy import fft

RNG = np.random.default_rng(0)
X, Y = RNG.uniform(-1.5, 1.5, (3, 6)), RNG.uniform(-1.5, 1.5, (3, 6))
Z = X + 1j * Y
NORMS = ("backward", "ortho", "forward")
ONE = ("fft", "ifft", "hfft", "irfft")  # of complex data
REAL = ("rfft", "ihfft")
TWO = ("fft2", "ifft2", "hfft2", "irfft2")
REAL_TWO = ("rfft2", "ihfft2")
SEVERAL = ("fftn", "ifftn", "hfftn", "irfftn")
REAL_SEVERAL = ("rfftn", "ihfftn")


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ONE + REAL)
def test_a_transform_along_an_axis(differentiates, name, norm):
    function, x = getattr(fft, name), X if name in REAL else Z
    differentiates(lambda x: function(x, norm=norm), x, order=2)
    for options in ({"axis": 0}, {"n": 4}, {"n": 9}, {"n": 5, "axis": 0}):
        differentiates(lambda x, options=options: function(x, norm=norm, **options), x)


@pytest.mark.parametrize("name", TWO + REAL_TWO)
def test_a_transform_over_two_axes(differentiates, name):
    function, x = getattr(fft, name), X if name in REAL_TWO else Z
    differentiates(function, x, order=2)
    for options in ({"axes": (1, 0)}, {"s": (2, 8)}, {"s": (5, 3), "norm": "ortho"}):
        differentiates(lambda x, options=options: function(x, **options), x)


@pytest.mark.parametrize("name", SEVERAL + REAL_SEVERAL)
def test_a_transform_over_several_axes(differentiates, name):
    function = getattr(fft, name)
    x = np.stack([X, Y[::-1]]) + (0.0 if name in REAL_SEVERAL else 1j * np.stack([Y, X]))
    differentiates(function, x[:, :, :4])
    for options in ({"axes": (0, 2)}, {"s": (3, 3), "axes": (2, 0)}, {"norm": "forward"}):
        differentiates(lambda x, options=options: function(x, **options), x[:, :, :4])


@pytest.mark.parametrize("name", ONE)
def test_a_transform_of_complex_data_takes_real_data(differentiates, name):
    differentiates(lambda x: getattr(fft, name)(x), X)


def test_spectra_that_are_changed_and_transformed_back(differentiates):
    def f(x):
        spectrum = fft.rfft(x, axis=-1)
        spectrum[:, 2:] = 0.0
        return fft.irfft(spectrum * spectrum, n=6, axis=-1)

    differentiates(f, X, order=2)


def test_shifts(differentiates):
    differentiates(lambda z: fft.fftshift(z), Z)
    differentiates(lambda z: fft.ifftshift(z, axes=(1,)), Z)


def test_hankel_transforms(differentiates):
    for function in (fft.fht, fft.ifht):
        differentiates(lambda x, f=function: f(x, dln=0.2, mu=0.5), X, order=2)
        differentiates(lambda x, f=function: f(x, 0.2, 1.5, offset=0.1, bias=-0.2), X[0])


@pytest.mark.parametrize("name", ["dct", "idct", "dst", "idst", "dctn", "idctn", "dstn", "idstn"])
def test_sine_and_cosine_transforms_leave_for_c_code(leaves, name):
    found = leaves(
        getattr(fft, name), X, at="fft/_realtransforms_backend.py", how="np.asarray", rtol=1e-9
    )
    assert found == [None]


def test_frequencies_are_numpys(has_values):
    def f(x):
        xp = array_namespace(x)
        return [fft.fftfreq(7, 0.3, xp=xp), fft.rfftfreq(8, 0.3, xp=xp)]

    has_values(f, X)
