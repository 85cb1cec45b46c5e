"""A check of the gradients of every scikit-learn estimator and metric against refits.

An estimator is fitted to followed Arrays.  The results of its methods and its fitted attributes are
differentiated, and compared with differences of fits to perturbed NumPy data (the "truth").
"""

import functools
import inspect
import math
import re
import warnings
from contextlib import nullcontext
from typing import NamedTuple

import numpy as np
import sklearn
from sklearn import metrics
from sklearn.base import clone, is_classifier
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import pairwise
from sklearn.naive_bayes import GaussianNB
from sklearn.utils import all_estimators
from sklearn.utils._test_common.instance_generator import _construct_instances

import arraytape as xp
from arraytape import interop
from arraytape.testing import weights

RIGHT, FLAT, WARNS, LEAVES, REFUSES, WRONG, UNTOLD = (
    "right", "flat", "warns", "leaves", "refuses", "WRONG", "untold",
)  # fmt: skip
TOLERANCE = 1e-5

# --- data ---------------------------------------------------------------------------------------------
RNG = np.random.default_rng(3)
CENTERS = np.asarray([[2.0, 5.0, 3.0], [5.0, 2.5, 5.0], [6.0, 6.0, 2.0]])
X = np.repeat(CENTERS, 8, axis=0) + RNG.normal(scale=0.55, size=(24, 3))
Y = 2.0 + np.sin(X @ [0.5, -0.4, 0.3]) + 0.3 * np.abs(RNG.normal(size=24))
TWO = np.asarray([0, 1, 1, 0, 0, 1, 0, 1] * 3)
THREE = np.repeat(np.arange(3), 8)
TWO_COLUMNS = np.stack([Y, np.cos(Y) + 0.1 * X[:, 0]], axis=1)


@functools.cache
def direction(shape):
    """Return a fixed direction without zeros."""
    rng = np.random.default_rng(7)
    return rng.choice([-1.0, 1.0], shape) * rng.uniform(0.5, 1.0, shape)


# Overlapping classes, because for separable ones NeighborhoodComponentsAnalysis has no maximum.
LINE = np.linspace(-1.0, 1.0, 7)
OWN = np.random.default_rng(0)
GRID = np.stack(np.meshgrid(LINE, LINE), -1).reshape(-1, 2) + 0.1 * OWN.normal(size=(49, 2))
GRID_LABELS = 1 * (OWN.uniform(size=49) < 1.0 / (1.0 + np.exp(-3.0 * GRID[:, 0] - GRID[:, 1])))

