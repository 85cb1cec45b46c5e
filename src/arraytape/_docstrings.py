"""The docstrings of public functions, composed in numpydoc's sections from their declarations.

What recurs is said once, in the tables below: parameters, what an op takes and gives, errors.  The
derivative is the op's own rule as it is written.  What is special about an op stands in its own
docstring: summary and paragraphs, then sections whose entries take the place of the tables' (of
``Raises`` and ``Notes``: join them).

``help()`` reads ``__doc__``, which of a function cannot be computed on demand, so all of this runs
when the package is imported: string work alone, about 10 microseconds an op.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterable
from inspect import Parameter, Signature
from typing import Any

from ._op import Op, Rule, same

STANDARD = "https://data-apis.org/array-api/latest/API_specification/generated/array_api."
# Public names that the standard has not, and ops behind other names: no page to refer to.
ELSEWHERE = frozenset((
    "bincount", "cast", "cofactors", "diag", "discretized", "einsum", "getitem", "logspace",
    "median", "moved", "pad", "reinterpreted", "reshaped", "scatter_add", "scattered",
    "stop_gradient",
))  # fmt: skip
FILLED_IN_LATER = "dead"  # a place in a record that is empty until the backward pass

# --- what an op takes and gives -----------------------------------------------------------------
# The dtypes of array arguments, and what is refused with a TypeError.
TAKES = {
    "any": ("any dtype", ""),
    "boolean": ("boolean dtype; a number counts as True unless it is 0", ""),
    "floating": ("real or complex floating-point dtype; integers are computed as such", ""),
    "integer": ("integer dtype", "a floating-point dtype"),
    "integral": ("integer or boolean dtype", "a floating-point dtype"),
    "number": ("numeric dtype", ""),
    "numeric": ("numeric dtype", "a boolean dtype"),
    "ordered": ("real dtype", ""),
    "real": ("real dtype", "a complex dtype"),
    "real floating": (
        "real floating-point dtype; integers are computed as such",
        "a complex dtype",
    ),
}
SHAPES = {
    "broadcast": "Of the shape to which x1 and x2 broadcast",
    "given": "Of the given shape",
    "reduced": "Of the shape of x without the reduced axes, or with length 1 there (keepdims)",
    "x": "Of the shape of x",
}
DTYPES = {
    "accumulated": "``dtype``, else that of x;\n    but int64 for smaller integers, uint64 for unsigned ones",
    "bool": "bool",
    "default": "``dtype``, else float64",
    "floating": "that of x, floating point for integers (int64: float64)",
    "index": "int64",
    "like": "``dtype``, else that of x",
    "promoted": "the one to which those of x1 and x2 promote",
    "promoted floating": "the one to which those of x1 and x2 promote,\n    floating point for integers (int64: float64)",
    "real": "that of x; of complex data the real one\n    of its precision, of integers float64",
    "x": "that of x",
}  # fmt: skip


def each(names: str, takes: str, shape: str, gives: str) -> dict[str, tuple[str, str, str]]:
    """The same entry of ``RULES`` for several ops."""
    return dict.fromkeys(names.split(), (takes, shape, gives))


RULES = {
    **each("acos acosh asin asinh atan atanh cos cosh exp expm1 log log1p log2 log10 sin sinh sqrt "
           "tan tanh", "floating", "x", "floating"),
    **each("atan2 copysign hypot logaddexp nextafter", "real floating", "broadcast",
           "promoted floating"),
    **each("divide", "number", "broadcast", "promoted floating"),
    **each("add multiply pow", "number", "broadcast", "promoted"),
    **each("subtract", "numeric", "broadcast", "promoted"),
    **each("maximum minimum", "ordered", "broadcast", "promoted"),
    **each("floor_divide remainder", "real", "broadcast", "promoted"),
    **each("negative positive sign", "numeric", "x", "x"),
    **each("conj reciprocal round square", "number", "x", "x"),
    **each("ceil floor trunc", "real", "x", "x"),
    **each("bitwise_and bitwise_or bitwise_xor", "integral", "broadcast", "promoted"),
    **each("bitwise_left_shift bitwise_right_shift", "integer", "broadcast", "promoted"),
    **each("bitwise_invert", "integral", "x", "x"),
    **each("equal not_equal", "any", "broadcast", "bool"),
    **each("greater greater_equal less less_equal", "ordered", "broadcast", "bool"),
    **each("isfinite isinf isnan", "any", "x", "bool"),
    **each("logical_and logical_or logical_xor", "boolean", "broadcast", "bool"),
    **each("logical_not", "boolean", "x", "bool"),
    **each("signbit", "real", "x", "bool"),
    **each("prod sum", "number", "reduced", "accumulated"),
    **each("mean", "floating", "reduced", "floating"),
    **each("std var", "floating", "reduced", "real"),
    **each("max min", "ordered", "reduced", "x"),
    **each("all any", "boolean", "reduced", "bool"),
    **each("argmax argmin", "ordered", "reduced", "index"),
    **each("count_nonzero", "any", "reduced", "index"),
    **each("median", "floating", "reduced", "floating"),
    **each("sort", "ordered", "x", "x"),
    **each("argsort", "ordered", "x", "index"),
    **each("flip roll", "any", "x", "x"),
    **each("empty ones zeros", "any", "given", "default"),
    **each("empty_like full_like ones_like zeros_like", "any", "x", "like"),
    **each("tril triu", "any", "x", "x"),
    **each("fft.fftshift fft.ifftshift", "any", "x", "x"),
}  # fmt: skip

# --- parameters -----------------------------------------------------------------------------------
# By name, where an op's own docstring does not describe it.
PARAMETERS = {
    "arrays": "Arrays of any dtype.",
    "axis": "The axis; a negative one counts from the end.",
    "copy": "Whether the result has memory of its own: True always, None where it cannot be\n    a view, False never, with a ValueError where it would have to.",
    "correction": "What is subtracted from the number of elements in the divisor: 0 for a whole\n    population, 1 for a sample of it.",
    "descending": "Whether the greatest comes first.",
    "device": "Where the result lies, such as 'cpu' or 'cuda:0'; None: where x lies, or without\n    such an x on the default device (see ``set_default_device``).",
    "dtype": "Dtype of the result; None: see Returns.",
    "keepdims": "Whether the reduced axes stay, with length 1.",
    "k": "The diagonal: 0 for the main one, above it for k > 0, below it for k < 0.",
    "norm": "Which transform is divided by its length n: the inverse one ('backward'), the\n    forward one ('forward'), or both by its square root ('ortho').",
    "offset": "The diagonal: 0 for the main one, above it if positive, below it if negative.",
    "rtol": "Singular values up to rtol times the greatest count as 0; None: max(M, N) times\n    the epsilon of the dtype.",
    "shape": "Shape of the result.",
    "stable": "Whether equal elements keep their order; they do so in any case.",
    "x": "Array of any dtype.",
}  # fmt: skip
REDUCED_AXIS = "The axis or axes to reduce, negative ones from the end; None: all of them."
TYPES = {"device": "str | None", "dtype": "dtype | None", "obj": "object"}  # where annotated Any
ALIASES = {
    "Axis": "int | tuple[int, ...] | None",
    "Norm": "{'backward', 'ortho', 'forward'}",
}

# --- ops of one line ------------------------------------------------------------------------------
SUMMARIES = {
    "acos": "Inverse cosine of each element, in radians from 0 to pi.",
    "acosh": "Inverse hyperbolic cosine of each element.",
    "add": "Sum x1 + x2, element by element.",
    "asin": "Inverse sine of each element, in radians from -pi/2 to pi/2.",
    "asinh": "Inverse hyperbolic sine of each element.",
    "atan": "Inverse tangent of each element, in radians from -pi/2 to pi/2.",
    "atan2": "Angle of the point (x2, x1), element by element, in radians from -pi to pi.",
    "atanh": "Inverse hyperbolic tangent of each element.",
    "bitwise_and": "Bitwise and, element by element: x1 & x2.",
    "bitwise_invert": "Invert each bit of each element: ~x.",
    "bitwise_left_shift": "Shift the bits of x1 to the left by x2, element by element: x1 << x2.",
    "bitwise_or": "Bitwise or, element by element: x1 | x2.",
    "bitwise_right_shift": "Shift the bits of x1 to the right by x2, element by element: x1 >> x2.",
    "bitwise_xor": "Bitwise exclusive or, element by element: x1 ^ x2.",
    "ceil": "Round each element up to an integer.",
    "copysign": "Magnitude of x1 with the sign of x2, element by element.",
    "cos": "Cosine of each element, in radians.",
    "cosh": "Hyperbolic cosine of each element.",
    "divide": "Quotient x1 / x2, element by element.",
    "equal": "Compare element by element: x1 == x2.",
    "exp": "Exponential of each element: e ** x.",
    "expm1": "Exponential less 1 of each element, precise near 0.",
    "floor": "Round each element down to an integer.",
    "floor_divide": "Quotient rounded down to an integer, element by element: x1 // x2.",
    "greater": "Compare element by element: x1 > x2.",
    "greater_equal": "Compare element by element: x1 >= x2.",
    "hypot": "Square root of x1**2 + x2**2, element by element, without overflow.",
    "isfinite": "Test each element: neither infinite nor NaN.",
    "isinf": "Test each element: infinite, of either sign.",
    "isnan": "Test each element: NaN.",
    "less": "Compare element by element: x1 < x2.",
    "less_equal": "Compare element by element: x1 <= x2.",
    "log": "Natural logarithm of each element.",
    "log10": "Logarithm to base 10 of each element.",
    "log1p": "Natural logarithm of 1 + x for each element, precise near 0.",
    "log2": "Logarithm to base 2 of each element.",
    "logaddexp": "Logarithm of exp(x1) + exp(x2), element by element, without overflow.",
    "logical_and": "Logical and, element by element.",
    "logical_not": "Logical not of each element.",
    "logical_or": "Logical or, element by element.",
    "logical_xor": "Logical exclusive or, element by element.",
    "maximum": "Greater of x1 and x2, element by element; NaN where either is NaN.",
    "minimum": "Lesser of x1 and x2, element by element; NaN where either is NaN.",
    "multiply": "Product x1 * x2, element by element.",
    "negative": "Negative of each element: -x.",
    "nextafter": "Next floating-point number after x1 towards x2, element by element.",
    "not_equal": "Compare element by element: x1 != x2.",
    "positive": "Copy of x: +x.",
    "pow": "Power x1 ** x2, element by element.",
    "reciprocal": "Reciprocal of each element: 1 / x.",
    "remainder": "Remainder of x1 / x2 with the sign of x2, element by element: x1 % x2.",
    "round": "Round each element to the nearest integer, halves to the nearest even one.",
    "signbit": "Test each element: its sign bit is set, as for negative numbers and -0.0.",
    "sin": "Sine of each element, in radians.",
    "sinh": "Hyperbolic sine of each element.",
    "sqrt": "Square root of each element.",
    "square": "Square of each element: x * x.",
    "subtract": "Difference x1 - x2, element by element.",
    "tan": "Tangent of each element, in radians.",
    "tanh": "Hyperbolic tangent of each element.",
    "trunc": "Round each element towards zero to an integer.",
}
TIES = (
    "Ties share the gradient evenly, so maximum(x, x) has gradient 1.  An operand that is NaN, and\n"
    "so the result, takes it.  What is not taken gets exactly 0, however steep it is."
)
AT_ZERO = "The slope at 0 is infinite, and the gradient there inf."
# The derivative at special points, by the README's conventions.
CONVENTIONS = {
    "atan2": "Both slopes are 0 where x1 and x2 are 0.",
    "copysign": "The slope at x1 = 0 is 0, and so is that for x2 everywhere.",
    "floor_divide": "The gradient is 0 everywhere, also at the steps.",
    "hypot": "Both slopes are 0 where x1 and x2 are 0.",
    "log": AT_ZERO,
    "log10": AT_ZERO,
    "log2": AT_ZERO,
    "logaddexp": "An operand that is inf takes the whole gradient; two of them share it evenly.",
    "maximum": TIES,
    "minimum": TIES.replace("maximum", "minimum"),
    "nextafter": "The next number moves with x1, as in TensorFlow; towards x2 it is a step, not a slope.",
    "pow": "The slope of x1 ** 0 is 0, also at x1 = 0; that of 0 ** x2 with respect to x2 is 0.",
    "remainder": "The gradient at a step is that of the piece on which the result lies.",
    "sqrt": AT_ZERO,
}  # fmt: skip

# --- composing ------------------------------------------------------------------------------------
HEADINGS = {
    name: f"\n{name}\n{'-' * len(name)}\n"
    for name in ("Parameters", "Returns", "Raises", "Notes", "References", "Examples")
}
Entries = dict[str, str]  # name -> its lines, the first one with the name


def docstring(op: Op, signature: Signature, own: str | None) -> str:
    """The docstring of an op's public function; ``own`` is that of its declaration."""
    name = op.name
    sections = sections_of(own or SUMMARIES.get(name, f"{name} of each element."))
    takes, shape, gives = RULES.get(name, ("", "", ""))
    parts = [sections["Summary"]]
    described = entries_of(sections.get("Parameters", ""))
    if signature.parameters:
        reduces = "keepdims" in signature.parameters
        lines = [
            described.get(p.name) or parameter(p, op, takes, reduces)
            for p in signature.parameters.values()
        ]
        parts.append(HEADINGS["Parameters"] + "\n".join(lines))
    if "Returns" in sections:
        parts.append(HEADINGS["Returns"] + sections["Returns"])
    elif shape:
        parts.append(
            f"{HEADINGS['Returns']}Array\n    {SHAPES[shape]}.\n    Its dtype is {DTYPES[gives]}."
        )
    errors = errors_of(op, signature, takes, sections.get("Raises", ""))
    if errors:
        parts.append(HEADINGS["Raises"] + errors)
    notes = sections.get("Notes", "")
    if not notes.startswith("Derivative: "):
        notes = f"{derivative(op)}\n\n{notes}" if notes else derivative(op)
    if name in CONVENTIONS:
        notes = f"{notes}\n{CONVENTIONS[name]}"
    parts.append(HEADINGS["Notes"] + notes + keeps(op))
    if "References" in sections:
        parts.append(HEADINGS["References"] + sections["References"])
    elif name not in ELSEWHERE:
        parts.append(f"{HEADINGS['References']}{STANDARD}{name}.html")
    if "Examples" in sections:
        parts.append(HEADINGS["Examples"] + sections["Examples"])
    return "\n".join(parts)


