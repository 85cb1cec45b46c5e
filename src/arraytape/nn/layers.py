"""Layers: Modules that make their Variables when they first get data."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

import numpy as np

import arraytape as xp

from .._array.array import Array
from .._util.errors import describe, entrance, raise_documented, short_repr, user_line
from ..module import Module
from ..variable import Variable
from . import activations, initializers
from .libraries import (
    as_layer_operand,
    as_library_floats,
    dtype_kind,
    flatten_axes,
    host_dtype,
    is_free_to_read,
    library_of,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from .._util.array_types import HasCall, P, R_co, RawArray

ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    name: getattr(activations, name)
    for name in (
        "relu", "sigmoid", "softplus", "tanh", "softmax", "log_softmax", "elu", "gelu", "hard_sigmoid",
        "leaky_relu", "linear", "selu", "silu", "swish",
    )
}  # fmt: skip
Initial = str | Callable[..., Any]
Seed = int | np.random.Generator | None


class Layer(Module):
    """Base class of layers, which make Variables on the first call, in the data's dtype and device.

    A layer of your own overrides ``make``, which calls ``add_weight``, and ``call``.

    Parameters
    ----------
    name : str, optional
        The layer's name in messages, and the first part of its Variables' names.
    seed : int, numpy.random.Generator or None
        The seed of the Variables' values; the same integer and sizes give equal values.

    Examples
    --------
    >>> import arraytape as xp
    >>> class Scale(xp.nn.Layer):
    ...     least_axes = 1  # of the data
    ...     def make(self, x):
    ...         self.add_weight("factor", (x.shape[-1],), x, "ones")
    ...     def call(self, x):
    ...         return x * self.factor
    >>> layer = Scale("scale")
    >>> layer.build(xp.ones((4, 3)))  # or the first call
    >>> [variable.name for variable in layer.variables]
    ['scale/factor']
    >>> layer(xp.ones((4, 3))).shape
    (4, 3)
    """

    least_axes = 1
    _makes_variables = False  # True for a class that defines ``make`` or ``build``

    def __init__(self, name: str | None = None, seed: Seed = None) -> None:
        super().__init__(name)
        self.seed = seed
        try:
            np.random.default_rng(seed)  # raises now for a wrong seed, not at the first call
        except Exception as error:
            raise_documented(error, type(self).__name__, seed=seed)
        self.built = False

    @property
    def trainable(self) -> bool:
        """Return True: each Variable has an attribute ``trainable`` of its own.

        Setting it raises AttributeError, since Variables keep theirs.  To freeze a layer, leave its
        Variables out of those that the optimizer gets.

        Examples
        --------
        >>> import arraytape as xp
        >>> frozen, head = xp.nn.Dense(2, seed=0), xp.nn.Dense(1, seed=1)
        >>> y = head(frozen(xp.ones((1, 3))))
        >>> variables = head.trainable_variables  # for the tape and the optimizer
        >>> len(variables), frozen.trainable
        (2, True)
        """
        return True

    @trainable.setter
    def trainable(self, value: bool) -> None:
        if value is not True:
            raise AttributeError(
                f"{self.name}: leave the layer's Variables out of those that the tape and the optimizer "
                f"get; trainable of a layer cannot be set [at {user_line()}]"
            )

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if {"build", "make"} & vars(cls).keys():
            cls._makes_variables = True
        if "build" in vars(cls):
            cls.build = build_once(cls.build)  # type: ignore[method-assign]

    def build(self, x: Array | Sequence[int | None]) -> None:
        """Make the Variables for data like ``x``, unless they exist, as the first call does.

        A subclass may override ``build`` in place of ``make``, as in Keras.  It then gets the shape of
        the data, and runs once.

        Parameters
        ----------
        x : Array or tuple of int
            Data of the shape, dtype and device that the layer is to take; their values are not read.  Or
            a shape, with None for lengths that do not matter; the Variables are then float64 on the CPU.
        """
        if "_first_data" in vars(self):  # called by a subclass's build
            self.make(self._first_data)
        elif not self._is_built():
            self._make_variables(x, lambda: self.make(self._first_data))

    def _make_variables(self, x: Array | Sequence[int | None], make: Callable[[], None]) -> None:
        """Run ``make``, a function that makes the Variables; if it fails, the layer stays as it was.

        While it runs, ``add_weight`` reads the dtype and device of the data from ``_first_data``, and
        draws from the generator ``_drawn``.
        """
        kept = vars(self).copy()
        try:
            first: Any = array_like_shape(x) if isinstance(x, tuple | list) else x
            self._library(first)
            self._first_data = first
            early = vars(self).get("_drawn_early")
            self._drawn = np.random.default_rng(self.seed) if early is None else deepcopy(early)
            make()
            self.built = True
        except BaseException as error:
            vars(self).clear()
            vars(self).update(kept)
            if not isinstance(error, Exception):
                raise
            raise_documented(error, f"{self.name}.build", x)
        finally:
            for name in ("_first_data", "_drawn"):
                vars(self).pop(name, None)

    def make(self, x: Any) -> None:
        """Make the Variables by ``add_weight``; a subclass that has Variables defines this.

        Parameters
        ----------
        x : Array
            The data of the first call.
        """

    @entrance
    def add_weight(
        self, name: str | None = None, shape: Sequence[int] = (), x: Any = None,
        initializer: Initial = "glorot_uniform", trainable: bool = True,
        dtype: npt.DTypeLike | None = None,
    ) -> Variable:  # fmt: skip
        """Make a Variable, and keep it as the attribute of this name.

        Parameters
        ----------
        name : str, optional
            The name of the attribute, and the last part of the Variable's.  Without a name, keep the
            result as an attribute yourself.
        shape : sequence of int, default ()
            The shape of the Variable.
        x : Array, optional
            The data whose dtype and device the Variable gets; by default those of the first call.
        initializer : str or callable, default "glorot_uniform"
            The Variable's first values.
        trainable : bool, default True
            If True, tapes watch the Variable.
        dtype : dtype, optional
            The dtype of the Variable; by default that of the data, or float64 for integer data.

        Returns
        -------
        Variable
            The Variable.
        """
        if name is not None:
            check_name(f"{self.name}.add_weight", name)
            there = vars(self).get(name)
            if there is not None:  # the user has set the attribute before the first call
                if not isinstance(there, Variable) or there.shape != tuple(shape):
                    raise ValueError(
                        f"{self.name}.add_weight: choose another name than {name!r}, which the layer "
                        f"has for {describe(there)} [at {user_line()}]"
                    )
                return there
        data = vars(self).get("_first_data", np.float64(0.0)) if x is None else x
        data = array_from_numpy(data)
        of_data = (
            host_dtype(library_of(self.name, data), data) if dtype is None else np.dtype(dtype)
        )
        sizes = tuple(operator.index(size) for size in shape)
        if "_drawn" in vars(self):
            drawn = self._drawn
        else:  # in ``__init__``: Variables of one layer must not begin with the same values
            drawn = vars(self).setdefault(
                "_drawn_early", np.random.default_rng(vars(self).get("seed"))
            )
        values = np.asarray(initializers.get(initializer)(sizes, of_data, drawn))
        if values.shape != sizes:
            raise ValueError(
                f"{self.name}: the initializer of {name!r} gave the shape {values.shape} where "
                f"{sizes} is needed [at {user_line()}]"
            )
        device = data.device if isinstance(data, Array) else "cpu"
        value = xp.asarray(values.astype(of_data, copy=False), device=device)
        variable = Variable(value, trainable, f"{self.name}/{name or 'variable'}")
        if name is not None:
            setattr(self, name, variable)
        return variable

    def call(self, x: Any, *args: Any, **keywords: Any) -> Any:
        """Compute the layer's result; a subclass defines this.

        Parameters
        ----------
        x : Array
            The data.
        *args : object
            Further positional arguments of the layer's call.
        **keywords : object
            Keyword arguments of the layer's call.

        Returns
        -------
        Array
            The result.
        """
        raise NotImplementedError(f"{type(self).__name__} has no call()")

    @overload  # the types of the subclass's ``call``, which has a parameter for the data
    def __call__(self: HasCall[P, R_co], *args: P.args, **keywords: P.kwargs) -> R_co: ...
    @overload
    def __call__(self, x: Any, *args: Any, **keywords: Any) -> Any: ...
    def __call__(self, x: Any, *args: Any, **keywords: Any) -> Any:  # type: ignore[misc]
        """Apply the layer to ``x``: an Array, a NumPy array, or an array of another library.

        Raises
        ------
        TypeError
            When ``x`` is no such array.
        ValueError
            When the shape of ``x`` does not fit.
        """
        try:
            x = array_from_numpy(x)
            self._library(x)
            if not self._is_built():
                self._build_for_call(x)
            return self.call(x, *args, **keywords)
        except Exception as error:
            raise_documented(error, self.name, x, *args, **keywords)

    def _is_built(self) -> bool:
        """Return True if the layer has its Variables.

        First initialize a layer whose class does not call ``super().__init__()``.
        """
        if "built" not in vars(self):
            Layer.__init__(self)
        return self.built

    def _build_for_call(self, x: Any) -> None:
        """Make the Variables before the first call, from the data x."""
        self.build(x)

    def _library(self, x: RawArray) -> Any:
        """Return the namespace of x; raise an error if x is no array, or has too few axes."""
        library = library_of(f"{self.name}:", x)
        if x.ndim < self.least_axes:
            counted = "one axis" if self.least_axes == 1 else f"{self.least_axes} axes"
            raise ValueError(
                f"{self.name}: needs at least {counted}, got {describe(x)} [at {user_line()}]"
            )
        return library


class Affine(Layer):
    """Base class of layers with a kernel, a bias and an activation."""

    kernel: Variable | None
    bias: Variable | None
    _input_axis = -2  # of the kernel

    def _set(
        self, owner: str, activation: str | Callable[[Any], Any] | None, use_bias: bool,
        kernel_initializer: Initial, bias_initializer: Initial,
    ) -> None:  # fmt: skip
        """Check the options that Dense and all convolutions have, and keep them as attributes."""
        self.activation = activation_of(owner, activation)
        self.use_bias = boolean_option(owner, "use_bias", use_bias)
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.bias_initializer = initializers.get(bias_initializer)
        self.kernel = self.bias = None

    def _make_kernel(self, shape: Sequence[int], x: RawArray) -> None:
        """Make a kernel of this shape, and a bias of the length of the kernel's last axis."""
        self.add_weight("kernel", shape, x, self.kernel_initializer)
        if self.use_bias:
            self.add_weight("bias", shape[-1:], x, self.bias_initializer)

    def _operands(self, x: RawArray) -> tuple[Any, Any, Any]:
        """Return the namespace of x, then x and the kernel, ready to be multiplied; check x first."""
        kernel, library = as_layer_operand(self.kernel, x), library_of(self.name, x)
        inputs = kernel.shape[self._input_axis]
        if not x.ndim or x.shape[-1] != inputs:
            raise ValueError(
                f"{self.name}: was made for {inputs} inputs, but the last axis of "
                f"{describe(x)} has {x.shape[-1] if x.ndim else 'none'} [at {user_line()}]"
            )
        if dtype_kind(library, x) not in "fc":
            x = library.astype(x, kernel.dtype)
        return library, x, kernel

    def _activated(self, y: RawArray, x: RawArray) -> Any:
        """Add the bias to a product y, and apply the activation."""
        if self.bias is not None:
            y = y + as_layer_operand(self.bias, x)
        return y if self.activation is None else self.activation(y)


