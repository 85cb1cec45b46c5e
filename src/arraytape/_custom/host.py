"""Functions of NumPy arrays, outside arraytape: without a gradient, or with a VJP of NumPy arrays."""

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
    """Call a function of NumPy arrays with Arrays; it cuts the gradient.

    Parameters
    ----------
    f : Callable
        Takes NumPy arrays and gives a NumPy array, a number or a nesting of these.
    inputs : list | tuple | Array
        The positional arguments, in any nesting, or one Array; Arrays among them are handed on
        as copies.

    Returns
    -------
    Array or nesting
        What f gave, as Arrays on the device of the first Array among the inputs.

    Raises
    ------
    TypeError
        When f gives anything else.

    Notes
    -----
    Derivative: none; a gradient that is None because of it names this line in a warning.

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
    return returned(name, f(*on_host(args)), arrays)


def host_function(f: Callable[..., Any], vjp: Callable[..., Any]) -> HostFunction:
    """Make a function of NumPy arrays one of Arrays, with a gradient.

    Parameters
    ----------
    f : Callable
        Takes NumPy copies of the Arrays, gives a NumPy array, a number or a nesting of these.
    vjp : Callable
        ``vjp(g, y, *inputs)``, on NumPy arrays: the cotangent ``g`` in the nesting of f's result
        ``y``, and f's positional arguments.  It gives one gradient (None: no gradient) for each
        array among them, in its shape and dtype.  Keyword arguments go to f alone.

    Returns
    -------
    Callable
        Takes the arguments of f, with Arrays for arrays, and gives Arrays.

    Raises
    ------
    TypeError
        When f or vjp cannot be called; at the call, when f gives anything but arrays and numbers.
    ValueError
        In the backward pass: when vjp gives a wrong number of gradients, a wrong shape or dtype.

    Notes
    -----
    A second derivative needs the vjp's own: ``host_function(f, host_function(vjp, its_vjp))``.
    Without it, asking for one is a LookupError.

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
    """The result of ``host_function``: callable with Arrays."""

    def __init__(self, f: Callable[..., Any], vjp: Callable[..., Any] | None, name: str) -> None:
        self.f, self.name, self.vjp = f, name, vjp
        self.__name__, self.__doc__ = getattr(f, "__name__", name), getattr(f, "__doc__", None)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        missing = self.name if self.vjp is None else None

        def host_with_rule(*args: Any) -> tuple[Any, Any]:
            arrays = [leaf for leaf in nest.leaves(args) if isinstance(leaf, Array)]
            y = returned(self.name, self.f(*on_host(args), **keywords), arrays)
            rule = (
                None if missing else lambda *dy: self.pull(nest.pack_nesting(y, list(dy)), y, args)
            )
            return y, rule

        return call_with_rule(
            self.name, host_with_rule, args, {}, signature_of=self.f, missing=missing
        )

    def pull(self, g: Nesting, y: Nesting, args: tuple[Any, ...]) -> Any:
        """Return one gradient for each Array among the arguments, as the vjp nests them."""
        if isinstance(self.vjp, HostFunction):
            return self.vjp(g, y, *args)
        vjp = self.vjp
        answers: list[Any] = []

        def host_gradients(*on_host: Any) -> list[Any]:
            assert vjp is not None
            answers.append(vjp(*on_host))
            return [part for part in nest.leaves(answers[0]) if part is not None]

        arrays = iter(HostFunction(host_gradients, None, f"the vjp of {self.name}")(g, y, *args))
        parts = nest.leaves(answers[0])
        return nest.pack_nesting(
            answers[0], [None if part is None else next(arrays) for part in parts]
        )

    def __repr__(self) -> str:
        return self.name


def on_host(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return arguments with NumPy copies in the place of Arrays."""
    leaves = [
        np.array(storage_of(leaf._data).host(current(leaf)[1]), copy=True)
        if isinstance(leaf, Array) else leaf
        for leaf in nest.leaves(args)
    ]  # fmt: skip
    packed: tuple[Any, ...] = nest.pack_nesting(args, leaves)
    return packed


def returned(name: str, answer: Nesting, arrays: Sequence[Array]) -> Any:
    """Return a host function's results as Arrays on the device of its first Array argument."""
    leaves = []
    for value in nest.leaves(answer):
        data = np.asarray(value)
        if data.dtype.kind not in "biufc":
            raise TypeError(
                f"{name}: the function must give NumPy arrays or numbers, got {describe(value)} "
                f"[at {user_line()}]"
            )
        if arrays:
            home = storage_of(arrays[0]._data)
            leaves.append(wrap(home.asarray(data, None, arrays[0].device, True)))
        else:
            leaves.append(namespace().asarray(data, copy=True))
    return nest.pack_nesting(answer, leaves)
