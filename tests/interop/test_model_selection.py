"""Cross-validated scores and ensembles on Arrays: scikit-learn's values, and the slopes of refits."""

import numpy as np
import pytest
from joblib import parallel_backend
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.feature_selection import RFECV
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import make_scorer, mean_absolute_error
from sklearn.model_selection import (
    GridSearchCV,
    RandomizedSearchCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    permutation_test_score,
    validation_curve,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import arraytape as xp
from arraytape import interop

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 4))
Y = X[:, 0] - 0.3 * X[:, 1] ** 2 + 0.3 * RNG.normal(size=40)
LABELS = np.arange(40) % 2
NEW = RNG.normal(size=(5, 4))
MEMBERS = [("ridge", Ridge()), ("kernel", KernelRidge(kernel="rbf", gamma=0.1))]
GRID = {"alpha": [0.1, 1.0, 10.0]}


def several(X, y):
    options = {"scoring": ("r2", "neg_mean_squared_error"), "return_train_score": True}
    found = cross_validate(Ridge(), X, y, cv=3, **options)
    return found["test_r2"].mean() + found["train_neg_mean_squared_error"].std()


def vote(X, y):
    members = [
        ("line", LogisticRegression(tol=1e-12, solver="newton-cholesky")),
        ("b", GaussianNB()),
    ]
    return VotingClassifier(members, voting="soft").fit(X, LABELS).predict_proba(NEW)[:, 0].sum()


