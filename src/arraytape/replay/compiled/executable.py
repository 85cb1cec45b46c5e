"""A program that runs as machine code if that is faster than calls of NumPy.

A segment is a part of the program that runs wholly as machine code or wholly as calls of NumPy
(``segments.py``).  The generated function ``run(*inputs)`` runs the segments one after the other.  It
returns two tuples: the outputs, and the new values of Arrays that the program writes to.  The first call
of a segment's machine code also makes NumPy's calls, and compares the results bit by bit.  Afterwards
some calls of ``run`` are timed, and some of the function that makes NumPy's calls (``Source``).  The
faster function is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Thread
from time import perf_counter
from typing import Any

import numpy as np

from ..._util.decision_log import log_decision
from ..passes.nodes import packed
from ..program import Node, Program, defined_function, operands, result_of, scope_name
from ..text.kept_memory import MOST
from ..text.program_source import Source, show
from .driver import FALLBACK
from .lowering import with_partial_sums, without_empty_calls
from .machine import Unsupported, why_not
from .segments import Segment, Segments

Data = np.ndarray[Any, Any]
Run = Callable[..., tuple[tuple[Data, ...], tuple[Data, ...]]]
TIMED = 9  # the maximum number of calls of each function that are timed
LONG_TRIAL = 0.1  # seconds after which two timed calls of each function are enough
GAIN = 0.97  # machine code is kept if it takes less than this fraction of NumPy's time
COUNTED = 16  # after a fallback to NumPy's calls, fallbacks are counted in this number of calls
PATIENCE = 0.1  # seconds that NumPy's calls may take in all before the program is compiled
ALWAYS = False  # set by tests: compile each program at once
PER_CALL = 1e-4  # seconds added to PATIENCE for each call of NumPy in the program


class Executable:
    """A program with two functions: one calls NumPy, the other runs machine code where possible.

    The program is the list of NumPy calls that were recorded in a user's function.
    numpys : the function that calls NumPy.
    wanted : True to compile at once, None to compile when NumPy's calls have taken some time.
    install : a function that is called with the function to use from now on.
    state : a description of the function in use.
    reasons : the reasons why some calls are not machine code.
    """

    def __init__(self, program: Program, name: str, numpys: Run, wanted: bool | None) -> None:
        self.program, self.name, self.numpys = program, name, numpys
        self.install: Callable[[Run], None] = lambda run: None
        self.reasons: list[str] = []
        self.segments: list[Segment] = []
        self.state = ""
        self.compiled = False
        self.compile_now = wanted

    def start(self, install: Callable[[Run], None]) -> None:
        """Compile the program now or later, and pass each function that is to be used to ``install``."""
        self.install = install
        if why_not():
            self.state = f"NumPy's calls: {why_not()}"
        elif self.compile_now or ALWAYS:
            self.compile()
        else:
            self.state = "NumPy's calls: it has not run for long enough to be compiled"
            install(self.patient_run(PATIENCE + PER_CALL * self.program.count()))

    def patient_run(self, patience: float) -> Run:
        """Return a function that makes NumPy's calls and, once, compiles the program in a thread.

        The function starts the thread when NumPy's calls have taken ``patience`` seconds in all.
        """
        left = patience
        started = False

        def run(*inputs: Data) -> Any:
            nonlocal left, started
            begin = perf_counter()
            result = self.numpys(*inputs)
            left -= perf_counter() - begin
            if left < 0 and not started:
                started = True
                # No daemon: LLVM must not run while the process ends.
                thread = Thread(target=self.compile, name="arraytape-compile")
                with suppress(RuntimeError):  # the process is ending, or can have no more threads
                    thread.start()
            return result

        return run

    def compile(self) -> None:
        """Compile the program and use the machine code from now on, or NumPy's calls if that fails."""
        try:
            self.program = with_partial_sums(without_empty_calls(self.program))
            cut = Segments(self.program)
            self.segments, self.reasons = cut.segments, cut.reasons
            natives = [one for one in self.segments if one.lowered is not None]
            if not natives:
                raise Unsupported("; ".join(self.reasons) or "its parts are too short")
            run = self.joined_function(cut)
        except Exception as error:  # such as an error of LLVM: run NumPy's calls as before
            if ALWAYS and not isinstance(error, Unsupported):
                raise
            self.settle_on(f"NumPy's calls: {error}")
            self.install(self.numpys)
            return
        calls = sum(one.program.count() for one in natives)
        self.settle_on(f"machine code for {calls} of {self.program.count()} calls")
        self.compiled = True
        self.install(run if self.compile_now or ALWAYS else self.timed_run(run))

    def timed_run(self, native: Run) -> Run:
        """Return a function that runs machine code (``native``) and NumPy's calls (``numpys``) in turn.

        After some calls it has measured both, and installs the faster one.
        """
        times: dict[Run, list[float]] = {native: [], self.numpys: []}
        turns = 0

        def run(*inputs: Data) -> Any:
            nonlocal turns
            turns += 1
            chosen = (native, self.numpys)[turns % 2]
            begin = perf_counter()
            result = chosen(*inputs)
            times[chosen].append(perf_counter() - begin)
            enough = TIMED if sum(map(sum, times.values())) < LONG_TRIAL else 2
            if all(len(found) >= enough for found in times.values()):
                by_native, by_numpys = [min(times[one]) for one in (native, self.numpys)]
                if by_native < GAIN * by_numpys:
                    self.install(native)
                else:
                    self.use_numpys()
            return result

        return run

    def use_numpys(self) -> None:
        """Use NumPy's calls from now on, because machine code is no faster."""
        self.compiled = False
        self.settle_on("NumPy's calls: machine code takes as long")
        self.segments = []  # to free their scratch memory
        self.install(self.numpys)

    def settle_on(self, state: str) -> None:
        self.state = state
        log_decision("the program of %s runs by %s", self.name, self.explain())

    def explain(self) -> str:
        """Return as text which function is in use, and why some calls are not machine code."""
        return f"{self.state}{' ' if self.reasons else ''}" + (
            f"(not {'; '.join(self.reasons)})" if self.reasons else ""
        )

    @property
    def bytes(self) -> int:
        """Return the number of bytes that machine code keeps between calls."""
        kept = [one.lowered for one in self.segments if one.lowered is not None]
        return sum([one.bytes for one in kept if one.bytes <= MOST])

    # --- the function -------------------------------------------------------------------------------
    def joined_function(self, cut: Segments) -> Run:
        """Return the generated function that runs the segments of a program, one after the other.

        cut : the segments.  Each has neighbouring calls that run wholly as machine code or wholly in
            NumPy.
        """
        scope: dict[str, Any] = {
            "empty": np.empty, "ndarray": np.ndarray, "uint8": np.uint8,
            "underflow_matters": underflow_matters,
        }  # fmt: skip
        names = {node: f"x{i}" for i, node in enumerate(self.program.inputs)}
        lines: list[str] = []
        for number, segment in enumerate(self.segments):
            part = segment.program
            given = [segment.origin[x] for x in part.inputs]
            found = [segment.origin[x] for x in part.outputs]
            arguments = ", ".join([names[x] for x in given])
            for node in found:
                names[node] = f"v{len(names)}"
            targets = "".join([f"{names[node]}, " for node in found])
            if segment.lowered is None:
                numpys = f"numpy{number}"
                scope[numpys] = lazy_source(part, self.name)
                lines.append(f"({targets}), _ = {numpys}({arguments})")
                continue
            lines += [
                f"{names[node]} = {memory_text(scope, *result)}"
                for node, result in zip(found, segment.lowered.results, strict=True)
            ]
            native = f"native{number}"
            checked = CheckedSegment(segment, scope, native, self)
            scope[native], scope[f"fallen{number}"] = checked.first_run, checked.fall_back
            targets_ = targets
            if segment.lowered.own_scratch:
                size, targets_ = segment.lowered.bytes, f"{targets}scratch"
                pool = f"idle{number}"
                scope[pool] = []
                lines += [
                    f"try: scratch = {pool}.pop()",
                    f"except IndexError: scratch = empty({size}, uint8)",
                ]
            lines += [
                f"r = {native}({arguments}{', ' if given else ''}{targets_})",
                f"if r is not None and (r or underflow_matters()): "
                f"({targets}), _ = fallen{number}({arguments})",
            ]
            if segment.lowered.own_scratch and segment.lowered.bytes <= MOST:
                lines.append(f"{pool}.append(scratch)")
        outputs, writes = self.result_texts(cut, names, scope)
        lines.append(f"return ({outputs}), ({writes})")
        body = "\n    ".join(lines)
        parameters = ", ".join([names[x] for x in self.program.inputs])
        text = f"def run({parameters}):\n    {body}\n"
        file = f"<arraytape compiled {id(self)} of {self.name}>"
        run = defined_function(text, file, "run", scope)
        show(file, text, run)
        return run

    def result_texts(
        self, cut: Segments, names: dict[Node, str], scope: dict[str, Any]
    ) -> tuple[str, str]:
        """Return the source text of two tuples: the outputs, and the new values of written Arrays.

        An output is copied unless it has memory of its own.  If several Arrays are written to, a new
        value that shares memory with an input is copied, because another write may change the input.
        cut : the segments, parts that run wholly as machine code or wholly in NumPy.
        names : node -> name of its value in the generated code.
        scope : the globals of the generated code, to which objects are added.
        """
        roots = [cut.root_of_view(node) for node in (*self.program.outputs, *self.program.writes)]
        inputs = {*self.program.inputs}
        several = len(self.program.writes) > 1
        taken: set[Node] = set()
        found = []
        for i, node in enumerate((*self.program.outputs, *self.program.writes)):
            root = roots[i]
            text = names.get(root)
            if text is None:
                text = scope_name(scope, root.value)
            if node is not root:
                text = f"{scope_name(scope, view_function(node, root))}({text})"
            if i < len(self.program.outputs):
                own = node is root and root in names and root not in inputs and root not in taken
                taken.add(root)
            else:
                own = not (several and root in inputs)
            found.append(text if own else f"{text}.copy(order='K')")
        count = len(self.program.outputs)
        return "".join([f"{x}, " for x in found[:count]]), "".join(
            [f"{x}, " for x in found[count:]]
        )


