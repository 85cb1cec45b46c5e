"""A replacement of cupyx._cusolver: batched decompositions, matrix by matrix."""

import cupy
import numpy as np
from cupy.linalg import _util
from cupy_on_cpu.memory import eigh, hermitian, svd

_available_compute_capability = _available_cuda_version = _available_hip_version = {}


def check_availability(name):
    return True


def _each(f, a):
    """Return the stacks of the results of ``f`` on each matrix of the stack ``a``."""
    matrices = list(a.reshape(-1, *a.shape[-2:]))
    results = [f(matrix) for matrix in matrices or [np.zeros(a.shape[-2:], a.dtype)]]
    stacks = [np.stack(parts)[: len(matrices)] for parts in zip(*results, strict=True)]
    return [stack.reshape(*a.shape[:-2], *stack.shape[1:]) for stack in stacks]


def _gesvdj_batched(a, full_matrices, compute_uv, overwrite_a):
    u, s, vh = (cupy.asarray(part) for part in _each(lambda x: svd(x, full_matrices), a.get()))
    return (u, s, cupy.swapaxes(vh, -2, -1).conj()) if compute_uv else s


def _gesvd_batched(a, dtype, full_matrices, compute_uv, overwrite_a):
    return _gesvdj_batched(a.astype(dtype), full_matrices, compute_uv, overwrite_a)


def syevj(a, UPLO="L", with_eigen_vector=True):
    dtype, of_vectors = _util.linalg_common_type(a)
    w, v = _each(lambda x: eigh(hermitian(x, UPLO == "L")), a.astype(dtype).get())
    w = cupy.asarray(w).astype(of_vectors.char.lower())
    return (w, cupy.asarray(v).astype(of_vectors)) if with_eigen_vector else w


_syevj_batched = syevj


def _geqrf_orgqr_batched(a, mode):
    dtype, out = _util.linalg_common_type(a)
    x = a.astype(dtype).get()
    if mode == "r":
        return cupy.asarray(np.linalg.qr(x, "r")).astype(out)
    return tuple(cupy.asarray(part).astype(out) for part in np.linalg.qr(x, mode))


def _missing(*arguments, **keywords):
    raise NotImplementedError("The rig has no such solver.")


gesvdj = gesvda = gesv = gels = csrlsvqr = _missing
