"""Functions of scipy.special that convert to NumPy, in a context of interop."""

import numpy as np
import pytest
import scipy.special

import arraytape as xp
from arraytape import interop

X = np.asarray([0.4, 1.5, 2.5])
CALLS = {
    "comb": lambda x: scipy.special.comb(5.0 + x, x),
    "comb with repetition": lambda x: scipy.special.comb(5.0 + x, 2, repetition=True),
    "diric": lambda x: scipy.special.diric(x, 5),
    "factorial": scipy.special.factorial,
    "factorial2": lambda x: scipy.special.factorial2(x, extend="complex"),
    "factorialk": lambda x: scipy.special.factorialk(x, 3, extend="complex"),
    "logsumexp": lambda x: scipy.special.logsumexp(x, axis=0, keepdims=True),
    "logsumexp of b": lambda x: scipy.special.logsumexp(x, b=x),
    "perm": lambda x: scipy.special.perm(5.0 + x, x),
    "sph_harm_y": lambda x: abs(scipy.special.sph_harm_y(3, 1, x, 0.5)) ** 2,
    "spherical_in": lambda x: scipy.special.spherical_in(2, x),
    "spherical_jn": lambda x: scipy.special.spherical_jn(2, x),
    "spherical_jn, derivative": lambda x: scipy.special.spherical_jn(2, x, derivative=True),
    "spherical_kn": lambda x: scipy.special.spherical_kn(2, x),
    "spherical_yn": lambda x: scipy.special.spherical_yn(2, x),
}


@pytest.mark.parametrize("name", CALLS)
def test_values_are_scipys_and_gradients_those_of_differences(name):
    call, h = CALLS[name], 1e-5
    with interop.scipy():
        y, slope = xp.jvp(call, (xp.asarray(X),), (xp.ones_like(xp.asarray(X)),))
    np.testing.assert_allclose(np.asarray(y), call(X), rtol=2e-15)
    differences = (call(X + h) - call(X - h)) / (2 * h)
    np.testing.assert_allclose(np.asarray(slope), differences, rtol=1e-6, atol=1e-8)


def test_exact_integers_are_scipys():
    with interop.scipy():
        assert scipy.special.factorial(xp.asarray([3, 5]), exact=True).tolist() == [6, 120]


def test_logsumexp_has_second_derivatives_where_the_maximum_is_taken_twice():
    def f(x):
        return scipy.special.logsumexp([x, 2 - x, 0.3 * x])

    h, at = 1e-4, 1.0
    with interop.scipy():
        found = xp.grad(xp.grad(f))(xp.asarray(at))
    expected = (f(at + h) - 2 * f(at) + f(at - h)) / h**2
    np.testing.assert_allclose(float(found), expected, rtol=1e-6)
    with interop.scipy():
        assert scipy.special.logsumexp(xp.asarray([1 + 1j, 2.0])).dtype == np.complex128


def test_what_has_no_counterpart_warns():
    x = xp.asarray(0.3)
    with interop.scipy(), xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.sum(xp.asarray(scipy.special.legendre_p(2, x)) * 1.0)
    with pytest.warns(xp.TapeWarning, match="left the tape"):
        assert tape.gradient(y, x) is None
