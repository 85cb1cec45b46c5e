"""Declarations of ops, such as ``elementwise("exp", ...)``, and the functions that they generate."""
