"""The picture of a tape: boxes do not overlap, edges end at boxes, and it says what was recorded."""

import random
import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import numpy as np
import pytest
import sklearn
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

import arraytape as xp
from arraytape import diagnose, nn
from arraytape.diagnose.folding import WAYS
from arraytape.diagnose.layout import lay_out_graph
from arraytape.diagnose.layouts import layouts_of

SVG = "{http://www.w3.org/2000/svg}"
FORMATS = ("svg", "html", "dot", "mermaid")


def random_graph(seed):
    """Sizes and edges; every third one has cycles, every fourth is large."""
    draw = random.Random(seed)
    count = draw.randint(1, 120 if seed % 4 == 0 else 25)
    sizes = [(draw.uniform(40, 300), draw.uniform(25, 80)) for _ in range(count)]
    edges = []
    for end in range(1, count):
        for _ in range(draw.randint(0, 3)):
            start = draw.randrange(end)
            edges.append((start, end) if seed % 3 or draw.random() < 0.8 else (end, start))
    return sizes, edges


def overlap(a, b):
    return a.x < b.x + b.width and b.x < a.x + a.width and a.y < b.bottom and b.y < a.bottom


@pytest.mark.parametrize("seed", range(60))
def test_no_two_boxes_overlap_and_every_line_ends_at_its_boxes(seed):
    sizes, edges = random_graph(seed)
    found = lay_out_graph(sizes, edges)
    assert [(box.width, box.height) for box in found.boxes] == sizes
    for i, a in enumerate(found.boxes):
        assert not any(overlap(a, b) for b in found.boxes[:i])
        assert a.x >= 0
        assert a.y >= 0
        assert a.x + a.width <= found.width
        assert a.bottom <= found.height
    assert found.lines.keys() == set(edges)
    for (start, end), points in found.lines.items():
        for (x, y), box in ((points[0], found.boxes[start]), (points[-1], found.boxes[end])):
            assert box.x <= x <= box.x + box.width
            assert y in (box.y, box.bottom)


@pytest.mark.parametrize("seed", range(60))
def test_a_line_goes_through_no_other_box(seed):
    sizes, edges = random_graph(seed)
    found = lay_out_graph(sizes, edges)
    for points in found.lines.values():
        for (x, y), (a, b) in pairwise(points):
            if abs(x - a) < 1e-9:  # it passes a layer; bends lie between layers
                low, high = sorted((y, b))
                for box in found.boxes:
                    beside = not box.x < x < box.x + box.width
                    assert beside or box.bottom <= low + 1e-9 or box.y >= high - 1e-9


def test_edges_point_down_but_for_those_that_close_a_cycle():
    found = lay_out_graph([(50, 30)] * 4, [(0, 1), (1, 2), (2, 1), (2, 3)])
    assert found.turned == {(2, 1)}
    assert all(a.bottom < b.y for a, b in pairwise(found.boxes))


def test_an_empty_graph_has_a_layout():
    assert lay_out_graph([], []).boxes == []


@pytest.fixture
def taped():
    x, w = xp.asarray([0.5, 1.0]), xp.asarray(2.0)
    with xp.GradientTape(persistent=True) as tape:
        tape.watch([x, w])
        y = xp.sum(xp.exp(x) * w)
    return tape, y, x, w


def texts(svg):
    root = ET.fromstring(svg)
    return [
        [text.text for text in group.iter(f"{SVG}text")]
        for group in root.iter(f"{SVG}g")
        if (group.get("class") or "").startswith("node ")
    ]


def boxes(svg):
    return {lines[0]: lines[1:] for lines in texts(svg)}


def test_a_box_says_op_shape_dtype_and_bytes(taped):
    tape, y, x, w = taped
    found = boxes(diagnose.graph(tape, y, [x, w]))
    assert found == {
        "x": ["float64(2,)"],
        "w": ["float64()"],
        "exp": ["float64(2,) · keeps 16 bytes"],
        "multiply": ["float64(2,) · keeps 8 bytes"],
        "y = sum": ["float64()"],
    }


def test_keys_of_a_dict_are_the_names(taped):
    tape, y, x, w = taped
    found = boxes(diagnose.graph(tape, {"loss": y}, {"input": x, "factor": w}))
    assert {"input", "factor", "loss = sum"} <= set(found)


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_is_text_with_each_value(taped, format):
    tape, y, _, _ = taped
    found = diagnose.graph(tape, y, format=format, title="A <title> & more")
    for word in ("exp", "multiply", "sum", "float64(2,)"):
        assert word in found


def test_svg_and_html_load_nothing(taped):
    tape, y, _, _ = taped
    for format in ("svg", "html"):
        found = diagnose.graph(tape, y, format=format).replace("http://www.w3.org/2000/svg", "")
        assert "http" not in found
        assert "src=" not in found
        assert "@import" not in found


