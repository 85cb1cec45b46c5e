"""odeint: SciPy's values and steps, and derivatives by three ways."""

import gc
import itertools
import weakref

import numpy as np
import pytest
from scipy.integrate import LSODA, RK45, solve_ivp
from scipy.linalg import expm

import arraytape as xp
from arraytape.implicit import odeint, root

TIGHT = {"rtol": 1e-10, "atol": 1e-12}


def lotka_volterra(t, y, a):
    return [a[0] * y[0] - a[1] * y[0] * y[1], a[3] * y[0] * y[1] - a[2] * y[1]]


def lorenz(t, y, p):
    x, y, z = y[0], y[1], y[2]
    return [p[0] * (y - x), x * (p[1] - z) - y, x * y - p[2] * z]


def van_der_pol(t, y, mu):
    return [y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]]


def driven(t, y, p):
    """A pendulum driven at a time of its own: f depends on t, y and p."""
    sin, cos = (np.sin, np.cos) if isinstance(y, np.ndarray) else (xp.sin, xp.cos)
    return [p[0] * y[1], -p[1] * sin(y[0]) + 0.3 * cos(2.0 * t)]


PROBLEMS = {
    "lotka_volterra": (lotka_volterra, (0.0, 4.0), [10.0, 5.0], [1.5, 1.0, 3.0, 1.0]),
    "lorenz": (lorenz, (0.0, 1.0), [1.0, 1.0, 1.0], [10.0, 28.0, 8 / 3]),
    "driven, backward": (driven, (2.0, -1.0), [0.5, 0.1], [1.0, 2.0]),
}


def differences(f, x, h=1e-5):
    """The gradient of a function of a vector by central differences of order 4."""
    found = []
    for e in np.eye(len(x)) * h:
        near, far = f(x + e) - f(x - e), f(x + 2 * e) - f(x - 2 * e)
        found.append((8 * near - far) / (12 * h))
    return np.asarray(found)


# --- values ---------------------------------------------------------------------------------------
@pytest.mark.slow
@pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853", "Radau"])
@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.every(3)
def test_values_steps_and_counts_are_those_of_solve_ivp(problem, method):
    f, span, y0, p = PROBLEMS[problem]
    times = np.linspace(*span, 13)[1:-1]
    for t_eval, dense in ((None, False), (times, True)):
        expected = solve_ivp(f, span, y0, method, t_eval, dense, args=(np.asarray(p),))
        theta = xp.asarray(p)
        with xp.GradientTape() as tape:
            tape.watch(theta)
            taped = odeint(f, span, y0, method, t_eval, dense, args=(theta,))
        for found in (odeint(f, span, y0, method, t_eval, dense, args=(theta,)), taped):
            assert np.array_equal(np.asarray(found.y), expected.y)
            assert np.array_equal(np.asarray(found.t), expected.t)
            for name in ("nfev", "njev", "nlu", "status", "message", "success"):
                assert getattr(found, name) == getattr(expected, name), name
            if dense:
                within = np.concat([np.linspace(*span, 31), expected.sol.ts, [span[0] - 0.01]])
                value = np.asarray(found.sol(within))
                np.testing.assert_allclose(value, expected.sol(within), rtol=1e-11, atol=1e-11)
                middle = sum(span) / 2
                np.testing.assert_allclose(
                    np.asarray(found.sol(middle)), expected.sol(middle), rtol=1e-11
                )


@pytest.mark.slow
@pytest.mark.parametrize("method", ["RK45", "DOP853", "Radau"])
@pytest.mark.every(3)
def test_the_steps_on_arrays_are_scipys_steps(method, monkeypatch):
    from arraytape.implicit import ode

    seen = []

    def compared(values, rows):
        seen.append(np.max(np.abs(np.asarray(values) - np.asarray(rows).T)))
        return values

    monkeypatch.setattr(ode, "with_scipy_values", compared)
    f, span, y0, p = PROBLEMS["lorenz"]
    with xp.GradientTape():
        odeint(f, span, y0, method, args=(xp.asarray(p),), rtol=1e-6)
    assert seen[0] < 1e-13


def test_fixed_steps_are_those_of_the_textbook():
    def f(t, y):
        return np.array([y[1], -np.sin(y[0]) + 0.1 * t])

    y, t, h = np.array([0.3, 1.0]), 0.0, 0.1
    rows = [y]
    for _ in range(9):
        k1 = f(t, y)
        k2 = f(t + h / 2, y + h / 2 * k1)
        k3 = f(t + h / 2, y + h / 2 * k2)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + f(t + h, y + h * k3))
        t += h
        rows.append(y)
    found = odeint(
        lambda t, y: [y[1], 0.1 * t - xp.sin(y[0])], (0, 0.9), [0.3, 1.0], "RK4", max_step=0.1
    )
    np.testing.assert_allclose(np.asarray(found.y).T, rows, rtol=1e-13)
    assert found.nfev == 36


