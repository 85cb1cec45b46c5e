"""scipy.ndimage in a context of interop."""

import numpy as np
import pytest
from scipy import ndimage

import arraytape as xp
from arraytape import interop
from helpers.library_checks import check

RNG = np.random.default_rng(3)
IMAGE = RNG.normal(size=(5, 6))
COMPLEX = IMAGE + 1j * RNG.normal(size=IMAGE.shape)
WEIGHTS = RNG.normal(size=(3, 2))
LINE = RNG.normal(size=4)
PLACES = np.stack([RNG.uniform(-3, 8, 7), RNG.uniform(-3, 9, 7)])
LABELS = np.asarray([[0, 0, 1, 1, 2, 2]] * 5)

BORDERS = ("reflect", "constant", "nearest", "mirror", "wrap")
ALL_BORDERS = (*BORDERS, "grid-mirror", "grid-constant", "grid-wrap")
CORNER = np.asarray([[0, 1, 1], [1, 1, 0]])


def applied(name, *args, **options):
    """A function of ndimage, of the image and of other inputs before the rest of its arguments."""
    return lambda *inputs: getattr(ndimage, name)(*inputs, *args, **options)


# --- filters ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("mode", BORDERS)
@pytest.mark.parametrize(
    ("name", "inputs", "options"),
    [
        ("correlate1d", (IMAGE, LINE), {"axis": 0, "origin": 1}),
        ("convolve1d", (IMAGE, LINE), {"origin": -1}),
        ("correlate", (IMAGE, WEIGHTS), {"origin": (-1, 0)}),
        ("convolve", (IMAGE, WEIGHTS), {}),
        ("uniform_filter", (IMAGE,), {"size": (3, 4), "origin": (0, -1)}),
        ("gaussian_filter", (IMAGE,), {"sigma": (1.0, 2.0)}),
        ("median_filter", (IMAGE,), {"size": 3}),
        ("minimum_filter", (IMAGE,), {"size": 3}),
        ("maximum_filter", (IMAGE,), {"footprint": CORNER}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_filter_at_each_border(name, inputs, options, mode):
    check(applied(name, mode=mode, cval=0.7, **options), *inputs)


@pytest.mark.parametrize("mode", BORDERS)
def test_a_filter_that_is_wider_than_the_image(mode):
    check(applied("correlate1d", mode=mode), IMAGE[:3, :2], RNG.normal(size=9), order=1)
    check(applied("maximum_filter", size=7, mode=mode), IMAGE[:3, :2], order=1)


FILTERS = {
    "sobel": ((IMAGE,), applied("sobel")),
    "prewitt": ((IMAGE,), applied("prewitt", 0)),
    "laplace": ((IMAGE,), ndimage.laplace),
    "gaussian_laplace": ((IMAGE,), applied("gaussian_laplace", 1.0)),
    "gaussian_gradient_magnitude": ((IMAGE,), applied("gaussian_gradient_magnitude", 1.0)),
    "gaussian_filter1d": ((IMAGE,), applied("gaussian_filter1d", 1.0, order=1, axis=0)),
    "correlate along one axis": ((IMAGE, LINE), applied("correlate", axes=1)),
    "correlate1d, complex": ((COMPLEX, LINE + 1j), applied("correlate1d")),
    "convolve, complex": (
        (COMPLEX, WEIGHTS + 1j),
        applied("convolve", mode="constant", cval=0.3 + 0.2j),
    ),
    "correlate, complex weights": ((IMAGE, WEIGHTS + 1j), applied("correlate")),
    "uniform, complex": ((COMPLEX,), applied("uniform_filter", 3)),
    "gaussian, complex": ((COMPLEX,), applied("gaussian_filter", 1.0)),
    "rank_filter": ((IMAGE,), applied("rank_filter", 2, 3)),
    "percentile_filter": ((IMAGE,), applied("percentile_filter", 30, (3, 2))),
    "median of a line": ((IMAGE[0],), applied("median_filter", 5)),
    "minimum_filter1d": ((IMAGE,), applied("minimum_filter1d", 3)),
    "maximum_filter1d": ((IMAGE,), applied("maximum_filter1d", 4, 0, origin=1)),
    "grey_erosion": ((IMAGE,), applied("grey_erosion", structure=WEIGHTS)),
    "grey_dilation": ((IMAGE,), applied("grey_dilation", structure=WEIGHTS)),
    "grey_opening": ((IMAGE,), applied("grey_opening", 3)),
    "white_tophat": ((IMAGE,), applied("white_tophat", 3)),
    "black_tophat": ((IMAGE,), applied("black_tophat", 3)),
    "morphological_gradient": ((IMAGE,), applied("morphological_gradient", 3)),
    "morphological_laplace": ((IMAGE,), applied("morphological_laplace", 3)),
    "fourier_gaussian": ((COMPLEX,), applied("fourier_gaussian", 1.0)),
    "fourier_shift": ((COMPLEX,), applied("fourier_shift", 0.3)),
    "fourier_uniform": ((COMPLEX,), applied("fourier_uniform", 2.0, n=9, axis=0)),
    "fourier_ellipsoid": ((IMAGE,), applied("fourier_ellipsoid", 2.0)),
    "vectorized_filter": ((IMAGE,), applied("vectorized_filter", np.mean, size=3)),
}


@pytest.mark.parametrize("name", FILTERS)
def test_filters(name):
    inputs, f = FILTERS[name]
    check(f, *inputs)


def test_ties_share_evenly():
    x = xp.asarray([2.0, 2.0, 1.0])
    with interop.scipy(), xp.GradientTape() as tape:
        tape.watch(x)
        y = ndimage.maximum_filter(x, 3, mode="constant")[0]
    assert np.asarray(tape.gradient(y, x)).tolist() == [0.5, 0.5, 0.0]


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8"])
@pytest.mark.parametrize("name", ["gaussian_filter", "median_filter", "uniform_filter", "shift"])
def test_other_dtypes_are_those_of_scipy(name, dtype):
    check(applied(name, 2), (40 + 10 * IMAGE).astype(dtype))


# --- output -------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("gaussian_filter", (1.0,)), ("sobel", ()), ("correlate", (WEIGHTS,)), ("median_filter", (3,)),
        ("grey_erosion", (3,)), ("shift", (0.4,)), ("spline_filter", ()), ("uniform_filter", (3,)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("place", ["whole", "part", "transposed", "single"])
def test_an_output_is_written_and_followed(name, args, place):
    def f(x):
        here = xp if isinstance(x, xp.Array) else np
        shape = {"part": (9, 9), "transposed": (6, 5)}.get(place, (5, 6))
        whole = here.zeros(shape, dtype=here.float32 if place == "single" else here.float64)
        part = {"part": whole[1:6, 3:], "transposed": whole.T}.get(place, whole)
        getattr(ndimage, name)(x, *args, output=part)
        return whole * 2.0

    if place == "single":
        check(f, IMAGE.astype("float32"), vmap=False)
    else:
        check(f, IMAGE, order=1, vmap=False)


def test_the_input_may_be_the_output():
    def f(x):
        y = x * 1.0
        ndimage.gaussian_filter(y, 1.0, output=y)
        ndimage.minimum_filter(y, 3, output=y)
        return y

    check(f, IMAGE, order=1)


def test_numpys_output_is_refused():
    with interop.scipy(), pytest.raises(TypeError, match="would not remember"):
        ndimage.gaussian_filter(xp.asarray(IMAGE), 1.0, output=np.zeros(IMAGE.shape))


# --- interpolation ------------------------------------------------------------------------------------
@pytest.mark.parametrize("mode", ALL_BORDERS)
@pytest.mark.parametrize("order", range(6))
@pytest.mark.every(5)
def test_a_map_by_image_and_by_coordinates(mode, order):
    check(
        applied("map_coordinates", order=order, mode=mode, cval=0.7, prefilter=False), IMAGE, PLACES
    )


@pytest.mark.parametrize("mode", ALL_BORDERS)
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("shift", {"shift": (0.3, -1.6)}), ("zoom", {"zoom": (1.4, 0.6)}), ("rotate", {"angle": 20.0}),
        ("affine_transform", {"matrix": [[0.9, 0.1], [-0.2, 1.1]], "offset": (0.3, 0.2), "order": 2}),
    ],
    ids=str,
)  # fmt: skip
def test_images_that_are_moved(name, options, mode):
    check(applied(name, mode=mode, cval=0.7, **options), IMAGE, order=1)


@pytest.mark.parametrize("mode", ALL_BORDERS)
@pytest.mark.parametrize("order", [2, 3, 4, 5])
def test_the_spline_filter(mode, order):
    check(applied("spline_filter", order, mode=mode), IMAGE, order=1)


@pytest.mark.parametrize("mode", ["reflect", "nearest", "grid-wrap"])
def test_a_map_with_its_filter_to_second_order(mode):
    check(applied("map_coordinates", mode=mode), IMAGE, PLACES)
    check(applied("zoom", 1.3, mode=mode, grid_mode=True), IMAGE)


@pytest.mark.parametrize("mode", BORDERS)
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("gaussian_filter", {"order": (2, 1)}),
        ("gaussian_filter", {"order": 3, "radius": 4}),
        ("gaussian_laplace", {}),
        ("gaussian_laplace", {"axes": (1,)}),
    ],
)
@pytest.mark.every(3)
def test_derivatives_of_gaussians_by_their_width(name, options, mode):
    # SciPy asks a width how many elements it reaches, so vmap has no form of it.
    check(applied(name, mode=mode, **options), IMAGE, np.asarray(1.3), vmap=False)


