"""scipy.ndimage, as installed: all of it is C code, with NumPy's values; it says where it leaves."""

import numpy as np
import pytest
from array_api_compat import array_namespace
from scipy import ndimage

import arraytape as xp

RNG = np.random.default_rng(0)
IMAGE, KERNEL = RNG.normal(size=(6, 7)), RNG.normal(size=(3, 3))
LABELS = np.asarray([[1, 1, 2, 2, 3, 3, 0]] * 6)


def labelled(name):
    """A measurement over the labels 1 and 3."""

    def measure(x):
        here = array_namespace(x)
        return getattr(ndimage, name)(x, here.asarray(LABELS), here.asarray([1, 3]))

    return measure


def applied(name, *arguments, **options):
    return lambda x: getattr(ndimage, name)(x, *arguments, **options)


def with_array(name, array, *arguments):
    return lambda x: getattr(ndimage, name)(x, array_namespace(x).asarray(array), *arguments)


SIZED = (
    "black_tophat grey_closing grey_dilation grey_erosion grey_opening maximum_filter median_filter "
    "minimum_filter morphological_gradient morphological_laplace uniform_filter white_tophat"
)
SMOOTHED = "gaussian_filter gaussian_gradient_magnitude gaussian_laplace"
MEASURED = (
    "center_of_mass extrema maximum mean median minimum standard_deviation sum sum_labels variance"
)
CASES = {
    **{name: applied(name, 3) for name in SIZED.split()},
    **{name: applied(name, 1.0) for name in SMOOTHED.split()},
    **{name: labelled(name) for name in MEASURED.split()},
    **{name: with_array(name, KERNEL) for name in ("convolve", "correlate")},
    **{name: with_array(name, KERNEL[0]) for name in ("convolve1d", "correlate1d")},
    **{
        name: applied(name, 3)
        for name in ("maximum_filter1d", "minimum_filter1d", "uniform_filter1d")
    },
    **{
        name: applied(name)
        for name in ("laplace", "prewitt", "sobel", "spline_filter", "spline_filter1d")
    },
    **{
        f"fourier_{name}": applied(f"fourier_{name}", 1.0)
        for name in ("ellipsoid", "shift", "uniform")
    },
    "affine_transform": with_array("affine_transform", np.eye(2) + 0.1),
    "fourier_ellipsoid": applied("fourier_ellipsoid", 1.0),
    "fourier_gaussian": applied("fourier_gaussian", 1.0),
    "fourier_shift": applied("fourier_shift", 1.0),
    "fourier_uniform": applied("fourier_uniform", 1.0),
    "gaussian_filter1d": applied("gaussian_filter1d", 1.0, order=1, mode="wrap"),
    "generic_filter": applied("generic_filter", np.mean, 3),
    "generic_filter1d": applied("generic_filter1d", lambda a, b: np.copyto(b, a[1:-1]), 3),
    "generic_gradient_magnitude": applied("generic_gradient_magnitude", ndimage.sobel),
    "generic_laplace": applied(
        "generic_laplace", lambda x, axis, out, *rest: ndimage.sobel(x, axis, out)
    ),
    "geometric_transform": applied("geometric_transform", lambda at: (at[0] - 0.5, at[1] - 0.5)),
    "labeled_comprehension": lambda x: ndimage.labeled_comprehension(
        x, array_namespace(x).asarray(LABELS), array_namespace(x).asarray([1, 3]), np.mean, float, 0
    ),
    "map_coordinates": with_array("map_coordinates", [[0.5, 2.0], [1.0, 3.0]]),
    "percentile_filter": applied("percentile_filter", 30, 3),
    "rank_filter": applied("rank_filter", 2, 3),
    "rotate": applied("rotate", 30.0),
    "shift": applied("shift", 0.5),
    "vectorized_filter": applied("vectorized_filter", np.mean, size=(3, 3)),
    "zoom": applied("zoom", 1.5),
}


def first(results):
    """One result, or the first of several."""
    while isinstance(results, list | tuple):
        results = results[0]
    return results


@pytest.mark.parametrize("name", CASES)
def test_it_has_numpys_values_and_says_where_it_leaves(leaves, name):
    found = leaves(
        lambda x: first(CASES[name](x)),
        IMAGE,
        at=r"scipy/ndimage/_\w+.py",
        how="(np.asarray|float)",
    )
    assert found is None or found == [None]


