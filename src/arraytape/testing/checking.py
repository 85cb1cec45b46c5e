"""``check_gradients``: the comparison of both modes with central differences.

The comparison is first along a few random directions, which costs a few calls of the function.  If the
slopes along a direction differ, single elements are compared, so that the error can name the elements.
"""

from __future__ import annotations

import inspect
import time
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._array.array import Array, namespace
from .._util import nest
from .._util.blocks import Quiet
from .._util.errors import TapeWarning, describe, describe_result, entrance, short_repr, user_line
from .derivatives import (
    as_tested_array,
    curvature,
    differences,
    directions,
    forward_curvature,
    gradients,
    inner,
    slopes,
    total,
)

Host = np.ndarray[Any, np.dtype[Any]]
MODES = {"fwd": "fwd", "rev": "rev", "forward": "fwd", "reverse": "rev"}
MODE_NAMES = {"fwd": "forward mode", "rev": "reverse mode"}
# Central differences of fourth order have a relative error of about eps ** 0.8 for a step of eps ** 0.2.
TOLERANCE, SINGLE = 1e-7, 1e-3  # the defaults of rtol for double and for single precision
EPSILON = float(np.finfo(np.float64).eps)
SHRINKING = (1.0, 1e-1, 1e-2, 1e-3, 1e-4)  # the steps of differences to try, as multiples of h
CHECK = (
    "Check the rule of the op behind this element, and that f returns the same result in each call"
)
SECOND = (
    "With order=1 first derivatives are compared alone. A rule whose gradient is itself computed "
    "outside of Arrays, or by a rule that is wrong, has no right derivative of its own"
)
# Ratios of a wrong slope to the right one that suggest a missing or superfluous factor.
LIKELY_RATIOS = (2.0, 3.0, 4.0, 0.5, 1.0 / 3.0, 0.25, -2.0, -0.5)
SECONDS = 5.0  # the time limit, in seconds, for the comparison of single elements


@entrance
def check_gradients(
    f: Callable[..., Any], inputs: Any, *, order: int | Collection[int] = 2,
    modes: Sequence[str] = ("rev", "fwd"), rtol: float | None = None, seeds: int = 3,
    h: float = 1e-3,
) -> None:  # fmt: skip
    """Compare the derivatives of a function with central differences.

    Parameters
    ----------
    f : Callable
        A function of Arrays that returns an Array of any shape, or a nesting of Arrays.
    inputs : array_like, sequence or nesting
        A list or tuple holds the arguments of f in order; each is an array or a nesting of arrays (a
        dict, a list, a dataclass).  Anything else is f's only argument.  Leaves without floating-point
        numbers are passed on unchanged.
    order : int or collection of int, default: 2
        1 checks gradients; 2 checks gradients and Hessian-vector products; (2,) only the products.
    modes : Sequence[str], default: ('rev', 'fwd')
        "rev" or "reverse" checks the tape, and for order 2 a tape in a tape.  "fwd" or "forward" checks
        ForwardAccumulator, and for order 2 an accumulator around a tape.
    rtol : float | None, default: None
        The greatest difference, relative to the greater of 1 and the slope.  The default is 1e-7, which
        is more than the error of differences in double precision.  It is 1e-3 when an input or a result
        is in single precision, where the tape's own error is about 1e-6 of the largest term.
    seeds : int, default: 3
        The number of random directions.
    h : float, default: 0.001
        The step of the differences.  If derivatives differ for this step, smaller steps are tried, too.

    Raises
    ------
    AssertionError
        When derivatives differ.  The message names the result, the argument and the element, with both
        values and their ratio.  It also names a likely cause, such as a kink of f, a missing
        factor, or a value that left the tape.
    TypeError
        When a result of f is no array.
    ValueError
        When ``order`` or ``modes`` has another value, or no input holds a floating-point number.

    Notes
    -----
    For the tape, f is called with inputs in the given precision.  For the differences, f is called with
    inputs in double precision.

    Examples
    --------
    >>> import numpy as np
    >>> import arraytape as xp
    >>> xp.testing.check_gradients(lambda w, x: xp.tanh(x @ w), [np.ones(3), np.eye(3)])
    >>> xp.testing.check_gradients(lambda p: p["a"] * xp.exp(p["b"]), {"a": 2.0, "b": np.zeros(2)})

    A wrong rule is found:

    >>> @xp.custom_gradient
    ... def wrong(x):
    ...     return x * x, lambda g: g * x  # lacks a factor of 2
    >>> try:
    ...     xp.testing.check_gradients(wrong, [np.asarray([1.0, 2.0])])
    ... except AssertionError:
    ...     print("found")
    found
    """
    chosen = modes_of(modes)
    orders = orders_of(order)
    problem = CheckedFunction(f, inputs)
    if rtol is None:
        rtol = SINGLE if problem.single else TOLERANCE
    found = gradients(problem.scalar_loss, problem.given) if 1 in orders else []
    for seed in range(seeds):
        along = directions(problem.exact, seed)
        if 1 in orders:
            problem.check_first(chosen, found, along, rtol, h)
        if 2 in orders:
            problem.check_second(chosen, along, directions(problem.exact, seed + 100), 10 * rtol, h)


