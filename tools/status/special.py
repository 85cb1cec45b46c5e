"""The page of scipy.special's functions: the operands that have derivatives, and their errors.

The lists follow from the statements of arraytape.special and from calls on Arrays.  The errors are
differences from mpmath, computed by the references in tests/special.
"""

from __future__ import annotations

import inspect
import math
import multiprocessing
import re
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import mpmath
import numpy as np
import scipy
import scipy.special
from scipy.special import _ufuncs

import arraytape as xp
import pages
from arraytape._record.plan import Unknown
from arraytape.interop.special_functions import COUNTERPARTS
from arraytape.special import FUNCTIONS, OTHER_NAMES, missing_in_scipy
from arraytape.special._statement import STATEMENTS, Statement

GOAL = 1e-10
POINTS, SECONDS = 10, 2.0  # random points for a function, and the time limit for them

RECORDED, LEAVES, RAISES, COUNTS = "differentiates", "leaves", "raises", "of counts alone"

# Operands, other than counts, that have no derivative by design.
BY_DESIGN = {
    ("round", "x"): "a step function",
    ("_lambertw", "tol"): "a tolerance",
    **{
        (f"_{name}_{kind}", operand): "a quantile of a discrete distribution is a step function"
        for name in ("binom", "nbinom")
        for kind in ("ppf", "isf")
        for operand in ("q", "p")
    },
}

# The reasons for errors above the goal, where a specific reason is known.
REASONS = {
    "kl_div": "SciPy's `x log(x / y) - x + y` cancels where x is next to y; the derivatives do not",
}

# Operands for functions that are called; Python integers are counts.
EXAMPLES: dict[str, dict[str, Any]] = {
    "comb": {"N": 5.5, "k": 2.5},
    "factorial": {"n": 2.5},
    "factorial2": {"n": 2.5, "extend": "complex"},
    "factorialk": {"n": 2.5, "k": 3, "extend": "complex"},
    "jve": {"v": 0.5, "z": 1.5},
    "yve": {"v": 0.5, "z": 1.5},
    "ive": {"v": 0.5, "z": 1.5},
    "lambertw": {"z": 0.5, "k": 0},
    "log_softmax": {"x": [0.3, 0.8]},
    "logsumexp": {"a": [0.3, 0.8], "b": [1.0, 2.0]},
    "multigammaln": {"a": 3.5, "d": 2},
    "perm": {"N": 5.5, "k": 2.5},
    **{
        name: {"x": 0.5}
        for name in ("fresnel", "modfresnelm", "modfresnelp", "shichi", "sici", "softplus")
    },
    "sinc": {"x": 0.3},
    "softmax": {"x": [0.3, 0.8]},
    "zeta": {"x": 2.5, "q": 1.5},
    **{f"spherical_{kind}": {"n": 2, "z": 1.5} for kind in ("jn", "yn", "in", "kn")},
}

