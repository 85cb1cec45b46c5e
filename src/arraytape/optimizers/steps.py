"""Optimizers that take a step for each set of gradients: SGD, Adam, and what they share."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

import arraytape as xp

from .._array.array import Array
from .._define.define_op import unregistered
from .._util import nest
from .._util.errors import TapeWarning, describe, entrance, layout, see, stacklevel, user_line
from ..module import Module
from ..variable import Variable, detached, together
from .scipy import number

Pair = tuple[Array, Variable]


class Optimizer(Module):
    """What ``SGD`` and ``Adam`` share, and what an optimizer of one's own derives from.

    A subclass names its slots in ``slot_names`` and overrides ``update``.  The state (learning rate,
    count of steps, slots) consists of Variables, so a checkpoint holds it.

    Parameters
    ----------
    learning_rate : float
        The size of a step.  It is a Variable, which may be assigned to between steps.
    name : str, optional
        How messages call it.
    """

    slot_names: tuple[str, ...] = ()

    def __init__(self, learning_rate: float = 0.01, name: str | None = None) -> None:
        super().__init__(name)
        rate = number(self.name, "learning_rate", learning_rate, 0.0, math.inf)
        self._learning_rate = state(rate, f"{self.name}/learning_rate")
        self.iterations = state(0, f"{self.name}/iterations")
        self.slots: dict[str, list[Variable]] = {slot: [] for slot in self.slot_names}
        self._updated = Updated()

    @property
    def learning_rate(self) -> Variable:
        """The size of a step: a Variable that is not trainable; setting it assigns."""
        return self._learning_rate

    @learning_rate.setter
    def learning_rate(self, value: float) -> None:
        rate = number(self.name, "learning_rate", value, 0.0, math.inf)
        self._learning_rate.assign(rate)

    @entrance
    def build(self, variables: Any) -> None:
        """Make the slots of these Variables (an iterable or a nesting), as far as they are not there.

        ``apply_gradients`` does it, too; before a checkpoint is loaded into a new optimizer it has to
        be called, with the Variables in the order in which they were first updated.

        Parameters
        ----------
        variables : Iterable[Variable]
            The Variables.

        Raises
        ------
        TypeError
            When one of them is no Variable.
        """
        nested = nest.parts_of(variables) is not None
        for variable in nest.leaves(variables if nested else list(variables)):
            if not isinstance(variable, Variable):
                raise TypeError(
                    f"{self.name}: build() takes Variables, got {describe(variable)} "
                    f"[at {user_line()}]"
                )
            self._place(variable)

    @entrance
    def apply_gradients(self, pairs: Iterable[tuple[Any, Any]]) -> None:
        """Take one step: change each Variable by its gradient.

        Parameters
        ----------
        pairs : iterable of (gradient, Variable)
            Such as ``zip(tape.gradient(loss, variables), variables)``, or two nestings in one pair:
            ``[(tape.gradient(loss, params), params)]``.  A Variable whose gradient is None stays as it
            is, and a ``TapeWarning`` names it.

        Raises
        ------
        TypeError
            When a pair is none, or holds something else than an Array and a Variable.
        ValueError
            When there are no gradients at all, a Variable is there twice, the nestings of a pair differ,
            or a gradient has not the shape, device and kind of dtype of its Variable.  Nothing has
            changed then.
        """
        if not isinstance(pairs, Iterable):
            raise TypeError(
                f"{self.name}: apply_gradients() takes (gradient, Variable) pairs, got "
                f"{describe(pairs)} [at {user_line()}]"
            )
        given = [one for pair in pairs for one in self._checked_pairs(pair)]
        usable = [(g, variable) for g, variable in given if g is not None]
        names = ", ".join(repr(variable.name) for _, variable in given)
        if not usable:
            raise ValueError(
                f"No gradients provided for any variable: {names or 'there are no pairs'} "
                f"[at {user_line()}]. The tape's warnings say where a value left it "
                f"{see('no-gradients')}"
            )
        if len({id(variable) for _, variable in given}) < len(given):
            raise ValueError(
                f"{self.name}: a Variable is given twice among {names} [at {user_line()}]"
            )
        checked = [(fitting(self.name, g, variable), variable) for g, variable in usable]
        if len(usable) < len(given):
            missing = ", ".join(repr(variable.name) for g, variable in given if g is None)
            warnings.warn(
                f"{self.name}: the gradient is None for {missing}, which stays as it is",
                TapeWarning,
                stacklevel=stacklevel(),
            )
        self.build(variable for _, variable in given)
        rate, step = self._numbers()
        rows = []
        for g, variable in checked:
            place = self._place(variable)
            rows.append((g, variable, [self.slots[slot][place] for slot in self.slot_names]))

        def take() -> None:
            for g, variable, slots in rows:
                self.update(g, variable, slots, rate, step)
            self.iterations.assign(step)

        changed = [part for _, variable, slots in rows for part in (variable, *slots)]
        together([*changed, self.iterations], take)

    def update(
        self, g: Array, variable: Variable, slots: Sequence[Variable], rate: float, step: int
    ) -> None:
        """Change one Variable and its slots: what a subclass defines.

        Parameters
        ----------
        g : Array
            The gradient.
        variable : Variable
            What is to be changed.
        slots : Sequence[Variable]
            The Variable's slots, in the order of ``slot_names``.
        rate : float
            The learning rate.
        step : int
            How many steps there were, with this one.
        """
        raise NotImplementedError(f"{type(self).__name__} has no update()")

    @entrance
    def slot(self, slot_name: str, like: Array) -> Array:
        """Make the initial value of a slot: zeros in the shape, dtype and place of the Variable's value.

        Parameters
        ----------
        slot_name : str
            One of ``slot_names``.
        like : Array
            The Variable's value.

        Returns
        -------
        Array
            The value.
        """
        return xp.zeros_like(like)

    def _numbers(self) -> tuple[Any, Any]:
        """The learning rate and the count of steps with this one, as numbers.

        While ``xp.function`` traces a step, numbers would be those of that step for good: updates of
        ours are given Arrays then.
        """
        rate, count = detached(self._learning_rate), detached(self.iterations)
        ours = type(self).update in (SGD.update, Adam.update)
        if ours and not is_at_hand(count):
            return rate, count + 1
        return float(rate), int(count) + 1

    def _place(self, variable: Variable) -> int:
        place = self._updated.find(variable)
        if place is None:
            place = len(self._updated.variables)
            try:
                for slot_name, slots in self.slots.items():
                    value = self.slot(slot_name, detached(variable))
                    slots.append(Variable(value, False, f"{variable.name}/{self.name}/{slot_name}"))
                self._updated.add(variable)  # last: from here on it has its slots
            except BaseException:
                if len(self._updated.variables) == place:
                    for slots in self.slots.values():
                        del slots[place:]
                raise
        return place

    def _checked_pairs(self, pair: Any) -> list[tuple[Array | None, Variable]]:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise TypeError(
                f"{self.name}: apply_gradients() takes (gradient, Variable) pairs, got "
                f"{describe(pair)} [at {user_line()}]"
            )
        gradients, variables = pair
        if nest.parts_of(variables) is None:
            return [self._checked_pair(gradients, variables)]
        parts = nest.leaves_like(variables, gradients, f"{self.name}: gradients")
        found = zip(parts, nest.leaves(variables), strict=True)
        return [self._checked_pair(g, variable) for g, variable in found]

    def _checked_pair(self, g: Any, variable: Any) -> tuple[Array | None, Variable]:
        if not isinstance(variable, Variable):
            hint = "; the Variable comes second" if isinstance(g, Variable) else ""
            raise TypeError(
                f"{self.name}: only a Variable can be updated, got {describe(variable)}{hint} "
                f"[at {user_line()}]"
            )
        if g is not None and not isinstance(g, Array):
            raise TypeError(
                f"{self.name}: the gradient of {variable.name!r} must be an Array or None, got "
                f"{describe(g)} [at {user_line()}]"
            )
        return g, variable


class SGD(Optimizer):
    """Gradient descent, with momentum if one likes.

    ``velocity = momentum * velocity - learning_rate * gradient; variable += velocity``

    Parameters
    ----------
    learning_rate : float, default 0.01
        The size of a step.
    momentum : float, default 0
        The part of the last step that is taken again; at least 0 and less than 1.
    name : str, optional
        How messages call it.

    Examples
    --------
    >>> import arraytape as xp
    >>> v = xp.Variable(2.0)
    >>> with xp.GradientTape() as tape:
    ...     loss = v**2
    >>> SGD(learning_rate=0.25).apply_gradients([(tape.gradient(loss, v), v)])
    >>> float(v)
    1.0
    """

    def __init__(
        self, learning_rate: float = 0.01, momentum: float = 0.0, name: str | None = None
    ) -> None:
        self.momentum = number("SGD", "momentum", momentum, 0.0, 1.0)
        self.slot_names = ("velocity",) if self.momentum else ()
        super().__init__(learning_rate, name)

    def update(
        self, g: Array, variable: Variable, slots: Sequence[Variable], rate: float, step: int
    ) -> None:
        """Change one Variable and its velocity.

        Parameters
        ----------
        g : Array
            The gradient.
        variable : Variable
            What is to be changed.
        slots : Sequence[Variable]
            The Variable's slots, in the order of ``slot_names``.
        rate : float
            The learning rate.
        step : int
            How many steps there were, with this one.
        """
        rate = beside(rate, g)
        if not slots:
            variable.assign_sub(rate * g)
            return
        velocity = slots[0]
        velocity.assign(self.momentum * velocity - rate * g)
        variable.assign_add(velocity)


class Adam(Optimizer):
    """Adam: steps as large as the gradient's mean by its root mean square.

    Of a complex gradient the square is that of its absolute value.

    Parameters
    ----------
    learning_rate : float, default 0.001
        The size of a step.
    beta_1, beta_2 : float, default 0.9 and 0.999
        How slowly the running means of the gradient and of its square forget.
    epsilon : float, default 1e-7
        Added to the root: TensorFlow's value and place, which is the "epsilon hat" of the paper.
    name : str, optional
        How messages call it.

    References
    ----------
    Kingma and Ba 2015, "Adam: a method for stochastic optimization", section 2.
    """

    slot_names = ("mean", "square")

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        name: str | None = None,
    ) -> None:
        self.beta_1 = number("Adam", "beta_1", beta_1, 0.0, 1.0)
        self.beta_2 = number("Adam", "beta_2", beta_2, 0.0, 1.0)
        self.epsilon = number("Adam", "epsilon", epsilon, 0.0, math.inf)
        super().__init__(learning_rate, name)

    @entrance
    def slot(self, slot_name: str, like: Array) -> Array:
        """Make the initial value of a slot: zeros; real ones for the mean square.

        Parameters
        ----------
        slot_name : str
            One of ``slot_names``.
        like : Array
            The Variable's value.

        Returns
        -------
        Array
            The value.
        """
        return xp.zeros_like(xp.abs(like) if slot_name == "square" else like)

    def update(
        self, g: Array, variable: Variable, slots: Sequence[Variable], rate: float, step: int
    ) -> None:
        """Change one Variable and the running means of its gradient and of that one's square.

        Parameters
        ----------
        g : Array
            The gradient.
        variable : Variable
            What is to be changed.
        slots : Sequence[Variable]
            The Variable's slots, in the order of ``slot_names``.
        rate : float
            The learning rate.
        step : int
            How many steps there were, with this one.
        """
        mean, square = slots
        squared = xp.abs(g) ** 2 if g.dtype.kind == "c" else g * g
        mean.assign(self.beta_1 * mean + (1.0 - self.beta_1) * g)
        square.assign(self.beta_2 * square + (1.0 - self.beta_2) * squared)
        scale_of = adam_step_size if isinstance(step, Array) else step_size
        scale = scale_of(rate, step, self.beta_1, self.beta_2)
        variable.assign_sub(beside(scale, g) * mean / (xp.sqrt(square) + self.epsilon))


def step_size(rate: Any, step: Any, beta_1: float = 0.9, beta_2: float = 0.999) -> Any:
    """Adam's factor of ``mean / root``, which makes up for means that began with zeros."""
    # In Python's numbers, so that each processor gives the same bits.
    count = int(step)
    return float(rate) * math.sqrt(1.0 - beta_2**count) / (1.0 - beta_1**count)


