# ruff: noqa: E501 -- a table
"""scipy.optimize's functions: SciPy's values, and derivatives against differences."""

import inspect

import numpy as np
import pytest
import scipy.optimize

import arraytape as xp

implicit = xp.implicit
solvers = implicit.scipy
A = xp.asarray([0.7, 1.3])
T = np.linspace(0.0, 3.0, 20)
Y = 2.5 * np.exp(-1.3 * T) + 0.5 + 0.05 * np.random.default_rng(0).normal(size=20)


def difference(f, x, t, h=1e-5):
    """The derivative of a function of one Array along t, by a central difference."""
    return (np.asarray(f(x + h * t)) - np.asarray(f(x - h * t))) / (2.0 * h)


def check(f, x, rtol=1e-8, exact=None):
    """The Jacobian against a difference along a drawn direction, by a solver that may be more exact."""
    t = xp.asarray(np.random.default_rng(1).normal(size=x.shape))
    wanted = difference(exact or f, x, t)
    found = np.tensordot(np.asarray(xp.jacobian(f)(x)), np.asarray(t), x.ndim)
    assert np.max(np.abs(found - wanted)) <= rtol * max(1.0, np.max(np.abs(wanted)))


def system(x, a):
    return xp.stack([x[0] ** 2 + a[0] * x[1] - 3.0, xp.exp(x[0]) - a[1] * x[1] ** 2])


def valley(x, a):
    return xp.sum(a[1] * 100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (a[0] - x[:-1]) ** 2)


def model(t, a, b, c):
    return a * xp.exp(-b * t) + c


def residuals(p, t, y):
    return model(t, p[0], p[1], p[2]) - y


@pytest.mark.parametrize("name", solvers.__all__)
def test_the_signature_is_scipys(name):
    ours = inspect.signature(getattr(solvers, name)).parameters
    theirs = inspect.signature(getattr(scipy.optimize, name)).parameters
    shared = [n for n in theirs if n not in ("callback", "workers") or n in ours]
    assert [n for n in ours if n != "polish"] == shared
    for n in shared:
        if theirs[n].default is not inspect.Parameter.empty and n != "tr_options":
            assert ours[n].default == theirs[n].default or n == "x_scale"


@pytest.mark.parametrize("method", ["hybr", "lm", "broyden1", "krylov"])
def test_roots(method):
    found = solvers.root(system, [1.0, 1.0], args=(A,), method=method, tol=1e-12)
    assert isinstance(found, scipy.optimize.OptimizeResult)
    assert found.success
    assert np.max(np.abs(np.asarray(system(found.x, A)))) < 1e-10
    check(lambda a: solvers.root(system, [1.0, 1.0], args=(a,), method=method, tol=1e-12).x, A)


@pytest.mark.parametrize("method", ["BFGS", "Newton-CG", "trust-exact", "Powell", "trust-constr"])
def test_minima(method):
    def solve(a, **options):
        return solvers.minimize(valley, [1.0, 1.0, 0.5], args=(a,), method=method, **options)

    exact = lambda a: solve(a, polish=True).x  # noqa: E731
    check(lambda a: solve(a).x, A, 3e-5, exact)
    check(exact, A, 1e-8)
    check(lambda a: solve(a).fun, A, 1e-6)
    plain = scipy.optimize.minimize(
        lambda x: float(valley(xp.asarray(x), A)),
        [1.0, 1.0, 0.5],
        jac=lambda x: np.asarray(xp.grad(valley)(xp.asarray(x), A)),
        hess=lambda x: np.asarray(xp.hessian(valley)(xp.asarray(x), A)),
        method=method,
    ) if method in ("trust-exact", "Newton-CG") else None  # fmt: skip
    assert plain is None or np.array_equal(np.asarray(solve(A).x), plain.x)


