"""NumPy's products, norms and fits on Arrays: NumPy's values, and right derivatives."""

import itertools

import numpy as np
import pytest

import arraytape as xp
from arraytape.testing import check_gradients

rng = np.random.default_rng(4)
A, B, C = rng.normal(size=(3, 4)), rng.normal(size=(4, 3)), rng.normal(size=(2, 3, 4))
S = rng.normal(size=(3, 3)) + 3 * np.eye(3)
V, W = rng.normal(size=(2, 4))
Z = A + 1j * A[:, ::-1]

SUMS = [
    ("ij->ji", A), ("ij->", A), ("ij->i", A), ("ii", S), ("ii->i", S), ("iij->ij", C[:, :2] * 1.0),
    ("ij,jk", A, B), ("ij,jk->ki", A, B), ("ij,ij->i", A, A), ("ij,kl->ijkl", A, S), ("i,i", V, W),
    ("i,j->ij", V, W), ("ij,j->i", A, V), ("bij,bjk->bik", C, np.swapaxes(C, 1, 2)),
    ("bij,kj->bk", C, A), ("bij,b,j->i", C, rng.normal(size=2), V), ("ij,jk,kl->il", A, B, A),
    ("...j,j->...", C, V), ("...ij,...jk", C, B), ("b...->...", C), ("ij...,jk...->ik...", A, B),
    ("ij,jj->ij", A[:, :3], S), ("ij,ij", A[:1], A), ("ij,kj->ik", A, A[:, :1]), ("ij,ij", Z, A),
    ("i,->i", V, np.asarray(2.0)), ("ij,jk->", A, B), ("ij,k->j", A, V),
    ("ji,i , k->", B, W[:3], V), ("abc,cba->b", C, np.swapaxes(C, 0, 2)),
]  # fmt: skip


@pytest.mark.parametrize("case", SUMS, ids=lambda case: case[0])
def test_einsum_is_numpys(case, runs_as_on_numpy):
    subscripts, *arrays = case
    runs_as_on_numpy(lambda np, *xs: np.einsum(subscripts, *xs), *arrays)
    runs_as_on_numpy(lambda np, *xs: np.einsum(subscripts, *xs), *arrays, namespace=xp)


@pytest.mark.parametrize("optimize", [True, "greedy", ["einsum_path", (1, 2), (0, 1)]])
def test_einsum_multiplies_in_the_order_asked_for(optimize, runs_as_on_numpy):
    runs_as_on_numpy(lambda np, *xs: np.einsum("ij,jk,kl", *xs, optimize=optimize), A, B, A)


def test_einsum_takes_lists_of_numbers(runs_as_on_numpy):
    runs_as_on_numpy(lambda np, a, b: np.einsum(a, [0, 1], b, [1, 2], [2, 0]), A, B)
    runs_as_on_numpy(lambda np, a, b: np.einsum(a, [0, ...], b, [0, ...]), A, A)


def test_einsum_agrees_with_numpy_on_all_small_products():
    sizes = {"a": 2, "b": 3, "c": 1}
    words = [w for n in (1, 2) for w in map("".join, itertools.product("abc", repeat=n))]
    for first, second in itertools.product(words, repeat=2):
        x, y = (rng.normal(size=[sizes[c] for c in word]) for word in (first, second))
        letters = sorted({*first, *second})
        for output in ("", "".join(letters), letters[0]):
            spec = f"{first},{second}->{output}"
            found = np.einsum(spec, xp.asarray(x), y)
            np.testing.assert_allclose(
                np.asarray(found), np.einsum(spec, x, y), rtol=1e-12, err_msg=spec
            )


def test_views_by_einsum_can_be_written_to():
    x = xp.asarray(S)
    np.einsum("ii->i", x)[...] = 1.0
    np.testing.assert_array_equal(np.diagonal(x), np.ones(len(S)))
    np.einsum("ij->ji", x)[0, 1] = 5.0  # a view, as NumPy's
    assert float(x[1, 0]) == 5.0


@pytest.mark.parametrize(
    ("subscripts", "arrays", "message"),
    [
        ("ij,jk", (A,), "2 operands"),
        ("ijk", (A,), "does not fit"),
        ("ij->k", (A,), "no output"),
        ("ij->ii", (A,), "no output"),
        ("ij,jk", (A, A), "do not agree"),
        ("ii", (A,), "differ"),
    ],
)
def test_einsum_says_what_does_not_fit(subscripts, arrays, message):
    with pytest.raises(ValueError, match=message):
        xp.einsum(subscripts, *map(xp.asarray, arrays))


