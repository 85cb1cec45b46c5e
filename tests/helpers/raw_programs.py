"""Helpers for replays of programs that are traced from calls on raw data, without ``xp.function``."""

import numpy as np

from arraytape.replay.tracing.trace import Trace
from arraytape.replay.tracing.traced import ACTIVE


def traced(calls, inputs):
    """Trace ``calls`` on the inputs and return the traced program."""
    trace = Trace()
    token = ACTIVE.set(trace)
    try:
        trace.program.outputs = [y.node for y in calls(*map(trace.input, inputs))]
    finally:
        ACTIVE.reset(token)
    return trace.program


def same(found, expected, exact):
    for ours, wanted in zip(found, expected, strict=True):
        assert (ours.shape, ours.dtype) == (wanted.shape, wanted.dtype)
        if exact:
            assert ours.tobytes() == wanted.tobytes()
        else:
            np.testing.assert_array_equal(ours, wanted)  # here 0.0 equals -0.0
