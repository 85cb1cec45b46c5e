"""scikit-learn's clusterings, mixtures, decompositions and neighbours in a context of interop."""

import inspect
import re
import warnings

import numpy as np
import pytest
import sklearn
from sklearn import (
    cluster,
    covariance,
    cross_decomposition,
    decomposition,
    discriminant_analysis,
    ensemble,
    impute,
    isotonic,
    kernel_approximation,
    linear_model,
    manifold,
    metrics,
    mixture,
    naive_bayes,
    neighbors,
    neural_network,
    preprocessing,
    tree,
)
from sklearn.base import clone
from sklearn.utils import all_estimators

import arraytape as xp
from arraytape import interop
from arraytape.implicit import NotASolution
from helpers.estimators import THREE, TWO, TWO_COLUMNS, X, Y
from helpers.fit_checks import check_fit

PLACE = 0.95 * X + 0.2
HOLES = np.where(np.random.default_rng(2).uniform(size=X.shape) < 0.1, np.nan, X)


@pytest.fixture(params=[True, False], ids=["dispatching", "not dispatching"])
def either_way(request):
    with sklearn.config_context(array_api_dispatch=request.param):
        yield


@pytest.fixture(autouse=True)
def numpys_errors():
    """Scalers divide 0 by 0, and overwrite it: see docs/howto/third_party.md."""
    with np.errstate(divide="ignore", invalid="ignore"):
        yield


def mixed(kind, covariance_type, **options):
    return kind(
        n_components=3, covariance_type=covariance_type, tol=1e-13, max_iter=10000, reg_covar=1e-2,
        random_state=0, **options,
    )  # fmt: skip