def test_names_and_titles_are_escaped():
    x = xp.Variable([1.0], name='<b> & "c"')
    with xp.GradientTape() as tape:
        y = x * 2.0
    root = ET.fromstring(diagnose.graph(tape, y, title="<&>"))
    assert any(text.text == '<b> & "c"' for text in root.iter(f"{SVG}text"))
    assert '\\"c\\"' in diagnose.graph(tape, y, format="dot")
    assert "#lt;b#gt;" in diagnose.graph(tape, y, format="mermaid")


def test_the_tape_is_as_before(taped):
    tape, y, _, w = taped
    before = len(tape._recording.records)
    diagnose.graph(tape, y)
    assert len(tape._recording.records) == before
    assert tape.gradient(y, w) is not None


def classes(svg):
    root = ET.fromstring(svg)
    nodes = [
        g.get("class").split() for g in root.iter(f"{SVG}g") if g.get("id", "").startswith("n")
    ]
    edges = [p.get("class").split() for p in root.iter(f"{SVG}path") if p.get("data-from")]
    return nodes, edges


def test_the_path_from_the_source_is_emphasised(taped):
    tape, y, x, _ = taped
    nodes, edges = classes(diagnose.graph(tape, y, x))
    assert [kind for kind in nodes if kind[1:] == ["source", "on"]] == [["node", "source", "on"]]
    assert sum("on" in kind for kind in edges) == 3  # x, exp, multiply, sum
    assert len(edges) == 4  # and w


def test_what_left_the_tape_is_red_with_its_line():
    x = xp.asarray([0.5, 1.0])
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.asarray(np.asarray(xp.exp(x))) * 3.0
    svg = diagnose.graph(tape, y, x)
    found = boxes(svg)
    assert re.fullmatch(
        r"diagnose/test_graph\.py:\d+ \(np\.asarray\(\)\)", found["value left the tape"][0]
    )
    assert "no path from x to the target: its gradient is None" in svg
    nodes, edges = classes(svg)
    assert ["node", "left", "off"] in nodes
    assert ["e", "cut"] in edges


def test_an_exit_of_the_target_is_no_cut():
    x = xp.asarray(0.5)
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.exp(x)
        float(y)
    assert "value left" not in diagnose.graph(tape, y, x)


def test_a_target_that_is_not_on_the_tape_is_red():
    x = xp.asarray(0.5)
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.asarray(float(x)) * 2.0
    svg = diagnose.graph(tape, y, x)
    assert boxes(svg)["y is not on this tape"] == ["float64()"]
    assert "no path from x" in svg


def test_an_op_without_a_rule_is_red():
    op = xp.define_op("test_graph_no_rule", lambda x: x * 2.0)
    x = xp.asarray(0.5)
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = op(x)
    nodes, edges = classes(diagnose.graph(tape, y, x))
    assert any("missing" in kind for kind in nodes)
    assert ["e", "cut"] in edges


def test_a_chain_of_elementwise_ops_is_one_box():
    x = xp.asarray([0.5, 1.0])
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.sum(xp.tanh(xp.exp(x) + 1.0))
    assert "exp, add, tanh" in boxes(diagnose.graph(tape, y))
    assert {"exp", "add", "tanh"} <= set(boxes(diagnose.graph(tape, y, fold="none")))


def test_a_long_tape_is_folded_and_says_so():
    x = xp.asarray([0.5])
    for profile, by in ((False, "op"), (True, "line")):
        with xp.GradientTape(profile=profile) as tape:
            tape.watch(x)
            y = x
            for _ in range(300):
                y = xp.sin(y)
                y = xp.sum(y, axis=0, keepdims=True)
        svg = diagnose.graph(tape, y)
        assert f"600 records, folded by {by}" in svg
        assert len(texts(svg)) == 3
        assert any("round" in kind for kind in classes(svg)[1])


class Net(xp.Module):
    def __init__(self):
        super().__init__("net")
        self.first, self.second = nn.Dense(4, activation="relu"), nn.Dense(1)

    def __call__(self, x):
        return self.second(self.first(x))


def test_modules_are_boxes_by_the_attributes_that_hold_them():
    net, x = Net(), xp.ones((5, 3))
    with xp.GradientTape(profile=True) as tape:
        loss = xp.mean(net(x) ** 2)
    found = boxes(diagnose.graph(tape, loss, fold="scope"))
    assert {"net / first", "net / second"} <= set(found)


def test_functions_are_boxes():
    def twice(x):
        return x + x * 1.0

    x = xp.asarray([0.5])
    with xp.GradientTape(profile=True) as tape:
        tape.watch(x)
        y = xp.exp(twice(x))
    found = boxes(diagnose.graph(tape, y, fold="scope"))
    assert any(title.endswith("twice") for title in found)