# Calls of functions of scipy.special without a counterpart in arraytape.special, on one Array.
s = scipy.special
CALLS: dict[str, Callable[[Any], Any]] = {
    "assoc_laguerre": lambda x: s.assoc_laguerre(x, 2, 1.0),
    "assoc_legendre_p": lambda x: s.assoc_legendre_p(2, 1, x),
    "assoc_legendre_p_all": lambda x: s.assoc_legendre_p_all(2, 1, x),
    "ellip_harm": lambda x: s.ellip_harm(1.0, 2.0, 2, 1, x),
    "ellip_harm_2": lambda x: s.ellip_harm_2(1.0, 2.0, 2, 1, 5 + x),
    "ellip_normal": lambda x: s.ellip_normal(x, 2.0, 2, 1),
    "genlaguerre": lambda x: s.genlaguerre(2, 0.5)(x),
    "gegenbauer": lambda x: s.gegenbauer(2, 0.5)(x),
    "h1vp": lambda x: s.h1vp(0.5, x),
    "h2vp": lambda x: s.h2vp(0.5, x),
    "ivp": lambda x: s.ivp(0.5, x),
    "jacobi": lambda x: s.jacobi(2, 0.5, 0.5)(x),
    "jvp": lambda x: s.jvp(0.5, x),
    "kvp": lambda x: s.kvp(0.5, x),
    "legendre_p": lambda x: s.legendre_p(2, x),
    "legendre_p_all": lambda x: s.legendre_p_all(2, x),
    "lmbda": lambda x: s.lmbda(2.0, x),
    "lqmn": lambda x: s.lqmn(1, 2, x),
    "lqn": lambda x: s.lqn(2, x),
    "mathieu_even_coef": lambda x: s.mathieu_even_coef(2, x),
    "mathieu_odd_coef": lambda x: s.mathieu_odd_coef(2, x),
    "obl_cv_seq": lambda x: s.obl_cv_seq(1, 3, x),
    "pbdn_seq": lambda x: s.pbdn_seq(2, x),
    "pbdv_seq": lambda x: s.pbdv_seq(2.0, x),
    "pbvv_seq": lambda x: s.pbvv_seq(2.0, x),
    "pro_cv_seq": lambda x: s.pro_cv_seq(1, 3, x),
    "riccati_jn": lambda x: s.riccati_jn(2, x),
    "riccati_yn": lambda x: s.riccati_yn(2, x),
    "roots_gegenbauer": lambda x: s.roots_gegenbauer(3, x),
    "roots_genlaguerre": lambda x: s.roots_genlaguerre(3, x),
    "roots_jacobi": lambda x: s.roots_jacobi(3, x, 0.5),
    "roots_sh_jacobi": lambda x: s.roots_sh_jacobi(3, 2.0 + x, 0.5 + x),
    "sh_jacobi": lambda x: s.sh_jacobi(2, 2.0, 0.5)(x),
    "sph_harm_y_all": lambda x: s.sph_harm_y_all(2, 1, x, 0.5),
    "sph_legendre_p": lambda x: s.sph_legendre_p(2, 1, x),
    "sph_legendre_p_all": lambda x: s.sph_legendre_p_all(2, 1, x),
    "yvp": lambda x: s.yvp(0.5, x),
    **{
        name: (lambda x, name=name: getattr(s, name)(3)(x))
        for name in (
            "chebyc", "chebys", "chebyt", "chebyu", "hermite", "hermitenorm", "laguerre", "legendre",
            "sh_chebyt", "sh_chebyu", "sh_legendre",
        )
    },
}  # fmt: skip
OF_COUNTS = re.compile(
    r".*_zeros$|bernoulli$|euler$|stirling2$|roots_(legendre|cheby.|laguerre|hermite|hermitenorm|sh_.*)$"
)
ROOTS = re.compile(r"[a-z]{1,2}_roots$")  # SciPy's old names of roots_...
NO_FUNCTIONS = ("errstate", "geterr", "seterr", "SpecialFunctionError", "SpecialFunctionWarning")

# Replacements for functions that convert Arrays to NumPy.
INSTEAD = {
    "assoc_legendre_p": "lpmv(m, n, z)",
    "legendre_p": "eval_legendre(n, z)",
    "sph_legendre_p": "sph_harm_y(n, m, theta, 0.0)",
}


class Row(NamedTuple):
    """The row of a function.

    by : the operands that have derivatives. counts : the operands that are whole numbers.
    refuses : the operands without a derivative, each with the reason.
    """

    name: str
    by: tuple[str, ...]
    counts: tuple[str, ...]
    refuses: tuple[tuple[str, str], ...]
    status: str = RECORDED
    note: str = ""


# --- what is listed ---------------------------------------------------------------------------------
def public_names() -> list[str]:
    """Return the public functions of scipy.special."""
    return sorted(set(scipy.special.__all__) - set(NO_FUNCTIONS), key=str.lower)


def private_names() -> list[str]:
    """Return the private ufuncs of scipy.special that have a statement in arraytape.special."""
    return sorted(
        n for n in STATEMENTS if n[0] == "_" and isinstance(getattr(_ufuncs, n, 0), np.ufunc)
    )


