"""GradientTape: TensorFlow's tape over arrays of the array API."""

from __future__ import annotations

import threading
import warnings
from types import TracebackType
from typing import Any

import numpy as np

from . import _nest
from ._arguments import (
    UnconnectedGradients,
    arrays_of,
    differentiable,
    filled,
    seeds_of,
    unconnected,
)
from ._array import VIEW, Array, wrap
from ._batched import REPLAY, active
from ._engine import Raw, Record, Recorded, backward
from ._errors import TapeWarning, describe, stacklevel, user_line
from ._exits import LEFT, blame
from ._guard import GuardedRaw, GuardedRecorded, hides_a_cusp
from ._jacobian import Jacobians
from ._op import PLANS, Plan, Structural
from ._paths import VIEW as VIEW_RECORD
from ._paths import Path, inputs_of, results_of
from ._record import new_tid, push, recorders, remove
from ._storage import HERE, is_complex, storage_of
from ._view import current

NOBODY: Any = frozenset()
NAMING = threading.Lock()  # two threads must not both name a value; not on the op path
ENTERING = threading.Lock()  # two threads must not both find a tape free; not on the op path
USED_UP = (
    "A non-persistent GradientTape can only be used to compute one set of gradients (or jacobians); "
    "make it GradientTape(persistent=True) or record again"
)


def name_of(x: Any) -> int:
    """The name of the value that an Array which is no view holds; it gets one if it has none."""
    if type(x) is not Array:
        return x._identity  # type: ignore[no-any-return]
    with NAMING:
        tid = x._tid = x._tid or new_tid()
    return tid


def has_nan(g: Array) -> bool:
    """Whether a gradient holds a NaN: the one look at values that a backward pass takes."""
    _, data = current(g)
    return storage_of(data).has_nan(data)


