"""``Optimizer``, the base class of optimizers that take one step for each set of gradients."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, TypedDict, TypeVar

import numpy as np

import arraytape as xp

from .._array.array import Array, wrap
from .._array.views import peek
from .._storage.storage import Storage, storage_of
from .._util import nest
from .._util.array_types import Namespace
from .._util.errors import (
    TapeWarning,
    describe,
    describe_result,
    entrance,
    layout_text,
    see,
    stacklevel,
    user_line,
)
from ..module import Module
from ..variable import AllOrNone, Variable, detached
from .clipping import clip_by_global_norm, clip_by_norm, clip_by_value
from .scipy import number_in_range, variables_of

Pair = tuple[Array, Variable]
Rate = float | Callable[[Any], Any]
Update = TypeVar("Update", bound=Callable[..., None])


class Common(TypedDict, total=False):
    """Keyword parameters that all optimizers have."""

    weight_decay: float | None
    clipnorm: float | None
    clipvalue: float | None
    global_clipnorm: float | None


class Optimizer(Module):
    """Base class of ``SGD``, ``Adam`` and others, and of your own optimizers.

    A slot is a Variable of the optimizer's state that belongs to one updated Variable, such as a
    momentum.  A subclass overrides ``update``.  It lists its slots in ``slot_names``, and in
    ``real_slots`` those that are real even for a complex Variable.  The state (learning rate, number of
    steps, slots) consists of Variables, so that a checkpoint contains it.

    Parameters
    ----------
    learning_rate : float or callable, default 0.01
        The size of a step.  A number becomes a Variable, which may be assigned to between steps.  A
        function, such as one of ``optimizers.schedules``, is called with the number of earlier steps.
    name : str, optional
        The name of the optimizer in messages.
    weight_decay : float, optional
        Before the step, each Variable is reduced by ``learning_rate * weight_decay`` times its value,
        independently of the gradient, as in AdamW.
    clipnorm : float, optional
        The greatest norm of each gradient.
    clipvalue : float, optional
        The greatest absolute value of each element of a gradient.
    global_clipnorm : float, optional
        The greatest norm of all gradients together.  Only one of the three clips may be given.

    References
    ----------
    Loshchilov and Hutter 2019, "Decoupled weight decay regularization", algorithms 1 and 2.

    Examples
    --------
    >>> import arraytape as xp
    >>> class Heavy(xp.optimizers.Optimizer):
    ...     slot_names = ("velocity",)
    ...     def update(self, g, variable, slots, rate, step):
    ...         (velocity,) = slots
    ...         velocity.assign(0.9 * velocity - rate * g)
    ...         variable.assign_add(velocity)
    >>> v, bias = xp.Variable([1.0, -2.0], name="v"), xp.Variable(1.0, name="bias")
    >>> optimizer = Heavy(0.1, weight_decay=0.01)
    >>> optimizer.exclude_from_weight_decay(var_names=["bias"])
    >>> optimizer.build([v, bias])  # or the first step
    >>> optimizer.learning_rate = 0.2
    >>> with xp.GradientTape() as tape:
    ...     loss = xp.sum(v**2) + bias**2
    >>> optimizer.apply_gradients(zip(tape.gradient(loss, [v, bias]), [v, bias]))
    >>> print(v, bias, optimizer.slots["velocity"][0])
    [ 0.598 -1.196] 0.6 [-0.4  0.8]
    >>> optimizer.minimize(lambda: xp.sum(v**2), [v])  # the tape, its gradient and the step in one
    >>> print(v)
    [-0.002396  0.004792]
    >>> optimizer.slot("velocity", v).shape, optimizer.real_slots
    ((2,), ())
    """

    slot_names: tuple[str, ...] = ()
    real_slots: tuple[str, ...] = ()

    def __init__(
        self, learning_rate: Rate = 0.01, name: str | None = None, *,
        weight_decay: float | None = None, clipnorm: float | None = None,
        clipvalue: float | None = None, global_clipnorm: float | None = None,
    ) -> None:  # fmt: skip
        super().__init__(name)
        clips = {"clipnorm": clipnorm, "clipvalue": clipvalue, "global_clipnorm": global_clipnorm}
        given = {key: value for key, value in clips.items() if value is not None}
        if len(given) > 1:
            raise ValueError(
                f"{self.name}: one of clipnorm, clipvalue and global_clipnorm may be given, got "
                f"{' and '.join(given)} [at {user_line()}]"
            )
        for key, value in given.items():
            number_in_range(self.name, key, value, 0.0, math.inf)
        self.clipnorm, self.clipvalue, self.global_clipnorm = clips.values()
        decay = 0.0 if weight_decay is None else weight_decay
        self.weight_decay = number_in_range(self.name, "weight_decay", decay, 0.0, math.inf)
        self.schedule = learning_rate if callable(learning_rate) else None
        first = 0.0 if callable(learning_rate) else learning_rate
        rate = number_in_range(self.name, "learning_rate", first, 0.0, math.inf)
        self._learning_rate = state_variable(rate, f"{self.name}/learning_rate")
        self.iterations = state_variable(0, f"{self.name}/iterations")
        if self.schedule is not None:
            self._learning_rate.assign(self._rate(detached(self.iterations)))
        self.slots: dict[str, list[Variable]] = {slot: [] for slot in self.slot_names}
        self._updated = Updated()
        self._not_decayed = Updated()
        self._names_not_decayed: tuple[str, ...] = ()

    @property
    def learning_rate(self) -> Variable:
        """Return the size of a step, as a Variable that is not trainable; to set it, assign a number.

        With a schedule the Variable has the value for the last step, and cannot be set.
        """
        return self._learning_rate

    @learning_rate.setter
    def learning_rate(self, value: float) -> None:
        if self.schedule is not None:
            raise TypeError(
                f"{self.name}: the learning rate follows {describe(self.schedule)}, so it cannot be set "
                f"[at {user_line()}]. Make the optimizer with a number to set it by hand"
            )
        rate = number_in_range(self.name, "learning_rate", value, 0.0, math.inf)
        self._learning_rate.assign(rate)

    @entrance
    def exclude_from_weight_decay(
        self, var_list: Any = None, var_names: Iterable[str] | None = None
    ) -> None:
        """Exclude Variables from the weight decay, such as biases and the scales of normalisations.

        Parameters
        ----------
        var_list : Iterable[Variable], optional
            The Variables to exclude (an iterable or a nesting).
        var_names : Iterable[str], optional
            Parts of names: each Variable whose name contains one of them is excluded.

        Raises
        ------
        TypeError
            When an element is no Variable, or no str.
        """
        words = [var_names] if isinstance(var_names, str) else list(var_names or ())
        for word in words:
            if not isinstance(word, str):
                raise TypeError(
                    f"{self.name}: var_names are texts, got {describe(word)} [at {user_line()}]"
                )
        found = variables_of(self.name, "exclude_from_weight_decay()", var_list or ())
        for variable in found:
            if self._not_decayed.find_variable(variable) is None:
                self._not_decayed.variables.append(variable)
        self._names_not_decayed = (*self._names_not_decayed, *words)

    @entrance
    def build(self, variables: Any) -> None:
        """Create the slots of Variables that have none yet.

        ``apply_gradients`` calls this method.  Call it before you load a checkpoint into a new
        optimizer, with the Variables in the order in which they were first updated.

        Parameters
        ----------
        variables : Iterable[Variable]
            The Variables (an iterable or a nesting).

        Raises
        ------
        TypeError
            When one of them is no Variable.
        """
        for variable in variables_of(self.name, "build()", variables):
            self._place(variable)

    @entrance
    def apply_gradients(self, pairs: Iterable[tuple[Any, Any]]) -> None:
        """Take one step: change each Variable by its gradient.

        Parameters
        ----------
        pairs : iterable of (gradient, Variable)
            The pairs, such as ``zip(tape.gradient(loss, variables), variables)``.  One pair may hold
            two nestings: ``[(tape.gradient(loss, params), params)]``.  A Variable whose gradient is
            None does not change, and a ``TapeWarning`` names it.

        Raises
        ------
        TypeError
            When an element is no pair, or holds something else than an Array and a Variable.
        ValueError
            When all gradients are None, a Variable is given twice, or the nestings of a pair differ.
            Also when a gradient has another shape, device or kind of dtype than its Variable.  After
            an error no Variable has changed.
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
        checked = [(fit_gradient(self.name, g, variable), variable) for g, variable in usable]
        if len(usable) < len(given):
            missing = ", ".join(repr(variable.name) for g, variable in given if g is None)
            warnings.warn(
                f"{self.name}: the gradient is None for {missing}, which stays as it is",
                TapeWarning,
                stacklevel=stacklevel(),
            )
        self.build(variable for _, variable in given)
        rate, step = self._numbers()
        decays = [self.weight_decay and self._decays(variable) for _, variable in checked]
        rows = []
        for g, variable in self._clipped(checked):
            place = self._place(variable)
            rows.append((g, variable, [self.slots[slot][place] for slot in self.slot_names]))
        changed = [part for _, variable, slots in rows for part in (variable, *slots)]
        with AllOrNone([*changed, self._learning_rate, self.iterations]):
            for (g, variable, slots), decayed in zip(rows, decays, strict=True):
                if decayed:
                    factor = rate_for_gradient(rate * self.weight_decay, g)
                    assign_values(decayed_values, g, [variable], (factor,))
                self.update(g, variable, slots, rate, step)
                if variable.constraint is not None:
                    variable.assign(variable.constraint(detached(variable)))
            if self.schedule is not None:
                self._learning_rate.assign(rate)
            self.iterations.assign(step)

    @entrance
    def minimize(
        self, loss: Callable[[], Any] | Array, variables: Any, tape: xp.GradientTape | None = None
    ) -> None:
        """Compute the gradient of a loss, and take one step.

        Parameters
        ----------
        loss : callable or Array
            A function without arguments that computes the loss, or the loss itself.
        variables : Iterable[Variable]
            The Variables to change (an iterable or a nesting).
        tape : GradientTape, optional
            The tape that recorded the loss; a loss that is an Array needs it.

        Raises
        ------
        TypeError
            When the loss is an Array and there is no tape, or one of the Variables is no Variable.
        ValueError
            When all gradients are None: see ``apply_gradients``.
        """
        own = variables_of(self.name, "minimize()", variables)
        if callable(loss):
            with xp.GradientTape() if tape is None else tape as recorder:
                value = loss()
            if value is None:
                raise TypeError(
                    f"{self.name}: return the loss from the function of minimize(); it returned "
                    f"{describe_result(value)} [at {user_line()}]"
                )
        elif tape is None:
            raise TypeError(
                f"{self.name}: minimize() takes a function without arguments, such as "
                f"lambda: xp.mean(model(x)), or tape=; got {describe(loss)} [at {user_line()}]"
            )
        else:
            value, recorder = loss, tape
        self.apply_gradients(zip(recorder.gradient(value, own), own, strict=True))

    def update(
        self, g: Array, variable: Variable, slots: Sequence[Variable], rate: float, step: int
    ) -> None:
        """Change one Variable and its slots; a subclass overrides this method.

        Parameters
        ----------
        g : Array
            The gradient.
        variable : Variable
            The Variable to change.
        slots : Sequence[Variable]
            The Variable's slots, in the order of ``slot_names``.
        rate : float
            The learning rate.
        step : int
            The number of steps, including the current one.
        """
        raise NotImplementedError(f"{type(self).__name__} has no update()")

    @entrance
    def slot(self, slot_name: str, like: Array) -> Array:
        """Return the initial value of a slot: zeros in the shape, dtype and device of a Variable.

        Parameters
        ----------
        slot_name : str
            One of ``slot_names``.
        like : Array
            The value of the Variable.

        Returns
        -------
        Array
            The initial value of the slot.
        """
        return xp.zeros_like(xp.abs(like) if slot_name in self.real_slots else like)

    def _numbers(self) -> tuple[Any, Any]:
        """Return the learning rate, and the number of steps including the current one.

        Both are Python numbers, or Arrays while ``xp.function`` traces a step and ``update`` has
        ``takes_arrays``: the trace would contain Python numbers as constants.
        """
        count = detached(self.iterations)
        rate = detached(self._learning_rate) if self.schedule is None else self._rate(count)
        if hasattr(type(self).update, "takes_arrays") and not is_at_hand(count):
            return rate, count + 1
        return float(rate), int(count) + 1

    def _rate(self, count: Array) -> Any:
        """Return the schedule's learning rate: a float, or an Array while ``xp.function`` traces."""
        found: Any = self.schedule(count) if self.schedule is not None else None
        if isinstance(found, Array) and found.dtype.kind == "f" and not found.ndim:
            found = xp.astype(detached(found), xp.float64, copy=False, device="cpu")
            if not is_at_hand(found):
                return found
        return number_in_range(self.name, "learning_rate of the schedule", found, 0.0, math.inf)

    def _decays(self, variable: Variable) -> bool:
        """Return True unless ``exclude_from_weight_decay`` excluded the Variable."""
        named = any(word in variable.name for word in self._names_not_decayed)
        return not named and self._not_decayed.find_variable(variable) is None

    def _clipped(self, pairs: Sequence[Pair]) -> Sequence[Pair]:
        """Return the pairs with gradients clipped as clipvalue, clipnorm or global_clipnorm demands."""
        gradients = [g for g, _ in pairs]
        if self.clipvalue is not None:
            gradients = clip_by_value(gradients, -self.clipvalue, self.clipvalue)
        elif self.clipnorm is not None:
            gradients = clip_by_norm(gradients, self.clipnorm)
        elif self.global_clipnorm is not None:
            gradients, _ = clip_by_global_norm(gradients, self.global_clipnorm)
        else:
            return pairs
        return [(g, variable) for g, (_, variable) in zip(gradients, pairs, strict=True)]

    def _place(self, variable: Variable) -> int:
        """Return the index of a Variable's values in each list of ``slots``; make them if needed."""
        place = self._updated.find_variable(variable)
        if place is None:
            place = len(self._updated.variables)
            try:
                for slot_name, slots in self.slots.items():
                    value = self.slot(slot_name, detached(variable))
                    slots.append(Variable(value, False, f"{variable.name}/{self.name}/{slot_name}"))
                self._updated.variables.append(variable)  # last, after all its slots
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
        if nest.parts_of_nesting(variables) is None:
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


