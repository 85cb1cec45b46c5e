"""arraytape: a differentiable array API namespace.

``import arraytape as xp`` gives a Python array API namespace whose every op is recorded on the
gradient tapes that are active in the thread, with tf.GradientTape's semantics.
"""

import sys as _sys
import typing as _typing
from collections.abc import Sequence as _Sequence
from importlib import import_module as _import_module

import numpy as _np

from . import functional
from ._array.array import PUBLIC as _PUBLIC
from ._array.array import Array
from ._custom.gradient import custom_gradient, grad_pass_through
from ._custom.host import host_function, numpy_function
from ._custom.recompute import recompute_grad
from ._define.define_op import define_op, no_gradient, register_gradient, stop_gradient
from ._exits.messages import HAS_RULE as _HAS_RULE
from ._exits.modes import set_exits
from ._storage.info import __array_namespace_info__, set_default_device
from ._tape.accumulator import ForwardAccumulator
from ._tape.arguments import UnconnectedGradients
from ._tape.tape import GradientTape
from ._util.containers import register_nesting
from ._util.errors import LostGradientError, TapeWarning
from ._util.errors import unknown_name as _unknown_name
from ._version import __version__
from .functional.derivatives import grad, hessian, hvp, jacobian, jvp, value_and_grad, vjp
from .functional.vmap import vmap
from .ops import fft, linalg
from .ops.creation_functions import (
    arange,
    asarray,
    empty,
    empty_like,
    eye,
    from_dlpack,
    full,
    full_like,
    linspace,
    meshgrid,
    ones,
    ones_like,
    tril,
    triu,
    zeros,
    zeros_like,
)
from .ops.data_type_functions import (
    astype,
    can_cast,
    finfo,
    iinfo,
    isdtype,
    reinterpreted,  # noqa: F401  (not public: rules ask the namespace for it)
    result_type,
)
from .ops.elementwise_functions import (
    abs,
    acos,
    acosh,
    add,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    bitwise_and,
    bitwise_invert,
    bitwise_left_shift,
    bitwise_or,
    bitwise_right_shift,
    bitwise_xor,
    ceil,
    clip,
    conj,
    copysign,
    cos,
    cosh,
    divide,
    equal,
    exp,
    expm1,
    floor,
    floor_divide,
    greater,
    greater_equal,
    hypot,
    imag,
    isfinite,
    isinf,
    isnan,
    less,
    less_equal,
    log,
    log1p,
    log2,
    log10,
    logaddexp,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    multiply,
    negative,
    nextafter,
    not_equal,
    positive,
    pow,
    power_derivative,  # noqa: F401  (not public: rules ask the namespace for it)
    real,
    reciprocal,
    remainder,
    round,
    sign,
    signbit,
    sin,
    sinc_derivative,  # noqa: F401  (not public: rules ask the namespace for it)
    sinh,
    sqrt,
    square,
    subtract,
    tan,
    tanh,
    trunc,
)
from .ops.extras import bincount, diag, einsum, logspace, median, pad
from .ops.indexing_functions import scatter_add, take, take_along_axis
from .ops.linear_algebra_functions import (
    cofactors,  # noqa: F401  (not public: rules ask the namespace for it)
    inverse_again,  # noqa: F401  (as cofactors)
    matmul,
    matrix_transpose,
    solve_again,  # noqa: F401  (as cofactors)
    tensordot,
    vecdot,
)
from .ops.manipulation_functions import (
    broadcast_arrays,
    broadcast_shapes,
    broadcast_to,
    concat,
    expand_dims,
    flip,
    moveaxis,
    permute_dims,
    repeat,
    reshape,
    roll,
    squeeze,
    stack,
    tile,
    unstack,
)
from .ops.searching_functions import argmax, argmin, count_nonzero, nonzero, searchsorted, where
from .ops.set_functions import isin, unique_all, unique_counts, unique_inverse, unique_values
from .ops.sorting_functions import argsort, sort
from .ops.statistical_functions import (
    cumulative_prod,
    cumulative_sum,
    max,
    mean,
    min,
    prod,
    std,
    sum,
    var,
)
from .ops.utility_functions import all, any, diff

# Imported for what they attach: the first to the storages, the others to the Array.
from ._storage import cupy as _cupy  # noqa: F401  # isort: skip
from .ops import leaving as _leaving  # noqa: F401  # isort: skip
from .ops import operators as _operators  # noqa: F401  # isort: skip
from . import _numpy_hook  # noqa: F401  # isort: skip

from .variable import Variable  # isort: skip

if _typing.TYPE_CHECKING:
    from . import checkpoint, diagnose, interop, nn, optimizers, replay, special, testing
    from .module import Module
    from .replay import function

