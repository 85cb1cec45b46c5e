"""The error message for tables with columns that an Array cannot hold, such as texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .._util.errors import user_line


def no_numbers(kind: str, others: Mapping[Any, Any], names: Sequence[Any]) -> TypeError:
    """Return the TypeError for a table that an Array cannot hold: it has columns of text or dates.

    kind : the class of the table, such as "DataFrame".  others : the dtypes of these columns, by name.
    names : the names of the columns of numbers.
    """
    name, dtype = next(iter(others.items()))
    if kind == "Series":
        advice = "map the values to numbers first, for example by their codes"
    elif names:
        advice = f"take the columns of numbers, table[{[*names]}].to_numpy()"
    else:
        advice = "map the columns to numbers first"
    return TypeError(
        f"{advice}: the column {name!r} of the {kind} is {dtype}, and Arrays hold numbers or booleans "
        f"[at {user_line()}]"
    )
