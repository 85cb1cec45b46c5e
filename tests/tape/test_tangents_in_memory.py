"""Forward mode: which tangents have memory of their own."""

import numpy as np

import arraytape as xp
from helpers.peaks import peak_of


def test_a_tangent_that_an_op_computed_is_not_copied():
    n = 100_000
    x = xp.asarray(np.linspace(0.0, 1.0, n))
    v = xp.ones_like(x)

    def run():
        with xp.ForwardAccumulator(x, v) as accumulator:
            y = 2.0 * x
        return accumulator.jvp(y)

    # The primal's tangent, y, and its tangent.
    assert peak_of(run, warm=True) < 3.2 * 8 * n


def test_what_a_users_rule_gives_is_the_users():
    held = xp.asarray([5.0, 6.0])
    op = xp.define_op("held", lambda x, xp: x * 1.0, "elementwise", lambda t, x: held)
    x = xp.asarray([1.0, 2.0])
    with xp.ForwardAccumulator(x, xp.ones(2)) as accumulator:
        y = op(x)
    held[0] = 7.0
    np.testing.assert_array_equal(accumulator.jvp(y), [5.0, 6.0])
    accumulator.jvp(y)[1] = 8.0
    np.testing.assert_array_equal(held, [7.0, 6.0])


def test_tangents_that_ops_hand_on_are_apart():
    x, v = xp.asarray([0.5, 1.0]), xp.asarray([1.0, 2.0])
    with xp.ForwardAccumulator(x, v) as accumulator:
        y, z = x + 1.0, xp.tanh(x)
        u = z - 1.0
        y[0] = 5.0
        u[1] = 7.0
    slopes = [1 - np.tanh(0.5) ** 2, 2 * (1 - np.tanh(1.0) ** 2)]
    for one, expected in ((x, [1.0, 2.0]), (y, [0.0, 2.0]), (z, slopes), (u, [slopes[0], 0.0])):
        np.testing.assert_allclose(np.asarray(accumulator.jvp(one)), expected, rtol=1e-14)
