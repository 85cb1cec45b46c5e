"""Every op on storages that stand in for others: no looks, no writes in place, several devices."""

import numpy as np
import pytest

import arraytape as xp
from arraytape import testing
from arraytape._storage.numpy_storage import NUMPY
from arraytape._storage.storage import storage_of
from arraytape.testing import storages
from helpers.elsewhere import (
    ELSEWHERE,
    ELSEWHERE_AND_HERE,
    FIRST,
    FROZEN,
    HOSTILE,
    SECOND,
    STRICT,
    on,
)
from helpers.namespace_ops import recorded_ops

pytestmark = pytest.mark.any_storage

CASES = [
    pytest.param(op, sample, dtype, id=f"{op.name}-{i}-{dtype.__name__}")
    for op in recorded_ops()
    for i, sample in enumerate(op.samples)
    for dtype in (np.float64, np.complex128)
]
# What array_api_strict says of an op that the standard does not define for the sample's dtype or shape.
BEYOND = (
    "Only real numeric dtypes",
    "Only real floating-point dtypes",
    "Only complex floating-point dtypes",
    "casting array_api_strict.complex128",
    "should not be casted",
    "min must be less than or equal to max",
)


def derivatives(op, sample, dtype, storage=None):
    """Value, gradients and a Hessian-vector product of a sample."""
    arguments = testing.materialise(op, sample, dtype)
    if (
        storage is not None and "key" in sample.parameters
    ):  # of an inner op: raw data beside its input
        key = storage.key(sample.parameters["key"], storage.asarray(0.0, None, None, True))
        sample = sample._replace(parameters=sample.parameters | {"key": key})
    function, floats = testing.as_function(op, sample, arguments)
    value = np.asarray(function(*[xp.asarray(x) for x in floats]))
    first = testing.gradients(function, floats)
    return [value, *first, *testing.curvature(function, floats, testing.directions(floats))]


@pytest.mark.parametrize(("op", "sample", "dtype"), CASES)
@pytest.mark.parametrize("storage", [HOSTILE, FROZEN, STRICT], ids=["hostile", "frozen", "strict"])
@pytest.mark.every(5)
def test_derivatives_are_those_of_numpys_storage(storage, op, sample, dtype):
    try:
        with storages.on(NUMPY):
            expected = derivatives(op, sample, dtype)
    except (TypeError, np.exceptions.ComplexWarning):
        pytest.skip("NumPy has no such op for complex data")
    try:
        with storages.on(storage):
            found = derivatives(op, sample, dtype, storage)
    except (TypeError, ValueError) as error:
        if storage is STRICT and any(reason in str(error) for reason in BEYOND):
            return  # the op refuses in words of its own, before it computes anything
        raise
    for y, e in zip(found, expected, strict=True):
        assert y.dtype == e.dtype
        np.testing.assert_allclose(y, e, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("device", [*ELSEWHERE, "cpu"], ids=str)
def test_results_and_gradients_stay_on_the_device_of_their_input(device):
    x = on(device)
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.sum(xp.exp(x[1:]) * 2.0)
    g = tape.gradient(y, x)
    assert y.device == g.device == x.device == device
    np.testing.assert_allclose(np.asarray(g), [0.0, *2.0 * np.exp([2.0, 3.0])])


@pytest.mark.parametrize("name", ["zeros_like", "ones_like", "empty_like"])
def test_like_means_on_the_same_device(name):
    assert getattr(xp, name)(on(SECOND)).device == SECOND
    assert xp.full_like(on(SECOND), 2.0).device == SECOND
    assert xp.tril(xp.ones((2, 2), device=SECOND)).device == SECOND


@pytest.mark.parametrize(
    "make",
    [
        lambda device: xp.zeros(3, device=device),
        lambda device: xp.ones((2, 2), dtype=xp.float32, device=device),
        lambda device: xp.empty(3, device=device),
        lambda device: xp.full(3, 2.0, device=device),
        lambda device: xp.full(3, on("cpu", 2.0), device=device),
        lambda device: xp.arange(3, device=device),
        lambda device: xp.linspace(0.0, 1.0, 3, device=device),
        lambda device: xp.eye(3, device=device),
        lambda device: xp.asarray([1, 2], device=device),
        lambda device: xp.asarray(on("cpu"), device=device),
        lambda device: xp.astype(on("cpu"), xp.float32, device=device),
        lambda device: xp.fft.fftfreq(4, device=device),
        lambda device: xp.fft.rfftfreq(4, device=device),
        lambda device: on("cpu").to_device(device),
    ],
)
@pytest.mark.parametrize("device", [*ELSEWHERE, "cpu"], ids=str)
def test_creation_functions_put_arrays_on_the_device_they_are_given(make, device):
    assert make(device).device == device


# --- moving ---------------------------------------------------------------------------------------
ROUTES = [
    ("cpu", FIRST), (FIRST, "cpu"), (FIRST, SECOND), (HOSTILE.devices()[0], FIRST),
    (FROZEN.devices()[0], "cpu"), ("cpu", FROZEN.devices()[0]),
]  # fmt: skip


@pytest.mark.parametrize("route", ROUTES, ids=str)
@pytest.mark.parametrize("how", ["to_device", "asarray", "astype"])
def test_a_move_is_recorded_and_the_gradient_comes_back(route, how):
    here, there = route
    moves = {
        "to_device": lambda x: x.to_device(there),
        "asarray": lambda x: xp.asarray(x, device=there),
        "astype": lambda x: xp.astype(x, xp.float64, device=there),
    }

    def function(x):
        return xp.sum(moves[how](x * x) ** 2).to_device(here) + xp.sum(x)

    x = on(here)
    with xp.GradientTape() as outer:
        outer.watch(x)
        with xp.GradientTape() as inner:
            inner.watch(x)
            y = function(x)
        g = inner.gradient(y, x)
        along = xp.sum(g * on(here, (1.0, 0.0, 2.0)))
    h = outer.gradient(along, x)
    values = np.asarray([1.0, 2.0, 3.0])
    assert y.device == g.device == h.device == here
    np.testing.assert_allclose(np.asarray(g), 4.0 * values**3 + 1.0)
    np.testing.assert_allclose(np.asarray(h), 12.0 * values**2 * [1.0, 0.0, 2.0])


def test_a_tape_that_crosses_devices_often_adds_up_on_each():
    x, w = on("cpu"), on(FIRST, (2.0, 3.0, 4.0))
    with xp.GradientTape() as tape:
        tape.watch([x, w])
        here = xp.exp(x)
        there = here.to_device(FIRST) * w
        y = xp.sum(there) + xp.sum((here * there.to_device("cpu")).to_device(FIRST) * w)
    dx, dw = tape.gradient(y, [x, w])
    a, b = np.asarray([1.0, 2.0, 3.0]), np.asarray([2.0, 3.0, 4.0])
    assert (dx.device, dw.device) == ("cpu", FIRST)
    np.testing.assert_allclose(np.asarray(dx), np.exp(a) * b + 2.0 * np.exp(2.0 * a) * b**2)
    np.testing.assert_allclose(np.asarray(dw), np.exp(a) + 2.0 * np.exp(2.0 * a) * b)


def test_a_selection_before_a_move_keeps_its_exact_zero():
    x = on("cpu", (0.0, 4.0))
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.sum(xp.where(x > 0, xp.sqrt(x), 0.0).to_device(FIRST))
    np.testing.assert_array_equal(np.asarray(tape.gradient(y, x)), [0.0, 0.25])


def test_to_device_on_the_same_device_gives_the_array_itself():
    x = on(FIRST)
    assert x.to_device(FIRST) is x
    assert xp.asarray(x, device=FIRST) is x


# --- mixing ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "mix",
    [
        lambda a, b: a + b,
        lambda a, b: b @ a,
        lambda a, b: xp.where(a > 0, a, b),
        lambda a, b: xp.concat([a, b]),
        lambda a, b: a.__setitem__(..., b),
        lambda a, b: a.__iadd__(b),
        lambda a, b: xp.take(a, xp.astype(b, xp.int64)),
        lambda a, b: xp.clip(a, b),
    ],
)
@pytest.mark.parametrize("pair", [("cpu", FIRST), (FIRST, SECOND), *ELSEWHERE_AND_HERE])
def test_arrays_on_different_devices_do_not_mix(mix, pair):
    a, b = (on(device, (1.0, 2.0)) for device in pair)
    with pytest.raises((TypeError, ValueError)) as caught:
        mix(a, b)
    for device in pair:
        assert str(device) in str(caught.value)
    assert "test_storages.py:" in str(caught.value)
    np.testing.assert_array_equal(np.asarray(a), [1.0, 2.0])


