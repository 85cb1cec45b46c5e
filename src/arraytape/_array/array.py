"""The Array: a handle on storage plus the name of the value that it holds now.

It knows no op and no tape: operators are attached by ``ops.operators``.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any

from .._storage.storage import storage_of

# Bits of Array._state.
KEPT = 1  # a record shares this data: copy before the next write
SCALAR = 2  # a 0-d result of an op, immutable in NumPy: x += 1 makes a new Array
HOT = 4  # written in part since its data was made: small views of it are kept by copy
PINNED = 8  # foreign code shares this data for good: kept by copy at once
IS_VIEW = 16  # an alias of part of another Array; see views
EXPORTED = 32  # the same as PINNED for as long as an export lives; see exports
FOREIGN = PINNED | EXPORTED

VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")
PUBLIC: list[ModuleType] = []


def namespace() -> Any:
    """The public namespace, in which rules on Arrays compute.

    It lies above all that computes in it, so it enters itself when it is complete: the one name
    that is bound late.
    """
    return PUBLIC[0]


class Array:
    """An array of the array API standard whose ops are recorded on the active tapes.

    Made by creation functions such as ``asarray`` and by ops, never by calling the class.

    An Array is a handle on data of a storage, NumPy's or CuPy's, plus a name of the value that it
    holds now.  Writing to it (``x[key] = value``, ``x += y``) moves the handle on to a new value;
    what was recorded never changes.  Views share their data, as NumPy's do: a write through one of
    them is seen by all.

    Operators are the functions of the same meaning: ``x + y`` is ``add(x, y)``.  Methods are those of
    the standard and those of NumPy's arrays, so that code for these runs on Arrays.

    Attributes
    ----------
    T : Array
        The axes in reverse order, as a view.
    device : str
        Where the data lies: 'cpu', 'cuda:0' and so on.
    dtype : dtype
        The type of the elements.
    flat : Array
        The elements in one dimension.
    imag : Array
        The imaginary part.
    itemsize : int
        Bytes of one element.
    mT : Array
        Each matrix transposed, as a view.
    nbytes : int
        Bytes of all elements.
    ndim : int
        Number of axes.
    real : Array
        The real part.
    shape : tuple[int, ...]
        Length of each axis.
    size : int
        Number of elements.
    """

    # _tid: the name of the value held now; 0: nobody follows it; negative: ask ``_sync``, since the
    # name and data follow from a view's root, or reading counts.  Read _tid before _data: a view's
    # data may be stale.
    __slots__ = ("_data", "_exports", "_state", "_tid", "_view")
    _data: Any
    _state: int
    _tid: int
    _view: View  # set for views only
    _exports: Any  # set for roots that are LENT
    __hash__ = None  # type: ignore[assignment]  # == compares elements
    _has_state = False  # whether its value may be replaced under it: a Variable's

    @property
    def dtype(self) -> Any:
        """The type of the elements, one of NumPy's dtypes."""
        return self._data.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each axis."""
        return self._data.shape  # type: ignore[no-any-return]

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self._data.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        count = 1
        for length in self._data.shape:
            count *= length
        return count

    @property
    def device(self) -> Any:
        """Where the data lies: 'cpu', 'cuda:0' and so on."""
        return storage_of(self._data).device(self._data)

    def __array_namespace__(self, /, *, api_version: str | None = None) -> ModuleType:
        """The namespace of this array: ``arraytape`` itself.

        Parameters
        ----------
        api_version : str | None, default: None
            A version of the standard, from '2021.12' to '2025.12'.

        Returns
        -------
        module
            The namespace, the same for all versions.

        Raises
        ------
        ValueError
            When there is no such version.
        """
        if api_version is not None and api_version not in VERSIONS:
            raise ValueError(f"unknown array API version {api_version!r}; known: {VERSIONS}")
        return PUBLIC[0]

    def __len__(self) -> int:
        """The length of the first axis.

        Returns
        -------
        int
            The length.

        Raises
        ------
        TypeError
            When there is no axis.
        """
        if not self._data.shape:
            raise TypeError("len() of a 0-d Array")
        return self._data.shape[0]  # type: ignore[no-any-return]

    if TYPE_CHECKING:
        # Attached by views, overridden by what has state:
        def _sync(self) -> int: ...
        def _snapshot(self) -> Array: ...
        def _name_value(self) -> int: ...
        def _peek(self) -> int: ...

        # Attached by ops.operators, indexing_functions, writing and leaving:
        def __add__(self, other: Any, /) -> Array: ...
        def __radd__(self, other: Any, /) -> Array: ...
        def __iadd__(self, other: Any, /) -> Array: ...
        def __and__(self, other: Any, /) -> Array: ...
        def __rand__(self, other: Any, /) -> Array: ...
        def __iand__(self, other: Any, /) -> Array: ...
        def __floordiv__(self, other: Any, /) -> Array: ...
        def __rfloordiv__(self, other: Any, /) -> Array: ...
        def __ifloordiv__(self, other: Any, /) -> Array: ...
        def __lshift__(self, other: Any, /) -> Array: ...
        def __rlshift__(self, other: Any, /) -> Array: ...
        def __ilshift__(self, other: Any, /) -> Array: ...
        def __matmul__(self, other: Any, /) -> Array: ...
        def __rmatmul__(self, other: Any, /) -> Array: ...
        def __imatmul__(self, other: Any, /) -> Array: ...
        def __mod__(self, other: Any, /) -> Array: ...
        def __rmod__(self, other: Any, /) -> Array: ...
        def __imod__(self, other: Any, /) -> Array: ...
        def __mul__(self, other: Any, /) -> Array: ...
        def __rmul__(self, other: Any, /) -> Array: ...
        def __imul__(self, other: Any, /) -> Array: ...
        def __or__(self, other: Any, /) -> Array: ...
        def __ror__(self, other: Any, /) -> Array: ...
        def __ior__(self, other: Any, /) -> Array: ...
        def __pow__(self, other: Any, /) -> Array: ...
        def __rpow__(self, other: Any, /) -> Array: ...
        def __ipow__(self, other: Any, /) -> Array: ...
        def __rshift__(self, other: Any, /) -> Array: ...
        def __rrshift__(self, other: Any, /) -> Array: ...
        def __irshift__(self, other: Any, /) -> Array: ...
        def __sub__(self, other: Any, /) -> Array: ...
        def __rsub__(self, other: Any, /) -> Array: ...
        def __isub__(self, other: Any, /) -> Array: ...
        def __truediv__(self, other: Any, /) -> Array: ...
        def __rtruediv__(self, other: Any, /) -> Array: ...
        def __itruediv__(self, other: Any, /) -> Array: ...
        def __xor__(self, other: Any, /) -> Array: ...
        def __rxor__(self, other: Any, /) -> Array: ...
        def __ixor__(self, other: Any, /) -> Array: ...
        def __eq__(self, other: Any, /) -> Array: ...  # type: ignore[override]
        def __ne__(self, other: Any, /) -> Array: ...  # type: ignore[override]
        def __ge__(self, other: Any, /) -> Array: ...
        def __gt__(self, other: Any, /) -> Array: ...
        def __le__(self, other: Any, /) -> Array: ...
        def __lt__(self, other: Any, /) -> Array: ...
        def __abs__(self) -> Array: ...
        def __invert__(self) -> Array: ...
        def __neg__(self) -> Array: ...
        def __pos__(self) -> Array: ...
        def __bool__(self) -> bool: ...
        def __complex__(self) -> complex: ...
        def __float__(self) -> float: ...
        def __int__(self) -> int: ...
        def __index__(self) -> int: ...
        def __getitem__(self, key: Any, /) -> Array: ...
        def __setitem__(self, key: Any, value: Any, /) -> None: ...
        def __iter__(self) -> Iterator[Array]: ...
        def item(self) -> Any: ...
        def to_device(self, device: Any, /, *, stream: Any = None) -> Array: ...
        def tolist(self) -> Any: ...
        @property
        def T(self) -> Array: ...
        @property
        def mT(self) -> Array: ...


class View:
    """How a view Array follows its root: its value is always ``path(current value of root)``.

    root : the handle that owns the data.  path : steps from its data to the view's.
    src : the root data from which the view was cut.  vtid names the view of root value ``seen``.
    """

    __slots__ = ("path", "root", "seen", "src", "vtid")
    root: Array
    path: tuple[Any, ...]
    src: Any
    seen: int
    vtid: int


def wrap(data: Any, tid: int = 0, state: int = 0) -> Array:
    """An Array around raw data."""
    array = Array()
    array._data = data
    array._tid = tid
    array._state = state
    return array


def asarray_like(x: Array, values: Any) -> Array:
    """Host data (or scalars) as an Array where ``x`` lies."""
    storage = storage_of(x._data)
    return wrap(storage.asarray(values, None, storage.device(x._data), None))
