"""Batched data: raw data with hidden leading axes, which represents many arrays at once.

``vmap`` and Jacobians compute with such data.  ``batched_data`` has the type ``Batched``, and
``batched_storage`` its storage.  ``batched_operators`` adds the Python operators.  The functions of the
raw namespace are in ``batched_namespace``, ``indexing`` and ``matrix_products``.
"""