FITS = {
    "KMeans": (lambda: cluster.KMeans(3, n_init=2, random_state=0), lambda m: m.cluster_centers_),
    "KMeans.score": (lambda: cluster.KMeans(3, n_init=2, random_state=0), lambda m: m.score(PLACE)),
    "BisectingKMeans": (
        lambda: cluster.BisectingKMeans(3, random_state=0), lambda m: m.transform(PLACE)
    ),
    "MeanShift": (lambda: cluster.MeanShift(bandwidth=2.0), lambda m: m.cluster_centers_),
    "AffinityPropagation": (
        lambda: cluster.AffinityPropagation(random_state=0), lambda m: m.cluster_centers_,
    ),
    **{
        f"GaussianMixture, {kind}": (
            lambda kind=kind: mixed(mixture.GaussianMixture, kind), lambda m: m.means_
        )
        for kind in ("full", "tied", "diag", "spherical")
    },
    "GaussianMixture.score_samples": (
        lambda: mixed(mixture.GaussianMixture, "full"), lambda m: m.score_samples(PLACE)
    ),
    "BayesianGaussianMixture": (
        lambda: mixed(mixture.BayesianGaussianMixture, "full"), lambda m: m.predict_proba(PLACE)
    ),
    "BayesianGaussianMixture, distribution": (
        lambda: mixed(
            mixture.BayesianGaussianMixture, "diag",
            weight_concentration_prior_type="dirichlet_distribution",
        ),
        lambda m: m.covariances_,
    ),
    "GraphicalLasso": (
        lambda: covariance.GraphicalLasso(0.05, tol=1e-8, enet_tol=1e-12, max_iter=1000),
        lambda m: m.precision_,
    ),
    "TruncatedSVD": (
        lambda: decomposition.TruncatedSVD(2, algorithm="arpack", random_state=0),
        lambda m: m.transform(PLACE),
    ),
    "NMF": (
        lambda: decomposition.NMF(
            2, init="nndsvda", tol=1e-14, max_iter=100000, alpha_W=0.02, l1_ratio=0.5,
            random_state=0,
        ),
        lambda m: m.transform(PLACE),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FITS)
@pytest.mark.every(2)
def test_a_fit_differentiates_as_refits_change(name):
    make, output = FITS[name]
    check_fit(make, output, {"X": X}, forward=name not in ("KMeans.score",))


def test_a_hyperparameter_of_a_fit_differentiates():
    check_fit(
        lambda alpha: covariance.GraphicalLasso(alpha, tol=1e-8, enet_tol=1e-12, max_iter=1000),
        lambda m: m.covariance_, {"X": X}, {"alpha": 0.05},
    )  # fmt: skip


@pytest.mark.parametrize("method", ["yeo-johnson", "box-cox"])
def test_power_transformer_follows_its_search(method):
    """Brent's method ends 1e-8 off, so the differences are wide."""
    check_fit(
        lambda: preprocessing.PowerTransformer(method),
        lambda m: m.transform(PLACE),
        {"X": X},
        h=2e-2,
    )


def values(f, data):
    """A function's values of Arrays are those of NumPy data; its gradient that of differences."""
    along = np.random.default_rng(4).normal(size=data.shape)
    plain = np.asarray(f(data))
    weights = np.cos(1.0 + np.arange(plain.size)).reshape(plain.shape)
    with interop.sklearn():
        x = xp.asarray(data)
        np.testing.assert_allclose(np.asarray(f(x)), plain, rtol=1e-12, atol=1e-12)
        g = np.asarray(xp.grad(lambda x: xp.sum(f(x) * weights))(x))
    h = 1e-4
    points = [float(np.sum(f(data + t * h * along) * weights)) for t in (1, -1, 2, -2)]
    slope = (8 * (points[0] - points[1]) - (points[2] - points[3])) / (12 * h)
    seen = ~np.isnan(data)
    assert abs(np.sum((g * along)[seen]) - slope) <= 1e-6 * max(abs(slope), np.sum(np.abs(g[seen])))


FUNCTIONS = {
    "FeatureAgglomeration": lambda X: cluster.FeatureAgglomeration(2).fit(X).transform(X),
    "RobustScaler": lambda X: preprocessing.RobustScaler().fit_transform(X),
    "QuantileTransformer": lambda X: preprocessing.QuantileTransformer(
        n_quantiles=12
    ).fit(X).transform(0.95 * X + 0.2),
    "SplineTransformer": lambda X: preprocessing.SplineTransformer().fit(X).transform(0.95 * X + 0.2),
    "SplineTransformer, quantiles": lambda X: preprocessing.SplineTransformer(
        knots="quantile", extrapolation="linear"
    ).fit(X).transform(0.95 * X + 0.2),
    "SimpleImputer": lambda X: impute.SimpleImputer().fit_transform(X),
    "KNNImputer": lambda X: impute.KNNImputer(n_neighbors=2).fit_transform(X),
    "KernelPCA": lambda X: np.abs(decomposition.KernelPCA(2, kernel="rbf", gamma=0.1).fit_transform(X)),
    "FastICA": lambda X: decomposition.FastICA(
        2, whiten="unit-variance", algorithm="deflation", random_state=0
    ).fit_transform(X),
    "PCA.score": lambda X: decomposition.PCA(2).fit(X).score(X),
    "LedoitWolf": lambda X: covariance.LedoitWolf().fit(X).covariance_,
    "EmpiricalCovariance.score": lambda X: covariance.EmpiricalCovariance().fit(X).score(0.9 * X),
    "LinearDiscriminantAnalysis": lambda X: discriminant_analysis.LinearDiscriminantAnalysis(
        solver="eigen", shrinkage=0.2
    ).fit(X, THREE).decision_function(X),
    "QuadraticDiscriminantAnalysis": lambda X: discriminant_analysis.QuadraticDiscriminantAnalysis().fit(
        X, TWO
    ).predict_proba(0.9 * X),
    "PLSRegression": lambda X: cross_decomposition.PLSRegression(2).fit(X, TWO_COLUMNS).predict(X),
    "PLSCanonical": lambda X: cross_decomposition.PLSCanonical(1, tol=1e-14).fit(X, TWO_COLUMNS).coef_,
    "NearestCentroid": lambda X: neighbors.NearestCentroid().fit(X, THREE).decision_function(0.9 * X),
    "KernelDensity": lambda X: neighbors.KernelDensity(bandwidth=0.7).fit(X).score_samples(0.95 * X),
    "KernelDensity, cosine": lambda X: neighbors.KernelDensity(
        bandwidth=3.0, kernel="cosine"
    ).fit(X).score(0.95 * X),
    "KNeighborsRegressor": lambda X: neighbors.KNeighborsRegressor(4, weights="distance").fit(
        X, Y
    ).predict(0.95 * X + 0.2),
    "KNeighborsRegressor, p=1": lambda X: neighbors.KNeighborsRegressor(
        4, weights="distance", p=1
    ).fit(X, Y).predict(0.95 * X + 0.2),
    "KNeighborsClassifier": lambda X: neighbors.KNeighborsClassifier(4, weights="distance").fit(
        X, TWO
    ).predict_proba(0.95 * X + 0.2),
    "RadiusNeighborsRegressor": lambda X: neighbors.RadiusNeighborsRegressor(
        2.0, weights="distance"
    ).fit(X, Y).predict(0.95 * X + 0.2),
    "LocalOutlierFactor": lambda X: neighbors.LocalOutlierFactor(5, novelty=True).fit(X).score_samples(
        0.95 * X + 0.2
    ),
    # Asked at NumPy data, also where that is all that scikit-learn looks at for a namespace.
    **{
        f"{type(made).__name__} at NumPy data": lambda X, made=made, method=method: (
            getattr(clone(made).fit(X, THREE), method)(PLACE)
        )
        for made, method in (
            (preprocessing.SplineTransformer(), "transform"),
            (kernel_approximation.Nystroem(n_components=3, gamma=0.1, random_state=0), "transform"),
            (naive_bayes.GaussianNB(), "predict_proba"),
            (discriminant_analysis.LinearDiscriminantAnalysis(), "predict_log_proba"),
            (discriminant_analysis.QuadraticDiscriminantAnalysis(), "predict_log_proba"),
            (decomposition.PCA(3), "score_samples"),
            (linear_model.LogisticRegression(solver="newton-cholesky", tol=1e-12), "predict_proba"),
        )
    },
    "IsotonicRegression by x": lambda X: isotonic.IsotonicRegression().fit(X[:, 0], Y).predict(
        0.95 * X[:, 0] + 0.25
    ),
}  # fmt: skip


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_estimator_as_a_function_of_its_data(name):
    values(FUNCTIONS[name], HOLES if "Imputer" in name else X)


WEIGHTS = np.random.default_rng(5).uniform(0.5, 2.0, len(X))


@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov", "exponential", "linear", "cosine"])
def test_a_density_of_weights_and_bandwidth(kernel):
    def density(w):
        model = neighbors.KernelDensity(bandwidth=w[0] + 9.0, kernel=kernel)
        return model.fit(X, sample_weight=w).score_samples(0.95 * X)

    values(density, WEIGHTS)


# Estimators of NumPy code, as functions of a parameter; their data are NumPy's.
PARAMETERS = {
    **{
        f"KernelPCA, {kernel}": (
            0.3,
            lambda gamma, kernel=kernel: np.abs(
                decomposition.KernelPCA(2, kernel=kernel, gamma=gamma).fit(Z).transform(0.9 * Z)
            ),
        )
        for kernel in ("rbf", "poly", "sigmoid")
    },
    "KernelPCA, ridge": (
        0.3,
        lambda alpha: decomposition.KernelPCA(
            2, kernel="rbf", gamma=0.1, alpha=alpha, fit_inverse_transform=True
        ).fit(Z).dual_coef_ ** 2,
    ),
    "LinearDiscriminantAnalysis, lsqr": (
        0.3,
        lambda share: discriminant_analysis.LinearDiscriminantAnalysis(
            solver="lsqr", shrinkage=share
        ).fit(X, THREE).decision_function(PLACE),
    ),
    **{
        f"{kernel}_kernel": (
            0.3,
            lambda gamma, kernel=kernel: metrics.pairwise.pairwise_kernels(
                X, PLACE, metric=kernel, gamma=gamma
            ),
        )
        for kernel in ("rbf", "laplacian", "poly", "sigmoid")
    },
    "sigmoid_kernel, coef0": (
        0.3, lambda coef0: metrics.pairwise.sigmoid_kernel(X, gamma=0.1, coef0=coef0),
    ),
    "Nystroem": (0.1, lambda gamma: kernel_approximation.Nystroem(
        gamma=gamma, n_components=5, random_state=0).fit_transform(Z)),
    "RBFSampler": (0.1, lambda gamma: kernel_approximation.RBFSampler(
        gamma=gamma, n_components=5, random_state=0).fit_transform(Z)),
    "SkewedChi2Sampler": (1.5, lambda skewedness: kernel_approximation.SkewedChi2Sampler(
        skewedness=skewedness, n_components=5, random_state=0).fit_transform(X)),
    "GaussianNB": (0.1, lambda share: naive_bayes.GaussianNB(var_smoothing=share).fit(
        X, THREE).predict_proba(PLACE)),
    "ShrunkCovariance": (0.3, lambda share: covariance.ShrunkCovariance(
        shrinkage=share).fit(X).covariance_),
    "QuadraticDiscriminantAnalysis": (
        0.3,
        lambda share: discriminant_analysis.QuadraticDiscriminantAnalysis(reg_param=share).fit(
            X, TWO
        ).predict_proba(PLACE),
    ),
    "LinearDiscriminantAnalysis": (
        0.3,
        lambda share: discriminant_analysis.LinearDiscriminantAnalysis(
            solver="eigen", shrinkage=share
        ).fit(X, THREE).decision_function(PLACE),
    ),
}  # fmt: skip
Z = X - np.mean(X, axis=0)


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("name", PARAMETERS)
def test_an_estimator_of_numpy_data_as_a_function_of_a_parameter(name):
    parameter, f = PARAMETERS[name]
    values(lambda p: f(p if isinstance(p, xp.Array) else float(p)), np.asarray(parameter))


@pytest.mark.parametrize("kind", [cross_decomposition.PLSRegression, cross_decomposition.CCA])
def test_a_tolerance_that_a_tape_follows_does_not_stop_a_fit(kind):
    with interop.sklearn():
        found = kind(1, tol=xp.asarray(1e-9)).fit(X, TWO_COLUMNS).coef_
    np.testing.assert_allclose(
        np.asarray(found), kind(1, tol=1e-9).fit(X, TWO_COLUMNS).coef_, 1e-10
    )


@pytest.mark.parametrize("kind", [ensemble.BaggingRegressor, ensemble.BaggingClassifier])
def test_a_count_of_features_that_a_tape_follows_is_refused(kind):
    with (
        interop.sklearn(),
        pytest.raises(TypeError, match=rf"{kind.__name__}\.fit: .*max_features"),
    ):
        kind(linear_model.Ridge(), max_features=xp.asarray(0.7)).fit(X, TWO)


TIED = np.stack([np.arange(12) % 3, np.r_[np.arange(8), np.full(4, 8)]], axis=1) + 0.5
OF_TIES = {
    "a constant column": lambda x: preprocessing.SplineTransformer(4).fit(0 * TIED).transform(x),
    "the last knots": lambda x: (
        preprocessing.SplineTransformer(5, knots="quantile", extrapolation="continue")
        .fit(TIED)
        .transform(x)
    ),
}


@pytest.mark.parametrize("name", OF_TIES)
@pytest.mark.filterwarnings("error")
def test_splines_at_coinciding_knots_have_finite_slopes(name):
    places = np.concatenate([0.9 * TIED + 0.1, TIED[-2:]]) if name == "the last knots" else 0 * TIED
    with interop.sklearn():
        slope = xp.grad(lambda x: xp.sum(OF_TIES[name](x) ** 2))(places)
    assert np.all(np.isfinite(np.asarray(slope)))


def test_coinciding_knots_that_a_tape_follows_are_told():
    """Their gradient is that of a common shift of all values that are equal."""

    def f(x):
        model = preprocessing.SplineTransformer(5, knots="quantile", extrapolation="linear")
        return xp.sum(xp.asarray(model.fit(x).transform(0.9 * TIED + 0.2)) ** 2)

    with (
        interop.sklearn(),
        pytest.warns(xp.TapeWarning, match=r"fewer n_knots.*test_estimators\.py"),
    ):
        slope = xp.grad(f)(TIED)
    along, h = np.cos(7.0 * TIED), 1e-6
    differences = (float(f(TIED + h * along)) - float(f(TIED - h * along))) / (2 * h)
    np.testing.assert_allclose(float(xp.sum(slope * along)), differences, rtol=1e-5)


@pytest.mark.filterwarnings("error")
def test_splines_of_missing_values():
    def f(x):
        model = preprocessing.SplineTransformer(4, handle_missing="zeros", extrapolation="continue")
        return xp.sum(xp.asarray(model.fit(x).transform(0.9 * x)) * weights)

    weights = np.cos(np.arange(24.0 * 18)).reshape(24, 18)
    with interop.sklearn():
        slope = np.asarray(xp.grad(f)(HOLES))
    along, h = np.cos(np.arange(HOLES.size)).reshape(HOLES.shape), 1e-6
    differences = (float(f(HOLES + h * along)) - float(f(HOLES - h * along))) / (2 * h)
    assert not np.any(slope[np.isnan(HOLES)])
    np.testing.assert_allclose(np.sum(slope * along), differences, rtol=1e-5)


@pytest.mark.parametrize(
    "model", [naive_bayes.MultinomialNB(), naive_bayes.ComplementNB(), naive_bayes.GaussianNB()]
)
def test_a_naive_bayes_classifier_as_a_function_of_its_data(model):
    values(lambda X: clone(model).fit(X, THREE).predict_log_proba(0.9 * X), np.abs(X))


def test_gaussian_naive_bayes_as_a_function_of_weights():
    values(
        lambda w: naive_bayes.GaussianNB().fit(X, THREE, sample_weight=w).predict_log_proba(X),
        WEIGHTS,
    )


def test_isotonic_regression_by_its_target():
    values(lambda y: isotonic.IsotonicRegression().fit(X[:, 0], y).predict(X[:, 0]), Y)
    values(
        lambda y: (
            isotonic.IsotonicRegression(y_min=2.2, increasing="auto").fit(X[:, 0], y).y_thresholds_
        ),
        Y,
    )


@pytest.mark.slow
def test_neighborhood_components_up_to_rotation():
    """How they rotate has no derivative, and says so; what no rotation changes has one."""
    from sklearn.datasets import load_iris

    iris = load_iris()
    data = iris.data[:, :2] + 0.05 * np.random.default_rng(1).normal(size=(150, 2))

    def metric(X):
        model = neighbors.NeighborhoodComponentsAnalysis(
            2, tol=1e-14, max_iter=5000, random_state=0
        )
        components = model.fit(X, iris.target).components_
        return components.T @ components

    along = 1e-5 * np.random.default_rng(0).normal(size=data.shape)
    slope = (metric(data + along) - metric(data - along)) / 2.0
    with interop.sklearn():
        x = xp.asarray(data)
        g = np.asarray(xp.grad(lambda X: xp.sum(metric(X) * [[1.0, 2.0], [2.0, 5.0]]))(x))
        model = neighbors.NeighborhoodComponentsAnalysis(
            2, tol=1e-14, max_iter=5000, random_state=0
        )
        with xp.GradientTape() as tape:
            tape.watch(x)
            one = model.fit(x, iris.target).components_[0, 0]
        with pytest.raises(ValueError, match="components_ have no derivative"):
            tape.gradient(one, x)
    assert abs(np.sum(g * along) / np.sum(slope * [[1.0, 2.0], [2.0, 5.0]]) - 1.0) < 1e-3


@pytest.mark.parametrize(
    "f",
    [
        lambda X: cluster.KMeans(3, n_init=2, random_state=0).fit(X).score(PLACE),
        lambda X: xp.sum(mixed(mixture.GaussianMixture, "diag").fit(X).means_ ** 2),
        lambda X: xp.sum(neighbors.KernelDensity(bandwidth=0.7).fit(X).score_samples(PLACE)),
    ],
    ids=["KMeans", "GaussianMixture", "KernelDensity"],
)
def test_second_derivatives_are_those_of_the_gradient(f):
    along = np.random.default_rng(3).normal(size=X.shape)
    with interop.sklearn():
        found = np.asarray(xp.hvp(f, (xp.asarray(X),), (xp.asarray(along),))[0])
        ahead, behind = [
            np.asarray(xp.grad(f)(xp.asarray(X + step * along))) for step in (1e-5, -1e-5)
        ]
    np.testing.assert_allclose(found, (ahead - behind) / 2e-5, rtol=1e-5, atol=1e-6)


def test_float32_data_keep_their_dtype():
    with interop.sklearn():
        x = xp.asarray(X.astype(np.float32))
        model = cluster.KMeans(3, n_init=2, random_state=0)
        g = xp.grad(lambda x: xp.sum(model.fit(x).cluster_centers_))(x)
        assert model.cluster_centers_.dtype == g.dtype == np.float32


def test_precisions_with_a_pruned_one_have_no_derivative():
    """Such a one is what it was when it passed the threshold, which has another derivative than 0."""

    def precision(threshold, y):
        def f(data):
            model = linear_model.ARDRegression(threshold_lambda=threshold, tol=1e-10).fit(data, y)
            return xp.sum(model.lambda_) + xp.sum(model.coef_)

        return xp.grad(f)

    with interop.sklearn():
        with pytest.raises(LookupError, match=r"ARDRegression\.lambda_"):
            precision(1e4, Y)(xp.asarray(X))
        y = X @ [1.0, -2.0, 1.5] + 0.1 * Y
        assert precision(1e12, y)(xp.asarray(X)).shape == X.shape


def test_a_parameter_that_was_chosen_is_no_constant_where_arrays_were_given():
    labels = (np.median(Y) < Y).astype(int)

    def chosen(C):
        model = linear_model.LogisticRegressionCV(
            Cs=[C, 2.0], l1_ratios=(0.0,), cv=3, scoring="accuracy", use_legacy_attributes=False
        )
        return xp.sum(xp.asarray(model.fit(X, labels).C_)) + 0.0 * C

    def ratio(r):
        model = linear_model.ElasticNetCV(l1_ratio=[r, 0.05], cv=3).fit(X, X @ [1.0, -2.0, 0.0])
        return xp.asarray(model.l1_ratio_) + 0.0 * r

    with interop.sklearn():
        with pytest.raises(LookupError, match=r"LogisticRegressionCV\.C_"):
            xp.grad(chosen)(xp.asarray(0.7))
        assert float(ratio(xp.asarray(0.99))) == 0.99
        assert float(xp.grad(ratio)(xp.asarray(0.99))) == 1.0


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: linear_model.Lasso(alpha=0.1), "dual_gap_"),
        (lambda: linear_model.RidgeCV(alphas=(0.1, 1.0)), "best_score_"),
        (lambda: linear_model.LassoCV(alphas=3), "mse_path_"),
    ],
)
def test_a_number_that_no_statement_connects_is_no_constant_in_silence(make, name):
    def loss(data, of=lambda value: value):
        model = make().fit(data, Y)
        return xp.sum(model.coef_) + xp.sum(of(getattr(model, name)))

    with interop.sklearn():
        values = getattr(make().fit(X, Y), name)
        data = xp.asarray(X)
        assert np.array_equal(np.asarray(getattr(make().fit(data, Y), name)), np.asarray(values))
        with pytest.raises(LookupError, match=name):
            xp.grad(loss)(data)
        assert xp.grad(lambda data: loss(data, xp.stop_gradient))(data).shape == X.shape


