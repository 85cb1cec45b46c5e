"""What tests of replays share."""

import pytest

from arraytape.replay import plan


@pytest.fixture
def with_all_bits(monkeypatch):
    """Programs without the pass that changes last bits."""
    monkeypatch.setattr(plan, "rounded", lambda program: program)
