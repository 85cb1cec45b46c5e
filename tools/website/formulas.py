"""Formulas for derivatives: Python expressions in the docstrings of ops become MathML.

Only arithmetic is converted.  Browsers display MathML without scripts, fonts or pictures.
"""

from __future__ import annotations

import ast
import math
import re
from typing import Any

CODE = re.compile(r"``(.+?)``")
GREEK = {name: rf"\{name}" for name in ("alpha", "beta", "gamma", "delta", "nu", "phi")} | {
    "lmbda": r"\lambda"
}
UPRIGHT = {"sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "arg"}
FUNCTIONS = {
    "log": r"\ln",
    "asin": r"\arcsin",
    "acos": r"\arccos",
    "atan": r"\arctan",
    "digamma": r"\psi",
    "gamma": r"\Gamma",
}
NUMBERS = {math.log(2.0): r"\ln 2", math.log(10.0): r"\ln 10"}
AROUND = {
    "sqrt": r"\sqrt{%s}",
    "conj": r"\overline{%s}",
    "abs": r"\left|%s\right|",
    "square": r"\left(%s\right)^{2}",
}
SUM, PRODUCT, FACTOR, POWER, ATOM = range(5)  # precedence, in ascending order
Formula = tuple[str, int]


class NotArithmetic(Exception):
    """The signal that an expression is more than arithmetic, and cannot be typeset."""


# --- from Python to LaTeX -------------------------------------------------------------------------
def latex(code: str) -> str | None:
    """Return the LaTeX of a Python expression, or None if it is more than arithmetic."""
    try:
        return formula(ast.parse(code.strip(), mode="eval").body)[0]
    except (NotArithmetic, SyntaxError):
        return None


def formula(node: ast.expr) -> Formula:
    match node:
        case ast.Name(name):
            return symbol(name), ATOM
        case ast.Constant(int() | float() as value) if not isinstance(value, bool):
            return number(value), ATOM
        case ast.UnaryOp(ast.USub(), operand):
            return f"-{within(operand, PRODUCT)}", PRODUCT
        case ast.BinOp(left, operator, right):
            return of_two(left, operator, right)
        case ast.Call(function, arguments, []):
            return call(function, arguments)
    raise NotArithmetic


def of_two(left: ast.expr, operator: ast.operator, right: ast.expr) -> Formula:
    match operator:
        case ast.Add() | ast.Sub():
            return of_a_sum(left, isinstance(operator, ast.Sub), right), SUM
        case ast.Mult() if ast.dump(left) == ast.dump(right):
            return f"{within(left, ATOM)}^{{2}}", POWER
        case ast.Mult():
            # A product as the right factor needs no parentheses, unless it begins with a sign.
            least = PRODUCT if isinstance(right, ast.BinOp) and not signed(right) else FACTOR
            return rf"{within(left, PRODUCT)} \, {within(right, least)}", PRODUCT
        case ast.Div():
            return rf"\frac{{{formula(left)[0]}}}{{{formula(right)[0]}}}", POWER
        case ast.Pow():
            return f"{within(left, ATOM)}^{{{formula(right)[0]}}}", POWER
    raise NotArithmetic


def of_a_sum(left: ast.expr, minus: bool, right: ast.expr) -> str:
    """Return the LaTeX of a sum or difference, where ``a + -b`` becomes a - b and ``a - -b`` a + b."""
    if isinstance(right, ast.UnaryOp) and isinstance(right.op, ast.USub):
        minus, right = not minus, right.operand
    least = FACTOR if signed(right) else PRODUCT if minus else SUM
    return f"{within(left, SUM)} {'-' if minus else '+'} {within(right, least)}"


def signed(node: ast.expr) -> bool:
    """Return True if a formula begins with a minus sign."""
    while isinstance(node, ast.BinOp) and not isinstance(node.op, ast.Div):
        node = node.left
    return isinstance(node, ast.UnaryOp)


def number(value: float) -> str:
    short = f"{value:g}"
    return NUMBERS.get(value) or (short if float(short) == value else repr(value))


def within(node: ast.expr, least: int) -> str:
    """Return the LaTeX of a subexpression, in parentheses if its precedence is below ``least``."""
    text, strength = formula(node)
    return text if strength >= least else rf"\left({text}\right)"


def call(function: ast.expr, arguments: list[ast.expr]) -> Formula:
    """Return the formula of a function's call.

    The function is ``xp.NAME``, ``xp.special.NAME`` or ``NAME``; raise NotArithmetic for any other.
    """
    path = ast.unparse(function).split(".")
    if path[:-1] not in ([], ["xp"], ["xp", "special"]):
        raise NotArithmetic
    name = path[-1]
    given = [formula(argument)[0] for argument in arguments if ast.unparse(argument) != "xp"]
    if name in AROUND and len(given) == 1:
        return AROUND[name] % given[0], ATOM
    return rf"{operator_name(name)}\left({', '.join(given)}\right)", ATOM


def operator_name(name: str) -> str:
    if name in UPRIGHT:
        return rf"\{name}"
    return FUNCTIONS.get(name) or rf"\operatorname{{{plain(name)}}}"


def symbol(name: str) -> str:
    """Return the LaTeX of a variable: a letter, a letter with an index, or a word in upright type."""
    if parts := re.fullmatch(r"([A-Za-z])(\d+)", name):
        return f"{parts[1]}_{{{parts[2]}}}"
    return GREEK.get(name) or (name if len(name) == 1 else rf"\mathrm{{{plain(name)}}}")


def plain(name: str) -> str:
    """Return a word unchanged; raise NotArithmetic if it has an underscore."""
    if "_" in name:
        raise NotArithmetic
    return name


# --- in docstrings --------------------------------------------------------------------------------
def typeset(lines: list[str]) -> list[str]:
    """Replace code by formulas in the paragraph of a docstring that begins with "Derivative:"."""
    begin = next((i for i, line in enumerate(lines) if line.startswith("Derivative:")), len(lines))
    end = next((i for i in range(begin, len(lines)) if not lines[i].strip()), len(lines))
    paragraph = CODE.sub(as_math, " ".join(lines[begin:end]))
    return [*lines[:begin], *([paragraph] if paragraph else []), *lines[end:]]


def as_math(found: re.Match[str]) -> str:
    text = latex(found[1])
    return found[0] if text is None else f":math:`{text}`"


# --- in Sphinx ------------------------------------------------------------------------------------
def typeset_docstring(
    _app: Any, _what: Any, _name: Any, _object: Any, _options: Any, lines: Any
) -> None:
    """Handle Sphinx's event autodoc-process-docstring: typeset the derivative."""
    lines[:] = typeset(lines)


def visit(translator: Any, node: Any) -> None:
    """Write a formula node as MathML."""
    from docutils.nodes import SkipNode
    from latex2mathml.converter import convert

    display = "block" if node.tagname == "math_block" else "inline"
    translator.body.append(convert(node.astext(), display=display))
    raise SkipNode


def setup(app: Any) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", typeset_docstring, priority=300)
    app.add_html_math_renderer("mathml", (visit, None), (visit, None))
    return {"parallel_read_safe": True}
