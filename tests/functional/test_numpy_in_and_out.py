"""Functions of functions take NumPy's arrays and floats, and give such, as SciPy's solvers ask."""

import numpy as np
import pytest
import scipy.optimize

import arraytape as xp
from arraytape import functional

START = np.array([-1.2, 1.0, 0.7])


def rosenbrock(x):
    """Array-API code: on Arrays and on NumPy's data alike."""
    return xp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def numpys_rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


# --- SciPy's solvers ----------------------------------------------------------------------------------
METHODS = (
    "BFGS", "L-BFGS-B", "CG", "Newton-CG", "TNC", "SLSQP", "trust-ncg", "trust-exact", "trust-krylov",
    "dogleg",
)  # fmt: skip
WITH_HESSIANS = ("Newton-CG", "trust-ncg", "trust-exact", "trust-krylov", "dogleg")
EXACT = {"SLSQP": 1e-2, "TNC": 1e-2, "CG": 1e-4}
NEAR = np.array([1.05, 1.1, 1.2])  # dogleg needs a positive definite Hessian on its way


@pytest.mark.parametrize("f", [rosenbrock, numpys_rosenbrock])
@pytest.mark.parametrize("method", METHODS)
def test_minimize_takes_gradients_and_hessians_as_they_are(method, f):
    with_hessian = {"hess": xp.hessian(f)} if method in WITH_HESSIANS else {}
    start = NEAR if method == "dogleg" else START
    options = {"maxfun": 1000} if method == "TNC" else {}
    found = scipy.optimize.minimize(
        f, start, jac=xp.grad(f), method=method, options=options, **with_hessian
    )
    assert found.success
    np.testing.assert_allclose(found.x, np.ones(3), atol=EXACT.get(method, 1e-4))


@pytest.mark.parametrize("method", ["Newton-CG", "trust-ncg", "trust-krylov"])
def test_minimize_takes_products_with_the_hessian(method):
    found = scipy.optimize.minimize(
        rosenbrock,
        START,
        jac=xp.grad(rosenbrock),
        hessp=lambda x, p: xp.hvp(rosenbrock, (x,), (p,))[0],
        method=method,
    )
    np.testing.assert_allclose(found.x, np.ones(3), atol=1e-4)


def test_minimize_takes_values_together_with_gradients():
    found = scipy.optimize.minimize(xp.value_and_grad(rosenbrock), START, jac=True, method="BFGS")
    np.testing.assert_allclose(found.x, np.ones(3), atol=1e-4)


TIMES = np.linspace(0.0, 1.0, 12)
DATA = np.random.default_rng(0).normal(size=(30, 3))
LABELS = np.where(DATA @ [1.0, -2.0, 0.5] + DATA[:, 0] * DATA[:, 1] > 0.3, 1.0, -1.0)
MODEL = {"weights": np.zeros((3, 1)), "rest": (np.zeros(()), [0.0, np.zeros(3)])}


def nested_loss(params):
    """Logistic regression with squares of the features, and a penalty: strictly convex."""
    offset, (scale, squares) = params["rest"]
    score = DATA @ params["weights"][:, 0] + offset + DATA**2 @ squares
    fit = xp.sum(xp.logaddexp(0.0, -LABELS * score)) - scale
    return fit + sum(
        xp.sum(xp.asarray(x) ** 2) for x in (params["weights"], scale, squares, offset)
    )


@pytest.mark.parametrize("method", METHODS)
def test_minimize_finds_nested_parameters(method):
    x0, unravel = functional.ravel(MODEL)

    def f(x):
        return nested_loss(unravel(x))

    with_hessian = {"hess": xp.hessian(f)} if method in WITH_HESSIANS else {}
    found = scipy.optimize.minimize(f, x0, jac=xp.grad(f), method=method, **with_hessian)
    assert found.success
    slopes = xp.grad(nested_loss)(unravel(found.x))
    assert [type(x) for x in (slopes["weights"], slopes["rest"][1][0])] == [np.ndarray, np.float64]
    assert np.max(np.abs(functional.ravel(slopes)[0])) < 2e-2
    np.testing.assert_allclose(unravel(found.x)["rest"][1][0], 0.5, atol=1e-2)


