"""Record what Keras computes, for tests that compare arraytape with it and need no TensorFlow.

    pip install tensorflow                 # in an environment of its own
    python tools/keras_facts.py            # writes tests/nn/keras_facts.npz: a minute

For each layer, activation, loss, metric, optimizer, schedule and initializer the file has the case (the
class and its arguments), the inputs and, in double precision, what Keras gives: values, gradients, and
states after ten steps of gradient descent.  ``tests/nn/test_keras_facts.py`` reads it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

FILE = Path(__file__).parents[1] / "tests" / "nn" / "keras_facts.npz"
STEPS = 10
RATE = 0.01
IMAGES, SERIES, ROWS = (2, 5, 4, 2), (2, 5, 3), (4, 3)
Case = dict[str, Any]


def single(case: Case) -> Case:
    """Mark a case in which Keras rounds a constant, such as a slope of 0.2, to single precision."""
    return {**case, "single": True}


def layer(name: str, *shapes: Sequence[int], call: Case | None = None, **options: Any) -> Case:
    """Return a layer's case: its class, the shapes of its inputs, and its arguments."""
    return {"kind": "layer", "name": name, "shapes": shapes, "call": call or {}, "options": options}


RECURRENT = [{}, {"return_sequences": True}, {"return_state": True}, {"use_bias": False},
    {"go_backwards": True, "return_sequences": True, "return_state": True},
    {"activation": "relu", "recurrent_activation": "hard_sigmoid"}]  # fmt: skip
LAYERS = [
    layer("Dense", ROWS, units=4),
    layer("Dense", SERIES, units=2, use_bias=False, activation="softmax"),
    *(layer("Dense", ROWS, units=4, activation=name) for name in (
        "relu", "sigmoid", "softplus", "tanh", "log_softmax", "elu", "selu", "silu", "swish",
        "hard_sigmoid", "linear",
    )),
    *(single(layer("Dense", ROWS, units=4, activation=name)) for name in ("gelu", "leaky_relu")),
    layer("Conv1D", SERIES, filters=4, kernel_size=3),
    layer("Conv1D", SERIES, filters=4, kernel_size=3, padding="same", strides=2, activation="tanh"),
    layer("Conv1D", SERIES, filters=4, kernel_size=2, padding="causal", dilation_rate=2),
    layer("Conv2D", IMAGES, filters=3, kernel_size=3),
    layer("Conv2D", IMAGES, filters=3, kernel_size=(2, 3), padding="same", strides=(2, 1)),
    layer("Conv2D", IMAGES, filters=3, kernel_size=3, strides=2, padding="same", use_bias=False),
    layer("Conv2D", IMAGES, filters=3, kernel_size=2, dilation_rate=(2, 1), activation="relu"),
    *(layer("Conv2DTranspose", IMAGES, filters=3, kernel_size=size, strides=strides, padding=padding)
      for padding in ("valid", "same")
      for size, strides in ((3, 1), (3, 2), (5, 2), (4, 2), (2, 3), ((3, 2), (1, 2)))),
    layer("Conv2DTranspose", IMAGES, filters=2, kernel_size=3, use_bias=False, activation="relu"),
    *(layer(f"{kind}Pooling1D", SERIES, pool_size=3, strides=stride, padding=padding)
      for kind in ("Max", "Average") for stride, padding in ((None, "valid"), (2, "same"))),
    *(layer(f"{kind}Pooling2D", IMAGES, pool_size=size, strides=stride, padding=padding)
      for kind in ("Max", "Average")
      for size, stride, padding in ((2, None, "valid"), ((2, 3), 2, "same"))),
    *(layer(f"Global{kind}Pooling{axes}D", SERIES if axes == 1 else IMAGES, keepdims=kept)
      for kind in ("Max", "Average") for axes in (1, 2) for kept in (False, True)),
    layer("BatchNormalization", IMAGES),
    layer("BatchNormalization", IMAGES, call={"training": True}),
    layer("BatchNormalization", SERIES, call={"training": True}, axis=1, momentum=0.8, epsilon=1e-2),
    layer("BatchNormalization", ROWS, call={"training": True}, center=False, scale=False),
    layer("LayerNormalization", SERIES),
    layer("LayerNormalization", SERIES, axis=[1, 2], epsilon=1e-2, center=False),
    layer("Dropout", ROWS, rate=0.5),
    layer("Flatten", SERIES),
    layer("Reshape", SERIES, target_shape=[3, 5]),
    layer("Reshape", SERIES, target_shape=[-1, 1, 3]),
    single(layer("LeakyReLU", ROWS)),
    layer("LeakyReLU", ROWS, negative_slope=0.0625),
    *(layer("ZeroPadding2D", IMAGES, **options)
      for options in ({}, {"padding": [1, 2]}, {"padding": [[0, 1], [2, 0]]})),
    *(layer("Cropping2D", IMAGES, cropping=cropping) for cropping in (1, [2, 1], [[0, 1], [2, 0]])),
    layer("UpSampling2D", IMAGES),
    layer("UpSampling2D", IMAGES, size=[1, 3]),
    single(layer("UpSampling2D", IMAGES, size=[2, 4], interpolation="bilinear")),
    *(layer("LSTM", SERIES, units=4, **options)
      for options in (*RECURRENT, {"unit_forget_bias": False})),
    *(layer("GRU", SERIES, units=4, reset_after=after, **options)
      for options in RECURRENT for after in (True, False)),
    layer("MultiHeadAttention", (2, 4, 6), (2, 5, 3), num_heads=2, key_dim=4),
    single(layer("MultiHeadAttention", (2, 4, 6), (2, 5, 3), (2, 5, 2), num_heads=2, key_dim=3,
                 value_dim=4, output_shape=5)),
    layer("MultiHeadAttention", (2, 4, 6), (2, 4, 3), num_heads=1, key_dim=4, use_bias=False,
          call={"use_causal_mask": True}),
    layer("MultiHeadAttention", (2, 2, 6), (2, 3, 3), num_heads=2, key_dim=4,
          call={"return_attention_scores": True,
                "attention_mask": [[[True, False, True], [True, True, True]],
                                   [[False, True, False], [False, True, True]]]}),
    layer("MultiHeadAttention", (2, 3, 6), (2, 3, 3), num_heads=2, key_dim=4,
          call={"use_causal_mask": True, "attention_mask": [[[False, True, True]] * 3] * 2}),
]  # fmt: skip

