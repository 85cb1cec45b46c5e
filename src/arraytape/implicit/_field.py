"""``Field``: the user's f(t, y) of odeint, on flat Arrays and on NumPy data for SciPy's solvers."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

import arraytape as xp

from .._array.array import Array
from .._array.views import current, private_handle
from .._custom.switches import called_and_compared
from .._record.stack import only_recorders, recorders
from .._storage.batched.batched_data import axis_ids_of
from .._storage.storage import is_complex, storage_of
from .._util import nest
from .._util.errors import TapeWarning, describe, describe_result, see, stacklevel, user_line
from ._layouts import own_handles

if TYPE_CHECKING:
    import numpy.typing as npt

Data = np.ndarray[Any, np.dtype[Any]]
Time = Array | float  # a time, or the length of a step
Arguments = tuple[Any, ...]


class Field:
    """The user's ``f(t, y, *args)`` as a function of a flat y, which also checks the result.

    Attributes
    ----------
    shape, dtype, device
        The shape, dtype and device of the y with which f is called.
    calls
        The number of calls of f for values; calls for derivatives are not counted.
    hide_calls
        A function that returns a context in which tapes and accumulators do not see f's ops.
    """

    def __init__(self, f: Callable[..., Any], y0: Array) -> None:
        self.f, self.shape, self.dtype, self.device = f, y0.shape, y0.dtype, y0.device
        self.real = np.zeros((), self.dtype).real.dtype
        self.calls, self.comparisons_checked = 0, False
        self.hide_calls: Any = only_recorders

    def __call__(self, t: Time, y: Array, args: Arguments) -> Array:
        """Return dy/dt for a flat y, in the same shape (n,).

        Raises ValueError if f's result has another shape than its y, TypeError if it is no array.
        """
        self.calls += 1
        t = self.as_state_array(t, self.real)
        state = private_handle(y if len(self.shape) == 1 else xp.reshape(y, self.shape))
        slope = self.as_state_array(
            self.call_field(private_handle(t), state, *own_arguments(args)), None
        )
        if slope.shape != self.shape:
            raise ValueError(
                f"odeint: f must return dy/dt in y's shape {self.shape}, got {describe(slope)} "
                f"[at {user_line()}]"
            )
        if is_complex(slope) and self.dtype.kind != "c":
            raise TypeError(
                f"odeint: pass a complex y0: f returned {describe(slope)} for a real y0 "
                f"[at {user_line()}]"
            )
        slope = slope if slope.dtype == self.dtype else xp.astype(slope, self.dtype)
        return slope if len(self.shape) == 1 else xp.reshape(slope, (-1,))

    def call_field(self, t: Array, y: Array, *args: Any) -> Any:
        """Return f's result; at the first recorded call, warn if f compares t with another number.

        Where f switches at such a number, as in ``xp.where(t > t1, ...)``, the gradient lacks the
        derivative with respect to the number.
        """
        if self.comparisons_checked or not recorders():
            return self.f(t, y, *args)
        self.comparisons_checked = True
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

    def as_state_array(self, value: Array | npt.ArrayLike, dtype: npt.DTypeLike | None) -> Array:
        """Return ``value``, such as f's result, as an Array on y's device.

        It may be a list of Arrays and numbers.
        """
        if isinstance(value, Array):
            return value
        try:
            return xp.asarray(value, dtype=dtype, device=self.device)
        except (TypeError, ValueError) as error:
            raise TypeError(
                "odeint: f must give an Array or a list of Arrays and numbers, got "
                f"{describe_result(value)} [at {user_line()}]"
            ) from error

    def of_data(self, args: Arguments) -> Callable[[float, Data], Data]:
        """Return f as a function of NumPy data for SciPy's solver; no tape records its calls.

        args : the arguments of f after y.
        """

        def field_on_data(t: float, y: Data) -> Data:
            with self.hide_calls():
                slope = self(float(t), self.as_state_array(y.copy(), self.dtype), args)
                return for_solver(slope, "what f gives")

        return field_on_data

    def jacobian_of_data(
        self, jac: Callable[..., Any], args: Arguments
    ) -> Callable[[float, Data], Any]:
        """Return the user's df/dy as a function of NumPy data for SciPy's solver.

        Sparse matrices that ``jac`` returns are passed on as they are.
        args : the arguments of ``jac`` after y.
        """

        def jacobian_on_data(t: float, y: Data) -> Any:
            with self.hide_calls():
                state = xp.reshape(self.as_state_array(y.copy(), self.dtype), self.shape)
                J = jac(self.as_state_array(float(t), self.real), state, *own_arguments(args))
                return values_on_host(J, "what jac gives") if isinstance(J, Array) else J

        return jacobian_on_data


def own_arguments(args: Arguments) -> Any:
    """Return the arguments of f after y with new Array objects of the same values.

    f may write to these without a change of the caller's Arrays.
    """
    return nest.pack_nesting(args, own_handles(nest.leaves(args))) if args else args


def values_on_host(x: Array | npt.ArrayLike, what: str) -> Data:
    """Return the values of x as NumPy data; raise TypeError if vmap maps x.

    what : what x is, for the message.
    """
    if isinstance(x, Array):
        refuse_batched(x, what)
        with only_recorders():
            return np.array(x.to_device("cpu"))
    return np.array(x)


def for_solver(x: Array, what: str) -> Data:
    """Return the values of x as NumPy data for SciPy's solver.

    An ``xp.function`` around the call is then not replayed, because the solver's steps depend on the
    values.
    what : what x is, for the message.
    """
    values = values_on_host(x, what)
    data = current(x)[1]
    storage_of(data).refuse_replay(data, "SciPy's solver runs in it (odeint)")
    return values


def refuse_batched(values: Any, what: str) -> None:
    """Raise TypeError if an Array in ``values`` differs between the examples of a vmap.

    what : what the values are, for the message.
    """
    data = [leaf._data for leaf in nest.leaves(values) if isinstance(leaf, Array)]
    if axis_ids_of(data):
        raise TypeError(
            f"odeint: under vmap {what} differs between examples, which then need different steps "
            f"[at {user_line()}]. Use a method of fixed steps (method='RK4', max_step=...), put the "
            "examples into one y0 with one more axis, or call odeint in a loop"
        )
