"""docs/explanation/numerics.md: each row of its tables is run."""

import pytest

import conventions
from peers.libraries import Ours

ROWS = conventions.rows()


def test_the_page_has_rows_on_every_subject():
    assert len(ROWS) >= 60


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.code} at {row.point}")
def test_a_row_has_the_derivative_that_stands_there(row):
    assert conventions.derivative(Ours(), row) == row.found[0], "run python tools/conventions.py"


@pytest.mark.parametrize(("name", "column"), [("torch", 1), ("jax", 2)])
def test_the_other_columns_are_what_the_peers_say(name, column):
    pytest.importorskip(name)
    peer = conventions.PEERS[name]()
    found = [(row.code, conventions.derivative(peer, row)) for row in ROWS]
    assert found == [(row.code, row.found[column]) for row in ROWS]


def test_a_line_that_is_no_row_is_left_alone():
    assert conventions.row_of("| function | at | arraytape | PyTorch | JAX |") is None
    line = "| `xp.abs(x)` | `x = 0.0` | `0.0` | `0.0` | `1.0` |"
    assert str(conventions.row_of(line)) == line
