"""What scipy.linalg, scipy.cluster and scipy.constants have in array API terms, as installed."""

import numpy as np
import pytest
from array_api_compat import array_namespace
from scipy import constants, linalg
from scipy.cluster import hierarchy, vq

RNG = np.random.default_rng(0)
A, B = RNG.uniform(-1.5, 1.5, (4, 3)), RNG.uniform(-1.5, 1.5, (4, 3))
X = RNG.uniform(-1.5, 1.5, (8, 2))


def test_the_orthogonal_procrustes_problem(differentiates):
    differentiates(lambda a, b: list(linalg.orthogonal_procrustes(a, b)), A, B, order=2)


def test_block_diagonal_matrices(differentiates):
    differentiates(linalg.block_diag, A, B.T, A[0], order=2)


def test_fiedler_matrices(differentiates):
    differentiates(linalg.fiedler, A[:, 0], order=2)


def test_conversions_of_constants(differentiates):
    def f(x):
        kelvin = constants.convert_temperature(x, "Celsius", "Kelvin")
        return [kelvin, constants.lambda2nu(x), constants.nu2lambda(x) * 1e-8]

    differentiates(lambda x: f(x)[0], np.abs(A))
    differentiates(lambda x: f(x)[1] * 1e-8, np.abs(A) + 0.5)
    differentiates(lambda x: f(x)[2], np.abs(A) + 0.5)


# --- scipy.cluster --------------------------------------------------------------------------------
def test_whitening(differentiates):
    differentiates(vq.whiten, X, order=2)


def test_whitening_a_constant_column_keeps_it(differentiates):
    def f(x):
        return vq.whiten(x * array_namespace(x).asarray([1.0, 0.0]))

    with pytest.warns(RuntimeWarning, match="standard deviation zero"):
        differentiates(f, X)


# A condensed distance matrix of five points, and what linkage makes of it.
D = RNG.uniform(0.5, 2.0, 10)
LINKED = hierarchy.linkage(D, "average")
HIERARCHIES = {
    **{
        name: (getattr(hierarchy, name), D)
        for name in (
            "average", "centroid", "complete", "linkage", "median", "single", "ward", "weighted",
        )
    },
    "linkage of points": (lambda x: hierarchy.linkage(x, "ward"), X),
    "cophenet": (hierarchy.cophenet, LINKED),
    "inconsistent": (hierarchy.inconsistent, LINKED),
    "maxRstat": (lambda z: hierarchy.maxRstat(z, z, 2), LINKED),
    "maxdists": (hierarchy.maxdists, LINKED),
    "maxinconsts": (lambda z: hierarchy.maxinconsts(z, z), LINKED),
    "optimal_leaf_ordering": (hierarchy.optimal_leaf_ordering, LINKED, D),
}  # fmt: skip


@pytest.mark.parametrize("name", HIERARCHIES)
def test_a_hierarchy_leaves_for_c_code(leaves, name):
    function, *inputs = HIERARCHIES[name]
    found = leaves(function, *inputs, at="array_api_extra/_lib/_lazy.py", how="np.asarray")
    assert all(g is None for g in found)


def test_the_distances_of_a_hierarchy_from_elsewhere_differentiate(differentiates):
    """Its other columns are the numbers of clusters, and counts that C code makes of those."""

    def f(distances, linked):
        xp = array_namespace(distances)
        linked = xp.concat([linked[:, :2], distances[:, None], linked[:, 3:]], axis=1)
        return hierarchy.from_mlab_linkage(hierarchy.to_mlab_linkage(linked))[:, 2]

    differentiates(f, LINKED[:, 2], constants=[LINKED], warns="array_api_extra")


VQ = "cluster/vq(/_vq_impl)?.py"  # from SciPy 1.18 on in a file of its own
KMEANS = {
    "kmeans": lambda x, c: vq.kmeans(x, c, iter=1)[0],
    "kmeans' distortion": lambda x, c: vq.kmeans(x, c, iter=1)[1],
    "kmeans2": lambda x, c: vq.kmeans2(x, c, minit="matrix", iter=3)[0],
    "kmeans2 from points": lambda x, c: vq.kmeans2(x, 3, minit="points", rng=0)[0],
    "kmeans2 plus plus": lambda x, c: vq.kmeans2(x, 3, minit="++", rng=0)[0],
    "vq": lambda x, c: vq.vq(x, c)[1],
}


@pytest.mark.parametrize("name", KMEANS)
def test_clustering_leaves_for_c_code(leaves, name):
    x = RNG.normal(size=(9, 2)) + 4.0 * np.repeat(np.eye(3, 2), 3, axis=0)
    found = leaves(KMEANS[name], x, x[::4] + 0.1, at=VQ, how="np.asarray")
    assert found[0] is None


# --- of integers and booleans -----------------------------------------------------------------------
FACTS = {
    "correspond": lambda z: hierarchy.correspond(z, array_namespace(z).asarray(D)),
    "dendrogram": lambda z: hierarchy.dendrogram(z, no_plot=True)["leaves"],
    "fcluster": lambda z: hierarchy.fcluster(z, 1.2, criterion="distance"),
    "fclusterdata": lambda z: hierarchy.fclusterdata(array_namespace(z).asarray(X), 1.0),
    "is_isomorphic": lambda z: hierarchy.is_isomorphic(*[hierarchy.fcluster(z, 1.2)] * 2),
    "is_monotonic": hierarchy.is_monotonic,
    "is_valid_im": lambda z: hierarchy.is_valid_im(hierarchy.inconsistent(z)),
    "is_valid_linkage": hierarchy.is_valid_linkage,
    "leaders": lambda z: list(hierarchy.leaders(z, hierarchy.fcluster(z, 1.2))),
    "leaves_list": hierarchy.leaves_list,
    "num_obs_linkage": hierarchy.num_obs_linkage,
    "to_tree": lambda z: hierarchy.to_tree(z).pre_order(),
}


@pytest.mark.parametrize("name", FACTS)
def test_a_fact_about_a_hierarchy_is_numpys(has_values, name):
    def f(z):
        found = FACTS[name](z)
        parts = found if isinstance(found, list) and hasattr(found[0], "shape") else [found]
        return [array_namespace(z).asarray(part) for part in parts]

    has_values(f, LINKED)
