"""ForwardAccumulator: derivatives along given directions, computed while the program runs.

It is a recorder like the tape and takes the same records.  What an op does to tangents follows from
its one statement: an elementwise line is the map itself, a linear op is its own derivative, and the
derivative of any other is the transpose of its VJP, which a tape takes of the rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import get_ident
from types import TracebackType
from typing import Any

import numpy as np

from .._array.aliasing import AddRecord, PutRecord
from .._array.array import IS_VIEW, Array, namespace
from .._array.paths import Path, add_through, walk
from .._array.views import current
from .._record.plan import LAYOUT, PLANS, Plan, Record, Structural, inputs_of, results_of
from .._record.stack import STACK, push, recorders, remove
from .._storage.storage import storage_of
from .._util import nest
from .._util.errors import describe
from .arguments import UnconnectedGradients, differentiable, filled, unconnected
from .backward import Recorded
from .guard import replaced
from .missing_rules import MissingRule, missing_rule, missing_rule_error
from .recording import NOBODY
from .tangents import Tangents
from .tape import GradientTape

PullBack = Callable[[], Iterable[tuple[int, Any]]]


class ForwardAccumulator:
    """Jacobian-vector products in forward mode, as ``tf.autodiff.ForwardAccumulator``.

        with ForwardAccumulator(x, tangent) as acc:
            y = f(x)
        jvp = acc.jvp(y)

    primals : an Array, or a nesting of Arrays, each once.
    tangents : the same nesting; each has its primal's shape and dtype.
    Raises ValueError for a primal given twice and for a tangent that does not fit its primal.
    """

    def __init__(self, primals: Any, tangents: Any) -> None:
        arrays = nest.leaves(primals)
        given = nest.leaves_like(primals, tangents, "tangents")
        for x, t in zip(arrays, given, strict=True):
            check_pair(x, t)
        if len({id(x) for x in arrays}) < len(arrays):
            raise ValueError("ForwardAccumulator: the same primal is given twice")
        self._pairs = list(zip(arrays, given, strict=True))
        self._tangents = Tangents()
        self._missing: dict[int, str] = {}  # tid -> op without a rule that its value went through
        self._known: set[int] = set()
        self.followed: set[int] = NOBODY
        self._started = False

    # --- recording ------------------------------------------------------------------------------
    def __enter__(self) -> ForwardAccumulator:
        if self.followed is not NOBODY:
            raise ValueError("this ForwardAccumulator is already active")
        if not self._started:
            self._tangents = Tangents()
            for x, t in self._pairs:
                self._watch(x, t)
            self._started = True
        try:
            self.followed = self._known
            push(self)
        except BaseException:  # an interruption
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.followed = NOBODY
        remove(self)

    def _watch(self, x: Array, t: Array) -> None:
        xp: Any = namespace()
        root, path = (x._view.root, x._view.path) if x._state & IS_VIEW else (x, ())
        tid = root._ensure_id()
        held = self._tangents.get(tid)
        # A view is followed through its root; what several primals share moves by all of them.
        whole = filled("zeros", root) if held is None else xp.asarray(held, copy=True)
        at = Recorded(storage_of(t._data), self._known)
        self._tangents[tid] = add_through(whole, path, t, at)
        self._known.add(tid)

    def record(self, record: tuple[Any, ...]) -> None:
        """Take one record: the tangents of its results from those of its inputs."""
        plan = PLANS[record[0]]
        names = [self._missing[tid] for tid in inputs_of(record) if tid in self._missing]
        if name := missing_rule(plan, record):
            names.append(name)
        if names:
            self._missing |= dict.fromkeys(results_of(record), names[0])
            return
        with self._outside():
            found = plan.push(self, record)
        for tid, tangent in zip(results_of(record), found, strict=True):
            if tangent is not None:
                self._tangents[tid] = tangent

    def notice(self, plan: Plan | Structural, values: tuple[Any, ...]) -> None:
        """Nothing to look out for."""

    @contextmanager
    def _outside(self) -> Iterator[None]:
        """Within it only the recorders around this one see what the tangents' ops do, in silence."""
        around = recorders()
        if self in around:
            around = around[: around.index(self)]
        token = STACK.set((get_ident(), around))
        try:
            with np.errstate(all="ignore"):
                yield
        finally:
            STACK.reset(token)

    # --- tangents ---------------------------------------------------------------------------------
    def through(self, plan: Plan, record: Record) -> list[Array | None]:
        """Tangents of the results of an op."""
        op = plan.op
        pass_ = Recorded(storage_of(self._some(record)._data), self._known)
        if op.kind == "linear":
            return [self._linear(plan, record)]
        lifted = pass_.lift(plan, record)
        if op.diagonal:
            parts = [
                rule(self._tangents[record[at]], *[lifted[i] if i else pass_.xp for i in asks])
                for at, rule, _, asks, _ in plan.pulls
                if record[at] in self._tangents
            ]
            total = parts[0] if parts else None
            for part in parts[1:]:
                total = total + part
            return [None if total is None else self._laid_out(plan, record, total)]
        if op.linear_in and set(op.parameters) <= plan.positions.keys():
            return [self._by_itself(plan, lifted)]
        return self._transposed(plan, record, lifted, pass_)

    def _by_itself(self, plan: Plan, record: tuple[Any, ...]) -> Array:
        """The tangent of an op that is linear in each followed input: the op, once for each."""
        op, places = plan.op, plan.positions
        assert op.public is not None
        parameters = {name: record[places[name]] for name in op.parameters}
        total: Any = None
        for i, x in enumerate(op.inputs):
            tangent = self._tangents.get(record[2 + i])
            if tangent is None:
                continue
            given = [tangent if other == x else record[places[other]] for other in op.inputs]
            part = op.public(*given, **parameters)
            total = part if total is None else total + part
        found: Array = total
        return found

    def _some(self, record: tuple[Any, ...]) -> Array:
        return next(self._tangents[tid] for tid in inputs_of(record) if tid in self._tangents)

    def _laid_out(self, plan: Plan, record: tuple[Any, ...], tangent: Any) -> Array:
        """The tangent in its result's shape and dtype, and no other handle on an input's."""
        xp: Any = namespace()
        places = plan.positions
        y = record[places["y"]] if "y" in places else None
        shape = (
            y.shape if y is not None else record[places["shape y"]] if "shape y" in places else None
        )
        dtype = (
            y.dtype if y is not None else record[places["dtype y"]] if "dtype y" in places else None
        )
        if shape is not None and tangent.shape != shape:
            tangent = xp.broadcast_to(tangent, shape)
        if dtype is not None and tangent.dtype != dtype:
            tangent = xp.astype(tangent, dtype)
        found: Array = xp.asarray(tangent, copy=True)
        return found

    def _linear(self, plan: Plan, record: tuple[Any, ...]) -> Array:
        op, xp = plan.op, namespace()
        assert op.public is not None
        parameters = {name: record[plan.positions[name]] for name in op.parameters}
        given: Any
        if not op.variadic:
            given = self._tangents[record[2]]
        else:
            x, device = op.inputs[0], self._some(record).device
            shapes, dtypes = (record[plan.positions[f"{what} {x}"]] for what in LAYOUT)
            given = [
                self._tangents[tid] if tid in self._tangents
                else xp.zeros(shape, dtype=dtype, device=device)
                for tid, shape, dtype in zip(record[2], shapes, dtypes, strict=True)
            ]  # fmt: skip
        found: Array = op.public(given, **parameters)
        return found

    def _transposed(
        self, plan: Plan, record: tuple[Any, ...], lifted: tuple[Any, ...], pass_: Recorded
    ) -> list[Array | None]:
        """The JVP as the transpose of the VJP: the rule is linear in the cotangent."""
        op, xp = plan.op, pass_.xp
        device = self._some(record).device
        if "dead" in plan.positions:  # cotangents of 0 do not say what will be read
            lifted = replaced(lifted, {plan.positions["dead"]: ()})
        g = []
        for y in op.outputs:
            y_kept = record[plan.positions[y]] if y in plan.positions else None
            shape = y_kept.shape if y_kept is not None else record[plan.positions[f"shape {y}"]]
            dtype = y_kept.dtype if y_kept is not None else record[plan.positions[f"dtype {y}"]]
            g.append(xp.zeros(shape, dtype=dtype, device=device))

        def pull_back() -> list[tuple[int, Any]]:
            pulled: list[tuple[int, Any]] = []
            for pull in plan.pulls:
                parts = pass_.apply(plan, pull, tuple(g) if len(g) > 1 else g[0], lifted)
                if op.joint:
                    pulled += zip(pass_.inputs(plan, record), parts, strict=True)
                else:
                    pulled.append((record[pull[0]], parts))
            return pulled

        return self._transpose(g, pull_back)

    def _transpose(self, g: list[Array], pull_back: PullBack) -> list[Array | None]:
        """Tangents of results from a map of their cotangents ``g`` to those of the inputs."""
        with GradientTape() as tape:
            tape.watch([part for part in g if differentiable(part)])
            pulled = pull_back()
        pairs = [
            (v, self._tangents[tid]) for tid, v in pulled if v is not None and tid in self._tangents
        ]
        if not pairs:
            return [None] * len(g)
        found = tape.gradient(
            [v for v, _ in pairs], g, [t for _, t in pairs],
            unconnected_gradients=UnconnectedGradients.ZERO,
        )  # fmt: skip
        return [t if differentiable(part) else None for part, t in zip(g, found, strict=True)]

    # --- what records that are not an op's ask for -------------------------------------------------
    def tangent(self, tid: int) -> Array | None:
        """The tangent of a value; None where the primals do not reach it."""
        return self._tangents.get(tid)

    def part(self, tangent: Array, path: Path) -> Array:
        """The part of a root's tangent that belongs to a view."""
        found: Array = namespace().asarray(walk(tangent, path, namespace()), copy=True)
        return found

    def write(self, write: PutRecord | AddRecord) -> None:
        """Through a record of a write."""
        self._tangents.write(write)

    def by_rule(
        self, outs: Sequence[int], cotangents: list[Array], pull_back: PullBack
    ) -> list[Array | None]:
        """Tangents of results from a rule of the user's own; none where it has no transpose."""
        try:
            return self._transpose(cotangents, pull_back)
        except MissingRule as error:  # said when it matters
            self._missing |= dict.fromkeys(outs, error.name)
            return [None] * len(cotangents)

    def rerun(
        self, outs: Sequence[int], records: Sequence[Record], names: Sequence[int]
    ) -> list[Array | None]:
        """Tangents of results through the records of a second run, which calls them ``names``."""
        for record in records:
            self.record(record)
        for out, name in zip(outs, names, strict=True):
            if name in self._missing:
                self._missing[out] = self._missing[name]
        return [self._tangents.get(name) for name in names]

    # --- results ----------------------------------------------------------------------------------
    def jvp(
        self,
        targets: Any,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
    ) -> Any:
        """The derivative of each target along the tangents; any nesting, as often as one likes.

        None, or zeros with ``unconnected_gradients="zero"``, for what the primals do not reach.
        Raises LookupError for a target that went through an op without a rule, RuntimeError when the
        accumulator was never entered.
        """
        zero = unconnected(unconnected_gradients) is UnconnectedGradients.ZERO
        leaves = nest.leaves(targets)
        for y in leaves:
            if not isinstance(y, Array):
                raise TypeError(f"jvp(): every target must be an Array, got {describe(y)}")
        if not self._started:
            raise RuntimeError(
                "this ForwardAccumulator never recorded: enter it with `with accumulator:` first"
            )
        return nest.pack(targets, [self._of(y, zero) for y in leaves])

    def _of(self, y: Array, zero: bool) -> Array | None:
        tid, _ = current(y)
        if tid in self._missing:
            raise missing_rule_error(self._missing[tid])
        tangent = self._tangents.get(tid)
        if tangent is None and y._state & IS_VIEW and y._view.root._tid in self._tangents:
            return self.part(self._tangents[y._view.root._tid], y._view.path)
        if tangent is None:
            return filled("zeros", y) if zero else None
        found: Array | None = namespace().asarray(tangent, copy=True)
        return found


def check_pair(x: Any, t: Any) -> None:
    """A primal and its tangent: Arrays of one shape and dtype that has derivatives."""
    for what, value in (("primal", x), ("tangent", t)):
        if not isinstance(value, Array):
            raise TypeError(f"ForwardAccumulator: a {what} must be an Array, got {describe(value)}")
    if not differentiable(x):
        raise ValueError(f"ForwardAccumulator: a primal of dtype {x.dtype} has no derivative")
    if x.shape != t.shape or x.dtype != t.dtype:
        raise ValueError(
            f"ForwardAccumulator: the tangent {describe(t)} does not fit its primal {describe(x)}"
        )
