"""The names of the array API standard 2025.12 by chapter."""

import operator

STANDARD = {
    "creation": """arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid
        ones ones_like tril triu zeros zeros_like""",
    "data type": "astype can_cast finfo iinfo isdtype result_type",
    "elementwise": """abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift
        bitwise_invert bitwise_or bitwise_right_shift bitwise_xor ceil clip conj copysign cos cosh
        divide equal exp expm1 floor floor_divide greater greater_equal hypot imag isfinite isinf
        isnan less less_equal log log1p log2 log10 logaddexp logical_and logical_not logical_or
        logical_xor maximum minimum multiply negative nextafter not_equal positive pow real
        reciprocal remainder round sign signbit sin sinh square sqrt subtract tan tanh trunc""",
    "indexing": "take take_along_axis",
    "linear algebra": "matmul matrix_transpose tensordot vecdot",
    "manipulation": """broadcast_arrays broadcast_shapes broadcast_to concat expand_dims flip
        moveaxis permute_dims repeat reshape roll squeeze stack tile unstack""",
    "searching": "argmax argmin count_nonzero nonzero searchsorted where",
    "set": "isin unique_all unique_counts unique_inverse unique_values",
    "sorting": "argsort sort",
    "statistical": "cumulative_prod cumulative_sum max mean min prod std sum var",
    "utility": "all any diff",
    "constants": "e inf nan newaxis pi",
    "dtypes": """bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64
        complex128""",
    "inspection": "__array_namespace_info__ __array_api_version__",
    "linalg": """cholesky cross det diagonal eig eigh eigvals eigvalsh inv matmul matrix_norm
        matrix_power matrix_rank matrix_transpose outer pinv qr slogdet solve svd svdvals tensordot
        trace vecdot vector_norm""",
    "fft": """fft ifft fftn ifftn rfft irfft rfftn irfftn hfft ihfft fftfreq rfftfreq fftshift
        ifftshift""",
}
SIZES = {"elementwise": 67, "creation": 16, "manipulation": 15, "linalg": 25, "fft": 14}
NOT_FUNCTIONS = ("constants", "dtypes", "inspection")
NAMES = [
    (f"{chapter}." if chapter in ("linalg", "fft") else "") + name
    for chapter, names in STANDARD.items()
    for name in names.split()
]
FUNCTIONS = [
    name
    for name in NAMES
    if not any(name in STANDARD[chapter].split() for chapter in NOT_FUNCTIONS)
]
ATTRIBUTES = ["dtype", "device", "mT", "ndim", "shape", "size", "T"]
METHODS = [
    "__array_namespace__", "__bool__", "__complex__", "__dlpack__", "__dlpack_device__", "__float__",
    "__getitem__", "__index__", "__int__", "__setitem__", "to_device",
]  # fmt: skip
UNARY = ["__abs__", "__invert__", "__neg__", "__pos__"]
COMPARISONS = ["__eq__", "__ge__", "__gt__", "__le__", "__lt__", "__ne__"]
BINARY = [
    "add", "and", "floordiv", "lshift", "matmul", "mod", "mul", "or", "pow", "rshift", "sub",
    "truediv", "xor",
]  # fmt: skip
OPERATORS = [f"__{prefix}{name}__" for name in BINARY for prefix in ("", "r", "i")]
DTYPES = STANDARD["dtypes"].split()


def found(module, name):
    return operator.attrgetter(name)(module)


def is_followed(x):
    return "followed" in repr(x)
