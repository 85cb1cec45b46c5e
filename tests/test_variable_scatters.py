"""Variable: TensorFlow's methods and parameters.  ``test_tensorflow_pages`` has TensorFlow's values."""

import copy
import pickle
from types import SimpleNamespace

import numpy as np
import pytest

import arraytape as xp
from arraytape import GradientTape, IndexedSlices, Variable, optimizers

pytestmark = pytest.mark.any_storage

# A function of NumPy for each word, which counts each value of a repeated index.
AT = {
    "add": np.add.at,
    "sub": np.subtract.at,
    "mul": np.multiply.at,
    "div": np.divide.at,
    "max": np.maximum.at,
    "min": np.minimum.at,
    "update": lambda x, key, value: x.__setitem__(key, value),
}
ROWS = [0, 2, 0]
START = np.asarray([[1.0, -2.0], [3.0, 0.5], [5.0, 4.0]])
VALUES = np.asarray([[10.0, -20.0], [0.5, 6.0], [2.0, -30.0]])


@pytest.fixture
def v():
    return Variable(START, name="v")


@pytest.mark.parametrize("word", AT)
def test_a_scatter_writes_to_rows_as_numpy_does(word, v):
    wanted = START.copy()
    AT[word](wanted, ROWS, VALUES)
    assert getattr(v, f"scatter_{word}")(IndexedSlices(VALUES, ROWS)) is v
    np.testing.assert_array_equal(v.tolist(), wanted)


@pytest.mark.parametrize("word", [word for word in AT if hasattr(Variable, f"scatter_nd_{word}")])
@pytest.mark.parametrize("points", [[[0, 1], [2, 0], [0, 1]], [[0], [2], [0]]])
def test_a_scatter_writes_to_points_as_numpy_does(word, points, v):
    wanted, values = START.copy(), VALUES[:, 0] if len(points[0]) == 2 else VALUES
    AT[word](wanted, tuple(np.moveaxis(np.asarray(points), -1, 0)), values)
    assert getattr(v, f"scatter_nd_{word}")(xp.asarray(points), xp.asarray(values)) is v
    np.testing.assert_array_equal(v.tolist(), wanted)


def test_five_scatters_take_points():
    assert [word for word in AT if hasattr(Variable, f"scatter_nd_{word}")] == [
        "add",
        "sub",
        "max",
        "min",
        "update",
    ]


def test_slices_may_be_any_object_and_values_broadcast(v, near):
    v.scatter_add(
        SimpleNamespace(indices=xp.asarray([0, 0]), values=1.0), use_locking=True, name="a"
    )
    near(v, START + np.asarray([[2.0], [0.0], [0.0]]))
    v.scatter_update(IndexedSlices(7.0, 1))
    near(v[1], [7.0, 7.0])


def test_a_scatter_is_an_assignment_that_no_tape_records(v, near):
    with GradientTape() as tape:
        y = xp.sum(v * v)
        v.scatter_add(IndexedSlices([1.0], [0]))
        z = xp.sum(v * v)
    near(tape.gradient([y, z], v), 2 * (2 * START + [[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]]))


def test_reads_of_rows_and_points_are_recorded(v, near):
    with GradientTape(persistent=True) as tape:
        rows = v.sparse_read(ROWS) ** 2
        grid = v.sparse_read([[0, 1], [1, 2]])
        points = v.gather_nd([[0, 1], [0, 1], [2, 0]], name="points") ** 2
        parts = v.gather_nd([[2]])
    assert (rows.shape, grid.shape, points.shape, parts.shape) == ((3, 2), (2, 2, 2), (3,), (1, 2))
    near(tape.gradient(rows, v), 2 * START * [[2.0], [0.0], [1.0]])
    near(tape.gradient(grid, v), [[1.0, 1.0], [2.0, 2.0], [1.0, 1.0]])
    near(tape.gradient(points, v), [[0.0, -8.0], [0.0, 0.0], [10.0, 0.0]])
    near(tape.gradient(parts, v), [[0.0, 0.0], [0.0, 0.0], [1.0, 1.0]])


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda v: v.scatter_add(3.0), TypeError, r"give xp\.IndexedSlices\(values, indices\)"),
        (lambda v: v.scatter_add({"indices": [0]}), TypeError, r"give xp\.IndexedSlices"),
        (lambda v: v.scatter_add(IndexedSlices([1.0], [9])), IndexError, "index"),
        (lambda v: v.scatter_nd_max([[0, 9]], [1.0]), IndexError, "index"),
        (lambda v: v.scatter_update(IndexedSlices([1.0], [0.5])), IndexError, "ind"),
        (lambda v: v.scatter_mul(IndexedSlices([1.0] * 3, ROWS)), ValueError, "broadcast"),
        (
            lambda v: v.scatter_sub(IndexedSlices([1j], [0])),
            ValueError,
            "dtype of the Variable 'v'",
        ),
        (
            lambda v: v.scatter_nd_add([[0]], xp.ones((1, 2), dtype=xp.float32)),
            ValueError,
            "dtype of the Variable 'v'",
        ),
    ],
)
def test_a_refused_scatter_changes_nothing(call, error, match, v, near):
    # CuPy itself has no error for an index out of range.
    with xp.diagnose.check_indices(), pytest.raises(error, match=match):
        call(v)
    near(v, START)


