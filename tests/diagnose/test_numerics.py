"""Where a NaN or an infinity came from: ``check_numerics``, ``nans``, the log of the guarded rerun."""

import logging
import sys

import numpy as np
import pytest

import arraytape as xp
from arraytape import GradientTape, diagnose
from arraytape._tape.guard import log_guarded_rerun
from arraytape.testing import storages

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
LINK = "(see https://github.com/arraytape/arraytape/blob/main/docs/howto/errors.md#value-that-is-not-finite)"


def here():
    """The caller's line, as messages name it."""
    frame = sys._getframe(1)
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def checked(f, *values, **options):
    """The message of a checked program: of its forward pass, or of its gradient."""
    ran = []

    def program():
        x = xp.asarray(values)
        with GradientTape(check_numerics=True) as tape:
            tape.watch(x)
            y = f(x)
            ran.append("forward")
        tape.gradient(y, x, **options)

    with pytest.raises(diagnose.NonFiniteError) as caught:
        program()
    assert issubclass(caught.type, FloatingPointError)
    return str(caught.value), ran


def plain(f, *values):
    x = xp.asarray(values)
    with GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return tape, y, x


# --- forward, as the op runs --------------------------------------------------------------------------
def test_an_op_that_makes_a_nan_raises_at_once_with_line_and_ranges():
    lines = []

    def f(x):
        lines.append(here())
        return xp.log(x)

    said, ran = checked(f, 1.0, 0.0, -1.0)
    file, _, number = lines[0].rpartition(":")
    assert ran == []
    assert said == (
        f"log made a NaN [at {file}:{int(number) + 1}]: y float64(3,) from 0 to 0, 1 NaN and 1 "
        f"infinite, of "
        f"x float64(3,) from -1 to 1 {LINK}"
    )


@pytest.mark.parametrize(
    ("f", "values", "said"),
    [
        (lambda x: xp.exp(x), (1.0, 1000.0), "exp made an infinity"),
        (lambda x: x / (x - 1.0), (1.0, 2.0), "divide made an infinity"),
        (lambda x: (x - 1.0) / (x - 1.0), (1.0, 2.0), "divide made a NaN"),
        (lambda x: x @ xp.asarray([1e308, 1e308]), (1.0, 2.0), "matmul made an infinity"),
        (lambda x: xp.concat([x, xp.asarray([xp.nan])]), (1.0, 2.0), "concat made a NaN"),
        (lambda x: xp.prod(x * 1e200), (1.0, 2.0), "prod made an infinity"),
        (lambda x: x**-1.0, (0.0, 2.0), "pow made an infinity"),
    ],
)
def test_ops_of_all_kinds_are_looked_at(f, values, said):
    assert checked(f, *values)[0].startswith(said)


def test_a_nan_among_constants_is_found_where_it_enters():
    bad = xp.asarray([1.0, xp.nan])
    said, _ = checked(lambda x: xp.sum(x * bad), 2.0, 3.0)
    assert said.startswith("multiply made a NaN [at ")
    assert "of x1 float64(2,) from 2 to 3; x2 (a constant) float64(2,) from 1 to 1, 1 NaN" in said


def test_a_constant_infinity_may_pass_and_what_becomes_nan_by_it_may_not():
    def masked(x):
        return xp.where(x > 0.0, x, -xp.inf)

    def softmax(x):
        e = xp.exp(masked(x) - xp.max(masked(x)))
        return (e / xp.sum(e))[0]

    x = xp.asarray([1.0, -1.0])
    with GradientTape(check_numerics=True) as tape:
        tape.watch(x)
        y = softmax(x)
    assert np.array_equal(np.asarray(tape.gradient(y, x)), [0.0, 0.0])
    assert checked(softmax, -1.0, -2.0)[0].startswith("subtract made a NaN")


def test_users_functions_and_additions_in_place_are_looked_at():
    f = xp.custom_gradient(lambda x: (xp.log(x), lambda g: g))
    assert checked(f, 0.0, 1.0)[0].startswith("custom_gradient(<lambda>) made an infinity [at")

    def add(x):
        y = x * 1e308
        y += 1.5e308
        return y

    said = checked(add, 1.0)[0]
    assert said.startswith("in-place add made an infinity [at ")
    assert "x float64(1,), 1 infinite, of what was added float() from 1.5e+308 to 1.5e+308" in said


def test_complex_values_integers_and_several_results_have_ranges():
    z = xp.asarray([1j, 0j])
    assert "x complex128(2,) from 0 to 1" in checked(xp.log, 1j, 0j)[0]
    with GradientTape(check_numerics=True) as tape:
        tape.watch(z)
        y = xp.real(xp.take(xp.stack(xp.unstack(z)), xp.asarray([0])))
    assert tape.gradient(y, z) is not None


