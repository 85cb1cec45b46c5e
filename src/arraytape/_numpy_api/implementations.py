"""Run the Python code of NumPy's functions, such as ``np.gradient``, on Arrays.

The *program* of a function is its Python code in the installed NumPy.  The program accepts all keywords,
and returns NumPy's values bit for bit.  The NumPy functions that it calls dispatch to arraytape's ops by
``__array_function__``, and are recorded.  Functions that make arrays, such as ``asarray`` and ``empty``,
do not dispatch.  So the program runs with copied globals, in which these functions make Arrays.
"""

from __future__ import annotations

import contextvars
import functools
import numbers
import types
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from .._array.array import Array
from .._array.views import current, order_of, with_axes_in_memory
from .._define.define_op import stop_gradient
from .._storage.storage import storage_of
from .._util import errors
from .._util.blocks import Setting
from .._util.container_kinds import mapped_leaves
from ..ops import creation_functions as creation
from ..ops.data_type_functions import astype
from ..ops.elementwise_functions import root_of_variance, sqrt
from ..ops.manipulation_functions import reshape
from ..ops.searching_functions import where
from ..ops.writing import setitem
from . import exact, one_by_one, sums
from .numpy_arguments import (
    ArrayLike,
    Axis,
    DType,
    NoValue,
    ShapeLike,
    assemble_argument,
    assembled,
    complex_from_parts,
)
from .reshaped_names import code_that_reshapes

NUMBERS = "biufc"  # the kinds of dtypes that hold numbers and booleans
NEWTON_STEPS = 3  # for np.roots: derivatives are then right up to the seventh order
# The device of the arguments of the running call, on which new Arrays are made.
DEVICE: contextvars.ContextVar[Any] = contextvars.ContextVar("DEVICE", default=None)


# --- replacements for NumPy's functions in programs -----------------------------------------------
def asarray_in_program(
    a: ArrayLike, dtype: DType = None, *layout: Any, copy: bool | None = None, **options: Any
) -> Any:
    """Replace ``np.asarray`` while NumPy's Python code runs on Arrays: return an Array.

    Return a NumPy array if no Array can hold the dtype, for example strings.
    layout, options : further arguments of ``np.asarray``, which are ignored.
    """
    a = assembled(a)
    if isinstance(a, Array):
        found = a if dtype is None else astype(a, dtype, copy=False)
        return creation.copied(found) if copy and found is a else found
    # NumPy would store a Fraction as an object.
    if isinstance(a, numbers.Rational) and not isinstance(a, numbers.Integral):
        a = float(a)
    made = np.asarray(a, dtype)
    if made.dtype.kind not in NUMBERS or made.dtype.char in "gG":
        return made
    return creation.asarray(made, device=DEVICE.get(), copy=copy)


def array_in_program(
    a: ArrayLike, dtype: DType = None, *, copy: bool | None = True, ndmin: int = 0, **layout: Any
) -> Any:
    made = asarray_in_program(a, dtype, copy=copy)
    return reshape(made, (1,) * (ndmin - made.ndim) + made.shape) if ndmin > made.ndim else made


