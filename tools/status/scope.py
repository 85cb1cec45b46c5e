"""The page of scope: the NumPy functions that work on Arrays, and the reasons for the others.

The lists follow from NumPy's public functions and ufuncs and from the tables of ``_numpy_api``.  A
function that raises an error must have a reason in ``REASONS``; otherwise the page cannot be written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

import pages
from arraytape import _numpy_hook
from arraytape._numpy_api import protocols, ufunc_methods
from arraytape._numpy_api.methods import METHODS

HOMES = {
    "np": np, "np.linalg": np.linalg, "np.fft": np.fft, "np.emath": np.emath,
    "np.lib.stride_tricks": np.lib.stride_tricks,
}  # fmt: skip
REASONS = {
    "Dates, bits and other dtypes that an Array cannot have, or that no gradient passes": (
        "busday_count", "busday_offset", "datetime_as_string", "is_busday", "isnat", "packbits",
        "unpackbits", "bitwise_count",
    ),
    "A function of the digits of floats, which has no derivative; use `np.asarray`": ("spacing",),
}  # fmt: skip
# Calls with Arrays x and y that do not use NumPy's dispatch protocols, by their effect.
UNASKED = {
    "Recorded, because NumPy computes with the Array itself": (
        "np.fromfunction(lambda i: i * x, (3,))", "np.mgrid[0 : x[0] : 3j]",
        "np.poly1d(x)(y)", "np.polynomial.polynomial.polyval(x, y)",
    ),
    "Converted; if a gradient lacks a part, a warning names the function": (
        "np.mean([x, y])", "np.sum([x, y])", "np.r_[x, y]", "np.c_[x, y]",
        "np.vectorize(lambda t: 2 * t)(x)", "np.full(3, x[0])", "np.hstack([[x, x], [y, y]])",
        "np.polynomial.polynomial.polyadd(x, y)", "np.polynomial.chebyshev.chebval(2.0, x)",
        "np.lib.stride_tricks.as_strided(x, (2, 2))", "np.kaiser(3, x[0])", "np.require(x)",
    ),
    "Converted, as by `float(x)`; if a gradient lacks a part, a warning names the line": (
        "np.asarray(x)", "np.array([x, y])", "np.asarray([x, y])", "np.ascontiguousarray(x)",
        "np.fromiter(x, float)", "np.arange(x[0], 4.0)", "np.exp([x, y])",
    ),
}  # fmt: skip
INTRODUCTION = f"""\
# What of NumPy works on Arrays

{pages.mark("scope")}

`np.sum(x)` and `x.sum()` of an Array are recorded, as `xp.sum(x)` is. This page lists the functions and
methods of NumPy that work on Arrays, and says why the others raise an error. [Gradients, name by
name](coverage.md) lists the names of arraytape itself. These rules hold:

- Values and parameters are NumPy's. A function works on Arrays if an op, a few ops, or NumPy's own
  Python code over functions that work computes its result.
- Every other function raises a TypeError. So does a parameter that cannot be recorded, unless it has its
  default. No function that NumPy passes to arraytape loses a gradient silently.
- Lists of numbers and Arrays are operands, as for NumPy's arrays: `x + [1, 2]`, `np.add(x, [y, z])`,
  `x[:] = [y, z]`. The standard's functions accept only arrays and numbers.
- Under `vmap`, functions that read values run for one example after the other.
- A recorded result is never written into a NumPy array (`out=`, `np.copyto`).
- NumPy returns scalars from `np.sum(x)` and `x[0]`, and arraytape returns Arrays of shape (). `s += 1`
  binds the name `s` to a new Array, as for scalars. `s[...] = 1`, `s.fill(1)`, `out=s` and
  `s.flat[0] = 1` write to the Array. NumPy refuses these writes, or loses them in a copy.
- A write to a read-only Array is refused, also by `np.add.at`, which writes in NumPy 2.4.
- `x.shape = ...` and `x.dtype = ...` raise an AttributeError that says what to do. `x.real`,
  `x.imag` and `x.flat` can be set.
- The namespace has NumPy's names, too: `xp.kron(x, y)` is `np.kron(x, y)`. They also accept lists of
  Arrays, as in `xp.average([x, y])`, and return Arrays if no argument is one. `xp.r_`, `xp.c_`,
  `xp.vectorize` and `xp.array` are recorded, which NumPy's cannot be. `dir(xp)` lists only the names of
  the standard and of arraytape.
- Functions of the standard accept NumPy's further keywords, such as `xp.var(x, ddof=1)`. Elementwise
  functions do not: write `np.add(x, y, out=z)`.
"""
REST = """\
## Data types

Arrays can have the dtypes `bool`, `int8` to `int64`, `uint8` to `uint64`, `float32`, `float64`,
`complex64` and `complex128`, and `float16`, which the standard does not have. `longdouble`, dates, text,
structured and object dtypes raise an error, because the standard and the other storages have none of
them. Real and complex floating-point data have gradients; integers and booleans have none.
"""


def public() -> Iterator[tuple[str, Any]]:
    """Yield NumPy's ufuncs, and its functions that dispatch on their arguments, with their names."""
    seen = set()
    for home, module in HOMES.items():
        for name in sorted(dir(module)):
            function = getattr(module, name) if not name.startswith("_") else None
            asks = isinstance(function, np.ufunc) or hasattr(function, "_implementation")
            if asks and function not in seen:
                seen.add(function)
                yield f"{home}.{name}", function


