"""Nestings: dataclasses stand wherever lists, tuples and dicts of Arrays do."""

import copy
import enum
import functools
import pickle
from dataclasses import dataclass, field, fields, make_dataclass

import numpy as np
import pytest
from hypothesis import given, settings

import arraytape as xp
from arraytape import GradientTape, Variable
from arraytape._util import nest
from arraytape.module import Module
from helpers.drawn_arrays import FEW
from helpers.nestings import (
    MAKERS,
    NESTINGS,
    Bag,
    Checked,
    Derived,
    FrozenSlotted,
    Line,
    Point,
    Unhashable,
    check_of_line,
    of_line,
    tree_of,
    two,
    values,
)

pytestmark = pytest.mark.any_storage


@pytest.fixture(params=MAKERS)
def line(request):
    return MAKERS[request.param]()


def test_gradients_of_a_dataclass_come_in_one(line, near):
    with GradientTape() as tape:
        tape.watch(line)
        y = of_line(line)
    check_of_line(tape.gradient(y, line), line, near)
    check_of_line(xp.grad(of_line)(line), line, near)


def test_static_fields_stay_as_they_are():
    line = Derived(two(), two(), {"a": [1]})
    assert xp.grad(of_line)(line).tags is line.tags
    assert xp.grad(of_line)(FrozenSlotted(slope=two(), offset=two(), degree=3)).degree == 3


def test_what_it_does_not_depend_on_is_none_and_no_constructor_objects():
    line = Checked(two(), two())
    with GradientTape(persistent=True) as tape:
        tape.watch(line)
        y = xp.sum(line.offset)
        z = line.offset * 1.0
    found = tape.gradient(y, line)
    assert found.slope is None
    assert values(found.offset) == [1.0, 1.0]
    assert values(tape.gradient(y, line, unconnected_gradients="zero").slope) == [0.0, 0.0]
    assert tape.jacobian(z, line).slope is None


def test_fields_that_are_not_set_are_not_there():
    line = object.__new__(Unhashable)
    line.slope = two()
    g = xp.grad(lambda line: xp.sum(line.slope))(line)
    assert values(g.slope) == [1.0, 1.0]
    assert not hasattr(g, "offset")


def test_what_was_computed_of_other_values_is_not_taken_over(near):
    @dataclass
    class Cached:
        w: xp.Array

        def __post_init__(self):
            self.total = xp.sum(self.w)

        @functools.cached_property
        def squares(self):
            return xp.sum(self.w * self.w)

    start = Cached(two())
    assert float(start.squares) == 5.0
    near(xp.grad(lambda c: c.squares)(start).w, [2.0, 4.0])
    with pytest.raises(AttributeError, match="total"):
        xp.grad(lambda c: c.total)(start)


def test_a_leaf_that_is_no_array_is_named_with_a_way_out():
    @dataclass
    class Named:
        w: xp.Array
        name: str

    given = {"first": [Named(two(), "n")]}
    says = (
        r"str 'n' at 'first.0.name' \(to leave out a field of Named, .*metadata=\{'static': True\}"
    )
    with GradientTape() as tape, pytest.raises(TypeError, match=rf"watch.*{says}"):
        tape.watch(given)
    with pytest.raises(TypeError, match=rf"every source must be an Array, got {says}"):
        tape.gradient(two(), given)
    with pytest.raises(TypeError, match=rf"grad: the argument 0 must be .*got {says}"):
        xp.grad(lambda given: given["first"][0].w)(given)
    with GradientTape(), pytest.raises(TypeError, match=rf"the result must be .*got {says}"):
        xp.recompute_grad(lambda x: given)(two())
    with GradientTape() as tape:
        with pytest.raises(TypeError, match=r"got float 3.0 at 'a.1'; convert"):
            tape.watch({"a": [two(), 3.0]})
        with pytest.raises(TypeError, match=r"got float 3.0; convert"):
            tape.watch(3.0)


