"""Statistics and machine learning as people write them, by the standard's and by NumPy's names."""

import numpy as np
import pytest

import arraytape as xp
from helpers.collected import Collected

rng = np.random.default_rng(2)
PROGRAMS = Collected()
program = PROGRAMS.on


@pytest.mark.parametrize("namespace", [xp, np], ids=["standard", "numpy"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_has_numpys_values_and_right_derivatives(name, namespace, runs_as_on_numpy):
    runs_as_on_numpy(*PROGRAMS[name], namespace=namespace)


@program(rng.normal(size=(6, 3)), rng.normal(size=(2, 3)))
def a_step_of_k_means(xp, X, centres):
    square = xp.sum((X[:, None, :] - centres[None, :, :]) ** 2, axis=-1)
    label = xp.argmin(square, axis=1)
    centres = centres.copy()
    for k in range(2):
        if xp.any(label == k):
            centres[k, :] = xp.mean(X[label == k, :], axis=0)
    return centres, xp.sum(xp.min(square, axis=1))


@program(rng.normal(size=(6, 3)), rng.normal(size=(3, 4)), rng.normal(size=4))
def softmax_regression(xp, X, W, b):
    scores = X @ W + b
    scores -= xp.max(scores, axis=1, keepdims=True)
    logs = scores - xp.log(xp.sum(xp.exp(scores), axis=1, keepdims=True))
    return -xp.mean(logs[xp.arange(6), xp.asarray([0, 1, 2, 3, 0, 1])])


@program(rng.normal(size=(4, 6)), *rng.normal(size=(3, 6, 6)))
def attention(xp, X, Wq, Wk, Wv):
    q, k, v = (xp.permute_dims(xp.reshape(X @ W, (4, 2, 3)), (1, 0, 2)) for W in (Wq, Wk, Wv))
    scores = q @ xp.matrix_transpose(k) / 3**0.5
    scores[:, xp.tril(xp.ones((4, 4))) == 0] = -np.inf
    scores -= xp.max(scores, axis=-1, keepdims=True)
    weight = xp.exp(scores)
    weight /= xp.sum(weight, axis=-1, keepdims=True)
    return xp.reshape(xp.permute_dims(weight @ v, (1, 0, 2)), (4, 6))


@program(rng.normal(size=(5, 3)), *rng.normal(size=(2, 3)))
def batch_norm(xp, x, gain, bias):
    y = (x - xp.mean(x, axis=0)) / xp.sqrt(xp.var(x, axis=0) + 1e-5)
    y *= gain
    y += bias
    return y


@program(rng.normal(size=(4, 3)))
def rows_normalized_one_by_one(xp, x):
    return xp.stack([(row - xp.mean(row)) / xp.std(row) for row in x])


@program(
    rng.normal(size=(2, 3)), *rng.normal(size=(2, 2, 4)), rng.normal(size=(3, 16)),
    rng.normal(size=(4, 16)), rng.normal(size=16),
)  # fmt: skip
def lstm_cell(xp, x, h, c, W, U, b):
    z = x @ W + h @ U + b

    def sigmoid(a):
        return 1 / (1 + xp.exp(-a))

    i, f, g, o = z[:, :4], z[:, 4:8], z[:, 8:12], z[:, 12:]
    c = sigmoid(f) * c + sigmoid(i) * xp.tanh(g)
    return sigmoid(o) * xp.tanh(c), c


@program(rng.normal(size=4), rng.normal(size=(3, 4)), rng.normal(size=(3, 4)) + 2)
def two_loops_of_lbfgs(xp, g, S, Y):
    q = g.copy()
    steps = []
    for s, y in zip(S[::-1, :], Y[::-1, :], strict=True):
        steps.append((s @ q) / (y @ s))
        q -= steps[-1] * y
    q *= (S[-1, :] @ Y[-1, :]) / (Y[-1, :] @ Y[-1, :])
    for s, y, a in zip(S, Y, reversed(steps), strict=True):
        q += s * (a - (y @ q) / (y @ s))
    return q


@program(rng.normal(size=5), rng.normal(size=5))
def steps_of_adam(xp, w, target):
    m, v = xp.zeros_like(w), xp.zeros_like(w)
    for k in range(1, 4):
        g = 2 * (w - target)
        m *= 0.9
        m += 0.1 * g
        v = 0.99 * v + 0.01 * g**2
        w = w - 0.1 * (m / (1 - 0.9**k)) / (xp.sqrt(v / (1 - 0.99**k)) + 1e-3)
    return w


@program(np.abs(rng.normal(size=(4, 5))), *(np.abs(rng.normal(size=n)) + 0.5 for n in (4, 5)))
def sinkhorn(xp, cost, a, b):
    a, b = a / xp.sum(a), b / xp.sum(b)
    K, v = xp.exp(-2 * cost), xp.ones_like(b)
    for _ in range(6):
        u = a / (K @ v)
        v = b / (K.T @ u)
    return xp.sum(u[:, None] * K * v[None, :] * cost)


@program(rng.normal(size=8), *np.asarray([[0.2, -1.0], [0.1, 0.4], [0.3, -0.2]]))
def mixture_by_expectation_maximization(xp, x, mean, scale, weight):
    scale, weight = xp.exp(scale), xp.exp(weight) / xp.sum(xp.exp(weight))
    for _ in range(2):
        r = weight * xp.exp(-0.5 * ((x[:, None] - mean) / scale) ** 2) / scale
        r /= xp.sum(r, axis=1, keepdims=True)
        n = xp.sum(r, axis=0)
        mean = r.T @ x / n
        scale = xp.sqrt(xp.sum(r * (x[:, None] - mean) ** 2, axis=0) / n)
        weight = n / 8
    return mean, scale, weight


@program(rng.normal(size=(7, 4)))
def principal_components(xp, X):
    centred = X - xp.mean(X, axis=0)
    _, S, Vh = xp.linalg.svd(centred, full_matrices=False)
    return xp.abs(centred @ Vh[:2, :].T), S**2 / 6


@program(rng.normal(size=(5, 3)), rng.normal(size=3))
def reweighted_least_squares(xp, X, w):
    y = xp.asarray([0.0, 1.0, 1.0, 0.0, 1.0])
    for _ in range(2):
        p = 1 / (1 + xp.exp(-X @ w))
        H = X.T @ (X * (p * (1 - p))[:, None]) + 0.3 * xp.eye(3)
        w = w + xp.linalg.solve(H, X.T @ (y - p) - 0.3 * w)
    return w


@program(rng.normal(size=(5, 2)), rng.normal(size=5), np.asarray([0.1, -0.3, 0.2]))
def gaussian_process_likelihood(xp, X, y, logs):
    length, height, noise = xp.exp(logs)
    square = xp.sum((X[:, None, :] - X[None, :, :]) ** 2, axis=-1)
    K = height * xp.exp(-square / (2 * length**2))
    K[xp.arange(5), xp.arange(5)] += noise
    L = xp.linalg.cholesky(K)
    a = xp.linalg.solve(L, y)
    return a @ a / 2 + xp.sum(xp.log(xp.linalg.diagonal(L)))


@program(rng.normal(size=(6, 2)), rng.normal(size=(6, 2)))
def procrustes(xp, A, B):
    U, _, Vh = xp.linalg.svd(A.T @ B)
    return A @ (U @ Vh) - B


@program(rng.normal(size=(6, 3)))
def shrunken_covariance(xp, X):
    centred = X - xp.mean(X, axis=0)
    S = centred.T @ centred / 6
    share = xp.clip(xp.sum(S**2) / 10, 0.1, 0.9)
    S *= 1 - share
    S[xp.arange(3), xp.arange(3)] += share * xp.linalg.trace(S) / 3
    return S, xp.linalg.eigvalsh(S)


@program(rng.normal(size=(5, 5)))
def page_rank(xp, scores):
    links = xp.exp(scores)
    links /= xp.sum(links, axis=0)
    rank = xp.ones_like(links[:, 0]) / 5
    for _ in range(4):
        rank = 0.85 * links @ rank + 0.15 / 5
    return rank


@program(rng.normal(size=(4, 3)), rng.normal(size=(2, 3)))
def contrastive_loss(xp, a, b):
    a = a / xp.linalg.vector_norm(a, axis=1, keepdims=True)
    b = b / xp.linalg.vector_norm(b, axis=1, keepdims=True)
    scores = xp.matmul(a, xp.matrix_transpose(b)) / 0.5
    return xp.mean(xp.log(xp.sum(xp.exp(scores), axis=1)) - scores[:, 0])


@program(rng.normal(size=6), rng.normal(size=6))
def concordance(xp, score, time):
    order = xp.argsort(time)
    score = xp.take(score, order)
    risk = xp.flip(xp.cumulative_sum(xp.flip(xp.exp(score)), axis=0))
    return xp.sum(xp.log(risk) - score)
