"""Gradients of sums over partitions of data, which Dask computes: in threads, processes, on clusters.

    from arraytape import distributed

    data = distributed.partitions(X, y).persist()           # Dask arrays, dataframes, lists of blocks
    value, gradient = distributed.value_and_grad(loss, data)(w)
    total = distributed.map_sum(statistics, data)           # total(w) is one recorded op

It needs Dask: ``pip install 'arraytape[distributed]'``.
"""

from ._errors import PartitionError
from ._partitions import Partitions, partitions
from ._sums import map_sum, value_and_grad

__all__ = ["PartitionError", "Partitions", "map_sum", "partitions", "value_and_grad"]


def __dir__() -> list[str]:
    """What is public."""
    return sorted(__all__)