def array_maker(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return NumPy's ``function``, such as ``np.zeros``, wrapped so that it makes an Array."""
    return lambda *args, **options: asarray_in_program(function(*args, **options))


def empty(*args: Any, **options: Any) -> Any:
    """Replace ``np.empty`` while NumPy's Python code runs on Arrays: make an Array of zeros.

    For integers make a NumPy array, since NumPy's code uses integer arrays for lengths.
    """
    made = np.zeros(*args, **options)  # zeros, because a replay needs the same values in each call
    return made if made.dtype.kind in "iu" else asarray_in_program(made)


def full_in_program(
    shape: ShapeLike, fill_value: ArrayLike, dtype: DType = None, **layout: Any
) -> Any:
    """Replace ``np.full`` while NumPy's Python code runs on Arrays.

    The Array that it makes has gradients with respect to ``fill_value``.
    """
    value = asarray_in_program(fill_value)
    made = asarray_in_program(np.zeros(shape, value.dtype if dtype is None else dtype))
    made[...] = value
    return made


class Converter:
    """A replacement for ``_array_converter``, to which NumPy's code passes arguments to convert them.

    given : the arguments, which are converted to Arrays.
    """

    def __init__(self, *given: Any) -> None:
        self.given = given
        self.arrays = tuple([asarray_in_program(x) for x in given])

    def keep_python_numbers(self, arrays: Iterable[Any]) -> list[Any]:
        """Return ``arrays`` with the Python numbers among the arguments in their original form.

        So a Python number does not determine the dtype of a result.

        arrays : an array or dtype for each argument.
        """
        plain = (int, float, complex)
        pairs = zip(self.given, arrays, strict=True)
        return [x if type(x) in plain else other for x, other in pairs]

    def as_arrays(self, *, subok: bool = True, pyscalars: str = "convert") -> tuple[Any, ...]:
        """Return the arguments as Arrays; ``pyscalars="preserve"`` leaves Python numbers unconverted."""
        return (
            self.arrays if pyscalars == "convert" else tuple(self.keep_python_numbers(self.arrays))
        )

    def result_type(self, extra_dtype: DType = None, *, ensure_inexact: bool = False) -> Any:
        kinds = self.keep_python_numbers([x.dtype for x in self.arrays])
        kinds += [] if extra_dtype is None else [extra_dtype]
        return np.result_type(*kinds, *([0.0] if ensure_inexact else []))

    def wrap(self, arr: Array, to_scalar: bool | None = None) -> Any:
        """Return ``arr`` unchanged.  NumPy's method converts a result of shape () to a scalar here."""
        return arr

    def __getitem__(self, at: int) -> Any:
        return self.arrays[at]

    def __len__(self) -> int:
        return len(self.arrays)


class OfArrays(type):
    """The metaclass of AnyArray, for which ``isinstance(x, AnyArray)`` is True for Arrays, too."""

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, np.ndarray | Array)


class AnyArray(metaclass=OfArrays):
    """A replacement for ``np.ndarray`` in NumPy's code, so that ``isinstance`` accepts Arrays, too."""


def nan_to_num(x: ArrayLike, copy: bool = True, *more: Any, **named: Any) -> Any:
    """Compute ``numpy.nan_to_num`` of an Array x: replace NaN and infinities by numbers.

    The parts of a complex x are converted separately, since NumPy's code would write to ``x.real``.
    """
    if not isinstance(x, Array) or x.dtype.kind != "c":
        return of_numpy(np.nan_to_num)(x, copy, *more, **named)
    parts = [of_numpy(np.nan_to_num)(part(x), True, *more, **named) for part in (np.real, np.imag)]
    found = complex_from_parts(*parts)
    if copy:
        return found
    setitem(x, ..., found)
    return x


def broadcast(*arrays: Any) -> Any:
    """Return a ``numpy.broadcast`` object for Arrays, of which NumPy's code reads only the shape."""
    return np.broadcast(*[np.broadcast_to(False, np.shape(x)) for x in arrays])


def pad_without_values(
    array: Array, pad_width: Iterable[tuple[int, int]], fill_value: ArrayLike | None = None
) -> tuple[Any, tuple[slice, ...]]:
    """Enlarge an Array for ``numpy.pad``, before values are written to the new elements.

    This replaces NumPy's ``_pad_simple``, which reads ``array.flags``; no Array has flags.

    Return an enlarged Array that contains ``array``, and the slices of the region that holds it.
    pad_width : pairs of the numbers of new elements before and after each axis.
    fill_value : the value of new elements; None leaves them 0.
    """
    flags = getattr(current(array)[1], "flags", None)
    ends = [
        (left, left + n, n + left + right)
        for n, (left, right) in zip(array.shape, pad_width, strict=True)
    ]
    area = tuple([slice(start, stop) for start, stop, _ in ends])
    order: Any = "F" if flags is not None and flags.fnc else "C"
    made = asarray_in_program(np.zeros([whole for *_, whole in ends], array.dtype, order=order))
    if fill_value is not None:
        made[...] = fill_value
    made[area] = array
    return made, area


