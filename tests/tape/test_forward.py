"""ForwardAccumulator: TensorFlow's semantics, on programs that write and view."""

import threading

import numpy as np
import pytest

import arraytape as xp
from arraytape import ForwardAccumulator, GradientTape, testing

pytestmark = pytest.mark.any_storage


def values(tangent):
    return np.asarray(tangent).tolist()


@pytest.fixture
def x():
    return xp.asarray([1.0, 2.0, 3.0])


def along(*numbers):
    return xp.asarray(numbers)


def test_the_derivative_of_a_square():
    x = xp.asarray(3.0)
    with ForwardAccumulator(x, xp.asarray(1.0)) as accumulator:
        y = x * x
    assert float(accumulator.jvp(y)) == 6.0


def test_nested_accumulators_give_higher_derivatives():
    x, one = xp.asarray(1.1), xp.asarray(1.0)
    with ForwardAccumulator(x, one) as outer, ForwardAccumulator(x, one) as inner:
        y = x**3.5
        first = inner.jvp(y)
    np.testing.assert_allclose(float(first), 3.5 * 1.1**2.5)
    np.testing.assert_allclose(float(outer.jvp(y)), 3.5 * 1.1**2.5)
    np.testing.assert_allclose(float(outer.jvp(first)), 3.5 * 2.5 * 1.1**1.5)
    assert inner.jvp(outer.jvp(y)) is None


def test_forward_over_reverse_is_a_hessian_vector_product():
    v = xp.asarray([1.0, 2.0])
    with ForwardAccumulator(v, along(1.0, 0.0)) as accumulator:
        with GradientTape() as tape:
            tape.watch(v)
            loss = xp.sum(v**3)
        g = tape.gradient(loss, v)
    assert values(g) == [3.0, 12.0]
    assert values(accumulator.jvp(g)) == [6.0, 0.0]


def test_reverse_over_forward_is_the_same_product():
    v = xp.asarray([1.0, 2.0])
    with GradientTape() as tape:
        tape.watch(v)
        with ForwardAccumulator(v, along(1.0, 0.0)) as accumulator:
            loss = xp.sum(v**3)
        slope = accumulator.jvp(loss)
    assert values(tape.gradient(slope, v)) == [6.0, 0.0]


def test_jvp_may_be_asked_again_and_of_any_nesting(x):
    with ForwardAccumulator(x, along(1.0, 0.0, 2.0)) as accumulator:
        y, z = x * 2.0, {"sum": xp.sum(x)}
    assert values(accumulator.jvp(y)) == values(accumulator.jvp(y)) == [2.0, 0.0, 4.0]
    both = accumulator.jvp([y, z])
    assert values(both[0]) == [2.0, 0.0, 4.0]
    assert float(both[1]["sum"]) == 3.0


def test_writing_to_an_answer_changes_no_tangent(x):
    with ForwardAccumulator(x, along(1.0, 1.0, 1.0)) as accumulator:
        y = x * 2.0
    accumulator.jvp(y)[...] = 100.0
    assert values(accumulator.jvp(y)) == [2.0, 2.0, 2.0]


def test_several_primals_add_up(x):
    w = xp.asarray([2.0, 2.0, 2.0])
    with ForwardAccumulator([x, w], [along(1.0, 0.0, 0.0), along(0.0, 1.0, 0.0)]) as accumulator:
        y = x * w
    assert values(accumulator.jvp(y)) == [2.0, 2.0, 0.0]


def test_what_the_primals_do_not_reach_is_none_or_zeros(x):
    other = xp.asarray([1.0, 1.0])
    with ForwardAccumulator(x, along(1.0, 1.0, 1.0)) as accumulator:
        y = other * 2.0
        cut = xp.floor(x)
        stopped = xp.stop_gradient(x)
    assert accumulator.jvp([y, cut, stopped]) == [None, None, None]
    assert values(accumulator.jvp(y, unconnected_gradients="zero")) == [0.0, 0.0]


def test_what_runs_outside_the_block_is_not_seen(x):
    with ForwardAccumulator(x, along(1.0, 1.0, 1.0)) as accumulator:
        y = x * 2.0
    assert accumulator.jvp(y * 2.0) is None


def test_another_thread_is_not_seen_and_a_warning_says_so(x):
    results = []
    with ForwardAccumulator(x, along(1.0, 1.0, 1.0)) as accumulator:
        thread = threading.Thread(target=lambda: results.append(x * 2.0))
        thread.start()
        thread.join()
    with pytest.warns(xp.TapeWarning, match=r"is None: .* \(in another thread\)"):
        assert accumulator.jvp(results[0]) is None


