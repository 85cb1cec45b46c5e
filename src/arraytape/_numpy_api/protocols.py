"""Implement NumPy's dispatch protocols for Arrays: ``__array_ufunc__`` and ``__array_function__``.

NumPy calls these methods for ``np.sin(x)``, ``np.sum(x)`` and ``ndarray @ x``, and they run recorded
ops.  A function without a recorded counterpart raises a TypeError that names the function.  If such a
function computed on the raw data instead, no tape could follow its result, and nobody would notice.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .._array.array import IS_VIEW, SCALAR, Array, asarray_like, namespace
from .._array.views import current, lay_out_like, writable_copy
from .._define.operands import (
    check_one_device,
    has_own_operators,
    is_of_dask,
    list_on_device_of,
    no_array,
)
from .._record.op import REGISTRY
from .._storage.storage import DISCOVERED, STORAGES
from .._util.attach import UFUNCS_FOR
from .._util.blocks import Quiet
from .._util.errors import failure, raise_documented, see, user_line
from .._util.options import unwrap_option
from ..ops.data_type_functions import astype
from ..ops.manipulation_functions import broadcast_to
from ..ops.searching_functions import where
from . import (
    core_axes,
    emath,
    exact,
    files,
    implementations,
    linear_algebra,
    pieces,
    reductions,
    selection,
    shapes,
    sums,
    ufunc_methods,
    ufuncs,
)
from .numpy_arguments import (
    OPTIONS,
    ArrayLike,
    Casting,
    DType,
    arrays_like_first,
    assemble_argument,
    check_fits,
    host_values,
    mark_as_scalar,
    mask_of,
    write_into,
)

NUMPYS = np.generic | np.ndarray
# From NumPy's ufuncs to arraytape's functions.  The keys are the ufuncs themselves, not names, since one
# ufunc may have two names: np.arcsin is np.asin.  The ops are those of the public namespace, so that a
# user's op with the name of a NumPy ufunc does not enter the table.
UFUNCS: dict[np.ufunc, Callable[..., Any]] = {
    function: op.public
    for name, op in REGISTRY.items()
    if name in namespace().__all__
    and op.public is getattr(namespace(), name)
    and isinstance(function := getattr(np, name, None), np.ufunc)
}
UFUNCS |= {
    ufunc: exact.with_numpys_values(ufunc, ours) if ufunc in ufuncs.COMPOSED else ours
    for ufunc, ours in ufuncs.UFUNCS.items()
}
# From the names of other libraries, such as "scipy", to dicts from their ufuncs to arraytape's ops.  The
# dict of a library comes from its function in UFUNCS_FOR, which is called once.
LOADED: dict[str, Mapping[np.ufunc, Callable[..., Any]]] = {}
# The functions for ``np.add.reduce`` and the like.
REDUCTIONS: dict[np.ufunc, Callable[..., Any]] = {
    np.add: reductions.sum,
    np.logical_and: reductions.all,
    np.logical_or: reductions.any,
    np.maximum: reductions.amax,
    np.minimum: reductions.amin,
    np.multiply: reductions.prod,
}
# The modules with counterparts of NumPy's functions that the standard lacks, or has with fewer
# parameters.  The first two parameters of a counterpart are those of NumPy's function.
MODULES = (
    emath,
    files,
    implementations,
    pieces,
    linear_algebra,
    reductions,
    selection,
    shapes,
    sums,
)
COUNTERPARTS: dict[Any, Callable[..., Any]] = {
    function: ours for module in MODULES for function, ours in module.FUNCTIONS.items()
}
# Functions and parameters of NumPy that have another name in the standard.
FUNCTIONS = {"concatenate": "concat"}
PARAMETERS = {"a_max": "max", "a_min": "min"}
# Functions with a parameter ``like``; with ``like=x`` the result is on the device of x.
LIKE = {
    np.arange, np.array, np.asarray, np.empty, np.eye, np.full, np.identity, np.ones, np.zeros,
}  # fmt: skip
# Parameters that may be ignored, since they do not change the value of a result.
SILENT = frozenset(("kind", "order", "overwrite_input", "subok"))
# Functions whose results are no Arrays, such as np.shape: from NumPy's function to one for Arrays.
RESULTS_WITHOUT_ARRAYS: dict[Any, Callable[..., Any]] = {
    np.iscomplexobj: lambda x: x.dtype.kind == "c",
    np.isrealobj: lambda x: x.dtype.kind != "c",
    np.can_cast: lambda from_, to, casting="safe": np.can_cast(from_.dtype, to, casting),
    np.common_type: lambda *arrays: np.common_type(
        *[np.empty(0, x.dtype) for x in arrays_like_first(*arrays)]
    ),
    np.min_scalar_type: lambda a: np.min_scalar_type(host_values(a)),
    np.ndim: lambda a: a.ndim,
    np.shape: lambda a: a.shape,
    np.size: lambda a, axis=None: np.size(np.broadcast_to(0, a.shape), axis),
}
# Functions whose arguments may be on several devices: they compare the values, return each argument
# apart, or read shapes and dtypes.
SEPARATE = frozenset((
    np.allclose, np.array_equal, np.array_equiv, np.atleast_1d, np.atleast_2d, np.atleast_3d,
    np.broadcast_arrays, np.can_cast, np.common_type, np.ix_, np.may_share_memory, np.meshgrid,
    np.min_scalar_type, np.result_type, np.savez, np.savez_compressed, np.shares_memory,
))  # fmt: skip
# Functions that take lengths, axes or positions: there NumPy's integers fit all devices, as in ``x[i]``.
OF_LENGTHS = frozenset((
    np.array_split, np.broadcast_to, np.delete, np.dsplit, np.expand_dims, np.flip, np.hsplit,
    np.insert, np.moveaxis, np.pad, np.ravel_multi_index, np.repeat, np.reshape, np.resize, np.roll,
    np.split, np.squeeze, np.tile, np.transpose, np.unravel_index, np.vsplit,
))  # fmt: skip
# Methods of ufuncs, and functions, whose result NumPy broadcasts to the shape of ``out``.  For all
# others ``out`` must have the shape of the result.
SPREADING = {
    "__call__", "outer", np.clip, np.fix, np.nanmedian, np.nanpercentile, np.nanquantile, np.outer,
    np.percentile, np.quantile,
}  # fmt: skip
# Functions that compute in the dtype of ``out`` if they are called without ``dtype``.
SUMS = {np.cumprod, np.cumsum, np.mean, np.prod, np.sum}
# Functions whose results of shape () are arrays in NumPy.  Other functions return scalars.
OF_ARRAYS = {
    np.array, np.astype, np.block, np.broadcast_arrays, np.broadcast_to, np.copy, np.cov, np.diff,
    np.empty_like, np.expand_dims, np.fft.fftn, np.fft.ifftn, np.full_like, np.isin,
    np.lib.stride_tricks.sliding_window_view, np.linalg.tensordot, np.linalg.tensorsolve,
    np.meshgrid, np.ones_like, np.pad, np.piecewise, np.real_if_close, np.reshape, np.resize,
    np.roll, np.select, np.tensordot, np.tile, np.unique, np.unique_all,
    np.unique_inverse, np.where, np.zeros_like,
}  # fmt: skip
# Functions that return scalars for scalars, and arrays of shape () for arrays of shape ().
OF_EITHER = {np.imag, np.real, np.squeeze, np.transpose}
# The annotations that parameters of ops have if an argument may be an Array.
OF_ARRAY = {"Array", "Array | float | None", "Array | None", "Array | float"}
# NumPy's modules by the name of arraytape's extension with the same functions; "" is arraytape itself.
HOMES = {"": np, "linalg": np.linalg, "fft": np.fft}


signature = functools.lru_cache(1024)(inspect.signature)


def no_counterpart(
    name: str, why: str = "has no recorded counterpart in arraytape", home: str = "np."
) -> TypeError:
    """Return the TypeError for a call of a function of NumPy that does not work on Arrays.

    name, home : the function's name, and the module before it, such as "np.linalg.".  why : the rest of
    the message.
    """
    return TypeError(
        f"{home}{name} {why} [at {user_line()}]; use the array API's name on the Arrays, or "
        f"np.asarray first if no gradient is needed {see('numpy-function-without-counterpart')}"
    )


# --- ufuncs ------------------------------------------------------------------------------------
def array_ufunc(x: Array, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
    """Run a NumPy ufunc as a recorded op, such as for ``np.sin(x)`` and ``np.add.reduce(x)``.

    Parameters
    ----------
    ufunc : numpy.ufunc
        The ufunc.
    method : str
        "__call__", "reduce", "outer", "accumulate", "reduceat" or "at".
    *inputs : object
        The ufunc's arguments.
    **options : object
        The ufunc's keyword arguments.

    Returns
    -------
    Array
        The result.

    Raises
    ------
    TypeError
        When there is no recorded counterpart.
    """
    for value in inputs:
        kind = type(value)
        if kind is not Array and kind is not np.ndarray and not is_supported_type(kind):
            if is_of_dask(kind):
                raise no_array(ufunc.__name__, "an operand", kind)
            return NotImplemented
        # The lists in the arguments of ``at`` are indices.
        if (kind is list or kind is tuple or kind is range) and method != "at":
            inputs = tuple([list_on_device_of(ufunc.__name__, x, value) for value in inputs])
    if not options and method == "__call__" and ufunc in UFUNCS:
        y = UFUNCS[ufunc](*inputs)
        return y if type(y) is Array and y._data.shape else ufuncs.ufunc_result(y)
    try:
        if method != "__call__" and (DISCOVERED or type(x._data) is not np.ndarray):
            check_one_device(f"np.{ufunc.__name__}.{method}", x.device, inputs)
        return run_ufunc_method(ufunc, method, inputs, options)
    except Exception as error:
        raise_documented(
            error, f"np.{ufunc.__name__}.{method}".removesuffix(".__call__"), *inputs, **options
        )


def run_ufunc_method(
    ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    """Run ``np.add.reduce(x)``, ``np.add(x, y, out=z)`` and the like by a recorded op.

    method : the name of the ufunc's method; "__call__" for the ufunc itself.
    """
    outs = outs_of(ufunc, options.pop("out", ()))
    casting = options.get("casting", "same_kind")
    if method != "__call__":
        options.pop("casting", None)
    options = {
        name: value for name, value in options.items()
        if name not in SILENT and value is not np._NoValue
    }  # fmt: skip
    options |= {name: unwrap_option(options[name]) for name in OPTIONS & options.keys() - {"axes"}}
    result: Any = (
        UFUNC_METHODS[method](ufunc, inputs, options, outs) if method in UFUNC_METHODS else MISSING
    )
    if result is MISSING:
        raise missing_ufunc(ufunc, method, options)
    if not outs:
        return ufuncs.ufunc_result(result)
    write = write_broadcast if method in SPREADING else write_into
    results = result if isinstance(result, tuple) else (result,)
    found = [
        ufuncs.ufunc_result(part) if out is None else write(out, part, casting)
        for part, out in zip(results, outs, strict=True)
    ]
    return tuple(found) if len(found) > 1 else found[0]


def outs_of(ufunc: np.ufunc, outs: tuple[Any, ...]) -> tuple[Array | None, ...]:
    """Check the argument ``out=`` of a ufunc: a tuple of an Array or None for each result.

    Return the tuple, or () if all are None.  Raise TypeError for a NumPy array, since tapes cannot
    follow a write to a NumPy array.
    """
    for out in outs:
        if out is not None and not isinstance(out, Array):
            raise no_counterpart(
                ufunc.__name__, "cannot write a recorded result into a NumPy array"
            )
        if out is not None:
            selection.writable_target(ufunc.__name__, out)
    return () if all(out is None for out in outs) else outs


def call_ufunc(
    ufunc: np.ufunc, inputs: Sequence[Any], options: dict[str, Any], outs: tuple[Any, ...]
) -> Any:
    """Compute a call of a ufunc by arraytape's op; return the marker MISSING if no op has these options.

    inputs : the operands.  outs : the Arrays of ``out=``, which keep their elements where the mask
    ``where=`` is False.
    """
    function = op_of_ufunc(ufunc)
    if function is not None and ufunc.signature and not core_axes.OPTIONS.isdisjoint(options):
        asked = {name: options.pop(name) for name in core_axes.OPTIONS & {*options}}
        function = functools.partial(core_axes.with_core_axes, ufunc, function, asked)
    mask = options.get("where", True)
    into_all = bool(outs) and all(out is not None for out in outs)
    taken = {"casting", "dtype"} | ({"where"} if mask is True or into_all else set())
    if function is None or options.keys() - taken:
        return MISSING
    dtype, casting = options.get("dtype"), options.get("casting", "same_kind")
    given = inputs
    if dtype is not None or casting in ("no", "equiv", "safe"):
        inputs = in_dtype(ufunc, inputs, dtype, casting)
    if mask is True:
        y = function(*inputs)
        return y if inputs is given else as_laid_out(ufunc, given, y)
    masks = [mask_of(ufunc.__name__, out, mask) for out in outs]
    with Quiet():  # no warnings about elements outside the mask, which NumPy does not compute
        y = function(*inputs)
    parts = y if isinstance(y, tuple) else (y,)
    taken_of = [where(*each) for each in zip(masks, parts, outs, strict=True)]
    return tuple(taken_of) if len(taken_of) > 1 else taken_of[0]


def as_laid_out(ufunc: np.ufunc, uncast_inputs: Sequence[Any], y: Any) -> Any:
    """Return the result y of a ufunc in the memory layout that NumPy's result would have.

    uncast_inputs : the inputs before they were cast, which determine this layout.
    """
    arrays = [
        current(x)[1] for x in arrays_like_first(*[x for x in uncast_inputs if type(x) not in WEAK])
    ]
    if ufunc.signature or type(y) is not Array or any(type(x) is not np.ndarray for x in arrays):
        return y
    flags: Any = [*[["readonly"]] * len(arrays), ["writeonly", "allocate"]]
    kinds = [*[x.dtype for x in arrays], y.dtype]
    like = np.nditer([*arrays, None], ["zerosize_ok"], flags, kinds).operands[-1]
    return lay_out_like(y, asarray_like(y, like))


def op_of_ufunc(ufunc: np.ufunc) -> Callable[..., Any] | None:
    """Return arraytape's op for a ufunc of NumPy or of another library, such as SciPy, or None."""
    if ufunc in UFUNCS:
        return UFUNCS[ufunc]
    for library, load in UFUNCS_FOR.items():
        if library in sys.modules and library not in LOADED:
            LOADED[library] = load()
    return next((ours[ufunc] for ours in LOADED.values() if ufunc in ours), None)


