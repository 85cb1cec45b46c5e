"""generated/estimators_table.md: all of scikit-learn is there, nothing is wrong in silence or stale."""

import re

import pytest

import pages
from helpers import estimator_rows as rows
from helpers import estimators as sweep
from status import estimators

FAST = (
    "AffinityPropagation", "BisectingKMeans", "DecisionTreeRegressor", "KMeans", "KernelDensity",
    "NearestCentroid", "StandardScaler", "TSNE",
)  # fmt: skip
SLOW = ("GaussianMixture", "RobustScaler", "SplineTransformer")
NIGHTLY = pytest.param("PowerTransformer", marks=[pytest.mark.slow, pytest.mark.nightly])
METRICS = (
    "davies_bouldin_score",
    "f1_score",
    "log_loss",
    "r2_score",
    "rbf_kernel",
    "silhouette_score",
)


@pytest.fixture(scope="module")
def tool():
    return estimators


def by_name(tool, heading):
    return {tool.name_of(line): line for line in tool.rows_in_page(heading)}


def test_every_estimator_and_metric_has_a_row(tool):
    assert by_name(tool, tool.TABLE).keys() == sweep.kinds().keys()
    assert [*by_name(tool, tool.METRICS)] == sweep.metric_names()


def test_nothing_is_wrong_in_silence(tool):
    assert "WRONG" not in pages.PAGES["estimators_table"].text()


def without_errors(line):
    """A row without how far off something is, which differs from machine to machine."""
    return re.sub(r" \(\de-\d+\)", "", line)


@pytest.mark.parametrize(
    "name", [*FAST, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW), NIGHTLY]
)
def test_the_row_of_an_estimator_is_not_stale(tool, name):
    found = rows.estimator_row(name)
    assert without_errors(found) == without_errors(by_name(tool, tool.TABLE)[name])


@pytest.mark.parametrize("name", METRICS)
def test_the_row_of_a_metric_is_not_stale(tool, name):
    assert rows.metric_row(name) == by_name(tool, tool.METRICS)[name]
