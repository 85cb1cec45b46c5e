"""List the functions of the package that five small programs ("journeys") run, and their files.

    python tools/journeys.py                              # frames and files of each journey
    python tools/journeys.py --calls jacobian             # every call of one of them, in order
    PYTHONPATH=other/src python tools/journeys.py         # the same, for another tree

A frame is one call of a Python function of arraytape; NumPy's functions are not counted.  Each journey
starts from existing Arrays, and has run once before, so that the ops are compiled.
docs/dev/architecture.md describes the five journeys, and a test compares the page with this output.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from typing import NamedTuple

import arraytape as xp

PACKAGE = os.path.dirname(os.path.abspath(xp.__file__)) + os.sep
COMPILED = "<arraytape"  # the file name of a compiled op


class Entered(NamedTuple):
    """A call of a function: its qualified name, and its file within the package."""

    function: str
    file: str


Journey = Callable[[], object]


def multiply() -> Journey:
    """Return a function that multiplies two Arrays and computes the gradient."""
    x, w = xp.asarray([1.0, 2.0, 3.0]), xp.asarray([4.0, 5.0, 6.0])

    def journey() -> object:
        with xp.GradientTape() as tape:
            tape.watch(x)
            y = x * w
        return tape.gradient(y, x)

    return journey


def write() -> Journey:
    """Return a function that writes through a view, and computes the gradient of a read of the view."""
    v, w = xp.asarray([1.0, 2.0]), xp.asarray([4.0, 5.0, 6.0])
    whole = xp.asarray([0.0, 0.0, 0.0, 0.0])

    def journey() -> object:
        with xp.GradientTape() as tape:
            tape.watch(v)
            part = whole[1:]
            part[:2] = v
            y = part * w
        return tape.gradient(y, v)

    return journey


def jacobian() -> Journey:
    """Return a function that computes all rows of a Jacobian in one backward pass."""
    x, a = xp.asarray([0.1, 0.2, 0.3]), xp.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])

    def journey() -> object:
        with xp.GradientTape() as tape:
            tape.watch(x)
            y = a @ xp.tanh(x)
        return tape.jacobian(y, x)

    return journey


def guarded() -> Journey:
    """Return a function that computes a gradient in which the guarded rerun replaces a NaN by 0."""
    x, limit, zero = xp.asarray([0.0, 4.0]), xp.asarray(0.0), xp.asarray(0.0)

    def journey() -> object:
        with xp.GradientTape() as tape:
            tape.watch(x)
            y = xp.where(x > limit, xp.sqrt(x), zero)
        return tape.gradient(y, x)

    return journey


def vmap() -> Journey:
    """Return a function that applies ``vmap`` of a sum of squares to three rows."""
    rows = xp.asarray([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    return lambda: xp.vmap(lambda row: xp.sum(row * row))(rows)


JOURNEYS: dict[str, Callable[[], Journey]] = {
    made.__name__: made for made in (multiply, write, jacobian, guarded, vmap)
}


def entered_by(made: Callable[[], Journey]) -> list[Entered]:
    """Return the calls of arraytape's functions that a journey makes, in order."""
    calls: list[Entered] = []

    def profile(frame, event, argument):
        name = frame.f_code.co_filename
        if event != "call":
            return
        if name.startswith(COMPILED):
            calls.append(Entered(frame.f_code.co_name, "compiled op"))
        elif name.startswith(PACKAGE):
            file = name.removeprefix(PACKAGE).replace(os.sep, "/")
            calls.append(Entered(frame.f_code.co_qualname, file))

    made()()  # compiles the ops and imports modules that are imported at their first use
    journey = made()  # on new Arrays
    sys.setprofile(profile)
    try:
        journey()
    finally:
        sys.setprofile(None)
    return calls


def files_of(calls: list[Entered]) -> list[str]:
    """Return the files of some calls, in the order in which they are first entered."""
    return [*dict.fromkeys(call.file for call in calls if call.file.endswith(".py"))]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--calls", choices=JOURNEYS, help="every call of one journey, in order")
    chosen = parser.parse_args(arguments).calls
    if chosen:
        for call in entered_by(JOURNEYS[chosen]):
            print(f"{call.file:36} {call.function}")
        return 0
    print(f"{PACKAGE}\n{'journey':12} {'frames':>6} {'files':>6}")
    for name, made in JOURNEYS.items():
        calls = entered_by(made)
        files = files_of(calls)
        print(f"{name:12} {len(calls):6} {len(files):6}  {', '.join(files)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
