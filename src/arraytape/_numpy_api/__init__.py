"""NumPy's functions and methods on Arrays."""
