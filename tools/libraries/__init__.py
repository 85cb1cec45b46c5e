"""Other people's libraries on Arrays: their functions, tried one by one, and their own tests.

``make libraries`` installs the libraries of ``requirements.txt`` into an environment of their own and
runs this package there.  ``calls`` has a table of functions for each library.
"""