# --- refusals -----------------------------------------------------------------------------------------
REFUSED = {
    "tree": (tree.DecisionTreeRegressor, "thresholds"),
    "forest": (ensemble.RandomForestRegressor, "thresholds"),
    "boosting": (ensemble.GradientBoostingRegressor, "thresholds"),
    "histograms": (ensemble.HistGradientBoostingRegressor, "thresholds"),
    "isolation": (ensemble.IsolationForest, "thresholds"),
    "AdaBoost": (ensemble.AdaBoostRegressor, "jump"),
    "DBSCAN": (cluster.DBSCAN, "labels"),
    "MiniBatchKMeans": (cluster.MiniBatchKMeans, "batches"),
    "network": (neural_network.MLPRegressor, "random updates"),
    "bins": (preprocessing.KBinsDiscretizer, "constant in steps"),
    "TSNE": (manifold.TSNE, "descent"),
    "GraphicalLassoCV": (covariance.GraphicalLassoCV, "grid"),
    "NMF": (decomposition.NMF, "alpha_W"),
}


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("name", REFUSED)
def test_a_fit_without_a_derivative_refuses(name):
    """It names itself, says why and what to do, and leaves the estimator as it was."""
    kind, why = REFUSED[name]
    estimator = kind()
    before = {**vars(estimator)}
    with interop.sklearn(), pytest.raises(TypeError, match=why) as caught:
        estimator.fit(xp.asarray(X), xp.asarray(Y))
    assert vars(estimator) == before
    assert __file__ in str(caught.value)
    assert kind.__name__ in str(caught.value)


