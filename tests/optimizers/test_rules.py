"""The rules of optimizers against their formulas in NumPy, over 100 steps, eagerly and replayed."""

import copy
import pickle

import numpy as np
import pytest

import arraytape as xp
from arraytape import GradientTape, Variable, checkpoint, nn, optimizers
from arraytape.optimizers import SGD, Adagrad, Adam, AdamW, Lion, RMSprop, schedules

START = np.array([1.5, -0.8, 2.0])
CENTER = np.array([0.3, 1.0, -2.0])
STEPS = 100


def slope(x):
    """The gradient of the sum of (x - center)**2 + cos(3 x)."""
    return 2.0 * (x - CENTER) - 3.0 * np.sin(3.0 * x)


def rates(schedule):
    return [float(schedule(step)) if callable(schedule) else schedule for step in range(STEPS)]


def sgd(schedule, x, momentum=0.0, nesterov=False, decay=0.0, clip=lambda g: g):
    velocity = np.zeros_like(x)
    for rate in rates(schedule):
        g = clip(slope(x))
        x = x - rate * decay * x
        velocity = momentum * velocity - rate * g
        x = x + (momentum * velocity - rate * g if nesterov else velocity)
    return x


def adam(schedule, x, decay=0.0, amsgrad=False, b1=0.9, b2=0.999, clip=lambda g: g):
    m = s = most = 0.0
    for t, rate in enumerate(rates(schedule), 1):
        g = clip(slope(x))
        x = x - rate * decay * x
        m, s = b1 * m + (1 - b1) * g, b2 * s + (1 - b2) * g**2
        most = np.maximum(most, s)
        root = np.sqrt(most if amsgrad else s)
        x = x - rate * np.sqrt(1 - b2**t) / (1 - b1**t) * m / (root + 1e-7)
    return x


def rmsprop(schedule, x, rho=0.9, momentum=0.0, centered=False):
    s = mean = velocity = 0.0
    for rate in rates(schedule):
        g = slope(x)
        s, mean = rho * s + (1 - rho) * g**2, rho * mean + (1 - rho) * g
        change = rate * g / np.sqrt((s - mean**2 if centered else s) + 1e-7)
        velocity = momentum * velocity + change
        x = x - velocity
    return x


def adagrad(schedule, x):
    total = 0.1
    for rate in rates(schedule):
        g = slope(x)
        total = total + g**2
        x = x - rate * g / np.sqrt(total + 1e-7)
    return x


def lion(schedule, x, decay=0.0):
    mean = np.zeros_like(x)
    for rate in rates(schedule):
        g = slope(x)
        x = x - rate * decay * x
        x = x - rate * np.sign(0.9 * mean + 0.1 * g)
        mean = 0.99 * mean + 0.01 * g
    return x


def by_norm(g):
    return g * min(1.0, 1.5 / np.linalg.norm(g))


def by_value(g):
    return np.clip(g, -0.7, 0.7)


COSINE = schedules.CosineDecay(0.0, 80, alpha=0.1, warmup_target=0.02, warmup_steps=10)
FALLING = schedules.ExponentialDecay(0.02, 10, 0.9)
STEPWISE = schedules.PiecewiseConstantDecay([30, 60], [0.03, 0.01, 0.003])
RULES = {
    "SGD": (lambda: SGD(0.01), lambda: sgd(0.01, START)),
    "momentum": (lambda: SGD(FALLING, 0.9), lambda: sgd(FALLING, START, 0.9)),
    "Nesterov": (lambda: SGD(0.01, 0.9, nesterov=True), lambda: sgd(0.01, START, 0.9, True)),
    "Nesterov with a schedule, decay and clipping": (
        lambda: SGD(STEPWISE, 0.8, nesterov=True, weight_decay=0.1, clipnorm=1.5),
        lambda: sgd(STEPWISE, START, 0.8, True, 0.1, by_norm),
    ),
    "Adam": (lambda: Adam(0.02), lambda: adam(0.02, START)),
    "Adam with a schedule": (lambda: Adam(COSINE), lambda: adam(COSINE, START)),
    "AMSGrad": (lambda: Adam(0.02, amsgrad=True), lambda: adam(0.02, START, amsgrad=True)),
    "AdamW": (lambda: AdamW(0.02), lambda: adam(0.02, START, 0.004)),
    "AdamW with a schedule and clipping": (
        lambda: AdamW(COSINE, 0.3, clipvalue=0.7), lambda: adam(COSINE, START, 0.3, clip=by_value)
    ),
    "AdamW, global norm": (
        lambda: AdamW(FALLING, 0.1, 0.8, 0.99, global_clipnorm=1.5),
        lambda: adam(FALLING, START, 0.1, b1=0.8, b2=0.99, clip=by_norm),
    ),
    "RMSprop": (lambda: RMSprop(0.01), lambda: rmsprop(0.01, START)),
    "RMSprop, all of it": (
        lambda: RMSprop(STEPWISE, 0.8, 0.5, centered=True),
        lambda: rmsprop(STEPWISE, START, 0.8, 0.5, True),
    ),
    "Adagrad": (lambda: Adagrad(FALLING), lambda: adagrad(FALLING, START)),
    "Lion": (lambda: Lion(COSINE, weight_decay=0.1), lambda: lion(COSINE, START, 0.1)),
}  # fmt: skip


