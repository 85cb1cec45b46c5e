"""arraytape: a differentiable array API namespace.

``import arraytape as xp`` gives a Python array API namespace whose every op is recorded on the
gradient tapes that are active in the thread, with tf.GradientTape's semantics.  The constants and data
types are defined in this file.  Everything else is imported at its first use, so that the import of the
package is fast.

PYTEST_DONT_REWRITE
"""

import sys as _sys
import typing as _typing
from importlib import import_module as _import_module

import numpy as _np
from numpy import e, inf, nan, pi

from . import _numpy_hook  # noqa: F401  (it attaches methods to Array)
from ._array.array import PUBLIC as _PUBLIC
from ._storage.storage import ON_DEMAND as _STORAGES
from ._util import fork_hooks as _fork_hooks  # noqa: F401  (it registers hooks)
from ._util.attach import CONTAINERS_FOR as _CONTAINERS_FOR
from ._util.attach import RULES_FOR as _RULES_FOR
from ._util.attach import UFUNCS_FOR as _UFUNCS_FOR
from ._util.errors import missing_from as _missing_from
from ._util.locks import LOADING as _LOADING
from ._version import __version__

if _typing.TYPE_CHECKING:
    from . import (
        checkpoint,
        diagnose,
        distributed,
        functional,
        implicit,
        interop,
        nn,
        optimizers,
        replay,
        special,
        standard,
        testing,
    )
    from ._array.array import Array
    from ._custom.gradient import custom_gradient, grad_pass_through
    from ._custom.host import host_function, numpy_function
    from ._custom.recompute import recompute_grad
    from ._define.define_op import define_op, no_gradient, register_gradient, stop_gradient
    from ._exits.modes import set_exits
    from ._storage.info import __array_namespace_info__, set_default_device
    from ._tape.accumulator import ForwardAccumulator
    from ._tape.arguments import UnconnectedGradients
    from ._tape.tape import GradientTape
    from ._util.container_kinds import register_nesting
    from ._util.errors import LostGradientError, TapeWarning
    from ._util.versions import show_versions
    from .functional.derivatives import (
        grad,
        hessian,
        jacfwd,
        jacobian,
        jacrev,
        value_and_grad,
    )
    from .functional.products import gauss_newton_product, hvp, jvp, linearize, vhp, vjp
    from .functional.sparse import sparse_hessian, sparse_jacobian
    from .functional.vmap import vmap
    from .module import Module
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
        reinterpreted,  # noqa: F401  (not public: rules call it)
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
        logaddexp2,
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
        power_derivative,  # noqa: F401  (not public: rules call it)
        real,
        reciprocal,
        remainder,
        round,
        sign,
        signbit,
        sin,
        sinc_derivative,  # noqa: F401  (not public: rules call it)
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
        cofactors,  # noqa: F401  (not public: rules call it)
        inverse_again,  # noqa: F401  (not public: rules call it)
        matmul,
        matmul_adjoint,  # noqa: F401  (not public: rules call it)
        matrix_transpose,
        solve_again,  # noqa: F401  (not public: rules call it)
        tensordot,
        vecdot,
        window_correlation,  # noqa: F401  (not public: nn calls it)
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
        sum_adjoint,  # noqa: F401  (not public: rules call it)
        var,
    )
    from .ops.utility_functions import all, any, diff
    from .replay import function
    from .variable import IndexedSlices, Variable

    # Names of NumPy's own API, for type checkers.  ``_numpy_api/names.py`` makes the objects, and a test
    # compares the names.
    _numpys: _typing.Any = None
    absolute = allclose = amax = amin = angle = append = apply_along_axis = _numpys
    apply_over_axes = arccos = arccosh = arcsin = arcsinh = arctan = arctan2 = _numpys
    arctanh = argpartition = argwhere = around = array = array2string = _numpys
    array_equal = array_equiv = array_repr = array_split = array_str = _numpys
    asanyarray = asarray_chkfinite = ascontiguousarray = asfortranarray = _numpys
    atleast_1d = atleast_2d = atleast_3d = average = bartlett = base_repr = _numpys
    binary_repr = bitwise_not = blackman = block = bool_ = broadcast = byte = _numpys
    c_ = cbrt = cdouble = choose = column_stack = common_type = _numpys
    complexfloating = compress = concatenate = conjugate = convolve = copy = _numpys
    copyto = corrcoef = correlate = cov = cross = csingle = cumprod = cumsum = _numpys
    deg2rad = degrees = delete = diag_indices = diag_indices_from = diagflat = _numpys
    diagonal = digitize = divmod = dot = double = dsplit = dstack = dtype = _numpys
    ediff1d = einsum_path = errstate = euler_gamma = exp2 = extract = fabs = _numpys
    fill_diagonal = fix = flatnonzero = fliplr = flipud = float_power = _numpys
    floating = fmax = fmin = fmod = format_float_positional = _numpys
    format_float_scientific = frexp = frombuffer = fromfile = fromfunction = _numpys
    fromiter = fromstring = gcd = generic = genfromtxt = geomspace = _numpys
    get_printoptions = geterr = gradient = half = hamming = hanning = _numpys
    heaviside = histogram = histogram2d = histogram_bin_edges = histogramdd = _numpys
    hsplit = hstack = i0 = identity = index_exp = indices = inexact = inner = _numpys
    insert = int_ = intc = integer = interp = intersect1d = intp = invert = _numpys
    isclose = iscomplex = iscomplexobj = isneginf = isposinf = isreal = _numpys
    isrealobj = isscalar = issubdtype = iterable = ix_ = kaiser = kron = lcm = _numpys
    ldexp = left_shift = lexsort = lib = load = loadtxt = long = longlong = _numpys
    mask_indices = matvec = may_share_memory = mgrid = min_scalar_type = _numpys
    mintypecode = mod = modf = nan_to_num = nanargmax = nanargmin = nancumprod = _numpys
    nancumsum = nanmax = nanmean = nanmedian = nanmin = nanpercentile = _numpys
    nanprod = nanquantile = nanstd = nansum = nanvar = ndarray = ndim = _numpys
    ndindex = number = ogrid = outer = partition = percentile = piecewise = _numpys
    place = poly = poly1d = polyadd = polyder = polydiv = polyfit = polyint = _numpys
    polymul = polysub = polyval = power = printoptions = promote_types = ptp = _numpys
    put = put_along_axis = putmask = quantile = r_ = rad2deg = radians = ravel = _numpys
    ravel_multi_index = real_if_close = resize = right_shift = rint = rollaxis = _numpys
    roots = rot90 = s_ = save = savetxt = savez = savez_compressed = select = _numpys
    set_printoptions = setdiff1d = seterr = setxor1d = shape = shares_memory = _numpys
    short = signedinteger = sinc = single = size = sort_complex = split = _numpys
    swapaxes = trace = transpose = trapezoid = tri = tril_indices = _numpys
    tril_indices_from = trim_zeros = triu_indices = triu_indices_from = _numpys
    true_divide = ubyte = uint = uintc = uintp = ulong = ulonglong = union1d = _numpys
    unique = unravel_index = unsignedinteger = unwrap = ushort = vander = vdot = _numpys
    vecmat = vectorize = vsplit = vstack = _numpys

