"""The examples in the docstrings of ops, read from text files.

The files are ``*.txt`` in ``ops/examples``, ``special/examples`` and ``_numpy_api/examples`` (methods).
In them the name of an op is underlined by a line of ``=``, and its example follows.  The line
``import arraytape as xp`` is not in the files; the docstrings add it.
``python tools/name_examples.py --write FILE`` runs the examples of a file and writes their output, and a
test checks that output.
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
    """Return the examples of a subpackage's folder ``examples``: a dict from names of ops to texts.

    room : the name of the subpackage, such as "ops".  Return {} if the folder cannot be read, as in a
    zip file.
    """
    folder, texts = os.path.join(HERE, room, "examples"), [""]
    with contextlib.suppress(OSError):
        for file in os.listdir(folder):
            with open(os.path.join(folder, file), encoding="utf-8") as opened:
                texts.append(opened.read())
    _, *parts = HEADING.split("\n".join(texts))
    return dict(zip(parts[::2], [f"{part.rstrip()}\n" for part in parts[1::2]], strict=True))
