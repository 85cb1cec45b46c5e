"""Distributions' functions: inverses, slow references along directions, corners."""

from __future__ import annotations

import zlib

import mpmath as mp
import numpy as np
import pytest

import arraytape as xp
from arraytape.special import FUNCTIONS
from arraytape.special._statement import STATEMENTS
from special.references.noncentral import ALONG

# inverse -> what it inverts, the place there of what it solves for, the place of the value it takes
INVERSES = {
    "_skewnorm_ppf": ("_skewnorm_cdf", 0, 0),
    "chndtrix": ("chndtr", 0, 0),
    "chndtridf": ("chndtr", 1, 1),
    "chndtrinc": ("chndtr", 2, 2),
    "_ncx2_isf": ("_ncx2_sf", 0, 0),
    "ncfdtri": ("ncfdtr", 3, 3),
    "ncfdtridfd": ("ncfdtr", 1, 1),
    "ncfdtridfn": ("ncfdtr", 0, 0),
    "ncfdtrinc": ("ncfdtr", 2, 2),
    "nctdtrit": ("nctdtr", 2, 2),
    "nctdtridf": ("nctdtr", 0, 0),
    "nctdtrinc": ("nctdtr", 1, 1),
    "_nct_isf": ("_nct_sf", 0, 0),
    "_ncf_isf": ("_ncf_sf", 0, 0),
}
# How exact SciPy's solutions are, where not to 1e-10; slopes are those at the solution.
SOLVED = dict.fromkeys(
    ["ncfdtridfd", "ncfdtridfn", "ncfdtrinc", "nctdtridf", "nctdtrinc", "nctdtrit"], 1e-5
)


def point(name, seed=0):
    """A random argument of the statement."""
    rng = np.random.default_rng(zlib.crc32(name.encode()) + seed)
    return rng.uniform(*np.transpose(STATEMENTS[name].domains))


def along(function, start, direction):
    """Value, first and second derivative of a function along a direction."""

    def first(s):
        f = lambda u: function(*[a + d * u for a, d in zip(start, direction, strict=True)])  # noqa: E731
        return xp.jvp(f, (s,), (xp.ones_like(s),))

    (value, slope), (_, curvature) = xp.jvp(first, (xp.asarray(0.0),), (xp.asarray(1.0),))
    return float(value), float(slope), float(curvature)


@pytest.mark.parametrize("name", sorted(INVERSES))
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.every(3)
def test_the_function_of_its_inverse_is_the_identity(name, seed):
    forward, place, value = INVERSES[name]
    start = point(name, seed)
    direction = np.random.default_rng(seed).normal(size=len(start)) * 0.1

    def identity(*arguments):
        solved = FUNCTIONS[name](*arguments)
        others = [x for i, x in enumerate(arguments) if i != value]
        return FUNCTIONS[forward](*others[:place], solved, *others[place:])

    found, slope, curvature = along(identity, start, direction)
    np.testing.assert_allclose(found, start[value], rtol=SOLVED.get(name, 1e-10))
    np.testing.assert_allclose(slope, direction[value], rtol=1e-8)
    np.testing.assert_allclose(curvature, 0.0, atol=1e-7)


def test_the_inverse_of_skewnorm_sf_is_the_mirrored_quantile():
    start, direction = point("_skewnorm_isf"), np.asarray([0.05, 0.1, -0.2, 0.3])
    mirrored = along(FUNCTIONS["_skewnorm_isf"], start, direction)
    start[0], direction[0] = 1 - start[0], -direction[0]
    np.testing.assert_allclose(
        mirrored, along(FUNCTIONS["_skewnorm_ppf"], start, direction), rtol=1e-10
    )


@pytest.mark.parametrize("name", sorted(ALONG))
@pytest.mark.parametrize("seed", [0, 1])
def test_mixtures_are_those_of_mpmath_along_directions(name, seed):
    start = point(name, seed)
    direction = np.random.default_rng(seed).normal(size=len(start)) * 0.1
    _, slope, curvature = along(FUNCTIONS[name], start, direction)

    def reference(s):
        return ALONG[name](
            *[mp.mpf(a) + s * mp.mpf(d) for a, d in zip(start, direction, strict=True)]
        )

    with mp.workdps(40):
        np.testing.assert_allclose(slope, float(mp.diff(reference, 0)), rtol=1e-10)
        np.testing.assert_allclose(curvature, float(mp.diff(reference, 0, 2)), rtol=1e-8)


def gradient(name, *arguments, dtype=np.float64):
    arrays = [xp.asarray(np.asarray(x, dtype)) for x in arguments]
    found = xp.grad(lambda *x: xp.sum(FUNCTIONS[name](*x)), tuple(range(len(arrays))))(*arrays)
    return [np.asarray(g) for g in found]


