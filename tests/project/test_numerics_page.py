"""docs/explanation/numerics.md: each row of its tables is run."""

import pytest

from peers.libraries import Ours
from status import numerics

ROWS = numerics.rows()


def test_the_page_has_rows_on_every_subject():
    assert len(ROWS) >= 60


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.code} at {row.point}")
def test_a_row_has_the_derivative_that_stands_there(row):
    assert numerics.derivative(Ours(), row) == row.found[0], "run make pages"


@pytest.mark.parametrize(("name", "column"), [("torch", 1), ("jax", 2)])
def test_the_other_columns_are_what_the_peers_say(name, column):
    pytest.importorskip(name)
    peer = numerics.PEERS[name]()
    found = [(row.code, numerics.derivative(peer, row)) for row in ROWS]
    assert found == [(row.code, row.found[column]) for row in ROWS]


def test_a_line_that_is_no_row_is_left_alone():
    assert numerics.row_of("| function | at | arraytape | PyTorch | JAX |") is None
    line = "| `xp.abs(x)` | `x = 0.0` | `0.0` | `0.0` | `1.0` |"
    assert str(numerics.row_of(line)) == line
