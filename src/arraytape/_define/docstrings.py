"""The docstrings of public functions, composed in numpydoc's sections from their declarations.

Recurring texts stand once, in the tables below: parameters, dtypes, errors.  The derivative is the
source text of the op's rule.  An op's own docstring has a summary and paragraphs, then sections.
Entries of its ``Parameters`` and its ``Returns`` replace composed ones; ``Raises`` and ``Notes`` are
added to these.  A note that starts with "Derivative: " replaces the text of the rule.

``help()`` reads ``__doc__``, which a function cannot compute on demand, so docstrings are composed at
the import, in 20 microseconds each.  A generated module of docstrings would save most of that (3 of 35
milliseconds), and would have to be kept up to date.
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
INDENTED = sys.version_info < (3, 13)  # later versions compile docstrings without indentation
FILLED_IN_LATER = "unread"  # a place in a record that is empty until the backward pass

# --- dtypes and shapes of operands and results --------------------------------------------------
COMPLEX = "When {} is complex."
FRACTIONAL = "When {} has a floating-point dtype."
SEVERAL_DEVICES = "When Arrays lie on different devices."
# The dtypes of array arguments, and when an op raises TypeError.
TAKES = {
    "any": ("any dtype", ""),
    "boolean": ("boolean dtype; a number counts as True unless it is 0", ""),
    "floating": ("real or complex floating-point dtype; integers are computed as such", ""),
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
    "real floating": ("real floating-point dtype; integers are computed as such", COMPLEX),
    "square": (
        "shape (..., N, N) and real or complex floating-point dtype: square matrices",
        "",
    ),
}
SHAPES = {
    "broadcast": "Of the shape to which x1 and x2 broadcast",
    "given": "Of the given shape",
    "reduced": "Of the shape of x without the reduced axes, or with length 1 there (keepdims)",
    "x": "Of the shape of x",
}
DTYPES = {
    "accumulated": (
        "``dtype``, else that of x;\nbut int64 for smaller integers, uint64 for unsigned ones"
    ),
    "bool": "bool",
    "default": "``dtype``, else float64",
    "floating": "that of x, floating point for integers (int64: float64)",
    "index": "int64",
    "like": "``dtype``, else that of x",
    "part": "that of x; of complex data the real one of its precision",
    "promoted": "the one to which those of x1 and x2 promote",
    "promoted floating": (
        "the one to which those of x1 and x2 promote,\nfloating point for integers (int64: float64)"
    ),
    "real": "that of x; of complex data the real one\nof its precision, of integers float64",
    "x": "that of x",
}


# --- parameters -----------------------------------------------------------------------------------
# By name, where an op's own docstring does not describe it.
PARAMETERS = {
    "arrays": "Arrays of any dtype.",
    "axes": "The axes; None: the last len(s), or all of them without s.",
    "axis": "The axis; a negative one counts from the end.",
    "copy": (
        "Whether the result has memory of its own: True always, None where it cannot be a view,\n"
        "False never, with a ValueError where it would have to."
    ),
    "correction": (
        "What is subtracted from the number of elements in the divisor: 0 for a whole population,\n"
        "1 for a sample of it."
    ),
    "descending": "Whether the greatest comes first.",
    "device": (
        "Where the result lies, such as 'cpu' or 'cuda:0'; None: the default device\n"
        "(see ``set_default_device``)."
    ),
    "dtype": "Dtype of the result; None: see Returns.",
    "k": "The diagonal: 0 for the main one, above it for k > 0, below it for k < 0.",
    "keepdims": "Whether the reduced axes stay, with length 1.",
    "n": "The length along the axis to which x is cropped or padded with zeros; None: as it is.",
    "norm": (
        "Which transform is divided by its length n: the inverse one ('backward'), the forward\n"
        "one ('forward'), or both by its square root ('ortho')."
    ),
    "offset": "The diagonal: 0 for the main one, above it if positive, below it if negative.",
    "rtol": (
        "Singular values up to rtol times the greatest count as 0; None: max(M, N) times the\n"
        "epsilon of the dtype."
    ),
    "s": "Lengths along the axes to which x is cropped or padded with zeros; None: as they are.",
    "shape": "Shape of the result.",
    "stable": "Whether equal elements keep their order; they do so in any case.",
    "x": "Array of any dtype.",
}
LIKE_DEVICE = "Where the result lies, such as 'cpu' or 'cuda:0'; None: where x lies."
REDUCED_AXIS = "The axis or axes to reduce, negative ones from the end; None: all of them."
TYPES = {  # of parameters that are annotated with Any
    "axis": "int | tuple[int, ...] | None",
    "constant_values": "Array | float | tuple",
    "device": "str | None",
    "dtype": "dtype | None",
    "fill_value": "Array | bool | int | float | complex",
    "optimize": "bool | str | list",
    "pad_width": "int | tuple",
}
ALIASES = {
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


SAME: dict[Any, dict[str, str]] = {}  # sections of ops of one line, by inputs, dtypes and shape


def docstring(op: Op, signature: Signature, own: str | None) -> str | None:
    """Return the docstring of an op's public function; ``own`` is that of its declaration."""
    if sys.flags.optimize > 1:  # python -OO: the user wants none
        return None
    name = op.name
    if op.origin == "inner":
        return sections_of(own or op.doc or f"{name} of each element.")["Summary"]
    if own:
        sections = sections_of(own)
        describe(op, signature, sections)
    else:
        key = op.inputs, op.takes, op.gives
        if key not in SAME:
            describe(op, signature, SAME.setdefault(key, {}))
        summary, _, notes = op.doc.partition("\n\n")
        sections = {"Summary": summary or f"{name} of each element.", "Notes": notes, **SAME[key]}
    notes = sections.get("Notes", "")
    if not notes.startswith("Derivative: "):
        notes = f"{derivative_text(op)}\n\n{notes}" if notes else derivative_text(op)
    sections["Notes"] = notes + kept_words(op)
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


