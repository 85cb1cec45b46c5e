"""Folding of a graph to fewer nodes (boxes): by chains of elementwise ops, functions, lines or ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .._util.errors import short_repr, user_line
from .model import Graph, GraphNode, ops_title

MOST_RECORDS = 500  # with more records, "auto" folds by line or op
MOST_NODES = 60  # with more nodes, "auto" folds by scope where scopes are known
WAYS = ("auto", "none", "chain", "scope", "line", "op")


def fold_graph(graph: Graph, fold: str) -> Graph:
    """Return a graph with fewer nodes.

    fold : what the merged nodes share: one of WAYS, such as "line".  "auto" chooses by the number of
        records and nodes, and may add a note on its choice.
    """
    if fold not in WAYS:
        raise ValueError(
            f"fold must be one of {', '.join(WAYS)}, got {short_repr(fold)} [at {user_line()}]"
        )
    known = any(node.place.scope for node in graph.nodes)
    if fold != "auto":
        return FOLDS[fold](graph)
    if graph.records > MOST_RECORDS:
        way = "line" if known else "op"
        found = FOLDS[way](graph)
        found.notes.append(
            f"{graph.records} records, folded by {way}: a dashed edge is a later round of a loop"
            + ("" if known else "; GradientTape(profile=True) knows lines")
        )
        return found
    found = fold_chains(graph)
    if len(found.nodes) > MOST_NODES and known:
        found = fold_by_scope(graph)
        found.notes.append(f"{graph.records} records, folded by function or Module")
    return found


def merge_groups(
    graph: Graph, groups: Sequence[int], title: Callable[[GraphNode], str] | None
) -> Graph:
    """Return a graph with one node for each group of nodes.

    groups : the group number of each node.
    title : returns the title for a group, given its last node; if it is None, the title consists of the
        names of the group's ops.
    """
    members: dict[int, list[int]] = {}
    for i, group in enumerate(groups):
        members.setdefault(group, []).append(i)
    leaving = {start for start, end in graph.edges if groups[start] != groups[end]}
    nodes = []
    for parts in members.values():
        results = [i for i in parts if i in leaving] or parts[-1:]
        layouts = dict.fromkeys(text for i in results for text in graph.nodes[i].layouts)
        nodes.append(joined_nodes([graph.nodes[i] for i in parts], [*layouts], title))
    place = {group: i for i, group in enumerate(members)}
    edges: dict[tuple[int, int], bool] = {}
    for (start, end), on_path in graph.edges.items():
        pair = place[groups[start]], place[groups[end]]
        if pair[0] != pair[1]:
            edges[pair] = edges.get(pair, False) or on_path
    return Graph(nodes, edges, [*graph.notes], graph.records)


def joined_nodes(
    nodes: Sequence[GraphNode], layouts: list[str], title: Callable[[GraphNode], str] | None
) -> GraphNode:
    """Return the node that replaces a group of nodes in the picture.

    layouts : the dtypes and shapes of the group's results, as text.
    title : returns the title, given the last node; if it is None, the title has the names of the ops.
    """
    first, last = nodes[0], nodes[-1]
    if first is last:
        return first
    kinds = {node.kind for node in nodes}
    ops = [op for node in nodes for op in node.ops]
    return GraphNode(
        next(kind for kind in ("target", "missing", first.kind) if kind in kinds), ops, layouts,
        sum(node.size for node in nodes), last.place, all(node.light for node in nodes),
        any(node.on_path for node in nodes), title(last) if title else ops_title(ops),
        next((node.named for node in reversed(nodes) if node.named), ""),
        [line for node in nodes for line in node.lines],
    )  # fmt: skip


def fold_chains(graph: Graph) -> Graph:
    """Merge consecutive elementwise ops, if each result is the only input of exactly one next op."""
    inputs: dict[int, list[int]] = {}
    outputs: dict[int, list[int]] = {}
    for start, end in graph.edges:
        inputs.setdefault(end, []).append(start)
        outputs.setdefault(start, []).append(end)
    groups = list(range(len(graph.nodes)))
    for i, node in enumerate(graph.nodes):
        before = inputs.get(i, [])
        if len(before) != 1 or outputs[before[0]] != [i] or not node.light:
            continue
        other = graph.nodes[before[0]]
        if other.light and other.place.scope == node.place.scope:
            groups[i] = groups[before[0]]
    return merge_groups(graph, groups, None)


def fold_by_scope(graph: Graph) -> Graph:
    """Merge consecutive nodes whose ops ran in one Module or function.

    Later nodes of the same function make another group, so that the graph has no cycles.
    """
    groups: list[int] = []
    last: tuple[str, int] | None = None
    for i, node in enumerate(graph.nodes):
        if node.kind in ("source", "left") or not node.ops:
            groups.append(i)
            continue
        # The box shows the line that called the function.
        node.lines[:1] = [node.place.caller] if node.lines else []
        if last is None or last[0] != node.place.scope:
            last = (node.place.scope, i)
        groups.append(last[1])
    return merge_groups(graph, groups, lambda node: node.place.scope or ops_title(node.ops))


def fold_by_key(graph: Graph, key: Callable[[GraphNode], str]) -> Graph:
    """Merge nodes of ops that have the same key, so that the iterations of a loop become a cycle.

    Sources, untracked conversions and nodes without ops stay as they are.

    key : a function from a node to, for example, its source line.
    """
    first: dict[str, int] = {}
    groups = [
        i if node.kind in ("source", "left") or not node.ops else first.setdefault(key(node), i)
        for i, node in enumerate(graph.nodes)
    ]
    return merge_groups(graph, groups, None)


FOLDS: dict[str, Callable[[Graph], Graph]] = {
    "none": lambda graph: graph,
    "chain": fold_chains,
    "scope": fold_by_scope,
    "line": lambda graph: fold_by_key(graph, lambda node: node.place.line),
    "op": lambda graph: fold_by_key(graph, lambda node: node.ops[0]),
}
