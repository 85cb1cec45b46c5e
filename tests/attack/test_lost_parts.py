"""A short run of the attack on lost parts, and what may be said of harmless programs."""

import pytest

from attack import lost_parts

BLOCKS, PROGRAMS = 8, 320


@pytest.mark.parametrize("block", range(BLOCKS))
@pytest.mark.every(8)
def test_no_part_is_lost_in_silence(block):
    alarms = 0
    for seed in range(block, PROGRAMS, BLOCKS):
        _, fate, report = lost_parts.run_one(seed)
        assert fate != "silent", report
        alarms += fate == "false alarm"
    assert alarms <= PROGRAMS // BLOCKS // 20
