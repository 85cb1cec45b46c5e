# ruff: noqa: E501 -- a table
"""What is refused, and with which numbers; what is warned of."""

import re
import warnings

import numpy as np
import pytest

import arraytape as xp
from arraytape._storage import factors

implicit = xp.implicit
EIGHT = xp.asarray(8.0)


def cube(x, a):
    return x**3 - a


def hilbert(n):
    return xp.asarray(1.0 / (np.arange(n)[:, None] + np.arange(n) + 1.0))


def slope_of(x, **settings):
    """The derivative of a cube root for which a solver gave x."""
    return xp.grad(lambda a: implicit.root(cube, 1.0, a, solver=lambda x0, a: x, **settings))(EIGHT)


def reported(message):
    """The relative error of the derivative that a message says."""
    return float(re.search(r"relative error of about (\S+)", message)[1])


# --- how far the solver is from the solution ----------------------------------------------------------
@pytest.mark.parametrize("off", [3e-3, 1e-2, 3e-2])
def test_the_warning_says_the_error_of_the_derivative(off):
    with pytest.warns(xp.TapeWarning, match="lower the solver's tolerance") as caught:
        slope = slope_of(2.0 * (1.0 + off))
    said, error = reported(str(caught[0].message)), abs(float(slope) * 12.0 - 1.0)
    assert 0.7 < said / error < 1.4
    assert caught[0].filename == __file__


def test_a_solution_near_enough_is_taken_in_silence():
    assert abs(float(slope_of(2.0 * (1.0 + 1e-5))) * 12.0 - 1.0) < 3e-5


def test_what_is_far_from_a_solution_is_refused():
    with pytest.raises(
        implicit.NotASolution, match=r"Newton step of 2\.3e-01 of its size.*test_checks"
    ):
        slope_of(3.0)
    with pytest.raises(ArithmeticError, match=r"tol=1\.0e-03"):
        slope_of(2.0 * (1.0 + 1e-2), tol=1e-3)


def test_polish_takes_value_and_derivative_at_the_solution():
    x = implicit.root(cube, 1.0, EIGHT, solver=lambda x0, a: 2.2, polish=True)
    assert abs(float(x) - 2.0) < 1e-15
    assert abs(float(slope_of(2.2, polish=True)) * 12.0 - 1.0) < 1e-14


def test_a_solution_that_is_given_stays_as_it_is():
    x = 2.0 + 4e-16
    assert float(implicit.root(cube, x, EIGHT)) == x
    given = np.asarray([1.0000001, 2.0])
    found = implicit.root(
        lambda x, a: x**2 - a, given, xp.asarray([1.0, 4.0]), solver=implicit.as_given
    )
    assert np.array_equal(np.asarray(found), given)


def test_a_solution_of_zero_but_for_rounding_is_one():
    def slope(x):
        def sine(a):
            return implicit.root(lambda x, a: xp.sin(x) - a, 0.5, a, solver=lambda x0, a: x)

        return float(xp.grad(sine)(xp.asarray(0.0)))

    assert slope(1e-17) == slope(0.0) == 1.0
    with pytest.raises(implicit.NotASolution):
        slope(1e-3)


def test_a_small_unit_is_no_rounding():
    with pytest.raises(implicit.NotASolution):
        implicit.root(lambda x, a: x - a, 1.0, xp.asarray(1e-19), solver=lambda x0, a: 0.0)


# --- condition --------------------------------------------------------------------------------------
@pytest.mark.parametrize("start", [1.0, 3.0])
def test_a_double_root_is_refused(start):
    with pytest.raises(implicit.NotASolution, match="double one"):
        implicit.root(lambda x, a: (x - 1.0) ** 2 - a, start, xp.asarray(0.0))


def test_a_singular_system_is_refused():
    def F(x, a):
        return xp.stack([x[0] + x[1] - a, 2.0 * x[0] + 2.0 * x[1] - 2.0 * a])

    with pytest.raises(implicit.NotASolution, match="2 by 2, is singular"):
        implicit.root(F, xp.zeros(2), EIGHT)


def test_an_ill_conditioned_system_is_refused_with_its_numbers_or_warned_of():
    def solution(n, **settings):
        return implicit.root(lambda x, b: hilbert(n) @ x - b, xp.zeros(n), xp.ones(n), **settings)

    with pytest.raises(implicit.NotASolution, match=r"12 by 12.*number is \d\.\de-1[67]"):
        solution(12)
    with pytest.warns(xp.TapeWarning, match=r"ill-conditioned \(.* 9\.4e-14\)"):
        solution(10)
    with pytest.raises(implicit.NotASolution, match=r"less than rcond=1\.0e-10"):
        solution(10, rcond=1e-10)
    solution(8)


