"""README's table of ratios has the rows that ``make ratios`` writes, and can be written again."""

import importlib
import re
import sys

import numpy as np
import pytest

import pages
from helpers.repository import ROOT
from status import benchmarks


@pytest.fixture
def ratios(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    before, path = set(sys.modules), list(sys.path)

    yield importlib.import_module("status.ratios")
    sys.path[:] = path
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in ("benchmarks", "run", "smoke") or name == "status.ratios":
            del sys.modules[name]


def test_the_table_has_a_row_for_each_step(ratios):
    written, ends = pages.PAGES["ratios"].text(), pages.ends_of("ratios")
    table = written.partition(ends[0])[2].partition(ends[1])[0]
    rows = [line.split("|")[1].strip() for line in table.strip().splitlines()[2:]]
    assert rows == list(ratios.STEPS)
    numbers = re.findall(r"\| ([\d.]+) \| ([\d.]+) \|", table)
    assert len(numbers) >= len(rows)
    assert pages.between(written, ends, table.strip()) == written


def test_the_page_of_benchmarks_has_a_row_for_each_count():
    text = pages.PAGES["benchmarks"].text()
    assert all(f"| {words} | " in text for _, _, words in benchmarks.SHOWN)


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