def test_corners_are_limits():
    a, x = gradient("gammainc", [2.0, 2.0, 1.0, 0.5], [0.0, np.inf, 0.0, 0.0])
    np.testing.assert_array_equal(a, 0.0)
    np.testing.assert_array_equal(x, [0.0, 0.0, 1.0, np.inf])
    a, b, x = gradient("betainc", [2.0, 2.0, 1.0, 3.0], [3.0, 3.0, 1.0, 1.0], [0.0, 1.0, 0.0, 1.0])
    np.testing.assert_array_equal([a, b], 0.0)
    np.testing.assert_allclose(x, [0.0, 0.0, 1.0, 3.0], rtol=1e-15)
    second = xp.grad(xp.grad(lambda x: xp.special.gammainc(1.0, x)))(xp.asarray(0.0))
    assert float(second) == -1.0
    df, x = gradient("stdtr", [3.0, 3.0, 3.0], [0.0, np.inf, -np.inf])
    np.testing.assert_array_equal(df, 0.0)
    np.testing.assert_allclose(x, [2 / (np.pi * np.sqrt(3)), 0.0, 0.0], rtol=1e-14)


def test_what_is_outside_of_the_domain_is_nan():
    for name, arguments in {
        "gammainc": (-1.0, 2.0), "betainc": (-1.0, 2.0, 0.5), "stdtr": (-1.0, 2.0),
    }.items():  # fmt: skip
        assert all(np.isnan(g) for g in gradient(name, *arguments)), name


def test_a_complement_is_accurate_where_the_quantile_is_rounded_to_1():
    """1 - betainccinv(a, b, p) is betaincinv(b, a, p)."""
    found = gradient("betainccinv", 0.5, 0.5, 1e-9)
    mirrored = gradient("betaincinv", 0.5, 0.5, 1e-9)
    np.testing.assert_allclose(found, [-mirrored[1], -mirrored[0], -mirrored[2]], rtol=1e-10)


@pytest.mark.parametrize("name", ["gammainc", "betainc", "stdtr", "chndtr", "ncfdtr"])
def test_single_precision_is_computed_in_double(name):
    arguments = point(name).astype(np.float32)
    single = gradient(name, *arguments, dtype=np.float32)
    double = gradient(name, *arguments)
    assert all(g.dtype == np.float32 for g in single)
    np.testing.assert_allclose(single, double, rtol=2e-6)


def test_derivatives_of_several_orders_at_once():
    """Orders are data: each element has its own."""
    a, x = xp.asarray([2.0, 2.0, 5.0]), xp.asarray([1.0, 1.0, 7.0])
    both = FUNCTIONS["gammainc_by"](xp.asarray([1.0, 2.0, 3.0]), a, x)
    for i, n in enumerate([1, 2, 3]):
        np.testing.assert_allclose(
            float(both[i]), float(FUNCTIONS["gammainc_by"](n, a[i], x[i])), rtol=1e-13
        )


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("chdtr", (3.0, 2.0)), ("chdtrc", (3.0, 2.0)), ("betaincc", (2.0, 3.0, 0.4)),
        ("stdtr", (4.0, -1.3)), ("stdtrit", (4.0, 0.3)),
    ],
)  # fmt: skip
def test_scipys_functions_of_namespaces_give_scipys_bits(name, arguments):
    """SciPy has formulas of its own for namespaces without these: xp.special has them."""
    import scipy.special

    arrays = [xp.asarray([x, x]) for x in arguments]
    found = getattr(scipy.special, name)(*arrays)
    expected = getattr(scipy.special._ufuncs, name)(*arguments)
    np.testing.assert_array_equal(np.asarray(found), [expected] * 2)


def test_landaus_distribution_has_first_derivatives_by_data():
    from scipy.special import _ufuncs

    x, h = 1.3, 1e-5
    slope = (_ufuncs._landau_cdf(x + h, 0, 1) - _ufuncs._landau_cdf(x - h, 0, 1)) / (2 * h)
    found = xp.grad(lambda x: FUNCTIONS["_landau_cdf"](x, 0.0, 1.0))(xp.asarray(x))
    np.testing.assert_allclose(float(found), slope, rtol=1e-9)
    p = _ufuncs._landau_cdf(x, 0, 1)
    found = xp.grad(lambda p: FUNCTIONS["_landau_ppf"](p, 0.0, 1.0))(xp.asarray(p))
    np.testing.assert_allclose(float(found), 1 / slope, rtol=1e-9)
