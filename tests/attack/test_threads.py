"""Threads that start together at a tiny switch interval: a short run of each scenario."""

import pytest

from attack import threads


@pytest.mark.parametrize("name", threads.SCENARIOS)
@pytest.mark.parametrize("seed", range(3))
def test_threads_that_start_together_get_right_answers(name, seed):
    assert threads.play(name, seed) == threads.ROUNDS


@pytest.mark.slow
def test_threads_may_use_everything_for_the_first_time_at_once():
    assert threads.first_uses(1) > 20


def test_a_finding_names_scenario_seed_and_round(monkeypatch):
    def wrong(rng):
        """Never right."""
        return threads.Round(threads.each(lambda i: i), lambda found: threads.same(found, 5.0))

    monkeypatch.setitem(threads.SCENARIOS, "broken", wrong)
    with pytest.raises(AssertionError, match=r"scenario broken, seed 7, round 0(.|\n)*Never right"):
        threads.play("broken", 7)
