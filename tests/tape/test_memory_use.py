"""tape.memory(): what a tape keeps by op, and what of it others keep, too."""

import numpy as np
import pytest

import arraytape as xp


def rows(use):
    return {row.name: row[1:] for row in use.rows}


def test_it_counts_records_bytes_and_what_is_shared():
    x = xp.asarray(np.ones(100))
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.exp(x) * xp.exp(x)
        z = xp.tanh(y) * x
    assert rows(tape.memory()) == {
        "exp": (2, 1600, 0),
        "tanh": (1, 800, 0),
        "multiply": (2, 800, 800),  # x; the others again
    }
    assert tape.memory().total == ("all", 5, 3200, 800)
    held = xp.exp(x)
    assert rows(tape.memory())["exp"] == (2, 1600, 0)
    del held
    assert tape.gradient(z, x) is not None


def test_a_result_that_the_program_holds_is_shared_until_it_goes():
    x = xp.asarray(np.ones(100))
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.exp(x)
    assert tape.memory().total == ("all", 1, 800, 800)
    del y
    assert tape.memory().total == ("all", 1, 800, 0)


def test_a_view_counts_as_its_buffer_and_is_shared_with_those_who_hold_that():
    x, w = xp.asarray(np.ones(400)), xp.asarray(np.ones(200))
    with xp.GradientTape() as tape:
        tape.watch(w)
        y = x[::2] * w
    assert tape.memory().total == ("all", 1, 3200, 3200)
    del x
    assert tape.memory().total == ("all", 1, 3200, 0)
    assert tape.gradient(y, w).shape == (200,)


def test_two_records_that_keep_one_array_share_it_with_nobody():
    x = xp.asarray(np.ones(100))
    with xp.GradientTape() as tape:
        tape.watch(x)
        c = xp.asarray(np.full(100, 2.0))
        y = (x * c) * c
        del c
    assert tape.memory().total == ("all", 2, 800, 0)
    del y


def test_it_prints_a_table():
    x = xp.asarray(np.ones(100))
    with xp.GradientTape() as tape:
        tape.watch(x)
        xp.exp(x)
    assert str(tape.memory()).splitlines() == [
        "op   records       kept   shared",
        "exp        1  800 bytes  0 bytes",
        "all        1  800 bytes  0 bytes",
    ]
    assert repr(tape.memory()) == str(tape.memory())


def test_a_tape_that_was_used_up_or_never_entered_says_so():
    x = xp.asarray(1.0)
    with pytest.raises(RuntimeError, match="never recorded"):
        xp.GradientTape().memory()
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    assert tape.memory().total.records == 1
    tape.gradient(y, x)
    with pytest.raises(RuntimeError, match="one set of gradients"):
        tape.memory()


def test_it_changes_nothing():
    x = xp.asarray(np.ones(100))
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.sum(xp.exp(x[10:]))
        before = list(tape._recording.records)
        tape.memory()
    assert tape._recording.records == before
    assert float(tape.gradient(y, x)[50]) == np.e
