"""Images of another size: numbers of TensorFlow are in the tests of its page of names."""

import numpy as np
import pytest

import arraytape as xp
from arraytape import nn
from arraytape.testing import check_gradients

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("rows", [1, 2, 3, 7])
@pytest.mark.parametrize("length", [1, 2, 5, 14])
def test_bilinear_interpolates_between_the_centres_of_pixels(rows, length):
    x = RNG.normal(size=(2, rows, 3, 2))
    centres, wanted = (np.arange(rows) + 0.5) / rows, (np.arange(length) + 0.5) / length
    expected = np.apply_along_axis(lambda line: np.interp(wanted, centres, line), 1, x)
    np.testing.assert_allclose(nn.image.resize(x, (length, 3)), expected, atol=1e-14)


@pytest.mark.parametrize(("rows", "length"), [(2, 4), (4, 2), (3, 7), (7, 3), (5, 1), (1, 5)])
def test_nearest_takes_the_pixel_in_whose_square_the_centre_lies(rows, length):
    x = RNG.integers(9, size=(rows, 3, 1))
    chosen = [int((i + 0.5) * rows / length + 1e-9) for i in range(length)]
    found = nn.image.resize(x, (length, 6), "nearest")
    assert found.dtype == x.dtype
    assert np.array_equal(found, np.repeat(x[chosen], 2, axis=1))


def test_gradients_and_maps_follow():
    x = xp.asarray(RNG.normal(size=(2, 3, 4, 1)))
    for method in ("bilinear", "nearest"):
        check_gradients(lambda x, m=method: xp.sin(nn.image.resize(x, (5, 3), m)), x)
    each = xp.vmap(lambda x: nn.image.resize(x, (5, 3)))(x)
    assert np.array_equal(each, nn.image.resize(x, (5, 3)))


def test_bilinear_upsampling_is_a_resize():
    x = RNG.normal(size=(2, 3, 4, 1))
    found = nn.UpSampling2D((2, 3), interpolation="bilinear")(x)
    assert np.array_equal(found, nn.image.resize(x, (6, 12)))


@pytest.mark.parametrize(
    ("act", "error", "says"),
    [
        (lambda x: nn.image.resize(x[0, 0], (2, 2)), ValueError, "rows, columns and channels"),
        (lambda x: nn.image.resize(x[:, :0], (2, 2)), ValueError, "rows, columns and channels"),
        (lambda x: nn.image.resize(x, (2, 0)), ValueError, "size must be at least 1"),
        (lambda x: nn.image.resize(x, (2, 2.5)), TypeError, "size must be an integer"),
        (lambda x: nn.image.resize(x, (2, 2, 2)), ValueError, "an integer or 2 of them"),
        (lambda x: nn.image.resize(x, (2, 2), "bicubic"), ValueError, "no method 'bicubic'"),
        (lambda x: nn.image.resize([[1.0]], (2, 2)), TypeError, "must be an Array, got list"),
        (lambda x: nn.UpSampling2D(interpolation="lanczos3"), ValueError, "no interpolation"),
    ],
)
def test_what_does_not_fit_is_said(act, error, says):
    with pytest.raises(error, match=says):
        act(np.ones((3, 4, 1)))