class Dense(Affine):
    """A layer that returns ``activation(x @ kernel + bias)``.

    Kernel and bias are made on the first call, for the data's last axis, dtype and device.  By default
    the kernel is drawn from Glorot's uniform distribution, and the bias is zeros.

    Parameters
    ----------
    units : int
        The length of the result's last axis.
    activation : str or callable, optional
        A function of an Array, or the name of one in ``arraytape.nn``; None: no activation.
    use_bias : bool, default True
        If True, a bias is added.
    seed : int, numpy.random.Generator or None
        The seed of the kernel; the same integer and sizes give equal kernels.
    name : str, optional
        The layer's name in messages, and the first part of its Variables' names.
    kernel_initializer : str or callable, default "glorot_uniform"
        The first values of the kernel: see ``arraytape.nn.initializers``.
    bias_initializer : str or callable, default "zeros"
        The first values of the bias.

    References
    ----------
    Glorot and Bengio 2010, "Understanding the difficulty of training deep feedforward neural
    networks".

    Examples
    --------
    >>> import arraytape as xp
    >>> layer = xp.nn.Dense(2, activation="relu", seed=0)
    >>> x = xp.ones((4, 3))
    >>> layer(x).shape
    (4, 2)
    >>> [variable.name for variable in layer.trainable_variables]
    ['dense/kernel', 'dense/bias']
    >>> with xp.GradientTape() as tape:
    ...     loss = xp.sum(layer(x) ** 2)
    >>> [gradient.shape for gradient in tape.gradient(loss, layer.trainable_variables)]
    [(3, 2), (2,)]
    """

    def __init__(
        self, units: int, activation: str | Callable[[Array], Array] | None = None,
        use_bias: bool = True, seed: Seed = None, name: str | None = None, *,
        kernel_initializer: Initial = "glorot_uniform", bias_initializer: Initial = "zeros",
    ) -> None:  # fmt: skip
        super().__init__(name, seed)
        self.units = integer_option("Dense", "units", units)
        self._set("Dense", activation, use_bias, kernel_initializer, bias_initializer)

    def make(self, x: RawArray) -> None:
        self._make_kernel((x.shape[-1], self.units), x)

    def call(self, x: RawArray) -> Array:
        _, x, kernel = self._operands(x)
        return self._activated(x @ kernel, x)


