"""Calls of the SciPy functions that dispatch on Arrays, derived from SciPy's table and signatures.

A Call has a function and a Kind for each array operand: the interval of its values and the number of
its dimensions.  Options are drawn from ``OPTIONS`` by the parameters' names.  ``SAID`` has the
functions whose operands or options do not follow from the signature.
"""

from __future__ import annotations

import importlib
import inspect
from typing import Any, NamedTuple

REAL, POSITIVE, UNIT = (-2.0, 2.0), (0.2, 4.0), (0.05, 0.95)
MODULES = (
    "cluster.vq", "constants", "fft", "integrate", "linalg", "optimize", "signal", "special", "stats",
)  # fmt: skip
# The values of an option, by the name of the parameter.
OPTIONS: dict[str, tuple[Any, ...]] = {
    "alternative": ("two-sided", "less", "greater"),
    "axis": (0, 1, -1, None),
    "bias": (True, False),
    "center": ("median", "mean"),
    "correction": (False, True),
    "ddof": (0, 1),
    "dx": (1.0, 0.5),
    "equal_var": (True, False),
    "fisher": (True, False),
    "keepdims": (False, True),
    "nan_policy": ("propagate", "omit"),
    "norm": (None, "ortho", "forward"),
    "normalize": (True, False),
    "orthogonalize": (None,),
    "standardize": (True, False),
    "type": (1, 2, 3, 4),
}
# The names of parameters that are arrays, in the order in which they are drawn.
ARRAYS = (
    "a", "b", "x", "y", "samples", "sample", "values", "scores", "compare", "pk", "qk", "f_obs", "f_exp",
    "data", "rvs", "pvalues", "ps", "popmean", "mean1", "std1", "mean2", "std2", "weights", "obs",
    "code_book", "A", "B", "val", "lambda_", "nu", "in1", "in2", "p", "lmb",
)  # fmt: skip


class Kind(NamedTuple):
    """The values that an operand may have.

    interval : its values lie in it.  ndim : number of dimensions; None means one or two.
    whole : True if it has whole numbers.  constant : True if it has no derivative.
    """

    interval: tuple[float, float] = REAL
    ndim: int | None = None
    whole: bool = False
    constant: bool = False


class Call(NamedTuple):
    """A function to call on random operands.

    operands : operand's name -> Kind; the name "*" means three positional operands of this Kind.
    options : option's name -> the values to draw from.
    """

    name: str
    function: Any
    operands: dict[str, Kind]
    options: dict[str, tuple[Any, ...]]

    @property
    def by_position(self) -> bool:
        """Return True if operands are passed by position, as to ufuncs and to ``*samples``."""
        return "*" in self.operands or (not self.options and self.name.startswith("special."))


