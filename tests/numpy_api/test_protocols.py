"""NumPy's own functions on Arrays are the recorded ops, or raise: they never leave in silence."""

import inspect

import numpy as np
import pytest

import arraytape as xp
from arraytape._numpy_api import protocols
from arraytape._numpy_api.protocols import COUNTERPARTS
from arraytape.testing import check_gradients

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
    "average": np.average,
    "average over an axis": lambda x: np.average(x, axis=1, keepdims=True),
    "weighted average": lambda x: np.average(x, axis=1, weights=[0.5, 1.0, 2.0]),
    "weights of some axes": lambda x: np.average(
        np.stack([x, x * x]), axis=(2, 0), weights=VALUES.T + 1.0
    ),
    "average weighted by the array": lambda x: np.average(VALUES, weights=x),
    "unique": np.unique,
    "unique with an inverse": lambda x: np.unique(x, return_inverse=True)[0],
    "unique rows": lambda x: np.unique(np.concatenate([x, x]), axis=0),
    "dot": lambda x: np.dot(x, np.ones((3, 2))),
    "dot of stacks": lambda x: np.dot(x, np.stack([VALUES.T, 2.0 * VALUES.T])),
    "dot with a scalar": lambda x: np.dot(2.0, x),
    "atleast_2d": lambda x: np.atleast_2d(x[0]),
    "atleast_1d of several": lambda x: np.atleast_1d(x, 2.0)[0],
    "diff": lambda x: np.diff(x, 2),
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


@pytest.mark.parametrize("function", COUNTERPARTS, ids=lambda function: function.__name__)
def test_a_counterpart_has_numpys_first_two_positions(function):
    def positions(f):
        kinds = [p.kind for p in inspect.signature(f).parameters.values()]
        named = [kind for kind in kinds if kind not in (kind.KEYWORD_ONLY, kind.VAR_KEYWORD)]
        return 2 if inspect.Parameter.VAR_POSITIONAL in named else min(len(named), 2)

    assert positions(COUNTERPARTS[function]) >= positions(function)


@pytest.fixture
def no_signatures_of_c(monkeypatch):
    """Take the signatures of functions in C away, which have none before NumPy 2.4."""
    in_c = {np.dot, np.concatenate, np.where}

    def signature(function):
        if function in in_c:
            raise ValueError("no signature found")
        return inspect.signature(function)

    monkeypatch.setattr(protocols, "signature", signature)


@pytest.mark.usefixtures("no_signatures_of_c")
@pytest.mark.parametrize("function", [np.dot, np.concatenate])
def test_functions_in_c_need_no_signature(function):
    def call(x, **out):
        return function(*(((x, x + 1.0),) if function is np.concatenate else (x, x + 1.0)), **out)

    x, values = xp.asarray(VALUES[:, :2]), VALUES[:, :2]
    np.testing.assert_array_equal(np.asarray(call(x)), call(values))
    np.testing.assert_array_equal(np.asarray(call(x, out=None)), call(values))
    out = xp.zeros(call(values).shape)
    assert call(x, out=out) is out
    np.testing.assert_array_equal(np.asarray(out), call(values))
    with pytest.raises(TypeError, match="NumPy array"):
        call(x, out=np.zeros(out.shape))
    assert np.where(x > 0.5, x, 0.0).tolist() == np.where(values > 0.5, values, 0.0).tolist()


@pytest.mark.usefixtures("no_signatures_of_c")
def test_a_product_of_several_matrices_needs_no_signatures():
    check_gradients(lambda x: np.linalg.multi_dot([x, x + 1.0, x]), [VALUES[:, :2]])


def test_facts_about_an_array_are_answered():
    x = xp.asarray(VALUES)
    assert (np.shape(x), np.ndim(x), np.size(x)) == ((2, 3), 2, 6)
    assert np.isrealobj(x)
    assert not np.iscomplexobj(x)


ANSWERS = {
    "allclose": lambda x: np.allclose(x, VALUES + 1e-12),
    "array_equal": lambda x: np.array_equal(x, VALUES[:1]),
    "array_equiv": lambda x: np.array_equiv(x, VALUES),
    "isclose": lambda x: np.isclose(x, 0.3),
    "indices of unique values": lambda x: np.unique(x, return_index=True)[1],
    "counts": lambda x: np.unique(np.round(x), return_counts=True)[1],
    "inverse": lambda x: np.unique(np.round(x), return_inverse=True)[1],
    "sums of weights": lambda x: np.average(x, weights=VALUES, axis=0, returned=True)[1],
    "where": lambda x: np.where(x > 0.5)[1],
}


@pytest.mark.parametrize("name", ANSWERS)
def test_what_has_no_gradient_is_answered(name):
    found, expected = ANSWERS[name](xp.asarray(VALUES)), ANSWERS[name](VALUES)
    assert type(found) is (type(expected) if isinstance(expected, bool) else xp.Array)
    np.testing.assert_array_equal(np.asarray(found), expected)
    assert np.asarray(found).dtype == np.asarray(expected).dtype


