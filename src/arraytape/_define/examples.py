"""The examples of ops: what stands below "Examples" in their docstrings.

They are text files beside the chapters that state the ops, ``ops/examples/*.txt``: each name stands
above a line of ``=``, then comes its example.  The line that imports arraytape is added to each.
``python tools/name_examples.py --write FILE`` writes what the examples print, and a test compares it.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re

HEADING = re.compile(r"^(\S+)\n=+\n", re.MULTILINE)
HERE = os.path.dirname(os.path.dirname(__file__))


@functools.cache
def examples_of(room: str) -> dict[str, str]:
    """Return the examples of a room's functions by name; none where its files are not to be had."""
    folder, texts = os.path.join(HERE, room, "examples"), [""]
    with contextlib.suppress(OSError):  # in a zip file
        for file in os.listdir(folder):
            with open(os.path.join(folder, file), encoding="utf-8") as opened:
                texts.append(opened.read())
    _, *parts = HEADING.split("\n".join(texts))
    return dict(zip(parts[::2], [f"{part.rstrip()}\n" for part in parts[1::2]], strict=True))
