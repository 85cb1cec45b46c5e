"""Each cause of a gradient that is None, zero or suspect: whole texts, with lines and without.

A program gives tape, target and source, and the lines that the text is to name.
"""

import sys
import threading

import numpy as np
import pytest

import arraytape as xp
from arraytape import GradientTape, TapeWarning, diagnose
from arraytape._record.op import REGISTRY
from helpers.repository import ROOT

A = "Array float64(3,)"
RUN = (
    " To see which, and at which line, run the program within `with diagnose.lines() as seen:` and "
    "call "
    "explain(tape, target, source, seen)."
)
UNRECORDED = (
    f" The target {A} is no value of the tape: it was computed outside the block, inside "
    "stop_recording, before the source was watched, by ops without derivative (floor, argmax, "
    "comparisons, casts to integers), or of constants." + RUN
)
UNUSED = (
    " Either the target does not depend on it, for these values and branches, or it does through ops "
    "without derivative (floor, argmax, comparisons, casts to integers), stop_gradient or "
    "stop_recording." + RUN
)
INDEPENDENT = (
    " No op that was noted leads from it to the target either: the target does not depend on it, for "
    "these values and branches."
)


def here():
    """The caller's line, as messages name it."""
    frame = sys._getframe(1)
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def here_below():
    """The line after the caller's."""
    frame = sys._getframe(1)
    return f"{frame.f_code.co_filename}:{frame.f_lineno + 1}"


def values():
    return xp.asarray([1.0, 2.0, 3.0])


def watched(f, **options):
    """A program: the tape, f(x) and x, and the lines that f gives beside."""
    x = values()
    with GradientTape(**options) as tape:
        tape.watch(x)
        y, *lines = f(x)
    return tape, y, x, *lines


# --- programs -----------------------------------------------------------------------------------------
def never_watched():
    x = values()
    with GradientTape() as tape:
        y = x * x
    return tape, y, x


def watched_after_its_use():
    x = values()
    with GradientTape() as tape:
        y, at = x * x, here()
        tape.watch(x)
    return tape, y, x, at


def watched_again_after_its_use():
    x = values()
    with GradientTape() as tape:
        tape.watch(x)
        part = x[:2]
        y, at = part * part, here()
        tape.watch(part)
    return tape, y, part, at


def computed_after_the_block():
    tape, y, x = watched(lambda x: [x * x])
    z, at = xp.exp(y), here()
    return tape, z, x, at


def a_source_from_after_the_block():
    tape, y, _ = watched(lambda x: [xp.sum(x * x)])
    z, at = y * 2.0, here()
    return tape, y, z, at


def swapped():
    tape, y, x = watched(lambda x: [x * x])
    return tape, x, y


def replaced_inside():
    x = values()
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
        x = x + 1.0
    return tape, y, x


def replaced_outside():
    tape, y, x = watched(lambda x: [x * x])
    return tape, y, xp.asarray(np.asarray(x))


def left_the_tape():
    def f(x):
        first, at = np.asarray(x), here()
        second, there = float(x[0]), here()
        return xp.asarray(first * second), at, there

    return watched(f)


def a_source_of_integers():
    n = xp.asarray([1, 2, 3])
    with GradientTape() as tape:
        y = n * 2.0
    return tape, y, n


def a_target_of_integers():
    return watched(lambda x: (xp.argmax(x * 2.0), here()))


def an_integer_detour():
    def f(x):
        n, at = xp.astype(x * 2.0, xp.int64), here()
        return xp.astype(n, xp.float64), at

    return watched(f)


def an_op_without_rule():
    f = xp.define_op("unruly", lambda x: x * x)
    return watched(lambda x: [f(x)])


def floored():
    return watched(lambda x: (xp.floor(x * 2.0), here()))


def stopped_by_stop_gradient():
    return watched(lambda x: (xp.stop_gradient(x * 2.0), here()))


def the_sign():
    return watched(lambda x: (xp.sign(x * 2.0), here()))


def assigned_to_a_variable():
    x, v = values(), xp.Variable([1.0, 1.0, 1.0], name="v")
    with GradientTape() as tape:
        tape.watch(x)
        _, at = v.assign(x * 2.0), here()
        y = v * 3.0
    return tape, y, x, at


