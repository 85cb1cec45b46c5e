"""The tests of someone whose library takes arrays of any namespace."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeVar, assert_type

import arraytape as xp
from arraytape.testing import check_gradients

A = TypeVar("A")


def logsumexp(x: A, namespace: Any) -> A:
    """A function of a library that knows nothing of arraytape."""
    most = namespace.max(x)
    result: A = most + namespace.log(namespace.sum(namespace.exp(x - most)))
    return result


@xp.custom_gradient
def clipped(x: xp.Array) -> tuple[xp.Array, Callable[[xp.Array], xp.Array]]:
    def pull(dy: xp.Array) -> xp.Array:
        return xp.where(xp.abs(x) < 1.0, dy, 0.0)

    return xp.clip(x, -1.0, 1.0), pull


def main() -> None:
    namespace: ModuleType = xp
    x = xp.asarray([0.1, 0.7, -0.3])
    value = logsumexp(x, namespace)
    assert_type(value, xp.Array)
    check_gradients(lambda p: logsumexp(p, xp), [x])
    assert_type(clipped(x), xp.Array)
    with xp.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = xp.sum(clipped(x) ** 2)
    assert_type(tape.gradient(y, x), xp.Array | Any)  # None without a path
    assert_type(tape.gradient(y, [x, x]), list[xp.Array | Any])
    try:
        xp.grad(lambda p: xp.sum(xp.asarray(float(p[0]))))(x)
    except xp.LostGradientError as error:
        print("done", "left the tape" in str(error))


if __name__ == "__main__":
    main()
