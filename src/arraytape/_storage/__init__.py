"""The storages: one object for each type of raw data (NumPy's, CuPy's arrays), with its functions."""
