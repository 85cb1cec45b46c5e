"""recompute_grad runs a function again: other values than the first time are an error."""

import numpy as np
import pytest

import arraytape as xp


def dropped(rng):
    return lambda x: x * xp.asarray(rng.random(x.shape) < 0.5)


def noisy(rng):
    return lambda x: xp.sin(x) + xp.asarray(rng.normal(size=x.shape))


def scaled(rng):
    return lambda x: (x, {"sum": xp.sum(x * float(rng.random()))})


def permuted(rng):
    return lambda x: xp.take(x, xp.asarray(rng.permutation(x.size)), axis=0)


RANDOM = {"dropout": dropped, "noise": noisy, "one of two results": scaled, "permuted": permuted}


def total(y):
    if isinstance(y, tuple):
        return xp.sum(y[0]) + y[1]["sum"]
    return xp.sum(y * y)


@pytest.mark.parametrize("size", [5, 20_000])
@pytest.mark.parametrize("name", RANDOM)
def test_random_numbers_of_its_own_are_an_error(name, size):
    f = xp.recompute_grad(RANDOM[name](np.random.default_rng(0)))
    x = xp.asarray(np.linspace(1.0, 2.0, size))
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = total(f(x))
    with pytest.raises(RuntimeError, match="pass random numbers as arguments"):
        tape.gradient(y, x)


def test_random_numbers_among_the_arguments_are_none():
    f = xp.recompute_grad(lambda x, noise: xp.sin(x) * noise)
    x, noise = xp.asarray([1.0, 2.0]), xp.asarray([0.5, np.nan])
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = f(x, noise)
    np.testing.assert_allclose(np.asarray(tape.gradient(y, x)), [np.cos(1.0) / 2.0, np.nan])
