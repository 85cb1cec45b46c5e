"""asarray and from_dlpack: what is copied, cast, shared, recorded or refused."""

import numpy as np
import pytest

import arraytape as xp
from helpers.standard import DTYPES


def test_an_array_that_fits_comes_back_itself_unless_copied():
    x = xp.ones(2)
    for same in (
        xp.asarray(x),
        xp.asarray(x, copy=False),
        xp.asarray(x, dtype=x.dtype),
        xp.asarray(x, dtype=xp.float64, copy=False, device="cpu"),
    ):
        assert same is x
    y = xp.asarray(x, copy=True)
    y[0] = 5.0
    assert x[0] == 1.0


def test_a_copied_array_is_recorded():
    x = xp.asarray([1.0, 2.0])
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.asarray(x, copy=True)
        y[0] = 0.0
        z = y * y
    assert np.array_equal(np.asarray(tape.gradient(z, x)), [0.0, 4.0])


@pytest.mark.parametrize("name", DTYPES)
def test_asarray_casts_to_the_dtype(name):
    dtype = getattr(xp, name)
    for source in (True, [0, 1], np.ones(2, dtype=bool), xp.ones(2, dtype=xp.bool)):
        assert xp.asarray(source, dtype=dtype).dtype == dtype


def test_a_cast_is_recorded_and_needs_a_copy():
    x = xp.asarray([1.0, 2.0])
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.asarray(x, dtype=xp.float32) * 3.0
    gradient = tape.gradient(y, x)
    assert y.dtype == xp.float32
    assert gradient.dtype == xp.float64
    assert np.array_equal(np.asarray(gradient), [3.0, 3.0])
    with pytest.raises(ValueError, match="copy"):
        xp.asarray(x, dtype=xp.float32, copy=False)


@pytest.mark.parametrize(
    ("value", "name"), [(True, "bool"), (1, "int64"), (1.0, "float64"), (1j, "complex128")]
)
def test_python_scalars_get_the_default_dtypes(value, name):
    assert xp.asarray(value).dtype == getattr(xp, name)
    assert xp.asarray([value]).dtype == getattr(xp, name)
    assert xp.asarray([[value, True]]).dtype == getattr(xp, name)
    assert xp.asarray(value).shape == ()


def test_nested_sequences_of_arrays_are_recorded():
    x, y = xp.asarray(2.0), xp.asarray(3.0)
    with xp.GradientTape(persistent=True) as tape:
        tape.watch([x, y])
        matrix = xp.asarray([[x, y], (1.0, x * y)])
        z = xp.sum(matrix * xp.asarray([[1.0, 10.0], [100.0, 1000.0]]))
    assert matrix.tolist() == [[2.0, 3.0], [1.0, 6.0]]
    assert float(tape.gradient(z, x)) == 1.0 + 3000.0
    assert float(tape.gradient(z, y)) == 10.0 + 2000.0


def test_a_sequence_of_arrays_takes_a_dtype_and_cannot_be_shared():
    rows = [xp.ones(2), xp.ones(2)]
    assert xp.asarray(rows, dtype=xp.float32).dtype == xp.float32
    assert xp.asarray(rows).shape == (2, 2)
    with pytest.raises(ValueError, match="copy"):
        xp.asarray(rows, copy=False)


@pytest.mark.parametrize("keep", [None, True])
def test_numpy_input_is_copied(keep):
    source = np.ones(2)
    x = xp.asarray(source, copy=keep)
    source[0] = 5.0
    assert x[0] == 1.0
    x[1] = 7.0
    assert source[1] == 1.0


def test_numpy_input_is_shared_with_copy_false():
    source = np.ones(2)
    x = xp.asarray(source, copy=False)
    source[0] = 5.0
    assert x[0] == 5.0


@pytest.mark.parametrize("source", [[1.0, 2.0], 1.0, (1, 2)])
def test_copy_false_of_a_sequence_raises(source):
    with pytest.raises(ValueError, match="copy"):
        xp.asarray(source, copy=False)


def test_copy_false_with_a_cast_of_numpy_data_raises():
    with pytest.raises(ValueError, match="copy"):
        xp.asarray(np.ones(2), dtype=xp.float32, copy=False)


@pytest.mark.parametrize("source", ["a", None, object(), np.asarray(["a"]), {}])
def test_what_is_no_number_raises_a_type_error(source):
    with pytest.raises(TypeError, match="asarray"):
        xp.asarray(source)


def test_integers_out_of_range_raise_overflow_error():
    with pytest.raises(OverflowError):
        xp.asarray(300, dtype=xp.uint8)
    with pytest.raises(OverflowError):
        xp.asarray(1, dtype=xp.int8) + 300


def test_dlpack_goes_there_and_back():
    x = xp.asarray([1.0, 2.0])
    assert np.from_dlpack(x).tolist() == [1.0, 2.0]
    assert xp.from_dlpack(x, copy=True).tolist() == [1.0, 2.0]
    device_type, device_id = x.__dlpack_device__()
    assert (int(device_type), int(device_id)) == (1, 0)