@pytest.mark.parametrize(("method", "order"), [("Euler", 1), ("RK4", 4)])
def test_fixed_steps_and_their_curve_have_their_order(method, order):
    def error(h):
        found = odeint(
            lambda t, y: -y * t, (0, 1), [1.0], method, [0.33, 1.0], dense_output=True, max_step=h
        )
        exact = np.exp(-(np.array([0.33, 1.0, 0.71]) ** 2) / 2)
        there = np.array([*found.y[0, :], found.sol(0.71)[0]], dtype=float)
        return np.max(np.abs(there - exact))

    assert error(0.05) / error(0.025) > 0.8 * 2**order


def test_any_shape_complex_numbers_and_precision():
    y0 = xp.asarray(np.arange(6.0).reshape(2, 3))
    found = odeint(lambda t, y: -y, (0, 1), y0, t_eval=[0.0, 0.5, 1.0], dense_output=True, **TIGHT)
    assert found.y.shape == (2, 3, 3)
    assert found.sol(0.5).shape == (2, 3)
    assert found.sol([0.1, 0.2]).shape == (2, 3, 2)
    np.testing.assert_allclose(np.asarray(found.sol(1.0)), np.asarray(y0) * np.exp(-1), rtol=1e-9)
    assert odeint(lambda t, y: -y, (0, 1), xp.asarray(1.0)).y.ndim == 1
    assert odeint(lambda t, y: -y, (0, 1), xp.zeros(0)).y.shape == (0, 2)
    turned = odeint(lambda t, y: 1j * y, (0, 1), xp.asarray([1.0 + 0j]), **TIGHT).y[0, -1]
    assert abs(complex(turned) - np.exp(1j)) < 1e-9
    single = xp.asarray([1.0], dtype=xp.float32)
    assert odeint(lambda t, y: -y, (0, 1), single).y.dtype == xp.float64  # as SciPy
    fixed = odeint(lambda t, y: -y, (0, xp.asarray(1.0)), single, "RK4", max_step=0.5)
    assert fixed.y.dtype == fixed.t.dtype == xp.float32
    gradient = xp.grad(lambda y: odeint(lambda t, y: -y, (0, 1), y, **TIGHT).y[0, -1])(single)
    assert gradient.dtype == xp.float32
    assert abs(float(gradient[0]) - np.exp(-1)) < 1e-6


def test_f_may_write_to_what_it_is_given():
    def rude(t, y):
        slope = -1.0 * y
        y *= 0.0
        t *= 0.0
        return slope

    y0 = xp.asarray([1.0])
    clean = xp.value_and_grad(lambda y: odeint(lambda t, y: -y, (0, 1), y).y[0, -1])(y0)
    wrote = xp.value_and_grad(lambda y: odeint(rude, (0, 1), y).y[0, -1])(y0)
    assert float(clean[0]) == float(wrote[0])
    assert float(clean[1][0]) == float(wrote[1][0])
    assert float(y0[0]) == 1.0


# --- gradients --------------------------------------------------------------------------------------
WAYS = {
    "RK45": {"method": "RK45", **TIGHT},
    "RK23": {"method": "RK23", "rtol": 1e-7, "atol": 1e-9},
    "DOP853": {"method": "DOP853", **TIGHT},
    "Radau": {"method": "Radau", "rtol": 1e-7, "atol": 1e-8},
    "RK4": {"method": "RK4", "max_step": 0.0099},
    "RK45, continuous": {"method": "RK45", "adjoint": "continuous", **TIGHT},
    "LSODA, continuous": {"method": LSODA, "adjoint": "continuous", **TIGHT},
    "RK4, continuous": {"method": "RK4", "max_step": 0.0099, "adjoint": "continuous"},
}


def weighted_outputs(q, options):
    """A function of y0, p, t_eval, t0 and t1, all in one vector, through outputs and the end."""
    times = q[4:7]
    inner = odeint(driven, (q[7], 1.5), q[:2], t_eval=times, args=(q[2:4],), **options)
    end = odeint(
        driven, (0.0, q[8]), q[:2], t_eval=xp.reshape(q[8], (1,)), args=(q[2:4],), **options
    )
    weights = xp.asarray([[1.0, 2.0, -1.0], [0.5, 1.0, 1.5]])
    return xp.sum(weights * inner.y**2) + xp.sum(end.y * xp.asarray([[1.0], [-2.0]]))


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.every(3)
def test_gradients_by_y0_args_and_times_agree_with_differences(way):
    q = np.array([0.5, 0.1, 1.0, 2.0, 0.3, 0.7, 1.2, 0.1, 0.8])

    def exact(q):
        options = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-13}
        first = solve_ivp(driven, (q[7], 1.5), q[:2], t_eval=q[4:7], args=(q[2:4],), **options).y
        last = solve_ivp(driven, (0.0, q[8]), q[:2], args=(q[2:4],), **options).y[:, -1]
        return np.sum([[1, 2, -1], [0.5, 1, 1.5]] * first**2) + last @ [1, -2]

    expected = differences(exact, q, 1e-3)
    found = np.asarray(xp.grad(lambda q: weighted_outputs(q, WAYS[way]))(xp.asarray(q)))
    # SciPy's curves between the steps of RK23 and Radau are of order 3, that of RK4 as well.
    loose = way in ("RK23", "Radau", "RK4, continuous", "RK4")
    np.testing.assert_allclose(found, expected, rtol=3e-5 if loose else 1e-7, atol=1e-7)


