"""scikit-learn's preprocessing, exactly as installed."""

import numpy as np
import pytest
from array_api_compat import array_namespace
from sklearn import preprocessing

import arraytape as xp

pytestmark = pytest.mark.usefixtures("dispatching")
RNG = np.random.default_rng(0)
X = RNG.uniform(-1.5, 1.5, (8, 3))
WEIGHTS = RNG.uniform(0.5, 2.0, 8)
HOLES = RNG.uniform(size=X.shape) < 0.2


def with_holes(X):
    """X with NaN where HOLES says so."""
    here = array_namespace(X)
    return here.where(here.asarray(HOLES), here.asarray(np.nan), X)


def there_and_back(transformer, X):
    """A fitted transformer's result, and what the way back makes of another one."""
    Z = transformer.fit_transform(X)
    return [Z, transformer.inverse_transform(Z * Z)]


@pytest.mark.parametrize("with_mean", [True, False])
@pytest.mark.parametrize("with_std", [True, False])
def test_the_standard_scaler(differentiates, with_mean, with_std):
    def f(X):
        scaler = preprocessing.StandardScaler(with_mean=with_mean, with_std=with_std)
        return [*there_and_back(scaler, X), scaler.mean_, scaler.scale_, scaler.var_]

    differentiates(f, X, order=2)


def test_the_standard_scaler_with_sample_weights(differentiates):
    def f(X, weights):
        scaler = preprocessing.StandardScaler().fit(X, sample_weight=weights)
        return scaler.transform(X), scaler.mean_, scaler.var_

    differentiates(f, X, WEIGHTS, order=2)


def test_the_standard_scaler_fitted_in_parts(differentiates):
    def f(X, Y):
        scaler = preprocessing.StandardScaler().partial_fit(X).partial_fit(Y)
        return scaler.transform(X), scaler.transform(Y), scaler.var_

    differentiates(f, X[:5], X[5:], order=2)


def test_the_standard_scaler_writes_into_its_input_when_told_to(differentiates):
    def f(X):
        Y = X * X
        scaler = preprocessing.StandardScaler(copy=False)
        return scaler.fit_transform(Y), Y

    differentiates(f, X, order=2)


@pytest.mark.parametrize("scaler", [preprocessing.StandardScaler, preprocessing.MinMaxScaler])
def test_a_constant_column_has_scale_one_and_poisons_nothing(differentiates, scaler):
    def f(X):
        here = array_namespace(X)
        X = here.concat([X, here.full((8, 1), 0.7)], axis=1)
        return there_and_back(scaler(), X)

    differentiates(f, X, order=2)


@pytest.mark.parametrize(
    "scaler",
    [preprocessing.StandardScaler(), preprocessing.MinMaxScaler(), preprocessing.MaxAbsScaler()],
    ids=repr,
)
def test_missing_values_stay_missing_and_poison_nothing(differentiates, scaler):
    def f(X):
        here = array_namespace(X)
        Z = scaler.fit(with_holes(X)).transform(with_holes(X))
        return here.where(here.isnan(Z), here.asarray(0.0), Z)

    differentiates(f, X)


def test_missing_values_with_sample_weights(differentiates):
    def f(X, weights):
        scaler = preprocessing.StandardScaler().fit(with_holes(X), sample_weight=weights)
        return scaler.transform(X), scaler.var_

    differentiates(f, X, WEIGHTS)


@pytest.mark.parametrize("clip", [True, False])
def test_the_min_max_scaler(differentiates, clip):
    def f(X):
        scaler = preprocessing.MinMaxScaler(feature_range=(-1, 2), clip=clip).fit(X[:5, :])
        return scaler.transform(X), scaler.inverse_transform(X), scaler.data_range_

    differentiates(f, X, order=2)


def test_the_min_max_scaler_fitted_in_parts(differentiates):
    def f(X, Y):
        return preprocessing.MinMaxScaler().partial_fit(X).partial_fit(Y).transform(X)

    differentiates(f, X[:5], X[5:])


