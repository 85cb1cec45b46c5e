"""Functions of Hermitian matrices by eigh, at drawn multiplicities, and Daleckii and Krein's formula.

The functions take the Hermitian part of their argument, so that gradients are Hermitian.
"""

import time
import warnings

import numpy as np
import pytest

import arraytape as xp
from arraytape._tape import limits
from helpers.matrices import adjoint

GAPS = [0.0, 1e-16, 1e-15, 1e-13, 1e-11, 1e-9, 1e-7, 1e-5, 1e-4]
FUNCTIONS = {  # the function, and its derivatives in NumPy, of order 0, 1 and 2
    "log": (xp.log, np.log, lambda w: 1.0 / w, lambda w: -1.0 / w**2),
    "sqrt": (xp.sqrt, np.sqrt, lambda w: 0.5 / np.sqrt(w), lambda w: -0.25 * w**-1.5),
    "exp": (xp.exp, np.exp, np.exp, np.exp),
    "power": (lambda w: w**2.5, lambda w: w**2.5, lambda w: 2.5 * w**1.5, lambda w: 3.75 * w**0.5),
    "inverse": (lambda w: 1.0 / w, lambda w: 1.0 / w, lambda w: -1.0 / w**2, lambda w: 2.0 / w**3),
    "clip": (lambda w: xp.clip(w, 0.0), lambda w: np.clip(w, 0.0, None), np.sign, np.zeros_like),
}
FORMS = {
    "V @ diag(f) @ V^H": lambda v, f: v @ (xp.eye(f.shape[-1]) * f[..., None, :]) @ adjoint(v),
    "(V * f) @ V^H": lambda v, f: (v * f[..., None, :]) @ adjoint(v),
    "einsum": lambda v, f: xp.einsum("...ij,...j,...kj->...ik", v, f, xp.conj(v)),
}


def of_matrix(name, form="(V * f) @ V^H"):
    def function(a):
        w, v = xp.linalg.eigh((a + adjoint(a)) / 2.0)
        return FORMS[form](v, FUNCTIONS[name][0](w))

    return function


def drawn(seed, gap, dtype=np.float64):
    """Return a Hermitian matrix with eigenvalues of drawn multiplicities, two of which have the gap."""
    rng = np.random.default_rng(seed)
    w = np.repeat([0.7, 1.9, 3.0], rng.integers(1, 3, size=3))
    w = np.concatenate([[0.7 + gap], w])
    return hermitian(rng, len(w), dtype, w), hermitian(rng, len(w), dtype)


def hermitian(rng, n, dtype, w=None):
    a = rng.normal(size=(n, n))
    if np.dtype(dtype).kind == "c":
        a = a + 1j * rng.normal(size=(n, n))
    if w is not None:
        q = np.linalg.qr(a)[0]
        a = (q * w) @ q.conj().T
    return ((a + a.conj().T) / 2.0).astype(dtype)


def divided(name, w):
    """Return the first divided differences of a function between eigenvalues."""
    _, f, slope, bend = FUNCTIONS[name]
    gap, mean = w[:, None] - w, (w[:, None] + w) / 2.0
    close = np.abs(gap) < 1e-3
    if name == "clip":
        return np.where(close, slope(mean), (f(w[:, None]) - f(w)) / np.where(close, 1.0, gap))
    h = 1e-3
    third = (bend(mean + h) - bend(mean - h)) / (2.0 * h)
    series = slope(mean) + gap**2 * third / 24.0
    return np.where(close, series, (f(w[:, None]) - f(w)) / np.where(close, 1.0, gap))


def derivative(name, a, along):
    w, q = np.linalg.eigh(a.astype(np.result_type(a, np.float64)))
    return q @ (divided(name, w) * (q.conj().T @ along @ q)) @ q.conj().T


def second(name, a, weights, along):
    """Return the derivative of the gradient along a direction, by differences of the formula."""
    h = 1e-3
    ends = [derivative(name, a + s * h * along, weights) for s in (1, -1, 2, -2)]
    return (8.0 * (ends[0] - ends[1]) - (ends[2] - ends[3])) / (12.0 * h)


