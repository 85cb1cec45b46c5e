"""What no outer tape follows is computed on raw data in a gradient under that tape."""

import numpy as np
import pytest

import arraytape as xp
from arraytape import GradientTape
from arraytape._record.plan import plan_of


def names(tape):
    return [plan_of(record).name for record in tape._recording.records]


def array(*shape):
    return xp.asarray(np.random.default_rng(3).standard_normal(shape))


@pytest.fixture
def calls(monkeypatch):
    """The public functions of the namespace that a gradient's rules ask for."""
    seen = []

    class Namespace:
        def __getattr__(self, name):
            seen.append(name)
            return getattr(xp, name)

    monkeypatch.setattr("arraytape._tape.data.namespace", Namespace)
    return seen


def test_a_gradient_of_what_no_outer_tape_follows_runs_on_raw_data(calls, near):
    x = array(3, 4)
    with GradientTape() as outer:
        outer.watch(array(2))
        with GradientTape() as inner:
            inner.watch(x)
            y = xp.mean(xp.sum(xp.exp(x) * x, axis=0))
        g = inner.gradient(y, x)
    assert names(outer) == calls == []
    near(g, np.exp(x.to_numpy()) * (1 + x.to_numpy()) / 4)


def test_the_linear_end_of_a_loss_is_computed_on_raw_data(calls):
    x = array(3, 4)
    with GradientTape() as outer:
        outer.watch(x)
        with GradientTape() as inner:
            inner.watch(x)
            y = xp.mean(xp.sum(x, axis=0) - xp.sum(2.0 * x, axis=0))
        g = inner.gradient(y, x)
    assert names(outer) == ["sum", "multiply", "sum", "subtract", "mean"]
    assert calls == []
    assert outer.gradient(g, x) is None


@pytest.mark.parametrize("shape", [(3, 4), (80, 90)])
def test_its_second_derivative_is_right_where_the_constants_end(shape, near):
    x = array(*shape)
    with GradientTape() as outer:
        outer.watch(x)
        with GradientTape() as inner:
            inner.watch(x)
            row = xp.sum(x**3, axis=0)
            y = xp.mean(row) + xp.sum(row)
        g = inner.gradient(y, x)
    value, weight = x.to_numpy(), 1 + 1 / shape[1]
    near(g, weight * 3 * value**2)
    near(outer.gradient(g, x), weight * 6 * value)


@pytest.mark.parametrize("shape", [(4,), (90, 80)])
def test_an_output_gradient_may_be_written_to_afterwards(shape, near):
    x, seed = array(*shape), xp.asarray(np.full(shape, 2.0))
    with GradientTape() as outer:
        outer.watch(x)
        with GradientTape(persistent=True) as inner:
            inner.watch(x)
            y = x**3
            z = y - 1.0  # passes its cotangent on as it is
            w = xp.broadcast_to(xp.reshape(y, (1, *shape)), (2, *shape)) + 0.0
        g = inner.gradient(z, x, output_gradients=seed)
        h = inner.gradient(w, x, output_gradients=xp.stack([seed, seed]))
        seed[...] = 7.0
        total = xp.sum(g) + xp.sum(h)
    near(outer.gradient(total, x), (2 + 4) * 6 * x.to_numpy())


def test_gradients_are_arrays_of_their_own(near):
    x, b = array(5), array(5)
    with GradientTape() as outer:
        outer.watch(x)
        with GradientTape() as inner:
            inner.watch([x, b])
            y = x + b
            z = xp.sum(y)
        gx, gb, gy = inner.gradient(z, [x, b, y])
        gx += x
        gb[0] = 5.0
    near(gy, np.ones(5))
    near(gx, 1 + x.to_numpy())
    near(gb, [5.0, 1, 1, 1, 1])
    near(outer.gradient(gx, x), np.ones(5))


def test_scalars_of_numpy_in_a_rule_become_arrays(near):
    x = xp.asarray(0.5)
    with GradientTape() as outer:
        outer.watch(x)
        with GradientTape() as inner:
            inner.watch(x)
            parts = xp.asarray([0.0, 0.0]) * 1.0
            parts[0] = xp.sin(x)
            y = xp.sum(3.0 * (2.0 * parts))
        g = inner.gradient(y, x)
    near(g, 6 * np.cos(0.5))
    near(outer.gradient(g, x), -6 * np.sin(0.5))


def test_an_accumulator_outside_has_its_tangents(near):
    x = array(3, 4)
    with xp.ForwardAccumulator(x, xp.ones_like(x)) as forward:
        with GradientTape() as inner:
            inner.watch(x)
            y = xp.mean(xp.sum(x**3, axis=0))
        g = inner.gradient(y, x)
    near(forward.jvp(g), 6 * x.to_numpy() / 4)


def test_a_sums_gradient_is_one_record_and_no_views():
    x = array(3, 4)
    with GradientTape() as outer:
        outer.watch(x)
        with GradientTape() as inner:
            inner.watch(x)
            y = xp.sum(xp.sum(x, axis=1) ** 2)
        inner.gradient(y, x)
    assert names(outer)[-2:] == ["multiply", "sum_adjoint"]
