"""Cross-validation: scores, which scikit-learn takes for numbers, and the tables of them are Arrays."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import arraytape as xp

from ..._array.array import Array
from .._statements import hooks, keeps_arrays, original

Scores = dict[str, Any] | Any  # by name where there are several metrics

MODULE = "sklearn.model_selection._validation"

for module in ("_plot", "_search", "_search_successive_halving", "_validation"):
    keeps_arrays(f"sklearn.model_selection.{module}")


@hooks(MODULE, "_score")
def scored(
    estimator: Any,
    X_test: Any,
    y_test: Any,
    scorer: Callable[..., Scores],
    *args: Any,
    **keywords: Any,
) -> Scores:
    """What the scorer gave, where that are Arrays: scikit-learn's function asks for numbers."""
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


def like_scorer(scorer: Any, score: Callable[..., Scores]) -> Callable[..., Scores]:
    """A function of the scorer's class, by which scikit-learn tells several metrics from one."""
    from sklearn.metrics._scorer import _MultimetricScorer

    if not isinstance(scorer, _MultimetricScorer):
        return functools.wraps(scorer)(score) if callable(scorer) else score
    made = copy.copy(scorer)
    made.__class__ = type(
        "_MultimetricScorer",
        (_MultimetricScorer,),
        {"__call__": lambda _, *args, **keywords: score(*args, **keywords)},
    )
    return made


def score_number(score: Any) -> Any:
    """A number in the place of a score that is an Array; its value is not looked at."""
    return 0.0 if is_score(score) else score


def kept_score(score: Any, value: Any) -> Any:
    """The score, where a number stood in for it; else what scikit-learn made of it."""
    return score if is_score(score) else value


def is_score(score: Any) -> bool:
    return isinstance(score, Array) and score.shape == () and score.dtype.kind in "fiub"


@hooks(MODULE, "_aggregate_score_dicts")
def aggregated(scores: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One Array for each name whose scores are some."""
    found: dict[str, Any] = original(MODULE, "_aggregate_score_dicts")(scores)
    for name in found:
        column = [row[name] for row in scores]
        if any(map(is_score, column)):
            found[name] = xp.stack([xp.asarray(value, dtype=float) for value in column])
    return found
