"""SciPy's solvers inside interop.scipy(): those of ``implicit`` where Arrays are followed."""

import numpy as np
import pytest
from scipy import integrate, interpolate, optimize, stats

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
        return optimize.root(lambda z: z**3 - p[0], [1.0]).x.sum()

    with interop.scipy(), pytest.raises(ValueError, match="Pass it as a positional argument"):
        xp.grad(f)(V)


# --- roots and minima of one variable ------------------------------------------------------------------
def cube(z, a):
    return z**3 - a


def slope(z, a):
    return 3.0 * z**2


def bowl(z, a):
    return z**4 / 4.0 - a * z


def with_slope_and_curvature(z, a):
    return cube(z, a), slope(z, a), 6.0 * z


def scalar(name, **options):
    return lambda args, f=cube: getattr(optimize, name)(f, **args, **options)


ENDS, BRACKET = {"a": 0.5, "b": 4.0}, {"bracket": (0.5, 4.0)}
SCALAR = {  # each finds the cube root of a; exact: it stops at once at the root 2 of a = 8
    **{x: scalar(x, **ENDS) for x in ("bisect", "brenth", "brentq", "ridder", "toms748")},
    "full output": lambda args: optimize.ridder(cube, **ENDS, **args, full_output=True)[0],
    "full output's root": lambda args: optimize.ridder(cube, **ENDS, **args, full_output=True)[1].root,
    "newton": scalar("newton", x0=2.0),
    "secant": scalar("newton", x0=2.0, x1=3.0),
    "newton with a slope": scalar("newton", x0=2.0, fprime=slope),
    "halley": scalar("newton", x0=2.0, fprime=slope, fprime2=lambda z, a: 6.0 * z),
    "newton's array": lambda args: optimize.newton(cube, np.ones(1) * 2.0, **args).sum(),
    **{
        f"root_scalar, {x}": lambda args, x=x: optimize.root_scalar(
            cube, method=x, **BRACKET, **args
        ).root
        for x in ("bisect", "brenth", "brentq", "ridder", "toms748")
    },
    "root_scalar, newton": lambda args: optimize.root_scalar(cube, x0=2.0, fprime=slope, **args).root,
    "root_scalar, secant": lambda args: optimize.root_scalar(cube, x0=2.0, x1=3.0, **args).root,
    "root_scalar, halley": lambda args: optimize.root_scalar(
        with_slope_and_curvature, x0=2.0, fprime=True, fprime2=True, **args
    ).root,
    **{
        f"minimize_scalar, {x}": lambda args, x=x: optimize.minimize_scalar(
            bowl, method=x, **args
        ).x
        for x in ("brent", "golden")
    },
    "minimize_scalar, bounded": lambda args: optimize.minimize_scalar(bowl, bounds=(0, 9), **args).x,
    "fixed_point": lambda args: optimize.fixed_point(
        lambda z, a: (z + a / z**2) / 2.0 + 0.0 * a, 2.0, **args
    ),
}  # fmt: skip


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("a", [8.0, 5.0])
@pytest.mark.parametrize("name", SCALAR)
def test_a_solution_of_one_variable_has_derivatives_wherever_the_search_stops(name, a):
    f = lambda a: SCALAR[name]({"args": (a,)})  # noqa: E731
    with interop.scipy():
        value, first = xp.value_and_grad(f)(a)
        second = xp.grad(xp.grad(f))(a)
        mapped = xp.vmap(xp.grad(f))(xp.asarray([a, a + 1.0]))
    assert np.float64(value) == np.float64(f(a))
    np.testing.assert_allclose(first, a ** (-2.0 / 3.0) / 3.0, rtol=1e-6)
    np.testing.assert_allclose(second, -2.0 / 9.0 * a ** (-5.0 / 3.0), rtol=1e-5)
    np.testing.assert_allclose(mapped[1], (a + 1.0) ** (-2.0 / 3.0) / 3.0, rtol=1e-6)


def test_a_root_at_an_end_of_the_bracket_has_a_derivative():
    with interop.scipy():
        for name in ("bisect", "brenth", "brentq", "ridder", "toms748"):
            found = xp.grad(lambda a: getattr(optimize, name)(cube, 2.0, 4.0, args=(a,)))(8.0)  # noqa: B023
            np.testing.assert_allclose(found, 1.0 / 12.0, rtol=1e-12)