def sections_of(text: str) -> dict[str, str]:
    """A docstring of a function at the top level of a module by its headings; "Summary" comes first."""
    text = text.strip().replace("\n    ", "\n")
    sections = {}
    if "\n---" in text:
        for name in reversed(HEADINGS):
            text, found, section = text.partition(HEADINGS[name])
            if found:
                sections[name] = section.rstrip()
    sections["Summary"] = text.rstrip()
    return sections


def entries_of(section: str) -> Entries:
    """The entries of a section by their names: a name at the margin, lines below it that are not."""
    entries: Entries = {}
    name = ""
    for line in section.split("\n") if section else ():
        if line[:1] not in ("", " "):
            name = line.partition(" :")[0]
            entries[name] = line
        elif line:
            entries[name] += f"\n{line}"
    return entries


def parameter(p: Parameter, op: Op, takes: str, reduces: bool) -> str:
    """The entry of a parameter that the op's own docstring does not describe."""
    name = p.name
    if name in op.inputs and takes:
        text = f"Of {TAKES[takes][0]}."
    elif name == "axis" and reduces:
        text = REDUCED_AXIS
    else:
        text = PARAMETERS.get(name, "")
    return f"{heading(p, op)}\n    {text}"


def heading(p: Parameter, op: Op | None = None) -> str:
    """``name : type, default: value``, from the signature."""
    note, name = p.annotation, p.name
    if note is p.empty:
        note = "Array" if op is None or len(op.inputs) == 1 else "Array or number"
    elif note == "Any":
        note = TYPES.get(name, "object")
    elif note in ALIASES:
        note = ALIASES[note]
    elif "Literal" in note:
        note = note.replace("Literal[", "{").replace("]", "}")
    if p.kind is p.VAR_POSITIONAL:
        name = f"*{name}"
    return f"{name} : {note}" if p.default is p.empty else f"{name} : {note}, default: {p.default!r}"


