"""Calls of functions and methods whose results are checked for the memory that they share.

Each call is source text, which is evaluated with NumPy arrays and with Arrays.  ``x`` and ``y`` are
arrays of the shape under which the call is listed, ``z`` is a complex one, ``i`` an index array, and
``m`` a mask of x's shape.  For NumPy arrays, ``xp`` is NumPy.
"""

from collections.abc import Iterator

import numpy as np

SHAPES = {
    "any": [(), (6,), (3, 4), (2, 3, 4)],
    "vector": [(6,)],
    "matrix": [(3, 4)],
    "square": [(3, 3)],
    "cube": [(2, 3, 4)],
}
ANY = """
np.abs(x) np.add(x, y) np.add(x, 1.0) np.negative(x) np.positive(x) np.conj(x) np.conjugate(x)
np.square(x) np.conj(z) np.conjugate(z) np.maximum(x, y) np.minimum(x, 0.5) np.where(m, x, y)
np.where(m, x, 0.0) np.exp(x) np.sign(x) np.floor(x) np.sinc(x) np.nan_to_num(x) np.angle(z)
np.round(x, 1) np.clip(x, 0.2, 0.6) np.clip(x, None, y) np.clip(x, None, None) np.isfinite(x)
np.isclose(x, y) np.real(x) np.imag(x) np.real(z) np.imag(z) np.copy(x) np.copy(x, order="C")
np.copy(x, order="F") np.copy(x, order="A") np.array(x, like=x) np.asarray(x, like=x)
np.reciprocal(x) np.float_power(x, 2.0) np.divmod(x, y)[0] np.divmod(x, y)[1] np.zeros_like(x)
np.ones_like(x) np.empty_like(x) np.full_like(x, 2.0) np.zeros_like(x, order="F")
np.ones_like(x, order="C") np.full_like(x, 2.0, order="A") np.zeros_like(x, shape=x.shape)
np.zeros_like(x, dtype=np.float32) np.full_like(x, 2.0, dtype=np.int64) np.ravel(x)
np.ravel(x, order="F") np.ravel(x, order="A") np.ravel(x, order="K") np.reshape(x, (-1,))
np.reshape(x, (-1,), order="F") np.reshape(x, (-1,), order="A") np.reshape(x, x.shape)
np.reshape(x, x.shape, copy=True) np.atleast_1d(x) np.atleast_2d(x) np.atleast_3d(x)
np.atleast_1d(x, y)[1] np.expand_dims(x, 0) np.expand_dims(x, -1) np.expand_dims(x, (0, -1))
np.squeeze(x) np.transpose(x) np.flip(x) np.broadcast_to(x, (2, *x.shape))
np.broadcast_to(x, x.shape) np.broadcast_arrays(x, y)[0] np.broadcast_arrays(x, x[None])[0]
np.broadcast_arrays(x, x[None])[1] np.select([m, ~m], [x, y]) np.select([m], [x], y)
np.choose(m.astype(int), [x, y]) np.choose(0, [x, y]) np.choose(m, (x, 0.5))
np.piecewise(x, [m], [1.0, 2.0]) np.extract(m, x) np.compress([True, False, True], x)
np.nan_to_num(x, copy=False) np.sum(x) np.sum(x, keepdims=True) np.mean(x) np.max(x) np.min(x)
np.prod(x) np.std(x) np.var(x, keepdims=True) np.median(x) np.ptp(x) np.cumsum(x) np.cumprod(x)
np.nansum(x) np.sort(x, axis=None) np.partition(x, 0, axis=None) np.unique(x) np.diff(np.ravel(x))
np.append(x, y) np.append(x, 2.0) np.insert(x, 0, 5.0) np.delete(x, 0) np.tile(x, 2)
np.tile(x, (2, 1)) np.tile(x, ()) np.tile(x, 1) np.tile(x, (1, 1, 2)) np.repeat(x, 2) np.roll(x, 1)
np.take(x, i) np.take(x, 0) np.take(x, [0, 0]) np.take(x, [[0]]) np.diagflat(x) np.pad(x, 1)
np.pad(x, 0) np.pad(x, 1, mode="edge") np.pad(x, 1, mode="reflect") np.pad(x, 1, mode="wrap")
np.pad(x, 1, mode="symmetric") np.pad(x, 1, constant_values=2.0) np.pad(x, 1, mode="linear_ramp")
np.pad(x, 1, mode="mean") np.pad(x, 1, mode="maximum") np.stack([x, y]) np.stack([x, y], axis=-1)
np.hstack([x, y]) np.vstack([x, y]) np.dstack([x, y]) np.column_stack([x, y])
np.concatenate([x, y], axis=None) np.concatenate([np.atleast_1d(x), np.atleast_1d(y)])
np.block([x, y]) np.block([[x], [y]]) np.block(x) np.outer(x, y) np.kron(x, y) np.dot(x, 2.0)
np.multiply.outer(x, y) np.add.outer(x, y) np.vdot(x, y) np.inner(x, 2.0) np.einsum("...", x)
np.einsum("...->...", x) np.einsum("...,...->...", x, y) np.tensordot(x, y, 0) np.nanmax(x)
np.average(x) np.trapezoid(np.ravel(x)) np.gradient(np.ravel(x)) np.ediff1d(x)
np.interp(x, np.asarray([0.0, 0.5, 1.0]), np.asarray([1.0, 3.0, 2.0])) np.unwrap(np.ravel(x))
np.real_if_close(x) np.fix(x) np.isreal(x) np.nan_to_num(z) np.nancumsum(x) np.emath.sqrt(x)
np.emath.log(x) x[...] x[()] x[None] x[..., None] x[m] x.T x.real x.imag z.real z.imag x.conj()
x.conjugate() z.conj() x.copy() x.copy("F") x.copy("A") x.copy("K") x.flatten() x.flatten("F")
x.flatten("A") x.flatten("K") x.ravel() x.ravel("F") x.ravel("A") x.ravel("K") x.reshape(-1)
x.reshape(x.shape) x.reshape(x.shape, order="F") x.reshape(-1, order="F") x.reshape(-1, order="A")
x.reshape(1, -1) x.squeeze() x.transpose() x.astype(x.dtype) x.astype(x.dtype, copy=False)
x.astype(np.float32) x.astype(np.float32, order="C") x.astype(x.dtype, order="F")
x.astype(np.float32, order="F") x.astype(x.dtype, order="C", copy=False)
x.astype(x.dtype, order="F", copy=False) x.astype(np.complex128) x.view() x.flat[:] x.flat[1:3]
x.flat[0:2] x.flat[[0, 0]] x.flat[...] x.take(i) x.take(0) x.take([0, 0]) x.repeat(2)
x.clip(0.2, 0.6) x.round(1) x.sum() x.mean() x.cumsum() x.compress([True])
m.astype(int).choose([x, y]) x.dot(2.0) x + y x + 1.0 -x +x abs(x) x ** 2 x * y x / y x // y x % y
x == y x < y np.round(z, 1) x.nonzero()[0] np.nonzero(x)[0] np.argwhere(x) x.max() x.min() x.prod()
x.std() x.var() x.any() x.all() xp.abs(x) xp.conj(z) xp.real(z) xp.imag(z) xp.reshape(x, (-1,))
xp.reshape(x, x.shape) xp.reshape(x, (-1,), copy=True)
xp.permute_dims(x, tuple(range(x.ndim))[::-1]) xp.flip(x) xp.expand_dims(x, axis=0)
xp.squeeze(x, axis=()) xp.broadcast_to(x, (2, *x.shape)) xp.broadcast_arrays(x, y)[0]
xp.broadcast_arrays(x, x[None])[0] xp.stack([x, y]) xp.roll(x, 1) xp.repeat(x, 2) xp.tile(x, (2,))
xp.where(m, x, y) xp.zeros_like(x) xp.ones_like(x) xp.full_like(x, 2.0) xp.empty_like(x)
xp.astype(x, np.float64) xp.astype(x, np.float64, copy=False) xp.astype(x, np.float32) xp.asarray(x)
xp.asarray(x, copy=True) xp.asarray(x, copy=False) xp.asarray(x, dtype=np.float32) xp.positive(x)
xp.clip(x, 0.2, 0.6) xp.maximum(x, y) xp.sqrt(x) xp.add(x, y) xp.round(x)
xp.concat([x, y], axis=None) xp.sum(x) xp.mean(x) xp.tensordot(x, y, axes=0) xp.meshgrid(x, y)[0]
xp.einsum("...->...", x) xp.pad(x, 1) np.around(x) np.amax(x) np.amin(x) np.all(m) np.any(m)
np.resize(x, (2, 2)) np.resize(x, x.shape) np.nancumprod(x) np.nanmin(x) np.nanprod(x) np.nanmean(x)
np.nanstd(x) np.nanvar(x) np.nanmedian(x) np.isneginf(x) np.isposinf(x) np.isin(x, y)
np.iscomplex(z) np.sort_complex(z) np.i0(x) np.modf(x)[0] np.modf(x)[1] np.emath.log2(x)
np.emath.log10(x) np.emath.logn(2.0, x) np.emath.power(x, 2) np.emath.arccos(x) np.emath.arcsin(x)
np.emath.arctanh(x) np.union1d(x, y) np.setdiff1d(x, y) np.setxor1d(x, y) np.intersect1d(x, y)
np.flatnonzero(x) np.argmax(x) x.argmax() x.argmin() np.copyto(x, y) np.place(x, m, y)
np.putmask(x, m, y) np.put(x, i, [2.0, 3.0]) x.put(i, [2.0, 3.0]) x.fill(2.0) divmod(x, y)[0]
divmod(2.0, x)[1] xp.cumulative_prod(xp.reshape(x, (-1,))) xp.max(x) xp.min(x) xp.prod(x) xp.std(x)
xp.var(x) xp.all(m) xp.any(m) xp.argmax(x) xp.argmin(x) xp.count_nonzero(x) xp.unique_values(x)
xp.unique_counts(x)[0] xp.unique_inverse(x)[1] xp.unique_all(x)[0] xp.isin(x, y) xp.nonzero(x)[0]
np.maximum.accumulate(np.broadcast_to(x, (2, *x.shape)), axis=-1)
np.minimum.accumulate(np.broadcast_to(x, (2, *x.shape)), axis=0)
np.add.accumulate(np.broadcast_to(x, (2, *x.shape)), axis=-1) np.add(x, y, dtype=np.float32)
np.add(x, np.broadcast_to(x, (2, *x.shape)), dtype=np.float32)
np.cumulative_sum(x[None][0]) np.cumulative_prod(x.ravel())
np.sum(x, where=np.array(True)) np.zeros_like(x, shape=x.shape[::-1])
"""
VECTOR = """
np.diag(x) np.diag(x, 1) np.vander(x) np.convolve(x, y) np.correlate(x, y) np.dot(x, y)
np.inner(x, y) np.outer(x, y) np.cumsum(x) np.sort(x) np.take(x, 1, axis=0) np.take(x, i, axis=0)
np.split(x, [1])[1] np.array_split(x, 2)[0] np.array_split(x, 2)[1] np.hsplit(x, [1])[0]
np.meshgrid(x, y)[0] np.meshgrid(x, y)[1] np.meshgrid(x, y, indexing="ij")[0]
np.meshgrid(x, y, copy=False)[0] np.meshgrid(x, y, copy=False)[1] np.meshgrid(x, y, sparse=True)[0]
np.meshgrid(x, y, sparse=True, copy=False)[1] np.meshgrid(x, y, indexing="ij", copy=False)[1]
np.einsum("i", x) np.einsum("i->i", x) np.einsum("i->", x) np.einsum("i,i->i", x, y)
np.einsum("i,j->ij", x, y) np.einsum("i,j->ji", x, y) np.lib.stride_tricks.sliding_window_view(x, 2)
np.lib.stride_tricks.sliding_window_view(x, 1) np.gradient(x) np.diff(x) np.diff(x, n=0)
np.trapezoid(x, y) np.delete(x, 0) np.delete(x, slice(0, 2)) np.delete(x, []) np.insert(x, 1, 2.0)
np.insert(x, [1], [2.0]) np.insert(x, [], []) np.polyval(x, 2.0) np.polyfit(x, y, 1)
np.compress([True, False, True], x) np.unstack(x)[0] np.fft.fft(x) np.fft.rfft(x) np.fft.ifft(z)
np.fft.fftshift(x) np.ix_(x)[0] np.cov(x) np.corrcoef(x, y) np.roll(x, 2) np.flipud(x)
np.atleast_2d(x).T np.append(x, y, axis=0) np.percentile(x, 50) np.quantile(x, [0.2, 0.5])
np.cross(x[:3], y[:3]) x[1:] x[::-1] x[1] x[1, ...] x[i] x[i[0]] x[[0, 1]] x[::2] x[:0] x[None, :]
x[:, None] x[...] x[-1:] x[1:2] x.take(1) x.take(1, axis=0) x.flat[::2] x.flat[1] x.reshape(2, 3)
x.reshape(2, 3, order="F") x.reshape((3, 2), order="A") x.sort() x.repeat(2, axis=0) x.dot(y)
xp.linalg.outer(x, y) xp.take(x, i) xp.take(x, i, axis=0) xp.sort(x) xp.meshgrid(x, y)[0]
xp.unstack(x)[1] xp.diff(x) xp.cumulative_sum(x) xp.vecdot(x, y) xp.concat([x, y])
xp.roll(x, 1, axis=0) xp.diag(x) xp.fft.fft(z) xp.fft.fftshift(x) xp.linalg.vector_norm(x)
xp.repeat(x, 2, axis=0) np.linspace(x, y, 3) np.logspace(x, y, 3) np.geomspace(x, y, 3) np.poly(x)
np.roots(x) np.polyadd(x, y) np.polysub(x, y) np.polymul(x, y) np.polydiv(x, y)[0] np.polyder(x)
np.polyint(x) np.trim_zeros(x) np.histogram(x)[0] np.histogram(x)[1] np.histogram_bin_edges(x)
np.histogram2d(x, y)[0] np.digitize(x, np.sort(y)) np.lexsort((x, y)) x.partition(1)
xp.linspace(0.0, 1.0, 5) xp.fft.ifft(z) xp.fft.rfft(x) xp.fft.irfft(z) xp.fft.hfft(z)
xp.fft.ihfft(x) xp.fft.ifftshift(x) xp.bincount(m.astype(int)) xp.logspace(0.0, 1.0, 5)
np.fft.hfft(z) np.fft.ihfft(x)
"""
MATRIX = """
np.einsum("...i,...i", np.broadcast_to(x, (2, *x.shape)), z) np.einsum("ij,kj->ik", x, z)
np.einsum("ij,ij->ji", np.broadcast_to(x[:1], x.shape), z) np.einsum("ij,ij->ij", x.T, z.T)
np.maximum.accumulate(x, axis=0) np.minimum.accumulate(x, axis=1) np.maximum.accumulate(x.T)
np.mean(np.broadcast_to(x, (2, *x.shape)), axis=0, where=np.array(True)) np.cumulative_sum(x, axis=1)
np.mean(x[..., None], axis=2, where=np.array(True)) np.mean(x.T[None], axis=0, where=np.array(True))
np.diagonal(x) np.diagonal(x, 1) np.diagonal(x, -1) np.diag(x) np.diag(x, 1) np.diag(x, -2)
np.linalg.diagonal(x) np.linalg.diagonal(x, offset=1) np.trace(x) np.tril(x) np.triu(x, 1)
np.matrix_transpose(x) np.linalg.matrix_transpose(x) np.swapaxes(x, 0, 1) np.moveaxis(x, 0, 1)
np.rollaxis(x, 1) np.rot90(x) np.rot90(x, 2) np.rot90(x, 3) np.rot90(x, 0) np.fliplr(x) np.flipud(x)
np.flip(x, axis=0) np.transpose(x, (1, 0)) np.permute_dims(x, (1, 0)) np.take(x, 1, axis=0)
np.take(x, 1, axis=1) np.take(x, i, axis=0) np.take(x, i, axis=1)
np.take(x, [[0, 1], [1, 0]], axis=0) np.take(x, [1], axis=1) np.take(x, [])
np.take_along_axis(x, np.argsort(x, axis=1), axis=1)
np.take_along_axis(x, np.argsort(x, axis=0), axis=0) np.compress([True, False, True], x, axis=0)
np.compress([True, False], x, axis=1) np.split(x, [1])[0] np.split(x, [1], axis=1)[1]
np.array_split(x, 2)[1] np.hsplit(x, [1])[1] np.vsplit(x, [1])[0] np.array_split(x, 5, axis=1)[4]
np.unstack(x)[0] np.unstack(x, axis=1)[1] np.sum(x, axis=0) np.sum(x, axis=1)
np.sum(x, axis=1, keepdims=True) np.mean(x, axis=0) np.max(x, axis=1) np.std(x, axis=0)
np.cumsum(x, axis=0) np.cumsum(x, axis=1) np.cumprod(x, axis=1) np.sort(x, axis=0) np.sort(x)
np.partition(x, 1) np.partition(x, 1, axis=0) np.median(x, axis=0) np.argsort(x, axis=0) np.diff(x)
np.diff(x, axis=0) np.gradient(x)[0] np.gradient(x, axis=1) np.percentile(x, [20, 50], axis=0)
np.quantile(x, 0.5, axis=1) np.average(x, axis=0) np.concatenate([x, y])
np.concatenate([x, y], axis=1) np.stack([x, y], axis=1) np.append(x, y, axis=0)
np.append(x, y, axis=1) np.insert(x, 1, 5.0, axis=0) np.insert(x, 1, 5.0, axis=1)
np.insert(x, [0, 1], y[:, :2], axis=1) np.insert(x, 1, y[0], axis=0)
np.insert(x, slice(0, 1), 2.0, axis=0) np.insert(x, [0, 2], 2.0, axis=0) np.delete(x, 1, axis=0)
np.delete(x, 1, axis=1) np.delete(x, [0], axis=0) np.delete(x, slice(0, 1), axis=1)
np.delete(x, [], axis=0) np.delete(x, [True, False, False], axis=0) np.repeat(x, 2, axis=0)
np.repeat(x, 2, axis=1) np.repeat(x, [1, 2, 0], axis=0) np.roll(x, 1, axis=0) np.roll(x, 1, axis=1)
np.roll(x, (1, 1), axis=(0, 1)) np.tile(x, (2, 2)) np.tile(x, (1, 2)) np.kron(x, np.ones((2, 2)))
np.kron(x, y[0]) np.dot(x, y.T) np.matmul(x, y.T) np.matmul(x, y[0]) np.inner(x, y)
np.tensordot(x, y, axes=([1], [1])) np.tensordot(x, y, axes=([0], [0])) np.vecdot(x, y)
np.linalg.multi_dot([x, y.T, x]) np.cov(x) np.corrcoef(x) np.linalg.norm(x, axis=0)
np.linalg.norm(x, axis=1, keepdims=True) np.einsum("ij", x) np.einsum("ij->ij", x)
np.einsum("ij->ji", x) np.einsum("ji", x) np.einsum("ij->i", x) np.einsum("ij->j", x)
np.einsum("ij->", x) np.einsum("ij,ij->ij", x, y) np.einsum("ij,ij->ji", x, y)
np.einsum("ij,kj->ik", x, y) np.einsum("ij,kj->ki", x, y) np.einsum("ij,kj->ikj", x, y)
np.einsum("ij,j->i", x, y[0]) np.einsum("ij,kj->ik", x, y, optimize=True)
np.einsum(x, [0, 1], [1, 0]) np.einsum("...j->j...", x) np.einsum("ij,ij->i", x, y)
np.lib.stride_tricks.sliding_window_view(x, (2, 2))
np.lib.stride_tricks.sliding_window_view(x, 2, axis=0)
np.lib.stride_tricks.sliding_window_view(x, (2, 2), axis=(1, 0))
np.lib.stride_tricks.sliding_window_view(x, (1, 1)) np.apply_along_axis(lambda r: r * 2.0, 0, x)
np.apply_along_axis(lambda r: r * 2.0, 1, x) np.apply_over_axes(np.sum, x, [0]) np.unique(x, axis=0)
np.vander(x[0]) np.pad(x, ((1, 0), (0, 2))) np.cross(x[:, :3], y[:, :3]) np.meshgrid(x, y)[0]
np.fft.fft(x, axis=0) np.fft.fft2(x) np.fft.rfft(x, axis=0) np.fft.irfft(z, axis=1)
np.fft.fftshift(x, axes=0) np.polyval(x, 2.0) np.unwrap(x, axis=0) np.trapezoid(x, axis=0)
np.searchsorted(np.sort(x[0]), y) np.linalg.svd(x)[1] np.linalg.svd(x, full_matrices=False)[0]
np.linalg.svd(x, full_matrices=False)[2] np.linalg.qr(x)[0] np.linalg.qr(x)[1] np.linalg.pinv(x)
np.linalg.matrix_rank(x) np.linalg.lstsq(x, y[:, 0])[0] np.linalg.lstsq(x, y)[0] x[0] x[0, 1]
x[0, 1, ...] x[:, 1] x[:, 1:2] x[::2] x[:, ::-1] x[i] x[:, i] x[i, i] x[i[:, None], i] x[[0], :]
x[0:1] x[m[:, 0]] x[..., 0] x[1:, None] x[None, :, 0] x[:, None, 1:] x[0][1:] x.T[0] x.T.ravel()
x.T.reshape(-1) x.T.reshape(2, -1) x.reshape(2, -1) x.reshape(2, -1, order="F") x.mT
x.take(1, axis=0) x.take(1, axis=1) x.take(i, axis=1) x.take([1], axis=0) x.diagonal() x.diagonal(1)
x.diagonal(-1) x.trace() x.swapaxes(0, 1) x.transpose(1, 0) x.transpose((1, 0)) x.flat[2:5]
x.T.flat[:] x.T.flat[1:4] x.compress([True, False], axis=1) x.repeat(2, axis=1) x.sum(axis=0)
x.mean(axis=1) x.cumsum(axis=0) x.argsort(axis=0) x.max(axis=0) x.T.copy() x.T.flatten()
x.T.astype(np.float32) x.dot(y.T) x @ y.T x.T @ y x @ y[0] x + y.T.copy().T x * x[0] x * x[:, :1]
xp.matrix_transpose(x) xp.moveaxis(x, 0, 1) xp.linalg.diagonal(x) xp.linalg.diagonal(x, offset=-1)
xp.take(x, i, axis=1) xp.take(x, i, axis=0) xp.unstack(x)[0] xp.unstack(x, axis=1)[0]
xp.roll(x, 1, axis=1) xp.repeat(x, 2, axis=1) xp.tile(x, (2, 2)) xp.concat([x, y], axis=1)
xp.sort(x, axis=0) xp.tril(x) xp.triu(x) xp.cumulative_sum(x, axis=0) xp.diff(x, axis=0)
xp.sum(x, axis=0) xp.matmul(x, y.T) xp.linalg.matmul(x, y.T) xp.linalg.cross(x[:, :3], y[:, :3])
xp.linalg.outer(x[0], y[1]) xp.linalg.trace(x) xp.take_along_axis(x, xp.argsort(x, axis=1), axis=1)
xp.permute_dims(x, (1, 0)) xp.flip(x, axis=1) xp.einsum("ij->ji", x) xp.einsum("ij,jk->ik", x, y.T)
xp.squeeze(x[:1], axis=0) xp.linalg.svdvals(x) xp.linalg.matrix_norm(x) xp.fft.fft(z, axis=0)
xp.median(x, axis=0) xp.diag(x) xp.pad(x, 1) np.fill_diagonal(x, 2.0)
np.put_along_axis(x, np.argsort(x, axis=1), y, axis=1) np.linalg.vector_norm(x, axis=0)
np.linalg.matrix_norm(x) np.linalg.norm(x) np.nanquantile(x, 0.5, axis=0)
np.nanpercentile(x, [10, 50], axis=1) np.nanmax(x, axis=0) np.nanmean(x, axis=1) np.fft.ifft2(z)
np.fft.rfft2(x) np.fft.irfft2(z) np.fft.fftn(x) np.fft.ifftn(z) np.fft.rfftn(x) np.fft.irfftn(z)
np.matvec(x, y[0]) np.vecmat(y[:, 0], x) np.tril_indices_from(x)[0] np.triu_indices_from(x)[1]
np.resize(x, (2, 7)) np.histogramdd(x)[0] np.linalg.slogdet(x @ x.T)[1]
np.linspace(x[0], y[0], 3, axis=-1) np.take(x, [5, -9], mode="clip")
np.take(x, [5, -9], axis=1, mode="wrap") xp.fft.fftn(x) xp.fft.ifftn(z) xp.fft.rfftn(x)
xp.fft.irfftn(z) xp.linalg.matrix_transpose(x) xp.linalg.pinv(x) xp.linalg.qr(x)[0]
xp.linalg.qr(x)[1] xp.linalg.tensordot(x, y, axes=([1], [1])) xp.linalg.vecdot(x, y)
xp.max(x, axis=0) xp.std(x, axis=1) xp.prod(x, axis=0)
"""
SQUARE = """
np.einsum("ii->i", x) np.einsum("ii", x) np.einsum("ii->", x) np.einsum("ii,i->i", x, y[0])
np.einsum("ii,jj->ij", x, y) np.einsum("...ii->...i", x) np.diagonal(x.T, 1) np.diagonal(x[::-1])
np.diag(x.T) np.diag(np.diag(x)) np.diag(x)[1:] np.einsum("ii->i", x)[1:]
np.einsum("ii->i", x.T[::-1]) np.einsum("ii->i", x)[::-1] np.einsum("ii->i", x)[0]
np.einsum("ii->i", x).reshape(-1, 1) np.linalg.inv(x) np.linalg.solve(x, y) np.linalg.solve(x, y[0])
np.linalg.eigh(x + x.T)[0] np.linalg.eigh(x + x.T)[1] np.linalg.cholesky(x @ x.T + np.eye(3))
np.linalg.matrix_power(x, 2) np.linalg.matrix_power(x, 1) np.linalg.matrix_power(x, 0)
np.linalg.det(x) np.linalg.slogdet(x)[1] np.linalg.eigvals(x) np.linalg.cond(x)
xp.einsum("ii->i", x) xp.linalg.inv(x) xp.linalg.solve(x, y) xp.linalg.matrix_power(x, 1)
xp.linalg.cholesky(x @ x.T + xp.eye(3)) xp.linalg.eigh(x + x.T)[1] x.diagonal()[1:] x.real.T
x.imag.T z.real.T z.real.ravel() z.T.imag z.real[0] z.imag[1:] z.real.reshape(-1) np.real(z)[::2]
np.diagonal(z).real np.diag(z.imag) np.linalg.tensorinv(x, ind=1) np.linalg.tensorsolve(x, y[0])
np.diag_indices_from(x)[0] np.linalg.eigvalsh(x + x.T) np.linalg.svd(x)[0] xp.linalg.det(x)
xp.linalg.slogdet(x)[1] xp.linalg.eigvalsh(x + x.T) xp.linalg.matrix_power(x, 2)
"""
CUBE = """
np.diagonal(x) np.diagonal(x, 0, 1, 2) np.diagonal(x, 1, 0, 2) np.diagonal(x, -1, 2, 0)
np.diagonal(x, axis1=2, axis2=1) np.linalg.diagonal(x) x.diagonal(0, 0, 2) np.trace(x, 0, 1, 2)
np.moveaxis(x, 0, -1) np.moveaxis(x, (0, 1), (1, 2)) np.rollaxis(x, 2) np.rollaxis(x, 0, 3)
np.swapaxes(x, 0, 2) np.transpose(x, (2, 0, 1)) np.rot90(x, axes=(1, 2)) np.matrix_transpose(x)
np.dsplit(x, [1])[1] np.hsplit(x, [1])[0] np.vsplit(x, [1])[1] np.flip(x, axis=(0, 2))
np.einsum("ijk->kji", x) np.einsum("ijk->ik", x) np.einsum("ijk->ki", x) np.einsum("...k->k...", x)
np.einsum("ijk,ijk->ik", x, y) np.einsum("ijk,ljk->il", x, y) np.einsum("ijk,ijk->kji", x, y)
np.einsum("ijk,j->ik", x, y[0, :, 0]) np.einsum("i...->...i", x) np.sum(x, axis=(0, 2))
np.sum(x, axis=1) np.mean(x, axis=(0, 1), keepdims=True) np.cumsum(x, axis=1) np.sort(x, axis=1)
np.take(x, 1, axis=1) np.take(x, i, axis=2) np.take(x, [[0, 1], [1, 0]], axis=1)
np.repeat(x, 2, axis=1) np.roll(x, 1, axis=1) np.tile(x, (2, 1, 1)) np.tile(x, 2)
np.concatenate([x, y], axis=1) np.concatenate([x, y], axis=2) np.stack([x, y], axis=1)
np.stack([x, y], axis=2) np.insert(x, 1, 5.0, axis=1) np.insert(x, 1, 5.0, axis=2)
np.delete(x, 1, axis=1) np.delete(x, [0], axis=2) np.append(x, y, axis=1) np.pad(x, 1)
np.pad(x, 1, mode="edge") np.diff(x, axis=1) np.tensordot(x, y, axes=([1], [1]))
np.tensordot(x, y, axes=([2, 0], [2, 0])) np.matmul(x, y[0].T) np.dot(x, y[0].T) np.inner(x, y)
np.vecdot(x, y) np.linalg.norm(x, axis=(0, 1)) np.linalg.svd(x)[0] np.median(x, axis=1)
np.quantile(x, 0.3, axis=(0, 1)) np.percentile(x, [10, 50], axis=1)
np.apply_along_axis(lambda r: r[:2], 1, x) np.apply_along_axis(np.sum, 1, x)
np.apply_over_axes(np.sum, x, [0, 2]) np.unwrap(x, axis=1) np.gradient(x, axis=1)
np.lib.stride_tricks.sliding_window_view(x, (2, 2), axis=(0, 2))
np.lib.stride_tricks.sliding_window_view(x, 2, axis=1) np.fft.fftn(x) np.fft.fft(x, axis=1)
np.fft.fftshift(x, axes=(0, 2)) np.select([m, ~m], [x, y]) np.compress([True, False], x, axis=2)
np.take_along_axis(x, np.argsort(x, axis=1), axis=1) np.unique(x, axis=1) np.block([[[x, y]]])
np.dstack([x, y]) np.reshape(x, (-1, x.shape[-1])) np.reshape(x, (x.shape[0], -1))
np.reshape(x, (-1, x.shape[-1]), order="F") np.where(m[0], x, y) x[0] x[:, 0] x[..., 0] x[0, :, 1]
x[:, i] x[i, :, 0] x[:, 0, i] x[..., i] x[i, :, i] x[0, i] x[None, 0] x[m[..., 0]] x[:, m[0, :, 0]]
x[1:, ::-1, 0] x.reshape(-1, x.shape[-1]) x.reshape(x.shape[0], -1) x.transpose(2, 0, 1)
x.transpose(1, 0, 2).reshape(x.shape[1], -1) x.swapaxes(1, 2).reshape(-1) x.sum(axis=1)
x.take(i, axis=1) x.copy().transpose(1, 0, 2) x.flat[1:4] xp.moveaxis(x, 0, -1)
xp.permute_dims(x, (1, 2, 0)) xp.linalg.diagonal(x) xp.take(x, i, axis=1) xp.sort(x, axis=1)
xp.stack([x, y], axis=1) xp.concat([x, y], axis=1) xp.roll(x, 1, axis=1)
xp.tensordot(x, y, axes=([1], [1])) xp.sum(x, axis=(0, 2)) xp.matmul(x, y[0].T)
xp.repeat(x, 2, axis=1) xp.tile(x, (1, 2, 1)) xp.linalg.svd(x)[0] xp.vecdot(x, y, axis=1)
xp.cumulative_sum(x, axis=1) xp.unstack(x, axis=1)[1] xp.expand_dims(x, axis=1)
xp.matrix_transpose(x)
"""
OPERATORS = {"+", "-", "*", "/", "//", "%", "**", "==", "<", "@"}


