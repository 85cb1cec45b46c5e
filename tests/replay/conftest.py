"""What tests of replays share."""

import pytest

from arraytape.replay import program_plan


@pytest.fixture
def with_all_bits(monkeypatch):
    """Programs without the pass that changes last bits."""
    monkeypatch.setattr(program_plan, "rounded", lambda program: program)
