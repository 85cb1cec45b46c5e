"""vmap: axes, writes, tapes inside and outside, and what it refuses."""

import pickle

import numpy as np
import pytest

import arraytape as xp
from arraytape import GradientTape, grad, vmap
from helpers.batches import RNG, A, B, W, by_loop, close


# --- what it does ---------------------------------------------------------------------------------
def test_axes_are_taken_in_and_put_out():
    x, y = xp.asarray(A[0, :, :2]), xp.asarray(B[0])
    found = vmap(lambda x, y: x * y, (1, None), 1)(x, y)
    np.testing.assert_array_equal(np.asarray(found), A[0, :, :2] * B[0][:, None])
    found = vmap(lambda p: {"s": p["a"] + p["b"]}, ({"a": 0, "b": -1},))({"a": x, "b": x.T})
    np.testing.assert_array_equal(np.asarray(found["s"]), 2 * A[0, :, :2])
    first, second = vmap(lambda x: (x, x), 0, (0, -1))(x)
    np.testing.assert_array_equal(np.asarray(first), np.asarray(second).T)
    np.testing.assert_array_equal(np.asarray(vmap(lambda x, k: x * k)(x, k=2.0)), 2 * A[0, :, :2])


def test_shapes_inside_are_those_of_one_example():
    seen = []

    def f(x):
        seen.append((x.shape, x.ndim, x.size, len(x), x.dtype, x.device))
        assert x.dtype == xp.float64
        return x

    vmap(f)(xp.asarray(A))
    assert seen == [((3, 3), 2, 9, 3, np.float64, "cpu")]


def test_a_functions_writes_to_its_arguments_stay_its_own():
    x = xp.asarray(B)

    def f(x):
        x[0] = 7.0
        return x

    found = vmap(f)(x)
    np.testing.assert_array_equal(np.asarray(x), B)
    found[0, 0] = 9.0
    np.testing.assert_array_equal(np.asarray(vmap(lambda x: x)(x)), B)


def test_a_functions_writes_to_what_is_shared_stay_its_own():
    x, w = xp.asarray(B), xp.zeros((3,))

    def f(x, w):
        w[1:] += x[:2] ** 2
        return w * x

    found = vmap(f, (0, None))(x, w)
    assert np.asarray(w).tolist() == [0.0, 0.0, 0.0]
    np.testing.assert_allclose(np.asarray(found)[:, 1:], B[:, :2] ** 2 * B[:, 1:])
    slope = grad(lambda w: xp.sum(vmap(f, (0, None))(x, w)))(w)
    np.testing.assert_allclose(np.asarray(slope), B.sum(axis=0))


def test_a_result_that_is_the_same_for_all_examples_is_repeated():
    w = xp.asarray([1.0, 2.0])
    found = vmap(lambda x: w * 2.0)(xp.asarray(B))
    assert np.asarray(found).tolist() == [[2.0, 4.0]] * 4
    slope = grad(lambda w: xp.sum(vmap(lambda x: w * 2.0)(xp.asarray(B))))(w)
    assert np.asarray(slope).tolist() == [8.0, 8.0]


def test_results_are_independent_of_their_source():
    x = xp.asarray(B)
    y = vmap(lambda x: x)(x)
    y[0, 0] = 9.0
    x[1, 1] = 8.0
    assert float(x[0, 0]) == B[0, 0]
    assert float(y[1, 1]) == B[1, 1]


def test_per_example_gradients_of_a_net():
    X, Y = xp.asarray(RNG.normal(size=(8, 3))), xp.asarray(RNG.normal(size=(8, 2)))
    w = {"w": W, "b": xp.zeros(2)}

    def loss(w, x, y):
        return xp.sum((xp.tanh(x @ w["w"] + w["b"]) - y) ** 2)

    found = vmap(grad(loss), (None, 0, 0))(w, X, Y)
    for i in range(8):
        expected = grad(loss)(w, X[i, :], Y[i, :])
        close(found["w"][i, ...], expected["w"])
        close(found["b"][i, ...], expected["b"])
    whole = grad(lambda w: xp.sum(vmap(loss, (None, 0, 0))(w, X, Y)))(w)
    close(whole["w"], np.asarray(found["w"]).sum(axis=0))