@pytest.mark.parametrize("method", ["SLSQP", "TNC"])
def test_a_method_that_stops_early_is_warned_of_with_the_error(method):
    with pytest.warns(xp.TapeWarning, match=r"relative error of about [23]\.\de-03"):
        found = xp.jacobian(lambda a: solvers.minimize(valley, [1.0, 1.0, 0.5], (a,), method).x)(A)
    exact = xp.jacobian(lambda a: solvers.minimize(valley, [1.0, 1.0, 0.5], (a,), polish=True).x)(A)
    error = np.max(np.abs(np.asarray(found - exact))) / np.max(np.abs(np.asarray(exact)))
    assert 1e-3 < error < 1e-2


@pytest.mark.parametrize("method", ["L-BFGS-B", "SLSQP", "trust-constr", "Nelder-Mead"])
def test_elements_on_their_bounds_are_held(method):
    bounds = scipy.optimize.Bounds([0.0, -np.inf, -1.0], [0.5, np.inf, np.inf])

    def solve(a):
        return solvers.minimize(
            valley, [0.2, 0.2, 0.2], (a,), method, bounds=bounds, polish=True
        ).x  # fmt: skip

    assert abs(float(solve(A)[0]) - 0.5) < 1e-12
    check(solve, A, 1e-9)
    assert np.all(np.asarray(xp.jacobian(solve)(A))[0] == 0.0)


def test_an_element_on_its_bound_by_accident_is_refused():
    with pytest.raises(implicit.NotASolution, match=r"element 0 .* lies on its bound, 0\.7"):
        solvers.minimize(
            lambda x, a: xp.sum((x - a) ** 2), [0.1, 0.1], (A,), bounds=[(0.0, 0.7), (0.0, 5.0)]
        )


def test_second_derivatives_of_a_bounded_minimum():
    def solve(a):
        return solvers.minimize(
            valley, [0.2, 0.2, 0.2], (a,), bounds=[(None, 0.5)] * 3, polish=True
        ).x  # fmt: skip

    f = lambda a: xp.sum(xp.sin(solve(a)))  # noqa: E731
    check(xp.grad(f), A, 1e-9)


@pytest.mark.parametrize("loss", solvers.LOSSES)
def test_least_squares(loss):
    def solve(y):
        return solvers.least_squares(
            residuals, [1.0, 1.0, 0.0], args=(xp.asarray(T), y), loss=loss, f_scale=0.1, polish=True
        )

    check(lambda y: solve(y).x, xp.asarray(Y), 2e-8)
    y = xp.asarray(Y)
    plain = scipy.optimize.least_squares(
        lambda p: np.asarray(residuals(xp.asarray(p), T, Y)),
        [1.0, 1.0, 0.0],
        loss=loss,
        f_scale=0.1,
    )
    assert abs(float(solve(y).cost) - plain.cost) < 1e-9
    check(lambda y: solve(y).cost, y, 1e-8)


def test_bounded_least_squares():
    def solve(y):
        return solvers.least_squares(
            residuals, [1.0, 1.0, 1.0], bounds=([0, 0, 0.6], 5.0), args=(T, y), polish=True
        ).x

    assert abs(float(solve(xp.asarray(Y))[2]) - 0.6) < 1e-12
    check(solve, xp.asarray(Y), 1e-8)


@pytest.mark.parametrize("by", ["xdata", "ydata", "sigma"])
@pytest.mark.parametrize("what", [0, 1])
def test_fitted_curves(by, what):
    data = {"xdata": T, "ydata": Y, "sigma": np.linspace(0.05, 0.1, 20)}

    def solve(value):
        return solvers.curve_fit(model, **data | {by: value}, polish=True)[what]

    check(solve, xp.asarray(data[by]), 1e-7)


