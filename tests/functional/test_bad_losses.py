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


# --- functions that return None, and tuples where one result is meant --------------------------------
def without_return(*arguments):
    xp.sum(xp.ones(2))


x = xp.asarray([1.0, 2.0])
scipy = xp.implicit.scipy
CALLS = {
    "jacobian": lambda f: xp.jacobian(f)(x),
    "jacfwd": lambda f: xp.jacfwd(f)(x),
    "jacrev": lambda f: xp.jacrev(f)(x),
    "vjp": lambda f: xp.vjp(f, x),
    "jvp": lambda f: xp.jvp(f, (x,), (x,)),
    "linearize": lambda f: xp.linearize(f, x),
    "hvp": lambda f: xp.hvp(f, (x,), (x,)),
    "vmap": lambda f: xp.vmap(f)(x),
    "sparse_jacobian": lambda f: xp.sparse_jacobian(f)(x),
    "custom_gradient": lambda f: xp.custom_gradient(f)(x),
    "minimize_scipy": lambda f: xp.optimizers.minimize_scipy(f, x),
    "LBFGS": lambda f: xp.optimizers.LBFGS().minimize(f, [xp.Variable(x)]),
    "SGD.minimize": lambda f: xp.optimizers.SGD(0.1).minimize(f, [xp.Variable(x)]),
    "implicit.root": lambda f: xp.implicit.root(f, x),
    "implicit.minimum": lambda f: xp.implicit.minimum(f, x),
    "implicit.fixed_point": lambda f: xp.implicit.fixed_point(f, x),
    "implicit.linear_solve": lambda f: xp.implicit.linear_solve(f, x),
    "scipy.root": lambda f: scipy.root(f, x),
    "scipy.minimize": lambda f: scipy.minimize(f, x),
    "scipy.least_squares": lambda f: scipy.least_squares(f, x),
    "odeint": lambda f: xp.implicit.odeint(f, (0.0, 1.0), x),
    "check_gradients": lambda f: xp.testing.check_gradients(f, [x]),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_function_that_returns_none_is_asked_for_its_return(name):
    with pytest.raises(TypeError, match=r"is its `return` missing\?"):
        CALLS[name](without_return)


@pytest.mark.parametrize("name", ["jacobian", "jacfwd", "jacrev", "vjp", "jvp", "linearize"])
def test_a_tuple_with_other_results_leads_to_has_aux(name):
    def pair(x):
        return 2.0 * x, "a note"

    with pytest.raises(TypeError, match=f"{name}: .*pass has_aux=True"):
        CALLS[name](pair)


@pytest.mark.parametrize("name", ["minimize_scipy", "LBFGS"])
def test_minimizers_take_the_loss_alone(name):
    with pytest.raises(TypeError, match="return the loss alone from f"):
        CALLS[name](lambda *_: (xp.sum(x), x))
