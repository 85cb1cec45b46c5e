"""Variables under vmap: a shared one keeps one value, one that f makes has a value for each example."""

import numpy as np
import pytest

import arraytape as xp
from arraytape import optimizers

X = np.asarray([[1.0, -2.0], [0.5, 3.0], [2.0, 1.0]])
WRITES = {
    "assign": lambda v, x: v.assign(x),
    "assign_add": lambda v, x: v.assign_add(x),
    "assign_sub": lambda v, x: v.assign_sub(x),
    "operator": lambda v, x: v.__imul__(x),
    "key": lambda v, x: v.__setitem__(0, x[1]),
    "slice": lambda v, x: v.__setitem__(slice(None), x),
    "scatter": lambda v, x: v.scatter_add(xp.IndexedSlices(values=x[:1], indices=[1])),
    "scatter_nd": lambda v, x: v.scatter_nd_update([[1]], x[:1]),
    "optimizer": lambda v, x: optimizers.Adam(0.1).apply_gradients([(x, v)]),
}  # fmt: skip


@pytest.mark.parametrize("write", WRITES)
def test_a_shared_variable_refuses_values_of_examples_and_keeps_its_own(write):
    v = xp.Variable([1.0, 2.0], name="state")

    def f(x):
        WRITES[write](v, x)
        return x * v

    with pytest.raises(TypeError, match=r"assign it outside.*the Variable 'state'"):
        xp.vmap(f)(xp.asarray(X))
    np.testing.assert_array_equal(np.asarray(v), [1.0, 2.0])
    with pytest.raises(TypeError, match="assign it outside"):
        xp.vmap(lambda x: xp.vmap(lambda s: f(x * s))(xp.ones(2)))(xp.asarray(X))
    WRITES[write](v, xp.asarray(X[0]))  # outside all is as before


@pytest.mark.parametrize("write", WRITES)
def test_a_variable_that_the_function_makes_is_as_in_a_loop(write):
    def f(x):
        v = xp.Variable([1.0, 2.0])
        WRITES[write](v, x)
        WRITES[write](v, 2.0 * x)
        return x * v

    expected = [np.asarray(f(xp.asarray(x))) for x in X]
    np.testing.assert_allclose(np.asarray(xp.vmap(f)(xp.asarray(X))), expected, rtol=1e-12)


def test_a_variable_of_the_outer_vmap_refuses_values_of_the_inner_one():
    def outer(x):
        v = xp.Variable(0.0)
        v.assign(xp.sum(x))
        return xp.vmap(lambda s: v.assign(s) * 1.0)(x)

    with pytest.raises(TypeError, match="assign it outside"):
        xp.vmap(outer)(xp.asarray(X))


def test_values_that_all_examples_share_may_be_assigned():
    v = xp.Variable(0.0)
    found = xp.vmap(lambda x: x * v.assign_add(2.0))(xp.asarray(X))
    np.testing.assert_array_equal(np.asarray(found), 2.0 * X)
    assert float(v) == 2.0


@pytest.mark.parametrize("optimizer", [optimizers.SGD, optimizers.Adam])
def test_training_inside_the_function_is_as_in_a_loop(optimizer):
    def f(x):
        v, steps = xp.Variable([0.5, -0.5]), optimizer(0.1)
        for _ in range(3):
            with xp.GradientTape() as tape:
                loss = xp.sum((v * v - x) ** 2)
            steps.apply_gradients([(tape.gradient(loss, v), v)])
        return v.value()

    expected = [np.asarray(f(xp.asarray(x))) for x in X]
    np.testing.assert_allclose(np.asarray(xp.vmap(f)(xp.asarray(X))), expected, rtol=1e-12)