class Embedding(Layer):
    """A layer that returns a row of a table for each integer.

    Parameters
    ----------
    input_dim : int
        The number of rows of the table.
    output_dim : int
        The length of a row, and of the result's last axis.
    embeddings_initializer : str or callable, default "uniform"
        The first values of the table: see ``arraytape.nn.initializers``.
    seed : int, numpy.random.Generator or None
        The seed of the table.
    name : str, optional
        The layer's name in messages, and the first part of its Variable's name.
    dtype : dtype, default float64
        The dtype of the table.

    Examples
    --------
    >>> import arraytape as xp
    >>> layer = xp.nn.Embedding(10, 3, seed=0)
    >>> layer(xp.asarray([[1, 2], [1, 9]])).shape
    (2, 2, 3)
    """

    least_axes = 0
    embeddings: Variable | None

    def __init__(
        self, input_dim: int, output_dim: int, embeddings_initializer: Initial = "uniform",
        seed: Seed = None, name: str | None = None, *, dtype: npt.DTypeLike | None = np.float64,
    ) -> None:  # fmt: skip
        super().__init__(name, seed)
        self.input_dim = integer_option("Embedding", "input_dim", input_dim)
        self.output_dim = integer_option("Embedding", "output_dim", output_dim)
        self.embeddings_initializer = initializers.get(embeddings_initializer)
        try:
            self.dtype = np.dtype(dtype)
        except Exception as error:
            raise_documented(error, "Embedding", dtype=dtype)
        self.embeddings = None

    def make(self, x: RawArray) -> None:
        shape = (self.input_dim, self.output_dim)
        self.add_weight("embeddings", shape, x, self.embeddings_initializer, dtype=self.dtype)

    def call(self, x: Any) -> Array:
        """Return the rows of the table for the integers in ``x``.

        Parameters
        ----------
        x : Array
            Integers from 0 to ``input_dim - 1``.  Others are an error.  On a GPU, where a check would
            wait for the device, and under ``vmap``, others have rows of NaN instead.

        Returns
        -------
        Array
            Of the shape of ``x`` with one more axis.
        """
        library = library_of(self.name, x)
        if dtype_kind(library, x) != "i":
            raise TypeError(f"{self.name}: takes integers, got {describe(x)} [at {user_line()}]")
        known = (x >= 0) & (x < self.input_dim)
        visible = is_free_to_read(x)
        if visible and not bool(library.all(known)):
            raise ValueError(
                f"{self.name}: integers from {int(library.min(x))} to {int(library.max(x))} are not "
                f"all in the table's rows 0 to {self.input_dim - 1} [at {user_line()}]"
            )
        places = flatten_axes(library, library.where(known, x, library.zeros_like(x)), 0)
        table: Any = self.embeddings
        if not isinstance(x, Array):  # the table becomes an array of x's library
            table = as_layer_operand(table, as_library_floats(library, x))
        rows = library.reshape(library.take(table, places, axis=0), (*x.shape, self.output_dim))
        return rows if visible else library.where(known[..., None], rows, math.nan)


