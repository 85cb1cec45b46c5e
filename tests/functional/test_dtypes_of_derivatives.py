"""A gradient, row or column has the precision of its source, whatever the other operands have."""

import numpy as np
import pytest

import arraytape as xp

REAL = ("float16", "float32", "float64")


def squares(w):
    return lambda x: x * x * w


def total(w):
    return lambda x: xp.sum(xp.real(x * x * x * w))


def by_tape(f, x):
    with xp.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = f(x)
    return [tape.gradient(y, x), tape.jacobian(y, x)]


def by_batches(f, x):
    rows = xp.stack([x, x])
    with xp.GradientTape() as tape:
        tape.watch(rows)
        y = f(rows)
    return [tape.batch_jacobian(y, rows)]


FORMS = {
    "grad": lambda w, x: [xp.grad(total(w))(x)],
    "jacobian": lambda w, x: [xp.jacobian(squares(w))(x)],
    "tall jacobian": lambda w, x: [xp.jacobian(lambda x: squares(w)(x) * xp.ones((500, 3)))(x)],
    "jacrev": lambda w, x: [xp.jacrev(squares(w))(x)],
    "jacfwd": lambda w, x: [xp.jacfwd(squares(w))(x)],
    "jacfwd of grad": lambda w, x: [xp.jacfwd(xp.grad(total(w)))(x)],
    "hessian": lambda w, x: [xp.hessian(total(w))(x)],
    "hvp": lambda w, x: xp.hvp(total(w), (x,), (x,)),
    "vhp": lambda w, x: xp.vhp(total(w), (x,), (x,)),
    "vjp": lambda w, x: xp.vjp(squares(w), x)[1](w * x),
    "tape": lambda w, x: by_tape(squares(w), x),
    "batch_jacobian": lambda w, x: by_batches(squares(w), x),
    "vmap": lambda w, x: [
        xp.vmap(form(squares(w)))(xp.stack([x, x])) for form in (xp.jacfwd, xp.jacrev)
    ],
    "nothing": lambda w, x: [
        form(lambda x: x * w[:1])(x[:0]) for form in (xp.jacfwd, xp.jacrev, xp.jacobian)
    ],
}


@pytest.mark.parametrize("partner", [*REAL, "complex64", "complex128"])
@pytest.mark.parametrize("source", REAL)
@pytest.mark.parametrize("form", FORMS)
def test_a_derivative_has_the_precision_of_its_source(form, source, partner):
    x = xp.asarray(np.asarray([1.0, 0.5, -2.0], source))
    w = xp.asarray(np.asarray([2.0, 1.0, 0.5], partner))
    for found in FORMS[form](w, x):
        wide = np.result_type(source, "complex64")  # jacfwd alone keeps the imaginary part
        complex_columns = "c" in np.dtype(partner).kind and found.dtype.kind == "c"
        assert found.dtype == (wide if complex_columns else source), form
        assert not complex_columns or form in ("jacfwd", "vmap", "nothing")


def test_columns_of_complex_results_keep_their_imaginary_parts_beside_a_nan():
    x = xp.asarray([0.0, 4.0])
    found = xp.jacfwd(lambda x: (1j * xp.sqrt(x), xp.where(x > 0.0, xp.sqrt(x), 0.0)))(x)
    assert np.isnan(np.asarray(found[0])[0, 0])
    np.testing.assert_allclose(np.asarray(found[0])[1], [0.0, 0.25j])
    np.testing.assert_allclose(np.asarray(found[1]), [[0.0, 0.0], [0.0, 0.25]])
