"""The program of a function together with its pullback, for replays under a tape.

Both are simplified as one joint program, so that they share values.  The joint program is then split:
nodes that depend on a cotangent belong to the pullback, all other nodes to the forward program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from .compiled.executable import Executable
from .passes.block_by_block import blocked
from .passes.nan_checks import with_bounds
from .passes.rounding import rounded
from .passes.simplify import copied, simplified, without_dead_code
from .program import INPUT, Node, Program, operands
from .text.program_source import Source


class ProgramWithPullback:
    """The forward program of a function and its pullback, the program of the backward pass.

    The forward program also returns values that the pullback needs.
    program : the traced program of the function.
    joint : the program and its backward pass; its inputs are those of the program, followed by the
        cotangents of results.
    cotangents : for each input, the node of ``joint`` that computes its cotangent, or None.
    has_cotangent : for each result, whether it had a cotangent in the recorded pass.
    saved : the nodes whose values are passed from the forward program to the pullback.
    text : the source of both functions.
    """

    def __init__(
        self,
        program: Program,
        joint: Program,
        cotangents: Sequence[Node | None],
        has_cotangent: tuple[bool, ...],
        name: str,
        compile: bool | None = None,
    ) -> None:
        self.has_cotangent = has_cotangent
        self.has_input_cotangent = [node is not None for node in cotangents]
        count, first = len(program.outputs), len(program.inputs)
        joined = Program(
            joint.inputs, joint.nodes, [*program.guards, *joint.guards],
            [*program.outputs, *[node for node in cotangents if node is not None]], program.writes,
        )  # fmt: skip
        whole = rounded(simplified(joined))
        self.seeds = whole.inputs[first:]
        late = dependent_nodes(whole, self.seeds)
        guards = [[guard for guard in whole.guards if (guard.node in late) is is_late]
                  for is_late in (False, True)]  # fmt: skip
        front = without_dead_code(
            Program(
                whole.inputs[:first], whole.nodes, guards[0], whole.outputs[:count], whole.writes
            )
        )
        back = Program(whole.inputs, whole.nodes, guards[1], whole.outputs[count:])
        self.saved = nodes_to_save(back, {*front.nodes})
        places = {node: i for i, node in enumerate(whole.outputs[:count])}
        more = [node for node in self.saved if node not in places]
        front.outputs = [*front.outputs, *more]
        places |= {node: count + i for i, node in enumerate(more)}
        self.places = [places[node] for node in self.saved]
        front.nodes = whole.nodes
        front = without_dead_code(front)
        back, self.used = standalone_pullback(back, self.saved, whole.inputs[:first])
        both = ((front, name), (back, f"{name}_pull"))
        sources = [Source(blocked(with_bounds(part)), own) for part, own in both]
        self.runs = [source.function for source in sources]
        self.text = "\n\n".join([source.text for source in sources])
        self.executables: list[Executable] = []
        if compile is not False:
            for i, (part, own) in enumerate(both):
                made = Executable(part, own, self.runs[i], compile)
                self.executables.append(made)
                made.start(partial(self.runs.__setitem__, i))

    def run(self, *data: Any) -> Any:
        """Run the forward program; return its outputs and the new values of written Arrays."""
        return self.runs[0](*data)

    def forward_outputs(self, run: Callable[..., Any], data: Sequence[Any]) -> Any:
        """Run the forward program; return outputs, writes and the values for the backward pass.

        run : ``ProgramWithPullback.run``, which the caller may have wrapped.
        data : the inputs.
        """
        outputs, writes = run(*data)
        return outputs, writes, [outputs[place] for place in self.places]

    def run_pullback(self, data: Sequence[Any], saved: Sequence[Any], seeds: Sequence[Any]) -> Any:
        """Run the pullback (the backward pass); return a cotangent or None for each input.

        If the shapes or dtypes of ``seeds`` differ from the traced ones, return None.
        data : the inputs.
        saved : the values from ``forward_outputs``.
        seeds : the cotangents of the results.
        """
        found = [np.asarray(g) for g in seeds if g is not None]
        layouts = zip(found, self.seeds, strict=True)
        if any(g.shape != node.shape or g.dtype != node.dtype for g, node in layouts):
            return None
        found = [g if g.flags.c_contiguous else g.copy("C") for g in found]
        parts, _ = self.runs[1](*[data[place] for place in self.used], *saved, *found)
        known = iter(parts)
        return [next(known) if asked else None for asked in self.has_input_cotangent]


def dependent_nodes(program: Program, nodes: Sequence[Node]) -> set[Node]:
    """Return the nodes in ``nodes``, and all nodes that are computed from them.

    For the cotangents, these are the nodes of the backward pass.
    """
    found = {*nodes}
    for node in program.nodes:
        if not found.isdisjoint(operands(node)):
            found.add(node)
    return found


def nodes_to_save(back: Program, front: set[Node]) -> list[Node]:
    """Return the nodes of the forward program whose values the pullback ``back`` reads.

    They must be saved until the backward pass.  A view is not saved, because the pullback can make it
    again from its operand.
    front : the nodes of the forward program.
    """
    asked, saved = {*back.roots()}, []
    for node in reversed(back.nodes):
        if node not in asked or not node.is_call:
            continue
        if node.op == "item":  # one of several results of a call: saved if the call is in ``front``
            own = operands(node)[0] in front
        else:
            own = node in front and not node.view and node.shape is not None
        if own:
            saved.append(node)
        else:
            asked.update(operands(node))
    return saved[::-1]


def standalone_pullback(
    back: Program, saved: Sequence[Node], inputs: Sequence[Node]
) -> tuple[Program, list[int]]:
    """Return the pullback as a program of its own, and the numbers of the function's inputs it reads.

    The inputs of the new program are the function's inputs that it reads, the saved values, and the
    cotangents, in this order.
    back : the pullback, whose nodes refer to the forward program.
    saved : the nodes whose values the forward program passes to the pullback.
    inputs : the inputs of the function.
    """
    of = {node: Node(INPUT, like=node) for node in saved}
    given = {*inputs}
    asked = {*back.roots()}  # nodes that the pullback reads or computes
    for node in reversed(back.nodes):
        if node in asked and node not in of:
            asked.update(operands(node))
    used = [place for place, node in enumerate(inputs) if node in asked]
    first = [*[inputs[place] for place in used], *of.values()]
    seeds = [node for node in back.inputs if node not in given]
    nodes = [*first, *seeds]
    for node in back.nodes:
        if node in of or node not in asked or node.op == INPUT:
            of.setdefault(node, node)
            continue
        moved = any(of[x] is not x for x in operands(node))
        of[node] = copied(node, of.__getitem__) if moved else node
        nodes.append(of[node])
    program = Program(
        [*first, *seeds], nodes, [guard._replace(node=of[guard.node]) for guard in back.guards],
        [of[node] for node in back.outputs],
    )  # fmt: skip
    return program, used
