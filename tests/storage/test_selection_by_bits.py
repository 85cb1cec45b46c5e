"""``where`` of many elements and the number 0 works on the bits of NumPy data."""

import itertools
import math

import numpy as np
import pytest

import arraytape as xp
from arraytape._storage import numpy_namespace

SHAPE = (70, 80)


@pytest.fixture(params=["products", "masks"], autouse=True)
def by(request, monkeypatch):
    """Bits are chosen by products, or, of more elements than fit into the cache, by masks."""
    if request.param == "masks":
        monkeypatch.setattr(numpy_namespace, "MANY", 0)


ZEROS = {
    "0.0": 0.0,
    "0": 0,
    "-0.0": -0.0,
    "float64": np.asarray(0.0),
    "float32": np.asarray(0.0, np.float32),
    "negative float32": np.asarray(-0.0, np.float32),
    "int64": np.asarray(0),
    "1.0": 1.0,
    "False": False,
    "0j": 0j,
    "array": np.zeros(SHAPE),
}
LAYOUTS = {
    "C": lambda x: x,
    "F": np.asfortranarray,
    "every other": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "reversed": lambda x: x[::-1],
    "transposed": lambda x: np.ascontiguousarray(x.T).T,
    "one row": lambda x: np.broadcast_to(x[:1], SHAPE),
    "row": lambda x: x[0],
}


def data(dtype):
    """Numbers of each kind: of both signs, both zeros, infinities and NaN of both signs."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal(SHAPE)
    special = [0.0, -0.0, math.inf, -math.inf, math.nan, -math.nan]
    x.ravel()[: 50 * len(special)] = special * 50
    with np.errstate(invalid="ignore"):
        return rng.random(SHAPE) < 0.5, x.astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "complex128", "int64", "bool"])
@pytest.mark.parametrize("zero", ZEROS)
def test_a_selection_has_the_bits_dtype_and_order_of_numpys(dtype, zero):
    condition, x = data(dtype)
    for first, second in itertools.product(LAYOUTS.values(), LAYOUTS.values()):
        mask, values = first(condition), second(x)
        for operands in ((ZEROS[zero], values), (values, ZEROS[zero])):
            found = numpy_namespace.where(mask, *operands)
            expected = np.where(mask, *operands)
            assert found.dtype == expected.dtype
            assert found.strides == expected.strides
            assert found.tobytes() == expected.tobytes()
            assert found.base is None


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "complex128", "int64", "bool"])
@pytest.mark.parametrize("other", ZEROS)
def test_a_mask_of_one_element_chooses_as_numpys(dtype, other):
    numbers = [ZEROS[other], np.reshape(ZEROS[other], np.shape(ZEROS[other]) or (1, 1, 1))]
    for layout, number, chosen in itertools.product(LAYOUTS.values(), numbers, (True, False)):
        values = layout(data(dtype)[1])
        for shape in ((), (1,), (1, 1), (1, 1, 1)):
            mask = np.full(shape, chosen)
            for operands in ((number, values), (values, number)):
                found, expected = numpy_namespace.where(mask, *operands), np.where(mask, *operands)
                assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
                assert found.strides == expected.strides
                assert found.tobytes() == expected.tobytes()
                assert found.base is None


@pytest.mark.parametrize("condition", ["int64", "float64"])
def test_a_condition_that_is_no_mask_counts_as_numpys(condition):
    mask, x = data("float64")
    chosen = mask.astype(condition) * 256
    assert np.where(chosen, 0.0, x).tobytes() == numpy_namespace.where(chosen, 0.0, x).tobytes()


@pytest.mark.parametrize("dtype", [xp.float32, xp.float64])
def test_what_a_relu_of_many_elements_did_not_take_gets_exactly_zero(dtype):
    mask, _ = data("float64")
    x = xp.asarray(np.where(mask, 1.0, -1.0), dtype=dtype)
    seed = xp.asarray(np.where(mask, 2.0, np.nan), dtype=dtype)
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.maximum(x, 0.0)
    found = tape.gradient(y, x, seed)
    assert found.dtype == dtype
    assert np.array_equal(np.asarray(found), np.where(mask, 2.0, 0.0))


def test_bools_that_are_views_of_other_bytes_select_as_numpys_do():
    _, x = data("float64")
    bytes_ = np.random.default_rng(0).choice([0, 1, 2, 128, 255], SHAPE).astype(np.uint8)
    for operands in ((0.0, x), (x, 0.0)):
        expected = np.where(bytes_ != 0, *operands)
        assert numpy_namespace.where(bytes_.view(bool), *operands).tobytes() == expected.tobytes()
