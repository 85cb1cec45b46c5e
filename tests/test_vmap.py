"""vmap against a Python loop: every op on batched data, programs, gradients inside and outside."""

import pickle

import numpy as np
import pytest

import arraytape as xp
from arraytape import ForwardAccumulator, GradientTape, grad, testing, vmap

CASES = [
    pytest.param(op, sample, id=f"{op.name}-{i}")
    for op in testing.recorded_ops()
    for i, sample in enumerate(op.samples)
    if (op.rules or op.joint) and not op.moves
]
# What is not holomorphic or has no complex form is sampled with real numbers only: see test_rules.
REAL_ONLY = {
    "atan2", "cast", "clip", "copysign", "fft.rfft", "floor_divide", "hypot", "logaddexp", "max",
    "maximum", "min", "minimum", "nextafter", "remainder",
}  # fmt: skip
SIZE = 3


def close(found, expected, tolerance=1e-12):
    expected = np.asarray(expected)
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    scale = np.max(np.abs(expected[np.isfinite(expected)]), initial=1.0)
    np.testing.assert_allclose(np.asarray(found), expected, rtol=tolerance, atol=tolerance * scale)


def by_loop(f, *args):
    """f of each example, stacked."""
    rows = [f(*[x[i, ...] for x in args]) for i in range(args[0].shape[0])]
    return xp.stack(rows)


def examples(op, sample, dtype, which=lambda i: True):
    """Stacked floating-point arguments of a sample, and f of one example's."""
    several = [testing.materialise(op, sample, dtype, seed) for seed in range(SIZE)]
    function = [testing.as_function(op, sample, arguments) for arguments in several]
    f, first = function[0]
    stacked = [
        xp.asarray(np.stack([floats[i] for _, floats in function])) if which(i)
        else xp.asarray(first[i])
        for i in range(len(first))
    ]  # fmt: skip
    return f, stacked, [0 if which(i) else None for i in range(len(first))]


def loop(f, arguments, axes):
    size = next(x.shape[0] for x, axis in zip(arguments, axes, strict=True) if axis == 0)
    rows = [
        f(*[x if axis is None else x[i, ...] for x, axis in zip(arguments, axes, strict=True)])
        for i in range(size)
    ]
    if isinstance(rows[0], list | tuple):
        return [xp.stack(column) for column in zip(*rows, strict=True)]
    return xp.stack(rows)


def gradients(f):
    def g(*arrays):
        with GradientTape() as tape:
            tape.watch(arrays)
            y = f(*arrays)
        return tape.gradient(y, list(arrays), unconnected_gradients="zero")

    return g


@pytest.mark.parametrize(("op", "sample"), CASES)
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("mapped", ["all", "first", "last"])
def test_every_op_and_its_gradient_equal_a_loop(op, sample, dtype, mapped):
    if dtype is np.complex128 and op.name in REAL_ONLY:
        return
    count = len(examples(op, sample, dtype)[1])
    if mapped != "all" and count < 2:
        return  # the same as all
    which = {"all": lambda i: True, "first": lambda i: i == 0, "last": lambda i: i == count - 1}
    f, arguments, axes = examples(op, sample, dtype, which[mapped])
    if not arguments:
        return
    close(vmap(f, axes)(*arguments), loop(f, arguments, axes))
    per_example = vmap(gradients(f), axes)(*arguments)
    for found, expected in zip(per_example, loop(gradients(f), arguments, axes), strict=True):
        close(found, expected)
    # The gradient outside sums over the examples what is shared among them.
    summed = gradients(lambda *xs: xp.sum(vmap(f, axes)(*xs)))(*arguments)
    for found, rows, axis in zip(summed, per_example, axes, strict=True):
        close(found, np.asarray(rows) if axis == 0 else np.asarray(rows).sum(axis=0), 1e-11)


