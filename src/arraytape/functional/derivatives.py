"""Derivatives as functions of functions: grad, value_and_grad, jacobian, jacfwd, jacrev, hessian.

    grad(lambda w: xp.sum(w**2))(w)

They nest to any order, and in each other.  A function takes and gives Arrays, or nestings of Arrays:
lists, tuples, dicts, dataclasses and what ``register_nesting`` declares; what it does to its arguments
in place stays its own affair.  NumPy's arrays and floats may stand for Arrays in what is to be
differentiated: the function gets Arrays, and the derivative is NumPy's again, leaf by leaf.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Literal, ParamSpec, TypeVar, overload

from .._array.array import Array
from .._tape.tape import GradientTape
from .._util import nest
from .._util.errors import describe, user_line
from .doubts import settle_doubts
from .inputs import (
    ArgNums,
    Function,
    Inputs,
    check_chunk_size,
    check_function,
    check_scalar,
    given_again,
    with_aux,
    with_doubts,
    without_aux,
)
from .linearization import ZERO, Linearization
from .verify import Again, along, inner

P = ParamSpec("P")
R = TypeVar("R")


def grad(
    f: Callable[P, Any], argnums: ArgNums = 0, has_aux: bool = False, *, verify: bool = False
) -> Callable[P, Any]:
    """Return the gradient of a scalar function, as a function of the same arguments.

    Parameters
    ----------
    f : Callable
        Takes Arrays and gives one real Array of shape ().
    argnums : int | Sequence[int], default: 0
        The position of the argument to differentiate, or a sequence of positions.
    has_aux : bool, default: False
        If True, f returns a tuple ``(result, aux)``.  Only the result is differentiated; aux, any
        nesting, is returned together with the derivative.
    verify : bool, default: False
        If True, evaluate f twice more along one direction, and raise an error if the derivative
        disagrees.  The check finds values that left the tape and came back as constants.
        f must give the same result each time.

    Returns
    -------
    Callable
        Gives the gradient in the nesting of the argument; a tuple of them for a sequence of
        positions.  Zeros for what f does not depend on.  By a NumPy array it is a NumPy array, by a
        float or NumPy scalar a NumPy scalar.  With ``has_aux`` gives ``(gradient, aux)``.

    Raises
    ------
    TypeError
        When f gives anything but a real floating-point Array, or the argument is no floating-point
        Array, NumPy array or number.
    ValueError
        When f's result has a shape other than (), or there is no argument at a position.

    Examples
    --------
    >>> import numpy as np
    >>> import arraytape as xp
    >>> xp.grad(lambda x: xp.sum(x**2))(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    both = value_and_grad(f, argnums, has_aux, verify=verify)

    @functools.wraps(f)
    def gradient_of_call(*args: Any, **keywords: Any) -> Any:
        value, found = both(*args, **keywords)
        return (found, value[1]) if has_aux else found

    return gradient_of_call


@overload
def value_and_grad(
    f: Callable[P, R],
    argnums: ArgNums = 0,
    has_aux: Literal[False] = False,
    *,
    verify: bool = False,
) -> Callable[P, tuple[R, Any]]: ...
@overload
def value_and_grad(
    f: Callable[P, R], argnums: ArgNums = 0, has_aux: bool = False, *, verify: bool = False
) -> Callable[P, tuple[Any, Any]]: ...
def value_and_grad(
    f: Callable[P, Any], argnums: ArgNums = 0, has_aux: bool = False, *, verify: bool = False
) -> Callable[P, tuple[Any, Any]]:
    """Return a scalar function's value together with its gradient.

    Parameters
    ----------
    f : Callable
        Takes Arrays and gives one real Array of shape ().
    argnums : int | Sequence[int], default: 0
        The position of the argument to differentiate, or a sequence of positions.
    has_aux : bool, default: False
        If True, f returns a tuple ``(result, aux)``.  Only the result is differentiated; aux, any
        nesting, is returned together with the derivative.
    verify : bool, default: False
        If True, evaluate f twice more along one direction, and raise an error if the derivative
        disagrees.  The check finds values that left the tape and came back as constants.
        f must give the same result each time.

    Returns
    -------
    Callable
        Gives ``(value, gradient)``, with the gradient as of ``grad``; the value is a NumPy scalar where
        all that is differentiated was NumPy's or numbers.  With ``has_aux`` gives
        ``((value, aux), gradient)``.

    Raises
    ------
    TypeError
        When f gives anything but a real floating-point Array, or the argument is no floating-point
        Array, NumPy array or number.
    ValueError
        When f's result has a shape other than (), or there is no argument at a position.

    Examples
    --------
    >>> import arraytape as xp
    >>> value, gradient = xp.value_and_grad(lambda x: xp.sum(x**2))(xp.asarray([1.0, 2.0]))
    >>> print(value, gradient)
    5.0 [2. 4.]

    With respect to several arguments, with an auxiliary value:

    >>> def loss(w, b, x):
    ...     y = w * x + b
    ...     return xp.sum(y**2), y
    >>> f = xp.value_and_grad(loss, argnums=(0, 1), has_aux=True)
    >>> (value, y), (by_w, by_b) = f(xp.asarray(2.0), xp.asarray(1.0), xp.asarray([1.0, 2.0]))
    >>> print(value, y, by_w, by_b)
    34.0 [3. 5.] 26.0 16.0
    """
    check_function("grad", f, verify=verify, has_aux=has_aux)

    @functools.wraps(f)
    def value_with_gradient(*args: Any, **keywords: Any) -> tuple[Any, Any]:
        inputs = Inputs("grad", args, argnums, holes=True)
        with with_doubts(GradientTape()) as tape:
            tape.watch(inputs.chosen)
            y = f(*inputs.args, **keywords)
        y, aux = with_aux("grad", y) if has_aux else (y, None)
        check_scalar(y, tape._recording.records)
        found = tape.gradient(y, inputs.chosen, unconnected_gradients=ZERO)

        def value_again() -> Again:
            return Again(without_aux(f, has_aux), given_again(args), argnums, keywords)

        def value_slope(v: Sequence[Array]) -> Any:
            return inner([g for g in nest.leaves(found) if g is not None], v)

        if doubts := tape._recording.doubts:
            settle_doubts(doubts, "grad", value_again, lambda: y, value_slope)
        if verify:
            value_again().check("grad", value_slope)
        if inputs.kinds is not None:
            y, aux, found = inputs.value(y), inputs.value(aux), inputs.gradient(found)
        return (y, aux) if has_aux else y, found

    return value_with_gradient


def jacobian(
    f: Callable[P, Any],
    argnums: ArgNums = 0,
    has_aux: bool = False,
    *,
    chunk_size: int | None = None,
    verify: bool = False,
) -> Callable[P, Any]:
    """Return the Jacobian of a function, as a function of the same arguments.

    f runs once.  Where its results have at least 1,000 elements, sixteen times as many as what is
    differentiated, and all is real, forward mode computes the columns; else reverse mode the rows.

    Parameters
    ----------
    f : Callable
        Takes Arrays and gives an Array or a nesting of Arrays.
    argnums : int | Sequence[int], default: 0
        The position of the argument to differentiate, or a sequence of positions.
    has_aux : bool, default: False
        If True, f returns a tuple ``(result, aux)``.  Only the result is differentiated; aux, any
        nesting, is returned together with the derivative.
    chunk_size : int, optional
        The most rows or columns in one pass, which bounds its memory; by default as many as
        fit into 64 MB for each value on the way.
    verify : bool, default: False
        If True, evaluate f twice more along one direction, and raise an error if the derivative
        disagrees.  The check finds values that left the tape and came back as constants.
        f must give the same result each time.

    Returns
    -------
    Callable
        Gives for each Array in f's result the nesting of the argument, with Arrays of shape
        result.shape + argument.shape; a tuple of these for a sequence of positions.  By a NumPy array
        or a number it is NumPy's.  With ``has_aux`` gives ``(jacobian, aux)``.

    Raises
    ------
    TypeError
        When f gives, or is differentiated with respect to, anything but Arrays.
    ValueError
        When there is no argument at a position.

    Examples
    --------
    >>> import arraytape as xp
    >>> def polar(p):
    ...     r, angle = p
    ...     return xp.stack([r * xp.cos(angle), r * xp.sin(angle)])
    >>> print(xp.jacobian(polar)(xp.asarray([2.0, 0.0])))
    [[1. 0.]
     [0. 2.]]
    """
    return jacobian_of("jacobian", None, f, argnums, has_aux, chunk_size, verify)


def jacrev(
    f: Callable[P, Any],
    argnums: ArgNums = 0,
    has_aux: bool = False,
    *,
    chunk_size: int | None = None,
    verify: bool = False,
) -> Callable[P, Any]:
    """Return a function that computes the Jacobian of f by rows, in reverse mode.

    Reverse mode suits functions of many inputs with few results.

    Parameters
    ----------
    f : Callable
        Takes Arrays and gives an Array or a nesting of Arrays.
    argnums : int | Sequence[int], default: 0
        The position of the argument to differentiate, or a sequence of positions.
    has_aux : bool, default: False
        If True, f returns a tuple ``(result, aux)``.  Only the result is differentiated; aux, any
        nesting, is returned together with the derivative.
    chunk_size : int, optional
        The most rows in one pass, which bounds its memory; by default as many as
        fit into 64 MB for each value on the way.
    verify : bool, default: False
        If True, evaluate f twice more along one direction, and raise an error if the derivative
        disagrees.  The check finds values that left the tape and came back as constants.
        f must give the same result each time.

    Returns
    -------
    Callable
        Gives what ``jacobian`` does.

    Raises
    ------
    TypeError
        When f gives, or is differentiated with respect to, anything but Arrays.
    ValueError
        When there is no argument at a position.

    Examples
    --------
    >>> import arraytape as xp
    >>> x = xp.asarray([1.0, 2.0, 3.0])
    >>> print(xp.jacrev(lambda x: xp.stack([xp.sum(x), xp.prod(x)]))(x))
    [[1. 1. 1.]
     [6. 3. 2.]]
    """
    return jacobian_of("jacrev", False, f, argnums, has_aux, chunk_size, verify)


def jacfwd(
    f: Callable[P, Any],
    argnums: ArgNums = 0,
    has_aux: bool = False,
    *,
    chunk_size: int | None = None,
    verify: bool = False,
) -> Callable[P, Any]:
    """Return a function that computes the Jacobian of f by columns, in forward mode.

    Forward mode suits functions of few inputs with many results.  f runs once, and its records are
    kept for all columns.  Where a column has a NaN, reverse mode computes the Jacobian,
    because only reverse mode distinguishes results that depend on no input.

    Parameters
    ----------
    f : Callable
        Takes Arrays and gives an Array or a nesting of Arrays.
    argnums : int | Sequence[int], default: 0
        The position of the argument to differentiate, or a sequence of positions.
    has_aux : bool, default: False
        If True, f returns a tuple ``(result, aux)``.  Only the result is differentiated; aux, any
        nesting, is returned together with the derivative.
    chunk_size : int, optional
        The most columns in one pass, which bounds its memory; by default as many as
        fit into 64 MB for each value on the way.
    verify : bool, default: False
        If True, evaluate f twice more along one direction, and raise an error if the derivative
        disagrees.  The check finds values that left the tape and came back as constants.
        f must give the same result each time.

    Returns
    -------
    Callable
        Gives what ``jacobian`` does; of complex results of real arguments the whole derivative.

    Raises
    ------
    TypeError
        When f gives, or is differentiated with respect to, anything but Arrays, or an argument is
        complex: a function of complex arguments has no one column for each.
    ValueError
        When there is no argument at a position.

    Examples
    --------
    >>> import arraytape as xp
    >>> x = xp.asarray([1.0, 2.0])
    >>> print(xp.jacfwd(lambda x: xp.stack([x[0] * x[1], x[0] ** 2, x[1] ** 2]))(x))
    [[2. 1.]
     [2. 0.]
     [0. 4.]]
    """
    return jacobian_of("jacfwd", True, f, argnums, has_aux, chunk_size, verify)


def hessian(
    f: Callable[P, Any],
    argnums: ArgNums = 0,
    has_aux: bool = False,
    *,
    chunk_size: int | None = None,
    verify: bool = False,
) -> Callable[P, Any]:
    """Return the matrix of second derivatives of a scalar function: the Jacobian of its gradient.

    Of a function with several results ``jacobian(jacobian(f))`` has a matrix for each.

    Parameters
    ----------
    f : Callable
        Takes Arrays and gives one real Array of shape ().
    argnums : int | Sequence[int], default: 0
        The position of the argument to differentiate, or a sequence of positions.
    has_aux : bool, default: False
        If True, f returns a tuple ``(result, aux)``.  Only the result is differentiated; aux, any
        nesting, is returned together with the derivative.
    chunk_size : int, optional
        The most rows in one pass, which bounds its memory; by default as many as
        fit into 64 MB for each value on the way.
    verify : bool, default: False
        If True, evaluate f twice more along one direction, and raise an error if the derivative
        disagrees.  The check finds values that left the tape and came back as constants.
        f must give the same result each time.

    Returns
    -------
    Callable
        Gives Arrays of shape argument.shape + argument.shape in the nesting of the argument,
        twice; a tuple of tuples of these for a sequence of positions.  By a NumPy array or a number
        it is NumPy's.  With ``has_aux`` gives ``(hessian, aux)``.

    Raises
    ------
    TypeError
        When f gives anything but a real floating-point Array, or the argument is no floating-point
        Array, NumPy array or number.
    ValueError
        When f's result has a shape other than (), or there is no argument at a position.

    Examples
    --------
    >>> import arraytape as xp
    >>> def rosenbrock(x):
    ...     return 100.0 * (x[1] - x[0] ** 2) ** 2 + (1.0 - x[0]) ** 2
    >>> print(xp.hessian(rosenbrock)(xp.asarray([1.0, 1.0])))
    [[ 802. -400.]
     [-400.  200.]]
    """
    gradient = grad(f, argnums, has_aux)
    return jacobian_of("hessian", False, gradient, argnums, has_aux, chunk_size, verify)


def jacobian_of(
    caller: str,
    forward: bool | None,
    f: Function,
    argnums: ArgNums,
    has_aux: bool,
    chunk_size: int | None,
    verify: bool,
) -> Function:
    """Return a function that computes the Jacobian of f.

    forward : True for forward mode, False for reverse mode, None to choose by the shapes.
    """
    check_function(caller, f, verify=verify, has_aux=has_aux)
    check_chunk_size(caller, chunk_size)

    @functools.wraps(f)
    def jacobian_of_call(*args: Any, **keywords: Any) -> Any:
        inputs = Inputs(caller, args, argnums)
        if forward:
            check_real(caller, nest.leaves(inputs.chosen))
        run = Linearization(caller, f, inputs, keywords, has_aux)
        rows = jacobian_rows(run, forward, chunk_size)

        def result_again() -> Again:
            return Again(without_aux(f, has_aux), given_again(args), argnums, keywords)

        def result_slope(v: Sequence[Array]) -> Any:
            return [along(nest.leaves(row), v) for row in rows]

        if run.doubts:
            settle_doubts(run.doubts, caller, result_again, lambda: run.value, result_slope)
        if verify:
            result_again().check(caller, result_slope)
        if inputs.kinds is not None:
            rows = [inputs.gradient(row) for row in rows]
        found = nest.pack_nesting(run.value, rows)
        return (found, inputs.value(run.aux)) if has_aux else found

    return jacobian_of_call


def jacobian_rows(run: Linearization, forward: bool | None, chunk_size: int | None) -> list[Any]:
    if forward:
        return run.by_columns(chunk_size)
    if forward is None and run.prefers_forward():
        try:
            return run.by_columns(chunk_size)
        except LookupError:  # a rule that has no transpose
            return run.by_rows(chunk_size)
    return run.by_rows(chunk_size)


def check_real(caller: str, arrays: list[Array]) -> None:
    """Raise TypeError where an argument is complex."""
    for x in arrays:
        if x.dtype.kind == "c":
            raise TypeError(
                f"{caller}: an argument is {describe(x)}, and a function of complex arguments has no "
                f"one column for each: use jacrev, or jvp along a direction [at {user_line()}]"
            )


__all__ = ["grad", "hessian", "jacfwd", "jacobian", "jacrev", "value_and_grad"]