class Flatten(Layer):
    """A layer that joins all axes but the first to one, so that each example is a row.

    Parameters
    ----------
    name : str, optional
        The name in messages.

    Examples
    --------
    >>> import arraytape as xp
    >>> xp.nn.Flatten()(xp.ones((4, 3, 2))).shape
    (4, 6)
    """

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)

    def call(self, x: RawArray) -> Array:
        return flatten_axes(library_of(self.name, x), x, 1)


def build_once(build: Callable[..., None]) -> Callable[..., None]:
    """Wrap a subclass's ``build`` so that it gets the shape of the data, and makes Variables only once.

    If it fails, the layer stays as it was.
    """

    @functools.wraps(build)
    def build_of_shape(self: Layer, x: Any, *others: Any, **named: Any) -> None:
        shape = tuple(x) if isinstance(x, tuple | list) else tuple(x.shape)
        if "_first_data" in vars(self):  # called by the build of a subclass
            build(self, shape, *others, **named)
        elif not self._is_built():
            self._make_variables(x, lambda: build(self, shape, *others, **named))

    return build_of_shape


def array_like_shape(shape: Sequence[int | None], length: int = 1) -> Array:
    """Return zeros that take no memory: in the shape, None becomes 1 if it is first, else ``length``."""
    known = [n if n is not None else length if axis else 1 for axis, n in enumerate(shape)]
    return xp.broadcast_to(xp.asarray(0.0), tuple(known))


