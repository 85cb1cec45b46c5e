"""Maximum-likelihood fits whose likelihood is made of special functions end at SciPy's own estimates."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special
import scipy.stats
from scipy.optimize import minimize

import arraytape as xp
from arraytape.optimizers import minimize_scipy

# A line search compares losses: near the minimum they differ by the square of the gradient, which
# float64 must still tell from 0.
SEARCH = {"jac": True, "method": "BFGS", "options": {"gtol": 1e-7}}
DATA = scipy.stats.gamma(2.7, scale=1.6).rvs(400, random_state=np.random.default_rng(7))


def of_theta(negative_log_likelihood):
    """Value and gradient on NumPy arrays, as ``minimize(jac=True)`` takes them."""

    def evaluate(theta):
        value, gradient = xp.value_and_grad(negative_log_likelihood)(xp.asarray(theta))
        return float(value), np.asarray(gradient)

    return evaluate


@pytest.mark.parametrize(
    "gammaln", [xp.special.gammaln, scipy.special.gammaln, scipy.special._ufuncs.gammaln]
)
def test_the_gamma_distribution_is_fitted_as_by_scipy(gammaln):
    x = xp.asarray(DATA)

    def loss(theta):
        shape, scale = xp.exp(theta[0]), xp.exp(theta[1])
        terms = (shape - 1) * xp.log(x) - x / scale - shape * xp.log(scale) - gammaln(shape)
        return -xp.mean(terms)

    found = minimize(of_theta(loss), [0.0, 0.0], **SEARCH)
    assert found.success, found.message
    shape, _, scale = scipy.stats.gamma.fit(DATA, floc=0)
    np.testing.assert_allclose(np.exp(found.x), [shape, scale], rtol=1e-7)


def test_the_gamma_distribution_is_fitted_with_its_hessian():
    x = xp.asarray(DATA)

    def loss(theta):
        terms = (theta[0] - 1) * xp.log(x) - x / theta[1] - theta[0] * xp.log(theta[1])
        return -xp.mean(terms - scipy.special.gammaln(theta[0]))

    found = minimize_scipy(
        loss, xp.asarray([1.0, 2.0]), method="trust-exact", options={"gtol": 1e-9}
    )
    assert found.success, found.message
    shape, _, scale = scipy.stats.gamma.fit(DATA, floc=0)
    np.testing.assert_allclose(np.asarray(found.x), [shape, scale], rtol=1e-7)


def test_censored_data_are_fitted_by_the_survival_function():
    """By the shape too, of which the survival function is a special function with a derivative."""
    limit = 4.0
    seen, censored = DATA[limit > DATA], int(np.sum(limit <= DATA))
    x = xp.asarray(seen)

    def loss(theta):
        shape, scale = xp.exp(theta[0]), xp.exp(theta[1])
        terms = (shape - 1) * xp.log(x) - x / scale - shape * xp.log(scale)
        beyond = xp.log(scipy.special.gammaincc(shape, limit / scale))
        total = xp.sum(terms) - len(seen) * scipy.special.gammaln(shape) + censored * beyond
        return -total / len(DATA)

    found = minimize(of_theta(loss), [0.0, 0.0], **SEARCH)
    assert found.success, found.message
    data = scipy.stats.CensoredData(uncensored=seen, right=np.full(censored, limit))
    shape, _, scale = scipy.stats.gamma.fit(data, floc=0)
    np.testing.assert_allclose(np.exp(found.x), [shape, scale], rtol=1e-3)


def test_students_t_is_fitted_by_its_degrees_of_freedom():
    x = scipy.stats.t(2.0, scale=2.0).rvs(500, random_state=np.random.default_rng(3))
    edges = np.linspace(-20, 20, 41)
    counts = xp.asarray(np.histogram(x, edges)[0].astype(float))

    def loss(theta):
        chances = scipy.special.stdtr(xp.exp(theta[0]), xp.asarray(edges) / xp.exp(theta[1]))
        return -xp.sum(counts * xp.log(chances[1:] - chances[:-1])) / 500

    found = minimize(of_theta(loss), [0.5, 0.5], **SEARCH)
    assert found.success, found.message
    free = minimize(lambda theta: float(loss(xp.asarray(theta))), [0.5, 0.5], method="Nelder-Mead",
                    options={"xatol": 1e-6, "fatol": 1e-12})  # fmt: skip
    np.testing.assert_allclose(found.x, free.x, atol=1e-4)