class GradientTape(Jacobians):
    """Record ops on arrays for differentiation, as ``tf.GradientTape`` does.

        with GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        dy_dx = tape.gradient(y, x)

    persistent : keep the records, so that ``gradient`` can be called more than once.
    watch_accessed_variables : watch every trainable Variable that is read.
    """

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True) -> None:
        self._persistent = persistent
        self._watch_variables = watch_accessed_variables
        self.followed: set[int] = NOBODY  # the tids while recording, else nobody's
        self._active = False
        self._entered = False
        self._warned = False
        self._forget()

    def _forget(self) -> None:
        self._known: set[int] = set()
        # id of handle -> handle, the root's tid when it was watched, path from the root to it
        self._watched: dict[int, tuple[Array, int, Path]] = {}
        self._variables: list[Any] = []  # the Variables among them, as they were met
        self._implied: set[int] = set()  # roots of which only a view is watched
        self._records: list[Record] = []
        self.record = self._records.append
        self._leaves: set[int] = set()  # tids that no record of this tape makes
        self._used_up = False
        self._careful = self._unruly = self._left = False

    # --- recording ------------------------------------------------------------------------------
    def __enter__(self) -> GradientTape:
        with ENTERING:
            if self._active:
                raise ValueError(
                    "Tape is already recording; it can be entered again once it is left"
                )
            self._active = True
        if self._used_up:
            self._forget()
        self._entered = True
        self.followed = self._known
        push(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._close()

    def _close(self) -> None:
        self.followed = NOBODY
        remove(self)
        self._active = False

    def notice(self, plan: Plan | Structural, values: Record) -> None:
        """What the backward pass must look out for, so that it need not look otherwise."""
        if plan is LEFT:
            self._left = True
        elif plan.missing:
            self._unruly = True
        else:
            self._careful = True  # complex data, or more than one storage

    def watch(self, x: Any) -> None:
        """Follow ``x`` from here on: an Array or a nesting of lists, tuples and dicts of Arrays.

        None leaves are skipped.  Integer and boolean arrays have no gradient: a TapeWarning.
        RuntimeError when the tape is not recording; TypeError for what is not an Array.
        """
        if not self._active:
            raise RuntimeError("watch() needs a recording tape: call it inside `with tape:`")
        found = [leaf for leaf in _nest.leaves(x) if leaf is not None]
        for leaf in found:
            if not isinstance(leaf, Array):
                raise TypeError(
                    f"watch() takes Arrays, got {describe(leaf)}; convert it with asarray"
                )
        for leaf in found:
            self._watch(leaf)

    def accessed(self, x: Any) -> None:
        """A trainable Variable was read."""
        new = self._watch_variables and x._identity not in self._known
        if new and self.followed is not NOBODY and differentiable(x):
            self._watch(x)

    def _watch(self, x: Array) -> None:
        if not differentiable(x):
            warnings.warn(
                f"watch(): dtype {x.dtype} has no gradient (shape {x.shape}): only real and complex "
                "floating-point arrays do",
                TapeWarning,
                stacklevel=stacklevel(),
            )
            return
        # A view is followed through its root, so what is read through other aliases counts too.
        root, path = (x._view.root, x._view.path) if x._state & VIEW else (x, ())
        tid = name_of(root)
        if id(x) in self._watched and self._watched[id(x)][1] == tid:
            return
        if tid not in self._known:
            self._leaves.add(tid)
            if path:
                self._implied.add(tid)
        if not path:
            self._implied.discard(tid)
        self._known.add(tid)
        self._watched[id(x)] = (x, tid, path)
        if type(x) is not Array:
            self._variables.append(x)
        self._careful = self._careful or is_complex(x)

    def watched_variables(self) -> tuple[Any, ...]:
        """The Variables that the tape watches, in the order in which they were met."""
        return tuple(self._variables)

    # --- gradients ------------------------------------------------------------------------------
    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
    ) -> Any:
        """The gradient of the sum of ``target`` (any nesting) with respect to each of ``sources``.

        Returns the nesting of ``sources``; each gradient has its source's shape, dtype and device.
        A source that the target does not depend on gets None, or zeros with
        ``unconnected_gradients="zero"``.  ``output_gradients`` weighs the targets: same nesting,
        shapes and kinds of dtype.  ``gradient(y, x)`` means the value that x held when it was
        watched; for an intermediate result, the value that it holds now.

        Raises RuntimeError on a tape that was used up or never entered, LookupError when an op on
        the path has no rule, TypeError and ValueError for arguments that do not fit.
        """
        self._check_usable()
        zero = unconnected(unconnected_gradients) is UnconnectedGradients.ZERO
        targets = arrays_of(target, "target")
        asked = arrays_of(sources, "source")
        seeds = seeds_of(target, targets, output_gradients)
        starts, places, exits = self._prepare(targets, asked)
        gradients: list[Any] = [None] * len(asked)
        if targets and asked:
            gradients = self._run(starts, seeds, places)
        if not self._persistent:
            self._release()
        answer = [
            self._finish(x, g, zero, exits.get(tid))
            for x, g, (tid, _) in zip(asked, gradients, places, strict=True)
        ]
        return _nest.pack(sources, answer)

    def _prepare(
        self, targets: list[Array], asked: list[Array]
    ) -> tuple[list[int], list[tuple[int, Path]], dict[int, str]]:
        """The targets' tids, the sources' tids and paths, and where values left the tape."""
        tids = [self._tid_of(x) for x in asked]
        paths = [self._watched[id(x)][2] if id(x) in self._watched else () for x in asked]
        nobody = {id(x): new_tid() for x, tid in zip(asked, tids, strict=True) if not tid}
        tids = [tid or nobody[id(x)] for x, tid in zip(asked, tids, strict=True)]
        starts = [self._tid_of(x, current_value=True) or nobody.get(id(x), 0) for x in targets]
        self._check_rules(starts, tids)
        if self._active:
            self._close_or_warn()
        exits = blame(self._records, tids) if self._left else {}
        return starts, list(zip(tids, paths, strict=True)), exits

    def _run(
        self,
        starts: list[int],
        seeds: list[Any],
        places: list[tuple[int, Path]],
        picks: bool = False,
    ) -> list[Any]:
        storage = storage_of(seeds[0]._data)
        plain, guarded = (Recorded, GuardedRecorded) if recorders() else (Raw, GuardedRaw)

        def guard() -> list[Any]:
            pass_ = guarded(storage, self._known)
            pass_.picks = picks
            return self._pass(pass_, starts, seeds, places)

        replayed = HERE if plain is Raw else active(REPLAY)
        with np.errstate(all="ignore"), storage.at(seeds[0]._data), replayed:
            if plain is Recorded and hides_a_cusp(self._records):
                return guard()
            found = self._pass(plain(storage, self._known), starts, seeds, places)
            return guard() if any(g is not None and has_nan(g) for g in found) else found

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
        found = [pass_.cotangents.get(tid) for tid, _ in places]
        private = [
            None if g is None else self._private(pass_, tid, pass_.walk(g, path))
            for (tid, path), g in zip(places, found, strict=True)
        ]
        return [g if g is None or recorded else wrap(g) for g in private]

    @staticmethod
    def _private(pass_: Raw, tid: int, g: Any) -> Any:
        # A gradient is the caller's alone: never the seed, a view, or the same buffer twice.
        if tid in pass_.borrowed or not pass_.owns(g):
            return pass_.copied(g)
        pass_.borrowed.add(tid)
        return g

    def _finish(
        self, x: Array, g: Any, zero: bool, exit_: str | None, shape: tuple[int, ...] | None = None
    ) -> Any:
        if g is not None:
            return g
        if exit_ is not None:
            warnings.warn(
                f"gradient is None: the value left the tape at {exit_}. Keep the computation in "
                "arraytape's own functions, or stop_gradient the value to say that this is meant",
                TapeWarning,
                stacklevel=stacklevel(),
            )
        return filled("zeros", x, shape) if zero else None

    # --- arguments and state ----------------------------------------------------------------------
    def _check_usable(self) -> None:
        if self._used_up:
            raise RuntimeError(USED_UP)
        if not self._entered:
            raise RuntimeError("this tape never recorded: enter it with `with tape:` first")

    def _tid_of(self, x: Array, current_value: bool = False) -> int:
        if not current_value and id(x) in self._watched:
            return self._watched[id(x)][1]
        tid = current(x)[0] if type(x) is Array else x._identity
        if tid in self._implied and not current_value:
            return 0
        if x._state & VIEW and tid and tid not in self._known and x._view.seen in self._known:
            # A view that nobody read while the tape recorded: it is read now.
            root, path = x._view.root, x._view.path
            self._records.append((VIEW_RECORD.number, tid, x._view.seen, root.shape, path))
            self._known.add(tid)
        return tid

    def _close_or_warn(self) -> None:
        if not self._persistent:
            self._close()
        elif not self._warned:
            self._warned = True
            warnings.warn(
                "Calling gradient on a persistent tape inside its context records the gradient's own "
                "ops: call it outside unless you want higher-order derivatives",
                TapeWarning,
                stacklevel=stacklevel(),
            )

    def _check_rules(self, starts: list[int], sources: list[int]) -> None:
        # Before anything is consumed: does an op without a rule lie between sources and targets?
        if not self._unruly:
            return
        depending = set(sources)
        for record in self._records:
            if not depending.isdisjoint(inputs_of(record)):
                depending.update(results_of(record))
        reached = set(starts)
        for record in reversed(self._records):
            if reached.isdisjoint(results_of(record)):
                continue
            plan = PLANS[record[0]]
            on_path = not depending.isdisjoint(inputs_of(record))
            if isinstance(plan, Plan) and plan.missing and on_path:
                name = plan.op.name
                raise LookupError(
                    f"gradient registry has no entry for: {name}. Declare one with "
                    f"register_gradient({name!r}) or no_gradient({name!r}), or stop_gradient its "
                    f"result [at {user_line()}]"
                )
            reached.update(inputs_of(record))

    def _release(self) -> None:
        self._records, self._known, self._watched = [], set(), {}
        self.record = self._records.append
        self._used_up = True
