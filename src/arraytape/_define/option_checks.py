"""Checks of options in the public functions of ops: each costs a test of its type, written out.

Only an option of another type than the usual one, such as NumPy's integer, costs a call.
"""

from __future__ import annotations

from inspect import Parameter

from .source import Source

NUMBERS = frozenset(("int", "bool", "float", "Axis"))


def is_option(parameter: Parameter) -> bool:
    """Return True if a parameter's annotation has numbers, or sequences of them, and no Array."""
    note = str(parameter.annotation)
    words = note.translate(str.maketrans("[],|'\"", "      ")).split()
    return "Array" not in words and not NUMBERS.isdisjoint(words)


def write_option_check(s: Source, parameter: Parameter, *, tuples: bool) -> None:
    """Write the line that brings an option of an unusual type into Python's spelling.

    tuples : True if options that are tuples always are checked, too: the function copies them anyway.
    """
    x, note = parameter.name, str(parameter.annotation)
    unusual = [f"{x} is not None"] if "None" in note or note == "Axis" else []
    if note.startswith("bool"):
        unusual += [f"{x} is not False", f"{x} is not True"]
    elif note.startswith("float"):
        unusual += [f"type({x}) is not float", f"type({x}) is not int"]
    elif not note.startswith("tuple"):
        unusual += [f"type({x}) is not int"]
    elif not tuples:
        return
    test = f"if {' and '.join(unusual)}: " if unusual else ""
    s.line(f"{test}{x} = unwrap_option({x})")
