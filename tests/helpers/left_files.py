"""Files that tests leave in folders that are not theirs."""

import os

# What pytest, its plugins and the linters write there themselves.
CACHES = (".coverage", ".hypothesis", ".mypy_cache", ".pytest_cache", ".ruff_cache", "__pycache__")


class LeftFiles:
    """The new files in some folders since the last call; folders in them are not searched."""

    def __init__(self, *folders):
        self._known = {os.fspath(folder): set(os.listdir(folder)) for folder in folders}

    def new(self):
        """Return the paths of files and folders that no earlier call gave."""
        found = []
        for folder, known in self._known.items():
            names = set(os.listdir(folder)) - known
            known |= names
            found += [os.path.join(folder, n) for n in names if not n.startswith(CACHES)]
        return sorted(found)