def test_badly_scaled_unknowns_are_not_ill_conditioned():
    scales = xp.asarray([1e-12, 1.0, 1e15])
    F = lambda x, a: xp.asarray([1e9, 1.0, 1e-7]) * (x / scales - a)  # noqa: E731
    J = xp.jacobian(lambda a: implicit.root(F, xp.ones(3), a))(xp.asarray([1.0, 2.0, 3.0]))
    assert np.allclose(np.diag(np.asarray(J)) / np.asarray(scales), 1.0, rtol=1e-12)


def test_a_saddle_is_no_minimum():
    with pytest.raises(
        implicit.NotASolution, match="no minimum: the Hessian's eigenvalues go from -2"
    ):
        implicit.minimum(lambda x: x[0] ** 2 - x[1] ** 2, xp.zeros(2))


def test_iterations_that_do_not_arrive_say_how_far_they_came():
    with pytest.raises(
        implicit.NotASolution, match=r"GMRES stopped at a relative residual of .*rtol"
    ):
        implicit.linear_solve(lambda x: hilbert(12) @ x, xp.ones(12), maxiter=3)
    with pytest.raises(implicit.NotASolution, match="conjugate gradients stopped"):
        implicit.linear_solve(lambda x: hilbert(12) @ x, xp.ones(12), maxiter=3, symmetric=True)


def test_an_iteration_that_leaves_is_refused():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        with pytest.raises(implicit.NotASolution, match="not finite"):
            implicit.fixed_point(lambda x, a: a * x**3 + 1.0, 5.0, EIGHT)
        with pytest.raises(implicit.NotASolution, match="1 of 1 residuals"):
            implicit.root(lambda x, a: xp.log(x) + a, -1.0, EIGHT, solver=implicit.as_given)


# --- what is no problem -------------------------------------------------------------------------------
def test_what_the_function_closes_over_is_refused():
    c, v = xp.asarray(3.0), xp.Variable(3.0, name="slope")
    with xp.GradientTape() as tape:
        tape.watch(c)
        with pytest.raises(
            ValueError, match=r"implicit.root\(<lambda>\).*Pass it as a positional arg"
        ):
            implicit.root(lambda x, a: x**3 - a * c, 1.0, EIGHT)
        with pytest.raises(ValueError, match=r"reads the Variables 'slope'.*pass them in theta"):
            implicit.root(lambda x, a: x**3 - a * v, 1.0, EIGHT)
        x = implicit.root(lambda x, a, c, v: x**3 - a * c * v, 1.0, EIGHT, c, v)
    assert all(abs(float(g) - 72.0 ** (1 / 3) / 9.0) < 1e-14 for g in tape.gradient(x, [c, v]))
    # Where nothing follows them they are constants.
    assert (
        abs(float(implicit.root(lambda x, a: x**3 - a * v * c, 1.0, EIGHT)) - 72.0 ** (1 / 3))
        < 1e-14
    )


def test_what_the_function_closes_over_is_refused_under_vmap():
    with pytest.raises(ValueError, match="one example of a vmap that is not among its arguments"):
        xp.vmap(lambda a: implicit.root(lambda x, b: x**3 - a * b, 1.0, EIGHT))(xp.ones(3))


def test_a_value_that_leaves_inside_the_function_is_an_error():
    a = EIGHT
    with pytest.raises(xp.LostGradientError, match=r"float\(\)"):
        implicit.root(lambda x, a: xp.asarray(float(x)) ** 3 - a, 1.0, a)
    with pytest.raises(xp.LostGradientError, match=r"float\(\)"):
        xp.grad(lambda a: implicit.root(lambda x, a: x**3 - float(a), 1.0, a))(a)


@pytest.mark.parametrize(
    ("error", "match", "call"),
    [
        (TypeError, "x0 must be floating-point.*astype", lambda: implicit.root(cube, xp.asarray(1), EIGHT)),
        (TypeError, "x0 must be floating-point", lambda: implicit.root(cube, "a", EIGHT)),
        (TypeError, "x0 must be floating-point", lambda: implicit.root(cube, None, EIGHT)),
        (ValueError, r"results must have the shape of x0, \(\)", lambda: implicit.root(lambda x, a: xp.stack([x, a]), 1.0, EIGHT)),
        (TypeError, "results must be Arrays, got None .is its `return` missing", lambda: implicit.root(lambda x, a: None, 1.0, EIGHT)),
        (ValueError, r"Array of shape \(\)", lambda: implicit.minimum(lambda x, a: x * a, xp.ones(2), EIGHT)),
        (ValueError, "the solver must give x0's", lambda: implicit.root(cube, 1.0, EIGHT, solver=lambda x0, a: [1.0, 2.0])),
        (ValueError, "tol must be positive", lambda: implicit.root(cube, 1.0, EIGHT, tol=0.0)),
        (TypeError, "rtol must be a number", lambda: implicit.root(cube, 1.0, EIGHT, rtol="small")),
        (ValueError, "maxiter must be a positive integer", lambda: implicit.root(cube, 1.0, EIGHT, maxiter=0)),
        (TypeError, "solver must be a function", lambda: implicit.root(cube, 1.0, EIGHT, solver=3)),
        (TypeError, "got 'tolerance' where the settings", lambda: implicit.custom_root(cube, tolerance=1)),
        (TypeError, "the function must be a function", lambda: implicit.custom_root(3)),
    ],
)  # fmt: skip
def test_bad_arguments_are_refused_by_name(error, match, call):
    with pytest.raises(error, match=match):
        call()


