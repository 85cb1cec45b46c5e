"""Make a rig: a virtual environment in which CuPy runs on the CPU.  See README.md in this folder.

    python tools/cupy_rig/make_rig.py DIR [VERSION] [--project CHECKOUT]

DIR gets the virtual environment, CuPy's wheel (cupy-cuda12x of VERSION, by default 14.2.0), one module
that is built from CuPy's source distribution, CUDA's headers, the rig's libcuda.so.1 and the compiled
kernels.  All but the rig's own code comes from the package index, through pip.  An interrupted run can
be continued, because a step that is done is not done again.  CHECKOUT, a checkout of arraytape, is
installed in editable mode.

Needs Linux on x86-64, Python 3.10 or later (one that VERSION has wheels for), g++ and nm.
"""

import argparse
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import time
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
NATIVE, PYTHON = HERE / "native", HERE / "python"
# CUDA's headers: the first holds the runtime's and the driver's, the second those below crt/.
HEADERS = ("nvidia-cuda-runtime-cu12==12.9.79", "nvidia-cuda-nvcc-cu12==12.9.86")
CUDA_VERSION = 12090
# Packages that build the module, and that pip needs for the metadata of CuPy's source distribution.
BUILDS = ("setuptools>=77,<81", "wheel", "fastrlock>=0.8.3")
CYTHON = {"13": "cython>=3.0,<3.1", "14": "cython>=3.2,<3.3,!=3.2.6"}
# Libraries whose constants the rig reads: the file with the constants, and their prefix.
LIBRARIES = {
    "cublas": ("cupy_backends/cuda/libs/cublas.pxd", "CUBLAS_"),
    "cusolver": ("cupy_backends/cuda/libs/cusolver.pxd", "CUSOLVER_"),
    "curand": ("cupy_backends/cuda/libs/curand.pxd", "CURAND_"),
}
RUNTIME = "cupy_backends/cuda/api/runtime"


class Failure(Exception):
    """An error whose message is printed without a traceback."""


def run(*command, quiet=True, **keywords):
    """Run a command; its output is shown if it fails."""
    command = [str(part) for part in command]
    done = subprocess.run(command, capture_output=quiet, text=True, **keywords)
    if done.returncode:
        output = "\n".join(((done.stdout or "") + (done.stderr or "")).splitlines()[-30:])
        raise Failure(f"This failed:\n  {' '.join(command)}\n{output}")
    return done.stdout


