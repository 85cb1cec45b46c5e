"""A short run of the attack on what dispatches: every eighth function, and all known places."""

import pytest

from helpers.dispatched_points import POINTS

from .dispatched_calls import NAMES, run

# Where a program hid a part from tapes, and the points that show it.
PLACES = {
    "np.corrcoef": ("equal rows",),
    "np.i0": ("zeros",),
    "special.logsumexp": ("ties", "equal", "zeros"),
    "sklearn.metrics.explained_variance_score": ("same operands",),
    "sklearn.metrics.pairwise.cosine_distances": ("equal rows",),
    "sklearn.metrics.pairwise.rbf_kernel": ("equal rows",),
    "sklearn.metrics.r2_score": ("same operands",),
    "stats.boxcox_llf": ("whole",),
    "stats.circvar": ("equal",),
    "stats.pearsonr": ("same operands",),
    "stats.yeojohnson_llf": ("whole",),
}


def seed_of(name, how, again=0):
    kinds = len(POINTS) * again + POINTS.index(how)
    return kinds * len(NAMES) + NAMES.index(name)


def test_functions_of_every_library_are_drawn():
    assert len(NAMES) > 400
    homes = {name.partition(".")[0] for name in NAMES}
    assert {"np", "sklearn", "special", "stats", "fft", "integrate"} <= homes


@pytest.mark.parametrize("name", PLACES)
def test_places_where_a_program_hid_a_part(name):
    for how in PLACES[name]:
        for again in range(2):
            run(seed_of(name, how, again))


def test_one_call_of_every_eighth_function():
    for i, name in enumerate(NAMES[::8]):
        run(seed_of(name, POINTS[i % len(POINTS)]))