def test_scipy_is_asked_for_where_it_is_needed(monkeypatch):
    import importlib

    known = importlib.import_module

    def missing(name, *args):
        if name.startswith("scipy"):
            raise ImportError(name)
        return known(name, *args)

    monkeypatch.setattr(importlib, "import_module", missing)
    monkeypatch.setattr(factors, "libraries", lambda: None)
    with pytest.raises(implicit.NotASolution, match="singular"):
        implicit.root(lambda x, a: xp.stack([x[0] - a, x[0] - a]), xp.zeros(2), EIGHT)
    assert abs(float(implicit.root(cube, 1.0, EIGHT)) - 2.0) < 1e-15
    assert abs(float(implicit.fixed_point(lambda x: xp.cos(x), 1.0)) - 0.7390851332151607) < 1e-15
    with pytest.raises(ImportError, match="pip install scipy"):
        implicit.minimum(lambda x: x**2, 1.0)
    with pytest.raises(ImportError, match="pip install scipy"):
        implicit.linear_solve(lambda x: 2.0 * x, xp.ones(2))


# --- functions that are not the same when they run again ----------------------------------------------
@pytest.mark.parametrize("settings", [{}, {"matrix_free": True}, {"solver": lambda x0, a: 2.0}])
@pytest.mark.parametrize("kind", ["Array", "ndarray", "Variable"])
def test_what_a_function_uses_and_is_written_to_before_the_backward_pass_is_refused(kind, settings):
    c = {
        "Array": xp.asarray([3.0]),
        "ndarray": np.array([3.0]),
        "Variable": xp.Variable([3.0], trainable=False),
    }[kind]
    a = xp.asarray(8.0)
    with xp.GradientTape(persistent=True) as tape:
        tape.watch(a)
        x = implicit.root(lambda x, a: x**3 - a * c[0] / 3.0, 1.5, a, **settings)
    assert abs(float(tape.gradient(x, a)) * 12.0 - 1.0) < 1e-9
    c.assign([6.0]) if kind == "Variable" else c.__setitem__(..., 6.0)
    with pytest.raises(
        RuntimeError, match=r"something else.*near the solution.*in theta"
    ) as caught:
        tape.gradient(x, a)
    assert __file__.rsplit("/", 1)[1] in str(caught.value)


def test_a_weight_of_the_residual_is_no_exception_though_the_residual_is_0_with_any():
    weight, b = np.eye(2), xp.asarray([1.0, 2.0])
    with xp.GradientTape() as tape:
        tape.watch(b)
        x = implicit.root(lambda x, b: xp.asarray(weight) @ (x - b), np.zeros(2), b)
    weight *= 3.0
    with pytest.raises(RuntimeError, match="gave something else"):
        tape.gradient(x, b)


def test_random_numbers_in_a_function_are_refused():
    rng = np.random.default_rng(0)
    slope = xp.grad(lambda a: implicit.root(lambda x, a: x - a * rng.uniform(0.9999, 1.0), 1.0, a))
    with pytest.raises(RuntimeError, match="gave something else"):
        slope(EIGHT)


def test_the_same_function_is_seen_in_each_example_of_a_vmap():
    starts, many = xp.asarray([1.0, 2.0]), xp.asarray([[1.0], [8.0], [27.0]])

    def solution(a):
        return xp.vmap(lambda x0: implicit.root(lambda x, a: x**3 - a[0], x0, a))(starts)

    found = xp.vmap(xp.grad(lambda a: xp.sum(solution(a))))(many)
    np.testing.assert_allclose(np.asarray(found)[:, 0], 2.0 / (3.0 * np.array([1.0, 4.0, 9.0])))


