"""Values that leave the tape: a gradient that is None, or lacks a part, says where."""

import numpy as np
import pytest

import arraytape as xp
from arraytape import GradientTape, TapeWarning, Variable, optimizers

pytestmark = pytest.mark.any_storage


@pytest.fixture
def x():
    return xp.asarray([8.0, 27.0])


@pytest.mark.parametrize(
    ("leave", "how"),
    [
        (lambda x: np.asarray(x), r"np\.asarray\(\)"),
        (lambda x: np.asarray(x[0]), r"np\.asarray\(\)"),
        (lambda x: float(x[0]), r"float\(\)"),
        (lambda x: int(x[0]), r"int\(\)"),
        (lambda x: complex(x[0]).real, r"complex\(\)"),
        (lambda x: x[0].item(), r"item\(\)"),
        (lambda x: x.tolist(), r"tolist\(\)"),
        (lambda x: np.from_dlpack(x.to_device("cpu")), "dlpack"),
    ],
    ids=["asarray", "asarray-of-a-view", "float", "int", "complex", "item", "tolist", "dlpack"],
)
def test_a_gradient_cut_by_leaving_the_tape_names_file_and_line(leave, how, x):
    with GradientTape() as tape:
        tape.watch(x)
        y = xp.asarray(leave(x), dtype=xp.float64) * 2.0
    line = leave.__code__.co_firstlineno
    with pytest.warns(TapeWarning, match=rf"test_exits\.py:{line} \({how}\)") as found:
        assert tape.gradient(y, x) is None
    assert len(found) == 1
    assert found[0].filename == __file__


def test_leaving_the_tape_does_not_warn_when_the_gradient_is_there(x, near):
    with GradientTape() as tape:
        tape.watch(x)
        y = xp.sum(x * x)
        float(y)
    near(tape.gradient(y, x), [16.0, 54.0])


def test_leaving_the_tape_does_not_warn_about_another_source(x, near):
    other = xp.asarray(1.0)
    with GradientTape() as tape:
        tape.watch([x, other])
        np.asarray(x)
        y = x * 2.0
    dx, dother = tape.gradient(y, [x, other])
    near(dx, [2.0, 2.0])
    assert dother is None


def test_looking_at_an_array_does_not_count_as_leaving(x):
    with GradientTape() as tape:
        tape.watch(x)
        for look in (repr, str, len, bool):
            look(x if look is not bool else x[0])
        f"{x[0]:.3f}"
    assert tape.gradient(xp.asarray(1.0), x) is None


def test_zeros_for_a_gradient_that_was_cut_still_warn(x, near):
    with GradientTape() as tape:
        tape.watch(x)
        y = xp.asarray(np.asarray(x))
    with pytest.warns(TapeWarning, match="left the tape"):
        g = tape.gradient(y, x, unconnected_gradients="zero")
    near(g, [0.0, 0.0])


@pytest.mark.parametrize("value", [1, True])
def test_integer_sources_warn_and_give_none(value, near):
    n, x = xp.asarray([value]), xp.asarray([2.0])
    with GradientTape() as tape:
        with pytest.warns(TapeWarning, match=r"watch.*(int64|bool)") as found:
            tape.watch([n, x])
        y = x * n
    assert found[0].filename == __file__
    with pytest.warns(TapeWarning, match=r"source.*(int64|bool)") as found:
        dn, dx = tape.gradient(y, [n, x])
    assert found[0].filename == __file__
    assert dn is None
    near(dx, [1.0])


def test_an_integer_target_warns_and_gives_none(x):
    with GradientTape() as tape:
        tape.watch(x)
        y = xp.argmax(x)
    with pytest.warns(TapeWarning, match="target.*int64") as found:
        assert tape.gradient(y, x) is None
    assert found[0].filename == __file__


@pytest.mark.usefixtures("host_memory")
def test_a_warning_that_was_made_an_error_stays_a_warning():
    with pytest.raises(RuntimeWarning, match="divide by zero"):
        xp.log(xp.asarray([0.0]))
    with np.errstate(all="raise"), pytest.raises(FloatingPointError, match="log"):
        xp.log(xp.asarray([0.0]))


