"""on_gradient: a function that sees or replaces the gradient of a value."""

import gc
import weakref

import numpy as np
import pytest

import arraytape as xp
from arraytape import diagnose


def vector(*values):
    return xp.asarray(values or (0.5, 1.0, 2.0))


def test_it_sees_the_whole_gradient_of_a_value_once(near):
    x, seen = vector(), []
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.exp(x)
        diagnose.on_gradient(y, seen.append)
        z = xp.sum(y * y) + xp.sum(3.0 * y)
    found = tape.gradient(z, x)
    e = np.exp(np.asarray(x))
    assert len(seen) == 1
    assert type(seen[0]) is xp.Array
    near(seen[0], 2 * e + 3)
    near(found, (2 * e + 3) * e)


def test_what_it_gives_takes_the_place_of_the_gradient(near):
    x = vector()
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.exp(x)
        diagnose.on_gradient(y, lambda g: xp.clip(g, -4.0, 4.0))
        z = xp.sum(y * y)
    e = np.exp(np.asarray(x))
    near(tape.gradient(z, x), np.minimum(2 * e, 4.0) * e)


def test_of_a_source_of_a_target_and_of_a_value_that_is_asked_for(near):
    x = vector()
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = x * 2.0
        z = xp.sum(y)
        for value in (x, y, z):
            diagnose.on_gradient(value, lambda g: g * 10.0)
    gx, gy = tape.gradient(z, [x, y])
    near(gy, [100.0] * 3)
    near(gx, [2000.0] * 3)


def test_several_go_in_order_and_one_can_be_taken_away(near):
    x = vector()
    with xp.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = xp.sum(x)
        remove = diagnose.on_gradient(x, lambda g: g + 1.0)
        diagnose.on_gradient(x, lambda g: g * 10.0)
    near(tape.gradient(y, x), [20.0] * 3)
    remove()
    near(tape.gradient(y, x), [10.0] * 3)
    remove()


def test_a_value_without_a_gradient_calls_nothing():
    x, calls = vector(), []
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.exp(x)
        diagnose.on_gradient(y, calls.append)
        z = xp.sum(x)
    tape.gradient(z, x)
    assert calls == []


def test_a_second_derivative_goes_through_the_function(near):
    x = vector()
    with xp.GradientTape() as outer:
        outer.watch(x)
        with xp.GradientTape() as inner:
            inner.watch(x)
            y = x * x
            diagnose.on_gradient(y, lambda g: g * x)  # also of outer's own gradient
            z = xp.sum(y)
        g = inner.gradient(z, x)  # 2 x * x
    near(g, 2 * np.asarray(x) ** 2)
    near(outer.gradient(g, x), 4 * np.asarray(x))


def test_outer_tapes_that_follow_the_value_have_the_hook_too(near):
    x, seen = vector(), []
    with xp.GradientTape() as outer, xp.GradientTape() as inner:
        outer.watch(x)
        inner.watch(x)
        y = xp.exp(x)
        diagnose.on_gradient(y, seen.append)
        z = xp.sum(y)
    inner.gradient(z, x)
    outer.gradient(z, x)
    assert len(seen) == 2


def test_a_jacobian_calls_it_for_each_row(near):
    x, shapes = vector(), []
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.exp(x)
        diagnose.on_gradient(y, lambda g: shapes.append(g.shape) or g * 2.0)
        z = y * y
    e = np.exp(np.asarray(x))
    near(tape.jacobian(z, x), np.diag(4 * e * e))
    assert shapes == [(3,)] * 3


def test_it_acts_on_the_value_that_the_array_holds_then(near):
    x = vector()
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = x * 1.0
        diagnose.on_gradient(y, lambda g: g * 10.0)
        y[0] = 7.0
        z = xp.sum(y)
    near(tape.gradient(z, x), [0.0, 10.0, 10.0])


def test_of_a_variable(near):
    v = xp.Variable([1.0, 2.0])
    with xp.GradientTape() as tape:
        diagnose.on_gradient(v, lambda g: g * 10.0)
        z = xp.sum(v * v)
    near(tape.gradient(z, v), [20.0, 40.0])


