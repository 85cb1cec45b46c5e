"""Schedules: learning rates as functions of the number of steps, with Keras's names and formulas.

A schedule is called with a number of earlier steps, or an Array of such numbers.  It returns the rate
as an Array in double precision, and computes on Arrays, so that ``xp.function`` can replay it.

>>> import arraytape as xp
>>> rate = xp.optimizers.schedules.CosineDecay(0.0, 1000, warmup_target=0.01, warmup_steps=100)
>>> optimizer = xp.optimizers.AdamW(rate)
>>> print(rate(50), rate(100))
0.005 0.01
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import arraytape as xp

from .._array.array import Array
from .._util.errors import describe, entrance, missing_from, user_line
from ..module import Module
from ..nn.initializers import finite_number, named_option
from ..nn.layers import boolean_option, integer_option
from ..nn.libraries import library_of
from ..variable import AllOrNone, Variable, detached

if TYPE_CHECKING:
    from .._util.array_types import Namespace, RawArray

__all__ = [
    "Constant", "CosineDecay", "CosineDecayRestarts", "ExponentialDecay", "InverseTimeDecay",
    "LearningRateSchedule", "PiecewiseConstantDecay", "PolynomialDecay", "ReduceLROnPlateau",
]  # fmt: skip


class LearningRateSchedule(Module):
    """Base class of schedules; your own subclass overrides ``rate``.

    Parameters
    ----------
    name : str, optional
        The name of the schedule in messages.

    Examples
    --------
    >>> import arraytape as xp
    >>> class Warmup(xp.optimizers.schedules.LearningRateSchedule):
    ...     def rate(self, library, step):
    ...         return 0.1 * library.minimum(step / 100, library.ones_like(step))
    >>> print(Warmup()(50), Warmup()(1000))
    0.05 0.1
    """

    def __call__(self, step: float | Array) -> Any:
        """Return the learning rate after ``step`` steps, a number or an Array of numbers."""
        plain = isinstance(step, int | float | np.ndarray | np.generic)
        given = xp.asarray(step) if plain else step
        library = library_of(self.name, given)
        return self.rate(library, library.astype(given, library.float64))

    def rate(self, library: Namespace, step: RawArray) -> Any:
        """Return the learning rate; a subclass overrides this method.

        Parameters
        ----------
        library : module
            The array API namespace of ``step``, with whose functions to compute.
        step : Array
            Numbers of earlier steps, in double precision.

        Returns
        -------
        Array
            The learning rates, in the shape of ``step``.
        """
        raise NotImplementedError(f"{type(self).__name__} has no rate()")


class Constant(LearningRateSchedule):
    """The same learning rate at each step.

    Parameters
    ----------
    learning_rate : float
        The rate.
    name : str, optional
        The name of the schedule in messages.

    Examples
    --------
    >>> import arraytape as xp
    >>> rate = xp.optimizers.schedules.Constant(0.1)
    >>> print(rate(0), rate(1000))
    0.1 0.1
    """

    def __init__(self, learning_rate: float, name: str | None = None) -> None:
        super().__init__(name)
        self.learning_rate = finite_number("Constant", "learning_rate", learning_rate, 0.0)

    def rate(self, library: Namespace, step: RawArray) -> Any:
        return library.full_like(step, self.learning_rate)


class Decay(LearningRateSchedule):
    """Base class of schedules with an initial rate and a number of steps."""

    def __init__(self, initial: float, decay_steps: float, name: str | None) -> None:
        super().__init__(name)
        owner = type(self).__name__
        self.initial_learning_rate = finite_number(owner, "initial_learning_rate", initial, 0.0)
        self.decay_steps = finite_number(owner, "decay_steps", decay_steps, 0.0)
        if not self.decay_steps:
            raise ValueError(f"{owner}: decay_steps must be greater than 0 [at {user_line()}]")


class ExponentialDecay(Decay):
    """``initial_learning_rate * decay_rate ** (step / decay_steps)``.

    Parameters
    ----------
    initial_learning_rate : float
        The rate at first.
    decay_steps : int
        The number of steps in which the rate is multiplied by ``decay_rate``.
    decay_rate : float
        The factor by which the rate is multiplied in ``decay_steps`` steps.
    staircase : bool, default False
        If True, the rate changes only once in ``decay_steps`` steps.
    name : str, optional
        The name of the schedule in messages.

    Examples
    --------
    >>> import arraytape as xp
    >>> rate = xp.optimizers.schedules.ExponentialDecay(0.1, decay_steps=10, decay_rate=0.5)
    >>> print(rate(0), rate(20))
    0.1 0.025
    """

    def __init__(
        self, initial_learning_rate: float, decay_steps: float, decay_rate: float,
        staircase: bool = False, name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(initial_learning_rate, decay_steps, name)
        self.decay_rate = finite_number(type(self).__name__, "decay_rate", decay_rate, 0.0)
        self.staircase = boolean_option(type(self).__name__, "staircase", staircase)

    def _periods(self, library: Namespace, step: RawArray) -> Any:
        periods = step / self.decay_steps
        return library.floor(periods) if self.staircase else periods

    def rate(self, library: Namespace, step: RawArray) -> Any:
        return self.initial_learning_rate * self.decay_rate ** self._periods(library, step)


class InverseTimeDecay(ExponentialDecay):
    """``initial_learning_rate / (1 + decay_rate * step / decay_steps)``.

    Parameters
    ----------
    initial_learning_rate : float
        The rate at first.
    decay_steps : int
        The number by which the number of steps is divided.
    decay_rate : float
        The factor of ``step / decay_steps`` in the denominator.
    staircase : bool, default False
        If True, ``step / decay_steps`` is rounded down.
    name : str, optional
        The name of the schedule in messages.

    Examples
    --------
    >>> import arraytape as xp
    >>> rate = xp.optimizers.schedules.InverseTimeDecay(0.1, decay_steps=10, decay_rate=1.0)
    >>> print(rate(0), rate(10), rate(30))
    0.1 0.05 0.025
    """

    def rate(self, library: Namespace, step: RawArray) -> Any:
        return self.initial_learning_rate / (1.0 + self.decay_rate * self._periods(library, step))


class PiecewiseConstantDecay(LearningRateSchedule):
    """A constant learning rate up to each boundary, and one after the last boundary.

    Parameters
    ----------
    boundaries : sequence of int
        Numbers of steps, in ascending order.
    values : sequence of float
        The rates, one more than boundaries: ``values[0]`` for ``step <= boundaries[0]``, and so on.
    name : str, optional
        The name of the schedule in messages.

    Examples
    --------
    >>> import arraytape as xp
    >>> rate = xp.optimizers.schedules.PiecewiseConstantDecay([100, 200], [0.1, 0.01, 0.001])
    >>> print(rate(0), rate(150), rate(1000))
    0.1 0.01 0.001
    """

    def __init__(
        self, boundaries: Sequence[float], values: Sequence[float], name: str | None = None
    ) -> None:
        super().__init__(name)
        owner = "PiecewiseConstantDecay"
        for name, given in (("boundaries", boundaries), ("values", values)):
            if not isinstance(given, list | tuple):
                raise TypeError(
                    f"{owner}: {name} must be a list, got {describe(given)} [at {user_line()}]"
                )
        self.boundaries = [finite_number(owner, "a boundary", one) for one in boundaries]
        self.values = [finite_number(owner, "a value", one, 0.0) for one in values]
        if len(self.values) != len(self.boundaries) + 1:
            raise ValueError(
                f"{owner}: {len(self.boundaries)} boundaries need {len(self.boundaries) + 1} values, "
                f"got {len(self.values)} [at {user_line()}]"
            )
        if self.boundaries != sorted(self.boundaries):
            raise ValueError(f"{owner}: the boundaries must rise [at {user_line()}]")

    def rate(self, library: Namespace, step: RawArray) -> Any:
        found = library.full_like(step, self.values[-1])
        for boundary, value in zip(self.boundaries[::-1], self.values[-2::-1], strict=True):
            found = library.where(step <= boundary, value, found)
        return found


class PolynomialDecay(Decay):
    """``(initial - end) * (1 - step / decay_steps) ** power + end``, constant after ``decay_steps``.

    Parameters
    ----------
    initial_learning_rate : float
        The rate at first.
    decay_steps : int
        The number of steps of the fall.
    end_learning_rate : float, default 0.0001
        The rate at the end.
    power : float, default 1
        The exponent; 1 is a straight line.
    cycle : bool, default False
        If True, ``decay_steps`` in the formula is replaced by its least multiple that is not less than
        ``step``: the rate rises again after each multiple.
    name : str, optional
        The name of the schedule in messages.

    Examples
    --------
    >>> import arraytape as xp
    >>> rate = xp.optimizers.schedules.PolynomialDecay(0.1, 100, end_learning_rate=0.0, power=2.0)
    >>> print(rate(0), rate(50), rate(100))
    0.1 0.025 0.0
    """

    def __init__(
        self, initial_learning_rate: float, decay_steps: float, end_learning_rate: float = 0.0001,
        power: float = 1.0, cycle: bool = False, name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(initial_learning_rate, decay_steps, name)
        owner = "PolynomialDecay"
        self.end_learning_rate = finite_number(owner, "end_learning_rate", end_learning_rate, 0.0)
        self.power = finite_number(owner, "power", power, 0.0)
        self.cycle = boolean_option(owner, "cycle", cycle)

    def rate(self, library: Namespace, step: RawArray) -> Any:
        if self.cycle:
            cycles = library.ceil(step / self.decay_steps)
            done = step / (self.decay_steps * library.where(step == 0, 1.0, cycles))
        else:
            done = at_most(library, step, self.decay_steps) / self.decay_steps
        span = self.initial_learning_rate - self.end_learning_rate
        return span * (1.0 - done) ** self.power + self.end_learning_rate


class CosineDecay(Decay):
    """A decrease along half a period of the cosine, optionally after a linear increase (warmup).

    Parameters
    ----------
    initial_learning_rate : float
        The rate at first.
    decay_steps : int
        The number of steps of the fall.
    alpha : float, default 0
        The rate at the end, relative to the rate at the start of the decrease.
    name : str, optional
        The name of the schedule in messages.
    warmup_target : float, optional
        The rate at the end of the increase; by default there is no increase.
    warmup_steps : int, default 0
        The number of steps of the increase.

    References
    ----------
    Loshchilov and Hutter 2017, "SGDR: stochastic gradient descent with warm restarts", equation 5.

    Examples
    --------
    >>> import arraytape as xp
    >>> rate = xp.optimizers.schedules.CosineDecay(0.0, 100, warmup_target=0.1, warmup_steps=10)
    >>> print([round(float(rate(step)), 3) for step in (0, 5, 10, 60, 110)])
    [0.0, 0.05, 0.1, 0.05, 0.0]
    >>> optimizer = xp.optimizers.AdamW(rate)
    """

    def __init__(
        self, initial_learning_rate: float, decay_steps: float, alpha: float = 0.0,
        name: str | None = None, warmup_target: float | None = None, warmup_steps: int = 0,
    ) -> None:  # fmt: skip
        super().__init__(initial_learning_rate, decay_steps, name)
        owner = "CosineDecay"
        self.alpha = finite_number(owner, "alpha", alpha, 0.0)
        target = initial_learning_rate if warmup_target is None else warmup_target
        self.warmup_target = finite_number(owner, "warmup_target", target, 0.0)
        self.warmup_steps = integer_option(owner, "warmup_steps", warmup_steps, 0)
        if warmup_target is None and self.warmup_steps:
            raise ValueError(
                f"{owner}: warmup_steps need a warmup_target to rise to [at {user_line()}]"
            )

    def rate(self, library: Namespace, step: RawArray) -> Any:
        after = at_most(library, step - self.warmup_steps, self.decay_steps) / self.decay_steps
        cosine = 0.5 * (1.0 + library.cos(math.pi * after))
        falling = self.warmup_target * ((1.0 - self.alpha) * cosine + self.alpha)
        if not self.warmup_steps:
            return falling
        rise = self.warmup_target - self.initial_learning_rate
        rising = rise * (step / self.warmup_steps) + self.initial_learning_rate
        return library.where(step < self.warmup_steps, rising, falling)


class CosineDecayRestarts(Decay):
    """Repeated decreases along half a period of the cosine, each of which starts at a high rate again.

    Parameters
    ----------
    initial_learning_rate : float
        The rate at first.
    first_decay_steps : int
        The number of steps of the first period.
    t_mul : float, default 2
        The length of each period relative to that of the period before.
    m_mul : float, default 1
        The factor of the cosine in each period, relative to its factor in the period before.
    alpha : float, default 0
        The rate at the end of a period, relative to ``initial_learning_rate``.
    name : str, optional
        The name of the schedule in messages.

    References
    ----------
    Loshchilov and Hutter 2017, "SGDR: stochastic gradient descent with warm restarts", section 3.

    Examples
    --------
    >>> import arraytape as xp
    >>> rate = xp.optimizers.schedules.CosineDecayRestarts(0.1, 10, t_mul=2.0, m_mul=0.5)
    >>> print([round(float(rate(step)), 3) for step in (0, 5, 9, 10, 20, 29, 30)])
    [0.1, 0.05, 0.002, 0.05, 0.025, 0.0, 0.025]
    """

    def __init__(
        self, initial_learning_rate: float, first_decay_steps: float, t_mul: float = 2.0,
        m_mul: float = 1.0, alpha: float = 0.0, name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(initial_learning_rate, first_decay_steps, name)
        owner = "CosineDecayRestarts"
        self.t_mul = finite_number(owner, "t_mul", t_mul, 1.0)
        self.m_mul = finite_number(owner, "m_mul", m_mul, 0.0)
        self.alpha = finite_number(owner, "alpha", alpha, 0.0)

    def rate(self, library: Namespace, step: RawArray) -> Any:
        done = step / self.decay_steps
        if self.t_mul == 1.0:
            restarts = library.floor(done)
            done = done - restarts
        else:
            grown = 1.0 + done * (self.t_mul - 1.0)
            # 1e-12 is added so that a rounding error does not delay a restart by one step.
            restarts = library.floor(library.log(grown) / math.log(self.t_mul) + 1e-12)
            length = self.t_mul**restarts
            done = (done - (length - 1.0) / (self.t_mul - 1.0)) / length
        cosine = 0.5 * self.m_mul**restarts * (1.0 + library.cos(math.pi * done))
        return self.initial_learning_rate * ((1.0 - self.alpha) * cosine + self.alpha)


class ReduceLROnPlateau(LearningRateSchedule):
    """A learning rate that is reduced when a metric, such as the validation loss, stops improving.

    Call ``update`` with the metric once in each epoch; the optimizer reads the rate at each step.  The
    state consists of Variables, so that a checkpoint of the optimizer contains it.

    Parameters
    ----------
    initial_learning_rate : float
        The rate at first.
    factor : float, default 0.1
        The factor by which the rate is multiplied in a reduction.
    patience : int, default 10
        The number of updates without an improvement before a reduction.
    mode : {"min", "max"}
        "min" if a lower metric is better, "max" if a higher metric is better.
    min_delta : float, default 1e-4
        The least change that counts as an improvement.
    cooldown : int, default 0
        The number of updates after a reduction that do not count towards ``patience``.
    min_lr : float, default 0
        The least rate.
    name : str, optional
        The name of the schedule in messages.

    Examples
    --------
    >>> import arraytape as xp
    >>> plateau = xp.optimizers.schedules.ReduceLROnPlateau(0.1, factor=0.5, patience=2)
    >>> for loss in [1.0, 0.9, 0.9, 0.9]:
    ...     plateau.update(loss)
    >>> print(plateau(0))
    0.05
    """

    def __init__(
        self, initial_learning_rate: float, factor: float = 0.1, patience: int = 10,
        mode: str = "min", min_delta: float = 1e-4, cooldown: int = 0, min_lr: float = 0.0,
        name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(name)
        owner = "ReduceLROnPlateau"
        first = finite_number(owner, "initial_learning_rate", initial_learning_rate, 0.0)
        self.factor = finite_number(owner, "factor", factor, 0.0)
        if self.factor >= 1.0:
            raise ValueError(
                f"{owner}: factor must be less than 1, got {factor} [at {user_line()}]"
            )
        self.patience = integer_option(owner, "patience", patience, 0)
        self.mode = named_option(owner, "mode", mode, ("min", "max"))
        self.min_delta = finite_number(owner, "min_delta", min_delta, 0.0)
        self.cooldown = integer_option(owner, "cooldown", cooldown, 0)
        self.min_lr = finite_number(owner, "min_lr", min_lr, 0.0)
        worst = math.inf if self.mode == "min" else -math.inf
        values = {"learning_rate": first, "best": worst, "wait": 0, "cooling": 0}
        self.state = {
            key: Variable(xp.asarray(value, device="cpu"), False, f"{self.name}/{key}")
            for key, value in values.items()
        }

    def rate(self, library: Namespace, step: RawArray) -> Any:
        """Return the current learning rate, which is the same for all steps until the next update."""
        held = detached(self.state["learning_rate"])
        return library.zeros_like(step) + (held if isinstance(step, Array) else float(held))

    @entrance
    def update(self, value: float | Array) -> None:
        """Add a new value of the metric, and reduce the rate if the metric has stopped improving.

        Parameters
        ----------
        value : float or Array
            The metric, of shape ().

        Raises
        ------
        TypeError
            When the metric is no real number.
        """
        given = detached(value) if isinstance(value, Array) else xp.asarray(value)
        if given.ndim or given.dtype.kind not in "iuf":
            raise TypeError(
                f"{self.name}: update() takes a real number, got {describe(value)} "
                f"[at {user_line()}]"
            )
        current = xp.astype(given, xp.float64, device="cpu")
        rate, best, wait, cooling = (detached(x) for x in self.state.values())
        cooling = xp.maximum(cooling - 1, 0)
        wait = xp.where(detached(self.state["cooling"]) > 0, 0, wait)
        sign = 1.0 if self.mode == "min" else -1.0
        better = sign * current < sign * best - self.min_delta
        waits = ~better & (cooling == 0)
        wait = xp.where(better, 0, xp.where(waits, wait + 1, wait))
        falls = waits & (wait >= self.patience) & (rate > self.min_lr)
        new = [
            xp.where(falls, xp.maximum(rate * self.factor, self.min_lr), rate),
            xp.where(better, current, best),
            xp.where(falls, 0, wait),
            xp.where(falls, self.cooldown, cooling),
        ]
        with AllOrNone(self.state.values()):
            for variable, x in zip(self.state.values(), new, strict=True):
                variable.assign(xp.astype(x, variable.dtype))


def at_most(library: Namespace, step: RawArray, last: float) -> Any:
    return library.where(step < last, step, last)


def __dir__() -> list[str]:
    return sorted(__all__)


__getattr__ = missing_from(__name__, "optimizers")