def test_an_accumulator_may_be_entered_again(x):
    accumulator = ForwardAccumulator(x, along(1.0, 1.0, 1.0))
    with accumulator:
        y = x * 2.0
    with accumulator:
        z = y * 3.0
    assert values(accumulator.jvp(z)) == [6.0, 6.0, 6.0]
    with accumulator, pytest.raises(ValueError, match="active"):
        accumulator.__enter__()


def test_an_exception_leaves_the_stack_as_it_was(x):
    accumulator = ForwardAccumulator(x, along(1.0, 1.0, 1.0))
    doubled = []

    def fails():
        with accumulator:
            doubled.append(x * 2.0)
            xp.linalg.outer(x, xp.ones((2, 2)))

    with pytest.raises(ValueError, match="needs two vectors"):
        fails()
    assert values(accumulator.jvp(doubled[0])) == [2.0, 2.0, 2.0]
    assert accumulator.jvp(x * 2.0) is None


def program(x):
    z = xp.zeros((4,))
    z[1:] = x**2
    view = z[::2]
    view *= x[0]
    z[z > 8.0] = 1.0
    z[xp.asarray([0, 0])] = x[:2]
    z += 1.0
    for i in range(1, 4):
        z[i] = z[i] * z[i - 1]
    return xp.reshape(z, (2, 2)).T


def test_writes_and_views_carry_tangents():
    testing.check_jvp(program, [np.asarray([0.5, 1.5, 2.5])], rtol=1e-6)
    testing.check_vjp(program, [np.asarray([0.5, 1.5, 2.5])], rtol=1e-6)
    testing.check_gradients(
        lambda x: xp.sum(program(x) ** 3), [np.asarray([0.5, 1.5, 2.5])], rtol=1e-6
    )


def test_what_an_inner_tape_kept_before_a_write_has_its_old_tangent():
    def written(x):
        h = xp.asarray(x, copy=True)
        h[1] = h[0] * 2.0
        kept = xp.sum(h**3)  # this tape keeps h as it is now
        h[0] = h[1] * x[2]
        h[xp.asarray([2, 0, 2])] *= x
        return kept * xp.sum(h**2)

    inputs = [np.asarray([0.5, 1.5, -0.8])]
    testing.check_gradients(written, inputs, order=2, rtol=1e-6)
    (expected,) = testing.curvature(written, inputs, [np.asarray([1.0, 10.0, -3.0])])
    x = xp.asarray(inputs[0])
    with ForwardAccumulator(x, along(1.0, 10.0, -3.0)) as accumulator:
        g = xp.grad(written)(x)
    np.testing.assert_allclose(np.asarray(accumulator.jvp(g)), expected, rtol=1e-12)


def test_an_array_written_into_itself_by_a_key_that_names_elements_twice():
    key = xp.asarray([2, 0, 0])

    def written(x):
        x = x * 1.0
        x[1] = 3.0 * x[0]
        x[key] = x
        return x

    testing.check_jvp(written, [np.asarray([0.5, 1.5, -0.8])], rtol=1e-6)


def test_a_view_may_be_a_primal():
    root = xp.asarray([1.0, 2.0, 3.0, 4.0])
    view = root[1:3]
    with ForwardAccumulator(view, along(1.0, 10.0)) as accumulator:
        y = root * root
        z = view * 3.0
    assert values(accumulator.jvp(y)) == [0.0, 4.0, 60.0, 0.0]
    assert values(accumulator.jvp(z)) == [3.0, 30.0]


def test_what_is_not_selected_has_tangent_zero():
    x = xp.asarray([0.0, 4.0])
    with ForwardAccumulator(x, along(1.0, 1.0)) as accumulator, np.errstate(all="ignore"):
        y = xp.where(x > 0, xp.sqrt(x), 0.0)
        top = xp.max(xp.sqrt(x))
    assert values(accumulator.jvp(y)) == [0.0, 0.25]
    assert float(accumulator.jvp(top)) == 0.25


def test_several_results_and_broadcasting():
    a = np.asarray([[2.0, 1.0], [1.0, 3.0]])
    testing.check_jvp(
        lambda x, b: (*xp.linalg.slogdet(x), x + b, xp.concat([x, x @ x])), [a, np.ones(2)]
    )
    testing.check_vjp(
        lambda x, b: (*xp.linalg.slogdet(x), x + b, xp.concat([x, x @ x])), [a, np.ones(2)]
    )


