"""Inside a user's function with a gradient of its own: the tapes are hidden, one recorder looks on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import get_ident
from typing import Any

import numpy as np

from .._array.array import KEPT, SCALAR, Array, wrap
from .._array.exits import LEFT
from .._array.exports import is_unwritten
from .._array.views import current, keep
from .._record.plan import PLANS, Plan, Record, Structural, inputs_of
from .._record.stack import STACK, Bystander, Recorder
from .._storage.storage import STORAGES, storage_for, storage_of
from .._tape.cusps import has_cusp
from .._tape.missing_rules import missing_rule
from .._util import nest
from .._util.errors import describe, user_line

REFUSE, COLLECT, CUT = "refuse", "collect", "cut"  # what to do about watched Arrays from outside


# --- arguments and results ----------------------------------------------------------------------
def handle(x: Array) -> Array:
    """Another handle on the value that x holds now; writing to one leaves the other as it is."""
    tid, _ = current(x)
    return wrap(keep(x), tid, KEPT | (x._state & SCALAR))


class Arguments:
    """Arguments: handles of their own on the Arrays in them, and the rest as it is.

    Raw arrays of a known storage become Arrays in the positional arguments, and are copied in the
    others.  ``owners`` says in which positional argument each Array is.
    """

    def __init__(self, args: tuple[Any, ...], keywords: dict[str, Any] | None = None) -> None:
        self.args, self.keywords = args, {k: own(v) for k, v in (keywords or {}).items()}
        self.leaves = nest.leaves(args)
        owners = [i for i, arg in enumerate(args) for _ in nest.leaves(arg)]
        self.places = [i for i, leaf in enumerate(self.leaves) if is_array(leaf)]
        self.owners = [owners[i] for i in self.places]
        arrays = [self.leaves[i] for i in self.places]
        self.arrays = [
            handle(x) if isinstance(x, Array) else wrap(storage_of(x).copy(x), 0, KEPT)
            for x in arrays
        ]
        self.args = nest.pack(args, self.filled(self.arrays))
        self.leaves = self.filled([None] * len(self.arrays))  # the call keeps no other handle
        named = [(x, k) for k, v in self.keywords.items() for x in nest.leaves(v)]
        owned: list[Any] = [*zip(self.arrays, self.owners, strict=True)]
        owned += [(x, k) for x, k in named if type(x) is Array]
        self.given = [(x, x._data, x._tid, owner) for x, owner in owned]

    def filled(self, arrays: Sequence[Any]) -> list[Any]:
        leaves = list(self.leaves)
        for place, x in zip(self.places, arrays, strict=True):
            leaves[place] = x
        return leaves

    def again(self) -> tuple[tuple[Any, ...], dict[str, Any], list[Array]]:
        """The arguments with fresh handles on the same values, and the positional ones' handles."""
        fresh = [wrap(x._data, x._tid, x._state) for x in self.arrays]
        keywords = {k: own(v) for k, v in self.keywords.items()}
        return nest.pack(self.args, self.filled(fresh)), keywords, fresh

    def written(self) -> list[Any]:
        """The positions and keywords of the arguments whose Arrays were written to."""
        return [
            owner
            for x, data, tid, owner in self.given
            if not is_unwritten(x, data) or (tid and x._tid != tid)  # an inner tape may name it
        ]

    def parts(self) -> Any:
        """The nestings of the positional arguments that hold Arrays, with nothing but these."""
        wanted = map(set(self.places).__contains__, range(len(self.leaves)))
        return nest.parts_with(wanted, list(self.args)) or []


def own(value: Any) -> Any:
    """A keyword argument to which nobody else writes; a Variable in it stays itself."""
    leaves = nest.leaves(value)
    private = [
        handle(leaf) if type(leaf) is Array
        else storage_of(leaf).copy(leaf) if not isinstance(leaf, Array) and is_array(leaf)
        else leaf
        for leaf in leaves
    ]  # fmt: skip
    alike = all(a is b for a, b in zip(leaves, private, strict=True))
    return value if alike else nest.pack(value, private)


def is_array(leaf: Any) -> bool:
    """Whether an argument is an Array, or numbers in a storage's own data."""
    if isinstance(leaf, Array):
        return True
    kind = getattr(getattr(leaf, "dtype", None), "kind", "")
    if kind not in tuple("biufc") or isinstance(leaf, np.generic):
        return False
    return type(leaf) in STORAGES or storage_for(type(leaf)) is not None


def check_results(name: str, y: Any) -> list[Array]:
    """The leaves of what a function gave, which must be Arrays."""
    leaves = nest.leaves(y)
    for leaf in leaves:
        if not isinstance(leaf, Array):
            raise TypeError(
                f"{name}: the result must be an Array or a nesting of Arrays, got {describe(leaf)}"
                f"{nest.place_of(leaf, y)} [at {user_line()}]; convert it with asarray"
            )
    return leaves


# --- the recorder inside --------------------------------------------------------------------------
class Reads(set[int]):
    """The tids made of a function's arguments; those that hidden recorders follow are seen, too."""

    def __init__(self, tids: Sequence[int], hidden: Sequence[Recorder]) -> None:
        super().__init__(tids)
        self.hidden = hidden

    def own(self, tid: int) -> bool:
        return set.__contains__(self, tid)

    def outside(self, tid: int) -> bool:
        return any(tid in recorder.followed for recorder in self.hidden)

    def __contains__(self, tid: Any) -> bool:
        return self.own(tid) or self.outside(tid)


