"""Learning rates by Keras's formulas, and what clipping does at the ends of the range."""

import math

import numpy as np
import pytest

import arraytape as xp
from arraytape import optimizers
from arraytape.optimizers import schedules

STEPS = np.arange(0, 45)


def restarts(step, t_mul, m_mul):
    length, top = 10.0, 1.0
    while step >= length:
        step, length, top = step - length, length * t_mul, top * m_mul
    return 0.2 * (0.9 * 0.5 * top * (1 + math.cos(math.pi * step / length)) + 0.1)


CASES = {
    "constant": (schedules.Constant(0.3), lambda s: 0.3),
    "exponential": (schedules.ExponentialDecay(0.2, 10, 0.5), lambda s: 0.2 * 0.5 ** (s / 10)),
    "stairs": (
        schedules.ExponentialDecay(0.2, 10, 0.5, staircase=True), lambda s: 0.2 * 0.5 ** (s // 10)
    ),
    "inverse": (schedules.InverseTimeDecay(0.2, 10, 0.5), lambda s: 0.2 / (1 + 0.5 * s / 10)),
    "piecewise": (
        schedules.PiecewiseConstantDecay([10, 30], [1.0, 0.5, 0.1]),
        lambda s: 1.0 if s <= 10 else 0.5 if s <= 30 else 0.1,
    ),
    "polynomial": (
        schedules.PolynomialDecay(0.2, 20, 0.01, 2.0),
        lambda s: 0.19 * (1 - min(s, 20) / 20) ** 2 + 0.01,
    ),
    "cycles": (
        schedules.PolynomialDecay(0.2, 20, 0.01, cycle=True),
        lambda s: 0.19 * (1 - s / (20 * max(math.ceil(s / 20), 1))) + 0.01,
    ),
    "cosine": (
        schedules.CosineDecay(0.2, 20, 0.1),
        lambda s: 0.2 * (0.9 * 0.5 * (1 + math.cos(math.pi * min(s, 20) / 20)) + 0.1),
    ),
    "warm-up": (
        schedules.CosineDecay(0.05, 20, 0.1, warmup_target=0.2, warmup_steps=8),
        lambda s: 0.05 + 0.15 * s / 8 if s < 8
        else 0.2 * (0.9 * 0.5 * (1 + math.cos(math.pi * min(s - 8, 20) / 20)) + 0.1),
    ),
    "restarts": (
        schedules.CosineDecayRestarts(0.2, 10, 2.0, 0.5, 0.1), lambda s: restarts(s, 2.0, 0.5)
    ),
    "restarts of one length": (
        schedules.CosineDecayRestarts(0.2, 10, 1.0, 0.5, 0.1), lambda s: restarts(s, 1.0, 0.5)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_schedule_is_its_formula_for_numbers_arrays_and_replays(name):
    schedule, formula = CASES[name]
    expected = [formula(int(step)) for step in STEPS]
    for steps in (xp.asarray(STEPS), STEPS):
        np.testing.assert_allclose(np.asarray(schedule(steps)), expected, rtol=1e-9)
    assert float(schedule(np.int64(7))) == float(schedule(7))
    replayed = xp.function(schedule)
    count = xp.Variable(0, trainable=False)
    for step in STEPS[:6]:
        count.assign(int(step))
        eager = schedule(int(step))
        assert eager.dtype == xp.float64
        np.testing.assert_allclose(float(replayed(count.value())), float(eager), rtol=1e-14)
    assert replayed.counts["replayed"] == 4
    assert schedule.variables == ()


def plateau_of_keras(values, factor, patience, cooldown, delta, least):
    """The rates after each value, as Keras's callback counts."""
    rate, best, wait, cooling, rates = 1.0, math.inf, 0, 0, []
    for value in values:
        if cooling > 0:
            cooling, wait = cooling - 1, 0
        if value < best - delta:
            best, wait = value, 0
        elif cooling == 0:
            wait += 1
            if wait >= patience and rate > least:
                rate, cooling, wait = max(rate * factor, least), cooldown, 0
        rates.append(rate)
    return rates


@pytest.mark.parametrize(
    "options", [(0.5, 2, 0, 1e-4, 0.0), (0.1, 1, 2, 0.05, 0.005), (0.5, 3, 1, 0.0, 0.1)]
)
@pytest.mark.parametrize("mode", ["min", "max"])
def test_a_rate_falls_on_a_plateau_eagerly_and_in_replays(options, mode):
    values = np.round(np.random.default_rng(3).uniform(0.0, 1.0, 40) + 1 / np.arange(1, 41), 2)
    expected = plateau_of_keras(values, *options)
    factor, patience, cooldown, delta, least = options
    for wrap in (lambda f: f, xp.function):
        plateau = schedules.ReduceLROnPlateau(1.0, factor, patience, mode, delta, cooldown, least)
        update, found = wrap(plateau.update), []
        for value in values if mode == "min" else -values:
            update(xp.asarray(value))
            found.append(float(plateau(0)))
        np.testing.assert_allclose(found, expected)
        if wrap is xp.function:
            assert update.counts["replayed"] == 38
    assert len(plateau.variables) == 4


def test_an_optimizer_follows_a_plateau_and_has_its_state():
    plateau = schedules.ReduceLROnPlateau(0.5, patience=1)
    optimizer, v = optimizers.SGD(plateau), xp.Variable(1.0)
    plateau.update(1.0)
    plateau.update(math.nan)
    optimizer.apply_gradients([(xp.asarray(1.0), v)])
    np.testing.assert_allclose(float(v), 0.95)
    assert "schedule.state.best" in optimizer.named_variables()


@pytest.mark.parametrize(
    ("act", "error", "says"),
    [
        (lambda: schedules.ExponentialDecay(0.1, 0, 0.5), ValueError, "decay_steps must be greater"),
        (lambda: schedules.ExponentialDecay(-0.1, 5, 0.5), ValueError, "initial_learning_rate"),
        (lambda: schedules.PiecewiseConstantDecay([1], [1.0]), ValueError, "1 boundaries need 2 values"),
        (lambda: schedules.PiecewiseConstantDecay([2, 1], [1, 1, 1]), ValueError, "must rise"),
        (lambda: schedules.CosineDecay(0.1, 10, warmup_steps=3), ValueError, "need a warmup_target"),
        (lambda: schedules.CosineDecayRestarts(0.1, 10, 0.5), ValueError, "t_mul"),
        (lambda: schedules.ReduceLROnPlateau(0.1, 1.0), ValueError, "less than 1"),
        (lambda: schedules.ReduceLROnPlateau(0.1, mode="auto"), ValueError, "no mode 'auto'"),
        (lambda: schedules.ReduceLROnPlateau(0.1).update([1.0]), TypeError, "takes a real number"),
        (lambda: schedules.Constant("a"), TypeError, "learning_rate must be a number"),
        (lambda: schedules.Constant(0.1)("a"), TypeError, "constant takes an Array, got str"),
        (lambda: schedules.LearningRateSchedule()(1), NotImplementedError, "no rate"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_said(act, error, says):
    with pytest.raises(error, match=says):
        act()


# --- clipping -------------------------------------------------------------------------------------
G = {"w": xp.asarray([[3.0, 0.0], [0.0, -4.0]]), "b": [None, xp.asarray([12.0], dtype=xp.float32)]}


def test_nestings_are_clipped_by_value_by_norm_and_all_together():
    by_value = optimizers.clip_by_value(G, -3.5, 2.0)
    assert by_value["w"].tolist() == [[2.0, 0.0], [0.0, -3.5]]
    by_norm = optimizers.clip_by_norm(G, 6.0)
    assert by_norm["w"].tolist() == G["w"].tolist()
    assert by_norm["b"][0] is None
    assert by_norm["b"][1].tolist() == [6.0]
    together, norm = optimizers.clip_by_global_norm(G, 6.5)
    assert float(norm) == float(optimizers.global_norm(G)) == 13.0
    np.testing.assert_allclose(np.asarray(together["w"]), np.asarray(G["w"]) / 2)
    assert together["b"][1].dtype == xp.float32
    same, _ = optimizers.clip_by_global_norm(G, 100.0)
    assert same["w"].tolist() == G["w"].tolist()


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_squares_that_no_float_holds_are_no_matter(scale):
    g = xp.asarray([3.0 * scale, 4.0 * scale], dtype=xp.float32)
    np.testing.assert_allclose(float(optimizers.global_norm(g)), 5.0 * scale, rtol=1e-6)
    clipped = optimizers.clip_by_norm(g, scale)
    np.testing.assert_allclose(np.asarray(clipped), [0.6 * scale, 0.8 * scale], rtol=1e-6)


def test_what_is_not_finite_makes_all_nan_and_nothing_has_no_norm():
    parts, norm = optimizers.clip_by_global_norm([xp.asarray([1.0]), xp.asarray(math.inf)], 1.0)
    assert math.isinf(norm)
    assert all(np.isnan(np.asarray(x)).all() for x in parts)
    assert np.isnan(np.asarray(optimizers.clip_by_norm(xp.asarray([1.0, math.nan]), 1.0))).all()
    assert float(optimizers.global_norm(xp.zeros((0, 2)))) == 0.0
    assert optimizers.clip_by_norm(xp.zeros(2), 1.0).tolist() == [0.0, 0.0]
    complex_norm = optimizers.clip_by_norm(xp.asarray([3.0 + 4.0j]), 1.0)
    np.testing.assert_allclose(np.asarray(complex_norm), [0.6 + 0.8j])


def test_clipping_has_derivatives():
    x = xp.asarray([3.0, 4.0])
    found = xp.jacobian(lambda g: optimizers.clip_by_norm(g, 1.0))(x)
    unit = np.array([0.6, 0.8])
    np.testing.assert_allclose(
        np.asarray(found), (np.eye(2) - np.outer(unit, unit)) / 5, atol=1e-15
    )
    zero = xp.jacobian(lambda g: optimizers.clip_by_norm(g, 1.0))(xp.zeros(2))
    np.testing.assert_array_equal(np.asarray(zero), np.eye(2))


@pytest.mark.parametrize(
    ("act", "error", "says"),
    [
        (lambda: optimizers.clip_by_value(G, 1.0, -1.0), ValueError, "is empty"),
        (lambda: optimizers.clip_by_value(xp.asarray(1j), 0, 1), TypeError, "have no order"),
        (lambda: optimizers.clip_by_norm([1.0], 1.0), TypeError, "clip_by_norm takes an Array"),
        (lambda: optimizers.clip_by_norm(G, -1.0), ValueError, "clip_norm must lie in"),
        (lambda: optimizers.clip_by_global_norm([None], 1.0), ValueError, "there is no Array"),
    ],
)
def test_what_cannot_be_clipped_is_said(act, error, says):
    with pytest.raises(error, match=says):
        act()
