"""The list of versions for reports of bugs."""

import subprocess
import sys

import numpy as np

import arraytape as xp


def test_the_list_has_what_a_report_needs(capsys):
    xp.show_versions()
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert lines["numpy"] == np.__version__
    assert lines["python"] == ".".join(map(str, sys.version_info[:3]))
    assert {"arraytape", "scipy", "BLAS", "OMP_NUM_THREADS"} <= lines.keys()


def test_the_module_prints_the_list():
    done = subprocess.run(
        [sys.executable, "-m", "arraytape"], capture_output=True, text=True, check=True, timeout=60
    )
    assert f"numpy             {np.__version__}\n" in done.stdout
