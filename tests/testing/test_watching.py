"""Tapes that watch what the namespace makes: every function that makes arrays."""

import inspect

import numpy as np
import pytest

import arraytape as xp
from arraytape._record.op import REGISTRY
from arraytape.testing._watching import watching

MAKERS = [op.name for op in REGISTRY.values() if op.creates]

OTHERS = {"astype", "set_default_device"}  # of an Array, of none
CALLS = {
    "arange": lambda: xp.arange(3.0),
    "asarray": lambda: xp.asarray([1.0, 2.0]),
    "empty": lambda: xp.empty(3),
    "empty_like": lambda: xp.empty_like(xp.asarray([1.0])),
    "eye": lambda: xp.eye(2),
    "fft.fftfreq": lambda: xp.fft.fftfreq(4),
    "fft.rfftfreq": lambda: xp.fft.rfftfreq(4),
    "from_dlpack": lambda: xp.from_dlpack(np.ones(2)),
    "full": lambda: xp.full(2, 3.0),
    "full_like": lambda: xp.full_like(xp.asarray([1.0]), 2.0),
    "linspace": lambda: xp.linspace(0.0, 1.0, 3),
    "logspace": lambda: xp.logspace(0.0, 1.0, 3),
    "ones": lambda: xp.ones(2),
    "ones_like": lambda: xp.ones_like(xp.asarray([1.0])),
    "zeros": lambda: xp.zeros(2),
    "zeros_like": lambda: xp.zeros_like(xp.asarray([1.0])),
}


def with_a_device(module, prefix=""):
    """The public functions that say on which device they make their result."""
    for name in dir(module):
        function = getattr(module, name)
        if inspect.isfunction(function) and "device" in inspect.signature(function).parameters:
            yield prefix + name


def test_every_function_that_takes_a_device_says_that_it_creates_and_is_watched():
    found = {
        *with_a_device(xp),
        *with_a_device(xp.fft, "fft."),
        *with_a_device(xp.linalg, "linalg."),
    }
    assert found - OTHERS == set(MAKERS) == set(CALLS)


@pytest.mark.parametrize("name", MAKERS)
def test_what_is_made_is_watched_and_the_namespace_is_left_as_it_was(name):
    extension, _, own = name.rpartition(".")
    module = getattr(xp, extension) if extension else xp
    before = getattr(module, own)
    with watching() as tape:
        x = CALLS[name]()
        y = xp.sum(x * 2.0)
    assert np.asarray(tape.gradient(y, x)).tolist() == [2.0] * x.size or x.ndim == 2
    assert getattr(module, own) is before
