"""The class Array: NumPy's or CuPy's data, with the value id by which tapes know the present contents.

This module imports neither ops nor tapes, so that all modules can import it.  Other modules attach the
operators and most methods to the class: ``ops.operators``, ``views``, ``_numpy_hook`` and others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from .._storage.batched.batched_data import Batched, plain
from .._storage.storage import storage_of
from .._util.attach import attach, read_only_property
from .._util.errors import short_repr, user_line
from .._util.foreign_names import ForeignNames
from .._util.locks import reentrant_lock

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from .._util.array_types import Index, RawArray

    Operand: TypeAlias = "Array | npt.ArrayLike"  # ops convert numbers, lists and host data
    UfuncMethod: TypeAlias = Literal["__call__", "reduce", "reduceat", "accumulate", "outer", "at"]
    Axes: TypeAlias = int | Sequence[int] | None  # None: all axes

# Bits of Array._state.  A table in the docstring of ``views`` lists how each event changes them.
KEPT = 1  # a record shares this data: the next write copies the data first
SCALAR = 2  # the Array is a 0-d result of an op, immutable as in NumPy: x += 1 makes a new Array
# A write changed a part of this data, so that more writes are likely.  Records then copy a view of it:
# if they shared the view's data, the next write would have to copy all of this data.
HOT = 4
PINNED = 8  # another library shares this data for good, so each record keeps a copy
IS_VIEW = 16  # the Array is an alias of a part of another Array, its root
EXPORTED = 32  # NumPy code shares this data for as long as an export lives: see ``exports``

# Masks of several bits, which generated code and writes test.
FOREIGN = PINNED | EXPORTED  # code outside of arraytape may read and write this data
ALIASED = FOREIGN | IS_VIEW  # other code or a root shares this memory, and has to see each write
ONLY_KEPT = KEPT  # if state == ONLY_KEPT, the data is marked as shared by a record already
# If state < KEEP_IS_A_MARK, a record may share the data, and only the bit KEPT has to be set.  Otherwise
# ``views.keep_data`` has to be called.
KEEP_IS_A_MARK = HOT

# A thread holds this lock while it changes the memory of an Array or the id of its value, and while a
# tape records the change.  The reason is that threads may share the Array or the tape.  Ops read these
# fields without the lock.  So where one field shows that others are valid (as ``View.seen`` for
# ``View.written_id``), that field is set last.
MOVING = reentrant_lock()

VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")
# First the package ``arraytape``.  ``__array_namespace__`` returns the last item: this is the package,
# too, or ``arraytape.standard`` in a block of ``xp_backends.on("standard")``.
PUBLIC: list[ModuleType] = []


def namespace() -> Any:
    """Return the package ``arraytape``, whose functions the derivative rules call on Arrays.

    No subpackage can import the package, since the package imports all of them.  So the package adds
    itself to ``PUBLIC`` at the end of its import.
    """
    return PUBLIC[0]


class Array(ForeignNames):
    """An array of the array API standard whose ops are recorded on the active tapes.

    Arrays are made by creation functions such as ``asarray`` and by ops, never by calling the class.

    An Array is a handle on data of NumPy or CuPy, with the id of the value that it holds now.  A write
    (``x[key] = value``, ``x += y``) gives the handle a new value; recorded values never change.  Views
    share their data, as in NumPy: a write through one view changes the others and the Array itself.

    Operators call functions: ``x + y`` is ``add(x, y)``.  An Array has the methods of the standard and
    those of NumPy's arrays, so that code for NumPy's arrays runs on Arrays.

    Attributes
    ----------
    T : Array
        The axes in reverse order, as a view.
    device : str
        The device of the data: 'cpu', 'cuda:0' and so on.
    dtype : dtype
        The type of the elements.
    flat : Array
        The elements in one dimension.
    imag : Array
        The imaginary part.
    itemsize : int
        Bytes of one element.
    mT : Array
        The last two axes swapped, as a view: the transpose of each matrix.
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

    Examples
    --------
    >>> import arraytape as xp
    >>> x = xp.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> x
    Array([[1., 2., 3.],
           [4., 5., 6.]], dtype=float64, device='cpu')
    >>> isinstance(x, xp.Array)
    True
    >>> x.shape, x.ndim, x.size, x.dtype, x.itemsize, x.nbytes, x.device
    ((2, 3), 2, 6, dtype('float64'), 8, 48, 'cpu')

    Operators, functions and methods are recorded while a tape is open. Gradients are correct for ops
    before a write and after it:

    >>> with xp.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = x * x
    ...     y[0, :] = 0.0  # also y.fill(...), y.put(...), y += ...
    ...     loss = y.sum()
    >>> print(tape.gradient(loss, x))
    [[ 0.  0.  0.]
     [ 8. 10. 12.]]

    Views of other shapes and parts:

    >>> print(x.T.shape, x.mT.shape, x.transpose(1, 0).shape, x.swapaxes(0, 1).shape)
    (3, 2) (3, 2) (3, 2) (3, 2)
    >>> print(x.reshape(3, 2).shape, x.ravel().shape, x.flatten().shape, x[None].squeeze(0).shape)
    (3, 2) (6,) (6,) (2, 3)
    >>> print(x.diagonal(), x.trace(), x.flat[4])
    [1. 5.] 6.0 5.0
    >>> z = xp.asarray([1.0 + 2.0j])
    >>> print(z.real, z.imag, z.conj(), z.conjugate(), z.view(xp.float64))
    [1.] [2.] [1.-2.j] [1.-2.j] [1. 2.]

    Reductions take NumPy's arguments:

    >>> print(x.sum(axis=0), x.prod(), x.mean(axis=1, keepdims=True).shape)
    [5. 7. 9.] 720.0 (2, 1)
    >>> print(x.max(), x.min(axis=1), x.argmax(), x.argmin(axis=1))
    6.0 [1. 4.] 5 [0 0]
    >>> print(x.std(), x.var(ddof=1))
    1.707825127659933 3.5
    >>> print((x > 3.0).any(), (x > 3.0).all(axis=1), (x > 3.0).nonzero()[1])
    True [False  True] [0 1 2]
    >>> print(x[0].cumsum(), x[0].cumprod(), x[0].dot(x[1]))
    [1. 3. 6.] [1. 2. 6.] 32.0

    Sorting and selection; ``sort`` and ``partition`` change the array itself:

    >>> v = xp.asarray([3.0, 1.0, 2.0])
    >>> print(v.argsort(), v.argpartition(0)[0], v.take([0, 2]), v.repeat(2))
    [1 2 0] 1 [3. 2.] [3. 3. 1. 1. 2. 2.]
    >>> print(v.compress([True, False, True]), xp.asarray([0, 1]).choose([[1.0, 2.0], [3.0, 4.0]]))
    [3. 2.] [1. 4.]
    >>> w = v.copy()
    >>> w.sort()
    >>> print(w, w.searchsorted(2.5), v)
    [1. 2. 3.] 2 [3. 1. 2.]
    >>> w.partition(1)
    >>> w.put([0], [9.0])
    >>> w.fill(7.0)
    >>> print(w.clip(0.0, 5.0), (v / 7.0).round(2), v.astype(xp.int64))
    [5. 5. 5.] [0.43 0.14 0.29] [3 1 2]

    Conversions to Python and NumPy objects, and to other devices:

    >>> v.tolist(), v[0].item(), v.to_numpy(), v.to_device("cpu").device
    ([3.0, 1.0, 2.0], 3.0, array([3., 1., 2.]), 'cpu')
    """

    # _value_id: the id of the value held now, or 0 if no tape follows the value.  If it is negative,
    # ``_sync`` returns the id: a view brings its data and id up to date from its root, and a Variable
    # reports the read.  Read _value_id before _data: only ``_sync`` brings a view's data up to date.
    # __weakref__ costs 2 ns per Array but no memory, since allocations come in steps of 16 bytes.
    __slots__ = ("__weakref__", "_cut", "_data", "_exports", "_state", "_value_id", "_view")
    _data: Any
    _state: int
    _value_id: int
    _view: View  # set for views only
    _exports: Any  # set for roots in state EXPORTED
    _cut: Any  # set on operands or results of an op that no tape recorded: see ``cuts``
    __hash__ = None  # type: ignore[assignment]  # == compares elements
    _has_state = False  # True for a Variable: an assignment replaces its value

    @property
    def dtype(self) -> Any:
        """Return the type of the elements, one of NumPy's dtypes."""
        data = self._data
        return plain(data.dtype) if type(data) is Batched else data.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the length of each axis."""
        return self._data.shape  # type: ignore[no-any-return]

    @property
    def ndim(self) -> int:
        """Return the number of axes."""
        return len(self._data.shape)

    @property
    def size(self) -> int:
        """Return the number of elements."""
        count = 1
        for length in self._data.shape:
            count *= length
        return count

    @property
    def device(self) -> Any:
        """Return the device of the data: 'cpu', 'cuda:0' and so on."""
        return storage_of(self._data).device(self._data)

    def __array_namespace__(self, /, *, api_version: str | None = None) -> ModuleType:
        """Return the namespace of this array: ``arraytape``.

        In a block of ``arraytape.testing.xp_backends.on("standard")``, return ``arraytape.standard``.

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
        if api_version is not None and not (
            isinstance(api_version, str) and api_version in VERSIONS
        ):
            raise ValueError(
                f"unknown array API version {short_repr(api_version)}; known: {VERSIONS} [at "
                f"{user_line()}]"
            )
        return PUBLIC[-1]

    def __len__(self) -> int:
        """Return the length of the first axis.

        Returns
        -------
        int
            The length.

        Raises
        ------
        TypeError
            When the Array is 0-d.
        """
        if not self._data.shape:
            raise TypeError(f"len() of a 0-d Array [at {user_line()}]")
        return self._data.shape[0]  # type: ignore[no-any-return]

    if TYPE_CHECKING:
        # Declarations for type checkers.  ``views`` attaches these methods, and Variable overrides them.
        def _sync(self) -> int: ...
        def _snapshot(self) -> Array: ...
        def _ensure_id(self) -> int: ...
        def _current_id(self) -> int: ...

        # Declarations for type checkers of methods that modules of ``ops`` attach.
        def __add__(self, other: Operand, /) -> Array: ...
        def __and__(self, other: Operand, /) -> Array: ...
        def __floordiv__(self, other: Operand, /) -> Array: ...
        def __lshift__(self, other: Operand, /) -> Array: ...
        def __matmul__(self, other: Operand, /) -> Array: ...
        def __mod__(self, other: Operand, /) -> Array: ...
        def __mul__(self, other: Operand, /) -> Array: ...
        def __or__(self, other: Operand, /) -> Array: ...
        def __pow__(self, other: Operand, /) -> Array: ...
        def __rshift__(self, other: Operand, /) -> Array: ...
        def __sub__(self, other: Operand, /) -> Array: ...
        def __truediv__(self, other: Operand, /) -> Array: ...
        def __xor__(self, other: Operand, /) -> Array: ...

        __radd__ = __iadd__ = __add__
        __rand__ = __iand__ = __and__
        __rfloordiv__ = __ifloordiv__ = __floordiv__
        __rlshift__ = __ilshift__ = __lshift__
        __rmatmul__ = __imatmul__ = __matmul__
        __rmod__ = __imod__ = __mod__
        __rmul__ = __imul__ = __mul__
        __ror__ = __ior__ = __or__
        __rpow__ = __ipow__ = __pow__
        __rrshift__ = __irshift__ = __rshift__
        __rsub__ = __isub__ = __sub__
        __rtruediv__ = __itruediv__ = __truediv__
        __rxor__ = __ixor__ = __xor__

        def __eq__(self, other: Any, /) -> Array: ...  # type: ignore[override]
        def __ne__(self, other: Any, /) -> Array: ...  # type: ignore[override]
        def __ge__(self, other: Operand, /) -> Array: ...
        def __gt__(self, other: Operand, /) -> Array: ...
        def __le__(self, other: Operand, /) -> Array: ...
        def __lt__(self, other: Operand, /) -> Array: ...
        def __abs__(self) -> Array: ...
        def __invert__(self) -> Array: ...
        def __neg__(self) -> Array: ...
        def __pos__(self) -> Array: ...
        def __bool__(self) -> bool: ...
        def __complex__(self) -> complex: ...
        def __float__(self) -> float: ...
        def __int__(self) -> int: ...
        def __index__(self) -> int: ...
        def __round__(self, ndigits: int | None = None) -> Any: ...
        def __getitem__(self, key: Index, /) -> Array: ...
        def __setitem__(self, key: Index, value: Operand, /) -> None: ...
        def __iter__(self) -> Iterator[Array]: ...
        def item(self, *index: Any) -> Any: ...
        def to_device(self, device: Any, /, *, stream: Any = None) -> Array: ...
        def to_numpy(self) -> Any: ...
        def tolist(self) -> Any: ...
        @property
        def T(self) -> Array: ...
        @property
        def mT(self) -> Array: ...

        # Declarations of the methods of NumPy's protocols, which ``_numpy_hook`` attaches.
        def __array_ufunc__(
            self, ufunc: np.ufunc, method: UfuncMethod, *inputs: Any, **options: Any
        ) -> Any: ...
        def __array_function__(
            self,
            function: Callable[..., Any],
            types: Iterable[type],
            args: tuple[Any, ...],
            kwargs: dict[str, Any],
            /,
        ) -> Any: ...
        def __divmod__(self, other: Operand, /) -> tuple[Array, Array]: ...
        def __rdivmod__(self, other: Operand, /) -> tuple[Array, Array]: ...
        def all(
            self, axis: Axes = None, *, keepdims: bool = False, where: Operand = True
        ) -> Array: ...
        def argmax(self, axis: int | None = None, *, keepdims: bool = False) -> Array: ...
        def argpartition(self, kth: int | Sequence[int], axis: int | None = -1) -> Array: ...
        def argsort(
            self, axis: int | None = -1, kind: str | None = None, order: None = None, *,
            stable: bool | None = None, descending: bool | None = None,
        ) -> Array: ...  # fmt: skip
        def astype(
            self, dtype: npt.DTypeLike, order: str = "K", casting: str = "unsafe", subok: bool = True,
            copy: bool = True,
        ) -> Array: ...  # fmt: skip
        def choose(self, choices: Operand) -> Array: ...
        def clip(self, min: Operand | None = None, max: Operand | None = None) -> Array: ...
        def compress(self, condition: Operand, axis: int | None = None) -> Array: ...
        def conj(self) -> Array: ...
        def copy(self, order: str = "C") -> Array: ...
        def cumprod(self, axis: int | None = None, dtype: npt.DTypeLike | None = None) -> Array: ...
        def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array: ...
        def dot(self, b: Operand) -> Array: ...
        def fill(self, value: Operand) -> None: ...
        def flatten(self, order: str = "C") -> Array: ...
        def max(self, axis: Axes = None, **options: Any) -> Array: ...
        def mean(
            self, axis: Axes = None, dtype: npt.DTypeLike | None = None, **options: Any
        ) -> Array: ...
        def nonzero(self) -> tuple[Array, ...]: ...
        def partition(self, kth: int | Sequence[int], axis: int = -1) -> None: ...
        def put(self, indices: Operand, values: Operand) -> None: ...
        def ravel(self, order: str = "C") -> Array: ...
        def repeat(self, repeats: Operand, axis: int | None = None) -> Array: ...
        def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> Array: ...
        def round(self, decimals: int = 0) -> Array: ...
        def searchsorted(
            self, v: Operand, *, side: str = "left", sorter: Operand | None = None
        ) -> Array: ...
        def sort(
            self, axis: int = -1, kind: str | None = None, order: None = None, *,
            stable: bool | None = None, descending: bool | None = None,
        ) -> None: ...  # fmt: skip
        def squeeze(self, axis: Axes = None) -> Array: ...
        def swapaxes(self, axis1: int, axis2: int) -> Array: ...
        def take(self, indices: Operand, axis: int | None = None) -> Array: ...
        def trace(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array: ...
        def transpose(self, *axes: Any) -> Array: ...
        def view(self, dtype: npt.DTypeLike | None = None) -> Array: ...

        # Methods that have the same signature as another method.
        any = all
        argmin = argmax
        conjugate = conj
        cumsum = cumprod
        min = max
        prod = std = sum = var = mean

        @property
        def flat(self) -> Array: ...
        @flat.setter
        def flat(self, value: Operand) -> None: ...
        @property
        def imag(self) -> Array: ...
        @imag.setter
        def imag(self, value: Operand) -> None: ...
        @property
        def itemsize(self) -> int: ...
        @property
        def nbytes(self) -> int: ...
        @property
        def real(self) -> Array: ...
        @real.setter
        def real(self, value: Operand) -> None: ...


# The advice in the error for an assignment to a read-only attribute of an Array: ``x.shape = ...``.
FIXED = {
    "device": "use x = x.to_device(device)",
    "dtype": "use x = xp.astype(x, dtype), or x.view(dtype) for the same bytes",
    "ndim": "use x = xp.reshape(x, shape)",
    "shape": "use x = xp.reshape(x, shape), a view of the same data wherever NumPy's is one",
    "size": "use x = xp.reshape(x, shape), or a part of x",
}
attach(
    Array, {name: read_only_property(vars(Array)[name].fget, name, FIXED[name]) for name in FIXED}
)


class View:
    """The link of a view such as ``x[1:]`` to its root, the Array that owns the data (here x).

    The view's value is always a part of the root's current value: the part to which ``path`` leads.

    root : the Array that owns the data.
    path : the steps, such as indexing, from the root's data to the view's data.
    src : the root's raw data from which the view's raw data was derived.  If the root has other raw data
    now, the view's is out of date.
    written_id : the value id of the view.
    seen : the value id that the root had when ``written_id`` was made.  If the root has another value id
    now, a write has changed it since, and the view needs a new value id.
    """

    __slots__ = ("path", "root", "seen", "src", "written_id")
    root: Array
    path: tuple[Any, ...]
    src: Any
    seen: int
    written_id: int


class Picked(View):
    """The link of a view ``x[i]`` whose index i differs between the examples of a vmap.

    No strides describe such a view.  So each read copies the elements from the root again, and a write
    to the view is made as a write to the root.
    """

    __slots__ = ()

    @property
    def src(self) -> Any:
        """Return None, so that each read of the view copies its elements from the root again."""
        return None

    @src.setter
    def src(self, data: RawArray) -> None:
        pass


def wrap(data: Any, value_id: int = 0, state: int = 0) -> Array:
    """Return an Array that holds ``data`` itself, not a copy.

    value_id : the number by which tapes know the value; 0 if none follows it.
    state : bits that say who shares the memory, such as KEPT (a record of a tape holds it).
    """
    array = Array()
    array._data = data
    array._value_id = value_id
    array._state = state
    return array


def asarray_like(x: Array, values: RawArray | npt.ArrayLike) -> Array:
    """Return NumPy data or Python numbers as an Array on the device of ``x``."""
    storage = storage_of(x._data)
    return wrap(storage.asarray(values, None, storage.device(x._data), None))
