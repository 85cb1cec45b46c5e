"""A short run of the attack on what dispatches: every eighth function, and all known places."""

import numpy as np
import pytest
from scipy import stats

import arraytape as xp
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


@pytest.mark.filterwarnings("ignore:Precision loss")
@pytest.mark.parametrize("name", ["circstd", "gstd", "tsem", "tstd"])
@pytest.mark.parametrize("n", [1, 3])
def test_deviations_of_equal_elements_have_the_slope_0(name, n):
    options = {} if name == "circstd" else {"ddof": 0}
    x = xp.asarray(np.full(n, 1.5))
    with xp.GradientTape() as outer:
        outer.watch(x)
        with xp.GradientTape() as tape:
            tape.watch(x)
            y = getattr(stats, name)(x, **options)
        first = tape.gradient(y, x)
    np.testing.assert_allclose(np.asarray(first), 0.0, atol=1e-6)
    # Of one element it is 0 everywhere; else the second derivative is that of a kink.
    second = np.asarray(outer.gradient(first, x, unconnected_gradients="zero"))
    assert (np.abs(second) < 1e-6).all() if n == 1 else np.isnan(second).all()