def test_the_op_that_raised_is_not_on_the_tape():
    x = xp.asarray([1.0, 0.0])
    with GradientTape(check_numerics=True) as tape:
        tape.watch(x)
        with pytest.raises(FloatingPointError):
            xp.log(x)
        y = xp.exp(x)
    assert len(tape._recording.records) == 1
    assert np.array_equal(np.asarray(tape.gradient(y, x)), np.exp([1.0, 0.0]))


# --- backward -----------------------------------------------------------------------------------------
def test_a_rule_that_makes_an_infinity_is_named_with_the_line_of_its_op():
    lines = []

    def f(x):
        y, at = xp.sqrt(x), here()
        lines.append(at)
        return y

    said, ran = checked(f, 1.0, 0.0, 4.0)
    assert ran == ["forward"]
    assert said.startswith(
        f"in the gradient, the rule of sqrt, which ran at {lines[0]}, made an infinity [at {__file__}:"
    )
    assert said.endswith(
        "]: the gradient float64(3,) from 0.25 to 0.5, 1 infinite, of the cotangent float64(3,) from "
        "1 to "
        f"1; the tape kept y float64(3,) from 0 to 2 {LINK}"
    )


def test_what_a_selection_did_not_take_is_no_fault_unless_nan_is_kept():
    def f(x):
        return xp.where(x > 0.0, xp.sqrt(x), 0.0)

    x = xp.asarray([0.0, 4.0])
    with GradientTape(check_numerics=True, persistent=True) as tape:
        tape.watch(x)
        y = f(x)
    assert np.array_equal(np.asarray(tape.gradient(y, x)), [0.0, 0.25])
    assert np.array_equal(np.asarray(tape.jacobian(y, x)), [[0.0, 0.0], [0.0, 0.25]])
    with pytest.raises(FloatingPointError, match=r"the rule of sqrt, .* made a NaN"):
        tape.gradient(y, x, nan="keep")


def test_jacobians_and_outer_tapes_are_checked():
    x = xp.asarray([0.0, 4.0])
    with GradientTape(check_numerics=True) as tape:
        tape.watch(x)
        y = xp.sqrt(x)
    with pytest.raises(FloatingPointError, match="the rule of sqrt"):
        tape.jacobian(y, x)
    with GradientTape() as outer, GradientTape(check_numerics=True) as inner:
        outer.watch(x)
        inner.watch(x)
        y = xp.sqrt(x)
        with pytest.raises(FloatingPointError, match="the rule of sqrt"):
            inner.gradient(y, x)


def test_gradients_that_are_finite_are_those_of_an_unchecked_tape():
    def f(x):
        y = xp.exp(x)
        y[:1] = x[1:] * 2.0
        y += x
        return xp.sum(xp.linalg.inv(xp.stack([y, x * x])) @ y)

    tape, y, x = plain(f, 0.3, 0.7)
    expected = tape.gradient(y, x)
    with GradientTape(check_numerics=True) as tape:
        tape.watch(x)
        y = f(x)
    assert np.array_equal(np.asarray(tape.gradient(y, x)), np.asarray(expected))


def test_a_tape_without_checks_records_by_a_lists_append():
    recording = GradientTape()._recording
    assert recording.record == recording.records.append
    assert recording.numerics is None
    with pytest.raises(
        TypeError, match="check_numerics, profile must be True or False, got check_numerics=int 1"
    ):
        GradientTape(check_numerics=1)


# --- nans ---------------------------------------------------------------------------------------------
NOT_KEPT = (
    "so an op before it may have made it: GradientTape(check_numerics=True) checks each op as it "
    "runs."
)
SAID = [
    (
        lambda x: xp.sum(xp.log(x)),
        "In the forward pass, log{} gave an infinity: y float64(3,) from 0 to 1.38629, 1 infinite, "
        "of x "
        "float64(3,) from 0 to 4.",
    ),
    (
        lambda x: xp.sum(xp.exp(x * 1000.0)),
        "In the forward pass, exp{} gave an infinity: y float64(3,) from 1 to 1, 2 infinite, of x "
        "float64(3,) from 0 to 4000.",
    ),
    (
        lambda x: xp.sum((x + 1e308) + 1e308) * 1.0,
        "In the forward pass, multiply{} gave an infinity: y float64(), 1 infinite, of x2 float64() "
        "from 1 "
        "to 1. The tape did not keep x1, " + NOT_KEPT,
    ),
    (
        lambda x: xp.sqrt(x),
        "In the gradient, the rule of sqrt{} made an infinity: the gradient float64(3,) from 0.25 to "
        "0.5, 1 "
        "infinite, of the cotangent float64(3,) from 1 to 1; the tape kept y float64(3,) from 0 to 2.",
    ),
    (
        lambda x: xp.sqrt(x) ** 2,
        "In the gradient, the rule of sqrt{} made a NaN: the gradient float64(3,) from 1 to 1, 1 "
        "NaN, of "
        "the cotangent float64(3,) from 0 to 4; the tape kept y float64(3,) from 0 to 2.",
    ),
    (
        lambda x: xp.where(x > 0.0, xp.sqrt(x), 0.0),
        "No NaN and no infinity: in what the tape kept, and in the backward pass.",
    ),
    (
        lambda x: xp.sum(xp.exp(xp.where(x > 0.0, x, -xp.inf))),
        "No NaN and no infinity: in what the tape kept, and in the backward pass.",
    ),
]


