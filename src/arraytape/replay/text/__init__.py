"""The source text of a program that replays run: a generated Python function that calls NumPy."""
