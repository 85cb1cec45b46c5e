"""The computation of gradients from a recording: ``GradientTape.gradient``.

A ``Differentiation`` is one request.  It finds the value ids of targets and sources, chooses the pass
that the tape and its data need, runs the pass, and collects the gradients.  It warns if a gradient is
None by mistake.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._array.array import IS_VIEW, Array, wrap
from .._array.cuts import note_cut
from .._array.paths import Path, add_through
from .._exits.modes import mode_of
from .._record.stack import AWAITED, UNSTARTED, new_value_id, ops_may_be_recorded
from .._storage.batched.batched_data import REPLAY, open_hidden_axis
from .._storage.storage import HERE, Storage, any_has_nan, is_complex, storage_of
from .._util import nest
from .._util.blocks import quietly
from .._util.errors import short_repr, user_line
from .._util.nest import Nesting
from .arguments import (
    Holes,
    UnconnectedGradients,
    advice_on_last_exit,
    around_holes,
    arrays_of,
    differentiable,
    filled_like,
    parse_unconnected,
    seeds_of,
)
from .backward import BackwardPass, backward
from .blockwise import backward_by_blocks
from .constants import pass_back_on_raw_data
from .cusps import hides_a_cusp
from .data import ArrayData, RawData
from .fused import FusedPass
from .guard import GuardedPass, log_guarded_rerun
from .missing_rules import check_rules
from .recording import Recording
from .releasing import ReleasingPass, keeps_many_bytes, may_release_records
from .stepwise import stepwise_backward
from .undefined import warn_of_undefined
from .unfollowed import warn_of_unfollowed

if TYPE_CHECKING:
    from .._exits.lost_parts import LostParts

# A value id, and the path to the part of its cotangent that is a gradient.
GradientPlace = tuple[int, Path]
# Read once, because reading a member of an enum class takes as long as a small op.
ZERO = UnconnectedGradients.ZERO


def compute_gradient(
    recording: Recording,
    target: Nesting,
    sources: Nesting,
    output_gradients: Nesting,
    unconnected_gradients: UnconnectedGradients | str,
    nan: str,
    broadcast: bool = True,
) -> Any:
    """Compute the result of ``GradientTape.gradient``: the gradient of each source, in their nesting.

    broadcast : False to refuse output gradients that only broadcast to the shapes of the targets.
    The other parameters are those of ``GradientTape.gradient``.
    """
    recording.check_usable()
    zero = parse_unconnected(unconnected_gradients) is ZERO
    guard = parse_nan_option(nan)
    left = advice_on_last_exit(recording.records) if recording.journal else None
    targets = arrays_of(target, "target", left=left)
    try:
        asked = arrays_of(sources, "source")
    except Holes:
        rest = output_gradients, unconnected_gradients, nan, broadcast
        return around_holes(sources, lambda some: compute_gradient(recording, target, some, *rest))
    seeds = seeds_of(target, targets, output_gradients, broadcast)
    with recording.paused():
        request = Differentiation(recording, targets, asked)
        found: list[Any] = [None] * len(asked)
        if targets and asked:
            found = request.run_pass(seeds, guard=guard, last=True)
        packed = nest.pack_nesting(sources, request.answers(found, zero))
        recording.use_up()
    return packed


class Differentiation:
    """A request of a user for derivatives of ``targets`` with respect to the sources ``asked``.

    starts : the value ids of the targets.
    places : for each source a pair of a value id and a path.  The gradient is the cotangent of this id;
    for a view the part of it at the path, and otherwise the path is ().
    lacks : the ``LostParts`` that finds gradients which are incomplete because a value was converted to
    untracked data; None if there was no such conversion.
    """

    def __init__(self, recording: Recording, targets: list[Array], asked: list[Array]) -> None:
        self.recording, self.targets, self.asked = recording, targets, asked
        # Unrecorded ops note their lines only until the tape computes its first gradient.
        if AWAITED:
            AWAITED.pop(id(recording), None)
            UNSTARTED.pop(id(recording), None)
        unwatched: dict[int, int] = {}  # new ids of sources that are not followed
        ops_may_be_recorded = recording.watched
        self.places = [
            (entry.source, entry.path)
            if (entry := ops_may_be_recorded.get(id(x))) is not None
            else self.locate_source(x, unwatched)
            for x in asked
        ]
        self.starts = [
            recording.value_id_of(x, current_value=True) or unwatched.get(id(x), 0) for x in targets
        ]
        # For the index of each source that is a view: the views made from it, as pairs (id, path).
        self.views = {
            i: views
            for i, x in enumerate(asked)
            if x._state & IS_VIEW and (views := recording.views_of_source(x))
        }
        # The ids of the values from whose cotangents the gradients of the sources are taken.
        value_ids = self.source_ids = [value_id for value_id, _ in self.places]
        for views in self.views.values():
            value_ids += [value_id for value_id, _ in views]
        if recording.has_missing_rules:
            check_rules(recording.records, self.starts, value_ids)
        if recording.persistent and recording.active:
            recording.warn_inside()
        self.lacks: LostParts | None = None
        if recording.journal is not None and mode_of(recording.exits) != "ignore":
            from .._exits.lost_parts import LostParts

            self.lacks = LostParts(recording.records, recording.journal, value_ids, self.starts)

    def locate_source(self, x: Array, unwatched: dict[int, int]) -> GradientPlace:
        """Return (id, ()): the id of the value whose cotangent is the gradient of an unwatched source x.

        A value without an id gets a new id.  ``unwatched`` maps ``id(x)`` to the new id, so that x gets
        the same one if it is given twice, or is the target, too.
        """
        value_id = self.recording.value_id_of(x)
        if not value_id:
            value_id = unwatched[id(x)] = unwatched.get(id(x)) or new_value_id()
        return value_id, ()

    # --- passes -----------------------------------------------------------------------------------
    def run_pass(
        self, seeds: Sequence[Array], picks: bool = False, guard: bool = True, last: bool = False
    ) -> list[Any]:
        """Run backward passes; return the gradient of each source, None if no target depends on it.

        seeds : the cotangent of each target.
        picks : True if the seeds select some elements of the targets, and are 0 at all others.
        guard : True if a NaN starts the guarded rerun, in which elements that a selection left out
        contribute 0.
        last : True if a one-shot tape needs its records for nothing else, and the pass may free them.
        """
        first = seeds[0]._data
        storage, recorded = storage_of(first), ops_may_be_recorded()
        here = storage.at(first)
        if here is HERE and not recorded and not self.recording.needs_stepwise():
            return quietly(self.find_gradients, storage, recorded, seeds, picks, guard, last)
        with (
            here,
            open_hidden_axis(REPLAY) if recorded or self.recording.needs_stepwise() else HERE,
        ):
            return quietly(self.find_gradients, storage, recorded, seeds, picks, guard, last)

    def find_gradients(
        self, storage: Storage, recorded: bool, seeds: Sequence[Array], picks: bool, guard: bool,
        last: bool,
    ) -> list[Any]:  # fmt: skip
        """Choose and run the kind of backward pass that the tape and its data need.

        Return the gradient of each source.

        storage : the functions for the array library of the data.
        recorded : True if an outer recorder is to record the pass, which then computes on Arrays.
        seeds : the cotangent of each target.
        picks : True if the seeds are 0 at some elements of the targets, which are left out.
        guard : True to run a guarded pass, which corrects NaN, if a gradient holds a NaN.
        last : True if the pass may free the tape's records.
        """
        recording, data = self.recording, ArrayData if recorded else RawData
        if last and not recorded and self.may_release(seeds):
            return self.run_and_release(data(storage), seeds, guard)
        if recording.numerics is not None:
            return self.run_checked(data(storage), seeds, picks, guard)
        if guard and recorded and hides_a_cusp(recording.records):
            return self.run_guarded(data(storage), seeds, picks)
        plain = BackwardPass if recorded or not storage.fusing else FusedPass
        found = self.gradients_through(plain(data(storage), recording.known), seeds)
        if guard and gradients_have_nan(found):
            log_guarded_rerun()
            return self.run_guarded(data(storage), seeds, picks)
        return found

    def run_guarded(self, data: RawData, seeds: Sequence[Array], picks: bool) -> list[Any]:
        """Return the gradients of a pass in which elements that a selection left out contribute 0.

        data : the operations on cotangents.  seeds : the cotangent of each target.
        picks : True if elements of the targets whose seed is 0 count as left out.
        """
        pass_ = GuardedPass(data, self.recording.known)
        pass_.picks = picks
        return self.gradients_through(pass_, seeds)

    def run_checked(
        self, data: RawData, seeds: Sequence[Array], picks: bool, guard: bool
    ) -> list[Any]:
        """Return the gradients of a pass that raises at the first NaN of a rule (``check_numerics``).

        data : the operations on cotangents.  seeds : the cotangent of each target.
        picks : True if elements of the targets whose seed is 0 count as left out.
        guard : True for a pass in which elements that a selection left out contribute 0.
        """
        pass_ = self.recording.numerics.pass_of(data, self.recording.known, guard)
        pass_.picks = picks
        return self.gradients_through(pass_, seeds)

    def gradients_through(self, pass_: BackwardPass, seeds: Sequence[Array]) -> list[Any]:
        """Run ``pass_`` through the tape's records, by the loop that they need; return its gradients.

        Large arrays need the loop by blocks; profiles, hooks and packed data need one step at a time.

        pass_ : a plain, guarded or checking backward pass.  seeds : the cotangent of each target.
        """
        self.seed(pass_, seeds)
        if self.recording.needs_stepwise():
            stepwise_backward(pass_, self.recording)
        else:
            records = self.recording.records
            if isinstance(pass_, GuardedPass):
                pass_.records = records
            careful = self.recording.careful or needs_care(seeds)
            plain = not careful and type(pass_) is BackwardPass
            if pass_.data.recorded and plain:
                records = pass_back_on_raw_data(pass_, records, seeds)
            if pass_.frugal and plain:
                backward_by_blocks(pass_, records)
            else:
                backward(pass_, records, careful)
        return self.collect_gradients(pass_)

    def seed(self, pass_: BackwardPass, seeds: Sequence[Array]) -> None:
        """Start a pass: give it the cotangents of the targets, and say which cotangents it has to keep.

        A pass frees a cotangent at the record that made the value, unless the value is in ``wanted``.
        Watched values need not be in ``wanted``, because no record made them.

        seeds : the cotangent of each target, with which the pass begins.
        """
        value_ids, known = set(self.source_ids), self.recording.known
        pass_.wanted = value_ids - self.recording.leaves
        pass_.frugal = self.recording.frugal and not pass_.data.recorded
        for start, seed in zip(self.starts, seeds, strict=True):
            if (start in known or start in value_ids) and differentiable(seed):
                pass_.seed_target(start, pass_.data.of_array(seed))

    def may_release(self, seeds: Sequence[Array]) -> bool:
        """Return True if the pass may free records, and they keep so many bytes that freeing them pays.

        Return False if a target is watched: source and target may be swapped, and the message about that
        needs the records.
        """
        recording = self.recording
        if (
            recording.persistent
            or not keeps_many_bytes(recording)
            or not may_release_records(recording)
        ):
            return False
        return recording.leaves.isdisjoint(self.starts) and not needs_care(seeds)

    def run_and_release(self, data: RawData, seeds: Sequence[Array], guard: bool) -> list[Any]:
        """Return the gradients of a pass that removes records from the tape as it goes.

        A one-shot tape needs them no longer, and memory is freed early.

        data : the operations on cotangents.  seeds : the cotangent of each target.
        guard : True if a NaN makes a guarded pass repeat the rest, in which elements that a selection
        left out contribute 0.
        """
        pass_ = BackwardPass(data, self.recording.known)
        self.seed(pass_, seeds)
        releasing = ReleasingPass(pass_, self.recording, self.source_ids)
        return self.collect_gradients(releasing.run_releasing(guard))

    def collect_gradients(self, pass_: BackwardPass) -> list[Any]:
        """Return the gradient of each source, or None, from the cotangents of a finished pass."""
        found: list[Any] = []
        for value_id, path in self.places:
            g = pass_.cotangents.get(value_id)
            if (
                type(g) is np.ndarray
                and g.base is None
                and not path
                and value_id not in pass_.borrowed
            ):
                pass_.borrowed.add(value_id)  # the same as ``gradient_at``, without a function call
                found.append(wrap(g))
            elif type(g) is np.float64 and not path:
                found.append(wrap(np.asarray(g)))
            else:
                found.append(self.gradient_at(pass_, value_id, path))
        for i, views in self.views.items():
            found[i] = self.with_gradients_of_views(pass_, self.asked[i], found[i], views)
        if isinstance(pass_, GuardedPass) and pass_.undefined:
            warn_of_undefined(pass_.undefined, found)
        return found

    def gradient_at(self, pass_: BackwardPass, value_id: int, path: Path) -> Any:
        """Return the gradient of a source, in memory to which nothing else refers.

        Copy a cotangent that is a seed, a view, or the gradient of another source.

        value_id : the id of the value whose cotangent is the gradient.
        path : the steps from that value to the source, a view; () if it is no view.
        """
        g, data, borrowed = pass_.cotangents.get(value_id), pass_.data, pass_.borrowed
        if g is None:
            return None
        part = data.part_at_path(g, path) if path else g
        if value_id in borrowed or not data.owns_memory(part):
            part = data.copy_data(part)
        borrowed.add(value_id)
        return data.as_gradient(part)

    def with_gradients_of_views(
        self, pass_: BackwardPass, x: Array, g: Array | None, views: Sequence[GradientPlace]
    ) -> Any:
        """Return the gradient of x, a view, with the terms of views that were made from x.

        g : the gradient of uses of x itself, or None.  views : pairs (value id, path from x).
        """
        data = pass_.data
        total = None if g is None else data.of_array(g)
        for value_id, path in views:
            part = pass_.peek(value_id)
            if part is None:
                continue
            if total is None:
                total = data.xp.zeros(x.shape, dtype=x.dtype, device=part.device)
            total = add_through(data.widen_buffer(total, part), path, part, data)
        return None if total is None else data.as_gradient(total)

    # --- answers ----------------------------------------------------------------------------------
    def answers(
        self,
        found: Sequence[Any],
        zero: bool,
        shapes: Sequence[tuple[int, ...] | None] | None = None,
    ) -> list[Any]:
        """Return the gradients as the user gets them, and warn if a None seems to be a mistake.

        found : the gradient of each source, or None.  zero : True to return zeros in place of None.
        shapes : the shapes of the zeros (Jacobians); None for the shapes of the sources.
        """
        if self.lacks is not None:
            self.report_lacks(self.lacks, found)
        if AWAITED:
            self.note_for_others(found)
        for g in found:
            if g is None:
                break
        else:
            return list(found)
        if not zero:
            self.warn_of_unfollowed_sources(found)
        shapes = [None] * len(found) if shapes is None else shapes
        rows = zip(self.asked, found, shapes, strict=True)
        return [
            g if g is not None else filled_like("zeros", x, shape) if zero else None
            for x, g, shape in rows
        ]

    def note_for_others(self, found: Sequence[Any]) -> None:
        """Attach the line of the user's call to gradients that no other recorder follows.

        If another tape is later asked for a derivative through such a gradient, the result is None, and
        the warning can name the line at which the gradient was computed.

        found : the gradient of each source, or None.
        """
        results = [g for g in found if isinstance(g, Array) and not g._value_id]
        if results:
            note_cut(
                "gradient", results, [*self.starts, *[value_id for value_id, _ in self.places]], ()
            )

    def report_lacks(self, lacks: LostParts, found: Sequence[Any]) -> None:
        """Warn or raise, as the tape's parameter ``exits`` says, if gradients may be incomplete.

        That is so if a value computed from a source was converted to untracked data, as by ``float(x)``,
        and a later op used a constant that may come from this data.

        lacks : finds the gradients that may be incomplete.
        found : the gradient of each source, or None.
        """
        recording, mode = self.recording, mode_of(self.recording.exits)
        absent = {
            value_id for (value_id, _), g in zip(self.places, found, strict=True) if g is None
        }
        unseen = any(start not in recording.known for start in self.starts)
        doubts = recording.doubts
        never = doubts is not None
        lacks.report(absent, "gradient", mode, never_zeros=never, unseen=unseen, doubts=doubts)

    def warn_of_unfollowed_sources(self, found: Sequence[Any]) -> None:
        """Warn of each source whose gradient is None because of a mistake in the user's code.

        A mistake is, for example, a source that was never watched.  Skip sources of values that were
        converted to untracked data: ``report_lacks`` reports these.

        found : the gradient of each source, or None.
        """
        left = self.lacks.converted_sources() if self.lacks else ()
        rows = zip(self.asked, found, self.places, strict=True)
        lost = [(x, value_id) for x, g, (value_id, _) in rows if g is None and value_id not in left]
        alone = all(g is None for g in found)
        warn_of_unfollowed(self.recording, lost, self.targets, self.starts, alone)


def needs_care(seeds: Sequence[Array]) -> bool:
    """Return True if the backward pass must not use its fast loop because of the seeds.

    That is so for complex seeds, and for data of several array libraries or devices.
    """
    if len(seeds) == 1:
        return is_complex(seeds[0])
    if any(is_complex(seed) for seed in seeds):
        return True
    kind, device = type(seeds[0]._data), seeds[0].device
    return any(type(seed._data) is not kind or seed.device != device for seed in seeds)


def gradients_have_nan(gradients: Iterable[Array | None]) -> bool:
    """Return True if a gradient holds a NaN.  A plain backward pass makes no other NaN check.

    All gradients on a device are checked at once, because a program waits for the device in each check.
    """
    elsewhere = []
    for g in gradients:
        if g is None:
            continue
        data = g._data  # a gradient is no view, so its data is up to date
        if type(data) is not np.ndarray:
            elsewhere.append(data)
            continue
        # The same as NumPyStorage.has_nan, without a function call: the sum of squares is NaN if an
        # element is.
        flat = data.ravel()
        square = flat.dot(flat)
        if square != square:
            return True
    return bool(elsewhere) and any_has_nan(elsewhere)


def parse_nan_option(nan: str) -> bool:
    """Return True if the user's argument ``nan`` is "guard", False for "keep"; else raise ValueError."""
    if not isinstance(nan, str) or nan not in ("guard", "keep"):
        raise ValueError(f"nan must be 'guard' or 'keep', got {short_repr(nan)} [at {user_line()}]")
    return nan == "guard"