def test_arrays_share_memory_as_numpys_do():
    x = xp.asarray(VALUES)
    assert np.may_share_memory(x, x[1:])
    assert not np.may_share_memory(x, x * 1.0)
    assert np.may_share_memory(x, np.asarray(x))
    assert not np.may_share_memory(x, np.array(x))


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"weights": np.ones(3)}, TypeError),
        ({"weights": np.ones(3), "axis": 0}, ValueError),
        ({"weights": [1.0, -1.0], "axis": 0}, ZeroDivisionError),
    ],
)
def test_averages_that_numpy_refuses_are_refused(options, error):
    for values in (VALUES, xp.asarray(VALUES)):
        with pytest.raises(error):
            np.average(values, **options)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (np.spacing, "np.spacing"),
        (lambda x: np.power.reduceat(x, [0, 1]), "power.reduceat"),
        (lambda x: np.spacing.at(x, 0), "spacing.at"),
        (np.packbits, "np.packbits"),
        (np.frompyfunc(abs, 1, 1), "the ufunc abs"),
        (lambda x: np.sin(x, where=VALUES > 1), "where"),
        (lambda x: np.equal(x, 1, dtype="float32"), "np.equal"),
        (lambda x: np.add(x, 1, dtype="longdouble"), "dtype=float128|dtype=longdouble"),
        (lambda x: np.add(x, np.ones(3, "int8"), casting="no"), "np.add"),
        (lambda x: np.power.reduce(x, initial=2.0), "power.reduce with initial"),
        (lambda x: np.sum(x, axis=0, out=np.zeros(3)), "np.sum"),
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


class Labelled(np.lib.mixins.NDArrayOperatorsMixin):
    """A wrapper of arrays, as those with units or labels: it knows what to do with ours."""

    def __init__(self, data):
        self.data = data

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        return Labelled(getattr(ufunc, method)(*map(bare, inputs), **options))

    def __array_function__(self, function, types, args, kwargs):
        return Labelled(function(*map(bare, args), **kwargs))


def bare(value):
    return value.data if isinstance(value, Labelled) else value


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.multiply(x, Labelled(x)),
        lambda x: x * Labelled(x),
        lambda x: np.where(x > 0.5, Labelled(x), x),
        lambda x: np.add.reduce(Labelled(x), axis=1),
        lambda x: np.concatenate([x, x], axis=0) + Labelled(x[0]),
    ],
)
def test_what_wraps_arrays_is_asked_what_to_do(call):
    x = xp.asarray(VALUES)
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = call(x)
    assert type(y) is Labelled
    np.testing.assert_array_equal(np.asarray(y.data), call(VALUES).data)
    assert tape.gradient(y.data, x) is not None


def test_a_ufunc_computes_in_the_dtype_asked_for():
    x = xp.asarray(VALUES)
    for call in (
        lambda x: np.add(x, 1e-9, dtype=np.float32),
        lambda x: np.sqrt(x, dtype=np.complex128, casting="unsafe"),
        lambda x: np.multiply(x, 2, order="K", subok=True),
    ):
        assert call(x).dtype == call(VALUES).dtype
        np.testing.assert_array_equal(np.asarray(call(x)), call(VALUES))


def test_out_holds_what_casting_allows():
    x, whole = xp.asarray(VALUES), xp.zeros((2, 3), dtype=xp.int64)
    with pytest.raises(TypeError, match="same_kind"):
        np.multiply(x, 3.0, out=whole)
    with pytest.raises(TypeError, match="same_kind"):
        np.sum(x, axis=0, out=whole[0])
    np.multiply(x, 3.0, out=whole, casting="unsafe")
    np.testing.assert_array_equal(np.asarray(whole), (3.0 * VALUES).astype(int))


def test_several_results_are_written_by_out_and_followed():
    x = xp.asarray(VALUES)
    quotient, rest = xp.zeros((2, 3)), xp.zeros((2, 3))
    with xp.GradientTape() as tape:
        tape.watch(x)
        found = np.divmod(x * x, 0.5, out=(quotient, rest))
    assert found[0] is quotient
    assert found[1] is rest
    assert np.array_equal(np.asarray(rest), VALUES**2 % 0.5)
    assert np.array_equal(np.asarray(tape.gradient(rest, x)), 2.0 * VALUES)


def test_one_of_several_results_may_be_written_by_out():
    x, rest = xp.asarray(VALUES), xp.zeros((2, 3))
    found = np.divmod(x, 0.5, out=(None, rest))
    assert found[1] is rest
    assert np.array_equal(np.asarray(found[0]), VALUES // 0.5)
    with pytest.raises(
        TypeError, match=r"np\.divmod with where"
    ):  # what it makes has no values there
        np.divmod(x, 0.5, out=(None, rest), where=x > 0.0)


def test_windows_along_axes_counted_from_the_end_are_numpys():
    windows = np.lib.stride_tricks.sliding_window_view
    found = windows(xp.asarray(VALUES), (2, 2), (-1, -2))
    np.testing.assert_array_equal(np.asarray(found), windows(VALUES, (2, 2), (-1, -2)))


def test_the_mean_method_of_integers_is_numpys():
    x = np.arange(6).reshape(2, 3)
    for name in ("mean", "std", "var"):
        found, expected = getattr(xp.asarray(x), name)(axis=1), getattr(x, name)(axis=1)
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-15)
        assert found.dtype == expected.dtype
