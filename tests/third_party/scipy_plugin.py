"""A plugin of pytest: SciPy's own tests, as installed, with arraytape as the one ``xp`` they run on.

``run_scipy.py`` runs them with ``-p scipy_plugin``, and array-api-extra's likewise.  It puts arraytape
in the place of the namespaces that their set-up knows, in memory.  What fails is listed in
``scipy_failures.toml`` with its reason; the list is strict: a test on it that passes is a failure.
"""

import collections
import tomllib
from pathlib import Path
from types import SimpleNamespace

import array_api_extra.tests.main.conftest as extra
import pytest
import scipy.conftest as theirs

import arraytape
from arraytape.testing import xp_backends

NAME = arraytape.__name__
KNOWN = Path(__file__).with_name("scipy_failures.toml")
OUTCOMES = ("passed", "failed", "xfailed", "skipped")
COUNTS = collections.defaultdict(collections.Counter)  # subpackage -> outcome -> how many


# --- arraytape as a backend ---------------------------------------------------------------------
def adopt():
    """Give the fixtures arraytape in place of their own backends."""
    backend = pytest.param(arraytape, id=NAME, marks=pytest.mark.array_api_backends)
    theirs.xp_known_backends.add(NAME)
    theirs.xp = pytest.fixture(params=[backend])(theirs.xp.__wrapped__)
    theirs.devices = pytest.fixture(devices)
    library = SimpleNamespace(name=NAME.upper(), modname=NAME, like=lambda *others: False)
    extra.library = pytest.fixture(params=[pytest.param(library, id=NAME)])(
        extra.library.__wrapped__
    )


def devices(xp):
    """SciPy's fixture of this name adds a list to what is a tuple by the standard."""
    return [*xp.__array_namespace_info__().devices(), None]


def failures(path):
    """The tests that are known to fail, each with its reason."""
    listed = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    return {entry["test"]: entry["reason"] for entry in listed["failure"]}


def place(nodeid):
    """``scipy/stats/tests/test_stats.py::test_name[...]``, wherever it is installed."""
    return nodeid.rpartition("site-packages/")[2]


def pytest_addoption(parser):
    parser.addoption("--known", default=KNOWN, help="the list of tests that are known to fail")
    parser.addoption("--taped", action="store_true", help="watch every array, one tape per test")


def pytest_collection_modifyitems(config, items):
    """Tests that never ask for ``xp`` are about NumPy alone."""
    ours, others = [], []
    for item in items:
        (ours if "xp" in getattr(item, "fixturenames", ()) else others).append(item)
    config.hook.pytest_deselected(items=others)
    items[:] = ours
    known = failures(config.getoption("known"))
    for item in ours:
        # By array-api-extra's own settings, which are not installed with it, warnings are errors.
        if place(item.nodeid).startswith("array_api_extra"):
            item.add_marker(pytest.mark.filterwarnings("error::DeprecationWarning"))
        if reason := known.get(place(item.nodeid)):
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))


# --- on open tapes --------------------------------------------------------------------------------
@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Each test on a tape of its own, which watches every floating-point array that is made."""
    if not item.config.getoption("taped"):
        return (yield)
    with xp_backends.on("taped"):
        return (yield)


# --- counts ---------------------------------------------------------------------------------------
def pytest_runtest_logreport(report):
    if report.when == "call" or report.outcome != "passed":
        expected = hasattr(report, "wasxfail") and report.skipped
        package = place(report.nodeid).removeprefix("scipy/").partition("/")[0]
        COUNTS[package]["xfailed" if expected else report.outcome] += 1


def pytest_terminal_summary(terminalreporter):
    rows = {**COUNTS, "total": sum(COUNTS.values(), collections.Counter())}
    terminalreporter.write_line("".join(f"{title:>14}" for title in ("", *OUTCOMES)))
    for package, count in rows.items():
        numbers = "".join(f"{count[outcome]:>14}" for outcome in OUTCOMES)
        terminalreporter.write_line(f"{package:>14}{numbers}")


adopt()
