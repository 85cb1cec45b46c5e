"""Find the tables that an SQL statement writes and reads.

A converted value may come back to the tape through a table: the program inserts ``float(x)`` and selects
it later.
"""

from __future__ import annotations

import re

NAME = r"[\"`\[]?(\w+)"
WRITTEN = re.compile(
    rf"\b(?:INTO|UPDATE(?:\s+OR\s+\w+)?|TABLE(?:\s+IF\s+NOT\s+EXISTS)?)\s+{NAME}", re.IGNORECASE
)
READ = re.compile(rf"\b(?:FROM|JOIN)\s+{NAME}", re.IGNORECASE)
# Statements that tables_of does not parse: a table with a schema (``a.b``), or several tables in FROM.
UNPARSED = re.compile(
    r"\b(?:INTO|UPDATE|TABLE|FROM|JOIN)\s+\S+\.|\bFROM\b(?:(?!\bWHERE\b|\bORDER\b|\bGROUP\b).)*,",
    re.IGNORECASE | re.DOTALL,
)
KNOWN = re.compile(
    r"\s*(?:CREATE\s+TABLE|INSERT|REPLACE|UPDATE|SELECT|DELETE\s+FROM)\b", re.IGNORECASE
)
COUNTS = re.compile(r"\s*SELECT\s+COUNT\s*\(\s*\*\s*\)\s+FROM\b", re.IGNORECASE)


def tables_of(text: str | None) -> tuple[set[str], set[str]] | None:
    """Return two sets of names: the tables that an SQL statement writes, and those that it reads.

    They show where a converted value (such as ``float(x)``) may be stored and read back.  Return None if
    the statement is not one of the simple forms that are recognized.

    text : the statement; None if it is not known.
    """
    if text is None or not KNOWN.match(text) or UNPARSED.search(text):
        return None
    written = {name.lower() for name in WRITTEN.findall(text)}
    # A statement that counts rows returns no value of the table.
    read = () if COUNTS.match(text) else READ.findall(text)
    return written, {name.lower() for name in read}
