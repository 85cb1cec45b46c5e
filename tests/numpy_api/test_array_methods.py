"""NumPy's methods of arrays that the standard has not: NumPy's values, and gradients."""

import numpy as np
import pytest

import arraytape as xp
from arraytape import testing

X = np.asarray([[0.3, 1.2, 0.7], [2.0, 0.1, 0.6]])
CALLS = {
    "clip": lambda x: x.clip(0.2, 1.0),
    "cumprod": lambda x: x.cumprod(),
    "cumsum": lambda x: x.cumsum(),
    "cumsum along an axis": lambda x: x.cumsum(axis=1),
    "conjugate": lambda x: x.conjugate(),
    "diagonal": lambda x: x.diagonal(),
    "diagonal of other axes": lambda x: x.reshape(3, 1, 2).diagonal(1, axis1=0, axis2=2),
    "repeat": lambda x: x.repeat(2),
    "repeat along an axis": lambda x: x.repeat(2, axis=0),
    "squeeze": lambda x: x.reshape(1, 2, 3, 1).squeeze(),
    "swapaxes": lambda x: x.swapaxes(0, -1),
    "take": lambda x: x.take([0, -1, 2]),
    "take along an axis": lambda x: x.take([2, 2], axis=1),
    "trace": lambda x: x.trace(),
    "view": lambda x: x.view(),
    "view as itself": lambda x: x.view(float),
    "view as complex": lambda x: x.reshape(3, 2).view(complex),
}
COMPLEX = {
    "view as pairs": lambda x: x.view(float),
    "cumsum": lambda x: x.cumsum(),
    "conjugate": lambda x: x.conjugate(),
}
FACTS = {
    "all": lambda x: (x > 0.2).all(),
    "any": lambda x: (x > 0.2).any(axis=0),
    "argsort": lambda x: x.argsort(axis=0),
    "argsort of all": lambda x: x.argsort(axis=None),
    "nonzero": lambda x: (x > 0.6).nonzero()[1],
    "round": lambda x: x.round(),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_method_has_numpys_values_and_a_gradient(name):
    check(CALLS[name], X)


@pytest.mark.parametrize("name", COMPLEX)
def test_a_method_of_complex_data_has_numpys_values_and_a_gradient(name):
    check(COMPLEX[name], X + 1j * X[::-1])


@pytest.mark.parametrize("name", FACTS)
def test_a_method_without_a_gradient_has_numpys_values(name):
    found, expected = FACTS[name](xp.asarray(X)), FACTS[name](X)
    np.testing.assert_array_equal(np.asarray(found), expected)
    assert found.dtype == expected.dtype


def check(call, x):
    found, expected = call(xp.asarray(x)), call(x)
    np.testing.assert_array_equal(np.asarray(found), expected)
    assert found.dtype == expected.dtype
    testing.check_gradients(lambda x: testing.total(call(x)), [x])


def test_fill_writes_one_value_that_stays_connected():
    x, value = xp.asarray(X), xp.asarray(3.0)
    with xp.GradientTape() as tape:
        tape.watch(value)
        x.fill(value)
        y = xp.sum(x)
    np.testing.assert_array_equal(np.asarray(x), np.full((2, 3), 3.0))
    assert float(tape.gradient(y, value)) == 6.0


def test_a_view_of_the_same_dtype_is_an_alias():
    x = xp.asarray(X)
    x.view(xp.float64)[0, 0] = 5.0
    assert float(x[0, 0]) == 5.0


def test_a_view_of_another_dtype_is_a_copy_that_refuses_writes():
    pairs = xp.asarray(X[:, :2]).view(complex)
    with pytest.raises(ValueError, match="read-only"):
        pairs[0, 0] = 1j


@pytest.mark.parametrize("part", [lambda c: c * c, lambda c: c[..., :1] * np.conj(c), np.exp])
def test_pairs_read_as_complex_numbers_have_right_derivatives(part):
    weights = np.linspace(0.3, 1.7, 4).view(complex)
    check(lambda x: np.real(part((x[:, :2] * 1.0).view(complex)) * weights), X)


def test_infinite_parts_stay_apart_in_a_complex_view():
    x = np.asarray([1.0, np.inf, -np.inf, np.nan])
    np.testing.assert_array_equal(np.asarray(xp.asarray(x).view(complex)), x.view(complex))


@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.complex64])
def test_a_view_that_would_reinterpret_bits_raises(dtype):
    with pytest.raises(TypeError, match="use astype"):
        xp.asarray(X).view(dtype)


@pytest.mark.parametrize("index", [(), (3,), (-1,), (1, 2), ((1, 2),), (7,), (0, 5)])
def test_item_takes_numpys_indices(index):
    data = np.arange(6.0).reshape(2, 3)
    results = []
    for x in (data, xp.asarray(data)):
        try:
            results.append(x.item(*index))
        except (IndexError, ValueError) as error:
            results.append(type(error))
    assert results[0] == results[1]


class Unit:
    """An operand with operators of its own, such as a quantity with a unit."""

    __array_ufunc__ = None

    def __rdivmod__(self, other):
        return "quotient", "remainder"

    __divmod__ = __rdivmod__


def test_divmod_leaves_operands_with_operators_of_their_own_to_them():
    x = xp.ones(3)
    assert divmod(x, Unit()) == divmod(Unit(), x) == ("quotient", "remainder")
    with pytest.raises(TypeError, match=r"must be an Array, got builtins\.object"):
        divmod(x, object())
