"""CuPy on the CPU: in a rig's virtual environment ``import cupy`` finds the rig in place of a GPU.

The environment's ``cupy_rig.pth`` calls ``activate(DIR)`` when Python starts.  CuPy's wheel stays
unchanged.  A finder of modules replaces eight modules, by those in ``replaced/`` and by the wrapper of
the runtime that make_rig.py built.  The finder changes two modules when they are imported: CuPy's
compiler, and the module that finds CUDA's libraries.
"""

import ctypes
import importlib.machinery
import importlib.util
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
NATIVE = HERE.parents[1] / "native"
REPLACED = {
    "cupy.cuda.cufft": "cufft.py",
    "cupy.cuda.jitify": "jitify.py",
    "cupy.cuda.thrust": "thrust.py",
    "cupy_backends.cuda.libs.cublas": "cublas.py",
    "cupy_backends.cuda.libs.curand": "curand.py",
    "cupy_backends.cuda.libs.cusolver": "cusolver.py",
    "cupyx._cusolver": "cupyx_cusolver.py",
    "cupyx.cusolver": "cupyx_cusolver.py",  # as CuPy 13 calls it; CuPy 14's is a module in Python
}
RUNTIME = "cupy_backends.cuda.api.runtime"
home = None  # the rig's directory, once active


def activate(directory):
    """Let ``import cupy`` in this process give CuPy on the CPU, with its caches in ``directory``."""
    global home
    if home is not None or os.environ.get("CUPY_RIG") == "0":
        return
    home = Path(directory)
    # CUB's kernels are precompiled for GPUs; the others CuPy compiles as they are needed.
    os.environ["CUPY_ACCELERATORS"] = ""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Later requests for libraries of these names get these, because they are loaded.
    for name in ("libcuda.so.1", "libnvrtc.so.12", "libcublas.so.12"):
        ctypes.CDLL(str(home / "lib" / name), ctypes.RTLD_GLOBAL)
    sys.meta_path.insert(0, _Finder())


class _Finder:
    """A finder of the modules that the rig replaces, and of those that it changes."""

    def find_spec(self, name, path=None, target=None):
        if name == RUNTIME:
            (file,) = (home / "lib").glob("runtime.*.so")
            return importlib.util.spec_from_file_location(name, file)
        if name not in REPLACED and name not in _AMENDED:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None:
            return None
        if name in _AMENDED:
            spec.loader = _Amending(spec.loader, _AMENDED[name])
        elif spec.origin.endswith(".so"):  # linked to one of CUDA's libraries
            spec = importlib.util.spec_from_file_location(name, HERE / "replaced" / REPLACED[name])
        if name == "cupy.cuda.compiler":  # which reads a variable as it is imported
            _keep_caches_at_home()
        return spec


class _Amending:
    """A module's loader that changes the module after it has run."""

    def __init__(self, loader, amend):
        self.loader, self.amend = loader, amend

    def __getattr__(self, name):
        return getattr(self.loader, name)

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        self.loader.exec_module(module)
        self.amend(module)


def _amend_compiler(module):
    from cupy_on_cpu import compiler

    compiler.amend(module)


def _keep_caches_at_home():
    from cupy_on_cpu import compiler

    os.environ["CUPY_CACHE_DIR"] = str(compiler.cache() / "cupy")


def _amend_pathfinder(module):
    class Loaded:  # a library that the rig replaces; its handle must not be used
        _handle_uint = 0
        abs_path = ""

    module.load_nvidia_dynamic_lib = lambda name: Loaded
    module.find_nvidia_header_directory = lambda name: str(home / "include")


_AMENDED = {"cupy.cuda.compiler": _amend_compiler, "cuda.pathfinder": _amend_pathfinder}
