"""Targets, sources and output gradients: what is asked for, and what comes back."""

from collections import OrderedDict, UserDict, defaultdict, namedtuple
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
import pytest

import arraytape as xp
from arraytape import GradientTape

pytestmark = pytest.mark.any_storage

Pair = namedtuple("Pair", "first second")


@pytest.fixture
def x():
    return xp.asarray(3.0)


# --- targets and sources --------------------------------------------------------------------------
def test_targets_are_summed(near, gradient):
    near(gradient(lambda x: {"y0": x**2, "y1": 1 / x}, 2.0), 3.75)
    near(gradient(lambda x: [x**2, (1 / x, {"z": 3 * x})], 2.0), 6.75)
    near(gradient(lambda x: Pair(x**2, 1 / x), 2.0), 3.75)


def test_sources_keep_their_nesting(near):
    x, w = xp.asarray(3.0), xp.asarray(2.0)
    with GradientTape() as tape:
        tape.watch([x, w])
        y = x * w
    g = tape.gradient(y, {"a": [x, (w,)], "b": x, "c": Pair(w, [])})
    assert list(g) == ["a", "b", "c"]
    assert type(g["a"]) is list
    assert type(g["a"][1]) is tuple
    assert type(g["c"]) is Pair
    assert g["c"].second == []
    near(g["a"][0], 2.0)
    near(g["a"][1][0], 3.0)
    near(g["b"], 2.0)
    near(g["c"].first, 3.0)


@pytest.mark.parametrize(
    "kind",
    [dict, OrderedDict, lambda items: defaultdict(list, items)],
    ids=["dict", "OrderedDict", "defaultdict"],
)
def test_sources_may_come_in_any_kind_of_dict(kind, x, near):
    with GradientTape() as tape:
        sources = kind({"x": x})
        tape.watch(sources)
        y = x * x
    g = tape.gradient(y, sources)
    assert list(g) == ["x"]
    near(g["x"], 6.0)


class Frozen(Mapping):
    """A mapping that can neither be written to nor be made of a dict."""

    def __init__(self, **parts):
        self.parts = parts

    def __getitem__(self, key):
        return self.parts[key]

    def __iter__(self):
        return iter(self.parts)

    def __len__(self):
        return len(self.parts)


class Two(tuple):
    """A tuple with a constructor of its own."""

    __slots__ = ()

    def __new__(cls, first, second):
        return super().__new__(cls, (first, second))


class Listed(list):
    """A list that counts for more."""

    def __init__(self, *parts):
        super().__init__(parts)


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda x: MappingProxyType({"x": x}), MappingProxyType),
        (lambda x: Frozen(x=x), dict),
        (lambda x: Two(x, x), Two),
        (lambda x: Listed(x, [x]), Listed),
        (lambda x: UserDict(x=x), UserDict),
    ],
    ids=["proxy", "frozen", "tuple", "list", "UserDict"],
)
def test_sources_may_come_in_containers_of_any_kind(make, kind, x, near):
    with GradientTape() as tape:
        sources = make(x)
        tape.watch(sources)
        y = x * x
    g = tape.gradient(y, sources)
    assert type(g) is kind
    near(g["x"] if isinstance(g, Mapping) else g[0], 6.0)


def test_a_nesting_that_holds_itself_is_said(x):
    loop = [x]
    loop.append({"again": loop})
    with GradientTape() as tape:
        with pytest.raises(ValueError, match="holds itself"):
            tape.watch(loop)
        y = x * x
    for call in (lambda: tape.gradient(loop, x), lambda: tape.gradient(y, loop)):
        with pytest.raises(ValueError, match="holds itself"):
            call()


def test_no_sources_give_no_gradients(x):
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
    assert tape.gradient(y, []) == []
    assert tape.gradient(y, ()) == ()
    assert tape.gradient(y, {}) == {}
    assert tape.gradient([], []) == []


def test_no_targets_leave_every_source_unconnected(x):
    with GradientTape() as tape:
        tape.watch(x)
    assert tape.gradient([], [x]) == [None]


def test_repeated_targets_add_up_and_repeated_sources_get_the_whole_gradient(x, near):
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
    for g in tape.gradient([y, y], [x, x]):
        near(g, 12.0)


