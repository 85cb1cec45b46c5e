"""Derivatives of functions of Arrays, by both modes and by central differences in double precision.

The checks reduce several outputs to one number, a weighted sum, or compare slopes along directions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._array.array import Array, asarray_like, namespace
from .._tape.accumulator import ForwardAccumulator
from .._tape.arguments import UnconnectedGradients
from .._tape.tape import GradientTape
from .._util.errors import entrance

if TYPE_CHECKING:
    import numpy.typing as npt

Function = Callable[..., Array]
Raw = np.ndarray[Any, Any]
ZERO = UnconnectedGradients.ZERO


@entrance
def weights(shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Return fixed weights, all different, so that a weighted sum changes if elements are exchanged.

    Parameters
    ----------
    shape : tuple[int, ...]
        The shape of the weights.

    Returns
    -------
    numpy.ndarray
        The weights.

    Examples
    --------
    >>> import arraytape as xp
    >>> print(xp.testing.weights((3,)))
    [ 0.84030231  0.17115551 -0.43739372]
    """
    count = int(np.prod(shape))
    uneven: np.ndarray[Any, Any] = np.cos(1.0 + 0.7 * np.arange(count)).reshape(shape) + 0.3
    return uneven


@entrance
def total(outputs: Array | Sequence[Array]) -> Array:
    """Compute the weighted sum of all elements of all floating-point outputs, which is one real number.

    Parameters
    ----------
    outputs : Array or tuple of Array
        The outputs.

    Returns
    -------
    Array
        The sum, of shape ().

    Examples
    --------
    >>> import arraytape as xp
    >>> print(xp.testing.total((xp.asarray([1.0, 2.0]), xp.asarray(3.0))))
    6.224427152485929
    """
    xp: Any = namespace()
    answer: Any = 0.0
    for i, y in enumerate(outputs if isinstance(outputs, tuple | list) else (outputs,)):
        if y.dtype.kind == "c":
            answer = answer + total((xp.real(y), 2.0 * xp.imag(y))) * (i + 1.0)
        elif y.dtype.kind == "f":
            answer = answer + xp.sum(y * asarray_like(y, weights(y.shape))) * (i + 1.0)
    found: Array = xp.asarray(answer)
    return found


