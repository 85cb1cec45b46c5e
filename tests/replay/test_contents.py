"""What a replayed function may contain: each kind of it, traced on some inputs, replayed on others."""

import warnings

import numpy as np
import pytest

import arraytape as xp
from arraytape import optimizers
from helpers.replaying import bits, replayed

CALLS = 5


def arrays(*shapes, dtype="f8", layout=lambda x: x):
    """The arguments of some calls, positive numbers all."""

    def call(number):
        def arguments():
            rng = np.random.default_rng(number)
            found = []
            for shape in shapes:
                x = rng.random(shape) + 0.1
                x = x + 1j * rng.random(shape) if np.dtype(dtype).kind == "c" else x
                found.append(xp.asarray(layout(x.astype(dtype))))
            return found

        return arguments

    return [call(number) for number in range(CALLS)]


def with_gradient(f):
    def function(*given):
        with xp.GradientTape() as tape:
            tape.watch(given)
            y = f(*given)
        return y, tape.gradient(y, given)

    return function


def cube(x):
    return xp.sum(xp.sin(x) ** 3 * x)


@xp.custom_gradient
def scaled(x):
    return x * x, lambda g: g * 3.0 * x


recomputed = xp.recompute_grad(lambda x: xp.sin(x) * xp.exp(x))


def writes(x, y):
    x[1:] += y[1:]
    part = y[::2]
    part *= 2.0
    y[0] = x[0]
    return xp.sum(x * y)


def out_parameters(x, y):
    np.add(x, y, out=x)
    np.multiply(x, 2.0, out=y, where=x > 0.7)
    return np.sum(x) * y


def squares_of_a_diagonal(x):
    diagonal = np.linalg.diagonal(x)
    rows, _ = np.meshgrid(diagonal, np.positive(diagonal), indexing="xy")
    rows *= rows
    return rows


def an_exception_inside(x):
    x[0] = 7.0
    try:
        xp.reshape(x, (3, 3))
    except ValueError:
        x[1] = 8.0
    return x + 1.0


def slices_by_arrays(x, i):
    first = xp.argmin(i)
    return x[first : first + 2] * 2.0


SOLVED = {
    "jacobian": (xp.jacobian(lambda x: xp.sin(x) * x[0]), arrays(4)),
    "hessian": (xp.hessian(cube), arrays(3)),
    "hvp": (lambda x, v: xp.hvp(cube, (x,), (v,)), arrays(4, 4)),
    "jvp": (lambda x, v: xp.jvp(cube, (x,), (v,)), arrays(4, 4)),
    "third order": (xp.grad(xp.grad(xp.grad(lambda x: xp.sin(x) * x**4))), arrays(())),
    "vmap": (lambda x, w: xp.vmap(lambda row: xp.tanh(w @ row))(x), arrays((5, 3), (2, 3))),
    "vmap of grad": (xp.vmap(xp.grad(cube)), arrays((5, 3))),
    "a key under vmap": (
        xp.vmap(lambda x: xp.sum(x[xp.asarray([0, 2, 0]), :])), arrays((2, 3, 2)),
    ),
    "custom_gradient": (with_gradient(lambda x: xp.sum(scaled(x))), arrays(3)),
    "recompute_grad": (with_gradient(lambda x: xp.sum(recomputed(recomputed(x)))), arrays(3)),
    "stop_gradient": (with_gradient(lambda x: xp.sum(xp.stop_gradient(x) * x)), arrays(3)),
    "the guarded rerun": (
        with_gradient(lambda x: xp.sum(xp.where(x > 0.5, xp.sqrt(x - 0.5), 0.0))), arrays(30),
    ),
    "complex": (with_gradient(lambda x, y: xp.sum(xp.abs(xp.exp(x) * y))), arrays(3, 3, dtype="c16")),
    "float32": (with_gradient(lambda x, y: xp.sum(xp.exp(x) * y / 3)), arrays(3, 3, dtype="f4")),
    "empty": (with_gradient(lambda x: xp.sum(xp.exp(x) * x)), arrays((0, 3))),
    "0-d": (with_gradient(lambda x, y: xp.exp(x) * y / 3), arrays((), ())),
    "Fortran's order": (
        with_gradient(lambda x: xp.sum(x @ x) + xp.sum(x.ravel(order="K") ** 3)),
        arrays((4, 4), layout=np.asfortranarray),
    ),
    "broadcast": (
        with_gradient(lambda x: xp.sum(np.broadcast_to(x, (4, 3)) ** 2 + x.reshape(3, 1)[:, 0])),
        arrays(3),
    ),
    "writes": (writes, arrays(4, 4)),
    "out=": (out_parameters, arrays(4, 4)),
    "an exception inside": (an_exception_inside, arrays(4)),
    "special": (
        with_gradient(lambda x: xp.sum(xp.special.gammaln(x) + xp.special.erf(x))), arrays(4),
    ),
    "NumPy's statistics": (
        with_gradient(lambda x: np.median(x) + np.percentile(x, 30) + np.std(x) + np.cov(x)), arrays(9),
    ),
    "creation": (
        with_gradient(lambda x: xp.sum(xp.eye(4) @ x * xp.arange(4.0) + xp.full((4,), 2.0) * x)),
        arrays(4),
    ),
    "a copy of what is read-only": (squares_of_a_diagonal, arrays((1, 1))),
    "empty memory": (lambda x: np.vander(x, 3), arrays(3)),
}  # fmt: skip


