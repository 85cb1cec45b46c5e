"""GradientTape: TensorFlow's tape over arrays of the array API."""

from __future__ import annotations

import warnings
from contextlib import AbstractContextManager
from threading import get_ident
from typing import Any

import numpy as np

from .._array.aliasing import view_record
from .._array.array import IS_VIEW, Array, wrap
from .._array.exits import Exit, blame, last_exit
from .._array.paths import Path
from .._array.views import current
from .._record.stack import new_tid, recorders, watched
from .._storage.batched.data import REPLAY, active
from .._storage.storage import HERE, is_complex, storage_of
from .._util import nest
from .._util.errors import TapeWarning, stacklevel
from .arguments import (
    UnconnectedGradients,
    arrays_of,
    differentiable,
    filled,
    seeds_of,
    unconnected,
)
from .backward import Raw, Recorded, backward
from .guard import GuardedRaw, GuardedRecorded, hides_a_cusp
from .jacobian import Jacobians
from .missing_rules import check_rules
from .recording import Recording

USED_UP = (
    "A non-persistent GradientTape can only be used to compute one set of gradients (or jacobians); "
    "make it GradientTape(persistent=True) or record again"
)


def has_nan(g: Array) -> bool:
    """Whether a gradient holds a NaN: the one look at values that a backward pass takes."""
    data = g._data  # a gradient is a root: its data is up to date
    if type(data) is np.ndarray:
        flat = data.ravel()  # see NumPyStorage.has_nan; here without a call
        square = flat.dot(flat)
        return bool(square != square)
    return storage_of(data).has_nan(data)


def guards(nan: str) -> bool:
    """Whether a NaN calls for the guarded rerun; ValueError for an unknown word."""
    if nan not in ("guard", "keep"):
        raise ValueError(f"nan must be 'guard' or 'keep', got {nan!r}")
    return nan == "guard"