def with_example(function: Callable[..., Any], example: str, notes: str = "") -> None:
    """Write an example, and notes before it, at the end of a function's docstring, if it has one."""
    own = function.__doc__
    if own is not None:
        text = own if "\n----" in own else dedented(own)  # whose headings stand at the margin
        function.__doc__ = f"{text.rstrip()}{notes}\n{HEADINGS['Examples']}{IMPORTED}{example}"


def describe(op: Op, signature: Signature, sections: dict[str, str]) -> None:
    """Set the sections on parameters, result and errors, with the entries of an op's own docstring."""
    takes, (shape, gives) = op.takes, op.gives
    if signature.parameters:
        entries = entries_of(sections.get("Parameters", ""))
        sections["Parameters"] = "\n".join([
            f"{heading(p, op)}\n{entries.get(p.name) or text_of(p, op, takes, signature)}"
            for p in signature.parameters.values()
        ])  # fmt: skip
    if shape and "Returns" not in sections:
        result = f"{SHAPES[shape]}.\nIts dtype is {DTYPES[gives]}."
        sections["Returns"] = indented(f"Array\n{result}")
    sections["Raises"] = errors_of(op, signature, takes, shape, sections.get("Raises", ""))


def sections_of(text: str) -> dict[str, str]:
    """Return the sections of a docstring by heading; text before the first heading is the "Summary"."""
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
    """Return the docstring of a function at the top level of a module without indentation."""
    text = text.strip()
    return text.replace("\n    ", "\n") if INDENTED else text


def entries_of(section: str) -> dict[str, str]:
    """Return the entries of a section by name: an indented text below a name at the margin."""
    entries: dict[str, str] = {}
    name = ""
    for line in section.split("\n") if section else ():
        if line[:1] not in ("", " "):
            name = line
        elif line:
            entries[name] = f"{entries[name]}\n{line}" if name in entries else line
    return entries


def text_of(p: Parameter, op: Op, takes: str, signature: Signature) -> str:
    """Return the composed text on a parameter."""
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
    """Return text with all lines but the first one indented."""
    return text.replace("\n", "\n    ")


