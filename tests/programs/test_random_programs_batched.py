"""The random programs of views and writes under vmap, and their Jacobians, against loops."""

import os

import numpy as np
import pytest

import arraytape as xp
from arraytape import grad, vmap
from arraytape._tape import jacobian

PROGRAMS = int(os.environ.get("ARRAYTAPE_PROGRAMS", "160"))
BLOCKS = 8

FACTORS = np.asarray([1.0, 0.98, 1.01])


def function_of(programs, program):
    """The program's weighted total, as a function of its inputs."""
    space = programs.ArrayTapeSpace()

    def f(*inputs):
        env = program.given(space) | dict(zip(program.inputs, inputs, strict=True))
        return programs.total(program, space, program.run(space, env))

    return f


def rows_of(programs, program):
    """Some of the program's arrays, as one vector, as a function of its first input."""
    space = programs.ArrayTapeSpace()

    def f(x):
        env = program.run(space, program.given(space) | {program.inputs[0]: x})
        return xp.concat([xp.reshape(env[name], (-1,)) for name in program.names[-3:]])

    return f


def close(found, expected):
    scale = np.max(np.abs(expected), initial=1.0)
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-10, atol=1e-10 * scale)


def check_mapped(programs, program):
    values = program.given(programs.NUMPY)
    inputs = [np.asarray(values[name]) for name in program.inputs]
    stacked = [xp.asarray(np.stack([x * factor for factor in FACTORS])) for x in inputs]
    f, positions = function_of(programs, program), range(len(inputs))
    with np.errstate(all="ignore"):
        try:
            found = vmap(f)(*stacked)
        except TypeError as error:  # a mask of mapped data as a key
            if "has no batched form" in str(error):
                return False
            raise
        singles = [[x[i, ...] for x in stacked] for i in range(len(FACTORS))]
        try:
            values = np.asarray([float(f(*x)) for x in singles])
        except ValueError as error:  # the program's mask fits its own inputs alone
            if "boolean array indexing" in str(error):
                return False
            raise
        close(found, values)
        expected = [grad(f, positions)(*x) for x in singles]
        inside = vmap(grad(f, positions))(*stacked)
        outside = grad(lambda *xs: xp.sum(vmap(f)(*xs)), positions)(*stacked)
        for place, (a, b) in enumerate(zip(inside, outside, strict=True)):
            rows = np.stack([np.asarray(row[place]) for row in expected])
            close(a, rows)
            close(b, rows)
        # The first input mapped, the others shared.
        axes = (0, *(None for _ in inputs[1:]))
        shared = [stacked[0], *(xp.asarray(x) for x in inputs[1:])]
        found = grad(lambda *xs: xp.sum(vmap(f, axes)(*xs)), positions)(*shared)
        rows = [grad(f, positions)(stacked[0][i, ...], *shared[1:]) for i in range(len(FACTORS))]
        close(found[0], np.stack([np.asarray(row[0]) for row in rows]))
        for place in positions[1:]:
            close(found[place], sum(np.asarray(row[place]) for row in rows))
    return True


def check_jacobian(programs, program, monkeypatch):
    values = program.given(programs.NUMPY)
    x, f = xp.asarray(np.asarray(values[program.inputs[0]])), rows_of(programs, program)
    if f(xp.asarray(x, copy=True)).size < 2:
        return
    with monkeypatch.context() as patch:
        patch.setattr(jacobian, "rows_one_by_one", None)
        found = xp.jacobian(f)(x)
    with monkeypatch.context() as patch:
        patch.setattr(jacobian, "largest_kept_size", lambda records: None)
        expected = xp.jacobian(f)(x)
    close(found, np.asarray(expected))


@pytest.mark.timeout(600)
@pytest.mark.parametrize("block", range(BLOCKS))
@pytest.mark.every(4)
def test_random_programs_under_vmap_equal_loops(programs, block, monkeypatch):
    ran, size = 0, PROGRAMS // BLOCKS
    for seed in range(block * size, (block + 1) * size):
        program = programs.Program(seed, flavour="real", shared=False)
        if not program.names:
            continue
        try:
            ran += check_mapped(programs, program)
            check_jacobian(programs, program, monkeypatch)
        except Exception as error:
            raise AssertionError(f"program {seed}: {error!r}\n\n{program.text}") from error
    assert ran >= size // 4
