"""Layers, activations, losses, initializers and metrics: array-API code over the public namespace.

    from arraytape import nn

The package is imported at its first use.  Layers, activations and losses also accept arrays of other
libraries of the array API standard, and compute with these libraries.

>>> import arraytape as xp
>>> model = xp.nn.Sequential([xp.nn.Dense(8, "relu", seed=0), xp.nn.Dense(1, seed=1)])
>>> model(xp.ones((4, 3))).shape
(4, 1)
"""

from typing import TYPE_CHECKING

from .._util.errors import missing_from
from ..module import Module
from . import initializers, metrics
from .activations import log_softmax, relu, sigmoid, softmax, softplus, tanh
from .containers import Sequential, functional_call
from .convolution import (
    AveragePooling1D,
    AveragePooling2D,
    Conv1D,
    Conv2D,
    GlobalAveragePooling1D,
    GlobalAveragePooling2D,
    GlobalMaxPooling1D,
    GlobalMaxPooling2D,
    MaxPooling1D,
    MaxPooling2D,
)
from .dropout import Dropout
from .layers import Dense, Embedding, Flatten, Layer
from .losses import mean_squared_error, softmax_cross_entropy
from .normalization import BatchNormalization, LayerNormalization

__all__ = [
    "AveragePooling1D", "AveragePooling2D", "BatchNormalization", "Conv1D", "Conv2D", "Dense",
    "Dropout", "Embedding", "Flatten", "GlobalAveragePooling1D", "GlobalAveragePooling2D",
    "GlobalMaxPooling1D", "GlobalMaxPooling2D", "Layer", "LayerNormalization", "MaxPooling1D",
    "MaxPooling2D", "Module", "Sequential", "functional_call", "initializers", "log_softmax",
    "mean_squared_error", "metrics", "relu", "sigmoid", "softmax", "softmax_cross_entropy",
    "softplus", "tanh",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)


if not TYPE_CHECKING:  # a type checker would take any name for one that is there
    __getattr__ = missing_from(__name__, "nn")