def row_of(name: str) -> Row:
    """Return the row of a function of scipy.special, public or private."""
    if name in OTHER_NAMES:
        return row_of(OTHER_NAMES[name])._replace(name=name)
    if name in FUNCTIONS:
        return row_of_counterpart(name)
    if name in CALLS:
        status, note = tried(CALLS[name])
        return Row(name, (), (), (), status, note)
    if OF_COUNTS.match(name) or ROOTS.match(name):
        return Row(name, (), (), (), COUNTS)
    raise LookupError(f"scipy.special.{name} is neither stated nor in the tables of {__file__}")


def row_of_counterpart(name: str) -> Row:
    """Return the row of a function of arraytape.special.

    The row follows from a trial call, from the function's statement, or from the statements for its
    results.
    """
    if name in EXAMPLES:
        return row_by_trial(name)
    if name in STATEMENTS:
        return row_of_statement(name, STATEMENTS[name])
    parts = [row_of_statement(s.name, s) for s in parts_of(name)]
    if not parts:
        raise LookupError(f"special.{name} needs an example in {__file__}")
    by = tuple(dict.fromkeys(x for part in parts for x in part.by))
    refuses = tuple(
        (x if x not in by else f"{x} of {part.name.removeprefix(name + '_')}", why)
        for part in parts
        for x, why in part.refuses
    )
    return Row(name, by, parts[0].counts, tuple(dict.fromkeys(refuses)))


def parts_of(name: str) -> list[Statement]:
    """Return the statements of a function with several results: one statement declares each result."""
    function = inspect.unwrap(FUNCTIONS[name])
    closed = inspect.getclosurevars(function).nonlocals if inspect.isfunction(function) else {}
    parts = closed.get("parts", ())  # defined in _several.special_tuple
    found = [s for s in STATEMENTS.values() if s.function in parts]
    return found or [s for n, s in STATEMENTS.items() if n.startswith(f"{name}_") and not s.public]


def row_of_statement(name: str, statement: Statement) -> Row:
    """Return the row of a function whose op is declared by ``statement``, from the op's rules."""
    by, counts, refuses = [], [], []
    for operand, rule in zip(statement.op.inputs, statement.op.rules, strict=True):
        if isinstance(rule, Unknown):
            refuses.append((operand, rule.why))
        elif rule is not None:
            by.append(operand)
        elif operand in statement.integers | statement.counts:
            counts.append(operand)
        else:
            refuses.append((operand, f"None: {BY_DESIGN[name, operand]}"))
    return Row(name, tuple(by), tuple(counts), tuple(refuses))


def row_by_trial(name: str) -> Row:
    """Return the row of a function, from its gradients with respect to the operands of its example."""
    by, counts, refuses = [], [], []
    example = EXAMPLES[name]
    for operand, value in example.items():
        if isinstance(value, str):
            continue
        if isinstance(value, int):
            counts.append(operand)
            continue
        x = xp.asarray(value)
        with xp.GradientTape() as tape:
            tape.watch(x)
            y = total_of(called(FUNCTIONS[name], {**example, operand: x}))
        try:
            found = tape.gradient(y, x)
        except LookupError as error:
            refuses.append((operand, why_of(error)))
            continue
        if found is None:
            raise LookupError(f"special.{name} gives None by {operand}, without a reason")
        by.append(operand)
    return Row(name, tuple(by), tuple(counts), tuple(refuses))


def why_of(error: LookupError) -> str:
    """Return the reason that an error gives."""
    return re.split(r"\. | \[at", str(error).split(": ", 1)[-1])[0]


def called(function: Callable[..., Any], operands: dict[str, Any]) -> Any:
    """Call a function with operands by name, or by position if it has other names."""
    given = {k: xp.asarray(v) if isinstance(v, list) else v for k, v in operands.items()}
    if set(given) <= set(inspect.signature(function).parameters):
        try:
            return function(**given)
        except TypeError:  # positional-only
            pass
    return function(*given.values())