adam_step_size = unregistered("adam_step_size", step_size)


def is_at_hand(x: Array) -> bool:
    """Whether a look at the value of an Array on the host tells no more than NumPy's data does."""
    return type(x._data) is np.ndarray


def beside(number: Any, g: Array) -> Any:
    """A number of the optimizer's state as an operand beside a gradient."""
    if not isinstance(number, Array):
        return number
    return xp.astype(number, xp.finfo(g.dtype).dtype, copy=False, device=g.device)


class Updated:
    """The Variables that an optimizer has slots for.  No Module's search looks into it."""

    def __init__(self) -> None:
        self.variables: list[Variable] = []
        self.last = 0

    def find(self, variable: Variable) -> int | None:
        """Where it stands: mostly behind the one that was asked for last."""
        count = len(self.variables)
        for step in range(count):
            place = (self.last + step) % count
            if self.variables[place] is variable:
                self.last = place + 1
                return place
        return None

    def add(self, variable: Variable) -> None:
        self.variables.append(variable)


def fitting(owner: str, g: Array, variable: Variable) -> Array:
    """The gradient as a constant of its Variable's dtype; ValueError where it does not fit."""
    real_for_real = g.dtype.kind == "f" or (g.dtype.kind == "c" and variable.dtype.kind == "c")
    if g.shape != variable.shape or g.device != variable.device or not real_for_real:
        value = layout(variable)
        raise ValueError(
            f"{owner}: the gradient {describe(g)} does not fit the Variable {variable.name!r}, {value} "
            f"[at {user_line()}]"
        )
    return xp.astype(detached(g), variable.dtype, copy=False)


def state(value: float, name: str) -> Variable:
    """A scalar of an optimizer's state, on the host, where it is read."""
    return Variable(xp.asarray(value, device="cpu"), trainable=False, name=name)
