"""The message to the workers: a user's function with its parameters, one pickle for all partitions.

Parameters are nestings of Arrays and Modules.  Their leaves, the Arrays and the Modules' Variables, are
sent apart from the pickle.  So a worker can make the same call with other values of the leaves: the
values that a tape recorded, or a value for each example of a vmap.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

from .._array.array import KEPT, Array, wrap
from .._array.exits import followers
from .._array.views import current, keep_data
from .._storage.batched.batched_data import Batched, axis_ids_of
from .._storage.storage import storage_of
from .._util import nest
from .._util.errors import describe, user_line
from .._version import __version__
from ..module import Module
from ..ops.creation_functions import asarray
from ..variable import Variable
from ._errors import function_label, import_installed
from ._sent_code import add_sources, pack_sources, rebuild_code


class LeafPlace:
    """A placeholder in pickled parameters for leaf ``index``, which is sent apart from the pickle."""

    def __init__(self, index: int) -> None:
        self.index = index

    def __reduce__(self) -> tuple[Any, ...]:
        return LeafPlace, (self.index,)


class ParameterLeaves(NamedTuple):
    """The leaves (Arrays and Variables) of parameters, apart from their nesting.

    found : the Arrays and Variables, in order.  An Array or Variable that is given twice is two leaves;
        a Variable that Modules share is one leaf.
    skeleton : the parameters with a LeafPlace for each leaf outside of Modules.
    places : the LeafPlace of each Variable, by its ``id()``.
    """

    found: list[Array]
    skeleton: tuple[Any, ...]
    places: dict[int, LeafPlace]


def split_parameters(params: Sequence[Any]) -> ParameterLeaves:
    """Separate the leaves of parameters from their nesting, so that one pickle serves all values."""
    found: list[Array] = []
    of_modules: dict[int, LeafPlace] = {}
    given: dict[int, LeafPlace] = {}
    filled = []
    for leaf in nest.leaves(list(params)):
        if isinstance(leaf, Module):
            for part in leaf.variables:
                if id(part) not in of_modules:
                    of_modules[id(part)] = LeafPlace(len(found))
                    found.append(part)
        elif isinstance(leaf, Array):
            place = LeafPlace(len(found))
            found.append(leaf)
            if isinstance(leaf, Variable):
                given.setdefault(id(leaf), place)
            leaf = place
        filled.append(leaf)
    skeleton = tuple(nest.pack_nesting(list(params), filled))
    return ParameterLeaves(found, skeleton, given | of_modules)


def parameter_leaves(params: Sequence[Any]) -> list[Array]:
    """Return the Arrays and Variables among parameters, in nestings and Modules, too."""
    return split_parameters(params).found


class Message:
    """A message to workers, one for all partitions: a call ``f(*params, *blocks)`` without blocks.

    Parameters
    ----------
    f : Callable
        The function.
    params : Sequence
        The function's parameters, which may hold Modules.
    leaves : Sequence of Array
        The values that replace the leaves ``parameter_leaves(params)``.
    """

    def __init__(
        self, f: Callable[..., Any], params: Sequence[Any], leaves: Sequence[Array]
    ) -> None:
        self.name, self.version = function_label(f), __version__
        parts = split_parameters(params)
        data = [current(x)[1] for x in leaves]
        self.axis_ids = tuple(sorted({n for one in data for n in axis_ids_of((one,))}))
        self.axes = [axis_ids_of((one,)) for one in data]
        self.values = [as_plain(keep_data(x)) for x in leaves]
        self.variables = [
            (x.name, x.trainable) if isinstance(x, Variable) else None for x in parts.found
        ]
        self.pickled, self.sources = pickle_call(self.name, f, parts)

    @property
    def nbytes(self) -> int:
        sent = len(self.pickled) + sum(map(len, self.sources.values()))
        return sent + sum(int(getattr(x, "nbytes", 0)) for x in self.values)

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes

    def open(
        self, values: Sequence[Any]
    ) -> tuple[Callable[..., Any], tuple[Any, ...], list[Array]]:
        """Unpickle the function and its parameters, with ``values`` in place of the leaves.

        Return (function, parameters, leaves), with new Variables where the sender had Variables.
        """
        leaves = [
            x if variable is None else Variable(x, name=variable[0], trainable=variable[1])
            for x, variable in zip(values, self.variables, strict=True)
        ]
        add_sources(self.sources)

        class Unpickler(pickle.Unpickler):  # a method: Python 3.13.0 takes no function as attribute
            def persistent_load(self, index: int) -> Array:
                return leaves[index]

        f, params = Unpickler(io.BytesIO(self.pickled)).load()
        filled = [
            leaves[leaf.index] if isinstance(leaf, LeafPlace) else leaf
            for leaf in nest.leaves(list(params))
        ]
        return f, tuple(nest.pack_nesting(list(params), filled)), leaves


def as_plain(data: Any) -> Any:
    """Return raw data in which axes that vmap hides from the user are ordinary leading axes."""
    return data.data if type(data) is Batched else data


def block_as_arrays(block: Any) -> Any:
    """Convert the arrays and dataframes in a block (a partition's data) to Arrays, as f gets them."""
    return nest.pack_nesting(block, [block_as_array(leaf) for leaf in nest.leaves(block)])


def block_as_array(block: Any) -> Any:
    """Convert one element of a block (a partition's data) to an Array, if an Array can hold it.

    Return other elements unchanged.  The Array shares the block's memory until f writes to the Array:
    the first write makes a copy.  Unaligned data, which may come from a network, is copied to an aligned
    address, since NumPy's sums of unaligned data round differently.
    """
    if hasattr(block, "to_numpy") and not isinstance(block, Array):
        block = block.to_numpy()
    if isinstance(block, Array):
        block = current(block)[1]
    if isinstance(block, np.ndarray):
        if block.dtype.kind not in "biufc":
            return block
        if type(block) is not np.ndarray or not block.dtype.isnative or block.dtype.char in "gG":
            return asarray(block)
        block = np.require(block, requirements="A")
    elif not hasattr(block, "dtype") or not is_held(block):
        return block
    return wrap(block, 0, KEPT)


def is_held(block: Any) -> bool:
    """Return True if an Array can hold data of this type (NumPy's, CuPy's, ...)."""
    try:
        storage_of(block)
    except TypeError:
        return False
    return True


# --- pickling -----------------------------------------------------------------------------------------
def pickle_call(
    name: str, f: Callable[..., Any], parts: ParameterLeaves
) -> tuple[bytes, dict[str, bytes]]:
    """Pickle a function and its parameters, but for their Arrays and Variables, which are sent apart.

    Return the pickle, and a dict from the names of the source files of pickled functions to their
    compressed text, from which workers show lines in tracebacks.
    name : the name of f in messages.  parts : the parameters and their Arrays and Variables.
    """
    cloudpickle = import_installed("cloudpickle", "Dask and its cloudpickle")
    places, files = parts.places, set[str]()
    line = user_line()  # before pickling: inside the pickler's calls the user's frame is hidden

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc, name-defined]
        """A pickler that refuses Arrays that a tape follows, and Variables that are no parameters of f.

        The gradients of their copies on workers would be lost.
        """

        def persistent_id(self, thing: Any) -> int | None:
            if isinstance(thing, Variable):
                if id(thing) in places:
                    return places[id(thing)].index
                raise TypeError(
                    f"{name}: the function uses {describe(thing)} from outside "
                    f"[at {line}]; pass it, or the Module that holds it, as a parameter: workers "
                    "get a copy, whose gradient and assignments would be lost"
                )
            if isinstance(thing, Array) and is_followed(thing):
                raise TypeError(
                    f"{name}: the function uses {describe(thing)} from outside, which a tape "
                    f"follows [at {line}]; pass it as a parameter, or stop_gradient it"
                )
            return None

        def reducer_override(self, thing: Any) -> Any:
            if isinstance(thing, CodeType):
                files.add(thing.co_filename)
                return rebuild_code, (thing.co_filename, *self.dispatch_table[CodeType](thing))
            return super().reducer_override(thing)

    file = io.BytesIO()
    try:
        Pickler(file, protocol=5).dump((f, parts.skeleton))
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        if str(error).startswith(f"{name}: "):
            raise
        raise TypeError(
            f"{name}: the function, or something that it uses, cannot be sent to workers: {error} "
            f"[at {line}]; make what it needs inside the function, or pass it as a parameter"
        ) from error
    return file.getvalue(), pack_sources(files)


def is_followed(x: Array) -> bool:
    """Return True if a tape or accumulator of this process follows x."""
    return bool(followers(x))


def is_mapped(x: Array) -> bool:
    """Return True if a vmap maps x, so that each example has another value."""
    return bool(axis_ids_of((current(x)[1],)))