def test_what_is_an_array_a_module_or_a_class_is_not_taken_apart():
    @dataclass
    class Typed:
        w: xp.Array
        dtype: object

    class Quantity:
        dtype = np.dtype(float)

    @dataclass(eq=False)
    class Layer(Module):
        w: Variable

    quantity = make_dataclass("Held", ["w"], bases=(Quantity,))(two())
    layer = Layer(Variable(1.0))
    for leaf in (
        Typed(two(), None),
        quantity,
        layer,
        Variable(1.0),
        two(),
        Line,
        Layer,
        "ab",
        b"ab",
    ):
        assert nest.leaves([leaf])[0] is leaf
        assert nest.parts_of_nesting(leaf) is None
    assert list(layer.named_variables()) == ["w"]


def test_a_dataclass_without_arrays_is_handed_on_itself():
    @dataclass
    class Log:
        calls: int = 0
        inner: Line = field(default_factory=lambda: Line(None, None))

    class Mode(Line, enum.Enum):
        FIRST = (1.0, 2.0)

    log, seen = Log(), []

    def f(x, log, mode):
        log.calls += 1
        seen.append(mode)
        return x * mode.slope, lambda dy: dy

    x = two()
    with GradientTape() as tape:
        tape.watch(x)
        y = xp.custom_gradient(f)(x, log, Mode.FIRST)
    assert values(tape.gradient(y, x)) == [1.0, 1.0]
    xp.vmap(lambda x, log: f(x, log, Mode.FIRST)[0], (0, None))(x, log)
    assert log.calls == 2
    assert seen == [Mode.FIRST] * 2


def test_a_dataclass_of_a_builtin_class_is_taken_apart_but_has_to_be_registered_for_gradients():
    @dataclass
    class Failure(Exception):
        w: xp.Array

    failure = Failure(two())
    with GradientTape() as tape:
        tape.watch(failure)
        y = xp.sum(failure.w)
    with pytest.raises(TypeError, match=r"register_nesting\(.*Failure, .*dataclass .*Failure"):
        tape.gradient(y, failure)
    xp.register_nesting(Failure, lambda f: ([f.w], None), lambda _, parts: Failure(*parts))
    assert values(xp.grad(lambda f: xp.sum(f.w))(failure).w) == [1.0, 1.0]


def test_a_dataclass_that_is_a_mapping_or_a_list_is_that():
    @dataclass
    class Output(dict):
        w: xp.Array

        def __post_init__(self):
            self["w"] = self.w

    output = Output(two())
    g = xp.grad(lambda output: xp.sum(output["w"] ** 2))(output)
    assert type(g) is Output
    assert values(g["w"]) == [2.0, 4.0]


def test_gradients_can_be_copied_and_pickled(line):
    g = xp.grad(of_line)(line)
    for other in (copy.copy(g), copy.deepcopy(g), pickle.loads(pickle.dumps(g))):
        assert type(other) is type(line)
        assert values(other.slope) == values(g.slope)
    names = {f.name for f in fields(g)}
    assert {"slope", "offset"} <= names


# --- one nesting beside another ---------------------------------------------------------------------
def test_output_gradients_go_by_the_names_of_fields(near):
    line = Line(two(), two())
    swapped = make_dataclass("Swapped", ["offset", "slope"])(xp.asarray([1.0, 1.0]), two(5.0))
    for weights in (
        Line(two(5.0), xp.asarray([1.0, 1.0])),
        swapped,
        {"offset": xp.asarray([1.0, 1.0]), "slope": two(5.0)},
    ):
        with GradientTape() as tape:
            tape.watch(line)
            y = Line(line.slope * 2.0, line.offset * 3.0)
        g = tape.gradient(y, line, output_gradients=weights)
        near(g.slope, [10.0, 12.0])
        near(g.offset, [3.0, 3.0])


@pytest.mark.parametrize(
    ("target", "weights", "says"),
    [
        (
            Line(two(), two()),
            {"slope": two()},
            r"a Line with keys \['offset', 'slope'\] is needed, got",
        ),
        (Line(two(), two()), [two(), two()], "a Line with keys .* is needed, got list"),
        (Line(two(), two()), two(), "a Line with keys .* is needed, got Array"),
        (Line(two(), two()), Point(1.0, 2.0), r".* is needed, got \['x', 'y'\]"),
        (two(), Line(two(), two()), "1 is needed for one target, got a Line of 2"),
        ([two(), two()], Line(two(), two()), "2 are needed, one for each target; got Line"),
        (Bag(two(), two()), Bag(two()), "2 are needed, one for each target; got 1"),
    ],
)
def test_output_gradients_in_another_nesting_are_said(target, weights, says):
    with GradientTape() as tape:
        tape.watch(target)
    with pytest.raises(ValueError, match=f"output_gradients: {says}"):
        tape.gradient(target, target, output_gradients=weights)


