"""Batched data: raw data with hidden leading axes, which stands for many arrays at once.

``batched_data`` has the type and ``batched_storage`` its storage.  ``batched_operators`` attaches the
Python operators.  ``batched_namespace``, ``indexing`` and ``matrix_products`` have the functions.
"""
