"""What recorders and function forms do about values that left."""

from __future__ import annotations

import gc
import io
import math
import statistics
import sys
import threading
import weakref

import numpy as np
import pytest

import arraytape as xp
from arraytape import ForwardAccumulator, GradientTape, LostGradientError, TapeWarning

PART = "a part of the {} may be missing"


@pytest.fixture
def x():
    return xp.asarray([1.2345678, 2.3456789, 3.4567891])


def partly(x):
    return xp.sum(x * float(x[0]))


def wholly(x):
    return xp.asarray(math.sin(float(x[0])))


def only_looked_at(x):
    print(f"{float(x[0]):.3f}")
    return xp.sum(x * 2.0)


def taped(f, x, **options):
    with GradientTape(**options) as tape:
        tape.watch(x)
        y = f(x)
    return lambda: tape.gradient(y, x)


# --- modes --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("f", [partly, wholly])
def test_raise_makes_it_an_error_at_the_gradient(f, x):
    with GradientTape(exits="raise", persistent=True) as tape:
        tape.watch(x)
        y = f(x)
    for _ in range(2):  # the tape is as it was
        with pytest.raises(LostGradientError, match=r"test_modes\.py:\d+ \(float"):
            tape.gradient(y, x)


def test_raise_does_not_use_up_a_tape(x):
    with GradientTape(exits="raise") as tape:
        tape.watch(x)
        y, z = partly(x), xp.sum(x)
    with pytest.raises(LostGradientError):
        tape.gradient(y, x)
    assert tape.gradient(z, x).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("mode", ["warn", "raise", "ignore"])
def test_what_is_only_looked_at_is_an_error_in_no_mode(mode, x):
    assert taped(only_looked_at, x, exits=mode)().tolist() == [2.0, 2.0, 2.0]


def test_ignore_says_nothing(x):
    assert taped(partly, x, exits="ignore")() is not None
    assert taped(wholly, x, exits="ignore")() is None


def test_the_default_of_the_process_holds_for_tapes_that_say_nothing(x):
    assert xp.set_exits("raise") == "warn"
    try:
        gradient, loud = taped(partly, x), taped(partly, x, exits="warn")
        with pytest.raises(LostGradientError):
            gradient()
        with pytest.warns(TapeWarning, match=PART.format("gradient")):
            loud()
    finally:
        assert xp.set_exits("warn") == "raise"


@pytest.mark.parametrize("call", [xp.set_exits, lambda mode: GradientTape(exits=mode)])
def test_another_word_is_refused(call):
    with pytest.raises(
        ValueError, match=r"'warn', 'raise' or 'ignore', got str 'loud'.*test_modes"
    ):
        call("loud")


# --- recorders ----------------------------------------------------------------------------------------
def test_accumulators_warn(x):
    with ForwardAccumulator(x, xp.ones(3)) as accumulator:
        y, z = partly(x), wholly(x)
    with pytest.warns(TapeWarning, match=PART.format("derivative")):
        assert accumulator.jvp(y) is not None
    with pytest.warns(TapeWarning, match="derivative is None"):
        assert accumulator.jvp(z) is None


def test_accumulators_raise_where_they_are_told_to(x):
    with ForwardAccumulator(x, xp.ones(3), exits="raise") as accumulator:
        y = partly(x)
    with pytest.raises(LostGradientError, match="derivative"):
        accumulator.jvp(y)


def test_accumulators_are_silent_on_what_is_only_looked_at(x):
    with ForwardAccumulator(x, xp.ones(3)) as accumulator:
        y = only_looked_at(x)
    assert float(accumulator.jvp(y)) == 6.0


def test_jacobians_warn(x):
    with GradientTape() as tape:
        tape.watch(x)
        y = x * np.asarray(x)
    with pytest.warns(TapeWarning, match=PART.format("gradient")):
        tape.jacobian(y, x)


def test_an_outer_tape_warns_for_an_inner_gradient_that_left(x):
    with GradientTape() as outer:
        outer.watch(x)
        with GradientTape() as inner:
            inner.watch(x)
            y = xp.sum(x**3)
        z = xp.sum(x * np.asarray(inner.gradient(y, x)))
    with pytest.warns(TapeWarning, match=PART.format("gradient")):
        outer.gradient(z, x)


