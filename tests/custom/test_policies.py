"""Policies of recompute_grad: which results the first run keeps and the second takes."""

import contextlib
import threading
import tracemalloc

import numpy as np
import pytest

import arraytape as xp
from arraytape import ForwardAccumulator, GradientTape, diagnose, testing
from arraytape._record.mode_stack import MODES, modes_here
from helpers.same_gradients import gradients, same_bits

pytestmark = pytest.mark.any_storage


@pytest.fixture(autouse=True)
def no_mode_stays():
    yield
    assert not MODES
    assert not modes_here()


@pytest.fixture
def counted():
    """A matrix product that counts in a list how often it is computed."""
    calls = []

    def product(x1, x2):
        calls.append(1)
        return x1 @ x2

    op = xp.define_op(
        "product",
        product,
        "primitive",
        lambda g, x2, xp: g @ xp.matrix_transpose(x2),
        lambda g, x1, xp: xp.matrix_transpose(x1) @ g,
    )
    return op, calls


@pytest.fixture
def a():
    return xp.asarray([[0.3, -0.4], [1.1, 0.2]])


def layer(product):
    return lambda x, w: xp.tanh(product(xp.sin(x), w)) * x


# --- what runs, and what is kept --------------------------------------------------------------------
def test_an_op_of_the_policy_runs_once_and_the_others_twice(counted, a):
    product, calls = counted
    for policy, runs in ((None, 2), ([xp.sin], 2), ([product], 1)):
        calls.clear()
        f = xp.recompute_grad(layer(product), policy=policy)
        same_bits(gradients(f, a, a), gradients(layer(xp.matmul), a, a))
        assert len(calls) == runs


def test_the_second_run_computes_nothing_that_was_kept_in_any_mode(counted, a):
    product, calls = counted
    f = xp.recompute_grad(layer(product), policy=[product])
    with GradientTape(persistent=True) as tape:
        tape.watch(a)
        y = f(a, a)
    for _ in range(3):
        tape.gradient(y, a)
    tape.jacobian(y, a)
    assert len(calls) == 1
    calls.clear()
    with ForwardAccumulator(a, a), ForwardAccumulator(a, a):
        f(a, a)
    # Each accumulator runs f again, and the tangents of the product are products of their own.
    in_tangents = len(calls) - 1
    calls.clear()
    with ForwardAccumulator(a, a), ForwardAccumulator(a, a):
        xp.recompute_grad(layer(product))(a, a)
    assert len(calls) == in_tangents + 3


def test_operators_and_functions_are_the_same_op(a):
    kinds = []

    def policy(op, result, *operands):
        kinds.append((op, result.shape, *[getattr(x, "shape", x) for x in operands]))
        return True

    f = xp.recompute_grad(lambda x: 2.0 / (x @ x[0]) + xp.matmul(x, x)[0], policy=policy)
    f(a)
    assert kinds == []  # nobody records
    gradients(f, a)
    assert kinds == [
        (xp.matmul, (2,), (2, 2), (2,)),
        (xp.divide, (2,), 2.0, (2,)),
        (xp.matmul, (2, 2), (2, 2), (2, 2)),
        (xp.add, (2,), (2,), (2,)),
    ]


def test_a_policy_is_told_layouts_and_what_it_says_counts(a):
    seen = []

    def policy(op, result, *operands):
        if op is xp.linalg.svd:
            assert [(part.shape, part.nbytes) for part in result] == [
                ((2, 2), 32),
                ((2,), 16),
                ((2, 2), 32),
            ]
        if op is xp.concat:
            assert [part.shape for part in operands[0]] == [(2, 2), (2,)]
        seen.append(op.__name__)
        return isinstance(result, tuple)

    def f(x):
        u, s, vh = xp.linalg.svd(x)
        return xp.sum(xp.concat([u * s, s], axis=None) ** 2) + xp.sum(vh[0])

    same_bits(gradients(xp.recompute_grad(f, policy=policy), a), gradients(f, a))
    assert {"svd", "concat", "multiply", "sum"} <= {*seen}
    same_bits(gradients(xp.recompute_grad(f, policy=policy), a, order=2), gradients(f, a, order=2))


