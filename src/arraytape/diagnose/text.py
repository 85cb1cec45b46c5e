"""A graph as text for Graphviz and for Mermaid, which place the boxes and edges themselves."""

from __future__ import annotations

from .model import Graph
from .svg import edge_kind

DOT = {
    "source": 'shape=ellipse style=filled fillcolor="#2f6fdb" fontcolor=white',
    "op": "shape=box",
    "target": 'shape=box style=filled fillcolor="#123a7d" fontcolor=white',
    "left": 'shape=box color="#d0342c" fontcolor="#b3261e"',
    "missing": 'shape=box color="#d0342c" fontcolor="#b3261e"',
}
DOT_EDGES = {
    "": ' [color="#9aa3b0"]',
    "on": ' [color="#2f6fdb" penwidth=2]',
    "cut": ' [color="#d0342c" style=dashed]',
}
MERMAID = {
    "source": ('(["', '"])', "fill:#2f6fdb,stroke:#2f6fdb,color:#fff"),
    "op": ('["', '"]', "fill:#fff,stroke:#b9c1cc,color:#1b2430"),
    "target": ('["', '"]', "fill:#123a7d,stroke:#123a7d,color:#fff"),
    "left": ('["', '"]', "fill:#fff0ee,stroke:#d0342c,color:#b3261e"),
    "missing": ('["', '"]', "fill:#fff0ee,stroke:#d0342c,color:#b3261e"),
}
MERMAID_EDGES = {"": "-->", "on": "==>", "cut": "-.->"}
ENTITIES = str.maketrans(
    {"#": "#35;", "&": "#amp;", '"': "#quot;", "<": "#lt;", ">": "#gt;"},
)


def as_dot(graph: Graph, title: str) -> str:
    """Return the graph as text in the language DOT of Graphviz."""
    head = "\\n".join(escape_dot(line) for line in [title, *graph.notes])
    lines = ["digraph tape {", f'  label="{head}"; labelloc=t; node [fontname="monospace"];']
    for i, node in enumerate(graph.nodes):
        label = "\\n".join(escape_dot(line) for line in node.words())
        lines.append(f'  n{i} [label="{label}" {DOT[node.kind]}];')
    for (start, end), on_path in graph.edges.items():
        lines.append(f"  n{start} -> n{end}{DOT_EDGES[edge_kind(graph, (start, end), on_path)]};")
    return "\n".join([*lines, "}", ""])


def as_mermaid(graph: Graph, title: str) -> str:
    """Return the graph as text for Mermaid, which pages of Markdown can show as a picture."""
    lines = ["flowchart TD", *(f"  %% {line}" for line in [title, *graph.notes])]
    for i, node in enumerate(graph.nodes):
        before, after, _ = MERMAID[node.kind]
        label = "<br/>".join(escape_mermaid(line) for line in node.words())
        lines.append(f"  n{i}{before}{label}{after}:::{node.kind}")
    for (start, end), on_path in graph.edges.items():
        lines.append(f"  n{start} {MERMAID_EDGES[edge_kind(graph, (start, end), on_path)]} n{end}")
    used = {node.kind for node in graph.nodes}
    lines += [f"  classDef {kind} {MERMAID[kind][2]}" for kind in MERMAID if kind in used]
    return "\n".join([*lines, ""])


def escape_dot(text: str) -> str:
    """Return a text with backslashes and quotes escaped for a string in DOT."""
    return text.replace("\\", "\\\\").replace('"', '\\"')


def escape_mermaid(text: str) -> str:
    """Escape the text of a label for Mermaid, which writes HTML's entities with # in place of &."""
    return text.translate(ENTITIES)