def test_the_message_says_which_argument_sits_where():
    with pytest.raises(TypeError, match=r"multiply: .*x1 is .*\(numpy, cpu\); x2 is .*device1"):
        on("cpu") * on(FIRST)
    with pytest.raises(TypeError, match=r"stack: .*asarray\(arrays\[0\], .*arrays\[1\] is"):
        xp.stack([on("cpu"), on(FIRST)])


@pytest.mark.parametrize("scalar", [2, 2.0, np.float64(2.0), np.float32(2.0)], ids=repr)
@pytest.mark.parametrize("device", ELSEWHERE, ids=str)
def test_scalars_join_any_storage(scalar, device):
    x = on(device)
    for y in (x * scalar, scalar * x, xp.multiply(x, scalar), xp.where(x > 0, x * 2.0, scalar)):
        assert y.device == device
        np.testing.assert_array_equal(np.asarray(y), [2.0, 4.0, 6.0])


@pytest.mark.parametrize("device", ["gpu", "cuda:99", 3, "hostile:1"])
def test_an_unknown_device_is_a_value_error_that_names_it(device):
    with pytest.raises(ValueError, match=str(device)):
        xp.zeros(3, device=device)


# --- looks ----------------------------------------------------------------------------------------
def test_hostile_data_raises_when_looked_at():
    data = on(HOSTILE.devices()[0])._data
    for look in (bool, float, int, len, iter, np.asarray):
        with pytest.raises(TypeError, match="reads values"):
            look(data)


def test_arrays_of_any_storage_answer_what_users_ask():
    x = on(HOSTILE.devices()[0])
    assert float(xp.sum(x)) == 6.0
    assert bool(xp.all(x > 0))
    assert x.tolist() == [1.0, 2.0, 3.0]
    assert len(x) == 3
    assert [float(row) for row in x] == [1.0, 2.0, 3.0]
    assert "hostile:0" in repr(x)
    assert f"{xp.sum(x):.1f}" == "6.0"


def test_creation_functions_obey_the_default_device():
    before = xp.__array_namespace_info__().default_device()
    try:
        xp.set_default_device(FIRST)
        assert xp.__array_namespace_info__().default_device() == FIRST
        assert xp.zeros(3).device == xp.asarray(np.ones(2)).device == xp.arange(3).device == FIRST
    finally:
        xp.set_default_device(before)
    with pytest.raises(ValueError, match="nowhere"):
        xp.set_default_device("nowhere")
    assert xp.zeros(3).device == before


def test_raw_data_of_a_storage_is_an_operand():
    x = on(FIRST)
    raw = storage_of(x._data).copy(x._data)
    np.testing.assert_array_equal(np.asarray(x * raw), [1.0, 4.0, 9.0])
