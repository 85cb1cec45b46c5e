"""Linear algebra written by hand, in place, by the standard's and by NumPy's names."""

import numpy as np
import pytest

import arraytape as xp
from helpers.collected import Collected

rng = np.random.default_rng(0)
PROGRAMS = Collected()
program = PROGRAMS.on


def definite(n):
    a = rng.normal(size=(n, n))
    return a @ a.T + n * np.eye(n)


@pytest.mark.parametrize("namespace", [xp, np], ids=["standard", "numpy"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_has_numpys_values_and_right_derivatives(name, namespace, runs_as_on_numpy):
    runs_as_on_numpy(*PROGRAMS[name], namespace=namespace)


@program(definite(4))
def cholesky_row_by_row(xp, A):
    n = A.shape[0]
    L = xp.zeros_like(A)
    for i in range(n):
        for j in range(i + 1):
            s = A[i, j] - xp.sum(L[i, :j] * L[j, :j])
            L[i, j] = xp.sqrt(s) if i == j else s / L[j, j]
    return L


@program(definite(4))
def cholesky_in_place(xp, A):
    A = A.copy()
    for k in range(4):
        A[k, k] **= 0.5
        A[k + 1 :, k] /= A[k, k]
        for j in range(k + 1, 4):
            A[j:, j] -= A[j:, k] * A[j, k]
    return xp.tril(A)


@program(definite(4) + rng.normal(size=(4, 4)))
def lu_in_place(xp, A):
    U = A.copy()
    for k in range(3):
        U[k + 1 :, k] /= U[k, k]
        U[k + 1 :, k + 1 :] -= U[k + 1 :, k : k + 1] * U[k : k + 1, k + 1 :]
    return U


@program(rng.normal(size=(4, 4)))
def elimination_with_row_swaps(xp, A):
    U = A.copy()
    sign = 1.0
    for k in range(4):
        pivot = int(xp.argmax(xp.abs(U[k:, k]))) + k
        if pivot != k:
            U[[k, pivot], :] = U[[pivot, k], :]
            sign = -sign
        U[k + 1 :, k:] -= (U[k + 1 :, k] / U[k, k])[:, None] * U[k, k:]
    return sign * xp.prod(xp.linalg.diagonal(U)), U


@program(rng.normal(size=(5, 3)))
def householder_qr(xp, A):
    R = A.copy()
    Q = xp.eye(5) + 0.0 * A[0, 0]
    for k in range(3):
        v = R[k:, k].copy()
        v[0] += xp.sign(v[0]) * xp.sqrt(xp.sum(v**2))
        v /= xp.sqrt(xp.sum(v**2))
        R[k:, :] -= 2 * v[:, None] * (v @ R[k:, :])[None, :]
        Q[:, k:] -= 2 * (Q[:, k:] @ v)[:, None] * v[None, :]
    return Q, R


@program(rng.normal(size=(5, 3)))
def gram_schmidt(xp, A):
    Q = xp.zeros_like(A)
    for j in range(3):
        v = A[:, j]
        for i in range(j):
            v = v - (Q[:, i] @ v) * Q[:, i]
        Q[:, j] = v / xp.linalg.vector_norm(v)
    return Q


@program(definite(5), rng.normal(size=5), rng.normal(size=5))
def gauss_seidel(xp, A, b, x):
    x = x.copy()
    for _ in range(3):
        for i in range(5):
            x[i] = (b[i] - A[i, :i] @ x[:i] - A[i, i + 1 :] @ x[i + 1 :]) / A[i, i]
    return x


@program(definite(5), rng.normal(size=5))
def conjugate_gradients(xp, A, b):
    x = xp.zeros_like(b)
    r = b - A @ x
    p = r.copy()
    size = xp.vecdot(r, r)
    for _ in range(3):
        Ap = A @ p
        step = size / xp.vecdot(p, Ap)
        x += step * p
        r -= step * Ap
        before, size = size, xp.vecdot(r, r)
        p *= size / before
        p += r
    return x


@program(rng.normal(size=3), definite(3))
def newton_with_solve(xp, x, A):
    for _ in range(3):
        residual = A @ x + x**3 - 1.0
        J = A + 3.0 * xp.eye(3) * x**2
        x = x - xp.linalg.solve(J, residual)
    return x


@program(np.asarray([4.0, 5, 6, 7]), *rng.normal(size=(2, 3)), rng.normal(size=4))
def thomas_algorithm(xp, d, lower, upper, b):
    d, b = d.copy(), b.copy()
    for i in range(1, 4):
        w = lower[i - 1] / d[i - 1]
        d[i] -= w * upper[i - 1]
        b[i] -= w * b[i - 1]
    x = xp.empty_like(b)
    x[-1] = b[-1] / d[-1]
    for i in range(2, -1, -1):
        x[i] = (b[i] - upper[i] * x[i + 1]) / d[i]
    return x


@program(definite(4), rng.normal(size=4))
def power_iteration(xp, A, v):
    for _ in range(4):
        v = A @ v
        v /= xp.linalg.vector_norm(v)
    return v @ A @ v


@program(definite(4))
def jacobi_rotations(xp, A):
    A = A.copy()
    for p in range(3):
        for q in range(p + 1, 4):
            angle = 0.5 * xp.atan2(2.0 * A[p, q], A[q, q] - A[p, p])
            c, s = xp.cos(angle), xp.sin(angle)
            rows = A[[p, q], :].copy()
            A[p, :], A[q, :] = c * rows[0, :] - s * rows[1, :], s * rows[0, :] + c * rows[1, :]
            columns = A[:, [p, q]].copy()
            A[:, p] = c * columns[:, 0] - s * columns[:, 1]
            A[:, q] = s * columns[:, 0] + c * columns[:, 1]
    return xp.linalg.diagonal(A)


@program(rng.normal(size=(3, 3)) + 3 * np.eye(3))
def newton_schulz_inverse(xp, A):
    X = A.T / xp.sum(A * A)
    for _ in range(6):
        X = X @ (2 * xp.eye(3) - A @ X)
    return X


@program(rng.normal(size=(3, 3)) * 0.3)
def exponential_by_series(xp, A):
    term = total = xp.eye(3)
    for k in range(1, 9):
        term = term @ A / k
        total = total + term
    return total


@program(rng.normal(size=3))
def rotation_from_vector(xp, w):
    angle = xp.sqrt(xp.sum(w**2))
    x, y, z = w / angle
    rows = [xp.stack(row) for row in ((0 * x, -z, y), (z, 0 * x, -x), (-y, x, 0 * x))]
    K = xp.stack(rows)
    return xp.eye(3) + xp.sin(angle) * K + (1 - xp.cos(angle)) * (K @ K)


@program(rng.normal(size=(5, 3)), rng.normal(size=5))
def ridge_with_a_diagonal_written_into(xp, X, y):
    A = X.T @ X
    diagonal = xp.arange(3)
    A[diagonal, diagonal] += 0.5
    return xp.linalg.solve(A, X.T @ y)


@program(rng.normal(size=3), rng.normal(size=4))
def least_squares_by_qr(xp, c, x):
    V = x[:, None] ** xp.arange(3)
    Q, R = xp.linalg.qr(V)
    return xp.linalg.solve(R, Q.T @ (V @ c) ** 2)


@program(rng.normal(size=(4, 4)))
def rows_that_are_views(xp, x):
    x = x.copy()
    rows = [x[i, :] for i in range(4)]
    for i in range(1, 4):
        rows[i] += rows[i - 1] * 0.5
    columns = x.T
    columns[0, :] *= 2.0
    return x, columns


@program(rng.normal(size=(3, 3)))
def a_block_written_by_outer_keys(xp, a):
    b = a.copy()
    b[xp.asarray([[0], [2]]), xp.asarray([0, 1])] *= 2
    return b