def test_a_part_that_is_lost_inside_recompute_grad_is_said(x):
    f = xp.recompute_grad(lambda x: x * float(x[0]))
    with pytest.warns(TapeWarning, match=r"test_modes\.py:\d+ \(float\(\)\), and what came of it"):
        taped(f, x)()


def test_looking_inside_recompute_grad_is_silent(x):
    assert taped(xp.recompute_grad(only_looked_at), x)().tolist() == [2.0, 2.0, 2.0]


def test_looking_inside_recompute_grad_is_silent_in_a_second_derivative_however_often(x):
    f, frames = xp.recompute_grad(lambda x: xp.exp(x) * (2.0 if float(x[0]) > 0 else 3.0)), []

    def second():
        frames.append(sys._getframe())  # kept, so that each call has a frame at another address
        with GradientTape() as outer:
            outer.watch(x)
            with GradientTape() as tape:
                tape.watch(x)
                y = f(x)
            g = tape.gradient(y, x)
            z = xp.sum(g * xp.asarray([1.0, 2.0, 3.0]))
        return outer.gradient(z, x)

    assert len({tuple(second().tolist()) for _ in range(4)}) == 1


def test_vmap_over_what_left_is_said(x):
    with pytest.warns(TapeWarning, match=PART.format("gradient")):
        taped(lambda x: xp.sum(xp.vmap(lambda v: v * float(x[0]))(x)), x)()


def test_workers_of_a_tape_count(x):
    def work(tape, x, out):
        with tape.in_this_thread():
            out.append(partly(x))

    with GradientTape() as tape:
        tape.watch(x)
        out = []
        thread = threading.Thread(target=work, args=(tape, x, out))
        thread.start()
        thread.join()
    with pytest.warns(TapeWarning, match=PART.format("gradient")):
        tape.gradient(out[0], x)


# --- messages -----------------------------------------------------------------------------------------
def message(f, x):
    with pytest.warns(TapeWarning) as found:
        taped(f, x)()
    (warning,) = found
    assert warning.filename == __file__
    return str(warning.message)


def test_the_message_names_both_lines_and_the_remedy(x):
    first = partly.__code__.co_firstlineno + 1
    assert message(partly, x) == (
        "a part of the gradient may be missing: the value left the tape at "
        f"{__file__}:{first} (float()), and what came of it went in again at {__file__}:{first}. Keep "
        "the computation in arraytape's own functions, or stop_gradient the value to say that this is "
        "meant (see https://github.com/arraytape/arraytape/blob/main/docs/howto/errors.md"
        "#value-left-the-tape)"
    )


def test_the_message_names_all_places_between_source_and_target(x):
    def f(x):
        a = float(x[0])
        b = x[1].item()
        return xp.sum(x * a) + xp.sum(x * b)

    first = f.__code__.co_firstlineno
    said = message(f, x)
    assert f":{first + 1} (float())" in said
    assert f":{first + 2} (item())" in said
    assert said.count(f":{first + 3}") == 1


def test_the_message_names_the_librarys_function_and_the_users_line(x):
    signal = pytest.importorskip("scipy.signal")

    def f(x):
        return xp.sum(x * xp.asarray(signal.savgol_filter(x, 3, 1)))

    said = message(f, x)
    assert f"{__file__}:{f.__code__.co_firstlineno + 1} (in scipy.signal" in said
    assert "savgol_filter, at " in said
    assert "Call scipy.signal.savgol_filter inside `with arraytape.interop.scipy():`" in said


def test_interop_is_the_remedy_where_it_has_a_rule_alone(x):
    mstats = pytest.importorskip("scipy.stats.mstats")  # on masked arrays
    linalg = pytest.importorskip("scipy.linalg")

    def known(x):
        return xp.sum(x * xp.asarray(linalg.expm(xp.diag(x)))[0])

    def unknown(x):
        return xp.sum(x * mstats.theilslopes(x)[0])

    def refused(x):
        return xp.sum(x * xp.asarray(linalg.schur(xp.diag(x))[0])[0])

    assert "Call scipy.linalg.expm inside `with arraytape.interop.scipy():`" in message(known, x)
    for function, name in ((unknown, "stats.theilslopes"), (refused, "linalg.schur")):
        said = message(function, x)
        assert f"Give scipy.{name}, of which arraytape.interop knows no derivative" in said


