"""A program: calls of functions on NumPy data, as a graph of ``Node`` objects in running order.

``tracing/trace.py`` makes a program, ``passes/`` transform it, ``text/`` and ``export.py`` run it.
``Program.run`` defines the results.  No call of a program changes data in place: a write in the traced
function is a call of ``put``, which returns new data.  So a pass over a program need not check which
values share memory.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import CodeType
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from .._record.op_facts import hull, state_facts
from .._util.array_types import Index, RawOperand
from .._util.container_kinds import mapped_leaves

# The type of an argument: a node, or a Python value such as a number, a dtype, an axis or a key.
Operand: TypeAlias = (
    "Node | complex | str | slice | type | np.generic | np.dtype[Any] | Sequence[Operand] | None"
)
FOREIGN = "foreign"  # prefix of ``Node.op`` for calls of functions of users or other libraries
INPUT, CONSTANT = "input", "constant"


def defined_function(
    text: str | CodeType, file: str, name: str, scope: dict[str, Any]
) -> Callable[..., Any]:
    """Execute source text, or compiled code, that defines the function ``name``; return the function.

    file : the file name that tracebacks show.
    scope : the globals of the function.
    """
    exec(compile(text, file, "exec") if isinstance(text, str) else text, scope)
    function: Callable[..., Any] = scope[name]
    return function


def scope_name(scope: dict[str, Any], value: Any) -> str:
    """Add a value to the globals of a generated function, and return its name there."""
    name = f"k{len(scope)}"
    scope[name] = value
    return name


class Node:
    """One value of a program (recorded NumPy calls): the result of a call, an input or a constant.

    op : the name of the called function, "input", or "constant".
    call : the function, which takes raw data.
    args, keywords : its arguments, with nodes in place of data, also in lists and tuples.
    shape, dtype, strides : the layout of the value.  The shape is None if the call returns a tuple of
        several results.
    view : True if the value may share memory with an operand.
    value : the data of a constant, else None.
    device : in a traced program, the device of a value that is not on the host, else "".
    like : an array or node whose layout the new node has.
    """

    __slots__ = (
        "_operands", "args", "call", "device", "dtype", "keywords", "op", "shape", "strides", "value",
        "view",
    )  # fmt: skip

    def __init__(
        self,
        op: str,
        call: Callable[..., Any] | None = None,
        args: tuple[Any, ...] = (),
        keywords: Mapping[str, Any] | None = None,
        like: Any = None,
        value: Any = None,
    ) -> None:
        self.op, self.call, self.args, self.keywords = op, call, args, keywords or {}
        self.shape: Any = None
        self.dtype: Any = None
        self.strides: Any = None
        if like is not None:
            self.shape, self.dtype, self.strides = like.shape, like.dtype, like.strides
        self.value = value
        self.view, self.device = False, ""
        self._operands: tuple[Node, ...] | None = None

    def __repr__(self) -> str:
        return f"<{self.op} {self.dtype}{self.shape}>"

    @property
    def size(self) -> int:
        return math.prod(self.shape or ())

    @property
    def is_call(self) -> bool:
        return self.op not in (INPUT, CONSTANT)


class Guard(NamedTuple):
    """A condition on a value of a program, which each replay (run of the program) checks.

    If it does not hold, the program cannot replace the call.
    kind : "value", "shape" or "no NaN".
    expected : the bytes of the value for "value", the shape for "shape", else None.
    line : the expression and source line at which the function read the value.
    """

    kind: str
    node: Node
    expected: Any
    line: str

    def holds(self, value: np.ndarray[Any, Any]) -> bool:
        """Return True if ``value``, the node's value in a replay, satisfies the condition."""
        if self.kind == "shape":
            return bool(value.shape == self.expected)
        if self.kind == "value":
            return bool(value.tobytes() == self.expected)
        return not np.isnan(value).any()


class GuardFailed(Exception):
    """The error that ends a replay if a condition (``guard``) does not hold.

    The caller then tries another program, or runs the user's function.
    """

    def __init__(self, guard: Guard) -> None:
        super().__init__(guard)
        self.guard = guard