EDGES = [-60.0, -4.0, -3.0, -1.5, -0.3, 0.0, 0.4, 1.0, 2.5, 3.0, 5.0, 60.0]
ACTIVATIONS: list[Case] = [
    {"kind": "activation", "name": name, "options": options}
    for name, options in (
        ("relu", {}), ("sigmoid", {}), ("softplus", {}), ("tanh", {}), ("softmax", {}),
        ("log_softmax", {}), ("elu", {}), ("elu", {"alpha": 0.5}), ("selu", {}),
        ("leaky_relu", {"negative_slope": 0.125}), ("silu", {}), ("hard_sigmoid", {}), ("linear", {}),
    )
] + [
    single({"kind": "activation", "name": name, "options": options})
    for name, options in (("gelu", {}), ("gelu", {"approximate": True}), ("leaky_relu", {}))
]  # fmt: skip

REDUCTIONS = ["sum_over_batch_size", "sum", "mean", "mean_with_sample_weight", "none", None]
LOSSES: list[Case] = [
    {"kind": "loss", "name": name, "options": options, "labels": labels, "predictions": predictions}
    for name, options, labels, predictions in (
        ("MeanSquaredError", {}, "numbers", "numbers"),
        ("MeanAbsoluteError", {}, "numbers", "numbers"),
        ("Huber", {}, "numbers", "numbers"),
        ("Huber", {"delta": 0.3}, "numbers", "numbers"),
        ("KLDivergence", {}, "shares", "shares"),
        ("CosineSimilarity", {}, "numbers", "numbers"),
        ("CosineSimilarity", {"axis": 0}, "numbers", "numbers"),
        ("BinaryCrossentropy", {}, "bits", "chances"),
        ("BinaryCrossentropy", {"from_logits": True}, "bits", "numbers"),
        ("BinaryCrossentropy", {"from_logits": True, "label_smoothing": 0.2}, "bits", "numbers"),
        ("BinaryCrossentropy", {"label_smoothing": 0.2}, "bits", "chances"),
        ("CategoricalCrossentropy", {}, "shares", "shares"),
        ("CategoricalCrossentropy", {}, "shares", "chances"),
        ("CategoricalCrossentropy", {"from_logits": True}, "shares", "numbers"),
        ("CategoricalCrossentropy", {"from_logits": True, "label_smoothing": 0.1}, "shares", "numbers"),
        ("SparseCategoricalCrossentropy", {}, "classes", "shares"),
        ("SparseCategoricalCrossentropy", {}, "classes", "chances"),
        ("SparseCategoricalCrossentropy", {"from_logits": True}, "classes", "numbers"),
    )
]  # fmt: skip

