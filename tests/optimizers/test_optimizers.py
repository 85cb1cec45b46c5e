"""Optimizers."""

import copy

import numpy as np
import pytest

import arraytape as xp
from arraytape import GradientTape, LostGradientError, TapeWarning, Variable, optimizers
from arraytape.optimizers import LBFGS, SGD, Adam, minimize_scipy
from arraytape.testing import storages
from helpers.descents import descend, near, rosenbrock


# --- the rules ------------------------------------------------------------------------------------
def test_case_54_plain_descent():
    v = Variable(2.0)
    assert descend(SGD(0.25), v, 5, lambda v: 2.0 * v) == [4.0, 3.0, 2.0, 1.0, 0.0]


def test_case_54_descent_through_a_rule_of_ones_own():
    @xp.custom_gradient
    def multiply(x, y):
        return x * y, lambda dz: (dz * y, dz * x)

    v, two = Variable(2.0), xp.asarray(2.0)
    losses = descend(SGD(0.25), v, 5, lambda v: multiply(v.value(), two))
    assert losses == [4.0, 3.0, 2.0, 1.0, 0.0]


def test_case_52_a_gradient_passes_through_assign():
    v, z = Variable(0.0), xp.asarray(3.0)
    with GradientTape() as tape:
        tape.watch(z)
        y = xp.grad_pass_through(v.assign)(z**2)
    near(tape.gradient(y, z), 6.0)
    near(v, 9.0)


def test_momentum_is_that_of_keras():
    v, velocity, expected = Variable([1.0, -2.0]), 0.0, np.asarray([1.0, -2.0])
    descend(SGD(0.1, momentum=0.9), v, 4, lambda v: xp.sum(v**4))
    for _ in range(4):
        velocity = 0.9 * velocity - 0.1 * 4.0 * expected**3
        expected = expected + velocity
    near(v, expected)


def test_adam_is_algorithm_1_with_the_epsilon_of_tensorflow():
    v, m, s, expected = Variable([1.0, -2.0, 1e-9]), 0.0, 0.0, np.asarray([1.0, -2.0, 1e-9])
    descend(Adam(0.1, 0.8, 0.99, 1e-3), v, 6, lambda v: xp.sum(v**2))
    for t in range(1, 7):
        g = 2.0 * expected
        m, s = 0.8 * m + 0.2 * g, 0.99 * s + 0.01 * g**2
        scale = 0.1 * np.sqrt(1 - 0.99**t) / (1 - 0.8**t)
        expected = expected - scale * m / (np.sqrt(s) + 1e-3)
    near(v, expected)


@pytest.mark.parametrize("make", [lambda: SGD(0.05, 0.5), lambda: Adam(0.1)], ids=["SGD", "Adam"])
def test_complex_variables_descend(make):
    v = Variable(2.0 + 1.0j)
    descend(make(), v, 300, lambda v: xp.abs(v - (1.0 + 3.0j)) ** 2)
    near(v, 1.0 + 3.0j, 1e-4)


@pytest.mark.parametrize("make", [lambda: SGD(0.05, 0.5), lambda: Adam(0.1)], ids=["SGD", "Adam"])
def test_single_precision_stays_single(make):
    v, optimizer = Variable([1.0], dtype=xp.float32), make()
    descend(optimizer, v, 3, lambda v: xp.sum(v**2))
    assert {x.dtype.name for slots in optimizer.slots.values() for x in slots} == {"float32"}
    assert v.dtype == xp.float32


def test_the_learning_rate_is_a_variable():
    v, optimizer = Variable(1.0), SGD(0.5)
    optimizer.learning_rate = 0.25
    assert isinstance(optimizer.learning_rate, Variable)
    near(optimizer.learning_rate, 0.25)
    descend(optimizer, v, 1, lambda v: 1.0 * v)
    near(v, 0.75)
    optimizer.learning_rate.assign(0.5)
    descend(optimizer, v, 1, lambda v: 1.0 * v)
    near(v, 0.25)
    assert int(optimizer.iterations) == 2


