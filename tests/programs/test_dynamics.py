"""Simulations, filters and dynamic programs, by the standard's and by NumPy's names."""

import numpy as np
import pytest

import arraytape as xp
from helpers.collected import Collected

rng = np.random.default_rng(1)
PROGRAMS = Collected()
program = PROGRAMS.on


def definite(n):
    a = rng.normal(size=(n, n))
    return a @ a.T + n * np.eye(n)


@pytest.mark.parametrize("namespace", [xp, np], ids=["standard", "numpy"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_has_numpys_values_and_right_derivatives(name, namespace, runs_as_on_numpy):
    runs_as_on_numpy(*PROGRAMS[name], namespace=namespace)


@program(rng.normal(size=3), np.asarray([0.3, 0.7]))
def runge_kutta(xp, y, p):
    def slope(y):
        return xp.stack([p[0] * y[1] - y[0], p[1] * y[0] * y[2], xp.sin(y[1])])

    h = 0.1
    for _ in range(5):
        k1 = slope(y)
        k2 = slope(y + h / 2 * k1)
        k3 = slope(y + h / 2 * k2)
        k4 = slope(y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y


@program(rng.normal(size=6), np.asarray(0.2))
def heat_equation(xp, u, a):
    u = u.copy()
    for _ in range(5):
        u[1:-1] += a * (u[2:] - 2 * u[1:-1] + u[:-2])
        u[0] = u[1]
        u[-1] = 0.0
    return u


@program(rng.normal(size=(4, 5)))
def heat_equation_through_a_view(xp, u):
    u = u.copy()
    inside = u[1:-1, 1:-1]
    for _ in range(3):
        inside *= 0.6
        inside += 0.1 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    return u


@program(*rng.normal(size=(2, 6)), np.asarray(0.4))
def wave_equation(xp, u, before, c):
    u, before, kept = u.copy(), before.copy(), xp.empty_like(u)
    for _ in range(4):
        kept[...] = u
        u[1:-1] = 2 * u[1:-1] - before[1:-1] + c**2 * (u[2:] - 2 * u[1:-1] + u[:-2])
        before[...] = kept
    return u


@program(*rng.normal(size=(2, 4, 3)), np.abs(rng.normal(size=4)) + 1)
def leapfrog_of_bodies(xp, x, v, mass):
    x, v = x.copy(), v.copy()

    def acceleration(x):
        d = x[None, :, :] - x[:, None, :]
        square = xp.sum(d**2, axis=-1) + 0.1
        return xp.sum(mass[None, :, None] * d * (square**-1.5)[..., None], axis=1)

    for _ in range(3):
        v += 0.05 * acceleration(x)
        x += 0.1 * v
        v += 0.05 * acceleration(x)
    return x, v


@program(rng.normal(size=(6, 2)))
def lennard_jones(xp, x):
    d = x[:, None, :] - x[None, :, :]
    r = xp.sqrt(xp.sum(d * d, axis=-1) + xp.eye(6))
    i, j = xp.nonzero(xp.triu(xp.ones((6, 6)), k=1))
    pairs = r[i, j] + 0.5
    return xp.sum(4 * (pairs**-12 - pairs**-6))


@program(
    rng.normal(size=(3, 2)), np.asarray([0.1, 0.2]), definite(4), 0.1 * definite(4), definite(2)
)
def kalman_filter(xp, measured, dt, P, Q, noise):
    F = xp.eye(4) + 0.0 * P
    F[0, 2], F[1, 3] = dt[0], dt[1]
    H = xp.asarray([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]])
    x = xp.zeros_like(P[0, :])
    likelihood = 0.0
    for z in measured:
        x = F @ x
        P = F @ P @ F.T + Q
        y, S = z - H @ x, H @ P @ H.T + noise
        K = P @ H.T @ xp.linalg.inv(S)
        x = x + K @ y
        P = (xp.eye(4) - K @ H) @ P
        likelihood = likelihood - (y @ xp.linalg.solve(S, y) + xp.linalg.slogdet(S)[1]) / 2
    return x, P, likelihood


def distribution(xp, scores):
    p = xp.exp(scores)
    return p / xp.sum(p, axis=-1, keepdims=True)


OBSERVED = (0, 2, 1, 3, 1)


@program(rng.normal(size=(3, 3)), rng.normal(size=(3, 4)), rng.normal(size=3))
def forward_algorithm(xp, A, B, first):
    A, B, first = (distribution(xp, scores) for scores in (A, B, first))
    alpha = xp.zeros_like(xp.stack([first] * 5))
    alpha[0, :] = first * B[:, OBSERVED[0]]
    likelihood = 0.0
    for t in range(1, 5):
        scale = xp.sum(alpha[t - 1, :])
        alpha[t - 1, :] /= scale
        likelihood = likelihood + xp.log(scale)
        alpha[t, :] = (alpha[t - 1, :] @ A) * B[:, OBSERVED[t]]
    return likelihood + xp.log(xp.sum(alpha[-1, :])), alpha


@program(rng.normal(size=(3, 3)), rng.normal(size=(3, 4)), rng.normal(size=3))
def viterbi(xp, A, B, first):
    best = first + B[:, 0]
    for o in OBSERVED[1:]:
        best = xp.max(best[:, None] + A, axis=0) + B[:, o]
    return xp.max(best)


@program(rng.normal(size=4), rng.normal(size=5))
def time_warping(xp, a, b):
    n, m = a.shape[0], b.shape[0]
    D = xp.full((n + 1, m + 1), np.inf) + 0.0 * a[0]
    D[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            before = xp.minimum(xp.minimum(D[i - 1, j], D[i, j - 1]), D[i - 1, j - 1])
            D[i, j] = (a[i - 1] - b[j - 1]) ** 2 + before
    return D[n, m]


@program(rng.normal(size=4), rng.normal(size=5))
def soft_time_warping(xp, a, b):
    cost = (a[:, None] - b[None, :]) ** 2
    row = xp.cumulative_sum(cost[0, :], axis=0)
    for i in range(1, 4):
        below = xp.empty_like(row)
        below[0] = row[0] + cost[i, 0]
        for j in range(1, 5):
            near = xp.logaddexp(xp.logaddexp(-row[j], -row[j - 1]), -below[j - 1])
            below[j] = cost[i, j] - near
        row = below
    return row


@program(rng.normal(size=6), np.asarray([0.1, 0.2, 0.7]))
def garch_variance(xp, returns, p):
    variance = xp.empty_like(returns)
    variance[0] = xp.var(returns)
    for t in range(1, 6):
        variance[t] = p[0] + p[1] * returns[t - 1] ** 2 + p[2] * variance[t - 1]
    return xp.sum(xp.log(variance) + returns**2 / variance)


@program(rng.uniform(0.5, 1.5, size=5), np.asarray(0.4))
def binomial_option(xp, shocks, volatility):
    up = xp.exp(volatility / 2)
    prices = 100.0 * up ** (2.0 * xp.arange(5) - 4.0) * shocks
    value = xp.maximum(prices - 100.0, 0.0 * prices)
    for _ in range(4):
        value = 0.5 * (value[1:] + value[:-1]) * xp.exp(-volatility / 10)
    return value[0]


@program(rng.normal(size=(3, 4)), rng.normal(size=4))
def value_iteration(xp, reward, value):
    discount = 0.9
    for _ in range(5):
        value = xp.max(reward + discount * xp.roll(value, 1)[None, :], axis=0)
    return value


@program(rng.uniform(0.2, 1.0, size=6))
def upwind_with_a_limiter(xp, u):
    u = u.copy()
    for _ in range(3):
        left, right = u[1:-1] - u[:-2], u[2:] - u[1:-1]
        slope = xp.where(left * right > 0, xp.minimum(xp.abs(left), xp.abs(right)), 0.0 * left)
        flux = u[1:-1] + 0.3 * xp.sign(left) * slope
        u[2:-1] -= 0.4 * (flux[1:] - flux[:-1])
    return u