def piecewise(
    x: Any, condlist: Any, funclist: Sequence[Callable[..., Any] | ArrayLike], *args: Any,
    **kw: Any,
) -> Any:  # fmt: skip
    """Compute ``numpy.piecewise``; ``condlist`` may also be a single condition, without a list."""
    # NumPy's code assumes several conditions if condlist[0] is an ndarray.  For a single condition
    # that is an Array, condlist[0] is an Array, too, and counts as an ndarray: see AnyArray.
    several = isinstance(condlist, list | tuple) or np.ndim(condlist) > 0
    single = not several or (
        len(condlist) > 0
        and not isinstance(condlist[0], list)
        and np.ndim(condlist[0]) == 0 < np.ndim(x)
    )
    return of_numpy(np.piecewise)(
        x, [asarray_in_program(condlist)] if single else condlist, funclist, *args, **kw
    )


def nanstd(a: ArrayLike, *args: Any, **options: Any) -> Any:
    """Compute ``numpy.nanstd``; where the result is 0, its derivative is 0, as for ``std``."""
    return root_of_variance(of_numpy(np.nanvar)(a, *args, **options))


def roots_refined_by_newton(p: ArrayLike) -> Any:
    """Compute ``numpy.roots``, with derivatives also with respect to leading and trailing zeros.

    NumPy removes these coefficients of p, so the roots would not depend on them.  Newton steps, which
    start at NumPy's roots as constants, depend on all coefficients.  Each step doubles the order up to
    which derivatives are right.  The derivative of a multiple root 0 is NaN.
    """
    found = of_numpy(np.roots)(p)
    if not isinstance(p, Array) or not found.size or not bool((p[0] == 0) | (p[-1] == 0)):
        return found
    start = at = stop_gradient(found)
    for _ in range(NEWTON_STEPS):
        value = slope = 0.0 * start
        for k in range(p.size):
            slope = slope * at + value
            value = value * at + p[k]
        at = at - value / where(slope == 0, 1.0, slope)
    simple = stop_gradient(slope) != 0
    return start - where(simple, stop_gradient(at) - at, sqrt(0.0 * p[-1]))


def nan_ignoring_extremum(
    function: Callable[..., Any], extremum: Callable[..., Any], neutral: float
) -> Callable[..., Any]:
    """Return ``numpy.nanmax`` or ``nanmin`` for Arrays, with derivatives.

    function : ``np.nanmax`` or ``np.nanmin``.  extremum : ``np.max`` or ``np.min``.  neutral : -inf or
    inf, which replaces NaN before ``extremum`` is called.  NumPy's own code runs only without
    ``initial=``: if all elements of an array that is no ndarray are NaN, it ignores this option.
    """
    program, missing = of_numpy(function), np._NoValue

    @functools.wraps(function)
    def compute_extremum_but_nan(
        a: Any, axis: Axis = None, out: None = None, keepdims: bool | NoValue = missing,
        initial: Any = missing, where: ArrayLike | NoValue = missing,
    ) -> Any:  # fmt: skip
        given = {"axis": axis, "keepdims": keepdims, "where": where}
        options: dict[str, Any] = {name: x for name, x in given.items() if x is not missing}
        dtype = a.dtype if hasattr(a, "dtype") else np.asarray(a).dtype
        if initial is missing or dtype.kind not in "fc":
            return program(a, **options, initial=initial)
        missing_elements: Any = np.isnan(a)
        no_initial: Any = np.isnan(initial)
        may_be_nan = isinstance(no_initial, Array) or bool(no_initial)
        start: Any = np.where(no_initial, neutral, initial) if may_be_nan else initial
        y = extremum(np.where(missing_elements, neutral, a), initial=start, **options)
        if not may_be_nan:
            return y
        return np.where(np.all(missing_elements, **options) & no_initial, np.nan, y)

    return compute_extremum_but_nan


