"""Matrix functions: exact numbers, singular and degenerate cases."""

import numpy as np
import pytest

import arraytape as xp
from arraytape import testing
from arraytape.ops.linalg import hermitian, regular

M = np.asarray([[2.0, 1.0], [1.0, 3.0]])


def gradient(f, *inputs):
    arrays = [xp.asarray(np.asarray(x, dtype=float)) for x in inputs]
    with xp.GradientTape() as tape:
        tape.watch(arrays)
        y = f(*arrays)
    found = [np.asarray(g) for g in tape.gradient(y, arrays)]
    return found if len(found) > 1 else found[0]


@pytest.mark.parametrize(
    ("f", "x", "expected"),
    [
        (xp.linalg.det, M, [[3, -1], [-1, 2]]),
        (lambda x: xp.linalg.slogdet(x)[1], M, [[0.6, -0.2], [-0.2, 0.4]]),
        (xp.linalg.inv, M, [[-0.16, -0.08], [-0.08, -0.04]]),
        (xp.linalg.cholesky, M, [[0.255834, 0.19544], [0.19544, 0.316228]]),
        (lambda x: xp.linalg.eigvalsh(x)[1], M, [[0.276393, 0.447214], [0.447214, 0.723607]]),
        (xp.linalg.eigvalsh, M, np.eye(2)),
        (xp.linalg.svdvals, [[1, 2], [3, 4]], [[-0.514496, 0.857493], [0.857493, 0.514496]]),
        (xp.linalg.svdvals, np.eye(2), np.eye(2)),
        (
            lambda x: xp.linalg.qr(x)[1],
            [[1, 2], [3, 4]],
            [[0.822192, -1.264911], [-1.328157, -0.632456]],
        ),
        (
            lambda x: xp.linalg.qr(x)[1],
            [[1, 2, 3], [4, 5, 7]],
            [[2.325489, -1.212678, -1.212678], [-1.612149, -0.727607, -0.727607]],
        ),
        (xp.linalg.vector_norm, [3, 4], [0.6, 0.8]),
        (xp.linalg.vector_norm, [0, 0], [0, 0]),
    ],
)
def test_known_gradients(f, x, expected):
    np.testing.assert_allclose(gradient(f, x), expected, atol=5e-7)


def test_solve_has_gradients_to_the_matrix_and_the_right_hand_side():
    to_matrix, to_vector = gradient(xp.linalg.solve, M, [1, 2])
    np.testing.assert_allclose(to_matrix, [[-0.08, -0.24], [-0.04, -0.12]], atol=1e-12)
    np.testing.assert_allclose(to_vector, [0.4, 0.2], atol=1e-12)


def test_the_determinant_of_a_singular_matrix_has_its_cofactors_as_gradient():
    np.testing.assert_allclose(
        gradient(xp.linalg.det, [[1, 2], [2, 4]]), [[4, -2], [-2, 1]], atol=1e-12
    )
    np.testing.assert_allclose(gradient(xp.linalg.det, np.zeros((3, 3))), np.zeros((3, 3)))


def test_vectors_of_coinciding_values_have_no_quiet_gradient():
    assert np.isnan(gradient(lambda x: xp.linalg.eigh(x)[1][0, 0], np.eye(2))).any()
    assert np.isnan(gradient(lambda x: xp.linalg.svd(x)[0][0, 0], np.eye(2))).any()


INVARIANT = {
    "spectral function of eigh": lambda x: spectral(xp.linalg.eigh(hermitian(x))),
    "u vh of svd": lambda x: polar(*xp.linalg.svd(x, full_matrices=False)),
    "projector of eig": lambda x: projector(*xp.linalg.eig(regular(x))),
}


def spectral(result):
    w, v = result
    return testing.total((v * xp.exp(w / 4.0)[None, :]) @ xp.matrix_transpose(xp.conj(v)))


def polar(u, s, vh):
    return testing.total((u @ vh, s))


def projector(w, v):
    return testing.total(((v * xp.exp(w / 9.0)[None, :]) @ xp.linalg.inv(v), w))


@pytest.mark.parametrize("name", INVARIANT)
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("shape", [(3, 3), (4, 3)])
def test_what_the_choice_of_vectors_leaves_alone_has_exact_gradients(name, dtype, shape):
    if shape != (3, 3) and "svd" not in name:
        shape = (2, 2)
    rng = np.random.default_rng(1)
    x = rng.normal(size=shape) + (1j * rng.normal(size=shape) if dtype is np.complex128 else 0.0)
    testing.check_gradients(INVARIANT[name], [x], order=2, rtol=1e-6)


