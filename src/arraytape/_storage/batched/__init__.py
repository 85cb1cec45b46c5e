"""Batched data: raw data with hidden leading axes, which represents many arrays at once.

``batched_data`` has the type ``Batched``, ``batched_storage`` its storage.  ``batched_operators`` adds
the Python operators.  ``batched_namespace``, ``indexing`` and ``matrix_products`` have the functions.
"""
