"""The check whether a derivative lacks a part, because a value was converted to a number on the way.

A function may convert a followed value by ``float(x)`` or ``np.asarray(x)``, and use a constant in an op
afterwards.  If the constant depends on the number, the derivative lacks a part.  The recording collects
such cases as ``Doubt`` objects.  ``grad`` and the other function transformations pass these to
``settle_doubts``, which runs the function again, and compares the derivative along one direction with
finite differences.  Differences are inconclusive at kinks, in noise, and if a run would have side
effects.  Their agreement is inconclusive if a search of ``scipy.optimize`` converted the value.  Then
the analysis of the user's code (``_exits``) decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._array.array import Array
from .._array.views import peek
from .._exits.lost_parts import Doubt, Finding, report_findings
from .._exits.messages import lost_message
from .._exits.modes import mode_of
from .._exits.suspected_exits import Exit
from .._storage.storage import storage_of
from .._util import nest
from .._util.blocks import Quiet
from ..ops.creation_functions import asarray
from .evaluation import Evaluation, TooLong
from .reachable_state import Unrepeatable
from .verify import SAME, Rerun, brief, difference_step, host, largest, random_direction

# The relative error above which a derivative is reported as wrong: FOUND if the analysis of the user's
# code found a lost part, too, and SUSPICIOUS if it found none.
FOUND = 1e-4
SUSPICIOUS = 100 * FOUND
ROUNDED = 64  # assumed rounding error of the function's values, in units of eps * max(abs(values))
# A dict from keys (``key_of_doubts``) to Verdicts, so that not all calls of a function are checked.
KNOWN: dict[object, Verdict] = {}
SEARCHES = "scipy.optimize."
Slope = Callable[[Sequence[Array]], Any]  # maps a direction to the derivative along the direction


class Verdict:
    """The result of a comparison of a derivative with finite differences of its function.

    A comparison is made if a function converts a value to a number, because the derivative may lack a
    part then.  The Verdict is kept in ``KNOWN``, so that few of the later calls of the same function
    need a comparison.

    times : the number of times that the derivative of this function was asked for.
    finding : text with the derivative and the differences if they disagree; None if they agree.
    is_clear : False if the differences are inconclusive.
    is_costly : True if the comparison exceeded its time limit; then it is never repeated.
    """

    def __init__(self, kept_alive: object) -> None:
        self.kept_alive = kept_alive  # the objects whose id() is part of the key in KNOWN
        self.times = 0
        self.finding: str | None = None
        self.is_clear = self.is_costly = False

    @property
    def is_due(self) -> bool:
        """Return True if the derivative has to be checked in this call: the calls 1, 2, 4, 8, ...

        One check is not enough, because an optimizer often starts at 0, where a lost part may be 0.
        """
        return not self.is_costly and self.times & (self.times - 1) == 0


def settle_doubts(
    doubts: list[Doubt],
    caller: str,
    make_again: Callable[[], Rerun],
    value: Callable[[], Any],
    slope: Slope,
    tangents: Sequence[Any] | None = None,
) -> None:
    """Raise LostGradientError if finite differences show that a part of a derivative is lost.

    If the differences are inconclusive, give the warnings of the code analysis instead.

    doubts : conversions such as ``float(x)`` in the recorded run, which may have lost a part; this list
    is emptied.
    caller : the name of the public function, for messages.
    make_again : a function that returns a Rerun, which evaluates the user's function at other points.
    value : a function that returns the result of the recorded run.
    slope : a function that returns the derivative along a direction (a list of Arrays).
    tangents : the direction; a pseudorandom direction if None.
    """
    found, doubts[:] = [*doubts], []
    if mode_of(None) == "ignore":
        return
    for doubt in found:
        report_findings(doubt.written)
    again = make_again()
    key = key_of_doubts(caller, again, found)
    if key not in KNOWN and len(KNOWN) > 1024:  # bound the memory
        KNOWN.clear()
    verdict = KNOWN.setdefault(key, Verdict((code_of(again.f), found)))
    verdict.times += 1
    if verdict.is_due:
        is_suspected = any(doubt.findings for doubt in found)
        try:
            shown = compare_slopes(again, value, slope, tangents, is_suspected)
            searched = any(is_in_search(exit_) for doubt in found for exit_ in doubt.exits)
            verdict.finding, verdict.is_clear = shown or None, bool(shown) or not searched
        except TooLong:
            verdict.is_clear, verdict.is_costly = False, True
        except Exception:  # Unrepeatable, or an error of f at the arguments of a difference
            verdict.is_clear = False
    if verdict.is_clear and verdict.finding is None:
        return
    findings = [finding for doubt in found for finding in doubt.findings]
    if verdict.is_clear and not any(finding.is_error for finding in findings):
        doubt = max(found, key=lambda doubt: len(doubt.findings))
        what = f"{caller}: along one direction the {doubt.what} is {verdict.finding}"
        findings = [Finding(lost_message(doubt.exits, what), True)]
    report_findings(findings)


def is_in_search(exit_: Exit) -> bool:
    """Return True if a conversion, such as ``float(x)``, was made while a solver of SciPy searched.

    The result of a search changes in steps of its tolerance.  So differences may be 0 like a derivative
    that lacks the search's part, and their agreement does not show that the derivative is right.
    """
    return any(str(place.names.get("__name__")).startswith(SEARCHES) for place in exit_.stack)


def key_of_doubts(caller: str, again: Rerun, doubts: Sequence[Doubt]) -> object:
    """Return the key under which ``KNOWN`` keeps whether finite differences agreed with a derivative.

    Calls share the result if all of this is the same: the public function, the code of f, the shapes and
    dtypes of the arguments, the source locations of conversions, and the messages in ``doubts``.

    caller : the name of the public function.  again : the user's function with its arguments.
    doubts : the conversions, such as ``float(x)``, because of which the derivative may lack a part.
    """
    layouts = tuple([(x.shape, str(x.dtype)) for x in again.arrays])
    places = frozenset().union(*[doubt.places for doubt in doubts])
    findings = frozenset([finding.text for doubt in doubts for finding in doubt.findings])
    return caller, id(code_of(again.f)), tuple(again.positions), layouts, places, findings


def code_of(f: Callable[..., Any]) -> Any:
    """Return the code object of a function, or the callable itself if it has none.

    It identifies the function in the table of functions whose derivatives were checked: a lambda that is
    created anew for each call has the same code object each time.
    """
    while hasattr(f, "__wrapped__"):
        f = f.__wrapped__
    return getattr(f, "__code__", f)


def compare_slopes(
    again: Rerun,
    value: Callable[[], Any],
    slope: Slope,
    tangents: Sequence[Any] | None,
    is_suspected: bool,
) -> str:
    """Compare the derivative along a direction with finite differences of the function.

    Return "" if they agree, otherwise a text with both.  Raise Unrepeatable if the differences are
    inconclusive, or if the function must not run again.

    again : the function and the point at which it was differentiated.
    value : a function that returns the result of the recorded run.
    slope : a function that returns the derivative along a direction.
    tangents : the direction; a pseudorandom direction if None.
    is_suspected : True if the code analysis found a lost part; then small errors are reported, too.
    """
    if not again.arrays or any(storage_of(peek(x)).mixed for x in again.arrays):
        raise Unrepeatable("it is run for many examples")
    v = random_direction(again.arrays) if tangents is None else list(tangents)
    evaluation = Evaluation(again.f, again.args, again.keywords)
    at = evaluation.run(lambda: [asarray(x, copy=True) for x in again.arrays])
    base = evaluation.run(lambda: floats_of(again.evaluate_at(at)))
    before = evaluation.run(lambda: floats_of(value()))
    if evaluation.is_meant or not same_leaves(base, before):
        raise Unrepeatable("it does not give the same again, or detaches values")
    found = evaluation.run(lambda: floats_of(slope(v)))
    small = min(difference_step(x) for x in at)
    one = evaluation.run(lambda: values_at_ends(again, at, v, small))
    rows = [Slopes(*row, h=small) for row in zip(found, base, *one, strict=True)]
    if all(row.agree(FOUND) for row in rows):
        return ""
    if not is_suspected and all(row.agree(SUSPICIOUS) for row in rows):
        return ""
    half = small / 2
    two = evaluation.run(lambda: values_at_ends(again, at, v, half))
    finer = [Slopes(*row, h=half) for row in zip(found, base, *two, strict=True)]
    limit = FOUND if is_suspected else SUSPICIOUS
    for row, fine in zip(rows, finer, strict=True):
        if not fine.agree(limit) and fine.is_settled(row, limit):
            shown = brief(fine.found), brief(fine.central)
            return f"{shown[0]}, and differences of the function give {shown[1]}"
    if all(fine.agree(limit) for fine in finer):
        return ""
    raise Unrepeatable("differences do not settle")


class Slopes:
    """The derivative of one result along a direction, and finite differences of the result.

    They are compared to find out whether the derivative lacks a part.

    found : the derivative.
    base, above, below : the result at the point, and at steps h and -h along the direction.  All are
    NumPy arrays in the shape of the result.
    """

    def __init__(
        self,
        found: np.ndarray[Any, Any],
        base: np.ndarray[Any, Any],
        above: np.ndarray[Any, Any],
        below: np.ndarray[Any, Any],
        h: float,
    ) -> None:
        self.found = found
        with Quiet():
            self.central = (above - below) / (2 * h)
            self.sides = (above - base) / h, (base - below) / h
        self.rounding = ROUNDED * float(np.finfo(base.dtype).eps) * largest(base) / h

    @property
    def scale(self) -> float:
        return max(largest(self.central), largest(self.found))

    def agree(self, limit: float) -> bool:
        """Return True if the derivative agrees with the central difference or a one-sided difference.

        limit : the relative error up to which two slopes agree.
        """
        return any(
            largest(self.found - side) <= limit * self.scale + self.rounding
            for side in (self.central, *self.sides)
        )

    def is_settled(self, coarser: Slopes, limit: float) -> bool:
        """Return True if all differences agree with each other and clearly disagree with the derivative.

        The derivative is then wrong; at a kink or in noise the differences disagree with each other.

        coarser : the Slopes for the step 2 h.  limit : the relative error above which slopes disagree.
        """
        noise = largest(self.central - coarser.central)
        off = largest(self.found - self.central)
        kink = largest(self.sides[0] - self.sides[1])
        settled = noise <= SAME * self.scale + self.rounding and 10 * noise < off
        return settled and 4 * kink < off and off > limit * self.scale + 4 * self.rounding


def values_at_ends(
    again: Rerun, at: Sequence[Array], v: Sequence[Any], h: float
) -> tuple[list[Any], list[Any]]:
    """Evaluate the function at the points ``at + h * v`` and ``at - h * v``, for finite differences.

    Return the floating-point leaves of the first result, and those of the second, as NumPy arrays.

    again : the user's function with its arguments.
    at, v : for each argument Array, the point and the direction.  h : the step.
    """
    rows = []
    for sign in (1.0, -1.0):
        moved = [x + (sign * h) * t for x, t in zip(at, v, strict=True)]
        rows.append(floats_of(again.evaluate_at(moved)))
    return rows[0], rows[1]


def floats_of(structure: Any) -> list[Any]:
    """Return the floating-point leaves of a nesting as NumPy arrays.

    Finite differences are computed from them; other leaves have no derivative.
    """
    found = [
        host(leaf) if isinstance(leaf, Array) else np.asarray(leaf)
        for leaf in nest.leaves(structure)
    ]
    return [data for data in found if data.dtype.kind in "fc"]


def same_leaves(a: Sequence[Any], b: Sequence[Any]) -> bool:
    """Return True if two lists of NumPy arrays have the same shapes and elements.

    Two runs at the same point must agree, or else finite differences are meaningless.
    """
    return len(a) == len(b) and all(
        x.shape == y.shape and np.array_equal(x, y, equal_nan=True)
        for x, y in zip(a, b, strict=True)
    )


__all__ = ["settle_doubts"]
