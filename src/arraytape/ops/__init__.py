"""The ops, one file per chapter of the standard."""

# For what they attach to the Array.
from . import leaving, operators  # noqa: F401
