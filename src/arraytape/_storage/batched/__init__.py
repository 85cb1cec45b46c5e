"""Batched data: hidden leading axes under arrays that look as if they were one.

``data`` is the type, ``operators`` and ``namespace`` its Python operators and functions (``names``,
``indexing`` and ``products`` hold what is long), and ``storage`` makes it a storage like any other.
"""