def weighted(name, weights, form="(V * f) @ V^H"):
    f = of_matrix(name, form)
    return lambda a: xp.sum(xp.real(f(a) * xp.asarray(weights.conj())))


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_first_derivatives_are_those_of_the_formula(name, gap, dtype):
    a, weights = drawn(3, gap, dtype)
    expected = derivative(name, a, weights)
    size = np.abs(expected).max()
    for form in FORMS:
        found = xp.grad(weighted(name, weights, form))(xp.asarray(a))
        np.testing.assert_allclose(np.asarray(found), expected, atol=1e-8 * size)
    _, tangent = xp.jvp(of_matrix(name), (xp.asarray(a),), (xp.asarray(weights),))
    np.testing.assert_allclose(np.asarray(tangent), expected, atol=1e-8 * size)


@pytest.mark.parametrize("gap", GAPS[::2])
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "clip"])
def test_second_derivatives_are_those_of_the_formula(name, gap):
    a, weights = drawn(5, gap)
    along = hermitian(np.random.default_rng(1), len(a), np.float64) / 4.0
    expected = second(name, a, weights, along)
    f = weighted(name, weights)

    def slope(a):
        return xp.sum(xp.grad(f)(a) * xp.asarray(along))

    size = np.abs(expected).max()
    for found in (xp.grad(slope)(xp.asarray(a)), xp.hvp(f, (xp.asarray(a),), (xp.asarray(along),))):
        found = found[0] if isinstance(found, tuple) else found
        np.testing.assert_allclose(np.asarray(found), expected, atol=1e-5 * size)


@pytest.mark.parametrize("gap", [0.0, 1e-7, 1e-4])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_float32_has_digits_of_its_own(name, gap):
    a, weights = drawn(3, gap, np.float32)
    found = np.asarray(xp.grad(weighted(name, weights))(xp.asarray(a)))
    expected = derivative(name, a, weights.astype(np.float64))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=3e-4 * np.abs(expected).max())


def test_stacks_and_replays_have_the_same_gradients():
    a = np.stack([hermitian(np.random.default_rng(k), 3, np.float64, w) for k, w in
                  enumerate([[1.0, 1.0, 2.0], [2.0, 2.0, 2.0], [1.0, 2.0, 3.0]])])  # fmt: skip
    weights = np.stack([hermitian(np.random.default_rng(9), 3, np.float64)] * 3)
    gradient = xp.function(xp.grad(weighted("log", weights)))
    for x in (a, a[::-1].copy(), a + 0.5 * np.eye(3), np.stack([np.diag([1.0, 2.0, 4.0])] * 3), a):
        expected = [derivative("log", one, w) for one, w in zip(x, weights, strict=True)]
        np.testing.assert_allclose(np.asarray(gradient(xp.asarray(x))), expected, atol=1e-12)


def test_two_functions_of_one_factorisation_are_right_near_ties():
    for gap in GAPS:
        a, weights = drawn(3, gap)

        def both(a, weights=weights):
            w, v = xp.linalg.eigh((a + adjoint(a)) / 2.0)
            one, two = (v * xp.exp(w)) @ adjoint(v), (v / w) @ adjoint(v)
            return xp.sum((one + 3.0 * two) * xp.asarray(weights))

        expected = derivative("exp", a, weights) + 3.0 * derivative("inverse", a, weights)
        np.testing.assert_allclose(np.asarray(xp.grad(both)(xp.asarray(a))), expected, atol=1e-7)


CHOICES = {
    "a power of vectors": lambda w, v, a: xp.sum(v**4),
    "vectors times values": lambda w, v, a: xp.sum(v**4 * w),
    "one vector of several": lambda w, v, a: xp.sum((v[:, :1] @ v[:, :1].T)[0] * w[1]),
    "values of another matrix": lambda w, v, a: (
        xp.sum((v * xp.linalg.eigvalsh(a * 1.0)) @ v.T * xp.asarray(np.arange(9.0).reshape(3, 3)))
        + xp.sum(w)
    ),
}


@pytest.mark.parametrize("name", CHOICES)
@pytest.mark.parametrize("turned", [False, True])
def test_what_depends_on_the_choice_is_nan_with_a_warning(name, turned):
    a = hermitian(
        np.random.default_rng(2), 3, np.float64, [1.0, 1.0, 1.0] if not turned else [1, 1, 2]
    )
    a = a if turned else np.eye(3)

    def target(a):
        return CHOICES[name](*xp.linalg.eigh(a * 1.0), a)

    with pytest.warns(xp.TapeWarning, match="0005"):
        found = xp.grad(target)(xp.asarray(a))
    assert np.isnan(np.asarray(found)).any()


