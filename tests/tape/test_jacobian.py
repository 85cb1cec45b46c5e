"""Jacobians by the tape."""

import threading

import numpy as np
import pytest

import arraytape as xp
from arraytape import GradientTape, TapeWarning


def values(x):
    return np.asarray(x).tolist()


def jacobian_of(f, x, **options):
    with GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return tape.jacobian(y, x, **options)


# --- the table of cases ---------------------------------------------------------------------------
def test_case_46_shapes_and_what_is_unconnected():
    x, w = xp.asarray([1.0, 2.0]), xp.asarray([[1.0, 2.0, 3.0]])
    with GradientTape(persistent=True) as tape:
        tape.watch([x, w])
        y, s = x * x, xp.sum(x)
    assert values(tape.jacobian(y, x)) == [[2.0, 0.0], [0.0, 4.0]]
    assert tape.jacobian(y, w) is None
    zeros = tape.jacobian(y, w, unconnected_gradients="zero")
    assert zeros.shape == (2, 1, 3)
    assert not np.asarray(zeros).any()
    assert values(tape.jacobian(s, x)) == [1.0, 1.0]


def test_case_47_a_normalised_vector_and_a_hessian():
    x = xp.asarray([3.0, 4.0])
    found = jacobian_of(lambda x: x / xp.linalg.vector_norm(x), x)
    np.testing.assert_allclose(np.asarray(found), [[0.128, -0.096], [-0.096, 0.072]])
    x = xp.asarray([1.0, 2.0])
    with GradientTape() as outer:
        outer.watch(x)
        with GradientTape() as inner:
            inner.watch(x)
            y = x[0] ** 2 * x[1]
        g = inner.gradient(y, x)
    assert values(g) == [4.0, 1.0]
    assert values(outer.jacobian(g, x)) == [[4.0, 2.0], [2.0, 0.0]]


def test_case_49_batch_jacobians():
    x, y = xp.asarray([[1.0, 2.0], [3.0, 4.0]]), xp.asarray([[3.0, 4.0], [5.0, 6.0]])
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        square, product, one = x * x, x**2 * y, xp.sum(x, axis=1)
        rows = x[:1, :] * 2.0
    assert values(tape.batch_jacobian(square, x)) == [[[2, 0], [0, 4]], [[6, 0], [0, 8]]]
    assert values(tape.batch_jacobian(product, x)) == [[[6, 0], [0, 16]], [[30, 0], [0, 48]]]
    for target in (one, rows):
        with pytest.raises(
            ValueError, match="at least two dimensions, the first of the same length"
        ):
            tape.batch_jacobian(target, x)
    empty = xp.zeros((1, 0))
    with GradientTape() as tape:
        tape.watch(empty)
        z = empty * 2.0
    assert tape.batch_jacobian(z, empty).shape == (1, 0, 0)


def test_an_unconnected_batch_jacobian_is_none_or_zeros():
    x, w = xp.asarray([[1.0, 2.0]]), xp.asarray([[[1.0], [2.0], [3.0]]], dtype=xp.float32)
    with GradientTape(persistent=True) as tape:
        tape.watch([x, w])
        y = x * x
    assert tape.batch_jacobian(y, w) is None
    for zero in ("zero", xp.UnconnectedGradients.ZERO):
        found = tape.batch_jacobian(y, w, unconnected_gradients=zero)
        assert (found.shape, found.dtype) == ((1, 2, 3, 1), np.float32)
        assert not np.asarray(found).any()


# --- the tape's own semantics ---------------------------------------------------------------------
def test_jacobians_come_in_the_nesting_of_the_sources():
    x, w = xp.asarray([1.0, 2.0]), xp.asarray(3.0)
    with GradientTape() as tape:
        tape.watch([x, w])
        y = x * w
    found = tape.jacobian(y, {"a": [x, (w,)], "b": x})
    assert values(found["a"][0]) == values(found["b"]) == [[3.0, 0.0], [0.0, 3.0]]
    assert values(found["a"][1][0]) == [1.0, 2.0]
    assert found["a"][0]._data is not found["b"]._data


@pytest.mark.filterwarnings("ignore:gradient is None")
def test_no_sources_give_no_jacobians_and_empty_arrays_empty_ones():
    x = xp.zeros((0, 2))
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y, s = x * 2.0, xp.sum(x)
    assert tape.jacobian(y, []) == []
    assert tape.jacobian(y, x).shape == (0, 2, 0, 2)
    assert tape.jacobian(s, x).shape == (0, 2)
    assert tape.jacobian(y, xp.zeros(3)) is None


