"""Fusion of elementwise calls on a device: one kernel computes a run of calls on floats of one shape.

``fuse_calls`` replaces such calls in a program by calls of CuPy's ``ElementwiseKernel``.  Each operation
in such a kernel is rounded as in CuPy's own kernel of the same call: the expressions are CuPy's, and
products are not contracted with sums.  So fusion changes no bits of results.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..passes.nodes import packed
from ..passes.simplify import copied
from ..program import CONSTANT, INPUT, Node, Program, operands

# Floats, and expressions of them: {0}, {1}, ... are the operands, T is their type.
UNARY = {
    "abs": "fabs({0})", "absolute": "fabs({0})", "cos": "cos({0})", "exp": "exp({0})",
    "expm1": "expm1({0})", "log": "log({0})", "log1p": "log1p({0})", "negative": "-{0}",
    "sin": "sin({0})", "sqrt": "sqrt({0})", "square": "{0} * {0}", "tanh": "tanh({0})",
}  # fmt: skip
BINARY = {
    "add": "{0} + {1}", "divide": "{0} / {1}", "multiply": "{0} * {1}", "subtract": "{0} - {1}",
    "maximum": "(isnan({0}) | isnan({1})) ? T(NAN) : T(max({0}, {1}))",
    "minimum": "(isnan({0}) | isnan({1})) ? T(NAN) : T(min({0}, {1}))",
}  # fmt: skip
# Tests of floats, whose results are booleans.
TESTS = {
    "equal": "{0} == {1}", "greater": "{0} > {1}", "greater_equal": "{0} >= {1}",
    "isfinite": "isfinite({0})", "isinf": "isinf({0})", "isnan": "isnan({0})", "less": "{0} < {1}",
    "less_equal": "{0} <= {1}", "not_equal": "{0} != {1}",
}  # fmt: skip
# Functions of booleans.
LOGIC = {
    "bitwise_and": "{0} & {1}", "bitwise_invert": "!{0}", "bitwise_or": "{0} | {1}",
    "bitwise_xor": "{0} ^ {1}", "logical_and": "{0} && {1}", "logical_not": "!{0}",
    "logical_or": "{0} || {1}",
}  # fmt: skip
C_TYPES = {np.dtype(np.float32): "float", np.dtype(np.float64): "double", np.dtype(bool): "bool"}
BOOL = np.dtype(bool)
NUMBERS = (int, float)
PREAMBLE = """
#ifndef NAN
#define NAN __int_as_float(0x7fffffff)
#endif
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
"""
OPTIONS = ("--fmad=false",)
MOST = 32  # the maximum number of calls in one kernel
ROOM = 3900  # the bytes of a kernel's parameters; CUDA allows 4096


class Kernel:
    """A GPU kernel that makes several elementwise calls; its arrays have one shape or broadcast to it.

    calls : the nodes of the calls, in order.
    given : the nodes of the operands.
    results : the nodes of the calls whose values are used elsewhere.
    """

    def __init__(
        self, calls: Sequence[Node], given: Sequence[Node], results: Sequence[Node]
    ) -> None:
        import cupy

        names = {x: f"x{i}" for i, x in enumerate(given)} | {
            x: f"v{i}" for i, x in enumerate(calls)
        }
        lines = []
        for node in calls:
            expression = expression_of(node)
            assert expression is not None
            text, type_, values = expression
            inner = [names[x] if type(x) is Node else number_text(x, type_) for x in values]
            text = text.format(*inner).replace("T(", f"{C_TYPES[type_]}(")
            lines.append(f"{C_TYPES[node.dtype]} {names[node]} = {text};")
        lines += [f"y{i} = {names[x]};" for i, x in enumerate(results)]
        self.text = "\n".join(lines)
        self.count = len(calls)
        self.kernel: Any = cupy.ElementwiseKernel(
            ", ".join(f"{x.dtype.name} {names[x]}" for x in given),
            ", ".join(f"{x.dtype.name} y{i}" for i, x in enumerate(results)),
            self.text,
            "arraytape_fused",
            preamble=PREAMBLE,
            options=OPTIONS,
        )

    def __call__(self, *values: Any) -> Any:
        return self.kernel(*values)


def expression_of(node: Node) -> tuple[str, Any, Sequence[Any]] | None:
    """Return how a kernel computes a call: (C text such as "T({0})", dtype that T means, operands).

    Operands are nodes and Python numbers.  All floats of one call have the same dtype, so that no
    promotion is needed.  Return None for other calls.
    """
    op, args = node.op, node.args
    if node.dtype not in C_TYPES or node.shape is None:
        return None
    if op == "astype" and type(args[0]) is Node and np.dtype(args[1]) == node.dtype:
        x = args[0]
        cast = x.dtype in C_TYPES and node.dtype != BOOL and x.dtype != node.dtype
        return ("T({0})", node.dtype, [x]) if cast else None
    if node.keywords:
        return None
    if op == "power_operator" and type(args[1]) in NUMBERS and args[1] == 2:
        op, args = "square", args[:1]
    if op == "where":
        mask, rest = args[0], args[1:]
        choice = is_float_of(rest, node.dtype) and type(mask) is Node and mask.dtype == BOOL
        return ("{0} ? {1} : {2}", node.dtype, args) if choice else None
    if op in LOGIC:
        fits = node.dtype == BOOL and all(type(x) is Node and x.dtype == BOOL for x in args)
        return (LOGIC[op], BOOL, args) if fits else None
    if op in TESTS:
        dtype = next((x.dtype for x in args if type(x) is Node), None)
        return (TESTS[op], dtype, args) if is_float_of(args, dtype) else None
    text = (UNARY if len(args) == 1 else BINARY).get(op)
    if text is None or not is_float_of(args, node.dtype):
        return None
    return text, node.dtype, args


def is_float_of(args: Iterable[Any], dtype: Any) -> bool:
    """Return True if ``dtype`` is a float dtype, and each operand has it or is a Python number."""
    if dtype == BOOL or dtype not in C_TYPES:
        return False
    for x in args:
        if type(x) is Node:
            if x.dtype != dtype:
                return False
        elif isinstance(x, np.generic):
            if x.dtype != dtype or np.isnan(x):
                return False
        elif type(x) not in NUMBERS or math.isnan(x):
            return False
    return True


def number_text(x: Any, dtype: Any) -> str:
    """Return a number as C text: a constant with a cast to the dtype, which rounds it as NumPy does."""
    value = float(x)
    text = repr(value) if math.isfinite(value) else f"{'-' * (value < 0)}INFINITY"
    return f"({C_TYPES[dtype]})({text})"


def is_fusible(node: Node) -> bool:
    """Return True if a fused kernel can make a recorded call with the same bits and layout."""
    if node.op in (INPUT, CONSTANT) or expression_of(node) is None or not node.size:
        return False
    # Of a call on arrays in another order, CuPy's result has that order, too.
    return bool(node.strides == packed(node.shape, node.dtype.itemsize))


def fuse_calls(program: Program) -> Program:
    """Return the program with one kernel in place of each run of elementwise calls of one shape.

    Calls of other kinds are made as early as possible, so that the runs are long.
    program : the recorded array calls.
    """
    read = program.uses()
    done = {node for node in program.nodes if node.op in (INPUT, CONSTANT)}
    nodes = [*dict.fromkeys(node for node in program.nodes if node in done)]
    left = [node for node in program.nodes if node not in done]
    fusible = {node for node in left if is_fusible(node)}
    of: dict[Node, Node] = {node: node for node in nodes}
    while left:
        made = set()
        for node in left:
            if node not in fusible and done.issuperset(operands(node)):
                done.add(node)
                made.add(node)
                of[node] = on_new_operands(node, of)
                nodes.append(of[node])
        if not made:
            run = run_of_calls(left, fusible, done)
            done.update(run)
            made.update(run)
            nodes += kernel_nodes(run, of, read)
        left = [node for node in left if node not in made]
    return program.renamed(of, nodes)


def run_of_calls(left: Sequence[Node], fusible: set[Node], done: set[Node]) -> list[Node]:
    """Return the next run: calls of one shape that one kernel can make, now that ``done`` is computed.

    left : the calls that are not made yet.
    fusible : the calls that a kernel can make.
    done : the nodes whose values are known.
    """
    run: dict[Node, None] = {}
    given: set[Node] = set()
    shape: Any = None
    for node in left:
        if node not in fusible or (run and node.shape != shape):
            continue
        outside = [x for x in operands(node) if x not in run]
        if not done.issuperset(outside):
            continue
        # In the worst case each call of the run has a result, which is a parameter of the kernel.
        parameters = len(given.union(outside)) + len(run) + 1
        if run and (len(run) == MOST or parameters * (16 + 16 * len(node.shape)) > ROOM):
            break
        run[node], shape = None, node.shape
        given.update(outside)
    return [*run]


def kernel_nodes(run: Sequence[Node], of: dict[Node, Node], read: Any) -> list[Node]:
    """Return new nodes that compute the calls ``run`` by one GPU kernel.

    A node is a recorded call, input or constant.  The new node of each result is entered in ``of``, a
    dict from old nodes to new ones.
    read : node -> the number of its uses in the program.
    """
    if len(run) == 1:
        of[run[0]] = on_new_operands(run[0], of)
        return [of[run[0]]]
    within: dict[Node, int] = {}
    for node in run:
        for x in operands(node):
            within[x] = within.get(x, 0) + 1
    given = [x for x in within if x not in run]
    results = [node for node in run if read[node] > within.get(node, 0)]
    kernel = Kernel(run, given, results)
    arguments = tuple([of[x] for x in given])
    if len(results) == 1:
        of[results[0]] = Node("fused", kernel, arguments, like=results[0])
        return [of[results[0]]]
    whole = Node("fused", kernel, arguments)
    for i, node in enumerate(results):
        of[node] = Node("item", operator.getitem, (whole, i), like=node)
    return [whole, *[of[node] for node in results]]


def on_new_operands(node: Node, of: dict[Node, Node]) -> Node:
    """Return a call on the nodes ``of[x]`` in place of its operands x; the same call if none changes.

    The new operands are results of fused kernels.
    """
    return copied(node, of.__getitem__) if any(of[x] is not x for x in operands(node)) else node
