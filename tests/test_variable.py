"""Variable: state that tapes watch when it is read."""

import copy
import io
import pickle
import re
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import arraytape as xp
from arraytape import ForwardAccumulator, GradientTape, TapeWarning, Variable

pytestmark = pytest.mark.any_storage


@pytest.fixture
def v():
    return Variable(3.0, name="v")


def test_case_1_a_trainable_variable_is_watched_by_any_read(v, near):
    with GradientTape() as tape:
        y = v**2
    near(tape.gradient(y, v), 6.0)


def test_case_6_only_trainable_variables_are_watched_unasked(near):
    x0, x1 = Variable(3.0, name="x0"), Variable(3.0, name="x1", trainable=False)
    x2, x3 = Variable(2.0, name="x2") + 1.0, xp.asarray(3.0)
    with GradientTape() as tape:
        y = x0**2 + x1**2 + x2**2
    with pytest.warns(TapeWarning) as caught:
        gradients = tape.gradient(y, [x0, x1, x2, x3])
    near(gradients[0], 6.0)
    assert gradients[1:] == [None, None, None]
    for warning, why in zip(
        caught, ("the tape watches Variable 'x0'", "not this Array"), strict=True
    ):
        assert re.search(f"gradient is None: .*{why}", str(warning.message))
    assert [variable.name for variable in tape.watched_variables()] == ["x0"]


def test_case_7_without_watch_accessed_variables_nothing_is_watched_unasked(near):
    x0, x1 = Variable(0.0), Variable(10.0)
    with GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(x1)
        y = xp.sin(x0) + xp.logaddexp(x1, xp.asarray(0.0))
    with pytest.warns(TapeWarning, match="watch_accessed_variables=False"):
        gradients = tape.gradient(y, {"x0": x0, "x1": x1})
    assert gradients["x0"] is None
    near(gradients["x1"], 1.0 / (1.0 + np.exp(-10.0)))


@pytest.mark.filterwarnings("ignore:gradient is None")
def test_case_14_a_variable_that_became_an_array_is_not_watched(near):
    x = Variable(2.0)
    found = []
    for _ in range(2):
        with GradientTape() as tape:
            y = x + 1.0
        found.append(tape.gradient(y, x))
        x = x + 1.0
    near(found[0], 1.0)
    assert found[1] is None


def test_case_43_a_value_read_before_the_tape_is_a_constant(v):
    before = v.value()
    with GradientTape() as tape:
        y = before * before
    assert tape.gradient(y, v) is None


def test_case_54_pythons_max_of_variables(near):
    variables = [Variable(2.0), Variable(3.0), Variable(5.0)]
    with GradientTape() as tape:
        y = max(variables) * 1.0
    gradients = tape.gradient(y, variables)
    assert gradients[:2] == [None, None]
    near(gradients[2], 1.0)


def test_each_read_counts_with_its_own_value(v, near):
    with GradientTape() as tape:
        a = v * v
        v.assign(100.0)
        b = v * v
        y = a + b
    near(tape.gradient(y, v), 6.0 + 200.0)


def test_a_second_derivative_uses_the_value_of_the_read(v, near):
    with GradientTape() as outer:
        with GradientTape() as inner:
            y = v**3
        g = inner.gradient(y, v)
        v.assign(7.0)
    near(g, 27.0)
    near(outer.gradient(g, v), 18.0)


def test_a_view_of_a_variable_is_a_snapshot(near):
    w = Variable([[1.0, 2.0], [3.0, 4.0]])
    with GradientTape() as tape:
        part, turned = w[0], w.T
        w.assign(xp.zeros((2, 2)))
        y = xp.sum(part**2) + xp.sum(turned)
    near(part, [1.0, 2.0])
    near(turned, [[1.0, 3.0], [2.0, 4.0]])
    near(tape.gradient(y, w), [[3.0, 5.0], [1.0, 1.0]])


def test_writing_to_an_array_made_of_it_changes_no_variable(near):
    w = Variable([1.0, 2.0])
    with GradientTape() as tape:
        x = xp.asarray(w)
        x[0] = 10.0
        part = w[1:]
        part *= 2.0
        y = xp.sum(x) + xp.sum(part)
    near(w, [1.0, 2.0])
    near(tape.gradient(y, w), [0.0, 3.0])


def test_the_parameters_have_tensorflows_names_and_places():
    w = Variable(1, False, "count", xp.float32)
    assert (float(w), w.trainable, w.name, w.dtype) == (1.0, False, "count", xp.float32)
    w = Variable(initial_value=1.0)
    assert (w.trainable, w.name, w.dtype) == (True, "Variable", xp.float64)
    assert Variable(dtype=xp.float32, name="w", trainable=False, initial_value=1).name == "w"


def test_the_gradient_of_a_variable_that_was_never_read_is_none(v, near):
    other = Variable(1.0)
    with GradientTape(persistent=True) as tape:
        y = v * 2.0
    assert tape.gradient(y, other) is None
    assert [w.name for w in tape.watched_variables()] == ["v"]
    near(tape.gradient(y, other, unconnected_gradients="zero"), 0.0)


def test_watched_variables_are_listed_once_in_the_order_in_which_they_were_made():
    a, b, c = (Variable(1.0, name=name) for name in "abc")
    with GradientTape() as tape:
        tape.watch(c)
        b * a * b * c
    assert [w.name for w in tape.watched_variables()] == ["a", "b", "c"]


