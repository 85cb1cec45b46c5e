"""On random programs ``explain`` never raises, and says of the gradient what ``tape.gradient`` gives."""

import contextlib
import os
import warnings

import numpy as np
import pytest

import arraytape as xp
from arraytape import diagnose
from random_programs.program import Program
from random_programs.spaces import ArrayTapeSpace

PROGRAMS = int(os.environ.get("ARRAYTAPE_PROGRAMS", 120)) // 4


def verdict_of(g):
    if g is None:
        return "is None"
    values = np.asarray(g)
    if np.isnan(values).any():
        return "holds NaN"
    return "is there" if values.any() else "is zero"


def explained(seed, noted):
    """Explain, and then ask for, the gradient of each array by each input and some other arrays."""
    program = Program(seed)
    space = ArrayTapeSpace()
    with contextlib.ExitStack() as stack:
        seen = stack.enter_context(diagnose.lines()) if noted else None
        tape = stack.enter_context(xp.GradientTape(persistent=True))
        env, inputs = program.begin(space)
        watched = list(inputs.values())[seed % 2 :]  # one is forgotten now and then
        tape.watch(watched)
        program.run(space, env)
    targets = [env[name] for name in program.names[-4:]]
    sources = [*inputs.values(), *targets[:2]]
    for y in targets:
        for x in sources:
            said = diagnose.explain(tape, y, x, seen)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", xp.TapeWarning)
                g = tape.gradient(y, x)
            assert said.startswith(f"The gradient {verdict_of(g)}"), (seed, said, g)
            yield said


@pytest.mark.slow
@pytest.mark.parametrize("noted", [False, True], ids=["tape", "lines"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_explain_says_what_the_gradient_is(noted):
    said = [text for seed in range(PROGRAMS) for text in explained(seed, noted)]
    for verdict in ("is None", "is zero", "is there"):
        assert any(text.startswith(f"The gradient {verdict}") for text in said), verdict
