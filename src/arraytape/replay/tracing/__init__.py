"""Tracing: while a function runs, its Arrays hold traced data, which adds each call to a program."""
