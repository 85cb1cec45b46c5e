"""Function forms run the function again where a value left, unnoticed, and raise or are silent."""

import io
import json
import math
import random
import sys

import numpy as np
import pytest

import arraytape as xp
from arraytape import LostGradientError, TapeWarning
from arraytape.functional import doubts
from arraytape.optimizers import minimize_scipy

FORMS = {
    "grad": lambda f, x: xp.grad(f)(x),
    "value_and_grad": lambda f, x: xp.value_and_grad(f)(x),
    "jacobian": lambda f, x: xp.jacobian(f)(x),
    "jacfwd": lambda f, x: xp.jacfwd(f)(x),
    "hessian": lambda f, x: xp.hessian(f)(x),
    "jvp": lambda f, x: xp.jvp(f, (x,), (xp.ones(3),)),
    "vjp": lambda f, x: xp.vjp(f, x)[1](xp.asarray(1.0)),
    "linearize": lambda f, x: xp.linearize(f, x)[1](xp.ones(3)),
    "hvp": lambda f, x: xp.hvp(f, (x,), (xp.ones(3),)),
    "vhp": lambda f, x: xp.vhp(f, (x,), (xp.ones(3),)),
    "sparse_jacobian": lambda f, x: xp.sparse_jacobian(f)(x),
    "sparse_hessian": lambda f, x: xp.sparse_hessian(f)(x),
    "gauss_newton_product": lambda f, x: xp.gauss_newton_product(f, None, (x,), (x,)),
    "minimize_scipy": lambda f, x: minimize_scipy(f, x, options={"maxiter": 2}),
}


@pytest.fixture(autouse=True)
def _nothing_is_known(monkeypatch):
    monkeypatch.setattr(doubts, "KNOWN", {})


@pytest.fixture
def x():
    return xp.asarray([1.2345678, 2.3456789, 3.4567891])


def through_text(x):
    space = {"text": json.dumps([float(x[0])])}
    exec("import json\nw = json.loads(text)[0] ** 2", space)
    return xp.sum(x**2 * space["w"])


def looked_at(x):
    best = max(float(x[0]), 0.0)
    return xp.sum(xp.exp(0.1 * x)) if best < 100.0 else xp.sum(x)


@pytest.mark.parametrize("form", FORMS)
def test_a_lost_part_is_an_error_whatever_it_went_through(form, x):
    with pytest.raises(LostGradientError, match=r"the value left the tape at .*test_doubts"):
        FORMS[form](through_text, x)


@pytest.mark.parametrize("form", FORMS)
def test_what_is_only_looked_at_is_right_without_a_word(form, x):
    FORMS[form](looked_at, x)


def test_a_slot_that_is_written_over_is_right_without_a_word(x):
    """A tape, which goes by the code, warns here."""
    held = [0.0]

    def f(x):
        held[0] = float(x[0])
        held[0] = 2.0
        return xp.sum(x * (0.5 + held[0]))

    assert xp.grad(f)(x).tolist() == [2.5] * 3
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    with pytest.warns(TapeWarning, match="may be missing"):
        tape.gradient(y, x)


def test_a_second_derivative_alone_may_be_lost(x):
    """The first is right, since what is held is at a minimum."""

    def f(x):
        held = math.sin(float(x[0]))
        return xp.sum(xp.exp(x)) + (xp.sin(x[0]) - held) ** 2

    assert xp.grad(f)(x) is not None
    for form in (xp.hessian(f), lambda x: xp.hvp(f, (x,), (xp.ones(3),))):
        with pytest.raises(LostGradientError, match="differences of the function give"):
            form(x)


def test_an_integer_that_is_an_index_has_no_derivative(x):
    def f(x):
        key = int(xp.astype(x[0], xp.int64))
        return xp.sum(x[key:] ** 2)

    assert xp.hvp(f, (x,), (xp.ones(3),))[0].tolist() == [0.0, 2.0, 2.0]
    assert xp.hessian(f)(x).tolist() == np.diag([0.0, 2.0, 2.0]).tolist()


# --- runs are not noticed -----------------------------------------------------------------------------
class Model:
    rate = 1.0

    def __init__(self):
        self.calls, self.history, self.weight = 0, [], xp.Variable([1.0, 2.0, 3.0])
        self.buffer, self.seen = np.zeros(3), {}
        self.rng = np.random.default_rng(0)

    def loss(self, x):
        self.calls += 1
        self.history.append(float(x[0]))
        self.buffer[:] = np.asarray(x)
        self.seen[len(self.history)] = True
        Model.rate = self.rate + 1.0
        self.weight.assign_add(xp.ones(3))
        print("loss", float(x[0]))
        return xp.sum(x * xp.asarray([1.0, 2.0, 3.0]))


