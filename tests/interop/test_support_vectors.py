"""Fits of libsvm's machines in a context of interop."""

from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

import arraytape as xp
from arraytape import implicit, interop
from helpers.exact_vectors import Exact
from helpers.fit_checks import check_fit, same_attributes

RNG = np.random.default_rng(3)
X = RNG.normal(size=(40, 4))
Y = X @ [1.0, -1.0, 0.5, 0.0] + 0.3 * RNG.normal(size=40) + 0.5
WEIGHTS = RNG.uniform(0.5, 2.0, size=40)
LABELS = (X[:, 0] + 0.8 * RNG.normal(size=40) > 0).astype(int)
THREE = np.digitize(X[:, 0] + 0.5 * X[:, 1] + 0.5 * RNG.normal(size=40), [-0.5, 0.5])
NEW = RNG.normal(size=(5, 4))
OF_NUMBERS = {"X": X, "y": Y, "sample_weight": WEIGHTS}
OF_LABELS = {"X": X, "y": LABELS, "sample_weight": WEIGHTS}
OF_THREE = {"X": X, "y": THREE, "sample_weight": WEIGHTS}
TUBE = {"C": 1.0, "epsilon": 0.2}
TIGHT = {"tol": 1e-12}


def decided(model):
    return model.decision_function(NEW)


def predicted(model):
    return model.predict(NEW)


def polynomial(A, B):
    return (A @ B.T + 1.0) ** 2


EXACT = {
    "rbf": (SVR, predicted, OF_NUMBERS, {**TUBE, "gamma": 0.3}, {}),
    "gamma of the data": (SVR, predicted, OF_NUMBERS, TUBE, {}),
    "linear": (SVR, predicted, OF_NUMBERS, TUBE, {"kernel": "linear"}),
    "polynomial": (SVR, predicted, OF_NUMBERS, {**TUBE, "gamma": 0.3, "coef0": 1.0}, {"kernel": "poly"}),
    "sigmoid": (SVR, predicted, OF_NUMBERS, {**TUBE, "gamma": 0.1, "coef0": 0.1}, {"kernel": "sigmoid"}),
    "classes": (SVC, decided, OF_LABELS, {"C": 1.0, "gamma": 0.3}, {}),
    "balanced": (SVC, decided, OF_LABELS, {"C": 1.0, "gamma": 0.3}, {"class_weight": "balanced"}),
}  # fmt: skip


@pytest.mark.parametrize("name", EXACT)
def test_machines_against_refits_in_double_precision(name):
    kind, output, data, hyper, parameters = EXACT[name]
    check_fit(partial(kind, **TIGHT, **parameters), output, data, hyper, h=1e-5, refit=Exact)


# libsvm rounds kernels to single precision: so far its own refits tell derivatives.
ROUGH = {
    "a function": (SVR, predicted, OF_NUMBERS, {"C": 0.1, "epsilon": 0.2}, {"kernel": polynomial}),
    "nu of a tube": (NuSVR, predicted, OF_NUMBERS, {"C": 1.0, "nu": 0.6, "gamma": 0.3}, {}),
    "nu of classes": (NuSVC, decided, OF_LABELS, {"nu": 0.4, "gamma": 0.3}, {}),
    "nu of three": (NuSVC, decided, {"X": X, "y": THREE}, {"nu": 0.4, "gamma": 0.3}, {}),
    "three classes": (SVC, decided, OF_THREE, {"C": 1.0, "gamma": 0.3}, {"class_weight": {0: 2.0}}),
    "each pair": (SVC, decided, OF_THREE, {"C": 1.0}, {"decision_function_shape": "ovo"}),
    "coefficients": (SVC, lambda m: m.coef_, {"X": X, "y": THREE}, {"C": 1.0}, {"kernel": "linear"}),
    "one class": (
        OneClassSVM, decided, {"X": X, "sample_weight": WEIGHTS}, {"nu": 0.4, "gamma": 0.3}, {},
    ),
    "scores": (OneClassSVM, lambda m: m.score_samples(NEW), {"X": X}, {"nu": 0.4, "gamma": 0.3}, {}),
}  # fmt: skip