# --- parameters and names of TensorFlow's -------------------------------------------------------------
def test_an_initial_value_may_be_a_function(near):
    near(Variable(lambda: xp.ones(3), dtype=xp.float32), [1.0, 1.0, 1.0])
    assert Variable(initial_value=lambda: 2.0).dtype == xp.float64


@pytest.mark.parametrize("shape", [(3, 2), [3, 2], (None, 2), (None, None)])
def test_a_shape_that_fits_is_accepted(shape):
    assert Variable(START, shape=shape).shape == (3, 2)


@pytest.mark.parametrize("shape", [(2, 3), (3,), (None,), (), (None, 3)])
def test_another_shape_is_refused(shape):
    with pytest.raises(ValueError, match=r"does not have the shape \("):
        Variable(START, shape=shape)


def test_synchronization_and_aggregation_have_no_effect(near):
    near(Variable(1.0, synchronization="auto", aggregation=None) * 2.0, 2.0)


def test_an_optimizer_assigns_the_result_of_a_constraint(near):
    v = Variable([2.0, -1.0], constraint=lambda x: xp.clip(x, 0.0, 1.0))
    near(v.assign([3.0, -3.0]), [3.0, -3.0])
    optimizers.SGD(1.0).apply_gradients([(xp.asarray([0.0, -1.0]), v)])
    near(v, [1.0, 0.0])
    assert copy.copy(v).constraint is v.constraint
    assert Variable(1.0).constraint is None
    with pytest.raises(TypeError, match="constraint must be a function, got float"):
        Variable(1.0, constraint=1.0)


@pytest.mark.parametrize("method", ["assign", "assign_add", "assign_sub"])
def test_options_of_an_assignment_have_no_effect(method, v):
    assert getattr(v, method)(START, use_locking=True, name="a", read_value=False) is v


def test_a_number_for_each_element_is_refused_with_advice_that_works(v, near):
    with pytest.raises(ValueError, match=r"write v\[\.\.\.\] = value"):
        v.assign(3.0)
    v[...] = 3.0
    near(v, np.full((3, 2), 3.0))
    with pytest.raises(ValueError, match=r"float64\(2,\).* does not fit [^;]*$"):
        v.assign([1.0, 2.0])


def test_a_reference_is_a_key_and_finds_the_variable(v):
    other = Variable(START, name="v")
    found = {v.ref(): 1, other.ref(): 2}
    assert (found[v.ref()], found[other.ref()]) == (1, 2)
    assert v.ref().deref() is v
    assert v.ref() != other.ref()
    assert v.ref() != v.name
    assert repr(v.ref()).startswith("<Reference wrapping Variable(")


def test_read_value_is_a_snapshot_that_tapes_follow(v, near):
    with GradientTape() as tape:
        before = v.read_value()
        v.assign_add(START)
        y = before * 3.0
    near(before, START)
    near(tape.gradient(y, v), np.full((3, 2), 3.0))


def clipped(x):
    return xp.clip(x, 0.0, 1.0)


def test_a_pickle_keeps_the_constraint():
    v = pickle.loads(pickle.dumps(Variable([1.0], name="w", constraint=clipped)))
    assert v.constraint is clipped
    assert v.name == "w"


def test_indices_are_integers():
    v = Variable([1.0, 2.0])
    with pytest.raises(IndexError, match="indices must be integers, got Array bool"):
        v.scatter_update(IndexedSlices([3.0], [True, False]))
    assert v.scatter_add(IndexedSlices([], [])).tolist() == [1.0, 2.0]
