"""Derivatives as functions of functions: grad, jacobian, hessian, jvp, vjp, hvp.

    grad(lambda w: xp.sum(w**2))(w)

They nest to any order, and in each other.  A function takes and gives Arrays, or nestings of Arrays:
lists, tuples, dicts, dataclasses and what ``register_nesting`` declares; what it does to its arguments
in place stays its own affair.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec

import numpy as np

from .._array.array import Array
from .._tape.accumulator import ForwardAccumulator
from .._tape.arguments import UnconnectedGradients, differentiable
from .._tape.tape import GradientTape
from .._util import nest
from .._util.errors import describe, shown, user_line
from ..ops.creation_functions import copied
from .verify import Again, along, inner, xp_like

P = ParamSpec("P")
Function = Callable[..., Any]
ArgNums = int | Sequence[int]
ZERO = UnconnectedGradients.ZERO


def grad(f: Callable[P, Array], argnums: ArgNums = 0, *, verify: bool = False) -> Callable[P, Any]:
    """The gradient of a scalar function, as a function of the same arguments.

    Parameters
    ----------
    f : Callable
        Takes Arrays and gives one real Array of shape ().
    argnums : int | Sequence[int], default: 0
        The position of the argument to differentiate, or a sequence of positions.
    verify : bool, default: False
        Whether to evaluate f again, twice, along one direction, and raise where the derivative
        disagrees: a value that left and came back as a constant is found in this way, whatever it went
        through.  f must give the same each time.

    Returns
    -------
    Callable
        Gives the gradient in the nesting of the argument; a tuple of them for a sequence of
        positions.  Zeros for what f does not depend on.

    Raises
    ------
    TypeError
        When f gives anything but a real floating-point Array, or the argument is no Array.
    ValueError
        When f's result has a shape other than (), or there is no argument at a position.
    """
    both = value_and_grad(f, argnums, verify=verify)

    @functools.wraps(f)
    def gradient(*args: Any, **keywords: Any) -> Any:
        return both(*args, **keywords)[1]

    return gradient


def value_and_grad(
    f: Callable[P, Array], argnums: ArgNums = 0, *, verify: bool = False
) -> Callable[P, tuple[Array, Any]]:
    """A scalar function's value together with its gradient.

    Parameters
    ----------
    f : Callable
        Takes Arrays and gives one real Array of shape ().
    argnums : int | Sequence[int], default: 0
        The position of the argument to differentiate, or a sequence of positions.
    verify : bool, default: False
        Whether to evaluate f again, twice, along one direction, and raise where the derivative
        disagrees: a value that left and came back as a constant is found in this way, whatever it went
        through.  f must give the same each time.

    Returns
    -------
    Callable
        Gives ``(value, gradient)``, with the gradient as of ``grad``.

    Raises
    ------
    TypeError
        When f gives anything but a real floating-point Array, or the argument is no Array.
    ValueError
        When f's result has a shape other than (), or there is no argument at a position.
    """
    check_function("grad", f, verify)

    @functools.wraps(f)
    def both(*args: Any, **keywords: Any) -> tuple[Array, Any]:
        given = args
        args, chosen = fresh("grad", args, argnums)
        with never_zeros(GradientTape()) as tape:
            tape.watch(chosen)
            y = f(*args, **keywords)
        check_scalar(y)
        found = tape.gradient(y, chosen, unconnected_gradients=ZERO)
        if verify:
            again = Again(f, given, argnums, keywords)
            again.check("grad", lambda v: inner(nest.leaves(found), v))
        return y, found

    return both


def jacobian(
    f: Callable[P, Any], argnums: ArgNums = 0, *, verify: bool = False
) -> Callable[P, Any]:
    """The Jacobian of a function, by reverse mode, as a function of the same arguments.

    Parameters
    ----------
    f : Callable
        Takes Arrays and gives an Array or a nesting of Arrays.
    argnums : int | Sequence[int], default: 0
        The position of the argument to differentiate, or a sequence of positions.
    verify : bool, default: False
        Whether to evaluate f again, twice, along one direction, and raise where the derivative
        disagrees: a value that left and came back as a constant is found in this way, whatever it went
        through.  f must give the same each time.

    Returns
    -------
    Callable
        Gives for each Array in f's result the nesting of the argument, with Arrays of shape
        result.shape + argument.shape; a tuple of these for a sequence of positions.

    Raises
    ------
    TypeError
        When f gives, or is differentiated with respect to, anything but Arrays.
    ValueError
        When there is no argument at a position.
    """
    check_function("jacobian", f, verify)

    @functools.wraps(f)
    def derivative(*args: Any, **keywords: Any) -> Any:
        given = args
        args, chosen = fresh("jacobian", args, argnums)
        with never_zeros(GradientTape(persistent=True)) as tape:
            tape.watch(chosen)
            y = f(*args, **keywords)
        rows = [
            tape.jacobian(part, chosen, unconnected_gradients=ZERO)
            for part in arrays_in("jacobian", "result", y)
        ]
        if verify:
            again = Again(f, given, argnums, keywords)
            again.check("jacobian", lambda v: [along(nest.leaves(row), v) for row in rows])
        return nest.pack(y, rows)

    return derivative


def hessian(
    f: Callable[P, Array], argnums: ArgNums = 0, *, verify: bool = False
) -> Callable[P, Any]:
    """The matrix of second derivatives of a scalar function: the Jacobian of its gradient.

    Parameters
    ----------
    f : Callable
        Takes Arrays and gives one real Array of shape ().
    argnums : int | Sequence[int], default: 0
        The position of the argument to differentiate, or a sequence of positions.
    verify : bool, default: False
        Whether to evaluate f again, twice, along one direction, and raise where the derivative
        disagrees: a value that left and came back as a constant is found in this way, whatever it went
        through.  f must give the same each time.

    Returns
    -------
    Callable
        Gives Arrays of shape argument.shape + argument.shape in the nesting of the argument,
        twice; a tuple of tuples of these for a sequence of positions.

    Raises
    ------
    TypeError
        When f gives anything but a real floating-point Array, or the argument is no Array.
    ValueError
        When f's result has a shape other than (), or there is no argument at a position.
    """
    return jacobian(grad(f, argnums), argnums, verify=verify)


def jvp(
    f: Function, primals: Sequence[Any], tangents: Sequence[Any], *, verify: bool = False
) -> tuple[Any, Any]:
    """A function's value and its derivative along tangents, by forward mode.

    Parameters
    ----------
    f : Callable
        Takes as many arguments as there are primals.
    primals : Sequence
        A tuple (or list) of Arrays or nestings of Arrays.
    tangents : Sequence
        The same, each tangent in its primal's shape and dtype.
    verify : bool, default: False
        Whether to evaluate f again, twice, along one direction, and raise where the derivative
        disagrees: a value that left and came back as a constant is found in this way, whatever it went
        through.  f must give the same each time.

    Returns
    -------
    value : Array or nesting
        What ``f(*primals)`` gives.
    derivative : Array or nesting
        Its derivative in the same nesting; zeros for what does not depend on the primals.

    Raises
    ------
    TypeError
        When primals or tangents are no sequences of Arrays.
    ValueError
        When tangents do not fit the primals.
    """
    check_function("jvp", f, verify)
    for name, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, list | tuple):
            raise TypeError(
                f"jvp: {name} must be a tuple with one entry for each argument of the function, got "
                f"{describe(given)} [at {user_line()}]"
            )
    args, chosen = fresh("jvp", tuple(primals), range(len(primals)))
    accumulator = ForwardAccumulator(chosen, tuple(tangents))
    accumulator._never_zeros = True
    with accumulator:
        y = f(*args)
    arrays_in("jvp", "result", y)
    found = accumulator.jvp(y, unconnected_gradients=ZERO)
    if verify:
        again = Again(f, tuple(primals), range(len(primals)), {})
        given = [
            xp_like(t, x)
            for x, t in zip(
                again.arrays,
                nest.leaves_like(chosen, tuple(tangents), "tangents", numbers=True),
                strict=True,
            )
        ]
        again.check("jvp", lambda v: found, given)
    return y, found


def vjp(f: Function, *primals: Any, verify: bool = False) -> tuple[Any, Function]:
    """A function's value, and the function that pulls a cotangent of it back to the primals.

    Parameters
    ----------
    f : Callable
        Takes as many arguments as there are primals.
    *primals : Array or nesting
        Arrays or nestings of Arrays.
    verify : bool, default: False
        Whether to evaluate f again, twice, along one direction, and raise where the derivative
        disagrees: a value that left and came back as a constant is found in this way, whatever it went
        through.  f must give the same each time.

    Returns
    -------
    value : Array or nesting
        What ``f(*primals)`` gives.
    pull : Callable
        Takes a cotangent in the nesting, shapes and dtypes of the value, and gives a tuple
        with one gradient for each primal.  It may be called again.

    Raises
    ------
    TypeError
        When the primals or f's result are no Arrays.
    """
    check_function("vjp", f, verify)
    args, chosen = fresh("vjp", primals, range(len(primals)))
    with never_zeros(GradientTape(persistent=True)) as tape:
        tape.watch(chosen)
        y = f(*args)
    arrays_in("vjp", "result", y)

    def pull(cotangent: Any) -> tuple[Any, ...]:
        found = tape.gradient(y, chosen, cotangent, unconnected_gradients=ZERO)
        if verify:
            weights = nest.leaves_like(y, cotangent, "cotangent", numbers=True)
            weighted = Again(f, primals, range(len(primals)), {}, weights)
            weighted.check("vjp", lambda v: inner(nest.leaves(found), v))
        return tuple(found)

    return y, pull


def hvp(
    f: Function, primals: Sequence[Any], tangents: Sequence[Any], *, verify: bool = False
) -> tuple[Any, ...]:
    """The product of a scalar function's Hessian with a vector, by forward over reverse mode.

    It costs a few times what f costs, whatever the size of its arguments.

    Parameters
    ----------
    f : Callable
        Takes as many arguments as there are primals and gives one real Array of shape ().
    primals : Sequence
        A tuple (or list) of Arrays or nestings of Arrays.
    tangents : Sequence
        The same, each tangent in its primal's shape and dtype.
    verify : bool, default: False
        Whether to evaluate f again, twice, along one direction, and raise where the derivative
        disagrees: a value that left and came back as a constant is found in this way, whatever it went
        through.  f must give the same each time.

    Returns
    -------
    tuple
        One product for each primal, in its nesting.

    Raises
    ------
    TypeError
        When primals or tangents are no sequences of Arrays, or f gives anything but a real
        floating-point Array.
    ValueError
        When tangents do not fit the primals, or f's result has a shape other than ().
    """
    gradient = grad(f, range(len(primals))) if isinstance(primals, list | tuple) else f
    product: tuple[Any, ...] = jvp(gradient, primals, tangents, verify=verify)[1]
    return product


def fresh(caller: str, args: tuple[Any, ...], argnums: ArgNums) -> tuple[tuple[Any, ...], Any]:
    """The arguments with recorded copies at some positions, and these.

    Copies, because one value must not mean two variables where derivatives nest:
    grad(lambda x: x * grad(lambda y: x + y)(x)) has x twice and y once.
    """
    if not isinstance(argnums, int | Sequence):
        raise TypeError(
            f"{caller}: argnums must be an int or a sequence of ints, got {describe(argnums)} "
            f"[at {user_line()}]"
        )
    positions = [argnums] if isinstance(argnums, int) else list(argnums)
    count = len(args)
    taken = []
    for n in positions:
        if not isinstance(n, int) or isinstance(n, bool):
            raise TypeError(
                f"{caller}: argnums must be an int or a sequence of ints, got {shown(n)} "
                f"[at {user_line()}]"
            )
        if not -count <= n < count:
            raise ValueError(
                f"{caller}: there is no argument at position {n}: the function was given {count} "
                f"[at {user_line()}]"
            )
        taken.append(n % count)
    if len(set(taken)) < len(taken):
        raise ValueError(
            f"{caller}: argnums {shown(argnums)} name an argument twice [at {user_line()}]"
        )
    several = list(args)
    for n in taken:
        parts = arrays_in(caller, f"argument {n}", args[n])
        for part in parts:
            if not differentiable(part):
                raise TypeError(
                    f"{caller}: argument {n} is {describe(part)}: only real and complex floating-point "
                    f"arrays have derivatives [at {user_line()}]"
                )
        several[n] = nest.pack(args[n], [copied(part) for part in parts])
    chosen = tuple(several[n] for n in taken)
    return tuple(several), chosen[0] if isinstance(argnums, int) else chosen


def never_zeros(tape: GradientTape) -> GradientTape:
    """A tape of which zeros in place of what left are an error: a function form warns nobody."""
    tape._recording.never_zeros = True
    return tape


def check_function(caller: str, f: Any, verify: Any) -> None:
    """TypeError for what cannot be called, and for a ``verify`` that is no truth value."""
    if not isinstance(verify, bool | np.bool):
        raise TypeError(
            f"{caller}: verify must be True or False, got {describe(verify)} [at {user_line()}]"
        )
    if not callable(f):
        raise TypeError(f"{caller}: takes a function, got {describe(f)} [at {user_line()}]")


def arrays_in(caller: str, what: str, value: Any) -> list[Array]:
    """The leaves of a nesting of Arrays; TypeError for anything else."""
    found = nest.leaves(value)
    for leaf in found:
        if not isinstance(leaf, Array):
            raise TypeError(
                f"{caller}: the {what} must be an Array or a nesting of Arrays, got {describe(leaf)}"
                f"{nest.place_of(leaf, value)} [at {user_line()}]"
            )
    return found


def check_scalar(y: Any) -> None:
    """TypeError or ValueError unless ``y`` is a real floating-point Array of shape ()."""
    if not isinstance(y, Array) or y.dtype.kind != "f":
        raise TypeError(
            f"grad: the function must give one real floating-point Array, got {describe(y)} "
            f"[at {user_line()}]"
        )
    if y.shape != ():
        raise ValueError(
            f"grad: the function must give an Array of shape (), got {describe(y)} "
            f"[at {user_line()}]; use jacobian, or sum the result"
        )


__all__ = ["grad", "hessian", "hvp", "jacobian", "jvp", "value_and_grad", "vjp"]
