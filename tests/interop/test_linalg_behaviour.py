"""scipy.linalg inside the context: what is read, refused, raised, warned of; kinds of data; vmap."""

import copy
import inspect
import threading
import warnings

import numpy as np
import pytest
import scipy.linalg as L

import arraytape as xp
from arraytape import interop
from arraytape.interop import _hooks
from arraytape.interop.linalg import REFUSED

A = np.asarray([[4.0, 1.0, 0.5], [1.0, 5.0, -1.0], [0.5, -1.0, 6.0]])
B = np.asarray([1.0, -2.0, 0.5])


# --- one triangle is read ---------------------------------------------------------------------------
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize(
    "function",
    [
        lambda a, lower: L.cholesky(a, lower=lower),
        lambda a, lower: L.cho_solve(L.cho_factor(a, lower=lower), B),
        lambda a, lower: L.solve(a, B, assume_a="pos", lower=lower),
        lambda a, lower: L.inv(a, assume_a="sym", lower=lower),
        lambda a, lower: L.eigvalsh(a, lower=lower),
        lambda a, lower: L.pinvh(a, lower=lower),
    ],
)
def test_the_triangle_that_is_not_read_has_no_gradient(gradient, near, function, lower):
    """And the other one has that of both: moved alone, it moves the matrix at two places."""
    weights = np.arange(1.0, 10.0).reshape(3, 3)

    def total(a):
        y = function(a, lower)
        return xp.sum(y * weights[: y.shape[0], : y.shape[1]] if y.ndim > 1 else y * B)

    with interop.scipy():
        found = np.asarray(gradient(total, A))
        both = np.asarray(gradient(lambda a: total(mirrored(a, lower)), A))
    unread = np.triu(found, 1) if lower else np.tril(found, -1)
    assert (unread == 0.0).all()
    near(found, both)


def mirrored(a, lower):
    """The matrix that is read."""
    half = xp.tril(a) if lower else xp.triu(a)
    return half + xp.matrix_transpose(xp.tril(a, k=-1) if lower else xp.triu(a, k=1))


def test_the_other_triangle_of_cho_factor_is_handed_through(gradient, near):
    """Before SciPy 1.18, whose factor has zeros there."""
    stays = bool(np.tril(L.cho_factor(A)[0], -1).any())
    with interop.scipy():
        found = gradient(lambda a: xp.sum(xp.tril(L.cho_factor(a)[0], k=-1) * 3.0), A)
    near(found, 3.0 * stays * np.tril(np.ones((3, 3)), -1))


# --- what is refused --------------------------------------------------------------------------------
@pytest.mark.parametrize("name", REFUSED)
def test_functions_without_a_rule_say_so_at_the_users_line(name):
    with (
        interop.scipy(),
        pytest.raises(TypeError, match=rf"scipy\.linalg\.{name} has no deriv") as error,
    ):
        getattr(L, name)(xp.asarray(A), xp.asarray(A))
    assert f"{__file__}:{inspect.currentframe().f_lineno - 1}" in str(error.value)
    assert "stop_gradient" in str(error.value)


@pytest.mark.parametrize(
    ("function", "option"),
    [
        (lambda a: L.inv(a, assume_a="diagonal"), "assume_a='diagonal'"),
        (lambda a: L.eig(a, left=True), "left=True"),
        (lambda a: L.eig(a, a), "b="),
        (lambda a: L.eigh(a, a, type=2), "type=2"),
        (lambda a: L.eigh(a, eigvals_only=True, subset_by_index=[0, 1]), "subset"),
        (lambda a: L.qr(a, mode="raw"), "mode='raw'"),
        pytest.param(
            lambda a: L.logm(a, disp=False),
            "disp=False",
            marks=pytest.mark.skipif(
                "disp" not in inspect.signature(L.logm).parameters, reason="SciPy 1.18 has no disp"
            ),
        ),
        (lambda a: L.orth(a, rcond=a[0, 0]), "an Array as rcond"),
        (lambda a: L.fractional_matrix_power(a, a[0, 0]), "an Array as t"),
        (lambda a: L.solve(a, None), "b=None"),
        (lambda a: L.eig_banded(a, select="i", select_range=(0, 1)), "select='i'"),
        (lambda a: L.solve_circulant(a[0], a[1], singular="lstsq"), "singular="),
        (lambda a: L.solve_continuous_are(a, a, A, A, e=A), "e=ndarray"),
    ],
)
def test_options_without_a_rule_say_so(function, option):
    with interop.scipy(), pytest.raises(TypeError, match="has no derivative here") as error:
        function(xp.asarray(A))
    assert option in str(error.value)
    assert __file__ in str(error.value)


