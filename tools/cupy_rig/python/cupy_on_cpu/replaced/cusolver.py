"""A replacement of CuPy's cuSOLVER: factorizations by NumPy and LAPACK."""

import numpy as np
from cupy_on_cpu.memory import (
    DATA_TYPES,
    LETTERS,
    at,
    constants,
    eigh,
    hermitian,
    matrix,
    outside_captures,
    pointers,
    solve_by_lu,
    svd,
)
from scipy.linalg import lapack

globals().update(constants("cusolver"))
CUSOLVER_EIG_TYPE_1, CUSOLVER_EIG_MODE_NOVECTOR, CUSOLVER_EIG_MODE_VECTOR = 1, 0, 1


class CUSOLVERError(RuntimeError):
    pass


def create():
    return 2


def destroy(handle):
    pass


spCreate, spDestroy = create, destroy


def setStream(handle, stream):
    pass


def getStream(handle):
    return 0


def _getVersionNumber():
    return 11705


def _getVersion():
    return (11, 7, 5)


def createParams():
    return 3


def createGesvdjInfo():
    return 4


destroyParams = destroyGesvdjInfo = destroy


def xsyevd_bufferSize(*arguments):
    return 8, 8


xgeev_bufferSize = xsyevd_bufferSize


def xsyevd(h, p, vectors, uplo, n, at_, a, lda, wt, w, ct, device, size, host, host_size, info):
    x = matrix(a, n, n, lda, DATA_TYPES[at_])
    values, found = eigh(hermitian(x, uplo == 0))
    at(w, n, DATA_TYPES[wt])[...] = values
    if vectors:
        x[...] = found
    at(info, 1, "i")[0] = 0


def xgeev(
    h,
    p,
    left,
    right,
    n,
    at_,
    a,
    lda,
    wt,
    w,
    lt,
    vl,
    ldvl,
    rt,
    vr,
    ldvr,
    ct,
    device,
    size,
    host,
    host_size,
    info,
):
    dtype = np.dtype(DATA_TYPES[at_])
    letter = {"f": "s", "d": "d", "F": "c", "D": "z"}[dtype.char]
    x = np.asfortranarray(matrix(a, n, n, lda, dtype))
    *values, _, vectors, _ = getattr(lapack, letter + "geev")(
        x, compute_vl=0, compute_vr=int(right)
    )
    at(w, n, DATA_TYPES[wt])[...] = values[0] + 1j * values[1] if dtype.kind == "f" else values[0]
    if right:
        matrix(vr, n, n, ldvr, DATA_TYPES[rt])[...] = vectors
    at(info, 1, "i")[0] = 0


xsyevd, xgeev = (outside_captures("cuSOLVER", f) for f in (xsyevd, xgeev))


def _functions(letter, dtype):
    """Return the functions of one dtype by name."""
    real = np.dtype(np.dtype(dtype).char.lower())
    unitary = letter + ("un" if letter in "cz" else "or") + "gqr"

    def call(name, a, *arguments, **keywords):
        """Call LAPACK's ``name``, write its first result into ``a``, and return the others."""
        a[...], *others = getattr(lapack, name)(np.asfortranarray(a), *arguments, **keywords)
        return others

    def size(*arguments):
        return 64

    def potrf(h, uplo, n, a, lda, work, length, info):
        x = matrix(a, n, n, lda, dtype)
        (at(info, 1, "i")[0],) = call(letter + "potrf", x, lower=int(uplo == 0), clean=0)

    def potrfBatched(h, uplo, n, a, lda, info, count):
        for i, pointer in enumerate(pointers(a, count)):
            potrf(h, uplo, n, pointer, lda, 0, 0, int(info) + 4 * i)

    def getrf(h, m, n, a, lda, work, pivots, info):
        found, at(info, 1, "i")[0] = call(letter + "getrf", matrix(a, m, n, lda, dtype))
        at(pivots, min(m, n), "i")[...] = found + 1

    def getrs(h, operation, n, columns, a, lda, pivots, b, ldb, info):
        right = matrix(b, n, columns, ldb, dtype)
        factors = matrix(a, n, n, lda, dtype), at(pivots, n, "i") - 1
        right[...] = solve_by_lu(*factors, right.copy(), operation)
        at(info, 1, "i")[0] = 0

    def geqrf(h, m, n, a, lda, tau, work, length, info):
        at(tau, min(m, n), dtype)[...] = call(letter + "geqrf", matrix(a, m, n, lda, dtype))[0]
        at(info, 1, "i")[0] = 0

    def gqr(h, m, n, k, a, lda, tau, work, length, info):
        call(unitary, matrix(a, m, n, lda, dtype), at(tau, k, dtype))
        at(info, 1, "i")[0] = 0

    def gesvd(h, job_u, job_v, m, n, a, lda, s, u, ldu, v, ldv, work, length, rwork, info):
        x, k = matrix(a, m, n, lda, dtype), min(m, n)
        left, values, right = svd(x, full_matrices=True)
        at(s, k, real)[...] = values
        at(info, 1, "i")[0] = 0
        for job, out, rows, columns, leading, vectors in (
            (chr(job_u), u, m, {"A": m, "S": k}, ldu, left),
            (chr(job_v), v, {"A": n, "S": k}, n, ldv, right),
        ):
            if job in "AS":
                rows = rows[job] if isinstance(rows, dict) else rows
                columns = columns[job] if isinstance(columns, dict) else columns
                matrix(out, rows, columns, leading, dtype)[...] = vectors[:rows, :columns]
        if chr(job_u) == "O":
            x[:, :k] = left[:, :k]
        if chr(job_v) == "O":
            x[:k] = right[:k]

    made = {unitary: gqr}
    for f in (potrf, potrfBatched, getrf, getrs, geqrf, gesvd):
        made[letter + f.__name__] = f
    sizes = {f"{name}_bufferSize": size for name in made}
    return sizes | {name: outside_captures("cuSOLVER", f) for name, f in made.items()}


for _letter, _dtype in LETTERS.items():
    globals().update(_functions(_letter, _dtype))