def tried(call: Callable[[Any], Any], at: float = 0.4) -> tuple[str, str]:
    """Call a function of scipy.special with the Array ``at``; return its status and a note."""
    x = xp.asarray(at)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            with xp.GradientTape() as tape:
                tape.watch(x)
                y = total_of(call(x))
            found = tape.gradient(y, x)
        except (TypeError, ValueError) as error:
            return RAISES, f"{type(error).__name__}: {str(error).split(' [at')[0]}"
    if found is not None:
        return RECORDED, "with respect to its argument: SciPy's code calls recorded functions"
    if any("left the tape" in str(w.message) for w in seen):
        return LEAVES, ""
    raise LookupError("None without a reason")


def total_of(y: Any) -> Any:
    """Return the sum of the real parts of all results."""
    if isinstance(y, tuple | list):
        return sum(total_of(part) for part in y)
    return xp.sum(xp.real(xp.asarray(y) * 1.0))


# --- the lists --------------------------------------------------------------------------------------
def lists() -> str:
    """Return the page's tables of functions, with the table of totals above them."""
    public = [row_of(name) for name in public_names()]
    private = [row_of(name) for name in private_names()]
    own = [row for row in public if row.name in FUNCTIONS]
    others = [row for row in public if row.name not in FUNCTIONS]
    parts = [
        totals(public, private),
        "## Functions with a rule\n\n" + converted() + table(own),
        "## Public functions without a rule\n\n" + without(others),
        "## Private ufuncs, which scipy.stats calls\n\n" + table(private),
    ]
    return "\n".join(parts)


def totals(public: list[Row], private: list[Row]) -> str:
    """Return the page's table of how many functions there are, by what their derivatives are."""

    def count(rows: list[Row], test: Callable[[Row], bool]) -> int:
        return sum(map(test, rows))

    def differentiates(row: Row) -> bool:
        return bool(row.by) or (row.status == RECORDED and row.name not in FUNCTIONS)

    def none_by_design(row: Row) -> bool:
        return not differentiates(row) and row.status in (RECORDED, COUNTS) and not unknown(row)

    def unknown(row: Row) -> bool:
        return any(not why.startswith("None") for _, why in row.refuses)

    lines = ["| | public functions | private ufuncs |", "| --- | ---: | ---: |"]
    for title, test in {
        "all": lambda row: True,
        "differentiate": differentiates,
        "... with respect to some arguments, and say why not to others": lambda row: (
            differentiates(row) and unknown(row)
        ),
        "raise a `LookupError`, because no derivative is known or implemented": lambda row: (
            not differentiates(row) and unknown(row)
        ),
        "have no derivative by design: only counts as arguments, step functions": none_by_design,
        "convert Arrays to NumPy: the gradient is None, with a warning": lambda row: (
            row.status == LEAVES
        ),
        "raise an error for Arrays": lambda row: row.status == RAISES,
    }.items():
        lines.append(f"| {title} | {count(public, test)} | {count(private, test)} |")
    return "\n".join(lines) + "\n\nNo function has the gradient None without a message.\n"


def in_interop() -> list[str]:
    """Return the functions that accept Arrays only inside ``interop.scipy()``."""
    return sorted([*(n for names in COUNTERPARTS.values() for n in names), "sph_harm_y"])


def converted() -> str:
    """Return the paragraph about functions that convert Arrays to NumPy."""
    names = ", ".join(f"`{name}`" for name in in_interop())
    return (
        f"SciPy's own {names} convert an Array to NumPy data, so that the gradient is None, with a "
        "warning. Factorials of an Array of shape () raise an error. Call the functions of "
        "`xp.special`, or SciPy's inside [`interop.scipy()`](../../howto/interop.md).\n\n"
    )


def table(rows: list[Row]) -> str:
    """Return the table of functions and of the operands with derivatives."""
    lines = []
    for row in rows:
        by, counts = (", ".join(f"`{x}`" for x in names) for names in (row.by, row.counts))
        refuses = "; ".join(f"`{x}`: {why}" for x, why in row.refuses)
        lines.append([f"`{row.name}`", by, counts, refuses])
    return (
        pages.table(
            ("function", "derivatives with respect to", "counts", "not with respect to"), lines
        )
        + "\n"
    )


