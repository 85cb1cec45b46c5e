"""Compare arraytape's values, gradients and Hessian-vector products with those of PyTorch and JAX.

    python tools/compare_with_peers.py [--peers torch,jax] [--seeds 3] [--op NAME]

Every op of the registry is compared on random float64 and complex128 inputs, and at points where a
derivative is a matter of convention.  The output is a table of disagreements.  It also lists results
that are not finite in either library although finite differences show a derivative.  Each disagreement
must be in ``peers/known.py``, which says who is right; finite differences check these verdicts.

Exit code 0: all agree or are explained; 1: a disagreement is not; 2: no peer is installed.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from typing import Any

import numpy as np

from peers.cases import Case
from peers.known import KNOWN, Known, explanation
from peers.libraries import PEERS, Data, Derivatives, Library, Ours
from peers.points import cases, uncovered
from peers.verdicts import agree, checked, direction, missed, weights_for

OURS = Ours()
PARTS = Derivatives._fields


def installed(names: list[str]) -> list[Library]:
    """Return the libraries that can be imported, and print the names of those that cannot."""
    found: list[Library] = []
    for name in names:
        try:
            found.append(PEERS[name]())
        except ImportError as error:
            print(f"{name} is not installed ({error}): pip install {PEERS[name].pip}")
    return found


class Report:
    """The comparisons made so far.

    Attributes
    ----------
    agreed : int
        The number of comparisons that agree.
    rows : Counter
        The explained disagreements, as (op, sample, peer, part, ours, theirs, why).
    unexplained : Counter
        The disagreements without an explanation, in the same form.
    absent : dict
        The derivatives that a peer cannot compute, with its errors.
    """

    def __init__(self) -> None:
        self.agreed = 0
        self.rows: Counter[tuple[str, ...]] = Counter()
        self.unexplained: Counter[tuple[str, ...]] = Counter()
        self.absent: dict[tuple[str, str, str], str] = {}
        self.used: set[Known] = set()

    def compare(self, case: Case, seed: int, peers: list[Library]) -> None:
        """Compare a case with one seed: its value, and gradient and curvature for each input."""
        inputs = case.draw(seed)
        along = [direction(x, seed) for x in inputs] if case.second else None
        try:
            weights = weights_for(OURS, case, inputs, seed)
            ours = OURS.derivatives(case.function, inputs, weights, along)
        except Exception as error:
            row = (case.op, case.label, "any", "gradient", repr(error)[:90], "", "arraytape raises")
            self.unexplained[row] += 1
            return
        for peer in peers:
            theirs = self.asked(peer, case, inputs, weights, along)
            if theirs is None:
                continue
            for part in PARTS if theirs.curvature else PARTS[:2]:
                pairs = zip(getattr(ours, part), getattr(theirs, part), strict=True)
                for i, (x, y) in enumerate(pairs):
                    point = (OURS, case, inputs, weights, along, part, i, x)
                    if agree(x, y) and not missed(*point):
                        self.agreed += 1
                        continue
                    known = explanation(case, peer.name, f"{part} {i}")
                    against = "no entry in known.py" if known is None else checked(known, *point, y)
                    row = (case.op, case.label, peer.name, f"{part} {i}", short(x), short(y))
                    if known is None or against:
                        self.unexplained[(*row, against)] += 1
                    else:
                        self.rows[(*row, f"{known.verdict}: {known.why}")] += 1
                        self.used.add(known)

    def asked(
        self, peer: Library, case: Case, inputs: Data, weights: Data, along: Data | None
    ) -> Derivatives | None:
        """Return a peer's derivatives, without the curvature if that raises, or None if all raise."""
        reason = ""
        for asked in (along, None) if along else (None,):
            try:
                answer = peer.derivatives(case.function, inputs, weights, asked)
            except Exception as error:
                reason = f"{type(error).__name__}: {' '.join(str(error).split())[:90]}"
                continue
            if reason:
                self.absent.setdefault((case.op, peer.name, "second order"), reason)
            return answer
        self.absent.setdefault((case.op, peer.name, "op or gradient"), reason)
        return None

    def print(self) -> None:
        for (op, peer, what), reason in sorted(self.absent.items()):
            print(f"not in {peer}: {op} ({what}): {reason}")
        for title, rows in (("explained", self.rows), ("UNEXPLAINED", self.unexplained)):
            for (op, label, peer, part, ours, theirs, why), count in sorted(rows.items()):
                print(
                    f"\n{title}: {op} {label} | {peer} | {part}" + f" | {count} times" * (count > 1)
                )
                print(f"    ours   {ours}\n    theirs {theirs}\n    {why}")
        explained, unexplained = self.rows.total(), self.unexplained.total()
        print(
            f"\npeers: {self.agreed + explained + unexplained} comparisons, {self.agreed} agree, "
            f"{explained} explained, {unexplained} unexplained"
        )


def short(x: np.ndarray[Any, Any]) -> str:
    """Return an array as one line of text for the table."""
    with np.printoptions(precision=6, threshold=12, edgeitems=2, suppress=True):
        text = " ".join(np.array2string(x, separator=",").split())
    return text if len(text) < 110 else text[:107] + "..."


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--peers", default=",".join(PEERS), help="names, separated by commas")
    parser.add_argument("--seeds", type=int, default=3, help="how many random inputs per sample")
    parser.add_argument("--op", help="compare this op alone")
    options = parser.parse_args()
    names = options.peers.split(",")
    if unknown := set(names) - set(PEERS):
        parser.error(f"unknown peers {sorted(unknown)}; there are {', '.join(PEERS)}")
    peers = installed(names)
    if not peers:
        print(f"no peer to compare with: pip install {' '.join(PEERS[n].pip for n in names)}")
        return 2
    report = Report()
    chosen = list(cases(options.op))
    if not chosen:
        parser.error(f"no case for op {options.op!r}")
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for case in chosen:
            for seed in range(options.seeds if case.seeded else 1):
                report.compare(case, seed, peers)
    missing = uncovered()
    for name in missing:
        print(f"no case for op {name}: add one to peers/cases.py")
    if options.op is None:
        for known in KNOWN:
            if known not in report.used and {p.name for p in peers} & {*known.peers.split()}:
                print(f"no longer met: {known.ops} {known.label} | {known.peers}: {known.why}")
    report.print()
    return 1 if report.unexplained or missing else 0


if __name__ == "__main__":
    sys.exit(main())
