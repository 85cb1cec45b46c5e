"""Variable: an Array with state, which tapes watch when it is read."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ._array.array import KEPT, Array, wrap
from ._array.views import keep_data, peek, recorded_copy
from ._define.docstrings import SYMBOLS
from ._record.mode_stack import MODES, notify_access
from ._record.stack import OPEN, new_value_id, notify_assigned, notify_other_threads, recorders
from ._storage.batched.batched_data import ACTIVE, NoBatchedForm
from ._storage.storage import holds_kind, storage_of
from ._util.errors import describe, layout_text, user_line
from ._util.html import facts_table
from ._util.locks import reentrant_lock
from .ops.creation_functions import asarray
from .ops.indexing_functions import take
from .ops.manipulation_functions import moveaxis
from .ops.operators import BINARY

if TYPE_CHECKING:
    import numpy.typing as npt

    from ._array.array import Operand
    from ._util.array_types import Index, RawArray


UNNAMED = "Variable"  # the name of a Variable without a name of its own
REPLACING = reentrant_lock()  # the lock for replacing a Variable's data


class IndexedSlices(NamedTuple):
    """Values for some rows of a Variable: the argument of ``scatter_add`` and similar methods.

    Parameters
    ----------
    values : object
        The values, of the shape ``indices.shape + variable.shape[1:]`` or one that broadcasts to it.
    indices : object
        The numbers of the rows: integers, which may repeat.
    dense_shape : object, optional
        Without effect.  TensorFlow's class has this parameter.

    Examples
    --------
    >>> import arraytape as xp
    >>> v = xp.Variable([1.0, 2.0, 3.0])
    >>> print(v.scatter_add(xp.IndexedSlices(values=[10.0, 20.0, 30.0], indices=[0, 2, 0])))
    [41.  2. 23.]
    >>> rows = xp.IndexedSlices([1.0], [0], dense_shape=(3,))
    >>> rows.values, rows.indices, rows.dense_shape
    ([1.0], [0], (3,))
    """

    values: Any
    indices: Any
    dense_shape: Any = None


class Reference:
    """A hashable stand-in for a Variable (TensorFlow's ``v.ref()``), equal for the same Variable."""

    __slots__ = ("_variable",)

    def __init__(self, variable: Variable) -> None:
        self._variable = variable

    def deref(self) -> Variable:
        """Return the Variable."""
        return self._variable

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reference) and other._variable is self._variable

    def __hash__(self) -> int:
        return id(self._variable)

    def __repr__(self) -> str:
        return f"<Reference wrapping {self._variable!r}>"


# Word -> a summary, and a function that writes into ``x[key]``.
SCATTERS: dict[str, tuple[str, Callable[..., Any]]] = {
    "add": ("Add the {values} to {place}", np.add.at),
    "sub": ("Subtract the {values} from {place}", np.subtract.at),
    "mul": ("Multiply {place} by the {values}", np.multiply.at),
    "div": ("Divide {place} by the {values}", np.divide.at),
    "max": ("Replace {place} by the {values} where these are greater", np.maximum.at),
    "min": ("Replace {place} by the {values} where these are less", np.minimum.at),
    "update": ("Replace {place} by the {values}", operator.setitem),
}
SCATTER_DOC = """\
{summary}.

Tapes do not record the assignment.  Where indices repeat, {repeated}.

Parameters
----------
{parameters}
name : str | None, default: None
    Without effect.

Returns
-------
Variable
    The Variable itself.

Raises
------
TypeError
    When ``sparse_delta`` has no indices and values.
IndexError
    When an index is no integer, or outside of the shape.  Negative indices count from the end.
ValueError
    When the values do not have the Variable's dtype, or do not broadcast to the selected shape.

Examples
--------
>>> import arraytape as xp
>>> v = xp.Variable([4.0, 6.0])
>>> print(v.{name}({example}))
{result}"""
# The results of the examples in the docstrings: 4 and 2, combined.
SCATTERED = {
    "add": "6.",
    "div": "2.",
    "max": "4.",
    "min": "2.",
    "mul": "8.",
    "sub": "2.",
    "update": "2.",
}
ROWS = {
    "example": "xp.IndexedSlices(values=[2.0], indices=[0])",
    "values": "values",
    "place": "the rows at the indices",
    "parameters": """\
sparse_delta : IndexedSlices
    Any object with attributes ``indices`` and ``values``, such as ``xp.IndexedSlices``.
use_locking : bool, default: False
    Without effect.""",
}
POINTS = {
    "example": "indices=[[0]], updates=[2.0]",
    "values": "updates",
    "place": "the elements at the indices",
    "parameters": """\
indices : object
    Integers.  The last axis has the coordinates of an element, or the first coordinates of a part.
updates : object
    The values, of the shape ``indices.shape[:-1]`` and the axes without coordinates.""",
}


