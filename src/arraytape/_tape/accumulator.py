"""ForwardAccumulator: forward mode as in TensorFlow, for arrays of the array API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from .._array.array import IS_VIEW, Array
from .._array.paths import repeats_elements
from .._exits.lost_parts import Doubt
from .._exits.modes import mode_of
from .._record.stack import OfThisProcess
from .._util import nest
from .._util.blocks import Block
from .._util.errors import describe, user_line
from .._util.nest import Nesting
from .arguments import (
    UnconnectedGradients,
    array_on_device_of,
    differentiable,
    filled_like,
    parse_unconnected,
)
from .forward import ForwardPass
from .recording import UNFOLLOWED

if TYPE_CHECKING:
    from .._array.array import Operand


class ForwardAccumulator(OfThisProcess, Block):
    """Jacobian-vector products in forward mode, as ``tf.autodiff.ForwardAccumulator``.

    Parameters
    ----------
    primals : Array or nesting
        An Array, or a nesting of Arrays.  No Array may occur twice.
    tangents : Array or nesting
        The direction of the derivative: a nesting like that of ``primals``, in which each tangent has
        the shape and dtype of its primal.  Numbers, lists of numbers and NumPy arrays are converted if
        that loses nothing: integers are converted to floats, but complex numbers are not.
    exits : str | None, default: None
        The reaction to a derivative that may be incomplete because a value was converted to a number
        or a NumPy array on the way: see ``GradientTape``.

    Raises
    ------
    TypeError
        When a primal is no Array, or a tangent neither an Array nor numbers.
    ValueError
        When a primal is given twice, or is a view that repeats elements (``broadcast_to``).  When a
        tangent does not fit its primal, or ``exits`` is not one of the allowed words.

    Examples
    --------
    >>> import arraytape as xp
    >>> x = xp.asarray([1.0, 2.0, 3.0])
    >>> tangent = xp.asarray([1.0, 0.0, 0.0])
    >>> with xp.ForwardAccumulator(x, tangent) as accumulator:
    ...     y = x**2 + xp.sum(x)
    >>> print(accumulator.jvp(y))
    [3. 1. 1.]

    An accumulator around a tape computes the product of the Hessian with the tangent:

    >>> with xp.ForwardAccumulator(x, tangent) as accumulator:
    ...     with xp.GradientTape() as tape:
    ...         tape.watch(x)
    ...         loss = xp.sum(x**3)
    ...     gradient = tape.gradient(loss, x)
    >>> print(accumulator.jvp(gradient))
    [6. 0. 0.]
    """

    def __init__(self, primals: Nesting, tangents: Nesting, *, exits: str | None = None) -> None:
        arrays = nest.leaves(primals)
        given = nest.leaves_like(primals, tangents, "tangents", numbers=True)
        self._pairs = [(x, tangent_of(x, t)) for x, t in zip(arrays, given, strict=True)]
        if len({id(x) for x in arrays}) < len(arrays):
            raise ValueError(
                f"ForwardAccumulator: the same primal is given twice [at {user_line()}]"
            )
        self._pass = ForwardPass()
        self._started = False
        self._exits = exits if exits is None else mode_of(exits)
        # A list if ``xp.jvp`` or the like made the accumulator.  It collects derivatives that may lack a
        # part because of an untracked conversion, which ``xp.jvp`` checks.
        self._doubts: list[Doubt] | None = None

    def __enter__(self) -> Self:
        if self._opened is not None and self._opened() is None:
            self._pass.end_forward()  # an interruption kept ``__exit__`` of the last block from running
        if self._pass.followed is not UNFOLLOWED:
            raise ValueError(f"this ForwardAccumulator is already active [at {user_line()}]")
        if not self._started:
            self._pass = ForwardPass()
            for x, t in self._pairs:
                self._pass.watch_primal(x, t)
            self._started = True
        self._opened = self._held
        self._pass.begin_forward()
        return self

    def _end(self) -> None:
        self._pass.end_forward()

    def jvp(
        self,
        targets: Nesting,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
    ) -> Nesting:
        """Return the derivative of each target along the tangents; may be called any number of times.

        Parameters
        ----------
        targets : Array or nesting
            The Arrays to differentiate, in any nesting.
        unconnected_gradients : UnconnectedGradients | str, default: UnconnectedGradients.NONE
            The answer for a target that does not depend on the primals: None, or zeros ("zero").

        Returns
        -------
        Array or nesting
            The nesting of ``targets``; each derivative has its target's shape and dtype.

        Raises
        ------
        LookupError
            When a target was computed by an op without a rule.
        LostGradientError
            With exits="raise", when a derivative is None or partial because a value was converted to a
            number or a NumPy array.
        RuntimeError
            When the accumulator was never entered.
        TypeError
            When a target is no Array.

        Warns
        -----
        TapeWarning
            When a derivative is None or partial because a value was converted to a number or a NumPy
            array.  The warning names the lines of the conversions.

        Examples
        --------
        >>> import arraytape as xp
        >>> x = xp.asarray([1.0, 2.0])
        >>> with xp.ForwardAccumulator(x, xp.asarray([1.0, 0.0])) as accumulator:
        ...     y = x * x
        >>> print(accumulator.jvp(y))
        [2. 0.]
        """
        zero = parse_unconnected(unconnected_gradients) is UnconnectedGradients.ZERO
        leaves = nest.leaves(targets)
        for y in leaves:
            if not isinstance(y, Array):
                raise TypeError(
                    f"jvp(): every target must be an Array, got {describe(y)} [at {user_line()}]"
                )
        if not self._started:
            raise RuntimeError(
                "this ForwardAccumulator never recorded: enter it with `with accumulator:` first "
                f"[at {user_line()}]"
            )
        return nest.pack_nesting(targets, [self._derivative(y, zero) for y in leaves])

    def _derivative(self, y: Array, zero: bool) -> Array | None:
        found = self._pass.tangent_of_target(y)
        mode = mode_of(self._exits)
        self._pass.report_exits(y, found, mode, self._doubts)
        return filled_like("zeros", y) if found is None and zero else found


def tangent_of(x: Array, given: Operand) -> Array:
    """Return ``given``, the tangent of the primal x, as an Array.

    Raise TypeError or ValueError if x has no derivative, or the tangent does not fit x.

    given : the tangent as the user passed it: an Array, a number, a list of numbers, or a NumPy array.
    """
    if not isinstance(x, Array):
        raise TypeError(
            f"ForwardAccumulator: a primal must be an Array, got {describe(x)} [at {user_line()}]"
        )
    if not differentiable(x):
        raise ValueError(
            f"ForwardAccumulator: a primal of dtype {x.dtype} has no derivative [at {user_line()}]"
        )
    if x._state & IS_VIEW and repeats_elements(x._view.path):
        raise ValueError(
            "ForwardAccumulator: compute with a copy, x = xp.asarray(x, copy=True), in place of the "
            f"view {describe(x)}, which shows some elements several times [at {user_line()}]"
        )
    t = array_on_device_of(x, given, "ForwardAccumulator: a tangent")
    if x.shape != t.shape or x.dtype != t.dtype:
        raise ValueError(
            f"ForwardAccumulator: the tangent {describe(t)} does not fit its primal {describe(x)} "
            f"[at {user_line()}]"
        )
    return t