# Parameters with which a solver comes as close to the exact solution as it can.
TIGHT = {"tol": 1e-12, "max_iter": 20000, "random_state": 0}
SETTINGS = {
    "AffinityPropagation": {"max_iter": 500},
    "ARDRegression": {"tol": 1e-10},
    "BaggingRegressor": {"oob_score": True, "random_state": 0, "max_features": 0.7, "n_estimators": 20},
    "BaggingClassifier": {"random_state": 0},
    "StackingRegressor": {"cv": 3, "final_estimator": Ridge()},
    "StackingClassifier": {
        "cv": 3, "final_estimator": LogisticRegression(solver="newton-cholesky", tol=1e-12),
    },
    "VotingClassifier": {"voting": "soft"},
    "BayesianGaussianMixture": {"n_components": 3, "n_init": 1, "reg_covar": 1e-2, "tol": 1e-13},
    "BernoulliRBM": {"n_iter": 3},
    "BisectingKMeans": {"n_clusters": 3, "n_init": 2},
    "CCA": {"n_components": 1},
    "DictionaryLearning": {"n_components": 2, "max_iter": 50},
    "ElasticNet": {"alpha": 0.05},
    "FactorAnalysis": {"n_components": 1, "svd_method": "lapack", "tol": 1e-6},
    "FastICA": {"whiten": "unit-variance", "n_components": 2, "algorithm": "deflation"},
    "GammaRegressor": {"solver": "newton-cholesky"}, "PoissonRegressor": {"solver": "newton-cholesky"},
    "TweedieRegressor": {"solver": "newton-cholesky"},
    "LogisticRegressionCV": {"solver": "newton-cholesky", "tol": 1e-10},
    "GaussianMixture": {"n_components": 3, "n_init": 1, "reg_covar": 1e-2, "tol": 1e-13},
    "GraphicalLasso": {"alpha": 0.05, "tol": 1e-9, "enet_tol": 1e-12},
    "KMeans": {"n_clusters": 3},
    "KBinsDiscretizer": {"encode": "ordinal", "n_bins": 3},
    "Lasso": {"alpha": 0.05},
    "LatentDirichletAllocation": {"max_iter": 10},
    "LinearSVC": {"tol": 1e-8},
    "LinearSVR": {"tol": 1e-8},
    "MLPClassifier": {"max_iter": 20},
    "MLPRegressor": {"max_iter": 20},
    "MultiTaskElasticNet": {"alpha": 0.05},
    "MultiTaskLasso": {"alpha": 0.05},
    "MiniBatchDictionaryLearning": {"n_components": 2, "max_iter": 20},
    "MiniBatchSparsePCA": {"n_components": 2, "max_iter": 20},
    "MiniBatchNMF": {"n_components": 2, "max_iter": 50},
    "NeighborhoodComponentsAnalysis": {"n_components": 1},
    "NMF": {"n_components": 2, "init": "nndsvda", "max_iter": 100000, "alpha_W": 0.02, "l1_ratio": 0.5},
    "KernelPCA": {"fit_inverse_transform": True, "kernel": "rbf", "gamma": 0.1, "n_components": 2},
    "KNeighborsRegressor": {"weights": "distance", "n_neighbors": 4},
    "KNeighborsClassifier": {"weights": "distance", "n_neighbors": 4},
    "RadiusNeighborsRegressor": {"weights": "distance", "radius": 2.0},
    "RadiusNeighborsClassifier": {"weights": "distance", "radius": 2.0},
    "LocalOutlierFactor": {"novelty": True, "n_neighbors": 5},
    "LocallyLinearEmbedding": {"n_neighbors": 8, "n_components": 2, "tol": 1e-12},
    "MDS": {"n_init": 1, "max_iter": 300},
    "NuSVC": {"tol": 1e-8, "max_iter": -1},
    "NuSVR": {"tol": 1e-8, "max_iter": -1},
    "OneClassSVM": {"tol": 1e-8, "max_iter": -1},
    "SVC": {"tol": 1e-8, "max_iter": -1, "C": 20.0},
    "SVR": {"tol": 1e-8, "max_iter": -1},
    "PLSRegression": {"n_components": 2},
    "PLSCanonical": {"n_components": 1},
    "QuantileTransformer": {"n_quantiles": 12},
    "OrthogonalMatchingPursuitCV": {"max_iter": 2},
    "GraphicalLassoCV": {"tol": 1e-6, "max_iter": 100, "alphas": 2},
    "SparsePCA": {"n_components": 2, "max_iter": 200},
    "TSNE": {"perplexity": 5.0, "max_iter": 250},
    "TargetEncoder": {"cv": 3},
    "TruncatedSVD": {"n_components": 2, "algorithm": "arpack"},
}  # fmt: skip
# The members of ensembles, in place of trees, which have no derivatives.
REGRESSORS = [("ridge", Ridge()), ("kernel", KernelRidge(kernel="rbf", gamma=0.1))]
CLASSIFIERS = [("linear", LinearDiscriminantAnalysis()), ("naive", GaussianNB())]
MEMBERS = {
    "BaggingRegressor": Ridge(), "BaggingClassifier": LinearDiscriminantAnalysis(),
    "StackingRegressor": REGRESSORS, "StackingClassifier": CLASSIFIERS,
    "VotingRegressor": REGRESSORS, "VotingClassifier": CLASSIFIERS,
}  # fmt: skip
KINDS_OF_Y = {
    "MultiTaskElasticNet": TWO_COLUMNS, "MultiTaskElasticNetCV": TWO_COLUMNS,
    "MultiTaskLasso": TWO_COLUMNS,
    "MultiTaskLassoCV": TWO_COLUMNS, "PLSCanonical": TWO_COLUMNS, "PLSRegression": TWO_COLUMNS,
    "CCA": TWO_COLUMNS, "PLSSVD": TWO_COLUMNS, "MultiOutputRegressor": TWO_COLUMNS,
    "RegressorChain": TWO_COLUMNS, "MultiOutputClassifier": np.stack([TWO, THREE], axis=1),
    "ClassifierChain": np.stack([TWO, 1 - TWO], axis=1), "OneVsOneClassifier": THREE,
    "OneVsRestClassifier": THREE, "OutputCodeClassifier": THREE, "LinearDiscriminantAnalysis": THREE,
    "QuadraticDiscriminantAnalysis": TWO, "NeighborhoodComponentsAnalysis": GRID_LABELS,
    "GenericUnivariateSelect": TWO, "SelectFdr": TWO, "SelectFpr": TWO, "SelectFwe": TWO,
    "SelectKBest": TWO, "SelectPercentile": TWO, "RFE": TWO, "RFECV": TWO,
    "SequentialFeatureSelector": TWO, "HalvingGridSearchCV": Y, "HalvingRandomSearchCV": Y,
}  # fmt: skip
KINDS_OF_X = {
    "IsotonicRegression": X[:, :1], "KernelCenterer": X @ X.T,
    "NeighborhoodComponentsAnalysis": GRID,
    "CategoricalNB": np.abs(np.round(X)).astype(np.int64), "MultiLabelBinarizer": None,
    "LabelEncoder": None, "LabelBinarizer": None, "CountVectorizer": None, "DictVectorizer": None,
    "FeatureHasher": None, "HashingVectorizer": None, "TfidfVectorizer": None, "PatchExtractor": None,
    "TargetEncoder": np.round(X),
}  # fmt: skip
# Estimators whose methods are called on the data of the fit; others get different data near it.
SAME_PLACE = {"KernelCenterer", "CategoricalNB", "OneHotEncoder", "OrdinalEncoder", "TargetEncoder"}
METHODS = (
    "transform", "inverse_transform", "predict", "predict_proba", "predict_log_proba",
    "decision_function", "score_samples", "score", "mahalanobis", "kneighbors", "embed", "cluster",
)  # fmt: skip