@dataclass(eq=False)
class Program:
    """The recorded NumPy calls of a user's function, as a graph in their order.

    inputs : the nodes for the data of the Arrays that the function used, which the caller passes.
    nodes : all nodes, each after its operands; they include inputs and constants.
    guards : the conditions on nodes, without which the program is wrong.
    outputs : the nodes of values in the function's result, then of values for callbacks.
    writes : the nodes of the new values of Arrays that the function writes to, in the order of these
        Arrays among the inputs.
    """

    inputs: list[Node] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    guards: list[Guard] = field(default_factory=list)
    outputs: list[Node] = field(default_factory=list)
    writes: list[Node] = field(default_factory=list)

    def roots(self) -> Iterator[Node]:
        """Yield the nodes whose values are used outside of calls: results and checked values."""
        yield from self.outputs
        yield from self.writes
        yield from (guard.node for guard in self.guards)

    def count(self) -> int:
        """Return the number of calls."""
        return sum(node.is_call for node in self.nodes)

    def reached(self, roots: Iterable[Node]) -> set[Node]:
        """Return the nodes from which the nodes ``roots`` are computed, with these nodes themselves."""
        found = {*roots}
        for node in reversed(self.nodes):
            if node in found:
                found.update(operands(node))
        return found

    def uses(self) -> Counter[Node]:
        """Return for each node the number of its uses as an operand, output, write or guarded node."""
        found = Counter(x for node in self.nodes for x in operands(node))
        found.update(self.roots())
        return found

    def renamed(self, of: Mapping[Node, Node], nodes: Iterable[Node]) -> Program:
        """Return a Program of new ``nodes``, made by a pass from the nodes of this Program.

        nodes : the nodes of the new Program, in their order.
        of : old node -> the new node that replaces it in inputs, guards, outputs and writes.
        """
        return Program(
            [of[node] for node in self.inputs],
            [*nodes],
            [guard._replace(node=of[guard.node]) for guard in self.guards],
            [of[node] for node in self.outputs],
            [of[node] for node in self.writes],
        )

    def run(self, values: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Return the outputs and writes for these input values, computed call by call.

        The generated code of a program must give the same results.  Raise GuardFailed at the first guard
        (condition on a value) that does not hold.
        """

        def check(guard: Guard, value: Any) -> None:
            if not guard.holds(value):
                raise GuardFailed(guard)

        return self.computed(values, result_of, check)

    def computed(
        self,
        values: Sequence[Any],
        result: Callable[[Node, dict[Node, Any]], Any],
        check: Callable[[Guard, Any], None],
    ) -> tuple[list[Any], list[Any]]:
        """Run the program by two given functions; return the values of ``outputs`` and of ``writes``.

        ``run`` calls NumPy by these functions, and ``Export`` another array library.
        result : a function of a node and a dict of earlier nodes' values; it returns the node's value.
        check : a function that checks a guard (condition on a value), given the value of its node.
        """
        known: dict[Node, Any] = dict(zip(self.inputs, values, strict=True))
        guards: dict[Node, list[Guard]] = {}
        for guard in self.guards:
            guards.setdefault(guard.node, []).append(guard)
        for node in self.nodes:
            if node.op != INPUT:
                known[node] = result(node, known)
            for guard in guards.get(node, ()):
                check(guard, known[node])
        return [known[node] for node in self.outputs], [known[node] for node in self.writes]


def result_of(node: Node, known: dict[Node, Any]) -> Any:
    """Return the value of a constant or call; a NumPy scalar is returned as an array of shape ().

    known : the values of the node's operands.
    node : a constant or recorded call.
    """
    if node.op == CONSTANT:
        return node.value
    assert node.call is not None
    args, keywords = replaced((node.args, node.keywords), known.__getitem__)
    result = node.call(*args, **keywords)
    return np.asarray(result) if isinstance(result, np.generic) else result


def replaced(value: Any, of_node: Callable[[Node], Any]) -> Any:
    """Return the arguments of a call with ``of_node(node)`` in place of each node, also nested ones.

    Nodes are values of a program: results of other calls, inputs or constants.
    """
    return mapped_leaves(value, lambda x: of_node(x) if type(x) is Node else x)


def nodes_in(value: Any) -> Iterator[Node]:
    """Yield the nodes in a nesting of arguments, each as often as it occurs.

    Nodes are values of a program: results of other calls, inputs or constants.
    """
    kind = type(value)
    if kind is Node:
        yield value
    elif kind is tuple or kind is list:
        for part in value:
            yield from nodes_in(part)
    elif kind is dict:
        for part in value.values():
            yield from nodes_in(part)


def operands(node: Node) -> tuple[Node, ...]:
    """Return the nodes among the arguments and keywords of a call, which are cached in its node."""
    if node._operands is None:
        found = [*nodes_in(node.args), *(nodes_in(node.keywords) if node.keywords else ())]
        node._operands = tuple(found)
    return node._operands


def key_of(value: Any, of_node: Callable[[Node], Any] = id) -> Any:
    """Return a hashable key of a call's arguments, to find calls that compute the same.

    of_node : a function that returns the key of a node.  Other values are compared by type and repr.
    """
    kind = type(value)
    if kind is Node:
        return Node, of_node(value)
    if kind is tuple or kind is list:
        return kind, tuple([key_of(part, of_node) for part in value])
    if kind is dict:
        return kind, tuple([(name, key_of(part, of_node)) for name, part in sorted(value.items())])
    if kind is slice:
        return kind, key_of((value.start, value.stop, value.step), of_node)
    return kind, repr(value)  # repr distinguishes 0.0 from -0.0, and is equal for two NaN


@state_facts(continuous=True, promotes="first", range=hull)
def put(x: Any, key: Index, value: RawOperand) -> Any:
    """Return a copy of x, in the same memory order, to which ``x[key] = value`` was applied.

    Programs call it where the user's function writes in place, so that no call changes data.
    """
    changed = x.copy(order="K")
    changed[key] = value
    return changed