@entrance
def gradients(f: Function, inputs: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
    """Compute the tape's gradients of a scalar function.

    Parameters
    ----------
    f : Callable
        A function of Arrays that returns an Array of shape ().
    inputs : Sequence
        NumPy arrays: the arguments of f.

    Returns
    -------
    list of numpy.ndarray
        A gradient for each input; zeros for an input that f does not depend on.

    Examples
    --------
    >>> import arraytape as xp
    >>> x, y = xp.asarray([1.0, 2.0]), xp.asarray([3.0, 4.0])
    >>> xp.testing.gradients(lambda x, y: xp.sum(x * y), [x, y])
    [array([3., 4.]), array([1., 2.])]
    """
    return [np.asarray(g) for g in tape_gradient(f, [as_tested_array(x) for x in inputs])]


def tape_gradient(f: Function, arrays: Sequence[Array]) -> list[Array]:
    """Return the gradients of f(*arrays) by a tape; zeros for an array on which f does not depend.

    arrays : the arguments of f, which returns one scalar.
    """
    with GradientTape() as tape:
        tape.watch(arrays)
        y = f(*arrays)
    found: list[Array] = tape.gradient(y, arrays, unconnected_gradients=ZERO)
    return found


@entrance
def curvature(f: Function, inputs: Sequence[Any], along: Sequence[Any]) -> list[Any]:
    """Compute Hessian-vector products by nested tapes: the gradient of <gradient, along>.

    Parameters
    ----------
    f : Callable
        A function of Arrays that returns an Array of shape ().
    inputs : Sequence
        NumPy arrays: the arguments of f.
    along : Sequence
        A direction for each input, in its shape.

    Returns
    -------
    list of numpy.ndarray
        A Hessian-vector product for each input.

    Examples
    --------
    >>> import arraytape as xp
    >>> def f(x):
    ...     return xp.sum(x**3)
    >>> x, along = xp.asarray([1.0, 2.0]), xp.asarray([1.0, 0.0])
    >>> xp.testing.curvature(f, [x], [along])
    [array([6., 0.])]
    """
    xp: Any = namespace()

    def slope_along(*arrays: Array) -> Array:
        parts = [
            xp.sum(xp.real(g) * asarray_like(g, np.real(v)))
            + xp.sum(xp.imag(g) * asarray_like(g, np.imag(v)))
            if np.iscomplexobj(v)
            else xp.sum(g * asarray_like(g, v))
            for g, v in zip(tape_gradient(f, arrays), along, strict=True)
        ]
        found: Array = sum(parts[1:], parts[0])
        return found

    return gradients(slope_along, inputs)


@entrance
def slopes(f: Callable[..., Any], inputs: Sequence[Any], along: Sequence[Any]) -> list[Any]:
    """Compute the derivative of each output along a direction, by forward mode.

    Parameters
    ----------
    f : Callable
        A function of Arrays that returns one Array or several.
    inputs : Sequence
        NumPy arrays: the arguments of f.
    along : Sequence
        A direction for each input, in its shape.

    Returns
    -------
    list of numpy.ndarray
        A derivative for each output; zeros for an output that does not depend on the inputs.

    Examples
    --------
    >>> import arraytape as xp
    >>> x, along = xp.asarray([1.0, 2.0]), xp.asarray([1.0, 1.0])
    >>> xp.testing.slopes(lambda x: (x**2, xp.sum(x)), [x], [along])
    [array([2., 4.]), array(2.)]
    """
    arrays = [as_tested_array(x) for x in inputs]
    tangents = [
        asarray_like(x, np.asarray(v, dtype=x.dtype)) for x, v in zip(arrays, along, strict=True)
    ]
    with ForwardAccumulator(arrays, tangents) as accumulator:
        outputs = floating_outputs(f(*arrays))
    return [np.asarray(t) for t in accumulator.jvp(outputs, unconnected_gradients=ZERO)]


def input_cotangents(
    f: Callable[..., Any], inputs: Sequence[Any], cotangents: Sequence[Any]
) -> list[Any]:
    """Compute a vector-Jacobian product for each input, from a cotangent of each output.

    The inputs are NumPy arrays, the arguments of f.
    """
    arrays = [as_tested_array(x) for x in inputs]
    with GradientTape() as tape:
        tape.watch(arrays)
        outputs = floating_outputs(f(*arrays))
    weights = [
        asarray_like(y, np.asarray(w, dtype=y.dtype))
        for y, w in zip(outputs, cotangents, strict=True)
    ]
    found = tape.gradient(outputs, arrays, weights, unconnected_gradients=ZERO)
    return [np.asarray(g) for g in found]


@entrance
def forward_curvature(f: Function, inputs: Sequence[Any], along: Sequence[Any]) -> list[Any]:
    """Compute Hessian-vector products by forward over reverse mode.

    Parameters
    ----------
    f : Callable
        A function of Arrays that returns an Array of shape ().
    inputs : Sequence
        NumPy arrays: the arguments of f.
    along : Sequence
        A direction for each input, in its shape.

    Returns
    -------
    list of numpy.ndarray
        A Hessian-vector product for each input.

    Examples
    --------
    >>> import arraytape as xp
    >>> def f(x):
    ...     return xp.sum(x**3)
    >>> x, along = xp.asarray([1.0, 2.0]), xp.asarray([1.0, 0.0])
    >>> xp.testing.forward_curvature(f, [x], [along])
    [array([6., 0.])]
    """
    return slopes(lambda *arrays: tape_gradient(f, arrays), inputs, along)


def floating_outputs(outputs: Array | Sequence[Array]) -> list[Array]:
    """Return the floating-point Arrays among a function's one or several outputs."""
    several = outputs if isinstance(outputs, tuple | list) else (outputs,)
    return [y for y in several if y.dtype.kind in "fc"]


@entrance
def differences(
    f: Callable[..., Any], inputs: Sequence[Any], along: Sequence[Any], h: float = 1e-3
) -> Any:
    """Compute the slope along a direction by central differences of fourth order.

    Parameters
    ----------
    f : Callable
        A function of NumPy arrays.
    inputs : Sequence
        NumPy arrays: the arguments of f.
    along : Sequence
        A direction for each input, in its shape.
    h : float, default: 0.001
        The step of the differences.

    Returns
    -------
    float or numpy.ndarray
        The derivative of f(inputs + t * along) with respect to t at t = 0.

    Notes
    -----
    Source: Fornberg 1988, "Generation of finite difference formulas", table 1.

    Examples
    --------
    >>> import numpy as np
    >>> import arraytape as xp
    >>> x, along = np.asarray([1.0, 2.0]), np.asarray([1.0, 0.0])
    >>> slope = xp.testing.differences(lambda x: np.sum(x**3), [x], [along])
    >>> round(float(slope), 6)
    3.0
    """

    def value_at(t: float) -> Any:
        return f(*[x + t * v for x, v in zip(inputs, along, strict=True)])

    return (8.0 * (value_at(h) - value_at(-h)) - (value_at(2 * h) - value_at(-2 * h))) / (12.0 * h)


@entrance
def directions(inputs: Sequence[Any], seed: int = 0) -> list[np.ndarray[Any, Any]]:
    """Draw a random direction for each input: real or complex as the input, and of its shape.

    Parameters
    ----------
    inputs : Sequence
        Arrays.
    seed : int, default: 0
        The seed of the random numbers.

    Returns
    -------
    list of numpy.ndarray
        A direction for each input.

    Examples
    --------
    >>> import numpy as np
    >>> import arraytape as xp
    >>> along = xp.testing.directions([np.zeros((2, 3)), np.zeros(4)], seed=0)
    >>> [direction.shape for direction in along]
    [(2, 3), (4,)]
    """
    rng = np.random.default_rng(seed)
    found = []
    for x in inputs:
        v = rng.uniform(0.2, 1.0, np.shape(x)) * rng.choice([-1.0, 1.0], np.shape(x))
        found.append(v + 1j * rng.uniform(-1, 1, np.shape(x)) if np.iscomplexobj(x) else v)
    return found


@entrance
def inner(a: Sequence[Any], b: Sequence[Any]) -> float:
    """Sum the real part of <a, b> over all arrays.

    If a holds the gradients of a function, the sum is the slope of the function along b.

    Parameters
    ----------
    a : Sequence
        Arrays.
    b : Sequence
        Arrays of the same number and shapes.

    Returns
    -------
    float
        The sum of all products.

    Examples
    --------
    >>> import numpy as np
    >>> import arraytape as xp
    >>> xp.testing.inner([np.asarray([1.0, 2.0])], [np.asarray([3.0, 4.0])])
    11.0
    """
    return float(sum(np.sum(np.real(np.conj(x) * y)) for x, y in zip(a, b, strict=True)))


@entrance
def check_jvp(
    f: Callable[..., Any], inputs: Sequence[Any], *, rtol: float = 1e-7, seeds: int = 3,
    h: float = 1e-3,
) -> None:  # fmt: skip
    """Compare forward mode with central differences, for a function of any number of outputs.

    Parameters
    ----------
    f : Callable
        A function of Arrays that returns one Array or several.
    inputs : Sequence
        NumPy arrays: the arguments of f (float64 or complex128).
    rtol : float, default: 1e-07
        The greatest difference, relative to the greater of 1 and the slope.
    seeds : int, default: 3
        The number of random directions.
    h : float, default: 0.001
        The step of the differences.

    Raises
    ------
    AssertionError
        When derivatives differ; the message names the output and the seed of the direction.

    Examples
    --------
    >>> import arraytape as xp
    >>> xp.testing.check_jvp(lambda x: (xp.sin(x), x**2), [xp.asarray([1.0, 2.0])])
    """
    for seed in range(seeds):
        along = directions(inputs, seed)
        found = slopes(f, inputs, along)
        for i, jvp in enumerate(found):
            slope = differences(lambda *xs, i=i: output_of_call(f, i, xs), inputs, along, h)
            check_near(jvp, slope, rtol, f"jvp of output {i}, seed {seed}: forward mode")


@entrance
def check_vjp(
    f: Callable[..., Any], inputs: Sequence[Any], *, rtol: float = 1e-7, seeds: int = 3,
    h: float = 1e-3,
) -> None:  # fmt: skip
    """Compare reverse mode with central differences, for a function of any number of outputs.

    For random cotangents w and directions v, the check is <w, J v> = <J^T w, v>.  Differences compute
    J v, and the tape computes J^T w.

    Parameters
    ----------
    f : Callable
        A function of Arrays that returns one Array or several.
    inputs : Sequence
        NumPy arrays: the arguments of f (float64 or complex128).
    rtol : float, default: 1e-07
        The greatest difference, relative to the greater of 1 and the slope.
    seeds : int, default: 3
        The number of random directions.
    h : float, default: 0.001
        The step of the differences.

    Raises
    ------
    AssertionError
        When derivatives differ; the message names the seed of the cotangents and the direction.

    Examples
    --------
    >>> import arraytape as xp
    >>> xp.testing.check_vjp(lambda x: (xp.sin(x), x**2), [xp.asarray([1.0, 2.0])])
    """
    for seed in range(seeds):
        along = directions(inputs, seed)
        outputs = [
            np.asarray(y) for y in floating_outputs(f(*[as_tested_array(x) for x in inputs]))
        ]
        cotangents = directions(outputs, seed + 50)
        pushed = [
            differences(lambda *xs, i=i: output_of_call(f, i, xs), inputs, along, h)
            for i in range(len(outputs))
        ]
        slope = inner(input_cotangents(f, inputs, cotangents), along)
        check_near(slope, inner(cotangents, pushed), rtol, f"vjp, seed {seed}: the tape")


def output_of_call(f: Callable[..., Any], i: int, inputs: Sequence[Any]) -> Any:
    """Call f with these inputs, and return its floating-point output number i as a NumPy array."""
    return np.asarray(floating_outputs(f(*[as_tested_array(x) for x in inputs]))[i])


def check_near(found: float | Raw, expected: float | Raw, rtol: float, what: str) -> None:
    """Raise AssertionError if ``found`` differs from the finite differences ``expected``, or is NaN.

    what : the words with which the message begins.
    """
    error = np.max(np.abs(found - expected) / np.maximum(1.0, np.abs(expected)), initial=0.0)
    if not error <= rtol:
        raise AssertionError(f"{what} gives {found!r}, differences give {expected!r}")


def as_tested_array(x: npt.ArrayLike | Array) -> Array:
    found: Array = namespace().asarray(x)
    return found
