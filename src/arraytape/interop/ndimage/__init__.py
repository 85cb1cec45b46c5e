"""Let scipy.ndimage work on Arrays: filters and interpolation.

SciPy's Python code runs on Arrays unchanged, but the C functions that it calls need NumPy data.  Some C
functions are replaced by ops with rules (``_filters``, ``_interpolation``); the others refuse Arrays.
"""

import sys
from typing import Any

import numpy as np
from scipy.ndimage import _ni_support

from .._borders import Output
from .._context import is_active
from .._facades import asarray, computes_with_arrays
from .._recorded import refused_functions
from .._statements import keeps_arrays, replaces, stands_in
from . import _filters, _interpolation

__all__ = ["_filters", "_interpolation"]

for module in (
    "_delegators", "_filters", "_fourier", "_interpolation", "_measurements", "_morphology",
    "_ndimage_api", "_ni_support", "_support_alternative_backends",
):  # fmt: skip
    keeps_arrays(f"scipy.ndimage.{module}")

stands_in("scipy.ndimage._filters", "_nd_image")
stands_in("scipy.ndimage._measurements", "_nd_image")
stands_in("scipy.ndimage._measurements", "_ni_label")
stands_in("scipy.ndimage._morphology", "_nd_image")
refused_functions(
    *[f"scipy.ndimage._filters.{name}" for name in ("generic_filter", "generic_filter1d")]
)

data_for_results = _ni_support._get_output


def get_output(output: Output, *args: Any, **keywords: Any) -> Any:
    """Return the array into which a function of SciPy writes its result, in place of ``_get_output``.

    output : SciPy's argument: a dtype, an array or None.

    The result is an Array, whose writes are recorded, if the calling function has one in a variable.
    """
    made = data_for_results(output, *args, **keywords)
    if made is output or not is_active("scipy"):
        return made
    fresh = isinstance(made, np.ndarray) and not isinstance(output, np.ndarray)
    return asarray(made) if fresh and computes_with_arrays("scipy", sys._getframe(1)) else made


replaces("scipy.ndimage._ni_support", "_get_output", get_output)
