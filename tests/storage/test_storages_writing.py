"""Writes on storages that stand in for others, also where nobody can write in place."""

import pickle

import numpy as np
import pytest

import arraytape as xp
from arraytape._storage.storage import storage_of
from helpers.elsewhere import ELSEWHERE, FROZEN, HOSTILE, on

pytestmark = pytest.mark.any_storage


def writes(x):
    z = xp.zeros_like(x)
    z[1:] = x[:-1] ** 2
    z[z > 8.0] = 1.0
    z[xp.asarray([0, 0], device=x.device)] = x[:2]
    view = z[::2]
    view *= x[::2]
    z += x
    return xp.sum(z**2)


@pytest.mark.parametrize("device", ELSEWHERE, ids=str)
def test_writes_alias_and_differentiate_as_on_numpy(device):
    answers = []
    for place in ("cpu", device):
        x = on(place, (1.0, 2.0, 3.0, 4.0))
        with xp.GradientTape() as tape:
            tape.watch(x)
            y = writes(x)
        answers.append((np.asarray(y), np.asarray(tape.gradient(y, x))))
    np.testing.assert_array_equal(answers[0][0], answers[1][0])
    np.testing.assert_allclose(answers[0][1], answers[1][1], rtol=1e-14)


@pytest.mark.parametrize("device", ["cpu", *ELSEWHERE], ids=str)
def test_writes_alias_under_vmap_and_in_jacobians_as_on_numpy(device):
    def rows(x):
        z = xp.zeros_like(x)
        z[1:] = x[:-1] ** 2
        z[xp.asarray([0, 0], device=device)] += x[:2]
        z[::-1][::2] *= xp.where(x[::2] > 1.5, x[::2], 2.0)
        xp.reshape(z, (2, 2))[1] -= x[0]
        return z

    values = np.asarray([[1.0, 2.0, 3.0, 4.0], [-2.0, 0.5, 1.0, 3.0]])
    many, one = on(device, values), on(device, values[1])
    found = [xp.vmap(rows)(many), xp.vmap(xp.jacobian(rows))(many), xp.jacobian(rows)(one)]
    found += [xp.hessian(lambda x: xp.sum(rows(x) ** 2))(one)]
    many, one = on("cpu", values), on("cpu", values[1])
    device = "cpu"
    expected = [xp.stack([rows(x) for x in many])]
    expected += [xp.stack([xp.jacobian(rows)(x) for x in many]), xp.jacobian(rows)(one)]
    expected += [xp.hessian(lambda x: xp.sum(rows(x) ** 2))(one)]
    for y, e in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.asarray(y), np.asarray(e), rtol=1e-14)


@pytest.mark.parametrize("device", ["cpu", *ELSEWHERE], ids=str)
def test_a_number_that_an_op_gave_is_immutable(device):
    x = on(device)
    for make in (xp.sum, lambda x: x[1], lambda x: xp.sum(x) * 2.0, lambda x: xp.vecdot(x, x)):
        t = s = make(x)
        row = xp.reshape(s, (1,))
        before = float(s)
        s += 1.0
        row *= 3.0
        assert (float(t), float(s), float(row[0])) == (before, before + 1.0, 3.0 * before)
    t = s = on(device, 2.0)
    s += 1.0
    assert float(t) == 3.0


@pytest.mark.parametrize("device", ["cpu", *ELSEWHERE], ids=str)
def test_a_broadcast_is_a_view_that_cannot_be_written_to(device):
    x = on(device)
    wide = xp.broadcast_to(x, (2, 3))
    x[1] = 7.0
    np.testing.assert_array_equal(np.asarray(wide), [[1.0, 7.0, 3.0]] * 2)
    for view in (wide, wide[0], wide.T[1:]):
        with pytest.raises(ValueError, match="read-only"):
            view[...] = 1.0
        with pytest.raises(ValueError, match="read-only"):
            view += 1.0
    x[0] = 5.0
    assert float(wide[1, 0]) == 5.0