class CheckedSegment:
    """The functions that check the machine code of one segment, a part of a program, against NumPy.

    scope : the globals of the generated function, which runs the segment by calling ``scope[native]``.
        This is ``first_run`` in the first call, and then the machine code itself.  If NumPy has to
        repeat a call, it is ``counted_run`` in the next calls, which counts how often that happens.
    """

    def __init__(
        self, segment: Segment, scope: dict[str, Any], native: str, owner: Executable
    ) -> None:
        assert segment.lowered is not None
        self.run, self.numpys = segment.lowered.run, lazy_source(segment.program, owner.name)
        self.inputs, self.outputs = len(segment.program.inputs), len(segment.program.outputs)
        self.scope, self.native, self.owner = scope, native, owner
        self.calls = self.fallen = 0

    def first_run(self, *arrays: Data) -> bool | None:
        """Run machine code and NumPy's calls on the same inputs, and compare the results.

        This call uses NumPy's results.  If the bits are equal, later calls run machine code only.
        arrays : the inputs, then arrays for the results.
        """
        inputs, results = arrays[: self.inputs], arrays[self.inputs :][: self.outputs]
        unusual = self.run(*arrays)
        if unusual is not None:
            return unusual
        expected, _ = self.numpys(*inputs)
        if all(has_same_bits(x, y) for x, y in zip(results, expected, strict=True)):
            self.scope[self.native] = self.run
        else:
            self.leave_segment("its results differ from NumPy's")
        return FALLBACK

    def fall_back(self, *inputs: Data) -> Any:
        """Compute the segment (a part of a program) by NumPy, as machine code met an unusual value.

        Such a value is NaN, for example. After the first such call, ``counted_run`` replaces the machine
        code for COUNTED calls, so that a segment that often falls back is left to NumPy.
        inputs : the values that the segment reads.
        """
        self.fallen += 1
        if self.scope[self.native] == self.run:
            self.calls, self.fallen = 0, 1
            self.scope[self.native] = self.counted_run
        return self.numpys(*inputs)

    def counted_run(self, *arrays: Data) -> bool | None:
        """Run the machine code, count the calls that NumPy had to redo, and decide whether to keep it.

        After COUNTED calls, NumPy computes the segment (a part of the program) from now on if it had to
        redo half of the calls.
        arrays : the inputs, then arrays for the results.
        """
        self.calls += 1
        if self.calls > COUNTED:
            if 2 * self.fallen >= COUNTED:
                self.leave_segment("its values are unusual in most calls")
                return FALLBACK
            self.scope[self.native] = self.run
        return self.run(*arrays)

    def leave_segment(self, why: str) -> None:
        """Let NumPy compute this segment (part of the program) from now on, for the reason ``why``."""
        self.owner.reasons.append(f"a part of it: {why}")
        self.owner.settle_on(self.owner.state)
        self.scope[self.native] = always_fall_back