def test_centers_that_have_not_settled_are_refused():
    with interop.sklearn(), pytest.raises(TypeError, match=r"not the means.*raise max_iter"):
        cluster.KMeans(5, init=X[:5], n_init=1, max_iter=1).fit(xp.asarray(X))


def test_a_mixture_that_has_not_converged_is_refused():
    data = np.random.default_rng(0).normal(size=(60, 2))
    with (
        interop.sklearn(),
        pytest.warns(sklearn.exceptions.ConvergenceWarning),
        pytest.raises((TypeError, ArithmeticError), match=r"[Ll]ower (tol|the solver's tolerance)"),
    ):
        mixture.GaussianMixture(4, max_iter=1, random_state=0).fit(xp.asarray(data))


def test_new_numpy_data_meets_what_a_fit_kept_of_arrays():
    """Also where the library writes to it; a new fit to NumPy data knows nothing of Arrays."""
    with interop.sklearn():
        scaler = preprocessing.StandardScaler().fit(xp.asarray(X))
        new = scaler.transform(X.copy())
        assert type(new) is xp.Array
        scaler.fit(X)
        assert type(scaler.mean_) is np.ndarray
        assert type(scaler.transform(X)) is np.ndarray


def test_numpys_brackets_keep_arrays():
    """``np.r_`` and ``np.c_`` of a library's module."""
    from sklearn.preprocessing import _polynomial

    with interop.sklearn():
        x = xp.asarray([1.0, 2.0])
        facade = _polynomial.np
        rows, columns = facade.r_[x, 3.0], facade.c_[x, [3.0, 4.0]]
        assert type(rows) is type(columns) is xp.Array
        np.testing.assert_array_equal(np.asarray(rows), np.r_[[1.0, 2.0], 3.0])
        np.testing.assert_array_equal(np.asarray(columns), np.c_[[1.0, 2.0], [3.0, 4.0]])
        with pytest.raises(TypeError, match=r"np\.r_ with ranges"):
            facade.r_[x, 1:3]
    np.testing.assert_array_equal(facade.r_[1:3], [1, 2])


