"""The examples of ops, for the sections "Examples" of their docstrings.

They stand in text files next to the chapters that state the ops, ``ops/examples/*.txt``: each name
stands above a line of ``=``, and its example below.  Each example starts with an import of arraytape
that is not in the file.  ``python tools/name_examples.py --write FILE`` writes the output of the
examples, and a test compares it.
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
    """Return the examples of a room's functions by name; none if its files cannot be read."""
    folder, texts = os.path.join(HERE, room, "examples"), [""]
    with contextlib.suppress(OSError):  # in a zip file
        for file in os.listdir(folder):
            with open(os.path.join(folder, file), encoding="utf-8") as opened:
                texts.append(opened.read())
    _, *parts = HEADING.split("\n".join(texts))
    return dict(zip(parts[::2], [f"{part.rstrip()}\n" for part in parts[1::2]], strict=True))