class GradientTape(Recording, Jacobians):
    """Record ops on arrays for differentiation, as ``tf.GradientTape`` does.

        with GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        dy_dx = tape.gradient(y, x)

    persistent : keep the records, so that ``gradient`` can be called more than once.
    watch_accessed_variables : watch every trainable Variable that is read.
    """

    # --- gradients ------------------------------------------------------------------------------
    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
        *,
        nan: str = "guard",
    ) -> Any:
        """The gradient of the sum of ``target`` (any nesting) with respect to each of ``sources``.

        Returns the nesting of ``sources``; each gradient has its source's shape, dtype and device.
        A source that the target does not depend on gets None, or zeros with
        ``unconnected_gradients="zero"``.  ``output_gradients`` weighs the targets: same nesting,
        shapes and kinds of dtype.  ``gradient(y, x)`` means the value that x held when it was
        watched; for an intermediate result, the value that it holds now.

        ``nan="guard"`` runs the pass again, guarded, when a gradient holds a NaN, so that what a
        selection did not take contributes exactly zero; ``nan="keep"`` returns the NaN of the plain
        pass: no look at values, no second pass.

        Raises RuntimeError on a tape that was used up or never entered, LookupError when an op on
        the path has no rule, TypeError and ValueError for arguments that do not fit.
        """
        self._check_usable()
        zero = unconnected(unconnected_gradients) is UnconnectedGradients.ZERO
        guard = guards(nan)
        targets = arrays_of(target, "target", left=last_exit(self._records) if self._left else None)
        asked = arrays_of(sources, "source")
        seeds = seeds_of(target, targets, output_gradients)
        with self._stopped():
            starts, places, exits = self._prepare(targets, asked)
            gradients: list[Any] = [None] * len(asked)
            if targets and asked:
                gradients = self._run(starts, seeds, places, guard=guard)
            answer = [
                self._finish(x, g, zero, exits.get(tid))
                for x, g, (tid, _) in zip(asked, gradients, places, strict=True)
            ]
            packed = nest.pack(sources, answer)
            self._use_up()
        return packed

    def _prepare(
        self, targets: list[Array], asked: list[Array]
    ) -> tuple[list[int], list[tuple[int, Path]], dict[int, Exit]]:
        """The targets' tids, the sources' tids and paths, and where values left the tape."""
        places: list[tuple[int, Path]] = []
        nobody: dict[int, int] = {}  # names for what nobody follows: a target may be its own source
        for x in asked:
            entry = self._watched.get(id(x))
            if entry is not None:
                places.append(entry[1:])
                continue
            tid = self._tid_of(x)
            if not tid:
                tid = nobody[id(x)] = nobody.get(id(x)) or new_tid()
            places.append((tid, ()))
        tids = [tid for tid, _ in places]
        starts = [self._tid_of(x, current_value=True) or nobody.get(id(x), 0) for x in targets]
        if self._has_missing_rules:
            check_rules(self._records, starts, tids)
        if self._persistent and self._active:
            self._warn_inside()
        exits = blame(self._records, tids, starts) if self._left else {}
        return starts, places, exits

    def _run(
        self,
        starts: list[int],
        seeds: list[Any],
        places: list[tuple[int, Path]],
        picks: bool = False,
        guard: bool = True,
    ) -> list[Any]:
        storage = storage_of(seeds[0]._data)
        plain, guarded = (Recorded, GuardedRecorded) if watched() else (Raw, GuardedRaw)

        def again() -> list[Any]:
            pass_ = guarded(storage, self._known)
            pass_.picks = picks
            return self._pass(pass_, starts, seeds, places)

        replayed = HERE if plain is Raw else active(REPLAY)
        with np.errstate(all="ignore"), storage.at(seeds[0]._data), replayed:
            if guard and plain is Recorded and hides_a_cusp(self._records):
                return again()
            found = self._pass(plain(storage, self._known), starts, seeds, places)
            bad = guard and any(g is not None and has_nan(g) for g in found)
            return again() if bad else found

    def _pass(
        self, pass_: Raw, starts: list[int], seeds: list[Any], places: list[tuple[int, Path]]
    ) -> list[Any]:
        recorded = isinstance(pass_, Recorded)
        tids = {tid for tid, _ in places}
        pass_.wanted = tids - self._leaves
        for start, seed in zip(starts, seeds, strict=True):
            if (start in self._known or start in tids) and differentiable(seed):
                pass_.start(start, seed if recorded else current(seed)[1])
        careful = self._careful or any(is_complex(seed) for seed in seeds)
        if not careful and len(seeds) > 1:  # one device: the loop looks no further
            careful = any(seed.device != seeds[0].device for seed in seeds)
        backward(pass_, self._records, careful)
        found = []
        for tid, path in places:
            g = pass_.cotangents.get(tid)
            if g is not None:
                # A gradient is the caller's alone: never the seed, a view, or one buffer twice.
                part = pass_.walk(g, path) if path else g
                if tid in pass_.borrowed or not pass_.owns(part):
                    part = pass_.copied(part)
                pass_.borrowed.add(tid)
                g = part if recorded else wrap(part)
            found.append(g)
        return found

    def _finish(
        self, x: Array, g: Any, zero: bool, exit_: Exit | None, shape: tuple[int, ...] | None = None
    ) -> Any:
        if exit_ is not None and (g is None or exit_.before):
            what = "gradient is None" if g is None else "a part of the gradient may be missing"
            warnings.warn(
                f"{what}: the value left the tape at {exit_.line}. Keep the computation in "
                "arraytape's own functions, or stop_gradient the value to say that this is meant",
                TapeWarning,
                stacklevel=stacklevel(),
            )
        if g is not None:
            return g
        return filled("zeros", x, shape) if zero else None

    # --- arguments and state ----------------------------------------------------------------------
    def _check_usable(self) -> None:
        if self._used_up:
            raise RuntimeError(USED_UP)
        if not self._entered:
            raise RuntimeError("this tape never recorded: enter it with `with tape:` first")
        if not self._workers or self._persistent:
            return
        others = [thread for thread in self._workers if thread != get_ident()]
        if others:
            raise RuntimeError(
                f"{len(others)} other threads still record on this tape: wait until they leave "
                "in_this_thread(), or make the tape persistent"
            )

    def _tid_of(self, x: Array, current_value: bool = False) -> int:
        if not current_value and id(x) in self._watched:
            return self._watched[id(x)][1]
        tid = x._current_id()
        if tid in self._implied and not current_value:
            return 0
        if x._state & IS_VIEW and tid and tid not in self._known and x._view.seen in self._known:
            # No op read this view while the tape recorded: it is read now.
            root, path = x._view.root, x._view.path
            self._records.append(view_record(tid, x._view.seen, root.shape, path))
            self._known.add(tid)
        return tid

    def _stopped(self) -> AbstractContextManager[Any]:
        """Within it a one-shot tape is stopped; it goes on when what happens there fails."""
        return self.stop_recording() if self._active and not self._persistent else HERE

    def _use_up(self) -> None:
        if not self._persistent:
            if self._active:
                self._close()
            self._release()

    def _warn_inside(self) -> None:
        if self in recorders() and not self._warned:
            self._warned = True
            warnings.warn(
                "Calling gradient on a persistent tape inside its context records the gradient's own "
                "ops: call it outside unless you want higher-order derivatives",
                TapeWarning,
                stacklevel=stacklevel(),
            )