def without(rows: list[Row]) -> str:
    """Return the lists of functions without a counterpart, by what they do with Arrays."""
    lines = []
    for status, says in {
        RECORDED: "These have derivatives, because SciPy's code calls recorded functions:",
        LEAVES: "These convert Arrays to NumPy data, so that the gradient is None, with a warning:",
        COUNTS: "These have only counts as arguments, and return NumPy's arrays:",
    }.items():
        names = [
            f"`{row.name}`"
            + (f" (call `xp.special.{INSTEAD[row.name]}`)" if row.name in INSTEAD else "")
            for row in rows
            if row.status == status
        ]
        lines.append(f"{says} {', '.join(names)}.\n")
    lines += ["These raise an error for Arrays:\n", "| function | error |", "| --- | --- |"]
    lines += [f"| `{row.name}` | {row.note} |" for row in rows if row.status == RAISES]
    return "\n".join(lines) + "\n"


# --- errors -----------------------------------------------------------------------------------------
class Errors(NamedTuple):
    """The largest relative errors of a function's value and derivatives.

    conditioned : the errors of value f and first derivative, divided by |f| + sum(|x_i df/dx_i|)
        (for the derivative, with df/dx in place of f), because rounding the arguments causes such
        an error.  count : the number of points.
    """

    name: str
    value: float
    first: float
    second: float
    conditioned: tuple[float, float]
    count: int


def measured() -> list[str]:
    """Return the names of the statements that have a reference in mpmath."""
    from special.references import BY_DIFFERENCES, REFERENCES

    families = re.compile(r".*(_derivative|_by|_by_order|_density|_difference)$")
    return sorted(
        (n for n in STATEMENTS
         if n in REFERENCES and n not in BY_DIFFERENCES
         and not (missing_in_scipy(n) and families.match(n))),
        key=str.lower,
    )  # fmt: skip


def errors_of(name: str) -> Errors:
    """Return the largest errors of a function and its derivatives, at random points and edges."""
    from special.points import derivative, derivatives, points
    from special.references import REFERENCES

    statement, start = STATEMENTS[name], time.monotonic()
    has_value = not hasattr(REFERENCES[name], "but_for_a_constant")
    worst, conditioned, count = [0.0, 0.0, 0.0], [0.0, 0.0], 0
    # Points at edges first, in case of the time limit.
    for point, places in reversed(list(points(statement, POINTS))):
        if time.monotonic() - start > SECONDS:
            break
        count += 1
        value, first, second = derivatives(statement, places, point)
        size = [abs(x) for x in point]
        g = {i: derivative(statement, point, [i]) for i in places}
        h = {(i, j): derivative(statement, point, sorted((i, j))) for i in places for j in places}
        f = derivative(statement, point, [])
        spread = sum(size[i] * abs(g[i]) for i in places)
        if has_value:
            note(worst, conditioned, 0, value, f, spread)
        for i in places:
            note(worst, conditioned, 1, first[i], g[i], sum(size[j] * abs(h[i, j]) for j in places))
            for j in places:
                note(worst, conditioned, 2, second[i, j], h[i, j], 0)
    if not has_value:
        worst[0] = conditioned[0] = math.nan
    return Errors(name, *worst, tuple(conditioned), count)


def note(
    worst: list[float],
    conditioned: list[float],
    order: int,
    found: float,
    expected: Any,
    spread: Any,
) -> None:
    """Update the largest relative errors in ``worst`` and ``conditioned`` with one value, ``found``.

    order : 0 for the value, 1 and 2 for derivatives, an index of both lists.
    spread : the sum of |x_i| times the absolute derivative of ``expected`` with respect to x_i.
    """
    if found == float(expected) or abs(expected) < 1e-290:
        return
    error = abs(found - expected)
    worst[order] = max(worst[order], float(error / abs(expected)))
    if order < 2:
        relative = float(error / (abs(expected) + spread))
        conditioned[order] = max(conditioned[order], relative)


