"""The functions of scipy.ndimage: filters, by weighted sums and by selection, and interpolation.

SciPy's Python code runs as it stands on Arrays; what stands behind its C functions is stated here, and
C functions without a statement refuse Arrays.
"""

from .._statements import keeps_arrays, stands_in
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