def step_of(optimizer, v):
    def step():
        with GradientTape() as tape:
            loss = xp.sum((v - xp.asarray(CENTER, dtype=v.dtype)) ** 2 + xp.cos(3.0 * v))
        optimizer.apply_gradients([(tape.gradient(loss, v), v)])

    return step


@pytest.mark.parametrize("name", RULES)
def test_a_hundred_steps_are_those_of_the_formula_and_replays_are_the_same(name):
    make, formula = RULES[name]
    found = []
    for wrap in (lambda f: f, xp.function):
        v, optimizer = Variable(START), make()
        optimizer.build([v])
        step = wrap(step_of(optimizer, v))
        for _ in range(STEPS):
            step()
        found.append([np.asarray(x) for x in (v, *optimizer.variables)])
        assert int(optimizer.iterations) == STEPS
        if wrap is xp.function:
            assert step.counts["replayed"] >= STEPS - 3, step.reasons
    np.testing.assert_allclose(found[0][0], formula(), rtol=1e-11, atol=1e-13)
    for a, b in zip(*found, strict=True):  # but for last bits, which replays may change
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("name", RULES)
def test_single_precision_stays_single(name):
    v, optimizer = Variable(START, dtype=xp.float32), RULES[name][0]()
    step = step_of(optimizer, v)
    for _ in range(3):
        step()
    assert v.dtype == xp.float32
    assert {x.dtype.name for slots in optimizer.slots.values() for x in slots} <= {"float32"}


@pytest.mark.parametrize("name", RULES)
def test_a_run_goes_on_from_a_checkpoint_or_a_pickle(name, tmp_path):
    v, optimizer = Variable(START), RULES[name][0]()
    step = step_of(optimizer, v)
    for _ in range(15):
        step()
    checkpoint.save(tmp_path / "run.safetensors", {"v": v, "optimizer": optimizer})
    w, other = Variable(np.zeros(3)), RULES[name][0]()
    other.build([w])
    checkpoint.load(tmp_path / "run.safetensors", {"v": w, "optimizer": other})
    runs = [(w, other), pickle.loads(pickle.dumps((v, optimizer))), copy.deepcopy((v, optimizer))]
    for _ in range(5):
        step()
    for one, its in runs:
        again = step_of(its, one)
        for _ in range(5):
            again()
        np.testing.assert_array_equal(np.asarray(one), np.asarray(v))


@pytest.mark.parametrize("at", range(1, 7))
@pytest.mark.parametrize(
    "name",
    [
        "Nesterov with a schedule, decay and clipping",
        "AdamW with a schedule and clipping",
        "RMSprop, all of it",
        "Lion",
    ],
)
def test_a_step_that_is_interrupted_changes_nothing(name, at, monkeypatch):
    u, v, optimizer = Variable(START), Variable(CENTER), RULES[name][0]()
    g = xp.asarray([0.5, -3.0, 1.0])
    optimizer.apply_gradients([(g, u), (g, v)])
    state = [u, v, *optimizer.variables]
    before, calls = [np.asarray(x).copy() for x in state], []
    assign, replace = Variable.assign, Variable._replace

    def counted(method):
        def call(*arguments):
            calls.append(1)
            if len(calls) == at:
                raise KeyboardInterrupt
            return method(*arguments)

        return call

    monkeypatch.setattr(Variable, "assign", counted(assign))
    monkeypatch.setattr(Variable, "_replace", counted(replace))
    with pytest.raises(KeyboardInterrupt):
        optimizer.apply_gradients([(g, u), (g, v)])
    for x, old in zip(state, before, strict=True):
        np.testing.assert_array_equal(np.asarray(x), old)