POS, PROB = Kind(POSITIVE), Kind(UNIT)
SCALAR = Kind(REAL, 0)
# Operands by name, and options, of functions whose signature does not tell them.
SAID: dict[str, tuple[dict[str, Kind], dict[str, tuple[Any, ...]]]] = {
    "stats.alexandergovern": ({"*": Kind()}, {}),
    "stats.bartlett": ({"*": Kind()}, {}),
    "stats.boxcox_llf": ({"lmb": SCALAR, "data": POS}, {}),
    "stats.yeojohnson_llf": ({"lmb": SCALAR, "data": Kind()}, {}),
    "stats.chisquare": ({"f_obs": POS}, {"sum_check": (False,)}),
    "stats.combine_pvalues": (
        {"pvalues": PROB},
        {"method": ("fisher", "pearson", "tippett", "stouffer", "mudholkar_george")},
    ),
    "stats.entropy": ({"pk": POS, "qk": POS}, {"base": (None, 2.0)}),
    "stats.f_oneway": ({"*": Kind()}, {}),
    "stats.fligner": ({"*": Kind()}, {}),
    "stats.friedmanchisquare": ({"*": Kind()}, {}),
    "stats.gmean": ({"a": POS, "weights": POS}, {}),
    "stats.gstd": ({"a": POS}, {"ddof": (1, 0)}),
    "stats.gzscore": ({"a": POS}, {}),
    "stats.hmean": ({"a": POS, "weights": POS}, {}),
    "stats.kruskal": ({"*": Kind()}, {}),
    "stats.kstat": ({"data": Kind()}, {"n": (1, 2, 3, 4)}),
    "stats.kstatvar": ({"data": Kind()}, {"n": (1, 2)}),
    "stats.levene": ({"*": Kind()}, {}),
    "stats.moment": ({"a": Kind()}, {"order": (0, 1, 2, 3, 4), "center": (None, 0.0, 0.5)}),
    "stats.pmean": ({"a": POS, "weights": POS}, {"p": (0, 1, -1, 2, 0.5, -1.5)}),
    "stats.power_divergence": (
        {"f_obs": POS},
        {"lambda_": (1, 0, -1, -2, 2 / 3, "cressie-read", "neyman", "freeman-tukey")},
    ),
    "stats.quantile": ({"x": Kind(), "p": PROB}, {"method": ("linear", "hazen", "harrell-davis")}),
    "stats.trim_mean": ({"a": Kind()}, {"proportiontocut": (0.0, 0.25)}),
    "stats.tmean": ({"a": Kind()}, {"limits": (None, (-1.0, 1.0))}),
    "stats.tvar": ({"a": Kind()}, {"limits": (None, (-1.0, 1.0))}),
    "stats.tstd": ({"a": Kind()}, {"limits": (None, (-1.0, 1.0)), "ddof": (1, 0)}),
    "stats.tsem": ({"a": Kind()}, {"limits": (None, (-1.0, 1.0)), "ddof": (1, 0)}),
    "stats.tmin": ({"a": Kind()}, {"lowerlimit": (None, -1.0)}),
    "stats.tmax": ({"a": Kind()}, {"upperlimit": (None, 1.0)}),
    "stats.ttest_1samp": ({"a": Kind(), "popmean": SCALAR}, {}),
    "stats.ttest_ind_from_stats": (
        {"mean1": SCALAR, "std1": Kind(POSITIVE, 0), "mean2": SCALAR, "std2": Kind(POSITIVE, 0)},
        {"nobs1": (5,), "nobs2": (7,)},
    ),
    "stats.variation": ({"a": POS}, {}),
    "stats.iqr": (
        {"x": Kind()},
        {"interpolation": ("linear", "midpoint"), "rng": ((25, 75), (10, 60))},
    ),
    "stats.median_abs_deviation": ({"x": Kind()}, {"scale": (1.0, "normal")}),
    "stats.mannwhitneyu": ({"x": Kind(), "y": Kind()}, {"method": ("asymptotic",)}),
    "stats.false_discovery_control": ({"ps": PROB}, {"method": ("bh", "by")}),
    "stats.directional_stats": ({"samples": Kind(REAL, 2)}, {}),
    "stats.pearsonr": ({"x": Kind(), "y": Kind()}, {"axis": (0, -1)}),
    "stats.differential_entropy": (
        {"values": Kind()},
        {"method": ("auto", "vasicek", "van es", "ebrahimi", "correa"), "base": (None, 2.0)},
    ),
    "special.logsumexp": ({"a": Kind(), "b": Kind()}, {"return_sign": (False, True)}),
    "integrate.trapezoid": ({"y": Kind(), "x": Kind()}, {}),
    "integrate.cumulative_trapezoid": ({"y": Kind(), "x": Kind()}, {"initial": (None, 0)}),
    "integrate.cumulative_simpson": ({"y": Kind()}, {"initial": (None, 0)}),
    "optimize.rosen": ({"x": Kind()}, {}),
    "optimize.rosen_der": ({"x": Kind(REAL, 1)}, {}),
    "optimize.rosen_hess": ({"x": Kind(REAL, 1)}, {}),
    "optimize.rosen_hess_prod": ({"x": Kind(REAL, 1), "p": Kind(REAL, 1)}, {}),
    "linalg.fiedler": ({"a": Kind(REAL, 1)}, {}),
    "linalg.block_diag": ({"*": Kind(REAL, 2)}, {}),
    "linalg.orthogonal_procrustes": ({"A": Kind(REAL, 2), "B": Kind(REAL, 2)}, {}),
    "cluster.vq.whiten": ({"obs": Kind(REAL, 2)}, {}),
    "cluster.vq.vq": ({"obs": Kind(REAL, 2), "code_book": Kind(REAL, 2)}, {}),
    "constants.convert_temperature": (
        {"val": POS},
        {"old_scale": ("Celsius", "Kelvin"), "new_scale": ("Fahrenheit", "Rankine")},
    ),
    "constants.lambda2nu": ({"lambda_": POS}, {}),
    "constants.nu2lambda": ({"nu": POS}, {}),
}
# Functions that other tests cover: they draw random samples, call a function of the user, have no
# float result, or return objects.
APART = frozenset(
    (
        "cluster.vq.kmeans", "cluster.vq.kmeans2", "fft.fftfreq", "fft.fht", "fft.ifht", "fft.rfftfreq",
        "integrate.cubature", "integrate.nsum", "integrate.qmc_quad", "integrate.tanhsinh",
        "stats.bootstrap", "stats.cramervonmises", "stats.ks_1samp", "stats.monte_carlo_test",
        "stats.permutation_test", "stats.power", "stats.rankdata", "stats.sigmaclip",
        # Where rows are equal, the rotation is not unique.
        "linalg.orthogonal_procrustes",
        # For Arrays, SciPy computes the roots with another algorithm than for NumPy data.
        "signal.freqs", "signal.tf2sos", "signal.tf2zpk", "signal.zpk2sos",
    )
)  # fmt: skip


