"""``xp.function``: calls are traced until two of them computed the same, and then replayed.

``Function.__call__`` decides whether to replay a call, trace it, or run the function itself.  The
signature of a call has the layouts and values of the arguments (``signature_of``).  A guard is a
condition on a value that the function read.  Each signature has an ``Entry`` in one of these states:

    no plan     Calls are traced.  After two calls with equal guards and equal programs, a ``Plan`` is
                made.  Two calls with equal guards and different programs make the entry eager.
    plans       A call runs the first plan whose guards hold.  If no plan fits, the call is traced.
    eager       Calls run the function itself.  A warning has reported the reason once.

If one Python argument had another value in each of ``limit`` signatures, the first call with each
further value runs the function itself.  A value that comes back is traced.  A warning names the argument
once there are ``SIGNATURES`` signatures: fewer values may come back, such as the numbers of layers.
"""

from __future__ import annotations

import functools
import inspect
import sys
import types
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from os import getpid
from typing import Any, Generic, ParamSpec, TypeVar, overload
from weakref import WeakMethod

from .._record.stack import active, ops_may_be_recorded
from .._storage.batched.batched_data import ACTIVE as HIDDEN_AXES
from .._storage.storage import CHECKED_INDICES
from .._tape.packing import PACKING
from .._util.decision_log import log_decision
from .._util.errors import TapeWarning, describe, short_repr, stacklevel, user_line
from .._util.locks import reentrant_lock
from .._util.options import unwrap_option
from .bound_arguments import (
    ArgumentBinding,
    CallArguments,
    Identity,
    argument_arrays,
    signature_of,
    unequal_values,
)
from .call import Call
from .compare import describe_difference, first_unequal_guard, state_differs
from .device.split_program import NotOnDevice
from .export import Export
from .plan_text import MISFIT, NotCommitted
from .program import GuardFailed
from .program_plan import DevicePlan, Plan, TraceInfo
from .reach.ran import UnnamedState
from .reach.reasons import NUMPY, Apart, Changed, unreadable
from .recorded import followed_here, tape_here
from .tracing.traced import ACTIVE
from .tracing.traced_on_device import enter_device_data

P = ParamSpec("P")
R = TypeVar("R")
trace_here, hidden_axes, packing = ACTIVE.get, HIDDEN_AXES.get, PACKING.get
SIGNATURES = 64  # the maximum number of signatures of one function that are traced
UNDER_RECORDERS = "a tape or accumulator around it records it"
# The attributes of a Function that its bound methods have, too.
SHARED = frozenset((
    "compile", "compiled", "counts", "explain", "limit", "program", "reasons", "source", "strict",
    "traces",
))  # fmt: skip
UNDER_VMAP = "vmap around it maps it"
UNDER_SAVED_DATA = "diagnose.saved_data around it packs the data that its tapes save"
UNDER_CHECKED_INDICES = "diagnose.check_indices around it reads all indices"
UNDER_OTHERS = frozenset((UNDER_VMAP, UNDER_SAVED_DATA, UNDER_CHECKED_INDICES))
RETURN_IT = (
    ". Return it, keep it an Array, or pass it as an argument; to only show or log it, use "
    "arraytape.replay.callback"
)
INDEX_BY_ARRAY = (
    ". To index an Array, use an index with an axis, as in x[0, i[None]], or take(x, i): a 0-d index "
    "selects a view, whose place is fixed in a program"
)
TOO_MANY = f"it was called with more than {SIGNATURES} signatures. Pass what varies as an Array"


class Entry:
    """The state of the calls of an ``xp.function`` with one signature (layouts of arguments).

    pending : traced calls (their NumPy calls were recorded) that have not been equalled by a later call
        yet.
    plans : the ``Plan`` objects (generated code), the newest first.
    eager : the reason why calls run the function itself, or "".
    spoiled : the reason why the last traced call could not be replayed, or "".
    misses : the number of traced calls that led to no plan.
    found : Python state that traced calls used although no name in the function's code leads to it.
    """

    def __init__(self, eager: str = "") -> None:
        self.pending: list[Call] = []
        self.plans: list[Plan] = []
        self.eager = eager
        self.spoiled = ""
        self.misses = 0
        self.found = UnnamedState()


