"""Layers: Modules that make their Variables when they first see data."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

import arraytape as xp

from .._array.array import Array
from .._util.errors import describe, refuse, shown, user_line
from ..module import Module
from ..variable import Variable
from . import activations

ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    name: getattr(activations, name)
    for name in ("relu", "sigmoid", "softplus", "tanh", "softmax", "log_softmax")
}


class Dense(Module):
    """``activation(x @ kernel + bias)``.

    Kernel and bias are made on the first call, for the data's last axis, dtype and device: the kernel
    by Glorot's uniform distribution, the bias of zeros.

    Parameters
    ----------
    units : int
        The length of the result's last axis.
    activation : str or callable, optional
        A function of an Array, or the name of one in ``arraytape.nn``; None leaves the sum as it is.
    use_bias : bool, default True
        Whether there is a bias.
    seed : int, numpy.random.Generator or None
        Where the kernel comes from; layers with the same integer and sizes start alike.
    name : str, optional
        How messages call it, and the first part of its Variables' names.

    References
    ----------
    Glorot and Bengio 2010, "Understanding the difficulty of training deep feedforward neural
    networks".

    Examples
    --------
    >>> import arraytape as xp
    >>> layer = Dense(2, activation="relu", seed=0)
    >>> layer(xp.ones((4, 3))).shape
    (4, 2)
    >>> [variable.name for variable in layer.trainable_variables]
    ['dense/kernel', 'dense/bias']
    """

    kernel: Variable | None
    bias: Variable | None

    def __init__(
        self,
        units: int,
        activation: str | Callable[[Array], Array] | None = None,
        use_bias: bool = True,
        seed: int | np.random.Generator | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        try:
            self.units = operator.index(units)
        except TypeError:
            raise TypeError(
                f"Dense: units must be an integer, got {describe(units)} [at {user_line()}]"
            ) from None
        if self.units < 1:
            raise ValueError(
                f"Dense: units must be at least 1, got {shown(units)} [at {user_line()}]"
            )
        self.activation = activation_of(activation)
        if not isinstance(use_bias, bool | np.bool):
            raise TypeError(
                f"Dense: use_bias must be True or False, got {describe(use_bias)} [at {user_line()}]"
            )
        self.use_bias = use_bias
        self.seed = seed
        try:
            np.random.default_rng(seed)  # says now what is wrong with a seed
        except Exception as error:
            refuse(error, "Dense", units, seed=seed)
        self.kernel = self.bias = None

    def build(self, x: Array) -> None:
        """Make the Variables for data like ``x``, unless they are there: what the first call does.

        Parameters
        ----------
        x : Array
            Data whose last axis has the layer's inputs; its values are not read.
        """
        if self.kernel is not None:
            return
        self._check(x)
        try:
            self._make(x)
        except Exception as error:
            refuse(error, f"{self.name}.build", x, units=self.units)

    def _make(self, x: Array) -> None:
        """Make the Variables for data like ``x``."""
        inputs = x.shape[-1]
        dtype = np.empty(0, x.dtype).real.dtype if x.dtype.kind in "fc" else np.dtype(xp.float64)
        limit = math.sqrt(6.0 / (inputs + self.units))
        drawn = np.random.default_rng(self.seed).uniform(-limit, limit, (inputs, self.units))
        kernel = xp.asarray(drawn.astype(dtype), device=x.device)
        if self.use_bias:
            bias = xp.zeros((self.units,), dtype=dtype, device=x.device)
            self.bias = Variable(bias, name=f"{self.name}/bias")
        self.kernel = Variable(kernel, name=f"{self.name}/kernel")

    def _check(self, x: Any) -> None:
        """An error for what is no Array, or has no axis."""
        if not isinstance(x, Array):
            raise TypeError(
                f"{self.name}: takes an Array, got {describe(x)}; convert it with asarray "
                f"[at {user_line()}]"
            )
        if not x.ndim:
            raise ValueError(
                f"{self.name}: needs at least one axis, got {describe(x)} [at {user_line()}]"
            )

    def __call__(self, x: Array) -> Array:
        """Apply the layer to the last axis of ``x``.

        Raises
        ------
        TypeError
            When ``x`` is no Array.
        ValueError
            When it has no axis, or its last one is not of the length that the kernel was made for.
        """
        self._check(x)
        self.build(x)
        kernel: Any = self.kernel
        if x.shape[-1] != kernel.shape[0]:
            raise ValueError(
                f"{self.name}: was made for {kernel.shape[0]} inputs, but the last axis of "
                f"{describe(x)} has {x.shape[-1]} [at {user_line()}]"
            )
        if x.dtype.kind not in "fc":
            x = xp.astype(x, kernel.dtype)
        y = x @ kernel
        if self.bias is not None:
            y = y + self.bias
        return y if self.activation is None else self.activation(y)


def activation_of(given: Any) -> Callable[[Array], Array] | None:
    """The function that ``activation`` means; an error lists the names."""
    if given is None or (callable(given) and not isinstance(given, str)):
        return given
    if not isinstance(given, str):
        raise TypeError(
            f"Dense: activation must be None, a name or a function, got {describe(given)} "
            f"[at {user_line()}]"
        )
    if given not in ACTIVATIONS:
        raise ValueError(
            f"Dense: no activation {shown(given)}; there are {', '.join(ACTIVATIONS)} [at {user_line()}]"
        )
    return ACTIVATIONS[given]
