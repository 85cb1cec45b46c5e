"""tape.summary(): records, bytes and times by op, by line, by Module."""

import inspect

import numpy as np
import pytest

import arraytape as xp
from arraytape import nn
from arraytape._define import compile as compiled


def here():
    return inspect.currentframe().f_back.f_lineno


def rows(summary):
    return {row.name: row for row in summary.rows}


def program(tape, x):
    tape.watch(x)
    y = xp.exp(x)
    z = xp.exp(y) * y
    return xp.sum(z)


def test_by_op_records_and_bytes_are_counted_each_buffer_once():
    x = xp.asarray(np.ones(100))
    with xp.GradientTape(persistent=True) as tape:
        program(tape, x)
    found = tape.summary()
    assert {name: (row.records, row.kept) for name, row in rows(found).items()} == {
        "exp": (2, 1600),  # each its result
        "multiply": (1, 0),  # these two again
        "sum": (1, 0),
    }
    assert found.total[:3] == ("all", 4, 1600)
    assert found.rows[0].name == "exp"
    assert all(row.forward is None and row.backward is None for row in found.rows)
    assert "4 records keeping 1.6 kB" in repr(tape)


def test_with_a_profile_lines_and_times_are_there_also_after_the_gradient():
    x = xp.asarray(np.ones(100))
    with xp.GradientTape(profile=True) as tape:
        tape.watch(x)
        y = xp.exp(x)
        line = here() - 1
        y = xp.sum(y * y)
    tape.gradient(y, x)
    found = tape.summary(by="line")
    assert [row.name.rpartition(":")[2] for row in found.rows].count(str(line)) == 1
    assert found.total.records == 3
    assert found.total.forward > 0
    assert found.total.backward > 0
    assert all(row.backward > 0 for row in found.rows)


def test_backward_times_add_up_over_passes():
    x = xp.asarray(np.ones(10))
    with xp.GradientTape(persistent=True, profile=True) as tape:
        y = program(tape, x)
    assert tape.summary().total.backward == 0
    tape.gradient(y, x)
    once = tape.summary().total.backward
    tape.gradient(y, x)
    assert tape.summary().total.backward > once > 0


@pytest.mark.parametrize("f", [lambda x: xp.where(x > 0, xp.sqrt(x), 0.0), lambda x: x * 1j * x])
def test_a_profiled_gradient_is_that_of_any_tape(f):
    x = xp.asarray([0.0, 4.0])

    def gradient(**options):
        with xp.GradientTape(**options) as tape:
            tape.watch(x)
            y = f(x)
        return np.asarray(tape.gradient(y, x))

    np.testing.assert_array_equal(gradient(profile=True), gradient())


def test_a_second_derivative_of_profiled_tapes():
    x = xp.asarray([0.5, 1.0])
    with xp.GradientTape(profile=True) as outer:
        outer.watch(x)
        with xp.GradientTape(profile=True) as inner:
            inner.watch(x)
            y = xp.sum(x**3)
        g = inner.gradient(y, x)
    np.testing.assert_allclose(np.asarray(outer.gradient(g, x)), [3.0, 6.0])
    assert outer.summary().total.records > inner.summary().total.records


def test_a_profiled_jacobian():
    x = xp.asarray([0.5, 1.0])
    with xp.GradientTape(profile=True) as tape:
        tape.watch(x)
        y = x * x
    np.testing.assert_allclose(np.asarray(tape.jacobian(y, x)), [[1.0, 0.0], [0.0, 2.0]])


class Net(xp.Module):
    def __init__(self):
        super().__init__("net")
        self.layers = [nn.Dense(4), nn.Dense(1)]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def test_by_module_the_names_are_the_attributes_that_hold_them_or_the_file():
    net = Net()
    with xp.GradientTape(profile=True) as tape:
        xp.mean(net(xp.ones((5, 3))))
    found = rows(tape.summary(by="module"))
    assert found.keys() == {"net / layers[0]", "net / layers[1]", __file__}
    assert found["net / layers[0]"].records == 2


def test_reset_and_entering_again_start_afresh():
    x = xp.asarray(np.ones(10))
    tape = xp.GradientTape(profile=True)
    with tape:
        program(tape, x)
        tape.reset()
        tape.watch(x)
        y = xp.exp(x)
    assert tape.summary().total.records == 1
    tape.gradient(y, x)
    with tape:
        program(tape, x)
    assert tape.summary().total.records == 4


def test_the_text_has_aligned_columns():
    x = xp.asarray(np.ones(10))
    with xp.GradientTape(profile=True) as tape:
        program(tape, x)
    lines = str(tape.summary()).splitlines()
    assert lines[0].split() == ["op", "records", "kept", "forward", "backward"]
    assert len({len(line) for line in lines}) == 1
    assert lines[-1].startswith("all ")
    assert repr(tape.summary()).startswith("op ")


def test_an_empty_tape_has_an_empty_table():
    with xp.GradientTape() as tape:
        pass
    assert tape.summary().rows == []
    assert "all" in str(tape.summary())


def test_errors():
    x = xp.asarray(1.0)
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    with pytest.raises(ValueError, match="by must be one of op, line, module, got 'file'"):
        tape.summary(by="file")
    with pytest.raises(
        RuntimeError, match=r"summary\(by='line'\) needs .* GradientTape\(profile=True\)"
    ):
        tape.summary(by="line")
    tape.gradient(y, x)
    with pytest.raises(RuntimeError, match="can only be used to compute one set"):
        tape.summary()
    with pytest.raises(TypeError, match="profile must be True or False"):
        xp.GradientTape(profile=1)


def test_without_a_profile_a_record_needs_no_frame():
    with xp.GradientTape() as tape:
        assert tape._recording.record == tape._recording.records.append
    assert compiled  # the compiled ops are those of any tape
