"""Functions with a user-defined derivative, and functions that run again in the backward pass."""