def spectrum(values, dtype=np.float64, seed=0):
    """A Hermitian matrix with these eigenvalues, in a random basis."""
    rng = np.random.default_rng(seed)
    n = len(values)
    x = rng.normal(size=(n, n)) + (1j * rng.normal(size=(n, n)) if dtype is np.complex128 else 0.0)
    q = np.linalg.qr(x)[0]
    return (q * np.asarray(values)) @ q.conj().T


def curvature(f, x):
    return testing.curvature(f, [np.asarray(x)], testing.directions([np.asarray(x)]))[0]


DTYPES = pytest.mark.parametrize("dtype", [np.float64, np.complex128])
EXACT = {
    "projector of eigh": lambda x: projected(xp.linalg.eigh((x + adjoint(x)) / 2.0)[1][..., :2]),
    "projector of svd": lambda x: projected(xp.linalg.svd(x)[0][..., -2:]),
    "u vh of svd": lambda x: testing.total(product(xp.linalg.svd(x, full_matrices=False))),
    "u vh of a tall svd": lambda x: testing.total(
        product(xp.linalg.svd(x[..., :, :2], full_matrices=False))
    ),
    "u vh of a wide svd": lambda x: testing.total(
        product(xp.linalg.svd(x[..., :2, :], full_matrices=False))
    ),
}


def adjoint(x):
    return xp.matrix_transpose(xp.conj(x))


def projected(v):
    return testing.total(v @ adjoint(v))


def product(result):
    return result[0] @ result[2]


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize(
    "values", [(1.0, 1.0, 2.0, 4.0), (2.0, 2.0, 3.0, 3.0)], ids=["a pair", "two pairs"]
)
@DTYPES
def test_functions_of_the_space_of_coinciding_values_are_exact(name, values, dtype):
    x = spectrum(values, dtype)
    testing.check_gradients(EXACT[name], [x], order=1, modes=["rev"], rtol=1e-6)


FORWARD = {
    "vectors of eigh": lambda x: xp.linalg.eigh((x + adjoint(x)) / 2.0)[1],
    "vectors of svd": lambda x: xp.linalg.svd(x)[0],
    "vectors of eig": lambda x: xp.linalg.eig(x)[1],
    "rebuilt by eigh": lambda x: spectral(xp.linalg.eigh((x + adjoint(x)) / 2.0)),
    "rebuilt by svd": lambda x: testing.total(product(xp.linalg.svd(x)[::-1])),
}


@pytest.mark.parametrize("name", FORWARD)
@pytest.mark.parametrize(
    "values",
    [(1.0, 1.0, 1.0, 1.0), (2.0, 2.0, 3.0, 1.0), (0.0, 0.0, 1.0, 2.0)],
    ids=["eye", "a pair", "zeros"],
)
def test_forward_mode_cannot_know_what_becomes_of_vectors_of_coinciding_values(name, values):
    x = spectrum(values) if name != "vectors of eig" else np.diag(values)
    along = testing.directions([x])
    (found,) = testing.slopes(FORWARD[name], [x], along)
    assert np.isnan(found).any()


LESS = {
    "the last column": np.asarray([[1.0, 2.0], [2.0, 4.0], [1.0, 2.0]]),
    "zeros": np.zeros((3, 2)),
    "the first column": np.asarray([[0.0, 2.0], [0.0, 4.0], [0.0, 1.0]]),
    "rounded": np.ones((4, 2)) / 3.0 * np.asarray([1.0, 0.1]),
    "complex": np.asarray([[1.0, 2j], [1j, -2.0], [2.0, 4j]]),
}


@pytest.mark.parametrize("name", LESS)
@pytest.mark.parametrize(
    "f",
    [
        lambda q, r: q,
        lambda q, r: r,
        lambda q, r: q @ r,
        lambda q, r: q[:, 1:],
    ],
    ids=["q", "r", "q @ r", "the free column"],
)
def test_a_column_that_depends_on_others_has_no_quiet_gradient_by_qr(name, f):
    (found,) = testing.gradients(lambda x: testing.total(f(*xp.linalg.qr(x))), [LESS[name]])
    assert np.isnan(found).any()


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4)])
@pytest.mark.parametrize("rank", [1, 2])
def test_what_does_not_depend_on_a_free_column_of_q_is_exact(shape, rank):
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(shape[0], rank)), rng.normal(size=(rank, shape[1]))

    def f(left):
        q, _ = xp.linalg.qr(left @ xp.asarray(right))
        q, _ = xp.linalg.qr(xp.asarray(left0.T) @ q)  # its noise must not be blown up
        return testing.total(q[:, :rank] @ xp.matrix_transpose(q[:, :rank]))

    left0 = rng.normal(size=(shape[0], shape[0]))
    testing.check_gradients(f, [left], order=1, modes=["rev"], rtol=1e-6)