def added_to_a_variable():
    x, v = values(), xp.Variable([1.0, 1.0, 1.0], name="v")
    with GradientTape() as tape:
        tape.watch(x)
        _, at = v.assign_add(x * 2.0), here()
        y = v * 3.0
    return tape, y, x, at


def a_variable_that_is_not_read():
    tape, y, _ = watched(lambda x: [x * x])
    return tape, y, xp.Variable([1.0, 1.0, 1.0], name="v")


def a_variable_that_was_assigned_to_another():
    x, v = xp.Variable([1.0, 2.0, 3.0]), xp.Variable([1.0, 1.0, 1.0], name="v")
    with GradientTape() as tape:
        _, at = v.assign_add(x), here()
        y = v * 3.0
    return tape, y, x, at


def a_view_made_afterwards():
    tape, y, x = watched(lambda x: [x[:2] ** 2])
    return tape, y, x[:2]


def a_variable_that_is_not_trainable():
    v = xp.Variable([1.0, 1.0, 1.0], name="v", trainable=False)
    with GradientTape() as tape:
        y = v * 2.0
    return tape, y, v


def a_variable_on_a_tape_that_watches_none():
    v = xp.Variable([1.0, 1.0, 1.0], name="v")
    with GradientTape(watch_accessed_variables=False) as tape:
        y = v * 2.0
    return tape, y, v


def in_another_thread():
    found = []

    def work(x):
        found.extend([x * x, here()])

    def f(x):
        thread = threading.Thread(target=work, args=(x,))
        thread.start()
        thread.join()
        return found

    return watched(f)


def while_recording_was_stopped():
    x = values()
    with GradientTape() as tape:
        tape.watch(x)
        with tape.stop_recording():
            y, at = x * x, here()
    return tape, y, x, at


def stopped_by_a_generator():
    x, lines = values(), []

    def numbers(tape):
        lines.append(here_below())
        with tape.stop_recording():
            yield from (1.0, 2.0)

    with GradientTape() as tape:
        tape.watch(x)
        y = 0.0
        for number in numbers(tape):
            y, at = y + x * number, here()
        y = y / 2.0
    return tape, y, x, at, *lines


def a_branch_not_taken():
    x, w = values(), values()
    with GradientTape() as tape:
        tape.watch([x, w])
        y = w * w if float(w[0]) > 0.0 else w * x
    return tape, y, x


def used_for_something_else():
    x, w = values(), values()
    with GradientTape() as tape:
        tape.watch([x, w])
        _, at = x * w, here()
        y = w * w
    return tape, y, x, at


def a_rule_that_gives_none():
    f = xp.custom_gradient(lambda x: (x * 2.0, lambda dy: None))
    f.__name__ = "f"
    return watched(lambda x: (f(x), here()))


def only_a_view_is_watched():
    x = values()
    with GradientTape() as tape:
        part = x[:2]
        tape.watch(part)
        y = part * 2.0
    return tape, y, x


def erased_by_a_write():
    def f(x):
        y, at = x * 2.0, here()
        y[...], there = 0.0, here()
        return y, at, there

    return watched(f)


def multiplied_by_zero():
    zero = xp.zeros(3)
    return watched(lambda x: (xp.exp(x) * zero, here()))


def masked_out():
    return watched(lambda x: (xp.where(x > 9.0, xp.exp(x), xp.zeros(3)), here()))


def cancelled():
    return watched(lambda x: (x - x, here()))


def never_entered():
    return GradientTape(), values(), values()


def used_up():
    tape, y, x, at = watched(lambda x: (xp.exp(x), here()))
    tape.gradient(y, x)
    return tape, y, x, at


def used_up_and_floored():
    tape, y, x, at = floored()
    tape.gradient(y, x)
    return tape, y, x, at


def fine():
    return watched(lambda x: (xp.exp(x) + 1.0, here()))


def fine_in_part():
    def f(x):
        first, at = float(x[0]), here()
        return x * first, at, here()

    return watched(f)


def whole_beside_an_exit():
    def f(x):
        seen, at = [float(x[0])], here()
        return x * len(seen), at, here()

    return watched(f)


def not_a_number():
    return watched(lambda x: (xp.sqrt(x * 0.0) ** 2, here()))