class Outcome(NamedTuple):
    """The outcome of one method or attribute.

    word : one of RIGHT, FLAT, ..., see above.  error : the relative error of the gradient.  text : an
    error or a reason.
    """

    word: str
    error: float = 0.0
    text: str = ""


# --- estimators ---------------------------------------------------------------------------------------
def kinds():
    """Return the classes of all scikit-learn estimators, by name."""
    return dict(all_estimators())


def made(name):
    """Return an unfitted estimator with parameters of SETTINGS; an ensemble has members of MEMBERS."""
    if name == "FrozenEstimator":
        return kinds()[name](LinearRegression().fit(X, Y))
    if name in MEMBERS:
        return kinds()[name](MEMBERS[name], **SETTINGS.get(name, {}))
    estimator = next(iter(_construct_instances(kinds()[name])))
    own = {key: value for key, value in TIGHT.items() if key in estimator.get_params(deep=False)}
    own |= SETTINGS.get(name, {})
    for key in estimator.get_params(deep=True):
        if key.endswith(("__tol", "__max_iter", "__random_state")) and "__" in key:
            own[key] = TIGHT[key.rpartition("__")[2]]
    estimator.set_params(**own)
    return estimator


def takes(name, estimator):
    """Return the data X and y for an estimator; X is None if the estimator accepts no numbers."""
    data = KINDS_OF_X.get(name, X)
    if name in KINDS_OF_Y:
        return data, KINDS_OF_Y[name]
    return data, (TWO if is_classifier(estimator) else Y)


def huber_at_its_end(model, data, target):
    """Replace the coefficients of a HuberRegressor by the exact solution.

    Its L-BFGS stops about 1e-4 from the solution, whatever ``tol`` is.
    """
    from scipy.optimize import root
    from sklearn.linear_model._huber import _huber_loss_and_gradient

    def slope(z):
        options = model.epsilon, model.alpha, np.ones(len(target))
        return _huber_loss_and_gradient(z, data, target, *options)[1]

    found = root(slope, [*model.coef_, model.intercept_, model.scale_], tol=1e-14).x
    model.coef_, model.intercept_, model.scale_ = found[:-2], found[-2], found[-1]


OFF = 1e-4  # the relative error of the fit that L-BFGS ends with, compared with the exact solution
AT_ITS_END = {"HuberRegressor": huber_at_its_end}


def fitted(estimator, data, target):
    estimator = clone(estimator)
    for name in ("y", "Y"):
        if name in inspect.signature(estimator.fit).parameters:
            return estimator.fit(data, **{name: target})
    return estimator.fit(data)