def test_each_axis_has_a_width():
    check(applied("gaussian_laplace"), IMAGE, np.asarray([1.2, 0.8]), vmap=False)
    check(lambda width: ndimage.gaussian_laplace(IMAGE, width), np.asarray(1.3), vmap=False)
    check(applied("gaussian_gradient_magnitude"), IMAGE, np.asarray(1.3), vmap=False)


FOURIER = {"gaussian": "sigma", "uniform": "size", "ellipsoid": "size", "shift": "shift"}


@pytest.mark.parametrize(("name", "parameter"), FOURIER.items())
def test_a_parameter_of_a_fourier_filter_is_refused(name, parameter):
    filtered = getattr(ndimage, f"fourier_{name}")
    with interop.scipy():
        filtered(xp.asarray(COMPLEX), **{parameter: 1.5})
        for given in ({parameter: xp.asarray(1.5)}, {parameter: [xp.asarray(1.5), 2.0]}):
            with pytest.raises(TypeError, match="its parameters as an Array"):
                filtered(COMPLEX, **given)
            with pytest.raises(TypeError, match="its parameters as an Array"):
                filtered(COMPLEX, *given.values())


MAPPINGS = {
    "by name": lambda x, **how: ndimage.geometric_transform(
        IMAGE, lambda p: (p[0] * x[0], p[1] + x[1]), **how
    ),
    "as an argument": lambda x, **how: ndimage.geometric_transform(
        IMAGE, lambda p, s: (p[0] * s[0], p[1] + s[1]), extra_arguments=(x,), **how
    ),
    "as a keyword": lambda x, **how: ndimage.geometric_transform(
        IMAGE, lambda p, s: (p[0] * s[0], p[1] + s[1]), extra_keywords={"s": x}, **how
    ),
}


