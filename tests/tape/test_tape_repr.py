"""What a tape says of itself: state, records, the bytes that they keep, what is watched."""

import threading

import numpy as np
import pytest

import arraytape as xp
from arraytape import GradientTape, Variable
from arraytape._tape.buffers import kept_bytes
from arraytape._tape.table_text import format_bytes
from arraytape.testing import storages

X = np.linspace(0.5, 2.0, 100)


def taped(f, persistent=False):
    x = xp.asarray(X)
    with GradientTape(persistent=persistent) as tape:
        tape.watch(x)
        y = f(x)
    return tape, x, y


# --- states -----------------------------------------------------------------------------------------
def test_the_states_of_a_one_shot_tape():
    x, tape = xp.asarray(X), GradientTape()
    assert repr(tape) == "<GradientTape: not entered>"
    with tape:
        assert repr(tape) == "<GradientTape: recording; no records; watches nothing>"
        tape.watch(x)
        y = xp.sum(xp.exp(x))
        assert repr(tape).startswith("<GradientTape: recording; 2 records keeping 800 bytes")
        with tape.stop_recording():
            assert repr(tape).startswith("<GradientTape: paused by stop_recording; 2 records")
        assert repr(tape).startswith("<GradientTape: recording; 2 records")
    assert repr(tape) == ("<GradientTape: stopped; 2 records keeping 800 bytes; watches 1 Array>")
    tape.gradient(y, x)
    assert repr(tape) == "<GradientTape: used up>"
    with tape:
        assert repr(tape) == "<GradientTape: recording; no records; watches nothing>"


def test_a_persistent_tape_says_so_and_is_not_used_up():
    tape, x, y = taped(xp.exp, persistent=True)
    before = repr(tape)
    assert before == (
        "<GradientTape: stopped, persistent; 1 record keeping 800 bytes; watches 1 Array>"
    )
    tape.gradient(y, x)
    assert repr(tape) == before
    tape.reset()
    assert repr(tape) == "<GradientTape: stopped, persistent; no records; watches nothing>"


def test_a_subclass_says_its_name():
    class Timed(GradientTape):
        pass

    assert repr(Timed()) == "<Timed: not entered>"


def test_variables_and_arrays_that_are_watched_are_told_apart():
    v, w, x = Variable(1.0), Variable(2.0), xp.asarray(3.0)
    with GradientTape() as tape:
        tape.watch(x)
        v * w * x
        assert repr(tape).endswith("watches 1 Array and 2 Variables>")
    with GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(w)
        v * w
        assert repr(tape).endswith("watches 1 Variable>")


def test_as_seen_from_another_thread():
    said = []
    with GradientTape() as tape:
        for work in (lambda: said.append(repr(tape)), lambda: inside(tape, said)):
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
    assert said == [
        "<GradientTape: recording elsewhere; no records; watches nothing>",
        "<GradientTape: recording; no records; watches nothing>",
    ]


def inside(tape, said):
    with tape.in_this_thread():
        said.append(repr(tape))


# --- bytes ------------------------------------------------------------------------------------------
def test_each_buffer_counts_once_and_a_view_counts_as_the_whole():
    x = xp.asarray(np.ones(1000))
    with GradientTape() as tape:
        tape.watch(x)
        xp.sin(x), xp.cos(x), x * x, xp.sin(x[:500])
        assert "keeping 8.0 kB" in repr(tape)
        xp.sin(x[:50])  # a part this small is kept by copy
        assert "keeping 8.4 kB" in repr(tape)


def test_what_records_share_with_other_tapes_counts_for_each():
    x = xp.asarray(X)
    with GradientTape() as outer, GradientTape() as inner:
        outer.watch(x)
        inner.watch(x)
        x * x
    assert "keeping 800 bytes" in repr(outer)
    assert "keeping 800 bytes" in repr(inner)


def test_index_arrays_and_sequences_count():
    tape, *_ = taped(lambda x: x[np.array([0, 1, 2])])
    assert "1 record keeping 24 bytes" in repr(tape)
    tape, *_ = taped(lambda x: xp.linalg.vector_norm(xp.stack([x, 2.0 * x])))
    assert "no records" not in repr(tape)


def test_what_a_rule_of_the_users_own_closes_over_is_not_known():
    @xp.custom_gradient
    def f(x):
        e = xp.exp(x)
        return e, lambda dy: dy * e

    tape, *_ = taped(f)
    assert "1 record keeping at least 0 bytes" in repr(tape)


@pytest.mark.parametrize("make", [storages.hostile, storages.frozen, storages.strict])
def test_of_other_storages_too(make):
    with storages.on(make()):
        tape, *_ = taped(lambda x: xp.sum(xp.exp(x)))
        assert "2 records keeping" in repr(tape)


def test_the_bytes_are_those_of_the_values_that_rules_ask_for():
    tape, *_ = taped(lambda x: xp.exp(xp.sin(x) * xp.cos(x)))
    kept, complete = kept_bytes(tape._recording.records)
    assert complete
    assert kept == 4 * 800  # x, sin(x), cos(x), and the result


@pytest.mark.parametrize(
    ("size", "said"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (999_949, "999.9 kB"),
        (999_950, "1.0 MB"),
        (2_500_000_000, "2.5 GB"),
        (5 * 10**12, "5000.0 GB"),
    ],
)
def test_sizes_in_words(size, said):
    assert format_bytes(size) == said


# --- it does nothing else ----------------------------------------------------------------------------
def test_repr_records_nothing_and_changes_no_gradient():
    x = xp.asarray(X)
    with GradientTape() as outer, GradientTape() as inner:
        outer.watch(x)
        inner.watch(x)
        y = xp.sum(x**3)
        count = len(outer._recording.records)
        repr(inner), str(outer), f"{inner}"
        assert len(outer._recording.records) == count
        g = inner.gradient(y, x)
        repr(inner)
    np.testing.assert_array_equal(np.asarray(outer.gradient(g, x)), 6.0 * X)


def test_repr_under_vmap_leaves_a_diagonal_as_it_is():
    tape, x, y = taped(lambda x: xp.exp(x), persistent=True)
    said = []

    def f(p):
        with GradientTape() as within:
            within.watch(p)
            z = xp.sum(p * p)
            said.append(repr(within))
        return within.gradient(z, p)

    rows = xp.vmap(f)(xp.stack([x, x]))
    np.testing.assert_allclose(np.asarray(rows), 2.0 * np.stack([X, X]))
    assert "2 records keeping 1.6 kB" in said[0]
    assert tape.jacobian(y, x).shape == (100, 100)


def test_repr_never_raises():
    assert repr(GradientTape.__new__(GradientTape)) == "<GradientTape: not initialized>"
    tape, *_ = taped(xp.exp)
    loop: list = []
    loop.append(loop)
    tape._recording.record((0, 0, loop, object(), {1: 2}))
    assert "2 records keeping at least 800 bytes" in repr(tape)


def test_repr_while_other_threads_record():
    x = xp.asarray(X)
    with GradientTape() as tape:
        tape.watch(x)

        def work():
            with tape.in_this_thread():
                for _ in range(500):
                    xp.sin(x)

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        said = [repr(tape) for _ in range(5)]
        for thread in threads:
            thread.join()
        said.append(repr(tape))
    assert all(one.startswith("<GradientTape: recording; ") for one in said)
    assert "1500 records keeping 800 bytes" in said[-1]