def targets(name, estimator, data, target):
    """Fit an estimator; return a dict of functions without arguments that compute its results."""
    model = fitted(estimator, data, target)
    if name in AT_ITS_END and isinstance(data, np.ndarray):
        AT_ITS_END[name](model, data, target)
    place = data if name in SAME_PLACE else 0.95 * data + 0.2
    found = {}
    for method in METHODS:
        if method == "embed":
            if not hasattr(model, "transform") and hasattr(model, "fit_transform"):
                found["fit_transform"] = lambda: clone(estimator).fit_transform(data)
        elif method == "cluster":
            if not hasattr(model, "predict") and hasattr(model, "fit_predict"):
                found["fit_predict"] = lambda: clone(estimator).fit_predict(data)
        elif not hasattr(model, method):
            continue
        elif method == "score":
            found["score"] = lambda: model.score(place, target)
        elif method == "inverse_transform":
            found[method] = lambda: model.inverse_transform(model.transform(place))
        else:
            found[method] = lambda method=method: getattr(model, method)(place)
    for attribute, value in sorted(vars(model).items()):
        if attribute.endswith("_") and not attribute.startswith("_") and is_real(value):
            found[attribute] = lambda value=value: value
    return found


def is_real(value):
    """Return True if a value is a float, or an array of floating-point or complex numbers."""
    if isinstance(value, float):
        return True
    return getattr(getattr(value, "dtype", None), "kind", "") in "fc" and hasattr(value, "shape")


def summed(result):
    """Return a weighted sum of all floating-point numbers in a result, as an Array if one is an Array.

    Integers (labels, indices) do not count.
    """
    parts = result if isinstance(result, list | tuple) else [result]
    answer = 0.0
    for i, part in enumerate(parts):
        if isinstance(part, list | tuple):
            answer = answer + summed(part) * (i + 1.0)
            continue
        if hasattr(part, "toarray"):
            part = part.toarray()
        if not isinstance(part, xp.Array):
            part = np.asarray(part)
        if part.dtype.kind in "fc" and part.size:
            # The first threshold of roc_curve is infinite.
            part = np.where(np.isfinite(part), part, 0.0)
            value = np.sum(part * weights(part.shape)) if part.ndim else part * 1.3
            answer = answer + value * (i + 1.0)
    return answer


# --- truth --------------------------------------------------------------------------------------------
STEPS = (1e-2, 1e-3, 2e-4)
ROUGH = (
    1e-3  # the largest relative error of a derivative that is accepted where refits are imprecise
)
# Larger steps for fits that stop at a fixed tolerance.
WIDER = {"PowerTransformer": (2e-2, 1e-2)}
CLOSER = (2e-5, 1e-5)
STENCIL = ((-2, 1 / 12), (-1, -2 / 3), (1, 2 / 3), (2, -1 / 12))


def differences(values, inputs, steps=STEPS):
    """Return differences of the numbers ``values(*inputs)`` along a direction in each float input.

    values : a function of NumPy inputs that returns a dict of numbers.
    The result maps each name to a dict from the input's index to (slopes by step, size of the value).
    """
    found, sizes = {}, {}
    for i, x in enumerate(inputs):
        if x.dtype.kind != "f":
            continue
        slopes = []
        for h in steps:
            along = {}
            for at, weight in STENCIL:
                moved = [*inputs]
                moved[i] = x + at * h * direction(x.shape)
                for name, value in values(*moved).items():
                    along[name] = along.get(name, 0.0) + weight * value / h
                    sizes[name] = abs(value)
            slopes.append(along)
        for name in slopes[0]:
            if all(name in along for along in slopes):
                told = [along[name] for along in slopes]
                found.setdefault(name, {})[i] = (told, sizes[name])
    return found


def numbers(name, estimator):
    """Return a function that fits to NumPy data, and returns a dict of weighted sums by method."""

    def values(data, target):
        found = {}
        with quiet():
            for method, give in targets(name, estimator, data, target).items():
                try:
                    found[method] = float(summed(give()))
                except Exception:
                    continue
        return found

    return values


def truth_of(name, estimator, inputs, steps=None):
    """Return a cached function without arguments: the ``differences`` of fits of an estimator."""

    @functools.cache
    def truth():
        with quiet(), sklearn.config_context(array_api_dispatch=False):
            return differences(numbers(name, estimator), inputs, steps or WIDER.get(name, STEPS))

    return truth


def quiet():
    """Return a context manager that silences warnings and NumPy's floating-point errors."""
    return _Quiet()


