"""What ``np.asarray`` gives of a followed value, and of one that comes to be followed.

It is a copy: nobody may change a recorded value under its name.
"""

import numpy as np
import pytest

import arraytape as xp
from arraytape import ForwardAccumulator, GradientTape, Variable


def matrix():
    return xp.reshape(xp.arange(12.0), (3, 4)) + 0.0


def test_what_is_followed_is_copied():
    x = matrix()
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
        for a in (np.asarray(x), np.asarray(y), np.asarray(y[1:]), np.array(y)):
            assert a.base is None  # libraries write to what has none: it is a copy of their own
            a[...] = 9.0
        np.asarray(y[0, 1])[...] = 9.0  # a copy, too: a 0-d result is immutable in NumPy
    np.asarray(y)[...] = 9.0  # its name still counts
    was = np.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(np.asarray(x), was)
    np.testing.assert_array_equal(np.asarray(y), was**2)
    np.testing.assert_array_equal(np.asarray(tape.gradient(y, x)), 2.0 * was)


def test_a_copy_does_not_share_memory():
    x = matrix()
    with GradientTape() as tape:
        tape.watch(x)
        for part in (x, x[1:], x.T):
            assert not np.may_share_memory(np.asarray(part), x)


def test_a_variable_is_copied():
    v = Variable([1.0, 2.0])
    np.asarray(v)[0] = 5.0
    assert v.value()[0] == 1.0


def test_a_variables_memory_does_not_reach_its_snapshots():
    v = Variable([1.0, 2.0])
    a = np.asarray(v, copy=False)
    with GradientTape() as tape:
        y = xp.sum(v[:] * v[:] * v)
        a[...] = 5.0
    assert np.asarray(tape.gradient(y, v)).tolist() == [3.0, 12.0]


def watched(tape, x):
    tape.watch(x)


def view_watched(tape, x):
    tape.watch(x[1:])


@pytest.mark.parametrize("watch", [watched, view_watched])
def test_watching_takes_the_memory_back(watch):
    x = matrix()
    before = np.array(x)
    a = np.asarray(x)
    part = a[1:]
    with GradientTape() as tape:
        watch(tape, x)
        with pytest.raises(ValueError, match="read-only"):
            a[0, 0] = 100.0
        y = x[1:] * x[1:]
        part[...] = 100.0  # was made before: a copy now, as what is asked for from here on
        y = y + x[1:]
    np.testing.assert_array_equal(np.asarray(x), before)
    np.testing.assert_array_equal(np.asarray(y), before[1:] ** 2 + before[1:])
    if watch is watched:
        g = np.asarray(tape.gradient(y, x))
        np.testing.assert_array_equal(g[1:], 2.0 * before[1:] + 1.0)
        assert not g[0].any()


def test_watching_what_nobody_has_any_more_moves_nothing():
    x = matrix()
    np.asarray(x)[0] = 5.0
    data = x._data
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
    assert x._data is data
    np.testing.assert_array_equal(np.asarray(tape.gradient(y, x)), 2.0 * data)


def test_forward_mode_takes_the_memory_back():
    x = matrix()
    part = np.asarray(x)[1:]
    with ForwardAccumulator(x, xp.ones((3, 4))) as accumulator:
        y = x * x
        part[...] = 100.0
        y = y * x
    was = np.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(np.asarray(accumulator.jvp(y)), 3.0 * was**2)


WRITES = {
    "assignment": lambda out, x: out.__setitem__(slice(None), x),
    "sum": lambda out, x: out.__iadd__(x),
    "difference": lambda out, x: out.__isub__(-x),
    "product": lambda out, x: out.__imul__(x),
}


@pytest.mark.parametrize("place", [lambda out: out, lambda out: out[1:]], ids=["whole", "part"])
@pytest.mark.parametrize("write", WRITES)
def test_a_followed_value_that_is_written_takes_the_memory_back(write, place):
    x, out = xp.asarray([2.0, 3.0, 4.0, 5.0]), matrix()
    a = np.asarray(out)
    part = a[1:]
    with GradientTape() as tape:
        tape.watch(x)
        WRITES[write](place(out), x)
        value = np.array(out)
        np.testing.assert_array_equal(a, value)  # what was written is seen
        with pytest.raises(ValueError, match="read-only"):
            a[0] = 0.0
        part[...] = 100.0
        np.testing.assert_array_equal(np.asarray(out), value)
        y = xp.sum(out * out)
    was = np.arange(12.0).reshape(3, 4)
    slope = np.where(np.arange(3)[:, None] >= place(np.arange(3))[0], 2.0 * value, 0.0)
    slope = slope * was if write == "product" else slope
    np.testing.assert_array_equal(np.asarray(tape.gradient(y, x)), slope.sum(0))