@pytest.mark.parametrize("method", ["gradient", "jacobian"])
def test_watched_variables_survive_the_release(v, method):
    with GradientTape() as tape:
        y = v * v
    getattr(tape, method)(y, v)
    assert tape.watched_variables() == (v,)


def test_watched_variables_are_none_after_a_reset_and_a_fresh_start(v):
    tape = GradientTape()
    assert tape.watched_variables() == ()
    with tape:
        v * v
        tape.reset()
        assert tape.watched_variables() == ()
        y = v * v
        assert tape.watched_variables() == (v,)
    tape.gradient(y, v)
    with tape:
        assert tape.watched_variables() == ()


READS = {
    "op": lambda w: w * 2.0,
    "function": lambda w: xp.exp(w),
    "asarray": lambda w: xp.asarray(w),
    "value": lambda w: w.value(),
    "index": lambda w: w[0],
    "view": lambda w: w[:1],
    "reshape": lambda w: xp.reshape(w, (2, 1)),
    "iteration": lambda w: list(w),
    "comparison": lambda w: w == 1.0,
    "float": lambda w: float(w[0]),
    "tolist": lambda w: w.tolist(),
    "NumPy": lambda w: np.asarray(w),
    "operand on the right": lambda w: 2.0 - w,
    "value that is written": lambda w: xp.zeros((2,)).__setitem__(slice(None), w),
}


@pytest.mark.parametrize("read", READS)
def test_any_read_of_a_trainable_variable_is_seen(read):
    w = Variable([1.0, 2.0])
    with GradientTape() as tape, GradientTape(watch_accessed_variables=False) as blind:
        READS[read](w)
    assert tape.watched_variables() == (w,)
    assert blind.watched_variables() == ()


@pytest.mark.filterwarnings("ignore:gradient is None")
def test_a_read_inside_stop_recording_or_in_another_thread_is_not_seen(v):
    with GradientTape() as tape:
        with tape.stop_recording():
            y = v * v
        with ThreadPoolExecutor(1) as pool:
            z = pool.submit(lambda: v * v).result()
        v.assign(v)
        copy.copy(v)
        repr(v), v.shape, v.dtype, v.name
    assert tape.watched_variables() == ()
    assert tape.gradient([y, z], v) is None


def test_a_variable_is_read_by_every_tape_that_is_open(v, near):
    with GradientTape() as outer, GradientTape() as inner:
        y = v * v
    near(inner.gradient(y, v), 6.0)
    near(outer.gradient(y, v), 6.0)


def test_a_variable_may_be_a_primal(v, near):
    with ForwardAccumulator(v, xp.asarray(1.0)) as accumulator:
        y = v * v
    near(accumulator.jvp(y), 6.0)


def test_an_integer_variable_has_no_gradient():
    n = Variable(2)
    with GradientTape() as tape:
        y = xp.astype(n, xp.float64) * 2.0
    with pytest.warns(TapeWarning, match="int64"):
        assert tape.gradient(y, n) is None


def test_copies_and_pickles_are_other_variables(v):
    for w in (copy.copy(v), copy.deepcopy(v), pickle.loads(pickle.dumps(v))):
        assert type(w) is Variable
        assert (w.name, w.trainable, float(w)) == ("v", True, 3.0)
        w.assign(4.0)
        assert float(v) == 3.0


def test_shape_dtype_and_device_are_an_arrays():
    w = Variable([[1, 2]], dtype=xp.float32)
    assert (w.shape, w.dtype, w.ndim, w.size) == ((1, 2), xp.float32, 2, 2)
    assert w.device == xp.zeros(1).device
    assert repr(w).startswith("Variable(Array([[1., 2.]]")
    assert xp.sum(w).dtype == xp.float32


def test_the_repr_of_a_variable_is_no_read():
    w = Variable(3.0)
    with xp.GradientTape() as tape:
        repr(w)
    assert tape.watched_variables() == ()


# --- looks that are no reads ------------------------------------------------------------------------
LOOKS = {
    "str": str,
    "repr": repr,
    "print": lambda v: print(v, file=io.StringIO()),
    "f-string": lambda v: f"{v}",
    "format": lambda v: format(v, ".2f"),
    "bool": bool,
    "shape": lambda v: (v.shape, v.ndim, v.size, v.dtype, v.device, v.nbytes, v.itemsize),
    "name": lambda v: (v.name, v.path, v.trainable),
    "namespace": lambda v: v.__array_namespace__(),
    "facts": lambda v: (np.shape(v), np.ndim(v), np.size(v)),
    "dtypes": lambda v: (xp.result_type(v), xp.finfo(v), xp.isdtype(v.dtype, "real floating")),
    "weak reference": weakref.ref,
    "pickle": pickle.dumps,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "assign": lambda v: v.assign(3.0),
    "assign_add": lambda v: v.assign_add(3.0),
    "in place": lambda v: v.__imul__(2.0),
}


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
def test_to_look_at_a_variable_is_no_read_of_it(look):
    v = xp.Variable(1.5)
    with xp.GradientTape() as tape, xp.GradientTape() as inner:
        look(v)
    assert tape.watched_variables() == inner.watched_variables() == ()


def test_the_length_and_text_of_variables_with_axes_are_no_reads():
    v = xp.Variable([1.0, 2.0])
    with xp.GradientTape() as tape:
        assert len(v) == 2
        assert str(v) == "[1. 2.]"
        assert f"{v}" == "[1. 2.]"
    assert tape.watched_variables() == ()