class Function(Generic[P, R]):
    """A callable that replays the calls of a function; the decorator ``function`` returns it.

    Attributes
    ----------
    eager : Callable
        The function itself.
    counts : dict[str, int]
        The numbers of calls that were "traced", "replayed", and run by the function itself ("eager").
    reasons : Counter[str]
        The reasons why calls were not replayed, each with the number of calls.
    source : str
        The Python source of the program that was replayed last.
    compiled : bool
        Whether the program that was replayed last runs as machine code, or parts of it do.
    program : Export
        The program that was replayed last, for other array libraries: ``program.run(namespace)``.
    traces : list[TraceInfo]
        A description of each program: its signature, number of NumPy calls, guards and memory.
    """

    def __init__(
        self, f: Callable[P, R], limit: int, strict: bool, compile: bool | None = None
    ) -> None:
        functools.update_wrapper(self, f)
        self.eager, self.limit, self.strict, self.compile = f, limit, strict, compile
        self.reasons: Counter[str] = Counter()
        self.warned: set[str] = set()  # the reasons that concern no single signature and were given
        self.traced = self.run_eagerly = 0
        self.name = getattr(f, "__qualname__", type(f).__qualname__)
        self.bindings: dict[Any, ArgumentBinding] = {}
        self.entries: dict[Any, Entry] = {}
        self.recent: Plan | None = None  # the last plan that ran outside of tapes
        self.recent_taped: Plan | None = None  # the last plan that ran under a tape
        self.gone_plans = 0  # the number of replays of plans that were removed
        # Process id -> token of the call that traces now.  After a fork, the child has another
        # id, so that a trace of the parent does not keep the child from tracing.
        self.tracer: dict[int, object] = {}
        self.changing = reentrant_lock()
        self.drop_weakly = WeakMethod(self.drop_dead_entries)
        try:
            self.signature: inspect.Signature | None = inspect.signature(f)
        except (TypeError, ValueError):  # a function written in C may have no signature
            self.signature = None

    # --- public attributes ------------------------------------------------------------------------
    @property
    def counts(self) -> dict[str, int]:
        replayed = self.gone_plans + sum([plan.replayed for plan in self.plans()])
        return {"traced": self.traced, "replayed": replayed, "eager": self.run_eagerly}

    @property
    def traces(self) -> list[TraceInfo]:
        return [plan.info for plan in self.plans()]

    @property
    def source(self) -> str:
        plan = self.last_plan()
        return plan.text_of_program if plan is not None else ""

    @property
    def program(self) -> Export:
        plan = self.last_plan()
        if plan is None:
            raise RuntimeError(
                f"function {self.name}: call it until two traced calls were equal, or see why they were "
                f"not in reasons. There is no program yet [at {user_line()}]"
            )
        return plan.export

    @property
    def compiled(self) -> bool:
        plan = self.last_plan()
        return plan is not None and any(one.compiled for one in plan.executables)

    def explain(self) -> str:
        """Return a line for each program, which says whether machine code or NumPy runs it, and why.

        Without a program, return the reason why the function itself runs.  A program has the NumPy calls
        that were recorded in calls of the function.
        """
        plans = self.plans()
        if not plans:
            why = "; ".join(self.reasons) or "no two traced calls were equal yet"
            return f"{self.name}: the function itself runs: {why}"
        return "\n".join(map(self.explain_plan, plans))

    def explain_plan(self, plan: Plan) -> str:
        runs = [one.explain() for one in plan.executables] or ["NumPy's calls"]
        return f"{self.name}{plan.signature}: {'; backward pass: '.join(runs)}"

    def last_plan(self) -> Plan | None:
        """Return the plan (code that replaces the function) used last, else the newest one.

        The public attributes, such as ``source``, describe this plan.
        """
        return self.recent or self.recent_taped or next(iter(self.plans()), None)

    def plans(self) -> list[Plan]:
        return [plan for entry in [*self.entries.values()] for plan in [*entry.plans]]

    def __dir__(self) -> list[str]:
        """Return the public attributes, for tab completion."""
        return sorted({"eager", *SHARED, *dir(type(self.eager))})

    def __repr__(self) -> str:
        counts = ", ".join(f"{count} {what}" for what, count in self.counts.items())
        return f"<function {self.name}: {counts}>"

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else BoundFunction(self, instance)

    def __reduce__(self) -> Any:
        found: Any = sys.modules.get(self.__module__)
        for name in self.name.split("."):
            found = getattr(found, name, None)
        return (
            self.name
            if found is self
            else (
                Function,
                (self.eager, self.limit, self.strict, self.compile),
            )
        )

    # --- replayed, traced and eager calls ---------------------------------------------------------
    def __call__(self, /, *args: P.args, **keywords: P.kwargs) -> R:
        if trace_here() is not None:  # within another traced function: its trace records this call
            return self.eager(*args, **keywords)
        plan = self.recent_taped if active()[1] and ops_may_be_recorded() else self.recent
        if hidden_axes():
            return self.call_eagerly(UNDER_VMAP, args, keywords)  # type: ignore[no-any-return]
        if packing() is not None:
            return self.call_eagerly(UNDER_SAVED_DATA, args, keywords)  # type: ignore[no-any-return]
        if CHECKED_INDICES.get():
            return self.call_eagerly(UNDER_CHECKED_INDICES, args, keywords)  # type: ignore[no-any-return]
        binding = self.bindings.get((len(args), *keywords) if keywords else len(args))
        if binding is None:
            binding = self.new_binding(args, keywords)
            if binding is None:
                return self.eager(*args, **keywords)  # raises Python's own TypeError
        values = args if binding.take is None else binding.take(args, keywords)
        why: Exception | None = None
        if plan is not None and plan.names == binding.names:
            try:
                result = plan.replay(values)
                if result is not MISFIT:
                    plan.replayed = plan.tick()
                    return result  # type: ignore[no-any-return]
            except NotCommitted as error:
                raise error.seen from None
            except Exception as error:
                why = error.with_traceback(None)
        given = CallArguments(binding, values, args, keywords)
        return self.call_by_signature(given, plan, why)  # type: ignore[no-any-return]

    def new_binding(
        self, args: tuple[Any, ...], keywords: dict[str, Any]
    ) -> ArgumentBinding | None:
        """Return a new ``ArgumentBinding`` for calls with as many arguments and these keywords.

        It maps the arguments to parameters, and is kept in ``bindings``.  Return None if the function
        does not accept the arguments.
        """
        try:
            binding = ArgumentBinding(self.signature, len(args), keywords)
        except TypeError:
            return None
        self.bindings[(len(args), *keywords) if keywords else len(args)] = binding
        return binding

    def call_by_signature(
        self, given: CallArguments, tried: Plan | None, why: Exception | None
    ) -> Any:
        """Return the result of the call ``given``, which the most recently used plan did not replay.

        A plan is generated code that replaces the function.  The other plans for arguments of the same
        layouts are tried.  If no plan fits, the call is recorded for a new plan, or runs the function
        itself.
        given : the arguments of the call.
        tried : the most recently used plan, or None.
        why : the exception that ``tried`` raised, or None.
        """
        if ops_may_be_recorded() and tape_here() is None:
            return self.call_eagerly(UNDER_RECORDERS, given.args, given.keywords)
        try:
            entry = self.entry_of(given)
        except Exception as error:
            return self.call_eagerly(unreadable(error), given.args, given.keywords)
        if entry.eager:
            return self.call_eagerly(entry.eager, given.args, given.keywords)
        failed = [why] if why is not None and tried in entry.plans else []
        plans = [plan for plan in entry.plans if plan is not tried or not failed]
        result = self.try_plans(plans, given.values, failed)
        if result is not MISFIT:
            return result
        for raised in failed:
            # Any other error would be raised again by a plan that is made of a new trace.
            if not isinstance(raised, Changed | GuardFailed):
                return self.call_eagerly(failure_text(raised), given.args, given.keywords)
        if failed:
            self.count_reason(failure_text(failed[-1]))
        return self.trace_alone(entry, given)

    def entry_of(self, given: CallArguments) -> Entry:
        """Return the entry (recorded calls and plans) for the layouts and values of these arguments.

        Return an eager entry for this call alone if too many entries exist, or if an argument that had
        another value in each recent call has a new value again (``changing_arguments``).
        """
        enter_device_data()
        key = signature_of(given.binding, given.values, self.object_freed), under_tape(given.values)
        entry = self.entries.get(key)
        if entry is not None:
            return entry
        changing = self.changing_arguments(key)
        if not changing and len(self.entries) >= SIGNATURES:
            self.drop_unused_entry()
        kept = len(self.entries) < SIGNATURES
        if kept:
            entry = self.entries.setdefault(key, Entry())
        if changing:
            why = (
                f"{' and '.join(changing)} had another value in each of {self.limit} calls. Pass an "
                f"Array instead, such as xp.asarray({changing[0]}); only values that come back are "
                "replayed"
            )
            if not kept:
                self.warn_once(why)
            if not self.strict:
                return Entry(eager=why)
        if entry is None:
            if not self.strict:
                self.warn_once(TOO_MANY)
            return Entry(eager=TOO_MANY)
        return entry

    def changing_arguments(self, key: Any) -> tuple[str, ...]:
        """Return the paths of the Python arguments that had another value in each recent call, or ().

        The entries without a plan are counted whose signatures differ from ``key`` in these values
        alone.  With the present call, there must be ``limit`` of them.
        """
        (names, parts, settings), tape = key
        counts: Counter[tuple[str, ...]] = Counter()
        for (signature, other_tape), entry in [*self.entries.items()]:
            same = (names, settings, tape) == (signature[0], signature[2], other_tape)
            if not same or entry.plans or entry.eager:
                continue
            found: list[str] = []
            for name, part, other in zip(names, parts, signature[1], strict=True):
                if part != other:
                    found += unequal_values(part, other, name)
            paths = () if "" in found else tuple(found)
            counts[paths] += 1
            if paths and counts[paths] >= self.limit - 1:
                return paths
        return ()

    def drop_unused_entry(self) -> None:
        """Remove the oldest entry whose calls have not been traced, if there is one."""
        for key, entry in [*self.entries.items()]:
            if not (entry.misses or entry.plans or entry.eager):
                self.entries.pop(key, None)
                return

    def try_plans(self, plans: list[Plan], values: Sequence[Any], failed: list[Exception]) -> Any:
        """Return the result of the first plan (generated code) that fits the call; MISFIT if none does.

        If a plan raises an error, the error is added to ``failed``, and the next plan is tried.  Only an
        error of a plan that has begun to write to Arrays is raised.
        values : the arguments, in the order of the parameters.
        plans : the plans to try, in order.
        """
        for plan in plans:
            try:
                result = plan.replay(values)
            except NotCommitted as error:
                raise error.seen from None
            except Exception as error:
                failed.append(error.with_traceback(None))
                continue
            if result is not MISFIT:
                plan.replayed = plan.tick()
                self.remember(plan)
                return result
        return MISFIT

    def call_eagerly(self, why: str, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Run the user's function itself, and count the reason ``why`` it was not replayed.

        If the function is ``strict``, raise RuntimeError instead, except under a tape, under ``vmap`` or
        inside of ``diagnose.saved_data``.
        """
        if self.strict and why not in UNDER_OTHERS and not ops_may_be_recorded():
            raise RuntimeError(f"function {self.name}: not replayed, {why} [at {user_line()}]")
        with self.changing:
            self.run_eagerly += 1
            self.count_reason(why)
        return self.eager(*args, **keywords)

    def count_reason(self, why: str) -> None:
        """Count a reason why a call was not replayed; log the reason at its first occurrence."""
        self.reasons[why] += 1
        if self.reasons[why] == 1:
            log_decision("function %s: not replayed, %s [at %s]", self.name, why, user_line)

    # --- traced calls and plans -------------------------------------------------------------------
    def trace_alone(self, entry: Entry, given: CallArguments) -> Any:
        """Trace a call: run the function and record its NumPy calls for later replays.

        Run the function without recording if another thread traces, or if ``limit`` plans exist.
        entry : the recorded calls and plans for these arguments' layouts.
        given : the arguments of the call.
        """
        if len(entry.plans) >= self.limit:
            return self.call_eagerly(
                f"it has {self.limit} programs already", given.args, given.keywords
            )
        me = object()
        try:
            if self.tracer.setdefault(getpid(), me) is me:
                result = self.trace(entry, given)
                self.end_trace(me)
                return result
        except BaseException:  # call ``end_trace`` also if an interrupt stopped it above
            self.end_trace(me)
            raise
        return self.call_eagerly("another thread was tracing it", given.args, given.keywords)

    def end_trace(self, me: object) -> None:
        """Allow other threads to trace, if the call with the token ``me`` traces now.

        To trace is to record the NumPy calls of the function, which one thread may do at a time.
        """
        if self.tracer.get(getpid()) is me:
            self.tracer.pop(getpid(), None)

    def trace(self, entry: Entry, given: CallArguments) -> Any:
        """Run the function and record its NumPy calls; make a plan if an earlier recording was equal.

        A plan is generated code that replaces the function in later calls.
        entry : the recorded calls and plans for these arguments' layouts.
        given : the arguments of the call.
        """
        try:
            call = Call(self.eager, given.binding.names, given.values, tape_here(), entry.found)
        except Exception as error:
            return self.call_eagerly(unreadable(error), given.args, given.keywords)
        self.traced += 1
        entry.misses += 1
        try:
            result = call.trace_call(given.args, given.keywords)
        except Exception:
            if entry.misses >= self.limit:
                entry.eager = f"it raised an exception in each of {entry.misses} calls"
            raise
        if call.spoiled:
            self.note_spoiled(entry, call.spoiled)
        else:
            entry.spoiled = ""
            self.compare(entry, call)
        return result

    def note_spoiled(self, entry: Entry, why: str) -> None:
        """Count a recorded call that cannot be replayed, for the reason ``why``.

        The second such call in a row ends the recording: later calls run the function itself.  The first
        does not, because a first call may do things that later calls do not do, such as make Variables
        or fill a cache.
        """
        chance = "another thread" in why  # the next call may be traced without a disturbance
        if (entry.spoiled and not chance) or entry.misses >= self.limit:
            self.give_up(entry, why)
        entry.spoiled = "" if chance else why
        self.count_reason(why)

    def compare(self, entry: Entry, call: Call) -> None:
        """Compare a recorded call with earlier ones that wait for an equal call ("pending").

        If it equals a pending call, make a plan: generated code that replaces the function.  If the
        values that both calls read are equal but their NumPy calls differ, replay no calls with such
        arguments.  Otherwise, keep the call as pending.
        """
        apart = "its calls differ", ""
        if call.found_new_state:
            apart = "it finds other functions or objects", ""
        for before in [] if call.found_new_state else [*entry.pending]:
            if not followed_alike(before, call):
                continue
            apart = unequal_reads(before, call)
            if apart[0]:
                continue
            why = describe_difference(before, call)
            # The cause may be a difference of state that ``before`` read and that was not compared.
            if why and before.found_new_state:
                entry.pending.remove(before)
                continue
            if why:
                self.give_up(
                    entry, f"call {self.traced} computed something else than an earlier call: {why}"
                )
                return
            entry.pending.remove(before)
            entry.misses = len(entry.pending)
            try:
                name = self.name.rpartition(".")[2]
                name = name if name.isidentifier() else "f"
                if call.trace.device:
                    plan: Plan = DevicePlan(call, name)
                else:
                    plan = Plan(call, name, compile=self.compile)
            except NotOnDevice as error:
                self.give_up(entry, str(error))
                return
            except Exception as error:
                self.give_up(entry, f"no program could be made of it ({error!r})")
                return
            entry.plans.insert(0, plan)
            log_decision("a program replaces the function: %s", self.explain_plan(plan))
            self.remember(plan)
            return
        call.release_call_data()
        entry.pending.append(call)
        if entry.misses >= self.limit:
            what, advice = apart
            self.give_up(entry, f"{what} in each of {entry.misses} calls{advice}")

    def remember(self, plan: Plan) -> None:
        """Make the next call try this plan (code that replaces the function) first."""
        if plan.taped is None:
            self.recent = plan
        else:
            self.recent_taped = plan

    def give_up(self, entry: Entry, why: str) -> None:
        """Make later calls with arguments of these layouts run the function itself.

        Issue a warning or, if ``strict``, raise RuntimeError.  Under a tape, do neither.
        entry : the state of such calls.
        why : the reason.
        """
        entry.eager = why
        entry.pending.clear()
        self.drop_plans(entry)
        if (
            ops_may_be_recorded()
        ):  # no warning, because a tape records the calls of the function itself
            self.count_reason(why)
            return
        if self.strict:
            raise RuntimeError(f"function {self.name}: not replayed, {why} [at {user_line()}]")
        self.warn(why)

    def warn(self, why: str) -> None:
        """Issue the warning that calls are not replayed, for the reason ``why``."""
        message = f"function {self.name}: not replayed, {why} [at {user_line()}]"
        warnings.warn(message, TapeWarning, stacklevel=stacklevel())

    def warn_once(self, why: str) -> None:
        """Issue the warning ``why``, unless it was issued before or a tape records the call."""
        if why not in self.warned and not ops_may_be_recorded():
            self.warned.add(why)
            self.warn(why)

    # --- signatures of objects that no longer exist -----------------------------------------------
    @property
    def object_freed(self) -> Callable[[], None]:
        """Return a callback for weak references to arguments, which removes entries of freed arguments.

        The callback refers to this Function weakly, so that stored signatures do not keep it alive.
        """
        drop_weakly = self.drop_weakly

        def gone() -> None:
            drop = drop_weakly()
            if drop is not None:
                drop()

        return gone

    def drop_dead_entries(self) -> None:
        """Remove what is stored for calls with an argument object that no longer exists."""
        for key, entry in [*self.entries.items()]:
            if is_dead(key):
                self.entries.pop(key, None)
                self.drop_plans(entry)

    def drop_plans(self, entry: Entry) -> None:
        """Remove an entry's plans (code that replaces the function), but keep the count of replays."""
        self.gone_plans += sum(plan.replayed for plan in entry.plans)
        if self.recent in entry.plans:
            self.recent = None
        if self.recent_taped in entry.plans:
            self.recent_taped = None
        entry.plans.clear()


def under_tape(values: Sequence[Any]) -> tuple[bool, tuple[bool, ...]] | None:
    """Return the properties of the tape around a call that change the program; None without a tape.

    values : the arguments of the call.  The properties are whether the tape watches Variables, and which
        Array arguments it follows.
    """
    tape = tape_here() if ops_may_be_recorded() else None
    if tape is None:
        return None
    return tape.watches_variables, followed_here(argument_arrays(values), tape)


def followed_alike(one: Call, other: Call) -> bool:
    """Return True if the gradient tapes around two calls follow the same inputs, or there are none."""
    if one.recorded is None or other.recorded is None:
        return one.recorded is other.recorded
    return one.recorded.pattern == other.recorded.pattern


def unequal_reads(before: Call, call: Call) -> tuple[str, str]:
    """Return a message on a value that differed in two recorded calls, and advice to the user.

    Such a value is read from Python state or from an Array, for example by ``float(x)``.  Return ("",
    "") if all were equal.  Only then must the recorded NumPy calls be equal.
    """
    state = state_differs(before, call)
    if NUMPY in state:
        path = state.partition(NUMPY)[0]
        return (
            state,
            f". Make it an Array, xp.asarray({path}): NumPy arrays are constants of programs",
        )
    if state:
        return state, ". Make it an Array, or pass it as an argument"
    guard = first_unequal_guard(before, call)
    if guard is None:
        return "", ""
    advice = INDEX_BY_ARRAY if guard.line.startswith(("index()", "setitem()")) else RETURN_IT
    return f"{guard.line} gave another value", advice


def is_dead(key: Any) -> bool:
    """Return True if a signature (the key of a call's arguments) refers to a freed object."""
    if type(key) is tuple:
        return any(map(is_dead, key))
    return type(key) is Identity and key.of() is None


class BoundFunction:
    """A ``Function`` bound to an instance, which it passes as the first argument, like a method."""

    def __init__(self, function: Function[Any, Any], instance: Any) -> None:
        self.__func__, self.__self__ = function, instance
        functools.update_wrapper(self, function.eager)

    def __call__(self, /, *args: Any, **keywords: Any) -> Any:
        return self.__func__(self.__self__, *args, **keywords)

    @property
    def eager(self) -> Any:
        return types.MethodType(self.__func__.eager, self.__self__)

    def __getattr__(self, name: str) -> Any:
        if name in SHARED:
            return getattr(self.__func__, name)
        raise AttributeError(name, name=name, obj=self)

    def __dir__(self) -> list[str]:
        return dir(self.__func__)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, BoundFunction)
            and self.__func__ is other.__func__
            and self.__self__ is other.__self__
        )

    def __hash__(self) -> int:
        return hash((id(self.__func__), id(self.__self__)))

    def __reduce__(self) -> Any:
        return getattr, (self.__self__, self.__func__.eager.__name__)

    def __repr__(self) -> str:
        return f"<bound {self.__func__!r} of {self.__self__!r}>"