def test_the_discrete_gradient_is_that_of_the_steps_as_taken():
    """With few coarse steps it differs from the exact one, and agrees with those of these steps."""
    nodes = []

    def steps(q, record):
        def f(t, y, p):
            return driven(t, y, p)

        result = odeint(f, (0.0, 2.0), q[:2], "RK45", args=(q[2:],), rtol=1e-2, atol=1e-2)
        if record:
            nodes.extend(np.asarray(result.t))
        return xp.sum(result.y[:, -1] ** 2)

    q = np.array([0.5, 0.1, 1.0, 2.0])
    found = np.asarray(xp.grad(lambda q: steps(q, True))(xp.asarray(q)))

    def by_hand(q):
        y = q[:2]
        for t, end in itertools.pairwise(nodes):
            h, K = end - t, []
            for a, c in zip(RK45.A, RK45.C, strict=True):
                at = y + h * sum((w * k for w, k in zip(a, K, strict=False)), np.zeros(2))
                K.append(np.asarray(driven(t + c * h, at, q[2:])))
            y = y + h * RK45.B @ K
        return np.sum(y**2)

    np.testing.assert_allclose(found, differences(by_hand, q, 1e-3), rtol=1e-9)


def test_a_linear_system_has_the_derivatives_of_the_matrix_exponential():
    rng = np.random.default_rng(3)
    A, y0 = rng.standard_normal((4, 4)), rng.standard_normal(4)

    def end(A, y0, adjoint):
        found = odeint(
            lambda t, y, A: A @ y, (0.0, 1.0), y0, "DOP853", [1.0], args=(A,), adjoint=adjoint,
            rtol=1e-12, atol=1e-13,
        )  # fmt: skip
        return xp.sum(found.y**2)

    def exact(a):
        return np.sum((expm(a[:16].reshape(4, 4)) @ a[16:]) ** 2)

    expected = differences(exact, np.concat([A.ravel(), y0]), 1e-3)
    for adjoint in ("discrete", "continuous"):
        of_A, of_y0 = xp.grad(lambda A, y0, way=adjoint: end(A, y0, way), (0, 1))(
            xp.asarray(A), xp.asarray(y0)
        )
        found = np.concat([np.asarray(of_A).ravel(), np.asarray(of_y0)])
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


@pytest.mark.slow
@pytest.mark.nightly
def test_a_harmonic_oscillator_to_second_order():
    """y = cos(w t): d2/dw2 = -t^2 cos(w t), d2/dw dt = -sin(w t) - w t cos(w t)."""

    def y(q, options):
        f = lambda t, y, w: [y[1], -(w**2) * y[0]]  # noqa: E731
        return odeint(f, (0.0, q[1]), [1.0, 0.0], args=(q[0],), **options).y[0, -1]

    w, t = 1.3, 0.9
    s, c = np.sin(w * t), np.cos(w * t)
    expected = [[-(t**2) * c, -s - w * t * c], [-s - w * t * c, -(w**2) * c]]
    for options in (TIGHT, {"method": "Radau", "rtol": 1e-6, "atol": 1e-8}):
        found = xp.hessian(lambda q, o=options: y(q, o))(xp.asarray([w, t]))
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-4)
    options = {"t_eval": [t], "adjoint": "continuous", **TIGHT}
    found = xp.hessian(lambda w: y(xp.concat([w, xp.asarray([t])]), options))(xp.asarray([w]))
    np.testing.assert_allclose(np.asarray(found), [[expected[0][0]]], rtol=1e-6)


@pytest.mark.slow
@pytest.mark.nightly
def test_lorenz_gradients_agree_with_both_adjoints_and_differences():
    f, span, y0, p = PROBLEMS["lorenz"]

    def end(p, adjoint):
        found = odeint(
            f, span, y0, "DOP853", [1.0], args=(p,), adjoint=adjoint, rtol=1e-12, atol=1e-13
        )  # fmt: skip
        return xp.sum(found.y)

    def exact(p):
        return np.sum(solve_ivp(f, span, y0, "DOP853", args=(p,), rtol=1e-12, atol=1e-13).y[:, -1])

    expected = differences(exact, np.asarray(p), 1e-3)
    for adjoint in ("discrete", "continuous"):
        found = xp.grad(lambda p, way=adjoint: end(p, way))(xp.asarray(p))
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-7)