def always_fall_back(*arrays: Data) -> bool:
    """Return True, which makes the caller compute with NumPy.

    The function takes the place of machine code that must not be used any more.
    """
    return True


def has_same_bits(x: Data, y: Data) -> bool:
    """Return True if two arrays have the same layout and bits, where all NaN count as equal.

    Machine code is used only if its first results pass this test.
    """
    if (x.shape, x.dtype, x.strides) != (y.shape, y.dtype, y.strides):
        return False
    if x.tobytes() == y.tobytes():
        return True
    if x.dtype.kind not in "fc":
        return False
    same = (x == y) & (np.signbit(x.real) == np.signbit(y.real)) | (np.isnan(x) & np.isnan(y))
    return bool(same.all())


def underflow_matters() -> bool:
    """Return True if np.errstate makes NumPy report underflows, which it ignores by default."""
    return np.geterr()["under"] != "ignore"


def lazy_source(program: Program, name: str) -> Run:
    """Return a function that runs a program by calls of NumPy.

    Its Python code is generated at its first call, because it may never be needed.
    name : the name of the function in tracebacks.
    """
    made: list[Run] = []

    def run(*inputs: Data) -> Any:
        if not made:
            made.append(Source(program, name).function)
        return made[0](*inputs)

    return run


def view_function(node: Node, root: Node) -> Callable[[Data], Data]:
    """Return a function that makes the view ``node`` from the data of ``root``, the viewed value."""
    path = [node]
    while path[-1] is not root:
        path.append(operands(path[-1])[0])

    def view(x: Data) -> Data:
        known: dict[Node, Any] = {root: x}
        for one in reversed(path[:-1]):
            known[one] = result_of(one, known)
        arranged: Data = known[node]
        return arranged

    return view


def memory_text(
    scope: dict[str, Any], dtype: np.dtype[Any], shape: Sequence[int], strides: Sequence[int]
) -> str:
    """Return generated code that allocates an array of this layout; add its names to ``scope``.

    scope : the globals of the generated code.
    """
    size, kind, shape = dtype.itemsize, scope_name(scope, dtype), tuple(shape)
    if tuple(strides) == packed(shape, size):
        return f"empty({shape!r}, {kind})"
    if tuple(strides) == packed(shape[::-1], size)[::-1]:
        return f"empty({shape!r}, {kind}, 'F')"
    return f"ndarray({shape!r}, {kind}, strides={tuple(strides)!r})"
