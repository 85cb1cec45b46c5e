"""``Sequential``, and ``functional_call``: a call of a Module with other values for its Variables."""

from __future__ import annotations

import contextlib
import copy
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from .._array.array import Array
from .._record.stack import Bystander, entered, only_recorders
from .._util import nest
from .._util.errors import describe, entrance, raise_documented, short_repr, user_line
from ..module import Module
from ..variable import Variable
from .layers import Layer, array_from_numpy, array_like_shape

LENGTHS = (1, 4, 16, 64, 256)  # of axes whose length is given as None, from the cheapest


class Sequential(Module):
    """Layers that are called one after the other.

    Parameters
    ----------
    layers : iterable of callables, default ()
        Modules, or functions of an Array such as ``nn.relu``.
    name : str, optional
        The name in messages.

    Examples
    --------
    >>> import arraytape as xp
    >>> model = xp.nn.Sequential()
    >>> model.add(xp.nn.Dense(8, "relu", seed=0))
    >>> model.add(xp.nn.Dropout(0.1, seed=1))
    >>> model.add(xp.nn.Dense(2, seed=2))
    >>> x = xp.ones((4, 3))
    >>> model(x, training=True).shape
    (4, 2)
    >>> [variable.shape for variable in model.trainable_variables]
    [(3, 8), (8,), (8, 2), (2,)]
    >>> model.build((None, 3))  # or the first call; here the layers are built already
    >>> layer = model.pop()
    >>> layer.name, model(x).shape
    ('dense', (4, 8))
    """

    def __init__(self, layers: Iterable[Callable[..., Any]] = (), name: str | None = None) -> None:
        super().__init__(name)
        try:
            several = list(layers)
        except Exception as error:
            raise_documented(error, "Sequential", layers)
        self.layers: list[Callable[..., Any]] = []
        for layer in several:
            self.add(layer)

    def add(self, layer: Callable[..., Any]) -> None:
        """Append a layer.

        Parameters
        ----------
        layer : callable
            A Module, or a function of an Array.

        Raises
        ------
        TypeError
            When the layer cannot be called.
        """
        if not callable(layer):
            raise TypeError(
                f"{self.name}: a layer must be callable, got {describe(layer)} [at {user_line()}]"
            )
        self.layers.append(layer)

    def pop(self) -> Callable[..., Any]:
        """Remove the last layer, and return it.

        Returns
        -------
        callable
            The layer.

        Raises
        ------
        IndexError
            When there is no layer.
        """
        if not self.layers:
            raise IndexError(f"{self.name}: there is no layer to take away [at {user_line()}]")
        return self.layers.pop()

    @entrance
    def build(self, input_shape: Sequence[int | None]) -> None:
        """Make the Variables of all layers, in float64, by a call with zeros.

        Parameters
        ----------
        input_shape : sequence of int or None
            The shape of the data, with None for lengths that do not matter, such as the first.

        Raises
        ------
        ValueError
            When the data do not fit, or a length that is None determines the shape of a Variable.
        """
        with only_recorders():
            length = 1
            if None in input_shape[1:]:
                trial = copy.deepcopy(self)  # which keeps the generators of the layers as they are
                length = length_that_fits(trial, input_shape)
                try:  # a length that no stride makes equal to the other one
                    trial(array_like_shape(input_shape, length + 64))
                except Exception as error:
                    raise ValueError(
                        f"{self.name}.build: give the lengths instead of None, got "
                        f"{short_repr(input_shape)}: the shape of a Variable depends on them "
                        f"[at {user_line()}]"
                    ) from error
            self(array_like_shape(input_shape, length))

    def __call__(self, x: Any, training: bool | None = False) -> Array:
        """Apply all layers; pass ``training`` to each layer that has this parameter."""
        x = array_from_numpy(x)
        for layer in self.layers:
            x = layer(x, training=training) if takes_training(layer) else layer(x)
        result: Array = x
        return result


def length_that_fits(model: Callable[..., Any], shape: Sequence[int | None]) -> int:
    """Return a length with which the model can be called, to replace None in the shape of its data.

    The first None, the number of examples, becomes 1.  Short data may not hold a window of convolutions.
    """
    for length in LENGTHS[:-1]:
        with contextlib.suppress(ValueError):
            model(array_like_shape(shape, length))
            return length
    model(array_like_shape(shape, LENGTHS[-1]))
    return LENGTHS[-1]


def takes_training(layer: Callable[..., Any]) -> bool:
    """Return True if a layer accepts the argument ``training``.

    ``Layer.__call__`` passes all its arguments to ``call``, whose parameters count.
    """
    if isinstance(layer, Layer) and type(layer).__call__ is Layer.__call__:
        layer = layer.call
    try:
        return "training" in inspect.signature(layer).parameters
    except (TypeError, ValueError):  # a function without a signature
        return False


