"""Loops that write row by row."""

import array_api_compat.numpy as numpy
import numpy as np

from helpers.writing import check, sample


def test_a_scan_of_200_rows_has_the_right_gradient():
    def program(xp, W, b, h0):
        h = xp.zeros_like(xp.broadcast_to(b, (201, 3)))
        h[0] = h0
        for t in range(1, 201):
            h[t] = xp.sin(W @ h[t - 1, :] + b)
        return h

    check(program, sample(3, 3) / 2, sample(3, seed=1), sample(3, seed=2), second=False)


def test_a_scan_in_place_of_200_rows_has_the_right_gradient():
    def program(xp, x, w):
        for t in range(1, 200):
            x[t] += xp.sin(x[t - 1]) * w
            x[t, 0] *= 0.5
        return x

    check(program, sample(200, 2) / 4, sample(2, seed=1), second=False)


def test_a_row_overwritten_200_times_has_the_right_gradient():
    def program(xp, x, w):
        row = x[1]
        for _ in range(200):
            row[...] = xp.sin(row * w + x[0])
        return x, row

    check(program, sample(2, 3), sample(3, seed=1) / 2, second=False)


def test_a_scan_has_the_right_second_derivative():
    def program(xp, x, w):
        h = x * 1.0
        for t in range(1, 6):
            h[t] = xp.sin(h[t - 1] * w + h[t])
        return h[-1]

    check(program, sample(6, 2), sample(2, seed=1))


def test_gaussian_elimination_in_place_has_the_right_gradient():
    def program(xp, a, b):
        a, b = xp.asarray(a, copy=True), xp.asarray(b, copy=True)
        for i in range(4):
            for j in range(i + 1, 4):
                factor = a[j, i] / a[i, i]
                a[j] -= factor * a[i]
                b[j] -= factor * b[i]
        for i in range(3, -1, -1):
            b[i] -= xp.sum(a[i, i + 1 :] * b[i + 1 :])
            b[i] /= a[i, i]
        return b

    a, b = sample(4, 4) + 3 * np.eye(4), sample(4, seed=1)
    check(program, a, b)
    np.testing.assert_allclose(program(numpy, a, b), np.linalg.solve(a, b))
