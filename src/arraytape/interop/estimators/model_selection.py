"""Keep the scores of cross-validation as Arrays, which scikit-learn would convert to numbers."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sklearn.base import BaseEstimator

import arraytape as xp

from ..._array.array import Array
from .._plain import ArrayInput
from .._statements import hooks, keeps_arrays, original

Scores = dict[str, Any] | Any  # one score, or for several metrics a dict of scores by name

MODULE = "sklearn.model_selection._validation"

for module in ("_plot", "_search", "_search_successive_halving", "_validation"):
    keeps_arrays(f"sklearn.model_selection.{module}")


@hooks(MODULE, "_score")
def scored(
    estimator: BaseEstimator, X_test: ArrayInput, y_test: ArrayInput | None,
    scorer: Callable[..., Scores], *args: Any, **keywords: Any,
) -> Scores:  # fmt: skip
    """Return the score of an estimator in cross-validation, which may be an Array.

    scikit-learn's ``_score``, which this replaces, refuses a score that is no number.  So a scorer
    passes 0.0 to it in place of each Array, and the Arrays replace the zeros in its result.
    """
    given: dict[str, Scores] = {}

    def noted_score(*data: Any, **options: Any) -> Scores:
        given["scores"] = found = scorer(*data, **options)
        if isinstance(found, Mapping):
            return {name: score_number(value) for name, value in found.items()}
        return score_number(found)

    scores = original(MODULE, "_score")(
        estimator, X_test, y_test, like_scorer(scorer, noted_score), *args, **keywords
    )
    found = given.get("scores")
    if isinstance(found, Mapping):
        return {name: kept_score(found[name], value) for name, value in scores.items()}
    return kept_score(found, scores)


def like_scorer(scorer: Callable[..., Any], score: Callable[..., Scores]) -> Callable[..., Scores]:
    """Return a scorer that calls ``score``, but that scikit-learn treats as the scorer ``scorer``.

    scikit-learn recognises a scorer for several metrics by its class.  So the result is an instance of a
    subclass in that case.
    """
    from sklearn.metrics._scorer import _MultimetricScorer

    if not isinstance(scorer, _MultimetricScorer):
        return functools.wraps(scorer)(score) if callable(scorer) else score
    made: Callable[..., Scores] = copy.copy(scorer)
    made.__class__ = type(
        "_MultimetricScorer",
        (_MultimetricScorer,),
        {"__call__": lambda _, *args, **keywords: score(*args, **keywords)},
    )
    return made


def score_number(score: object) -> Any:
    """Return the score, or 0.0 for an Array, so that scikit-learn's check of a number passes.

    The 0.0 is replaced by the Array afterwards.
    """
    return 0.0 if is_score(score) else score


def kept_score(score: object, value: object) -> Any:
    """Return the scorer's ``score`` if it is an Array, else scikit-learn's number for it, ``value``."""
    return score if is_score(score) else value


def is_score(score: object) -> bool:
    return isinstance(score, Array) and score.shape == () and score.dtype.kind in "fiub"


@hooks(MODULE, "_aggregate_score_dicts")
def aggregated(scores: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return scikit-learn's dict from metrics to all their scores; scores with Arrays become one Array.

    scores : for each split a dict from metrics to scores.
    """
    found: dict[str, Any] = original(MODULE, "_aggregate_score_dicts")(scores)
    for name in found:
        column = [row[name] for row in scores]
        if any(map(is_score, column)):
            found[name] = xp.stack([xp.asarray(value, dtype=float) for value in column])
    return found
