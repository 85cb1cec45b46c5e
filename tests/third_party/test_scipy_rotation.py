"""Rotation and Slerp of scipy.spatial.transform, as installed."""

import numpy as np
import pytest
from array_api_compat import array_namespace
from scipy.spatial.transform import Rotation, Slerp

RNG = np.random.default_rng(0)
V, P = RNG.uniform(-1.5, 1.5, (4, 3)), RNG.uniform(-1.5, 1.5, (4, 3))
Q = RNG.uniform(-1.5, 1.5, (4, 4))
AXES = np.eye(3)
BACK = {
    "as_quat": lambda r: r.as_quat(canonical=True),
    "as_quat with the scalar first": lambda r: r.as_quat(canonical=True, scalar_first=True),
    "as_matrix": lambda r: r.as_matrix(),
    "as_rotvec": lambda r: r.as_rotvec(),
    "as_rotvec in degrees": lambda r: r.as_rotvec(degrees=True),
    "as_mrp": lambda r: r.as_mrp(),
    "as_euler": lambda r: r.as_euler("xyz"),
    "as_euler about two axes, intrinsic": lambda r: r.as_euler("ZXZ", degrees=True),
    "as_davenport": lambda r: r.as_davenport(_like(r, AXES), "extrinsic"),
    "magnitude": lambda r: r.magnitude(),
}


def _like(rotation, value):
    """A constant beside a rotation's data."""
    return array_namespace(rotation.as_quat()).asarray(value)


@pytest.mark.parametrize("name", BACK)
def test_what_a_rotation_is_read_as_differentiates(differentiates, name):
    differentiates(lambda q: BACK[name](Rotation.from_quat(q)), Q, order=2)


FORWARD = {
    "from_quat with the scalar first": (lambda q: Rotation.from_quat(q, scalar_first=True), Q),
    "from_rotvec": (Rotation.from_rotvec, V),
    "from_rotvec in degrees": (lambda v: Rotation.from_rotvec(40.0 * v, degrees=True), V),
    "from_rotvec of one": (Rotation.from_rotvec, V[0]),
    "from_mrp": (Rotation.from_mrp, V / 3.0),
    "from_euler": (lambda a: Rotation.from_euler("xyz", a), V),
    "from_euler, intrinsic": (lambda a: Rotation.from_euler("ZYX", 40.0 * a, degrees=True), V),
    "from_euler of one axis": (lambda a: Rotation.from_euler("y", a), V[0, 0]),
    "from_davenport": (
        lambda a: Rotation.from_davenport(array_namespace(a).asarray(AXES), "intrinsic", a),
        V,
    ),
    # SciPy writes the rotation that it finds into what it is given: hence the product.
    "from_matrix": (
        lambda m: Rotation.from_matrix(m * 1.0),
        np.eye(3) + 0.2 * RNG.uniform(-1.0, 1.0, (2, 3, 3)),
    ),
    "from_matrix of rotations": (
        lambda v: Rotation.from_matrix(Rotation.from_rotvec(v).as_matrix()),
        V,
    ),
    "from_matrix, taken as valid": (
        lambda v: Rotation.from_matrix(Rotation.from_rotvec(v).as_matrix(), assume_valid=True),
        V,
    ),
    "concatenate": (
        lambda v, w: Rotation.concatenate([Rotation.from_rotvec(v), Rotation.from_rotvec(w)]),
        V,
        P,
    ),
    "a product": (lambda v, w: Rotation.from_rotvec(v) * Rotation.from_rotvec(w), V, P),
    "a power": (lambda v: Rotation.from_rotvec(v) ** 2.5, V),
    "a negative power": (lambda v: Rotation.from_rotvec(v) ** -1, V),
    "the inverse": (lambda v: Rotation.from_rotvec(v).inv(), V),
    "the mean": (lambda v: Rotation.from_rotvec(v).mean(), V),
    "the mean with weights": (
        lambda v, w: Rotation.from_rotvec(v).mean(weights=w),
        V,
        RNG.uniform(0.5, 1.5, 4),
    ),
    "a slice": (lambda v: Rotation.from_rotvec(v)[1:3], V),
    "some by a mask": (lambda v: Rotation.from_rotvec(v)[v[:, 0] > 0], V),
    "the reduced one": (lambda v: by_symmetry(Rotation.from_rotvec(v)), V),
}


