"""The random programs of views and writes under vmap, and their Jacobians, against loops."""

import importlib.util
import os
from pathlib import Path

import numpy as np
import pytest

import arraytape as xp
from arraytape import _jacobian, grad, vmap

SOURCE = Path(__file__).with_name("test_random_programs.py")
PROGRAMS = int(os.environ.get("ARRAYTAPE_PROGRAMS", "160"))
BLOCKS = 8


def loaded():
    spec = importlib.util.spec_from_file_location("random_programs", SOURCE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


programs = loaded()
FACTORS = np.asarray([1.0, 0.98, 1.01])


def function_of(program):
    """The program's weighted total, as a function of its inputs."""

    def f(*inputs):
        env = {name: xp.asarray(x) for name, x in program.data.items()}
        for name, text in program.views.items():
            env[name] = eval(text, {}, env)
        env |= dict(zip(program.inputs, inputs, strict=True))
        program.run(programs.ARRAYTAPE, env)
        return programs.total(program, programs.ARRAYTAPE, env)

    return f


def rows_of(program):
    """Some of the program's arrays, as one vector, as a function of its first input."""

    def f(x):
        env = {name: xp.asarray(value) for name, value in program.data.items()}
        for name, text in program.views.items():
            env[name] = eval(text, {}, env)
        env[program.inputs[0]] = x
        program.run(programs.ARRAYTAPE, env)
        return xp.concat([xp.reshape(env[name], (-1,)) for name in program.names[-3:]])

    return f


def close(found, expected):
    scale = np.max(np.abs(expected), initial=1.0)
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-10, atol=1e-10 * scale)


def check_mapped(program):
    values = program.given(programs.NUMPY)
    inputs = [np.asarray(values[name]) for name in program.inputs]
    stacked = [xp.asarray(np.stack([x * factor for factor in FACTORS])) for x in inputs]
    f, positions = function_of(program), range(len(inputs))
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


def check_jacobian(program, monkeypatch):
    values = program.given(programs.NUMPY)
    x, f = xp.asarray(np.asarray(values[program.inputs[0]])), rows_of(program)
    if f(xp.asarray(x, copy=True)).size < 2:
        return
    with monkeypatch.context() as patch:
        patch.setattr(_jacobian, "by_rows", None)
        found = xp.jacobian(f)(x)
    with monkeypatch.context() as patch:
        patch.setattr(_jacobian, "largest_of", lambda records: None)
        expected = xp.jacobian(f)(x)
    close(found, np.asarray(expected))


@pytest.mark.timeout(600)
@pytest.mark.parametrize("block", range(BLOCKS))
def test_random_programs_under_vmap_equal_loops(block, monkeypatch):
    ran, size = 0, PROGRAMS // BLOCKS
    for seed in range(block * size, (block + 1) * size):
        program = programs.Program(seed)
        if not program.names:
            continue
        try:
            ran += check_mapped(program)
            check_jacobian(program, monkeypatch)
        except Exception as error:
            raise AssertionError(f"program {seed}: {error!r}\n\n{program.text}") from error
    assert ran >= size // 4
