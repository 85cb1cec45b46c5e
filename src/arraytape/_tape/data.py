"""The operations that a backward pass needs on cotangents, on raw data or on Arrays.

A pass computes on Arrays if an outer recorder is to record it, as for second derivatives.  A rule is
array API code that computes in the namespace it is given.  ``RawData`` gives the raw namespace
to rules.  ``ArrayData`` gives the public namespace to them, so that outer recorders record the ops of
the rules.  Gradients of higher order need nothing else.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import numpy as np

from .._array.array import KEPT, Array, namespace, wrap
from .._array.paths import Path, sum_to, walk_path
from .._array.views import current, location, private_handle
from .._record.plan import Lazy, Plan, Pull, Record, inputs_of
from .._storage.batched import batched_data as raw
from .._storage.batched.batched_data import Batched
from .._storage.storage import COMPLEX, STORAGES, Storage, is_complex, makes_a_view, storage_of
from .._util.errors import describe, user_line
from .hidden_axes import spread, sum_over_surplus

if TYPE_CHECKING:
    from .._util.array_types import Index, RawArray, RawOperand, ResultCotangents

BOOL = np.dtype(bool)
SMALL = 4096  # elements up to which a sum in a new Array is faster than a write into an Array


class RawData:
    """The operations of a backward pass on cotangents that are raw data, such as NumPy arrays.

    ``ArrayData`` has the same methods for a pass on Arrays, which outer tapes record.

    storage, kind, xp : the functions for the array library of the cotangent in use, its type of raw data
    (``numpy.ndarray``, say), and its namespace.
    """

    recorded = False  # True in a subclass whose ops outer recorders record

    def __init__(self, storage: Storage) -> None:
        self.storage, self.kind = storage, storage.kind
        self.xp: Any = storage.xp

    def renewed(self) -> RawData:
        """Return a new object of this class for another pass, since a pass may change ``storage``."""
        return type(self)(self.storage)

    # --- where data lies ------------------------------------------------------------------------
    def on_device_of(self, held: RawArray) -> AbstractContextManager[Any]:
        """Return a ``with`` block in which operators on raw data run on the device of ``held``.

        held : a cotangent, such as an array of CuPy on the second GPU.
        """
        return storage_of(held).at(held)

    def move_to(self, data: RawArray) -> None:
        """Compute with the functions (storage) for the array library of ``data`` from here on.

        A tape may hold values of several libraries.  A storage that handles mixtures of libraries stays
        in use if that of ``data`` does not.
        """
        if type(data) is self.storage.kind:
            return
        storage = storage_of(data)
        if storage.mixed >= self.storage.mixed:
            self.storage = storage
            self.kind, self.xp = storage.kind, storage.xp

    def owns_memory(self, held: RawArray) -> bool:
        """Return True if the cotangent ``held`` owns its memory, so that sums may be formed in it."""
        return held.base is None if type(held) is np.ndarray else storage_of(held).owns(held)

    sums_in = owns_memory  # True if ``held += contribution`` is allowed and faster than a new sum

    def copy_data(self, data: RawArray) -> Any:
        self.move_to(data)
        return self.xp.asarray(data, copy=True)

    def in_place(self, data: RawArray) -> bool:
        """Return True if ``data`` can be overwritten in place; else ``put`` copies it."""
        return storage_of(data).in_place(data)

    def put(self, data: RawArray, key: Index, value: RawOperand) -> Any:
        """Return the cotangent ``data`` after ``data[key] = value``, perhaps in place.

        For example, to write the cotangent of a view into that of the whole Array.
        """
        return storage_of(data).put(data, key, value)

    def take_written(self, data: RawArray, key: Index, lost: RawArray) -> Any:
        """Return ``data[key]`` with 0 where ``lost``, and set ``data[key]`` to 0, by one kernel.

        For a write ``x[key] = value``, data is the cotangent of x, and the result that of ``value``.
        ``lost`` marks elements of ``value`` that the write itself overwrote, as with key [0, 0].  Return
        None, and change nothing, if the storage has no such kernel.
        """
        return storage_of(data).take_written(data, key, lost)

    def adds_at(self, key: Index, g: RawArray) -> bool:
        """Return True if ``add_at_key``, used to differentiate ``x[key]``, touches only the part at key.

        If it would process all of the data, it is no faster than the op's rule, which makes a large
        array.
        """
        return True

    def add_at_key(self, data: RawArray, key: Index, g: RawArray) -> Any:
        """Return data after ``data[key] += g``, perhaps in place.

        An element that the key names twice gets both additions, unlike in NumPy.
        """
        return storage_of(data).add_at(data, key, g)

    def shares(self, part: RawArray, whole: RawArray) -> bool:
        """Return True if ``part`` shares memory with ``whole``, so that a write to one changes both."""
        return storage_of(part).shares(part, whole)

    def part_at_path(self, g: RawArray, path: Path) -> Any:
        """Return the part of an Array's cotangent g that is the cotangent of a view with this path.

        path : the steps, such as indexing and transposing, from the Array to the view.
        """
        self.move_to(g)
        return walk_path(g, path, self.xp)

    negated = staticmethod(operator.neg)

    # --- to and from Arrays and raw data ----------------------------------------------------------
    def array_of(self, g: RawArray) -> Array:
        """Return a cotangent as an Array, for a user's rule or hook."""
        # A NumPy scalar has no storage among STORAGES, and becomes an array first.
        data = g if type(g) in STORAGES else storage_of(g).asarray(g, None, None, None)
        return wrap(data, 0, KEPT)

    def of_array(self, x: Array) -> Any:
        """Return an Array, such as the result of a user's rule, in the type on which this pass computes.

        That is raw data here, and the Array itself in ``ArrayData``.
        """
        return current(x)[1]

    def as_gradient(self, g: RawArray) -> Array:
        """Return a cotangent as the Array that the user gets."""
        return wrap(g)

    def of_raw(self, data: RawArray) -> Any:
        """Return raw data, such as zeros, in the type on which this pass computes: raw data or Array."""
        return data

    def lift(self, plan: Any, record: Record) -> Record:
        """Return the record as rules need it: unchanged here, with Arrays as data in ``ArrayData``.

        Outer tapes then record what the rules compute.

        plan : says what the record's items are.  record : the tape's entry for one call of an op.
        """
        return record

    def widen_buffer(self, buffer: RawArray, g: RawArray) -> Any:
        """Return the buffer, repeated along the hidden axes (of vmap) that only g has.

        The caller can then add g to the buffer, the sum of contributions to a cotangent, in place.
        """
        return raw.spread_like(buffer, g)

    # --- rules --------------------------------------------------------------------------------------
    def fit_contribution(
        self, part: RawArray, shape: tuple[int, ...], dtype: np.dtype[Any], op: str = "an op"
    ) -> Any:
        """Return ``part``, a rule's result, summed over broadcast axes and cast to the input's dtype.

        shape, dtype : those of the input.  op : the name of the op, for messages.
        """
        part = sum_over_surplus(part, shape)
        xp = self.xp
        if part.shape != shape:
            given = part.shape
            try:
                part = sum_to(part, shape, xp)
            except Exception as error:
                raise ValueError(
                    f"the gradient rule of {op} returned a contribution of shape {given} to an input "
                    f"of shape {shape} [at {user_line()}]"
                ) from error
        if part.dtype != dtype:
            if xp.isdtype(part.dtype, COMPLEX) and not xp.isdtype(dtype, COMPLEX):
                part = xp.real(part)
            part = xp.astype(part, raw.plain(dtype))
        return part

    def call_rule(self, plan: Plan, pull: Pull, g: ResultCotangents, record: Record) -> Any:
        """Return the result of one rule of an op on the cotangent g and the record's kept values.

        For complex data the rule of an elementwise op gets and returns conjugates.

        plan : says what the record's items are.
        pull : the description of the rule's call, which says where in the record its arguments are.
        """
        xp = self.xp
        arguments = [record[place] if place else xp for place in pull.asks]
        if plan.diagonal and is_complex(g):
            return xp.conj(pull.rule(xp.conj(g), *arguments))
        found = pull.rule(g, *arguments)
        if type(found) is tuple and plan.op.joint:
            return [of_followed(part, i, plan) for i, part in enumerate(found)]
        return found

    def apply(self, plan: Plan, pull: Pull, g: ResultCotangents, record: Record) -> Any:
        """Call a rule, and return its result in the shape and dtype of the input to which it belongs.

        A joint rule serves all inputs: return the list of its results, one for each.

        plan : says what the record's items are.  pull : the description of the rule's call.
        g : the cotangent of the record's result, or a tuple of cotangents for several results.
        record : the tape's entry for one call of an op.
        """
        if plan.op.checked:
            # A kept value may have a hidden axis of a vmap that has ended.  REPLAY permits its use.
            with raw.open_hidden_axis(raw.REPLAY):
                part = self.of_users_rule(self.call_rule(plan, pull, g, record), plan.op.name)
        else:
            part = self.call_rule(plan, pull, g, record)
        if plan.op.joint:
            return self.fitted_all(plan, part, record)
        if part is None or pull.fit is None:
            return part
        shape, dtype = pull.fit
        return self.fit_contribution(part, record[shape], record[dtype], plan.op.name)

    def of_users_rule(self, part: Any, op: str) -> Any:
        """Return the result of a user's rule in the type on which this pass computes.

        That is raw data here, and an Array in ``ArrayData``.  Raise TypeError if the result is neither.

        part : the result of the rule for one input.
        op : the name of the user's function, for the message.
        """
        if isinstance(part, list | tuple):
            return [self.of_users_rule(one, op) for one in part]
        if isinstance(part, Array):
            return self.of_array(part)
        if part is None or (hasattr(part, "dtype") and not self.recorded):
            return part
        raise TypeError(
            f"the gradient rule of {op} returned {describe(part)}, which no tape follows "
            f"[at {user_line()}]; compute it by the functions of the namespace that the rule is given"
        )

    def fitted_all(
        self, plan: Plan, parts: Sequence[Any] | RawArray | None, record: Record
    ) -> list[Any]:
        """Return a joint rule's contributions to all inputs, each in its input's shape and dtype.

        plan : says what the record's items are.
        parts : the result of the rule, one contribution or None for each input.
        record : the tape's entry for one call of an op.
        """
        given: list[Any] = list(parts) if isinstance(parts, list | tuple) else [parts]
        inputs = inputs_of(record)
        if len(given) != len(inputs):
            raise ValueError(
                f"the gradient rule of {plan.op.name} returned {len(given)} contributions for "
                f"{len(inputs)} inputs [at {user_line()}]"
            )
        if not plan.fits:
            return given
        return [
            None if part is None else self.fit_contribution(part, shape, dtype, plan.op.name)
            for part, (shape, dtype) in zip(given, plan.input_layouts(record), strict=True)
        ]


