"""Search and comparison of the Python state that a function can read, such as globals and attributes.

A replay runs a recorded program in place of the function.  That is right only while this state is
unchanged.
"""