def modes_of(modes: Sequence[str]) -> list[str]:
    """Return the short names of the modes; raise ValueError for unknown modes, and for none."""
    if isinstance(modes, str) or not modes or not set(modes) <= set(MODES):
        raise ValueError(
            f"check_gradients: modes are a sequence of 'fwd' and 'rev', got {short_repr(modes)}; "
            f"'forward' and 'reverse' mean the same [at {user_line()}]"
        )
    return [MODES[mode] for mode in modes]


def orders_of(order: int | Collection[int]) -> set[int]:
    """Return the orders of derivatives to check (1, 2 or both) as a set; raise ValueError for others."""
    if isinstance(order, Iterable) and not isinstance(order, str):
        wanted = set(order)
    else:
        wanted = {1, 2} if order == 2 else {order}
    if not wanted or not wanted <= {1, 2}:
        raise ValueError(
            f"check_gradients: order is 1 or 2, got {short_repr(order)}; (2,) checks only second "
            f"derivatives [at {user_line()}]"
        )
    return wanted


class InputElement(NamedTuple):
    """The real or the imaginary part of one element of one input.

    leaf : the index of the input among the floating-point inputs.
    """

    leaf: int
    element: tuple[int, ...]
    imaginary: bool


class CheckedFunction:
    """A function f under test with its inputs, the point at which f is differentiated.

    The derivatives are with respect to the floating-point leaves of the inputs, to which ``arrays`` and
    ``xs`` in methods belong.  ``along`` is a direction: an array for each of these leaves.  ``rtol`` is
    the greatest relative difference that passes, and ``h`` the step of finite differences.
    given : these leaves as NumPy arrays.
    exact : the same arrays in double precision.
    places : the indices of these leaves among all leaves (arrays and other objects) of the inputs.
    single : True if an input or a result is in single precision.
    """

    def __init__(self, f: Callable[..., Any], inputs: Any) -> None:
        if not callable(f):
            raise TypeError(
                f"check_gradients: takes a function, got {describe(f)} [at {user_line()}]"
            )
        self.f = f
        arguments = list(inputs) if type(inputs) in (list, tuple) else [inputs]
        self.arguments = [
            np.asarray(one) if type(one) in (list, tuple) and nest.holds_numbers(one) else one
            for one in arguments
        ]
        self.leaves = nest.leaves(self.arguments)
        self.places = [i for i, leaf in enumerate(self.leaves) if is_inexact(leaf)]
        leaves = [self.leaves[i] for i in self.places]
        self.given = [np.array(x.to_device("cpu") if isinstance(x, Array) else x) for x in leaves]
        self.exact = [x.astype(np.result_type(x.dtype, np.float64)) for x in self.given]
        if not self.places:
            said = ", ".join(describe(leaf) for leaf in self.leaves[:4])
            raise ValueError(
                f"check_gradients: no floating-point number among the inputs ({said}); integers have no "
                f"gradient: pass 3.0 in place of 3 [at {user_line()}]"
            )
        # f is called before any comparison, so that the error for a result that is no array comes first.
        results = self.results(*map(as_tested_array, self.given))
        self.shapes = [(y.shape, y.dtype) for y in results]
        self.single = any(
            dtype in (np.float32, np.complex64)
            for dtype in [*(x.dtype for x in self.given), *(dtype for _, dtype in self.shapes)]
        )
        self.is_scalar = [(y.shape, y.dtype.kind) for y in results] == [((), "f")]

    def scalar_loss(self, *arrays: Any) -> Array:
        """Return the scalar that is differentiated: f's result, or the weighted sum of f's results."""
        results = self.results(*arrays)
        return results[0] if self.is_scalar else total(results)

    def results(self, *arrays: Any) -> list[Array]:
        """Call f with Arrays as its floating-point inputs, and return its floating-point results."""
        leaves = list(self.leaves)
        for place, x in zip(self.places, arrays, strict=True):
            leaves[place] = x
        y = self.f(*nest.pack_nesting(list(self.arguments), leaves))
        self.answer = y
        found = []
        for leaf in nest.leaves(y):
            try:
                found.append(as_tested_array(leaf))
            except Exception as error:
                raise TypeError(
                    f"check_gradients: f must give Arrays, got {describe_result(y, leaf)} "
                    f"[at {user_line()}]"
                ) from error
        floats = [x for x in found if x.dtype.kind in "fc"]
        if not floats:
            raise TypeError(
                f"check_gradients: f gives no floating-point Array to differentiate, but "
                f"{describe(y)} [at {user_line()}]"
            )
        return floats

    def loss_value(self, *xs: Any) -> float:
        """Return the scalar that is differentiated as a float, without NumPy's warnings."""
        with Quiet():
            return float(self.scalar_loss(*map(as_tested_array, xs)))

    def flat_results(self, *xs: Any) -> Host:
        """Call f with NumPy arrays; return all results flattened and joined."""
        with Quiet():
            found = [np.asarray(y).reshape(-1) for y in self.results(*map(as_tested_array, xs))]
        return np.concatenate(found)

    # --- along directions -------------------------------------------------------------------------
    def check_first(
        self, modes: Sequence[str], found: Sequence[Any], along: Sequence[Host], rtol: float,
        h: float,
    ) -> None:  # fmt: skip
        """Compare first derivatives along a direction with differences; raise AssertionError if unequal.

        found : the gradients by reverse mode.  modes : "rev" and "fwd", or one of them.
        """
        slope = differences(self.loss_value, self.exact, along, h)
        for mode in modes:
            got = inner(found, along) if mode == "rev" else self.forward_slope(along)
            if not self.agrees(got, slope, self.loss_value, along, rtol, h):
                MismatchSearch(self, mode, rtol, h).raise_first(got, slope)

    def forward_slope(self, along: Sequence[Host]) -> float:
        """Return the slope of the scalar loss along a direction, by forward mode."""
        (t,) = slopes(self.scalar_loss, self.given, along)
        return float(t)

    def check_second(
        self, modes: Sequence[str], along: Sequence[Host], other: Sequence[Host], rtol: float,
        h: float,
    ) -> None:  # fmt: skip
        """Compare second derivatives with differences of slopes; raise AssertionError if unequal.

        along, other : the two directions.  modes : "rev" and "fwd", or one of them.
        """

        def slope_along(*xs: Any) -> float:
            with Quiet():
                return inner(gradients(self.scalar_loss, xs), along)

        slope = differences(slope_along, self.exact, other, h)
        ways = {"rev": curvature, "fwd": forward_curvature}
        for mode in modes:
            got = inner(ways[mode](self.scalar_loss, self.given, along), other)
            if not self.agrees(got, slope, slope_along, other, rtol, h):
                MismatchSearch(self, mode, rtol, h).raise_second(ways[mode], got, slope)

    def agrees(
        self, got: float, slope: float, at: Callable[..., float], along: Sequence[Host],
        rtol: float, h: float,
    ) -> bool:  # fmt: skip
        """Return True if ``got``, a mode's slope along a direction, agrees with finite differences.

        slope : the slope of ``at`` by differences; if ``got`` differs from it, other steps are tried.
        at : the function of the inputs that is differentiated.
        """
        if slopes_agree(got, slope, rtol):
            return True
        slope, error = best_slope(lambda t: at(*self.shifted_inputs(along, t)), h, self.exact)
        return bool(
            error <= 100 * rtol * max(1.0, abs(slope)) and slopes_agree(got, slope, rtol + error)
        )

    def shifted_inputs(self, along: Sequence[Host], t: float) -> list[Any]:
        """Return the inputs plus t times the direction ``along``, where differences evaluate f."""
        return [x + t * v for x, v in zip(self.exact, along, strict=True)]

    # --- names in messages ------------------------------------------------------------------------
    def name_of_input(self, place: InputElement) -> str:
        """Return the name of an element of an input, such as "argument 'x' element (0, 1)"."""
        number = self.places[place.leaf]
        sizes = [len(nest.leaves(argument)) for argument in self.arguments]
        argument = int(np.searchsorted(np.cumsum(sizes), number, side="right"))
        within = number - sum(sizes[:argument])
        path = [name for name, _, _ in nest.located(self.arguments[argument])][within]
        said = f"argument {self.parameter_name(argument)!r}" + (f" at {path!r}" if path else "")
        if place.element:
            said += f" element {place.element}"
        return said + (" (its imaginary part)" if place.imaginary else "")

    def parameter_name(self, argument: int) -> str:
        """Return the name of f's parameter with this index; the index itself if f has no signature."""
        try:
            parameters = list(inspect.signature(self.f).parameters.values())
        except (TypeError, ValueError):
            return str(argument)
        positional = [
            p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]
        return positional[argument].name if argument < len(positional) else str(argument)

    def name_of_result(self, number: int) -> str:
        """Return the name of an element of the flattened results, such as "f[0] element (2,)"."""
        floats = [
            path
            for path, y, _ in nest.located(self.answer)
            if as_tested_array(y).dtype.kind in "fc"
        ]
        for path, (shape, _) in zip(floats, self.shapes, strict=True):
            size = int(np.prod(shape))
            if number < size:
                steps = path.split(".") if path else []
                said = "f" + "".join(f"[{s}]" if s.isdigit() else f"[{s!r}]" for s in steps)
                index = tuple(int(i) for i in np.unravel_index(number, shape))
                return said + (f" element {index}" if index else "")
            number -= size
        return "f"


