"""Random programs as functions of Arrays, replayed and compared with eager calls.

Values, gradients and the writes to the arguments are compared.
"""

import random
import re
import warnings

import numpy as np

import arraytape as xp
import random_numpy_programs
import random_programs
from random_numpy_programs.program import TYPES, arrays
from random_numpy_programs.runs import Skipped
from random_programs import checks
from random_programs.spaces import ArrayTapeSpace

from .replaying import USES, recorded, replayed

CALLS = 5  # under a tape: two calls are traced, and the backward pass in the third
NEAR = 1e-9  # the tolerance where rounding differs, as for a 0-d result
SINGLE = 2e-3
FOLLOWED = (True,), (True, False), (False, False, True)

# The function without its cache: in a long run the cache grows, and xp.function does not replay a
# function from which much state can be reached.
weights = checks.weights.__wrapped__


def total(found):
    """Return a weighted real sum of floating-point arrays."""
    answer = xp.zeros(())
    for turn, x in enumerate(found):
        if x.dtype.kind not in "fc":
            continue
        dtype = np.dtype("c16" if x.dtype.kind == "c" else "f8")
        part = xp.sum(x * xp.asarray(weights(x.shape, dtype, turn % 50)))
        answer = answer + (xp.real(part) if x.dtype.kind == "c" else part)
    return answer


def copies(found):
    return [xp.asarray(x, copy=True) for x in found]


# --- modes: a program is run, or run and differentiated -----------------------------------------------
def plain(run, given, watched):
    """Return the arrays at the end of the program."""
    return run(*given)


def by_tape(run, given, watched):
    """Return the target (a sum of the results of ``run``), its gradient, and the results."""
    with xp.GradientTape() as tape:
        tape.watch(watched)
        found = run(*given)
        y = total(found)
    return y, tape.gradient(y, watched, unconnected_gradients="zero"), found


def by_tapes(run, given, watched):
    """Return the target, its gradient, the gradient of the gradient's sum, and ``run``'s results."""
    with xp.GradientTape() as outer:
        outer.watch(watched)
        with xp.GradientTape() as inner:
            inner.watch(watched)
            found = run(*given)
            y = total(found)
        first = inner.gradient(y, watched, unconnected_gradients="zero")
        slope = total(first)
    return y, first, outer.gradient(slope, watched, unconnected_gradients="zero"), found


def forward(run, given, watched):
    """Return the target, its JVP along tangents of ones, and the results of ``run``."""
    tangents = [xp.ones_like(x) for x in watched]
    with xp.ForwardAccumulator(watched, tangents) as accumulator:
        found = run(*given)
        y = total(found)
    return y, accumulator.jvp(y, unconnected_gradients="zero"), found


def rows(run, given, watched):
    """Return two sums of the results of ``run``, their Jacobian, and the results."""
    with xp.GradientTape() as tape:
        tape.watch(watched)
        found = run(*given)
        y = xp.stack([total(found), total(found[1:])])
    return y, tape.jacobian(y, watched, unconnected_gradients="zero"), found


def mapped(run, given, watched):
    """Return the target for two examples, which ``vmap`` computes at once."""
    places = [i for i, x in enumerate(given) if any(x is one for one in watched)]
    axes = [0 if i in places else None for i in range(len(given))]
    both = [xp.stack([x, x * 0.99]) if i in places else x for i, x in enumerate(given)]
    return xp.vmap(lambda *each: total(run(*each)), in_axes=tuple(axes))(*both)


MODES = {
    plain: 4,
    by_tape: 8,
    by_tapes: 3,
    forward: 3,
    rows: 1,
    mapped: 1,
}  # mode -> weight in the draw
LENGTHS = {  # kind of program -> {number of statements: weight in the draw}
    "numpy": {5: 4, 10: 6, 16: 4, random_numpy_programs.program.LENGTH: 2},
    "array": {8: 4, 16: 6, 26: 4, random_programs.program.STATEMENTS: 2},
}


def drawn(odds, choices):
    """Draw a key of ``odds`` with a probability in proportion to its value."""
    return choices.choices([*odds], [*odds.values()])[0]


def step(run, sources, results, mode):
    """Return a function that runs a program in a mode.

    run : the program, a function that returns all arrays at its end.
    sources : the positions of the arguments with respect to which it is differentiated.
    results : a function that selects the arrays to return.
    """

    def function(*given):
        found = mode(run, given, [given[i] for i in sources])
        if mode is plain:
            return results(found)
        return found if mode is mapped else (*found[:-1], results(found[-1]))

    return function