def errors_of(op: Op, signature: Signature, takes: str, own: str) -> str:
    """The errors that follow from the signature, then those that the op's own docstring names."""
    errors: dict[str, list[str]] = {}

    def add(error: str, text: str) -> None:
        errors.setdefault(error, []).append(text)

    names = signature.parameters
    if op.inputs:
        add("TypeError", not_arrays(op, [n for n in names if n in op.inputs]))
        if takes and TAKES[takes][1]:
            add("TypeError", f"When {' or '.join(op.inputs)} has {TAKES[takes][1]}.")
    if "dtype" in names:
        add("TypeError", "When ``dtype`` is no dtype.")
    if op.kind == "elementwise" or not (op.parameters or op.joint) and len(op.inputs) == 2:
        if len(op.inputs) == 2 and takes:
            add("ValueError", "When the shapes of x1 and x2 do not broadcast.")
    if "device" in names:
        add("ValueError", "When there is no such device.")
    if "axis" in names:
        add("IndexError", "When there is no such axis.")
        if "keepdims" in names and "int |" not in str(names["axis"].annotation)[:7]:
            add("ValueError", "When an axis is named twice.")
    for name, lines in entries_of(own).items():
        add(name, lines.partition("\n    ")[2])
    return "\n".join(
        f"{error}\n    " + "\n    ".join(texts) for error, texts in errors.items()
    )


