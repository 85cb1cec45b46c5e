"""What gradient is given: the word for NaN, and arguments that do not fit."""

import inspect

import numpy as np
import pytest

import arraytape as xp
from arraytape import ForwardAccumulator, GradientTape
from helpers.tapes import square_slope

pytestmark = pytest.mark.any_storage


@pytest.fixture
def x():
    return xp.asarray(3.0)


# --- nan ------------------------------------------------------------------------------------------
def masked_root(x):
    return xp.where(x > 0, xp.sqrt(x), 0.0)


def test_a_nan_calls_for_the_guarded_pass(near, gradient):
    near(gradient(masked_root, [0.0, 4.0], nan="guard"), [0.0, 0.25])


def test_nan_keep_keeps_the_nan_and_runs_one_pass(monkeypatch, gradient):
    from arraytape._tape import differentiation

    monkeypatch.setattr(differentiation, "gradients_have_nan", None)  # no look at values
    g = np.asarray(gradient(masked_root, [0.0, 4.0], nan="keep"))
    assert np.isnan(g[0])
    assert g[1] == 0.25


def test_nan_keep_holds_to_second_order():
    x = xp.asarray([0.0, 4.0])
    with GradientTape() as outer:
        outer.watch(x)
        with GradientTape() as inner:
            inner.watch(x)
            y = xp.where(x > 0, x**1.5, 0.0)
        g = inner.gradient(y, x, nan="keep")
    assert np.isnan(np.asarray(outer.gradient(g, x, nan="keep"))[0])


# --- what was given is no Array -----------------------------------------------------------------
def test_a_float_target_names_where_its_value_left(x):
    with GradientTape() as tape:
        loss = float(square_slope(tape, x))
        line = inspect.currentframe().f_lineno - 1
    with pytest.raises(TypeError, match=rf"float 9\.0.*test_arguments\.py:{line} \(float"):
        tape.gradient(loss, x)


def test_the_last_exit_is_named(x):
    with GradientTape() as tape:
        y = square_slope(tape, x)
        float(y)
        loss = np.asarray(y).sum()
    with pytest.raises(TypeError, match=r"np\.asarray\(\)"):
        tape.gradient(loss, x)


def test_a_float_from_sklearns_loss_names_sklearns_line():
    sklearn = pytest.importorskip("sklearn")
    from sklearn.metrics import mean_squared_error

    x, y = xp.asarray([1.0, 2.0, 3.0]), xp.asarray([1.0, 1.0, 1.0])
    with sklearn.config_context(array_api_dispatch=True), GradientTape() as tape:
        tape.watch(x)
        loss = mean_squared_error(y, x)
    assert isinstance(loss, float)
    said = (
        r"test_arguments\.py:74 \(in sklearn\.metrics\.mean_squared_error, "
        r"at .*_regression\.py:\d+ \(float\(\)\)\)"
    )
    with pytest.raises(TypeError, match=said):
        tape.gradient(loss, x)


def test_without_an_exit_a_float_target_is_told_what_to_do(x):
    with GradientTape() as tape:
        tape.watch(x)
    with pytest.raises(TypeError, match=r"float 9\.0.*convert it with asarray before"):
        tape.gradient(9.0, x)


# --- bad input --------------------------------------------------------------------------------
def tape_with(x, persistent=False):
    with GradientTape(persistent) as tape:
        tape.watch(x)
        y = x * x
    return tape, y


