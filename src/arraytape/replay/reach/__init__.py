"""The Python state that a call can reach, and what in it may give something else in each call."""
