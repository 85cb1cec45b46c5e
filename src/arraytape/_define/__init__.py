"""Declarations of ops: ``elementwise``, ``primitive`` and the like, and the code that they generate."""
