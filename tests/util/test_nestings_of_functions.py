"""Functions that take and give dataclasses and registered classes: derivatives, vmap, own rules."""

from dataclasses import dataclass

import numpy as np
import pytest

import arraytape as xp
from arraytape import GradientTape
from helpers.nestings import (
    Bag,
    Checked,
    Derived,
    Frozen,
    FrozenSlotted,
    Line,
    Point,
    check_of_line,
    of_line,
    two,
)

pytestmark = pytest.mark.any_storage


def test_functions_of_functions_take_and_give_dataclasses(near):
    start = FrozenSlotted(slope=two(), offset=two(3.0), degree=7)
    tangent = FrozenSlotted(slope=two(1.0), offset=two(0.0))

    def f(line):
        return Point(line.slope * line.offset, line.offset, line.degree)

    y, t = xp.jvp(f, (start,), (tangent,))
    assert (type(y), type(t), y.label, t.label) == (Point, Point, 7, 7)
    near(t.x, [3.0 + 0.0, 2.0 * 4.0 + 2.0 * 1.0])
    y, pull = xp.vjp(f, start)
    (g,) = pull(Point(two(1.0), two(0.0)))
    near(g.slope, [3.0, 8.0])
    near(g.offset, [1.0 + 0.0, 4.0 + 1.0])
    rows = xp.jacobian(f)(start)
    assert (type(rows), type(rows.x), rows.x.degree) == (Point, FrozenSlotted, 7)
    near(rows.x.slope, np.diag([3.0, 4.0]))
    second = xp.hessian(of_line)(start)
    near(second.slope.offset, np.diag([2.0, 4.0]))
    near(second.offset.offset, np.zeros((2, 2)))
    (product,) = xp.hvp(of_line, (start,), (tangent,))
    near(
        product.slope, 2 * np.array([3.0, 4.0]) * [1.0, 2.0] + 2 * np.array([1.0, 2.0]) * [0.0, 1.0]
    )
    value, (g, of_scale) = xp.value_and_grad(lambda p, s: of_line(p) * s, (0, 1))(
        start, two(2.0)[0]
    )
    near(of_scale, float(value) / 2.0)
    near(g.offset, [2.0, 8.0])


def test_forward_accumulators_take_primals_and_targets_in_dataclasses(near):
    line = Line(two(), two(3.0))
    with xp.ForwardAccumulator(line, {"offset": two(0.0), "slope": two(1.0)}) as accumulator:
        y = Bag(line.slope * line.offset, two())
    found = accumulator.jvp(y)
    assert type(found) is Bag
    near(found.parts[0], [3.0, 10.0])
    assert found.parts[1] is None


def test_a_jacobian_of_a_dataclass_is_refused_as_that_of_a_list_is():
    with GradientTape() as tape:
        tape.watch(x := two())
    with pytest.raises(TypeError, match="must be one Array, got a Line of 2"):
        tape.jacobian(Line(x, x), x)


@pytest.mark.parametrize(
    ("in_axes", "out_axes"),
    [
        ((Line(0, None),), 0),
        (({"offset": None, "slope": 1},), {"x": 1, "y": 0}),
        ((Line(-1, None),), Point.__new__(Point)),
    ],
)
def test_vmap_maps_the_fields(in_axes, out_axes, near):
    if isinstance(out_axes, Point):
        out_axes.__dict__.update(x=-1, y=0, label=None)
    slopes, offset = np.arange(6.0).reshape(2, 3), np.asarray([1.0, 2.0, 3.0])
    first = in_axes[0] == Line(0, None)
    given = Line(xp.asarray(slopes if first else slopes.T), xp.asarray(offset))
    y = xp.vmap(
        lambda line: Point(line.slope * line.offset, xp.sum(line.slope)), in_axes, out_axes
    )(given)
    near(y.x, slopes * offset if out_axes == 0 else (slopes * offset).T)
    near(y.y, slopes.sum(1))


def test_per_example_gradients_come_in_dataclasses(near):
    batch = Line(xp.asarray([[1.0, 2.0], [3.0, 4.0]]), xp.asarray([[1.0, 1.0], [2.0, 2.0]]))
    check_of_line(xp.vmap(xp.grad(of_line))(batch), batch, near)


def test_axes_in_another_nesting_are_said():
    with pytest.raises(ValueError, match=r"in_axes: a Line with keys .* got .*'slope'"):
        xp.vmap(of_line, ({"slope": 0},))(Line(two(), two()))


