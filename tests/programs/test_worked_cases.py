"""Gradients of programs that write in place, and of scikit-learn's: worked cases."""

import warnings

import numpy as np
import pytest

import arraytape as xp
from arraytape import TapeWarning
from arraytape._storage.storage import storage_of
from helpers.numerics import (
    equal,
    gradient,
    near,
    printed,
    weighted,
)

pytestmark = pytest.mark.any_storage


def test_case_96_a_view_scaled_in_place_scales_the_gradient_of_its_part():
    def f(x):
        y = x * 1
        v = y[:2]
        v *= 10
        return xp.sum(y)

    equal(gradient(f, [1.0, 2.0, 3.0]), [10.0, 10.0, 1.0])


def test_case_97_a_slice_written_into_zeros_has_the_gradient_of_what_was_written():
    def f(x):
        z = xp.zeros(3)
        z[1:] = x[:2] ** 2
        return z * weighted([1, 10, 100])

    equal(gradient(f, [1.0, 2.0, 3.0]), [20.0, 400.0, 0.0])


def test_case_98_what_a_mask_overwrote_has_no_gradient():
    def f(x):
        z = x * 1
        z[z > 1.5] = 0
        return z

    equal(gradient(f, [1.0, 2.0, 3.0]), [1.0, 0.0, 0.0])


def test_case_98_adding_in_place_to_a_result_that_its_rule_needs():
    def f(x):
        y = xp.exp(x)
        y += 1
        return y

    near(gradient(f, [1.0, 2.0]), np.exp([1.0, 2.0]))


def test_case_101_of_repeated_indices_the_last_write_counts():
    x = xp.asarray([1.0, 2.0, 3.0])
    with xp.GradientTape() as tape:
        tape.watch(x)
        z = xp.zeros(3)
        z[xp.asarray([0, 0, 2])] = x
        y = xp.sum(z)
    lasting = float(z[0])  # on a GPU, threads write in any order
    assert lasting in ([2.0] if storage_of(z._data).ordered_writes else [1.0, 2.0])
    equal(np.asarray(z), [lasting, 0.0, 3.0])
    equal(np.asarray(tape.gradient(y, x)), [lasting == 1.0, lasting == 2.0, 1.0])


@pytest.fixture
def dispatching():
    sklearn = pytest.importorskip("sklearn")
    with sklearn.config_context(array_api_dispatch=True):
        yield


@pytest.mark.usefixtures("dispatching")
def test_case_102_the_standard_scaler_has_the_printed_gradient():
    from sklearn.preprocessing import StandardScaler

    found = gradient(
        lambda x: StandardScaler().fit(x).transform(x)[0, :], [[1.0], [3.0], [4.0], [0.0]]
    )
    printed(found[:, 0], [0.411096, -0.094868, -0.031623, -0.284605])


TRUTH, PREDICTION = [1.0, 2.0, 3.0], [1.5, 2.0, 5.0]


@pytest.mark.usefixtures("dispatching")
def test_case_104_a_metric_that_returns_a_float_says_where_the_gradient_was_lost():
    from sklearn.metrics import mean_squared_error

    truth, prediction = xp.asarray(TRUTH), xp.asarray(PREDICTION)
    with xp.GradientTape() as tape:
        tape.watch(prediction)
        loss = mean_squared_error(truth, prediction)
        target = xp.asarray(loss)
    assert type(loss) is float
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert tape.gradient(target, prediction) is None
    (warning,) = caught
    assert warning.category is TapeWarning
    message = str(warning.message).replace("\\", "/")
    assert "sklearn/metrics/_regression.py:" in message
    assert "float()" in message


@pytest.mark.usefixtures("dispatching")
def test_case_104_a_float_as_target_is_refused():
    from sklearn.metrics import mean_squared_error

    prediction = xp.asarray(PREDICTION)
    with xp.GradientTape() as tape:
        tape.watch(prediction)
        loss = mean_squared_error(xp.asarray(TRUTH), prediction)
    with pytest.raises(TypeError, match="target must be an Array, got float"):
        tape.gradient(loss, prediction)


@pytest.mark.usefixtures("dispatching")
def test_case_104_raw_values_keep_the_gradient():
    from sklearn.metrics import mean_squared_error

    found = gradient(
        lambda p: mean_squared_error(xp.asarray(TRUTH), p, multioutput="raw_values"), PREDICTION
    )
    near(found, [1 / 3, 0.0, 4 / 3])
