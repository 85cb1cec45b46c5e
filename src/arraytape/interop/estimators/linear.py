"""Differentiate scikit-learn's linear models, each by the objective that its fit minimises.

scikit-learn's solvers are compiled or iterative.  The derivatives are those of the objective's minimum
(``_penalised.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

import arraytape as xp

from ..._array.array import Array
from .._plain import ArrayInput, plain_data
from .._statements import hooks
from . import _losses
from ._fits import Fit, connects_fit, refuses
from ._labels import class_weights, onehot, weights_of_classes
from ._penalised import Penalised
from ._solutions import Parts, minimum_of_parts

HOME = "sklearn.linear_model"
Attributes = Mapping[str, Array]
Loss = Callable[..., Any]  # function of y and X @ coef + intercept; returns each sample's loss


def fit_loss(fit: Fit, loss: Loss, y: Array, weights: Array, **penalty: Any) -> Attributes:
    """Return coef_ and intercept_ at the minimum of a penalised loss, as functions of the data.

    loss : function of y and X @ coef + intercept.  weights : the weight of each sample.
    penalty : options of ``Penalised`` such as the factors l1 and l2.
    """
    twin, X = fit.twin, fit.float_data("X")
    model = Penalised(fit.name, loss, X, y, weights, **penalty)
    several = y.ndim == 2
    coef = np.asarray(twin.coef_).reshape((-1, X.shape[1]) if several else (X.shape[1],))
    intercept = None
    if twin.fit_intercept:
        intercept = np.asarray(twin.intercept_).reshape((coef.shape[0],) if several else ())
    parts = model.solve_parts(coef, intercept)
    return {f"{name}_": value for name, value in parts.items()}


# --- least squares -----------------------------------------------------------------------------------
@connects_fit(f"{HOME}._base", "LinearRegression")
def linear_regression(fit: Fit) -> Attributes:
    """Return the fitted attributes of LinearRegression as functions of the data.

    So they have derivatives.  The fit minimises sum(weight * residual^2).
    """
    y = fit.float_data("y")
    return fit_loss(fit, _losses.squared, y, fit.sample_weights(), positive=fit.twin.positive)


def alpha_by_output(alpha: Array, y: Array) -> Array:
    """Reshape ridge's alpha, one number or one for each output, to broadcast with the coefficients.

    The coefficients have a row for each output, that is for each column of y.
    """
    return xp.reshape(alpha, (-1, 1)) if alpha.ndim and y.ndim == 2 else xp.reshape(alpha, (-1,))[0]


@connects_fit(f"{HOME}._ridge", "_BaseRidge", "Ridge")
def ridge(fit: Fit) -> Attributes:
    """Return the fitted attributes of Ridge as functions of the data, so that they have derivatives.

    The fit minimises sum(weight * residual^2) + alpha |coef|^2.
    """
    y = fit.float_data("y")
    l2 = alpha_by_output(fit.parameter("alpha"), y)
    return fit_loss(
        fit, _losses.squared, y, fit.sample_weights(), l2=l2, positive=fit.twin.positive
    )


@connects_fit(f"{HOME}._ridge", "RidgeClassifier")
def ridge_classifier(fit: Fit) -> Attributes:
    """Return the fitted attributes of RidgeClassifier as functions of the data.

    The fit is that of Ridge to labels 1 and -1.
    """
    y = binarized(fit)
    positive = getattr(fit.twin, "positive", False)
    l2 = alpha_by_output(fit.parameter("alpha"), y)
    weights = fit.sample_weights() * class_weights(fit)
    return fit_loss(fit, _losses.squared, y, weights, l2=l2, positive=positive)


def binarized(fit: Fit) -> Array:
    """Return the targets to which RidgeClassifier fits: 1 for a class, -1 for the others.

    There is a column for each class, or one for two classes.
    """
    return xp.asarray(fit.twin._label_binarizer.transform(fit.labels()).astype(np.float64))


@connects_fit(f"{HOME}._ridge", "RidgeCV")
def ridge_cv(fit: Fit) -> Attributes:
    """Return the fitted attributes of RidgeCV as functions of the data.

    They are those of Ridge with the alpha that cross-validation chose.
    """
    y, alpha = fit.float_data("y"), chosen_candidate(fit, "alphas", fit.twin.alpha_)
    found = fit_loss(fit, _losses.squared, y, fit.sample_weights(), l2=alpha_by_output(alpha, y))
    return {**found, "alpha_": alpha}


@connects_fit(f"{HOME}._ridge", "RidgeClassifierCV")
def ridge_classifier_cv(fit: Fit) -> Attributes:
    """Return the fitted attributes of RidgeClassifierCV as functions of the data.

    They are those of RidgeClassifier with the alpha that cross-validation chose.
    """
    y, alpha = binarized(fit), chosen_candidate(fit, "alphas", fit.twin.alpha_)
    weights = fit.sample_weights() * class_weights(fit)
    found = fit_loss(fit, _losses.squared, y, weights, l2=alpha_by_output(alpha, y))
    return {**found, "alpha_": alpha}


def chosen_candidate(fit: Fit, name: str, value: ArrayInput) -> Array:
    """Return the user's candidates that cross-validation chose for a hyperparameter, as an Array.

    So the choice has derivatives with respect to the candidates; which one is chosen counts as a
    constant.

    name : the parameter with the candidates, such as "alphas".  value : scikit-learn's choice as NumPy
    data, one number or several.  The result has the candidates nearest to it.
    """
    candidates = xp.reshape(fit.parameter(name), (-1,))
    place = np.argmin(np.abs(plain_data(candidates) - np.asarray(value)[..., None]), axis=-1)
    return xp.reshape(xp.take(candidates, xp.asarray(np.atleast_1d(place))), np.shape(value))


# --- the lasso and similar models ----------------------------------------------------------------------
DESCENT = f"{HOME}._coordinate_descent"


@connects_fit(DESCENT, "ElasticNet", "Lasso", ignores=["check_input"])
def elastic_net(fit: Fit) -> Attributes:
    """Return the fitted attributes of ElasticNet or Lasso as functions of the data.

    The fit minimises mean(residual^2) / 2 + alpha (l1_ratio |coef| + (1 - l1_ratio) |coef|^2 / 2).
    """
    return fit_elastic_net(fit, fit.parameter("alpha"), fit.parameter("l1_ratio"))


@connects_fit(DESCENT, "MultiTaskElasticNet", "MultiTaskLasso")
def multi_task(fit: Fit) -> Attributes:
    """Return the fitted attributes of MultiTaskElasticNet or MultiTaskLasso as functions of the data.

    The fit minimises the objective of ElasticNet, in which |coef| is the sum of the norms of the
    columns.
    """
    return fit_elastic_net(fit, fit.parameter("alpha"), fit.parameter("l1_ratio"), groups=True)


def cross_validated_net(fit: Fit, groups: bool = False) -> Attributes:
    """Return the fitted attributes of LassoCV and similar models as functions of the data.

    They depend on the alpha that cross-validation chose.  If the user gave ``alphas``, alpha is one of
    them.  Else it comes from scikit-learn's grid: a constant fraction of ``largest_alpha``, a function
    of the data.

    groups : True for models with several tasks.
    """
    twin = fit.twin
    mixed = hasattr(fit.estimator, "l1_ratio")
    ratio = chosen_candidate(fit, "l1_ratio", twin.l1_ratio_) if mixed else xp.asarray(1.0)
    if isinstance(twin.alphas, int | np.integer):
        fit.asked.add("alphas")
        largest = largest_alpha(fit, ratio, getattr(twin, "positive", False))
        alpha = largest * (float(twin.alpha_) / float(plain_data(largest)))
    else:
        alpha = chosen_candidate(fit, "alphas", twin.alpha_)
    found = {"alpha_": alpha, **({"l1_ratio_": ratio} if mixed else {})}
    return {**fit_elastic_net(fit, alpha, ratio, groups), **found}


connects_fit(DESCENT, "LassoCV", "ElasticNetCV")(cross_validated_net)
connects_fit(DESCENT, "MultiTaskLassoCV", "MultiTaskElasticNetCV")(
    partial(cross_validated_net, groups=True)
)


def largest_alpha(fit: Fit, ratio: Array, positive: bool) -> Array:
    """Return the least alpha with which all coefficients are 0, as a function of the data.

    scikit-learn's grid of alphas for cross-validation begins there.

    ratio : the model's l1_ratio.  positive : True if coefficients must not be negative.
    """
    X, y, weights = fit.float_data("X"), fit.float_data("y"), mean_weights(fit)
    y = y if y.ndim == 2 else y[:, None]
    if fit.twin.fit_intercept:
        X, y = X - xp.matmul(weights, X), y - xp.matmul(weights, y)
    slopes = xp.matmul(xp.matrix_transpose(X), weights[:, None] * y)
    size = slopes[:, 0] if positive else xp.sqrt(xp.sum(slopes**2, axis=1))
    return xp.max(size) / ratio


def mean_weights(fit: Fit) -> Array:
    weights = fit.sample_weights()
    return weights / xp.sum(weights)


def fit_elastic_net(fit: Fit, alpha: Array, ratio: Array, groups: bool = False) -> Attributes:
    """Return coef_ and intercept_ of an ElasticNet fit as functions of the data.

    alpha, ratio : alpha and l1_ratio of the model.  groups : True for models with several tasks.
    """
    y = fit.float_data("y")
    positive = getattr(fit.twin, "positive", False)
    if y.ndim == 2 and np.ndim(fit.twin.coef_) == 1:
        y = y[:, 0]
    return fit_loss(
        fit, _losses.squared, y, mean_weights(fit),
        l1=alpha * ratio, l2=alpha * (1.0 - ratio), groups=groups, positive=positive,
    )  # fmt: skip


ANGLES = f"{HOME}._least_angle"


def examine_lars(fit: Fit) -> None:
    if fit.estimator.jitter is not None:
        fit.refuse_fit("jitter adds random numbers to y")


@connects_fit(ANGLES, "LassoLars", examine=examine_lars)
def lasso_lars(fit: Fit) -> Attributes:
    return fit_elastic_net(fit, fit.parameter("alpha"), xp.asarray(1.0))


@connects_fit(ANGLES, "Lars", examine=examine_lars)
def lars(fit: Fit) -> Attributes:
    """Return the fitted attributes of Lars as functions of the data.

    The steps of Lars end at the least-squares solution.

    Raise TypeError if scikit-learn's steps stopped before all coefficients were nonzero.
    """
    if not np.all(fit.twin.coef_):
        fit.refuse_fit(
            "a path that ends before all coefficients have entered has no derivative here"
        )
    return fit_loss(fit, _losses.squared, fit.float_data("y"), fit.sample_weights())


@connects_fit(f"{HOME}._omp", "OrthogonalMatchingPursuit")
def matching_pursuit(fit: Fit) -> Attributes:
    """Return the fitted attributes of OrthogonalMatchingPursuit as functions of the data.

    They are those of least squares with the chosen features.
    """
    fit.asked.add("tol")
    return fit_loss(fit, _losses.squared, fit.float_data("y"), fit.sample_weights(), chosen=True)


# --- logistic regression -------------------------------------------------------------------------------
LOGISTIC = f"{HOME}._logistic"


@connects_fit(LOGISTIC, "LogisticRegression")
def logistic(fit: Fit) -> Attributes:
    """Return the fitted attributes of LogisticRegression as functions of the data.

    The fit minimises C sum(weight * loss) + (1 - l1_ratio) |coef|^2 / 2 + l1_ratio |coef|.
    """
    return fit_logistic(fit, fit.parameter("C"), fit.parameter("l1_ratio"))


def fit_logistic(fit: Fit, C: Array, ratio: Array) -> Attributes:
    """Return coef_ and intercept_ of a logistic regression as functions of the data.

    C, ratio : the model's C and l1_ratio.
    """
    twin, columns = fit.twin, onehot(fit)
    weights = fit.sample_weights() * class_weights(fit, fit.sample_weights())
    penalty: dict[str, Any] = {}
    if not np.isinf(plain_data(C)) and twin.penalty is not None:
        weights = weights * C
        l1 = ratio if twin.penalty in ("deprecated", "elasticnet", "l1") else xp.asarray(0.0)
        penalty = {"l1": l1, "l2": 1.0 - l1}
    if twin.solver == "liblinear":
        y, weights = xp.asarray(columns[:, 1:]), weights[:, None]
        return fit_by_liblinear(fit, _losses.binomial, y, weights, **penalty)
    if columns.shape[1] == 2:
        return fit_loss(fit, _losses.binomial, xp.asarray(columns[:, 1]), weights, **penalty)
    shifts = ["intercept"] if penalty else ["intercept", "coef"]
    return fit_loss(
        fit, _losses.multinomial, xp.asarray(columns), weights, shifts=shifts, **penalty
    )


def examine_logistic_cv(fit: Fit) -> None:
    if not fit.estimator.refit:
        fit.refuse_fit("refit=False averages fits of parts of the data", "Say refit=True")


@connects_fit(LOGISTIC, "LogisticRegressionCV", examine=examine_logistic_cv)
def logistic_cv(fit: Fit) -> Attributes:
    """Return the fitted attributes of LogisticRegressionCV as functions of the data.

    They are those of LogisticRegression with the C and l1_ratio that cross-validation chose.
    """
    twin, ratio = fit.twin, xp.asarray(0.0)
    best = [np.ravel(x)[0] for x in (twin.C_, twin.l1_ratio_)]
    fit.asked |= {"Cs", "l1_ratios"}
    C = xp.asarray(best[0]) if isinstance(twin.Cs, int) else chosen_candidate(fit, "Cs", best[0])
    if best[1]:
        ratio = chosen_candidate(fit, "l1_ratios", best[1])
    return fit_logistic(fit, C, ratio)


def fit_by_liblinear(fit: Fit, loss: Loss, y: Array, weights: Array, **penalty: Any) -> Attributes:
    """Return coef_ and intercept_ of a fit by the library liblinear, as functions of the data.

    liblinear penalises the intercept, as the coefficient of one more feature.
    y, weights : arrays with a column for each class, or one column for two classes.  loss : function of
    y and X @ coef + intercept.  penalty : the factors l1 and l2.
    """
    twin, X = fit.twin, fit.float_data("X")
    coef = np.asarray(twin.coef_, dtype=np.float64).reshape(-1, X.shape[1])
    if twin.fit_intercept:
        scale = fit.parameter("intercept_scaling")
        X = xp.concat([X, xp.broadcast_to(scale, (X.shape[0], 1))], axis=1)
        last = np.asarray(twin.intercept_).reshape(-1, 1) / plain_data(scale)
        coef = np.concatenate([coef, last], axis=1)
    rows = [
        Penalised(fit.name, loss, X, y[:, k], weights[:, k], **penalty).solve_parts(coef[k])["coef"]
        for k in range(coef.shape[0])
    ]
    found = xp.stack(rows)
    if not twin.fit_intercept:
        return {"coef_": found}
    return {"coef_": found[:, :-1], "intercept_": found[:, -1] * scale}


VECTORS = "sklearn.svm._classes"


def examine_linear_svc(fit: Fit) -> None:
    if fit.estimator.multi_class != "ovr":
        fit.refuse_fit(
            "multi_class='crammer_singer' has no derivative here", "Say multi_class='ovr'"
        )
    examine_hinge(fit)


def examine_hinge(fit: Fit) -> None:
    if not fit.estimator.loss.startswith("squared"):
        loss, other = fit.estimator.loss, "SVC" if fit.name == "LinearSVC" else "SVR"
        fit.refuse_fit(
            f"loss={loss!r} has kinks at its solution, and liblinear does not say at which samples",
            f"Take loss='squared_{loss}', or {other}(kernel='linear')",
        )  # fmt: skip


@connects_fit(VECTORS, "LinearSVC", examine=examine_linear_svc)
def linear_svc(fit: Fit) -> Attributes:
    """Return the fitted attributes of LinearSVC as functions of the data.

    It fits each class against the rest.

    The fit minimises C sum(weight * squared hinge) + |coef|^2 / 2, or |coef| for penalty="l1".
    """
    columns = onehot(fit)
    by_class = weights_of_classes(fit, fit.sample_weights())
    if columns.shape[1] == 2:
        rest = by_class[:1]
        columns, by_class = columns[:, 1:], by_class[1:]
    else:
        rest = xp.ones_like(by_class)
    factors = columns * by_class + (1.0 - columns) * rest
    weights = fit.parameter("C") * fit.sample_weights()[:, None] * factors
    penalty = {"l1": xp.asarray(1.0)} if fit.twin.penalty == "l1" else {"l2": 1.0}
    y = xp.asarray(2.0 * columns - 1.0)
    return fit_by_liblinear(fit, _losses.squared_hinge, y, weights, **penalty)


@connects_fit(VECTORS, "LinearSVR", examine=examine_hinge)
def linear_svr(fit: Fit) -> Attributes:
    """Return the fitted attributes of LinearSVR as functions of the data.

    The fit minimises C sum(weight * max(|residual| - epsilon, 0)^2) + |coef|^2 / 2.
    """
    y, epsilon = xp.reshape(fit.float_data("y"), (-1, 1)), fit.parameter("epsilon")
    weights = fit.parameter("C") * fit.sample_weights()[:, None]
    return fit_by_liblinear(fit, _losses.squared_insensitive, y, weights, l2=1.0, extra=[epsilon])


# --- generalized linear models -------------------------------------------------------------------------
GENERALIZED = f"{HOME}._glm.glm"
LOSSES = {"HalfPoissonLoss": _losses.poisson, "HalfGammaLoss": _losses.gamma,
          "HalfSquaredError": _losses.squared}  # fmt: skip


@connects_fit(GENERALIZED, "_GeneralizedLinearRegressor")
def generalized(fit: Fit) -> Attributes:
    """Return the fitted attributes of a generalized linear model as functions of the data.

    PoissonRegressor is such a model.

    The fit minimises the weighted mean of the loss + alpha |coef|^2 / 2.
    """
    name = type(fit.twin._base_loss).__name__
    y, weights, alpha = fit.float_data("y"), mean_weights(fit), fit.parameter("alpha")
    if not name.startswith("HalfTweedieLoss"):
        return fit_loss(fit, LOSSES[name], y, weights, l2=alpha)
    identity = name == "HalfTweedieLossIdentity"
    special = {0.0: _losses.squared} if identity else {1.0: _losses.poisson, 2.0: _losses.gamma}
    power = fit.twin.power
    if power in special and not isinstance(fit.estimator.power, Array):
        return fit_loss(fit, special[power], y, weights, l2=alpha)
    if power in (1.0, 2.0):
        fit.refuse_fit(
            f"power={power} is a limit of the loss, which has no derivative by power here"
        )
    loss = _losses.tweedie_identity if identity else _losses.tweedie
    return fit_loss(fit, loss, y, weights, l2=alpha, extra=[fit.parameter("power")])


POWERS = {"PoissonRegressor": 1.0, "GammaRegressor": 2.0}


@hooks(GENERALIZED, "_GeneralizedLinearRegressor.score")
def deviance_score(
    self: Any, X: ArrayInput, y: ArrayInput, sample_weight: ArrayInput | None = None
) -> Any:
    """Return D^2, the share of the deviance that a model explains, in place of scikit-learn's ``score``.

    The method refuses Arrays, but the function ``d2_tweedie_score``, which is called here, takes them.
    """
    from sklearn.metrics import d2_tweedie_score

    powers = [POWERS[kind.__name__] for kind in type(self).__mro__ if kind.__name__ in POWERS]
    power = [*powers, getattr(self, "power", 0.0)][0]
    return d2_tweedie_score(y, self.predict(X), sample_weight=sample_weight, power=power)


# --- robust regression -----------------------------------------------------------------------------
@connects_fit(f"{HOME}._huber", "HuberRegressor")
def huber(fit: Fit) -> Attributes:
    """Return the fitted attributes of HuberRegressor as functions of the data.

    The fit minimises Huber's loss over coefficients and scale, as scikit-learn's user guide states it.
    """
    twin = fit.twin
    start = {"coef": twin.coef_, "scale": np.asarray(twin.scale_)}
    if twin.fit_intercept:
        start["intercept"] = np.asarray(twin.intercept_)

    def huber_objective(
        parts: Parts, X: Array, y: Array, weights: Array, epsilon: Array, alpha: Array
    ) -> Any:
        scale = parts["scale"]
        size = xp.abs(y - xp.matmul(X, parts["coef"]) - parts.get("intercept", 0.0))
        inner = size**2 / scale
        outer = 2.0 * epsilon * size - scale * epsilon**2
        loss = scale + xp.where(size > epsilon * scale, outer, inner)
        return xp.sum(weights * loss) + alpha * xp.sum(parts["coef"] ** 2)

    theta = [
        fit.float_data("X"), fit.float_data("y"), fit.sample_weights(),
        *map(fit.parameter, ("epsilon", "alpha")),
    ]  # fmt: skip
    return {
        f"{name}_": value
        for name, value in minimum_of_parts(huber_objective, start, *theta).items()
    }


# --- fits without a derivative ---------------------------------------------------------------------
DESCENT_STOPS = "a stochastic descent stops where its steps left it, not at a solution"
JUMPS = "it is a choice among random samples, which jumps"
CORNER = "the alpha it chooses is a corner of the path"
HUBER = "HuberRegressor has derivatives"
LASSO = "LassoCV has derivatives, as LassoLars has"

for _module, _classes, _why, _other in (
    ("_stochastic_gradient", ("BaseSGDClassifier", "SGDClassifier"), DESCENT_STOPS,
     "LogisticRegression or LinearSVC has derivatives"),
    ("_stochastic_gradient", ("BaseSGDRegressor", "SGDRegressor"), DESCENT_STOPS,
     "Ridge or HuberRegressor has derivatives"),
    ("_stochastic_gradient", ("SGDOneClassSVM",), DESCENT_STOPS, "OneClassSVM has derivatives"),
    ("_passive_aggressive", ("PassiveAggressiveClassifier",), DESCENT_STOPS,
     "LinearSVC has derivatives"),
    ("_passive_aggressive", ("PassiveAggressiveRegressor",), DESCENT_STOPS,
     "LinearSVR has derivatives"),
    ("_ransac", ("RANSACRegressor",), JUMPS, HUBER),
    ("_theil_sen", ("TheilSenRegressor",), JUMPS, HUBER),
    ("_quantile", ("QuantileRegressor",),
     "it solves a linear program, whose solution jumps from corner to corner", HUBER),
    ("_omp", ("OrthogonalMatchingPursuitCV",),
     "the number of features it chooses is found by fits of parts",
     "OrthogonalMatchingPursuit has derivatives"),
    ("_least_angle", ("LarsCV", "LassoLarsCV", "LassoLarsIC"), CORNER, LASSO),
):  # fmt: skip
    refuses(f"{HOME}.{_module}", *_classes, why=_why, instead=f"{_other}; else give it NumPy data")
