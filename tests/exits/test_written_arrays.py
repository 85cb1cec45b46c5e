"""The advice for an Array that NumPy writes into an array of its own."""

import numpy as np
import pytest

import arraytape as xp

AT = np.linspace(0.0, 1.0, 3)


def filled(p):
    r = np.empty(3)
    for i in range(3):
        r[i] = p[0] * np.exp(p[1] * AT[i])
    return r


def filled_slice(p):
    r = np.empty((2, 2))
    r[0, :] = p * 2.0
    return r


def added(p):
    r = np.zeros(3)
    r[0] += p[0]
    return r


def filled_field(p):
    class Box:
        values = np.empty(3)

    Box.values[1] = p[0]
    return Box.values


def listed(p):
    return np.array([p[0] * 2.0, p[1] ** 2])


def listed_rows(p):
    return np.asarray((p, p * 2.0))


def listed_before(p):
    rows = [p[0], p[1]]
    return np.array(rows)


def comprehended(p):
    return np.array([p[0] * t for t in AT])


def into_own(p):
    r = np.zeros_like(p, shape=3)
    for i in range(3):
        r[i] = p[0] * np.exp(p[1] * AT[i])
    return r


@pytest.mark.parametrize(
    ("f", "name"), [(filled, "r"), (filled_slice, "r"), (added, "r"), (filled_field, "Box.values")]
)
def test_an_array_of_numpys_that_is_written_into_is_named(f, name):
    says = (
        rf"make {name} an Array, by np\.zeros_like\(x, shape=\.\.\.\).*{name} is an array of NumPy"
    )
    with pytest.raises(TypeError, match=says):
        xp.jacobian(f)(np.ones(2))
    with pytest.raises((TypeError, xp.LostGradientError), match=says):
        xp.grad(lambda p: np.sum(f(p)))(np.ones(2))


@pytest.mark.parametrize("f", [listed, listed_rows, listed_before, comprehended])
def test_a_list_of_arrays_for_numpy_leads_to_stack(f):
    with pytest.raises(TypeError, match=r"stack the Arrays with arraytape\.stack\(\[\.\.\.\]\)"):
        xp.jacobian(f)(np.ones(2))


@pytest.mark.parametrize("f", [lambda p: float(p[0]) * AT, lambda p: [0.0, float(p[1])][1]])
def test_a_conversion_of_ones_own_gets_no_such_advice(f):
    with pytest.raises(TypeError) as caught:
        xp.jacobian(f)(np.ones(2))
    assert "stack" not in str(caught.value)
    assert "zeros_like" not in str(caught.value)


def test_what_the_advice_says_has_the_derivative():
    J = xp.jacobian(into_own)(np.ones(2))
    np.testing.assert_allclose(J, np.exp(AT)[:, None] * np.stack([np.ones(3), AT], axis=1))
    J = xp.jacobian(lambda p: xp.stack([p[0] * 2.0, p[1] ** 2]))(np.ones(2))
    np.testing.assert_allclose(J, [[2.0, 0.0], [0.0, 2.0]])
