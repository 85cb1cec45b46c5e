"""Pickles and copies of Arrays: values of their own, and what they keep of a tape."""

import copy
import math
import pickle
import sys
import tracemalloc

import numpy as np
import pytest

import arraytape as xp
from helpers.standard import (
    DTYPES,
    is_followed,
)

COPIES = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    **{
        f"pickle {protocol}": lambda x, protocol=protocol: pickle.loads(pickle.dumps(x, protocol))
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1)
    },
}
copied = pytest.mark.parametrize("duplicate", COPIES.values(), ids=COPIES)


@copied
@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3)])
def test_a_copy_has_value_dtype_and_shape(duplicate, name, shape):
    x = xp.asarray(np.arange(math.prod(shape)).reshape(shape), dtype=getattr(xp, name))
    y = duplicate(x)
    assert type(y) is xp.Array
    assert y.dtype == x.dtype
    assert y.shape == x.shape
    assert np.array_equal(np.asarray(y), np.asarray(x))


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.filterwarnings("ignore:gradient is None")
def test_a_pickled_value_is_followed_by_nobody(protocol):
    x = xp.asarray([1.0, 2.0])
    with xp.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = pickle.loads(pickle.dumps(x * x, protocol))
        z = xp.sum(y * x)
    assert not is_followed(y)
    with pytest.warns(xp.TapeWarning, match=r"a part .*test_pickle_and_copy\.py:\d+ \(pickle\)"):
        assert np.array_equal(np.asarray(tape.gradient(z, x)), [1.0, 4.0])
    assert tape.gradient(z, y) is None
    with pytest.warns(xp.TapeWarning, match=r"test_pickle_and_copy\.py:\d+ \(pickle\)"):
        assert tape.gradient(y, x) is None


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_a_copy_stays_connected(duplicate):
    x = xp.asarray([1.0, 2.0])
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = duplicate({"a": x * x} if duplicate is copy.deepcopy else x * x)
        y = y["a"] if duplicate is copy.deepcopy else y
        y[0] *= 3.0
        z = xp.sum(y * x)
    assert np.array_equal(np.asarray(tape.gradient(z, x)), [9.0, 12.0])


@copied
def test_a_copy_has_memory_of_its_own(duplicate):
    x = xp.asarray([1.0, 2.0])
    y = duplicate(x)
    y[0] = 7.0
    assert x[0] == 1.0
    x[1] = 8.0
    assert y[1] == 2.0


@copied
def test_a_copy_of_a_view_has_what_the_view_shows(duplicate):
    x = xp.reshape(xp.arange(6.0), (2, 3))
    view = x[:, 1]
    x[0, 1] = 9.0
    y = duplicate(view)
    assert np.array_equal(np.asarray(y), [9.0, 4.0])
    x[0, 1] = 1.0
    assert y[0] == 9.0


def test_a_pickle_is_small():
    large = xp.ones(100_000)
    with xp.GradientTape() as tape:
        tape.watch(large)
        small = (large * 2.0)[:3]
        assert is_followed(small)
        assert len(pickle.dumps(small)) < 500
        assert len(pickle.dumps(large)) < 8 * large.size + 500


def test_deepcopy_of_a_structure_copies_its_arrays():
    x = xp.ones(2)
    y = copy.deepcopy({"a": [x]})["a"][0]
    y[0] = 5.0
    assert x[0] == 1.0


def test_deepcopy_keeps_one_array_in_two_places_one():
    x = xp.ones(2)
    first, second = copy.deepcopy([x, x])
    assert first is second


# --- to other processes ----------------------------------------------------------------------------
def out_of_band(x):
    """A pickle, and the buffers that are sent beside it."""
    buffers = []
    return pickle.dumps(x, protocol=5, buffer_callback=buffers.append), buffers


def test_out_of_band_a_pickle_copies_no_data():
    x = xp.zeros(200_000)
    tracemalloc.start()
    try:
        pickled, buffers = out_of_band(x)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < x.nbytes / 10
    assert len(pickled) < 1000
    assert sum(buffer.raw().nbytes for buffer in buffers) == x.nbytes


@pytest.mark.parametrize("part", [lambda x: x, lambda x: x[200:], lambda x: x.T])
@pytest.mark.parametrize("size", [4, 400])
def test_buffers_that_are_sent_do_not_see_a_later_write(part, size):
    x = xp.reshape(xp.arange(2.0 * size), (size, 2))
    there = np.array(part(x))
    pickled, buffers = out_of_band(part(x))
    x[...] = -1.0
    sent = [bytes(buffer.raw()) for buffer in buffers]
    y = pickle.loads(pickled, buffers=sent)
    assert np.array_equal(np.asarray(y), there)
    y += 1.0  # the buffers are read-only
    assert np.array_equal(np.asarray(y), there + 1.0)


def test_a_write_after_a_pickle_is_seen_by_the_arrays_views():
    x = xp.zeros((400, 2))
    rows = x[1:]
    out_of_band(x)
    x[1] = 5.0
    assert rows.tolist()[0] == [5.0, 5.0]
    rows[1] = 7.0
    assert x.tolist()[2] == [7.0, 7.0]


@pytest.mark.parametrize(
    "x", [xp.ones((1000, 3)), xp.ones((1000, 3))[10:], xp.Variable([1.0] * 50)]
)
def test_the_size_of_an_array_has_its_data(x):
    assert x.nbytes < sys.getsizeof(x) < x.nbytes + 300
