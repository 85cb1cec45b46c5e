"""Diagnoses of tapes whose data lie elsewhere, cannot be written to, or must not be looked at."""

import numpy as np
import pytest

import arraytape as xp
from arraytape import diagnose
from arraytape.testing import storages


@pytest.fixture(params=[storages.strict, storages.frozen])
def x(request):
    device = request.param().devices()[0]
    return xp.asarray([0.5, 1.0, 2.0], device=device)


def program(x):
    y = xp.exp(x) * x
    z = xp.zeros_like(y)
    z[:2] = y[1:]
    return y, xp.sum(z)


def values(x):
    return np.asarray(xp.asarray(x, device="cpu"))


def expected():
    x = np.asarray([0.5, 1.0, 2.0])
    return np.exp(x) * (1 + x) * [0, 1, 1]


def test_a_profile_a_limit_and_a_picture(x, near):
    with xp.GradientTape(persistent=True, profile=True, memory_limit=10_000) as tape:
        tape.watch(x)
        _, y = program(x)
    assert tape.summary().total.kept == 48
    assert "exp" in diagnose.graph(tape, y, x)
    near(values(tape.gradient(y, x)), expected())


def test_a_limit_is_kept(x):
    with xp.GradientTape(memory_limit=30) as tape:
        tape.watch(x)
        with pytest.raises(MemoryError, match="24 bytes by exp"):
            program(x)


def test_on_gradient(x, near):
    with xp.GradientTape() as tape:
        tape.watch(x)
        y, z = program(x)
        diagnose.on_gradient(y, lambda g: g * 2.0)
    near(values(tape.gradient(z, x)), 2 * expected())


def test_saved_data(x, near, tmp_path):
    with diagnose.saved_data(*diagnose.save_on_disk(tmp_path)), xp.GradientTape() as tape:
        tape.watch(x)
        _, y = program(x)
    assert len(list(tmp_path.iterdir())) == 2
    near(values(tape.gradient(y, x)), expected())
    assert list(tmp_path.iterdir()) == []
