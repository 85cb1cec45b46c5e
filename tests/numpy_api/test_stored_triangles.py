"""Hermitian matrices of which one triangle is stored: NumPy's values, and their gradients."""

import numpy as np
import pytest

import arraytape as xp

RNG = np.random.default_rng(7)


def stored(dtype, shape=(3, 3)):
    """Matrices whose triangles have nothing to do with each other, either of a definite matrix."""
    a = RNG.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        a = a + 1j * RNG.normal(size=shape)
    n = shape[-1]
    a[..., range(n), range(n)] = np.arange(4.0, 4.0 + n) * 3.0
    return a.astype(dtype)


def hermitian(a, lower):
    """The matrix of which one triangle is stored in ``a``."""
    part = np.tril(a, -1) if lower else np.triu(a, 1)
    diagonal = np.zeros_like(a)
    n = a.shape[-1]
    diagonal[..., range(n), range(n)] = a[..., range(n), range(n)].real
    return part + np.conj(np.swapaxes(part, -1, -2)) + diagonal


CALLS = {
    "eigh": (lambda a: np.linalg.eigh(a), True),
    "eigh L": (lambda a: np.linalg.eigh(a, UPLO="L"), True),
    "eigh U": (lambda a: np.linalg.eigh(a, UPLO="U"), False),
    "eigh, positional": (lambda a: np.linalg.eigh(a, "u"), False),
    "eigvalsh": (lambda a: np.linalg.eigvalsh(a), True),
    "eigvalsh L": (lambda a: np.linalg.eigvalsh(a, "l"), True),
    "eigvalsh U": (lambda a: np.linalg.eigvalsh(a, UPLO="U"), False),
    "cholesky": (lambda a: np.linalg.cholesky(a), True),
    "cholesky, lower": (lambda a: np.linalg.cholesky(a, upper=False), True),
    "cholesky, upper": (lambda a: np.linalg.cholesky(a, upper=True), False),
    "svd": (lambda a: np.linalg.svd(a, hermitian=True), True),
    "svdvals": (lambda a: np.linalg.svd(a, compute_uv=False, hermitian=True), True),
}
SHAPES = [(1, 1), (3, 3), (2, 4, 4), (0, 0), (0, 2, 2)]
ON_CALLS = pytest.mark.parametrize(("call", "lower"), CALLS.values(), ids=CALLS)
DTYPES = pytest.mark.parametrize("dtype", ["float64", "complex128"])


def parts(found):
    return [np.asarray(part) for part in found] if isinstance(found, tuple) else [np.asarray(found)]


def without_phases(found):
    """Results that do not depend on the phases of vectors."""
    if isinstance(found, tuple) and len(found) == 2:
        values, vectors = found
        return [values, (vectors * values[..., None, :]) @ np.conj(np.swapaxes(vectors, -1, -2))]
    if isinstance(found, tuple):
        left, values, right = found
        return [values, (left * values[..., None, :]) @ right]
    return [found]


@ON_CALLS
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shape", SHAPES)
def test_values_are_numpys(call, lower, dtype, shape):
    a = stored(dtype, shape)
    found, wanted = call(xp.asarray(a)), call(a)
    assert [p.shape for p in parts(found)] == [p.shape for p in parts(wanted)]
    assert [p.dtype for p in parts(found)] == [p.dtype for p in parts(wanted)]
    ours = tuple(parts(found)) if isinstance(found, tuple) else parts(found)[0]
    tolerance = 1e-4 if np.dtype(dtype).itemsize in (4, 8) and "64" not in dtype else 1e-5
    for one, other in zip(without_phases(ours), without_phases(wanted), strict=True):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


def scalar_of(call):
    """A function of the results that is smooth and does not depend on the phases of vectors."""

    def f(a):
        xp_or_np = xp if isinstance(a, xp.Array) else np
        total = 0.0
        for i, part in enumerate(without_phases(call(a))):
            weights = np.cos(np.arange(float(part.size)) + i).reshape(part.shape)
            weighed = part * (xp.asarray(weights) if xp_or_np is xp else weights)
            total = total + xp_or_np.sum(xp_or_np.real(weighed) + xp_or_np.imag(weighed) * 0.7)
        return total

    return f