@pytest.mark.parametrize("method", ["trf", "dogbox", "lm"])
@pytest.mark.parametrize("jac", [xp.jacobian, xp.jacfwd, xp.jacrev])
def test_least_squares_takes_jacobians(method, jac):
    def residuals(x, t):
        return x[0] * xp.exp(-x[1] * t) + x[2] - (2.0 * np.exp(-1.5 * t) + 0.5)

    found = scipy.optimize.least_squares(
        residuals, np.ones(3), jac=jac(residuals), args=(TIMES,), method=method
    )
    np.testing.assert_allclose(found.x, [2.0, 1.5, 0.5], rtol=1e-6)


@pytest.mark.parametrize("method", ["hybr", "lm"])
def test_root_takes_jacobians(method):
    def equations(x):
        return xp.stack([x[0] * xp.cos(x[1]) - 4.0, x[0] * x[1] - x[1] - 5.0])

    found = scipy.optimize.root(equations, np.ones(2), jac=xp.jacobian(equations), method=method)
    np.testing.assert_allclose(found.x, [6.50409711, 0.90841421], rtol=1e-7)


def test_root_scalar_takes_derivatives_at_floats():
    def f(x):
        return x**3 - 2.0

    for method, more in (("newton", {}), ("halley", {"fprime2": xp.grad(xp.grad(f))})):
        found = scipy.optimize.root_scalar(f, x0=1.0, fprime=xp.grad(f), method=method, **more)
        assert abs(found.root - 2.0 ** (1 / 3)) < 1e-12


def test_check_grad_and_constraints_take_them_too():
    assert scipy.optimize.check_grad(rosenbrock, xp.grad(rosenbrock), START) < 1e-4
    circle = scipy.optimize.NonlinearConstraint(
        lambda x: x[0] ** 2 + x[1] ** 2,
        -np.inf,
        1.0,
        jac=xp.grad(lambda x: x[0] ** 2 + x[1] ** 2),
        hess=lambda x, v: v[0] * xp.hessian(lambda x: x[0] ** 2 + x[1] ** 2)(x),
    )
    f = rosenbrock
    found = scipy.optimize.minimize(
        f,
        np.zeros(2),
        jac=xp.grad(f),
        hess=xp.hessian(f),
        method="trust-constr",
        constraints=circle,
    )
    np.testing.assert_allclose(found.x, [0.7864, 0.6177], atol=1e-3)


# --- kinds --------------------------------------------------------------------------------------------
def test_each_leaf_gets_its_own_kind():
    def f(p):
        return xp.sum(p["a"] ** 2) + p["b"] * p["c"] + xp.sum(p["d"]) * p["e"]

    p = {
        "a": np.ones((2, 2), np.float32, order="F"),
        "b": 2.0,
        "c": np.float64(3.0),
        "d": xp.asarray([1.0, 2.0]),
        "e": np.array(4.0),
    }
    value, g = xp.value_and_grad(f)(p)
    assert isinstance(value, xp.Array)  # not all that was differentiated is NumPy's
    assert type(g["a"]) is np.ndarray
    assert g["a"].dtype == np.float32
    assert (g["a"] == 2.0).all()
    assert (type(g["b"]), g["b"]) == (np.float64, 3.0)
    assert isinstance(g["b"], float)
    assert (type(g["c"]), g["c"]) == (np.float64, 2.0)
    assert isinstance(g["d"], xp.Array)
    assert type(g["e"]) is np.ndarray
    assert (g["e"].shape, g["e"][()]) == ((), 3.0)