def test_a_pseudo_inverse_that_leaves_values_out_has_a_nan_gradient():
    """It moves with the values left out, too, and its formula does not know that."""
    x = xp.asarray(np.diag([3.0, 2.0, 0.1]) + 0.01)
    with interop.scipy(), xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.sum(L.pinv(x, rtol=0.2))
    assert np.isnan(np.asarray(tape.gradient(y, x, nan="keep"))).all()


@pytest.mark.parametrize("name", ["null_space", "orth"])
def test_what_depends_on_the_choice_of_a_basis_has_a_nan_gradient(name):
    x = xp.asarray(np.random.default_rng(0).normal(size=(2, 4) if name == "null_space" else (4, 2)))
    with interop.scipy(), xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.sum(getattr(L, name)(x) * np.arange(8.0).reshape(4, 2))
    assert np.isnan(np.asarray(tape.gradient(y, x, nan="keep"))).any()


# --- errors and warnings ----------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("function", "kind", "text"),
    [
        (lambda a: L.solve(a * 0.0, B), L.LinAlgError, "singular"),
        (lambda a: L.cholesky(-a), L.LinAlgError, "positive definite|potrf return info"),
        (lambda a: L.inv(a * np.nan), ValueError, "must not contain infs or NaNs"),
        (lambda a: L.solve(a, B[:2]), ValueError, "incompatible"),
        (lambda a: L.solve(a, B, assume_a="odd"), ValueError, "not a recognized"),
        (lambda a: L.solve(a + 0j, B, transposed=True), NotImplementedError, "complex"),
        (lambda a: L.eigh(a[:2]), ValueError, "square"),
    ],
)
def test_errors_are_scipys(function, kind, text):
    with pytest.raises(kind, match=text):
        function(A)
    with interop.scipy(), pytest.raises(kind, match=text) as error:
        function(xp.asarray(A))
    assert type(error.value) is kind


def test_without_check_finite_nan_goes_through():
    with interop.scipy():
        found = L.inv(xp.asarray(np.diag([np.nan, 1.0])), check_finite=False)
    assert np.isnan(np.asarray(found)).any()


def test_warnings_are_scipys_and_point_at_the_users_line():
    near_singular = np.asarray([[1.0, 1.0], [1.0, 1.0 + 1e-16 * 4]])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        L.inv(near_singular)
    with interop.scipy(), warnings.catch_warnings(record=True) as ours:
        warnings.simplefilter("always")
        L.inv(xp.asarray(near_singular))
        line = inspect.currentframe().f_lineno - 1
    assert [(w.category, str(w.message)) for w in caught] == [
        (w.category, str(w.message)) for w in ours
    ]
    assert len(ours) == 1
    assert (ours[0].filename, ours[0].lineno) == (__file__, line)


# --- kinds of arguments -----------------------------------------------------------------------------
def test_numpy_data_lists_and_variables_are_mixed_with_arrays(gradient, near):
    expected = L.solve(A, B)
    with interop.scipy():
        for a, b in [(xp.asarray(A), B), (A, xp.asarray(B)), (A.tolist(), xp.asarray(B)),
                     (xp.Variable(A), B.tolist()), ([xp.asarray(row) for row in A], B)]:  # fmt: skip
            found = L.solve(a, b)
            assert type(found) is xp.Array
            np.testing.assert_array_equal(np.asarray(found), expected)
        near(gradient(lambda b: xp.sum(L.solve(A, b)), B), np.linalg.solve(A.T, np.ones(3)))