# --- what is said: without lines, and with them -------------------------------------------------------
NONE, ZERO, THERE = "The gradient is None: ", "The gradient is zero: ", "The gradient is there: "
NOT_ON_TAPE = (
    f"{NONE}{A} is not on the tape: it was neither watched nor computed from watched Arrays inside the "
    "block. Call tape.watch(x) inside the block, before x is used."
)
NOT_THE_WATCHED = (
    f"{NONE}the tape watches {A}, and not this {A}: asarray, and ops such as x = x + 1, make new "
    "Arrays. Give the watched Array as source, or watch the new Array before it is used."
)
BY_ASSIGNING = (
    f"{NONE}Variable 'v' was assigned to at {{0}}, and assignments are never recorded, so the gradient "
    "ends there. Compute with the assigned value itself, not with the Variable."
)
LATE = "it was watched, and watching does not reach back. Call tape.watch(x) before the first use."
LEFT = (
    f"{NONE}a value that depends on the source left the tape at {{0}} (np.asarray()) and {{1}} "
    f"(float()): "
    "what comes back from there is a constant. Keep the computation in arraytape's own functions, or "
    "call a NumPy function through host_function, which takes a gradient."
)
THREAD = (
    f"{NONE}a value that depends on the source was used in another thread, which the tape does not "
    f"see, "
    "at {0}. Open `with tape.in_this_thread():` there."
)
SWAPPED = (
    f"{NONE}the source {A} was computed from the target {A}, and not the target from the source: they "
    "are swapped. Call tape.gradient(target, sources)."
)
REPLACED = (
    f"{NONE}the target was computed from {A}, as the source {A} was, but not from this source. "
    "Perhaps a name now refers to another Array, as after x = x + 1. Give the Array that the target was "
    "computed from."
)
INTEGERS = (
    f"{NONE}the target Array int64() has a dtype without gradient{{}}. Take the gradient of a "
    "floating-point value, such as what the integers were computed from."
)
GONE = (
    "There is no gradient any more: A non-persistent GradientTape can only be used to compute one "
    "set of "
    "gradients (or jacobians); make it GradientTape(persistent=True) or record again. Call explain "
    "before gradient on a one-shot tape."
)
IN_PART = (
    "a part of it may be missing: the value left the tape at {0} (float()), and what came of it went in "
    "again at {1}. Keep the computation in arraytape's own functions, or stop_gradient the value to say "
    "that this is meant (see https://github.com/arraytape/arraytape/blob/main/docs/howto/errors.md"
    "#value-left-the-tape)"
)
BESIDE = (
    "A value that depends on the source left the tape at {0} (float()), but the target is not computed "
    "from what left there, so the gradient lacks nothing."
)
FLOORED = (
    "floor at {0} has no derivative, by declaration, so its result is a constant. Use a smooth "
    "function in "
    "its place, or pass its gradient on with grad_pass_through."
)
SAID = {
    never_watched: [NOT_ON_TAPE, NOT_ON_TAPE],
    watched_after_its_use: [f"{NONE}multiply at {{0}} used {A} before {LATE}"] * 2,
    computed_after_the_block: [
        f"{NONE}exp at {{0}} ran outside the tape's block. Move it into the block."
    ] * 2,
    a_source_from_after_the_block: [
        f"{NONE}Array float64() is not on the tape: it was neither watched nor computed from watched "
        "Arrays inside the block. Call tape.watch(x) inside the block, before x is used.",
        f"{NONE}the source Array float64() was computed from a value that the tape follows, but "
        f"multiply at {{0}} "
        "ran outside the tape's block. Move it into the block.",
    ],
    swapped: [SWAPPED, SWAPPED],
    replaced_inside: [REPLACED, REPLACED],
    replaced_outside: [NOT_THE_WATCHED, NOT_THE_WATCHED],
    left_the_tape: [LEFT, LEFT],
    a_source_of_integers: [
        f"{NONE}the source Array int64(3,) has a dtype without gradient. Give it a floating-point "
        f"dtype "
        "where it is made, before it is watched."
    ] * 2,
    a_target_of_integers: [INTEGERS.format(""), INTEGERS.format(", made by argmax at {0}")],
    an_integer_detour: [
        f"{NONE}{A} was used by multiply, but no record leads from there to the target.{UNRECORDED}",
        f"{NONE}astype at {{0}} makes int64 of it, and integers and booleans have no gradient. Keep "
        f"the "
        "computation floating-point up to the target.",
    ],
    floored: [
        f"{NONE}{A} was used by multiply, but no record leads from there to the target.{UNRECORDED}",
        NONE + FLOORED,
    ],
    stopped_by_stop_gradient: [
        f"{NONE}{A} was used by multiply, but no record leads from there to the target.{UNRECORDED}",
        f"{NONE}stop_gradient at {{0}} makes a constant of it, on purpose.",
    ],
    the_sign: [
        f"{ZERO}it came through multiply and sign, and the derivative of sign is zero for these "
        f"values.",
        f"{ZERO}it came through multiply at {{0}} and sign at {{0}}, and the derivative of sign at "
        f"{{0}} is "
        "zero for these values.",
    ],
    assigned_to_a_variable: [BY_ASSIGNING] * 2,
    added_to_a_variable: [BY_ASSIGNING] * 2,
    a_variable_that_is_not_read: [
        f"{NONE}Variable 'v' float64(3,) was not read while the tape recorded, so the target does not "
        "depend on it. If it should, use it inside the block."
    ] * 2,
    a_variable_that_was_assigned_to_another: [BY_ASSIGNING] * 2,
    a_view_made_afterwards: [
        f"{NONE}Array float64(2,) is a view that no op on the tape used, but an op may have used "
        "another view of the same part: each x[key] is a new Array. Give the Array that was used as "
        "source."
    ]
    * 2,
    a_variable_that_is_not_trainable: [
        f"{NONE}Variable 'v' float64(3,) is not trainable, so it has to be watched: call tape.watch(v)."
    ] * 2,
    a_variable_on_a_tape_that_watches_none: [
        f"{NONE}Variable 'v' float64(3,) was not watched, and the tape has "
        "watch_accessed_variables=False: call tape.watch(v)."
    ] * 2,
    in_another_thread: [THREAD, THREAD],
    while_recording_was_stopped: [
        f"{NONE}multiply at {{0}} ran inside stop_recording, so its result is a constant. Move it out "
        f"of "
        "there."
    ] * 2,
    stopped_by_a_generator: [
        f"{NONE}multiply at {{0}} ran inside stop_recording, which the generator 'numbers' at {{1}} "
        "leaves open while it yields, so its result is a constant. Yield outside of that block."
    ] * 2,
    a_branch_not_taken: [
        f"{NONE}{A} is watched, but no op on the tape used it.{UNUSED}",
        f"{NONE}{A} is watched, but no op on the tape used it.{INDEPENDENT}",
    ],
    used_for_something_else: [
        f"{NONE}{A} was used by multiply, but no record leads from there to the target.{UNUSED}",
        f"{NONE}{A} was used by multiply at {{0}}, but no record leads from there to the target."
        f"{INDEPENDENT}",
    ],
    a_rule_that_gives_none: [
        f"{NONE}custom_gradient(<lambda>) passes no gradient on towards the source: its rule "
        f"returns "
        "None for that input.",
        f"{NONE}custom_gradient(<lambda>) at {{0}} passes no gradient on towards the source: "
        f"its "
        "rule returns None for that input.",
    ],
    only_a_view_is_watched: [
        f"{NONE}of {A} only a view is watched: call tape.watch(x) on the whole Array, before it is "
        "used."
    ] * 2,
    erased_by_a_write: [
        f"{ZERO}it came through multiply, and a write erased it: what was written took the place of "
        f"all "
        "elements that depend on it.",
        f"{ZERO}it came through multiply at {{0}}, and a write at {{1}} erased it: what was written "
        f"took "
        "the place of all elements that depend on it.",
    ],
    multiplied_by_zero: [
        f"{ZERO}it came through exp and multiply, and multiply multiplied it by zero.",
        f"{ZERO}it came through exp at {{0}} and multiply at {{0}}, and multiply at {{0}} multiplied "
        f"it by "
        "zero.",
    ],
    masked_out: [
        f"{ZERO}it came through exp and where, and where took the other operand in every element.",
        f"{ZERO}it came through exp at {{0}} and where at {{0}}, and where at {{0}} took the other "
        f"operand "
        "in every element.",
    ],
    cancelled: [
        f"{ZERO}it came through subtract, and what subtract passes back cancels, in itself or with "
        f"what "
        "came another way.",
        f"{ZERO}it came through subtract at {{0}}, and what subtract at {{0}} passes back cancels, in "
        "itself or with what came another way.",
    ],
    never_entered: [
        "There is no gradient: this tape never recorded. Compute the target inside `with tape:`."
    ] * 2,
    used_up: [
        GONE,
        f"{GONE} The noted steps show: exp at {{0}} led from the source to the target.",
    ],
    used_up_and_floored: [GONE, f"{GONE} The noted steps show: {FLOORED}"],
    fine: [
        f"{THERE}it came through exp and add.",
        f"{THERE}it came through exp at {{0}} and add at {{0}}.",
    ],
    fine_in_part: [
        f"{THERE}it came through multiply. But {IN_PART}.",
        f"{THERE}it came through multiply at {{1}}. But {IN_PART}.",
    ],
    whole_beside_an_exit: [
        f"{THERE}it came through multiply. {BESIDE}",
        f"{THERE}it came through multiply at {{1}}. {BESIDE}",
    ],
    not_a_number: [
        "The gradient holds NaN, also in the guarded rerun. It came through multiply, sqrt and pow. "
        "diagnose.nans(tape, target, source) says which op made it.",
        "The gradient holds NaN, also in the guarded rerun. It came through multiply at {0}, sqrt at "
        "{0} and "
        "pow at {0}. diagnose.nans(tape, target, source) says which op made it.",
    ],
}  # fmt: skip


