"""Views as sources, as targets and across tapes."""

import numpy as np
import pytest

import arraytape as xp


def test_a_watched_view_has_a_gradient_of_its_own():
    base = xp.asarray([1.0, 2.0, 3.0])
    v = base[1:]
    with xp.GradientTape() as tape:
        tape.watch(v)
        y = xp.sum(v * v)
    assert np.asarray(tape.gradient(y, v)).tolist() == [4.0, 6.0]


def test_a_watched_view_counts_what_is_read_through_other_aliases():
    base = xp.asarray([1.0, 2.0, 3.0])
    v, other = base[1:], base[::-1]
    with xp.GradientTape() as tape:
        tape.watch(v)
        y = xp.sum(base * base) + xp.sum(other[:2] * xp.asarray([10.0, 20.0]))
    assert np.asarray(tape.gradient(y, v)).tolist() == [24.0, 16.0]


def test_the_gradient_of_a_watched_view_is_that_of_the_value_when_watched():
    base = xp.asarray([1.0, 2.0, 3.0])
    v = base[1:]
    with xp.GradientTape() as tape:
        tape.watch(v)
        y = xp.sum(v * v)
        v[0] = 7.0
        base *= 2.0
        y = y + xp.sum(v)
    assert np.asarray(v).tolist() == [14.0, 6.0]
    assert np.asarray(tape.gradient(y, v)).tolist() == [4.0, 8.0]


def test_two_watched_views_of_one_root_have_a_gradient_each():
    base = xp.asarray(np.arange(1.0, 7.0))
    a, b = base[:3], base[:2:-1]
    with xp.GradientTape() as tape:
        tape.watch([a, b])
        y = xp.sum(a * b) + xp.sum(base)
    ga, gb = tape.gradient(y, [a, b])
    assert np.asarray(ga).tolist() == [7.0, 6.0, 5.0]
    assert np.asarray(gb).tolist() == [2.0, 3.0, 4.0]


def test_watching_a_view_of_a_watched_root_cuts_nothing():
    x = xp.asarray([1.0, 2.0, 3.0])
    with xp.GradientTape() as tape:
        tape.watch(x)
        v = x[1:]
        tape.watch(v)
        y = xp.sum(v * v) + xp.sum(x)
    gx, gv = tape.gradient(y, [x, v])
    assert np.asarray(gx).tolist() == [1.0, 5.0, 7.0]
    assert np.asarray(gv).tolist() == [5.0, 7.0]


def test_watching_a_view_on_an_inner_tape_keeps_the_outer_one_connected():
    x = xp.asarray([1.0, 2.0, 3.0])
    with xp.GradientTape() as outer:
        outer.watch(x)
        v = x[1:]
        with xp.GradientTape() as inner:
            inner.watch(v)
            y = xp.sum(v * v * v)
        g = inner.gradient(y, v)
        z = xp.sum(g) + y
    assert np.asarray(g).tolist() == [12.0, 27.0]
    assert np.asarray(outer.gradient(z, x)).tolist() == [0.0, 24.0, 45.0]


def test_watching_a_view_twice_counts_once():
    x = xp.asarray([1.0, 2.0, 3.0])
    v = x[1:]
    with xp.GradientTape() as tape:
        tape.watch(v)
        y = xp.sum(v * v)
        tape.watch(v)
        z = y + xp.sum(v * 3.0)
    assert np.asarray(tape.gradient(z, v)).tolist() == [7.0, 9.0]


def test_watching_a_view_on_one_tape_does_not_disconnect_another():
    x = xp.asarray([1.0, 2.0, 3.0])
    first = xp.GradientTape()
    with first:
        first.watch(x)
    v = x[1:]
    with xp.GradientTape() as second:
        second.watch(v)
    with first:
        y = xp.sum(x * x)
    assert np.asarray(first.gradient(y, x)).tolist() == [2.0, 4.0, 6.0]


def test_a_watched_view_has_a_second_derivative():
    base = xp.asarray([1.0, 2.0, 3.0])
    v = base[::-2]
    with xp.GradientTape() as outer:
        outer.watch(v)
        with xp.GradientTape() as inner:
            inner.watch(v)
            y = xp.sum(v**3) + xp.sum(base**2)
        g = inner.gradient(y, v)
    assert np.asarray(g).tolist() == [33.0, 5.0]
    assert np.asarray(outer.gradient(g, v)).tolist() == [20.0, 8.0]


