"""What other systems got wrong, by the addresses (on github.com) where it was reported: values.

Memory, threads and processes are in test_failures_elsewhere_lifetimes.
"""

import numpy as np
import pytest

import arraytape as xp
from arraytape import GradientTape, TapeWarning, Variable, nn, testing
from arraytape._record.op import KINDS
from arraytape._record.stack import recorders
from helpers.namespace_ops import namespace_ops


def gradient_of(f, x):
    with GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return tape.gradient(y, x)


# --- views and writes -----------------------------------------------------------------------------
CHAINS = {
    "a part of an unstacked row": lambda z: xp.unstack(z)[0][:2],
    "a reshaped unstacked row": lambda z: xp.reshape(xp.unstack(z)[1], (3, 1)),
    "a turned unstacked column": lambda z: xp.flip(xp.unstack(z, axis=1)[2]),
    "a row of halves": lambda z: xp.unstack(xp.reshape(z, (3, 3)))[2][1:],
    "a part of a part": lambda z: z[1:][:, ::2][0],
}


@pytest.mark.parametrize("chain", CHAINS)
def test_a_view_of_a_view_of_several_is_written_in_place(chain):
    """pytorch/pytorch/issues/31258, /49824, /36608: silently wrong, later forbidden."""

    def f(x):
        z = x * 1.0
        part = CHAINS[chain](z)
        part *= 2.0
        part += x[0, 0]
        return xp.sum(z * z * xp.asarray(np.arange(1.0, 10.0).reshape(3, 3)))

    testing.check_gradients(f, [np.arange(1.0, 10.0).reshape(3, 3) / 7.0])