# --- of integers and booleans -----------------------------------------------------------------------
BINARY = (
    "binary_closing binary_dilation binary_erosion binary_fill_holes binary_hit_or_miss binary_opening "
    "binary_propagation distance_transform_bf distance_transform_cdt distance_transform_edt label"
)
FACTS = {
    **{name: applied(name) for name in BINARY.split()},
    "find_objects": lambda x: len(ndimage.find_objects(ndimage.label(x)[0])),
    "histogram": lambda x: ndimage.histogram(ndimage.label(x)[0], 0, 4, 4),
    "iterate_structure": applied("iterate_structure", 2),
    "maximum_position": lambda x: ndimage.maximum_position(x, ndimage.label(x)[0]),
    "minimum_position": lambda x: ndimage.minimum_position(x, ndimage.label(x)[0]),
    "value_indices": lambda x: sorted(ndimage.value_indices(ndimage.label(x)[0])),
    "watershed_ift": lambda x: ndimage.watershed_ift(
        array_namespace(x).astype(x, array_namespace(x).uint8), ndimage.label(x)[0]
    ),
}


@pytest.mark.parametrize("name", FACTS)
def test_a_function_of_a_mask_is_numpys(has_values, name):
    def f(x):
        found = FACTS[name](x > 0)
        return [array_namespace(x).asarray(part) for part in listed(found)]

    has_values(f, IMAGE)


def listed(found):
    return list(found) if isinstance(found, tuple | list) else [found]


# --- output= ----------------------------------------------------------------------------------------
def into(name, *arrays, **options):
    """A function of an image and of the output that it is written into."""

    def call(x, output):
        here = array_namespace(x)
        return getattr(ndimage, name)(
            x, *[here.asarray(a) for a in arrays], **options, output=output
        )

    return call


INTO = {
    "affine_transform": into("affine_transform", np.eye(2) + 0.1),
    "black_tophat": into("black_tophat", size=3),
    "convolve": into("convolve", KERNEL),
    "correlate1d": into("correlate1d", KERNEL[0]),
    "gaussian_filter": into("gaussian_filter", sigma=1.0),
    "gaussian_gradient_magnitude": into("gaussian_gradient_magnitude", sigma=1.0),
    "generic_filter": into("generic_filter", function=np.mean, size=3),
    "grey_dilation": into("grey_dilation", size=3),
    "laplace": into("laplace"),
    "median_filter": into("median_filter", size=3),
    "rotate": into("rotate", angle=30.0, reshape=False),
    "shift": into("shift", shift=0.5),
    "sobel": into("sobel"),
    "spline_filter": into("spline_filter"),
    "uniform_filter": into("uniform_filter", size=3),
    "zoom": into("zoom", zoom=1.0, prefilter=False),
}
PLACES = {
    "whole": lambda here: (out := here.zeros((6, 7)), out),
    "part": lambda here: (out := here.zeros((9, 9)), out[1:7, 2:]),
    "transposed": lambda here: (out := here.zeros((7, 6)), out.T),
    "single": lambda here: (out := here.zeros((6, 7), dtype=here.float32), out),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", INTO)
def test_an_output_is_written_as_numpys(has_values, name, place):
    def f(x):
        whole, part = PLACES[place](array_namespace(x))
        INTO[name](x, part)
        return whole, part

    has_values(f, IMAGE)


def test_an_image_is_its_own_output(has_values):
    def f(x):
        y = array_namespace(x).asarray(x, copy=True)
        ndimage.gaussian_filter(y[1:, :], 1.0, output=y[1:, :])
        ndimage.minimum_filter(y, 3, output=y)
        return y

    has_values(f, IMAGE)


@pytest.mark.parametrize("name", INTO)
def test_what_is_written_into_an_output_says_where_it_left(leaves, name):
    def f(x):
        output = array_namespace(x).zeros((6, 7))
        INTO[name](x, output)
        return output

    found = leaves(f, IMAGE, at=r"scipy/ndimage/_\w+.py", how="np.asarray")
    assert found == [None]


@pytest.mark.parametrize("name", INTO)
def test_an_output_that_is_followed_keeps_its_value_and_the_gradient_warns(name):
    """What is written goes to the copy that ``np.asarray`` gives of a recorded value."""
    x, output = xp.asarray(IMAGE), xp.ones((6, 7))
    with xp.GradientTape() as tape:
        tape.watch(output)
        INTO[name](x, output)
        y = xp.sum(output * output)
    assert np.all(np.asarray(output) == 1.0)
    with pytest.warns(xp.TapeWarning, match=r"may be missing: .*scipy/ndimage/_\w+\.py:\d+ \(np"):
        gradient = tape.gradient(y, output)
    assert np.all(np.asarray(gradient) == 2.0)


def test_a_buffer_that_is_written_again_and_again(differentiates):
    """The tape keeps what it held each time."""

    def f(x):
        here = array_namespace(x)
        image, buffer, total = here.asarray(IMAGE), here.zeros((6, 7)), 0.0
        for sigma in (0.5, 1.0, 2.0):
            ndimage.gaussian_filter(image, sigma, output=buffer)
            total = total + here.sum(x * x * buffer)
        return total

    differentiates(f, RNG.normal(size=(6, 7)))
