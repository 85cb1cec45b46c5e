"""Give methods of fitted estimators that end in compiled code the derivatives of a formula.

    @answers("sklearn.cluster._kmeans", "_BaseKMeans.score")
    def k_means_score(model, given): ...

The library's method runs on a copy of the estimator, its twin, with NumPy data in place of Arrays.  The
result gets the derivatives of the decorated function, which is run on the Arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import sklearn

from .._context import has_array
from .._statements import hooks, original
from ._fits import connect, detached, detached_object, signature_of

if TYPE_CHECKING:  # an import at run time would be circular: importing sklearn.base runs this
    from sklearn.base import BaseEstimator

Function = Callable[..., Any]
Formula = Callable[[Any, Mapping[str, Any]], Any]


def answers(module: str, *methods: str) -> Callable[[Formula], Formula]:
    """Return a decorator: the decorated function gives the results of methods their derivatives.

    module, methods : the methods of scikit-learn, such as "NMF.transform".  For example, ``predict`` of
    a model that was fitted to Arrays ends in compiled code.  The decorated function gets the estimator
    and a dict of the method's arguments.  It returns an Array, or a tuple of Arrays if the method
    returns several results.  None stands for a result without derivative.
    """

    def declare_answer(formula: Formula) -> Formula:
        for name in methods:
            hooks(module, name)(answering(module, name, formula))
        return formula

    return declare_answer


def answering(module: str, name: str, formula: Formula) -> Function:
    def answer_call(model: BaseEstimator, *args: Any, **keywords: Any) -> Any:
        method = original(module, name)
        if not has_array([*args, *keywords.values(), *vars(model).values()]):
            return method(model, *args, **keywords)
        bound = signature_of(method).bind(model, *args, **keywords)
        bound.apply_defaults()
        with sklearn.config_context(array_api_dispatch=False):
            value = method(detached_object(model), *detached(args), **detached(keywords))
        return connect_answers(value, formula(model, bound.arguments))

    return answer_call


def connect_answers(value: Any, formula: Any) -> Any:
    """Return scikit-learn's result with the derivatives of ``formula``, an Array or a tuple of Arrays.

    Where the formula is None, the result stays as it is.
    """
    if formula is None:
        return value
    if isinstance(formula, tuple):
        return tuple(connect_answers(x, own) for x, own in zip(value, formula, strict=True))
    return connect(value, formula)
