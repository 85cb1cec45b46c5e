"""Tracing: record the NumPy calls of a running function, which become the program of its replays.

While the function runs, the Arrays that it uses hold ``Traced`` objects in place of ndarrays.  Each call
on a ``Traced`` object computes as usual, and is also added to the program.
"""
