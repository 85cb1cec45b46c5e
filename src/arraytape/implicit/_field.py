"""The user's right-hand side: on flat Arrays, and on NumPy data for SciPy's solvers."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import arraytape as xp

from .._array.array import Array
from .._array.views import current, private_handle
from .._custom.switches import called_and_compared
from .._record.stack import only_recorders, recorders
from .._storage.batched.batched_data import axis_ids_of
from .._storage.storage import is_complex, storage_of
from .._util import nest
from .._util.errors import TapeWarning, describe, see, short_repr, stacklevel, user_line
from ._layouts import handles

Data = np.ndarray[Any, np.dtype[Any]]


class Field:
    """``f(t, y, *args)`` as a function of a flat y, whose answer is checked.

    Attributes
    ----------
    shape, dtype, device
        What f is given as y.
    calls
        How often f was called for values; what derivatives cost is not counted.
    alone
        Gives a context in which f runs for its values, hidden from recorders.
    """

    def __init__(self, f: Callable[..., Any], y0: Array) -> None:
        self.f, self.shape, self.dtype, self.device = f, y0.shape, y0.dtype, y0.device
        self.real = np.zeros((), self.dtype).real.dtype
        self.calls, self.looked_at = 0, False
        self.alone: Any = only_recorders

    def __call__(self, t: Any, y: Array, args: Any) -> Array:
        """The slope at y, of shape (n,); t is an Array or a float."""
        self.calls += 1
        t = self.asarray(t, self.real)
        state = private_handle(y if len(self.shape) == 1 else xp.reshape(y, self.shape))
        slope = self.asarray(self.slope(private_handle(t), state, *own(args)), None)
        if slope.shape != self.shape:
            raise ValueError(
                f"odeint: f gave {describe(slope)} for a y of shape {self.shape}: it must give dy/dt in "
                f"the shape of y [at {user_line()}]"
            )
        if is_complex(slope) and self.dtype.kind != "c":
            raise TypeError(
                f"odeint: f gave {describe(slope)} for a real y0; pass a complex y0 [at {user_line()}]"
            )
        slope = slope if slope.dtype == self.dtype else xp.astype(slope, self.dtype)
        return slope if len(self.shape) == 1 else xp.reshape(slope, (-1,))

    def slope(self, t: Array, y: Array, *args: Any) -> Any:
        """Return what f gives; at its first recorded call, warn if t is compared with a followed one."""
        if self.looked_at or not recorders():
            return self.f(t, y, *args)
        self.looked_at = True
        found, lines = called_and_compared(self.f, t, y, *args)
        for name, line in lines.items():
            warnings.warn(
                "odeint: integrate in pieces, up to the switching time and from there on: f switches at "
                f"a time that is followed ({name} of t at {line}), and no derivative with respect to "
                f"that time is in the gradient [at {user_line()}] {see('switching-times')}",
                TapeWarning,
                stacklevel=stacklevel(),
            )
            break
        return found

    def asarray(self, value: Any, dtype: Any) -> Array:
        """An Array where y is; of a list of Arrays and numbers, too."""
        if isinstance(value, Array):
            return value
        try:
            return xp.asarray(value, dtype=dtype, device=self.device)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"odeint: f must give an Array or a list of Arrays and numbers, got {short_repr(value)} "
                f"[at {user_line()}]"
            ) from error

    def of_data(self, args: Any) -> Callable[[float, Data], Data]:
        """The same on NumPy data; no recorder sees it."""

        def function(t: float, y: Data) -> Data:
            with self.alone():
                slope = self(float(t), self.asarray(y.copy(), self.dtype), args)
                return for_solver(slope, "what f gives")

        return function

    def jacobian_of_data(self, jac: Callable[..., Any], args: Any) -> Callable[[float, Data], Any]:
        """The user's df/dy on NumPy data; a sparse matrix stays one."""

        def function(t: float, y: Data) -> Any:
            with self.alone():
                state = xp.reshape(self.asarray(y.copy(), self.dtype), self.shape)
                J = jac(self.asarray(float(t), self.real), state, *own(args))
                return on_host(J, "what jac gives") if isinstance(J, Array) else J

        return function


def own(args: Any) -> Any:
    """The further arguments, Arrays under handles of their own: writes to them stay there."""
    return nest.pack_nesting(args, handles(nest.leaves(args))) if args else args


def on_host(x: Any, what: str) -> Data:
    """The values of an Array as NumPy data; TypeError where there are others in each example."""
    if isinstance(x, Array):
        refuse_batched(x, what)
        with only_recorders():
            return np.array(x.to_device("cpu"))
    return np.array(x)


def for_solver(x: Array, what: str) -> Data:
    """The values of an Array on which SciPy's steps depend: an ``xp.function`` does not replay them."""
    values = on_host(x, what)
    data = current(x)[1]
    storage_of(data).refuse_replay(data, "SciPy's solver runs in it (odeint)")
    return values


def refuse_batched(values: Any, what: str) -> None:
    """TypeError where a value differs between the examples of a vmap."""
    data = [leaf._data for leaf in nest.leaves(values) if isinstance(leaf, Array)]
    if axis_ids_of(data):
        raise TypeError(
            f"odeint: under vmap {what} differs between examples, which then take other steps each "
            f"[at {user_line()}]. Use a method of fixed steps (method='RK4', max_step=...), put the "
            "examples into one y0 with an axis more, or call odeint in a loop"
        )
