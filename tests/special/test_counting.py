"""Combinations, permutations and factorials: SciPy's values, derivatives of the gamma function's."""

import mpmath as mp
import numpy as np
import pytest
import scipy.special

import arraytape as xp

N = np.asarray([0.3, 1.0, 2.5, -1.0, -2.3, 0.0, 7.0, 20.5])
K = np.asarray([0.2, 1.0, 3.0, 1.0, 1.0, 0.0, 2.5, 3.0])


@pytest.mark.parametrize(
    ("name", "arguments", "keywords"),
    [
        ("comb", (N, K), {}),
        ("comb", (N, K), {"repetition": True}),
        ("perm", (N, K), {}),
        ("factorial", (N,), {}),
        ("factorial", (N,), {"extend": "complex"}),
        ("factorial", (np.asarray([0, 3, 5, -2]),), {}),
        ("factorial2", (np.asarray([0, 3, 5, -2]),), {}),
        ("factorialk", (np.asarray([0, 3, 5, -2]), 3), {}),
    ],
)
def test_values_are_scipys(name, arguments, keywords):
    expected = getattr(scipy.special, name)(*arguments, **keywords)
    given = [xp.asarray(x) if isinstance(x, np.ndarray) else x for x in arguments]
    found = np.asarray(getattr(xp.special, name)(*given, **keywords))
    np.testing.assert_array_equal(found, expected)


def test_multifactorials_of_real_numbers_are_scipys():
    for k in (2, 3, 2.5):
        np.testing.assert_allclose(
            np.asarray(xp.special.factorialk(xp.asarray(N), k, extend="complex")),
            scipy.special.factorialk(N, k, extend="complex"),
            rtol=1e-15,
        )
    np.testing.assert_allclose(
        np.asarray(xp.special.factorial2(xp.asarray(N), extend="complex")),
        scipy.special.factorial2(N, extend="complex"),
        rtol=1e-15,
    )


def test_derivatives_are_those_of_mpmath():
    with mp.workdps(40):
        expected = {
            "comb": [mp.diff(mp.binomial, (7.5, 2.25), by) for by in ((1, 0), (0, 1))],
            "perm": [mp.diff(mp.ff, (7.5, 2.25), by) for by in ((1, 0), (0, 1))],
            "factorial": [mp.diff(mp.factorial, 7.5)],
            "factorial2": [
                mp.sqrt(2 / mp.pi) * mp.diff(lambda n: 2 ** (n / 2) * mp.gamma(n / 2 + 1), 7.5)
            ],
        }
    for name, slopes in expected.items():
        keywords = {"extend": "complex"} if name == "factorial2" else {}
        function = lambda *x: getattr(xp.special, name)(*x, **keywords)  # noqa: B023, E731
        point = [xp.asarray(x) for x in (7.5, 2.25)][: len(slopes)]
        found = xp.grad(function, tuple(range(len(point))))(*point)
        np.testing.assert_allclose(
            [float(g) for g in found], [float(s) for s in slopes], rtol=1e-12
        )


def test_where_nothing_is_counted_the_slope_is_0():
    assert float(xp.grad(lambda n: xp.special.comb(n, 3.0))(xp.asarray(2.5))) == 0.0
    assert float(xp.grad(xp.special.factorial)(xp.asarray(-0.5))) == 0.0


def test_exact_integers_are_refused():
    with pytest.raises(TypeError, match="exact=True"):
        xp.special.comb(xp.asarray(5.0), 2, exact=True)
    with pytest.raises(TypeError, match="positive number"):
        xp.special.factorialk(xp.asarray(5.0), -2, extend="complex")
    with pytest.raises(ValueError, match="extend"):
        xp.special.factorial(xp.asarray(5.0), extend="none")
    with pytest.raises(ValueError, match="extend='complex'"):
        xp.special.factorialk(xp.asarray(5.5), 2)
