"""What a tape watches: arrays, nestings, views; when and how often."""

from collections import namedtuple

import numpy as np
import pytest

import arraytape as xp
from arraytape import GradientTape, TapeWarning

pytestmark = pytest.mark.any_storage

Pair = namedtuple("Pair", "first second")


@pytest.fixture
def x():
    return xp.asarray(3.0)


def test_what_nobody_watches_has_no_gradient(x):
    with GradientTape() as tape:
        y = x * x
    with pytest.warns(TapeWarning, match="gradient is None: Array float64.* is not on the tape"):
        assert tape.gradient(y, x) is None


def test_watch_takes_nested_lists_tuples_and_dicts(near):
    a, b, c, d = (xp.asarray(float(i)) for i in range(4))
    with GradientTape() as tape:
        tape.watch({"a": a, "rest": [b, (c, Pair(d, None))]})
        y = a + 2 * b + 3 * c + 4 * d
    for g, expected in zip(tape.gradient(y, [a, b, c, d]), (1, 2, 3, 4), strict=True):
        near(g, expected)


def test_watch_skips_none_leaves(x, near):
    with GradientTape() as tape:
        tape.watch([None, x, {"nothing": None}])
        tape.watch(None)
        tape.watch([])
        y = x * x
    near(tape.gradient(y, x), 6.0)


@pytest.mark.parametrize(
    ("given", "got"),
    [
        (lambda x: 3.0, r"float 3\.0"),
        (lambda x: np.ones(3), r"ndarray float64\(3,\)"),
        (lambda x: [x, "a"], "str 'a'"),
        (lambda x: {"a": (x, {"b": 2})}, "int 2"),
        (lambda x: [x, object], "object"),
        (lambda x: (part for part in [x]), "generator"),
        (lambda x: {1.0}, "set"),
    ],
    ids=["number", "NumPy", "str", "nested int", "class", "generator", "set"],
)
def test_watching_what_is_no_array_says_what_it_is_and_watches_nothing(given, got, x):
    with GradientTape() as tape:
        with pytest.raises(TypeError, match=rf"watch\(\) takes Arrays, got {got}"):
            tape.watch(given(x))
        y = x * x
    with pytest.warns(TapeWarning, match="gradient is None: Array float64.* is not on the tape"):
        assert tape.gradient(y, x) is None


def test_watching_twice_counts_once(x, near):
    with GradientTape() as tape:
        tape.watch(x)
        tape.watch([x, x])
        y = x * x
        tape.watch(x)
    near(tape.gradient(y, x), 6.0)


@pytest.mark.filterwarnings("ignore:gradient is None")
def test_watching_does_not_reach_back(x):
    with GradientTape() as tape:
        y = x * x
        tape.watch(x)
    assert tape.gradient(y, x) is None


def test_ops_after_the_watch_count_and_those_before_do_not(x, near):
    with GradientTape() as tape:
        before = x * x
        tape.watch(x)
        y = before * x
    near(tape.gradient(y, x), 9.0)


def test_watching_an_intermediate_keeps_its_history(x, near):
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
        tape.watch(y)
        z = y * y
    dx, dy = tape.gradient(z, [x, y])
    near(dx, 108.0)
    near(dy, 18.0)


@pytest.mark.parametrize("dtype", ["int64", "uint8", "bool"])
def test_watching_integers_warns_and_names_the_dtype(dtype):
    n = xp.asarray([1, 0], dtype=getattr(xp, dtype))
    with GradientTape() as tape, pytest.warns(TapeWarning, match=dtype) as found:
        tape.watch(n)
    assert found[0].filename == __file__


def test_an_integer_source_gives_none_with_a_warning():
    n = xp.asarray(10)
    with GradientTape() as tape:
        with pytest.warns(TapeWarning, match="int64"):
            tape.watch(n)
        y = n * n
    with pytest.warns(TapeWarning, match="int64"):
        assert tape.gradient(y, n) is None


def test_an_integer_that_is_target_and_source_gives_none():
    n = xp.asarray(10)
    with GradientTape() as tape:
        pass
    with pytest.warns(TapeWarning, match="int64"):
        assert tape.gradient(n, n) is None


def test_integers_beside_floats_do_not_keep_these_from_being_watched(x, near):
    n = xp.asarray(2)
    with GradientTape() as tape:
        with pytest.warns(TapeWarning, match="int64"):
            tape.watch([n, x])
        y = x * xp.astype(n, xp.float64)
    near(tape.gradient(y, x), 2.0)


def test_a_watched_view_counts_what_is_read_through_its_root(near):
    x = xp.asarray([1.0, 2.0, 3.0])
    part = x[:2]
    with GradientTape() as tape:
        tape.watch(part)
        y = xp.sum(x * x) + part[0]
    near(tape.gradient(y, part), [3.0, 4.0])


def test_a_view_made_before_its_root_is_watched_is_followed(near):
    x = xp.asarray([1.0, 2.0, 3.0])
    part = x[1:]
    with GradientTape() as tape:
        tape.watch(x)
        y = xp.sum(part * part)
    near(tape.gradient(y, x), [0.0, 4.0, 6.0])


def test_watching_a_view_twice_counts_once(near):
    part = xp.asarray([1.0, 2.0, 3.0])[:2]
    with GradientTape() as tape:
        tape.watch(part)
        y = part * part
        tape.watch(part)
    near(tape.gradient(y, part), [2.0, 4.0])


def test_a_second_tape_that_watches_a_view_takes_nothing_from_the_first(near):
    part = xp.asarray([1.0, 2.0, 3.0])[:2]
    with GradientTape() as first:
        first.watch(part)
        with GradientTape() as second:
            second.watch(part)
            y = part * part
        near(second.gradient(y, part), [2.0, 4.0])
    near(first.gradient(y, part), [2.0, 4.0])


@pytest.mark.filterwarnings("ignore:gradient is None")
@pytest.mark.parametrize("watched", ["real", "imag"])
@pytest.mark.parametrize("read", ["real", "imag"])
def test_a_part_of_complex_data_that_is_watched_counts_what_other_views_of_it_do_from_then_on(
    read, watched
):
    z = xp.asarray([1.0 + 2.0j, 3.0 - 1.0j])
    with xp.GradientTape(persistent=True) as tape:
        tape.watch(z)
        root = z * 1.0
        part = getattr(root, read)
        before = xp.sum(part * part)
        leaf = getattr(root, watched)[...]
        tape.watch(leaf)
        after = xp.sum(3.0 * part + part * part)
    assert tape.gradient(before, leaf) is None
    slopes = 3.0 + 2.0 * np.asarray(part) if read == watched else [0.0, 0.0]
    np.testing.assert_array_equal(tape.gradient(after, leaf), slopes)