def not_arrays(op: Op, inputs: list[str]) -> str:
    """When an op's array arguments raise TypeError."""
    numbers = "" if op.kind == "composite" else ", nor a number"
    text = f"When {' or '.join(inputs)} is no Array (or NumPy or CuPy array){numbers}."
    if len(inputs) > 1 or op.variadic:
        text += "\n    When Arrays lie on different devices."
    return text


def derivative(op: Op) -> str:
    """What the op's rules say, as they are written."""
    if op.kind == "nondifferentiable":
        return "Derivative: none; the gradient is None."
    if op.kind == "composite":
        if not op.inputs:
            return "Derivative: none; the result depends on no other Array."
        return "Derivative: through the recorded ops of which this function is made."
    if op.joint and not op.variadic:
        return f"Derivative: {written(op.joint)}"
    if op.kind == "elementwise":
        lines = [
            f"{written(rule)}, for the tangent t of {x}"
            for x, rule in zip(op.inputs, op.rules or (), strict=True)
        ]
        asks_y = any("y" in op.asks[rule] for rule in op.rules or () if rule)
        return "Derivative: " + ";\n".join(lines) + (", with y the result." if asks_y else ".")
    if op.kind == "linear":
        back = op.joint or (op.rules and op.rules[0])
        return (
            "Derivative: linear, so a tangent goes through the op itself.\n"
            f"A gradient g of the result goes back as {written(back)}."
        )
    lines = [
        f"to {x} as {written(rule)}" if rule else f"not to {x}"
        for x, rule in zip(op.inputs, op.rules or (), strict=True)
    ]
    asks_y = any("y" in op.asks[rule] for rule in op.rules or () if rule)
    return (
        "Derivative: a gradient g of the result goes back\n"
        + ";\n".join(lines)
        + (", with y the result." if asks_y else ".")
    )