def test_functions_of_libraries_are_boxes():
    X = xp.asarray(np.random.default_rng(0).normal(size=(6, 2)))
    with (
        sklearn.config_context(array_api_dispatch=True),
        np.errstate(invalid="ignore"),
        xp.GradientTape(profile=True) as tape,
    ):
        tape.watch(X)
        scaled = StandardScaler().fit_transform(X)
        y = xp.sum(Ridge(solver="svd").fit(scaled, X[:, 0]).predict(scaled))
    found = boxes(diagnose.graph(tape, y, {"X": X}, fold="scope"))
    assert {"StandardScaler.fit_transform", "Ridge.fit", "Ridge.predict"} <= {*found}


def test_ops_have_a_bar_in_the_colour_of_their_function():
    net, x = Net(), xp.ones((5, 3))
    with xp.GradientTape(profile=True) as tape:
        loss = xp.mean(net(x) ** 2)
    svg = diagnose.graph(tape, loss)
    legend = [text.text for text in ET.fromstring(svg).iter(f"{SVG}text") if text.get("x") == "32"]
    assert legend[:2] == ["net / first", "net / second"]
    assert svg.count('width="4"') == len(
        [title for title, *_ in texts(svg) if "dense" not in title]
    )
    assert 'width="4"' not in diagnose.graph(tape, loss, fold="scope")


def test_writes_views_and_calls_have_names():
    x = xp.asarray([0.5, 1.0, 2.0])
    f = xp.recompute_grad(lambda x: xp.exp(x) * x)
    with xp.GradientTape() as tape:
        tape.watch(x)
        z = xp.zeros(3)
        z[:2] = x[1:]
        z += f(x)
        y = xp.sum(z)
    found = " ".join(boxes(diagnose.graph(tape, y, fold="none")))
    for name in ("write", "view [1:]", "add in place", "recompute_grad"):
        assert name in found


def test_shapes_that_records_do_not_keep_follow_from_others():
    x = xp.asarray(np.ones((3, 4)))
    with xp.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = xp.sum(xp.matrix_transpose(x)[1:] + 1.0, axis=0)
        z = xp.sum(y * 2.0)
    records = tape._recording.records
    found = layouts_of(records, {x._value_id: (x.shape, x._data.dtype)})
    assert found[y._value_id] == ((3,), np.dtype("float64"))
    assert found[z._value_id] == ((), np.dtype("float64"))


def test_a_view_that_is_watched_late_comes_from_what_was_before():
    x = xp.asarray([0.5, 1.0])
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.exp(x)
        part = y[1:]
        tape.watch(part)
        z = xp.sum(part)
    svg = diagnose.graph(tape, z, fold="none")
    assert {"x", "part", "exp", "watched from here", "view [1:]", "z = sum"} == set(boxes(svg))
    _, edges = classes(svg)
    assert len(edges) == 5  # x, exp, watched; part, watched; watched, view, sum
    assert "no path" not in svg


def test_several_targets_and_a_target_that_is_a_source(taped):
    tape, y, x, w = taped
    assert {"y = sum", "x", "w"} <= set(boxes(diagnose.graph(tape, [y, x], [x, w])))


@pytest.mark.parametrize("seed", range(24))
def test_any_program_can_be_drawn(programs, seed):
    fold, profile = WAYS[seed % len(WAYS)], seed % 4 > 1
    program, space = programs.Program(seed), programs.ArrayTapeSpace()
    env, inputs = program.begin(space)
    with xp.GradientTape(persistent=True, profile=profile) as tape, np.errstate(all="ignore"):
        tape.watch(inputs)
        program.run(space, env)
        y = programs.total(program, space, env)
    nodes, edges = classes(diagnose.graph(tape, y, inputs, fold=fold))
    assert [kind[1] in ("target", "missing") for kind in nodes].count(True) == 1
    assert len(edges) >= len([kind for kind in nodes if kind[1] == "op"]) / 2
    assert tape.summary().total.records == len(tape._recording.records)


def test_errors(taped):
    tape, y, x, _ = taped
    with pytest.raises(TypeError, match="takes a GradientTape, got float"):
        diagnose.graph(1.0, y)
    with pytest.raises(TypeError, match="target"):
        diagnose.graph(tape, 1.0)
    with pytest.raises(ValueError, match="format must be one of dot, mermaid, svg, html"):
        diagnose.graph(tape, y, x, "png")
    with pytest.raises(ValueError, match="fold must be one of auto"):
        diagnose.graph(tape, y, x, fold="all")
    with xp.GradientTape() as once:
        once.watch(x)
        z = x * 1.0
    once.gradient(z, x)
    with pytest.raises(RuntimeError, match="can only be used to compute one set"):
        diagnose.graph(once, z)
