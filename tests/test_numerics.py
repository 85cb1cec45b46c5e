"""Derivatives where they are not obvious: kinks, infinite slopes, ties, degenerate matrices.

The conventions come first, then numbered cases.  What stands here is exact, or was computed to
the six decimals that are printed; functions that are not in the standard are written from its ops.
"""

import warnings

import numpy as np
import pytest

import arraytape as xp
from arraytape import TapeWarning

inf, nan = np.inf, np.nan
M = [[2.0, 1.0], [1.0, 3.0]]
SINGULAR = [[1.0, 2.0], [2.0, 4.0]]
EYE, EYE3 = np.eye(2), np.eye(3)


# --- helpers --------------------------------------------------------------------------------
def as_float(value):
    value = np.asarray(value)
    return value if value.dtype.kind in "fc" else value.astype(float)


def gradient(f, *values):
    """The gradients of sum(f(*values)), one for each value, as NumPy arrays (or None)."""
    arrays = [xp.asarray(as_float(v)) for v in values]
    with np.errstate(all="ignore"), xp.GradientTape() as tape:
        tape.watch(arrays)
        y = f(*arrays)
    found = [None if g is None else np.asarray(g) for g in tape.gradient(y, arrays)]
    for g, x in zip(found, arrays, strict=True):
        assert g is None or (g.shape == x.shape and g.dtype == x.dtype)
    return found if len(found) > 1 else found[0]


def derivative(f, x, order):
    """The derivative of the given order of f at the number x, by nested tapes."""
    if order == 0:
        return f(x)
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = derivative(f, x, order - 1)
    return tape.gradient(y, x)


def equal(found, expected):
    """Equal to the last bit; NaN equals NaN, and None nothing."""
    assert found is not None
    np.testing.assert_array_equal(found, np.broadcast_to(expected, found.shape))


def near(found, expected):
    """Equal but for rounding errors."""
    assert found is not None
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


def printed(found, expected):
    """Equal to the six decimals that are printed."""
    assert found is not None
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=5.1e-7)


def relu(x):
    return xp.where(x > 0, x, 0.0)


def norm(x):
    return xp.linalg.vector_norm(x)


def logsumexp(x):
    largest = xp.max(x)
    shift = xp.where(xp.isfinite(largest), largest, 0.0)
    return xp.log(xp.sum(xp.exp(x - shift))) + shift


def sigmoid(x):
    small = xp.exp(x)
    return xp.where(x >= 0, 1.0 / (1.0 + xp.exp(-x)), small / (1.0 + small))


def angle(z):
    return xp.atan2(xp.imag(z), xp.real(z))


def weighted(weights):
    return xp.asarray(np.asarray(weights, dtype=float))


# --- the conventions, row by row ------------------------------------------------------------
def test_a_complex_gradient_is_the_slope_to_the_real_part_plus_i_times_that_to_the_imaginary():
    def loss(z):
        return xp.real(z) * 3.0 + xp.imag(z) * 5.0

    equal(gradient(loss, 1.0 - 2.0j), 3.0 + 5.0j)


def test_a_step_against_a_complex_gradient_descends():
    def loss(z):
        return xp.sum(xp.abs(xp.exp(z) * (1.0 + 2.0j) - z * z) ** 2)

    z = np.asarray([0.3 - 0.7j, 1.1 + 0.4j])
    g = gradient(loss, z)
    step = 1e-6
    change = float(loss(xp.asarray(z - step * g))) - float(loss(xp.asarray(z)))
    np.testing.assert_allclose(change, -step * np.sum(np.abs(g) ** 2), rtol=1e-3)


def test_a_complex_cotangent_is_multiplied_by_the_conjugate_of_the_slope():
    z, g = xp.asarray(2.0 + 3.0j), 0.5 - 1.5j
    with xp.GradientTape() as tape:
        tape.watch(z)
        y = xp.exp(z)
    found = tape.gradient(y, z, output_gradients=g)
    near(np.asarray(found), g * np.conj(np.exp(2.0 + 3.0j)))


def test_a_real_input_of_a_complex_op_has_a_real_gradient():
    found = gradient(lambda x: xp.real(x * (2.0 + 5.0j) * (1.0 + 1.0j)), [1.0, 2.0])
    assert found.dtype == np.float64
    near(found, [-3.0, -3.0])


@pytest.mark.parametrize("extreme", [xp.maximum, xp.minimum])
def test_an_extreme_of_a_value_and_itself_has_gradient_one(extreme):
    equal(gradient(lambda x: extreme(x, x), [2.0, -1.0]), 1.0)


@pytest.mark.parametrize(
    ("extreme", "expected"),
    [
        pytest.param(xp.max, [[0.0, 0.5, 0.5], [0.0, 1.0, 0.0]], id="max"),
        pytest.param(xp.min, [[1.0, 0.0, 0.0], [0.5, 0.0, 0.5]], id="min"),
    ],
)
def test_ties_along_an_axis_share_the_gradient_of_their_row(extreme, expected):
    equal(gradient(lambda x: extreme(x, axis=1), [[1, 3, 3], [2, 4, 2]]), expected)