# --- where warnings point -------------------------------------------------------------------------
N = xp.asarray([[1, 2]])
WARNINGS = {
    "watching integers": lambda t, y, left, x: t.watch([x, N]),
    "an integer source": lambda t, y, left, x: t.gradient(y, [x, N]),
    "an integer target": lambda t, y, left, x: t.gradient([y, N], x),
    "an integer source of a jacobian": lambda t, y, left, x: t.jacobian(y, N),
    "an integer target of a jacobian": lambda t, y, left, x: t.batch_jacobian(N, x),
    "a value that left": lambda t, y, left, x: t.gradient(left, x),
    "a value that left, of a jacobian": lambda t, y, left, x: t.jacobian(left, [x]),
    "a value that left, of a batch": lambda t, y, left, x: t.batch_jacobian(left, x),
    "inside its context": lambda t, y, left, x: t.gradient(y, x),
    "no gradient for a Variable": lambda t, y, left, x: optimizers.SGD(0.1).apply_gradients(
        [(None, Variable(1.0)), (xp.asarray(1.0), Variable(1.0))]
    ),
}


@pytest.mark.parametrize("name", WARNINGS)
def test_a_warning_points_at_the_line_of_the_call(name):
    call, x = WARNINGS[name], xp.asarray([[1.0, 2.0]])
    inside = name in ("watching integers", "inside its context")
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y, left = x * x, xp.asarray(np.asarray(x), device=x.device)
        if inside:
            with pytest.warns(TapeWarning) as found:
                call(tape, y, left, x)
    if not inside:
        with pytest.warns(TapeWarning) as found:
            call(tape, y, left, x)
    first = call.__code__.co_firstlineno
    for warning in found:
        assert warning.filename == __file__
        assert first <= warning.lineno <= first + 4


# --- a part that leaves ---------------------------------------------------------------------------
def library(tmp_path, body):
    """A function from a file that lies where packages are installed."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    file = folder / "somebodys.py"
    file.write_text(f"import numpy as np\n\ndef f(x, xp):\n{body}")
    scope = {}
    exec(compile(file.read_text(), str(file), "exec"), scope)
    return scope["f"]


PARTLY = (
    "    weight = np.asarray(x) ** 2\n    return xp.sum(x * xp.asarray(weight, device=x.device))\n"
)


def test_a_part_that_left_in_installed_code_is_said_with_its_line(tmp_path):
    f, x = library(tmp_path, PARTLY), xp.asarray([1.0, 2.0], device="cpu")
    with GradientTape() as tape:
        tape.watch(x)
        y = f(x, xp)
    said = r"a part .*test_exits\.py:\d+ \(in f, at .*somebodys\.py:4 \(np\.asarray"
    with pytest.warns(TapeWarning, match=said):
        g = tape.gradient(y, x)
    np.testing.assert_allclose(np.asarray(g), [1.0, 4.0])


def test_a_stopped_value_may_leave_in_installed_code(tmp_path):
    f = library(tmp_path, PARTLY.replace("np.asarray(x)", "np.asarray(xp.stop_gradient(x))"))
    x = xp.asarray([1.0, 2.0], device="cpu")
    with GradientTape() as tape:
        tape.watch(x)
        y = f(x, xp)
    np.testing.assert_allclose(np.asarray(tape.gradient(y, x)), [1.0, 4.0])


def test_what_leaves_after_the_target_is_done_is_no_part_of_it(tmp_path):
    f = library(
        tmp_path, "    y = xp.sum(x * x)\n    print(float(y), np.asarray(x))\n    return y\n"
    )
    x = xp.asarray([1.0, 2.0], device="cpu")
    with GradientTape() as tape:
        tape.watch(x)
        y = f(x, xp)
    np.testing.assert_allclose(np.asarray(tape.gradient(y, x)), [2.0, 4.0])
