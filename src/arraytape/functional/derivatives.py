"""Function transformations for derivatives: grad, value_and_grad, jacobian, jacfwd, jacrev, hessian.

    grad(lambda w: xp.sum(w**2))(w)

Each accepts a function and returns a new function, so that calls can be nested for higher derivatives.
The arguments and results of the user's function are Arrays or nestings of Arrays: lists, tuples, dicts,
dataclasses, and classes that ``register_nesting`` declares.  An argument to differentiate with respect
to may also hold NumPy arrays and floats.  The user's function gets an Array in place of each, and the
derivatives with respect to them are NumPy arrays or NumPy scalars.  In place of each Array in such an
argument the function gets a copy, so that writes to the copy do not change the caller's Array.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, TypeVar, overload

from .._array.array import Array
from .._tape.tape import GradientTape
from .._util import nest
from .._util.errors import describe, user_line
from .doubts import settle_doubts
from .inputs import (
    ArgNums,
    Function,
    Inputs,
    arguments_for_rerun,
    check_chunk_size,
    check_function,
    check_scalar,
    checked_aux_pair,
    collect_doubts,
    without_aux,
)
from .linearization import ZERO, Linearization
from .verify import Rerun, directional_derivative, inner_product

if TYPE_CHECKING:
    from .._util.array_types import OfFirst

P = ParamSpec("P")
R = TypeVar("R")
# The type of the first argument, and of the derivative with respect to it.  The bound makes pyright
# take the parameters of a lambda for Any.
X = TypeVar("X", bound=Any)


# A call without argnums fits one declaration alone: mypy takes a call that fits several for Any if types
# of the function's parameters are unknown.
@overload
def grad(
    f: Callable[Concatenate[X, P], Any], argnums: Literal[0] = 0, has_aux: Literal[False] = False,
    *, verify: bool = False,
) -> OfFirst[X, P, X]: ...  # fmt: skip
@overload
def grad(
    f: Callable[Concatenate[X, P], tuple[Any, R]], argnums: Literal[0] = 0, *,
    has_aux: Literal[True], verify: bool = False,
) -> OfFirst[X, P, tuple[X, R]]: ...  # fmt: skip
@overload
def grad(
    f: Callable[P, Any], argnums: ArgNums, has_aux: bool = False, *, verify: bool = False
) -> Callable[P, Any]: ...
@overload
def grad(f: Callable[P, Any], *, has_aux: bool, verify: bool = False) -> Callable[P, Any]: ...
def grad(
    f: Callable[P, Any], argnums: ArgNums = 0, has_aux: bool = False, *, verify: bool = False
) -> Callable[P, Any]:
    """Return the gradient of a scalar function, as a function of the same arguments.

    Parameters
    ----------
    f : Callable
        A function of Arrays that returns one real Array of shape ().
    argnums : int | Sequence[int], default: 0
        The position of the argument with respect to which f is differentiated, or a sequence of
        positions.
    has_aux : bool, default: False
        If True, f returns a tuple ``(result, aux)``.  Only the result is differentiated.  aux, which
        may be any nesting, is returned together with the derivative.
    verify : bool, default: False
        If True, evaluate f at four more points along one direction, and raise an error if differences
        of its results disagree with the derivative.  The check detects values that were converted to
        NumPy or Python numbers and used again as constants.  f must return the same result each time.

    Returns
    -------
    Callable
        A function of f's arguments that returns the gradient, in the nesting of the argument.  For a
        sequence of positions the gradient is a tuple with an item for each position.  The gradient with
        respect to an Array is an Array, with respect to a NumPy array a NumPy array, and with respect
        to a float or NumPy scalar a NumPy scalar.  The gradient is zeros where f does not depend on
        the argument.  With ``has_aux`` the function returns ``(gradient, aux)``.

    Raises
    ------
    TypeError
        When f returns anything but a real floating-point Array, or the argument is no floating-point
        Array, NumPy array or number.
    ValueError
        When f's result has a shape other than (), or there is no argument at a position in ``argnums``.

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
def value_and_grad(  # type: ignore[overload-overlap]
    f: Callable[Concatenate[X, P], R], argnums: Literal[0] = 0, has_aux: bool = False, *,
    verify: bool = False,
) -> OfFirst[X, P, tuple[R, X]]: ...  # fmt: skip
@overload
def value_and_grad(
    f: Callable[P, R], argnums: ArgNums, has_aux: bool = False, *, verify: bool = False
) -> Callable[P, tuple[R, Any]]: ...
def value_and_grad(
    f: Callable[P, Any], argnums: ArgNums = 0, has_aux: bool = False, *, verify: bool = False
) -> Callable[P, tuple[Any, Any]]:
    """Return a function that computes the value of a scalar function together with its gradient.

    Parameters
    ----------
    f : Callable
        A function of Arrays that returns one real Array of shape ().
    argnums : int | Sequence[int], default: 0
        The position of the argument with respect to which f is differentiated, or a sequence of
        positions.
    has_aux : bool, default: False
        If True, f returns a tuple ``(result, aux)``.  Only the result is differentiated.  aux, which
        may be any nesting, is returned together with the derivative.
    verify : bool, default: False
        If True, evaluate f at four more points along one direction, and raise an error if differences
        of its results disagree with the derivative.  The check detects values that were converted to
        NumPy or Python numbers and used again as constants.  f must return the same result each time.

    Returns
    -------
    Callable
        A function of f's arguments that returns ``(value, gradient)``, or ``((value, aux), gradient)``
        with ``has_aux``.  The gradient is the same as that of ``grad``.  The value is a NumPy scalar if
        the arguments at ``argnums`` hold only NumPy arrays and numbers, else an Array.

    Raises
    ------
    TypeError
        When f returns anything but a real floating-point Array, or the argument is no floating-point
        Array, NumPy array or number.
    ValueError
        When f's result has a shape other than (), or there is no argument at a position in ``argnums``.

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
        with collect_doubts(GradientTape()) as tape:
            tape.watch(inputs.chosen)
            y = f(*inputs.args, **keywords)
        y, aux = checked_aux_pair("grad", y) if has_aux else (y, None)
        check_scalar(y, tape._recording.records)
        found = tape.gradient(y, inputs.chosen, unconnected_gradients=ZERO)

        def value_again() -> Rerun:
            return Rerun(without_aux(f, has_aux), arguments_for_rerun(args), argnums, keywords)

        def value_slope(v: Sequence[Array]) -> Any:
            return inner_product([g for g in nest.leaves(found) if g is not None], v)

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

    f runs once.  If the results have 1,000 elements or more, sixteen times as many as the arguments at
    ``argnums``, and all are real, forward mode computes the Jacobian by columns.  Else reverse mode
    computes the Jacobian by rows.

    Parameters
    ----------
    f : Callable
        A function of Arrays that returns an Array or a nesting of Arrays.
    argnums : int | Sequence[int], default: 0
        The position of the argument with respect to which f is differentiated, or a sequence of
        positions.
    has_aux : bool, default: False
        If True, f returns a tuple ``(result, aux)``.  Only the result is differentiated.  aux, which
        may be any nesting, is returned together with the derivative.
    chunk_size : int, optional
        The largest number of rows or columns that one pass computes, which bounds the memory of the
        pass.  By default the derivatives of each intermediate value take about 64 MB at most.
    verify : bool, default: False
        If True, evaluate f at four more points along one direction, and raise an error if differences
        of its results disagree with the derivative.  The check detects values that were converted to
        NumPy or Python numbers and used again as constants.  f must return the same result each time.

    Returns
    -------
    Callable
        A function of f's arguments that returns the Jacobian: f's result with each Array replaced by
        the nesting of the argument.  In this nesting each Array x is replaced by the derivative with
        respect to x, of shape ``result.shape + x.shape``.  For a sequence of positions the nesting is a
        tuple with an item for each position.  The derivative with respect to a NumPy array or a number
        is a NumPy array or scalar.  With ``has_aux`` the function returns ``(jacobian, aux)``.

    Raises
    ------
    TypeError
        When f returns anything but Arrays, or an argument to differentiate with respect to is no
        floating-point Array, NumPy array or number.
    ValueError
        When there is no argument at a position in ``argnums``.

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
        A function of Arrays that returns an Array or a nesting of Arrays.
    argnums : int | Sequence[int], default: 0
        The position of the argument with respect to which f is differentiated, or a sequence of
        positions.
    has_aux : bool, default: False
        If True, f returns a tuple ``(result, aux)``.  Only the result is differentiated.  aux, which
        may be any nesting, is returned together with the derivative.
    chunk_size : int, optional
        The largest number of rows that one pass computes, which bounds the memory of the pass.
        By default the derivatives of each intermediate value take about 64 MB at most.
    verify : bool, default: False
        If True, evaluate f at four more points along one direction, and raise an error if differences
        of its results disagree with the derivative.  The check detects values that were converted to
        NumPy or Python numbers and used again as constants.  f must return the same result each time.

    Returns
    -------
    Callable
        A function of f's arguments that returns the Jacobian in the same form as ``jacobian``.

    Raises
    ------
    TypeError
        When f returns anything but Arrays, or an argument to differentiate with respect to is no
        floating-point Array, NumPy array or number.
    ValueError
        When there is no argument at a position in ``argnums``.

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
    kept for all columns.  If a column has a NaN, reverse mode computes the Jacobian again, because only
    reverse mode can replace 0 times infinity by 0, where a result does not depend on an element.

    Parameters
    ----------
    f : Callable
        A function of Arrays that returns an Array or a nesting of Arrays.
    argnums : int | Sequence[int], default: 0
        The position of the argument with respect to which f is differentiated, or a sequence of
        positions.
    has_aux : bool, default: False
        If True, f returns a tuple ``(result, aux)``.  Only the result is differentiated.  aux, which
        may be any nesting, is returned together with the derivative.
    chunk_size : int, optional
        The largest number of columns that one pass computes, which bounds the memory of the pass.
        By default the derivatives of each intermediate value take about 64 MB at most.
    verify : bool, default: False
        If True, evaluate f at four more points along one direction, and raise an error if differences
        of its results disagree with the derivative.  The check detects values that were converted to
        NumPy or Python numbers and used again as constants.  f must return the same result each time.

    Returns
    -------
    Callable
        A function of f's arguments that returns the Jacobian in the same form as ``jacobian``.  For
        complex results of real arguments the derivative is complex: d Re(y)/dx + i d Im(y)/dx.

    Raises
    ------
    TypeError
        When f returns anything but Arrays, or an argument to differentiate with respect to is no real
        floating-point Array, NumPy array or number.  Complex arguments are refused, because their real
        and imaginary parts have different columns.
    ValueError
        When there is no argument at a position in ``argnums``.

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
    """Return a function that computes the Hessian of a scalar function: the Jacobian of its gradient.

    For a function with several results use ``jacobian(jacobian(f))``, which computes the second
    derivatives of each result.

    Parameters
    ----------
    f : Callable
        A function of Arrays that returns one real Array of shape ().
    argnums : int | Sequence[int], default: 0
        The position of the argument with respect to which f is differentiated, or a sequence of
        positions.
    has_aux : bool, default: False
        If True, f returns a tuple ``(result, aux)``.  Only the result is differentiated.  aux, which
        may be any nesting, is returned together with the derivative.
    chunk_size : int, optional
        The largest number of rows that one pass computes, which bounds the memory of the pass.
        By default the derivatives of each intermediate value take about 64 MB at most.
    verify : bool, default: False
        If True, evaluate f at four more points along one direction, and raise an error if differences
        of its results disagree with the derivative.  The check detects values that were converted to
        NumPy or Python numbers and used again as constants.  f must return the same result each time.

    Returns
    -------
    Callable
        A function of f's arguments that returns the Hessian.  For one Array x it has the shape
        ``x.shape + x.shape``.  For a nesting it is the nesting of the argument, in which each Array is
        replaced by another such nesting.  For a sequence of positions it is a tuple of tuples.
        Derivatives with respect to NumPy arrays and numbers are NumPy arrays or scalars.  With
        ``has_aux`` the function returns ``(hessian, aux)``.

    Raises
    ------
    TypeError
        When f returns anything but a real floating-point Array, or the argument is no floating-point
        Array, NumPy array or number.
    ValueError
        When f's result has a shape other than (), or there is no argument at a position in ``argnums``.

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
    """Return a function that computes the Jacobian of f, for ``jacobian``, ``jacrev`` and ``jacfwd``.

    caller : the name of the public function, for error messages.
    forward : True for forward mode, False for reverse mode, None to choose the mode by the shapes.
    The other parameters are those of ``jacobian``.
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

        def result_again() -> Rerun:
            return Rerun(without_aux(f, has_aux), arguments_for_rerun(args), argnums, keywords)

        def result_slope(v: Sequence[Array]) -> Any:
            return [directional_derivative(nest.leaves(row), v) for row in rows]

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
    """Return the Jacobian of each result of a recorded run, in the nesting of the inputs.

    forward : True for forward mode, False for reverse mode, None to choose the mode by the shapes.
    chunk_size : the largest number of rows or columns that one pass computes, or None.
    """
    if forward:
        return run.by_columns(chunk_size)
    if forward is None and run.prefers_forward():
        try:
            return run.by_columns(chunk_size)
        except LookupError:  # an op of f has no JVP, but may have a VJP
            return run.by_rows(chunk_size)
    return run.by_rows(chunk_size)


def check_real(caller: str, arrays: list[Array]) -> None:
    """Raise TypeError if an argument is complex, since its elements would have two columns each.

    caller : the name of the public function, for the message.
    """
    for x in arrays:
        if x.dtype.kind == "c":
            raise TypeError(
                f"{caller}: use jacrev, or jvp along a direction, for the argument {describe(x)}, "
                f"because a complex element has two columns [at {user_line()}]"
            )


__all__ = ["grad", "hessian", "jacfwd", "jacobian", "jacrev", "value_and_grad"]
