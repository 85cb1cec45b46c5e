"""Each function of scipy.optimize that takes a function has the right derivative, or says so.

The table has a call of every such function.  A parameter of the user's function, or an option, is an
Array.  The derivative is compared with differences of a step that is larger than the tolerances.
"""

import contextlib
import inspect
import warnings

import numpy as np
import pytest
from scipy import optimize

import arraytape as xp
from arraytape import interop

AT, STEP = 1.3, 1e-2


def curve(z, a):
    return (z - a) ** 2 + 0.1 * z**4


def cubic(z, a):
    return z**3 - a


def bowl(z, a):
    return curve(z[0], a)


def fixed(z):
    return curve(z, 1.1)


def first(found):
    return xp.reshape(xp.asarray(found), (-1,))[0]


RANGE = [(0.0, 3.0)]
T = np.arange(4.0)
CALLS = {
    "anderson": lambda a: optimize.anderson(lambda z: cubic(z, a), np.ones(1)),
    "approx_fprime": lambda a: optimize.approx_fprime(np.ones(1), bowl, 1e-6, a),
    "basinhopping": lambda a: optimize.basinhopping(lambda z: bowl(z, a), [1.0], niter=2, rng=0).x,
    "bisect": lambda a: optimize.bisect(lambda z: cubic(z, a), 0.0, 5.0),
    "bracket": lambda a: optimize.bracket(lambda z: curve(z, a))[2],
    "brent": lambda a: optimize.brent(lambda z: curve(z, a)),
    "brenth": lambda a: optimize.brenth(lambda z: cubic(z, a), 0.0, 5.0),
    "brentq": lambda a: optimize.brentq(cubic, 0.0, 5.0, (a,)),
    "broyden1": lambda a: optimize.broyden1(lambda z: cubic(z, a), np.ones(1)),
    "broyden2": lambda a: optimize.broyden2(lambda z: cubic(z, a), np.ones(1)),
    "brute": lambda a: optimize.brute(lambda z: bowl(z, a), RANGE),
    "check_grad": lambda a: optimize.check_grad(bowl, lambda z, a: 0.9 * z, np.ones(1), a),
    "curve_fit": lambda a: optimize.curve_fit(lambda t, k: k * t * a, T, 2.0 * T)[0],
    "diagbroyden": lambda a: optimize.diagbroyden(lambda z: cubic(z, a), np.ones(1)),
    "differential_evolution": lambda a: optimize.differential_evolution(
        bowl, RANGE, (a,), rng=0
    ).x,
    "direct": lambda a: optimize.direct(bowl, RANGE, args=(a,)).x,
    "dual_annealing": lambda a: optimize.dual_annealing(bowl, RANGE, (a,), maxiter=9, rng=0).x,
    "excitingmixing": lambda a: optimize.excitingmixing(lambda z: a - z, np.ones(1), alpha=0.9),
    "fixed_point": lambda a: optimize.fixed_point(lambda z, a: 0.5 * xp.cos(a * z), 0.3, (a,)),
    "fmin": lambda a: optimize.fmin(bowl, [1.0], (a,), disp=0),
    "fmin_bfgs": lambda a: optimize.fmin_bfgs(bowl, [1.0], None, (a,), disp=0),
    "fmin_cg": lambda a: optimize.fmin_cg(bowl, [1.0], None, (a,), disp=0),
    "fmin_cobyla": lambda a: optimize.fmin_cobyla(lambda z: bowl(z, a), [1.0], []),
    "fmin_l_bfgs_b": lambda a: optimize.fmin_l_bfgs_b(
        lambda z: bowl(z, a), [1.0], approx_grad=True
    )[0],
    "fmin_ncg": lambda a: optimize.fmin_ncg(
        lambda z: bowl(z, a), [1.0], lambda z: 2.0 * (z - a) + 0.4 * z**3, disp=0
    ),
    "fmin_powell": lambda a: optimize.fmin_powell(lambda z: xp.sum(curve(z, a)), [1.0], disp=0),
    "fmin_slsqp": lambda a: optimize.fmin_slsqp(lambda z: bowl(z, a), [1.0], iprint=0),
    "fmin_tnc": lambda a: optimize.fmin_tnc(
        lambda z: bowl(z, a), [1.0], approx_grad=True, disp=0
    )[0],
    "fminbound": lambda a: optimize.fminbound(lambda z: curve(z, a), 0.0, 3.0),
    "fsolve": lambda a: optimize.fsolve(lambda z: cubic(z, a), [1.0]),
    "golden": lambda a: optimize.golden(lambda z: curve(z, a)),
    "least_squares": lambda a: optimize.least_squares(cubic, [1.0], args=(a,)).x,
    "leastsq": lambda a: optimize.leastsq(lambda z: cubic(z, a), [1.0])[0],
    "line_search": lambda a: optimize.line_search(
        lambda z: xp.sum(curve(z, a)), lambda z: 2.0 * (z - a) + 0.4 * z**3, np.zeros(1), np.ones(1)
    )[0],
    "linearmixing": lambda a: optimize.linearmixing(lambda z: a - z, np.ones(1), alpha=0.9),
    "minimize": lambda a: optimize.minimize(bowl, [1.0], (a,)).x,
    "minimize_scalar": lambda a: optimize.minimize_scalar(curve, args=(a,)).x,
    "newton": lambda a: optimize.newton(lambda z: cubic(z, a), 1.0),
    "newton_krylov": lambda a: optimize.newton_krylov(lambda z: cubic(z, a), np.ones(1)),
    "ridder": lambda a: optimize.ridder(lambda z: cubic(z, a), 0.0, 5.0),
    "root": lambda a: optimize.root(cubic, [1.0], (a,)).x,
    "root_scalar": lambda a: optimize.root_scalar(lambda z: cubic(z, a), x0=1.0, x1=2.0).root,
    "shgo": lambda a: optimize.shgo(bowl, RANGE, (a,)).x,
    "toms748": lambda a: optimize.toms748(lambda z: cubic(z, a), 0.0, 5.0),
}  # fmt: skip
MORE = {
    "golden, value": lambda a: optimize.golden(lambda z: a * curve(z, a), full_output=True)[1],
    "brent, value": lambda a: optimize.brent(lambda z: a * curve(z, a), full_output=True)[1],
    "fminbound, value": lambda a: optimize.fminbound(curve, 0, 3.0, (a,), full_output=True)[1],
    "golden by a bracket": lambda a: optimize.golden(fixed, brack=(0.0, a, 3.0)),
    "brent by a bracket": lambda a: optimize.brent(fixed, brack=(a, 3.0)),
    "fminbound by a bound": lambda a: optimize.fminbound(fixed, 0.0, a),
    "fminbound at a bound": lambda a: optimize.fminbound(lambda z: curve(z, 9.0), 0.0, a),
    "minimize_scalar by a bound": lambda a: optimize.minimize_scalar(fixed, bounds=(0.0, a)).x,
    "newton by a start": lambda a: optimize.newton(lambda z: cubic(z, 2.0), a),
    "brentq by a bracket": lambda a: optimize.brentq(lambda z: cubic(z, 2.0), 0.0, a),
    "root by a start": lambda a: optimize.root(lambda z: cubic(z, 2.0), a).x,
    "minimize by a start": lambda a: optimize.minimize(lambda z: bowl(z, 2.0), a).x,
    "curve_fit by a start": lambda a: optimize.curve_fit(lambda t, k: k * t, T, 2.0 * T, a)[0],
    "fixed_point by a start": lambda a: optimize.fixed_point(lambda z: 0.5 * np.cos(z), a),
    "minimize by simplices": lambda a: optimize.minimize(
        bowl, [1.0], (a,), method="Nelder-Mead", tol=1e-9
    ).x,
    "brute, times a": lambda a: first(optimize.brute(lambda z: bowl(z, a), RANGE)) * a,
}  # fmt: skip
# Names that are no solvers of a user's function; the signature of some cannot be read.
APART = {
    "HessianUpdateStrategy", "LbfgsInvHessProduct", "LinearConstraint", "NonlinearConstraint",
    "linear_sum_assignment", "rosen", "rosen_der", "rosen_hess", "rosen_hess_prod",
}  # fmt: skip
# Calls that raise no error, and give no warning, inside of interop.scipy().
INSIDE = {
    *MORE, "bisect", "bracket", "brent", "brenth", "brentq", "fixed_point", "fminbound", "golden",
    "least_squares", "minimize", "minimize_scalar", "newton", "ridder", "root", "root_scalar", "toms748",
} - {"brute, times a"}  # fmt: skip


