"""Define special functions that return several results, such as ``airy``: ``special_tuple``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .._array.array import Array
from .._record.plan import Rule, Unknown
from .._storage.special import kernel
from ._statement import Interval, special

if TYPE_CHECKING:
    from .._util.array_types import Namespace


def special_tuple(
    name: str, inputs: str, results: dict[str, Sequence[Rule | Unknown | None]], *, summary: str,
    domains: Sequence[Interval], integers: str = "", complex: bool = False, source: str = "",
) -> Callable[..., tuple[Array, ...]]:  # fmt: skip
    """Register one elementwise op for each result, and return the function that returns all results.

    ``results`` maps a result's name to its derivative rules, one for each operand.  Rules call the
    op of a result as ``xp.special.<name>_<result>``.  The result ``aip`` of airy is
    ``xp.special.airy_aip(z)``.
    """
    parts = []
    for place, (result, rules) in enumerate(results.items()):
        kernel(tuple_result(f"{name}_{result}", name, place))
        part = special(
            f"{name}_{result}", inputs, *rules, domains=domains, integers=integers,
            complex=complex, source=source, public=False,
        )  # fmt: skip
        parts.append(part)

    def all_results(*operands: Any) -> tuple[Array, ...]:
        return tuple([part(*operands) for part in parts])

    all_results.__name__ = all_results.__qualname__ = name
    all_results.__module__ = "arraytape.special"
    all_results.__doc__ = f"""{summary}: the values are SciPy's, on CUDA devices CuPy's.

Parameters
----------
{", ".join(inputs.split())} : Array or number
    Of a floating-point dtype that SciPy's function accepts.  Integers are allowed where SciPy's
    function allows them.

Returns
-------
tuple of Array
    {", ".join(results)}: each of the shape to which the operands broadcast."""
    return all_results


def tuple_result(name: str, function: str, place: int) -> Callable[..., Any]:
    """Return a kernel (a function of raw data) for one of the results of SciPy's ``function``.

    name : the kernel's name.  place : the index of the result in the tuple that SciPy returns.
    """

    def compute_result(*operands: Any, xp: Namespace) -> Any:
        return getattr(xp.special, function)(*operands)[place]

    compute_result.__name__ = name
    return compute_result
