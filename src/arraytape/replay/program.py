"""A program: calls of raw functions in the order in which they run, each result named once.

Programs have no writes: what writes to data makes new data (``put``).  So a pass over a program
never has to ask which values share memory.
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

# An argument of a call: a node, or a Python value such as a number, a dtype, an axis or a key.
Operand: TypeAlias = (
    "Node | complex | str | slice | type | np.generic | np.dtype[Any] | Sequence[Operand] | None"
)
FOREIGN = "foreign"  # the prefix of the names of calls of functions that are not arraytape's
INPUT, CONSTANT = "input", "constant"


def defined_function(
    text: str | CodeType, file: str, name: str, scope: dict[str, Any]
) -> Callable[..., Any]:
    """Run source text, or its code, that defines the function `name`; return the function."""
    exec(compile(text, file, "exec") if isinstance(text, str) else text, scope)
    function: Callable[..., Any] = scope[name]
    return function


class Node:
    """One value of a program: the result of a call, an input or a constant.

    op : the name of the raw function, "input", or "constant".  call : the raw function. args,
    keywords : of the call, with nodes in the place of data, also in lists and tuples. shape, dtype,
    strides : of the value; shape is None if the call gives a tuple of several results. view :
    whether the value may share memory with an operand.  value : of a constant.
    """

    __slots__ = (
        "_operands", "args", "call", "dtype", "keywords", "op", "shape", "strides", "value", "view",
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
        self.view = False
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
    """A condition on a value, without which the function would run another program.

    kind : "value", "shape" or "no NaN".  expected : the value's bytes, or the shape.  line : where
    the function read the value.
    """

    kind: str
    node: Node
    expected: Any
    line: str

    def holds(self, value: np.ndarray[Any, Any]) -> bool:
        """Return True if the program may go on with this value."""
        if self.kind == "shape":
            return bool(value.shape == self.expected)
        if self.kind == "value":
            return bool(value.tobytes() == self.expected)
        return not np.isnan(value).any()


class GuardFailed(Exception):
    """The error that ends a replay in which a guard does not hold."""

    def __init__(self, guard: Guard) -> None:
        super().__init__(guard)
        self.guard = guard


@dataclass(eq=False)
class Program:
    """Inputs, the nodes in their order, and what is asked of them.

    outputs : the values that the function returns.  writes : the new values of Arrays that the
    function writes to, in the order of these Arrays among the lifted handles.
    """

    inputs: list[Node] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    guards: list[Guard] = field(default_factory=list)
    outputs: list[Node] = field(default_factory=list)
    writes: list[Node] = field(default_factory=list)

    def roots(self) -> Iterator[Node]:
        """Yield the nodes that are read from outside: outputs, writes and guarded values."""
        yield from self.outputs
        yield from self.writes
        yield from (guard.node for guard in self.guards)

    def count(self) -> int:
        return sum(node.is_call for node in self.nodes)

    def reached(self, roots: Iterable[Node]) -> set[Node]:
        """Return the nodes from which roots are computed, roots included."""
        found = {*roots}
        for node in reversed(self.nodes):
            if node in found:
                found.update(operands(node))
        return found

    def uses(self) -> Counter[Node]:
        """Return how often each node is an operand, an output, a write or guarded."""
        found = Counter(x for node in self.nodes for x in operands(node))
        found.update(self.roots())
        return found

    def renamed(self, of: Mapping[Node, Node], nodes: Iterable[Node]) -> Program:
        """Return the program of these nodes whose inputs, guards and results are ``of[node]``."""
        return Program(
            [of[node] for node in self.inputs],
            [*nodes],
            [guard._replace(node=of[guard.node]) for guard in self.guards],
            [of[node] for node in self.outputs],
            [of[node] for node in self.writes],
        )

    def run(self, values: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Return outputs and writes, computed call by call: the reference for passes and tests.

        Raise GuardFailed at the first guard that does not hold.
        """

        def look(guard: Guard, value: Any) -> None:
            if not guard.holds(value):
                raise GuardFailed(guard)

        return self.computed(values, result_of, look)

    def computed(
        self,
        values: Sequence[Any],
        result: Callable[[Node, dict[Node, Any]], Any],
        look: Callable[[Guard, Any], None],
    ) -> tuple[list[Any], list[Any]]:
        """Return outputs and writes.

        result : computes a constant or a call.  look : is called with each guard and its value.
        """
        known: dict[Node, Any] = dict(zip(self.inputs, values, strict=True))
        guards: dict[Node, list[Guard]] = {}
        for guard in self.guards:
            guards.setdefault(guard.node, []).append(guard)
        for node in self.nodes:
            if node.op != INPUT:
                known[node] = result(node, known)
            for guard in guards.get(node, ()):
                look(guard, known[node])
        return [known[node] for node in self.outputs], [known[node] for node in self.writes]


def result_of(node: Node, known: dict[Node, Any]) -> Any:
    """Return the result of a node's call; NumPy's scalars become arrays of shape ()."""
    if node.op == CONSTANT:
        return node.value
    assert node.call is not None
    args, keywords = replaced((node.args, node.keywords), known.__getitem__)
    result = node.call(*args, **keywords)
    return np.asarray(result) if isinstance(result, np.generic) else result


def replaced(value: Any, of_node: Callable[[Node], Any]) -> Any:
    """Return arguments, nested ones too, with ``of_node(node)`` in the place of each node."""
    return mapped_leaves(value, lambda x: of_node(x) if type(x) is Node else x)


def mapped_leaves(value: Any, of_leaf: Callable[[Any], Any]) -> Any:
    """Return arguments with ``of_leaf(x)`` for each x that is no tuple, list or dict."""
    kind = type(value)
    if kind is tuple or kind is list:
        return kind([mapped_leaves(part, of_leaf) for part in value])
    if kind is dict:
        return {name: mapped_leaves(part, of_leaf) for name, part in value.items()}
    return of_leaf(value)


def nodes_in(value: Any) -> Iterator[Node]:
    """Yield the nodes among arguments, each as often as it occurs."""
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
    """Return the nodes among the arguments of a call."""
    if node._operands is None:
        found = [*nodes_in(node.args), *(nodes_in(node.keywords) if node.keywords else ())]
        node._operands = tuple(found)
    return node._operands


def key_of(value: Any) -> Any:
    """Return a hashable key of arguments: nodes by identity, other values by type and repr."""
    kind = type(value)
    if kind is Node:
        return Node, id(value)
    if kind is tuple or kind is list:
        return kind, tuple([key_of(part) for part in value])
    if kind is dict:
        return kind, tuple([(name, key_of(part)) for name, part in sorted(value.items())])
    if kind is slice:
        return kind, key_of((value.start, value.stop, value.step))
    return kind, repr(value)  # tells 0.0 from -0.0, and NaN is equal to itself


@state_facts(continuous=True, promotes="first", range=hull)
def put(x: Any, key: Index, value: RawOperand) -> Any:
    """Return a copy of x, in the same layout, after ``x[key] = value``."""
    changed = x.copy(order="K")
    changed[key] = value
    return changed