def test_a_nesting_that_holds_itself_is_said():
    line, bag = Line(two(), None), Bag(two())
    line.offset = [line]
    bag.parts = (bag,)
    for loop in (line, bag, {"deep": [line]}):
        with GradientTape() as tape:
            with pytest.raises(ValueError, match=f"holds itself.* a {type(loop).__name__} of"):
                tape.watch(loop)
            tape.watch(x := two())
            y = x * x
        for call in (lambda: tape.gradient(loop, x), lambda: tape.gradient(y, loop)):  # noqa: B023
            with pytest.raises(ValueError, match="holds itself"):
                call()


# --- any nesting ------------------------------------------------------------------------------------
MANY = settings(FEW, max_examples=100)


@MANY
@given(NESTINGS)
def test_any_nesting_survives_being_taken_apart(structure):
    found = nest.leaves(structure)
    assert all(isinstance(leaf, int) for leaf in found)
    packed = nest.pack_nesting(structure, list(range(100, 100 + len(found))))
    assert tree_of(packed) == tree_of(structure)
    assert nest.leaves(packed) == list(range(100, 100 + len(found)))
    assert nest.leaves_like(structure, packed, "it") == nest.leaves(packed)
    paths = [path for path, _, _ in nest.located(structure)]
    assert len({*paths}) == len(paths) == len(found)
    again = nest.pack_nesting(packed, found)
    assert nest.leaves(again) == found
    for other in (copy.deepcopy(packed), pickle.loads(pickle.dumps(packed))):
        assert tree_of(other) == tree_of(structure)
        assert nest.leaves(other) == nest.leaves(packed)


def weighted(arrays):
    """A value that treats each array in its own way, and leaves out each fourth."""
    parts = [xp.sum(xp.sin(x) * (i + 1.0)) for i, x in enumerate(arrays) if i % 4 != 3]
    return sum(parts[1:], parts[0]) * parts[-1] if parts else xp.zeros(())


@MANY
@given(NESTINGS)
def test_any_nesting_goes_through_vmap(structure):
    flat = [np.full((2, n), float(i)) for i, n in enumerate(nest.leaves(structure))]
    given = nest.pack_nesting(structure, [xp.asarray(x) for x in flat])
    if not flat:
        return
    found = xp.vmap(lambda part: nest.pack_nesting(part, [2.0 * x for x in nest.leaves(part)]))(
        given
    )
    assert tree_of(found) == tree_of(structure)
    for y, x in zip(nest.leaves(found), flat, strict=True):
        assert values(y) == (2.0 * x).tolist()


@MANY
@given(NESTINGS)
def test_gradients_of_any_nesting_are_those_of_its_leaves(structure):
    numbers = [np.linspace(i, i + 1.0, n) for i, n in enumerate(nest.leaves(structure))]
    flat = [xp.asarray(x) for x in numbers]
    with GradientTape() as tape:
        tape.watch(flat)
        y = weighted(flat)
    expected = tape.gradient(y, flat)

    def check(found):
        assert tree_of(found) == tree_of(structure)
        for g, wanted in zip(nest.leaves(found), expected, strict=True):
            assert (g is None) == (wanted is None)
            assert g is None or values(g) == values(wanted)

    arrays = nest.pack_nesting(structure, [xp.asarray(x) for x in numbers])
    with GradientTape(persistent=True) as tape:
        tape.watch(arrays)
        y = weighted(nest.leaves(arrays))
        again = xp.recompute_grad(lambda arrays: weighted(nest.leaves(arrays)))(arrays)
    check(tape.gradient(y, arrays))
    check(tape.gradient(again, arrays))
    if flat:
        full = xp.grad(lambda arrays: weighted(nest.leaves(arrays)))(arrays)
        assert tree_of(full) == tree_of(structure)
        for g, wanted, x in zip(nest.leaves(full), expected, flat, strict=True):
            assert values(g) == values(xp.zeros_like(x) if wanted is None else wanted)