def is_at_hand(x: Array) -> bool:
    """Return True if x holds a NumPy array, not traced data or data of another device."""
    return type(peek(x)) is np.ndarray


def rate_for_gradient(number: float | Array, g: Array) -> Any:
    """Return a learning rate in the precision and on the device of the gradient g.

    So their product has g's precision.  number : a Python number, which stays, or an Array.
    """
    if not isinstance(number, Array):
        return number
    return xp.astype(number, xp.finfo(g.dtype).dtype, copy=False, device=g.device)


def decayed_values(xp: Namespace, g: Any, values: Sequence[Any], numbers: Sequence[Any]) -> Any:
    """Return (value - factor * value,), a step of weight decay, as a formula for ``assign_values``."""
    (value,), (factor,) = values, numbers
    return (value - factor * value,)


Formula = Callable[[Namespace, Any, Sequence[Any], Sequence[Any]], Sequence[Any]]


def assign_values(
    formula: Formula, g: Array, variables: Sequence[Variable], numbers: Sequence[Any]
) -> None:
    """Change Variables, such as a parameter and its momentum, by the formula of a step.

    formula : elementwise array-API code: a function of a namespace, the gradient g, the Variables'
    values and ``numbers``, such as the learning rate.  It returns the new values.  A storage such as
    CuPy's computes all of them by one kernel.
    """
    storage = storage_of(peek(g))
    if storage.fusing:
        data = [peek(x) for x in (g, *variables)]
        if all(map(storage.fuses, (*data, *numbers))):
            run = kernel_of_formula(storage, formula, len(variables))
            with storage.at(*data):
                found = run(*data, *numbers)
            for variable, value in zip(variables, found, strict=True):
                variable._own(wrap(value))
            return
    new = formula(xp, g, [detached(variable) for variable in variables], numbers)
    for variable, value in zip(variables, new, strict=True):
        variable.assign(value)


