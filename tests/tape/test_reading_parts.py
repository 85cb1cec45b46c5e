"""Parts that were read are added in place to what comes together for the whole, in every mode."""

import numpy as np
import pytest

import arraytape as xp
from arraytape.testing import storages

SHAPE = (4, 3)
WHOLE = np.arange(12.0).reshape(SHAPE) / 7 + 0.3
KEYS = {
    "one element": (1, 2),
    "from the end": (-1, -3),
    "numpy's integers": (np.int64(2), np.int32(1)),
    "integers": [0, 2, 0, -1],
    "a mask": np.asarray([True, False, True, True]),
    "a mask of all axes": WHOLE > 1,
    "a slice and integers": (slice(None, None, -1), [2, 2]),
    "None and integers": (None, [1, 1], 0),
    "two arrays": ([[0], [3]], [1, 1]),
    "an Ellipsis and integers": (..., [0, 2, 2]),
    "nothing": np.zeros(4, bool),
}
READS = {name: (lambda x, key=key: x[key]) for name, key in KEYS.items()}
READS["take"] = lambda x: xp.take(x, xp.asarray([1, 1, -1]), axis=1)
READS["take_along_axis"] = lambda x: xp.take_along_axis(
    x, xp.asarray([[2, 2], [0, -1]] * 2), axis=1
)
READS["take_along_axis of one row"] = lambda x: xp.take_along_axis(
    x, xp.asarray([[2, 0, 2]]), axis=0
)


def cubes(read):
    """A program that reads a part several times, beside the whole and after a write."""

    def f(x):
        first = xp.sum(read(x) ** 3) + xp.sum(x * x)
        second = xp.sum(read(x) * 2.0)
        z = x * 1.0
        z[0, 1] = 2.0
        return first + second + xp.sum(read(z) ** 2) + xp.sum(read(z) * z[0, 0])

    return f


def by_sums(read):
    """The same with the part as the product with a matrix of 0 and 1: no key is read."""
    return cubes(product_for(read))


def product_for(read):
    """The product with a matrix of 0 and 1 that gives the part."""
    at = read(xp.asarray(np.arange(12).reshape(SHAPE)))._data
    chosen = xp.asarray((at.reshape(-1, 1) == np.arange(12)).astype(float))
    return lambda x: xp.reshape(chosen @ xp.reshape(x, (-1,)), at.shape)


def close(found, expected):
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-12, atol=1e-12)


@pytest.fixture(params=READS, name="read")
def _read(request):
    return READS[request.param]


X = xp.asarray(WHOLE)
V = xp.asarray(np.cos(np.arange(12.0)).reshape(SHAPE))


def test_the_gradient(read):
    close(xp.grad(cubes(read))(X), xp.grad(by_sums(read))(X))


def test_the_second_derivative(read):
    f, g = cubes(read), by_sums(read)
    close(*[xp.hvp(h, (X,), (V,))[0] for h in (f, g)])
    close(*[xp.hessian(h)(X) for h in (f, g)])
    close(*[xp.grad(lambda x, h=h: xp.sum(xp.grad(h)(x) ** 2))(X) for h in (f, g)])


def test_the_jacobian_and_forward_mode(read):
    def rows(f):
        return lambda x: xp.stack([f(x), f(x * x)])

    close(xp.jacobian(rows(cubes(read)))(X), xp.jacobian(rows(by_sums(read)))(X))
    close(xp.jvp(cubes(read), (X,), (V,))[1], xp.jvp(by_sums(read), (X,), (V,))[1])


def test_under_vmap(read):
    many = xp.asarray(np.stack([WHOLE, 2 - WHOLE]))
    close(xp.vmap(xp.grad(cubes(read)))(many), [xp.grad(cubes(read))(x) for x in many])
    outside = xp.grad(lambda x: xp.sum(xp.vmap(cubes(read))(x)))(many)
    close(outside, [xp.grad(cubes(read))(x) for x in many])


def test_of_complex_data(read):
    x = xp.asarray(WHOLE + 1j * WHOLE[::-1])

    def f(read):
        return lambda x: xp.real(cubes(read)(x))

    chosen = by_sums(read)
    close(xp.grad(f(read))(x), xp.grad(lambda x: xp.real(chosen(x)))(x))


def test_in_the_guarded_rerun(read):
    def f(read):
        return lambda x: xp.sum(xp.where(read(x) > 1, xp.sqrt(read(x) - 1), 0.0)) + cubes(read)(x)

    x = xp.asarray(np.where(WHOLE > 1, WHOLE, 1.0))  # where the square root has an infinite slope
    close(xp.grad(f(read))(x), xp.grad(f(product_for(read)))(x))
    twice = [
        xp.grad(lambda x, r=r: xp.sum(xp.grad(f(r))(x) ** 2))(x) for r in (read, product_for(read))
    ]
    close(*twice)


def test_a_cotangent_that_is_shared_is_not_written_to(read):
    with xp.GradientTape(persistent=True) as tape:
        tape.watch(X)
        y = X * 2.0
        z = y + X
        total = xp.sum(read(y)) + xp.sum(z)
    found = [np.asarray(g) for g in tape.gradient(total, [y, z, X])]
    again = [np.asarray(g) for g in tape.gradient(total, [X, z, y])][::-1]
    close(found[1], np.ones(SHAPE))
    for one, other in zip(found, again, strict=True):
        close(one, other)
    close(found[2], 2 * found[0] + 1)


@pytest.mark.parametrize("kind", ["hostile", "strict", "frozen"])
@pytest.mark.parametrize("name", ["one element", "a slice", "take"])
def test_on_other_storages(kind, name):
    reads = {
        "a slice": lambda x: x[1:3, 0],
        "one element": lambda x: x[1, 2],
        "take": READS["take"],
    }
    read = reads[name]
    with storages.on(getattr(storages, kind)()):
        x = xp.asarray(WHOLE)
        g, row = xp.grad(cubes(read))(x), xp.jacobian(lambda x: xp.stack([cubes(read)(x)] * 2))(x)
        found = [part.to_device("cpu") for part in (g, row[1, ...])]
    for part in found:
        close(part, xp.grad(cubes(read))(X))
