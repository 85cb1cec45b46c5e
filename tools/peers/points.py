"""Cases at single points: ties, zeros, bounds, infinities, coinciding singular values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from arraytape._record.op import REGISTRY

from .cases import NO_DERIVATIVE, Case, called, drawn, of_eigh, of_eigvals
from .libraries import Function

inf, nan = float("inf"), float("nan")


def point(
    op: str,
    *inputs: Any,
    f: Function | None = None,
    second: bool = False,
    note: str = "",
    **parameters: Any,
) -> Case:
    """Return a Case that calls the op, or ``f``, at one point: the arrays ``inputs``.

    f : a function of the namespace and the arrays, which is called in place of the op.
    second : True if the function is smooth there, so that second derivatives are compared.
    """
    arrays = [np.asarray(x, complex if np.iscomplexobj(x) else float) for x in inputs]
    given = [np.array2string(x, separator=",").replace("\n", "") for x in arrays]
    given += [note] * bool(note) + [f"{k}={v}" for k, v in parameters.items()]
    function = called(op, f, parameters)
    return Case(op, f"at {' '.join(given)}", function, lambda seed: arrays, second, seeded=False)


EYE, ONES = np.eye(3), np.ones((3, 3))
SINGULAR = np.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])
TWICE = np.asarray([[2.0, 1.0, 1.0], [1.0, 2.0, 1.0], [1.0, 1.0, 2.0]])  # eigenvalues 1, 1, 4
TIES = [2.0, 1.0, 2.0, 1.0]
UNTAKEN = np.asarray([False, True])


def untaken(slope: Function) -> Function:
    return lambda xp, x: xp.where(xp.asarray(UNTAKEN), slope(xp, x), x * 0.0)


POINTS = (
    # elementwise ops with one argument
    point("abs", [0.0, -0.0, 1.0]),
    point("abs", [0j, 1 + 1j]),
    point("sign", [0.0, 2.0]),
    point("sign", [0j]),
    point("sqrt", [0.0, 4.0]),
    point("sqrt", [0j, -1 + 0j]),
    point("log", [0.0, -1.0]),
    point("log", [0j, -1 + 0j]),
    point("log1p", [-1.0, 0.0]),
    point("log2", [0.0]),
    point("log10", [0.0]),
    point("reciprocal", [0.0, inf]),
    point("acos", [1.0, -1.0]),
    point("asin", [1.0, -1.0]),
    point("acosh", [1.0]),
    point("atanh", [1.0, -1.0]),
    point("exp", [1000.0, -1000.0, -inf]),
    point("expm1", [-1000.0, 0.0], second=True),
    point("tanh", [1000.0, -1000.0, inf], second=True),
    point("sinh", [0.0], second=True),
    point("atan", [inf, 1e200]),
    point("asinh", [1e200, -1e200]),
    point("square", [inf, 0.0]),
    *(point(name, [-0.5, 0.5, 1.0, 2.0]) for name in ("round", "floor", "ceil", "trunc")),
    # elementwise ops with two arguments
    *(point(name, [1.0, 2.0], [1.0, 3.0]) for name in ("maximum", "minimum")),
    *(point(name, [nan, 1.0, nan], [1.0, nan, nan]) for name in ("maximum", "minimum")),
    *(point(name, [0.0, -0.0], [-0.0, 0.0]) for name in ("maximum", "minimum")),
    *(point(name, [2.0], note="x, x", f=lambda xp, x, n=name: getattr(xp, n)(x, x), second=True)
      for name in ("maximum", "minimum", "hypot", "logaddexp")),
    point("pow", [0.0], [0.0]),
    point("pow", [2.0, -2.0, 0.0], [0.0, 0.0, 1.0]),
    point("pow", [0.0], [2.0]),
    point("pow", [0.0], [0.5]),
    point("pow", [0.0], [-1.0]),
    point("pow", [-2.0], [3.0]),
    point("pow", [0.0, 2.0], note="x ** 0", f=lambda xp, x: x**0, second=True),
    point("pow", [0.0, 2.0], note="x ** 0.0", f=lambda xp, x: x**0.0, second=True),
    point("pow", [0.0, -2.0], note="x ** 1", f=lambda xp, x: x**1, second=True),
    point("pow", [0.0, -2.0], note="x ** 2", f=lambda xp, x: x**2, second=True),
    point("pow", [0.0, -2.0], note="x ** 3", f=lambda xp, x: x**3, second=True),
    point("pow", [0.0], note="x ** 0.5", f=lambda xp, x: x**0.5),
    point("pow", [1.0, 2.0], note="0 ** x", f=lambda xp, x: 0.0**x, second=True),
    point("pow", [0.5, -1.0], note="2 ** x", f=lambda xp, x: 2.0**x, second=True),
    point("pow", [0j], [2 + 0j]),
    point("pow", [0j, 1 + 1j], note="x ** 2", f=lambda xp, x: x**2, second=True),
    point("divide", [0.0, 1.0], [0.0, 0.0]),
    point("divide", [1.0], [inf]),
    point("multiply", [0.0, inf], [inf, 0.0]),
    point("hypot", [0.0], [0.0]),
    point("hypot", [3.0, 0.0], [0.0, -2.0]),
    point("hypot", [1e200], [1e200]),
    point("atan2", [0.0], [0.0]),
    point("atan2", [0.0, 1.0, 1e200], [2.0, 0.0, 1e200]),
    point("logaddexp", [0.0, 1000.0, -inf], [0.0, 0.0, 0.0]),
    point("logaddexp", [-inf, inf], [-inf, 0.0]),
    point("remainder", [6.0], [3.0]),
    point("remainder", [5.0, -5.0, 5.0, -5.0], [3.0, 3.0, -3.0, -3.0], second=True),
    point("floor_divide", [5.0, -5.0], [3.0, 3.0], second=True),
    point("floor_divide", [6.0], [3.0]),
    point("copysign", [0.0, -0.0], [1.0, -1.0]),
    point("copysign", [2.0, -3.0], [-1.0, 1.0], second=True),
    point("nextafter", [1.0, 2.0], [2.0, 2.0]),
    point("clip", [-1.0, 0.0, 0.5, 1.0, 2.0], f=lambda xp, x: xp.clip(x, 0.0, 1.0)),
    point("clip", [0.0, 1.0, 2.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]),
    point("clip", [0.0, 2.0, 4.0], [3.0, 3.0, 3.0], [1.0, 1.0, 1.0], note="min > max"),
    # ops that select elements
    point("where", [0.0, 4.0], note="sqrt, not taken at 0", f=untaken(lambda xp, x: xp.sqrt(x))),
    point("where", [0.0, 4.0], note="log, not taken at 0", f=untaken(lambda xp, x: xp.log(x))),
    point("where", [0.0, 4.0], note="1 / x, not taken at 0", f=untaken(lambda xp, x: 1.0 / x)),
    point("where", [0.0, 2.0], note="x < 1 ? x : sqrt(x)",
          f=lambda xp, x: xp.where(x < 1.0, x, xp.sqrt(x))),
    point("getitem", [0.0, 4.0], note="sqrt, the other taken", f=lambda xp, x: xp.sqrt(x)[1:]),
    point("maximum", [0.0], note="sqrt(x), 1", f=lambda xp, x: xp.maximum(xp.sqrt(x), x + 1.0)),
    point("setitem", [0.0, 4.0], [1.0], note="sqrt(x) overwritten at 0",
          f=lambda xp, x, v: xp.written(xp.sqrt(x), slice(0, 1), v)),
    point("setitem", [1.0, 2.0, 3.0], [4.0, 5.0, 6.0], note="written twice",
          f=lambda xp, x, v: xp.written(x, (np.asarray([0, 0, 2]),), v)),
    point("sqrt", [0.0], note="sqrt(x) ** 2", f=lambda xp, x: xp.sqrt(x) ** 2),
    point("take", [1.0, 2.0, 3.0], note="repeated", second=True,
          f=lambda xp, x: xp.take(x, xp.asarray(np.asarray([0, 0, 2])), axis=0)),
    # reductions
    *(point(name, [1.0, 3.0, 3.0]) for name in ("max", "min")),
    *(point(name, [[2.0, 2.0], [2.0, 2.0]]) for name in ("max", "min")),
    *(point(name, [[2.0, 1.0], [2.0, 1.0]], axis=0) for name in ("max", "min")),
    *(point(name, [1.0, nan, 3.0]) for name in ("max", "min")),
    *(point("prod", x, second=True) for x in ([2.0, 0.0, 3.0], [0.0, 0.0, 3.0], [0.0, 0.0, 0.0])),
    *(point("cumulative_prod", x, second=True)
      for x in ([2.0, 0.0, 3.0], [0.0, 0.0, 3.0], [0.0, 0.0, 0.0])),
    point("prod", [0j, 1 + 1j, 2j], second=True),
    point("std", [2.0, 2.0, 2.0]),
    point("std", [2.0]),
    point("std", [1.0, 3.0], correction=2.0),
    point("var", [2.0, 2.0, 2.0], second=True),
    point("var", [1.0, 3.0], correction=2.0),
    point("mean", [inf, 1.0]),
    # ops that sort
    point("sort", TIES),
    point("sort", TIES, descending=True),
    point("sort", [nan, 1.0, 0.0]),
    point("median", TIES),
    point("median", [1.0, 2.0, 2.0]),
    point("unique_values", TIES),
    # norms and matrices
    *(point("linalg.vector_norm", [0.0, 0.0], ord=order) for order in (2, 1, inf, -inf, 3, 0.5, 0)),
    *(point("linalg.vector_norm", [0.0, 2.0], ord=order) for order in (2, 1, inf, -inf, 3, 0.5, 0, -1)),
    point("linalg.vector_norm", [2.0, -2.0, 1.0], ord=inf),
    point("linalg.vector_norm", [0j, 0j]),
    point("linalg.vector_norm", [0.0, 0.0], note="squared",
          f=lambda xp, x: xp.linalg.vector_norm(x) ** 2),
    *(point("linalg.matrix_norm", np.zeros((2, 2)), ord=order)
      for order in ("fro", "nuc", 2, 1, inf)),
    *(point("linalg.matrix_norm", EYE, ord=order) for order in ("nuc", 2, -2, 1, inf)),
    point("linalg.matrix_norm", SINGULAR, ord="nuc"),
    *(point("linalg.det", x, second=True)
      for x in (EYE, SINGULAR, np.diag([0.0, 0.0, 2.0]), np.zeros((3, 3)))),
    point("linalg.slogdet", SINGULAR * 0.0),
    point("linalg.slogdet", np.diag([-1.0, 2.0, 3.0])),
    point("linalg.inv", EYE, second=True),
    point("linalg.pinv", np.diag([2.0, 1.0, 0.0])),
    point("linalg.pinv", EYE, second=True),
    point("linalg.svdvals", EYE, f=lambda xp, x: xp.sum(xp.linalg.svdvals(x))),
    point("linalg.svdvals", np.zeros((2, 2)), f=lambda xp, x: xp.sum(xp.linalg.svdvals(x))),
    *(point("linalg.svd", x, note="U S Vh", second=x is not ONES,
            f=lambda xp, x: product(xp.linalg.svd(x, full_matrices=False)))
      for x in (EYE, TWICE, ONES, np.ones((3, 2)))),
    point("linalg.svd", TWICE, note="S ** 2", second=True,
          f=lambda xp, x: xp.sum(xp.linalg.svd(x, full_matrices=False)[1] ** 2)),
    *(point("linalg.eigvalsh", x, note="sum of cubes", second=True,
            f=lambda xp, x: xp.sum(xp.linalg.eigvalsh((x + x.mT) / 2.0) ** 3)) for x in (EYE, TWICE)),
    *(point("linalg.eigh", x, note="V exp(D) Vh", second=True,
            f=lambda xp, x: of_eigh(xp, xp.linalg.eigh((x + x.mT) / 2.0))[1]) for x in (EYE, TWICE)),
    point("linalg.eigvalsh", TWICE + np.diag([0.0, 1.0, 2.0]), note="one triangle read"),
    point("linalg.eigvals", EYE, note="sum of exp",
          f=lambda xp, x: of_eigvals(xp, xp.linalg.eigvals(x))),
    point("linalg.cholesky", TWICE, note="symmetric as given"),
    point("linalg.qr", TWICE[:2, :]),
    point("linalg.matrix_power", np.zeros((2, 2)), second=True,
          f=lambda xp, x: xp.linalg.matrix_power(x, 2)),
)  # fmt: skip


def product(result: Any) -> Any:
    U, S, Vh = result
    return (U * S) @ Vh


def cases(only: str | None = None) -> Iterator[Case]:
    """Yield all cases, or those of one op: first on random inputs, then at special points."""
    for case in (*drawn(), *POINTS):
        if only in (None, case.op):
            yield case


def uncovered() -> list[str]:
    """Return the ops that have a derivative and no case."""
    return sorted(set(REGISTRY) - {case.op for case in cases()} - NO_DERIVATIVE)