@pytest.mark.parametrize(
    ("f", "values"),
    [
        pytest.param(xp.abs, [0.0], id="abs"),
        pytest.param(xp.abs, [0.0 + 0.0j], id="abs of a complex zero"),
        pytest.param(xp.sign, [0.0], id="sign"),
        pytest.param(xp.sign, [0.0 + 0.0j], id="sign of a complex zero"),
        pytest.param(norm, [[0.0, 0.0]], id="norm"),
        pytest.param(norm, [[0.0j, 0.0j]], id="norm of complex zeros"),
        *(
            pytest.param(
                lambda x, ord=ord: xp.linalg.vector_norm(x, ord=ord), [[0.0, 0.0]], id=f"norm{ord}"
            )
            for ord in (0, 0.5, 1, 3, inf, -inf, -1, -2.5)
        ),
        pytest.param(xp.linalg.matrix_norm, [np.zeros((2, 2))], id="matrix norm"),
        pytest.param(xp.std, [[2.0, 2.0, 2.0]], id="std"),
        pytest.param(xp.hypot, [0.0, 0.0], id="hypot"),
        pytest.param(xp.atan2, [0.0, 0.0], id="atan2"),
    ],
)
def test_the_slope_at_zero_is_zero(f, values):
    found = gradient(f, *values)
    for g in found if len(values) > 1 else [found]:
        equal(g, 0.0)


@pytest.mark.parametrize("bound", [0.0, 1.0])
def test_the_slope_of_clip_at_a_bound_is_one_towards_x(bound):
    to_x, to_min, to_max = gradient(xp.clip, bound, 0.0, 1.0)
    assert (to_x, to_min, to_max) == (1.0, 0.0, 0.0)


@pytest.mark.parametrize("x", [-2.0, 0.0, 3.0])
def test_the_slope_of_x_to_the_power_of_zero_is_zero(x):
    equal(gradient(lambda x: x**0, x), 0.0)
    equal(gradient(xp.pow, x, 0.0)[0], 0.0)


@pytest.mark.parametrize("y", [0.5, 1.0, 3.0])
def test_the_slope_of_zero_to_the_power_of_y_is_zero_towards_y(y):
    equal(gradient(xp.pow, 0.0, y)[1], 0.0)
    equal(gradient(lambda y: 0.0**y, y), 0.0)


@pytest.mark.parametrize(
    "f",
    [
        pytest.param(xp.sqrt, id="sqrt"),
        pytest.param(xp.log, id="log"),
        pytest.param(xp.log2, id="log2"),
        pytest.param(xp.log10, id="log10"),
        pytest.param(lambda x: x**0.5, id="power"),
        pytest.param(lambda x: xp.pow(x, xp.asarray(0.5)), id="power of arrays"),
        pytest.param(lambda x: xp.log1p(x - 1.0), id="log1p"),
    ],
)
def test_an_infinite_slope_is_infinite(f):
    equal(gradient(f, 0.0), inf)


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        pytest.param(lambda x: xp.where(x > 0, xp.sqrt(x), 0.0), [0.0, 0.25], id="where"),
        pytest.param(lambda x: xp.sqrt(x)[x > 0], [0.0, 0.25], id="mask"),
        pytest.param(lambda x: xp.sqrt(x)[1], [0.0, 0.25], id="index"),
        pytest.param(lambda x: xp.sqrt(x)[1:], [0.0, 0.25], id="slice"),
        pytest.param(lambda x: written(xp.sqrt(x)), [0.0, 0.25], id="write"),
        pytest.param(lambda x: xp.max(xp.sqrt(x)), [0.0, 0.25], id="max"),
        pytest.param(lambda x: xp.maximum(xp.sqrt(x), 0.5), [0.0, 0.25], id="maximum"),
        pytest.param(lambda x: xp.clip(xp.sqrt(x), 0.5, 3.0), [0.0, 0.25], id="clip"),
        pytest.param(lambda x: xp.sort(xp.sqrt(x))[1:], [0.0, 0.25], id="sort"),
        pytest.param(
            lambda x: xp.take(xp.sqrt(x), xp.asarray([1, 1])), [0.0, 0.5], id="take, twice"
        ),
    ],
)
def test_what_a_selection_did_not_take_contributes_exactly_zero(f, expected):
    equal(gradient(f, [0.0, 4.0]), expected)


def written(y):
    y[0] = 0.0
    return y


@pytest.mark.parametrize(
    "f",
    [
        pytest.param(lambda x: xp.sqrt(x) ** 2, id="power"),
        pytest.param(lambda x: xp.square(xp.sqrt(x)), id="square"),
        pytest.param(lambda x: xp.sqrt(x) * 0.0, id="a factor of zero"),
        pytest.param(lambda x: xp.where(x >= 0, xp.sqrt(x), 7.0) ** 2, id="selected"),
    ],
)
def test_a_cotangent_that_is_zero_by_value_times_an_infinite_slope_is_nan(f):
    equal(gradient(f, [0.0]), nan)


@pytest.mark.parametrize("f", [xp.exp, xp.sin, xp.sqrt, xp.square, xp.log])
def test_nan_in_the_value_propagates_to_the_gradient(f):
    assert np.isnan(gradient(f, [nan, 1.0])).tolist() == [True, False]


