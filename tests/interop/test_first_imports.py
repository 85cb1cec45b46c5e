"""A library may be imported for the first time within a context."""

import subprocess
import sys

import pytest

from arraytape.interop._statements import TABLES

PACKAGES = [(library, package) for library in ("sklearn", "scipy") for package in TABLES[library]]


@pytest.mark.every(8)
@pytest.mark.parametrize(("library", "package"), PACKAGES)
def test_a_package_is_imported_first_within_a_context(library, package):
    text = f"import arraytape as xp\nwith xp.interop.{library}():\n    import {package}"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
