"""Data type functions: casting, moving to a device, promotion and inspection of dtypes."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .._array.array import SCALAR, Array
from .._array.views import current
from .._define.words import composite, linear, sample, without_derivative
from .._storage import storage as storages
from .._storage.batched.batched_data import plain
from .._storage.numpy_storage import NUMPY
from .._storage.storage import is_known, storage_at, storage_of
from .._util.errors import entrance, explain, short_repr, user_line

if TYPE_CHECKING:
    import numpy.typing as npt

    # The docstring of each function says what None means.
    DType: TypeAlias = npt.DTypeLike | None
    Device: TypeAlias = Hashable | None


@linear(
    transpose=lambda g, dtype: g,  # the backward pass casts g to the dtype of x
    samples=(sample((3, 4), dtype=np.dtype("float64")), sample((2,), dtype=np.dtype("complex128"))),
    origin="inner",
    signature="()->()",
    in_order=True,
    scalars=False,
)
def cast(x: Array, /, dtype: npt.DTypeLike) -> Array:
    """Copy x with another dtype."""


def _moved_vjp(g, source):
    """Return g, moved to the device of x.

    It is the cotangent of x for the cotangent g of a copy of x on another device.

    source : the device of x.
    """
    # The rule has no parameter xp, the namespace for g's array library, because x may be of another
    # library.
    return moved(g, source) if isinstance(g, Array) else storages.moved_between(g, source)


@linear(
    moves=True,
    transpose=_moved_vjp,
    saves={"source": lambda x, storage: storage.device(x)},
    samples=(sample((3, 4), device="cpu"),),
    origin="inner",
    signature="()->()",
)
def moved(x: Array, /, device: Hashable) -> Array:
    """Copy x to another device."""


def move_if_needed(x: Array, device: Device) -> tuple[Array, bool]:
    """Return (x on ``device``, True if it was moved); a moved x is a copy that tapes record.

    device : None for the device on which x lies.
    """
    if type(x) is not Array:
        x = x._snapshot()
    if device is None:
        return x, False
    _, data = current(x)
    here = storage_of(data).beneath(data)
    if storage_at(device) is here and here.on(device) == here.on(x.device):
        return x, False
    return moved(x, device), True


@without_derivative(origin="inner", signature="()->()", scalars=False)
def discretized(x: Array, /, dtype: npt.DTypeLike) -> Array:
    """Copy x with an integer or boolean dtype."""


@composite(signature="()->()", continuous=True, in_order=True, linear_in=("x",))
def astype(x: Array, dtype: DType, /, *, copy: bool = True, device: Device = None) -> Array:
    """Cast to another dtype.

    Parameters
    ----------
    dtype
        The dtype of the result.  No gradient passes through an integer or boolean dtype.
    copy
        True to return a copy even if neither dtype nor device changes.
    device
        The device of the result, such as 'cpu' or 'cuda:0'; None: where x lies.  A move to a device
        is recorded, and the gradient is moved back to the device of x.

    Returns
    -------
    Array
        Of the shape of x.  It is x itself if nothing changes and copy is False.

    Raises
    ------
    TypeError
        When dtype is not a dtype that Arrays can have.
    """
    try:
        target = np.dtype(dtype)
    except Exception as error:
        raise explain("astype", error, x=x, dtype=dtype) from error
    if not is_known(target):
        raise no_dtype("astype", target)
    target = plain(target)
    x, came = move_if_needed(x, device)
    _, data = current(x)
    if target == data.dtype and (came or not copy):
        return x
    y = cast(x, target) if target.kind in "fc" else discretized(x, target)
    y._state |= x._state & SCALAR  # as in NumPy, a cast scalar is immutable
    return y


def no_dtype(op: str, dtype: npt.DTypeLike) -> TypeError:
    """Return the TypeError for a dtype that no Array can have.  op : the op's name, for the message."""
    return TypeError(
        f"{op}: no Array can have dtype {short_repr(dtype)} [at {user_line()}]; give a dtype of "
        "numbers or booleans, in the machine's byte order"
    )


@entrance
def isdtype(dtype: npt.DTypeLike, kind: Any) -> bool:
    """Test whether a dtype is of a kind.

    Parameters
    ----------
    dtype : dtype
        The dtype.
    kind : str | dtype | tuple[str | dtype, ...]
        A dtype, one of 'bool', 'signed integer', 'unsigned integer', 'integral',
        'real floating', 'complex floating' and 'numeric', or several of these.

    Returns
    -------
    bool
        True if the dtype is of the kind, or of one of several kinds.

    Raises
    ------
    TypeError
        When dtype is not a dtype.
    ValueError
        When there is no such kind.

    References
    ----------
    https://data-apis.org/array-api/latest/API_specification/generated/array_api.isdtype.html

    Examples
    --------
    >>> import arraytape as xp
    >>> xp.isdtype(xp.float32, "real floating")
    True
    >>> xp.isdtype(xp.int64, ("bool", "integral"))
    True
    """
    return bool(NUMPY.xp.isdtype(np.dtype(dtype), kind))