@pytest.mark.parametrize(("op", "sample"), CASES)
def test_curvature_inside_equals_a_loop(op, sample):
    f, arguments, axes = examples(op, sample, np.float64)
    if not arguments or any(x.size == 0 for x in arguments):
        return

    def curvature(*arrays):
        with GradientTape() as outer:
            outer.watch(arrays)
            first = gradients(f)(*arrays)
            slope = testing.total(first)
        return outer.gradient(slope, list(arrays), unconnected_gradients="zero")

    for found, expected in zip(
        vmap(curvature, axes)(*arguments), loop(curvature, arguments, axes), strict=True
    ):
        close(found, expected, 1e-10)


@pytest.mark.parametrize(("op", "sample"), CASES)
def test_forward_mode_inside_and_outside_equals_a_loop(op, sample):
    f, arguments, axes = examples(op, sample, np.float64)
    if not arguments:
        return
    tangents = [xp.asarray(v) for v in testing.directions(arguments)]

    def slope(*both):
        primals, along = both[: len(arguments)], both[len(arguments) :]
        with ForwardAccumulator(list(primals), list(along)) as accumulator:
            y = f(*primals)
        return accumulator.jvp(y, unconnected_gradients="zero")

    expected = loop(slope, [*arguments, *tangents], [*axes, *axes])
    close(vmap(slope)(*arguments, *tangents), expected)
    with ForwardAccumulator(arguments, tangents) as accumulator:
        y = vmap(f)(*arguments)
    close(accumulator.jvp(y, unconnected_gradients="zero"), expected)


# --- functions without a derivative, composites, writes -------------------------------------------
RNG = np.random.default_rng(0)
A, B, N = RNG.normal(size=(4, 3, 3)), RNG.normal(size=(4, 3)), RNG.integers(-3, 3, (4, 2))
W = xp.asarray(RNG.normal(size=(3, 2)))
E = xp.asarray(np.arange(20.0).reshape(5, 4))


def mutated(a, b, i):
    z = xp.zeros((3,))
    z[1:] = b[:2] ** 2
    z += b
    z[0] *= 2.0
    view = z[::-1]
    view[0] = 5.0 * a[0, 1]
    return z


def written_where(a, b, i):
    z = b * 1.0
    z[b > 0] = 0.0
    return z


def written_at(a, b, i):
    z = xp.zeros((3, 3))
    z[i, 1] = b[:2]
    z[0, i] += a[0, :2]
    return z


def written_twice(a, b, i):
    z = a * 1.0
    z[[0, 0], :] = a[1:, :]
    return z


