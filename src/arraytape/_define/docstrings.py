"""The docstrings of public ops, composed from their declarations in the sections of numpydoc.

The tables below hold recurring texts: on parameters, dtypes and errors.  The text on the derivative is
the source text or the docstring of the op's rule.  The declaration of an op may have a docstring of its
own: a summary, paragraphs, and sections.  Its ``Returns`` and the entries in its ``Parameters`` replace
composed texts.  Its ``Raises`` and ``Notes`` are added to composed texts; a note that starts with
"Derivative: " replaces the text of the rule.

``help()`` reads ``__doc__``, which a function cannot compute on demand.  So docstrings are composed at
the import, in 20 microseconds each.  A generated module of docstrings would save 3 of the 35
milliseconds of the import, but would have to be kept up to date.
"""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable
from inspect import Parameter, Signature, formatannotation
from typing import Any

import numpy as np

from .._record.op import Op
from .._record.plan import Rule, Unknown, identity_rule, kept_names
from .examples import examples_of

STANDARD = "https://data-apis.org/array-api/latest/API_specification/generated/array_api."
NUMPYS = "https://numpy.org/doc/stable/reference/generated/numpy."
INDENTED = sys.version_info < (3, 13)  # from 3.13 on the compiler removes the indentation
FILLED_IN_LATER = "unread"  # a saved value that the backward pass sets, so no text mentions it

# --- dtypes and shapes of operands and results --------------------------------------------------
COMPLEX = "When {} is complex."
FRACTIONAL = "When {} has a floating-point dtype."
SEVERAL_DEVICES = "When Arrays are on different devices."
# Dict from the values of ``Op.takes`` to two texts: the dtypes of array arguments, which follow "Of" in
# "Parameters", and the condition of a TypeError.
TAKES = {
    "any": ("any dtype", ""),
    "boolean": ("boolean dtype; a number counts as True unless it is 0", ""),
    "floating": ("real or complex floating-point dtype; integers are converted to one", ""),
    "Hermitian": (
        "shape (..., N, N) and floating-point dtype: Hermitian (or real symmetric) matrices,\n"
        "of which only the lower triangle is read",
        "",
    ),
    "integer": ("integer dtype", FRACTIONAL),
    "integral": ("integer or boolean dtype", FRACTIONAL),
    "matrices": ("shape (..., M, N) and real or complex floating-point dtype: matrices", ""),
    "number": ("numeric dtype", ""),
    "numeric": ("numeric dtype", "When the inputs are boolean."),
    "ordered": ("real dtype", ""),
    "real": ("real dtype", COMPLEX),
    "real floating": ("real floating-point dtype; integers are converted to one", COMPLEX),
    "square": (
        "shape (..., N, N) and real or complex floating-point dtype: square matrices",
        "",
    ),
}
# SHAPES and the next dict have the texts for the two items of ``Op.gives``: the shape and the dtype of
# the result.
SHAPES = {
    "broadcast": "Of the shape to which x1 and x2 broadcast",
    "given": "Of the given shape",
    "reduced": "Of the shape of x without the reduced axes; with keepdims these have length 1",
    "x": "Of the shape of x",
}
DTYPES = {
    "accumulated": (
        "``dtype`` if given, else the dtype of x; but int64 for smaller\n"
        "signed and uint64 for smaller unsigned integers"
    ),
    "bool": "bool",
    "default": "``dtype`` if given, else float64",
    "floating": "the dtype of x; for integers a floating-point dtype (float64 for int64)",
    "index": "int64",
    "like": "``dtype`` if given, else the dtype of x",
    "part": "the dtype of x; for complex x the real dtype of the same precision",
    "promoted": "the dtype to which those of x1 and x2 promote",
    "promoted floating": (
        "the dtype to which those of x1 and x2 promote;\n"
        "for integers a floating-point dtype (float64 for int64)"
    ),
    "real": "the dtype of x; for complex x the real dtype\nof the same precision, for integers float64",
    "x": "the dtype of x",
}


