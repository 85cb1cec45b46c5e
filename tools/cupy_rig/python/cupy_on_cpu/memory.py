"""Device memory, which is host memory, as NumPy's arrays, and functions that several libraries use."""

import ctypes
import functools
import json

import numpy as np

import cupy_on_cpu

LETTERS = {
    "s": np.float32,
    "d": np.float64,
    "c": np.complex64,
    "z": np.complex128,
}  # BLAS's and LAPACK's
DATA_TYPES = {
    0: np.float32,
    1: np.float64,
    2: np.float16,
    4: np.complex64,
    5: np.complex128,
}  # CUDA's


def outside_captures(library, function):
    """Return ``function``, made to raise CuPy's error for a call of ``library`` in a capture."""

    @functools.wraps(function)
    def called(*arguments, **keywords):
        from cupy.cuda import get_current_stream

        if get_current_stream().is_capturing():
            raise NotImplementedError(
                f"calling {library} API during stream capture is currently unsupported"
            )
        return function(*arguments, **keywords)

    return called


def at(pointer, count, dtype):
    """Return the ``count`` elements at ``pointer``."""
    dtype = np.dtype(dtype)
    if count == 0:
        return np.empty(0, dtype)
    buffer = (ctypes.c_char * (int(count) * dtype.itemsize)).from_address(int(pointer))
    return np.frombuffer(buffer, dtype)


def pointers(pointer, count):
    """Return the ``count`` pointers at ``pointer``, to the matrices of a batch."""
    return at(pointer, count, np.uint64)


def matrix(pointer, rows, columns, leading, dtype):
    """Return the matrix at ``pointer``, whose columns are contiguous."""
    if rows == 0 or columns == 0:
        return np.empty((rows, columns), dtype)
    item = np.dtype(dtype).itemsize
    data = at(pointer, leading * (columns - 1) + rows, dtype)
    return np.lib.stride_tricks.as_strided(data, (rows, columns), (item, leading * item))


def transposed(x, operation):
    """Return x after an operation of cuBLAS: 0 none, 1 the transpose, 2 the conjugate transpose."""
    return (x, x.T, x.conj().T)[operation]


def constants(library):
    """Return the enumerations of ``library``, which make_rig.py read from CuPy's source distribution."""
    return json.loads((cupy_on_cpu.home / "constants.json").read_text())[library]


def solve_by_lu(lu, pivots, b, operation):
    """Solve by the factors of getrf; pivots that are zero give infinities and NaNs, as on a GPU."""
    n, b = len(lu), np.array(b)
    lower, upper = np.tril(lu, -1), np.triu(lu)
    with np.errstate(all="ignore"):
        if operation == 0:
            for i, p in enumerate(pivots):
                b[[i, p]] = b[[p, i]]
            for i in range(n):
                b[i] -= lower[i, :i] @ b[:i]
            for i in range(n - 1, -1, -1):
                b[i] = (b[i] - upper[i, i + 1 :] @ b[i + 1 :]) / upper[i, i]
            return b
        if operation == 2:
            lower, upper = lower.conj(), upper.conj()
        for i in range(n):
            b[i] = (b[i] - upper[:i, i] @ b[:i]) / upper[i, i]
        for i in range(n - 1, -1, -1):
            b[i] -= lower[i + 1 :, i] @ b[i + 1 :]
        for i in range(n - 1, -1, -1):
            b[[i, pivots[i]]] = b[[pivots[i], i]]
        return b


def hermitian(a, lower):
    """Return the Hermitian matrix with one triangle of ``a``."""
    triangle = np.tril(a) if lower else np.triu(a)
    full = triangle + triangle.conj().T
    np.fill_diagonal(full, np.real(np.diagonal(triangle)))
    return full


def eigh(a):
    """Return the results of NumPy's eigh, or NaNs where it fails."""
    try:
        return np.linalg.eigh(a)
    except np.linalg.LinAlgError:
        return np.full(len(a), np.nan, np.real(a).dtype), np.full_like(a, np.nan)


def svd(a, full_matrices):
    """Return the results of NumPy's svd of one matrix, or NaNs where it fails."""
    try:
        return np.linalg.svd(a, full_matrices=full_matrices)
    except np.linalg.LinAlgError:
        shapes = np.linalg.svd(np.zeros_like(a), full_matrices=full_matrices)
        return tuple(np.full_like(part, np.nan) for part in shapes)