T = np.asarray([0.0, 0.4, 1.1, 1.5])
CALLS = {
    "cond": (lambda np, x: np.linalg.cond(x), S),
    "cond, 1": (lambda np, x: np.linalg.cond(x, 1), S),
    "cross": (lambda np, x, y: np.cross(x[:, :3], y), A, S),
    "cross along an axis": (lambda np, x, y: np.cross(x, y, axis=0), B[:3], S),
    "cross, broadcast": (lambda np, x, y: np.cross(x, y), S, W[:3]),
    "fft2": (lambda np, x: np.fft.fft2(x), A),
    "irfft2": (lambda np, x: np.fft.irfft2(x, s=(3, 4)), Z[:, :3]),
    "gradient": (lambda np, x: np.gradient(x), A),
    "gradient by a step": (lambda np, x, h: np.gradient(x, h), V, np.asarray(0.3)),
    "gradient at places": (lambda np, x, t: np.gradient(x, t, edge_order=2), V, T),
    "gradient along an axis": (lambda np, x: np.gradient(x, 0.1, axis=1, edge_order=2), A),
    "gradient by steps": (lambda np, x: np.gradient(x, 0.1, [0.0, 0.4, 1.1, 1.5], axis=(0, 1)), A),
    "inner": (lambda np, x, y: np.inner(x, y), C, A),
    "inner with a number": (lambda np, x: np.inner(x, 2.0), A),
    "kron": (lambda np, x, y: np.kron(x, y), A, B),
    "kron of unlike ranks": (lambda np, x, y: np.kron(x, y), V, A),
    "lstsq": (lambda np, x, y: np.linalg.lstsq(x, y)[0], B, W),
    "lstsq: what is left": (lambda np, x, y: np.linalg.lstsq(x, y)[1], B, A.T),
    "lstsq: singular values": (lambda np, x, y: np.linalg.lstsq(x, y)[3], B, W),
    "multi_dot": (lambda np, x, y: np.linalg.multi_dot([x, y, x, y]), A, B),
    "norm": (lambda np, x: np.linalg.norm(x), A),
    "norm of stacks": (lambda np, x: np.linalg.norm(x), C),
    "norm along an axis": (lambda np, x: np.linalg.norm(x, axis=1, keepdims=True), A),
    "norm, 1": (lambda np, x: np.linalg.norm(x, 1), A),
    "norm, inf, of a vector": (lambda np, x: np.linalg.norm(x, np.inf), V),
    "norm, nuclear": (lambda np, x: np.linalg.norm(x, "nuc"), A),
    "norms of matrices": (lambda np, x: np.linalg.norm(x, "fro", axis=(0, 2), keepdims=True), C),
    "polyfit": (lambda np, x, y: np.polyfit(x, y, 2), V, W),
    "polyfit, weighted": (lambda np, x, y: np.polyfit(x, y, 1, w=T + 1.0), V, B),
    "sinc": (lambda np, x: np.sinc(x), A),
    "svd without vectors": (lambda np, x: np.linalg.svd(x, compute_uv=False), A),
    "trapezoid": (lambda np, y: np.trapezoid(y, dx=0.2, axis=0), A),
    "trapezoid at places": (lambda np, y, x: np.trapezoid(y, x), A, T),
    "vander": (lambda np, x: np.vander(x, 3), V),
    "vander, increasing": (lambda np, x: np.vander(x, increasing=True), V),
    "vdot": (lambda np, x, y: np.vdot(x, y), A, A + 1.0),
    "vdot, complex": (lambda np, x, y: np.vdot(x, y), Z, A),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_numpy_function_has_numpys_values_and_right_derivatives(name, runs_as_on_numpy):
    runs_as_on_numpy(*CALLS[name])


def test_sinc_is_smooth_at_0(derivative):
    x = xp.asarray([0.0])
    for order, expected in ((0, 1.0), (1, 0.0), (2, -(np.pi**2) / 3.0)):
        assert abs(float(derivative(np.sinc, order)(x)[0]) - expected) < 1e-12


def test_lstsq_says_the_rank():
    assert np.linalg.lstsq(xp.asarray(B), xp.asarray(W))[2] == 3
    assert np.linalg.lstsq(xp.asarray(B @ np.ones((3, 3))), xp.asarray(W))[2] == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: np.cross(x, x), "length (2 or )?3"),
        (lambda x: np.gradient(x, edge_order=3), "np.gradient: .*edge_order"),
        (lambda x: np.gradient(x[:, :1], axis=1), "np.gradient: .*too small"),
        (
            lambda x: np.linalg.norm(np.stack([x, x]), 2),
            "np.linalg.norm: Improper number|norm: Improper",
        ),
    ],
)
def test_what_has_no_counterpart_raises(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call(xp.asarray(A))


@pytest.mark.parametrize(
    "name", ["fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"]
)
def test_a_transform_looks_for_its_axes_before_it_looks_at_the_dtype(name):
    for data in (np.ones(2), np.ones(2, complex)):
        with pytest.raises(IndexError, match=r"axis -2 is out of range for Array .*\(2,\)"):
            getattr(np.fft, name)(xp.asarray(data), axes=(-2, -1))


A3, B3, M3 = (
    np.cos(1.0 + np.arange(60.0)).reshape(shape) for shape in ((3, 4, 5), (3, 4, 5), (4, 3, 5))
)
W3 = np.sin(np.arange(120.0)).reshape(5, 4, 6)
CORES = {
    "axis": (lambda a, b: np.vecdot(a, b, axis=1), A3, B3),
    "axis, kept": (lambda a, b: np.vecdot(a, b, axis=-3, keepdims=True), A3, B3),
    "kept": (lambda a, b: np.vecdot(a, b, keepdims=True), A3, B3),
    "axes": (lambda a, b: np.vecdot(a, b, axes=[0, (1,), ()]), A3, M3),
    "axes of inputs": (lambda a, b: np.vecdot(a, b, axes=[0, 1]), A3, M3),
    "axes, kept": (lambda a, b: np.vecdot(a, b, axes=[0, 1, 2], keepdims=True), A3, M3),
    "matmul": (lambda a, b: np.matmul(a, b, axes=[(0, 1), (1, 2), (0, 1)]), A3, W3),
    "matvec": (lambda a, b: np.matvec(a, b, axes=[(0, 2), 1, 0]), A3, B3[0]),
    "vecmat": (lambda a, b: np.vecmat(a, b, axes=[0, (0, 2), (1,)]), A3[:, :, 0], A3),
}


@pytest.mark.parametrize("name", CORES)
def test_core_axes_may_lie_anywhere(name):
    f, a, b = CORES[name]
    expected = f(a, b)
    found = f(xp.asarray(a), xp.asarray(b))
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found, expected)
    check_gradients(f, [a, b])


