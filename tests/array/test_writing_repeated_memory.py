"""Memory of our own in which values are repeated is copied before a write; read-only views stay so."""

import numpy as np
import pytest

import arraytape as xp

X = [0.1, 0.2, 0.3]
ALONG = [0.3, -0.5, 0.7]


def repeated(x):
    """Two rows that are one in memory."""
    return xp.broadcast_to(x * x, (2, 3))


def with_rule(x):
    f = xp.custom_gradient(lambda x: (repeated(x), lambda u: xp.sum(u, axis=0) * 2.0 * x))
    y = f(x)
    y[0] = x * 3.0
    return xp.sum(y * y)


def run_again(x):
    y = xp.recompute_grad(repeated)(x)
    y[0] = x * 3.0
    return xp.sum(y * y)


def of_a_vmap(x):
    def f(row):
        row[0] = 3.0 * row[1]
        row += 1.0
        return row * row

    return xp.sum(xp.vmap(f)(repeated(x)))


def of_a_vmap_with_columns(x):
    def f(column):
        column[1:] *= x[:1]
        return column

    return xp.sum(xp.vmap(f, -1)(repeated(x)) ** 2)


def with_rule_by_ops(x):
    y = repeated(x) * 1.0
    y[0] = x * 3.0
    return xp.sum(y * y)


def of_a_vmap_by_ops(x):
    rows = repeated(x) * 1.0
    rows[:, 0] = 3.0 * rows[:, 1]
    rows += 1.0
    return xp.sum(rows * rows)


def of_a_vmap_with_columns_by_ops(x):
    columns = repeated(x) * 1.0
    columns[1:] *= x[:1]
    return xp.sum(columns**2)


PROGRAMS = {
    "rule": (with_rule, with_rule_by_ops),
    "run again": (run_again, with_rule_by_ops),
    "vmap": (of_a_vmap, of_a_vmap_by_ops),
    "columns": (of_a_vmap_with_columns, of_a_vmap_with_columns_by_ops),
}
DERIVATIVES = {
    "value": lambda f, x, t: f(x),
    "gradient": lambda f, x, t: xp.grad(f)(x),
    "hessian": lambda f, x, t: xp.hessian(f)(x),
    "hvp": lambda f, x, t: xp.hvp(f, (x,), (t,))[0],
    "grad of grad": lambda f, x, t: xp.grad(lambda x: xp.sum(xp.grad(f)(x) * t))(x),
    "grad of jvp": lambda f, x, t: xp.grad(lambda x: xp.jvp(f, (x,), (t,))[1])(x),
}


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("derivative", DERIVATIVES)
def test_derivatives_are_those_of_the_same_in_ops(program, derivative):
    x, t = xp.asarray(X), xp.asarray(ALONG)
    found, expected = (DERIVATIVES[derivative](f, x, t) for f in PROGRAMS[program])
    assert np.allclose(found, expected, 1e-12)


def test_a_derivative_that_repeats_values_may_be_written_to():
    x = xp.asarray(X)
    y, found = xp.jvp(repeated, (x,), (xp.asarray(ALONG),))
    found[0] = 0.0
    assert np.allclose(found, [[0.0] * 3, 2.0 * np.asarray(X) * ALONG])
    assert np.allclose(y, [np.square(X)] * 2)


def test_a_read_only_view_and_foreign_read_only_memory_are_refused():
    foreign = np.zeros((2, 3))
    foreign.flags.writeable = False
    for x in (repeated(xp.asarray(X)), xp.asarray(foreign, copy=False)):
        for target in (x, x[0]):
            with pytest.raises(ValueError, match="read-only"):
                target[0] = 1.0
