"""Programs in NumPy's own names and habits, run on Arrays: values and derivatives."""

import numpy as np
import pytest

from helpers.collected import Collected

rng = np.random.default_rng(8)
PROGRAMS = Collected()
program = PROGRAMS.on


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_has_numpys_values_and_right_derivatives(name, runs_as_on_numpy):
    runs_as_on_numpy(*PROGRAMS[name])


@program(rng.normal(size=(2, 4, 6)), *rng.normal(size=(3, 2, 6, 3)))
def attention_by_einsum(np, x, Wq, Wk, Wv):
    q, k, v = (np.einsum("btd,hde->bhte", x, W) for W in (Wq, Wk, Wv))
    scores = np.einsum("bhte,bhse->bhts", q, k) / np.sqrt(3)
    scores -= scores.max(axis=-1, keepdims=True)
    weight = np.exp(scores)
    weight /= weight.sum(axis=-1, keepdims=True)
    return np.einsum("bhts,bhse->bthe", weight, v).reshape(2, 4, -1)


@program(rng.normal(size=(6, 3)), rng.normal(size=(6, 3)))
def sums_by_group(np, x, w):
    group = np.asarray([0, 2, 0, 1, 2, 2])
    totals = np.zeros((3, 3), like=x)
    weights = np.zeros((3, 3), like=x)
    np.add.at(totals, group, x * np.abs(w))
    np.add.at(weights, group, np.abs(w))
    return np.divide(totals, weights, out=np.zeros_like(totals), where=weights > 0.1)


@program(rng.normal(size=(5, 5)) + 5 * np.eye(5), rng.normal(size=5))
def jacobi_iteration(np, A, b):
    d = np.diag(A)
    R = A - np.diagflat(d)
    x = np.zeros_like(b)
    for _ in range(4):
        x = (b - np.dot(R, x)) / d
    return x, np.linalg.norm(np.dot(A, x) - b)


@program(rng.normal(size=(4, 4)))
def laplacian_on_a_torus(np, u):
    u = u.copy()
    for _ in range(2):
        padded = np.pad(u, 1, mode="wrap")
        near = padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:]
        u += 0.1 * (near - 4 * u)
    return u


@program(rng.normal(size=(6, 6)), rng.normal(size=(3, 3)))
def convolution_by_windows(np, image, kernel):
    windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3))
    return np.einsum("ijkl,kl->ij", windows, kernel)


@program(rng.normal(size=(3, 2)), rng.normal(size=(3, 2)))
def rigid_alignment(np, A, B):
    A, B = A - A.mean(axis=0), B - B.mean(0)
    U, _, Vh = np.linalg.svd(A.T.dot(B))
    turned = A.dot(U.dot(Vh))
    return np.sqrt(np.mean(np.sum((turned - B) ** 2, axis=1)))


@program(rng.normal(size=4), rng.normal(size=4))
def quaternion_product(np, p, q):
    a, u = p[0], p[1:]
    b, v = q[0], q[1:]
    return np.hstack([a * b - np.dot(u, v), a * v + b * u + np.cross(u, v)])


@program(rng.permutation(15) ** 1.3)
def robust_scale(np, x):
    centre = np.median(x)
    spread = np.median(np.abs(x - centre))
    low, high = np.percentile(x, [25, 75])
    return (x - centre) / spread, high - low, np.std(np.clip(x, low, high), ddof=1)


@program(rng.normal(size=(4, 3)))
def missing_values_filled(np, x):
    x = np.where(np.arange(12).reshape(4, 3) % 5 == 1, np.nan, x)
    means = np.nanmean(x, axis=0)
    rows, columns = np.where(np.isnan(x))
    x[rows, columns] = np.take(means, columns)
    return x, np.nanvar(x, axis=0, ddof=1)


