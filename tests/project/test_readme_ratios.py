"""README's table of ratios has the rows that ``make ratios`` writes, and can be written again."""

import re
import sys

import numpy as np
import pytest

import pages
from helpers.repository import ROOT


@pytest.fixture
def ratios(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    before, path = set(sys.modules), list(sys.path)
    import readme_ratios

    yield readme_ratios
    sys.path[:] = path
    for name in set(sys.modules) - before:
        mine = ("readme_ratios", "benchmark_figures", "benchmarks", "run", "smoke")
        if name.partition(".")[0] in mine:
            del sys.modules[name]


def test_the_table_has_a_row_for_each_step(ratios):
    written = ratios.README.read_text(encoding="utf-8")
    table = written.partition(ratios.BEGIN)[2].partition(ratios.END)[0]
    rows = [line.split("|")[1].strip() for line in table.strip().splitlines()[2:]]
    assert rows == list(ratios.STEPS)
    numbers = re.findall(r"\| ([\d.]+) \| ([\d.]+) \|", table)
    assert len(numbers) >= len(rows)
    assert pages.between(written, ratios.BEGIN, ratios.END, table.strip()) == written


def test_the_picture_of_the_benchmarks_page_shows_that_table(ratios):
    import benchmark_figures

    assert benchmark_figures.main(["--check"]) == 0, "run python tools/benchmark_figures.py"
    page = benchmark_figures.PAGE.read_text(encoding="utf-8")
    assert all(f"| {words} | " in page for _, _, words in benchmark_figures.SHOWN)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["100 rows written in place in a loop", "Hessian-vector product of the perceptron"]
)
def test_what_is_timed_computes_the_same(ratios, name):
    hand, ours = ratios.steps_of(name)
    expected = ratios.digest([np.asarray(g) for g in hand()])
    for run in (ours, ratios.replayed(name)):
        found = ratios.digest([np.asarray(g) for g in run()])
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)
