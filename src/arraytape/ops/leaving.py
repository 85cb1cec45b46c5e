"""Methods of Array that convert to Python scalars, NumPy arrays, DLPack, text and pickles.

A conversion that returns the value (float(x), np.asarray(x), DLPack, a pickle) is an *exit*: no gradient
passes through it.  So the tapes that follow the value record the exit, for the warning about a gradient
of None.  ``bool(x)`` and the use as an index are not recorded, because they only select code to run or
elements to read.
"""

from __future__ import annotations

import copyreg
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .._array.array import SCALAR, Array, wrap
from .._array.exits import leave_tapes
from .._array.views import current, export, keep_data, peek, pin
from .._record.mode_stack import MODES, notify_exported
from .._record.stack import recorders
from .._storage.storage import storage_of
from .._util.array_types import RawArray
from .._util.attach import attach
from .._util.errors import describe, entrance, failure, see, user_line
from .._util.html import facts_table
from .creation_functions import copied
from .indexing_functions import INDICES
from .manipulation_functions import reshape

if TYPE_CHECKING:
    import numpy.typing as npt


def host(x: Array) -> Any:
    """Return the current values of x as a NumPy array.

    If x is a Variable, tapes are not notified of a read of it.
    """
    data = peek(x)
    return storage_of(data).host(data)


def scalar(x: Array, kind: Callable[[Any], Any], name: str, silent: bool = False) -> Any:
    """Return the only element of x as a Python scalar.

    kind : the conversion, such as ``float``.  name : the name of the conversion in messages.
    silent : False to tell tapes that follow x of the conversion, since they cannot follow the scalar.
    """
    try:
        value = kind(host(x))
    except Exception as error:
        advice = "; take one element of it, or reduce it to one" if x.size != 1 else ""
        end = f"{advice} {see('one-element')}"
        raise failure(f"{name}() of {describe(x)}", error, end) from error
    if not silent:
        leave_tapes(x, f"{name}()")
    return value


def to_float(x: Array) -> float:
    """Convert a real array of shape () to a float; the value leaves the tape.

    Returns
    -------
    float
        The value.

    Raises
    ------
    TypeError
        When the array has an axis, or is complex.
    """
    return scalar(x, float, "float")


def to_complex(x: Array) -> complex:
    """Convert an array of shape () to a complex number; the value leaves the tape.

    Returns
    -------
    complex
        The value.

    Raises
    ------
    TypeError
        When the array has an axis.
    """
    return scalar(x, complex, "complex")


def to_int(x: Array) -> int:
    """Convert a real array of shape () to an integer; the value leaves the tape.

    Returns
    -------
    int
        The value, rounded towards zero.

    Raises
    ------
    TypeError
        When the array has an axis, or is complex.
    ValueError
        When the value is NaN.
    OverflowError
        When the value is infinite.
    """
    return scalar(x, int, "int")


def to_bool(x: Array) -> bool:
    """Test the truth of an array with one element.

    Returns
    -------
    bool
        True if the element is not 0.

    Raises
    ------
    ValueError
        When the array does not have one element.
    """
    return scalar(x, bool, "bool", silent=True)


def to_index(x: Array) -> int:
    """Convert an integer array of shape () to an index.

    Returns
    -------
    int
        The value.

    Raises
    ------
    TypeError
        When the array has an axis, or no integer dtype.
    """
    if not INDICES:  # from now on, slices in keys may contain Arrays
        INDICES.append(None)
    return scalar(x, operator.index, "index", silent=True)


def to_numpy(
    x: Array, dtype: npt.DTypeLike | None = None, copy: bool | None = None
) -> np.ndarray[Any, Any]:
    """Convert to a NumPy array: ``np.asarray(x)``.

    If no tape has followed the value of x, the result shares the memory of x, as for NumPy's arrays:
    writes of NumPy or C code to the result change x.  A recorded value must not change, so a followed
    value is copied, and writes to the copy do not change x.  If a gradient is None because of the
    conversion, a warning names its line.  Also copied are data of other libraries than NumPy, data that
    is cast, and 0-d results of ops, which are immutable in NumPy.

    Parameters
    ----------
    dtype : dtype | None, default: None
        A dtype to cast to.
    copy : bool | None, default: None
        True: always copy.  False: share the memory, even if a tape follows x.  None: see above.

    Returns
    -------
    numpy.ndarray
        The values.

    Raises
    ------
    TypeError
        When copy is neither a bool nor None.
    ValueError
        When copy is False, but a copy is needed.
    """
    if copy is not None and not isinstance(copy, bool | np.bool):
        raise TypeError(
            f"np.asarray: copy must be True, False or None, got {describe(copy)} [at {user_line()}]"
        )
    data = leave_tapes(x, "np.asarray()")
    here = type(data) is np.ndarray
    if copy is False:
        if not here:
            raise ValueError(
                f"np.asarray: {describe(x)} is not in the host's memory, and copy=False "
                f"[at {user_line()}]; leave copy=False out {see('copy-is-needed')}"
            )
        return np.array(export(x, firm=True), dtype=dtype, copy=False)
    try:
        cast = dtype is not None and np.dtype(dtype) != x.dtype
    except Exception as error:  # ``dtype`` is not a dtype
        raise failure(f"np.asarray({describe(x)}, dtype={describe(dtype)})", error) from error
    is_copy = copy or cast or x._state & SCALAR or current(x)[0]
    if here and not is_copy:
        return export(x, firm=False)
    value = np.array(host(x), dtype=dtype, copy=True)
    if MODES and not is_copy:
        notify_exported(x, value)
    return value


