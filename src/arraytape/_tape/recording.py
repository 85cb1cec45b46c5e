"""The recorder of a tape, ``Recording``: its records, its blocks in threads, and its watched Arrays.

A GradientTape is the public object.  Its Recording is on the stack of recorders and gets the records.
Times in this module are on the scale of value ids, which ``new_value_id`` hands out in ascending order.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from threading import get_ident
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import ref

import numpy as np

from .._array.aliasing import (
    VIEW,
    WATCH,
    ViewsRead,
    has_other_views,
    view_record,
    views_made_from,
    watch_record,
)
from .._array.array import IS_VIEW, MOVING, Array
from .._array.cuts import ENOUGH, budget, forget_freed_tapes, may_note
from .._array.exits import ENTERED, LEFT, record_exit_elsewhere
from .._array.paths import Path, repeats_elements
from .._array.views import location
from .._exits.constant_entries import Journal
from .._exits.modes import mode_of
from .._record.mode_stack import MODES, notify_access, notify_watched
from .._record.plan import Plan, Record, Structural
from .._record.stack import (
    AWAITED,
    OPEN,
    UNSTARTED,
    BaseRecorder,
    Paused,
    Recorder,
    SeesAssignments,
    new_value_id,
    push_recorder,
    recorders,
    remove_recorder,
    replace_recorder,
)
from .._storage.storage import HERE, inexact
from .._util import nest
from .._util.blocks import Context
from .._util.errors import TapeWarning, describe, see, stacklevel, user_frame, user_line
from .._util.locks import reentrant_lock
from .._util.nest import Nesting
from .._util.source_locations import innermost_outside_frame
from .buffers import LARGE, is_large_data
from .dead_records import DeadRecordCollector
from .memory_limit import MemoryLimit
from .missing_rules import missing_rule
from .packing import PACKING, Packing
from .profile import Profile
from .record_places import line_of_frame

if TYPE_CHECKING:
    import numpy.typing as npt

    from .._exits.lost_parts import Doubt
    from .._util.array_types import RawArray
    from ..variable import Variable
    from .tape import GradientTape

# The flags of code objects whose functions are suspended and resumed.
RESUMED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
NOTHING: Any = frozenset()  # the first value of an attribute that is replaced by a set when needed
UNFOLLOWED: Any = frozenset()  # the value of ``followed`` while a recorder records nothing
USED_UP = (
    "A non-persistent GradientTape can only be used to compute one set of gradients (or jacobians); "
    "make it GradientTape(persistent=True) or record again"
)
# Held while a tape is entered or left, so that two threads cannot enter one tape at once.  The lock is
# reentrant, since the garbage collector may meanwhile finalise an object that leaves a tape.
ENTERING = reentrant_lock()


Observer = Callable[[Record], Any]
Hook = Callable[[Array], Array | None]


def observed_record(
    records: list[Record],
    observers: tuple[Observer, ...],
    journal: Journal | None,
    packing: Packing | None,
    accounts: tuple[Observer, ...],
) -> Observer:
    """Return the function that adds a record to a tape with observers, a journal, packing or accounts.

    For each record it calls the observers, packs the data, calls the accounts, and appends the record.

    records : the tape's list.
    observers : functions that get the record; one that raises keeps the record from being appended.
    journal : a list of constants that enter ops after a conversion such as ``float(x)``, or None.
    packing : the Packing that replaces arrays of records (``diagnose.saved_data``), or None.
    accounts : functions that get the packed record, to count its bytes; they may raise as well.
    """

    def record_observed(record: Record) -> None:
        for observer in observers:
            observer(record)
        kept = record if packing is None else packing.pack_record(record)
        for account in accounts:
            account(kept)
        if journal is None:
            records.append(kept)
            return
        with MOVING:
            journal.note_constants(record, len(records), depth=2)
            records.append(kept)

    return record_observed


def check_flags(**flags: Any) -> None:
    wrong = {name: flag for name, flag in flags.items() if type(flag) not in (bool, np.bool)}
    if wrong:
        given = ", ".join(f"{name}={describe(flag)}" for name, flag in wrong.items())
        raise TypeError(
            f"GradientTape: {', '.join(flags)} must be True or False, got {given} "
            f"[at {user_line()}]"
        )


class Watched(NamedTuple):
    """A watched Array, and where a pass finds its gradient.

    handle : the Array.
    root : the value id at the time of the watch; for a view, that of the Array which the view shows.
    source, path : the gradient is the cotangent of value ``source``, viewed along ``path``.
    since : the id that ``watch`` drew; values made before have lower ids.  0 for a Variable that was
    watched because it was read.
    """

    handle: Array
    root: int
    source: int
    path: Path
    since: int


class Assigned(NamedTuple):
    """An assignment of a value, which a tape may follow, to a Variable.

    time : a value id drawn at the assignment; later values have higher ids.
    variable, value_id : the value ids of the Variable and of the assigned value.
    name : the Variable's name.  line : the user's line of the assignment.
    """

    time: int
    variable: int
    value_id: int
    name: str
    line: str


class Pause:
    """A period in which ``stop_recording`` stopped a tape.

    begun, ended : value ids drawn at the beginning and the end; ``ended`` is 0 until the end.
    line : the line of the user's ``with`` statement.
    generator : the name of the generator or coroutine with that statement; "" in other functions.
    """

    __slots__ = ("begun", "ended", "generator", "line")

    def __init__(self, line: str, generator: str) -> None:
        self.begun, self.ended, self.line, self.generator = new_value_id(), 0, line, generator


class Recording(BaseRecorder, SeesAssignments):
    """The recorder that a GradientTape puts on the stack.

    records : the list of the records.
    known : ids of the values that depend on watched Arrays.  ``followed`` is this set while the tape
    records, and an empty one otherwise.
    watched : a Watched entry for each watched Array, by its ``id()``.
    implied : value ids of Arrays that are followed only because one of their views is watched.
    leaves : value ids of watched Arrays, which no record has as a result.
    careful : True once a value was complex or had data of another type: the backward pass then avoids
    its fast loop.
    profile, limit : the Profile and the MemoryLimit of the tape, or None.
    accounts : tuple of ``profile`` and ``limit``, without None.  Each is called with the packed record.
    observers : functions that are called with each record before it is packed and kept.
    hooks : lists of functions by value id, which are called with the value's cotangent.
    packing : the Packing for records from now on, or None.  packed : True if a record may be packed.
    frugal : True if the system is slow to provide new memory, so that ``blockwise`` uses smaller blocks.
    """

    frugal = False

    def __init__(
        self,
        persistent: bool,
        watch_accessed_variables: bool,
        exits: str | None = None,
        check_numerics: bool = False,
        profile: bool = False,
        memory_limit: int | None = None,
    ) -> None:
        if not (
            type(persistent) is type(watch_accessed_variables) is bool
            and type(check_numerics) is type(profile) is bool
        ):
            check_flags(
                persistent=persistent,
                watch_accessed_variables=watch_accessed_variables,
                check_numerics=check_numerics,
                profile=profile,
            )
        self.persistent, self.one_shot = persistent, not persistent
        # ``listed`` is an attribute of the instance, which is found faster than one of the class.
        self.listed = True
        self.exits = exits if exits is None else mode_of(exits)
        # A list if ``xp.grad`` or the like made the tape, else None.  It collects the gradients that may
        # be zero only because of an untracked conversion (float(x), np.asarray(x)).
        self.doubts: list[Doubt] | None = None
        self.watches_variables = watch_accessed_variables
        self.followed: set[int] = UNFOLLOWED  # is ``known`` while the tape records
        self.active = False  # True if the tape's own block, or one of in_this_thread, is open
        self.open = False  # True if the tape's own block is open
        self.block: Callable[[], Any] | None = None  # returns None when the tape's ``with`` is over
        self.home = 0  # the id of the thread of the tape's own block
        self.workers: list[int] = []  # the ids of the threads in a block of in_this_thread
        self.frames: list[int] = []  # the id() of each frame in which a block is open
        self.entered = False
        self.warned = False
        self.profile = Profile() if profile else None
        self.limit = None if memory_limit is None else MemoryLimit(memory_limit)
        self.accounts: tuple[Any, ...] = ()
        if profile or memory_limit is not None:
            self.accounts = tuple(part for part in (self.limit, self.profile) if part is not None)
        self.observers: tuple[Observer, ...] = ()
        self.packing: Packing | None = None
        self.numerics: Any = None  # the Checks of a tape with check_numerics
        self.forget_records()

    def forget_records(self) -> None:
        """Reset the recording to the state of a tape that has recorded nothing; it may stay active."""
        # ``used_up`` is reset last.  After an interruption of this method a request for a gradient
        # raises, and the next ``enter_block`` calls the method again.
        self.used_up = True
        self.known: set[int] = set()
        self.watched: dict[int, Watched] = {}
        # Sets that few tapes need are shared constants at first, since each new set costs the cyclic
        # garbage collector time.
        self.variables: tuple[Any, ...] = ()  # the watched Variables
        self.implied: set[int] = NOTHING
        self.journal: Journal | None = None  # set when a value is converted to untracked data
        self.shared = False  # True once a thread entered ``in_this_thread``
        self.watches_large = False
        self.start_records()
        self.leaves: set[int] = set()
        # Pairs (value id, line) of followed values that a thread without a recorder used at ``line``.
        self.lost: set[tuple[int, str]] = NOTHING
        # Ids drawn when the tape began and ended to record: begin, end, begin, ...  Values made later
        # have higher ids.
        self.periods: list[int] = [new_value_id()] if self.active else []
        self.reset_at = ""  # the line of the last ``reset``
        self.pauses: tuple[Pause, ...] = ()
        self.assigned_to: tuple[Assigned, ...] = ()
        self.careful = self.has_missing_rules = False
        self.hooks: dict[int, list[Hook]] = {}
        for account in self.accounts:
            account.restart()
        if self.active:
            self.followed = self.known
        self.used_up = False

    def release_records(self) -> None:
        """Free the records and what belongs to them, because the tape has computed its gradient."""
        # Set first: after an interruption a request for a gradient must raise, as records may be gone.
        self.used_up = True
        self.known, self.watched, self.journal, self.hooks = set(), {}, None, {}
        self.start_records()

    def start_records(self) -> None:
        """Start an empty list of records, and choose the function ``record`` that adds to it."""
        self.records: list[Record] = []
        self.views_read: ViewsRead | None = None  # made when ``source_of`` first needs it
        self.packed = False
        if self.observers or self.accounts or self.packing is not None:
            self.choose_record()
        else:
            self.record: Observer = self.records.append  # a C function, which is fast to call
        if self.numerics is not None:
            self.numerics.restart_checks()

    def choose_record(self) -> None:
        """Set ``record``, the function that ops call, to the fastest that serves the tape's settings.

        The list of records stays the same object, since other threads may append to it meanwhile.
        """
        if self.observers or self.accounts or self.journal or self.packing is not None:
            self.record = observed_record(
                self.records, self.observers, self.journal, self.packing, self.accounts
            )
        elif self.watches_large and not self.shared:
            self.record = DeadRecordCollector(self).collect_and_record
        else:
            self.record = self.records.append
        self.packed = self.packed or self.packing is not None

    def observe(self, observer: Observer) -> None:
        """Call ``observer(record)`` from now on, before each record is kept.

        An exception of the observer is raised by the op, and the record is not kept.
        """
        self.observers += (observer,)
        self.choose_record()

    def pack_by(self, packing: Packing | None) -> None:
        """Pack the data of records from now on, or stop packing if ``packing`` is None.

        Packing replaces arrays by results of the user's ``pack``, for example names of files.
        """
        self.packing = packing
        if packing is not None:
            packing.recordings.append(self)
        self.choose_record()

    def needs_stepwise(self) -> bool:
        """Return True if the backward pass has to time records, call hooks or unpack data.

        The functions of ``stepwise.py`` then process one record at a time.
        """
        return self.packed or bool(self.hooks) or self.profile is not None

    # --- entering and leaving ---------------------------------------------------------------------
    def enter_block(self, block: Callable[[], Any] | None = None) -> None:
        """Begin the tape's own ``with`` block: record in this thread from now on.

        block : returns None once the ``with`` statement is over.  A block that an interruption kept from
        running ``__exit__`` is so found, and closed by the next call.
        """
        if self.active and self.block is not None and self.block() is None:
            self.leave_block()  # an interruption kept ``__exit__`` of the last block from running
        with ENTERING:
            if self.active:
                raise ValueError(
                    "Tape is already recording; it can be entered again once it is left "
                    f"[at {user_line()}]"
                )
            self.block = block
            self.active = self.open = True
        try:
            if self.used_up:
                self.forget_records()
            self.entered = True
            if not len(self.periods) % 2:
                self.periods.append(new_value_id())
            if self.doubts is None and (budget[0] >= ENOUGH or may_note()):
                self.request_cuts()
            if self.profile is not None:
                self.profile.resume()
            if PACKING.get() is not self.packing:
                self.pack_by(PACKING.get())
            self.home = get_ident()
            self.frames.append(id(innermost_outside_frame()))
            self.followed = self.known
            push_recorder(self)
            OPEN[id(self)] = ref(self)
        except BaseException:  # an interruption, such as KeyboardInterrupt
            self.leave_block()
            raise

    def leave_block(self) -> None:
        remove_recorder(self)
        with ENTERING:
            self.open = False
            self.stop_unless_block_open()
            self.block = None  # set last: after an interruption ``enter_block`` repeats this method

    def stop_unless_block_open(self) -> None:
        """Stop following values, unless a ``with`` block of the tape is still open in some thread.

        A thread may leave its block while another thread still records on the tape.
        """
        if not (self.open or self.workers):
            self.frames.clear()
            self.followed = UNFOLLOWED
            self.active = False
            OPEN.pop(id(self), None)
            if UNSTARTED:
                UNSTARTED.pop(id(self), None)
            if len(self.periods) % 2:
                self.periods.append(new_value_id())

    def request_cuts(self) -> None:
        """Make unrecorded ops note their source lines, so that warnings about None gradients name them.

        Each such op attaches a note, a ``Cut``, to its operands and results, until the tape computes a
        gradient or is freed.
        """
        if len(AWAITED) > 8:  # some may be tapes that were freed without a gradient
            forget_freed_tapes()
        # The weak reference has no callback: CPython would ignore an interruption inside a callback.
        reference: ref[Recorder] = ref(self)
        AWAITED[id(self)] = reference
        if not self.known:
            UNSTARTED[id(self)] = reference

    def used_elsewhere(self, value_ids: Sequence[int], /) -> None:
        """Note that another thread used values in an op that the tape did not record.

        The note is for the warning about a gradient of None.  Values that the tape does not follow are
        ignored.
        """
        self.note_use_elsewhere(self.followed.intersection(value_ids))

    def read_elsewhere(self, variable: Variable, /) -> None:
        """Note that another thread read a Variable, if the tape would watch it in its own thread.

        The tape need not follow the Variable yet, so ``used_elsewhere`` may not note the use.
        """
        watchable = self.watches_variables and variable._trainable and inexact(variable._data)
        if watchable and self.followed is not UNFOLLOWED:
            self.note_use_elsewhere((variable._current_id(),))

    def note_use_elsewhere(self, value_ids: Collection[int]) -> None:
        # Another asyncio task in a thread of the tape may use the values: that is no mistake.
        if value_ids and get_ident() != self.home and get_ident() not in self.workers:
            self.lost = self.lost or set()
            record_exit_elsewhere(
                self, value_ids, self.lost, "in another thread: see in_this_thread"
            )

    def close_everywhere(self) -> None:
        """Close the tape's own block and all its ``in_this_thread`` blocks."""
        remove_recorder(self)
        with ENTERING:
            self.open = False
            self.workers.clear()
            self.stop_unless_block_open()

    def enter_worker(self, worker: Worker) -> None:
        """Begin a block of ``in_this_thread``: record in this thread, too.

        worker : the block.
        """
        with ENTERING:
            if not self.active:
                raise RuntimeError(
                    "in_this_thread() needs a recording tape: enter it with `with tape:` in the "
                    f"thread that starts this one, and keep that block open [at {user_line()}]"
                )
            if self in recorders():
                raise ValueError(f"Tape is already recording in this thread [at {user_line()}]")
            self.shared = True
            self.choose_record()
            worker.joined = True
            self.workers.append(get_ident())
            self.frames.append(id(innermost_outside_frame()))
        push_recorder(self)

    def leave_worker(self) -> None:
        remove_recorder(self)
        with ENTERING:
            if get_ident() in self.workers:
                self.workers.remove(get_ident())
                self.stop_unless_block_open()

    def stop_recording(self) -> Stopped:
        return Stopped(self, user_frame())

    def reset(self) -> None:
        self.forget_records()
        self.reset_at = user_line()

    # --- watching ---------------------------------------------------------------------------------
    def notice(self, plan: Plan | Structural, record: Sequence[Any], /) -> None:
        """Note an untracked conversion, a constant, a missing rule, or data that need a careful pass.

        Constants are reported by calls of users' functions, whose ops are not recorded.  Complex data,
        say, set ``careful``, since the fast loop of the backward pass cannot process them.

        plan, record : the kind of the event, and its ids and data.
        """
        if plan is LEFT:
            self.note_exit(record)
        elif plan is ENTERED:
            if self.journal is not None:
                self.journal.entered_inside(record, self.records)
        elif missing_rule(plan, record) is not None:
            self.has_missing_rules = True
        else:
            self.careful = (
                True  # for complex data, say: the fast loop of the pass cannot process it
            )

    def note_exit(self, record: Sequence[Any]) -> None:
        """Note that a value was converted to untracked data, as by ``float(x)``.

        From the first conversion on, a journal notes the constants that enter ops: a constant may have
        been computed from the converted value.

        record : the ids of the converted values, and the source location.
        """
        with MOVING:
            # Read the attribute once, since a gradient in another thread may set it to None.
            journal = self.journal
            if journal is None:
                if self.used_up:
                    return
                journal = self.journal = Journal(self.known, self.frames)
                self.choose_record()
            journal.note_exit(record)

    def watch_nesting(self, x: Nesting) -> None:
        """Watch all Arrays in a nesting: record the ops on them and on values computed from them."""
        if not self.active:
            raise RuntimeError(
                f"watch() needs a recording tape: call it inside `with tape:` [at {user_line()}]"
            )
        found = [leaf for leaf in nest.leaves(x) if leaf is not None]
        for leaf in found:
            if not isinstance(leaf, Array):
                raise TypeError(
                    f"watch() takes Arrays, got {describe(leaf)}{nest.place_in_nesting(leaf, x)}; "
                    "convert it "
                    f"with asarray [at {user_line()}]"
                )
        since = new_value_id()
        if MODES:
            notify_access(*found)
        for leaf in found:
            self.follow(leaf, since)
            if MODES:
                notify_watched(leaf)

    def assigned(self, variable: Variable, value: RawArray | npt.ArrayLike, /) -> None:
        """Note an assignment to a Variable, for the warning about a gradient that is None because of it.

        Assignments are not recorded, so a gradient ends at the assigned value.
        """
        value_id = value._current_id() if isinstance(value, Array) else 0
        if value_id:
            assignment = Assigned(
                new_value_id(), variable._current_id(), value_id, variable.name, user_line()
            )
            self.assigned_to += (assignment,)

    def accessed(self, x: Any, /) -> None:
        """Watch a Variable that is read, if it is trainable."""
        new = self.watches_variables and x._trainable and x._current_id() not in self.known
        if new and self.followed is not UNFOLLOWED and inexact(x._data):
            self.follow(x)
            if MODES:
                notify_watched(x)

    def watched_variables(self) -> tuple[Variable, ...]:
        """Return the watched Variables, in the order in which they were made."""
        return tuple(sorted(self.variables, key=lambda variable: variable._current_id()))

    def follow(self, x: Array, since: int = 0) -> None:
        """Watch one Array; warn, and do nothing, if it is not of a floating-point dtype.

        since : the value id that ``watch`` drew as the time; 0 for a Variable that was only read.
        """
        data = x._data
        kind = data.dtype.kind
        if kind != "f" and kind != "c":
            warnings.warn(
                f"watch(): dtype {x.dtype} has no gradient (shape {x.shape}): only real and complex "
                f"floating-point arrays do {see('dtype-without-gradient')}",
                TapeWarning,
                stacklevel=stacklevel(),
            )
            return
        # A view is followed through the Array that it shows, so that reads through other views count,
        # too.
        root, path = location(x) if x._state & IS_VIEW else (x, ())
        with MOVING:
            value_id = root._value_id
            if value_id <= 0:
                value_id = root._ensure_id()
            known = value_id in self.known
            if known:
                entry = self.watched.get(id(x))
                if entry is not None and entry.root == value_id:
                    return
            if kind == "c":
                self.careful = True
            if not self.watches_large and (type(data) is not np.ndarray or data.nbytes >= LARGE):
                self.watch_large(data)
            if x._has_state and not any(x is other for other in self.variables):
                self.variables += (x,)
            source = value_id
            if not known:
                if path:
                    self.implied = self.implied or set()
                    self.implied.add(value_id)
                self.leaves.add(value_id)
                self.known.add(value_id)
            if known or (path and repeats_elements(path)):
                source, path = self.source_of(x, root, value_id, path)
            if UNSTARTED:
                UNSTARTED.pop(id(self), None)
            # The same as ``Watched(...)``, but faster: the ``__new__`` of a named tuple is in Python.
            self.watched[id(x)] = tuple.__new__(Watched, (x, value_id, source, path, since))

    def watch_large(self, data: RawArray) -> None:
        """Start dead-record collection if ``data``, a watched array, is large.

        The collection frees records of values that nothing refers to.  It pays only for large data.
        """
        if is_large_data(data):
            self.watches_large = True
            self.choose_record()

    def source_of(self, x: Array, root: Array, value_id: int, path: Path) -> tuple[int, Path]:
        """Return where a pass finds the gradient of an Array that is watched: (value id, path).

        The gradient is the cotangent of the value, viewed along the path.  The caller has made the tape
        follow the root.

        x : the Array.  root : the Array that owns the data.  value_id : the id of the root's value.
        path : the steps from the root to x, which is a view unless the path is ().
        """
        if not path and value_id not in self.implied:
            return value_id, path
        # Ops from before the watch do not count for the gradient of this source.  So the source gets a
        # new id.  WATCH records connect it to the root's value, and to recorded views of the root.
        watched, shape = new_value_id(), root.shape
        if repeats_elements(path):
            # No element of the root is one of x.  So the gradient has the uses of x, and of views of x.
            own = self.value_id_of(x, current_value=True)
            seen = {own: (), **dict(views_made_from(x._view.path, value_id, self.records))}
            shape, path = x.shape, ()
        else:
            self.views_read = self.views_read or ViewsRead()
            self.views_read.read_views(self.records)
            seen = {value_id: (), **self.views_read.views_overlapping(value_id, path, shape)}
        self.records.extend(
            watch_record(seen=id_, watched=watched, shape=shape, path_to_seen=to_id, path=path)
            for id_, to_id in seen.items()
        )
        self.leaves.add(watched)
        return watched, ()

    def views_of_source(self, x: Array) -> list[tuple[int, Path]]:
        """Return the recorded views made from x, a view, if its gradient needs their cotangents as well.

        These are pairs (value id, path from x).  The gradient of a watched view is a part of that of its
        root, unless the view repeats elements.
        """
        entry, records = self.watched.get(id(x)), self.records
        if entry is not None and not repeats_elements(x._view.path):
            return []
        seen = x._view.seen if entry is None else entry.root
        if has_other_views(x._view.path, seen, records, writes=entry is not None):
            warnings.warn(
                "a part of the gradient may be missing: compute with a copy, "
                f"x = xp.asarray(x, copy=True), in place of the view {describe(x)}. Its root was "
                "written to since, or a view of it was made in more than 8 steps",
                TapeWarning,
                stacklevel=stacklevel(),
            )
        found = views_made_from(x._view.path, seen, records)
        if entry is None:
            return found
        before = {
            record[1]
            for record in records
            if record[0] == WATCH.number and record[2] == entry.source
        }
        return [view for view in found if view[0] not in before]

    # --- for derivatives -------------------------------------------------------------------------
    def check_usable(self) -> None:
        """Raise RuntimeError if the tape cannot compute a derivative now."""
        if self.used_up:
            raise RuntimeError(f"{USED_UP} [at {user_line()}] {see('tape-used-up')}")
        if not self.entered:
            raise RuntimeError(
                f"this tape never recorded: enter it with `with tape:` first [at {user_line()}]"
            )
        if self.shared:
            self.without_doubles()
        if not self.workers or self.persistent:
            return
        others = [thread for thread in self.workers if thread != get_ident()]
        if others:
            raise RuntimeError(
                f"{len(others)} other threads still record on this tape: wait until they leave "
                f"in_this_thread(), or make the tape persistent [at {user_line()}]"
            )

    def without_doubles(self) -> None:
        """Give repeated VIEW records result ids that nothing uses, so that each view counts once.

        Threads that read a view at the same time each record it, so that its gradient would count twice.
        """
        with MOVING:
            found: set[int] = set()
            for place, record in enumerate(self.records):
                if record[0] == VIEW.number:
                    if record[1] in found:
                        self.records[place] = (VIEW.number, new_value_id(), *record[2:])
                    found.add(record[1])

    def value_id_of(self, x: Array, current_value: bool = False) -> int:
        """Return the value id whose cotangent is the gradient with respect to x; 0 if there is none.

        For a watched Array this is the id of the value that it held when it was watched.

        current_value : True for targets: return the id of the Array's current value in any case.
        """
        if not current_value and id(x) in self.watched:
            return self.watched[id(x)].source
        value_id = x._current_id()
        if value_id in self.implied and not current_value:
            return 0
        if (
            x._state & IS_VIEW
            and value_id
            and value_id not in self.known
            and x._view.seen in self.known
        ):
            # No recorded op has read this view, so the tape has no VIEW record of it yet.
            root, path = x._view.root, x._view.path
            with MOVING:
                if value_id not in self.known:
                    self.records.append(view_record(value_id, x._view.seen, root.shape, path))
                    self.known.add(value_id)
        return value_id

    def paused(self) -> AbstractContextManager[Any]:
        """Return a ``with`` block in which a one-shot tape does not record the ops of its own gradient.

        If the gradient raises, the tape continues to record after the block.
        """
        return Stopped(self) if self.active and not self.persistent else HERE

    def use_up(self) -> None:
        """End a one-shot tape after its gradient: close its blocks and free its records."""
        if not self.persistent:
            if self.active:
                self.close_everywhere()
            self.release_records()

    def warn_inside(self) -> None:
        """Warn, once, that a persistent tape records the ops of its own gradient.

        The user called ``gradient`` inside the tape's own block, which takes time and memory.
        """
        if self in recorders() and not self.warned:
            self.warned = True
            warnings.warn(
                "Calling gradient on a persistent tape inside its context records the gradient's own "
                "ops: call it outside unless you want higher-order derivatives",
                TapeWarning,
                stacklevel=stacklevel(),
            )


