"""scipy.fft in a context of interop."""

import itertools

import numpy as np
import pytest
import scipy.fft

import arraytape as xp
from arraytape import interop
from helpers.library_checks import check

RNG = np.random.default_rng(7)
REAL = RNG.normal(size=(4, 5))
COMPLEX = REAL + 1j * RNG.normal(size=(4, 5))
NORMS = (None, "ortho", "forward")

LENGTHS = ({}, {"n": 4, "axis": 0}, {"n": 3}, {"n": 8, "axis": 1})
SHAPES = ({}, {"axes": (0,)}, {"s": (6, 3)}, {"s": (3,)}, {"s": (5, -1), "axes": (1, 0)})


def transform(name, **options):
    return lambda x: getattr(scipy.fft, name)(x, **options)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
@pytest.mark.parametrize("options", LENGTHS, ids=str)
def test_a_transform_along_an_axis(name, norm, options):
    check(transform(name, norm=norm, **options), REAL, order=1)
    if name not in ("rfft", "ihfft"):
        check(transform(name, norm=norm, **options), COMPLEX, order=1)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn", "hfftn", "ihfftn"])
@pytest.mark.parametrize("options", SHAPES, ids=str)
def test_a_transform_along_several_axes(name, norm, options):
    check(transform(name, norm=norm, **options), REAL, order=1)
    if name not in ("rfftn", "ihfftn"):
        check(transform(name, norm=norm, **options), COMPLEX, order=1)


@pytest.mark.parametrize("name", ["fft2", "ifft2", "rfft2", "irfft2", "hfft2", "ihfft2"])
def test_a_transform_of_planes(name):
    check(transform(name), REAL)


@pytest.mark.parametrize("name", ["dct", "idct", "dst", "idst"])
@pytest.mark.parametrize(
    ("type", "norm", "orthogonalize"),
    [*itertools.product((1, 2, 3, 4), NORMS, (None, True, False))],
)
@pytest.mark.every(5)
def test_cosines_and_sines_of_each_type(name, type, norm, orthogonalize):
    options = {"type": type, "norm": norm, "orthogonalize": orthogonalize}
    for x in (REAL, COMPLEX):
        check(transform(name, **options), x, order=1)
        check(transform(f"{name}n", **options), x, order=1)


@pytest.mark.parametrize("name", ["dct", "idct", "dst", "idst"])
@pytest.mark.parametrize("type", [1, 2, 3, 4])
def test_cosines_and_sines_of_other_shapes(name, type):
    for options in LENGTHS:
        check(transform(name, type=type, **options), REAL)
    for options in SHAPES:
        check(transform(f"{name}n", type=type, **options), REAL)


@pytest.mark.parametrize("name", ["fft", "rfftn", "dct", "idstn"])
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_other_dtypes_are_those_of_scipy(name, dtype):
    check(transform(name), (10 * REAL).astype(dtype))


def test_a_product_of_transforms_to_second_order():
    check(lambda x: scipy.fft.idctn(scipy.fft.dctn(x, norm="ortho") ** 2, norm="ortho"), REAL)
    check(lambda x: scipy.fft.irfftn(scipy.fft.rfftn(x) * scipy.fft.rfftn(x**2), s=x.shape), REAL)


@pytest.mark.parametrize("name", ["fht", "ifht"])
def test_hankel_transforms(name):
    check(lambda x: getattr(scipy.fft, name)(x, 0.1, 0.5, offset=0.2, bias=0.1), REAL, exact=False)


def test_what_scipy_refuses_is_refused():
    x = xp.asarray(REAL)
    with interop.scipy():
        for options in ({"axis": 5}, {"n": 0}, {"norm": "other"}):
            for name in ("fft", "dct"):
                with pytest.raises(ValueError, match=r"axes|number|norm"):
                    getattr(scipy.fft, name)(x, **options)
        with pytest.raises(TypeError, match="real sequence"):
            scipy.fft.rfft(xp.asarray(COMPLEX))
        with pytest.raises(NotImplementedError, match="plan"):
            scipy.fft.fft(x, plan=object())


def test_workers_are_heeded():
    check(transform("fft", workers=2), REAL)
    check(transform("dctn", workers=2), REAL)


def test_what_a_transform_passes_on_is_no_selection():
    """Where a curvature may be infinite, a second pass asks which elements matter: here all of them."""
    check(lambda x: abs(scipy.fft.fft(x)), REAL)
    check(lambda x: abs(scipy.fft.dct(x)), REAL)
