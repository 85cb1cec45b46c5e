"""Measure arraytape on a GPU within ten minutes, and write one page of results.

    PYTHONPATH=src python tools/gpu_hour.py OUT [--seconds 600] [--only times launches ...]

The script needs CuPy and a GPU, and downloads nothing.  PyTorch and JAX with CUDA are also measured if
they are installed.  The folder OUT gets ``page.md``, for docs/howto/benchmarks.md, and logs of tests.

Times are medians of at least 20 calls after 5 calls to warm up; a call ends when the device is done.
Each library computes the same step in the same precision on the same data.  A captured step is one CUDA
graph of the eager step with ``nan="keep"``, also of a step with matrix products.  CuPy cannot capture
cholesky and solve.  ``xp.function`` replays the eager step, as a CUDA graph if CuPy can capture it; a
printed line says how.

A rehearsal without a GPU runs in an environment of tools/cupy_rig, with GPU_HOUR_SMALL=30 in the
environment, which divides the lengths of the data.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib.util
import inspect
import os
import platform
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import arraytape as xp

ROOT = Path(__file__).resolve().parents[1]
RNG = np.random.default_rng(0)
SMALL = int(os.environ.get("GPU_HOUR_SMALL", "1"))  # lengths are divided by it, for a rehearsal
STEPS = 20  # the least number of timed calls
LONGEST = 2.0  # seconds for one row, after which no further call is timed
Step = Callable[[], Any]


# --- the workloads --------------------------------------------------------------------------------
def uniform(*shape: int) -> Any:
    shape = tuple([max(n // SMALL, min(n, 10)) for n in shape])
    return RNG.uniform(-1.0, 1.0, shape).astype(np.float32)


def positive_definite(count: int, n: int) -> Any:
    x = uniform(count, n, n)
    return (x @ x.transpose(0, 2, 1) / n + np.eye(x.shape[1])).astype(np.float32)


def mlp(lib: Any, x: Any, y: Any, w1: Any, w2: Any, w3: Any) -> Any:
    z = lib.tanh(lib.tanh(x @ w1) @ w2) @ w3
    return lib.mean((z - y) ** 2)


def logistic(lib: Any, x: Any, y: Any, w: Any) -> Any:
    z = x @ w
    return lib.mean(lib.log1p(lib.exp(-lib.abs(z))) + 0.5 * (lib.abs(z) + z) - y * z)


def chain(lib: Any, x: Any) -> Any:
    for _ in range(500):
        x = lib.sin(x) * 1.01
    return lib.sum(x)


def big(lib: Any, x: Any) -> Any:
    return lib.sum(lib.exp(-x * x) * lib.sin(x) + lib.tanh(x))


def product(lib: Any, a: Any, b: Any) -> Any:
    return lib.sum((a @ b) ** 2)


def factored(lib: Any, a: Any, b: Any) -> Any:
    return lib.sum(lib.linalg.cholesky(a)) + lib.sum(lib.linalg.solve(a, b) ** 2)


# By name: the loss, its data, and the number of last arguments that are differentiated.
WORKLOADS: dict[str, tuple[Callable[..., Any], list[Any], int]] = {
    "MLP step, 784-512-512-10, batch 256": (
        mlp,
        [uniform(256, 784), uniform(256, 10),
         *(0.05 * uniform(*s) for s in ((784, 512), (512, 512), (512, 10)))],
        3,
    ),
    "logistic regression, 100,000 x 100": (
        logistic, [uniform(100_000, 100), (uniform(100_000) > 0).astype(np.float32), uniform(100)], 1,
    ),
    "chain of 1,000 ops on 1,000 numbers": (chain, [uniform(1000)], 1),
    "elementwise, 10 million numbers": (big, [uniform(10_000_000)], 1),
    "matmul, 4096 x 4096": (product, [uniform(4096, 4096), uniform(4096, 4096)], 2),
    "cholesky and solve, 1,000 of 32 x 32": (
        factored, [positive_definite(1000, 32), uniform(1000, 32, 4)], 2,
    ),
}  # fmt: skip


def tape_step(name: str, nan: str) -> Step:
    """Return a step that computes the value and the gradients with a GradientTape."""
    loss, data, count = WORKLOADS[name]
    given = [xp.asarray(x, device="cuda:0") for x in data]
    followed = given[-count:]

    def step() -> Any:
        with xp.GradientTape() as tape:
            tape.watch(followed)
            y = loss(xp, *given)
        return [y, *tape.gradient(y, followed, nan=nan)]

    return step


def function_step(name: str) -> Step:
    """Return a call of the step as a function that is replayed; print how it runs."""
    traced = xp.function(tape_step(name, "guard"))
    for _ in range(3):
        traced()
    how = [plan.run.explain() for plan in traced.plans()]
    print(f"{name}: {how[0] if how else traced.explain()}", flush=True)
    return traced


def raw(results: Any) -> list[Any]:
    """Return the CuPy arrays of results."""
    return [getattr(x, "_data", x) for x in results]


def captured_step(name: str) -> Step:
    """Return a function that launches a CUDA graph of the step ``name`` and returns its results."""
    import cupy

    step, stream, pool = (
        tape_step(name, "keep"),
        cupy.cuda.Stream(non_blocking=True),
        cupy.cuda.MemoryPool(),
    )
    cupy.cuda.Device().synchronize()
    with cupy.cuda.using_allocator(pool.malloc), stream:
        for _ in range(3):
            step()
        stream.begin_capture()
        try:
            results = step()
        finally:
            graph = stream.end_capture()
    stream.synchronize()

    def launch() -> Any:
        graph.launch(stream=cupy.cuda.get_current_stream())
        return results

    launch.kept = pool, stream  # type: ignore[attr-defined]  # the graph's memory
    return launch


def torch_step(name: str) -> Step:
    import torch

    loss, data, count = WORKLOADS[name]
    given = [torch.tensor(x, device="cuda") for x in data]
    followed = given[-count:]
    for x in followed:
        x.requires_grad_()
    lib: Any = torch

    def step() -> Any:
        y = loss(lib, *given)
        return [y.detach(), *torch.autograd.grad(y, followed)]

    return step


def jax_step(name: str) -> Step:
    import jax
    import jax.numpy as jnp

    loss, data, count = WORKLOADS[name]
    given = [jnp.asarray(x) for x in data]
    places = tuple(range(len(given) - count, len(given)))
    compiled = jax.jit(jax.value_and_grad(functools.partial(loss, jnp), argnums=places))

    def step() -> Any:
        y, gradients = compiled(*given)
        return jax.block_until_ready([y, *gradients])

    return step


WAYS: dict[str, Callable[[str], Step]] = {
    "eager": lambda name: tape_step(name, "guard"),
    'nan="keep"': lambda name: tape_step(name, "keep"),
    "xp.function": function_step,
    "captured": captured_step,
    "PyTorch": torch_step,
    "jax.jit": jax_step,
}


# --- measuring ------------------------------------------------------------------------------------
def wait() -> None:
    import cupy

    cupy.cuda.Device().synchronize()


def milliseconds(step: Step) -> float:
    """Return the median time of a step in milliseconds."""
    for _ in range(5):
        step()
    wait()
    times: list[float] = []
    begun = time.perf_counter()
    while len(times) < STEPS or (time.perf_counter() - begun < LONGEST / 4 and len(times) < 200):
        start = time.perf_counter()
        step()
        wait()
        times.append(time.perf_counter() - start)
        if time.perf_counter() - begun > LONGEST and len(times) >= 3:
            break
    return 1e3 * float(np.median(times))


def difference(found: Any, expected: list[Any]) -> float:
    """Return the largest relative difference of results from ``expected``, computed on the CPU."""
    worst = 0.0
    for a, b in zip(raw(found), expected, strict=True):
        a = (
            a.get()
            if hasattr(a, "get")
            else a.detach().cpu().numpy()
            if hasattr(a, "detach")
            else np.asarray(a)
        )
        worst = max(worst, float(np.max(np.abs(a - b)) / (np.max(np.abs(b)) + 1e-30)))
    return worst


def expected_of(name: str) -> list[Any]:
    """Return the value and the gradients of the workload ``name``, in float64 on the CPU."""
    loss, data, count = WORKLOADS[name]
    given = [xp.asarray(x.astype(np.float64)) for x in data]
    y, gradients = xp.value_and_grad(
        lambda *followed: loss(xp, *given[:-count], *followed), argnums=tuple(range(count))
    )(*given[-count:])
    return [np.asarray(y), *[np.asarray(g) for g in gradients]]


def times() -> Iterator[str]:
    """Yield the table of times, with differences from float64 results on the CPU, and all errors."""
    yield "| ms (relative difference from the CPU) | " + " | ".join(WAYS) + " |"
    yield "| --- |" + " --- |" * len(WAYS)
    reasons = []
    for name in WORKLOADS:
        expected, cells = expected_of(name), []
        for way, make in WAYS.items():
            try:
                step = make(name)
                taken = milliseconds(step)
                cells.append(f"{taken:.3g} ({difference(step(), expected):.0e})")
            except ImportError:
                cells.append("-")
            except Exception as error:
                cells.append("-")
                text = " ".join(str(error).split())
                reasons.append(f"- {name}, {way}: {type(error).__name__}: {text}")
        yield f"| {name} | " + " | ".join(cells) + " |"
    yield from ["", *reasons]


def launches() -> Iterator[str]:
    """Yield lines with the numbers of kernels and copies in small calls."""
    x = xp.asarray(uniform(3, 3) + 3.0 * np.eye(3, dtype=np.float32), device="cuda:0")
    index = xp.asarray([2, 0, 2], device="cuda:0")

    def written(x: Any) -> Any:
        y = x * 1.0
        y[index] = x
        return xp.sum(y * y)

    def of_adam() -> Step:
        variables = [xp.Variable(x), xp.Variable(x)]
        optimizer = xp.optimizers.Adam(0.01)
        return lambda: optimizer.apply_gradients([(x, v) for v in variables])

    calls: dict[str, Step] = {
        "x * x": lambda: x * x,
        "det of 3 x 3": lambda: xp.linalg.det(x),
        "slogdet of 3 x 3": lambda: xp.linalg.slogdet(x),
        "logsumexp": lambda: xp.special.logsumexp(x),
        "gradient of sum(x * x)": lambda: xp.grad(lambda x: xp.sum(x * x))(x),
        "gradient of y[index] = x": lambda: xp.grad(written)(x),
        "gradient of x[x > 0]": lambda: xp.grad(lambda x: xp.sum(x[x > 0.0]))(x),
        "cholesky": lambda: xp.linalg.cholesky(x @ x.T),
        "solve": lambda: xp.linalg.solve(x, x),
        "Adam, two variables": of_adam(),
    }
    yield "| call | kernels | copies to the host | copies to the device |"
    yield "| --- | --- | --- | --- |"
    for name, call in calls.items():
        call()
        wait()
        yield f"| {name} | {' | '.join(map(str, counts_of(call)))} |"


def counts_of(call: Step) -> tuple[int, int, int]:
    """Return the numbers of kernels, copies to the host and copies to the device in a call.

    They are counted by the driver of a rig, or else by PyTorch's profiler.
    """
    if importlib.util.find_spec("rigcount"):
        from rigcount import counted

        with counted() as counts:
            call()
        return counts.launches, counts.d2h, counts.h2d
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        call()
        wait()
    names = [event.name for event in seen.events()]
    others = ("Memcpy", "Memset", "cuda", "cuLaunch", "Activity")
    to_host, to_device = (
        sum(name.startswith(f"Memcpy {way}") for name in names) for way in ("DtoH", "HtoD")
    )
    return sum(not name.startswith(others) for name in names), to_host, to_device


def memory() -> Iterator[str]:
    """Yield a line with the peak device memory of a gradient through 50 products.

    The unit is the memory of one array.
    """
    import cupy

    pool = cupy.cuda.MemoryPool()
    with cupy.cuda.using_allocator(pool.malloc):
        x = xp.asarray(uniform(1_000_000), device="cuda:0")

        def f(x: Any) -> Any:
            for _ in range(50):
                x = x * x
            return xp.sum(x)

        with xp.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        tape.gradient(y, x, nan="keep")
        peak = pool.total_bytes() / x.nbytes
        yield f"A gradient through 50 products keeps {peak:.0f} arrays at its peak."


def races() -> Iterator[str]:
    """Yield a line with the number of runs in which an overwritten value got a gradient.

    Each of 100 runs writes 100,000 values to 7 elements at once.  Only the 7 values that remain should
    get a gradient.
    """
    wrong = 0
    v = xp.arange(100_000, dtype=xp.float64, device="cuda:0")
    at = xp.arange(100_000, device="cuda:0") % 7
    for _ in range(100):
        with xp.GradientTape() as tape:
            tape.watch(v)
            y = xp.zeros(7, device="cuda:0") * 1.0
            y[at] = v
            loss = xp.sum(y)
        lasting = np.flatnonzero(np.asarray(tape.gradient(loss, v)))
        wrong += not np.array_equal(lasting, np.sort(np.asarray(y)))
    yield f"Of 100 runs of 100,000 writes to 7 elements, {wrong} gave another write the gradient."


# --- tests and functions --------------------------------------------------------------------------
def special() -> Iterator[str]:
    """Yield lines with the verdicts on all special functions and their gradients on the device."""
    found: dict[str, list[str]] = {}
    for name in xp.special.__all__:
        found.setdefault(judged(name), []).append(name)
    for verdict, names in sorted(found.items()):
        shown = "" if verdict in ("right", "refused at the call") else f": {', '.join(names)}"
        yield f"- {verdict}: {len(names)}{shown}"


def judged(name: str) -> str:
    """Return "right" if the special function has the same results on the device as on the CPU.

    Otherwise return "wrong", "raises", "refused at the call", or "not drawn" if no arguments fit.
    """
    function = getattr(xp.special, name)
    parameters = inspect.signature(function).parameters.values()
    count = sum(p.default is p.empty and p.kind is not p.VAR_KEYWORD for p in parameters)
    values = np.asarray([[0.3, 0.6], [0.55, 0.7], [0.4, 0.2], [0.3, 0.25], [0.6, 0.4]])
    for integers in range(3):
        given = [np.asarray([3, 4]) - i if i < integers else values[i] for i in range(count)]
        try:
            expected = outcome(function, given, "cpu")
        except Exception:  # the function needs other arguments
            continue
        try:
            results = outcome(function, given, "cuda:0")
        except TypeError as error:
            return "refused at the call" if "is not in CuPy" in str(error) else "raises"
        except Exception:
            return "raises"
        same = all(
            np.allclose(a, b, 1e-6, 1e-9, equal_nan=True)
            for a, b in zip(results, expected, strict=True)
        )
        return "right" if same else "wrong"
    return "not drawn"


def outcome(function: Any, given: list[Any], device: str) -> list[Any]:
    """Return the value of a function and its gradients with respect to real arguments."""
    arrays = [xp.asarray(x, device=device) for x in given]
    followed = [x for x in arrays if xp.isdtype(x.dtype, "real floating")]
    with xp.GradientTape() as tape:
        tape.watch(followed)
        y = function(*arrays)
        y = y[0] if isinstance(y, tuple) else y
    gradients = tape.gradient(y, followed, unconnected_gradients="zero")
    return [np.asarray(x) for x in (y, *gradients)]


def tests(out: Path, end: float) -> Iterator[str]:
    """Run pytest on the tests for a GPU and those for any storage; yield its last lines and failures.

    Both runs together end at about ``end``, a time of ``time.monotonic``.
    """
    workers = str(min(14, os.cpu_count() or 1))
    common = [
        sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:benchmark", "-p",
        "no:arraytape", "-p", "_arraytape_pytest", "-n", workers, "--timeout=120", "-rfE", "--tb=short",
    ]  # fmt: skip
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]),
        "PYTHONDONTWRITEBYTECODE": "1", "SCIPY_ARRAY_API": "1", "OMP_NUM_THREADS": "1",
    }  # fmt: skip
    marked = [str(f) for f in (ROOT / "tests").rglob("test_*.py") if "any_storage" in f.read_text()]
    rest = ["--storage", "cupy", "-m", "any_storage", "--continue-on-collection-errors", *marked]
    for name, options in (
        ("device", ["tests/storage/test_cupy_on_a_gpu.py", "tests/replay/test_on_device.py"]),
        ("any_storage", rest),
    ):
        log = out / f"{name}.log"
        with log.open("w") as file, warnings.catch_warnings():
            left = max(end - time.monotonic(), 1.0)
            try:  # pytest ends in time and lists the failures so far; it is stopped if it cannot
                subprocess.run([*common, f"--session-timeout={left:.0f}", *options], cwd=ROOT,
                               env=environment, stdout=file, stderr=subprocess.STDOUT,
                               timeout=left + 30.0, check=False)  # fmt: skip
            except subprocess.TimeoutExpired:
                file.write("stopped: it took too long\n")
        lines = log.read_text(errors="replace").splitlines()
        yield f"`{name}`: {lines[-1] if lines else 'nothing'}"
        yield from (f"- {line}" for line in lines if line.startswith(("FAILED", "ERROR ")))


def machine() -> Iterator[str]:
    """Yield lines about the device and the versions of the libraries."""
    import cupy

    properties = cupy.cuda.runtime.getDeviceProperties(0)
    versions = [
        f"Python {platform.python_version()}",
        f"NumPy {np.__version__}",
        f"CuPy {cupy.__version__}",
    ]
    for name in ("torch", "jax"):
        with contextlib.suppress(ImportError):
            versions.append(f"{name} {__import__(name).__version__}")
    cuda = cupy.cuda.runtime.runtimeGetVersion()
    yield f"{properties['name'].decode()}, CUDA {cuda}; {', '.join(versions)}."


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=600.0, help="for the whole")
    parser.add_argument("--only", nargs="+", default=[], help="these parts alone")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + arguments.seconds
    parts: dict[str, Callable[[], Iterator[str]]] = {
        "machine": machine, "times": times, "launches": launches, "memory": memory, "races": races,
        "special": special, "tests": lambda: tests(arguments.out, end),
    }  # fmt: skip
    page = arguments.out / "page.md"
    with page.open("w") as file:
        for name, part in parts.items():
            if arguments.only and name not in arguments.only:
                continue
            file.write(f"\n## {name.capitalize()}\n\n")
            begun = time.monotonic()
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    for line in part():
                        file.write(f"{line}\n")
                        file.flush()
            except Exception as error:
                file.write(f"not measured: {type(error).__name__}: {error}\n")
            print(f"{name}: {time.monotonic() - begun:.0f} s", flush=True)
    print(page.read_text())


if __name__ == "__main__":
    main()
