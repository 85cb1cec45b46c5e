"""Let asv run the benchmarks once in a temporary folder, as a test of their use with asv."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent


def run_asv(only: str) -> tuple[int, list[str]]:
    """Return the number of benchmarks that asv ran, and its errors; 0 and [] without asv."""
    if importlib.util.find_spec("asv") is None:
        print("asv is not installed: its own run of the benchmarks is left out")
        return 0, []
    with tempfile.TemporaryDirectory(prefix="asv_bench_") as folder:
        place = Path(folder)
        asv = command(place)
        environment = surroundings(place)
        call([*asv, "machine", "--yes"], environment)
        run = ["run", "--python=same", "--quick", "--show-stderr", f"--bench={re.escape(only)}"]
        if os.name == "posix":  # imports the modules once, not for each benchmark
            run.append("--launch-method=forkserver")
        code, output = call([*asv, *run], environment)
        found = [name for name in discovered(place) if only in name]
    ran, failed = judge(output, found)
    problems = [f"asv: {name} failed" for name in failed]
    if not ran:
        problems.append("asv ran no benchmark")
    if code and not failed:
        problems.append(f"asv: exit code {code}")
    if problems:
        print(output)
    else:
        print(f"asv: {ran} benchmarks ran")
    return ran, problems


def command(place: Path) -> list[str]:
    """Write asv's configuration, with output folders in ``place``; return asv's command with it."""
    configuration = json.loads((HERE / "asv.conf.json").read_text())
    configuration["repo"] = str(HERE.parent)
    configuration["benchmark_dir"] = str(HERE / configuration["benchmark_dir"])
    for name in ("env_dir", "results_dir", "html_dir"):
        configuration[name] = str(place / configuration[name])
    path = place / "asv.conf.json"
    path.write_text(json.dumps(configuration))
    return [sys.executable, "-m", "asv", "--config", str(path)]


def surroundings(place: Path) -> dict[str, str]:
    """Return asv's environment variables; asv writes a file about the machine into the home folder."""
    environment = {**os.environ, "HOME": str(place), "USERPROFILE": str(place)}
    if "PYTHONPATH" in environment:  # asv removes it unless the second variable is set
        environment["ASV_PYTHONPATH"] = environment["PYTHONPATH"]
    return environment


def call(command: list[str], environment: dict[str, str]) -> tuple[int, str]:
    done = subprocess.run(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    )
    return done.returncode, done.stdout


def discovered(place: Path) -> list[str]:
    """Return the names of the benchmarks in the list that asv writes."""
    path = place / "results" / "benchmarks.json"
    if not path.exists():
        return []
    return [name for name in json.loads(path.read_text()) if name != "version"]


def judge(output: str, names: list[str]) -> tuple[int, list[str]]:
    """Count the benchmarks with a result in asv's output, and list those without."""
    lines = output.splitlines()
    failed = []
    for name in names:
        said = [
            line for line in lines if re.search(rf"\]\s\S+\s(Running \()?{re.escape(name)}\b", line)
        ]
        if not said or any("failed" in line for line in said):
            failed.append(name)
    return len(names) - len(failed), failed
