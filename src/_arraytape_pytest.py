"""The pytest plugin of arraytape, which pytest loads at its start if arraytape is installed.

The module is no part of the package, so that pytest imports neither arraytape nor NumPy with it.  Only
the option ``--xp-backends`` or the setting ``xp_backends`` imports ``arraytape.testing``.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

PLUGIN = "arraytape.testing._xp_plugin"
CHOICE = "*names, np_only=False, cpu_only=False, exceptions=(), reason=None"
MARKERS = (
    f"skip_xp_backends({CHOICE}): skip a test that uses xp on these backends",
    f"xfail_xp_backends({CHOICE}, strict=None): expect a test that uses xp to fail on these backends",
    "check_gradients(of=(), order=2, modes=('rev', 'fwd'), rtol=None, seeds=3, h=1e-3, calls=10): on "
    "arraytape, compare the gradients of these functions, at the arguments that the test calls them "
    "with, or of what it returns, with differences",
)


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Add the option and the setting that switch the fixture ``xp`` on."""
    # pytest rewrites the assertions in all modules of a distribution that has a plugin.  arraytape's
    # modules need no rewriting, which takes a second at an import without a cache.
    getattr(pluginmanager.rewrite_hook, "_must_rewrite", set()).discard("arraytape")
    group = parser.getgroup("arraytape", "array API backends, by arraytape")
    group.addoption(
        "--xp-backends",
        metavar="NAMES",
        help="run tests that use the fixture xp on these: some of numpy, array_api_strict, arraytape, "
        "standard, taped, hostile, frozen with commas between them, or all",
    )
    parser.addini(
        "xp_backends", "what --xp-backends is when it is not given", type="args", default=[]
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declare the markers, and load the fixtures where the setting or the option asks for them."""
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)
    if config.getoption("xp_backends") is not None or config.getini("xp_backends"):
        config.pluginmanager.register(import_module(PLUGIN), PLUGIN)
