"""A program of a JAX user: functions of nestings, with the types of their derivatives."""

from __future__ import annotations

from typing import NamedTuple, assert_type

import arraytape as xp


class Parameters(NamedTuple):
    slope: xp.Array
    offset: xp.Array


def predict(p: Parameters, x: xp.Array) -> xp.Array:
    return p.slope * x + p.offset


def loss(p: Parameters, x: xp.Array, y: xp.Array) -> xp.Array:
    return xp.mean((predict(p, x) - y) ** 2)


def loss_and_residuals(p: Parameters, x: xp.Array) -> tuple[xp.Array, dict[str, xp.Array]]:
    residuals = predict(p, x)
    return xp.sum(residuals**2), {"residuals": residuals}


@xp.function
def update(p: Parameters, x: xp.Array, y: xp.Array) -> Parameters:
    g = xp.grad(loss)(p, x, y)
    assert_type(g, Parameters)
    return Parameters(p.slope - 0.1 * g.slope, p.offset - 0.1 * g.offset)


def main() -> None:
    x, y = xp.linspace(0.0, 1.0, 5), xp.linspace(1.0, 3.0, 5)
    p = Parameters(xp.asarray(0.0), xp.asarray(0.0))
    value, gradient = xp.value_and_grad(loss)(p, x, y)
    assert_type(value, xp.Array)
    assert_type(gradient, Parameters)
    gradient, aux = xp.grad(loss_and_residuals, has_aux=True)(p, x)
    assert_type(gradient, Parameters)
    assert_type(aux, dict[str, xp.Array])
    for _ in range(3):
        p = update(p, x, y)
    assert_type(p, Parameters)

    def energy(w: xp.Array, scale: float = 1.0) -> xp.Array:
        return scale * xp.sum(w**4)

    assert_type(xp.grad(energy)(x, scale=2.0), xp.Array)
    assert_type(xp.vmap(xp.grad(energy))(x), xp.Array)
    slope: xp.Array = xp.grad(lambda w: xp.sum(xp.sin(w) * w))(x)
    several: dict[str, xp.Array] = xp.grad(lambda w: xp.sum(w["a"] * w["b"]))({"a": x, "b": y})
    hessian: xp.Array = xp.jacobian(xp.grad(energy))(x)
    both: tuple[xp.Array, xp.Array] = xp.grad(loss_of_two, argnums=(0, 1))(x, y)
    print("done", slope.shape, sorted(several), hessian.shape, len(both))


def loss_of_two(a: xp.Array, b: xp.Array) -> xp.Array:
    return xp.sum(a * b)


if __name__ == "__main__":
    main()