# --- parameters -----------------------------------------------------------------------------------
# Dict from names of parameters to texts, for parameters on which the op's own docstring has none.
PARAMETERS = {
    "arrays": "Arrays of any dtype.",
    "axes": "The axes; None: the last len(s) axes, or all axes if s is None.",
    "axis": "The axis; a negative number counts from the end.",
    "copy": (
        "True: the result has memory of its own.  False: the result is a view; ValueError is\n"
        "raised where none is possible.  None: it is a view where possible."
    ),
    "correction": (
        "The number that is subtracted from the number of elements in the divisor: 0 for a whole\n"
        "population, 1 for a sample of it."
    ),
    "descending": "True to put the greatest element first.",
    "device": (
        "The device of the result, such as 'cpu' or 'cuda:0'; None: the default device\n"
        "(see ``set_default_device``)."
    ),
    "dtype": "The dtype of the result; None: see Returns.",
    "k": "The diagonal: 0 for the main diagonal, k > 0 above it, k < 0 below it.",
    "keepdims": "True to keep the reduced axes, with length 1.",
    "n": "The length to which x is cropped or padded with zeros along the axis; None: no change.",
    "norm": (
        "The normalisation: 'backward' divides the inverse transform by its length n, 'forward'\n"
        "divides the forward transform by n, and 'ortho' divides both by the square root of n."
    ),
    "offset": "The diagonal: 0 for the main diagonal, positive above it, negative below it.",
    "rtol": (
        "Singular values up to rtol times the greatest one count as 0; None: max(M, N) times the\n"
        "epsilon of the dtype."
    ),
    "s": "The lengths to which x is cropped or padded with zeros along the axes; None: no change.",
    "shape": "Shape of the result.",
    "stable": "Without effect: equal elements keep their order in any case.",
    "x": "Array of any dtype.",
}
LIKE_DEVICE = "The device of the result, such as 'cpu' or 'cuda:0'; None: where x lies."
REDUCED_AXIS = "The axis or axes to reduce; negative numbers count from the end.  None: all axes."
TYPES = {  # the documented types of parameters that are annotated with Any
    "axis": "int | tuple[int, ...] | None",
    "constant_values": "Array | float | tuple",
    "device": "str | None",
    "dtype": "dtype | None",
    "fill_value": "Array | bool | int | float | complex",
    "optimize": "bool | str | list",
    "pad_width": "int | tuple",
}
ALIASES = {  # an annotation in the source -> the documented type
    "Axis": "int | tuple[int, ...] | None",
    "DType": "dtype | None",
    "Device": "str | None",
    "Norm": "{'backward', 'ortho', 'forward'}",
    "npt.DTypeLike": "dtype",
}

# --- composing ------------------------------------------------------------------------------------
HEADINGS = {
    name: f"\n{name}\n{'-' * len(name)}\n"
    for name in ("Parameters", "Returns", "Raises", "Notes", "References", "Examples")
}
IMPORTED = ">>> import arraytape as xp\n"  # the first line of examples
ERRORS = (
    "TypeError", "ValueError", "IndexError", "LinAlgError", "OverflowError", "ZeroDivisionError",
    "BufferError",
)  # fmt: skip


# Cache of composed sections, because ops without a docstring of their own share them.  Dict from
# (``Op.inputs``, ``Op.takes``, ``Op.gives``) to sections.
SAME: dict[Any, dict[str, str]] = {}


def op_docstring(op: Op, signature: Signature, own: str | None) -> str | None:
    """Compose the docstring of an op's public function; return None under ``python -OO``.

    own : the docstring in the op's declaration, or None.
    """
    if sys.flags.optimize > 1:  # python -OO removes docstrings
        return None
    name = op.name
    if op.origin == "inner":
        return split_sections(own or op.doc or f"{name} of each element.")["Summary"]
    if own:
        sections = split_sections(own)
        fill_sections(op, signature, sections)
    else:
        key = op.inputs, op.takes, op.gives
        if key not in SAME:
            fill_sections(op, signature, SAME.setdefault(key, {}))
        summary, _, notes = op.doc.partition("\n\n")
        sections = {"Summary": summary or f"{name} of each element.", "Notes": notes, **SAME[key]}
    notes = sections.get("Notes", "")
    if not notes.startswith("Derivative: "):
        notes = f"{derivative_text(op)}\n\n{notes}" if notes else derivative_text(op)
    sections["Notes"] = notes + kept_values_text(op)
    if op.origin != "extra":
        sections["References"] = f"{STANDARD}{name}.html"
    elif hasattr(np, name):
        sections["Notes"] += "\n\nBeyond the standard: NumPy's function."
        sections["References"] = f"{NUMPYS}{name}.html"
    example = examples_of("ops").get(name)
    if example:
        sections["Examples"] = IMPORTED + example
    parts = [mark + sections[title] for title, mark in HEADINGS.items() if sections.get(title)]
    return "\n".join([sections["Summary"], *parts])


def append_example(function: Callable[..., Any], example: str, notes: str = "") -> None:
    """Append notes and an Examples section to the docstring of a function, if it has a docstring."""
    own = function.__doc__
    if own is not None:
        text = own if "\n----" in own else dedented(own)  # a text with headings is dedented already
        function.__doc__ = f"{text.rstrip()}{notes}\n{HEADINGS['Examples']}{IMPORTED}{example}"