# Binary fractions, which single precision holds exactly.
ADAM = {"learning_rate": 0.125, "beta_1": 0.875, "beta_2": 0.96875, "epsilon": 2.0**-10}
RMSPROP = {"learning_rate": 0.125, "rho": 0.875, "epsilon": 2.0**-10}
OPTIMIZERS: list[Case] = [
    {"kind": "optimizer", "name": name, "options": options}
    for name, options in (
        ("SGD", {"learning_rate": 0.125}), ("SGD", {"learning_rate": 0.125, "momentum": 0.875}),
        ("SGD", {"learning_rate": 0.125, "momentum": 0.875, "nesterov": True}),
        ("SGD", {"learning_rate": 0.125, "weight_decay": 0.125}),
        ("SGD", {"learning_rate": 0.125, "clipnorm": 0.5}),
        ("SGD", {"learning_rate": 0.125, "clipvalue": 0.125}),
        ("SGD", {"learning_rate": 0.125, "global_clipnorm": 0.5}),
        ("Adam", ADAM), ("Adam", {**ADAM, "amsgrad": True}), ("Adam", {**ADAM, "weight_decay": 0.125}),
        ("AdamW", {**ADAM, "weight_decay": 0.125}),
        ("RMSprop", RMSPROP), ("RMSprop", {**RMSPROP, "momentum": 0.5}),
        ("RMSprop", {**RMSPROP, "centered": True, "momentum": 0.5}),
        ("Adagrad", {"learning_rate": 0.5, "initial_accumulator_value": 0.0, "epsilon": 2.0**-10}),
        ("Lion", {"learning_rate": 0.125, "beta_1": 0.875, "beta_2": 0.96875}),
    )
] + [
    single({"kind": "optimizer", "name": name, "options": {}})
    for name in ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Lion")
]  # fmt: skip

DECAY = {"initial_learning_rate": 0.125, "decay_steps": 4}
SCHEDULES: list[Case] = [
    {"kind": "schedule", "name": name, "options": options}
    for name, options in (
        ("ExponentialDecay", {**DECAY, "decay_rate": 0.5}),
        ("ExponentialDecay", {**DECAY, "decay_rate": 0.5, "staircase": True}),
        ("InverseTimeDecay", {**DECAY, "decay_rate": 0.5}),
        ("InverseTimeDecay", {**DECAY, "decay_rate": 0.5, "staircase": True}),
        ("PiecewiseConstantDecay", {"boundaries": [3, 6], "values": [1.0, 0.5, 0.125]}),
        ("PolynomialDecay", {**DECAY, "end_learning_rate": 0.0625, "power": 2.0}),
        ("PolynomialDecay", {**DECAY, "end_learning_rate": 0.0625, "cycle": True}),
        ("CosineDecay", {**DECAY, "alpha": 0.125}),
        ("CosineDecay", {**DECAY, "warmup_target": 0.5, "warmup_steps": 4}),
        ("CosineDecayRestarts", {"initial_learning_rate": 0.125, "first_decay_steps": 4, "t_mul": 1.5,
                                 "m_mul": 0.875, "alpha": 0.125}),
    )
] + [
    single({"kind": "schedule", "name": "PolynomialDecay", "options": DECAY}),
]  # fmt: skip

METRICS: list[Case] = [
    {"kind": "metric", "name": name, "options": options, "labels": labels, "predictions": predictions}
    for name, options, labels, predictions in (
        ("Mean", {}, None, "numbers"), ("Sum", {}, None, "numbers"),
        ("Accuracy", {}, "bits", "bits"), ("BinaryAccuracy", {}, "bits", "chances"),
        ("BinaryAccuracy", {"threshold": 0.3}, "bits", "chances"),
        ("CategoricalAccuracy", {}, "shares", "shares"),
        ("SparseCategoricalAccuracy", {}, "classes", "shares"),
        ("MeanAbsoluteError", {}, "numbers", "numbers"),
        ("MeanSquaredError", {}, "numbers", "numbers"),
        ("RootMeanSquaredError", {}, "numbers", "numbers"),
        ("Precision", {}, "bits", "chances"), ("Recall", {"thresholds": 0.3}, "bits", "chances"),
        ("AUC", {"num_thresholds": 20}, "bits", "chances"),
        ("AUC", {"num_thresholds": 20, "curve": "PR"}, "bits", "chances"),
    )
]  # fmt: skip

