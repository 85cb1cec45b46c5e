"""Write generated/features.md: what arraytape has of a list of 92 features of its peers, each run by a test.

python tools/features_table.py            # write the page
python tools/features_table.py --check    # exit code 1 when it is stale
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "reference" / "generated" / "features.md"
sys.path.insert(0, str(ROOT / "tests"))

import pages  # noqa: E402
from helpers.features import CHAPTERS, FEATURES, Feature  # noqa: E402

HEAD = """# Features, row by row

<!-- Written by tools/features_table.py; do not edit. -->

What people look for in a library for gradients, collected from TensorFlow's tape, PyTorch, JAX,
autograd and MyGrad.  Each row is run by the test in its last column, in `tests/features`.

{counts}
"""
COLUMNS = ("", "feature", "here", "how it is written", "test")


def features() -> list[Feature]:
    """All rows, by number."""
    for path in sorted((ROOT / "tests" / "features").glob("test_*.py")):
        importlib.import_module(f"features.{path.stem}")
    return [FEATURES[number] for number in sorted(FEATURES)]


def render(found: Sequence[Feature]) -> str:
    """The page."""
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


def main(arguments: Sequence[str] | None = None) -> int:
    check = pages.is_check(arguments, PAGE)
    return pages.finish(PAGE, render(features()), check)


if __name__ == "__main__":
    sys.exit(main())