def of_followed(part: RawArray | Lazy | None, i: int, plan: Plan) -> Any:
    """Return contribution ``part`` of a joint rule (one rule for all inputs) to input number i.

    A ``Lazy`` part is computed now, or is None if no tape follows the input.

    plan : says which inputs tapes follow.
    """
    if type(part) is not Lazy:
        return part
    return part.form() if plan.followed[i] else None


class ArrayData(RawData):
    """The operations of a backward pass on cotangents that are Arrays.

    Outer recorders (tapes or accumulators) then record the ops of the rules, so that a gradient can be
    differentiated again.
    """

    recorded = True

    def __init__(self, storage: Storage) -> None:
        super().__init__(storage)
        self.xp = namespace()

    def on_device_of(self, held: Any) -> AbstractContextManager[Any]:
        return storage_of(held._data).at(held._data)

    def move_to(self, data: RawArray) -> None:
        pass

    def owns_memory(self, held: RawArray) -> bool:
        return type(held) is Array and held._value_id >= 0 and held.ndim > 0

    def sums_in(self, held: Any) -> bool:
        data = held._data
        if type(data) is np.ndarray and data.size <= SMALL:
            return False
        return self.owns_memory(held) and held.size > SMALL

    def copy_data(self, data: RawArray) -> Any:
        return self.xp.asarray(data, copy=True)

    def in_place(self, data: RawArray) -> bool:
        return True  # an Array can always be written to

    def put(self, data: Any, key: Index, value: RawOperand) -> Any:
        data[key] = value
        return data

    def take_written(self, data: RawArray, key: Index, lost: RawArray) -> Any:
        return None

    def adds_at(self, key: Index, g: RawArray) -> bool:
        empty = type(key) is tuple and not key  # x[()] of a 0-d Array is no view, so no ``+=``
        return makes_a_view(key) and not empty

    def add_at_key(self, data: RawArray, key: Index, g: RawArray) -> Any:
        parts = key if type(key) is tuple else (key,)
        # The Ellipsis makes the read of a single element a view, too.
        part = data[parts if Ellipsis in parts else (*parts, ...)]
        part += g
        return data

    def shares(self, part: Any, whole: Any) -> bool:
        return location(part)[0] is location(whole)[0]

    def array_of(self, g: Any) -> Array:
        return private_handle(g)

    def of_array(self, x: Array) -> Any:
        return x

    def as_gradient(self, g: Any) -> Array:
        found: Array = g
        return found

    def of_raw(self, data: RawArray) -> Any:
        # ``asarray`` would move data of NumPy to the default device.
        return super().array_of(data)

    def lift(self, plan: Any, record: Record) -> Any:
        """Return the record as a list in which Arrays replace the data that the record keeps.

        The Arrays have the ids of the recorded values, so outer recorders (tapes or accumulators) record
        the ops on them.

        plan : says what the record's items are.  record : the tape's entry for one call of an op.
        """
        if not (plan.lifts or plan.saved):
            return record
        items = list(record)
        for place in plan.saved:
            # Rules get boolean masks as Arrays: an outer tape would have to keep a copy of a raw mask.
            if getattr(items[place], "dtype", None) == BOOL:
                items[place] = wrap(items[place], 0, KEPT)
        for place, source, output in plan.lifts:
            data = items[place]
            if type(data) is np.ndarray or hasattr(data, "dtype"):
                value_id = items[source]
                array = items[place] = Array()  # the same as ``wrap``, without a function call
                array._data = data
                array._value_id = value_id[output] if type(value_id) is tuple else value_id
                array._state = KEPT
        return items

    def widen_buffer(self, buffer: Any, g: Any) -> Any:
        data = g._data
        here = raw.axis_ids_of((buffer._data,))
        if type(data) is not Batched or set(data.axis_ids) <= set(here):
            return buffer
        return spread(buffer, data.axis_ids, data.hidden)
