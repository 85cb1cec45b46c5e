"""recompute_grad: keep a function's inputs only, and run it again in the backward pass."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

from .._array.array import Array
from .._array.exits import LEFT
from .._array.views import current
from .._record.plan import Record, made_of
from .._record.stack import new_tid, recorders, tell
from .._tape.missing_rules import check_rules
from .._util import nest
from .calls import UNFOLDING, Call, enter, followers_of, given, needs_care
from .gradient import name_of
from .inside import COLLECT, Arguments, Inside, check_results, only

P = ParamSpec("P")
R = TypeVar("R")


def recompute_grad(f: Callable[P, R]) -> Callable[P, R]:
    """Checkpoint a function: a tape keeps its inputs, and it runs again in the backward pass.

    Parameters
    ----------
    f : Callable
        Gives an Array or a nesting of Arrays, the same ones each time it is given the same ones
        (so no random numbers unless they are among its arguments).

    Returns
    -------
    Callable
        Takes the arguments of f and gives its result.

    Raises
    ------
    RuntimeError
        In the backward pass: when f gives something else the second time, or when a Variable or
        a watched Array from outside, which it uses, was written to since.

    Notes
    -----
    The gradient is that of ``f`` itself, to any order, selections and exits included.  A
    ForwardAccumulator runs f a second time at once.

    Variables and watched Arrays from outside may be used, as long as nobody writes to them before
    the backward pass.  Writes to other arrays cannot be noticed: pass these as arguments.
    """
    name = f"recompute_grad({name_of(f)})"

    @functools.wraps(f)
    def function(*args: Any, **keywords: Any) -> Any:
        arguments, hidden = Arguments(args, keywords), recorders()
        if not hidden:
            return f(*arguments.args, **arguments.keywords)
        tids = [x._tid for x in arguments.arrays]
        followed = [tid for tid in tids if any(tid in r.followed for r in hidden)]
        inside = Inside(name, followed, hidden, COLLECT, keep=False)
        given_now, named_now, _ = arguments.again()
        with only(inside):
            y = f(*given_now, **named_now)
            leaves = check_results(name, y)
            inside.names(leaves)
        # Reading a Variable here, outside, lets the tapes watch it.
        tids += [*inside.closed, *(current(variable)[0] for variable in inside.variables)]
        followers = followers_of(tids)
        outs = [new_tid() if followers else 0 for _ in leaves]
        results = [given(leaf, out) for leaf, out in zip(leaves, outs, strict=True)]
        if followers:
            call = Recompute(name, f, arguments, leaves, inside)
            care = inside.careful or needs_care((*arguments.arrays, *leaves))
            enter(call, UNFOLDING, outs, tids, followers, care)
            for recorder in followers:
                for tid in inside.reads.intersection(tids) if inside.left else ():
                    left = (LEFT.number, new_tid(), tid, inside.left[-1])
                    tell(recorder, left)
                    recorder.notice(LEFT, left)
        return nest.pack(y, results)

    return function


class Recompute(Call):
    """A call to run again."""

    def __init__(
        self, name: str, function: Callable[..., Any], arguments: Arguments,
        results: Sequence[Array], inside: Inside,
    ) -> None:  # fmt: skip
        super().__init__(name, results, None)
        self.function, self.arguments = function, arguments
        self.closed, self.cusped = tuple(inside.closed), inside.cusped
        self.variables = inside.seen

    def unfold(self, record: tuple[Any, ...], check: bool = True) -> tuple[Inside, list[int]]:
        """What f records when it runs again, and what it calls its results there (0: constants).

        check : LookupError when an op without a rule lies in between.
        """
        args, keywords, arrays = self.arguments.again()
        inside = Inside(self.name, record[2], before=self.variables)
        with only(*recorders(), inside):
            y = self.function(*args, **keywords)
            leaves = check_results(self.name, y)
            names = inside.names(leaves)
        for variable in inside.stale:
            if variable._peek() in record[2] or matters(variable, inside.records, names):
                raise RuntimeError(
                    f"{self.name}: the Variable {variable.name!r}, which the function reads, was "
                    "assigned to since, so it cannot run again on the same values"
                )
        if any(tid not in inside.used for tid in self.closed):
            raise RuntimeError(
                f"{self.name}: a watched Array that the function uses was written to since, so it "
                "cannot run again on the same values; pass it as an argument"
            )
        same = len(leaves) == len(self.results) and all(
            layout.fits(leaf) for layout, leaf in zip(self.results, leaves, strict=True)
        )
        if not same:
            raise RuntimeError(
                f"{self.name}: the function gave something else when it ran again for the gradient: "
                f"{len(leaves)} Arrays where there were {len(self.results)}, or other shapes"
            )
        if check and inside.has_missing_rules:
            check_rules(inside.records, names, record[2])
        outside = self.closed or self.variables
        inside.careful = inside.careful or bool(outside) or needs_care((*arrays, *leaves))
        return inside, names


def matters(variable: Any, records: Sequence[Record], names: Sequence[int]) -> bool:
    """Whether what a function gave may depend on a Variable: all that is known is what it recorded."""
    made = made_of(records, [variable._peek()])
    left = any(record[0] == LEFT.number and record[1] in made for record in records)
    return left or len(made) == 1 or not made.isdisjoint(names)
