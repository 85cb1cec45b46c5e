"""Tracing: traced data, whose calls are computed and added to a program, and the Arrays that hold it."""
