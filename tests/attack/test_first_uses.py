"""Forks beside first uses: a short run, and what the lock of imports on demand relies on."""

import os
import subprocess
import sys

import pytest

from attack import first_uses

BODIES = """
import importlib, pkgutil, sys
import arraytape
ask = arraytape.__getattr__
def asked(name):
    frames, frame = [], sys._getframe(1)
    while frame is not None:
        frames.append(frame.f_code)
        frame = frame.f_back
    bodies = [code.co_filename for code in frames if code.co_name == "<module>"]
    loads = any(code.co_name == "load" for code in frames)
    if any("arraytape" in file for file in bodies[:-1]) and not loads:
        print(name, bodies)
    return ask(name)
arraytape.__getattr__ = asked
arraytape.Array.sum
for found in pkgutil.walk_packages(arraytape.__path__, "arraytape."):
    try:
        importlib.import_module(found.name)
    except ImportError:
        pass
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no os.fork")
@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 11])
@pytest.mark.every(3)
def test_children_beside_threads_that_begin_to_use_the_package_end(seed):
    assert first_uses.run(seed) == first_uses.FORKS


def test_no_module_asks_for_what_is_loaded_on_demand_in_its_body():
    """Else two threads would wait for each other: for a module, and for the lock of imports."""
    done = subprocess.run(
        [sys.executable, "-c", BODIES], capture_output=True, text=True, timeout=60
    )
    assert done.stdout + done.stderr == ""