@pytest.mark.parametrize("name", ROUGH)
def test_machines_against_their_own_refits(name):
    kind, output, data, hyper, parameters = ROUGH[name]
    check_fit(partial(kind, **TIGHT, **parameters), output, data, hyper, h=2e-4, rtol=5e-3)


def test_a_kernel_that_is_given():
    gram, new = np.exp(-0.3 * squares(X, X)), np.exp(-0.3 * squares(NEW, X))
    along = RNG.normal(size=gram.shape)
    along = along + along.T

    def predicted(K):
        return SVR(kernel="precomputed", tol=1e-12).fit(K, Y).predict(new)

    with interop.sklearn():
        slope = xp.jvp(predicted, (xp.asarray(gram),), (xp.asarray(along),))[1]
    h = 1e-4
    expected = (predicted(gram + h * along) - predicted(gram - h * along)) / (2.0 * h)
    np.testing.assert_allclose(np.asarray(slope), expected, rtol=1e-2)


def squares(A, B):
    return np.sum((A[:, None] - B) ** 2, axis=-1)


def test_at_the_default_tolerance_the_derivative_is_that_of_tight_fits():
    found = []
    for tol in (1e-3, 1e-12):
        C = xp.asarray(1.0)
        with interop.sklearn(), xp.GradientTape() as tape:
            tape.watch(C)
            model = SVR(C=C, tol=tol).fit(X, Y)
            total = xp.sum(model.predict(NEW) ** 2)
        same_attributes(model, SVR(C=1.0, tol=tol).fit(X, Y))
        found.append(float(tape.gradient(total, C)))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-2)


def test_second_derivatives():
    def loss(epsilon):
        return xp.sum(SVR(C=2.0, gamma=0.2, epsilon=epsilon, tol=1e-12).fit(X, Y).predict(NEW) ** 2)

    with interop.sklearn():
        curvature = xp.hessian(loss)(xp.asarray(0.2))
        ends = [xp.grad(loss)(xp.asarray(0.2 + h)) for h in (1e-4, -1e-4)]
    np.testing.assert_allclose(float(curvature), float(ends[0] - ends[1]) / 2e-4, rtol=1e-4)


def test_labels_are_numpys():
    with interop.sklearn():
        model = SVC().fit(xp.asarray(X), THREE)
        np.testing.assert_array_equal(
            model.predict(xp.asarray(NEW)), SVC().fit(X, THREE).predict(NEW)
        )
        assert model.score(xp.asarray(X), THREE) == SVC().fit(X, THREE).score(X, THREE)


REFUSED = {
    "probabilities": (lambda: SVC(probability=True), X, "random cross-validation"),
    "sparse": (lambda: SVC(C=xp.asarray(1.0)), sparse.csr_array(X), "sparse"),
    "an exponent": (lambda: SVC(kernel="poly", degree=xp.asarray(3)), X, "degree"),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.filterwarnings("ignore:The `probability`:FutureWarning")
def test_what_has_no_derivative_is_refused_with_its_reason(name):
    make, data, why = REFUSED[name]
    model = make()
    with interop.sklearn(), pytest.raises(TypeError, match=why):
        model.fit(xp.asarray(data) if isinstance(data, np.ndarray) else data, LABELS)
    assert not hasattr(model, "support_")


def test_a_sample_that_is_about_to_become_a_support_vector_is_refused():
    model = SVR(epsilon=0.2, tol=1e-9).fit(X, Y)
    within = np.setdiff1d(np.arange(len(Y)), model.support_)[0]
    targets = (
        Y.copy()
    )  # what lies within the tube has no part in the fit, but for a moment at its border
    targets[within] = model.predict(X)[within] + 0.2 * (1.0 - 1e-8)
    with (
        interop.sklearn(),
        pytest.raises(implicit.NotASolution, match=f"sample {within} is about to"),
    ):
        SVR(epsilon=0.2, tol=1e-9).fit(xp.asarray(X), targets)


def test_a_machine_without_a_vector_on_its_margin_is_refused():
    with interop.sklearn(), pytest.raises(implicit.NotASolution, match="margin"):
        SVR(C=1e-6).fit(xp.asarray(X), Y)
