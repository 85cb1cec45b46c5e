"""``custom_gradient`` called with numbers and others beside Arrays: their gradients are dropped."""

import itertools

import numpy as np
import pytest

import arraytape as xp
from arraytape import ForwardAccumulator, GradientTape

NUMBERS = [2.0, 3, True, np.float64(2.0), np.float32(2.0), np.int64(3), np.bool_(True)]
FORMS = ["arrays", "numbers", "all", "none for numbers"]
A, N, OTHER = "array", "number", "other"
CALLS = [
    kinds for n in (1, 2, 3) for kinds in itertools.product([A, N, OTHER], repeat=n) if A in kinds
]


def rule(form, arguments, dy):
    """The gradients of ``product``: for the Arrays alone, for numbers too, or for all arguments."""
    found = []
    for i, argument in enumerate(arguments):
        others = [a for j, a in enumerate(arguments) if j != i and not isinstance(a, str)]
        g = dy
        for other in others:
            g = g * other
        if isinstance(argument, xp.Array):
            found.append(g)
        elif isinstance(argument, str):
            found += [None] if form in ("all", "none for numbers") else []
        elif form != "arrays":
            found.append(None if form == "none for numbers" else g)
    return found


def product(form):
    @xp.custom_gradient
    def function(*arguments):
        y = xp.asarray(1.0)
        for argument in arguments:
            y = y if isinstance(argument, str) else y * argument
        return y, lambda dy: rule(form, arguments, dy)

    return function


@pytest.mark.parametrize("number", NUMBERS, ids=lambda n: type(n).__name__)
@pytest.mark.parametrize("form", FORMS)
def test_numbers_may_have_gradients_which_are_dropped(form, number):
    for kinds in CALLS:
        arrays = [xp.asarray(float(i + 2)) for i in range(len(kinds))]
        beside = {A: None, N: number, OTHER: "mode"}
        given = [x if kind == A else beside[kind] for x, kind in zip(arrays, kinds, strict=True)]
        watched = [x for x, kind in zip(arrays, kinds, strict=True) if kind == A]
        with GradientTape() as outer:
            outer.watch(watched)
            with GradientTape() as tape:
                tape.watch(watched)
                y = product(form)(*given)
            found = tape.gradient(y, watched)
        value = float(np.prod([float(a) for a in given if not isinstance(a, str)]))
        assert float(y) == pytest.approx(value, rel=1e-12)
        for x, g in zip(watched, found, strict=True):
            assert float(g) == pytest.approx(value / float(x), rel=1e-12), (kinds, form)
        if len(watched) > 1:
            second = outer.gradient(found[0], watched[1])
            wanted = value / float(watched[0]) / float(watched[1])
            assert float(second) == pytest.approx(wanted, rel=1e-12)
        with ForwardAccumulator(watched[0], xp.asarray(1.0)) as accumulator:
            y = product(form)(*given)
        assert float(accumulator.jvp(y)) == pytest.approx(value / float(watched[0]), rel=1e-12)


@pytest.mark.parametrize("first", [2.0, np.float64(2.0), np.asarray([2.0, 4.0]), np.asarray(2.0)])
def test_the_product_of_the_manual(first):
    @xp.custom_gradient
    def mul(a, b):
        return a * b, lambda dy: (xp.sum(dy * b) * xp.ones(()), dy * a)

    x = xp.asarray([1.0, 3.0])
    with GradientTape() as tape:
        tape.watch(x)
        y = mul(first if np.ndim(first) == 0 else xp.sum(xp.asarray(first)), x)
    scale = float(np.sum(first))
    assert y.tolist() == [scale, 3.0 * scale]
    assert tape.gradient(y, x).tolist() == [scale, scale]


NESTED = {
    "list": (lambda x: ([2.0, x], 3), lambda dy: ([dy, dy * 6.0], None)),
    "flat": (lambda x: ([2.0, x], 3), lambda dy: (dy, dy * 6.0, dy)),
    "dict": (lambda x: ({"b": x, "a": 2.0}, 3), lambda dy: ({"a": dy, "b": dy * 6.0}, None)),
    "dict of Arrays": (lambda x: ({"b": x, "a": 2.0}, 3), lambda dy: ({"b": dy * 6.0},)),
    "no numbers": (lambda x: ([x], "mode"), lambda dy: (dy * 6.0, None)),
    "None": (lambda x: (x, None), lambda dy: (dy * 6.0, None)),
}


@pytest.mark.parametrize(("call", "grad"), NESTED.values(), ids=NESTED)
def test_numbers_in_nestings(call, grad):
    x = xp.asarray([1.0, 2.0])

    @xp.custom_gradient
    def f(*_):
        return x_of(*_) * 6.0, grad

    def x_of(first, _):
        parts = first.values() if isinstance(first, dict) else first
        return next(p for p in ([first] if isinstance(first, xp.Array) else parts) if is_array(p))

    def is_array(part):
        return isinstance(part, xp.Array)

    with GradientTape() as tape:
        tape.watch(x)
        y = f(*call(x))
    assert tape.gradient(y, x).tolist() == [6.0, 6.0]


WRONG = {
    "too many": (lambda dy: (dy, dy, dy, dy), "4 gradients for 1 Array arguments"),
    "none at all": (lambda dy: (), "0 gradients for 1 Array arguments"),
    "for another argument": (lambda dy: (dy, dy, dy), "neither Array nor number"),
    "of another shape": (lambda dy: (xp.sum(dy), 0.0), r"argument 0 \('a'\) must be float64\(2,\)"),
    "other order": (lambda dy: (0.0, dy), r"argument 0 \('a'\) must be an Array"),
}


@pytest.mark.parametrize(("grad", "says"), WRONG.values(), ids=WRONG)
def test_a_wrong_number_of_gradients_still_raises(grad, says):
    @xp.custom_gradient
    def f(a, b, mode):
        return a * b, grad

    x = xp.asarray([1.0, 2.0])
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = f(x, 2.0, "mode")
    with pytest.raises((TypeError, ValueError), match=says):
        tape.gradient(y, x)
