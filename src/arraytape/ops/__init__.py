"""The ops, in one module for each chapter of the array API standard."""

# These modules attach methods to the class Array.
from . import leaving, operators  # noqa: F401
