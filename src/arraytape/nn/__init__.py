"""Layers, activations and losses: array-API code over the public namespace.

    from arraytape import nn

It is imported on demand, and nothing in the core knows it.
"""

from typing import TYPE_CHECKING

from .._util.errors import missing_from
from ..module import Module
from .activations import log_softmax, relu, sigmoid, softmax, softplus, tanh
from .layers import Dense
from .losses import mean_squared_error, softmax_cross_entropy

__all__ = [
    "Dense",
    "Module",
    "log_softmax",
    "mean_squared_error",
    "relu",
    "sigmoid",
    "softmax",
    "softmax_cross_entropy",
    "softplus",
    "tanh",
]


def __dir__() -> list[str]:
    """What is public."""
    return sorted(__all__)


if not TYPE_CHECKING:  # a type checker would take any name for one that is there
    __getattr__ = missing_from(__name__, "nn")