def test_the_remedy_is_that_of_the_module(x):
    said = message(lambda x: xp.sum(x * statistics.fmean(x)), x)
    assert "Use the function of arraytape's own: mean" in said


# --- function forms -----------------------------------------------------------------------------------
FORMS = {
    "grad": lambda f, x, **options: xp.grad(f, **options)(x),
    "value_and_grad": lambda f, x, **options: xp.value_and_grad(f, **options)(x),
    "jacobian": lambda f, x, **options: xp.jacobian(f, **options)(x),
    "jvp": lambda f, x, **options: xp.jvp(f, (x,), (xp.ones(3),), **options),
    "vjp": lambda f, x, **options: xp.vjp(f, x, **options)[1](xp.asarray(1.0)),
}
SECOND = {
    "hessian": lambda f, x, **options: xp.hessian(f, **options)(x),
    "hvp": lambda f, x, **options: xp.hvp(f, (x,), (xp.ones(3),), **options),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_lost_value_is_never_zeros(form, x):
    with pytest.raises(LostGradientError, match="would be zeros"):
        FORMS[form](wholly, x)


def test_zeros_for_what_is_only_looked_at(x):
    def f(x, w):
        print(float(x[0]))
        return xp.sum(w * w)

    by_x, _ = xp.grad(f, (0, 1))(x, xp.ones(2))
    assert by_x.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.filterwarnings("ignore::arraytape.TapeWarning")
@pytest.mark.parametrize("form", FORMS)
def test_verify_finds_what_is_lost_whatever_it_went_through(form, x):
    state = {}

    def f(x):
        exec("state['w'] = float(x[0])", {"state": state, "x": x})
        return xp.sum(x * state["w"])

    with pytest.raises(LostGradientError, match=rf"{form.rpartition('_')[2]}: along one direction"):
        FORMS[form](f, x, verify=True)


@pytest.mark.filterwarnings("ignore::arraytape.TapeWarning")
@pytest.mark.parametrize("form", SECOND)
def test_verify_finds_what_is_lost_of_second_derivatives(form, x):
    def f(x):
        return xp.sum(x**2 * float(x[0]) ** 2)

    with pytest.raises(LostGradientError, match="along one direction"):
        SECOND[form](f, x, verify=True)


@pytest.mark.parametrize("form", FORMS | SECOND)
def test_verify_is_content_with_what_is_right(form, x):
    (FORMS | SECOND)[form](lambda x: xp.sum(xp.sin(x) * x), x, verify=True)


@pytest.mark.parametrize("form", ["grad", "jacobian", "hessian"])
def test_verify_is_content_with_float32(form, x):
    (FORMS | SECOND)[form](lambda x: xp.sum(x**2), xp.astype(x, xp.float32), verify=True)


def test_verify_concludes_nothing_at_a_kink():
    xp.grad(lambda x: xp.sum(xp.abs(x)), verify=True)(xp.zeros(3))


def test_verify_with_nestings_and_several_arguments(x):
    def f(p, q):
        return xp.sum(p["a"] * q) + xp.sum(p["b"][0] ** 2)

    p = {"a": x, "b": [x * 2.0]}
    xp.grad(f, (0, 1), verify=True)(p, x)
    xp.jacobian(f, (0, 1), verify=True)(p, x)


def test_verify_of_complex_data():
    z = xp.asarray([1.0 + 2.0j, 0.5 - 1.0j])
    xp.grad(lambda z: xp.sum(xp.real(z * z * xp.conj(z))), verify=True)(z)


# --- what is paid -------------------------------------------------------------------------------------
def test_before_the_first_exit_records_go_by_a_lists_append(x):
    with GradientTape() as tape:
        tape.watch(x)
        xp.exp(x)
        recording = tape._recording
        assert recording.record == recording.records.append
        float(x[0])
        assert recording.record != recording.records.append
    with tape:
        pass
    tape.reset()
    assert recording.record == recording.records.append


def test_an_analysis_is_done_once_for_a_loop(x, monkeypatch):
    from arraytape._exits import flow

    count, analysis = [], flow.flow_of
    monkeypatch.setattr(flow, "KNOWN", {})
    monkeypatch.setattr(flow, "flow_of", lambda *given: count.append(1) or analysis(*given))
    assert taped(only_looked_at, x)() is not None
    first = len(count)
    for _ in range(5):
        assert taped(only_looked_at, x)() is not None
    assert first <= len(count) <= 2


def test_a_failing_analysis_fails_no_gradient(x, monkeypatch):
    from arraytape._exits import flow

    def fail(self, place):
        raise ZeroDivisionError

    monkeypatch.setattr(flow, "KNOWN", {})
    monkeypatch.setattr(flow.Flow, "run_analysis", fail)
    with pytest.warns(TapeWarning, match=PART.format("gradient")):
        assert taped(only_looked_at, x)() is not None


def test_globals_that_exec_was_given_may_go():
    """Places of exits are remembered, the data of the program are not."""
    program = """
with xp.GradientTape() as tape:
    tape.watch(x)
    float(x[0])
    y = xp.sum(x * 2.5)
tape.gradient(y, x)
"""
    names = {"xp": xp, "x": xp.asarray([1.25, 2.5]), "big": np.ones(10)}
    big = weakref.ref(names["big"])
    with pytest.warns(TapeWarning, match=PART.format("gradient")):  # there is no source
        exec(program, names)
    del names
    gc.collect()
    assert big() is None


# --- writes to copies ---------------------------------------------------------------------------------
class Held:
    """A table as xarray's: ``values`` is NumPy's."""

    def __init__(self, data):
        self.data = data

    @property
    def values(self):
        return np.asarray(self.data)


def write_an_element(y):
    np.asarray(y)[0] = 0.0


def write_to_a_property(y):
    Held(y).values[1:] += 2.0


def fill_all(y):
    np.asarray(y).fill(0.0)


def copy_to(y):
    np.copyto(np.asarray(y), 0.0)


def read_an_element(y):
    seen = {}
    seen["first"] = np.asarray(y)[0]
    np.asarray(y).sum()


@pytest.mark.parametrize("write", [write_an_element, write_to_a_property, fill_all, copy_to])
def test_a_write_to_a_copy_that_goes_is_said(write, x):
    def f(x):
        y = x * 2.0
        write(y)
        return xp.sum(y)

    with pytest.warns(TapeWarning, match="did not arrive, at .*test_modes"):
        assert taped(f, x)().tolist() == [2.0] * 3
    with pytest.warns(TapeWarning, match="write to the Array itself"):
        xp.grad(f)(x)


def test_reading_of_a_copy_is_no_write(x):
    def f(x):
        read_an_element(x)
        return xp.sum(x * 2.0)

    assert taped(f, x)().tolist() == [2.0] * 3


# --- values that leave as text ------------------------------------------------------------------------
AS_TEXT = {
    "str()": lambda x: float(str(x[0])),
    "str() of several": lambda x: float(str(x).strip("[]").split()[0]),
    "%s": lambda x: float("%s" % x[0]),  # noqa: UP031
    "format()": lambda x: float(f"{x[0]}"),
    "format() to 17 digits": lambda x: float(f"{x[0]:.17g}"),
    "str.format": lambda x: float("{}".format(x[0])),  # noqa: UP032
    "repr()": lambda x: float(repr(x[0]).removeprefix("Array(").partition(",")[0]),
}


@pytest.mark.parametrize("way", AS_TEXT)
def test_a_value_that_comes_back_from_text_is_told(way):
    x = xp.asarray([3.0, 2.0])
    with pytest.raises(xp.LostGradientError, match=r"left the tape at .*\((str|format|repr)\(\)"):
        xp.grad(lambda x: xp.sum(x) * AS_TEXT[way](x))(x)
    with GradientTape() as tape:
        tape.watch(x)
        y = xp.sum(x) * AS_TEXT[way](x)
    with pytest.warns(TapeWarning, match="left the tape"):
        tape.gradient(y, x)


def test_text_for_readers_is_no_loss():
    """Without a warning, which would be an error here."""
    x, said = xp.asarray([3.0, 2.0]), []

    def loss(x):
        y = xp.sum(x**2)
        said.append(f"{y:.3f} {y}")
        print(x, y, repr(x), file=io.StringIO())
        return y

    assert xp.grad(loss)(x).tolist() == [6.0, 4.0]
    assert said == ["13.000 13.0"]
    with GradientTape() as tape:
        tape.watch(x)
        y = loss(x)
    assert tape.gradient(y, x).tolist() == [6.0, 4.0]