class _Quiet:
    def __enter__(self):
        self.caught, self.state = warnings.catch_warnings(), np.errstate(all="ignore")
        self.caught.__enter__(), self.state.__enter__()
        warnings.simplefilter("ignore")

    def __exit__(self, *error):
        self.state.__exit__(*error), self.caught.__exit__(*error)


# --- outcomes -----------------------------------------------------------------------------------------
def outcomes(name, inside, truth=None):
    """Return the outcomes of an estimator's methods and attributes on Arrays.

    truth : the result of ``truth_of``, which callers pass in order to share its cache.
    """
    estimator = made(name)
    data, target = takes(name, estimator)
    if data is None:
        return {"fit": Outcome(REFUSES, text="takes no numbers")}
    inputs = (data, target)
    truth = truth or truth_of(name, estimator, inputs)

    def give(data, target):
        return targets(name, estimator, data, target)

    found = answered(give, inputs, truth, inside)
    # Where differences disagree, a kink may be nearby: take smaller steps.
    if any(outcome.word == UNTOLD for outcome in found.values()):
        closer = truth_of(name, estimator, inputs, CLOSER)
        again = answered(give, inputs, closer, inside)
        for method, outcome in found.items():
            if outcome.word == UNTOLD:
                found[method] = again.get(method, outcome)
    for method, outcome in found.items():
        if name in AT_ITS_END and outcome.word == WRONG and outcome.error <= OFF:
            found[method] = outcome._replace(word=RIGHT)
    return found


def answered(give, inputs, truth, inside, alone=None):
    """Compare gradients on Arrays with differences; return a dict from method names to Outcomes.

    give : a function that maps Arrays of ``inputs`` to a dict from method names to functions, which
    return the methods' results.  truth : the result of ``truth_of``.  inside : True to fit inside
    ``interop.sklearn()``.  alone : the name of the only method to call, or None for all.
    """
    arrays = [xp.asarray(x) for x in inputs]
    sources = [x for x in arrays if x.dtype.kind == "f"]
    found = {}
    context = interop.sklearn() if inside else nullcontext()
    with context, sklearn.config_context(array_api_dispatch=True):
        with xp.GradientTape(persistent=True) as tape:
            tape.watch(sources)
            with quiet():
                try:
                    offers = give(*arrays)
                except Exception as error:
                    return {"fit": Outcome(REFUSES, text=said(error))}
                results = {}
                for method, offer in offers.items():
                    if alone not in (None, method):
                        continue
                    try:
                        results[method] = summed(offer())
                    except Exception as error:
                        found[method] = Outcome(REFUSES, text=said(error))
        known = truth() if results else {}
        for method, result in results.items():
            if method in known:
                places = [i for i, x in enumerate(arrays) if x.dtype.kind == "f"]
                found[method] = judged(
                    tape, result, sources, [known[method].get(i) for i in places], inputs, places
                )
    if alone is None:  # the warning may be about another method: call each alone
        for method, outcome in found.items():
            if outcome.word == WARNS:
                found[method] = answered(give, inputs, truth, inside, method)[method]
    return found