@pytest.mark.parametrize(
    "options",
    [
        {"axis": 7}, {"axes": (0, 1)}, {"axes": [0]}, {"axes": [0, 1], "axis": 1}, {"axis": "x"},
        {"axes": [(0, 1), 0]},
    ],
)  # fmt: skip
def test_core_axes_that_are_none_are_refused_as_numpy_does(options):
    with pytest.raises((TypeError, ValueError)) as expected:
        np.vecdot(A3, B3, **options)
    kind = ValueError if isinstance(expected.value, ValueError) else TypeError
    with pytest.raises(kind):
        np.vecdot(xp.asarray(A3), xp.asarray(B3), **options)


@pytest.mark.parametrize("options", [{"axis": 0}, {"keepdims": True}])
def test_options_for_one_core_axis_are_refused_for_matmul(options):
    for array in (np.asarray, xp.asarray):
        with pytest.raises(TypeError):
            np.matmul(array(A3), array(np.swapaxes(B3, 1, 2)), **options)


def test_transpose_takes_numpys_integers():
    x = xp.asarray(A3)
    assert (
        x.transpose(*np.arange(3)[::-1]).shape == x.transpose(np.arange(3)[::-1]).shape == (5, 4, 3)
    )
    assert x[0, 0].transpose(np.int64(0)).shape == (5,)


def test_options_by_position_may_be_arrays_of_no_dimensions(near):
    x, y = [0.4, -1.3, 2.2, 0.9], [0.9, 2.2, -1.3, 0.4]
    found = np.polyfit(x, xp.asarray(y), 1, np.asarray(0.001))
    near(found, np.polyfit(x, y, 1, 0.001))


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) >= "2.5.0", reason="not in the plane")
@pytest.mark.filterwarnings("ignore:Arrays of 2-dimensional vectors:DeprecationWarning")
def test_vectors_in_the_plane_have_no_nan_beside_an_infinity_under_vmap(near):
    x, y = np.asarray([[np.inf, 1.0], [2.0, 3.0]]), np.asarray([1.0, -0.2, 0.8])
    for function in (lambda x: np.cross(x, y), lambda x: np.cross(y, x)):
        near(xp.vmap(function)(xp.asarray(x)), [function(row) for row in x])
