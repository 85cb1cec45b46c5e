"""The graph of a tape: a node for each source and each record, an edge for each value between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .._array.aliasing import ADD, PUT, VIEW, WATCH, ViewRecord
from .._array.array import Array
from .._array.exits import LEFT, LeftRecord
from .._array.paths import GETITEM, Path
from .._custom.recorded_calls import SAME, CallRecord
from .._exits.messages import exit_text
from .._record.plan import (
    Plan,
    Record,
    Structural,
    ids_made_of,
    ids_needed_for,
    inputs_of,
    plan_of,
    results_of,
)
from .._tape.buffers import Buffers
from .._tape.missing_rules import missing_rule
from .._tape.record_places import NOWHERE, RecordPlace
from .._tape.recording import Recording
from .._tape.table_text import format_bytes
from .layouts import UNKNOWN, Layout, layouts_of

LONGEST = 46  # the greatest number of characters in a line of a box
LIGHT = frozenset(
    ("view", "cast", "positive")
)  # ops that chains of elementwise ops may contain, too


@dataclass(eq=False)
class GraphNode:
    """A box of the picture: a source, a record, or several records that were folded into one.

    kind : "source", "op", "target", "left" (an untracked conversion) or "missing" (an op without a rule,
        or a target that is not on the tape).
    ops : the names of the records' ops.
    layouts : the shapes and dtypes of the results, as texts.
    size : the bytes of the buffers that these records keep, without buffers of earlier records.
    light : True if the node may be merged with the ops next to it.
    on_path : True if the node is on a path from a source to the target.
    """

    kind: str
    ops: list[str]
    layouts: list[str] = field(default_factory=list)
    size: int = 0
    place: RecordPlace = NOWHERE
    light: bool = False
    on_path: bool = False
    title: str = ""
    named: str = ""  # the user's name of the value
    lines: list[str] = field(default_factory=list)  # source lines; the box shows the first

    def words(self) -> list[str]:
        """Return the lines of text in the box, of which the first is the title."""
        said = [self.title or ops_title(self.ops)]
        if self.named:
            said[0] = f"{self.named} = {said[0]}" if self.kind != "source" else self.named
        facts = [", ".join(self.layouts[:2]) + (", …" if len(self.layouts) > 2 else "")]
        facts += [f"{len(self.ops)} ops"] if len(self.ops) > 1 else []
        facts += [f"keeps {format_bytes(self.size)}"] if self.size else []
        lines = [" · ".join(fact for fact in facts if fact)]
        said += lines if len(lines[0]) <= LONGEST else [facts[0], " · ".join(facts[1:])]
        said += [short_line(line) for line in self.lines[:1]]
        return [line for line in said if line]

    def details(self) -> str:
        """Return the text that is shown while the pointer is on the box."""
        parts = [
            f"{self.named or self.kind}: {op_counts(self.ops) or self.title}",
            *self.layouts[:8],
        ]
        parts.append(f"keeps {format_bytes(self.size)}" if self.size else "keeps no data")
        if self.place is not NOWHERE:
            parts += [f"in {self.place.scope}"] if self.place.scope else []
        parts += list(dict.fromkeys(map(short_line, self.lines)))[:12]
        return "\n".join(parts)


@dataclass
class Graph:
    """Nodes in the order of their records, and edges between them.

    edges : for each pair (start, end) of indices of nodes, True for edges on a path from a source to the
        target.
    notes : lines of text above the picture.
    records : the number of records, before folding.
    """

    nodes: list[GraphNode]
    edges: dict[tuple[int, int], bool]
    notes: list[str] = field(default_factory=list)
    records: int = 0


def ops_title(ops: Sequence[str], most: int = 3) -> str:
    """Return a title such as ``"add"``, ``"mul, add, exp"`` or ``"mul, add, exp, …"``."""
    names = list(dict.fromkeys(ops)) if len(ops) > most else list(ops)
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")


def op_counts(ops: Sequence[str]) -> str:
    """Return a text such as ``"2 x add, exp"``."""
    times = {name: ops.count(name) for name in dict.fromkeys(ops)}
    return ", ".join(name if n == 1 else f"{n} x {name}" for name, n in times.items())


def short_line(line: str) -> str:
    """Shorten a path and line number to the last folder, as ``folder/file.py:3``."""
    head, bracket, rest = line.partition(" (")
    return "/".join(head.replace("\\", "/").split("/")[-2:]) + bracket + rest


# --- from records ---------------------------------------------------------------------------------
class GraphBuilder:
    """A builder of a graph of the tape's records that lead from the sources to the targets.

    The graph also shows conversions, such as ``float(x)``, of values that depend on a source.

    starts, sources : the value ids of the targets, and of the sources.
    needed_ids : the ids of all values on which a target depends.
    reached_ids : the ids of all values that depend on a source.
    labels : a dict from value ids to the names that the graph shows.
    unfollowed : nodes for the targets that are not on the tape.
    """

    def __init__(
        self,
        recording: Recording,
        targets: list[Array],
        sources: list[Array],
        names: dict[int, str],
    ) -> None:
        self.recording, self.names = recording, names
        starts = [recording.value_id_of(x, current_value=True) for x in targets]
        places = [self.value_place(x) for x in sources]
        self.records = list(recording.records)  # after value_id_of, which may record a view
        self.starts = {value_id for value_id in starts if value_id}
        self.sources = dict.fromkeys(value_id for value_id, _ in places if value_id)
        self.needed_ids = ids_needed_for(self.records, self.starts)
        self.reached_ids = ids_made_of(self.records, self.sources)
        self.labels = {value_id: names[id(x)] for value_id, x in zip(starts, targets, strict=True)}
        self.labels |= {
            value_id: names[id(x)] for (value_id, _), x in zip(places, sources, strict=True)
        }
        self.labels.pop(0, None)
        self.unfollowed = [
            unfollowed_target(x, names[id(x)])
            for x, value_id in zip(targets, starts, strict=True)
            if value_id not in recording.known
        ]
        watched = recording.watched.values()
        known = {entry.source: value_layout(entry.handle) for entry in watched if not entry.path}
        known |= {value_id: value_layout(x) for value_id, x in zip(starts, targets, strict=True)}
        self.layouts = layouts_of(self.records, known)
        self.places = recording.profile.places if recording.profile else None

    def value_place(self, x: Array) -> tuple[int, Path]:
        """Return (value id, path) of a source; the path is () except for a watched view.

        For a watched view, the value id is that of the viewed Array, of whose gradient the view's is a
        part.
        """
        entry = self.recording.watched.get(id(x))
        return (entry.source, entry.path) if entry else (self.recording.value_id_of(x), ())

    def build_graph(self) -> Graph:
        """Return the graph, with one node for each record."""
        shown = self.shown_records()
        graph = Graph([], {}, self.notes(), len(shown))
        maker: dict[int, int] = {}  # the index of a node by value id
        for value_id in self.root_ids(shown):
            maker[value_id] = len(graph.nodes)
            graph.nodes.append(self.source_node(value_id))
        buffers = Buffers()
        for record in shown:
            found = buffers.new_in([record])
            buffers.add_sizes(found)
            results = results_of(record)
            # The result of a WATCH record is a watched value.  If it has a source node, an edge leads
            # from this node to the record.
            inputs = {
                maker[value_id] for value_id in (*inputs_of(record), *results) if value_id in maker
            }
            if plan_of(record) is SAME and inputs:
                maker[results[0]] = inputs.pop()
                continue
            place = len(graph.nodes)
            node = self.node(record, sum(found.values()))
            graph.nodes.append(node)
            for start in inputs:
                graph.edges[start, place] = node.on_path and graph.nodes[start].on_path
            maker |= dict.fromkeys(results, place)
        graph.nodes += self.unfollowed
        return graph

    def shown_records(self) -> list[Record]:
        """Return the records that lead to a target, or from a source to an untracked conversion."""
        exits = [
            results_of(record)[0]
            for record in self.records
            if plan_of(record) is LEFT and self.starts.isdisjoint(inputs_of(record))
        ]
        cut = ids_needed_for(self.records, exits) & self.reached_ids
        seen = self.needed_ids | cut
        return [record for record in self.records if not seen.isdisjoint(results_of(record))]

    def root_ids(self, shown: list[Record]) -> list[int]:
        """Return the ids of the sources, and of other watched values that the records ``shown`` use."""
        used = {value_id for record in shown for value_id in inputs_of(record)}
        made = {value_id for record in shown for value_id in results_of(record)}
        leaves = [entry.source for entry in self.recording.watched.values()]
        others = [value_id for value_id in leaves if value_id in used]
        return [
            value_id for value_id in dict.fromkeys([*self.sources, *others]) if value_id not in made
        ]

    def source_node(self, value_id: int) -> GraphNode:
        """Return the node of a value that no recorded op computed."""
        asked = value_id in self.sources
        name = self.label_of(value_id) or ("source" if asked else "watched")
        layouts = [layout_text(self.layouts.get(value_id, UNKNOWN))]
        on_path = asked and value_id in self.needed_ids
        return GraphNode("source", [], layouts, on_path=on_path, named=name, title=name)

    def label_of(self, value_id: int) -> str:
        """Return the name of a value in the picture, or ""."""
        if self.labels.get(value_id):
            return self.labels[value_id]
        for handle, root, source, *_ in self.recording.watched.values():
            if value_id in (root, source) and id(handle) in self.names:
                return self.names[id(handle)]
        return ""

    def node(self, record: Record, size: int) -> GraphNode:
        """Return the node for one record.

        size : the bytes that the record keeps, without memory that an earlier record keeps, too.
        """
        plan, results = plan_of(record), results_of(record)
        place = self.places.place_of_record(record) if self.places else NOWHERE
        if plan is LEFT:
            line = exit_text(LeftRecord(*record))
            return GraphNode(
                "left", ["left"], place=place, title="value left the tape", lines=[line]
            )
        behind, ahead = self.reached_ids, self.needed_ids
        name, missing = op_words(plan, record), missing_rule(plan, record) is not None
        target = not self.starts.isdisjoint(results)
        layouts = [layout_text(self.layouts.get(value_id, UNKNOWN)) for value_id in results]
        return GraphNode(
            "missing" if missing else "target" if target else "op",
            [name],
            [layout for layout in layouts if layout],
            size,
            place,
            light=not (missing or target) and is_light(plan),
            on_path=not behind.isdisjoint(inputs_of(record)) and not ahead.isdisjoint(results),
            title=f"{name}: no rule" if missing else "",
            named=next(
                (self.labels[value_id] for value_id in results if self.labels.get(value_id)), ""
            ),
            lines=[] if place is NOWHERE else [place.line],
        )

    def notes(self) -> list[str]:
        """Return a note for each source without a path to a target, whose gradient is None."""
        names = [
            self.label_of(value_id) or "a source"
            for value_id in self.sources
            if value_id not in self.needed_ids
        ]
        return [f"no path from {name} to the target: its gradient is None" for name in names]


def unfollowed_target(x: Array, name: str) -> GraphNode:
    """Return the node of a target that the tape does not follow."""
    title = f"{name or 'target'} is not on this tape"
    return GraphNode("missing", [], [layout_text(value_layout(x))], title=title)


def is_light(plan: Plan | Structural) -> bool:
    """Return True if the op of a record may be merged with the ops next to it into one node."""
    return plan.name in LIGHT or (isinstance(plan, Plan) and plan.op.kind == "elementwise")


def value_layout(x: Array) -> Layout:
    return tuple(x.shape), x._data.dtype


def layout_text(layout: Layout) -> str:
    """Return a text such as ``float64(3, 4)``, without the shape or dtype if it is unknown."""
    shape, dtype = layout
    if shape is None:
        return str(dtype) if dtype is not None else ""
    dims = ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "")
    return f"{dtype if dtype is not None else ''}({dims})"


def op_words(plan: Plan | Structural, record: Record) -> str:
    """Return a short text for the op of a record, such as "add in place"."""
    if plan is VIEW:
        return view_name(ViewRecord(*record).path)
    if plan is PUT:
        return "write"
    if plan is ADD:
        return "add in place" if record[5] > 0 else "subtract in place"
    if plan is WATCH:
        return "watched from here"
    if isinstance(plan, Structural) and hasattr(record[-1], "name"):
        return str(CallRecord(*record).call.name)
    return plan.name


def view_name(path: Path) -> str:
    """Return a text such as ``view [:, 1]``, ``view transpose`` or ``view reshape``.

    path : the steps from the viewed Array to the view.
    """
    steps = ["[" + key_text(argument) + "]" if kind == GETITEM else kind for kind, argument in path]
    return "view " + " ".join(steps) if steps else "same value"


def key_text(key: Any) -> str:
    """Return an index (key) as text, without brackets; "…" for arrays and other long keys."""
    if isinstance(key, tuple):
        return ", ".join(map(key_text, key))
    if isinstance(key, slice):
        ends = ["" if end is None else str(end) for end in (key.start, key.stop)]
        return ":".join(ends) + ("" if key.step is None else f":{key.step}")
    if key is Ellipsis:
        return "..."
    return str(key) if key is None or isinstance(key, int) else "…"