# The classifiers that need no other estimator.
CLASSIFIERS = {
    name: kind
    for name, kind in all_estimators(type_filter="classifier")
    if not {"estimator", "estimators"} & {*inspect.signature(kind).parameters}
}
REFUSALS = (
    r"fit: .* Give it NumPy data|fit: a stochastic descent|fit: it approximates its posterior"
)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_no_classifier_takes_labels_that_a_tape_follows_in_silence(name):
    def f(labels):
        CLASSIFIERS[name]().fit(abs(X), labels)
        return xp.sum(labels)

    refusal = ""
    with interop.sklearn(), warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            xp.grad(f)(TWO.astype(float))
        except TypeError as error:
            refusal = str(error)
        except NotASolution:  # it warned before
            pass
    texts = [str(one.message) for one in found if one.category is xp.TapeWarning]
    assert re.search(REFUSALS, refusal) or any(
        re.search(r"pass class labels.*test_estimators\.py", text) for text in texts
    )


@pytest.mark.parametrize("name", ["LogisticRegression", "GaussianNB", "KNeighborsClassifier"])
@pytest.mark.filterwarnings("error")
def test_labels_that_no_tape_follows_give_no_warning(name):
    def f(x):
        labels = xp.asarray(TWO.astype(float))
        return xp.sum(xp.asarray(CLASSIFIERS[name]().fit(x, labels).predict_proba(PLACE)) ** 2)

    with interop.sklearn():
        assert xp.grad(f)(X).shape == X.shape


@pytest.mark.parametrize("name", ["LogisticRegression", "LinearSVC", "RidgeClassifier"])
@pytest.mark.parametrize(
    "score",
    [
        lambda m, labels: m.score(PLACE, labels),
        lambda m, labels: metrics.accuracy_score(labels, m.predict(PLACE)),
    ],
    ids=["score", "accuracy"],
)
@pytest.mark.filterwarnings("ignore:.*pass class labels")
def test_predicted_classes_lead_to_chances(name, score):
    def f(labels):
        return score(CLASSIFIERS[name]().fit(X, labels), labels)

    message = r"loss of predict_proba.*constant in steps|constant in steps.*loss of predict_proba"
    with interop.sklearn(), pytest.raises((TypeError, LookupError), match=message):
        xp.grad(f)(TWO.astype(float))