ONE, TWO = xp.asarray([1.0, 2.0]), xp.asarray([3.0, 4.0])
BAD = {
    "float-source": (lambda t, y, x: t.gradient(y, 3.0), TypeError, ["source", "float 3.0"]),
    "numpy-source": (lambda t, y, x: t.gradient(y, np.ones(2)), TypeError, ["source", "float64(2,)"]),
    "numpy-scalar-source": (lambda t, y, x: t.gradient(y, np.float64(1)), TypeError, ["source"]),
    "none-source": (lambda t, y, x: t.gradient(y, None), TypeError, ["source may not be None"]),
    "only-none-sources": (lambda t, y, x: t.gradient(y, [None, {"a": None}]), TypeError, ["None"]),
    "str-source": (lambda t, y, x: t.gradient(y, "x"), TypeError, ["source", "str 'x'"]),
    "int-target": (lambda t, y, x: t.gradient(4, x), TypeError, ["target", "int 4", "asarray"]),
    "numpy-target": (lambda t, y, x: t.gradient(np.ones(2), x), TypeError, ["target", "ndarray"]),
    "none-target": (lambda t, y, x: t.gradient(None, x), TypeError, ["target may not be None"]),
    "nested-none-target": (lambda t, y, x: t.gradient([y, None], x), TypeError, ["None"]),
    "function-target": (lambda t, y, x: t.gradient(len, x), TypeError, ["target"]),
    "too-many-output-gradients": (
        lambda t, y, x: t.gradient(y, x, [ONE, ONE]), ValueError, ["output_gradients", "1"]),
    "too-few-output-gradients": (
        lambda t, y, x: t.gradient([y, y], x, [ONE]), ValueError, ["output_gradients", "2", "1"]),
    "one-output-gradient-for-two": (
        lambda t, y, x: t.gradient([y, y], x, ONE), ValueError, ["output_gradients"]),
    "none-among-output-gradients": (
        lambda t, y, x: t.gradient([y, y], x, [xp.ones(2), None]), TypeError, ["output_gradients[1]"]),
    "output-gradients-shape": (
        lambda t, y, x: t.gradient(y, x, xp.ones((3,))), ValueError, ["(3,)", "(2,)"]),
    "output-gradients-complex": (
        lambda t, y, x: t.gradient(y, x, xp.ones(2) * 1j), ValueError, ["complex128", "float64"]),
    "output-gradients-keys": (
        lambda t, y, x: t.gradient({"a": y}, x, {"b": ONE}), ValueError, ["'a'", "'b'"]),
    "unconnected": (
        lambda t, y, x: t.gradient(y, x, unconnected_gradients="ones"), ValueError, ["'ones'"]),
    "nan": (lambda t, y, x: t.gradient(y, x, nan="zero"), ValueError, ["'guard' or 'keep'", "zero"]),
    "watch-left-tape": (lambda t, y, x: t.watch(x), RuntimeError, ["watch()", "recording tape"]),
    "watch-never-entered": (
        lambda t, y, x: GradientTape().watch(x), RuntimeError, ["recording tape"]),
    "gradient-never-entered": (
        lambda t, y, x: GradientTape().gradient(y, x), RuntimeError, ["never recorded"]),
    "stop-left-tape": (
        lambda t, y, x: t.stop_recording().__enter__(), ValueError,
        ["Trying to stop recording a tape which is not recording"]),
    "stop-never-entered": (
        lambda t, y, x: GradientTape().stop_recording().__enter__(), ValueError, ["not recording"]),
    "persistent-array": (lambda t, y, x: GradientTape(x), TypeError, ["persistent", "float64(2,)"]),
    "watch-accessed-str": (
        lambda t, y, x: GradientTape(watch_accessed_variables="no"), TypeError,
        ["watch_accessed_variables", "str 'no'"]),
    "hand-on-left-tape": (
        lambda t, y, x: t.in_this_thread().__enter__(), RuntimeError, ["in_this_thread()"]),
}  # fmt: skip


@pytest.mark.parametrize("row", BAD)
def test_a_bad_argument_is_said_and_does_not_use_the_tape_up(row, near):
    call, error, says = BAD[row]
    x = xp.asarray([1.0, 2.0])
    tape, y = tape_with(x)
    with pytest.raises(error) as caught:
        call(tape, y, x)
    assert type(caught.value) is error
    for part in says:
        assert part in str(caught.value)
    near(tape.gradient(y, x), [2.0, 4.0])


def test_the_parameters_have_tensorflows_names_places_and_defaults():
    def parameters(function):
        found = [p for p in inspect.signature(function).parameters.values() if p.name != "self"]
        return [
            (p.name, getattr(p.default, "value", p.default))
            for p in found
            if p.kind is not p.KEYWORD_ONLY
        ]

    nothing = inspect.Parameter.empty
    assert parameters(GradientTape) == [("persistent", False), ("watch_accessed_variables", True)]
    assert parameters(GradientTape.watch) == [("x", nothing)]
    assert parameters(GradientTape.gradient) == [
        ("target", nothing), ("sources", nothing), ("output_gradients", None),
        ("unconnected_gradients", "none"),
    ]  # fmt: skip
    of_loops = [("parallel_iterations", None), ("experimental_use_pfor", True)]
    assert parameters(GradientTape.jacobian) == [
        ("target", nothing), ("sources", nothing), ("unconnected_gradients", "none"), *of_loops,
    ]  # fmt: skip
    assert parameters(GradientTape.batch_jacobian) == [
        ("target", nothing), ("source", nothing), ("unconnected_gradients", "none"), *of_loops,
    ]  # fmt: skip
    for method in (GradientTape.reset, GradientTape.stop_recording, GradientTape.watched_variables):
        assert parameters(method) == []
    assert parameters(ForwardAccumulator) == [("primals", nothing), ("tangents", nothing)]
    assert parameters(ForwardAccumulator.jvp) == [
        ("targets", nothing), ("unconnected_gradients", "none"),
    ]  # fmt: skip


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("of", ["gradient", "jacobian"])
def test_none_beside_arrays_has_none(of, persistent, near):
    x, w = xp.asarray([1.0, 2.0]), xp.Variable(3.0)
    sources = [x, {"bias": None, "w": w}, None]
    with GradientTape(persistent=persistent) as tape:
        tape.watch([x, None])
        y = xp.sum(x * x) * w
    first, second, third = getattr(tape, of)(y, sources)
    near(first, [6.0, 12.0])
    near(second["w"], 5.0)
    assert second["bias"] is None
    assert third is None
    if not persistent:
        with pytest.raises(RuntimeError, match="non-persistent"):
            tape.gradient(y, x)
