"""What ``np.asarray(x)`` hands out of a value that nobody follows: x's own memory.

A write by NumPy or C code arrives in x, and changes no recorded value.
"""

import copy
import gc
import pickle
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import arraytape as xp
from arraytape import GradientTape
from arraytape._array.views import keep_data
from arraytape.testing import storages

LAYOUTS = {
    "itself": lambda x: x,
    "part": lambda x: x[1:, ::2],
    "backwards": lambda x: x[::-1],
    "transposed": lambda x: x.T,
    "reshaped": lambda x: x.reshape((2, 6)),
    "view of a view": lambda x: x[1:].T[:2],
    "one element": lambda x: x[1, 2, ...],
    "nothing": lambda x: x[:0],
}
BUFFERS = {
    "array": lambda a: a,
    "part": lambda a: a[1:],
    "part of a part": lambda a: a[1:][:, :1],
    "reshaped": lambda a: a.reshape(2, 6),
    "raveled": lambda a: a.ravel(),
    "transposed": lambda a: a.T,
    "cast to what it is": lambda a: a.astype(np.float64, copy=False),
    "memoryview": memoryview,
    "part of a memoryview": lambda a: memoryview(a)[1:],
    "frombuffer": np.frombuffer,
    "matrix": lambda a: a.view(np.matrix),
    "masked array": np.ma.asarray,
    "dlpack": np.from_dlpack,
    "iterator": np.nditer,
    "ctypes": lambda a: a.ctypes,
    "strided": lambda a: np.lib.stride_tricks.as_strided(a, (3,), (8,)),
}


def matrix():
    return xp.reshape(xp.arange(12.0), (3, 4)) + 0.0


def shares_with_records(x):
    """Whether a record would keep the memory of x itself."""
    return keep_data(x) is x._data


# --- a value that nobody follows -------------------------------------------------------------------
@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_foreign_code_writes_arrives(layout):
    x, plain = matrix(), np.arange(12.0).reshape(3, 4)
    a, b = np.asarray(LAYOUTS[layout](x)), LAYOUTS[layout](plain)
    assert (a.shape, a.strides, a.dtype) == (b.shape, b.strides, b.dtype)
    for n in (1.0, 2.0):
        a += n
        b += n
        assert np.asarray(x).tolist() == plain.tolist()
        x[1, 1:] = plain[1, 1:] = 7.0 + n
        assert a.tolist() == b.tolist()


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float32", "complex64", "complex128"])
def test_any_dtype_is_shared(dtype):
    x = xp.zeros((2, 2), dtype=getattr(xp, dtype))
    np.asarray(x)[1] = 1
    assert np.array_equal(np.array(x), np.asarray([[0, 0], [1, 1]], dtype))


def test_one_alias_sees_what_another_writes():
    x = matrix()
    whole, part = np.asarray(x), np.asarray(x[1:])
    part[0, 0] = 50.0
    assert whole[1, 0] == 50.0
    assert np.may_share_memory(whole, x)
    assert np.may_share_memory(x[1:], whole)


def test_a_recorded_value_survives_a_foreign_write():
    x, w = matrix(), xp.asarray([1.0, 2.0, 3.0, 4.0])
    early = np.asarray(x)
    with GradientTape() as tape:
        tape.watch(w)
        y = xp.sum(x * w) + xp.sum(x[1] * w)
        early[...] = 100.0
        y = y + xp.sum(x * w)
        late = np.asarray(x)
        late[...] = 1000.0
        y = y + xp.sum(x * w)
        assert early.tolist() == late.tolist() == np.asarray(x).tolist()
    was = np.arange(12.0).reshape(3, 4)
    expected = was.sum(0) + was[1] + 300.0 + 3000.0
    np.testing.assert_array_equal(np.asarray(tape.gradient(y, w)), expected)


def test_what_a_record_kept_is_not_what_foreign_code_gets():
    x, w = matrix(), xp.asarray(2.0)
    with GradientTape() as tape:
        tape.watch(w)
        y = xp.sum(x * w)
        part = x[1:]
        np.asarray(part)[...] = 0.0
        assert np.array(x).tolist()[1] == [0.0] * 4
        assert np.array(part).tolist() == [[0.0] * 4] * 2
    assert np.asarray(tape.gradient(y, w)) == 66.0


