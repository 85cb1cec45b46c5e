"""The page of features: which of 92 features of other libraries arraytape has, each with a test."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

import pages
from helpers.features import CHAPTERS, FEATURES, Feature

HEAD = f"""# Features, row by row

{pages.mark("features")}

What people look for in a library for gradients, collected from TensorFlow's tape, PyTorch, JAX,
autograd and MyGrad.  Each row is run by the test in its last column, in `tests/features`.

{{counts}}
"""
COLUMNS = ("", "feature", "here", "how it is written", "test")


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
