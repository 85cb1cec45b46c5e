"""arraytape: a differentiable array API namespace.

``import arraytape as xp`` gives a Python array API namespace whose every op is recorded on the
gradient tapes that are active in the thread, with tf.GradientTape's semantics.
"""

import sys as _sys
from typing import NoReturn as _NoReturn

import numpy as _np

from ._array import array
from ._array.array import Array
from ._custom.gradient import custom_gradient, grad_pass_through
from ._custom.host import host_function, numpy_function
from ._custom.recompute import recompute_grad
from ._define.define_op import define_op, no_gradient, register_gradient, stop_gradient
from ._storage import cupy
from ._storage.info import __array_namespace_info__, set_default_device
from ._tape.accumulator import ForwardAccumulator
from ._tape.arguments import UnconnectedGradients
from ._tape.tape import GradientTape
from ._util.containers import register_nesting
from ._util.errors import TapeWarning
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
    reinterpreted,
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
    real,
    reciprocal,
    remainder,
    round,
    sign,
    signbit,
    sin,
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
from .ops.linear_algebra_functions import cofactors, matmul, matrix_transpose, tensordot, vecdot
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

# These complete the Array.
from .ops import foreign_names as _foreign_names  # isort: skip
from .ops import leaving as _leaving  # isort: skip
from .ops import operators as _operators  # isort: skip
from ._numpy_api import protocols as _numpy_protocols  # isort: skip

from .variable import Variable  # isort: skip

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

array.PUBLIC.append(_sys.modules[__name__])


def __getattr__(name: str) -> _NoReturn:
    message = f"module {__name__!r} has no attribute {name!r}"
    raise _unknown_name(message, name, _sys.modules[__name__], "namespace")