__all__ = [
    # arrays, tapes, derivatives
    "Array", "Variable", "Module", "function",
    "GradientTape", "ForwardAccumulator", "UnconnectedGradients",
    "LostGradientError", "TapeWarning", "grad", "hessian", "hvp", "jacobian", "jvp",
    "value_and_grad", "vjp", "vmap",
    # rules and functions of one's own
    "custom_gradient", "define_op", "grad_pass_through", "host_function", "no_gradient",
    "numpy_function", "recompute_grad", "register_gradient", "register_nesting", "stop_gradient",
    # modules
    "checkpoint", "diagnose", "fft", "functional", "interop", "linalg", "nn", "optimizers", "replay",
    "special", "testing",
    # inspection and devices
    "__array_api_version__", "__array_namespace_info__", "__version__", "set_default_device",
    "set_exits",
    # constants and data types
    "e", "inf", "nan", "newaxis", "pi", "bool", "complex64", "complex128", "float16", "float32",
    "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    # creation_functions
    "arange", "asarray", "empty", "empty_like", "eye", "from_dlpack", "full", "full_like",
    "linspace", "meshgrid", "ones", "ones_like", "tril", "triu", "zeros", "zeros_like",
    # data_type_functions
    "astype", "can_cast", "finfo", "iinfo", "isdtype", "result_type",
    # elementwise_functions
    "abs", "acos", "acosh", "add", "asin", "asinh", "atan", "atan2", "atanh", "bitwise_and",
    "bitwise_invert", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor",
    "ceil", "clip", "conj", "copysign", "cos", "cosh", "divide", "equal", "exp", "expm1", "floor",
    "floor_divide", "greater", "greater_equal", "hypot", "imag", "isfinite", "isinf", "isnan",
    "less", "less_equal", "log", "log1p", "log2", "log10", "logaddexp", "logical_and",
    "logical_not", "logical_or", "logical_xor", "maximum", "minimum", "multiply", "negative",
    "nextafter", "not_equal", "positive", "pow", "real", "reciprocal", "remainder", "round", "sign",
    "signbit", "sin", "sinh", "sqrt", "square", "subtract", "tan", "tanh", "trunc",
    # extras
    "bincount", "diag", "einsum", "logspace", "median", "pad",
    # indexing_functions
    "scatter_add", "take", "take_along_axis",
    # linear_algebra_functions
    "matmul", "matrix_transpose", "tensordot", "vecdot",
    # manipulation_functions
    "broadcast_arrays", "broadcast_shapes", "broadcast_to", "concat", "expand_dims", "flip",
    "moveaxis", "permute_dims", "repeat", "reshape", "roll", "squeeze", "stack", "tile", "unstack",
    # searching_functions
    "argmax", "argmin", "count_nonzero", "nonzero", "searchsorted", "where",
    # set_functions
    "isin", "unique_all", "unique_counts", "unique_inverse", "unique_values",
    # sorting_functions
    "argsort", "sort",
    # statistical_functions
    "cumulative_prod", "cumulative_sum", "max", "mean", "min", "prod", "std", "sum", "var",
    # utility_functions
    "all", "any", "diff",
]  # fmt: skip

__array_api_version__ = "2025.12"
e, inf, nan, pi, newaxis = _np.e, _np.inf, _np.nan, _np.pi, None
bool = _np.bool
int8 = _np.int8
int16 = _np.int16
int32 = _np.int32
int64 = _np.int64
uint8 = _np.uint8
uint16 = _np.uint16
uint32 = _np.uint32
uint64 = _np.uint64
float16 = _np.float16  # beyond the standard
float32 = _np.float32
float64 = _np.float64
complex64 = _np.complex64
complex128 = _np.complex128

_PUBLIC.append(_sys.modules[__name__])


# Imported at their first use: importing the package must not take long.
_ON_DEMAND = (
    "checkpoint", "diagnose", "interop", "nn", "optimizers", "replay", "special", "testing",
)  # fmt: skip


def _has_rule(functions: _Sequence[str]) -> _typing.Any:
    """Whether interop has a rule for one of a library's functions, for messages about exits."""
    return _import_module(".interop._statements", __name__).has_rule(functions)


_HAS_RULE.update(scipy=_has_rule, sklearn=_has_rule)

if not _typing.TYPE_CHECKING:  # a type checker would take any name for one that is there

    def __getattr__(name):
        if name in _ON_DEMAND:
            return _import_module(f".{name}", __name__)
        if name == "Module":
            from .module import Module

            globals()[name] = Module
            return Module
        if name == "function":
            return globals().setdefault(name, _import_module(".replay", __name__).function)
        message = f"module {__name__!r} has no attribute {name!r}"
        raise _unknown_name(message, name, _sys.modules[__name__], "namespace")


def __dir__() -> list[str]:
    """What is public."""
    return sorted(__all__)
