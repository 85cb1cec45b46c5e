"""Losses that are no Array of shape (): the error says first what to return."""

import pytest

import arraytape as xp


def loss_without_return(x):
    xp.sum(x)


LOSSES = {
    "None": (loss_without_return, r"return the loss from the function: is its `return` missing"),
    "a tuple": (lambda x: (xp.sum(x), x), r"return the loss alone, or pass has_aux=True"),
    "integers": (lambda x: xp.sum(x > 0.0), r"return one real floating-point Array of shape \(\)"),
    "a vector": (lambda x: 2.0 * x, r"use jacobian, or sum the result"),
}


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("transform", [xp.grad, xp.value_and_grad, xp.hessian])
def test_the_advice_comes_with_the_kind_of_result(name, transform):
    loss, advice = LOSSES[name]
    with pytest.raises((TypeError, ValueError), match=advice):
        transform(loss)(xp.asarray([1.0, 2.0]))


def test_the_advice_for_a_tuple_leads_to_a_gradient():
    gradient, aux = xp.grad(lambda x: (xp.sum(x), x), has_aux=True)(xp.asarray([1.0, 2.0]))
    assert gradient.tolist() == [1.0, 1.0]
    assert aux.tolist() == [1.0, 2.0]
