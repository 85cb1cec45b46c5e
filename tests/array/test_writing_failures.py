"""Writes that fail, into what is read-only and otherwise, change neither values nor tape."""

import numpy as np
import pytest

import arraytape as xp
from helpers.writing import check, sample


def bad_writes():
    yield "shape", ValueError, lambda x: x.__setitem__(slice(0, 2), xp.asarray([1.0, 2.0, 3.0]))
    yield "index", IndexError, lambda x: x.__setitem__(7, 1.0)
    yield "integers", IndexError, lambda x: x.__setitem__(xp.asarray([0, 7]), 1.0)
    yield "too many", IndexError, lambda x: x.__setitem__((0, 0, 0), 1.0)
    yield "mask", IndexError, lambda x: x.__setitem__(xp.asarray([True, False]), 1.0)
    yield "float key", IndexError, lambda x: x.__setitem__(1.5, 1.0)
    yield "text", TypeError, lambda x: x.__setitem__(0, "text")
    yield "+= shape", ValueError, lambda x: x.__iadd__(xp.asarray([1.0, 2.0]))
    yield "*= larger", ValueError, lambda x: x.__imul__(xp.ones((2, 3)))
    yield "+= complex", TypeError, lambda x: x.__iadd__(xp.asarray([1j, 1j, 1j]))
    yield "*= 1j", TypeError, lambda x: x.__imul__(1j)


FAILURES = list(bad_writes())


@pytest.mark.parametrize("of", [lambda x: x, lambda x: x[::-1]], ids=["root", "view"])
@pytest.mark.parametrize("watched", [True, False], ids=["followed", "unfollowed"])
@pytest.mark.parametrize(
    ("error", "write"), [f[1:] for f in FAILURES], ids=[f[0] for f in FAILURES]
)
@pytest.mark.filterwarnings("ignore:gradient is None")
def test_a_failed_write_leaves_values_and_tape_intact(error, write, watched, of):
    x, w = xp.asarray([1.0, 2.0, 3.0]), xp.asarray([2.0, 3.0, 4.0])
    with xp.GradientTape() as tape:
        tape.watch([x, w] if watched else [w])
        y = w * x
        with pytest.raises(error):
            write(of(x))
        assert np.asarray(x).tolist() == [1.0, 2.0, 3.0]
        z = xp.sum(y + x * x)
    gx, gw = tape.gradient(z, [x, w])
    assert np.asarray(gw).tolist() == [1.0, 2.0, 3.0]
    if watched:
        assert np.asarray(gx).tolist() == [4.0, 7.0, 10.0]


def test_integers_refuse_a_float_in_place():
    n = xp.asarray([1, 2, 3])
    for write in (lambda: n.__iadd__(1.5), lambda: n.__itruediv__(2)):
        with pytest.raises(TypeError):
            write()
    assert np.asarray(n).tolist() == [1, 2, 3]


def test_the_program_continues_after_a_failed_write():
    def program(space, x):
        h = x * x
        with pytest.raises(ValueError, match="broadcast"):
            h[0:2] = space.asarray([1.0, 2.0, 3.0])
        h[0:2] = x[1:]
        return h, space.sin(h)

    check(program, sample(3))


# --- read-only arrays ---------------------------------------------------------------------------
def frozen(*values):
    data = np.asarray(values)
    data.flags.writeable = False
    return data


def test_a_read_only_root_stays_read_only_after_it_was_kept():
    ro = xp.asarray(frozen(1.0, 2.0, 3.0), copy=False)
    w = xp.asarray([2.0, 3.0, 4.0])
    with xp.GradientTape() as tape:
        tape.watch(w)
        y = xp.sum(w * ro)
        with pytest.raises(ValueError, match="read-only"):
            ro[0] = 5.0
        with pytest.raises(ValueError, match="read-only"):
            ro += 1.0
        with pytest.raises(ValueError, match="read-only"):
            ro *= w
    assert np.asarray(ro).tolist() == [1.0, 2.0, 3.0]
    assert np.asarray(tape.gradient(y, w)).tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("key", [0, slice(1, None), ..., [0, 1]])
def test_writing_a_read_only_part_to_itself_raises(key):
    ro = xp.asarray(frozen(1.0, 2.0, 3.0), copy=False)
    b = xp.broadcast_to(xp.asarray([1.0, 2.0]), (3, 2))
    for x in (ro, ro[:], b):
        with pytest.raises(ValueError, match="read-only"):
            x[key] = x[key]


def test_a_broadcast_view_is_read_only_and_sees_writes_to_its_root():
    x = xp.asarray([1.0, 2.0])
    with xp.GradientTape() as tape:
        tape.watch(x)
        h = x * 1.0
        b = xp.broadcast_to(h, (3, 2))
        y = xp.sum(b * b)
        h[0] = h[1] * 2.0
        y = y + xp.sum(b * b)
        with pytest.raises(ValueError, match="read-only"):
            b[0] = 5.0
    assert np.asarray(b).tolist() == [[4.0, 2.0]] * 3
    assert np.asarray(tape.gradient(y, x)).tolist() == [6.0, 12.0 + 48.0 + 12.0]


def test_a_read_only_array_raises_before_anything_changes():
    source = frozen(1.0, 2.0, 3.0)
    ro = xp.asarray(source, copy=False)
    with xp.GradientTape() as tape:
        tape.watch(ro)
        y = xp.sum(ro * ro)
        for write in (lambda: ro.__setitem__(0, 5.0), lambda: ro.__iadd__(1.0)):
            with pytest.raises(ValueError, match="read-only"):
                write()
        z = y + xp.sum(ro)
    assert np.asarray(tape.gradient(z, ro)).tolist() == [3.0, 5.0, 7.0]
