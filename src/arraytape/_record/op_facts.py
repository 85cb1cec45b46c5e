"""Facts about functions on raw data, such as ``numpy.exp``: whether it is elementwise, continuous, ...

Replay passes, vmap, index sets and exports ask for facts.  An op has its facts as attributes, and is in
``FACTS`` under the name of its raw function: the function that computes it on NumPy or CuPy data.  The
facts of a raw function that is no op are stated at its definition, with the decorator ``state_facts``.
The default of each fact is the safe assumption, so that nothing relies on a fact that is not stated.
``tests/ops/test_facts.py`` tests each fact of each op.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ClassVar, Literal, Self, TypeVar

from .._util.errors import user_line

F = TypeVar("F")


def hull(count: int, *operands: Any) -> Any:
    """Return the smallest interval that contains the intervals ``operands``.

    It is the fact ``Facts.range`` of ops such as ``maximum`` and ``concat``, whose result has only
    elements of the operands: from the operands' intervals it computes that of the result.

    count : not used.
    """
    return functools.reduce(lambda x, y: x.hull(y), operands)


# The facts of functions whose result is a view of the operand, or the same elements in another shape.
VIEW: Any = {"continuous": True, "propagates_nan": True, "rearranges": True, "range": hull}


class Facts:
    """The facts about one function on raw data, a raw function.  An Op has those of its raw function.

    signature
        The core dimensions of operands and results, as in a generalised ufunc of NumPy.  Each element of
        the result depends on all elements along a dimension in capital letters.  Along a dimension in
        small letters it depends only on the element at its own position.  ``(),()->()`` is elementwise,
        ``(m,K),(K,n)->(m,n)`` a product of matrices, ``(N,N),(N,k)->(N,k)`` the solution of systems.
        AXIS is the axis that the parameter ``axis`` names, AXES means that this may be several axes, and
        ``...`` means all axes.
    per_element
        True if all core dimensions are (): each element depends on one element of each operand.
    continuous
        True if a change in the last bits of the inputs changes only last bits of the result, except at
        poles and branch cuts.
    jumps
        True if the result has steps that its derivative does not show, as floor.  This is set for ops of
        arraytape that are not continuous, and are elementwise or have no derivative.
    propagates_nan
        True if a NaN in a floating-point operand makes the result NaN, for all other operands.
    correctly_rounded
        True if the result is the exact value, rounded, as for the basic operations of IEEE 754.  The
        bits do not depend on the memory layout of operands, and are the same for a number and an array.
    infix
        Python's operator for the function, if it computes the same bits on NumPy's scalars.
    promotes
        "all" if NumPy first casts the operands to their common (promoted) dtype, "first" if NumPy casts
        them to the dtype of the first operand, else "".
    linear_places
        Groups of positions of operands.  The function is jointly linear in the operands of a group, with
        all other operands fixed.  Derived from the parameters of an op's rules, or its ``linear_in``.
    range
        A function that returns the ``Interval`` of the result.  Its arguments are the number of elements
        on which an element of the result depends, and the intervals of the floating-point operands: see
        ``replay.passes.intervals``.
    rearranges
        True if each element of the result is an element of an operand, selected by position.
    in_order
        True if the result has the elements of the first operand in the same order, apart from a cast or
        broadcasting.
    creates
        True if the result is new data that does not depend on values of operands, but at most on a shape
        and dtype.
    data_dependent_shape
        The name of the operand on whose values the shape of the result depends.
    scalars
        True if a result without dimensions is a NumPy scalar, which cannot be written to.
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
    NAMES: ClassVar[frozenset[str]]  # the names of the facts that may be stated

    def with_facts(self, facts: dict[str, Any]) -> Self:
        """Set the facts in a dict from names to values; return self.

        Raise TypeError for a name that is no fact.
        """
        for name, value in facts.items():
            if name not in self.NAMES:
                raise TypeError(f"there is no fact called {name} [at {user_line()}]")
            setattr(self, name, value)
        if self.signature:
            self.per_element = is_elementwise(self.signature)
        return self

    @property
    def cores(self) -> list[list[tuple[str, ...]]]:
        """Return ``signature`` as two lists: the core dimensions of each operand and of each result.

        Core dimensions are the axes that the function works on, as m and K in ``(m,K),(K,n)->(m,n)``.
        """
        sides = [side[1:-1].split("),(") for side in self.signature.split("->")]
        return [[tuple(filter(None, part.split(","))) for part in side] for side in sides]


Facts.NAMES = frozenset(Facts.__annotations__) - {"NAMES", "jumps", "per_element"}
NOTHING = Facts()
FACTS: dict[str, Facts] = {}  # facts by the name of the function on raw data


@functools.cache
def is_elementwise(signature: str) -> bool:
    return not signature.replace("->", ",").replace("()", "").strip(",")


def facts_of(name: str) -> Facts:
    """Return the Facts about the raw function called ``name``; Facts of safe defaults if unknown.

    A raw function is one of NumPy or CuPy that computes an op.
    """
    return FACTS.get(name, NOTHING)


def state_facts(*names: str, **facts: Any) -> Callable[[F], F]:
    """Return a decorator that enters facts about a raw function, which computes no op, in FACTS.

    names : the names under which the facts are entered; by default the name of the function.
    """

    def declare(function: F) -> F:
        for name in names or (function.__name__,):  # type: ignore[attr-defined]
            FACTS[name] = Facts().with_facts(facts)
        return function

    return declare