def square(x):
    return xp.sum(x * x)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_values_and_gradients_keep_their_dtype(dtype):
    x = np.array([1.0, 2.0], dtype)
    value, g = xp.value_and_grad(square)(x)
    assert (type(value), g.dtype) == (dtype, dtype)
    assert xp.hessian(square)(x).dtype == dtype
    assert xp.jacobian(xp.sin)(x).dtype == xp.jacfwd(xp.sin)(x).dtype == dtype
    assert type(xp.grad(square)(dtype(2.0))) is dtype


def test_scalars_arrays_without_axes_and_empty_ones():
    assert type(xp.grad(xp.sin)(0.5)) is np.float64
    assert xp.grad(xp.sin)(0.5) == np.cos(0.5)
    g = xp.grad(xp.sin)(np.array(0.5))
    assert (type(g), g.shape) == (np.ndarray, ())
    assert xp.grad(square)(np.zeros((0, 3))).shape == (0, 3)
    assert xp.jacobian(xp.sin)(np.zeros((0, 2))).shape == (0, 2, 0, 2)
    assert xp.jacfwd(xp.sin)(np.zeros((0, 2))).shape == (0, 2, 0, 2)
    assert xp.hessian(square)(np.zeros(0)).shape == (0, 0)
    assert type(xp.hessian(lambda x: x**3)(2.0)) is np.float64
    assert xp.jacobian(lambda x: x * xp.ones(3))(2.0).tolist() == [1.0, 1.0, 1.0]
    complex_g = xp.grad(lambda z: xp.real(z * xp.conj(z)))(1.0 + 2.0j)
    assert (type(complex_g), complex_g) == (np.complex128, 2.0 + 4.0j)


def test_a_functions_writes_and_a_gradients_reach_nobody_elses_memory():
    def f(x):
        x[0] = x[1] ** 2
        return xp.sum(x)

    x = np.array([1.0, 3.0])
    x.flags.writeable = False
    g = xp.grad(f)(x)
    assert g.tolist() == [0.0, 7.0]
    assert x.tolist() == [1.0, 3.0]
    g[:] = 0.0
    y, pull = xp.vjp(xp.exp, x)
    expected = pull(np.ones(2))[0].copy()
    y[:] = 0.0
    assert pull(np.ones(2))[0].tolist() == expected.tolist()


def test_lists_are_nestings_of_floats():
    g = xp.grad(lambda x: x[0] * x[1])([2.0, 3.0])
    assert (type(g), g) == (list, [3.0, 2.0])


def test_variables_and_other_byte_orders():
    v = xp.Variable([1.0, 2.0])
    assert isinstance(xp.grad(square)(v), xp.Array)
    g = xp.grad(square)(np.array([1.0, 2.0], ">f8"))
    assert g.tolist() == [2.0, 4.0]
    assert xp.grad(lambda x: square(x) + square(v))(np.ones(2)).tolist() == [2.0, 2.0]


def test_products_take_and_give_numpys_data():
    x, v = np.array([1.0, 2.0]), np.array([1.0, 0.0])
    y, t = xp.jvp(xp.sin, (x,), (v,))
    assert type(y) is type(t) is np.ndarray
    np.testing.assert_allclose(t, np.cos(x) * v)
    y, pull = xp.vjp(xp.sin, x)
    np.testing.assert_allclose(pull(v)[0], np.cos(x) * v)
    assert type(pull(xp.asarray(v))[0]) is np.ndarray
    y, push = xp.linearize(xp.sin, x)
    assert type(y) is type(push(v)) is np.ndarray
    for product in (xp.hvp, xp.vhp):
        (h,) = product(lambda x: xp.sum(x**3), (x,), (v,))
        assert type(h) is np.ndarray
        assert h.tolist() == [6.0, 0.0]
    mixed = xp.hvp(lambda a, b: xp.sum(a * a * b), (x, xp.asarray(x)), (v, v))
    assert [type(part) for part in mixed] == [np.ndarray, xp.Array]
    y, _ = xp.jvp(lambda a, b: a * b, (x, xp.asarray(x)), (v, v))
    assert isinstance(y, xp.Array)
    assert xp.jvp(xp.sin, (0.5,), (1.0,))[1] == np.cos(0.5)


