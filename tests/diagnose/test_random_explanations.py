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
        if seed % 3 == 0:  # what is watched anew counts from then on
            tape.watch([*inputs.values()])
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


@pytest.mark.slow
@pytest.mark.parametrize("way", ["noted", "checked"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_to_note_lines_and_to_check_values_changes_no_value_and_no_gradient(way):
    """But for rounding: ``x *= y`` of noted values is an op, and checked gradients are guarded ones."""
    for seed in range(PROGRAMS):
        program = Program(seed)
        rtol = 1e-4 if program.flavour == "single" else 1e-9
        for found, expected in zip(gradients(program, way), gradients(program), strict=True):
            assert (found is None) == (expected is None), seed
            if found is not None:
                assert (found.shape, found.dtype) == (expected.shape, expected.dtype), seed
                np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol, rtol)


def gradients(program, way=""):
    """The values of a program and the gradients of their sum by each input."""
    space = ArrayTapeSpace()
    with contextlib.ExitStack() as stack:
        if way == "noted":
            stack.enter_context(diagnose.lines())
        tape = stack.enter_context(xp.GradientTape(check_numerics=way == "checked"))
        env, inputs = program.begin(space)
        tape.watch([*inputs.values()])
        program.run(space, env)
        values = [env[name] for name in program.names]
        return [*values, *tape.gradient(values, [*inputs.values()])]
