"""Products of Jacobians and Hessians with vectors: jvp, vjp, linearize, hvp, vhp, gauss_newton_product.

No function of this module forms the matrix.  The primals may be Arrays, NumPy arrays, floats, or
nestings of these, as for ``grad``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._array.array import Array
from .._tape.accumulator import ForwardAccumulator, tangent_of
from .._util import nest
from .._util.array_types import RawArray
from .derivatives import grad
from .doubts import settle_doubts
from .inputs import (
    Function,
    Inputs,
    arguments_for_rerun,
    check_function,
    check_sequences,
    checked_arrays,
    checked_aux_pair,
    without_aux,
)
from .linearization import ZERO, Linearization
from .verify import Rerun, inner_product, xp_like


def jvp(
    f: Function,
    primals: Sequence[Any],
    tangents: Sequence[Any],
    has_aux: bool = False,
    *,
    verify: bool = False,
) -> tuple[Any, ...]:
    """Return a function's value and its derivative along tangents (the JVP), by forward mode.

    Parameters
    ----------
    f : Callable
        A function with as many arguments as there are primals.
    primals : Sequence
        A tuple (or list) with one entry for each argument: Arrays, NumPy arrays, floats, or nestings.
    tangents : Sequence
        The tangents, one for each primal, in the nesting, shapes and dtypes of the primal.
    has_aux : bool, default: False
        If True, f returns a tuple ``(result, aux)``.  Only the result is differentiated.  aux, which
        may be any nesting, is returned together with the derivative.
    verify : bool, default: False
        If True, evaluate f at four more points along one direction, and raise an error if differences
        of its results disagree with the derivative.  The check detects values that were converted to
        NumPy or Python numbers and used again as constants.  f must return the same result each time.

    Returns
    -------
    value : Array or nesting
        The result of ``f(*primals)``, as NumPy data if no primal has an Array.
    derivative : Array or nesting
        The derivative of the value, in the nesting of the value.  Results that do not depend on the
        primals have zeros.
    aux : Any
        With ``has_aux``, the second element of the tuple that f returns.

    Raises
    ------
    TypeError
        When primals or tangents are no tuple or list of Arrays, NumPy arrays, floats or nestings.
    ValueError
        When a tangent has another nesting, shape or dtype than its primal.

    Examples
    --------
    >>> import arraytape as xp
    >>> x, direction = xp.asarray([1.0, 2.0]), xp.asarray([1.0, -1.0])
    >>> y, slope = xp.jvp(lambda x: x**2, (x,), (direction,))
    >>> print(y, slope)
    [1. 4.] [ 2. -4.]
    """
    inputs, y, found, aux = forward_products("jvp", f, primals, tangents, has_aux, verify)
    if inputs.kinds is not None:
        y, found, aux = inputs.value(y), inputs.value(found), inputs.value(aux)
    return (y, found, aux) if has_aux else (y, found)


def vjp(f: Function, *primals: Any, has_aux: bool = False, verify: bool = False) -> tuple[Any, ...]:
    """Return a function's value, and a function that computes VJPs: it maps cotangents to gradients.

    Parameters
    ----------
    f : Callable
        A function with as many arguments as there are primals.
    *primals : Array or nesting
        Arrays, NumPy arrays, floats, or nestings of these.
    has_aux : bool, default: False
        If True, f returns a tuple ``(result, aux)``.  Only the result is differentiated.  aux, which
        may be any nesting, is returned together with the derivative.
    verify : bool, default: False
        If True, evaluate f at four more points along one direction, and raise an error if differences
        of its results disagree with the derivative.  The check detects values that were converted to
        NumPy or Python numbers and used again as constants.  f must return the same result each time.

    Returns
    -------
    value : Array or nesting
        The result of ``f(*primals)``, as NumPy data if no primal has an Array.
    pull : Callable
        A function of one cotangent, which has the nesting, shapes and dtypes of the value.  ``pull``
        returns a tuple with one gradient for each primal, and may be called many times.
    aux : Any
        With ``has_aux``, the second element of the tuple that f returns.

    Raises
    ------
    TypeError
        When a primal is no floating-point Array, NumPy array, float or nesting of these, or f's result
        is no Array or nesting of Arrays.

    Examples
    --------
    >>> import arraytape as xp
    >>> x = xp.asarray([1.0, 2.0])
    >>> y, pull = xp.vjp(lambda x: xp.stack([xp.sum(x), xp.prod(x)]), x)
    >>> print(y)
    [3. 2.]
    >>> (gradient,) = pull(xp.asarray([0.0, 1.0]))  # the gradient of the product
    >>> print(gradient)
    [2. 1.]
    """
    check_function("vjp", f, verify=verify, has_aux=has_aux)
    every = range(len(primals))
    inputs = Inputs("vjp", primals, every)
    run = Linearization("vjp", f, inputs, has_aux=has_aux, outlives=True)

    def pull(cotangent: Any) -> tuple[Any, ...]:
        found = run.pull(cotangent)

        def weights() -> list[Any]:
            return nest.leaves_like(run.value, cotangent, "cotangent", numbers=True)

        def again() -> Rerun:
            return Rerun(
                without_aux(f, has_aux), arguments_for_rerun(primals), every, {}, weights()
            )

        def slope(v: Sequence[Array]) -> Any:
            return inner_product(nest.leaves(found), v)

        if run.doubts:
            settle_doubts(
                run.doubts, "vjp", again, lambda: inner_product(weights(), run.results), slope
            )
        if verify:
            again().check("vjp", slope)
        return tuple(inputs.gradient(found))

    results = inputs.value(run.value), pull
    return (*results, inputs.value(run.aux)) if has_aux else results


def linearize(
    f: Function, *primals: Any, has_aux: bool = False, verify: bool = False
) -> tuple[Any, ...]:
    """Return a function's value, and a function that computes JVPs: it maps tangents to derivatives.

    f runs only once, in this call.  The records of this run serve all later calls of ``push``.

    Parameters
    ----------
    f : Callable
        A function with as many arguments as there are primals.
    *primals : Array or nesting
        Arrays, NumPy arrays, floats, or nestings of these.
    has_aux : bool, default: False
        If True, f returns a tuple ``(result, aux)``.  Only the result is differentiated.  aux, which
        may be any nesting, is returned together with the derivative.
    verify : bool, default: False
        If True, evaluate f at four more points along one direction, and raise an error if differences
        of its results disagree with the derivative.  The check detects values that were converted to
        NumPy or Python numbers and used again as constants.  f must return the same result each time.

    Returns
    -------
    value : Array or nesting
        The result of ``f(*primals)``, as NumPy data if no primal has an Array.
    push : Callable
        A function of one tangent for each primal, in the nesting, shapes and dtypes of the primal.
        ``push`` returns the derivative along the tangents, in the nesting of the value, and may be
        called many times.
    aux : Any
        With ``has_aux``, the second element of the tuple that f returns.

    Raises
    ------
    TypeError
        When a primal is no floating-point Array, NumPy array, float or nesting of these, or f's result
        is no Array or nesting of Arrays.

    Examples
    --------
    >>> import arraytape as xp
    >>> y, push = xp.linearize(lambda x: x**2, 3.0)
    >>> float(y), float(push(1.0)), float(push(0.5))
    (9.0, 6.0, 3.0)
    """
    check_function("linearize", f, verify=verify, has_aux=has_aux)
    every = range(len(primals))
    inputs = Inputs("linearize", primals, every)
    run = Linearization("linearize", f, inputs, has_aux=has_aux, outlives=True)

    def push(*tangents: Any) -> Any:
        given = nest.leaves_like(inputs.chosen, tangents, "tangents", numbers=True)
        moving = [tangent_of(x, t) for t, x in zip(given, run.arrays, strict=True)]
        found = nest.pack_nesting(run.value, run.push(moving))

        def again() -> Rerun:
            return Rerun(without_aux(f, has_aux), arguments_for_rerun(primals), every, {})

        if run.doubts:
            settle_doubts(
                run.doubts, "linearize", again, lambda: run.results, lambda v: found, moving
            )
        if verify:
            again().check("linearize", lambda v: found, moving)
        return inputs.value(found)

    results = inputs.value(run.value), push
    return (*results, inputs.value(run.aux)) if has_aux else results


def hvp(
    f: Function, primals: Sequence[Any], tangents: Sequence[Any], *, verify: bool = False
) -> tuple[Any, ...]:
    """Return the product of a scalar function's Hessian with a vector, by forward over reverse mode.

    The product takes a few times as long as f, however many elements the primals have.

    Parameters
    ----------
    f : Callable
        A function with as many arguments as there are primals, which returns one real Array of shape ().
    primals : Sequence
        A tuple (or list) with one entry for each argument: Arrays, NumPy arrays, floats, or nestings.
    tangents : Sequence
        The tangents, one for each primal, in the nesting, shapes and dtypes of the primal.
    verify : bool, default: False
        If True, evaluate f at four more points along one direction, and raise an error if differences
        of its results disagree with the derivative.  The check detects values that were converted to
        NumPy or Python numbers and used again as constants.  f must return the same result each time.

    Returns
    -------
    tuple
        One product for each primal, in the nesting of the primal.  Products for NumPy arrays and
        numbers are NumPy arrays or scalars.

    Raises
    ------
    TypeError
        When primals or tangents are no tuple or list of Arrays, NumPy arrays, floats or nestings, or
        f's result is no real floating-point Array.
    ValueError
        When a tangent has another nesting, shape or dtype than its primal, or f's result has
        a shape other than ().

    Examples
    --------
    >>> import arraytape as xp
    >>> def f(x):
    ...     return xp.sum(x**3) + x[0] * x[1]
    >>> x, v = xp.asarray([1.0, 2.0]), xp.asarray([1.0, 0.0])
    >>> (product,) = xp.hvp(f, (x,), (v,))
    >>> print(product)
    [6. 1.]
    >>> print(xp.hessian(f)(x) @ v)
    [6. 1.]
    """
    check_sequences("hvp", primals=primals, tangents=tangents)
    gradient = grad(f, range(len(primals)))
    inputs, _, product, _ = forward_products("hvp", gradient, primals, tangents, False, verify)
    return tuple(inputs.gradient(product))


def vhp(
    f: Function, primals: Sequence[Any], cotangents: Sequence[Any], *, verify: bool = False
) -> tuple[Any, ...]:
    """Return the product of a vector with a scalar function's Hessian, by reverse over reverse mode.

    The Hessian is symmetric, so ``hvp`` returns the same numbers, mostly in less time.  Unlike ``hvp``,
    ``vhp`` also works if an op of f has a VJP only, and no JVP.

    Parameters
    ----------
    f : Callable
        A function with as many arguments as there are primals, which returns one real Array of shape ().
    primals : Sequence
        A tuple (or list) with one entry for each argument: Arrays, NumPy arrays, floats, or nestings.
    cotangents : Sequence
        The vectors, one for each primal, in the nesting, shapes and dtypes of the primal.
    verify : bool, default: False
        If True, evaluate f at four more points along one direction, and raise an error if differences
        of its results disagree with the derivative.  The check detects values that were converted to
        NumPy or Python numbers and used again as constants.  f must return the same result each time.

    Returns
    -------
    tuple
        One product for each primal, in the nesting of the primal.  Products for NumPy arrays and
        numbers are NumPy arrays or scalars.

    Raises
    ------
    TypeError
        When primals or cotangents are no tuple or list of Arrays, NumPy arrays, floats or nestings, or
        f's result is no real floating-point Array.
    ValueError
        When a cotangent has another nesting, shape or dtype than its primal, or f's result has
        a shape other than ().

    Examples
    --------
    >>> import arraytape as xp
    >>> x, v = xp.asarray([1.0, 2.0]), xp.asarray([1.0, 0.0])
    >>> (product,) = xp.vhp(lambda x: xp.sum(x**3) + x[0] * x[1], (x,), (v,))
    >>> print(product)
    [6. 1.]
    """
    check_function("vhp", f, verify=verify)
    check_sequences("vhp", primals=primals, cotangents=cotangents)
    nest.leaves_like(tuple(primals), tuple(cotangents), "cotangents", numbers=True)
    gradient = grad(f, range(len(primals)))
    pull: Callable[[Any], tuple[Any, ...]] = vjp(gradient, *primals, verify=verify)[1]
    return pull(tuple(cotangents))


def gauss_newton_product(
    f: Function, loss: Function | None, primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[Any, ...]:
    """Return the product of a vector with the Gauss-Newton matrix of ``loss(f(...))``: J^T H J.

    J is the Jacobian of f, and H the Hessian of the loss with respect to f's result.  If the loss is
    convex, the matrix has no negative eigenvalue.  The matrix equals the Hessian of ``loss(f(...))``
    if f is linear, or if the gradient of the loss with respect to f's result is 0.
    Source: Schraudolph 2002, "Fast curvature matrix-vector products for second-order gradient descent",
    sec. 2.3 (the extended Gauss-Newton matrix).

    Parameters
    ----------
    f : Callable
        The model: a function with as many arguments as there are primals, which returns an Array or a
        nesting of Arrays.
    loss : Callable or None
        A function of f's result that returns one real Array of shape ().  None means half the sum of
        squares of f's result, whose Hessian is the unit matrix.
    primals : Sequence
        A tuple (or list) with one entry for each argument: Arrays, NumPy arrays, floats, or nestings.
    tangents : Sequence
        The tangents, one for each primal, in the nesting, shapes and dtypes of the primal.

    Returns
    -------
    tuple
        One product for each primal, in the nesting of the primal.  Products for NumPy arrays and
        numbers are NumPy arrays or scalars.

    Raises
    ------
    TypeError
        When primals or tangents are no tuple or list of Arrays, NumPy arrays, floats or nestings, or
        the loss is no real floating-point Array.
    ValueError
        When a tangent has another nesting, shape or dtype than its primal, or the loss has a
        shape other than ().

    Examples
    --------
    >>> import numpy as np
    >>> import arraytape as xp
    >>> x, v = np.array([1.0, 2.0]), np.array([1.0, 0.0])
    >>> xp.gauss_newton_product(lambda x: xp.stack([x[0] ** 2, x[0] * x[1]]), None, (x,), (v,))
    (array([8., 2.]),)
    """
    caller = "gauss_newton_product"
    check_function(caller, f)
    check_sequences(caller, primals=primals, tangents=tangents)
    inputs = Inputs(caller, tuple(primals), range(len(primals)))
    given = nest.leaves_like(inputs.chosen, tuple(tangents), "tangents", numbers=True)
    pairs = zip(nest.leaves(inputs.chosen), given, strict=True)
    moving = [tangent_of(x, t) for x, t in pairs]
    run = Linearization(caller, f, inputs)
    pushed = run.push(moving)

    def again() -> Rerun:
        return Rerun(f, arguments_for_rerun(tuple(primals)), range(len(primals)), {})

    if run.doubts:
        settle_doubts(run.doubts, caller, again, lambda: run.results, lambda v: pushed, moving)
    y = nest.pack_nesting(run.value, run.results)
    curved = pushed if loss is None else curvature(loss, y, nest.pack_nesting(y, pushed))
    found = run.pull(nest.pack_nesting(y, curved))
    run.doubts.clear()  # ``pull`` finds the same conversions, which were checked after ``push``
    return tuple(inputs.gradient(found))


def curvature(loss: Function, y: RawArray, direction: Any) -> list[Array]:
    """Return the product of the Hessian of ``loss`` at y with ``direction``, as a list of leaves.

    This is the middle factor of a Gauss-Newton product.

    y : the result of the model, a nesting of Arrays.  direction : a nesting of Arrays like y.
    """
    return nest.leaves(hvp(loss, (y,), (direction,))[0])


def forward_products(
    caller: str,
    f: Function,
    primals: Sequence[Any],
    tangents: Sequence[Any],
    has_aux: bool,
    verify: bool,
) -> tuple[Inputs, Any, Any, Any]:
    """Run f once in forward mode, for ``jvp`` and ``hvp``, whose parameters these are.

    Return the Inputs, f's result, its derivative along ``tangents``, and aux (None without aux).  Result
    and derivative are Arrays, also for primals that are NumPy data.

    caller : the name of the public function, for error messages.
    """
    check_function(caller, f, verify=verify, has_aux=has_aux)
    check_sequences(caller, primals=primals, tangents=tangents)
    every = range(len(primals))
    inputs = Inputs(caller, tuple(primals), every)
    accumulator = ForwardAccumulator(inputs.chosen, tuple(tangents))
    doubts = accumulator._doubts = []
    with accumulator:
        y = f(*inputs.args)
        y, aux = checked_aux_pair(caller, y) if has_aux else (y, None)
    checked_arrays(caller, "result", y, accumulator._pass.after)
    found = accumulator.jvp(y, unconnected_gradients=ZERO)

    def again() -> Rerun:
        return Rerun(without_aux(f, has_aux), arguments_for_rerun(tuple(primals)), every, {})

    if doubts or verify:
        given = nest.leaves_like(inputs.chosen, tuple(tangents), "tangents", numbers=True)
        pairs = zip(nest.leaves(inputs.chosen), given, strict=True)
        along = [xp_like(t, x) for x, t in pairs]
        settle_doubts(doubts, caller, again, lambda: y, lambda v: found, along)
        if verify:
            again().check(caller, lambda v: found, along)
    return inputs, y, found, aux


__all__ = ["gauss_newton_product", "hvp", "jvp", "linearize", "vhp", "vjp"]
