"""Variable: an Array with state, which tapes watch when it is read."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ._array.array import KEPT, Array, wrap
from ._array.views import keep_data, peek, recorded_copy
from ._define.docstrings import SYMBOLS
from ._record.mode_stack import MODES, meet
from ._record.stack import new_value_id, recorders, tell_assigned
from ._storage.storage import holds_kind, storage_of
from ._util.errors import describe, layout_text, user_line
from ._util.html import facts_table
from ._util.locks import reentrant_lock
from .ops.creation_functions import asarray
from .ops.operators import BINARY

if TYPE_CHECKING:
    import numpy.typing as npt

    from ._array.array import Operand
    from ._util.array_types import Index, RawArray


UNNAMED = "Variable"  # the name of a Variable without a name of its own
REPLACING = reentrant_lock()  # the lock for replacing a Variable's data


class Variable(Array):
    """An Array whose value may be replaced: the parameters of a model.

    A tape with ``watch_accessed_variables=True`` watches each trainable Variable that is read.  A read
    returns a snapshot of the value.  Reads before and after an ``assign`` use different values, and the
    gradients of all reads are added.  An assignment is never recorded, so no gradient flows through it.

    Parameters
    ----------
    initial_value : object
        An Array, host data, scalars or nested sequences of these.  The data is copied.
    trainable : bool, default: True
        If True, tapes watch the Variable whenever it is read.
    name : str | None, default: None
        The name in messages.  None means "Variable".
    dtype : dtype | None, default: None
        The dtype of the Variable.  None means the dtype of ``initial_value``.

    Raises
    ------
    TypeError
        When trainable is neither True nor False, name is no str, or ``asarray`` raises TypeError.

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
    >>> v.name, v.trainable, v.path
    ('v', True, '')
    """

    # _value_id is always -2, so that every read calls ``_sync``, which notifies the recorders.
    __slots__ = ("_identity", "_name", "_path", "_trainable")

    def __init__(
        self,
        initial_value: Operand,
        trainable: bool = True,
        name: str | None = None,
        dtype: npt.DTypeLike | None = None,
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
        self._data = own_data(asarray(initial_value, dtype=dtype))
        self._state = KEPT
        self._value_id = -2
        self._identity = new_value_id()
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

    _has_state = True

    def _sync(self) -> int:
        """Notify the recorders that the Variable is read, and return the id of its value."""
        for recorder in recorders():
            recorder.accessed(self)
        return self._identity

    def value(self) -> Array:
        """Take a snapshot of the value, which later assignments do not change.

        Returns
        -------
        Array
            The current value.  Tapes that follow the Variable also follow this Array.
        """
        snapshot = recorded_copy(self, keep_data(self))
        snapshot._state = KEPT
        return snapshot

    _snapshot = value

    def _current_id(self) -> int:
        return self._identity

    _ensure_id = _current_id

    # --- state ------------------------------------------------------------------------------------
    def assign(self, value: Operand) -> Variable:
        """Replace the value.  Tapes do not record the assignment.

        Parameters
        ----------
        value : object
            An Array of the Variable's shape, dtype and device.  Host data and numbers are
            cast if their kind fits: integers to a Variable of floats, floats of any precision to a
            Variable of complex numbers.

        Returns
        -------
        Variable
            The Variable itself.

        Raises
        ------
        ValueError
            When shape, dtype or device would change.
        """
        if MODES:
            meet(self)
        data = own_data(self._fitting(self._host_data(value)))
        tell_assigned(self, value)
        with REPLACING:
            self._data = data
        return self

    def _own(self, value: Array) -> None:
        """Replace the value by that of an Array whose memory nothing else refers to, without a copy."""
        data = self._fitting(value)._data
        tell_assigned(self, value)
        with REPLACING:
            self._data = data

    def assign_add(self, value: Operand) -> Variable:
        """Add ``value`` to the Variable's value.  Tapes do not record the assignment.

        Parameters
        ----------
        value : object
            An Array, host data or a number.

        Returns
        -------
        Variable
            The Variable itself.

        Raises
        ------
        ValueError
            When shape or dtype would change.
        """
        return self._update(operator.add, value)

    def assign_sub(self, value: Operand) -> Variable:
        """Subtract ``value`` from the Variable's value.  Tapes do not record the assignment.

        Parameters
        ----------
        value : object
            An Array, host data or a number.

        Returns
        -------
        Variable
            The Variable itself.

        Raises
        ------
        ValueError
            When shape or dtype would change.
        """
        return self._update(operator.sub, value)

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
        """Replace the data ``before`` and return True; return False if another thread replaced it."""
        tell_assigned(self, value)
        with REPLACING:
            if self._data is not before:
                return False
            self._data = data
            return True

    def _fitting(self, given: Array) -> Array:
        """Return ``given`` if its shape, dtype and device are the Variable's; else raise ValueError."""
        alike = given.dtype == self.dtype and given.device == self.device
        if given.shape != self.shape or not alike:
            raise ValueError(f"assign: {describe(given)} does not fit into {self._said()}")
        return given

    def _host_data(self, value: Operand) -> Array:
        """Return an Array unchanged, and host data as an Array on the Variable's device.

        Host data is cast to the Variable's dtype, unless the data is of a greater kind, such as complex
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
        while True:
            before = peek(self)
            changed = wrap(storage_of(before).copy(before))
            changed[key] = given
            if self._replace(before, changed._data, value):
                return

    # --- copies -----------------------------------------------------------------------------------
    def __copy__(self) -> Variable:
        return Variable(detached(self), self._trainable, self._name)

    def __deepcopy__(self, memo: dict[int, Any]) -> Variable:
        return self.__copy__()

    def __reduce__(self) -> tuple[Any, ...]:
        return Variable, (detached(self), self._trainable, self._name)

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
