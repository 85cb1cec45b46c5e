"""A plugin of pytest: NumPy's own tests, as installed, with NumPy's functions called on Arrays.

``run_numpy.py`` runs them with ``-p numpy_plugin``; ``numpy_stand_ins`` says how the calls get there.
``numpy_expected.toml`` says which errors of arraytape's are refusals, each with its reason, and which
tests fail for a reason of their own.  That list is strict: a test on it that passes is a failure.
"""

import collections
import contextlib
import re
import tomllib
from pathlib import Path

import numpy_stand_ins as stand_ins
import pytest

import arraytape

EXPECTED = Path(__file__).with_name("numpy_expected.toml")
OUTCOMES = ("passed", "failed", "refused", "without Arrays", "xfailed", "skipped")
COUNTS = collections.defaultdict(collections.Counter)  # folder -> outcome -> how many
REASONS = collections.Counter()  # refused tests by reason


def place(nodeid):
    """``numpy/lib/tests/test_shape_base.py::test_name[...]``, wherever it is installed."""
    return nodeid.rpartition("site-packages/")[2]


def expected():
    return tomllib.loads(EXPECTED.read_text(encoding="utf-8"))


def pytest_addoption(parser):
    parser.addoption("--taped", action="store_true", help="watch every Array, one tape per test")


def pytest_configure(config):
    stand_ins.Importer.install()
    config.refusals = [
        (re.compile(entry["says"]), entry["reason"]) for entry in expected()["refusal"]
    ]


def pytest_collection_modifyitems(config, items):
    failures = [
        (re.compile(entry["test"]), entry)
        for entry in expected().get("failure", ())
        if config.getoption("taped") or not entry.get("taped")
    ]
    for item in items:
        name = place(item.nodeid).removeprefix("numpy/")
        for test, entry in failures:
            if test.fullmatch(name):
                run = entry.get("run", True)
                item.add_marker(pytest.mark.xfail(reason=entry["reason"], strict=True, run=run))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    def table(error):
        said = str(error)
        return next((why for what, why in item.config.refusals if what.search(said)), None)

    taped = item.config.getoption("taped")
    following = arraytape.GradientTape(persistent=True) if taped else contextlib.nullcontext()
    with following as tape, stand_ins.running(stand_ins.Run(table, tape)) as item.run:
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if call.when == "call" and report.passed and not hasattr(report, "wasxfail"):
        if item.run.refused:
            report.refused = item.run.refused[0]
        report.without_arrays = not item.run.calls
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_report_teststatus(report, config):
    if getattr(report, "refused", None):
        return "refused", "r", "REFUSED"
    if getattr(report, "without_arrays", None):
        return "without Arrays", "-", "WITHOUT ARRAYS"
    return None


# --- counts ---------------------------------------------------------------------------------------
def pytest_runtest_logreport(report):
    if report.when != "call" and report.outcome == "passed":
        return
    folder = place(report.nodeid).partition("/tests/")[0].removeprefix("numpy/")
    if hasattr(report, "wasxfail") and report.skipped:
        outcome = "xfailed"
    elif reason := getattr(report, "refused", None):
        outcome = "refused"
        REASONS[reason] += 1
    else:
        outcome = "without Arrays" if getattr(report, "without_arrays", 0) else report.outcome
    COUNTS[folder][outcome] += 1


def pytest_terminal_summary(terminalreporter):
    say = terminalreporter.write_line
    rows = {**COUNTS, "total": sum(COUNTS.values(), collections.Counter())}
    say("".join(f"{title:>16}" for title in ("", *OUTCOMES)))
    for folder, count in rows.items():
        say(f"{folder:>16}" + "".join(f"{count[outcome]:>16}" for outcome in OUTCOMES))
    for reason, count in REASONS.most_common():
        say(f"{count:>6} refused: {reason}")