@pytest.mark.parametrize(
    "make",
    [lambda: RMSprop(0.1, centered=True), lambda: Adagrad(0.5), lambda: Adam(0.1, amsgrad=True),
     lambda: AdamW(0.1, 0.0, clipnorm=5.0), lambda: SGD(0.05, 0.5, nesterov=True)],
)  # fmt: skip
def test_complex_variables_descend(make):
    v, optimizer = Variable(2.0 + 1.0j), make()
    for _ in range(300):
        with GradientTape() as tape:
            loss = xp.abs(v - (1.0 + 3.0j)) ** 2
        optimizer.apply_gradients([(tape.gradient(loss, v), v)])
    assert abs(complex(v) - (1.0 + 3.0j)) < 0.1


# --- schedules, weight decay, clipping --------------------------------------------------------------
def test_the_rate_of_a_schedule_is_that_of_the_count_before_the_step():
    v, optimizer = Variable(10.0), SGD(lambda step: 1.0 / (1.0 + step))
    for _ in range(3):
        optimizer.apply_gradients([(xp.asarray(1.0), v)])
    np.testing.assert_allclose(float(v), 10.0 - 1.0 - 1 / 2 - 1 / 3)
    np.testing.assert_allclose(float(optimizer.learning_rate), 1 / 3)
    with pytest.raises(TypeError, match="learning rate follows"):
        optimizer.learning_rate = 0.5


@pytest.mark.parametrize("rate", [lambda step: -1.0, lambda step: xp.ones(2), lambda step: "a"])
def test_a_schedule_that_gives_no_rate_is_an_error(rate):
    with pytest.raises((TypeError, ValueError), match="learning_rate of the schedule"):
        SGD(rate)


def test_weight_decay_leaves_out_what_is_excluded():
    layer = nn.Dense(2, seed=0)
    layer(xp.ones((1, 3)))
    gamma = Variable([1.0, 1.0], name="norm/gamma")
    variables = [*layer.variables, gamma]
    optimizer = SGD(0.5, weight_decay=0.1)
    optimizer.exclude_from_weight_decay([layer.bias], var_names=["gamma"])
    for one in (optimizer, pickle.loads(pickle.dumps((optimizer, variables)))[0]):
        assert [one._decays(gamma), one.weight_decay] == [False, 0.1]
    layer.bias.assign([1.0, 1.0])
    kernel = np.asarray(layer.kernel)
    optimizer.apply_gradients([(xp.zeros_like(v), v) for v in variables])
    np.testing.assert_allclose(np.asarray(layer.kernel), 0.95 * kernel)
    assert layer.bias.tolist() == gamma.tolist() == [1.0, 1.0]


def test_the_global_norm_is_that_of_all_gradients():
    u, v = Variable([0.0]), Variable(0.0)
    pairs = [(xp.asarray([3.0]), u), (xp.asarray(4.0), v)]
    SGD(1.0, global_clipnorm=1.0).apply_gradients(pairs)
    np.testing.assert_allclose([u[0], v], [-0.6, -0.8])


@pytest.mark.parametrize(
    ("act", "error", "says"),
    [
        (lambda: SGD(clipnorm=1.0, clipvalue=1.0), ValueError, "clipnorm and clipvalue"),
        (lambda: Adam(clipnorm=-1.0), ValueError, "clipnorm must lie in"),
        (lambda: AdamW(weight_decay="a"), TypeError, "weight_decay must be a number"),
        (lambda: RMSprop(rho=1.0), ValueError, "rho must lie in"),
        (lambda: SGD(nesterov=1), TypeError, "nesterov must be True or False"),
        (lambda: SGD(0.1, decay=0.1), TypeError, "decay"),
        (lambda: SGD().exclude_from_weight_decay([1.0]), TypeError, "takes Variables, got float"),
        (lambda: SGD().exclude_from_weight_decay(var_names=[1]), TypeError, "are texts, got int"),
        (lambda: optimizers.Optimizer("a"), TypeError, "learning_rate must be a number"),
    ],
)
def test_what_does_not_fit_is_said(act, error, says):
    with pytest.raises(error, match=says):
        act()