@pytest.mark.parametrize("how", [{}, {"order": 1, "mode": "reflect"}, {"output_shape": (4, 3)}])
@pytest.mark.parametrize("name", MAPPINGS)
def test_a_mapping_by_the_arrays_that_it_uses(name, how):
    check(lambda x: MAPPINGS[name](x, **how), np.asarray([0.9, 0.31]))


def test_other_ways_to_interpolate():
    check(lambda x: ndimage.affine_transform(x, [0.9, 1.1], (0.3, 0.2)), IMAGE)
    check(lambda x: ndimage.geometric_transform(x, lambda p: (p[0] - 0.5, p[1] + 0.3)), IMAGE)
    check(applied("map_coordinates", mode="reflect"), COMPLEX, PLACES)
    check(applied("shift", 0.4), COMPLEX)
    check(applied("spline_filter1d", 3, axis=0, output=np.complex128), COMPLEX)


@pytest.mark.parametrize("mode", ["reflect", "nearest", "grid-wrap"])
def test_images_by_how_they_are_moved(mode):
    matrix, offset = np.asarray([[0.9, 0.1], [-0.2, 1.1]]), np.asarray([0.31, 0.23])
    homogeneous = np.concatenate([matrix, offset[:, None]], axis=1)
    check(applied("affine_transform", mode=mode), IMAGE, matrix, offset)
    check(applied("affine_transform", mode=mode), IMAGE, homogeneous)
    check(applied("affine_transform", mode=mode, order=1), IMAGE, np.asarray([0.91, 1.13]), offset)
    check(applied("shift", mode=mode), IMAGE, offset)
    check(applied("shift", mode=mode), IMAGE, np.asarray(0.3))
    check(applied("rotate", mode=mode, reshape=False), IMAGE, np.asarray(20.0))


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda x: ndimage.map_coordinates(IMAGE, x), PLACES),
        (lambda x: ndimage.map_coordinates(COMPLEX, x, mode="reflect"), PLACES),
        (lambda x: ndimage.rotate(IMAGE, x, reshape=False, mode="reflect"), np.asarray(20.0)),
        (
            lambda x: ndimage.affine_transform(IMAGE, x, mode="nearest"),
            np.asarray([[0.9, 0.1], [-0.2, 1.1]]),
        ),
        (lambda x: ndimage.shift(IMAGE, x, mode="nearest"), np.asarray([0.31, 0.23])),
        (lambda x: ndimage.correlate(IMAGE, x), WEIGHTS),
    ],
)
def test_an_image_of_numpys_by_what_is_done_to_it(f, x):
    check(f, x)


