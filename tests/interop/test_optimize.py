"""SciPy's solvers inside interop.scipy(): those of ``implicit`` where Arrays are followed."""

import numpy as np
import pytest
from scipy import integrate, optimize, stats

import arraytape as xp
from arraytape import interop

V = np.array([0.7, 1.2])
T = np.linspace(0.0, 3.0, 20)
Y = 2.5 * np.exp(-1.3 * T) + 0.05 * np.cos(9.0 * T)
TIGHT = {"rtol": 1e-10, "atol": 1e-10}
TIGHT_LSQ = {"xtol": 1e-14, "ftol": 1e-14, "gtol": 1e-14}


class Decay:
    def __init__(self, rate):
        self.rate = rate

    def slope(self, t, y):
        return -self.rate * y


def minimum(p):
    def f(z, a):
        return ((z - a) ** 2).sum() + (z**4).sum()

    return optimize.minimize(f, np.ones(2), args=(p,), method="trust-exact", **by_tape(f)).x.sum()


def by_tape(f):
    return {"jac": xp.grad(f), "hess": xp.hessian(f), "tol": 1e-12}


PROGRAMS = {
    "brentq": (lambda p: optimize.brentq(lambda z, a: z**3 - a[0] ** 2 - 1, 0.0, 5.0, args=(p,)), V),
    "root": (lambda p: optimize.root(lambda z, a: z**3 - a**2 - 1, np.ones(2), args=(p,)).x.sum(), V),
    "minimize": (minimum, V),
    "least_squares": (
        lambda p: optimize.least_squares(
            lambda z, a: z**3 + z - a, np.ones(2), args=(p,), **TIGHT_LSQ
        ).x.sum(),
        V,
    ),
    "curve_fit": (
        lambda y: optimize.curve_fit(lambda t, a, b: a * np.exp(-b * t), T, y, **TIGHT_LSQ)[0][1],
        Y,
    ),
    "solve_ivp by a closure": (
        lambda p: integrate.solve_ivp(lambda t, y: -p[0] * y, (0, 2), [1.0], **TIGHT).y[0, -1],
        V,
    ),
    "solve_ivp by a method": (
        lambda p: integrate.solve_ivp(Decay(p[1]).slope, (0, 2), [1.0], **TIGHT).y[0, -1], V
    ),
    "solve_ivp by args": (
        lambda p: integrate.solve_ivp(
            lambda t, y, a: -a[0] * y * a[1], (0, 2), [1.0], "DOP853", [0.0, 1.0, 2.0], args=(p,),
            **TIGHT,
        ).y[0].sum(),
        V,
    ),
    "solve_ivp by y0": (
        lambda p: integrate.solve_ivp(lambda t, y: -(y**2), (0, 2), p, "Radau", **TIGHT).y[0, -1], V
    ),
}  # fmt: skip


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_a_solver_found_differentiates(name):
    f, data = PROGRAMS[name]
    along = np.cos(np.arange(data.size))
    with interop.scipy():
        value, slope = xp.value_and_grad(f)(data)
    np.testing.assert_allclose(value, f(data), rtol=1e-9)
    h = 1e-3
    ends = [f(data + t * h * along) for t in (1, -1, 2, -2)]
    expected = (8 * (ends[0] - ends[1]) - (ends[2] - ends[3])) / (12 * h)
    np.testing.assert_allclose(np.sum(slope * along), expected, rtol=1e-6)


def test_a_second_derivative():
    def f(a):
        return optimize.brentq(lambda z, a: z**3 - a, 0.0, 5.0, args=(a,))

    with interop.scipy():
        found = xp.grad(xp.grad(f))(2.0)
    np.testing.assert_allclose(found, -2.0 / 9.0 * 2.0 ** (-5.0 / 3.0), rtol=1e-7)


def test_arrays_that_nothing_follows_are_scipys():
    with interop.scipy():
        a = xp.asarray(2.0)
        root = optimize.brentq(lambda z, a: z**3 - a, 0.0, 5.0, args=(a,))
        assert type(root) is float
        x0 = xp.zeros(2)

        def loss(z):
            return ((z - 1.0) ** 2).sum()

        found = optimize.minimize(loss, x0, jac=xp.grad(loss))
    assert type(found.x) is np.ndarray
    np.testing.assert_allclose(found.x, 1.0, atol=1e-6)


@pytest.mark.filterwarnings("ignore::arraytape.TapeWarning")
def test_scipys_own_calls_of_solvers_go_on():
    x = xp.asarray(np.exp(0.3 * np.cos(np.arange(20.0))))
    with interop.scipy(), xp.GradientTape() as tape:
        tape.watch(x)
        found = stats.gamma.fit(x, floc=0)
    np.testing.assert_allclose(found, stats.gamma.fit(np.asarray(x), floc=0))


def test_what_a_function_uses_may_be_anything():
    around = [1.0]
    around.append(around)
    loose = Decay(xp.asarray(0.5))

    def slope(t, y):
        return -around[0] * loose.rate * y

    with interop.scipy():
        found = integrate.solve_ivp(slope, (0, 2), [1.0])
    np.testing.assert_allclose(found.y[0, -1], np.exp(-1.0), rtol=1e-3)


def test_a_closure_of_a_solver_is_refused_by_name():
    def f(p):
        return optimize.brentq(lambda z: z**3 - p[0], 0.0, 5.0)

    with interop.scipy(), pytest.raises(ValueError, match="Pass it as a positional argument"):
        xp.grad(f)(V)


def test_events_are_refused_with_a_way_out():
    def f(p):
        events = {"events": lambda t, y: y[0] - 0.5}
        return integrate.solve_ivp(lambda t, y: -p[0] * y, (0, 2), [1.0], **events).y[0, -1]

    with interop.scipy(), pytest.raises(NotImplementedError, match="dense_output"):
        xp.grad(f)(V)
