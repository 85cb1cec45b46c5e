# ruff: noqa: E501 -- a table
"""Good calls of layers, initializers, metrics, optimizers and schedules."""

from __future__ import annotations

import contextlib
import io

import numpy as np

import arraytape as xp
from arraytape import nn, optimizers
from arraytape.nn import initializers, metrics
from arraytape.optimizers import schedules

LAYERS = {  # the arguments of each, and the axes of its data
    "Conv1D": ([2, 2, 1, "same", 1, "relu", True, "he_normal", "zeros", 0, "name"], 3),
    "Conv2D": ([2, (1, 2), (1, 1), "valid", 1, None, True, "he_normal", "zeros", 0, "name"], 4),
    "MaxPooling1D": ([2, 1, "same", "name"], 3), "MaxPooling2D": ([2, (1, 2), "valid", "name"], 4),
    "AveragePooling1D": ([2, 1, "same", "name"], 3), "AveragePooling2D": ([2, (1, 2), "same", "name"], 4),
    "GlobalAveragePooling1D": ([True, "name"], 3), "GlobalAveragePooling2D": ([False, "name"], 4),
    "GlobalMaxPooling1D": ([True, "name"], 3), "GlobalMaxPooling2D": ([False, "name"], 4),
    "LayerNormalization": ([-1, 1e-3, True, True, "zeros", "ones", "name"], 3),
    "BatchNormalization": ([-1, 0.9, 1e-3, True, True, "zeros", "ones", "zeros", "ones", "name"], 3),
    "Dropout": ([0.5, None, 0, "name"], 2), "Flatten": (["name"], 3),
    "Conv2DTranspose": ([2, (1, 2), (1, 1), "valid", 1, None, True, "he_normal", "zeros", 0, "name"], 4),
    "LSTM": ([2, "tanh", "sigmoid", True, "he_normal", "orthogonal", "zeros"], 3),
    "GRU": ([2, "relu", "sigmoid", False, "he_normal", "orthogonal", "zeros"], 3),
    "Reshape": ([(-1, 1), "name"], 3), "LeakyReLU": ([0.1, "name"], 2), "UpSampling2D": ([(1, 2), "name"], 4),
    "ZeroPadding2D": ([((0, 1), (2, 0)), "name"], 4), "Cropping2D": ([0, "name"], 4),
}  # fmt: skip
LOSSES = {
    "Loss": ["sum", "name"],
    "MeanSquaredError": ["sum", "name"],
    "MeanAbsoluteError": ["none", "name"],
    "Huber": [0.5, "mean", "name"],
    "KLDivergence": [None, "name"],
    "CosineSimilarity": [-1, "sum", "name"],
    "BinaryCrossentropy": [True, 0.1, -1, "sum", "name"],
    "CategoricalCrossentropy": [True, 0.1, -1, "sum", "name"],
    "SparseCategoricalCrossentropy": [True, "sum", -1, "name"],
}
WEIGHT = xp.Variable([1.0, 2.0])
INITIALIZERS = {
    "Constant": [0.5], "RandomNormal": [0.0, 1.0, 0], "TruncatedNormal": [0.0, 1.0, 0],
    "RandomUniform": [0.0, 1.0, 0], "VarianceScaling": [1.0, "fan_avg", "uniform", 0], "Orthogonal": [1.0, 0],
    "Initializer": [0], "Zeros": [], "Ones": [],
    **{f"{name}{kind}": [0] for name in ("Glorot", "He", "Lecun") for kind in ("Normal", "Uniform")},
}  # fmt: skip
SCHEDULES = {
    "Constant": [0.1, "name"], "ExponentialDecay": [0.1, 10, 0.5, True, "name"],
    "InverseTimeDecay": [0.1, 10, 0.5, False, "name"], "PiecewiseConstantDecay": [[3, 6], [0.3, 0.2, 0.1], "name"],
    "PolynomialDecay": [0.1, 10, 0.01, 1.0, True, "name"], "CosineDecay": [0.1, 10, 0.1, "name", 0.5, 3],
    "CosineDecayRestarts": [0.1, 10, 2.0, 0.5, 0.1, "name"],
    "ReduceLROnPlateau": [0.1, 0.5, 2, "min", 1e-4, 1, 0.01, "name"],
}  # fmt: skip
METRICS = {
    "Sum": ([], [[1.0, 2.0], [1.0, 0.5]]), "Mean": ([], [[1.0, 2.0], [1.0, 0.5]]),
    "Accuracy": ([], [[1, 2], [1, 0], None]), "BinaryAccuracy": (["name", 0.5], [[1, 0], [0.7, 0.2], None]),
    "CategoricalAccuracy": ([], [[[1, 0]], [[0.7, 0.2]], None]),
    "SparseCategoricalAccuracy": ([], [[1], [[0.7, 0.2]], [1.0]]),
    "MeanSquaredError": ([], [[1.0], [0.5], None]), "RootMeanSquaredError": ([], [[1.0], [0.5], None]),
    "MeanAbsoluteError": ([], [[1.0], [0.5], None]), "Precision": ([0.5], [[1, 0], [0.7, 0.2], None]),
    "Recall": ([0.5], [[1, 0], [0.7, 0.2], [1.0, 2.0]]), "AUC": ([20, "PR", "name", True], [[1, 0], [0.7, 0.2], None]),
}  # fmt: skip
RULES = {
    "AdamW": [0.1, 0.01, 0.9, 0.99, 1e-7, "name"], "RMSprop": [0.1, 0.9, 0.5, 1e-7, True, "name"],
    "Adagrad": [0.1, 0.1, 1e-7, "name"], "Lion": [0.1, 0.9, 0.99, "name"],
}  # fmt: skip


