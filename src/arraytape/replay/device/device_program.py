"""A program that runs on a device, as one CUDA graph if it can be captured.

The program has memory of its own: *static* inputs, into which each call copies its data, and static
results, from which the call gets copies.  So a graph, which always uses the same memory, can be launched
for any data, and no call overwrites what an earlier one has returned.  Memory in between comes from a
pool that nothing else uses, as long as the graph exists.

The graph is launched when it is made, and its results are compared with those of the calls.  If they
differ, or if CuPy cannot capture the calls, the calls are made one by one, which is slower but right.
Matrix products are captured by ``CapturedProducts``.  CuPy 13 and 14 cannot capture calls of cuSOLVER.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from threading import get_ident
from typing import Any
from weakref import finalize

import numpy as np

from ..._storage.storage import storage_for
from ..._util.locks import reentrant_lock
from ..program import GuardFailed, Program
from ..reach.reasons import Apart
from ..text.program_source import Source
from ..tracing.traced_on_device import device_state
from .batched_copies import copy_all, flag_nan
from .device_source import DeviceSource
from .elementwise_kernels import fuse_calls
from .split_program import NotOnDevice, PartIndex, split_program
from .static_memory import StaticInputs

WARM_UPS = 2  # calls before the capture, in which CuPy compiles kernels and makes handles
OVERWRITTEN = (1.0, 85.0)  # numbers that overwrite results before the graph's first launches
# Dtype -> the tolerance in the comparison of a graph's results with the calls'.
TOLERANCE = {np.dtype(np.float16): 1e-2, np.dtype(np.float32): 1e-4, np.dtype(np.complex64): 1e-4}


class DeviceProgram:
    """The callable that runs a program on a device; it maps inputs' data to outputs and writes.

    A program is the list of array calls recorded in a user's function.  If a guard, a condition on a
    value, does not hold, it raises GuardFailed, and nothing was written.  Results are new arrays.
    why : the reason why the calls are made one by one, or "" if a graph is launched.
    """

    compiled = False  # as machine code

    def __init__(self, program: Program, device: str, name: str, data: Sequence[Any]) -> None:
        """Capture the program, array calls recorded in a user's function, as a CUDA graph.

        Calls that CuPy cannot capture are made one by one.  Raise NotOnDevice if a call on the device
        needs data of the host.
        name : the name of the user's function.
        data : the data of the inputs in the recorded call, for the warm-up.
        """
        import cupy

        storage: Any = storage_for(cupy.ndarray)
        self.cupy, self.device, self.home = cupy, device, storage.on(device)
        self.captured_products = storage.captured_products
        if self.home != cupy.cuda.Device():
            raise NotOnDevice(f"its data is on {device}, which is not CuPy's current device")
        self.parts = split_program(program)
        self.host = Source(self.parts.host, name)
        self.state = device_state()
        self.lock = reentrant_lock()
        self.done = cupy.cuda.Event(disable_timing=True)
        finalize(self, self.done.synchronize).atexit = False  # work may still use the memory
        # Thread and stream of the last call: each thread may have a default stream of its own.
        self.last: tuple[int, Any] | None = None
        self.graph: Any = None
        self.why = ""
        self.pool = cupy.cuda.MemoryPool()
        self.generate_source(name)
        self.capture(data)

    def generate_source(self, name: str) -> None:
        """Fuse elementwise calls to GPU kernels, and generate the function that makes all calls."""
        whole = fuse_calls(self.parts.device)
        self.count = sum(node.op != "item" and node.is_call for node in whole.nodes)
        results = [*whole.outputs, *whole.writes, *[guard.node for guard in whole.guards]]
        distinct = {node: i for i, node in enumerate(dict.fromkeys(results))}
        self.places = [distinct[node] for node in results]
        self.checked = len(whole.guards)
        self.source = DeviceSource(whole, [*distinct], name)

    @property
    def text(self) -> str:
        """Return the Python source of the host's part, if there is one, and of the device's part."""
        on_host = self.parts.host.count() > 0
        return f"{self.host.text}\n{self.source.text}" if on_host else self.source.text

    @property
    def bytes(self) -> int:
        """Return the number of bytes that the program keeps on the device."""
        return int(self.pool.total_bytes())

    def explain(self) -> str:
        """Return as text how the program runs, and why no graph is launched, if so."""
        if self.graph is not None:
            return f"a CUDA graph of {self.count} calls of CuPy on {self.device}"
        return f"{self.count} calls of CuPy on {self.device}, not a CUDA graph: {self.why}"

    # --- capture ----------------------------------------------------------------------------------
    def capture(self, data: Sequence[Any]) -> None:
        """Capture the calls as a CUDA graph, and compare its results with those of the calls.

        Static memory, which the graph uses in each launch, is allocated before.
        data : the data of the inputs in the recorded call.
        """
        cupy, parts = self.cupy, self.parts
        _, given = self.on_host(data)
        cupy.cuda.get_current_stream().synchronize()
        stream = cupy.cuda.Stream(non_blocking=True)
        with cupy.cuda.using_allocator(self.pool.malloc), stream:
            own = len(given) - parts.uploads
            self.inputs = StaticInputs(given[:own], parts.device.inputs[own:])
            self.flag = cupy.zeros(1, np.int32)
            self.inputs.fill(given, stream)
            for _ in range(WARM_UPS):
                self.results: Sequence[Any] = ()  # free the results of the last warm-up
                self.results = self.compute()
            expected = [x.copy() for x in self.static_results()]
            self.results = ()
            graph = self.captured_graph(stream)
            if graph is None:
                self.results = ()
            elif all(self.graph_repeats(graph, expected, number) for number in OVERWRITTEN):
                self.graph = graph
            else:
                self.why = "a launch of the graph gave other values"
                self.results = ()
            stream.synchronize()

    def captured_graph(self, stream: Any) -> Any:
        """Return a CUDA graph of one run of ``compute``, and set ``results`` to the arrays it writes.

        Return None, and set ``why``, if CuPy cannot capture the calls.
        """
        ended = False
        try:
            stream.begin_capture()
            with self.captured_products:
                self.results = self.compute()
            ended = True
            return stream.end_capture()
        except Exception as error:
            self.why = f"CuPy cannot capture it ({error})"
            return None
        finally:
            if not ended:  # an exception or interrupt stopped the capture
                with suppress(Exception):
                    stream.end_capture()

    def graph_repeats(self, graph: Any, expected: Sequence[Any], number: float) -> bool:
        """Return True if a launch of the CUDA graph gives the expected results and NaN flag.

        Before the launch, the results are overwritten with ``number``.  So results that the graph does
        not compute differ.
        """
        found = self.static_results()
        for x in found:
            if not any(self.cupy.may_share_memory(x, own) for own in self.inputs.arrays):
                x.fill(number)
        graph.launch()
        return all(map(is_close, found, expected))

    def static_results(self) -> list[Any]:
        """Return the arrays into which each launch writes results, and the NaN flag if there is one."""
        return [*self.results, *([self.flag] if self.checked else [])]

    def compute(self) -> list[Any]:
        """Make the calls on the static inputs, the memory into which each run copies its data.

        Return outputs and new values of written Arrays, and set the flag for NaN.
        """
        values = self.source.function(*self.inputs.arrays)
        found = [values[place] for place in self.places]
        if self.checked:
            flag_nan(found[-self.checked :], self.flag)
        return found[: len(found) - self.checked]

    # --- calls ------------------------------------------------------------------------------------
    def __call__(self, *data: Any) -> tuple[list[Any], list[Any]]:
        if device_state() != self.state:
            raise Apart("CuPy's error state is not that of the traced call")
        (outputs, writes), given = self.on_host(data)
        with self.lock, self.home:
            stream = self.cupy.cuda.get_current_stream()
            if stream.is_capturing():
                raise Apart("CuPy captures the current stream")
            made = self.launch(given, stream)
        parts, count = self.parts, len(self.parts.device.outputs)
        return (
            [value_at(place, made, outputs) for place in parts.outputs],
            [value_at(place, made[count:], writes) for place in parts.writes],
        )

    def launch(self, given: Sequence[Any], stream: Any) -> list[Any]:
        """Run the program on ``given``: launch its CUDA graph, or call by call if there is none.

        Return copies of the results, whose memory the next launch overwrites.
        given : the data of the device's inputs.
        """
        last, self.last = self.last, (get_ident(), stream)
        if last is not None and last != self.last:
            stream.wait_event(self.done)  # the last call may still use the static memory
        try:
            self.inputs.fill(given, stream)
            if self.graph is None:
                results: Sequence[Any] = self.compute()
            else:
                self.graph.launch(stream)
                results = self.results
            made = [self.cupy.empty_like(x) for x in results]
            copy_all(results, made)
        finally:
            self.done.record(stream)
        if self.checked and self.flag.item():
            raise GuardFailed(self.parts.device.guards[0])
        return made

    def on_host(self, data: Sequence[Any]) -> tuple[Any, list[Any]]:
        """Run the part of the program on the host, such as the step size of an optimizer.

        Return a pair: its outputs and writes, and the list of the data for the part on the device.
        """
        pairs = [*zip(data, self.parts.inputs, strict=True)]
        found = self.host.function(*[x for x, place in pairs if not place.on_device])
        own = [x for x, place in pairs if place.on_device]
        return found, [*own, *found[0][: self.parts.uploads]]


def value_at(place: PartIndex, on_device: Sequence[Any], on_host: Sequence[Any]) -> Any:
    """Return an output or write of the program from the values of its two parts.

    place : the part (device or host), and the position in this part.
    """
    return (on_device if place.on_device else on_host)[place.number]


def is_close(x: Any, y: Any) -> bool:
    """Return True if two arrays are equal, up to the rounding errors of sums in another order."""
    import cupy

    if x.dtype.kind not in "fc":
        return bool((x == y).all())
    tolerance = TOLERANCE.get(x.dtype, 1e-9)
    return bool(cupy.allclose(x, y, tolerance, tolerance, equal_nan=True))
