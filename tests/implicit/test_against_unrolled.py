"""Derivatives of solutions against those of the unrolled iteration, to second order, in all modes."""

import numpy as np
import pytest

import arraytape as xp

implicit = xp.implicit
random = np.random.default_rng(0)
A = xp.asarray(random.uniform(-1.0, 1.0, (8, 3)))
LABELS = xp.asarray((random.uniform(size=8) > 0.5).astype(float))
COST = xp.asarray(random.uniform(size=(4, 5)))
SPD = xp.asarray(np.eye(4) * 4.0 + np.diag(np.ones(3), 1) + np.diag(np.ones(3), -1))
W = xp.asarray(random.uniform(-0.3, 0.3, (4, 4)))


def newton(F, x, *theta, steps=60):
    """A root by recorded Newton steps."""
    for _ in range(steps):
        J = xp.reshape(xp.jacobian(lambda x: F(x, *theta))(x), (x.size, x.size))
        step = xp.linalg.solve(J, xp.reshape(F(x, *theta), (-1,)))
        x = x - xp.reshape(step, x.shape)
    return x


def iterated(g, x, *theta, steps=400):
    """A fixed point by recorded steps."""
    for _ in range(steps):
        x = g(x, *theta)
    return x


def polynomial(x, a):
    return x**3 + a[0] * x**2 + a[1] * x - 5.0


def system(x, a):
    return xp.stack([x[0] ** 2 + a[0] * x[1] - 3.0, xp.exp(x[0]) - a[1] * x[1] ** 2])


def ridge(w, penalty):
    return xp.sum((A @ w - LABELS) ** 2) + xp.exp(penalty[0]) * xp.sum(w**2)


def logistic(w, penalty):
    score = A @ w
    loss = xp.sum(xp.log1p(xp.exp(score)) - LABELS * score)
    return loss + xp.sum(xp.exp(penalty) * w[:2] ** 2) + 0.1 * w[2] ** 2


def equilibrium(z, x):
    return xp.tanh(W @ z + x)


def sinkhorn(u, scale):
    K = xp.exp(-COST / scale[0])
    v = 0.2 / (xp.exp(u) @ K)
    return xp.log(0.25 / (K @ v)) * (1.0 - scale[1])


def kepler(E, orbit):
    return E - orbit[0] * xp.sin(E) - orbit[1]


def square_root(X, a):
    return X @ X - SPD - a[0] * xp.eye(4) - a[1] * SPD @ SPD


def square_root_step(X, a):
    """Newton's iteration for a matrix square root. Source: Higham 2008, sec. 6.3, (6.12)."""
    target = SPD + a[0] * xp.eye(4) + a[1] * SPD @ SPD
    return (X + xp.linalg.solve(X, target)) / 2.0


def operator(x, a):
    return SPD @ x + a[0] * x


RIGHT = xp.asarray([1.0, -2.0, 0.5, 3.0])
TWO = xp.asarray([0.7, 1.3])

# name: parameters, the solution, and the same by recorded steps.
PROBLEMS = {
    "polynomial": (
        TWO,
        lambda a: implicit.root(polynomial, 1.0, a),
        lambda a: newton(polynomial, xp.asarray(1.0), a, steps=12),
    ),
    "system": (
        TWO,
        lambda a: implicit.root(system, xp.ones(2), a),
        lambda a: newton(system, xp.ones(2), a, steps=12),
    ),
    "ridge": (
        xp.asarray([0.3]),
        lambda p: implicit.minimum(ridge, xp.zeros(3), p),
        lambda p: newton(xp.grad(ridge), xp.zeros(3), p, steps=2),
    ),
    "logistic": (
        TWO,
        lambda p: implicit.minimum(logistic, xp.zeros(3), p),
        lambda p: newton(xp.grad(logistic), xp.zeros(3), p, steps=10),
    ),
    "equilibrium": (
        xp.asarray([0.1, -0.4, 0.3, 0.8]),
        lambda x: implicit.fixed_point(equilibrium, xp.zeros(4), x),
        lambda x: iterated(equilibrium, xp.zeros(4), x, steps=120),
    ),
    "sinkhorn": (
        xp.asarray([0.5, 0.3]),
        lambda s: implicit.fixed_point(sinkhorn, xp.zeros(4), s),
        lambda s: iterated(sinkhorn, xp.zeros(4), s, steps=120),
    ),
    "kepler": (
        xp.asarray([0.6, 2.1]),
        lambda o: implicit.root(kepler, 2.0, o),
        lambda o: newton(kepler, xp.asarray(2.0), o, steps=10),
    ),
    "matrix square root": (
        xp.asarray([0.3, 0.2]),
        lambda a: implicit.root(square_root, 2.0 * xp.eye(4), a),
        lambda a: iterated(square_root_step, 2.0 * xp.eye(4), a, steps=12),
    ),
    "conjugate gradients": (
        xp.asarray([0.4]),
        lambda a: implicit.linear_solve(operator, RIGHT, a, symmetric=True),
        lambda a: xp.linalg.solve(SPD + a[0] * xp.eye(4), RIGHT),
    ),
    "matrix-free minimum": (
        TWO,
        lambda p: implicit.minimum(logistic, xp.zeros(3), p, matrix_free=True),
        lambda p: newton(xp.grad(logistic), xp.zeros(3), p, steps=10),
    ),
    "matrix-free root": (
        TWO,
        lambda a: implicit.root(system, xp.ones(2), a, matrix_free=True),
        lambda a: newton(system, xp.ones(2), a, steps=12),
    ),
}