def numpy_program(seed, length):
    """Return a random Program, a function that runs it on Arrays, and its data: a dict by input name."""
    program = random_numpy_programs.Program(seed, length)
    names = [name for name in program.data if name not in program.constants]
    constants = {name: program.data[name].copy() for name in program.constants}
    scope = {"np": np, **TYPES}
    exec(compile(program.text(), f"<program {seed}>", "exec"), scope)
    body = scope["program"]

    def run(*given):
        env = body(**dict(zip(names, given, strict=True)), **constants)
        found = arrays({name: x for name, x in env.items() if name not in constants})
        return [x if isinstance(x, xp.Array) else xp.asarray(x) for _, x in found]

    return program, run, {name: program.data[name] for name in names}


def array_program(seed, length):
    """Return a random program of the array API standard, in the form of ``numpy_program``."""
    program = random_programs.Program(seed, shared=False, length=length)
    names, views, codes = list(program.data), dict(program.views), list(program.codes)
    space = ArrayTapeSpace()
    for name in set(re.findall(r"\bxp\.(\w+)", program.text)):
        getattr(space, name)  # fill the cache now, because a later change would stop replays

    def run(*given):
        env = dict(zip(names, given, strict=True))
        for name, text in views.items():
            env[name] = eval(text, {}, env)
        for code in codes:
            exec(code, {"xp": space}, env)
        return [x for x in env.values() if isinstance(x, xp.Array) and x.dtype.kind in "fc"]

    return program, run, dict(program.data)


MAKERS = {"numpy": numpy_program, "array": array_program}


def moved(x, rng):
    """Return values so near those of x that most branches and comparisons come out the same."""
    if x.dtype.kind not in "fc":
        return x
    return (x * (1 + 1e-4 * rng.standard_normal(x.shape))).astype(x.dtype)


def calls_of(data, seed, count):
    """Return ``count`` functions without arguments; each returns Arrays with values near ``data``."""

    def call(number):
        def arguments():
            rng = np.random.default_rng([seed, number])
            return [xp.asarray(moved(x, rng)) for x in data.values()]

        return arguments

    return [call(number) for number in range(count)]


class Case:
    """A random program with a mode, drawn from a kind and a seed.

    calls : the number of calls.  compared : the index of the first call that is also run eagerly.
    """

    def __init__(self, kind, seed):
        choices = random.Random(seed)
        self.kind, self.length = kind, drawn(LENGTHS[kind], choices)
        self.mode = drawn(MODES, choices)
        self.calls, self.compared = (4, 0) if choices.random() < 0.1 else (3, 1)
        self.program, self.run, self.data = MAKERS[kind](seed, self.length)
        self.watched = [i for i, name in enumerate(self.data) if name[0] == "x"]
        self.results = list if seed % 8 == 4 else copies

    def function(self, mode):
        return step(self.run, self.watched, self.results, mode)

    @property
    def near(self):
        """Return the relative tolerance of values."""
        program = self.program
        text = program.text() if self.kind == "numpy" else program.text
        return SINGLE if program.flavour == "single" or "single" in text else NEAR

    def script(self):
        """Return the program's source text."""
        if self.kind == "numpy":
            return random_numpy_programs.script(self.program, self.program.body)
        return random_programs.script(self.program)


def check(case, seed):
    """Replay the program of a Case on other inputs than those of its trace; return the Outcome."""
    calls = calls_of(case.data, seed, case.calls)
    with np.errstate(all="ignore"):
        return replayed(case.function(case.mode), calls, case.near, case.compared)


def check_on_tapes(case, seed):
    """Replay a Case's program under an outer tape that watches some inputs; return the Outcome."""
    use, followed = USES[seed % 4], FOLLOWED[seed // 4 % 3]
    function = case.function(by_tape if seed % 5 == 4 else plain)
    calls = calls_of(case.data, seed, CALLS)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", xp.TapeWarning)
        return recorded(function, calls, use, followed, case.near)


def replay(kind, seed, check=check):
    """Run ``check`` on the Case for ``kind`` and ``seed``; add the program's text to an error."""
    case = Case(kind, seed)
    try:
        return check(case, seed)
    except Skipped:
        raise
    except Exception as error:
        raise AssertionError(
            f"{kind} program {seed} of {case.length} statements, {case.mode.__name__}: "
            f"{type(error).__name__}: {error}\n\n{case.script()}"
        ) from error
