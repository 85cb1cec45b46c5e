"""Private functions of scipy.special, which scipy.stats calls to compute its distributions.

SciPy computes many of them with Boost, which accepts real numbers for counts, such as numbers of trials,
if the distribution is a smooth function of the count.  So there are derivatives with respect to counts,
too.  Quantiles that are whole numbers have no derivatives.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .._record.plan import Unknown
from ._cdfs import bdtr_by_k, bdtr_by_n, bdtr_by_p
from ._incomplete import PROBABILITY, SHAPE, beta_by_a, beta_by_b, beta_pdf, beta_quantile_rules
from ._rules import as_floats
from ._statement import POSITIVE, REAL, UNIT, special

if TYPE_CHECKING:
    from .._util.array_types import Namespace, RawArray
    from ._rules import Real

ROOT_2PI = math.sqrt(2.0 * math.pi)
SUCCESSES, TRIALS = (0.0, 5.0), (6.0, 12.0)

# --- beta ---------------------------------------------------------------------------------------------
_beta_pdf = special(
    "_beta_pdf", "x a b",
    lambda t, x, a, b, xp: t * xp.special.beta_density(0, 0, 1, a, b, x, 1 - x),
    lambda t, x, a, b, xp: t * xp.special.beta_density(1, 0, 0, a, b, x, 1 - x),
    lambda t, x, a, b, xp: t * xp.special.beta_density(0, 1, 0, a, b, x, 1 - x),
    domains=[UNIT, SHAPE, SHAPE], public=False, summary="The density of the beta distribution",
)  # fmt: skip


def beta_ppf_rules() -> list[Any]:
    """Return a list of the derivative rules of betaincinv for operands in the order p, a, b."""
    rules = beta_quantile_rules(1, lambda a, b, p, xp: xp.special.betainccinv(b, a, p))
    by_a, by_b, by_p = rules
    return [
        lambda t, p, a, b, y, xp: by_p(t, a, b, p, y, xp),
        lambda t, p, a, b, y, xp: by_a(t, a, b, p, y, xp),
        lambda t, p, a, b, y, xp: by_b(t, a, b, p, y, xp),
    ]


_beta_ppf = special(
    "_beta_ppf", "p a b", *beta_ppf_rules(), domains=[PROBABILITY, SHAPE, SHAPE], public=False,
    summary="The quantile of the beta distribution",
)  # fmt: skip


# --- binomial distribution of real k and n ------------------------------------------------------------
def binomial_derivative(i: int, j: int, m: int, k: Real, n: Real, p: Real, xp: Namespace) -> Any:
    """Return a derivative of the beta density with the shapes k + 1 and n - k + 1 at p.

    The density is n + 1 times the probability of k successes in n trials, each of which succeeds with
    the probability p.

    i, j, m : the orders of the derivative in the first shape, the second shape, and p.
    """
    return xp.special.beta_density(i, j, m, k + 1, n - k + 1, p, 1 - p)


_binom_pmf = special(
    "_binom_pmf", "k n p",
    lambda t, k, n, p, xp: (
        t * (binomial_derivative(1, 0, 0, k, n, p, xp) - binomial_derivative(0, 1, 0, k, n, p, xp))
        / (n + 1)
    ),
    lambda t, k, n, p, y, xp: t * (binomial_derivative(0, 1, 0, k, n, p, xp) - y) / (n + 1),
    lambda t, k, n, p, xp: t * binomial_derivative(0, 0, 1, k, n, p, xp) / (n + 1),
    domains=[SUCCESSES, TRIALS, UNIT], public=False,
    summary="The probability of k successes in n trials, of real k and n", source="DLMF 8.17.5",
)  # fmt: skip


def state_binomial(name: str, sign: int, how_many: str) -> None:
    """Register the op of the binomial cumulative function (sign 1) or survival function (sign -1)."""
    special(
        name, "k n p",
        lambda t, k, n, p, xp: sign * t * bdtr_by_k(k, n, p, xp),
        lambda t, k, n, p, xp: sign * t * bdtr_by_n(k, n, p, xp),
        lambda t, k, n, p, xp: sign * t * bdtr_by_p(k, n, p, xp),
        domains=[SUCCESSES, TRIALS, UNIT], public=False, source="DLMF 8.17.5",
        summary=f"The probability of {how_many} k successes in n trials, of real k and n",
    )  # fmt: skip


state_binomial("_binom_cdf", 1, "at most")
state_binomial("_binom_sf", -1, "more than")


# --- negative binomial distribution of real k and r ---------------------------------------------------
_nbinom_pmf = special(
    "_nbinom_pmf", "k r p",
    lambda t, k, r, p, y, xp: (
        t * (p * xp.special.beta_density(0, 1, 0, r, k + 1, p, 1 - p) - y) / (r + k)
    ),
    lambda t, k, r, p, y, xp: (
        t * (p * xp.special.beta_density(1, 0, 0, r, k + 1, p, 1 - p) - y) / (r + k)
    ),
    lambda t, k, r, p, xp: (
        t * (p * xp.special.beta_density(0, 0, 1, r, k + 1, p, 1 - p)
             + xp.special.beta_density(0, 0, 0, r, k + 1, p, 1 - p)) / (r + k)
    ),
    domains=[SUCCESSES, SHAPE, UNIT], public=False,
    summary="The probability of k failures before r successes, of real k and r",
)  # fmt: skip


def state_negative_binomial(name: str, sign: int, how_many: str) -> None:
    """Register the op of the negative binomial cumulative (sign 1) or survival function (sign -1)."""
    special(
        name, "k r p",
        lambda t, k, r, p, xp: sign * t * beta_by_b(r, k + 1, p, 1 - p, xp),
        lambda t, k, r, p, xp: sign * t * beta_by_a(r, k + 1, p, 1 - p, xp),
        lambda t, k, r, p, xp: sign * t * beta_pdf(r, k + 1, p, 1 - p, xp),
        domains=[SUCCESSES, SHAPE, UNIT], public=False, source="DLMF 8.17.24",
        summary=f"The probability of {how_many} k failures before r successes, of real k and r",
    )  # fmt: skip


state_negative_binomial("_nbinom_cdf", 1, "at most")
state_negative_binomial("_nbinom_sf", -1, "more than")
_nbinom_mean = special(
    "_nbinom_mean", "r p", lambda t, p: t * (1 - p) / p, lambda t, r, p: -t * r / (p * p),
    domains=[SHAPE, UNIT], public=False, summary="The negative binomial distribution's mean",
)  # fmt: skip
_nbinom_variance = special(
    "_nbinom_variance", "r p",
    lambda t, p: t * (1 - p) / (p * p),
    lambda t, r, p: -t * r * (2 - p) / (p * p * p),
    domains=[SHAPE, UNIT], public=False, summary="The negative binomial distribution's variance",
)  # fmt: skip
_nbinom_skewness = special(
    "_nbinom_skewness", "r p",
    lambda t, r, y: -t * y / (2 * r),
    lambda t, p, y: t * y * p / (2 * (1 - p) * (2 - p)),
    domains=[SHAPE, UNIT], public=False, summary="The negative binomial distribution's skewness",
)  # fmt: skip
_nbinom_kurtosis_excess = special(
    "_nbinom_kurtosis_excess", "r p",
    lambda t, r, y: -t * y / r,
    lambda t, r, p: t * p * (2 - p) / (r * (1 - p) * (1 - p)),
    domains=[SHAPE, UNIT], public=False,
    summary="The negative binomial distribution's excess kurtosis",
)  # fmt: skip

# --- functions of counts, without derivatives ---------------------------------------------------------
for _name, _inputs in {
    "_binom_ppf": "q n p", "_binom_isf": "q n p", "_nbinom_ppf": "q r p", "_nbinom_isf": "q r p",
}.items():  # fmt: skip
    special(
        _name, _inputs, None, None, None, domains=[PROBABILITY, TRIALS, UNIT], public=False,
        integers=_inputs.split()[1], summary="A quantile that is a whole number",
    )  # fmt: skip
for _name in ("pmf", "cdf", "sf"):
    special(
        f"_hypergeom_{_name}", "k n N M", None, None, None, None, public=False,
        domains=[(0, 4), (5, 9), (5, 9), (20, 30)], integers="k n N M",
        summary="A function of the hypergeometric distribution, whose arguments are counts",
    )  # fmt: skip
for _name in ("mean", "variance", "skewness"):
    special(
        f"_hypergeom_{_name}", "n N M", None, None, None, public=False,
        domains=[(5, 9), (5, 9), (20, 30)], integers="n N M",
        summary="A moment of the hypergeometric distribution, whose arguments are counts",
    )  # fmt: skip


# --- Cauchy and cosine --------------------------------------------------------------------------------
def z_score(loc: Real, scale: Real, x: Real) -> Any:
    """Return (x - loc) / scale, for the location and the scale of a distribution."""
    return (x - loc) / scale


def cauchy_rules(sign: int) -> list[Any]:
    """Return the derivative rules of a Cauchy quantile in a list, one for each operand.

    sign : 1 for the inverse of the cumulative function, -1 for that of the survival function.
    """

    def quantile(t: RawArray, p: Real, xp: Namespace) -> Any:
        return -sign / xp.tan(math.pi * as_floats(p, t, xp))

    def by_p(t: RawArray, p: Real, scale: Real, xp: Namespace) -> Any:
        return sign * math.pi * t * scale * (1 + quantile(t, p, xp) ** 2)

    return [by_p, lambda t: t, lambda t, p, xp: t * quantile(t, p, xp)]


_cauchy_ppf = special(
    "_cauchy_ppf", "p loc scale", *cauchy_rules(1), domains=[PROBABILITY, REAL, POSITIVE],
    public=False, summary="The quantile of the Cauchy distribution",
)  # fmt: skip
_cauchy_isf = special(
    "_cauchy_isf", "p loc scale", *cauchy_rules(-1), domains=[PROBABILITY, REAL, POSITIVE],
    public=False, summary="The inverse of the Cauchy distribution's survival function",
)  # fmt: skip
_cosine_cdf = special(
    "_cosine_cdf", "x",
    lambda t, x, xp: t * xp.where(xp.abs(x) < math.pi, xp.cos(x / 2) ** 2 / math.pi, 0.0),
    domains=[(-3.0, 3.0)], public=False,
    summary="The cumulative function of the cosine distribution",
)  # fmt: skip
_cosine_invcdf = special(
    "_cosine_invcdf", "p", lambda t, y, xp: math.pi * t / xp.cos(y / 2) ** 2,
    domains=[PROBABILITY], public=False, summary="The quantile of the cosine distribution",
)  # fmt: skip


# --- inverse Gaussian ---------------------------------------------------------------------------------
def inverse_gauss_by_mean(mu: Real, scale: Real, y: RawArray, xp: Namespace) -> Any:
    """Return the derivative of the inverse Gaussian quantile y with respect to the mean mu.

    It is -F_mu / F_x at y, where F is the cumulative function.  The exponentials in F_mu and F_x cancel,
    so the formula has none.
    """
    mills = xp.special.erfcx(xp.sqrt(0.5 * scale / y) * (y / mu + 1))
    return (math.sqrt(2.0 * math.pi) * scale / (mu * mu)) * mills * xp.sqrt(y * y * y / scale)


def inverse_gauss_rules(sign: int) -> list[Any]:
    """Return the derivative rules of an inverse Gaussian quantile in a list, one for each operand.

    sign : 1 for the inverse of the cumulative function, -1 for that of the survival function.

    The rule for ``scale`` follows from Euler's relation, because the quantile is a homogeneous function
    of degree 1 of scale and mean.
    """

    def by_p(t: RawArray, mu: Real, scale: Real, y: RawArray, xp: Namespace) -> Any:
        power = 0.5 * scale * (y / mu - 1) ** 2 / y
        return sign * ROOT_2PI * t * xp.sqrt(y * y * y / scale) * xp.exp(power)

    def by_scale(t: RawArray, mu: Real, scale: Real, y: RawArray, xp: Namespace) -> Any:
        return t * (y - mu * inverse_gauss_by_mean(mu, scale, y, xp)) / scale

    def by_mu(t: RawArray, mu: Real, scale: Real, y: RawArray, xp: Namespace) -> Any:
        return t * inverse_gauss_by_mean(mu, scale, y, xp)

    return [by_p, by_mu, by_scale]


_invgauss_ppf = special(
    "_invgauss_ppf", "p mu scale", *inverse_gauss_rules(1),
    domains=[PROBABILITY, POSITIVE, POSITIVE], public=False,
    summary="The quantile of the inverse Gaussian distribution",
)  # fmt: skip
_invgauss_isf = special(
    "_invgauss_isf", "p mu scale", *inverse_gauss_rules(-1),
    domains=[PROBABILITY, POSITIVE, POSITIVE], public=False,
    summary="The inverse of the inverse Gaussian distribution's survival function",
)  # fmt: skip


# --- skew normal --------------------------------------------------------------------------------------
def skew_normal_pdf(t: RawArray, z: Real, alpha: Real, xp: Namespace) -> Any:
    """Return the skew normal density at z.  An integer z is converted to the dtype of the tangent t."""
    z = as_floats(z, t, xp)
    return 2.0 * xp.exp(-0.5 * z * z) * xp.special.ndtr(alpha * z) / ROOT_2PI


def skew_normal_by_shape(t: RawArray, z: Real, alpha: Real, xp: Namespace) -> Any:
    """Return the derivative of the skew normal cumulative function in alpha.  Source: Owen 1956."""
    spread = 1 + alpha * alpha
    return -xp.exp(-0.5 * as_floats(z, t, xp) ** 2 * spread) / (math.pi * spread)


def skew_normal_quantile_rules(sign: int) -> list[Any]:
    """Return the derivative rules of a skew normal quantile in a list, one for each operand.

    sign : 1 for the inverse of the cumulative function, -1 for that of the survival function.
    """

    def by_p(t: RawArray, loc: Real, scale: Real, alpha: Real, y: RawArray, xp: Namespace) -> Any:
        return sign * t * scale / skew_normal_pdf(t, z_score(loc, scale, y), alpha, xp)

    def by_shape(
        t: RawArray, loc: Real, scale: Real, alpha: Real, y: RawArray, xp: Namespace
    ) -> Any:
        z = z_score(loc, scale, y)
        slope = skew_normal_by_shape(t, z, alpha, xp)
        return -t * scale * slope / skew_normal_pdf(t, z, alpha, xp)

    return [by_p, lambda t: t, lambda t, loc, scale, y: t * z_score(loc, scale, y), by_shape]


_skewnorm_cdf = special(
    "_skewnorm_cdf", "x loc scale alpha",
    lambda t, x, loc, scale, alpha, xp: (
        t * skew_normal_pdf(t, z_score(loc, scale, x), alpha, xp) / scale
    ),
    lambda t, x, loc, scale, alpha, xp: (
        -t * skew_normal_pdf(t, z_score(loc, scale, x), alpha, xp) / scale
    ),
    lambda t, x, loc, scale, alpha, xp: (
        -t * z_score(loc, scale, x) * skew_normal_pdf(t, z_score(loc, scale, x), alpha, xp) / scale
    ),
    lambda t, x, loc, scale, alpha, xp: (
        t * skew_normal_by_shape(t, z_score(loc, scale, x), alpha, xp)
    ),
    domains=[REAL, (-1.0, 1.0), POSITIVE, (-3.0, 3.0)], public=False,
    summary="The cumulative function of the skew normal distribution",
)  # fmt: skip
_skewnorm_ppf = special(
    "_skewnorm_ppf", "p loc scale alpha", *skew_normal_quantile_rules(1),
    domains=[PROBABILITY, (-1.0, 1.0), POSITIVE, (-3.0, 3.0)], public=False,
    summary="The quantile of the skew normal distribution",
)  # fmt: skip
_skewnorm_isf = special(
    "_skewnorm_isf", "p loc scale alpha", *skew_normal_quantile_rules(-1),
    domains=[PROBABILITY, (-1.0, 1.0), POSITIVE, (-3.0, 3.0)], public=False,
    summary="The inverse of the skew normal distribution's survival function",
)  # fmt: skip


# --- Landau -------------------------------------------------------------------------------------------
NO_SLOPE = Unknown(
    "the derivative of Landau's density is an integral of its own, which is not implemented"
)
OF_SCALE = Unknown(
    "Landau's distribution is stable with the exponent 1, so that a change of the scale shifts it, too: "
    "standardize the data, as scipy.stats does"
)
_landau_pdf = special(
    "_landau_pdf", "x loc scale", NO_SLOPE, NO_SLOPE, OF_SCALE,
    domains=[REAL, REAL, POSITIVE], public=False, summary="The density of Landau's distribution",
)  # fmt: skip


def state_landau(sign: int, function: str, inverse: str) -> None:
    """Register Landau's cumulative (sign 1) or survival function (sign -1), and its inverse, as ops."""
    special(
        function, "x loc scale",
        lambda t, x, loc, scale, xp: sign * t * xp.special._landau_pdf(x, loc, scale),
        lambda t, x, loc, scale, xp: -sign * t * xp.special._landau_pdf(x, loc, scale),
        OF_SCALE, domains=[REAL, REAL, POSITIVE], public=False,
        summary=f"Landau's distribution: ``{function}``",
    )  # fmt: skip
    special(
        inverse, "p loc scale",
        lambda t, loc, scale, y, xp: sign * t / xp.special._landau_pdf(y, loc, scale),
        lambda t: t, OF_SCALE, domains=[PROBABILITY, REAL, POSITIVE], public=False,
        summary=f"The x at which {function} is p",
    )  # fmt: skip