def heading(p: Parameter, op: Op) -> str:
    """Return ``name : type, default: value``, from the signature."""
    name, note = p.name, p.annotation
    if not isinstance(note, str) and note is not p.empty:  # without annotations from __future__
        note = formatannotation(note)
    if note is p.empty:  # an op of one line
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


def errors_of(op: Op, signature: Signature, takes: str, shape: str, own: str) -> str:
    """Return the errors that follow from the declaration, then those of the op's own docstring."""
    parameters, found = signature.parameters, entries_of(own)
    errors: dict[str, list[str]] = {error: [] for error in ERRORS}
    if op.inputs:
        errors["TypeError"] += not_arrays(op, signature)
    if takes and TAKES[takes][1]:
        errors["TypeError"].append(TAKES[takes][1].format(" or ".join(op.inputs)))
    if op.data_dependent_shape == "x":
        errors["TypeError"].append("Under ``vmap``, since the shapes depend on values.")
    if "dtype" in parameters:
        errors["TypeError"].append("When ``dtype`` is no dtype.")
    if shape == "broadcast":
        errors["ValueError"].append("When the shapes of x1 and x2 do not broadcast.")
    if takes == "ordered" and shape == "reduced":
        errors["ValueError"].append("When there is no element to choose from.")
    if "device" in parameters:
        errors["ValueError"].append("When there is no such device.")
    if shape == "given":
        errors["ValueError"].append("When a length is negative.")
    if "norm" in parameters:
        errors["ValueError"].append("When a length is 0, or norm is another word.")
    if "s" in parameters:
        errors["ValueError"].append("When s and axes differ in number.")
    if "axis" in parameters or "axes" in parameters:
        errors["IndexError"].append("When there is no such axis.")
        if shape == "reduced" and parameters["axis"].annotation != "int | None":
            errors["ValueError"].append("When an axis is named twice.")
    for error, text in found.items():
        errors.setdefault(error, []).append(text.lstrip())
    lines = [f"{error}\n    " + "\n    ".join(texts) for error, texts in errors.items() if texts]
    return "\n".join(lines)


def not_arrays(op: Op, signature: Signature) -> list[str]:
    """Return sentences on TypeErrors for the array arguments of an op."""
    if op.variadic:
        return [f"When {op.inputs[0]} is not a list or tuple of Arrays.", SEVERAL_DEVICES]
    if op.kind != "composite":
        text = f"When {' or '.join(op.inputs)} is no Array (or NumPy or CuPy array, or number)."
        return [text, SEVERAL_DEVICES] if len(op.inputs) > 1 else [text]
    checked = [
        f"one of the {p.name}" if p.kind is p.VAR_POSITIONAL else p.name
        for p in signature.parameters.values()
        if p.annotation == "Array" and p.kind is not p.KEYWORD_ONLY
    ]
    text = f"When {' or '.join(checked)} is no Array (or NumPy or CuPy array)."
    return [text] if checked else []