def test_one_shot_tapes_are_used_up_and_persistent_ones_are_not():
    x = xp.asarray([1.0, 2.0])
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
    with pytest.raises(TypeError, match=r"jacobian\(\): the target must be one Array"):
        tape.jacobian([y, y], x)  # a failed call does not use it up
    tape.jacobian(y, x)
    for again in (tape.jacobian, tape.gradient, tape.batch_jacobian):
        with pytest.raises(RuntimeError, match="one set of gradients"):
            again(y, x)
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
    assert values(tape.jacobian(y, x)) == values(tape.jacobian(y, x))
    assert values(tape.gradient(y, x)) == [2.0, 4.0]


def test_a_one_shot_tape_stops_recording_inside_its_own_context():
    x = xp.asarray([1.0, 2.0])
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
        assert values(tape.jacobian(y, x)) == [[2.0, 0.0], [0.0, 4.0]]
        with pytest.raises(RuntimeError):
            tape.watch(x)


def test_a_persistent_tape_inside_its_own_context_records_and_warns():
    x = xp.asarray([1.0, 2.0])
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x**3
        with pytest.warns(TapeWarning, match="inside its context"):
            first = tape.jacobian(y, x)
    second = tape.jacobian(first, x)
    expected = np.zeros((2, 2, 2))
    expected[0, 0, 0], expected[1, 1, 1] = 6.0, 12.0
    np.testing.assert_allclose(np.asarray(second), expected)


def test_the_target_may_be_the_source():
    x = xp.asarray([1.0, 2.0])
    with GradientTape() as tape:
        tape.watch(x)
    assert values(tape.jacobian(x, x)) == [[1.0, 0.0], [0.0, 1.0]]


def test_a_jacobian_has_its_sources_dtype():
    x = xp.asarray([1.0, 2.0], dtype=xp.float32)
    found = jacobian_of(lambda x: xp.astype(x, xp.float64) ** 2, x)
    assert found.dtype == np.float32
    assert values(found) == [[2.0, 0.0], [0.0, 4.0]]


def test_integer_targets_have_no_jacobian():
    x = xp.asarray([1.0, 2.0])
    with GradientTape() as tape:
        tape.watch(x)
        y = xp.astype(x, xp.int64)
    with pytest.warns(TapeWarning, match=r"jacobian\(\): the target of dtype int64"):
        assert tape.jacobian(y, x) is None


def test_complex_rows_are_the_gradients_of_the_real_parts():
    x = xp.asarray([1.0 + 2.0j, 3.0 - 1.0j])
    found = np.asarray(jacobian_of(lambda x: x * x * x, x))
    np.testing.assert_allclose(found, np.diag(np.conj(3.0 * np.asarray(x) ** 2)))
    for i in range(2):
        with GradientTape() as tape:
            tape.watch(x)
            y = x * x * x
            part = y[i]
        np.testing.assert_allclose(np.asarray(tape.gradient(part, x)), found[i])


def test_real_sources_of_complex_targets_have_real_jacobians():
    x = xp.asarray([1.0, 2.0])
    found = jacobian_of(lambda x: xp.asarray([1.0 + 2.0j, 3.0]) * x, x)
    assert found.dtype == np.float64
    assert values(found) == [[1.0, 0.0], [0.0, 3.0]]


def test_a_jacobian_follows_writes_and_views():
    def f(x):
        y = x * 1.0
        y[1:] *= x[:2]
        y[0] = x[2] ** 2
        return xp.reshape(y, (3, 1)).T[0, ::-1]

    x = xp.asarray([1.0, 2.0, 3.0])
    expected = [[0.0, 3.0, 2.0], [2.0, 1.0, 0.0], [0.0, 0.0, 6.0]]
    assert values(jacobian_of(f, x)) == expected


def test_a_view_can_be_the_source_of_a_jacobian():
    x = xp.asarray([1.0, 2.0, 3.0])
    part = x[1:]
    with GradientTape() as tape:
        tape.watch(part)
        y = x * part[0]
    assert tape.jacobian(y, part).shape == (3, 2)


def test_the_guard_keeps_what_was_not_selected_at_zero():
    x = xp.asarray([0.0, 4.0])
    found = jacobian_of(lambda x: xp.where(x > 0, xp.sqrt(x), 0.0), x)
    assert values(found) == [[0.0, 0.0], [0.0, 0.25]]
    found = np.asarray(jacobian_of(lambda x: xp.sqrt(x) ** 2, x))
    assert np.isnan(found[0, 0])
    assert found[1, 1] == 1.0