@pytest.mark.parametrize("device", ["cpu", *ELSEWHERE], ids=str)
def test_in_place_operators_keep_the_dtype(device):
    x = xp.asarray([1.0, 2.0], dtype=xp.float32, device=device)
    view = x[1:]
    x *= on(device, (1.5, 2.5))
    view += on(device, 1.0)
    x //= on(device, 1.0)
    assert x.dtype == xp.float32
    np.testing.assert_array_equal(np.asarray(x), np.asarray([1.0, 6.0], np.float32))


@pytest.mark.parametrize("device", ["cpu", HOSTILE.devices()[0], FROZEN.devices()[0]], ids=str)
def test_an_in_place_result_keeps_the_layout_of_its_array(device):
    made = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    x, y = xp.asarray(made, device=device), xp.asarray(made.copy("C"), device=device)
    with xp.GradientTape() as tape:
        tape.watch(y)
        x *= y  # recorded, so that a new result takes the place of x
    flat = xp.reshape(x.T, (-1,))  # a view of memory in this order
    flat[0] = 9.0
    assert float(x[0, 0]) == 9.0


# --- data that nobody can write to ----------------------------------------------------------------
def test_frozen_data_raises_when_written_to_and_its_operators_bind_new_data():
    data = on(FROZEN.devices()[0])._data
    with pytest.raises(TypeError, match="cannot be written to"):
        data[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        data.memory[0] = 1.0
    before = data
    data += 1.0
    assert data is not before
    np.testing.assert_array_equal(before.memory, [1.0, 2.0, 3.0])


def test_nothing_is_copied_before_a_write_that_makes_new_data():
    x = on(FROZEN.devices()[0])
    data = x._data
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = x * x  # keeps x
        same = xp.asarray(x)
        x[0] = 5.0
        z = xp.sum(y) + xp.sum(x * x)
    assert storage_of(data).copy(data) is data
    assert same is x
    np.testing.assert_array_equal(np.asarray(tape.gradient(z, x)), [2.0, 8.0, 12.0])


@pytest.mark.parametrize("last", [0, 1])
def test_where_a_storage_writes_twice_in_any_order_value_and_gradient_agree(monkeypatch, last):
    put = type(FROZEN).put

    def unordered(self, data, key, value):
        if getattr(key, "ndim", 0) and key.dtype.kind == "i" and not last:
            key, value = key[::-1], value[::-1]
        return put(self, data, key, value)

    monkeypatch.setattr(type(FROZEN), "put", unordered)
    monkeypatch.setattr(type(FROZEN), "ordered_writes", False, raising=False)
    device = FROZEN.devices()[0]
    x = on(device, (3.0, 4.0))
    with xp.GradientTape() as tape:
        tape.watch(x)
        z = xp.zeros(3, device=device)
        view = z[1:]
        view[xp.asarray([1, 1], device=device)] = x
        y = xp.sum(z**2)
    kept = float(z[2])
    assert kept == (3.0, 4.0)[last]
    expected = [0.0, 0.0]
    expected[last] = 2.0 * kept
    np.testing.assert_array_equal(np.asarray(tape.gradient(y, x)), expected)


def test_frozen_data_survives_a_pickle():
    x = pickle.loads(pickle.dumps(on(FROZEN.devices()[0])))
    assert x.device == FROZEN.devices()[0]
    x[0] = 5.0
    np.testing.assert_array_equal(np.asarray(x), [5.0, 2.0, 3.0])


@pytest.mark.parametrize("device", ["cpu", *ELSEWHERE], ids=str)
def test_one_element_is_a_copy_and_a_0d_view_needs_an_ellipsis(device):
    x = on(device)
    element, view = x[0], x[0, ...]
    x[0] = 5.0
    assert (float(element), float(view)) == (1.0, 5.0)