def scatter_rows(word: str) -> Callable[..., Variable]:
    """Return ``scatter_<word>`` (word: "add", "max" ...), the method that changes rows by index."""

    def scatter(
        self: Variable, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Variable:
        if not (hasattr(sparse_delta, "indices") and hasattr(sparse_delta, "values")):
            raise TypeError(
                f"scatter_{word}: give xp.IndexedSlices(values, indices), got "
                f"{describe(sparse_delta)} [at {user_line()}]"
            )
        return self._scatter(word, whole_numbers(sparse_delta.indices), sparse_delta.values)

    return named_scatter(scatter, "scatter", word, ROWS)


def scatter_points(word: str) -> Callable[..., Variable]:
    """Return ``scatter_nd_<word>``, the method that changes elements by their coordinates."""

    def scatter(self: Variable, indices: Any, updates: Any, name: str | None = None) -> Variable:
        return self._scatter(word, coordinates(indices), updates)

    return named_scatter(scatter, "scatter_nd", word, POINTS)


def named_scatter(
    method: Callable[..., Variable], prefix: str, word: str, texts: dict[str, str]
) -> Callable[..., Variable]:
    """Give ``method`` the name ``<prefix>_<word>`` and a docstring: a template filled with ``texts``."""
    method.__name__ = f"{prefix}_{word}"
    method.__qualname__ = f"Variable.{method.__name__}"
    method.__doc__ = SCATTER_DOC.format(
        summary=SCATTERS[word][0].format(**texts),
        repeated="the last value counts" if word == "update" else "all values count",
        parameters=texts["parameters"],
        name=method.__name__,
        example=texts["example"],
        result=f"[{SCATTERED[word]} 6.]",
    )
    return method


def coordinates(indices: Any) -> tuple[Array, ...]:
    """Convert coordinates to a key: [[0, 1], [2, 3]], two elements, becomes ([0, 2], [1, 3])."""
    return tuple(moveaxis(whole_numbers(indices), -1, 0))


def whole_numbers(indices: Any) -> Array:
    """Return indices as an Array; raise IndexError if they are no integers.

    An empty list, which would become an Array of floats, is accepted.
    """
    found = asarray(indices)
    if not found.size:
        return asarray(found, dtype=np.int64, copy=True) if found.dtype.kind == "f" else found
    if found.dtype.kind not in "iu":
        raise IndexError(
            f"scatter: indices must be integers, got {describe(found)} [at {user_line()}]"
        )
    return found


class Variable(Array):
    """An Array whose value may be replaced: the parameters of a model.

    A tape with ``watch_accessed_variables=True`` watches each trainable Variable that is read.  A read
    returns a snapshot of the value.  Reads before and after an ``assign`` use different values, and the
    gradients of all reads are added.  An assignment is never recorded, so no gradient flows through it.

    Parameters
    ----------
    initial_value : object
        An Array, host data, scalars or nested sequences of these, or a function of no arguments that
        returns such a value.  The data is copied.
    trainable : bool, default: True
        If True, tapes watch the Variable whenever it is read.
    name : str | None, default: None
        The name in messages.  None means "Variable".
    dtype : dtype | None, default: None
        The dtype of the Variable.  None means the dtype of ``initial_value``.
    constraint : callable, optional
        A function of the value.  An optimizer assigns its result after each step.  No assignment calls
        it, as in TensorFlow.
    synchronization : object, optional
        Without effect.  TensorFlow has this parameter for several devices.
    aggregation : object, optional
        Without effect, as ``synchronization``.
    shape : tuple, optional
        The shape that ``initial_value`` must have; None in it stands for any length.

    Raises
    ------
    TypeError
        When trainable is neither True nor False, name is no str, constraint is not callable, or
        ``asarray`` raises TypeError.
    ValueError
        When ``initial_value`` does not have the given shape.

    Examples
    --------
    >>> import arraytape as xp
    >>> v = xp.Variable([1.0, 2.0], name="v")
    >>> v
    Variable(Array([1., 2.], dtype=float64, device='cpu'), name='v')
    >>> with xp.GradientTape() as tape:  # watches v, as it is trainable
    ...     loss = xp.sum(v**2)
    >>> print(v.assign_sub(0.25 * tape.gradient(loss, v)))
    [0.5 1. ]
    >>> print(v.assign_add([1.0, 1.0]))
    [1.5 2. ]
    >>> print(v.assign([5.0, 6.0]), v.value())
    [5. 6.] [5. 6.]
    >>> v.name, v.trainable, v.path, v.constraint
    ('v', True, '', None)

    The scatter methods write to rows, or to elements by their coordinates:

    >>> rows, points = xp.IndexedSlices(values=[4.0, 2.0], indices=[0, 0]), [[0], [1]]
    >>> print(v.scatter_add(rows).scatter_sub(rows).scatter_mul(rows).scatter_div(rows))
    [5. 6.]
    >>> print(v.scatter_max(rows).scatter_min(rows).scatter_update(rows))
    [2. 6.]
    >>> print(v.scatter_nd_add(points, [1.0, 1.0]).scatter_nd_sub(points, [2.0, 2.0]))
    [1. 5.]
    >>> print(v.scatter_nd_max(points, [3.0, 3.0]).scatter_nd_min(points, [4.0, 4.0]))
    [3. 4.]
    >>> print(v.scatter_nd_update(points, [7.0, 8.0]))
    [7. 8.]
    >>> print(v.sparse_read([1, 1]), v.gather_nd(points), v.read_value())
    [8. 8.] [7. 8.] [7. 8.]
    >>> v.ref().deref() is v
    True
    """

    # _value_id is always -2, so that every read calls ``_sync``, which notifies the recorders.
    __slots__ = ("_axes", "_constraint", "_identity", "_name", "_path", "_trainable")

    def __init__(
        self,
        initial_value: Operand | Callable[[], Operand],
        trainable: bool = True,
        name: str | None = None,
        dtype: npt.DTypeLike | None = None,
        *,
        constraint: Callable[[Any], Operand] | None = None,
        synchronization: object = None,
        aggregation: object = None,
        shape: Sequence[int | None] | None = None,
    ) -> None:
        if not isinstance(trainable, bool | np.bool_):
            raise TypeError(
                f"Variable: trainable must be True or False, got {describe(trainable)} "
                f"[at {user_line()}]"
            )
        if name is not None and not isinstance(name, str):
            raise TypeError(
                f"Variable: the name must be a str, got {describe(name)} [at {user_line()}]"
            )
        initial = initial_value() if callable(initial_value) else initial_value
        given = asarray(initial, dtype=dtype)
        check_shape(given, shape)
        if constraint is not None and not callable(constraint):
            raise TypeError(
                f"Variable: the constraint must be a function, got {describe(constraint)} "
                f"[at {user_line()}]"
            )
        self._constraint = constraint
        self._data = own_data(given)
        self._state = KEPT
        self._value_id = -2
        self._identity = new_value_id()
        self._axes = ACTIVE.get()  # the hidden axes of the vmaps inside which the Variable is made
        self._trainable = bool(trainable)
        self._name = UNNAMED if name is None else name
        self._path = ""  # set by ``module.named``

    @property
    def name(self) -> str:
        """Return the name that messages show."""
        return self._name

    @property
    def path(self) -> str:
        """Return the path in a Module, such as ``"layers.0.kernel"``, or "" if no Module listed it.

        The Module is the one that listed the Variable last.  Messages show the path next to the name.
        """
        return self._path

    @property
    def trainable(self) -> bool:
        """Return True if tapes watch the Variable whenever it is read."""
        return self._trainable

    @property
    def constraint(self) -> Callable[[Any], Operand] | None:
        """Return the function that was given as ``constraint``, or None."""
        return self._constraint

    _has_state = True

    def _sync(self) -> int:
        """Notify the recorders that the Variable is read, and return the id of its value."""
        stack = recorders()
        for recorder in stack:
            recorder.accessed(self)
        if OPEN and not stack:
            notify_other_threads((), self)
        return self._identity

    def value(self) -> Array:
        """Take a snapshot of the value, which later assignments do not change.

        Returns
        -------
        Array
            The current value.  Tapes that follow the Variable also follow this Array.

        Examples
        --------
        >>> import arraytape as xp
        >>> v = xp.Variable(1.0)
        >>> before = v.value()
        >>> v = v.assign(2.0)
        >>> print(before, v)
        1.0 2.0
        """
        snapshot = recorded_copy(self, keep_data(self))
        snapshot._state = KEPT
        return snapshot

    _snapshot = value

    def read_value(self) -> Array:
        """Take a snapshot of the value, as ``value()`` does.

        Returns
        -------
        Array
            The current value.  Tapes that follow the Variable also follow this Array.

        Examples
        --------
        >>> import arraytape as xp
        >>> v = xp.Variable(1.0)
        >>> before = v.read_value()
        >>> v = v.assign(2.0)
        >>> print(before, v)
        1.0 2.0
        """
        return self.value()

    def sparse_read(self, indices: Operand, name: str | None = None) -> Array:
        """Return the rows at the indices: ``xp.take(v, indices, axis=0)``.

        Parameters
        ----------
        indices : object
            Integers, of any shape.
        name : str | None, default: None
            Without effect.

        Returns
        -------
        Array
            Of the shape ``indices.shape + v.shape[1:]``.  Tapes record the op.

        Examples
        --------
        >>> import arraytape as xp
        >>> v = xp.Variable([[1.0, 2.0], [3.0, 4.0]])
        >>> print(v.sparse_read([1, 1]))
        [[3. 4.]
         [3. 4.]]
        """
        rows = asarray(indices)
        return take(self, rows, axis=0) if rows.ndim == 1 else self[rows]

    def gather_nd(self, indices: Operand, name: str | None = None) -> Array:
        """Return the elements, or parts, whose coordinates are the last axis of ``indices``.

        Parameters
        ----------
        indices : object
            Integers.  The last axis has the coordinates of an element, or the first coordinates of
            a part.
        name : str | None, default: None
            Without effect.

        Returns
        -------
        Array
            Of the shape ``indices.shape[:-1] + v.shape[indices.shape[-1]:]``.  Tapes record the op.

        Examples
        --------
        >>> import arraytape as xp
        >>> v = xp.Variable([[1.0, 2.0], [3.0, 4.0]])
        >>> print(v.gather_nd([[0, 1], [1, 0]]))
        [2. 3.]
        """
        return self[coordinates(indices)]

    def ref(self) -> Reference:
        """Return a hashable reference to the Variable, as a key of dicts.

        Returns
        -------
        Reference
            References to the same Variable are equal.  ``v.ref().deref()`` is v.

        Examples
        --------
        >>> import arraytape as xp
        >>> v = xp.Variable(1.0)
        >>> {v.ref(): "rate"}[v.ref()]
        'rate'
        """
        return Reference(self)

    def _current_id(self) -> int:
        return self._identity

    _ensure_id = _current_id

    # --- state ------------------------------------------------------------------------------------
    def assign(
        self,
        value: Operand,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Variable:
        """Replace the value.  Tapes do not record the assignment.

        Parameters
        ----------
        value : object
            An Array of the Variable's shape, dtype and device.  Host data and numbers are
            cast if their kind fits: integers to a Variable of floats, floats of any precision to a
            Variable of complex numbers.
        use_locking : bool, default: False
            Without effect.
        name : str | None, default: None
            Without effect.
        read_value : bool, default: True
            Without effect: the Variable is returned in any case.

        Returns
        -------
        Variable
            The Variable itself.

        Raises
        ------
        ValueError
            When shape, dtype or device would change.

        Examples
        --------
        >>> import arraytape as xp
        >>> v = xp.Variable([1.0, 2.0])
        >>> print(v.assign([3.0, 4.0]))
        [3. 4.]
        """
        if MODES:
            notify_access(self)
        data = own_data(self._fitting(self._host_data(value)))
        self._check_axes(data)
        notify_assigned(self, value)
        with REPLACING:
            self._data = data
        return self

    def _own(self, value: Array) -> None:
        """Assign ``value`` without a copy, since nothing else refers to its memory."""
        data = self._fitting(value)._data
        self._check_axes(data)
        notify_assigned(self, value)
        with REPLACING:
            self._data = data

    def assign_add(
        self,
        value: Operand,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Variable:
        """Add ``value`` to the Variable's value.  Tapes do not record the assignment.

        Parameters
        ----------
        value : object
            An Array, host data or a number.
        use_locking : bool, default: False
            Without effect.
        name : str | None, default: None
            Without effect.
        read_value : bool, default: True
            Without effect: the Variable is returned in any case.

        Returns
        -------
        Variable
            The Variable itself.

        Raises
        ------
        ValueError
            When shape or dtype would change.

        Examples
        --------
        >>> import arraytape as xp
        >>> v = xp.Variable([1.0, 2.0])
        >>> print(v.assign_add(1.0))
        [2. 3.]
        """
        return self._update(operator.add, value)

    def assign_sub(
        self,
        value: Operand,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Variable:
        """Subtract ``value`` from the Variable's value.  Tapes do not record the assignment.

        Parameters
        ----------
        value : object
            An Array, host data or a number.
        use_locking : bool, default: False
            Without effect.
        name : str | None, default: None
            Without effect.
        read_value : bool, default: True
            Without effect: the Variable is returned in any case.

        Returns
        -------
        Variable
            The Variable itself.

        Raises
        ------
        ValueError
            When shape or dtype would change.

        Examples
        --------
        >>> import arraytape as xp
        >>> v = xp.Variable([1.0, 2.0])
        >>> print(v.assign_sub([0.5, 1.0]))
        [0.5 1. ]
        """
        return self._update(operator.sub, value)

    scatter_add, scatter_nd_add = scatter_rows("add"), scatter_points("add")
    scatter_sub, scatter_nd_sub = scatter_rows("sub"), scatter_points("sub")
    scatter_max, scatter_nd_max = scatter_rows("max"), scatter_points("max")
    scatter_min, scatter_nd_min = scatter_rows("min"), scatter_points("min")
    scatter_update, scatter_nd_update = scatter_rows("update"), scatter_points("update")
    scatter_mul, scatter_div = scatter_rows("mul"), scatter_rows("div")

    def _scatter(self, word: str, key: Index, value: Operand) -> Variable:
        given = detached(self._host_data(value))
        if given.dtype != self.dtype:
            raise ValueError(
                f"scatter_{word}: {describe(given)} does not have the dtype of {self._said()}: cast "
                "it with astype"
            )
        write = SCATTERS[word][1]
        return self._write_copy(lambda x: write(x, key, given), value)

    def _write_copy(self, write: Callable[[Array], None], value: Operand) -> Variable:
        """Call ``write`` with a copy of the data, and assign the copy; notify recorders of ``value``."""
        while True:  # write again if another thread replaced the value in the meantime
            before = peek(self)
            changed = wrap(storage_of(before).copy(before))
            write(changed)
            if self._replace(before, changed._data, value):
                return self

    def _update(self, function: Callable[[Any, Any], Any], value: Operand) -> Variable:
        # A Python number is not converted to an Array, so that it does not change the result's dtype.
        plain = type(value) in (bool, int, float, complex)
        other = value if plain else detached(self._host_data(value))
        while True:  # compute again if another thread replaced the value in the meantime
            before = peek(self)
            given = self._fitting(function(wrap(before, 0, KEPT), other))
            if self._replace(before, own_data(given), value):
                return self

    def _replace(self, before: RawArray, data: RawArray, value: Operand) -> bool:
        """Assign ``data`` and return True, or return False if ``before`` is no longer the data."""
        self._check_axes(data)
        notify_assigned(self, value)
        with REPLACING:
            if self._data is not before:
                return False
            self._data = data
            return True

    def _check_axes(self, data: RawArray) -> None:
        """Raise NoBatchedForm if ``data`` has hidden axes of a vmap in which the Variable was not made.

        The Variable exists once, and would keep the values of all examples after the vmap.
        """
        if not set(getattr(data, "axis_ids", ())).issubset(self._axes):
            raise NoBatchedForm(
                "assign: return the value from the function under vmap and assign it outside, since "
                f"there is a value for each example, and only one for {self._said()}"
            )

    def _fitting(self, given: Array) -> Array:
        """Return ``given`` if its shape, dtype and device are the Variable's; else raise ValueError."""
        alike = given.dtype == self.dtype and given.device == self.device
        if given.shape != self.shape or not alike:
            advice = ""
            if alike and given.size == 1:
                advice = "; to give each element this value, write v[...] = value"
            elif given.device != self.device:
                advice = f"; move it with to_device({self.device!r})"
            elif given.shape == self.shape and holds_kind(self.dtype, given.dtype):
                advice = "; cast it with astype"
            raise ValueError(f"assign: {describe(given)} does not fit into {self._said()}{advice}")
        return given

    def _host_data(self, value: Operand) -> Array:
        """Return an Array unchanged, and other data as an Array on the Variable's device.

        Cast all but Arrays to the Variable's dtype, unless they are of a greater kind, such as complex
        numbers for a Variable of floats.
        """
        if isinstance(value, Array):
            return value
        given = asarray(value, device=self.device)
        if given.dtype == self.dtype or not holds_kind(self.dtype, given.dtype):
            return given
        try:
            return asarray(value, dtype=self.dtype, device=self.device)
        except OverflowError as error:  # an integer that the dtype cannot hold
            raise ValueError(f"assign: {value} does not fit into {self._said()}") from error

    def __setitem__(self, key: Index, value: Operand, /) -> None:
        given = detached(value) if isinstance(value, Array) else value
        self._write_copy(lambda x: x.__setitem__(key, given), value)

    # --- copies -----------------------------------------------------------------------------------
    def __copy__(self) -> Variable:
        copied = Variable(detached(self), self._trainable, self._name)
        copied._constraint = self._constraint
        return copied

    def __deepcopy__(self, memo: dict[int, Any]) -> Variable:
        return self.__copy__()

    def __reduce__(self) -> tuple[Any, ...]:
        if self._constraint is None:
            return Variable, (detached(self), self._trainable, self._name)
        return rebuilt, (detached(self), self._trainable, self._name, self._constraint)

    def __repr__(self) -> str:
        kind = "" if self._trainable else ", trainable=False"
        path = f", path={self._path!r}" if self._path not in ("", self._name) else ""
        return f"Variable({detached(self)!r}, name={self._name!r}{path}{kind})"

    def _repr_html_(self) -> str:
        facts = {"name": self._name, "trainable": self._trainable, "shape": self.shape}
        facts |= {"dtype": self.dtype, "device": self.device}
        return facts_table("Variable", facts, str(detached(self)))

    def _said(self) -> str:
        name = repr(self._name)
        if self._path not in ("", self._name):
            name = repr(self._path) if self._name == UNNAMED else f"{name} (at {self._path!r})"
        return f"the Variable {name}, {layout_text(self)} [at {user_line()}]"


def check_shape(given: Array, shape: Sequence[int | None] | None) -> None:
    """Raise ValueError unless an initial value has the shape, in which None stands for any length."""
    if shape is None:
        return
    fits = len(shape) == given.ndim and all(
        wanted in (None, length) for wanted, length in zip(shape, given.shape, strict=True)
    )
    if not fits:
        raise ValueError(
            f"Variable: the initial value {describe(given)} does not have the shape {tuple(shape)} "
            f"[at {user_line()}]"
        )


def rebuilt(value: Array, trainable: bool, name: str, constraint: Callable[..., Any]) -> Variable:
    """Make a Variable from the parts that ``Variable.__reduce__`` gave to pickle."""
    return Variable(value, trainable, name, constraint=constraint)


def detached(x: Array) -> Array:
    """Return an Array that shares the data of ``x``, and that no tape follows."""
    return wrap(peek(x if isinstance(x, Variable) else asarray(x)), 0, KEPT)


class AllOrNone:
    """A block of assignments to Variables, which restores the former values if the block raises."""

    def __init__(self, variables: Iterable[Variable]) -> None:
        self.kept = [(variable, peek(variable)) for variable in variables]

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if kind is not None:
            restore_values(self.kept)


def restore_values(kept: Iterable[tuple[Variable, Any]]) -> None:
    """Restore the data that Variables held before.

    kept : pairs (Variable, data).  The data is intact, since assignments replace data and never write
    to it.
    """
    for variable, data in kept:
        variable._data = data


def own_data(x: Array) -> Any:
    data = detached(x)._data
    return storage_of(data).copy(data)


IN_PLACE = """\
``v {symbol}= value``: assign the result of ``{op}`` to v.  Tapes do not record this.

Parameters
----------
value : object
    The operand on the right: an Array, host data or a number.

Returns
-------
Variable
    The Variable itself.

Raises
------
ValueError
    When shape or dtype would change."""


def make_in_place_method(name: str) -> Callable[[Variable, Any], Variable]:
    function = getattr(operator, {"and": "and_", "or": "or_"}.get(name, name))

    def assign_in_place(self: Variable, value: Operand) -> Variable:
        return self._update(function, value)

    assign_in_place.__name__ = assign_in_place.__qualname__ = f"__i{name}__"
    assign_in_place.__doc__ = IN_PLACE.format(symbol=SYMBOLS[name], op=BINARY[name])
    return assign_in_place


for _name in BINARY:
    setattr(Variable, f"__i{_name}__", make_in_place_method(_name))
