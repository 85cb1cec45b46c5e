"""Find the syntax tree (``ast``) of code that ran: of a code object, or of the expression on a stack.

Files of installed packages may be large, so only the function that is needed is parsed there.
"""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
from types import CodeType
from typing import Any

from .._util.source_locations import Place, is_installed

Function = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = {
    "<listcomp>": ast.ListComp, "<setcomp>": ast.SetComp, "<dictcomp>": ast.DictComp,
    "<genexpr>": ast.GeneratorExp,
}  # fmt: skip
Span = tuple[int | None, int | None, int | None, int | None]  # line, end line, column, end column


@functools.lru_cache(256)
def tree_of(file: str) -> ast.Module | None:
    """Parse a whole file; return None if its source is missing."""
    lines = linecache.getlines(file)
    try:
        return ast.parse("".join(lines)) if lines else None
    except SyntaxError:
        return None


@functools.lru_cache(1024)
def block_of(file: str, first: int) -> ast.Module | None:
    """Parse only the function that begins at line ``first`` of a file, which may be large.

    The nodes of the syntax tree have the file's line numbers.

    Return None if the source is missing.
    """
    lines = linecache.getlines(file)
    try:
        block = inspect.getblock(lines[first - 1 :])
        indented = block and block[0][:1].isspace()
        tree = ast.parse("".join(["if 1:\n"] * bool(indented) + block))
    except (SyntaxError, IndexError):
        return None
    ast.increment_lineno(tree, first - 1 - bool(indented))
    return tree


@functools.lru_cache(4096)
def tree_of_code(code: CodeType) -> Function | Comprehension | None:
    """Return the syntax tree of a code object; None if the source is missing.

    The code is that of a function or a comprehension.
    """
    file, name = code.co_filename, code.co_name
    if name == "<module>":
        return tree_of(file)
    if is_installed(file):
        inner = name in COMPREHENSIONS or name == "<lambda>"
        first = code.co_firstlineno
        tree = block_of(file, enclosing(file, first) if inner else first)
    else:
        tree = tree_of(file)
    if tree is None:
        return None
    kind = COMPREHENSIONS.get(name, ast.Lambda if name == "<lambda>" else FUNCTIONS[:2])
    found: list[Any] = [
        node
        for node in ast.walk(tree)
        if isinstance(node, kind)
        and getattr(node, "name", name) == name
        and first_line(node) == code.co_firstlineno
    ]
    if len(found) > 1:  # several lambdas or comprehensions begin on this line
        spans = [span for span in code.co_positions() if None not in span and span[2]]
        found = [node for node in found if all(covers(node, span) for span in spans)]
        found.sort(key=lambda node: (node.end_lineno, node.end_col_offset))
    return found[0] if found else None


def forget_trees() -> None:
    """Clear the caches, because lines in ``linecache`` were replaced."""
    for parsed in tree_of, block_of, tree_of_code:
        parsed.cache_clear()


def enclosing(file: str, line: int) -> int:
    """Return the line of the ``def`` around a line of a file; the line itself if there is no ``def``."""
    lines = linecache.getlines(file)
    indent = len(lines[line - 1]) - len(lines[line - 1].lstrip())
    for number in range(line - 1, 0, -1):
        text = lines[number - 1]
        starts = text.lstrip().startswith(("def ", "async def "))
        if starts and len(text) - len(text.lstrip()) < indent:
            return number
    return line


def first_line(node: ast.AST) -> int:
    """Return the line of a function's first decorator, or of its ``def``, where its code begins."""
    decorators = getattr(node, "decorator_list", None)
    first: Any = decorators[0] if decorators else node
    return int(first.lineno)


def covers(node: ast.AST, span: Span) -> bool:
    """Return True if the source text of a syntax node includes a span of lines and columns."""
    line, end_line, column, end_column = span
    first, last, left, right = span_of(node)
    return (first, left) <= (line, column) and (end_line, end_column) <= (last, right)


def span_of(node: ast.AST) -> Span:
    assert isinstance(node, ast.expr | ast.stmt)
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


@functools.lru_cache(4096)
def by_span(function: ast.AST) -> dict[Span, ast.AST]:
    """Return a dict from spans (lines and columns) to the innermost expression or statement there.

    function : the syntax tree that is searched.
    """
    nodes = ast.walk(function)  # outer nodes first
    return {span_of(node): node for node in nodes if isinstance(node, ast.expr | ast.stmt)}


def node_at(place: Place) -> ast.AST | None:
    """Return the syntax tree of the expression or statement that runs at the location ``place``.

    Return None if the source is missing.
    """
    function = tree_of_code(place.code)
    if function is None:
        return None
    span = [*place.code.co_positions()][place.instruction // 2]
    node = by_span(function).get(span)
    if node is None and span[0] is not None:
        node = statement_at(function, span[0])
    return node


def statement_at(function: ast.AST, line: int) -> ast.stmt | None:
    """Return the innermost statement in the tree ``function`` that covers a line."""
    found = None
    for node in ast.walk(function):
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or line):
            found = node
    return found
