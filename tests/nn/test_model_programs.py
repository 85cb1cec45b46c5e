"""Six model programs against the losses that TensorFlow computed for them.

``tools/model_programs`` has the programs for both libraries, and recorded TensorFlow's losses.
"""

import json

import numpy as np
import pytest

import arraytape as xp
from model_programs import CASES, FACTS, data_of_steps, in_arraytape, losses_of, set_kernels

LOSSES = json.loads(FACTS.read_text(encoding="utf-8"))["losses"]
# Keras rounds the epsilon of optimizers to single precision.
LIMIT = {"rtol": 1e-9, "atol": 1e-9}


@pytest.mark.parametrize("wrap", [lambda step: step, xp.function], ids=["eager", "function"])
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_ten_losses_are_tensorflows(case, wrap):
    program = getattr(in_arraytape, case.name)(case.small)
    set_kernels(program)
    steps = [list(map(xp.asarray, data)) for data in data_of_steps(case, case.small)]
    found = losses_of(wrap(program.step), steps)
    np.testing.assert_allclose(found, LOSSES[case.name], **LIMIT)
    assert abs(found[0][-1] - found[-1][-1]) > 1e-4  # the steps change the losses
