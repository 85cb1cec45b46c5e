"""The device of every function that takes one, and moves between devices."""

import inspect

import numpy as np
import pytest

import arraytape as xp
from arraytape.testing import storages
from helpers.standard import FUNCTIONS, found

ON_DEVICE = {
    "arange": lambda **where: xp.arange(3, **where),
    "asarray": lambda **where: xp.asarray([1.0], **where),
    "asarray of an Array": lambda **where: xp.asarray(xp.ones(2), **where),
    "asarray of Arrays": lambda **where: xp.asarray([xp.asarray(1.0)], **where),
    "asarray of NumPy data": lambda **where: xp.asarray(np.ones(2), **where),
    "astype": lambda **where: xp.astype(xp.ones(2), xp.float32, **where),
    "empty": lambda **where: xp.empty(2, **where),
    "empty_like": lambda **where: xp.empty_like(xp.ones(2), **where),
    "eye": lambda **where: xp.eye(2, **where),
    "fftfreq": lambda **where: xp.fft.fftfreq(3, **where),
    "from_dlpack": lambda **where: xp.from_dlpack(np.ones(2), **where),
    "full": lambda **where: xp.full(2, 1.0, **where),
    "full of an Array": lambda **where: xp.full(2, xp.asarray(1.0), **where),
    "full_like": lambda **where: xp.full_like(xp.ones(2), 1.0, **where),
    "linspace": lambda **where: xp.linspace(0.0, 1.0, 3, **where),
    "linspace of Arrays": lambda **where: xp.linspace(xp.asarray(0.0), 1.0, 3, **where),
    "ones": lambda **where: xp.ones(2, **where),
    "ones_like": lambda **where: xp.ones_like(xp.ones(2), **where),
    "rfftfreq": lambda **where: xp.fft.rfftfreq(3, **where),
    "zeros": lambda **where: xp.zeros(2, **where),
    "zeros_like": lambda **where: xp.zeros_like(xp.ones(2), **where),
}
on_device = pytest.mark.parametrize("make", ON_DEVICE.values(), ids=ON_DEVICE)


def test_every_function_with_a_device_is_tried():
    takes = {
        name.rpartition(".")[2]
        for name in FUNCTIONS
        if "device" in inspect.signature(found(xp, name)).parameters
    }
    assert takes == {name.partition(" ")[0] for name in ON_DEVICE}


@on_device
def test_a_device_of_the_namespace_is_accepted(make):
    for device in ("cpu", xp.ones(1).device, None):
        assert make(device=device).device == "cpu"


@on_device
def test_an_unknown_device_raises(make):
    with pytest.raises(ValueError, match="device"):
        make(device="moon")


def test_to_device_is_recorded_and_refuses_unknown_devices():
    x = xp.asarray([1.0, 2.0])
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = x.to_device(x.device) * 3.0
    assert np.array_equal(np.asarray(tape.gradient(y, x)), [3.0, 3.0])
    assert x.to_device("cpu", stream=None).device == "cpu"
    with pytest.raises(ValueError, match="device"):
        x.to_device("moon")


@pytest.mark.parametrize("kind", ["hostile", "strict"])
def test_derivatives_stay_on_the_device_of_their_data(kind):
    """A guarded pass on Arrays wraps its masks where they are, not on the default device."""
    data = np.asarray([1.0, np.nan, 3.0])

    def loss(x):
        return xp.sqrt(xp.sum(xp.where(xp.isnan(x), 0.0, x * x)))

    with storages.on(getattr(storages, kind)()):
        x = xp.asarray(data, device="cpu")
        found = xp.grad(lambda x: xp.grad(loss)(x)[0])(x)
    norm = 10.0**0.5
    assert found.device == "cpu"
    np.testing.assert_allclose(found, [(1.0 - 1.0 / norm**2) / norm, 0.0, -3.0 / norm**3])
