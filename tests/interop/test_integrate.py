"""scipy.integrate.quad by all that its integrand uses, and by its ends."""

import warnings

import numpy as np
import pytest
from scipy import integrate
from scipy.integrate import quad

import arraytape as xp
from arraytape import interop

V = np.array([0.7, 1.2])


def bell(x, p):
    return np.exp(-p[0] * x * x)


PROGRAMS = {
    "a closure": lambda p: quad(lambda x: np.exp(-p[0] * x * x), 0, 1)[0],
    "args": lambda p: quad(bell, 0, 1, args=(p,))[0],
    "one argument": lambda p: quad(lambda x, a: np.exp(-a * x), 0, 1, args=p[0])[0],
    "the ends": lambda p: quad(lambda x: np.exp(-x * x), -p[0], p[1])[0],
    "ends in reverse": lambda p: quad(bell, p[1], p[0], args=(p,))[0],
    "to infinity": lambda p: quad(bell, p[1], np.inf, args=(p,))[0],
    "from infinity": lambda p: quad(bell, -np.inf, p[1], args=(p,))[0],
    "all of the line": lambda p: quad(bell, -np.inf, np.inf, args=(p,))[0],
    "a jump": lambda p: quad(
        lambda x: np.where(x < 0.3, x * p[0], 2.0 + p[1] * x), 0, p[0], points=[0.3]
    )[0],
    "many pieces": lambda p: quad(lambda x: 1.0 / ((x - 0.3) ** 2 + p[0] * 1e-3), 0, 1)[0],
    "one in another": lambda p: quad(lambda x: quad(bell, 0, x, args=(p * x,))[0], 0, 1)[0],
    "with all output": lambda p: quad(bell, 0, 1, args=(p,), full_output=True)[0],
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", PROGRAMS)
def test_an_integral_differentiates(name):
    f, along = PROGRAMS[name], np.array([0.3, -0.8])
    with interop.scipy():
        value, slope = xp.value_and_grad(f)(V)
        tangent = xp.jvp(f, (V,), (along,))[1]
    np.testing.assert_allclose(value, f(V), rtol=1e-14)
    h = 1e-3
    ends = [f(V + t * h * along) for t in (1, -1, 2, -2)]
    expected = (8 * (ends[0] - ends[1]) - (ends[2] - ends[3])) / (12 * h)
    np.testing.assert_allclose([np.sum(slope * along), tangent], expected, rtol=1e-7)


def test_the_second_derivative_is_the_integral_of_that_of_the_integrand():
    def f(p):
        return quad(lambda x: np.exp(-p * x * x), 0, 1)[0]

    with interop.scipy():
        found = xp.hessian(f)(0.7)
    np.testing.assert_allclose(
        found, quad(lambda x: x**4 * np.exp(-0.7 * x * x), 0, 1)[0], rtol=1e-10
    )


def test_scipys_warning_comes_from_the_users_line():
    def f(p):
        return quad(lambda x: np.abs(np.sin(p / (x + 1e-3))), 0, 1, limit=8)[0]

    with interop.scipy(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        xp.grad(f)(0.7)
    assert [w.filename for w in caught if w.category is integrate.IntegrationWarning] == [__file__]


REFUSED = {
    "singular integrand": lambda p: quad(lambda x: p[0] * np.log(x), 0, 1)[0],
    "weight=": lambda p: quad(bell, 0, 1, args=(p,), weight="cos", wvar=3.0)[0],
    "complex_func=": lambda p: quad(lambda x: np.exp(1j * x * p[0]), 0, 1, complex_func=True)[0],
    "dblquad": lambda p: integrate.dblquad(lambda x, y: p[0] * x * y, 0, 1, 0, 1)[0],
    "odeint": lambda p: integrate.odeint(lambda y, t: -p[0] * y, [1.0], [0.0, 1.0])[-1, 0],
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_derivative_is_refused(name):
    with interop.scipy(), pytest.raises(TypeError, match=rf"{name}.*has no derivative here"):
        xp.grad(REFUSED[name])(V)
    assert isinstance(float(REFUSED[name](V).real), float)


def test_without_a_tape_they_are_scipys():
    with interop.scipy():
        p = xp.asarray(V)
        found = quad(bell, 0, 1, args=(p,))
    assert found == quad(bell, 0, 1, args=(V,))
    assert type(found[0]) is float


# --- samples: each argument alone an Array, and float32 ---------------------------------------
Y, X = np.array([1.0, 2.0, 0.5, 3.0, 2.5]), np.array([0.0, 0.5, 1.2, 2.0, 2.3])
SAMPLES = {
    "trapezoid": ("y", "x"),
    "simpson": ("y", "x"),
    "cumulative_trapezoid": ("y", "x"),
    "cumulative_simpson": ("y", "x", "initial"),
    "trapezoid, dx": ("y", "dx"),
    "simpson, dx": ("y", "dx"),
    "cumulative_trapezoid, dx": ("y", "dx"),
    "cumulative_simpson, dx": ("y", "dx", "initial"),
    "romb": ("y", "dx"),
}
VALUES = {"y": Y, "x": X, "dx": np.asarray(0.3), "initial": np.asarray(0.7)}
ALONE = [(name, k) for name, keys in SAMPLES.items() for k in keys]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("name", "key"), ALONE)
def test_each_argument_alone_may_be_an_array(name, key):
    function = getattr(integrate, name.partition(",")[0])
    others = {k: VALUES[k] for k in SAMPLES[name] if k != key}

    def f(value):
        found = function(**others, **{key: value})
        return (found**2 * np.arange(1.0, 1.0 + np.size(found))).sum()

    along = np.cos(np.arange(VALUES[key].size)).reshape(VALUES[key].shape)
    with interop.scipy():
        slope = xp.grad(f)(VALUES[key])
    ends = [f(VALUES[key] + t * 1e-5 * along) for t in (1, -1)]
    np.testing.assert_allclose(np.sum(slope * along), (ends[0] - ends[1]) / 2e-5, rtol=1e-7)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", PROGRAMS)
def test_an_integral_of_float32_is_not_taken_for_a_singular_one(name):
    with interop.scipy():
        exact = xp.grad(PROGRAMS[name])(V)
        found = xp.grad(PROGRAMS[name])(V.astype(np.float32))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, exact, rtol=1e-4, atol=1e-5)
