"""CuPy's kernels, compiled by g++: a "cubin" is the path of a shared object.

``DIR/kernels/KEY`` keeps the compiled kernels and CuPy's own cache.  KEY is a digest of the headers and
flags, on which the results depend besides a kernel's source.
"""

import hashlib
import os
import re
import subprocess
import tempfile

import cupy_on_cpu
from cupy_on_cpu import NATIVE

FLAGS = [
    "-std=c++17",
    "-O0",
    "-w",
    "-fpermissive",
    "-fno-strict-aliasing",
    "-ffp-contract=off",
    "-fPIC",
]
DYNAMIC_SHARED_MEMORY = 256 * 1024

_KERNEL = re.compile(
    r"__global__\s+(?:static\s+)?void\s+(?:__launch_bounds__\([^)]*\)\s*)?(\w+)\s*\("
)
_SYNCHRONIZES = re.compile(r"__sync|__shfl|__ballot")
_DYNAMIC_ARRAY = re.compile(
    r"extern\s+__shared__\s+(?:__align__\(\d+\)\s*)?([\w:<> ]+?)\s+(\w+)\s*\[\s*\]\s*;"
)
_CONSTANT = re.compile(r"__constant__ double (M_\w+) =")
_LAUNCHER = """
extern "C" void rig_entry_{name}(unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                 unsigned bz, void** arguments) {{
    rig::run<{synchronizes}>({kernel}, {{gx, gy, gz}}, {{bx, by, bz}}, arguments);
}}
extern "C" const unsigned* rig_sizes_{name}() {{ return rig::sizes({kernel}); }}
"""


def key():
    """Return a digest of the flags and the headers with which every kernel is compiled."""
    digest = hashlib.sha1(repr(FLAGS).encode())
    for name in ("kernel.h", "prefix.h"):
        digest.update((NATIVE / name).read_bytes())
    return digest.hexdigest()[:12]


def cache():
    """Return the folder of the compiled kernels."""
    return cupy_on_cpu.home / "kernels" / key()


def includes(cupy_include):
    """Return the options for the headers' folders; the first folder has the compiled prefix.h."""
    cccl = os.path.join(cupy_include, "cupy", "_cccl", "libcudacxx")  # the headers of CUDA need it
    places = (
        cache(),
        NATIVE,
        NATIVE / "stand_in",
        cupy_on_cpu.home / "include",
        cupy_include,
        cccl,
    )
    return [f"-I{place}" for place in places]


def precompile(cupy_include):
    """Compile prefix.h unless it is compiled."""
    made = cache() / "prefix.h.gch"
    if made.exists():
        return
    cache().mkdir(parents=True, exist_ok=True)
    (cache() / "prefix.h").write_text(f'#include "{NATIVE}/prefix.h"\n')
    part = made.with_name(f"prefix.{os.getpid()}.part")
    command = [
        "g++",
        *FLAGS,
        "-x",
        "c++-header",
        *includes(cupy_include),
        str(cache() / "prefix.h"),
    ]
    subprocess.run([*command, "-o", str(part)], check=True)
    os.replace(part, made)


def _translated(source, name_expressions):
    """Return ``source`` with a launcher for each kernel, and the kernels' names by expression."""
    mapping = {}
    if name_expressions:
        mapping = {expression: f"expression{i}" for i, expression in enumerate(name_expressions)}
        kernels = {name: f"&{expression}" for expression, name in mapping.items()}
    else:
        kernels = {name: f"&{name}" for name in _KERNEL.findall(source)}
    text = _DYNAMIC_ARRAY.sub(r"\1* \2 = (\1*)rig_dynamic_memory;", source)
    if text != source:
        text = f"alignas(16) static char rig_dynamic_memory[{DYNAMIC_SHARED_MEMORY}];\n{text}"
    for name in _CONSTANT.findall(source):  # glibc's math.h has macros of these names
        text = f"#undef {name}\n{text}"
    synchronizes = "true" if _SYNCHRONIZES.search(source) else "false"
    for name, kernel in kernels.items():
        text += _LAUNCHER.format(name=name, kernel=kernel, synchronizes=synchronizes)
    return text, mapping


def compiled(source, options=(), name_expressions=None):
    """Return the module's image, which libcuda.so.1 loads, and the kernels' names by expression."""
    import cupy

    text, mapping = _translated(source, name_expressions)
    options = [option for option in options if option.startswith(("-I", "-D"))]
    digest = hashlib.sha1(repr((text, options)).encode()).hexdigest()
    path = cache() / f"{digest}.so"
    if not path.exists():
        cupy_include = os.path.join(os.path.dirname(cupy.__file__), "_core", "include")
        precompile(cupy_include)
        with tempfile.TemporaryDirectory(dir=cache()) as directory:
            file, made = os.path.join(directory, "kernel.cpp"), os.path.join(directory, "kernel.so")
            with open(file, "w") as out:
                out.write(text)
            command = [
                "g++",
                *FLAGS,
                "-shared",
                *includes(cupy_include),
                *options,
                "-include",
                "prefix.h",
            ]
            done = subprocess.run([*command, file, "-o", made], capture_output=True, text=True)
            if done.returncode:
                kept = cache() / f"failed-{digest}.cpp"
                kept.write_text(f"{text}\n/*\n{done.stderr}\n*/\n")
                errors = [line for line in done.stderr.splitlines() if "error" in line][:6]
                raise RuntimeError(
                    f"The rig cannot compile a kernel, see {kept}: " + " | ".join(errors)
                )
            os.replace(made, path)
    return b"RIG:" + os.fsencode(path) + b"\0", mapping


def amend(module):
    """Let ``module``, CuPy's compiler, compile by ``compiled`` for a device of capability 9.0."""

    def compile_using_nvrtc(
        source,
        options=(),
        arch=None,
        filename="kern.cu",
        name_expressions=None,
        log_stream=None,
        cache_in_memory=False,
        jitify=None,
        method=None,
    ):
        return compiled(source, options, name_expressions)

    for name in ("_compile_using_nvrtc_no_warning", "compile_using_nvrtc"):
        if hasattr(module, name):
            setattr(module, name, compile_using_nvrtc)
    module._preprocess = lambda *arguments, **keywords: "rig"
    module._get_nvrtc_version = lambda: (12, 9)
    module._get_arch = lambda: "90"
    module._get_max_compute_capability = lambda: "90"
    module._get_arch_for_options_for_nvrtc = lambda arch=None: ("-arch=sm_90", "cubin")
