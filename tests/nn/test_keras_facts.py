"""Layers, activations, losses, metrics, optimizers and schedules against what Keras computed.

``tools/keras_facts.py`` wrote the file.  Names of classes and arguments are Keras's, so each case makes
the object of the same name from the same arguments.
"""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import arraytape as xp
from arraytape import nn, optimizers
from arraytape.testing import check_gradients

FILE = Path(__file__).with_name("keras_facts.npz")
# Sums are in another order: rounding, over ten steps.
LIMIT = {"rtol": 1e-11, "atol": 1e-12}
SINGLE = {"rtol": 1e-4, "atol": 1e-4}
# Keras rounds constants such as 0.2 to single precision, even where all arrays are in double precision.
ROUNDED = {"rtol": 2e-7, "atol": 2e-7}
RNG = np.random.default_rng(4)
HOMES = {
    "layer": nn,
    "activation": nn,
    "loss": nn.losses,
    "optimizer": optimizers,
    "schedule": optimizers.schedules,
    "metric": nn.metrics,
    "initializer": nn.initializers,
}


def read_cases():
    """Return the cases with their arrays."""
    with np.load(FILE) as file:
        cases, numbers = json.loads(str(file["cases"])), file["numbers"]
    start = 0
    for case in cases:
        for key, (shape, kind) in case["arrays"].items():
            stop = start + math.prod(shape)
            dtype = {"f": np.float64, "i": np.int64}[kind]
            case["arrays"][key] = numbers[start:stop].reshape(shape).astype(dtype)
            start = stop
    return cases


CASES = read_cases()


def cases(kind):
    """A mark with all cases of a kind."""
    found = [case for case in CASES if case["kind"] == kind]
    names = [f"{case['name']} {case.get('call') or ''}{case['options'] or ''}" for case in found]
    return pytest.mark.parametrize("case", found, ids=names)


def made(case, **further):
    return getattr(HOMES[case["kind"]], case["name"])(**case["options"], **further)


def limit_of(case):
    return ROUNDED if case.get("single") else LIMIT


def several(case, name):
    """The arrays name0, name1 ... of a case."""
    arrays = case["arrays"]
    return [arrays[f"{name}{i}"] for i in range(len(arrays)) if f"{name}{i}" in arrays]


def equal(found, expected, limit=LIMIT):
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert tuple(one.shape) == np.shape(other)
        np.testing.assert_allclose(np.asarray(one), other, **limit)


def results_of(layer, inputs, call):
    y = layer(*inputs, **call)
    return list(y) if isinstance(y, tuple) else [y]


def sum_of_sines(results):
    return sum(xp.sum(xp.sin(y)) for y in results)


def layer_with_weights(case, dtype=xp.float64):
    """A layer with Keras's weights, its inputs, and the arguments of its call."""
    layer = made(case)
    inputs = [xp.asarray(x, dtype=dtype) for x in several(case, "input")]
    layer(*inputs, **case["call"])
    layer.set_weights([w.astype(dtype) for w in several(case, "weight")])
    return layer, inputs, case["call"]


# --- layers ------------------------------------------------------------------------------------------
@cases("layer")
def test_results_and_gradients_of_layers_are_keras(case):
    layer, inputs, call = layer_with_weights(case)
    with xp.GradientTape() as tape:
        for x in inputs:
            tape.watch(x)
        results = results_of(layer, inputs, call)
        total = sum_of_sines(results)
    equal(results, several(case, "result"), limit_of(case))
    equal(
        tape.gradient(total, [*inputs, *layer.trainable_weights], unconnected_gradients="zero"),
        several(case, "gradient"),
        limit_of(case),
    )


@cases("layer")
def test_weights_after_ten_steps_are_keras(case):
    layer, inputs, call = layer_with_weights(case)
    optimizer = optimizers.SGD(0.01)
    for _ in range(10 if layer.trainable_weights else 0):
        with xp.GradientTape() as tape:
            total = sum_of_sines(results_of(layer, inputs, call))
        own = layer.trainable_weights
        gradients = tape.gradient(total, own, unconnected_gradients="zero")
        optimizer.apply_gradients(zip(gradients, own, strict=True))
    equal(layer.get_weights(), several(case, "final"), limit_of(case))


