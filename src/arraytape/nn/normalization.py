"""Normalization: data less their mean, divided by their standard deviation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

from .._util.errors import describe, short_repr, user_line
from ..variable import AllOrNone, Variable
from . import initializers
from .layers import Initial, Layer, boolean_option, integer_option, training_option
from .libraries import as_layer_operand, as_library_floats, as_state, library_of

if TYPE_CHECKING:
    from .._array.array import Array
    from .._util.array_types import RawArray

Axes = int | Sequence[int]


class Normalization(Layer):
    """Base class of layers that scale and shift normalized data."""

    gamma: Variable | None
    beta: Variable | None
    axis: tuple[int, ...]

    def _set(
        self, owner: str, epsilon: float, center: bool, scale: bool, beta_initializer: Initial,
        gamma_initializer: Initial,
    ) -> None:  # fmt: skip
        """Check and keep the options that all normalizations have."""
        self.epsilon = initializers.finite_number(owner, "epsilon", epsilon, 0.0)
        self.center = boolean_option(owner, "center", center)
        self.scale = boolean_option(owner, "scale", scale)
        self.beta_initializer = initializers.get(beta_initializer)
        self.gamma_initializer = initializers.get(gamma_initializer)
        self.gamma = self.beta = None

    def _make_gamma_beta(self, shape: tuple[int, ...], x: RawArray) -> None:
        if self.scale:
            self.add_weight("gamma", shape, x, self.gamma_initializer)
        if self.center:
            self.add_weight("beta", shape, x, self.beta_initializer)

    def _result(
        self, library: ModuleType, x: RawArray, mean: RawArray, variance: RawArray,
        axes: tuple[int, ...],
    ) -> Any:  # fmt: skip
        """Return ``(x - mean) / sqrt(variance + epsilon) * gamma + beta``; gamma lies along ``axes``."""
        y = (x - mean) / library.sqrt(variance + self.epsilon)
        shape = tuple(n if i in axes else 1 for i, n in enumerate(y.shape))
        wanted = tuple(y.shape[i] for i in axes)
        for name in ("gamma", "beta"):
            value = as_layer_operand(getattr(self, name), y)
            if value is None:
                continue
            if tuple(value.shape) != wanted:
                raise ValueError(
                    f"{self.name}: was made for {tuple(value.shape)}, but the axes {self.axis} of "
                    f"{describe(y)} are {wanted} [at {user_line()}]"
                )
            value = library.reshape(value, shape)
            y = y * value if name == "gamma" else y + value
        return y


class LayerNormalization(Normalization):
    """A layer that normalises each example by its own mean and variance, then scales and shifts it.

    ``(x - mean) / sqrt(variance + epsilon) * gamma + beta``, mean and variance over ``axis``.

    Parameters
    ----------
    axis : int or sequence of int, default -1
        The axes of an example.
    epsilon : float, default 1e-3
        Added to the variance.
    center : bool, default True
        If True, ``beta`` is added.
    scale : bool, default True
        If True, the result is multiplied by ``gamma``.
    beta_initializer : str or callable, default "zeros"
        The first values of beta.
    gamma_initializer : str or callable, default "ones"
        The first values of gamma.
    name : str, optional
        The layer's name in messages, and the first part of its Variables' names.

    References
    ----------
    Ba, Kiros and Hinton 2016, "Layer normalization", equation 4.

    Examples
    --------
    >>> import arraytape as xp
    >>> layer = xp.nn.LayerNormalization(epsilon=0.0)
    >>> x = xp.asarray([[1.0, 3.0], [10.0, 30.0]])
    >>> print(layer(x))
    [[-1.  1.]
     [-1.  1.]]
    >>> [variable.name for variable in layer.trainable_variables]
    ['layer_normalization/gamma', 'layer_normalization/beta']
    """

    def __init__(
        self, axis: Axes = -1, epsilon: float = 1e-3, center: bool = True, scale: bool = True,
        beta_initializer: Initial = "zeros", gamma_initializer: Initial = "ones",
        name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(name)
        several = axis if isinstance(axis, list | tuple) else (axis,)
        owner = "LayerNormalization"
        self.axis = tuple(integer_option(owner, "axis", one, -64) for one in several)
        self._set(owner, epsilon, center, scale, beta_initializer, gamma_initializer)

    def make(self, x: RawArray) -> None:
        axes = normalized_axes(self.name, x, self.axis)
        self._make_gamma_beta(tuple(x.shape[i] for i in axes), x)

    def call(self, x: RawArray) -> Array:
        library = library_of(self.name, x)
        x, over = as_library_floats(library, x), normalized_axes(self.name, x, self.axis)
        return self._result(library, x, *mean_and_variance(library, x, over), over)


class BatchNormalization(Normalization):
    """A layer that normalises each channel over the batch, then scales and shifts it.

    With ``training=True`` the layer takes mean and variance from the batch, and updates the running
    statistics: ``moving = moving * momentum + current * (1 - momentum)``.  Else it takes the running
    statistics.

    Parameters
    ----------
    axis : int, default -1
        The axis of the channels.
    momentum : float, default 0.99
        The weight of the old running statistics: 1 less the momentum of PyTorch.
    epsilon : float, default 1e-3
        Added to the variance.
    center : bool, default True
        If True, ``beta`` is added.
    scale : bool, default True
        If True, the result is multiplied by ``gamma``.
    beta_initializer : str or callable, default "zeros"
        The first values of beta.
    gamma_initializer : str or callable, default "ones"
        The first values of gamma.
    moving_mean_initializer : str or callable, default "zeros"
        The first values of the running mean.
    moving_variance_initializer : str or callable, default "ones"
        The first values of the running variance.
    name : str, optional
        The layer's name in messages, and the first part of its Variables' names.

    Notes
    -----
    The running statistics are Variables that are not trainable, so a checkpoint has them and no
    gradient flows to them.  The variance of a batch is the sum of squares divided by the number of
    elements, as in Keras; for the running variance PyTorch divides by one less.  Under ``vmap`` a call
    with ``training=True`` is an error: an example has no batch.

    References
    ----------
    Ioffe and Szegedy 2015, "Batch normalization", algorithms 1 and 2.

    Examples
    --------
    >>> import arraytape as xp
    >>> layer = xp.nn.BatchNormalization(momentum=0.5, epsilon=0.0)
    >>> x = xp.asarray([[1.0], [3.0]])
    >>> print(layer(x, training=True))
    [[-1.]
     [ 1.]]
    >>> print(layer.moving_mean, layer.moving_variance)
    [1.] [1.]
    """

    moving_mean: Variable | None
    moving_variance: Variable | None

    def __init__(
        self, axis: int = -1, momentum: float = 0.99, epsilon: float = 1e-3, center: bool = True,
        scale: bool = True, beta_initializer: Initial = "zeros",
        gamma_initializer: Initial = "ones", moving_mean_initializer: Initial = "zeros",
        moving_variance_initializer: Initial = "ones", name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(name)
        owner = "BatchNormalization"
        self.axis = (integer_option(owner, "axis", axis, -64),)
        self.momentum = initializers.finite_number(owner, "momentum", momentum, 0.0)
        if self.momentum > 1.0:
            raise ValueError(
                f"{owner}: momentum must lie in [0, 1], got {short_repr(momentum)} [at {user_line()}]"
            )
        self._set(owner, epsilon, center, scale, beta_initializer, gamma_initializer)
        self.moving_mean_initializer = initializers.get(moving_mean_initializer)
        self.moving_variance_initializer = initializers.get(moving_variance_initializer)
        self.moving_mean = self.moving_variance = None

    def make(self, x: RawArray) -> None:
        (axis,) = normalized_axes(self.name, x, self.axis)
        shape = (x.shape[axis],)
        self._make_gamma_beta(shape, x)
        self.add_weight("moving_mean", shape, x, self.moving_mean_initializer, False)
        self.add_weight("moving_variance", shape, x, self.moving_variance_initializer, False)

    def call(self, x: Any, training: bool | None = False) -> Array:
        """Apply the layer to ``x``; with ``training=True`` take the statistics from the batch.

        Parameters
        ----------
        x : Array
            The data.
        training : bool or None, default False
            If True, the running statistics are updated, too.

        Returns
        -------
        Array
            Of the shape of ``x``.

        Raises
        ------
        TypeError
            When ``training`` is neither True, False nor None.
        ValueError
            When the shape of ``x`` does not fit, or there is no element to take statistics of.
        """
        training = training_option(self.name, training)
        library = library_of(self.name, x)
        (axis,) = normalized_axes(self.name, x, self.axis)
        x = as_library_floats(library, x)
        state: tuple[Any, Any] = (self.moving_mean, self.moving_variance)
        if x.shape[axis] != state[0].shape[0]:
            raise ValueError(
                f"{self.name}: was made for {state[0].shape[0]} channels, but axis {axis} of "
                f"{describe(x)} has {x.shape[axis]} [at {user_line()}]"
            )
        over = tuple(i for i in range(x.ndim) if i != axis)
        shape = tuple(1 if i in over else n for i, n in enumerate(x.shape))
        if training:
            if not math.prod(x.shape[i] for i in over):
                raise ValueError(
                    f"{self.name}: {describe(x)} has no element to take mean and variance of "
                    f"[at {user_line()}]"
                )
            mean, variance = mean_and_variance(library, x, over)
            self._update_statistics(library, state, (mean, variance))
        else:
            mean, variance = (library.reshape(as_layer_operand(one, x), shape) for one in state)
        return self._result(library, x, mean, variance, (axis,))

    def _update_statistics(
        self, library: ModuleType, state: Sequence[Any], current: Sequence[RawArray]
    ) -> None:
        if not all(isinstance(variable, Variable) for variable in state):
            raise TypeError(
                f"{self.name}: with training=True the running statistics are assigned to, so they "
                f"must be Variables: leave them out of functional_call's values [at {user_line()}]"
            )
        values = []
        for variable, value in zip(state, current, strict=True):
            flat = as_state(self.name, library.reshape(value, variable.shape), variable)
            values.append(variable.value() * self.momentum + flat * (1.0 - self.momentum))
        with AllOrNone(state):
            for variable, value in zip(state, values, strict=True):
                variable.assign(value)


def mean_and_variance(library: ModuleType, x: RawArray, over: tuple[int, ...]) -> tuple[Any, Any]:
    """Return mean and variance over axes, which are kept with length 1."""
    mean = library.mean(x, axis=over, keepdims=True)
    return mean, library.mean((x - mean) ** 2, axis=over, keepdims=True)


def normalized_axes(owner: str, x: RawArray, axes: Sequence[int]) -> tuple[int, ...]:
    """Return axes as sorted non-negative numbers; raise ValueError for a missing or repeated axis."""
    found = sorted({axis % x.ndim for axis in axes if -x.ndim <= axis < x.ndim})
    if len(found) < len(axes):
        raise ValueError(
            f"{owner}: got the axes {short_repr(tuple(axes))} for {describe(x)}; each must be an axis "
            f"of the array, and none may occur twice [at {user_line()}]"
        )
    return tuple(found)