def test_numpys_image_by_the_width_of_a_filter():
    check(lambda x: ndimage.gaussian_filter(IMAGE, x), np.asarray(1.3), vmap=False)


def test_numpys_output_beside_coordinates_is_refused():
    with interop.scipy(), pytest.raises(TypeError, match="would not remember"):
        ndimage.map_coordinates(IMAGE, xp.asarray(PLACES), output=np.zeros(PLACES.shape[1]))
    with interop.scipy():
        output = np.zeros(IMAGE.shape)
        assert ndimage.gaussian_filter(IMAGE, 1.0, output=output) is output
        assert type(ndimage.gaussian_filter(IMAGE, 1.0)) is np.ndarray


# --- measurements -------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "name", ["sum_labels", "mean", "variance", "standard_deviation", "minimum", "maximum", "median"]
)
def test_measurements_of_labelled_parts(name):
    check(lambda x: getattr(ndimage, name)(x, LABELS, [0, 1, 2]), IMAGE, vmap=False)
    check(lambda x: getattr(ndimage, name)(x), IMAGE, vmap=False)


def test_the_centre_of_mass():
    check(ndimage.center_of_mass, np.abs(IMAGE))


# --- what has no rule ---------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "f",
    [
        lambda x: ndimage.generic_filter(x, np.mean, 3),
        lambda x: ndimage.generic_filter1d(x, lambda a, b: None, 3),
        lambda x: ndimage.grey_erosion(IMAGE, structure=x),
        lambda x: ndimage.fourier_gaussian(IMAGE, x[0, :2]),
        lambda x: ndimage.distance_transform_edt(x),
        lambda x: ndimage.label(x),
    ],
)
def test_what_has_no_rule_is_refused(f):
    with interop.scipy(), pytest.raises((TypeError, AttributeError)):
        f(xp.asarray(IMAGE))