def offered() -> dict[str, Any]:
    """Return SciPy's functions that accept arrays of any namespace, by their names below ``scipy``."""
    from scipy._lib._array_api import xp_capabilities_table

    found = {}
    for place in MODULES:
        module = importlib.import_module(f"scipy.{place}")
        for name in dir(module):
            function = getattr(module, name)
            try:
                able = xp_capabilities_table.get(function)
            except TypeError:
                able = None
            if able and not able["np_only"] and name[0] != "_" and not inspect.isclass(function):
                found[f"{place}.{name}"] = function
    return found


def of_special(name: str, function: Any) -> Call | None:
    """Return the Call of a function that ``special.STATEMENTS`` declares as an op, else None."""
    from arraytape import special

    statement = special.STATEMENTS.get(special.OTHER_NAMES.get(name, name))
    if statement is None:
        return None
    op = statement.op
    kinds = {
        x: Kind(domain, None, x in statement.integers, not callable(rule))
        for x, domain, rule in zip(op.inputs, statement.domains, op.rules, strict=True)
    }
    return Call(f"special.{name}", function, kinds, {})


def call(name: str, function: Any) -> Call | None:
    """Return the Call of a SciPy function, or None if its required arguments are not known."""
    if name.startswith("special."):
        found = of_special(name.removeprefix("special."), function)
        if found:
            return found
    said, given = SAID.get(name, ({}, {}))
    parameters = inspect.signature(function).parameters
    kinds = said or {x: Kind() for x in ARRAYS if x in parameters}
    if not kinds and any(p.kind is p.VAR_POSITIONAL for p in parameters.values()):
        kinds = {"*": Kind()}
    options = {x: values for x, values in OPTIONS.items() if x in parameters and x not in kinds}
    options |= given
    needed = {x for x, p in parameters.items() if p.default is p.empty and p.kind not in (2, 4)}
    return Call(name, function, kinds, options) if kinds and needed <= {*kinds, *options} else None


def calls() -> dict[str, Call]:
    """Return all Calls by name."""
    found = {name: call(name, f) for name, f in offered().items() if name not in APART}
    return {name: c for name, c in found.items() if c}