INITIALIZERS: list[Case] = [
    {"kind": "initializer", "name": name, "options": {}}
    for name in (
        "Zeros", "Ones", "Constant", "GlorotNormal", "GlorotUniform", "HeNormal", "HeUniform",
        "LecunNormal", "LecunUniform", "Orthogonal", "RandomNormal", "RandomUniform", "TruncatedNormal",
        "VarianceScaling",
    )
]  # fmt: skip
CASES = [*LAYERS, *ACTIVATIONS, *LOSSES, *OPTIMIZERS, *SCHEDULES, *METRICS, *INITIALIZERS]


def short_normals(rng: Any, shape: Sequence[int]) -> np.ndarray[Any, Any]:
    """Return normal random numbers in multiples of 1/64, which compress well."""
    return np.round(64.0 * rng.normal(size=shape)) / 64.0


def drawn(kind: str, rng: Any) -> np.ndarray[Any, Any]:
    """Return labels or predictions for four examples of three classes."""
    numbers = short_normals(rng, (4, 3))
    shares = np.exp(numbers) / np.sum(np.exp(numbers), axis=1, keepdims=True)
    return {
        "numbers": numbers,
        "shares": shares,
        "chances": 1.0 / (1.0 + np.exp(-numbers)),
        "bits": (numbers > 0).astype(float),
        "classes": np.argmax(numbers, axis=1),
    }[kind]


