"""Tools of the whole package that know nothing of its arrays: messages, nestings, locks, blocks.

The NumPy version is checked here, since this module runs before any import that needs a newer NumPy.
"""

import numpy as np

OLDEST = 2, 2  # the same as in pyproject.toml, which a test checks


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
