"""Functions with derivatives of the user's own, and functions that run again."""
