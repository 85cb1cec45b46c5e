"""Counts of matrix factorizations: calls of NumPy's gufuncs, and uses of kept factors in rules."""

from collections import Counter

import numpy as np

from arraytape._storage import factors

ELIMINATION = ("solve", "solve1", "inv", "det", "slogdet")
KINDS = {
    **dict.fromkeys(ELIMINATION, "elimination"),
    "cholesky_lo": "cholesky", "cholesky_up": "cholesky",
    "eigh_lo": "eigh", "eigh_up": "eigh", "eigvalsh_lo": "eigvalsh", "eigvalsh_up": "eigvalsh",
    "svd_f": "svd", "svd_s": "svd", "svd": "svdvals", "eig": "eig", "eigvals": "eigvals",
    "qr_r_raw": "qr",
}  # fmt: skip


class Counted:
    """A stand-in for NumPy's module of gufuncs that counts each lookup of a factorization."""

    def __init__(self, module, calls):
        self.module, self.calls = module, calls

    def __getattr__(self, name):
        if name in KINDS:
            self.calls[KINDS[name]] += 1
        return getattr(self.module, name)


def counted(monkeypatch):
    """Return a Counter of later factorizations; "kept elimination": those whose factors are kept."""
    calls = Counter()
    module = Counted(np.linalg._umath_linalg, calls)
    monkeypatch.setattr(np.linalg, "_umath_linalg", module)
    monkeypatch.setattr(np.linalg._linalg, "_umath_linalg", module)
    decomposed = factors.decomposed

    def kept(a, hermitian):
        calls["kept elimination"] += 1
        return decomposed(a, hermitian)

    monkeypatch.setattr(factors, "decomposed", kept)
    return calls