@pytest.mark.parametrize(("f", "said"), SAID)
def test_nans_names_the_op_and_uses_no_tape_up(f, said):
    tape, y, x = plain(f, 1.0, 0.0, 4.0)
    before = [*tape._recording.records]
    assert diagnose.nans(tape, y, x) == said.format("")
    assert [*map(id, tape._recording.records)] == [*map(id, before)]
    assert tape.gradient(y, x) is not None


def test_nans_knows_lines_where_they_were_noted_or_checked():
    with diagnose.lines() as seen:
        tape, y, x = plain(lambda x: xp.sqrt(x), 0.0, 4.0)
    assert f"the rule of sqrt, which ran at {__file__}:" in diagnose.nans(tape, [y], {"x": x}, seen)
    with GradientTape(check_numerics=True) as tape:
        tape.watch(x)
        y, at = xp.sqrt(x), here()
    assert f"the rule of sqrt, which ran at {at}, made" in diagnose.nans(tape, y, x)
    assert diagnose.explain(tape, y, x) == f"The gradient is there: it came through sqrt at {at}."


def test_nans_of_a_tape_that_cannot_answer_is_an_error():
    tape, y, x = plain(lambda x: xp.exp(x), 1.0)
    tape.gradient(y, x)
    with pytest.raises(RuntimeError, match=r"nans\(\): A non-persistent GradientTape can only"):
        diagnose.nans(tape, y, x)
    with pytest.raises(RuntimeError, match=r"nans\(\): this tape never recorded"):
        diagnose.nans(GradientTape(), y, x)
    with pytest.raises(TypeError, match=r"nans\(\): every source must be an Array"):
        diagnose.nans(plain(lambda x: x * 1.0, 1.0)[0], y, 3.0)


# --- the log ------------------------------------------------------------------------------------------
def test_the_first_guarded_rerun_of_a_process_is_logged(caplog):
    log_guarded_rerun.cache_clear()
    with caplog.at_level(logging.INFO, "arraytape"):
        for _ in range(2):
            tape, y, x = plain(lambda x: xp.where(x > 0.0, xp.sqrt(x), 0.0), 0.0, 4.0)
            tape.gradient(y, x)
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("arraytape", logging.INFO)
    assert f"the guarded rerun ran [at {__file__}:" in record.getMessage()


# --- other storages, hidden axes ----------------------------------------------------------------------
@pytest.mark.parametrize("storage", [storages.frozen, storages.strict])
def test_values_on_other_storages_are_looked_at(storage):
    with storages.on(storage()):
        x = xp.asarray([1.0, 0.0])
        with diagnose.lines() as seen, GradientTape(check_numerics=True) as tape:
            tape.watch(x)
            y = xp.exp(x) * 0.0
            y[0] = x[1]
            z = xp.sqrt(x)
            with pytest.raises(FloatingPointError, match="log made an infinity"):
                xp.log(x)
        assert diagnose.explain(tape, y, x, seen).startswith(
            "The gradient is there: it came through "
        )
        assert diagnose.explain(tape, xp.floor(z), x, seen).startswith("The gradient is None: ")
        assert diagnose.nans(tape, z, x).startswith(
            "In the gradient, the rule of sqrt, which ran at "
        )


def test_values_under_vmap_are_looked_at():
    x = xp.asarray([[1.0, 0.0], [2.0, 4.0]])
    with GradientTape(check_numerics=True) as tape:
        tape.watch(x)
        with pytest.raises(
            FloatingPointError, match=r"log made an infinity .* of x float64\(2, 2\) from"
        ):
            xp.vmap(xp.log)(x)
        y = xp.vmap(xp.sqrt)(x)
    with pytest.raises(FloatingPointError, match="the rule of sqrt"):
        tape.gradient(y, x)