def nan_ignoring_quantile(
    function: Callable[..., Any], plain: Callable[..., Any]
) -> Callable[..., Any]:
    """Return ``np.nanquantile`` or ``np.nanpercentile`` for Arrays.

    NumPy's code for ``function`` processes one 1-D slice of the array after another.  If the array holds
    no NaN, the faster function ``plain``, such as ``np.quantile``, computes the result instead.
    """
    of_lines, of_all = of_numpy(function), of_numpy(plain)

    @functools.wraps(function)
    def compute_quantile_by_lines(a: ArrayLike, q: Any, *args: Any, **options: Any) -> Any:
        # Replace overwrite_input=True by False, since a recorded input must not change.
        args, options = (*args[:2], *[False] * len(args[2:3]), *args[3:]), {**options}
        options.pop("overwrite_input", None)
        data = current(a)[1] if isinstance(a, Array) else None
        whole = type(data) is np.ndarray and data.dtype.kind == "f" and bool(data.size)
        if not whole or np.ndim(q) > 1 or storage_of(data).has_nan(data):
            return of_lines(a, q, *args, **options)
        y = of_all(a, q, *args, **options)
        # NumPy computes slice by slice, so that the quantiles of a 1-D slice are adjacent in memory.
        return with_axes_in_memory(y, (*range(1, y.ndim), 0)) if np.ndim(q) else y

    return compute_quantile_by_lines


