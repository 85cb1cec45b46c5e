"""A pytest plugin that runs SciPy's own tests with arraytape as the one backend of their ``xp``.

``pytest -p scipy_plugin --pyargs scipy.stats`` with this folder on the path and SCIPY_ARRAY_API=1.
"""

import pytest
import scipy.conftest as theirs

import arraytape

NAME = "arraytape"


def adopt():
    """Put arraytape in the place of the backends that SciPy's fixtures know."""
    backend = pytest.param(arraytape, id=NAME, marks=pytest.mark.array_api_backends)
    theirs.xp_known_backends.add(NAME)
    theirs.xp = pytest.fixture(params=[backend])(theirs.xp.__wrapped__)
    theirs.devices = pytest.fixture(devices)


def devices(xp):
    """SciPy's fixture of the same name adds a list to what the standard has as a tuple."""
    return [*xp.__array_namespace_info__().devices(), None]


def pytest_collection_modifyitems(config, items):
    """Tests that never ask for ``xp`` are NumPy's alone."""
    ours = [item for item in items if "xp" in getattr(item, "fixturenames", ())]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(ours)])
    items[:] = ours


adopt()
