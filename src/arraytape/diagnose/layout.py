"""Positions of boxes and edges in a drawing with layers from top to bottom and few crossings.

The steps are those of Sugiyama, Tagawa and Toda 1981, "Methods for visual understanding of hierarchical
system structures".  Edges that close a cycle are reversed.  A node's layer is its longest path from a
node without inputs.  In each layer that an edge passes, the edge has a lane: a place between the boxes.
Each layer is sorted by the barycentres of its neighbours.  Then boxes and lanes move towards their
neighbours as far as the gaps allow.

A *slot* is a box or a lane.  Slots have numbers: below ``nodes``, the number of boxes, a number is a
box; the others are lanes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

ACROSS, DOWN = 28.0, 44.0  # the gaps in pixels between boxes of a layer, and between layers
MARGIN = 24.0  # the empty space around the picture, in pixels
LANE = 10.0  # the width of the slot of an edge that passes a layer
SWEEPS = 12  # the number of walks over all layers, downwards and upwards in turn

Edge = tuple[int, int]  # from, to
Point = tuple[float, float]


class Box(NamedTuple):
    """A rectangle, given by its upper left corner, width and height."""

    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        return self.x + self.width / 2

    @property
    def bottom(self) -> float:
        return self.y + self.height


class GraphLayout(NamedTuple):
    """The positions of boxes and edges.

    boxes : the box of each node.
    lines : dict from edges to the points of their lines.
    turned : the edges that close a cycle, so that they lead upwards.
    """

    boxes: list[Box]
    lines: dict[Edge, list[Point]]
    turned: set[Edge]
    width: float
    height: float


def lay_out_graph(sizes: Sequence[tuple[float, float]], edges: Iterable[Edge]) -> GraphLayout:
    """Return the layout of nodes with these widths and heights, in pixels."""
    edges = list(dict.fromkeys(edges))
    turned = cycle_edges(len(sizes), edges)
    down = list(dict.fromkeys((b, a) if (a, b) in turned else (a, b) for a, b in edges))
    rows, chain_of, widths = add_lanes(sizes, down, layer_numbers(len(sizes), down))
    neighbours = neighbours_of(chain_of.values(), len(widths))
    order_rows(rows, neighbours)
    centres = positions(rows, neighbours, widths, len(sizes))
    for _ in range(3):
        straighten_edges(chain_of.values(), rows, centres, widths, len(sizes))
    heights = [max([sizes[i][1] for i in row if i < len(sizes)], default=0.0) for row in rows]
    tops = [MARGIN + sum(heights[:i]) + DOWN * i for i in range(len(rows))]
    bands = {i: (tops[k], heights[k]) for k, row in enumerate(rows) for i in row}
    left = min((x - w / 2 for x, w in zip(centres, widths, strict=True)), default=0.0) - MARGIN
    centres = [x - left for x in centres]
    boxes = [box_around(centres[i], bands[i], size) for i, size in enumerate(sizes)]
    drawn = add_ends(
        {pair: edge_points(chain, centres, bands) for pair, chain in chain_of.items()}, boxes
    )
    lines = {(a, b): drawn[b, a][::-1] if (a, b) in turned else drawn[a, b] for a, b in edges}
    right = max((x + w / 2 for x, w in zip(centres, widths, strict=True)), default=0.0)
    bottom = max((box.bottom for box in boxes), default=0.0)
    return GraphLayout(boxes, lines, turned, right + MARGIN, bottom + MARGIN)


def box_around(centre: float, band: tuple[float, float], size: tuple[float, float]) -> Box:
    """Return a box of this size around ``centre``, in the vertical middle of its layer.

    centre : the x of the box's middle, in pixels.  band : the top and the height of the layer.
    """
    (top, tall), (width, height) = band, size
    return Box(centre - width / 2, top + (tall - height) / 2, width, height)


def edge_points(
    chain: Sequence[int], centres: Sequence[float], bands: dict[int, tuple[float, float]]
) -> list[Point]:
    """Return the points at which an edge enters and leaves the layers between its ends.

    chain : the slots along the edge.  centres : the x of each slot.
    bands : dict from slots to the top and the height of their layer.
    """
    passed = [(centres[lane], *bands[lane]) for lane in chain[1:-1]]
    return [point for x, top, tall in passed for point in ((x, top), (x, top + tall))]


def cycle_edges(count: int, edges: Sequence[Edge]) -> set[Edge]:
    """Return the edges that close a cycle: those to a node on the stack of a depth-first search.

    They are drawn upwards, so that all others can lead downwards.

    count : the number of nodes.
    """
    after: list[list[int]] = [[] for _ in range(count)]
    for start, end in edges:
        after[start].append(end)
    state, found = [0] * count, set()  # 0: not visited, 1: on the stack, 2: done
    for root in range(count):
        if state[root]:
            continue
        state[root] = 1
        stack = [(root, iter(after[root]))]
        while stack:
            node, rest = stack[-1]
            for other in rest:
                if state[other] == 1:
                    found.add((node, other))
                elif not state[other]:
                    state[other] = 1
                    stack.append((other, iter(after[other])))
                    break
            else:
                state[node] = 2
                stack.pop()
    return found


def layer_numbers(count: int, edges: Sequence[Edge]) -> list[int]:
    """Return the layer (row of boxes) of each node: the longest path to it from a node without inputs.

    A node without inputs is then moved down to the layer directly above the first node that uses it.

    count : the number of nodes.
    """
    after: list[list[int]] = [[] for _ in range(count)]
    waiting = [0] * count
    for start, end in edges:
        after[start].append(end)
        waiting[end] += 1
    ready = [node for node in range(count) if not waiting[node]]
    roots, layer = list(ready), [0] * count
    for node in ready:  # the loop appends to the list that it walks
        for other in after[node]:
            layer[other] = max(layer[other], layer[node] + 1)
            waiting[other] -= 1
            if not waiting[other]:
                ready.append(other)
    for node in roots:
        if after[node]:
            layer[node] = min(layer[other] for other in after[node]) - 1
    return layer


def add_lanes(
    sizes: Sequence[tuple[float, float]], edges: Sequence[Edge], layer: Sequence[int]
) -> tuple[list[list[int]], dict[Edge, list[int]], list[float]]:
    """Return the slots of each layer, the slots along each edge, and the width of each slot.

    layer : the layer of each node.  sizes : the width and height of each node.
    """
    rows: list[list[int]] = [[] for _ in range(max(layer, default=-1) + 1)]
    widths = [width for width, _ in sizes]
    for node, row in enumerate(layer):
        rows[row].append(node)
    chain_of = {}
    for start, end in edges:
        lanes = range(len(widths), len(widths) + layer[end] - layer[start] - 1)
        widths += [LANE] * len(lanes)
        for k, lane in enumerate(lanes):
            rows[layer[start] + 1 + k].append(lane)
        chain_of[start, end] = [start, *lanes, end]
    return rows, chain_of, widths


# Two lists with an item for each slot: the slots connected with it in the layer above, and below.
Neighbours = tuple[list[list[int]], list[list[int]]]


def neighbours_of(chains: Iterable[Sequence[int]], count: int) -> Neighbours:
    """Return for each slot the slots that edges connect with it, above and below.

    chains : the slots along each edge.  count : the number of slots.
    """
    above: list[list[int]] = [[] for _ in range(count)]
    below: list[list[int]] = [[] for _ in range(count)]
    for chain in chains:
        for upper, lower in pairwise(chain):
            above[lower].append(upper)
            below[upper].append(lower)
    return above, below


def order_rows(rows: list[list[int]], neighbours: Neighbours) -> None:
    """Sort the slots of each row, in place, so that few edges cross.

    A slot moves to the mean position of its neighbours in the row before.  Sweeps go down and up in
    turn, and the order with the fewest crossings is kept.

    rows : the slots of each row, from top to bottom.
    neighbours : for each slot, the slots above and below that edges connect with it.
    """
    best, fewest = [[*row] for row in rows], crossings(rows, neighbours)
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        beside = neighbours[0] if down else neighbours[1]
        walk = range(1, len(rows)) if down else range(len(rows) - 2, -1, -1)
        for i in walk:
            other = rows[i - 1] if down else rows[i + 1]
            place = {node: k for k, node in enumerate(other)}
            here = {node: k for k, node in enumerate(rows[i])}
            rows[i].sort(
                key=lambda node: mean_position([place[n] for n in beside[node]], here[node])
            )
        swap_adjacent(rows, neighbours)
        count = crossings(rows, neighbours)
        if count < fewest:
            best, fewest = [[*row] for row in rows], count
    rows[:] = best


def swap_adjacent(rows: list[list[int]], neighbours: Neighbours) -> None:
    """Swap two adjacent slots of a row, in place, wherever fewer edges cross afterwards.

    rows : the slots of each row, from top to bottom.
    neighbours : for each slot, the slots above and below that edges connect with it.
    """
    above, below = neighbours
    for i, row in enumerate(rows):
        near = [
            {node: k for k, node in enumerate(rows[j])} if 0 <= j < len(rows) else {}
            for j in (i - 1, i + 1)
        ]
        for k in range(len(row) - 1):
            a, b = row[k], row[k + 1]
            lines = [
                ([place[n] for n in beside[a]], [place[n] for n in beside[b]])
                for beside, place in zip((above, below), near, strict=True)
            ]
            now = sum(p > q for ps, qs in lines for p in ps for q in qs)
            then = sum(p < q for ps, qs in lines for p in ps for q in qs)
            if then < now:
                row[k], row[k + 1] = b, a


def crossings(rows: Sequence[Sequence[int]], neighbours: Neighbours) -> int:
    """Count the pairs of lines between neighbouring rows that cross.

    rows : the slots of each row.
    neighbours : for each slot, the slots above and below that edges connect with it.
    """
    count = 0
    for row, lower in pairwise(rows):
        place = {node: k for k, node in enumerate(lower)}
        ends = [
            place[n] for node in row for n in sorted(neighbours[1][node], key=place.__getitem__)
        ]
        count += inversions(ends)
    return count


def inversions(values: Sequence[int]) -> int:
    """Count the pairs of values that are in descending order, with a Fenwick tree.

    Each pair stands for two lines that cross in the drawing.
    """
    tree, count = [0] * (max(values, default=0) + 2), 0
    for seen, value in enumerate(values):
        i, smaller = value + 1, 0
        while i:
            smaller += tree[i]
            i &= i - 1
        count += seen - smaller
        i = value + 1
        while i < len(tree):
            tree[i] += 1
            i += i & -i
    return count


def mean_position(values: Sequence[float], default: float) -> float:
    return sum(values) / len(values) if values else default


def positions(
    rows: Sequence[Sequence[int]], neighbours: Neighbours, widths: Sequence[float], nodes: int
) -> list[float]:
    """Return the x of each slot's centre, near the mean x of the slots that edges connect with it.

    The slots of a row keep their order, and a least distance.

    rows : the slots of each row, from top to bottom.
    neighbours : for each slot, the slots above and below.  widths : the width of each slot.
    nodes : the number of boxes.
    """
    centres = [0.0] * len(widths)
    for row in rows:
        x = 0.0
        for node in row:
            centres[node], x = x + widths[node] / 2, x + widths[node] + ACROSS
        for node in row:
            centres[node] -= x / 2
    gaps = [[least_distance(a, b, widths, nodes) for a, b in pairwise(row)] for row in rows]
    both = [a + b for a, b in zip(*neighbours, strict=True)]
    down, up = range(len(rows)), range(len(rows) - 1, -1, -1)
    plans = [(down, neighbours[0]), (up, neighbours[1])] * SWEEPS + [(down, both), (up, both)] * 2
    for order, beside in plans:
        for i in order:
            pulls = [pull_of_lines(node, beside[node], centres, nodes) for node in rows[i]]
            found = spread_positions(
                [x for x, _ in pulls], [weight for _, weight in pulls], gaps[i]
            )
            for node, x in zip(rows[i], found, strict=True):
                centres[node] = x
    return centres


def pull_of_lines(
    node: int, others: Sequence[int], centres: Sequence[float], nodes: int
) -> tuple[float, float]:
    """Return (x, weight): the mean x of the slots ``others``, and how strongly ``node`` moves there.

    Two lanes attract each other most, so that long edges stay straight.

    node, others : a slot, and the slots that edges connect with it.
    centres : the x of each slot.  nodes : the number of boxes.
    """
    weights = [(1.0, 2.0, 8.0)[(node >= nodes) + (other >= nodes)] for other in others]
    total = sum(weights)
    if not total:
        return centres[node], 0.01
    return sum(w * centres[n] for w, n in zip(weights, others, strict=True)) / total, total


def straighten_edges(
    chains: Iterable[Sequence[int]], rows: Sequence[Sequence[int]], centres: list[float],
    widths: Sequence[float], nodes: int,
) -> None:  # fmt: skip
    """Straighten long edges: move their points in consecutive layers to one x, if there is room.

    chains : the slots along each edge.  rows : the slots of each row.
    centres : the x of each slot; changed in place.  widths : the width of each slot.
    nodes : the number of boxes.
    """
    beside = {node: (row[k - 1] if k else None, row[k + 1] if k + 1 < len(row) else None)
              for row in rows for k, node in enumerate(row)}  # fmt: skip

    def free(node: int) -> tuple[float, float]:
        left, right = beside[node]
        return (
            float("-inf")
            if left is None
            else centres[left] + least_distance(left, node, widths, nodes),
            float("inf")
            if right is None
            else centres[right] - least_distance(node, right, widths, nodes),
        )

    for chain in chains:
        run: list[int] = []
        low, high = float("-inf"), float("inf")
        for node in [*chain[1:-1], None]:
            least, most = free(node) if node is not None else (1.0, 0.0)
            if max(low, least) > min(high, most):
                for lane in run:
                    centres[lane] = min(
                        max(mean_position([centres[n] for n in run], 0.0), low), high
                    )
                run, low, high = [], least, most
            else:
                low, high = max(low, least), min(high, most)
            if node is not None:
                run.append(node)


def least_distance(a: int, b: int, widths: Sequence[float], nodes: int) -> float:
    """Return the least distance between the centres of two neighbouring slots of a row.

    a, b : the numbers of the slots.  nodes : the number of boxes.
    """
    between = ACROSS if a < nodes or b < nodes else LANE
    return (widths[a] + widths[b]) / 2 + between


def spread_positions(
    wanted: Sequence[float], weights: Sequence[float], gaps: Sequence[float]
) -> list[float]:
    """Return the positions nearest to ``wanted``, in weighted least squares, with at least these gaps.

    If each position is reduced by the gaps before it, the rest must not descend.  So this is isotonic
    regression, which is solved by pooling adjacent violators.

    wanted : the x at which each slot of a row would be best.
    gaps : the least distance of each slot from the one before.
    """
    offsets = [0.0]
    for one in gaps:
        offsets.append(offsets[-1] + one)
    pools: list[tuple[float, float, int]] = []  # mean, weight, count
    for x, weight, offset in zip(wanted, weights, offsets, strict=False):
        pool = (x - offset, weight, 1)
        while pools and pools[-1][0] > pool[0]:
            value, heavy, many = pools.pop()
            total = heavy + pool[1]
            pool = ((value * heavy + pool[0] * pool[1]) / total, total, many + pool[2])
        pools.append(pool)
    flat = [value for value, _, many in pools for _ in range(many)]
    return [value + offset for value, offset in zip(flat, offsets, strict=False)]


def add_ends(lines: dict[Edge, list[Point]], boxes: Sequence[Box]) -> dict[Edge, list[Point]]:
    """Add the end points to each line: the bottom of the upper box, and the top of the lower box.

    lines : for each edge the points between its boxes.
    """
    starts = line_ends(lines, boxes, 0)
    ends = line_ends(lines, boxes, 1)
    return {
        pair: [(starts[pair], boxes[pair[0]].bottom), *points, (ends[pair], boxes[pair[1]].y)]
        for pair, points in lines.items()
    }


def line_ends(lines: dict[Edge, list[Point]], boxes: Sequence[Box], side: int) -> dict[Edge, float]:
    """Return the x at which each line meets the box at one of its ends.

    Lines at a box are sorted by the x of their next point, so that they do not cross.
    side : 0 for the upper end of the lines, 1 for the lower end.
    lines : for each edge the points between its boxes.
    """
    at: dict[int, list[tuple[float, Edge]]] = {}
    for pair, points in lines.items():
        towards = points[-side][0] if points else boxes[pair[1 - side]].middle
        at.setdefault(pair[side], []).append((towards, pair))
    found = {}
    for node, pairs in at.items():
        box, step = boxes[node], min(16.0, 0.8 * boxes[node].width / len(pairs))
        for k, (_, pair) in enumerate(sorted(pairs)):
            found[pair] = box.middle + (k - (len(pairs) - 1) / 2) * step
    return found
