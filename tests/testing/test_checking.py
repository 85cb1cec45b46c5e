"""What check_gradients takes, and what it says when derivatives are wrong."""

import dataclasses
import warnings

import numpy as np
import pytest

import arraytape as xp
from arraytape.testing import check_gradients

RNG = np.random.default_rng(0)
W, X = RNG.normal(size=(3, 2)), RNG.normal(size=(4, 3))
Z = RNG.normal(size=2) + 1j * RNG.normal(size=2)
GRID = np.arange(9.0).reshape(3, 3)


def scaled(factor):
    """x**2 with a derivative that is wrong by a factor."""
    return xp.custom_gradient(lambda x: (x**2, lambda dy: factor * 2.0 * dy * x))


@xp.custom_gradient
def transposed(x):
    grid = xp.asarray(GRID)
    return xp.matrix_transpose(x) * grid, lambda dy: dy * grid


@xp.custom_gradient
def conjugated(x):
    return x * (2 + 1j), lambda dy: dy * (2 + 1j)


@xp.custom_gradient
def cube(x):
    slope = xp.custom_gradient(lambda x: (3 * x**2, lambda dy: dy * 5.0 * x))
    return x**3, lambda dy: dy * slope(x)


@dataclasses.dataclass
class Line:
    slope: object
    offset: object


# --- what is taken --------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("f", "inputs"),
    [
        (lambda x: xp.sum(xp.sin(x)), W),
        (lambda x: xp.sin(x), xp.asarray(W)),
        (lambda x: x**2, 1.5),
        (lambda w, x: xp.tanh(x @ w), [W, X]),
        (lambda w, x: xp.tanh(x @ w), (xp.asarray(W), X)),
        (lambda p: p["a"] * xp.exp(p["b"][0]), {"a": 2.0, "b": [W]}),
        (lambda p, x: x @ p["w"], [{"w": W}, X]),
        (lambda line: line.slope * 3.0 + line.offset, Line(2.0, W)),
        (lambda x, n: x**n, [W[0] ** 2 + 1.0, 3]),
        (lambda x, rows: x[rows, :], [W, np.array([2, 0, 0])]),
        (lambda x: xp.sum(x), [[1.0, 2.0]]),
        (lambda x: [xp.sin(x), {"y": x**2, "n": xp.argmax(x)}], W),
        (lambda z: z**2, Z),
        (lambda z: xp.sum(xp.abs(z) ** 2), Z),
        (lambda x: x * 2.0, np.zeros((0, 3))),
        (lambda x: xp.sum(x**2), W.astype(np.float32)),
        (lambda x: xp.sum(xp.astype(x, xp.float32) ** 2), W),
    ],
)
def test_arrays_and_nestings_go_in_and_come_out(f, inputs):
    check_gradients(f, inputs, order=(1, 2), modes=("reverse", "forward"), seeds=1)


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda x: xp.abs(x), [1e-4, -1.0]),  # a kink within the first step
        (lambda x: xp.sqrt(x), [1e-5, 3.0]),  # the end of the domain within it
        (lambda x: xp.sum(x**2), [1e8, 3.0]),  # rounding of the input
        (lambda x: xp.exp(30.0 * x), [1.0, 0.5]),
    ],
)
def test_differences_settle_with_another_step(f, x):
    with np.errstate(all="ignore"):
        check_gradients(f, np.array(x), seeds=1)


