"""A short run of the attack on what dispatches: every eighth function, and all known places."""

import pytest

from helpers.dispatched_points import POINTS

from .dispatched_calls import NAMES, run

# Where a program hid a part from tapes: the points, and which drawings of them, that showed it.
PLACES = {
    "np.i0": ("zeros", (0, 1)),
    "special.logsumexp": ("ones", (0, 1, 5)),
    "sklearn.metrics.explained_variance_score": ("same operands", (0,)),
    "sklearn.metrics.pairwise.cosine_distances": ("same operands", (1, 5)),
    "sklearn.metrics.pairwise.euclidean_distances squared": ("same operands", (0, 3)),
    "sklearn.metrics.pairwise.rbf_kernel": ("equal rows", (2, 3)),
    "sklearn.metrics.r2_score": ("same operands", (0,)),
    "stats.boxcox_llf": ("whole", (0, 1)),
    "stats.circvar": ("equal", (6, 8)),
}


def seed_of(name, how, again=0):
    """Return the seed at which a call is drawn at a kind of point."""
    kinds = len(POINTS) * again + POINTS.index(how)
    return kinds * len(NAMES) + NAMES.index(name)


def test_functions_of_every_library_are_drawn():
    assert len(NAMES) > 400
    homes = {name.partition(".")[0] for name in NAMES}
    assert {"np", "sklearn", "special", "stats", "fft", "integrate"} <= homes


@pytest.mark.parametrize("name", PLACES)
def test_places_where_a_program_hid_a_part(name):
    how, drawings = PLACES[name]
    for again in drawings:
        run(seed_of(name, how, again))


def test_one_call_of_every_eighth_function():
    for i, name in enumerate(NAMES[::8]):
        run(seed_of(name, POINTS[i % len(POINTS)]))
