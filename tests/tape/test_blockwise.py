"""Large elementwise records go back block by block: the bits of the plain pass, in less new memory."""

import numpy as np
import pytest

import arraytape as xp
from arraytape import GradientTape
from arraytape._storage import numpy_namespace
from arraytape._tape import blockwise
from helpers.peaks import peak_of


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Arrays of any size are cut; how many contributions were computed in blocks."""
    for name, value in {"HUGE": 1, "BLOCK": 3, "LARGE": 1, "SMALL_BLOCK": 3}.items():
        monkeypatch.setattr(blockwise, name, value)
    monkeypatch.setattr(numpy_namespace, "SMALL", 0)  # a sum's cotangent is one number, repeated
    found = {"cut": 0}
    run = blockwise.BlockwiseCall.write_blocks

    def counted(self, rule, into, size):
        done = run(self, rule, into, size)
        found["cut"] += done
        return done

    monkeypatch.setattr(blockwise.BlockwiseCall, "write_blocks", counted)
    return found


def gradients(f, sources, frugal, persistent=False, weights=None):
    with GradientTape(persistent=persistent) as tape:
        tape.watch(sources)
        y = f(*sources)
    tape._recording.frugal = frugal
    return tape.gradient(y, sources, output_gradients=weights)


def bits(g):
    data = np.asarray(g)
    return data.dtype, data.shape, np.ascontiguousarray(data).tobytes()


def of_same_bits(f, *sources, **options):
    found = gradients(f, sources, True, **options)
    for a, b in zip(found, gradients(f, sources, False, **options), strict=True):
        assert bits(a) == bits(b)


def laid_out(data, layout):
    return {
        "C": lambda: xp.asarray(np.ascontiguousarray(data)),
        "F": lambda: xp.asarray(np.asfortranarray(data)),
        "turned": lambda: xp.matrix_transpose(xp.asarray(np.ascontiguousarray(data.T))),
        "strided": lambda: xp.asarray(np.repeat(data, 2, axis=1))[:, ::2],
        "reversed": lambda: xp.asarray(np.ascontiguousarray(data[::-1]))[::-1, :],
    }[layout]()


PROGRAMS = {
    "one number": lambda x, y: xp.sum(-x) - xp.sum(y - x),
    "a product below a sum": lambda x, y: xp.sum(x * y),
    "a square below a sum": lambda x, y: xp.sum(x * x) + xp.sum(y + y),
    "several contributions": lambda x, y: xp.sum(xp.tanh(x) * xp.exp(y) + x * y - xp.sin(x)),
    "rows": lambda x, y: xp.sum(x / xp.sum(xp.exp(y), axis=1, keepdims=True) * y),
    "columns": lambda x, y: xp.sum((x - xp.sum(y, axis=0)) ** 2 * xp.cos(y)),
    "of one operand": lambda x, y: xp.sum((x[:, :1] * y) ** 3 - xp.sin(y) * x[:1, :]),
    "weak numbers": lambda x, y: xp.sum(2.0 * xp.tanh(x) / 3.0 - (1.5 - y) ** 3),
    "a softmax": lambda x, y: xp.sum(
        (x - xp.log(xp.sum(xp.exp(x), axis=1, keepdims=True))) * xp.tanh(y)
    ),
    "handed on twice": lambda x, y: xp.sum(xp.exp((x + y) + (x - y))),
    "the mean": lambda x, y: xp.mean(xp.logaddexp(x, y) * xp.sqrt(y * y + 1.0)),
}


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("layouts", ["CC", "FF", "CF", "FC"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_bits_are_those_of_the_plain_pass(program, layouts, dtype):
    rng = np.random.default_rng(0)
    data = [rng.normal(size=(7, 4)).astype(dtype) for _ in "xy"]
    sources = [laid_out(one, layout) for one, layout in zip(data, layouts, strict=True)]
    of_same_bits(PROGRAMS[program], *sources)
    of_same_bits(PROGRAMS[program], *sources, persistent=True)


@pytest.mark.parametrize("layout", ["turned", "strided", "reversed"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_views_of_any_layout(program, layout):
    data = np.random.default_rng(1).normal(size=(2, 7, 4))
    of_same_bits(PROGRAMS[program], laid_out(data[0], layout), laid_out(data[1], "C"))


@pytest.mark.parametrize("shape", [(1,), (1, 1), (1, 5), (5, 1), (0, 3), (2, 3, 4), ()])
def test_shapes(shape):
    x, y = (xp.asarray(data) for data in np.random.default_rng(2).normal(size=(2, *shape)))
    of_same_bits(lambda x, y: xp.sum(xp.tanh(x * y) - y * x), x, y)


def test_cotangents_of_the_user_s_are_not_written_to():
    x = xp.asarray([0.5, 1.0, 2.0, 3.0])
    weights = xp.asarray([1.0, 2.0, 3.0, 4.0])
    for f in (lambda x: xp.tanh(x), lambda x: x + 1.0, lambda x: x * 1.5, lambda x: -x):
        of_same_bits(f, x, weights=weights)
        np.testing.assert_array_equal(np.asarray(weights), [1.0, 2.0, 3.0, 4.0])


def test_what_the_records_keep_is_not_written_to():
    x, y = xp.asarray([0.5, 1.0, 2.0, 3.0]), xp.asarray([1.0, 2.0, 3.0, 4.0])
    with GradientTape(persistent=True) as tape:
        tape.watch([x, y])
        h = x * y
        z = xp.sum(h * xp.exp(x) - h)
    tape._recording.frugal = True
    first = [bits(g) for g in tape.gradient(z, [x, y, h])]
    assert [bits(g) for g in tape.gradient(z, [x, y, h])] == first
    np.testing.assert_array_equal(np.asarray(h), [0.5, 2.0, 6.0, 12.0])
    np.testing.assert_array_equal(np.asarray(y), [1.0, 2.0, 3.0, 4.0])


def test_gradients_may_be_written_to_and_are_apart():
    x, y = xp.asarray([0.5, 1.0, 2.0, 3.0]), xp.asarray([1.0, 2.0, 3.0, 4.0])
    gx, gy = gradients(lambda x, y: xp.sum(x * y), [x, y], True)
    gx += 1.0
    np.testing.assert_array_equal(np.asarray(y), [1.0, 2.0, 3.0, 4.0])
    gx, gy = gradients(lambda x, y: xp.sum(xp.exp(x + y)), [x, y], True)
    expected = np.array(gy)
    gx += 1.0
    np.testing.assert_array_equal(np.asarray(gy), expected)


def test_a_selection_is_guarded():
    x = xp.asarray([0.0, 4.0, 9.0, 0.0, 1.0])
    (g,) = gradients(lambda x: xp.sum(xp.where(x > 0, xp.sqrt(x), 0.0) * 2.0), [x], True)
    np.testing.assert_allclose(np.asarray(g), [0.0, 0.5, 1 / 3, 0.0, 1.0])


def test_higher_orders_and_complex_data_go_the_plain_way(small_blocks):
    x = xp.asarray([0.3, 0.5, 0.7, 0.9])
    with GradientTape() as outer:
        outer.watch(x)
        (g,) = gradients(lambda x: xp.sum(xp.sin(x)), [x], True)
        s = xp.sum(g)
    np.testing.assert_allclose(np.asarray(outer.gradient(s, x)), -np.sin(np.asarray(x)))
    z = xp.asarray([0.3 + 1j, 0.5, 0.7j, 0.9])
    of_same_bits(lambda z: xp.sum(xp.real(xp.exp(z) * z)), z)
    assert small_blocks["cut"] == 0


def test_rules_are_run_in_blocks(small_blocks):
    x = xp.asarray(np.linspace(0.0, 1.0, 10))
    gradients(lambda x: xp.sum(xp.exp(xp.tanh(x))), [x], True)
    assert small_blocks["cut"] == 1  # tanh: exp hands on what it keeps
    gradients(lambda x: xp.sum(xp.tanh(x)), [x], False)
    assert small_blocks["cut"] == 1


def test_a_frugal_pass_makes_few_arrays(monkeypatch):
    monkeypatch.undo()
    n = 100_000
    X, y = xp.asarray(np.ones((n, 2))), xp.asarray(np.ones(n))

    def step(frugal):
        def run():
            w = xp.ones(2)
            with GradientTape(persistent=True) as tape:
                tape.watch(w)
                z = X @ w
                loss = xp.sum(xp.logaddexp(z, xp.zeros_like(z)) - y * z)
            tape._recording.frugal = frugal
            return tape.gradient(loss, w)

        return run

    plain, frugal = (peak_of(step(one), warm=True) for one in (False, True))
    assert frugal < plain - 8 * n
