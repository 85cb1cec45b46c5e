"""The functions of the array API standard, with their derivatives: one module for each chapter."""

# These modules attach methods to the class Array.
from . import leaving, operators  # noqa: F401
