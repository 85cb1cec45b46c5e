"""Policies of recompute_grad that keep the results of one op: every op, on its samples."""

import numpy as np
import pytest

import arraytape as xp
from arraytape.testing.samples import as_function, materialise
from helpers.same_gradients import gradients, same_bits
from helpers.samples import CASES


@pytest.mark.parametrize(("op", "sample"), CASES)
@pytest.mark.every(3)
def test_a_sample_of_each_op_has_the_same_derivatives(op, sample):
    f, arrays = as_function(op, sample, materialise(op, sample))
    kept = []

    def policy(other, result, *operands):
        kept.append(other)
        return other is op.public

    bare, checkpointed = xp.recompute_grad(f), xp.recompute_grad(f, policy=policy)
    arrays = [xp.asarray(x) for x in arrays]
    with np.errstate(all="ignore"):
        for order in (1, 2):
            expected = gradients(bare, *arrays, order=order)
            same_bits(gradients(checkpointed, *arrays, order=order), expected)
    assert op.public in kept