@pytest.mark.usefixtures("host_memory")
def test_kept_are_the_inputs_and_the_results_of_the_policy():
    x, w = (xp.asarray(np.linspace(-1.0, 1.0, 40_000).reshape(200, 200)) for _ in range(2))

    def f(x, w):
        for _ in range(5):
            x = xp.exp(-(xp.tanh(x @ w) ** 2.0))
        return x

    def kept_by(f):
        tracemalloc.start()
        tape = GradientTape()
        with tape:
            tape.watch([x, w])
            y = xp.sum(f(x, w))
        kept, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return kept, repr(tape), y

    one = x.size * 8
    inputs, _, _ = kept_by(xp.recompute_grad(f))
    products, said, _ = kept_by(xp.recompute_grad(f, policy=[xp.matmul]))
    assert 4.9 * one < products - inputs < 5.1 * one
    assert "2.2 MB" in said  # two inputs and five products
    large, _, _ = kept_by(xp.recompute_grad(f, policy=lambda op, y, *_: y.nbytes > one))
    assert abs(large - inputs) < 0.3 * one  # caches of other parts count, too


@pytest.mark.usefixtures("host_memory")
def test_what_is_kept_goes_with_the_tape():
    f = xp.recompute_grad(layer(xp.matmul), policy=[xp.matmul])
    gradients(f, xp.ones((2, 2)), xp.ones((2, 2)))  # caches of first uses are not the tape's
    tracemalloc.start()
    big = xp.asarray(np.zeros((300, 300)))
    before, _ = tracemalloc.get_traced_memory()
    gradients(f, big, big)
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert after - before < 100_000


# --- the same derivatives -----------------------------------------------------------------------------
def test_writes_to_what_is_kept_stay_in_their_run(a):
    def f(x):
        h = x @ x
        part = h[0]
        h += 1.0
        part *= x[0]
        h[1, :] = 3.0 * x[1]
        total = xp.sum(h)
        other = total
        total += 1.0  # a new scalar, as in NumPy
        return h * total + other

    policy = [xp.matmul, xp.sum, xp.multiply]
    g = xp.recompute_grad(f, policy=policy)
    for order in (1, 2):
        same_bits(gradients(g, a, order=order), gradients(f, a, order=order))
    with GradientTape(persistent=True) as tape:
        tape.watch(a)
        y = g(a)
    same_bits([tape.gradient(y, a)], [tape.gradient(y, a)])
    same_bits([y], [f(a)])


def test_writes_of_numpy_to_what_is_kept_stay_in_their_run():
    x = xp.asarray([[0.3, -0.4], [1.1, 0.2]], device="cpu")

    def f(x):
        h = xp.stop_gradient(x) @ xp.stop_gradient(x)
        np.asarray(h)[0] = 5.0
        return x * h

    g = xp.recompute_grad(f, policy=[xp.matmul])
    same_bits(gradients(g, x), gradients(f, x))
    same_bits(gradients(g, x), gradients(f, x))


def test_the_caller_may_write_to_a_result_that_is_kept(a):
    g = xp.recompute_grad(lambda x: x @ x, policy=[xp.matmul])
    with GradientTape(persistent=True) as tape:
        tape.watch(a)
        y = g(a)
        z = testing.total(y**2)
        y *= 100.0
    same_bits([tape.gradient(z, a)], gradients(lambda x: (x @ x) ** 2, a))


def test_policies_in_each_other(counted, a):
    product, calls = counted
    bare = lambda x: layer(product)(layer(xp.matmul)(x, x), x)  # noqa: E731
    expected = [gradients(bare, a, order=order) for order in (1, 2)]
    for inner in (None, [product], [xp.tanh], lambda *_: True):
        for outer in (None, [product], [xp.tanh], lambda *_: True):
            part = xp.recompute_grad(layer(product), policy=inner)
            f = xp.recompute_grad(
                lambda x, part=part: part(layer(xp.matmul)(x, x), x), policy=outer
            )
            same_bits(gradients(f, a), expected[0])
            same_bits(gradients(f, a, order=2), expected[1])
    calls.clear()
    part = xp.recompute_grad(layer(product), policy=[product])
    gradients(xp.recompute_grad(lambda x: part(x, x), policy=[product]), a)
    assert len(calls) == 1