# --- solutions that are 0 -----------------------------------------------------------------------------
@pytest.mark.parametrize("settings", [{}, {"matrix_free": True}, {"polish": True}])
@pytest.mark.parametrize("start", [0.3, 1e-5, 1e-160, 3e-320])
def test_a_solution_of_0_is_found_from_anywhere(start, settings):
    def gradient(a, **more):
        where = implicit.minimum(
            lambda x, a: xp.sum(xp.cosh(x) - a * x), np.full(2, start), a, **settings
        )
        return xp.sum(where)

    assert abs(xp.grad(gradient)(0.0) - 2.0) < 1e-12
    step = lambda x, a: 0.2 * xp.sin(x) + a  # noqa: E731
    fixed = xp.grad(lambda a: implicit.fixed_point(step, start, a, **settings))
    assert abs(fixed(0.0) - 1.25) < 1e-12
    quick = xp.grad(lambda a: implicit.root(lambda x, a: xp.tanh(x) - a, start, a, **settings))
    assert abs(quick(0.0) - 1.0) < 1e-12


def test_small_right_hand_sides_have_solutions():
    b = np.array([1e-200, -3e-200])
    x = implicit.linear_solve(lambda x: 2.0 * x, b)
    np.testing.assert_allclose(np.asarray(x), b / 2.0, rtol=1e-12)


# --- operators that are not linear --------------------------------------------------------------------
@pytest.mark.parametrize("settings", [{}, {"matrix_free": False}, {"solver": lambda x0, b: b}])
def test_an_operator_that_is_not_linear_is_refused(settings):
    with pytest.raises(ValueError, match=r"not linear in x.*implicit\.root"):
        implicit.linear_solve(lambda x: x + 1e-4 * x**2, xp.asarray([0.1, 0.2]), **settings)


def test_an_operator_may_have_a_constant():
    x = implicit.linear_solve(lambda x: 2.0 * x + 1.0, xp.asarray([3.0, 5.0]))
    np.testing.assert_allclose(np.asarray(x), [1.0, 2.0])


@pytest.mark.parametrize("found", [None, "two", object()])
def test_a_solver_that_gives_no_numbers_is_a_type_error(found):
    with pytest.raises(TypeError, match=r"solver must give x0's shapes and dtypes.*test_checks"):
        implicit.root(cube, 1.0, EIGHT, solver=lambda x0, a: found)


def test_a_maximum_is_refused_without_a_hessian_too():
    with pytest.raises(implicit.NotASolution, match=r"no minimum: .*curvature is -2\.0e\+00"):
        implicit.minimum(lambda x: -xp.sum(x**2), np.zeros(3), matrix_free=True)


@pytest.mark.parametrize("off", [1e-3, 1e-9, 1e-12])
@pytest.mark.parametrize("matrix_free", [False, True])
def test_newton_steps_go_down_to_a_solution_of_0(off, matrix_free):
    def near(x0, a):
        return np.array([off, -0.7 * off])

    x = implicit.root(
        lambda x, a: xp.expm1(x) - a, np.ones(2), xp.zeros(2), solver=near, polish=True,
        matrix_free=matrix_free,
    )  # fmt: skip
    assert np.max(np.abs(np.asarray(x))) < 1e-15


def using_its_argument_and(a):
    """Calls of which the function uses ``a`` as its argument b and as a captured Array."""
    ones = xp.ones(2)
    return {
        "root": lambda: implicit.root(lambda z, b: z**3 - a * b, ones, a),
        "fixed_point": lambda: implicit.fixed_point(lambda z, b: xp.cos(z * a) / 2 + b, ones, a),
        "minimum": lambda: implicit.minimum(lambda z, b: xp.sum((z - a) ** 2 + b * z**2), ones, a),
        "linear_solve": lambda: implicit.linear_solve(lambda v, b: (2.0 + a) * v * b, ones, a),
        "linear_solve by its right side": lambda: implicit.linear_solve(lambda v: (2.0 + a) * v, a),
        "custom_root": lambda: implicit.custom_root(lambda z, b: z**2 - a * b)(lambda x0, b: b)(ones, a),
        "root by columns": lambda: implicit.root(lambda z, b: z**3 - a * b, ones, a, matrix_free=True),
    }  # fmt: skip


@pytest.mark.parametrize("forward", [False, True])
@pytest.mark.parametrize("name", using_its_argument_and(None))
def test_a_captured_array_is_refused_also_if_it_is_passed(name, forward):
    a = xp.asarray([1.0, 2.0])
    derive = (lambda f: xp.jvp(f, (a,), (a,))) if forward else (lambda f: xp.grad(f)(a))
    with pytest.raises(ValueError, match=r"not among its positional arguments.* and use that"):
        derive(lambda a: xp.sum(using_its_argument_and(a)[name]()))
    solution = using_its_argument_and(a)[name]()  # nothing is followed, so nothing is lost
    assert np.all(np.isfinite(np.asarray(solution)))
