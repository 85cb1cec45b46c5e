"""scipy.optimize.elementwise and scipy.differentiate, as installed: loops of masks and writes.

Their results are functions of the parameters; what is followed is the algorithm itself, so the
gradient is right where the iteration has converged.
"""

import numpy as np
import pytest
from array_api_compat import array_namespace
from scipy import differentiate, optimize
from scipy.optimize import elementwise

RNG = np.random.default_rng(0)
P = RNG.uniform(0.4, 1.4, 3)
X = RNG.uniform(-1.0, 1.0, 5)


def const(p, value):
    """A constant in the shape of p."""
    return array_namespace(p).full_like(p, value)


def cubic(x, p):
    return x * x * x + p * x - 3.0


def bowl(x, p):
    return array_namespace(x).cosh(x - p) + 0.1 * x * x


def test_a_root_differentiates(differentiates):
    def f(p):
        return elementwise.find_root(cubic, (const(p, 0.0), const(p, 4.0)), args=(p,)).x

    differentiates(f, P, rtol=1e-6)


def test_a_root_from_a_bracket_that_scipy_finds_differentiates(differentiates):
    def f(p):
        bracket = elementwise.bracket_root(cubic, const(p, -1.0), const(p, -0.5), args=(p,)).bracket
        return elementwise.find_root(cubic, bracket, args=(p,)).x

    differentiates(f, P, rtol=1e-6)


def test_an_early_stop_gives_the_gradient_of_that_iterate(differentiates):
    def f(p):
        ends = (const(p, 0.0), const(p, 4.0))
        result = elementwise.find_root(cubic, ends, args=(p,), maxiter=3)
        return [result.x, result.f_x, *result.bracket, *result.f_bracket]

    differentiates(f, P)


def test_brackets_differentiate_where_they_follow_what_is_given(differentiates):
    def f(a, b):
        roots = elementwise.bracket_root(cubic, a, b, xmax=const(a, 9.0), args=(const(a, 0.7),))
        return [*roots.bracket, *roots.f_bracket]

    differentiates(f, P - 2.0, P - 1.5)


def test_brackets_of_minima_differentiate(differentiates):
    def f(m, p):
        result = elementwise.bracket_minimum(bowl, m, factor=const(m, 1.5), args=(p,))
        return [*result.bracket, *result.f_bracket]

    differentiates(f, P - 2.0, P)


def test_a_minimum_differentiates_in_its_value(differentiates):
    def f(p):
        bracket = elementwise.bracket_minimum(bowl, const(p, -3.0), args=(p,)).bracket
        return elementwise.find_minimum(bowl, bracket, args=(p,)).f_x

    differentiates(f, P, rtol=1e-6)


def test_the_iterate_of_a_minimum_differentiates(differentiates):
    def f(p):
        bracket = (const(p, -3.0), const(p, 0.2), const(p, 4.0))
        return elementwise.find_minimum(bowl, bracket, args=(p,), maxiter=4).x

    differentiates(f, P)


@pytest.mark.parametrize("name", ["rosen", "rosen_der", "rosen_hess"])
def test_rosenbrocks_function_and_its_derivatives(differentiates, name):
    differentiates(getattr(optimize, name), X, order=2)


def test_rosenbrocks_hessian_times_a_vector(differentiates):
    differentiates(optimize.rosen_hess_prod, X, RNG.uniform(-1.0, 1.0, 5), order=2)


# --- scipy.differentiate --------------------------------------------------------------------------
def wave(x, p):
    return array_namespace(x).sin(p * x)


@pytest.mark.parametrize("step_direction", [-1, 0, 1])
def test_a_derivative_differentiates(differentiates, step_direction):
    """By the parameter; and by the place, where it is the second derivative."""

    def f(x, p):
        options = {"args": (p,), "step_direction": step_direction, "maxiter": 4}
        return differentiate.derivative(wave, x, **options).df

    differentiates(f, X[:3], P, rtol=1e-6)


def test_a_derivative_with_given_steps_and_shapes_kept_differentiates(differentiates):
    def f(p):
        here = array_namespace(p)

        def waves(x):
            return here.stack([here.sin(p[0] * x), here.cos(p[1] * x), x * p[2]])

        options = {"initial_step": 0.25, "step_factor": 3.0, "order": 6, "preserve_shape": True}
        return differentiate.derivative(waves, here.asarray(0.4), **options).df

    differentiates(f, P, rtol=1e-6)


def rotated(x):
    here = array_namespace(x)
    return here.stack([x[0, ...] * x[1, ...], here.sin(x[0, ...]) - x[1, ...] ** 2])


def test_a_jacobian_differentiates(differentiates):
    differentiates(lambda x: differentiate.jacobian(rotated, x).df, X[:2], rtol=1e-5)


def test_a_hessian_differentiates(differentiates):
    def f(x):
        return differentiate.hessian(lambda x: x[0, ...] ** 3 * x[1, ...], x).ddf

    differentiates(f, X[:2], rtol=1e-4, h=1e-3)
