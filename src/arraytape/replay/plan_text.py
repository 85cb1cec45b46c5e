"""The generated function ``replay(values)`` of a plan, which ``Function`` runs in place of a call.

``values`` are the arguments in the order of the parameters.  The function compares arguments and state
with those of the traced call, and runs the program on the data of the Arrays.  Then it writes to Arrays,
calls the callbacks and returns the result.  It returns MISFIT for other arguments, and raises Changed if
the state differs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import copy_context
from typing import Any
from weakref import ref

import numpy as np

from .._array.array import ALIASED, KEPT, SCALAR, Array, wrap
from .._array.paths import Path, walk_path
from .._array.views import current, make_view
from .._record.stack import notify_assigned
from .._storage import numpy_namespace
from .._storage.storage import AMBIENT, storage_of
from .._util import nest
from .._util.array_types import Index, RawArray
from .._util.container_kinds import KINDS
from ..variable import REPLACING, Variable
from .bound_arguments import ambient_settings, argument_leaves, check_apart, is_flat, marks_of
from .call import Call, LeafOrigin
from .callback import Effect
from .error_state import silence_numpy
from .program import defined_function, scope_name
from .reach.reasons import changed
from .reach.sameness import PLAIN, same_data, same_plain
from .taped import Taped
from .tracing.lift import write_value
from .tracing.trace import is_writeable

MISFIT = object()  # the result of ``replay`` for arguments of another kind than the traced call's


class NotCommitted(Exception):
    """The error that ends a replay in which a write to an Array, or a callback, has raised an exception.

    Other Arrays may have been written to by then, so the call must not be run again by another plan.
    seen : the exception, which ``Function.__call__`` raises.
    """

    def __init__(self, seen: Exception) -> None:
        super().__init__(seen)
        self.seen = seen


class PlanText:
    """A writer of the Python source of ``replay``, the code that runs in place of the user's function.

    run : the function that computes the program (the recorded NumPy calls).
    taped : the ``Taped`` that runs the program under a gradient tape, or None.
    lines : the lines of ``replay``.
    more : the source of ``quiet``, which runs the program without NumPy's warnings, or "".
    scope : the globals of both functions.
    handles : the names of the Arrays in the source, in the order of the program's inputs.

    Names in the source are a letter and a number: x for leaves of the arguments, f for other Arrays, d
    for data of Arrays, r for weak references to the data of the last call, y for output Arrays, and k
    for constants.
    """

    def __init__(self, call: Call, run: Callable[..., Any], taped: Taped | None) -> None:
        self.call, self.taped = call, taped
        self.lines: list[str] = []
        self.handles: list[str] = []
        self.more = ""
        self.scope: dict[str, Any] = {
            "ref": ref,
            "MISFIT": MISFIT, "Array": Array, "ndarray": np.ndarray, "same": same_plain,
            "changed": changed, "leaves": argument_leaves, "read": call.state.read, "run": run,
            "taped": taped, "ALIASED": ALIASED, "check_apart": check_apart, "commit_all": commit_all,
            "same_data": same_data, "call": call_back, "view_of": view_of, "AMBIENT": AMBIENT,
            "ambient_settings": ambient_settings, "copy_context": copy_context,
            "silence_numpy": silence_numpy,
        }  # fmt: skip
        if call.trace.device:
            self.scope |= {
                "commit_all": commit_new, "view_of": view_on_storage, "writeable": is_writeable,
            }  # fmt: skip

    def function(self, name: str) -> Callable[[Any], Any]:
        """Return the generated ``replay``; name : the name of the user's function, for tracebacks."""
        self.write_arguments(self.call)
        self.write_state(self.call)
        self.write_apart(self.call)
        self.write_foreign(self.call)
        self.write_execution(self.call)
        body = "\n    ".join(self.lines)
        text = f"def replay(values):\n    {body}\n{self.more}"
        file = f"<arraytape plan of {name}>"
        return defined_function(text, file, "replay", self.scope)

    def result_of_leaves(self) -> Callable[[Any], Any]:
        """Return a function that puts a list of leaves into the containers of the function's result.

        ``Export``, the program for other array libraries, returns its results by it.
        """
        leaves = iter([f"leaves[{i}]" for i in range(len(self.call.origins))])
        text = f"lambda leaves: {self.rebuilt(self.call.result, leaves, {})}"
        return eval(text, self.scope)  # type: ignore[no-any-return]

    def add_global(self, value: Any) -> str:
        """Add a value to the globals of the generated function, and return its new name there."""
        return scope_name(self.scope, value)

    # --- comparison of arguments ------------------------------------------------------------------
    def write_arguments(self, call: Call) -> None:
        """Write the lines that compare the arguments with those of the recorded call.

        The generated code runs in place of the function only if they agree.
        call : the recorded call.
        """
        surroundings = self.add_global(ambient_settings())
        self.lines.append(f"if AMBIENT and ambient_settings() != {surroundings}: return MISFIT")
        leaves = [*argument_leaves(call.values)]
        known: dict[int, str] = {}
        if leaves:
            names = "".join(f"x{i}, " for i in range(len(leaves)))
            if is_flat(call.values):
                self.lines.append(f"{names}= values")
            else:
                self.lines += [
                    "found = [*leaves(values)]",
                    f"if len(found) != {len(leaves)}: return MISFIT",
                    f"{names}= found",
                ]
        for i, leaf in enumerate(leaves):
            if isinstance(leaf, Array):
                if id(leaf) in known:
                    self.lines.append(f"if x{i} is not {known[id(leaf)]}: return MISFIT")
                    continue
                known[id(leaf)] = f"x{i}"
                self.lines.append(f"if type(x{i}) is not {self.kind(leaf)}: return MISFIT")
                self.write_layout(f"x{i}", leaf, "return MISFIT")
            elif type(leaf) in PLAIN or isinstance(leaf, np.generic | np.dtype):
                value = self.add_global(leaf)
                self.lines.append(
                    f"if x{i} is not {value} and not same(x{i}, {value}): return MISFIT"
                )

    def kind(self, x: Array) -> str:
        return "Array" if type(x) is Array else self.add_global(type(x))

    def write_layout(self, name: str, x: Array, otherwise: str) -> None:
        """Write the lines that give an Array's data a name, and compare its shape, dtype and strides.

        Data that the last call compared is not compared again, unless code outside arraytape shares its
        memory and may have changed the layout.
        name : the Array's name in the generated code.
        otherwise : the statement that the generated code runs if the layout differs.
        x : the Array in the recorded call.
        """
        data, state = x._data, x._state & SCALAR
        number = len(self.handles)
        if not isinstance(x, Variable):
            self.lines.append(f"if {name}._value_id == -1: {name}._sync()")
        d, dtype = f"d{number}", self.add_global(data.dtype)
        self.lines += [
            f"{d} = {name}._data",
            f"if r{number}() is not {d} or {name}._state & {SCALAR | ALIASED} != {state}:",
            f"    if {self.other_kind(d, data)} or {d}.shape != {data.shape!r} or {d}.dtype != {dtype} "
            f"or {d}.strides != {data.strides!r} or {name}._state & {SCALAR} != {state}: {otherwise}",
            "    moved = True",
        ]
        if isinstance(x, Variable):
            trainable, label = marks_of(x)
            self.lines.append(
                f"if {name}._trainable is not {trainable} or {name}._name != {label!r}: {otherwise}"
            )
        self.handles.append(name)

    def other_kind(self, name: str, data: RawArray) -> str:
        """Return code for the condition that data has another type or device than in the recorded call.

        name : the name of the data in the generated code.
        data : the data in the recorded call.
        """
        if type(data) is np.ndarray:
            return f"type({name}) is not ndarray"
        kind, device = self.add_global(type(data)), self.add_global(data.device)
        return f"type({name}) is not {kind} or {name}.device != {device}"

    # --- comparison of state and memory that are no arguments -------------------------------------
    def write_state(self, call: Call) -> None:
        """Write the lines that compare the Python state, such as globals, with the recorded call's.

        The function ``read`` compares them.  The lines also assign a name to each Array that the call
        used and that is no argument.
        """
        self.lines.append("state = read(values)")
        paths = {id(x): i for i, x in enumerate(call.reached)}
        lifted = call.lifter.handles
        for x in lifted[len(call.arrays) :]:
            place = paths.get(id(x))
            name = f"f{len(self.handles)}"
            where = "an Array that it uses" if place is None else call.state.paths[place]
            value = self.add_global(x) if place is None else f"state[{place}]"
            self.lines.append(f"{name} = {value}")
            self.write_layout(name, x, f"changed({where + ' (its layout)'!r})")
        roots = {id(x) for x in lifted}
        for x, name in zip(call.arrays, self.handles, strict=False):
            if id(x) in paths:
                path = call.state.paths[paths[id(x)]]
                self.lines.append(f"if state[{paths[id(x)]}] is not {name}: changed({path!r})")
        for i, x in enumerate(call.reached):
            if id(x) not in roots and x._value_id == -1 and id(x._view.root) in roots:
                path = call.state.paths[i]
                self.lines.append(f"if state[{i}] is not {self.add_global(x)}: changed({path!r})")

    def write_apart(self, call: Call) -> None:
        """Write the check that no two Arrays that the call uses are the same, or share memory.

        A replay skips the check if each Array still has the data of the last replay.  ``known[0]`` is a
        tuple of weak references to that data.  It is replaced as a whole, because several threads may
        run this code.
        """
        names = self.handles
        if not names:
            return
        ids = ", ".join(f"id({name})" for name in names)
        states = " | ".join(f"{name}._state" for name in names)
        handles = "".join(f"{name}, " for name in names)
        numbers = range(len(names))
        self.scope["known"] = [(dead_reference,) * len(names)]
        self.lines[:0] = [f"{''.join(f'r{i}, ' for i in numbers)}= known[0]", "moved = False"]
        self.lines += [
            "if moved:",
            f"    if len({{{ids}}}) != {len(names)}: return MISFIT",
            f"    if ({states}) & ALIASED: check_apart(({handles}))",
            f"    known[0] = ({''.join(f'ref(d{i}), ' for i in numbers)})",
        ]

    def write_foreign(self, call: Call) -> None:
        """Write the lines that check that users' ndarrays are unchanged since the call was recorded.

        Each is compared with a copy made then.  An ndarray whose copy is no constant of the program is
        compared, too, because other constants may have been computed from it.
        """
        for data, copy in {
            id(data): (data, copy) for data, copy in call.trace.users_arrays
        }.values():
            a, b = self.add_global(data), self.add_global(copy)
            path = f"an ndarray of shape {copy.shape} that it uses"
            self.lines.append(f"if not same_data({a}, {b}): changed({path!r})")

    # --- the program and its results --------------------------------------------------------------
    def write_execution(self, call: Call) -> None:
        """Write the lines that run the program, wrap outputs, write to Arrays and return the result.

        call : the recorded call, with the program.
        """
        for i in call.writes:  # an argument of the same layout may be a read-only view
            if self.handles[i].startswith("x"):
                data = call.lifter.handles[i]._data
                can = "d{}.flags.writeable" if type(data) is np.ndarray else "writeable(d{})"
                self.lines.append(f"if not {can.format(i)}: return MISFIT")
        self.write_run()
        count = len(call.output_ids)
        states = dict.fromkeys(range(count), 0)
        states |= {
            origin.output: origin.state
            for origin in call.origins
            if origin.view < 0 <= origin.output
        }
        for i, state in states.items():
            value_id, more = ("0", 0) if self.taped is None else (f"ids[{i}]", KEPT)
            self.lines += [  # the body of ``wrap``, without the cost of the call
                f"y{i} = Array()",
                f"y{i}._data, y{i}._value_id, y{i}._state = outputs[{i}], {value_id}, {state | more}",
            ]
        names = iter([self.result_leaf(origin) for origin in call.origins])
        result = self.rebuilt(call.result, names, call.same)
        if call.writes:
            written = "".join(f"{self.handles[i]}, " for i in call.writes)
            ids = "" if self.taped is None else f", ids[{len(call.output_ids)}:]"
            self.lines.append(f"commit_all(({written}), writes{ids})")
        for origin in {origin.view: origin for origin in call.origins if origin.view >= 0}.values():
            whole = f"y{origin.output}" if origin.output >= 0 else self.handles[origin.handle]
            path = self.add_global(origin.path)
            self.lines.append(f"part{origin.view} = view_of({whole}, {path})")
        self.write_effects(call, count)
        self.lines.append(f"return {result}")

    def write_run(self) -> None:
        """Write the lines that run the program on the Arrays' data.

        Under a tape, they call ``taped``, which also adds a record to the tape.
        """
        if self.taped is None:
            data = "".join(f"d{i}, " for i in range(len(self.handles)))
            quiet = self.call.trace.quiet
            called = f"copy_context().run(quiet, {data})" if quiet else f"run({data})"
            self.lines.append(f"outputs, writes = {called}")
            if quiet:  # the same as ``run_silently`` does, with two function calls fewer
                self.more = f"def quiet({data}):\n    silence_numpy()\n    return run({data})\n"
            return
        self.lines += [
            f"found = taped(({''.join(f'{name}, ' for name in self.handles)}))",
            "if found is None: return MISFIT",
            "outputs, writes, ids = found",
        ]

    def write_effects(self, call: Call, place: int) -> None:
        """Write the calls of callbacks, whose values are the outputs from number ``place`` on."""
        for effect in call.trace.effects:
            end = place + len(effect.noted_values)
            self.lines.append(f"call({self.add_global(effect)}, outputs[{place}:{end}])")
            place = end

    def result_leaf(self, origin: LeafOrigin) -> str:
        """Return generated code that reads one Array or value of the function's result.

        origin : the description of where it comes from, such as an output of the program.
        """
        if origin.view >= 0:
            return f"part{origin.view}"
        if origin.output >= 0:
            return f"y{origin.output}"
        if origin.handle >= 0:
            return self.handles[origin.handle]
        if origin.argument >= 0:
            return f"x{origin.argument}"
        return self.add_global(origin.value)

    def rebuilt(self, structure: Any, names: Iterator[str], same: Mapping[int, int]) -> str:
        """Return an expression that builds the function's result from ``names``, its leaves.

        structure : the result of the recorded call, or a container in it.  Its leaves are not used.
        same : id of a container -> number of the argument that is this container.  The expression for
            such a container is the argument itself.
        """
        kind = KINDS[type(structure)]
        if kind is None:
            return str(next(names))
        if id(structure) in same:  # skip the names of the leaves of a returned argument
            for _ in nest.leaves(structure):
                next(names)
            return f"values[{same[id(structure)]}]"
        parts, rest = kind.flatten(structure)
        if rest is structure:  # the caller may change this object: flatten a copy
            _, rest = kind.flatten(kind.unflatten(rest, parts))
        if isinstance(parts, dict):
            pairs = [
                f"{self.key(key)}: {self.rebuilt(part, names, same)}" for key, part in parts.items()
            ]
            inner = f"{{{', '.join(pairs)}}}"
        else:
            inner = f"[{', '.join([self.rebuilt(part, names, same) for part in parts])}]"
        if type(structure) in (list, dict):
            return inner
        if type(structure) is tuple:
            return f"({inner[1:-1]}{',' if parts else ''})"
        return f"{self.add_global(kind.unflatten)}({self.add_global(rest)}, {inner})"

    def key(self, key: Index) -> str:
        return repr(key) if type(key) in (str, int) else self.add_global(key)