def test_a_read_only_array_stays_so():
    source = np.arange(3.0)
    source.flags.writeable = False
    for x in (xp.asarray(source, copy=False), xp.broadcast_to(xp.asarray([1.0]), (3,))):
        keep_data(x)
        a = np.asarray(x)
        assert not a.flags.writeable
        with pytest.raises(ValueError, match="WRITEABLE"):
            a.flags.writeable = True
        with pytest.raises(ValueError, match="read-only"):
            x[0] = 1.0


def test_an_alias_of_what_is_broadcast_sees_writes_to_its_root():
    x = xp.asarray([1.0])
    a = np.asarray(xp.broadcast_to(x, (3,)))
    keep_data(x)
    x[0] = 5.0
    assert a.tolist() == [5.0, 5.0, 5.0]


def test_a_scalar_result_is_immutable_as_numpys():
    s = xp.sum(xp.asarray([1.0, 2.0]))
    a = np.asarray(s)
    a[...] = 9.0
    assert s == 3.0


def test_a_cast_and_an_asked_for_copy_are_copies():
    x = matrix()
    for a in (np.array(x), np.asarray(x, copy=True), np.asarray(x, dtype=np.float32)):
        a[...] = 100.0
        assert not np.may_share_memory(a, x)
    assert np.asarray(x)[0, 1] == 1.0


@pytest.mark.parametrize("storage", [storages.hostile, storages.frozen])
def test_data_out_of_numpys_reach_is_copied(storage):
    with storages.on(storage()):
        x = xp.asarray([1.0, 2.0])
        a = np.asarray(x)
        a[0] = 5.0
        with pytest.raises(ValueError, match="copy=False"):
            np.asarray(x, copy=False)
        assert np.asarray(x).tolist() == [1.0, 2.0]


def test_a_rule_of_ones_own_may_read_its_constants_but_not_write_to_them():
    x, c = xp.asarray([1.0, 2.0]), xp.asarray([3.0, 4.0])

    @xp.custom_gradient
    def reads(x, c):
        factor = xp.asarray(np.asarray(c) * 1.0)
        return x * factor, lambda dy: (dy * factor, None)

    @xp.custom_gradient
    def writes(x, c):
        np.asarray(c)[...] = 1.0
        return x * c, lambda dy: (dy * c, None)

    with GradientTape() as tape:
        tape.watch(x)
        y = reads(x, c)
        with pytest.raises(ValueError, match="writes to argument 1"):
            writes(x, c)
    assert np.asarray(tape.gradient(y, x)).tolist() == [3.0, 4.0]
    assert np.asarray(c).tolist() == [3.0, 4.0]


def test_pickles_and_copies_are_independent():
    x = matrix()
    a = np.asarray(x)
    others = [pickle.loads(pickle.dumps(a)), copy.deepcopy(a), copy.deepcopy(x), copy.copy(x)]
    others.append(pickle.loads(pickle.dumps(x)))
    a[...] = 100.0
    assert all(other[0, 1] == 1.0 for other in others)


def test_a_function_that_runs_again_reads_its_constants_on_the_host():
    x, c = xp.asarray([1.0, 2.0]), xp.asarray([3.0, 4.0])
    f = xp.recompute_grad(lambda x, c: x * x * xp.asarray(np.asarray(c) + np.asarray(c)) * c)
    with GradientTape() as tape:
        tape.watch(x)
        y = f(x, c)
        np.asarray(c)[...] = 0.0
    assert np.asarray(tape.gradient(y, x)).tolist() == [36.0, 128.0]


# --- as long as somebody has it --------------------------------------------------------------------
@pytest.mark.parametrize("buffer", BUFFERS)
def test_records_keep_copies_until_the_last_buffer_is_gone(buffer):
    x = matrix()
    held = BUFFERS[buffer](np.asarray(x))
    assert not shares_with_records(x)
    assert keep_data(x[:2]) is not x[:2]._data
    del held
    gc.collect()
    assert shares_with_records(x)


