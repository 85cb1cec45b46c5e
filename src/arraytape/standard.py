"""The array API standard's part of the namespace, for tests of code that must not use other names.

``arraytape`` also has names of its own and NumPy's names, such as "grad" and "concatenate".  This module
has the names of the standard 2025.12 alone, as have its ``linalg`` and ``fft``.  The functions are the
same.

>>> import arraytape
>>> from arraytape import standard as xp
>>> xp.concat is arraytape.concat
True
>>> hasattr(arraytape, "concatenate"), hasattr(xp, "concatenate")
(True, False)
"""

import sys
from types import ModuleType
from typing import Any

from ._array.array import namespace

NAMES = (
    "__array_api_version__", "__array_namespace_info__", "abs", "acos", "acosh", "add", "all", "any",
    "arange", "argmax", "argmin", "argsort", "asarray", "asin", "asinh", "astype", "atan", "atan2",
    "atanh", "bitwise_and", "bitwise_invert", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift",
    "bitwise_xor", "bool", "broadcast_arrays", "broadcast_shapes", "broadcast_to", "can_cast", "ceil",
    "clip", "complex128", "complex64", "concat", "conj", "copysign", "cos", "cosh", "count_nonzero",
    "cumulative_prod", "cumulative_sum", "diff", "divide", "e", "empty", "empty_like", "equal", "exp",
    "expand_dims", "expm1", "eye", "fft", "finfo", "flip", "float32", "float64", "floor",
    "floor_divide", "from_dlpack", "full", "full_like", "greater", "greater_equal", "hypot", "iinfo",
    "imag", "inf", "int16", "int32", "int64", "int8", "isdtype", "isfinite", "isin", "isinf", "isnan",
    "less", "less_equal", "linalg", "linspace", "log", "log10", "log1p", "log2", "logaddexp",
    "logical_and", "logical_not", "logical_or", "logical_xor", "matmul", "matrix_transpose", "max",
    "maximum", "mean", "meshgrid", "min", "minimum", "moveaxis", "multiply", "nan", "negative",
    "newaxis", "nextafter", "nonzero", "not_equal", "ones", "ones_like", "permute_dims", "pi",
    "positive", "pow", "prod", "real", "reciprocal", "remainder", "repeat", "reshape", "result_type",
    "roll", "round", "searchsorted", "sign", "signbit", "sin", "sinh", "sort", "sqrt", "square",
    "squeeze", "stack", "std", "subtract", "sum", "take", "take_along_axis", "tan", "tanh",
    "tensordot", "tile", "tril", "triu", "trunc", "uint16", "uint32", "uint64", "uint8", "unique_all",
    "unique_counts", "unique_inverse", "unique_values", "unstack", "var", "vecdot", "where", "zeros",
    "zeros_like",
)  # fmt: skip
EXTENSIONS = ("linalg", "fft")
__all__ = list(NAMES)


def extension(whole: Any) -> ModuleType:
    """Return a module with the standard's names of ``linalg`` or ``fft``.

    whole : the module of arraytape, which also has NumPy's names.
    """
    found = ModuleType(whole.__name__.replace(whole.__package__, __name__), whole.__doc__)
    vars(found).update({name: getattr(whole, name) for name in whole.__all__})
    vars(found).update(__all__=whole.__all__, __dir__=whole.__dir__)
    return found


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    """Return arraytape's object ``name``; raise AttributeError if the standard lacks that name."""
    if name not in NAMES:
        message = f"module {__name__!r} has no attribute {name!r}: the standard has no such name"
        raise AttributeError(message, name=name, obj=sys.modules[__name__])
    found = getattr(namespace(), name)
    return globals().setdefault(name, extension(found) if name in EXTENSIONS else found)