def fill_sections(op: Op, signature: Signature, sections: dict[str, str]) -> None:
    """Add the sections "Parameters", "Returns" and "Raises" of an op to the dict ``sections``.

    sections : the sections of the op's own docstring, by heading; their texts take precedence.
    """
    takes, (shape, gives) = op.takes, op.gives
    if signature.parameters:
        entries = split_entries(sections.get("Parameters", ""))
        texts = [
            entries.get(p.name) or parameter_text(p, op, takes, signature)
            for p in signature.parameters.values()
        ]
        headings = [parameter_heading(p, op) for p in signature.parameters.values()]
        rows = zip(headings, texts, strict=True)
        sections["Parameters"] = "\n".join([f"{heading}\n{text}" for heading, text in rows])
    if shape and "Returns" not in sections:
        result = f"{SHAPES[shape]}.\nIts dtype is {DTYPES[gives]}."
        sections["Returns"] = indented(f"Array\n{result}")
    sections["Raises"] = errors_text(op, signature, takes, shape, sections.get("Raises", ""))


def split_sections(text: str) -> dict[str, str]:
    """Split a docstring into a dict by heading; the text before the first heading is the "Summary"."""
    text = dedented(text)
    sections = {}
    if "\n---" in text:
        for name in reversed(HEADINGS):
            text, found, section = text.partition(HEADINGS[name])
            if found:
                sections[name] = section.rstrip()
    sections["Summary"] = text.rstrip()
    return sections


def dedented(text: str) -> str:
    """Remove the indentation from the docstring of a function at the top level of a module."""
    text = text.strip()
    return text.replace("\n    ", "\n") if INDENTED else text


def split_entries(section: str) -> dict[str, str]:
    """Split a section, such as "Raises", into a dict from names to texts.

    In a section, each name is a line above its indented text.
    """
    entries: dict[str, str] = {}
    name = ""
    for line in section.split("\n") if section else ():
        if line[:1] not in ("", " "):
            name = line
        elif line:
            entries[name] = f"{entries[name]}\n{line}" if name in entries else line
    return entries


def parameter_text(p: Parameter, op: Op, takes: str, signature: Signature) -> str:
    """Return the text on a parameter, from the tables below, for an op that does not describe it itself.

    takes : the kind of dtypes that the op accepts, a key of ``TAKES``.
    """
    name = p.name
    if takes and name in op.inputs:
        return f"    Of {indented(TAKES[takes][0])}."
    if name == "axis" and p.annotation == "int | None":
        return f"    {PARAMETERS[name]}  None: x is flattened first."
    if name == "axis" and "keepdims" in signature.parameters:
        return f"    {REDUCED_AXIS}"
    if name == "device" and op.inputs:
        return f"    {LIKE_DEVICE}"
    return f"    {indented(PARAMETERS.get(name, ''))}"


def indented(text: str) -> str:
    return text.replace("\n", "\n    ")


def parameter_heading(p: Parameter, op: Op) -> str:
    """Return the line ``name : type, default: value`` for a parameter."""
    name, note = p.name, p.annotation
    if not isinstance(note, str) and note is not p.empty:  # annotations are not lazy
        note = formatannotation(note)
    if note is p.empty:  # ``elementwise`` and ``nondifferentiable`` declare no annotations
        note = "Array" if len(op.inputs) == 1 else "Array or number"
    elif note == "Any":
        note = TYPES.get(name, "object")
    elif note in ALIASES:
        note = ALIASES[note]
    elif "Literal" in note:
        note = note.replace("Literal[", "{").replace("]", "}")
    if p.kind is p.VAR_POSITIONAL:
        name = f"*{name}"
    return (
        f"{name} : {note}" if p.default is p.empty else f"{name} : {note}, default: {p.default!r}"
    )