USES = {
    "item": lambda v: v[0],
    "part": lambda v: v[:, 1:],
    "transposed": lambda v: v.T,
    "part of a part": lambda v: v[1:][:, 0],
    "rows": lambda v: next(iter(v)),
    "many steps": lambda v: v.T.T.T.T.T.T.T.T.T.T[0],
    "reshaped": lambda v: xp.reshape(v, (3, 1, 3)),
}


@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("use", USES)
def test_of_a_view_from_which_others_were_made_it_raises_and_of_a_copy_it_sees_all(
    use, early, near
):
    x, seen = xp.asarray(np.arange(9.0).reshape(3, 3)), []

    def gradient(of, keep):
        with xp.GradientTape() as tape:
            tape.watch(x)
            v = of(x * x)
            part = xp.sum(USES[use](v) ** 2) if early else 0.0
            diagnose.on_gradient(v, keep)
            y = part + xp.sum(v) + xp.sum(USES[use](v) ** 2)
        return tape.gradient(y, v if of is copied else x)

    def copied(h):
        return xp.asarray(xp.matrix_transpose(h), copy=True)

    with pytest.raises(ValueError, match=r"with a copy, x = xp.asarray\(x, copy=True\)"):
        gradient(xp.matrix_transpose, seen.append)
    assert not seen
    found = gradient(copied, seen.append)
    near(seen[0], found)


def test_of_a_view_and_of_its_root(near):
    x = vector()
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = x * 1.0
        part = y[1:]
        diagnose.on_gradient(part, lambda g: g * 10.0)
        diagnose.on_gradient(y, lambda g: g + 1.0)
        z = xp.sum(part) + xp.sum(y)
    near(tape.gradient(z, x), [2.0, 12.0, 12.0])


def test_of_complex_data(near):
    x = xp.asarray([1.0 + 2.0j])
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        diagnose.on_gradient(y, lambda g: g * 1j)
        z = xp.sum(xp.real(y))
    near(tape.gradient(z, x), 1j * np.conj(2 * np.asarray(x)))


def test_what_a_selection_left_out_stays_zero(near):
    x = xp.asarray([0.0, 4.0])
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.sqrt(x)
        diagnose.on_gradient(y, lambda g: g * 2.0)
        z = xp.sum(xp.where(x > 0.0, y, 0.0))
    near(tape.gradient(z, x), [0.0, 0.5])


def test_what_the_function_makes_other_than_zero_is_active():
    x = xp.asarray([0.0, 4.0])
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.sqrt(x)
        diagnose.on_gradient(y, lambda g: g + 1.0)
        z = xp.sum(xp.where(x > 0.0, y, 0.0))
    assert np.asarray(tape.gradient(z, x)).tolist() == [np.inf, 0.5]


def test_a_gradient_that_the_function_keeps_stays_as_it_was(near):
    x, seen = vector(), []
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = x * 1.0
        y[0] = 0.0  # its rule writes into the cotangent
        diagnose.on_gradient(y, seen.append)
        z = xp.sum(y * 2.0)
    near(tape.gradient(z, x), [0.0, 2.0, 2.0])
    near(seen[0], [2.0, 2.0, 2.0])


def test_to_write_to_what_it_is_given_changes_no_gradient(near):
    def spoil(g):
        g[...] = 0.0

    x = vector()
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = x * 3.0
        diagnose.on_gradient(y, spoil)
        z = xp.sum(y)
    near(tape.gradient(z, x), [3.0] * 3)


def test_inside_recompute_grad_the_result_has_the_hook(near):
    x = vector()
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.recompute_grad(xp.exp)(x)
        diagnose.on_gradient(y, lambda g: g * 2.0)
        z = xp.sum(y)
    near(tape.gradient(z, x), 2 * np.exp(np.asarray(x)))


