"""``Partitions``: data that is split by rows into blocks; Dask keeps each block where it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._array.array import Array
from .._util import nest
from .._util.errors import describe, user_line
from .._util.options import unwrap_option
from ._engine import persist_blocks


class Partitions:
    """Data in partitions, each a tuple of blocks (arguments of a function): what ``partitions`` returns.

    Parameters
    ----------
    blocks : Sequence of tuple
        For each partition its blocks: arrays, ``dask.delayed`` objects, futures.
    fan_in : int, default: 8
        The number of results that one task of a sum adds.
    retries : int, default: 0
        The number of times that a task which raised is run again on a cluster, for readers that fail
        now and then.  A task whose worker died is run again in any case.

    Examples
    --------
    >>> import arraytape as xp
    >>> X = [[[1.0], [2.0]], [[3.0]]]  # two partitions, of two rows and of one
    >>> y = [[1.0, 2.0], [3.0]]
    >>> data = xp.distributed.partitions(X, y)
    >>> isinstance(data, xp.distributed.Partitions)
    True
    >>> data
    Partitions(2 of (list, list))
    >>> kept = data.persist()  # computed once, and kept by the workers
    >>> noisy = data.seeded(0)  # functions get a seed of their partition as their last argument
    >>> noisy
    Partitions(2 of (list, list, SeedSequence))
    """

    def __init__(
        self, blocks: Sequence[tuple[Any, ...]], fan_in: int = 8, retries: int = 0
    ) -> None:
        self._blocks = [tuple(row) for row in blocks]
        self._fan_in, self._retries = fan_in, retries
        leaves = [leaf for row in self._blocks for leaf in nest.leaves(row)]
        self._arrays = [leaf for leaf in leaves if isinstance(leaf, Array)]

    def __len__(self) -> int:
        return len(self._blocks)

    def __repr__(self) -> str:
        kinds = ", ".join(type(block).__name__ for block in self._blocks[0])
        return f"Partitions({len(self)} of ({kinds}))"

    def persist(self) -> Partitions:
        """Compute the blocks once, and keep them in the memory of the workers.

        Returns
        -------
        Partitions
            The same data.  On a cluster the scheduler knows how blocks were made, so the blocks of a
            lost worker are computed again.
        """
        return Partitions(persist_blocks(self._blocks, self._retries), self._fan_in, self._retries)

    def seeded(self, seed: int) -> Partitions:
        """Add a seed as the last block of each partition: different for each, the same in each step.

        Parameters
        ----------
        seed : int
            The seed that ``numpy.random.SeedSequence.spawn`` makes the partitions' seeds from.

        Returns
        -------
        Partitions
            The function gets the seed as its last argument, for ``numpy.random.default_rng(seed)``.  The
            function runs again for its gradient, and then draws the same numbers.

        Raises
        ------
        TypeError, ValueError
            When the seed is no integer, or negative.
        """
        check_count("seed", seed, 0)
        seeds = np.random.SeedSequence(seed).spawn(len(self))
        rows = [(*row, one) for row, one in zip(self._blocks, seeds, strict=True)]
        return Partitions(rows, self._fan_in, self._retries)


def partitions(*collections: Any, fan_in: int = 8, retries: int = 0) -> Partitions:
    """Make partitions of Dask collections, or of blocks in lists.

    Parameters
    ----------
    *collections : dask array, dataframe or bag, or Sequence
        Collections with the same number of blocks, in the same order; a function gets one block of each.
        Dask arrays are cut along their first axis; a block of a dataframe is its values.  A list holds
        arrays, ``dask.delayed`` objects or futures, or anything that can be pickled.
    fan_in : int, default: 8
        The number of results that one task of a sum adds.  The tree of sums over n partitions has about
        log(n) / log(fan_in) levels.
    retries : int, default: 0
        The number of times that a task which raised is run again on a cluster, for readers that fail
        now and then.  A task whose worker died is run again in any case.

    Returns
    -------
    Partitions
        The data for ``map_sum`` and ``value_and_grad``.

    Raises
    ------
    ValueError
        When there are no collections or no blocks, or their numbers or rows differ.
    TypeError
        When a collection is of another type.

    Examples
    --------
    >>> import numpy as np
    >>> import arraytape as xp
    >>> X = [np.asarray([[1.0], [2.0]]), np.asarray([[3.0]])]  # or a dask array, dataframe or bag
    >>> y = [np.asarray([1.0, 2.0]), np.asarray([4.0])]
    >>> data = xp.distributed.partitions(X, y)
    >>> data
    Partitions(2 of (ndarray, ndarray))
    """
    if not collections:
        raise ValueError(f"partitions: takes at least one collection of blocks [at {user_line()}]")
    check_count("fan_in", fan_in, 2)
    check_count("retries", retries, 0)
    columns = [blocks_of(i, one) for i, one in enumerate(collections)]
    counts = [len(column) for column in columns]
    if len(set(counts)) > 1:
        raise ValueError(
            f"partitions: the collections have {', '.join(map(str, counts))} blocks, but must have "
            f"the same number [at {user_line()}]; rechunk or repartition them alike"
        )
    if not counts[0]:
        raise ValueError(
            f"partitions: the collections have no blocks to sum over [at {user_line()}]"
        )
    check_rows(collections)
    return Partitions(list(zip(*columns, strict=True)), fan_in, retries)


def blocks_of(position: int, collection: Any) -> list[Any]:
    """Return the blocks of one collection: a list, or a Dask array, dataframe or bag.

    position : the index of the collection, for messages.
    """
    if hasattr(collection, "numblocks"):
        if not collection.ndim:
            raise ValueError(
                f"partitions: collection {position} is an array of shape (), which has no rows "
                f"[at {user_line()}]"
            )
        if any(count > 1 for count in collection.numblocks[1:]):
            collection = collection.rechunk(dict.fromkeys(range(1, collection.ndim), -1))
        return list(np.ravel(collection.to_delayed()))
    if hasattr(collection, "to_delayed"):
        blocks = list(collection.to_delayed())
        if len(blocks) != getattr(collection, "npartitions", len(blocks)):
            # Dask's optimizer joins small files of few columns: the number of blocks would depend on the
            # columns.
            blocks = list(collection.to_delayed(optimize_graph=False))
        return blocks
    if isinstance(collection, list | tuple):
        return list(collection)
    raise TypeError(
        f"partitions: collection {position} must be a dask array, dataframe or bag, or a list of "
        f"blocks, got {describe(collection)} [at {user_line()}]; cut an array by "
        "dask.array.from_array(x, chunks=(rows, -1))"
    )


def check_rows(collections: Sequence[Any]) -> None:
    """Raise ValueError if Dask arrays are cut at different rows; unknown lengths are accepted.

    collections : the arguments of ``partitions``.
    """
    chunks = [(i, c.chunks[0]) for i, c in enumerate(collections) if hasattr(c, "chunks")]
    known = [(i, rows) for i, rows in chunks if not any(np.isnan(n) for n in rows)]
    for i, rows in known[1:]:
        first, its = known[0]
        for at, (a, b) in enumerate(zip(its, rows, strict=True)):
            if a != b:
                raise ValueError(
                    f"partitions: block {at} has {a} rows in collection {first}, {b} in collection {i} "
                    f"[at {user_line()}]; rechunk them alike"
                )


def check_count(name: str, value: Any, least: int) -> None:
    """Raise TypeError or ValueError unless ``value`` is an int of at least ``least``.

    name : the name of the argument, for the message.
    """
    value = unwrap_option(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(
            f"partitions: {name} must be an int, got {describe(value)} [at {user_line()}]"
        )
    if value < least:
        raise ValueError(
            f"partitions: {name} must be at least {least}, got {value} [at {user_line()}]"
        )