@pytest.mark.parametrize("name", SOLVED)
def test_it_is_replayed_but_for_rounding(name):
    function, calls = SOLVED[name]
    with np.errstate(all="ignore"):
        outcome = replayed(function, calls, near=1e-12)
    assert outcome.replayed == CALLS - 2, outcome.reasons


@pytest.mark.usefixtures("with_all_bits")
@pytest.mark.parametrize("name", SOLVED)
def test_it_is_replayed_bit_for_bit(name):
    function, calls = SOLVED[name]
    with np.errstate(all="ignore"):
        outcome = replayed(function, calls)
    assert outcome.replayed == CALLS - 2, outcome.reasons
    assert outcome.exact


def test_a_slice_by_arrays_is_guarded():
    calls = [
        lambda n=n: [xp.asarray(np.random.default_rng(n).random(5)), xp.asarray([n, 1, 3])]
        for n in (0, 0, 0, 2, 2, 2, 0)
    ]
    outcome = replayed(slices_by_arrays, calls)
    assert outcome.exact
    assert outcome.replayed == 3


def test_a_nan_that_comes_and_goes():
    def call(zero):
        return lambda: [xp.asarray([0.0 if zero else 2.0, 3.0])]

    f = with_gradient(lambda x: xp.sum(xp.where(x > 0, xp.sqrt(x), 0.0)))
    outcome = replayed(f, [call(zero) for zero in (0, 0, 0, 1, 1, 1, 0)])
    assert outcome.exact
    assert outcome.replayed == 3


def test_a_view_as_argument_is_written_through():
    def call(number):
        def arguments():
            whole = xp.asarray(np.random.default_rng(number).random((3, 4)))
            return [whole[1], xp.asarray(np.ones(4))]

        return arguments

    outcome = replayed(lambda x, y: writes(x, y) + xp.sum(x), [call(n) for n in range(CALLS)])
    assert outcome.replayed == CALLS - 2
    assert outcome.exact


# --- ops of users -------------------------------------------------------------------------------------
FORWARDS = {
    "a namespace": lambda x, xp: x / (1 + xp.abs(x)),
    "NumPy's functions": lambda x: np.divide(x, 1 + np.abs(x)),
    "methods": lambda x: x.copy().__truediv__(1 + x.__abs__()),
}
RULES = {
    "a namespace": lambda t, x, xp: t / (1 + xp.abs(x)) ** 2,
    "NumPy's functions": lambda t, x: np.divide(t, np.square(1 + np.where(x > 0, x, -x))),
    "methods": lambda t, x: (t / (1 + abs(x)) ** 2).reshape(x.shape) * x.clip(1.0, 1.0),
}


