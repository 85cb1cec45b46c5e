"""A short run of the attack by replayed programs on Arrays of all dtypes."""

import pytest

from .replayed_dtypes import COUNTS, run


@pytest.mark.filterwarnings("ignore:Casting complex values")
def test_programs_of_each_kind():
    assert sum(run(seed) for seed in range(40)) == 40
    assert COUNTS["programs that were replayed"] > 30