@DTYPES
def test_a_stack_has_nan_only_where_values_coincide(dtype):
    def rebuilt(x):
        w, v = xp.linalg.eigh(x)
        return testing.total((v * w[..., None, :]) @ adjoint(v))

    x = np.stack([spectrum((1.0, 2.0, 4.0), dtype), np.eye(3)])
    (found,) = testing.gradients(rebuilt, [x])
    assert np.isfinite(found[0]).all()
    assert np.isnan(found[1]).any()


@pytest.mark.parametrize(
    "f",
    [
        lambda x: xp.sum(xp.linalg.eigvalsh(x) ** 3),
        lambda x: xp.sum(xp.linalg.svdvals(x) ** 2),
        lambda x: xp.sum(xp.linalg.eigh(x)[0] ** 3),
        lambda x: xp.sum(xp.linalg.svd(x)[1] ** 2),
    ],
    ids=["eigvalsh", "svdvals", "eigh", "svd"],
)
@pytest.mark.parametrize("x", [np.eye(3), np.ones((3, 3)) + np.eye(3)], ids=["eye", "rounded"])
def test_second_derivatives_of_coinciding_values_are_nan_not_wrong(f, x):
    assert np.isfinite(testing.gradients(f, [x])[0]).all()
    assert np.isnan(curvature(f, x)).any()


LOW = {
    "rank 1 of 3": np.outer([1.0, 2.0, -1.0, 0.5, 3.0], [2.0, 1.0, -3.0]),
    "complex, square": np.outer([1.0, 2.0, -1j], [2.0, 1.0 + 1j, -3.0]),
    "real, tall": np.ones((3, 2)),
    "real, wide": np.ones((2, 3)),
    "complex, tall": np.asarray([[1.0, 2.0, 0.0], [1j, 1.0, 1.0], [2.0, 1.0, 1j], [0.0, 1.0, 1.0]])
    @ np.diag([1.0, 1.0, 0.0])
    @ spectrum((1.0, 2.0, 3.0), np.complex128),
}


@pytest.mark.parametrize("name", LOW)
def test_a_matrix_of_low_rank_rebuilt_by_svd_has_its_gradient_and_no_wrong_second_one(name):
    def f(x):
        u, s, vh = xp.linalg.svd(x, full_matrices=False)
        return testing.total(xp.abs((u * s) @ vh) ** 2)

    x = LOW[name]
    (found,) = testing.gradients(f, [x])
    np.testing.assert_allclose(found, 2.0 * testing.weights(x.shape) * x, atol=1e-12)
    assert np.isnan(curvature(f, x)).any()


@pytest.mark.parametrize("name", LOW)
def test_the_part_of_largest_singular_value_of_a_matrix_of_low_rank_is_exact(name):
    def f(x):
        u, s, vh = xp.linalg.svd(x, full_matrices=False)
        return testing.total((u[:, :1] * s[:1]) @ vh[:1, :])

    testing.check_gradients(f, [LOW[name]], order=1, rtol=1e-6)


EXACTLY_LOW = {
    "a column of zeros": np.asarray([[1.0, 2.0, 0.0], [0.0, 1.0, 0.0], [2.0, 1.0, 0.0]]),
    "tall, two columns": np.asarray(
        [[3.0, 0.0, 0.0], [1.0, 0.0, 0.0], [2.0, 0.0, 0.0], [1.0, 0, 0]]
    ),
    "wide, a row": np.asarray([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]]),
    "coinciding": np.diag([4.0, 3.0, 1.0, 1.0, 0.0, 0.0])[:, :5],
    "complex": np.asarray([[1.0, 2.0, 0.0], [1j, 1.0, 0.0], [2.0, 1j, 0.0]]),
}
TAKEN_APART = {
    "the largest part": lambda u, s, vh: (u[:, :1] * s[:1]) @ vh[:1, :],
    "ridge": lambda u, s, vh: (u * xp.where(s > 1.5, s / (s * s + 0.5), 0.0)) @ vh,
    "ridge by mask": lambda u, s, vh: adjoint(vh) @ (masked(s) * (adjoint(u) @ target(u))),
    "whitened": lambda u, s, vh: (vh[:1, :] / s[:1], s[:1]),
}


