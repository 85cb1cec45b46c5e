"""Random programs in NumPy's own terms, held against NumPy and against differences.

Each program (``random_numpy_programs``) is a Python function of arrays that says ``np``: it is run on
NumPy's arrays, on Arrays and on Arrays on a tape.  At the end all arrays must equal NumPy's bit for bit
(what is several ops of ours, but for rounding), and so must dtypes, strides, who shares memory with
whom, and the types of the errors on the way.  The slope of a weighted sum of all of them must be what
differences give, in every third program in forward mode, too, and in every tenth to second order.  A
program that fails is cut down and printed as a script.  ARRAYTAPE_PROGRAMS=100000 runs more of them.
"""

import os

import pytest

import random_numpy_programs
from random_numpy_programs import checks
from random_numpy_programs.program import TEMPLATES

BLOCKS = 8
PROGRAMS = int(os.environ.get("ARRAYTAPE_PROGRAMS", "600"))
SKIPPED = 0.01  # of the programs: at kinks, mostly


@pytest.mark.slow
@pytest.mark.timeout(max(120, PROGRAMS // 2))
@pytest.mark.parametrize("block", range(BLOCKS))
@pytest.mark.every(4)
def test_random_programs_of_numpys_functions_give_what_they_give_on_numpys_arrays(block):
    seeds = range(block, PROGRAMS, BLOCKS)
    skipped = [seed for seed in seeds if random_numpy_programs.replay(seed)]
    assert len(skipped) <= max(3, SKIPPED * len(seeds)), skipped


def test_the_programs_use_every_kind_of_statement():
    text = "\n".join(random_numpy_programs.Program(seed).text() for seed in range(150))
    for part in (
        "def f", "lambda t", "nonlocal", "yield", "return", "try:", "for ", "while ", "if ", "append(",
        "out=", "where=", ", dtype=single", "np.einsum('ii->i'", "np.einsum('ij->ji'", "np.diagonal",
        "np.take(", ".take(", "np.choose", "np.pad", "np.insert", "np.delete", "np.add.at",
        "np.add.accumulate", "np.multiply.outer", ".flat", ".real", ".imag = ", "np.linalg.", "np.fft.",
        "np.nan", ".copy('F')", "order='F'", "np.broadcast_to", "sliding_window_view", "] **= 2", "@=",
        "['u']", "np.interp", "np.convolve", "np.kron", "_errors.append(error)",
    ):  # fmt: skip
        assert part in text, part


def test_a_program_that_fails_is_cut_down_and_said_as_a_script(monkeypatch):
    def in_place(runs, env):
        assert "np.sinh" not in runs.program.text(), "wrong"

    program = next(
        p for p in map(random_numpy_programs.Program, range(100)) if "np.sinh" in p.text()
    )
    monkeypatch.setattr(checks, "check_values", in_place)
    with pytest.raises(AssertionError, match="wrong") as caught:
        random_numpy_programs.replay(program.seed)
    said = str(caught.value)
    assert "xp.asarray" in said
    assert said[said.rindex("def program(") :].count("\n    ") < program.text().count("\n    ")


def test_no_statement_stands_twice():
    assert len(TEMPLATES) == len(set(TEMPLATES)) > 350