state_landau(1, "_landau_cdf", "_landau_ppf")
state_landau(-1, "_landau_sf", "_landau_isf")


# --- moments of the noncentral distributions ----------------------------------------------------------
def nct_mean_by_df(df: Real, xp: Namespace) -> Any:
    """Return the derivative in df of the logarithm of the mean of the noncentral t distribution."""
    return 0.5 * (1 / df + xp.special.digamma(0.5 * (df - 1)) - xp.special.digamma(0.5 * df))


def nct_unit_mean(t: RawArray, df: Real, xp: Namespace) -> Any:
    """Return the mean of the noncentral t distribution of noncentrality 1, in the dtype of t."""
    df = as_floats(df, t, xp)
    return xp.sqrt(0.5 * df) * xp.special.poch(0.5 * df, -0.5)


FREEDOM, NC = (5.0, 9.0), (0.3, 3.0)
_nct_mean = special(
    "_nct_mean", "df nc",
    lambda t, df, y, xp: t * y * nct_mean_by_df(df, xp),
    lambda t, df, xp: t * nct_unit_mean(t, df, xp),
    domains=[FREEDOM, NC], public=False, summary="The mean of the noncentral t distribution",
)  # fmt: skip
_nct_variance = special(
    "_nct_variance", "df nc",
    lambda t, df, nc, xp: -2 * t * (
        (1 + nc * nc) / ((df - 2) * (df - 2))
        + xp.special._nct_mean(df, nc) ** 2 * nct_mean_by_df(df, xp)
    ),
    lambda t, df, nc, xp: 2 * t * nc * (df / (df - 2) - nct_unit_mean(t, df, xp) ** 2),
    domains=[FREEDOM, NC], public=False, summary="The variance of the noncentral t distribution",
)  # fmt: skip
_ncf_mean = special(
    "_ncf_mean", "dfn dfd nc",
    lambda t, dfn, dfd, nc: -t * dfd * nc / (dfn * dfn * (dfd - 2)),
    lambda t, dfn, dfd, nc: -2 * t * (dfn + nc) / (dfn * (dfd - 2) * (dfd - 2)),
    lambda t, dfn, dfd: t * dfd / (dfn * (dfd - 2)),
    domains=[FREEDOM, FREEDOM, NC], public=False,
    summary="The mean of the noncentral F distribution",
)  # fmt: skip
NOT_BUILT = Unknown("only the mean of F and the mean and variance of t have derivatives")
for _name, _inputs in {
    "_nct_skewness": "df nc", "_nct_kurtosis_excess": "df nc", "_ncf_variance": "dfn dfd nc",
    "_ncf_skewness": "dfn dfd nc", "_ncf_kurtosis_excess": "dfn dfd nc",
}.items():  # fmt: skip
    _count = len(_inputs.split())
    special(
        _name, _inputs, *[NOT_BUILT] * _count, domains=[*[(10.0, 14.0)] * (_count - 1), NC],
        public=False, summary="A moment of a noncentral distribution",
    )  # fmt: skip