@pytest.mark.parametrize("options", [{}, {"absolute_sigma": True}, {"bounds": (0.0, 5.0)}])
@pytest.mark.parametrize("kind", ["none", "deviations", "covariance"])
def test_fitted_curves_have_scipys_values(options, kind):
    sigma = {"none": None, "deviations": np.linspace(0.05, 0.1, 20)}.get(
        kind, 0.01 * np.eye(20) + 0.001
    )
    found = solvers.curve_fit(model, T, xp.asarray(Y), sigma=sigma, **options)
    plain = scipy.optimize.curve_fit(
        lambda t, a, b, c: a * np.exp(-b * t) + c, T, Y, sigma=sigma, **options,
        jac=lambda t, a, b, c: np.stack([np.exp(-b * t), -a * t * np.exp(-b * t), 0.0 * t + 1.0], 1),
    )  # fmt: skip
    assert np.allclose(np.asarray(found[0]), plain[0], rtol=1e-6)
    # MINPACK's covariance is that of the last Jacobian, a step before the solution.
    assert np.allclose(np.asarray(found[1]), plain[1], rtol=5e-4)
    whole = solvers.curve_fit(model, T, xp.asarray(Y), sigma=sigma, full_output=True, **options)
    assert len(whole) == 5


def test_brackets():
    def kepler(E, e, M):
        return E - e * xp.sin(E) - M

    solve = lambda orbit: solvers.brentq(kepler, 0.0, 7.0, (orbit[0], orbit[1]))  # noqa: E731
    orbit = xp.asarray([0.6, 2.1])
    E = float(solve(orbit))
    plain = scipy.optimize.brentq(lambda E: E - 0.6 * np.sin(E) - 2.1, 0.0, 7.0)
    assert plain == E
    slope = 1.0 / (1.0 - 0.6 * np.cos(E))
    assert np.allclose(np.asarray(xp.grad(solve)(orbit)), [np.sin(E) * slope, slope], rtol=1e-11)
    check(xp.grad(solve), orbit)
    x, result = solvers.brentq(lambda x, a: x**2 - a, 0.0, 2.0, A[1], full_output=True)
    assert result.converged
    assert abs(float(x) ** 2 - 1.3) < 1e-12
    with pytest.raises(ValueError, match="different signs"):
        solvers.brentq(lambda x: x**2 + 1.0, 0.0, 2.0)


def test_vmap_solves_each_example():
    many = xp.stack([A, 1.1 * A])
    each = np.stack([np.asarray(solvers.root(system, xp.ones(2), (a,)).x) for a in many])
    found = xp.vmap(lambda a: solvers.root(system, xp.ones(2), (a,)).x)(many)
    assert np.allclose(np.asarray(found), each, rtol=1e-13)
    ends = xp.asarray([2.0, 3.0])
    found = xp.vmap(lambda a, b: solvers.brentq(lambda x, a: x**2 - a[1], 0.0, b, (a,)))(many, ends)
    assert np.allclose(np.asarray(found), np.sqrt([1.3, 1.43]), rtol=1e-11)


@pytest.mark.parametrize(
    ("error", "match", "call"),
    [
        (NotImplementedError, "constraints are not differentiated", lambda: solvers.minimize(valley, [1.0, 1.0], (A,), constraints={"type": "eq", "fun": sum})),
        (implicit.NotASolution, "SciPy says: Maximum number of iterations", lambda: solvers.minimize(valley, [1.0, 1.0, 0.5], (A,), options={"maxiter": 3})),
        (ValueError, "must give one number, got Array float64", lambda: solvers.minimize(lambda x: x, [1.0, 2.0])),
        (TypeError, "bounds are constants", lambda: solvers.minimize(valley, [1.0, 1.0], (A,), bounds=[(A[0], 1.0), (0.0, 1.0)])),
        (ValueError, "loss must be one of", lambda: solvers.least_squares(residuals, [1.0, 1.0, 0.0], loss="cubic", args=(T, Y))),
        (ValueError, "give p0", lambda: solvers.curve_fit(lambda t, *p: t, T, Y)),
        (ValueError, "drop the NaN", lambda: solvers.curve_fit(model, T, Y, nan_policy="omit")),
        (TypeError, "a function is needed", lambda: solvers.root(3, [1.0])),
    ],
)  # fmt: skip
def test_what_is_refused(error, match, call):
    with pytest.raises(error, match=match):
        call()