def data(axes):
    return xp.asarray(np.linspace(-1.0, 1.0, 2 * 3 * 4 * 2)[: 2 * 3 * (4 if axes == 4 else 1) * 2].reshape((2, 3, 4, 2) if axes == 4 else (2, 3, 2) if axes == 3 else (3, 4)))  # fmt: skip


def dense():
    layer = nn.Dense(2, seed=0)
    layer(xp.ones((1, 3)))
    return layer


class Scale(nn.Layer):
    """A layer whose Variable is made with these arguments."""

    def __init__(self, *arguments):
        super().__init__("scale", 0)
        self.arguments = arguments

    def make(self, x):
        name, shape, *more = self.arguments
        self.add_weight(name, shape, x, *more)

    def call(self, x):
        return x * 2.0


def summary_of(*args, print_fn=None):
    with contextlib.redirect_stdout(io.StringIO()):
        return dense().summary(*args, print_fn=print_fn)


def stepped(optimizer):
    v = xp.Variable([1.0, 2.0])
    optimizer.apply_gradients([(xp.ones(2), v)])
    return v


def updated(metric, *given):
    metric.update_state(*given)
    return metric.result()


def decays(*words):
    optimizer = optimizers.SGD(0.1, weight_decay=0.1)
    optimizer.exclude_from_weight_decay(*words)
    return stepped(optimizer)


def enter(call):
    """Enter the calls into the table."""
    enter_layers(call)
    for name, args in INITIALIZERS.items():
        run = (lambda *a, name=name: getattr(initializers, name)(*a)) if name == "Initializer" else (
            lambda *a, name=name: getattr(initializers, name)(*a)((3, 2)))  # fmt: skip
        call(f"nn.initializers.{name}", lambda e, run=run, args=args: (run, [*args], {}))
    call(
        "nn.initializers.Initializer.draw",
        lambda e: (initializers.Ones().draw, [(3, 2), np.random.default_rng(0)], {}),
    )
    call("nn.initializers.get", lambda e: (initializers.get, ["he_normal"], {}))
    for name, (args, given) in METRICS.items():
        call(f"nn.metrics.{name}", lambda e, name=name, args=args, given=given: (
            lambda *a: updated(getattr(metrics, name)(*a), *given), [*args], {}))  # fmt: skip
        call(f"nn.metrics.{name} of", lambda e, name=name, args=args, given=given: (
            lambda *a: updated(getattr(metrics, name)(*args), *a), [*given], {}))  # fmt: skip
    call("nn.metrics.Metric", lambda e: (metrics.Metric, ["name"], {}))
    call(
        "nn.metrics.Metric.add_variable",
        lambda e: (metrics.Metric("m").add_variable, [(2,), "total"], {}),
    )
    call("nn.metrics.Metric.update_state", lambda e: (metrics.Mean().update_state, [1.0], {}))
    call("nn.metrics.Metric.result", lambda e: (lambda x: metrics.Mean()(x), [1.0], {}))
    call(
        "nn.metrics.Metric.reset_state",
        lambda e: (lambda name: metrics.Mean(name).reset_state(), ["m"], {}),
    )
    enter_optimizers(call)


