"""scipy.integrate, as installed: of samples, and of functions whose parameters are followed."""

import numpy as np
import pytest
from array_api_compat import array_namespace
from scipy import integrate, stats

RNG = np.random.default_rng(0)
Y, Z = RNG.uniform(-1.5, 1.5, (2, 9)), RNG.uniform(-1.5, 1.5, (2, 9))
T = np.cumsum(RNG.uniform(0.2, 1.0, 9))
P = RNG.uniform(0.4, 1.2, 3)
SAMPLES = {
    "trapezoid": (integrate.trapezoid, Y),
    "trapezoid over uneven points": (lambda y, x: integrate.trapezoid(y, x=x), Y, T),
    "trapezoid along another axis": (lambda y: integrate.trapezoid(y, dx=0.3, axis=0), Y),
    "trapezoid, complex": (integrate.trapezoid, Y + 1j * Z),
    "cumulative_trapezoid": (integrate.cumulative_trapezoid, Y),
    "cumulative_trapezoid from a start": (
        lambda y, x: integrate.cumulative_trapezoid(y, x=x, initial=0),
        Y,
        T,
    ),
    "cumulative_simpson": (lambda y: integrate.cumulative_simpson(y, dx=0.3), Y),
    "cumulative_simpson over uneven points": (
        lambda y, x: integrate.cumulative_simpson(y, x=x, initial=0.5),
        Y,
        T,
    ),
    "cumulative_simpson along another axis": (
        lambda y: integrate.cumulative_simpson(y, axis=0),
        Y.T,
    ),
    "cumulative_simpson of two points": (lambda y: integrate.cumulative_simpson(y), Y[:, :2]),
    "romb": (lambda y: integrate.romb(y, dx=0.1), Y),
    "romb along another axis": (lambda y: integrate.romb(y, axis=0), Y.T),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_an_integral_of_samples_differentiates(differentiates, name):
    function, *inputs = SAMPLES[name]
    differentiates(function, *inputs, order=2)


# --- functions ----------------------------------------------------------------------------------
def const(p, value):
    """A constant in the shape of p."""
    return array_namespace(p).full_like(p, value)


def bell(x, p):
    return array_namespace(x).exp(-p * x * x)


# Nodes are the same whatever the parameters, and so is their number at these tolerances.
TANHSINH = {
    "between numbers": (
        lambda p: integrate.tanhsinh(bell, const(p, 0.0), const(p, 1.5), args=(p,)),
        P,
    ),
    "to an end that is followed": (
        lambda b: integrate.tanhsinh(bell, const(b, 0.0), b, args=(const(b, 1.0),)),
        P,
    ),
    "between two ends": (
        lambda a, b: integrate.tanhsinh(bell, a, b, args=(const(b, 0.7),)),
        P,
        P + 1.0,
    ),
    "to infinity": (
        lambda p: integrate.tanhsinh(bell, const(p, 0.0), const(p, np.inf), args=(p,)),
        P,
    ),
    "over all numbers": (
        lambda p: integrate.tanhsinh(bell, const(p, -np.inf), const(p, np.inf), args=(p,)),
        P,
    ),
    "from a start to infinity": (
        lambda a: integrate.tanhsinh(bell, a, const(a, np.inf), args=(const(a, 0.7),)),
        P,
    ),
    "with a singularity at an end": (
        lambda p: integrate.tanhsinh(
            lambda x, p: x ** (p - 1.0), const(p, 0.0), const(p, 1.0), args=(p,)
        ),
        P,
    ),
    "at fixed levels": (
        lambda p: integrate.tanhsinh(
            bell, const(p, 0.0), const(p, 1.5), args=(p,), minlevel=3, maxlevel=4, rtol=1e-3
        ),
        P,
    ),
    "of a complex function": (
        lambda p: integrate.tanhsinh(
            lambda x, p: array_namespace(x).exp(1j * p * x), const(p, 0.0), const(p, 1.5), args=(p,)
        ),
        P,
    ),
    "with several values a point": (
        lambda p: integrate.tanhsinh(
            lambda x, p: x**p, const(p[:1], 0.0), const(p[:1], 1.5), args=(p,), preserve_shape=False
        ),
        P,
    ),
}


@pytest.mark.parametrize("name", TANHSINH)
def test_tanhsinh_differentiates(differentiates, name):
    # Forward mode takes the end's tangent, 0 where SciPy overwrites it, times an infinite slope.
    forward = name != "from a start to infinity"
    function, *inputs = TANHSINH[name]
    differentiates(lambda *xs: function(*xs).integral, *inputs, rtol=1e-6, forward=forward)


def test_tanhsinh_of_logarithms_differentiates(differentiates):
    def f(p):
        return integrate.tanhsinh(
            lambda x, p: -p * x * x, const(p, 0.0), const(p, 1.5), args=(p,), log=True
        ).integral

    differentiates(f, P, rtol=1e-6)


def test_tanhsinh_with_shapes_kept_differentiates(differentiates):
    def f(p):
        here = array_namespace(p)

        def powers(x):
            return here.stack([x ** p[0], here.exp(p[1] * x), here.cos(p[2] * x)])

        ends = here.asarray(0.0), here.asarray(1.5)
        return integrate.tanhsinh(powers, *ends, preserve_shape=True).integral

    differentiates(f, P, rtol=1e-6)


NSUM = {
    "to infinity": lambda p: integrate.nsum(  # 1 / k**p would overflow far out: 0 * inf
        lambda k, p: k ** (-1.0 - p), const(p, 1.0), const(p, np.inf), args=(p + 0.6,)
    ),
    "of some terms": lambda p: integrate.nsum(
        lambda k, p: 1.0 / (k + p), const(p, 1.0), const(p, 9.0), args=(p,)
    ),
    "in steps": lambda p: integrate.nsum(
        lambda k, p: 1.0 / (k * k + p), const(p, 1.0), const(p, 31.0), step=3, args=(p,)
    ),
}


@pytest.mark.parametrize("name", NSUM)
def test_a_sum_over_terms_differentiates(differentiates, name):
    differentiates(lambda p: NSUM[name](p).sum, P, rtol=1e-6)


# --- in several dimensions ------------------------------------------------------------------------
def wave(x, p):
    here = array_namespace(x)
    return here.exp(-p[0] * x[:, 0]) * here.cos(p[1] * x[:, 1])


@pytest.mark.parametrize("rule", ["gk15", "gk21", "genz-malik"])
def test_cubature_differentiates(differentiates, rule):
    def f(p):
        here = array_namespace(p)
        return integrate.cubature(wave, here.zeros(2), here.ones(2), rule=rule, args=(p,)).estimate

    differentiates(f, P[:2], rtol=1e-6)


def test_cubature_differentiates_by_its_limits(differentiates):
    def f(a, b):
        here = array_namespace(a)
        return integrate.cubature(wave, a, b, args=(here.asarray([0.5, 1.5]),)).estimate

    differentiates(f, P[:2] - 1.0, P[:2] + 0.5, rtol=1e-6)


def test_cubature_to_infinity_differentiates(differentiates):
    def f(p):
        here = array_namespace(p)
        ends = here.asarray([0.0, -np.inf]), here.asarray([np.inf, np.inf])

        def bells(x, p):
            return here.exp(-p[0] * x[:, 0] ** 2 - p[1] * x[:, 1] ** 2)

        return integrate.cubature(bells, *ends, args=(p,), rtol=1e-6).estimate

    differentiates(f, P[:2] + 0.5, rtol=1e-5)


def test_cubature_with_a_singular_point_and_several_values_differentiates(differentiates):
    def f(p):
        here = array_namespace(p)

        def values(x, p):
            return here.abs(x - 0.3) ** 1.5 * here.exp(p * x)

        options = {"points": [here.asarray([0.3])], "args": (p,), "rtol": 1e-9}
        return integrate.cubature(values, here.zeros(1), here.ones(1), **options).estimate

    differentiates(f, P[:2], rtol=1e-6)


def test_quasi_monte_carlo_differentiates(differentiates):
    def f(p):
        here = array_namespace(p)

        def integrand(x):  # one row for each dimension
            return here.exp(-p[0] * x[0, ...]) * here.cos(p[1] * x[1, ...])

        ends = here.zeros(2), here.ones(2)
        engine = stats.qmc.Halton(d=2, seed=0)
        result = integrate.qmc_quad(integrand, *ends, n_estimates=3, n_points=16, qrng=engine)
        return [result.integral, result.standard_error]

    differentiates(f, P[:2], order=2)
