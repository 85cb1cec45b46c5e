"""Programs in which functions, state, tapes and transforms are nested: see ``nested_programs``."""

import numpy as np
import pytest

from arraytape import _tape

from . import nested_programs
from .nested_programs import COUNTS, NESTINGS, Given, Program, checks, replay
from .nested_programs.checks import nestings_of

SEEDS, PARTS = 200, 8


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.every(4)
def test_programs_have_the_derivatives_of_differences_in_all_nestings(part):
    skipped = [seed for seed in range(part, SEEDS, PARTS) if replay(seed)]
    assert len(skipped) < 0.2 * SEEDS / PARTS


def test_all_nestings_meet_each_other():
    pairs = {tuple(sorted(nestings_of(seed)[:2])) for seed in range(64)}
    names = sorted(set(NESTINGS) - {"forward over forward"})
    assert pairs == {(a, b) for i, a in enumerate(names) for b in names[i + 1 :]}
    assert sum(len(nestings_of(seed)) == 3 for seed in range(100)) == 20


def test_programs_have_what_the_generator_is_for():
    text = "\n".join(Program(seed).text() for seed in range(300))
    wanted = (
        "class ", "self.s", "except", "t.variable", "t.vmap", "t.grad", "t.jacobian", "t.along", "t.hvp",
        "t.ruled", "t.squash", "t.blend", "out=", "argmax", "np.diagonal", "t.fortran", "broadcast_to",
        "'tape_in_tape'", "'persistent_tape'", "'accumulator'", "state.append", ".dtype",
    )  # fmt: skip
    assert [part for part in wanted if part not in text] == []


def test_a_program_follows_from_its_seed():
    first, again = Program(11), Program(11)
    assert first.text() == again.text()
    assert all(np.array_equal(x, again.data[name]) for name, x in first.data.items())


def test_a_fault_is_found_and_cut_down_to_a_script(monkeypatch):
    """Tangents that writes go into although others have them: the class that the attack was made for."""
    write = _tape.tangents.Tangents.apply_write

    def careless(self, record):
        held = self.get(record.old)
        if held is not None:
            self._own[id(held)] = record.old
        write(self, record)

    monkeypatch.setattr(_tape.tangents.Tangents, "apply_write", careless)
    monkeypatch.setattr(_tape.tangents.ArrayData, "copy_data", lambda self, x: x)
    with pytest.raises(AssertionError, match=r"(?s)program .*import Given") as found:
        list(map(replay, range(200)))
    monkeypatch.undo()
    script = str(found.value).partition("\n\n")[2]
    assert len(script.splitlines()) < 25
    exec(script, {})  # right again


def given(*lines, **data):
    """A program of these lines."""
    head = f"def program(np, xp, t, {', '.join(data)}):"
    return Given(0, "\n    ".join([head, *lines, "return locals()"]), data)


TIE = ("a = t.grad(lambda u: np.sum(u), 'tape_in_tape')(x0)", "x1[xp.argmin(a)] = np.sin(-0.34)")
TIED = {"x0": [1.1078140821005171, -0.36891505639777444], "x1": [-0.29, -0.85, 0.23]}


def test_a_mask_that_changes_within_a_step_is_checked_with_the_smaller_steps(monkeypatch):
    program = given("a = x0[t.above(x0, 0.5)] * x0[0]", x0=[0.50005, 0.3, 0.9])
    program.along = program.turn = {"x0": np.array([-1.0, 0.5, 0.4])}
    program.check()
    monkeypatch.setattr(checks, "STEPS", checks.STEPS[::2])
    with pytest.raises(checks.Skipped, match="a decision nearby"):
        program.check()


def test_a_mask_that_changes_within_every_step_is_skipped_for_what_numpy_alone_shows():
    program = given("a = x0[t.above(x0, 0.5)] * x0[0]", x0=[0.5000001, 0.3, 0.9])
    program.along = program.turn = {"x0": np.array([-1.0, 0.5, 0.4])}
    with pytest.raises(checks.Skipped, match="a decision nearby"):
        program.check()


def test_mapped_axes_of_different_lengths_are_refused_on_numpy_as_on_arrays():
    program = given(
        "a = t.vmap(lambda u, w: u + w, (0, 0))(x0, x1)", x0=[1.0, 2.0], x1=[1.0, 2.0, 3.0]
    )
    with pytest.raises(ValueError, match="differ in length"):
        checks.Runs(program)


def test_the_other_of_a_tie_is_no_finding():
    with pytest.raises(checks.Skipped, match="the other of a tie"):
        given(*TIE, **TIED).check()


def test_a_wrong_value_beside_a_tie_is_a_finding():
    scale = "a2 = x1 * (1.0 if xp is np else 1.1)"  # as if a product were wrong
    with pytest.raises(AssertionError, match="on NumPy"):
        given(*TIE, scale, **TIED).check()


def test_what_is_counted():
    before = COUNTS["checked to the end"]
    assert nested_programs.ATTACK.run(2) == 1
    assert COUNTS["checked to the end"] == before + 1
    assert Given(2, Program(2).text(), Program(2).data).check() is None
