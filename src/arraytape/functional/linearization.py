"""Linearizations: one recorded run of a function, from which JVPs, VJPs and Jacobians are computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._array.array import Array, namespace
from .._array.views import private_handle
from .._exits.lost_parts import Doubt, LostParts
from .._exits.modes import mode_of
from .._record.plan import Plan, Record, inputs_of, plan_of, results_of
from .._storage.batched.batched_data import REPLAY, new_axis_id, open_hidden_axis
from .._storage.storage import STORAGES
from .._tape.arguments import UnconnectedGradients, filled_like
from .._tape.differentiation import Differentiation, compute_gradient, gradients_have_nan
from .._tape.forward import ForwardPass
from .._tape.jacobian import (
    batched_seeds,
    compute_jacobian,
    lacks_batched_form,
    largest_kept_size,
    log_single_passes,
    rows_at_once,
    rows_in,
    unit_seed,
)
from .._tape.tape import GradientTape
from .._util import nest
from .._util.array_types import RawArray
from ..ops.creation_functions import asarray
from .inputs import Function, Inputs, checked_arrays, checked_aux_pair

ZERO = UnconnectedGradients.ZERO
# ``jacobian`` uses forward mode if the results have at least MANY elements, and TALL times as many as
# the inputs.  At these limits, forward mode takes a tenth of the time of reverse mode for elementwise
# functions, and as much time as reverse mode for matrix products.
MANY, TALL = 1000, 16
Tangents = Sequence[Array | None]  # one for each input; None for an input that is held constant


class Linearization:
    """One recorded run of a user's function, from which any number of JVPs and VJPs are computed.

    value : the function's result.  aux : the second element of the result with ``has_aux``, else None.
    arrays : the leaves of ``inputs.chosen``: the Arrays to differentiate with respect to.
    results : the leaves of the value.  With ``outlives=True`` they are private handles, which later
    writes to the user's Arrays do not change.
    doubts : the parts of the derivative that conversions such as ``float(x)`` may have lost.
    """

    def __init__(
        self,
        caller: str,
        f: Function,
        inputs: Inputs,
        keywords: dict[str, Any] | None = None,
        has_aux: bool = False,
        outlives: bool = False,
    ) -> None:
        self.value: Any
        self.aux: Any
        self.inputs = inputs
        self.arrays: list[Array] = nest.leaves(inputs.chosen)
        self.tape = GradientTape(persistent=True)
        self.recording = self.tape._recording
        self.doubts: list[Doubt] = []
        self.recording.doubts = self.doubts
        with self.tape:
            self.tape.watch(inputs.chosen)
            y = f(*inputs.args, **(keywords or {}))
            self.value, self.aux = checked_aux_pair(caller, y) if has_aux else (y, None)
            self.results = checked_arrays(caller, "result", self.value, self.recording.records)
            if outlives:
                self.results = [private_handle(part) for part in self.results]

    # --- products with one vector -----------------------------------------------------------------
    def pull(self, cotangent: RawArray) -> Any:
        """Return the VJP: a gradient for each chosen argument, given a cotangent of the value."""
        y = nest.pack_nesting(self.value, self.results)
        request = y, self.inputs.chosen, cotangent, ZERO, "guard"
        return compute_gradient(self.recording, *request, broadcast=False)

    def pull_sums(self, cotangents: Sequence[Array]) -> list[Array]:
        """Return the VJP for cotangents of the results; elements whose cotangent is 0 contribute 0.

        In ``pull`` a cotangent of 0 times an infinite derivative is NaN.  For a sparse Jacobian, a
        cotangent of 0 leaves a row out of the product, whatever the row's derivative is.
        """
        recording = self.recording
        request = Differentiation(recording, self.results, self.arrays)
        with recording.paused():
            return request.answers(request.run_pass(cotangents, picks=True), zero=True)

    def push(self, tangents: Tangents) -> list[Array]:
        """Return the JVP: the derivative of each result along tangents of the inputs.

        Results that do not depend on the inputs have zeros.
        """
        found = self.pushed_tangents(tangents)
        self.report_exits(tangents, found)
        return [
            filled_like("zeros", y) if t is None else t
            for y, t in zip(self.results, found, strict=True)
        ]

    def pushed_tangents(self, tangents: Tangents) -> list[Array | None]:
        """Compute the JVP from the records of the run: the derivative of each result.

        The derivative is None for a result that does not depend on the inputs.

        tangents : a tangent, or None for 0, for each input.
        """
        forward = ForwardPass()
        with open_hidden_axis(REPLAY):
            for x, t in zip(self.arrays, tangents, strict=True):
                if t is not None:
                    source = self.recording.watched[id(x)].source
                    forward.tangents[source] = asarray(t, copy=True)
                    forward.known.add(source)
            for record in self.recording.records:
                if has_moving_input(forward, record):
                    forward.record(record)
            return [forward.tangent_of_target(y) for y in self.results]

    def report_exits(self, tangents: Tangents, found: Sequence[Any]) -> None:
        """Add a Doubt to ``doubts`` for each derivative that may lack a part, unless these are ignored.

        A part may be missing if a value that depends on the inputs was converted to a number during the
        run. Finite differences check each Doubt later.

        tangents : the directions.
        found : the derivative of each result; None for a result that does not depend on the inputs.
        """
        recording = self.recording
        mode = mode_of(recording.exits)
        if recording.journal is None or mode == "ignore":
            return
        pairs = zip(self.arrays, tangents, strict=True)
        sources = [recording.watched[id(x)].source for x, t in pairs if t is not None]
        for y, t in zip(self.results, found, strict=True):
            value_id = recording.value_id_of(y, current_value=True)
            lacks = LostParts(recording.records, recording.journal, sources, [value_id])
            absent = lacks.sources if t is None else frozenset()
            unseen = value_id not in recording.known
            doubts = recording.doubts
            lacks.report(absent, "derivative", mode, never_zeros=True, unseen=unseen, doubts=doubts)

    # --- Jacobians --------------------------------------------------------------------------------
    def prefers_forward(self) -> bool:
        """Return True if forward mode is cheaper: the Jacobian has many more rows than columns.

        Return False if an array is complex, or if products cannot be computed in batches.
        """
        results = total_elements(self.results)
        if results < MANY or results < TALL * total_elements(self.arrays):
            return False
        real = all(x.dtype.kind == "f" for x in (*self.arrays, *self.results))
        return real and self.batches()

    def batches(self) -> bool:
        """Return True if one pass can compute many products at once, on data with an axis of products.

        The rules and hooks of users may fail on such data, so there must be none.
        """
        return not self.recording.hooks and largest_kept_size(self.recording.records) is not None

    def largest_followed(self) -> int:
        """Return the number of elements of the largest recorded value that depends on the inputs.

        A pass needs so many elements for each row or column that it computes.  Inputs of an op with a
        joint rule (one rule for all inputs) count even if not followed, because the rule may compute
        cotangents for all inputs.
        """
        known = self.recording.known
        sizes = [part.size for part in (*self.arrays, *self.results)]
        for record in self.recording.records:
            plan = plan_of(record)
            if not isinstance(plan, Plan):
                continue
            sizes += [
                record[place].size
                for place, at, which in plan.lifts
                if type(record[place]) in STORAGES
                and (
                    plan.op.joint or (results_of(record)[which] if at == 1 else record[at]) in known
                )
            ]
        return max(sizes)

    def by_rows(self, chunk_size: int | None) -> list[Any]:
        """Return the Jacobian of each result, in the nesting of the inputs, by reverse mode.

        chunk_size : the largest number of rows that one pass computes, or None.
        """
        sources = self.inputs.chosen
        return [
            compute_jacobian(self.recording, y, sources, ZERO, chunk_size) for y in self.results
        ]

    def by_columns(self, chunk_size: int | None) -> list[Any]:
        """Return the Jacobian of each result, in the nesting of the inputs, by forward mode.

        If a column has a NaN, use reverse mode, which can replace 0 times infinity by 0 where a result
        does not depend on an input element.  Complex results keep their columns: a row of theirs has the
        real part alone.

        chunk_size : the largest number of columns that one pass computes, or None.
        """
        columns = [self.columns_of(at, chunk_size) for at in range(len(self.arrays))]
        found = [
            nest.pack_nesting(self.inputs.chosen, [column[i] for column in columns])
            for i in range(len(self.results))
        ]
        if gradients_have_nan(part for column in columns for part in column):
            pairs = zip(self.results, found, self.by_rows(chunk_size), strict=True)
            return [part if y.dtype.kind == "c" else row for y, part, row in pairs]
        return found

    def columns_of(self, at: int, chunk_size: int | None) -> list[Array]:
        """Return the Jacobian of each result with respect to the input ``arrays[at]``, by forward mode.

        chunk_size : the largest number of columns that one pass computes, or None.
        """
        xp: Any = namespace()
        x = self.arrays[at]
        shapes = [tuple(y.shape) + tuple(x.shape) for y in self.results]
        if not x.size:
            columns = [
                filled_like("zeros", y, shape)
                for y, shape in zip(self.results, shapes, strict=True)
            ]
        else:
            columns = [
                xp.reshape(xp.moveaxis(part, 0, -1), shape, copy=True)
                for part, shape in zip(self.unit_tangents(at, chunk_size), shapes, strict=True)
            ]
        # A derivative has the precision of its input, in either mode.
        kept = {"f": x.dtype, "c": np.result_type(x.dtype, np.complex64)}
        return [xp.astype(part, kept.get(part.dtype.kind, x.dtype), copy=False) for part in columns]

    def unit_tangents(self, at: int, chunk_size: int | None) -> list[Array]:
        """Return the derivatives of each result along all unit vectors of the input ``arrays[at]``.

        The first axis of each returned Array numbers the unit vectors.

        chunk_size : the largest number of columns that one pass computes, or None.
        """
        xp: Any = namespace()
        rows = self.arrays[at].size
        if rows > 1 and self.batches():
            step = chunk_size or rows_at_once(self.largest_followed())
            try:
                starts = range(0, rows, step)
                chunks = [
                    self.push_unit_vectors(at, start, min(start + step, rows)) for start in starts
                ]
                return [xp.concat(parts) for parts in zip(*chunks, strict=True)]
            except Exception as error:
                if not lacks_batched_form(error):
                    raise
        log_single_passes(rows)
        single = [
            self.push(self.tangents_for(at, unit_seed(self.arrays[at], i, 1))) for i in range(rows)
        ]
        return [xp.stack(parts) for parts in zip(*single, strict=True)]

    def push_unit_vectors(self, at: int, start: int, stop: int) -> list[Array]:
        """Return the derivatives of each result along some unit vectors, computed by one batched pass.

        The unit vectors are those of elements ``start`` to ``stop - 1`` of ``arrays[at]``.  The first
        axis of each returned Array numbers them.
        """
        axis_id = new_axis_id()
        with open_hidden_axis(axis_id):
            found = self.push(
                self.tangents_for(at, batched_seeds(self.arrays[at], axis_id, start, stop, 1))
            )
            return [rows_in(part, axis_id, stop - start) for part in found]

    def tangents_for(self, at: int, tangent: Array) -> Tangents:
        """Return tangents for all inputs: ``tangent`` for ``arrays[at]``, and None for all others."""
        tangents: list[Array | None] = [None] * len(self.arrays)
        tangents[at] = tangent
        return tangents


def has_moving_input(forward: ForwardPass, record: Record) -> bool:
    """Return True if an input of a record has a tangent, or an error for a missing JVP in its place.

    Forward mode skips all other records, whose results have the tangent 0.

    forward : the forward pass, with the tangents so far.
    """
    tangents, missing = forward.tangents, forward.missing
    return any(value_id in tangents or value_id in missing for value_id in inputs_of(record))


def total_elements(arrays: Sequence[Array]) -> int:
    total = 0
    for x in arrays:
        total += x._data.size
    return total
