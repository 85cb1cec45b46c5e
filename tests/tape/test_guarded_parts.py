"""Gradients through writes to real and imaginary parts, when a NaN elsewhere calls for the guard."""

import numpy as np
import pytest

import arraytape as xp

Z = np.array([[1.0 + 2.0j, 3.0 - 1.0j], [-0.5 + 0.5j, 2.0 + 0.0j]])
X = np.array([[0.0, 4.0], [1.0, 0.5]])
WEIGHTS = np.array([[5.0 + 3.0j, 1.0 - 2.0j], [-1.0 + 0.5j, 2.0 + 4.0j]])
KEYS = {"all": ..., "a row": 1, "a mask": X > 0.7, "columns": (slice(None), slice(None, None, -1))}
WRITES = {
    "=": lambda part, key, x: part.__setitem__(key, x[key]),
    "+=": lambda part, key, x: part.__setitem__(key, part[key] + x[key]),
    "*=": lambda part, key, x: np.multiply(part, x, out=part),
    "number": lambda part, key, x: part.__setitem__(key, 0.98),
}
THEN = {  # what happens to the whole before its parts are read
    "nothing": lambda w, x: None,
    "an element": lambda w, x: w.__setitem__((0, 1), w[0, 1] * (1.0 + 2.0j)),
    "a row": lambda w, x: w.__setitem__(1, w[1] * x[0]),
    "elements": lambda w, x: w.__setitem__([0, 0], w[[1, 0]] + 1.0),
    "all": lambda w, x: w.__imul__(2.0j),
}


@pytest.mark.parametrize("read", ["whole", "parts"])
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("part", ["real", "imag"])
@pytest.mark.parametrize("then", THEN)
def test_the_guarded_pass_gives_what_the_plain_one_gives(then, part, key, write, read):
    def gradients(with_nan):
        z, x = xp.asarray(Z), xp.asarray(X)
        with xp.GradientTape() as tape:
            tape.watch([z, x])
            w = z * 1.0
            WRITES[write](getattr(w, part), KEYS[key], x)
            THEN[then](w, x)
            seen = [w] if read == "whole" else [w.real * 1.0, w.imag * 1.0]
            not_taken = np.where(
                x > 0.0, np.sqrt(x), 0.0
            )  # its slope at 0 is NaN in the plain pass
        weights = [np.conj(WEIGHTS)] if read == "whole" else [WEIGHTS.real, WEIGHTS.imag]
        targets = [*seen, not_taken] if with_nan else seen
        cotangents = [xp.asarray(c) for c in [*weights, 0.0 * X][: len(targets)]]
        found = tape.gradient(targets, [z, x], cotangents, unconnected_gradients="zero")
        return [np.asarray(g) for g in found]

    for plain, guarded in zip(gradients(False), gradients(True), strict=True):
        np.testing.assert_array_equal(guarded, plain)


@pytest.mark.parametrize("n", [9, 10, 15, 21])
def test_probing_a_matrix_of_any_size_finds_all_that_is_reached(n):
    # A deviation has a cusp, so that the guard is on; the rule of cholesky solves systems.
    rng = np.random.default_rng(0)
    A, B = (xp.asarray(m @ m.T + np.eye(n)) for m in rng.normal(size=(2, n, n)))
    y, along = xp.asarray(rng.normal(size=3)), xp.asarray([1.0, 2.0, -1.0])

    def slopes(y):
        def f(v):
            return xp.sum(xp.linalg.cholesky(v[0] * A + v[1] * B)) * xp.std(y)

        return xp.grad(f)(xp.asarray([1.0, 0.5]))

    def linear(w):
        return xp.sum(xp.vjp(slopes, y)[1](w)[0] * along)

    found = xp.grad(linear)(xp.asarray([0.3, 0.7]))
    expected = [float(linear(xp.asarray(w))) for w in ([1.0, 0.0], [0.0, 1.0])]
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-10)
