"""Counts of the rig's driver: launches of kernels, synchronizations and copies.

with counted() as counts:
    step()
assert counts.launches == 29 and counts.syncs == 0
"""

import contextlib
import ctypes
import dataclasses

_NAMES = (  # driver.cpp has the same list
    "launches",
    "mallocs",
    "frees",
    "h2d",
    "d2h",
    "d2d",
    "memsets",
    "stream_syncs",
    "device_syncs",
    "event_syncs",
    "captured",
    "graph_launches",
)
_library = ctypes.CDLL("libcuda.so.1")
_counters = (ctypes.c_long * len(_NAMES)).in_dll(_library, "rig_counters")
_log = ctypes.c_int.in_dll(_library, "rig_log_launches")


@dataclasses.dataclass
class Counts:
    """The number of calls of each kind."""

    launches: int = 0
    mallocs: int = 0
    frees: int = 0
    h2d: int = 0  # copies from host to device
    d2h: int = 0  # copies from device to host, which wait for the device
    d2d: int = 0
    memsets: int = 0
    stream_syncs: int = 0
    device_syncs: int = 0
    event_syncs: int = 0
    captured: int = 0  # launches that a capture of a stream recorded
    graph_launches: int = 0

    @property
    def syncs(self):
        """Return the number of waits of the host for a stream, the device or an event."""
        return self.stream_syncs + self.device_syncs + self.event_syncs

    def __sub__(self, other):
        return Counts(*(getattr(self, name) - getattr(other, name) for name in _NAMES))


def now():
    """Return all counts since the process began."""
    return Counts(*_counters)


@contextlib.contextmanager
def counted():
    """Return a block whose value is the ``Counts`` of the calls in it, complete at its end."""
    before, counts = now(), Counts()
    yield counts
    for name, value in vars(now() - before).items():
        setattr(counts, name, value)


@contextlib.contextmanager
def logged():
    """Return a block that writes the name of each launched kernel to standard error."""
    _log.value = 1
    try:
        yield
    finally:
        _log.value = 0
