"""Print versions for reports of bugs: ``python -m arraytape``."""

from ._util.versions import show_versions

if __name__ == "__main__":
    show_versions()