@pytest.mark.parametrize("wrap", ["custom", "recompute"])
def test_a_view_that_a_function_with_a_gradient_gives_is_written_in_place(wrap):
    """pytorch/pytorch/issues/31258, with /26546 and /36383: the rule was ignored."""
    f = {
        "custom": xp.custom_gradient(
            lambda x: ((x * 3.0)[:2], lambda dy: xp.concat([dy * 10.0, xp.zeros(1)]))
        ),
        "recompute": xp.recompute_grad(lambda x: (x * 10.0)[:2]),
    }[wrap]

    def program(x):
        y = f(x)
        y *= 2.0
        y[0] = 7.0
        return y

    g = gradient_of(program, xp.asarray([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(np.asarray(g), [0.0, 20.0, 0.0])


PRODUCTS = {
    "matmul": lambda a, b: a @ b,
    "matmul of transposes": lambda a, b: xp.matrix_transpose(b) @ xp.matrix_transpose(a),
    "stacked": lambda a, b: a[None, ...] @ b[None, ...],
    "tensordot": lambda a, b: xp.tensordot(a, b, axes=1),
    "product of parts": lambda a, b: a[::-1, :] * xp.matrix_transpose(b)[:, 1:],
    "vecdot": lambda a, b: xp.vecdot(a, xp.matrix_transpose(b)[:2, :]),
}


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.parametrize("written", ["a", "b"])
def test_a_view_that_was_kept_survives_a_write_to_its_array(product, written):
    """pytorch/pytorch/issues/197887: compiled code kept a view and lost sight of the write."""
    f, rng = PRODUCTS[product], np.random.default_rng(0)
    shapes = {"a": (2, 3), "b": (3, 4 if product == "product of parts" else 3)}
    values = {name: rng.normal(size=shape) for name, shape in shapes.items()}
    if product == "product of parts":
        values = {"a": rng.normal(size=(4, 2)), "b": rng.normal(size=(3, 4))}
    found = []
    for write in (False, True):
        arrays = {name: xp.asarray(value) for name, value in values.items()}
        with GradientTape() as tape:
            tape.watch(arrays)
            y = f(*arrays.values())
            if write:
                arrays[written] += 100.0
                arrays[written][0, ...] = 0.0
        found.append(tape.gradient(y, arrays))
    for name in values:
        np.testing.assert_array_equal(np.asarray(found[0][name]), np.asarray(found[1][name]))


@pytest.mark.parametrize("write", [None, "before", "after"])
def test_the_gradient_of_a_view_does_not_change_with_a_write_beside_it(write):
    """pytorch/pytorch/issues/8874."""
    x = xp.ones((4,))
    with GradientTape() as tape:
        tape.watch(x)
        z = x * 1.0
        part = z[2:]
        tape.watch(part)
        if write == "before":
            z[0] += 0.0
        y = part[1] * 3.0
        if write == "after":
            z[0] += 0.0
    found = [np.asarray(g).tolist() for g in tape.gradient(y, [part, x])]
    assert found == [[0.0, 3.0], [0.0, 0.0, 0.0, 3.0]]


def test_writes_in_place_have_second_derivatives():
    """pytorch/pytorch/issues/10532."""

    def f(x):
        y = xp.exp(x)
        y *= x
        part = y[1:]
        part **= 2.0
        y[0] += part[0] * x[2]
        y -= xp.sum(y) * 0.1
        return xp.sum(y**2)

    testing.check_gradients(f, [np.asarray([0.3, -0.4, 0.7])], rtol=1e-6)


def test_a_step_over_a_list_changes_the_parameters_themselves():
    """jax-ml/jax/issues/226: p -= lr * g in a loop rebound a name, and nothing was trained."""
    start = [np.asarray([1.0, 2.0]), np.asarray([[3.0]]), np.asarray(4.0)]
    for make in (xp.asarray, Variable, lambda value: np.array(value)):
        params = [make(value) for value in start]
        for p in params:
            p -= 0.5 * p
        for p, value in zip(params, start, strict=True):
            np.testing.assert_array_equal(np.asarray(p), 0.5 * value)


@pytest.mark.parametrize("size", [1, 100, 100_000])
@pytest.mark.parametrize(
    "take",
    [
        lambda a: xp.asarray(a, device="cpu"),
        lambda a: xp.asarray(a, device="cpu", copy=False),
        lambda a: xp.from_dlpack(a, device="cpu"),
        lambda a: xp.reshape(a, (1, -1)),
        lambda a: xp.ones(a.shape, device="cpu") * a,
    ],
    ids=["asarray", "shared", "dlpack", "reshape", "operand"],
)
def test_writing_to_the_numpy_source_afterwards_changes_no_gradient(take, size):
    """jax-ml/jax/issues/37830: larger arrays shared the memory of their source."""
    source, x = np.ones(size), xp.asarray(2.0, device="cpu")
    with GradientTape() as tape:
        tape.watch(x)
        y = xp.sum(x * x * take(source))
        source[...] = 1e9
    np.testing.assert_allclose(float(tape.gradient(y, x)), 4.0 * size)
    assert float(y) == 4.0 * size


# --- leaving and coming back ------------------------------------------------------------------------
W = np.asarray([[1.0, 2.0], [3.0, 4.0]])
FOREIGN = {
    "W.T.dot(x)": lambda x: W.T.dot(x),
    "W.T @ x": lambda x: W.T @ x,
    "np.dot": lambda x: np.dot(W.T, x),
    "np.matmul": lambda x: np.matmul(W.T, x),
    "np.tensordot": lambda x: np.tensordot(W.T, x, 1),
    "np.einsum": lambda x: np.einsum("ji,j->i", W, x),
    "np.inner": lambda x: np.inner(W.T, x),
    "np.vecdot": lambda x: np.vecdot(W.T, x),
    "dot of a list": lambda x: W.T.dot([x[0], x[1]]),
    "sum of products": lambda x: np.sum(W.T * x, axis=1),
    "an array of elements": lambda x: W.T @ np.asarray([x[0], x[1]]),
    "elements written": lambda x: written(np.zeros(2), x) @ W,
    "in place": lambda x: np.multiply(W.T, x, out=np.empty((2, 2))).sum(axis=1),
}  # fmt: skip


def written(target, x):
    target[...] = x
    return target


@pytest.mark.parametrize("name", FOREIGN)
def test_numpys_own_arrays_and_recorded_ones_give_the_right_gradient_or_an_error(name):
    """HIPS/autograd/issues/8: the gradient of W.T.dot(x) was an array of zeros."""
    x = xp.asarray([1.0, 2.0], device="cpu")
    with GradientTape() as tape:
        tape.watch(x)
        try:
            y = FOREIGN[name](x)
        except TypeError:
            return
    if not isinstance(y, xp.Array):  # it left the tape, and the tape says where
        with pytest.raises(TypeError, match="since a value left this tape at"):
            tape.gradient(y, x)
        return
    np.testing.assert_array_equal(np.asarray(tape.gradient(y, x)), W.sum(axis=1))


def test_asarray_keeps_the_gradient():
    """pytorch/pytorch/issues/170819: asarray took requires_grad away from the array itself."""
    x = xp.asarray([1.0, 2.0])
    for f in (
        xp.asarray,
        lambda x: xp.asarray(x, copy=True),
        lambda x: xp.asarray(x, dtype=xp.float32),
        lambda x: xp.asarray(x, device=x.device),
        lambda x: xp.asarray(xp.asarray(x)),
    ):
        assert np.asarray(gradient_of(lambda x, f=f: f(x) * f(x), x)).tolist() == [2.0, 4.0]


def test_scipys_own_asarray_keeps_the_gradient():
    """scipy/scipy/issues/24186: rotations from PyTorch's tensors had lost their gradient."""
    transform = pytest.importorskip("scipy.spatial.transform")
    weights = np.asarray([1.0, 2.0, 3.0, 4.0])

    def f(q):
        turned = transform.Rotation.from_quat(q).as_quat()
        return xp.sum(turned * xp.asarray(weights))

    testing.check_gradients(f, [np.asarray([0.1, 0.2, 0.3, 0.9])])


def test_a_none_gradient_that_was_not_meant_is_explained():
    """tensorflow/tensorflow/issues/29942: None, and no word about why."""
    v = Variable(3.0)
    x = v + 1.0  # made before the tape: a constant, unless it is watched
    with GradientTape(persistent=True) as tape:
        y = x * v
        left = xp.asarray(np.asarray(v * v))
    with pytest.warns(TapeWarning, match="watches Variable .*, and not this Array"):
        assert tape.gradient(y, x) is None
    assert float(tape.gradient(y, v)) == 4.0
    with pytest.warns(TapeWarning, match=r"None: the value left .*test_failures_elsewhere\.py:\d+"):
        assert tape.gradient(left, v) is None
    with GradientTape() as tape:
        tape.watch(x)
        y = x * v
    assert float(tape.gradient(y, x)) == 3.0


@pytest.mark.filterwarnings("ignore:gradient is None.:arraytape.TapeWarning")
def test_a_second_derivative_needs_the_first_inside_the_outer_tape():
    """tensorflow/tensorflow/issues/31519: None where the first gradient is taken outside."""
    x = xp.asarray(3.0)
    for inside in (True, False):
        with GradientTape() as outer:
            outer.watch(x)
            with GradientTape() as inner:
                inner.watch(x)
                y = x**3
            if inside:
                first = inner.gradient(y, x)
        if not inside:
            first = inner.gradient(y, x)
        second = outer.gradient(first, x)
        assert float(first) == 27.0
        assert float(second) == 18.0 if inside else second is None


# --- slopes where there is none -----------------------------------------------------------------------
TRAPS = {
    "where of a root": (lambda x: xp.where(x > 0, xp.sqrt(x), 0.0), [0.0, 4.0], [0.0, 0.25]),
    "where inside": (
        lambda x: xp.sqrt(xp.where(x > 0, x, 1.0)), [0.0, 4.0], [0.0, 0.25]),
    "where of a logarithm": (lambda x: xp.where(x > 0, xp.log(x), 0.0), [0.0, 4.0], [0.0, 0.25]),
    "where of a quotient": (lambda x: xp.where(x != 0, xp.sin(x) / x, 1.0), [0.0], [0.0]),
    "root of a maximum": (lambda x: xp.sqrt(xp.maximum(x, 0.0)), [-1.0, 4.0], [0.0, 0.25]),
    "maximum of a root": (lambda x: xp.maximum(xp.sqrt(x), 1.0), [0.0, 4.0], [0.0, 0.25]),
    "clip of a root": (lambda x: xp.clip(xp.sqrt(x), 0.5, 9.0), [0.0, 4.0], [0.0, 0.25]),
    "norm of zeros": (lambda x: xp.linalg.vector_norm(x), [0.0, 0.0], [0.0, 0.0]),
}  # fmt: skip


@pytest.mark.parametrize("trap", TRAPS)
def test_what_was_not_taken_has_no_nan(trap):
    """pytorch/pytorch/issues/187297, jax-ml/jax/issues/5798, ml-explore/mlx/issues/3668."""
    f, values, expected = TRAPS[trap]
    x = xp.asarray(values)
    with np.errstate(all="ignore"), GradientTape() as outer:
        outer.watch(x)
        first = gradient_of(f, x)
    np.testing.assert_allclose(np.asarray(first), expected, atol=1e-15)
    second = np.asarray(outer.gradient(first, x, unconnected_gradients="zero"))
    assert np.isfinite(second[np.asarray(values) > 0]).all()


@pytest.mark.parametrize(
    "values", [[1.0, 1.0, 1.0], [2.0, 2.0, 0.0], [0.0, 0.0, 0.0], [3.0, 1.0, 1.0]]
)
def test_repeated_singular_values_behind_where_have_no_nan(values):
    """scipy/scipy/pull/25767: a pseudo-determinant, by where() over singular values."""

    def f(x):
        s = xp.linalg.svdvals(x)
        return xp.sum(xp.where(s > 1e-9, xp.log(s), 0.0))

    a = np.diag(values)
    with np.errstate(divide="ignore"):
        found = np.asarray(gradient_of(f, xp.asarray(a)))
    expected = np.diag([1.0 / v if v else 0.0 for v in values])
    np.testing.assert_allclose(found, expected, atol=1e-12)


# --- declarations ----------------------------------------------------------------------------------
def test_no_op_runs_without_a_declared_derivative():
    """HIPS/autograd/issues/788: functions without a gradient, or a word that they have none."""
    undeclared = [
        op.name
        for op in namespace_ops()
        if op.kind not in KINDS or (op.recorded and not (op.rules or op.joint))
    ]
    assert undeclared == []


def test_an_exception_inside_a_function_leaves_nothing_behind():
    """HIPS/autograd: the tracer's stack was left one too high, and the next gradient was wrong."""

    def fails(x):
        y = x * x
        raise ZeroDivisionError(float(y))

    x, layer = xp.asarray(3.0), nn.Dense(1, seed=0)
    for f in (fails, xp.recompute_grad(fails), xp.grad(fails), xp.hessian(fails), xp.vmap(fails)):
        for derivative in (xp.grad, xp.hessian, lambda f: lambda x: xp.jvp(f, (x,), (x,))):
            with pytest.raises((ZeroDivisionError, ValueError)):
                derivative(f)(x)
            assert recorders() == ()
            assert float(xp.grad(xp.grad(lambda x: x**3))(x)) == 18.0
    with pytest.raises(TypeError):
        layer(None)
    assert layer(xp.ones((1, 2))).shape == (1, 1)
