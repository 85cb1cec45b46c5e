"""Captures of streams on a device: a launch does the work of a graph, and CUDA's rules are kept.

A stand-in for a GPU has to keep the rules of CUDA, so that it shows which steps can be captured.
"""

import contextlib

import numpy as np
import pytest

cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
pytestmark = pytest.mark.any_storage
GLOBAL = 0  # cudaStreamCaptureModeGlobal


@pytest.fixture(autouse=True)
def _device():
    try:
        cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        pytest.skip(f"CuPy is installed, but there is no GPU: {error}")


@contextlib.contextmanager
def capturing(mode=None, ends=True):
    """Return a block that a stream captures, whose value is a list to which its end adds the graph."""
    stream, found = cupy.cuda.Stream(non_blocking=True), []
    with stream:
        stream.begin_capture(mode)
        try:
            yield found
        finally:
            if ends:
                found.append(stream.end_capture())
            else:  # a call that CUDA forbids has ended the capture
                with pytest.raises((cupy.cuda.runtime.CUDARuntimeError, RuntimeError)):
                    stream.end_capture()


def test_a_launch_does_the_work_of_its_graph_in_order():
    x, y, flags = cupy.zeros(3), cupy.ones(3), cupy.ones(4, np.int32)
    for _ in range(2):  # compile the kernel
        x += y
    x[...] = 0.0
    with capturing() as graphs:
        x += y
        y.data.copy_from_device_async(x.data, x.nbytes)
        y *= 2.0
        flags.data.memset_async(0, flags.nbytes)
    assert (x.sum(), y.sum(), flags.sum()) == (0.0, 3.0, 4)
    for expected in ([1.0, 2.0], [3.0, 6.0], [9.0, 18.0]):
        graphs[0].launch()
        assert [float(x[0]), float(y[0]), int(flags.sum())] == [*expected, 0]
    x[...], y[...] = -1.0, 0.5
    graphs[0].launch()
    assert (float(x[2]), float(y[2])) == (-0.5, -1.0)


def test_arguments_of_kernels_are_kept_by_value_and_graphs_side_by_side():
    x, add, graphs = (
        cupy.zeros(3),
        cupy.ElementwiseKernel("float64 a", "float64 y", "y += a", "add_it"),
        [],
    )
    add(0.0, x)
    for value in (1.0, 10.0):
        with capturing() as found:
            add(value, x)
        graphs += found
    for i in (0, 1, 1, 0):
        graphs[i].launch()
    assert float(x[0]) == 22.0
    del graphs[0], found
    graphs[0].launch()
    assert float(x[1]) == 32.0


def test_a_callback_on_the_host_is_called_by_each_launch():
    if int(cupy.__version__.partition(".")[0]) < 14:
        pytest.skip("CuPy 13 frees a captured callback after the first launch")
    seen = []
    with capturing() as graphs:
        cupy.cuda.get_current_stream().launch_host_func(seen.append, "called")
    assert seen == []
    for _ in range(2):
        graphs[0].launch()
    cupy.cuda.Device().synchronize()
    assert seen == ["called", "called"]


def test_a_stream_that_waits_for_a_captured_event_takes_part():
    x, other = cupy.zeros(3), cupy.cuda.Stream(non_blocking=True)
    x += 1.0
    with capturing() as graphs:
        stream = cupy.cuda.get_current_stream()
        other.wait_event(stream.record())
        with other:
            x += 1.0
        stream.wait_event(other.record())
        x *= 3.0
    assert not other.is_capturing()
    assert float(x[0]) == 1.0
    graphs[0].launch()
    assert float(x[0]) == 6.0


def wait_for_the_stream(x):
    cupy.cuda.get_current_stream().synchronize()


def wait_for_the_device(x):
    cupy.cuda.Device().synchronize()


def wait_for_an_event(x):
    cupy.cuda.get_current_stream().record().synchronize()


def wait_for_an_event_from_before(x):
    event = cupy.cuda.Event()
    event.record(cupy.cuda.Stream.null)
    cupy.cuda.get_current_stream().wait_event(event)


def add_a_callback(x):
    cupy.cuda.get_current_stream().add_callback(lambda *_: None, 0)


FORBIDDEN = [
    wait_for_the_stream,
    wait_for_the_device,
    wait_for_an_event,
    wait_for_an_event_from_before,
    add_a_callback,
]


@pytest.mark.parametrize("call", FORBIDDEN)
def test_a_forbidden_call_raises_and_ends_the_capture(call):
    x = cupy.zeros(3)
    with capturing(ends=False), pytest.raises(cupy.cuda.runtime.CUDARuntimeError, match="Capture"):
        call(x)
    x += 1.0
    with capturing() as graphs:
        x += 1.0
    graphs[0].launch()
    assert float(x[0]) == 2.0


def test_work_that_is_not_waited_for_is_no_graph():
    x, other = cupy.zeros(3), cupy.cuda.Stream(non_blocking=True)
    x += 1.0
    with capturing(ends=False):
        other.wait_event(cupy.cuda.get_current_stream().record())
        with other:
            x += 1.0
    assert not other.is_capturing()


def test_memory_is_allocated_in_the_relaxed_mode_alone():
    with capturing():
        assert cupy.cuda.Memory(512).ptr
    refusals = cupy.cuda.runtime.CUDARuntimeError, cupy.cuda.memory.OutOfMemoryError
    with capturing(GLOBAL, ends=False), pytest.raises(refusals):
        cupy.cuda.Memory(512)