class MismatchSearch:
    """A search for the elements at which a derivative disagrees with finite differences.

    mode : the differentiation mode under test, "fwd" or "rev".
    h : the step of the differences.
    """

    def __init__(self, problem: CheckedFunction, mode: str, rtol: float, h: float) -> None:
        self.problem, self.mode, self.rtol, self.h = problem, mode, rtol, h

    def unit_direction(self, place: InputElement) -> list[Any]:
        """Return the direction in which only the element ``place`` changes.

        The direction has an array for each input.
        """
        along = [np.zeros(x.shape, x.dtype) for x in self.problem.exact]
        along[place.leaf][place.element] = 1j if place.imaginary else 1.0
        return along

    def input_elements(self) -> Iterator[InputElement]:
        """Yield all elements of all inputs, with real and imaginary parts as two elements."""
        for i, x in enumerate(self.problem.exact):
            for element in np.ndindex(x.shape):
                yield InputElement(i, element, False)
                if x.dtype.kind == "c":
                    yield InputElement(i, element, True)

    def compare_elements(
        self, at: Callable[..., float], got: Callable[[InputElement], float]
    ) -> tuple[list[tuple[InputElement, float, float, float]], int]:
        """Return the elements whose slopes differ, and the number of compared elements.

        Each of these elements comes with the slope from ``got``, the slope by differences of ``at``, and
        the estimated error of the differences.
        at : a function of all inputs.
        got : a function (of an InputElement) that returns the mode's slope for an element.
        """
        wrong, seen, started = [], 0, time.monotonic()
        for place in self.input_elements():
            along = self.unit_direction(place)

            def value_along(t: float, along: Sequence[Host] = along) -> float:
                return at(*self.problem.shifted_inputs(along, t))

            slope, error = best_slope(value_along, self.h, self.problem.exact)
            value = got(place)
            seen += 1
            if not slopes_agree(
                value, slope, self.rtol + min(error, self.rtol * max(1.0, abs(slope)))
            ):
                wrong.append((place, value, slope, error))
            if time.monotonic() - started > SECONDS:
                break
        return wrong, seen

    def raise_first(self, along: float, slope: float) -> None:
        """Raise an AssertionError that names the element with the most wrong first derivative.

        If all elements agree, the error shows the slopes along a random direction instead.
        along : the slope along that direction by the mode.
        slope : the same slope by differences.
        """
        problem = self.problem
        said, reverse = self.reverse_gradients()

        def got(place: InputElement) -> float:
            if self.mode == "fwd":
                return problem.forward_slope(self.unit_direction(place))
            g = np.asarray(reverse[place.leaf])[place.element]
            return float(np.imag(g) if place.imaginary else np.real(g))

        wrong, seen = self.compare_elements(problem.loss_value, got)
        if not wrong:
            raise AssertionError(
                f"first order, {self.mode}: along a random direction {MODE_NAMES[self.mode]} gives "
                f"{along!r}, differences give {slope!r}; the {seen} elements that were compared agree "
                f"one by one within {self.rtol:g}. Give a greater rtol, or another h"
            )
        place = max(wrong, key=lambda one: relative_distance(one[1], one[2]))[0]
        j, value, slope = self.worst_result(place)
        message = (
            f"first order, {self.mode}: gradient of {problem.name_of_result(j)} with respect to "
            f"{problem.name_of_input(place)}, where it is "
            f"{plain_number(problem.exact[place.leaf][place.element]):.6g}: "
            f"{self.both_values(value, slope)}"
        )
        hint = (
            self.kink_hint(place, j)
            or self.cause_hint(wrong, place, said)
            or ratio_hint(value, slope)
            or CHECK
        )
        raise AssertionError(f"{message}{self.count_differing(wrong, seen)}. {hint}")

    def worst_result(self, place: InputElement) -> tuple[int, float, float]:
        """Return the index of the result element whose slope differs most, with both slopes.

        The slopes are the derivatives with respect to ``place``, by the mode and by differences.
        """
        problem, along = self.problem, self.unit_direction(place)
        expected = np.atleast_1d(
            best_slope(
                lambda t: problem.flat_results(*problem.shifted_inputs(along, t)),
                self.h,
                problem.exact,
            )[0]
        )
        found = np.full(expected.shape, np.nan, expected.dtype)
        if self.mode == "fwd":
            parts = slopes(problem.results, problem.given, along)
            found = np.concatenate([np.asarray(t).reshape(-1) for t in parts])
        else:
            for j in range(min(expected.size, 500)):
                found[j] = self.reverse_derivative(j, place, expected.dtype.kind == "c")
        off = np.array([relative_distance(a, b) for a, b in zip(found, expected, strict=True)])
        j = int(np.argmax(off))
        return j, plain_number(found[j]), plain_number(expected[j])

    def reverse_derivative(self, j: int, place: InputElement, is_complex: bool) -> Any:
        """Return the derivative of result element j with respect to an input element (reverse mode)."""
        problem = self.problem

        def derivative_of(part: str) -> float:
            def element(*xs: Any) -> Any:
                number = j
                for y in problem.results(*xs):
                    size = int(np.prod(y.shape))
                    if number < size:
                        xp: Any = namespace()
                        found = xp.reshape(y, (size,))[number]
                        return found if y.dtype.kind == "f" else getattr(xp, part)(found)
                    number -= size
                raise RuntimeError("f gave fewer elements than before")

            with warnings.catch_warnings():
                warnings.simplefilter("ignore", TapeWarning)
                g = gradients(element, problem.given)[place.leaf][place.element]
            return float(np.imag(g) if place.imaginary else np.real(g))

        real = derivative_of("real")
        return real + 1j * derivative_of("imag") if is_complex else real

    def raise_second(self, way: Callable[..., Any], along: float, slope: float) -> None:
        """Raise an AssertionError that names two input elements whose second derivative is wrong.

        If no such pair is found, the error shows the second derivative along random directions instead.
        way : a function that computes Hessian-vector products in the mode under test (tape in tape, or
            accumulator around a tape).
        along : the second derivative along the directions by the mode.
        slope : the same by differences of gradients.
        """
        problem = self.problem
        started, worst = time.monotonic(), None
        for place in self.input_elements():
            unit = self.unit_direction(place)
            found = way(problem.scalar_loss, problem.given, unit)

            def gradient_along(t: float, unit: Sequence[Host] = unit) -> Host:
                with Quiet():
                    parts = gradients(problem.scalar_loss, problem.shifted_inputs(unit, t))
                return np.concatenate([np.asarray(g).reshape(-1) for g in parts])

            expected, _ = best_slope(gradient_along, self.h, problem.exact)
            got = np.concatenate([np.asarray(g).reshape(-1) for g in found])
            off = np.array([relative_distance(a, b) for a, b in zip(got, expected, strict=True)])
            k = int(np.argmax(off))
            if worst is None or off[k] > worst[0]:
                worst = off[k], place, self.element_at(k), got[k], expected[k]
            if time.monotonic() - started > SECONDS:
                break
        if worst is None or worst[0] <= self.rtol:
            raise AssertionError(
                f"second order, {self.mode}: along random directions "
                f"{MODE_NAMES[self.mode]} gives {along!r}, "
                f"differences of gradients give {slope!r}"
            )
        _, place, other, value, expected_value = worst
        what = (
            "f" if len(problem.shapes) == 1 and not problem.shapes[0][0] else "a sum of f's results"
        )
        raise AssertionError(
            f"second order, {self.mode}: second derivative of {what} with respect to "
            f"{problem.name_of_input(place)} and {problem.name_of_input(other)}: "
            f"{self.both_values(plain_number(value), plain_number(expected_value))}. "
            f"{self.kink_hint(place) or self.kink_hint(other) or SECOND}"
        )

    def element_at(self, k: int) -> InputElement:
        """Return the input element whose derivative is number k of all gradients, flattened."""
        for i, x in enumerate(self.problem.exact):
            if k < x.size:
                return InputElement(i, tuple(int(n) for n in np.unravel_index(k, x.shape)), False)
            k -= x.size
        raise IndexError(k)

    # --- parts of messages ------------------------------------------------------------------------
    def reverse_gradients(self) -> tuple[list[str], list[Any]]:
        """Return the tape's warnings, which may name the cause of an error, and the tape's gradients."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = gradients(self.problem.scalar_loss, self.problem.given)
        return [str(one.message) for one in caught if one.category is TapeWarning], found

    def both_values(self, value: complex, slope: complex) -> str:
        """Return a text with the mode's slope ``value``, the differences' ``slope`` and their ratio."""
        said = f"{MODE_NAMES[self.mode]} gives {value:.8g}, finite differences {slope:.8g}"
        usable = np.isfinite(value) and np.isfinite(slope) and slope != 0
        return said + (f", ratio {value / slope + 0.0:.4g}" if usable else "")

    def count_differing(self, wrong: Sequence[Any], seen: int) -> str:
        """Return a text with the number of wrong elements among the ``seen`` compared ones."""
        total = sum(x.size * (2 if x.dtype.kind == "c" else 1) for x in self.problem.exact)
        some = "" if seen == total else f" that were compared, of {total}"
        return f" ({len(wrong)} of {seen} elements{some} differ by more than {self.rtol:g})"

    def cause_hint(self, wrong: Sequence[Any], worst: InputElement, said: Sequence[str]) -> str:
        """Return the likely cause of the difference with advice; "" if no cause is likely.

        wrong : the elements that differ, each with both slopes and the error of the differences.
        worst : the element that differs most.
        said : the tape's warnings.
        """
        if said:
            return f"The tape says: {said[0]}"
        here = [one for one in wrong if one[0].leaf == worst.leaf]
        values = np.array([value for _, value, _, _ in here])
        expected = np.array([slope for _, _, slope, _ in here])
        if not np.isfinite(expected).all():
            return (
                "f is not finite close to this input, as at the end of its domain: move the input away "
                "from there, or give a smaller h"
            )
        if not np.isfinite(values).all():
            return (
                "The derivative overflows or is 0/0 where f is finite: guard the branch by where() on "
                "its input; GradientTape(check_numerics=True) finds the op"
            )
        if not values.any():
            return (
                "All differing elements are 0: a term is missing, cut off by stop_gradient, an "
                "integer dtype, or a custom rule that leaves it out"
            )
        with Quiet():
            ratios = values / expected
        if np.isfinite(ratios).all() and np.ptp(ratios) <= 1e-4 * abs(ratios[0]):
            if abs(ratios[0] + 1.0) < 1e-4:
                return "All differing elements have the other sign: likely a sign in a rule of your own"
            return (
                "All differing elements differ by the same factor: likely a factor of "
                f"{1.0 / ratios[0]:.4g} is missing in a rule of your own"
            )
        return self.shape_hint(wrong)

    def shape_hint(self, wrong: Sequence[Any]) -> str:
        """Return a hint if the gradient is the transpose of the right gradient, else ""."""
        leaf = wrong[0][0].leaf
        x = self.problem.exact[leaf]
        table = {(p.element, p.imaginary): (a, b) for p, a, b, _ in wrong if p.leaf == leaf}
        if x.ndim == 2 and x.shape[0] == x.shape[1] and all(
            (i[::-1], part) in table and slopes_agree(a, table[i[::-1], part][1], 1e-3)
            for (i, part), (a, _) in table.items()
        ):  # fmt: skip
            return "The gradient is the transposed one: likely operands of a product in the wrong order"
        return ""

    def kink_hint(self, place: InputElement, j: int | None = None) -> str:
        """Return a sentence if f has a kink or a jump at an input element, else "".

        j : the index of the result element to examine, or None for ``scalar_loss``.
        """
        problem, along = self.problem, self.unit_direction(place)

        def value_along(t: float) -> float:
            inputs = problem.shifted_inputs(along, t)
            return (
                problem.loss_value(*inputs)
                if j is None
                else float(problem.flat_results(*inputs)[j].real)
            )

        def sides(t: float) -> tuple[float, float]:
            left, here, right = (value_along(s) for s in (-t, 0.0, t))
            return (here - left) / t, (right - here) / t

        size = max(1.0, float(abs(problem.exact[place.leaf][place.element])))
        wide, narrow = sides(1e-4 * size), sides(1e-6 * size)
        gaps = [abs(right - left) for left, right in (wide, narrow)]
        scale = max(1.0, *map(abs, narrow))
        if not np.isfinite(gaps).all() or gaps[1] < 1e-3 * scale or gaps[1] < 0.3 * gaps[0]:
            return ""
        if gaps[1] > 30.0 * gaps[0]:
            return "f jumps there, so it has no derivative: move the input away from the jump"
        return (
            f"f has a kink there: its slope is {narrow[0]:.6g} from the left and {narrow[1]:.6g} from "
            "the right, so that any derivative is a matter of convention. Move the input away from it"
        )


def best_slope(at: Callable[[float], Any], h: float, inputs: Sequence[Any]) -> tuple[Any, float]:
    """Return the derivative of ``at``, a function of one number, at 0, and an estimate of its error.

    Central differences are computed for several steps, and the step with the least error is chosen.  The
    error is the difference between the slopes for a step and for half the step, plus the rounding error.
    So no step is chosen that crosses a kink or leaves the domain of ``at``.
    h : the first step to try.
    inputs : the inputs of the function under test, whose size determines the rounding error.
    """
    size = max([1.0, *(float(np.max(np.abs(x), initial=0.0)) for x in inputs)])
    steps = [h * part for part in SHRINKING] + ([h * size] if size > 10.0 else [])
    value = float(np.max(np.abs(at(0.0)), initial=0.0))
    best: tuple[Any, float] | None = None
    for step in steps:
        slopes = [differences(lambda t: at(float(t)), [0.0], [1.0], s) for s in (step, step / 2)]
        error = float(np.max(np.abs(np.asarray(slopes[0]) - slopes[1]), initial=0.0))
        # Rounding errors may be equal for both steps and cancel in the difference, so they are added.
        greatest = float(np.max(np.abs(slopes[1]), initial=0.0))
        error += EPSILON * (size * greatest + value) / step
        error = error if np.isfinite(error) else np.inf
        if best is None or error < best[1]:
            best = slopes[1], error
    assert best is not None
    return best


def is_inexact(leaf: Any) -> bool:
    """Return True for a floating-point (inexact) number or array, which may have a derivative."""
    if isinstance(leaf, float | complex):
        return True
    kind = getattr(getattr(leaf, "dtype", None), "kind", "")
    return kind in ("f", "c")


def plain_number(value: complex) -> Any:
    """Return a Python number for a message: a complex only if the imaginary part is not 0."""
    number = complex(value)
    return number if number.imag else number.real


def slopes_agree(found: complex, expected: complex, rtol: float) -> bool:
    """Return True if two slopes differ by at most rtol times the greater of 1 and the slope.

    NaN agrees with no number.
    """
    return bool(abs(found - expected) <= rtol * max(1.0, abs(expected)))


def relative_distance(found: complex, expected: complex) -> float:
    """Return the difference of two slopes, relative to the greater of 1 and ``expected``.

    The result is infinity if a slope is NaN or infinite.
    """
    off = abs(found - expected) / max(1.0, abs(expected))
    return float(off) if np.isfinite(off) else np.inf


def ratio_hint(value: complex, slope: complex) -> str:
    """Return a likely cause if the ratio of two slopes is simple, such as -1 or 2; else "".

    value : the slope by the mode under test.
    slope : the slope by differences.
    """
    if not np.isfinite(value) or not np.isfinite(slope) or not slope:
        return ""
    ratio = value / slope
    if abs(ratio + 1.0) < 1e-4:
        return "It has the other sign: likely a sign in a rule of your own"
    if complex(slope).imag and slopes_agree(np.conj(value), slope, 1e-3):
        return (
            "It is the complex conjugate: likely a conj() too many or too few in a rule of your own"
        )
    if any(abs(ratio - one) < 1e-4 * abs(one) for one in LIKELY_RATIOS):
        return f"Likely a factor of {1.0 / ratio.real:.4g} is missing in a rule of your own"
    return ""
