"""vmap of programs, with gradients inside and outside, against a Python loop."""

import numpy as np
import pytest

import arraytape as xp
from arraytape import grad, testing, vmap
from helpers.batches import A, B, N, W, by_loop, close, loop

E = xp.asarray(np.arange(20.0).reshape(5, 4))


def mutated(a, b, i):
    z = xp.zeros((3,))
    z[1:] = b[:2] ** 2
    z += b
    z[0] *= 2.0
    view = z[::-1]
    view[0] = 5.0 * a[0, 1]
    return z


def written_where(a, b, i):
    z = b * 1.0
    z[b > 0] = 0.0
    return z


def written_at(a, b, i):
    z = xp.zeros((3, 3))
    z[i, 1] = b[:2]
    z[0, i] += a[0, :2]
    return z


def written_twice(a, b, i):
    z = a * 1.0
    z[[0, 0], :] = a[1:, :]
    return z


PROGRAMS = {
    "matmul with a shared matrix": lambda a, b, i: xp.tanh(a @ W),
    "a vector and a shared matrix": lambda a, b, i: b @ W,
    "a shared matrix on the left": lambda a, b, i: W.T @ a,
    "a shared vector on the left": lambda a, b, i: W[:, 0] @ a,
    "two vectors": lambda a, b, i: b @ b,
    "a vector and a matrix": lambda a, b, i: b @ a + a @ b,
    "hidden rank against a larger visible rank": lambda a, b, i: b * xp.ones((2, 2, 3)) + a[0, 0],
    "solve with a vector": lambda a, b, i: xp.linalg.solve(a, b),
    "solve with a shared vector": lambda a, b, i: xp.linalg.solve(a, W[:, 0]),
    "solve with a shared matrix": lambda a, b, i: xp.linalg.solve(xp.eye(3) * 2.0, b),
    "argmax": lambda a, b, i: a[xp.argmax(b), :],
    "argmin of all": lambda a, b, i: b[xp.argmin(b)] + xp.astype(xp.argmin(a), xp.float64),
    "argsort": lambda a, b, i: xp.take(b, xp.argsort(b, descending=True)),
    "sort": lambda a, b, i: xp.sort(a, axis=0) * xp.sort(b),
    "median": lambda a, b, i: xp.median(b) + xp.median(a, axis=0),
    "rows by index": lambda a, b, i: a[i, :],
    "columns by index": lambda a, b, i: a[:, i],
    "indices that a slice parts": lambda a, b, i: (a[None, :, :] * b[:2][:, None, None])[
        [0, 1], :, xp.abs(i) % 3
    ],
    "pairs of indices": lambda a, b, i: a[i, xp.abs(i) % 3],
    "an index and a constant one": lambda a, b, i: a[i, [0, 1]] + a[i, 2] + a[2, i],
    "rows of a shared table": lambda a, b, i: E[xp.abs(i), :3] * b,
    "columns of a shared table": lambda a, b, i: E[:, xp.abs(i)] * b[0],
    "take from a shared table": lambda a, b, i: xp.take(E, xp.abs(i), axis=1) * b[1],
    "take along an axis": lambda a, b, i: xp.take_along_axis(a, xp.abs(i)[None, :] % 3, axis=1),
    "search": lambda a, b, i: xp.astype(xp.searchsorted(xp.sort(b), b), xp.float64) * b,
    "counts": lambda a, b, i: xp.count_nonzero(b > 0) * b + xp.count_nonzero(a > 0, axis=0),
    "truth": lambda a, b, i: xp.where(xp.any(a > 1, axis=1) | xp.all(b > 0), a, -a),
    "membership": lambda a, b, i: xp.where(xp.isin(b, b[:1]), 1.0, b),
    "rounding": lambda a, b, i: b - xp.floor(b) + xp.round(a) * 0.5,
    "rank": lambda a, b, i: xp.astype(xp.linalg.matrix_rank(a), xp.float64) * b,
    "shapes": lambda a, b, i: xp.reshape(xp.permute_dims(a, (1, 0)), (-1,))[::2],
    "views of views": lambda a, b, i: xp.flip(a.T[1:, :], axis=1)[None, ...],
    "moves of axes": lambda a, b, i: xp.moveaxis(xp.expand_dims(a, axis=0), 0, 2),
    "squeeze and roll": lambda a, b, i: xp.roll(xp.squeeze(a[None, :, :], axis=0), 1, axis=1),
    "tile and repeat": lambda a, b, i: xp.tile(b, (2,)) + xp.repeat(b, 2),
    "joined": lambda a, b, i: xp.concat([xp.stack([b, W[:, 0]]), a], axis=0),
    "split": lambda a, b, i: sum(xp.unstack(a, axis=1)[1:], xp.unstack(a, axis=1)[0]),
    "triangles": lambda a, b, i: xp.tril(a) - xp.triu(a, k=1),
    "diagonals": lambda a, b, i: xp.linalg.diagonal(a) * xp.linalg.trace(a),
    "norms": lambda a, b, i: b / xp.linalg.vector_norm(b) + xp.linalg.matrix_norm(a, ord="nuc"),
    "products": lambda a, b, i: xp.linalg.cross(b, a[0, :]) + xp.linalg.outer(b, b)[1, :],
    "tensordot": lambda a, b, i: xp.tensordot(a, W, axes=1) + xp.tensordot(a, a, axes=2),
    "vecdot": lambda a, b, i: xp.vecdot(a, b) + xp.vecdot(a, b[:, None], axis=0),
    "differences": lambda a, b, i: xp.diff(a, axis=0) + xp.diff(b)[0],
    "statistics": lambda a, b, i: xp.std(a, axis=1) + xp.var(b) + xp.mean(a) + xp.max(a, axis=0),
    "running": lambda a, b, i: xp.cumulative_sum(a, axis=0) * xp.cumulative_prod(b),
    "powers": lambda a, b, i: xp.linalg.matrix_power(a, 3) + xp.abs(b) ** xp.abs(a),
    "linspace": lambda a, b, i: xp.linspace(b[0], b[1], 4),
    "full and like": lambda a, b, i: (
        xp.full((2,), b[0]) + xp.zeros_like(b)[:2] + xp.ones_like(b)[1]
    ),
    "meshgrid": lambda a, b, i: xp.meshgrid(b, W[0, :])[0],
    "a nesting": lambda a, b, i: xp.asarray([b[0], 1.0, b[1]]),
    "spectra": lambda a, b, i: xp.abs(xp.fft.fftn(a)) + xp.fft.irfft(xp.fft.rfft(b), n=3),
    "clips": lambda a, b, i: xp.clip(a, -0.5, b) + xp.clip(b, None, 0.5),
    "scalars": lambda a, b, i: 2.0 * xp.sum(b) + 1.0,
    "in place": mutated,
    "a write where a mask holds": written_where,
    "writes at indices": written_at,
    "a write that names a row twice": written_twice,
    "a scatter": lambda a, b, i: xp.scatter_add(b[:2], (3,), xp.abs(i) % 3),
    "loops": lambda a, b, i: sum((row * 2.0 for row in a), 0.0),
    "what is shared": lambda a, b, i: W * 2.0,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_equal_a_loop(name):
    f, (a, b, i) = PROGRAMS[name], (xp.asarray(A), xp.asarray(B), xp.asarray(N))
    close(vmap(f)(a, b, i), by_loop(f, a, b, i))

    def loss(a, b, i):
        return testing.total(f(a, b, i))

    for found, expected in zip(
        vmap(grad(loss, (0, 1)))(a, b, i),
        loop(grad(loss, (0, 1)), (a, b, i), (0, 0, 0)),
        strict=True,
    ):
        close(found, expected, 1e-10)

    def total(run):
        return grad(lambda a, b: testing.total(run(f, a, b)), (0, 1))(a, b)

    mapped = total(lambda f, a, b: vmap(f)(a, b, i))
    looped = total(lambda f, a, b: by_loop(f, a, b, i))
    for found, expected in zip(mapped, looped, strict=True):
        close(found, expected, 1e-10)


@pytest.mark.parametrize("name", PROGRAMS)
def test_jacobians_of_programs_equal_a_loop(name):
    f, (a, b, i) = PROGRAMS[name], (xp.asarray(A), xp.asarray(B), xp.asarray(N))
    inside = vmap(xp.jacobian(f, 1))(a, b, i)
    close(inside, by_loop(xp.jacobian(f, 1), a, b, i), 1e-10)
    outside = xp.jacobian(lambda b: vmap(f)(a, b, i))(b)
    for n in range(4):
        close(outside[n, ..., n, :], inside[n, ...], 1e-10)


@pytest.mark.parametrize("name", PROGRAMS)
def test_vmap_of_vmap_equals_two_loops(name):
    f, (a, b, i) = PROGRAMS[name], (xp.asarray(A), xp.asarray(B), xp.asarray(N))

    def pairs(a, i):
        return vmap(lambda b: f(a, b, i))(b)

    close(vmap(pairs)(a, i), by_loop(lambda a, i: by_loop(lambda b: f(a, b, i), b), a, i))