@program(rng.normal(size=8))
def finite_difference_energy(np, u):
    slope = np.gradient(u, 0.1, edge_order=2)
    return np.trapezoid(slope**2, dx=0.1) + np.ptp(slope)


@program(np.linspace(0.1, 2.0, 7) ** 1.5, rng.normal(size=7))
def fitted_parabola(np, x, y):
    c = np.polyfit(x, y, 2)
    return np.polyval(c, x) - y


@program(rng.normal(size=(3, 3)) + 4 * np.eye(3), rng.normal(size=(3, 2)))
def augmented_elimination(np, A, B):
    M = np.hstack([A, B])
    for i in range(3):
        M[i] /= M[i, i]
        for j in range(3):
            if j != i:
                M[j] -= M[i] * M[j, i]
    return M[:, 3:]


@program(rng.normal(size=5))
def companion_and_toeplitz(np, c):
    n = c.size
    T = c[np.abs(np.arange(n)[:, None] - np.arange(n))]
    K = np.kron(np.eye(2), T)
    K[np.ix_([0, 1], [5, 6])] = np.outer(c[:2], c[3:])
    K[np.triu_indices(10, 5)] *= 2.0
    return K, np.trace(K), np.tril(K).sum()


@program(rng.normal(size=(3, 4)))
def blocks_with_views(np, x):
    M = np.block([[x, np.zeros((3, 1))], [np.ones((1, 4)), 2.0]])
    top, bottom = np.vsplit(M, [2])
    top += bottom[::-1]
    np.fill_diagonal(M, M.sum(axis=0)[:4])
    M.T[1] -= M[0, :4]
    return np.rot90(M), np.flipud(M)[0]


@program(rng.normal(size=6), rng.normal(size=6))
def beam_of_particles(np, x, v):
    x, v = x.copy(), v.copy()
    for _ in range(3):
        np.add(x, 0.1 * v, out=x)
        bounced = np.abs(x) > 1.5
        np.putmask(v, bounced, -v)
        np.copyto(x, np.sign(x) * (3.0 - np.abs(x)), where=bounced)
    return x, v


@program(rng.normal(size=(4, 2)))
def simplex_volume(np, corners):
    edges = np.delete(corners, 0, axis=0)[:2] - corners[0]
    return np.abs(np.linalg.det(edges)) / 2.0, np.linalg.norm(edges, axis=1), np.linalg.cond(edges)


@program(rng.normal(size=5) + 2.0)
def decibels_and_angles(np, x):
    level = 10.0 * np.log10(np.square(x) + 1e-3)
    angle = np.unwrap(np.deg2rad(80.0 * np.cumsum(x)))
    return np.maximum.accumulate(level), np.rad2deg(angle), np.exp2(-np.abs(x)), np.cbrt(x)


@program(rng.normal(size=(2, 3)))
def a_table_row_by_row(np, x):
    rows = [np.append(row, row.sum()) for row in x]
    table = np.vstack(rows)
    return np.insert(table, 1, table.mean(axis=0), axis=0), np.apply_along_axis(np.prod, 1, table)


@program(rng.normal(size=(3, 4)) + 1j * rng.normal(size=(3, 4)))
def beamforming(np, s):
    R = np.einsum("it,jt->ij", s, s.conj()) / 4
    R[np.diag_indices(3)] += 0.1
    steer = np.exp(-1j * np.pi * np.outer([0.0, 1.0, 2.0], np.sin([0.1, 0.5])))
    w = np.linalg.solve(R, steer)
    return 1.0 / np.real(np.vdot(steer, w)), np.abs(np.fft.fft2(s)) ** 2


@program(rng.normal(size=(6, 2)), np.asarray([0.7, 1.3]))
def kernel_density(np, x, at):
    d = (at - x[:, np.newaxis]) / 0.5
    weights = np.exp(-0.5 * np.sum(d**2, -1))
    return np.average(x, axis=0, weights=weights[:, 0]), np.log(weights.mean()), np.cov(x.T)