def test_the_table_has_every_function_that_takes_a_function():
    names = set()
    for name in {*optimize.__all__} - APART:
        function = getattr(optimize, name)
        if inspect.isroutine(function):
            parameters = inspect.signature(function).parameters
            if {"f", "F", "fun", "func"} & {*parameters}:
                names.add(name)
    assert names - {*CALLS} == set()


def by_tape(f, a):
    with xp.GradientTape() as tape:
        tape.watch(a)
        y = f(a)
    return tape.gradient(y, a, unconnected_gradients="zero")


@pytest.mark.parametrize("context", [contextlib.nullcontext, interop.scipy])
@pytest.mark.parametrize("name", [*CALLS, *MORE])
def test_no_solver_loses_a_derivative_in_silence(name, context):
    call = {**CALLS, **MORE}[name]

    def f(a):
        return first(call(a)) * 1.0

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ends = [float(f(AT + s * STEP)) for s in (1.0, -1.0)]
    wanted = (ends[0] - ends[1]) / (2.0 * STEP)
    for derivative in (lambda a: xp.grad(f)(a), lambda a: by_tape(f, a)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", xp.TapeWarning)
            try:
                with context():
                    found = float(derivative(xp.asarray(AT)))
            except (TypeError, ValueError, xp.LostGradientError, xp.TapeWarning):
                if context is interop.scipy and name in INSIDE:
                    raise
                continue
        np.testing.assert_allclose(found, wanted, rtol=1e-2, atol=1e-3)