def in_dtype(ufunc: np.ufunc, inputs: Sequence[Any], dtype: DType, casting: Casting) -> list[Any]:
    """Cast the inputs of a ufunc as NumPy does for the ufunc's argument ``dtype=``.

    dtype : the dtype of the result; None means any.  Raise TypeError if ``casting`` forbids a cast.
    """
    # NumPy's own code passes a class of dtypes, which np.dtype would convert to the dtype object.
    make: Any = dtype if isinstance(dtype, type(np.dtype)) else lambda: dtype and np.dtype(dtype)
    dtype = make()
    # Python's numbers stay, since their dtypes depend on the dtypes of the arrays.
    given = iter(arrays_like_first(*[x for x in inputs if type(x) not in WEAK]))
    operands = [x if type(x) in WEAK else next(given) for x in inputs]
    kinds = (*[getattr(x, "dtype", type(x)) for x in operands], *[None] * ufunc.nout)
    wanted: Any = (*[None] * ufunc.nin, *[dtype] * ufunc.nout)
    try:
        found = ufunc.resolve_dtypes(kinds, signature=wanted, casting=casting)
    except TypeError as error:
        raise failure(f"np.{ufunc.__name__}", error) from error
    if any(kind.kind not in "biufc" or kind.char in "gG" for kind in found):
        raise no_counterpart(ufunc.__name__, f"has no dtype={dtype} on Arrays")
    return [
        astype(x, kind, copy=False) if isinstance(x, Array) else x
        for x, kind in zip(operands, found, strict=False)
    ]