def program_id(program):
    return program.__name__


def rows():
    """Compare the table of docs/howto/diagnose.md with what is said of each cause's program."""
    for program, (_, text) in SAID.items():
        cause = program.__name__.replace("_", " ")
        yield f"| {cause} | {text.format(*['FILE:LINE'] * 2)} |"


def test_the_page_has_all_the_texts():
    page = (ROOT / "docs" / "howto" / "diagnose.md").read_text("utf-8")
    table = "\n".join(rows())
    assert table in page, f"put this into docs/howto/diagnose.md:\n{table}"


@pytest.mark.parametrize("program", SAID, ids=program_id)
def test_it_says_why(program):
    tape, y, x, *lines = program()
    assert diagnose.explain(tape, y, x) == SAID[program][0].format(*lines)


@pytest.mark.parametrize("program", SAID, ids=program_id)
def test_with_lines_it_says_where(program):
    with diagnose.lines() as seen:
        tape, y, x, *lines = program()
    assert diagnose.explain(tape, y, x, seen) == SAID[program][1].format(*lines)


@pytest.mark.parametrize("program", SAID, ids=program_id)
@pytest.mark.filterwarnings("ignore::arraytape.TapeWarning")
def test_it_changes_nothing_on_the_tape(program):
    tape, y, x, *_ = program()
    before = state_of(tape)
    diagnose.explain(tape, y, x)
    assert state_of(tape) == before
    if not program.__name__.startswith(("used_up", "never_entered")):
        tape.gradient(y, x)