def test_who_asked_for_the_memory_has_it_also_when_it_is_followed():
    """copy=False: there the user answers for what is written."""
    x = matrix()
    firm, loose = np.asarray(x, copy=False), np.asarray(x)
    with GradientTape() as tape:
        tape.watch(x)
        y = xp.sum(x * x)
        firm[...] = 1.0
        x[0, 0] = 5.0
        assert firm[0, 0] == 5.0
        with pytest.raises(ValueError, match="read-only"):
            loose[0] = 0.0
    was = np.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(np.asarray(tape.gradient(y, x)), 2.0 * was)


OTHERS = {
    "stop_gradient": lambda x: xp.stop_gradient(x),
    "astype": lambda x: xp.astype(x, x.dtype, copy=True),
    "real": xp.real,
    "positive": lambda x: +x,
    "to_device": lambda x: x.to_device("cpu") + 0.0,
    "where": lambda x: xp.where(x == x, x, 0.0),
    "clip": lambda x: xp.clip(x),
    "vmap": lambda x: xp.vmap(lambda row: row, out_axes=0)(x) + 0.0,
    "recompute_grad": lambda x: xp.recompute_grad(lambda x: x)(xp.stop_gradient(x)),
    "pass through": lambda x: xp.grad_pass_through(lambda x: x)(xp.stop_gradient(x)),
    "Variable": lambda x: xp.stop_gradient(Variable(x).value()),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_write_to_another_array_is_none_to_what_it_was_made_of(name):
    x = matrix()
    with GradientTape() as tape:
        tape.watch(x)
        y = xp.sum(x * x)
        other = xp.stop_gradient(OTHERS[name](x))
        np.asarray(other)[...] = 100.0
    was = np.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(np.asarray(x), was)
    np.testing.assert_array_equal(np.asarray(tape.gradient(y, x)), 2.0 * was)


def test_gradients_share_no_memory_with_anything():
    a, b, dy = matrix(), matrix(), matrix()
    with GradientTape(persistent=True) as tape:
        tape.watch([a, b])
        y = a + b
        z = xp.sum(a) + xp.sum(a * b)
    for target, cotangent in ((y, dy), (z, None)):
        first = tape.gradient(target, [a, b, a], output_gradients=cotangent)
        values = [np.array(g) for g in first]
        np.asarray(first[0])[...] = 100.0
        for g, value in zip(first[1:], values[1:], strict=True):
            np.testing.assert_array_equal(np.asarray(g), value)
        again = tape.gradient(target, [a, b, a], output_gradients=cotangent)
        for g, value in zip(again, values, strict=True):
            np.testing.assert_array_equal(np.asarray(g), value)
    np.testing.assert_array_equal(np.asarray(dy), np.asarray(a))


# --- under vmap ------------------------------------------------------------------------------------
def test_a_mapped_argument_does_not_see_foreign_writes():
    x, w = matrix(), xp.asarray(3.0)
    a = np.asarray(x)

    def f(row):
        y = row * w
        a[...] = 100.0
        return y + row

    with GradientTape() as tape:
        tape.watch(w)
        y = xp.vmap(f)(x)
    was = np.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(np.asarray(y), 4.0 * was)
    assert np.asarray(tape.gradient(y, w)) == was.sum()


def test_a_mapped_value_does_not_go_where_foreign_code_looks():
    out = xp.zeros(4)
    a = np.asarray(out)

    def f(row):
        out[:] = row
        return out * 2.0

    with pytest.raises(ValueError, match=r"vmap: .* shares its memory with code outside"):
        xp.vmap(f)(matrix())
    assert not a.any()
    del a
    assert np.array(xp.vmap(f)(matrix())).shape == (3, 4)
