"""Tools of the whole package that do not need Arrays: error messages, nestings, locks, ``with`` blocks.

This module checks the version of NumPy, because it is imported before the modules that would fail with
an older NumPy.
"""

import numpy as np

OLDEST = 2, 2  # the oldest NumPy that works; a test checks that pyproject.toml says the same


def check_version(found: str) -> None:
    """Raise ImportError if this NumPy version is older than the package needs."""
    major, minor, *_ = found.split(".")
    if (int(major), int(minor)) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise ImportError(
            f"install a newer NumPy: arraytape needs NumPy {oldest} or later, and found {found} "
            f"({np.__file__}); python -m pip install 'numpy>={oldest}'"
        )


check_version(np.__version__)
