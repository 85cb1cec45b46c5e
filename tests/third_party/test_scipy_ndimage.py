"""scipy.ndimage, as installed: all of it is C code, with NumPy's values; it says where it leaves."""

import numpy as np
import pytest
from array_api_compat import array_namespace
from scipy import ndimage

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
