"""Rewrite ``x.shape = s`` in NumPy's Python code, because the shape of an Array cannot be set."""

from __future__ import annotations

import ast
import copy
import dis
from collections.abc import Collection
from types import CodeType

from .._exits.sources import tree_of_code


class Reshaping(ast.NodeTransformer):
    """The rewriter of a function's syntax tree: ``x.shape = s`` becomes ``x = x.reshape(s)``.

    parameters : the names of the function's parameters.  A statement that sets the shape of one is not
    replaced, because the caller must see the new shape.
    """

    def __init__(self, parameters: Collection[str]) -> None:
        self.parameters = parameters

    def visit_Assign(self, node: ast.Assign) -> ast.stmt | list[ast.stmt]:
        names = [name_of_shape(target) for target in node.targets]
        if any(name is None or name in self.parameters for name in names):
            return node
        return [
            ast.copy_location(statement, node)
            for name in names
            for statement in ast.parse(f"{name} = {name}.reshape({ast.unparse(node.value)})").body
        ]


def name_of_shape(target: ast.expr) -> str | None:
    """Return "x" for the assignment target ``x.shape``; return None for other targets."""
    if not isinstance(target, ast.Attribute) or target.attr != "shape":
        return None
    return target.value.id if isinstance(target.value, ast.Name) else None


def code_that_reshapes(code: CodeType) -> CodeType:
    """Return the code of a NumPy function with ``x.shape = s`` replaced, for all local variables x.

    NumPy's code then runs on Arrays, whose shape cannot be set.  ``numpy.gradient`` sets shapes before
    NumPy 2.4.  Return the code unchanged if it sets no shape, or if its source is missing: to set the
    shape of an Array then raises AttributeError.
    """
    sets_attributes = dis.opmap["STORE_ATTR"] in code.co_code[::2]
    function = tree_of_code(code) if sets_attributes and "shape" in code.co_names else None
    if not isinstance(function, ast.FunctionDef):
        return code
    parameters = [one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)]
    tree = Reshaping(parameters).visit(copy.deepcopy(function))
    tree.decorator_list = []
    whole = ast.fix_missing_locations(ast.Module([tree], []))
    module = compile(whole, code.co_filename, "exec", dont_inherit=True)
    return next(
        part
        for part in module.co_consts
        if isinstance(part, CodeType) and part.co_name == code.co_name
    )