def written(rule: Rule) -> str:
    """A rule for the reader: the docstring of a function, the text of a lambda."""
    if rule is same:
        return "it is"
    if rule.__doc__:
        return rule.__doc__.strip().replace("\n    ", "\n")
    return f"``{source_line(rule)}``"


def source_line(rule: Rule) -> str:
    """The rule as its author wrote it: a lambda's body, or a function's name."""
    code = getattr(rule, "__code__", None)
    if code is None or code.co_name != "<lambda>":
        return rule.__name__
    spots = [spot for spot in code.co_positions() if None not in spot and spot[2] != spot[3]]
    if not spots:  # python -X no_debug_ranges
        return "see its rule"
    first = min((line, column) for line, _, column, _ in spots)
    last = max((line, column) for _, line, _, column in spots)
    lines = linecache.getlines(code.co_filename)[first[0] - 1 : last[0]]
    if not lines:
        return "see its rule"
    lines[-1] = lines[-1][: last[1]]
    lines[0] = lines[0][first[1] :]
    return " ".join(" ".join(lines).split())


def keeps(op: Op) -> str:
    """What a record of the op keeps when all of its inputs are followed."""
    if not op.plans:
        return ""
    names, computed = [], False
    for name in op.plans[-1].positions:
        if name == FILLED_IN_LATER:
            continue
        what, _, source = name.partition(" ")
        names.append(f"the {what} of {source}" if source else name)
        computed = computed or name in op.saves
    text = ", ".join(names) or "nothing"
    return f"\n\nA tape keeps {text}{', as computed in the forward pass' if computed else ''}."
