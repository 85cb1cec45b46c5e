"""Elementary special functions where a formula alone is 0 / 0, and the functions of several ops."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.special as scipy_special
from scipy.special import _ufuncs

import arraytape as xp
from arraytape._tape import differentiation

inf, nan = math.inf, math.nan


def derivatives(function, *point):
    """The gradient and the Hessian at a point."""
    arrays = [xp.asarray(v) for v in point]
    with xp.GradientTape(persistent=True) as outer:
        outer.watch(arrays)
        with xp.GradientTape() as tape:
            tape.watch(arrays)
            y = function(*arrays)
        gradient = tape.gradient(y, arrays)
    hessian = [outer.gradient(g, arrays, unconnected_gradients="zero") for g in gradient]
    return [float(g) for g in gradient], [[float(h) for h in row] for row in hessian]


@pytest.mark.parametrize(
    ("name", "point", "gradient", "hessian"),
    [
        ("xlogy", (0.0, 2.0), [math.log(2), 0.0], [[0.0, 0.5], [0.5, 0.0]]),
        ("xlogy", (0.0, 0.0), [-inf, 0.0], [[0.0, inf], [inf, 0.0]]),
        ("xlogy", (2.0, -1.0), [nan, nan], None),
        ("xlog1py", (0.0, 1.0), [math.log(2), 0.0], [[0.0, 0.5], [0.5, 0.0]]),
        ("xlog1py", (1.0, -2.0), [nan, nan], None),
        ("entr", (0.0,), [inf], [[-inf]]),
        ("entr", (-1.0,), [nan], None),
        ("rel_entr", (0.0, 2.0), [-inf, 0.0], [[inf, -0.5], [-0.5, 0.0]]),
        ("rel_entr", (1.0, -1.0), [nan, nan], None),
        ("kl_div", (0.0, 2.0), [-inf, 1.0], [[inf, -0.5], [-0.5, 0.0]]),
        ("kl_div", (2.0, 2.0), [0.0, 0.0], [[0.5, -0.5], [-0.5, 0.5]]),
        ("expit", (inf,), [0.0], [[0.0]]),
        ("expit", (-inf,), [0.0], [[0.0]]),
        ("log_expit", (-inf,), [1.0], [[0.0]]),
        ("softplus", (inf,), [1.0], [[0.0]]),
        ("softplus", (0.0,), [0.5], [[0.25]]),
        ("logit", (0.0,), [inf], [[-inf]]),
        ("logit", (1.5,), [nan], None),
        ("sinc", (0.0,), [0.0], [[-(math.pi**2) / 3]]),
        ("huber", (1.0, 1.0), [0.0, 1.0], [[0.0, 0.0], [0.0, 1.0]]),
        ("huber", (-1.0, 1.0), [nan, nan], None),
        ("pseudo_huber", (0.0, 0.0), [0.0, 0.0], None),
        ("pseudo_huber", (0.0, 1.0), [1.0, 0.0], [[-2.0, 1.0], [1.0, 0.0]]),
        ("boxcox", (0.0, 2.0), [0.0, 0.25], None),
        ("boxcox", (-1.0, 2.0), [nan, nan], None),
        ("boxcox1p", (-1.0, 1.0), [1.0, 1.0], None),
        ("exprel", (0.0,), [0.5], [[1 / 3]]),
        ("agm", (1.0, 1.0), [0.5, 0.5], [[-0.125, 0.125], [0.125, -0.125]]),
        ("erfinv", (1.0,), [inf], [[inf]]),
        ("log_ndtr", (40.0,), [0.0], [[0.0]]),
        ("log_ndtr", (-1e5,), [1e5 + 1e-5], [[-1.0]]),
        ("rgamma", (0.0,), [1.0], [[2 * np.euler_gamma]]),
        ("rgamma", (-1.0,), [-1.0], None),
        ("loggamma", (-1.5,), [nan], None),
        ("exp1", (-1.0,), [nan], None),
        ("spence", (1.0,), [-1.0], [[0.5]]),
        ("powm1", (0.0, 2.0), [0.0, 0.0], None),
        ("voigt_profile", (1.0, 0.0, 1.0), [-0.5 / math.pi, 0.0, 0.0], None),
        ("tklmbda", (0.7, 2.0), [0.0, 0.0], None),
    ],
)
def test_derivatives_at_special_points(name, point, gradient, hessian):
    found, second = derivatives(getattr(xp.special, name), *point)
    np.testing.assert_allclose(found, gradient, rtol=1e-12, atol=1e-300)
    if hessian is not None:
        np.testing.assert_allclose(second, hessian, rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("x", [0.5, 5.0, 12.0, 13.1])
def test_derivatives_of_log_ndtr_in_single_precision_far_above_zero(x):
    """There ``erfcx``, of which the slope is a quotient, overflows in float32."""

    def derivatives_in(dtype):
        f, found = xp.special.log_ndtr, []
        for _ in range(3):
            f = xp.grad(f)
            found.append(float(f(xp.asarray(np.float32(x), dtype=dtype))))
        return found

    np.testing.assert_allclose(derivatives_in(xp.float32), derivatives_in(xp.float64), rtol=1e-4)


@pytest.mark.parametrize("values", [[17.0, 0.2, -50.0], [50.0, 1.0, -3.0], [400.0, -1.0, 30.0]])
def test_derivatives_of_softmax_at_a_share_of_nearly_1_have_all_digits(values):
    x = xp.asarray(values)
    a, b = (math.exp(v - values[0]) for v in values[1:])
    total = math.fsum([1.0, a, b])
    first = np.asarray([(a + b) / total, -a / total, -b / total]) / total
    np.testing.assert_allclose(np.asarray(xp.special.softmax(x)), scipy_special.softmax(values))
    found = xp.grad(lambda x: xp.special.softmax(x)[0])(x)
    np.testing.assert_allclose(np.asarray(found), first, rtol=1e-13)
    second = xp.hessian(lambda x: xp.special.softmax(x)[0])(x)
    expected = first * (a + b - 1.0) / total  # by x[0] once more
    np.testing.assert_allclose(np.asarray(second)[0], expected, rtol=1e-13)


def test_a_pseudo_huber_loss_without_width_has_no_curvature_at_its_tip():
    hessian = derivatives(xp.special.pseudo_huber, 0.0, 0.0)[1]
    assert np.isnan(hessian).any(axis=0).all()


POINTS = [
    [0.0, 0.0, 0.0], [1.0, 2.0, 2.0], [1000.0, 1000.0], [-np.inf, 0.0, 0.0], [3.0, -40.0],
]  # fmt: skip


@pytest.mark.parametrize("weights", [None, [0.5, -2.0, 1.0], [1.0, 0.0, 3.0]])
@pytest.mark.parametrize("with_sign", [False, True])
@pytest.mark.parametrize(
    "values", [[1.0, 2.0, -0.5], [3.0, 3.0, 3.0], [900.0, 1.0, -900.0], [-inf, 1.0, 2.0]]
)
def test_derivatives_of_logsumexp_need_no_guarded_pass(monkeypatch, values, with_sign, weights):
    """A second pass, which a NaN on the way asks for, takes several times as long as the first."""
    passes, b = [], None if weights is None else xp.asarray(weights)
    monkeypatch.setattr(differentiation, "log_guarded_rerun", lambda: passes.append("guarded"))

    def f(x):
        found = xp.special.logsumexp(x, b=b, return_sign=with_sign)
        return found[0] if with_sign else found

    x = xp.asarray(values)
    if (
        weights is None
        or with_sign
        or np.dot(weights, np.exp(np.subtract(values, max(values)))) > 0.0
    ):
        assert np.isfinite(np.asarray(xp.grad(f)(x))).all()
        assert np.isfinite(np.asarray(xp.hessian(f)(x))).all()
    assert passes == []


@pytest.mark.parametrize("values", POINTS)
def test_logsumexp_has_second_derivatives_in_ties(values):
    x = xp.asarray(values)
    p = scipy_special.softmax(np.asarray(values))
    assert float(xp.special.logsumexp(x)) == scipy_special.logsumexp(np.asarray(values))
    np.testing.assert_allclose(np.asarray(xp.grad(xp.special.logsumexp)(x)), p, rtol=1e-14)
    if np.isfinite(values).all():
        hessian = np.asarray(xp.hessian(xp.special.logsumexp)(x))
        np.testing.assert_allclose(hessian, np.diag(p) - np.outer(p, p), rtol=1e-12, atol=1e-20)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ([0.0, 1000.0], [1.0, 0.0]),
        ([0.0, 0.0], [1.0, 0.0]),
        ([0.3, 0.3 * (1 + 1e-15)], [1.0, -1.0]),  # the sum is what rounding leaves
        ([-np.inf, 0.0], [2.0, 1.0]),
        ([1 + 1j, 2.0], [1.0, -3.0]),
        ([], []),
    ],
)
def test_logsumexp_has_scipys_values_and_a_slope_by_its_weights(a, b):
    for return_sign in (False, True):
        found = xp.special.logsumexp(xp.asarray(a), b=xp.asarray(b), return_sign=return_sign)
        expected = scipy_special.logsumexp(np.asarray(a), b=np.asarray(b), return_sign=return_sign)
        for x, y in zip(np.atleast_1d(found), np.atleast_1d(expected), strict=True):
            # The last bit of a phase is ours: that of sign.
            np.testing.assert_allclose(np.asarray(x), y, rtol=4e-16)
    if a and np.isfinite(a[0]) and not np.iscomplexobj(np.asarray(a)) and 0.0 in b:
        slope = xp.grad(lambda b: xp.special.logsumexp(xp.asarray(a), b=b))(xp.asarray(b))
        with np.errstate(over="ignore"):
            np.testing.assert_allclose(np.asarray(slope), np.exp(np.asarray(a)), rtol=1e-14)


@pytest.mark.parametrize("return_sign", [False, True])
@pytest.mark.parametrize(
    ("a", "b"),
    [
        ([1.0, np.nan, 2.0], None),
        ([1.0, np.nan, 2.0], [1.0, 2.0, 3.0]),
        ([-np.inf, np.nan], [1.0, 2.0]),
        ([np.inf, np.nan, 1.0], [1.0, 2.0, 0.5]),
        ([1.0, 2.0], [1.0, np.nan]),
        ([1 + 1j, np.nan], [1.0, 2.0]),
    ],
)
def test_where_logsumexp_is_nan_so_are_all_slopes(a, b, return_sign):
    operands = [xp.asarray(x) for x in (a, b) if x is not None]
    with xp.GradientTape() as tape:
        tape.watch(operands)
        found = xp.special.logsumexp(*operands[:1], None, *operands[1:], return_sign=return_sign)
        y = xp.real(found[0] if return_sign else found)
    assert np.isnan(np.asarray(y))
    for slope in tape.gradient(y, operands):
        assert np.isnan(np.asarray(slope)).all()


def test_logsumexp_under_vmap():
    a, b = np.random.default_rng(0).normal(size=(2, 3, 4))
    b[:, 1] = b[:, 0] = 0.0
    rows = xp.vmap(lambda a, b: xp.special.logsumexp(a, b=b, return_sign=True))(
        xp.asarray(a), xp.asarray(b)
    )
    expected = scipy_special.logsumexp(a, b=b, axis=1, return_sign=True)
    for found, reference in zip(rows, expected, strict=True):
        np.testing.assert_array_equal(np.asarray(found), reference)


def test_logsumexp_with_factors_and_signs():
    a, b = xp.asarray([[0.3, -1.0], [2.0, 0.7]]), xp.asarray([[1.5, -2.0], [0.5, 3.0]])
    y, sign = xp.special.logsumexp(a, axis=1, b=b, return_sign=True)
    expected = scipy_special.logsumexp(np.asarray(a), axis=1, b=np.asarray(b), return_sign=True)
    np.testing.assert_array_equal(np.asarray(y), expected[0])
    np.testing.assert_array_equal(np.asarray(sign), expected[1])

    def plain(a, b):
        return xp.sum(xp.log(xp.abs(xp.sum(b * xp.exp(a), axis=1))))

    def ours(a, b):
        return xp.sum(xp.special.logsumexp(a, axis=1, b=b, return_sign=True)[0])

    for by in (0, 1):
        np.testing.assert_allclose(
            np.asarray(xp.hessian(ours, by)(a, b)),
            np.asarray(xp.hessian(plain, by)(a, b)),
            rtol=1e-12,
        )


@pytest.mark.parametrize("values", [*POINTS, [-np.inf, 0.0]])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_is_scipys(name, values):
    ours, scipys = getattr(xp.special, name), getattr(scipy_special, name)
    x = np.asarray([values, values[::-1]])
    np.testing.assert_array_equal(np.asarray(ours(xp.asarray(x), axis=1)), scipys(x, axis=1))
    hessian = np.asarray(xp.hessian(lambda x: ours(x)[0])(xp.asarray(values)))
    p = scipy_special.softmax(np.asarray(values))
    rows = np.diag(p) - np.outer(p, p)
    one = np.eye(len(p))[0] - p
    expected = p[0] * (np.outer(one, one) - rows) if name == "softmax" else -rows
    if np.isfinite(values).all():
        np.testing.assert_allclose(hessian, expected, rtol=1e-10, atol=1e-16)


@pytest.mark.parametrize("name", ["sici", "shichi", "fresnel", "modfresnelp", "modfresnelm"])
def test_functions_of_two_results(name):
    x = np.asarray([0.3, 1.7])
    for function in (getattr(xp.special, name), getattr(_ufuncs, name)):
        for found, expected in zip(function(xp.asarray(x)), getattr(_ufuncs, name)(x), strict=True):
            assert type(found) is xp.Array
            np.testing.assert_array_equal(np.asarray(found), expected)


def test_scipys_functions_called_on_arrays():
    x = np.asarray([2.5, 3.5])
    calls = [
        (scipy_special.zeta, (x,)), (scipy_special.zeta, (x, x)), (scipy_special.lambertw, (x,)),
        (scipy_special.lambertw, (x, -1)), (scipy_special.polygamma, (1, x)),
        (scipy_special.multigammaln, (x, 3)), (scipy_special.sinc, (x,)),
        (scipy_special.softplus, (x,)), (scipy_special.psi, (x,)), (scipy_special.round, (x,)),
    ]  # fmt: skip
    for function, arguments in calls:
        found = function(*[xp.asarray(v) if v is x else v for v in arguments])
        assert type(found) is xp.Array
        np.testing.assert_array_equal(np.asarray(found), function(*arguments))


def test_multigammaln_refuses_what_scipy_refuses():
    with pytest.raises(ValueError, match="must be above"):
        xp.special.multigammaln(xp.asarray([0.5]), 3)
    with pytest.raises(ValueError, match="positive integer"):
        xp.special.multigammaln(xp.asarray([5.0]), 2.5)


def test_elliprc_has_a_gradient_beside_a_python_number():
    x = xp.asarray(0.8)
    assert float(xp.grad(lambda x: xp.special.elliprc(x, 1.6))(x)) == pytest.approx(
        float(xp.grad(lambda x: xp.special.elliprc(x, xp.asarray(1.6)))(x))
    )


def test_a_python_number_leaves_the_precision_of_logsumexp():
    x = xp.asarray(np.asarray([0.7], np.float32))
    assert xp.special.logsumexp(0.1, b=x).dtype == xp.special.logsumexp(x, b=2.0).dtype == "float32"


def test_beyond_its_domain_nctdtr_of_a_python_number_has_a_real_gradient():
    x = xp.asarray([0.5])
    found = xp.grad(lambda x: xp.sum(xp.special.nctdtr(-0.7, x, 0.3)))(x)
    assert found.dtype == x.dtype
    assert np.isnan(float(found[0]))
