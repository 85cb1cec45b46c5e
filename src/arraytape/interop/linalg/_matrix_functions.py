"""Differentiate functions of square matrices in scipy.linalg, such as expm and sqrtm.

SciPy computes the value.  The derivative along a direction e is a block of the same function of a block
matrix:

    f([[a, e], [0, a]]) = [[f(a), derivative of f at a along e], [0, f(a)]]

Source: Mathias 1996, "A chain rule for matrix functions and applications".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._util.array_types import Namespace, RawArray
from ...ops._factorisations import adjoint
from .._ops import LibraryOp
from .._plain import ArrayInput, Cotangents
from .._recorded import function_op, operand_of, recorded_function
from .._statements import hooks


def derivative_along(
    function: Callable[[Any], Any], a: RawArray, direction: RawArray, xp: Namespace
) -> Any:
    """Return the derivative of a function of matrices at the matrix ``a`` along a direction."""
    n = a.shape[-1]
    upper = xp.concat([a + 0.0 * direction, direction], axis=-1)
    lower = xp.concat([xp.zeros_like(direction), a + 0.0 * direction], axis=-1)
    return function(xp.concat([upper, lower], axis=-2))[..., :n, n:]


def transposed_derivative(
    function: Callable[[Any], Any], g: RawArray, a: RawArray, xp: Namespace
) -> Any:
    """Return the cotangent of the matrix ``a``, given the cotangent g of ``function(a)``.

    The cotangent is D^H, where D is the derivative of ``function`` at a along the direction g^H.  The
    derivative is not taken at a^H, because ``function`` could be on another branch there.
    """
    return adjoint(derivative_along(function, a, adjoint(g, xp), xp), xp)


def function_of_matrices(name: str, cores: list[int] | None) -> LibraryOp:
    """Define the op of a function of scipy.linalg of one matrix, such as "expm", and make SciPy call it.

    cores : the number of last axes that make one matrix, [2], if SciPy accepts stacks of matrices; else
    None.
    """

    def matrix_function_rule(g: RawArray, A: RawArray, xp: Namespace) -> Any:
        return transposed_derivative(op, g, A, xp)

    op = recorded_function(f"scipy.linalg.{name}", matrix_function_rule, arrays=["A"], cores=cores)
    return op


NAMES = (
    "coshm", "cosm", "expm", "logm", "signm", "sinhm", "sinm", "sqrtm", "tanhm", "tanm",
)  # fmt: skip
OPS = {name: function_of_matrices(name, [2]) for name in NAMES}


def power_rule(g: RawArray, A: RawArray, t: float, xp: Namespace) -> Any:
    return transposed_derivative(lambda x: power_op(x, t=t), g, A, xp)


power_op = recorded_function(
    "scipy.linalg.fractional_matrix_power", power_rule, arrays=["A"], options=["t"], cores=[2]
)


@hooks("scipy.linalg", "expm_frechet")
def expm_frechet(
    A: ArrayInput, E: ArrayInput, method: str | None = None, compute_expm: bool = True,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    found = frechet_op(operand_of(A), operand_of(E), method=method, check_finite=check_finite)
    return tuple(found) if compute_expm else found[1]


def frechet_joint(g: Cotangents, A: RawArray, E: RawArray, xp: Namespace) -> Any:
    """Return the cotangents of A and E for ``expm_frechet``, given those of its two results, g.

    The results are expm(A) and its derivative along E, which are blocks of expm([[A, E], [0, A]]).
    """
    to_value, to_slope = g
    n = A.shape[-1]
    zero = xp.zeros_like(A)
    block = xp.concat([xp.concat([A, E], axis=-1), xp.concat([zero, A], axis=-1)], axis=-2)
    to_value = zero if to_value is None else to_value
    to_slope = xp.zeros_like(E) if to_slope is None else to_slope
    pull = xp.concat([to_value, to_slope], axis=-1)
    pull = xp.concat([pull, xp.zeros_like(pull)], axis=-2)
    back = transposed_derivative(OPS["expm"], pull, block, xp)
    return back[..., :n, :n] + back[..., n:, n:], back[..., :n, n:]


frechet_op = function_op(
    "scipy.linalg.expm_frechet", arrays=["A", "E"], options=["method"], joint=frechet_joint,
    outputs=("value", "slope"), cores=[2, 2],
)  # fmt: skip
