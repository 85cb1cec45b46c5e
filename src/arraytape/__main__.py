"""Print versions for reports of bugs: ``python -m arraytape``."""

from ._util.versions import show_versions

show_versions()