def by_symmetry(rotation):
    """The nearest to no rotation, with some turns before it and some after it.

    SciPy's array API code needs both: it takes what is not given for another rotation than none.
    """
    before, after = (Rotation.from_rotvec(turns).as_quat() for turns in (2.0 * P, V[::-1]))
    return rotation.reduce(
        Rotation.from_quat(_like(rotation, before)), Rotation.from_quat(_like(rotation, after))
    )


@pytest.mark.parametrize("name", FORWARD)
def test_what_a_rotation_is_made_of_differentiates(differentiates, name):
    function, *inputs = FORWARD[name]
    order = 1 if name in ("from_matrix", "from_matrix of rotations") else 2
    differentiates(lambda *xs: function(*xs).as_matrix(), *inputs, order=order, rtol=1e-6)


def test_a_rotation_that_is_written_into_differentiates(differentiates):
    def f(v, w):
        rotation = Rotation.from_rotvec(v)
        rotation[1] = Rotation.from_rotvec(w)
        return rotation.as_matrix()

    differentiates(f, V, P[0], order=2)


def test_rotations_one_by_one_differentiate(differentiates):
    differentiates(lambda v: [r.as_quat() for r in Rotation.from_rotvec(v)], V)


@pytest.mark.parametrize("inverse", [False, True])
def test_rotated_points_differentiate(differentiates, inverse):
    def f(v, p):
        return Rotation.from_rotvec(v).apply(p, inverse=inverse)

    differentiates(f, V, P, order=2)
    differentiates(f, V[0], P)
    differentiates(f, V, P[0])


def test_no_rotation_has_the_gradient_of_a_small_one(differentiates):
    """SciPy takes a series there, and divides 0 by 0 beside it.

    Not its curvature: the series is in the square of a norm, whose slope at 0 is 0 by convention.
    """
    differentiates(lambda v: Rotation.from_rotvec(v).as_matrix(), np.zeros((2, 3)))
    differentiates(lambda v: Rotation.from_rotvec(v).inv().as_rotvec(), np.zeros((2, 3)))
    differentiates(lambda v: (Rotation.from_rotvec(v) ** 0.5).as_matrix(), np.zeros((2, 3)))


def test_aligned_vectors_differentiate(differentiates):
    def f(a, b):
        rotation, distance = Rotation.align_vectors(a, b)
        return [rotation.as_matrix(), distance]

    differentiates(f, P, V, rtol=1e-6)


def test_aligned_vectors_with_weights_and_their_sensitivity_differentiate(differentiates):
    def f(a, b, w):
        rotation, distance, sensitivity = Rotation.align_vectors(
            a, b, weights=w, return_sensitivity=True
        )
        return [rotation.as_matrix(), distance, sensitivity]

    differentiates(f, P, V, RNG.uniform(0.5, 1.5, 4), rtol=1e-6)


def test_one_aligned_vector_differentiates(differentiates):
    def f(a, b):
        return Rotation.align_vectors(a, b)[0].as_matrix()

    differentiates(f, P[0], V[0], rtol=1e-6)


def test_interpolated_rotations_differentiate(differentiates):
    def f(v, t):
        here = array_namespace(v)
        slerp = Slerp(here.asarray([0.0, 1.0, 2.0, 4.0]), Rotation.from_rotvec(v))
        return slerp(t).as_matrix()

    differentiates(f, V, np.asarray([0.3, 1.7, 3.9]), order=2)


def test_the_times_of_an_interpolation_differentiate(differentiates):
    def f(times, v):
        return Slerp(times, Rotation.from_rotvec(v))(
            array_namespace(v).asarray([0.4, 1.2])
        ).as_quat()

    differentiates(f, np.asarray([0.0, 1.0, 2.0, 4.0]), V)


def test_facts_about_rotations_are_numpys(has_values):
    def f(v, w):
        a, b = Rotation.from_rotvec(v), Rotation.from_rotvec(w)
        return [a.approx_equal(b, atol=1.5), a.approx_equal(a)]

    has_values(f, V, P)
