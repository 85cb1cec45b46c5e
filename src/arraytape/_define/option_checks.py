"""Checks of options (parameters that are not arrays, such as ``axis``) in the functions of ops.

A check is a test of the option's type, written into the source.  ``unwrap_option``, which converts an
option to Python's type, is called only for an unusual type, such as NumPy's integer.
"""

from __future__ import annotations

from inspect import Parameter

from .source import Source

NUMBERS = frozenset(("int", "bool", "float", "Axis"))


def is_option(parameter: Parameter) -> bool:
    """Return True if a parameter's annotation names a type of numbers or ``Axis``, but not Array."""
    note = str(parameter.annotation)
    words = note.translate(str.maketrans("[],|'\"", "      ")).split()
    return "Array" not in words and not NUMBERS.isdisjoint(words)


def write_option_check(s: Source, parameter: Parameter, *, tuples: bool) -> None:
    """Write the line that converts an option such as NumPy's integer to ``int``, ``float`` or ``bool``.

    The line tests the type first, except for an option whose annotation is a tuple.

    s : the source text of an op's function, which gets the line.  parameter : the option.
    tuples : False to write no line for an option whose annotation is a tuple.
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
