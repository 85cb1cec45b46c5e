"""Functions with gradients of their own: bad input."""

import numpy as np
import pytest

import arraytape as xp

pytestmark = pytest.mark.any_storage


@pytest.fixture
def x():
    return xp.asarray([1.0, 2.0, 3.0])


def backward(f, *values):
    """What takes the gradient of f, given the fixture of that name."""
    return lambda gradient: gradient(f, *(values or ([1.0, 2.0],)))


def ruled(pull, f=lambda x: x * 2.0):
    """f with this grad_fn."""

    def function(x):
        return f(x), pull

    return backward(xp.custom_gradient(function))


def two(pull):
    return backward(xp.custom_gradient(lambda a, b: (a * b, pull)), 1.0, 2.0)


LINE = lambda t, x: t * x  # noqa: E731
BAD = {
    "not-callable": (lambda _: xp.custom_gradient(3.0), TypeError, ["function", "float 3.0"]),
    "no-pair": (backward(xp.custom_gradient(lambda x: x)), TypeError, ["(y, grad_fn)", "float64(2,)"]),
    "no-grad-fn": (
        backward(xp.custom_gradient(lambda x: (x, None))), TypeError, ["(y, grad_fn)"]),
    "three": (
        backward(xp.custom_gradient(lambda x: (x, x, len))), TypeError, ["(y, grad_fn)"]),
    "result-float": (
        backward(xp.custom_gradient(lambda x: (3.0, lambda dy: dy))), TypeError,
        ["custom_gradient(<lambda>)", "float 3.0", "asarray"]),
    "result-none": (
        backward(xp.custom_gradient(lambda x: ([x, None], lambda dy: dy))), TypeError, ["None"]),
    "too-many": (ruled(lambda dy: (dy, dy)), ValueError, ["2 gradients for 1 Array arguments"]),
    "too-few": (two(lambda dy: dy), ValueError, ["1 gradients for 2 Array arguments"]),
    "none-for-two": (two(lambda dy: None), ValueError, ["0 gradients for 2"]),
    "empty": (ruled(lambda dy: ()), ValueError, ["0 gradients for 1"]),
    "wrong-shape": (
        ruled(lambda dy: xp.sum(dy)), ValueError, ["argument 0 ('x')", "float64(2,)", "float64()"]),
    "wrong-shape-second": (
        two(lambda dy: (dy, xp.ones((3,)))), ValueError, ["argument 1 ('b')", "float64(3,)"]),
    "wrong-dtype": (
        ruled(lambda dy: xp.astype(dy, xp.float32)), ValueError, ["argument 0", "float32(2,)"]),
    "complex-for-real": (ruled(lambda dy: dy * 1j), ValueError, ["argument 0", "complex128"]),
    "integer": (ruled(lambda dy: xp.ones((2,), dtype=xp.int64)), ValueError, ["int64"]),
    "python-number": (ruled(lambda dy: 1.0), TypeError, ["argument 0 ('x')", "float 1.0"]),
    "string": (ruled(lambda dy: "a"), TypeError, ["argument 0 ('x')", "str 'a'"]),
    "wrong-cotangents": (ruled(lambda: 1.0), TypeError, ["positional argument"]),
    "writes-to-argument": (
        ruled(lambda dy: dy, lambda x: x.__setitem__(0, 5.0) or x * 1.0), ValueError,
        ["writes to argument 0 ('x')", "copy"]),
    "adds-to-argument": (
        ruled(lambda dy: dy, lambda x: x.__iadd__(1.0)), ValueError, ["writes to argument 0"]),
    "writes-through-view": (
        ruled(lambda dy: dy, lambda x: x[:1].__setitem__(0, 5.0) or x * 1.0), ValueError,
        ["writes to argument 0"]),
    "not-a-pair-for-variables": (
        ruled(lambda dy, variables: dy), ValueError, ["`variables`", "pair"]),
    "gradients-for-no-variables": (
        ruled(lambda dy, variables: (dy, [dy])), ValueError, ["1 gradients for 0 variables"]),
    "pass-through-not-callable": (lambda _: xp.grad_pass_through(None), TypeError, ["None"]),
    "pass-through-shape": (
        backward(xp.grad_pass_through(xp.sum)), ValueError,
        ["grad_pass_through(sum)", "float64()", "float64(2,)"]),
    "pass-through-dtype": (
        backward(xp.grad_pass_through(lambda x: xp.astype(x, xp.int64))), ValueError, ["int64(2,)"]),
    "pass-through-count": (
        backward(xp.grad_pass_through(lambda x: (x, x))), ValueError, ["float64(2,)"]),
    "pass-through-result": (backward(xp.grad_pass_through(float), 1.0), TypeError, ["float 1.0"]),
    "recompute-not-callable": (lambda _: xp.recompute_grad([]), TypeError, ["list []"]),
    "recompute-result": (
        backward(xp.recompute_grad(lambda x: None)), TypeError, ["recompute_grad", "None"]),
    "numpy-function-not-callable": (
        lambda _: xp.numpy_function(None, xp.ones((1,))), TypeError, ["function"]),
    "numpy-function-result": (
        lambda _: xp.numpy_function(lambda x: "a", xp.ones((1,))), TypeError,
        ["numpy_function(<lambda>)", "str 'a'"]),
    "numpy-function-none": (
        lambda _: xp.numpy_function(lambda x: None, xp.ones((1,))), TypeError, ["None"]),
    "host-function-no-vjp": (lambda _: xp.host_function(np.exp, None), TypeError, ["None"]),
    "host-function-not-callable": (lambda _: xp.host_function(1, np.exp), TypeError, ["int 1"]),
    "host-function-shape": (
        backward(xp.host_function(np.exp, lambda g, y, x: g.sum())), ValueError,
        ["host_function(exp)", "argument 0", "float64()"]),
    "host-function-dtype": (
        backward(xp.host_function(lambda x: x * 2, lambda g, y, x: g.astype("f4"))), ValueError,
        ["argument 0 ('x')", "float32(2,)"]),
    "host-function-count": (
        backward(xp.host_function(np.exp, lambda g, y, x: (g, g))), ValueError,
        ["2 gradients for 1"]),
    "host-function-result": (
        backward(xp.host_function(lambda x: "a", lambda g, y, x: g)), TypeError, ["str 'a'"]),
    "register-unknown": (
        lambda _: xp.register_gradient("tanhh")(LINE), LookupError, ["no op named 'tanhh'", "'tanh'"]),
    "register-known": (lambda _: xp.register_gradient("exp")(LINE), KeyError, ["already", ".py:"]),
    "stop-gradient": (lambda _: xp.stop_gradient(3.0), TypeError, ["float 3.0"]),
}  # fmt: skip


@pytest.mark.parametrize("row", BAD)
def test_a_bad_argument_is_said(row, gradient):
    call, error, says = BAD[row]
    with pytest.raises(error) as caught:
        call(gradient)
    assert type(caught.value) is error
    for part in says:
        assert part in str(caught.value)
