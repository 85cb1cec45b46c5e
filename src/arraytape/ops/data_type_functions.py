"""Data types: casting, promotion, inspection."""

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

    DType: TypeAlias = npt.DTypeLike | None  # None: as the function's docstring says
    Device: TypeAlias = Hashable | None  # None: likewise


@linear(
    transpose=lambda g, dtype: g,  # the engine casts back
    samples=(sample((3, 4), dtype=np.dtype("float64")), sample((2,), dtype=np.dtype("complex128"))),
    origin="inner",
    signature="()->()",
    in_order=True,
    scalars=False,
)
def cast(x: Array, /, dtype: npt.DTypeLike) -> Array:
    """Copy x with another dtype."""


def _back(g, source):
    """Return itself, moved to where x lies."""
    # Not by xp: the namespace of a rule belongs to one storage, and the gradient moves to another.
    return moved(g, source) if isinstance(g, Array) else storages.moved_between(g, source)


@linear(
    moves=True,
    transpose=_back,
    saves={"source": lambda x, storage: storage.device(x)},
    samples=(sample((3, 4), device="cpu"),),
    origin="inner",
    signature="()->()",
)
def moved(x: Array, /, device: Hashable) -> Array:
    """Copy x to another device."""


def placed(x: Array, device: Device) -> tuple[Array, bool]:
    """Return x on a device (None: where it is), and True if it was moved there."""
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
        The dtype of the result.  An integer or boolean one cuts the gradient.
    copy
        Whether the result is a copy also where neither dtype nor device changes.
    device
        Where the result lies, such as 'cpu' or 'cuda:0'; None: where x lies.  A move is
        recorded: a gradient comes back to where x lies.

    Returns
    -------
    Array
        Of the shape of x; x itself when nothing changes and copy=False.

    Raises
    ------
    TypeError
        When dtype is none that an Array can have.
    """
    try:
        target = np.dtype(dtype)
    except Exception as error:
        raise explain("astype", error, x=x, dtype=dtype) from error
    if not is_known(target):
        raise no_dtype("astype", target)
    target = plain(target)
    x, came = placed(x, device)
    _, data = current(x)
    if target == data.dtype and (came or not copy):
        return x
    y = cast(x, target) if target.kind in "fc" else discretized(x, target)
    y._state |= x._state & SCALAR  # as in NumPy, a cast scalar is immutable
    return y


def no_dtype(op: str, dtype: npt.DTypeLike) -> TypeError:
    """Return the error for a dtype that no Array can have."""
    return TypeError(
        f"{op}: no Array can have dtype {short_repr(dtype)} [at {user_line()}]; give one of numbers or "
        "booleans, in the machine's byte order"
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
        Whether the dtype is of the kind, or of one of them.

    Raises
    ------
    TypeError
        When dtype is no dtype.
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
        Arrays, dtypes and Python scalars; a scalar takes on the precision of the others.

    Returns
    -------
    dtype
        The one to which those of the arguments promote.

    Raises
    ------
    TypeError
        When an argument is none of these.
    ValueError
        When there is no argument.

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
        Whether values keep their meaning: float32 casts to float64, not the other way round.

    Raises
    ------
    TypeError
        When an argument is no dtype.

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
        With the fields ``bits``, ``eps``, ``max``, ``min``, ``smallest_normal`` (Python
        numbers) and ``dtype``; of a complex dtype those of its parts.

    Raises
    ------
    ValueError
        When the dtype is not a floating-point one.

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
        With the fields ``bits``, ``max``, ``min`` (Python integers) and ``dtype``.

    Raises
    ------
    TypeError
        When type is no dtype.
    ValueError
        When the dtype is not an integer one.

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
    selects=False,  # its rule needs a real or complex cotangent, not a count
    samples=(sample((3, 4), into="c"), sample((4,), into="f"), sample((0, 2), into="c")),
    origin="inner",
    signature="(N)->(M)",
)
def reinterpreted(x: Array, /, into: str) -> Array:
    """Read pairs of real numbers as complex numbers (into "c"), or complex numbers as pairs ("f")."""