def run_reduce(
    ufunc: np.ufunc, inputs: tuple[Any, ...], options: dict[str, Any], outs: tuple[Any, ...]
) -> Any:
    """Run ``ufunc.reduce(*inputs, **options)``; return the marker MISSING if no op computes it.

    outs : the Array of ``out=``, whose dtype determines that of the sum.
    """
    function = REDUCTIONS.get(ufunc)
    if outs and ufunc in (np.add, np.multiply):
        options = in_dtype_of_out(inputs[0], options, *outs)
    if function is not None and options.keys() <= accepted_arguments(function)[1]:
        return function(*inputs, **{"axis": 0, **options})
    op = None if ufunc in ufunc_methods.MISREDUCED else op_of_ufunc(ufunc)
    return MISSING if op is None else ufunc_methods.ufunc_reduce(ufunc, op, *inputs, **options)


def run_outer(
    ufunc: np.ufunc, inputs: tuple[Any, ...], options: dict[str, Any], outs: tuple[Any, ...]
) -> Any:
    return call_ufunc(ufunc, ufunc_methods.outer_operands(*inputs), options, outs)


def run_accumulate(
    ufunc: np.ufunc, inputs: tuple[Any, ...], options: dict[str, Any], outs: tuple[Any, ...]
) -> Any:
    if outs and ufunc in (np.add, np.multiply):
        options = in_dtype_of_out(inputs[0], options, *outs)
    op = op_of_ufunc(ufunc)
    return MISSING if op is None else ufunc_methods.ufunc_accumulate(ufunc, op, *inputs, **options)


