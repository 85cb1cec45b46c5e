"""Calls of POT (optimal transport); the guide's recipe sets up the backend."""

import numpy as np

from ..data import normal, uniform
from ..facts import LIST, Fixed, Library, Raw, Symmetric, call
from ..recipes import set_up


def prepare(_: str) -> None:
    set_up("POT")


def squared_distances(x: Raw) -> Symmetric:
    return Symmetric(((x[:, None, :] - x[None, :, :]) ** 2).sum(-1))


X, Y = normal(4, 2), normal(5, 2, seed=1)
A, B = Fixed(np.full(4, 0.25)), Fixed(np.full(5, 0.2))
COST, SQUARE, OTHER = uniform(4, 5), squared_distances(X), squared_distances(normal(4, 2, seed=1))
PROJECTIONS = np.asarray([[0.6, 1.0, 0.0], [0.8, 0.0, -1.0]])


def solved(cost):
    """Return the value of a regularized problem."""
    import ot

    return ot.solve(cost, reg=0.5).value


CALLS = [
    *(
        call("dist", X, Y, metric=name)
        for name in ("sqeuclidean", "euclidean", "cosine", "cityblock")
    ),
    call("emd2", A, B, COST),
    call("emd2_1d", normal(4), normal(5)),
    call("wasserstein_1d", normal(4), normal(5)),
    call("sinkhorn", A, B, COST, 0.5),
    *(
        call("sinkhorn2", A, B, COST, 0.5, method=name)
        for name in ("sinkhorn", "sinkhorn_log", "sinkhorn_stabilized")
    ),
    call("sinkhorn_unbalanced2", A, B, COST, 0.5, 1.0),
    call("bregman.empirical_sinkhorn2", X, Y, 0.5),
    call("bregman.empirical_sinkhorn_divergence", X, Y, 0.5),
    call("bregman.barycenter", uniform(4, 2), SQUARE, 0.5, numItermax=30),
    call(
        "gromov.gromov_wasserstein2",
        SQUARE,
        OTHER,
        Fixed(np.full(4, 0.25)),
        Fixed(np.full(4, 0.25)),
        tol_rel=1e-14,
        tol_abs=1e-14,
        max_iter=1000,
    ),
    call(
        "gromov.entropic_gromov_wasserstein2",
        SQUARE,
        OTHER,
        Fixed(np.full(4, 0.25)),
        Fixed(np.full(4, 0.25)),
        epsilon=0.5,
        max_iter=5,
    ),
    call(
        "gaussian.bures_wasserstein_distance",
        normal(2),
        normal(2, seed=1),
        Symmetric(np.asarray([[2.0, 0.3], [0.3, 1.0]])),
        Symmetric(np.asarray([[1.0, 0.2], [0.2, 3.0]])),
    ),
    call("gaussian.empirical_bures_wasserstein_distance", X, Y),
    call("sliced.sliced_wasserstein_distance", X, Y, projections=PROJECTIONS),
    call("sliced.max_sliced_wasserstein_distance", X, Y, projections=PROJECTIONS),
    call("smooth.smooth_ot_dual", A, B, COST, 0.5),
    call("partial.entropic_partial_wasserstein", A, B, COST, 0.5, m=0.5, numItermax=30),
    call("weak.weak_optimal_transport", X, Y, numItermax=3),
    call(solved, COST, name="solve"),
    call("utils.euclidean_distances", X, Y),
    call("utils.kernel", X, Y),
    call("utils.proj_simplex", normal(4)),
    call("da.sinkhorn_lpl1_mm", A, np.asarray([0, 0, 1, 1]), B, COST, 0.5, numItermax=3),
    call(
        "optim.cg",
        A,
        B,
        COST,
        0.1,
        lambda g: (g * g).sum(),
        lambda g: 2.0 * g,
        numItermax=3,
        name="optim.cg",
    ),
]
FIRST = "POT gives the first derivative: a second one raises an error"
CONVERTS = "POT computes on NumPy arrays"
REASONS = {
    "emd2": FIRST,
    "gromov_wasserstein2": FIRST,
    "emd2_1d": CONVERTS,
    "smooth_ot_dual": "POT computes on NumPy arrays, for SciPy's solver",
    "weak_optimal_transport": CONVERTS,
    "optim.cg": CONVERTS,
}
LIBRARY = Library("POT", "ot", LIST, CALLS, prepare, REASONS, recipe="POT")