def judged(tape, result, sources, slopes, inputs, places):
    """Return the Outcome of one result: compare its gradients with the differences ``slopes``."""
    if not isinstance(result, xp.Array):
        return Outcome(FLAT if is_flat(slopes) else LEAVES)
    with np.errstate(all="ignore"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            gradients = tape.gradient(result, sources)
        except Exception as error:
            return Outcome(REFUSES, text=said(error))
    messages = [str(one.message) for one in caught if "left the tape" in str(one.message)]
    found = [0.0 if g is None else np.asarray(g) for g in gradients]
    if not all(np.all(np.isfinite(g)) for g in found):
        return Outcome(REFUSES, text="a gradient of NaN")
    errors = [
        distance(g, slope, direction(inputs[i].shape), largest(slopes))
        for g, slope, i in zip(found, slopes, places, strict=True)
        if slope is not None
    ]
    worst = max([error for error, _ in errors], default=0.0)
    if all(error <= max(TOLERANCE, min(spread, ROUGH)) for error, spread in errors):
        return Outcome(FLAT if is_flat(slopes) else RIGHT, worst)
    if messages:
        return Outcome(WARNS, worst, messages[0])
    told = any(error > 20.0 * spread and error > TOLERANCE for error, spread in errors)
    return Outcome(WRONG if told else UNTOLD, worst)


def distance(g, slope, along, largest):
    """Return the relative error of a gradient, and the relative spread of the differences.

    slope : (slopes by step, size of the value).  along : the direction of these slopes.  largest : the
    greatest slope with respect to any input.
    """
    told, value = slope
    own = 0.1 * float(np.sqrt(np.sum((g * along) ** 2)))
    size = max(abs(told[-1]), own, 1e-2 * largest, 1e-8 * max(1.0, value))
    found = float(np.sum(g * along))
    if not math.isfinite(sum(told)):
        return math.inf, 0.0
    return min(abs(found - one) for one in told) / size, (max(told) - min(told)) / size


def largest(slopes):
    return max([abs(told[-1]) for told, _ in filter(None, slopes)], default=0.0)


def is_flat(slopes):
    """Return True if all differences are 0 up to rounding.

    slopes : for each input, (slopes by step, size of the value), or None.
    """
    return all(max(map(abs, told)) < 1e-9 * max(1.0, value) for told, value in filter(None, slopes))


def said(error):
    """Return the class and the text of an error in one line of at most 300 characters."""
    text = re.sub(r"\s+", " ", f"{type(error).__name__}: {error}")
    return text[:300]


# --- metrics ------------------------------------------------------------------------------------------
GUESS = Y + 0.2 * np.cos(3.0 * np.arange(24))
CHANCES = np.random.default_rng(5).uniform(0.1, 0.9, 24)
SHARES = np.random.default_rng(6).dirichlet([2.0, 3.0, 4.0], 24)
MANY_TWO = np.stack([TWO, 1 - TWO, np.roll(TWO, 1)], axis=1)
BETWEEN = 0.9 * X[:7] + 0.3
NOT_NUMBERS = {  # functions that compute no value from data
    "check_scoring", "cluster", "get_scorer", "get_scorer_names", "make_scorer", "distance_metrics",
    "kernel_metrics", "check_paired_arrays", "check_pairwise_arrays", "metric_at_thresholds",
    "consensus_score", "auc", "classification_report",
}  # fmt: skip
RANKINGS = {
    "coverage_error", "label_ranking_average_precision_score", "label_ranking_loss", "dcg_score",
    "ndcg_score",
}  # fmt: skip


def metric_names():
    """Return the names of the public metrics in sklearn.metrics and sklearn.metrics.pairwise."""
    ends = ("_kernel", "_distances", "_similarity")
    of_pairs = [name for name in vars(pairwise) if name.endswith(ends)]
    named = [name for name in metrics.__all__ if name.islower()]
    found = {*named, *of_pairs} - NOT_NUMBERS
    return sorted(name for name in found if not name.startswith("_"))


def metric_case(name):
    """Return a metric as a function of arrays, and the arrays, or None if it accepts only labels."""
    function = getattr(metrics, name, None) or getattr(pairwise, name)
    first, second = [*inspect.signature(function).parameters][:2]
    if name in ("auc",):
        return function, None
    if first == "X":
        if second == "labels":
            return lambda X, labels: function(X, labels), (X, THREE)
        if name == "haversine_distances":
            return function, (X[:, :2], BETWEEN[:, :2])
        if name.startswith("paired"):
            return function, (X[:7], BETWEEN)
        if name == "pairwise_distances_chunked":
            return lambda X, Y: list(function(X, Y)), (X, BETWEEN)
        return function, (X, BETWEEN)
    if name in RANKINGS:
        relevance = MANY_TWO if "label" in name or "coverage" in name else SHARES + 0.1
        return function, (relevance, np.roll(SHARES, 3, axis=0))
    if second in ("y_score", "y_proba", "pred_decision"):
        if name == "top_k_accuracy_score":
            return function, (THREE, SHARES)
        return function, (TWO, CHANCES)
    if any(word in name for word in ("error", "deviance", "r2_", "d2_", "explained", "pinball")):
        return function, (Y, GUESS)
    return function, None


def metric_outcome(name, inside):
    """Return the Outcome of a metric on Arrays, outside or inside ``interop.sklearn()``."""
    function, inputs = metric_case(name)
    if inputs is None:
        return Outcome(FLAT, text="of labels alone")

    def give(*data):
        return {name: lambda: function(*data)}

    def values(*data):
        return {name: float(summed(function(*data)))}

    def truth():
        with quiet(), sklearn.config_context(array_api_dispatch=False):
            return differences(values, inputs)

    found = answered(give, inputs, truth, inside)
    return found.get(name) or found["fit"]