def test_gradients_of_intermediate_results(x, near):
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
        z = y * y
    dx, dy = tape.gradient(z, [x, y])
    near(dx, 108.0)
    near(dy, 18.0)


def test_the_gradient_of_an_unwatched_intermediate_alone(x, near):
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
        z = y * y
    near(tape.gradient(z, y), 18.0)


def test_an_intermediate_that_is_used_twice_collects_both_uses(x, near):
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
        z = y * y + xp.exp(y) * 0.0 + 2 * y
    near(tape.gradient(z, y), 20.0)


@pytest.mark.filterwarnings("ignore:gradient is None")
def test_the_gradient_does_not_flow_from_an_earlier_value_to_a_later_one(x):
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
        z = y * y
    assert tape.gradient(y, z) is None


@pytest.mark.parametrize("watched", [True, False])
def test_a_target_that_is_its_own_source_contributes_one(watched, x, near):
    with GradientTape() as tape:
        if watched:
            tape.watch(x)
    near(tape.gradient(x, x), 1.0)


def test_a_source_among_the_targets_contributes_one(near, gradient):
    near(gradient(lambda x: [x, x * x], 2.0), 5.0)
    near(gradient(lambda x: [x, x], 2.0), 2.0)


def test_targets_that_are_sources_and_intermediates_at_once(near):
    x, y = xp.asarray(2.0), xp.asarray(5.0)
    with GradientTape() as tape:
        tape.watch([x, y])
        z = y * y
    dx, dy = tape.gradient([x, y, z], [x, y])
    near(dx, 1.0)
    near(dy, 11.0)


def test_an_intermediate_that_is_target_and_source_contributes_one(x, near):
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
        z = y * y
    dx, dy = tape.gradient([y, z], [x, y])
    near(dx, 6.0 + 108.0)
    near(dy, 1.0 + 18.0)


# --- output gradients -----------------------------------------------------------------------------
def test_output_gradients_weigh_the_elements_of_a_target(near, gradient):
    g = gradient(lambda x: x * x, [1.0, 2.0], output_gradients=xp.asarray([10.0, 100.0]))
    near(g, [20.0, 400.0])


def test_output_gradients_weigh_several_targets(near):
    x, y = xp.asarray(3.0), xp.asarray(2.0)
    with GradientTape() as tape:
        tape.watch([x, y])
        targets = [x * y, x]
    weights = [xp.asarray(1.0), xp.asarray(2.0)]
    dx, dy = tape.gradient(targets, [x, y], output_gradients=weights)
    near(dx, 4.0)
    near(dy, 3.0)


def test_output_gradients_may_be_raw_arrays_and_numbers(near, gradient):
    near(gradient(lambda x: x * x, [1.0, 2.0], output_gradients=np.asarray([10.0, 1.0])), [20, 4])
    near(gradient(lambda x: x * x, 3.0, output_gradients=10), 60.0)


def test_output_gradients_of_a_dict_go_by_key(near):
    x = xp.asarray(2.0)
    with GradientTape() as tape:
        tape.watch(x)
        targets = {"square": x * x, "triple": 3 * x}
    weights = {"triple": xp.asarray(100.0), "square": xp.asarray(1.0)}
    near(tape.gradient(targets, x, output_gradients=weights), 4.0 + 300.0)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (lambda: [xp.ones((2,)), xp.ones((3,))], r"\[1\] has shape \(3,\), .* shape \(2,\)"),
        (lambda: [xp.ones((2,)), xp.ones((2,))], r"\[1\] has dtype float64, .* complex128"),
        (lambda: [xp.ones((2,)), np.ones(2)], r"\[1\] has dtype float64, .* complex128"),
        (
            lambda: [xp.ones((2,)) * 1j, xp.ones((2,)) * 1j],
            r"\[0\] has dtype complex128, .* float64",
        ),
        (lambda: [xp.ones((2,), dtype=xp.int64), xp.ones((2,))], r"\[0\] has dtype int64"),
        (lambda: [xp.ones((2,), dtype=xp.bool), xp.ones((2,))], r"\[0\] has dtype bool"),
        (lambda: [xp.ones((1, 2)), xp.ones((2,)) * 1j], r"\[0\] has shape \(1, 2\)"),
        (lambda: [xp.ones((3,)), xp.ones((2,)) * 1j], r"\[0\] has shape \(3,\)"),
        (lambda: [xp.ones((2,))], "2 are needed, one for each target; got 1"),
        (lambda: [xp.ones((2,))] * 3, "2 are needed, one for each target; got 3"),
        (lambda: xp.ones((2,)), "2 are needed, one for each target; got Array"),
        (lambda: {"a": xp.ones((2,))}, "2 are needed, one for each target; got dict"),
        (lambda: [xp.ones((2,)), [xp.ones((2,))]], "1 is needed for one target, got a list of 1"),
    ],
)
def test_output_gradients_match_in_number_shape_and_kind_or_the_error_says_which_does_not(
    given, says, near
):
    x = xp.asarray([1.0, 2.0])
    with GradientTape() as tape:
        tape.watch(x)
        targets = [x * x, x * 1j]
    with pytest.raises(ValueError, match=says):
        tape.gradient(targets, x, output_gradients=given())
    weights = [xp.asarray([1.0, 10.0]), xp.asarray([2j, 0.0])]
    near(tape.gradient(targets, x, output_gradients=weights), [4.0, 40.0])