def test_sort_hands_the_gradient_back_by_the_stable_order():
    weights = weighted([1.0, 10.0, 100.0, 1000.0])
    found = gradient(lambda x: xp.sort(x) * weights, [2.0, 1.0, 2.0, 1.0])
    equal(found, [100.0, 1.0, 1000.0, 10.0])


def test_a_descending_sort_hands_the_gradient_back_by_the_stable_order():
    weights = weighted([1.0, 10.0, 100.0, 1000.0])
    found = gradient(lambda x: xp.sort(x, descending=True) * weights, [2.0, 1.0, 2.0, 1.0])
    equal(found, [1.0, 100.0, 10.0, 1000.0])


def test_gathering_by_argsort_is_sorting():
    weights = weighted([1.0, 10.0, 100.0])
    found = gradient(lambda x: xp.take(x, xp.argsort(x)) * weights, [3.0, 1.0, 1.0])
    equal(found, [100.0, 1.0, 10.0])


@pytest.mark.parametrize(
    "values",
    [
        xp.unique_values,
        lambda x: xp.unique_all(x).values,
        lambda x: xp.unique_counts(x).values,
        lambda x: xp.unique_inverse(x).values,
    ],
    ids=["values", "all", "counts", "inverse"],
)
def test_the_gradient_of_a_repeated_value_goes_to_its_first_occurrence(values):
    weights = weighted([1.0, 10.0])
    equal(gradient(lambda x: values(x) * weights, [2.0, 1.0, 2.0, 1.0]), [10.0, 1.0, 0.0, 0.0])


def test_a_running_product_with_a_zero_is_exact():
    weights = weighted([1.0, 10.0, 100.0])
    found = gradient(lambda x: xp.cumulative_prod(x) * weights, [2.0, 0.0, 3.0])
    equal(found, [1.0, 620.0, 0.0])


def test_a_product_of_several_zeros_is_exact_to_second_order():
    x = xp.asarray([0.0, 0.0, 3.0])
    with xp.GradientTape() as outer:
        outer.watch(x)
        with xp.GradientTape() as inner:
            inner.watch(x)
            y = xp.prod(x)
        first = inner.gradient(y, x)[0]
    equal(np.asarray(outer.gradient(first, x)), [0.0, 3.0, 0.0])


@pytest.mark.parametrize("values", [xp.linalg.svdvals, xp.linalg.eigvalsh])
def test_coinciding_values_have_exact_gradients(values):
    near(gradient(values, np.eye(3)), np.eye(3))


def test_the_singular_values_of_zeros_have_a_finite_gradient():
    found = gradient(xp.linalg.svdvals, np.zeros((2, 2)))
    near(found @ found.T, EYE)  # some u vh: a subgradient


C = np.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 10.0]])
TWICE = np.ones((3, 3)) + np.eye(3)  # eigenvalues 1, 1, 4: the computed ones differ by rounding
SYMMETRIC_C = [[1.0, 3.0, 5.0], [3.0, 5.0, 7.0], [5.0, 7.0, 10.0]]


def rebuilt_by_svd(x):
    u, s, vh = xp.linalg.svd(x, full_matrices=False)
    return (u * s[..., None, :]) @ vh


def rebuilt_by_eigh(x):
    w, v = xp.linalg.eigh(x)
    return (v * w[..., None, :]) @ xp.matrix_transpose(v)


def rebuilt_by_eig(x):
    w, v = xp.linalg.eig(x)
    return xp.real((v * w[..., None, :]) @ xp.linalg.inv(v))


# Of a matrix rebuilt from coinciding values and their vectors, the cotangents of the two do not
# tell the gradient: the test after these shows another function that has the same ones and
# another gradient.  So the answer is NaN, never a finite number that is right for one of the two.
def nan_or_right(found, expected):
    assert np.isnan(found).any()
    finite = np.isfinite(found)
    assert not np.isinf(found).any()
    near(found[finite], np.asarray(expected)[finite])


@pytest.mark.parametrize(
    "x",
    [np.eye(3), 2.0 * np.eye(3), np.diag([3.0, 1.0, 1.0]), TWICE],
    ids=["eye", "scaled", "a pair", "but for rounding"],
)
def test_a_matrix_rebuilt_from_coinciding_singular_values_has_nan_as_gradient(x):
    nan_or_right(gradient(lambda x: rebuilt_by_svd(x) * xp.asarray(C), x), C)


@pytest.mark.parametrize(
    "x",
    [np.eye(3), 2.0 * np.eye(3), np.diag([1.0, 1.0, 3.0]), TWICE, np.zeros((3, 3))],
    ids=["eye", "scaled", "a pair", "but for rounding", "zeros"],
)
def test_a_matrix_rebuilt_from_coinciding_eigenvalues_has_nan_as_gradient(x):
    nan_or_right(gradient(lambda x: rebuilt_by_eigh(x) * xp.asarray(C), x), SYMMETRIC_C)


def test_a_matrix_rebuilt_from_coinciding_complex_eigenvalues_has_nan_as_gradient():
    nan_or_right(gradient(lambda x: rebuilt_by_eig(x) * xp.asarray(C), np.eye(3)), C)