@pytest.mark.parametrize("forward", FORWARDS)
@pytest.mark.parametrize("rule", RULES)
def test_ops_of_users(forward, rule, registered):
    op = registered(FORWARDS[forward], "elementwise", RULES[rule])
    outcome = replayed(with_gradient(lambda x: xp.sum(op(x) * x)), arrays(3))
    assert outcome.replayed >= CALLS - 3  # the first call of an op compiles it
    assert outcome.exact


@pytest.fixture
def registered():
    """``define_op`` under names that are free again afterwards."""
    from arraytape._record.op import REGISTRY

    names = []

    def define(forward, word, rule):
        names.append(f"replayed_op_{len(names)}")
        return xp.define_op(names[-1], forward, word, rule)

    yield define
    for name in names:
        del REGISTRY[name]


def test_an_op_with_random_numbers_draws_anew_in_each_replay(registered):
    rng = np.random.default_rng(0)
    noise = registered(lambda x: x + rng.random(x.shape), "elementwise", lambda t: t)
    function = xp.function(lambda x: noise(x) - noise(x))
    found = [function(xp.asarray(np.ones(2))) for _ in range(CALLS)]
    assert function.counts["replayed"] >= CALLS - 3
    assert len({bits(x) for x in found}) == CALLS


# --- state --------------------------------------------------------------------------------------------
OPTIMIZERS = {
    "SGD": lambda: optimizers.SGD(0.1),
    "momentum": lambda: optimizers.SGD(0.1, 0.9),
    "Adam": lambda: optimizers.Adam(0.01),
}


def trained(make, dtype, wrap):
    """All that steps of an optimizer gave and changed; the learning rate falls on the way."""
    rng = np.random.default_rng(0)
    weights = [xp.Variable(rng.random((3, 2)).astype(dtype)), xp.Variable(np.ones(2, dtype))]
    optimizer = make()

    @wrap
    def step(x):
        with xp.GradientTape() as tape:
            loss = xp.sum(xp.abs(xp.tanh(x @ weights[0] + weights[1])))
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        return loss

    losses = []
    for i in range(8):
        if i == 6:
            optimizer.learning_rate = 0.005
        losses.append(step(xp.asarray(np.random.default_rng(i).random((4, 3)).astype(dtype))))
    return [bits(x) for x in (*losses, *weights, optimizer.iterations)], step


@pytest.mark.usefixtures("with_all_bits")
@pytest.mark.parametrize("dtype", ["f8", "f4", "c16", "c8"])
@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.every(5)
def test_steps_of_optimizers(name, dtype):
    expected, _ = trained(OPTIMIZERS[name], dtype, lambda f: f)
    found, step = trained(OPTIMIZERS[name], dtype, xp.function)
    assert found == expected
    assert step.counts == {"traced": 3, "replayed": 5, "eager": 0}  # the first makes the slots


def test_the_first_step_of_an_optimizer_with_slots_is_as_the_second():
    weights = [xp.Variable(np.ones(2)), xp.Variable(np.zeros(3))]
    optimizer = optimizers.Adam(0.1)
    optimizer.build(weights)

    @xp.function
    def step():
        with xp.GradientTape() as tape:
            loss = sum(xp.sum(w * w) for w in weights)
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))

    for _ in range(3):
        step()
    assert step.counts == {"traced": 2, "replayed": 1, "eager": 0}


def test_an_optimizer_of_a_user_is_given_numbers():
    class Mine(optimizers.Optimizer):
        def update(self, g, variable, slots, rate, step):
            given.append((type(rate), type(step)))
            variable.assign_sub(rate * g / step)

    given = []
    variable = xp.Variable(1.0)
    xp.function(lambda g: Mine(0.1).apply_gradients([(g, variable)]))(xp.asarray(1.0))
    assert given == [(float, int)]