@pytest.mark.parametrize("clip", [True, False])
def test_the_max_abs_scaler(differentiates, clip):
    def f(X):
        scaler = preprocessing.MaxAbsScaler(clip=clip).fit(X[:5, :])
        return scaler.transform(X), scaler.inverse_transform(X), scaler.max_abs_

    differentiates(f, X, order=2)


@pytest.mark.parametrize("norm", ["l1", "l2", "max"])
@pytest.mark.parametrize("axis", [0, 1])
def test_normalize(differentiates, norm, axis):
    def f(X):
        return preprocessing.normalize(X, norm=norm, axis=axis)

    differentiates(f, X, order=2)


@pytest.mark.parametrize("norm", ["l1", "l2", "max"])
def test_a_row_of_zeros_is_left_as_it_is(differentiates, norm):
    def f(X):
        here = array_namespace(X)
        Y = X * here.asarray([[1.0], [0.0], [1.0], [1.0]])
        Z, norms = preprocessing.normalize(Y, norm=norm, return_norm=True)
        return preprocessing.Normalizer(norm=norm).fit_transform(X), Z, norms

    differentiates(f, X[:4])


def test_the_kernel_centerer(differentiates):
    def f(K, L):
        centerer = preprocessing.KernelCenterer().fit(K)
        return centerer.transform(K), centerer.transform(L)

    differentiates(f, X[:3] @ X[:3].T, X[3:5] @ X[:3].T, order=2)


@pytest.mark.parametrize("interaction_only", [True, False])
@pytest.mark.parametrize("include_bias", [True, False])
@pytest.mark.parametrize("degree", [1, 3, (2, 4)])
def test_polynomial_features(differentiates, degree, interaction_only, include_bias):
    def f(X):
        return preprocessing.PolynomialFeatures(
            degree, interaction_only=interaction_only, include_bias=include_bias
        ).fit_transform(X)

    differentiates(f, X[:3], order=2)


FUNCTIONS = {
    "minmax_scale": preprocessing.minmax_scale,
    "maxabs_scale": preprocessing.maxabs_scale,
    "a function transformer": lambda X: there_and_back(
        preprocessing.FunctionTransformer(
            lambda X: array_namespace(X).exp(X), lambda X: array_namespace(X).log(X)
        ),
        X,
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function(differentiates, name):
    differentiates(FUNCTIONS[name], X)


def test_scale_has_no_array_api_support_and_leaves_the_tape(leaves):
    assert (
        leaves(preprocessing.scale, X, at="sklearn/preprocessing/_data.py", how="np.asarray")
        is None
    )


def test_a_binarizer_writes_constants_over_all_elements(differentiates):
    differentiates(lambda X: preprocessing.Binarizer(threshold=0.1).fit_transform(X), X)
    data = xp.asarray(X)
    with xp.GradientTape() as tape:
        tape.watch(data)
        Z = preprocessing.Binarizer().fit_transform(data)
    np.testing.assert_array_equal(np.asarray(tape.gradient(Z, data)), np.zeros_like(X))


LABELS = np.asarray([3, 1, 1, 7, 3])
ENCODERS = {
    "LabelEncoder": lambda y: preprocessing.LabelEncoder().fit_transform(y),
    "LabelBinarizer": lambda y: preprocessing.LabelBinarizer().fit_transform(y),
    "LabelBinarizer, other labels": lambda y: preprocessing.LabelBinarizer(
        neg_label=-1, pos_label=3
    ).fit_transform(y),
    "label_binarize": lambda y: preprocessing.label_binarize(y, classes=[1, 3, 7]),
}


@pytest.mark.parametrize("name", ENCODERS)
def test_labels_are_encoded(has_values, name):
    has_values(ENCODERS[name], LABELS)


def test_labels_come_back(has_values):
    def f(y):
        encoder = preprocessing.LabelEncoder().fit(y)
        binarizer = preprocessing.LabelBinarizer().fit(y)
        return [
            encoder.inverse_transform(encoder.transform(y)),
            binarizer.inverse_transform(binarizer.transform(y)),
        ]

    has_values(f, LABELS)


def test_scores_are_matched_to_the_nearest_class(has_values):
    def f(y, scores):
        return preprocessing.LabelBinarizer().fit(y).inverse_transform(scores)

    has_values(f, LABELS, X)