def test_the_state_consists_of_variables():
    a, b = Variable([1.0, 2.0], name="a"), Variable(1.0 + 1.0j, name="b")
    optimizer = Adam()
    optimizer.build([a, b])
    optimizer.build([b])
    state = optimizer.named_variables()
    assert [*state] == [
        "_learning_rate", "iterations", "slots.mean.0", "slots.mean.1", "slots.square.0",
        "slots.square.1",
    ]  # fmt: skip
    assert optimizer.trainable_variables == ()
    assert state["slots.mean.1"].name == "b/adam/mean"
    assert state["slots.mean.1"].dtype == np.complex128
    assert state["slots.square.1"].dtype == np.float64
    assert all(variable is not a for variable in optimizer.variables)


def test_an_optimizer_of_ones_own_has_slots_and_an_update():
    class Signs(optimizers.Optimizer):
        slot_names = ("seen",)

        def update(self, g, variable, slots, rate, step):
            slots[0].assign_add(xp.abs(g))
            variable.assign_sub(rate * xp.sign(g))

    v, optimizer = Variable([1.0, -2.0]), Signs(0.5)
    descend(optimizer, v, 2, lambda v: xp.sum(v**2))
    near(v, [0.0, -1.0])
    near(optimizer.slots["seen"][0], [3.0, 7.0])
    with pytest.raises(NotImplementedError, match=r"Optimizer has no update"):
        optimizers.Optimizer(0.1).apply_gradients([(ONE, Variable(1.0))])


def test_variables_may_come_in_another_order_and_later():
    a, b, c = (Variable(1.0, name=name) for name in "abc")
    optimizer = SGD(1.0, momentum=0.5)
    one, two = xp.asarray(1.0), xp.asarray(2.0)
    optimizer.apply_gradients([(one, a), (two, b)])
    optimizer.apply_gradients([(two, b), (one, c), (one, a)])
    near(a, 1.0 - 1.0 - 1.5)
    near(b, 1.0 - 2.0 - 3.0)
    near(c, 0.0)
    near(optimizer.slots["velocity"], [-1.5, -3.0, -1.0])


def test_a_deep_copy_goes_its_own_way():
    v = Variable(1.0)
    pair = {"v": v, "optimizer": SGD(1.0, momentum=0.5)}
    pair["optimizer"].apply_gradients([(xp.asarray(1.0), v)])
    other = copy.deepcopy(pair)
    other["optimizer"].apply_gradients([(xp.asarray(1.0), other["v"])])
    near(other["v"], -1.5)
    near(v, 0.0)
    assert len(other["optimizer"].slots["velocity"]) == 1


def test_updates_are_not_recorded():
    v, optimizer = Variable([1.0, 2.0]), Adam(0.1)
    with GradientTape(persistent=True) as tape:
        x = v * 1.0
        g = x * 2.0
        before = len(tape._recording.records)
        optimizer.apply_gradients([(g, v)])
    assert len(tape._recording.records) == before
    assert tape.watched_variables() == (v,)


# --- None and what does not fit -------------------------------------------------------------------
def test_case_55_a_none_gradient_is_skipped_with_a_warning():
    v, w = Variable(1.0, name="fed"), Variable(1.0, name="hungry")
    with pytest.warns(TapeWarning, match="None for 'hungry'") as caught:
        SGD(0.1).apply_gradients([(xp.asarray(1.0), v), (None, w)])
    assert caught[0].filename == __file__
    near(v, 0.9)
    near(w, 1.0)


def test_case_55_no_gradients_at_all_are_an_error():
    v, optimizer = Variable(1.0, name="hungry"), SGD(0.1)
    with pytest.raises(ValueError, match="No gradients provided for any variable: 'hungry'"):
        optimizer.apply_gradients([(None, v)])
    with pytest.raises(ValueError, match="No gradients provided for any variable: there are no"):
        optimizer.apply_gradients([])
    assert int(optimizer.iterations) == 0


