"""Matrix products of CuPy while a stream captures a CUDA graph.

cuBLAS can be captured ("CUDA Graphs Support" in NVIDIA's documentation of cuBLAS), but CuPy 13 and 14
raise NotImplementedError before each call of cuBLAS in a capture.  ``CapturedProducts`` is a block in
which CuPy's products do not raise.  CuPy chooses layouts, transposes and types as ever, and calls
functions of its module ``cublas``.  In the block, these functions call cuBLAS through ctypes, with the
handle and the arguments that they were given, so that bits are those of products outside captures.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

from .._util.locks import reentrant_lock
from .._util.remembered import remembered

TYPES = {"i": ctypes.c_int, "l": ctypes.c_longlong, "p": ctypes.c_void_p}
BATCHED = "p iiiii p pi pi p pi i"
# Name in CuPy's module -> name in cuBLAS, and types of the arguments as letters of TYPES.  The number is
# the position of the argument that is the type of computation, if there is one.
FUNCTIONS: dict[str, tuple[str, str, int | None]] = {
    "gemmEx": ("cublasGemmEx", "p iiiii p pii pii p pii ii", 17),
    "gemmStridedBatchedEx": (
        "cublasGemmStridedBatchedEx",
        "p iiiii p piil piil p piil iii",
        21,
    ),
    **{f"{x}gemmBatched": (f"cublas{x.upper()}gemmBatched", BATCHED, None) for x in "sdcz"},
}
# CUDA's data types (float32, float64, complex64, complex128) -> cuBLAS's types of computation.  CuPy
# passes the former for a batch, and cuBLAS's header maps them.
COMPUTATIONS = {0: 68, 1: 70, 4: 68, 5: 70}
PEDANTIC = 2  # a math mode of cuBLAS, in which the types of computation are greater by 1
HOPPER = 9  # major version of the compute capability


class CapturedProducts:
    """A block in which matrix products of CuPy become part of the CUDA graph that a stream captures.

    Blocks can be nested, and several threads can be in blocks at once.  In a block, functions of CuPy's
    module ``cublas`` are replaced for all threads.  The replacements call the original functions first,
    which raise NotImplementedError in captures alone.
    """

    def __init__(self, cupy: ModuleType) -> None:
        self.cupy = cupy
        self.lock = reentrant_lock()
        self.depth = 0  # the number of blocks that have begun and not ended

    @remembered
    def module(self) -> Any:
        """Return CuPy's module of functions that call cuBLAS; CuPy looks up a function at each call."""
        return import_module("cupy_backends.cuda.libs.cublas")

    @remembered
    def originals(self) -> dict[str, Callable[..., None]]:
        """Return the functions of CuPy's module that have replacements, by name."""
        return {
            name: getattr(self.module, name) for name in FUNCTIONS if hasattr(self.module, name)
        }

    @remembered
    def replacements(self) -> dict[str, Callable[..., None]]:
        """Return the functions that take the place of CuPy's, by name."""
        return {name: self.replacement(name) for name in self.originals}

    @remembered
    def library(self) -> Any:
        """Return cuBLAS, which CuPy has loaded; raise NotImplementedError if it is not found."""
        version = self.cupy.cuda.runtime.runtimeGetVersion() // 1000
        windows = sys.platform == "win32"
        try:
            library = ctypes.CDLL(
                f"cublas64_{version}.dll" if windows else f"libcublas.so.{version}"
            )
            for symbol, types, _ in FUNCTIONS.values():
                getattr(library, symbol).argtypes = [TYPES[x] for x in types if x != " "]
            library.cublasSetStream_v2.argtypes = [ctypes.c_void_p] * 2
            library.cublasSetWorkspace_v2.argtypes = [*[ctypes.c_void_p] * 2, ctypes.c_size_t]
        except (OSError, AttributeError) as error:
            raise NotImplementedError(
                f"matrix products cannot be captured, because cuBLAS was not found: {error}"
            ) from error
        return library

    def __enter__(self) -> None:
        with self.lock:
            if not self.depth:
                self.set_functions(self.replacements)
            self.depth += 1

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.depth -= 1
            if not self.depth:
                self.set_functions(self.originals)

    def set_functions(self, functions: dict[str, Callable[..., None]]) -> None:
        """Set attributes of CuPy's module to these functions."""
        for name, function in functions.items():
            setattr(self.module, name, function)

    def replacement(self, name: str) -> Callable[..., None]:
        """Return the function that takes the place of a function of CuPy's module."""
        cupy, original = self.cupy, self.originals[name]

        def call_cublas(handle: int, *arguments: Any) -> None:
            try:
                original(handle, *arguments)
            except NotImplementedError:
                stream = cupy.cuda.get_current_stream()
                if not stream.is_capturing():
                    raise
                self.capture(name, stream, [handle, *arguments])

        return call_cublas

    def capture(self, name: str, stream: Any, arguments: list[Any]) -> None:
        """Call a function of cuBLAS so that its work becomes part of the stream's graph.

        name, arguments : the function of CuPy's module, and its arguments.
        """
        symbol, _, computation = FUNCTIONS[name]
        library, module, handle = self.library, self.module, arguments[0]
        if computation is not None and arguments[computation] in COMPUTATIONS:
            pedantic = module.getMathMode(handle) & 0xF == PEDANTIC
            arguments[computation] = COMPUTATIONS[arguments[computation]] + pedantic
        size = workspace_size(self.cupy)
        workspace = self.cupy.empty(size, "uint8")
        module.check_status(library.cublasSetStream_v2(handle, stream.ptr))
        try:
            module.check_status(library.cublasSetWorkspace_v2(handle, workspace.data.ptr, size))
            module.check_status(getattr(library, symbol)(*arguments))
        finally:
            library.cublasSetStream_v2(handle, stream.ptr)  # makes the handle forget the workspace


def workspace_size(cupy: ModuleType) -> int:
    """Return the number of bytes of cuBLAS's workspace that NVIDIA recommends.

    It is 32 MiB on Hopper and later, and 4 MiB on earlier GPUs (documentation of cublasSetWorkspace).
    A graph must not use the workspace of CuPy's handle, which another stream may use at the same time.
    The memory is from the current allocator, like other intermediate memory of a captured step.  Later
    work of the same graph may use the memory again.
    """
    major = int(cupy.cuda.Device().compute_capability[:-1])
    return (32 if major >= HOPPER else 4) << 20