@pytest.mark.slow
def test_a_stiff_system_by_radau():
    """Van der Pol's oscillator with mu = 1000, where explicit methods take a million steps."""

    def end(mu):
        return odeint(
            van_der_pol, (0, 500.0), [2.0, 0.0], "Radau", args=(mu,), rtol=1e-6, atol=1e-8
        ).y[0, -1]

    def exact(mu):
        return solve_ivp(
            van_der_pol, (0, 500.0), [2.0, 0.0], "Radau", args=(mu[0],), rtol=1e-10, atol=1e-12
        ).y[0, -1]

    found = float(xp.grad(end)(xp.asarray(1000.0)))
    assert found == pytest.approx(differences(exact, np.array([1000.0]), 1.0)[0], rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "says"), [("RK45", r"relative error of \d"), ("Radau", "backward problem")]
)
def test_the_continuous_adjoint_says_that_it_cannot_go_back_through_a_stiff_system(method, says):
    """y forgets where it was as exp(-rate t): on the way back errors grow as exp(rate t)."""

    def end(rate, t_eval, adjoint):
        f = lambda t, y, rate: -rate * (y - xp.cos(t))  # noqa: E731
        found = odeint(f, (0, 1.0), [0.0], method, t_eval, args=(rate,), adjoint=adjoint, rtol=1e-6)
        return found.y[0, -1]

    def gradient(t_eval, adjoint):
        return float(xp.grad(lambda rate: end(rate, t_eval, adjoint))(xp.asarray(40.0)))

    with pytest.raises(RuntimeError, match=f"{says}.*use adjoint='discrete'.*t_eval"):
        gradient([1.0], "continuous")
    if method == "RK45":
        expected = gradient([1.0], "discrete")
        times = np.linspace(0, 1, 21)
        assert gradient(times, "continuous") == pytest.approx(expected, rel=2e-2)


@pytest.mark.slow
def test_forward_mode_and_jacobians_agree():
    f, _, y0, p = PROBLEMS["lotka_volterra"]
    for options in (TIGHT, {"adjoint": "continuous", "rtol": 1e-8, "atol": 1e-9}):

        def y(p, options=options):
            return odeint(f, (0.0, 0.3), y0, t_eval=[0.3], args=(p,), **options).y[:, -1]

        J = np.asarray(xp.jacobian(y)(xp.asarray(p)))
        v = np.array([1.0, -1.0, 0.5, 2.0])
        tangent = xp.jvp(y, (xp.asarray(p),), (xp.asarray(v),))[1]
        np.testing.assert_allclose(np.asarray(tangent), J @ v, rtol=1e-6)


def test_the_solution_between_the_steps_is_differentiable():
    def at(q):
        sol = odeint(driven, (0.0, 2.0), q[:2], args=(q[2:4],), dense_output=True, **TIGHT).sol
        return xp.sum(sol(q[4]) ** 2) + xp.sum(sol(q[4:]) * xp.asarray([1.0, 2.0]))

    def exact(q):
        options = {"dense_output": True, "method": "DOP853", "rtol": 1e-12, "atol": 1e-13}
        sol = solve_ivp(driven, (0.0, 2.0), q[:2], args=(q[2:4],), **options).sol
        return np.sum(sol(q[4]) ** 2) + np.sum(sol(q[4:]) * [1.0, 2.0])

    q = np.array([0.5, 0.1, 1.0, 2.0, 0.7, 1.6])
    found = np.asarray(xp.grad(at)(xp.asarray(q)))
    np.testing.assert_allclose(found, differences(exact, q, 1e-3), rtol=1e-6)


def test_the_time_of_an_event_is_a_root_on_the_solution():
    """A ball thrown up with speed v is down again after 2 v / g."""

    def down(v):
        found = odeint(
            lambda t, y: [y[1], -9.81], (0.0, 3.0), xp.stack([xp.zeros_like(v), v]),
            dense_output=True,
        )  # fmt: skip
        return root(lambda t, v: path(t, v), xp.asarray(2.0), v) if found.success else None

    def path(t, v):
        y0 = xp.stack([xp.zeros_like(v), v])
        return odeint(lambda t, y: [y[1], -9.81], (0.0, 3.0), y0, dense_output=True).sol(t)[0]

    assert float(xp.grad(down)(xp.asarray(10.0))) == pytest.approx(2 / 9.81, rel=1e-9)