def test_nan_keep_does_not_look_for_limits():
    a = xp.asarray(np.eye(2))
    with xp.GradientTape() as tape:
        tape.watch(a)
        y = xp.sum(of_matrix("exp")(a))
    assert np.isnan(np.asarray(tape.gradient(y, a, nan="keep"))).any()


def by_products(name):
    """Return the function of a matrix as products or an inverse: a reference without eigenvalues."""

    def exp_series(a):
        eye = xp.eye(a.shape[-1])
        total = eye
        for k in range(32, 0, -1):
            total = eye + (a @ total) / float(k)
        return total

    return {"exp": exp_series, "quartic": lambda a: a @ a @ a @ a - a, "inverse": xp.linalg.inv}[
        name
    ]


POWERS = {"exp": xp.exp, "quartic": lambda w: w**4 - w, "inverse": lambda w: 1.0 / w}
EPS = 2.0**-52
# Relative gaps on both sides of each threshold: of rounding errors, of half the digits, of ``near_gap``.
AROUND = [f * t for t in (4.0 * EPS, EPS**0.5, EPS ** (1 / 3)) for f in (0.9, 1.1)]
DRAWN = list(10.0 ** np.random.default_rng(0).uniform(-16.0, -1.0, size=6))


@pytest.mark.parametrize("name", POWERS)
@pytest.mark.parametrize("gap", AROUND + DRAWN)
def test_derivatives_are_right_on_both_sides_of_each_threshold(gap, name):
    rng = np.random.default_rng(29)
    w = np.asarray([0.7, 0.7 + 3.0 * gap, 1.9, 3.0])
    for values in (w, np.asarray([0.7, 0.7 + 3.0 * gap, 1.9, 1.9 + gap])):
        a, d = hermitian(rng, 4, np.float64, values), hermitian(rng, 4, np.float64)
        weights = xp.asarray(rng.normal(size=(4, 4)))

        def reference(a, weights=weights):
            return xp.sum(by_products(name)((a + a.mT) / 2.0) * weights)

        def target(a, weights=weights):
            w, v = xp.linalg.eigh((a + a.mT) / 2.0)
            return xp.sum(((v * POWERS[name](w)) @ v.mT) * weights)

        expected = np.asarray(xp.grad(reference)(xp.asarray(a)))
        size = np.abs(expected).max()
        found = np.asarray(xp.grad(target)(xp.asarray(a)))
        np.testing.assert_allclose(found, expected, atol=2e-8 * size)
        _, tangent = xp.jvp(target, (xp.asarray(a),), (xp.asarray(d),))
        np.testing.assert_allclose(float(tangent), np.sum(expected * d), atol=2e-8 * size)
        (expected,) = map(np.asarray, xp.hvp(reference, (xp.asarray(a),), (xp.asarray(d),)))
        (found,) = map(np.asarray, xp.hvp(target, (xp.asarray(a),), (xp.asarray(d),)))
        # A third of the digits: the worst is a gap above ``nearness``, where quotients are used.
        limit = 20.0 * EPS ** (1 / 3) * np.abs(expected).max()
        np.testing.assert_allclose(found, expected, atol=limit)


def test_replays_of_second_derivatives_are_right_where_values_coincide():
    rng = np.random.default_rng(4)
    weights, d = hermitian(rng, 3, np.float64), xp.asarray(hermitian(rng, 3, np.float64))
    target = weighted("exp", weights)
    replayed = xp.function(lambda a: xp.hvp(target, (a,), (d,))[0])
    for values in (
        [1.0, 2.0, 3.0],
        [1.0, 1.0, 2.0],
        [1.0, 2.0, 4.0],
        [2.0, 2.0, 2.0],
        [1.0, 1.0, 3.0],
    ):
        a = hermitian(rng, 3, np.float64, np.asarray(values))
        expected = second("exp", a, weights, np.asarray(d))
        np.testing.assert_allclose(np.asarray(replayed(xp.asarray(a))), expected, atol=1e-5)


def kronecker_inverse(a, q):
    """Return the solution x of a @ x + x @ a = q."""
    n = a.shape[-1]
    eye = xp.eye(n)
    both = a[:, None, :, None] * eye[None, :, None, :] + eye[:, None, :, None] * a[None, :, None, :]
    return xp.reshape(
        xp.linalg.inv(xp.reshape(both, (n * n, n * n))) @ xp.reshape(q, (-1, 1)), (n, n)
    )