@cache
def kernel_of_formula(storage: Storage, formula: Formula, count: int) -> Callable[..., Any]:
    """Return ``formula`` as one kernel of raw data, for ``count`` Variables: see ``assign_values``."""

    def new_values(g: Any, *rest: Any) -> Sequence[Any]:
        return tuple(formula(storage.xp, g, rest[:count], rest[count:]))

    new_values.__name__ = formula.__name__
    return storage.fused(new_values)


def takes_arrays(update: Update) -> Update:
    """Mark an ``update`` method as correct for Arrays in place of the numbers ``rate`` and ``step``.

    ``xp.function`` passes Arrays while it traces, because numbers would be constants of the program.
    """
    update.takes_arrays = True  # type: ignore[attr-defined]
    return update


class Updated:
    """A list of an optimizer's Variables that ``Module`` does not find: no checkpoint has them."""

    def __init__(self) -> None:
        self.variables: list[Variable] = []
        self.last = 0

    def find_variable(self, variable: Variable) -> int | None:
        """Return the index of a Variable, or None if it is not in the list.

        The search starts behind the last found Variable, because each step searches for the Variables in
        the same order.
        """
        count = len(self.variables)
        for step in range(count):
            place = (self.last + step) % count
            if self.variables[place] is variable:
                self.last = (place + 1) % count
                return place
        return None


def fit_gradient(owner: str, g: Array, variable: Variable) -> Array:
    """Return the gradient g in the dtype of its Variable, without a tape; check that it fits.

    owner : the optimizer's name, for the message.
    """
    kind_fits = g.dtype.kind == "f" or (g.dtype.kind == "c" and variable.dtype.kind == "c")
    if g.shape != variable.shape or g.device != variable.device or not kind_fits:
        value = layout_text(variable)
        raise ValueError(
            f"{owner}: the gradient {describe(g)} does not fit the Variable {variable.name!r}, {value} "
            f"[at {user_line()}]"
        )
    return xp.astype(detached(g), variable.dtype, copy=False)


def state_variable(value: float, name: str) -> Variable:
    return Variable(xp.asarray(value, device="cpu"), trainable=False, name=name)