def test_a_source_that_was_written_to_means_the_value_when_watched():
    x = xp.asarray([1.0, 2.0])
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.sum(x * x)
        x[0] = 10.0
        x *= 3.0
        y = y + xp.sum(x)
    assert np.asarray(tape.gradient(y, x)).tolist() == [2.0, 7.0]


def test_an_intermediate_source_means_its_current_value():
    x = xp.asarray([1.0, 2.0])
    with xp.GradientTape() as tape:
        tape.watch(x)
        h = x * x
        before = xp.sum(h * 100.0)
        h[0] = x[1]
        y = before + xp.sum(h * h)
    assert np.asarray(tape.gradient(y, h)).tolist() == [4.0, 8.0]


# --- views that are read late, or on another tape ------------------------------------------------
def test_a_view_named_while_the_tape_was_left_is_read_on_the_tape():
    x = xp.asarray([1.0, 2.0, 3.0])
    tape = xp.GradientTape()
    with tape:
        tape.watch(x)
        v = x[1:]
    outside = v * 2.0
    with tape:
        y = xp.sum(v * v)
    assert np.asarray(outside).tolist() == [4.0, 6.0]
    assert np.asarray(tape.gradient(y, x)).tolist() == [0.0, 4.0, 6.0]


def test_a_view_named_on_one_tape_is_read_on_another():
    x = xp.asarray([1.0, 2.0, 3.0])
    first, second = xp.GradientTape(), xp.GradientTape()
    with first:
        first.watch(x)
        v = x[1:]
        y = xp.sum(v * v)
    with second:
        second.watch(x)
        z = xp.sum(v * 5.0)
    assert np.asarray(first.gradient(y, x)).tolist() == [0.0, 4.0, 6.0]
    assert np.asarray(second.gradient(z, x)).tolist() == [0.0, 5.0, 5.0]


def test_a_view_made_while_nothing_recorded_is_followed_later():
    x = xp.asarray([1.0, 2.0, 3.0])
    v = x[::-1][:2]
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.sum(v * v)
    assert np.asarray(tape.gradient(y, x)).tolist() == [0.0, 4.0, 6.0]


def test_a_view_that_nobody_read_can_be_a_target():
    x = xp.asarray([1.0, 2.0, 3.0])
    with xp.GradientTape() as tape:
        tape.watch(x)
        h = x * x
        v = h[0:2]
    assert np.asarray(tape.gradient(v, x)).tolist() == [2.0, 4.0, 0.0]


def test_a_view_that_nobody_read_can_be_a_source():
    x = xp.asarray([1.0, 2.0, 3.0])
    with xp.GradientTape() as tape:
        tape.watch(x)
        h = x * x
        v = h[0:2]
        y = xp.sum(v * v)
        unread = h[1:]
    g = tape.gradient(y, [v, unread, x])
    assert np.asarray(g[0]).tolist() == [2.0, 8.0]
    assert g[1] is None
    assert np.asarray(g[2]).tolist() == [4.0, 32.0, 0.0]


# --- writes outside of the tape ------------------------------------------------------------------
@pytest.mark.parametrize("alias", [lambda x: x, lambda x: x[::-1], lambda x: xp.reshape(x, (1, 3))])
def test_a_write_outside_of_the_tape_ends_the_following(alias):
    x = xp.asarray([1.0, 2.0, 3.0])
    tape = xp.GradientTape()
    with tape:
        tape.watch(x)
        y = xp.sum(x * x)
    alias(x)[...] = 5.0
    with tape:
        z = xp.sum(x * x)
        both = y + z
    assert float(z) == 75.0
    assert np.asarray(tape.gradient(both, x)).tolist() == [2.0, 4.0, 6.0]


@pytest.mark.filterwarnings("ignore:gradient is None")
def test_an_in_place_operator_outside_of_the_tape_ends_the_following():
    x = xp.asarray([1.0, 2.0, 3.0])
    v = x[1:]
    tape = xp.GradientTape()
    with tape:
        tape.watch(x)
    v *= 2.0
    x += 1.0
    with tape:
        y = xp.sum(x * x) + xp.sum(v)
    assert np.asarray(x).tolist() == [2.0, 5.0, 7.0]
    assert tape.gradient(y, x) is None