def test_verify_takes_numpys_data():
    x = np.array([0.3, 0.4])
    f = square
    xp.grad(f, verify=True)(x)
    xp.hessian(f, verify=True)(x)
    for jac in (xp.jacobian, xp.jacfwd, xp.jacrev):
        jac(xp.sin, verify=True)(x)
    xp.jvp(xp.sin, (x,), (x,), verify=True)
    xp.vjp(xp.sin, x, verify=True)[1](x)
    xp.linearize(xp.sin, x, verify=True)[1](x)
    xp.hvp(f, (x,), (x,), verify=True)
    xp.vhp(f, (x,), (x,), verify=True)
    lost = xp.grad(lambda x: xp.sum(x * np.sin(x.tolist())), verify=True)
    with pytest.raises(xp.LostGradientError, match="differences of the function give"):
        lost(x)


class Weighted(np.ndarray):
    """A subclass with a meaning of its own."""


BAD = {
    "integers": (np.array([1, 2]), "have derivatives"),
    "an integer": (1, "write 1.0"),
    "a NumPy integer": (np.int64(1), "write 1.0"),
    "a truth value": (True, "give it as another argument"),
    "NumPy's truth value": (np.True_, "give it as another argument"),
    "a bool": (True, "have derivatives"),
    "None": (None, "must be an Array, a NumPy array or a float"),
    "a masked array": (np.ma.masked_array([1.0, 2.0], [0, 1]), "would be lost"),
    "a subclass": (np.ones(2).view(Weighted), "would be lost"),
    "objects": (np.array([1.0, None]), "no Array can have dtype object"),
    "long doubles": (np.ones(2, np.longdouble), "no Array can have dtype"),
    "a list with an integer": ([1.0, 2], "at '1'"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_has_no_derivative_is_said(name):
    x, message = BAD[name]
    for call in (
        lambda: xp.grad(square)(x),
        lambda: xp.jacobian(xp.sin)(x),
        lambda: xp.hvp(square, (x,), (x,)),
        lambda: xp.linearize(xp.sin, x),
    ):
        with pytest.raises(TypeError, match=message):
            call()


@pytest.mark.parametrize(
    "f", [lambda x: float(x[0]) ** 2, lambda x: np.float64(x.tolist()[0]), lambda x: 1.0]
)
def test_a_result_that_left_is_an_error_that_names_the_line(f):
    for derivative in (xp.grad(f), xp.jacobian(f)):
        with pytest.raises(TypeError, match=r"(got|returned) float.*test_numpy_in_and_out"):
            derivative(np.array([1.0, 2.0]))


# --- inside other derivatives -------------------------------------------------------------------------
def test_derivatives_nest_with_numpys_data_outside():
    f = xp.sin
    for expected in (np.cos, lambda x: -np.sin(x), lambda x: -np.cos(x), np.sin):
        f = xp.grad(f)
        found = f(0.3)
        assert type(found) is np.float64
        np.testing.assert_allclose(found, expected(0.3), rtol=1e-14)


def test_an_inner_argument_of_numpys_is_a_constant_of_the_outer_derivative():
    inner = []

    def f(w):
        g = xp.grad(square)(np.array([1.0, 2.0]))  # nothing of w is in it
        inner.append(g)
        return xp.sum(w * g)

    assert xp.grad(f)(np.array([3.0, 4.0])).tolist() == [2.0, 4.0]
    assert type(inner[0]) is np.ndarray


def test_what_an_outer_derivative_follows_stays_an_array():
    x, inner = np.array([1.0, 2.0]), []

    def f(w):
        value, g = xp.value_and_grad(lambda x: xp.sum(w * x**2))(x)
        inner.extend([value, g])
        return xp.sum(g) + value

    assert xp.grad(f)(np.array([3.0, 4.0])).tolist() == [2.0 + 1.0, 4.0 + 4.0]
    assert all(isinstance(part, xp.Array) for part in inner)
    w = xp.asarray([3.0, 4.0])
    with xp.GradientTape() as tape:
        tape.watch(w)
        y = xp.sum(xp.jacobian(lambda x: w * x**2)(x))
    assert tape.gradient(y, w).tolist() == [2.0, 4.0]
    v = xp.Variable([3.0, 4.0])
    with xp.GradientTape() as tape:
        y = xp.sum(xp.hvp(lambda x: xp.sum(v * x**3), (x,), (np.ones(2),))[0])
    assert tape.gradient(y, v).tolist() == [6.0, 12.0]
    with xp.ForwardAccumulator(w, xp.ones(2)) as accumulator:
        y = xp.sum(xp.linearize(lambda x: w * x**2, x)[1](np.ones(2)))
    assert float(accumulator.jvp(y)) == 6.0
    _, pull = xp.vjp(lambda x: x * x, x)
    assert xp.jacobian(lambda c: pull(c)[0])(np.ones(2)).tolist() == [[2.0, 0.0], [0.0, 4.0]]


def test_an_inner_number_is_not_an_outer_one():
    """Perturbation confusion (Siskind and Pearlmutter 2005), with numbers in and out."""
    grad = xp.grad
    assert grad(lambda x: x * grad(lambda y: x + y)(1.0))(1.0) == 1.0
    assert grad(lambda x: x * grad(lambda y: x + y)(x))(1.0) == 1.0
    assert grad(lambda x: grad(lambda y: x * y * y)(2.0) * x)(3.0) == 2 * 3.0 * 4.0
    assert (
        xp.jvp(lambda x: x * xp.jvp(lambda y: x + y, (1.0,), (1.0,))[1], (1.0,), (1.0,))[1] == 1.0
    )
    _, push = xp.linearize(lambda x: x * xp.linearize(lambda y: x * y, 1.0)[1](1.0), 3.0)
    assert push(1.0) == 6.0
    nested = grad(lambda x: grad(lambda y: grad(lambda z: x * y * z * z)(2.0) * y)(3.0))(5.0)
    assert nested == 2 * 2.0 * 2 * 3.0


FORMS = {
    "grad of grad": lambda f, x, v: xp.grad(lambda x: xp.sum(xp.grad(f)(x) * v))(x),
    "jacobian of grad": lambda f, x, v: xp.jacobian(xp.grad(f))(x) @ v,
    "jacfwd of grad": lambda f, x, v: xp.jacfwd(xp.grad(f))(x) @ v,
    "hessian": lambda f, x, v: xp.hessian(f)(x) @ v,
    "hvp": lambda f, x, v: xp.hvp(f, (x,), (v,))[0],
    "vhp": lambda f, x, v: xp.vhp(f, (x,), (v,))[0],
    "jvp of grad": lambda f, x, v: xp.jvp(xp.grad(f), (x,), (v,))[1],
    "vjp of grad": lambda f, x, v: xp.vjp(xp.grad(f), x)[1](v)[0],
    "linearized grad": lambda f, x, v: xp.linearize(xp.grad(f), x)[1](v),
    "grad of jvp": lambda f, x, v: xp.grad(lambda x: xp.jvp(f, (x,), (v,))[1])(x),
    "grad of linearized": lambda f, x, v: xp.grad(lambda x: xp.linearize(f, x)[1](v))(x),
    "jvp of jvp along units": lambda f, x, v: np.array(
        [
            xp.jvp(lambda x: xp.jvp(f, (x,), (v,))[1], (x,), (unit,))[1]
            for unit in np.eye(x.size, dtype=x.dtype)
        ]
    ),
    "gauss_newton of its own": lambda f, x, v: xp.gauss_newton_product(lambda x: x, f, (x,), (v,))[
        0
    ],
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", FORMS)
def test_second_derivatives_agree_in_every_form(form, dtype):
    rng = np.random.default_rng(len(form))
    x, v = rng.normal(size=(2, 4)).astype(dtype)
    matrix = rng.normal(size=(4, 4)).astype(dtype)

    def f(x):
        return xp.sum(xp.tanh(matrix @ x) ** 2 * xp.exp(x)) + x[0] * x[1] ** 2

    h = 1e-5
    wide = x.astype(np.float64)
    g = xp.grad(f)
    expected = (g(wide + h * v) - g(wide - h * v)) / (2 * h)
    found = FORMS[form](f, x, v)
    assert type(found) is np.ndarray
    assert found.dtype == dtype
    tolerance = 2e-4 if dtype == np.float32 else 1e-7
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
    on_arrays = FORMS[form](f, xp.asarray(x), xp.asarray(v))
    np.testing.assert_allclose(np.asarray(on_arrays), found, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("kind", [float, np.asarray, xp.asarray])
def test_a_value_that_left_into_an_inner_derivative_is_said(kind):
    def f(x):
        return xp.grad(lambda z: z * z)(kind(float(x[0]))) * x[1]

    with pytest.raises(xp.LostGradientError, match=r"left the tape at .*test_numpy_in_and_out"):
        xp.grad(f)(np.array([2.0, 3.0]))
    with pytest.raises(xp.LostGradientError, match="would be zeros"):
        xp.grad(lambda x: xp.asarray(xp.grad(lambda z: z * z)(kind(float(x)))))(2.0)


W = xp.asarray([3.0, 4.0])


def energy_of(kind):
    """A function that differentiates another inside, by an argument of this kind."""
    return lambda w: xp.sum(xp.grad(lambda z: xp.sum(w * z * z))(kind(2)))


@xp.custom_gradient
def with_a_rule(w):
    return xp.sum(w), lambda g: g * xp.grad(lambda z: xp.sum(w * z * z))(np.ones(2))


WITHIN = {
    "recompute_grad": lambda f: xp.grad(xp.recompute_grad(f)),
    "recompute_grad around": lambda f: xp.grad(
        lambda w: xp.recompute_grad(lambda s: f(w) * s)(xp.asarray(1.0))
    ),
    "function": lambda f: xp.grad(xp.function(f)),
    "function around": lambda f: xp.grad(
        lambda w: xp.function(lambda s: f(w) * s)(xp.asarray(1.0))
    ),
    "vmap": lambda f: xp.grad(lambda w: xp.sum(xp.vmap(f)(xp.stack([w, w]))) / 2.0),
    "jvp": lambda f: (
        lambda w: xp.stack(
            [xp.jvp(f, (w,), (e,))[1] for e in (xp.asarray([1.0, 0.0]), xp.asarray([0.0, 1.0]))]
        )
    ),
    "linearize": lambda f: xp.jacfwd(f),
    "jacrev": lambda f: xp.jacrev(f),
}


@pytest.mark.parametrize("name", WITHIN)
def test_numpys_data_inside_cuts_no_gradient_around(name):
    for kind in (np.ones, xp.ones):
        derivative = WITHIN[name](energy_of(kind))
        for _ in range(3):
            assert derivative(W).tolist() == [2.0, 2.0]


def test_a_rule_may_differentiate_at_numpys_data():
    assert xp.grad(with_a_rule)(W).tolist() == [6.0, 8.0]
    assert xp.grad(lambda w: xp.sum(xp.grad(with_a_rule)(w)))(W).tolist() == [2.0, 2.0]


def test_under_vmap_and_in_a_trace_they_stay_arrays():
    x = np.array([1.0, 2.0])
    found = xp.vmap(lambda w: xp.grad(lambda x: xp.sum(w * x**2))(x))(xp.asarray([1.0, 3.0]))
    assert found.tolist() == [[2.0, 4.0], [6.0, 12.0]]

    @xp.function
    def replayed(w):
        return xp.sum(xp.grad(lambda x: xp.sum(w * x**2))(x))

    for w in (1.0, 2.0, 3.0):
        assert float(replayed(xp.asarray(w))) == 6.0 * w
