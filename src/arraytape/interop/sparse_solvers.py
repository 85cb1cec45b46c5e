"""Make the solvers of scipy.sparse.linalg raise TypeError for Arrays, because they have no derivative.

``implicit.linear_solve`` solves a system whose matrix is a function of Arrays.  Sparse matrices
themselves hold NumPy data.
"""

from ._recorded import refused_functions

SOLVERS = (
    "bicg", "bicgstab", "cg", "cgs", "eigs", "eigsh", "expm_multiply", "gcrotmk", "gmres", "lgmres",
    "lobpcg", "lsmr", "lsqr", "minres", "qmr", "spsolve", "spsolve_triangular", "svds", "tfqmr",
    "aslinearoperator",
)  # fmt: skip

refused_functions(*[f"scipy.sparse.linalg.{name}" for name in SOLVERS])
