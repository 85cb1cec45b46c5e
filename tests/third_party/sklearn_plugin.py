"""scikit-learn's own array API tests, as installed, with arraytape as one more namespace.

    python tests/third_party/sklearn_plugin.py                   # all of them
    python tests/third_party/sklearn_plugin.py --open-tapes      # each on a tape that watches all
    python tests/third_party/sklearn_plugin.py -rA -k StandardScaler  # the rest goes to pytest

It is a plugin of pytest.  scikit-learn's tests ask three generators which namespaces, devices and
dtypes there are; the plugin adds arraytape's to what they yield before the tests are imported, and
keeps the tests whose name has arraytape in it.  Nothing is changed on disk.
"""

import os
import sys

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # before SciPy and scikit-learn are imported

import functools
import tempfile
from pathlib import Path

import pytest
import sklearn
from sklearn.utils import _array_api

import arraytape as xp
from arraytape.testing import xp_backends

NAME = xp.__name__
PARAMETERS = ("yield_", "parametrize_with_checks")  # what such tests are parametrised by
COMBINATIONS = [(NAME, "cpu", "float32")]  # beside the default ones, which are yielded by name
HERE = _array_api.NamespaceAndDevice(NAME, "cpu")
MIXED = [
    (_array_api.NamespaceAndDevice("numpy", None), HERE, f"numpy to {NAME}"),
    (HERE, _array_api.NamespaceAndDevice("numpy", None), f"{NAME} to numpy"),
    (
        _array_api.NamespaceAndDevice("array_api_strict", "device1"),
        HERE,
        f"array_api_strict to {NAME}",
    ),
]


def also(name, more):
    """Let a generator of scikit-learn's yield more than it does."""
    given = getattr(_array_api, name)

    @functools.wraps(given)
    def generator(*args, **kwargs):
        yield from given(*args, **kwargs)
        yield from more

    setattr(_array_api, name, generator)


also("yield_namespaces", [NAME])
also("yield_namespace_device_dtype_combinations", COMBINATIONS)
also("yield_mixed_namespace_input_permutations", MIXED)


def pytest_addoption(parser):
    parser.addoption("--open-tapes", action="store_true", help="run each test on a tape of its own")


def pytest_ignore_collect(collection_path):
    """Files without such tests are not imported."""
    if collection_path.suffix != ".py" or not collection_path.stem.startswith("test_"):
        return None
    text = collection_path.read_text(encoding="utf-8")
    return None if any(word in text for word in PARAMETERS) else True


def pytest_collection_modifyitems(config, items):
    chosen = [item for item in items if NAME in item.name]
    config.hook.pytest_deselected(items=[item for item in items if NAME not in item.name])
    items[:] = chosen


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """With --open-tapes: what a test makes is watched, and its tape stays right."""
    if not item.config.getoption("--open-tapes"):
        return (yield)
    with xp_backends.on("taped"):
        return (yield)


def main(arguments):
    """Run the tests away from any project's settings for pytest, without writing caches."""
    sys.dont_write_bytecode = True
    here = Path(sklearn.__file__).parent
    with tempfile.TemporaryDirectory() as scratch:
        settings = Path(scratch) / "pytest.ini"
        settings.write_text("[pytest]\n")
        options = [f"--config-file={settings}", f"--rootdir={here}", "-q", "-p", "no:cacheprovider"]
        options += ["--assert=plain", "--disable-warnings", "--pyargs", "sklearn", *arguments]
        return int(pytest.main(options, plugins=[sys.modules[__name__]]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
