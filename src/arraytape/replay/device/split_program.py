"""The division of a program into a part on the host and a part on a device.

The part on the host runs first, for example to compute the step size of an optimizer.  Its results that
the device needs are copied there, and are inputs of the device's part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..passes.simplify import copied, mapped
from ..program import CONSTANT, INPUT, Node, Program, key_of, operands
from ..tracing.traced_storage import UPLOAD


class NotOnDevice(Exception):
    """The error for a program that cannot run on a device; its text is the reason."""


class PartIndex(NamedTuple):
    """The position of a program's input, output or write in the part on the host or the device."""

    on_device: bool
    number: int


class ProgramParts(NamedTuple):
    """The two parts of a program: recorded calls on the host, and recorded calls on a device.

    host : the part on the host.  Its outputs are ``uploads`` values for the device, then the outputs of
        the whole program that are on the host.
    device : the part on the device.  Its inputs are those of the whole program that are on the device,
        then the uploaded values.
    inputs, outputs, writes : the position in one part, for each input, output and write of the program.
    """

    host: Program
    device: Program
    uploads: int
    inputs: list[PartIndex]
    outputs: list[PartIndex]
    writes: list[PartIndex]


def split_program(program: Program) -> ProgramParts:
    """Divide a program into a part on the host, which runs first, and a part on a device.

    Raise NotOnDevice if a call on the device needs an array of the host that was not copied there.
    """
    program = without_equal_calls(program)
    sent: dict[Node, Node] = {}  # node on the host -> input on the device
    of: dict[Node, Node] = {}
    for node in program.nodes:
        if node.device:
            of[node] = on_device(node, of, sent)
    inputs = [of[node] for node in program.inputs if node.device]
    outputs, on_host = part_indices(program.outputs, len(sent))
    writes, host_writes = part_indices(program.writes, 0)
    device = Program(
        [*inputs, *sent.values()],
        [*dict.fromkeys((*sent.values(), *of.values()))],
        [guard._replace(node=of[guard.node]) for guard in program.guards if guard.node.device],
        [of[node] for node in program.outputs if node.device],
        [of[node] for node in program.writes if node.device],
    )
    host = Program(
        [node for node in program.inputs if not node.device],
        [node for node in program.nodes if not node.device],
        [guard for guard in program.guards if not guard.node.device],
        [*sent, *on_host],
        host_writes,
    )
    return ProgramParts(
        host, device, len(sent), part_indices(program.inputs, 0)[0], outputs, writes
    )


def part_indices(nodes: Sequence[Node], first: int) -> tuple[list[PartIndex], list[Node]]:
    """Return the position of each node in its part, and the list of the nodes on the host.

    nodes : nodes of the whole program, some on the host and some on the device.
    first : the position of the first node on the host.
    """
    counts = {True: 0, False: first}
    found = []
    for node in nodes:
        side = bool(node.device)
        found.append(PartIndex(side, counts[side]))
        counts[side] += 1
    return found, [node for node in nodes if not node.device]


def without_equal_calls(program: Program) -> Program:
    """Return the program with equal calls made once, and without dead code."""
    known: dict[Any, Node] = {}

    def first_equal(node: Node, _: Node) -> Node:
        if node.op in (INPUT, CONSTANT):
            return node
        named = key_of(dict(node.keywords))
        key = node.device, node.op, key_of(node.args), named, node.strides, node.dtype
        return known.setdefault(key, node)

    return mapped(program, first_equal)


def on_device(node: Node, of: Mapping[Node, Node], sent: dict[Node, Node]) -> Node:
    """Return the node of the device's part that takes the place of a node of the whole program.

    node : a recorded call, input or constant on the device.  A copy from the host to the device becomes
        an input, which is added to ``sent``; the copy of a constant becomes a constant.
    of : earlier nodes of the whole program -> their nodes on the device.
    sent : node on the host -> the input of the device's part to which its value is copied.
    """
    if node.op in (INPUT, CONSTANT):
        return node
    if node.op == UPLOAD:
        (source,) = operands(node)
        if source.op == CONSTANT:
            assert node.call is not None
            return Node(CONSTANT, like=node, value=node.call(source.value, *node.args[1:]))
        return sent.setdefault(source, Node(INPUT, like=node))

    def operand_on_device(x: Node) -> Any:
        if x.device:
            return of[x]
        if x.op == CONSTANT and x.shape == ():
            return x.value[()]  # CuPy's functions take NumPy's scalars, but no arrays of NumPy
        raise NotOnDevice(f"{node.op} on {node.device} has an operand on the host")

    return copied(node, operand_on_device)