def derivative_text(op: Op) -> str:
    """Write the op's rules as they stand in the source."""
    if op.kind == "nondifferentiable":
        return "Derivative: none; the gradient is None."
    if op.kind == "composite":
        if not op.inputs:
            return "Derivative: none; the result depends on no other Array."
        if op.gives == ("x", "like"):
            return "Derivative: none; the result does not depend on the values of x."
        return "Derivative: through the recorded ops of which this function is made."
    if not (op.rules or op.joint):
        return "Derivative: no rule is declared; a gradient through it is a LookupError."
    if op.kind == "linear":
        back = op.joint or (op.rules and op.rules[0])
        return (
            "Derivative: linear, so a tangent goes through the op itself.\n"
            f"A gradient g of the result goes back\nas {written(back)}."
        )
    if op.joint:
        return f"Derivative:\n{written(op.joint)}."
    given = [(x, rule) for x, rule in zip(op.inputs, op.rules or (), strict=True) if rule]
    rules = {x: rule for x, rule in given if not isinstance(rule, Unknown)}
    if not rules:
        return f"Derivative: none is known with respect to {names_in_sentence(list(op.inputs))}."
    if op.kind == "elementwise":
        texts = [
            f"{'``t``' if rule is identity_rule else written(rule)}, for the tangent t of {x}"
            for x, rule in rules.items()
        ]
        text = "Derivative: " + ";\n".join(texts)
    else:
        texts = [f"to {x} as {written(rule)}" for x, rule in rules.items()]
        text = "Derivative: a gradient g of the result goes back\n" + ";\n".join(texts)
    if any("y" in op.asks[rule] and rule.__doc__ is None for rule in rules.values()):
        text += ", with y the result"
    unknown = [x for x, rule in given if x not in rules]
    if unknown:
        text += f".\nNone is known with respect to {names_in_sentence(unknown)}"
    none = [x for x in op.inputs if x not in rules and x not in unknown]
    return f"{text}.\nThere is none for {names_in_sentence(none)}." if none else f"{text}."


def written(rule: Any) -> str:
    """Return a rule as text: a function's docstring after "Return", the source of a lambda."""
    if rule is identity_rule:
        return "itself"
    if rule.__doc__:
        return dedented(rule.__doc__).removeprefix("Return ").removesuffix(".")
    return f"``{source_line(rule)}``"


def source_line(rule: Rule) -> str:
    """Return the source text of a lambda's body, or the name of a function."""
    code = getattr(rule, "__code__", None)
    if code is None or code.co_name != "<lambda>":
        return rule.__name__
    spots = [spot for spot in code.co_positions() if None not in spot and spot[2] != spot[3]]
    first = min(((line, column) for line, _, column, _ in spots), default=(0, 0))
    last = max(((line, column) for _, line, _, column in spots), default=(0, 0))
    lines = linecache.getlines(code.co_filename)[first[0] - 1 : last[0]]
    if not spots or not lines:  # python -X no_debug_ranges, or no source files
        return "see its rule"
    lines[-1] = lines[-1][: last[1]]
    lines[0] = lines[0][first[1] :]
    return " ".join(" ".join(lines).split())


LONGEST = 86  # characters after "A tape keeps "


def kept_words(op: Op) -> str:
    """Return a paragraph on the kept values of a record with all inputs followed."""
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
SYMBOLS = {
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
    That of ``{op}``, whose dtypes, errors and derivative it has."""
BINARY = """\
``x1 {symbol} x2``: the operator of ``{op}``.

Parameters
----------
{operands}

Returns
-------
Array
    That of ``{op}``, whose dtypes, errors and derivative it has.

Raises
------
TypeError
    When neither operand knows what to do with the other.
ValueError
    When the shapes do not fit together."""
OPERANDS = {
    "x1": "x1 : Array or number\n    The operand on the left.",
    "x2": "x2 : Array or number\n    The operand on the right.",
}
IN_PLACE = """\
``x {symbol}= other``: ``{op}`` in place, in the shape and dtype of x.

Parameters
----------
x : Array
    What is written to; its views see the result.
other : Array or number
    The operand on the right.

Returns
-------
Array
    The same Array; where NumPy has an immutable scalar, a new one.

Raises
------
TypeError
    When the dtype cannot hold the result, or the operand is neither an Array nor a number.
ValueError
    When the result has another shape, or the array is read-only."""


def operator_docstring(op: str, short: str, *operands: str) -> str:
    """Return the docstring of the operator ``__short__`` of an op, with its operands in order."""
    symbol = SYMBOLS[short]
    if len(operands) == 1:
        return UNARY.format(symbol=symbol, op=op)
    described = "\n".join([OPERANDS[operand] for operand in operands])
    return BINARY.format(symbol=symbol, op=op, operands=described)


def in_place_docstring(op: str, short: str) -> str:
    """Return the docstring of the in-place operator ``__ishort__`` of an op."""
    return IN_PLACE.format(symbol=SYMBOLS[short], op=op)
