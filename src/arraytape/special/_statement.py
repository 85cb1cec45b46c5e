"""Define special functions: elementwise ops whose values are those of SciPy's functions.

Each is defined by one call of the function ``special``:

    digamma = special("digamma", "x", lambda t, x, xp: t * xp.special.polygamma(1, x), ...)

A definition has one rule for each operand.  A rule is a function that maps the tangent ``t`` of its
operand to the tangent of the result, as in ``ops.elementwise_functions``.  A rule calls other special
functions through ``xp.special``, so that the rule itself can be differentiated.  A function with several
results is defined as one elementwise op for each result (``_several``).

The docstring of an op quotes its rules: the source text of a lambda, or the docstring of a rule without
the word "Return".  So the docstring of a rule contains its formula.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._array.array import Array
from .._define.compile import compile_function
from .._define.docstrings import derivative_text, kept_values_text
from .._define.words import positional_signature
from .._record.op import Op, Sample, register, sample
from .._record.op_facts import FACTS
from .._record.plan import Rule, Unknown
from .._storage.special import of_scipy
from ..ops.creation_functions import asarray

Interval = tuple[float, float]

CALLED = re.compile(r"(?<![\w.])([a-z_]\w*)\(")  # the name of a function that a rule's text calls

# Intervals from which tests draw the arguments.
REAL: Interval = (-2.0, 2.0)
POSITIVE: Interval = (0.2, 4.0)
UNIT: Interval = (0.05, 0.95)


class Statement(NamedTuple):
    """A special function with the facts that tests and the generated tables of the docs read.

    ``special`` makes one for each function.

    Attributes
    ----------
    domains
        For each operand, the interval from which tests draw arguments.
    integers
        The names of the operands that have to be whole numbers.
    counts
        The names of the operands that have to be of an integer dtype, a subset of ``integers``.
    complex
        True if the last operand may be complex, and the function is analytic in it.
    source
        The source of the formulas, such as a section of DLMF, or "".
    public
        False if ``__all__`` leaves the function out.
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
    """Make an op of a special function, and return the public function.

    ``inputs`` has the names of the operands, separated by spaces, and there is one rule for each.  A
    rule is a function; None for an operand without a derivative by design, such as a count; or
    ``Unknown(why)`` where no derivative is known.  ``public=False`` is for functions that only rules or
    scipy.stats call.  ``saves`` and ``continuous`` are passed to ``Op``.  By default only functions of
    one operand count as continuous, since functions of several operands may jump at the ends of their
    domains.  ``summary`` begins the docstring.  The other parameters are attributes of ``Statement``.
    """
    names = tuple(inputs.split())
    of_integers, of_counts = frozenset(integers.split()), frozenset(counts.split())
    kinds = ["i" if x in of_counts | of_integers else "f" for x in names]
    intervals = tuple(domains) or (POSITIVE,) * len(names)
    if "y" in names:
        raise TypeError(f"rename the operand y of {name}: in a rule, y is the result")
    op = Op(
        f"special.{name}", "elementwise", names, rules=rules, domain=intervals[-1], saves=saves,
        own_dtype=True, continuous=len(names) == 1 if continuous is None else continuous,
        # Some of SciPy's functions return a number for NaN, or promote dtypes by rules of their own.
        propagates_nan=False, promotes="", linear_places=(),
        samples=samples_of([(*d, kind) for kind, d in zip(kinds, intervals, strict=True)]),
    )  # fmt: skip
    function = compile_function(
        op, positional_signature(names),
        convert=False,  # no conversion to floats: some ufuncs require integers
        into=functools.partial(call_ufunc, name),
    )  # fmt: skip
    function.__doc__ = special_docstring(op, summary or f"``scipy.special.{name}``", source)
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
    """Call SciPy's ufunc ``name`` on Arrays with ``out=`` or ``where=``, which ops do not have."""
    found = of_scipy(name)(*operands, out=out, where=True if where is None else where)
    return asarray(found) if out is None else found


def samples_of(domains: Sequence[tuple[float, float, str]]) -> tuple[Sample, ...]:
    """Return four samples of operands of a special function for the generated tests.

    Their operands have equal shapes, shapes that broadcast, the shape (), and no elements.  A domain is
    a tuple (low, high, kind), with the kind "f" for floats and "i" for whole numbers.
    """
    count = len(domains)

    def sample_values(
        shape: tuple[int, ...], low: float, high: float, kind: str, phase: float
    ) -> Any:
        n = int(np.prod(shape))
        places = (np.arange(n) * 0.6180339887498949 + phase) % 1.0  # spread evenly
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


def special_docstring(op: Op, summary: str, source: str) -> str:
    """Return the docstring of the public function of an op that ``special`` defines."""
    names = ", ".join(op.inputs)
    unknown = [
        (x, rule.why)
        for x, rule in zip(op.inputs, op.rules or (), strict=True)
        if isinstance(rule, Unknown)
    ]
    lookup = "".join(
        f"\nLookupError\n    When a gradient with respect to {x} is requested: {why}."
        for x, why in unknown
    )
    cited = f"\n\nSource: {source}." if source else ""
    return f"""{summary.rstrip(".")}: the values are SciPy's, on CUDA devices CuPy's.

Parameters
----------
{names} : Array or number
    Of a floating-point dtype, real or complex, that SciPy's function accepts.  Integers are
    allowed where SciPy's function allows them.

Returns
-------
Array
    Of the shape to which the operands broadcast.

Raises
------
ImportError
    When SciPy is not installed.
TypeError
    When SciPy's function does not accept these dtypes, or the Arrays are on different devices.{lookup}

Notes
-----
{derivative_text(op)}{cited}{kept_values_text(op)}"""


def helper_texts(op: Op, text: str | None) -> str:
    """Return a text of the docstrings of the helper functions that the derivative rules of an op call.

    The text is appended to ``text``, the op's docstring, which quotes the rules and so names the
    helpers. A helper may be defined below the op's definition, so the package calls this function after
    the import of all modules.
    """
    known: dict[str, Any] = {}
    for rule in op.rules or ():
        known |= getattr(rule, "__globals__", {})
    lines = []
    for name in dict.fromkeys(CALLED.findall(text or "")):
        code = getattr(known.get(name), "__code__", None)
        doc = known[name].__doc__ if code else None
        if code and doc and "-----" not in doc:  # numpydoc sections: a public function, no helper
            given = [x for x in code.co_varnames[: code.co_argcount] if x != "xp"]
            lines.append(f"\n\n``{name}({', '.join(given)})``: {' '.join(doc.split())}")
    return "".join(lines)
