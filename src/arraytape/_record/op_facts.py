"""Facts about raw functions, on which replay passes, batched data, index sets and exports rely.

A word that declares an op enters the op in ``FACTS`` under the name of its raw function.  A raw function
that is no op states its facts at its definition, with ``state_facts``.  Each default is the safe answer:
nothing relies on a fact that is not stated.  ``tests/ops/test_facts.py`` tries each fact of each op.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ClassVar, Literal, Self, TypeVar

from .._util.errors import user_line

F = TypeVar("F")


def hull(count: int, *operands: Any) -> Any:
    """Return the smallest interval around the operands: the range of a function that only selects."""
    return functools.reduce(lambda x, y: x.hull(y), operands)


VIEW: Any = {"continuous": True, "propagates_nan": True, "rearranges": True, "range": hull}


class Facts:
    """Facts about one raw function; an Op has those of its own.

    signature
        The core dimensions of operands and results, as of NumPy's generalised ufuncs.  All elements
        along a dimension in capitals go into each element of the result.  An element along a dimension
        in small letters goes into the elements at the same place.  ``(),()->()`` is elementwise,
        ``(m,K),(K,n)->(m,n)`` a product of matrices, ``(N,N),(N,k)->(N,k)`` the solution of systems.
        AXIS stands for the axis that the parameter ``axis`` names, AXES where it may name several;
        ``...`` for all axes.
    per_element
        All core dimensions are (): each element depends on one of each operand.
    continuous
        The result does not jump: changes in last bits of the inputs change its last bits alone, but at
        poles and branch cuts.
    jumps
        The result has steps that no derivative shows.  True of ops of ours that are not continuous, and
        elementwise or without a derivative.
    propagates_nan
        A NaN in a floating-point operand makes the result NaN, whatever the other operands are.
    correctly_rounded
        The result is the exact value, rounded, as for IEEE 754's basic operations.  It has the same bits
        for each layout of the operands in memory, and for a number as for an array of that number.
    infix
        Python's operator for the function, if it gives the same bits on NumPy's scalars.
    promotes
        "all" if NumPy first brings the operands to the dtype to which they promote, "first" if to that
        of the first operand, else "".
    linear_places
        Groups of places of operands in which the function is linear together, while all others are
        fixed.  Derived from what the rules of an op ask for, or from its ``linear_in``.
    range
        A function that returns the ``Interval`` of the result, from the number of elements that go into
        one and the intervals of the floating-point operands: see ``replay.passes.intervals``.
    rearranges
        Each element of the result is an element of an operand, chosen by its place.
    in_order
        The result has the elements of the first operand in their order, but for dtype and broadcasting.
    creates
        The result is new data that depends on no values of operands, at most on a shape and dtype.
    data_dependent_shape
        The operand on whose values the shape of the result depends.
    scalars
        A result without dimensions is one of NumPy's scalars, which cannot be written to.
    """

    signature: str = ""
    per_element: bool = False
    continuous: bool = False
    jumps: bool = False
    propagates_nan: bool = False
    correctly_rounded: bool = False
    infix: str = ""
    promotes: Literal["", "all", "first"] = ""
    linear_places: tuple[tuple[int, ...], ...] = ()
    range: Callable[..., Any] | None = None
    rearranges: bool = False
    in_order: bool = False
    creates: bool = False
    data_dependent_shape: str = ""
    scalars: bool = True
    moves: bool = False
    NAMES: ClassVar[frozenset[str]]  # of the facts that may be stated

    def with_facts(self, facts: dict[str, Any]) -> Self:
        """Set the facts that a statement gives; raise TypeError for an unknown one."""
        for name, value in facts.items():
            if name not in self.NAMES:
                raise TypeError(f"there is no fact called {name} [at {user_line()}]")
            setattr(self, name, value)
        if self.signature:
            self.per_element = is_elementwise(self.signature)
        return self

    @property
    def cores(self) -> list[list[tuple[str, ...]]]:
        """Return the core dimensions of each operand, and those of each result."""
        sides = [side[1:-1].split("),(") for side in self.signature.split("->")]
        return [[tuple(filter(None, part.split(","))) for part in side] for side in sides]


Facts.NAMES = frozenset(Facts.__annotations__) - {"NAMES", "jumps", "per_element"}
NOTHING = Facts()
FACTS: dict[str, Facts] = {}  # by the raw function's name


@functools.cache
def is_elementwise(signature: str) -> bool:
    return not signature.replace("->", ",").replace("()", "").strip(",")


def facts_of(name: str) -> Facts:
    """Return the facts about a raw function; the safe defaults if none are stated."""
    return FACTS.get(name, NOTHING)


def state_facts(*names: str, **facts: Any) -> Callable[[F], F]:
    """Return a decorator that states facts about a raw function that is no op.

    names : by default the function's own.
    """

    def declare(function: F) -> F:
        for name in names or (function.__name__,):  # type: ignore[attr-defined]
            FACTS[name] = Facts().with_facts(facts)
        return function

    return declare