PROGRAMS = {
    "scores": lambda X, y: cross_val_score(Ridge(), X, y, cv=3).mean(),
    "of a pipeline": lambda X, y: cross_val_score(
        make_pipeline(MinMaxScaler(), Ridge()), X, y, cv=3
    ).std(),
    "several metrics": several,
    "a metric by name": lambda X, y: cross_val_score(
        Ridge(), X, y, scoring=make_scorer(mean_absolute_error)
    ).sum(),
    "a function": lambda X, y: cross_val_score(
        Ridge(), X, y, cv=3, scoring=lambda m, X, y: ((m.predict(X) - y) ** 2).mean()
    ).sum(),
    "a parameter": lambda X, y: cross_val_score(Ridge(alpha=X[0, 0] ** 2), X, y, cv=3).sum(),
    "grid search": lambda X, y: GridSearchCV(Ridge(), GRID, cv=3).fit(X, y).best_score_,
    "its table": lambda X, y: (
        GridSearchCV(Ridge(), GRID, cv=3).fit(X, y).cv_results_["std_test_score"].sum()
    ),
    "its parameters": lambda X, y: (
        GridSearchCV(Ridge(), {"alpha": [X[0, 0] ** 2, 2.0]}, cv=3).fit(X, y).predict(NEW).sum()
    ),
    "random search": lambda X, y: (
        RandomizedSearchCV(Ridge(), GRID, cv=3, n_iter=2, random_state=0).fit(X, y).best_score_
    ),
    "learning curve": lambda X, y: learning_curve(Ridge(), X, y, cv=3, train_sizes=[0.5])[2].sum(),
    "validation curve": lambda X, y: validation_curve(
        Ridge(), X, y, cv=3, param_name="alpha", param_range=[0.5, 2.0]
    )[1].sum(),
    "permutations": lambda X, y: permutation_test_score(
        Ridge(), X, y, cv=3, n_permutations=3, random_state=0
    )[0],
    "eliminated features": lambda X, y: (
        RFECV(Ridge(), cv=3).fit(X, y).cv_results_["mean_test_score"].sum()
    ),
    "votes": lambda X, y: VotingRegressor(MEMBERS, weights=[0.3, 0.7]).fit(X, y).predict(NEW).sum(),
    "votes' columns": lambda X, y: VotingRegressor(MEMBERS).fit(X, y).transform(NEW)[0, 1],
    "votes of classes": vote,
    "stacks": lambda X, y: (
        StackingRegressor(MEMBERS, LinearRegression(), cv=3).fit(X, y).predict(NEW).sum()
    ),
    "bags": lambda X, y: (
        BaggingRegressor(Ridge(), 5, max_features=0.5, random_state=0).fit(X, y).predict(NEW).sum()
    ),
    "bags by weights": lambda X, y: (
        BaggingRegressor(Ridge(), 5, max_samples=0.5, random_state=0)
        .fit(X, y, sample_weight=abs(y) + 1.0)
        .predict(NEW)
        .sum()
    ),
    "out of the bag": lambda X, y: (
        BaggingRegressor(Ridge(), 20, oob_score=True, random_state=0).fit(X, y).oob_score_
    ),
    "bags of classes": lambda X, y: (
        BaggingClassifier(GaussianNB(), 4, random_state=0)
        .fit(X, LABELS)
        .predict_proba(NEW)[:, 0]
        .sum()
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.filterwarnings("error")
@pytest.mark.every(3)
def test_values_are_scikit_learns_and_slopes_those_of_refits(name):
    f = PROGRAMS[name]
    directions = RNG.normal(size=X.shape), RNG.normal(size=Y.shape)
    with interop.sklearn():
        value, slopes = xp.value_and_grad(f, argnums=(0, 1))(X, Y)
        (tangent,) = (xp.jvp(f, (X, Y), directions)[1],)
    np.testing.assert_allclose(value, f(X, Y), rtol=1e-12)
    along = sum(np.sum(g * d) for g, d in zip(slopes, directions, strict=True))
    np.testing.assert_allclose(tangent, along, rtol=1e-8, atol=1e-10)
    ends = [f(*(x + h * d for x, d in zip((X, Y), directions, strict=True))) for h in (1e-5, -1e-5)]
    np.testing.assert_allclose(along, (ends[0] - ends[1]) / 2e-5, rtol=1e-5, atol=1e-8)


def columns(*steps):
    return ColumnTransformer([("kept", "passthrough", [0]), *steps])


# Estimators that hold a followed parameter: in their attributes, or deeper in lists, tuples and dicts.
HOLDERS = {
    "pipeline": lambda a: make_pipeline(StandardScaler(), Ridge(alpha=a)),
    "nested pipelines": lambda a: make_pipeline(make_pipeline(StandardScaler(), Ridge(alpha=a))),
    "column transformer": lambda a: make_pipeline(
        columns(("scaled", MinMaxScaler((0.0, a)), [1, 2, 3])), Ridge()
    ),
    "union": lambda a: make_pipeline(
        FeatureUnion([("one", StandardScaler()), ("two", MinMaxScaler((0.0, a)))]),
        Ridge(),
    ),
    "target": lambda a: TransformedTargetRegressor(
        make_pipeline(StandardScaler(), Ridge(alpha=a)), transformer=StandardScaler()
    ),
    "votes": lambda a: VotingRegressor([("pipeline", HOLDERS["pipeline"](a)), ("r", Ridge())]),
    "stack": lambda a: StackingRegressor(
        [("pipeline", HOLDERS["pipeline"](a)), ("r", Ridge())], LinearRegression(), cv=3
    ),
    "bag": lambda a: BaggingRegressor(HOLDERS["pipeline"](a), 3, random_state=0),
    "search": lambda a: GridSearchCV(
        make_pipeline(StandardScaler(), Ridge()), {"ridge__alpha": [a, 99.0 * a]}, cv=3
    ),
    "search among steps": lambda a: GridSearchCV(
        make_pipeline(StandardScaler(), Ridge()), {"ridge": [Ridge(alpha=a), Ridge(99.0)]}, cv=3
    ),
}  # fmt: skip
SCORES = {
    "scores": lambda m: cross_val_score(m, X, Y, cv=3).mean(),
    "errors": lambda m: cross_val_score(m, X, Y, cv=3, scoring="neg_mean_squared_error").std(),
    "validate": lambda m: cross_validate(m, X, Y, cv=3)["test_score"].mean(),
    "validate by keywords": lambda m: cross_validate(
        estimator=m, X=X, y=Y, cv=3, scoring=("r2", "neg_max_error")
    )["test_r2"].mean(),
    "learning curve": lambda m: learning_curve(m, X, Y, cv=3, train_sizes=[0.9])[2].sum(),
    "predict": lambda m: (cross_val_predict(m, X, Y, cv=3) ** 2).mean(),
    "score": lambda m: m.fit(X, Y).score(X, Y),
}


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.filterwarnings("error")
@pytest.mark.every(3)
def test_scores_have_the_slope_by_a_parameter_deep_in_an_estimator(holder, score):
    def f(a):
        return SCORES[score](HOLDERS[holder](a))

    with interop.sklearn():
        value, slope = xp.value_and_grad(f)(2.0)
    np.testing.assert_allclose(value, f(2.0), rtol=1e-10)
    np.testing.assert_allclose(slope, (f(2.0001) - f(1.9999)) / 2e-4, rtol=1e-5, atol=1e-9)
    assert slope != 0.0


def test_the_second_derivative_of_a_score_by_a_parameter():
    def score(alpha):
        return cross_val_score(Ridge(alpha=alpha), xp.asarray(X), Y, cv=3).mean()

    with interop.sklearn():
        found = xp.hessian(score)(xp.asarray(0.7))
        slope = xp.grad(score)
        wanted = (slope(xp.asarray(0.7001)) - slope(xp.asarray(0.6999))) / 2e-4
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


PARALLEL = {
    "scores": lambda X: cross_val_score(Ridge(), X, Y, cv=3, n_jobs=2).mean(),
    "a search": lambda X: GridSearchCV(Ridge(), GRID, cv=3, n_jobs=-1).fit(X, Y).best_score_,
    "bags": lambda X: (
        BaggingRegressor(Ridge(), 4, n_jobs=2, random_state=0).fit(X, Y).predict(X).std()
    ),
    "votes": lambda X: VotingRegressor(MEMBERS, n_jobs=2).fit(X, Y).predict(NEW).sum(),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", PARALLEL)
def test_jobs_run_where_the_tape_is(name):
    f, along = PARALLEL[name], RNG.normal(size=X.shape)
    with interop.sklearn():
        slope = xp.grad(f)(X)
    with parallel_backend("sequential"):
        ends = [f(X + h * along) for h in (1e-5, -1e-5)]
    np.testing.assert_allclose(np.sum(slope * along), (ends[0] - ends[1]) / 2e-5, rtol=1e-5)


def test_numpy_data_alone_is_left_to_scikit_learn():
    with interop.sklearn():
        found = cross_validate(Ridge(), X, Y, cv=3, scoring=("r2", "neg_max_error"))
    plain = cross_validate(Ridge(), X, Y, cv=3, scoring=("r2", "neg_max_error"))
    for name in ("test_r2", "test_neg_max_error"):
        assert type(found[name]) is np.ndarray
        np.testing.assert_array_equal(found[name], plain[name])


class Failing:
    def __call__(self, model, X, y):
        raise ArithmeticError("no score")


def test_a_scorer_that_fails_is_scored_as_scikit_learn_does():
    with interop.sklearn(), pytest.warns(UserWarning, match="Scoring failed"):
        found = cross_val_score(
            Ridge(), xp.asarray(X), Y, cv=3, scoring=Failing(), error_score=-1.0
        )
    assert found.tolist() == [-1.0, -1.0, -1.0]
    with interop.sklearn(), pytest.raises(ArithmeticError, match="no score"):
        cross_val_score(Ridge(), xp.asarray(X), Y, cv=3, scoring=Failing(), error_score="raise")


def test_a_score_that_is_no_number_is_refused_as_scikit_learn_does():
    with interop.sklearn(), pytest.raises(ValueError, match="scoring must return a number"):
        cross_val_score(Ridge(), xp.asarray(X), Y, cv=3, scoring=lambda m, X, y: m.predict(X))


def test_trees_refuse_for_themselves_and_name_the_line():
    x = xp.asarray(X)
    message = r"DecisionTreeRegressor\.fit: trees split.*test_model_selection\.py"
    with interop.sklearn(), pytest.raises(TypeError, match=message):
        BaggingRegressor(random_state=0).fit(x, Y)
