"""Compilation of the text of LLVM's intermediate representation to machine code, by llvmlite.

llvmlite is optional.  Object code is kept on disk between processes, in the user's cache folder.
"""

from __future__ import annotations

import functools
import hashlib
import os
import sys
import sysconfig
from pathlib import Path
from threading import get_ident
from typing import Any

from ..._util.locks import reentrant_lock

OLDEST = (0, 45)  # the first version of llvmlite that has LLVM's new pass managers
LEVEL = 2  # the level of LLVM's optimizations, as in clang -O2
PASSES = "without vectorizers"  # names LLVM's other options in the keys of cached object code
DIGEST = hashlib.sha256
MOST = 1 << 28  # the bytes of object code beyond which the oldest files of the cache are removed
COMPILING = reentrant_lock()  # held while llvmlite compiles
if hasattr(os, "register_at_fork"):  # a forked child could not use LLVM if a thread was compiling
    os.register_at_fork(before=COMPILING.acquire, after_in_parent=COMPILING.release)


class Unsupported(Exception):
    """The error for a NumPy call that cannot become machine code; its text is the reason.

    NumPy then makes the call.
    """


@functools.cache
def why_not() -> str:
    """Return the reason why this process cannot run compiled programs, or "" if it can."""
    if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "compiled programs need CPython with its global interpreter lock"
    if flags_of_this_machine() is None or sys.maxsize < 2**32:
        return f"compiled programs are written for x86-64 and aarch64, not for {machine_name()}"
    try:
        from llvmlite import __version__ as version
    except ImportError as error:
        return f"pip install arraytape[compiled] brings llvmlite, which is missing ({error})"
    if tuple([int(part) for part in version.split(".")[:2]]) < OLDEST:
        return f"pip install arraytape[compiled] brings a newer llvmlite than {version}"
    return ""


def machine_name() -> str:
    import platform

    return platform.machine()


def flags_of_this_machine() -> str | None:
    """Return "x86" or "arm", the kind of this processor's floating-point flags; None for others.

    Machine code reads the flags, to learn that a result underflowed.
    """
    return {"x86_64": "x86", "AMD64": "x86", "aarch64": "arm", "arm64": "arm"}.get(machine_name())


@functools.cache
def native_target() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_triple(llvm.get_process_triple())


def target_machine() -> Any:
    """Return a new description of this processor for LLVM; new, because an engine takes ownership."""
    import llvmlite.binding as llvm

    return native_target().create_target_machine(
        opt=LEVEL,
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        jit=True,
    )


class Code:
    """Machine code in memory, which lives as long as this object.

    kept : whether the object code may be kept on disk; False if ``text`` has addresses of this process.
    cached : whether the object code was read from the disk.
    text : the code in LLVM's intermediate representation.
    """

    def __init__(self, text: str, kept: bool = True) -> None:
        import llvmlite.binding as llvm

        with COMPILING:
            file = ObjectFile(text if kept else None)
            self.cached = file.code is not None
            code = file.code if file.code is not None else object_code(text)
            if not self.cached:
                file.write(code)
            # An engine must be made with a module.  The compiled module would use a hundred times the
            # memory of an empty one.
            self.engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target_machine())
            self.engine.add_object_file(llvm.ObjectFileRef.from_data(code))
            self.engine.finalize_object()

    def address_of(self, name: str) -> int:
        """Return the address of the function ``name`` of the text."""
        return int(self.engine.get_function_address(name))


def object_code(text: str) -> bytes:
    """Compile the text of a module for this processor, and return the object code."""
    import llvmlite.binding as llvm

    machine = target_machine()
    module = llvm.parse_assembly(text)
    options = llvm.create_pipeline_tuning_options(speed_level=LEVEL)
    # The text has vectors already, and LLVM's vectorizer ends the process by an assertion on some
    # loops (LLVM 20, LoopVectorize.cpp).
    options.loop_vectorization = options.slp_vectorization = False
    options.loop_interleaving = False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return bytes(machine.emit_object(module))


class ObjectFile:
    """The object code of one text, as a file in the cache folder.

    code : the object code in the file; None if there is no file, or its checksum is wrong.
    """

    def __init__(self, text: str | None) -> None:
        self.path = object_path(text) if text is not None else None
        self.code: bytes | None = None
        if self.path is not None and is_private(self.path):
            try:
                content = self.path.read_bytes()
            except OSError:
                return
            digest, code = content[:32], content[32:]
            if DIGEST(code).digest() == digest:
                self.code = code

    def write(self, code: bytes) -> None:
        """Store the object code in the file, so that no other process reads an incomplete file."""
        if self.path is None:
            return
        try:
            part = self.path.with_name(f"{self.path.name}.{os.getpid()}.{get_ident()}")
            part.write_bytes(DIGEST(code).digest() + code)
            part.chmod(0o600)
            part.replace(self.path)
            remove_oldest_files(self.path.parent)
        except OSError:
            pass  # for example a full disk: the next process compiles again


def object_path(text: str) -> Path | None:
    """Return the path for the object code of a text on this processor, or None without a folder."""
    folder = cache_folder()
    if folder is None:
        return None
    import llvmlite
    import llvmlite.binding as llvm

    parts = (
        llvmlite.__version__, llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten(),
        str(LEVEL), PASSES, text,
    )  # fmt: skip
    return folder / f"{DIGEST(chr(0).join(parts).encode()).hexdigest()}.o"


@functools.cache
def cache_folder() -> Path | None:
    """Return the folder for object code, or None if there is none that only this user may write to."""
    root = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = Path(root) / "arraytape" / "compiled"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return None
    return folder if is_private(folder) else None


@functools.cache
def remove_oldest_files(folder: Path) -> None:
    """Remove the oldest files of the cache if all files have more than MOST bytes.

    At most half of MOST is left.  A process does this once, because the result is cached.
    """
    found = sorted((file.stat().st_mtime, file.stat().st_size, file) for file in folder.iterdir())
    left = sum([size for _, size, _ in found])
    if left > MOST:
        for _, size, file in found:
            if left <= MOST // 2:
                break
            file.unlink(missing_ok=True)
            left -= size


def is_private(path: Path) -> bool:
    """Return True if this user owns a file or folder, and nobody else may write to it.

    Other users could write machine code that this process would run.
    """
    try:
        found = path.stat()
    except OSError:
        return False
    if not hasattr(os, "getuid"):
        return True
    return found.st_uid == os.getuid() and not found.st_mode & 0o022
