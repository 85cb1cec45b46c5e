"""In-place changes of 0-d arrays, and of scalar results, which are immutable as NumPy's scalars are."""

import numpy as np
import pytest

from helpers.writing import check, sample


def test_in_place_on_the_scalar_result_of_a_reduction_rebinds_the_name():
    def program(xp, x):
        s = xp.sum(x)
        t = s
        s += 1.0
        s *= x[0]
        return s, t

    check(program, sample(5))


@pytest.mark.parametrize(
    "shaped",
    [
        lambda xp, s: xp.reshape(s, (1,)),
        lambda xp, s: xp.expand_dims(s, axis=0),
        lambda xp, s: s[None],
    ],
    ids=["reshape", "expand_dims", "None"],
)
def test_a_write_into_a_reshaped_scalar_result_leaves_the_scalar_alone(shaped):
    def program(xp, x):
        s = xp.sum(x)
        r = shaped(xp, s)
        r[0] = 5.0
        r *= x[0]
        return s, r

    check(program, sample(5))


def test_an_explicit_copy_of_a_scalar_result_is_an_array_that_can_be_written_in_place():
    def program(xp, x):
        s = xp.asarray(xp.sum(x), copy=True)
        t = s
        s += x[0]
        return s, t

    check(program, sample(5))


@pytest.mark.parametrize("key", [(), ...])
def test_a_0d_array_is_written_whole(key):
    def program(xp, x, v):
        h = xp.asarray(x, copy=True)
        alias = h[...]
        y = h * h
        h[key] = v * v
        z = h * x
        h[key] *= v
        return h, alias, y, z

    check(program, np.asarray(0.7), np.asarray(1.3))


def test_in_place_on_a_0d_array_is_seen_through_its_other_names():
    def program(xp, x, v):
        h = xp.reshape(v, (1,)) * 1.0
        s = h[0, ...]
        t = s
        s += x
        s *= s
        return h, s, t

    check(program, np.asarray(0.7), np.asarray(1.3))


def test_a_0d_input_can_be_changed_in_place():
    def program(xp, x):
        y = xp.sin(x)
        x += 1.0
        x *= y
        return x, y

    check(program, np.asarray(0.7))
