"""A replacement of CuPy's cuBLAS: products for matmul by libcublas.so.12, others by NumPy."""

import ctypes

import cupy
import numpy as np
from cupy_on_cpu.memory import (
    LETTERS,
    at,
    constants,
    matrix,
    outside_captures,
    pointers,
    solve_by_lu,
    transposed,
)
from scipy.linalg import lapack

globals().update(constants("cublas"))
_library = ctypes.CDLL("libcublas.so.12")
_pointer_mode = 0


STATUS = {
    1: "CUBLAS_STATUS_NOT_INITIALIZED",
    7: "CUBLAS_STATUS_INVALID_VALUE",
    13: "CUBLAS_STATUS_EXECUTION_FAILED",
    15: "CUBLAS_STATUS_NOT_SUPPORTED",
}


class CUBLASError(RuntimeError):
    pass


def create():
    handle = ctypes.c_void_p()
    check_status(_library.cublasCreate_v2(ctypes.byref(handle)))
    return handle.value


def destroy(handle, function=_library.cublasDestroy_v2, pointer=ctypes.c_void_p):
    function(pointer(handle))  # also while the process ends, when names of modules are gone


def getVersion(handle):
    return 120900


def check_status(status):
    if status:
        raise CUBLASError(STATUS[status])


def getPointerMode(handle):
    return _pointer_mode


def setPointerMode(handle, mode):
    global _pointer_mode
    _pointer_mode = mode


def setStream(handle, stream):
    _library.cublasSetStream_v2(ctypes.c_void_p(handle), ctypes.c_void_p(stream))


setStream = outside_captures("cuBLAS", setStream)


def setMathMode(handle, mode):
    check_status(_library.cublasSetMathMode(ctypes.c_void_p(handle), mode))


def getMathMode(handle):
    mode = ctypes.c_int()
    check_status(_library.cublasGetMathMode(ctypes.c_void_p(handle), ctypes.byref(mode)))
    return mode.value


def _product(symbol, types, compute=None):
    """Return CuPy's wrapper of a product of matrices in ``libcublas.so.12``: see native/cublas.cpp.

    types : of the arguments, as letters of ``_TYPES``.
    compute : the position of the type in which sums are computed, for which CuPy gives a data type, too.
    """
    function = getattr(_library, symbol)
    function.argtypes = [_TYPES[letter] for letter in types]

    def called(handle, *arguments):
        setStream(handle, cupy.cuda.get_current_stream().ptr)
        if compute is not None:
            kind = arguments[compute]
            arguments = *arguments[:compute], _COMPUTE.get(kind, kind), *arguments[compute + 1 :]
        check_status(function(handle, *arguments))

    return called


# CUDA's data type -> cuBLAS's type of a sum, as cuBLAS's header maps them.
_COMPUTE = {0: 68, 4: 68, 1: 70, 5: 70}
_TYPES = {"i": ctypes.c_int, "p": ctypes.c_void_p, "l": ctypes.c_longlong}
gemmEx = _product("cublasGemmEx", "piiiiippiipiippiiii", 16)
gemmStridedBatchedEx = _product("cublasGemmStridedBatchedEx", "piiiiippiilpiilppiiliii", 20)
for _letter in "sdcz":
    globals()[f"{_letter}gemmBatched"] = _product(
        f"cublas{_letter.upper()}gemmBatched", "piiiiippipippii"
    )


def _operand(pointer, rows, columns, leading, dtype, operation):
    """Return the matrix that ``operation`` makes of the memory at ``pointer``."""
    if operation:
        rows, columns = columns, rows
    return transposed(matrix(pointer, rows, columns, leading, dtype), operation)


def _gemm(ta, tb, m, n, k, alpha, a, a_dtype, lda, b, b_dtype, ldb, beta, c, c_dtype, ldc):
    wide = np.float32 if np.dtype(c_dtype) == np.float16 else c_dtype
    left = _operand(a, m, k, lda, a_dtype, ta).astype(wide)
    right = _operand(b, k, n, ldb, b_dtype, tb).astype(wide)
    out = matrix(c, m, n, ldc, c_dtype)
    with np.errstate(all="ignore"):
        out[...] = alpha * (left @ right) + (beta * out if beta else 0)


_gemm = outside_captures("cuBLAS", _gemm)


def _functions(letter, dtype):
    """Return the functions of one dtype by their names without the letter."""

    def gemm(h, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc):
        alpha, beta = at(alpha, 1, dtype)[0], at(beta, 1, dtype)[0]
        _gemm(ta, tb, m, n, k, alpha, a, dtype, lda, b, dtype, ldb, beta, c, dtype, ldc)

    def geam(h, ta, tb, m, n, alpha, a, lda, beta, b, ldb, c, ldc):
        left, right = _operand(a, m, n, lda, dtype, ta), _operand(b, m, n, ldb, dtype, tb)
        matrix(c, m, n, ldc, dtype)[...] = (
            at(alpha, 1, dtype)[0] * left + at(beta, 1, dtype)[0] * right
        )

    def getrfBatched(h, n, a, lda, pivots, info, count):
        getrf, info = getattr(lapack, letter + "getrf"), at(info, count, "i")
        for i, pointer in enumerate(pointers(a, count)):
            x, pivot = (
                matrix(pointer, n, n, lda, dtype),
                at(pivots, n * count, "i")[i * n : i * n + n],
            )
            if np.isfinite(x).all():
                x[...], found, info[i] = getrf(np.asfortranarray(x))
                pivot[...] = found + 1
            else:
                x[...], pivot[...], info[i] = np.nan, np.arange(1, n + 1), 1

    def getrsBatched(h, operation, n, columns, a, lda, pivots, b, ldb, info, count):
        for i, (x, y) in enumerate(zip(pointers(a, count), pointers(b, count), strict=True)):
            pivot = at(pivots, n * count, "i")[i * n : i * n + n] - 1
            right = matrix(y, n, columns, ldb, dtype)
            right[...] = solve_by_lu(matrix(x, n, n, lda, dtype), pivot, right.copy(), operation)
        at(info, 1, "i")[0] = 0
        return 0

    def getriBatched(h, n, a, lda, pivots, c, ldc, info, count):
        for i, (x, y) in enumerate(zip(pointers(a, count), pointers(c, count), strict=True)):
            pivot = at(pivots, n * count, "i")[i * n : i * n + n] - 1
            inverse = solve_by_lu(matrix(x, n, n, lda, dtype), pivot, np.eye(n, dtype=dtype), 0)
            matrix(y, n, n, ldc, dtype)[...] = inverse
            at(info, count, "i")[i] = 0

    return {name: f for name, f in locals().items() if name not in ("letter", "dtype")}


for _letter, _dtype in LETTERS.items():
    for _name, _f in _functions(_letter, _dtype).items():
        globals()[_letter + _name] = outside_captures("cuBLAS", _f)