def enter_layers(call):
    for name, (args, axes) in LAYERS.items():
        call(f"nn.{name}", lambda e, name=name, args=args, axes=axes: (
            lambda *a: getattr(nn, name)(*a)(data(axes)), [*args], {}))  # fmt: skip
        call(f"nn.{name} of", lambda e, name=name, args=args, axes=axes: (
            lambda x: getattr(nn, name)(*args)(x), [data(axes)], {}))  # fmt: skip
    call("nn.Dropout training", lambda e: (nn.Dropout(0.5, seed=0), [data(2), True, 3], {}))
    call("nn.BatchNormalization training", lambda e: (nn.BatchNormalization(), [data(2), True], {}))
    call("nn.Embedding", lambda e: (
        lambda *a: nn.Embedding(*a[:-1], dtype=a[-1])(xp.asarray([0, 1])), [4, 2, "uniform", 0, "name", xp.float32], {}))  # fmt: skip
    call("nn.Embedding of", lambda e: (nn.Embedding(4, 2, seed=0), [xp.asarray([0, 3])], {}))
    for name in ("elu", "gelu", "hard_sigmoid", "leaky_relu", "linear", "selu", "silu", "swish"):
        call(f"nn.{name}", lambda e, name=name: (getattr(nn, name), [e.x], {}))
    image = np.ones((3, 4, 1))
    call("nn.image.resize", lambda e: (nn.image.resize, [xp.asarray(image), (2, 6), "nearest"], {}))
    call("nn.one_hot", lambda e: (nn.one_hot, [[0, 1], 3, -1, xp.float32], {}))
    for name, args in LOSSES.items():
        call(
            f"nn.losses.{name}",
            lambda e, name=name, args=args: (lambda *a: getattr(nn.losses, name)(*a), [*args], {}),
        )
    call("nn.losses.Loss.call", lambda e: (nn.losses.Huber().call, [data(2), data(2)], {}))
    call("nn.losses.Huber of", lambda e: (nn.losses.Huber(), [data(2), data(2), 2.0], {}))
    call(
        "nn.MultiHeadAttention",
        lambda e: (
            lambda *a: nn.MultiHeadAttention(*a)(data(3), data(3)),
            [2, 3, 2, 0.0, True, 4, "he_normal", "zeros", 0, "name"],
            {},
        ),
    )
    call(
        "nn.MultiHeadAttention of",
        lambda e: (
            nn.MultiHeadAttention(2, 3, seed=0),
            [data(3), data(3), data(3), None, True, False, True],
            {},
        ),
    )
    call(
        "nn.Sequential.build",
        lambda e: (lambda s: nn.Sequential([nn.Dense(2)]).build(s), [(2, 3)], {}),
    )
    call("xp.Module.get_weights", lambda e: (dense().get_weights, [], {}))
    call(
        "xp.Module.set_weights",
        lambda e: (dense().set_weights, [[np.ones((3, 2)), np.ones(2)]], {}),
    )
    call(
        "optimizers.Optimizer.minimize",
        lambda e: (
            lambda f, v: optimizers.SGD().minimize(f, v),
            [lambda: xp.sum(WEIGHT * WEIGHT), [WEIGHT]],
            {},
        ),
    )
    call("nn.Layer", lambda e: (nn.Layer, ["name", 0], {}))
    call("nn.Layer.build", lambda e: (lambda x: Scale("s", (2,)).build(x), [data(3)], {}))
    call("nn.Layer.make", lambda e: (lambda x: Scale("s", (2,))(x), [data(3)], {}))
    call(
        "nn.Layer.call", lambda e: (lambda x: dense().call(x), [data(3)[..., :1] * xp.ones(3)], {})
    )
    call("nn.Layer.add_weight", lambda e: (
        lambda *a: Scale(*a)(data(3)), ["s", (2,), "ones", False, xp.float32], {}))  # fmt: skip
    call(
        "nn.Sequential",
        lambda e: (lambda *a: nn.Sequential(*a)(data(3)), [[nn.relu, nn.Flatten()], "name"], {}),
    )
    call("nn.Sequential.add", lambda e: (lambda f: nn.Sequential().add(f), [nn.relu], {}))
    call("nn.Sequential.pop", lambda e: (lambda f: nn.Sequential([f]).pop(), [nn.relu], {}))
    call("nn.functional_call", lambda e: (
        nn.functional_call, [dense(), {"bias": xp.ones(2)}, xp.ones((1, 3))], {}))  # fmt: skip
    call(
        "module.summary", lambda e: (summary_of, [xp.ones((1, 3))], {"print_fn": lambda text: None})
    )


