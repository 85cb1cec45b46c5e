"""Statements of special functions: elementwise ops whose values are SciPy's.

    digamma = special("digamma", "x", lambda t, x, xp: t * xp.special.polygamma(1, x), ...)

There is one rule for each operand: the linear map of the operand's tangent ``t``, as in
``ops.elementwise_functions``.  A rule calls other special functions through ``xp.special``, so that the
rule itself can be differentiated.  A function of several results is stated in parts, each an
elementwise op.

Generated documentation prints a rule as written: a lambda's source, or a function's docstring.  So the
docstring of a rule is its formula.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._array.array import Array
from .._define.compile import compile_function
from .._define.docstrings import derivative_text, kept_words
from .._define.words import operands
from .._record.op import Op, Sample, register, sample
from .._record.op_facts import FACTS
from .._record.plan import Rule, Unknown
from .._storage.special import of_scipy
from ..ops.creation_functions import asarray

Interval = tuple[float, float]

CALLED = re.compile(r"(?<![\w.])([a-z_]\w*)\(")

REAL: Interval = (-2.0, 2.0)
POSITIVE: Interval = (0.2, 4.0)
UNIT: Interval = (0.05, 0.95)


class Statement(NamedTuple):
    """A special function, with the facts that tests and generated tables need.

    Attributes
    ----------
    domains
        For each operand, the interval from which tests draw arguments.
    integers
        The operands that take whole numbers.
    counts
        The operands that take an integer dtype only.
    complex
        True if the function is analytic in its last operand.
    """

    name: str
    function: Callable[..., Any]
    op: Op
    domains: tuple[Interval, ...]
    integers: frozenset[str]
    counts: frozenset[str]
    complex: bool
    source: str
    public: bool


STATEMENTS: dict[str, Statement] = {}


def special(
    name: str, inputs: str, *rules: Rule | Unknown | None, summary: str = "", source: str = "",
    domains: Sequence[Interval] = (), integers: str = "", counts: str = "", complex: bool = False,
    saves: dict[str, Rule] | None = None, public: bool = True, continuous: bool | None = None,
) -> Callable[..., Array]:  # fmt: skip
    """State a special function by the names of its operands and a rule for each.

    A rule is a function; None for an operand without a derivative by design, such as a count; or
    ``Unknown(why)`` where no derivative is known.  ``source`` cites the formulas.  ``public=False`` is
    for functions that only rules call.  ``continuous`` is passed to ``Op``; by default functions of one
    operand count as continuous, since functions of several jump at the ends of their domains.
    """
    names = tuple(inputs.split())
    of_integers, of_counts = frozenset(integers.split()), frozenset(counts.split())
    kinds = ["i" if x in of_counts | of_integers else "f" for x in names]
    intervals = tuple(domains) or (POSITIVE,) * len(names)
    if "y" in names:
        raise TypeError(f"{name} has an operand y, which is the result's name: call it otherwise")
    op = Op(
        f"special.{name}", "elementwise", names, rules=rules, domain=intervals[-1], saves=saves,
        own_dtype=True, continuous=len(names) == 1 if continuous is None else continuous,
        propagates_nan=False, promotes="", linear_places=(),  # some lose NaN, or cast otherwise
        samples=samples_of([(*d, kind) for kind, d in zip(kinds, intervals, strict=True)]),
    )  # fmt: skip
    function = compile_function(
        op, operands(names), convert=False,  # as SciPy: a ufunc may ask for integers
        into=functools.partial(call_ufunc, name),
    )  # fmt: skip
    function.__doc__ = docstring(op, summary or f"``scipy.special.{name}``", source)
    register(op).public = function
    FACTS[op.name] = op
    STATEMENTS[name] = Statement(
        name, function, op, intervals, of_integers | of_counts, of_counts, complex, source, public
    )
    return function


def call_ufunc(
    name: str,
    operands: tuple[Any, ...],
    out: Array | tuple[Array, ...] | None,
    where: Array | bool | None,
) -> Any:
    """Call SciPy's ufunc on Arrays with ``out=`` or ``where=``."""
    found = of_scipy(name)(*operands, out=out, where=True if where is None else where)
    return asarray(found) if out is None else found


def samples_of(domains: Sequence[tuple[float, float, str]]) -> tuple[Sample, ...]:
    """Return operands for the generated tests: of equal shapes, broadcast, 0-d and empty.

    Each domain is an interval and a kind: "f" for floats, "i" for integers.
    """
    count = len(domains)

    def sample_values(
        shape: tuple[int, ...], low: float, high: float, kind: str, phase: float
    ) -> Any:
        n = int(np.prod(shape))
        places = (np.arange(n) * 0.6180339887498949 + phase) % 1.0  # spread evenly, in no order
        found = low + (high - low) * places.reshape(shape)
        return np.floor(found).astype(int) if kind == "i" else found

    def of_shapes(shapes: Sequence[tuple[int, ...]]) -> Sample:
        phases = np.linspace(0.3, 0.8, count)
        return sample(
            *[
                sample_values(shape, *d, phase)
                for shape, d, phase in zip(shapes, domains, phases, strict=True)
            ]
        )

    broadcast = [(3, 1), (4,), *[()] * count][:count]
    return tuple(
        of_shapes(shapes)
        for shapes in ([(3, 4)] * count, broadcast, [()] * count, [(0, 3)] * count)
    )


def docstring(op: Op, summary: str, source: str) -> str:
    names = ", ".join(op.inputs)
    unknown = [
        (x, rule.why)
        for x, rule in zip(op.inputs, op.rules or (), strict=True)
        if isinstance(rule, Unknown)
    ]
    lookup = "".join(
        f"\nLookupError\n    When a gradient with respect to {x} is asked for: {why}."
        for x, why in unknown
    )
    cited = f"\n\nSource: {source}." if source else ""
    return f"""{summary.rstrip(".")}: the values are SciPy's, on CUDA devices CuPy's.

Parameters
----------
{names} : Array or number
    Real or complex floating-point dtype, as SciPy's function takes it; integers are computed as such.

Returns
-------
Array
    Of the shape to which the operands broadcast.

Raises
------
ImportError
    When SciPy is not installed.
TypeError
    When SciPy's function does not take these dtypes, or Arrays lie on different devices.{lookup}

Notes
-----
{derivative_text(op)}{cited}{kept_words(op)}"""


def helper_texts(op: Op, text: str | None) -> str:
    """Return an entry for each helper that the derivative in an op's docstring calls.

    An entry is the helper's own docstring.  A helper may be defined after the statement, so the package
    calls ``helper_texts`` when all chapters are imported.
    """
    known: dict[str, Any] = {}
    for rule in op.rules or ():
        known |= getattr(rule, "__globals__", {})
    lines = []
    for name in dict.fromkeys(CALLED.findall(text or "")):
        code = getattr(known.get(name), "__code__", None)
        doc = known[name].__doc__ if code else None
        if code and doc and "-----" not in doc:  # those with sections are public functions
            given = [x for x in code.co_varnames[: code.co_argcount] if x != "xp"]
            lines.append(f"\n\n``{name}({', '.join(given)})``: {' '.join(doc.split())}")
    return "".join(lines)