def test_a_tape_inside_gives_one_gradient_for_each_example():
    w = xp.asarray(2.0)

    def f(x):
        with GradientTape() as tape:
            tape.watch(w)
            y = xp.sum(w**2 * x)
        return tape.gradient(y, w)

    np.testing.assert_allclose(np.asarray(vmap(f)(xp.asarray(B))), 4.0 * B.sum(axis=1))


def test_one_output_gradient_serves_all_examples():
    g = xp.asarray([1.0, 2.0])

    def written(a, b):
        z = xp.zeros((3, 3))
        z[xp.asarray([0, 2]), 1] = b[:2]
        z[0, xp.asarray([0, 2])] += a[0, :2]
        return z

    def pulled(x):
        _, pull = xp.vjp(lambda x: written(x[:, None] * x, x) @ W, x)
        _, turn = xp.vjp(lambda x: xp.maximum(x @ W, 0.0), x)
        return pull(xp.ones((3, 2)))[0] + turn(g)[0]

    close(vmap(pulled)(xp.asarray(B)), by_loop(pulled, xp.asarray(B)))


@pytest.mark.parametrize("made", ["hostile", "strict"])
@pytest.mark.parametrize("name", ["statistics", "sort", "norms", "matmul", "writes"])
def test_vmap_does_not_look_at_data(made, name):
    from arraytape.testing import storages

    def f(x, w):
        if name == "sort":
            return xp.sort(x) * xp.max(x)
        if name == "norms":
            return x / xp.linalg.vector_norm(x)
        if name == "matmul":
            return xp.tanh(x @ w) @ w.T
        if name == "writes":
            z = xp.zeros((3,))
            z[1:] = x[:2] ** 2
            z += x
            z[x > 0] = 0.0
            return z
        return xp.where(x > 0, x - xp.mean(x), xp.std(x) * x)

    def run():
        x, w = xp.asarray(B), xp.asarray(np.asarray(W))
        y = vmap(f, (0, None))(x, w)
        return [
            y,
            vmap(xp.jacobian(f), (0, None))(x, w),
            grad(lambda x: xp.sum(vmap(f, (0, None))(x, w)))(x),
        ]

    expected = run()
    storage = getattr(storages, made)()
    with storages.on(storage):
        found = run()
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.device == storage.devices()[0]
        np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=1e-12, atol=1e-12)


def test_what_a_selection_did_not_take_contributes_zero_inside():
    x = xp.asarray([[0.0, 4.0], [1.0, 0.0]])
    found = vmap(grad(lambda x: xp.sum(xp.where(x > 0, xp.sqrt(x), 0.0))))(x)
    assert np.asarray(found).tolist() == [[0.0, 0.25], [0.5, 0.0]]
    found = vmap(grad(lambda x: xp.sum(xp.where(x > 0, xp.sqrt(x), 0.0) @ xp.ones((2, 2)))))(x)
    assert np.asarray(found).tolist() == [[0.0, 0.5], [1.0, 0.0]]


def test_a_tape_outside_goes_through_and_to_any_order():
    x = xp.asarray(B)

    def f(x):
        return xp.sum(vmap(lambda x: xp.sum(x**3) * x[0])(x))

    H = xp.hessian(f)(x)
    for i in range(4):
        close(H[i, :, i, :], xp.hessian(lambda x: xp.sum(x**3) * x[0])(x[i, :]), 1e-11)
    assert not np.asarray(H[0, :, 1, :]).any()


def test_no_examples_give_no_results():
    found = vmap(lambda x: xp.tanh(x @ W))(xp.zeros((0, 3)))
    assert found.shape == (0, 2)


