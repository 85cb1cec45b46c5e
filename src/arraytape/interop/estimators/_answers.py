"""Methods of fitted estimators that end in compiled code: the library's values, a formula's derivatives.

    @answers("sklearn.cluster._kmeans", "_BaseKMeans.score")
    def score(model, given): ...

The method runs, as the library wrote it, on a twin of the estimator that holds NumPy data; what it gives
has the derivatives of what the statement computes of the Arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import sklearn

from .._context import has_array
from .._statements import hooks, original
from ._fits import connect, detached, detached_object, signature_of

Function = Callable[..., Any]
Formula = Callable[[Any, Mapping[str, Any]], Any]


def answers(module: str, *methods: str) -> Callable[[Formula], Formula]:
    """The decorated function says what these methods are as functions of Arrays.

    It gets the estimator and the method's arguments by name.  It gives one Array, or a tuple in which
    None stands for what has no derivative; a method of which it gives None has none at all.
    """

    def declare_answer(formula: Formula) -> Formula:
        for name in methods:
            hooks(module, name)(answering(module, name, formula))
        return formula

    return declare_answer


def answering(module: str, name: str, formula: Formula) -> Function:
    """What runs in place of a method when an Array is near."""

    def answer_call(model: Any, *args: Any, **keywords: Any) -> Any:
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
    """The library's values with the derivatives of the formulas."""
    if formula is None:
        return value
    if isinstance(formula, tuple):
        return tuple(connect_answers(x, own) for x, own in zip(value, formula, strict=True))
    return connect(value, formula)