def test_the_guard_reaches_through_products_row_by_row():
    w = np.asarray([[1.0, 2.0], [3.0, 4.0]])

    def f(x):
        return xp.where(x > 0, xp.sqrt(x), 0.0) @ xp.asarray(w)

    found = np.asarray(jacobian_of(f, xp.asarray([0.0, 4.0])))
    np.testing.assert_allclose(found, [[0.0, 0.75], [0.0, 1.0]])


def test_a_jacobian_inside_an_outer_tape_is_differentiable():
    x = xp.asarray([0.5, -0.3, 0.2])
    w = xp.asarray(np.arange(9.0).reshape(3, 3) / 7.0)
    with GradientTape() as outer:
        outer.watch([x, w])
        with GradientTape() as inner:
            inner.watch(x)
            y = xp.tanh(w @ x) * x
        J = inner.jacobian(y, x)
        loss = xp.sum(J**2)
    gx, gw = outer.gradient(loss, [x, w])

    def loss_of(x, w):
        t = np.tanh(w @ x)
        J = np.diag(t) + (x * (1 - t * t))[:, None] * w
        return np.sum(J**2)

    a, b, h = np.asarray(x), np.asarray(w), 1e-6
    for i in range(3):
        e = np.eye(3)[i] * h
        np.testing.assert_allclose(
            float(gx[i]), (loss_of(a + e, b) - loss_of(a - e, b)) / (2 * h), rtol=1e-6
        )
    e = np.zeros((3, 3))
    e[1, 2] = h
    slope = (loss_of(a, b + e) - loss_of(a, b - e)) / (2 * h)
    np.testing.assert_allclose(float(gw[1, 2]), slope, rtol=1e-6)


def test_a_lost_path_is_named():
    x = xp.asarray([1.0, 2.0])
    with GradientTape() as tape:
        tape.watch(x)
        y = xp.asarray(np.asarray(x) ** 2)
    with pytest.warns(TapeWarning, match=r"left the tape at .*np.asarray"):
        assert tape.jacobian(y, x) is None


def test_a_jacobian_can_be_taken_in_several_threads():
    x = xp.asarray([1.0, 2.0])
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x**2
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(values(tape.jacobian(y, x)))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[[2.0, 0.0], [0.0, 4.0]]] * 4


X = xp.asarray([[1.0, 2.0]])
BAD = {
    "a float as target": (lambda tape: tape.jacobian(1.0, X), TypeError, "must be an Array"),
    "None as target": (lambda tape: tape.jacobian(None, X), TypeError, "may not be None"),
    "a NumPy array as source": (
        lambda tape: tape.jacobian(X, np.ones(2)), TypeError, r"jacobian\(\): every source"
    ),
    "several targets": (lambda tape: tape.jacobian({"a": X}, X), TypeError, "one Array, got a dict"),
    "several sources of a batch": (
        lambda tape: tape.batch_jacobian(X, [X]), TypeError, r"batch_jacobian\(\): the source"
    ),
    "an unknown word": (
        lambda tape: tape.jacobian(X, X, unconnected_gradients="ones"), ValueError, "'none' or 'zero'"
    ),
    "a batch of vectors": (
        lambda tape: tape.batch_jacobian(X, xp.zeros(1)), ValueError, "at least two dimensions"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments_say_what_is_wrong(name):
    call, error, message = BAD[name]
    with GradientTape() as tape:
        tape.watch(X)
    with pytest.raises(error, match=message):
        call(tape)


def test_a_tape_that_never_recorded_has_no_jacobian():
    with pytest.raises(RuntimeError, match="never recorded"):
        GradientTape().jacobian(X, X)


def test_parameters_of_tensorflows_loops_have_no_effect(near):
    x = xp.asarray([[1.0, 2.0]])
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
    options = {"parallel_iterations": 2, "experimental_use_pfor": False}
    near(tape.jacobian(y, x, "none", **options), [[[[2.0, 0.0]], [[0.0, 4.0]]]])
    near(tape.batch_jacobian(y, x, "none", **options), [[[2.0, 0.0], [0.0, 4.0]]])


@pytest.mark.parametrize("persistent", [True, False])
def test_a_batch_jacobian_of_an_unconnected_source_is_none_or_zeros(persistent, near):
    x, y = xp.ones((2, 3)), xp.ones((2, 4))
    with GradientTape(persistent=persistent) as tape:
        tape.watch([x, y])
        z = y * y
    near(tape.batch_jacobian(z, x, unconnected_gradients="zero"), np.zeros((2, 4, 3)))
    if persistent:
        assert tape.batch_jacobian(z, x) is None
