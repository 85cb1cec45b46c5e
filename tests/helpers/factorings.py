"""How often matrices are factored: calls of NumPy's gufuncs, and what rules keep."""

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
    """NumPy's module of gufuncs; what factors is counted when it is looked up to be called."""

    def __init__(self, module, calls):
        self.module, self.calls = module, calls

    def __getattr__(self, name):
        if name in KINDS:
            self.calls[KINDS[name]] += 1
        return getattr(self.module, name)


def counted(monkeypatch):
    """Count factorisations from now on: by NumPy, and "kept" by rules."""
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
