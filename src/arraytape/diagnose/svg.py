"""A graph as SVG, and as an HTML page that can zoom, shows details of boxes, and loads no files."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from .layout import Box, lay_out_graph
from .model import LONGEST, Graph, GraphNode

CHARACTER, LINE = 6.9, 16.0  # width of a character and height of a line at 11.5 px, in pixels
TITLE = 7.9  # width of a character of a title, at 13 px and bold
PAD = 15.0  # the space between a text and the left and right edge of its box

STYLE = """
.g{font:11.5px ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace;fill:#3c4450}
.g .t{font-size:13px;font-weight:700;fill:#1b2430}
.g .s{fill:#7a8492}
.box{fill:#fff;stroke:#b9c1cc;stroke-width:1.2}
.on .box{fill:#f0f6ff;stroke:#2f6fdb;stroke-width:1.6}
.source .box{fill:#2f6fdb;stroke:#2f6fdb}.source text,.source .t,.source .s{fill:#fff!important}
.off.source .box{fill:#8d97a5;stroke:#8d97a5}
.target .box{fill:#123a7d;stroke:#123a7d}.target text,.target .t,.target .s{fill:#fff!important}
.left .box,.missing .box{fill:#fff0ee;stroke:#d0342c;stroke-width:1.6}
.left .t,.missing .t{fill:#b3261e}
.e{fill:none;stroke:#b9c1cc;stroke-width:1.3}
.e.on{stroke:#2f6fdb;stroke-width:2.2}
.e.cut{stroke:#d0342c;stroke-width:1.8}
.e.round{stroke-dasharray:5 4}
.note{fill:#5b6675}.note.cut{fill:#b3261e}
"""
COLOURS = (  # for scopes, from Okabe and Ito 2008: colour-blind readers can distinguish them
    "#e69f00", "#56b4e9", "#009e73", "#cc79a7", "#d55e00", "#0072b2", "#f0e442", "#7a8492",
)  # fmt: skip
ENDS = {"": "#b9c1cc", "on": "#2f6fdb", "cut": "#d0342c"}  # the colours of arrow heads

SCRIPT = """
const svg=document.querySelector('svg'),tip=document.getElementById('tip'),all=svg.viewBox.baseVal;
const full=[all.x,all.y,all.width,all.height];
const set=(x,y,w,h)=>{all.x=x;all.y=y;all.width=w;all.height=h};
const shown=all.width*innerHeight/innerWidth; // of a tall picture the upper end, at full width
if(all.height>2*shown)set(all.x,all.y,all.width,shown);
const at=e=>{const p=svg.createSVGPoint();p.x=e.clientX;p.y=e.clientY;
  return p.matrixTransform(svg.getScreenCTM().inverse())};
svg.addEventListener('wheel',e=>{e.preventDefault();const p=at(e),k=Math.exp(e.deltaY*0.0015);
  set(p.x-(p.x-all.x)*k,p.y-(p.y-all.y)*k,all.width*k,all.height*k)},{passive:false});
let held=null;
svg.addEventListener('pointerdown',e=>{held=at(e);svg.setPointerCapture(e.pointerId)});
svg.addEventListener('pointermove',e=>{if(held){const p=at(e);all.x+=held.x-p.x;all.y+=held.y-p.y}});
svg.addEventListener('pointerup',()=>{held=null});
svg.addEventListener('dblclick',()=>set(...full));
for(const node of svg.querySelectorAll('.node')){const text=node.querySelector('title');
  node.dataset.tip=text.textContent;text.remove();
  const lines=svg.querySelectorAll(`[data-from="${node.id}"],[data-to="${node.id}"]`);
  node.addEventListener('pointerenter',e=>{tip.textContent=node.dataset.tip;tip.hidden=false;
    lines.forEach(l=>l.classList.add('near'))});
  node.addEventListener('pointermove',e=>{tip.style.left=Math.min(e.clientX+14,innerWidth-tip.offsetWidth-8)+'px';
    tip.style.top=Math.min(e.clientY+14,innerHeight-tip.offsetHeight-8)+'px'});
  node.addEventListener('pointerleave',()=>{tip.hidden=true;
    lines.forEach(l=>l.classList.remove('near'))})}
"""

PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>
html,body{{margin:0;height:100%;background:#fff}}
header{{position:fixed;left:0;right:0;top:0;padding:8px 14px;background:#fffd;
border-bottom:1px solid #e3e7ec;font:13px system-ui,sans-serif;color:#3c4450}}
header b{{color:#1b2430}}
svg{{width:100vw;height:100vh;cursor:grab}} svg:active{{cursor:grabbing}}
.near{{stroke-width:3.4!important}}
#tip{{position:fixed;max-width:640px;padding:8px 10px;background:#1b2430;color:#fff;
font:12px ui-monospace,"DejaVu Sans Mono",monospace;white-space:pre-wrap;border-radius:6px;
pointer-events:none}}
</style></head><body>
{svg}
<header><b>{title}</b>: {records} records &nbsp;
wheel: zoom, drag: move, double click: all, pointer on a box: details</header>
<div id="tip" hidden></div><script>{script}</script></body></html>
"""


def as_html(graph: Graph, title: str) -> str:
    """Return a page that shows the SVG, with zoom, and details of the box under the pointer."""
    return PAGE.format(
        title=escape(title),
        svg=as_svg(graph, title, top=44.0),
        script=SCRIPT,
        records=graph.records,
    )


def as_svg(graph: Graph, title: str, top: float = 0.0) -> str:
    """Return the graph as the text of an SVG file.

    top : the height to leave free for the page's header.  With 0 the picture itself has a title.
    """
    words = [[shorten_line(line) for line in node.words()] for node in graph.nodes]
    placed = lay_out_graph([box_size(lines) for lines in words], graph.edges)
    notes = [*([] if top else [f"{title}: {graph.records} records"]), *graph.notes]
    colours = colours_of(graph)
    head = top + LINE * (len(notes) + len(colours)) + 12.0
    longest = max(map(len, [*notes, *colours]), default=0)
    width = max(placed.width, 60.0 + longest * CHARACTER)
    left = (width - placed.width) / 2
    edges = sorted(graph.edges.items(), key=lambda item: item[1])  # emphasised edges are drawn last
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {placed.height + head:.0f}"'
        f' width="{width:.0f}" height="{placed.height + head:.0f}" class="g">',
        f"<title>{escape(title)}</title><style>{STYLE}</style><defs>",
        *(arrow(kind, colour) for kind, colour in ENDS.items()),
        '</defs><rect width="100%" height="100%" fill="#fff"/>',
        *(note_text(line, top + 20.0 + i * LINE) for i, line in enumerate(notes)),
        *(
            legend(scope, colour, top + 20.0 + (len(notes) + i) * LINE)
            for i, (scope, colour) in enumerate(colours.items())
        ),
        f'<g transform="translate({left:.1f},{head:.1f})">',
        *(
            edge(pair, placed.lines[pair], edge_kind(graph, pair, on_path), pair in placed.turned)
            for pair, on_path in edges
        ),
        *(
            box(i, node, lines, placed.boxes[i], colours.get(node.place.scope, ""))
            for i, (node, lines) in enumerate(zip(graph.nodes, words, strict=True))
        ),
        "</g></svg>",
    ]
    return "\n".join(parts)


def shorten_line(line: str) -> str:
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"


def box_size(lines: Sequence[str]) -> tuple[float, float]:
    """Return the width and height of a box for these lines of text, of which the first is a title."""
    title, rest = len(lines[0]) * TITLE, max(map(len, lines[1:]), default=0) * CHARACTER
    return max(title, rest, 40.0) + 2 * PAD, len(lines) * LINE + 13.0


def edge_kind(graph: Graph, pair: tuple[int, int], on_path: bool) -> str:
    """Return the CSS class of an edge.

    The class is "cut" if the edge leads to a red box, "on" if it is on a path from a source to the
    target, else "".
    pair : the indices of the nodes that the edge connects.
    """
    if graph.nodes[pair[1]].kind in ("left", "missing"):
        return "cut"
    return "on" if on_path else ""


def arrow(kind: str, colour: str) -> str:
    """Return the SVG marker for the ends of arrows of one kind."""
    return (
        f'<marker id="end{kind}" viewBox="0 0 8 8" refX="7.4" refY="4" markerWidth="8" '
        f'markerHeight="8" markerUnits="userSpaceOnUse" orient="auto">'
        f'<path d="M0 .6L8 4L0 7.4z" fill="{colour}"/></marker>'
    )


def note_text(line: str, y: float) -> str:
    """Return the SVG of a line of the note; a line about a missing path gets a style of its own."""
    kind = "note cut" if line.startswith("no path") else "note"
    return f'<text x="20" y="{y:.1f}" class="{kind}">{escape(line)}</text>'


def edge(
    pair: tuple[int, int], points: Sequence[tuple[float, float]], kind: str, round_: bool
) -> str:
    """Return the SVG of an edge through ``points``, vertical within a layer, curved between layers.

    pair : the indices of the nodes that the edge connects.
    kind : the CSS class from ``edge_kind``.
    round_ : True for an edge that closes a cycle, which is dashed.
    """
    (x, y), *rest = points
    d = [f"M{x:.1f} {y:.1f}"]
    for a, b in rest:
        if abs(a - x) < 0.05:
            d.append(f"V{b:.1f}")
        else:
            m = (y + b) / 2
            d.append(f"C{x:.1f} {m:.1f} {a:.1f} {m:.1f} {a:.1f} {b:.1f}")
        x, y = a, b
    classes = " ".join(["e", *([kind] if kind else []), *(["round"] if round_ else [])])
    start, end = pair
    return (
        f'<path class="{classes}" data-from="n{start}" data-to="n{end}" d="{"".join(d)}" '
        f'marker-end="url(#end{kind})"/>'
    )


def colours_of(graph: Graph) -> dict[str, str]:
    """Return a dict from scopes (functions and Modules) to the colours of their nodes.

    The dict is empty if there is at most one scope, if there are more scopes than colours, or if a
    folded node stands for a whole scope.
    """
    scopes = dict.fromkeys(node.place.scope for node in graph.nodes if node.place.scope)
    folded = any(node.title in scopes for node in graph.nodes)
    several = 1 < len(scopes) <= len(COLOURS) and not folded
    return dict(zip(scopes, COLOURS, strict=False)) if several else {}


def legend(scope: str, colour: str, y: float) -> str:
    """Return the SVG of a line in the legend: a bar in a scope's colour, and the scope's name.

    y : the height at which the line stands.
    """
    return (
        f'<rect x="20" y="{y - 9:.1f}" width="5" height="11" rx="2" fill="{colour}"/>'
        f'<text x="32" y="{y:.1f}" class="note">{escape(scope)}</text>'
    )


def box(i: int, node: GraphNode, lines: Sequence[str], at: Box, colour: str) -> str:
    """Return the SVG of a node's box: lines of text, a tooltip, a bar in the colour of its scope.

    i : the number of the node.  lines : the text.  at : the position and size.
    """
    bar = (
        f'<rect x="{at.x + 3.5:.1f}" y="{at.y + 6:.1f}" width="4" height="{at.height - 12:.1f}" rx="2" '
        f'fill="{colour}"/>'
    )
    radius = at.height / 2 if node.kind == "source" else 7.0
    rows = [
        f'<text x="{at.middle:.1f}" y="{at.y + 20.0 + k * LINE:.1f}" text-anchor="middle"'
        f"{klass}>{escape(line)}</text>"
        for k, line in enumerate(lines)
        for klass in [' class="t"' if k == 0 else ' class="s"' if k == len(lines) - 1 > 1 else ""]
    ]
    state = "on" if node.on_path else "off"
    return (
        f'<g class="node {node.kind} {state}" id="n{i}"><title>{escape(node.details())}</title>'
        f'<rect class="box" x="{at.x:.1f}" y="{at.y:.1f}" width="{at.width:.1f}" '
        f'height="{at.height:.1f}" rx="{radius:.1f}"/>{bar if colour else ""}{"".join(rows)}</g>'
    )