@entrance
def result_type(*arrays_and_dtypes: Any) -> Any:
    """Return the dtype of an op's result on these arguments.

    Parameters
    ----------
    *arrays_and_dtypes : Array | dtype | bool | int | float | complex
        Arrays, dtypes and Python scalars.  A scalar adopts the precision of the other arguments.

    Returns
    -------
    dtype
        The dtype to which those of the arguments promote.

    Raises
    ------
    TypeError
        When an argument is of another type.
    ValueError
        When there are no arguments.

    References
    ----------
    https://data-apis.org/array-api/latest/API_specification/generated/array_api.result_type.html

    Examples
    --------
    >>> import arraytape as xp
    >>> xp.result_type(xp.float32, xp.float64)
    dtype('float64')
    >>> xp.result_type(xp.asarray([1, 2], dtype=xp.int8), 3)
    dtype('int8')
    """
    return np.result_type(*(x.dtype if isinstance(x, Array) else x for x in arrays_and_dtypes))


@entrance
def can_cast(from_: Any, to: Any, /) -> bool:
    """Test whether values of one dtype may be cast to another by the promotion rules.

    Parameters
    ----------
    from_ : Array | dtype
        The dtype to cast from, or an Array that has it.
    to : dtype
        The dtype to cast to.

    Returns
    -------
    bool
        True if the cast is safe: float32 may be cast to float64, but not float64 to float32.

    Raises
    ------
    TypeError
        When an argument is not a dtype.

    References
    ----------
    https://data-apis.org/array-api/latest/API_specification/generated/array_api.can_cast.html

    Examples
    --------
    >>> import arraytape as xp
    >>> xp.can_cast(xp.float32, xp.float64)
    True
    >>> xp.can_cast(xp.float64, xp.int64)
    False
    """
    return bool(np.can_cast(from_.dtype if isinstance(from_, Array) else from_, to))


@entrance
def finfo(type: Any, /) -> Any:
    """Return the limits of a floating-point dtype.

    Parameters
    ----------
    type : Array | dtype
        A real or complex floating-point dtype, or an Array that has it.

    Returns
    -------
    finfo
        An object with the fields ``bits``, ``eps``, ``max``, ``min``, ``smallest_normal`` (Python
        numbers) and ``dtype``.  For a complex dtype they describe its real and imaginary parts.

    Raises
    ------
    ValueError
        When the dtype is not a floating-point dtype.

    References
    ----------
    https://data-apis.org/array-api/latest/API_specification/generated/array_api.finfo.html

    Examples
    --------
    >>> import arraytape as xp
    >>> xp.finfo(xp.float32).eps
    1.1920928955078125e-07
    >>> xp.finfo(xp.float64).max
    1.7976931348623157e+308
    """
    return NUMPY.xp.finfo(type.dtype if isinstance(type, Array) else type)


@entrance
def iinfo(type: Any, /) -> Any:
    """Return the limits of an integer dtype.

    Parameters
    ----------
    type : Array | dtype
        An integer dtype, or an Array that has it.

    Returns
    -------
    iinfo
        An object with the fields ``bits``, ``max``, ``min`` (Python integers) and ``dtype``.

    Raises
    ------
    TypeError
        When type is neither an Array nor a dtype.
    ValueError
        When the dtype is not an integer dtype.

    References
    ----------
    https://data-apis.org/array-api/latest/API_specification/generated/array_api.iinfo.html

    Examples
    --------
    >>> import arraytape as xp
    >>> xp.iinfo(xp.int16).max
    32767
    """
    dtype = np.dtype(type.dtype if isinstance(type, Array) else type)
    if dtype.kind not in "iu":
        raise ValueError(f"iinfo: {dtype} is not an integer dtype [at {user_line()}]")
    return NUMPY.xp.iinfo(dtype)


@linear(
    transpose=lambda g, source, xp: xp.reinterpreted(g, source),
    saves={"source": lambda x: "c" if x.dtype.kind == "c" else "f"},
    selects=False,  # so that the guard does not apply the rule to its masks, whose dtype is another
    samples=(sample((3, 4), into="c"), sample((4,), into="f"), sample((0, 2), into="c")),
    origin="inner",
    signature="(N)->(M)",
)
def reinterpreted(x: Array, /, into: str) -> Array:
    """View pairs of real numbers as complex numbers (``into="c"``), or the reverse (``into="f"``)."""
