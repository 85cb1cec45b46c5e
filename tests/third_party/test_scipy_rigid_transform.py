"""RigidTransform of scipy.spatial.transform, as installed."""

import numpy as np
import pytest
from array_api_compat import array_namespace
from scipy.spatial.transform import RigidTransform, Rotation
from scipy.spatial.transform._rigid_transform import normalize_dual_quaternion

RNG = np.random.default_rng(0)
V, T, P = (RNG.uniform(-1.5, 1.5, (4, 3)) for _ in range(3))
E = np.concatenate([V, T], axis=1)  # exponential coordinates
DUAL = np.concatenate([RNG.uniform(-1.5, 1.5, (4, 4)), RNG.uniform(-1.5, 1.5, (4, 4))], axis=1)
BACK = {
    "as_matrix": lambda t: t.as_matrix(),
    "as_components": lambda t: [t.as_components()[0], t.as_components()[1].as_matrix()],
    "as_exp_coords": lambda t: t.as_exp_coords(),
    "as_dual_quat": lambda t: t.as_dual_quat(),
    "as_dual_quat with the scalar first": lambda t: t.as_dual_quat(scalar_first=True),
    "the translation": lambda t: t.translation,
    "the rotation": lambda t: t.rotation.as_rotvec(),
    "the inverse": lambda t: t.inv().as_matrix(),
    "a power": lambda t: (t**0.625).as_matrix(),  # SciPy takes it in single precision for NumPy
    "a whole power": lambda t: (t**3).as_matrix(),
    "a slice": lambda t: t[1:3].as_matrix(),
    "one by one": lambda t: [one.as_matrix() for one in t],
}


@pytest.mark.parametrize("name", BACK)
def test_what_a_transform_is_read_as_differentiates(differentiates, name):
    differentiates(lambda e: BACK[name](RigidTransform.from_exp_coords(e)), E, order=2)


FORWARD = {
    "from_components": (
        lambda t, v: RigidTransform.from_components(t, Rotation.from_rotvec(v)),
        T,
        V,
    ),
    "from_dual_quat": (RigidTransform.from_dual_quat, DUAL),
    "from_dual_quat with the scalar first": (
        lambda d: RigidTransform.from_dual_quat(d, scalar_first=True),
        DUAL,
    ),
    "from_exp_coords of one": (RigidTransform.from_exp_coords, E[0]),
    "from_matrix": (
        lambda e: RigidTransform.from_matrix(RigidTransform.from_exp_coords(e).as_matrix()),
        E,
    ),
    "from_rotation": (lambda v: RigidTransform.from_rotation(Rotation.from_rotvec(v)), V),
    "from_translation": (RigidTransform.from_translation, T),
    "concatenate": (
        lambda e, t: RigidTransform.concatenate(
            [RigidTransform.from_exp_coords(e), RigidTransform.from_translation(t)]
        ),
        E,
        T,
    ),
    "a product": (
        lambda e, t: RigidTransform.from_exp_coords(e) * RigidTransform.from_translation(t),
        E,
        T,
    ),
    "the mean": (lambda e: RigidTransform.from_exp_coords(e).mean(), E),
    "the mean with weights": (
        lambda e, w: RigidTransform.from_exp_coords(e).mean(weights=w),
        E,
        RNG.uniform(0.5, 1.5, 4),
    ),
}


@pytest.mark.parametrize("name", FORWARD)
def test_what_a_transform_is_made_of_differentiates(differentiates, name):
    function, *inputs = FORWARD[name]
    differentiates(lambda *xs: function(*xs).as_matrix(), *inputs, rtol=1e-6)


def test_normalized_dual_quaternions_differentiate(differentiates):
    differentiates(normalize_dual_quaternion, DUAL, order=2)


@pytest.mark.parametrize("inverse", [False, True])
def test_transformed_points_differentiate(differentiates, inverse):
    def f(e, p):
        return RigidTransform.from_exp_coords(e).apply(p, inverse=inverse)

    differentiates(f, E, P, order=2)
    differentiates(f, E[0], P)


def test_a_transform_that_is_written_into_differentiates(differentiates):
    def f(e, t):
        transform = RigidTransform.from_exp_coords(e)
        transform[2] = RigidTransform.from_translation(t)
        return transform.as_matrix()

    differentiates(f, E, T[0])


def test_no_rotation_has_the_gradient_of_a_small_one(differentiates):
    at = np.concatenate([np.zeros((2, 3)), T[:2]], axis=1)
    differentiates(lambda e: RigidTransform.from_exp_coords(e).as_matrix(), at)
    differentiates(lambda e: RigidTransform.from_exp_coords(e).inv().as_exp_coords(), at)


def test_the_identity_is_numpys(has_values):
    def f(x):
        identity = RigidTransform.identity(2)
        moved = identity.apply(np.asarray([[1.0, 2.0, 3.0]]))
        return array_namespace(x).asarray(moved)

    has_values(f, T)