def lyapunov(w, v, a, q):
    return v @ ((v.mT @ q @ v) / (w[:, None] + w[None, :])) @ v.mT


# By eigenvalues and vectors, and without.  The quotients of a pair depend on other values, too.
JOINT = {
    "lyapunov": (lyapunov, kronecker_inverse),
    "two powers": (
        lambda w, v, a, q: ((v * w) @ v.mT) @ q @ ((v / w) @ v.mT),
        lambda a, q: a @ q @ xp.linalg.inv(a),
    ),
    "with the matrix": (
        lambda w, v, a, q: a @ ((v / w) @ v.mT) @ q @ ((v * w**2) @ v.mT),
        lambda a, q: q @ a @ a,
    ),
    "with the trace": (
        lambda w, v, a, q: ((v * w**2) @ v.mT) @ q * xp.sum(w**3) / xp.prod(w),
        lambda a, q: a @ a @ q * xp.sum((a @ a) * a) / xp.linalg.det(a),
    ),
    "one power": (lambda w, v, a, q: (v * w**4) @ v.mT @ q, lambda a, q: a @ a @ a @ a @ q),
}


def orders_of(function, weights, along, orders):
    """Return a list of the gradient, and of gradients of directional derivatives."""
    last = xp.grad(lambda a: xp.sum(function((a + a.mT) / 2.0) * weights))
    found = [last]
    for _ in range(orders - 1):
        last = xp.grad(lambda a, last=last: xp.sum(last(a) * along))
        found.append(last)
    return found


def compared(name, values, orders, seed=11):
    rng = np.random.default_rng(seed)
    n = len(values)
    a = xp.asarray(hermitian(rng, n, np.float64, np.asarray(values)))
    along, weights = (xp.asarray(hermitian(rng, n, np.float64)) for _ in range(2))
    q = xp.asarray(rng.normal(size=(n, n)))
    by_vectors, reference = JOINT[name]
    ways = (lambda a: by_vectors(*xp.linalg.eigh(a), a, q)), (lambda a: reference(a, q))
    found, expected = (orders_of(f, weights, along, orders) for f in ways)
    for order, (one, two) in enumerate(zip(found, expected, strict=True)):
        one, two = np.asarray(one(a)), np.asarray(two(a))
        assert np.abs(one - two).max() <= 10.0 ** (order - 6) * np.abs(two).max(), order + 1


@pytest.mark.parametrize(
    "values", [[1, 1], [1, 1 + 1e-15], [1, 1 + 1e-7], [1, 1 + 4e-6], [1, 1, 2]]
)
@pytest.mark.parametrize("name", JOINT)
def test_quotients_that_depend_on_other_values_have_right_second_derivatives(name, values):
    compared(name, values, 2)


@pytest.mark.parametrize("values", [[1, 1], [1, 1, 2], [1, 1 + 1e-7]])
def test_third_derivatives_are_right_where_values_coincide(values):
    compared("one power", values, 3)


@pytest.mark.parametrize("name", ["log", "expm1", "quartic"])
@pytest.mark.parametrize("n", [2, 3])
def test_a_function_that_is_0_at_coinciding_values_has_its_slope_there(name, n):
    f, at, slope = {
        "log": (xp.log, 1.0, 1.0),
        "expm1": (lambda w: xp.exp(w) - np.e, 1.0, np.e),
        "quartic": (lambda w: w**4 - w, 1.0, 3.0),
    }[name]
    for seed in range(6):
        rng = np.random.default_rng(seed)
        a, weights = hermitian(rng, n, np.float64, at), hermitian(rng, n, np.float64)

        def target(a, weights=weights):
            w, v = xp.linalg.eigh((a + a.mT) / 2.0)
            return xp.sum(((v * f(w)) @ v.mT) * xp.asarray(weights))

        found = np.asarray(xp.grad(target)(xp.asarray(a)))
        np.testing.assert_allclose(found, slope * weights, rtol=1e-7, atol=1e-7)
        _, tangent = xp.jvp(target, (xp.asarray(a),), (xp.asarray(weights),))
        np.testing.assert_allclose(float(tangent), slope * np.sum(weights**2), rtol=1e-7)


def repeated_root(a, times):
    """Return a weighted sum of a repeated square root, which converges to 1: all values coincide."""
    for _ in range(times):
        w, V = xp.linalg.eigh(a)
        a = (V * xp.sqrt(w)) @ adjoint(V)
    return xp.sum(a * xp.asarray([[1.0, 2.0], [2.0, 5.0]]))