def errors_text(op: Op, signature: Signature, takes: str, shape: str, own: str) -> str:
    """Return the section "Raises" of an op: the errors that follow from its declaration, then its own.

    takes, shape : keys of tables with sentences on the dtypes and the shapes that the op accepts.
    own : the op's own "Raises" section.
    """
    parameters, found = signature.parameters, split_entries(own)
    errors: dict[str, list[str]] = {error: [] for error in ERRORS}
    if op.inputs:
        errors["TypeError"] += not_arrays(op, signature)
    if takes and TAKES[takes][1]:
        errors["TypeError"].append(TAKES[takes][1].format(" or ".join(op.inputs)))
    if op.data_dependent_shape == "x":
        errors["TypeError"].append(
            "When called under ``vmap``, since the shape of the result depends on values."
        )
    if "dtype" in parameters:
        errors["TypeError"].append("When ``dtype`` is not a dtype.")
    if shape == "broadcast":
        errors["ValueError"].append("When the shapes of x1 and x2 do not broadcast.")
    if takes == "ordered" and shape == "reduced":
        errors["ValueError"].append("When there is no element to choose from.")
    if "device" in parameters:
        errors["ValueError"].append("When there is no such device.")
    if shape == "given":
        errors["ValueError"].append("When a length is negative.")
    if "norm" in parameters:
        errors["ValueError"].append("When a length is 0, or norm is an unknown word.")
    if "s" in parameters:
        errors["ValueError"].append("When s and axes differ in length.")
    if "axis" in parameters or "axes" in parameters:
        errors["IndexError"].append("When there is no such axis.")
        if shape == "reduced" and parameters["axis"].annotation != "int | None":
            errors["ValueError"].append("When an axis is listed twice.")
    for error, text in found.items():
        errors.setdefault(error, []).append(text.lstrip())
    lines = [f"{error}\n    " + "\n    ".join(texts) for error, texts in errors.items() if texts]
    return "\n".join(lines)


def not_arrays(op: Op, signature: Signature) -> list[str]:
    """Return the sentences, for "Raises", on array arguments of a wrong type."""
    if op.variadic:
        return [f"When {op.inputs[0]} is not a list or tuple of Arrays.", SEVERAL_DEVICES]
    if op.kind != "composite":
        text = f"When {' or '.join(op.inputs)} is neither an Array, a NumPy or CuPy array, nor a number."
        return [text, SEVERAL_DEVICES] if len(op.inputs) > 1 else [text]
    checked = [
        f"one of the {p.name}" if p.kind is p.VAR_POSITIONAL else p.name
        for p in signature.parameters.values()
        if p.annotation == "Array" and p.kind is not p.KEYWORD_ONLY
    ]
    text = f"When {' or '.join(checked)} is neither an Array nor a NumPy or CuPy array."
    return [text] if checked else []


def derivative_text(op: Op) -> str:
    """Return the text on an op's derivative for "Notes": the source or docstring of each rule."""
    if op.kind == "nondifferentiable":
        return "Derivative: none; the gradient is None."
    if op.kind == "composite":
        if not op.inputs:
            return "Derivative: none; the result depends on no other Array."
        if op.gives == ("x", "like"):
            return "Derivative: none; the result does not depend on the values of x."
        return "Derivative: that of the ops of which this function consists."
    if not (op.rules or op.joint):
        return "Derivative: no rule is declared; a gradient through the op raises LookupError."
    if op.kind == "linear":
        back = op.joint or (op.rules and op.rules[0])
        return (
            f"Derivative: linear in {op.inputs[0]}, so that the op itself maps a tangent to that of\n"
            f"the result.  For a gradient g of the result, the gradient of {op.inputs[0]} is\n"
            f"{rule_text(back)}."
        )
    if op.joint:
        return f"Derivative:\n{rule_text(op.joint)}."
    given = [(x, rule) for x, rule in zip(op.inputs, op.rules or (), strict=True) if rule]
    rules = {x: rule for x, rule in given if not isinstance(rule, Unknown)}
    if not rules:
        return f"Derivative: none is known with respect to {names_in_sentence(list(op.inputs))}."
    if op.kind == "elementwise":
        texts = [
            f"{'``t``' if rule is identity_rule else rule_text(rule)}, for a tangent t of {x}"
            for x, rule in rules.items()
        ]
        text = "Derivative: the tangent of the result is\n" + ";\n".join(texts)
    else:
        texts = [f"the gradient of {x} is\n{rule_text(rule)}" for x, rule in rules.items()]
        text = "Derivative: for a gradient g of the result,\n" + ";\n".join(texts)
    if any("y" in op.asks[rule] and rule.__doc__ is None for rule in rules.values()):
        text += ", with y the result"
    unknown = [x for x, rule in given if x not in rules]
    if unknown:
        text += f".\nNo derivative is known with respect to {names_in_sentence(unknown)}"
    none = [x for x in op.inputs if x not in rules and x not in unknown]
    return f"{text}.\nThere is no gradient of {names_in_sentence(none)}." if none else f"{text}."


def rule_text(rule: Any) -> str:
    """Return the text of a rule: the source of a lambda, or the first paragraph of the docstring.

    The paragraph is quoted without its "Return".  Further ones are for readers of the source.
    """
    if rule is identity_rule:
        return "``g``"
    if rule.__doc__:
        return dedented(rule.__doc__).partition("\n\n")[0].removeprefix("Return ").removesuffix(".")
    return f"``{source_line(rule)}``"