class Inside:
    """The recorder within a user's function; ``hidden`` are those that do not see in.

    foreign : what to do about a watched Array that is not among the arguments: refuse it with a
    ValueError, collect its tid in ``closed``, or cut it (it is a constant, by declaration).
    ``variables`` collects the trainable Variables that the function reads, here and nowhere else;
    ``stale`` those that held other values ``before``, in its first run, and are followed here.
    """

    def __init__(
        self,
        name: str,
        tids: Sequence[int],
        hidden: Sequence[Recorder] = (),
        foreign: str = REFUSE,
        keep: bool = True,
        before: Sequence[tuple[Any, Any]] = (),
    ) -> None:
        self.name, self.foreign, self.keep, self.before = name, foreign, keep, before
        self.reads = Reads([tid for tid in tids if tid], hidden)
        self.followed: set[int] = self.reads
        self.records: list[Record] = []
        self.noticed: dict[int, Plan | Structural] = {}  # by place in records
        self.used: set[int] = set()  # tids that went into some record
        self.closed: list[int] = []
        self.left: list[str] = []  # where values made of the arguments left
        self.variables: list[Any] = []
        self.stale: list[Any] = []
        self.seen: list[tuple[Any, Any]] = []  # all Variables, and the data that they held
        self.cusped = self.careful = self.has_missing_rules = False

    def accessed(self, x: Any) -> None:
        """A Variable was read."""
        if any(x is other for other, _ in self.seen):
            return
        self.seen.append((x, x._data))
        if any(x is other and not same_values(x._data, data) for other, data in self.before):
            self.stale.append(x)
            self.reads.add(x._current_id())
        if x._trainable:
            self.variables.append(x)
            self.reads.add(x._current_id())

    def record(self, record: Record) -> None:
        plan, tids = PLANS[record[0]], inputs_of(record)
        if plan is LEFT and not self.reads.own(tids[0]):
            self.tell_hidden(record)
            return
        for tid in tids:
            if not self.reads.own(tid) and self.reads.outside(tid):
                self.meet(tid, plan.name)
        self.used.update(tids)
        if plan is LEFT:
            self.left.append(record[3])
        elif isinstance(plan, Plan):
            self.cusped = self.cusped or has_cusp(plan, record)
        else:
            self.cusped = self.cusped or getattr(record[-1], "cusped", False)
        if self.keep:
            self.records.append(record)

    def meet(self, tid: int, where: str) -> None:
        """A value from outside that a hidden recorder follows."""
        if self.foreign is REFUSE:
            raise ValueError(
                f"{self.name}: the function uses a watched Array that is not among its positional "
                f"arguments, in {where} [at {user_line()}]; its gradient would be lost. Pass it as "
                "a positional argument, or stop_gradient it to use it as a constant"
            )
        if self.foreign is COLLECT:
            self.closed.append(tid)
            self.reads.add(tid)

    def notice(self, plan: Plan | Structural, values: tuple[Any, ...]) -> None:
        if plan is LEFT:
            return
        if missing_rule(plan, values) is not None:
            self.has_missing_rules = True
        else:
            self.careful = True
        if self.records:
            self.noticed[len(self.records) - 1] = plan

    def tell_hidden(self, record: Record) -> None:
        for recorder in self.reads.hidden:
            if record[2] in recorder.followed:
                recorder.record(record)
                recorder.followed.add(record[1])
                recorder.notice(PLANS[record[0]], record)

    def names(self, leaves: Sequence[Array]) -> list[int]:
        """The tids of results, 0 for what does not depend on the arguments; call it inside."""
        tids = [current(leaf)[0] for leaf in leaves]
        for tid in tids:
            if tid and not self.reads.own(tid) and self.reads.outside(tid):
                self.meet(tid, "its result")
            self.used.add(tid)
        return [tid if self.reads.own(tid) else 0 for tid in tids]


def same_values(data: Any, other: Any) -> bool:
    """Whether a Variable holds what it held; where nobody may look, only the same data are the same."""
    both = type(data) is type(other) is np.ndarray
    return data is other or (
        both and np.array_equal(data, other, equal_nan=data.dtype.kind in "fc")
    )


class Stale(Bystander):
    """What stands on the stack while ``grad_fn`` runs: it may not read what was assigned to since."""

    def __init__(self, name: str, variables: Sequence[Any]) -> None:
        self.name, self.variables = name, variables

    def accessed(self, x: Any) -> None:
        """A Variable was read."""
        if any(x is variable for variable in self.variables):
            raise RuntimeError(
                f"{self.name}: grad_fn reads the Variable {x.name!r}, which was assigned to since the "
                f"function read it [at {user_line()}]; let the function take its `.value()` for it"
            )


@contextmanager
def only(*stack: Recorder) -> Iterator[None]:
    """Within it these are the recorders of this thread."""
    token = STACK.set((get_ident(), stack))
    try:
        yield
    finally:
        STACK.reset(token)
