"""Whether these tests leave out anything that SciPy offers for arrays of any namespace."""

import importlib
import re
from pathlib import Path

import pytest

# What SciPy lists, and has only in NumPy's terms: its own tests of it run on NumPy alone.
NOT_IN_FACT = {
    "impulse": "mixes NumPy arrays with those it is given",
    "place_poles": "mixes NumPy arrays with those it is given",
}
MODULES = [
    "scipy.cluster", "scipy.constants", "scipy.differentiate", "scipy.fft", "scipy.integrate",
    "scipy.interpolate", "scipy.linalg", "scipy.ndimage", "scipy.optimize", "scipy.signal",
    "scipy.spatial", "scipy.stats",
]  # fmt: skip
SOURCES = "\n".join(
    p.read_text(encoding="utf-8") for p in Path(__file__).parent.glob("test_scipy_*.py")
)


@pytest.mark.parametrize("module", MODULES)
def test_every_function_that_scipy_offers_is_tested(offered, module):
    """By its name; ``scipy.special`` has a test of its own that looks closer."""
    importlib.import_module(module)
    for part in ("hierarchy", "vq", "elementwise", "transform", "windows"):
        if importlib.util.find_spec(f"{module}.{part}"):
            importlib.import_module(f"{module}.{part}")
    names = offered(module)
    assert names
    tested = {name for name in names if re.search(rf"\b{name}\b", SOURCES)}
    assert names - tested - {*NOT_IN_FACT} == set()
