"""The test suites of other libraries, which run on Arrays, each test under a tape.

    PYTHONPATH=src:tools:tests/third_party python -m libraries.suites marray -x -k sum

A suite knows a list of array libraries.  The plugin of pytest in this module puts arraytape in the
place of one of them, in memory.  It keeps the tests that get Arrays, and counts how the tests end.
``suite_failures.toml`` gives the reasons of known failures.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

import arraytape
from arraytape.testing import xp_backends

from .recipes import set_up

HERE = Path(__file__).parent
FAILURES = HERE / "suite_failures.toml"
CHOSEN, REPORT = "ARRAYTAPE_SUITE", "ARRAYTAPE_SUITE_REPORT"


class Suite(NamedTuple):
    """The tests of a library.

    Attributes
    ----------
    modules : list of str
        The modules of the tests.
    adopt : Callable
        A function that puts arraytape in the place of a library that the tests know.
    chosen : Callable
        A function that returns True for a test item that gets Arrays.
    """

    modules: list[str]
    adopt: Callable[[], None]
    chosen: Callable[[Any], bool] = lambda item: True


# --- functions that put arraytape in the place of another library -----------------------------------
def as_array_api_strict() -> None:
    """Import arraytape in place of array-api-strict."""
    sys.modules["array_api_strict"] = arraytape
    inner = SimpleNamespace(Array=arraytape.Array)
    sys.modules["array_api_strict._array_object"] = inner  # type: ignore[assignment]


def as_einops_backend() -> None:
    from einops import _backends

    os.environ["EINOPS_TEST_BACKENDS"] = "arraytape"
    _backends.CupyBackend = set_up("einops")["ArraytapeBackend"]


def as_views_of_opt_einsum() -> None:
    from opt_einsum import testing

    build = testing.build_views

    def views(*args: Any, **keywords: Any) -> tuple[Any, ...]:
        return tuple(map(arraytape.asarray, build(*args, **keywords)))

    testing.build_views = views


def as_backend_of_scikit_bio() -> None:
    from skbio.util import _testing

    os.environ["SKBIO_ARRAY_BACKEND"] = "cupy"
    _testing._BACKENDS["cupy"] = (arraytape, ["cpu"])


def as_data_of_xarray() -> None:
    """Patch xarray so that its Variables hold floating-point data as Arrays."""
    as_array_api_strict()
    from xarray.core import dataarray, variable

    convert = variable.as_compatible_data

    def converted(data: Any, fastpath: bool = False) -> Any:
        found = convert(data, fastpath=fastpath)
        is_floating = isinstance(found, np.ndarray) and found.dtype in (np.float32, np.float64)
        return arraytape.asarray(found) if is_floating else found

    variable.as_compatible_data = dataarray.as_compatible_data = converted


def gets_arrays(item: Any) -> bool:
    parameters = getattr(item, "callspec", SimpleNamespace(params={})).params
    return arraytape in [value for value in parameters.values() if value.__class__ is type(os)]


def is_of_no_other_library(item: Any) -> bool:
    return not any(name in item.name for name in ("torch", "jax", "cupy", "tensorflow"))


def is_of_backends(item: Any) -> bool:
    return "backend" in item.name


SUITES = {
    "marray": Suite(["marray.tests.test_marray"], as_array_api_strict, gets_arrays),
    "scikit-bio": Suite(
        ["skbio.stats.composition.tests.test_base"], as_backend_of_scikit_bio, is_of_backends
    ),
    "einops": Suite(
        [f"einops.tests.test_{name}" for name in ("ops", "einsum", "packing", "other")],
        as_einops_backend,
    ),
    "opt_einsum": Suite(
        [
            f"opt_einsum.tests.test_{name}"
            for name in ("contract", "input", "edge_cases", "sharing")
        ],
        as_views_of_opt_einsum,
        is_of_no_other_library,
    ),
    "xarray": Suite(
        [
            f"xarray.tests.test_{name}"
            for name in ("array_api", "weighted", "coarsen", "computation")
        ],
        as_data_of_xarray,
    ),
}


# --- the plugin ------------------------------------------------------------------------------------
def known_failures(suite: str) -> dict[str, str]:
    """Return the reasons of a suite's known failures, by the end of the test's name."""
    found = tomllib.loads(FAILURES.read_text(encoding="utf-8"))
    return {test: row["reason"] for row in found.get(suite, []) for test in row["tests"]}


class Plugin:
    """A plugin of pytest that runs a suite on Arrays."""

    def __init__(self, name: str) -> None:
        self.name, self.suite = name, SUITES[name]
        self.counts: Counter[str] = Counter()
        self.suite.adopt()

    def pytest_collection_modifyitems(self, config: Any, items: list[Any]) -> None:
        chosen = [item for item in items if self.suite.chosen(item)]
        config.hook.pytest_deselected(items=[item for item in items if item not in set(chosen)])
        items[:] = chosen
        known = known_failures(self.name)
        for item in items:
            reason = known.get(item.name) or known.get(item.name.partition("[")[0])
            if reason:
                item.add_marker(pytest.mark.xfail(reason=reason, strict=item.name in known))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Any:
        """Run each test on a tape of its own, which watches every floating-point array that is made."""
        with xp_backends.on("taped"):
            return (yield)

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.when == "call" or report.outcome != "passed":
            expected = hasattr(report, "wasxfail") and report.skipped
            self.counts["xfailed" if expected else report.outcome] += 1

    def pytest_sessionfinish(self) -> None:
        if REPORT in os.environ:
            Path(os.environ[REPORT]).write_text(json.dumps(self.counts), encoding="utf-8")


def pytest_configure(config: Any) -> None:
    config.pluginmanager.register(Plugin(os.environ[CHOSEN]))


# --- runs ------------------------------------------------------------------------------------------
def run(name: str, report: Path, *arguments: str) -> Counter[str]:
    """Run a suite in a process of its own; return the number of tests by outcome."""
    environment = os.environ | {CHOSEN: name, REPORT: str(report)}
    command = [
        sys.executable, "-m", "pytest", "-c", os.devnull, "-p", "no:cacheprovider",
        "-p", "libraries.suites", "-q", "-r", "f", "--tb=line", "--disable-warnings", *arguments,
        "--pyargs", *SUITES[name].modules,
    ]  # fmt: skip
    report.unlink(missing_ok=True)
    subprocess.run(command, env=environment, check=False)
    if not report.exists():
        raise RuntimeError(f"the tests of {name} did not run")
    return Counter(json.loads(report.read_text(encoding="utf-8")))


def installed_suites(names: list[str]) -> list[str]:
    """Return the names of the suites whose library is installed, among ``names`` if there are some."""
    return [
        name
        for name, suite in SUITES.items()
        if (not names or name in names)
        and importlib.util.find_spec(suite.modules[0].partition(".")[0])
    ]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(dict(run(sys.argv[1], Path(folder) / "counts.json", *sys.argv[2:])))