def test_what_functions_write_to_their_arguments_stays_there():
    a, data, p0 = xp.asarray(8.0), np.linspace(0.0, 1.0, 5), np.zeros(2)

    def fun(x, a):
        a *= 2.0
        x -= a
        return xp.sum(x**2)

    assert float(
        xp.grad(lambda a: xp.sum(xp.implicit.scipy.minimize(fun, p0, a).x))(a)
    ) == pytest.approx(4.0)

    def residuals(x, a):
        a *= 2.0
        x -= a
        return x

    for solve in (
        xp.implicit.scipy.root,
        lambda f, x, a: xp.implicit.scipy.least_squares(f, x, args=(a,)),
    ):
        found = xp.grad(lambda a, solve=solve: xp.sum(solve(residuals, p0, a).x))(a)
        assert float(found) == pytest.approx(4.0)

    def model(x, slope, start):
        x *= 2.0
        slope *= 2.0
        return slope * x + start

    x = xp.asarray(data)
    popt, _ = xp.implicit.scipy.curve_fit(model, x, 4.0 * x + 1.0)
    np.testing.assert_allclose(np.asarray(popt), [1.0, 1.0], rtol=1e-6)
    assert float(a) == 8.0
    assert np.array_equal(np.asarray(x), data)
    assert not p0.any()


# --- other numbers of a result ---------------------------------------------------------------------------
OTHER_NUMBERS = {
    "hess_inv": lambda a: solvers.minimize(valley, [1.0, 1.0, 0.5], (a,)).hess_inv,
    "jac": lambda a: solvers.minimize(valley, [1.0, 1.0, 0.5], (a,)).jac,
    "jac of residuals": lambda a: solvers.least_squares(system, [1.0, 1.0], args=(a,)).jac,
    "grad": lambda a: solvers.least_squares(system, [1.0, 1.0], args=(a,)).grad,
    "fun": lambda a: solvers.root(system, [1.0, 1.0], args=(a,)).fun,
    "fjac": lambda a: solvers.root(system, [1.0, 1.0], args=(a,)).fjac,
}


@pytest.mark.parametrize("name", OTHER_NUMBERS)
def test_a_gradient_that_needs_another_number_of_the_result_is_an_error(name):
    attribute = name.partition(" ")[0]
    with pytest.raises(LookupError, match=rf"\.{attribute}\."):
        xp.grad(lambda a: xp.sum(OTHER_NUMBERS[name](a)))(A)


def test_a_function_may_return_a_list():
    def listed(x, a):
        return [x[0] ** 2 + a[0] * x[1] - 3.0, xp.exp(x[0]) - a[1] * x[1] ** 2]

    check(lambda a: solvers.root(listed, [1.0, 1.0], args=(a,), tol=1e-12).x, A)
    same = solvers.root(system, [1.0, 1.0], args=(A,)).x
    assert np.array_equal(solvers.root(listed, [1.0, 1.0], args=(A,)).x, same)
    with pytest.raises(TypeError, match=r"such as xp\.asarray\(\[\.\.\.\]\): got ndarray"):
        solvers.root(lambda x, a: np.zeros(2), [1.0, 1.0], args=(A,))


@pytest.mark.parametrize("bounds", [
    (0.0, [0.9, 3.0, 1.0]), ([-np.inf, 0.5, 0.0], np.inf), (-np.inf, [4.0, np.inf, 0.4]), (-9.0, 9.0),
])  # fmt: skip
def test_a_fit_within_bounds_starts_where_scipys_does(bounds):
    theirs = scipy.optimize.curve_fit(
        lambda t, a, b, c: a * np.exp(-b * t) + c, T, Y, bounds=bounds
    )[0]
    ours = solvers.curve_fit(model, T, xp.asarray(Y), bounds=bounds)[0]
    np.testing.assert_allclose(np.asarray(ours), theirs, rtol=1e-4)
