"""What is added to parts of NumPy's data has the bits that ``np.add.at`` gives."""

import numpy as np
import pytest

from arraytape._storage import scattering
from arraytape._storage.scattering import add_at

SHAPES = [(7,), (7, 5), (7, 3, 2), (7, 0), (1, 4)]
DTYPES = ["float64", "float32", "complex128", "int64"]


def drawn(rng, shape, dtype):
    x = np.asarray(rng.standard_normal(shape) * 10.0 ** rng.integers(-3, 4, shape))
    return (x + 1j * x.T.reshape(shape)).astype(dtype) if dtype == "complex128" else x.astype(dtype)


def keys(rng, shape):
    """Keys of all kinds; the first ones name rows."""
    n = shape[0]
    places = rng.integers(-n, n, 40)
    yield from (places, (places,), places.reshape(8, 5), places.astype(np.int8), places[:0])
    yield from (0, slice(1, None, 2), ..., (None, slice(None)), (places, ...))
    yield rng.random(n) < 0.5
    yield rng.random(shape) < 0.5
    if len(shape) > 1 and shape[1]:
        columns = rng.integers(-shape[1], shape[1], 40)
        yield from ((places, columns), (slice(None), columns), (places, 0))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("block", [1, 3, 1 << 15])
def test_sums_have_the_bits_of_numpys(monkeypatch, shape, dtype, block):
    monkeypatch.setattr(scattering, "WORTH_ROWS", 1)
    monkeypatch.setattr(scattering, "ROWS", block)
    rng = np.random.default_rng(0)
    for order in "CF":
        for key in keys(rng, shape):
            data = np.asarray(drawn(rng, shape, dtype), order=order)
            value = drawn(rng, np.shape(data[key]), dtype)
            for given in (value, np.asarray(value, order="F"), np.sum(value)):
                expected, found = data.copy(order="K"), data.copy(order="K")
                np.add.at(expected, key, given)
                assert add_at(found, key, given) is found
                assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("place", [7, -8])
def test_places_that_are_not_there_are_numpys_error(monkeypatch, place):
    monkeypatch.setattr(scattering, "WORTH_ROWS", 1)
    data = np.zeros((7, 5))
    with pytest.raises(IndexError, match=f"index {place} is out of bounds for axis 0 with size 7"):
        add_at(data, np.asarray([0, place]), np.ones((2, 5)))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint64", "int64"])
def test_places_of_narrow_integers(dtype):
    rng = np.random.default_rng(0)
    places = rng.integers(0, 120, 300).astype(dtype)
    value, found, expected = (
        rng.standard_normal((300, 50)),
        np.zeros((120, 50)),
        np.zeros((120, 50)),
    )
    np.add.at(expected, places, value)
    assert add_at(found, places, value).tobytes() == expected.tobytes()


def test_places_that_are_no_integers_are_numpys_error():
    with pytest.raises(IndexError, match="integer"):
        add_at(np.zeros((120, 50)), np.ones(300), np.ones((300, 50)))
