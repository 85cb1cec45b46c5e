"""Code objects that are sent by value, with the names and the lines of their source files.

Functions are sent to workers as pickles, which need not keep names or lines: cloudpickle 3.1.3 names the
file of a function that it sends by value "<dynamic-code>".  Messages on a worker name the user's file
and line, and the analysis of values that were converted to NumPy data reads the lines.
"""

from __future__ import annotations

import functools
import linecache
import zlib
from collections.abc import Callable, Iterable, Mapping
from types import CodeType
from typing import Any

from .._exits.sources import forget_trees
from .._util.source_locations import is_installed


def rebuild_code(file: str, make: Callable[..., CodeType], arguments: tuple[Any, ...]) -> CodeType:
    """Rebuild a function's code object from its pickle, with the user's file as ``co_filename``.

    Messages on the worker then name this file.
    make, arguments : the function and arguments by which cloudpickle makes the code object.
    """
    return make(*arguments).replace(co_filename=file)


def pack_sources(files: Iterable[str]) -> dict[str, bytes]:
    """Return the compressed texts of source files, without those of installed packages.

    Workers need the texts to show lines in messages.  Files that cannot be read are left out.
    """
    texts = {file: "".join(linecache.getlines(file)) for file in files if not is_installed(file)}
    return {file: compress_text(text) for file, text in texts.items() if text}


@functools.lru_cache(64)
def compress_text(text: str) -> bytes:
    """Compress a text; cached, since the next message mostly has the same text."""
    return zlib.compress(text.encode("utf-8", "surrogatepass"), 1)


KNOWN: dict[str, bytes] = {}  # the compressed text of each file that was last given to linecache


def add_sources(sources: Mapping[str, bytes]) -> None:
    """Store sent source lines in linecache, for files that are missing or differ on this machine.

    sources : file -> its compressed text.
    """
    for file, packed in sources.items():
        if KNOWN.get(file) == packed:
            continue
        text = zlib.decompress(packed).decode("utf-8", "surrogatepass")
        lines = text.splitlines(keepends=True)
        if linecache.getlines(file) != lines:
            # None as the time of modification, so that linecache.checkcache keeps the entry.
            linecache.cache[file] = len(text), None, lines, file
            forget_trees()
        KNOWN[file] = packed