def test_the_cotangents_of_values_and_vectors_do_not_tell_the_gradient_where_values_coincide():
    def rebuilt(u, s, vh):
        return xp.sum((u * s) @ vh)

    def other(u, s, vh):
        return xp.sum(u @ vh) + xp.sum(s)

    def cotangents(f):
        x = xp.asarray(EYE)
        with xp.GradientTape() as tape:
            tape.watch(x)
            parts = xp.linalg.svd(x)
            y = f(*parts)
        return [np.asarray(g) for g in tape.gradient(y, list(parts))]

    def slope(f):
        def value(t):
            return float(
                f(*xp.linalg.svd(xp.asarray(EYE + t * np.asarray([[0.0, 1.0], [0.0, 0.0]]))))
            )

        return (value(1e-6) - value(-1e-6)) / 2e-6

    for one, two in zip(cotangents(rebuilt), cotangents(other), strict=True):
        equal(one, two)
    np.testing.assert_allclose([slope(rebuilt), slope(other)], [1.0, 0.0], atol=1e-9)


def test_the_projector_onto_the_space_of_coinciding_eigenvalues_has_an_exact_gradient():
    def projected(x):
        v = xp.linalg.eigh(x)[1][:, :2]
        return v @ xp.matrix_transpose(v) * xp.asarray(C)

    expected = [[0.0, 0.0, -2.5], [0.0, 0.0, -3.5], [-2.5, -3.5, 0.0]]
    near(gradient(projected, np.diag([1.0, 1.0, 3.0])), expected)


def test_the_projector_onto_the_space_of_values_that_coincide_but_for_rounding_is_exact():
    def projected(x):
        v = xp.linalg.eigh(x)[1][:, :2]
        return v @ xp.matrix_transpose(v) * xp.asarray(C)

    # The other one's is v v^T with v = (1, 1, 1) / sqrt(3): -(p c q + q c p) / 3 with p = v v^T.
    p = np.full((3, 3), 1.0 / 3.0)
    c = np.asarray(SYMMETRIC_C)
    near(gradient(projected, TWICE), -(p @ c @ (EYE3 - p) + (EYE3 - p) @ c @ p) / 3.0)


def test_the_projector_onto_the_space_of_coinciding_singular_values_has_an_exact_gradient():
    def projected(x):
        u = xp.linalg.svd(x, full_matrices=False)[0][:, :2]
        return u @ xp.matrix_transpose(u) * xp.asarray(C)

    expected = [[0.0, 0.0, 1.25], [0.0, 0.0, 1.75], [3.75, 5.25, 0.0]]
    near(gradient(projected, np.diag([3.0, 3.0, 1.0])), expected)


@pytest.mark.parametrize(
    "vectors",
    [lambda x: xp.linalg.eigh(x)[1], lambda x: xp.linalg.svd(x)[0], lambda x: xp.linalg.svd(x)[2]],
    ids=["eigh", "u", "vh"],
)
def test_vectors_that_are_no_function_of_the_matrix_have_no_quiet_gradient(vectors):
    assert np.isnan(gradient(lambda x: vectors(x)[0, 0], EYE)).any()


def test_det_of_a_singular_matrix_has_its_cofactors_as_gradient():
    near(gradient(xp.linalg.det, SINGULAR), [[4.0, -2.0], [-2.0, 1.0]])


def test_det_of_zeros_has_a_gradient_of_zeros():
    equal(gradient(xp.linalg.det, np.zeros((3, 3))), 0.0)


def test_slogdet_of_a_singular_matrix_has_an_infinite_gradient():
    found = gradient(lambda x: xp.linalg.slogdet(x)[1], SINGULAR)
    assert np.isinf(found).all()


def test_slogdet_of_a_stack_is_infinite_for_the_singular_matrix_alone():
    found = gradient(lambda x: xp.linalg.slogdet(x)[1], [SINGULAR, M])
    assert np.isinf(found[0]).all()
    near(found[1], [[0.6, -0.2], [-0.2, 0.4]])


@pytest.mark.parametrize(
    "f", [xp.round, xp.floor, xp.ceil, xp.trunc, lambda x: x > 1.0, xp.argmax, xp.isnan]
)
def test_what_has_no_derivative_gives_none(f):
    x = xp.asarray([1.5, 2.5])
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.astype(f(x), xp.float64)
    assert tape.gradient(y, x) is None


def test_an_integer_result_gives_none():
    assert gradient(lambda x: xp.astype(xp.astype(x, xp.int64), xp.float64), [1.5]) is None


@pytest.mark.parametrize("f", [xp.sign, lambda x: xp.floor_divide(x, 2.0)])
def test_what_is_flat_gives_zeros(f):
    equal(gradient(f, [1.5, -2.5]), 0.0)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 0)])
def test_a_gradient_has_its_sources_dtype_shape_and_device(dtype, shape):
    x = xp.ones(shape, dtype=getattr(xp, dtype))
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.sum(xp.abs(xp.sqrt(x * 2.0 + 1.0)))
    found = tape.gradient(y, x)
    assert (found.dtype, found.shape, found.device) == (x.dtype, x.shape, x.device)


def test_an_integer_source_gives_none_with_a_warning_that_names_the_dtype():
    x = xp.asarray([1, 2])
    with xp.GradientTape() as tape:
        with pytest.warns(TapeWarning, match="int64"):
            tape.watch(x)
        y = x * x
    with pytest.warns(TapeWarning, match="int64"):
        assert tape.gradient(y, x) is None


