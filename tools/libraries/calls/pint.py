"""Calls of pint, whose quantities wrap Arrays."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..data import uniform
from ..facts import NUMPY, Call, Library, call


@functools.cache
def units() -> Any:
    import pint

    return pint.UnitRegistry()


def quantity(name: str, function: Callable[..., Any], *inputs: Any) -> Call:
    """Return a Call of ``function``, whose inputs are arrays in metres, quantities of pint."""

    def run(*arrays: Any) -> Any:
        return function(*[x * units().metre for x in arrays]).magnitude

    return call(run, *inputs, name=name)


X, Y = uniform(3), uniform(3, seed=1)
CALLS = [
    quantity("x * y", lambda x, y: x * y, X, Y),
    quantity("x + y", lambda x, y: x + y.to("inch"), X, Y),
    quantity("x / y", lambda x, y: x / y, X, Y),
    quantity("x ** 2", lambda x: x**2, X),
    quantity("to", lambda x: x.to("foot"), X),
    quantity("to_base_units", lambda x: (x * units().kilometre).to_base_units(), X),
    quantity("sum", lambda x: x.sum(), X),
    quantity("mean", lambda x: x.mean(), X),
    quantity("x[1:]", lambda x: x[1:], X),
    *(
        quantity(f"np.{name}", lambda x, name=name: getattr(np, name)(x), X)
        for name in (
            "sum",
            "mean",
            "std",
            "sqrt",
            "square",
            "max",
            "cumsum",
            "sort",
            "diff",
            "median",
            "ptp",
        )
    ),
    quantity("np.exp", lambda x: np.exp(x / units().inch), X),
    quantity("np.sin", lambda x: np.sin(x / units().metre), X),
    quantity("np.where", lambda x, y: np.where(x > y, x, y), X, Y),
    quantity("np.concatenate", lambda x, y: np.concatenate([x, y]), X, Y),
    quantity("np.stack", lambda x, y: np.stack([x, y]), X, Y),
    quantity("np.dot", lambda x, y: np.dot(x, y), X, Y),
    quantity("np.trapezoid", lambda x, y: np.trapezoid(x, y), X, Y),
    quantity("np.linalg.norm", lambda x: np.linalg.norm(x), X),
    quantity(
        "np.interp",
        lambda x: np.interp(
            x, np.asarray([0.0, 2.0]) * units().metre, np.asarray([1.0, 3.0]) * units().metre
        ),
        X,
    ),
]
LIBRARY = Library("pint", "pint", NUMPY, CALLS, backends=("arraytape",), recipe="pint")