def main() -> None:
    """Record all cases, and write the file."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import keras
    import tensorflow as tf

    keras.backend.set_floatx("float64")
    recorders = Recorders(keras, tf)
    described, numbers = [], []
    for place, case in enumerate(CASES):
        rng = np.random.default_rng(place)
        found = getattr(recorders, case["kind"])(case, rng)
        arrays = {key: np.asarray(value) for key, value in found.items()}
        shapes = {key: (value.shape, value.dtype.kind) for key, value in arrays.items()}
        described.append({**case, "arrays": shapes})
        numbers += [value.astype(float).ravel() for value in arrays.values()]
    text = json.dumps(described)
    versions = f"TensorFlow {tf.__version__}, Keras {keras.__version__}"
    np.savez_compressed(FILE, cases=text, numbers=np.concatenate(numbers), versions=versions)
    print(f"{len(CASES)} cases of {versions}: {FILE.stat().st_size:,} bytes")


class Recorders:
    """A method for each kind of case, which returns the arrays to record."""

    def __init__(self, keras: Any, tf: Any) -> None:
        self.keras, self.tf = keras, tf

    def layer(self, case: Case, rng: Any) -> dict[str, Any]:
        """Record inputs, weights, results, gradients, and weights after steps of gradient descent."""
        tf = self.tf
        made = getattr(self.keras.layers, case["name"])(**case["options"])
        inputs = [tf.constant(short_normals(rng, shape)) for shape in case["shapes"]]
        call = dict(case["call"])
        if "attention_mask" in call:
            call["attention_mask"] = tf.constant(call["attention_mask"])
        made(*inputs, **call)
        weights = [short_normals(rng, v.shape) / 2.0 for v in made.weights]
        if case["name"] == "BatchNormalization":
            weights[-1] = np.abs(weights[-1])
        made.set_weights(weights)

        def loss() -> tuple[Any, Any]:
            results = tf.nest.flatten(made(*inputs, **call))
            return results, tf.add_n([tf.reduce_sum(tf.sin(y)) for y in results])

        with tf.GradientTape() as tape:
            tape.watch(inputs)
            results, total = loss()
        gradients = tape.gradient(total, [*inputs, *made.trainable_weights])
        arrays: dict[str, Any] = {f"input{i}": x for i, x in enumerate(inputs)}
        arrays |= {f"weight{i}": w for i, w in enumerate(weights)}
        arrays |= {f"result{i}": y for i, y in enumerate(results)}
        arrays |= {f"gradient{i}": g for i, g in enumerate(gradients)}
        made.set_weights(weights)
        for _ in range(STEPS if made.trainable_weights else 0):
            with tf.GradientTape() as tape:
                _, total = loss()
            own = made.trainable_weights
            for v, g in zip(own, tape.gradient(total, own), strict=True):
                v.assign_sub(RATE * g)
        return arrays | {f"final{i}": v for i, v in enumerate(made.get_weights())}

    def activation(self, case: Case, rng: Any) -> dict[str, Any]:
        """Record values, and the first and second derivatives of the sum of sines."""
        tf = self.tf
        function = getattr(self.keras.activations, case["name"])
        x = tf.constant(EDGES, tf.float64)
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = function(x, **case["options"])
                total = tf.reduce_sum(tf.sin(y))
            first = inner.gradient(total, x)
        return {"x": x, "y": y, "first": first, "second": outer.gradient(first, x)}

    def loss(self, case: Case, rng: Any) -> dict[str, Any]:
        """Record value and gradient for each reduction, with and without weights."""
        tf = self.tf
        labels, predictions = drawn(case["labels"], rng), drawn(case["predictions"], rng)
        count = 3 if case["options"].get("axis") == 0 else 4
        arrays: dict[str, Any] = {
            "labels": labels,
            "predictions": predictions,
            "weights": rng.uniform(0.0, 2.0, size=count),
        }
        x = tf.constant(predictions)
        for reduction in REDUCTIONS:
            made = getattr(self.keras.losses, case["name"])(reduction=reduction, **case["options"])
            for weights in (None, arrays["weights"]):
                with tf.GradientTape() as tape:
                    tape.watch(x)
                    value = made(labels, x, sample_weight=weights)
                key = f"{reduction}/{weights is not None}"
                arrays[f"value/{key}"] = value
                arrays[f"gradient/{key}"] = tape.gradient(value, x)
        return arrays

    def optimizer(self, case: Case, rng: Any) -> dict[str, Any]:
        """Record two variables and the optimizer's state after steps with random, recorded gradients."""
        starts = [short_normals(rng, (2, 3)), short_normals(rng, (4,))]
        variables = [self.keras.Variable(start, dtype="float64") for start in starts]
        made = getattr(self.keras.optimizers, case["name"])(**case["options"])
        arrays: dict[str, Any] = {f"start{i}": start for i, start in enumerate(starts)}
        for step in range(STEPS):
            gradients = [short_normals(rng, start.shape) for start in starts]
            arrays |= {f"gradient{step}.{i}": g for i, g in enumerate(gradients)}
            made.apply_gradients(
                zip([self.tf.constant(g) for g in gradients], variables, strict=True)
            )
        arrays |= {f"final{i}": v.numpy() for i, v in enumerate(variables)}
        slots = [v.numpy() for v in made.variables if len(v.shape)]
        return arrays | {f"slot{i}": value for i, value in enumerate(slots)}

    def schedule(self, case: Case, rng: Any) -> dict[str, Any]:
        """Record the rates of the first steps."""
        doubles = {
            key: np.float64(value) if isinstance(value, float) else value
            for key, value in case["options"].items()
        }
        made = getattr(self.keras.optimizers.schedules, case["name"])(**doubles)
        return {"rates": [float(made(step)) for step in range(16)]}

    def metric(self, case: Case, rng: Any) -> dict[str, Any]:
        """Record the result after each of two batches, the second one with weights."""
        made = getattr(self.keras.metrics, case["name"])(**case["options"])
        arrays: dict[str, Any] = {}
        for batch in range(2):
            given = [drawn(kind, rng) for kind in (case["labels"], case["predictions"]) if kind]
            arrays |= {f"given{batch}.{i}": value for i, value in enumerate(given)}
            weights = rng.uniform(0.5, 2.0, size=given[0].shape[0])
            arrays[f"weights{batch}"] = weights
            if given[0].ndim == 2 and case["name"] in ("Precision", "Recall", "AUC", "Sum", "Mean"):
                weights = weights[:, None] * np.ones(3)
            made.update_state(*given, sample_weight=weights if batch else None)
            arrays[f"result{batch}"] = made.result()
        return arrays

    def initializer(self, case: Case, rng: Any) -> dict[str, Any]:
        """Record mean, standard deviation and greatest absolute value of many elements."""
        made = getattr(self.keras.initializers, case["name"])(**case["options"])
        values = np.asarray(made((8, 25, 40, 50)))
        return {"moments": [values.mean(), values.std(), np.abs(values).max()]}


if __name__ == "__main__":
    main()
