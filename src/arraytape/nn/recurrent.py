"""Recurrent layers: a state that each element of a sequence changes.

Data have the axes (..., times, features).  The loop over the times is a loop of Python.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from .._util.errors import describe, user_line
from ..variable import Variable
from . import initializers
from .layers import (
    Affine,
    Initial,
    Seed,
    activation_of,
    boolean_option,
    integer_option,
    training_option,
)
from .libraries import as_layer_operand, constant_like
from .losses import asarray_like

if TYPE_CHECKING:
    from .._array.array import Array
    from .._util.array_types import RawArray

Activation = str | Callable[[Any], Any] | None


class Recurrent(Affine):
    """Base class of ``LSTM`` and ``GRU``, which define the step from one time to the next."""

    least_axes = 2
    _gates = 0
    _states = 1
    recurrent_kernel: Variable | None

    def __init__(
        self, units: int, activation: Activation = "tanh", recurrent_activation: Activation = "sigmoid",
        use_bias: bool = True, kernel_initializer: Initial = "glorot_uniform",
        recurrent_initializer: Initial = "orthogonal", bias_initializer: Initial = "zeros", *,
        return_sequences: bool = False, return_state: bool = False, go_backwards: bool = False,
        seed: Seed = None, name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(name, seed)
        owner = type(self).__name__
        self.units = integer_option(owner, "units", units)
        self.kernel = self.recurrent_kernel = None  # the order of the weights
        self._set(owner, activation, use_bias, kernel_initializer, bias_initializer)
        self.recurrent_activation = activation_of(owner, recurrent_activation)
        self.recurrent_initializer = initializers.get(recurrent_initializer)
        self.return_sequences = boolean_option(owner, "return_sequences", return_sequences)
        self.return_state = boolean_option(owner, "return_state", return_state)
        self.go_backwards = boolean_option(owner, "go_backwards", go_backwards)

    def make(self, x: RawArray) -> None:
        width = self._gates * self.units
        self.add_weight("kernel", (x.shape[-1], width), x, self.kernel_initializer)
        self.add_weight("recurrent_kernel", (self.units, width), x, self.recurrent_initializer)
        if self.use_bias:
            self._make_bias(width, x)

    def _make_bias(self, width: int, x: RawArray) -> None:
        self.add_weight("bias", (width,), x, self.bias_initializer)

    # With ``return_state`` the result is a tuple of Arrays, which unpacks as an Array does.
    def call(self, x: Any, initial_state: Any = None, training: bool | None = False) -> Array:
        """Compute the outputs of all times, one after the other.

        Parameters
        ----------
        x : Array
            Data with the axes ``(..., times, features)``.
        initial_state : Array or sequence of Array, optional
            The state before the first time, in the order in which ``return_state`` returns it; by
            default zeros.
        training : bool or None, default False
            Without effect: the layer computes the same in training.

        Returns
        -------
        Array or tuple of Array
            The last output, or all of them with ``return_sequences``; with ``return_state`` a tuple of
            this and the last state.
        """
        library, x, kernel = self._operands(x)
        training_option(self.name, training)
        if not x.shape[-2]:
            raise ValueError(f"{self.name}: {describe(x)} has no times [at {user_line()}]")
        recurrent, bias = (as_layer_operand(v, x) for v in (self.recurrent_kernel, self.bias))
        states, outputs = self._first_states(library, x, initial_state), []
        products = x @ kernel
        times = range(x.shape[-2])
        for time in reversed(times) if self.go_backwards else times:
            states = self._step(products[..., time, :], states, recurrent, bias)
            outputs.append(states[0])
        y = library.stack(outputs, axis=-2) if self.return_sequences else outputs[-1]
        found: Any = (y, *states) if self.return_state else y
        return found

    def _first_states(self, library: ModuleType, x: RawArray, given: Any) -> list[Any]:
        """Return the states before the first time: ``given``, one array or a list, or zeros for None."""
        shape = (*x.shape[:-2], self.units)
        if given is None:
            return [constant_like(library, shape, 0.0, x)] * self._states
        several = list(given) if isinstance(given, list | tuple) else [given]
        states = [asarray_like(library, state, x) for state in several]
        if len(states) != self._states or any(tuple(state.shape) != shape for state in states):
            raise ValueError(
                f"{self.name}: give initial_state as a list of {self._states} of shape {shape}, got "
                f"{', '.join(map(describe, states))} [at {user_line()}]"
            )
        return states

    def _step(self, product: Any, states: Sequence[Any], recurrent: Any, bias: Any) -> list[Any]:
        """Return the states after one more element of the sequence, the output first."""
        raise NotImplementedError

    def _gate(self, z: RawArray, index: int, function: Callable[[Any], Any] | None) -> Any:
        """Return ``function``, an activation, of the part of z that belongs to gate number ``index``."""
        part = z[..., index * self.units : (index + 1) * self.units]
        return part if function is None else function(part)


RECURRENT = """{title}

    Data have the axes ``(..., times, features)``; the parameters and the order of the gates are Keras's.
    Kernels and bias are made on the first call.

    Parameters
    ----------
    units : int
        The length of the output's last axis.
    *args : object
        Further options in the order of Keras: ``activation`` ("tanh"), the function of the new content;
        ``recurrent_activation`` ("sigmoid"), that of the gates; ``use_bias`` (True);
        ``kernel_initializer`` ("glorot_uniform"), ``recurrent_initializer`` ("orthogonal") and
        ``bias_initializer`` ("zeros"): see ``arraytape.nn.initializers``.
    {option}
    **options : object
        The same options by name, and further ones, which are False by default.
        ``return_sequences``: return the outputs of all times, not only the last one.
        ``return_state``: return also the last state.  ``go_backwards``: begin with the last time.
        Also ``seed``, the seed of the kernels, and ``name``, the layer's name.

    References
    ----------
    {reference}

    Examples
    --------
    >>> import arraytape as xp
    {example}
    """


class LSTM(Recurrent):
    __doc__ = RECURRENT.format(
        title="Long short-term memory: a state and a cell that input, forget and output gates change.",
        option="""unit_forget_bias : bool, default True
        If True, the bias of the forget gate begins with ones.""",
        reference="""Hochreiter and Schmidhuber 1997, "Long short-term memory".  Gers, Schmidhuber and
    Cummins 2000, "Learning to forget", for the forget gate.""",
        example=""">>> layer = xp.nn.LSTM(4, return_sequences=True, return_state=True, seed=0)
    >>> outputs, state, cell = layer(xp.ones((2, 5, 3)))
    >>> outputs.shape, state.shape, cell.shape
    ((2, 5, 4), (2, 4), (2, 4))""",
    )  # fmt: skip
    _gates, _states = 4, 2

    def __init__(
        self, units: int, *args: Any, unit_forget_bias: bool = True, **options: Any
    ) -> None:
        super().__init__(units, *args, **options)
        self.unit_forget_bias = boolean_option("LSTM", "unit_forget_bias", unit_forget_bias)

    def _make_bias(self, width: int, x: RawArray) -> None:
        def with_forget_bias(shape: tuple[int, ...], dtype: Any, generator: Any) -> Any:
            values = np.array(self.bias_initializer(shape, dtype, generator))
            values[self.units : 2 * self.units] = 1.0
            return values

        first = with_forget_bias if self.unit_forget_bias else self.bias_initializer
        self.add_weight("bias", (width,), x, first)

    def _step(self, product: Any, states: Sequence[Any], recurrent: Any, bias: Any) -> list[Any]:
        state, cell = states
        z = product + state @ recurrent
        if bias is not None:
            z = z + bias
        taken, kept, shown = (self._gate(z, i, self.recurrent_activation) for i in (0, 1, 3))
        cell = kept * cell + taken * self._gate(z, 2, self.activation)
        return [shown * (cell if self.activation is None else self.activation(cell)), cell]


class GRU(Recurrent):
    __doc__ = RECURRENT.format(
        title="Gated recurrent unit: a state that an update and a reset gate change.",
        option="""reset_after : bool, default True
        If True, the reset gate multiplies the product of state and kernel, which has its own bias, as in
        cuDNN; else it multiplies the state.""",
        reference="""Cho et al. 2014, "Learning phrase representations using RNN encoder-decoder for
    statistical machine translation", section 2.3.""",
        example=""">>> xp.nn.GRU(4, seed=0)(xp.ones((2, 5, 3))).shape
    (2, 4)""",
    )  # fmt: skip
    _gates = 3

    def __init__(self, units: int, *args: Any, reset_after: bool = True, **options: Any) -> None:
        super().__init__(units, *args, **options)
        self.reset_after = boolean_option("GRU", "reset_after", reset_after)

    def _make_bias(self, width: int, x: RawArray) -> None:
        shape = (2, width) if self.reset_after else (width,)
        self.add_weight("bias", shape, x, self.bias_initializer)

    def _step(self, product: Any, states: Sequence[Any], recurrent: Any, bias: Any) -> list[Any]:
        (state,), units = states, self.units
        inner_bias = None
        if bias is not None:
            product = product + (bias[0, :] if self.reset_after else bias)
            inner_bias = bias[1, :] if self.reset_after else None
        # Before the reset gate is known, only a part of the product of the state can be computed.
        inner = state @ (recurrent if self.reset_after else recurrent[:, : 2 * units])
        if inner_bias is not None:
            inner = inner + inner_bias
        gates = product[..., : 2 * units] + inner[..., : 2 * units]
        update, reset = (self._gate(gates, i, self.recurrent_activation) for i in (0, 1))
        if self.reset_after:
            content = reset * inner[..., 2 * units :]
        else:
            content = (reset * state) @ recurrent[:, 2 * units :]
        new = product[..., 2 * units :] + content
        new = new if self.activation is None else self.activation(new)
        return [update * state + (1.0 - update) * new]