@pytest.mark.parametrize("times", [1, 2])
def test_a_chain_of_functions_has_limits_within_limits(times):
    found = xp.grad(lambda a: repeated_root(a, times))(xp.eye(2))
    # The lower triangle, which eigh reads, has the slope of both.
    np.testing.assert_allclose(found, np.asarray([[1.0, 0.0], [4.0, 5.0]]) * 0.5**times)


def test_many_limits_end_with_nan_and_a_warning(monkeypatch):
    """A chain of n factorisations would need about n ** 3 passes."""
    monkeypatch.setattr(limits, "REPEATED", 200)
    with pytest.warns(xp.TapeWarning, match="eigh"):
        found = xp.grad(lambda a: repeated_root(a, 12))(xp.eye(2))
    assert np.isnan(np.asarray(found)).any()


@pytest.mark.parametrize("repeated", range(1, 400, 9))
def test_limits_that_end_early_give_nan_and_no_other_number(monkeypatch, repeated):
    """All pairs without a limit are NaN, wherever the number of records ends the passes."""
    monkeypatch.setattr(limits, "REPEATED", repeated)
    rng = np.random.default_rng(5)
    a = xp.asarray(hermitian(rng, 4, np.float64, np.asarray([1.0, 1.0, 1.0, 2.0])))
    weights = xp.asarray(hermitian(rng, 4, np.float64))

    def target(a):
        w, v = xp.linalg.eigh((a + a.mT) / 2.0)
        return xp.sum(((v * xp.exp(w)) @ v.mT) * weights)

    monkeypatch.setattr(limits, "REPEATED", 10**9)
    expected = np.asarray(xp.grad(target)(a)), np.asarray(xp.hvp(target, (a,), (weights,)))
    monkeypatch.setattr(limits, "REPEATED", repeated)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", xp.TapeWarning)
        found = np.asarray(xp.grad(target)(a)), np.asarray(xp.hvp(target, (a,), (weights,)))
    for one, two in zip(found, expected, strict=True):
        assert np.isnan(one).any() or np.allclose(one, two, rtol=1e-9, atol=1e-9)


def test_a_chain_ends_in_seconds():
    """End the second derivative of a chain of 36 factorisations near the identity in seconds."""

    def of_matrix(a, f):
        w, v = xp.linalg.eigh(a)
        return (v * f(w)[..., None, :]) @ v.mT

    def chain(a):
        for _ in range(12):
            root, inverse = of_matrix(a, xp.sqrt), of_matrix(a, lambda w: 1.0 / xp.sqrt(w))
            a = root @ of_matrix(inverse @ xp.flip(a, axis=0) @ inverse, xp.sqrt) @ root
        return xp.sum(a)

    x = xp.asarray(np.stack([np.eye(3)] * 2))
    begun = time.monotonic()
    with pytest.warns(xp.TapeWarning, match="eigh"):
        assert np.isnan(np.asarray(xp.hvp(chain, (x,), (x,)))).any()
    assert time.monotonic() - begun < 60.0


@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.float64])
def test_stacks_of_which_some_matrices_have_coinciding_values(dtype):
    rng = np.random.default_rng(7)
    values = [[1, 1, 2], [1, 2, 3], [2, 2, 2], [1, 1 + 1e-9, 5]]
    a = xp.asarray(np.stack([hermitian(rng, 3, dtype, np.asarray(v)) for v in values]))
    weights = xp.asarray(np.stack([hermitian(rng, 3, dtype) for _ in values]))

    def target(a, weights):
        w, v = xp.linalg.eigh((a + adjoint(a)) / 2.0)
        found = ((v * (w**3)[..., None, :]) @ adjoint(v)) * xp.conj(weights)
        return xp.sum(xp.real(found))

    def reference(a, weights):
        a = (a + adjoint(a)) / 2.0
        return xp.sum(xp.real((a @ a @ a) * xp.conj(weights)))

    of, ways = xp.grad(reference)(a, weights), (xp.grad(target), xp.vmap(xp.grad(target)))
    for way in ways:
        found = way(a, weights)
        assert found.dtype == dtype
        atol = 1e4 * np.finfo(dtype).eps
        np.testing.assert_allclose(np.asarray(found), np.asarray(of), rtol=0, atol=atol)
