"""A part at a 0-d index is a view in a loop over the examples, so it is one under vmap, too."""

import numpy as np
import pytest

import arraytape as xp

X = np.random.default_rng(0).normal(size=(2, 3, 3))
W = np.random.default_rng(1).normal(size=(3, 3))


def written_through(a):
    a = a * 1.0
    b = a[xp.argmax(a[:, 0])]
    b[...] = b * 2.0
    b[0] += 1.0
    return a


def written_under(a):
    a = a * 1.0
    b = a[xp.argmax(a[:, 0])]
    a[...] = a * 3.0
    return b * a[0]


def view_of_the_view(a):
    a = a * 1.0
    k = xp.argmax(a[:, 0])
    b = a[k, 1:]
    b *= a[0, 1:]
    c = b[:1]
    c[...] = a[k, 0]
    return a * xp.asarray(W)


def of_what_is_the_same_for_all(a):
    z = xp.zeros((3, 3))
    k = xp.argmax(a[:, 0])
    b = z[k]
    b[...] = a[0]
    b += 1.0
    z[k] *= a[1]
    return z * z


def of_a_view(a):
    a = a * 1.0
    k = xp.argmax(a[:, 0])
    b = a.T[k]
    b[1:] *= 2.0
    b = b[::-1]
    b[0] = a[0, 0] * a[1, 1]
    np.multiply(b, 2.0, out=a[k, ...])
    return a


def with_a_new_axis(a):
    a = a * 1.0
    k = xp.argmax(a[:, 0])
    b = a[k, None]
    a[k] *= 0.3
    v = xp.reshape(b, (3,))
    v[0] = 1.5
    return a * b


def of_two(a):
    a = a * 1.0
    k, j = xp.argmax(a[:, 0]), xp.argmin(a[0])
    b = a[..., j]
    b[...] = a[k]
    a[k, j] = 2.0
    return xp.sum(a * a) * b


def loop(f, x):
    return xp.stack([f(row) for row in xp.unstack(x)])


def scalar(f):
    return lambda x: xp.sum(xp.sin(f(x)))


DERIVATIVES = {
    "value": lambda f, x: f(x),
    "gradient": lambda f, x: xp.grad(scalar(f))(x),
    "forward": lambda f, x: xp.jvp(f, (x,), (x,))[1],
    "hvp": lambda f, x: xp.hvp(scalar(f), (x,), (x,))[0],
    "reverse over forward": lambda f, x: xp.grad(
        lambda y: xp.jvp(scalar(f), (y,), (xp.asarray(X),))[1]
    )(x),
    "reverse over reverse": lambda f, x: xp.grad(lambda y: xp.sum(x * xp.grad(scalar(f))(y)))(x),
    "jacobian": lambda f, x: xp.jacobian(f)(x),
}
FUNCTIONS = (
    written_through, written_under, view_of_the_view, of_what_is_the_same_for_all, of_a_view,
    with_a_new_axis, of_two,
)  # fmt: skip


@pytest.mark.parametrize("f", FUNCTIONS)
@pytest.mark.parametrize("derivative", DERIVATIVES)
def test_vmap_is_the_loop(f, derivative):
    x = xp.asarray(X)
    found = DERIVATIVES[derivative](xp.vmap(f), x)
    expected = DERIVATIVES[derivative](lambda x: loop(f, x), x)
    assert np.allclose(found, expected, 1e-10)


@pytest.mark.parametrize("f", FUNCTIONS)
def test_a_gradient_for_each_example(f):
    x = xp.asarray(X)
    assert np.allclose(xp.vmap(xp.grad(scalar(f)))(x), loop(xp.grad(scalar(f)), x), 1e-10)


def test_what_all_examples_read_gets_the_sum_of_their_gradients():
    def total(w, through):
        return xp.sum(through(lambda a: a * w[xp.argmax(a[:, 0])], xp.asarray(X)))

    found = xp.grad(lambda w: total(w, lambda f, x: xp.vmap(f)(x)))(xp.asarray(W))
    assert np.allclose(found, xp.grad(lambda w: total(w, loop))(xp.asarray(W)))


def test_an_index_that_does_not_fit_is_refused():
    x = xp.asarray(X)
    with pytest.raises(IndexError, match="__getitem__"):
        xp.vmap(lambda a: a[xp.argmax(a[:, 0]) + 3])(x)


def test_a_tangent_that_is_the_same_for_all_examples_goes_through_an_index_that_is_not():
    """The second tangent of what was added is in no example another one."""

    def f(row, w):
        row[::-1] += xp.sin(w)
        row[xp.argmin(row)] += w
        return row * row[xp.argmax(row)]

    def total(w, through):
        return xp.sum(through(lambda row: f(row * 1.0, w), xp.asarray(X[0])))

    def second(through):
        w, one = xp.asarray(0.7), xp.asarray(1.0)
        slope = lambda w: xp.jvp(lambda w: total(w, through), (w,), (one,))[1]  # noqa: E731
        return xp.jvp(slope, (w,), (one,))[1]

    assert np.allclose(second(lambda f, x: xp.vmap(f)(x)), second(loop))
