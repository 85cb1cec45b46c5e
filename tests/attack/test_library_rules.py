"""A short run of the attack on interop's rules, and what it found once."""

import numpy as np
import pytest
from scipy import ndimage, signal, spatial, stats

import arraytape as xp
from arraytape import interop

from . import library_rules

BLOCKS, PROGRAMS = 4, 16


@pytest.mark.parametrize("block", range(BLOCKS))
@pytest.mark.every(4)
def test_rules_are_scipys_on_data_that_no_table_has(block):
    for seed in range(block, PROGRAMS, BLOCKS):
        library_rules.run(seed)


def gradient(f, x):
    with interop.scipy():
        return np.asarray(xp.grad(lambda x: xp.sum(f(x)))(xp.asarray(x)))


IMAGE = np.arange(12.0).reshape(3, 4) ** 1.5
ONE, B = np.asarray([1.0, -0.3, 0.1]), np.asarray([0.3, 0.2, 0.1])
SOS = np.asarray([[0.3, 0.2, 0.1, 1.0, -0.3, 0.1]])
POINTS = np.asarray([[0.2, 0.3, 0.5], [0.6, 0.0, 0.4], [0.2, 0.3, 0.5]])


FILTERS = {
    "lfilter": lambda b, a: signal.lfilter(b, a, IMAGE[0]),
    "lfilter_zi": signal.lfilter_zi,
    "lfiltic": lambda b, a: signal.lfiltic(b, a, [1.0, 2.0], [0.5, 0.2]),
}


@pytest.mark.parametrize("name", FILTERS)
def test_filters_follow_their_first_coefficient_where_it_is_1(name):
    f, h = FILTERS[name], 1e-6
    up, down = (np.sum(f(B, s * ONE)) for s in (1.0 + h, 1.0 - h))
    found = gradient(lambda a: f(B, a), ONE) @ ONE
    np.testing.assert_allclose(found, (up - down) / (2 * h), rtol=1e-7)


def test_a_section_follows_its_first_coefficient_as_a_filter_does():
    found = gradient(lambda s: signal.sosfilt(s, IMAGE[0]), SOS)
    wanted = gradient(lambda a: signal.lfilter(B, a, IMAGE[0]), ONE)
    np.testing.assert_allclose(found[0, 3:], wanted, rtol=1e-12)


@pytest.mark.parametrize("metric", ["jensenshannon", "euclidean", "minkowski", "canberra"])
def test_points_that_coincide_make_no_nan(metric):
    found = gradient(lambda p: spatial.distance.cdist(p, p, metric), POINTS[[0, 0, 2]])
    assert np.isfinite(found).all()
    np.testing.assert_array_equal(
        gradient(lambda p: spatial.distance.pdist(p, metric), POINTS[[0, 2]]), 0
    )


def test_a_share_of_0_is_infinite_alone():
    found = gradient(lambda p: spatial.distance.cdist(p, POINTS[:1], "jensenshannon"), POINTS[1:2])
    assert np.isinf(found).tolist() == [[False, True, False]]


@pytest.mark.parametrize(
    "f",
    [
        lambda image, w: ndimage.correlate(image, w, output=np.float64, mode="constant", cval=0.7),
        lambda image, w: signal.convolve2d(image, w, fillvalue=0.7),
    ],
)
def test_integers_are_continued_with_what_is_no_integer(f):
    weights, whole = np.asarray([[0.5, 1.0], [0.2, 0.1]]), np.rint(IMAGE).astype(np.int64)
    wanted = gradient(lambda w: f(whole.astype(float), w), weights)
    np.testing.assert_array_equal(gradient(lambda w: f(whole, w), weights), wanted)


def test_integer_coordinates_take_whole_cotangents():
    at = np.asarray([[0, 1], [2, 3]])
    found = gradient(lambda c: ndimage.map_coordinates(c, at, order=1) * 0.3, IMAGE)
    np.testing.assert_allclose(np.sum(found), 0.6)


def test_a_gradient_of_0_has_a_magnitude_with_the_slope_0():
    found = gradient(
        lambda x: ndimage.gaussian_gradient_magnitude(x, 1.0, mode="mirror"), np.ones((3, 4))
    )
    assert np.isfinite(found).all()


def test_tied_samples_move_evenly():
    x, y = np.asarray([2.0, 2.0, 5.0]), np.asarray([0.0, 1.0, 2.0])
    found = gradient(lambda x: stats.wasserstein_distance(x, y), x)
    np.testing.assert_allclose(found, 1 / 3)
    assert np.isfinite(gradient(lambda x: stats.energy_distance(x, x), x)).all()