def state_of(tape):
    """All that a recording holds, by identity."""
    state = dict(vars(tape._recording))
    return {
        name: [*map(repr, v)] if type(v) in (list, set, dict) else id(v)
        for name, v in state.items()
    }


def test_an_op_without_rule_is_an_error_and_says_which():
    tape, y, x = an_op_without_rule()
    del REGISTRY["unruly"]
    said = diagnose.explain(tape, y, x)
    assert said.startswith(
        "The gradient is an error, MissingRule: gradient registry has no entry for: unruly. "
    )


def test_a_rule_that_raises_is_an_error():
    def f(x):
        def rule(dy):
            raise KeyError("mine")

        return x * 2.0, rule

    tape, y, x = watched(lambda x: [xp.custom_gradient(f)(x)])
    assert diagnose.explain(tape, y, x) == "The gradient is an error, KeyError: 'mine'"


def test_a_target_that_is_its_own_source():
    x = values()
    with GradientTape() as tape:
        tape.watch(x)
    assert diagnose.explain(tape, x, x) == f"{THERE}it came to the target {A} as its own source."


def test_a_view_that_nobody_read_is_explained_without_a_record_of_it():
    x = values()
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * 2.0
    part = y[:2]
    count = len(tape._recording.records)
    assert diagnose.explain(tape, part, x) == f"{THERE}it came through multiply."
    assert len(tape._recording.records) == count
    assert tape.gradient(part, x) is not None