def run_reduceat(
    ufunc: np.ufunc, inputs: tuple[Any, ...], options: dict[str, Any], outs: tuple[Any, ...]
) -> Any:
    if outs and ufunc in (np.add, np.multiply):
        options = in_dtype_of_out(inputs[0], options, *outs)
    op = None if ufunc in ufunc_methods.MISREDUCED else op_of_ufunc(ufunc)
    return MISSING if op is None else ufunc_methods.ufunc_reduceat(ufunc, op, *inputs, **options)


def in_dtype_of_out(x: ArrayLike, options: dict[str, Any], out: Array) -> dict[str, Any]:
    """Add ``dtype=out.dtype`` to the options of a sum of x, since NumPy sums in the dtype of ``out``.

    Return the options unchanged if they have a dtype, or if x cannot be cast to that of ``out``.
    """
    if options.get("dtype") is not None or not isinstance(x, Array):
        return options
    fits = np.can_cast(x.dtype, out.dtype, "same_kind")
    return options | {"dtype": out.dtype} if fits else options


def run_at(
    ufunc: np.ufunc, inputs: tuple[Any, ...], options: dict[str, Any], outs: tuple[Any, ...]
) -> Any:
    """Run ``ufunc.at(*inputs)``, which writes to the first input, by a recorded op.

    Return the marker MISSING if the first input is no Array, or there is no op.

    options, outs : always empty for this method.
    """
    op = op_of_ufunc(ufunc)
    if op is None or not isinstance(inputs[0], Array):
        return MISSING
    return ufunc_methods.ufunc_at(ufunc, op, *inputs)