def target(u):
    return xp.asarray(testing.weights(u.shape[:1]))


def masked(s):
    d, large = xp.zeros(s.shape), s > 1.5
    d[large] = 1.0 / s[large]
    return d


@pytest.mark.parametrize("name", EXACTLY_LOW)
@pytest.mark.parametrize("way", TAKEN_APART)
def test_values_that_are_never_read_do_no_harm_where_they_coincide_or_are_zero(name, way):
    x = EXACTLY_LOW[name]

    def f(x):
        u, s, vh = xp.linalg.svd(x, full_matrices=False)
        found = TAKEN_APART[way](u, s, vh)
        parts = found if isinstance(found, tuple) else (found,)
        return sum(testing.total(xp.abs(part) ** 2) for part in parts)

    testing.check_gradients(f, [x], order=1, modes=["rev"], rtol=1e-6)


@pytest.mark.parametrize("name", EXACTLY_LOW)
def test_eigenvalues_that_are_never_read_do_no_harm_where_they_coincide(name):
    def f(x):
        w, v = xp.linalg.eigh(adjoint(x) @ x)
        top = v[:, -1:] / xp.sqrt(w[-1:])
        return testing.total(xp.abs(top @ adjoint(top)) ** 2)

    testing.check_gradients(f, [EXACTLY_LOW[name]], order=1, modes=["rev"], rtol=1e-6)


@pytest.mark.parametrize("name", EXACTLY_LOW)
def test_a_value_of_zero_that_is_read_is_nan_not_wrong(name):
    x = EXACTLY_LOW[name]
    hidden = np.zeros(x.shape)
    hidden[-1, -1] = 1.0

    def f(x):
        u, s, vh = xp.linalg.svd(x, full_matrices=False)
        return testing.total(xp.real((u * s) @ vh) * xp.asarray(hidden)) + xp.sum(s**2)

    (found,) = testing.gradients(f, [x])
    expected = hidden * testing.weights(x.shape) + 2.0 * x
    assert np.isnan(found).any() or np.allclose(found, expected)


def test_a_hermitian_matrix_of_low_rank_rebuilt_by_eigh_has_its_gradient():
    def f(x):
        w, v = xp.linalg.eigh((x + adjoint(x)) / 2.0)
        return testing.total((v * w) @ adjoint(v))

    x = np.outer([1.0, 2.0, -1.0, 0.5], [1.0, 2.0, -1.0, 0.5])
    testing.check_gradients(f, [x], order=1, modes=["rev"])


def test_vectors_of_zero_singular_values_have_no_quiet_gradient_where_they_leave_their_space():
    def u(x):
        return xp.linalg.svd(x, full_matrices=False)[0]

    assert np.isnan(gradient(lambda x: u(x)[0, 1], np.ones((3, 2)))).any()
    assert np.isfinite(gradient(lambda x: u(x)[0, 0], np.ones((3, 2)))).all()


SINGULAR = {
    "eye": np.eye(4),
    "zeros": np.zeros((3, 3)),
    "one": np.zeros((1, 1)),
    "rank 1": np.ones((3, 3)),
    "rank 3": spectrum((1.0, 1.0, 2.0, 0.0), np.complex128),
    "rank 2": spectrum((1.0, 1.0, 0.0, 0.0), np.complex128),
    "stack": np.stack([np.eye(3), np.zeros((3, 3)), np.diag([0.0, 1.0, 1.0])]),
}


@pytest.mark.parametrize("name", SINGULAR)
def test_a_complex_determinant_is_exact_to_second_order_where_singular_values_coincide(name):
    x = SINGULAR[name].astype(np.complex128)
    testing.check_gradients(lambda x: testing.total(xp.linalg.det(x)), [x])


@DTYPES
def test_slogdet_is_infinite_or_nan_in_the_singular_matrices_of_a_stack_alone(dtype):
    x = np.stack([np.zeros((2, 2)), M, np.diag([0.0, 1.0])]).astype(dtype)

    def f(x):
        return xp.sum(xp.linalg.slogdet(x)[1])

    (found,) = testing.gradients(f, [x])
    assert np.isinf(found[0]).all()
    assert np.isinf(found[2]).all()
    np.testing.assert_allclose(found[1], [[0.6, -0.2], [-0.2, 0.4]])
    with np.errstate(invalid="ignore"):
        second = curvature(f, x)
    assert np.isnan(second[0]).all()
    assert np.isnan(second[2]).all()
    assert np.isfinite(second[1]).all()


