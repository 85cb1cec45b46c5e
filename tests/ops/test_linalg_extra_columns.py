"""Gradients through full factorisations: all that does not depend on the choice of extra columns."""

import numpy as np
import pytest

import arraytape as xp

WEIGHTS = np.random.default_rng(5).normal(size=(5, 5))
SHAPES = [(5, 3), (4, 3), (3, 5), (3, 4), (2, 5, 3), (2, 3, 5)]


def matrix(shape, dtype):
    rng = np.random.default_rng(3)
    a = rng.normal(size=shape)
    return a + 1j * rng.normal(size=shape) if dtype == "complex128" else a


def adjoint(x):
    return xp.conj(xp.matrix_transpose(x))


def weighted(x):
    return xp.sum(xp.real(x) * WEIGHTS[: x.shape[-2], : x.shape[-1]])


def columns(a, full):
    """The left singular vectors of tall matrices, the right ones of wide ones, and the others."""
    u, _, vh = xp.linalg.svd(a, full_matrices=full)
    return (u, adjoint(vh)) if a.shape[-2] > a.shape[-1] else (adjoint(vh), u)


def projector(v):
    return v @ adjoint(v)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    "f",
    [
        lambda a, full: weighted(projector(columns(a, full)[0][..., :1])),
        lambda a, full: weighted(projector(columns(a, full)[1][..., :2])),
        lambda a, full: (
            weighted(projector(columns(a, full)[0][..., :1])) * xp.sum(xp.linalg.svd(a).S)
        ),
    ],
    ids=["of the long side", "of the short side", "and values"],
)
def test_what_both_forms_have_is_the_same_to_second_order(f, shape, dtype):
    a = matrix(shape, dtype)
    for derivative in (xp.grad, lambda f: xp.grad(lambda a: xp.sum(xp.abs(xp.grad(f)(a)) ** 2))):
        full, reduced = (
            np.asarray(derivative(lambda a, form=form: f(a, form))(xp.asarray(a)))
            for form in (True, False)
        )
        np.testing.assert_allclose(full, reduced, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_space_of_the_extra_columns_is_that_of_the_others(shape, dtype):
    a, k = matrix(shape, dtype), min(shape[-2:])
    rest = xp.grad(lambda a: weighted(projector(columns(a, True)[0][..., k:])))(xp.asarray(a))
    first = xp.grad(lambda a: -weighted(projector(columns(a, False)[0])))(xp.asarray(a))
    np.testing.assert_allclose(np.asarray(rest), np.asarray(first), atol=1e-9)


@pytest.mark.parametrize("shape", [s for s in SHAPES if s[-2] > s[-1]])
def test_a_complete_qr_has_the_gradient_of_the_reduced_one(shape):
    a, n = matrix(shape, "float64"), shape[-1]

    def f(a, mode):
        q, r = xp.linalg.qr(a, mode=mode)
        return weighted(q[..., :n]) + weighted(r[..., :n, :] ** 2)

    full, reduced = (
        np.asarray(xp.grad(lambda a, mode=mode: f(a, mode))(xp.asarray(a)))
        for mode in ("complete", "reduced")
    )
    np.testing.assert_allclose(full, reduced, atol=1e-9)


def test_one_extra_column_of_a_real_matrix_is_a_function_of_it():
    a, v = matrix((4, 3), "float64"), matrix((4, 3), "float64")[::-1].copy()

    def normal(a):
        return weighted(xp.linalg.svd(a).U)

    _, slope = xp.jvp(normal, (xp.asarray(a),), (xp.asarray(v),))
    found = np.sum(np.asarray(xp.grad(normal)(xp.asarray(a))) * v)
    step = 1e-6
    ends = [float(normal(xp.asarray(a + h * v))) for h in (step, -step)]
    assert found == pytest.approx(float(slope), rel=1e-12)
    assert found == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-6)


@pytest.mark.parametrize(
    "f", [lambda a: xp.linalg.svd(a).U, lambda a: xp.linalg.qr(a, mode="complete").Q]
)
def test_what_depends_on_the_choice_is_refused_or_nan(f):
    a = xp.asarray(matrix((5, 3), "float64"))
    with pytest.raises(ValueError, match="first 3 of 5 columns"):
        xp.grad(lambda a: weighted(f(a)))(a)
    with pytest.warns(xp.TapeWarning, match="use the values alone"):
        _, slope = xp.jvp(lambda a: weighted(f(a)), (a,), (a[::-1, :],))
    assert np.isnan(float(slope))