class Rig:
    """The rig in ``home``, step by step."""

    def __init__(self, home, version, project):
        self.home, self.version, self.project = home, version, project
        self.python = home / "venv" / "bin" / "python"
        self.source = home / "source"
        self.library = home / "lib" / "libcuda.so.1"

    def step(self, name, f, *inputs):
        """Do the step, unless it has been done with the same inputs."""
        digest = hashlib.sha1(repr(inputs).encode())
        for path in inputs:
            if isinstance(path, Path):
                digest.update(path.read_bytes())
        stamp = self.home / "done" / name
        if stamp.exists() and stamp.read_text() == digest.hexdigest():
            return
        start = time.monotonic()
        print(f"{name} ...", end=" ", flush=True)
        f()
        stamp.parent.mkdir(exist_ok=True)
        stamp.write_text(digest.hexdigest())
        print(f"{time.monotonic() - start:.0f} s", flush=True)

    def pip(self, *arguments, **keywords):
        return run(self.python, "-m", "pip", "--disable-pip-version-check", *arguments, **keywords)

    def make(self):
        cython = CYTHON.get(self.version.split(".")[0], "cython>=3")
        requirements = HERE / "requirements.txt"
        self.home.mkdir(parents=True, exist_ok=True)
        self.step("environment", self.environment, sys.version)
        self.step("packages", lambda: self.packages(cython), self.version, cython, requirements)
        self.step("source", self.get_source, self.version)
        self.step("headers", self.get_headers, HEADERS)
        self.step("constants", self.constants, self.version, LIBRARIES)
        native = [NATIVE / name for name in ("driver.cpp", "cublas.cpp", "captures.h", "nvrtc.c")]
        self.step("driver", self.driver, *native, HEADERS)
        self.step(
            "runtime", lambda: self.runtime(cython), self.version, NATIVE / "driver.cpp", HEADERS
        )
        self.step("hook", self.hook, str(PYTHON), str(HERE))
        if self.project:
            self.step("project", self.install_project, str(self.project))
        self.precompile()
        self.check()

    def environment(self):
        run(sys.executable, "-m", "venv", "--clear", self.home / "venv")

    def packages(self, cython):
        self.pip("install", "--upgrade", "pip", *BUILDS, cython)
        self.pip("install", f"cupy-cuda12x=={self.version}", "-r", HERE / "requirements.txt")

    def get_source(self):
        """Get cupy_backends from CuPy's source distribution, and the declarations that it needs."""
        downloads = self.home / "downloads"
        shutil.rmtree(downloads, ignore_errors=True)
        # pip asks a source distribution for its metadata, which CuPy's gives without CUDA if told so:
        # 14 by the first of these, 13 by the second.
        environment = os.environ | {"CUPY_INSTALL_USE_STUB": "1", "READTHEDOCS": "True"}
        self.pip(
            "download", "--no-deps", "--no-build-isolation", "--no-binary", ":all:", "--dest", downloads,
            f"cupy=={self.version}", env=environment,
        )  # fmt: skip
        (archive,) = downloads.glob("cupy-*.tar.gz")
        shutil.rmtree(self.source, ignore_errors=True)
        with tarfile.open(archive) as file:
            for member in file.getmembers():
                _, _, path = member.name.partition("/")
                if not member.isfile() or ".." in path:
                    continue
                if path.startswith("cupy_backends/") or (
                    path.startswith("cupy/") and path.endswith(".pxd")
                ):
                    target = self.source / path
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(file.extractfile(member).read())
        shutil.rmtree(downloads)

    def get_headers(self):
        downloads, include = self.home / "downloads", self.home / "include"
        for place in (downloads, include):
            shutil.rmtree(place, ignore_errors=True)
        self.pip("download", "--no-deps", "--only-binary", ":all:", "--dest", downloads, *HEADERS)
        for wheel in downloads.glob("*.whl"):
            with zipfile.ZipFile(wheel) as file:
                for name in file.namelist():
                    found = re.fullmatch(r"nvidia/\w+/include/(.+)", name)
                    if found and not name.endswith("/"):
                        target = include / found[1]
                        target.parent.mkdir(parents=True, exist_ok=True)
                        target.write_bytes(file.read(name))
        shutil.rmtree(downloads)

    def constants(self):
        made = {}
        for library, (path, start) in LIBRARIES.items():
            text = (self.source / path).read_text()
            found = re.findall(rf"^\s+({start}\w+)\s*=\s*(-?\w+)", text, re.MULTILINE)
            made[library] = {name: int(value, 0) for name, value in found}
        (self.home / "constants.json").write_text(json.dumps(made, indent=1))

    def driver(self):
        part = self.library.with_name("part.so")  # processes may be using the one that is there
        part.parent.mkdir(exist_ok=True)
        for name, *sources in (
            (self.library.name, NATIVE / "driver.cpp", "-ldl"),
            ("libcublas.so.12", NATIVE / "cublas.cpp", self.library),
        ):
            run(
                "g++", "-std=c++17", "-O2", "-w", "-fPIC", "-shared", f"-Wl,-soname,{name}",
                f"-I{self.home / 'include'}", *sources, "-o", part,
            )  # fmt: skip
            os.replace(part, part.with_name(name))
        nvrtc = NATIVE / "nvrtc.c"
        run("gcc", "-shared", "-fPIC", "-Wl,-soname,libnvrtc.so.12", nvrtc, "-o", part)
        os.replace(part, part.with_name("libnvrtc.so.12"))

    def runtime(self, cython):
        """Build CuPy's wrapper of CUDA's runtime, because the wheel's has NVIDIA's runtime linked in."""
        settings = {
            "CUPY_CUDA_VERSION": CUDA_VERSION,
            "CUPY_HIP_VERSION": 0,
            "CUPY_USE_CUDA_PYTHON": False,
            "CUPY_CUFFT_STATIC": False,
            "CUPY_CYTHON_VERSION": cython,
            "CUPY_DTYPE_VERSION": 0,
            "CUPY_CFFI_VERSION": 0,
            "CUPY_CUDA_PYTHON_VERSION": 0,
        }
        name = RUNTIME.replace("/", ".")
        program = (
            "from setuptools import Extension; from Cython.Build import cythonize\n"
            f"module = Extension({name!r}, [{RUNTIME + '.pyx'!r}], language='c++')\n"
            f"cythonize([module], compile_time_env={settings!r}, language_level=3, force=True,"
            " compiler_directives=dict(c_api_binop_methods=True, binding=False))"
        )
        run(self.python, "-c", program, cwd=self.source)
        ask = "import sysconfig as s; print(s.get_path('include'), s.get_config_var('EXT_SUFFIX'))"
        python_include, suffix = run(self.python, "-c", ask).split()
        build = self.home / "build"
        build.mkdir(exist_ok=True)
        run(
            "g++", "-std=c++17", "-O1", "-w", "-fPIC", "-c", f"-I{python_include}",
            f"-I{self.home / 'include'}", f"-I{NATIVE / 'stand_in'}",
            self.source / f"{RUNTIME}.cpp", "-o", build / "runtime.o",
        )  # fmt: skip
        # Functions of the runtime that the driver does not have return the error "not supported".
        needed = set(re.findall(r"\bU (cuda\w+)", run("nm", build / "runtime.o")))
        there = set(re.findall(r"\bT (cuda\w+)", run("nm", "-D", self.library)))
        missing = "".join(f"int {name}() {{ return 801; }}\n" for name in sorted(needed - there))
        (build / "missing.c").write_text(missing)
        run("gcc", "-fPIC", "-c", build / "missing.c", "-o", build / "missing.o")
        made = build / f"runtime{suffix}"
        run("g++", "-shared", build / "runtime.o", build / "missing.o", self.library, "-o", made)
        os.replace(made, self.home / "lib" / made.name)

    def hook(self):
        """Write the .pth file that activates the rig in its environment, and the script DIR/rig."""
        packages = run(
            self.python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"
        ).strip()
        (Path(packages) / "cupy_rig.pth").write_text(
            f"{PYTHON}\nimport cupy_on_cpu; cupy_on_cpu.activate({str(self.home)!r})\n"
        )
        script = self.home / "rig"
        script.write_text(
            f'#!/bin/bash\n# rig ARGS...: the Python of the rig.\nexec "{self.python}" "$@"\n'
        )
        script.chmod(0o755)

    def install_project(self):
        self.pip("install", "--no-deps", "--editable", self.project)

    def precompile(self):
        """Compile the kernels' common header, where a change of the rig's calls for it."""
        program = (
            "import os, cupy; from cupy_on_cpu import compiler;"
            " compiler.precompile(os.path.join(os.path.dirname(cupy.__file__), '_core', 'include'))"
        )
        run(self.python, "-c", program)

    def check(self):
        start = time.monotonic()
        program = (
            "import cupy; x = cupy.arange(6.0).reshape(2, 3); assert float((x @ x.T).sum()) == 83.0;"
            "name = cupy.cuda.runtime.getDeviceProperties(0)['name'].decode();"
            "print('CuPy', cupy.__version__, 'on', name)"
        )
        try:
            print(run(self.python, "-c", program).strip(), f"({time.monotonic() - start:.0f} s)")
        except Failure as error:
            raise Failure(f"The rig is made, but its CuPy does not work.  {error}") from None


def main():
    parser = argparse.ArgumentParser(
        description=__doc__.partition("\n")[0], epilog=__doc__.partition("\n")[2],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("directory", type=Path)
    parser.add_argument("version", nargs="?", default="14.2.0", help="CuPy's (default: 14.2.0)")
    parser.add_argument("--project", type=Path, help="a checkout of arraytape")
    arguments = parser.parse_args()
    if sys.platform != "linux" or platform.machine() != "x86_64":
        raise Failure("A rig needs Linux on x86-64.")
    for tool in ("g++", "gcc", "nm"):
        if not shutil.which(tool):
            raise Failure(f"A rig needs {tool}, which is not on PATH.")
    home = arguments.directory.resolve()
    if (
        home.exists()
        and any(home.iterdir())
        and not (home / "done").exists()
        and not (home / "venv").exists()
    ):
        raise Failure(f"{home} has something else in it.")
    start = time.monotonic()
    Rig(home, arguments.version, arguments.project and arguments.project.resolve()).make()
    print(f"The rig is {home}/rig ({time.monotonic() - start:.0f} s).")


if __name__ == "__main__":
    try:
        main()
    except Failure as error:
        sys.exit(str(error))
