"""Random programs with nested functions and state, replayed and compared with eager calls.

Values, derivatives and the changes of state are compared.
"""

import numpy as np

import arraytape as xp
from attack.nested_programs.own_ops import registered
from attack.nested_programs.program import Program
from attack.nested_programs.tools import OnArrays

from .replayed_programs import moved, total
from .replaying import Outcome, compare, eagerly, under_function

CALLS = 8
NEAR = 1e-9


class State:
    """The state that a function captures: an input of the program, a number and a Variable."""

    def __init__(self, data):
        self.parts, self.scale = {"last": xp.asarray(data)}, 1.0
        self.steps = xp.Variable(np.zeros(()))

    def change(self, number, data):
        """Change a part of the state, which ``number`` selects, before the call with this number."""
        if number == 3:
            self.parts["last"][...] = xp.asarray(data)
        elif number == 4:
            self.parts["last"] = xp.asarray(data)
        elif number == 5:
            self.scale = 0.5
        elif number == 6:
            self.steps.assign(xp.asarray(10.0))

    def seen(self):
        return [self.parts["last"], self.steps.value(), xp.asarray(self.scale)]


def arrays_of(env):
    """Return the Arrays that a program's variables, lists and attributes hold, in order."""
    found = []
    for name, value in env.items():
        if name[0] == "o" and hasattr(value, "__dict__"):
            found += [x for x in vars(value).values() if isinstance(x, xp.Array)]
        parts = value if isinstance(value, list) else [value]
        found += [x for x in parts if isinstance(x, xp.Array)]
    return found


def plain(f, given):
    return f(*given)


def by_tape(f, given):
    with xp.GradientTape() as tape:
        tape.watch(given)
        found = f(*given)
        y = total(found)
    return y, tape.gradient(y, given, unconnected_gradients="zero"), found


def by_tapes(f, given):
    """Return the target, its gradient, and the gradient of a sum of the gradient's elements."""
    with xp.GradientTape(persistent=True) as outer:
        outer.watch(given)
        with xp.GradientTape() as inner:
            inner.watch(given)
            y = total(f(*given))
        first = inner.gradient(y, given, unconnected_gradients="zero")
        slope = total(first)
    return y, first, outer.gradient(slope, given, unconnected_gradients="zero")


def forward(f, given):
    tangents = [xp.ones_like(x) for x in given]
    with xp.ForwardAccumulator(given, tangents) as accumulator:
        y = total(f(*given))
    return y, accumulator.jvp(y, unconnected_gradients="zero")


MODES = (plain, by_tape, by_tapes, forward)


class Case:
    """A random program under one mode of differentiation.

    The function's arguments are the program's inputs except the last, which the function reads from a
    State.
    """

    def __init__(self, seed):
        self.program = Program(seed)
        self.names = [*self.program.data]
        self.mode = MODES[seed % len(MODES)]
        scope = {}
        exec(compile(self.program.text(), f"<nested program {seed}>", "exec"), scope)
        self.body = scope["program"]

    def function(self, state):
        body, names, mode, space = self.body, self.names, self.mode, OnArrays()

        def run(*given):
            last = state.parts["last"] * state.scale
            env = body(np, xp, space, **dict(zip(names, (*given, last), strict=True)))
            return [xp.asarray(x, copy=True) for x in arrays_of(env)]

        def step(*given):
            found = mode(run, given)
            state.steps.assign_add(xp.asarray(1.0))
            return found

        return step

    def data(self, number):
        """Return the inputs of call ``number``; the first two calls have equal inputs."""
        rng = np.random.default_rng([self.program.seed, max(number, 1)])
        return [moved(x, rng) for x in self.program.data.values()]


def check(seed):
    """Replay a program on other inputs and state than those of its trace; return the Outcome."""
    case, exact = Case(seed), True
    ours, theirs = (State(case.data(0)[-1]) for _ in "12")
    function, step = xp.function(case.function(ours)), case.function(theirs)
    with np.errstate(all="ignore"), registered():
        for number in range(CALLS):
            *data, last = case.data(number)
            for state in (ours, theirs):
                state.change(number, last)
            given, beside = ([xp.asarray(x) for x in data] for _ in "12")
            expected = eagerly(step, beside)
            found = under_function(function, given)
            what = f"call {number}"
            exact &= compare(found, expected, what, NEAR)
            exact &= compare(given, beside, f"{what}, the arguments afterwards", NEAR)
            exact &= compare(ours.seen(), theirs.seen(), f"{what}, the state afterwards", NEAR)
    return Outcome.of(function, exact)


def replay(seed):
    """Run ``check`` on the program of ``seed``; add the program's text to an error."""
    try:
        return check(seed)
    except Exception as error:
        case = Case(seed)
        raise AssertionError(
            f"nested program {seed} ({case.mode.__name__}): {type(error).__name__}: {error}\n\n"
            f"{case.program.text()}\n\n# from helpers.replayed_nested import replay; replay({seed})"
        ) from error