@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.int64])
def test_dtypes_are_scipys_and_gradients_have_the_sources(dtype):
    a = A.astype(dtype)
    x = xp.asarray(a)
    with interop.scipy(), xp.GradientTape() as tape:
        if dtype is not np.int64:
            tape.watch(x)
        y = L.inv(x)
        total = xp.sum(xp.real(y))
    assert y.dtype == L.inv(a).dtype
    np.testing.assert_array_equal(np.asarray(y), L.inv(a))
    if dtype is not np.int64:
        assert tape.gradient(total, x).dtype == dtype


def test_overwriting_is_not_done_to_what_a_tape_keeps(gradient, near):
    x = xp.asarray(A)
    with interop.scipy(), xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.sum(L.solve(x, B, overwrite_a=True, overwrite_b=True, assume_a="gen"))
    np.testing.assert_array_equal(np.asarray(x), A)
    near(tape.gradient(y, x), -np.outer(np.linalg.solve(A.T, np.ones(3)), np.linalg.solve(A, B)))


def test_keywords_and_positions_are_scipys():
    x = xp.asarray(A)
    with interop.scipy():
        expected = np.asarray(L.solve(x, B))
        np.testing.assert_array_equal(np.asarray(L.solve(b=B, a=x)), expected)
        np.testing.assert_array_equal(
            np.asarray(L.cholesky(x, True)), np.asarray(L.cholesky(A, True))
        )
        with pytest.raises(TypeError, match="missing"):
            L.solve(x)
        with pytest.raises(TypeError, match="unexpected"):
            L.solve(x, B, nonsense=1)


# --- transformations --------------------------------------------------------------------------------
STACK = np.stack([A, A + np.diag([1.0, 0.5, 2.0]), 2.0 * A])
MAPPED = [
    lambda a: L.solve(a, B), lambda a: L.inv(a), lambda a: L.cholesky(a, lower=True),
    lambda a: L.expm(a / 9),
    lambda a: L.cho_solve(L.cho_factor(a), B), lambda a: L.lu_solve(L.lu_factor(a), B),
    lambda a: L.sqrtm(a), lambda a: L.logm(a), lambda a: L.svdvals(a), lambda a: L.eigh(a)[0],
    lambda a: L.solve_sylvester(a, A, A), lambda a: L.pinv(a), lambda a: L.toeplitz(a[0]),
    lambda a: L.qr(a)[1], lambda a: L.lstsq(a, B)[0], lambda a: L.solve_banded((1, 1), a, B),
    lambda a: L.norm(a), lambda a: L.det(a), lambda a: L.block_diag(a, A),
]  # fmt: skip


@pytest.mark.parametrize("function", MAPPED)
def test_vmap_and_jacobian_are_those_of_one_after_the_other(near, function):
    with interop.scipy():
        mapped = xp.vmap(function)(xp.asarray(STACK))
        for one, x in zip(mapped, STACK, strict=True):
            near(one, np.asarray(function(x)))

        def total(a):
            return xp.sum(function(a) ** 2)

        slopes = xp.vmap(xp.grad(total))(xp.asarray(STACK))
        for one, x in zip(slopes, STACK, strict=True):
            near(one, np.asarray(xp.grad(total)(xp.asarray(x))))
        whole = np.asarray(xp.jacobian(function)(xp.asarray(A)))
        pushed = [
            np.asarray(xp.jvp(function, [xp.asarray(A)], [xp.asarray(direction.reshape(3, 3))])[1])
            for direction in np.eye(9)
        ]
        near(np.moveaxis(whole.reshape(*whole.shape[:-2], 9), -1, 0), np.stack(pushed), 1e-9, 1e-9)