# --- where a derivative does not exist ------------------------------------------------------
@pytest.mark.parametrize(
    ("f", "x", "expected"),
    [
        pytest.param(xp.sqrt, 0.0, inf, id="57-sqrt"),
        pytest.param(xp.log, 0.0, inf, id="57-log"),
        pytest.param(xp.acos, 1.0, -inf, id="57-arccos"),
    ],
)
def test_a_vertical_tangent_has_an_infinite_slope(f, x, expected):
    equal(gradient(f, x), expected)


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        pytest.param(lambda x: xp.where(x > 0, xp.sqrt(x), 0), 0.0, id="58"),
        pytest.param(lambda x: xp.where(x < 1, x, xp.sqrt(x)), 1.0, id="59"),
    ],
)
def test_the_branch_that_where_did_not_take_contributes_zero(f, expected):
    equal(gradient(f, 0.0), expected)


@pytest.mark.parametrize(
    ("f", "values", "expected"),
    [
        pytest.param(xp.abs, [0.0], [0.0], id="61-abs"),
        pytest.param(xp.maximum, [2.0, 2.0], [0.5, 0.5], id="62-maximum"),
        pytest.param(xp.minimum, [2.0, 2.0], [0.5, 0.5], id="62-minimum"),
        pytest.param(xp.maximum, [nan, 1.0], [1.0, 0.0], id="63-maximum"),
        pytest.param(xp.maximum, [1.0, nan], [0.0, 1.0], id="63-maximum, second"),
        pytest.param(xp.minimum, [nan, 1.0], [1.0, 0.0], id="63-minimum"),
        pytest.param(xp.max, [[1.0, 3.0, 3.0]], [[0.0, 0.5, 0.5]], id="64-max"),
        pytest.param(xp.max, [[2.0, 2.0, 2.0, 2.0]], [[0.25] * 4], id="64-max of four"),
        pytest.param(relu, [0.0], [0.0], id="65-relu"),
        pytest.param(lambda x: xp.maximum(x, 0), [0.0], [0.5], id="65-maximum with a constant"),
        pytest.param(xp.sign, [0.0], [0.0], id="65-sign"),
        pytest.param(
            lambda x: xp.clip(x, 0, 1), [[-1.0, 0.0, 0.5, 1.0, 2.0]], [[0, 1, 1, 1, 0]], id="66"
        ),
        pytest.param(lambda x: xp.remainder(x, 3.0), [5.0], [1.0], id="83-remainder by a number"),
        pytest.param(xp.remainder, [5.0, 3.0], [1.0, -1.0], id="83-remainder"),
        pytest.param(xp.remainder, [-5.0, 3.0], [1.0, 2.0], id="83-remainder, negative"),
        pytest.param(xp.floor_divide, [5.0, 3.0], [0.0, 0.0], id="83-floor_divide"),
    ],
)
def test_a_kink_has_the_slope_of_its_convention(f, values, expected):
    found = gradient(f, *values)
    for g, e in zip(found if len(values) > 1 else [found], expected, strict=True):
        equal(g, e)


@pytest.mark.parametrize("power", [pow, xp.pow], ids=["operator", "function"])
@pytest.mark.parametrize(
    ("exponent", "expected"),
    [
        pytest.param(2, 0.0, id="67-2"),
        pytest.param(1, 1.0, id="67-1"),
        pytest.param(0, 0.0, id="67-int 0"),
        pytest.param(0.0, 0.0, id="67-float 0"),
    ],
)
def test_the_slope_of_a_power_of_zero(power, exponent, expected):
    equal(gradient(lambda x: power(x, exponent), 0.0), expected)


@pytest.mark.parametrize(
    ("x1", "x2", "expected"),
    [
        pytest.param(0.0, 0.0, [0.0, 0.0], id="68-0 0"),
        pytest.param(0.0, 0.5, [inf, 0.0], id="68-0 0.5"),
        pytest.param(0.0, 2.0, [0.0, 0.0], id="68-0 2"),
        pytest.param(-2.0, 3.0, [12.0, nan], id="68-negative 3"),
    ],
)
def test_the_slopes_of_a_power_of_two_arrays(x1, x2, expected):
    to_base, to_exponent = gradient(xp.pow, x1, x2)
    equal(to_base, expected[0])
    equal(to_exponent, expected[1])


@pytest.mark.parametrize("square", [lambda x: x * x, lambda x: x**2, xp.square])
def test_case_70_the_root_of_a_square_at_zero_is_nan(square):
    equal(gradient(lambda x: xp.sqrt(square(x)), 0.0), nan)