@cases("layer")
def test_layers_in_single_precision_are_near_keras(case):
    layer, inputs, call = layer_with_weights(case, xp.float32)
    found = results_of(layer, inputs, call)
    assert all(y.dtype == xp.float32 for y in found)
    equal(found, several(case, "result"), SINGLE)


ONE_EACH = {case["name"]: case for case in CASES if case["kind"] == "layer"}


@pytest.mark.parametrize("name", ONE_EACH)
def test_second_derivatives_of_layers_against_differences(name):
    layer, inputs, call = layer_with_weights(ONE_EACH[name])
    if "training" in call:
        call = {"training": False}
    data = [RNG.normal(size=(1, *x.shape[1:])) for x in inputs]
    check_gradients(lambda *inputs: sum_of_sines(results_of(layer, inputs, call)), data)


# --- activations -------------------------------------------------------------------------------------
@cases("activation")
def test_activations_are_keras(case):
    arrays = case["arrays"]
    function = getattr(nn, case["name"])
    x = xp.asarray(arrays["x"])
    with xp.GradientTape() as outer:
        outer.watch(x)
        with xp.GradientTape() as inner:
            inner.watch(x)
            y = function(x, **case["options"])
            total = xp.sum(xp.sin(y))
        first = inner.gradient(total, x)
    second = outer.gradient(first, x)
    equal([y, first, second], [arrays["y"], arrays["first"], arrays["second"]], limit_of(case))


# --- losses ------------------------------------------------------------------------------------------
@cases("loss")
def test_losses_are_keras(case):
    arrays = case["arrays"]
    x = xp.asarray(arrays["predictions"])
    for key in [key.removeprefix("value/") for key in arrays if key.startswith("value/")]:
        reduction, weighted = key.split("/")
        loss = made(case, reduction=None if reduction == "None" else reduction)
        weights = arrays["weights"] if weighted == "True" else None
        with xp.GradientTape() as tape:
            tape.watch(x)
            value = loss(arrays["labels"], x, sample_weight=weights)
        found = [value, tape.gradient(value, x)]
        equal(found, [arrays[f"value/{key}"], arrays[f"gradient/{key}"]])


@cases("loss")
def test_second_derivatives_of_losses_against_differences(case):
    loss, arrays = made(case), case["arrays"]
    check_gradients(lambda x: loss(arrays["labels"], x), [arrays["predictions"]])
    single = xp.asarray(arrays["predictions"], dtype=xp.float32)
    assert loss(arrays["labels"], single).dtype == xp.float32


# --- optimizers --------------------------------------------------------------------------------------
@cases("optimizer")
def test_variables_and_slots_after_ten_steps_are_keras(case):
    arrays = case["arrays"]
    variables = [xp.Variable(start) for start in several(case, "start")]
    optimizer = made(case)
    for step in range(10):
        gradients = [xp.asarray(arrays[f"gradient{step}.{i}"]) for i in range(2)]
        optimizer.apply_gradients(zip(gradients, variables, strict=True))
    equal(variables, several(case, "final"), limit_of(case))
    slots = [np.asarray(v) for several in optimizer.slots.values() for v in several]
    for expected in several(case, "slot"):
        assert any(
            slot.shape == expected.shape and np.allclose(slot, expected, **limit_of(case))
            for slot in slots
        )


@cases("schedule")
def test_schedules_are_keras(case):
    equal([made(case)(xp.arange(16))], [case["arrays"]["rates"]], limit_of(case))


# --- metrics and initializers ------------------------------------------------------------------------
@cases("metric")
def test_metrics_are_keras(case):
    arrays, metric = case["arrays"], made(case)
    for batch in range(2):
        given = several(case, f"given{batch}.")
        metric.update_state(*given, sample_weight=arrays[f"weights{batch}"] if batch else None)
        equal([metric.result()], [arrays[f"result{batch}"]])


@cases("initializer")
def test_the_distributions_of_initializers_are_keras(case):
    values = made(case)((8, 25, 40, 50), generator=0)
    mean, spread, greatest = case["arrays"]["moments"]
    assert abs(np.mean(values) - mean) <= 0.01 * spread
    np.testing.assert_allclose(np.std(values), spread, rtol=0.01)
    if case["name"] not in ("RandomNormal", "Orthogonal"):  # distributions without a limit
        np.testing.assert_allclose(np.abs(values).max(), greatest, rtol=1e-3)
