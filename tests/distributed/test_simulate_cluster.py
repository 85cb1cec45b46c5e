"""The model of a step: its bounds, and that it counts each task once."""

import importlib.util
import math
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "simulate_cluster.py"


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("simulate_cluster", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def costs(tool):
    return tool.Costs(
        task=0.01, handle=0.001, describe=0.0002, finish=0.0005, start=0.002, answer=0.003
    )


def work(tool, costs, partitions):
    """Seconds of all processes, where one worker has all: no sum fetches anything."""
    tasks = tool.tasks_of(partitions)
    both = costs.handle + costs.finish + costs.describe
    messages = 1 + tool.levels_of(partitions)
    return (
        messages * costs.start
        + tasks * both
        + partitions * costs.task
        + costs.answer
        + costs.handle
    )


@pytest.mark.parametrize("partitions", [1, 2, 8, 9, 64, 100])
def test_on_one_core_a_step_takes_all_the_work(tool, costs, partitions):
    found = tool.step_time(partitions, 1, costs._replace(cores=1, latency=0.0))
    least = work(tool, costs, partitions)
    levels = tool.levels_of(partitions)
    assert levels == math.ceil(math.log(max(2, partitions), 8) - 1e-9)
    assert least - 1e-9 <= found <= least + (1 + levels) * (tool.CLIENT + 3 * tool.STREAM)


@pytest.mark.parametrize("partitions", [2, 16, 64, 256])
def test_more_workers_cores_and_less_latency_are_not_slower(tool, costs, partitions):
    times = [tool.step_time(partitions, workers, costs) for workers in (1, 2, 4, 16)]
    assert times == sorted(times, reverse=True)
    shared = [tool.step_time(partitions, 2, costs._replace(cores=n)) for n in (1, 2, 3)]
    assert shared == sorted(shared, reverse=True)
    with_others = [tool.step_time(partitions, 2, costs._replace(cores=2, others=n)) for n in (0, 4)]
    assert with_others[1] > 1.5 * with_others[0]


def test_a_step_is_not_faster_than_its_workers_or_its_scheduler(tool, costs):
    assert tool.step_time(256, 16, costs) > 256 / 16 * (costs.task + costs.handle)
    assert tool.step_time(256, 256, costs) > tool.tasks_of(256) * costs.finish
    moved = costs._replace(parameters=1e7, bandwidth=1e9)
    # Parameters, 7 of 8 parts into each sum, twice, and the result: 16 times 10 MB one after the other.
    assert tool.step_time(64, 8, moved) > tool.step_time(64, 8, costs) + 0.15