def split(text: str) -> Iterator[str]:
    """Yield the parts of a text between spaces that lie outside brackets and quotes."""
    depth, quoted, start = 0, False, 0
    for i, c in enumerate(text):
        quoted ^= c == '"'
        depth += 0 if quoted else (c in "([") - (c in ")]")
        if c.isspace() and not depth and not quoted:
            if text[start:i].strip():
                yield text[start:i].strip()
            start = i


def calls(text: str) -> list[str]:
    """Return the calls that a text lists, without duplicates; ``x + y`` with its spaces is one call."""
    found: list[str] = []
    for word in split(text):
        joins = found and (word in OPERATORS or found[-1].split()[-1] in OPERATORS)
        if joins:
            found[-1] += f" {word}"
        else:
            found.append(word)
    return list(dict.fromkeys(found))


def of_ufuncs() -> list[str]:
    """Return a call of each ufunc with floating-point operands and one result."""
    found = []
    for name, function in vars(np).items():
        counted = isinstance(function, np.ufunc) and function.nout == 1 and not function.signature
        if counted and name != "spacing":  # not available for Arrays
            kinds = "d" * function.nin
            if any(loop.startswith(f"{kinds}->") for loop in function.types):
                found.append(f"np.{name}({', '.join('xy'[: function.nin])})")
    return found


KINDS = {
    "any": [*calls(ANY), *of_ufuncs()],
    "vector": calls(VECTOR),
    "matrix": calls(MATRIX),
    "square": calls(SQUARE),
    "cube": calls(CUBE),
}
CALLS = [(kind, call) for kind, found in KINDS.items() for call in dict.fromkeys(found)]
