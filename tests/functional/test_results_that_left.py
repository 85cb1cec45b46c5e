"""A result that is a number or NumPy data: the error says where the value left, and what to do."""

import inspect
import math

import numpy as np
import pytest

import arraytape as xp

LEAVING = {
    "float": (lambda x: float(xp.sum(x)), r"float\(\)", "arraytape's own functions"),
    "math": (lambda x: math.exp(x[0]), r"float\(\)", "arraytape's function of that name"),
    "asarray": (lambda x: np.asarray(x).sum(), r"np\.asarray\(\)", "on the Array itself"),
    "item": (lambda x: {"loss": x[0].item()}["loss"], r"item\(\)", "arraytape's own functions"),
}
CALLS = {
    "grad": lambda f, x: xp.grad(f)(x),
    "value_and_grad": lambda f, x: xp.value_and_grad(f)(x),
    "hessian": lambda f, x: xp.hessian(f)(x),
    "jacobian": lambda f, x: xp.jacobian(f)(x),
    "jacfwd": lambda f, x: xp.jacfwd(f)(x),
    "jvp": lambda f, x: xp.jvp(f, (x,), (x,)),
    "vjp": lambda f, x: xp.vjp(f, x),
    "linearize": lambda f, x: xp.linearize(f, x),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("leaving", LEAVING)
def test_the_place_and_the_remedy_are_named(call, leaving):
    f, how, remedy = LEAVING[leaving]
    line = inspect.getsourcelines(f)[1]
    message = rf"^\w+: .*{remedy}.*; .* since .*test_results_that_left\.py:{line} \({how}"
    with pytest.raises(TypeError, match=message):
        CALLS[call](f, xp.asarray([1.0, 2.0]))


@pytest.mark.parametrize("call", CALLS)
def test_a_result_that_was_always_a_number_names_no_place(call):
    with pytest.raises(TypeError, match=r"must be an Array|return one real") as caught:
        CALLS[call](lambda x: 3.0, xp.asarray([1.0, 2.0]))
    assert "left this tape" not in str(caught.value)
