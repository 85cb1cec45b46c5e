"""Loops that write rows, each from the one before: T rows cost T rows, in both modes."""

import gc
import tracemalloc
from time import process_time

import pytest

import arraytape as xp
from arraytape import ForwardAccumulator


def scan(x, rows):
    h = xp.zeros((rows, x.size))
    h[0] = x
    for t in range(1, rows):
        h[t] = xp.tanh(h[t - 1] * x)
    return xp.sum(h * h)


@pytest.mark.slow
def test_a_scan_holds_a_tangent_for_each_row_and_none_of_the_whole():
    def held(rows):
        x = xp.full(50, 0.3)
        gc.collect()
        tracemalloc.start()
        try:
            with ForwardAccumulator(x, xp.ones(50)) as accumulator:
                scan(x, rows)
            return tracemalloc.get_traced_memory()[0] / rows
        finally:
            tracemalloc.stop()
            del accumulator

    held(10)
    assert held(800) < 1.2 * held(100)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_a_row_of_a_scan_costs_the_same_however_many_there_are(mode):
    # A copy of all rows for each would make it ten times as much; asv_bench has the exact figure.
    x = xp.full(16, 0.3)

    def seconds(rows):
        start = process_time()
        if mode == "reverse":
            xp.grad(scan)(x, rows)
        else:
            with ForwardAccumulator(x, xp.ones(16)) as accumulator:
                y = scan(x, rows)
            accumulator.jvp(y)
        return (process_time() - start) / rows

    few = min(seconds(100) for _ in range(10))
    for rows in (1000, 10_000):
        assert any(seconds(rows) < 3.0 * few for _ in range(3))
