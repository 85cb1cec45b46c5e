"""A plan: generated code that replaces calls of a function, made after two traced calls were equal.

``Plan`` applies the passes (transformations) to the program of a traced ``Call``.  Then it generates two
functions.  One runs the program (``text/program_source.py``).  The other, ``replay``, compares the
arguments and state with the traced call's, and calls the first one (``plan_text.py``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from itertools import count
from typing import NamedTuple

import numpy as np

from .._array.array import Array
from .._array.views import current
from .._util import nest
from .._util.errors import layout_text
from .call import Call
from .compiled.executable import Executable
from .device.device_program import DeviceProgram
from .export import Export
from .passes.block_by_block import blocked
from .passes.factored_once import factored
from .passes.nan_checks import with_bounds, without_implied_checks
from .passes.rounding import rounded
from .passes.simplify import simplified, without_dead_code
from .plan_text import PlanText
from .program import Program
from .reach.sameness import PLAIN
from .taped import Taped
from .text.program_source import Source

NUMBERED = re.compile(r"[a-z]\d")  # names such as x0 or v12, which programs use for values


class TraceInfo(NamedTuple):
    """The description of one program (recorded NumPy calls), for users: ``Function.traces``.

    signature : the parameters, each with its type.
    ops : the number of NumPy calls in the traced program, and the number that remain after all passes.
    guards : the kind and source line of each guard (a condition on a value that the function read).
    replayed : the number of replays.
    memory : the bytes that the program keeps between calls; twice as many if two threads run it at once.
    """

    signature: str
    ops: tuple[int, int]
    guards: list[str]
    replayed: int
    memory: int


class Plan:
    """The code that replaces a function in calls like ``call``, whose NumPy calls were recorded.

    name : the name of the user's function.
    blocks : whether to use the passes that may change the last bits of results: ``rounded``,
        ``blocked`` and ``factored``.
    compile : the option of ``xp.function``.

    replay : a function that maps the arguments, in the order of the parameters, to the result.  It
        returns MISFIT for arguments of another kind.  If Python state or a value that the function read
        differs, it raises Changed, Apart, GuardFailed or an error of NumPy, before anything was written.
    """

    def __init__(
        self, call: Call, name: str, blocks: bool = True, compile: bool | None = None
    ) -> None:
        program = call.trace.program
        self.calls_before = program.count()
        self.guards = [f"{guard.kind} at {guard.line}" for guard in program.guards]
        self.program = simplified(program)
        simple = self.program  # for the export: further passes add calls outside the standard
        if blocks:
            self.program = rounded(self.program)
        self.program = without_implied_checks(self.program)
        plain = self.program  # for machine code, where the remaining NaN checks cost little
        self.program = with_bounds(self.program)
        if blocks:
            self.program = blocked(factored(self.program))
        self.source = Source(self.program, own_name(name, self.program))
        self.names = call.names
        run, self.taped = self.source.function, None
        if call.recorded is not None:
            self.taped = Taped(call, run, self.source.name, compile)
        self.signature = arguments_text(call)
        text = PlanText(call, run, self.taped)
        self.export = Export(call, simple, name, text.result_of_leaves())
        self.replay = text.function(name)
        self.executable: Executable | None = None
        if compile is not False and self.taped is None:
            plain = factored(plain) if blocks else plain
            self.executable = Executable(plain, self.source.name, run, compile)
            # Pass only the globals, because ``text`` would keep the traced call's arguments alive.
            self.executable.start(partial(text.scope.__setitem__, "run"))
        self.replayed = 0
        self.tick = count(1).__next__

    @property
    def executables(self) -> Sequence[Executable | DeviceProgram]:
        """Return the programs that may run as machine code; under a tape, also the backward pass's."""
        pulled = self.taped.pulled if self.taped is not None else None
        if pulled is not None:
            return pulled.executables
        return [self.executable] if self.executable is not None else []

    @property
    def info(self) -> TraceInfo:
        ops = self.calls_before, self.program.count()
        compiled = self.executable
        memory = compiled.bytes if compiled and compiled.compiled else self.source.kept.bytes
        return TraceInfo(self.signature, ops, self.guards, self.replayed, memory)

    @property
    def text_of_program(self) -> str:
        """Return the Python source of the program; under a tape, also that of its backward pass."""
        pulled = self.taped.pulled if self.taped is not None else None
        return self.source.text if pulled is None else pulled.text


class DevicePlan(Plan):
    """The plan of a program that runs on a GPU, apart from calls that run on the host first.

    Raise NotOnDevice if a call on the GPU needs an array of the host.
    """

    def __init__(self, call: Call, name: str) -> None:
        self.program = program = without_dead_code(call.trace.program)
        self.calls_before = program.count()
        self.guards = [f"{guard.kind} at {guard.line}" for guard in program.guards]
        # The graph is captured with the inputs of the traced call.
        data = [current(x)[1] for x in call.lifter.handles]
        self.run = DeviceProgram(program, call.trace.device, own_name(name, program), data)
        self.names, self.signature, self.taped = call.names, arguments_text(call), None
        text = PlanText(call, self.run, None)
        self.export = Export(call, program, name, text.result_of_leaves())
        self.replay = text.function(name)
        self.executable = None
        self.replayed = 0
        self.tick = count(1).__next__

    @property
    def executables(self) -> Sequence[Executable | DeviceProgram]:
        return [self.run]

    @property
    def info(self) -> TraceInfo:
        ops = self.calls_before, self.run.count
        return TraceInfo(self.signature, ops, self.guards, self.replayed, self.run.bytes)

    @property
    def text_of_program(self) -> str:
        return self.run.text


def own_name(name: str, program: Program) -> str:
    """Return ``name``, with ``_`` or ``f_`` added if the generated code uses it for another object.

    name : the name of the user's function.
    """
    if NUMBERED.match(name):
        return f"f_{name}"
    taken = {"failed", "guards", "idle", "memory", *dir(np), *(node.op for node in program.nodes)}
    return f"{name}_" if name in taken else name


def arguments_text(call: Call) -> str:
    """Return the names and types of the arguments as text, for users: ``TraceInfo.signature``.

    call : the recorded call.
    """
    parts = []
    for name, value in zip(call.names, call.values, strict=True):
        if isinstance(value, Array):
            text = f"{type(value).__name__} {layout_text(value)}"
        elif type(value) in PLAIN:
            text = repr(value)[:40]
        else:
            inner = [layout_text(x) for x in nest.leaves(value) if isinstance(x, Array)]
            text = f"{type(value).__name__}{' of ' if inner else ''}{', '.join(inner)}"
        parts.append(f"{name}: {text}")
    return f"({', '.join(parts)})"