PULLS = {
    "dataclass": lambda ds, do: Frozen(ds, do),
    "dataclass with all its fields": lambda ds, do: Derived(ds, do, {"n": 3}),
    "dict": lambda ds, do: {"offset": do, "slope": ds},
    "flat": lambda ds, do: (ds, do),
    "list of it": lambda ds, do: [Frozen(ds, do)],
}


@pytest.mark.parametrize("pull", PULLS.values(), ids=PULLS)
def test_rules_of_ones_own_take_and_give_dataclasses(pull, near):
    @xp.custom_gradient
    def f(line):
        assert type(line) is Derived
        return Point(of_line(line), two()), lambda dx, dy: pull(dx * two(10.0), dx * two(20.0))

    line = Derived(two(), two(3.0))
    with GradientTape() as tape:
        tape.watch(line)
        y = f(line)
    assert type(y) is Point
    g = tape.gradient(y.x, line)
    near(g.slope, [10.0, 11.0])
    near(g.offset, [20.0, 21.0])


@dataclass
class Mixed:
    n: int
    w: xp.Array
    inner: Line | None = None


@pytest.mark.parametrize(
    ("found", "says"),
    [
        (lambda w, dy: Mixed(3, dy * w), None),
        (lambda w, dy: Mixed(None, dy * w, Line(None, 3)), None),
        (lambda w, dy: {"w": dy * w}, None),
        (lambda w, dy: Mixed(dy, dy * w), None),
        (
            lambda w, dy: Mixed(3, dy * w, Line(dy, None)),
            "keys .'w', 'inner'. .* are the keys .'w'.",
        ),
        (lambda w, dy: Line(dy, dy), r"got a Line with the keys \['slope', 'offset'\] where there"),
        (lambda w, dy: [[Mixed(3, dy * w)]], "got a Mixed with the keys .* is no dict"),
    ],
)
def test_gradients_of_fields_that_are_no_arrays_are_left_out(found, says, near):
    @xp.custom_gradient
    def f(mixed):
        return mixed.w * mixed.n, lambda dy: found(mixed.w, dy)

    w = two()
    with GradientTape() as tape:
        tape.watch(w)
        y = f(Mixed(3, w))
    if says is None:
        near(tape.gradient(y, w), [1.0, 2.0])
        return
    with pytest.raises(ValueError, match=says):
        tape.gradient(y, w)


def test_recomputation_takes_and_gives_dataclasses(near):
    runs = []

    @xp.recompute_grad
    def f(line, *, shift):
        runs.append(type(line))
        return Bag(of_line(line), line.slope + shift.offset)

    line, shift = Checked(two(), two(3.0)), Line(None, two())
    with GradientTape() as tape:
        tape.watch(line)
        y = f(line, shift=shift)
        z = xp.sum(y.parts[0])
    check_of_line(tape.gradient(z, line), line, near)
    assert runs == [Checked, Checked]


def test_host_functions_take_and_give_dataclasses(near):
    seen = []

    def f(line):
        seen.append((type(line.slope), line.degree))
        return Frozen(np.asarray(line.slope) * line.offset, line.offset)

    def pull(g, y, line):
        assert (type(g), type(y), type(line)) == (Frozen, Frozen, FrozenSlotted)
        offset = g.slope * line.slope + g.offset
        return FrozenSlotted(slope=g.slope * line.offset, offset=offset, degree=9)

    line = FrozenSlotted(slope=two(), offset=two(3.0), degree=2)
    with GradientTape() as tape:
        tape.watch(line)
        y = xp.host_function(f, pull)(line)
        assert type(y) is Frozen
        z = xp.sum(y.slope**2)
    g = tape.gradient(z, line)
    near(g.slope, 2.0 * np.asarray([1.0, 2.0]) * np.asarray([3.0, 4.0]) ** 2)
    near(g.offset, 2.0 * np.asarray([3.0, 4.0]) * np.asarray([1.0, 2.0]) ** 2)
    assert seen == [(np.ndarray, 2)]
    found = xp.numpy_function(lambda line: Bag(line.slope + 1.0), line)
    assert isinstance(found.parts[0], xp.Array)


def test_gradients_pass_through_and_stop_in_dataclasses(near):
    line = Line(two(), two(3.0))
    with GradientTape() as tape:
        tape.watch(line)
        through = xp.grad_pass_through(lambda p: Line(xp.round(p.slope), xp.round(p.offset)))(line)
        y = of_line(through) + of_line(xp.stop_gradient(line))
    assert type(through) is Line
    check_of_line(tape.gradient(y, line), line, near)
