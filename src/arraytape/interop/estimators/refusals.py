"""Make fits, predictions and scores that are not differentiable, such as trees, refuse Arrays."""

from __future__ import annotations

from typing import Any

from .._context import held_by
from .._slopes import refuse_slope
from .._statements import hooks, original
from .._wanted import is_wanted
from ._fits import nested_arrays, refuses

SPLITS = (
    "trees split at thresholds, which are chosen among the samples and jump: predictions are "
    "constant in steps"
)
STEPS = "what trees predict is constant in steps, so that its derivative is 0 wherever there is one"
ROUNDS = (
    "it ends after a number of passes over the samples, before its solution, which alone would have "
    "a derivative"
)
DRAWS = "it ends after a number of random updates, at no solution that could be differentiated"
LAYOUT = "it is found by a descent from random places, which is not run to its end"
GRAPH = "it is found from a graph of neighbors, which changes in jumps"

for _module, _classes, _why in (
    ("sklearn.tree._classes", (
        "DecisionTreeClassifier", "DecisionTreeRegressor", "ExtraTreeClassifier", "ExtraTreeRegressor",
    ), SPLITS),
    ("sklearn.ensemble._forest", ("BaseForest", "RandomTreesEmbedding"), SPLITS),
    ("sklearn.ensemble._gb", ("BaseGradientBoosting",), SPLITS),
    ("sklearn.ensemble._hist_gradient_boosting.gradient_boosting",
     ("BaseHistGradientBoosting",), SPLITS),
    ("sklearn.ensemble._iforest", ("IsolationForest",), SPLITS),
    ("sklearn.ensemble._weight_boosting", ("BaseWeightBoosting",),
     "the weights of samples jump where the sign of an error does"),
    ("sklearn.neural_network._multilayer_perceptron", ("BaseMultilayerPerceptron",), DRAWS),
    ("sklearn.neural_network._rbm", ("BernoulliRBM",), DRAWS),
    ("sklearn.decomposition._lda", ("LatentDirichletAllocation",), ROUNDS),
    ("sklearn.decomposition._dict_learning", (
        "DictionaryLearning", "MiniBatchDictionaryLearning",
    ), ROUNDS),
    ("sklearn.decomposition._sparse_pca", ("_BaseSparsePCA",), ROUNDS),
    ("sklearn.decomposition._nmf", ("MiniBatchNMF",), ROUNDS),
    ("sklearn.naive_bayes", ("CategoricalNB",), "it counts categories, which are whole numbers"),
    ("sklearn.calibration", ("CalibratedClassifierCV",),
     "its calibration ends in compiled code that has no rule here"),
    ("sklearn.semi_supervised._label_propagation", ("BaseLabelPropagation",), ROUNDS),
):  # fmt: skip
    refuses(_module, *_classes, why=_why)
for _module, _class, _why in (
    ("_t_sne", "TSNE", LAYOUT), ("_isomap", "Isomap", GRAPH),
    ("_locally_linear", "LocallyLinearEmbedding", GRAPH),
    ("_spectral_embedding", "SpectralEmbedding", GRAPH),
):  # fmt: skip
    refuses(f"sklearn.manifold.{_module}", _class, why=_why)
    refuses(f"sklearn.manifold.{_module}", _class, why=_why, method="fit_transform")
for _module, _class, _method in (
    ("sklearn.tree._classes", "BaseDecisionTree", "_validate_X_predict"),
    ("sklearn.ensemble._forest", "BaseForest", "_validate_X_predict"),
    ("sklearn.ensemble._gb", "BaseGradientBoosting", "_raw_predict"),
    ("sklearn.ensemble._hist_gradient_boosting.gradient_boosting",
     "BaseHistGradientBoosting", "_raw_predict"),
    ("sklearn.ensemble._iforest", "IsolationForest", "_score_samples"),
):  # fmt: skip
    refuses(_module, _class, why=STEPS, method=_method)
refuses(
    "sklearn.decomposition._lda", "LatentDirichletAllocation", method="_e_step",
    why="the topics of a document are found by a number of rounds, which end before their solution",
)  # fmt: skip


@hooks("sklearn.base", "ClassifierMixin.score")
def score_labels(estimator: Any, X: Any, *args: Any, **keywords: Any) -> Any:
    """Return the accuracy of a classifier, as an Array through which a gradient raises an error.

    The accuracy changes in steps, so that its derivative is 0 almost everywhere, and an optimizer would
    stop at once.
    """
    score = original("sklearn.base", "ClassifierMixin.score")(estimator, X, *args, **keywords)
    arrays = nested_arrays([X, *held_by("sklearn", estimator)])
    if not is_wanted(arrays):
        return score
    why = "class labels are constant in steps. Compute a smooth loss of predict_proba, such as log_loss"
    name = f"{type(estimator).__name__}.score"
    return refuse_slope(name, score, arrays, ("the data and parameters", why))