@pytest.mark.parametrize(
    ("f", "x", "expected"),
    [
        pytest.param(norm, [3.0, 4.0], [0.6, 0.8], id="71-norm"),
        pytest.param(norm, [0.0, 0.0], [0.0, 0.0], id="71-norm at 0"),
        pytest.param(lambda x: norm(x) ** 2, [0.0, 0.0], [0.0, 0.0], id="71-squared norm at 0"),
        pytest.param(xp.std, [2.0, 2.0, 2.0], [0.0, 0.0, 0.0], id="73-std of equal elements"),
        pytest.param(xp.std, [1.0, 3.0], [-0.5, 0.5], id="73-std"),
        pytest.param(xp.var, [1.0, 3.0], [-1.0, 1.0], id="73-var"),
        pytest.param(
            lambda x: xp.var(x, correction=1), [1.0, 3.0], [-2.0, 2.0], id="73-var, corrected"
        ),
        pytest.param(xp.prod, [2.0, 0.0, 3.0], [0.0, 6.0, 0.0], id="74-one zero"),
        pytest.param(xp.prod, [0.0, 0.0, 3.0], [0.0, 0.0, 0.0], id="74-two zeros"),
    ],
)
def test_the_gradient_of_a_reduction(f, x, expected):
    near(gradient(f, x), expected)


LOGSUMEXP = [
    pytest.param([-inf, 0.0], [0.0, 1.0], id="76-minus infinity"),
    pytest.param([1000.0, 1000.0], [0.5, 0.5], id="76-large"),
    pytest.param([-inf, -inf], [nan, nan], id="76-nothing"),
    pytest.param([inf, 0.0], [nan, 0.0], id="76-infinity"),
]


@pytest.mark.parametrize(("x", "expected"), LOGSUMEXP)
def test_the_gradient_of_logsumexp(x, expected):
    equal(gradient(logsumexp, x), expected)


@pytest.mark.parametrize(("x", "expected"), LOGSUMEXP)
def test_the_gradient_of_scipys_own_logsumexp(x, expected):
    import scipy.special

    equal(gradient(scipy.special.logsumexp, x), expected)


@pytest.mark.parametrize(
    ("f", "values", "expected"),
    [
        pytest.param(xp.logaddexp, (0.0, 0.0), [0.5, 0.5], id="77-logaddexp"),
        pytest.param(xp.logaddexp, (1000.0, 0.0), [1.0, 0.0], id="77-logaddexp, large"),
        pytest.param(xp.logaddexp, (-inf, -inf), [nan, nan], id="77-logaddexp of nothing"),
        pytest.param(xp.logaddexp, (inf, 0.0), [1.0, 0.0], id="77-logaddexp of infinity"),
        pytest.param(xp.logaddexp, (inf, -inf), [1.0, 0.0], id="77-logaddexp of both infinities"),
        pytest.param(xp.logaddexp, (inf, inf), [0.5, 0.5], id="77-logaddexp of two infinities"),
        pytest.param(xp.logaddexp, (inf, nan), [nan, nan], id="77-logaddexp of infinity and NaN"),
        pytest.param(xp.atan2, (1.0, 1.0), [0.5, -0.5], id="78-atan2"),
        pytest.param(xp.atan2, (0.0, 0.0), [0.0, 0.0], id="78-atan2 at 0"),
        pytest.param(xp.hypot, (3.0, 4.0), [0.6, 0.8], id="79-hypot"),
        pytest.param(xp.hypot, (0.0, 0.0), [0.0, 0.0], id="79-hypot at 0"),
        pytest.param(xp.divide, (0.0, 0.0), [inf, nan], id="84-divide"),
    ],
)
def test_the_slopes_of_a_function_of_two_arrays(f, values, expected):
    near(gradient(f, *values), expected)


SOFTPLUS = {
    "logaddexp": lambda x: xp.logaddexp(x, xp.asarray(0.0)),
    "log1p": lambda x: xp.log1p(xp.exp(-xp.abs(x))) + xp.maximum(x, 0.0),
}
SIGMOID = {
    "where": sigmoid,
    "tanh": lambda x: 0.5 * (xp.tanh(0.5 * x) + 1.0),
}


@pytest.mark.parametrize(
    ("f", "x", "expected"),
    [
        pytest.param(lambda x: xp.log(1.0 + xp.exp(x)), 100.0, 1.0, id="82-naive softplus at 100"),
        pytest.param(lambda x: xp.log(1.0 + xp.exp(x)), 1000.0, nan, id="82-naive at 1000"),
        *(
            pytest.param(SOFTPLUS[how], x, expected, id=f"82-softplus by {how} at {x}")
            for how in SOFTPLUS
            for x, expected in ((1000.0, 1.0), (inf, 1.0), (0.0, 0.5))
        ),
        *(pytest.param(SIGMOID[how], -1000.0, 0.0, id=f"82-sigmoid by {how}") for how in SIGMOID),
        pytest.param(xp.tanh, 1000.0, 0.0, id="82-tanh"),
    ],
)
def test_the_slope_far_out(f, x, expected):
    equal(gradient(f, x), expected)


def test_case_81_the_slope_of_array_api_extras_own_sinc_at_zero_is_zero():
    import array_api_extra

    equal(gradient(lambda x: array_api_extra.sinc(x, xp=xp), 0.0), 0.0)


def test_case_84_the_sixth_derivative_of_a_reciprocal_is_exact():
    found = derivative(lambda x: 1 / x, xp.asarray(4.0), 6)
    near(np.asarray(found), 0.0439453125)


