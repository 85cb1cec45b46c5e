"""In-place operators."""

import operator
import warnings

import array_api_compat.numpy as numpy
import numpy as np
import pytest

import arraytape as xp
from helpers.writing import assert_same_bits, check, sample

OPERATORS = {
    "+=": lambda x, y: x.__iadd__(y),
    "-=": lambda x, y: x.__isub__(y),
    "*=": lambda x, y: x.__imul__(y),
    "/=": lambda x, y: x.__itruediv__(y),
    "**=": lambda x, y: x.__ipow__(y),
}
operators = pytest.mark.parametrize("operator", OPERATORS.values(), ids=OPERATORS.keys())


@operators
def test_an_array_changes_in_place(operator):
    def program(xp, x, y):
        z = xp.sin(x)
        alias = x
        x = operator(x, y)
        assert x is alias
        x = operator(x, 2.0)
        return x, z, xp.cos(x)

    check(program, sample(3, 4), sample(4, seed=1))


@operators
def test_a_view_changes_in_place_with_its_root(operator):
    def program(xp, x, y):
        v = x[:, ::-2]
        v = operator(v, y)
        v = operator(v, 3)
        v = operator(v, v)
        return x, v

    check(program, sample(3, 4), sample(2, seed=1))


@operators
def test_an_array_changes_in_place_by_itself(operator):
    def program(xp, x):
        x = operator(x, x)
        x = operator(x, x[::-1])
        return x

    check(program, sample(5))


def test_a_matrix_and_its_view_change_in_place_by_matmul():
    def program(xp, x, y):
        v = x[::-1]
        z = xp.sin(x)
        x @= y
        v @= y.T
        x @= x
        return x, v, z

    check(program, sample(3, 3), sample(3, 3, seed=1))


@pytest.mark.parametrize("kept", [False, True], ids=["", "kept"])
def test_an_unfollowed_matrix_times_its_own_transpose_in_place_has_numpys_bits(kept):
    # NumPy calls another routine of BLAS when both operands are the same memory.
    def program(space, data):
        x = space.asarray(data, copy=True)
        y = x * w if kept and space is xp else x
        x @= x.T
        return x, y

    data, w = np.asfortranarray(sample(12, 12)), xp.asarray(sample(12, 12, seed=1))
    with xp.GradientTape() as tape:
        tape.watch(w)
        found = program(xp, data)
    assert_same_bits(found[:1], program(numpy, data)[:1])


def test_integers_change_in_place_as_in_numpy():
    for space in (numpy, xp):
        n = space.asarray([7, 8, 9])
        v = n[1:]
        n //= 2
        v %= 3
        n <<= 1
        v |= 1
        n ^= 2
        n &= 7
        assert np.asarray(n).tolist() == [4, 1, 1]
        assert np.asarray(v).tolist() == [1, 1]


def test_an_in_place_operator_with_a_followed_operand_makes_its_array_followed():
    x = xp.asarray([1.0, 2.0, 3.0])
    with xp.GradientTape() as tape:
        tape.watch(x)
        z = xp.ones(3)
        v = z[1:]
        z *= x
        v += x[:2]
        y = xp.sum(z * z)
    assert np.asarray(z).tolist() == [1.0, 3.0, 5.0]
    assert np.asarray(tape.gradient(y, x)).tolist() == [8.0, 16.0, 10.0]


def test_an_operand_that_answers_itself_is_asked():
    class Stranger:
        def __radd__(self, other):
            return "answered"

    x = xp.asarray([1.0])
    x += Stranger()
    assert x == "answered"


PARTS = slice(1, None), slice(None, -1), slice(None, None, -1), slice(None, None, 2), slice(None), 0


@pytest.mark.parametrize("seed", range(60))
def test_a_write_that_warns_has_numpys_bits_where_the_operand_overlaps_it(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5))
    values = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e200, -1e200, 2.0]
    with np.errstate(over="ignore"):
        data = rng.choice(values, (n, n)).astype(rng.choice(["f8", "f4", "f2"]))
    if seed % 4 == 0:
        data = rng.integers(0, 3, (n, n))
    names = ["iadd", "isub", "imul", "itruediv", "ipow", "imod", "imatmul"]
    name = rng.choice(names if data.dtype.kind == "f" else names[5:])
    target, part = [PARTS[i] for i in rng.integers(0, len(PARTS), 2)]

    def write(x, turned):
        y = x.T if turned else x
        x, y = (x, y) if name == "imatmul" else (x[target], y[part])
        getattr(operator, name)(x, y)

    for turned in (False, True):
        expected, x = data.copy(), xp.asarray(data, copy=True)
        with warnings.catch_warnings(record=True) as numpys:
            warnings.simplefilter("always")
            try:
                write(expected, turned)
            except (ValueError, TypeError):  # shapes that do not fit, or a number as the target
                continue
        with warnings.catch_warnings(record=True) as ours:
            warnings.simplefilter("always")
            write(x, turned)
        np.testing.assert_array_equal(np.asarray(x), expected, strict=True)
        assert len(ours) == len(numpys), (name, target, part)
        assert all(one.filename == __file__ for one in ours)