def test_a_gradient_inside_the_function(a):
    def f(x):
        with GradientTape() as tape:
            tape.watch(x)
            y = xp.sum(xp.sin(x @ x) * x)
        g = tape.gradient(y, x)
        with ForwardAccumulator(x, g) as accumulator:
            z = xp.sum((g @ x) ** 2)
        return z * accumulator.jvp(z)

    for policy in ([xp.matmul], lambda *_: True, lambda op, *_: op is xp.multiply):
        g = xp.recompute_grad(f, policy=policy)
        for order in (1, 2):
            same_bits(gradients(g, a, order=order), gradients(f, a, order=order))


def test_functions_with_gradients_of_their_own_inside(a, log1pexp):
    @xp.custom_gradient
    def square(x):
        y = x @ x
        return y, lambda dy: dy @ x.mT + x.mT @ dy

    f = lambda x: log1pexp(square(x)) * x  # noqa: E731
    for policy in ([xp.matmul], [xp.exp], lambda *_: True):
        for order in (1, 2):
            g = xp.recompute_grad(f, policy=policy)
            same_bits(gradients(g, a, order=order), gradients(f, a, order=order))


def test_vmap_around_and_inside(a):
    f = lambda x: xp.tanh(a @ x) * xp.sum(x * x)  # noqa: E731
    for policy in ([xp.matmul], lambda *_: True):
        g = xp.recompute_grad(f, policy=policy)
        for way in (xp.vmap, lambda f: xp.vmap(xp.grad(lambda x: xp.sum(f(x)))), xp.jacobian):
            same_bits([way(g)(a)], [way(xp.recompute_grad(f))(a)])
        around = [lambda x, h=h: xp.vmap(h)(x) for h in (g, xp.recompute_grad(f))]
        same_bits(gradients(around[0], a), gradients(around[1], a))
        inside = [
            lambda x: xp.vmap(f)(x) @ x,
            xp.recompute_grad(lambda x: xp.vmap(f)(x) @ x, policy=policy),
        ]
        for order in (1, 2):
            same_bits(gradients(inside[1], a, order=order), gradients(inside[0], a, order=order))


def test_hessian_vector_products_and_forward_mode(a):
    for policy in ([xp.matmul, xp.exp], lambda *_: True):
        f = xp.recompute_grad(lambda x: xp.sum(xp.exp(xp.sin(x) @ x)), policy=policy)
        testing.check_gradients(f, [np.asarray([[0.3, -0.4], [1.1, 0.2]])])
        testing.check_jvp(f, [np.asarray([[0.3, -0.4], [1.1, 0.2]])])
        bare = xp.recompute_grad(lambda x: xp.sum(xp.exp(xp.sin(x) @ x)))
        same_bits(xp.hvp(f, (a,), (a,)), xp.hvp(bare, (a,), (a,)))
        same_bits([xp.hessian(f)(a)], [xp.hessian(bare)(a)])


@pytest.mark.parametrize("dtype", [xp.float32, xp.complex64, xp.complex128], ids=str)
def test_other_dtypes(dtype, a):
    x = xp.astype(a, dtype) * xp.asarray(
        1.0 + (0.5j if "complex" in str(dtype) else 0.0), dtype=dtype
    )
    f = lambda x: xp.real(xp.sum(xp.exp(x @ x) * xp.conj(x)))  # noqa: E731
    for policy in ([xp.matmul, xp.exp], lambda *_: True):
        for order in (1, 2):
            g = xp.recompute_grad(f, policy=policy)
            same_bits(gradients(g, x, order=order), gradients(f, x, order=order))


def test_variables_watched_arrays_and_keywords(a):
    w, v = xp.Variable([[0.5, 0.1], [0.2, -0.3]]), xp.asarray([0.4, 0.6])

    def f(x, *, scale):
        return xp.tanh((x @ w) @ scale) * v

    def found(f):
        with GradientTape() as outer:
            with GradientTape() as tape:
                tape.watch([a, v])
                outer.watch([a, v])
                y = xp.sum(f(a, scale=a * 2.0))
            g = tape.gradient(y, [w, a, v])
            total = sum(xp.sum(part**2) for part in g)
        return [*g, *outer.gradient(total, [w, a, v])]

    for policy in ([xp.matmul], lambda *_: True):
        same_bits(found(xp.recompute_grad(f, policy=policy)), found(xp.recompute_grad(f)))
    with GradientTape() as tape:
        y = xp.recompute_grad(f, policy=[xp.matmul])(a, scale=a)
    w.assign(a)
    with pytest.raises(RuntimeError, match="was assigned to since"):
        tape.gradient(y, w)


