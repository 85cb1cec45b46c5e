"""The names of the functions of each kind: see ``namespace``."""

from __future__ import annotations

from typing import Any

ELEMENTWISE = {
    "abs", "acos", "acosh", "add", "asin", "asinh", "atan", "atan2", "atanh", "bitwise_and",
    "bitwise_invert", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor",
    "ceil", "clip", "conj", "copysign", "cos", "cosh", "divide", "equal", "exp", "expm1", "floor",
    "floor_divide", "greater", "greater_equal", "hypot", "imag", "isfinite", "isinf", "isnan",
    "less", "less_equal", "log", "log10", "log1p", "log2", "logaddexp", "logical_and",
    "logical_not", "logical_or", "logical_xor", "maximum", "minimum", "multiply", "negative",
    "nextafter", "not_equal", "positive", "pow", "power_operator", "real", "reciprocal",
    "remainder", "round", "sign", "signbit", "sin", "sinh", "sqrt", "square", "subtract", "tan",
    "tanh", "trunc", "where",
}  # fmt: skip
# Functions along axes: the default axis.
ALONG: dict[str, Any] = dict.fromkeys((
    "all", "any", "count_nonzero", "flip", "max", "mean", "min", "prod", "std", "sum", "var",
    "linalg.vector_norm",
))  # fmt: skip
ALONG |= dict.fromkeys((
    "argsort", "sort", "fft.fft", "fft.ifft", "fft.rfft", "fft.irfft", "take_along_axis",
), -1)  # fmt: skip
ALONG |= {"expand_dims": 0, "squeeze": 0}
FLAT = {"argmax", "argmin", "cumulative_prod", "cumulative_sum"}  # None: of all elements
MATRICES = {
    "linalg.cholesky", "linalg.det", "linalg.eig", "linalg.eigh", "linalg.eigvals",
    "linalg.eigvalsh", "linalg.inv", "linalg.matrix_rank", "linalg.pinv", "linalg.qr",
    "linalg.slogdet", "linalg.svd", "linalg.svdvals", "reinterpreted", "tril", "triu",
}  # fmt: skip
IMPOSSIBLE = {
    "from_dlpack", "nonzero", "unique_all", "unique_counts", "unique_inverse", "unique_values",
}  # fmt: skip
NEW = {"arange", "empty", "eye", "full", "linspace", "ones", "zeros"}