@pytest.mark.parametrize(
    ("f", "x", "expected"),
    [
        pytest.param(xp.mean, np.arange(6.0).reshape(2, 3), np.full((2, 3), 1 / 6), id="85-mean"),
        pytest.param(lambda x: x * xp.ones((3, 2)), [1.0, 2.0], [3, 3], id="85-broadcast"),
        pytest.param(
            lambda x: xp.cumulative_sum(x) * weighted([1, 10, 100]),
            [1.0, 2.0, 3.0],
            [111, 110, 100],
            id="85-cumulative_sum",
        ),
        pytest.param(
            lambda x: xp.repeat(x, 2) * weighted(range(6)),
            [1.0, 2.0, 3.0],
            [1, 5, 9],
            id="85-repeat",
        ),
        pytest.param(
            lambda x: xp.tile(x, (2,)) * weighted(range(6)),
            [1.0, 2.0, 3.0],
            [3, 5, 7],
            id="85-tile",
        ),
        pytest.param(
            lambda x: xp.diff(x) * weighted([1, 10]), [1.0, 2.0, 3.0], [-1, -9, 10], id="85-diff"
        ),
        pytest.param(
            lambda x: x[xp.asarray([0, 0, 2])] * weighted([1, 2, 3]),
            [1.0, 2.0, 3.0],
            [3, 0, 3],
            id="85-gather",
        ),
        pytest.param(lambda x: x[x > 1], [1.0, 2.0, 3.0], [0, 1, 1], id="85-mask"),
    ],
)
def test_what_is_used_several_times_adds_up(f, x, expected):
    equal(gradient(f, x), expected)


# --- linear algebra, fft, complex -----------------------------------------------------------
@pytest.mark.parametrize(
    ("f", "x", "expected"),
    [
        pytest.param(xp.linalg.det, M, [[3, -1], [-1, 2]], id="87-det"),
        pytest.param(
            lambda x: xp.linalg.slogdet(x)[1], M, [[0.6, -0.2], [-0.2, 0.4]], id="87-slogdet"
        ),
        pytest.param(xp.linalg.inv, M, [[-0.16, -0.08], [-0.08, -0.04]], id="87-inv"),
        pytest.param(xp.linalg.eigvalsh, M, EYE, id="89-eigvalsh"),
        pytest.param(xp.linalg.svdvals, EYE, EYE, id="90-svdvals at eye"),
        pytest.param(
            rebuilt_by_svd, [[1.0, 2.0], [3.0, 4.0]], np.ones((2, 2)), id="90-rebuilt matrix"
        ),
        pytest.param(
            lambda x: xp.abs(xp.fft.fft(x + 0.0j)) ** 2, [1.0, 2.0, 3.0], [6, 12, 18], id="94-fft"
        ),
        pytest.param(
            lambda x: xp.fft.irfft(xp.fft.rfft(x), n=3) * weighted([1, 2, 3]),
            [1.0, 2.0, 3.0],
            [1, 2, 3],
            id="94-irfft of rfft",
        ),
    ],
)
def test_the_gradient_of_a_matrix_function_or_transform(f, x, expected):
    near(gradient(f, x), expected)


@pytest.mark.parametrize(
    ("f", "x", "expected"),
    [
        pytest.param(
            xp.linalg.cholesky, M, [[0.255834, 0.19544], [0.19544, 0.316228]], id="89-cholesky"
        ),
        pytest.param(
            lambda x: xp.linalg.eigvalsh(x)[1],
            M,
            [[0.276393, 0.447214], [0.447214, 0.723607]],
            id="89-largest eigenvalue",
        ),
        pytest.param(
            xp.linalg.svdvals,
            [[1.0, 2.0], [3.0, 4.0]],
            [[-0.514496, 0.857493], [0.857493, 0.514496]],
            id="90-svdvals",
        ),
        pytest.param(
            lambda x: xp.linalg.qr(x)[1],
            [[1.0, 2.0], [3.0, 4.0]],
            [[0.822192, -1.264911], [-1.328157, -0.632456]],
            id="91-qr",
        ),
        pytest.param(
            lambda x: xp.linalg.qr(x)[1],
            [[1.0, 2.0, 3.0], [4.0, 5.0, 7.0]],
            [[2.325489, -1.212678, -1.212678], [-1.612149, -0.727607, -0.727607]],
            id="91-wide qr",
        ),
    ],
)
def test_the_printed_gradient_of_a_factorisation(f, x, expected):
    printed(gradient(f, x), expected)


def test_case_87_solve_has_gradients_to_the_matrix_and_the_right_hand_side():
    to_matrix, to_vector = gradient(xp.linalg.solve, M, [1.0, 2.0])
    near(to_matrix, [[-0.08, -0.24], [-0.04, -0.12]])
    near(to_vector, [0.4, 0.2])


