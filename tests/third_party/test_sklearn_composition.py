"""What puts scikit-learn's parts together: pipelines, cross-validation, searches, splits."""

import joblib
import numpy as np
import pytest
from array_api_compat import array_namespace
from sklearn import model_selection
from sklearn.compose import TransformedTargetRegressor
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import Ridge
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import MinMaxScaler, Normalizer, PolynomialFeatures, StandardScaler

import arraytape as xp

pytestmark = pytest.mark.usefixtures("dispatching")
RNG = np.random.default_rng(0)
X, NEW = RNG.normal(size=(12, 3)), RNG.normal(size=(4, 3))
Y = X @ [1.0, -0.5, 0.3] + 0.1 * RNG.normal(size=12)
CLASSES = np.asarray([0, 1, 2, 0, 1, 2, 1, 0, 2, 2, 1, 0])
WEIGHTS = RNG.uniform(0.5, 2.0, 12)
FEW, FEW_Y = X[:6, :2], Y[:6]
FOLDS = model_selection.KFold(3)


def ridge(alpha=0.5):
    return Ridge(alpha=alpha, solver="svd")


# --- pipelines ----------------------------------------------------------------------------------
def test_a_pipeline_from_data_to_prediction(differentiates):
    def f(X, y, new):
        model = make_pipeline(StandardScaler(), PolynomialFeatures(2), ridge())
        return model.fit(X, y).predict(new)

    # The bias, a constant feature, makes a singular value of 0, which Ridge leaves out.
    differentiates(f, X, Y, NEW, forward=False)


def test_a_pipeline_that_whitens_and_classifies(differentiates):
    def f(X, new, y):
        model = make_pipeline(
            StandardScaler(), PCA(2, svd_solver="full", whiten=True), LinearDiscriminantAnalysis()
        )
        return model.fit(X, y).predict_proba(new)

    differentiates(f, X, NEW, constants=(CLASSES,), rtol=1e-6)


def test_a_pipeline_there_and_back(differentiates):
    def f(X):
        model = make_pipeline(MinMaxScaler(), StandardScaler(), PCA(2, svd_solver="full"))
        return model.inverse_transform(model.fit_transform(X))

    differentiates(f, X, rtol=1e-6)


def test_sample_weights_of_one_step(differentiates):
    def f(X, y, weights):
        model = make_pipeline(StandardScaler(), ridge())
        model.fit(X, y, standardscaler__sample_weight=weights, ridge__sample_weight=weights)
        return model.predict(X)

    differentiates(f, X, Y, WEIGHTS)


def union(**options):
    parts = [("scaled", StandardScaler()), ("directions", Normalizer()), ("same", "passthrough")]
    return FeatureUnion(parts, **options)


def test_a_union_of_features(differentiates):
    def f(X):
        weighted = union(transformer_weights={"scaled": 2.0})
        return weighted.fit_transform(X), union().fit(X).transform(X)

    differentiates(f, X, order=2)


def test_parts_that_run_in_threads_do_not_record_and_say_so(leaves):
    def f(X):
        parts = [("directions", Normalizer()), ("powers", PolynomialFeatures(2))]
        with joblib.parallel_config(backend="threading"):
            return FeatureUnion(parts, n_jobs=2).fit_transform(X)

    assert leaves(f, X, at="sklearn/.*", how="in another thread") == [None]


def test_a_regressor_of_a_transformed_target(differentiates):
    def f(X, y):
        here = array_namespace(X)
        model = TransformedTargetRegressor(
            ridge(), func=here.sinh, inverse_func=here.asinh, check_inverse=False
        )
        return model.fit(X, y).predict(X)

    differentiates(f, X, Y)


# --- cross-validation -----------------------------------------------------------------------------
def test_predictions_of_held_out_samples(differentiates):
    def f(X, y):
        return model_selection.cross_val_predict(ridge(), X, y, cv=FOLDS)

    differentiates(f, FEW, FEW_Y, order=2)


def test_probabilities_of_held_out_samples(differentiates):
    def f(X, y):
        return model_selection.cross_val_predict(
            LinearDiscriminantAnalysis(), X, y, cv=2, method="predict_proba"
        )

    differentiates(f, X[:8, :2], constants=(CLASSES[:8] % 2,), rtol=1e-6)


def test_the_gradient_of_a_hyperparameter_through_cross_validation(differentiates):
    def f(alpha, X, y):
        errors = y - model_selection.cross_val_predict(ridge(alpha), X, y, cv=FOLDS)
        return errors @ errors

    differentiates(f, np.asarray(0.5), constants=(X, Y), order=2)


def test_a_hyperparameter_inside_a_pipeline(differentiates):
    def f(alpha, X, y):
        model = make_pipeline(StandardScaler(), ridge(alpha))
        return y - model_selection.cross_val_predict(model, X, y, cv=FOLDS)

    differentiates(f, np.asarray(0.5), constants=(X, Y), order=2)


def test_the_models_of_the_folds(differentiates):
    def f(X, y):
        found = model_selection.cross_validate(
            ridge(), X, y, cv=FOLDS, scoring=lambda model, X, y: 0.0, return_estimator=True
        )
        return [model.coef_ for model in found["estimator"]]

    differentiates(f, FEW, FEW_Y)


def test_scores_of_folds_are_floats(leaves):
    def f(X, y):
        return model_selection.cross_val_score(ridge(), X, y, cv=FOLDS)

    assert leaves(f, X, Y, at="sklearn/metrics/_regression.py", how="float") is None


@pytest.mark.slow
@pytest.mark.nightly
def test_a_search_chooses_by_floats_and_fits_with_gradients(differentiates):
    def f(X, y):
        search = model_selection.GridSearchCV(ridge(), {"alpha": [0.1, 10.0]}, cv=FOLDS)
        return search.fit(X, y).predict(X), search.best_estimator_.coef_

    differentiates(f, FEW, FEW_Y, warns=r"sklearn.metrics._regression\.py:\d+ \(float")


def test_the_jacobian_of_predictions_is_the_hat_matrix():
    data, target = xp.asarray(X), xp.asarray(Y)
    with xp.GradientTape() as tape:
        tape.watch(target)
        predicted = ridge().fit(data, target).predict(data)
    centred = X - X.mean(axis=0)
    inverse = np.linalg.inv(centred.T @ centred + 0.5 * np.eye(3))
    hat = centred @ inverse @ centred.T + 1.0 / len(X)
    np.testing.assert_allclose(np.asarray(tape.jacobian(predicted, target)), hat, atol=1e-12)


# --- splits: rows that are taken ------------------------------------------------------------------
def test_train_and_test_parts(differentiates):
    def f(X, y):
        parts = model_selection.train_test_split(X, y, test_size=0.25, random_state=0)
        return parts, ridge().fit(parts[0], parts[2]).predict(parts[1])

    differentiates(f, X, Y, order=2)


@pytest.mark.parametrize(
    "splits",
    [
        FOLDS,
        model_selection.StratifiedKFold(3),
        model_selection.ShuffleSplit(2, random_state=0),
        model_selection.StratifiedShuffleSplit(2, test_size=3, random_state=0),
        model_selection.LeavePOut(11),
    ],
    ids=lambda splits: type(splits).__name__,
)
def test_folds(differentiates, splits):
    def f(X, y):
        return [X[train, ...] for train, _ in splits.split(X, y)]

    differentiates(f, X, constants=(CLASSES,))
