"""Facts about raw functions: what passes, batched data, index sets and exports rely on.

A word that declares an op enters the op in ``FACTS`` under the name of its raw function; a raw function
that is no op states its facts at its definition, by ``state_facts``.  Each default is the safe answer:
what is not stated is not relied on.  ``tests/ops/test_facts.py`` tries each fact of each op.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ClassVar, Literal, Self, TypeVar

from .._util.errors import user_line

F = TypeVar("F")


def hull(count: int, *operands: Any) -> Any:
    """Return where elements of operands lie: the range of a function that only selects."""
    return functools.reduce(lambda x, y: x.hull(y), operands)


VIEW: Any = {"continuous": True, "propagates_nan": True, "rearranges": True, "range": hull}


class Facts:
    """Facts about one raw function; an op is one, and so is what ``state_facts`` makes.

    signature
        The core dimensions of operands and results, as of NumPy's generalised ufuncs.  All elements
        along a dimension in capitals go into each element of the result, one in small letters keeps
        its places: ``(),()->()`` is elementwise, ``(m,K),(K,n)->(m,n)`` a product of matrices,
        ``(N,N),(N,k)->(N,k)`` the solution of systems.  AXIS stands for the axis that the parameter
        ``axis`` names, AXES where it may name several; ``...`` for all axes.
    per_element
        All core dimensions are (): each element depends on one of each operand.
    continuous
        The result does not jump: last bits of the inputs change last bits of it, poles and branch cuts
        aside.
    jumps
        The result makes steps of which no derivative knows: follows for ops of ours that are not
        continuous, and elementwise or without a derivative.
    propagates_nan
        NaN in a floating-point operand is NaN in the result, whatever the other operands are.
    correctly_rounded
        The result is the exact one, rounded, as of IEEE 754's basic operations: it has the same bits in
        each layout of the operands, and next to a number or an array of it.
    infix
        Python's operator for it, which has the same bits on NumPy's scalars.
    promotes
        Whether NumPy brings the operands to one dtype first: "all" to the one to which they promote,
        "first" to that of the first one.
    linear_places
        Groups of places of operands: it is linear in those of a group together, while the others are
        fixed.  Derived from what the rules of an op ask for, or from its ``linear_in``.
    range
        The ``Interval`` in which the result lies, of the number of elements that go into one and the
        intervals of the floating-point operands: see ``replay.passes.intervals``.
    rearranges
        Each element of the result is an element of an operand, chosen by its place.
    in_order
        The result has the elements of the first operand in their order, but for dtype and broadcasting.
    creates
        It makes new data of no array, or in the likeness of one.
    data_dependent_shape
        The operand on whose values the shape of the result depends.
    scalars
        A result without dimensions is one of NumPy's scalars, to which nothing is written.
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
    NAMES: ClassVar[frozenset[str]]  # what may be stated

    def with_facts(self, facts: dict[str, Any]) -> Self:
        """Set the facts that a statement gives; TypeError for a fact that there is none of."""
        for name, value in facts.items():
            if name not in self.NAMES:
                raise TypeError(f"there is no fact called {name} [at {user_line()}]")
            setattr(self, name, value)
        if self.signature:
            self.per_element = is_elementwise(self.signature)
        return self

    @property
    def cores(self) -> list[list[tuple[str, ...]]]:
        """The core dimensions of each operand, and those of each result."""
        sides = [side[1:-1].split("),(") for side in self.signature.split("->")]
        return [[tuple(filter(None, part.split(","))) for part in side] for side in sides]


Facts.NAMES = frozenset(Facts.__annotations__) - {"NAMES", "jumps", "per_element"}
NOTHING = Facts()
FACTS: dict[str, Facts] = {}  # by the raw function's name


@functools.cache
def is_elementwise(signature: str) -> bool:
    return not signature.replace("->", ",").replace("()", "").strip(",")


def facts_of(name: str) -> Facts:
    """Return the facts about a raw function, those that are safe of every function if it has none."""
    return FACTS.get(name, NOTHING)


def state_facts(*names: str, **facts: Any) -> Callable[[F], F]:
    """State facts about a raw function that is no op: a decorator.  names : if not the function's."""

    def declare(function: F) -> F:
        for name in names or (function.__name__,):  # type: ignore[attr-defined]
            FACTS[name] = Facts().with_facts(facts)
        return function

    return declare
