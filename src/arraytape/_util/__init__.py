"""Tools of every room, without knowledge of arrays: messages, nestings, attached methods.

The body runs before anything of the package for which NumPy may be too old.
"""

import numpy as np

OLDEST = 2, 2  # as pyproject.toml has it; a test holds them equal


def check_version(found: str) -> None:
    """Raise ImportError, with both versions, if NumPy is older than the package needs."""
    major, minor, *_ = found.split(".")
    if (int(major), int(minor)) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise ImportError(
            f"install a newer NumPy: arraytape needs NumPy {oldest} or later, and found {found} "
            f"({np.__file__}); python -m pip install 'numpy>={oldest}'"
        )


check_version(np.__version__)
