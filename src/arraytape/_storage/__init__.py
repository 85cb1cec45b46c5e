"""Raw data: one storage for each kind, found by the type of the data."""