@pytest.mark.slow
def test_variables_and_watched_arrays_from_outside():
    w = xp.Variable([1.0, 2.0])
    p = xp.asarray([1.0, 2.0])
    expected = np.asarray(
        xp.grad(lambda p: odeint(driven, (0, 1), [0.5, 0.1], args=(p,), **TIGHT).y[0, -1])(p)
    )
    for options in ({}, {"adjoint": "continuous", "t_eval": [1.0]}):
        with xp.GradientTape() as tape:
            y = odeint(
                lambda t, y: driven(t, y, w), (0, 1), xp.asarray([0.5, 0.1]), **options, **TIGHT
            ).y[0, -1]
        np.testing.assert_allclose(np.asarray(tape.gradient(y, w)), expected, rtol=1e-6)

    def closure(p, **options):
        f = lambda t, y: driven(t, y, p)  # noqa: E731
        return odeint(f, (0, 1), [0.5, 0.1], **options, **TIGHT).y[0, -1]

    np.testing.assert_allclose(np.asarray(xp.grad(closure)(p)), expected, rtol=1e-9)
    with pytest.raises(ValueError, match=r"odeint.*not among its positional"):
        xp.grad(lambda p: closure(p, adjoint="continuous"))(p)
    with pytest.raises(ValueError, match="not among"):
        xp.grad(lambda p: closure(p, method="Radau"))(p)


def test_a_gradient_within_f_and_the_layers_of_a_network():
    def hamiltonian(z, k):
        return 0.5 * z[1] ** 2 + k * (1.0 - xp.cos(z[0]))

    def motion(t, z, k):
        slope = xp.grad(hamiltonian)(z, k)
        return [slope[1], -slope[0]]

    def end(k, f, **options):
        return odeint(f, (0, 1), [1.0, 0.0], "DOP853", [1.0], args=(k,), **options, **TIGHT).y[0, 0]

    direct = lambda t, z, k: [z[1], -k * xp.sin(z[0])]  # noqa: E731
    expected = float(xp.grad(lambda k: end(k, direct))(xp.asarray(1.3)))
    for adjoint in ("discrete", "continuous"):
        found = xp.grad(lambda k, way=adjoint: end(k, motion, adjoint=way))(xp.asarray(1.3))
        assert float(found) == pytest.approx(expected, rel=1e-7)

    rng = np.random.default_rng(0)
    layer = xp.nn.Dense(3, seed=0)
    points = xp.asarray(rng.standard_normal((5, 3)))
    layer(points)
    gradients = []
    steps = {"method": "RK4", "max_step": 0.01}
    for options in (TIGHT, {"adjoint": "continuous", **TIGHT}, steps):
        with xp.GradientTape() as tape:
            y = odeint(
                lambda t, y: xp.tanh(layer(y)), (0.0, 1.0), points, t_eval=[1.0], **options
            ).y
            loss = xp.sum(y**2)
        gradients.append(tape.gradient(loss, layer.trainable_variables))
    for one in gradients[1:]:
        for found, first in zip(one, gradients[0], strict=True):
            np.testing.assert_allclose(np.asarray(found), np.asarray(first), rtol=1e-6)
    layer.trainable_variables[0].assign(np.ones((3, 3)))
    with xp.GradientTape() as tape:
        y = odeint(lambda t, y: xp.tanh(layer(y)), (0.0, 1.0), points).y
        loss = xp.sum(y**2)
    layer.trainable_variables[0].assign(np.zeros((3, 3)))
    with pytest.raises(RuntimeError, match="Variable"):
        tape.gradient(loss, layer.trainable_variables)


def test_args_may_be_nestings_and_views():
    def f(t, y, p, name, factor):
        assert name == "pendulum"
        return driven(t, y, xp.stack([p["a"], p["b"][0]])) if factor == 1 else None

    p = xp.asarray([1.0, 2.0])
    for options in (TIGHT, {"t_eval": [1.0], "adjoint": "continuous", **TIGHT}):

        def end(p, options=options):
            nested = ({"a": p[0], "b": [p[1]]}, "pendulum", 1)
            return odeint(f, (0, 1), xp.asarray([0.5, 0.1]), args=nested, **options).y[0, -1]

        plain = xp.grad(lambda p: odeint(driven, (0, 1), [0.5, 0.1], args=(p,), **TIGHT).y[0, -1])(
            p
        )
        np.testing.assert_allclose(np.asarray(xp.grad(end)(p)), np.asarray(plain), rtol=1e-6)


def test_a_span_of_no_length_moves_with_its_end():
    def value(t):
        found = odeint(lambda t, y: -2.0 * y, (0.0, t), [3.0], dense_output=True)
        return found.y[0, -1] + found.sol(t)[0]

    value_there, slope = xp.value_and_grad(value)(xp.asarray(0.0))
    assert (float(value_there), float(slope)) == (6.0, -12.0)