WEAK = (int, float, complex)  # Python's numbers, whose dtypes depend on those of the arrays
MISSING = object()  # returned by the functions in UFUNC_METHODS if there is no recorded counterpart
# From the name of a ufunc's method to the function (ufunc, inputs, options, outs) that runs the method.
UFUNC_METHODS: dict[str, Callable[..., Any]] = {
    "__call__": call_ufunc,
    "accumulate": run_accumulate,
    "at": run_at,
    "outer": run_outer,
    "reduce": run_reduce,
    "reduceat": run_reduceat,
}


def missing_ufunc(ufunc: np.ufunc, method: str, options: dict[str, Any]) -> TypeError:
    name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
    said = f" with {', '.join(options)}" if options else ""
    home = "np." if getattr(np, ufunc.__name__, None) is ufunc else "the ufunc "
    return no_counterpart(name + said, home=home)


def write_broadcast(out: Array, result: Array, casting: Casting = "same_kind") -> Array:
    """Write a result into the argument ``out=`` of a ufunc, broadcast to its shape; return ``out``."""
    check_fits(out, result, casting)
    if result.shape != out.shape:
        result = broadcast_to(result, np.broadcast_shapes(result.shape, out.shape))
    return write_into(out, result, casting)


# --- functions that are no ufuncs --------------------------------------------------------------
def array_function(
    x: Array, function: Callable[..., Any], types: Iterable[type], args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:  # fmt: skip
    """Run a NumPy function as a recorded op, such as for ``np.linalg.svd(x)``.

    Parameters
    ----------
    function : Callable
        The function.
    types : Collection[type]
        The types of the arguments that have ``__array_function__``.
    args : tuple
        The function's arguments.
    kwargs : dict
        The function's keyword arguments.

    Returns
    -------
    object
        The result.

    Raises
    ------
    TypeError
        When there is no recorded counterpart.
    """
    if not all(is_supported_type(kind) for kind in types):
        for kind in filter(is_of_dask, types):
            raise no_array(function.__name__, "an argument", kind)
        return NotImplemented
    try:
        if (DISCOVERED or type(x._data) is not np.ndarray) and function not in SEPARATE:
            fitting = "biu" if function in OF_LENGTHS else "b"
            check_one_device(f"np.{function.__name__}", x.device, (args, kwargs), fitting)
        result = call_numpy_function(function, *args, **kwargs)
        if function in LIKE:
            return result.to_device(x.device)
        if isinstance(result, tuple | list):
            parts = [as_numpys(function, part, args, kwargs) for part in result]
            same = all(part is before for part, before in zip(parts, result, strict=True))
            return result if same else type(result)(parts)
        return as_numpys(function, result, args, kwargs)
    except Exception as error:
        raise_documented(error, f"np.{function.__name__}", *args, **kwargs)


def as_numpys(
    function: Callable[..., Any], y: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Return y, a result of shape (), as an immutable scalar or a writable Array, as NumPy would.

    function : NumPy's function.  Functions in the table OF_ARRAYS return arrays of shape (), others
    scalars.  If y is one of the arguments in ``args`` or ``kwargs``, it stays unchanged, or is copied if
    it has to become writable.
    """
    if not isinstance(y, Array) or y.shape or function in OF_EITHER:
        return y
    for x in (*args, *kwargs.values()):
        if x is y or (isinstance(x, list | tuple) and any(part is y for part in x)):
            if function not in OF_ARRAYS or not y._state & SCALAR:
                return y
            y = writable_copy(y)  # NumPy returns an array, but the argument is a scalar
    if function not in OF_ARRAYS:
        return mark_as_scalar(y)
    if not y._state & IS_VIEW:
        y._state &= ~SCALAR
    return y


def is_supported_type(kind: type) -> bool:
    """Return True if arraytape's ops accept values of this type.

    Return False for types that wrap arrays, with units or labels: their own ``__array_ufunc__`` and
    ``__array_function__`` have to run first, and call NumPy's function again with the wrapped Arrays.
    """
    if not hasattr(kind, "__array_ufunc__") and not hasattr(kind, "__array_function__"):
        return True
    ours = issubclass(kind, Array | np.ndarray | np.generic) or kind in STORAGES
    return ours and not has_own_operators(kind)


def call_numpy_function(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Compute a NumPy function on Arrays by recorded ops.

    If the ops cannot reproduce a function's exact value, NumPy computes the value, and the ops only the
    derivative.
    """
    if function in RESULTS_WITHOUT_ARRAYS:
        return RESULTS_WITHOUT_ARRAYS[function](*args, **kwargs)
    kwargs |= {name: unwrap_option(kwargs[name]) for name in OPTIONS & kwargs.keys()}
    if any(isinstance(x, NUMPYS) and not x.ndim for x in args[1:]):
        args = with_plain_options(function, args)
    if kwargs.get("out") is None and exact.needs_numpys_value(function, args):
        run = functools.partial(compute_by_ops, function, *args, **kwargs)
        return exact.compute_by_numpy(function, run, args, kwargs)
    return compute_by_ops(function, *args, **kwargs)


def with_plain_options(function: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the positional arguments of a call of a NumPy function, with plain numbers as options.

    Python's numbers replace NumPy's.  For example, ``np.sum(x, np.int64(0))`` becomes ``np.sum(x, 0)``.
    """
    try:
        names = list(signature(function).parameters)
    except ValueError:  # the function is written in C, and its parameters are unknown
        return args
    return tuple([
        unwrap_option(x) if isinstance(x, np.bool_) or name in OPTIONS else x
        for x, name in itertools.zip_longest(args, names[: len(args)], fillvalue="")
    ])  # fmt: skip


def compute_by_ops(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Compute a NumPy function by its entry in the table COUNTERPARTS, or by the op of the same name."""
    name, ours = function.__name__, COUNTERPARTS.get(function)
    if ours is None:
        ours = op_of_numpy_function(function)
    args = tuple([assemble_argument(function, x) for x in args])
    kwargs = {parameter: assemble_argument(function, x) for parameter, x in kwargs.items()}
    if function in COUNTERPARTS and not kwargs and len(args) <= 2:  # see MODULES: these fit
        return ours(*args)
    try:
        given = signature(function).bind(*args, **kwargs)
    except ValueError:
        # np.where has no signature, nor has any function in C before NumPy 2.4.  Their parameters are
        # the op's, but for ``out``.
        out = kwargs.pop("out", None)
        args = tuple(arrays_for_lists(ours, args))
        if out is None:
            return ours(*args, **kwargs)
        selection.writable_target(name, out)
        if "out" in accepted_arguments(ours)[1]:
            return ours(*args, out=out, **kwargs)
        return write_into(out, ours(*args, **kwargs))
    out = given.arguments.pop("out", None)
    if out is not None:
        selection.writable_target(name, out)
        if function in SUMS:
            given.arguments |= in_dtype_of_out(given.arguments["a"], given.arguments, out)
    positional: Any = given.args
    options = given.kwargs
    if function not in implementations.FUNCTIONS:
        positional, options = match_arguments(name, given, ours)
        if out is not None and "out" in accepted_arguments(ours)[1]:
            return ours(*positional, out=out, **options)
        positional = arrays_for_lists(ours, positional)
    result = ours(*positional, **options)
    if out is None:
        return result
    return (write_broadcast if function in SPREADING else write_into)(out, result)


def arrays_for_lists(ours: Callable[..., Any], positional: Sequence[Any]) -> list[Any]:
    """Convert lists among the arguments of an op to Arrays where its annotations ask for arrays.

    ours : the op.  positional : its positional arguments, which are returned.
    """
    if not any(isinstance(x, list | tuple) for x in positional):
        return list(positional)
    home = next((x for x in positional if isinstance(x, Array)), None)
    given = iter(signature(ours).parameters.values())
    parameter, found = next(given), []
    for x in positional:
        is_list = isinstance(x, list | tuple) and parameter.annotation in OF_ARRAY
        found.append(arrays_like_first(home, x)[1] if is_list else x)
        parameter = (
            parameter if parameter.kind is parameter.VAR_POSITIONAL else next(given, parameter)
        )
    return found


def match_arguments(
    name: str, bound: inspect.BoundArguments, ours: Callable[..., Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Convert the arguments of a call of NumPy's function to positional and keyword arguments of an op.

    name : NumPy's function, for messages.  bound : its arguments.  ours : the op.

    Raise TypeError for an argument for which the op has no parameter.  Arguments that equal NumPy's
    default or do not change values (the table SILENT) are left out instead.
    """
    places, named, takes_any = accepted_arguments(ours)
    positional: list[Any] = []
    options: dict[str, Any] = {}
    for i, (parameter, p) in enumerate(bound.signature.parameters.items()):
        if parameter not in bound.arguments:
            continue
        value, parameter = bound.arguments[parameter], PARAMETERS.get(parameter, parameter)
        silent = is_default(value, p.default)
        if p.kind is p.VAR_POSITIONAL:
            positional += value
        elif p.kind is p.VAR_KEYWORD:
            options |= value
        elif parameter in named:
            if not silent:
                options[parameter] = value
        elif i == len(positional) and i < places and p.kind is not p.KEYWORD_ONLY:
            positional.append(value)
        elif silent or value is None:
            continue
        elif takes_any:
            options[parameter] = value
        elif parameter in SILENT:
            continue
        else:
            raise no_counterpart(name, f"has a parameter {parameter!r} that arraytape's lacks")
    return positional, options


@functools.lru_cache(1024)
def accepted_arguments(function: Callable[..., Any]) -> tuple[float, set[str], bool]:
    """Return which arguments a function accepts, from its signature.

    The result has the number of positional parameters (infinite for ``*args``), the names of parameters
    that may be keywords, and True if there is ``**kwargs``.
    """
    parameters = signature(function).parameters.values()
    places = sum(p.kind not in (p.KEYWORD_ONLY, p.VAR_KEYWORD) for p in parameters)
    named = {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    kinds = {p.kind for p in parameters}
    more = inspect.Parameter.VAR_POSITIONAL in kinds
    return (math.inf if more else places), named, inspect.Parameter.VAR_KEYWORD in kinds


def is_default(value: Any, default: Any) -> bool:
    """Return True if an argument equals the parameter's default in NumPy's function."""
    if value is default or value is np._NoValue:
        return True
    return (
        type(value) is type(default) and type(value) in (bool, float, int, str) and value == default
    )


def op_of_numpy_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the op that has the name of NumPy's ``function``; raise TypeError if there is none.

    Only functions of NumPy's main namespace, linalg and fft have one: ``np.char.add``, for example, is
    not the op ``add``.
    """
    name = function.__name__
    chapter = next((path for path, home in HOMES.items() if vars(home).get(name) is function), None)
    if chapter is None:
        raise no_counterpart(name, home=f"{function.__module__}.")
    ours = FUNCTIONS.get(name, name)
    if ours not in own_names(chapter):
        raise no_counterpart(name, home=f"np.{chapter}." if chapter else "np.")
    found: Callable[..., Any] = getattr(chapter_of_namespace(chapter), ours)
    return found


def chapter_of_namespace(chapter: str) -> Any:
    """Return the namespace ``arraytape`` if ``chapter`` is "", else its extension, such as "linalg"."""
    return getattr(namespace(), chapter) if chapter else namespace()


@functools.cache
def own_names(chapter: str) -> frozenset[str]:
    """Return the names in ``__all__`` of the namespace, or of its extension ``chapter``.

    The names that ``find_numpys`` adds from NumPy are not among them.

    chapter : "linalg" or "fft" for that extension, "" for the namespace itself.
    """
    return frozenset(chapter_of_namespace(chapter).__all__)


PROTOCOLS = {"__array_function__": array_function, "__array_ufunc__": array_ufunc}
