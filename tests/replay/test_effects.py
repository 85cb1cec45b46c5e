"""What a replay writes, and what its results are by identity."""

import types
import warnings

import numpy as np
import pytest

import arraytape as xp
from arraytape import TapeWarning
from helpers.replaying import bits

CALLS = 5


def fresh(*values):
    return xp.asarray(np.array(values or (3.0, 5.0)))


def alike(f, *calls, replayed=None):
    """Compare f under ``xp.function`` with itself, results and arguments after each call."""
    g = xp.function(f)
    for make in calls:
        ours, theirs = make(), make()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TapeWarning)
            found = g(*ours)
        assert flat(found) == flat(f(*theirs))
        assert flat(ours) == flat(theirs)
    if replayed is not None:
        assert g.counts["replayed"] == replayed, (g.counts, g.reasons)
    return g


def flat(value):
    if isinstance(value, list | tuple):
        return [flat(part) for part in value]
    return bits(value) if isinstance(value, xp.Array) else value


# --- writes -------------------------------------------------------------------------------------------
def swapped(x, y):
    before = +x
    x[...] = y
    y[...] = before


def swapped_parts(x, y):
    before = xp.flip(x)
    x[...] = xp.flip(y)
    y[...] = before[::-1]


def turned(x, y, z):
    first = +x
    x[...], y[...], z[...] = y, z, first


@pytest.mark.parametrize("f", [swapped, swapped_parts])
def test_arguments_that_are_swapped(f):
    alike(f, *[lambda i=i: [fresh(1.0, i), fresh(4.0, 5.0)] for i in range(CALLS)], replayed=3)


def test_three_arguments_that_are_turned():
    calls = [lambda i=i: [fresh(1.0, i), fresh(4.0, 5.0), fresh(6.0, i)] for i in range(CALLS)]
    alike(turned, *calls, replayed=3)


def test_variables_that_are_swapped():
    def f(v, w):
        before = v.value()
        v.assign(w.value())
        w.assign(before)

    g = xp.function(f)
    v, w = xp.Variable(np.ones(2)), xp.Variable(np.zeros(2))
    for i in range(CALLS):
        g(v, w)
        assert (v.value().tolist()[0], w.value().tolist()[0]) == (
            (0.0, 1.0) if i % 2 == 0 else (1.0, 0.0)
        )
    assert g.counts["replayed"] == 3


# --- Variables ----------------------------------------------------------------------------------------
def slope(v, x):
    with xp.GradientTape() as tape:
        y = xp.sum(v * x) * len(v.name or "")
    return tape.gradient(y, v)


VARIABLES = [("w", True), ("w", True), ("w", True), ("w", False), ("kernel", True), ("w", True)]


@pytest.mark.filterwarnings("ignore:gradient is None. Variable:arraytape.TapeWarning")
def test_whether_tapes_watch_a_variable_and_its_name_belong_to_the_signature():
    def call(name, trainable):
        return lambda: [xp.Variable(np.ones(2), trainable=trainable, name=name), fresh()]

    alike(slope, *[call(*one) for one in VARIABLES], replayed=2)


@pytest.mark.filterwarnings("ignore:gradient is None. Variable:arraytape.TapeWarning")
def test_a_variable_that_is_closed_over_is_another_kind_of_one():
    held = types.SimpleNamespace(v=None)
    g = xp.function(lambda x: slope(held.v, x))
    for name, trainable in VARIABLES:
        held.v = xp.Variable(np.ones(2), trainable=trainable, name=name)
        assert flat(g(fresh())) == flat(g.eager(fresh()))
    assert g.counts["replayed"] == 2


# --- containers in results ----------------------------------------------------------------------------
KEPT = [1.0, 2.0]


def an_argument(parts):
    parts["w"] *= 2.0
    return parts


def an_argument_in_a_tuple(parts):
    parts["w"] *= 2.0
    return parts, parts["w"] + 1


def a_part_of_an_argument(parts):
    return parts["more"]


def what_it_found(parts):
    return KEPT, parts["w"] * 2


def one_list_twice(parts):
    one = [parts["w"] * 2]
    return one, {"again": one}


def patterns(value, arguments):
    """Which containers in a result are one, and which are arguments'."""
    known = {id(part): name for name, part in arguments.items()}
    found = []

    def walk(part):
        if isinstance(part, dict | list | tuple):
            if not isinstance(part, tuple):
                found.append(known.setdefault(id(part), len(known)))
            for inner in part.values() if isinstance(part, dict) else part:
                walk(inner)

    walk(value)
    return found