def test_numpys_functions_and_exits_inside():
    x = xp.asarray([[0.3, -0.4], [1.1, 0.2]], device="cpu")

    def f(x):
        h = np.matmul(x, x) + np.linalg.solve(x, np.ones(2))
        return np.sum(np.exp(h)) * (2.0 if float(h[0, 0]) > 0 else 3.0)

    for policy in ([xp.matmul, xp.linalg.solve], lambda *_: True):
        for order in (1, 2):
            same_bits(
                gradients(xp.recompute_grad(f, policy=policy), x, order=order),
                gradients(f, x, order=order),
            )


def test_saved_data_packed_by_ops_of_the_policy(a):
    f = xp.recompute_grad(lambda x: xp.exp(x * x) * x, policy=[xp.multiply])
    with diagnose.saved_data(lambda x: x * 2.0, lambda x: x * 0.5):
        found = gradients(f, a, order=2)
    same_bits(found, gradients(lambda x: xp.exp(x * x) * x, a, order=2))


def test_an_op_whose_forward_runs_ops(a):
    def forward(x):
        return np.asarray(xp.asarray(x) @ xp.asarray(x))

    op = xp.define_op("squared", forward, "primitive", lambda g, x: g @ x.mT + x.mT @ g)
    x = xp.asarray([[0.3, -0.4], [1.1, 0.2]], device="cpu")
    f = lambda x: op(x) @ x + op(x @ x)  # noqa: E731
    for policy in ([op], [xp.matmul], [op, xp.matmul], lambda *_: True):
        same_bits(gradients(xp.recompute_grad(f, policy=policy), x), gradients(f, x))


def test_data_on_another_device(fake_cupy):
    cupy = fake_cupy()
    x = xp.asarray(cupy.asarray([[0.3, -0.4], [1.1, 0.2]]))
    f = lambda x: xp.tanh(x @ x) * xp.sum(x)  # noqa: E731
    expected = [g.to_device("cpu") for g in gradients(f, x)]
    for policy in ([xp.matmul], lambda *_: True):
        found = gradients(xp.recompute_grad(f, policy=policy), x)
        same_bits([g.to_device("cpu") for g in found], expected)


# --- what goes wrong --------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("second", "message"),
    [
        (lambda x: x @ x[0] @ x, r"call 1 of matmul got \(float64\(2, 2\), float64\(2,\)\) where"),
        (lambda x: x + 1.0, "matmul ran 0 times where it had run 1 times"),
        (lambda x: x @ x @ x, "matmul ran 2 times where it had run 1 times"),
    ],
)
def test_a_second_run_that_does_something_else_is_an_error(second, message, a):
    runs = [lambda x: x @ x, second]
    f = xp.recompute_grad(lambda x: runs.pop(0)(x), policy=[xp.matmul])
    with GradientTape() as tape:
        tape.watch(a)
        y = f(a)
    with pytest.raises(RuntimeError, match=message):
        tape.gradient(y, a)


def test_other_options_in_the_second_run_are_an_error(a):
    axes = [0, 1]
    f = xp.recompute_grad(lambda x: xp.sum(x * x, axis=axes.pop(0)), policy=[xp.sum])
    with GradientTape() as tape:
        tape.watch(a)
        y = f(a)
    with pytest.raises(RuntimeError, match="call 1 of sum got"):
        tape.gradient(y, a)


def test_failures_leave_nothing_behind_and_the_second_run_can_be_tried_again(counted, a):
    product, calls = counted
    fails = [False, True, False]

    def f(x):
        with contextlib.suppress(ValueError):
            product(x, x[:1])
        y = product(x, x)
        if fails.pop(0):
            raise ZeroDivisionError
        return y

    g = xp.recompute_grad(f, policy=[product])
    with GradientTape() as tape:
        tape.watch(a)
        y = g(a)
    with pytest.raises(ZeroDivisionError):
        tape.gradient(y, a)
    same_bits(
        [tape.gradient(y, a)], [(g := np.ones((2, 2))) @ np.asarray(a.mT) + np.asarray(a.mT) @ g]
    )
    assert len(calls) == 4  # the one that fails in each run, and one

    def no(op, result, *operands):
        raise KeyError("a policy")

    with GradientTape() as tape:
        tape.watch(a)
        with pytest.raises(KeyError, match="a policy"):
            xp.recompute_grad(lambda x: x @ x, policy=no)(a)