def test_tangents_keep_shape_and_dtype():
    x = xp.asarray([1.0, 2.0], dtype=xp.float32)
    with ForwardAccumulator(x, xp.ones_like(x)) as accumulator:
        y = x + xp.zeros((3, 2), dtype=xp.float32)
        z = x * xp.asarray(1.0 + 2.0j, dtype=xp.complex64)
    assert accumulator.jvp(y).shape == (3, 2)
    assert accumulator.jvp(y).dtype == xp.float32
    assert accumulator.jvp(z).dtype == xp.complex64


@pytest.mark.parametrize(
    ("primals", "tangents", "error", "says"),
    [
        (lambda x: [x, x], lambda x: [x, x], ValueError, "twice"),
        (lambda x: x, lambda x: x[:2], ValueError, r"float64\(2,\).*float64\(3,\)"),
        (lambda x: x, lambda x: xp.astype(x, xp.float32), ValueError, "float32"),
        (lambda x: [x], lambda x: [x, x], ValueError, "tangents"),
        (lambda x: 2.0, lambda x: 2.0, TypeError, "float"),
        (lambda x: x, lambda x: None, TypeError, "tangent"),
        (lambda x: xp.asarray([1]), lambda x: xp.asarray([1]), ValueError, "int64"),
    ],
)
def test_what_does_not_fit_is_said(x, primals, tangents, error, says):
    with pytest.raises(error, match=says):
        ForwardAccumulator(primals(x), tangents(x))


def test_an_accumulator_that_was_never_entered_has_no_derivative(x):
    accumulator = ForwardAccumulator(x, x)
    with pytest.raises(RuntimeError, match="never recorded: enter it with"):
        accumulator.jvp(x * 2.0)
    with accumulator:
        y = x * 2.0
    assert values(accumulator.jvp(y)) == [2.0, 4.0, 6.0]


def test_a_target_must_be_an_array(x):
    accumulator = ForwardAccumulator(x, x)
    with pytest.raises(TypeError, match="every target must be an Array"):
        accumulator.jvp(1.0)
    with pytest.raises(ValueError, match="unconnected_gradients"):
        accumulator.jvp(x, unconnected_gradients="maybe")


@pytest.mark.parametrize("turned", [False, True])
def test_primals_that_share_memory_move_it_together(turned):
    root = xp.asarray([1.0, 2.0, 3.0])
    pairs = [
        (root, along(1.0, 1.0, 1.0)),
        (root[1:], along(10.0, 10.0)),
        (root[:2], along(5.0, 7.0)),
    ]
    pairs = pairs[::-1] if turned else pairs
    with ForwardAccumulator([x for x, _ in pairs], [t for _, t in pairs]) as accumulator:
        y = root * root
    assert values(accumulator.jvp(y)) == [2.0 * 6.0, 4.0 * 18.0, 6.0 * 11.0]


@pytest.mark.parametrize("order", ["C", "F"])
def test_of_repeated_writes_the_tangent_of_the_lasting_one_counts(order):
    key = xp.asarray([[0, 1], [1, 0]])
    v = xp.asarray(np.asarray([[1.0, 2.0], [3.0, 4.0]], order=order))

    def f(v):
        z = xp.zeros((3,))
        z[key] = v * 1.0
        return xp.sum(z * along(1.0, 10.0, 100.0))

    with ForwardAccumulator(v, xp.asarray([[1.0, 2.0], [3.0, 5.0]])) as accumulator:
        y = f(v)
    with GradientTape() as tape:
        tape.watch(v)
        z = f(v)
    g = np.asarray(tape.gradient(z, v))
    assert float(accumulator.jvp(y)) == np.sum(g * [[1.0, 2.0], [3.0, 5.0]])


@pytest.mark.parametrize("join", [xp.stack, xp.concat])
def test_the_tangent_of_joined_arrays_has_the_joint_dtype(join):
    x, double = xp.asarray([1.0, 2.0], dtype=xp.float32), xp.asarray([3.0, 4.0])
    with ForwardAccumulator(x, xp.ones_like(x)) as accumulator:
        y = join([x * x, double])
    assert accumulator.jvp(y).dtype == y.dtype == xp.float64
    np.testing.assert_array_equal(np.ravel(np.asarray(accumulator.jvp(y))), [2.0, 4.0, 0.0, 0.0])