ONE = xp.asarray(1.0)


@pytest.mark.parametrize(
    ("pairs", "error", "says"),
    [
        (lambda v: [(xp.ones(3), v)], ValueError, r"sgd: .*float64\(3,\).*'v', float64\(2,\)"),
        (lambda v: [(ONE, v)], ValueError, r"float64\(\) does not fit the Variable 'v'"),
        (lambda v: [(xp.ones((1, 2)), v)], ValueError, r"\(1, 2\)"),
        (lambda v: [(xp.ones(2, dtype=xp.complex128), v)], ValueError, "complex128.*'v'"),
        (lambda v: [(xp.ones(2, dtype=xp.int64), v)], ValueError, "int64.*'v'"),
        (
            lambda v: [(xp.ones(2, device=storages.hostile().devices()[0]), v)],
            ValueError,
            "hostile",
        ),
        (lambda v: [(xp.ones(2), v), (xp.ones(2), v)], ValueError, "twice among 'other', 'v', 'v'"),
        (lambda v: [(xp.ones(2), v), (None, v)], ValueError, "twice"),
        (lambda v: [(v, xp.ones(2))], TypeError, "only a Variable.*comes second"),
        (lambda v: [(xp.ones(2), None)], TypeError, "only a Variable can be updated, got NoneType"),
        (lambda v: [(np.ones(2), v)], TypeError, "gradient of 'v' must be an Array.*ndarray"),
        (lambda v: [(2.0, v)], TypeError, "gradient of 'v' must be an Array or None, got float"),
        (lambda v: [v], TypeError, r"\(gradient, Variable\) pairs, got Variable"),
        (lambda v: [(xp.ones(2), v, v)], TypeError, "pairs, got"),
        (lambda v: xp.ones(2), TypeError, "pairs, got"),
        (lambda v: None, TypeError, "pairs, got NoneType"),
        (lambda v: 3.0, TypeError, "pairs, got float"),
    ],
)
def test_what_does_not_fit_changes_nothing(pairs, error, says):
    v, other = Variable([1.0, 2.0], name="v"), Variable(1.0, name="other")
    optimizer = SGD(0.1, momentum=0.5)
    given = pairs(v)
    with pytest.raises(error, match=says):
        optimizer.apply_gradients([(ONE, other), *given] if isinstance(given, list) else given)
    near(v, [1.0, 2.0])
    near(other, 1.0)
    assert int(optimizer.iterations) == 0
    assert optimizer.slots == {"velocity": []}


