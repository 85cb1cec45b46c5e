"""The mode of a trace hears of each Array that is used, in whatever way: a trace function compares."""

import copy
import pickle
import sys

import numpy as np
import pytest

import arraytape as xp
from arraytape import nn, optimizers
from attack import replayed_calls, replayed_programs, replayed_state
from helpers.met_handles import checked_traces

pytestmark = pytest.mark.skipif(sys.gettrace() is not None, reason="a trace function is there")


@pytest.mark.parametrize("attack", [replayed_state, replayed_programs, replayed_calls])
def test_programs_use_no_array_unseen(attack, monkeypatch):
    with checked_traces(monkeypatch) as (traces, missed):
        for seed in range(3):
            attack.run(seed)
    assert len(traces) >= 3
    assert missed == []


@pytest.mark.filterwarnings("ignore")
def test_steps_of_training_use_no_array_unseen(monkeypatch):
    model, optimizer = (
        nn.Sequential([nn.Dense(4), nn.BatchNormalization(), nn.Dense(1)]),
        optimizers.Adam(0.1),
    )
    x = xp.asarray(np.random.default_rng(0).normal(size=(8, 3)))
    model(x)

    def step(x):
        with xp.GradientTape() as tape:
            loss = xp.mean(model(x, training=True) ** 2)
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    with checked_traces(monkeypatch) as (traces, missed):
        xp.function(step)(x)
    assert len(traces) == 1
    assert missed == []


USES = {
    "seeds": lambda x, s: xp.vjp(lambda y: y * y, x)[1](s)[0],
    "tangents": lambda x, s: xp.jvp(lambda y: y * y, (x,), (s,))[1],
    "both": lambda x, s: xp.jvp(lambda y: y * y, (s,), (s,))[1] * x,
    "vmap": lambda x, s: xp.vmap(lambda row: row * 2.0)(s) + x,
    "gradient": lambda x, s: xp.grad(lambda y: xp.sum(y**3))(s) * x,
    "unconnected": lambda x, s: unconnected(x, s),
    "layout": lambda x, s: xp.zeros_like(s) + xp.empty_like(s) * 0.0 + x,
    "nested lists": lambda x, s: xp.asarray([[s[0], s[1]], [x[0], x[1]]]),
    "copies": lambda x, s: copy.deepcopy(s) * copy.copy(s) * x,
    "NumPy": lambda x, s: np.multiply(x, s) + np.concatenate([s, s])[:2],
    "stop_gradient": lambda x, s: xp.stop_gradient(s) * x,
    "recompute_grad": lambda x, s: xp.recompute_grad(lambda y: y * s)(x),
    "custom_gradient": lambda x, s: (
        xp.custom_gradient(lambda y: (y * 2.0, lambda dy: dy * 2.0))(s) * x
    ),
    "sorted": lambda x, s: xp.sort(s) * xp.argsort(s) * x,
    "einsum": lambda x, s: xp.einsum("i,i->i", x, s),
    "text": lambda x, s: x * len(f"{s}"),
    "numbers": lambda x, s: x * float(s[0]) * s.tolist()[1],
    "pickled": lambda x, s: x * pickle.loads(pickle.dumps(s)),
    "written": lambda x, s: written(x, s),
}


def unconnected(x, s):
    with xp.GradientTape() as tape:
        tape.watch([x, s])
        y = x * 2.0
    return tape.gradient(y, s, unconnected_gradients="zero") + x


def written(x, s):
    y = xp.zeros(2)
    y[:] = s
    y += s
    y *= s
    return y * x


@pytest.mark.parametrize("use", USES)
@pytest.mark.filterwarnings("ignore")
def test_an_array_that_is_found_is_followed_through_each_use(use, monkeypatch):
    """Its memory moves and its values change from call to call, in traced calls and in replays."""
    s, f, tapes = xp.asarray([2.0, 1.0]), USES[use], []
    replayed = xp.function(lambda x: f(x, s))
    for i in range(6):
        x = xp.asarray([3.0 + i, 5.0])
        assert replayed(x).tolist() == f(x, s).tolist(), i
        with xp.GradientTape() as tape:
            tape.watch(s)
            tapes.append((tape, xp.exp(s) * s))  # the record keeps the memory
        s[0] = s[0] + (1.0 if i > 2 else 0.0)
    with checked_traces(monkeypatch) as (traces, missed):
        xp.function(lambda x: f(x, s))(x)
    assert len(traces) == 1
    assert missed == []
