"""The optimizers ``SGD``, ``Adam``, ``AdamW``, ``RMSprop``, ``Adagrad`` and ``Lion``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Unpack

from .._array.array import Array
from .._define.define_op import unregistered_op
from .._util.array_types import Namespace
from ..nn.layers import boolean_option
from ..variable import Variable
from .optimizer import (
    Common,
    Optimizer,
    Rate,
    Updated,
    assign_values,
    rate_for_gradient,
    takes_arrays,
)
from .scipy import number_in_range

__all__ = ["SGD", "Adagrad", "Adam", "AdamW", "Lion", "Optimizer", "RMSprop", "Updated"]


class SGD(Optimizer):
    """Gradient descent, optionally with momentum.

    ``velocity = momentum * velocity - learning_rate * gradient; variable += velocity``

    Parameters
    ----------
    learning_rate : float or callable, default 0.01
        The size of a step, or a function of the number of earlier steps.
    momentum : float, default 0
        The factor of the last step in the next step; at least 0 and less than 1.
    name : str, optional
        The name of the optimizer in messages.
    nesterov : bool, default False
        If True, ``momentum * velocity - learning_rate * gradient`` is added to the variable in place of
        the velocity, with the new velocity.
    **common : object
        ``weight_decay``, ``clipnorm``, ``clipvalue`` and ``global_clipnorm``, as in ``Optimizer``.

    References
    ----------
    Sutskever, Martens, Dahl and Hinton 2013, "On the importance of initialization and momentum in deep
    learning", section 2, for Nesterov's momentum.

    Examples
    --------
    >>> import arraytape as xp
    >>> v = xp.Variable([1.0, -2.0])
    >>> optimizer = xp.optimizers.SGD(0.25, momentum=0.5)
    >>> for _ in range(3):
    ...     with xp.GradientTape() as tape:
    ...         loss = xp.sum(v**2)
    ...     optimizer.apply_gradients([(tape.gradient(loss, v), v)])
    >>> print(v)
    [-0.25  0.5 ]
    """

    def __init__(
        self, learning_rate: Rate = 0.01, momentum: float = 0.0, name: str | None = None, *,
        nesterov: bool = False, **common: Unpack[Common],
    ) -> None:  # fmt: skip
        self.momentum = number_in_range("SGD", "momentum", momentum, 0.0, 1.0)
        self.nesterov = boolean_option("SGD", "nesterov", nesterov)
        self.slot_names = ("velocity",) if self.momentum else ()
        super().__init__(learning_rate, name, **common)

    @takes_arrays
    def update(
        self, g: Array, variable: Variable, slots: Sequence[Variable], rate: float, step: int
    ) -> None:
        if not slots:
            assign_values(sgd_values, g, [variable], (rate_for_gradient(rate, g),))
            return
        formula = nesterov_values if self.nesterov else momentum_values
        numbers = rate_for_gradient(rate, g), self.momentum
        assign_values(formula, g, [variable, *slots], numbers)


class Adam(Optimizer):
    """Adam: steps in proportion to the gradient's running mean over its root mean square.

    For a complex gradient the square is that of the absolute value.

    Parameters
    ----------
    learning_rate : float or callable, default 0.001
        The size of a step, or a function of the number of earlier steps.
    beta_1, beta_2 : float, default 0.9 and 0.999
        The factors of the earlier running means of the gradient and of its square in each step.
    epsilon : float, default 1e-7
        Added to the root, as in TensorFlow; this is the "epsilon hat" of the paper.
    name : str, optional
        The name of the optimizer in messages.
    amsgrad : bool, default False
        If True, divide by the root of the greatest mean square so far.
    **common : object
        ``weight_decay``, ``clipnorm``, ``clipvalue`` and ``global_clipnorm``, as in ``Optimizer``.

    References
    ----------
    Kingma and Ba 2015, "Adam: a method for stochastic optimization", section 2.
    Reddi, Kale and Kumar 2018, "On the convergence of Adam and beyond", algorithm 2.

    Examples
    --------
    >>> import arraytape as xp
    >>> v = xp.Variable([1.0, -2.0])
    >>> optimizer = xp.optimizers.Adam(0.5)
    >>> for _ in range(3):
    ...     with xp.GradientTape() as tape:
    ...         loss = xp.sum(v**2)
    ...     optimizer.apply_gradients([(tape.gradient(loss, v), v)])
    >>> print(v)
    [-0.33590323 -0.53697576]
    """

    slot_names: tuple[str, ...] = ("mean", "square")
    real_slots = ("square", "greatest_square")

    def __init__(
        self, learning_rate: Rate = 0.001, beta_1: float = 0.9, beta_2: float = 0.999,
        epsilon: float = 1e-7, name: str | None = None, *, amsgrad: bool = False,
        **common: Unpack[Common],
    ) -> None:  # fmt: skip
        owner = type(self).__name__
        self.beta_1 = number_in_range(owner, "beta_1", beta_1, 0.0, 1.0)
        self.beta_2 = number_in_range(owner, "beta_2", beta_2, 0.0, 1.0)
        self.epsilon = number_in_range(owner, "epsilon", epsilon, 0.0, math.inf)
        self.amsgrad = boolean_option(owner, "amsgrad", amsgrad)
        if self.amsgrad:
            self.slot_names = ("mean", "square", "greatest_square")
        super().__init__(learning_rate, name, **common)

    @takes_arrays
    def update(
        self, g: Array, variable: Variable, slots: Sequence[Variable], rate: float, step: int
    ) -> None:
        scale_of = adam_step_size if isinstance(step, Array) else step_size
        scale = rate_for_gradient(scale_of(rate, step, self.beta_1, self.beta_2), g)
        weights = self.beta_1, 1.0 - self.beta_1, self.beta_2, 1.0 - self.beta_2
        assign_values(adam_values, g, [variable, *slots], (scale, *weights, self.epsilon))


class AdamW(Adam):
    """Adam with decoupled weight decay.

    Parameters
    ----------
    learning_rate : float or callable, default 0.001
        The size of a step, or a function of the number of earlier steps.
    weight_decay : float, default 0.004
        Before the step, ``learning_rate * weight_decay`` times its value is subtracted from each
        Variable, except from those that ``exclude_from_weight_decay`` names.
    beta_1, beta_2 : float, default 0.9 and 0.999
        The factors of the earlier running means of the gradient and of its square in each step.
    epsilon : float, default 1e-7
        Added to the root.
    name : str, optional
        The name of the optimizer in messages.
    amsgrad : bool, default False
        If True, divide by the root of the greatest mean square so far.
    **common : object
        ``clipnorm``, ``clipvalue`` and ``global_clipnorm``, as in ``Optimizer``.

    References
    ----------
    Loshchilov and Hutter 2019, "Decoupled weight decay regularization", algorithm 2.

    Examples
    --------
    >>> import arraytape as xp
    >>> v = xp.Variable([1.0, -2.0])
    >>> optimizer = xp.optimizers.AdamW(0.5, weight_decay=0.1)
    >>> optimizer.apply_gradients([(2.0 * v, v)])  # the gradient of sum(v**2)
    >>> print(v)
    [ 0.45000079 -1.4000004 ]
    """

    def __init__(
        self, learning_rate: Rate = 0.001, weight_decay: float = 0.004, beta_1: float = 0.9,
        beta_2: float = 0.999, epsilon: float = 1e-7, name: str | None = None, *,
        amsgrad: bool = False, **common: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            learning_rate, beta_1, beta_2, epsilon, name, amsgrad=amsgrad,
            weight_decay=weight_decay, **common,
        )  # fmt: skip


class RMSprop(Optimizer):
    """RMSprop: steps in proportion to the gradient over its root mean square.

    ``square = rho * square + (1 - rho) * gradient**2``, and the step is
    ``learning_rate * gradient / sqrt(square + epsilon)``.

    Parameters
    ----------
    learning_rate : float or callable, default 0.001
        The size of a step, or a function of the number of earlier steps.
    rho : float, default 0.9
        The factor of the earlier running mean of the square in each step.
    momentum : float, default 0
        The factor of the last step in the next step; at least 0 and less than 1.
    epsilon : float, default 1e-7
        Added under the root, as in Keras; PyTorch adds it to the root.
    centered : bool, default False
        If True, divide by the standard deviation, in place of the root mean square.
    name : str, optional
        The name of the optimizer in messages.
    **common : object
        ``weight_decay``, ``clipnorm``, ``clipvalue`` and ``global_clipnorm``, as in ``Optimizer``.

    References
    ----------
    Hinton 2012, "Neural networks for machine learning", lecture 6e.  Graves 2013, "Generating sequences
    with recurrent neural networks", equations 38 to 41, for ``centered``.

    Examples
    --------
    >>> import arraytape as xp
    >>> v = xp.Variable([1.0, -2.0])
    >>> optimizer = xp.optimizers.RMSprop(0.1)
    >>> optimizer.apply_gradients([(2.0 * v, v)])  # the gradient of sum(v**2)
    >>> print(v)
    [ 0.68377227 -1.68377224]
    """

    real_slots = ("square",)

    def __init__(
        self, learning_rate: Rate = 0.001, rho: float = 0.9, momentum: float = 0.0,
        epsilon: float = 1e-7, centered: bool = False, name: str | None = None,
        **common: Unpack[Common],
    ) -> None:  # fmt: skip
        self.rho = number_in_range("RMSprop", "rho", rho, 0.0, 1.0)
        self.momentum = number_in_range("RMSprop", "momentum", momentum, 0.0, 1.0)
        self.epsilon = number_in_range("RMSprop", "epsilon", epsilon, 0.0, math.inf)
        self.centered = boolean_option("RMSprop", "centered", centered)
        mean = ("mean",) if self.centered else ()
        self.slot_names = ("square", *mean, *(("velocity",) if self.momentum else ()))
        super().__init__(learning_rate, name, **common)

    @takes_arrays
    def update(
        self, g: Array, variable: Variable, slots: Sequence[Variable], rate: float, step: int
    ) -> None:
        formula = centered_rmsprop_values if self.centered else rmsprop_values
        numbers = rate_for_gradient(rate, g), self.rho, 1.0 - self.rho, self.epsilon, self.momentum
        assign_values(formula, g, [variable, *slots], numbers)


class Adagrad(Optimizer):
    """Adagrad: steps in proportion to the gradient over the root of the sum of its squares so far.

    Parameters
    ----------
    learning_rate : float or callable, default 0.001
        The size of a step, or a function of the number of earlier steps.
    initial_accumulator_value : float, default 0.1
        The initial sum of squares.
    epsilon : float, default 1e-7
        Added under the root.
    name : str, optional
        The name of the optimizer in messages.
    **common : object
        ``weight_decay``, ``clipnorm``, ``clipvalue`` and ``global_clipnorm``, as in ``Optimizer``.

    References
    ----------
    Duchi, Hazan and Singer 2011, "Adaptive subgradient methods for online learning and stochastic
    optimization", figure 1.

    Examples
    --------
    >>> import arraytape as xp
    >>> v = xp.Variable([1.0, -2.0])
    >>> optimizer = xp.optimizers.Adagrad(0.5)
    >>> optimizer.apply_gradients([(2.0 * v, v)])  # the gradient of sum(v**2)
    >>> print(v)
    [ 0.50613521 -1.50155522]
    """

    slot_names = ("accumulator",)
    real_slots = ("accumulator",)

    def __init__(
        self, learning_rate: Rate = 0.001, initial_accumulator_value: float = 0.1,
        epsilon: float = 1e-7, name: str | None = None, **common: Unpack[Common],
    ) -> None:  # fmt: skip
        first = initial_accumulator_value
        self.initial_accumulator_value = number_in_range(
            "Adagrad", "initial_accumulator_value", first, 0.0, math.inf
        )
        self.epsilon = number_in_range("Adagrad", "epsilon", epsilon, 0.0, math.inf)
        super().__init__(learning_rate, name, **common)

    def slot(self, slot_name: str, like: Array) -> Array:
        return super().slot(slot_name, like) + self.initial_accumulator_value

    @takes_arrays
    def update(
        self, g: Array, variable: Variable, slots: Sequence[Variable], rate: float, step: int
    ) -> None:
        numbers = rate_for_gradient(rate, g), self.epsilon
        assign_values(adagrad_values, g, [variable, *slots], numbers)


class Lion(Optimizer):
    """Lion: steps of equal size in the direction of the sign of the gradient's running mean.

    Parameters
    ----------
    learning_rate : float or callable, default 0.001
        The size of a step, or a function of the number of earlier steps.
    beta_1 : float, default 0.9
        The weight of the running mean in the step; the gradient has the weight ``1 - beta_1``.
    beta_2 : float, default 0.99
        The factor of the earlier running mean in each step.
    name : str, optional
        The name of the optimizer in messages.
    **common : object
        ``weight_decay``, ``clipnorm``, ``clipvalue`` and ``global_clipnorm``, as in ``Optimizer``.

    References
    ----------
    Chen et al. 2023, "Symbolic discovery of optimization algorithms", algorithm 2.

    Examples
    --------
    >>> import arraytape as xp
    >>> v = xp.Variable([1.0, -2.0])
    >>> optimizer = xp.optimizers.Lion(0.25)
    >>> optimizer.apply_gradients([(2.0 * v, v)])  # the gradient of sum(v**2)
    >>> print(v)
    [ 0.75 -1.75]
    """

    slot_names = ("mean",)

    def __init__(
        self, learning_rate: Rate = 0.001, beta_1: float = 0.9, beta_2: float = 0.99,
        name: str | None = None, **common: Unpack[Common],
    ) -> None:  # fmt: skip
        self.beta_1 = number_in_range("Lion", "beta_1", beta_1, 0.0, 1.0)
        self.beta_2 = number_in_range("Lion", "beta_2", beta_2, 0.0, 1.0)
        super().__init__(learning_rate, name, **common)

    @takes_arrays
    def update(
        self, g: Array, variable: Variable, slots: Sequence[Variable], rate: float, step: int
    ) -> None:
        weights = self.beta_1, 1.0 - self.beta_1, self.beta_2, 1.0 - self.beta_2
        assign_values(lion_values, g, [variable, *slots], (rate_for_gradient(rate, g), *weights))


# --- formulas of ``assign_values``: the new values of a Variable and its slots ---------------------
Values = Sequence[Any]


def sgd_values(xp: Namespace, g: Any, values: Values, numbers: Values) -> Values:
    (value,), (rate,) = values, numbers
    return (value - rate * g,)


def momentum_values(xp: Namespace, g: Any, values: Values, numbers: Values) -> Values:
    (value, velocity), (rate, momentum) = values, numbers
    velocity = momentum * velocity - rate * g
    return value + velocity, velocity


def nesterov_values(xp: Namespace, g: Any, values: Values, numbers: Values) -> Values:
    (value, velocity), (rate, momentum) = values, numbers
    change = rate * g
    velocity = momentum * velocity - change
    return value + (momentum * velocity - change), velocity


def adam_values(xp: Namespace, g: Any, values: Values, numbers: Values) -> Values:
    value, mean, square, *greatest = values
    scale, earlier, new, earlier_square, new_square, epsilon = numbers
    mean = earlier * mean + new * g
    square = earlier_square * square + new_square * squared(g, xp)
    greatest = [xp.maximum(largest, square) for largest in greatest]  # with amsgrad
    root = xp.sqrt(greatest[0] if greatest else square)
    return value - scale * mean / (root + epsilon), mean, square, *greatest


def rmsprop_values(xp: Namespace, g: Any, values: Values, numbers: Values) -> Values:
    value, square, *velocity = values
    rate, rho, new, epsilon, momentum = numbers
    square = rho * square + new * squared(g, xp)
    change = rate * g / xp.sqrt(square + epsilon)
    velocity = [momentum * before + change for before in velocity]
    return value - (velocity[0] if velocity else change), square, *velocity


def centered_rmsprop_values(xp: Namespace, g: Any, values: Values, numbers: Values) -> Values:
    value, square, mean, *velocity = values
    rate, rho, new, epsilon, momentum = numbers
    square = rho * square + new * squared(g, xp)
    mean = rho * mean + new * g
    variance = xp.maximum(square - squared(mean, xp), 0.0)  # rounding may leave less than 0
    change = rate * g / xp.sqrt(variance + epsilon)
    velocity = [momentum * before + change for before in velocity]
    return value - (velocity[0] if velocity else change), square, mean, *velocity


def adagrad_values(xp: Namespace, g: Any, values: Values, numbers: Values) -> Values:
    (value, accumulator), (rate, epsilon) = values, numbers
    accumulator = accumulator + squared(g, xp)
    return value - rate * g / xp.sqrt(accumulator + epsilon), accumulator


def lion_values(xp: Namespace, g: Any, values: Values, numbers: Values) -> Values:
    (value, mean), (rate, step_earlier, step_new, earlier, new) = values, numbers
    direction = xp.sign(step_earlier * mean + step_new * g)
    return value - rate * direction, earlier * mean + new * g


def squared(g: Any, xp: Namespace) -> Any:
    return xp.abs(g) ** 2 if g.dtype.kind == "c" else g * g


def step_size(
    rate: float | Array, step: int | Array, beta_1: float = 0.9, beta_2: float = 0.999
) -> Any:
    """Return the factor of ``mean / sqrt(square)`` in Adam's step.

    It contains the learning rate, and a correction because both running means begin with zeros.
    """
    # Python numbers, because NumPy's vectorized functions may differ in the last bit between processors.
    count = int(step)
    return float(rate) * math.sqrt(1.0 - beta_2**count) / (1.0 - beta_1**count)


adam_step_size = unregistered_op("adam_step_size", step_size)
