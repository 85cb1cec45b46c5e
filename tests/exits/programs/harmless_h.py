"""Programs in which values leave into files, the environment and processes, and others are read from there."""

import csv
import io
import itertools
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

import arraytape as xp


def log_beside_data(x):
    with tempfile.TemporaryDirectory() as folder:
        np.savetxt(os.path.join(folder, "weights.txt"), [1.0, 2.0, 3.0, 4.0])
        with open(os.path.join(folder, "log.txt"), "a") as file:
            print("loss", float(xp.sum(x)), file=file)
        weights = np.loadtxt(os.path.join(folder, "weights.txt"))
    return xp.sum(x * weights)


def settings_and_a_report(x):
    with tempfile.TemporaryDirectory() as folder:
        settings = pathlib.Path(folder) / "settings.json"
        settings.write_text(json.dumps({"rate": 0.5}))
        (pathlib.Path(folder) / "report.json").write_text(json.dumps({"mean": x.tolist()}))
        rate = json.loads(settings.read_text())["rate"]
    return rate * xp.sum(x**2)


def dumped_for_display(x):
    record = {"loss": float(xp.sum(x)), "n": 4}
    print(json.dumps(record), json.dumps(record, indent=2))
    return xp.sum(x**2) / record["n"]


def another_variable_of_the_environment(x):
    os.environ["ARRAYTAPE_TEST_RATE"] = "0.5"
    rate = float(os.environ["ARRAYTAPE_TEST_RATE"])
    sys.stderr.write(f"at {x[0]:.3f}\n")
    return rate * xp.sum(x**2)


def steered_sign(x):
    thrust = math.copysign(0.8, x[0] - 1.0)
    return xp.sum(x) * thrust


def ordered_by_value(x):
    total = 0.0
    for weight, k in enumerate(sorted(range(4), key=lambda k: float(x[k]))):
        total = total + weight * x[k]
    return total


def audited_in_memory(x):
    sheet = io.StringIO()
    writer = csv.writer(sheet)
    for name, value in zip("abcd", x, strict=True):
        writer.writerow([name, f"{value:.2f}"])
    assert sheet.getvalue().count("\n") == 4
    return xp.sum(x**3)


def counted_by_a_process(x):
    text = " ".join(f"{v:.1f}" for v in x)
    code = "print(len(input().split()))"
    done = subprocess.run([sys.executable, "-c", code], input=text, capture_output=True, text=True)
    assert int(done.stdout) == 4
    return xp.sum(x**2)


def pairs_of_numbers(x):
    names, weights = zip(*[("a", 1.0), ("b", 2.0), ("c", 3.0), ("d", 4.0)], strict=True)
    print(dict(zip(names, x.tolist(), strict=True)))
    return sum(w * v for w, v in zip(weights, x, strict=True)) * len([*itertools.chain(names)])