@pytest.mark.parametrize(
    ("act", "error", "says"),
    [
        (lambda: SGD(-0.1), ValueError, r"learning_rate must lie in \[0.0, inf\), got -0.1"),
        (lambda: SGD("fast"), TypeError, "learning_rate must be a number, got str"),
        (lambda: SGD("0.1"), TypeError, "learning_rate must be a number, got str"),
        (lambda: SGD(float("nan")), TypeError, "learning_rate must be a number"),
        (lambda: SGD(0.1, momentum=1.0), ValueError, "SGD: momentum"),
        (lambda: Adam(beta_1=1.5), ValueError, "Adam: beta_1"),
        (lambda: Adam(beta_2=None), TypeError, "Adam: beta_2 must be a number"),
        (lambda: Adam(epsilon=-1e-7), ValueError, "Adam: epsilon"),
        (lambda: setattr(SGD(), "learning_rate", None), TypeError, "learning_rate"),
        (lambda: SGD().build([ONE]), TypeError, "takes Variables"),
        (lambda: LBFGS(max_iterations=0), ValueError, "max_iterations must be at least 1"),
        (lambda: LBFGS(max_iterations=2.5), TypeError, "max_iterations must be an integer"),
        (lambda: LBFGS(tolerance=-1.0), ValueError, "tolerance"),
        (lambda: LBFGS().minimize(lambda: ONE, [ONE]), TypeError, "takes Variables"),
        (lambda: LBFGS().minimize(lambda: ONE, []), ValueError, "no elements"),
        (lambda: LBFGS().minimize(lambda: ONE, [Variable(1.0)]), ValueError, "not depend on x0"),
        (lambda: LBFGS().minimize(None, [V]), TypeError, "loss must be a function, got NoneType"),
        (lambda: LBFGS().minimize(lambda: ONE, 3), TypeError, "several Variables, got int 3"),
        (lambda: minimize_scipy(rosenbrock, ONE, method=3), TypeError, "method must be a name"),
        (lambda: minimize_scipy(3, ONE), TypeError, "f must be a function, got int"),
        (lambda: minimize_scipy(rosenbrock, None), TypeError, "takes Arrays, got None"),
        (lambda: minimize_scipy(rosenbrock, "x"), TypeError, "takes Arrays, got str"),
        (lambda: minimize_scipy(rosenbrock, []), ValueError, "no elements"),
        (lambda: minimize_scipy(rosenbrock, xp.ones((0,))), ValueError, "no elements"),
        (lambda: minimize_scipy(rosenbrock, xp.asarray([1, 2])), TypeError, "int64.*no gradient"),
        (lambda: minimize_scipy(lambda x: x, xp.ones(2)), ValueError, "one real number"),
        (lambda: minimize_scipy(lambda x: x * 1j, ONE), ValueError, "one real number"),
        (lambda: minimize_scipy(lambda x: 1.0, ONE), TypeError, "must return an Array, got float"),
        (
            lambda: minimize_scipy(lambda x: None, ONE),
            TypeError,
            "return the loss alone from f, .*returned None",
        ),
        (lambda: minimize_scipy(lambda x: ONE, ONE), ValueError, "does not depend on x0"),
        (lambda: minimize_scipy(lambda x: x, ONE, jac=True), TypeError, "jac is computed by tape"),
        (
            lambda: minimize_scipy(lambda x: x, ONE, method="best"),
            ValueError,
            "Unknown solver best",
        ),
        (lambda: minimize_scipy(lambda x: x[0], [V, V]), ValueError, "in x0 twice"),
    ],
)
def test_what_does_not_fit_is_said(act, error, says):
    with pytest.raises(error, match=says):
        act()


V = Variable(1.0)


def test_a_value_that_left_the_tape_is_said():
    with pytest.raises(LostGradientError, match=r"np.asarray\(\)"):
        minimize_scipy(lambda x: xp.asarray(np.asarray(x) ** 2), ONE)


def test_minimize_takes_the_step_of_tape_and_apply_gradients():
    values = []
    for way in range(3):
        v = Variable([1.0, -2.0])
        optimizer = optimizers.Adam(0.1)
        for _ in range(3):
            if way == 0:
                optimizer.minimize(lambda v=v: xp.sum(v**2), [v])
                continue
            with xp.GradientTape() as tape:
                loss = xp.sum(v**2)
            if way == 1:
                optimizer.minimize(loss, [v], tape=tape)
            else:
                optimizer.apply_gradients([(tape.gradient(loss, v), v)])
        values.append(np.asarray(v))
    np.testing.assert_array_equal(values[0], values[2])
    np.testing.assert_array_equal(values[1], values[2])


def test_minimize_says_what_it_needs():
    v = Variable(1.0)
    with pytest.raises(TypeError, match="a function without arguments"):
        optimizers.SGD().minimize(v * v, [v])
    with pytest.raises(TypeError, match="Variable"):
        optimizers.SGD().minimize(lambda: v * v, [1.0])
    with pytest.raises(ValueError, match="No gradients provided"):
        optimizers.SGD().minimize(lambda: xp.asarray(1.0), [v])
