"""Search and comparison of the Python state that a call can read, such as globals and attributes."""