def numpy_array(x: Array) -> np.ndarray[Any, Any]:
    """Convert to a NumPy array, as ``np.asarray(x)`` does.

    pandas' and xarray's objects have a method of this name, too, so code may call it on any of them.

    Returns
    -------
    numpy.ndarray
        The values.

    Examples
    --------
    >>> import arraytape as xp
    >>> xp.asarray([1.0, 2.0]).to_numpy()
    array([1., 2.])
    """
    # Matplotlib looks for this method.  Without it, ax.hist(x) would treat the rows of a matrix as data
    # sets, not the columns.
    return to_numpy(x)


@entrance
def rounded(x: Array, ndigits: Any = None) -> Any:
    """Round to a number of decimal digits, as ``numpy.round`` does.

    Parameters
    ----------
    ndigits : int | None, default: None
        The number of digits after the decimal point; -1 rounds to tens, -2 to hundreds.

    Returns
    -------
    Array | int
        An Array of the shape and dtype of x.  Without ``ndigits`` and for a 0-d array, a Python int, as
        for NumPy's scalars; the value then leaves the tape.
    """
    if ndigits is None and not x.shape:
        return scalar(x, lambda value: round(value.item()), "round")
    return np.round(x, 0 if ndigits is None else operator.index(ndigits))  # type: ignore[call-overload]


def item(x: Array, *index: Any) -> Any:
    """Convert one element to a Python scalar; the value leaves the tape.

    Parameters
    ----------
    *index : int or tuple of int
        The index of the element: an index in the flattened array, or one for each axis.  Without an
        index the array must have one element.

    Returns
    -------
    bool | int | float | complex
        The value.

    Raises
    ------
    ValueError
        When there is no index and the array does not have one element.
    IndexError
        When there is no such element.

    Examples
    --------
    >>> import arraytape as xp
    >>> xp.asarray([[1.0, 2.0]]).item(0, 1)
    2.0
    """
    if index:
        at = index[0] if len(index) == 1 else index
        x = x[at] if isinstance(at, tuple) else reshape(x, (-1,))[at]
    return scalar(x, operator.methodcaller("item"), "item")


def tolist(x: Array) -> Any:
    """Convert to nested lists of Python scalars; the values leave the tape.

    Returns
    -------
    list
        The values; a Python scalar for an array of shape ().

    Examples
    --------
    >>> import arraytape as xp
    >>> xp.asarray([[1.0, 2.0]]).tolist()
    [[1.0, 2.0]]
    """
    leave_tapes(x, "tolist()")
    return host(x).tolist()