def dead_reference() -> None:
    """Return None, as a weak reference to a freed object does.

    In the first replay, it takes the place of weak references to the data of an earlier replay.
    """


def commit_all(
    handles: Sequence[Array], values: Sequence[RawArray], ids: Sequence[int] | None = None
) -> None:
    """Write the new values of a replay to Arrays; raise NotCommitted if a write raises.

    ids : the ids that a tape around the call follows for the values, or None without a tape.
    """
    try:
        for x, value, value_id in zip(handles, values, ids or [0] * len(handles), strict=True):
            write_value(x, value, value_id)
    except Exception as error:
        raise NotCommitted(error) from error


def view_of(x: Array, path: Path) -> Array:
    """Return the view of x that the steps of ``path`` (indexing, reshape, ...) lead to, for NumPy data.

    Replays call it to make a result that is a view.
    """
    _, data = current(x)
    return make_view(x, walk_path(data, path, numpy_namespace), path, data)


def view_on_storage(x: Array, path: Path) -> Array:
    """Return the view of x that the steps of ``path`` lead to, for data of any storage.

    An example of another storage is CuPy, whose data is on a GPU.
    """
    _, data = current(x)
    return make_view(x, walk_path(data, path, storage_of(data).xp), path, data)


def commit_new(handles: Sequence[Array], values: Sequence[RawArray]) -> None:
    """Write the new values of a replay on a device to Arrays; a Variable takes the data without a copy.

    This is possible because nothing else uses the data.  Raise NotCommitted if a write raises.
    """
    try:
        for x, value in zip(handles, values, strict=True):
            if isinstance(x, Variable) and type(value) is not np.ndarray:
                notify_assigned(x, wrap(value, 0, KEPT))
                with REPLACING:
                    x._data = value
            else:
                write_value(x, value)
    except Exception as error:
        raise NotCommitted(error) from error


def call_back(effect: Effect, data: Sequence[RawArray]) -> None:
    """Call a callback with its values; raise NotCommitted if it raises.

    The values ``data`` take the place of Arrays among the arguments.
    """
    try:
        effect.run_effect(data)
    except Exception as error:
        raise NotCommitted(error) from error
