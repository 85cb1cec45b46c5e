"""scipy.spatial in a context of interop."""

import numpy as np
import pytest
from scipy import spatial
from scipy.spatial import distance

import arraytape as xp
from arraytape import interop
from helpers.library_checks import check

RNG = np.random.default_rng(4)
# No two coordinates so near that a difference would step over a cusp.
POINTS = RNG.permutation(np.linspace(0.4, 1.6, 36) ** 2).reshape(12, 3)
A, B, MANY = POINTS[:4], POINTS[4:9], POINTS[:7]
WEIGHTS = np.asarray([0.5, 2.0, 1.0])
V = np.asarray([0.7, 1.2, 2.0])
VI = np.asarray([[2.0, 0.3, 0.1], [0.3, 1.5, 0.2], [0.1, 0.2, 1.0]])
METRICS = (
    "braycurtis", "canberra", "chebyshev", "cityblock", "correlation", "cosine", "euclidean",
    "jensenshannon", "mahalanobis", "minkowski", "seuclidean", "sqeuclidean",
)  # fmt: skip
OPTIONS = {
    "minkowski": [{"p": 3.0}, {"p": 1.5}], "seuclidean": [{"V": V}], "mahalanobis": [{"VI": VI}],
}  # fmt: skip
CASES = [(name, options) for name in METRICS for options in ({}, *OPTIONS.get(name, ()))]
WEIGHTED = ("braycurtis", "canberra", "chebyshev", "cityblock", "cosine", "euclidean", "minkowski",
            "sqeuclidean", "correlation")  # fmt: skip


@pytest.mark.parametrize(("metric", "options"), CASES, ids=str)
def test_distances_between_collections(metric, options):
    h = 1e-4 if metric == "chebyshev" else 1e-3  # two coordinates may be nearly as far
    check(lambda a, b: distance.cdist(a, b, metric, **options), MANY, POINTS[7:], h=h)
    check(lambda a: distance.pdist(a, metric, **options), MANY, h=h)


@pytest.mark.parametrize("metric", WEIGHTED)
def test_distances_with_weights(metric):
    h = 1e-4 if metric == "chebyshev" else 1e-3
    check(lambda a, b: distance.cdist(a, b, metric, w=WEIGHTS), A, B, h=h)
    check(lambda a: distance.pdist(a, metric, w=WEIGHTS), A, h=h)


@pytest.mark.parametrize("metric", METRICS)
def test_distances_of_two_vectors(metric):
    args = {"mahalanobis": (VI,), "seuclidean": (V,)}.get(metric, ())
    check(lambda u, v: xp.asarray(getattr(distance, metric)(u, v, *args)) if isinstance(u, xp.Array)
          else getattr(distance, metric)(u, v, *args), A[0], B[0], vmap=False, exact=False)  # fmt: skip


@pytest.mark.parametrize(
    "metric", ["euclidean", "minkowski", "mahalanobis", "seuclidean", "cityblock"]
)
def test_where_two_points_coincide_the_slope_is_0(metric):
    x = xp.asarray(A)
    options = {"mahalanobis": {"VI": VI}, "seuclidean": {"V": V}}.get(metric, {})
    with interop.scipy(), xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.linalg.trace(distance.cdist(x, A, metric, **options))
    np.testing.assert_array_equal(np.asarray(tape.gradient(y, x)), 0.0)


@pytest.mark.parametrize("options", [{}, {"w": WEIGHTS}])
@pytest.mark.parametrize("metric", ["euclidean", "minkowski", "seuclidean"])
def test_a_distance_is_curved_where_one_coordinate_is_equal(metric, options):
    a, b = np.asarray([[1.0, 2.0, 0.5]]), np.asarray([[1.0, 0.5, 2.0]])
    options = {"V": V} if metric == "seuclidean" else options
    scale = 1 / V if metric == "seuclidean" else options.get("w", np.ones(3))
    with interop.scipy():
        found = xp.hessian(lambda a: distance.cdist(a, b, metric, **options)[0, 0])(a)
    way, length = scale * (a - b)[0], np.sqrt(np.sum(scale * (a - b) ** 2))
    expected = np.diag(scale) / length - np.outer(way, way) / length**3
    np.testing.assert_allclose(np.reshape(found, (3, 3)), expected, rtol=1e-12, atol=1e-14)


def test_a_metric_of_the_users_own():
    check(lambda a, b: distance.cdist(a, b, lambda u, v: ((u - v) ** 4).sum()), A, B, exact=False)
    check(lambda a: distance.pdist(a, lambda u, v: abs(u * v).sum()), A, exact=False)


def test_an_output_is_written():
    def f(a, b):
        out = (xp if isinstance(a, xp.Array) else np).zeros((4, 5))
        distance.cdist(a, b, out=out)
        return out * 2.0

    check(f, A, B, vmap=False)


@pytest.mark.parametrize("metric", ["hamming", "jaccard", "dice", "yule"])
def test_what_is_constant_in_steps_is_refused(metric):
    with interop.scipy(), pytest.raises(TypeError, match="no derivative"):
        distance.cdist(xp.asarray(A), xp.asarray(B), metric)


def test_squareform_in_both_directions():
    vector = RNG.uniform(size=6)
    check(distance.squareform, vector)
    check(lambda x: distance.squareform(x, checks=False), distance.squareform(vector), order=1)


def test_procrustes():
    check(lambda a, b: spatial.procrustes(a, b)[:2], A, B[:4], vmap=False, exact=False, rtol=1e-6)
