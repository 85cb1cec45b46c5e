"""``pytest --storage hostile``: the tests that suit any storage, with its data by default."""

import importlib.util
import sys
from pathlib import Path

import pytest

# Test modules whose programs run on any storage; the others look into NumPy's memory, count its frames
# or compare its bits.
ANY_STORAGE = {
    "test_custom", "test_forward", "test_linalg", "test_numerics", "test_selection", "test_storages",
    "test_tape", "test_tape_protocol", "test_variable",
}  # fmt: skip


def pytest_addoption(parser):
    parser.addoption(
        "--storage",
        choices=("numpy", "hostile", "frozen", "array_api_strict", "cupy"),
        default="numpy",
        help="where arrays lie that are made without a device (default: numpy)",
    )


def pytest_collection_modifyitems(config, items):
    storage = config.getoption("--storage")
    for item in items:
        home = item.path.stem
        if storage != "numpy" and home not in ANY_STORAGE:
            item.add_marker(pytest.mark.skip(reason=f"{home} is about NumPy's data"))


@pytest.fixture(autouse=True)
def default_storage(request):
    """The chosen storage as the default one, for each test."""
    name = request.config.getoption("--storage")
    if name == "numpy":
        yield
        return
    import arraytape as xp
    from arraytape.testing import storages

    before = xp.__array_namespace_info__().default_device()
    if name == "cupy":
        xp.set_default_device("cuda:0")
    else:
        made = {"array_api_strict": storages.strict}.get(name) or getattr(storages, name)
        xp.set_default_device(made().devices()[0])
    yield
    xp.set_default_device(before)


@pytest.fixture(scope="session")
def programs():
    """The generator of random programs: the package ``random_programs`` beside this file."""
    place = Path(__file__).parent / "random_programs"
    spec = importlib.util.spec_from_file_location(
        place.name, place / "__init__.py", submodule_search_locations=[str(place)]
    )
    package = sys.modules[place.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(package)
    return package
