"""Gradients of sums over partitions of data, which Dask computes: in threads, processes, on clusters.

The package needs Dask: ``pip install 'arraytape[distributed]'``.

>>> import arraytape as xp
>>> def loss(w, X, y):  # of one partition
...     return xp.sum((xp.asarray(X) @ w - xp.asarray(y)) ** 2)
>>> X, y = [[[1.0], [2.0]], [[3.0]]], [[1.0, 2.0], [4.0]]  # or Dask arrays, dataframes
>>> data = xp.distributed.partitions(X, y)
>>> value, gradient = xp.distributed.value_and_grad(loss, data)(xp.asarray([1.0]))
>>> print(value, gradient)
1.0 [-6.]
"""

from ._errors import PartitionError
from ._partitions import Partitions, partitions
from ._sums import map_sum, value_and_grad

__all__ = ["PartitionError", "Partitions", "map_sum", "partitions", "value_and_grad"]


def __dir__() -> list[str]:
    return sorted(__all__)