def functional_call(module: Module, values: Mapping[str, Any], *args: Any, **keywords: Any) -> Any:
    """Call a Module with other values in place of its Variables.

    The Module itself does not change, so the result is a function of the values, which ``xp.grad`` can
    differentiate and ``xp.vmap`` can map.  With values that are arrays of PyTorch or JAX,
    ``torch.autograd`` and ``jax.grad`` can differentiate the call.

    Parameters
    ----------
    module : Module
        A Module that has its Variables: layers make theirs on their first call.
    values : mapping of str to Array
        New values by path, as in ``module.named_variables()``.  Other Variables keep their values.
    *args : object
        Positional arguments of the call.
    **keywords : object
        Keyword arguments of the call.

    Returns
    -------
    object
        The result of the call.  Variables that are assigned to, such as running statistics, stay
        changed; attributes that the call sets are lost.

    Raises
    ------
    TypeError
        When ``module`` is no Module, or ``values`` no mapping.  When the call assigns to a Variable that
        has a new value.
    ValueError
        When there is no such path, or a value has another shape than its Variable.  When the call reads
        a Variable that has a new value, or a layer has no Variables yet.

    Examples
    --------
    >>> import arraytape as xp
    >>> layer = xp.nn.Dense(1, seed=0)
    >>> x = xp.ones((3, 2))
    >>> y = layer(x)
    >>> values = {name: v.value() for name, v in layer.named_variables().items()}
    >>> def loss(values):
    ...     return xp.sum(xp.nn.functional_call(layer, values, x))
    >>> print(xp.grad(loss)(values)["bias"])
    [3.]
    """
    if not isinstance(module, Module):
        raise TypeError(
            f"functional_call: takes a Module, got {describe(module)} [at {user_line()}]"
        )
    if not isinstance(values, Mapping):
        raise TypeError(
            f"functional_call: takes a dict of values by path, got {describe(values)} [at {user_line()}]"
        )
    variables = module.named_variables()
    replaced: dict[int, Any] = {}
    for path, value in values.items():
        if path not in variables:
            raise ValueError(
                f"functional_call: {module.name} has no Variable {path!r}; there are "
                f"{', '.join(variables) or 'none yet, so call it once'} [at {user_line()}]"
            )
        wanted, given = variables[path].shape, getattr(value, "shape", None)
        if given is None or tuple(given) != wanted:
            raise ValueError(
                f"functional_call: {path!r} has the shape {wanted}, got {describe(value)} "
                f"[at {user_line()}]"
            )
        replaced[id(variables[path])] = value
    likeness = copy_with_values(module, replaced, {})
    with entered(RefuseReplaced(replaced, variables)):
        try:
            result = likeness(*args, **keywords)
        except Exception as error:
            refuse_assigned(error, {id(value): path for path, value in values.items()})
            raise
    kept = {id(variable) for variable in variables.values()}
    new = [
        v
        for v in likeness.variables
        if id(v) not in kept and id(v) not in map(id, replaced.values())
    ]
    if new:
        raise ValueError(
            f"functional_call: {module.name} made Variables in the call ({new[0].name!r}), which are "
            f"lost: call it once before [at {user_line()}]"
        )
    return result


def refuse_assigned(error: BaseException, given: Mapping[int, str]) -> None:
    """Raise TypeError if ``error`` comes from an assignment to a value given in place of a Variable.

    given : a dict from the ``id()`` of each given value to the path of its Variable.
    """
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, AttributeError) and str(cause.name).startswith(("assign", "scatter_")):
            path = given.get(id(cause.obj))
            if path is not None:
                raise TypeError(
                    f"functional_call: leave {path!r} out of the values: the call assigns to this "
                    "Variable, and a value has no assign. Give values for trainable Variables alone "
                    f"[at {user_line()}]"
                ) from error
        cause = cause.__cause__


class RefuseReplaced(Bystander):
    """A recorder that refuses reads of Variables for which ``functional_call`` got other values.

    ``functional_call`` calls a copy of the Module, whose attributes are the given values.  But a
    function that closes over the original Module would still read that Module's Variables.
    """

    def __init__(self, replaced: Mapping[int, Any], variables: Mapping[str, Variable]) -> None:
        given = {id(value) for value in replaced.values()}
        self.refused = {
            id(variable): path
            for path, variable in variables.items()
            if id(variable) in replaced and id(variable) not in given
        }

    def accessed(self, variable: Variable, /) -> None:
        """Raise ValueError if ``functional_call`` got another value for the Variable."""
        path = self.refused.get(id(variable))
        if path is not None:
            raise ValueError(
                f"functional_call: the call reads the Variable {variable.name!r} itself, not the value "
                f"given for {path!r}: a function or method that is kept as an attribute, or closes over "
                f"a Module, uses the original Module. Keep the Module as an attribute [at {user_line()}]"
            )


def copy_with_values(part: Any, replaced: Mapping[int, Any], made: dict[int, Any]) -> Any:
    """Return a copy of ``part``, a Module or a nesting, with values in place of Variables.

    replaced : the values, by the ``id()`` of their Variables.  made : the copies so far, by the ``id()``
    of the original Modules, so that Modules which refer to each other are copied once.
    """
    if isinstance(part, Variable):
        return replaced.get(id(part), part)
    if id(part) in made:
        return made[id(part)]
    if isinstance(part, Module):
        likeness = made[id(part)] = copy.copy(part)
        for name, value in vars(part).items():
            vars(likeness)[name] = copy_with_values(value, replaced, made)
        return likeness
    if nest.parts_of_nesting(part) is None:
        return part
    held = nest.leaves(part)
    if not any(isinstance(leaf, Variable | Module) for leaf in held):
        return part
    return nest.pack_nesting(part, [copy_with_values(leaf, replaced, made) for leaf in held])
