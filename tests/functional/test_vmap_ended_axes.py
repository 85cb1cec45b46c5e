"""A pass through records of hidden axes that have ended sums over none of them but its own."""

import numpy as np
import pytest

import arraytape as xp

P = xp.asarray([1.0, 2.0, 3.0])
Z = xp.asarray([0.3, -0.7, 0.4])
DIRECTIONS = xp.asarray([[0.3, -0.7, 0.5], [0.5, 0.2, -0.1]])


def named_twice(z, q):
    q = q * 1.0
    q[[0, 0]] = z[:2] * q[0]
    return q * q


def selected(z, q):
    return xp.where(q > 1.5, z * q, q * q)


def chosen(z, q):
    return xp.take(z * q, xp.asarray([2, 0, 0])) ** 2


def product(z, q):
    return xp.cumulative_prod(z * q + q)


def largest(z, q):
    return xp.max(z * q) * q


@xp.custom_gradient
def cube(x):
    return x**3, lambda g: 3.0 * g * square(x)


@xp.custom_gradient
def square(x):
    return x * x, lambda g: 2.0 * g * x


@xp.recompute_grad
def again(z, q):
    return selected(z, q) * product(z, q)


FUNCTIONS = {
    "named twice": named_twice,
    "selected": selected,
    "chosen": chosen,
    "product": product,
    "largest": largest,
    "custom": lambda z, q: cube(z * q) * q,
    "recomputed": again,
}
INSIDE = {
    "jacobian": lambda f: lambda z: xp.sum(xp.jacobian(lambda q: f(z, q))(P)),
    "jacobian by its argument": lambda f: lambda z: xp.sum(xp.jacobian(lambda z: f(z, P))(z)),
    "vmap": lambda f: lambda z: xp.sum(xp.vmap(lambda q: f(z, q))(xp.stack([P, z * P]))),
    "vmap of grad": lambda f: (
        lambda z: xp.sum(
            xp.vmap(lambda q: xp.grad(lambda q: xp.sum(f(z, q)))(q))(xp.stack([P, z * P])) ** 2
        )
    ),
    "hessian": lambda f: lambda z: xp.sum(xp.hessian(lambda q: xp.sum(f(z, q)))(P)),
}
PRODUCTS = {
    "hvp": lambda F, v: xp.hvp(F, (Z,), (v,))[0],
    "jvp of jvp": lambda F, v: xp.jvp(lambda z: xp.jvp(F, (z,), (v,))[1], (Z,), (v,))[1],
    "grad of jvp": lambda F, v: xp.grad(lambda z: xp.jvp(F, (z,), (v,))[1])(Z),
    "jvp of vjp": lambda F, v: xp.jvp(lambda z: xp.vjp(F, z)[1](v[0])[0], (Z,), (v,))[1],
}


@pytest.mark.parametrize("by", PRODUCTS)
@pytest.mark.parametrize("inside", INSIDE)
@pytest.mark.parametrize("of", FUNCTIONS)
@pytest.mark.every(3)
def test_second_derivatives_under_vmap_equal_those_of_a_loop(of, inside, by):
    F, product = INSIDE[inside](FUNCTIONS[of]), PRODUCTS[by]
    found = xp.vmap(lambda v: product(F, v))(DIRECTIONS)
    loop = xp.stack([product(F, v) for v in DIRECTIONS])
    np.testing.assert_allclose(np.asarray(found), np.asarray(loop), 1e-10, 1e-10)


@pytest.mark.parametrize("inside", INSIDE)
@pytest.mark.parametrize("of", FUNCTIONS)
def test_hessian_products_equal_differences_of_gradients(of, inside):
    F, v, h = INSIDE[inside](FUNCTIONS[of]), DIRECTIONS[0], 1e-5
    ahead, behind = (xp.grad(F)(Z + k * v) for k in (h, -h))
    found = xp.hvp(F, (Z,), (v,))[0]
    slope = (ahead - behind) / (2.0 * h)
    np.testing.assert_allclose(np.asarray(found), np.asarray(slope), 1e-5, 1e-5)
