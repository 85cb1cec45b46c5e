"""Gradients of matrix functions, transforms and complex functions: worked cases."""

import numpy as np
import pytest

import arraytape as xp
from helpers.numerics import (
    EYE,
    M,
    angle,
    gradient,
    near,
    printed,
    rebuilt_by_svd,
    weighted,
)

pytestmark = pytest.mark.any_storage


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
def test_a_matrix_function_or_transform_has_the_exact_gradient(f, x, expected):
    near(gradient(f, x), expected)


@pytest.mark.parametrize(
    ("f", "x", "expected"),
    [
        pytest.param(
            xp.linalg.cholesky, M, [[0.255834, 0.0], [0.390879, 0.316228]], id="89-cholesky"
        ),
        pytest.param(
            lambda x: xp.linalg.eigvalsh(x)[1],
            M,
            [[0.276393, 0.0], [0.894427, 0.723607]],
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
def test_a_factorisation_has_the_printed_gradient(f, x, expected):
    printed(gradient(f, x), expected)


def test_case_87_solve_has_gradients_to_the_matrix_and_the_right_hand_side():
    to_matrix, to_vector = gradient(xp.linalg.solve, M, [1.0, 2.0])
    near(to_matrix, [[-0.08, -0.24], [-0.04, -0.12]])
    near(to_vector, [0.4, 0.2])


def test_case_91_the_choice_of_extra_columns_of_a_complete_qr_has_no_gradient():
    # Only of NumPy's data are values at hand: of other data the derivative is NaN, with a warning.
    with pytest.raises((ValueError, xp.TapeWarning), match=r"1 of 3 columns|linalg\.qr is NaN"):
        gradient(lambda x: xp.linalg.qr(x, mode="complete")[0], [[1.0], [2.0], [4.0]])


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
def test_a_complex_function_has_the_exact_gradient(f, expected):
    near(gradient(f, 2.0 + 3.0j), expected)


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        pytest.param(xp.abs, 0.5547002 + 0.8320503j, id="95-abs"),
        pytest.param(angle, -0.230769 + 0.153846j, id="95-angle"),
    ],
)
def test_a_complex_function_has_the_printed_gradient(f, expected):
    printed(gradient(f, 2.0 + 3.0j), expected)


def test_case_95_a_real_number_in_a_complex_product_has_a_real_gradient():
    found = gradient(lambda x: xp.abs(x * (1.0 + 2.0j)) ** 2, 2.0)
    assert found.dtype == np.float64
    near(found, 20.0)