# --- other code ---------------------------------------------------------------------------------------
def test_a_warning_has_the_users_line():
    function = xp.function(lambda x: xp.log(x))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function(xp.asarray([-1.0]))
    assert [(w.category, w.filename) for w in caught] == [(RuntimeWarning, __file__)]


@pytest.mark.usefixtures("with_all_bits")
def test_scipy():
    from scipy import special, stats

    def f(x):
        return special.logsumexp(x) + xp.sum(special.softmax(x) ** 2) + stats.skew(x)

    outcome = replayed(with_gradient(f), arrays(9))
    assert outcome.replayed == CALLS - 2
    assert outcome.exact


@pytest.mark.usefixtures("with_all_bits")
def test_scikit_learn():
    sklearn = pytest.importorskip("sklearn")
    from sklearn.linear_model import Ridge
    from sklearn.preprocessing import StandardScaler

    def f(x, y):
        scaled = StandardScaler().fit_transform(x)
        return xp.mean((Ridge(alpha=0.5, solver="svd").fit(scaled, y).predict(scaled) - y) ** 2)

    with sklearn.config_context(array_api_dispatch=True), np.errstate(all="ignore"):
        outcome = replayed(with_gradient(f), arrays((20, 3), 20))
    assert outcome.replayed == CALLS - 2
    assert outcome.exact


# --- memory outside arraytape -------------------------------------------------------------------------
def test_memory_outside_is_read_anew_and_written_at_once():
    memory = np.ones(3)

    def f(x):
        shared = xp.asarray(memory, copy=False)
        shared += x
        shared[0] = x[0]
        return shared * 2.0

    found = [np.asarray(xp.function(f)(xp.asarray([1.0, 2.0, 3.0]))).tolist() for _ in range(3)]
    assert found == [[2.0, 6.0, 8.0], [2.0, 10.0, 14.0], [2.0, 14.0, 20.0]]
    assert memory.tolist() == [1.0, 7.0, 10.0]


@pytest.mark.filterwarnings("ignore:function .*not replayed:arraytape.TapeWarning")
def test_an_index_array_that_changes():
    key = np.array([0, 1])

    def f(x):
        return x[key] + xp.asarray([1.0, 1.0])[key]

    function = xp.function(f)
    for i in range(8):
        key[0] = i // 4
        x = xp.asarray(np.arange(2.0) + i)
        np.testing.assert_array_equal(np.asarray(function(x)), np.asarray(f(x)))
    assert function.counts["replayed"] >= 2


@pytest.mark.parametrize("key", ["xp.argmax(i)", "(xp.argmax(i), None)", "(..., xp.argmax(i))"])
def test_parts_at_an_index_that_was_computed_are_views(key):
    def f(x, i):
        part = x[eval(key, {"xp": xp, "i": i})]
        part *= 10.0
        return +x

    g = xp.function(f)
    for last in (1.0, 1.0, 1.0, 5.0, 5.0, 5.0):
        i = xp.asarray([2.0, last])
        expected = f(xp.asarray(np.ones((2, 2))), i)
        x = xp.asarray(np.ones((2, 2)))
        assert g(x, i).tolist() == expected.tolist() == x.tolist()
    assert g.counts["replayed"] == 2, g.reasons


def test_second_derivatives_of_what_is_written_at_an_array():
    def f(x, i):
        with xp.GradientTape() as outer:
            outer.watch(x)
            with xp.GradientTape() as inner:
                inner.watch(x)
                y = x * x
                y[i] = 0.0
                z = xp.sum(y * y)
            total = xp.sum(inner.gradient(z, x))
        return outer.gradient(total, x)

    g = xp.function(f)
    for scale in range(1, 5):
        x, i = xp.asarray([1.0, 2.0, 3.0]) * scale, xp.asarray([0, 0])
        assert g(x, i).tolist() == f(x, i).tolist()
    assert g.counts["replayed"] == 2