def test_complex_parameters_and_states():
    def y(theta, adjoint):
        f = lambda t, y, w: 1j * w * y  # noqa: E731
        end = odeint(
            f, (0, 1), xp.asarray([1.0 + 0j]), t_eval=[1.0], args=(theta,), adjoint=adjoint, **TIGHT
        ).y[0, -1]
        return xp.real(end)

    for adjoint in ("discrete", "continuous"):
        found = xp.grad(lambda w, way=adjoint: y(w, way))(xp.asarray(0.7))
        assert float(found) == pytest.approx(-np.sin(0.7), rel=1e-7)


# --- transformations ----------------------------------------------------------------------------------
def test_fixed_steps_are_mapped_and_replayed():
    def end(y0):
        return odeint(driven, (0.0, 1.0), y0, "RK4", args=([1.0, 2.0],), max_step=0.2).y[:, -1]

    starts = xp.asarray([[0.5, 0.1], [0.2, 0.3], [1.0, 0.0]])
    mapped = np.asarray(xp.vmap(end)(starts))
    np.testing.assert_allclose(mapped, [np.asarray(end(y)) for y in starts], rtol=1e-14)
    gradients = np.asarray(xp.vmap(xp.grad(lambda y: xp.sum(end(y))))(starts))
    one = xp.grad(lambda y: xp.sum(end(y)))(starts[1])
    np.testing.assert_allclose(gradients[1], np.asarray(one), rtol=1e-12)
    step = xp.function(end)
    for y0 in (*starts, starts[0] * 2.0):
        assert np.array_equal(np.asarray(step(y0)), np.asarray(end(y0)))
    assert step.counts["replayed"] == 2


def test_adaptive_steps_are_refused_under_vmap_and_not_replayed():
    def end(y0):
        return odeint(lambda t, y: -y, (0.0, 1.0), y0).y[:, -1]

    starts = xp.asarray([[1.0], [2.0]])
    with pytest.raises(TypeError, match=r"under vmap y0 differs.*RK4"):
        xp.vmap(end)(starts)
    with pytest.raises(TypeError, match=r"under vmap what f gives differs"):
        xp.vmap(lambda c: odeint(lambda t, y: -c * y, (0, 1), [1.0]).y[:, -1])(starts[:, 0])
    with pytest.raises(TypeError, match=r"under vmap an end of t_span differs"):
        xp.vmap(lambda t: odeint(lambda t, y: -y, (0, t), [1.0]).y[:, -1])(starts[:, 0])
    step = xp.function(end)
    with pytest.warns(xp.TapeWarning, match=r"not replayed, SciPy's solver runs in it \(odeint\)"):
        found = [step(scale * starts[0]) for scale in (1.0, 2.0, 3.0)]
    for scale, y in zip((1.0, 2.0, 3.0), found, strict=True):
        assert np.array_equal(np.asarray(y), np.asarray(end(scale * starts[0])))
    assert step.counts["replayed"] == 0


def test_a_tape_keeps_about_the_square_root_of_the_steps():
    """In the backward pass, too: the states of f's calls live for one piece at a time."""
    alive, most = [], 0

    def f(t, y):
        nonlocal most
        slope = xp.sin(y)
        alive.append(weakref.ref(slope._data))
        most = max(most, sum(there() is not None for there in alive))
        return slope * 2.0

    def peak(steps):
        nonlocal most
        gc.collect()
        alive.clear()
        most = 0
        y0 = xp.asarray([0.1])
        end = lambda y: odeint(f, (0, 1), y, "RK4", [1.0], max_step=1 / steps).y[0, 0]  # noqa: E731
        xp.grad(end)(y0)
        return most

    few, many = peak(16), peak(256)
    assert many < 6 * few


# --- failures -----------------------------------------------------------------------------------------
def test_a_solver_that_fails_says_so():
    """y' = y^2 has no solution beyond t = 1."""
    result = odeint(lambda t, y: y * y, (0, 2), [1.0])
    expected = solve_ivp(lambda t, y: y * y, (0, 2), [1.0])
    assert (result.status, result.success, result.message) == (-1, False, expected.message)
    assert np.array_equal(np.asarray(result.y), expected.y)
    late = odeint(lambda t, y: y * y, (0, 2), [1.0], t_eval=[0.5, 1.5])
    assert late.y.shape == (1, 1)
    gradient = xp.grad(lambda y: odeint(lambda t, y: y * y, (0, 2), y, t_eval=[0.5, 1.5]).y[0, -1])
    with pytest.warns(xp.TapeWarning, match=r"odeint stopped at t = 0\.99"):
        found = gradient(xp.asarray([1.0]))
    assert float(found[0]) == pytest.approx(4.0, rel=1e-2)
    with pytest.raises(ValueError, match=r"f is not finite at t = 0\.0"):  # SciPy tries for ever
        odeint(lambda t, y: y * xp.nan, (0, 2), [1.0])
    nowhere = odeint(lambda t, y: y * xp.nan, (0, 2), [1.0], first_step=0.1)
    assert nowhere.status == -1