def nanmedian_of_lines(
    a: Any, axis: int = -1, out: None = None, overwrite_input: bool = False
) -> Any:
    """Return the median of the elements that are not NaN, along the axis.

    This replaces ``_nanmedian_small`` of ``numpy.nanmedian``, which uses a masked array.
    """
    ordered: Any = np.sort(a, axis=axis)  # NaN is sorted to the end
    order: Any = order_of(ordered)[:1] or "K"  # the mask of NumPy's masked array has this layout
    count = np.sum(np.copy(~np.isnan(a), order=order), axis=axis, keepdims=True)
    for _ in range(np.count_nonzero(count == 0)):
        warnings.warn("All-NaN slice encountered", RuntimeWarning, stacklevel=errors.stacklevel())
    places = np.concatenate([np.maximum(count - 1, 0) // 2, count // 2], axis=axis)
    return np.sum(np.take_along_axis(ordered, places, axis=axis), axis=axis) / 2.0


def i0(x: Any) -> Any:
    """Compute ``numpy.i0``; where abs(x) < 1, the derivative is that of a power series.

    NumPy's code computes with abs(x), whose corner at 0 would make the second derivative wrong there.
    The series is formula 9.6.12 in Abramowitz and Stegun; 16 terms are exact in double precision where
    abs(x) < 1.
    """
    x = asarray_in_program(x)
    y = of_numpy(np.i0)(x)
    if x.dtype.kind != "f":
        return y
    near = np.abs(x) < 1.0
    squares = np.where(near, x, 0.0) ** 2
    series: Any = 1.0
    for k in range(16, 0, -1):
        series = 1.0 + squares * series / (4.0 * k * k)
    return np.where(near, with_value_of(y, series), y)


def corrcoef(
    x: ArrayLike, y: ArrayLike | None = None, rowvar: bool = True, *deprecated: Any, **options: Any
) -> Any:
    """Compute ``numpy.corrcoef``, so that its final clip to [-1, 1] does not set derivatives to 0."""
    if deprecated or options.keys() - {"dtype"}:
        return of_numpy(np.corrcoef)(x, y, rowvar, *deprecated, **options)
    found: Any = of_numpy(np.cov)(x, y, rowvar, **options)
    if not found.ndim:
        return found / found
    deviation = np.sqrt(np.diag(found).real)
    found = found / deviation[:, None] / deviation[None, :]
    clipped = np.clip(found.real, -1, 1)
    if found.dtype.kind == "c":
        clipped = clipped + 1j * np.clip(found.imag, -1, 1)
    return with_value_of(clipped, found)


def with_value_of(value: Array, formula: Array) -> Any:
    """Return ``value`` with the derivatives of ``formula``; the two differ only in rounding errors.

    The added difference is -0.0 where they are equal, since adding 0.0 would turn -0.0 into 0.0.
    """
    fixed: Any = stop_gradient(formula)
    value = stop_gradient(value)
    return formula + np.where(value == fixed, -0.0, value - fixed)


def private(path: str) -> Any:
    """Return NumPy's private object at a dotted path such as "_core._methods._var", or None."""
    found: Any = np
    for name in path.split("."):
        found = getattr(found, name, None)
    return found


# From objects in the globals of NumPy's Python code to their replacements.
REPLACED: dict[Any, Any] = {
    np.arange: array_maker(np.arange),
    np.array: array_in_program,
    np.asanyarray: asarray_in_program,
    np.asarray: asarray_in_program,
    np.ascontiguousarray: asarray_in_program,
    np.asfortranarray: asarray_in_program,
    np.broadcast: broadcast,
    np.empty: empty,
    np.full: full_in_program,
    np.ndarray: AnyArray,
    np.ones: array_maker(np.ones),
    np.zeros: array_maker(np.zeros),
    private("_core._multiarray_umath._array_converter"): Converter,
    private("_core._multiarray_umath.interp"): sums.interp,
    private("_core._multiarray_umath.interp_complex"): sums.interp,
    private("lib._arraypad_impl._pad_simple"): pad_without_values,
    private("lib._nanfunctions_impl._nanmedian_small"): nanmedian_of_lines,
    private("linalg._linalg._makearray"): lambda a: (asarray_in_program(a), lambda found: found),
}


# --- programs with copied globals -----------------------------------------------------------------
class Warnings:
    """A replacement for the module ``warnings`` in NumPy's code: warnings name the user's line.

    It issues no warning that NumPy has issued already.
    """

    def warn(
        self, message: str, category: type[Warning] | None = None, stacklevel: int = 1, **more: Any
    ) -> None:
        """Issue a warning that names the user's line, in place of ``warnings.warn``.

        Do nothing while ``exact.WARNED`` is True: then NumPy's own function has issued the warning.

        The parameters are those of ``warnings.warn``.
        """
        if not exact.WARNED.get():
            warnings.warn(message, category, stacklevel=errors.stacklevel(), **more)

    def __getattr__(self, name: str) -> Any:
        return getattr(warnings, name)


class Module:
    """A replacement for a module of NumPy, such as ``np.linalg``, among the globals of NumPy's code.

    When an attribute is first read, a version that works on Arrays replaces it.
    """

    def __init__(self, module: types.ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        found = replace_numpys_global(getattr(self._module, name))
        setattr(self, name, found)
        return found


class Program:
    """A function of NumPy that is written in Python, such as ``np.gradient``, and runs on Arrays.

    The first call makes a copy of the function, with globals whose functions make Arrays.
    """

    def __init__(self, function: types.FunctionType) -> None:
        self.function = function
        self.ready: Callable[..., Any] | None = None

    def __call__(self, *args: Any, **options: Any) -> Any:
        if self.ready is None:
            self.ready = rebound(self.function)
        return self.ready(*args, **options)


class DispatchingFunction:
    """A replacement, in NumPy's code, for a NumPy function that has ``__array_function__`` dispatch.

    Lists of Arrays among the arguments are joined to Arrays first, since NumPy does not dispatch on
    them.  NumPy arrays in the result are converted to Arrays.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, *args: Any, **options: Any) -> Any:
        given = [assemble_argument(self.function, x) for x in args]
        named = {name: assemble_argument(self.function, x) for name, x in options.items()}
        return as_results(self.function(*given, **named))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.function, name)


# NumPy's ``_var`` squares deviations of the complex dtypes in this table in place, in a view as real
# numbers.  In the copied globals the table is empty, so that ``_var`` multiplies by the conjugate.
COMPLEX = private("_core._methods._complex_to_float")
GLOBALS: dict[str, dict[str, Any]] = {}  # from the name of a module of NumPy to its copied globals


def rebound(function: types.FunctionType) -> Callable[..., Any]:
    """Return a copy of a NumPy function that runs on Arrays: functions in its globals make Arrays.

    For example, its ``asarray`` returns an Array.
    """
    home = function.__globals__
    if home["__name__"] not in GLOBALS:
        GLOBALS[home["__name__"]] = {
            name: value if name.startswith("__") else replace_numpys_global(value)
            for name, value in home.items()
        }  # fmt: skip
    made = types.FunctionType(
        code_that_reshapes(function.__code__), GLOBALS[home["__name__"]], function.__name__,
        function.__defaults__, function.__closure__,
    )  # fmt: skip
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def replace_numpys_global(value: Any) -> Any:
    """Return the replacement for a value among the globals of NumPy's code, such as its ``asarray``.

    With the replacements NumPy's code runs on Arrays.  Return ``value`` itself if it needs none.
    """
    if value is None:
        return None
    if value is warnings:
        return Warnings()
    if isinstance(value, types.ModuleType):
        # np.ma makes masked arrays, which have no counterpart.
        plain = value.__name__.partition(".")[0] != "numpy" or value.__name__ == "numpy.ma"
        return value if plain else Module(value)
    if value is COMPLEX:
        return {}
    if type(value) is dict:
        return {key: replace_numpys_global(part) for key, part in value.items()}
    if type(value).__hash__ is not None and not isinstance(value, tuple) and value in REPLACED:
        return REPLACED[value]
    if hasattr(value, "_implementation"):
        return DispatchingFunction(value)
    if isinstance(value, types.FunctionType) and (value.__module__ or "").startswith("numpy"):
        return Program(value)
    return value


def of_numpy(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that runs the Python code of a public NumPy function on Arrays."""
    implementation: types.FunctionType = function._implementation  # type: ignore[attr-defined]
    call: Callable[..., Any] = functools.wraps(function)(program_of(implementation))
    return call


def program_of(function: types.FunctionType) -> Callable[..., Any]:
    """Return a function that runs the code of a NumPy function on Arrays, also under ``vmap``.

    function : the Python function itself, without NumPy's dispatch.
    """
    program, name = Program(function), f"np.{function.__name__}"

    def run_numpys_program(*args: Any, **options: Any) -> Any:
        given, named = as_results((args, options))
        return as_results(program(*given, **named))

    def call_numpys_program(*args: Any, **options: Any) -> Any:
        home = next((x.device for x in one_by_one.iterate_arrays((args, options))), DEVICE.get())
        try:
            with Setting(DEVICE, home):
                return one_by_one.together_or_one_by_one(name, run_numpys_program, args, options)
        except Exception as error:
            if not raised_by_numpy(error):
                raise
            kept = errors.ON_PURPOSE
            raise errors.failure(name, error, verb="", kept=kept) from error

    return call_numpys_program


def raised_by_numpy(error: Exception) -> bool:
    """Return True if the innermost frame of the error's traceback is in NumPy's code.

    The message of such an error names no function and no line of the user, so the caller adds them.
    """
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_code.co_filename.startswith(errors.NUMPY)


def as_results(value: Any) -> Any:
    """Convert the results of NumPy's code to Arrays: NumPy arrays and scalars in nested containers.

    Integer scalars stay, because they may be lengths.
    """
    return mapped_leaves(value, lambda x: (
        asarray_in_program(x) if isinstance(x, np.ndarray | np.inexact | np.bool) else x
    ))  # fmt: skip


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    function: of_numpy(function)
    for function in (
        np.apply_over_axes, np.cov, np.einsum_path, np.fill_diagonal, np.fix, np.geomspace,
        np.gradient, np.histogram, np.histogram2d, np.histogram_bin_edges, np.histogramdd,
        np.interp, np.intersect1d, np.ix_, np.linalg.matrix_power, np.linalg.matrix_rank,
        np.linalg.multi_dot, np.linalg.tensorinv, np.linspace, np.logspace, np.nanmean,
        np.nanmedian, np.nanvar, np.pad, np.percentile, np.poly, np.polyadd, np.polyder, np.polydiv,
        np.polyfit, np.polyint, np.polysub, np.polyval, np.quantile, np.real_if_close, np.resize,
        np.setdiff1d, np.setxor1d, np.sort_complex, np.trapezoid, np.trim_zeros, np.union1d,
        np.unwrap, np.vander,
    )
} | {
    np.corrcoef: corrcoef,
    np.i0: i0,
    np.nan_to_num: nan_to_num,
    np.nanmax: nan_ignoring_extremum(np.nanmax, np.max, -np.inf),
    np.nanmin: nan_ignoring_extremum(np.nanmin, np.min, np.inf),
    np.nanpercentile: nan_ignoring_quantile(np.nanpercentile, np.percentile),
    np.nanquantile: nan_ignoring_quantile(np.nanquantile, np.quantile),
    np.nanstd: nanstd,
    np.piecewise: piecewise,
    np.roots: roots_refined_by_newton,
}  # fmt: skip