def test_it_works_inside_the_block_and_records_nothing_there():
    x = values()
    with GradientTape() as outer, GradientTape() as tape:
        outer.watch(x)
        tape.watch(x)
        y = xp.exp(x)
        assert diagnose.explain(tape, y, x) == f"{THERE}it came through exp."
    assert len(tape._recording.records) == len(outer._recording.records) == 1


def test_many_ops_are_not_all_listed():
    def f(x):
        for op in (xp.exp, xp.sin, xp.cos, xp.tanh, xp.sqrt, xp.square, xp.atan, xp.asinh):
            x = op(x)
        return [x]

    tape, y, x = watched(f)
    said = "it came through exp, sin, cos, 3 others, atan and asinh."
    assert diagnose.explain(tape, y, x) == THERE + said


def test_what_is_no_tape_and_no_array_is_a_type_error():
    with pytest.raises(TypeError, match=r"the tape must be a GradientTape, got int 3 \[at"):
        diagnose.explain(3, values(), values())
    with pytest.raises(TypeError, match=r"the source must be one Array, got list \[1\.0\] \[at"):
        diagnose.explain(GradientTape(), values(), [1.0])


# --- the warnings that come with a gradient -----------------------------------------------------------
WARNED = (
    never_watched, a_source_from_after_the_block, swapped, replaced_outside, only_a_view_is_watched,
    a_variable_on_a_tape_that_watches_none, a_variable_that_is_not_trainable, a_view_made_afterwards,
    watched_after_its_use, computed_after_the_block, replaced_inside, assigned_to_a_variable,
    added_to_a_variable, a_variable_that_was_assigned_to_another, while_recording_was_stopped,
    stopped_by_a_generator,
)  # fmt: skip
SILENT = (
    an_integer_detour, floored, stopped_by_stop_gradient, a_variable_that_is_not_read,
    a_branch_not_taken, used_for_something_else,
)  # fmt: skip


@pytest.mark.parametrize("derivative", ["gradient", "jacobian"])
@pytest.mark.parametrize("program", WARNED, ids=program_id)
def test_a_known_cause_comes_with_the_none_in_one_line(program, derivative):
    tape, y, x, *lines = program()
    said = SAID[program][0].format(*lines).removeprefix(NONE).removesuffix(".")
    with pytest.warns(TapeWarning) as caught:
        assert getattr(tape, derivative)(y, x) is None
    assert [str(w.message).partition(" (see ")[0] for w in caught] == [f"gradient is None: {said}"]
    assert caught[0].filename == __file__


@pytest.mark.parametrize("program", [*WARNED, *SILENT], ids=program_id)
@pytest.mark.filterwarnings("error")
def test_nothing_is_said_where_zeros_are_asked_for(program):
    tape, y, x, *_ = program()
    assert not np.any(np.asarray(tape.gradient(y, x, unconnected_gradients="zero")))


@pytest.mark.parametrize("program", SILENT, ids=program_id)
@pytest.mark.filterwarnings("error")
def test_a_source_that_is_followed_but_not_connected_is_silent(program):
    tape, y, x, *_ = program()
    assert tape.gradient(y, x) is None


# --- lines --------------------------------------------------------------------------------------------
def test_lines_change_no_value_no_gradient_and_no_profiler():
    before = sys.getprofile()
    tape, y, x, *_ = fine()
    with diagnose.lines() as seen:
        noted, z, x2, *_ = fine()
        found = noted.gradient(z, x2)
    assert sys.getprofile() is before
    assert np.array_equal(np.asarray(y), np.asarray(z))
    assert np.array_equal(np.asarray(tape.gradient(y, x)), np.asarray(found))
    assert [step.name for step in seen.steps] == ["exp", "add"]


def test_lines_end_with_an_exception():
    before = sys.getprofile()
    with pytest.raises(KeyError), diagnose.lines():
        raise KeyError
    assert sys.getprofile() is before