def test_two_operands_are_mapped_by_any_of_their_axes(near):
    b = np.random.default_rng(0).normal(size=(3, 3))
    with interop.scipy():
        for axes in ((0, 1), (0, None), (None, 0), (0, 0)):
            mapped = xp.vmap(lambda a, b: L.solve(a, b), in_axes=axes)(
                xp.asarray(A if axes[0] is None else STACK),
                xp.asarray(b[0] if axes[1] is None else b),
            )
            for i in range(3):
                right = b[0] if axes[1] is None else np.take(b, i, axis=axes[1])
                near(mapped[i], L.solve(A if axes[0] is None else STACK[i], right))


# --- who is concerned -------------------------------------------------------------------------------
def test_numpy_data_gets_scipys_own_results():
    before = copy.copy(A)
    with interop.scipy():
        found = L.eigh(A)
        assert type(found[0]) is np.ndarray
        for name, hook in _hooks.HOOKS.items():
            module, _, function = name.rpartition(".")
            if not hook.always:  # which looks for itself
                assert hook.choose_callee((A,), {}) is hook.original, (module, function)
    np.testing.assert_array_equal(A, before)


def test_threads_of_their_own_contexts_and_tapes(near):
    found, errors = {}, []

    def work(i):
        try:
            x = xp.asarray(A * (i + 1))
            if i % 2:
                with interop.scipy(), xp.GradientTape() as tape:
                    tape.watch(x)
                    y = xp.sum(L.inv(x))
                found[i] = np.asarray(tape.gradient(y, x))
            else:
                assert type(L.inv(x)) is np.ndarray
        except BaseException as error:
            errors.append(error)

    with interop.scipy():
        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert errors == []
    for i, slope in found.items():
        inverse = np.linalg.inv(A * (i + 1))
        near(slope, -inverse.T @ np.ones((3, 3)) @ inverse.T)


def test_scikit_learn_finds_the_functions_that_it_imported_earlier(near):
    from sklearn.linear_model import _base  # from scipy import linalg, some by name

    assert _base.linalg.lstsq is L.lstsq
    with interop.scipy():
        x, *_ = _base.linalg.lstsq(xp.asarray(A), xp.asarray(B))
    near(x, np.linalg.solve(A, B))


# --- half precision -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "function",
    [
        L.det, L.inv, L.cholesky, L.eigvalsh, L.svdvals, L.expm, lambda a: L.solve(a, B),
        lambda a: L.solve_triangular(a, B), lambda a: L.eigh(a)[1] ** 2,
    ],
)  # fmt: skip
@pytest.mark.filterwarnings(
    "ignore:.*dtype=float16.* is deprecated:DeprecationWarning"
)  # SciPy 1.18
def test_gradients_by_half_precision_are_those_by_single_precision(function):
    """SciPy computes of float16 in float32, where NumPy raises."""

    def total(a):
        return xp.sum(function(a) * 1.5)

    with interop.scipy():
        half = xp.grad(total)(xp.asarray(A, dtype=xp.float16))
        single = xp.grad(total)(xp.asarray(A, dtype=xp.float32))
    assert half.dtype == xp.float16
    np.testing.assert_allclose(np.asarray(half), np.asarray(single), rtol=4e-3, atol=2e-3)


@pytest.mark.parametrize("name", ["svd", "qr", "inv", "det", "eigh", "pinv", "expm"])
def test_the_examples_of_a_vmap_are_no_rows_of_a_matrix(name):
    with interop.scipy(), pytest.raises((ValueError, np.linalg.LinAlgError)):
        xp.vmap(getattr(L, name))(xp.eye(3))


def test_polar_of_a_singular_matrix_says_what_to_do():
    with (
        interop.scipy(),
        pytest.raises(np.linalg.LinAlgError, match="use svd, or a matrix of full rank"),
    ):
        xp.grad(lambda a: xp.sum(L.polar(a)[0]))(np.ones((2, 2)))
