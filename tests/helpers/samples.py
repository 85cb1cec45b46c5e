"""Sample inputs of all ops that have a derivative."""

import pytest

from helpers.namespace_ops import recorded_ops

CASES = [
    pytest.param(op, sample, id=f"{op.name}-{i}")
    for op in recorded_ops()
    for i, sample in enumerate(op.samples)
    if (op.rules or op.joint) and not op.moves
]
# Ops that have no complex form, or are not holomorphic, have real samples only.
REAL_ONLY = {"cast", "clip", "fft.rfft"} | {
    op.name for op in recorded_ops() if op.takes in ("real", "ordered", "real floating")
}
