"""A check for files that tests leave behind in folders other than their temporary ones."""

import os

# Prefixes of the files that pytest, its plugins and the linters write.
CACHES = (".coverage", ".hypothesis", ".mypy_cache", ".pytest_cache", ".ruff_cache", "__pycache__")


class LeftFiles:
    """The direct entries of some folders, of which ``new()`` returns those added since its last call."""

    def __init__(self, *folders):
        self._known = {os.fspath(folder): set(os.listdir(folder)) for folder in folders}

    def new(self):
        """Return the paths of files and folders that are new since the last call."""
        found = []
        for folder, known in self._known.items():
            names = set(os.listdir(folder)) - known
            known |= names
            found += [os.path.join(folder, n) for n in names if not n.startswith(CACHES)]
        return sorted(found)