# --- what is said ---------------------------------------------------------------------------------
def message(f, inputs, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", xp.TapeWarning)
        with pytest.raises(AssertionError) as caught:
            check_gradients(f, inputs, **options)
    return str(caught.value)


HALF, NEGATIVE = scaled(0.5), scaled(-1.0)
SAYS = {
    "a factor": (
        lambda w: HALF(w), np.array([[1.0, 3.0]]),
        ["gradient of f element (0, 1) with respect to argument 'w' element (0, 1), where it is 3:",
         "reverse mode gives 3, finite differences 6, ratio 0.5", "2 of 2 elements differ",
         "likely a factor of 2 is missing"],
    ),
    "a result in a list": (
        lambda x, w: [xp.sum(x), HALF(w)], [X, np.array([3.0])],
        ["gradient of f[1] element (0,) with respect to argument 'w' element (0,)", "ratio 0.5",
         "1 of 13 elements", "factor of 2"],
    ),
    "a key of a dict": (
        lambda p: {"loss": NEGATIVE(p["layers"][0])}, {"layers": [3.0], "b": 1.0},
        ["gradient of f['loss'] with respect to argument 'p' at 'layers.0', where it is 3: reverse mode "
         "gives -6, finite differences 6, ratio -1", "the other sign"],
    ),
    "a kink": (
        lambda x: xp.where(x > 0, x, 3.0 * x), np.array([0.0, 1.0]),
        ["f has a kink there: its slope is 3 from the left and 1 from the right"],
    ),
    "a kink of second order alone": (lambda x: xp.abs(x), np.array([0.0]), ["f has a kink there"]),
    "a jump": (lambda x: xp.floor(x) * x, np.array([1.0]), ["f jumps there"]),
    "the end of the domain": (
        lambda x: xp.sqrt(x), np.array([0.0, 1.0]), ["f is not finite close to this input"]
    ),
    "what was cut": (
        lambda x: x * xp.stop_gradient(x), np.array([2.0]),
        ["reverse mode gives 2, finite differences 4"],
    ),
    "all cut": (lambda x: xp.stop_gradient(x**2), np.array([2.0]), ["All differing elements are 0"]),
    "transposed": (transposed, RNG.normal(size=(3, 3)), ["The gradient is the transposed one"]),
    "conjugated": (conjugated, Z, ["It is the complex conjugate"]),
    "the second derivative": (
        lambda x: cube(x), np.ones(2),
        ["second order, rev: second derivative of a sum of f's results with respect to argument 'x' "
         "element (0,) and argument 'x' element (0,): reverse mode gives", "ratio 0.8333"],
    ),
    "single precision": (
        lambda x: HALF(x), np.array([3.0], dtype=np.float32),
        ["differ by more than 0.001", "factor of 2"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SAYS)
def test_the_message_names_the_element_and_what_it_looks_like(name):
    f, inputs, says = SAYS[name]
    said = message(f, inputs)
    for words in says:
        assert words in said


def test_forward_mode_is_looked_at_by_itself():
    said = message(lambda w: HALF(w), np.array([1.0, 3.0]), modes=("forward",), order=1)
    assert "forward mode gives 3, finite differences 6, ratio 0.5" in said


def left_by_float(x):
    return float(x[0]) * xp.sum(x)


def left_by_numpy(x):
    return np.sin(np.asarray(x))


@pytest.mark.parametrize("f", [left_by_float, left_by_numpy, lambda x: float(xp.sum(x**2))])
def test_a_value_that_left_the_tape_is_named_with_its_line(f):
    said = message(f, np.array([2.0, 3.0]))
    line = f.__code__.co_firstlineno + (f.__name__ != "<lambda>")
    assert f"left the tape at {__file__}:{line} (" in said


def test_two_thousand_elements_are_looked_at_for_some_seconds_at_most(monkeypatch):
    from arraytape.testing import checking

    monkeypatch.setattr(checking, "SECONDS", 0.05)
    said = message(lambda x: xp.sum(HALF(x)), np.ones(100_000), order=1)
    assert "elements that were compared, of 100000" in said
    assert "factor of 2" in said


@pytest.mark.parametrize(
    ("f", "inputs", "options", "error", "says"),
    [
        (xp.sum, 2, {}, ValueError, r"no floating-point number among the inputs \(int 2\).*3.0"),
        (lambda x: 3, 2.0, {}, TypeError, "no floating-point Array to differentiate, but int 3"),
        (lambda x: "a", 2.0, {}, TypeError, "f must give Arrays, got str 'a'"),
        (3, 2.0, {}, TypeError, "takes a function, got int 3"),
        (xp.sum, W, {"order": ()}, ValueError, "order is 1 or 2"),
        (xp.sum, W, {"order": (1, 3)}, ValueError, "order is 1 or 2"),
        (xp.sum, W, {"modes": ("back",)}, ValueError, "'forward' and 'reverse' mean the same"),
    ],
)
def test_what_cannot_be_checked_is_said(f, inputs, options, error, says):
    with pytest.raises(error, match=says):
        check_gradients(f, inputs, **options)
