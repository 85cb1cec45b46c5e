"""What an op costs, in counts that cannot be noisy: Python frames above the raw call."""

import os
import sys

import numpy as np
import pytest

import arraytape as xp
from arraytape._storage import numpy_namespace

# Where the frames of a raw call come from.
RAW = (os.path.dirname(np.__file__) + os.sep, numpy_namespace.__file__)


def frames(call):
    """The Python frames of arraytape that a call enters, by name."""
    seen = []

    def profile(frame, event, argument):
        if event == "call" and not frame.f_code.co_filename.startswith(RAW):
            seen.append(frame.f_code.co_name)

    call()  # lazy imports and look-ups are not the cost of an op
    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return seen[1:]  # without the call itself


X, Y, B = (xp.asarray(np.full((3, 3), value)) for value in (0.5, 1.5, 1.0))
CALLS = {
    "multiply": lambda: X * Y,
    "multiply by a scalar": lambda: X * 0.9,
    "scalar on the left": lambda: 2.0 * X,
    "function": lambda: xp.multiply(X, Y),
    "exp": lambda: xp.exp(X),
    "power": lambda: X**2,
    "negative": lambda: -X,
    "maximum": lambda: xp.maximum(X, Y),
    "matmul": lambda: X @ Y,
    "sum": lambda: xp.sum(X, axis=0),
    "where": lambda: xp.where(B, X, Y),
    "compare": lambda: X < Y,
}


@pytest.mark.parametrize("name", CALLS)
def test_an_op_that_nobody_follows_costs_one_frame(name):
    assert len(frames(CALLS[name])) == 1


@pytest.mark.parametrize("name", CALLS)
def test_a_recorded_op_costs_at_most_two_frames(name):
    with xp.GradientTape() as tape:
        tape.watch([X, Y])
        # What an op saves beside its inputs is computed while recording.
        allowed = 4 if name == "maximum" else 2
        assert len(frames(CALLS[name])) <= allowed


def test_an_op_that_nobody_follows_does_not_look_for_tapes():
    a, b = xp.asarray(np.ones(3)), xp.asarray(np.ones(3))
    looked = []
    a * b  # compiled on first use
    scope = type(a).__mul__.__globals__
    active = scope["active"]
    scope["active"] = lambda: looked.append(1) or active()
    try:
        a * b
    finally:
        scope["active"] = active
    assert looked == []


@pytest.mark.parametrize(
    ("call", "kept"),
    [
        (lambda x, w: 2.0 * w, 8),  # the scalar
        (lambda x, w: x * w, 24),  # x, since only w is followed
        (lambda x, w: xp.exp(w), 24),  # the result
        (lambda x, w: xp.sum(w), 0),
        (lambda x, w: x + w, 0),
        (lambda x, w: w[1:], 0),
        (lambda x, w: xp.maximum(w, 0.0), 3),  # one bool mask: no ties
    ],
)
def test_a_record_keeps_what_its_rule_asks_for(call, kept):
    x, w = xp.asarray(np.ones(3)), xp.asarray(np.ones(3))
    with xp.GradientTape() as tape:
        tape.watch(w)
        y = call(x, w)
        y + 1.0
    data = [
        part
        for record in tape._recording.records
        for part in record
        if isinstance(part, np.ndarray)
    ]
    assert sum(part.nbytes for part in data) == kept


def test_records_are_not_tracked_by_the_cyclic_garbage_collector():
    import gc

    x = xp.asarray(np.ones(3))
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = x
        for _ in range(10):
            y = xp.tanh(y * x)
    gc.collect()
    assert not any(gc.is_tracked(record) for record in tape._recording.records)
    assert tape.gradient(y, x) is not None