@entrance
def dlpack(
    x: Array,
    /,
    *,
    stream: Any = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[Any, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """Export the data through DLPack.  The value leaves the tape; memory is shared unless copied.

    Parameters
    ----------
    stream : object, default: None
        The stream of the caller, as for the ``__dlpack__`` method of NumPy's or CuPy's arrays.
    max_version : tuple[int, int] | None, default: None
        The newest version of DLPack that the caller supports.
    dl_device : tuple | None, default: None
        The device that the caller requests.
    copy : bool | None, default: None
        True: always copy.  False: never copy.  None: copy if necessary.

    Returns
    -------
    capsule
        An object for ``from_dlpack`` of another library.

    Raises
    ------
    BufferError
        When the data cannot be exported with these arguments.
    """
    data = leave_tapes(x, "dlpack")
    if copy is not True:
        data = pin(x)
    return storage_of(data).to_dlpack(
        data, stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
    )


@entrance
def arrow_stream(x: Array, requested_schema: Any = None) -> Any:
    """Export a copy of the data through Arrow's PyCapsule protocol, which polars reads; see ``dlpack``.

    Parameters
    ----------
    requested_schema : capsule | None, default: None
        The types that the caller requests.

    Returns
    -------
    capsule
        A stream of one column, or of one for each column of an Array of two dimensions.

    Raises
    ------
    TypeError
        When the data is complex, or polars, which makes the stream, is not installed.
    """
    if x.dtype.kind == "c":
        raise TypeError(
            f"pass the real and the imaginary part: Arrow has no complex numbers, got {describe(x)} "
            f"[at {user_line()}]"
        )
    try:
        from .._dataframes.polars_tables import stream_of_columns
    except ImportError as error:
        raise TypeError(
            f"pass np.asarray(x), or install polars, which makes Arrow's stream of {describe(x)}: "
            f"{error} [at {user_line()}]"
        ) from error
    return stream_of_columns(to_numpy(x, copy=True), requested_schema)


def dlpack_device(x: Array, /) -> tuple[Any, int]:
    """Return the type and the number of the device as DLPack defines them.

    Returns
    -------
    tuple[int, int]
        The device type and the device number.
    """
    return x._data.__dlpack_device__()


def representation(x: Array) -> str:
    """Return the repr: values, dtype, device, and "followed" if a recorder followed the value.

    Returns
    -------
    str
        The text.
    """
    leave_as_text(x, "repr()")
    value_id, data = current(x)
    if storage_of(data).many:  # batched data, under vmap
        body = repr(data)
    else:
        body = np.array2string(host(x), separator=", ", prefix="Array(")
    return f"Array({body}, dtype={x.dtype}, device={x.device!r}{', followed' if value_id else ''})"


def html_of_array(x: Array) -> str:
    """Return a table of shape, dtype and device, with the values, for notebooks.

    Returns
    -------
    str
        The table as HTML.
    """
    value_id, _ = current(x)
    facts = {"shape": x.shape, "dtype": x.dtype, "device": x.device}
    facts["followed by a tape"] = "yes" if value_id else "no"
    return facts_table("Array", facts, text(x))


def leave_as_text(x: Array, how: str) -> None:
    """Record the conversion of x to text, unless x is a Variable that nothing read so far.

    Showing such a Variable is no read of it, which would make tapes watch it.
    """
    if type(x) is Array or any(x._value_id in recorder.followed for recorder in recorders()):
        leave_tapes(x, how)


def formatted(x: Array, spec: str) -> str:
    """Format the value of an array of shape (), or the text of another array: ``format(x, spec)``.

    Parameters
    ----------
    spec : str
        A format specification for Python scalars, or for a str if the array has an axis.

    Returns
    -------
    str
        The text.
    """
    leave_as_text(x, "format()")
    data = host(x)
    if not data.shape:
        return format(data[()], spec)
    try:
        return format(str(data), spec)
    except ValueError:
        one = "x.item()" if data.size == 1 else f"x[{', '.join('0' * data.ndim)}]"
        raise TypeError(
            f"format: take one element, as in f'{{{one}:{spec}}}', or np.round of the array; the format "
            f"{spec!r} is one of numbers, and the array is {describe(x)} [at {user_line()}]"
        ) from None


def text(x: Array) -> str:
    """Return the values as text: ``str(x)``.

    Returns
    -------
    str
        The text.
    """
    leave_as_text(x, "str()")
    return repr(x) if storage_of(x._data).many else str(host(x))


def rebuild(data: RawArray) -> Array:
    """Return a new Array, which no tape follows, from the raw data in a pickle."""
    return wrap(data)


def reduce(x: Array) -> tuple[Any, ...]:
    """Return ``rebuild`` and the tuple of its argument, for ``pickle`` (``__reduce__``).

    Tapes that follow x record that its value leaves them.  ``pickle`` may read the data only after a
    later write to x.  So the data is marked as shared, and the write copies it first.
    """
    leave_tapes(x, "pickle")
    return rebuild, (keep_data(x),)


def sizeof(x: Array) -> int:
    """Return the bytes of the object and its data, for ``sys.getsizeof``.

    Returns
    -------
    int
        The number of bytes; for a view, with the elements that the view shows.
    """
    return object.__sizeof__(x) + x.dtype.itemsize * x.size


def duplicate(x: Array, memo: Any = None) -> Array:
    """Return a recorded copy for ``copy.copy`` and ``copy.deepcopy``.

    The copy is recorded because libraries copy their arguments and compute with the copy, as
    scikit-learn's ``clone`` does with parameters.

    Parameters
    ----------
    memo : object, default: None
        The argument of ``copy.deepcopy``; not used.

    Returns
    -------
    Array
        A recorded copy.
    """
    return copied(x)


copyreg.pickle(Array, reduce)
METHODS = {
    "__array__": to_numpy,
    "__arrow_c_stream__": arrow_stream,
    "__bool__": to_bool,
    "__complex__": to_complex,
    "__copy__": duplicate,
    "__deepcopy__": duplicate,
    "__dlpack__": dlpack,
    "__dlpack_device__": dlpack_device,
    "__float__": to_float,
    "__format__": formatted,
    "__index__": to_index,
    "__int__": to_int,
    "__repr__": representation,
    "__round__": rounded,
    "__sizeof__": sizeof,
    "__str__": text,
    "_repr_html_": html_of_array,
    "item": item,
    "to_numpy": numpy_array,
    "tolist": tolist,
}
attach(Array, METHODS)