def close(found, wanted, rtol=1e-10):
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.shape == wanted.shape
    assert np.max(np.abs(found - wanted)) <= rtol * max(1.0, np.max(np.abs(wanted)))


@pytest.mark.parametrize("name", PROBLEMS)
def test_values_and_jacobians_are_those_of_the_unrolled_iteration(name):
    theta, solution, unrolled = PROBLEMS[name]
    close(solution(theta), unrolled(theta))
    wanted = xp.jacobian(unrolled)(theta)
    close(xp.jacobian(solution)(theta), wanted)
    for i in range(theta.size):
        tangent = xp.asarray(np.eye(theta.size)[i])
        close(xp.jvp(solution, (theta,), (tangent,))[1], wanted[..., i])


@pytest.mark.parametrize("name", ["polynomial", "logistic", "kepler", "conjugate gradients"])
def test_second_derivatives_are_those_of_the_unrolled_iteration(name):
    theta, solution, unrolled = PROBLEMS[name]
    wanted = xp.hessian(lambda a: xp.sum(xp.sin(unrolled(a))))(theta)
    close(xp.hessian(lambda a: xp.sum(xp.sin(solution(a))))(theta), wanted)
    tangent = xp.ones_like(theta)
    close(xp.hvp(lambda a: xp.sum(xp.sin(solution(a))), (theta,), (tangent,))[0], wanted @ tangent)


@pytest.mark.parametrize("name", ["system", "equilibrium", "matrix-free root"])
def test_second_derivatives_are_those_of_differences(name):
    theta, solution, _ = PROBLEMS[name]
    gradient = xp.grad(lambda a: xp.sum(xp.sin(solution(a))))
    wanted = np.stack(
        [np.asarray(gradient(theta + h) - gradient(theta - h)) / 2e-6 for h in np.eye(theta.size) * 1e-6]
    )  # fmt: skip
    close(xp.hessian(lambda a: xp.sum(xp.sin(solution(a))))(theta), wanted, 1e-8)


def test_third_derivatives_are_those_of_the_function_that_the_root_is():
    cube_root = lambda a: implicit.root(lambda x, a: x**3 - a, 1.0, a)  # noqa: E731
    a = xp.asarray(8.0)
    third = xp.grad(xp.grad(xp.grad(cube_root)))(a)
    close(third, 10.0 / 27.0 * 8.0 ** (-8.0 / 3.0), 1e-14)


@pytest.mark.parametrize("name", ["polynomial", "logistic", "equilibrium", "conjugate gradients"])
def test_vmap_solves_each_example(name):
    theta, solution, _ = PROBLEMS[name]
    many = xp.stack([theta, theta * 1.1, theta * 0.8])
    close(xp.vmap(solution)(many), np.stack([np.asarray(solution(one)) for one in many]), 1e-14)
    total = lambda a: xp.sum(xp.sin(solution(a)))  # noqa: E731
    each = np.stack([np.asarray(xp.grad(total)(one)) for one in many])
    close(xp.vmap(xp.grad(total))(many), each, 1e-12)
    close(xp.grad(lambda many: xp.sum(xp.vmap(total)(many)))(many), each, 1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_both_modes_agree_on_random_smooth_systems(seed):
    rng = np.random.default_rng(seed)
    n, m = rng.integers(1, 6, 2)
    M, T = (xp.asarray(rng.uniform(-0.4, 0.4, (n, k))) for k in (n, m))

    def F(x, theta):
        return 2.0 * x + xp.sin(M @ x) + xp.tanh(T @ theta) * (1.0 + 0.1 * x**2)

    def solution(theta):
        return implicit.root(F, xp.zeros(int(n)), theta, matrix_free=seed % 2 == 1)

    theta, t, g = (xp.asarray(rng.normal(size=k)) for k in (m, m, n))
    _, Jt = xp.jvp(solution, (theta,), (t,))
    _, back = xp.vjp(solution, theta)
    close(xp.sum(g * Jt), xp.sum(back(g)[0] * t), 1e-12)
