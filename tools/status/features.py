"""The page of features: which of 92 features of other libraries arraytape has, each with a test."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

import pages
from helpers.features import CHAPTERS, FEATURES, Feature

HEAD = f"""# Features, row by row

{pages.mark("features")}

The rows are features of TensorFlow's tapes, PyTorch, JAX, autograd and MyGrad. The third column says if
arraytape has the feature, the fourth shows its code, and the last names the test in `tests/features`
that runs it.

{{counts}}
"""
COLUMNS = ("", "feature", "in arraytape", "code", "test")


def features() -> list[Feature]:
    """Return the rows of the page, which the tests of features declare, sorted by number."""
    for path in sorted((pages.ROOT / "tests" / "features").glob("test_*.py")):
        importlib.import_module(f"features.{path.stem}")
    return [FEATURES[number] for number in sorted(FEATURES)]


def render(found: Sequence[Feature]) -> str:
    """Return the page."""
    states = [one.state for one in found]
    counts = ", ".join(f"{state} {states.count(state)}" for state in ("yes", "in part", "no"))
    lines = [HEAD.format(counts=f"{len(found)} rows: {counts}.")]
    for one in found:
        if one.number in CHAPTERS:
            lines += [f"## {CHAPTERS[one.number]}\n", pages.table(COLUMNS, [])]
        why = one.lacks or one.partly
        here = f"{one.state}: {why}" if why else one.state
        lines.append(pages.row([str(one.number), one.text, here, one.spelling, f"`{one.test}`"]))
        if one.number + 1 in CHAPTERS:
            lines.append("")
    return "\n".join(lines) + "\n"


def page(_: str) -> str:
    return render(features())
