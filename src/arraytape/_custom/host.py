"""numpy_function and host_function: calls of NumPy code, without a gradient or with a VJP in NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._array.array import Array, namespace, wrap
from .._array.exits import leave_tapes
from .._array.views import current
from .._storage.storage import storage_of
from .._util import nest
from .._util.errors import describe, user_line
from .._util.nest import Nesting
from .gradient import call_with_rule
from .private_handles import display_name


def numpy_function(f: Callable[..., Any], inputs: Nesting) -> Any:
    """Call a function of NumPy arrays on Arrays; no gradient passes through the call.

    Parameters
    ----------
    f : Callable
        Accepts NumPy arrays and returns a NumPy array, a number or a nesting of these.
    inputs : list | tuple | Array
        The positional arguments, which may be nestings, or one Array as the only argument.  f
        receives a NumPy copy of each Array.

    Returns
    -------
    Array or nesting
        The results of f, as Arrays on the device of the first Array among the inputs.

    Raises
    ------
    TypeError
        When f returns anything but arrays and numbers.

    Notes
    -----
    Derivative: none.  If a gradient is None because of this call, a warning names the line of the
    call.

    Examples
    --------
    >>> import numpy as np
    >>> import arraytape as xp
    >>> x = xp.asarray([3.0, 1.0, 2.0])
    >>> print(xp.numpy_function(np.median, [x]))
    2.0
    """
    name = f"numpy_function({display_name(f)})"
    args = tuple(inputs) if isinstance(inputs, list | tuple) else (inputs,)
    arrays = [leaf for leaf in nest.leaves(args) if isinstance(leaf, Array)]
    for x in arrays:
        leave_tapes(x, name)
    return results_as_arrays(name, f(*copy_to_numpy(args)), arrays)


def host_function(f: Callable[..., Any], vjp: Callable[..., Any]) -> HostFunction:
    """Turn a function of NumPy arrays and its VJP into a differentiable function of Arrays.

    Parameters
    ----------
    f : Callable
        Accepts NumPy copies of the Arrays and returns a NumPy array, a number or a nesting of
        these.
    vjp : Callable
        Is called as ``vjp(g, y, *inputs)`` with NumPy arrays: ``y`` is the result of f, ``g`` its
        cotangent in the same nesting, and ``inputs`` are the positional arguments of f.  It
        returns one gradient (None: no gradient) for each array among the inputs, of the same
        shape and dtype.  Keyword arguments are passed to f alone.

    Returns
    -------
    Callable
        Accepts the arguments of f with Arrays in place of NumPy arrays, and returns Arrays.

    Raises
    ------
    TypeError
        When f or vjp cannot be called.  At a call, when f returns anything but arrays and
        numbers.
    ValueError
        In the backward pass: when vjp returns a wrong number of gradients, or a gradient of a
        wrong shape or dtype.

    Notes
    -----
    A second derivative needs the VJP of ``vjp`` too:
    ``host_function(f, host_function(vjp, vjp_of_vjp))``.  Otherwise a request for a second
    derivative raises LookupError.

    Examples
    --------
    >>> import scipy.special
    >>> import arraytape as xp
    >>> cbrt = xp.host_function(scipy.special.cbrt, lambda g, y, x: g / (3 * y**2))
    >>> x = xp.asarray([1.0, 8.0])
    >>> print(cbrt(x))
    [1. 2.]
    >>> print(xp.grad(lambda x: xp.sum(cbrt(x)))(x))
    [0.33333333 0.08333333]
    """
    display_name(vjp)
    return HostFunction(f, vjp, f"host_function({display_name(f)})")


class HostFunction:
    """A function of Arrays that calls a function of NumPy arrays; the result of ``host_function``.

    f : the function of NumPy arrays.
    vjp : the VJP, a function of NumPy arrays or another HostFunction; None if f has no derivative.
    """

    def __init__(self, f: Callable[..., Any], vjp: Callable[..., Any] | None, name: str) -> None:
        self.f, self.name, self.vjp = f, name, vjp
        self.__name__, self.__doc__ = getattr(f, "__name__", name), getattr(f, "__doc__", None)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        missing = self.name if self.vjp is None else None

        def host_with_rule(*args: Any) -> tuple[Any, Any]:
            arrays = [leaf for leaf in nest.leaves(args) if isinstance(leaf, Array)]
            y = results_as_arrays(self.name, self.f(*copy_to_numpy(args), **keywords), arrays)
            rule = (
                None if missing else lambda *dy: self.pull(nest.pack_nesting(y, list(dy)), y, args)
            )
            return y, rule

        return call_with_rule(
            self.name, host_with_rule, args, {}, signature_of=self.f, missing=missing
        )

    def pull(self, g: Nesting, y: Nesting, args: tuple[Any, ...]) -> Any:
        """Call the VJP; return the gradients of the Array arguments, in the nesting of its result.

        A plain ``vjp`` is called as a HostFunction without a derivative, so that a second derivative
        raises LookupError.  A HostFunction returns no None.  So gradients that are None are left out in
        its call, and put back at the end.

        g : the cotangent of the result y, in its nesting.  args : the arguments of f.
        """
        if isinstance(self.vjp, HostFunction):
            return self.vjp(g, y, *args)
        vjp = self.vjp
        answers: list[Any] = []

        def host_gradients(*data: Any) -> list[Any]:
            assert vjp is not None
            answers.append(vjp(*data))
            return [part for part in nest.leaves(answers[0]) if part is not None]

        arrays = iter(HostFunction(host_gradients, None, f"the vjp of {self.name}")(g, y, *args))
        parts = nest.leaves(answers[0])
        return nest.pack_nesting(
            answers[0], [None if part is None else next(arrays) for part in parts]
        )

    def __repr__(self) -> str:
        return self.name


def copy_to_numpy(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments with each Array replaced by a NumPy copy of its value.

    The NumPy function may write to the copies, and no tape records the conversion.
    """
    leaves = [
        np.array(storage_of(leaf._data).host(current(leaf)[1]), copy=True)
        if isinstance(leaf, Array) else leaf
        for leaf in nest.leaves(args)
    ]  # fmt: skip
    packed: tuple[Any, ...] = nest.pack_nesting(args, leaves)
    return packed


def results_as_arrays(name: str, answer: Nesting, arrays: Sequence[Array]) -> Any:
    """Return the results of a NumPy function as Arrays, on the device of its first Array argument.

    answer : the result of the function.  arrays : its Array arguments.
    """
    leaves = []
    for value in nest.leaves(answer):
        data = np.asarray(value)
        if data.dtype.kind not in "biufc":
            raise TypeError(
                f"{name}: the function must return NumPy arrays or numbers, got {describe(value)} "
                f"[at {user_line()}]"
            )
        if arrays:
            home = storage_of(arrays[0]._data)
            leaves.append(wrap(home.asarray(data, None, arrays[0].device, True)))
        else:
            leaves.append(namespace().asarray(data, copy=True))
    return nest.pack_nesting(answer, leaves)
