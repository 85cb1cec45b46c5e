"""Random programs as functions of Arrays: values, gradients, and what they write to their arguments."""

import warnings

import numpy as np

import arraytape as xp
import random_numpy_programs
import random_programs
from random_numpy_programs.program import TYPES, arrays
from random_numpy_programs.runs import Skipped
from random_programs.checks import weights
from random_programs.spaces import ArrayTapeSpace

from .replaying import USES, recorded, replayed

CALLS = 4  # two are traced, others are replayed
NEAR = 1e-9  # of what is rounded otherwise: a 0-d result, say
SINGLE = 2e-3
FOLLOWED = (True,), (True, False), (False, False, True)


def total(found):
    """A weighted real sum of floating-point arrays."""
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


def step(run, sources, results):
    """A function that runs a program on an open tape: value, gradients and the program's arrays.

    run : takes arguments, gives all arrays at the program's end.  sources : picks what is
    differentiated by.  results : what is given out of these arrays.
    """

    def function(*given):
        watched = sources(given)
        with xp.GradientTape() as tape:
            tape.watch(watched)
            found = run(*given)
            y = total(found)
        return y, tape.gradient(y, watched, unconnected_gradients="zero"), results(found)

    return function


def plain(run, sources, results):
    """The same without a tape."""
    return lambda *given: results(run(*given))


def numpy_program(seed):
    """A program in NumPy's terms: ``run``, its data, how many of these are differentiated by."""
    program = random_numpy_programs.Program(seed)
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


def array_program(seed):
    """A program in the standard's terms."""
    program = random_programs.Program(seed, shared=False)
    names, views, codes = list(program.data), dict(program.views), list(program.codes)
    space = ArrayTapeSpace()

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
    """Other values of the same kind, near enough for most decisions to be the same."""
    if x.dtype.kind not in "fc":
        return x
    return (x * (1 + 1e-4 * rng.standard_normal(x.shape))).astype(x.dtype)


def calls_of(data, seed):
    """What makes the arguments of each call: the program's data, moved."""

    def call(number):
        def arguments():
            rng = np.random.default_rng([seed, number])
            return [xp.asarray(moved(x, rng)) for x in data.values()]

        return arguments

    return [call(number) for number in range(CALLS + 1)]


def nearness(kind, program):
    """By how much values may differ."""
    text = program.text() if kind == "numpy" else program.text
    return SINGLE if program.flavour == "single" or "single" in text else NEAR


def check(kind, seed):
    """Replay one program on other inputs than it was traced on: how it fared."""
    program, run, data = MAKERS[kind](seed)
    names = [name for name in data if name[0] == "x"]
    places = [i for i, name in enumerate(data) if name in names]
    make = plain if seed % 4 == 3 else step
    results = list if seed % 8 == 4 else copies
    function = make(run, lambda given: [given[i] for i in places], results)

    calls, near = calls_of(data, seed), nearness(kind, program)
    with np.errstate(all="ignore"):
        return replayed(function, calls[:CALLS], near)


def check_on_tapes(kind, seed):
    """Replay one program on tapes around it, with some inputs watched and others not."""
    program, run, data = MAKERS[kind](seed)
    use, followed = USES[seed % 4], FOLLOWED[seed // 4 % 3]
    function = step if seed % 5 == 4 else plain
    names = [i for i, name in enumerate(data) if name[0] == "x"]
    results = list if seed % 8 == 4 else copies
    made = function(run, lambda given: [given[i] for i in names], results)

    calls, near = calls_of(data, seed), nearness(kind, program)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", xp.TapeWarning)
        return recorded(made, calls, use, followed, near)


def replay(kind, seed, check=check):
    """Check one program; a failure comes with its script."""
    try:
        return check(kind, seed)
    except Skipped:
        raise
    except Exception as error:
        program, _, _ = MAKERS[kind](seed)
        if kind == "numpy":
            script = random_numpy_programs.script(program, program.body)
        else:
            script = random_programs.script(program)
        raise AssertionError(
            f"{kind} program {seed}: {type(error).__name__}: {error}\n\n{script}"
        ) from error