def failure_text(why: Exception) -> str:
    """Return why a replay failed with the exception ``why``, as text for ``Function.reasons``."""
    if isinstance(why, GuardFailed):
        return f"{why.guard.line} gave another value"
    if isinstance(why, Changed):
        return f"{why} has changed"
    if isinstance(why, Apart):
        return str(why)
    return f"the program raised {type(why).__name__}"


REFUSED: dict[str, Callable[[Any], bool]] = {
    "a coroutine function": inspect.iscoroutinefunction,
    "a generator function": inspect.isgeneratorfunction,
    "an asynchronous generator function": inspect.isasyncgenfunction,
}

# Keywords of tf.function and jax.jit -> advice, for errors.
OTHER_KEYWORDS = {
    "jit_compile": "arraytape's name is compile: compile=True makes machine code",
    "reduce_retracing": "leave it out: each shape has a program of its own",
    "input_signature": "leave it out: each shape has a program of its own",
    "autograph": "leave it out: Python's own if and loops work",
    "static_argnums": "leave it out: Python values are static",
    "static_argnames": "leave it out: Python values are static",
    "donate_argnums": "leave it out: writes such as w -= step change the argument itself",
    "donate_argnames": "leave it out: writes such as w -= step change the argument itself",
}


@overload
def function(
    f: Callable[P, R], /, *, limit: int = 8, strict: bool = False, compile: bool | None = None
) -> Function[P, R]: ...
@overload
def function(
    f: None = None, /, *, limit: int = 8, strict: bool = False, compile: bool | None = None
) -> Callable[[Callable[P, R]], Function[P, R]]: ...
def function(
    f: Callable[P, R] | None = None, /, *, limit: int = 8, strict: bool = False,
    compile: bool | None = None, **others: Any,
) -> Any:  # fmt: skip
    """Replay a function's calls as one straight program of NumPy calls.

    The first calls run as usual and are traced: all computations with Arrays are recorded, tapes and
    backward passes inside the function included.  Two calls that computed the same yield a program.
    The program replaces the function in later calls, as long as all values on which the program
    depends are unchanged.  Otherwise the call is traced again, or the function itself runs.

    A decorated method has separate programs for each instance.  Under a tape, a replayed call is one
    record with its own backward program.  Under several tapes, an accumulator or ``vmap``, the function
    itself runs.  Side effects that are not followed, such as prints, happen only in traced calls.  A
    number that the function reads from an unknown source, such as a clock, becomes a constant if it was
    equal in two traced calls: see docs/explanation/replays.md.

    Parameters
    ----------
    f : Callable | None, default: None
        The function, whose arguments and result are Arrays, Variables, Python values and nestings of
        these.  With None, ``function`` returns a decorator.
    limit : int, default: 8
        The maximum number of programs of one signature, and of traced calls that lead to no program.
        Beyond either, calls of that signature run the function itself.  If a Python argument had as many
        different values, the first call with each new value does so, too.
    strict : bool, default: False
        Whether a call that cannot be replayed raises RuntimeError, instead of running the function.
    compile : bool | None, default: None
        Whether programs become machine code, for which ``pip install arraytape[compiled]`` brings
        llvmlite.  None compiles a program in a thread of its own after it has run for a tenth of a
        second or longer, and keeps the machine code if it is faster.  True compiles each
        program as soon as it is made.

    Returns
    -------
    Function
        A function with the arguments and result of f.  Its attributes ``counts``, ``reasons``,
        ``traces`` and ``source`` report how calls were run; its attribute ``eager`` is f.

    Raises
    ------
    TypeError
        When f cannot be called, or is a coroutine or generator function, strict is no bool, or
        compile is neither a bool nor None.
    ValueError
        When limit is no integer, or less than 2.
    RuntimeError
        At a call, with strict=True, when calls of its signature cannot be replayed.

    Examples
    --------
    >>> import arraytape as xp
    >>> @xp.function
    ... def step(w, x):
    ...     with xp.GradientTape() as tape:
    ...         tape.watch(w)
    ...         loss = xp.sum((w * x) ** 2)
    ...     return loss, tape.gradient(loss, w)
    >>> w, x = xp.asarray(3.0), xp.asarray([1.0, 2.0])
    >>> for _ in range(4):
    ...     loss, gradient = step(w, x)  # traced twice, then replayed
    >>> print(loss, gradient)
    45.0 30.0
    >>> step.counts
    {'traced': 2, 'replayed': 2, 'eager': 0}
    """
    for name in others:
        raise TypeError(
            f"function() got an unexpected keyword argument {name!r} [at {user_line()}]; "
            f"{OTHER_KEYWORDS.get(name, 'its keywords are limit, strict and compile')}"
        )
    limit, strict = unwrap_option(limit), unwrap_option(strict)
    if not isinstance(limit, int) or limit < 2:
        raise ValueError(
            f"function: limit must be 2 or more, got {short_repr(limit)} [at {user_line()}]"
        )
    if not isinstance(strict, bool):
        raise TypeError(
            f"function: strict must be a bool, got {describe(strict)} [at {user_line()}]"
        )
    if compile is not None and not isinstance(compile, bool):
        raise TypeError(
            f"function: compile must be True, False or None, got {describe(compile)} [at {user_line()}]"
        )
    if f is None:
        return functools.partial(function, limit=limit, strict=strict, compile=compile)
    if not callable(f):
        raise TypeError(f"function: needs a function, got {describe(f)} [at {user_line()}]")
    for what, refused in REFUSED.items():
        if refused(f):
            raise TypeError(
                f"function: {what} cannot be replayed: {short_repr(f)} [at {user_line()}]. Decorate the "
                "function that computes, and call it there"
            )
    return Function(f, limit, strict, compile)


# ``others``, which catches keywords of other libraries, is hidden from help().
ACCEPTED = inspect.signature(function)
vars(function)["__signature__"] = ACCEPTED.replace(
    parameters=[p for p in ACCEPTED.parameters.values() if p.kind is not p.VAR_KEYWORD]
)
