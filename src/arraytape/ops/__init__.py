"""The ops, one file per chapter of the standard."""
