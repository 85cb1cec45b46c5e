"""The Python state that a call can read: how it is found, compared, and why it may be incomparable."""
