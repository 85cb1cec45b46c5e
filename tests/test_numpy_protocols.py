"""NumPy's own functions on Arrays are the recorded ops, or raise: they never leave in silence."""

import numpy as np
import pytest

import arraytape as xp

VALUES = np.asarray([[0.3, 1.2, 0.7], [2.0, 0.1, 0.6]])
CALLS = {
    "sin": np.sin,
    "arctan2": lambda x: np.arctan2(x, 2.0),
    "plain on the left": lambda x: np.asarray([1.0, 2.0, 3.0]) * x,
    "scalar on the left": lambda x: np.float64(2.0) - x,
    "plain matmul": lambda x: np.ones((4, 2)) @ x,
    "sum": np.sum,
    "sum over an axis": lambda x: np.sum(x, 1),
    "sum with keepdims": lambda x: np.sum(x, axis=0, keepdims=True),
    "mean": np.mean,
    "std": lambda x: np.std(x, axis=0, ddof=1),
    "max": lambda x: np.max(x, axis=1),
    "prod": np.prod,
    "cumsum": lambda x: np.cumsum(x, axis=1),
    "where": lambda x: np.where(x > 0.5, x, 0.0),
    "concatenate": lambda x: np.concatenate([x, x], axis=1),
    "stack": lambda x: np.stack([x, x]),
    "reshape": lambda x: np.reshape(x, (3, 2)),
    "clip": lambda x: np.clip(x, 0.2, 1.0),
    "add.reduce": lambda x: np.add.reduce(x),
    "linalg.svd": lambda x: np.linalg.svd(x, full_matrices=False)[1],
}


@pytest.mark.parametrize("name", CALLS)
def test_a_numpy_function_on_an_array_is_the_recorded_op(name):
    call = CALLS[name]
    x = xp.asarray(VALUES)
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = call(x)
    assert type(y) is xp.Array
    np.testing.assert_array_equal(np.asarray(y), call(VALUES))
    g = np.asarray(tape.gradient(y, x))
    v = np.cos(np.arange(6.0)).reshape(2, 3)
    h = 1e-6
    slope = (np.sum(call(VALUES + h * v)) - np.sum(call(VALUES - h * v))) / (2 * h)
    np.testing.assert_allclose(np.sum(g * v), slope, rtol=1e-7)


def test_facts_about_an_array_are_answered():
    x = xp.asarray(VALUES)
    assert (np.shape(x), np.ndim(x), np.size(x)) == ((2, 3), 2, 6)
    assert np.isrealobj(x)
    assert not np.iscomplexobj(x)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (np.spacing, "np.spacing"),
        (lambda x: np.add.outer(x, x), "add.outer"),
        (np.unwrap, "np.unwrap"),
        (lambda x: np.mean(x, where=VALUES > 1), "'where'"),
        (lambda x: np.sin(x, where=VALUES > 1), "where"),
    ],
)
def test_what_has_no_recorded_counterpart_raises_and_names_it(call, name):
    with pytest.raises(TypeError, match=name):
        call(xp.asarray(VALUES))


def test_writing_a_recorded_result_into_a_numpy_array_raises():
    plain, x = VALUES.copy(), xp.asarray(VALUES)
    with pytest.raises(TypeError, match="into a NumPy array"):
        plain += x
    np.testing.assert_array_equal(plain, VALUES)


def test_out_may_be_an_array():
    x, out = xp.asarray(VALUES), xp.zeros((2, 3))
    with xp.GradientTape() as tape:
        tape.watch(x)
        assert np.exp(x, out=out) is out
        y = xp.sum(out)
    np.testing.assert_allclose(np.asarray(tape.gradient(y, x)), np.exp(VALUES))