@pytest.mark.parametrize("method", ["RK45", "Radau", "RK4"])
def test_an_array_that_f_uses_and_that_is_written_to_since_is_noticed(method):
    rate, y0 = xp.asarray(1.0), xp.asarray([1.0])
    options = {"max_step": 0.1} if method == "RK4" else {}
    with xp.GradientTape(persistent=True) as tape:
        tape.watch(y0)
        y = odeint(lambda t, y: -rate * y, (0, 1), y0, method, **options).y[0, -1]
    assert float(tape.gradient(y, y0)[0]) == pytest.approx(np.exp(-1), rel=1e-2)
    rate += 0.5
    with pytest.raises(RuntimeError, match=r"something else.*written to since.*pass these in args"):
        tape.gradient(y, y0)


def test_arguments_that_are_written_to_since_are_those_of_the_call():
    rate, y0 = xp.asarray(1.0), xp.asarray([1.0])
    with xp.GradientTape() as tape:
        tape.watch([rate, y0])
        y = odeint(lambda t, y, rate: -rate * y, (0, 1), y0, args=(rate,), **TIGHT).y[0, -1]
        rate += 0.5
        y0 *= 0.0
    assert float(y) == pytest.approx(np.exp(-1))
    by_rate, by_y0 = tape.gradient(y, [rate, y0])  # by the values that were watched
    assert float(by_rate) == pytest.approx(-np.exp(-1), rel=1e-8)
    assert float(by_y0[0]) == pytest.approx(np.exp(-1), rel=1e-8)


def test_an_error_in_f_is_the_users_own():
    class Mine(Exception):
        pass

    def f(t, y):
        raise Mine

    for options in ({}, {"method": "RK4", "max_step": 0.5}, {"adjoint": "continuous"}):
        with pytest.raises(Mine):
            odeint(f, (0, 1), [1.0], **options)
    x = xp.asarray(2.0)
    with xp.GradientTape() as tape:
        tape.watch(x)
        with pytest.raises(Mine):
            odeint(f, (0, 1), xp.reshape(x, (1,)))
        y = x * x
    assert float(tape.gradient(y, x)) == 4.0


REFUSED = [
    (
        {"events": lambda t, y: y[0]},
        NotImplementedError,
        r"events.*implicit\.root.*docs/howto/odes",
    ),
    ({"vectorized": True}, NotImplementedError, "leave out vectorized"),
    ({"method": "BDF"}, NotImplementedError, "BDF.*Radau.*continuous"),
    ({"method": LSODA}, NotImplementedError, "LSODA.*Radau"),
    ({"method": "RK5"}, ValueError, "'RK23', 'RK45'.*RK5"),
    ({"adjoint": "both"}, ValueError, "'discrete' or 'continuous'"),
    ({"adjoint": "continuous", "dense_output": True}, NotImplementedError, "t_eval"),
    ({"method": "RK4"}, ValueError, "pass max_step"),
    ({"method": "RK4", "max_step": -1.0}, ValueError, "positive"),
    ({"method": "RK4", "max_step": 0.1, "rtol": 1e-3}, ValueError, "has no rtol"),
    ({"t_span": (0, 1, 2)}, ValueError, "pair"),
    ({"t_span": (0, np.inf)}, ValueError, "finite"),
    ({"t_span": (0, [1.0])}, ValueError, "finite real numbers"),
    ({"t_eval": [0.5, 2.0]}, ValueError, "not within"),
    ({"t_eval": [0.5, 0.2]}, ValueError, "sorted"),
    ({"t_eval": [[0.5]]}, ValueError, "1-dimensional"),
    ({"args": 3.0}, TypeError, "args=.x,."),
    ({"f": 3.0}, TypeError, "f must be a function"),
    ({"f": lambda t, y: y[:1]}, ValueError, r"shape \(2,\)"),
    ({"f": lambda t, y: 1j * y}, TypeError, "complex y0"),
    ({"f": lambda t, y: "y"}, TypeError, "f must give"),
    ({"f": lambda t, y: None}, TypeError, "f must give"),
    ({"y0": "y"}, TypeError, "no Array can have dtype"),
    ({"max_step": -1.0}, ValueError, "max_step"),
]


@pytest.mark.parametrize(("changed", "kind", "says"), REFUSED, ids=lambda x: str(x)[:30])
def test_refusals_say_what_to_do(changed, kind, says):
    given = {"f": lambda t, y: -y, "t_span": (0, 1), "y0": [1.0, 2.0]} | changed
    with pytest.raises(kind, match=says) as error:
        odeint(**given)
    assert "test_odeint.py" in str(error.value) or "max_step" in changed


def test_a_constant_slope_does_not_lose_a_gradient_in_silence():
    def f(t, y, a):
        return -float(a) * y

    gradient = xp.grad(lambda a: odeint(f, (0, 1), [1.0], args=(a,)).y[0, -1])
    with pytest.raises((xp.TapeWarning, xp.LostGradientError)):
        gradient(xp.asarray(1.0))