def array_from_numpy(x: Any) -> Any:
    """Return NumPy's arrays and scalars as Arrays, and anything else unchanged."""
    return xp.asarray(x) if isinstance(x, np.ndarray | np.generic) else x


def activation_of(
    owner: str, given: str | Callable[[Any], Any] | None
) -> Callable[[Any], Any] | None:
    """Return the function for a layer's option ``activation``: a name, a function or None.

    owner : the layer's class, for the message of an error about an unknown name or another object.
    """
    if given is None or (callable(given) and not isinstance(given, str)):
        return given
    if not isinstance(given, str):
        raise TypeError(
            f"{owner}: activation must be None, a name or a function, got {describe(given)} "
            f"[at {user_line()}]"
        )
    return ACTIVATIONS[initializers.named_option(owner, "activation", given, tuple(ACTIVATIONS))]


def integer_option(owner: str, name: str, given: SupportsIndex, least: int = 1) -> int:
    """Check that the option ``name`` of ``owner`` is an integer of at least ``least``, and return it."""
    try:
        number = operator.index(given)
        if isinstance(given, bool):
            raise TypeError
    except TypeError:
        raise TypeError(
            f"{owner}: {name} must be an integer, got {describe(given)} [at {user_line()}]"
        ) from None
    if number < least:
        raise ValueError(
            f"{owner}: {name} must be at least {least}, got {short_repr(given)} [at {user_line()}]"
        )
    return number


def check_name(owner: str, name: str) -> None:
    if not isinstance(name, str):
        raise TypeError(f"{owner}: the name must be a str, got {describe(name)} [at {user_line()}]")


def training_option(owner: str, given: bool | None) -> bool:
    """Return the argument ``training`` of a call as a bool; None is False, as in Keras."""
    return given is not None and boolean_option(owner, "training", given)


def boolean_option(owner: str, name: str, given: bool) -> bool:
    """Check that the option ``name`` of ``owner`` is True or False, and return it as a bool."""
    if not isinstance(given, bool | np.bool):
        raise TypeError(
            f"{owner}: {name} must be True or False, got {describe(given)} [at {user_line()}]"
        )
    return bool(given)