PROGRAMS = {
    "matmul with a shared matrix": lambda a, b, i: xp.tanh(a @ W),
    "a vector and a shared matrix": lambda a, b, i: b @ W,
    "a shared matrix on the left": lambda a, b, i: W.T @ a,
    "a shared vector on the left": lambda a, b, i: W[:, 0] @ a,
    "two vectors": lambda a, b, i: b @ b,
    "a vector and a matrix": lambda a, b, i: b @ a + a @ b,
    "hidden rank against a larger visible rank": lambda a, b, i: b * xp.ones((2, 2, 3)) + a[0, 0],
    "solve with a vector": lambda a, b, i: xp.linalg.solve(a, b),
    "solve with a shared vector": lambda a, b, i: xp.linalg.solve(a, W[:, 0]),
    "solve with a shared matrix": lambda a, b, i: xp.linalg.solve(xp.eye(3) * 2.0, b),
    "argmax": lambda a, b, i: a[xp.argmax(b), :],
    "argmin of all": lambda a, b, i: b[xp.argmin(b)] + xp.astype(xp.argmin(a), xp.float64),
    "argsort": lambda a, b, i: xp.take(b, xp.argsort(b, descending=True)),
    "sort": lambda a, b, i: xp.sort(a, axis=0) * xp.sort(b),
    "median": lambda a, b, i: xp.median(b) + xp.median(a, axis=0),
    "rows by index": lambda a, b, i: a[i, :],
    "columns by index": lambda a, b, i: a[:, i],
    "indices that a slice parts": lambda a, b, i: (a[None, :, :] * b[:2][:, None, None])[
        [0, 1], :, xp.abs(i) % 3
    ],
    "pairs of indices": lambda a, b, i: a[i, xp.abs(i) % 3],
    "an index and a constant one": lambda a, b, i: a[i, [0, 1]] + a[i, 2] + a[2, i],
    "rows of a shared table": lambda a, b, i: E[xp.abs(i), :3] * b,
    "columns of a shared table": lambda a, b, i: E[:, xp.abs(i)] * b[0],
    "take from a shared table": lambda a, b, i: xp.take(E, xp.abs(i), axis=1) * b[1],
    "take along an axis": lambda a, b, i: xp.take_along_axis(a, xp.abs(i)[None, :] % 3, axis=1),
    "search": lambda a, b, i: xp.astype(xp.searchsorted(xp.sort(b), b), xp.float64) * b,
    "counts": lambda a, b, i: xp.count_nonzero(b > 0) * b + xp.count_nonzero(a > 0, axis=0),
    "truth": lambda a, b, i: xp.where(xp.any(a > 1, axis=1) | xp.all(b > 0), a, -a),
    "membership": lambda a, b, i: xp.where(xp.isin(b, b[:1]), 1.0, b),
    "rounding": lambda a, b, i: b - xp.floor(b) + xp.round(a) * 0.5,
    "rank": lambda a, b, i: xp.astype(xp.linalg.matrix_rank(a), xp.float64) * b,
    "shapes": lambda a, b, i: xp.reshape(xp.permute_dims(a, (1, 0)), (-1,))[::2],
    "views of views": lambda a, b, i: xp.flip(a.T[1:, :], axis=1)[None, ...],
    "moves of axes": lambda a, b, i: xp.moveaxis(xp.expand_dims(a, axis=0), 0, 2),
    "squeeze and roll": lambda a, b, i: xp.roll(xp.squeeze(a[None, :, :], axis=0), 1, axis=1),
    "tile and repeat": lambda a, b, i: xp.tile(b, (2,)) + xp.repeat(b, 2),
    "joined": lambda a, b, i: xp.concat([xp.stack([b, W[:, 0]]), a], axis=0),
    "split": lambda a, b, i: sum(xp.unstack(a, axis=1)[1:], xp.unstack(a, axis=1)[0]),
    "triangles": lambda a, b, i: xp.tril(a) - xp.triu(a, k=1),
    "diagonals": lambda a, b, i: xp.linalg.diagonal(a) * xp.linalg.trace(a),
    "norms": lambda a, b, i: b / xp.linalg.vector_norm(b) + xp.linalg.matrix_norm(a, ord="nuc"),
    "products": lambda a, b, i: xp.linalg.cross(b, a[0, :]) + xp.linalg.outer(b, b)[1, :],
    "tensordot": lambda a, b, i: xp.tensordot(a, W, axes=1) + xp.tensordot(a, a, axes=2),
    "vecdot": lambda a, b, i: xp.vecdot(a, b) + xp.vecdot(a, b[:, None], axis=0),
    "differences": lambda a, b, i: xp.diff(a, axis=0) + xp.diff(b)[0],
    "statistics": lambda a, b, i: xp.std(a, axis=1) + xp.var(b) + xp.mean(a) + xp.max(a, axis=0),
    "running": lambda a, b, i: xp.cumulative_sum(a, axis=0) * xp.cumulative_prod(b),
    "powers": lambda a, b, i: xp.linalg.matrix_power(a, 3) + xp.abs(b) ** xp.abs(a),
    "linspace": lambda a, b, i: xp.linspace(b[0], b[1], 4),
    "full and like": lambda a, b, i: (
        xp.full((2,), b[0]) + xp.zeros_like(b)[:2] + xp.ones_like(b)[1]
    ),
    "meshgrid": lambda a, b, i: xp.meshgrid(b, W[0, :])[0],
    "a nesting": lambda a, b, i: xp.asarray([b[0], 1.0, b[1]]),
    "spectra": lambda a, b, i: xp.abs(xp.fft.fftn(a)) + xp.fft.irfft(xp.fft.rfft(b), n=3),
    "clips": lambda a, b, i: xp.clip(a, -0.5, b) + xp.clip(b, None, 0.5),
    "scalars": lambda a, b, i: 2.0 * xp.sum(b) + 1.0,
    "in place": mutated,
    "a write where a mask holds": written_where,
    "writes at indices": written_at,
    "a write that names a row twice": written_twice,
    "a scatter": lambda a, b, i: xp.scatter_add(b[:2], (3,), xp.abs(i) % 3),
    "loops": lambda a, b, i: sum((row * 2.0 for row in a), 0.0),
    "what is shared": lambda a, b, i: W * 2.0,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_equal_a_loop(name):
    f, (a, b, i) = PROGRAMS[name], (xp.asarray(A), xp.asarray(B), xp.asarray(N))
    close(vmap(f)(a, b, i), by_loop(f, a, b, i))

    def loss(a, b, i):
        return testing.total(f(a, b, i))

    for found, expected in zip(
        vmap(grad(loss, (0, 1)))(a, b, i),
        loop(grad(loss, (0, 1)), (a, b, i), (0, 0, 0)),
        strict=True,
    ):
        close(found, expected, 1e-10)

    def total(run):
        return grad(lambda a, b: testing.total(run(f, a, b)), (0, 1))(a, b)

    mapped = total(lambda f, a, b: vmap(f)(a, b, i))
    looped = total(lambda f, a, b: by_loop(f, a, b, i))
    for found, expected in zip(mapped, looped, strict=True):
        close(found, expected, 1e-10)


@pytest.mark.parametrize("name", PROGRAMS)
def test_jacobians_of_programs_equal_a_loop(name):
    f, (a, b, i) = PROGRAMS[name], (xp.asarray(A), xp.asarray(B), xp.asarray(N))
    inside = vmap(xp.jacobian(f, 1))(a, b, i)
    close(inside, by_loop(xp.jacobian(f, 1), a, b, i), 1e-10)
    outside = xp.jacobian(lambda b: vmap(f)(a, b, i))(b)
    for n in range(4):
        close(outside[n, ..., n, :], inside[n, ...], 1e-10)


@pytest.mark.parametrize("name", PROGRAMS)
def test_vmap_of_vmap(name):
    f, (a, b, i) = PROGRAMS[name], (xp.asarray(A), xp.asarray(B), xp.asarray(N))

    def pairs(a, i):
        return vmap(lambda b: f(a, b, i))(b)

    close(vmap(pairs)(a, i), by_loop(lambda a, i: by_loop(lambda b: f(a, b, i), b), a, i))


# --- semantics ------------------------------------------------------------------------------------
def test_axes_in_and_out():
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


def test_a_result_that_is_the_same_for_all_examples():
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


def test_one_output_gradient_for_all_examples():
    g = xp.asarray([1.0, 2.0])

    def pulled(x):
        _, pull = xp.vjp(lambda x: written_at(x[:, None] * x, x, xp.asarray([0, 2])) @ W, x)
        _, turn = xp.vjp(lambda x: xp.maximum(x @ W, 0.0), x)
        return pull(xp.ones((3, 2)))[0] + turn(g)[0]

    close(vmap(pulled)(xp.asarray(B)), by_loop(pulled, xp.asarray(B)))


@pytest.mark.parametrize("made", ["hostile", "strict"])
@pytest.mark.parametrize("name", ["statistics", "sort", "norms", "matmul", "writes"])
def test_on_data_that_refuses_looks(made, name):
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


def test_the_guard_inside():
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


def test_no_examples():
    found = vmap(lambda x: xp.tanh(x @ W))(xp.zeros((0, 3)))
    assert found.shape == (0, 2)


def test_one_value_says_that_it_stands_for_many():
    shown = []
    vmap(lambda x: shown.append((repr(x), str(x))) or x)(xp.asarray(B))
    assert "4 times" in shown[0][0]
    assert "4 times" in shown[0][1]


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