# --- what is written to between the call and the backward pass ----------------------------------------
@pytest.mark.parametrize("adjoint", ["discrete", "continuous"])
@pytest.mark.parametrize("kind", ["Array", "ndarray", "Variable", "list"])
def test_arguments_and_y0_may_be_written_to_after_the_call(adjoint, kind):
    c = {
        "Array": xp.ones(2), "ndarray": np.ones(2), "list": [1.0, 1.0],
        "Variable": xp.Variable(np.ones(2), trainable=False),
    }[kind]  # fmt: skip
    a, y0 = xp.asarray(0.7), np.array([1.0, 2.0])
    with xp.GradientTape() as tape:
        tape.watch(a)
        y = odeint(
            lambda t, y, a, c: -a * y * xp.asarray(c), (0.0, 1.0), y0, args=(a, c), rtol=1e-9,
            atol=1e-9, adjoint=adjoint,
        ).y[:, -1]  # fmt: skip
    a[...], y0[...] = 5.0, 7.0
    if kind == "Variable":
        c.assign([3.0, 3.0])
    else:
        c[0] = 3.0
    assert abs(float(tape.gradient(y, a)) + 3.0 * np.exp(-0.7)) < 1e-7


@pytest.mark.parametrize("adjoint", ["discrete", "continuous"])
@pytest.mark.parametrize(("big", "factor"), [(1.0, 1.005), (1e9, 3.0)])
def test_what_f_uses_may_not_be_written_to_however_little_of_the_state_it_moves(
    adjoint, big, factor
):
    c, a = np.ones(2), xp.asarray(0.7)
    with xp.GradientTape() as tape:
        tape.watch(a)
        y = odeint(
            lambda t, y, a: -a * y * xp.asarray(c), (0.0, 1.0), [big, 2.0], args=(a,), rtol=1e-9,
            atol=1e-9, adjoint=adjoint,
        ).y[1, -1]  # fmt: skip
    c[1] = factor
    with pytest.raises(RuntimeError, match="f gave something else"):
        tape.gradient(y, a)


@pytest.mark.parametrize("adjoint", ["discrete", "continuous"])
@pytest.mark.parametrize(
    ("method", "options"), [("RK45", {"rtol": 1e-8}), ("Radau", {}), ("RK4", {"max_step": 0.1})]
)
def test_what_f_writes_to_its_arguments_stays_there(adjoint, method, options):
    a = xp.asarray(0.7)

    def f(t, y, p):
        slope = -p["a"] * y
        p["a"] *= 1.1
        y[...], t[...] = 5.0, 5.0
        return slope

    def end(a):
        y = odeint(f, (0.0, 1.0), [1.0], method, args=({"a": a},), adjoint=adjoint, **options).y
        return y[0, -1]

    assert abs(float(end(a)) - np.exp(-0.7)) < 1e-3
    assert abs(float(xp.grad(end)(a)) + np.exp(-0.7)) < 1e-3
    assert float(a) == 0.7


# --- progress -----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "options",
    [{"method": "RK45"}, {"method": "Radau"}, {"method": "RK4", "max_step": 0.1}],
    ids=str,
)
@pytest.mark.parametrize("adjoint", ["discrete", "continuous"])
def test_a_callback_gets_the_time_and_a_copy_of_the_state_after_each_step(options, adjoint):
    """In the forward pass alone, although the backward pass takes the steps again."""
    seen = []

    def callback(t, y):
        seen.append((t, np.array(y)))
        y[...] = np.nan  # the copy is the callback's own

    def solve(p, **more):
        return odeint(
            lambda t, y, p: -p * y,
            (0.0, 1.0),
            [[1.0], [2.0]],
            args=(p,),
            adjoint=adjoint,
            **options,
            **more,
        )

    p = xp.asarray(0.5)
    with xp.GradientTape() as tape:
        tape.watch(p)
        found = solve(p, callback=callback)
        loss = xp.sum(found.y[..., -1])
    gradient = tape.gradient(loss, p)
    assert [t for t, _ in seen] == [float(t) for t in found.t[1:]]
    assert all(type(t) is float for t, _ in seen)
    for i, (_, y) in enumerate(seen):
        np.testing.assert_allclose(y, np.asarray(found.y[..., i + 1]), rtol=1e-12)
    with xp.GradientTape() as tape:
        tape.watch(p)
        loss = xp.sum(solve(p).y[..., -1])
    assert float(tape.gradient(loss, p)) == float(gradient)


def test_a_callback_that_is_no_function_is_refused():
    with pytest.raises(TypeError, match="odeint: callback must be a function, got int 3"):
        odeint(lambda t, y: -y, (0, 1), [1.0], callback=3)