def test_effects_happen_once(x, capsys):
    model = Model()
    Model.rate = 1.0
    assert xp.grad(model.loss)(x).tolist() == [1.0, 2.0, 3.0]
    assert (model.calls, len(model.history), len(model.seen), Model.rate) == (1, 1, 1, 2.0)
    assert model.buffer.tolist() == x.tolist()
    assert model.weight.tolist() == [2.0, 3.0, 4.0]
    assert capsys.readouterr().out.count("loss") == 1


COUNT = 0
TEXT = io.StringIO()


def counted(x):
    global COUNT
    COUNT += 1
    TEXT.write(f"{float(x[0])}\n")
    return xp.sum(x * 0.5)


def test_globals_and_buffers_of_text_are_put_back(x):
    before = COUNT, TEXT.getvalue().count("\n")
    assert xp.grad(counted)(x).tolist() == [0.5] * 3
    assert (COUNT, TEXT.getvalue().count("\n")) == (before[0] + 1, before[1] + 1)


def test_a_function_that_writes_a_file_is_not_run_again(x, tmp_path):
    file = tmp_path / "log"

    def f(x):
        with open(file, "a") as log:
            print(float(x[0]), file=log)
        return xp.sum(x * float(x[1]))

    with pytest.warns(TapeWarning, match="may be missing"):
        xp.grad(f)(x)
    assert file.read_text().count("\n") == 1


def test_an_open_file_is_not_written_to_again(x, tmp_path):
    with open(tmp_path / "log", "w") as log:

        def f(x):
            log.write("line\n")
            return xp.sum(x * float(x[1]))

        with pytest.warns(TapeWarning, match="may be missing"):
            xp.grad(f)(x)
    assert (tmp_path / "log").read_text() == "line\n"


@pytest.mark.parametrize("generator", [random.Random(3), np.random.default_rng(3), np.random])
def test_random_numbers_leave_the_analysis_alone(generator, x):
    """Another run would draw others: its differences say nothing."""

    def f(x):
        noise = generator.random()
        return xp.sum(x * noise) * float(x[0])

    with pytest.warns(TapeWarning, match="may be missing"):
        xp.grad(f)(x)


def test_what_is_meant_to_be_a_constant_is_no_lost_part(x):
    def f(x):
        print(float(x[0]))
        return xp.sum(x * xp.stop_gradient(x))

    assert xp.grad(f)(x).tolist() == x.tolist()


def test_a_rule_of_the_users_is_no_lost_part(x):
    @xp.custom_gradient
    def straight(x):
        return xp.round(x), lambda g: g

    def f(x):
        if float(x[0]) > 100.0:
            return xp.sum(x)
        return xp.sum(straight(x) * 2.0)

    assert xp.grad(f)(x).tolist() == [2.0] * 3


# --- what is paid -------------------------------------------------------------------------------------
def test_a_function_from_which_nothing_left_runs_once(x, monkeypatch):
    monkeypatch.setattr(doubts, "Evaluation", None)
    assert xp.grad(lambda x: xp.sum(x**2))(x) is not None


def test_it_is_asked_at_the_first_second_fourth_time(x, monkeypatch):
    asked, compare = [], doubts.compare_slopes
    monkeypatch.setattr(doubts, "compare_slopes", lambda *a: asked.append(1) or compare(*a))
    gradient = xp.grad(looked_at)
    for _ in range(9):
        gradient(x)
    assert len(asked) in (0, 4)  # 0 where the analysis sees that nothing enters


def test_exits_ignored_are_not_asked_about(x, monkeypatch):
    monkeypatch.setattr(doubts, "Evaluation", None)
    before = xp.set_exits("ignore")
    try:
        assert xp.grad(through_text)(x) is not None
    finally:
        xp.set_exits(before)


def test_a_profiler_is_left_alone(x):
    sys.setprofile(lambda *event: None)
    try:
        with pytest.warns(TapeWarning, match="may be missing"):
            xp.grad(through_text)(x)
        assert sys.getprofile() is not None
    finally:
        sys.setprofile(None)