def test_one_value_says_that_it_stands_for_many():
    shown = []
    vmap(lambda x: shown.append((repr(x), str(x))) or x)(xp.asarray(B))
    assert "4 times" in shown[0][0]
    assert "4 times" in shown[0][1]


# --- what it refuses ------------------------------------------------------------------------------
KEPT = []
vmap(lambda x: KEPT.append(x) or x)(xp.asarray(B))
REFUSED = {
    "bool": lambda x: x if x[0] > 0 else -x,
    "int": lambda x: int(x[0]),
    "float": lambda x: float(x[0]),
    "item": lambda x: x[0].item(),
    "an index": lambda x: [1, 2, 3][xp.argmax(x)],
    "NumPy": lambda x: np.asarray(x),
    "tolist": lambda x: x.tolist(),
    "dlpack": lambda x: np.from_dlpack(x),
    "nonzero": lambda x: xp.nonzero(x),
    "unique values": lambda x: xp.unique_values(x),
    "unique counts": lambda x: xp.unique_counts(x),
    "a mask as a key": lambda x: x[x > 0],
    "a write of several at a mask": lambda x: x.__setitem__(x > 0, x[:2]),
    "a count of repeats": lambda x: xp.repeat(x, xp.argsort(x)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_needs_values_says_so(name):
    with pytest.raises(TypeError, match=r"has no batched form: under vmap .* stands for 4"):
        vmap(REFUSED[name])(xp.asarray(B))


ESCAPES = {
    "an operator": lambda x: x * 2.0,
    "a function": lambda x: xp.sum(x),
    "a product": lambda x: x @ x,
    "a comparison": lambda x: x < 1.0,
    "another vmap": lambda x: vmap(lambda y: x * y)(xp.asarray(B)),
    "a write": lambda x: xp.zeros(3).__setitem__(..., x),
    "an update": lambda x: xp.zeros(3).__iadd__(x),
    "float()": lambda x: float(x[0]),
    "np.asarray()": lambda x: np.asarray(x),
}


@pytest.mark.parametrize("name", ESCAPES)
def test_a_value_that_escaped_says_so(name):
    with pytest.raises(ValueError, match="escaped its vmap"):
        ESCAPES[name](KEPT[0])


X = xp.asarray(B)
BAD = {
    "nothing mapped": (lambda: vmap(xp.sin, None)(X), ValueError, "no argument is mapped"),
    "no arguments": (lambda: vmap(lambda: X)(), ValueError, "no argument is mapped"),
    "different lengths": (lambda: vmap(xp.add)(X, X[:2, :]), ValueError, "argument 0: 4, argument 1: 2"),
    "a float mapped": (lambda: vmap(xp.add)(X, 1.0), TypeError, "argument 1 is mapped and must be"),
    "no such axis": (lambda: vmap(xp.sin, 2)(X), ValueError, "has no axis 2"),
    "a scalar": (lambda: vmap(xp.sin)(xp.asarray(1.0)), ValueError, "has no axis 0"),
    "too few axes": (lambda: vmap(xp.add, (0,))(X, X), ValueError, "one entry for each of 2"),
    "axes of another nesting": (lambda: vmap(xp.sin, ((0, 0),))(X), ValueError, "in_axes"),
    "an axis that is none": (lambda: vmap(xp.sin, ("x",))(X), ValueError, "integer or None"),
    "a float result": (lambda: vmap(lambda x: 1.0)(X), TypeError, "must give Arrays"),
    "no place for the axis": (lambda: vmap(xp.sin, 0, 3)(X), ValueError, "no axis 3"),
    "places of another nesting": (
        lambda: vmap(lambda x: (x, x), 0, (0,))(X), ValueError, "out_axes"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_calls_say_what_is_wrong(name):
    call, error, message = BAD[name]
    with pytest.raises(error, match=message):
        call()


def test_a_failed_function_leaves_no_level_open():
    with pytest.raises(ZeroDivisionError):
        vmap(lambda x: KEPT.append(x) or 1 / 0)(xp.asarray(B))
    with pytest.raises(ValueError, match="escaped"):
        KEPT.pop() * 2.0


def test_arrays_made_inside_pickle():
    x = pickle.loads(pickle.dumps(vmap(lambda x: x * 2.0)(xp.asarray(B))))
    np.testing.assert_array_equal(np.asarray(x), 2 * B)


def test_what_is_the_same_for_all_examples_is_given_once():
    rows, w = xp.asarray(B), xp.asarray([1.0, 10.0, 100.0])
    scaled, twice = vmap(lambda x, w: (x * w, w * 2.0), (0, None), (0, None), chunk_size=2)(rows, w)
    assert scaled.shape == rows.shape
    close(twice, np.asarray([2.0, 20.0, 200.0]))
    with pytest.raises(ValueError, match="out_axes=None is for a result that is the same"):
        vmap(lambda x: x * 2.0, out_axes=None)(rows)


def test_axes_are_numpys_integers_too():
    rows = xp.asarray(B)
    found = vmap(lambda x: x * 2.0, np.asarray(1), np.int8(-1))(rows)
    close(found, 2.0 * B)


SHARED = {
    "linspace": lambda x, w: np.linspace(x[0], w[0], 4),
    "cov": np.cov,
    "quantile": lambda x, w: np.quantile(x, w / 10.0),
    "union1d": np.union1d,
    "piecewise": lambda x, w: np.piecewise(
        x, [x < 0, x >= 0], [lambda t, w: t * w[0], lambda t, w: t * w[1] ** 2], w
    ),
}


@pytest.mark.parametrize("name", SHARED)
@pytest.mark.parametrize("derivative", [xp.grad, xp.hessian])
def test_gradients_by_what_is_shared_are_per_example(name, derivative):
    rows, w = xp.asarray(B), xp.asarray([0.7, 1.9, 3.1])
    f = derivative(lambda x, w: xp.sum(SHARED[name](x, w) ** 2 * w[2]), 1)
    expected = np.stack([np.asarray(f(rows[i, ...], w)) for i in range(len(B))])
    close(vmap(f, (0, None))(rows, w), expected)
    both = vmap(vmap(f, (0, None)), (None, 0))(rows, xp.stack([w, w * 0.5]))
    close(both[0, ...], expected)


def test_what_a_function_uses_from_outside_is_refused_where_it_would_be_added_up():
    rows, w = xp.asarray(B), xp.asarray(1.5)

    def bent(x, w):
        return xp.sum(np.piecewise(x, [x < 0, x >= 0], [lambda t: t * w, lambda t: t]))

    with pytest.raises(ValueError, match="pass what your function uses to it as an argument"):
        vmap(xp.grad(bent, 1), (0, None))(rows, w)
    found = xp.grad(lambda w: xp.sum(vmap(bent, (0, None))(rows, w)))(w)  # a tape outside adds up
    close(found, np.asarray(np.sum(B[B < 0])))


@pytest.mark.parametrize("axis", [-1, 0])
def test_axes_of_numbers_are_those_of_numpy(axis):
    numbers = xp.asarray([3.0, -2.0, 5.0])
    close(
        vmap(lambda x: xp.sum(x, axis=axis, keepdims=True))(numbers), np.asarray([3.0, -2.0, 5.0])
    )
    close(vmap(lambda x: xp.cumulative_sum(x, axis=axis))(numbers), [[3.0], [-2.0], [5.0]])
    for f in (xp.sort, xp.flip, xp.linalg.vector_norm):
        with pytest.raises(IndexError):
            vmap(lambda x, f=f: f(x, axis=axis))(numbers)
    with pytest.raises(IndexError):
        vmap(lambda x: xp.sum(x, axis=-2))(xp.asarray(B))
