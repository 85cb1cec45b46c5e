"""What SciPy dispatches on Arrays, as calls: from its own table of what dispatches, and signatures.

A call is a function and a kind for each operand that is an array: an interval in which its values are
good arguments, and how many dimensions it has.  Options are drawn from ``OPTIONS`` by the names that the
signature has; a few functions say more in ``SAID``.
"""

from __future__ import annotations

import importlib
import inspect
from typing import Any, NamedTuple

REAL, POSITIVE, UNIT = (-2.0, 2.0), (0.2, 4.0), (0.05, 0.95)
MODULES = (
    "cluster.vq", "constants", "fft", "integrate", "linalg", "optimize", "signal", "special", "stats",
)  # fmt: skip
# By the name of a parameter: the values that an option may have.
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
# The parameters that are arrays, in this order where a signature has them.
ARRAYS = (
    "a", "b", "x", "y", "samples", "sample", "values", "scores", "compare", "pk", "qk", "f_obs", "f_exp",
    "data", "rvs", "pvalues", "ps", "popmean", "mean1", "std1", "mean2", "std2", "weights", "obs",
    "code_book", "A", "B", "val", "lambda_", "nu", "in1", "in2", "p", "lmb",
)  # fmt: skip


class Kind(NamedTuple):
    """An operand: an interval for its values, its dimensions (None: one or two), and what it may be.

    whole : whether it takes whole numbers.  constant : whether there is no derivative by it.
    """

    interval: tuple[float, float] = REAL
    ndim: int | None = None
    whole: bool = False
    constant: bool = False


class Call(NamedTuple):
    """A function, its operands by name ("*": three of them), and its options with their values."""

    name: str
    function: Any
    operands: dict[str, Kind]
    options: dict[str, tuple[Any, ...]]

    @property
    def by_position(self) -> bool:
        """Return True if the operands have no names: of ufuncs, and of any number of samples."""
        return "*" in self.operands or (not self.options and self.name.startswith("special."))


POS, PROB = Kind(POSITIVE), Kind(UNIT)
SCALAR = Kind(REAL, 0)
# What is not read off the signature: operands by name, and options that are always given.
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
# What samples at random, calls back, has no float result, or makes objects: other tests have these.
APART = frozenset(
    (
        "cluster.vq.kmeans", "cluster.vq.kmeans2", "fft.fftfreq", "fft.fht", "fft.ifht", "fft.rfftfreq",
        "integrate.cubature", "integrate.nsum", "integrate.qmc_quad", "integrate.tanhsinh",
        "stats.bootstrap", "stats.cramervonmises", "stats.ks_1samp", "stats.monte_carlo_test",
        "stats.permutation_test", "stats.power", "stats.rankdata", "stats.sigmaclip",
        # Where rows are equal, its rotation is a choice.
        "linalg.orthogonal_procrustes",
        # Their roots come from another program where data are not NumPy's.
        "signal.freqs", "signal.tf2sos", "signal.tf2zpk", "signal.zpk2sos",
    )
)  # fmt: skip


def offered() -> dict[str, Any]:
    """SciPy's functions that take arrays of any namespace, by their names below ``scipy``."""
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
    """Return a special function with the operands of its own statement."""
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
    """Return a call of SciPy's function with the arguments of its signature; None where unknown."""
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
    """All calls by name."""
    found = {name: call(name, f) for name, f in offered().items() if name not in APART}
    return {name: c for name, c in found.items() if c}
