"""Fits of Gaussian processes in a context of interop, their search for hyperparameters included."""

import numpy as np
import pytest
from scipy import optimize
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel

import arraytape as xp
from arraytape import implicit, interop
from helpers.fit_checks import check_fit, same_attributes

RNG = np.random.default_rng(3)
X = RNG.uniform(-2.0, 2.0, size=(12, 2))
Y = np.sin(X[:, 0]) + 0.3 * X[:, 1] + 0.1 * RNG.normal(size=12)
NEW = RNG.uniform(-2.0, 2.0, size=(4, 2))
OF_ONE = {"X": X, "y": Y}
OF_TWO = {"X": X, "y": np.stack([Y, Y**2], axis=1)}


def thorough(f, start, bounds):
    """A search that ends at the maximum to rounding, by Newton steps."""
    theta = optimize.minimize(f, start, jac=True, bounds=bounds, method="L-BFGS-B").x
    for _ in range(6):
        steps = 1e-4 * np.eye(len(theta))
        hessian = np.asarray([(f(theta + e)[1] - f(theta - e)[1]) / 2e-4 for e in steps])
        theta = theta - np.linalg.solve(hessian, f(theta)[1])
    return theta, f(theta)[0]


def searched(alpha=1e-2, constant=None, **parameters):
    first = ConstantKernel(1.0) if constant is None else ConstantKernel(constant, "fixed")
    return GaussianProcessRegressor(first * RBF(1.0), alpha=alpha, optimizer=thorough, **parameters)


def given(alpha=1e-2, length_scale=1.0, constant=1.0):
    kernel = ConstantKernel(constant) * RBF(length_scale)
    return GaussianProcessRegressor(kernel, alpha=alpha, optimizer=None)


def rough(alpha=1e-2):
    kernel = ConstantKernel(1.0) * Matern([1.0, 1.0], nu=2.5)
    return GaussianProcessRegressor(kernel, alpha=alpha, optimizer=thorough)


def mean(model):
    return model.predict(NEW)


OUTPUTS = {
    "mean": mean,
    "deviation": lambda model: model.predict(NEW, return_std=True)[1],
    "covariance": lambda model: model.predict(NEW, return_cov=True)[1],
    "likelihood": lambda model: model.log_marginal_likelihood_value_,
    "hyperparameters": lambda model: model.kernel_.theta,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", OUTPUTS)
@pytest.mark.every(3)
def test_what_a_searched_process_says(name):
    check_fit(searched, OUTPUTS[name], OF_ONE, {"alpha": 0.05}, forward=name == "hyperparameters")


PROCESSES = {
    "what is given": (given, OF_ONE, {"alpha": 0.05, "length_scale": 0.7, "constant": 1.3}),
    "a length for each feature": (given, OF_ONE, {"length_scale": np.asarray([0.7, 1.1])}),
    "one that is fixed": (searched, OF_ONE, {"constant": 1.5}),
    "a noise for each sample": (searched, OF_ONE, {"alpha": np.linspace(0.01, 0.1, 12)}),
    "two outputs": (searched, OF_TWO, {}),
}  # fmt: skip


SLOW = ("a noise for each sample", "two outputs")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in PROCESSES]
)
def test_processes(name):
    make, data, hyper = PROCESSES[name]
    check_fit(make, mean, data, hyper, forward=False)


@pytest.mark.slow
def test_targets_that_are_normalised():
    check_fit(
        lambda alpha: searched(alpha, normalize_y=True),
        mean,
        OF_ONE,
        {"alpha": 0.05},
        forward=False,
    )


@pytest.mark.slow
def test_another_kernel():
    check_fit(rough, mean, OF_ONE, {"alpha": 0.01}, forward=False)


def test_the_default_process_has_scikit_learns_values():
    plain = GaussianProcessRegressor(ConstantKernel() * RBF(), alpha=0.05).fit(X, Y)
    with interop.sklearn():
        found = GaussianProcessRegressor(ConstantKernel() * RBF(), alpha=0.05).fit(xp.asarray(X), Y)
        same_attributes(found, plain)
        np.testing.assert_array_equal(np.asarray(found.kernel_.theta), plain.kernel_.theta)
        np.testing.assert_allclose(np.asarray(found.predict(NEW)), plain.predict(NEW), rtol=1e-13)
        assert str(found.kernel_) == str(plain.kernel_)


@pytest.mark.filterwarnings("ignore:The optimal value found")
def test_a_hyperparameter_at_its_bound_stays_there():
    def make(alpha):
        kernel = ConstantKernel(1.0) * RBF(1.0, (1e-2, 1.0))
        return GaussianProcessRegressor(kernel, alpha=alpha)

    assert make(0.05).fit(X, Y).kernel_.theta[1] == 0.0
    with interop.sklearn(), xp.GradientTape() as tape:
        alpha = xp.asarray(0.05)
        tape.watch(alpha)
        theta = make(alpha).fit(X, Y).kernel_.theta
    slope = np.asarray(tape.jacobian(theta, alpha))
    ends = [make(0.05 + h).fit(X, Y).kernel_.theta for h in (1e-3, -1e-3)]
    assert slope[1] == 0.0
    np.testing.assert_allclose(slope[0], (ends[0] - ends[1])[0] / 2e-3, rtol=1e-2)


def test_a_likelihood_without_a_single_maximum_is_told():
    # Two kinds of noise of which only the sum matters: singular but for rounding.
    kernel = RBF(1.0) + WhiteKernel(0.1) + WhiteKernel(0.1)
    told = (implicit.NotASolution, xp.TapeWarning)
    with interop.sklearn(), pytest.raises(told, match=r"singular|minimum|ill-conditioned"):
        GaussianProcessRegressor(kernel).fit(xp.asarray(X), Y)


def test_the_classifier_is_refused_with_its_reason():
    with interop.sklearn(), pytest.raises(TypeError, match="Newton steps of its own"):
        GaussianProcessClassifier().fit(xp.asarray(X), Y > 0)