def is_in(function: Any) -> bool:
    """Return True if a ufunc or function of NumPy works on Arrays."""
    if isinstance(function, np.ufunc):
        return function in protocols.UFUNCS
    if function in protocols.RESULTS_WITHOUT_ARRAYS or function in protocols.COUNTERPARTS:
        return True
    try:
        protocols.op_of_numpy_function(function)
    except TypeError:
        return False
    return True


def missing() -> list[str]:
    return [name for name, function in public() if not is_in(function)]


def without_reason() -> list[str]:
    """Return the functions that raise an error and are not in exactly one group of REASONS."""
    listed = [name for group in REASONS.values() for name in group]
    return [name for name in missing() if listed.count(name.rpartition(".")[2]) != 1]


# --- writing --------------------------------------------------------------------------------------
def names(found: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(found)) or "none"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return pages.table(head, rows) + "\n"


def functions_in() -> Iterator[tuple[str, str]]:
    """Yield a row for each module of _numpy_api that implements NumPy functions."""
    parts: dict[str, list[str]] = {}
    for name, function in public():
        if isinstance(function, np.ufunc) or not is_in(function):
            continue
        ours = protocols.COUNTERPARTS.get(function)
        home = "" if ours is None else home_of(function)
        parts.setdefault(home, []).append(name)
    for home in sorted(parts):
        what = f"`_numpy_api/{home}.py`" if home else "the op of the same name"
        yield what, names(parts[home])


def home_of(function: Any) -> str:
    """Return the name of the module that has the counterpart of a NumPy function."""
    module = next(module for module in protocols.MODULES if function in module.FUNCTIONS)
    return str(module.__name__.rpartition(".")[2])


def uses() -> Iterator[tuple[str, str]]:
    """Yield the ways to use a ufunc, and the ufuncs for which each way works."""
    every = "every ufunc of the list"
    yield (
        "`np.add(x, y)`, also with `dtype=`, `out=` (an Array), `where=` together with `out=`",
        every,
    )
    yield "`np.add.outer(x, y)`", "every elementwise ufunc of the list"
    yield (
        "`np.add.accumulate(x)`, `np.add.at(x, indices, y)`",
        f"{every} for which NumPy has the method",
    )
    without = names(sorted(f.__name__ for f in ufunc_methods.MISREDUCED))
    yield "`np.add.reduce(x)`, `np.add.reduceat(x, indices)`", f"as above, except {without}"


def reasons() -> Iterator[tuple[str, str]]:
    absent = {name.rpartition(".")[2]: name for name in missing()}
    for reason, group in REASONS.items():
        if found := [absent[name] for name in group if name in absent]:
            yield names(found), reason


CLASSES = """\
## Functions and classes that NumPy does not pass on

NumPy passes a call to arraytape only if an argument itself is an Array. It does so neither for
Arrays in a list, nor for classes and functions that create arrays. So `np.mean([x, y])` cannot be
recorded. Write `np.mean(np.stack([x, y]))`, and `xp.r_` and `xp.c_` in place of `np.r_` and
`np.c_`.
"""
END = """\
`np.matrix`, `np.ma`, `np.char`, `np.rec` and `np.random` compute with NumPy's arrays. `xp.asarray`
converts their results to Arrays. `xp.host_function` calls such code inside a program, with a rule
for its derivative.
"""


def unasked() -> Iterator[tuple[str, str]]:
    """Yield examples of calls that NumPy does not pass to arraytape, and what happens in them."""
    for what, examples in UNASKED.items():
        yield ", ".join(f"`{example}`" for example in examples), what


def render() -> str:
    """Return the whole page."""
    _numpy_hook.load()
    called = {f"np.{f.__name__}" for f in protocols.UFUNCS}
    methods = [name for name in METHODS if not name.startswith("__")]
    left = [
        n for n in dir(np.ndarray) if not n.startswith("_") and not hasattr(_numpy_hook.Array, n)
    ]
    return "\n".join((
        INTRODUCTION,
        f"The lists are {release()}\n",
        "## Functions that work on Arrays\n", table(("implemented by", "functions"), functions_in()),
        "## Ufuncs\n", f"{names(called)}.\n", table(("use", "works for"), uses()),
        "## Methods and attributes of ndarray\n",
        f"In addition to those of the standard: {names(methods)}.\n",
        f"Missing: {names(left)}. They concern memory, bytes and files; `np.asarray(x)` has them.\n",
        "## Functions that raise, and why\n", table(("functions", "reason"), reasons()),
        REST,
        CLASSES, table(("with Arrays x and y", "what happens"), unasked()), END,
    ))  # fmt: skip


def version() -> str:
    """Return NumPy's version as "major.minor"."""
    return ".".join(np.__version__.split(".")[:2])


def release() -> str:
    """Return the page's text about the installed NumPy version."""
    return f"those of NumPy {version()}."


def page(_: str) -> str:
    if unclear := without_reason():
        raise pages.CannotBeWritten(f"no reason, or several, for {', '.join(unclear)}")
    return render()