@pytest.mark.filterwarnings("ignore:function .*not replayed:arraytape.TapeWarning")
@pytest.mark.parametrize(
    ("f", "replayed"),
    [
        (an_argument, 3),
        (an_argument_in_a_tuple, 3),
        (a_part_of_an_argument, 0),
        (what_it_found, 0),
        (one_list_twice, 0),
    ],
)
def test_containers_in_results_are_the_ones_that_they_were(f, replayed):
    g = xp.function(f)
    for i in range(CALLS):
        ours, theirs = ({"w": fresh(i, 2.0), "more": [1.0]} for _ in "12")
        found, expected = g(ours), f(theirs)
        assert patterns(found, {"parts": ours, "more": ours["more"], "kept": KEPT}) == patterns(
            expected, {"parts": theirs, "more": theirs["more"], "kept": KEPT}
        )
        assert ours["w"].tolist() == theirs["w"].tolist()
    assert g.counts["replayed"] == replayed, g.reasons


def test_a_container_that_the_caller_changes_is_another_one_in_the_next_call():
    class Parts(dict):
        pass

    g = xp.function(lambda x: Parts(y=x * 2))
    for i in range(CALLS):
        found = g(fresh(i, 1.0))
        assert type(found) is Parts
        assert [*found] == ["y"]
        assert found["y"].tolist() == [2.0 * i, 2.0]
        found["more"] = 1.0
    assert g.counts["replayed"]  # copying enters a name in the class, which is a change


@pytest.mark.parametrize("key", [slice(None, None, -1), slice(None, 9), ...])
def test_data_that_is_written_to_itself(key):
    def f(x):
        y = x / 2.0
        z = y + y
        z[key] = z
        return z

    g = xp.function(f)
    for i in range(4):
        x = xp.asarray([1.0, 2.0, 3.0 + i])
        assert g(x).tolist() == f(x).tolist()
    assert g.counts == {"traced": 2, "replayed": 2, "eager": 0}


@pytest.mark.parametrize("op", [xp.tanh, xp.expm1])
def test_results_of_shape_nothing_are_no_views_for_writes(op):
    """Complex ones, too: as NumPy's scalars, of which an index makes new data."""

    def f(x):
        y = op(x)
        z = y[None]
        z[0] -= 1.0
        return y, z

    g = xp.function(f)
    for _ in range(3):
        x = xp.asarray(0.5 + 0.25j)
        assert [a.tolist() for a in g(x)] == [a.tolist() for a in f(x)]


def writes_a_diagonal_to_itself(x):
    diagonal = np.linalg.diagonal(np.multiply.outer(x, x))
    np.copyto(diagonal.view(), diagonal)  # read-only: of nothing that changes NumPy says nothing
    return diagonal


def writes_complex_numbers_nowhere(x):
    x[x > 5.0] = 1j * xp.ones(1)
    return 2 * x


@pytest.mark.parametrize("f", [writes_a_diagonal_to_itself, writes_complex_numbers_nowhere])
def test_writes_that_write_nothing_are_refused_neither_eagerly_nor_in_a_trace(f):
    g = xp.function(f)
    for call in range(4):
        x = np.asarray([1.0, 2.0, 3.0]) + call / 2
        assert g(xp.asarray(x)).tolist() == f(xp.asarray(x)).tolist()
    assert g.counts["replayed"] == 2, g.reasons


def test_a_write_of_complex_numbers_is_refused_once_it_writes_something():
    g = xp.function(writes_complex_numbers_nowhere)
    for _ in range(3):
        g(xp.asarray([1.0, 2.0]))
    with pytest.raises(TypeError, match="cannot be written into"):
        g(xp.asarray([1.0, 6.0]))


@pytest.mark.parametrize("value", [1j, np.complex128(1j), np.ones(1) * 1j])
@pytest.mark.parametrize("transform", [lambda f: f, xp.function, xp.vmap])
def test_python_and_numpy_numbers_that_are_complex_are_refused_by_name(value, transform):
    def f(x):
        x[:1] = value
        return x

    with pytest.raises(TypeError, match="cannot be written into Array float64"):
        transform(f)(xp.ones((2, 3)))