def source_line(rule: Rule) -> str:
    """Return the source text of a lambda's body, or the name of a function.

    The "Notes" of an op show it as the formula of the derivative.
    """
    code = getattr(rule, "__code__", None)
    if code is None or code.co_name != "<lambda>":
        return rule.__name__
    # The body of a lambda: from the first to the last position of its instructions.
    spots = [spot for spot in code.co_positions() if None not in spot and spot[2] != spot[3]]
    first = min(((line, column) for line, _, column, _ in spots), default=(0, 0))
    last = max(((line, column) for _, line, _, column in spots), default=(0, 0))
    lines = linecache.getlines(code.co_filename)[first[0] - 1 : last[0]]
    if not spots or not lines:  # under python -X no_debug_ranges, or without source files
        return "see its rule"
    lines[-1] = lines[-1][: last[1]]
    lines[0] = lines[0][first[1] :]
    return " ".join(" ".join(lines).split())


LONGEST = 86  # the most characters of the list on the line "A tape keeps ..."


def kept_values_text(op: Op) -> str:
    """Return a paragraph, for "Notes", on the values that a tape keeps if it follows all inputs."""
    if not op.recorded:
        return ""
    kept, computed = [], []
    for name in kept_names(op):
        what, _, source = name.partition(" ")
        if name in op.saves:
            computed.append(name)
        else:
            kept.append(f"the {what} of {source}" if source else name)
    text = names_in_sentence(kept) or "nothing"
    if len(text) > LONGEST:
        head, _, tail = text[:LONGEST].rpartition(" ")
        text = f"{head}\n{tail}{text[LONGEST:]}"
    if computed := [name for name in computed if name != FILLED_IN_LATER]:
        rest = f",\n{text}" if kept else ""
        text = f"{names_in_sentence(computed)} (computed in the forward pass){rest}"
    return f"\n\nA tape keeps {text}."


def names_in_sentence(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)


# --- operators ------------------------------------------------------------------------------------
SYMBOLS = {  # the name of a special method without underscores -> the operator
    "abs": "abs(x)", "add": "+", "and": "&", "eq": "==", "floordiv": "//", "ge": ">=", "gt": ">",
    "invert": "~x", "le": "<=", "lshift": "<<", "lt": "<", "matmul": "@", "mod": "%", "mul": "*",
    "ne": "!=", "neg": "-x", "or": "|", "pos": "+x", "pow": "**", "rshift": ">>", "sub": "-",
    "truediv": "/", "xor": "^",
}  # fmt: skip
UNARY = """\
``{symbol}``: the operator of ``{op}``.

Parameters
----------
x : Array
    The operand.

Returns
-------
Array
    The result of ``{op}``, with the same dtypes, errors and derivative."""
BINARY = """\
``x1 {symbol} x2``: the operator of ``{op}``.

Parameters
----------
{operands}

Returns
-------
Array
    The result of ``{op}``, with the same dtypes, errors and derivative.

Raises
------
TypeError
    When neither operand supports the operator with the other operand.
ValueError
    When the shapes of the operands are incompatible."""
OPERANDS = {
    "x1": "x1 : Array or number\n    The operand on the left.",
    "x2": "x2 : Array or number\n    The operand on the right.",
}
IN_PLACE = """\
``x {symbol}= other``: ``{op}`` in place, in the shape and dtype of x.

Parameters
----------
x : Array
    The Array that is written to; its views show the result, too.
other : Array or number
    The operand on the right.

Returns
-------
Array
    The Array x itself; but a new Array where x is a scalar, which NumPy cannot change.

Raises
------
TypeError
    When the dtype cannot hold the result, or the operand is neither an Array nor a number.
ValueError
    When the result has another shape, or the array is read-only."""


def operator_docstring(op: str, short: str, *operands: str) -> str:
    """Return the docstring of an operator method that calls ``op``: ``__add__`` if short is "add".

    operands : the names of the method's operands, in order.
    """
    symbol = SYMBOLS[short]
    if len(operands) == 1:
        return UNARY.format(symbol=symbol, op=op)
    described = "\n".join([OPERANDS[operand] for operand in operands])
    return BINARY.format(symbol=symbol, op=op, operands=described)


def in_place_docstring(op: str, short: str) -> str:
    """Return the docstring of an in-place operator that calls ``op``: ``__iadd__`` if short is "add"."""
    return IN_PLACE.format(symbol=SYMBOLS[short], op=op)
