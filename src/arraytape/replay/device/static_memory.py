"""The static inputs: memory of a program on a device, into which each call copies its data.

A CUDA graph reads and writes the same memory in each launch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..program import Node
from .batched_copies import copy_all

STEP = 16  # the bytes of which the position of each uploaded value is a multiple


class StaticInputs:
    """The memory from which a CUDA graph reads its inputs in each launch.

    It has copies of data of the device, and then of values of the host.  These values lie in one buffer,
    so that one copy sends all of them.
    data : data of the device, as in later calls.
    sent : the nodes of the values of the host.
    arrays : the inputs, in the order of the program's.
    """

    def __init__(self, data: Sequence[Any], sent: Sequence[Node]) -> None:
        import cupy

        self.own = [cupy.empty_like(x) for x in data]
        self.spans: list[tuple[int, int]] = []
        size = 0
        for node in sent:
            self.spans.append((size, size + node.size * node.dtype.itemsize))
            size = -(-self.spans[-1][1] // STEP) * STEP
        self.buffer = cupy.empty(size, np.uint8)
        parts = [
            self.buffer[start:end].view(node.dtype).reshape(node.shape)
            for (start, end), node in zip(self.spans, sent, strict=True)
        ]
        self.arrays = [*self.own, *parts]

    def fill(self, data: Sequence[Any], stream: Any) -> None:
        """Copy the data of a call into this memory, from which the CUDA graph reads its inputs.

        data : arrays in the order of ``arrays``.
        stream : the CUDA stream of the copies.
        """
        count = len(self.own)
        copy_all(data[:count], self.own)
        if self.spans:
            host = np.zeros(self.buffer.size, np.uint8)
            for (start, end), x in zip(self.spans, data[count:], strict=True):
                host[start:end] = np.ascontiguousarray(x).reshape(-1).view(np.uint8)
            self.buffer.set(host, stream)
