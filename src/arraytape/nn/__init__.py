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
from . import image, initializers, losses, metrics
from .activations import (
    elu,
    gelu,
    hard_sigmoid,
    leaky_relu,
    linear,
    log_softmax,
    relu,
    selu,
    sigmoid,
    silu,
    softmax,
    softplus,
    swish,
    tanh,
)
from .attention import MultiHeadAttention
from .containers import Sequential, functional_call
from .convolution import (
    AveragePooling1D,
    AveragePooling2D,
    Conv1D,
    Conv2D,
    Conv2DTranspose,
    GlobalAveragePooling1D,
    GlobalAveragePooling2D,
    GlobalMaxPooling1D,
    GlobalMaxPooling2D,
    MaxPooling1D,
    MaxPooling2D,
)
from .dropout import Dropout
from .layers import Dense, Embedding, Flatten, Layer
from .losses import mean_squared_error, one_hot, softmax_cross_entropy
from .normalization import BatchNormalization, LayerNormalization
from .recurrent import GRU, LSTM
from .reshaping import Cropping2D, LeakyReLU, Reshape, UpSampling2D, ZeroPadding2D

__all__ = [
    "GRU", "LSTM", "AveragePooling1D", "AveragePooling2D", "BatchNormalization", "Conv1D", "Conv2D",
    "Conv2DTranspose", "Cropping2D", "Dense", "Dropout", "Embedding", "Flatten",
    "GlobalAveragePooling1D", "GlobalAveragePooling2D", "GlobalMaxPooling1D", "GlobalMaxPooling2D",
    "Layer", "LayerNormalization", "LeakyReLU", "MaxPooling1D", "MaxPooling2D", "Module",
    "MultiHeadAttention", "Reshape", "Sequential", "UpSampling2D", "ZeroPadding2D", "elu",
    "functional_call", "gelu", "hard_sigmoid", "image", "initializers", "leaky_relu", "linear",
    "log_softmax", "losses", "mean_squared_error", "metrics", "one_hot", "relu", "selu", "sigmoid",
    "silu", "softmax", "softmax_cross_entropy", "softplus", "swish", "tanh",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)


if not TYPE_CHECKING:  # a type checker would take any name for one that is there
    __getattr__ = missing_from(__name__, "nn")
