"""Programs with every kind of op, for the CPU and for a GPU or its stand-in."""

import numpy as np

import arraytape as xp
from arraytape import GradientTape
from arraytape._storage.storage import storage_of


def near(x, expected, tolerance=1e-12):
    np.testing.assert_allclose(np.asarray(x), expected, rtol=tolerance, atol=tolerance)


def on_gpu(values, device="cuda:1", dtype=np.float64):
    return xp.asarray(values, device=device, dtype=dtype)


PROGRAMS = {
    "elementwise": lambda x: xp.exp(-x) * xp.sin(x) / (1.0 + x * x) - x**2.5 + 2.0**x,
    "hypot": lambda x: xp.hypot(x, 2.0 * x) + xp.atan2(x, x + 1.0) + xp.logaddexp(x, -x),
    "maximum": lambda x: xp.maximum(x, 1.0) + xp.minimum(x * x, x) + xp.abs(x - 1.0),
    "clip": lambda x: xp.clip(x, 0.6, None) + xp.clip(x, 0.5 * x, 1.5) + xp.clip(x),
    "remainder": lambda x: x % 0.4 + xp.remainder(x, -x * 0.3) + x // 0.3 + 7.0 % x,
    "where": lambda x: xp.where(x > 1.0, x, 0.5 * x) + xp.sign(x - 1.0),
    "reductions": lambda x: xp.mean(x) + xp.std(x) + xp.prod(x) + xp.max(x) + xp.var(x, axis=0),
    "cumulative": lambda x: xp.cumulative_prod(x, axis=1) + xp.cumulative_sum(x, axis=1),
    "index": lambda x: x[xp.asarray([2, 0, 2], device=x.device)] * x[np.asarray([0, 0, 1])],
    "mask": lambda x: xp.sum(x[x > 1.0] ** 2) + xp.sum(x[1:, ::-1] * x[0, 1]),
    "take": lambda x: xp.take(x, xp.asarray([1, 1], device=x.device), axis=0) + xp.median(x),
    "sort": lambda x: xp.sort(x, axis=0) * xp.flip(x) + xp.unique_values(x)[0],
    "search": lambda x: x * xp.astype(xp.searchsorted(xp.sort(x[0, :]), 1.0), xp.float64),
    "shapes": lambda x: xp.concat([x, x.T], axis=1) * xp.tile(x, (1, 2)) + xp.repeat(x, 2, axis=1),
    "matmul": lambda x: x @ x.T + xp.linalg.inv(x @ x + 3.0 * xp.eye(3, device=x.device)),
    "solve": lambda x: xp.linalg.solve(x[None] + 5.0 * xp.eye(3, device=x.device), x[:, 0]),
    "stacks": lambda x: xp.linalg.solve(xp.stack([x, x.T]) + 5.0 * xp.eye(3, device=x.device), x),
    "factors": lambda x: xp.linalg.svdvals(x) + xp.linalg.eigvalsh(x @ x.T) + xp.linalg.det(x),
    "eig": lambda x: xp.real(xp.linalg.eigvals(x + xp.asarray(np.diag([1.0, 9, 20]), device=x.device))),
    "cholesky": lambda x: xp.linalg.cholesky(x @ x.T + xp.eye(3, device=x.device)),
    "norms": lambda x: xp.linalg.vector_norm(x, axis=1) + xp.linalg.matrix_norm(x, ord=1),
    "fft": lambda x: xp.abs(xp.fft.fft(x)) ** 2 + xp.fft.irfft(xp.fft.rfft(x), n=3),
    "complex": lambda x: xp.abs(xp.take(x * 1j + x, xp.asarray([0, 0], device=x.device), axis=1)),
    "ties": lambda x: xp.max(xp.round(x), axis=0) * xp.min(xp.round(x) * x**3) + xp.max(x * 0, axis=1),
    "broadcast": lambda x: (x - xp.mean(x, axis=1, keepdims=True)) * x[0, :] / (x[:, :1] - 5.0 * x[1]),
    "logsumexp": lambda x: xp.special.logsumexp(x, axis=0) * xp.special.logsumexp(x),
    "softmax": lambda x: xp.nn.softmax(x, axis=0) * xp.nn.log_softmax(x * x),
    "along": lambda x: xp.take_along_axis(x, xp.asarray([[2, 0, -1, 0]], device=x.device), axis=1),
    "windows": lambda x: convolved(x),
    "writes": lambda x: written(x),
}  # fmt: skip


def convolved(x):
    """Return the sum of two correlations, with a stride, a dilation, and zeros beyond the data."""
    kernel = xp.reshape(x[:2, :], (3, 2, 1, 1)) * xp.ones((3, 2, 1, 2), device=x.device)
    plane = xp.window_correlation(
        xp.reshape(x, (1, 3, 3, 1)), kernel, part="result", lengths=(2, 3),
        geometry=((2, 1), (1, 2), (2, 1)),
    )  # fmt: skip
    line = xp.window_correlation(
        x[..., None], x[:2, :1, None], part="result", lengths=(4,), geometry=((1,), (1,), (1,))
    )
    return xp.sum(plane, axis=(0, 3)) + xp.sum(line)


def written(x):
    y = x * 1.0
    y[0, :] *= x[1, :]
    y[:, 1] = 2.0
    y[y > 3.0] = 1.0
    y %= 3.0
    y @= x
    z = xp.zeros((3, 3), device=x.device)
    z += y
    z @= xp.ones((3, 3), device=x.device)
    return z


def both(f, x, device):
    """Return the value of f, its gradient, and the gradient of the squared gradient on a device."""
    x = xp.asarray(x, device=device)
    with GradientTape() as outer:
        outer.watch(x)
        with GradientTape() as inner:
            inner.watch(x)
            y = xp.sum(f(x))
        g = inner.gradient(y, x)
        square = xp.sum(g * g)
    h = outer.gradient(square, x)
    assert {a.device for a in (x, y, g)} == {device}
    assert h is None or h.device == device
    return [y, g] + ([] if h is None else [h])


def added_twice(device, dtype):
    """Return [1, 2, 3] after the storage's ``add_at`` added 5 and 7 to the last element."""
    x, value, key = [
        xp.asarray(values, device=device, dtype=kind)._data
        for values, kind in (([1, 2, 3], dtype), ([5, 7], dtype), ([2, 2], np.int64))
    ]
    return xp.asarray(storage_of(x).add_at(x, key, value))