def test_a_tape_that_is_used_up_lets_go_of_the_function():
    class Seen:
        def __call__(self, g):
            pass

    f, x = Seen(), vector()
    with xp.GradientTape() as tape:
        tape.watch(x)
        diagnose.on_gradient(x, f)
        z = xp.sum(x)
    tape.gradient(z, x)
    gone = weakref.ref(f)
    del f
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize(
    "wrong", [lambda g: g[:1], lambda g: xp.astype(g, xp.float32), lambda g: 1.0]
)
def test_something_else_is_an_error_and_the_tape_stays_usable(wrong, near):
    x = vector()
    with xp.GradientTape() as tape:
        tape.watch(x)
        remove = diagnose.on_gradient(x, wrong)
        z = xp.sum(x)
    with pytest.raises(ValueError, match=r"must return None or an Array of .* float64\(3,\), got"):
        tape.gradient(z, x)
    remove()
    near(tape.gradient(z, x), [1.0] * 3)


def test_errors():
    x = vector()
    with pytest.raises(TypeError, match="takes an Array, got float"):
        diagnose.on_gradient(1.0, print)
    with pytest.raises(TypeError, match="takes a function, got int"):
        diagnose.on_gradient(x, 1)
    with pytest.raises(ValueError, match="no tape that records here follows"):
        diagnose.on_gradient(x, print)
    with xp.GradientTape() as tape:
        with pytest.raises(ValueError, match="no tape that records here follows"):
            diagnose.on_gradient(x, print)
        part = x[1:]
        tape.watch(part)
        with pytest.raises(ValueError, match="is a watched view"):
            diagnose.on_gradient(part, print)


# --- several values -------------------------------------------------------------------------------
def test_one_function_sees_the_gradients_of_several_values_when_a_pass_is_done():
    x, seen = xp.asarray([1.0, 2.0]), []
    with xp.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y, z, w = xp.exp(x), xp.sin(x), xp.cos(x)
        remove = diagnose.on_gradient({"y": y, "more": [z, w]}, seen.append)
        both, first, other = xp.sum(y * z), xp.sum(y), xp.sum(w)
    tape.gradient(both, x)
    (one,) = seen
    np.testing.assert_allclose(np.asarray(one["y"]), np.sin([1.0, 2.0]))
    np.testing.assert_allclose(np.asarray(one["more"][0]), np.exp([1.0, 2.0]))
    assert one["more"][1] is None
    tape.gradient(first, x)
    tape.gradient(other, x)  # nothing of an earlier pass is left
    assert [g is None for g in (seen[1]["y"], *seen[1]["more"])] == [False, True, True]
    assert [g is None for g in (seen[2]["y"], *seen[2]["more"])] == [True, True, False]
    remove()
    tape.gradient(both, x)
    assert len(seen) == 3


def test_several_values_are_seen_to_second_order_and_in_an_outer_pass():
    x, seen = xp.asarray(0.5), []
    with xp.GradientTape() as outer:
        outer.watch(x)
        with xp.GradientTape() as tape:
            tape.watch(x)
            y, z = xp.exp(x), xp.sin(x)
            diagnose.on_gradient([y, z], seen.append)
            loss = y * z
        g = tape.gradient(loss, x)
    assert len(seen) == 1
    found = float(outer.gradient(g, x))
    np.testing.assert_allclose(found, 2.0 * np.exp(0.5) * np.cos(0.5))


@pytest.mark.parametrize(
    ("values", "f", "error", "says"),
    [
        (lambda y: [y, 1.0], print, TypeError, "takes an Array, got float"),
        (lambda y: [y, xp.ones(2)], print, ValueError, "no tape that records here follows"),
        (lambda y: [], print, ValueError, "there is no Array in list"),
        (lambda y: [y], lambda gs: gs[0], ValueError, "sees them and must give None"),
    ],
)
def test_several_values_that_cannot_be_seen_are_an_error_and_leave_no_hook(values, f, error, says):
    x = xp.asarray([1.0, 2.0])

    def run():
        with xp.GradientTape() as tape:
            tape.watch(x)
            y = xp.exp(x)
            diagnose.on_gradient(values(y), f)
        tape.gradient(y, x)

    with pytest.raises(error, match=says):
        run()
