"""Bessel functions and their kin: complex arguments, SciPy's functions on Arrays, what mpmath lacks."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
import scipy.special

import arraytape as xp
from arraytape.special._statement import STATEMENTS
from special.references import REFERENCES

ANALYTIC = [
    "jv", "yv", "hankel1", "hankel2", "iv", "kv", "kve", "hankel1e", "hankel2e", "airy_ai", "airy_aip",
    "airy_bi", "airy_bip", "hyp0f1", "hyp1f1", "hyp2f1", "elliprf", "elliprc",
]  # fmt: skip
POINTS = [1.2 + 0.7j, 0.4 - 1.1j, 2.5 + 0.1j]


@pytest.mark.parametrize("name", ANALYTIC)
def test_derivatives_at_complex_arguments(name):
    """A gradient is the conjugate of the complex derivative, to second order."""
    statement = STATEMENTS[name]
    others = [
        low + (0.3 + 0.2 * i) * (high - low) for i, (low, high) in enumerate(statement.domains[:-1])
    ]
    with mp.workdps(30):
        for point in POINTS:
            z = xp.asarray(point)
            with xp.GradientTape() as outer:
                outer.watch(z)
                with xp.GradientTape() as tape:
                    tape.watch(z)
                    y = statement.function(*others, z)
                first = tape.gradient(y, z)
                slope = xp.conj(first)
            second = outer.gradient(slope, z)
            for order, found in ((1, first), (2, second)):
                expected = mp.diff(
                    lambda x: REFERENCES[name](*others, x), mp.mpmathify(point), order
                )
                np.testing.assert_allclose(np.conj(complex(found)), complex(expected), rtol=1e-8)


@pytest.mark.parametrize("name", ["jve", "yve", "ive"])
@pytest.mark.parametrize("z", POINTS)
def test_scaling_by_a_part_of_a_complex_argument(name, z):
    function = getattr(scipy.special, name)

    def f(re, im):
        return xp.abs(function(1.5, re + 1j * im)) ** 2

    re, im = xp.asarray(z.real), xp.asarray(z.imag)
    found = xp.grad(f, (0, 1))(re, im)
    h = 1e-5

    def value(re, im):
        return abs(function(1.5, complex(re, im))) ** 2

    expected = [
        (value(z.real + h, z.imag) - value(z.real - h, z.imag)) / (2 * h),
        (value(z.real, z.imag + h) - value(z.real, z.imag - h)) / (2 * h),
    ]
    np.testing.assert_allclose([float(g) for g in found], expected, rtol=1e-7)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: scipy.special.jvp(1.5, x, 2), lambda x: scipy.special.yvp(1.5, x, 1),
        lambda x: scipy.special.kvp(1.5, x, 2), lambda x: scipy.special.ivp(1.5, x, 1),
        lambda x: scipy.special.airy(x)[2], lambda x: scipy.special.airye(x)[3],
        lambda x: scipy.special.ellipj(x, 0.3)[2], lambda x: scipy.special.itj0y0(x)[0],
        lambda x: scipy.special.pbdv(1.5, x)[1], lambda x: scipy.special.mathieu_cem(2, 1.0, x)[0],
        lambda x: scipy.special.legendre(4)(x), lambda x: scipy.special.assoc_laguerre(x, 3, 1.0),
        lambda x: scipy.special.jn(2, x),
    ],
)  # fmt: skip
def test_scipys_functions_on_arrays(function):
    """SciPy's names called on Arrays: values are SciPy's, derivatives agree with differences."""
    x = np.array([0.7, 1.3, 2.9])
    found = function(xp.asarray(x))
    np.testing.assert_array_equal(np.asarray(found), function(x))
    h = 1e-5
    expected = (function(x + h) - function(x - h)) / (2 * h)
    gradient = xp.grad(lambda x: xp.sum(function(x)))(xp.asarray(x))
    np.testing.assert_allclose(np.asarray(gradient), expected, rtol=1e-6, atol=1e-9)


SHAPED = [name for name in STATEMENTS if name.startswith(("mathieu_", "pro_", "obl_"))]


@pytest.mark.parametrize("name", [n for n in SHAPED if callable(STATEMENTS[n].op.rules[-1])])
def test_mathieu_and_spheroidal_functions_against_differences(name):
    statement = STATEMENTS[name]
    rng = np.random.default_rng(7)
    given = [
        np.floor(rng.uniform(*interval, 6))
        if x in statement.integers
        else rng.uniform(*interval, 6)
        for x, interval in zip(statement.op.inputs, statement.domains, strict=True)
    ]
    *others, x = given
    if "_cv_" in name:
        others[3] = getattr(scipy.special, f"{name[:3]}_cv")(*others[:3])

    def f(x):
        return np.asarray(statement.function(*others, xp.asarray(x)))

    h = 1e-4
    expected = (8 * (f(x + h) - f(x - h)) - (f(x + 2 * h) - f(x - 2 * h))) / (12 * h)
    found = xp.grad(lambda x: xp.sum(statement.function(*others, x)))(xp.asarray(x))
    size = np.maximum(np.abs(expected), 1e-3 * np.max(np.abs(expected)))
    assert np.max(np.abs(np.asarray(found) - expected) / size) < 1e-7


def test_a_wrong_characteristic_value_has_no_second_derivative():
    x = xp.asarray(0.3)
    with xp.GradientTape() as outer:
        outer.watch(x)
        with xp.GradientTape() as tape:
            tape.watch(x)
            s, _ = scipy.special.pro_ang1_cv(1, 2, 0.5, 9.0, x)
        first = tape.gradient(s, x)
    assert np.isfinite(float(first))
    assert np.isnan(float(outer.gradient(first, x)))


def test_a_negative_last_argument_of_carlsons_integral_is_a_principal_value():
    point, h = [0.5, 1.0, 2.0, -0.7], 1e-5
    found = xp.grad(scipy.special.elliprj, (0, 1, 2, 3))(*[xp.asarray(v) for v in point])
    for i, g in enumerate(found):
        up, down = list(point), list(point)
        up[i], down[i] = point[i] + h, point[i] - h
        expected = (scipy.special.elliprj(*up) - scipy.special.elliprj(*down)) / (2 * h)
        np.testing.assert_allclose(float(g), expected, rtol=1e-7)


@pytest.mark.parametrize("name", [n for n in STATEMENTS if n.startswith("eval_")])
def test_float_degrees_have_the_derivatives_of_whole_ones(name):
    statement = STATEMENTS[name]
    if isinstance(statement.op.rules[0], type(None)):
        return  # SciPy's takes whole degrees only
    middle = [0.5 * (low + high) for low, high in statement.domains[1:]]
    for n in range(5):
        whole = xp.grad(lambda x, n=n: statement.function(n, *middle[:-1], x))(
            xp.asarray(middle[-1])
        )
        other = xp.grad(lambda x, n=n: statement.function(xp.asarray(float(n)), *middle[:-1], x))(
            xp.asarray(middle[-1])
        )
        np.testing.assert_allclose(float(other), float(whole), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("n", [-1, -3, 2.5, -2.5])
@pytest.mark.parametrize(
    "name",
    ["legendre", "sh_legendre", "chebyt", "chebyu", "chebyc", "chebys", "sh_chebyt", "laguerre"],
)
def test_other_degrees(n, name):
    """Negative and fractional degrees, as SciPy defines them."""
    function, x, h = getattr(scipy.special, f"eval_{name}"), 0.4, 1e-5
    expected = (function(n, x + h) - function(n, x - h)) / (2 * h)
    found = xp.grad(lambda x: function(n, x))(xp.asarray(x))
    if np.isfinite(expected):
        np.testing.assert_allclose(float(found), expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("derivative", [False, True])
@pytest.mark.parametrize("name", ["spherical_jn", "spherical_yn", "spherical_in", "spherical_kn"])
def test_spherical_functions_of_either_sign(name, derivative):
    theirs, ours = getattr(scipy.special, name), getattr(xp.special, name)
    x, h = np.array([0.7, 2.9, -0.7, -2.9]), 1e-5
    for n in (0, 1, 4):
        found = ours(n, xp.asarray(x), derivative)
        np.testing.assert_array_equal(np.asarray(found), theirs(n, x, derivative))
        expected = (theirs(n, x + h, derivative) - theirs(n, x - h, derivative)) / (2 * h)
        gradient = xp.grad(lambda x, n=n: xp.sum(ours(n, x, derivative)))(xp.asarray(x))
        np.testing.assert_allclose(np.asarray(gradient), expected, rtol=1e-6, atol=1e-8)


def test_a_spherical_function_at_0():
    assert float(xp.grad(lambda x: xp.special.spherical_jn(1, x))(xp.asarray(0.0))) == 1 / 3