class Stopped(Context):
    """The ``with`` block of ``stop_recording``.

    In the block, a ``Paused`` object stands in the tape's place on the stack of this thread and task.
    The end of the block puts the tape back there.  If a generator ends the block in another thread or
    task, whose stack has no ``Paused`` object, the tape is not put on that stack.

    frame : the frame of the user's ``with`` statement; None if arraytape itself stops the tape.
    """

    pause: Pause | None = None

    def __init__(self, recording: Recording, frame: FrameType | None = None) -> None:
        self.recording, self.paused = recording, Paused(recording)
        self.line_and_generator = (
            None if frame is None else (line_of_frame(frame), generator_of(frame))
        )

    def _begin(self) -> None:
        if not self.recording.active:
            raise ValueError(
                "Trying to stop recording a tape which is not recording: call it inside `with tape:` "
                f"[at {user_line()}]"
            )
        replace_recorder(self.recording, self.paused)
        if self.line_and_generator is not None:
            self.pause = Pause(*self.line_and_generator)
            self.recording.pauses += (self.pause,)

    def _end(self) -> None:
        if self.pause is not None and not self.pause.ended:
            self.pause.ended = new_value_id()
        if self.recording.active:
            replace_recorder(self.paused, self.recording)
        remove_recorder(self.paused)


def generator_of(frame: FrameType) -> str:
    """Return the name of the generator or coroutine of a frame; "" if its function is neither.

    A warning names a generator that yields inside a ``stop_recording`` block, which then stays open.
    """
    return frame.f_code.co_name if frame.f_code.co_flags & RESUMED else ""


class Worker(Context):
    """The block of ``in_this_thread``: this thread records on a tape that another thread has open."""

    def __init__(self, recording: Recording, tape: GradientTape) -> None:
        self.recording, self.tape, self.joined = recording, tape, False

    def _begin(self) -> Any:
        self.recording.enter_worker(self)
        return self.tape

    def _end(self) -> None:
        if self.joined:
            self.recording.leave_worker()
            self.joined = False
