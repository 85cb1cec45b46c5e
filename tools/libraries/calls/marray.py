"""Calls of marray, whose masked arrays wrap Arrays or NumPy arrays."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..data import normal, uniform
from ..facts import NAMESPACE, Call, Library, call

X, Y = uniform(3, 4), normal(3, 4)
MASK = np.random.default_rng(0).random((3, 4)) < 0.3


def masked(name: str, function: Callable[..., Any], *inputs: Any) -> Call:
    """Return a Call of ``function(namespace, *masked_arrays)``, where marray masks the inputs."""

    def run(mask: Any, *arrays: Any) -> Any:
        import marray
        from array_api_compat import array_namespace

        space = marray.masked_namespace(array_namespace(*arrays))
        found = function(space, *[space.asarray(x, mask=mask) for x in arrays])
        return space.where(found.mask, space.zeros_like(found), found).data

    return call(run, MASK, *inputs, name=name)


CALLS = [
    *(
        masked(name, lambda space, x, name=name: getattr(space, name)(x), X)
        for name in (
            "sum",
            "mean",
            "var",
            "std",
            "prod",
            "max",
            "min",
            "sort",
            "cumulative_sum",
            "exp",
        )
    ),
    masked("x * y + x / y", lambda space, x, y: x * y + x / y, X, Y),
    masked("where", lambda space, x, y: space.where(x > y, x, y), X, Y),
    masked("x[1:, ::2]", lambda space, x: x[1:, ::2], X),
    masked("concat", lambda space, x, y: space.concat([x, y]), X, Y),
]
LIBRARY = Library("marray", "marray", NAMESPACE, CALLS)