def enter_optimizers(call):
    for name, args in RULES.items():
        call(f"optimizers.{name}", lambda e, name=name, args=args: (
            lambda *a: stepped(getattr(optimizers, name)(*a)), [*args], {}))  # fmt: skip
    call("optimizers.SGD with all", lambda e: (
        lambda *a, **k: stepped(optimizers.SGD(*a, **k)), [schedules.Constant(0.1), 0.9],
        {"nesterov": True, "weight_decay": 0.1, "clipnorm": 1.0, "clipvalue": None, "global_clipnorm": None}))  # fmt: skip
    call("optimizers.Adam with all", lambda e: (
        lambda **k: stepped(optimizers.Adam(0.1, **k)), [], {"amsgrad": True, "weight_decay": 0.1, "global_clipnorm": 1.0}))  # fmt: skip
    call(
        "optimizers.Optimizer.exclude_from_weight_decay",
        lambda e: (decays, [[xp.Variable(1.0)], ["bias"]], {}),
    )
    gradients = {"a": xp.ones(2), "b": [None, xp.asarray(3.0)]}
    call(
        "optimizers.clip_by_value", lambda e: (optimizers.clip_by_value, [gradients, -1.0, 1.0], {})
    )
    call("optimizers.clip_by_norm", lambda e: (optimizers.clip_by_norm, [gradients, 1.0], {}))
    call(
        "optimizers.clip_by_global_norm",
        lambda e: (optimizers.clip_by_global_norm, [gradients, 1.0, None], {}),
    )
    call("optimizers.global_norm", lambda e: (optimizers.global_norm, [gradients], {}))
    for name, args in SCHEDULES.items():
        call(f"optimizers.schedules.{name}", lambda e, name=name, args=args: (
            lambda *a: getattr(schedules, name)(*a)(3), [*args], {}))  # fmt: skip
        call(f"optimizers.schedules.{name} of", lambda e, name=name, args=args: (
            getattr(schedules, name)(*args), [xp.asarray([1, 2])], {}))  # fmt: skip
    call(
        "optimizers.schedules.LearningRateSchedule",
        lambda e: (schedules.LearningRateSchedule, ["name"], {}),
    )
    call(
        "optimizers.schedules.LearningRateSchedule.rate",
        lambda e: (lambda step: schedules.Constant(0.1)(step), [3], {}),
    )
    call("optimizers.schedules.ReduceLROnPlateau.update", lambda e: (
        schedules.ReduceLROnPlateau(0.1).update, [1.0], {}))  # fmt: skip