def test_dlpack_lends_for_as_long_as_somebody_has_it():
    x = matrix()
    capsule = x.__dlpack__()
    assert not shares_with_records(x)
    del capsule
    assert shares_with_records(x)
    a = np.from_dlpack(x)
    a[0, 0] = 9.0
    x[0, 1] = 8.0
    assert a[0, 1] == 8.0
    assert x[0, 0] == 9.0
    assert not shares_with_records(x)
    del a
    assert shares_with_records(x)


def test_memory_that_came_from_outside_is_kept_by_copy_for_good():
    source = np.arange(3.0)
    x = xp.asarray(source, copy=False)
    a = np.asarray(x)
    a[0] = 9.0
    assert source[0] == 9.0
    del a
    assert not shares_with_records(x)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128, np.bool_])
def test_what_only_reads_does_not_make_records_keep_more(order, dtype):
    """A constant of which NumPy's functions ask the values again and again is kept once."""
    x = xp.asarray(np.ones((100, 4), dtype, order=order))
    kept = [keep_data(x)]
    for _ in range(3):
        a = np.asarray(x)
        kept.append(keep_data(x))
        kept.append(keep_data(x))
        del a
        kept.append(keep_data(x))
        assert shares_with_records(x)
    assert len({id(data) for data in kept}) == 1


def test_a_write_that_changes_no_value_but_its_sign_is_seen():
    x = xp.zeros(3)
    first = keep_data(x)
    np.asarray(x)[0] = -0.0
    second = keep_data(x)
    assert np.signbit(second).tolist() == [True, False, False]
    assert not np.signbit(first).any()


def test_views_follow_their_root_back():
    """When nothing was written, a root that moved has its old memory again."""
    x = matrix()
    keep_data(x)
    part = x[1:]
    a = np.asarray(x)
    part[0, 0] = float(part[0, 0])
    del a
    keep_data(x)
    part[0, 0] = 50.0
    assert x[1, 0] == 50.0
    x[1, 1] = 60.0
    assert part[0, 1] == 60.0


def read(x, together):
    together.wait()
    return np.asarray(x)


def test_threads_that_read_one_array_share_its_memory():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(100):
            x, together = matrix(), threading.Barrier(4)
            first = keep_data(x)
            with ThreadPoolExecutor(4) as pool:
                found = [*pool.map(read, [x] * 4, [together] * 4)]
            assert all(np.may_share_memory(a, x) for a in found)
            assert not any(np.may_share_memory(a, first) for a in found)
    finally:
        sys.setswitchinterval(before)


# --- together --------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(60))
def test_random_programs_have_numpys_values_and_recorded_ones_stay(seed):
    """Arrays beside NumPy's: views, writes through both, aliases that live and die, uses on a tape."""
    rng = np.random.default_rng(seed)
    plain, w = rng.normal(size=(4, 6)), rng.normal(size=6)
    x, weight = xp.asarray(plain), xp.asarray(w)
    pairs, aliases, expected = [(x, plain)], [], np.zeros(6)
    with GradientTape() as tape:
        tape.watch(weight)
        y = xp.sum(weight * 0.0)
        for _ in range(40):
            ours, theirs = pairs[rng.integers(len(pairs))]
            step, value = rng.integers(7), float(rng.integers(-3, 4))
            if step == 0:
                key = (slice(int(rng.integers(2)), None), slice(None))
                pairs.append((ours[key], theirs[key]))
            elif step == 1:
                ours[..., 1] = value
                theirs[..., 1] = value
            elif step == 2:
                ours *= value
                theirs *= value
            elif step == 3:
                aliases.append((np.asarray(ours), theirs))
            elif step == 4 and aliases:
                aliases.pop(int(rng.integers(len(aliases))))
            elif step == 5 and aliases:
                alias, same = aliases[rng.integers(len(aliases))]
                alias[..., rng.integers(6)] += value
                same[...] = alias
            else:
                y = y + xp.sum(ours * weight)
                expected += theirs.sum(0)
            np.testing.assert_array_equal(np.array(x), plain)
            for alias, same in aliases:
                np.testing.assert_array_equal(alias, same)
    np.testing.assert_allclose(np.asarray(tape.gradient(y, weight)), expected, rtol=0, atol=1e-9)
