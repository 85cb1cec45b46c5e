"""Devices other than the CPU: those of storages that simulate a device, so that tests need none."""

import numpy as np

import arraytape as xp
from arraytape.testing import storages

HOSTILE, FROZEN, STRICT = storages.hostile(), storages.frozen(), storages.strict()
CPU, FIRST, SECOND = STRICT.devices()
ELSEWHERE = [HOSTILE.devices()[0], FROZEN.devices()[0], FIRST]
ELSEWHERE_AND_HERE = [(device, "cpu") for device in ELSEWHERE[:2]]


def on(device, values=(1.0, 2.0, 3.0)):
    return xp.asarray(np.asarray(values), device=device)