@pytest.mark.parametrize("order", [0.5, -0.5, 1.5, 3])
def test_a_norm_with_zeros_among_its_elements_is_exact_in_the_others(order):
    def f(x):
        return xp.linalg.vector_norm(x, ord=order)

    x = np.asarray([0.0, 2.0, -3.0])
    with np.errstate(divide="ignore"):
        (found,), second = testing.gradients(f, [x]), curvature(f, x)
    assert found[0] == 0.0
    assert np.isfinite(second).all()
    if order > 0:  # of negative order, the norm is 0 wherever an element is
        np.testing.assert_allclose(found[1:], testing.gradients(f, [x[1:]])[0], rtol=1e-14)


STACKS = [
    pytest.param(op, sample, id=f"{op.name}-{i}")
    for op in testing.recorded_ops()
    for i, sample in enumerate(op.samples)
    if op.name.startswith("linalg.") and "axis" not in sample.parameters
    if len(sample.inputs) == 1 and type(sample.inputs[0]) is tuple and len(sample.inputs[0]) == 3
]


@pytest.mark.parametrize(("op", "sample"), STACKS)
@DTYPES
def test_the_gradient_of_a_stack_is_that_of_each_matrix(op, sample, dtype):
    def f(x):
        found = op.public(sample.prepare(x) if sample.prepare else x, **sample.parameters)
        parts = found if isinstance(found, tuple) else (found,)
        return sum(
            xp.sum(xp.real(part) * (i + 1.0) + xp.imag(part)) for i, part in enumerate(parts)
        )

    (x,) = testing.materialise(op, sample, dtype)
    (found,) = testing.gradients(f, [x])
    assert found.shape == x.shape
    for part, matrix in zip(found, x, strict=True):
        np.testing.assert_allclose(part, testing.gradients(f, [matrix])[0], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("n", [0, 1, 2, 3, -1, np.int64(2), True])
@pytest.mark.parametrize(
    "x",
    [M, M.astype(int), [[np.inf, 0.0], [0.0, 1.0]], np.stack([M, 2 * M]), np.zeros((0, 0))],
    ids=["floats", "integers", "infinite", "stacked", "empty"],
)
def test_a_matrix_power_is_numpys(x, n):
    x = np.asarray(x)
    with np.errstate(invalid="ignore"):
        found, expected = xp.linalg.matrix_power(xp.asarray(x), n), np.linalg.matrix_power(x, n)
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-12)
    if n >= 0:
        assert found.dtype == expected.dtype


def test_a_matrix_to_the_power_of_zero_has_a_slope_of_zero():
    x = np.asarray([[np.inf, 1.0], [2.0, 3.0]])
    np.testing.assert_array_equal(gradient(lambda x: xp.linalg.matrix_power(x, 0), x), 0.0)
    testing.check_gradients(lambda x: xp.sum(xp.linalg.matrix_power(x, 3)), [M])


@pytest.mark.parametrize("shape", [(), (3,), (2, 3)])
@pytest.mark.parametrize("n", [0, 1, 2, -1])
def test_a_matrix_power_needs_square_matrices(shape, n):
    with pytest.raises(np.linalg.LinAlgError, match=r"matrix_power: needs square matrices, got"):
        xp.linalg.matrix_power(xp.ones(shape), n)


@pytest.mark.parametrize("axes", [0, 1, ((0,), (1,)), ([1], [0]), (0, 1), (-1, 0)])
def test_tensordot_takes_axes_as_numpy_does(axes):
    a, b = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 2, 2)
    found = xp.tensordot(xp.asarray(a), xp.asarray(b), axes=axes)
    np.testing.assert_allclose(np.asarray(found), np.tensordot(a, b, axes=axes))


@pytest.mark.parametrize(
    ("axes", "error", "says"),
    [
        (3, ValueError, r"float64\(2, 2\) .* do not both have 3 axes"),
        (-1, ValueError, "-1 axes"),
        ("ab", TypeError, "pair of sequences of axes, got str 'ab'"),
        (None, TypeError, "got NoneType"),
        (1.5, TypeError, "got float 1.5"),
        (((0,),), TypeError, "got tuple"),
        (((5,), (0,)), IndexError, r"axis 5 is out of range for float64\(2, 2\)"),
        (((0,), (0, 1)), ValueError, "differ"),
    ],
)
def test_axes_that_tensordot_cannot_take_are_said(axes, error, says):
    with pytest.raises(error, match=says):
        xp.tensordot(xp.ones((2, 2)), xp.ones((2, 3)), axes=axes)
