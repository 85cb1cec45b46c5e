"""Record the losses of the model programs in TensorFlow, and time them next to arraytape."""

from __future__ import annotations

import gc
import json
import os
import sys
from collections.abc import Callable
from importlib.util import find_spec
from time import process_time
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import keras
import numpy as np
import tensorflow as tf

from . import CASES, FACTS, STEPS, Case, data_of_steps, in_tensorflow, losses_of, set_kernels

ROUNDS, TURN = 6, 0.4  # the number of turns of a form, and the seconds of each
Run = Callable[[], Any]


def record() -> None:
    """Write the losses of ten steps in double precision."""
    keras.backend.set_floatx("float64")
    facts = {}
    for case in CASES:
        program = getattr(in_tensorflow, case.name)(case.small)
        set_kernels(program)
        steps = [list(map(tf.constant, data)) for data in data_of_steps(case, case.small)]
        facts[case.name] = losses_of(program.step, steps)
    versions = f"TensorFlow {tf.__version__}, Keras {keras.__version__}"
    text = json.dumps({"versions": versions, "losses": facts}, indent=1)
    FACTS.write_text(text + "\n", encoding="utf-8")
    print(f"{len(CASES)} programs, {STEPS} steps: {versions}")


def forms_of(case: Case) -> dict[str, Run]:
    """Return the forms of a program's step in single precision, by name: each runs one step."""
    import arraytape as xp

    from . import in_arraytape

    machine_code = find_spec("llvmlite") is not None  # of the extra "compiled"

    def form(module: Any, wrap: Callable[[Any], Any], convert: Callable[[Any], Any]) -> Run:
        program = getattr(module, case.name)(case.full)
        set_kernels(program, np.float32)
        data = list(map(convert, data_of_steps(case, case.full, np.float32)[0]))
        step = wrap(program.step)
        return lambda: step(*data)

    return {
        "eager": form(in_arraytape, lambda step: step, xp.asarray),
        "xp.function": form(
            in_arraytape, lambda step: xp.function(step, compile=machine_code), xp.asarray
        ),
        "TensorFlow": form(in_tensorflow, lambda step: step, tf.constant),
        "tf.function": form(in_tensorflow, tf.function, tf.constant),
    }


def seconds_of(run: Run, times: int) -> float:
    """Return the CPU time of a step, the mean of ``times`` steps."""
    start = process_time()
    for _ in range(times):
        result = run()
    float((result if isinstance(result, tuple) else (result,))[0])
    return (process_time() - start) / times


def row(case: Case) -> str:
    """Time the forms of a program's step in turn, and return the program's row of the table."""
    forms = forms_of(case)
    times = {name: max(1, int(TURN / min(seconds_of(run, 1) for _ in range(4))))
             for name, run in forms.items()}  # fmt: skip
    least = dict.fromkeys(forms, float("inf"))
    for _ in range(ROUNDS):
        for name, run in forms.items():
            gc.collect()
            least[name] = min(least[name], seconds_of(run, times[name]))
    rates = [f"{1.0 / seconds:.3g}" for seconds in least.values()]
    ratios = least["TensorFlow"] / least["eager"], least["tf.function"] / least["xp.function"]
    return f"| {' | '.join([case.name, *rates, *(f'{ratio:.2f}' for ratio in ratios)])} |"


def time() -> None:
    """Print the table of steps per second."""
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":  # read when the package imports NumPy
        sys.exit("set OPENBLAS_NUM_THREADS=1, since TensorFlow is timed on one thread")
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    print(
        "| program | eager | `xp.function` | TensorFlow, eager | `tf.function` | eager | function |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for case in CASES:
        if not sys.argv[2:] or case.name in sys.argv[2:]:
            print(row(case), flush=True)


if __name__ == "__main__":
    {"record": record, "time": time}[sys.argv[1]]()
