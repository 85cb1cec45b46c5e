"""The samples of all ops that have a derivative, to run them on."""

import pytest

from helpers.namespace_ops import recorded_ops

CASES = [
    pytest.param(op, sample, id=f"{op.name}-{i}")
    for op in recorded_ops()
    for i, sample in enumerate(op.samples)
    if (op.rules or op.joint) and not op.moves
]
# What is not holomorphic or has no complex form is sampled with real numbers only.
REAL_ONLY = {"cast", "clip", "fft.rfft"} | {
    op.name for op in recorded_ops() if op.takes in ("real", "ordered", "real floating")
}