CLOSURES = {
    "brentq": lambda a: optimize.brentq(lambda z: z**3 - a, 0.0, 4.0),
    "newton": lambda a: optimize.newton(lambda z: z**3 - a, 2.0, fprime=lambda z: 3.0 * z**2),
    "root_scalar": lambda a: optimize.root_scalar(lambda z: z**3 - a, bracket=(0.0, 4.0)).root,
    "minimize_scalar": lambda a: optimize.minimize_scalar(lambda z: z**4 / 4.0 - a * z).x,
    "its value": lambda a: (
        -4.0 / 3.0 * optimize.minimize_scalar(lambda z: z**4 / 4.0 - a * z).fun / a
    ),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", CLOSURES)
def test_a_function_of_one_variable_may_use_arrays_from_outside(name, dtype):
    program = xp.function(CLOSURES[name])
    with interop.scipy():
        for a in (8.0, 8.0, 5.0):
            found = xp.grad(program)(xp.asarray(a, dtype=dtype))
            assert found.dtype == dtype
            np.testing.assert_allclose(found, a ** (-2.0 / 3.0) / 3.0, rtol=3e-3)


SPLINES = {
    "brentq": lambda s: optimize.brentq(lambda z: s(z) - 1.0, 0.0, 1.5),
    "root_scalar": lambda s: optimize.root_scalar(s, bracket=(2.5, 4.0)).root,
    "newton": lambda s: optimize.newton(lambda z: s(z) - 1.0, 1.0),
    "minimize_scalar": lambda s: optimize.minimize_scalar(s, bounds=(3.5, 6.0)).x,
    "quad": lambda s: integrate.quad(lambda z: s(z) ** 2, 0.0, 5.0)[0],
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", SPLINES)
def test_the_function_may_use_objects_that_hold_arrays(name):
    knots = np.linspace(0.0, 6.0, 9)
    values, along = 1.7 * np.sin(knots), np.cos(np.arange(9.0))

    def f(values):
        return SPLINES[name](interpolate.CubicSpline(knots, values)) * 1.0

    with interop.scipy():
        slope = xp.grad(f)(values)
    ends = [f(values + t * 1e-4 * along) for t in (1, -1)]
    np.testing.assert_allclose(np.sum(slope * along), (ends[0] - ends[1]) / 2e-4, rtol=1e-3)


@pytest.mark.parametrize("f", [
    lambda a: optimize.newton(lambda z, a: (z - a) ** 2, 0.3, args=(a,)),
    lambda a: optimize.bisect(lambda z, a: 1.0 / (z - a), 0.0, 1.1, args=(a,)),
    lambda a: optimize.bisect(lambda z, a: (z - a) ** 3, 0.0, 1.1, args=(a,), xtol=1e-6),
    lambda a: optimize.elementwise.find_root(
        lambda z, a: (z - a) ** 3, (xp.asarray(0.0), xp.asarray(1.1)), args=(a,),
    ).x,
], ids=["double root", "pole", "triple root", "triple root of elements"])  # fmt: skip
@pytest.mark.filterwarnings("ignore::arraytape.TapeWarning")
def test_the_derivative_at_a_root_of_higher_order_is_right_or_refused(f):
    import scipy.optimize.elementwise

    assert scipy.optimize.elementwise
    with interop.scipy():
        try:
            found = xp.grad(f)(0.5)
        except xp.implicit.NotASolution:
            return
    assert abs(found - 1.0) < 1e-6 or np.isnan(found)


@pytest.mark.parametrize("f", [
    lambda a: optimize.minimize_scalar(lambda z: abs(z - a) + z * z).x,
    lambda a: optimize.minimize_scalar(lambda z: -((z - a) ** 2), bounds=(0.0, 1.0)).x,
    lambda a: optimize.brentq(lambda z, a: xp.where(z > a, 1.0 + z, -1.0), 0.0, 1.0, args=(a,)),
], ids=["kink", "at a bound", "jump"])  # fmt: skip
def test_what_is_no_smooth_solution_is_refused(f):
    with interop.scipy(), pytest.raises(xp.implicit.NotASolution, match=r"\(<lambda>\)"):
        xp.grad(f)(0.3)


def test_vmap_over_an_array_from_outside_is_refused_with_a_way_out():
    def f(a):
        return optimize.brentq(lambda z: z**3 - a, 0.0, 4.0)

    with (
        interop.scipy(),
        pytest.raises(ValueError, match="pass Arrays over which vmap maps in args"),
    ):
        xp.vmap(f)(xp.asarray([1.0, 8.0]))


OTHERS = {
    "bounds": lambda a: optimize.minimize(lambda z: (z**2).sum(), [1.0], bounds=[(a, 2.0)]).x.sum(),
    "constraints": lambda a: optimize.minimize(
        lambda z: (z**2).sum(), [1.0],
        constraints={"type": "eq", "fun": lambda z, a: z[0] - a, "args": (a,)},
    ).x.sum(),
    "f_scale": lambda a: optimize.least_squares(lambda z: z**2 - 1.0, [0.5], f_scale=a).x.sum(),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_an_option_that_has_no_derivative_is_refused_by_name(name):
    with interop.scipy(), pytest.raises(TypeError, match=f"with an Array as {name}"):
        xp.grad(OTHERS[name])(0.5)


def test_events_are_refused_with_a_way_out():
    def f(p):
        events = {"events": lambda t, y: y[0] - 0.5}
        return integrate.solve_ivp(lambda t, y: -p[0] * y, (0, 2), [1.0], **events).y[0, -1]

    with interop.scipy(), pytest.raises(NotImplementedError, match="dense_output"):
        xp.grad(f)(V)
