"""The calls of library functions that the tests of interop check, collected for random tests.

The tests state each call as ``check(f, *inputs)``.  To collect the calls, the tests run with a
``check`` that only notes its arguments.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import itertools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from . import distributions

ROUNDED = 1e-13
MODULES = ("fft", "interpolate", "ndimage", "signal", "spatial", "statistics")


class LibraryCall(NamedTuple):
    """A function of NumPy data or Arrays, with valid inputs.

    name : the test, with its parameters.
    tolerance : the allowed difference from the library's values, relative to the largest value.
    """

    name: str
    function: Callable[..., Any]
    inputs: tuple[Any, ...]
    tolerance: float


@functools.cache
def library_calls() -> tuple[LibraryCall, ...]:
    """Return all calls that the tests of interop check, in their order."""
    found = [call for name in MODULES for call in noted_calls(f"interop.test_{name}")]
    return (*found, *linalg_calls(), *program_calls(), *distribution_calls())


def noted_calls(name: str) -> list[LibraryCall]:
    """Return the calls that the tests of one module pass to ``check``."""
    module = importlib.import_module(name)
    found: list[LibraryCall] = []
    real = module.check
    for test_name, test in [*vars(module).items()]:
        if not test_name.startswith("test_") or "check(" not in inspect.getsource(test):
            continue
        for values in parameters_of(test):
            label = f"{name.rpartition('.')[2]}.{test_name}{[*values.values()] if values else ''}"

            def note(
                f: Any, *inputs: Any, exact: bool = True, label: str = label, **_: Any
            ) -> None:
                data = tuple([np.array(x) for x in inputs])
                found.append(LibraryCall(label, f, data, 0.0 if exact else ROUNDED))

            module.check = note
            try:
                test(**values)
            finally:
                module.check = real
    return found


def parameters_of(test: Any) -> Iterator[dict[str, Any]]:
    """Yield the combinations of arguments with which pytest would call a test."""
    choices: list[list[dict[str, Any]]] = []
    for mark in getattr(test, "pytestmark", ()):
        if mark.name != "parametrize":
            continue
        names, values = mark.args[:2]
        names = [n.strip() for n in names.split(",")] if isinstance(names, str) else [*names]
        rows = [getattr(row, "values", row) if not isinstance(row, dict) else row for row in values]
        choices.append(
            [dict(zip(names, row if len(names) > 1 or is_param(raw) else (row,), strict=True))
             for row, raw in zip(rows, values, strict=True)]
        )  # fmt: skip
    if {*inspect.signature(test).parameters} != {k for rows in choices for k in (rows or [{}])[0]}:
        return  # the test has fixtures
    for combination in itertools.product(*choices):
        yield {key: value for part in combination for key, value in part.items()}


def is_param(row: Any) -> bool:
    """Return True if a row of parametrize is ``pytest.param(...)``."""
    return type(row).__name__ == "ParameterSet"


def linalg_calls() -> list[LibraryCall]:
    """Return the calls of scipy.linalg, from the table of interop/test_linalg.py."""
    module = importlib.import_module("interop.test_linalg")
    found = []
    for param in module.ids():
        function, makers, complex_data, stack = param.values
        inputs = tuple([np.array(make(complex_data, stack)) for make in makers])
        found.append(LibraryCall(f"test_linalg[{param.id}]", function, inputs, 0.0))
    return found


def program_calls() -> list[LibraryCall]:
    """Return the calls in tables of three interop tests, and calls of power transforms."""
    found = []
    for module, table, tolerance in (
        ("integrate", "PROGRAMS", 1e-12), ("optimize", "PROGRAMS", 1e-8), ("special", "CALLS", ROUNDED),
    ):  # fmt: skip
        test = importlib.import_module(f"interop.test_{module}")
        data = getattr(test, "V", getattr(test, "X", None))
        for name, statement in getattr(test, table).items():
            f, x = statement if isinstance(statement, tuple) else (statement, data)
            found.append(LibraryCall(f"test_{module}[{name}]", f, (np.array(x),), tolerance))
    positive = np.asarray([0.3, 1.7, 0.9, 2.2])
    for name in ("boxcox", "yeojohnson", "boxcox_llf", "yeojohnson_llf"):
        f = getattr(stats, name)
        by_lambda = (lambda x, lam, f=f: f(lam, x)) if name.endswith("llf") else f
        inputs = (positive, np.asarray(0.4))
        found.append(LibraryCall(f"transformations[{name}]", by_lambda, inputs, ROUNDED))
    return found


SLOW = ("gausshyper", "genhyperbolic", "geninvgauss", "irwinhall", "kstwo", "ksone", "levy_stable",
        "studentized_range", "vonmises_line")  # fmt: skip


def of_all_parameters(method: Any, x: Any, *parameters: Any) -> Any:
    """Call a distribution's method; the last two parameters are ``loc`` and ``scale``."""
    *shapes, loc, scale = parameters
    return method(x, *shapes, loc=loc, scale=scale)


def distribution_calls() -> list[LibraryCall]:
    """Return the methods of continuous distributions as functions of x and all parameters."""
    found = []
    for name, shapes in distributions.distributions().items():
        if name in SLOW:
            continue
        family, counts = getattr(stats, name), distributions.COUNTS.get(name, ())
        assert not counts
        quantiles = np.asarray([0.3, 0.8])
        places = family.ppf(quantiles, *shapes)
        for method in distributions.METHODS:
            at = quantiles if method in ("ppf", "isf") else places

            inputs = tuple([np.array(x) for x in (at, *shapes, 0.0, 1.0)])
            call = functools.partial(of_all_parameters, getattr(family, method))
            found.append(LibraryCall(f"distributions.{method}[{name}]", call, inputs, 1e-13))
    return found