@pytest.mark.parametrize(
    "weight", [2.0, [2.0], [[1.0], [10.0]], [1.0, 2.0, 3.0], [[3.0, 2.0, 1.0]]]
)
def test_output_gradients_broadcast_to_the_target(weight, near):
    x = xp.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
    wanted = np.broadcast_to(np.asarray(weight), (2, 3)) * 2.0 * np.asarray(x.tolist())
    near(tape.gradient(y, x, output_gradients=weight), wanted)
    near(tape.gradient(y, x, output_gradients=xp.asarray(weight)), wanted)


def test_a_broadcast_output_gradient_stays_as_it_is_and_has_a_gradient(near):
    x, weight = xp.asarray([1.0, 2.0, 3.0]), xp.asarray([2.0])
    with GradientTape() as outer:
        outer.watch(weight)
        with GradientTape() as inner:
            inner.watch(x)
            y = (x * x, x)
        g = inner.gradient(y, x, output_gradients=(weight, weight))
    near(outer.gradient(g, weight), [15.0])
    near(weight, [2.0])


def test_an_output_gradient_broadcasts_for_each_example_of_vmap(near):
    def weighted_slopes(weight, x):
        with GradientTape() as tape:
            tape.watch(x)
            y = x * x
        return tape.gradient(y, x, output_gradients=weight)

    x, weights = xp.asarray([[1.0, 2.0], [3.0, 4.0]]), xp.asarray([1.0, 10.0])
    near(xp.vmap(weighted_slopes)(weights, x), [[2.0, 4.0], [60.0, 80.0]])
    near(xp.vmap(weighted_slopes, in_axes=(0, None))(weights, x[0]), [[2.0, 4.0], [20.0, 40.0]])
    near(xp.vmap(weighted_slopes, in_axes=(None, 0))(weights[1], x), [[20.0, 40.0], [60.0, 80.0]])


def test_output_gradients_of_another_precision_are_cast(near):
    x = xp.asarray([1.0, 2.0], dtype=xp.float32)
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
    g = tape.gradient(y, x, output_gradients=xp.asarray([10.0, 1.0]))
    assert g.dtype == xp.float32
    near(g, [20.0, 4.0])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_an_outer_tape_knows_the_output_gradients_that_it_watches(dtype, near):
    x, weights = xp.asarray([1.0, 2.0]), xp.asarray([1.0, 3.0], dtype=getattr(xp, dtype))
    with GradientTape() as outer:
        outer.watch(weights)
        with GradientTape() as tape:
            tape.watch(x)
            y = x**3
        g = tape.gradient(y, x, output_gradients=weights)
    found = outer.gradient(g, weights)
    assert found.dtype == weights.dtype
    near(found, [3.0, 12.0])


def test_zero_output_gradients_give_zeros_not_none(near, gradient):
    near(gradient(lambda x: x * x, [1.0, 2.0], output_gradients=xp.zeros((2,))), [0.0, 0.0])