def all_errors() -> Iterator[Errors]:
    """Yield the Errors of all functions, computed in parallel."""
    with multiprocessing.Pool(2) as pool:
        yield from pool.imap(errors_of, measured(), chunksize=4)


def errors_part(rows: list[Errors]) -> str:
    """Return the page's table of errors, with a summary above it."""
    versions = f"NumPy {np.__version__}, SciPy {scipy.__version__}, mpmath {mpmath.__version__}"
    within = [sum(row.first <= GOAL for row in rows), sum(row.second <= 1e-8 for row in rows)]
    lines = [
        f"Measured with {versions}: {len(rows)} functions at {sum(r.count for r in rows)} points. "
        f"{sum(not r.value > GOAL for r in rows)} functions have values with relative errors of at most "
        f"1e-10, {within[0]} have such first derivatives, and {within[1]} have second derivatives with "
        "relative errors of at most 1e-8.\n",
        "### Errors above 1e-10\n",
        "| function | value | conditioned | first | conditioned | reason |",
        "| --- | ---: | ---: | ---: | ---: | --- |",
    ]
    for row in rows:
        if row.value > GOAL or row.first > GOAL:
            errors = (row.value, row.conditioned[0], row.first, row.conditioned[1])
            numbers = " | ".join(as_text(e) for e in errors)
            lines.append(f"| `{row.name}` | {numbers} | {reason_of(row)} |")
    lines += ["\n### All errors\n", "| function | points | value | first | second |"]
    lines += ["| --- | ---: | ---: | ---: | ---: |"]
    for row in rows:
        numbers = " | ".join(as_text(e) for e in (row.value, row.first, row.second))
        lines.append(f"| `{row.name}` | {row.count} | {numbers} |")
    return "\n".join(lines) + "\n"


def as_text(error: float) -> str:
    """Return an error as text for the table."""
    return "not measured" if math.isnan(error) else f"{error:.0e}"


def reason_of(row: Errors) -> str:
    """Return the reason for which the error of a row exceeds the goal, or ""."""
    from special.references import LOOSE

    value, first = row.conditioned
    reasons = [REASONS[row.name]] if row.name in REASONS else []
    if row.name in LOOSE:
        reasons.append(LOOSE[row.name][2])
    if not reasons and row.value > GOAL:
        reasons.append("SciPy's value" if value > GOAL else "SciPy's value next to a zero")
    if not reasons and row.first > GOAL:
        reasons.append(
            "the derivative next to a zero of its own"
            if first <= GOAL
            else "the derivative is computed from SciPy's values"
        )
    return "; ".join(reasons)


def unmeasured() -> str:
    """Return the list of functions without measured errors, grouped by how they are tested."""
    from special.references import BY_DIFFERENCES

    by_reason: dict[str, list[str]] = {}
    for name, reason in sorted(BY_DIFFERENCES.items()):
        if not missing_in_scipy(name) or parent_of(name):
            by_reason.setdefault(reason, []).append(f"`{name}`")
    return "\n".join(f"- {', '.join(names)}: {why}." for why, names in by_reason.items()) + "\n"


def parent_of(name: str) -> bool:
    """Return True if ``name`` is the statement of one result of a function with several results."""
    return any(name.startswith(f"{f}_") for f in FUNCTIONS if f not in STATEMENTS)


# --- the page ---------------------------------------------------------------------------------------
def release() -> str:
    """Return the page's text about the installed SciPy version."""
    return f"SciPy {scipy.__version__},"


def page(old: str) -> str:
    """Return the page with its lists computed anew; its table of errors stays as it is."""
    listed = pages.between(old, pages.ends_of("special", "functions"), lists().strip("\n"))
    ends = pages.ends_of("special", "what is not measured")
    return pages.between(listed, ends, unmeasured().strip("\n"))


def page_of_errors(old: str) -> str:
    """Return the page with its table of errors measured anew."""
    text = errors_part(list(all_errors())).strip("\n")
    return pages.between(old, pages.ends_of("special_errors"), text)