def test_case_91_a_complete_qr_of_a_tall_matrix_says_that_it_has_no_gradient():
    with pytest.raises(ValueError, match="complete"):
        gradient(lambda x: xp.linalg.qr(x, mode="complete")[0], [[1.0], [2.0]])


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        pytest.param(xp.real, 1.0, id="95-real"),
        pytest.param(xp.imag, 1.0j, id="95-imag"),
        pytest.param(lambda z: xp.abs(z) ** 2, 4.0 + 6.0j, id="95-squared abs"),
        pytest.param(lambda z: xp.real(z * xp.conj(z)), 4.0 + 6.0j, id="95-product with conj"),
        pytest.param(lambda z: xp.real(z * z), 4.0 - 6.0j, id="95-real of a square"),
        pytest.param(lambda z: xp.real(z**2), 4.0 - 6.0j, id="95-real of a power"),
        pytest.param(lambda z: xp.imag(z * z), 6.0 + 4.0j, id="95-imag of a square"),
        pytest.param(lambda z: z * z, 4.0 - 6.0j, id="95-complex target"),
        pytest.param(lambda z: xp.square(z), 4.0 - 6.0j, id="95-complex target, square"),
    ],
)
def test_the_gradient_of_a_complex_function(f, expected):
    near(gradient(f, 2.0 + 3.0j), expected)


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        pytest.param(xp.abs, 0.5547002 + 0.8320503j, id="95-abs"),
        pytest.param(angle, -0.230769 + 0.153846j, id="95-angle"),
    ],
)
def test_the_printed_gradient_of_a_complex_function(f, expected):
    printed(gradient(f, 2.0 + 3.0j), expected)


def test_case_95_abs_of_a_complex_zero_has_gradient_zero():
    equal(gradient(xp.abs, 0.0 + 0.0j), 0.0)


def test_case_95_a_real_number_in_a_complex_product_has_a_real_gradient():
    found = gradient(lambda x: xp.abs(x * (1.0 + 2.0j)) ** 2, 2.0)
    assert found.dtype == np.float64
    near(found, 20.0)


# --- mutation and array-API code ------------------------------------------------------------
def test_case_96_a_view_scaled_in_place_scales_the_gradient_of_its_part():
    def f(x):
        y = x * 1
        v = y[:2]
        v *= 10
        return xp.sum(y)

    equal(gradient(f, [1.0, 2.0, 3.0]), [10.0, 10.0, 1.0])


def test_case_97_a_slice_written_into_zeros_has_the_gradient_of_what_was_written():
    def f(x):
        z = xp.zeros(3)
        z[1:] = x[:2] ** 2
        return z * weighted([1, 10, 100])

    equal(gradient(f, [1.0, 2.0, 3.0]), [20.0, 400.0, 0.0])


def test_case_98_what_a_mask_overwrote_has_no_gradient():
    def f(x):
        z = x * 1
        z[z > 1.5] = 0
        return z

    equal(gradient(f, [1.0, 2.0, 3.0]), [1.0, 0.0, 0.0])


def test_case_98_adding_in_place_to_a_result_that_its_rule_needs():
    def f(x):
        y = xp.exp(x)
        y += 1
        return y

    near(gradient(f, [1.0, 2.0]), np.exp([1.0, 2.0]))


def test_case_101_of_repeated_indices_the_last_write_counts():
    x = xp.asarray([1.0, 2.0, 3.0])
    with xp.GradientTape() as tape:
        tape.watch(x)
        z = xp.zeros(3)
        z[xp.asarray([0, 0, 2])] = x
        y = xp.sum(z)
    equal(np.asarray(z), [2.0, 0.0, 3.0])
    equal(np.asarray(tape.gradient(y, x)), [0.0, 1.0, 1.0])


@pytest.fixture
def dispatching():
    sklearn = pytest.importorskip("sklearn")
    with sklearn.config_context(array_api_dispatch=True):
        yield


@pytest.mark.usefixtures("dispatching")
def test_case_102_the_gradient_of_the_first_value_that_the_standard_scaler_gives():
    from sklearn.preprocessing import StandardScaler

    found = gradient(
        lambda x: StandardScaler().fit(x).transform(x)[0, :], [[1.0], [3.0], [4.0], [0.0]]
    )
    printed(found[:, 0], [0.411096, -0.094868, -0.031623, -0.284605])


TRUTH, PREDICTION = [1.0, 2.0, 3.0], [1.5, 2.0, 5.0]


@pytest.mark.usefixtures("dispatching")
def test_case_104_a_metric_that_returns_a_float_says_where_the_gradient_was_lost():
    from sklearn.metrics import mean_squared_error

    truth, prediction = xp.asarray(TRUTH), xp.asarray(PREDICTION)
    with xp.GradientTape() as tape:
        tape.watch(prediction)
        loss = mean_squared_error(truth, prediction)
        target = xp.asarray(loss)
    assert type(loss) is float
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert tape.gradient(target, prediction) is None
    (warning,) = caught
    assert warning.category is TapeWarning
    message = str(warning.message).replace("\\", "/")
    assert "sklearn/metrics/_regression.py:" in message
    assert "float()" in message


@pytest.mark.usefixtures("dispatching")
def test_case_104_a_float_as_target_is_refused():
    from sklearn.metrics import mean_squared_error

    prediction = xp.asarray(PREDICTION)
    with xp.GradientTape() as tape:
        tape.watch(prediction)
        loss = mean_squared_error(xp.asarray(TRUTH), prediction)
    with pytest.raises(TypeError, match="target must be an Array, got float"):
        tape.gradient(loss, prediction)


@pytest.mark.usefixtures("dispatching")
def test_case_104_raw_values_keep_the_gradient():
    from sklearn.metrics import mean_squared_error

    found = gradient(
        lambda p: mean_squared_error(xp.asarray(TRUTH), p, multioutput="raw_values"), PREDICTION
    )
    near(found, [1 / 3, 0.0, 4 / 3])
