"""Mathieu and spheroidal wave functions, differentiable with respect to the argument.

Each function of SciPy returns a value and its derivative.  The derivative of the latter, a second
derivative, comes from the differential equation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .._record.plan import Rule, Unknown
from ._several import special_tuple
from ._statement import special

if TYPE_CHECKING:
    from .._util.array_types import Namespace, RawArray
    from ._rules import Real

PARAMETER = Unknown(
    "no closed form of the derivative with respect to a parameter of Mathieu functions is known"
)
SECOND_KIND = Unknown(
    "SciPy's obl_rad2 and its derivative are wrong or undefined in parts of their domain"
)
INEXACT = Unknown(
    "in parts of its domain SciPy's pro_rad2 does not solve the equation that yields the derivative"
)
SPHEROIDAL = Unknown(
    "no closed form of the derivative with respect to a parameter of spheroidal functions is known"
)
ORDERS, STRENGTHS = (1, 5), (0.2, 5.0)
DEGREE = math.pi / 180  # Mathieu functions have arguments in degrees, modified ones in radians
FUNCTIONS: dict[str, Callable[..., Any]] = {}


def mathieu(name: str, value: str, *, modified: bool) -> None:
    """Register the ops of a Mathieu function y(m, q, x) and of its derivative yp.

    y'' is (2 q cos(2 x) - a) y, or for modified functions (a - 2 q cosh(2 x)) y (DLMF 28.2.1, 28.20.1).

    name : SciPy's name.  value : the name of SciPy's function that returns the characteristic value a,
    given m and q.
    """
    scale = 1.0 if modified else DEGREE

    def curvature_ratio(m: Real, q: Real, x: Real, xp: Namespace) -> Any:
        """Return y'' / y for the Mathieu function y, from its differential equation."""
        a = getattr(xp.special, value)(m, q)
        if modified:
            return a - 2 * q * xp.cosh(2 * x)
        return 2 * q * xp.cos(2 * DEGREE * x) - a

    def rule_of_y(t: RawArray, m: Real, q: Real, x: Real, xp: Namespace) -> Any:
        """Return the tangent of the function's value y(x) for the tangent t of x.

        The derivative is SciPy's second result yp, times pi / 180 where x is in degrees.
        """
        return t * scale * getattr(xp.special, f"{name}_yp")(m, q, x)

    def rule_of_yp(t: RawArray, m: Real, q: Real, x: Real, xp: Namespace) -> Any:
        """Return ``t`` times the derivative of yp, which is y'' from the differential equation, times
        pi / 180 where x is in degrees.
        """
        return t * scale * curvature_ratio(m, q, x, xp) * getattr(xp.special, f"{name}_y")(m, q, x)

    FUNCTIONS[name] = special_tuple(
        name, "m q x",
        {"y": [None, PARAMETER, rule_of_y], "yp": [None, PARAMETER, rule_of_yp]},
        summary="Mathieu function and its derivative", integers="m",
        domains=[ORDERS, STRENGTHS, (0.2, 1.5) if modified else (5.0, 80.0)], source="DLMF 28.2.1",
    )  # fmt: skip


for _kind, _value in (("ce", "mathieu_a"), ("se", "mathieu_b")):
    mathieu(f"mathieu_{_kind}m", _value, modified=False)
    mathieu(f"mathieu_mod{_kind}m1", _value, modified=True)
    mathieu(f"mathieu_mod{_kind}m2", _value, modified=True)

special(
    "mathieu_a", "m q", None, PARAMETER, domains=[ORDERS, STRENGTHS], integers="m",
    summary="Characteristic value of even Mathieu functions",
)  # fmt: skip
special(
    "mathieu_b", "m q", None, PARAMETER, domains=[ORDERS, STRENGTHS], integers="m",
    summary="Characteristic value of odd Mathieu functions",
)  # fmt: skip


# --- spheroidal -------------------------------------------------------------------------------------
def prolate(m: Real, c: Real, cv: Real, x: Real, s: RawArray, sp: RawArray) -> Any:
    """Return S'' of an angular or radial prolate spheroidal function, given s = S and sp = S'.

    m : the order.  c : the parameter.  cv : the characteristic value.
    With w = 1 - x ** 2 the equation is ``w S'' - 2 x S' + (cv - (c x) ** 2 - m ** 2 / w) S = 0``.
    Source: DLMF 30.2.1, 30.11.1.
    """
    w = 1 - x * x
    return (2 * x * sp - (cv - (c * x) ** 2 - m * m / w) * s) / w


def oblate_angular(m: Real, c: Real, cv: Real, x: Real, s: RawArray, sp: RawArray) -> Any:
    """Return S'' of an angular oblate spheroidal function, given s = S and sp = S'.

    The differential equation is that of the prolate function, with -c ** 2 for c ** 2.
    """
    w = 1 - x * x
    return (2 * x * sp - (cv + (c * x) ** 2 - m * m / w) * s) / w


def oblate_radial(m: Real, c: Real, cv: Real, x: Real, s: RawArray, sp: RawArray) -> Any:
    """Return S'' of a radial oblate spheroidal function, given s = S and sp = S'.

    The differential equation is that of the angular function, at i x in place of x.
    """
    w = 1 + x * x
    return ((cv - (c * x) ** 2 - m * m / w) * s - 2 * x * sp) / w


def spheroidal(
    name: str, value: str, equation: Callable[..., Any], places: tuple[float, float]
) -> None:
    """Register four ops: a spheroidal function s and its derivative sp, each with and without cv.

    The operand cv is the characteristic value, which SciPy otherwise computes from m, n and c.

    name : SciPy's name.  value : the name of the function of m, n and c that returns cv, for ops without
    this operand.  equation : a function that returns the second derivative.  places : the interval from
    which tests draw x.
    """

    def slope_of_s(t: RawArray, m: Real, n: Real, c: Real, x: Real, xp: Namespace) -> Any:
        """Return ``t`` times the derivative of s with respect to x, ``sp``."""
        return t * getattr(xp.special, f"{name}_sp")(m, n, c, x)

    def slope_of_sp(t: RawArray, m: Real, n: Real, c: Real, x: Real, xp: Namespace) -> Any:
        """Return ``t`` times the derivative of sp, the derivative of s, by the differential equation."""
        cv = getattr(xp.special, value)(m, n, c)
        s, sp = (getattr(xp.special, f"{name}_{part}")(m, n, c, x) for part in ("s", "sp"))
        return t * equation(m, c, cv, x, s, sp)

    def slope_of_s_given_cv(
        t: RawArray, m: Real, n: Real, c: Real, cv: Real, x: Real, xp: Namespace
    ) -> Any:
        """Return ``t`` times the derivative of s with respect to x, ``sp``."""
        return t * getattr(xp.special, f"{name}_cv_sp")(m, n, c, cv, x)

    def slope_of_sp_given_cv(
        t: RawArray, m: Real, n: Real, c: Real, cv: Real, x: Real, xp: Namespace
    ) -> Any:
        """Return ``t`` times the derivative of sp, by the differential equation; NaN where cv is no
        characteristic value, because there the function does not solve the equation.
        """
        s, sp = (getattr(xp.special, f"{name}_cv_{part}")(m, n, c, cv, x) for part in ("s", "sp"))
        own = getattr(xp.special, value)(m, n, c)
        solves = xp.abs(cv - own) <= 1e-6 * (1 + xp.abs(own))
        return t * xp.where(solves, equation(m, c, cv, x, s, sp), math.nan)

    rules: list[Rule | Unknown] = [
        slope_of_s,
        slope_of_sp,
        slope_of_s_given_cv,
        slope_of_sp_given_cv,
    ]
    if name == "obl_rad2":
        rules = [SECOND_KIND] * 4
    if name == "pro_rad2":
        rules[1] = rules[3] = INEXACT
    given, by = [None, None, SPHEROIDAL], [(0, 2), (2, 5), (0.5, 3.0)]
    FUNCTIONS[name] = special_tuple(
        name, "m n c x", {"s": [*given, rules[0]], "sp": [*given, rules[1]]},
        summary="Spheroidal wave function and its derivative", integers="m n", domains=[*by, places],
        source="DLMF 30.2.1",
    )  # fmt: skip
    FUNCTIONS[f"{name}_cv"] = special_tuple(
        f"{name}_cv", "m n c cv x",
        {"s": [*given, SPHEROIDAL, rules[2]], "sp": [*given, SPHEROIDAL, rules[3]]},
        summary="Spheroidal wave function of a characteristic value, and its derivative",
        integers="m n", domains=[*by, (2.0, 12.0), places], source="DLMF 30.2.1",
    )  # fmt: skip


for _name, _equation, _places in (
    ("pro_ang1", prolate, (-0.9, 0.9)), ("pro_rad1", prolate, (1.2, 3.0)),
    ("pro_rad2", prolate, (1.2, 3.0)), ("obl_ang1", oblate_angular, (-0.9, 0.9)),
    ("obl_rad1", oblate_radial, (0.2, 3.0)), ("obl_rad2", oblate_radial, (0.2, 3.0)),
):  # fmt: skip
    spheroidal(_name, f"{_name[:3]}_cv", _equation, _places)

special(
    "pro_cv", "m n c", None, None, SPHEROIDAL, domains=[(0, 2), (2, 5), (0.5, 3.0)], integers="m n",
    summary="Characteristic value of prolate spheroidal functions",
)  # fmt: skip
special(
    "obl_cv", "m n c", None, None, SPHEROIDAL, domains=[(0, 2), (2, 5), (0.5, 3.0)], integers="m n",
    summary="Characteristic value of oblate spheroidal functions",
)  # fmt: skip
