"""Random programs full of views and writes, held against NumPy and the complex step.

Each program (``random_programs``) is Python text, run with NumPy and with arraytape.  At the end all
arrays must equal NumPy's bit for bit, and the slope of a weighted sum of all of them, along random
directions of all inputs and of one, must be what the complex step gives, in every other program
along that of an array written to halfway, too; every third takes a branch not taken along, which
needs the guarded pass, every other is run in forward mode too, and every tenth is checked to second
order.  Statements that raise are among them.  The first fifteenth of them also
runs on storages with nothing but the standard's functions and with data that nobody can write to.
A program that fails is printed as a script.  ARRAYTAPE_PROGRAMS=100000 runs more of them, and
``random_programs.replay(seed)`` runs one.
"""

import os

import pytest

from arraytape.testing import storages

BLOCKS = 20
PROGRAMS = int(os.environ.get("ARRAYTAPE_PROGRAMS", "3000"))


def block_of(count, block):
    size = -(-count // BLOCKS)
    return range(block * size, (block + 1) * size)


@pytest.mark.slow
@pytest.mark.timeout(max(120, PROGRAMS // 10))
@pytest.mark.parametrize("block", range(BLOCKS))
@pytest.mark.every(7)
def test_random_programs_have_numpys_values_and_the_complex_steps_gradients(programs, block):
    for seed in block_of(PROGRAMS, block):
        programs.replay(seed)


@pytest.mark.slow
@pytest.mark.timeout(max(120, PROGRAMS // 10))
@pytest.mark.parametrize("block", range(BLOCKS))
@pytest.mark.parametrize("storage", [storages.strict, storages.frozen], ids=lambda s: s.__name__)
@pytest.mark.every(7)
def test_random_programs_give_the_same_on_other_storages(programs, storage, block):
    for seed in block_of(PROGRAMS // 15, block):
        programs.replay(seed, storage())


def test_the_programs_use_every_kind_of_statement(programs):
    text = "\n".join(programs.Program(seed).text for seed in range(100))
    for part in (
        "] = ", "] += ", " @= ", "/= ", "**= 2", "xp.where", "xp.reshape", ".T", "xp.flip", "None",
        "xp.squeeze", "xp.unstack", "xp.broadcast_to", "::-2", "xp.take", "for i", "xp.asarray([True",
        "xp.above", "copy=True", "del ", "xp.stack", "xp.max", "xp.cumulative_sum", "k[0] = 0",
        "while xp.above", "[i - 1]", "..., i - 1]", "] -= ", "] *= ", "xp.sort", "zeros_like",
        "float32", "xp.imag", "1j * ", "except", "asarray([[", ".T[", "xp.moveaxis", "xp.clip",
        "xp.roll", "while i",
    ):  # fmt: skip
        assert part in text, part
