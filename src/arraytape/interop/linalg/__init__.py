"""Differentiate scipy.linalg's functions: SciPy computes the values, and rules the derivatives."""

from .._recorded import refused_functions
from . import _arrangements as _arrangements
from . import _banded as _banded
from . import _equations as _equations
from . import _matrix_functions as _matrix_functions
from . import _norms as _norms
from . import _orthogonal_factors as _orthogonal_factors
from . import _spectra as _spectra
from . import _systems as _systems

REFUSED = (  # functions that have no rule: they raise TypeError for Arrays
    "cdf2rdf", "clarkson_woodruff_transform", "cossin", "expm_cond", "funm", "hessenberg", "ldl",
    "matrix_balance", "ordqz", "qr_delete", "qr_insert", "qr_multiply", "qr_update", "qz",
    "rsf2csf", "schur", "subspace_angles",
)  # fmt: skip
refused_functions(*[f"scipy.linalg.{name}" for name in REFUSED])