def differences(f, a, move):
    """dL/dRe + i dL/dIm by each element, which ``move`` adds to a copy."""
    step, found = 1e-6, np.zeros(a.shape, a.dtype)
    for place in np.ndindex(a.shape):
        for unit in (1.0, 1j) if a.dtype.kind == "c" else (1.0,):
            ahead, behind = move(a, place, step * unit), move(a, place, -step * unit)
            found[place] += unit * (f(ahead) - f(behind)) / (2 * step)
    return found


def alone(a, place, step):
    moved = a.copy()
    moved[place] += step
    return moved


def gradient(f, a):
    x = xp.asarray(a)
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return np.asarray(tape.gradient(y, x))


SMOOTH = {name: CALLS[name] for name in CALLS if name not in ("eigh", "eigvalsh", "cholesky")}


@pytest.mark.parametrize(("call", "lower"), SMOOTH.values(), ids=SMOOTH)
@DTYPES
def test_the_gradient_is_that_of_each_element(call, lower, dtype):
    a, f = stored(dtype), scalar_of(call)
    wanted = differences(f, a, alone)
    unread = np.triu(wanted, 1) if lower else np.tril(wanted, -1)
    assert not unread.any()
    np.testing.assert_allclose(gradient(f, a), wanted, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(("call", "lower"), SMOOTH.values(), ids=SMOOTH)
@DTYPES
def test_built_from_a_triangle_the_gradient_is_that_of_differences(call, lower, dtype):
    def built(a):
        part = np.tril(a, -1) if lower else np.triu(a, 1)
        diagonal = np.real(a) * np.eye(a.shape[-1])
        return f(part + np.conj(np.matrix_transpose(part)) + diagonal)

    a, f = stored(dtype), scalar_of(call)
    wanted = differences(built, a, alone)
    np.testing.assert_allclose(gradient(built, a), wanted, rtol=1e-6, atol=1e-7)


def test_the_gradient_of_the_hermitian_part_is_hermitian():
    """The derivative of an eigenvalue of [[a, b], [b, c]] along b is the sum of two elements."""
    a = np.asarray([[2.0, 1.0], [1.0, 5.0]])
    g = gradient(lambda x: np.linalg.eigvalsh((x + x.mT) / 2.0)[0], a)
    step = 1e-6
    both = np.asarray([[0.0, step], [step, 0.0]])
    slope = (np.linalg.eigvalsh(a + both)[0] - np.linalg.eigvalsh(a - both)[0]) / (2 * step)
    assert g[0, 1] == g[1, 0]
    assert g[0, 1] + g[1, 0] == pytest.approx(slope, rel=1e-8)


def test_pinv_of_a_hermitian_matrix_reads_the_lower_triangle():
    a = stored("complex128")
    np.testing.assert_allclose(
        np.asarray(np.linalg.pinv(xp.asarray(a), hermitian=True)),
        np.linalg.pinv(a, hermitian=True),
        rtol=1e-10,
    )
    assert not np.triu(gradient(scalar_of(lambda a: np.linalg.pinv(a, hermitian=True)), a), 1).any()
    with pytest.raises(np.linalg.LinAlgError, match="square"):
        np.linalg.pinv(xp.ones((2, 3)), hermitian=True)


@pytest.mark.parametrize("name", ["eigh", "eigvalsh"])
@pytest.mark.parametrize("word", ["X", "", "LU", None, 1])
def test_another_word_for_the_triangle_raises(name, word):
    with pytest.raises(ValueError, match=f"np.linalg.{name}: UPLO must be 'L' or 'U'"):
        getattr(np.linalg, name)(xp.eye(2), UPLO=word)


@pytest.mark.parametrize("call", [np.linalg.eigh, np.linalg.eigvalsh])
def test_what_is_no_matrix_raises(call):
    for x in (xp.ones(3), xp.ones((2, 3))):
        with pytest.raises(np.linalg.LinAlgError):
            call(x, UPLO="U")
