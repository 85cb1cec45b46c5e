"""The Python state that a call can read, and sources that may give a new value in each call."""
