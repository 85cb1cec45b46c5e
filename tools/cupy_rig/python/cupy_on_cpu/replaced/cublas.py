"""A replacement of CuPy's cuBLAS: matrix products, and LU of batches, by NumPy and LAPACK."""

import numpy as np
from cupy_on_cpu.memory import (
    DATA_TYPES,
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
_pointer_mode = 0


class CUBLASError(RuntimeError):
    pass


def create():
    return 1


def destroy(handle):
    pass


def getVersion(handle):
    return 120900


def check_status(status):
    pass


def getPointerMode(handle):
    return _pointer_mode


def setPointerMode(handle, mode):
    global _pointer_mode
    _pointer_mode = mode


def setStream(handle, stream):
    pass


def getStream(handle):
    return 0


def setMathMode(handle, mode):
    pass


def getMathMode(handle):
    return 0


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


def gemmEx(
    h, ta, tb, m, n, k, alpha, a, at_, lda, b, bt, ldb, beta, c, ct, ldc, compute=0, algorithm=0
):
    scale = np.float32 if DATA_TYPES[ct] == np.float16 else DATA_TYPES[ct]
    alpha, beta = at(alpha, 1, scale)[0], at(beta, 1, scale)[0]
    at_, bt, ct = (DATA_TYPES[kind] for kind in (at_, bt, ct))
    _gemm(ta, tb, m, n, k, alpha, a, at_, lda, b, bt, ldb, beta, c, ct, ldc)


sgemmEx = gemmEx


def gemmStridedBatchedEx(
    h,
    ta,
    tb,
    m,
    n,
    k,
    alpha,
    a,
    at_,
    lda,
    sa,
    b,
    bt,
    ldb,
    sb,
    beta,
    c,
    ct,
    ldc,
    sc,
    count,
    compute,
    algorithm,
):
    def nth(pointer, i, stride, kind):
        return pointer + i * stride * np.dtype(DATA_TYPES[kind]).itemsize

    for i in range(count):
        x, y, z = nth(a, i, sa, at_), nth(b, i, sb, bt), nth(c, i, sc, ct)
        gemmEx(h, ta, tb, m, n, k, alpha, x, at_, lda, y, bt, ldb, beta, z, ct, ldc)


def _functions(letter, dtype):
    """Return the functions of one dtype by their names without the letter."""

    def gemm(h, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc):
        alpha, beta = at(alpha, 1, dtype)[0], at(beta, 1, dtype)[0]
        _gemm(ta, tb, m, n, k, alpha, a, dtype, lda, b, dtype, ldb, beta, c, dtype, ldc)

    def gemmBatched(h, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, count):
        for x, y, z in zip(*(pointers(p, count) for p in (a, b, c)), strict=True):
            gemm(h, ta, tb, m, n, k, alpha, x, lda, y, ldb, beta, z, ldc)

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