@pytest.mark.parametrize(
    ("policy", "error", "message"),
    [
        ([xp.einsum], ValueError, "got einsum, which is composed of other ops"),
        (xp.tensordot, ValueError, "got tensordot, which is composed of other ops"),
        ([np.matmul], ValueError, "got matmul, which is no op of arraytape"),
        (["matmul"], ValueError, "got str 'matmul'"),
        ("matmul", ValueError, "got str 'm'"),
        (3, TypeError, "a policy is a collection of ops"),
    ],
)
def test_what_is_no_policy(policy, error, message):
    with pytest.raises(error, match=message):
        xp.recompute_grad(lambda x: x, policy=policy)
    with pytest.raises(error, match=message):
        xp.recompute_grad(policy=policy)


def test_a_function_is_needed():
    with pytest.raises(TypeError, match="a function is needed"):
        xp.recompute_grad(None)
    with pytest.raises(TypeError, match="a function is needed"):
        xp.recompute_grad(3, policy=[xp.matmul])


def test_as_a_decorator(counted, a):
    product, calls = counted

    @xp.recompute_grad(policy=product)
    def f(x):
        """A product."""
        return product(x, x)

    assert (f.__name__, f.__doc__) == ("f", "A product.")
    gradients(f, a)
    assert len(calls) == 1


# --- modes ------------------------------------------------------------------------------------------
def test_other_threads_go_on_while_a_policy_runs(counted, a):
    product, calls = counted
    step, go_on = threading.Event(), threading.Event()
    fresh = xp.define_op("fresh", lambda x: x * 3.0, "linear", lambda g: g * 3.0)
    found = []

    def f(x):
        y = product(x, x)
        step.set()
        assert go_on.wait(20)
        return fresh(y)

    def work():
        found.append(gradients(xp.recompute_grad(f, policy=lambda *_: True), a))

    thread = threading.Thread(target=work)
    thread.start()
    assert step.wait(20)
    here = gradients(lambda x: fresh(product(x, x)) * 2.0, a)  # not compiled before
    go_on.set()
    thread.join()
    same_bits([2.0 * g for g in found[0]], here)
    assert len(calls) == 2


def test_warnings_of_an_op_that_a_policy_sees_have_the_users_line():
    x = xp.asarray([0.0, 1.0], device="cpu")
    f = xp.recompute_grad(lambda x: xp.log(x) * 1.0, policy=[xp.multiply, xp.log])
    with GradientTape() as tape:
        tape.watch(x)
        with pytest.warns(RuntimeWarning, match="divide by zero") as caught:
            y = f(x)
    assert [w.filename for w in caught] == [__file__]
    assert y.shape == (2,)


def test_a_policy_beside_lines_and_in_a_replay(counted, a):
    product, calls = counted
    f = xp.recompute_grad(layer(product), policy=[product])
    expected = gradients(f, a, a)
    calls.clear()
    with diagnose.lines() as seen:
        same_bits(gradients(f, a, a), expected)
    assert len(calls) == 1
    assert [step.name for step in seen.steps].count("product") >= 1
    f = xp.recompute_grad(layer(xp.matmul), policy=[xp.matmul])
    step, expected = xp.function(lambda x, w: gradients(f, x, w)), gradients(f, a, a)
    for _ in range(3):
        same_bits(step(a, a), expected)


def test_a_generator_inside_a_function_with_a_policy(counted, a):
    product, calls = counted

    def parts(x):
        for factor in (1.0, 2.0):
            yield product(x, x) * factor

    f = xp.recompute_grad(lambda x: sum(parts(x)), policy=[product])
    found = gradients(f, a)
    assert len(calls) == 2
    same_bits(found, gradients(lambda x: sum(parts(x)), a))
