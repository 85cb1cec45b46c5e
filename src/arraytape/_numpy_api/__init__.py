"""NumPy's functions and methods on Arrays: see README.md."""
