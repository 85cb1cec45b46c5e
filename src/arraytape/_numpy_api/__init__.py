"""Make NumPy's functions and methods work on Arrays, as recorded ops: ``np.sum(x)``.  See README.md."""