__all__ = [
    # arrays, tapes, derivatives
    "Array", "IndexedSlices", "Variable", "Module", "function",
    "GradientTape", "ForwardAccumulator", "UnconnectedGradients",
    "LostGradientError", "TapeWarning", "gauss_newton_product", "grad", "hessian", "hvp", "jacfwd",
    "jacobian", "jacrev", "jvp", "linearize", "sparse_hessian", "sparse_jacobian", "value_and_grad",
    "vhp", "vjp", "vmap",
    # rules and functions of one's own
    "custom_gradient", "define_op", "grad_pass_through", "host_function", "no_gradient",
    "numpy_function", "recompute_grad", "register_gradient", "register_nesting", "stop_gradient",
    # modules
    "checkpoint", "diagnose", "distributed", "fft", "functional", "implicit", "interop", "linalg", "nn",
    "optimizers", "replay", "special", "standard", "testing",
    # inspection and devices
    "__array_api_version__", "__array_namespace_info__", "__version__", "set_default_device",
    "set_exits", "show_versions",
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
    "less", "less_equal", "log", "log1p", "log2", "log10", "logaddexp", "logaddexp2", "logical_and",
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
newaxis = None
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


def _cupy() -> _typing.Any:
    return _import_module("._storage.cupy", __name__).storage()


_STORAGES.update(cupy=_cupy, cuda=_cupy)
_CONTAINERS_FOR.update(
    pandas=lambda: _import_module("._dataframes.pandas_tables", __name__),
    polars=lambda: _import_module("._dataframes.polars_tables", __name__),
)
_UFUNCS_FOR["scipy.special"] = lambda: _import_module(".special", __name__).ufuncs()
for _library in ("pandas.core.construction", "scipy._lib._array_api"):
    _RULES_FOR[_library] = lambda: _import_module(".interop._statements", __name__).install(
        "dispatched"
    )


# The chapters of the standard, as modules of ``arraytape.ops``.  The first use of any op imports all.
_CHAPTERS = (
    "creation_functions",
    "data_type_functions",
    "elementwise_functions",
    "indexing_functions",
    "linear_algebra_functions",
    "manipulation_functions",
    "searching_functions",
    "sorting_functions",
    "statistical_functions",
    "utility_functions",
)
# Ops that are not public.  Rules call them through the namespace.
_FOR_RULES = (
    "cofactors", "inverse_again", "matmul_adjoint", "power_derivative", "reinterpreted",
    "sinc_derivative", "solve_again", "sum_adjoint", "window_correlation",
)  # fmt: skip
# _MODULES: from public modules to their import paths.  _HOMES: from other public names to the modules
# that define them.
_MODULES = {
    name: f".{name}"
    for name in (
        "checkpoint", "diagnose", "distributed", "functional", "implicit", "interop", "nn", "optimizers",
        "replay", "special", "standard", "testing",
    )
} | {"fft": ".ops.fft", "linalg": ".ops.linalg"}  # fmt: skip
_NAMES = {
    "._array.array": ("Array",),
    "._custom.gradient": ("custom_gradient", "grad_pass_through"),
    "._custom.host": ("host_function", "numpy_function"),
    "._custom.recompute": ("recompute_grad",),
    "._define.define_op": ("define_op", "no_gradient", "register_gradient", "stop_gradient"),
    "._exits.modes": ("set_exits",),
    "._storage.info": ("__array_namespace_info__", "set_default_device"),
    "._tape.accumulator": ("ForwardAccumulator",),
    "._tape.arguments": ("UnconnectedGradients",),
    "._tape.tape": ("GradientTape",),
    "._util.container_kinds": ("register_nesting",),
    "._util.errors": ("LostGradientError", "TapeWarning"),
    "._util.versions": ("show_versions",),
    ".functional.derivatives": (
        "grad", "hessian", "jacfwd", "jacobian", "jacrev", "value_and_grad",
    ),
    ".functional.products": ("gauss_newton_product", "hvp", "jvp", "linearize", "vhp", "vjp"),
    ".functional.sparse": ("sparse_hessian", "sparse_jacobian"),
    ".functional.vmap": ("vmap",),
    ".module": ("Module",),
    ".ops.extras": ("bincount", "diag", "einsum", "logspace", "median", "pad"),
    ".ops.set_functions": (
        "isin", "unique_all", "unique_counts", "unique_inverse", "unique_values",
    ),
    ".replay": ("function",),
    ".variable": ("IndexedSlices", "Variable"),
}  # fmt: skip
_HOMES = {name: home for home, names in _NAMES.items() for name in names}


def _ops() -> dict[str, _typing.Any]:
    """Import the modules ``arraytape.ops``, put their ops into the namespace, and return {name: op}."""
    chapters = [vars(_import_module(f".ops.{chapter}", __name__)) for chapter in _CHAPTERS]
    names = {*__all__, *_FOR_RULES} - {*_MODULES, *_HOMES}
    found = {name: chapter[name] for chapter in chapters for name in names & chapter.keys()}
    for name, function in found.items():
        globals().setdefault(name, function)
    return found


if not _typing.TYPE_CHECKING:  # for a type checker, a ``__getattr__`` would define any name
    _missing = _missing_from(__name__, "namespace", "")

    def __getattr__(name):
        # One thread at a time: see ``LOADING`` in ``_util/locks.py``.
        with _LOADING:
            if name in _MODULES:
                found = _import_module(_MODULES[name], __name__)
            elif name in _HOMES:
                _import_module(".ops", __name__)
                found = getattr(_import_module(_HOMES[name], __name__), name)
            elif name in __all__ or name in _FOR_RULES:
                found = _ops()[name]
            else:
                found = _missing(name)
            return globals().setdefault(name, found)


def __dir__() -> list[str]:
    """Return the names of ``__all__``, without NumPy's further names such as "concatenate"."""
    return sorted(__all__)
