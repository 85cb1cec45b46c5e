"""Dead branches of a tape that watches large arrays are dropped while it records, and nothing else."""

import gc
import weakref

import numpy as np
import pytest

import arraytape as xp
from arraytape import GradientTape
from arraytape._tape import buffers, dead_records, recording
from helpers.peaks import peak_of

MB = 1 << 20


@pytest.fixture
def eager_to_sweep(monkeypatch):
    """Each array is large, and each record brings a look at the new ones."""
    monkeypatch.setattr(buffers, "LARGE", 0)
    monkeypatch.setattr(recording, "LARGE", 0)
    monkeypatch.setattr(dead_records, "YOUNG", 0)
    found = {"gone": 0}
    alive_from = dead_records.alive_from

    def counted(start, records, known):
        alive = alive_from(start, records, known)
        found["gone"] += len(records) - start - len(alive)
        return alive

    monkeypatch.setattr(dead_records, "alive_from", counted)
    return found


def count(tape):
    return len(tape._recording.records)


# --- what goes ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "dead",
    [
        xp.exp,
        lambda x: xp.sin(xp.exp(x) * x),
        lambda x: xp.sum(xp.exp(x)),
        lambda x: xp.exp(x)[1:] * 2.0,
    ],
    ids=["one op", "a branch", "a sum", "a view"],
)
def test_dead_results_of_one_megabyte_leave_the_peak_where_it_is(dead):
    x = xp.asarray(np.linspace(0.1, 1.0, MB // 8))

    def run():
        with GradientTape() as tape:
            tape.watch(x)
            y = xp.sum(xp.tanh(x))
            for _ in range(150):
                dead(x)
        return tape.gradient(y, x)

    run()
    assert peak_of(run) < 48 * MB


@pytest.mark.slow
def test_ten_thousand_dead_results_leave_the_peak_under_64_megabytes():
    x = xp.asarray(np.linspace(0.1, 1.0, MB // 8))

    def run():
        with GradientTape() as tape:
            tape.watch(x)
            y = xp.sum(xp.tanh(x))
            for _ in range(10_000):
                xp.sqrt(x)
        return tape.gradient(y, x)

    assert peak_of(run) < 64 * MB


def test_what_died_late_goes_too(eager_to_sweep):
    x = xp.asarray([1.0, 2.0])
    with GradientTape() as tape:
        tape.watch(x)
        held = xp.exp(xp.exp(x))
        y = x * 2.0
        assert count(tape) == 3
        del held
        for _ in range(20):
            xp.sin(x)
        assert count(tape) < 5
    np.testing.assert_array_equal(tape.gradient(y, x).to_numpy(), [2.0, 2.0])


# --- what stays ---------------------------------------------------------------------------------------
def test_what_a_handle_reaches_stays(eager_to_sweep):
    x = xp.asarray([1.0, 2.0])
    with GradientTape() as tape:
        tape.watch(x)
        y = xp.exp(x)
        for _ in range(5):
            y = y * x
            xp.cos(y)
        view = (x * 3.0)[:1]
        root = xp.zeros((2,))
        root[0] = x[1] * 5.0
        z = xp.sum(y) + xp.sum(root)
    assert eager_to_sweep["gone"] >= 3
    expected = np.exp([1.0, 2.0]) * (np.array([1.0, 2.0]) ** 5 + 5 * np.array([1.0, 2.0]) ** 4)
    np.testing.assert_allclose(tape.gradient(z, x).to_numpy(), expected + np.array([0.0, 5.0]))
    del view


def test_a_view_that_is_read_later_is_there(eager_to_sweep):
    x = xp.asarray([1.0, 2.0])
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        view = (x * 3.0)[1:]
        for _ in range(5):
            xp.sin(x)
    np.testing.assert_array_equal(tape.gradient(view, x).to_numpy(), [0.0, 3.0])


def test_a_tape_around_another_one_keeps_what_the_inner_one_needs(eager_to_sweep):
    x = xp.asarray([1.0, 2.0])
    with GradientTape() as outer:
        outer.watch(x)
        with GradientTape() as inner:
            inner.watch(x)
            y = xp.sum(xp.exp(x) * x)
            for _ in range(5):
                xp.sin(x)
        g = inner.gradient(y, x)
        for _ in range(5):
            xp.cos(g)
    expected = np.exp([1.0, 2.0]) * (np.array([1.0, 2.0]) + 2.0)
    np.testing.assert_allclose(outer.gradient(g, x).to_numpy(), expected)


def test_variables_accumulators_and_intermediate_sources_are_as_ever(eager_to_sweep):
    v = xp.Variable([1.0, 2.0])
    with (
        xp.ForwardAccumulator(v, xp.asarray([1.0, 0.0])) as forward,
        GradientTape(persistent=True) as tape,
    ):
        middle = xp.exp(v)
        for _ in range(5):
            xp.sin(v)
        y = middle * v
    np.testing.assert_allclose(forward.jvp(y).to_numpy(), [2 * np.e, 0.0])
    by_v, by_middle = tape.gradient(y, [v, middle])
    np.testing.assert_allclose(by_v.to_numpy(), np.exp([1.0, 2.0]) * [2.0, 3.0])
    np.testing.assert_allclose(by_middle.to_numpy(), [1.0, 2.0])


def test_a_tape_watched_halfway_is_as_ever(eager_to_sweep):
    x = xp.asarray([1.0, 2.0, 3.0])
    with GradientTape() as tape:
        tape.watch(x)
        y = x * 2.0
        xp.sin(y[1:])
        part = y[:2]
        xp.cos(part)
        tape.watch(part)
        z = xp.sum(part * part) + xp.sum(y)
    np.testing.assert_array_equal(tape.gradient(z, part).to_numpy(), [5.0, 9.0])


@pytest.mark.slow
def test_random_programs_have_the_complex_steps_gradients(eager_to_sweep, programs):
    for seed in range(150):
        programs.replay(seed)
    assert eager_to_sweep["gone"] > 500


# --- how ----------------------------------------------------------------------------------------------
def test_a_recording_that_looks_is_in_no_cycle(eager_to_sweep):
    gc.disable()
    try:
        x = xp.asarray([1.0, 2.0])
        with GradientTape() as tape:
            tape.watch(x)
            xp.sin(x)
        gone = weakref.ref(tape._recording)
        del tape
        assert gone() is None
    finally:
        gc.enable()


def test_tapes_of_small_arrays_record_by_a_lists_append():
    x, table = xp.asarray([1.0, 2.0]), xp.asarray(np.ones(MB))
    with GradientTape() as tape:
        tape.watch(x)
        recording = tape._recording
        assert recording.record == recording.records.append
        tape.watch(table)
        assert recording.record != recording.records.append
        for _ in range(dead_records.FIRST):
            table[0] * 2.0
        assert recording.record == recording.records.append


def test_an_interrupted_look_leaves_a_tape_that_works(eager_to_sweep, monkeypatch):
    x = xp.asarray([1.0, 2.0])
    with GradientTape() as tape:
        tape.watch(x)
        y = xp.exp(x)
        monkeypatch.setattr(dead_records, "YOUNG", 1 << 40)
        for _ in range(5):
            xp.sin(x)
        recording = tape._recording
        dead = recording.records[3]
        recording.records[3] = dead_records.GONE  # as an interruption may leave it
        assert "gone" in str(tape.summary())
        z = xp.sum(y * y)
    assert dead is not None
    np.testing.assert_allclose(tape.gradient(z, x).to_numpy(), 2 * np.exp([2.0, 4.0]))
