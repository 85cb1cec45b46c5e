"""A pytest plugin for ``run_interop.py``: installs interop, and writes down how tests end."""

from pathlib import Path


def pytest_addoption(parser):
    parser.addoption("--interop", action="store_true", help="install interop in all threads")
    parser.addoption("--report", help="the file to write to")


def pytest_configure(config):
    if config.getoption("--interop"):
        from arraytape import interop

        interop.install()


ENDED = {}


def pytest_runtest_logreport(report):
    if report.failed:
        ENDED[report.nodeid] = "failed"
    elif report.when == "call":
        ENDED.setdefault(report.nodeid, report.outcome)


def pytest_sessionfinish(session):
    lines = [f"{name} {how}" for name, how in ENDED.items()]
    Path(session.config.getoption("--report")).write_text("\n".join(lines))
